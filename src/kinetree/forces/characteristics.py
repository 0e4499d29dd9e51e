"""Characteristics: the dependence of a force on a displacement or a speed, as a number, a table or a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..contact.ground import SLOWEST
from ..errors import OptionError, ShapeError
from ..motion.piecewise import IntervalTable, check_table, check_times, hermite, polynomial_rows, polynomials, since
from ..spatial import Scalar, where
from ..spatial.dual import Dual
from ..spatial.numbers import is_unknown, real_number, shown
from ..spatial.taylor import Jet
from .element import ForceElement, is_number


@dataclass(frozen=True, eq=False)
class Characteristic:
    """A table of forces over displacements, speeds or an angle, linear between its rows and beyond its ends.

    The table may have any number of rows: in machine code they are data.

    Parameters
    ----------
    x, y : array_like, shape (K,)
        Displacements (or speeds), rising, and the force at each.
    period : float, optional
        Period after which the table repeats itself, such as ``2 * pi`` over the angle of a crank, ``4 * pi`` for four
        strokes.  Rows may begin anywhere; the last one, which equals the first, may be left out.
    smooth : bool
        Whether to use a smooth curve through the rows without overshoot (Fritsch and Carlson, 1980), also across the
        ends of a period.

    Examples
    --------
    >>> progressive = Characteristic([-0.1, 0.0, 0.1, 0.2], [-50.0, 0.0, 100.0, 400.0])
    >>> round(float(progressive(0.15)), 9)
    250.0
    >>> gas = Characteristic([0.0, 0.5, 3.0, 6.0], [900.0, 400.0, 0.0, 100.0], period=2.0 * np.pi)
    >>> float(gas(2.0 * np.pi)), float(gas(-2.0 * np.pi + 0.5))
    (900.0, 400.0)
    """

    x: ArrayLike
    y: ArrayLike
    period: float | None = None
    smooth: bool = False
    _force: IntervalTable = field(init=False, repr=False)
    _energy: IntervalTable = field(init=False, repr=False)
    _begin: float = field(init=False, repr=False)
    _turn: float = field(init=False, repr=False)
    """The area under a whole period."""
    _none: Scalar = field(init=False, repr=False)
    """The energy in the tables at zero displacement."""

    def __post_init__(self) -> None:
        x = check_times(self.x)
        y = check_table(self.y, len(x), "y")
        if y.shape[1] != 1:
            raise ShapeError(f"a characteristic has one force per displacement, got shape {y.shape}")
        put = partial(object.__setattr__, self)
        put("x", x)
        put("y", y[:, 0])
        put("_begin", float(x[0]))
        knots, forces = (x, y[:, 0]) if self.period is None else self._whole_period(x, y[:, 0])
        put("period", None if self.period is None else float(self.period))
        if self.smooth:
            knots, curves = self._bent(knots, forces)
        else:
            curves = hermite(knots, [forces[:, None]])
        powers = np.arange(1, curves.shape[1] + 1)
        areas = curves / powers[:, None]
        each = (areas[:, :, 0] * np.diff(knots)[:, None] ** powers).sum(axis=1)
        below = np.concatenate([[0.0], np.cumsum(each)])
        put("_force", polynomial_rows(knots, curves))
        put("_energy", polynomial_rows(knots, np.concatenate([below[:-1, None, None], areas], axis=1)))
        put("_turn", float(below[-1]))
        put("_none", 0.0)
        put("_none", float(self.energy(0.0)))  # nothing is stored at zero displacement

    def _whole_period(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the table with its first row repeated at the end."""
        period = real_number(self.period, "period", positive=True)
        left = period - (x[-1] - x[0])
        near = 1e-9 * period
        if left < -near:
            raise OptionError(
                f"x covers {x[-1] - x[0]:g}, which is more than the period of {period:g}: give one period"
            )
        if left > near:
            return np.append(x - x[0], period), np.append(y, y[0])
        if abs(y[-1] - y[0]) > 1e-9 * np.abs(y).max():
            raise OptionError(
                f"the last row, a period after the first, has a different force: {y[-1]:g}, not {y[0]:g}; leave it "
                "out, or make them equal"
            )
        return np.append(x[:-1] - x[0], period), np.append(y[:-1], y[0])

    def _bent(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return knots and cubics; beyond the ends of a table without period, straight lines with the end slopes."""
        h, rise = np.diff(x), np.diff(y) / np.diff(x)
        if self.period is not None:
            slopes = _gentle(np.append(h[-1], h), np.append(rise[-1], rise))
            slopes = np.append(slopes, slopes[0])
            return x, hermite(x, [y[:, None], slopes[:, None]])
        slopes = np.concatenate([rise[:1], _gentle(h, rise), rise[-1:]])
        cubics = hermite(x, [y[:, None], slopes[:, None]])
        ends = np.zeros((2, 4, 1))
        ends[:, :2, 0] = [[y[0] - slopes[0], slopes[0]], [y[-1], slopes[-1]]]
        return np.concatenate([[x[0] - 1.0], x, [x[-1] + 1.0]]), np.concatenate([ends[:1], cubics, ends[1:]])

    def _since(self, x: Scalar) -> Scalar:
        """Return the distance from the first row, within a period."""
        return x if self.period is None else since(Jet(x - self._begin, 0.0, 0.0), self.period).value

    def __call__(self, x: Scalar) -> Scalar:
        """Return the force."""
        return polynomials(self._force, 1, self._since(x))[0]

    def energy(self, x: Scalar) -> Scalar:
        """Return the area under the curve from zero, including whole periods."""
        within = self._since(x)
        area = polynomials(self._energy, 1, within)[0] - self._none
        if self.period is None:
            return area
        return area + (x - self._begin - within) * (self._turn / self.period)


def _gentle(h: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """Return slopes at inner knots: zero at peaks, otherwise weighted harmonic means of those on both sides."""
    before, after = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    same = rise[:-1] * rise[1:] > 0.0
    first, second = (np.where(same, r, 1.0) for r in (rise[:-1], rise[1:]))
    return np.where(same, (before + after) / (before / first + after / second), 0.0)


def check_characteristic(element: ForceElement, name: str) -> None:
    """Refuse anything but a number, a Characteristic or a function."""
    value = getattr(element, name)
    if is_number(value) or is_unknown(value):
        element.check_number(name, least=0.0)
    elif not callable(value):
        raise OptionError(
            f"{type(element).__name__}: {name} must be a number, a kinetree.forces.Characteristic or a function, not "
            f"{shown(value)}"
        )


def follow(given: Any, x: Scalar) -> Scalar:
    """Return the force of a characteristic; a number is a factor."""
    return given(x) if callable(given) else given * x


def energy_of(given: Any, x: Scalar) -> Scalar:
    """Return the energy stored at a displacement; zero for a plain function, whose energy is not known."""
    if hasattr(given, "energy"):
        return given.energy(x)
    return 0.0 if callable(given) else 0.5 * given * x * x


def slope_of(given: Any, x: Scalar) -> Scalar:
    """Return the derivative of the force with respect to the displacement."""
    if not callable(given):
        return given
    found = given(Dual(x, 1.0))
    return found.rate if isinstance(found, Dual) else 0.0


def damping_of(given: Any, rate: Scalar) -> Scalar:
    """Return the damping of a damper for implicit steps: the slope of its force, or force over speed if that is more.

    If a damper saturates, like friction, its slope is almost zero, and a step that used only the slope would reverse
    the motion again and again.
    """
    if not callable(given):
        return given
    slope, probe = slope_of(given, rate), where(abs(rate) < SLOWEST, SLOWEST, rate)
    mean = follow(given, probe) / probe
    return where(mean > slope, mean, slope)

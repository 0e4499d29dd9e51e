"""Characteristics: how a force depends on a displacement or a speed, as a number, a table or a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, explains_arguments
from ..motion.piecewise import IntervalTable, check_table, check_times, hermite, polynomial_rows, polynomials
from ..spatial import Scalar, arctan2, cos, sin
from ..spatial.dual import Dual
from ..spatial.numbers import shown
from .element import ForceElement, is_number, is_unknown


@explains_arguments
@dataclass(frozen=True, eq=False)
class Characteristic:
    """A table of forces over displacements or speeds, straight between its rows and beyond its ends.

    It may have any number of rows: in machine code they are data.

    Parameters
    ----------
    x, y : array_like, shape (K,)
        Displacements (or speeds), rising, and the force at each.
    period : float, optional
        After which the table begins anew, such as 2 pi for one over the angle of a crank; what it stores is then not
        known, since a turn may give energy.

    Examples
    --------
    >>> progressive = Characteristic([-0.1, 0.0, 0.1, 0.2], [-50.0, 0.0, 100.0, 400.0])
    >>> float(progressive(0.15))
    250.0
    >>> gas = Characteristic([0.0, 1.0, 6.0], [900.0, 100.0, 0.0], period=2 * np.pi)
    >>> round(float(gas(0.5 + 200 * np.pi)), 6)
    500.0
    """

    x: ArrayLike
    y: ArrayLike
    period: float | None = None
    _force: IntervalTable = field(init=False, repr=False)
    _energy: IntervalTable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x = check_times(self.x)
        y = check_table(self.y, len(x), "y")
        if y.shape[1] != 1:
            raise ShapeError(f"a characteristic has one force per displacement, got shape {y.shape}")
        lines = hermite(x, [y])
        below = np.concatenate([[0.0], np.cumsum(np.diff(x) * 0.5 * (y[1:, 0] + y[:-1, 0]))])[:-1]
        parabolas = np.stack([below[:, None], lines[:, 0], 0.5 * lines[:, 1]], axis=1)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y[:, 0])
        object.__setattr__(self, "_force", polynomial_rows(x, lines))
        table = polynomial_rows(x, parabolas)
        parabolas[:, 0] -= polynomials(table, 1, 0.0)[0]  # none is stored where nothing is displaced
        object.__setattr__(self, "_energy", polynomial_rows(x, parabolas))
        if self.period is not None:
            around = _once_around(x, y[:, 0], self.period)
            object.__setattr__(self, "_force", polynomial_rows(around[0], hermite(around[0], [around[1][:, None]])))

    def __call__(self, x: Scalar) -> Scalar:
        """Return the force."""
        if self.period is not None:
            turn = 2.0 * np.pi / self.period
            x = arctan2(sin(turn * x), cos(turn * x)) / turn  # from half a period before zero to half a period behind
        return polynomials(self._force, 1, x)[0]

    def energy(self, x: Scalar) -> Scalar:
        """Return the area below the curve from zero on; nothing of one that begins anew."""
        return polynomials(self._energy, 1, x)[0] if self.period is None else 0.0 * x


def _once_around(x: np.ndarray, y: np.ndarray, period: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the same table from half a period before zero to half a period behind it."""
    if not (is_number(period) and np.ndim(period) == 0 and np.isfinite(period) and period > 0.0):
        raise OptionError(f"the period of a characteristic is a positive number, not {shown(period)}")
    span = float(x[-1] - x[0])
    if span > period * (1.0 + 1e-9):
        raise OptionError(
            f"a table that begins anew after {period:g} cannot go over {span:g}, from {x[0]:g} to {x[-1]:g}"
        )
    if span >= period * (1.0 - 1e-9):
        if abs(y[-1] - y[0]) > 1e-9 * max(float(np.abs(y).max()), 1e-300):
            raise OptionError(
                f"the last row of a table that begins anew after {period:g} is its first: y must be the same at both, "
                f"not {y[0]:g} and {y[-1]:g}"
            )
        x, y = x[:-1], y[:-1]
    half = 0.5 * period
    wrapped = (x + half) % period - half
    order = np.argsort(wrapped)
    xs = np.concatenate([wrapped[order][-1:] - period, wrapped[order], wrapped[order][:1] + period])
    ys = np.concatenate([y[order][-1:], y[order], y[order][:1]])
    inside = (xs > -half) & (xs < half)
    edge = np.interp(half, xs, ys)
    return np.concatenate([[-half], xs[inside], [half]]), np.concatenate([[edge], ys[inside], [edge]])


def check_characteristic(element: ForceElement, name: str) -> None:
    """Refuse what is no number, Characteristic or function."""
    value = getattr(element, name)
    if is_number(value) or is_unknown(value):
        element.check_number(name, least=0.0)
    elif not callable(value):
        raise OptionError(
            f"{type(element).__name__}: {name} must be a number, a kinetree.forces.Characteristic or a function, not "
            f"{shown(value)}"
        )


def follow(given: Any, x: Scalar) -> Scalar:
    """Return the force of a characteristic: in proportion for a number."""
    return given(x) if callable(given) else given * x


def energy_of(given: Any, x: Scalar) -> Scalar:
    """Return what is stored at a displacement; a plain function is not known to give anything back."""
    if hasattr(given, "energy"):
        return given.energy(x)
    return 0.0 if callable(given) else 0.5 * given * x * x


def slope_of(given: Any, x: Scalar) -> Scalar:
    """Return how the force grows with the displacement."""
    if not callable(given):
        return given
    found = given(Dual(x, 1.0))
    return found.rate if isinstance(found, Dual) else 0.0

"""Characteristics: how a force depends on a displacement or a speed, as a number, a table or a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, explains_arguments
from ..motion.piecewise import IntervalTable, check_table, check_times, hermite, polynomial_rows, polynomials
from ..spatial import Scalar
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

    Examples
    --------
    >>> progressive = Characteristic([-0.1, 0.0, 0.1, 0.2], [-50.0, 0.0, 100.0, 400.0])
    >>> float(progressive(0.15))
    250.0
    """

    x: ArrayLike
    y: ArrayLike
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

    def __call__(self, x: Scalar) -> Scalar:
        """Return the force."""
        return polynomials(self._force, 1, x)[0]

    def energy(self, x: Scalar) -> Scalar:
        """Return the area below the curve from zero on."""
        return polynomials(self._energy, 1, x)[0]


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

"""What all kinds of shapes have in common. To add a kind, add a file to this folder.

A shape is a solid in its own frame: plain numbers that are checked when it is made and never change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...errors import ModelError
from ...io.units import in_si
from ...spatial.numbers import shown
from ..pose import floats

Point = tuple[float, float, float]


class Solid:
    """A solid; subclasses are frozen dataclasses of plain numbers."""

    name: ClassVar[str] = ""
    """The name of this kind in files."""

    is_ground: ClassVar[bool] = False
    """Whether it has no end, as the ground has none; such shapes do not touch one another."""

    def numbers(self) -> tuple[float, ...]:
        """Return the numbers with which distances are computed: radii and half lengths."""
        raise NotImplementedError

    def ball(self) -> tuple[Point, float]:
        """Return center and radius of a ball around the shape; the radius of a shape without end is infinite."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return the shape's parameters by their names in files."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.repr}  # type: ignore[arg-type]


def lengths(value: Any, count: int, what: str, zero: bool = False) -> tuple[float, ...]:
    """Return lengths in meters, all positive, or raise an error that says what they are; ``zero`` allows zeros.

    They may have units: ``"25 mm"``.
    """
    given = in_si(value, "m", what)
    numbers = floats(given, what)
    if numbers.shape != ((count,) if count > 1 else ()):
        raise ModelError(f"{what} must be {'a number' if count == 1 else f'{count} numbers'}, not {shown(value)}")
    found = tuple(float(x) for x in numbers.reshape(-1))
    if not all(np.isfinite(found)):
        raise ModelError(f"{what} must be finite, not {shown(value)}")
    if min(found) < 0.0 or (min(found) == 0.0 and not zero):
        raise ModelError(f"{what} must {'not be negative' if zero else 'be positive'}, not {shown(value)}")
    return found


def points(value: Any, what: str) -> tuple[Point, ...]:
    """Return points as plain tuples."""
    array = floats(value, what)
    if array.ndim != 2 or array.shape[1:] != (3,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be finite numbers of shape (n, 3), not of shape {array.shape}")
    return tuple((x, y, z) for x, y, z in array.tolist())


def corners(halves: Sequence[float]) -> list[Point]:
    """Return the corners of a box from half its edges."""
    x, y, z = halves
    return [(i * x, j * y, k * z) for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)]

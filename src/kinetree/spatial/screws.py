"""Spatial vectors as lines, free vectors and screws (Featherstone sections 2.3, 2.4, 2.8), on arrays, batch first.

A spatial vector has a part that lies on a line (the angular velocity of a motion, the force of a wrench) and a free
part.  Here, as everywhere in kinetree, a motion is (angular, linear) and a force (moment, force): so the part on the
line is the first one of a motion and the second one of a force.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import explain_public, refuse_unknown
from .arrays import Array, as_array, batch_shape

Kind = Literal["motion", "force"]

KINDS = ("motion", "force")


def _ordered(kind: str, line: Array, free: Array) -> Array:
    """Put the two parts of a spatial vector in the order of its kind."""
    line, free = np.broadcast_arrays(line, free)
    return np.concatenate([line, free] if kind == "motion" else [free, line], axis=-1)


def _parts(vector: ArrayLike, kind: str) -> tuple[Array, Array]:
    """Return the part on the line and the free part."""
    refuse_unknown("kind of spatial vector", kind, KINDS)
    whole = as_array(vector, (6,), "vector", "moment or angular part first")
    first, second = whole[..., :3], whole[..., 3:]
    return (first, second) if kind == "motion" else (second, first)


def line_vector(direction: ArrayLike, point: ArrayLike, kind: Kind = "motion") -> Array:
    """Return the spatial vector of a line: a turn about it, or a force along it (Featherstone eq. 2.2).

    Parameters
    ----------
    direction : array_like (..., 3)
        Along the line; its length is the angular velocity, or the force.
    point : array_like (..., 3)
        Anywhere on the line.
    kind : {"motion", "force"}

    Returns
    -------
    ndarray (..., 6)

    Examples
    --------
    A hinge along z through (2, 0, 0), and a force along x at (0, 0, 1):

    >>> from kinetree.spatial import line_vector
    >>> print(line_vector([0, 0, 1], [2, 0, 0]))
    [ 0.  0.  1.  0. -2.  0.]
    >>> print(line_vector([5, 0, 0], [0, 0, 1], "force"))
    [0. 5. 0. 5. 0. 0.]
    """
    refuse_unknown("kind of spatial vector", kind, KINDS)
    along, place = as_array(direction, (3,), "direction"), as_array(point, (3,), "point")
    batch_shape(direction=(along, 1), point=(place, 1))
    return _ordered(kind, along, np.cross(place, along))


def free_vector(direction: ArrayLike, kind: Kind = "motion") -> Array:
    """Return a vector (..., 6) without a line of action: a translation, or a couple (Featherstone section 2.3)."""
    refuse_unknown("kind of spatial vector", kind, KINDS)
    along = as_array(direction, (3,), "direction")
    return _ordered(kind, np.zeros_like(along), along)


def screw_vector(direction: ArrayLike, point: ArrayLike, pitch: ArrayLike, kind: Kind = "motion") -> Array:
    """Return a screw (..., 6): a turn about a line with an advance along it, or a force with a moment along it.

    See Featherstone section 2.8. The parameters are those of :func:`line_vector`, and a pitch (...): meters per radian
    for a motion, moment over force for a force.
    """
    along, place = as_array(direction, (3,), "direction"), as_array(point, (3,), "point")
    rise = as_array(pitch, (), "pitch")
    batch_shape(direction=(along, 1), point=(place, 1), pitch=(rise, 0))
    return line_vector(along, place, kind) + free_vector(rise[..., None] * along, kind)


class Screw(NamedTuple):
    """The screw of a spatial vector: its axis, pitch and magnitude, which do not depend on the origin."""

    direction: Array  # (..., 3)
    """Unit vector along the axis; zero for the zero vector."""
    point: Array  # (..., 3)
    """The point of the axis nearest to the origin; zero where there is no axis."""
    pitch: Array  # (...)
    """Meters per radian, or moment over force; infinite for a free vector."""
    magnitude: Array  # (...)
    """Length of the part on the line, or of a free vector."""


def screw(vector: ArrayLike, kind: Kind = "motion") -> Screw:
    """Return axis, pitch and magnitude of a spatial vector (Featherstone section 2.3).

    Parameters
    ----------
    vector : array_like (..., 6)
    kind : {"motion", "force"}

    Examples
    --------
    >>> from kinetree.spatial import screw, screw_vector
    >>> found = screw(screw_vector([0, 0, 2.0], [1, 0, 0], 0.25))
    >>> print(found.direction, found.pitch, found.magnitude)
    [0. 0. 1.] 0.25 2.0
    """
    line, free = _parts(vector, kind)
    square = (line * line).sum(axis=-1)
    is_free = square == 0.0  # NaN is not zero, and stays
    divisor = np.where(is_free, 1.0, square)
    length = np.where(is_free, np.linalg.norm(free, axis=-1), np.sqrt(square))
    nothing = length == 0.0
    along = np.where(is_free[..., None], free, line) / np.where(nothing, 1.0, length)[..., None]
    pitch = np.where(is_free, np.where(nothing, np.nan, np.inf), (line * free).sum(axis=-1) / divisor)
    point = np.where(is_free[..., None], 0.0 * free, np.cross(line, free) / divisor[..., None])
    return Screw(along, point, pitch, length)


def split_at(vector: ArrayLike, point: ArrayLike, kind: Kind = "motion") -> tuple[Array, Array]:
    """Split a vector into a line vector through a point and a free vector (Featherstone section 2.3).

    vector: (..., 6)
    point: (..., 3)
    kind: {"motion", "force"}

    Returns
    -------
    line, free : ndarray (..., 6)
        For a velocity, the turn about an axis through the point and the velocity of the point; for a force, the force
        at the point and the moment about it.
    """
    line, _ = _parts(vector, kind)
    through = line_vector(line, point, kind)
    return through, np.asarray(vector, dtype=float) - through


explain_public(__name__)

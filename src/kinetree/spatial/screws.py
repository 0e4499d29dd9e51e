"""Spatial vectors as lines, free vectors and screws (Featherstone sections 2.3, 2.4, 2.8), on arrays, batch first.

A spatial vector has a part that belongs to a line and a part that has no place.  Of a motion, the angular velocity is
the line's; of a force, the force is.  Here, as everywhere in kinetree, a motion is (angular, linear) and a force
(moment, force): so a motion has its line's part first and a force has it last.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UnknownNameError, explain_public
from .arrays import as_array, batch_shape

Array = np.ndarray
Kind = Literal["motion", "force"]

KINDS = ("motion", "force")


def _ordered(kind: str, line: Array, free: Array) -> Array:
    """Put the two parts of a spatial vector in the order of its kind."""
    line, free = np.broadcast_arrays(line, free)
    return np.concatenate([line, free] if kind == "motion" else [free, line], axis=-1)


def _parts(vector: ArrayLike, kind: str) -> tuple[Array, Array]:
    """Return the line's part and the other one."""
    if kind not in KINDS:
        raise UnknownNameError("kind of spatial vector", kind, KINDS)
    whole = as_array(vector, (6,), "vector", "moment or angular part first")
    first, second = whole[..., :3], whole[..., 3:]
    return (first, second) if kind == "motion" else (second, first)


def line_vector(direction: ArrayLike, point: ArrayLike, kind: Kind = "motion") -> Array:
    """Return what acts along a line: a turn about it, or a force along it (Featherstone eq. 2.2).

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
    if kind not in KINDS:
        raise UnknownNameError("kind of spatial vector", kind, KINDS)
    along, place = as_array(direction, (3,), "direction"), as_array(point, (3,), "point")
    batch_shape(direction=(along, 1), point=(place, 1))
    return _ordered(kind, along, np.cross(place, along))


def free_vector(direction: ArrayLike, kind: Kind = "motion") -> Array:
    """Return a vector without a line of action: a translation, or a couple (Featherstone section 2.3)."""
    if kind not in KINDS:
        raise UnknownNameError("kind of spatial vector", kind, KINDS)
    along = as_array(direction, (3,), "direction")
    return _ordered(kind, np.zeros_like(along), along)


def screw_vector(direction: ArrayLike, point: ArrayLike, pitch: ArrayLike, kind: Kind = "motion") -> Array:
    """Return a line vector plus ``pitch`` times it: a screw joint's axis, a wrench (Featherstone section 2.8)."""
    along, place = as_array(direction, (3,), "direction"), as_array(point, (3,), "point")
    rise = as_array(pitch, (), "pitch")
    batch_shape(direction=(along, 1), point=(place, 1), pitch=(rise, 0))
    return line_vector(along, place, kind) + free_vector(rise[..., None] * along, kind)


class Screw(NamedTuple):
    """The screw of a spatial vector: what of it does not depend on where the origin is.

    Attributes
    ----------
    direction : ndarray (..., 3)
        Unit vector along the axis; zero for the zero vector.
    point : ndarray (..., 3)
        The point of the axis that is nearest to the origin; zero where there is no axis.
    pitch : ndarray (...)
        Meters per radian, or moment over force; infinite for a free vector.
    magnitude : ndarray (...)
        Of the line's part; of a free vector, its own.
    """

    direction: Array
    point: Array
    pitch: Array
    magnitude: Array


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
    is_free = square == 0.0  # NaN is no zero, and stays
    divisor = np.where(is_free, 1.0, square)
    length = np.where(is_free, np.linalg.norm(free, axis=-1), np.sqrt(square))
    nothing = length == 0.0
    along = np.where(is_free[..., None], free, line) / np.where(nothing, 1.0, length)[..., None]
    pitch = np.where(is_free, np.where(nothing, np.nan, np.inf), (line * free).sum(axis=-1) / divisor)
    point = np.where(is_free[..., None], 0.0 * free, np.cross(line, free) / divisor[..., None])
    return Screw(along, point, pitch, length)


def split_at(vector: ArrayLike, point: ArrayLike, kind: Kind = "motion") -> tuple[Array, Array]:
    """Return a vector as a line vector through a point and a free vector, whose sum it is (Featherstone section 2.3).

    Parameters
    ----------
    vector : array_like (..., 6)
    point : array_like (..., 3)
    kind : {"motion", "force"}

    Returns
    -------
    line, free : ndarray (..., 6)
        Of a velocity: the turn about an axis through the point, and the velocity of the point.  Of a force: the force
        at the point, and the moment about it.
    """
    line, _ = _parts(vector, kind)
    through = line_vector(line, point, kind)
    return through, np.asarray(vector, dtype=float) - through


explain_public(__name__)

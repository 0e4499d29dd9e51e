"""Spatial matrices on arrays with the batch in front: transforms, cross products, inertias and their inverses.

Rows and columns are angular (or moment) first.  Motions and forces are different kinds of vectors: they have different
transformation matrices, and an inertia maps a motion to a force.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, SingularError, UnknownNameError, explain_public
from . import arrays
from .arrays import Array, as_array, batch_shape


def cross_matrix3(vector: ArrayLike) -> Array:
    """Return the matrix (..., 3, 3) with ``cross_matrix3(a) @ b == np.cross(a, b)`` (Featherstone eq. 2.8)."""
    return arrays.cross_matrix(as_array(vector, (3,), "vector"))


def cross_matrix(velocity: ArrayLike, kind: Literal["motion", "force"] = "motion") -> Array:
    """Return the 6x6 matrix that gives the rate of a vector carried along by a velocity (Featherstone eq. 2.24).

    Parameters
    ----------
    velocity : array_like (..., 6)
    kind : {"motion", "force"}
        Kind of the vector that is carried along; the matrix for forces is the negative transpose of the one for
        motions.

    Returns
    -------
    ndarray (..., 6, 6)
    """
    v = as_array(velocity, (6,), "velocity")
    w, u = cross_matrix3(v[..., :3]), cross_matrix3(v[..., 3:])
    if kind == "motion":
        return _blocks(w, np.zeros_like(w), u, w)
    if kind == "force":
        return _blocks(w, u, np.zeros_like(w), w)
    raise UnknownNameError("kind of spatial vector", kind, ("motion", "force"))


def transform_matrix(pose: ArrayLike, kind: Literal["motion", "force"] = "motion") -> Array:
    """Return the 6x6 matrix from components in a frame to those in which its pose is given (Featherstone eq. 2.19).

    Parameters
    ----------
    pose : array_like (..., 4, 4)
        Pose of the frame, as :meth:`kinetree.Robot.pose` gives it.
    kind : {"motion", "force"}

    Returns
    -------
    ndarray (..., 6, 6)
        The matrix for forces is the inverse transpose of the one for motions, so that power does not depend on the
        frame.
    """
    whole = as_array(pose, (4, 4), "pose")
    e, p = whole[..., :3, :3], cross_matrix3(whole[..., :3, 3])
    if kind == "motion":
        return _blocks(e, np.zeros_like(e), p @ e, e)
    if kind == "force":
        return _blocks(e, p @ e, np.zeros_like(e), e)
    raise UnknownNameError("kind of spatial vector", kind, ("motion", "force"))


def rigid_inertia(mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Return the inertia (..., 6, 6) of a rigid body about a frame's origin (Featherstone eq. 3.3).

    Parameters
    ----------
    mass : array_like (...)
    com : array_like (..., 3)
        Center of mass.
    inertia : array_like (..., 3, 3)
        About the center of mass.
    """
    m, c, own = _body(mass, com, inertia)
    h = m[..., None, None] * cross_matrix3(c)
    return _blocks(own - h @ cross_matrix3(c), h, -h, m[..., None, None] * np.eye(3))


def inverse_rigid_inertia(mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Return the inverse (..., 6, 6) of :func:`rigid_inertia`, in closed form (Featherstone eq. 3.14).

    Raises
    ------
    ModelError
        If a mass is not positive, or an inertia singular.
    """
    m, c, own = _body(mass, com, inertia)
    if np.any(m <= 0.0):
        raise ModelError(f"only bodies with mass have an inverse inertia; mass is {np.min(m):g}")
    try:
        turning = np.linalg.inv(own)
    except np.linalg.LinAlgError:
        raise ModelError("only bodies that resist every rotation have an inverse inertia; it is singular") from None
    p = cross_matrix3(c)
    return _blocks(turning, -turning @ p, p @ turning, np.eye(3) / m[..., None, None] - p @ turning @ p)


def _body(mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> tuple[Array, Array, Array]:
    m, c = as_array(mass, (), "mass"), as_array(com, (3,), "com")
    own = as_array(inertia, (3, 3), "inertia")
    batch = batch_shape(mass=(m, 0), com=(c, 1), inertia=(own, 2))
    return np.broadcast_to(m, batch), np.broadcast_to(c, (*batch, 3)), np.broadcast_to(own, (*batch, 3, 3))


def _blocks(a: Array, b: Array, c: Array, d: Array) -> Array:
    a, b, c, d = np.broadcast_arrays(a, b, c, d)
    return np.concatenate([np.concatenate([a, b], axis=-1), np.concatenate([c, d], axis=-1)], axis=-2)


def harmonic_sum(*inverse_inertias: ArrayLike) -> Array:
    """Return the inverse inertia (..., 6, 6) of bodies joined rigidly: the inverse of the sum of inverses.

    See Featherstone eq. 3.12.

    *inverse_inertias: (..., 6, 6). Inverse inertias of bodies that can move in all directions. For a body that cannot,
        the inertia would be infinite and this sum does not exist.
    """
    if not inverse_inertias:
        raise SingularError("the harmonic sum of nothing is infinite; give at least one inverse inertia")
    several = [as_array(x, (6, 6), "inverse inertia") for x in inverse_inertias]
    try:
        return np.asarray(np.linalg.inv(sum(np.linalg.inv(x) for x in several)))
    except np.linalg.LinAlgError:
        raise SingularError(
            "one of these bodies cannot move in all ways, so its inertia is infinite; use constrained_inverse_inertia "
            "with the motions that are left"
        ) from None


def constrained_inverse_inertia(inertia: ArrayLike, motions: ArrayLike) -> Array:
    """Return the inverse inertia of a body that can only move in some ways (Featherstone section 3.10, example 3).

    Parameters
    ----------
    inertia : array_like (..., 6, 6)
    motions : array_like (..., 6, r)
        Columns that span the motions of the body.

    Returns
    -------
    ndarray (..., 6, 6)
        ``S (S^T I S)^-1 S^T``, of rank r: forces in its null space are borne by the constraints.
    """
    i, s = as_array(inertia, (6, 6), "inertia"), as_columns(motions, "motions")
    st = np.swapaxes(s, -1, -2)
    try:
        return np.asarray(s @ np.linalg.solve(st @ i @ s, st))
    except np.linalg.LinAlgError:
        raise SingularError("the motions depend on one another, or move nothing that has inertia") from None


def as_columns(matrix: ArrayLike, name: str) -> Array:
    """Convert to an array whose columns are spatial vectors, or raise an error that names the argument."""
    array = np.asarray(matrix, dtype=float)
    return as_array(array, (6, array.shape[-1] if array.ndim > 1 else 0), name, "columns are spatial vectors")


explain_public(__name__)

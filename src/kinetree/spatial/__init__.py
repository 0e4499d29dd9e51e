"""Spatial vectors, inertias and transforms.

The algorithms are written with classes over any scalar (Motion, Force, Transform, RigidInertia, ...). Functions on
arrays (screw, transform_matrix, complement, ...) are for users; see the page on spatial algebra. Functions of scalars
(``sin``, ``where``, ...) are here for the rooms above; users find them in ``kinetree``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .inertia import ArticulatedInertia, RigidInertia
from .linear_systems import dot, ldl, ldl_inverse, ldl_solve
from .motion import ZERO_FORCE, ZERO_MOTION, Force, Motion, combine, combine_forces
from .rotation import AxisRotation, MatrixRotation, RotationLike, axis_turn
from .scalar import Scalar
from .scalar import arctan2 as arctan2
from .scalar import call as call
from .scalar import clip as clip
from .scalar import cos as cos
from .scalar import exp as exp
from .scalar import log as log
from .scalar import logical_and as logical_and
from .scalar import logical_not as logical_not
from .scalar import logical_or as logical_or
from .scalar import maximum as maximum
from .scalar import minimum as minimum
from .scalar import repeat as repeat
from .scalar import sign as sign
from .scalar import sin as sin
from .scalar import sqrt as sqrt
from .scalar import tanh as tanh
from .scalar import where as where
from .six_by_six import (
    constrained_inverse_inertia,
    cross_matrix,
    cross_matrix3,
    harmonic_sum,
    inverse_rigid_inertia,
    rigid_inertia,
    transform_matrix,
)
from .transform import IDENTITY, Transform
from .vector import BASIS, ZERO3, Matrix3, Symmetric3, Vec3

if TYPE_CHECKING:
    from .notation_1987 import from_1987, spatial_transpose, to_1987
    from .screws import Screw, free_vector, line_vector, screw, screw_vector, split_at
    from .subspaces import complement, dyad, inertia_dyads, orthogonal_basis, reciprocal_basis, resolve

_FOR_USERS = {
    "notation_1987": "from_1987 spatial_transpose to_1987",
    "screws": "Screw free_vector line_vector screw screw_vector split_at",
    "subspaces": "complement dyad inertia_dyads orthogonal_basis reciprocal_basis resolve",
}
"""Functions on arrays that no algorithm uses; they are imported on first use, so that simulations start faster."""

__all__ = [
    "BASIS", "IDENTITY", "ZERO3", "ZERO_FORCE", "ZERO_MOTION", "ArticulatedInertia", "AxisRotation", "Force", "Matrix3",
    "MatrixRotation", "Motion", "RigidInertia", "RotationLike", "Scalar", "Screw", "Symmetric3", "Transform", "Vec3",
    "axis_turn", "combine", "combine_forces", "complement", "constrained_inverse_inertia", "cross_matrix",
    "cross_matrix3", "dot", "dyad", "free_vector", "from_1987", "harmonic_sum", "inertia_dyads",
    "inverse_rigid_inertia", "ldl", "ldl_inverse", "ldl_solve", "line_vector", "orthogonal_basis", "reciprocal_basis",
    "resolve", "rigid_inertia", "screw", "screw_vector", "spatial_transpose", "split_at", "to_1987", "transform_matrix",
]  # fmt: skip


def __getattr__(name: str) -> object:
    for module, names in _FOR_USERS.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

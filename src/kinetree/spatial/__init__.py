"""Spatial vectors, inertias and transforms.

Classes over any scalar (Motion, Force, Transform, RigidInertia, ...) are what the algorithms are written with;
functions on arrays (screw, transform_matrix, complement, ...) are for users, see the page on spatial algebra.
"""

from .dense import dot, ldl, ldl_inverse, ldl_solve
from .inertia import ArticulatedInertia, RigidInertia
from .motion import ZERO_FORCE, ZERO_MOTION, Force, Motion, combine, combine_forces
from .notation_1987 import from_1987, spatial_transpose, to_1987
from .rotation import AxisRotation, MatrixRotation, RotationLike, axis_turn
from .scalar import (
    Scalar,
    arctan2,
    clip,
    cos,
    exp,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from .screws import Screw, free_vector, line_vector, screw, screw_vector, split_at
from .six_by_six import (
    constrained_inverse_inertia,
    cross_matrix,
    cross_matrix3,
    harmonic_sum,
    inverse_rigid_inertia,
    rigid_inertia,
    transform_matrix,
)
from .subspaces import complement, dyad, inertia_dyads, orthogonal_basis, reciprocal_basis, resolve
from .transform import IDENTITY, Transform
from .vector import BASIS, ZERO3, Matrix3, Symmetric3, Vec3

__all__ = [
    "BASIS",
    "IDENTITY",
    "ZERO3",
    "ZERO_FORCE",
    "ZERO_MOTION",
    "ArticulatedInertia",
    "AxisRotation",
    "Force",
    "Matrix3",
    "MatrixRotation",
    "Motion",
    "RigidInertia",
    "RotationLike",
    "Scalar",
    "Screw",
    "Symmetric3",
    "Transform",
    "Vec3",
    "arctan2",
    "axis_turn",
    "clip",
    "combine",
    "combine_forces",
    "complement",
    "constrained_inverse_inertia",
    "cos",
    "cross_matrix",
    "cross_matrix3",
    "dot",
    "dyad",
    "exp",
    "free_vector",
    "from_1987",
    "harmonic_sum",
    "inertia_dyads",
    "inverse_rigid_inertia",
    "ldl",
    "ldl_inverse",
    "ldl_solve",
    "line_vector",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "orthogonal_basis",
    "reciprocal_basis",
    "resolve",
    "rigid_inertia",
    "screw",
    "screw_vector",
    "sign",
    "sin",
    "spatial_transpose",
    "split_at",
    "sqrt",
    "tanh",
    "to_1987",
    "transform_matrix",
    "where",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)

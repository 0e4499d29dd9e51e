"""Spatial vectors, inertias and transforms over any scalar."""

from .dense import dot, ldl, ldl_inverse, ldl_solve
from .inertia import ArticulatedInertia, RigidInertia
from .motion import ZERO_FORCE, ZERO_MOTION, Force, Motion, combine, combine_forces
from .rotation import AxisRotation, MatrixRotation, RotationLike, axis_turn
from .scalar import Scalar, arctan2, cos, sin, sqrt, where
from .transform import IDENTITY, Transform
from .vector import BASIS, ZERO3, Matrix3, Symmetric3, Vec3

__all__ = [
    "BASIS", "IDENTITY", "ZERO3", "ZERO_FORCE", "ZERO_MOTION",
    "ArticulatedInertia", "AxisRotation", "Force", "Matrix3", "MatrixRotation", "Motion",
    "RigidInertia", "RotationLike", "Scalar", "Symmetric3", "Transform", "Vec3",
    "arctan2", "axis_turn", "combine", "combine_forces", "cos",
    "dot", "ldl", "ldl_inverse", "ldl_solve", "sin", "sqrt", "where",
]  # fmt: skip

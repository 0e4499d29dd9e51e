"""A joint made of the user's own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...spatial import Matrix3, MatrixRotation, Motion, Scalar, Transform, Vec3
from ...spatial.dual import Dual
from ...spatial.numbers import whole_number
from .kind import Coordinates, JointKind

TransformFunction = Callable[..., object]


def as_transform(value: Any) -> Transform:
    """Return a Transform, given as one or as a pair (3x3 rotation, position) of nested sequences."""
    if isinstance(value, Transform):
        return value
    rotation, position = value
    return Transform((MatrixRotation(Matrix3.of(rotation)),), Vec3(*position))


@dataclass(frozen=True)
class Custom(JointKind):
    """A joint given by its transform as a function of its coordinates.

    Parameters
    ----------
    dof : int
        Number of coordinates; velocities are their rates.
    function : callable
        ``function(q0, q1, ...)`` returns ``(rotation, position)`` of the child frame in the
        joint's fixed frame: three rows of three, and three numbers, built from the
        arguments with ``+ - * /`` and ``kinetree.sin``, ``cos``, ``sqrt``, ``arctan2``.  The motion
        subspace and its rate follow by exact differentiation.
    label : str
        Name of the joint in descriptions.
    coordinate_kinds : sequence of {"rad", "m"}
        Unit of each coordinate.

    Examples
    --------
    >>> import kinetree as kt
    >>> cam = kt.Custom(1, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0.1 * kt.sin(5 * x), 0)))
    """

    dof: int
    function: TransformFunction = field(repr=False)
    label: str = "custom"
    coordinate_kinds: Sequence[str] = ()
    name = "custom"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dof", whole_number(self.dof, "dof of a custom joint", 1, 6, ModelError))
        if not callable(self.function):
            raise ModelError("a custom joint needs a function of its coordinates")
        given = self.coordinate_kinds
        kinds = (tuple(given) if isinstance(given, Iterable) else (given,)) or ("rad",) * self.dof
        if len(kinds) != self.dof or not all(kind in ("rad", "m") for kind in kinds):
            raise ModelError(f"{self._where}coordinate_kinds needs 'rad' or 'm' for each of {self.dof}, not {kinds}")
        object.__setattr__(self, "coordinate_kinds", kinds)
        self._try_out()

    @property
    def _where(self) -> str:
        return f"custom joint {self.label!r}: "

    def _try_out(self) -> None:
        """Call the function once, with the derivatives that will be needed, to report mistakes early."""
        with np.errstate(all="ignore"):
            q = [np.float64(0.1 * (k + 1)) for k in range(self.dof)]
            self.subspace_rate(q, q)
            matrix = np.array(self.transform(q).matrix().to_rows(), dtype=float)
        if np.all(np.isfinite(matrix)) and not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9):
            raise ModelError(f"{self._where}the function's rotation is not orthonormal: {matrix.tolist()}")

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.dof

    @property
    def q_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``q``."""
        return tuple(self.coordinate_kinds)

    def transform(self, q: Coordinates) -> Transform:
        """Return the pose of the child frame in the joint's fixed frame."""
        try:
            return as_transform(self.function(*q))
        except Exception as problem:  # the user's function may raise anything
            raise ModelError(
                f"{self._where}the function must take {self.dof} numbers and return (three rows of three, three "
                f"numbers), made with + - * / and kinetree.sin, cos, sqrt, arctan2; it failed with "
                f"{type(problem).__name__}: {problem}"
            ) from problem

    def subspace(self, q: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the motion subspace, by differentiating the transform once."""
        columns = []
        for k in range(self.dof):
            moved = self.transform([Dual(x, 1.0 if i == k else 0.0) for i, x in enumerate(q)])
            rotation, position = moved.matrix(), moved.translation
            r = Matrix3.of([[_value(x) for x in row] for row in rotation.rows])
            dr = Matrix3.of([[_rate(x) for x in row] for row in rotation.rows])
            w = r.T.times(dr)  # R^T dR is the cross matrix of the angular velocity in the child
            angular = Vec3(
                0.5 * (w.rows[2].y - w.rows[1].z), 0.5 * (w.rows[0].z - w.rows[2].x), 0.5 * (w.rows[1].x - w.rows[0].y)
            )
            columns.append(Motion(angular, r.T @ Vec3(*(_rate(x) for x in position))))
        return tuple(columns)

    def subspace_rate(self, q: Coordinates, v: Coordinates) -> tuple[Motion, ...]:
        """Return the columns of the apparent derivative of ``S``, by differentiating once more along ``v``."""
        moving = self.subspace([Dual(x, rate) for x, rate in zip(q, v, strict=True)])
        return tuple(Motion.of([_rate(x) for x in column]) for column in moving)


def _value(x: Scalar) -> Scalar:
    return x.value if isinstance(x, Dual) else x


def _rate(x: Scalar) -> Scalar:
    return x.rate if isinstance(x, Dual) else 0.0

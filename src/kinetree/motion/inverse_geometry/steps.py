"""Finding one joint from equations in which it is the only unknown: types 1, 2 and 3 of Khalil and Dombre's Table 4.1.

Types 4 to 8, which have two unknown joints, are not needed: squared distances are among the equations, and by the law
of cosines they give one joint at a time.  Everything is over any scalar; a sign, +1 or -1, chooses between two
solutions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...spatial import Scalar, Transform, arctan2
from .chain import GeometricChain, JointValue, JointValues, PoseEquation, of_hinge, of_slide


class Arithmetic(NamedTuple):
    """The operations that differ between numbers and symbols."""

    root: Callable[[Scalar, Scalar], Scalar]
    """The square root of a difference, given with the size of its terms: rounding may make it negative."""
    note: Callable[[int, str, Scalar], Scalar]
    """Called with the joint, the name of an intermediate result and its value; returns the value to use."""
    found: Callable[[int, Scalar], Scalar]
    """Called with a joint and its coordinate; returns the value to use."""


class Zeros(NamedTuple):
    """Which of X, Y and Z of ``X sin + Y cos = Z`` are zero for all poses."""

    x: bool = False
    y: bool = False
    z: bool = False


NO_ZEROS = Zeros()


@dataclass(frozen=True)
class SolvingStep:
    """One joint and the equations that find it.

    Attributes
    ----------
    joint : int
    equation : PoseEquation
    other : PoseEquation or None
        The second equation of type 3.
    turns : bool
        Whether it is a hinge.
    squares : bool
        Whether the equation of a slide has squares in it.
    zeros : Zeros
        Zero coefficients of an equation of type 2.
    """

    joint: int
    equation: PoseEquation
    other: PoseEquation | None = None
    turns: bool = True
    squares: bool = False
    zeros: Zeros = NO_ZEROS

    @property
    def has_two(self) -> bool:
        """Whether there are two solutions."""
        return self.squares or (self.turns and self.other is None)

    def describe(self, name: str) -> str:
        """Return the type of the equation in words."""
        if not self.turns:
            return f"a {name}^2 + b {name} + c = 0" if self.squares else f"type 1: X {name} = Y"
        if self.other is None:
            return f"type 2: X sin({name}) + Y cos({name}) = Z"
        return f"type 3: X1 sin({name}) + Y1 cos({name}) = Z1, X2 sin({name}) + Y2 cos({name}) = Z2"

    def solve(self, chain: GeometricChain, body: Transform, known: JointValues, sign: Any, by: Arithmetic) -> Scalar:
        """Return the joint's coordinate.

        Parameters
        ----------
        chain : GeometricChain
        body : Transform
            Pose of the last body.
        known : mapping
            Joints that have been found, as far as the equations need them.
        sign : scalar
            Chooses between two solutions.
        by : Arithmetic
        """

        def residual(equation: PoseEquation) -> Callable[[JointValue], Scalar]:
            return lambda value: chain.residual(equation, body, {**known, self.joint: value})

        def noted(names: tuple[str, ...], scalars: tuple[Scalar, ...]) -> list[Scalar]:
            return [by.note(self.joint, name, x) for name, x in zip(names, scalars, strict=True)]

        if not self.turns:
            a, b, c = of_slide(residual(self.equation))
            if not self.squares:
                x, y = noted(("X", "Y"), (b, -c))
                return y / x
            a, b, c = noted(("a", "b", "c"), (a, b, c))
            return (-b + sign * by.root(b * b - 4.0 * a * c, b * b)) / (2.0 * a)
        if self.other is None:
            return self._by_one(noted, of_hinge(residual(self.equation)), sign, by)
        x1, y1, z1 = noted(("X1", "Y1", "Z1"), of_hinge(residual(self.equation)))
        x2, y2, z2 = noted(("X2", "Y2", "Z2"), of_hinge(residual(self.other)))
        d = x1 * y2 - x2 * y1
        return arctan2((z1 * y2 - z2 * y1) / d, (x1 * z2 - x2 * z1) / d)

    def _by_one(
        self, noted: Callable[..., list[Scalar]], three: tuple[Scalar, ...], sign: Any, by: Arithmetic
    ) -> Scalar:
        """Solve ``X sin + Y cos = Z`` for an angle (Khalil and Dombre, appendix 1, type 2)."""
        kept = [not zero for zero in self.zeros]
        scalars = iter(noted(tuple(n for n, k in zip("XYZ", kept, strict=True) if k),
                             tuple(x for x, k in zip(three, kept, strict=True) if k)))  # fmt: skip
        x, y, z = (next(scalars) if k else 0.0 for k in kept)
        if self.zeros.z:
            return arctan2(-y * sign, x * sign)
        if self.zeros.x:
            (c,) = noted(("C",), (z / y,))
            return arctan2(sign * by.root(1.0 - c * c, 1.0), c)
        if self.zeros.y:
            (s,) = noted(("S",), (z / x,))
            return arctan2(s, sign * by.root(1.0 - s * s, 1.0))
        (square,) = noted(("B",), (x * x + y * y,))
        root = sign * by.root(square - z * z, square)
        return arctan2((x * z + y * root) / square, (y * z - x * root) / square)

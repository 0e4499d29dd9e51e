"""Solids at their poses, and what is known of two of them: signed distance, nearest points, normal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...spatial import (
    BASIS,
    IDENTITY,
    Matrix3,
    MatrixRotation,
    Scalar,
    Transform,
    Vec3,
    call,
    maximum,
    minimum,
    repeat,
    sqrt,
    where,
)  # fmt: skip

Scalars = Sequence[Scalar]


class PlacedSolid(NamedTuple):
    """A solid in the world: its kind by its name in files, its numbers, and its pose."""

    kind: str
    numbers: Scalars
    pose: Transform
    data: Any = None
    """What is no number of a pair: the solid itself, where its faces or heights matter."""


class Separation(NamedTuple):
    """The signed distance of two solids: negative if they overlap, by how much they have to be moved apart."""

    distance: Scalar
    first: Vec3
    """Nearest point on the surface of the first solid; of those that overlap, the deepest one in the other."""
    second: Vec3
    """The same on the second."""
    normal: Vec3
    """Unit vector from the first solid to the second: ``second - first = distance * normal``."""

    def swapped(self) -> Separation:
        """Return the same for the two solids in reverse order."""
        return Separation(self.distance, self.second, self.first, -self.normal)

    def rounded(self, first: Scalar, second: Scalar) -> Separation:
        """Return the same for solids that are thicker all around by two radii; None adds nothing."""
        grown = self
        if first is not None:
            grown = grown._replace(distance=grown.distance - first, first=grown.first + grown.normal * first)
        if second is not None:
            grown = grown._replace(distance=grown.distance - second, second=grown.second - grown.normal * second)
        return grown

    def placed(self, pose: Transform) -> Separation:
        """Return the same in the frame in which ``pose`` is given."""
        return Separation(self.distance, pose.point(self.first), pose.point(self.second), pose.rotate(self.normal))

    def numbers(self) -> list[Scalar]:
        """Return the distance, the two points and the normal."""
        return [self.distance, *self.first, *self.second, *self.normal]


def called(
    key: Any, law: Callable[[PlacedSolid, PlacedSolid], Sequence[Scalar]], a: PlacedSolid, b: PlacedSolid,
    near: tuple[Scalar, Sequence[Scalar]] | None = None,
) -> Scalars:  # fmt: skip
    """Return a function of two solids as seen in the frame of the first one; machine code calls it.

    key: All that the function depends on besides sizes and poses.
    near: Whether it is needed, and what is returned if not.
    """
    turn = [a.pose.unrotate(b.pose.rotate(axis)) for axis in BASIS]
    to = a.pose.unrotate(b.pose.translation - a.pose.translation)
    n, m = len(a.numbers), len(b.numbers)

    def function(numbers: list[Scalar]) -> Sequence[Scalar]:
        rest = numbers[n + m :]
        rows = [[rest[3 * k + i] for k in range(3)] for i in range(3)]
        pose = Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*rest[9:12]))
        return law(
            PlacedSolid(a.kind, numbers[:n], IDENTITY, a.data), PlacedSolid(b.kind, numbers[n : n + m], pose, b.data)
        )

    given = [*a.numbers, *b.numbers, *(x for axis in turn for x in axis), *to]
    key = (*key, a.kind, n, b.kind, m)
    if near is None:
        return call(key, function, given)
    state = [where(near[0], 1.0, 0.0), *near[1]]
    return repeat(key, lambda x: [0.0, *function(x[len(state) :])], state, given, 1, 0)[1:]


Best = tuple[Scalar, ...]
"""A number to be minimized, followed by what belongs to it."""


def smallest(candidates: Sequence[Callable[[], Best]] | Sequence[Best]) -> Best:
    """Return the candidate with the smallest first number, lane by lane; the first one of equals."""
    best, *others = (c() if callable(c) else c for c in candidates)
    for other in others:
        closer = other[0] < best[0]
        best = (minimum(best[0], other[0]), *(chosen(closer, y, x) for x, y in zip(best[1:], other[1:], strict=True)))
    return best


def chosen(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """Choose between two scalars or two vectors."""
    if isinstance(yes, Vec3):
        return Vec3(*(where(condition, a, b) for a, b in zip(yes, no, strict=True)))
    return yes if yes is no else where(condition, yes, no)


def length(v: Vec3) -> Scalar:
    """Return the length of a vector."""
    return sqrt(v.dot(v))


def across(v: Vec3) -> Vec3:
    """Return a unit vector across a unit vector."""
    x, y, z = v
    flat = abs(x) < 0.75
    away = Vec3(where(flat, 0.0, -y), where(flat, -z, x), where(flat, y, 0.0 * x))
    return away * (1.0 / length(away))


def limited(x: Scalar, half: Scalar) -> Scalar:
    """Return the number of an interval about zero that is nearest to x."""
    return maximum(minimum(x, half), -half)

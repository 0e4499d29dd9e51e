"""Changes of parameters that do not affect any torque, by the rules of Khalil, sections 10.2.4 and 10.3.4 to 10.3.6.

A rule says which parameters can be moved between bodies, or removed, without affecting any torque. Each is a change, a
vector with few entries.  Placements may hold any scalar, so the same code gives numbers and symbols; numbers decide
which rule applies.

In Khalil's notation, z is along the axis of every joint. Here an axis may have any direction: YY of a hinge stands for
any inertia about a direction across its axis.  On a floating base, which distinguishes all ten parameters of its body,
only rule 2 applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import UnsupportedError
from ..model.joints import EulerFree, Fixed, Free, JointKind, Prismatic, Revolute
from ..model.tree import BASE, Model
from ..spatial import BASIS, IDENTITY, RigidInertia, Scalar, Symmetric3, Transform, Vec3
from ..spatial.arrays import Array
from .parallelograms import Parallelogram
from .parameters_to_group import Considered, Vector, ten_of

COVERED = (Revolute, Prismatic, Fixed)
"""Joints that Khalil has rules for."""

FLOATING = (Free, EulerFree)

TENSORS = tuple(Symmetric3(*row) for row in np.eye(6).tolist())
PARALLEL = 1e-9
"""Sine of the angle below which two axes are parallel, after :mod:`.round_geometry`."""


def reached(model: Model) -> str:
    """Return why the rules do not cover a model; an empty string if they do."""
    for joint in model.joints:
        if joint.mimic:
            return f"joint {joint.name!r} follows another"
        floats = isinstance(joint.kind, FLOATING) and joint.parent == BASE and not joint.actuated
        if not isinstance(joint.kind, COVERED) and not floats:
            return f"joint {joint.name!r} is {joint.kind.name}, neither revolute nor prismatic"
    if model.couplings:
        return f"coupling {model.couplings[0].name!r} binds joints"
    return ""


def unnoticed(
    considered: Considered, parallelograms: Sequence[Parallelogram] = (), symbolic: Model | None = None
) -> list[Vector]:
    """Return the changes that the rules give.

    parallelograms: The parallelograms among the loops, at a closed configuration.
    symbolic: The same model with placements over other scalars.

    Raises
    ------
    UnsupportedError
        If the model has joints that Khalil does not cover.
    """
    reason = reached(considered.model)
    if reason:
        raise UnsupportedError(
            f"the rules of Khalil do not cover {considered.model.name!r}: {reason}. Use method='null_space' or 'qr'"
        )
    rules = _Rules(considered, symbolic or considered.model)
    found = [v for i in range(len(considered.model.bodies)) for v in rules.of_joint(i)]
    found += [v for loop in rules.model.loops for v in rules.of_cut(loop)]
    return found + [v for p in parallelograms for v in rules.of_parallelogram(p)]


class Carriage(NamedTuple):
    """A joint and the path from the base to it, at q = 0; rotations between parallel axes do not matter here."""

    carriers: tuple[int, ...]
    """Joints before it, from the base on."""
    r1: int | None
    """The first hinge on the path, including this joint."""
    r2: int | None
    """The first hinge after r1 that is not parallel to it."""


class _Rules:
    """The rules on one model: directions from numbers, coefficients over any scalar."""

    def __init__(self, considered: Considered, symbolic: Model) -> None:
        self.considered, self.model, self.symbolic = considered, considered.model, symbolic
        self.poses: list[Array] = []
        for joint in self.model.joints:
            carrier = self.poses[joint.parent] if joint.parent != BASE else np.eye(4)
            self.poses.append(carrier @ joint.placement.matrix)
        gravity = np.array(self.model.gravity, dtype=float)
        self.down = gravity / (np.linalg.norm(gravity) or 1.0)

    # ---------------------------------------------------------------- tree joints

    def of_joint(self, j: int) -> Iterator[Vector]:
        """Yield the changes by rules 2 to 7 of section 10.3.6, and those for rotors, at one joint."""
        kind = self.model.joints[j].kind
        # rule 2: theorems 10.1 and 10.2
        placement = self.symbolic.joints[j].placement.spatial()
        yield from self._both_sides(kind, self.model.joints[j].parent, placement, j, IDENTITY)
        if isinstance(kind, Fixed) or any(
            isinstance(self.model.joints[i].kind, FLOATING) for i in self.model.support(j)
        ):
            return
        path = self._path(j)
        if isinstance(kind, Prismatic):
            yield from self._of_slide(j, path)
        elif path.r2 is None:
            yield from self._of_parallel_hinge(j, path)
        yield from self._of_rotor(j, path)

    def _of_slide(self, j: int, path: Carriage) -> Iterator[Vector]:
        """Yield rules 3, 4 and 7: first moments of a sliding body."""
        if path.r1 is None:  # rule 7: it never turns
            yield from (self._first(j, e) for e in BASIS)
        elif path.r2 is None:
            if not self._parallel(j, path.r1):
                yield self._first(j, self._axis_in(path.r1, j))  # rule 4: eq. 10.21, Table 10.1
                return
            along = Vec3(*self.model.joints[j].kind.axis)  # type: ignore[attr-defined]
            yield self._first(j, along)  # rule 3: MZ has no effect, MX and MY are grouped by eq. 10.23
            yield from (self._moved_across(j, path, e) for e in _across(along))

    def _moved_across(self, j: int, path: Carriage, e: Vec3) -> Vector:
        """Return the change of eq. 10.22: a first moment along ``e`` of a body that slides along the first hinge."""
        k = max(i for i in path.carriers if isinstance(self.model.joints[i].kind, Revolute))
        i = self.model.joints[j].parent
        x = self.symbolic.joints[j].placement.spatial()
        seen = x.rotate(e)
        offset = x.translation.dot(seen)  # minus the parent's origin in this frame: -P . e of eq. 10.22
        axis = Vec3(*self.model.joints[k].kind.axis)  # type: ignore[attr-defined]
        return _sum(
            self._first(j, e),
            self._ten(i, RigidInertia(first=-seen)),
            self._ten(k, RigidInertia(second=Symmetric3.outer(axis) * (-2.0 * offset))),
        )

    def _of_parallel_hinge(self, j: int, path: Carriage) -> Iterator[Vector]:
        """Yield rules 5 and 6: bodies that only turn about one direction."""
        axis = Vec3(*self.model.joints[j].kind.axis)  # type: ignore[attr-defined]
        x, y = _across(axis)
        for a, b in ((x, x), (x, y), (x, axis), (y, axis)):  # rule 5: XX, XY, XZ, YZ
            yield self._ten(j, RigidInertia(second=_product(a, b)))
        assert path.r1 is not None
        before = all(self._parallel(i, path.r1) for i in path.carriers)
        if before and self._along_gravity(path.r1) and self._on_one_line(j, path):  # rule 6
            yield from (self._first(j, e) for e in (x, y))

    def _of_rotor(self, j: int, path: Carriage) -> Iterator[Vector]:
        """Yield which rotors act like the body they drive: those of the joints r1, r2 and p1 (section 10.2.4)."""
        rotor = self.considered.rotor(j)
        if rotor is None:
            return
        kind, hinges = self.model.joints[j].kind, [i for i in path.carriers if self._turns(i)]
        if isinstance(kind, Revolute):
            first = not hinges
            # r2: if it is perpendicular to r1, only its own rate turns it about its axis
            second = path.r2 == j and all(self._square(j, i) for i in hinges)
            if first or second:
                axis = Vec3(*kind.axis)
                yield _sum({rotor: 1.0}, self._ten(j, RigidInertia(second=Symmetric3.outer(axis) * -1.0)))
            return
        # p1, and further slides perpendicular to all previous ones: mass slides like the rotor, and otherwise moves
        # with the parent
        across = all(
            self._parallel(j, i) if self._turns(i) else self._square(j, i) for i in self._moving(path.carriers)
        )
        if across and path.r2 is None and abs(self._world_axis(j) @ self.down) < PARALLEL:
            unit = RigidInertia(mass=1.0)
            placement = self.symbolic.joints[j].placement.spatial()
            yield _sum(
                {rotor: 1.0}, self._ten(j, RigidInertia(mass=-1.0)),
                self._ten(self.model.joints[j].parent, placement.rigid_to_parent(unit)),
            )  # fmt: skip

    # ---------------------------------------------------------------- loops

    def of_cut(self, loop: object) -> Iterator[Vector]:
        """Yield rule 1: a cut joint cannot distinguish its two sides, like a joint of the tree (eq. 10.49-10.53)."""
        index = self.model.loops.index(loop)  # type: ignore[arg-type]
        numbers, here = self.model.loops[index], self.symbolic.loops[index]
        yield from self._both_sides(
            numbers.kind, numbers.predecessor, here.placement.spatial(), numbers.successor, here.seat.spatial()
        )

    def of_parallelogram(self, p: Parallelogram) -> Iterator[Vector]:
        """Yield rule 1 for bodies that turn alike: only the sum of their inertia tensors matters (eq. 10.54-10.56).

        Khalil assumes motors only on independent joints. If there are more, only the sum of the resistances to the
        speed of a corner matters.
        """
        for pair in p.alike:
            turn = Transform((pair.rotation,))
            for tensor in TENSORS:
                s = RigidInertia(second=tensor)
                yield _difference(self._ten(pair.second, s), self._ten(pair.first, turn.rigid_to_parent(s)))
        for symbol in ("rotor_inertia", "damping", "friction"):
            columns = [c for j in p.hinges if (c := self.considered.of_joint(symbol, j)) is not None]
            yield from ({c: 1.0, columns[0]: -1.0} for c in columns[1:])

    def _both_sides(self, kind: JointKind, i: int, x: Transform, j: int, y: Transform) -> Iterator[Vector]:
        """Yield the changes that do not affect a joint: inertia moved from one of its sides to the other.

        These are the mass, the first moment along a hinge and the inertia across it (eq. 10.14 to 10.19, 10.51), all
        inertia of a slide (eq. 10.20, 10.52), and all parameters of a weld.
        """
        for s in kind.cannot_tell() if isinstance(kind, COVERED) else ():
            yield _difference(self._ten(j, y.rigid_to_parent(s)), self._ten(i, x.rigid_to_parent(s)))

    # ---------------------------------------------------------------- directions and places

    def _path(self, j: int) -> Carriage:
        *carriers, last = self.model.support(j)
        assert last == j
        hinges = [i for i in (*carriers, j) if self._turns(i)]
        r1 = hinges[0] if hinges else None
        across = [i for i in hinges if not self._parallel(i, hinges[0])]
        return Carriage(tuple(carriers), r1, across[0] if across else None)

    def _moving(self, joints: Sequence[int]) -> list[int]:
        return [i for i in joints if not isinstance(self.model.joints[i].kind, Fixed)]

    def _turns(self, i: int) -> bool:
        return isinstance(self.model.joints[i].kind, Revolute)

    def _world_axis(self, i: int) -> Array:
        return np.asarray(self.poses[i][:3, :3] @ np.array(self.model.joints[i].kind.axis))  # type: ignore[attr-defined]

    def _parallel(self, i: int, j: int) -> bool:
        kinds = self.model.joints[i].kind, self.model.joints[j].kind
        if any(isinstance(kind, Fixed) for kind in kinds):
            return True
        return bool(np.linalg.norm(np.cross(self._world_axis(i), self._world_axis(j))) < PARALLEL)

    def _square(self, i: int, j: int) -> bool:
        return bool(abs(self._world_axis(i) @ self._world_axis(j)) < PARALLEL)

    def _along_gravity(self, i: int) -> bool:
        return bool(np.linalg.norm(np.cross(self._world_axis(i), self.down)) < PARALLEL)

    def _on_one_line(self, j: int, path: Carriage) -> bool:
        assert path.r1 is not None
        apart = self.poses[j][:3, 3] - self.poses[path.r1][:3, 3]
        return bool(np.linalg.norm(np.cross(self._world_axis(j), apart)) < PARALLEL * self.considered.length)

    def _axis_in(self, i: int, j: int) -> Vec3:
        """Return the axis of joint i in the frame of body j, over any scalar."""
        axis = Vec3(*self.model.joints[i].kind.axis)  # type: ignore[attr-defined]
        for k in self.model.support(j)[self.model.support(j).index(i) + 1 :]:
            axis = self.symbolic.joints[k].placement.spatial().unrotate(axis)
        return axis

    # ---------------------------------------------------------------- vectors

    def _ten(self, body: int, inertia: RigidInertia) -> Vector:
        if body == BASE:
            return {}
        return {10 * body + k: x for k, x in enumerate(ten_of(inertia)) if not _is_zero(x)}

    def _first(self, body: int, e: Vec3) -> Vector:
        return self._ten(body, RigidInertia(first=e))


def _across(axis: Vec3) -> tuple[Vec3, Vec3]:
    """Return two directions perpendicular to an axis; coordinate axes for a coordinate axis."""
    a = np.array([*axis])
    z = int(np.argmax(np.abs(a)))
    x = np.eye(3)[(z + 1) % 3] - a * a[(z + 1) % 3]
    x /= np.linalg.norm(x)
    return Vec3(*x.tolist()), Vec3(*np.cross(a, x).tolist())


def _product(a: Vec3, b: Vec3) -> Symmetric3:
    """Return the symmetric part of a dyad."""
    return Symmetric3.outer(a + b) * 0.5 - Symmetric3.outer(a) * 0.5 - Symmetric3.outer(b) * 0.5


def _sum(*vectors: Vector) -> Vector:
    result: Vector = {}
    for vector in vectors:
        for c, x in vector.items():
            result[c] = result[c] + x if c in result else x
    return {c: x for c, x in result.items() if not _is_zero(x)}


def _difference(first: Vector, second: Vector) -> Vector:
    return _sum(first, {c: -x for c, x in second.items()})


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, (int, float)) and x == 0.0


# ------------------------------------------------------------------ how many there can be


def upper_bound(model: Model, parallelograms: int = 0) -> int | None:
    """Return the most base parameters of links, without rotors (eq. 10.24, 10.57); None with other joints.

    The bound is ``7 n_r + 4 n_p - 4 n_r0 - 3 n_p0 - 2 n_g0 - 11 n_par``, with the numbers of hinges, slides, hinges and
    slides directly on the base, hinges directly on the base along gravity, and parallelograms; a floating base adds
    ten.
    """
    if reached(model):
        return None
    hinges = [j for j in model.joints if isinstance(j.kind, Revolute)]
    slides = [j for j in model.joints if isinstance(j.kind, Prismatic)]
    gravity = np.array(model.gravity)
    size = np.linalg.norm(gravity) or 1.0

    def upright(rotation: Array, axis: Sequence[float]) -> bool:
        return bool(np.linalg.norm(np.cross(rotation @ np.array(axis), gravity / size)) < PARALLEL)

    n_r0, n_p0 = (sum(j.parent == BASE for j in kinds) for kinds in (hinges, slides))
    n_g0 = sum(j.parent == BASE and upright(j.placement.rotation, j.kind.axis) for j in hinges)  # type: ignore[attr-defined]
    floating = sum(isinstance(j.kind, FLOATING) for j in model.joints)
    return 10 * floating + 7 * len(hinges) + 4 * len(slides) - 4 * n_r0 - 3 * n_p0 - 2 * n_g0 - 11 * parallelograms

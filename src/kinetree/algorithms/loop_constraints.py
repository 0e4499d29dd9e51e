"""Loops: how far they are from closed, and the constraints they put on velocities and accelerations.

Every loop joint (cut in the spanning tree) connects a frame A on its predecessor to a frame B on its successor. The
columns of T span the forces that the joint can transmit, so that

    gap(q) = 0,    K v = 0,    K a + drift = 0,    K = T^T (J_B - J_A),    drift = K' v

(Featherstone eq. 9.2-9.12; Shah eq. 8.1; Khalil eq. 10.30).  Multipliers lambda, the forces on the successors, cause
the joint forces K^T lambda of the tree. Couplings of joints come last, one row each (:mod:`.couplings`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ..model.joints import Constraint
from ..model.pose import Pose
from ..model.tree import BASE, Loop, Model
from ..spatial import IDENTITY, ZERO_MOTION, Force, Motion, Scalar, Transform, combine_forces
from ..spatial.transform import RelativePose
from . import couplings
from .jacobian import columns_at
from .kinematics import Posed, poses, twists
from .passes import Scalars
from .path import Path

Matrix = list[list[Scalar]]

NO_LENGTH = 1e-10
"""Lengths below this, in meters, are rounding errors: atoms are larger."""

UNCLOSED = 1e-9
"""Loops that were open by more than this, in meters or radians, before the last correction do not count as closed after
it."""


class Closing(NamedTuple):
    """A loop joint at a configuration: the pose of B in A, and the motions that the joint prevents."""

    pose: Transform
    constraints: Sequence[Constraint]


class LoopSides:
    """The bodies around loops at a configuration, each loop seen from the last body that carries both of its ends.

    What moves that body changes nothing around the loop: the work for a loop does not grow with its distance from the
    base.
    """

    def __init__(self, tree: Model, q: Scalars) -> None:
        self.tree, self.q = tree, q
        self._posed: dict[int, dict[int, Posed]] = {}

    def posed(self, loop: Loop) -> Mapping[int, Posed]:
        """Return the bodies around a loop, with their poses in the body that carries both ends."""
        above = _meeting_body(self.tree, loop)
        found = self._posed.setdefault(above, {})
        for body in (loop.predecessor, loop.successor):
            if body != above and body not in found:
                path: Any = Path(self.tree, body, above)
                found |= zip(path.places, poses(path, self.q), strict=True)
        return found

    @cached_property
    def closings(self) -> list[Closing]:
        """Every loop joint at the configuration."""
        return [self._closing(loop) for loop in self.tree.loops]

    def _closing(self, loop: Loop) -> Closing:
        posed = self.posed(loop)
        ends = (loop.predecessor, loop.placement), (loop.successor, loop.seat)
        a, b = ((posed[body].pose if body in posed else IDENTITY) @ place.spatial() for body, place in ends)
        pose = RelativePose(a, b)
        return Closing(pose, loop.kind.constraints(pose))


def closings(tree: Model, q: Scalars) -> list[Closing]:
    """Return every loop joint at a configuration."""
    return LoopSides(tree, q).closings


def gaps(tree: Model, q: Scalars, sides: LoopSides | None = None) -> list[Scalar]:
    """Return how far every constraint is from being satisfied: meters, and radians or nearly so."""
    sides = sides or LoopSides(tree, q)
    return [c.gap for closing in sides.closings for c in closing.constraints] + couplings.gaps(tree, q)


def constraint_matrix(tree: Model, q: Scalars, sides: LoopSides | None = None) -> Matrix:
    """Return the matrix K of ``K v = 0``, one row per constraint."""
    rows: Matrix = []
    sides = sides or LoopSides(tree, q)
    for loop, closing in zip(tree.loops, sides.closings, strict=True):
        columns = relative_columns(tree, sides.posed(loop), loop, closing.pose)
        rows += [[0.0 if s is None else s.dot(c.force) for s in columns] for c in closing.constraints]
    return rows + couplings.matrix(tree, q)


def pattern(tree: Model) -> list[tuple[int, int]]:
    """Return the rows and columns of K that can be nonzero: a loop is moved only by the joints around it."""
    found: list[tuple[int, int]] = []
    row = 0
    for loop in tree.loops:
        around = set(tree.support(loop.predecessor)) ^ set(tree.support(loop.successor))
        columns = sorted({j for i in around for j in _freedoms(tree, i)})
        found += [(row + k, j) for k in range(loop.count) for j in columns]
        row += loop.count
    for k, coupling in enumerate(tree.couplings):
        found += [(row + k, j) for j in couplings.columns(tree, coupling)]
    return found


def connected(tree: Model) -> list[tuple[list[int], list[int]]]:
    """Return the groups of rows and columns of K that affect one another: loops that share joints."""
    by_row: dict[int, set[int]] = {i: set() for i in range(tree.n_constraints)}
    for i, j in pattern(tree):
        by_row[i].add(j)
    return grouped(by_row)


def grouped(by_row: Mapping[int, set[int]]) -> list[tuple[list[int], list[int]]]:
    """Return groups of rows that share columns, directly or through others, and these columns."""
    groups: list[tuple[list[int], set[int]]] = []
    for i, columns in by_row.items():
        rows, joined, apart = [i], set(columns), []
        for group in groups:
            if group[1] & joined:
                rows, joined = group[0] + rows, joined | group[1]
            else:
                apart.append(group)
        groups = [*apart, (rows, joined)]
    return sorted((sorted(rows), sorted(columns)) for rows, columns in groups)


def usual_size(tree: Model) -> float:
    """Return the usual size of entries of K away from singularities.

    It is one, or a lever arm if all of them are shorter; symbols have no size.
    """
    return min(1.0, max(arms(tree), default=1.0))


def arms(tree: Model) -> list[float]:
    """Return the nonzero distances of joints and loops from the origins of the bodies that carry them, in meters."""
    poses: list[Any] = [joint.placement for joint in tree.joints]
    poses += [pose for loop in tree.loops for pose in (loop.placement, loop.seat)]
    lengths = [math.hypot(*pose.translation) for pose in poses if isinstance(pose, Pose)]
    return [x for x in lengths if x > NO_LENGTH]


def levers(tree: Model, q: Scalars) -> list[list[tuple[Motion, Motion] | None]]:
    """Return how each freedom moves the two ends of each loop apart, per unit of its v: seen at A, and at B.

    If a loop is closed, the two views coincide. If it is open, the axis of a hinge may pass through one end and miss
    the other.
    """
    sides = LoopSides(tree, q)
    found = []
    for loop, closing in zip(tree.loops, sides.closings, strict=True):
        columns = relative_columns(tree, sides.posed(loop), loop, closing.pose)
        found.append([None if s is None else (closing.pose.motion_to_parent(s), s) for s in columns])
    return found


def _freedoms(tree: Model, body: int) -> range:
    link = tree.links[body]
    return link.freedoms


def constraint_entries(tree: Model, q: Scalars) -> list[Scalar]:
    """Return the entries of K named by :func:`pattern`."""
    k = constraint_matrix(tree, q)
    return [k[i][j] for i, j in pattern(tree)]


def relative_columns(tree: Model, posed: Mapping[int, Posed], loop: Loop, pose: Transform) -> list[Motion | None]:
    """Return the velocity of B relative to A, in B, per unit of each v; joints that carry both do not contribute."""
    meeting = _meeting_body(tree, loop)
    there = columns_at(tree, posed, loop.successor, loop.seat.spatial(), meeting)
    here = columns_at(tree, posed, loop.predecessor, loop.placement.spatial(), meeting)
    result: list[Motion | None] = []
    for s, p in zip(there, here, strict=True):
        if p is None:
            result.append(s)
        else:
            seen = -pose.motion_to_child(p)
            result.append(seen if s is None else s + seen)
    return result


def _meeting_body(tree: Model, loop: Loop) -> int:
    """Return the last body that carries both sides."""
    here = [BASE, *tree.support(loop.predecessor)]
    there = set(tree.support(loop.successor)) | {BASE}
    return [b for b in here if b in there][-1]


class LoopMotion(NamedTuple):
    """How the two sides of a loop joint move apart, seen from B: velocity, and acceleration of its components."""

    closing: Closing
    twist: Motion
    bias: Motion


def loop_motions(
    tree: Model, q: Scalars, v: Scalars, sides: LoopSides | None = None, a: Scalars | None = None
) -> list[LoopMotion]:
    """Return how every loop joint opens while the tree moves with ``v`` and ``a``, zero if None."""
    sides = sides or LoopSides(tree, q)
    found = []
    for loop, closing in zip(tree.loops, sides.closings, strict=True):
        x = closing.pose
        v_b, a_b = _seen_from(sides, loop, loop.successor, loop.seat.spatial(), v, a)
        v_a, a_a = _seen_from(sides, loop, loop.predecessor, loop.placement.spatial(), v, a)
        v_a, a_a = x.motion_to_child(v_a), x.motion_to_child(a_a)
        twist = v_b - v_a
        # the components of v_a in B change because B turns away from A: X' = -twist x X
        found.append(LoopMotion(closing, twist, a_b - a_a + twist.cross(v_a)))
    return found


def drift(tree: Model, q: Scalars, v: Scalars, sides: LoopSides | None = None) -> list[Scalar]:
    """Return ``K' v``: the constraints' accelerations when all ``a`` are zero (Featherstone eq. 9.12)."""
    return opening(tree, loop_motions(tree, q, v, sides)) + couplings.drift(tree, q, v)


def opening(tree: Model, motions: Sequence[LoopMotion]) -> list[Scalar]:
    """Return the acceleration with which loops open along each constraint: ``K a + K' v``, without forming K."""
    result: list[Scalar] = []
    for loop, m in zip(tree.loops, motions, strict=True):
        rates = loop.kind.constraint_rates(m.closing.pose, m.twist)
        for k, constraint in enumerate(m.closing.constraints):
            value = m.bias.dot(constraint.force)
            result.append(value if rates is None else value + m.twist.dot(rates[k]))
    return result


def _seen_from(
    sides: LoopSides, loop: Loop, body: int, frame: Transform, v: Scalars, a: Scalars | None
) -> tuple[Motion, Motion]:
    """Return velocity and acceleration of a frame, relative to the body that carries both ends of a loop."""
    above = _meeting_body(sides.tree, loop)
    if body == above:
        return ZERO_MOTION, ZERO_MOTION
    path: Any = Path(sides.tree, body, above)
    posed = sides.posed(loop)
    velocity, acceleration = twists(path, sides.q, v, a, [posed[i] for i in path.places])[-1]
    return frame.motion_to_child(velocity), frame.motion_to_child(acceleration)


def loop_wrenches(tree: Model, q: Scalars, multipliers: Scalars, sides: LoopSides | None = None) -> list[Force]:
    """Return the force of each loop joint on its successor, in the joint's moving frame B."""
    result: list[Force] = []
    used = 0
    for closing in (sides or LoopSides(tree, q)).closings:
        count = len(closing.constraints)
        result.append(combine_forces([c.force for c in closing.constraints], multipliers[used : used + count]))
        used += count
    return result


def in_world_axes(tree: Model, wrenches: Sequence[Force], posed: Sequence[Posed]) -> list[Force]:
    """Return the forces of loop joints on their successors, at the joints, along the world's axes."""
    found = []
    for loop, wrench in zip(tree.loops, wrenches, strict=True):
        carrier = IDENTITY if loop.successor == BASE else posed[loop.successor].pose
        pose = carrier @ loop.seat.spatial()
        found.append(Force(pose.rotate(wrench.moment), pose.rotate(wrench.force)))
    return found


def loads_on_bodies(
    tree: Model, q: Scalars, wrenches: Sequence[Force], sides: LoopSides | None = None
) -> list[Force | None]:
    """Return loop forces as external forces on the bodies of the tree, each in its body's own coordinates."""
    sides = sides or LoopSides(tree, q)
    loads: list[Force | None] = [None] * len(tree.bodies)

    def push(body: int, force: Force) -> None:
        if body != BASE:
            present = loads[body]
            loads[body] = force if present is None else present + force

    for loop, closing, wrench in zip(tree.loops, sides.closings, wrenches, strict=True):
        push(loop.successor, loop.seat.spatial().force_to_parent(wrench))
        push(loop.predecessor, -loop.placement.spatial().force_to_parent(closing.pose.force_to_parent(wrench)))
    return loads

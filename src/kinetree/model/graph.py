"""Mechanisms as graphs of bodies and joints, and the choice of the tree that the algorithms walk.

Joints outside the tree are cut: they close loops, and are represented by constraint forces.
Rules for choosing them, all starting from the base:

- ``minimum_dof``: every body is reached by the path with the fewest degrees of freedom
  (Shah sections 8.1, 8.4: minimum cumulative DOF), that is Dijkstra's tree with a joint's
  freedoms as its length.
- ``shortest``: every body is reached by the fewest moving joints, so that both branches
  of a loop are short and as equal as possible (Khalil section 10.3).

If several choices are equal, joints with few constraints are cut (Featherstone section 9.4), then those described last.
Joints that have more than geometry (a motor, friction, a rotor, a spring, a mimicked angle, a coupling) are cut only if
a loop has no other joints, or if they are named explicitly. Even then, such a joint keeps its coordinate: one of its
bodies is split instead, see :func:`split`. A joint may be walked from its child to its parent; its coordinates keep
their meaning.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

from ..errors import ModelError, ModelWarning, refuse_unknown, warn
from .joint_fields import FIELDS, passive_data
from .joints import Distance, Fixed, JointKind, Reversed, reverse
from .mass import MassProperties
from .pose import Pose
from .tree import Loop

RULES = ("minimum_dof", "shortest")


class GraphError(ModelError):
    """Bodies and joints do not form a mechanism; ``subject`` is the joint or body in question."""

    def __init__(self, message: str, subject: str) -> None:
        super().__init__(message)
        self.subject = subject


@dataclass
class Draft:
    """A joint as described, before the tree is known."""

    name: str
    parent: str
    child: str
    kind: JointKind
    placement: Pose
    child_pose: Pose
    data: dict[str, Any] = field(default_factory=dict)
    given_seat: Pose | None = None
    turned: bool = False

    @property
    def seat(self) -> Pose:
        """Pose of the moving frame on the child; if it was given, exactly as given."""
        return inverse(self.child_pose) if self.given_seat is None else self.given_seat

    def other(self, body: str) -> str:
        """Return the body at the other end."""
        return self.parent if body == self.child else self.child

    def turn(self) -> Draft:
        """Return the same joint, walked from child to parent."""
        return replace(
            self,
            parent=self.child,
            child=self.parent,
            kind=reverse(self.kind),
            placement=self.seat,
            child_pose=inverse(self.placement),
            given_seat=self.placement,
            turned=not self.turned,
        )


class Spanning(NamedTuple):
    """The joints of the tree, parents first and in the direction they are walked, and the cut joints."""

    tree: list[Draft]
    cuts: list[Draft]


def inverse(pose: Pose) -> Pose:
    """Return the inverse, with parent and child swapped and without negative zeros."""
    if pose.is_identity:
        return Pose()
    back = pose.inverse()
    x, y, z = (c + 0.0 for c in back.translation)
    return Pose(tuple(c + 0.0 for c in back.nine), (x, y, z))


class Split(NamedTuple):
    """A joint that closes a loop but stays in the tree, because one of its bodies is split."""

    joint: Draft
    """The joint as before, but carrying one half of the body."""
    weld: Draft
    """The joint between the halves, which have the same frame; this joint is cut."""
    body: str
    """The body that is split."""


def split(draft: Draft, masses: Mapping[str, MassProperties], root: str, half: str, weld: str) -> Split:
    """Split a body next to a joint that has more than geometry, so that the joint keeps its coordinate.

    Each half has half of the mass and of the inertia, so that no joint moves something massless; welded together, they
    are the original body.
    """
    ends = [end for end in (draft.child, draft.parent) if end != root and masses[end].mass > 0.0]
    if not ends:
        raise GraphError(
            f"joint {draft.name!r} cannot be cut: it has more than geometry, so one of its bodies must be split, "
            f"but neither {draft.child!r} nor {draft.parent!r} has a mass that could be halved; cut "
            "another joint",
            draft.name,
        )
    body = ends[0]
    walked = draft if body == draft.child else draft.turn()
    joint = replace(walked, child=half, turned=draft.turned)
    return Split(joint, Draft(weld, body, half, Fixed(), Pose(), Pose(), passive_data(Fixed())), body)


def why_uncuttable(joints: Iterable[Draft], coupled: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the joints that have more than geometry, and what else they have, in words."""
    joints = list(joints)
    leaders = {d.data["mimic"].leader: d.name for d in joints if d.data["mimic"]}
    reasons = {d.name: _more_than_geometry(d, leaders) or (coupled or {}).get(d.name) for d in joints}
    return {name: reason for name, reason in reasons.items() if reason}


def can_close(kind: JointKind) -> bool:
    """Return whether a kind defines its constraints; a user's own joint may not."""
    own = kind.kind if isinstance(kind, Reversed) else kind
    return type(own).constraints is not JointKind.constraints


def _more_than_geometry(draft: Draft, leaders: dict[str, str]) -> str | None:
    data = draft.data
    for name, row in FIELDS.items():
        if row.has and any(data[name]):
            return row.has
    if data["mimic"]:
        return f"mimics joint {data['mimic'].leader!r}"
    if draft.name in leaders:
        return f"is mimicked by joint {leaders[draft.name]!r}"
    if not can_close(draft.kind):
        return f"is a {draft.kind.name} joint, which does not define what it forbids"
    return "is actuated" if data["actuated"] and draft.kind.nv and not draft.kind.only_closes else None


def span(
    root: str, bodies: Iterable[str], joints: Sequence[Draft], cuts: Sequence[str] | None = None,
    rule: str | None = None, coupled: Mapping[str, str] | None = None,
) -> Spanning:  # fmt: skip
    """Choose the tree.

    root: The base.
    bodies: Bodies that must all be reached.
    cuts: Joints to cut; loops that remain are cut by the rule.
    rule: {"minimum_dof", "shortest"}. The first by default.
    coupled: Joints that are coupled with others, and the reason in words.

    Raises
    ------
    GraphError
        If a body cannot be reached, or a cut disconnects one.
    """
    rule = rule or RULES[0]
    refuse_unknown("rule for the spanning tree", rule, RULES)
    named = _named_cuts(joints, cuts)
    kept = why_uncuttable(joints, coupled)
    check_rods(joints, kept)
    free = [d for d in joints if d.name not in named and not d.kind.only_closes]
    _check_reach(root, bodies, free, joints, named)
    needed = _released(free, kept)
    chosen = _grow(root, free, kept.keys() - needed, rule)
    return Spanning(_in_order(root, [d for d in free if d.name in chosen]), [d for d in joints if d.name not in chosen])


def check_rods(joints: Iterable[Draft], kept: dict[str, str]) -> None:
    """Refuse rods and other joints without coordinates that have more than geometry."""
    for draft in joints:
        if draft.kind.only_closes and draft.name in kept:
            what = "distance rod" if isinstance(draft.kind, Distance) else f"{draft.kind.name} joint"
            raise GraphError(
                f"the {what} {draft.name!r} {kept[draft.name]}, but it has no coordinate that this could act on",
                draft.name,
            )


def _named_cuts(joints: Sequence[Draft], cuts: Sequence[str] | None) -> set[str]:
    if isinstance(cuts, str):
        raise ModelError(f"cuts is a list of joint names; for a single one, write [{cuts!r}]")
    known = [d.name for d in joints]
    for name in cuts or ():
        refuse_unknown("joint to cut", name, known)
    return set(cuts or ())


def _around(joints: Iterable[Draft]) -> dict[str, list[Draft]]:
    """Return the joints at each body."""
    found: dict[str, list[Draft]] = {}
    for draft in joints:
        for body in (draft.parent, draft.child):
            found.setdefault(body, []).append(draft)
    return found


def _reached(root: str, joints: Iterable[Draft]) -> set[str]:
    around = _around(joints)
    seen, waiting = {root}, [root]
    while waiting:
        body = waiting.pop()
        new = {d.other(body) for d in around.get(body, [])} - seen
        seen |= new
        waiting.extend(new)
    return seen


def _check_reach(
    root: str, bodies: Iterable[str], free: Sequence[Draft], joints: Sequence[Draft], named: set[str]
) -> None:
    bodies = list(bodies)
    lost = _missing(bodies, _reached(root, free))
    if not lost:
        return
    held = set(_missing(bodies, _reached(root, joints)))
    if held:
        lost = [b for b in lost if b in held]
        alone = lost[0] not in _around(joints)
        reason = f"no joint joins {'it' if len(lost) == 1 else 'them'} to the base {root!r}"
        advice = "; declare its joint" if alone else ", directly or through other bodies"
        raise GraphError(f"{_list(lost)} cannot be reached: {reason}{advice}", lost[0])
    on_rods = set(_missing(bodies, _reached(root, [d for d in joints if not d.kind.only_closes])))
    hanging = [b for b in lost if b not in on_rods]
    if hanging:
        cut = ", ".join(repr(d.name) for d in joints if d.name in named)
        raise GraphError(
            f"cutting {cut} leaves {_list(hanging)} unsupported: nothing connects it to the base {root!r}; cut "
            "joints of loops only, one for each loop",
            next(d.name for d in joints if d.name in named),
        )
    raise GraphError(
        f"{_list(lost)} is held by {_bodiless(joints)} only, which cannot carry a body: join it by a free "
        "joint, which leaves it all its freedom",
        lost[0],
    )


def _bodiless(joints: Sequence[Draft]) -> str:
    """Return the names of joints that cannot carry a body."""
    names = {"distance rods" if isinstance(d.kind, Distance) else f"{d.kind.name} joints" for d in joints
             if d.kind.only_closes}  # fmt: skip
    return ", ".join(sorted(names))


def _missing(bodies: Iterable[str], reached: set[str]) -> list[str]:
    return [b for b in bodies if b not in reached]


def _list(bodies: Sequence[str]) -> str:
    shown = ", ".join(repr(b) for b in bodies[:6]) + (", ..." if len(bodies) > 6 else "")
    return f"body {shown}" if len(bodies) == 1 else f"bodies {shown}"


def _released(joints: Iterable[Draft], kept: dict[str, str]) -> set[str]:
    """Return the joints to cut although they have more than geometry: one per loop in which all joints have more.

    Joints without a motor are cut first; among the rest, those described last.
    """
    leader: dict[str, str] = {}

    def group(body: str) -> str:
        while leader.get(body, body) != body:
            leader[body] = leader.get(leader[body], leader[body])
            body = leader[body]
        return body

    needed: set[str] = set()
    for draft in sorted((d for d in joints if d.name in kept), key=lambda d: not d.data["actuated"]):
        here, there = group(draft.parent), group(draft.child)
        if here == there:
            needed.add(draft.name)
        leader[here] = there
    return needed


def _grow(root: str, joints: Sequence[Draft], kept: Container[str], rule: str) -> set[str]:
    """Return Dijkstra's tree; bodies connected by joints that must stay are reached together, through those joints."""
    order = {d.name: i for i, d in enumerate(joints)}
    around = _around(joints)
    chosen: set[str] = set()
    settled: set[str] = set()
    waiting: list[tuple[int, int, int, Draft, str]] = []

    def settle(body: str, cost: int) -> None:
        together = [(body, cost)]
        while together:
            here, reach = together.pop()
            settled.add(here)
            for draft in around.get(here, []):
                there, length = draft.other(here), reach + _length(draft, rule)
                if there in settled:
                    continue
                if draft.name in kept:
                    chosen.add(draft.name)
                    together.append((there, length))
                else:
                    heapq.heappush(waiting, (length, draft.kind.nv, order[draft.name], draft, there))

    settle(root, 0)
    while waiting:
        cost, _, _, draft, body = heapq.heappop(waiting)
        if body not in settled:
            chosen.add(draft.name)
            settle(body, cost)
    return chosen


def _length(draft: Draft, rule: str) -> int:
    return draft.kind.nv if rule == "minimum_dof" else min(draft.kind.nv, 1)


def _in_order(root: str, tree: Sequence[Draft]) -> list[Draft]:
    """Order joints parents first, otherwise as described, each directed away from the root."""
    order = {d.name: i for i, d in enumerate(tree)}
    around = _around(tree)
    ready: list[tuple[int, Draft]] = []
    result: list[Draft] = []

    def reach(body: str, through: Draft | None) -> None:
        for draft in around.get(body, []):
            if draft is not through:
                heapq.heappush(ready, (order[draft.name], draft if draft.parent == body else draft.turn()))

    reach(root, None)
    while ready:
        position, draft = heapq.heappop(ready)
        result.append(draft)
        reach(draft.child, tree[position])
    return result


def checked_loops(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Return loops unchanged; warn of one that exists twice, refuse rods of two lengths in the same place."""
    for one, other in combinations(loops, 2):
        alike = _places(one) == _places(other)
        crossed = _places(one) == _places(other)[::-1]
        if isinstance(one.kind, Distance) and isinstance(other.kind, Distance) and (alike or crossed):
            if one.kind.length != other.kind.length:
                raise GraphError(
                    f"loops {one.name!r} and {other.name!r} contradict one another: they are rods between the same two "
                    f"points, {one.kind.length:g} m and {other.kind.length:g} m long",
                    other.name,
                )
        elif not alike:
            continue
        if one.kind == other.kind:
            warn(
                f"loops {one.name!r} and {other.name!r} are the same joint twice: the second adds no constraint, and "
                "leaves open how they share forces; leave one of them out",
                ModelWarning,
            )
    return loops


def _places(loop: Loop) -> tuple[object, object]:
    """Return the two ends of a loop joint; for a rod, only the points matter."""
    if isinstance(loop.kind, Distance):
        return (loop.predecessor, loop.placement.translation), (loop.successor, loop.seat.translation)
    return (loop.predecessor, loop.placement), (loop.successor, loop.seat)

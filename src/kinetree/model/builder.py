"""Putting a mechanism together, body by body, and checking that it can be."""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..errors import ModelError, ModelWarning, UnknownNameError
from .joints import Fixed, Free, JointKind
from .mass import MassProperties
from .pose import Pose, floats
from .tree import BASE, Body, Frame, Joint, Loop, Mimic, Model, check_gravity, lay_out

PerFreedom = float | Sequence[float] | None

JOINT_DATA = (
    "child_pose", "lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "rotor_inertia",
    "gear_ratio", "actuated", "mimic",
)  # fmt: skip
"""What :meth:`ModelBuilder.body` hands on to :meth:`ModelBuilder.add_joint`."""


@dataclass
class _Draft:
    """A joint as it was described, before the tree is known."""

    name: str
    parent: str
    child: str
    kind: JointKind
    placement: Pose
    child_pose: Pose
    data: dict[str, Any] = field(default_factory=dict)


def _per(value: PerFreedom, count: int, default: float, what: str, nonnegative: bool = False) -> tuple[float, ...]:
    """One number per freedom, from one number or a sequence."""
    if value is None:
        return (default,) * count
    if isinstance(value, (int, float)):
        numbers = (float(value),) * count
    else:
        array = floats(value, what)
        if array.shape not in ((), (count,)):
            raise ModelError(f"{what} needs one number or {count}, got shape {array.shape}")
        numbers = tuple(float(x) for x in np.broadcast_to(array, (count,)))
    if any(map(math.isnan, numbers)):
        raise ModelError(f"{what} is not a number")
    if nonnegative and any(x < 0 for x in numbers):
        raise ModelError(f"{what} must not be negative, got {list(numbers)}")
    return numbers


class ModelBuilder:
    """Collects bodies, joints and frames in any order; :meth:`model` checks and orders them.

    Parameters
    ----------
    name : str
        Name of the robot.
    base : str
        Name of the fixed base (ground).
    gravity : sequence of 3 floats
        Acceleration of free fall in the world frame.
    strict : bool
        Whether physically impossible inertias and a robot without moving joints are errors
        (default) or warnings, as for real-world files.
    """

    def __init__(
        self,
        name: str = "robot",
        *,
        base: str = "base",
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        strict: bool = True,
    ) -> None:
        self.name = name
        self.base = base
        self.gravity = check_gravity(gravity)
        self.strict = strict
        self._bodies: dict[str, MassProperties] = {}
        self._joints: dict[str, _Draft] = {}
        self._frames: dict[str, tuple[str, Pose]] = {}
        self._loops: dict[str, tuple[str, str, JointKind, Pose, Pose]] = {}

    # Describing

    def add_body(self, name: str, mass_properties: MassProperties | None = None) -> None:
        """Declare a body. :meth:`body` does this and its joint in one go."""
        if not isinstance(name, str) or not name:
            raise ModelError(f"a body needs a name, got {name!r}")
        if name in self._bodies:
            raise ModelError(f"two bodies are named {name!r}")
        properties = mass_properties or MassProperties()
        self._check_mass(name, properties)
        self._bodies[name] = properties

    def _check_mass(self, name: str, properties: MassProperties) -> None:
        for problem in properties.problems():
            message = f"body {name!r}: {problem}"
            if properties.mass < 0 or not properties.is_finite:
                raise ModelError(message)
            self._oddity(message)

    def _oddity(self, message: str) -> None:
        """Something a real-world file may contain but a mechanism should not."""
        if self.strict:
            raise ModelError(message)
        warnings.warn(message, ModelWarning, stacklevel=5)

    def add_joint(
        self,
        name: str,
        parent: str,
        child: str,
        kind: JointKind,
        placement: Pose | None = None,
        *,
        child_pose: Pose | None = None,
        lower: PerFreedom = None,
        upper: PerFreedom = None,
        velocity_limit: PerFreedom = None,
        effort_limit: PerFreedom = None,
        damping: PerFreedom = None,
        friction: PerFreedom = None,
        rotor_inertia: PerFreedom = None,
        gear_ratio: PerFreedom = None,
        actuated: bool = True,
        mimic: Mimic | None = None,
    ) -> None:
        """Declare a joint between two bodies.

        Parameters
        ----------
        name, parent, child : str
        kind : JointKind
        placement : Pose
            Of the joint's fixed frame in the parent body's frame.
        child_pose : Pose
            Of the child body's frame in the joint's moving frame (identity as a rule; the
            standard Denavit-Hartenberg rule puts body frames at the far end of the link).
        lower, upper, velocity_limit, effort_limit, damping, friction, rotor_inertia, gear_ratio
            One number or one per freedom; see :class:`kinetree.model.tree.Joint`.
        actuated : bool
        mimic : Mimic
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"a joint needs a name, got {name!r}")
        if name in self._joints:
            raise ModelError(f"two joints are named {name!r}")
        if not isinstance(kind, JointKind):
            raise ModelError(f"joint {name!r}: kind must be a joint such as kinetree.Revolute('z'), not {kind!r}")
        where = f"joint {name!r}: "
        nq, nv = kind.nq, kind.nv
        inf = math.inf
        data: dict[str, Any] = {
            "lower": _per(lower, nq, -inf, where + "lower limit"),
            "upper": _per(upper, nq, inf, where + "upper limit"),
            "velocity_limit": _per(velocity_limit, nv, inf, where + "velocity limit", True),
            "effort_limit": _per(effort_limit, nv, inf, where + "effort limit", True),
            "damping": _per(damping, nv, 0.0, where + "damping", True),
            "friction": _per(friction, nv, 0.0, where + "friction", True),
            "rotor_inertia": _per(rotor_inertia, nv, 0.0, where + "rotor inertia", True),
            "gear_ratio": _per(gear_ratio, nv, 1.0, where + "gear ratio"),
            "actuated": bool(actuated),
            "mimic": mimic,
        }
        if any(lo > up for lo, up in zip(data["lower"], data["upper"], strict=True)):
            raise ModelError(f"{where}lower limit {data['lower']} exceeds upper limit {data['upper']}")
        if mimic is not None and not isinstance(mimic, Mimic):
            raise ModelError(f"{where}mimic must be kinetree.Mimic(leader, ratio, offset), not {mimic!r}")
        if mimic and nv != 1:
            raise ModelError(f"{where}only joints with one degree of freedom can mimic another")
        self._joints[name] = _Draft(name, parent, child, kind, placement or Pose(), child_pose or Pose(), data)

    def body(
        self,
        name: str,
        parent: str,
        joint: JointKind,
        *,
        joint_name: str | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        rpy: Sequence[float] | None = None,
        rotation: Any = None,
        placement: Pose | Any = None,
        mass: float | None = None,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        about: str = "com",
        mass_properties: MassProperties | None = None,
        **joint_data: Any,
    ) -> Self:
        """Add a body and the joint that carries it; returns the builder, so calls can be chained.

        Parameters
        ----------
        name : str
            Of the body.
        parent : str
            Body that carries it, or the base.
        joint : JointKind
            Such as ``kinetree.Revolute("z")``.
        joint_name : str
            Defaults to ``<name>_joint``.
        position, rpy, rotation, placement
            Where the joint sits on the parent.
        mass, com, inertia, about
            See :meth:`MassProperties.of`; or give ``mass_properties``.
        **joint_data
            Limits, friction, ...: see :meth:`add_joint`.

        Examples
        --------
        >>> import kinetree as kt
        >>> b = kt.Builder("pendulum")
        >>> robot = b.body("bob", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -1)).build()
        """
        if mass_properties is not None and mass is not None:
            raise ModelError(f"body {name!r}: give either mass or mass_properties")
        try:
            given = 0.0 if mass is None else mass
            mass_properties = mass_properties or MassProperties.of(given, com, inertia, about=about)
            pose = Pose.of(position, rpy=rpy, rotation=rotation) if placement is None else Pose.like(placement)
        except ModelError as problem:
            raise ModelError(f"body {name!r}: {problem}") from None
        joint_name = joint_name or f"{name}_joint"
        if name in self._bodies:
            raise ModelError(f"two bodies are named {name!r}")
        for word in joint_data:
            if word not in JOINT_DATA:
                raise UnknownNameError(f"joint property (given for body {name!r})", word, JOINT_DATA)
        if joint_name in self._joints:
            raise ModelError(f"two joints are named {joint_name!r}")
        self.add_body(name, mass_properties)
        try:
            self.add_joint(joint_name, parent, name, joint, pose, **joint_data)
        except BaseException:
            del self._bodies[name]
            raise
        return self

    def frame(
        self,
        name: str,
        body: str,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        rpy: Sequence[float] | None = None,
        rotation: Any = None,
        pose: Pose | None = None,
    ) -> Self:
        """Name a place on a body: a tool tip, a sensor, a contact point."""
        if name in self._frames:
            raise ModelError(f"two frames are named {name!r}")
        try:
            self._frames[name] = (body, pose or Pose.of(position, rpy=rpy, rotation=rotation))
        except ModelError as problem:
            raise ModelError(f"frame {name!r}: {problem}") from None
        return self

    def loop(
        self,
        name: str,
        predecessor: str,
        successor: str,
        joint: JointKind,
        *,
        placement: Pose | Any = None,
        seat: Pose | Any = None,
    ) -> Self:
        """Close a loop: a joint between two bodies that are carried already.

        Parameters
        ----------
        name : str
            Of the joint.
        predecessor, successor : str
            Bodies or frames it joins; the base is one of them where the loop goes through the ground.
        joint : JointKind
            Such as ``kinetree.Revolute("z")``, or ``kinetree.Distance(0.3)`` for a rod.
        placement : Pose, (3,) position or 4x4 matrix
            Of the joint's fixed frame on the predecessor.
        seat : Pose, (3,) position or 4x4 matrix
            Of the joint's moving frame on the successor.
        """
        if name in self._loops or name in self._joints:
            raise ModelError(f"two joints are named {name!r}")
        if not isinstance(joint, JointKind):
            raise ModelError(f"loop {name!r}: give a joint such as kinetree.Revolute('z'), not {joint!r}")
        fixed, moving = (Pose() if p is None else Pose.like(p) for p in (placement, seat))
        self._loops[name] = (predecessor, successor, joint, fixed, moving)
        return self

    # Building

    def model(self, *, floating_base: bool = False, merge_fixed: bool = True) -> Model:
        """Check everything, order it, weld what is fixed, and freeze it."""
        if not self._joints and not self._bodies:
            raise ModelError(f"robot {self.name!r} is empty: it has no bodies")
        bodies = dict(self._bodies)
        root = self._find_root(bodies)
        drafts = self._ordered(root, bodies)
        base_name = root
        if floating_base:
            base_name = _fresh("world", bodies)
            bodies[base_name] = MassProperties()
            joint_name = _fresh("floating_base", self._joints)
            free = _Draft(joint_name, base_name, root, Free(), Pose(), Pose(), _default_data(Free()))
            drafts.insert(0, free)
        return self._assemble(base_name, bodies, drafts, merge_fixed)

    def _find_root(self, bodies: dict[str, MassProperties]) -> str:
        carried: dict[str, str] = {}
        for draft in self._joints.values():
            for role, body in (("parent", draft.parent), ("child", draft.child)):
                if body not in bodies and body == self.base:
                    bodies[self.base] = MassProperties()
                if body not in bodies:
                    known = [b for b in (self.base, *bodies) if b != draft.child or role == "child"]
                    raise UnknownNameError(f"body (the {role} of joint {draft.name!r})", body, known)
            if draft.parent == draft.child:
                raise ModelError(f"joint {draft.name!r} joins body {draft.child!r} to itself")
            if draft.child in carried:
                raise ModelError(
                    f"body {draft.child!r} is carried by two joints, {carried[draft.child]!r} and {draft.name!r}: "
                    "that is a closed loop, and this model is a tree"
                )
            carried[draft.child] = draft.name
        roots = [b for b in bodies if b not in carried]
        if not roots:
            raise ModelError(
                f"robot {self.name!r} has no root: its joints form a closed loop "
                f"({', '.join(list(carried.values())[:6])}, ...)"
            )
        if len(roots) > 1:
            raise ModelError(
                f"robot {self.name!r} has {len(roots)} roots ({', '.join(repr(r) for r in roots[:6])}): "
                "every body but one must be the child of a joint"
            )
        return roots[0]

    def _ordered(self, root: str, bodies: dict[str, MassProperties]) -> list[_Draft]:
        """Parents before children, otherwise the order of description."""
        by_parent: dict[str, list[tuple[int, _Draft]]] = {}
        for position, draft in enumerate(self._joints.values()):
            by_parent.setdefault(draft.parent, []).append((position, draft))
        ready = [(position, draft.name) for position, draft in by_parent.get(root, [])]
        heapq.heapify(ready)
        order = []
        while ready:
            _, name = heapq.heappop(ready)
            draft = self._joints[name]
            order.append(draft)
            for position, child in by_parent.get(draft.child, []):
                heapq.heappush(ready, (position, child.name))
        if len(order) != len(self._joints):
            reached = {d.child for d in order} | {root}
            lost = [b for b in bodies if b not in reached]
            raise ModelError(
                f"bodies {', '.join(repr(b) for b in lost[:6])} cannot be reached from the root {root!r}: "
                "their joints form a closed loop"
            )
        return order

    def _assemble(
        self, base_name: str, bodies: dict[str, MassProperties], drafts: list[_Draft], merge_fixed: bool
    ) -> Model:
        # where each described body frame ended up: (index of the moving body, pose on it)
        seat: dict[str, tuple[int, Pose]] = {base_name: (BASE, Pose())}
        names: list[str] = []
        masses: list[MassProperties] = []
        joints: list[Joint] = []
        frames: list[Frame] = []
        base_mass = bodies[base_name]
        for draft in drafts:
            carrier, pose = seat[draft.parent]
            placement = pose @ draft.placement
            if merge_fixed and isinstance(draft.kind, Fixed):
                place = placement @ draft.child_pose
                seat[draft.child] = (carrier, place)
                frames.append(Frame(draft.child, carrier, place))
                if draft.name not in bodies and draft.name != draft.child:
                    frames.append(Frame(draft.name, carrier, place))
                welded = bodies[draft.child].moved(place)
                if carrier == BASE:
                    base_mass = base_mass + welded
                else:
                    masses[carrier] = masses[carrier] + welded
                continue
            index = len(joints)
            seat[draft.child] = (index, draft.child_pose)
            if not draft.child_pose.is_identity:
                frames.append(Frame(draft.child, index, draft.child_pose))
            names.append(draft.child)
            masses.append(bodies[draft.child].moved(draft.child_pose))
            joints.append(Joint(draft.name, draft.kind, carrier, placement, **draft.data))
        if not joints:
            self._oddity(
                f"robot {self.name!r} has no moving joints: there is nothing to compute, unless floating_base=True "
                "lets it float"
            )
        for name, (body, pose) in self._frames.items():
            if body not in seat:
                raise UnknownNameError(f"body (of frame {name!r})", body, seat)
            carrier, place = seat[body]
            if name in bodies and name != body:
                raise ModelError(f"frame {name!r} has the name of a body")
            frames.append(Frame(name, carrier, place @ pose))
            seat.setdefault(name, (carrier, place @ pose))
        _check_unique_frames(frames)
        return Model(
            self.name,
            lay_out(_resolve_mimics(joints)),
            tuple(Body(n, m) for n, m in zip(names, masses, strict=True)),
            Body(base_name, base_mass),
            tuple(frames),
            self.gravity,
            tuple(self._closed(name, seat) for name in self._loops),
        )

    def _closed(self, name: str, places: dict[str, tuple[int, Pose]]) -> Loop:
        """A loop joint between bodies whose places are known now."""
        first, second, kind, placement, seat = self._loops[name]
        for body in (first, second):
            if body not in places:
                raise UnknownNameError(f"body (of loop {name!r})", body, places)
        (a, pose_a), (b, pose_b) = places[first], places[second]
        if a == b:
            raise ModelError(f"loop {name!r} joins {first!r} to {second!r}, which is the same rigid body")
        return Loop(name, kind, a, b, pose_a @ placement, pose_b @ seat)


def _default_data(kind: JointKind) -> dict[str, Any]:
    nq, nv, inf = kind.nq, kind.nv, math.inf
    return {
        "lower": (-inf,) * nq, "upper": (inf,) * nq, "velocity_limit": (inf,) * nv, "effort_limit": (inf,) * nv,
        "damping": (0.0,) * nv, "friction": (0.0,) * nv, "rotor_inertia": (0.0,) * nv, "gear_ratio": (1.0,) * nv,
        "actuated": False, "mimic": None,
    }  # fmt: skip


def _fresh(name: str, taken: Iterable[str]) -> str:
    used = set(taken)
    while name in used:
        name += "_"
    return name


def _check_unique_frames(frames: list[Frame]) -> None:
    seen: set[str] = set()
    for frame in frames:
        if frame.name in seen:
            raise ModelError(f"two frames are named {frame.name!r}")
        seen.add(frame.name)


def _resolve_mimics(joints: list[Joint]) -> list[Joint]:
    """Let every follower point at a joint that has a coordinate of its own."""
    by_name = {j.name: j for j in joints}
    resolved = []
    for joint in joints:
        if joint.mimic is None:
            resolved.append(joint)
            continue
        ratio, offset, leader, seen = joint.mimic.ratio, joint.mimic.offset, joint.mimic.leader, [joint.name]
        while True:
            if leader not in by_name:
                raise UnknownNameError(f"moving joint (mimicked by joint {joint.name!r})", leader, by_name)
            if leader in seen:
                raise ModelError(f"joints mimic one another in a circle: {' -> '.join([*seen, leader])}")
            seen.append(leader)
            target = by_name[leader]
            if target.mimic is None:
                break
            # q = ratio * (r q_top + o) + offset
            ratio, offset, leader = (
                ratio * target.mimic.ratio, ratio * target.mimic.offset + offset, target.mimic.leader,
            )  # fmt: skip
        if target.kind.nv != 1:
            raise ModelError(f"joint {joint.name!r} mimics {leader!r}, which has {target.kind.nv} degrees of freedom")
        resolved.append(replace(joint, mimic=Mimic(leader, ratio, offset)))
    return resolved

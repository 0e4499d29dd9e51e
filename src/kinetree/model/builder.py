"""Putting a mechanism together, body by body, and checking that it can be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..errors import Message, ModelError, ModelWarning, Setting, UnknownNameError
from ..spatial.numbers import real_number, shown
from .graph import LIMITS, Draft, GraphError, can_close, inverse, passive_data, span
from .joints import Fixed, Free, JointKind, Reversed
from .mass import MassProperties, require_mass_properties
from .pose import Pose, floats
from .tree import BASE, Body, Frame, Joint, Loop, Mimic, Model, check_gravity, lay_out

LARGEST = 1e100
"""Numbers of a robot beyond this are slips, and products of three of them no numbers at all."""

PerFreedom = float | Sequence[float] | None

JOINT_DATA = (
    "child_pose", "lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "rotor_inertia",
    "gear_ratio", "actuated", "mimic",
)  # fmt: skip
"""What :meth:`ModelBuilder.body` hands on to :meth:`ModelBuilder.add_joint`."""

BODY_DATA = (
    "mass",
    "com",
    "inertia",
    "about",
    "mass_properties",
    "position",
    "rpy",
    "rotation",
    "placement",
    "joint_name",
)
"""What :meth:`ModelBuilder.body` takes itself."""


def _per(
    value: PerFreedom, count: int, default: float, what: str, nonnegative: bool = False, finite: bool = False
) -> tuple[float, ...]:
    """Return one number per freedom, from one number or a sequence."""
    if value is None:
        return (default,) * count
    if isinstance(value, float):
        numbers = (value,) * count
    else:
        array = floats(value, what)
        if array.shape not in ((), (count,)):
            raise ModelError(f"{what} needs one number or {count}, got shape {array.shape}")
        numbers = tuple(float(x) for x in np.broadcast_to(array, (count,)))
    if any(map(math.isnan, numbers)):
        raise ModelError(f"{what} is not a number")
    if nonnegative and any(x < 0 for x in numbers):
        raise ModelError(f"{what} must not be negative, got {list(numbers)}")
    if finite and any(abs(x) > LARGEST for x in numbers):
        raise ModelError(f"{what} must be finite, and no more than {LARGEST:g}; got {list(numbers)}")
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
        if not isinstance(name, str):
            raise ModelError(f"a robot's name must be text, not {shown(name)}")
        self.name = name
        self.base = base
        self.gravity = check_gravity(gravity)
        self.strict = strict
        self._bodies: dict[str, MassProperties] = {}
        self._joints: dict[str, Draft] = {}
        self._frames: dict[str, tuple[str, Pose]] = {}
        self._loops: dict[str, Draft] = {}
        self._base_is_ground = False  # whether no body but the base can be the root

    # Describing

    def add_body(self, name: str, mass_properties: MassProperties | None = None) -> None:
        """Declare a body. :meth:`body` does this and its joint in one go."""
        if not isinstance(name, str) or not name:
            raise ModelError(f"a body needs a name, got {name!r}")
        if name in self._bodies:
            raise ModelError(f"two bodies are named {name!r}")
        properties = MassProperties() if mass_properties is None else mass_properties
        self._check_mass(name, properties)
        self._bodies[name] = properties

    def _check_mass(self, name: str, properties: MassProperties) -> None:
        require_mass_properties(properties, f"body {name!r}: mass_properties", "; a mass alone is mass=...")
        numbers = floats([properties.mass, *properties.com, *properties.inertia], f"body {name!r}: mass properties")
        largest = float(np.max(np.abs(numbers)))
        if LARGEST < largest < math.inf:
            raise ModelError(f"body {name!r}: mass properties of {largest:g}; none are beyond {LARGEST:g}")
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
        actuated: bool | None = None,
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
        actuated : bool, optional
            Whether a motor drives it; by default all but free joints have one.
        mimic : Mimic
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"a joint needs a name, got {name!r}")
        if name in self._joints or name in self._loops:
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
            "damping": _per(damping, nv, 0.0, where + "damping", True, True),
            "friction": _per(friction, nv, 0.0, where + "friction", True, True),
            "rotor_inertia": _per(rotor_inertia, nv, 0.0, where + "rotor inertia", True, True),
            "gear_ratio": _per(gear_ratio, nv, 1.0, where + "gear ratio", finite=True),
            "actuated": kind.usually_driven if actuated is None else bool(actuated),
            "mimic": mimic,
        }
        if inf in data["lower"] or -inf in data["upper"]:
            raise ModelError(f"{where}no position is within limits {data['lower']} and {data['upper']}")
        if any(lo > up for lo, up in zip(data["lower"], data["upper"], strict=True)):
            raise ModelError(f"{where}lower limit {data['lower']} exceeds upper limit {data['upper']}")
        if mimic is not None and not isinstance(mimic, Mimic):
            raise ModelError(f"{where}mimic must be kinetree.Mimic(leader, ratio, offset), not {mimic!r}")
        if mimic:
            for what, number in (("ratio", mimic.ratio), ("offset", mimic.offset)):
                real_number(number, f"{where}the {what} of mimic", error=ModelError)
        if mimic and nv != 1:
            raise ModelError(f"{where}only joints with one degree of freedom can mimic another")
        self._joints[name] = Draft(name, parent, child, kind, placement or Pose(), child_pose or Pose(), data)

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
        if mass_properties is None and mass is None and np.any(com):
            raise ModelError(f"body {name!r}: a center of mass needs a mass: give mass=..., or no com")
        if mass_properties is not None and (np.any(com) or np.any(inertia)):
            raise ModelError(
                f"body {name!r}: mass_properties has center of mass and inertia; com and inertia are too much"
            )
        if placement is not None and (np.any(position) or rpy is not None or rotation is not None):
            raise ModelError(f"body {name!r}: give either placement, or position with rpy or rotation")
        try:
            given = 0.0 if mass is None else mass
            if mass_properties is None:
                mass_properties = MassProperties.of(given, com, inertia, about=about)
            pose = Pose.of(position, rpy=rpy, rotation=rotation) if placement is None else Pose.like(placement)
        except ModelError as problem:
            raise ModelError(f"body {name!r}: {problem}") from None
        joint_name = joint_name or f"{name}_joint"
        if name in self._bodies:
            raise ModelError(f"two bodies are named {name!r}")
        for word in joint_data:
            if word not in JOINT_DATA:
                raise UnknownNameError(f"property (given for body {name!r})", word, (*BODY_DATA, *JOINT_DATA))
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

    def joint(
        self,
        name: str,
        parent: str,
        child: str,
        kind: JointKind,
        placement: Pose | Any = None,
        child_pose: Pose | Any = None,
        *,
        seat: Pose | Any = None,
        **data: Any,
    ) -> Self:
        """Join two bodies that are declared by :meth:`add_body`; joints may form loops. Returns the builder.

        Parameters
        ----------
        name, parent, child : str
            The base is a body like any other here, and may be the child.
        kind : JointKind
        placement : Pose, (3,) position or 4x4 matrix
            Of the joint's fixed frame on the parent.
        child_pose : Pose, (3,) position or 4x4 matrix
            Of the child's frame in the joint's moving frame.
        seat : Pose, (3,) position or 4x4 matrix
            The same the other way round: the joint's moving frame on the child. Give one of the two.
        **data
            Limits, friction, ...: see :meth:`add_joint`. A joint that is to be cut must be passive
            (``actuated=False``).
        """
        if child_pose is not None and seat is not None:
            raise ModelError(f"joint {name!r}: give either child_pose or seat")
        for word in data:
            if word not in JOINT_DATA:
                raise UnknownNameError(f"joint property (given for joint {name!r})", word, JOINT_DATA)
        try:
            fixed, moving = self._poses(placement, child_pose if seat is None else seat)
        except ModelError as problem:
            raise ModelError(f"joint {name!r}: {problem}") from None
        self.add_joint(name, parent, child, kind, fixed, child_pose=moving if seat is None else inverse(moving), **data)
        if seat is not None:
            self._joints[name].given_seat = moving
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
        **limits: PerFreedom,
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
        **limits
            ``lower``, ``upper``, ``velocity_limit``, ``effort_limit``: they count when another
            choice of cuts puts this joint into the tree.
        """
        if name in self._loops or name in self._joints:
            raise ModelError(f"two joints are named {name!r}")
        if not isinstance(joint, JointKind):
            raise ModelError(f"loop {name!r}: give a joint such as kinetree.Revolute('z'), not {joint!r}")
        for word in limits:
            if word not in LIMITS:
                raise UnknownNameError(f"property of a cut joint (given for loop {name!r})", word, LIMITS)
        data = passive_data(joint)
        for word, value in limits.items():
            count = joint.nq if word in ("lower", "upper") else joint.nv
            data[word] = _per(value, count, data[word][0], f"loop {name!r}: {word}", word.endswith("_limit"))
        fixed, moving = self._poses(placement, seat)
        self._loops[name] = Draft(name, predecessor, successor, joint, fixed, inverse(moving), data, moving)
        return self

    @staticmethod
    def _poses(*given: Pose | Any) -> tuple[Pose, ...]:
        return tuple(Pose() if p is None else Pose.like(p) for p in given)

    # Building

    def model(
        self,
        *,
        floating_base: bool = False,
        merge_fixed: bool = True,
        cuts: Sequence[str] | None = None,
        rule: str | None = None,
    ) -> Model:
        """Check everything, choose a spanning tree where there are loops, weld what is fixed, and freeze it.

        Parameters
        ----------
        floating_base : bool
            Put the root on a free joint.
        merge_fixed : bool
            Weld bodies on fixed joints to their parents.
        cuts : names of joints, optional
            Joints that close loops; the loops they leave are cut by the rule.
        rule : {"minimum_dof", "shortest"}, optional
            How to choose the cuts; see :mod:`kinetree.model.spanning`. Where neither cuts nor a rule
            are given, joints declared by :meth:`loop` are the cuts, and loops among other joints
            are cut for minimum degrees of freedom.
        """
        if not self._joints and not self._bodies:
            raise ModelError(f"robot {self.name!r} is empty: it has no bodies")
        self._check_sizes()
        bodies = dict(self._bodies)
        as_declared = cuts is None and rule is None
        joints = list(self._joints.values()) + (
            [] if as_declared else [self._on_bodies(d) for d in self._loops.values()]
        )
        self._check_ends_known(joints, bodies)
        root = self._find_root(bodies)
        spanning = span(root, bodies, joints, cuts, rule)
        loops = [*spanning.cuts, *(self._loops.values() if as_declared else [])]
        base_name, drafts = root, spanning.tree
        if floating_base:
            base_name = _fresh("world", bodies)
            bodies[base_name] = MassProperties()
            joint_name = _fresh("floating_base", self._joints)
            free = Draft(joint_name, base_name, root, Free(), Pose(), Pose(), passive_data(Free()))
            drafts.insert(0, free)
        return self._assemble(base_name, bodies, drafts, loops, merge_fixed)

    def _check_sizes(self) -> None:
        """Refuse places so far out that squares of them are no numbers any more; masses are checked when they come."""
        drafts = [*self._joints.values(), *self._loops.values()]
        places = [(f"joint {d.name!r}", pose) for d in drafts for pose in (d.placement, d.child_pose)]
        places += [(f"frame {name!r}", pose) for name, (_, pose) in self._frames.items()]
        for what, pose in places:
            if not all(abs(x) <= LARGEST for x in pose.translation):
                raise ModelError(
                    f"{what} is placed at {pose.translation} m: numbers beyond {LARGEST:g} cannot be computed with"
                )

    def _on_bodies(self, loop: Draft) -> Draft:
        """Return a loop joint between frames as one between the bodies these are on."""
        on = {name: place for name, place in self._frames.items() if name not in self._bodies}
        (parent, here), (child, there) = (on.get(end, (end, Pose())) for end in (loop.parent, loop.child))
        seat = there @ loop.seat
        placement = here @ loop.placement
        return Draft(loop.name, parent, child, loop.kind, placement, inverse(seat), loop.data, seat)

    def _check_ends_known(self, joints: Sequence[Draft], bodies: dict[str, MassProperties]) -> None:
        for draft in joints:
            for role, body in (("parent", draft.parent), ("child", draft.child)):
                if body not in bodies and body == self.base:
                    bodies[self.base] = MassProperties()
                if body not in bodies:
                    known = [b for b in (self.base, *bodies) if b != draft.child or role == "child"]
                    raise UnknownNameError(f"body (the {role} of joint {draft.name!r})", body, known)
            if draft.parent == draft.child:
                raise GraphError(f"joint {draft.name!r} joins body {draft.child!r} to itself", draft.name)

    def _find_root(self, bodies: dict[str, MassProperties]) -> str:
        """Return the base where it is mentioned; but a plain tree may have a body of that name on another root."""
        children = [draft.child for draft in self._joints.values()]
        carried = set(children)
        roots = [b for b in bodies if b not in carried]
        is_ground = self._base_is_ground or self.base not in self._bodies or self.base not in carried
        is_tree = len(roots) == 1 and len(carried) == len(children)
        if self.base in bodies and (is_ground or not is_tree):
            return self.base
        if not roots:
            raise ModelError(
                f"robot {self.name!r} has no root: its joints form a closed loop "
                f"({', '.join(list(self._joints)[:6])}, ...); say which body is the base"
            )
        if len(roots) > 1:
            raise ModelError(
                f"robot {self.name!r} has {len(roots)} roots ({', '.join(repr(r) for r in roots[:6])}): every body but "
                "one must be the child of a joint, or one of them must be named as the base"
            )
        return roots[0]

    def _assemble(
        self,
        base_name: str,
        bodies: dict[str, MassProperties],
        drafts: list[Draft],
        loops: Sequence[Draft],
        merge_fixed: bool,
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
            if draft.turned and draft.name not in bodies and draft.name not in self._frames:
                # the frame that a joint's name stands for is on the child it was described with
                frames.append(Frame(draft.name, carrier, placement))
            if merge_fixed and isinstance(draft.kind, Fixed):
                place = placement @ draft.child_pose
                seat[draft.child] = (carrier, place)
                frames.append(Frame(draft.child, carrier, place))
                if not draft.turned and draft.name not in bodies and draft.name != draft.child:
                    frames.append(Frame(draft.name, carrier, place))
                welded = bodies[draft.child].moved(place)
                if carrier == BASE:
                    base_mass = base_mass + welded
                else:
                    masses[carrier] = masses[carrier] + welded
                continue
            index = len(joints)
            seat[draft.child] = (index, draft.child_pose)
            if not draft.child_pose.is_identity and draft.child not in self._frames:
                frames.append(Frame(draft.child, index, draft.child_pose))
            names.append(draft.child)
            masses.append(bodies[draft.child].moved(draft.child_pose))
            joints.append(Joint(draft.name, draft.kind, carrier, placement, **draft.data))
        if not joints:
            still = f"robot {self.name!r} has no moving joints: there is nothing to compute, unless "
            self._oddity(Message(still, Setting("floating_base", True), " lets it float"))
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
            tuple(self._closed(draft, seat) for draft in loops),
        )

    def _closed(self, draft: Draft, places: dict[str, tuple[int, Pose]]) -> Loop:
        """Return a loop joint between bodies whose places are known now."""
        draft = draft.turn() if isinstance(draft.kind, Reversed) else draft
        if not can_close(draft.kind):
            kind = draft.kind.name
            raise GraphError(f"loop {draft.name!r}: a {kind} joint cannot close a loop; cut another joint", draft.name)
        for body in (draft.parent, draft.child):
            if body not in places:
                raise UnknownNameError(f"body (of loop {draft.name!r})", body, places)
        (a, pose_a), (b, pose_b) = places[draft.parent], places[draft.child]
        if a == b:
            message = f"loop {draft.name!r} joins {draft.parent!r} to {draft.child!r}, which is the same rigid body"
            raise GraphError(message, draft.name)
        limits = {key: draft.data[key] for key in LIMITS if any(map(math.isfinite, draft.data[key]))}
        return Loop(draft.name, draft.kind, a, b, pose_a @ draft.placement, pose_b @ draft.seat, **limits)


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

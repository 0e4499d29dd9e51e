"""The builder, which puts a mechanism together body by body and checks that it is possible."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from itertools import groupby
from typing import Any, Self, TypeVar, Unpack

import numpy as np

from ..errors import Message, ModelError, ModelWarning, Setting, UnknownNameError, refuse_unknown, warn
from ..spatial.numbers import shown
from .drive_builder import DriveBuilder
from .graph import Draft, GraphError, can_close, check_rods, checked_loops, inverse, span, split, why_uncuttable
from .joint_fields import JOINT_DATA, LARGEST, LIMITS, JointData, Mimic, doubtful_limits, joint_data, passive_data
from .joints import Fixed, Free, JointKind, Reversed
from .mass import MassProperties, require_mass_properties
from .pose import Pose, floats
from .shape_builder import ShapeBuilder
from .tree import BASE, Body, Configuration, Frame, Joint, Loop, Model, check_gravity, lay_out

Method = TypeVar("Method", bound=Callable[..., Any])

BODY_DATA = (
    "mass", "com", "inertia", "about", "mass_properties", "position", "rpy", "rotation", "placement", "joint_name",
)  # fmt: skip
"""Keywords that :meth:`ModelBuilder.body` uses itself; it passes the rest to :meth:`ModelBuilder.add_joint`."""


class CarriedData(JointData, total=False):
    """Keywords of a joint that carries a body."""

    child_pose: Pose | None


CARRIED_DATA = ("child_pose", *JOINT_DATA)
WORLD = "world"
"""The ground under a floating base, where no body has that name."""

CLOSING_DATA = tuple(word for word in JOINT_DATA if word != "mimic")


def _shown(keywords: type) -> Callable[[Method], Method]:
    """Make ``help`` and notebooks show the keywords that type checkers already show."""

    def show(method: Method) -> Method:
        own = inspect.signature(method)
        named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [Parameter(word, Parameter.KEYWORD_ONLY, default=None) for word in keywords.__annotations__]
        method.__signature__ = own.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        return method

    return show


class ModelBuilder(DriveBuilder, ShapeBuilder):
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
        Whether physically impossible inertias and a robot without moving joints are errors (the default) or, as for
        real-world files, warnings.
    """

    def __init__(
        self, name: str = "robot", *, base: str = "base", gravity: Sequence[float] = (0.0, 0.0, -9.81),
        strict: bool = True,
    ) -> None:  # fmt: skip
        if not isinstance(name, str):
            raise ModelError(f"a robot's name must be text, not {shown(name)}")
        self.name = name
        self.base = base
        self.gravity = check_gravity(gravity)
        self.strict = strict
        self._bodies: dict[str, MassProperties] = {}
        self._joints: dict[str, Draft] = {}
        self._frames: dict[str, tuple[str, Pose]] = {}
        self._configurations: dict[str, dict[str, tuple[float, ...]]] = {}
        self._loops: dict[str, Draft] = {}
        DriveBuilder.__init__(self)
        ShapeBuilder.__init__(self)
        self._base_is_ground = False  # whether only the base can be the root

    # Describing

    def add_body(self, name: str, mass_properties: MassProperties | None = None) -> None:
        """Declare a body. :meth:`body` declares a body and its joint in one call."""
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
            raise ModelError(f"body {name!r}: mass properties of {largest:g} exceed the limit of {LARGEST:g}")
        for problem in properties.problems():
            message = f"body {name!r}: {problem}"
            if properties.mass < 0 or not properties.is_finite:
                raise ModelError(message)
            self._oddity(message + ("; strict=False accepts it with a warning" if self.strict else ""))

    def _oddity(self, message: str) -> None:
        """Report something that real-world files may contain but a mechanism should not have."""
        if self.strict:
            raise ModelError(message)
        warn(message, ModelWarning)

    def doubt(self, message: str) -> None:
        """Warn of something that may be intended but is more likely a mistake."""
        warn(message, ModelWarning)

    def doubt_limits(self, name: str, kind: JointKind, data: Mapping[str, Any]) -> None:
        """Warn of a joint's limits that look like degrees."""
        found = doubtful_limits(kind, data)
        if found:
            self.doubt(f"joint {name!r}: {found}")

    @_shown(JointData)
    def add_joint(
        self, name: str, parent: str, child: str, kind: JointKind, placement: Pose | None = None, *,
        child_pose: Pose | None = None, **data: Unpack[JointData],
    ) -> None:  # fmt: skip
        """Declare a joint between two bodies.

        Parameters
        ----------
        name, parent, child : str
        kind : JointKind
        placement : Pose
            Pose of the joint's fixed frame in the parent body's frame.
        child_pose : Pose
            Pose of the child body's frame in the joint's moving frame (usually the identity; the standard
            Denavit-Hartenberg convention puts body frames at the far end of the link).
        **data
            Limits, friction, motor, spring: one number or one per freedom, see
            :class:`kinetree.model.joint_fields.JointNumbers`; ``actuated``, whether a motor drives the joint (by
            default, true of all joints except free ones); ``mimic``, a :class:`kinetree.Mimic`.
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"a joint needs a name, got {name!r}")
        if name in self._joints or name in self._loops:
            raise ModelError(f"two joints are named {name!r}")
        if not isinstance(kind, JointKind):
            raise ModelError(f"joint {name!r}: kind must be a joint such as kinetree.Revolute('z'), not {kind!r}")
        for word in data:
            if word not in JOINT_DATA:
                raise UnknownNameError(f"joint property (given for joint {name!r})", word, CARRIED_DATA)
        checked = joint_data(kind, f"joint {name!r}: ", **data)
        self._joints[name] = Draft(name, parent, child, kind, placement or Pose(), child_pose or Pose(), checked)

    @_shown(CarriedData)
    def body(
        self, name: str, parent: str, joint: JointKind, *, joint_name: str | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0), rpy: Sequence[float] | None = None, rotation: Any = None,
        placement: Pose | Any = None, mass: float | None = None, com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0), about: str = "com", mass_properties: MassProperties | None = None,
        **joint_data: Unpack[CarriedData],
    ) -> Self:  # fmt: skip
        """Add a body and the joint that carries it; returns the builder, so calls can be chained.

        Parameters
        ----------
        name : str
            Name of the body.
        parent : str
            Body that carries it, or the base.
        joint : JointKind
            Such as ``kinetree.Revolute("z")``.
        joint_name : str
            Defaults to ``<name>_joint``.
        position, rpy, rotation, placement
            Pose of the joint on the parent.
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
        for word in joint_data:
            if word not in CARRIED_DATA:
                raise UnknownNameError(f"property (given for body {name!r})", word, (*BODY_DATA, *CARRIED_DATA))
        if mass_properties is not None and mass is not None:
            raise ModelError(f"body {name!r}: give either mass or mass_properties")
        if mass_properties is None and mass is None and np.any(com):
            raise ModelError(f"body {name!r}: a center of mass needs a mass: give mass=..., or no com")
        if mass_properties is not None and (np.any(com) or np.any(inertia)):
            raise ModelError(
                f"body {name!r}: mass_properties has center of mass and inertia; leave com and inertia out"
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
        if joint_name in self._joints:
            raise ModelError(f"two joints are named {joint_name!r}")
        self.add_body(name, mass_properties)
        try:
            self.add_joint(joint_name, parent, name, joint, pose, **joint_data)
        except BaseException:
            del self._bodies[name]
            raise
        self.doubt_limits(joint_name, joint, joint_data)
        return self

    def joint_letters(self) -> str:
        """Return the moving joints in the usual notation: ``"6R"``, ``"2RP3R"``; other kinds by their first letter."""
        moving = [type(draft.kind).__name__[0] for draft in self._joints.values() if not isinstance(draft.kind, Fixed)]
        runs = [(letter, len(list(run))) for letter, run in groupby(moving)]
        return "".join(f"{count if count > 1 else ''}{letter}" for letter, count in runs) or "robot"

    def frame(
        self, name: str, body: str, position: Sequence[float] = (0.0, 0.0, 0.0), *, rpy: Sequence[float] | None = None,
        rotation: Any = None, pose: Pose | None = None,
    ) -> Self:  # fmt: skip
        """Name a place on a body: a tool tip, a sensor, a contact point."""
        if name in self._frames:
            raise ModelError(f"two frames are named {name!r}")
        try:
            self._frames[name] = (body, pose or Pose.of(position, rpy=rpy, rotation=rotation))
        except ModelError as problem:
            raise ModelError(f"frame {name!r}: {problem}") from None
        return self

    def configuration(self, name: str, positions: Mapping[str, float | Sequence[float]]) -> Self:
        """Name a configuration, for example one to start from; joints that are not mentioned are at zero.

        Parameters
        ----------
        name : str
        positions : mapping from joints to their positions
            One number, or one per coordinate of the joint.
        """
        if name in self._configurations:
            raise ModelError(f"two configurations are named {name!r}")
        found = {}
        for joint, position in positions.items():
            values = np.atleast_1d(floats(position, f"the position of {joint!r} in configuration {name!r}"))
            if values.ndim != 1 or not np.isfinite(values).all():
                raise ModelError(f"configuration {name!r}: the position of {joint!r} must be finite numbers")
            found[joint] = tuple(float(x) for x in values)
        self._configurations[name] = found
        return self

    def _named_configurations(self, joints: Sequence[Joint]) -> tuple[Configuration, ...]:
        counts = {joint.name: joint.kind.nq for joint in joints}
        for name, positions in self._configurations.items():
            for joint, values in positions.items():
                if joint not in counts and joint not in self._joints:
                    unknown = UnknownNameError("joint", joint, counts)
                    raise ModelError(f"configuration {name!r}: {unknown}")
                if joint in counts and counts[joint] != len(values):
                    raise ModelError(
                        f"configuration {name!r}: joint {joint!r} has {counts[joint]} coordinates, not {len(values)}"
                    )
        return tuple(
            Configuration(name, tuple((j, x) for j, x in positions.items() if j in counts))
            for name, positions in self._configurations.items()
        )

    @_shown(JointData)
    def joint(
        self, name: str, parent: str, child: str, kind: JointKind, placement: Pose | Any = None,
        child_pose: Pose | Any = None, *, seat: Pose | Any = None, **data: Unpack[JointData],
    ) -> Self:  # fmt: skip
        """Join two bodies that were declared by :meth:`add_body`; joints may form loops. Returns the builder.

        Parameters
        ----------
        name, parent, child : str
            The base counts as a body here, and may be the child.
        kind : JointKind
        placement : Pose, (3,) position or 4x4 matrix
            Pose of the joint's fixed frame on the parent.
        child_pose : Pose, (3,) position or 4x4 matrix
            Pose of the child's frame in the joint's moving frame.
        seat : Pose, (3,) position or 4x4 matrix
            The inverse of ``child_pose``: the joint's moving frame on the child. Give one of the two.
        **data
            Limits, friction, ...: see :meth:`add_joint`. A joint that is cut must be passive (``actuated=False``).
        """
        if child_pose is not None and seat is not None:
            raise ModelError(f"joint {name!r}: give either child_pose or seat")
        try:
            fixed, moving = self._poses(placement, child_pose if seat is None else seat)
        except ModelError as problem:
            raise ModelError(f"joint {name!r}: {problem}") from None
        self.add_joint(name, parent, child, kind, fixed, child_pose=moving if seat is None else inverse(moving), **data)
        if seat is not None:
            self._joints[name].given_seat = moving
        self.doubt_limits(name, kind, data)
        return self

    @_shown(JointData)
    def loop(
        self, name: str, predecessor: str, successor: str, joint: JointKind, *, placement: Pose | Any = None,
        seat: Pose | Any = None, **data: Unpack[JointData],
    ) -> Self:  # fmt: skip
        """Close a loop with a joint between two bodies that already have joints.

        Parameters
        ----------
        name : str
            Name of the joint.
        predecessor, successor : str
            The bodies or frames that the joint connects; one of them is the base if the loop goes through the ground.
        joint : JointKind
            Such as ``kinetree.Revolute("z")``, or ``kinetree.Distance(0.3)`` for a rod.
        placement : Pose, (3,) position or 4x4 matrix
            Pose of the joint's fixed frame on the predecessor.
        seat : Pose, (3,) position or 4x4 matrix
            Pose of the joint's moving frame on the successor.
        **data
            Limits, which are used if another choice of cuts puts this joint into the tree. A joint with more than
            limits (damping, friction, a rotor, a spring, ``actuated=True``; see :meth:`add_joint`) gets a coordinate
            like any other joint: the successor is split next to it into two halves that are welded together.
        """
        if name in self._loops or name in self._joints:
            raise ModelError(f"two joints are named {name!r}")
        if not isinstance(joint, JointKind):
            raise ModelError(f"loop {name!r}: give a joint such as kinetree.Revolute('z'), not {joint!r}")
        for word in data:
            if word not in CLOSING_DATA:
                what = f"property of a cut joint (given for loop {name!r})"
                meant = "placement" if word in ("position", "rpy", "origin") else None
                raise UnknownNameError(what, word, CLOSING_DATA, meant=meant)
        data.setdefault("actuated", False)
        checked = joint_data(joint, f"loop {name!r}: ", **data)
        fixed, moving = self._poses(placement, seat)
        self._loops[name] = Draft(name, predecessor, successor, joint, fixed, inverse(moving), checked, moving)
        return self

    @staticmethod
    def _poses(*given: Pose | Any) -> tuple[Pose, ...]:
        return tuple(Pose() if p is None else Pose.like(p) for p in given)

    # Building

    def model(
        self, *, floating_base: bool = False, merge_fixed: bool = True, cuts: Sequence[str] | None = None,
        rule: str | None = None,
    ) -> Model:  # fmt: skip
        """Check everything, choose a spanning tree if there are loops, weld fixed joints, and return frozen data.

        Parameters
        ----------
        floating_base : bool
            Put the root on a free joint.
        merge_fixed : bool
            Weld bodies on fixed joints to their parents.
        cuts : names of joints, optional
            Joints to cut; loops that remain are cut by the rule.
        rule : {"minimum_dof", "shortest"}, optional
            How to choose the cuts; see :mod:`kinetree.model.spanning`. If neither cuts nor a rule
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
        spanning = span(root, bodies, joints, cuts, rule, self._why_coupled())
        loops = [*spanning.cuts, *(self._loops.values() if as_declared else [])]
        base_name, drafts = root, spanning.tree
        loops = self._split_where_needed(root, bodies, drafts, loops)
        if floating_base:
            base_name = _fresh(WORLD, bodies)
            bodies[base_name] = MassProperties()
            joint_name = _fresh("floating_base", self._joints)
            free = Draft(joint_name, base_name, root, Free(), Pose(), Pose(), passive_data(Free()))
            drafts.insert(0, free)
        return self._assemble(base_name, bodies, drafts, loops, merge_fixed)

    def _split_where_needed(
        self, root: str, bodies: dict[str, MassProperties], drafts: list[Draft], loops: Sequence[Draft]
    ) -> list[Draft]:
        """Split bodies at cut joints that must keep a coordinate because of more than geometry; return all cuts."""
        found: list[Draft] = []
        more = why_uncuttable([*drafts, *loops], self._why_coupled())
        check_rods(loops, more)
        for draft in loops:
            if draft.name not in more:
                found.append(draft)
                continue
            draft = self._on_bodies(draft)
            half = _fresh(f"{draft.child}_at_{draft.name}", bodies)
            weld = _fresh(f"{draft.name}_weld", (*self._joints, *self._loops, *(d.name for d in drafts)))
            made = split(draft, bodies, root, half, weld)
            bodies[half] = bodies[made.body] = bodies[made.body].halved()
            drafts.append(made.joint)
            found.append(made.weld)
        return found

    def _check_sizes(self) -> None:
        """Refuse placements so far out that their squares overflow; masses are checked when they are given."""
        drafts = [*self._joints.values(), *self._loops.values()]
        places = [(f"joint {d.name!r}", pose) for d in drafts for pose in (d.placement, d.child_pose)]
        places += [(f"frame {name!r}", pose) for name, (_, pose) in self._frames.items()]
        for what, pose in places:
            if not all(abs(x) <= LARGEST for x in pose.translation):
                raise ModelError(f"{what} is placed at {pose.translation} m: numbers must not exceed {LARGEST:g}")

    def _on_bodies(self, loop: Draft) -> Draft:
        """Return a loop joint between frames as one between the bodies that carry the frames."""
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
        """Return the base if it is mentioned; in a plain tree, a body of that name may also be on another root."""
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
                f"({', '.join(list(self._joints)[:6])}, ...); name the body that is the base"
            )
        if len(roots) > 1:
            raise ModelError(
                f"robot {self.name!r} has {len(roots)} roots ({', '.join(repr(r) for r in roots[:6])}): every body but "
                "one must be the child of a joint, or one of them must be named as the base"
            )
        return roots[0]

    def _assemble(
        self, base_name: str, bodies: dict[str, MassProperties], drafts: list[Draft], loops: Sequence[Draft],
        merge_fixed: bool,
    ) -> Model:  # fmt: skip
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
                # a joint's name stands for a frame on the child that it was described with
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
            refuse_unknown(f"body (of frame {name!r})", body, seat)
            carrier, place = seat[body]
            if name in bodies and name != body:
                raise ModelError(f"frame {name!r} has the name of a body")
            frames.append(Frame(name, carrier, place @ pose))
            seat.setdefault(name, (carrier, place @ pose))
        _check_unique_frames(frames)
        for name, properties in zip((base_name, *names), (base_mass, *masses), strict=True):
            if not properties.is_finite:
                raise ModelError(
                    f"body {name!r}, with all that is welded to it, has mass properties too large for a number"
                )
        return Model(
            self.name,
            lay_out(_resolve_mimics(joints)),
            tuple(Body(n, m) for n, m in zip(names, masses, strict=True)),
            Body(base_name, base_mass),
            tuple(frames),
            self.gravity,
            checked_loops(tuple(self._closed(draft, seat) for draft in loops)),
            *self._drives(joints, seat),
            self._named_configurations(joints),
            self._coupled(joints),
            **self._finished_shapes(seat),
        )

    def _closed(self, draft: Draft, places: dict[str, tuple[int, Pose]]) -> Loop:
        """Return a loop joint, once the indices of its bodies are known."""
        draft = draft.turn() if isinstance(draft.kind, Reversed) else draft
        if not can_close(draft.kind):
            kind = draft.kind.name
            raise GraphError(f"loop {draft.name!r}: a {kind} joint cannot close a loop; cut another joint", draft.name)
        for body in (draft.parent, draft.child):
            refuse_unknown(f"body (of loop {draft.name!r})", body, places)
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
    """Make every follower refer to a joint with a coordinate; each link of a chain is visited once."""
    by_name = {j.name: j for j in joints}
    settled: dict[str, Mimic] = {}
    for joint in joints:
        waiting: dict[str, Mimic] = {}
        while joint.mimic is not None and joint.name not in settled:
            leader = joint.mimic.leader
            refuse_unknown(f"moving joint (mimicked by joint {joint.name!r})", leader, by_name)
            if joint.name in waiting:
                raise ModelError(f"joints mimic one another in a circle: {circle(waiting, joint.name)}")
            waiting[joint.name] = joint.mimic
            joint = by_name[leader]
        for name, mimic in reversed(waiting.items()):
            settled[name] = _through(mimic, settled.get(mimic.leader))
            _check_settled(name, settled[name], by_name)
    return [replace(j, mimic=settled[j.name]) if j.mimic else j for j in joints]


def _through(mimic: Mimic, above: Mimic | None) -> Mimic:
    """Return the relation q = ratio * (r q_top + o) + offset if the leader itself follows q_top."""
    if above is None:
        return mimic
    return Mimic(above.leader, mimic.ratio * above.ratio, mimic.ratio * above.offset + mimic.offset)


def _check_settled(name: str, mimic: Mimic, by_name: dict[str, Joint]) -> None:
    freedoms = by_name[mimic.leader].kind.nv
    if freedoms != 1:
        raise ModelError(f"joint {name!r} mimics {mimic.leader!r}, which has {freedoms} degrees of freedom")
    if not (math.isfinite(mimic.ratio) and math.isfinite(mimic.offset)):
        raise ModelError(
            f"joint {name!r} follows {mimic.leader!r} with ratio {mimic.ratio:g} and offset {mimic.offset:g}: the "
            "product of the ratios between them is not finite"
        )


MOST_OF_A_CIRCLE = 12
"""The most joints of a circle that a message names."""


def circle(chain: Iterable[str], back: str) -> str:
    """Name the joints of a circle: the part of a chain from the joint that it returns to."""
    names = list(chain)
    names = [*names[names.index(back) :], back]
    if len(names) > MOST_OF_A_CIRCLE:
        names[MOST_OF_A_CIRCLE - 1 : -1] = ["..."]
    return " -> ".join(names)

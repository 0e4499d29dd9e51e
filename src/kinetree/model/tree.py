"""A mechanism as plain data: bodies, the joints that carry them, loops, named frames. No dynamics.

Body ``i`` is carried by joint ``i``; parents come before children; index -1 is the fixed
base.  A body's own frame is the moving frame of its joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, UnknownNameError
from ..spatial import ArticulatedInertia, Motion, RigidInertia, Scalar, Transform, Vec3, axis_turn
from ..spatial.formula import symbols_among
from .actuators import Actuator, JointCoupling, Tendon
from .force_units import FORCE_OF
from .joint_fields import PER_FREEDOM, Floats, JointNumbers, Mimic
from .joints import Constraint, Free, JointKind
from .mass import MassProperties
from .pose import Pose, floats

if TYPE_CHECKING:
    from .shapes.contact_shape import ContactShape

BASE = -1
"""Index of the fixed base."""

SOMEWHERE = Transform((axis_turn(Vec3(0.48, 0.6, 0.64), 0.3),), Vec3(1.0, 0.0, 0.0))
"""An arbitrary pose of a loop joint at which no axis is reversed, no rod has zero length, and no wheel lies flat."""


@dataclass(frozen=True)
class Body:
    """A rigid body; its mass properties include everything welded to it."""

    name: str
    mass_properties: MassProperties = field(default_factory=MassProperties)
    added: ArticulatedInertia | None = field(default=None, repr=False)
    """Additional resistance to accelerations, in body coordinates: springs and dampers to the world that an integration
    step treats implicitly, see :mod:`kinetree.simulation.implicit_accelerations`.  It has no weight and no momentum."""

    @property
    def mass(self) -> float:
        """Mass in kg."""
        return self.mass_properties.mass


@dataclass(frozen=True)
class Frame:
    """A named place on a body."""

    name: str
    body: int
    pose: Pose = field(default_factory=Pose)


@dataclass(frozen=True)
class _Seated:
    """The first fields of a joint: its name, its kind, and where it is."""

    name: str
    kind: JointKind
    parent: int = BASE
    placement: Pose = field(default_factory=Pose)


@dataclass(frozen=True)
class Joint(JointNumbers[Floats], _Seated):
    """A joint, its pose on its parent, and its numbers from a data sheet.

    Attributes
    ----------
    name : str
    kind : JointKind
    parent : int
        Index of the parent body, -1 for the base.
    placement : Pose
        Pose of the joint's fixed frame in the parent body.
    lower, upper, damping, ... : tuple of floats
        One per coordinate or per degree of freedom, see :class:`kinetree.model.joint_fields.JointNumbers`.
    actuated : bool
        Whether a motor drives it.
    mimic : Mimic or None
        Set if the joint follows another and has no coordinate.
    q_slice, v_slice : slice
        The positions of its coordinates in ``q`` and ``v``.
    """

    actuated: bool = True
    mimic: Mimic | None = None
    q_slice: slice = field(default_factory=lambda: slice(0, 0), compare=False)
    v_slice: slice = field(default_factory=lambda: slice(0, 0), compare=False)

    @property
    def nq(self) -> int:
        """Number of its coordinates (0 for a follower)."""
        return 0 if self.mimic else self.kind.nq

    @property
    def nv(self) -> int:
        """Number of its degrees of freedom (0 for a follower)."""
        return 0 if self.mimic else self.kind.nv

    @property
    def freedoms(self) -> range:
        """Indices of its degrees of freedom in ``v``."""
        return range(self.v_slice.start, self.v_slice.stop)

    @property
    def armature(self) -> Floats:
        """Rotor inertia felt at the joint, one per degree of freedom."""
        return tuple(j * n * n for j, n in zip(self.rotor_inertia, self.gear_ratio, strict=True))


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop: it is cut in the spanning tree and replaced by constraint forces."""

    name: str
    kind: JointKind
    predecessor: int
    successor: int
    """The bodies that it connects, -1 for the base; forces act on the successor, and opposite ones on the
    predecessor."""
    placement: Pose = field(default_factory=Pose)
    """Pose of the joint's fixed frame on the predecessor."""
    seat: Pose = field(default_factory=Pose)
    """Pose of the joint's moving frame on the successor."""
    lower: Floats = ()
    upper: Floats = ()
    velocity_limit: Floats = ()
    effort_limit: Floats = ()
    """Limits as in :class:`Joint`, in case another choice of cuts puts the joint into the tree; empty if there are
    none."""

    @property
    def count(self) -> int:
        """Number of constraints."""
        return 6 - self.kind.nv

    def constraints_somewhere(self) -> list[Constraint]:
        """Return the constraints at an arbitrary pose, for their labels and units, which do not depend on it."""
        return self.kind.constraints(SOMEWHERE)


@dataclass(frozen=True)
class Link:
    """One joint and the body that it carries, with constants in the form that the recursions use."""

    index: int
    parent: int
    name: str
    kind: JointKind
    placement: Transform
    inertia: RigidInertia
    armature: Floats
    q_slice: slice
    v_slice: slice
    ratio: float = 1.0
    offset: float = 0.0
    follows: bool = False
    stiffness: Floats = ()
    spring_rest: Floats = ()
    added: ArticulatedInertia | None = None
    turn: float = 0.0
    """The part of the placement that is a turn about the joint's own axis: added to the coordinate in
    :meth:`transform`, which costs less."""

    @property
    def freedoms(self) -> range:
        """Indices of its degrees of freedom in ``v``."""
        return range(self.v_slice.start, self.v_slice.stop)

    def articulated(self) -> ArticulatedInertia:
        """Return the total resistance of the body to accelerations: its inertia and the added one."""
        own = self.inertia.articulated()
        return own if self.added is None else own + self.added

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return the pose of the body in its parent."""
        straight = isinstance(self.turn, float) and self.turn == 0.0
        return self.placement @ self.kind.transform(q if straight else [q[0] + self.turn])

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return the motion subspace in body coordinates."""
        return self.kind.subspace(q)

    def position(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint's coordinates from the whole ``q``."""
        own = q[self.q_slice]
        return [x * self.ratio + self.offset for x in own] if self.follows else list(own)

    def velocity(self, v: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint's rates (or accelerations) from the whole ``v``."""
        own = v[self.v_slice]
        return [x * self.ratio for x in own] if self.follows else list(own)


@dataclass(frozen=True)
class Configuration:
    """A named configuration, by joint; joints that are not mentioned are at zero."""

    name: str
    positions: tuple[tuple[str, Floats], ...]


@dataclass(frozen=True)
class Load:
    """A wrench from a file that acts on a body: moment and force in the body's axes, at its origin.

    It is not part of the mechanism; computations use it only if it is passed to them.
    """

    body: str
    six: tuple[Scalar, ...]


@dataclass(frozen=True)
class Model:
    """A tree of bodies. Build one with :class:`kinetree.Builder` or :func:`kinetree.load`."""

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    base: Body
    frames: tuple[Frame, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    loops: tuple[Loop, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    couplings: tuple[JointCoupling, ...] = ()
    loads: tuple[Load, ...] = ()
    shapes: tuple[ContactShape, ...] = field(default=(), compare=False, repr=False)
    """Shapes that may touch; they do not count when robots are compared."""
    contact_exclusions: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Names of shapes or bodies that do not touch one another."""
    contact_inclusions: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Names of shapes or bodies that may touch one another, whatever else would rule that out."""
    drawing: Any = field(default=None, compare=False, repr=False)
    """The :class:`kinetree.model.linkages.drawing.Drawing` that it was made from; use :func:`drawing_of` to get it."""
    table: Any = field(default=None, compare=False, repr=False)
    """The :class:`kinetree.model.dh.table.DHTable` that it was made from; use :func:`dh_table` to get it."""
    motion_of: str = field(default="", compare=False, repr=False)
    """The system in the gallery whose motion belongs to this robot."""

    @cached_property
    def nq(self) -> int:
        """Length of ``q``."""
        return sum(j.nq for j in self.joints)

    @cached_property
    def nv(self) -> int:
        """Length of ``v``."""
        return sum(j.nv for j in self.joints)

    @cached_property
    def driven_joints(self) -> list[Joint]:
        """The joints with a motor: actuated ones that follow no other; a floating base only if that was specified."""
        return [j for j in self.joints if j.actuated and not j.mimic]

    @cached_property
    def motors(self) -> list[int]:
        """The degrees of freedom with a motor."""
        return [k for j in self.driven_joints for k in j.freedoms]

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Names of symbols without a value in place of numbers, those of joint placements first."""
        stand_ins = (
            *(joint.placement for joint in self.joints),
            *(pose for loop in self.loops for pose in (loop.placement, loop.seat)),
            *(frame.pose for frame in self.frames),
            *(body.mass_properties for body in (self.base, *self.bodies)),
        )
        found = dict.fromkeys(name for x in stand_ins for name in getattr(x, "symbols", ()))
        scalars = (x for j in self.joints for key in PER_FREEDOM for x in getattr(j, key))
        found |= dict.fromkeys(symbols_among((*scalars, *self.gravity)))
        return tuple(found)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Parent body of each body."""
        return tuple(j.parent for j in self.joints)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each body."""
        found: list[list[int]] = [[] for _ in self.bodies]
        for i, p in enumerate(self.parents):
            if p != BASE:
                found[p].append(i)
        return tuple(tuple(c) for c in found)

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Bodies carried by the base."""
        return tuple(i for i, p in enumerate(self.parents) if p == BASE)

    def support(self, body: int) -> list[int]:
        """Return the bodies on the path from the base to ``body``, including ``body`` but not the base."""
        path = []
        while body != BASE:
            path.append(body)
            body = self.parents[body]
        return path[::-1]

    @cached_property
    def joint_index(self) -> dict[str, int]:
        """Index by joint name."""
        return {j.name: i for i, j in enumerate(self.joints)}

    @cached_property
    def body_index(self) -> dict[str, int]:
        """Index by body name; the base is -1."""
        return {self.base.name: BASE} | {b.name: i for i, b in enumerate(self.bodies)}

    @cached_property
    def frame_table(self) -> dict[str, Frame]:
        """All names of poses: bodies, frames and, unless the name is taken, joints."""
        table = {f.name: f for f in self.frames}
        table.setdefault(self.base.name, Frame(self.base.name, BASE))
        for i, body in enumerate(self.bodies):
            table.setdefault(body.name, Frame(body.name, i))
        for i, joint in enumerate(self.joints):
            table.setdefault(joint.name, Frame(joint.name, i))
        for loop in self.loops:
            table.setdefault(loop.name, Frame(loop.name, loop.successor, loop.seat))
        return table

    def instead_of_body(self, name: object) -> str:
        """Return what a name is that is none of a body, or nothing: a frame on one."""
        found = next((f for f in self.frames if f.name == name), None)
        if found is None:
            return ""
        return f"{name!r} is a frame on {self.base.name if found.body == BASE else self.bodies[found.body].name!r}"

    # One name and one unit per entry of q, of v and tau, and of the constraints.

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """One name per entry of ``q``: that of the joint, with a label if the joint has several entries."""
        return tuple(j.name + label for j in self.joints if not j.mimic for label in j.kind.q_labels)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """One name per entry of ``v`` and ``tau``, as in :attr:`q_names`."""
        return tuple(j.name + label for j in self.joints if not j.mimic for label in j.kind.v_labels)

    @cached_property
    def q_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``q``: ``rad``, ``m``, or ``1`` for those of a quaternion."""
        return tuple(unit for j in self.joints if not j.mimic for unit in j.kind.q_units)

    @cached_property
    def v_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``v``, times a second: ``rad`` or ``m``."""
        return tuple(unit for j in self.joints if not j.mimic for unit in j.kind.v_units)

    @cached_property
    def tau_units(self) -> tuple[str, ...]:
        """Unit of each entry of ``tau``: ``N m`` or ``N``."""
        return tuple(FORCE_OF[unit] for unit in self.v_units)

    @cached_property
    def constraint_names(self) -> tuple[str, ...]:
        """One name per constraint: the loop joint and the direction it holds; couplings come last."""
        held = (f"{loop.name}: {c.label}" for loop in self.loops for c in loop.constraints_somewhere())
        return (*held, *(coupling.label for coupling in self.couplings))

    @cached_property
    def constraint_units(self) -> tuple[str, ...]:
        """Unit of each constraint's gap: ``m`` or ``rad``; :data:`FORCE_OF` gives the unit of its multiplier."""
        held = (c.unit for loop in self.loops for c in loop.constraints_somewhere())
        return (*held, *(coupling.unit for coupling in self.couplings))

    @cached_property
    def velocity_constraints(self) -> tuple[int, ...]:
        """Indices of the non-holonomic constraints, such as rolling, which constrain velocities but not positions."""
        every = (c for loop in self.loops for c in loop.constraints_somewhere())
        return tuple(i for i, c in enumerate(every) if not c.holonomic)

    @cached_property
    def n_constraints(self) -> int:
        """Number of constraints of all loop joints and couplings."""
        return sum(loop.count for loop in self.loops) + len(self.couplings)

    @property
    def is_constrained(self) -> bool:
        """Whether loops or couplings constrain the joints of the tree."""
        return bool(self.loops or self.couplings)

    @cached_property
    def touching_pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of shapes that may touch, by their indices; see :mod:`kinetree.model.shapes.pairs`."""
        from .shapes.pairs import touching_pairs

        return touching_pairs(self)

    def without_contacts(self, pairs: Sequence[tuple[str, str]]) -> Model:
        """Return the model in which these pairs of shapes or bodies never touch."""
        from .shapes.pairs import check_pair

        given = tuple(check_pair(self.shapes, pair, self.frame_table, "an excluded contact") for pair in pairs)
        return replace(self, contact_exclusions=(*self.contact_exclusions, *given))

    def opened(self) -> Model:
        """Return the tree alone: without the constraints of loops and couplings."""
        return replace(self, loops=(), couplings=())

    def frame(self, name: str) -> Frame:
        """Return a frame by name; the error for an unknown name suggests the nearest."""
        try:
            return self.frame_table[name]
        except (KeyError, TypeError):
            raise UnknownNameError("body or frame", name, self.frame_table) from None

    def joint(self, name: str) -> Joint:
        """Return a joint by name; the error for an unknown name suggests the nearest."""
        try:
            return self.joints[self.joint_index[name]]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, self.joint_index) from None

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links that the recursions walk over."""
        found = []
        for i, (joint, body) in enumerate(zip(self.joints, self.bodies, strict=True)):
            owner, ratio, offset = joint, 1.0, 0.0
            if joint.mimic:
                owner = self.joint(joint.mimic.leader)
                ratio, offset = joint.mimic.ratio, joint.mimic.offset
            placement, turn = joint.placement.spatial(), 0.0
            if placement.rotations:
                from .joint_offsets import without_offset  # a file that many programs do not read

                placement, turn = without_offset(placement, joint.kind)
            found.append(
                Link(
                    i,
                    joint.parent,
                    joint.name,
                    joint.kind,
                    placement,
                    body.mass_properties.spatial(),
                    joint.armature,
                    owner.q_slice,
                    owner.v_slice,
                    ratio,
                    offset,
                    joint.mimic is not None,
                    joint.stiffness,
                    joint.spring_rest,
                    body.added,
                    turn,
                )
            )
        return tuple(found)

    @cached_property
    def has_followers(self) -> bool:
        """Whether any joint mimics another."""
        return any(j.mimic for j in self.joints)

    @cached_property
    def independent(self) -> Model:
        """The same tree with a separate coordinate for every follower."""
        if not self.has_followers:
            return self
        return self.with_joints(replace(j, mimic=None) for j in self.joints)

    def with_joints(self, joints: object) -> Model:
        """Return a copy with other joints, whose coordinates are renumbered."""
        return replace(self, joints=lay_out(tuple(joints)))  # type: ignore[arg-type]

    @cached_property
    def dof_parents(self) -> tuple[int, ...]:
        """For each degree of freedom, the nearest one that carries it; -1 if there is none.

        This is the branch-induced sparsity of the mass matrix.  Followers couple branches, so a matrix with followers
        is treated as full.
        """
        if self.has_followers:
            return tuple(range(-1, self.nv - 1))
        result: list[int] = []
        last: dict[int, int] = {BASE: -1}
        for i, joint in enumerate(self.joints):
            previous = last[joint.parent]
            for k in joint.freedoms:
                result.append(previous)
                previous = k
            last[i] = previous
        return tuple(result)

    @cached_property
    def is_floating(self) -> bool:
        """Whether the base carries exactly one body, by a joint with six degrees of freedom."""
        return len(self.roots) == 1 and self.joints[self.roots[0]].kind.nv == 6

    @cached_property
    def has_quaternion_base(self) -> bool:
        """Whether the floating base is a quaternion joint."""
        return self.is_floating and isinstance(self.joints[self.roots[0]].kind, Free)

    @cached_property
    def effective_friction(self) -> tuple[np.ndarray, np.ndarray]:
        """Viscous and Coulomb friction per degree of freedom, including that of followers."""
        return _effective_friction(self)

    @cached_property
    def effective_offset(self) -> np.ndarray:
        """Constant force of the joints per degree of freedom, including that of followers."""
        total = np.zeros(self.nv)
        for link, joint in zip(self.links, self.joints, strict=True):
            if joint.friction_offset:
                total[link.v_slice] += link.ratio * np.array(joint.friction_offset)
        return total

    @cached_property
    def has_springs(self) -> bool:
        """Whether any joint or tendon has a spring."""
        return any(j.stiffness for j in self.joints) or any(t.stiffness for t in self.tendons)

    def joint_vector(self, attribute: str) -> np.ndarray:
        """Return a per-degree-of-freedom attribute (damping, effort_limit, ...) of all joints, laid out like v."""
        return np.array([x for j in self.joints if not j.mimic for x in getattr(j, attribute)], dtype=float)


def _effective_friction(tree: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return damping and Coulomb friction felt at each degree of freedom; that of a follower is felt at its leader."""
    damping, friction = tree.joint_vector("damping"), tree.joint_vector("friction")
    for joint in tree.joints:
        if joint.mimic:
            k = tree.joint(joint.mimic.leader).v_slice.start
            damping[k] += joint.mimic.ratio**2 * joint.damping[0]
            friction[k] += abs(joint.mimic.ratio) * joint.friction[0]
    return damping, friction


def lay_out(joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """Return the joints with their places in ``q`` and ``v``."""
    placed, iq, iv = [], 0, 0
    for joint in joints:
        placed.append(replace(joint, q_slice=slice(iq, iq + joint.nq), v_slice=slice(iv, iv + joint.nv)))
        iq, iv = iq + joint.nq, iv + joint.nv
    return tuple(placed)


def check_gravity(gravity: Sequence[float]) -> tuple[float, float, float]:
    """Return three finite numbers, or raise an error."""
    g = floats(gravity, "gravity")
    if g.shape != (3,) or not np.all(np.isfinite(g)):
        raise ModelError(f"gravity must be three finite numbers, not {gravity!r}")
    return (float(g[0]), float(g[1]), float(g[2]))

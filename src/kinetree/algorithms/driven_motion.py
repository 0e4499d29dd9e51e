"""A mechanism with given drives, and measures of its motion for designers, over any scalar.

The motion of the independent freedoms y is given, and all others follow:

    gap(q, y) = 0,    v = G y',    a = G y'' + g,    tau = G^T tau_tree        (Khalil eq. 10.36, 10.40, 10.48)

At a closed q, one more Newton step does not move q but provides its derivatives: q - K^-1 gap has the derivative -K^-1
dgap with respect to the drives and every number of the model, which is the derivative of the implicit function. So
measures of a motion can be differentiated like any formula after a call of :func:`settled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from ..model.tree import BASE, Model
from ..spatial import Force, Scalar, Vec3, arctan2, cos, sin, sqrt
from . import constrained_dynamics, kinematics, loop_constraints, newton_euler, tendons
from .passes import Scalars


class DriveChoice(NamedTuple):
    """Which freedoms follow from which; see :class:`kinetree.loops.coordinates.Coordinates`."""

    rows: tuple[int, ...]
    """The independent constraints, which imply all others."""
    dependent: tuple[int, ...]
    """Freedoms that follow from the others."""
    entries: tuple[int, ...]
    """Indices of the independent freedoms in q."""
    size: float
    """The usual size of the singular values of K."""


def settled(tree: Model, choice: DriveChoice, q: Scalars, position: Scalars) -> list[Scalar]:
    """Return a closed configuration as a function of its drives and of the numbers of the model."""
    q = list(q)
    for i, x in zip(choice.entries, position, strict=True):
        q[i] = x
    k, still = loop_constraints.constraint_matrix(tree, q), [0.0] * len(position)
    move, _ = constrained_dynamics.allowed(
        k, still, loop_constraints.gaps(tree, q), choice.rows, choice.dependent, choice.size
    )
    return kinematics.integrate(tree, q, move)


class DrivenState:
    """A mechanism at one moment of a driven motion.

    q: A closed configuration.
    rate, second: First and second derivatives of the independent freedoms.
    """

    def __init__(self, tree: Model, choice: DriveChoice, q: Scalars, rate: Scalars, second: Scalars) -> None:
        self.tree, self.choice, self.q = tree, choice, q
        k = loop_constraints.constraint_matrix(tree, q, self.sides)
        how = choice.rows, choice.dependent, choice.size
        self.v, _ = constrained_dynamics.allowed(k, rate, [0.0] * len(k), *how)
        self.a, _ = constrained_dynamics.allowed(k, second, loop_constraints.drift(tree, q, self.v, self.sides), *how)
        self.tau, self._of_rows, self.quality, self.left = constrained_dynamics.inverse_dynamics(
            tree, q, self.v, self.a, tree.gravity, [None] * len(tree.bodies), choice.rows, choice.dependent
        )

    @cached_property
    def motor_forces(self) -> list[Scalar]:
        """The forces of joints with motors, which are as many as the drives but may be other joints; zero elsewhere."""
        tree, whole = self.tree, range(self.tree.nv)
        passive = [k for joint in tree.joints if not joint.actuated for k in whole[joint.v_slice]]
        given = tree, self.q, self.v, self.a, tree.gravity, [None] * len(tree.bodies)
        return constrained_dynamics.inverse_dynamics(*given, self.choice.rows, passive)[0]

    @cached_property
    def sides(self) -> loop_constraints.LoopSides:
        """The bodies around loops."""
        return loop_constraints.LoopSides(self.tree, self.q)

    @cached_property
    def posed(self) -> list[kinematics.Posed]:
        """The poses of all bodies."""
        return kinematics.poses(self.tree, self.q)

    @cached_property
    def loop_wrenches(self) -> list[Force]:
        """The wrenches of loop joints on their successors, in their moving frames; the smallest if they share loads."""
        k = loop_constraints.constraint_matrix(self.tree, self.q, self.sides)
        multipliers = constrained_dynamics.shared(k, self.choice.rows, self._of_rows)
        return loop_constraints.loop_wrenches(self.tree, self.q, multipliers, self.sides)

    @cached_property
    def joint_wrenches(self) -> Sequence[Force]:
        """The wrenches that joints of the tree transmit to their bodies, in body axes at the bodies' origins."""
        loads = loop_constraints.loads_on_bodies(self.tree, self.q, self.loop_wrenches, self.sides)
        pulled = tendons.with_lines(self.tree, self.q, loads)
        return newton_euler.inverse_dynamics(self.tree, self.q, self.v, self.a, self.tree.gravity, pulled)[1]


# ---------------------------------------------------------------- measures


class MotionVector(NamedTuple):
    """All of ``q``, ``v``, ``a`` or ``tau``."""

    name: str

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Return its value."""
        return list(getattr(state, self.name))


class PointMotion(NamedTuple):
    """The position of a point of a body or frame in the world, its velocity, or its acceleration."""

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """In the frame's own coordinates."""
    order: int = 0
    """0 for the position, 1 for the velocity, 2 for the acceleration."""

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Return its value."""
        tree, offset = state.tree, Vec3(*self.offset)
        if not self.order:
            return list(kinematics.of_frame(tree, self.frame, state.posed)[2].point(offset))
        velocity, spatial, pose = kinematics.frame_acceleration(tree, state.q, state.v, state.a, self.frame)
        speed = velocity.linear + velocity.angular.cross(offset)
        if self.order == 1:
            return list(pose.rotate(speed))
        return list(pose.rotate(spatial.linear + spatial.angular.cross(offset) + velocity.angular.cross(speed)))


class JointPlace(NamedTuple):
    """The position in the world of a joint, cut or not, or of a point beside it, as the model's numbers give it."""

    joint: str
    beside: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Offset from the joint, along world axes."""

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Measure it."""
        tree, at = state.tree, Vec3(0.0, 0.0, 0.0)
        for loop in tree.loops:
            if loop.name == self.joint:
                pose = loop.placement.spatial()
                pose = pose if loop.predecessor == BASE else state.posed[loop.predecessor].pose @ pose
                return list(pose.point(at) + Vec3(*self.beside))
        return list(state.posed[tree.joint_index[self.joint]].pose.point(at) + Vec3(*self.beside))


class DriveQuality(NamedTuple):
    """How well the drives determine all other freedoms: 0 at dead points, 1 at best."""

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Measure it."""
        return [state.quality]


class Direction(NamedTuple):
    """The direction of an axis of a body or frame in the world: a unit vector."""

    frame: str
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Return its value."""
        return list(kinematics.of_frame(state.tree, self.frame, state.posed)[2].rotate(Vec3(*self.axis)))


class JointTurn(NamedTuple):
    """Cosine and sine of a coordinate."""

    entry: int
    """Index in q."""

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Measure it."""
        return [cos(state.q[self.entry]), sin(state.q[self.entry])]


class LineDirection(NamedTuple):
    """The direction in a plane of the line between two points: cosine and sine, from the plane's first axis."""

    first: PointMotion
    second: PointMotion
    right: tuple[float, float, float]
    up: tuple[float, float, float]

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Measure it."""
        way = Vec3(*self.second(state)) - Vec3(*self.first(state))
        x, y = way.dot(Vec3(*self.right)), way.dot(Vec3(*self.up))
        size = sqrt(x * x + y * y)
        return [x / size, y / size]


class Angle(NamedTuple):
    """The angle at a point between two others, from 0 to pi: the transmission angle between coupler and follower."""

    first: PointMotion | JointPlace
    vertex: PointMotion | JointPlace
    second: PointMotion | JointPlace

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Return its value."""
        a, vertex, b = (Vec3(*point(state)) for point in self)
        a, b = a - vertex, b - vertex
        across = a.cross(b)
        return [arctan2(sqrt(across.dot(across)), a.dot(b))]


class JointWrench(NamedTuple):
    """Moment and force of a joint, cut or not, on its second body, along world axes."""

    joint: str

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Return its value."""
        tree = state.tree
        for i, loop in enumerate(tree.loops):
            if loop.name == self.joint:
                wrench, pose = state.loop_wrenches[i], loop.seat.spatial()
                if loop.successor != BASE:
                    pose = state.posed[loop.successor].pose @ pose
                return [*pose.rotate(wrench.moment), *pose.rotate(wrench.force)]
        i = tree.joint_index[self.joint]
        wrench, pose = state.joint_wrenches[i], state.posed[i].pose
        return [*pose.rotate(wrench.moment), *pose.rotate(wrench.force)]


class ShakingWrench(NamedTuple):
    """The wrench of the motion on the ground: moment about the world's origin, and force; without the static weight."""

    weight: bool = False
    """Whether gravity is included."""

    def __call__(self, state: DrivenState) -> list[Scalar]:
        """Return its value."""
        tree, gravity = state.tree, state.tree.gravity if self.weight else (0.0, 0.0, 0.0)
        # what joints on the ground would transmit without loops; loops only shift forces from one of these joints to
        # another
        forces = newton_euler.inverse_dynamics(tree, state.q, state.v, state.a, gravity, springs=False)[1]
        total = [0.0] * 6
        for i in tree.roots:
            here = state.posed[i].pose.force_to_parent(forces[i])
            total = [x - y for x, y in zip(total, here, strict=True)]
        return total


Measure = (
    MotionVector | PointMotion | JointPlace | DriveQuality | Direction | JointTurn | LineDirection | Angle | JointWrench
    | ShakingWrench
)  # fmt: skip

"""Forward dynamics in maximal coordinates: every body moves freely, and every joint, cut or not, is a constraint.

Nothing of kinetree computes here but the model's plain data: bodies are posed by SciPy's rotations, each body has its
Newton-Euler equations, each joint is a handful of equations between two frames whose first and second time derivatives
are exact (truncated Taylor series in time), and the whole is solved by a pseudo-inverse, so redundant constraints do
not matter.  Slow, and independent of every recursion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.model.joints import Planar
from kinetree.model.tree import Model

Array = np.ndarray


class Series:
    """Value, first and second time derivative of an array."""

    __array_ufunc__ = None

    def __init__(self, value: Any, rate: Any = None, second: Any = None) -> None:
        self.value = np.asarray(value, dtype=float)
        zero = np.zeros_like(self.value)
        self.rate = zero if rate is None else np.asarray(rate)
        self.second = zero if second is None else np.asarray(second)

    def __add__(self, other: Series) -> Series:
        return Series(self.value + other.value, self.rate + other.rate, self.second + other.second)

    def __sub__(self, other: Series) -> Series:
        return Series(self.value - other.value, self.rate - other.rate, self.second - other.second)

    def __mul__(self, factor: float) -> Series:
        return Series(self.value * factor, self.rate * factor, self.second * factor)

    def __matmul__(self, other: Any) -> Series:
        b = other if isinstance(other, Series) else Series(other)
        second = self.second @ b.value + 2.0 * self.rate @ b.rate + self.value @ b.second
        return Series(self.value @ b.value, self.rate @ b.value + self.value @ b.rate, second)

    @property
    def T(self) -> Series:
        """The transposed matrix."""
        return Series(self.value.T, self.rate.T, self.second.T)

    def __getitem__(self, key: Any) -> Series:
        return Series(self.value[key], self.rate[key], self.second[key])


def stacked(parts: list[Series]) -> Series:
    """Return several scalars or vectors as one vector."""
    each = [(np.atleast_1d(p.value), np.atleast_1d(p.rate), np.atleast_1d(p.second)) for p in parts]
    return Series(*(np.concatenate(x) for x in zip(*each, strict=True))) if parts else Series(np.zeros(0))


def angle(sine: Series, cosine: Series) -> Series:
    """Return the angle of a point near the unit circle."""
    s, c = sine, cosine
    square = c.value**2 + s.value**2
    cross = c.value * s.rate - s.value * c.rate
    growth = 2.0 * (c.value * c.rate + s.value * s.rate)
    rate = cross / square
    second = (c.value * s.second - s.value * c.second - rate * growth) / square
    return Series(np.arctan2(s.value, c.value), rate, second)


def skew(w: Array) -> Array:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


class Moving(NamedTuple):
    """A frame: rotation and origin as functions of time, its angular velocity and acceleration."""

    rotation: Series
    origin: Series
    w: Array
    dw: Array


class Body(NamedTuple):
    """A body in the world: pose, angular velocity, velocity of its origin."""

    rotation: Array
    origin: Array
    w: Array
    u: Array


STILL = Body(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))


def frame_on(body: Body, pose: kt.Pose, dw: Array, du: Array) -> Moving:
    """Return a frame on a body that accelerates by dw and, at its origin, du."""
    turn, place = placed(pose)
    rate = skew(body.w)
    rotation = Series(body.rotation, rate @ body.rotation, (skew(dw) + rate @ rate) @ body.rotation)
    return Moving(rotation @ turn, Series(body.origin, body.u, du) + rotation @ place, body.w, dw)


def placed(pose: kt.Pose) -> tuple[Array, Array]:
    return np.array(pose.rotation, dtype=float).reshape(3, 3), np.array(pose.position, dtype=float)


def across(axis: Array) -> tuple[Array, Array]:
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first = first / np.linalg.norm(first)
    return first, np.cross(axis, first)


AXIS = {"X": np.eye(3)[0], "Y": np.eye(3)[1], "Z": np.eye(3)[2]}


def forbidden(kind: Any, a: Moving, b: Moving) -> Series:
    """Return what a joint keeps at zero between its fixed frame and its moving one."""
    turn, shift = a.rotation.T @ b.rotation, b.origin - a.origin
    name = kind.name
    if name == "free":
        return stacked([])
    if name == "distance":
        return stacked([shift @ shift])
    seen = a.rotation.T @ shift
    if name in ("spherical", "spherical_euler"):
        return seen
    fixed = stacked([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    if name == "fixed":
        return stacked([seen, fixed])
    if name == "translation":
        return fixed
    if name == "universal":
        first, second = (AXIS[c] for c in kind.sequence)
        return stacked([seen, Series(first) @ turn @ second])
    axis = np.array(kind.normal if isinstance(kind, Planar) else kind.axis, dtype=float)
    t1, t2 = across(axis)
    if name == "prismatic":
        return stacked([fixed, Series(t1) @ seen, Series(t2) @ seen])
    upright = stacked([Series(t1) @ turn @ axis, Series(t2) @ turn @ axis])
    line = stacked([Series(t1) @ seen, Series(t2) @ seen])
    if name in ("revolute", "continuous"):
        return stacked([upright, seen])
    if name == "cylindrical":
        return stacked([upright, line])
    if name == "planar":
        return stacked([upright, Series(axis) @ seen])
    assert name == "helical", name
    around = angle(Series(t2) @ turn @ t1, Series(t1) @ turn @ t1)
    return stacked([upright, line, Series(axis) @ seen - around * kind.pitch])


def relative(kind: Any, q: Array) -> tuple[Array, Array]:
    """Return rotation and displacement of a joint of the tree."""
    name, none = kind.name, np.zeros(3)
    if name == "free":
        return Rotation.from_quat(q[:4]).as_matrix(), q[4:]
    if name == "spherical":
        return Rotation.from_quat(q).as_matrix(), none
    if name == "universal":
        return Rotation.from_euler(kind.sequence, q).as_matrix(), none
    axis = np.array(kind.axis)
    turn = Rotation.from_rotvec(axis * q[0]).as_matrix()
    if name == "prismatic":
        return np.eye(3), axis * q[0]
    if name == "cylindrical":
        return turn, axis * q[1]
    return turn, axis * (kind.pitch * q[0]) if name == "helical" else none


def velocity_of(kind: Any, a: Moving, b: Moving) -> tuple[Array, Array]:
    """Return a joint's velocity coordinates and their rates, from the motion of its two frames."""
    w, dw = b.w - a.w, b.dw - a.dw
    name, turn = kind.name, b.rotation.value
    if name == "free":
        u, du = b.origin.rate, b.origin.second
        return np.concatenate([turn.T @ b.w, turn.T @ u]), np.concatenate(
            [turn.T @ b.dw, turn.T @ (du - np.cross(b.w, u))]
        )
    if name == "spherical":
        return turn.T @ w, turn.T @ (dw - np.cross(b.w, w))
    if name == "universal":
        first, second = a.rotation.value @ AXIS[kind.sequence[0]], turn @ AXIS[kind.sequence[1]]
        rates = np.cross(a.w, first) @ w + first @ dw, np.cross(b.w, second) @ w + second @ dw
        return np.array([first @ w, second @ w]), np.array(rates)
    local = np.array(kind.axis)
    axis = a.rotation.value @ local
    along = Series(local) @ (a.rotation.T @ (b.origin - a.origin))
    turned = axis @ w, np.cross(a.w, axis) @ w + axis @ dw
    if name == "prismatic":
        return np.array([along.rate]), np.array([along.second])
    if name == "cylindrical":
        return np.array([turned[0], along.rate]), np.array([turned[1], along.second])
    return np.array([turned[0]]), np.array([turned[1]])


def posed(model: Model, q: Array, v: Array) -> list[Body]:
    """Return all bodies, from joint coordinates."""
    bodies: list[Body] = []
    for joint in model.joints:
        parent = STILL if joint.parent < 0 else bodies[joint.parent]
        turn, place = placed(joint.placement)
        own, shift = relative(joint.kind, q[joint.q_slice])
        base = parent.rotation @ turn
        rotation, origin = base @ own, parent.origin + parent.rotation @ place + base @ shift
        still = Body(rotation, origin, parent.w, parent.u + np.cross(parent.w, origin - parent.origin))
        # the joint's own part is linear in v: find the motion that has these velocities
        motions = np.eye(6)
        a = frame_on(parent, joint.placement, np.zeros(3), np.zeros(3))
        columns, bans = [], []
        for move in motions:
            moving = frame_on(
                Body(rotation, origin, still.w + move[:3], still.u + move[3:]), kt.Pose(), np.zeros(3), np.zeros(3)
            )
            columns.append(velocity_of(joint.kind, a, moving)[0])
            bans.append(forbidden(joint.kind, a, moving).rate)
        rest = frame_on(still, kt.Pose(), np.zeros(3), np.zeros(3))
        zero, banned = velocity_of(joint.kind, a, rest)[0], forbidden(joint.kind, a, rest).rate
        left = np.concatenate([np.array(columns).T - zero[:, None], np.array(bans).T - banned[:, None]])
        x = np.linalg.lstsq(left, np.concatenate([v[joint.v_slice] - zero, -banned]), rcond=None)[0]
        bodies.append(Body(rotation, origin, still.w + x[:3], still.u + x[3:]))
    return bodies


def spring_force(joint: Any, q: Array) -> Array:
    if not joint.stiffness:
        return np.zeros(joint.nv)
    k, rest = np.array(joint.stiffness), np.array(joint.spring_rest)
    if joint.kind.name == "spherical":
        assert np.ptp(k) == 0.0, "springs of balls are judged where they are equal in all directions"
        return -k * (Rotation.from_quat(rest).inv() * Rotation.from_quat(q)).as_rotvec()
    return -k * (q - rest)


class Judged(NamedTuple):
    """What maximal coordinates say of a state."""

    accelerations: Array
    """Of all joints of the tree, loops closed."""
    freedoms: int
    inertia: float
    """Of the lightest motion that is left, where the heaviest without joints has one."""


def accelerations(robot: kt.Robot, q: Array, v: Array, tau: Array, friction: bool = False) -> Array:
    """Return the accelerations of all joints of the tree, loops closed."""
    return judged(robot, q, v, tau, friction).accelerations


def judged(robot: kt.Robot, q: Array, v: Array, tau: Array, friction: bool = False) -> Judged:
    """Return accelerations, how many motions the joints leave, and whether all of these have inertia."""
    model = robot.model
    bodies, n = posed(model, q, v), len(model.bodies)
    mass, force = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    for i, (body, data) in enumerate(zip(bodies, model.bodies, strict=True)):
        m = data.mass_properties
        c = body.rotation @ np.array(m.com)
        inertia = body.rotation @ np.array(m.inertia_matrix) @ body.rotation.T
        lever, at = skew(c), slice(6 * i, 6 * i + 6)
        mass[at, at] = np.block(
            [[inertia - m.mass * lever @ lever, m.mass * lever], [-m.mass * lever, m.mass * np.eye(3)]]
        )
        pull = m.mass * (np.array(model.gravity) - np.cross(body.w, np.cross(body.w, c)))
        force[at] = np.concatenate([np.cross(c, pull) - np.cross(body.w, inertia @ body.w), pull])

    def pair(joint: Any, first: int, second: int, pose: Any, seat: Any, compute: Any, take: Any) -> tuple[Array, Array]:
        """Return how a joint's quantity depends on accelerations: the matrix and what is left when they are zero."""
        ends = [STILL if i < 0 else bodies[i] for i in (first, second)]

        def at(x: Array) -> Array:
            frames = [frame_on(e, p, x[6 * k : 6 * k + 3], x[6 * k + 3 : 6 * k + 6])
                      for k, (e, p) in enumerate(zip(ends, (pose, seat), strict=True))]  # fmt: skip
            return np.asarray(take(compute(joint.kind, *frames)))

        zero = at(np.zeros(12))
        columns = np.array([at(x) - zero for x in np.eye(12)]).T
        whole = np.zeros((len(zero), 6 * n))
        for k, i in enumerate((first, second)):
            if i >= 0:
                whole[:, 6 * i : 6 * i + 6] += columns[:, 6 * k : 6 * k + 6]
        return whole, zero

    rows, bias = [], []
    for i, joint in enumerate(model.joints):
        ends = joint.parent, i, joint.placement, kt.Pose()
        for found, into in zip(pair(joint, *ends, forbidden, lambda s: s.second), (rows, bias), strict=True):
            into.append(found)
        by_joint, drift = pair(joint, *ends, velocity_of, lambda x: x[1])
        own = tau[joint.v_slice] + spring_force(joint, q[joint.q_slice])
        if friction:
            rate = v[joint.v_slice]
            own = own - np.array(joint.damping) * rate - np.array(joint.friction) * np.sign(rate)
        armature = np.array(joint.armature)
        force += by_joint.T @ (own - armature * drift)
        mass += by_joint.T * armature @ by_joint
    for loop in model.loops:
        ends = loop.predecessor, loop.successor, loop.placement, loop.seat
        for found, into in zip(pair(loop, *ends, forbidden, lambda s: s.second), (rows, bias), strict=True):
            into.append(found)
    k, target = np.concatenate(rows), -np.concatenate(bias)
    # the shortest acceleration that obeys the constraints, and the rest along what they leave free
    u, s, vt = np.linalg.svd(k)
    rank = int((s > 1e-9 * s[0]).sum())
    given = vt[:rank].T @ ((u[:, :rank].T @ target) / s[:rank])
    free = vt[rank:].T
    left = free.T @ mass @ free
    x = given + free @ np.linalg.lstsq(left, free.T @ (force - mass @ given), rcond=1e-14)[0]
    result = np.zeros(model.nv)
    for i, joint in enumerate(model.joints):
        by_joint, drift = pair(joint, joint.parent, i, joint.placement, kt.Pose(), velocity_of, lambda x: x[1])
        result[joint.v_slice] = by_joint @ x + drift
    lightest = np.linalg.eigvalsh(left).min(initial=np.inf) / np.linalg.norm(mass, 2)
    return Judged(result, len(left), float(lightest))

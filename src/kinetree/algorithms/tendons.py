"""Tendons: their lengths, their pulls, and the forces of actuators along them, over any scalar.

A length L(q) with slope s changes at the rate s v. A force f along it has the power f L', so the joints feel s f.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..errors import UnsupportedError
from ..model.actuators import Actuator, Tendon, Waypoint
from ..model.tree import BASE, Link, Model
from ..spatial import Force, Scalar, Transform, Vec3, sqrt, where
from ..spatial.dual import Dual
from .jacobian import columns_at
from .kinematics import Posed, poses
from .passes import Scalars, add, moving_along, present


class Taut(NamedTuple):
    """A length, and how it changes with each freedom; only freedoms that move it are listed."""

    length: Scalar
    slope: dict[int, Scalar]

    def rate(self, v: Scalars) -> Scalar:
        """Return its rate of growth."""
        total: Scalar = 0.0
        for k, s in self.slope.items():
            total = total + s * v[k]
        return total

    def times(self, gear: float) -> Taut:
        """Return this length after a gear."""
        return self if gear == 1.0 else Taut(self.length * gear, {k: s * gear for k, s in self.slope.items()})


def along_joints(tree: Model, names: Sequence[str], coefficients: Sequence[float], q: Scalars) -> Taut:
    """Return a sum of joint coordinates, including those of followers."""
    length: Scalar = 0.0
    slope: dict[int, Scalar] = {}
    for name, coefficient in zip(names, coefficients, strict=True):
        link: Link = tree.links[tree.joint_index[name]]
        length = length + coefficient * link.position(q)[0]
        place = link.v_slice.start
        slope[place] = slope.get(place, 0.0) + coefficient * link.ratio
    return Taut(length, slope)


def distance(away: Vec3) -> tuple[Scalar, Vec3]:
    """Return the length of a vector, and its direction.

    The direction of a zero vector is zero, and so is the derivative of the length; otherwise both would be divisions by
    zero.
    """
    square = away.dot(away)
    there = square > 0.0
    length = sqrt(where(there, square, 1.0))
    return where(there, length, 0.0 * square), away * where(there, 1.0 / length, 0.0 * square)


def through_points(tree: Model, points: Sequence[Waypoint], posed: Sequence[Posed]) -> Taut:
    """Return the length of a line through points of bodies; coinciding points have no direction, and no slope."""
    length: Scalar = 0.0
    slope: dict[int, Scalar] = {}
    for a, b in pairwise(points):
        if a.body == b.body:
            length = length + distance(Vec3(*b.position) - Vec3(*a.position))[0]
            continue
        apart, direction = distance(_world(posed, b) - _world(posed, a))
        length = length + apart
        for k, s in _shares(tree, posed, a, b, direction):
            slope[k] = add(slope.get(k), s)
    return Taut(length, slope)


def _shares(
    tree: Model, posed: Sequence[Posed], a: Waypoint, b: Waypoint, direction: Vec3
) -> Iterator[tuple[int, Scalar]]:
    """Yield how freedoms move two points apart along a direction in the world; freedoms that move both appear twice."""
    for point, sense in ((a, -1.0), (b, 1.0)):
        if point.body == BASE:
            continue
        local = posed[point.body].pose.unrotate(direction)
        for k, column in enumerate(columns_at(tree, posed, point.body, Transform((), Vec3(*point.position)))):
            if column is not None:
                yield k, column.linear.dot(local) * sense


def _world(posed: Sequence[Posed], point: Waypoint) -> Vec3:
    place = Vec3(*point.position)
    return place if point.body == BASE else posed[point.body].pose.point(place)


def measure(tree: Model, tendon: Tendon, q: Scalars, posed: Sequence[Posed] | None = None) -> Taut:
    """Return a tendon's length and slope."""
    if tendon.joints:
        return along_joints(tree, tendon.joints, tendon.coefficients, q)
    return through_points(tree, tendon.points, posed or poses(tree, q))


# ------------------------------------------------------------------ springs and dampers along tendons


def sprung(tree: Model) -> list[Tendon]:
    """Return the tendons with springs."""
    found = [t for t in getattr(tree, "tendons", ()) if present(t.stiffness)]
    if found and not isinstance(tree, Model):
        raise UnsupportedError("springs along tendons cannot be rolled into a loop")
    return found


def stretch(tendon: Tendon, length: Scalar) -> Scalar:
    """Return how far a tendon is stretched beyond the rest length of its spring, or short of it."""
    short, long = tendon.rest
    if short is long or (isinstance(short, float) and isinstance(long, float) and short == long):
        return length - long
    if isinstance(long, float) and long == math.inf:
        return where(length < short, length - short, 0.0 * length)
    return where(length > long, length - long, where(length < short, length - short, 0.0 * length))


def spring_forces(tree: Model, q: Scalars) -> dict[str, Vec3]:
    """Return what each spring through points exerts on the body of its last point, along world axes."""
    posed = poses(tree, q)
    found = {}
    for tendon in (t for t in sprung(tree) if t.points):
        pull = tendon.stiffness * stretch(tendon, through_points(tree, tendon.points, posed).length)
        before, last = (_world(posed, point) for point in tendon.points[-2:])
        found[tendon.name] = distance(before - last)[1] * pull
    return found


def is_as_its_length(tendon: Tendon) -> bool:
    """Return whether a spring between two points rests at zero length: its force is smooth where they meet."""
    return len(tendon.points) == 2 and all(isinstance(x, float) and x == 0.0 for x in tendon.rest)


def pulls(tree: Model, q: Scalars) -> list[Scalar] | None:
    """Return the joint forces that hold the springs of all tendons, laid out like ``v``; None without springs."""
    tendons = sprung(tree)
    if not tendons:
        return None
    total: list[Scalar] = [0.0] * tree.nv
    posed = poses(tree, q) if any(t.points for t in tendons) else None
    for tendon in tendons:
        if is_as_its_length(tendon):
            assert posed is not None
            a, b = tendon.points
            for k, s in _shares(tree, posed, a, b, _world(posed, b) - _world(posed, a)):
                total[k] = total[k] + s * tendon.stiffness
            continue
        taut = measure(tree, tendon, q, posed)
        force = stretch(tendon, taut.length) * tendon.stiffness
        for k, s in taut.slope.items():
            total[k] = total[k] + s * force
    return total


def with_lines(tree: Model, q: Scalars, loads: Sequence[Force | None] | None) -> Sequence[Force | None] | None:
    """Return loads on the bodies, including those of springs along lines, in body coordinates at the origins.

    Only the forces of :func:`pulls` affect the motion; bearings feel more, since they carry the pull of a line.
    """
    lines = [t for t in sprung(tree) if t.points]
    if not lines:
        return loads
    posed, found = poses(tree, q), list(loads or [None] * len(tree.bodies))
    for tendon in lines:
        force = tendon.stiffness * stretch(tendon, measure(tree, tendon, q, posed).length)
        for a, b in pairwise(tendon.points):
            if a.body == b.body:
                continue
            pull = distance(_world(posed, b) - _world(posed, a))[1] * force
            for point, acting in ((a, pull), (b, -pull)):
                if point.body != BASE:
                    local = posed[point.body].pose.unrotate(acting)
                    push, so_far = Force(Vec3(*point.position).cross(local), local), found[point.body]
                    found[point.body] = push if so_far is None else so_far + push
    return found


def slopes(tree: Model, q: Scalars) -> list[list[Scalar]] | None:
    """Return how the forces of :func:`pulls` change along each freedom, one row per force; None without springs."""
    if not sprung(tree):
        return None
    columns = []
    for j in range(tree.nv):
        changed = pulls(tree, moving_along(tree, q, j))
        assert changed is not None
        columns.append([f.rate if isinstance(f, Dual) else 0.0 for f in changed])
    return [[column[i] for column in columns] for i in range(tree.nv)]


def energy(tree: Model, q: Scalars) -> Scalar:
    """Return the energy of the springs of all tendons."""
    total: Scalar = 0.0
    for tendon in sprung(tree):
        if is_as_its_length(tendon):  # this form and its slopes are smooth where the points meet
            (a, b), posed = tendon.points, poses(tree, q)
            away = _world(posed, b) - _world(posed, a)
            total = total + 0.5 * tendon.stiffness * away.dot(away)
            continue
        d = stretch(tendon, measure(tree, tendon, q).length)
        total = total + 0.5 * tendon.stiffness * d * d
    return total


def damping_force(tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Return the joint forces of dampers along tendons as they act on the robot."""
    total: list[Scalar] = [0.0] * tree.nv
    for tendon in tree.tendons:
        if tendon.damping:
            taut = measure(tree, tendon, q)
            force = tendon.damping * taut.rate(v)
            for k, s in taut.slope.items():
                total[k] = total[k] - s * force
    return total


# ------------------------------------------------------------------ actuators


class Driven(NamedTuple):
    """An actuator at a state: the force along its length, and its stiffness and damping."""

    taut: Taut
    force: Scalar
    stiffness: Scalar
    """Decrease of the force per meter of added length; 0 at a limit of the force."""
    damping: Scalar
    """Decrease of the force per meter per second of the length's rate."""


def transmission(tree: Model, actuator: Actuator, q: Scalars) -> Taut:
    """Return the length that an actuator acts along."""
    if actuator.joint:
        return along_joints(tree, [actuator.joint], [1.0], q).times(actuator.gear)
    tendon = next(t for t in tree.tendons if t.name == actuator.tendon)
    return measure(tree, tendon, q).times(actuator.gear)


def drive(tree: Model, actuator: Actuator, signal: Scalar, q: Scalars, v: Scalars) -> Driven:
    """Return the effect of an actuator with a control signal."""
    taut = transmission(tree, actuator, q)
    u = clamped(signal, actuator.control_range)
    force: Scalar = actuator.gain[0] * u + actuator.bias[0]
    slopes: list[Scalar] = []
    for gain, bias, x in zip(actuator.gain[1:], actuator.bias[1:], (taut.length, taut.rate(v)), strict=True):
        factor: Scalar = gain * u + bias if gain else bias
        slopes.append(-factor)
        if gain or bias:
            force = force + factor * x
    held = clamped(force, actuator.force_range)
    if held is not force:
        low, high = actuator.force_range
        slopes = [where(force > high, 0.0, where(force < low, 0.0, s)) if present(s) else 0.0 for s in slopes]
    return Driven(taut, held, *slopes)


def clamped(x: Scalar, bounds: tuple[float, float]) -> Scalar:
    """Return the nearest number within bounds; NaN stays NaN."""
    low, high = bounds
    if low > -float("inf"):
        x = where(x < low, low, x)
    return where(x > high, high, x) if high < float("inf") else x

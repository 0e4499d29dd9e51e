"""Properties of planar mechanisms: four-bars in them, transmission angles, instant centers, force ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import OptionError, ShapeError, UnknownNameError, UnsupportedError, explains_arguments
from kinetree.io.units import LENGTHS
from kinetree.loops.mobility import planar_count
from kinetree.model.joints import JointKind, Prismatic, Reversed
from kinetree.model.linkages.drawing import drawing_of
from kinetree.robot.mechanism import Mechanism
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array, as_array

EQUAL = 1e-9
"""Lengths whose relative difference is less than this are equal."""


class PlanarJoint(NamedTuple):
    """A pin or slide between two links, its place on each, and the direction of a slide on the first."""

    name: str
    slides: bool
    first: int
    second: int
    on_first: Array
    on_second: Array
    along: Array


class PlanarMechanism:
    """A planar mechanism as links and joints in its plane.

    Parameters
    ----------
    robot : Robot
    """

    def __init__(self, robot: Robot) -> None:
        if robot.loops is None:
            raise UnsupportedError(f"{robot.name!r} has no loops: there is no linkage to look at")
        self.robot, self.model = cast("Mechanism", robot), robot.model
        drawn = robot.closure_error(robot.neutral()).max(initial=0.0) < 1e-9  # type: ignore[union-attr]
        self.reference: Array = robot.neutral() if drawn else self.robot.assembled()
        if planar_count(self.model, self.reference) is None:
            raise UnsupportedError(
                f"{robot.name!r} does not move in a plane: hinges must be parallel, and slides perpendicular to them"
            )

    @cached_property
    def plane(self) -> Array:
        """Two unit vectors of the plane, (2, 3): x and y, or x and z, or y and z of the world if possible."""
        kinds = [_unturned(joint.kind) for joint in self.model.joints]
        hinge = next(i for i, kind in enumerate(kinds) if not isinstance(kind, Prismatic))
        normal = self.poses(self.reference)[hinge + 1][:3, :3] @ _axis(kinds[hinge])
        right = np.eye(3)[np.argmax(np.abs(normal) < 0.9)]
        right = right - normal * (normal @ right)
        up = np.cross(normal, right)
        return np.array([right / np.linalg.norm(right), up if up[np.argmax(np.abs(up))] > 0 else -up])

    @property
    def length_unit(self) -> str:
        """The unit in which lengths are printed: that of the drawing, or meters."""
        drawn = drawing_of(self.model)
        return drawn.units if drawn else "m"

    @property
    def links(self) -> tuple[str, ...]:
        """Names of all links, the ground first; a link's number is one more than that of its body."""
        return (self.model.base.name, *(body.name for body in self.model.bodies))

    @cached_property
    def joints(self) -> tuple[PlanarJoint, ...]:
        """All pins and slides."""
        found, zero = [], np.zeros(3)
        for i, joint in enumerate(self.model.joints):
            place = joint.placement
            found.append((joint.name, joint.kind, joint.parent, i, place.position, zero, place.rotation))
        for loop in self.model.loops:
            ends = loop.predecessor, loop.successor, loop.placement.position, loop.seat.position
            found.append((loop.name, loop.kind, *ends, loop.placement.rotation))
        made = []
        for name, kind, first, second, here, there, turned in found:
            slides = isinstance(_unturned(kind), Prismatic)
            along = turned @ _axis(_unturned(kind)) if slides else zero
            made.append(PlanarJoint(name, slides, first + 1, second + 1, here, there, along))
        return tuple(made)

    def link(self, name: str) -> int:
        """Return the number of a link."""
        if name not in self.links:
            raise UnknownNameError("link", name, self.links)
        return self.links.index(name)

    def poses(self, q: Array) -> Array:
        """Return poses of all links, (links, ..., 4, 4), each seen from the joint that carries it."""
        frames = [
            self.robot.pose(q, b.name) @ self.model.frame(b.name).pose.inverse().matrix for b in self.model.bodies
        ]
        return np.stack([np.broadcast_to(np.eye(4), frames[0].shape), *frames])

    def positions(self, q: ArrayLike) -> dict[str, Array]:
        """Return the positions of all joints in the plane, (..., 2)."""
        poses = self.poses(as_array(q, (self.robot.nq,), "q"))
        places = {j.name: (poses[j.second], j.on_second) for j in self.joints}
        return {
            name: (pose[..., :3, :3] @ local + pose[..., :3, 3]) @ self.plane.T
            for name, (pose, local) in places.items()
        }

    def twists(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Return velocities of all links, (..., links, 3): of their point at the world's origin, and angular.

        The drive moves at unit speed unless velocities are given.
        """
        state = as_array(q, (self.robot.nq,), "q")
        rates = self.robot.basis(state)[..., 0] if v is None else as_array(v, (self.robot.nv,), "v")
        if v is None and self.robot.basis(self.reference).shape[-1] != 1:
            raise OptionError(f"{self.robot.name!r} has several freedoms: give velocities v that say how it moves")
        right, up = self.plane
        six = np.stack([self.robot.velocity(state, rates, b.name, "world") for b in self.model.bodies], axis=-2)
        moving = np.stack([six[..., 3:] @ right, six[..., 3:] @ up, six[..., :3] @ np.cross(right, up)], axis=-1)
        return np.concatenate([np.zeros_like(moving[..., :1, :]), moving], axis=-2)

    # ---------------------------------------------------------------- loops of four links

    @cached_property
    def four_bars(self) -> tuple[FourBarLoop, ...]:
        """Loops of four links with four pins, or three pins and a slide; those with the ground come first."""
        found: dict[frozenset[str], FourBarLoop] = {}
        for start in range(len(self.links)):
            for path in self._loops_from(start):
                names = frozenset(joint.name for joint, _ in path)
                if names not in found and sum(joint.slides for joint, _ in path) < 2:
                    found[names] = FourBarLoop(self, self._from_input(start, path))
        return tuple(found.values())

    @property
    def driven_pins(self) -> dict[str, FourBarLoop]:
        """Pins at which a coupler drives a link on the ground, with their loop of four links."""
        on_ground = [loop for loop in self.four_bars if loop.path[3][1] == 0 and not loop.path[2][0].slides]
        return {loop.joints[2]: loop for loop in on_ground}

    def _loops_from(self, start: int) -> Iterator[list[tuple[PlanarJoint, int]]]:
        """Yield loops of four joints, each with the link after it, that begin and end at a link."""

        def go(path: list[tuple[PlanarJoint, int]], at: int) -> Iterator[list[tuple[PlanarJoint, int]]]:
            for joint in self.joints:
                if at in (joint.first, joint.second) and joint not in [j for j, _ in path]:
                    other = joint.second if at == joint.first else joint.first
                    if len(path) == 3 and other == start:
                        yield [*path, (joint, other)]
                    elif len(path) < 3 and other != start and other not in [k for _, k in path]:
                        yield from go([*path, (joint, other)], other)

        yield from go([], start)

    def _from_input(self, start: int, path: list[tuple[PlanarJoint, int]]) -> list[tuple[PlanarJoint, int]]:
        """Return a loop that begins with the driven joint, or else at the end that is not a slide."""
        links = [start, *(link for _, link in path)]
        back = [(path[k][0], links[k]) for k in (3, 2, 1, 0)]
        driven = [self.model.joints[i].name for i in range(len(self.model.joints)) if self.model.joints[i].actuated]
        turned = path[3][0].name in driven or (path[0][0].name not in driven and path[0][0].slides)
        return back if turned else path


@dataclass(frozen=True)
class FourBarLoop:
    """Four links in a loop: frame, input, coupler and output, with the joints between them.

    Attributes
    ----------
    of : PlanarMechanism
    path : list of pairs
        Joints, starting with the one between frame and input, and the numbers of the links after them.
    """

    of: PlanarMechanism
    path: list[tuple[PlanarJoint, int]]

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the four joints, the driven one first."""
        return tuple(joint.name for joint, _ in self.path)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of frame, input, coupler and output."""
        return tuple(self.of.links[k] for k in (self.path[3][1], *(link for _, link in self.path[:3])))

    @cached_property
    def lengths(self) -> tuple[float, ...]:
        """Lengths of frame, input, coupler and output, from pin to pin; NaN next to a slide."""
        at = self.of.positions(self.of.reference)
        slides = [joint.slides for joint, _ in self.path]
        ends = [self.joints[k - 1 : k + 1] if k else (self.joints[3], self.joints[0]) for k in range(4)]
        near = [slides[k - 1] or slides[k] for k in range(4)]
        return tuple(
            float("nan") if bad else float(np.linalg.norm(at[a] - at[b]))
            for (a, b), bad in zip(ends, near, strict=True)
        )

    @property
    def kind(self) -> str:
        """Grashof's class, such as "crank-rocker"; "slider-crank" or "inverted slider-crank" if a joint slides."""
        if np.isnan(self.lengths).any():
            return "slider-crank" if self.path[3][0].slides else "inverted slider-crank"
        short, p, q, long = sorted(self.lengths)
        margin = p + q - short - long
        if abs(margin) <= EQUAL * long:
            return "change point"
        if margin < 0.0:
            return "triple-rocker"
        names = ("double-crank", "crank-rocker", "double-rocker", "rocker-crank")
        return names[int(np.argmin(self.lengths))]

    def transmission_angle(self, q: ArrayLike) -> Array:
        """Return the angle between coupler and output link, 0 to pi, (...); at a slider, that of rod and normal."""
        at = self.of.positions(q)
        a, b, c = (at[name] for name in self.joints[1:])
        driving, (last, _) = a - b, self.path[3]
        driven = c - b
        if last.slides:
            pose = self.of.poses(np.asarray(q, dtype=float))[last.first]
            along = (pose[..., :3, :3] @ last.along) @ self.of.plane.T
            driven = np.stack([-along[..., 1], along[..., 0]], axis=-1)
        return _angle(driving, driven)

    def __str__(self) -> str:
        unit = self.of.length_unit
        shown = ", ".join(
            f"{n} {x / LENGTHS[unit]:.6g} {unit}" if np.isfinite(x) else n
            for n, x in zip(self.links, self.lengths, strict=True)
        )
        return f"{self.kind}: {shown}"


def _unturned(kind: JointKind) -> JointKind:
    return kind.kind if isinstance(kind, Reversed) else kind


def _axis(kind: Any) -> Array:
    return np.array(kind.axis, dtype=float)


def _angle(a: Array, b: Array) -> Array:
    across = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.arctan2(np.abs(across), (a * b).sum(axis=-1))


# ------------------------------------------------------------------ functions of robots


@explains_arguments
def four_bars(robot: Robot) -> tuple[FourBarLoop, ...]:
    """Return the loops of four links in a planar mechanism, with their lengths and Grashof's class.

    Examples
    --------
    >>> import kinetree as kt
    >>> [loop.kind for loop in kt.design.four_bars(kt.load("four-bar"))]
    ['crank-rocker']
    """
    return PlanarMechanism(robot).four_bars


@explains_arguments
def transmission_angle(robot: Robot, q: ArrayLike, at: str | None = None) -> Array:
    """Return the angle between the driving and the driven link at their pin, 0 to pi, (...).

    At 90 degrees the whole force turns the driven link; near 0 or 180 degrees none of it does.

    Parameters
    ----------
    robot : Robot
        A planar mechanism.
    q : array_like, shape (..., nq)
        Closed configurations.
    at : str, optional
        The pin between coupler and output link; required if there are several loops of four links.
    """
    loops = PlanarMechanism(robot).driven_pins
    if at is None and len(loops) != 1:
        raise OptionError(f"specify the pin, at=...: there are {', '.join(loops) or 'no four-bars'}")
    if at is not None and at not in loops:
        links = "; ".join(f"{pin!r} joins coupler {loop.links[2]!r} and output {loop.links[3]!r}"
                          for pin, loop in loops.items())  # fmt: skip
        raise UnknownNameError("pin between coupler and output of a four-bar", at, loops, instead=links)
    return loops[next(iter(loops)) if at is None else at].transmission_angle(q)


@explains_arguments
def instant_centers(robot: Robot, q: ArrayLike) -> dict[tuple[str, str], Array]:
    """Return the instant center of every pair of links in the plane: the point where both have the same velocity.

    For links that do not turn relative to each other, it is infinitely far away (inf).

    Parameters
    ----------
    robot : Robot
        A planar mechanism of one freedom.
    q : array_like, shape (..., nq)

    Returns
    -------
    dict from pairs of links to ndarray (..., 2)
    """
    planar = PlanarMechanism(robot)
    moving, names = planar.twists(q), planar.links
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return {(names[i], names[j]): _center(moving[..., j, :] - moving[..., i, :]) for i, j in pairs}


def _center(twist: Array) -> Array:
    turning = twist[..., 2:]
    still = np.abs(turning) <= EQUAL * np.abs(twist).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.stack([-twist[..., 1], twist[..., 0]], axis=-1) / turning
    return np.where(still, np.inf, found)


@explains_arguments
def centrodes(robot: Robot, q: ArrayLike, link: str, other: str | None = None) -> tuple[Array, Array]:
    """Return the paths of the instant center of two links: on the other one (fixed centrode), and on the link itself.

    The two curves roll on each other as the links move.

    Parameters
    ----------
    robot : Robot
    q : array_like, shape (T, nq)
        A motion.
    link : str
    other : str, optional
        The ground by default.

    Returns
    -------
    (fixed, moving) : ndarray, shape (T, 2)
        In the plane, with both links placed as in the first configuration.
    """
    planar, motion = PlanarMechanism(robot), np.atleast_2d(np.asarray(q, dtype=float))
    one, two = planar.link(link), planar.link(planar.links[0] if other is None else other)
    moving, poses = planar.twists(motion), planar.poses(motion)
    center = _center(moving[..., one, :] - moving[..., two, :]) @ planar.plane
    found = []
    for k in (two, one):  # back to where the link was in the first configuration
        back = poses[k][0] @ np.linalg.inv(poses[k])
        found.append((np.einsum("tij,tj->ti", back[:, :3, :3], center) + back[:, :3, 3]) @ planar.plane.T)
    return found[0], found[1]


Driven = str | tuple[str, Sequence[float]]


@explains_arguments
def mechanical_advantage(robot: Robot, q: ArrayLike, driven: Driven) -> Array:
    """Return the force or torque at an output per unit of that at the drive, without friction and inertia.

    Parameters
    ----------
    robot : Robot
        A mechanism of one freedom.
    q : array_like, shape (..., nq)
    driven : str or pair of str and direction
        A joint; or a point (body or frame) and the direction, in the world, of the force there.

    Returns
    -------
    ndarray, shape (...)
        Infinite in a toggle position.
    """
    mechanism = of_one_freedom(robot)
    state = as_array(q, (robot.nq,), "q")
    rates = mechanism.basis(state)[..., 0]
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / output_rate(mechanism, state, rates, driven))


def output_rate(mechanism: Mechanism, q: Array, v: Array, driven: Driven) -> Array:
    """Return how fast an output moves."""
    if isinstance(driven, str):
        return v[..., mechanism.model.joint(driven).v_slice.start]
    point, given = driven
    way = np.asarray(given, dtype=float)
    if way.shape not in ((2,), (3,)) or not way.any():
        raise ShapeError(f"what is driven is a joint, or a point and a direction such as ('P', (1, 0)), not {driven!r}")
    way = way @ PlanarMechanism(mechanism).plane if way.shape == (2,) else way
    speed = mechanism.point_velocity(q, v, point)
    return np.asarray(speed @ (way / np.linalg.norm(way)))


def of_one_freedom(robot: Robot) -> Mechanism:
    """Return a mechanism with one freedom; refuse others."""
    if robot.loops is None or len(robot.independent()) != 1:
        raise UnsupportedError(f"{robot.name!r} must be a mechanism of one freedom: its motion is that of one drive")
    return cast("Mechanism", robot)


@explains_arguments
def path_curvature(robot: Robot, q: ArrayLike, point: str) -> Array:
    """Return the curvature of the path of a point, in 1/m, (...): positive where it turns counterclockwise.

    Parameters
    ----------
    robot : Robot
        A planar mechanism of one freedom.
    q : array_like, shape (..., nq)
    point : str
        A body or frame, such as a point of a linkage.
    """
    planar, state = PlanarMechanism(of_one_freedom(robot)), as_array(q, (robot.nq,), "q")
    rates = planar.robot.basis(state)[..., 0]
    slowing = planar.robot.accelerations(state, rates, np.zeros((*state.shape[:-1], 1)))
    (vx, vy), (ax, ay) = (
        np.moveaxis(x @ planar.plane.T, -1, 0)
        for x in (robot.point_velocity(state, rates, point), robot.point_acceleration(state, rates, slowing, point))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((vx * ay - vy * ax) / np.hypot(vx, vy) ** 3)

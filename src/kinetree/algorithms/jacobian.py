"""Jacobians of frames, and their time derivatives.

There are three ways to write the velocity of a frame:

``body``
    its spatial velocity in its own axes, at its own origin;
``world``
    its spatial velocity in world axes, at the world's origin;
``aligned``
    angular velocity and velocity of its origin in world axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..model.tree import BASE, Link, Model
from ..spatial import ZERO3, ZERO_MOTION, Force, MatrixRotation, Motion, Scalar, Transform
from .kinematics import Posed, Twist, of_frame, poses, to_frame, twists
from .passes import Scalars, collect, each, inward, nothing, positions, rates
from .path import Path

FRAMES = ("body", "world", "aligned")

Columns = list[Motion]


def express(m: Motion, pose: Transform, frame: str) -> Motion:
    """Return a motion, given in a frame's own coordinates, in another representation."""
    if frame == "body":
        return m
    if frame == "world":
        return pose.motion_to_parent(m)
    return Motion(pose.rotate(m.angular), pose.rotate(m.linear))


def frame_columns(
    tree: Model, q: Scalars, name: str, posed: Sequence[Posed] | None = None
) -> tuple[Columns, Transform]:
    """Return the columns of a frame's Jacobian in its own coordinates, and its pose."""
    posed = posed or poses(tree, q)
    body, local, world = of_frame(tree, name, posed)
    columns = columns_at(tree, posed, body, local)
    return [ZERO_MOTION if c is None else c for c in columns], world


class Reach(NamedTuple):
    """A frame seen from a body that carries it."""

    here: Transform
    """Its pose on that body."""
    world: Transform
    velocity: Motion
    """Velocity of the frame, in its own coordinates."""

    def beyond(self, p: Posed) -> Reach:
        """Return this frame as seen from the previous body."""
        return self._replace(here=(p.transform @ self.here).collapsed())


def _columns(
    path: Any, posed: Sequence[Posed], local: Transform, write: Callable[..., Columns],
    moving: Sequence[Twist] | None = None, *per_body: Sequence[Any],
) -> Sequence[Columns]:  # fmt: skip
    """Return the columns that ``write`` gives for each joint on the path to the frame ``local`` on a body.

    ``write(link, reach, posed, moving, *inputs_of_this_body)`` computes them.
    """
    tip = len(path.links) - 1

    def start(link: Link, p: Posed, t: Twist | None) -> Reach | None:
        if link.index != tip:
            return None
        here = Transform((MatrixRotation(local.matrix()),), local.translation)  # as on the other bodies
        velocity = ZERO_MOTION if t is None else local.motion_to_child(t.velocity)
        return Reach(here, (p.pose @ local).collapsed(), velocity)

    def back(link: Link, reach: Reach, p: Posed, *own: Any) -> tuple[Columns, Reach]:
        return write(link, reach, p, *own), reach.beyond(p)

    twists_of = moving or nothing(path)
    return inward(path, back, each(path, start, posed, twists_of), posed, twists_of, *per_body)[0]


def columns_at(
    tree: Model, posed: Sequence[Posed] | Mapping[int, Posed], body: int, local: Transform, above: int = BASE
) -> list[Motion | None]:
    """Return columns for the frame ``local`` on a body, in its own coordinates; None if a joint does not move it.

    The joints of the body ``above`` and of those that carry it are left out; the result is motion relative to that
    body.
    """

    def write(link: Link, reach: Reach, p: Posed, t: None) -> Columns:
        return [reach.here.motion_to_child(s) for s in p.subspace]

    path: Any = Path(tree, body, above)
    return collect(path, _columns(path, [posed[i] for i in path.places], local, write))


def jacobian(tree: Model, q: Scalars, name: str, frame: str = "body") -> Columns:
    """Return the columns of the 6 x nv Jacobian."""

    def write(link: Link, reach: Reach, p: Posed, t: None) -> Columns:
        return [express(reach.here.motion_to_child(s), reach.world, frame) for s in p.subspace]

    path, posed, local, _, fixed = to_frame(tree, q, name)
    return [ZERO_MOTION] * tree.nv if fixed else collect(path, _columns(path, posed, local, write), ZERO_MOTION)


def jacobian_rate(tree: Model, q: Scalars, v: Scalars, name: str, frame: str = "body") -> Columns:
    """Return the columns of the Jacobian's time derivative, component by component in the chosen frame.

    A column is a joint's screw s_k, whose rate in space is s_k' = v_k x s_k plus its apparent rate; in body axes it is
    seen from a frame that moves with velocity v_F.
    """

    def write(link: Link, reach: Reach, p: Posed, t: Twist, q: Scalars, v: Scalars) -> Columns:
        apparent = link.kind.subspace_rate(q, v)
        velocity = reach.here.motion_to_child(t.velocity)
        found = []
        for k, s in enumerate(p.subspace):
            column = reach.here.motion_to_child(s)
            rate = velocity.cross(column)  # rate of the screw as a vector in space
            if apparent is not None:
                rate = rate + reach.here.motion_to_child(apparent[k])
            found.append(_componentwise(rate, column, reach.velocity, reach.world, frame))
        return found

    path, posed, local, _, fixed = to_frame(tree, q, name)
    if fixed:
        return [ZERO_MOTION] * tree.nv
    moving = twists(path, q, v, None, posed)
    written = _columns(path, posed, local, write, moving, positions(path, q), rates(path, v))
    return collect(path, written, ZERO_MOTION)


def _componentwise(rate: Motion, column: Motion, v_frame: Motion, pose: Transform, frame: str) -> Motion:
    """Return the rate of a vector's components from the rate of the vector in space."""
    if frame == "world":
        return pose.motion_to_parent(rate)
    if frame == "body":
        return rate - v_frame.cross(column)
    # aligned: the axes are fixed, but the origin moves with the frame
    drift = Motion(ZERO3, v_frame.linear)
    return express(rate - drift.cross(column), pose, "aligned")


def rows(columns: Sequence[Motion | Force]) -> list[list[Scalar]]:
    """Return the 6 x n matrix by rows."""
    own = getattr(columns, "rows", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    components = [list(c) for c in columns]
    return [[c[i] for c in components] for i in range(6)]

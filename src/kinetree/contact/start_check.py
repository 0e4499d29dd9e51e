"""A warning for starts deep inside compliant ground, which throws the robot out and is rarely intended."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.kinematics import Twist, poses
from ..errors import ContactWarning, callers_level
from ..robot.robot import Robot
from ..spatial import ZERO_MOTION
from ..spatial.arrays import Array, split
from .ground import Ground
from .surfaces import touch

HIGHEST = 1.0
"""How high (m) the energy stored in the ground at the start may throw a robot without a warning."""

MOST_DEPTHS = 10.0
"""The same in depths: from soft ground a robot is lifted gently even if it is deep inside."""

SLIGHT = 1e-3
"""Depths up to this (m) are not worth a word beside the deepest one."""

STANDARD_GRAVITY = 9.81
"""Gravity for these heights if there is none."""


class Sunken(NamedTuple):
    """A start inside the ground."""

    what: str
    """The deepest frame or shape, and what it is inside of, in words."""

    depth: float
    height: float
    """How high the ground would throw the robot (m)."""

    others: tuple[str, ...]
    """What else starts inside of something, in words."""

    lift: tuple[str, int, float] | None
    """A base coordinate, its index in q, and its value that puts the robot above the ground; None if there is none."""

    def warning(self) -> ContactWarning:
        """Make a warning that says which frame is inside, what will happen, and how to start instead."""
        fact = (
            f"{self.what.format(f'{self.depth:.3g} m')}, which stores enough energy there to throw the robot "
            f"{self.height:.3g} m high"
        )
        if self.others:
            more = f", and {len(self.others) - 3} more" if len(self.others) > 3 else ""
            fact += f" (also: {', '.join(self.others[:3])}{more}; nothing is moved apart)"
        return ContactWarning(fact, self.lift)


def warn_sunken(robot: Robot, elements: Sequence[Any], q: Array) -> bool:
    """Warn if a robot starts deep inside compliant ground; return whether it does."""
    found = find_sunken(robot, elements, q)
    if found is not None:
        warnings.warn(found.warning(), stacklevel=callers_level())
    return found is not None


def find_sunken(robot: Robot, elements: Sequence[Any], q: Array) -> Sunken | None:
    """Find a start deep inside compliant ground, the worst of a batch; None if there is none."""
    grounds = [e for e in elements if e.STANDS_ON]
    stored, deepest, frame = np.zeros(()), np.zeros(()), np.full((), "", dtype=object)
    for law, what, gap, share in _gaps(robot, grounds, q):
        depth = np.maximum(np.nan_to_num(-gap, nan=0.0), 0.0)  # lanes with NaN do not count
        stored = stored + law.energy(depth) * share
        frame = np.where(depth > deepest, what, frame)
        deepest = np.maximum(deepest, depth)
    weight = robot.mass * (math.hypot(*robot.model.gravity) or STANDARD_GRAVITY)
    if not weight > 0.0:
        return None
    height = stored / weight
    excess = np.where((height > HIGHEST) & (height > MOST_DEPTHS * deepest), height, 0.0)
    if not np.any(excess):
        return None
    lane = np.unravel_index(int(np.argmax(excess)), excess.shape)
    start = np.broadcast_to(q, (*excess.shape, robot.nq))[lane]
    names, depths = (np.broadcast_to(x, excess.shape)[lane] for x in (frame, deepest))
    return Sunken(
        str(names), float(depths), float(excess[lane]), _others(robot, grounds, start, str(names)),
        _lift(robot, grounds, start),
    )  # fmt: skip


def _others(robot: Robot, grounds: Sequence[Any], q: Array, deepest: str) -> tuple[str, ...]:
    """Return in words what else is inside of something, with its largest depth; batches of terrain do not count."""
    found: dict[str, float] = {}
    for _, what, gap, _ in _gaps(robot, grounds, q):
        depth = -gap
        if depth.ndim == 0 and depth > SLIGHT and what != deepest:
            found[what] = max(found.get(what, 0.0), float(depth))
    return tuple(what.format(f"{depth:.3g} m") for what, depth in found.items())


def _gaps(robot: Robot, grounds: Sequence[Any], q: Array) -> Iterator[tuple[Any, str, Array, float]]:
    """Yield the law, what starts inside of what, the gap, and the share of the stiffness, of every spot or point."""
    tree = robot.model
    with np.errstate(all="ignore"):
        position = split(np.asarray(q, dtype=float))
        posed = poses(tree, position)
        resting = [Twist(ZERO_MOTION, ZERO_MOTION)] * len(tree.bodies)
        for ground in grounds:
            for at in ground.spots if isinstance(ground, Ground) else ():
                gap = np.asarray(touch(tree, posed, resting, at, ground.surface, ground.on).gap)
                yield ground.normal, f"frame {at.frame!r} starts {{}} inside the ground", gap, 1.0
            for first, second, depth, share in getattr(ground, "depths", _no_depths)(tree, position):
                yield ground.normal, f"shape {second!r} starts {{}} inside of {first!r}", -np.asarray(depth), share


def _no_depths(tree: Any, q: Sequence[Any]) -> tuple[()]:
    return ()


def _lift(robot: Robot, grounds: Sequence[Any], q: Array) -> tuple[str, int, float] | None:
    """Find the last coordinate of the base's joint, usually upward, at which nothing is inside the ground."""
    tree = robot.model
    if len(tree.roots) != 1:
        return None
    root = tree.joints[tree.roots[0]]
    if root.kind.q_units[-1:] != ("m",):
        return None
    place = root.q_slice.stop - 1

    def least(value: float) -> float:
        moved = q.copy()
        moved[place] = value
        return min(float(gap) for _, _, gap, _ in _gaps(robot, grounds, moved))

    now, unit = least(q[place]), least(q[place] + 1.0)
    if not unit > now:
        return None
    value = math.ceil(1e3 * (q[place] - now / (unit - now))) / 1e3  # level or sloping: the gap grows evenly
    if least(value) < -1e-9 or _opens_loops(robot, q, place, value):
        return None
    return robot.q_names[place], place, value


def _opens_loops(robot: Any, q: Array, place: int, value: float) -> bool:
    """Return whether loops go through the ground, so that the base cannot be lifted alone."""
    if not robot.model.is_constrained:
        return False
    moved = q.copy()
    moved[place] = value
    return not np.allclose(robot.loop_gaps(moved), robot.loop_gaps(q), rtol=0.0, atol=1e-9)

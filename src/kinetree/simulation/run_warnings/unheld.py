"""Warnings about robots that fall because there is no ground, and joints that leave their ranges without stops."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ...algorithms.acting_element import ActingElement
from ...errors import KinetreeWarning, Message, Setting, callers_level
from ...model.tree import BASE, Model
from ...robot.robot import Robot
from ...spatial.arrays import Array
from ..records.limits_in_words import OUT_OF_RANGE
from ..records.record import Record

DEEPEST_FALL = 1.0
"""How far (m) a robot may fall before that is reported."""

STRAIGHT = 1e-6
"""Relative deviation of a fall from the direction of gravity that is still straight."""


def can_fall(robot: Robot, q: Array) -> bool:
    """Return whether only ground could hold a robot that is meant to stand: one with motors, or collision shapes.

    It can fall if joints without motors let everything with mass move straight along gravity.  Plain bodies do not
    count: they are thrown or dropped on purpose.
    """
    tree: Model = robot.model
    down = np.array(tree.gravity)
    weight = float(np.linalg.norm(down))
    shaped = any(tree.frame_table[s.frame].body != BASE for s in tree.shapes if s.frame in tree.frame_table)
    if not weight or not (shaped or any(j.actuated and not j.mimic for j in tree.joints)) or len(tree.roots) != 1:
        return False
    if any(BASE in (loop.predecessor, loop.successor) for loop in tree.loops):
        return False
    body = tree.roots[0]
    while not tree.bodies[body].mass and len(tree.children[body]) == 1:  # consecutive slides, as in MJCF files
        body = tree.children[body][0]
    free = [k for i in tree.support(body) if not tree.joints[i].actuated for k in _places(tree, i)]
    if not free:
        return False
    whole = robot.tree.jacobian(q, tree.bodies[body].name, axes="aligned")[:, free]
    wanted = np.concatenate([np.zeros(3), down / weight])
    found, *_ = np.linalg.lstsq(whole, wanted, rcond=None)
    return bool(np.linalg.norm(whole @ found - wanted) < STRAIGHT)


def _places(tree: Model, i: int) -> range:
    return range(tree.joints[i].v_slice.start, tree.joints[i].v_slice.stop)


def is_held(elements: Sequence[ActingElement]) -> bool:
    """Return whether there is ground, or any force that could hold a robot."""
    return any(not e.STOPS_JOINTS for e in elements)


def warn_of_fall(robot: Robot, elements: Sequence[ActingElement], record: Record) -> None:
    """Warn of a robot that has fallen because there is no ground."""
    if not len(record) or any(e.STANDS_ON for e in elements):
        return
    start, end = (q.reshape(-1, robot.nq) for q in (record.q[0], record.q[-1]))
    known = np.isfinite(start).all(axis=-1) & np.isfinite(end).all(axis=-1)
    if not known.any() or not can_fall(robot, start[known][0]):
        return
    way = robot.center_of_mass(end[known]) - robot.center_of_mass(start[known])
    fall = float(np.max(way @ (np.array(robot.model.gravity) / math.hypot(*robot.model.gravity))))
    if fall > DEEPEST_FALL:
        _say(Message(f"{robot.name!r} has fallen by {fall:.3g} m: ", _advice(robot)))


def warn_of_falling_world(robot: Robot, elements: Sequence[ActingElement], q: Array) -> None:
    """Warn of a world in which a robot will fall because there is no ground."""
    if not is_held(elements) and can_fall(robot, q):
        _say(Message(f"{robot.name!r} will fall in this World: ", _advice(robot)))


def _advice(robot: Robot) -> Message:
    from ...contact.ground_from_shapes import unused_shapes

    shapes = unused_shapes(robot.model)
    spots = "kinetree.ground.collision_spots(robot)" if shapes else "['foot', ...]"
    return Message(
        "it floats and has no ground to stand on. Give it ", Setting("ground", ...),
        f", such as kinetree.ground.Ground({spots}, kinetree.ground.HuntCrossley(1e5, 0.5))",
        f"; {shapes}" if shapes else "",
    )  # fmt: skip


def warn_of_ranges(elements: Sequence[ActingElement], record: Record) -> None:
    """Warn of joints that have left their ranges because there are no stops."""
    if not any(e.STOPS_JOINTS for e in elements):
        for line in record.limits_passed:
            if line.startswith(OUT_OF_RANGE):
                _say(line)


@contextmanager
def without_ranges() -> Iterator[None]:
    """Suppress warnings about joints that leave their ranges, for callers that report many simulations at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", OUT_OF_RANGE, KinetreeWarning)
        yield


def _say(words: str) -> None:
    warnings.warn(words, KinetreeWarning, stacklevel=callers_level())

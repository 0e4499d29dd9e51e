"""A biped that walks at a commanded speed, in the plane of x and z: the machine of the gallery with servos."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.contact.ground import Ground, HuntCrossley, PseudoCoulomb
from kinetree.control.commands import Commanded
from kinetree.robot.load import load
from kinetree.simulation.worlds.draws import Uniform
from kinetree.simulation.worlds.instant import Moment
from kinetree.simulation.worlds.world import World

from .task import Task, with_random

SOLES = ("left_toe", "left_heel", "right_toe", "right_heel")
BASE = 3
"""Freedoms of the trunk in the plane: its angle, and two of its position."""

BENT = 0.3
STANDING = np.array([BENT, 2.0 * BENT, BENT] * 2)
"""Hip, knee and ankle of both legs: knees bent, feet flat below the hips."""

LOWEST = 0.8
"""Height of the trunk, m, below which it has fallen; it stands at 1.2."""

LEANING = 0.8
"""How far it may lean, rad."""


def observe(m: Moment) -> list[Any]:
    """Return the trunk's height, lean and velocities, leg angles relative to standing, their rates, action and goal."""
    legs = [a - b for a, b in zip(m.q[BASE:], STANDING, strict=True)]
    return [m.place("trunk").z, m.q[0], *m.v[:BASE], *legs, *m.v[BASE:], *m.action, *m.goal["speed"]]


def reward(m: Moment) -> Any:
    """Return up to one for the commanded speed, minus penalties for leaning and power."""
    off = m.velocity("trunk").x - m.goal["speed"][0]
    return 1.0 / (1.0 + 4.0 * off**2) - 0.2 * m.q[0] ** 2 - 2e-4 * m.power


def world(**options: Any) -> World:
    """Make the world: servos get new angles every 20 ms."""
    robot = load("biped-unified")
    start = np.concatenate([np.zeros(BASE), STANDING])
    lowest = min(robot.pose(start, sole)[2, 3] for sole in SOLES)
    start[_height(robot)] = -lowest
    drawn = {"q": Uniform(-0.02, 0.02), "v": Uniform(-0.05, 0.05)}
    return World(
        robot, action=Commanded("position", kp=300.0, kd=10.0),
        ground=Ground(SOLES, HuntCrossley(1e4, 1.0, exponent=1), PseudoCoulomb(0.9, 50.0)),
        integrator="implicit_euler", step=1e-3, substeps=20, q0=start,
        goal={"speed": Uniform(0.0, 0.6)}, observe=observe, reward=reward,
        ended=lambda m: [LOWEST - m.place("trunk").z, abs(m.q[0]) > LEANING], **with_random(drawn, options),
    )  # fmt: skip


def _height(robot: Any) -> int:
    """Return the coordinate of the trunk that lifts it."""
    rises = []
    for k in range(BASE):
        q = robot.neutral()
        q[k] += 0.1
        rises.append(robot.pose(q, "trunk")[2, 3] - robot.pose(robot.neutral(), "trunk")[2, 3])
    return int(np.argmax(rises))


TASK = Task("a biped walks at a commanded speed", world, 0.5, STANDING, 10.0)

"""A quadruped that walks at a commanded speed: the machine of the gallery on compliant ground, servos in its legs."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.contact.ground import Ground, HuntCrossley, PseudoCoulomb
from kinetree.control.commands import Commanded
from kinetree.robot.load import load
from kinetree.simulation.worlds.draws import Uniform
from kinetree.simulation.worlds.instant import Moment
from kinetree.simulation.worlds.world import World
from kinetree.spatial import Vec3, sqrt

from .task import Task, with_random

FEET = ("front_left_tip", "front_right_tip", "rear_left_tip", "rear_right_tip")
BASE = 6
"""Freedoms of the trunk, which come first."""

STANDING = np.array([0.0, -0.5, 1.0] * 4)
"""Hips about x and y, and knees, leg after leg: all bent alike, feet below the hips."""

HEIGHT = 0.6 * np.cos(0.5)
LOWEST = 0.3
"""Height of the trunk, in m, below which it has fallen."""

TIPPED = 0.6
"""Cosine of how far it may tip."""


def observe(m: Moment) -> list[Any]:
    """Return the trunk's up direction and velocities, leg angles relative to standing, their rates, action and goal."""
    turning, moving = m.twist("trunk")
    legs = [a - b for a, b in zip(m.q[BASE:], STANDING, strict=True)]
    return [*m.up("trunk"), *turning, *moving, *legs, *m.v[BASE:], *m.action, *m.goal["speed"]]


def reward(m: Moment) -> Any:
    """Return up to one for the commanded speed straight ahead, minus penalties for turning, swaying and power.

    Ahead is where the trunk points, projected to the horizontal; its compass heading is neither rewarded nor observed.
    """
    up, (turning, moving) = m.up("trunk"), m.twist("trunk")
    nose = Vec3(1.0, 0.0, 0.0)
    level = nose - up * nose.dot(up)
    ahead = level * (1.0 / sqrt(level.dot(level)))
    off = (moving.dot(ahead) - m.goal["speed"][0]) ** 2 + moving.dot(up.cross(ahead)) ** 2
    return 1.0 / (1.0 + 10.0 * off) - 0.05 * turning.dot(turning) - 2e-4 * m.power


def world(**options: Any) -> World:
    """Make the world: servos get new angles every 20 ms."""
    robot = load("quadruped")
    start = np.concatenate([[0.0, 0.0, 0.0, 0.0, 0.0, HEIGHT], STANDING])
    drawn = {
        "q": {robot.joint_names[0]: Uniform([-0.05] * 3 + [0.0] * 3, [0.05] * 3 + [0.0, 0.0, 0.02])},
        "v": Uniform(-0.1, 0.1),
        "ground": {"friction": Uniform(0.6, 1.0)},
    }
    return World(
        robot, action=Commanded("position", kp=200.0, kd=8.0),
        ground=Ground(FEET, HuntCrossley(5e3, 1.0, exponent=1), PseudoCoulomb(0.8, 50.0)),
        integrator="implicit_euler", step=1e-3, substeps=20, q0=start,
        goal={"speed": Uniform(0.0, 0.8)}, observe=observe, reward=reward,
        ended=lambda m: [LOWEST - m.place("trunk").z, TIPPED - m.up("trunk").z], **with_random(drawn, options),
    )  # fmt: skip


TASK = Task("a quadruped walks at a commanded speed", world, 0.4, STANDING, 10.0)

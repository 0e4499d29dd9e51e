"""An arm that reaches: the KUKA KR5 of the gallery moves its wrist to a target that is drawn for each episode."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.control.commands import Commanded
from kinetree.robot.load import load
from kinetree.simulation.worlds.draws import Uniform
from kinetree.simulation.worlds.instant import Moment
from kinetree.simulation.worlds.world import World
from kinetree.spatial import sqrt

from .task import Task, with_random

START = np.array([0.0, 1.2, 0.6, 0.0, 0.4, 0.0])
"""Angles at which the wrist is in front of the arm."""

AROUND = 0.25
"""Largest distance of the target from the initial position of the wrist, along each axis, in m."""

TOOL = "link_6"
STIFFNESS = np.array([2000.0, 2000.0, 1000.0, 50.0, 50.0, 10.0])
DAMPING = np.array([200.0, 200.0, 100.0, 5.0, 5.0, 1.0])


def observe(m: Moment) -> list[Any]:
    """Return angles relative to the start, their rates, and the vector to the target."""
    missing = [t - p for t, p in zip(m.goal["target"], m.place(TOOL), strict=True)]
    return [*(a - b for a, b in zip(m.q, START, strict=True)), *m.v, *missing]


def reward(m: Moment) -> Any:
    """Return minus the distance to the target, and minus a small multiple of the speed."""
    missing = [t - p for t, p in zip(m.goal["target"], m.place(TOOL), strict=True)]
    distance = sqrt(sum(x * x for x in missing) + 1e-6)
    return -distance - 0.005 * sum(x * x for x in m.v)


def world(**options: Any) -> World:
    """Make the world: servos get new angles every 20 ms, and nothing compensates gravity."""
    robot = load("kuka-kr5")
    place = robot.pose(START, TOOL)[:3, 3]
    return World(
        robot, action=Commanded("position", kp=STIFFNESS, kd=DAMPING), integrator="implicit_euler", step=4e-3,
        substeps=5, q0=START, goal={"target": Uniform(place - AROUND, place + AROUND)},
        observe=observe, reward=reward, **with_random({"q": Uniform(-0.02, 0.02)}, options),
    )  # fmt: skip


TASK = Task("an arm reaches for a target", world, 0.8, START, 2.0)

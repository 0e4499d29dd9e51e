"""A cart that keeps a pole upright with a force of up to ten newtons."""

from __future__ import annotations

from typing import Any

from kinetree.control.commands import Commanded
from kinetree.model.joints import Prismatic, Revolute
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.simulation.worlds.draws import Uniform
from kinetree.simulation.worlds.instant import Moment
from kinetree.simulation.worlds.world import World
from kinetree.spatial import cos, sin

from .task import Task, with_random

FORCE = 10.0
TRACK, TILT = 2.4, 0.5
"""How far the cart may go, m, and how far the pole may tip, rad."""


def robot() -> Robot:
    """Make a cart of 1 kg on a track, and a slender pole of 0.2 kg and 1 m that stands on it."""
    made = Builder("cart-pole")
    made.body("cart", "base", Prismatic("x"), mass=1.0, joint_name="track", effort_limit=FORCE, damping=0.1)
    made.body(
        "pole", "cart", Revolute("y"), mass=0.2, com=(0.0, 0.0, 0.5), inertia=(0.2 / 12, 0.2 / 12, 0.0),
        joint_name="hinge", actuated=False, damping=0.002,
    )  # fmt: skip
    made.frame("tip", "pole", position=(0.0, 0.0, 1.0))
    return made.build()


def observe(m: Moment) -> list[Any]:
    """Return position and speed of the cart, sine and cosine of the pole's angle, and its rate."""
    return [m.q[0], m.v[0], sin(m.q[1]), cos(m.q[1]), m.v[1]]


def reward(m: Moment) -> Any:
    """Return one for an upright pole in the middle, less otherwise."""
    return cos(m.q[1]) - 0.05 * m.q[0] ** 2 - 0.001 * m.action[0] ** 2 / FORCE**2


def world(**options: Any) -> World:
    """Make the world: an action every 20 ms."""
    drawn = {"q": {"track": Uniform(-0.3, 0.3), "hinge": Uniform(-0.1, 0.1)}, "v": Uniform(-0.1, 0.1)}
    return World(
        robot(), action=Commanded("torque", limited=True), step=5e-3, substeps=4, observe=observe, reward=reward,
        ended=lambda m: [abs(m.q[0]) > TRACK, abs(m.q[1]) > TILT], **with_random(drawn, options),
    )  # fmt: skip


TASK = Task("a cart keeps a pole upright", world, FORCE, 0.0, 10.0)

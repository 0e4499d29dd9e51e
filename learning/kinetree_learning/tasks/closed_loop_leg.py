"""A leg with a closed loop that lifts its trunk to a commanded height: five bars on a rail, two of them driven."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.contact.ground import Ground, HuntCrossley, PseudoCoulomb
from kinetree.control.commands import Commanded
from kinetree.model.joints import Prismatic, Revolute
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.simulation.worlds.draws import Uniform
from kinetree.simulation.worlds.instant import Moment
from kinetree.simulation.worlds.world import World

from .task import Task, with_random

HALF, UPPER, LOWER = 0.04, 0.16, 0.26
"""Half the distance between the motors, and the lengths of the bars, m."""

OUT = 0.7
"""How far the upper bars point outwards at the start, rad from straight down."""

SIDES = {"front": 1.0, "rear": -1.0}


def robot() -> Robot:
    """Make a trunk of 2 kg on a vertical rail, and under it a leg of four slender bars that meet in the foot."""
    made = Builder("closed-loop-leg")
    made.body("trunk", "base", Prismatic("z"), mass=2.0, joint_name="rail", actuated=False)
    for side, sign in SIDES.items():
        made.body(
            f"{side}_upper", "trunk", Revolute("y"), position=(sign * HALF, 0.0, 0.0), joint_name=f"{side}_motor",
            effort_limit=12.0, rotor_inertia=1e-3, **_rod(0.25, UPPER),
        )  # fmt: skip
        made.body(
            f"{side}_lower", f"{side}_upper", Revolute("y"), position=(0.0, 0.0, -UPPER), joint_name=f"{side}_knee",
            actuated=False, **_rod(0.15, LOWER),
        )  # fmt: skip
    made.frame("foot", "front_lower", position=(0.0, 0.0, -LOWER))
    made.loop(
        "ankle", "front_lower", "rear_lower", Revolute("y"), placement=(0.0, 0.0, -LOWER), seat=(0.0, 0.0, -LOWER)
    )
    return made.build()


def _rod(mass: float, length: float) -> dict[str, Any]:
    across = mass * length**2 / 12.0
    return {"mass": mass, "com": (0.0, 0.0, -length / 2.0), "inertia": (across, across, 0.0)}


def standing() -> np.ndarray:
    """Return the symmetric configuration with the foot on the ground.

    The foot is in the middle, so each lower bar leads from a knee at ``HALF + UPPER sin(OUT)`` to zero.
    """
    inward = np.arcsin((HALF + UPPER * np.sin(OUT)) / LOWER)
    height = UPPER * np.cos(OUT) + LOWER * np.cos(inward)
    return np.array([height, -OUT, OUT + inward, OUT, -(OUT + inward)])


def observe(m: Moment) -> list[Any]:
    """Return height of the trunk and of the foot, all angles and rates, the action, and the goal."""
    return [m.q[0], m.place("foot").z, *m.q[1:], *m.v, *m.action, *m.goal["height"]]


def reward(m: Moment) -> Any:
    """Return up to one for the commanded height, minus a penalty for power."""
    off = m.q[0] - m.goal["height"][0]
    return 1.0 / (1.0 + 400.0 * off**2) - 1e-3 * m.power


def world(**options: Any) -> World:
    """Make the world: servos get new angles every 10 ms, loops are closed in every step."""
    start = standing()
    drawn = {"q": {"rail": Uniform(0.0, 0.05), "front_motor": Uniform(-0.1, 0.1), "rear_motor": Uniform(-0.1, 0.1)}}
    low, high = start[0] - 0.08, start[0] + 0.05
    return World(
        robot(), action=Commanded("position", kp=80.0, kd=1.5, limited=True),
        ground=Ground(["foot"], HuntCrossley(2e4, 1.0, exponent=1), PseudoCoulomb(0.8, 50.0)), step=5e-4, substeps=20,
        q0=start, goal={"height": Uniform(low, high)}, observe=observe, reward=reward,
        **with_random(drawn, options),
    )  # fmt: skip


TASK = Task("a leg with a closed loop lifts its trunk to a commanded height", world, 0.6, [-OUT, OUT], 3.0)

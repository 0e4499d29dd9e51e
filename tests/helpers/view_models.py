"""Small things to look at."""

from functools import cache

import kinetree as kt
from kinetree.contact.ground import Firm, Ground
from kinetree.contact.surfaces import Spot


def pendulum() -> kt.Robot:
    """A point mass on a massless rod of one metre, with a frame at the mass."""
    b = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1))
    return b.frame("tip", "bob", (0, 0, -1)).build()


@cache
def falling_box() -> tuple[kt.Robot, Ground, kt.Record]:
    """A box that falls on a springy floor with two of its edges, and lands within 0.3 s."""
    mass = kt.MassProperties.box(1.0, (0.4, 0.2, 0.2))
    robot = kt.Builder("box").body("box", "base", kt.Free(), joint_name="root", mass_properties=mass).build()
    ground = Ground([Spot("box", (-0.2, 0, -0.1)), Spot("box", (0.2, 0, -0.1))], Firm(2e3, 30.0, 0.01))
    high = [0, 0, 0, 1, 0, 0, 0.25]
    return (
        robot,
        ground,
        kt.simulate(robot, high, time=0.3, ground=ground, integrator="implicit_euler", step=0.003, output=61),
    )

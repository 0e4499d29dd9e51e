"""Small things to look at."""

from collections.abc import Mapping
from functools import cache

import numpy as np

import kinetree as kt
from kinetree.contact.ground import Firm, Ground
from kinetree.contact.surfaces import Spot


def pendulum() -> kt.Robot:
    """A point mass on a massless rod of one meter, with a frame at the mass."""
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
        kt.simulate(robot, high, time=0.3, ground=ground, integrator="implicit_euler", step=0.003, samples=61),
    )


def crossing(a: object, from_a: float, b: object, from_b: float, side: int) -> np.ndarray:
    """The point of a plane at given distances from two others, left or right of the way between them."""
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    way = second - first
    d = float(np.linalg.norm(way))
    along = (from_a**2 - from_b**2 + d**2) / (2.0 * d)
    return first + (along * way + side * np.sqrt(from_a**2 - along**2) * np.array([-way[1], way[0]])) / d


def in_world_coordinates(
    name: str, points: Mapping[str, object], bars: Mapping[str, str], ground: str, motor: str
) -> kt.Mechanism:
    """A planar mechanism whose bodies are all described in world coordinates, as from a drawing.

    Points have one letter; bars list those that they join, and are pinned together where they share one.
    """
    at = {key: np.array([*np.asarray(p, dtype=float), 0.0]) for key, p in points.items()}
    b = kt.Builder(name, gravity=(0, -9.81, 0))
    for bar, own in bars.items():
        b.add_body(bar, kt.MassProperties.of(1.0, np.mean([at[p] for p in own], axis=0), (0.01, 0.01, 0.01)))
    for p, place in at.items():
        first, *others = ["base"] * (p in ground) + [bar for bar, own in bars.items() if p in own]
        for bar in others:
            b.joint(f"{p} {bar}", first, bar, kt.Revolute("z"), place, seat=place, actuated=p == motor)
        if not others:
            b.frame(p, first, place)
    built = b.build()
    assert isinstance(built, kt.Mechanism)
    return built


FOUR_BAR = {"A": (0.5, 0.3), "B": (0.5, 0.7), "C": crossing((0.5, 0.7), 1.0, (1.5, 0.3), 0.8, 1), "D": (1.5, 0.3)}
FOUR_BARS = {"crank": "AB", "coupler": "BC", "rocker": "CD"}


def drawn_four_bar() -> kt.Mechanism:
    """A four-bar far from the origin, in world coordinates."""
    return in_world_coordinates("drawn four-bar", FOUR_BAR, FOUR_BARS, "AD", "A")


def jansen_points(angle: float = 0.6) -> dict[str, np.ndarray]:
    """The pins of Theo Jansen's leg, O and Z on the ground, with his lengths in units of a decimeter."""
    o, z = np.array([1.0, 1.5]), np.array([0.62, 1.422])
    x = o + 0.15 * np.array([np.cos(angle), np.sin(angle)])
    y, w = crossing(z, 0.415, x, 0.5, 1), crossing(z, 0.393, x, 0.619, -1)
    v = crossing(z, 0.401, y, 0.558, 1)
    u = crossing(v, 0.394, w, 0.367, -1)
    return {"O": o, "Z": z, "X": x, "Y": y, "W": w, "V": v, "U": u, "T": crossing(u, 0.657, w, 0.49, -1)}


JANSEN = {
    "crank": "OX", "upper": "XY", "lower": "XW", "top": "ZYV", "rocker": "ZW", "side": "VU", "foot": "UWT",
}  # fmt: skip


def jansen_leg() -> kt.Mechanism:
    """Theo Jansen's leg: five bars and two triangles, in world coordinates."""
    return in_world_coordinates("Jansen's leg", jansen_points(), JANSEN, "OZ", "O")

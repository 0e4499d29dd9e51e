"""A delta robot with a prescribed motion of its platform, for the design of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable

from kinetree.spatial import Vec3
from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.system import About, GallerySystem

from ..delta.system import CORNERS, DELTA, DeltaSizes, leg_angles
from ..motion_laws import cycloid

REACH, RISE, LEVEL, DURATION = 0.30, 0.05, -0.62, 0.30
"""Distance from the pick to the place position, height of the arch, height of both positions, in meters; time in
seconds."""


def arch(t: Scalar) -> Vec3:
    """Return where the platform is on its way over the arch, at rest at both ends."""
    (turn,) = cycloid(t, DURATION, [0.0], [math.pi])
    return Vec3(-0.5 * REACH * cos(turn), 0.0 * turn, LEVEL + RISE * sin(turn) * sin(turn))


def at_place(middle: Vec3, sizes: DeltaSizes) -> list[Scalar]:
    """Return all coordinates of a delta of some size, from the platform's position."""
    q: list[Scalar] = [middle.x, middle.y, middle.z]
    for corner in CORNERS:
        arm, swing, lean = leg_angles(middle, corner, sizes)
        q += [arm, swing - arm, lean]
    return q


def over_the_arch(sizes: DeltaSizes) -> Callable[[Scalar], list[Scalar]]:
    """Return all coordinates of a delta of some size, by time."""
    return lambda t: at_place(arch(t), sizes)


SYSTEM = GallerySystem(
    About(
        "delta-design",
        "delta robot whose dimensions are designed for a pick cycle",
        "ours",
        (
            "The delta of the gallery with a product of 0.25 kg. Its platform never turns, so that one rod of 0.2 kg "
            "moves as the two of 0.1 kg of an arm do; the study holds it beside the whole one.",
            "Arms and rods keep their mass per length: mass, mass center and inertia follow from the length that is "
            "designed.",
        ),
    ),
    tuple(f"shoulder_{k}" for k in (1, 2, 3)),
    (0.0, DURATION),
    "the platform by a cycloid in 0.3 s over an arch of 50 mm from one place to another, 300 mm apart",
    over_the_arch(DELTA),
)

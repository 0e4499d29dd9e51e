"""The six-legged machine of Shah: its gait, feet and gains."""

from __future__ import annotations

from kinetree.contact.ground import Spot
from kinetree.motion.walking import gaits, legs

from ..walking_machine import BOTH, Walker, walking_system

LEGS = tuple(f"{place}_{side}" for place in ("front", "middle", "rear") for side in BOTH)

HIPS = tuple((x, y) for x in (0.6, 0.0, -0.6) for y in (0.25, -0.25))
"""Positions of the hips, from the authors' program: front to rear, left before right."""


def machine() -> Walker:
    """Make the machine of Shah section 7.4: all hinges, tripod gait, one spot per foot."""
    walk = gaits.tripod(legs.HEXAPOD, 0.3, 0.3, HIPS, coordinates=("hip", "knee"))
    spots = [Spot(f"{name}_tip") for name in LEGS]
    return Walker("hexapod", walk, spots, "hexapod", 0.0, (49.0, 14.0), (49.0, 14.0))


SYSTEM = walking_system(
    machine(),
    LEGS,
    ("hip", "knee"),
    "six-legged machine in tripod gait: all hinges, 18 degrees of freedom",
    "Shah sections 7.4 and 9.3, Table B.2",
    "Hips and ground data from the authors' program, whose stored run has a trunk of 2 kg where the book says 4 kg "
    "(section 7.4); the height of the trunk, 0.1 m, is ours.",
)

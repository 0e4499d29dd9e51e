"""The four-legged machine of Shah: its gait, feet and gains."""

from __future__ import annotations

from kinetree.contact.ground import Spot
from kinetree.motion.walking import gaits, legs

from ..walking_machine import Walker, walking_system

LEGS = ("front_left", "front_right", "rear_left", "rear_right")

HIPS = ((0.5, 0.25), (0.5, -0.25), (-0.5, 0.25), (-0.5, -0.25))
"""Positions of the hips, at the ends of the trunk of 1 m; in the notes' list from the authors' program, 0.25 and 0.5
are exchanged."""


def machine() -> Walker:
    """Make the machine of Shah section 7.3: universal hips, trotting, one spot per foot."""
    walk = gaits.trot(legs.QUADRUPED, 0.3, 0.3, HIPS, coordinates=("-roll", "-hip", "knee"))
    spots = [Spot(f"{name}_tip") for name in LEGS]
    return Walker("quadruped", walk, spots, "quadruped", 0.0, (49.0, 14.0), (49.0, 14.0))


SYSTEM = walking_system(
    machine(),
    LEGS,
    ("hip", "knee"),
    "quadruped that trots: four legs, universal hips, 18 degrees of freedom",
    "Shah sections 7.3 and 9.3, Table B.2",
    "Hips at the corners of a trunk of 1 m by 0.5 m; its height of 0.1 m is ours. Ground data: the authors' program.",
    "Foot height 0.09 m as in Table B.2 and the authors' program; chapter 7 says 0.08 m (section 7.3).",
)

"""The planar biped of Shah: its gait, feet and gains."""

from __future__ import annotations

from kinetree.contact.ground import line
from kinetree.motion.walking import gaits, legs

from ..walking_machine import BOTH, Walker, walking_system


def machine() -> Walker:
    """Make the machine of Shah section 7.2.1: legs in the plane of x and z, two spots per foot."""
    spots = [s for side in BOTH for s in line(f"{side}_foot", 0.15)]
    walk = gaits.biped(legs.PLANAR_BIPED, 0.5, 0.5)
    return Walker("biped-planar", walk, spots, "planar-biped", 0.25, (49.0, 14.0), (49.0, 7.0))


SYSTEM = walking_system(
    machine(),
    BOTH,
    ("hip", "knee", "ankle"),
    "planar biped: trunk and two legs with feet, 12 degrees of freedom",
    "Shah sections 7.2.1, 9.3 and 10.4, Tables 10.10-10.12 and B.1",
    "Table 10.10 has the trunk with x down and Y up in the world, Table 10.11 starts it with zero Euler angles at the "
    "hip's height: it must start 0.25 m higher and turned by -90 degrees, as in the authors' program. Here x is "
    "forward, z up, and an upright trunk has zero angles.",
    "Table 10.10 forgets the mass in the trunk's first inertia, and prints 0.05 for the second thigh's 0.5 m.",
)

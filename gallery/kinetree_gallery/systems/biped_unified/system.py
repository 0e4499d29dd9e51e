"""The biped of the unified approach: its gait, feet and gains."""

from __future__ import annotations

from kinetree.contact.ground import line
from kinetree.motion.walking import gaits, legs

from ..walking_machine import BOTH, Walker, walking_system


def machine() -> Walker:
    """Make the planar biped with a base that only moves in the plane, and another gait (Biped section 4)."""
    spots = [s for side in BOTH for s in line(f"{side}_foot", 0.15)]
    walk = gaits.biped(legs.UNIFIED_BIPED, 0.5, 0.5)
    return Walker("biped-unified", walk, spots, "unified-biped", 0.25, (170.0, 30.0), (170.0, 30.0), planar_base=True)


SYSTEM = walking_system(
    machine(),
    BOTH,
    ("hip", "knee", "ankle"),
    "biped of the unified approach: the planar biped with a base that moves in its plane, 9 degrees of freedom",
    "Biped section 4",
    "The paper gives no ground data. They are those of Shah's planar biped, which has the same links, but with 5000 "
    "N/m at each spot: on 2000 N/m it falls in its fifth step (analysis ground). The trunk is a slender rod.",
    "The pendulum is reckoned with the trunk's mass center at y_c = 1.23 m; the hip is 0.25 m below it (Biped eq. 23).",
    "The stride of 0.2 m is how far a foot lands ahead of the other; the hip starts 0.1 m behind the standing foot.",
)

"""The spatial biped of Shah, chapters 7 and 9."""

from __future__ import annotations

from kinetree.motion.walking.legs import leg_angles
from kinetree.studies.fact_files import Values

from ...analyses.walking import OnGround, Statements, landing_jump, prescribed, walking_study

SAID = Statements(
    0.3, 2.0, None, 3.6e-3, 0.1, 2.0,
    {"distance": "Shah section 7.2.2", "angle": "Shah section 7.2.2", "energy": "Shah appendix C.3",
     "follows": "Shah sections 7.2.2, 9.2.2", "control": "Shah section 9.2.2"}, feedforward_better=True,
)  # fmt: skip


def _stated(along: OnGround) -> Values:
    gait = along.machine.walk.gait
    forward, side = gait.initial_speed
    upright = leg_angles(gait.start, 0.0, gait.height, 0.5, 0.5)
    planar = prescribed("biped-planar", 1.0)
    return {
        "initial_speeds": (forward, side), "speed": gait.speed,
        "leg_angles": (upright.hip, upright.knee, upright.ankle),
        "jump_ratio": landing_jump(along) / landing_jump(planar),
    }  # fmt: skip


STUDY = walking_study("biped-spatial", SAID, _stated, 1.8, 5.0)

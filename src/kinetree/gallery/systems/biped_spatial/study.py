"""The spatial biped of Shah, chapters 7 and 9."""

from __future__ import annotations

from ....motion.walking.legs import leg_angles
from ....studies.sources import COMPUTED
from ....studies.study import Fact
from ...analyses.walking import (
    OnGround,
    Statements,
    landing_jump,
    prescribed,
    walking_study,
)

SAID = Statements(
    0.3, 2.0, None, 3.6e-3, 0.1, 2.0,
    {"distance": "Shah section 7.2.2", "angle": "Shah section 7.2.2", "energy": "Shah appendix C.3",
     "follows": "Shah sections 7.2.2, 9.2.2", "control": "Shah section 9.2.2"}, feedforward_better=True,
)  # fmt: skip


def _stated(along: OnGround) -> list[Fact]:
    gait = along.machine.walk.gait
    forward, side = gait.initial_speed
    upright = leg_angles(gait.start, 0.0, gait.height, 0.5, 0.5)
    planar = prescribed("biped-planar", 1.0)
    return [
        Fact("initial speeds by the inverted pendulum, forward and towards the standing foot", (0.727719, 0.175832),
             (forward, side), "m/s", 5.01e-7, source=COMPUTED),
        Fact("mean speed", 0.6, gait.speed, "m/s", 1e-12, source="Shah section 7.2.2"),
        Fact("theta_3, theta_4, theta_6 of a standing leg at the start, upright as seen from the front",
             (0.532117, 0.740991, 0.208874), (upright.hip, upright.knee, upright.ankle), "rad", 5.01e-7,
             source=COMPUTED,
             reason="in the authors' program the hip starts above the foot; here, by section 7.2.2, the foot is 0.08 m "
             "aside of the trunk's middle and 0.03 m aside of the hip, which changes the angles by 0.003 rad"),
        Fact("at touchdown the torques are smoother than the planar biped's: largest jump between samples of 2.5 ms, "
             "over its", 1.0, landing_jump(along) / landing_jump(planar), "", relation="<", source="Shah section 7.2.2",
             reason="the book prints no ground data for this machine. With the planar biped's at four spots per foot "
             "instead of two, and a step in half the time, landing is harder, not softer"),
    ]  # fmt: skip


STUDY = walking_study("biped-spatial", SAID, _stated, 1.8, 5.0)

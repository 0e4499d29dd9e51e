"""The six-legged machine of 000, chapters 7 and 9."""

from __future__ import annotations

from ...analyses.walking import (
    OnGround,
    Statements,
    initial_speed,
    walking_study,
)
from ...study import Fact

SAID = Statements(
    0.4, 0.3, 0.45, 3.31e-2, 0.9, 2.0,
    {"distance": "000 section 7.4", "angle": "000 section 7.4", "touchdown": "000 section 7.4",
     "energy": "000 appendix C.3", "follows": "000 section 9.4", "control": "000 section 9.4"}, angle_rounding=0.05,
)  # fmt: skip


def _stated(along: OnGround) -> list[Fact]:
    gait = along.machine.walk.gait
    return [
        initial_speed(along, 1.077291, "notes, 8.7"),
        Fact("mean speed", 0.8, gait.speed, "m/s", 1e-12, source="000 section 7.4"),
        Fact("potential energy at the start with the authors' trunk of 2 kg", 43.164,
             float(along.machine.robot.potential_energy(along.q[0])) - 2.0 * 9.81 * 0.55, "J", 5e-4,
             source="notes, 8.7"),
    ]  # fmt: skip


STUDY = walking_study("hexapod", SAID, _stated, 2.0, 5.0)

"""The four-legged machine of Shah, chapters 7 and 9."""

from __future__ import annotations

from ....studies.sources import COMPUTED
from ....studies.study import Fact
from ...analyses.walking import (
    OnGround,
    Statements,
    initial_speed,
    walking_study,
)

SAID = Statements(
    0.3, 2.0, 0.8, 6.28e-5, 0.8, 4.0,
    {"distance": "Shah section 7.3", "angle": "Shah section 7.3", "touchdown": "Shah section 7.3",
     "energy": "Shah appendix C.3", "follows": "Shah sections 7.3, 9.3", "control": "Shah section 9.3"},
    feedforward_better=True,
)  # fmt: skip


def _stated(along: OnGround) -> list[Fact]:
    gait = along.machine.walk.gait
    return [
        initial_speed(along, 0.680449, COMPUTED),
        Fact("mean speed", 0.4, gait.speed, "m/s", 1e-12, source="Shah section 7.3",
             reason="the book's own numbers, a stride of 0.3 m in 1 s (Table B.2), make 0.3 m/s"),
    ]  # fmt: skip


STUDY = walking_study("quadruped", SAID, _stated, 1.8, 5.0)

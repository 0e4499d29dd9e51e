"""The four-legged machine of Shah, chapters 7 and 9."""

from __future__ import annotations

from ...analyses.walking import Statements, walking_study

SAID = Statements(
    0.3, 2.0, 0.8, 6.28e-5, 0.8, 4.0,
    {"distance": "Shah section 7.3", "angle": "Shah section 7.3", "touchdown": "Shah section 7.3",
     "energy": "Shah appendix C.3", "follows": "Shah sections 7.3, 9.3", "control": "Shah section 9.3"},
    feedforward_better=True,
)  # fmt: skip


STUDY = walking_study("quadruped", SAID, None, 1.8, 5.0)

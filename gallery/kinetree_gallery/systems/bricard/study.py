"""Bricard's six hinges."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay


def _stated(along: PrescribedMechanism) -> Values:
    mechanism = along.mechanism
    report = mechanism.mobility(along.states.q[len(along.states.q) // 3])
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 0, -1], [1, -1, -1], [0, -1, -1]], dtype=float)
    at_zero = np.array([mechanism.pose(np.zeros(5), f"bar_{k}")[:3, 3] for k in range(1, 6)])
    off = 0.0
    for angle in (0.2, 0.7, -0.4):
        q = np.zeros(5)
        for step in np.linspace(0.0, angle, 8)[1:]:
            q = mechanism.close(q, fixed={"bar_1_joint": step})
        off = max(off, abs(float(np.sin(q[1]) - np.sin(angle) / (1.0 + np.sin(angle)))))
    return {
        "gruebler": report.gruebler, "freedoms": report.freedoms, "redundant": len(report.redundant),
        "corners": at_zero - corners, "closed": off,
    }  # fmt: skip


STUDY = Study.of(
    "bricard",
    {"inverse": inverse("bricard", _stated), "replay": replay("bricard"), "free-fall": free_fall("bricard", 10.0)},
)

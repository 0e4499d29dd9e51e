"""The slider-crank mechanism."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay


def _stated(along: PrescribedMechanism) -> Values:
    q, v, _ = along.states
    angle = q[:, 0]
    root = np.sqrt(0.3**2 - (0.1 * np.sin(angle)) ** 2)
    place = 0.1 * np.cos(angle) + root
    rate = -0.1 * np.sin(angle) * v[:, 0] * (1.0 + 0.1 * np.cos(angle) / root)
    weight = 9.81 * (1.0 * 0.05 + 1.5 * 0.05)  # of crank and rod, half of which the crank's pin carries
    middle = along.torque_at(np.array([0.0, 0.5]))[:, 0]
    return {
        "stroke": q[:, 2], "closed_form": max(np.abs(q[:, 2] - place).max(), np.abs(v[:, 2] - rate).max()),
        "dead_centers": middle, "weights": (weight, -weight),
    }  # fmt: skip


STUDY = Study.of(
    "slider-crank",
    {
        "inverse": inverse("slider-crank", _stated),
        "replay": replay("slider-crank"),
        "free-fall": free_fall("slider-crank"),
    },
)

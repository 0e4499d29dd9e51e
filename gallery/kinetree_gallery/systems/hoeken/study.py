"""Hoeken's straight-line linkage."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import point
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay

DEGREE = np.pi / 180.0


def _stated(along: PrescribedMechanism) -> Values:
    mechanism, motion = along.mechanism, along.motion
    crank = np.linspace(90.0, 270.0, 181) * DEGREE
    pen = point(mechanism, motion.states(crank / np.pi).q, "pen")
    return {
        "stroke": pen[:, 0], "height": np.ptp(pen[:, 1]) / np.ptp(pen[:, 0]),
    }  # fmt: skip


STUDY = Study.of(
    "hoeken", {"inverse": inverse("hoeken", _stated), "replay": replay("hoeken"), "free-fall": free_fall("hoeken")}
)

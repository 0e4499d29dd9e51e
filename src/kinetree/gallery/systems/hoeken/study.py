"""Hoeken's straight-line linkage."""

from __future__ import annotations

import numpy as np

from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import groups, point, sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay

DEGREE = np.pi / 180.0


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, motion = along.mechanism, along.motion
    crank = np.linspace(90.0, 270.0, 181) * DEGREE
    pen = point(mechanism, motion.states(crank / np.pi).q, "pen")
    return [
        Fact("moving links, joints, loops", (3, 4, 1), sizes(mechanism)),
        Fact("through half a turn of the crank the pen goes four cranks far", 0.4, float(np.ptp(pen[:, 0])), "m",
             1e-9, source="Hoeken's proportions"),
        Fact("and its height varies by this part of that way", 2.5e-3, float(np.ptp(pen[:, 1]) / np.ptp(pen[:, 0])),
             relation="<", source="Hoeken's proportions"),
        Fact("subsystem II is determinate, then I: sizes of the systems solved", (2, 1), groups(along)),
    ]  # fmt: skip


STUDY = Study.of(
    "hoeken",
    {"inverse": inverse("hoeken", _stated), "replay": replay("hoeken"), "free-fall": free_fall("hoeken")},
)

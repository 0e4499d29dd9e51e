"""The slider-crank mechanism."""

from __future__ import annotations

import numpy as np

from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, (q, v, _) = along.mechanism, along.states
    angle = q[:, 0]
    root = np.sqrt(0.3**2 - (0.1 * np.sin(angle)) ** 2)
    place = 0.1 * np.cos(angle) + root
    rate = -0.1 * np.sin(angle) * v[:, 0] * (1.0 + 0.1 * np.cos(angle) / root)
    weight = 9.81 * (1.0 * 0.05 + 1.5 * 0.05)  # of crank and rod, half of which the crank's pin carries
    middle = along.torque_at(np.array([0.0, 0.5]))[:, 0]
    return [
        Fact("moving links, joints, loops", (3, 4, 1), sizes(mechanism)),
        Fact("the slider's stroke is twice the crank", 0.2, float(np.ptp(q[:, 2])), "m", 1e-9),
        Fact("place and rate of the slider in closed form; largest difference", 1e-12,
             float(max(np.abs(q[:, 2] - place).max(), np.abs(v[:, 2] - rate).max())), "m, m/s", relation="<"),
        Fact("in the dead centers nothing but the weight of crank and half the rod turns the crank, at constant speed",
             (weight, -weight), middle, "N m", 1e-9),
    ]  # fmt: skip


STUDY = Study.of(
    "slider-crank",
    {
        "inverse": inverse("slider-crank", _stated),
        "replay": replay("slider-crank"),
        "free-fall": free_fall("slider-crank"),
    },
)

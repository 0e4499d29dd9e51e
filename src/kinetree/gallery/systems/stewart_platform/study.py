"""A Stewart platform of our own."""

from __future__ import annotations

import numpy as np

from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import point, sizes
from ...analyses.platforms import smallest_margin, unbalanced_force
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, t = along.mechanism, along.time
    wave, rise = np.sin(np.pi * t), 0.5 * (1.0 - np.cos(np.pi * t))
    wanted = np.stack([0.08 * wave, -0.05 * wave, 0.7 + 0.1 * rise], axis=-1)
    return [
        Fact("moving links, joints, loops", (13, 18, 5), sizes(mechanism)),
        Fact("freedoms of the tree and constraints: 21 and 15, none redundant", (21, 15),
             (mechanism.nv, mechanism.n_constraints)),
        Fact("the platform goes where it is sent; largest difference", 1e-12,
             float(np.abs(point(mechanism, along.states.q, "middle") - wanted).max()), "m", relation="<"),
        Fact("the six feet carry the weight and what accelerates it; largest difference", 1e-8,
             float(np.abs(unbalanced_force(along)).max()), "of the weight", relation="<"),
        Fact("no singularity on the way; smallest distance (0 is singular)", 0.01,
             smallest_margin(along, "middle", True), relation=">"),
    ]  # fmt: skip


DOWN = "It has no stops: soon after 0.3 s the platform falls through the plane of its feet."


STUDY = Study.of(
    "stewart-platform",
    {
        "inverse": inverse("stewart-platform", _stated),
        "replay": replay("stewart-platform"),
        "free-fall": free_fall("stewart-platform", 0.3, until=DOWN),
    },
)

"""A delta robot of our own."""

from __future__ import annotations

import numpy as np

from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import sizes
from ...analyses.platforms import smallest_margin, unbalanced_force
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from .pick_and_place import pick_and_place


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, t = along.mechanism, along.time
    rise = 0.5 * (1.0 - np.cos(np.pi * t))
    wanted = np.stack([0.12 * np.cos(np.pi * t), 0.12 * np.sin(np.pi * t), -0.55 - 0.08 * rise], axis=-1)
    pose = mechanism.pose(along.states.q, "middle")
    return [
        Fact("moving links, joints, loops", (10, 15, 5), sizes(mechanism)),
        Fact("freedoms of the tree and constraints: 18 and 15, none redundant", (18, 15),
             (mechanism.nv, mechanism.n_constraints)),
        Fact("the platform goes where it is sent; largest difference", 1e-12,
             float(np.abs(pose[:, :3, 3] - wanted).max()), "m", relation="<"),
        Fact("and never turns; largest entry of its rotation less one", 1e-12,
             float(np.abs(pose[:, :3, :3] - np.eye(3)).max()), relation="<"),
        Fact("the three shoulders carry the weight and what accelerates it; largest difference", 1e-8,
             float(np.abs(unbalanced_force(along)).max()), "of the weight", relation="<"),
        Fact("no singularity on the way; smallest distance (0 is singular)", 0.01,
             smallest_margin(along, "middle", False), relation=">"),
    ]  # fmt: skip


STRETCHED = "Soon after, arms and rods are stretched, and the loops come close to a singular position (at 0.54 s)."


STUDY = Study.of(
    "delta",
    {
        "inverse": inverse("delta", _stated),
        "replay": replay("delta"),
        "free-fall": free_fall("delta", 0.2, until=STRETCHED),
        "pick-and-place": pick_and_place,
    },
)

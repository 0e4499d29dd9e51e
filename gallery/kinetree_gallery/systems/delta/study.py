"""A delta robot of our own."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.platforms import smallest_margin, unbalanced_force
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from .pick_and_place import pick_and_place


def _stated(along: PrescribedMechanism) -> Values:
    mechanism, t = along.mechanism, along.time
    rise = 0.5 * (1.0 - np.cos(np.pi * t))
    wanted = np.stack([0.12 * np.cos(np.pi * t), 0.12 * np.sin(np.pi * t), -0.55 - 0.08 * rise], axis=-1)
    pose = mechanism.pose(along.states.q, "middle")
    return {
        "freedoms": (mechanism.nv, mechanism.n_constraints), "place": pose[:, :3, 3] - wanted,
        "turned": pose[:, :3, :3] - np.eye(3), "unbalanced": unbalanced_force(along),
        "margin": smallest_margin(along, "middle", False),
    }  # fmt: skip


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

"""A Stewart platform of our own."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import point
from ...analyses.platforms import smallest_margin, unbalanced_force
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay


def _stated(along: PrescribedMechanism) -> Values:
    mechanism, t = along.mechanism, along.time
    wave, rise = np.sin(np.pi * t), 0.5 * (1.0 - np.cos(np.pi * t))
    wanted = np.stack([0.08 * wave, -0.05 * wave, 0.7 + 0.1 * rise], axis=-1)
    return {
        "freedoms": (mechanism.nv, mechanism.n_constraints),
        "place": point(mechanism, along.states.q, "middle") - wanted, "unbalanced": unbalanced_force(along),
        "margin": smallest_margin(along, "middle", True),
    }  # fmt: skip


DOWN = "It has no stops: soon after 0.3 s the platform falls through the plane of its feet."


STUDY = Study.of(
    "stewart-platform",
    {
        "inverse": inverse("stewart-platform", _stated),
        "replay": replay("stewart-platform"),
        "free-fall": free_fall("stewart-platform", 0.3, until=DOWN),
    },
)

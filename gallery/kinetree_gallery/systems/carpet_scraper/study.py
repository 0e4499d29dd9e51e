"""The carpet scraper of Saha section 4.4."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import groups, point
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay

LINKS = ("crank", "rocker", "coupler", "boom", "upper_bar", "arm", "lower_bar")
"""In the order of Saha Table 5."""


def _stated(along: PrescribedMechanism) -> Values:
    mechanism, q = along.mechanism, along.states.q
    scraper = point(mechanism, q, "scraper")
    height = np.abs(scraper[:, 1] - np.median(scraper[:, 1])) < 0.02 * np.ptp(scraper[:, 0])
    return {
        "masses": [mechanism.body(name).mass for name in LINKS], "inertias": _about_origins(along),
        "cost": lambda: sum(n**3 / 3 for n in groups(along)) / ((3 * 7) ** 3 / 3), "level": height.mean(),
    }  # fmt: skip


def _about_origins(along: PrescribedMechanism) -> list[float]:
    """Return moments of inertia about link origins, from those about mass centers."""
    made = []
    for name in LINKS:
        body = along.mechanism.body(name).mass_properties
        made.append(float(body.inertia[2] + body.mass * (body.com[0] ** 2 + body.com[1] ** 2)))
    return made


STUDY = Study.of(
    "carpet-scraper",
    {
        "inverse": inverse("carpet-scraper", _stated),
        "replay": replay("carpet-scraper"),
        "free-fall": free_fall("carpet-scraper"),
    },
)

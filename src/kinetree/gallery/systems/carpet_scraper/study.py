"""The carpet scraper of Saha section 4.4."""

from __future__ import annotations

import numpy as np

from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import groups, point, sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay

INERTIAS = {  # about the link's origin, Table 5
    "crank": 7.258e-4, "rocker": 0.0133, "coupler": 2.212e-2, "boom": 0.157, "upper_bar": 0.057, "arm": 2.449,
    "lower_bar": 0.057,
}  # fmt: skip

MASSES = {
    "crank": 1.5, "rocker": 3.0, "coupler": 5.0, "boom": 4.2, "upper_bar": 3.0, "arm": 10.5, "lower_bar": 3.0,
}  # fmt: skip


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, q = along.mechanism, along.states.q
    masses = [mechanism.body(name).mass for name in MASSES]
    whole = groups(along)
    recursive, at_once = sum(n**3 / 3 for n in whole), (3 * 7) ** 3 / 3
    scraper = point(mechanism, q, "scraper")
    height = np.abs(scraper[:, 1] - np.median(scraper[:, 1])) < 0.02 * np.ptp(scraper[:, 0])
    return [
        Fact("moving links, joints, loops", (7, 10, 3), sizes(mechanism), source="Saha section 4.4"),
        Fact("masses", tuple(MASSES.values()), masses, "kg", 1e-12, source="Saha Table 5"),
        Fact("moments of inertia about link origins", tuple(INERTIAS.values()), _about_origins(along), "kg m^2", 5e-4,
             source="Saha Table 5"),
        Fact("one turn at 45 rpm, in seconds", 4 / 3, along.motion.span[1], "s", 1e-12, source="Saha section 4.4"),
        Fact("subsystem III is determinate with 4 unknowns, then one with 2, then the driver: sizes of the systems "
             "solved", (4, 2, 1), whole, source="Saha section 4.4"),
        Fact("cost of solving, sum of n^3/3: by subsystems, as a part of (3 x 7)^3/3 for everything at once", 0.01,
             recursive / at_once, relation="<", source="Saha section 4"),
        Fact("the scraper keeps its height (within 2 % of its stroke) through this part of a turn", 0.5,
             float(height.mean()), relation=">", source="Saha section 4.4, in words"),
    ]  # fmt: skip


def _about_origins(along: PrescribedMechanism) -> list[float]:
    """Return moments of inertia about link origins, from those about mass centers."""
    made = []
    for name in INERTIAS:
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

"""The robotic leg of Shah section 8.4: a straight-line linkage and a pantograph."""

from __future__ import annotations

import numpy as np

from ....studies.sources import COMPUTED
from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import block, cuts_by_rule, groups, point, sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay

START = (0.0, 4.51103, -2.73888, -0.87644, -1.46037, -1.46037, -1.68122)

SECOND = ["rocker_joint", "coupler_joint"]

THIRD = ["thigh_joint", "upper_bar_joint", "shank_joint", "lower_bar_joint"]

PIVOT = np.array([0.07, -0.03, 0.0])


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, q = along.mechanism, along.states.q
    zeros = [block(along, "crank_pin", THIRD), block(along, "upper_pin", ["crank_joint"]),
             block(along, "lower_pin", ["crank_joint", *SECOND])]  # fmt: skip
    # closed anew from angles that are off, so that nothing is taken from the closed formulas of the gallery
    rng = np.random.default_rng(3)
    some = q[:: max(1, len(q) // 20)]
    closed = mechanism.close(some + 0.05 * rng.standard_normal(some.shape), fixed={"crank_joint": some[:, 0]})
    upper, shank = (mechanism.joint(f"{body}_joint").q_slice.start for body in ("upper_bar", "shank"))
    drawn = point(mechanism, closed, "coupler", (-0.0625, 0.0, 0.0))
    foot = point(mechanism, closed, "foot")
    magnified = np.linalg.norm(foot - PIVOT, axis=-1) / np.linalg.norm(drawn - PIVOT, axis=-1)
    return [
        Fact("moving links, joints, loops", (7, 10, 3), sizes(mechanism), source="Shah section 8.4"),
        Fact("joints cut by the rule of minimum CDOF", "crank_pin, upper_pin, lower_pin", cuts_by_rule(mechanism),
             source="Shah section 8.4"),
        Fact("subsystem III is determinate, then II, then I: sizes of the systems solved", (4, 2, 1), groups(along),
             source="Shah section 8.4"),
        Fact("zero blocks of the Jacobian (8.11), largest entry", 0.0, max(zeros), source="Shah section 8.4"),
        Fact("angles at the start", START, q[0], "rad", 5.01e-6, source=COMPUTED),
        Fact("theta of 1^4 equals that of 1^5 all along (parallelogram); largest difference", 1e-9,
             float(np.abs(closed[:, upper] - closed[:, shank]).max()), "rad", relation="<", source=COMPUTED),
        Fact("the pantograph magnifies by 200/50", (4.0, 4.0), (magnified.min(), magnified.max()), tolerance=1e-9,
             source="Shah section 8.4, Table 8.2"),
        _straight(along),
    ]  # fmt: skip


def _straight(along: PrescribedMechanism) -> Fact:
    """Return how straight the straight part of the foot's path is, over the half turn about its middle."""
    span = along.motion.span
    middle = 0.5 * (span[0] + span[1])
    t = np.linspace(middle - 0.25 * (span[1] - span[0]), middle + 0.25 * (span[1] - span[0]), 201)
    foot = point(along.mechanism, along.motion.states(t).q, "foot")
    ratio = float(np.ptp(foot[:, 1]) / np.ptp(foot[:, 0]))
    return Fact("the foot's path is straight through half a turn of the crank: its height varies by this part of the "
                "stroke", 0.02, ratio, relation="<", source="Shah section 8.4, in words")  # fmt: skip


STUDY = Study.of(
    "robotic-leg",
    {
        "inverse": inverse("robotic-leg", _stated),
        "replay": replay("robotic-leg"),
        "free-fall": free_fall("robotic-leg"),
    },
)

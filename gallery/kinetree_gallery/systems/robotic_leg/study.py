"""The robotic leg of Shah section 8.4: a straight-line linkage and a pantograph."""

from __future__ import annotations

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import block, point
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay

SECOND = ["rocker_joint", "coupler_joint"]

THIRD = ["thigh_joint", "upper_bar_joint", "shank_joint", "lower_bar_joint"]

PIVOT = np.array([0.07, -0.03, 0.0])


def _stated(along: PrescribedMechanism) -> Values:
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
    return {
        "zeros": max(zeros), "parallel": closed[:, upper] - closed[:, shank],
        "magnified": (magnified.min(), magnified.max()), "straight": _straight(along),
    }  # fmt: skip


def _straight(along: PrescribedMechanism) -> float:
    """Return the straightness of the straight part of the foot's path, over the half turn about its middle."""
    span = along.motion.span
    middle = 0.5 * (span[0] + span[1])
    t = np.linspace(middle - 0.25 * (span[1] - span[0]), middle + 0.25 * (span[1] - span[0]), 201)
    foot = point(along.mechanism, along.motion.states(t).q, "foot")
    return float(np.ptp(foot[:, 1]) / np.ptp(foot[:, 0]))


STUDY = Study.of(
    "robotic-leg",
    {
        "inverse": inverse("robotic-leg", _stated),
        "replay": replay("robotic-leg"),
        "free-fall": free_fall("robotic-leg"),
    },
)

"""Measurements of walking legs with one crank: the foot's path, its flatness, and the forces that carry a load."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.design import mechanical_advantage
from kinetree.robot.mechanism import Mechanism
from kinetree.spatial.arrays import Array
from kinetree.spatial.taylor import Jet, as_jet
from kinetree.studies.fact_files import Values

from ..systems.drawn_linkages import DrawnLinkage
from .prescribed import PrescribedMechanism

SAMPLES = 3600
"""Number of samples of a turn."""

FLAT = 0.05
"""The foot is on the ground if its height above its lowest position is no more than this fraction of its step."""


def foot_by_circles(leg: DrawnLinkage, turned: Array) -> tuple[Array, Array]:
    """Return the foot's position, (n, 2), and its derivative by the crank's angle, by intersecting circles."""
    foot = [as_jet(x) for x in leg.places(Jet(turned, 1.0, 0.0))["foot"]]
    return np.stack([x.value for x in foot], axis=-1), np.stack([x.first for x in foot], axis=-1)


def leg_facts(leg: DrawnLinkage, along: PrescribedMechanism) -> Values:
    """Return the values that the facts of a leg name, from its path with closed loops and by intersecting circles."""
    mechanism = along.mechanism
    assert isinstance(mechanism, Mechanism)
    turned = np.arange(SAMPLES + 1) * (2 * np.pi / SAMPLES)
    q = mechanism.follow({"O": turned})
    foot, (known, rate) = mechanism.point_position(q, "foot")[:, :2], foot_by_circles(leg, turned)
    low = foot[:, 1] < foot[:, 1].min() + FLAT * np.ptp(foot[:, 1])
    carried = 1.0 / mechanical_advantage(mechanism, q[low], ("foot", (0.0, 1.0)))
    return {
        "foot": foot - known, "stride": foot[:, 0], "step": foot[:, 1], "on_ground": low[:-1].mean(),
        "carried": carried - rate[low, 1],
        "stations": foot[[0, 900, 1800], 0], "heights": foot[[0, 900, 1800], 1], **_flattest_half(foot[:-1]),
    }  # fmt: skip


def _flattest_half(foot: Array) -> dict[str, Any]:
    """Return the smallest variation of the height over half a turn, and how far the foot moves in that half turn."""
    half, twice = len(foot) // 2, np.concatenate([foot, foot])
    windows = np.lib.stride_tricks.sliding_window_view(twice, half + 1, axis=0)[: len(foot)]
    heights = np.ptp(windows[:, 1], axis=-1)
    at = int(np.argmin(heights))
    return {"flatness": heights[at], "half_way": np.ptp(windows[at, 0])}

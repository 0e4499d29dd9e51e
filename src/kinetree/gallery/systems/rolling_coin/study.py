"""The rolling coin: a steady motion in closed form, and a wobble whose energy is the test."""

from __future__ import annotations

import numpy as np

from ....simulation.simulator import simulate
from ....studies.named_systems import load, motion
from ....studies.study import Fact, Outcome, Study
from ...analyses.free_fall import fall_figures
from ...analyses.rolling import held
from .system import TILT


def steady(quick: bool) -> Outcome:
    """Let the coin go in the steady motion, once round."""
    coin, steadily = load("rolling-coin"), motion("rolling-coin")
    q, v, a = steadily.states(0.0)
    found = coin.mobility(q)
    record = simulate(
        coin, q, v, time=steadily.span[1], output=101 if quick else 401, rtol=1e-10, atol=1e-12, progress=False
    )  # fmt: skip
    known = steadily.states(record.time)
    facts = [
        Fact("degrees of position freedom, and of velocity freedom", (5, 3), (found.position_freedoms, found.freedoms)),
        Fact("accelerations at the beginning against the closed form; largest difference", 1e-10,
             float(np.abs(coin.forward_dynamics(q, v, np.zeros(6)) - a).max()), "m/s², rad/s²", relation="<"),
        Fact("place of the center on its circle; largest difference", 1e-7,
             float(np.abs(record.q[:, :3] - known.q[:, :3]).max()), "m", relation="<"),
        Fact("the lean stays; largest change of the height", 1e-8, float(np.ptp(record.q[:, 2])), "m", relation="<"),
        *held(coin, record),
    ]  # fmt: skip
    remark = "No force but gravity and those of the table (dop853, rtol 1e-10, atol 1e-12)."
    return Outcome(facts, {}, {"record": record}, fall_figures(coin, record), [remark])


def wobble(quick: bool) -> Outcome:
    """Let the coin go in the steady motion, half as fast: it nods."""
    coin = load("rolling-coin")
    q, v, _ = motion("rolling-coin").states(0.0)
    record = simulate(
        coin, q, 0.5 * v, time=0.5 if quick else 1.0, output=201, rtol=1e-10, atol=1e-12, progress=False
    )  # fmt: skip
    nods = float(np.ptp(record.q[:, 2]))
    facts = [
        Fact("the lean does not stay; change of the height", 1e-3, nods, "m", relation=">"),
        *held(coin, record),
    ]
    return Outcome(facts, {}, {"record": record}, fall_figures(coin, record), [f"It leans by {TILT:g} rad at first."])


STUDY = Study.of("rolling-coin", {"steady": steady, "wobble": wobble})

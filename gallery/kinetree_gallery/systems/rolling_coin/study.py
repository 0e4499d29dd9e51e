"""The rolling coin: a steady motion in closed form, and a wobble that tests energy conservation."""

from __future__ import annotations

import numpy as np

from kinetree.simulation.simulator import simulate
from kinetree.studies.fact_files import stated
from kinetree.studies.named_systems import load, motion
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import fall_figures
from ...analyses.rolling import held
from .system import TILT


def steady(quick: bool) -> Outcome:
    """Simulate the coin in its steady motion, once around."""
    coin, steadily = load("rolling-coin"), motion("rolling-coin")
    q, v, a = steadily.states(0.0)
    found = coin.mobility(q)
    record = simulate(
        coin, q, v, time=steadily.span[1], samples=101 if quick else 401, rtol=1e-10, atol=1e-12, progress=False
    )  # fmt: skip
    known = steadily.states(record.time)
    facts = stated(
        "rolling-coin", "steady", freedoms=(found.position_freedoms, found.freedoms), height=record.q[:, 2],
        accelerations=coin.forward_dynamics(q, v, np.zeros(6)) - a, place=record.q[:, :3] - known.q[:, :3],
    )  # fmt: skip
    facts += held(coin, record)
    remark = "No force but gravity and those of the table (dop853, rtol 1e-10, atol 1e-12)."
    return Outcome(facts, {}, {"record": record}, fall_figures(coin, record), [remark])


def wobble(quick: bool) -> Outcome:
    """Simulate the coin from its steady motion at half the speed: it wobbles."""
    coin = load("rolling-coin")
    q, v, _ = motion("rolling-coin").states(0.0)
    record = simulate(
        coin, q, 0.5 * v, time=0.5 if quick else 1.0, samples=201, rtol=1e-10, atol=1e-12, progress=False
    )  # fmt: skip
    facts = stated("rolling-coin", "wobble", height=record.q[:, 2]) + held(coin, record)
    return Outcome(facts, {}, {"record": record}, fall_figures(coin, record), [f"It leans by {TILT:g} rad at first."])


STUDY = Study.of("rolling-coin", {"steady": steady, "wobble": wobble})

"""The rolling ball: three freedoms of velocity, five of position."""

from __future__ import annotations

import numpy as np

from kinetree.simulation.simulator import simulate
from kinetree.studies.fact_files import stated
from kinetree.studies.named_systems import load, motion, start
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import fall_figures
from ...analyses.rolling import held

NORMAL = 7.848


def rolling(quick: bool) -> Outcome:
    """Simulate the ball, with a spin about the normal that must not matter."""
    ball = load("rolling-ball")
    q = start("rolling-ball")
    found = ball.mobility(q)
    v = ball.velocities(q, [0.0, 0.0, 4.0])
    a = ball.forward_dynamics(q, np.zeros(6), np.zeros(6))
    normal, along, across = ball.multipliers(q, np.zeros(6), np.zeros(6))
    record = simulate(ball, q, v, time=1.0, samples=101 if quick else 401, rtol=1e-10, atol=1e-12, progress=False)
    known = motion("rolling-ball").states(record.time)
    off = np.abs(record.q[:, :3] - known.q[:, :3]).max()
    facts = stated(
        "rolling-ball", "rolling", position_freedoms=found.position_freedoms, freedoms=found.freedoms,
        acceleration=a[0], spin=a[4], forces=(float(normal), float(along), float(across)), place=off,
    )  # fmt: skip
    facts += held(ball, record)
    remark = "It starts at rest but for a spin of 4 rad/s about the plane's normal (dop853, rtol 1e-10, atol 1e-12)."
    return Outcome(facts, {}, {"record": record}, fall_figures(ball, record), [remark])


STUDY = Study.of("rolling-ball", {"rolling": rolling})

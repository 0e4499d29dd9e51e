"""The rolling ball: three freedoms of velocity, five of position."""

from __future__ import annotations

import numpy as np

from ....simulation.simulator import simulate
from ....studies.named_systems import load, motion, start
from ....studies.study import Fact, Outcome, Study
from ...analyses.free_fall import fall_figures
from ...analyses.rolling import held
from .system import ALONG, RADIUS

NORMAL = 7.848


def rolling(quick: bool) -> Outcome:
    """Let the ball go, with a spin about the normal that must not matter."""
    ball = load("rolling-ball")
    q = start("rolling-ball")
    found = ball.mobility(q)
    v = ball.velocities(q, [0.0, 0.0, 4.0])
    a = ball.forward_dynamics(q, np.zeros(6), np.zeros(6))
    normal, along, across = ball.multipliers(q, np.zeros(6), np.zeros(6))
    record = simulate(ball, q, v, time=1.0, output=101 if quick else 401, rtol=1e-10, atol=1e-12, progress=False)
    known = motion("rolling-ball").states(record.time)
    off = np.abs(record.q[:, :3] - known.q[:, :3]).max()
    facts = [
        Fact("degrees of position freedom", 5, found.position_freedoms, source="Featherstone section 7.4.4"),
        Fact("degrees of velocity freedom", 3, found.freedoms, source="Featherstone section 7.4.4"),
        Fact("acceleration along the plane: 5/7 of gravity's part along it", 5.0 / 7.0 * ALONG, float(a[0]), "m/s²",
             1e-12),
        Fact("angular acceleration: that divided by the radius", 5.0 / 7.0 * ALONG / RADIUS, float(a[4]), "rad/s²",
             1e-10),
        Fact("forces of the plane: weight across it, 2/7 of the pull along it as friction",
             (2 * NORMAL, -4.0 / 7.0 * ALONG, 0), (float(normal), float(along), float(across)), "N", 1e-11),
        Fact("place of the ball, which spins about the normal too, against 5/14 g t²; largest difference", 1e-8,
             float(off), "m", relation="<"),
        *held(ball, record),
    ]  # fmt: skip
    remark = "It starts at rest but for a spin of 4 rad/s about the plane's normal (dop853, rtol 1e-10, atol 1e-12)."
    return Outcome(facts, {}, {"record": record}, fall_figures(ball, record), [remark])


STUDY = Study.of("rolling-ball", {"rolling": rolling})

"""Rolling: constraints of velocity stay held, and energy is kept, for they do no work."""

from __future__ import annotations

import numpy as np

from ...robot.robot import Robot
from ...simulation.records.record import Record
from ...studies.study import Fact


def held(robot: Robot, record: Record) -> list[Fact]:
    """Return whether nothing slips or sinks in, and energy is kept."""
    slip = np.abs((robot.loop_jacobian(record.q) @ record.v[..., None])[..., 0]).max()
    return [
        Fact("nothing slips; largest velocity of a point that touches", 1e-10, float(slip), "m/s", relation="<"),
        Fact("heights stay; largest gap", 1e-10, float(robot.closure_error(record.q).max()), "m", relation="<"),
        Fact("friction that holds does no work: energy is constant; largest relative error", 1e-8,
             record.energy.relative_error, relation="<"),
    ]  # fmt: skip

"""Rolling: velocity constraints hold, and energy is conserved, since they do no work."""

from __future__ import annotations

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.studies.facts import Fact

from .common_facts import common


def held(robot: Robot, record: Record) -> list[Fact]:
    """Return the facts that nothing slips or sinks in, and that energy is conserved."""
    slip = np.abs((robot.loop_jacobian(record.q) @ record.v[..., None])[..., 0]).max()
    return common("rolling", slip=slip, gap=robot.closure_error(record.q), energy_error=record.energy.relative_error)

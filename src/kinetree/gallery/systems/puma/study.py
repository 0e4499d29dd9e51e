"""The PUMA of Saha."""

from __future__ import annotations

import math

import numpy as np

from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall_of_tree
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import AlongMotion
from ...analyses.printed_tables import PrintedRow, as_printed

TABLE_3 = (  # Saha section 2.5.1
    PrintedRow(0.0, 0.0, -90.0, 10.521, (0, 0, 0.054), (1.612, 1.612, 0.5091)),
    PrintedRow(0.432, 0.149, 0.0, 15.761, (0.292, 0, 0), (0.4898, 8.0783, 8.2672)),
    PrintedRow(0.02, 0.0, -90.0, 8.767, (0.02, 0, -0.197), (3.3768, 3.3768, 0.3009)),
    PrintedRow(0.0, 0.432, -90.0, 1.052, (0, -0.057, 0), (0.181, 0.1273, 0.181)),
    PrintedRow(0.0, 0.0, -90.0, 1.052, (0, 0, -0.007), (0.0735, 0.1273, 0.0735)),
    PrintedRow(0.0, 0.05, 0.0, 0.351, (0, 0, 0.019), (0.0071, 0.0071, 0.0141)),
)


def _stated(along: AlongMotion) -> list[Fact]:
    q, _, _ = along.states
    held = along.robot.gravity_force(q[[0, -1]])
    return [
        as_printed(along, TABLE_3),
        Fact("angles at the end, all joints", [math.pi] * 6, q[-1], "rad", 1e-12, source="Saha section 2.5.1"),
        Fact("at both ends the motion rests without acceleration: torques only hold the weight; largest difference",
             1e-9, float(np.abs(along.tau[[0, -1]] - held).max()), "N m", relation="<", source="Saha eq. 22"),
        Fact("joint 1 is upright and holds no weight: its torque at both ends", (0.0, 0.0), along.tau[[0, -1], 0],
             "N m", 1e-9),
    ]  # fmt: skip


STUDY = Study.of(
    "puma", {"inverse": inverse("puma", _stated), "free-fall": free_fall_of_tree("puma", 2.0, within=1e-7)}
)

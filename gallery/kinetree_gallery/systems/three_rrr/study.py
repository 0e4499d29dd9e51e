"""The planar 3-RRR manipulator of Shah section 8.5."""

from __future__ import annotations

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.studies.fact_files import Values
from kinetree.studies.named_systems import start
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import block, point, recut
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from .system import ARM, FOREARM, FREE_FALL, PIVOTS, SIDE

DEGREE = np.pi / 180.0

REDYSIM = (1.0467, 5.4206, -2.5357, 4.1883, -2.0939, 5.7637, -0.9869)
"""Start of ReDySim's own free fall: leg 1 and platform, arm and forearm of leg 2, of leg 3."""

BASE = np.array([(p.x, p.y) for p in PIVOTS])


def _stated(along: PrescribedMechanism) -> Values:
    mechanism, q = along.mechanism, along.states.q
    middle = point(mechanism, q, "middle")
    away = np.linalg.norm(middle[:, :2] - BASE.mean(axis=0), axis=-1)
    heading = np.abs(mechanism.pose(q, "middle")[..., 1, 0]).max()
    elsewhere = recut(along, ["forearm_2_joint", "forearm_3_joint"])
    zeros = [block(along, "elbow_2", ["arm_3_joint"]), block(along, "elbow_3", ["arm_2_joint"])]
    return {
        "loops": ", ".join(mechanism.loop_names), "other_groups": elsewhere.groups, "other_cuts": elsewhere.difference,
        "zeros": max(zeros), "start": q[0, [0, 5, 6, 1, 2]], "circle": (away.min(), away.max()), "heading": heading,
    }  # fmt: skip


def _unit(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def _redysim_gaps() -> np.ndarray:
    """Return the gaps of the two cut joints in ReDySim's start."""
    t1, t2, t3, t4, t5, t6, t7 = REDYSIM
    corner = ARM * _unit(t1) + FOREARM * _unit(t1 + t2)
    heading = t1 + t2 + t3
    others = [corner + SIDE * _unit(heading), corner + SIDE * _unit(heading + 60 * DEGREE)]
    tips = [BASE[1] + ARM * _unit(t4) + FOREARM * _unit(t4 + t5), BASE[2] + ARM * _unit(t6) + FOREARM * _unit(t6 + t7)]
    return np.array([np.linalg.norm(tip - other) for tip, other in zip(tips, others, strict=True)])


def _table_8_4(mechanism: Robot, record: Record) -> Values:
    """Return facts about the printed initial state, and its correction."""
    table = np.array(FREE_FALL)
    tips = [point(mechanism, table, f"forearm_{k}", (FOREARM, 0.0, 0.0))[:2] for k in (2, 3)]
    pivots = np.array([tip - ARM * _unit(angle) for tip, angle in zip(tips, table[5:], strict=True)])
    whole = np.round(table / DEGREE)
    begin = start("3-rrr", "free-fall")
    return {
        "angles": table / DEGREE, "whole": whole, "heading": table[:3].sum() / DEGREE, "pivot_2": pivots[0],
        "pivot_3": pivots[1], "missed": np.linalg.norm(pivots - BASE[1:], axis=-1).max(),
        "gap": mechanism.closure_error(table), "closed": np.abs(begin - table).max() / DEGREE,
        "redysim_gap": _redysim_gaps(), "rates": record.v[0],
    }  # fmt: skip


STUDY = Study.of(
    "3-rrr",
    {
        "inverse": inverse("3-rrr", _stated),
        "replay": replay("3-rrr"),
        "free-fall": free_fall("3-rrr", 2.0, "free-fall", _table_8_4),
    },
)

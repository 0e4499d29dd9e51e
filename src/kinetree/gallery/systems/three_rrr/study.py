"""The planar 3-RRR manipulator of Shah section 8.5."""

from __future__ import annotations

import numpy as np

from ....robot.robot import Robot
from ....simulation.records.record import Record
from ....studies.named_systems import start
from ....studies.sources import COMPUTED
from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import block, cuts_by_rule, groups, point, recut, sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from .system import ARM, FOREARM, FREE_FALL, PIVOTS, SIDE

DEGREE = np.pi / 180.0

REDYSIM = (1.0467, 5.4206, -2.5357, 4.1883, -2.0939, 5.7637, -0.9869)
"""Start of ReDySim's own free fall: leg 1 and platform, arm and forearm of leg 2, of leg 3."""

BASE = np.array([(p.x, p.y) for p in PIVOTS])


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, q = along.mechanism, along.states.q
    middle = point(mechanism, q, "middle")
    away = np.linalg.norm(middle[:, :2] - BASE.mean(axis=0), axis=-1)
    heading = np.abs(mechanism.pose(q, "middle")[..., 1, 0]).max()
    elsewhere = recut(along, ["forearm_2_joint", "forearm_3_joint"])
    zeros = [block(along, "elbow_2", ["arm_3_joint"]), block(along, "elbow_3", ["arm_2_joint"])]
    return [
        Fact("moving links, joints, loops", (7, 9, 2), sizes(mechanism), source="Shah section 8.5"),
        Fact("subsystem I is determinate with 5 unknowns, II and III follow: sizes of the systems solved", (5, 1, 1),
             groups(along), source="Shah section 8.5"),
        Fact("joints cut by the rule of minimum CDOF", ", ".join(mechanism.loop_names), cuts_by_rule(mechanism),
             source="Shah section 8.5",
             reason="forearms 2 and 3 are two joints from the ground along their own legs and four "
             "across the platform, so that the rule cuts them from the platform. The book's tree, with five links in "
             "subsystem I, is cut at the elbows, which makes that subsystem determinate; so is the model"),
        Fact("cut by the rule, nothing is determinate by itself: sizes of the systems solved", (7,), elsewhere.groups),
        Fact("the torques do not depend on the cuts; largest difference", 1e-9, elsewhere.difference, "N m",
             relation="<", source=COMPUTED),
        Fact("zero blocks of the Jacobian (8.15), largest entry", 0.0, max(zeros), source="Shah section 8.5"),
        Fact("arms 1, 2, 3, forearm 1 and platform at the start, as in ReDySim's own run",
             (1.9814, -1.6050, 0.5403, -2.3099, 0.3284), q[0, [0, 5, 6, 1, 2]], "rad", 5.01e-5,
             source="ReDySim; gallery"),
        Fact("the platform's middle stays on its circle: smallest and largest distance from the base's",
             (0.108253, 0.108253), (away.min(), away.max()), "m", 5.01e-7, source=COMPUTED),
        Fact("the platform's heading stays 0; sine of the largest", 1e-12, float(heading), relation="<",
             source=COMPUTED),
    ]  # fmt: skip


def _unit(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def _redysim_gaps() -> np.ndarray:
    """Return how far the two cut joints are open in ReDySim's start."""
    t1, t2, t3, t4, t5, t6, t7 = REDYSIM
    corner = ARM * _unit(t1) + FOREARM * _unit(t1 + t2)
    heading = t1 + t2 + t3
    others = [corner + SIDE * _unit(heading), corner + SIDE * _unit(heading + 60 * DEGREE)]
    tips = [BASE[1] + ARM * _unit(t4) + FOREARM * _unit(t4 + t5), BASE[2] + ARM * _unit(t6) + FOREARM * _unit(t6 + t7)]
    return np.array([np.linalg.norm(tip - other) for tip, other in zip(tips, others, strict=True)])


def _table_8_4(mechanism: Robot, record: Record) -> list[Fact]:
    """Check what the printed initial state says, and what had to be done to it."""
    table = np.array(FREE_FALL)
    tips = [point(mechanism, table, f"forearm_{k}", (FOREARM, 0.0, 0.0))[:2] for k in (2, 3)]
    pivots = np.array([tip - ARM * _unit(angle) for tip, angle in zip(tips, table[5:], strict=True)])
    whole = np.round(table / DEGREE)
    begin = start("3-rrr", "free-fall")
    return [
        Fact("the initial angles are whole degrees", whole, table / DEGREE, "degrees", 6e-3, source="Shah Table 8.4"),
        Fact("the platform's heading is 225 degrees", 225.0, table[:3].sum() / DEGREE, "degrees", 6e-3,
             source=COMPUTED),
        Fact("implied pivot of leg 2", (1.008, -0.005), pivots[0], "m", 5.01e-4, source=COMPUTED),
        Fact("implied pivot of leg 3", (0.517, 0.863), pivots[1], "m", 5.01e-4, source=COMPUTED),
        Fact("the printed state misses the base by", 0.017, np.linalg.norm(pivots - BASE[1:], axis=-1).max(), "m",
             5.01e-4, source=COMPUTED),
        Fact("the printed state closes the loops on the equilateral base; largest gap", 1e-6,
             float(mechanism.closure_error(table)), "m", relation="<", source="Shah Table 8.4",
             reason="it is rounded to whole degrees; the simulation starts from the nearest state that keeps the first "
             "leg and the platform and closes the two others"),
        Fact("so closed, no angle differs from the table by more than", 2.0,
             float(np.abs(begin - table).max() / DEGREE), "degrees", relation="<"),
        Fact("ReDySim's own initial state misses closure by about 1 cm", 0.010, float(_redysim_gaps().max()), "m",
             5e-3, source=COMPUTED),
        Fact("all rates are 0 at the start", 0.0, float(np.abs(record.v[0]).max()), "rad/s", source="Shah Table 8.4"),
    ]  # fmt: skip


STUDY = Study.of(
    "3-rrr",
    {
        "inverse": inverse("3-rrr", _stated),
        "replay": replay("3-rrr"),
        "free-fall": free_fall("3-rrr", 2.0, "free-fall", _table_8_4),
    },
)

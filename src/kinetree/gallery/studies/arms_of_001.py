"""The PUMA and the Stanford arm of 001."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...robot.dh import DHRow, from_dh
from ...robot.robot import Robot
from ...simulation.records.record import Record
from ..study import Fact, Outcome, Study
from ..style import Curve, Curves, Panel
from ..tree_analyses import Along, free_fall, inverse

Vector = tuple[float, float, float]


class Row(NamedTuple):
    """One link of Tables 3 and 4: a, b, alpha; mass; r; inertia about the mass centre, all in frame i + 1."""

    a: float
    b: float
    alpha: float
    mass: float
    r: Vector
    inertia: Vector


PUMA = (  # 001 L335-356
    Row(0.0, 0.0, -90.0, 10.521, (0, 0, 0.054), (1.612, 1.612, 0.5091)),
    Row(0.432, 0.149, 0.0, 15.761, (0.292, 0, 0), (0.4898, 8.0783, 8.2672)),
    Row(0.02, 0.0, -90.0, 8.767, (0.02, 0, -0.197), (3.3768, 3.3768, 0.3009)),
    Row(0.0, 0.432, -90.0, 1.052, (0, -0.057, 0), (0.181, 0.1273, 0.181)),
    Row(0.0, 0.0, -90.0, 1.052, (0, 0, -0.007), (0.0735, 0.1273, 0.0735)),
    Row(0.0, 0.05, 0.0, 0.351, (0, 0, 0.019), (0.0071, 0.0071, 0.0141)),
)
STANFORD = (  # 001 L368-395
    Row(0.0, 0.1, -90.0, 9.0, (0, -0.1, 0), (0.01, 0.02, 0.01)),
    Row(0.0, 0.1, -90.0, 6.0, (0, 0, 0), (0.05, 0.06, 0.01)),
    Row(0.0, 0.0, 0.0, 4.0, (0, 0, 0), (0.4, 0.4, 0.01)),
    Row(0.0, 0.6, 90.0, 1.0, (0, -0.1, 0), (0.001, 0.001, 0.0005)),
    Row(0.0, 0.0, -90.0, 0.6, (0, 0, -0.06), (0.0005, 0.0005, 0.0002)),
    Row(0.0, 0.0, 0.0, 0.5, (0, 0, 0.2), (0.003, 0.001, 0.002)),
)


def from_table(table: Sequence[Row], sign: float = -1.0) -> Robot:
    """The arm straight from its printed table, with the mass centre at ``sign * r`` in frame i + 1."""
    sliding = table is STANFORD
    rows = [
        DHRow(a=row.a, d=row.b, alpha=row.alpha, mass=row.mass, com=[sign * x for x in row.r], inertia=row.inertia,
              joint="prismatic" if sliding and k == 2 else "revolute")
        for k, row in enumerate(table)
    ]  # fmt: skip
    return from_dh(rows, "standard", degrees=True)


def _as_printed(along: Along, table: Sequence[Row]) -> Fact:
    tau = from_table(table).inverse_dynamics(*along.states)
    return Fact(
        "torques of the model file and of the printed table, row by row as a standard DH table; largest difference",
        1e-10, float(np.abs(tau - along.tau).max()), "N m, N", relation="<",
    )  # fmt: skip


def _puma(along: Along) -> list[Fact]:
    q, _, _ = along.states
    held = along.robot.gravity_force(q[[0, -1]])
    return [
        _as_printed(along, PUMA),
        Fact("angles at the end, all joints", [math.pi] * 6, q[-1], "rad", 1e-12, source="001 L331"),
        Fact("at both ends the motion rests without acceleration: torques only hold the weight; largest difference",
             1e-9, float(np.abs(along.tau[[0, -1]] - held).max()), "N m", relation="<", source="001 eq. 22"),
        Fact("joint 1 is upright and holds no weight: its torque at both ends", (0.0, 0.0), along.tau[[0, -1], 0],
             "N m", 1e-9),
    ]  # fmt: skip


def _stanford(along: Along) -> list[Fact]:
    q, _, _ = along.states
    held = along.robot.gravity_force(q[[0, -1]])
    beyond = 21.1 - 9.0 - 6.0  # what the slide carries, itself included
    return [
        _as_printed(along, STANFORD),
        Fact("start (rad, and m for the slide)", (0, math.pi / 2, 0, 0, 0, 0), q[0], "", 1e-12, source="001 L360"),
        Fact("end (rad, and m for the slide)", (*[math.pi / 3] * 2, 0.1, *[math.pi / 3] * 3), q[-1], "", 1e-12,
             source="001 L360-364"),
        Fact("at both ends torques only hold the weight; largest difference", 1e-9,
             float(np.abs(along.tau[[0, -1]] - held).max()), "N m, N", relation="<", source="001 eq. 22-23"),
        Fact("force of the slide at the end, where z_3 points down: it holds -m g cos(60 deg) of what it carries",
             -beyond * 9.81 * math.cos(math.pi / 3), float(along.tau[-1, 2]), "N", 1e-9),
    ]  # fmt: skip


def _falling(robot: Robot, record: Record) -> list[Fact]:
    a = robot.forward_dynamics(record.q[0], np.zeros(6), np.zeros(6))
    return [Fact("at zero the slide points straight down and begins to fall freely; its acceleration", 9.81,
                 float(a[2]), "m/s^2", 1e-9)]  # fmt: skip


def other_reading(quick: bool) -> Outcome:
    """What would change if the table's r were the mass centre itself."""
    along = Along("stanford-arm", 101 if quick else 401)
    other = from_table(STANFORD, sign=1.0).inverse_dynamics(*along.states)
    largest = np.abs(other - along.tau).max(axis=0)
    facts = [
        Fact("at both ends the slide's force does not depend on the reading, only torques do; difference", 1e-9,
             float(np.abs(other - along.tau)[[0, -1], 2].max()), "N", relation="<"),
        Fact("torque of joint 2 changes by more than", 0.5, float(largest[1]), "N m", relation=">"),
    ]  # fmt: skip
    panels = [
        Panel(f"joint {k + 1} [{'N' if k == 2 else 'N m'}]",
              [Curve("as 001 defines r", along.tau[:, k]), Curve("r as mass centre", other[:, k])])
        for k in range(6)
    ]  # fmt: skip
    table = {"time [s]": along.time}
    for k in range(6):
        unit = "N" if k == 2 else "N m"
        table[f"joint {k + 1}, as 001 defines r [{unit}]"] = along.tau[:, k]
        table[f"joint {k + 1}, r as mass centre [{unit}]"] = other[:, k]
    remark = (
        "001 gives r_i as the vector from the mass centre to joint i + 1 and says that its torques equal those of "
        "Cyril (1988), whose curves are lost with the figure. For the PUMA this reading puts every mass centre inside "
        f"its link; for this arm it does not. The largest changes: {', '.join(f'{x:.3g}' for x in largest)} N m (N)."
    )
    return Outcome(facts, {"torques": table}, {}, {"torques": Curves(along.time, panels, "Both readings.")}, [remark])


STUDIES = (
    Study.of("puma", {"inverse": inverse("puma", _puma), "free-fall": free_fall("puma", 2.0, within=1e-7)}),
    Study.of(
        "stanford-arm",
        {
            "inverse": inverse("stanford-arm", _stanford),
            "other-reading": other_reading,
            "free-fall": free_fall("stanford-arm", 1.0, claims=_falling, within=1e-7),
        },
    ),
)

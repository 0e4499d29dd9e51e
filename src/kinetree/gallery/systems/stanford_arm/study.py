"""The Stanford arm of Saha."""

from __future__ import annotations

import math

import numpy as np

from ....robot.robot import Robot
from ....simulation.records.record import Record
from ....studies.plots import Curve, Curves, PlotPanel
from ....studies.study import Fact, Outcome, Study
from ...analyses.free_fall import free_fall_of_tree
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import AlongMotion
from ...analyses.printed_tables import PrintedRow, as_printed, from_table

TABLE_4 = (  # Saha section 2.5.2, Table 4
    PrintedRow(0.0, 0.1, -90.0, 9.0, (0, -0.1, 0), (0.01, 0.02, 0.01)),
    PrintedRow(0.0, 0.1, -90.0, 6.0, (0, 0, 0), (0.05, 0.06, 0.01)),
    PrintedRow(0.0, 0.0, 0.0, 4.0, (0, 0, 0), (0.4, 0.4, 0.01), "prismatic"),
    PrintedRow(0.0, 0.6, 90.0, 1.0, (0, -0.1, 0), (0.001, 0.001, 0.0005)),
    PrintedRow(0.0, 0.0, -90.0, 0.6, (0, 0, -0.06), (0.0005, 0.0005, 0.0002)),
    PrintedRow(0.0, 0.0, 0.0, 0.5, (0, 0, 0.2), (0.003, 0.001, 0.002)),
)


def _stated(along: AlongMotion) -> list[Fact]:
    q, _, _ = along.states
    held = along.robot.gravity_force(q[[0, -1]])
    beyond = 21.1 - 9.0 - 6.0  # what the slide carries, itself included
    return [
        as_printed(along, TABLE_4),
        Fact("start (rad, and m for the slide)", (0, math.pi / 2, 0, 0, 0, 0), q[0], "", 1e-12,
             source="Saha section 2.5.2"),
        Fact("end (rad, and m for the slide)", (*[math.pi / 3] * 2, 0.1, *[math.pi / 3] * 3), q[-1], "", 1e-12,
             source="Saha section 2.5.2"),
        Fact("at both ends torques only hold the weight; largest difference", 1e-9,
             float(np.abs(along.tau[[0, -1]] - held).max()), "N m, N", relation="<", source="Saha eq. 22-23"),
        Fact("force of the slide at the end, where z_3 points down: it holds -m g cos(60 deg) of what it carries",
             -beyond * 9.81 * math.cos(math.pi / 3), float(along.tau[-1, 2]), "N", 1e-9),
    ]  # fmt: skip


def _falling(robot: Robot, record: Record) -> list[Fact]:
    a = robot.forward_dynamics(record.q[0], np.zeros(6), np.zeros(6))
    return [Fact("at zero the slide points straight down and begins to fall freely; its acceleration", 9.81,
                 float(a[2]), "m/s^2", 1e-9)]  # fmt: skip


def other_reading(quick: bool) -> Outcome:
    """Show what would change if the table's r were the center of mass itself."""
    along = AlongMotion("stanford-arm", 101 if quick else 401)
    other = from_table(TABLE_4, sign=1.0).inverse_dynamics(*along.states)
    largest = np.abs(other - along.tau).max(axis=0)
    facts = [
        Fact("at both ends the slide's force does not depend on the reading, only torques do; difference", 1e-9,
             float(np.abs(other - along.tau)[[0, -1], 2].max()), "N", relation="<"),
        Fact("torque of joint 2 changes by more than", 0.5, float(largest[1]), "N m", relation=">"),
    ]  # fmt: skip
    panels = [
        PlotPanel(f"joint {k + 1} [{'N' if k == 2 else 'N m'}]",
              [Curve("as Saha defines r", along.tau[:, k]), Curve("r as mass center", other[:, k])])
        for k in range(6)
    ]  # fmt: skip
    table = {"time [s]": along.time}
    for k in range(6):
        unit = "N" if k == 2 else "N m"
        table[f"joint {k + 1}, as Saha defines r [{unit}]"] = along.tau[:, k]
        table[f"joint {k + 1}, r as mass center [{unit}]"] = other[:, k]
    remark = (
        "Saha gives r_i as the vector from the mass center to joint i + 1 and says that its torques equal those of "
        "Cyril (1988), whose curves are lost with the figure. For the PUMA this reading puts every mass center inside "
        f"its link; for this arm it does not. The largest changes: {', '.join(f'{x:.3g}' for x in largest)} N m (N)."
    )
    return Outcome(facts, {"torques": table}, {}, {"torques": Curves(along.time, panels, "Both readings.")}, [remark])


STUDY = Study.of(
    "stanford-arm",
    {
        "inverse": inverse("stanford-arm", _stated),
        "other-reading": other_reading,
        "free-fall": free_fall_of_tree("stanford-arm", 1.0, _falling, within=1e-7),
    },
)

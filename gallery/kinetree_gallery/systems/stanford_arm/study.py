"""The Stanford arm of Saha."""

from __future__ import annotations

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

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


def _stated(along: AlongMotion) -> Values:
    q, _, _ = along.states
    held = along.robot.gravity_force(q[[0, -1]])
    return {
        "printed": as_printed(along, TABLE_4), "weights": along.tau[[0, -1]] - held, "slide": along.tau[-1, 2]
    }  # fmt: skip


def _falling(robot: Robot, record: Record) -> Values:
    a = robot.forward_dynamics(record.q[0], np.zeros(6), np.zeros(6))
    return {"slide": a[2]}


def other_reading(quick: bool) -> Outcome:
    """Show what would change if the table's r were the center of mass itself."""
    along = AlongMotion("stanford-arm", 101 if quick else 401)
    other = from_table(TABLE_4, sign=1.0).inverse_dynamics(*along.states)
    largest = np.abs(other - along.tau).max(axis=0)
    facts = stated("stanford-arm", "other-reading", slide=np.abs(other - along.tau)[[0, -1], 2], torque=largest[1])
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

"""The PUMA of Saha."""

from __future__ import annotations

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

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


def _stated(along: AlongMotion) -> Values:
    q, _, _ = along.states
    held = along.robot.gravity_force(q[[0, -1]])
    return {
        "printed": as_printed(along, TABLE_3), "weights": along.tau[[0, -1]] - held, "upright": along.tau[[0, -1], 0]
    }  # fmt: skip


STUDY = Study.of(
    "puma", {"inverse": inverse("puma", _stated), "free-fall": free_fall_of_tree("puma", 2.0, within=1e-7)}
)

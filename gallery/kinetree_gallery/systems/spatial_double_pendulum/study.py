"""The spatial double pendulum of Shah."""

from __future__ import annotations

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.named_systems import load, motion
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import free_fall_of_tree
from ...analyses.inverse_dynamics import inverse


def _keeps(robot: Robot, record: Record) -> Values:
    """Return the momentum about the vertical through the shoulder, about which gravity has no moment."""
    upright = robot.momentum(record.q, record.v, about="origin")[:, 2]
    return {"upright": upright}


def structure(quick: bool) -> Outcome:
    """Check sizes of the DeNOC matrices: a ball joint is three turns, two with massless links (Shah section 4.1)."""
    robot = load("spatial-double-pendulum")
    single = robot.with_single_joints()
    q, v, a = motion("spatial-double-pendulum").states(0.7)
    denoc = single.denoc(q, v)
    n = np.asarray(denoc.N)
    expanded = single.inverse_dynamics(q, v, a)
    facts = stated(
        "spatial-double-pendulum", "structure", rows=n.shape[0], columns=n.shape[1],
        moved=[int(np.any(n[6 * k : 6 * k + 6] != 0.0, axis=0).sum()) for k in range(4)],
        hinges=expanded - robot.inverse_dynamics(q, v, a),
    )  # fmt: skip
    table = {f"rate {k + 1} [1]": n[:, k] for k in range(4)}
    return Outcome(facts, {"natural-orthogonal-complement": table}, {}, {})


STUDY = Study.of(
    "spatial-double-pendulum",
    {
        "inverse": inverse("spatial-double-pendulum"),
        "free-fall": free_fall_of_tree("spatial-double-pendulum", 3.0, _keeps),
        "structure": structure,
    },
)

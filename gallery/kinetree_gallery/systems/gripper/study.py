"""The robotic gripper of Shah: torques, free fall, its mass matrix and the DeNOC matrices."""

from __future__ import annotations

import time

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import Simulator
from kinetree.studies.drawings import PLANE
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.named_systems import load, motion
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import at, free_fall_of_tree
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import AlongMotion
from ..motion_laws import DEGREE

TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)


def _torques(along: AlongMotion) -> Values:
    q, v, a = along.motion.states(np.linspace(0.0, 1.0, 101))
    quick = along.robot.with_backend("compiled")
    quick.inverse_dynamics(q, v, a)  # compiles
    names = ("palm", "finger", "finger_tip", "thumb")
    torques = dict(zip(names, along.torque_at(np.array(TIMES)).T, strict=True))
    return {"seconds": _best(lambda: quick.inverse_dynamics(q, v, a)), **torques}


def _best(call: object) -> float:
    assert callable(call)
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def _fall(robot: Robot, record: Record) -> Values:
    simulator = Simulator(robot, integrator="rk45", rtol=1e-3, atol=1e-6, works=False)  # as Table 10.6 has it
    simulator.run(record.q[0], time=1.0, samples=11, progress=False)  # compiles
    return {
        "accelerations": robot.forward_dynamics(record.q[0], np.zeros(4), np.zeros(4)),
        "energy": record.energy.total[0],
        "seconds": _best(lambda: simulator.run(record.q[0], time=1.0, samples=1001, progress=False)),
        **{f"after_{k}_fifths": np.degrees(record.q[at(record, [0.2 * k])[0]]) for k in range(1, 6)},
    }


MATRICES = (
    ((0.0, 0.0, 0.0, 90.0), (0.01133333, 0.00333333, 0.00091667, 0.00016667, 0.00133333, 0.00041667),
     (3.57142857, -3.42857143, 1.0), 0.00240476),
    ((60.0, 80.0, 80.0, 120.0), (0.00625141, 0.00071078, -0.00025977, 0.00004167, 0.00092016, 0.00021008),
     (1.58419001, -3.55543317, 0.25), 0.00419139),
)  # fmt: skip
"""Angles in degrees; entries 11, 12, 13, 14, 22, 23 of the mass matrix; row 1 of U right of the diagonal; D_1."""


def matrices(quick: bool) -> Outcome:
    """Check chapters 4 and 5 on the gripper: sizes and zeros of the DeNOC matrices, mass matrix, modular factors."""
    robot = load("gripper")
    middle = motion("gripper").states(0.5).q
    parts = [["palm"], ["finger", "finger_tip"], ["thumb"]]
    denoc = robot.denoc(middle, modules=parts)
    lower, diagonal = np.asarray(denoc.N_l), np.asarray(denoc.N_d)
    facts = stated("gripper", "matrices", lower=lower.shape, diagonal=diagonal.shape, branches=lower[18:24, 6:18])
    for degrees, entries, row, pivot in MATRICES:
        q = np.array(degrees) * DEGREE
        m = robot.mass_matrix(q)
        denoc = robot.denoc(q, modules=parts)
        u, d = denoc.U.array, denoc.D.array
        where = f"at {degrees} degrees"
        facts += stated(
            "gripper", "matrices.entries", entries=(m[0, 0], m[0, 1], m[0, 2], m[0, 3], m[1, 1], m[1, 2]), where=where,
            stated_entries=entries, row=u[0, 1:], stated_row=row, pivot=d[0, 0], stated_pivot=pivot, coupling=m[1:3, 3],
        )  # fmt: skip
    remark = (
        "Modules {palm}, {finger, finger tip}, {thumb}: I = U D U^T, U unit upper block triangular (Shah eq. 5.32)."
    )
    table = {f"column {k + 1} [kg m^2]": robot.mass_matrix(middle)[:, k] for k in range(4)}
    return Outcome(facts, {"mass-matrix": table}, {}, {}, [remark])


STUDY = Study.of(
    "gripper",
    {
        "inverse": inverse("gripper", _torques, view=PLANE),
        "free-fall": free_fall_of_tree("gripper", 1.0, _fall),
        "matrices": matrices,
    },
)

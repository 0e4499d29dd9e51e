"""The robotic gripper of Shah: torques, free fall, its mass matrix and the DeNOC matrices."""

from __future__ import annotations

import time

import numpy as np

from ....robot.robot import Robot
from ....simulation.records.record import Record
from ....simulation.simulator import Simulator
from ....studies.drawings import PLANE
from ....studies.named_systems import load, motion
from ....studies.sources import COMPUTED
from ....studies.study import Fact, Outcome, Study
from ...analyses.free_fall import at, free_fall_of_tree
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import AlongMotion
from ..motion_laws import DEGREE

TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)

TORQUES = {
    "palm": (0.882900, 0.974371, 0.540929, 0.148820, 0.144002),
    "finger": (0.196200, 0.226725, 0.034302, -0.152840, -0.150298),
    "finger tip": (0.049050, 0.057435, -0.010778, -0.046802, -0.037574),
    "thumb": (0.0, -0.005135, -0.033624, -0.049199, -0.049050),
}

FALLING = {
    0.2: (-95.6543, 5.5162, 0.7405, -17.6885),
    0.4: (-114.8987, -14.3056, -10.4429, 41.3086),
    0.6: (-80.8105, 8.1117, 12.9793, -28.8363),
    0.8: (-65.7295, 2.7709, 5.7066, 8.9545),
    1.0: (-108.9250, 1.2948, -5.7352, -7.1688),
}

REDYSIM_INVERSE, REDYSIM_FALL = 0.025, 0.29
"""Seconds (Shah section 6.2.1), on an Intel T2300 of 2006."""

LOADED = "depends on the machine and on what else it does"


def _torques(along: AlongMotion) -> list[Fact]:
    tau = along.torque_at(np.array(TIMES))
    when = "at t = 0, 0.25, 0.5, 0.75, 1 s"
    facts = [
        Fact(f"torque of the {name} {when}", stated, tau[:, k], "N m", 5.01e-7, source=COMPUTED)
        for k, (name, stated) in enumerate(TORQUES.items())
    ]
    q, v, a = along.motion.states(np.linspace(0.0, 1.0, 101))
    quick = along.robot.with_backend("compiled")
    quick.inverse_dynamics(q, v, a)  # compiles
    seconds = _best(lambda: quick.inverse_dynamics(q, v, a))
    return [
        *facts,
        Fact("computing time for 101 instants, below ReDySim's (another machine, of 2006)", REDYSIM_INVERSE, seconds,
             "s", relation="<", source="Shah section 6.2.1", reason=LOADED),
    ]  # fmt: skip


def _best(call: object) -> float:
    assert callable(call)
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def _fall(robot: Robot, record: Record) -> list[Fact]:
    q = np.degrees(record.q)
    a = robot.forward_dynamics(record.q[0], np.zeros(4), np.zeros(4))
    facts = [
        Fact(f"angles after {t:g} s", stated, q[at(record, [t])[0]], "degrees", 5.01e-5, source=COMPUTED)
        for t, stated in FALLING.items()
    ]
    simulator = Simulator(robot, integrator="rk45", rtol=1e-3, atol=1e-6, works=False)  # as Table 10.6 has it
    simulator.run(record.q[0], time=1.0, output=11, progress=False)  # compiles
    seconds = _best(lambda: simulator.run(record.q[0], time=1.0, output=1001, progress=False))
    return [
        Fact("accelerations at the beginning", (-68.180938, 117.374780, -65.591789, 23.302346), a, "rad/s^2", 5.01e-7,
             source=COMPUTED),
        Fact("energy", -0.80709238, float(record.energy.total[0]), "J", 5.01e-9, source=COMPUTED),
        *facts,
        Fact("computing time for 1 s, 1001 samples, below ReDySim's (another machine, of 2006)", REDYSIM_FALL, seconds,
             "s", relation="<", source="Shah section 6.2.1", reason=LOADED),
    ]  # fmt: skip


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
    facts = [
        Fact("size of N_l with modules {1}, {2, 3}, {4}", (24, 24), lower.shape, source="Shah section 4.4.1"),
        Fact("size of N_d", (24, 4), diagonal.shape, source="Shah section 4.4.1"),
        Fact("the block of N_l between finger and thumb, different branches, is zero; largest entry", 0.0,
             float(np.abs(lower[18:24, 6:18]).max()), source="Shah section 4.4.1"),
    ]  # fmt: skip
    for degrees, entries, row, pivot in MATRICES:
        q = np.array(degrees) * DEGREE
        m = robot.mass_matrix(q)
        denoc = robot.denoc(q, modules=parts)
        u, d = denoc.U.array, denoc.D.array
        where = f"at {degrees} degrees"
        facts += [
            Fact(f"entries 11, 12, 13, 14, 22, 23 of the mass matrix {where}", entries,
                 (m[0, 0], m[0, 1], m[0, 2], m[0, 3], m[1, 1], m[1, 2]), "kg m^2", 5.01e-9, source=COMPUTED),
            Fact(f"first row of the modular U {where}", row, u[0, 1:], "", 5.01e-9, source=COMPUTED),
            Fact(f"first pivot D_1 {where}", pivot, float(d[0, 0]), "kg m^2", 5.01e-9, source=COMPUTED),
            Fact(f"finger and thumb are not coupled {where}; largest entry", 0.0, float(np.abs(m[1:3, 3]).max()),
                 "kg m^2", source="Shah section 5.5.1"),
        ]  # fmt: skip
    remark = (
        "Modules {palm}, {finger, finger tip}, {thumb}: I = U D U^T, U unit upper block triangular (Shah eq. 5.32)."
    )
    table = {f"column {k + 1} [kg m^2]": robot.mass_matrix(middle)[:, k] for k in range(4)}
    return Outcome(facts, {"mass-matrix": table}, {}, {}, [remark])


STUDY = Study.of(
    "gripper",
    {
        "inverse": inverse("gripper", _torques, view=PLANE),
        "free-fall": free_fall_of_tree("gripper", 1.0, claims=_fall),
        "matrices": matrices,
    },
)

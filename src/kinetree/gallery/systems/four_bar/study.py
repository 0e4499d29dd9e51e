"""The four-bar mechanism of Shah, in its two variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....robot.robot import Robot
from ....simulation.records.record import Record
from ....studies.sources import COMPUTED
from ....studies.study import Fact, Study
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import groups, recut
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import Accelerations, Direct, directly, replay
from ..four_bar_linkage import BOOK

TIMES = np.array([0.0, 1.0, 2.0, 3.0]) / 3.0

TORQUES = {
    "four-bar": (2.009999, -0.018579, -1.679998, -0.069872),
    "four-bar-table-8-1": (1.544024, -0.032275, -1.214023, -0.056177),
}

EXTREMES = {"four-bar": (2.0100, -2.8363), "four-bar-table-8-1": (1.5440, -3.4918)}

ROCKER = (0.984373, 1.536642, 1.345368, 0.733610)

COUPLER = (4.314439, 4.012933, 3.592450, 4.012933)

FORCE_X = (-15.71413, 0.48893, -1.36068, -1.83874)

FORCE_Y = (45.53722, 22.82715, 36.85296, 67.79770)

TABLE_10_8 = ((0.0, 0.9844, 4.3144), (4.7124, 1.4045, 0.0))

Array = np.ndarray


def _stated(name: str) -> Callable[[PrescribedMechanism], Sequence[Fact]]:
    def claims(along: PrescribedMechanism) -> list[Fact]:
        mechanism = along.mechanism
        q, v, a = states = along.motion.states(TIMES)
        forces = mechanism.constraint_forces(*states)
        fine = along.torque_at(along.motion.grid(4001))[:, 0]
        when = "at t = 0, 1/3, 2/3, 1 s"
        facts = [
            Fact("one turn of the crank at 3 pi/2 rad/s takes 4/3 s", 4 / 3, 2 * np.pi / v[0, 0], "s", 1e-12,
                 source="Shah sections 8.3, 10.2.2"),
            Fact(f"angle theta2 of the rocker {when}", ROCKER, q[:, 1], "rad", 5.01e-7, source=COMPUTED),
            Fact(f"angle theta3 of the coupler {when}", COUPLER, q[:, 2], "rad", 5.01e-7, source=COMPUTED),
            Fact("rates of theta2, theta3 at the start", (1.404477, 0.0), v[0, 1:], "rad/s", 5.01e-7, source=COMPUTED),
            Fact("accelerations of theta2, theta3 at the start", (3.086670, -6.173340), a[0, 1:], "rad/s^2", 5.01e-7,
                 source=COMPUTED),
            Fact(f"driving torque {when}", TORQUES[name], forces.tau[:, 0], "N m", 5.01e-7, source=COMPUTED),
            Fact("largest and smallest torque of a turn", EXTREMES[name], (fine.max(), fine.min()), "N m", 5.01e-5,
                 source=COMPUTED),
        ]  # fmt: skip
        if name == "four-bar":
            world = forces.loop_wrenches_world[:, 0]
            elsewhere = recut(along, ["coupler_joint"])
            facts += [
                Fact(
                    "cut between crank and coupler, subsystem II is determinate, then I: sizes of the systems solved",
                    (2, 1),
                    groups(along),
                    source="Shah section 8.3",
                ),
                Fact(
                    "cut between rocker and coupler, both subsystems must be solved together",
                    (3,),
                    elsewhere.groups,
                    source="Shah section 8.3",
                ),
                Fact(
                    "the torque does not depend on the cut; largest difference",
                    1e-9,
                    elsewhere.difference,
                    "N m",
                    relation="<",
                ),
                Fact(
                    "the angle al2 as printed, with a minus before the root, closes the loop; gap at the start",
                    1e-9,
                    _printed_gap(-1.0),
                    "m",
                    relation="<",
                    source="Shah Table 10.5, section 10.2.2.1",
                    reason="a misprint: with a plus it does (next line), and gives the initial state of Table 10.8",
                ),
                Fact(
                    "with a plus; gap at the start",
                    1e-9,
                    _printed_gap(1.0),
                    "m",
                    relation="<",
                    source=COMPUTED,
                ),
                Fact(f"multiplier along the world's x {when}", FORCE_X, world[:, 3], "N", 5.01e-6, source=COMPUTED),
                Fact(f"multiplier along the world's y {when}", FORCE_Y, world[:, 4], "N", 5.01e-6, source=COMPUTED),
            ]
        return facts

    return claims


def _printed_gap(sign: float) -> float:
    """Return how far Table 10.5's angles leave the loop open with the crank at 0."""
    b1, b2, b3, pivot = BOOK
    p, q = b1 - pivot.x, 0.0 - pivot.y
    x, y = q / b1, p / b1
    z11 = (p * p + q * q + b3 * b3 - b2 * b2) / (2 * b3 * b1)
    z12 = (p * p + q * q + b2 * b2 - b3 * b3) / (2 * b2 * b1)
    al3 = 2 * np.arctan2(x - np.sqrt(x * x + y * y - z11 * z11), y + z11)
    al2 = 2 * np.arctan2(x + sign * np.sqrt(x * x + y * y - z12 * z12), y + z12)
    return float(abs(b2 * np.exp(1j * al2) + b3 * np.exp(1j * al3) - (p + 1j * q)))


def book_accelerations(tree: Robot) -> Accelerations:
    """Make accelerations as the book has them: multipliers first, with its Jacobian (Shah eq. 8.6-8.7, Table 10.9).

    The loop is written in world axes; angles are those of Table 10.5, absolute a1, a2 and a3.
    """
    b1, b2, b3, _ = BOOK

    def accelerations(q: Array, v: Array, tau: Array) -> Array:
        a, w = np.array([q[0], q[1], q[1] + q[2]]), np.array([v[0], v[1], v[1] + v[2]])
        (s1, s2, s3), (c1, c2, c3) = np.sin(a), np.cos(a)
        (d1, d2, d3), (e1, e2, e3) = w * np.sin(a), w * np.cos(a)
        j = np.array([[b1 * s1, -b2 * s2 - b3 * s3, -b3 * s3], [-b1 * c1, b2 * c2 + b3 * c3, b3 * c3]])
        j_rate = np.array([[b1 * e1, -b2 * e2 - b3 * e3, -b3 * e3], [b1 * d1, -b2 * d2 - b3 * d3, -b3 * d3]])
        inertia, phi = tree.mass_matrix(q), tau - tree.bias_force(q, v)
        per_force = np.linalg.solve(inertia, np.column_stack([j.T, phi]))
        forces = -np.linalg.solve(j @ per_force[:, :2], j @ per_force[:, 2] + j_rate @ v)
        return np.asarray(per_force[:, :2] @ forces + per_force[:, 2])

    return accelerations


def _replays(along: PrescribedMechanism, records: dict[str, Record]) -> list[Fact]:
    """Replay the book's way: its equations at its tolerances, directly, from exact and from printed states."""
    begin, law = along.motion.states(0.0), book_accelerations(along.mechanism.tree)
    exact = directly(along, begin.q, begin.v, 1e-5, 1e-7, law)
    facts = [
        Fact("integrated directly at the book's tolerances (1e-5, 1e-7) the error of theta1 is negligible, below a "
             "thousandth of a turn", 2e-3 * np.pi, _crank_error(exact), "rad", relation="<", source="Shah section 8.3"),
    ]  # fmt: skip
    return facts + (_printed_state(along, exact, law) if along.name == "four-bar" else [])


def _printed_state(along: PrescribedMechanism, exact: Direct, law: Accelerations) -> list[Fact]:
    begin, mechanism = along.motion.states(0.0), along.mechanism
    q, v = np.array(TABLE_10_8[0]), np.array(TABLE_10_8[1])
    rounded = directly(along, q, v, 1e-5, 1e-7, law)
    ours = directly(along, q, v, 1e-5, 1e-7)
    closed_q, closed_v = mechanism.project(q, v, fixed=["crank_joint"])
    closed = directly(along, closed_q, closed_v, 1e-10, 1e-12)
    return [
        Fact("that error, from the exact initial state", 1.7e-3, _crank_error(exact), "rad", 5.01e-5, source=COMPUTED),
        Fact("the loop comes open by so much, nothing keeping it closed", 5.5e-6, exact.gap, "m", 5.01e-8,
             source=COMPUTED),
        Fact("Table 10.8 is the initial state to four decimals; largest difference", 5.01e-5,
             float(max(np.abs(q - begin.q).max(), np.abs(v - begin.v).max())), "rad, rad/s", relation="<",
             source="Shah section 10.2.2.2"),
        Fact("error of theta1 from Table 10.8 as printed", 0.0985, _crank_error(rounded), "rad", 5e-4, source=COMPUTED),
        Fact("the same with the loop's equations in the joint's axes, as kinetree has them", 0.0985,
             _crank_error(ours), "rad", 5e-4, source=COMPUTED,
             reason="the printed state leaves the loop open by some micrometers, and how an open loop moves depends on "
             "how its equations are written; the motion multiplies that thousands of times. So kinetree refuses such "
             "states unless told otherwise, and project() closes them"),
        Fact("from the printed state, closed first", 0.0985, _crank_error(closed), "rad", relation="<"),
    ]  # fmt: skip


def _crank_error(moved: Direct) -> float:
    return float(np.abs(moved.q[:, 0] - 1.5 * np.pi * moved.time).max())


def book_study(name: str) -> Study:
    """Return the study of one of the two variants."""
    return Study.of(
        name,
        {"inverse": inverse(name, _stated(name)), "replay": replay(name, _replays), "free-fall": free_fall(name)},
    )


STUDY = book_study("four-bar")

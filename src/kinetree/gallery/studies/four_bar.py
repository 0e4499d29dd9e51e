"""The four-bar mechanism of 000, in its two variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...simulation.record import Record
from ..loop_analyses import Direct, Prescribed, directly, free_fall, inverse, replay
from ..study import Fact, Study

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
NOTES = "notes, 6"


def _stated(name: str) -> Callable[[Prescribed], Sequence[Fact]]:
    def claims(along: Prescribed) -> list[Fact]:
        mechanism = along.mechanism
        q, v, a = states = along.motion.states(TIMES)
        forces = mechanism.constraint_forces(*states)
        fine = along.torque_at(along.motion.grid(4001))[:, 0]
        when = "at t = 0, 1/3, 2/3, 1 s"
        facts = [
            Fact("one turn of the crank at 3 pi/2 rad/s takes 4/3 s", 4 / 3, 2 * np.pi / v[0, 0], "s", 1e-12,
                 source="000 L2817, L3424"),
            Fact(f"angle theta2 of the rocker {when}", ROCKER, q[:, 1], "rad", 5.01e-7, source=NOTES),
            Fact(f"angle theta3 of the coupler {when}", COUPLER, q[:, 2], "rad", 5.01e-7, source=NOTES),
            Fact("rates of theta2, theta3 at the start", (1.404477, 0.0), v[0, 1:], "rad/s", 5.01e-7, source=NOTES),
            Fact("accelerations of theta2, theta3 at the start", (3.086670, -6.173340), a[0, 1:], "rad/s^2", 5.01e-7,
                 source=NOTES),
            Fact(f"driving torque {when}", TORQUES[name], forces.tau[:, 0], "N m", 5.01e-7, source=NOTES),
            Fact("largest and smallest torque of a turn", EXTREMES[name], (fine.max(), fine.min()), "N m", 5.01e-5,
                 source=NOTES),
        ]  # fmt: skip
        if name == "four-bar":
            world = forces.loop_wrenches_world[:, 0]
            facts += [
                Fact(f"multiplier along x {when}", FORCE_X, world[:, 3], "N", 5.01e-6, source=NOTES),
                Fact(f"multiplier along y {when}", FORCE_Y, world[:, 4], "N", 5.01e-6, source=NOTES),
            ]
        return facts

    return claims


def _replays(along: Prescribed, records: dict[str, Record]) -> list[Fact]:
    """The book's own way: direct integration at its tolerances."""
    begin = along.motion.states(0.0)
    exact = directly(along, begin.q, begin.v, 1e-5, 1e-7)
    error = _crank_error(exact)
    facts = [
        Fact("integrated directly at the book's tolerances (1e-5, 1e-7) the error of theta1 is negligible: a "
             "thousandth of a turn or so", 1e-2, error, "rad", relation="<", source="000 L2834"),
    ]  # fmt: skip
    if along.name != "four-bar":
        return facts
    rounded = directly(along, np.round(begin.q, 4), np.round(begin.v, 4), 1e-5, 1e-7)
    sharp = directly(along, np.round(begin.q, 4), np.round(begin.v, 4), 1e-10, 1e-12)
    return [
        *facts,
        Fact("that error, from the exact initial state", 1.7e-3, error, "rad", tolerance=5e-5, source=NOTES,
             reason="at loose tolerances the error is an accident of the steps taken, and the motion multiplies it: "
             "SciPy's steps give this, others something else of the same order; at 1e-10 it is below 1e-7 rad"),
        Fact("the loop comes open by so much, nothing keeping it closed", 5.5e-6, exact.gap, "m", tolerance=5e-8,
             source=NOTES, reason="as above: an accident of the steps taken"),
        Fact("error of theta1 from the initial state of Table 10.8, printed with four decimals", 0.0985,
             _crank_error(rounded), "rad", tolerance=5e-5, source=NOTES,
             reason="the motion multiplies errors of the initial state some thousand times, so that nothing is left "
             f"of the answer's digits; at tolerances of 1e-10 it is {_crank_error(sharp):.2f} rad, so it is not the "
             "integrator. The conclusion stands: replay needs the exact initial state"),
    ]  # fmt: skip


def _crank_error(moved: Direct) -> float:
    return float(np.abs(moved.q[:, 0] - 1.5 * np.pi * moved.time).max())


STUDIES = tuple(
    Study.of(name, {"inverse": inverse(name, _stated(name)), "replay": replay(name, _replays),
                    "free-fall": free_fall(name)})
    for name in TORQUES
)  # fmt: skip

"""Free fall: a system moves under gravity only; energy must be conserved, and loops stay closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import Values, stated_if_any
from kinetree.studies.facts import Fact
from kinetree.studies.named_systems import load, start
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Analysis, Drawing, Outcome

from .common_facts import common
from .joint_curves import MOTIONS, panels

Measured = Callable[[Any, Record], Values]
"""A function from the robot and its fall to the values that the facts of a system name."""


def free_fall(
    name: str, seconds: float = 2.0, which: str = "motion", measured: Measured | None = None, until: str = ""
) -> Analysis:
    """Return the analysis for a mechanism with closed loops, released at rest.

    Parameters
    ----------
    name : str
    seconds : float
        Duration; a quick run takes a quarter of it.
    which : str
        Initial configuration, see :func:`kinetree.gallery.start`.
    measured : callable, optional
        Returns the extra quantities that the system's facts refer to.
    until : str
        Why the simulation ends at that time.
    """

    def run(quick: bool) -> Outcome:
        mechanism = load(name)
        record = simulate(
            mechanism, start(name, which), time=seconds / 4 if quick else seconds, samples=401, rtol=1e-9, atol=1e-11,
            progress=False,
        )  # fmt: skip
        own = stated_if_any(name, "free-fall", measured(mechanism, record) if measured else {})
        where = "the beginning of its prescribed motion" if which == "motion" else "the source's initial state"
        remark = f"All torques are zero. It starts at rest, from {where} (dop853, rtol 1e-9, atol 1e-11)."
        remarks = [remark, until] if until else [remark]
        facts = [*own, *balance(mechanism, record)]
        return Outcome(facts, {}, {"record": record}, fall_figures(mechanism, record), remarks)

    return run


def free_fall_of_tree(
    name: str, seconds: float, measured: Measured | None = None, *, within: float = 1e-9, rtol: float = 1e-11
) -> Analysis:
    """Return the analysis for a tree, released at rest from its start ``"free-fall"``.

    Parameters
    ----------
    name : str
    seconds : float
        Duration, also of a quick run, so that every fact can be checked.
    measured : callable, optional
        Returns the extra quantities that the system's facts refer to.
    within : float
        Largest drift of the energy, in joules.
    rtol : float
        Relative tolerance of the integrator.
    """

    def run(quick: bool) -> Outcome:
        robot, atol = load(name).with_backend("compiled"), 1e-2 * rtol
        record = simulate(
            robot, start(name, "free-fall"), time=seconds, samples=101 if quick else 401, rtol=rtol, atol=atol,
            progress=False,
        )  # fmt: skip
        facts = [
            *stated_if_any(name, "free-fall", measured(robot, record) if measured else {}),
            *common("free-fall of trees", drift=record.energy.error, within=within),
        ]  # fmt: skip
        remark = f"All torques are zero. It starts at rest (dop853, rtol {rtol:g}, atol {atol:g})."
        return Outcome(facts, {}, {"record": record}, fall_figures(robot, record), [remark])

    return run


def balance(mechanism: Robot, record: Record, within: float = 1e-6) -> list[Fact]:
    """Return the facts that loops stay closed and energy is conserved in a simulation."""
    gap = mechanism.closure_error(record.q)
    return common("balance", gap=gap, energy_error=record.energy.relative_error, within=within)


def fall_figures(robot: Robot, record: Record) -> dict[str, Drawing]:
    """Return figures of joints, energies, and the errors of the energy balance (and of loops)."""
    energy = record.energy
    potential = energy.potential - energy.potential[0]
    if robot.loops is not None:
        error, gap = np.maximum(np.abs(energy.error), 1e-16), np.maximum(robot.closure_error(record.q), 1e-16)
        left = PlotPanel("residual", [Curve("energy [J]", error), Curve("closure [m, rad]", gap)], log=True)
        below = "the error of their sum and the largest gap of the loops"
    else:
        left = PlotPanel("drift [J]", [Curve("of the sum", np.maximum(np.abs(energy.error), 1e-18))], log=True)
        below = "how far their sum drifts"
    energies = [
        PlotPanel("energy [J]", [Curve("kinetic", energy.kinetic), Curve("potential", potential),
                             Curve("sum", energy.kinetic + potential)]),
        left,
    ]  # fmt: skip
    moved = panels(robot, record.q, MOTIONS, most=6 if robot.loops is None else None)
    caption = f"Energies, the potential one from its value at the beginning; below, {below}."
    return {
        "motion": Curves(record.time, moved, "Joints in free fall."),
        "energy": Curves(record.time, energies, caption),
    }


def at(record: Record, times: Sequence[float]) -> Array:
    """Return the indices of a record's samples at these times."""
    found = np.array([int(np.argmin(np.abs(record.time - t))) for t in times])
    assert np.allclose(record.time[found], times, atol=1e-9)
    return found

"""The study of a ReDySim folder: its run, in ReDySim's columns, compared with ReDySim's stored outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from kinetree.errors import SimulationError
from kinetree.simulation.records.record import Record
from kinetree.spatial.arrays import Array
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome

from .stored import DIGITS, Stored
from .system import Redysim, RedysimRun

ODE_RTOL, ODE_ATOL = 1e-3, 1e-6
"""Default tolerances of MATLAB's integrators, unless ``initials.m`` sets others."""

GROWN = 100.0
"""How far an integrated result may be off at the end, as a multiple of its relative tolerance."""

MOST_CIRCLES = 25
"""The most circles of stored numbers in a plot."""

ENERGIES = ("potential", "kinetic", "actuators", "total", "ground")
MOMENTA = ("px", "py", "pz", "hx", "hy", "hz")


def analyses_of(system: Redysim) -> dict[str, Callable[[bool], Outcome]]:
    """Return the analyses of a folder by name."""
    return {system.analysis: partial(_outcome, system)}


def _outcome(system: Redysim, quick: bool) -> Outcome:
    """Run the folder; the times are ReDySim's, even for a quick run."""
    run = system.run()
    stored, words = system.stored(run)
    facts = [*_own_facts(system, run), *([] if stored is None else _stored_facts(system, run, stored))]
    beside = [] if stored is None else [f"Outputs that ReDySim has stored are those in {stored.place}."]
    names = columns_of(system, run)
    tables = {name: {"time": run.time} | dict(zip(names[name], x.T, strict=True)) for name, x in run.columns().items()}
    return Outcome(
        facts, tables, {} if run.record is None else {"record": run.record}, _figures(system, run, stored),
        [*system.notes(), *run.remarks, *words, *beside],
    )  # fmt: skip


def columns_of(system: Redysim, run: RedysimRun) -> dict[str, list[str]]:
    """Return the names of the columns of ReDySim's files, in its order."""
    robot, places = system.robot, system.laws.order.places
    q, v = ([names[k] for k in places] for names in (robot.q_names, robot.v_names))
    state = [f"q_{name}" for name in q] + [f"v_{name}" for name in v]
    if run.record is None:
        state += [f"a_{name}" for name in v]
        joints = [robot.v_names[k] for k in places if not system.folder.is_closed or system.is_driven(k)]
    else:
        state += ["work_of_ground"] * system.folder.has_ground + ["work_of_actuators"]
        state += [f"base_of_controller_{k + 1}" for k in range(run.state.shape[1] - len(state))]
        joints = [robot.v_names[k] for k in system.laws.order.joints]
    rows = 0 if run.multipliers is None else run.multipliers.shape[1]
    torques = [f"tau_{name}" for name in joints] + [f"multiplier_{k + 1}" for k in range(rows)]
    energies = list(ENERGIES[: 0 if run.energy is None else run.energy.shape[1]])
    return {"statevar": state, "tor": torques, "envar": energies, "mtvar": list(MOMENTA)}


# ---------------------------------------------------------------- facts


def _own_facts(system: Redysim, run: RedysimRun) -> list[Fact]:
    """Return the facts that must hold regardless of stored outputs."""
    if run.record is not None:
        return [_balance(system, run.record)]
    robot, order, n = system.robot, system.laws.order, system.robot.nv
    q, v, a = (np.array(order.ours(list(run.state[:, k * n : (k + 1) * n].T))).T for k in range(3))
    size = max(1.0, float(np.abs(a).max()))
    if system.folder.is_closed:
        j = system.rows_along(q, v)
        off = np.abs(j @ run.state[:, n : 2 * n, None]).max() / max(1.0, float(np.abs(v).max()))
        found = [Fact("velocities of the folder keep its loops closed; largest relative rate", 1e-6, off, relation="<")]
        if robot.loops is None:
            return found
    else:
        found = []
    tau = robot.inverse_dynamics(q, v, a)
    back = float(np.abs(robot.forward_dynamics(q, v, tau) - a).max()) / size
    text = "forward dynamics with these forces reproduces the accelerations; largest relative difference"
    return [*found, Fact(text, 1e-6, back, relation="<")]


def _balance(system: Redysim, record: Record) -> Fact:
    """Return the energy balance; the tolerances of a folder may be too coarse for it, which finer ones show."""
    text = "energy balance: kinetic + potential - works is constant; largest relative error"
    limit, found, reason = GROWN * _rtol(system), record.energy.relative_error, ""
    if not found < limit:
        again = _finer(system)
        if again is not None and again.energy.relative_error < limit:
            finer = again.energy.relative_error
            reason = f"the tolerances of initials.m are coarse; {GROWN:g} times finer it is {finer:.1g}"
    return Fact(text, limit, found, relation="<", reason=reason)


def _finer(system: Redysim) -> Record | None:
    """Return a simulation with finer tolerances, if that is possible."""
    said = system.initials
    try:
        return system.run(rtol=_rtol(system) / GROWN, atol=(said.atol or ODE_ATOL) / GROWN).record
    except SimulationError:
        return None


def _stored_facts(system: Redysim, run: RedysimRun, stored: Stored) -> list[Fact]:
    facts = []
    for name, ours in run.columns().items():
        theirs = stored.arrays.get(name)
        if theirs is None:
            continue
        off, size, limit = _difference(system, run, stored, ours, theirs)
        columns = f"{theirs.shape[1]} columns, whose largest number is {size:.3g}"
        text = f"{name}.dat of ReDySim: largest difference of {columns}"
        holds = off <= limit
        reason = "" if holds else _why(system, run, stored, name, off)
        facts.append(Fact(text, limit, off, relation="<", holds=holds, reason=reason, source="ReDySim"))
    return facts


def _difference(
    system: Redysim, run: RedysimRun, stored: Stored, ours: Array, theirs: Array
) -> tuple[float, float, float]:  # fmt: skip
    """Return the largest difference, the largest number, and the difference that can be explained."""
    count = min(ours.shape[1], theirs.shape[1])
    at_theirs = _sampled(run.time, ours[:, :count], stored.time)
    size = float(np.abs(theirs).max(initial=0.0))
    off = float(np.nanmax(np.abs(at_theirs - theirs[:, :count]), initial=0.0))
    share = DIGITS if run.record is None else GROWN * _rtol(system)
    return off, size, share * max(1.0, size)


def _why(system: Redysim, run: RedysimRun, stored: Stored, name: str, off: float) -> str:
    """Return why a difference is large, if that can be shown; otherwise an empty string."""
    if run.record is None:
        return ""
    if not system.has_motion and name == "tor":
        return "the motion is a spline through stored states, in place of the encrypted trajectory.p"
    again = _finer(system)
    change = 0.0 if again is None else float(np.abs(again.q - run.record.q).max())
    if change < 0.1 * off:
        return ""
    return (
        f"with tolerances {GROWN:g} times finer our own motion changes by {change:.2g}, too: those of initials.m "
        "do not determine it"
    )


def _rtol(system: Redysim) -> float:
    return ODE_RTOL if system.initials.rtol is None else system.initials.rtol


def _sampled(time: Array, x: Array, at: Array) -> Array:
    """Return columns interpolated at other times."""
    if len(time) == len(at) and np.abs(time - at).max() < 1e-9 * max(1.0, float(np.abs(time).max())):
        return x
    return np.column_stack([np.interp(at, time, column) for column in x.T])


# ---------------------------------------------------------------- figures


def _figures(system: Redysim, run: RedysimRun, stored: Stored | None) -> dict[str, Curves]:
    """Return plots in ReDySim's order: motion, torques, energy, momentum."""
    robot, order = system.robot, system.laws.order
    names, n = columns_of(system, run), robot.nv
    units = [robot.v_units[k] for k in order.places]
    places = [k for k in range(n) if not system.folder.is_floating or k >= 6] or list(range(n))
    panels = []
    for word, first, rate in (("position", 0, ""), ("velocity", n, "/s")):
        for unit in dict.fromkeys(units[k] for k in places):
            chosen = [first + k for k in places if units[k] == unit]
            panels.append(_panel(f"{word} [{unit}{rate}]", names, "statevar", run, stored, chosen))
    found = {"motion": Curves(run.time, panels, "The joints.")}
    if system.folder.is_floating:
        base = [
            _panel(label, names, "statevar", run, stored, range(first, first + 3))
            for label, first in (("base [m]", 0), ("base [rad]", 3))
        ]
        found["base"] = Curves(run.time, base, "The floating base.")
    kinds = {"rad": "torque [N m]", "m": "force [N]"}
    of = dict(zip([f"tau_{robot.v_names[k]}" for k in order.places], units, strict=True))
    torques = [
        _panel(kinds[unit], names, "tor", run, stored, [k for k, x in enumerate(names["tor"]) if of.get(x) == unit])
        for unit in dict.fromkeys(of[x] for x in names["tor"] if x in of)
    ]
    found["torques"] = Curves(run.time, torques, "The motion of the joints.")
    if run.energy is not None:
        panel = _panel("energy [J]", names, "envar", run, stored, range(run.energy.shape[1]))
        found["energy"] = Curves(run.time, [panel], "The energy balance.")
    if run.momentum is not None:
        momenta = [
            _panel(label, names, "mtvar", run, stored, range(first, first + 3))
            for label, first in (("momentum [kg m/s]", 0), ("angular momentum [kg m²/s]", 3))
        ]
        found["momentum"] = Curves(run.time, momenta, "Momentum, angular momentum about the origin.")
    return found


def _panel(
    label: str, names: dict[str, list[str]], file: str, run: RedysimRun, stored: Stored | None, chosen: Sequence[int]
) -> PlotPanel:  # fmt: skip
    x = run.columns()[file]
    curves = [Curve(names[file][k], x[:, k]) for k in chosen]
    theirs = None if stored is None else stored.arrays.get(file)
    if stored is not None and theirs is not None:
        some = np.unique(np.linspace(0, len(stored.time) - 1, MOST_CIRCLES).astype(int))
        circles = [theirs[some, k] for k in chosen if k < theirs.shape[1]]
        curves += [
            Curve("ReDySim" if k == 0 else "_ReDySim", y, stored.time[some], stated=True) for k, y in enumerate(circles)
        ]
    return PlotPanel(label, curves)

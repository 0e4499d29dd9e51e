"""Replay: the torques of inverse dynamics drive forward dynamics, which reproduces the motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import Values, stated_if_any
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Analysis, Outcome

from .common_facts import common
from .free_fall import balance
from .joint_curves import short
from .prescribed import PrescribedMechanism


def replay(
    name: str,
    measured: Callable[[PrescribedMechanism], Values] | None = None,
    *,
    share: float = 1.0,
    within: float = 1e-5,
) -> Analysis:
    """Return the analysis: forward dynamics driven by the torques of inverse dynamics, without control.

    Parameters
    ----------
    name : str
        A mechanism of the gallery.
    measured : callable, optional
        Returns the extra quantities that the system's facts refer to.
    share : float
        Part of the prescribed motion that is replayed.
    within : float
        Largest error of any joint, in radians or meters.
    """

    def run(quick: bool) -> Outcome:
        along = PrescribedMechanism(name, 401)
        record = replayed(along, share, rtol=1e-9, atol=1e-11)
        error = tracking_error(along, record)
        facts = [
            *stated_if_any(name, "replay", measured(along) if measured else {}),
            *common("replay", error=error, within=within),
            *balance(along.mechanism, record),
        ]
        names, units = [along.mechanism.v_names[k] for k in along.driven], along.mechanism.v_units
        labels = sorted({"position [m]" if units[k] == "m" else "angle [rad]" for k in along.driven})
        q, back = along.motion(record.time).q, _driven_positions(along, record)
        panels = [
            PlotPanel(labels[0] if len(labels) == 1 else "position [rad, m]",
                  [c for k, n in enumerate(names) for c in _compared(short(n), record.time, q[:, k], back[:, k], k)]),
            PlotPanel("error [rad, m]" if "m" in units else "error [rad]", [Curve("largest", np.maximum(error, 1e-16))],
                  log=True),
        ]  # fmt: skip
        caption = "Replayed without control (lines) and prescribed (circles); below, the largest error of any joint."
        remark = (
            "The torques of inverse dynamics, interpolated by splines of fifth degree through 401 samples, drive "
            "forward dynamics from the exact initial state. Nothing corrects errors (dop853, rtol 1e-9, atol 1e-11; "
            "loops are closed again after every step)."
        )
        return Outcome(facts, {}, {"record": record}, {"motion": Curves(record.time, panels, caption)}, [remark])

    return run


def _compared(name: str, time: Array, prescribed: Array, simulated: Array, number: int) -> list[Curve]:
    some = np.linspace(0, len(time) - 1, 13).astype(int)
    label = "_" if number else "prescribed"
    return [Curve(name, simulated), Curve(label, prescribed[some], time[some], stated=True)]


def _driven_positions(along: PrescribedMechanism, record: Record) -> Array:
    joints = [along.mechanism.model.joint(n) for n in along.motion.joints]
    return np.concatenate([record.q[:, joint.q_slice] for joint in joints], axis=-1)


def replayed(along: PrescribedMechanism, share: float = 1.0, **options: Any) -> Record:
    """Return a simulation driven by the torques of inverse dynamics."""
    table = along.torques
    first, last = along.motion.span
    begin = along.motion.states(first)
    span = (first, first + share * (last - first))
    return simulate(
        along.mechanism, begin.q, begin.v, time=span, controller=lambda t, q, v: table(t), samples=201, progress=False,
        **options,
    )  # fmt: skip


class Direct(NamedTuple):
    """A motion found by integrating accelerations directly, as the sources do: nothing keeps the loops closed."""

    time: Array
    q: Array
    gap: float
    """Gaps of the loops, in meters."""


Accelerations = Callable[[Array, Array, Array], Array]
"""A function from positions, velocities and joint forces to accelerations."""


def directly(
    along: PrescribedMechanism, q: Array, v: Array, rtol: float, atol: float, accelerations: Accelerations | None = None
) -> Direct:
    """Replay as the sources do it: Runge-Kutta of orders 4 and 5, no stabilization, no projection (Shah section 8.2.1).

    ``accelerations`` are kinetree's unless others are given.
    """
    from scipy.integrate import solve_ivp

    mechanism, nq = along.mechanism, along.mechanism.nq

    def ours(q: Array, v: Array, tau: Array) -> Array:
        return mechanism.forward_dynamics(q, v, tau, tolerance=np.inf)

    law = accelerations or ours

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[nq:], law(x[:nq], x[nq:], along.torques(t))])

    found = solve_ivp(rate, along.motion.span, np.concatenate([q, v]), rtol=rtol, atol=atol)
    moved = found.y[:nq].T
    lengths = [k for k, unit in enumerate(mechanism.constraint_units) if unit == "m"]
    return Direct(found.t, moved, float(np.linalg.norm(mechanism.loop_gaps(moved)[:, lengths], axis=-1).max()))


def tracking_error(along: PrescribedMechanism, record: Record) -> Array:
    """Return the largest error of any joint at each sample."""
    desired = along.motion.states(record.time).q
    return np.asarray(np.abs(along.mechanism.difference(desired, record.q)).max(axis=-1))

"""The five-bar manipulator of Saha section 3.5, which falls into a singular position."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import SingularError
from kinetree.robot.platform.platform import Platform
from kinetree.robot.robot import Robot
from kinetree.simulation.events import Event
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.studies.drawings import Sketch
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.named_systems import load, start
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study
from kinetree_books.parallel_dynamics import ParallelDynamics

from ...analyses.free_fall import balance, fall_figures
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import point
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay, replayed, tracking_error

DEGREE = np.pi / 180.0

LATEST = 3.0


def _stated(along: PrescribedMechanism) -> Values:
    mechanism, (q, _, _) = along.mechanism, along.states
    ends = np.array([q[0, [0, 2]], q[-1, [0, 2]]]) / DEGREE
    # Saha eq. 30-32: the mass matrix of the two arms by the three factors of the DeNOC
    state = q[len(q) // 2]
    factors = Platform(mechanism, "tip", orientation=False).denoc(state).mass_matrix
    reduced = mechanism.with_independent(along.motion.joints).reduced_mass_matrix(state)
    rest = along.torque_at(np.array(along.motion.span))
    gravity = _virtual_work(mechanism, q[[0, -1]])
    return {"ends": ends.ravel(), "mass_matrix": factors - reduced, "weights": rest - gravity}


def _factors(quick: bool) -> Outcome:
    """Compare dynamics from the three factors N_l N_c N_d alone with that of the loops (Saha section 3.4)."""
    mechanism, q = load("five-bar"), start("five-bar", "free-fall")
    platform = Platform(mechanism, "tip", orientation=False)
    dofs = list(platform.denoc(q).dofs)
    arms = mechanism.with_independent([mechanism.v_names[k] for k in dofs])
    rates, wanted = np.array([2.0, -1.5]), np.array([3.0, 4.0])
    found = platform.dynamics(q, rates)
    v = arms.velocities(q, rates)
    torque = mechanism.inverse_dynamics(q, v, arms.accelerations(q, v, wanted))[dofs]
    parts = {"M_l": found.m_l, "M_w": found.m_w, "M_e": found.m_e, "C": found.coriolis_matrix}

    facts = stated(
        "five-bar", "factors", bias=found.bias_force - arms.reduced_bias_force(q, v),
        coriolis=found.coriolis_matrix @ rates - found.n.T @ found.w_prime,
        drift=found.t_prime[-3:] - _drift(mechanism, q, v, found),
        inverse=found.inverse_dynamics(wanted) - torque, forward=found.forward_dynamics(torque) - wanted,
    )  # fmt: skip
    names = [mechanism.v_names[k] for k in dofs]
    table: dict[str, Any] = {"part [kg m^2/s]": [f"{key}, row {row}" for key in parts for row in names]}
    for k, name in enumerate(names):
        table[name] = [float(part[r, k]) for part in parts.values() for r in range(len(names))]
    remark = (
        "C = M_l + M_w + M_e: how twists pass on along the legs, how axes turn, how links turn (Saha eq. 16b, with N_c "
        f"between the two factors of a tree). The arms turn at {rates[0]:g} and {rates[1]:g} rad/s."
    )
    return Outcome(facts, {"parts-of-C": table}, {}, {}, [remark])


def _drift(mechanism: Robot, q: np.ndarray, v: np.ndarray, found: ParallelDynamics) -> np.ndarray:
    """Return the acceleration of the reference point of the last link's twist at zero acceleration of the arms."""
    arms = mechanism.with_independent([mechanism.v_names[k] for k in found.denoc.dofs])
    a = arms.accelerations(q, v, np.zeros(len(found.rates)))
    _, body, _ = found.denoc.rows[-1]
    last = found.denoc.legs[found.denoc.rows[-1][0]][-1]
    pose = mechanism.pose(q, body)
    arm = last.origin - pose[:3, 3]
    spin = mechanism.velocity(q, v, body, axes="aligned")[:3]
    rate = mechanism.acceleration(q, v, a, body, axes="aligned", classical=True)
    return np.asarray(rate[3:] + np.cross(rate[:3], arm) + np.cross(spin, np.cross(spin, arm)))


def _virtual_work(mechanism: Robot, q: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Return the derivatives of the potential energy by each arm's angle, by differences."""
    columns = []
    for name in ("arm_1_joint", "arm_2_joint"):
        joint, other = mechanism.joint(name), {"arm_1_joint": "arm_2_joint", "arm_2_joint": "arm_1_joint"}[name]
        at, still = joint.q_slice.start, mechanism.joint(other).q_slice.start
        moved = [mechanism.close(q, fixed={name: q[:, at] + sign * h, other: q[:, still]}) for sign in (1.0, -1.0)]
        energies = [mechanism.potential_energy(x) for x in moved]
        columns.append((energies[0] - energies[1]) / (2 * h))
    return np.stack(columns, axis=-1)


def _in_line(_: float, q: np.ndarray, v: np.ndarray) -> float:
    """Return the sine of the angle between the forearms."""
    return float(np.sin(q[0] + q[1] - q[2] - q[3]))


def _fall(quick: bool) -> Outcome:
    """Simulate its fall until the forearms are in line."""
    mechanism = load("five-bar")
    platform = Platform(mechanism, "tip", orientation=False)
    q0 = start("five-bar", "free-fall")
    options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "progress": False}
    stop = Event(_in_line, terminal=True, name="forearms in line")
    record = simulate(mechanism, q0, time=LATEST, events=stop, samples=np.arange(0.0, LATEST, 0.005), **options)
    when = record.events[-1]
    beyond = simulate(mechanism, q0, time=2.0, samples=801, **options)
    sight, away = (platform.singularities(x, tolerance=1e-4) for x in (when.q, q0))
    facts = stated(
        "five-bar", "free-fall", start=q0[[0, 2]] / DEGREE, time=when.time,
        position=f"type {sight.type}" if sight.singular else "not singular",
        away="singular" if away.singular else "not singular", phi=_phi(platform, when.q),
        beyond=beyond.energy.relative_error,
    )  # fmt: skip
    facts += balance(mechanism, record)
    remarks = [
        f"All torques are zero; it starts at rest. At {when.time:.4f} s it stops: both forearms are in line, and with "
        "the arms held the tip can still move across them. The arms are the source's independent coordinates, and the "
        "motion does not follow from them there (its matrix Phi is singular).",
        "kinetree says: " + str(sight).replace("\n", "; ") + ".",
    ]
    return Outcome(facts, {}, {"record": record, "beyond": beyond}, _figures(platform, record, beyond), remarks)


def _phi(platform: Platform, q: np.ndarray) -> str:
    try:
        jacobian = platform.denoc(q).jacobian
    except SingularError:
        return "singular"
    return "regular" if np.linalg.cond(jacobian) < 1e6 else "singular"


def _unstable(along: PrescribedMechanism) -> Values:
    """Replay all 20 s in one run."""
    whole = replayed(along, rtol=1e-9, atol=1e-11)
    error = tracking_error(along, whole)
    until = whole.time[np.argmax(error > 1e-3)] if error.max() > 1e-3 else whole.time[-1]
    seen = (error > 1e-9) & (error < 1e-2) & (whole.time < until)
    rate = np.polyfit(whole.time[seen], np.log10(error[seen]), 1)[0]
    return {"error": error, "tenfold": 1.0 / rate, "until": until}


def _figures(platform: Platform, record: Record, beyond: Record) -> dict[str, Any]:
    mechanism = platform.mechanism
    some = [len(record) - 1, *np.linspace(0, len(record) - 1, 6).astype(int)[:-1]]
    closed = mechanism.close(beyond.q)
    margin = platform.margins(closed)["forward"]
    end = record.time[-1]
    return {
        "mechanism": Sketch(
            mechanism, record.q[some], {"path of tip": point(mechanism, record.q, "tip")},
            "The singular position at which the source's simulation stops, and (faint) the fall to it.",
        ),
        **fall_figures(mechanism, record),
        "margin": Curves(
            beyond.time,
            [
                PlotPanel("distance from singularity", [Curve("margin, 0 is singular", margin)]),
                PlotPanel("angle [rad]", [Curve(f"arm {k + 1}", beyond.q[:, 2 * k]) for k in range(2)]),
            ],
            f"The margin vanishes at {end:.3f} s, where the source stops; multipliers carry the motion on.",
        ),
    }  # fmt: skip


STUDY = Study.of(
    "five-bar",
    {
        "inverse": inverse("five-bar", _stated),
        "replay": replay("five-bar", _unstable, share=0.3, within=1e-3),
        "free-fall": _fall,
        "factors": _factors,
    },
)

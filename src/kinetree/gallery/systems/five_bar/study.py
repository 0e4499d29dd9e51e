"""The five-bar manipulator of Saha section 3.5, which falls into a singular position."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import SingularError
from ....robot.platform.parallel_dynamics import ParallelDynamics
from ....robot.platform.platform import Platform
from ....robot.robot import Robot
from ....simulation.events import Event
from ....simulation.records.record import Record
from ....simulation.simulator import simulate
from ....studies.drawings import Sketch
from ....studies.named_systems import load, start
from ....studies.plots import Curve, Curves, PlotPanel
from ....studies.study import Fact, Outcome, Study
from ...analyses.free_fall import balance, fall_figures
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import groups, point, sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay, replayed, tracking_error

DEGREE = np.pi / 180.0

LATEST = 3.0


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, (q, v, _) = along.mechanism, along.states
    ends = np.array([q[0, [0, 2]], q[-1, [0, 2]]]) / DEGREE
    # Saha eq. 30-32: the mass matrix of the two arms by the three factors of the DeNOC
    state = q[len(q) // 2]
    factors = Platform(mechanism, "tip", orientation=False).denoc(state).mass_matrix
    reduced = mechanism.with_independent(along.motion.joints).reduced_mass_matrix(state)
    rest = along.torque_at(np.array(along.motion.span))
    gravity = _virtual_work(mechanism, q[[0, -1]])
    return [
        Fact("moving links, joints, loops", (4, 5, 1), sizes(mechanism), source="Saha section 3.5"),
        Fact("both legs must be solved together: unknowns", (4,), groups(along)),
        Fact("arm 1 goes from 30 to 90 degrees, arm 2 from 30 to 70.3", (30.0, 30.0, 90.0, 70.3), ends.ravel(),
             "degrees", 1e-9, source="Saha eq. 35"),
        Fact("it starts and stops at rest; largest rate", 1e-12, float(np.abs(v[[0, -1]]).max()), "rad/s",
             relation="<", source="Saha eq. 22"),
        Fact("mass matrix by the three factors N_l N_c N_d is that in independent coordinates; largest difference",
             1e-12, float(np.abs(factors - reduced).max()), "kg m^2", relation="<", source="Saha eq. 30-32"),
        Fact("at rest at both ends the torques are the virtual work of the weights; largest difference", 1e-6,
             float(np.abs(rest - gravity).max()), "N m", relation="<"),
    ]  # fmt: skip


def _factors(quick: bool) -> Outcome:
    """Compute dynamics from the three factors N_l N_c N_d alone, beside that of the loops (Saha section 3.4)."""
    mechanism, q = load("five-bar"), start("five-bar", "free-fall")
    platform = Platform(mechanism, "tip", orientation=False)
    dofs = list(platform.denoc(q).dofs)
    arms = mechanism.with_independent([mechanism.v_names[k] for k in dofs])
    rates, wanted = np.array([2.0, -1.5]), np.array([3.0, 4.0])
    found = platform.dynamics(q, rates)
    v = arms.velocities(q, rates)
    torque = mechanism.inverse_dynamics(q, v, arms.accelerations(q, v, wanted))[dofs]
    parts = {"M_l": found.m_l, "M_w": found.m_w, "M_e": found.m_e, "C": found.coriolis_matrix}

    def off(text: str, difference: np.ndarray, unit: str, source: str) -> Fact:
        return Fact(f"{text}; largest difference", 1e-10, float(np.abs(difference).max()), unit, relation="<",
                    source=source)  # fmt: skip

    facts = [
        off("C theta' and gravity are those in independent coordinates",
            found.bias_force - arms.reduced_bias_force(q, v), "N m", "Saha eq. 16a"),
        off("C theta' is N^T w', the wrenches at zero acceleration",
            found.coriolis_matrix @ rates - found.n.T @ found.w_prime, "N m", "Saha eq. 16b-c"),
        off("t' is the rate of the twists at zero acceleration: that of the tip, by its Jacobian",
            found.t_prime[-3:] - _drift(mechanism, q, v, found), "m/s^2", "Saha eq. 16c"),
        off("torques for accelerations are those of the loops", found.inverse_dynamics(wanted) - torque, "N m",
            "Saha section 3.4"),
        off("torques give these accelerations back", found.forward_dynamics(torque) - wanted, "rad/s^2",
            "Saha section 3.4"),
    ]  # fmt: skip
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
    """Return the acceleration at zero acceleration of the arms of the point that the last link's twist is of."""
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
    """Return change of the potential energy with each arm's angle, by differences."""
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
    """Let it fall until the forearms are in line."""
    mechanism = load("five-bar")
    platform = Platform(mechanism, "tip", orientation=False)
    q0 = start("five-bar", "free-fall")
    options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "progress": False}
    stop = Event(_in_line, terminal=True, name="forearms in line")
    record = simulate(mechanism, q0, time=LATEST, events=stop, output=np.arange(0.0, LATEST, 0.005), **options)
    when = record.events[-1]
    beyond = simulate(mechanism, q0, time=2.0, output=801, **options)
    facts = [
        Fact("starts with arm 1 at 80 and arm 2 at 70 degrees", (80.0, 70.0), q0[[0, 2]] / DEGREE, "degrees", 1e-9,
             source="Saha eq. 36"),
        Fact("the simulation stops after about 1.4 s in a singular position", 1.4, when.time, "s", 0.05,
             source="Saha, below eq. 36"),
        *_singular(platform, when.q),
        *balance(mechanism, record),
        Fact("the multipliers stay regular there, so it can be simulated beyond: at 2 s, relative error of the energy",
             1e-6, beyond.energy.relative_error, relation="<"),
    ]  # fmt: skip
    sight = platform.singularities(when.q, tolerance=1e-4)
    remarks = [
        f"All torques are zero; it starts at rest. At {when.time:.4f} s it stops: both forearms are in line, and with "
        "the arms held the tip can still move across them. The arms are the source's independent coordinates, and the "
        "motion does not follow from them there (its matrix Phi is singular).",
        "kinetree says: " + str(sight).replace("\n", "; ") + ".",
    ]
    return Outcome(facts, {}, {"record": record, "beyond": beyond}, _figures(platform, record, beyond), remarks)


def _singular(platform: Platform, q: np.ndarray) -> list[Fact]:
    """Show what is special about the position it stops in."""
    sight = platform.singularities(q, tolerance=1e-4)
    away = platform.singularities(start("five-bar", "free-fall"), tolerance=1e-4)
    return [
        Fact("that position is singular, of type 2: the tip gains a freedom", "type 2",
             f"type {sight.type}" if sight.singular else "not singular", source="Saha, below eq. 36"),
        Fact("the start is not", "not singular", "singular" if away.singular else "not singular"),
        Fact("there the matrix Phi of the DeNOC is", "singular", _phi(platform, q), source="Saha eq. 29, section 3.2"),
    ]  # fmt: skip


def _phi(platform: Platform, q: np.ndarray) -> str:
    try:
        jacobian = platform.denoc(q).jacobian
    except SingularError:
        return "singular"
    return "regular" if np.linalg.cond(jacobian) < 1e6 else "singular"


def _unstable(along: PrescribedMechanism, records: dict[str, Record]) -> list[Fact]:
    """Replay all 20 s at once."""
    whole = replayed(along, rtol=1e-9, atol=1e-11)
    error = tracking_error(along, whole)
    until = whole.time[np.argmax(error > 1e-3)] if error.max() > 1e-3 else whole.time[-1]
    seen = (error > 1e-9) & (error < 1e-2) & (whole.time < until)
    rate = np.polyfit(whole.time[seen], np.log10(error[seen]), 1)[0]
    return [
        Fact("all 20 s of the motion come back without control; largest error", 1e-3, float(error.max()), "rad",
             relation="<", reason="the arms stand upright like inverted pendulums, so that errors grow, tenfold every "
             f"{1.0 / rate:.1f} s here: it comes back until {until:.1f} s. The source replays nothing; below are the "
             "first 6 s"),
    ]  # fmt: skip


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

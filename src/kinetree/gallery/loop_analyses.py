"""Analyses that all mechanisms with closed loops have in common: inverse dynamics, replay, free fall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..model.tree import BASE
from ..model.units import FORCE_OF
from ..robot.mechanism import Mechanism
from ..simulation.records.record import Record
from ..simulation.simulate import simulate
from . import load, start
from .along import NINE_POINTS, Along
from .report import columns
from .sketch import OBLIQUE, PLANE, Sketch, attachments
from .study import Fact, Outcome
from .style import Curve, Curves, Panel

Array = np.ndarray

METHODS = ("reduced", "f_matrix", "subsystems")


# ------------------------------------------------------------------ along the prescribed motion


class Prescribed(Along):
    """A mechanism along its prescribed motion: everything that acts in it, sample by sample."""

    stencil = NINE_POINTS

    @cached_property
    def mechanism(self) -> Mechanism:
        """The system."""
        assert isinstance(self.robot, Mechanism)
        return self.robot

    @cached_property
    def forces(self) -> Any:
        """Actuator forces, multipliers, reactions."""
        return self.mechanism.constraint_forces(*self.states)

    @cached_property
    def driven(self) -> list[int]:
        """Which entries of v and tau are driven."""
        return [int(k) for k in np.flatnonzero(self.mechanism.driven)]

    @cached_property
    def torques(self) -> Callable[[float], Array]:
        """All joint forces as splines of fifth degree through the samples."""
        from scipy.interpolate import make_interp_spline

        return make_interp_spline(self.time, self.forces.tau, k=5)  # type: ignore[no-any-return]

    def torque_at(self, times: Any) -> Array:
        """Of the driven joints, at other times."""
        return np.asarray(super().torque_at(times)[..., self.driven])


def _mechanism(name: str) -> Mechanism:
    robot = load(name)
    assert isinstance(robot, Mechanism)
    return robot


Claims = Callable[[Prescribed], Sequence[Fact]]
"""What the source states about a system along its motion."""


def inverse(
    name: str, claims: Claims | None = None, more: Callable[[Prescribed], dict[str, Any]] | None = None
) -> Callable[[bool], Outcome]:
    """Inverse dynamics along the prescribed motion.

    Parameters
    ----------
    name : str
        A mechanism of the gallery.
    claims : callable, optional
        Facts of the source.
    more : callable, optional
        Further figures.
    """

    def run(quick: bool) -> Outcome:
        along = Prescribed(name, 101 if quick else 401)
        stated = list(claims(along)) if claims else []
        figures = _inverse_figures(along) | (more(along) if more else {})
        remark = f"Prescribed is {along.motion.what}; all other joints follow from the loops."
        return Outcome([*stated, *_agreement(along)], _inverse_tables(along), {}, figures, [remark])

    return run


def _agreement(along: Prescribed) -> list[Fact]:
    """What must be true of every mechanism."""
    mechanism, states, tau = along.mechanism, along.states, along.forces.tau
    size = np.abs(tau).max()
    ways = [mechanism.inverse_dynamics(*states, method=method) for method in METHODS[1:]]
    difference = max(float(np.abs(way - tau).max()) for way in ways) / size
    a = mechanism.forward_dynamics(states.q, states.v, tau)
    back = float(np.abs(a - states.a).max() / (1.0 + np.abs(states.a).max()))
    report = mechanism.mobility(states.q[len(states.q) // 3])
    return [
        Fact("degrees of freedom by rank of the constraints, as many as driven joints",
             len(along.driven), report.freedoms),
        Fact("loops along the prescribed motion, largest gap", 1e-12, float(mechanism.closure_error(states.q).max()),
             "m, rad", relation="<"),
        Fact("torques by three methods: reduced, one F-matrix, subsystem recursion; largest relative difference",
             1e-9, difference, relation="<"),
        Fact("forward dynamics with these torques gives the accelerations back; largest relative difference",
             1e-8, back, relation="<"),
        Fact("power of the actuators is the rate of the energy; largest relative difference",
             1e-8, along.power_error, relation="<"),
    ]  # fmt: skip


def groups(along: Prescribed) -> tuple[int, ...]:
    """Sizes of the systems of equations that the subsystem recursion solves, one after the other."""
    order = along.mechanism.constraint_forces(*along.motion.states(along.time[1:2]), method="subsystems").order
    assert order is not None
    return order.sizes


def cuts_by_rule(mechanism: Mechanism) -> str:
    """Joints that are cut where every body hangs on the path with the fewest freedoms (000 L2850)."""
    other = mechanism.with_cuts(rule="minimum_dof")
    assert isinstance(other, Mechanism)
    return ", ".join(other.loop_names)


def sizes(mechanism: Mechanism) -> tuple[int, int, int]:
    """Moving links, joints and loops."""
    loops = len(mechanism.model.loops)
    return len(mechanism.model.bodies), len(mechanism.model.joints) + loops, loops


class Recut(NamedTuple):
    """A planar mechanism with its loops cut elsewhere, along the same motion."""

    groups: tuple[int, ...]
    """Sizes of the systems of equations of its subsystem recursion."""
    difference: float
    """Largest difference of the driving torques."""


def recut(along: Prescribed, cuts: Sequence[str], count: int = 21) -> Recut:
    """Inverse dynamics with other joints cut; joints of the new tree are read off the bodies' places."""
    mechanism, driven = along.mechanism, along.motion.joints
    times = along.motion.grid(count)
    q, rates, accelerations = along.motion.states(times).q, *along.motion(times)[1:]
    other = _mechanism(along.name).with_cuts(cuts)
    assert isinstance(other, Mechanism)
    other = other.with_independent(driven)
    q_other = np.stack([_angle(mechanism, q, other, k) for k in range(len(other.joint_names))], axis=-1)
    v_other = other.velocities(q_other, rates)
    a_other = other.accelerations(q_other, v_other, accelerations)
    forces = other.constraint_forces(q_other, v_other, a_other, method="subsystems")
    tau = forces.tau[:, [other.joint(name).v_slice.start for name in driven]]
    assert forces.order is not None
    return Recut(forces.order.sizes, float(np.abs(tau - along.torque_at(times)).max()))


def _angle(mechanism: Mechanism, q: Array, other: Mechanism, k: int) -> Array:
    """The angle of a joint of another tree of the same mechanism, in a configuration of the first."""
    joint = other.model.joints[k]
    parent = np.eye(3) if joint.parent == BASE else mechanism.pose(q, other.body_names[joint.parent])[:, :3, :3]
    seen = np.swapaxes(parent @ joint.placement.rotation, -1, -2) @ mechanism.pose(q, other.body_names[k])[:, :3, :3]
    return np.asarray(np.arctan2(seen[:, 1, 0], seen[:, 0, 0]))


def block(along: Prescribed, loop: str, joints: Sequence[str]) -> float:
    """The largest entry, along the motion, of the loop Jacobian between a loop and some joints."""
    mechanism = along.mechanism
    rows = [k for k, name in enumerate(mechanism.constraint_names) if name.startswith(f"{loop}:")]
    entries = [k for name in joints for k in range(*mechanism.model.joint(name).v_slice.indices(mechanism.nv))]
    return float(np.abs(mechanism.loop_jacobian(along.states.q)[:, rows][..., entries]).max())


def point(mechanism: Mechanism, q: Array, body: str, place: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """A point of a body (or the origin of a frame) in space."""
    return np.asarray(mechanism.pose(q, body)[..., :3, :] @ np.array([*place, 1.0]))


def _inverse_tables(along: Prescribed) -> dict[str, dict[str, Array]]:
    mechanism, forces = along.mechanism, along.forces
    names, q_units, v_units = mechanism.v_names, mechanism.q_units, mechanism.v_units
    time = {"time [s]": along.time}
    moving = time | dict(columns("position", mechanism.q_names, along.states.q, q_units))
    moving |= dict(columns("velocity", names, along.states.v, [f"{u}/s" for u in v_units]))
    moving |= dict(columns("acceleration", names, along.states.a, [f"{u}/s^2" for u in v_units]))
    acting = [names[k] for k in along.driven]
    torques = dict(
        columns("actuator", acting, forces.tau[:, along.driven], [mechanism.tau_units[k] for k in along.driven])
    )
    units = [FORCE_OF[unit] for unit in mechanism.constraint_units]
    multipliers = dict(columns("multiplier", list(forces.names), forces.multipliers, units))
    return {
        "motion": moving,
        "torques": time | torques,
        "multipliers": time | multipliers,
        "reactions": time | _reactions(along),
    }


def _reactions(along: Prescribed) -> dict[str, Array]:
    """Six numbers per joint: those of the tree in body axes, those that are cut in the moving frame."""
    mechanism, forces = along.mechanism, along.forces
    parts = zip(
        [*mechanism.joint_names, *mechanism.loop_names],
        [*np.moveaxis(forces.joint_wrenches, 1, 0), *np.moveaxis(forces.loop_wrenches, 1, 0)],
        strict=True,
    )
    made: dict[str, Array] = {}
    for name, wrench in parts:
        for k, label in enumerate(("moment x", "moment y", "moment z", "force x", "force y", "force z")):
            made[f"{name} {label} [{'N m' if k < 3 else 'N'}]"] = wrench[:, k]
    return made


def _inverse_figures(along: Prescribed) -> dict[str, Any]:
    mechanism, t = along.mechanism, along.time
    turning = [k for k, unit in enumerate(mechanism.q_units) if unit == "rad"]
    sliding = [k for k, unit in enumerate(mechanism.q_units) if unit == "m"]
    panels = [
        Panel(label, [Curve(_short(mechanism.q_names[k]), along.states.q[:, k]) for k in chosen])
        for label, chosen in (("angle [rad]", turning), ("position [m]", sliding))
        if chosen
    ]
    planar = _is_planar(mechanism, along.states.q)
    ghosts = 8 if len(mechanism.body_names) < 4 else 5 if planar else 3
    some = np.linspace(0, len(t) - 1, ghosts + 1).astype(int)[:-1]
    picture = Sketch(
        mechanism, along.states.q[some], _paths(along), f"At the start, and (faint) during {along.motion.what}.",
        PLANE if planar else OBLIQUE, 3.6 if planar else 4.4,
    )  # fmt: skip
    return {
        "mechanism": picture,
        "motion": Curves(t, panels, f"Joints during {along.motion.what}."),
        "torques": Curves(t, _torque_panels(along), "What the actuators do for this motion."),
        "multipliers": Curves(t, _multiplier_panels(along), "Forces and moments at the cut joints."),
        "reactions": Curves(
            t, [Panel("reaction [N]", _reaction_sizes(along))],
            f"Size of the force in every joint; {', '.join(_short(n) for n in mechanism.loop_names)} cut.",
        ),
    }  # fmt: skip


def _is_planar(mechanism: Mechanism, q: Array) -> bool:
    """Whether no body ever leaves the plane xy."""
    poses = np.stack([mechanism.pose(q, name) for name in mechanism.body_names])
    level = np.all(np.abs(poses[..., 2, :] - [0.0, 0.0, 1.0, 0.0]) < 1e-12)
    return bool(level) and bool(np.all(np.concatenate(attachments(mechanism))[:, 2] == 0.0))


def _paths(along: Prescribed) -> dict[str, Array]:
    """What the named frames draw."""
    frames = [frame.name for frame in along.mechanism.model.frames if frame.name not in along.mechanism.body_names]
    return {f"path of {_short(name)}": point(along.mechanism, along.states.q, name) for name in frames}


def _torque_panels(along: Prescribed) -> list[Panel]:
    units = along.mechanism.v_units
    panels = []
    for unit, label in (("rad", "torque [N m]"), ("m", "force [N]")):
        chosen = [k for k in along.driven if units[k] == unit]
        if chosen:
            curves = [Curve(_short(along.mechanism.v_names[k]), along.forces.tau[:, k]) for k in chosen]
            panels.append(Panel(label, curves))
    return panels


def _multiplier_panels(along: Prescribed) -> list[Panel]:
    forces = along.forces
    size = np.abs(forces.multipliers).max()
    seen = np.abs(forces.multipliers).max(axis=0) > 1e-9 * size
    panels = []
    for label, unit in (("force [N]", "m"), ("moment [N m]", "rad")):
        curves = [
            Curve(_short(name), forces.multipliers[:, k])
            for k, name in enumerate(forces.names)
            if seen[k] and along.mechanism.constraint_units[k] == unit
        ]
        if curves:
            panels.append(Panel(label, curves))
    return panels


def _reaction_sizes(along: Prescribed) -> list[Curve]:
    mechanism, forces = along.mechanism, along.forces
    sizes = np.concatenate([forces.joint_wrenches[..., 3:], forces.loop_wrenches[..., 3:]], axis=1)
    names = [*mechanism.joint_names, *mechanism.loop_names]
    return [Curve(_short(n), np.linalg.norm(sizes[:, k], axis=-1)) for k, n in enumerate(names)]


def _short(name: str) -> str:
    """A joint's name without the words every joint's has."""
    return name.replace("_joint", "").replace("_", " ").replace(": force", "").replace(": moment", "")


# ------------------------------------------------------------------ replay


def replay(
    name: str,
    claims: Callable[[Prescribed, dict[str, Record]], Sequence[Fact]] | None = None,
    *,
    share: float = 1.0,
    within: float = 1e-5,
) -> Callable[[bool], Outcome]:
    """Forward dynamics driven by the torques of inverse dynamics, without any control: the motion comes back.

    Parameters
    ----------
    name : str
    claims : callable, optional
        Facts of the source.
    share : float
        Part of the prescribed motion that is replayed.
    within : float
        Largest error of any joint, in radians or metres.
    """

    def run(quick: bool) -> Outcome:
        along = Prescribed(name, 401)
        record = replayed(along, share, rtol=1e-9, atol=1e-11)
        error = tracking_error(along, record)
        facts = list(claims(along, {"replay": record})) if claims else []
        facts += [
            Fact("the motion comes back; largest error of any joint", within, float(error.max()), "rad, m",
                 relation="<"),
            *balance(along.mechanism, record),
        ]  # fmt: skip
        names, units = [along.mechanism.v_names[k] for k in along.driven], along.mechanism.v_units
        labels = sorted({"position [m]" if units[k] == "m" else "angle [rad]" for k in along.driven})
        q, back = along.motion(record.time).q, _driven_positions(along, record)
        panels = [
            Panel(labels[0] if len(labels) == 1 else "position [rad, m]",
                  [c for k, n in enumerate(names) for c in _compared(_short(n), record.time, q[:, k], back[:, k], k)]),
            Panel("error [rad, m]" if "m" in units else "error [rad]", [Curve("largest", np.maximum(error, 1e-16))],
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


def _driven_positions(along: Prescribed, record: Record) -> Array:
    joints = [along.mechanism.model.joint(n) for n in along.motion.joints]
    return np.concatenate([record.q[:, joint.q_slice] for joint in joints], axis=-1)


def replayed(along: Prescribed, share: float = 1.0, **options: Any) -> Record:
    """A simulation driven by the torques of inverse dynamics."""
    table = along.torques
    first, last = along.motion.span
    begin = along.motion.states(first)
    span = (first, first + share * (last - first))
    return simulate(
        along.mechanism, begin.q, begin.v, time=span, controller=lambda t, q, v: table(t), output=201, progress=False,
        **options,
    )  # fmt: skip


class Direct(NamedTuple):
    """A motion found by integrating accelerations directly, as the sources do: nothing keeps the loops closed."""

    time: Array
    q: Array
    gap: float
    """How far loops have come open, in metres."""


Accelerations = Callable[[Array, Array, Array], Array]
"""From positions, velocities and joint forces."""


def directly(
    along: Prescribed, q: Array, v: Array, rtol: float, atol: float, accelerations: Accelerations | None = None
) -> Direct:
    """Replay as the sources do it: Runge-Kutta of orders 4 and 5, no stabilisation, no projection (000 L2786).

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


def tracking_error(along: Prescribed, record: Record) -> Array:
    """The largest error of any joint at each sample."""
    desired = along.motion.states(record.time).q
    return np.asarray(np.abs(along.mechanism.difference(desired, record.q)).max(axis=-1))


def balance(mechanism: Mechanism, record: Record, within: float = 1e-6) -> list[Fact]:
    """Whether loops stay closed and energy is kept in a simulation."""
    gap = float(mechanism.closure_error(record.q).max())
    return [
        Fact("loops stay closed; largest gap", 1e-8, gap, "m, rad", relation="<"),
        Fact("energy balance: kinetic + potential - work of actuators is constant; largest relative error",
             within, record.energy.relative_error, relation="<"),
    ]  # fmt: skip


# ------------------------------------------------------------------ free fall


def free_fall(
    name: str,
    seconds: float = 2.0,
    which: str = "motion",
    claims: Callable[[Mechanism, Record], Sequence[Fact]] | None = None,
    until: str = "",
) -> Callable[[bool], Outcome]:
    """Let go at rest: no actuator acts, gravity does.

    Parameters
    ----------
    name : str
    seconds : float
    which : str
        Where it starts, see :func:`kinetree.gallery.start`.
    claims : callable, optional
        Facts of the source.
    until : str
        Why it ends when it does.
    """

    def run(quick: bool) -> Outcome:
        mechanism = _mechanism(name)
        record = simulate(
            mechanism, start(name, which), time=seconds / 4 if quick else seconds, output=401, rtol=1e-9, atol=1e-11,
            progress=False,
        )  # fmt: skip
        facts = [*(claims(mechanism, record) if claims else ()), *balance(mechanism, record)]
        where = "the beginning of its prescribed motion" if which == "motion" else "the source's initial state"
        remark = f"All torques are zero. It starts at rest, from {where} (dop853, rtol 1e-9, atol 1e-11)."
        remarks = [remark, until] if until else [remark]
        return Outcome(facts, {}, {"record": record}, fall_figures(mechanism, record), remarks)

    return run


def fall_figures(mechanism: Mechanism, record: Record) -> dict[str, Any]:
    """Joints, energies, and how well both balance."""
    units = mechanism.q_units
    motions = [
        Panel(label, [Curve(_short(mechanism.q_names[k]), record.q[:, k]) for k, u in enumerate(units) if u == unit])
        for label, unit in (("angle [rad]", "rad"), ("position [m]", "m"))
        if unit in units
    ]
    energy = record.energy
    gap = np.maximum(mechanism.closure_error(record.q), 1e-16)
    error = np.maximum(np.abs(energy.error), 1e-16)
    potential = energy.potential - energy.potential[0]
    energies = [
        Panel("energy [J]", [Curve("kinetic", energy.kinetic), Curve("potential", potential),
                             Curve("sum", energy.kinetic + potential)]),
        Panel("residual", [Curve("energy [J]", error), Curve("closure [m, rad]", gap)], log=True),
    ]  # fmt: skip
    return {
        "motion": Curves(record.time, motions, "Joints in free fall."),
        "energy": Curves(record.time, energies, "Energies, the potential one from its value at the beginning; below, "
                         "the error of their sum and the largest gap of the loops."),
    }  # fmt: skip

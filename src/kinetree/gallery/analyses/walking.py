"""Analyses that all walking machines have in common: inverse dynamics on the ground, without feedback, with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import control
from ...contact.ground import SOURCE_SETS, Firm, Ground, HuntCrossley, PseudoCoulomb, from_source, whole_body
from ...model.describe import counted
from ...motion.basic_trajectories import Constant
from ...motion.walking.zero_moment_point import center_of_pressure, zero_moment_point
from ...simulation.records.record import Record
from ...simulation.simulator import simulate, simulate_prescribed
from ...studies.drawings import SIDE, Sketch
from ...studies.plots import Curve, Curves, PlotPanel
from ...studies.study import Analysis, Fact, Outcome, Study
from ..systems.walking_machine import Walker, walker
from .joint_curves import columns, panels, short

Array = np.ndarray

TOUCHING = 1e-3
"""Newtons above which a foot counts as standing."""

DEVIATION = 0.05
"""Radians by which a joint may be off before we say that it no longer follows."""


@dataclass(frozen=True)
class Statements:
    """What Shah says of a walking machine.

    Attributes
    ----------
    distance, angle : float
        Metres forward in a step; largest angle of the trunk in degrees.
    touchdown : float or None
        Seconds.
    energy : float
        Largest error of the total energy (appendix C), in joules.
    follows : float
        Seconds for which the machine follows without feedback (chapter 9).
    seconds : float
        How long it walks under control.
    sources : mapping
        Where these are said.
    feedforward_better : bool
        Whether feedforward is said to do slightly better than computed torque, or both equally well (Shah section 9.5).
    angle_rounding : float
        Half a unit of the angle's last digit.
    of_angle : callable
        Why the angle differs, if it does: made from an experiment.
    near : float
        Part of a distance by which it may differ from what is planned.
    """

    distance: float
    angle: float
    touchdown: float | None
    energy: float
    follows: float
    seconds: float
    sources: dict[str, str] = field(default_factory=dict)
    feedforward_better: bool = False
    angle_rounding: float = 0.5
    of_angle: Callable[[], str] = str
    near: float = 0.15

    def source(self, what: str) -> str:
        """Return where something is said."""
        return self.sources.get(what, "Shah chapter 7")


@cache
def machine(name: str) -> Walker:
    """Return one machine per name, so that what is compiled is kept."""
    return walker(name)


def walked(
    name: str,
    controller: control.Controller,
    seconds: float,
    samples: int,
    rtol: float = 1e-6,
    atol: float = 1e-8,
    *,
    off: Array | float = 0.0,
    ground: Ground | None = None,
) -> Record:
    """Let a machine walk from the beginning of a step, with its joints off the desired motion if wanted."""
    m = machine(name)
    q, v = m.start()
    q[m.base_freedoms :] += off
    return simulate(
        m.robot.with_backend("compiled"), q, v, time=seconds, controller=controller, ground=ground or m.ground,
        integrator="bdf", rtol=rtol, atol=atol, output=samples, progress=False,
    )  # fmt: skip


@cache
def fed_forward(name: str, seconds: float) -> Record:
    """Let it walk under feedforward control with the source's gains."""
    return walked(name, machine(name).feedforward(), seconds, _samples(seconds))


def _samples(seconds: float) -> int:
    return round(400 * seconds) + 1


@cache
def prescribed(name: str, seconds: float, samples: int | None = None) -> OnGround:
    """Let its joints do exactly what is desired: dynamics and ground move the trunk (Shah section 7.1.1)."""
    return OnGround(name, stepped(machine(name), seconds, samples))


def stepped(m: Walker, seconds: float, samples: int | None = None, **changed: Any) -> Record:
    """Let a machine do exactly what is desired, on its ground or on another (``ground=``), or with other parameters."""
    return simulate_prescribed(
        m.robot.with_backend("compiled"), m.walk, *m.base_start(), time=seconds, integrator="bdf", rtol=1e-6,
        atol=1e-8, output=samples or _samples(seconds), progress=False, **{"ground": m.ground} | changed,
    )  # fmt: skip


@cache
def on_other_ground(name: str, seconds: float, **numbers: float) -> OnGround:
    """Let it do the same on firm ground with other numbers: ``stiffness``, over-damping ``factor``, ``depth``."""
    m = machine(name)
    own = SOURCE_SETS[m.ground_set]
    stiffness, factor = (numbers.get(key, own[key]) for key in ("stiffness", "factor"))
    law = Firm.overdamped(stiffness, factor, m.robot.mass, depth=numbers.get("depth"))
    return OnGround(name, stepped(m, seconds, ground=replace(m.ground, normal=law)))


@dataclass(frozen=True)
class OnGround:
    """Inverse dynamics along the desired motion: the trunk's motion is integrated, joints are as desired."""

    name: str
    record: Record

    @cached_property
    def machine(self) -> Walker:
        """Which."""
        return machine(self.name)

    @property
    def time(self) -> Array:
        """Of the samples."""
        return self.record.time

    @property
    def q(self) -> Array:
        """Positions."""
        return self.record.q

    @property
    def v(self) -> Array:
        """Velocities."""
        return self.record.v

    @property
    def tau(self) -> Array:
        """Joint forces."""
        return self.record.tau

    @property
    def spot_forces(self) -> Array:
        """On every spot: (samples, spots, 3)."""
        return self.record.contact_forces

    @cached_property
    def spot_places(self) -> Array:
        """Where every spot is: (samples, spots, 3)."""
        poses = [(self.machine.robot.pose(self.q, s.frame), np.array([*s.point, 1.0])) for s in self.machine.spots]
        return np.stack([(pose @ point)[:, :3] for pose, point in poses], axis=1)

    @cached_property
    def foot_forces(self) -> Array:
        """On every foot: (samples, feet, 3)."""
        return _by_foot(self.machine, self.spot_forces)

    def touchdown(self) -> float:
        """Return when the first swinging foot lands in the first step."""
        return first_touch(self.machine, self.time, self.foot_forces)


def _by_foot(m: Walker, forces: Array) -> Array:
    legs = len(m.walk.legs)
    return np.asarray(forces.reshape(len(forces), legs, -1, 3).sum(axis=2))


def first_touch(m: Walker, time: Array, feet: Array) -> float:
    """Return when the first foot that swings in the first step lands."""
    period = m.walk.gait.period
    swinging = [k for k, leg in enumerate(m.walk.legs) if leg.group == 1]
    late = (time > 0.3 * period) & (time <= period)
    return min(float(time[np.argmax((feet[:, k, 2] > TOUCHING) & late)]) for k in swinging)


@dataclass(frozen=True)
class Trunk:
    """The trunk's motion out of coordinates."""

    forward: Array
    height: Array
    angles: Array

    @classmethod
    def of(cls, m: Walker, q: Array) -> Trunk:
        """Take the trunk's motion out of all coordinates."""
        if m.planar_base:  # angle, z, x
            return cls(q[:, 2], q[:, 1], np.degrees(q[:, :1]))
        return cls(q[:, 3], q[:, 5], np.degrees(q[:, :3]))

    def angle_by_step(self, time: Array, period: float) -> list[float]:
        """Return the largest angle in each whole step."""
        count = round(float(time[-1]) / period)
        bounds = [(k * period - 1e-9, (k + 1) * period + 1e-9) for k in range(count)]
        return [float(np.abs(self.angles[(time >= a) & (time <= b)]).max()) for a, b in bounds]

    @property
    def distance(self) -> float:
        """Metres forward."""
        return float(self.forward[-1] - self.forward[0])

    @property
    def largest_angle(self) -> float:
        """In degrees, of any Euler angle."""
        return float(np.abs(self.angles).max())


Claims = Callable[[OnGround], Sequence[Fact]]


def inverse(name: str, said: Statements, claims: Claims | None = None) -> Analysis:
    """Return the analysis: inverse dynamics of one step on firm ground."""

    def run(quick: bool) -> Outcome:
        period = machine(name).walk.gait.period
        along = prescribed(name, period)
        facts = [*_step_facts(along, said), *(claims(along) if claims else ()), *_ground_facts(along)]
        facts.append(_followed_by_feedback(along, fed_forward(name, period if quick else said.seconds)))
        remark = (
            "Joints move exactly as desired; the trunk's motion is integrated with the ground's forces (bdf, rtol "
            "1e-6, atol 1e-8), then the torques follow (Shah eq. 7.2)."
        )
        return Outcome(facts, _tables(along), {}, _inverse_figures(along), [remark])

    return run


def _step_facts(along: OnGround, said: Statements) -> list[Fact]:
    m, gait = along.machine, along.machine.walk.gait
    trunk = Trunk.of(m, along.q)
    facts = [
        Fact("distance forward in the first step", said.distance, trunk.distance, "m",
             said.near * said.distance, reason="the pendulum has all mass in the trunk, where the legs weigh half of "
             "it, and the first step begins on the planned motion, not on the one that it settles to: within "
             f"{said.near:.0%}",
             source=said.source("distance")),
        Fact("height of the trunk hardly changes; how much it does", 0.03, float(np.ptp(trunk.height)), "m",
             relation="<", source=said.source("distance")),
        Fact("largest angle of the trunk", said.angle, trunk.largest_angle, "degrees", said.angle_rounding,
             source=said.source("angle"), reason=said.of_angle()),
    ]  # fmt: skip
    if said.touchdown is not None:
        facts.append(
            Fact("touchdown of the swinging foot", said.touchdown, along.touchdown(), "s", 0.04,
                 reason="the trunk has sunk and turned a little, so that the foot meets the ground before the end of "
                 f"the step at {gait.period:g} s",
                 source=said.source("touchdown"))
        )  # fmt: skip
    return facts


def _ground_facts(along: OnGround) -> list[Fact]:
    """Return what must be true on any ground."""
    robot, feet = along.machine.robot, along.foot_forces
    torque = np.abs(along.tau[:, : along.machine.base_freedoms]).max()
    rate = robot.momentum_rate(along.q, along.v, along.record.a)[:, 3:] - robot.mass * robot.gravity
    pushed = along.spot_forces.sum(axis=1)
    return [
        Fact("the ground pushes and never pulls: smallest vertical reaction of a spot", -1e-12,
             float(along.spot_forces[..., 2].min()), "N", relation=">", source="Shah section 7.2.1"),
        Fact("nothing pushes the trunk but the ground: its generalized forces", 0.0, float(torque), "N, N m", 1e-12,
             source="Shah eq. 7.1"),
        Fact("the reactions are the weight and the rate of momentum of the whole machine; largest difference", 1e-5,
             float(np.abs(pushed - rate).max() / np.abs(feet).max()), "of the largest", relation="<"),
        Fact("the zero moment point of the motion is the center of pressure under the feet; largest distance", 1e-6,
             _apart(along), "m", relation="<", source="Shah eq. B.1"),
        Fact("motors and ground account for the energy; error of the balance, of the energy exchanged", 1e-4,
             along.record.energy.relative_error, "", relation="<", source="Shah appendix C"),
    ]  # fmt: skip


def _apart(along: OnGround) -> float:
    """Return how far the zero moment point is from the center of pressure, while a tenth of the weight rests."""
    robot = along.machine.robot
    moment_point = zero_moment_point(robot, along.q, along.v, along.record.a)
    pressure = center_of_pressure(along.spot_places, along.spot_forces)
    standing = along.spot_forces[..., 2].sum(axis=-1) > 0.1 * robot.mass * float(np.linalg.norm(robot.gravity))
    return float(np.abs(moment_point - pressure)[standing].max())


def _followed_by_feedback(along: OnGround, record: Record) -> Fact:
    """Compare a machine that moves by these torques and the source's feedback."""
    text = "a machine with these torques and the source's feedback does the same; largest difference of a coordinate"
    difference = float(np.abs(record.q[: len(along.time)] - along.q).max())
    return Fact(text, 1e-3, difference, "rad, m", relation="<")


def _tables(along: OnGround) -> dict[str, Any]:
    robot, n = along.machine.robot, along.machine.base_freedoms
    time = {"time [s]": along.time}
    trunk = dict(columns("trunk", robot.q_names[:n], along.q[:, :n], robot.q_units[:n]))
    joints = dict(columns("joint", robot.q_names[n:], along.q[:, n:], "rad"))
    torques = dict(columns("torque", robot.v_names[n:], along.tau[:, n:], "N m"))
    reactions = {
        f"foot {k + 1} {axis} [N]": along.foot_forces[:, k, i]
        for k in range(along.foot_forces.shape[1])
        for i, axis in enumerate("xyz")
    }
    return {"motion": time | trunk | joints, "torques": time | torques, "reactions": time | reactions}


def _inverse_figures(along: OnGround) -> dict[str, Any]:
    m, robot, t = along.machine, along.machine.robot, along.time
    some = np.linspace(0, len(t) - 1, 5).astype(int)
    turned = panels(robot, along.tau, {"rad": "torque [N m]"}, range(m.base_freedoms, robot.nv))
    feet = along.foot_forces
    named = [f"foot {k + 1}" for k in range(feet.shape[1])]
    reactions = [
        PlotPanel(f"{word} [N]", [Curve(name, feet[:, k, i]) for k, name in enumerate(named)])
        for word, i in (("upwards", 2), ("forward", 0))
    ]
    return {
        "system": Sketch(robot, along.q[some], {},
                         "At the start of a step and (faint) later, from the side.", SIDE, 4.2),
        "trunk": Curves(t, trunk_panels(m, along.q), "The trunk, from inverse dynamics along the desired motion."),
        "torques": Curves(t, turned, "Joint torques."),
        "reactions": Curves(t, reactions, "What the ground does to each foot; the peaks are touchdown."),
    }  # fmt: skip


def trunk_panels(m: Walker, q: Array) -> list[PlotPanel]:
    """Return the position and angles of the trunk."""
    trunk = Trunk.of(m, q)
    names = ["about y"] if m.planar_base else ["about y", "about x", "about z"]
    return [
        PlotPanel("forward [m]", [Curve("forward", trunk.forward)]),
        PlotPanel("height [m]", [Curve("height", trunk.height)]),
        PlotPanel("angle [degrees]", [Curve(name, trunk.angles[:, k]) for k, name in enumerate(names)]),
    ]


def open_loop(name: str, said: Statements, steps: float) -> Analysis:
    """Return the analysis: the torques of inverse dynamics drive it and nothing else does (Shah chapter 7).

    Parameters
    ----------
    steps : float
        How many steps to wait until it has left the desired motion.
    """

    def run(quick: bool) -> Outcome:
        m = machine(name)
        seconds = steps * m.walk.gait.period
        tolerances = ((1e-4, 1e-6), (1e-6, 1e-8))
        records = [
            walked(name, m.feedforward(0.0, 0.0), seconds, _samples(seconds), rtol, atol) for rtol, atol in tolerances
        ]
        errors = [joint_error(m, record) for record in records]
        left = [_left(record, error) for record, error in zip(records, errors, strict=True)]
        facts = [
            Fact(f"follows the desired joints to {DEVIATION:g} rad without feedback for at least", said.follows,
                 left[1], "s", relation=">", source=said.source("follows"),
                 reason="the book gives the time at which its curves part. What grows is the integrator's error, so "
                 f"that finer integration follows longer: at the book's tolerances (1e-4, 1e-6) until {left[0]:.2f} s"),
            Fact("in the end it leaves the desired motion: largest error of a joint", DEVIATION, float(errors[1].max()),
                 "rad", relation=">", source=said.source("follows")),
            Fact("finer integration follows longer: seconds gained", 0.0, left[1] - left[0], "s", relation=">"),
        ]  # fmt: skip
        curves = [
            Curve(f"rtol {rtol:g}", np.maximum(error, 1e-12), record.time)
            for (rtol, _), error, record in zip(tolerances, errors, records, strict=True)
        ]
        caption = "Largest error of a joint without feedback: errors of integration grow until the machine falls."
        figures = {"error": Curves(records[1].time, [PlotPanel("error [rad]", curves, log=True)], caption)}
        return Outcome(facts, {}, {"record": records[1]}, figures)

    return run


def joint_error(m: Walker, record: Record) -> Array:
    """Return the largest error of any joint at each sample."""
    return np.asarray(np.abs(record.q[:, m.base_freedoms :] - m.walk(record.time)[0]).max(axis=-1))


def _left(record: Record, error: Array) -> float:
    gone = error > DEVIATION
    return float(record.time[np.argmax(gone)]) if gone.any() else float("inf")


def feedforward(name: str, said: Statements, **limits: float) -> Analysis:
    """Return the analysis: walking under feedforward control (Shah section 9.2)."""

    def run(quick: bool) -> Outcome:
        m = machine(name)
        record = fed_forward(name, m.walk.gait.period if quick else said.seconds)
        return _controlled(m, record, said, m.feedforward_gains, "feedforward", **limits)

    return run


def computed_torque(name: str, said: Statements, **limits: float) -> Analysis:
    """Return the analysis: walking under computed-torque control (Shah section 9.1)."""

    def run(quick: bool) -> Outcome:
        m = machine(name)
        seconds = m.walk.gait.period if quick else said.seconds
        record = walked(name, m.computed_torque(), seconds, _samples(seconds))
        return _controlled(m, record, said, m.computed_torque_gains, "computed torque", **limits)

    return run


def _controlled(
    m: Walker, record: Record, said: Statements, gains: tuple[float, float], words: str, angle: float = 5.0
) -> Outcome:
    gait, seconds = m.walk.gait, float(record.time[-1])
    trunk = Trunk.of(m, record.q)
    planned = gait.speed * seconds
    steps = counted(round(seconds / gait.period), "step", "steps")
    facts = [
        Fact(f"walks forward for {seconds:g} s ({steps}): distance", planned, trunk.distance,
             "m", said.near * planned, source=said.source("control"),
             reason="feet slip a little on the pseudo-Coulomb ground and the trunk sways: within "
             f"{said.near:.0%} of the planned"),
        Fact("does not fall: how much the height of the trunk changes", 0.04, float(np.ptp(trunk.height)), "m",
             relation="<", source=said.source("control")),
        Fact("angles of the trunk vary slightly; the largest", angle, trunk.largest_angle, "degrees", relation="<",
             source=said.source("control")),
        Fact("joints follow the desired motion; largest error", 5e-3, float(joint_error(m, record).max()), "rad",
             relation="<", source=said.source("control")),
        Fact("the ground never pulls: smallest vertical reaction of a spot", -1e-12,
             float(record.contact_forces[..., 2].min()), "N", relation=">", source="Shah section 7.2.1"),
        Fact("error of the total energy, at most the source's", said.energy, float(np.ptp(record.energy.total)), "J",
             relation="<", source=said.source("energy")),
    ]  # fmt: skip
    facts += _bounded(trunk.angle_by_step(record.time, gait.period), said.source("control"))
    remark = (
        f"kp = {gains[0]:g}, kd = {gains[1]:g}; bdf, rtol 1e-6, atol 1e-8. The machine starts on the desired motion."
    )
    energy = record.energy
    parts = [
        Curve("kinetic", energy.kinetic), Curve("potential", energy.potential - energy.potential[0]),
        Curve("given to motors", -energy.actuators), Curve("given to the ground", -energy.ground),
        Curve("total", energy.total - energy.potential[0]),
    ]  # fmt: skip
    figures = {
        "trunk": Curves(record.time, trunk_panels(m, record.q), f"The trunk under {words} control."),
        "joints": Curves(record.time, _joint_panels(m, record), "Joints (lines) and the desired motion (circles)."),
        "energy": Curves(
            record.time, [PlotPanel("energy [J]", parts)], "Where the energy goes; the total is constant."
        ),
    }
    return Outcome(facts, {}, {"record": record}, figures, [remark])


def _bounded(angles: Sequence[float], source: str) -> list[Fact]:
    """Return that a walk of several steps does not sway more and more."""
    if len(angles) < 4:
        return []
    text = "the trunk does not sway more and more: largest angle in the second half of the steps over that in the first"
    half = len(angles) // 2
    return [Fact(text, 1.5, max(angles[half:]) / max(angles[:half]), "", relation="<", source=source)]


OFF = 0.02
"""Radians by which joints start off the desired motion, every other one the other way."""


def disturbed(name: str, said: Statements) -> Analysis:
    """Return the analysis: a step from joints off the desired motion, under both kinds of control."""

    def run(quick: bool) -> Outcome:
        m = machine(name)
        period = m.walk.gait.period
        off = OFF * np.where(np.arange(m.walk.n) % 2, 1.0, -1.0)
        laws = {"feedforward": m.feedforward(), "computed torque": m.computed_torque()}
        records = {key: walked(name, law, period, _samples(period), off=off) for key, law in laws.items()}
        errors = {
            key: np.sqrt(np.mean((r.q[:, m.base_freedoms :] - m.walk(r.time)[0]) ** 2, axis=-1))
            for key, r in records.items()
        }
        first, second = (float(np.sqrt(np.mean(e**2))) for e in errors.values())
        trunk = Trunk.of(m, records["computed torque"].q)
        facts = [
            _better(said, first, second),
            Fact("under computed torque the error of every joint dies out as e'' + kd e' + kp e = 0; largest "
                 "difference from its solution", 1e-4, _law_difference(m, records["computed torque"], off), "rad",
                 relation="<", source="Shah eq. 9.5"),
            Fact("and the machine does not fall; how much the height of the trunk changes", 0.06,
                 float(np.ptp(trunk.height)), "m", relation="<"),
        ]  # fmt: skip
        curves = [Curve(key, error) for key, error in errors.items()]
        caption = f"Root mean square of the joints' errors, from {OFF:g} rad at the start."
        figures = {"error": Curves(records["feedforward"].time, [PlotPanel("error [rad]", curves)], caption)}
        kept = {key.replace(" ", "-"): record for key, record in records.items()}
        return Outcome(facts, {}, kept, figures)

    return run


def _better(said: Statements, first: float, second: float) -> Fact:
    """Compare feedforward and computed torque as Shah section 9.5 does."""
    reason = (
        "the book judges by eye, from runs that start on the desired motion, where both follow to the integrator's "
        f"tolerance. From {OFF:g} rad off, errors over a step are {first:.2g} and {second:.2g} rad: feedforward is as "
        "stiff as kp says in N m/rad, computed torque that much per inertia"
    )
    if said.feedforward_better:
        text = "feedforward is slightly better than computed torque; its error over the other's"
        return Fact(text, 1.0, first / second, relation="<", source="Shah section 9.5", reason=reason)
    text = "feedforward and computed torque are equally good; smaller error over larger"
    ratio = min(first, second) / max(first, second)
    return Fact(text, 1.0, ratio, tolerance=0.25, source="Shah section 9.5", reason=reason)


def _law_difference(m: Walker, record: Record, off: Array) -> float:
    """Return how far joints' errors are from the solution of e'' + kd e' + kp e = 0 that starts with e' = 0."""
    kp, kd = m.computed_torque_gains
    t, half = record.time, 0.5 * kd
    root = np.sqrt(complex(half * half - kp)) if half * half != kp else None
    if root is None:
        shape = (1.0 + half * t) * np.exp(-half * t)
    else:
        shape = (np.exp(-half * t) * (np.cosh(root * t) + half / root * np.sinh(root * t))).real
    error = record.q[:, m.base_freedoms :] - m.walk(t)[0]
    return float(np.abs(error - shape[:, None] * off).max())


def dusty_ground(name: str, said: Statements) -> Analysis:
    """Return the analysis: one step on dusty ground (Shah eq. D.6)."""

    def run(quick: bool) -> Outcome:
        m = machine(name)
        period = m.walk.gait.period
        ground = from_source(m.ground_set, m.spots, m.robot.mass, dusty=True, dust=DUST)
        law = control.ComputedTorque(m.walk, *m.computed_torque_gains, senses=[ground])
        record = walked(name, law, period, _samples(period), ground=ground)
        outcome = _controlled(m, record, said, m.computed_torque_gains, "computed torque")
        remark = (
            f"The layer of dust is {DUST:g} m thick; the book does not say. It sinks in until the spring below bears."
        )
        return Outcome(outcome.facts, {}, outcome.records, outcome.figures, [*outcome.remarks, remark])

    return run


DUST = 0.01
"""Metres."""


def falling(name: str, seconds: float) -> Analysis:
    """Return the analysis: servos hold the joints softly, nobody steps, and it falls; any part may touch (Shah D.2)."""

    def run(quick: bool) -> Outcome:
        m = machine(name)
        q, v = m.start()
        ground = Ground(whole_body(m.robot), HuntCrossley(2e4, 1.0, 1), PseudoCoulomb(0.7, 500.0))
        law = control.PD(Constant(q[m.base_freedoms :]), 20.0, 3.0)
        record = simulate(
            m.robot.with_backend("compiled"), q, v, time=seconds, controller=law, ground=ground, integrator="bdf",
            rtol=1e-5, atol=1e-7, output=_samples(0.25 * seconds), progress=False,
        )  # fmt: skip
        trunk, lifted = Trunk.of(m, record.q), OnGround(name, record)
        frames = [(m.robot.pose(record.q, s.frame), np.array([*s.point, 1.0])) for s in ground.spots]
        lowest = min(float((pose @ point)[:, 2].min()) for pose, point in frames)
        up = record.contact_forces[..., 2]
        feet = {k for k, s in enumerate(ground.spots) if "foot" in s.frame or "toe" in s.frame or "heel" in s.frame}
        others = [k for k in range(len(ground.spots)) if k not in feet]
        facts = [
            Fact("it falls: angle of the trunk in the end", 60.0, float(np.abs(trunk.angles[-1]).max()), "degrees",
                 relation=">", source="Shah section D.2"),
            Fact("onto more than its feet: largest reaction of another part", 10.0, float(up[:, others].max()), "N",
                 relation=">", source="Shah section D.2"),
            Fact("no part of it goes through the ground: deepest", -0.06, lowest, "m", relation=">"),
            Fact("the ground never pulls: smallest vertical reaction of a spot", -1e-12, float(up.min()), "N",
                 relation=">"),
            Fact("it comes to rest: kinetic energy in the end over the largest", 0.01,
                 float(record.energy.kinetic[-1] / record.energy.kinetic.max()), "", relation="<"),
            Fact("and motors and ground account for all of the energy; error of the balance", 1e-4,
                 record.energy.relative_error, "", relation="<"),
        ]  # fmt: skip
        some = np.linspace(0, len(record) - 1, 6).astype(int)
        sketch = Sketch(m.robot, lifted.q[some], {}, "Falling, from the side.", SIDE, 4.2)
        figures: dict[str, Any] = {
            "fall": sketch,
            "trunk": Curves(record.time, trunk_panels(m, record.q), "The trunk as it falls."),
        }
        remark = f"{len(ground.spots)} spots: every joint, body and frame. Stiffness 2e4 N/m, mu 0.7."
        return Outcome(facts, {}, {"record": record}, figures, [remark])

    return run


def _joint_panels(m: Walker, record: Record) -> list[PlotPanel]:
    """Return the first leg of each group, with the desired motion at some instants."""
    n, robot = m.base_freedoms, m.robot
    desired = m.walk(record.time)[0]
    some = np.linspace(0, len(record.time) - 1, 25).astype(int)
    made, first = [], 0
    for leg in m.walk.legs[:2]:
        chosen = range(first, first + len(leg.coordinates))
        curves = [Curve(short(robot.v_names[n + k]), record.q[:, n + k]) for k in chosen]
        circles = [Curve("desired", desired[some, k], record.time[some], stated=True) for k in chosen]
        made.append(PlotPanel("angle [rad]", [*curves, *circles[:1], *[c._replace(name="_") for c in circles[1:]]]))
        first += len(leg.coordinates)
    return made


def initial_speed(along: OnGround, stated: float, place: str) -> Fact:
    """Compare the speed at which the pendulum must start."""
    speed = float(along.machine.walk.gait.initial_speed[0])
    return Fact("initial speed of the trunk by the inverted pendulum", stated, speed, "m/s", 5.01e-7, source=place)


def landing_jump(along: OnGround) -> float:
    """Return the largest change of a torque between neighbouring samples about touchdown."""
    near = np.abs(along.time - along.touchdown()) < 0.02
    return float(np.abs(np.diff(along.tau, axis=0))[near[1:]].max())


def walking_study(
    name: str,
    said: Statements,
    claims: Claims,
    steps: float,
    angle: float,
    more: Mapping[str, Analysis] | None = None,
) -> Study:
    """Return the study of a walking machine.

    Parameters
    ----------
    name : str
    said : Statements
        What Shah says of it.
    claims : callable
        Further facts, of inverse dynamics.
    steps : float
        How many steps to wait until it has left the desired motion without feedback.
    angle : float
        Degrees by which the trunk may turn under control.
    more : mapping, optional
        Further analyses.
    """
    return Study.of(
        name,
        {
            "inverse": inverse(name, said, claims),
            "open-loop": open_loop(name, said, steps),
            "feedforward": feedforward(name, said, angle=angle),
            "computed-torque": computed_torque(name, said, angle=angle),
            "disturbed": disturbed(name, said),
            **(more or {}),
        },
    )

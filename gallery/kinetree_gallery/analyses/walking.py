"""Analyses that all walking machines have in common: inverse dynamics on the ground, with and without feedback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from kinetree import control
from kinetree.contact.ground import SOURCE_SETS, Firm, Ground, HuntCrossley, PseudoCoulomb, from_source, whole_body
from kinetree.model.describe import counted
from kinetree.motion.sines_and_formulas import Constant
from kinetree.motion.walking.zero_moment_point import center_of_pressure, zero_moment_point
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate, simulate_prescribed
from kinetree.spatial.arrays import Array
from kinetree.studies.drawings import SIDE, Sketch
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Analysis, Outcome, Study

from ..systems.walking_machine import Walker, walker
from .common_facts import common
from .joint_curves import columns, panels, short

TOUCHING = 1e-3
"""Newtons above which a foot counts as standing."""

DEVIATION = 0.05
"""If a joint is off by more than this, in radians, it no longer follows."""


SAID_OF = ("distance", "angle", "touchdown", "energy", "follows", "control")
"""Statements with their own source."""


@dataclass(frozen=True)
class Statements:
    """Shah's statements about a walking machine.

    Attributes
    ----------
    distance, angle : float
        Meters forward in a step; largest angle of the trunk in degrees.
    touchdown : float or None
        Seconds.
    energy : float
        Largest error of the total energy (appendix C), in joules.
    follows : float
        Seconds for which the machine follows without feedback (chapter 9).
    seconds : float
        Duration of the controlled walk.
    sources : mapping
        Sources of these statements.
    feedforward_better : bool
        Whether feedforward is said to do slightly better than computed torque, or both equally well (Shah section 9.5).
    angle_rounding : float
        Half a unit of the angle's last digit.
    of_angle : callable
        Explains, from an experiment, why the angle differs, if it does.
    near : float
        Fraction by which a distance may differ from the planned one.
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

    @property
    def words(self) -> dict[str, Any]:
        """All statements for files of facts, with ``distance_source`` and the like."""
        where = {f"{what}_source": self.sources.get(what, "Shah chapter 7") for what in SAID_OF}
        return vars(self) | where | {"near_distance": self.near * self.distance}


@cache
def machine(name: str) -> Walker:
    """Return a machine by name, always the same one, so that compiled code is kept."""
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
    """Simulate a walk from the beginning of a step, optionally with joints off the desired motion."""
    m = machine(name)
    q, v = m.start()
    q[m.base_freedoms :] += off
    return simulate(
        m.robot.with_backend("compiled"), q, v, time=seconds, controller=controller, ground=ground or m.ground,
        integrator="bdf", rtol=rtol, atol=atol, samples=samples, progress=False,
    )  # fmt: skip


@cache
def fed_forward(name: str, seconds: float) -> Record:
    """Simulate a walk under feedforward control with the source's gains."""
    return walked(name, machine(name).feedforward(), seconds, _samples(seconds))


def _samples(seconds: float) -> int:
    return round(400 * seconds) + 1


@cache
def prescribed(name: str, seconds: float, samples: int | None = None) -> OnGround:
    """Simulate joints that follow the desired motion exactly: dynamics and ground move the trunk (Shah 7.1.1)."""
    return OnGround(name, stepped(machine(name), seconds, samples))


def stepped(m: Walker, seconds: float, samples: int | None = None, **changed: Any) -> Record:
    """Simulate joints that follow the desired motion exactly, perhaps with other ground (``ground=``) or parameters."""
    return simulate_prescribed(
        m.robot.with_backend("compiled"), m.walk, *m.base_start(), time=seconds, integrator="bdf", rtol=1e-6,
        atol=1e-8, samples=samples or _samples(seconds), progress=False, **{"ground": m.ground} | changed,
    )  # fmt: skip


@cache
def on_other_ground(name: str, seconds: float, **numbers: float) -> OnGround:
    """Simulate the same on firm ground with other numbers: ``stiffness``, over-damping ``factor``, ``depth``."""
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
        """The machine."""
        return machine(self.name)

    @property
    def time(self) -> Array:
        """Times of the samples."""
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
        """Forces on every spot, (samples, spots, 3)."""
        return self.record.contact_forces

    @cached_property
    def spot_places(self) -> Array:
        """Positions of every spot, (samples, spots, 3)."""
        poses = [(self.machine.robot.pose(self.q, s.frame), np.array([*s.point, 1.0])) for s in self.machine.spots]
        return np.stack([(pose @ point)[:, :3] for pose, point in poses], axis=1)

    @cached_property
    def foot_forces(self) -> Array:
        """Forces on every foot, (samples, feet, 3)."""
        return _by_foot(self.machine, self.spot_forces)

    def touchdown(self) -> float:
        """Return the time at which the first swinging foot lands in the first step."""
        return first_touch(self.machine, self.time, self.foot_forces)


def _by_foot(m: Walker, forces: Array) -> Array:
    legs = len(m.walk.legs)
    return np.asarray(forces.reshape(len(forces), legs, -1, 3).sum(axis=2))


def first_touch(m: Walker, time: Array, feet: Array) -> float:
    """Return the time at which the first foot that swings in the first step lands."""
    period = m.walk.gait.period
    swinging = [k for k, leg in enumerate(m.walk.legs) if leg.group == 1]
    late = (time > 0.3 * period) & (time <= period)
    return min(float(time[np.argmax((feet[:, k, 2] > TOUCHING) & late)]) for k in swinging)


@dataclass(frozen=True)
class Trunk:
    """The motion of the trunk."""

    forward: Array
    height: Array
    angles: Array

    @classmethod
    def of(cls, m: Walker, q: Array) -> Trunk:
        """Extract the trunk's motion from all coordinates."""
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
        """Distance forward in meters."""
        return float(self.forward[-1] - self.forward[0])

    @property
    def largest_angle(self) -> float:
        """The largest magnitude of any Euler angle, in degrees."""
        return float(np.abs(self.angles).max())


Measured = Callable[[OnGround], Values]
"""The values that the facts of a machine name, in addition to the speeds of its gait."""


def inverse(name: str, said: Statements, measured: Measured | None = None) -> Analysis:
    """Return the analysis: inverse dynamics of one step on firm ground."""

    def run(quick: bool) -> Outcome:
        period = machine(name).walk.gait.period
        along = prescribed(name, period)
        gait = along.machine.walk.gait
        own = measured(along) if measured else {}
        values = {"initial_speed": gait.initial_speed[0], "speed": gait.speed, **own}
        facts = [*_step_facts(along, said), *stated(name, "inverse", values), *_ground_facts(along)]
        facts += _followed_by_feedback(along, fed_forward(name, period if quick else said.seconds))
        remark = (
            "Joints move exactly as desired; the trunk's motion is integrated with the ground's forces (bdf, rtol "
            "1e-6, atol 1e-8), then the torques follow (Shah eq. 7.2)."
        )
        return Outcome(facts, _tables(along), {}, _inverse_figures(along), [remark])

    return run


def _step_facts(along: OnGround, said: Statements) -> list[Fact]:
    trunk = Trunk.of(along.machine, along.q)
    facts = common(
        "walking, step", said.words, forward=trunk.distance, height=trunk.height, turned=trunk.largest_angle,
        why=said.of_angle(),
    )  # fmt: skip
    if said.touchdown is None:
        return facts
    period = along.machine.walk.gait.period
    return facts + common("walking, touchdown", said.words, landed=along.touchdown(), period=period)


def _ground_facts(along: OnGround) -> list[Fact]:
    """Return the facts for any ground."""
    robot, feet = along.machine.robot, along.foot_forces
    torque = np.abs(along.tau[:, : along.machine.base_freedoms]).max()
    rate = robot.momentum_rate(along.q, along.v, along.record.a)[:, 3:] - robot.mass * robot.gravity
    pushed = along.spot_forces.sum(axis=1)
    return common(
        "walking, ground", up=along.spot_forces[..., 2], trunk_forces=torque,
        unbalanced=np.abs(pushed - rate).max() / np.abs(feet).max(), apart=_apart(along),
        energy_error=along.record.energy.relative_error,
    )  # fmt: skip


def _apart(along: OnGround) -> float:
    """Return the distance of the zero moment point from the center of pressure, while a tenth of the weight rests."""
    robot = along.machine.robot
    moment_point = zero_moment_point(robot, along.q, along.v, along.record.a)
    pressure = center_of_pressure(along.spot_places, along.spot_forces)
    standing = along.spot_forces[..., 2].sum(axis=-1) > 0.1 * robot.mass * float(np.linalg.norm(robot.gravity))
    return float(np.abs(moment_point - pressure)[standing].max())


def _followed_by_feedback(along: OnGround, record: Record) -> list[Fact]:
    """Compare with a machine that moves under these torques and the source's feedback."""
    return common("walking, feedback", difference=record.q[: len(along.time)] - along.q)


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
    """Return panels of the position and angles of the trunk."""
    trunk = Trunk.of(m, q)
    names = ["about y"] if m.planar_base else ["about y", "about x", "about z"]
    return [
        PlotPanel("forward [m]", [Curve("forward", trunk.forward)]),
        PlotPanel("height [m]", [Curve("height", trunk.height)]),
        PlotPanel("angle [degrees]", [Curve(name, trunk.angles[:, k]) for k, name in enumerate(names)]),
    ]


def open_loop(name: str, said: Statements, steps: float) -> Analysis:
    """Return the analysis: only the torques of inverse dynamics drive it (Shah chapter 7).

    Parameters
    ----------
    steps : float
        Number of steps after which it has left the desired motion.
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
        facts = common(
            "walking, open loop", said.words, coarse=left[0], followed=left[1], error=errors[1],
            gained=left[1] - left[0],
        )  # fmt: skip
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
    facts = common(
        "walking, controlled", said.words, forward=trunk.distance, seconds=seconds, steps=steps, planned=planned,
        slack=said.near * planned, height=trunk.height, turned=trunk.largest_angle, angle_bound=angle,
        error=joint_error(m, record), up=record.contact_forces[..., 2], total=record.energy.total,
    )  # fmt: skip
    angles = trunk.angle_by_step(record.time, gait.period)
    if len(angles) >= 4:
        half = len(angles) // 2
        facts += common("walking, many steps", said.words, growth=max(angles[half:]) / max(angles[:half]))
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


OFF = 0.02
"""Initial error of the joints in radians, with alternating signs."""


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
        which = "feedforward better" if said.feedforward_better else "equally good"
        facts = common(
            f"walking, {which}", first=first, second=second, off=OFF, ratio=first / second,
            equal_ratio=min(first, second) / max(first, second),
        )  # fmt: skip
        facts += common(
            "walking, disturbed", law_error=_law_difference(m, records["computed torque"], off), height=trunk.height
        )
        curves = [Curve(key, error) for key, error in errors.items()]
        caption = f"Root mean square of the joints' errors, from {OFF:g} rad at the start."
        figures = {"error": Curves(records["feedforward"].time, [PlotPanel("error [rad]", curves)], caption)}
        kept = {key.replace(" ", "-"): record for key, record in records.items()}
        return Outcome(facts, {}, kept, figures)

    return run


def _law_difference(m: Walker, record: Record, off: Array) -> float:
    """Return the difference of joint errors from the solution of e'' + kd e' + kp e = 0 that starts with e' = 0."""
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
"""Meters."""


def falling(name: str, seconds: float) -> Analysis:
    """Return the analysis: servos hold the joints softly, and it falls; any part may touch (Shah D.2)."""

    def run(quick: bool) -> Outcome:
        m = machine(name)
        q, v = m.start()
        ground = Ground(whole_body(m.robot), HuntCrossley(2e4, 1.0, 1), PseudoCoulomb(0.7, 500.0))
        law = control.PD(Constant(q[m.base_freedoms :]), 20.0, 3.0)
        record = simulate(
            m.robot.with_backend("compiled"), q, v, time=seconds, controller=law, ground=ground, integrator="bdf",
            rtol=1e-5, atol=1e-7, samples=_samples(0.25 * seconds), progress=False,
        )  # fmt: skip
        trunk, lifted = Trunk.of(m, record.q), OnGround(name, record)
        frames = [(m.robot.pose(record.q, s.frame), np.array([*s.point, 1.0])) for s in ground.spots]
        lowest = min(float((pose @ point)[:, 2].min()) for pose, point in frames)
        up = record.contact_forces[..., 2]
        feet = {k for k, s in enumerate(ground.spots) if "foot" in s.frame or "toe" in s.frame or "heel" in s.frame}
        others = [k for k in range(len(ground.spots)) if k not in feet]
        facts = common(
            "walking, falling", turned=trunk.angles[-1], other_parts=up[:, others], lowest=lowest, up=up,
            motion_left=record.energy.kinetic[-1] / record.energy.kinetic.max(),
            energy_error=record.energy.relative_error,
        )  # fmt: skip
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
    """Return panels of the first leg of each group, with the desired motion at some instants."""
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


def landing_jump(along: OnGround) -> float:
    """Return the largest change of a torque between neighboring samples about touchdown."""
    near = np.abs(along.time - along.touchdown()) < 0.02
    return float(np.abs(np.diff(along.tau, axis=0))[near[1:]].max())


def walking_study(
    name: str,
    said: Statements,
    measured: Measured | None,
    steps: float,
    angle: float,
    more: Mapping[str, Analysis] | None = None,
) -> Study:
    """Return the study of a walking machine.

    Parameters
    ----------
    name : str
    said : Statements
        Shah's statements about it.
    measured : callable or None
        The values that the facts of inverse dynamics name.
    steps : float
        Number of steps after which it has left the desired motion without feedback.
    angle : float
        Degrees by which the trunk may turn under control.
    more : mapping, optional
        Further analyses.
    """
    return Study.of(
        name,
        {
            "inverse": inverse(name, said, measured),
            "open-loop": open_loop(name, said, steps),
            "feedforward": feedforward(name, said, angle=angle),
            "computed-torque": computed_torque(name, said, angle=angle),
            "disturbed": disturbed(name, said),
            **(more or {}),
        },
    )

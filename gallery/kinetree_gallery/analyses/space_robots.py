"""Robots that float in space: inverse and forward dynamics, and conservation of momentum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree import control as laws
from kinetree.motion.trajectories import Cycloid
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array, pack, split
from kinetree.spatial.scalar import Scalar, sin
from kinetree.studies.drawings import OBLIQUE, PLANE, Sketch
from kinetree.studies.named_systems import load, motion
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Analysis, Drawing, Outcome, Study

from ..systems.space_robots import DURATION
from .common_facts import common
from .joint_curves import columns, frame_paths, panels

BASE = 6


def _reaching(name: str, end: Sequence[float]) -> tuple[Robot, laws.Feedforward]:
    """Return the robot, and the torques of inverse dynamics along the arm's motion with a free satellite."""
    return load(name).with_backend("compiled"), laws.Feedforward(Cycloid([0.0] * len(end), end, DURATION), 0.0, 0.0)


def _moved(name: str, end: Sequence[float]) -> tuple[Robot, laws.Feedforward, Record]:
    robot, law = _reaching(name, end)
    record = simulate(
        robot, np.zeros(robot.nq), time=DURATION, controller=law, rtol=1e-10, atol=1e-12, samples=201,
        progress=False,
    )  # fmt: skip
    return robot, law, record


def inverse(name: str, end: Sequence[float]) -> Analysis:
    """Return the analysis of a prescribed motion of the arm: the motion of the satellite, and the torques."""

    def run(quick: bool) -> Outcome:
        robot, law, record = _moved(name, end)
        time = record.time
        planned = law.planned(robot.model, time, split(record.z))
        q, v = (pack(x, time.shape) for x in planned)
        tau = law(robot, time, q, v, record.z)
        matrix = robot.mass_matrix(q)
        pulled = matrix[:, :BASE, BASE:] @ v[:, BASE:, None]
        coasting = -np.linalg.solve(matrix[:, :BASE, :BASE], pulled)[..., 0]
        com = robot.center_of_mass(q)
        facts = common(
            "arms in space, inverse", pushed=tau[:, :BASE], rates=coasting - v[:, :BASE], center=com - com[0],
            final_rates=v[-1], turned=np.degrees(np.abs(q[-1, :3]).max()),
        )  # fmt: skip
        if name == "space-3-link":
            facts += common("flat arms in space", height=robot.pose(q, "hand")[:, 2, 3])
        return Outcome(facts, _tables(robot, time, q, tau), {}, _figures(name, robot, time, q, tau), [_remark(name, q)])

    return run


def _remark(name: str, q: Array) -> str:
    turned = ", ".join(f"{x:.3g}" for x in np.degrees(q[-1, :3]))
    return (
        f"Prescribed: {motion(name).what}. In the end the satellite is turned by ({turned}) degrees about y, x, z and "
        f"has moved by {1e3 * np.linalg.norm(q[-1, 3:6]):.0f} mm, though nothing pushed it."
    )


def _tables(robot: Robot, time: Array, q: Array, tau: Array) -> dict[str, dict[str, Array]]:
    clock = {"time [s]": time}
    return {
        "motion": clock | dict(columns("position", robot.q_names, q, robot.q_units)),
        "torques": clock | dict(columns("torque", robot.v_names[BASE:], tau[:, BASE:], "N m")),
    }


def _figures(name: str, robot: Robot, time: Array, q: Array, tau: Array) -> dict[str, Drawing]:
    view = PLANE if name == "space-3-link" else OBLIQUE
    some = np.linspace(0, len(q) - 1, 4).astype(int)
    angles = [Curve(f"about {axis}", np.degrees(q[:, k])) for k, axis in enumerate("yxz")]
    turned = panels(robot, tau, {"rad": "torque [N m]"}, range(BASE, robot.nv))
    places = [Curve(axis, q[:, 3 + k]) for k, axis in enumerate("xyz")]
    return {
        "system": Sketch(robot, q[some], frame_paths(robot, q), "At the start and (faint) on the way.", view, 4.2),
        "satellite": Curves(time, [PlotPanel("angle [degrees]", angles), PlotPanel("position [m]", places)],
                            "The satellite gives way to the arm."),
        "torques": Curves(time, turned, "Torques of the arm's joints."),
    }  # fmt: skip


def forward(name: str, end: Sequence[float]) -> Analysis:
    """Return the analysis: forward dynamics with these torques reproduces the motion."""

    def run(quick: bool) -> Outcome:
        _, _, record = _moved(name, end)
        desired = motion(name)(record.time).q
        error = np.abs(record.q[:, BASE:] - desired).max(axis=-1)
        base = np.abs(record.q[:, :BASE] - record.z[:, :BASE]).max()
        facts = common("arms in space, forward", error=error, satellite=base, energy_error=record.energy.error)
        curves = [PlotPanel("error [rad]", [Curve("joints", np.maximum(error, 1e-16))], log=True)]
        figures = {"error": Curves(record.time, curves, "Largest error of a joint without feedback.")}
        return Outcome(facts, {}, {"record": record}, figures)

    return run


def momentum(name: str) -> Analysis:
    """Return the analysis: whatever the motors do while it drifts and tumbles, momentum is conserved."""

    def run(quick: bool) -> Outcome:
        robot = load(name).with_backend("compiled")
        rng = np.random.default_rng(7)
        v0 = rng.uniform(-0.05, 0.05, robot.nv)
        count = robot.nv - BASE
        sizes = rng.uniform(0.5, 1.5, count)

        def motors(t: Scalar, q: list[Scalar], v: list[Scalar]) -> list[Scalar]:
            return [0.0] * BASE + [
                float(size) * sin((1.0 + 0.3 * k) * t) - 2.0 * v[BASE + k] for k, size in enumerate(sizes)
            ]

        record = simulate(
            robot, np.zeros(robot.nq), v0, time=4.0, controller=laws.Law(motors), rtol=1e-11, atol=1e-13,
            samples=101, progress=False,
        )  # fmt: skip
        about_com = robot.momentum(record.q, record.v)
        spin, push = about_com[:, :3], about_com[:, 3:]
        kept = [np.abs(x - x[0]).max() / np.linalg.norm(x[0]) for x in (spin, push)]
        line = robot.center_of_mass(record.q)
        straight = line[0] + record.time[:, None] * robot.center_of_mass_velocity(record.q[0], record.v[0])
        facts = common(
            "arms in space, momentum", spin=kept[0], momentum=kept[1], center=line - straight,
            energy_error=record.energy.error,
        )  # fmt: skip
        drawn = [
            PlotPanel("angular momentum [N m s]", [Curve(axis, spin[:, k]) for k, axis in enumerate("xyz")]),
            PlotPanel("momentum [N s]", [Curve(axis, push[:, k]) for k, axis in enumerate("xyz")]),
        ]
        figures = {"momentum": Curves(record.time, drawn, "About the mass center, along axes that do not turn.")}
        remark = "Initial velocities and the motors' torques are random and damped; nothing acts from outside."
        return Outcome(facts, {}, {"record": record}, figures, [remark])

    return run


def space_study(name: str, end: Sequence[float]) -> Study:
    """Return the study of a satellite whose arm reaches from zero to ``end``."""
    return Study.of(name, {"inverse": inverse(name, end), "forward": forward(name, end), "momentum": momentum(name)})

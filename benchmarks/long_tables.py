"""Trajectories of 20, 1001 and 100,000 rows, followed by computed torques: what a step costs, dop853 and rk4."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import kinetree as kt

from .robots import FILES, folder
from .timing import Table, alternate

ROWS = (20, 1001, 100_000)


def _motion(start: np.ndarray, size: float, rows: int) -> kt.trajectories.Trajectory:
    """Swing every joint at a frequency of its own."""
    times, w = np.linspace(0.0, 1.0, rows), 2.0 * np.pi * np.arange(1, len(start) + 1) / len(start)
    angle = np.outer(times, w)
    motion = start + size * (1.0 - np.cos(angle)), size * np.sin(angle) * w, size * np.cos(angle) * w**2
    return kt.trajectories.sampled(times, *motion)


def long_tables(rounds: int) -> Iterator[Table]:
    """Measure the Panda, and the Stewart platform with its closed loops."""
    panda = kt.load(folder() / FILES["Panda"][0])
    stewart = kt.gallery.load("stewart-platform")
    for robot, q, size in ((panda, panda.neutral(), 0.2), (stewart, kt.gallery.start("stewart-platform"), 0.01)):
        table = Table(f"{robot.name}: tables of any length", ("", "rows", "us per step", "against 20 rows"))
        start = np.concatenate([q[j.q_slice] for j in robot.model.driven_joints])
        for options in ({}, {"integrator": "rk4", "step": 1e-3}):
            runs = {
                rows: kt.Simulator(
                    robot, controller=kt.control.ComputedTorque(_motion(start, size, rows), 100.0, 20.0), **options
                )
                for rows in ROWS
            }
            steps = {rows: len(simulator.run(q, time=0.2, progress=False)) for rows, simulator in runs.items()}
            calls = {str(rows): partial(runs[rows].run, q, time=0.2, progress=False) for rows in ROWS}
            best = alternate(calls, rounds)
            each = {rows: best[str(rows)] / steps[rows] for rows in ROWS}
            for rows in ROWS:
                name = str(options.get("integrator", "dop853"))
                table.add(name, str(rows), f"{1e6 * each[rows]:.0f}", f"{each[rows] / each[20]:.2f}")
        yield table

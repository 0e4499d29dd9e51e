"""The four-bar mechanism of Shah, in its two variants."""

from __future__ import annotations

from functools import cache

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import recut
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import Accelerations, Direct, directly, replay
from ..four_bar_linkage import BOOK

TIMES = np.array([0.0, 1.0, 2.0, 3.0]) / 3.0

TABLE_10_8 = ((0.0, 0.9844, 4.3144), (4.7124, 1.4045, 0.0))


def _measured(along: PrescribedMechanism) -> Values:
    q, v, a = states = along.motion.states(TIMES)
    forces = along.mechanism.constraint_forces(*states)
    fine = along.torque_at(along.motion.grid(4001))[:, 0]
    world = forces.loop_wrenches_world[:, 0]
    elsewhere = cache(lambda: recut(along, ["coupler_joint"]))
    return {
        "turn": 2 * np.pi / v[0, 0], "rocker": q[:, 1], "coupler": q[:, 2], "rates": v[0, 1:],
        "accelerations": a[0, 1:], "torques": forces.tau[:, 0], "extremes": (fine.max(), fine.min()),
        "force_x": world[:, 3], "force_y": world[:, 4], "other_groups": lambda: elsewhere().groups,
        "other_cut": lambda: elsewhere().difference, "gap_minus": _printed_gap(-1.0), "gap_plus": _printed_gap(1.0),
    }  # fmt: skip


def _printed_gap(sign: float) -> float:
    """Return how far Table 10.5's angles leave the loop open with the crank at 0."""
    b1, b2, b3, pivot = BOOK
    p, q = b1 - pivot.x, 0.0 - pivot.y
    x, y = q / b1, p / b1
    z11 = (p * p + q * q + b3 * b3 - b2 * b2) / (2 * b3 * b1)
    z12 = (p * p + q * q + b2 * b2 - b3 * b3) / (2 * b2 * b1)
    al3 = 2 * np.arctan2(x - np.sqrt(x * x + y * y - z11 * z11), y + z11)
    al2 = 2 * np.arctan2(x + sign * np.sqrt(x * x + y * y - z12 * z12), y + z12)
    return float(abs(b2 * np.exp(1j * al2) + b3 * np.exp(1j * al3) - (p + 1j * q)))


def book_accelerations(tree: Robot) -> Accelerations:
    """Return a function that computes accelerations as the book does, multipliers first (Shah eq. 8.6-8.7, Table 10.9).

    The book's Jacobian writes the loop in world axes, with the absolute angles a1, a2 and a3 of Table 10.5.
    """
    b1, b2, b3, _ = BOOK

    def accelerations(q: Array, v: Array, tau: Array) -> Array:
        a, w = np.array([q[0], q[1], q[1] + q[2]]), np.array([v[0], v[1], v[1] + v[2]])
        (s1, s2, s3), (c1, c2, c3) = np.sin(a), np.cos(a)
        (d1, d2, d3), (e1, e2, e3) = w * np.sin(a), w * np.cos(a)
        j = np.array([[b1 * s1, -b2 * s2 - b3 * s3, -b3 * s3], [-b1 * c1, b2 * c2 + b3 * c3, b3 * c3]])
        j_rate = np.array([[b1 * e1, -b2 * e2 - b3 * e3, -b3 * e3], [b1 * d1, -b2 * d2 - b3 * d3, -b3 * d3]])
        inertia, phi = tree.mass_matrix(q), tau - tree.bias_force(q, v)
        per_force = np.linalg.solve(inertia, np.column_stack([j.T, phi]))
        forces = -np.linalg.solve(j @ per_force[:, :2], j @ per_force[:, 2] + j_rate @ v)
        return np.asarray(per_force[:, :2] @ forces + per_force[:, 2])

    return accelerations


def _replayed(along: PrescribedMechanism) -> Values:
    """Replay as in the book: its equations at its tolerances, directly, from exact and from printed states."""
    begin, law = along.motion.states(0.0), book_accelerations(along.mechanism.tree)
    exact = directly(along, begin.q, begin.v, 1e-5, 1e-7, law)
    q, v = np.array(TABLE_10_8[0]), np.array(TABLE_10_8[1])

    def closed() -> float:
        closed_q, closed_v = along.mechanism.project(q, v, fixed=["crank_joint"])
        return _crank_error(directly(along, closed_q, closed_v, 1e-10, 1e-12))

    return {
        "crank_error": _crank_error(exact), "gap": exact.gap, "table_10_8": [*(q - begin.q), *(v - begin.v)],
        "rounded": lambda: _crank_error(directly(along, q, v, 1e-5, 1e-7, law)),
        "own_axes": lambda: _crank_error(directly(along, q, v, 1e-5, 1e-7)), "closed": closed,
    }  # fmt: skip


def _crank_error(moved: Direct) -> float:
    return float(np.abs(moved.q[:, 0] - 1.5 * np.pi * moved.time).max())


def book_study(name: str) -> Study:
    """Return the study of one of the two variants."""
    return Study.of(
        name, {"inverse": inverse(name, _measured), "replay": replay(name, _replayed), "free-fall": free_fall(name)}
    )


STUDY = book_study("four-bar")

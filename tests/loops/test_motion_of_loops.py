"""Closed loops in motion: systems of the gallery against Pinocchio and MuJoCo, Bricard's mechanism, chains of cells."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from judges import pinocchio_loops

JUDGED = [
    "four-bar",
    "four-bar-table-8-1",
    "robotic-leg",
    "3-rrr",
    "five-bar",
    "carpet-scraper",
    "slider-crank",
    "hoeken",
]


@pytest.mark.parametrize("name", JUDGED)
def test_accelerations_of_the_sources_mechanisms_against_pinocchio(name):
    robot, motion = kt.gallery.load(name), kt.gallery.motion(name)
    begin, end = motion.span
    q, v, a = motion.states(np.linspace(begin, end, 7)[1:-1])
    tau = robot.inverse_dynamics(q, v, a)
    for i in range(len(q)):
        expected = pinocchio_loops.accelerations(robot, q[i], v[i], tau[i])
        scale = 1 + np.abs(a[i]).max()
        np.testing.assert_allclose(expected / scale, a[i] / scale, atol=2e-7)
        np.testing.assert_allclose(robot.forward_dynamics(q[i], v[i], tau[i]) / scale, a[i] / scale, atol=1e-10)


@pytest.mark.parametrize("cells", [1, 3])
def test_mujoco_comes_near_as_its_springs_stiffen(cells):
    """MuJoCo's loops are soft: its accelerations approach ours as its constraints are made harder."""
    robot = kt.gallery.four_bar_chain(cells)
    q = kt.gallery.four_bar_chain_leaning(cells, 0.4)
    v = robot.velocities(q, [0.7])
    ours = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    errors = [np.abs(mujoco_accelerations(cells, q, v, d) - ours).max() for d in (0.9, 0.99, 0.9999)]
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 2e-3 * np.abs(ours).max()


def mujoco_accelerations(cells: int, q: np.ndarray, v: np.ndarray, impedance: float) -> np.ndarray:
    rods, links = "", ""
    hinge = '<joint type="hinge" axis="0 0 1"/>'
    inertia = 1 / 12
    for k in range(cells + 1):
        coupler = (
            f'<body name="coupler_{k}" pos="0 1 0">{hinge}'
            f'<inertial pos=".5 0 0" mass="1" diaginertia="1e-6 {inertia} {inertia}"/></body>'
        )
        rods += (
            f'<body name="rod_{k}" pos="{k} 0 0">{hinge}'
            f'<inertial pos="0 .5 0" mass="1" diaginertia="{inertia} 1e-6 {inertia}"/>'
            f"{coupler if k < cells else ''}</body>"
        )
        if k:
            solver = f'solimp="{impedance} {impedance} .001" solref=".002 1"'
            links += f'<connect body1="coupler_{k - 1}" body2="rod_{k}" anchor="1 0 0" {solver}/>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler balanceinertia="true"/><option gravity="0 -9.81 0" timestep="1e-3" iterations="200" '
        f'tolerance="1e-14"/><worldbody>{rods}</worldbody><equality>{links}</equality></mujoco>'
    )
    data = mujoco.MjData(model)
    # MuJoCo counts depth first: rod 0, coupler 0, rod 1, ...; ours are all rods, then all couplers
    order = [j for k in range(cells + 1) for j in ([k, cells + 1 + k] if k < cells else [k])]
    data.qpos[:], data.qvel[:] = q[order], v[order]
    mujoco.mj_forward(model, data)
    ours = np.empty(len(q))
    ours[order] = data.qacc
    return ours


def test_bricard_falls_for_ten_seconds():
    robot = kt.gallery.load("bricard").with_backend("compiled")
    report = robot.mobility(kt.gallery.start("bricard"))
    assert (report.freedoms, report.gruebler, len(report.redundant)) == (1, 0, 1)
    record = kt.simulate(robot, kt.gallery.start("bricard"), np.zeros(robot.nv), time=10.0)
    energy = robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q)
    assert np.ptp(robot.potential_energy(record.q)) > 4.0  # it does move
    assert np.abs(energy - energy[0]).max() < 1e-6
    assert robot.closure_error(record.q).max() < 1e-9
    np.testing.assert_allclose(np.einsum("tij,tj->ti", robot.loop_jacobian(record.q), record.v), 0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [12, pytest.param(40, marks=pytest.mark.thorough)])
def test_many_cells_swing(cells):
    """Up to 81 bars, one freedom: all rods lean alike, and energy is kept."""
    robot = kt.gallery.four_bar_chain(cells).with_backend("compiled")
    q = kt.gallery.four_bar_chain_leaning(cells, 0.0)
    record = kt.simulate(robot, q, robot.velocities(q, [-1.0]), time=0.5)
    np.testing.assert_allclose(record.q[:, : cells + 1], np.repeat(record.q[:, :1], cells + 1, axis=1), atol=1e-8)
    # one freedom by hand: the rods turn, the couplers travel along circles
    inertia, weight = (cells + 1) / 3 + cells, 9.81 * ((cells + 1) / 2 + cells)
    lean, rate = record.q[:, 0], record.v[:, 0]
    energy = 0.5 * inertia * rate**2 + weight * np.cos(lean)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    assert abs(lean[-1]) > 0.5

"""Energy balance: free falls, actuators, friction, ground, stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, gripper, random_state, random_tree, rods
from kinetree import control as laws
from kinetree.contact.ground import Firm, Ground
from kinetree.contact.joint_stops import JointStops
from kinetree.simulation.records.energy_balance import Energies

TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def kuka() -> kt.Robot:
    """Six hinges with the proportions of an industrial arm."""
    builder = kt.Builder("six hinges")
    parent = "base"
    for i, axis in enumerate("zyyxyx"):
        box = kt.MassProperties.box(12.0 / (i + 1), (0.2, 0.15, 0.5 / (i + 1)), (0.02, 0.01, 0.2 / (i + 1)))
        builder.body(f"link{i}", parent, kt.Revolute(axis), position=(0.05, 0, 0.4 / (i + 1)), mass_properties=box)
        parent = f"link{i}"
    return builder.build()


@pytest.mark.parametrize(
    ("robot", "start"),
    [(gripper(), [np.radians(-60), 0, 0, 0]), (gripper(), [0, 0, 0, 0]), (kuka(), [0, 0, 0, 0, 0, 0]), (kuka(), None)],
    ids=["gripper", "gripper from zero", "arm from zero", "arm"],
)
def test_free_falls_of_fixed_bases_keep_their_energy(robot, start):
    """Shah figures 6.3, 6.7, 6.8: a second of free fall."""
    q0 = np.linspace(0.5, -1.0, robot.nq) if start is None else start
    record = kt.simulate(robot.with_backend("compiled"), q0, time=1.0, **TIGHT)
    assert np.ptp(record.energy.kinetic) > 0.1  # something happens
    assert record.energy.relative_error < 1e-9
    assert not record.energy.actuators.any()


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_keep_their_energy(seed):
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic", "spherical", "helical", "universal", "free", "cylindrical"]
    robot = random_tree(rng, 4, kinds).with_backend("compiled")
    q, v, _ = random_state(robot, rng)
    record = kt.simulate(robot, q, 0.3 * v, time=0.5, **TIGHT)
    assert record.energy.relative_error < 1e-9


def test_the_balance_counts_actuators_friction_and_stops():
    robot = arm().with_backend("compiled")
    push = laws.Law(lambda t, q, v: [0.3 * kt.sin(5 * t), 6.0 * kt.cos(3 * t), 0.5])
    record = kt.simulate(robot, [0.0, 1.0, 0.0], time=2.0, controller=push, ground=JointStops(), rtol=1e-10, atol=1e-11)
    e = record.energy
    assert np.abs(e.actuators).max() > 0.1
    assert e.friction.min() < -0.01
    assert np.all(np.diff(e.friction) <= 1e-12)
    assert np.abs(e.ground).max() > 1e-3  # the elbow reaches its stop
    assert record.q[:, 1].max() > 1.5
    assert e.relative_error < 1e-7
    # works are integrals of powers
    power = (record.tau * record.v).sum(axis=1)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(record.time))])
    assert e.actuators == pytest.approx(work, abs=2e-2 * np.abs(e.actuators).max())


def test_the_balance_counts_the_ground():
    builder = kt.Builder("hopper")
    builder.body("body", "base", kt.Free(), mass_properties=kt.MassProperties.box(3.0, (0.3, 0.3, 0.2)))
    builder.frame("foot", "body", (0.05, 0.0, -0.1))
    robot = builder.build().with_backend("compiled")
    start = robot.neutral()
    start[6] = 0.3
    ground = Ground(["foot"], Firm.overdamped(5000.0, 0.3, robot.mass))
    record = kt.simulate(robot, start, [0.1, 0.2, 0, 0.3, 0, 0], time=0.6, ground=ground, rtol=1e-9, atol=1e-10)
    assert record.energy.ground.min() < -0.5
    assert record.contact_forces.shape[1:] == (1, 3)
    assert record.energy.relative_error < 1e-6
    # the plain sum of the sources (Shah appendix C.3) with what the robot gives away
    e = record.energy
    total = e.kinetic + e.potential + (-e.actuators) + (-e.friction) + (-e.ground)
    assert np.array_equal(total, e.total) or total == pytest.approx(e.total, abs=1e-12)


def test_an_error_of_the_balance_is_seen():
    t = np.linspace(0, 1, 11)
    good = Energies(t, 5 - t, 0 * t, 0 * t, 0 * t)
    assert good.relative_error < 1e-15
    bad = replace(good, kinetic=t + 0.01 * t)
    assert bad.relative_error == pytest.approx(0.01, rel=0.02)
    assert bad.error[-1] == pytest.approx(0.01)
    assert Energies(*(np.zeros(3),) * 5).relative_error == 0.0


def test_works_can_be_left_out():
    robot = arm()
    record = kt.simulate(robot, time=0.1, works=False)
    assert np.isnan(record.energy.friction).all()  # it acts, but nobody knows its work
    assert not record.energy.actuators.any()
    assert record.z.shape[-1] == 0


GOAL = kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


def test_works_that_nobody_integrated_are_not_known_rather_than_zero():
    robot, options = rods(damping=0.1), {"time": 0.05, "integrator": "rk4", "step": 0.01, "samples": 3}
    law = kt.control.PD(GOAL, 10.0, 1.0)
    batch = kt.simulate(robot, np.zeros((2, 2)), controller=law, **options)
    assert np.isnan(batch.energy.actuators).all()
    assert np.isnan(batch.energy.friction).all()
    assert not batch.energy.ground.any()  # there is none
    assert np.isnan(batch.energy.relative_error)
    known = kt.simulate(robot, [[0.5, 0.2]], controller=law, works=True, **options)
    assert known.energy.relative_error < 1e-6
    free = kt.simulate(rods(), [[1.0, 0.5]], **options)  # nothing acts: nothing to integrate
    assert free.energy.relative_error < 1e-6
    function = kt.simulate(robot, controller=lambda t, q, v: -v, friction=False, works=False, **options)
    assert np.isnan(function.energy.actuators).all()
    assert not function.energy.friction.any()


def test_rest_has_no_error_of_energy():
    noise = np.array([0.0, 1e-16, -1e-16])
    zero = np.zeros(3)
    assert Energies(zero, 1.0 + 2 * noise, zero, zero, zero).relative_error == 0.0
    assert Energies(zero + 1e-3, 1.0 + 1e11 * noise, zero, zero, zero).relative_error > 1e-3  # more than rounding
    assert np.isnan(Energies(zero, zero + 1.0, zero * np.nan, zero, zero).relative_error)


@pytest.mark.filterwarnings("error")
def test_infinite_energies_are_not_known_and_cost_no_warning():
    kinetic = np.array([0.0, np.inf, 1e308])
    energy = Energies(kinetic, -kinetic, kinetic, kinetic, 0 * np.arange(3.0))
    assert np.isnan(energy.total[1])
    assert np.isnan(energy.relative_error) or energy.relative_error == np.inf

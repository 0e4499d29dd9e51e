"""The variational integrator on large trees: loops of machine code against the same law as it is written."""

import time

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_tree
from kinetree import control as laws
from kinetree.algorithms.joint_momenta import momenta
from kinetree.contact import joint_stops
from kinetree.contact.ground import HuntCrossley
from kinetree.evaluation.law_kernels import unrolls
from kinetree.motion import trajectories
from kinetree.simulation.integrators.joints_by_kind import ByKind
from kinetree.simulation.integrators.large_trees import LargeTreeDynamics
from kinetree.spatial.arrays import split

QUIET = {"progress": False, "integrator": "variational"}


HINGES = (kt.Revolute("x"), kt.Revolute("y"))


def chain(n, kinds=HINGES, root=None, **data):
    """Links hanging one from the other."""
    b, parent = kt.Builder("chain"), "base"
    for k in range(n):
        kind = root if k == 0 and root is not None else kinds[k % len(kinds)]
        place = (0, 0, -0.1) if k else (0, 0, 0)
        more = data if kind.nv == 1 else {}
        b.body(f"l{k}", parent, kind, position=place, mass=0.1, com=(0, 0, -0.05), inertia=(1e-4, 1e-4, 2e-5), **more)
        parent = f"l{k}"
    robot = b.build().with_backend("compiled")
    assert not unrolls(robot)
    return robot


def mixed():
    """A free chain of hinges, sliders, ball joints and Cardan joints, with rotors and friction."""
    kinds = (kt.Revolute("x"), kt.Spherical(), kt.Prismatic("z"), kt.Universal("xy"), kt.Revolute("y"))
    return chain(111, kinds, kt.Free(), rotor_inertia=1e-4, damping=0.01)


def state_of(robot, seed=0, size=0.05):
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), size * rng.standard_normal(robot.nv))
    return q, size * rng.standard_normal(robot.nv)


@pytest.mark.parametrize("seed", range(6))
def test_momenta_and_slopes_are_those_of_the_matrices(seed):
    """All kinds of joints, fixed and floating, with rotors: M v and C^T v."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 9, floating=seed % 2 == 0)
    q, v = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    p, slope = np.array(momenta(robot.model, split(q), split(v)), dtype=float).T
    expected, turned = robot.mass_matrix(q) @ v, robot.coriolis_matrix(q, v).T @ v
    np.testing.assert_allclose(p, expected, atol=1e-12 * abs(expected).max())
    np.testing.assert_allclose(slope, turned, atol=1e-12 * abs(turned).max())


def test_loops_know_the_same_dynamics():
    robot = mixed()
    kinds = ByKind(robot.model)
    looped = LargeTreeDynamics(kinds, robot.model, 1)
    q, v = (np.stack(x) for x in zip(*(state_of(robot, k, 0.3) for k in range(3)), strict=True))
    parts = kinds.split_q(q), kinds.split_v(v)
    p, slope = (kinds.join_v(x, (3,)) for x in looped.momenta(*parts))
    weightless = robot.with_gravity((0, 0, 0))
    expected = weightless.inverse_dynamics(q, np.zeros_like(v), v)
    np.testing.assert_allclose(p, expected, atol=1e-12 * abs(expected).max())
    # the slope of v^T C^T v is half the rate of the mass matrix: v^T (M' / 2) v, by differences along v
    h = 1e-5
    ahead, behind = (weightless.kinetic_energy(robot.integrate(q, s * h * v), v) for s in (1, -1))
    np.testing.assert_allclose(np.sum(slope * v, axis=-1), (ahead - behind) / (2 * h), rtol=1e-6)
    held = kinds.join_v(looped.held(parts[0], None), (3,))
    np.testing.assert_allclose(held, robot.gravity_force(q), atol=1e-12 * abs(held).max())
    loads = np.random.default_rng(0).standard_normal((3, len(robot.body_names), 6))
    held = kinds.join_v(looped.held(parts[0], loads), (3,))
    expected = robot.inverse_dynamics(q, 0 * v, 0 * v, loads)
    np.testing.assert_allclose(held, expected, atol=1e-12 * abs(held).max())
    back = kinds.join_v(looped.velocity(parts[0], kinds.split_v(p)), (3,))
    np.testing.assert_allclose(back, v, atol=1e-8)


@pytest.mark.parametrize("how", ["free", "damped with stops", "law", "function"])
def test_loops_step_as_it_is_written(how):
    robot = mixed()
    q, v = state_of(robot)
    options = {"time": 3e-4, "step": 3e-4, "samples": 2, **QUIET}
    if how == "damped with stops":
        options["ground"] = [joint_stops.JointStops(HuntCrossley(2.0, 0.1, exponent=1))]
        robot = chain(111, lower=-0.02, upper=0.02, damping=0.01)
        q, v = state_of(robot)
    if how in ("law", "function"):
        robot = chain(111)
        q, v = state_of(robot)
        law = laws.PD(trajectories.Constant(np.zeros(robot.nv)), 2.0, 0.1)
        options["controller"] = law if how == "law" else laws.from_function(lambda t, q, v: law(robot, t, q, v))
    fast = kt.simulate(robot, q, v, **options)
    slow = kt.simulate(robot.with_backend("reference"), q, v, **options)
    np.testing.assert_allclose(fast.q, slow.q, atol=1e-11)
    # momenta, for velocities are only known as well as those are: the first joint carries 1e8 times the inertia
    fast_p, slow_p = (robot.with_gravity((0, 0, 0)).inverse_dynamics(x.q, 0 * x.v, x.v) for x in (fast, slow))
    np.testing.assert_allclose(fast_p, slow_p, atol=1e-11 * abs(slow_p).max())
    np.testing.assert_allclose(fast.z, slow.z, atol=1e-9)
    assert abs(fast.v[-1] - fast.v[0]).max() > 1e-3  # something has moved


def test_order_and_energy_of_a_long_chain():
    """Second order towards a Runge-Kutta run; the energy error is bounded and falls with the square of the step."""
    robot = chain(200)
    q = 0.02 * np.random.default_rng(0).standard_normal(200)
    exact = kt.simulate(robot, q, time=0.01, step=5e-5, integrator="rk4", samples=2, progress=False)
    errors, energies = [], []
    for step in (1e-3, 5e-4):
        record = kt.simulate(robot, q, time=0.01, step=step, samples=11, **QUIET)
        errors.append(abs(record.q[-1] - exact.q[-1]).max())
        total = robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q)
        energies.append(np.ptp(total))
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.5 < energies[0] / energies[1] < 4.5


def test_a_batch_with_a_lost_lane():
    robot = chain(120)
    q = 0.02 * np.random.default_rng(1).standard_normal((3, 120))
    q[1] *= 20.0
    together = kt.simulate(robot, q, time=2e-3, step=1e-3, samples=2, **QUIET)
    for k in (0, 2):
        alone = kt.simulate(robot, q[k], time=2e-3, step=1e-3, samples=2, **QUIET)
        np.testing.assert_allclose(together.q[-1, k], alone.q[-1], atol=1e-12)


@pytest.mark.slow
def test_hundreds_of_links_take_milliseconds():
    """37 s a step for 200 links when matrices were made and everything ran as written."""
    robot = chain(200)
    q = 0.02 * np.random.default_rng(0).standard_normal(200)
    simulator = {"step": 2e-4, "samples": 2, "works": False, **QUIET}
    kt.simulate(robot, q, time=2e-4, **simulator)
    began = time.perf_counter()
    kt.simulate(robot, q, time=1e-2, **simulator)
    assert time.perf_counter() - began < 50 * 0.5


def test_a_step_that_cannot_be_solved_says_so():
    robot = chain(200)
    q = 0.02 * np.random.default_rng(0).standard_normal(200)
    with pytest.raises(kt.SimulationError, match=r"step of 0\.05 s .*too large"):
        kt.simulate(robot, q, time=0.5, step=0.05, samples=2, **QUIET)


@pytest.mark.slow
@pytest.mark.thorough
def test_steps_that_few_rounds_do_not_solve_are_solved_patiently():
    """A chain of 40 links moves gently; its many ways to swing only make a step hard to solve, not wrong."""
    b, parent = kt.Builder("chain"), "base"
    for k in range(40):
        b.body(
            f"link{k}", parent, kt.Revolute("xyz"[k % 3]), position=(0, 0, -0.1 if k else 0.0),
            mass=0.1 + 0.05 * (k % 4), com=(0.01, 0, -0.05), inertia=np.diag([2e-4, 2e-4, 1e-4]) * (1 + k % 3),
        )  # fmt: skip
        parent = f"link{k}"
    robot, rng = b.build().with_backend("compiled"), np.random.default_rng(0)
    q, v = 0.1 * rng.standard_normal(40), 0.3 * rng.standard_normal(40)
    exact = kt.simulate(robot, q, v, time=0.01, samples=2, progress=False)
    error = []
    for step in (1e-3, 5e-4):
        record = kt.simulate(robot, q, v, time=0.01, step=step, samples=2, **QUIET)
        error.append(np.abs(record.v[-1] - exact.v[-1]).max())
        assert record.energy.relative_error < 1e-6
    assert 3.5 < error[0] / error[1] < 4.5  # of second order
    assert error[1] < 3e-4

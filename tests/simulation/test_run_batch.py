"""Batches of simulations in machine code against single ones and against the text run on arrays."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, floating_pair, random_state, rods
from kinetree import control as laws
from kinetree.contact.ground import Ground, HuntCrossley
from kinetree.motion import trajectories
from kinetree.simulation.integrators.fixed_step_methods import FIXED

STEPPED = (*FIXED, "variational")


@pytest.fixture(scope="module")
def pair() -> kt.Robot:
    return floating_pair().with_backend("compiled")


def states(robot: kt.Robot, count: int) -> tuple[np.ndarray, np.ndarray]:
    q, v, _ = random_state(robot, np.random.default_rng(8), count)
    return q, 0.5 * v


@pytest.mark.parametrize("integrator", STEPPED)
def test_a_batch_is_the_same_as_one_by_one_and_as_the_reference(pair, integrator):
    """37 states fill some vectors and leave one part full."""
    q, v = states(pair, 37)
    options = {"time": 0.05, "step": 0.005, "integrator": integrator, "samples": 3}
    together = kt.simulate(pair, q, v, **options)
    assert together.q.shape == (3, 37, pair.nq)
    for k in (0, 7, 36):
        alone = kt.simulate(pair, q[k], v[k], works=False, **options)
        assert np.array_equal(alone.q[-1], together.q[-1, k])
        assert np.array_equal(alone.v[-1], together.v[-1, k])
    reference = kt.simulate(pair.with_backend("reference"), q, v, **options)
    assert together.q == pytest.approx(reference.q, abs=1e-11)
    assert together.v == pytest.approx(reference.v, abs=1e-9)
    assert together.a == pytest.approx(reference.a, abs=1e-8)


def test_a_batch_of_gains():
    robot = arm().with_backend("compiled")
    gains = np.random.default_rng(0).uniform(0.5, 3.0, (5, 3))
    goal = trajectories.Cycloid([0.0, 0.0, 0.0], [0.3, -0.2, 0.4], 0.3)
    options = {"time": 0.3, "step": 0.001, "integrator": "rk4", "samples": 4}
    studied = kt.simulate(robot, controller=laws.PD(goal, gains, 0.05 * gains), **options)
    assert studied.q.shape == (4, 5, 3)
    for k in range(5):
        alone = kt.simulate(robot, controller=laws.PD(goal, gains[k], 0.05 * gains[k]), **options)
        assert studied.q[:, k] == pytest.approx(alone.q, abs=1e-13)
        assert studied.tau[:, k] == pytest.approx(alone.tau, abs=1e-12)
    assert np.ptp(studied.q[-1], axis=0).min() > 1e-3  # gains matter


def test_a_batch_on_the_ground_with_stiffnesses(pair):
    q, v = states(pair, 16)
    q[:, 6] = 0.1
    stiffness = np.linspace(1e3, 8e3, 16)
    options = {"time": 0.1, "step": 5e-4, "integrator": "rk4", "samples": 3}

    def ground(k):
        return Ground(["trunk", "nose"], HuntCrossley(k, 0.5))

    together = kt.simulate(pair, q, v, ground=ground(stiffness), **options)
    assert together.contact_forces.shape == (3, 16, 2, 3)
    assert together.contact_forces[..., 2].max() > 1.0
    for k in (0, 9):
        alone = kt.simulate(pair, q[k], v[k], ground=ground(float(stiffness[k])), works=False, **options)
        assert together.q[:, k] == pytest.approx(alone.q, abs=1e-10)
        assert together.contact_forces[:, k] == pytest.approx(alone.contact_forces, abs=1e-6)


def test_a_python_function_gives_what_its_compiled_twin_gives(pair):
    q, v = states(pair, 9)

    def plain(t, q, v):
        tau = np.zeros_like(v)
        tau[..., 6:] = -0.2 * v[..., 6:] + 0.1 * np.sin(4 * t)
        return tau

    def scalars(t, q, v):
        return [0.0] * 6 + [-0.2 * x + 0.1 * kt.sin(4 * t) for x in v[6:]]

    options = {"time": 0.03, "step": 0.003, "samples": 2}
    for integrator in STEPPED:
        a = kt.simulate(pair, q, v, controller=plain, integrator=integrator, **options)
        b = kt.simulate(pair, q, v, controller=laws.Law(scalars), integrator=integrator, **options)
        assert a.q == pytest.approx(b.q, abs=1e-12)
        assert a.tau == pytest.approx(b.tau, abs=1e-11)


def test_threads_do_not_change_results(pair):
    q, v = states(pair, 100)
    runs = [kt.simulate(pair, q, v, time=0.05, step=0.005, integrator="rk4", samples=2, threads=n) for n in (1, 2, 3)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].v, runs[2].v)


def test_a_lane_that_is_lost_does_not_touch_the_others(pair):
    q, v = states(pair, 10)
    clean = kt.simulate(pair, q, v, time=0.05, step=0.005, integrator="rk4", samples=2)
    v[4, 2] = np.nan
    spoilt = kt.simulate(pair, q, v, time=0.05, step=0.005, integrator="rk4", samples=2)
    others = np.arange(10) != 4
    assert np.isnan(spoilt.v[-1, 4]).any()
    assert np.array_equal(spoilt.q[-1, others], clean.q[-1, others])


def test_samples_between_steps_and_shapes_of_batches(pair):
    q, v = states(pair, 6)
    times = [0.0, 0.0123, 0.05]
    record = kt.simulate(
        pair, q.reshape(2, 3, -1), v.reshape(2, 3, -1), time=0.05, step=0.005, integrator="dopri5", samples=times
    )
    assert record.q.shape == (3, 2, 3, pair.nq)
    exact = kt.simulate(pair, q[4], v[4], time=0.05, samples=times, rtol=1e-12, atol=1e-12)
    assert record.q[:, 1, 1] == pytest.approx(exact.q, abs=1e-9)
    default = kt.simulate(pair, q, v, time=0.05, step=0.005, integrator="rk4")
    assert len(default) == 101
    one = kt.simulate(pair, q[:1], v[:1], time=0.05, step=0.005, integrator="rk4", samples=2)
    assert one.q.shape == (2, 1, pair.nq)


def test_works_of_a_batch(pair):
    q, v = states(pair, 4)
    twist = laws.Law(lambda t, q, v: [0.0] * 6 + [0.1 * kt.sin(9 * t), 0.0, 0.2, 0.3])
    record = kt.simulate(pair, q, v, time=0.2, step=0.002, integrator="dopri5", controller=twist, works=True, samples=5)
    assert record.energy.actuators.shape == (5, 4)
    assert np.abs(record.energy.error).max() < 1e-8
    assert np.abs(record.energy.actuators[-1]).min() > 1e-4


def test_a_simulator_is_set_up_once(pair):
    simulator = kt.Simulator(pair, integrator="rk4", step=0.005)
    q, v = states(pair, 3)
    first = simulator.run(q, v, time=0.05, samples=2)
    kernels = dict(simulator.equation(False)._kept)
    assert kernels
    again = simulator.run(q, v, time=0.05, samples=2)
    assert np.array_equal(first.q, again.q)
    assert simulator.equation(False)._kept == kernels
    assert simulator.run(q[0], v[0], time=0.05).q.shape == (11, pair.nq)


def test_one_simulator_in_several_threads(pair):
    """Work areas belong to threads, so simultaneous runs do not disturb one another."""
    from concurrent.futures import ThreadPoolExecutor

    simulator = kt.Simulator(pair, rtol=1e-7)
    q, v = states(pair, 8)

    def end(k: int) -> np.ndarray:
        return simulator.run(q[k], v[k], time=0.3, samples=2).q[-1]

    one_by_one = [end(k) for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(end, range(8)))
    assert np.array_equal(one_by_one, together)


def test_what_a_batch_cannot_do(pair):
    q, v = states(pair, 3)
    with pytest.raises(kt.OptionError, match="fixed step"):
        kt.simulate(pair, q, v, time=0.1)
    with pytest.raises(kt.UnsupportedError, match="one simulation at a time"):
        kt.simulate(pair, q, v, time=0.1, integrator="rk4", step=0.01, events=lambda t, q, v: 1.0)
    with pytest.raises(kt.ShapeError, match="do not fit together"):
        kt.simulate(pair, q, v[:2], time=0.1, integrator="rk4", step=0.01)
    goal = laws.PD(trajectories.Constant([0.0] * 4), np.ones((2, 4)), 0.1)
    with pytest.raises(kt.OptionError, match="batches"):
        kt.simulate(pair, q, v, time=0.1, integrator="rk4", step=0.01, controller=goal)


def test_a_trajectory_that_ends_early_stops_a_batch_with_its_record():
    robot = arm().with_backend("compiled")
    goal = trajectories.Cycloid([0.0, 0.0, 0.0], [0.1, 0.2, 0.3], 0.2)
    with pytest.raises(kt.SimulationError, match="trajectory ends") as caught:
        kt.simulate(
            robot, np.zeros((3, 3)), time=0.5, controller=laws.PD(goal, 2.0, 0.05), integrator="rk4", step=0.002,
            samples=11,
        )  # fmt: skip
    assert caught.value.record.time == pytest.approx(np.arange(5) * 0.05)
    assert caught.value.record.q.shape == (5, 3, 3)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("integrator", ["rk4", "variational"])
def test_a_batch_of_masses_lengths_and_gravity(backend, integrator):
    """Each lane against a robot that was built with its numbers."""

    def built(mass: float, length: float, g: float) -> kt.Robot:
        builder = kt.Builder("arm", gravity=(0, 0, -g))
        builder.body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.01))
        builder.body(
            "lower", "upper", kt.Spherical(), position=(0, 0, -length), mass=mass, com=(0.1, 0, -0.3),
            inertia=(0.05, 0.06, 0.02), joint_name="elbow",
        )  # fmt: skip
        return builder.build().with_backend(backend)

    mass, length, g = np.array([0.5, 1.0, 2.5]), np.array([0.4, 0.6, 0.9]), np.array([9.81, 1.62, 3.7])
    places, falls = np.zeros((3, 3)), np.zeros((3, 3))
    places[:, 2], falls[:, 2] = -length, -g
    start = [0.7, 0.0, 0.0, 0.0, 1.0]
    options = {"time": 0.2, "step": 0.01, "integrator": integrator, "samples": 3, "works": True}
    varied = {"bodies": {"lower": {"mass": mass}}, "joints": {"elbow": {"position": places}}, "gravity": falls}
    together = kt.simulate(built(9.0, 9.0, 9.0), start, parameters=varied, **options)
    assert together.q.shape == (3, 3, 5)
    for k in range(3):
        alone = kt.simulate(built(mass[k], length[k], g[k]), start, **options)
        assert together.q[:, k] == pytest.approx(alone.q, abs=1e-11)
        assert together.a[:, k] == pytest.approx(alone.a, abs=1e-8)
        assert together.energy.total[:, k] == pytest.approx(alone.energy.total, abs=1e-9)
    one = kt.simulate(
        built(9.0, 9.0, 9.0), start, time=0.2, samples=3,
        parameters={"bodies": {"lower": {"mass": 0.5}}, "joints": {"elbow": {"position": places[0]}}},
    )  # fmt: skip
    assert one.q[-1] == pytest.approx(kt.simulate(built(0.5, 0.4, 9.0), start, time=0.2, samples=3).q[-1], abs=1e-8)


def test_parameters_that_cannot_be():
    robot = arm()
    for bad, problem, words in (
        ({"bodies": {"uper": {"mass": 1.0}}}, kt.UnknownNameError, "did you mean 'upper'"),
        ({"bodies": {"upper": {"weight": 1.0}}}, kt.UnknownNameError, "weight"),
        ({"bodies": {"upper": {"mass": -1.0}}}, kt.ModelError, "negative"),
        ({"bodies": {"upper": {"com": [1.0, 2.0]}}}, kt.ModelError, "com"),
        ({"bodies": {"upper": {"mass": np.nan}}}, kt.ShapeError, "finite"),
        ({"links": {}}, kt.OptionError, "bodies"),
    ):
        with pytest.raises(problem, match=words):
            kt.simulate(robot, time=0.1, parameters=bad)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_lane_whose_variational_step_cannot_be_solved_is_lost_alone(backend):
    robot, options = (
        rods().with_backend(backend),
        {"time": 0.05, "integrator": "variational", "step": 0.01, "samples": 2},
    )
    v = np.array([[0.0, 0.0], [500.0, -700.0], [1.0, 0.0]])
    record = kt.simulate(robot, [0.5, 0.5], v, **options)
    assert np.isnan(record.q[-1, 1]).all()
    for k in (0, 2):
        assert record.q[:, k] == pytest.approx(kt.simulate(robot, [0.5, 0.5], v[k], **options).q, abs=1e-12)
    with pytest.raises(kt.SimulationError, match="too large"):
        kt.simulate(robot, [0.5, 0.5], v[1], **options)


def test_a_lost_lane_does_not_open_the_loops_of_others():
    """Once one lane was NaN, no lane was closed any more."""
    mechanism = kt.gallery.load("four-bar").with_backend("reference")
    q, options = mechanism.assembled(), {"time": 0.2, "integrator": "rk4", "step": 0.01, "samples": 3}
    v = np.zeros((2, 3))
    v[1] = np.nan
    record = kt.simulate(mechanism, q, v, **options)
    assert mechanism.closure_error(record.q[:, 0]).max() < 1e-9
    assert np.array_equal(record.q[:, 0], kt.simulate(mechanism, q, np.zeros((2, 3)), **options).q[:, 0])
    assert np.isnan(record.q[-1, 1]).all()


def test_open_loops_are_refused_by_name_in_any_lane():
    mechanism = kt.gallery.load("four-bar").with_backend("reference")
    q = np.stack([mechanism.assembled()] * 3)
    options = {"time": 0.1, "integrator": "rk4", "step": 0.01}
    v = np.zeros((3, 3))
    v[2] = [1.0, 0.0, 0.0]
    with pytest.raises(kt.StateError, match=r"v0 tears .* joint '\w+' .* in state \(2,\)"):
        kt.simulate(mechanism, q, v, **options)
    torn = q.copy()
    torn[0], torn[1] = np.nan, q[1] + [0.1, 0.0, 0.0]
    with pytest.raises(kt.StateError, match=r"q0 leaves loops open .* in state \(1,\) at joint '"):
        kt.simulate(mechanism, torn, **options)

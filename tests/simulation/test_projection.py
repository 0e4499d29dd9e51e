"""Projection and rates of closed loops in machine code: those of the mechanism, which is asked where they fail."""

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from helpers.loop_models import compiled_system
from kinetree import control as laws
from kinetree.motion import trajectories
from kinetree.simulation.constrained import holding
from kinetree.simulation.constrained.holding import CLOSED_AFTER_STEPS, Hold, nearest_state
from kinetree.simulation.elimination_order import MOST_TOGETHER, LoopChoice
from kinetree.simulation.equation import Equation
from kinetree.simulation.events import Event
from kinetree.simulation.integrators import steps_on_arrays
from kinetree.simulation.system import DynamicSystem

SYSTEMS = ["four-bar", "five-bar", "3-rrr", "robotic-leg", "carpet-scraper", "sr400", "bricard", "slider-crank"]


def made(name):
    robot = kt.gallery.load(name).with_backend("compiled")
    start = kt.gallery.start(name)
    return robot, start, Hold(robot, CLOSED_AFTER_STEPS, start)


@pytest.mark.parametrize("name", SYSTEMS)
def test_machine_code_projects_as_the_mechanism_does(name, monkeypatch):
    robot, start, hold = made(name)
    rng = np.random.default_rng(1)
    off = robot.integrate(start, 1e-8 * rng.standard_normal((6, robot.nv)))
    v = rng.standard_normal((6, robot.nv))
    monkeypatch.setattr(holding, "nearest_state", None)  # nobody is asked but machine code
    q, rate = hold.held(0.0, off, v)
    for k in range(6):
        expected = robot.project(off[k], v[k])
        np.testing.assert_allclose(q[k], expected[0], atol=1e-12)
        np.testing.assert_allclose(rate[k], expected[1], atol=1e-12)
        one = hold.held(0.0, off[k], v[k])
        np.testing.assert_allclose(one[0], expected[0], atol=1e-12)
    assert robot.closure_error(off).min() > 1e-10
    assert robot.closure_error(q).max() < 1e-14
    np.testing.assert_allclose(np.einsum("nij,nj->ni", robot.loop_jacobian(q), rate), 0.0, atol=1e-13)


def on_a_ball():
    b = kt.Builder("hung on a ball")
    solid = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.001, 0.02, 0.02)}
    b.body("rod", "base", kt.Spherical(), **solid)
    b.body("rocker", "base", kt.Revolute("z"), position=(0.4, -0.3, 0), **solid)
    b.loop("tie", "rod", "rocker", kt.Distance(0.35), placement=(0.4, 0, 0), seat=(0.4, 0, 0))
    robot = b.build().with_backend("compiled")
    return robot, robot.assembled()


def test_quaternions_keep_unit_length():
    robot, start = on_a_ball()
    off = robot.integrate(start, 1e-8 * np.arange(1.0, 5.0))
    v = np.array([0.3, -0.2, 0.5, 0.1])
    q, rate = Hold(robot, CLOSED_AFTER_STEPS, start).held(0.0, off, v)
    expected = robot.project(off, v)
    np.testing.assert_allclose(q, expected[0], atol=1e-12)
    np.testing.assert_allclose(rate, expected[1], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(q[:4]), 1.0, atol=1e-15)


@pytest.mark.parametrize(
    "state",
    [
        lambda robot: robot.close(models.FIVE_BAR_START) + np.array([0.3, -0.2, 0.25, 0.1]),  # far off
        lambda robot: robot.close(models.five_bar_folded()),  # where the motors lose their hold
    ],
)
def test_what_machine_code_cannot_do_is_handed_over(state):
    robot = models.five_bar().with_backend("compiled")
    hold = Hold(robot, CLOSED_AFTER_STEPS, robot.close(models.FIVE_BAR_START))
    off, v = state(robot), np.array([0.1, 0.2, -0.3, 0.4])
    q, rate = hold.held(0.0, off, v)
    expected = robot.project(off, v)
    np.testing.assert_allclose(q, expected[0], atol=1e-12)
    np.testing.assert_allclose(rate, expected[1], atol=1e-12)


@pytest.mark.parametrize("rows", [(0, 0), tuple(range(MOST_TOGETHER + 1))], ids=["twice the same", "too many"])
def test_constraints_that_fail_here_are_noticed(monkeypatch, rows):
    """The mechanism itself is asked."""
    _, start, hold = made("four-bar")
    asked = []
    monkeypatch.setattr(holding, "nearest_state", lambda robot, q, v: (asked.append(1), (q, v))[1])
    hold.choice = LoopChoice(rows)
    hold.held(0.0, start, np.zeros(3))
    assert asked


def test_a_simulation_is_the_same_with_either(monkeypatch):
    robot, start, _ = made("four-bar")
    fast = kt.simulate(robot, start, time=0.5, progress=False)
    monkeypatch.setattr(Hold, "_nearest", lambda self, t, q, v: nearest_state(self.robot, q, v))
    monkeypatch.setattr(Equation, "quick_rates", Equation.rates)
    slow = kt.simulate(robot, start, time=0.5, progress=False)
    assert len(fast) == len(slow)
    np.testing.assert_allclose(fast.q[-1], slow.q[-1], atol=1e-12)  # steps in between end at slightly other times
    np.testing.assert_allclose(fast.v[-1], slow.v[-1], atol=1e-11)


# ------------------------------------------------------------------ rates


def pushed(t, q, v):
    return np.stack([0.3 - 0.1 * v[..., 0], *(0.0 * v[..., 1:].T)], axis=-1)


@pytest.mark.parametrize("controller", [None, "law", "function"])
@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "sr400", "ball"])
def test_rates_at_once_are_those_found_one_after_the_other(name, controller):
    robot, start = on_a_ball() if name == "ball" else made(name)[:2]
    rng = np.random.default_rng(2)
    law = laws.Law(lambda t, q, v: [0.3 - 0.1 * v[0], *([0.0] * (robot.nv - 1))]) if controller == "law" else None
    equation = Equation(DynamicSystem(robot, law), pushed if controller == "function" else None)
    equation = equation.prepared(start)
    q, v = robot.project(start, rng.standard_normal(robot.nv))
    if name == "ball":
        q[:4] *= 1.3  # integrators do not keep quaternions at unit length
    for at in ((q, v), (np.stack([q, q]), np.stack([v, 0.5 * v]))):
        z = np.zeros((*at[0].shape[:-1], equation.system.nz))
        for found, expected in zip(equation.quick_rates(0.1, *at, z), equation.rates(0.1, *at, z), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * (1.0 + abs(expected).max()))


def test_rates_in_singular_configurations_are_left_to_the_mechanism():
    """Three parallel bars laid flat: what machine code finds there is nothing, and the mechanism says that it is."""
    robot = models.three_bars().with_backend("compiled")
    start = robot.neutral()
    equation = Equation(DynamicSystem(robot))
    equation = equation.prepared(start)
    state = (0.0, start, np.zeros(robot.nv), np.zeros(equation.system.nz))
    with pytest.warns(kt.SingularityWarning):
        found = equation.quick_rates(*state)
    with pytest.warns(kt.SingularityWarning):
        expected = equation.rates(*state)
    for own, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, theirs)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "dopri5"])
@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_loops_stay_closed_however_long_the_steps(name, integrator):
    """One Newton step per time step left loops open by centimeters, with velocities that tear them, and no word."""
    robot = kt.gallery.load(name).with_backend("compiled")
    q = kt.gallery.start(name) if name == "four-bar" else robot.assembled(1)
    v = robot.project(q, 3 * np.random.default_rng(0).standard_normal(robot.nv))[1]
    record = kt.simulate(robot, q, v, time=0.2, integrator=integrator, step=0.02)
    assert robot.closure_error(record.q).max() < 1e-12
    torn = np.linalg.norm((robot.loop_jacobian(record.q) @ record.v[..., None])[..., 0], axis=-1)
    assert (torn / (1 + np.linalg.norm(record.v, axis=-1))).max() < 1e-6


def test_other_steps_are_taken_where_a_choice_is_poor(monkeypatch):
    """In one lane of a batch, from the third step on: all constraints together, or by rank, with the same result."""
    robot, start, hold = made("3-rrr")
    assert hold.choice.pivots
    equation = Equation(DynamicSystem(robot))
    equation = equation.prepared(start)
    v = robot.project(start, np.random.default_rng(3).standard_normal((3, robot.nv)))[1]
    state = np.tile(start, (3, 1)), v, np.zeros((3, equation.system.nz))
    expected = equation.steps.many("rk4")(0.0, state, 1e-3, 5)
    asked, run = [], steps_on_arrays.Steps._run

    def doubtful(self, integrator, choice=None):
        steps = run(self, integrator, choice)

        def watched(t, state, h, n, count):
            new, served = steps(t, state, h, n, count)
            asked.append((bool(choice.pivots), len(state[0]), n))
            if t + h * n > 2.5e-3:  # of both choices: in the end the rank is looked for
                served = np.where(np.arange(len(served)) == len(served) // 2, 0.0, served)
            return new, served

        return watched

    monkeypatch.setattr(steps_on_arrays.Steps, "_run", doubtful)
    found = equation.prepared(start).steps.many("rk4")(0.0, state, 1e-3, 5)
    for own, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, theirs, atol=1e-9)
    assert (True, 3, 5) in asked  # the others are left alone
    assert all(lanes == 1 for pivots, lanes, n in asked[1:])
    assert (False, 1, 1) in asked


ADAPTIVE = [("rk45", {}), ("dop853", {}), ("radau", {})]


@pytest.mark.parametrize(("integrator", "options"), ADAPTIVE)
def test_coarse_tolerances_leave_interpolated_loops_closed(integrator, options):
    """Samples between coarse steps were open by more than the record accepts, and the run was lost at its end."""
    robot, q = compiled_system("five-bar")
    coarse = {"time": 0.5, "integrator": integrator, "rtol": 1e-3, "atol": 1e-5, "progress": False}
    record = kt.simulate(robot, q, samples=11, **coarse)
    assert robot.closure_error(record.q).max() < 1e-11
    fine = kt.simulate(robot, q, time=0.5, integrator="rk4", step=1e-3, samples=11, progress=False)
    np.testing.assert_allclose(record.q, fine.q, atol=5e-2)
    back = Event(lambda t, q, v: t - 0.05, reset=lambda t, q, v: (q, -v))
    there = kt.simulate(robot, q, events=back, **(coarse | {"time": 0.1}))
    np.testing.assert_allclose(there.q[-1], q, atol=5e-3)
    assert robot.closure_error(there.events[0].q) < 1e-11


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("output", [None, 3])
def test_a_step_too_large_for_loops_says_so(backend, output):
    """Stiff joints tear loops open within a step: neither the start nor the assembly is to blame."""
    robot, q = kt.gallery.load("four-bar").with_backend(backend), kt.gallery.start("four-bar")
    stiff = laws.PD(trajectories.Constant(q[:1]), 10.0, 10.0)
    options = {"controller": stiff, "integrator": "rk4", "progress": False, "samples": output}
    said = {"reference": r"loops .* 0\.005 s is too long", "compiled": r"0\.005 s is too (long|large)"}
    with pytest.raises(kt.SimulationError, match=f"{said[backend]} for rk4") as caught:
        kt.simulate(robot, q, time=0.1, step=5e-3, **options)
    assert 0.0 < caught.value.time < 0.1
    assert backend == "compiled" or isinstance(caught.value.__cause__, kt.ClosureError)
    assert kt.simulate(robot, q, time=0.1, step=5e-4, **options).status == "complete"

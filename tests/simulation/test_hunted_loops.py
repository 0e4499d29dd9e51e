"""Simulations of mechanisms, and around them, that once gave wrong numbers, lost a run or blamed the wrong thing."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree import control as laws
from kinetree.motion import trajectories
from kinetree.run import program
from kinetree.simulation.events import Event

LINK, APART = 0.2, 0.4
ADAPTIVE = [("rk45", {}), ("dop853", {}), ("radau", {})]
WAYS = [("dop853", {}), ("radau", {}), ("rk4", {"step": 1e-3})]


def parallelogram() -> kt.Robot:
    """Equal cranks: at an angle of zero all links lie on one line and it could fold the other way."""
    builder, hinge = kt.Builder("parallelogram", gravity=(0, -9.81, 0)), kt.Revolute("z")

    def rod(mass, length):
        return {"mass_properties": kt.MassProperties.rod(mass, (0, 0, 0), (length, 0, 0))}

    builder.body("crank", "base", hinge, **rod(1.0, LINK))
    builder.body("rocker", "base", hinge, position=(APART, 0, 0), actuated=False, **rod(1.0, LINK))
    builder.body("coupler", "rocker", hinge, position=(LINK, 0, 0), actuated=False, **rod(2.0, APART))
    builder.loop("pin", "crank", "coupler", hinge, placement=(LINK, 0, 0), seat=(APART, 0, 0))
    return builder.build().with_backend("compiled")


def named(name):
    return kt.gallery.load(name).with_backend("compiled"), kt.gallery.start(name)


# ------------------------------------------------------------------ between the steps


@pytest.mark.parametrize(("integrator", "options"), ADAPTIVE)
def test_coarse_tolerances_leave_interpolated_loops_closed(integrator, options):
    """Samples between coarse steps were open by more than the record accepts, and the run was lost at its end."""
    robot, q = named("five-bar")
    coarse = {"time": 0.5, "integrator": integrator, "rtol": 1e-3, "atol": 1e-5, "progress": False}
    record = kt.simulate(robot, q, output=11, **coarse)
    assert robot.closure_error(record.q).max() < 1e-11
    fine = kt.simulate(robot, q, time=0.5, integrator="rk4", step=1e-3, output=11, progress=False)
    np.testing.assert_allclose(record.q, fine.q, atol=5e-2)
    back = Event(lambda t, q, v: t - 0.05, reset=lambda t, q, v: (q, -v))
    there = kt.simulate(robot, q, events=back, **(coarse | {"time": 0.1}))
    np.testing.assert_allclose(there.q[-1], q, atol=5e-3)
    assert robot.closure_error(there.events[0].q) < 1e-11


@pytest.mark.parametrize(("integrator", "options"), WAYS)
@pytest.mark.parametrize(
    ("reset", "words"),
    [
        (lambda t, q, v: (q + 0.3 * np.eye(3)[1], v), "q leaves loops open by 0.0281"),
        (lambda t, q, v: (q, v + np.eye(3)[0]), "v tears loops open, at joint"),
        (lambda t, q, v: (q * np.nan, v), "q is nan at joint 'crank_joint'"),
        (lambda t, q, v: (q, None), "one of them is None"),
        (lambda t, q, v: (np.stack([q, q]), v), r"got shapes \(2, 3\) and \(3,\)"),
    ],
)
def test_a_reset_to_what_no_motion_starts_from_is_refused_at_its_time(integrator, options, reset, words):
    """It ran on to the end and was told there, or the step was said to be too large."""
    robot, q = named("four-bar")
    kick = Event(lambda t, q, v: t - 0.05, name="kick", reset=reset)
    with pytest.raises(kt.SimulationError, match=f"the reset of event 'kick' returned no state: .*{words}") as caught:
        kt.simulate(robot, q, time=0.1, integrator=integrator, events=kick, **options)
    assert caught.value.time == pytest.approx(0.05, abs=1e-12)


# ------------------------------------------------------------------ users' functions


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize(("integrator", "options"), WAYS)
def test_functions_that_change_what_they_are_given_change_nothing(backend, integrator, options):
    """A controller's ``q -= goal`` used to move the robot."""

    def careless(t, q, v):
        q -= 0.7
        v *= 3.0
        return -2.0 * q - v

    def watching(t, q, v):
        q *= 0.0
        v += 1.0
        return -1.0

    robot = kt.Builder("ball").body("ball", "base", kt.Prismatic("x"), mass=2.0).build().with_backend(backend)
    record = kt.simulate(
        robot, [0.7 + 0.2], time=0.5, controller=careless, events=watching, integrator=integrator, output=6, **options
    )
    t, w = record.time, np.sqrt(1.0 - 0.75**2)  # 2 x'' + 3 x' + 2 x = 0
    exact = 0.2 * np.exp(-0.75 * t) * (np.cos(w * t) + 0.75 / w * np.sin(w * t))
    np.testing.assert_allclose(record.q[:, 0] - 0.7, exact, atol=1e-7)


def test_events_that_are_none_are_refused():
    robot, q = named("four-bar")
    with pytest.raises(kt.OptionError, match="events are functions"):
        kt.simulate(robot, q, time=0.1, events=3)
    with pytest.raises(kt.OptionError, match="the reset of an event is a function"):
        Event(lambda t, q, v: t, reset=3)
    with pytest.raises(kt.SimulationError, match=r"returned False, which does not pass through zero") as caught:
        kt.simulate(robot, q, time=0.1, events=Event(lambda t, q, v: bool(t > 0.05)))
    assert caught.value.time == 0.0


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
@pytest.mark.parametrize("output", [None, 3])
def test_a_controller_lost_in_a_singular_configuration_is_blamed_and_not_the_step(integrator, output):
    """The reason was looked for at the last sample, which may be long ago."""
    robot = parallelogram()
    law = laws.ComputedTorque(trajectories.Cycloid([0.5], [-0.5], 1.0), 100.0, 20.0)  # flat at half time
    with pytest.raises(kt.SimulationError, match="the controller returned nan for joint 'crank_joint'") as caught:
        kt.simulate(
            robot, [0.5, 0.5, np.pi - 0.5], time=1.0, integrator=integrator, step=1e-3, controller=law, output=output
        )
    assert caught.value.time == pytest.approx(0.5, abs=1e-3)


def test_coordinates_that_are_no_list_are_refused():
    robot, q = named("five-bar")
    law = laws.ComputedTorque(trajectories.Constant(q[[0, 2]]), 1.0, 1.0, coordinates=5)
    with pytest.raises(kt.OptionError, match="coordinates is a list of names of joints, not 5"):
        law(robot, 0.0, q, np.zeros(4))


# ------------------------------------------------------------------ other processes, other threads


@pytest.mark.parametrize(("integrator", "options"), WAYS)
def test_a_simulator_that_has_run_goes_to_another_process(integrator, options):
    robot, q = named("five-bar")
    law = laws.ComputedTorque(trajectories.Constant(q[[0, 2]] + 0.1), 100.0, 20.0)
    simulator = kt.Simulator(robot, controller=law, integrator=integrator, **options)
    first = simulator.run(q, time=0.1, output=3)
    again = pickle.loads(pickle.dumps(simulator)).run(q, time=0.1, output=3)
    np.testing.assert_array_equal(again.q, first.q)
    assert np.abs(first.q[-1] - q).max() > 1e-3


def test_a_simulator_with_a_law_too_long_to_compile_goes_to_another_process():
    robot = kt.Builder("ball").body("ball", "base", kt.Prismatic("x"), mass=2.0).build().with_backend("compiled")
    times = np.linspace(0.0, 1.0, 9001)
    simulator = kt.Simulator(robot, controller=laws.TorqueTable(times, 12.0 * times[:, None]))
    assert simulator.function is not None
    record = pickle.loads(pickle.dumps(simulator)).run([0.0], time=1.0, output=2)
    np.testing.assert_allclose(record.q[-1], [1.0], rtol=1e-9)  # 2 x'' = 12 t


def test_a_kernel_dropped_by_another_thread_is_still_returned(monkeypatch):
    """Between looking whether a kernel was there and taking it, another thread could make room for its own."""

    class Crowded(dict):
        """Where, just after each look, another thread drops everything."""

        def __contains__(self, key):
            found = super().__contains__(key)
            self.clear()
            return found

    monkeypatch.setattr(program, "_MADE", Crowded())
    made = program.once("same", "", lambda key, target: ["kernel"])
    assert program.once("same", "", lambda key, target: ["another"]) == made == ["kernel"]


def test_threads_that_want_the_same_kernel_make_it_once(monkeypatch):
    monkeypatch.setattr(program, "_MADE", {})
    made, waiting = [], threading.Barrier(4)

    def make(key, target):
        made.append(key)
        threading.Event().wait(0.02)
        return object()

    found = []

    def want():
        waiting.wait()
        found.append(program.once("wanted", "", make))

    crew = [threading.Thread(target=want) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert len(made) == 1
    assert len(found) == 4
    assert len({id(x) for x in found}) == 1


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("output", [None, 3])
def test_a_step_too_large_for_loops_says_so(backend, output):
    """Stiff joints tear loops open within a step: neither the start nor the assembly is to blame."""
    robot, q = kt.gallery.load("four-bar").with_backend(backend), kt.gallery.start("four-bar")
    stiff = laws.PD(trajectories.Constant(q[:1]), 10.0, 10.0)
    options = {"controller": stiff, "integrator": "rk4", "progress": False, "output": output}
    with pytest.raises(kt.SimulationError, match=r"loops .* 0\.005 s are too much for rk4") as caught:
        kt.simulate(robot, q, time=0.1, step=5e-3, **options)
    assert 0.0 < caught.value.time < 0.1
    assert isinstance(caught.value.__cause__, kt.ClosureError)
    assert kt.simulate(robot, q, time=0.1, step=5e-4, **options).status == "complete"

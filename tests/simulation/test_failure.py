"""What goes wrong in a user's own functions: told with function and time, cause and record kept."""

from __future__ import annotations

import importlib.util
import traceback

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import rods
from kinetree import control as laws
from kinetree.contact.rigid_contacts import Contact
from kinetree.simulation.events import Event

G, LENGTH = 9.81, 0.7


class OutOfFuelError(Exception):
    """Nothing that kinetree knows."""


def pendulum(backend: str = "reference") -> kt.Robot:
    builder = kt.Builder("pendulum").body(
        "bob", "base", kt.Revolute("y"), mass=1.3, com=(0, 0, -LENGTH), joint_name="pivot"
    )
    return builder.build().with_backend(backend)


def ball(backend: str = "reference") -> kt.Robot:
    return kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=2.0).build().with_backend(backend)


def failing(*given, **options) -> kt.SimulationError:
    with pytest.raises(kt.SimulationError) as caught:
        kt.simulate(*given, **options)
    return caught.value


def raises_in(error: kt.SimulationError, function: str) -> bool:
    """Whether the traceback of the cause ends in a function of the user's."""
    assert error.__cause__ is not None
    return traceback.extract_tb(error.__cause__.__traceback__)[-1].name == function


STEPPED = [("dop853", None), ("rk45", None), ("radau", None), ("bdf", None), ("rk4", 0.01), ("variational", 0.01)]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize(
    ("integrator", "step"),
    [
        *STEPPED,
        pytest.param(
            "sundials", None, marks=pytest.mark.skipif(not importlib.util.find_spec("sksundae"), reason="not installed")
        ),
    ],
)
@pytest.mark.parametrize("kind", [OutOfFuelError, ValueError, kt.ShapeError, StopIteration])
def test_an_exception_of_a_controller_comes_with_its_time_and_the_record(backend, integrator, step, kind):
    raised = []

    def thrust(t, q, v):
        if t > 0.3:
            raised.append((t, kind("the tank is empty")))
            raise raised[-1][1]
        return [0.4]

    options = {"time": 1.0, "integrator": integrator, "step": step, "samples": 101}
    error = failing(pendulum(backend), [0.5], controller=thrust, **options)
    when, what = raised[0]
    assert error.__cause__ is what
    assert raises_in(error, "thrust")
    assert error.time == when
    assert f"the controller raised {kind.__name__}: the tank is empty" in str(error)
    record, whole = error.record, kt.simulate(pendulum(backend), [0.5], controller=lambda t, q, v: [0.4], **options)
    assert record.status == "failed"
    assert 0.1 <= record.time[-1] <= 0.31  # adaptive steps are long
    assert record.time.tolist() == whole.time[: len(record)].tolist()
    assert record.q == pytest.approx(whole.q[: len(record)], abs=1e-6)
    assert (record.tau[record.time <= 0.3] == 0.4).all()
    assert (record.energy.kinetic == pytest.approx(whole.energy.kinetic[: len(record)], abs=1e-6)) is True


def test_a_controller_that_fails_for_good_leaves_states_and_energies():
    """Asked again for the record it fails at every sample; that took one level of recursion each."""
    calls = 0

    def battery(t, q, v):
        nonlocal calls
        calls += 1
        if calls > 5000:
            raise OutOfFuelError
        return [0.0]

    error = failing(
        pendulum("compiled"), [0.5], time=10.0, controller=battery, integrator="semi_implicit_euler", step=1e-3
    )
    assert str(error).endswith("the controller raised OutOfFuelError")
    assert len(error.record) > 4000
    assert np.isnan(error.record.tau).all()
    assert np.isnan(error.record.a).all()
    q, v = error.record.q[:, 0], error.record.v[:, 0]
    assert error.record.energy.kinetic == pytest.approx(0.5 * 1.3 * LENGTH**2 * v**2)
    change = error.record.energy.potential - error.record.energy.potential[0]
    assert change == pytest.approx(1.3 * G * LENGTH * (np.cos(0.5) - np.cos(q)))


def test_a_controller_that_only_fails_when_asked_for_the_record_is_told_too():
    def once(t, q, v, seen=set()):  # noqa: B006
        now = abs(t - 0.5) < 1e-6  # steps look at their ends from within
        if now and seen:
            raise OutOfFuelError("asked twice")
        if now:
            seen.add(t)
        return [0.0]

    error = failing(pendulum(), [0.5], time=1.0, controller=once, integrator="euler", step=0.125)
    assert isinstance(error.__cause__, OutOfFuelError)
    assert error.time == 0.5
    assert error.record.time[-1] == 1.0
    assert np.flatnonzero(np.isnan(error.record.tau[:, 0])).tolist() == [4]


def test_a_keyboard_interrupt_and_an_exit_are_no_errors():
    def leaving(t, q, v):
        if t > 0.3:
            raise SystemExit(3)
        return [0.0]

    with pytest.raises(SystemExit):
        kt.simulate(pendulum(), [0.5], time=1.0, controller=leaving)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_batch_keeps_what_came_before_a_controllers_exception(backend):
    def thrust(t, q, v):
        if t > 0.301:
            raise OutOfFuelError("empty")
        return -0.5 * v

    q0 = np.array([[0.1], [0.2], [0.4]])
    options = {"time": 1.0, "integrator": "rk4", "step": 0.01, "samples": 11}
    error = failing(pendulum(backend), q0, controller=thrust, **options)
    assert isinstance(error.__cause__, OutOfFuelError)
    assert error.time == pytest.approx(0.305)
    assert error.record.time == pytest.approx([0.0, 0.1, 0.2, 0.3])
    whole = kt.simulate(pendulum(backend), q0, controller=lambda t, q, v: -0.5 * v, **options)
    assert error.record.q == pytest.approx(whole.q[:4], abs=1e-12)


def test_a_batch_keeps_what_came_before_a_loop_that_cannot_be_closed():
    """A four-bar torn by a huge force: the next step ends where no closure is near."""
    robot = kt.gallery.load("four-bar")
    q = np.repeat(kt.gallery.start("four-bar")[None], 2, axis=0)

    def push(t, q, v):
        return np.where([j.actuated for j in robot.model.joints], 1e9 if t > 0.021 else 0.0, 0.0)

    error = failing(robot, q, time=0.1, controller=push, integrator="euler", step=0.01, samples=11)
    assert len(error.record) >= 2
    assert isinstance(error.__cause__, kt.KinetreeError)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("step", [None, 0.01])
def test_a_law_that_cannot_be_evaluated_is_blamed(backend, step):
    def broken(t, q, v):
        return [q["pivot"]]

    options = {"integrator": "rk4", "step": step} if step else {}
    for start in ([0.5], [[0.5], [0.6]]) if step else ([0.5],):
        error = failing(pendulum(backend), start, time=1.0, controller=laws.Law(broken), **options)
        assert isinstance(error.__cause__, TypeError)
        assert raises_in(error, "broken")
        assert error.time == pytest.approx(0.0, abs=1e-9)
        assert str(error).startswith("at t = 0 s: the controller's law raised TypeError")


class Wind:
    """A force element of a user's."""

    def __init__(self, kind: type[Exception]) -> None:
        self.kind = kind

    def loads(self, tree, t, q, v, z):
        if not isinstance(t, float) or t > 0.3:
            raise self.kind("no wind data")
        return None, [0.1 * rate for rate in v], []


def test_an_exception_of_a_force_element_comes_with_its_time_and_the_record():
    error = failing(pendulum(), [0.5], time=1.0, ground=Wind(LookupError), integrator="rk4", step=0.01)
    assert isinstance(error.__cause__, LookupError)
    assert raises_in(error, "loads")
    assert "force element Wind raised LookupError: no wind data" in str(error)
    assert error.time == pytest.approx(0.3)  # where the next step begins, looked at from within
    assert error.record.time[-1] == pytest.approx(0.3)
    assert error.record.q.shape == (31, 1)
    traced = failing(pendulum("compiled"), [0.5], time=1.0, ground=Wind(LookupError))
    assert traced.time == 0.0
    assert isinstance(traced.__cause__, LookupError)


# ------------------------------------------------------------------ events


@pytest.mark.parametrize("part", ["function", "reset"])
def test_an_exception_of_an_event_comes_with_its_time_and_the_record(part):
    def high(t, q, v):
        if part == "function" and t > 0.2:
            raise OutOfFuelError("blind")
        return q[0]

    def bounce(t, q, v):
        raise OutOfFuelError("soft")

    event = Event(high, name="floor", reset=bounce if part == "reset" else None)
    error = failing(ball(), [1.0], time=1.0, events=event)
    assert isinstance(error.__cause__, OutOfFuelError)
    assert "event 'floor' raised OutOfFuelError" in str(error)
    if part == "reset":
        assert error.time == pytest.approx(np.sqrt(2.0 / G), abs=1e-12)
    else:
        assert 0.2 < error.time < 1.0
    t, z = error.record.time, error.record.q[:, 0]
    assert z == pytest.approx(1.0 - 0.5 * G * t**2, abs=1e-9)


@pytest.mark.parametrize("name", ["", "floor"])
@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_an_event_that_is_nan_is_an_error_that_names_it(integrator, name):
    """The height over a floor that is measured by a root: NaN below it, so the passing was never seen."""
    event = Event(lambda t, q, v: float(np.sqrt(q[0] - 0.5)) - 0.5 if q[0] >= 0.5 else np.nan, name=name)
    other = Event(lambda t, q, v: 1.0)
    options = {"step": 0.01, "integrator": integrator} if integrator == "rk4" else {"largest_step": 0.05}
    error = failing(ball(), [1.0], time=1.0, events=[other, event], **options)
    assert f"event {name or 'event 1'!r} returned NaN" in str(error)
    fallen = np.sqrt(2.0 * 0.5 / G)
    assert fallen < error.time < fallen + 0.05
    assert error.record.time[-1] <= fallen
    assert [e.name for e in error.record.events] == [name or "event 1"]  # 0.25 m above the floor


def test_infinite_values_of_an_event_have_a_sign():
    event = Event(lambda t, q, v: np.inf if q[0] > 0.5 else -1.0, terminal=True, name="drop")
    record = kt.simulate(ball(), [1.0], time=1.0, events=event, largest_step=0.05)
    assert record.status == "stopped by drop"
    assert record.time[-1] == pytest.approx(np.sqrt(2.0 * 0.5 / G), abs=1e-9)


# ------------------------------------------------------------------ rigid contacts


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_rigid_contacts_keep_the_record_too(backend):
    def thrust(t, q, v):
        if t > 0.3:
            raise OutOfFuelError("empty")
        return [1.0]

    with pytest.raises(kt.SimulationError, match="the controller raised OutOfFuelError: empty") as caught:
        kt.simulate_rigid(ball(backend), [Contact("ball", restitution=0.5)], [1.0], time=1.0, controller=thrust)
    error = caught.value
    assert isinstance(error.__cause__, OutOfFuelError)
    assert 0.3 < error.time < 1.0
    t, z = error.record.time, error.record.q[:, 0]
    assert z == pytest.approx(1.0 - 0.5 * (G - 0.5) * t**2, abs=1e-8)


def two_links() -> kt.Robot:
    b = kt.Builder("two links").body("upper", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5), actuated=False)
    return b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0, 0, -0.5)).build()


def test_no_joint_is_blamed_for_what_is_no_joints_fault():
    """An array of the wrong length, and a trajectory that ends, are about the controller as a whole."""
    short = failing(two_links(), time=0.1, controller=lambda t, q, v: np.zeros(1))
    assert short.joint is None
    assert "shape (1,)" in str(short)
    assert "expected 2 forces" in str(short)
    for step in ({}, {"integrator": "rk4", "step": 0.01}):
        goal = kt.trajectories.Cycloid([0.0], [1.0], 0.05)
        ended = failing(two_links(), time=0.1, controller=laws.PD(goal, 10.0, 1.0), **step)
        assert ended.joint is None
        assert ended.time == pytest.approx(0.05)
        assert "_joint" not in str(ended)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("way", [{}, {"integrator": "rk4", "step": 1e-3}, {"integrator": "variational", "step": 1e-3}])
def test_a_misspelt_frame_is_an_unknown_name(backend, way):
    law = kt.ground.HuntCrossley(1e5, 0.5)
    for start in ([0.1, 0.0], [[0.1, 0.0], [0.2, 0.0]]) if way else ([0.1, 0.0],):
        with pytest.raises(kt.UnknownNameError, match="named 'lowr'; did you mean 'lower'"):
            kt.simulate(
                two_links().with_backend(backend), start, time=0.1, ground=kt.ground.Ground(["lowr"], law), **way
            )
    with pytest.raises(kt.UnknownNameError, match="'bal'; did you mean 'ball'"):
        kt.simulate_rigid(ball(backend), [Contact("bal")], [1.0], time=0.1)
    with pytest.raises(kt.UnknownNameError, match="'bal'; did you mean 'ball'"):
        kt.simulate_rigid(ball(backend), [Contact("ball")], [1.0], time=0.1, ground=kt.ground.Ground(["bal"], law))


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("integrator", ["dop853", "radau", "bdf"])
@pytest.mark.parametrize("since", [-1.0, 0.1])
def test_a_law_that_becomes_nan_is_named_by_adaptive_integrators(no_hang, backend, integrator, since):
    """From the beginning on, SciPy looked for a first step for ever; later the problem was called stiff."""
    law = laws.Law(lambda t, q, v: [0.0 * q[0], kt.where(t > since, np.nan, 1.0) * v[1]])
    with pytest.raises(kt.SimulationError, match="the controller returned nan for joint 'b1_joint'") as caught:
        kt.simulate(rods().with_backend(backend), [0.1, 0.2], time=0.3, controller=law, integrator=integrator)
    assert caught.value.joint == "b1_joint"
    assert caught.value.time == pytest.approx(max(since, 0.0), abs=1e-2 if integrator == "bdf" else 1e-6)
    assert caught.value.record.time[-1] == pytest.approx(max(since, 0.0), abs=1e-2)


# ------------------------------------------------------------------ those that are meant to end a program


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4", "variational", "sundials"])
def test_an_exit_inside_a_controller_goes_through_with_the_record(integrator):
    if integrator == "sundials":
        pytest.importorskip("sksundae")
    options = {"step": 1e-2} if integrator in ("rk4", "variational") else {"largest_step": 1e-2}

    def controller(t, q, v):
        if t > 0.5:
            raise SystemExit(3)
        return [0.1]

    with pytest.warns(kt.KinetreeWarning, match="ends the run: its record up to"), pytest.raises(SystemExit) as caught:
        kt.simulate(ball(), [1.0], time=1.0, controller=controller, integrator=integrator, **options)
    record = caught.value.record
    assert caught.value.code == 3
    assert record.status == "interrupted"
    assert 0.4 < record.time[-1] <= 0.5
    assert np.allclose(record.tau, 0.1)
    assert "the exception's 'record'" in caught.value.__notes__[0]


def test_an_exit_in_a_batch_goes_through_with_the_record():
    def controller(t, q, v):
        if t > 0.5:
            raise SystemExit(3)
        return np.zeros_like(v)

    with pytest.warns(kt.KinetreeWarning, match="SystemExit"), pytest.raises(SystemExit) as caught:
        kt.simulate(ball(), np.ones((4, 1)), time=1.0, controller=controller, integrator="rk4", step=1e-2, samples=11)
    assert caught.value.record.q.shape == (6, 4, 1)


def test_an_exit_in_rigid_contact_goes_through_with_the_record():
    def controller(t, q, v):
        if t > 0.2:
            raise SystemExit
        return [0.0]

    with pytest.warns(kt.KinetreeWarning, match="SystemExit"), pytest.raises(SystemExit) as caught:
        kt.simulate_rigid(ball(), [Contact("ball")], [1.0], time=1.0, controller=controller, largest_step=0.01)
    assert 0.1 < caught.value.record.time[-1] <= 0.2


def test_a_second_interrupt_while_the_record_is_made_keeps_the_motion():
    calls = 0

    def controller(t, q, v):
        nonlocal calls
        calls += 1
        if calls > 100:
            raise KeyboardInterrupt
        return [0.0]

    with pytest.warns(kt.KinetreeWarning, match="interrupted: the record ends at"):
        record = kt.simulate(ball(), [1.0], time=10.0, controller=controller, largest_step=0.1)
    assert record.status == "interrupted"
    assert np.allclose(record.q[:, 0], 1.0 - 0.5 * 9.81 * record.time**2)
    assert np.isnan(record.tau).all()


def test_a_function_gets_the_simulated_time_and_can_end_the_run():
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    told = []

    def tell(t):
        told.append(t)
        raise KeyboardInterrupt

    with pytest.warns(kt.KinetreeWarning, match="interrupted"):
        record = kt.simulate(robot, [0.5], time=1000.0, integrator="rk4", step=1e-3, samples=100_001, progress=tell)
    assert record.status == "interrupted"
    assert len(told) == 1
    assert 0.0 < told[0] <= record.time[-1] + 0.01 < 1000.0

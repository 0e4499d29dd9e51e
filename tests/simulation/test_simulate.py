"""kt.simulate against closed forms and MuJoCo; events; loops; bad input."""

from __future__ import annotations

import _thread
import pickle
import signal
import threading
import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import compiled_system
from helpers.robots import arm
from judges.mujoco_judge import MujocoJudge, urdf_spec
from judges.real_robots import FIXED, FLOATING, load_quietly, robot_file
from kinetree import control as laws
from kinetree.motion import trajectories
from kinetree.robot.kept_programs import kept_place


def pendulum(backend: str = "reference", **options) -> kt.Robot:
    builder = kt.Builder("pendulum")
    builder.body("bob", "base", kt.Revolute("y"), joint_name="pivot", mass=1.0, com=(0, 0, -1.0), **options)
    return builder.build().with_backend(backend)


def ball() -> kt.Robot:
    """A point that moves up and down."""
    builder = kt.Builder("ball", gravity=(0, 0, -10.0))
    builder.body("ball", "base", kt.Prismatic("z"), joint_name="height", mass=2.0)
    return builder.build()


# ------------------------------------------------------------------ closed forms


@pytest.mark.parametrize("integrator", ["dop853", "rk45", "radau", "bdf", "sundials", "rk4", "dopri5"])
def test_a_free_fall_is_a_parabola(integrator):
    if integrator == "sundials":
        pytest.importorskip("sksundae")
    options = {"step": 0.01} if integrator in ("rk4", "dopri5") else {"rtol": 1e-9, "atol": 1e-9}
    record = kt.simulate(ball(), [5.0], [3.0], time=(1.0, 2.0), integrator=integrator, samples=7, **options)
    t = np.linspace(0, 1, 7)
    assert record.time == pytest.approx(1.0 + t)
    assert record.q[:, 0] == pytest.approx(5 + 3 * t - 5 * t * t, abs=1e-6)
    assert record.v[:, 0] == pytest.approx(3 - 10 * t, abs=1e-6)
    assert record.a[:, 0] == pytest.approx(-10.0)


@pytest.mark.parametrize("method", ["composite_body", "udu", "modules", "walker_orin_1"])
def test_every_method_of_forward_dynamics_gives_the_same_motion(method):
    robot = arm()
    options = {"time": 0.2, "integrator": "rk4", "step": 0.02, "samples": 3}
    start = np.linspace(0.3, 0.9, robot.nq)
    usual, other = (kt.simulate(robot, start, **options, **more) for more in ({}, {"method": method}))
    assert np.allclose(usual.q, other.q, rtol=0, atol=1e-10)
    assert not np.array_equal(usual.v, other.v)  # rounding tells that it was another way


def test_methods_that_cannot_be():
    with pytest.raises(kt.UnknownNameError, match="did you mean 'composite_body'"):
        kt.simulate(pendulum(), time=1.0, method="composite_bodies")
    with pytest.raises(kt.UnsupportedError, match="closed loops"):
        kt.simulate(kt.gallery.load("four-bar"), time=1.0, method="udu")


def test_a_damped_oscillator_follows_its_closed_form():
    """A PD controller on a slider without gravity: m x'' = -k x - c x'."""
    builder = kt.Builder("slider", gravity=(0, 0, 0))
    builder.body("cart", "base", kt.Prismatic("x"), mass=2.0)
    k, c = 50.0, 4.0
    law = laws.PD(trajectories.Constant([0.0]), k, c)
    record = kt.simulate(builder.build(), [0.3], time=2.0, controller=law, samples=21, rtol=1e-11, atol=1e-12)
    decay, w = c / 4.0, np.sqrt(k / 2.0 - (c / 4.0) ** 2)
    t = record.time
    expected = 0.3 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert record.q[:, 0] == pytest.approx(expected, abs=1e-9)
    assert record.tau[:, 0] == pytest.approx(-k * record.q[:, 0] - c * record.v[:, 0], abs=1e-8)
    work = record.energy.actuators
    assert work == pytest.approx(record.energy.kinetic - record.energy.kinetic[0], abs=1e-8)


def test_a_bouncing_ball_meets_the_ground_when_it_should():
    """Flights of v, e v, e^2 v, ...: the n-th bounce is at t1 + 2 v/g (e + ... + e^(n-1))."""
    e, height, g = 0.8, 1.25, 10.0

    def bounce(t, q, v):
        return q, -e * v

    ground = kt.Event(lambda t, q, v: q[0], direction=-1, name="bounce", reset=bounce)
    record = kt.simulate(ball(), [height], time=3.5, events=ground, rtol=1e-12, atol=1e-13)
    first, v = np.sqrt(2 * height / g), np.sqrt(2 * height * g)
    expected = first + np.concatenate([[0.0], np.cumsum(2 * v / g * e ** np.arange(1, 20))])
    expected = expected[expected < 3.5]
    assert len(expected) >= 6
    assert [x.time for x in record.events] == pytest.approx(expected, abs=1e-9)
    assert record.q.min() > -1e-9
    assert {x.name for x in record.events} == {"bounce"}


def test_events_of_a_pendulum_are_found_to_the_tolerance_and_end_a_run():
    robot = pendulum()
    fine = {"rtol": 1e-12, "atol": 1e-12}

    def down(t, q, v):
        return q[0]

    down.terminal, down.direction = True, -1
    record = kt.simulate(robot, [0.2], time=5.0, events=down, **fine)
    # from rest to the lowest point: a quarter of the period, which is the complete elliptic integral
    from scipy.special import ellipk

    quarter = ellipk(np.sin(0.1) ** 2) * np.sqrt(1.0 / 9.81)
    assert record.time[-1] == pytest.approx(quarter, abs=1e-10)
    assert record.status == "stopped by down"
    assert abs(record.q[-1, 0]) < 1e-12
    both = kt.simulate(robot, [0.2], time=4.2 * quarter, events=lambda t, q, v: q[0], **fine)
    assert [e.time for e in both.events] == pytest.approx([quarter, 3 * quarter], abs=1e-9)
    upwards = kt.simulate(robot, [0.2], time=4.2 * quarter, events=kt.Event(lambda t, q, v: q[0], direction=1), **fine)
    assert [e.time for e in upwards.events] == pytest.approx([3 * quarter], abs=1e-9)
    stepped = kt.simulate(
        robot, [0.2], time=4.2 * quarter, events=lambda t, q, v: q[0], integrator="rk4", step=0.01, samples=3
    )
    assert [e.time for e in stepped.events] == pytest.approx([quarter, 3 * quarter], abs=1e-7)
    assert len(stepped) == 3


def test_joint_friction_slows_as_its_smooth_law_says():
    """Without gravity: m v' = -c v - f v / sqrt(v^2 + s^2); compared with SciPy on that equation."""
    from scipy.integrate import solve_ivp

    builder = kt.Builder("sled", gravity=(0, 0, 0))
    builder.body("sled", "base", kt.Prismatic("x"), mass=2.0, damping=0.5, friction=3.0)
    record = kt.simulate(builder.build(), None, [2.0], time=3.0, samples=31, friction_speed=0.05, rtol=1e-10)
    judge = solve_ivp(
        lambda t, v: (-0.5 * v - 3.0 * v / np.sqrt(v * v + 0.05**2)) / 2.0, (0, 3), [2.0], "Radau",
        t_eval=record.time, rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    assert record.v[:, 0] == pytest.approx(judge.y[0], abs=1e-7)
    assert record.energy.friction[-1] == pytest.approx(-4.0, abs=1e-3)  # all of m v^2 / 2 is gone
    assert np.all(record.friction * record.v <= 0)
    assert record.energy.relative_error < 1e-8
    free = kt.simulate(builder.build(), None, [2.0], time=3.0, friction=False)
    assert free.v[-1, 0] == pytest.approx(2.0)


# ------------------------------------------------------------------ MuJoCo


def mujoco_run(robot: kt.Robot, model, q, v, step: float, count: int, integrator: int):
    """MuJoCo's own steps, in our coordinates."""
    judge = MujocoJudge(robot, model)
    model.opt.timestep, model.opt.integrator = step, integrator
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    judge._set(q, v)
    for _ in range(count):
        mujoco.mj_step(model, judge.data)
    back = np.empty(robot.nq)
    for seat in judge.seats:
        own = judge.data.qpos[seat.qpos]
        if isinstance(seat.joint.kind, kt.Free):
            back[seat.joint.q_slice] = [*own[[4, 5, 6, 3]], *own[:3]]
        else:
            back[seat.joint.q_slice] = own
    mujoco.mj_forward(model, judge.data)
    return back, np.linalg.solve(judge.tangent(back), judge.data.qvel)


ROBOTS = {"panda": FIXED["panda"], "ur5": FIXED["ur5"], "solo12": FLOATING["solo12"]}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("integrator", "judged_by"), [("semi_implicit_euler", 0), ("rk4", 1)])
@pytest.mark.filterwarnings("ignore:out of range")  # fingers that nothing holds
def test_mujoco_steps_to_the_same_place(name, integrator, judged_by):
    floating = name in FLOATING
    path = robot_file(ROBOTS[name])
    options = {"floating_base": True} if floating else {"mimic": "independent"}
    robot = load_quietly(path, **options).with_backend("compiled")
    spec = urdf_spec(path, floating_base=floating)
    rng = np.random.default_rng(5)
    q = robot.random_configuration(rng)
    v = rng.uniform(-1, 1, robot.nv)
    apart = []
    for step in (4e-3, 2e-3):
        count = round(0.08 / step)
        there = mujoco_run(robot, spec.compile(), q, v, step, count, judged_by)
        record = kt.simulate(
            robot, q, v, time=0.08, step=step, integrator=integrator, friction=False, samples=2
        )  # fmt: skip
        here = record.q[-1], record.v[-1]
        apart.append(max(np.abs(robot.difference(here[0], there[0])).max(), np.abs(here[1] - there[1]).max()))
    if not floating or integrator == "semi_implicit_euler":  # the very same formula
        assert max(apart) < 1e-8
    else:  # MuJoCo turns by the average of the stages' velocities, which is no Munthe-Kaas step
        assert apart[0] < 1e-4
        assert apart[0] / apart[1] > 3.5


# ------------------------------------------------------------------ closed loops


def parallelogram() -> kt.Robot:
    rod = {"mass": 1.0, "com": (0, 0, -0.5)}
    builder = kt.Builder("parallelogram")
    builder.body("rod0", "base", kt.Revolute("y"), **rod)
    builder.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), **rod)
    builder.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1.0, com=(0.5, 0, 0))
    builder.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    return builder.build()


@pytest.mark.parametrize(
    ("integrator", "options"),
    [("dop853", {}), ("radau", {}), ("rk4", {"step": 0.005}), ("semi_implicit_euler", {"step": 1e-3})],
)
def test_loops_stay_closed_and_a_parallelogram_swings_like_a_pendulum(integrator, options):
    """The coupler only shifts, so the mechanism is a pendulum: (2 m L^2/4 + M L^2) q'' = -(m + M) g L sin q."""
    robot = parallelogram().with_backend("compiled")
    q0 = np.array([0.6, 0.6, -0.6])
    record = kt.simulate(robot, q0, time=1.0, integrator=integrator, samples=11, **options)
    assert robot.closure_error(record.q).max() < 1e-9
    assert record.constraint_forces.shape == (11, robot.n_constraints)
    from scipy.integrate import solve_ivp

    judge = solve_ivp(
        lambda t, y: [y[1], -2.0 * 9.81 * np.sin(y[0]) / 1.5], (0, 1), [0.6, 0.0], "DOP853",
        t_eval=record.time, rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    tolerance = 0.02 if integrator == "semi_implicit_euler" else 1e-5
    assert record.q[:, 0] == pytest.approx(judge.y[0], abs=tolerance)
    if integrator == "dop853":
        assert record.energy.relative_error < 1e-7


def four_bar() -> kt.Robot:
    """Links of different lengths in a plane, closed by a ball joint: two of its three constraints matter."""
    builder = kt.Builder("four-bar")
    for name, parent, at, length in (
        ("crank", "base", 0, 0.3),
        ("coupler", "crank", 0.3, 0.8),
        ("rocker", "base", 0.9, 0.6),
    ):
        rod = kt.MassProperties.rod(length, (0, 0, 0), (length, 0, 0))
        builder.body(name, parent, kt.Revolute("y"), position=(at, 0, 0), mass_properties=rod, damping=0.01)
    builder.loop("pin", "coupler", "rocker", kt.Spherical(), placement=(0.8, 0, 0), seat=(0.6, 0, 0))
    return builder.build()


def test_a_mechanism_stepped_in_machine_code_has_the_order_and_agrees_with_the_reference(monkeypatch):
    robot = four_bar().with_backend("compiled")
    q0 = robot.close([-1.0, 0.5, -2.0], fixed=robot.joint_names[:1])
    exact = kt.simulate(robot, q0, time=0.4, samples=2, rtol=1e-12, atol=1e-12)
    assert np.ptp(exact.q, axis=0).max() > 0.3  # it moves
    errors = []
    for step in (0.02, 0.01, 0.005):
        record = kt.simulate(robot, q0, time=0.4, step=step, integrator="rk4", samples=2)
        assert robot.closure_error(record.q).max() < 1e-8
        errors.append(np.abs(record.q[-1] - exact.q[-1]).max())
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(4.0, abs=0.6), errors
    written = kt.simulate(four_bar(), q0, time=0.1, step=0.01, integrator="rk4", samples=2)
    options = {"time": 0.1, "step": 0.01, "integrator": "rk4", "samples": 2}
    compiled = kt.simulate(robot, q0, **options)
    # both are closed, but brought back along different ways: apart by the error of the steps
    assert compiled.q[-1] == pytest.approx(written.q[-1], abs=2e-7)
    assert compiled.energy.total[-1] == pytest.approx(written.energy.total[-1], abs=1e-6)
    # where the choice of constraints is held to be bad, the general method steps in and says the same
    monkeypatch.setattr("kinetree.algorithms.loop_clusters.LEAST_QUALITY_OF_CLUSTERS", 2.0)
    monkeypatch.setattr("kinetree.algorithms.constrained_dynamics.LEAST_QUALITY", 2.0)
    kept_place.cache_clear()  # laws are traced anew
    general = kt.simulate(robot, q0, **options)
    kept_place.cache_clear()
    assert general.q[-1] == pytest.approx(written.q[-1], abs=1e-12)


def test_a_batch_of_mechanisms_stays_closed():
    robot = parallelogram().with_backend("compiled")
    angles = np.array([0.2, 0.6, -0.4])
    q0 = np.stack([angles, angles, -angles], axis=-1)
    options = {"time": 0.1, "integrator": "rk4", "step": 0.01, "samples": 3}
    together = kt.simulate(robot, q0, **options)
    assert robot.closure_error(together.q).max() < 1e-9
    assert together.constraint_forces.shape == (3, 3, robot.n_constraints)
    for k in range(3):
        alone = kt.simulate(robot, q0[k], **options)
        assert together.q[:, k] == pytest.approx(alone.q, abs=1e-9)


# ------------------------------------------------------------------ bad input


def failing(**options) -> kt.SimulationError:
    with pytest.raises(kt.SimulationError) as caught:
        kt.simulate(**options)
    return caught.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q0": [0.0, 0.0]}, "q0 must have shape"),
        ({"v0": [0.0]}, "v0 must have shape"),
        ({"q0": [0.0, np.nan, 0.0]}, "joint 'elbow'"),
        ({"v0": [0.0, 0.0, np.inf]}, "joint 'wrist'"),
        ({"time": -1.0}, "time must be"),
        ({"time": (2.0, 1.0)}, "time must be"),
        ({"integrator": "rk5"}, "no integrator named"),
        ({"integrator": "rk4"}, "needs a step"),
        ({"step": 0.1}, "chooses its own steps"),
        ({"rtol": 0.0}, "rtol must be a positive number"),
        ({"samples": 1}, "samples must be at least two"),
        ({"samples": "steps"}, "for one at each step of the integrator, leave it out"),
        ({"samples": [0.0, 2.0]}, "between 0 and 1 s"),
        ({"samples": [0.5, 0.2]}, "increasing"),
        ({"controller": 3.0}, "a controller has a law"),
        ({"controller": np.ones(2)}, "constant forces are lambda t, q, v: tau"),
        ({"tau": np.ones(2)}, "did you mean 'controller'"),
        ({"ground": "floor"}, "force elements"),
        ({"events": 7}, "events are functions"),
    ],
)
def test_what_cannot_be_is_refused_before_the_start(change, words):
    options = {"robot": arm(), "time": 1.0} | change
    with pytest.raises(kt.KinetreeError, match=words):
        kt.simulate(**options)


def test_quaternions_must_be_of_unit_length_and_loops_closed():
    builder = kt.Builder("ball joint")
    builder.body("b", "base", kt.Spherical(), joint_name="socket", mass=1.0, com=(0, 0, -0.1))
    with pytest.raises(kt.StateError, match="socket"):
        kt.simulate(builder.build(), [0, 0, 0, 1.1], time=1.0)
    with pytest.raises(kt.StateError, match="open by"):
        kt.simulate(parallelogram(), [0.6, 0.6, -0.5], time=1.0)
    with pytest.raises(kt.StateError, match="tears loops open"):
        kt.simulate(parallelogram(), [0.6, 0.6, -0.6], [1.0, 0.0, 0.0], time=1.0)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_step_too_large_is_named_with_time_and_joint(backend):
    robot = arm().with_backend(backend)
    stiff = laws.Law(lambda t, q, v: [0.0, -1e5 * v[1], 0.0])
    error = failing(robot=robot, v0=[0, 0.1, 0], time=1.0, controller=stiff, integrator="rk4", step=0.01)
    assert "too large" in str(error)
    assert "t = " in str(error)
    assert error.joint in robot.v_names
    assert error.record.status == "failed"
    assert 1 <= len(error.record) < 100
    assert np.isfinite(error.record.q).all()
    # with few samples many steps are taken at a time, and still the first bad one is named
    sparse = failing(
        robot=robot, v0=[0, 0.1, 0], time=1.0, controller=stiff, integrator="rk4", step=0.01, samples=[0.0, 1.0]
    )
    assert sparse.time == error.time


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_variational_step_that_cannot_be_solved_is_named(backend):
    error = failing(robot=arm().with_backend(backend), q0=[0.1, 1.0, 2.0], time=9.0, integrator="variational", step=3.0)
    assert "too large" in str(error)
    assert error.joint in arm().v_names
    assert error.record.time[0] == 0.0


def test_a_stiff_problem_is_refused_to_an_explicit_integrator_and_solved_by_an_implicit_one():
    robot = arm().with_backend("compiled")

    def stiff(t, q, v):
        return np.array([0.0, -1e7 * (v[1] - np.cos(t)), 0.0])

    error = failing(robot=robot, v0=[0, 1.0, 0], time=10.0, controller=stiff, rtol=1e-6, atol=1e-8)
    assert "stiff" in str(error)
    assert "radau" in str(error)
    assert error.joint == "elbow"
    assert len(error.record) > 3
    record = kt.simulate(
        robot, v0=[0, 1.0, 0], time=0.5, controller=stiff, integrator="radau", rtol=1e-6, atol=1e-8, works=False
    )
    assert record.v[-1, 1] == pytest.approx(np.cos(0.5), abs=1e-4)


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "variational", "sundials"])
def test_a_controller_that_returns_nan_or_the_wrong_length_is_named(integrator):
    if integrator == "sundials":
        pytest.importorskip("sksundae")
    step = {"step": 0.01} if integrator in ("rk4", "variational") else {}
    robot = arm()

    def lost(t, q, v):
        return np.array([0.0, 0.0, np.nan if t > 0.1 else 0.0])

    error = failing(robot=robot, time=0.3, controller=lost, integrator=integrator, **step)
    assert error.joint == "wrist"
    assert "nan" in str(error)
    assert 0.09 < error.time < 0.3
    assert error.record.time[-1] <= error.time + 1e-12
    error = failing(robot=robot, time=0.3, controller=lambda t, q, v: [1.0, 2.0], integrator=integrator, **step)
    assert "shape (2,)" in str(error)
    assert error.joint is None  # it is about none of them
    assert error.time == 0.0
    assert len(error.record) == 1


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_compiled_law_that_becomes_nan_is_named_too(backend):
    robot = arm().with_backend(backend)
    bad = laws.Law(lambda t, q, v: [0.0, kt.sqrt(0.05 - t), 0.0])
    error = failing(robot=robot, time=0.3, controller=bad, integrator="rk4", step=0.01)
    assert error.joint == "elbow"
    short = laws.Law(lambda t, q, v: [0.0, 0.0])
    error = failing(robot=robot, time=0.3, controller=short, integrator="rk4", step=0.01)
    assert "2 forces" in str(error)
    assert len(error.record) >= 1


@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_a_trajectory_that_ends_too_early_stops_there_with_the_record_kept(integrator):
    robot = arm()
    goal = trajectories.Cycloid([0.0, 0.0, 0.0], [0.1, 0.2, 0.3], 0.2)
    step = {"step": 0.03} if integrator == "rk4" else {}
    options = {"robot": robot, "time": 0.5, "controller": laws.PD(goal, 2.0, 0.05), "integrator": integrator}
    error = failing(**options, **step)
    assert "trajectory ends" in str(error)
    assert error.time == pytest.approx(0.2)
    assert error.joint is None  # it is about all of them
    assert error.record.time[-1] == pytest.approx(0.2)
    held = options | {"controller": laws.PD(goal.held(), 2.0, 0.05)}
    assert kt.simulate(**held, **step).time[-1] == 0.5


def test_a_long_table_is_machine_code_and_gives_the_same():
    robot = arm().with_backend("compiled")
    times = np.linspace(0.0, 0.2, 3001)
    rows = np.stack([0.1 * np.sin(20 * times), np.cos(9 * times), 0.3 * times], axis=-1)
    table = laws.TorqueTable(times, rows)
    simulator = kt.Simulator(robot, controller=table, integrator="rk4", step=0.002)
    assert simulator.function is None
    smooth = laws.Law(lambda t, q, v: [0.1 * kt.sin(20 * t), kt.cos(9 * t), 0.3 * t])
    a = simulator.run(time=0.2, samples=2)
    b = kt.simulate(robot, time=0.2, controller=smooth, integrator="rk4", step=0.002, samples=2)
    assert a.q == pytest.approx(b.q, abs=1e-6)
    assert a.tau == pytest.approx(b.tau, abs=1e-6)
    with pytest.raises(kt.SimulationError, match="trajectory ends"):
        simulator.run(time=0.3)


def test_an_interrupted_run_keeps_what_was_computed():
    robot = arm()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it

    def slow(t, q, v):
        if t > 0.05:
            _thread.interrupt_main()
        return np.zeros(3)

    try:
        with pytest.warns(kt.KinetreeWarning, match="interrupted"):
            record = kt.simulate(robot, time=100.0, controller=slow, integrator="rk4", step=0.01)
    finally:
        signal.signal(signal.SIGINT, before)
    assert record.status == "interrupted"
    assert 3 < len(record) < 50
    assert threading.current_thread() is threading.main_thread()


def test_a_motion_without_bound_is_reported():
    error = failing(robot=pendulum(), q0=[0.1], time=50.0, controller=lambda t, q, v: 50.0 * v**3 + q)
    assert error.joint == "pivot"
    assert error.record.time[-1] < 50.0


def test_warnings_of_gimbal_lock_do_not_flood():
    builder = kt.Builder("euler")
    builder.body("b", "base", kt.EulerSpherical("XYZ"), mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.1, 0.1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kt.simulate(builder.build(), [0.1, 1.0, 0.2], time=0.1)
    assert len(caught) <= 2


WAYS = [("dop853", {}), ("radau", {}), ("rk4", {"step": 1e-3})]


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
        robot, [0.7 + 0.2], time=0.5, controller=careless, events=watching, integrator=integrator, samples=6, **options
    )
    t, w = record.time, np.sqrt(1.0 - 0.75**2)  # 2 x'' + 3 x' + 2 x = 0
    exact = 0.2 * np.exp(-0.75 * t) * (np.cos(w * t) + 0.75 / w * np.sin(w * t))
    np.testing.assert_allclose(record.q[:, 0] - 0.7, exact, atol=1e-7)


@pytest.mark.parametrize(("integrator", "options"), WAYS)
def test_a_simulator_that_has_run_goes_to_another_process(integrator, options):
    robot, q = compiled_system("five-bar")
    law = laws.ComputedTorque(trajectories.Constant(q[[0, 2]] + 0.1), 100.0, 20.0)
    simulator = kt.Simulator(robot, controller=law, integrator=integrator, **options)
    first = simulator.run(q, time=0.1, samples=3)
    again = pickle.loads(pickle.dumps(simulator)).run(q, time=0.1, samples=3)
    np.testing.assert_array_equal(again.q, first.q)
    assert np.abs(first.q[-1] - q).max() > 1e-3


def a_long_law(t, q, v):
    return [12.0 * t + sum(1e-30 * kt.sin(k * t + q[0]) * kt.cos(v[0] - k * t) for k in range(4000))]


def test_a_simulator_with_a_law_too_long_to_compile_goes_to_another_process():
    robot = kt.Builder("ball").body("ball", "base", kt.Prismatic("x"), mass=2.0).build().with_backend("compiled")
    law = laws.Law(a_long_law)
    with pytest.warns(kt.SpeedWarning, match="the law of Law takes .* runs in Python"):
        simulator = kt.Simulator(robot, controller=law)
    assert simulator.function is not None
    record = pickle.loads(pickle.dumps(simulator)).run([0.0], time=1.0, samples=2)
    np.testing.assert_allclose(record.q[-1], [1.0], rtol=1e-9)  # 2 x'' = 12 t


def test_what_is_set_up_cannot_be_changed():
    robot = kt.Builder("ball").body("ball", "base", kt.Prismatic("x"), mass=2.0).build()
    simulator = kt.Simulator(robot)
    with pytest.raises(kt.ReadOnlyError, match=r"'controller' cannot be set: make another one, Simulator"):
        simulator.controller = laws.Law(lambda t, q, v: [1.0])
    with pytest.raises(AttributeError, match="make another one"):
        simulator.law = None


def test_kinks_of_a_torque_table_cost_no_digits():
    """A mass under forces that are straight between rows, beside the sums of its cubic pieces."""
    made = kt.Builder("cart", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=2.0).build()
    times = np.linspace(0.0, 1.0, 21)
    force = np.random.default_rng(0).uniform(-5.0, 5.0, 21)
    q = v = 0.0
    for h, a, b in zip(np.diff(times), force[:-1] / 2.0, force[1:] / 2.0, strict=True):
        q, v = q + h * v + h * h * (2.0 * a + b) / 6.0, v + 0.5 * h * (a + b)
    table = laws.TorqueTable(times, force[:, None])
    record = kt.simulate(made, time=1.0, controller=laws.Saturated(table + table, 20.0), samples=2)
    assert abs(record.q[-1, 0] - 2.0 * q) < 1e-14
    assert abs(record.v[-1, 0] - 2.0 * v) < 1e-14
    assert record.info["steps"] < 30
    dense = np.linspace(0.0, 1.0, 2001)  # a curve, whose rows are nothing to stop at
    assert len(laws.TorqueTable(dense, np.sin(6.0 * dense)[:, None]).kinks(-1.0, 2.0)) == 2

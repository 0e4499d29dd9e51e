"""Faults that were hunted down in simulations, each by a judge that does not share code with what it judges."""

from __future__ import annotations

import faulthandler

import numpy as np
import pytest

import kinetree as kt
from kinetree import control as laws
from kinetree.contact import complementarity
from kinetree.contact.rigid_contacts import Contact
from kinetree.motion import trajectories

G = 9.81


def ball(count=1, backend="reference"):
    builder = kt.Builder("balls")
    for k in range(count):
        builder.body(f"ball{k}", "base", kt.Prismatic("z"), mass=1.0)
    return builder.build().with_backend(backend)


@pytest.fixture
def no_hang():
    faulthandler.dump_traceback_later(20, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


# ------------------------------------------------------------------ events


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}, {"integrator": "bdf"}], ids=str)
def test_events_at_the_same_instant_are_all_noted_once(no_hang, options):
    """Two functions with the same zeros: one of them was lost (adaptive), or both were found for ever (fixed step)."""
    events = [
        kt.Event(lambda t, q, v: q[0] - 0.5, name="half"),
        kt.Event(lambda t, q, v: 0.5 - q[0], name="half too"),
        kt.Event(lambda t, q, v: 1e3 * (q[0] - 0.5), name="half again"),
    ]
    record = kt.simulate(ball(), [1.0], time=0.6, events=events, **options)
    assert sorted(e.name for e in record.events) == ["half", "half again", "half too"]
    assert [e.time for e in record.events] == pytest.approx([np.sqrt(1.0 / G)] * 3, abs=1e-7)


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}], ids=str)
def test_balls_that_bounce_at_the_same_instant_all_bounce(no_hang, options):
    def bounce(k):
        def reset(t, q, v):
            v[k] *= -0.5
            return q, v

        return kt.Event(lambda t, q, v: q[k], direction=-1, name=f"bounce {k}", reset=reset)

    record = kt.simulate(ball(2), [1.0, 1.0], time=0.8, events=[bounce(0), bounce(1)], **options)
    first = np.sqrt(2.0 / G)
    assert [e.time for e in record.events] == pytest.approx([first, first], abs=1e-9)
    up = 0.8 - first
    expected = 0.5 * G * first * up - 0.5 * G * up**2
    assert record.q[-1] == pytest.approx([expected, expected], abs=1e-8)


def test_a_run_that_ends_notes_what_else_happens_then():
    events = [
        kt.Event(lambda t, q, v: q[0] - 0.5, terminal=True, name="end"),
        kt.Event(lambda t, q, v: q[0] - 0.5, name="half"),
    ]
    record = kt.simulate(ball(), [1.0], time=1.0, events=events)
    assert [e.name for e in record.events] == ["half", "end"]
    assert record.status == "stopped by end"


def test_rounding_does_not_decide_what_happens_at_the_same_instant():
    """Where a zero is found the function may still be on the near side of it, at some heights on any processor."""
    for height in np.linspace(0.3, 0.7, 40):
        for same in (lambda t, q, v, h=height: q[0] - h, lambda t, q, v, h=height: t - np.sqrt(2.0 * (1.0 - h) / G)):
            events = [
                kt.Event(lambda t, q, v, h=height: q[0] - h, terminal=True, name="end"),
                kt.Event(same, name="also"),
            ]
            record = kt.simulate(ball(), [1.0], time=1.0, events=events, rtol=1e-12, atol=1e-14)
            assert [e.name for e in record.events] == ["also", "end"], height


def test_resets_add_no_samples_to_those_asked_for():
    bounce = kt.Event(lambda t, q, v: q[0], direction=-1, reset=lambda t, q, v: (q, -0.8 * v))
    record = kt.simulate(ball(), [1.0], time=2.0, events=bounce, output=21)
    assert record.time == pytest.approx(np.linspace(0.0, 2.0, 21))
    assert len(record.events) == 3


# ------------------------------------------------------------------ complementarity


def test_pivoting_does_not_take_a_ray_for_a_solution():
    """C of rank one, d not in its range: forces of 1e15 N were returned, whose rounding hid the negative slacks."""
    rng = np.random.default_rng(1)
    for _ in range(1500):
        n = int(rng.integers(2, 7))
        j, d = rng.normal(size=n), rng.normal(size=n)
        c = np.outer(j, j)
        # f >= 0 enters through s = j.f alone: w = j s + d >= 0 with f.w = 0
        bounds = -d / j
        low, high = np.max(bounds[j > 0], initial=-np.inf), np.min(bounds[j < 0], initial=np.inf)
        if low > high + 1e-6:
            with pytest.raises(complementarity.NoSolutionError):
                complementarity.solve(c, d)
        elif low < high - 1e-6:
            found = complementarity.solve(c, d)
            w = c @ found.force + d
            assert w.min() > -1e-6
            assert np.all(found.force >= 0)
            assert np.abs(found.force * w).max() < 1e-6 * max(1.0, found.force.max())


# ------------------------------------------------------------------ lanes that are lost leave the others alone


def double_pendulum(backend="reference"):
    rod = kt.MassProperties.rod(1.0, (0, 0, 0), (0, 0, -1))
    builder = kt.Builder("double pendulum").body("upper", "base", kt.Revolute("y"), mass_properties=rod)
    builder.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass_properties=rod)
    return builder.build().with_backend(backend)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_lane_whose_variational_step_cannot_be_solved_is_lost_alone(backend):
    robot, options = double_pendulum(backend), {"time": 0.05, "integrator": "variational", "step": 0.01, "output": 2}
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
    q, options = mechanism.assembled(), {"time": 0.2, "integrator": "rk4", "step": 0.01, "output": 3}
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


# ------------------------------------------------------------------ controllers that fail


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("integrator", ["dop853", "radau", "bdf"])
@pytest.mark.parametrize("since", [-1.0, 0.1])
def test_a_law_that_becomes_nan_is_named_by_adaptive_integrators(no_hang, backend, integrator, since):
    """From the beginning on, SciPy looked for a first step for ever; later the problem was called stiff."""
    law = laws.Law(lambda t, q, v: [0.0 * q[0], kt.where(t > since, np.nan, 1.0) * v[1]])
    with pytest.raises(kt.SimulationError, match="the controller returned nan for joint 'lower_joint'") as caught:
        kt.simulate(double_pendulum(backend), [0.1, 0.2], time=0.3, controller=law, integrator=integrator)
    assert caught.value.joint == "lower_joint"
    assert caught.value.time == pytest.approx(max(since, 0.0), abs=1e-2 if integrator == "bdf" else 1e-6)
    assert caught.value.record.time[-1] == pytest.approx(max(since, 0.0), abs=1e-2)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_rigid_contact_says_what_a_controller_lacks(no_hang, backend):
    robot, contacts = ball(backend=backend), [Contact("ball0", restitution=0.5)]
    short = laws.PD(trajectories.Cycloid([0.2], [1.0], 0.3), 50.0, 10.0)
    with pytest.raises(kt.SimulationError, match="trajectory ends here") as caught:
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=short)
    assert (caught.value.time, caught.value.joint) == (0.3, None)  # the trajectory is to blame, no joint
    assert caught.value.record.time[-1] == 0.3
    late = laws.PD(trajectories.Cycloid([0.2], [1.0], 0.3, begin=0.5), 50.0, 10.0)
    with pytest.raises(kt.OptionError, match=r"starts at 0\.5 s"):
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=late)
    for since in (-1.0, 0.1):
        law = laws.Law(lambda t, q, v, since=since: [kt.where(t > since, np.nan, 1.0) * q[0]])
        with pytest.raises(kt.SimulationError, match="the controller returned nan for joint 'ball0_joint'"):
            kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=law)
    many = laws.PD(trajectories.Constant([0.2]), [[5.0], [6.0]], 1.0)
    with pytest.raises(kt.OptionError, match="one robot at a time"):
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=many)
    with pytest.raises(kt.OptionError, match="friction_speed"):
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, friction_speed=-1.0)


# ------------------------------------------------------------------ records


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_a_record_of_nothing_is_saved_and_loaded(tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    nothing = kt.simulate(ball(), [1.0], time=0.1, output=3)[:0]
    nothing.save(tmp_path / f"nothing{ending}")
    again = kt.Record.load(tmp_path / f"nothing{ending}")
    assert (again.q.shape, again.energy.kinetic.shape) == ((0, 1), (0,))


def test_a_sample_that_is_not_there_is_refused():
    record = kt.simulate(ball(), [1.0], time=0.1, output=3)
    assert [record[k].time[0] for k in (0, -1, -3)] == pytest.approx([0.0, 0.1, 0.0])
    for k in (3, -4):
        with pytest.raises(IndexError, match="3 samples"):
            record[k]


# ------------------------------------------------------------------ controllers


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_table_of_steps_holds_its_last_row(backend):
    """Force 1 N until 0.1 s, 2 N until 0.2 s, then -3 N: the row before the last was held."""
    robot = kt.Builder("mass", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=1.0).build()
    table = laws.TorqueTable([0.0, 0.1, 0.2], [[1.0], [2.0], [-3.0]], kind="step", hold=True)
    assert [table(robot, t, [0.0], [0.0])[0] for t in (-1.0, 0.05, 0.1, 0.19, 0.2, 0.3)] == [1, 1, 2, 2, -3, -3]
    record = kt.simulate(
        robot.with_backend(backend), time=0.4, controller=table, integrator="semi_implicit_euler", step=1e-3, output=2
    )
    assert record.v[-1, 0] == pytest.approx(0.1 * 1.0 + 0.1 * 2.0 - 0.2 * 3.0, abs=6e-3)
    ends = laws.TorqueTable([0.0, 0.1, 0.2], [[1.0], [2.0], [-3.0]], kind="step")
    assert ends(robot, 0.2, [0.0], [0.0])[0] == -3.0
    with pytest.raises(kt.KinetreeError, match=r"ends at t = 0\.2 s"):
        ends(robot, 0.25, [0.0], [0.0])


# ------------------------------------------------------------------ trajectories


def test_side_by_side_a_part_that_holds_its_end_does_not_stop_the_others():
    """Only ``.held()`` on the whole was accepted, which froze the longer part at the end of the shorter one."""
    short, long = trajectories.Cycloid([0.0], [1.0], 1.0), trajectories.Cycloid([0.0], [1.0], 2.0)
    both = trajectories.Stacked([short.held(), long])
    assert both.end == 2.0
    for t in (0.5, 1.5, 2.0):
        for ours, first, second in zip(both(t), short.held()(t), long(t), strict=True):
            assert ours == pytest.approx([first[0], second[0]], abs=1e-15)
    with pytest.raises(kt.KinetreeError, match="ends at t = 2 s"):
        both(2.5)
    held = both.held()(2.5)
    assert np.concatenate(held) == pytest.approx([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], abs=1e-15)
    forever = trajectories.Stacked([short.held(), long.held()])
    assert np.concatenate(forever(np.array([-1.0, 9.0]))[0]) == pytest.approx([0.0, 0.0, 1.0, 1.0], abs=1e-15)


def test_one_after_another_the_last_part_may_hold_its_end():
    there, back = trajectories.Cycloid([0.0], [1.0], 1.0), trajectories.Cubic([1.0], [0.5], 1.0, v1=[3.0])
    joined = there.then(back.held())
    plain = there.then(back)
    for t in (0.3, 1.0, 1.6, 1.99):
        assert np.array(joined(t)) == pytest.approx(np.array(plain(t)), abs=1e-15)
    assert [x[0] for x in joined(5.0)] == [0.5, 0.0, 0.0]
    robot = kt.Builder("mass", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=1.0).build()
    for backend in ("reference", "compiled"):
        follow = laws.ComputedTorque(there.then(trajectories.Cycloid([1.0], [0.5], 1.0).held()), 100.0, 20.0)
        record = kt.simulate(robot.with_backend(backend), time=3.0, controller=follow)
        assert record.q[-1, 0] == pytest.approx(0.5, abs=1e-7)

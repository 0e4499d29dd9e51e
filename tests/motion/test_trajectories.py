"""Trajectories: derivatives against differences and SymPy, ends, joins, and the same numbers from machine code."""

import math

import numpy as np
import pytest
import sympy
from scipy.interpolate import BPoly, CubicSpline

import kinetree as kt
from helpers.robots import floating_pair
from kinetree import control as laws
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.errors import OptionError, ShapeError, TrajectoryError, UnknownNameError, UnsupportedError
from kinetree.evaluation.law_kernels import LawProgram
from kinetree.motion import trajectories
from kinetree.motion import trajectories as tr
from kinetree.spatial.taylor import Jet

Q0, Q1 = np.array([0.3, -1.0, 2.0]), np.array([-0.7, 1.5, 2.5])
KNOTS = np.array([0.0, 0.4, 1.1, 1.5, 2.2])
POINTS = np.random.default_rng(3).uniform(-1, 1, (5, 3))
RATES = np.random.default_rng(4).uniform(-1, 1, (5, 3))
GROWTHS = np.random.default_rng(5).uniform(-1, 1, (5, 3))


def formula(t):
    return [kt.sin(2 * t) / (1 + t * t), kt.sqrt(1 + t) * kt.cos(t), kt.where(t > 1.0, (t - 1.0) ** 3, 0.0 * t)]


SMOOTH = {
    "cycloid": tr.Cycloid(Q0, Q1, 2.0),
    "cubic": tr.Cubic(Q0, Q1, 2.0, v0=[1, 0, -2], v1=0.5),
    "quintic": tr.Quintic(Q0, Q1, 2.0, v0=0.3, v1=-1.0, a0=[1, 2, 3], a1=4.0, begin=0.1),
    "constant speed": tr.ConstantSpeed(Q0, [1.0, -2.0, 0.0], 2.0),
    "sine": tr.Sine(Q0, 0.5, [1.0, 0.2, 3.0], phase=0.3),
    "spline": tr.spline(KNOTS, POINTS),
    "natural spline": tr.spline(KNOTS, POINTS, ends="natural"),
    "quintic spline": tr.spline(KNOTS, POINTS, degree=5),
    "samples with rates": tr.sampled(KNOTS, POINTS, RATES),
    "samples with all": tr.sampled(KNOTS, POINTS, RATES, GROWTHS),
    "trapezoid": tr.Trapezoidal(Q0, Q1, 2.0, 0.3),
    "function": tr.Function(formula, 0.0, 2.0),
    "joined": tr.Cycloid(Q0, Q1, 0.7).then(tr.Constant(Q1, 0.3), tr.Quintic(Q1, Q0, 1.0)),
    "repeated": tr.Repeated(tr.Cubic(Q0, Q1, 0.5).then(tr.Cubic(Q1, Q0, 0.25))),
    "stacked": tr.Stacked([tr.Cycloid(Q0, Q1, 2.0), tr.Sine([0.0], 1.0, 2.0)]),
}
BREAKS = {
    "trapezoid": (0.6, 1.4),
    "joined": (0.7, 1.0),
    "repeated": (0.0, 0.5, 0.75, 1.25, 1.5, 2.0, 2.25, 2.75, 3.0),
    "function": (1.0,),
    "samples with rates": tuple(KNOTS),
}


def quiet_times(name, count=60, reach=2e-3):
    """Times inside the span, away from corners of the acceleration."""
    times = np.random.default_rng(1).uniform(0.15, 1.95, count)
    for corner in (*BREAKS.get(name, ()), *KNOTS):
        times = times[np.abs(times - corner) > reach]
    return times


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_those_of_the_position(name):
    trajectory = SMOOTH[name]
    t, h = quiet_times(name), 1e-3
    q = [trajectory(t + k * h)[0] for k in (-2, -1, 0, 1, 2)]
    first = (q[0] - 8 * q[1] + 8 * q[3] - q[4]) / (12 * h)
    second = (-q[0] + 16 * q[1] - 30 * q[2] + 16 * q[3] - q[4]) / (12 * h * h)
    _, v, a = trajectory(t)
    np.testing.assert_allclose(v, first, atol=2e-6)
    np.testing.assert_allclose(a, second, atol=2e-4)


def test_cycloid_is_the_sources_formula():
    t, T = np.linspace(0, 3, 7), 3.0  # Shah section 10.2.1.1
    q, v, a = tr.Cycloid(Q0, Q1, T)(t)
    d, w = (Q1 - Q0), 2 * np.pi * t[:, None] / T
    np.testing.assert_allclose(q, Q0 + d / T * (t[:, None] - T / (2 * np.pi) * np.sin(w)), atol=1e-15)
    np.testing.assert_allclose(v, d / T * (1 - np.cos(w)), atol=1e-15)
    np.testing.assert_allclose(a, 2 * np.pi * d / T**2 * np.sin(w), atol=1e-14)


def test_gripper_torques_along_the_cycloid():
    from helpers.robots import gripper

    move = tr.Cycloid([0, 0, 0, np.pi / 2], [np.pi / 3, np.radians(80), np.radians(80), np.pi * 2 / 3], 1.0)
    tau = gripper().inverse_dynamics(*move([0.25, 0.5, 1.0]))
    expected = [
        [0.974371, 0.226725, 0.057435, -0.005135],
        [0.540929, 0.034302, -0.010778, -0.033624],
        [0.144002, -0.150298, -0.037574, -0.049050],
    ]  # computed from the formulas of Shah
    np.testing.assert_allclose(tau, expected, atol=1e-6)


def test_polynomials_meet_their_ends():
    quintic = SMOOTH["quintic"]
    for t, end in ((0.1, (Q0, 0.3, [1, 2, 3])), (2.1, (Q1, -1.0, 4.0))):
        for got, wanted in zip(quintic(t), end, strict=True):
            np.testing.assert_allclose(got, np.broadcast_to(wanted, 3), atol=1e-12)
    cubic = SMOOTH["cubic"]
    np.testing.assert_allclose(cubic(0.0)[1], [1, 0, -2], atol=1e-14)
    np.testing.assert_allclose(cubic(2.0)[1], 0.5, atol=1e-13)


def test_splines_and_samples_against_scipy():
    t = np.linspace(0, 2.2, 50)
    judges = {
        "spline": CubicSpline(KNOTS, POINTS, bc_type="clamped"),
        "natural spline": CubicSpline(KNOTS, POINTS, bc_type="natural"),
        "samples with rates": BPoly.from_derivatives(KNOTS, np.stack([POINTS, RATES], 1)),
        "samples with all": BPoly.from_derivatives(KNOTS, np.stack([POINTS, RATES, GROWTHS], 1)),
    }
    for name, judge in judges.items():
        for order, got in enumerate(SMOOTH[name](t)):
            np.testing.assert_allclose(got, judge(t, nu=order), atol=1e-11, err_msg=name)
    q, v, a = SMOOTH["quintic spline"](KNOTS)
    np.testing.assert_allclose(q, POINTS, atol=1e-12)
    np.testing.assert_allclose([v[0], v[-1], a[0], a[-1]], 0.0, atol=1e-10)
    data = tr.sampled(KNOTS, POINTS)
    np.testing.assert_allclose(data(t)[2], CubicSpline(KNOTS, POINTS)(t, nu=2), atol=1e-11)


def test_trapezoid_keeps_its_limits_and_uses_one_of_them():
    speed, growth = np.array([0.5, 1.0, 3.0]), np.array([1.0, 0.8, 2.0])
    for scale in (1.0, 0.05):  # the short one never reaches its speed
        move = tr.Trapezoidal.within(Q0, Q0 + scale * (Q1 - Q0), speed, growth)
        _, v, a = move(np.linspace(0, move.end, 4001))
        assert np.all(np.abs(v) <= speed * (1 + 1e-9))
        assert np.all(np.abs(a) <= growth * (1 + 1e-9))
        assert np.isclose(np.abs(a) / growth, 1.0).any()
        assert np.isclose(np.abs(v).max(axis=0) / speed, 1.0, atol=1e-3).any() == (scale == 1.0)
        np.testing.assert_allclose(move(move.end)[0], Q0 + scale * (Q1 - Q0), atol=1e-14)
    assert tr.Trapezoidal.within([0.0], [1.0], 0.5, 1.0).duration == 2.5  # d/v + v/a


@pytest.mark.parametrize("kind", [tr.Cubic, tr.Quintic, tr.Cycloid])
def test_smooth_moves_keep_their_limits_and_use_one_of_them(kind):
    speed, growth = np.array([0.5, 1.0, 3.0]), np.array([1.0, 0.8, 2.0])
    for scale in (3.0, 0.05):  # the long one is limited by speed, the short one by acceleration
        move = kind.within(Q0, Q0 + scale * (Q1 - Q0), speed, growth, begin=0.5)
        _, v, a = move(np.linspace(0.5, move.end, 40_001))
        used = (np.abs(v) / speed).max(), (np.abs(a) / growth).max()
        assert max(used) == pytest.approx(1.0, abs=1e-7)
        assert (used[0] > used[1]) == (scale == 3.0)
        np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-12)


def test_jets_against_sympy():
    t = sympy.Symbol("t")
    text = sympy.atan2(sympy.sin(t) / (2 + t), sympy.sqrt(1 + t**2)) * t**3 - 1 / t
    jet = Jet(0.7, 1.0)
    got = kt.arctan2(kt.sin(jet) / (2 + jet), kt.sqrt(1 + jet**2)) * jet**3 - 1 / jet
    wanted = [float(sympy.diff(text, t, k).subs(t, 0.7)) for k in range(3)]
    np.testing.assert_allclose([got.value, got.first, got.second], wanted, rtol=1e-13)
    down = abs(Jet(-2.0, 1.0, 3.0))
    assert (down.value, down.first, down.second) == (2.0, -1.0, -3.0)


@pytest.mark.parametrize("name", SMOOTH)
def test_machine_code_says_the_same(name):
    trajectory = SMOOTH[name].held() if name == "cycloid" else SMOOTH[name]
    n = trajectory.n
    traced = trace(lambda t: [list(x) for x in trajectory.at(t[0])], (1,), lambda x: x)
    kernel = Kernel(name, lambda: traced, (1,), (3, n), None)
    inside = np.linspace(trajectory.start if math.isfinite(trajectory.start) else -1.0, min(trajectory.end, 3.0), 33)
    edges = np.asarray(BREAKS.get(name, ()))
    times = inside[np.min(np.abs(inside[:, None] - edges), axis=1, initial=1.0) > 1e-9]  # a corner may fall either way
    got = kernel(times[:, None])
    for k, part in enumerate(trajectory(times)):
        np.testing.assert_allclose(got[:, k], part, atol=1e-10)
    if name == "cycloid":
        np.testing.assert_allclose(kernel(np.array([[-5.0], [9.0]]))[:, 0], [Q0, Q1], atol=1e-15)
    elif math.isfinite(trajectory.end):
        assert np.isnan(kernel(np.array([[trajectory.end + 0.1]]))[0, 0, :2]).all()


@pytest.mark.parametrize("name", [n for n in SMOOTH if n != "repeated"])
def test_derivatives_against_casadi(name):
    casadi = pytest.importorskip("casadi")
    trajectory = SMOOTH[name]
    t = casadi.SX.sym("t")
    q, v, a = (casadi.vertcat(*x) for x in trajectory.at(t))
    judge = casadi.Function("judge", [t], [casadi.jacobian(q, t), casadi.jacobian(casadi.jacobian(q, t), t), v, a])
    for moment in quiet_times(name, 8):
        first, second, v_here, a_here = (np.array(x) for x in judge(moment))
        np.testing.assert_allclose(v_here, first, atol=1e-11)
        np.testing.assert_allclose(a_here, second, atol=1e-9)


def test_batches_of_motions_are_not_compiled_by_mistake():
    many = tr.Cycloid(np.zeros((4, 2)), np.ones((4, 2)), 1.0)
    for trajectory in (
        many,
        tr.Stacked([many, many]),
        tr.Joined([many, many], jumps=True),
        tr.Repeated(many, jumps=True),
    ):
        with pytest.raises(UnsupportedError, match="batch"):
            trace(lambda t, x=trajectory: list(x.at(t[0])), (1,), lambda x: x)


@pytest.mark.parametrize("name", [n for n in SMOOTH if math.isfinite(SMOOTH[n].end)])
def test_beyond_its_end_an_error_names_the_time_and_hold_rests(name):
    trajectory = SMOOTH[name]
    for late in (trajectory.end + 0.25, np.array([0.5, trajectory.end + 0.25])):
        with pytest.raises(TrajectoryError, match=r"ends at t = .* asked for t = ") as caught:
            trajectory(late)
        assert caught.value.time == trajectory.end + 0.25
        with pytest.raises(TrajectoryError):
            trajectory.at(late)
    q, v, a = trajectory.held()(trajectory.end + 0.25)
    np.testing.assert_allclose(q, trajectory(trajectory.end)[0], atol=1e-13)
    assert not v.any()
    assert not a.any()
    if math.isfinite(trajectory.start):
        with pytest.raises(TrajectoryError, match="starts at"):
            trajectory(trajectory.start - 0.1)
        np.testing.assert_array_equal(trajectory.held()(-7.0)[0], trajectory(trajectory.start)[0])


def test_times_added_up_may_miss_the_end_by_rounding():
    t = sum([0.1] * 20)
    assert t > 2.0
    np.testing.assert_allclose(tr.ConstantSpeed(Q0, 1.0, 2.0)(t)[1], 1.0)
    np.testing.assert_allclose(SMOOTH["joined"](t)[0], Q0, atol=1e-12)


def test_shapes_batches_and_nan():
    move = SMOOTH["cycloid"]
    assert [x.shape for x in move(np.zeros((2, 5)))] == [(2, 5, 3)] * 3
    assert [x.shape for x in move(0.5)] == [(3,)] * 3
    many = tr.Quintic(np.zeros((4, 2)), np.arange(8.0).reshape(4, 2), 1.0, v1=[[1.0, 2.0]] * 4)
    q, v, _ = many(1.0)
    np.testing.assert_allclose(q, np.arange(8.0).reshape(4, 2), atol=1e-12)
    np.testing.assert_allclose(v, [[1.0, 2.0]] * 4, atol=1e-12)
    assert many(np.zeros((3, 1)))[0].shape == (3, 4, 2)
    for name, trajectory in SMOOTH.items():
        q = trajectory(np.array([0.5, np.nan]))[0]
        assert np.isfinite(q[0]).all(), name
        assert np.isnan(q[1]).all(), name


def test_between_configurations_of_a_floating_robot():
    robot = floating_pair()
    rng = np.random.default_rng(0)
    q0, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    move = tr.Between(robot, q0, q1, 2.0)
    assert (move.nq, move.n) == (robot.nq, robot.nv)
    np.testing.assert_allclose(move(0.0)[0], q0, atol=1e-14)
    np.testing.assert_allclose(robot.difference(move(2.0)[0], q1), 0.0, atol=1e-12)
    t, h = np.array([0.3, 1.1, 1.7]), 1e-4
    before, (q, v, a), after = move(t - h), move(t), move(t + h)
    np.testing.assert_allclose(robot.difference(before[0], after[0]) / (2 * h), v, atol=1e-6)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), a, atol=1e-6)
    np.testing.assert_allclose(robot.configuration_rate(q, v), (after[0] - before[0]) / (2 * h), atol=1e-6)


def test_joined_and_repeated_keep_time():
    joined = SMOOTH["joined"]
    np.testing.assert_allclose(joined(0.35)[0], tr.Cycloid(Q0, Q1, 0.7)(0.35)[0])
    np.testing.assert_allclose(joined(1.25)[0], tr.Quintic(Q1, Q0, 1.0)(0.25)[0])
    again = SMOOTH["repeated"]
    np.testing.assert_allclose(again(0.2 + 0.75 * 40)[0], again(0.2)[0], atol=1e-12)
    assert again.end == math.inf
    loop = tr.Repeated(tr.spline([0, 1, 2], [[0.0], [1.0], [0.0]], ends="periodic"))
    before, after = loop(2.0 - 1e-9), loop(2.0 + 1e-9)
    np.testing.assert_allclose(before[1], after[1], atol=1e-7)
    np.testing.assert_allclose(before[2], after[2], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: tr.Cycloid([0.0], [1.0, 2.0, 3.0], 1.0).at(0.0) and tr.Cycloid([0, 1], [1, 2, 3], 1.0),
            ShapeError,
            "q1",
        ),
        (lambda: tr.Cycloid(Q0, Q1, 0.0), OptionError, "duration"),
        (lambda: tr.Cycloid(Q0, [0, np.nan, 1], 1.0), OptionError, "q1"),
        (lambda: tr.Cycloid(["a"], [1.0], 1.0), ShapeError, "q0"),
        (lambda: tr.Trapezoidal(Q0, Q1, 1.0, 0.7), OptionError, "ramp"),
        (lambda: tr.Trapezoidal.within(Q0, Q0, 1.0, 1.0), OptionError, "differ"),
        (lambda: tr.Quintic.within(Q0, Q1, 1.0, -1.0), OptionError, "positive"),
        (lambda: tr.Quintic.within(Q0, Q1, 1.0, 1.0, v1=0.5), OptionError, "leave v1 out"),
        (lambda: tr.spline([0, 1, 1], POINTS[:3]), OptionError, r"times\[2\]"),
        (lambda: tr.spline([0, 1, 2], POINTS), ShapeError, "points"),
        (lambda: tr.spline([0, 1, 2], [[0], [np.inf], [1]]), OptionError, r"points\[1, 0\]"),
        (lambda: tr.spline([0, 1, 2], POINTS[:3], ends="natrual"), UnknownNameError, "natural"),
        (lambda: tr.spline([0, 1, 2], POINTS[:3], ends="periodic"), OptionError, "differ"),
        (lambda: tr.sampled(KNOTS, POINTS, a=POINTS), OptionError, "without velocities"),
        (lambda: tr.Cycloid(Q0, Q1, 1.0).then(tr.Cycloid(Q0, Q1, 1.0)), OptionError, "t = 1 s"),
        (lambda: tr.Constant(Q0).then(tr.Constant(Q0)), OptionError, "never ends"),
        (lambda: tr.Cycloid(Q0, Q1, 1.0).then(tr.Constant([0.0])), ShapeError, "same joints"),
        (lambda: tr.Repeated(tr.Cycloid(Q0, Q1, 1.0)), OptionError, "jumps=True"),
        (lambda: tr.Repeated(tr.Constant(Q0)), OptionError, "start and an end"),
        (
            lambda: tr.Stacked([tr.Constant(Q0, 1.0), tr.ConstantSpeed(Q0, 1.0, begin=2.0)]),
            OptionError,
            "have no time in common",
        ),
        (lambda: tr.Between(floating_pair(), [0.0], [0.0], 1.0), ShapeError, "nq"),
    ],
)
def test_bad_trajectories_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_moves_begin_when_told_and_last_as_long():
    slide = kt.Builder("slide").body("b", "base", kt.Prismatic("x"), mass=1.0).build()
    quaternions = ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0])
    made = (
        lambda **at: tr.Cubic([0.0], [1.0], 2.0, **at),
        lambda **at: tr.Between(slide, [0.0], [1.0], 2.0, **at),
        lambda **at: tr.Rotation(*quaternions, 2.0, **at),
        lambda **at: tr.ConstantSpeed([0.0], [0.5], 2.0, **at),
    )
    for make in made:
        assert (make().start, make().end) == (0.0, 2.0)
        late = make(begin=3.0)
        assert (late.start, late.end) == (3.0, 5.0)
        for now, then in zip(make()([0.0, 0.7, 2.0]), late([3.0, 3.7, 5.0]), strict=True):
            assert then == pytest.approx(now, abs=1e-12)
        with pytest.raises(TrajectoryError, match="starts at t = 3 s"):
            late(2.9)
        with pytest.raises(TrajectoryError, match="ends at t = 5 s"):
            late(5.1)


@pytest.mark.parametrize("move", [kt.trajectories.Cycloid, kt.trajectories.Trapezoidal])
def test_ends_of_a_move_have_as_many_joints(move):
    with pytest.raises(kt.ShapeError, match="q1 has 1 entries, and the first vector has 2"):
        move([0.0, 0.0], [1.0], 1.0)
    assert np.array_equal(move([0.0, 0.0], 1.0, 1.0).q1, [1.0, 1.0])  # one number stands for all
    assert move([0.0, 0.0], [[1.0], [2.0]], 1.0).q1.shape == (2, 2)  # and one for each of a batch


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_table_of_steps_holds_its_last_row(backend):
    """Force 1 N until 0.1 s, 2 N until 0.2 s, then -3 N: the row before the last was held."""
    robot = kt.Builder("mass", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=1.0).build()
    table = laws.TorqueTable([0.0, 0.1, 0.2], [[1.0], [2.0], [-3.0]], kind="step", hold=True)
    assert [table(robot, t, [0.0], [0.0])[0] for t in (-1.0, 0.05, 0.1, 0.19, 0.2, 0.3)] == [1, 1, 2, 2, -3, -3]
    record = kt.simulate(
        robot.with_backend(backend), time=0.4, controller=table, integrator="semi_implicit_euler", step=1e-3, samples=2
    )
    assert record.v[-1, 0] == pytest.approx(0.1 * 1.0 + 0.1 * 2.0 - 0.2 * 3.0, abs=6e-3)
    ends = laws.TorqueTable([0.0, 0.1, 0.2], [[1.0], [2.0], [-3.0]], kind="step")
    assert ends(robot, 0.2, [0.0], [0.0])[0] == -3.0
    assert ends(robot, 0.25, [0.0], [0.0])[0] == -3.0
    with pytest.raises(kt.KinetreeError, match=r"ends at t = 0\.3"):
        ends(robot, 0.35, [0.0], [0.0])


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


@pytest.mark.parametrize("uneven", [False, True])
def test_long_tables_are_data_that_each_lane_looks_up_at_its_own_time(uneven):
    rng = np.random.default_rng(6)
    knots = np.unique(rng.random(500) ** 5) * 4.0 - 1.0 if uneven else np.linspace(-1.0, 3.0, 500)
    table = tr.Piecewise(knots, rng.normal(size=(len(knots) - 1, 4, 2)), hold=True)
    program = LawProgram("table", lambda t: [x for part in table.at(t[0]) for x in part], {"t": 1}, True)
    assert program.kernel is not None
    assert len(program.kernel.source().graph) < 150  # not a tree of selections
    times = np.concatenate([rng.uniform(-1.5, 3.5, 300), knots, np.nextafter(knots, -9.0), [np.nan, np.inf, -np.inf]])
    found = program({"t": times[:, None]})
    np.testing.assert_allclose(found, np.concatenate(table(times), axis=-1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(program({"t": times[:1]}), found[0], rtol=1e-12)


def test_functions_that_decide_by_if_are_refused():
    for wrong in (lambda t: [max(t, 0.1)], lambda t: [t if t > 0.1 else 0.0 * t]):
        with pytest.raises((TypeError, kt.KinetreeError), match="where"):
            kt.trajectories.Function(wrong)([0.0, 0.05, 0.2])


@pytest.mark.parametrize("degree", [3, 5])
def test_a_curve_through_points_keeps_within_limits_and_reaches_one(degree):
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (5, 3))
    speed, acceleration = np.array([1.0, 2.0, 0.5]), np.array([4.0, 3.0, 2.0])
    path = tr.through(points, speed, acceleration, degree=degree, hold=True)
    assert np.allclose(path(np.asarray(path.knots))[0][[0, -1]], points[[0, -1]], atol=1e-12)
    q, v, a = path(np.linspace(0.0, path.end, 40_001))
    assert all(np.abs(q - p).max(axis=1).min() < 1e-3 for p in points)
    used = max(np.max(np.abs(v) / speed), np.max(np.abs(a) / acceleration))
    assert 1.0 - 1e-6 < used < 1.0 + 1e-9
    assert np.allclose([v[0], v[-1]], 0.0, atol=1e-12)
    # times that share the limits are no worse than those of the length of each way
    even = tr.spline(np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))), points, degree=degree)
    _, v, a = even(np.linspace(0.0, even.end, 4001))
    assert path.end < even.end * max(np.max(np.abs(v) / speed), np.sqrt(np.max(np.abs(a) / acceleration)))


@pytest.mark.parametrize(("degree", "ends"), [(5, "rest"), (5, "not-a-knot")])
def test_times_of_a_curve_within_limits_do_not_vanish(degree, ends):
    points = np.array([4.392, 6.202, 4.036, 4.312, 8.785, 19.561, 24.177])[:, None]  # one way came down to nothing
    path = tr.through(points, 0.10095, 0.21114, degree=degree, ends=ends)
    _, v, a = path(np.linspace(0.0, path.end, 40_001))
    assert max(np.abs(v).max() / 0.10095, np.abs(a).max() / 0.21114) == pytest.approx(1.0, abs=1e-5)


def test_points_without_a_curve_within_limits():
    for given, words in (
        (([[0.0], [0.0], [1.0]], 1.0, 1.0), "points 0 and 1 are the same: a pause is a separate part"),
        (([[0.0], [1.0]], 0.0, 1.0), "must be positive"),
        (([[0.0]], 1.0, 1.0), "at least two points"),
        (([[0.0], [1.0, 2.0]], 1.0, 1.0), "points must be rows of equal length"),
    ):
        with pytest.raises((OptionError, ShapeError), match=words):
            tr.through(*given)


def test_samples_may_be_straight_or_steps():
    """Against NumPy's interpolation, and what lasts until the next sample."""
    t = np.linspace(0.0, 2.2, 45)
    lines, jumps = (tr.sampled(KNOTS, POINTS, kind=kind) for kind in ("linear", "step"))
    expected = np.column_stack([np.interp(t, KNOTS, column) for column in POINTS.T])
    np.testing.assert_allclose(lines(t)[0], expected, atol=1e-14)
    np.testing.assert_allclose(jumps(t + 1e-9)[0], POINTS[np.searchsorted(KNOTS, t + 1e-9, side="right") - 1])
    assert jumps.end == pytest.approx(2.9)
    with pytest.raises(OptionError, match="leave out v and a"):
        tr.sampled(KNOTS, POINTS, RATES, kind="linear")
    with pytest.raises(UnknownNameError, match="did you mean 'linear'"):
        tr.sampled(KNOTS, POINTS, kind="lineal")


def test_a_spline_that_leaves_its_samples_far_behind_warns():
    steep = [0.0, 0.5, 0.5001, 0.6, 0.6001, 5.0]
    with pytest.warns(kt.KinetreeWarning, match=r"column 1 reaches -7.* between 0 and 2\.5: .*kind='linear'"):
        tr.sampled(steep, np.column_stack([steep, [0, 0, 2.5, 2.5, 0, 0]]))
    tr.sampled(steep, np.column_stack([steep, [0, 0, 2.5, 2.5, 0, 0]]), kind="linear")  # warnings are errors in tests
    tr.sampled([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    tr.sampled(np.linspace(0, 1, 40), np.sin(30 * np.linspace(0, 1, 40)))

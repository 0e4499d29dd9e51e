"""Motions that time prescribes: closed forms of what follows, of the forces that drive, and of their work."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from helpers.compare import assert_close

GRAVITY = 9.81


def cart_and_pendulum() -> kt.Robot:
    b = kt.Builder("crane")
    b.body("cart", "base", kt.Prismatic("x"), mass=2.0)
    b.body("bob", "cart", kt.Revolute("y"), mass=1.5, com=(0, 0, -0.8), actuated=False)
    return b.build()


def swaying(t):
    return 0.3 * kt.sin(2.0 * t)


def test_a_pendulum_whose_pivot_is_moved():
    """l a = -g sin + s'' cos, and the cart needs (M + m) s'' - m l (a cos - v^2 sin)."""
    robot, length = cart_and_pendulum(), 0.8
    q, v = kt.DrivenRobot(robot, {"cart_joint": swaying}).state(0.0, [0.0, 0.5])
    assert_close([*q, *v], [0.0, 0.5, 0.6, v[1]], 1e-12, scale=1.0)
    record = kt.simulate(
        robot, q, [0.6, 0.0], time=2.0, prescribed={"cart_joint": swaying}, samples=5, rtol=1e-10, atol=1e-12
    )
    t = record.time

    def judge(t: float, y: np.ndarray) -> list[float]:
        # a positive angle about y takes the bob, which hangs, to -x
        return [y[1], (-GRAVITY * np.sin(y[0]) - 1.2 * np.sin(2 * t) * np.cos(y[0])) / length]

    known = solve_ivp(judge, (0, 2), [0.5, 0.0], t_eval=t, rtol=1e-11, atol=1e-12, method="DOP853").y
    assert_close(record.q[:, 1], known[0], 1e-8, scale=1.0)
    assert_close(record.q[:, 0], 0.3 * np.sin(2 * t), 1e-12, scale=1.0)
    s2 = -1.2 * np.sin(2 * t)
    angle, rate = record.q[:, 1], record.v[:, 1]
    force = 3.5 * s2 + 1.5 * length * (-record.a[:, 1] * np.cos(angle) + rate**2 * np.sin(angle))
    assert_close(record.tau[:, 0], force, 1e-9, scale=1.0)
    assert record.energy.relative_error < 1e-8
    assert np.abs(record.energy.actuators).max() > 0.1  # the work of what drives the cart is in the books
    assert record.info["prescribed"] == ["cart_joint"]


def four_bar() -> tuple[kt.Mechanism, np.ndarray]:
    robot = kt.gallery.load("four-bar")
    return robot, kt.gallery.motion("four-bar").states(0.0)[0]


def test_the_crank_of_a_four_bar_turns_as_it_is_told():
    """Positions by two circles; the torque by inverse dynamics, which solves other equations; its power by energies."""
    robot, start = four_bar()
    speed = 4.0
    law = {"crank_joint": lambda t: start[0] + speed * t + 0.1 * kt.sin(3 * t)}
    q, v = kt.DrivenRobot(robot, law).state(0.0, start)
    record = kt.simulate(robot, q, v, time=2.0, prescribed=law, samples=21, rtol=1e-9, atol=1e-11)
    t = record.time
    assert_close(record.q[:, 0], start[0] + speed * t + 0.1 * np.sin(3 * t), 1e-12, scale=1.0)
    assert_close(record.a[:, 0], -0.9 * np.sin(3 * t), 1e-10, scale=1.0)
    assert robot.closure_error(record.q).max() < 1e-12
    assert_close(record.tau, robot.inverse_dynamics(record.q, record.v, record.a), 1e-10, scale=1.0)
    # the tip of the crank is where rocker and coupler meet it
    tips = [robot.pose(record.q, "crank")[:, :2, :] @ [0.038, 0, 0, 1]]
    tips.append(robot.pose(record.q, "coupler")[:, :2, :] @ [0.1152, 0, 0, 1])
    assert_close(tips[1], tips[0], 1e-12, scale=1.0)
    mechanical = record.energy.mechanical
    assert_close(record.energy.actuators, mechanical - mechanical[0], 1e-7, scale=1.0)
    assert record.energy.relative_error < 1e-7


def test_a_trajectory_of_the_motors_drives_a_mechanism_as_it_does_a_tree():
    """By name, as one trajectory, or named in one: the same; and so do couplings, which no tree knows of."""
    robot, start = four_bar()
    turn = kt.trajectories.Sine([start[0]], [0.2], [0.5])
    setup = {"time": 0.1, "integrator": "rk4", "step": 0.01, "samples": 3}
    named = kt.simulate(robot, start, prescribed={"crank_joint": turn}, **setup)
    for given in (turn, kt.Prescribed(turn, ["crank_joint"])):
        assert_close(kt.simulate(robot, start, prescribed=given, **setup).q, named.q, 1e-13)
    assert_close(named.q[:, 0], turn(named.time)[0][:, 0], 1e-12)
    wheels = kt.Builder("wheels").body("left", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1))
    wheels.body("right", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 2), actuated=False)
    geared = wheels.gear("mesh", "left_joint", "right_joint", [2, 1]).build()
    record = kt.simulate_prescribed(geared, kt.trajectories.Sine([0.0], [0.2], [0.5]), **setup)
    assert_close(record.q[:, 1], -2.0 * record.q[:, 0], 1e-12)
    assert_close(record.tau[:, 0], 9.0 * record.a[:, 0], 1e-10)  # 1 + 2^2 times 2


def hanging_mass() -> kt.Mechanism:
    b = kt.Builder("winch")
    b.body("load", "base", kt.Translation(), mass=2.0, actuated=False)
    return b.loop("rope", "base", "load", kt.Distance(1.0)).build()


def winding(t):
    return 0.2 * kt.sin(3.0 * t)


def test_a_rope_that_is_wound_in_and_out():
    """L a + 2 L' v + g sin = 0 of a pendulum whose length is L(t); its rope pulls m (L v^2 + g cos - L'')."""
    robot = hanging_mass()
    q = np.array([np.sin(0.4), 0.0, -np.cos(0.4)])
    law = {"rope": winding}
    q, v = kt.DrivenRobot(robot, law).state(0.0, q)
    assert_close(np.linalg.norm(v), 0.6, 1e-12)
    record = kt.simulate(robot, q, v, time=1.5, prescribed=law, samples=4, rtol=1e-10, atol=1e-12)
    t = record.time

    def judge(t: float, y: np.ndarray) -> list[float]:
        length, rate = 1.0 + 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t)
        return [y[1], -(2 * rate * y[1] + GRAVITY * np.sin(y[0])) / length]

    angle, turn = solve_ivp(judge, (0, 1.5), [0.4, 0.0], t_eval=t, rtol=1e-11, atol=1e-12, method="DOP853").y
    length = 1.0 + 0.2 * np.sin(3 * t)
    assert_close(record.q, np.stack([length * np.sin(angle), 0 * t, -length * np.cos(angle)], axis=1), 1e-8, scale=1.0)
    pull = 2.0 * (length * turn**2 + GRAVITY * np.cos(angle) + 1.8 * np.sin(3 * t))
    assert_close(record.constraint_forces[:, 0], -pull, 1e-6, scale=1.0)
    assert record.energy.relative_error < 1e-8
    assert np.abs(record.energy.actuators).max() > 1.0
    assert record.info["largest_gap"] < 1e-12


def test_a_start_beside_a_driven_loop_is_refused_or_moved():
    """A rope that is 0.1 m too short, and one that does not begin to move; with a tolerance both go where they fit."""
    robot, q = hanging_mass(), np.array([np.sin(0.4), 0.0, -np.cos(0.4)])
    law = {"rope": lambda t: 0.1 + winding(t)}
    setup = {"time": 0.1, "prescribed": law, "integrator": "rk4", "step": 0.01, "samples": 3}
    with pytest.raises(kt.StateError, match=r"q0 does not fit .*loop 'rope: .*' is off by 0\.1, more than 1e-06"):
        kt.simulate(robot, q, np.zeros(3), **setup)
    with pytest.raises(kt.StateError, match=r"v0 does not fit .*loop 'rope: .*' is off by 0\.6 "):
        kt.simulate(robot, 1.1 * q, np.zeros(3), **setup)
    moved = kt.simulate(robot, q, np.zeros(3), tolerance=0.7, **setup)
    meant = kt.DrivenRobot(robot, law).state(0.0, q)
    assert_close(moved.q[0], 1.1 * q, 1e-12)
    assert_close(moved.v[0], 0.6 * q, 1e-12)
    assert_close([*meant[0], *meant[1]], [*moved.q[0], *moved.v[0]], 1e-12)
    # many starts at once, of which one is lost; velocities follow
    several = np.stack([1.1 * q, [0.0, 0.0, -1.1], [np.nan] * 3])
    record = kt.simulate(robot, several, **setup)
    assert_close(record.q[:, 0], moved.q, 1e-12)
    assert_close(record.q[:, 1, 2], -1.1 - 0.2 * np.sin(3 * record.time), 1e-12)
    assert np.isnan(record.q[:, 2]).all()
    driven = kt.DrivenRobot(robot, law)
    times = np.array([0.0, np.nan, 0.5])
    states = driven.state(times, q)
    assert_close(np.linalg.norm(states[0], axis=-1)[[0, 2]], 1.1 + 0.2 * np.sin(3 * times[[0, 2]]), 1e-12)
    found = driven.forward_dynamics(times, *states)
    assert np.isnan([*states[0][1], *states[1][1], *found.a[1], found.power[1]]).all()
    assert np.isfinite(found.a[[0, 2]]).all()


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda t: None, "returned None, which is not a number"),
        (lambda t: "a", "returned 'a', which is not a number"),
        (lambda t: [t, t], "returned 2 numbers, not 1"),
        (lambda t: t / 0.0, "cannot be evaluated"),
        (lambda t: float("nan") * t, "begins at t = 0 s with position, velocity and acceleration nan"),
    ],
)
def test_functions_of_time_that_give_no_numbers(law, words):
    with pytest.raises(kt.OptionError, match=f"'rope.*{words}"):
        kt.simulate(hanging_mass(), [0.0, 0.0, -1.0], time=0.1, prescribed={"rope": law})


def test_accelerations_at_a_moment_for_a_batch():
    """As hybrid dynamics of the tree, whose accelerations are given; and the driving force's power."""
    robot = cart_and_pendulum()
    motion = kt.DrivenRobot(robot, {"cart_joint": swaying})
    t = np.array([0.0, 0.3, 1.7])
    q = np.stack([0.3 * np.sin(2 * t), [0.1, -0.4, 1.2]], axis=1)
    v = np.stack([0.6 * np.cos(2 * t), [0.5, 0.0, -2.0]], axis=1)
    q[1, 1] = np.nan
    found = motion.forward_dynamics(t, q, v)
    assert np.isnan(found.a[1, 1])
    s2 = -1.2 * np.sin(2 * t)
    expected = (-GRAVITY * np.sin(q[:, 1]) + s2 * np.cos(q[:, 1])) / 0.8
    for k in (0, 2):
        assert_close(found.a[k], [s2[k], expected[k]], 1e-12, scale=1.0)
        back = robot.inverse_dynamics(q[k], v[k], found.a[k])
        assert_close([found.driving[k, 0], 0.0], back, 1e-11, scale=1.0)
        assert_close(found.power[k], back[0] * v[k, 0], 1e-11, scale=1.0)
    assert motion.names == ["cart_joint"]


def test_many_at_once_with_a_fixed_step():
    robot = cart_and_pendulum()
    law = {"cart_joint": kt.trajectories.Sine([0.0], [0.3], [2.0])}
    q = np.array([[0.0, 0.5], [0.0, -0.2]])
    start = law["cart_joint"](0.0)[1][0]
    record = kt.simulate(robot, q, [start, 0.0], time=0.5, prescribed=law, integrator="rk4", step=0.01, samples=3)
    alone = kt.simulate(robot, q[1], [start, 0.0], time=0.5, prescribed=law, integrator="rk4", step=0.01, samples=3)
    assert_close(record.q[:, 1], alone.q, 1e-13, scale=1.0)
    assert_close(record.q[:, 0, 0], law["cart_joint"](record.time)[0][:, 0], 1e-13, scale=1.0)


def test_what_cannot_be_prescribed():
    robot, start = four_bar()
    same = {"crank_joint": lambda t: start[0] + 0 * t, "rocker_joint": lambda t: start[1] + 0 * t}
    with pytest.raises(
        kt.SingularError, match="too many for 'four-bar': it has 1 freedom, 2 are prescribed, and crank_joint, rocker_"
    ):
        kt.simulate(robot, start, time=0.1, prescribed=same)
    # drives that contradict one another are named, not a start that cannot fit both; judge: velocities of the loops
    v = robot.velocities(start, [4.0])
    other = {"crank_joint": lambda t: start[0] + 4.0 * t, "rocker_joint": lambda t: start[1] + 5.0 * t}
    with pytest.raises(kt.SingularError, match=rf"contradict.*move 'rocker_joint' at {v[1]:.4g}, and 5 is prescribed"):
        kt.simulate(robot, start, v, time=0.1, prescribed=other)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'crank_joint'"):
        kt.DrivenRobot(robot, {"crank_joints": lambda t: t})
    with pytest.raises(kt.UnsupportedError, match="loop 'crank_pin' is a revolute joint, whose gaps are not lengths"):
        kt.DrivenRobot(robot, {"crank_pin": lambda t: t})
    with pytest.raises(kt.StateError, match=r"q0 .*joint 'crank_joint' is off by 1, .*state\(0, q0\)"):
        kt.simulate(robot, start, np.zeros(3), time=0.1, prescribed={"crank_joint": lambda t: 1.0 + t})
    with pytest.raises(kt.OptionError, match=r"cannot be differentiated .*kinetree\.sin"):
        kt.DrivenRobot(robot, {"crank_joint": np.sin}).state(0.0, start)
    with pytest.raises(kt.OptionError, match="must be a trajectory or a function of time, not 3"):
        kt.DrivenRobot(robot, {"crank_joint": 3})
    loose = kt.Builder("ball").body("ball", "base", kt.Free(), mass=1, inertia=(1, 1, 1)).build()
    with pytest.raises(kt.UnsupportedError, match=r"has a quaternion.*EulerFree"):
        kt.DrivenRobot(loose, {"ball_joint": lambda t: t})
    motion = kt.DrivenRobot(robot, {"crank_joint": lambda t: t})
    with pytest.raises(kt.StateError, match="does not fit what is prescribed"):
        motion.forward_dynamics(1.0, start, np.zeros(3))

"""Rolling, knife edges and points on lines and planes: closed forms of their motion, freedoms, energy."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close

GRAVITY = 9.81


def ball_on_incline(slope: float = 0.3, radius: float = 0.1, mass: float = 2.0) -> kt.Mechanism:
    inertia = 0.4 * mass * radius**2
    b = kt.Builder("ball", gravity=(GRAVITY * np.sin(slope), 0, -GRAVITY * np.cos(slope)))
    b.body("ball", "base", kt.Free(), mass=mass, inertia=(inertia,) * 3, actuated=False)
    return b.loop("plane", "base", "ball", kt.RollingBall(radius)).build()


def test_a_ball_has_five_freedoms_of_position_and_three_of_velocity():
    """Featherstone section 7.4.4; 5/7 g sin(slope) is what rolling leaves of the slope's pull."""
    robot = ball_on_incline()
    q = robot.close(robot.neutral())
    assert q[6] == pytest.approx(0.1, abs=1e-12)
    found = robot.mobility(q)
    assert (found.position_freedoms, found.freedoms) == (5, 3)
    assert found.velocity_constraints == ("plane: rolling along x", "plane: rolling along y")
    assert "5 freedoms of position" in str(found)
    a = robot.forward_dynamics(q, np.zeros(6), np.zeros(6))
    pull = GRAVITY * np.sin(0.3)
    assert_close(a, [0, 5 / 7 * pull / 0.1, 0, 5 / 7 * pull, 0, 0], 1e-13, scale=1.0)
    forces = robot.multipliers(q, np.zeros(6), np.zeros(6))  # the plane's on the ball: normal, then friction
    assert_close(forces, [2.0 * GRAVITY * np.cos(0.3), -2 / 7 * 2.0 * pull, 0.0], 1e-12, scale=1.0)


def test_a_ball_rolls_down_in_a_parabola_whatever_its_spin():
    robot = ball_on_incline()
    q = robot.close(robot.neutral())
    v = robot.velocities(q, [1.5, 2.0, 3.0])
    record = kt.simulate(robot, q, v, time=1.0, samples=[0.0, 0.5, 1.0], rtol=1e-10, atol=1e-12)
    t = record.time
    assert_close(record.q[:, 4], v[3] * t + 5 / 14 * GRAVITY * np.sin(0.3) * t**2, 1e-9, scale=1.0)
    assert_close(record.q[:, 5], v[4] * t, 1e-9, scale=1.0)
    assert np.abs(record.q[:, 6] - 0.1).max() < 1e-12
    assert record.energy.relative_error < 1e-9


def test_closing_does_not_mind_rolling():
    """A ball may be put anywhere: only its height is a matter of position."""
    robot = ball_on_incline()
    guess = np.array([0.1, 0.2, 0.3, 0.9, 3.0, -2.0, 0.5])
    guess[:4] /= np.linalg.norm(guess[:4])
    closed = robot.close(guess)
    assert_close(np.delete(closed, 6), np.delete(guess, 6), 1e-12, scale=1.0)
    v = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    _, allowed = robot.project(guess, v)
    slip = robot.loop_jacobian(closed) @ allowed
    assert np.abs(slip).max() < 1e-12
    with pytest.raises(kt.StateError, match="do not allow this velocity"):
        robot.forward_dynamics(closed, v, np.zeros(6))


def coin() -> kt.Mechanism:
    m, r = 1.3, 0.25
    b = kt.Builder("coin")
    b.body("coin", "base", kt.Free(), mass=m, inertia=(m * r**2 / 4, m * r**2 / 4, m * r**2 / 2), actuated=False)
    return b.loop("table", "base", "coin", kt.RollingWheel(r, "z")).build()


def test_a_coin_goes_round_in_a_circle():
    """Of a steady motion (C + m r^2) spin turn sin - A turn^2 sin cos + m g r cos = 0, of axis and vertical."""
    robot, m, r, tilt, turn = coin(), 1.3, 0.25, 1.1, 3.0
    a_moment, c_moment = m * r**2 / 4, m * r**2 / 2
    s, c = np.sin(tilt), np.cos(tilt)
    spin = (a_moment * turn**2 * s * c - m * GRAVITY * r * c) / ((c_moment + m * r**2) * turn * s)
    q = np.array([np.sin(tilt / 2), 0, 0, np.cos(tilt / 2), 0, 0, r * s])
    assert robot.closure_error(q) < 1e-15
    # x is level, y steepest; the frame turns about the vertical, the coin spins about its axis in it
    v = np.array([0.0, turn * s, spin, -r * spin, 0.0, 0.0])
    assert np.abs(robot.loop_jacobian(q) @ v).max() < 1e-12
    period = 2 * np.pi / turn
    record = kt.simulate(robot, q, v, time=period, samples=9, rtol=1e-10, atol=1e-12)
    x, y = record.q[:, :2].T
    assert_close(1 - 2 * (x**2 + y**2), np.full(9, c), 1e-8, scale=1.0)  # the tilt stays
    angle = turn * record.time
    circle = -r * spin / turn * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=1)
    assert_close(record.q[:, 4:6] - q[4:6], circle, 1e-8, scale=1.0)
    assert record.energy.relative_error < 1e-9
    assert robot.mobility(q).position_freedoms == 5


def sleigh() -> kt.Mechanism:
    b = kt.Builder("sleigh", gravity=(0, 0, 0))
    b.body("sleigh", "base", kt.Planar("z"), mass=3.0, com=(0.4, 0, 0), inertia=(0.3, 0.3, 0.5), actuated=False)
    return b.loop("blade", "base", "sleigh", kt.KnifeEdge("y")).build()


def test_the_sleigh_of_chaplygin():
    """Along the blade u' = d w^2, and J w' = -m d u w: u = c tanh(k t + p), w = c sqrt(m/J) / cosh(k t + p)."""
    robot, m, d = sleigh(), 3.0, 0.4
    moment = 0.5 + m * d**2
    found = robot.mobility(robot.neutral())
    assert (found.freedoms, found.position_freedoms) == (2, 3)
    forward, turning = -0.6, 1.2
    q = np.array([0.7, 0.3, -0.2])
    v = np.array([turning, forward * np.cos(q[0]), forward * np.sin(q[0])])
    record = kt.simulate(robot, q, v, time=4.0, samples=9, rtol=1e-11, atol=1e-12)
    c = np.sqrt(forward**2 + moment / m * turning**2)
    k = c * d * m / moment
    phase = np.arctanh(forward / c)
    assert_close(record.v[:, 0], c * np.sqrt(m / moment) / np.cosh(k * record.time + phase), 1e-8, scale=1.0)
    along = np.hypot(record.v[:, 1], record.v[:, 2])
    assert_close(along, np.abs(c * np.tanh(k * record.time + phase)), 1e-8, scale=1.0)
    assert record.energy.relative_error < 1e-9


def cart() -> kt.Mechanism:
    b = kt.Builder("cart", gravity=(0, 0, -GRAVITY))
    b.body("chassis", "base", kt.Planar("z"), position=(0, 0, 0.1), mass=10.0, inertia=(0.5, 0.5, 0.8), actuated=False)
    for side, y in (("left", 0.3), ("right", -0.3)):
        b.body(side, "chassis", kt.Revolute("y"), position=(0, y, 0), mass=1.0, inertia=(0.003, 0.005, 0.003))
        b.loop(f"{side}_tire", "base", side, kt.RollingWheel(0.1, "y"))
    return b.build()


def test_wheels_of_a_cart():
    """Two motors drive a cart of 14 freedoms by count and two in truth; both wheels hold it sideways and upright."""
    robot = cart()
    found = robot.mobility(robot.neutral())
    assert (found.freedoms, found.position_freedoms, found.rank, found.constraints) == (2, 5, 3, 6)
    left, right = 0.7, 0.2
    tau = np.array([0, 0, 0, left, right])
    a = robot.forward_dynamics(robot.neutral(), np.zeros(5), tau)
    mass = 12.0 + 2 * 0.005 / 0.1**2
    moment = 0.8 + 2 * 0.003 + 2 * 1.0 * 0.3**2 + 2 * 0.005 * (0.3 / 0.1) ** 2
    forward, turn = (left + right) / 0.1 / mass, (right - left) * 0.3 / 0.1 / moment
    assert_close(a, [turn, forward, 0, (forward - 0.3 * turn) / 0.1, (forward + 0.3 * turn) / 0.1], 1e-12, scale=1.0)
    # and back: torques of the motors for a turn on the way
    v = robot.velocities(robot.neutral(), [2.0, 5.0])
    back = robot.inverse_dynamics(robot.neutral(), v, robot.forward_dynamics(robot.neutral(), v, tau))
    assert_close(back, tau, 1e-11, scale=1.0)


def test_a_batch_with_a_lane_that_is_lost():
    robot = ball_on_incline()
    q = np.tile(robot.close(robot.neutral()), (3, 1))
    q[1] = np.nan
    a = robot.forward_dynamics(q, np.zeros(6), np.zeros(6))
    assert np.isnan(a[1]).all()
    assert_close(a[[0, 2], 3], np.full(2, 5 / 7 * GRAVITY * np.sin(0.3)), 1e-13, scale=1.0)


@pytest.mark.parametrize(
    ("kind", "freedoms"),
    [(kt.PointOnLine("x"), 4), (kt.PointOnPlane("z"), 5), (kt.ParallelAxes("z"), 4), (kt.Planar("z"), 3),
     (kt.Cylindrical("x"), 2), (kt.Helical("x", 0.1), 1), (kt.Universal("XY"), 2), (kt.Translation(), 3)],
    ids=lambda x: getattr(x, "name", None),
)  # fmt: skip
def test_what_a_free_body_keeps(kind, freedoms):
    b = kt.Builder("held", gravity=(0, 0, 0))
    b.body("one", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.2, 0.25), actuated=False)
    robot = b.loop("hold", "base", "one", kind).build()
    assert robot.mobility().freedoms == freedoms


def test_a_sphere_in_a_tube():
    """A rod with one end in a level tube and its center of mass below it: a cart without mass, and a pendulum."""
    mass, arm, moment = 1.5, 0.6, 0.05
    b = kt.Builder("rod")
    b.body("rod", "base", kt.Free(), mass=mass, com=(0, 0, -arm), inertia=(moment, moment, 0.01), actuated=False)
    robot = b.loop("tube", "base", "rod", kt.PointOnLine("x")).build()
    angle, rate = 0.4, 1.3
    q = np.array([0, np.sin(angle / 2), 0, np.cos(angle / 2), 0.2, 0, 0])
    turned = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    v = np.concatenate([[0, rate, 0], turned.T @ [0.5, 0, 0]])
    a = robot.forward_dynamics(q, v, np.zeros(6))
    # the center of mass falls straight down the line x = const: the tube carries nothing along itself
    s, c = np.sin(angle), np.cos(angle)
    expected = -(mass * GRAVITY * arm * s + mass * arm**2 * s * c * rate**2) / (moment + mass * arm**2 * s**2)
    assert_close(a[1], expected, 1e-12, scale=1.0)
    record = kt.simulate(robot, q, v, time=0.5, samples=3)
    assert np.abs(record.q[:, 5:]).max() < 1e-11
    assert record.energy.relative_error < 1e-7

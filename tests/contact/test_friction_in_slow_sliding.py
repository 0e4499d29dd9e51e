"""Sliding so slow that friction turns fast: right, and without tiny steps."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.contact.rigid_contacts import Contact, contacts_at
from kinetree.contact.rigid_friction import CREEP, FAST, STEPS_TO_SWITCH, Pace, direction_of_sliding
from kinetree.contact.surfaces import Plane, Spot
from kinetree.simulation.rigid_run import simulate_rigid

G = 9.81
MASS, SPIN_INERTIA, RADIUS = 1.0, 0.005, 0.1


def puck(n):
    """Its center of mass lies in the plane of its n spots, so that they carry the same load whatever pulls."""
    builder = kt.Builder("puck").body(
        "puck", "base", kt.Free(), actuated=True, mass=MASS, inertia=(0.004, 0.004, SPIN_INERTIA)
    )
    angles = 2 * np.pi * np.arange(n) / n
    return builder.build().with_backend("compiled"), [
        Spot("puck", (RADIUS * math.cos(a), RADIUS * math.sin(a), 0.0)) for a in angles
    ]


def on_slope(angle):
    return np.concatenate([Rotation.from_euler("y", angle).as_quat(), np.zeros(3)])


def only_takes(record):
    """Contacts never give energy."""
    return np.all(np.diff(record.energy.ground) < 1e-12 * (1.0 + np.max(np.abs(record.energy.mechanical))))


def test_direction_is_that_of_the_velocity_and_knows_its_derivatives():
    before = np.array([0.6, 0.8])
    for along in (np.array([0.3, -0.1]), 1.001 * FAST * np.array([1.0, 0.0])):
        assert np.allclose(direction_of_sliding(along, before)[0], along / np.linalg.norm(along), rtol=0, atol=1e-15)
    for size in (0.0, -CREEP, -5 * CREEP):
        assert np.array_equal(direction_of_sliding(size * before, before)[0], before)
    along, step = CREEP * np.array([30.0, -20.0]), 1e-6 * CREEP
    numeric = [
        (direction_of_sliding(along + step * e, before)[0] - direction_of_sliding(along - step * e, before)[0])
        / (2 * step)
        for e in np.eye(2)
    ]
    assert np.allclose(direction_of_sliding(along, before)[1], np.transpose(numeric), rtol=1e-6)


def test_pace_changes_only_after_several_steps_that_tell_so():
    pace = Pace()
    assert not any(pace.changes(x) for x in [5.0] * (STEPS_TO_SWITCH - 1) + [0.5] + [5.0] * (STEPS_TO_SWITCH - 1))
    assert pace.changes(5.0)
    assert pace.implicit
    assert not any(pace.changes(500.0) for _ in range(20))
    assert [pace.changes(0.1) for _ in range(STEPS_TO_SWITCH)] == [False] * (STEPS_TO_SWITCH - 1) + [True]
    assert not pace.implicit
    assert not any(pace.changes(500.0) for _ in range(20))  # accurate all the same: nothing turns


@pytest.mark.parametrize("less", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_a_slope_that_just_does_not_hold(less):
    """x'' = g (sin - mu cos); the slower, the more steps it used to take (from 850 at 1e-3 to tens of thousands)."""
    angle, end = 0.3, 0.5
    robot, spots = puck(4)
    contacts = contacts_at(spots, friction=math.tan(angle) * (1 - less), surface=Plane.inclined(angle))
    record = simulate_rigid(robot, contacts, on_slope(angle), time=end, samples=6)
    down, pull = np.array([math.cos(angle), 0.0, -math.sin(angle)]), G * math.sin(angle) * less
    assert np.allclose(record.q[:, 4:] @ down, 0.5 * pull * record.time**2, rtol=1e-6, atol=1e-11)
    assert np.allclose(record.v[:, 3], pull * record.time, rtol=1e-6, atol=1e-10)
    assert {e.name.partition(" ")[0] for e in record.events} == {"sliding"}
    assert record.info["steps"] < 80
    assert only_takes(record)


def test_an_implicit_integrator_can_be_asked_for():
    angle, less = 0.3, 1e-3
    robot, spots = puck(3)
    contacts = contacts_at(spots, friction=math.tan(angle) * (1 - less), surface=Plane.inclined(angle))
    record = simulate_rigid(robot, contacts, on_slope(angle), time=0.5, samples=3, integrator="radau")
    assert record.v[-1, 3] == pytest.approx(0.5 * G * math.sin(angle) * less, rel=1e-6)
    assert record.info["steps"] < 60


@pytest.mark.parametrize("speed", [1e-1, 1e-3])
@pytest.mark.parametrize("integrator", ["dop853", "rk45"])
def test_thrown_across_a_slope_that_just_holds_it_ends_with_half_the_speed(speed, integrator):
    """With mu = tan the speed and its part downhill have a constant sum: friction takes from one what gravity adds."""
    angle = 0.3
    robot, spots = puck(3)
    contacts = contacts_at(spots, friction=math.tan(angle), surface=Plane.inclined(angle))
    record = simulate_rigid(
        robot, contacts, on_slope(angle), [0, 0, 0, 0, speed, 0], time=0.4, samples=21, integrator=integrator
    )
    sum_ = np.linalg.norm(record.v[:, 3:5], axis=1) + record.v[:, 3]
    assert np.allclose(sum_, speed, rtol=1e-5, atol=1e-9)
    assert record.v[-1, 3] == pytest.approx(speed / 2, rel=1e-3)
    assert record.info["steps"] < 200
    assert only_takes(record)


def test_a_push_that_turns():
    """Hardly beyond friction and turning: speed and direction as two equations in polar coordinates have them."""
    mu, more, turn, end = 0.3, 1e-3, 6.0, 0.2
    limit = mu * MASS * G
    robot, spots = puck(4)

    def push(t, q, v):
        force = limit * (1 + more) * np.array([math.cos(turn * t), math.sin(turn * t), 0.0])
        return np.concatenate([np.zeros(3), Rotation.from_quat(q[:4]).inv().apply(force)])

    def polar(t, y):
        speed, angle = y
        ahead = turn * t - angle
        pull = limit / MASS * (1 + more)
        return [pull * math.cos(ahead) - limit / MASS, pull * math.sin(ahead) / speed]

    # near t = 0 the speed is more mu g t, and the direction lags by the constant part that keeps it turning
    first, lag = 1e-7, (1 + more) / (1 + 2 * more)
    start = [more * mu * G * first, lag * turn * first]
    speed, angle = solve_ivp(polar, (first, end), start, method="Radau", rtol=1e-10, atol=1e-14).y[:, -1]
    record = simulate_rigid(
        robot,
        contacts_at(spots, friction=mu),
        on_slope(0.0),
        time=end,
        samples=4,
        controller=push,
        rtol=1e-8,
        atol=1e-10,
    )
    assert np.allclose(record.v[-1, 3:5], speed * np.array([math.cos(angle), math.sin(angle)]), rtol=0, atol=2e-8)
    assert record.info["steps"] < 250
    assert only_takes(record)


@pytest.mark.parametrize(("n", "spin", "speed"), [(3, 5.0, 0.3), (8, 5.0, 0.3), (5, 1.0, 0.5)])
def test_sliding_and_spinning_end_together(n, spin, speed):
    """Farkas et al.: whatever the start, a disc stops to slide and to spin at the same instant.

    The judge integrates the three plain equations of a disc on n spots that carry m g / n each.
    """
    mu = 0.3
    robot, spots = puck(n)
    places = np.array([s.point[:2] for s in spots])

    def plain(t, y):
        turned, vx, vy, w = y[2:]
        c, s = math.cos(turned), math.sin(turned)
        arms = places @ np.array([[c, s], [-s, c]])
        slips = np.array([vx, vy]) + w * np.column_stack([-arms[:, 1], arms[:, 0]])
        pulls = -mu * MASS * G / n * slips / np.linalg.norm(slips, axis=1)[:, None]
        moment = np.sum(arms[:, 0] * pulls[:, 1] - arms[:, 1] * pulls[:, 0])
        return [vx, vy, w, *(pulls.sum(axis=0) / MASS), moment / SPIN_INERTIA]

    def nearly_at_rest(t, y):
        return math.hypot(y[3], y[4]) + RADIUS * abs(y[5]) - 1e-4

    nearly_at_rest.terminal = True
    judge = solve_ivp(
        plain, (0, 1), [0, 0, 0, speed, 0, spin], events=nearly_at_rest, rtol=1e-10, atol=1e-12, dense_output=True
    )
    stop = judge.t[-1]
    times = np.append(np.linspace(0.0, 0.98 * stop, 8), stop + 0.05)
    record = simulate_rigid(
        robot, contacts_at(spots, friction=mu), on_slope(0.0), [0, 0, spin, speed, 0, 0], time=times[-1], samples=times
    )
    for k in range(8):
        expected, turned = judge.sol(times[k]), Rotation.from_quat(record.q[k, :4])
        assert np.allclose(turned.apply(record.v[k, 3:6])[:2], expected[3:5], atol=1e-7)
        assert record.v[k, 2] == pytest.approx(expected[5], abs=1e-6)
    sticking = [e.time for e in record.events if e.name.startswith("sticking")]
    assert len(sticking) == n
    assert np.allclose(sticking, stop, rtol=0, atol=2e-4)
    assert np.abs(record.v[-1]).max() < 1e-11
    assert record.info["steps"] < 120
    assert only_takes(record)


def test_a_spot_comes_to_rest_before_the_others_and_is_the_pivot():
    """On four spots one stops first; about it the rest turns with constant friction, and comes to rest when it must."""
    mu, n = 0.3, 4
    robot, spots = puck(n)
    record = simulate_rigid(
        robot, contacts_at(spots, friction=mu), on_slope(0.0), [0, 0, 5.0, 0.3, 0, 0], time=0.2, samples=41
    )
    first, *others = [e for e in record.events if e.name.startswith("sticking")]
    arms = RADIUS * (2 * math.sqrt(2) + 2)
    slowing = mu * MASS * G / n * arms / (SPIN_INERTIA + MASS * RADIUS**2)
    assert len(others) == 3
    assert np.allclose([e.time - first.time for e in others], first.v[2] / slowing, rtol=1e-4)
    assert record.info["steps"] < 120
    assert np.abs(record.v[-1]).max() < 1e-11
    assert only_takes(record)


def test_a_block_that_slides_straight_stops_after_its_way():
    """v^2 / (2 mu g), from a hundredth of a millimeter per second to a meter per second."""
    robot, spots = puck(4)
    for speed in (1.0, 1e-2, 1e-4, 1e-5):
        contacts = contacts_at(spots, friction=0.25)
        stop = speed / (0.25 * G)
        record = simulate_rigid(robot, contacts, on_slope(0.0), [0, 0, 0, speed, 0, 0], time=2 * stop, samples=3)
        assert record.q[-1, 4] == pytest.approx(0.5 * speed * stop, abs=1e-11)
        assert record.info["steps"] < 40


def test_a_ball_thrown_with_side_spin_rolls_with_the_velocity_it_must():
    """The slip keeps its direction, so it rolls after 2 |u| / (7 mu g), with 5/7 v + 2/7 of what its spin asks for."""
    radius, mu = 0.1, 0.2
    builder = kt.Builder("ball").body("ball", "base", kt.Free(), mass=1.0, inertia=(0.4 * radius**2,) * 3)
    robot = builder.build().with_backend("compiled")
    spin, velocity = np.array([20.0, -10.0, 3.0]), np.array([1.0, 0.5, 0.0])
    slip = velocity + np.cross(spin, [0, 0, -radius])
    rolls = 2 * np.linalg.norm(slip) / (7 * mu * G)
    start, contact = [0, 0, 0, 1, 0, 0, radius], Contact("ball", radius=radius, friction=mu)
    record = simulate_rigid(robot, [contact], start, [*spin, *velocity], time=rolls + 0.1, samples=3)
    end = Rotation.from_quat(record.q[-1, :4]).apply(record.v[-1, 3:])
    assert np.allclose(end, velocity - 2 / 7 * slip, atol=1e-7)
    stuck = [e.time for e in record.events if e.name.startswith("sticking")]
    assert stuck == pytest.approx([rolls], abs=1e-8)

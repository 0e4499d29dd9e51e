"""Jerk-limited motions from state to state, judged by closed forms, by limits, and by Ruckig where it is installed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt

jerk_limited = kt.trajectories.jerk_limited


def states(rng, n, moving):
    """Return numbers of a motion: positions, velocities at both ends, limits."""
    velocity, acceleration, jerk = rng.uniform(0.3, 2.0, (3, n)) * np.array([[1.0], [2.0], [5.0]])
    start, end = rng.uniform(-1.5, 1.5, (2, n))
    first, last = moving * rng.uniform(-1.0, 1.0, (2, n)) * velocity
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    return start, end, limits | {"v0": first, "v1": last}


def test_seven_phases_of_one_joint():
    # 0.1 s of jerk, 0.2 s of acceleration 2, 0.1 s: to 0.6 m/s over 0.12 m; then a cruise
    move = jerk_limited([0.0], [1.0], velocity=0.6, acceleration=2.0, jerk=20.0)
    assert_allclose(move.lengths[0], [0.1, 0.2, 0.1, 0.76 / 0.6, 0.1, 0.2, 0.1], rtol=1e-12)
    assert_allclose(move.jerks[0], [20, 0, -20, 0, -20, 0, 20])
    q, v, a = move(np.array([0.1, 0.3, 0.4]))
    assert_allclose(v[:, 0], [0.1, 0.5, 0.6], atol=1e-14)
    assert_allclose(a[:, 0], [2.0, 2.0, 0.0], atol=1e-13)
    assert_allclose(q[-1, 0], 0.12, atol=1e-14)


def test_short_way_by_the_cubic_root():
    assert_allclose(jerk_limited([0.0], [1e-3], velocity=1, acceleration=5, jerk=8).duration, (32e-3 / 8) ** (1 / 3))


@pytest.mark.parametrize("moving", [0.0, 1.0])
def test_limits_and_ends(moving):
    rng = np.random.default_rng(3)
    for _ in range(40):
        start, end, given = states(rng, 4, moving)
        move = jerk_limited(start, end, **given)
        q, v, a = move(np.linspace(0.0, move.duration, 1501))
        for value, limit in ((v, given["velocity"]), (a, given["acceleration"]), (move.jerks.T, given["jerk"])):
            assert (np.abs(value) / limit).max() < 1.0 + 1e-9
        assert_allclose(q[[0, -1]], [start, end], atol=1e-9)
        assert_allclose(v[[0, -1]], [given["v0"], given["v1"]], atol=1e-9)
        assert_allclose(a[[0, -1]], 0.0, atol=1e-6)
        assert_allclose(move.lengths.sum(axis=-1), move.duration, rtol=1e-9)
        assert (move.lengths >= 0.0).all()
        assert_allclose(np.gradient(q, move.duration / 1500, axis=0)[5:-5], v[5:-5], atol=2e-2)


def test_as_fast_as_ruckig():
    ruckig = pytest.importorskip("ruckig")
    rng, later = np.random.default_rng(0), 0
    for k in range(300):
        n = 1 + 2 * (k % 3 > 0)
        start, end, given = states(rng, n, float(k % 2))
        judge, made, asked = ruckig.Ruckig(n), ruckig.Trajectory(n), ruckig.InputParameter(n)
        asked.current_position, asked.target_position = start, end
        asked.current_velocity, asked.target_velocity = given["v0"], given["v1"]
        asked.current_acceleration = asked.target_acceleration = np.zeros(n)
        asked.max_velocity, asked.max_acceleration, asked.max_jerk = (
            given[name] for name in ("velocity", "acceleration", "jerk")
        )
        judge.calculate(asked, made)
        move = jerk_limited(start, end, **given)
        assert_allclose(move.durations, made.independent_min_durations, rtol=1e-9)
        if move.duration > made.duration * (1.0 + 1e-9):  # joints too fast to wait may arrive somewhat later
            assert k % 2
            later += 1
            assert move.duration < 1.02 * made.duration
        else:
            assert_allclose(move.duration, made.duration, rtol=1e-9)
    assert later < 8


def test_a_batch_is_its_motions():
    rng = np.random.default_rng(5)
    start, end, given = states(rng, 7, 0.7)
    starts = start + rng.uniform(-0.2, 0.2, (4, 5, 7))
    moves = jerk_limited(starts, end, **given)
    assert moves.duration.shape == (4, 5)
    one = jerk_limited(starts[2, 3], end, **given)
    assert_allclose(moves.duration[2, 3], one.duration, rtol=1e-12)
    assert_allclose(moves[2, 3](0.4)[0], one(0.4)[0], atol=1e-12)
    assert_allclose(moves(0.4)[0][2, 3], one(0.4)[0], atol=1e-12)
    starts[1, 1, 2] = np.nan
    spoiled = jerk_limited(starts, end, **given)
    assert np.isnan(spoiled.duration[1, 1])
    assert_allclose(spoiled.duration[2:], moves.duration[2:], rtol=1e-13)


def test_joints_that_need_not_wait():
    move = jerk_limited([0.0, 0.0], [1.0, 0.1], velocity=1.0, acceleration=2.0, jerk=10.0, synchronized=False)
    assert_allclose(move.lengths.sum(axis=-1), move.durations, rtol=1e-12)
    assert_allclose(move(move.duration)[0], [1.0, 0.1], atol=1e-12)
    assert_allclose(move(move.durations[1])[1][1], 0.0, atol=1e-12)


def test_a_controller_follows_it_in_machine_code():
    b = kt.Builder("block").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track")
    robot = kt.Robot(b.build().model, backend="compiled")
    move = jerk_limited([0.0], [0.5], velocity=1.0, acceleration=3.0, jerk=40.0)
    law = kt.control.ComputedTorque(move.held(), kp=100.0, kd=20.0)
    record = kt.simulate(robot, [0.0], [0.0], time=move.duration, controller=law)
    assert_allclose(record.q[-1], 0.5, atol=1e-5)


def test_nowhere_to_go():
    move = jerk_limited([1.0, 2.0], [1.0, 2.0], velocity=1.0, acceleration=1.0, jerk=1.0)
    assert move.duration == 0.0
    assert_allclose(move(0.0)[0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"velocity": [1.0, 0.0]}, "joint 1: velocity must be a positive"),
        ({"acceleration": -1.0}, "joint 0: acceleration must be a positive"),
        ({"jerk": [np.inf, 1.0]}, "joint 0: jerk must be a positive"),
        ({"v0": [0.0, 1.5]}, "joint 1: its v0 is beyond"),
        ({"v1": [-1.5, 0.0]}, "joint 0: its v1 is beyond"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    given = {"velocity": 1.0, "acceleration": 2.0, "jerk": 10.0} | change
    with pytest.raises(kt.OptionError, match=message):
        jerk_limited([0.0, 0.0], [1.0, 1.0], **given)

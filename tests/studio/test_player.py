"""Motions made ready to be shown, and the clock that plays them."""

import threading
import time as clock
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.robots import floating_pair, random_state, random_tree
from helpers.view_models import falling_box, pendulum
from kinetree_studio.view.motion import FINEST, BodyPoint, Poses, Track
from kinetree_studio.view.player import Player

# ------------------------------------------------------------------ where bodies are


@pytest.mark.parametrize("seed", range(4))
def test_bodies_and_points_are_where_the_robot_says(seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 7, followers=True)
    q, _, _ = random_state(robot, rng, 3)
    poses = Poses.of(robot.model, q)
    for i, name in enumerate(robot.body_names):
        expected = robot.pose(q, name)
        np.testing.assert_allclose(poses.position[:, i], expected[:, :3, 3], atol=1e-12)
        turned = Rotation.from_quat(poses.wxyz[:, i, [1, 2, 3, 0]]).as_matrix()
        np.testing.assert_allclose(turned, expected[:, :3, :3], atol=1e-12)
        place = BodyPoint.of(robot.model, f"f{i}", (0.1, -0.2, 0.3))
        there = robot.pose(q, f"f{i}") @ (0.1, -0.2, 0.3, 1.0)
        np.testing.assert_allclose(poses.point(place.body, place.point), there[:, :3], atol=1e-12)


def test_half_way_between_two_poses_is_half_the_turn():
    robot = pendulum()
    for start, end in ((0.2, 1.0), (3.0, 3.6), (-3.2, -2.9)):  # the quaternion's sign flips in between
        two = Poses.of(robot.model, np.array([[start], [end]]))
        middle = two[0].mixed(two[1], 0.5)
        expected = Rotation.from_rotvec((0, 0.5 * (start + end), 0))
        apart = expected.inv() * Rotation.from_quat(middle.wxyz[:, [1, 2, 3, 0]])
        assert apart.magnitude()[0] < 1e-12


def test_nan_stays_with_its_sample():
    robot = floating_pair()
    q = np.stack([robot.neutral()] * 3)
    q[1] = np.nan
    poses = Poses.of(robot.model, q)
    assert np.isnan(poses.wxyz[1]).all()
    assert np.isfinite(poses.wxyz[[0, 2]]).all()


# ------------------------------------------------------------------ records


def test_a_record_with_few_samples_is_filled_in_along_the_motion():
    robot = pendulum()
    few = kt.simulate(robot, [1.0], time=2.0, samples=21)
    track = Track.of_record(robot, few)
    assert np.diff(track.time).max() <= FINEST * (1 + 1e-9)
    exact = kt.simulate(robot, [1.0], time=2.0, samples=track.time)
    np.testing.assert_allclose(track.q, exact.q, atol=2e-4)
    np.testing.assert_allclose(track.energy["sum"], exact.energy.mechanical, atol=1e-2)
    assert list(track.energy) == ["kinetic", "potential", "sum"]


def test_a_loaded_record_is_played_with_the_robot_it_is_shown_on(tmp_path):
    robot = pendulum()
    kt.simulate(robot, [1.0], time=1.0, samples=11).save(tmp_path / "swing.npz")
    track = Track.of_record(robot, kt.Record.load(tmp_path / "swing.npz"))
    assert track.time[-1] == 1.0


def test_work_that_was_done_is_plotted():
    b = kt.Builder("damped").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), damping=0.3)
    record = kt.simulate(b.build(), [1.0], time=1.0, samples=101)
    track = Track.of_record(b.build(), record)
    assert list(track.energy) == ["kinetic", "potential", "sum", "work of friction"]
    balance = track.energy["sum"] - track.energy["work of friction"]
    np.testing.assert_allclose(balance, balance[0], atol=1e-6)


def test_records_that_cannot_be_shown_are_refused():
    robot = pendulum()
    record = kt.simulate(robot, [1.0], time=0.1, samples=3)
    with pytest.raises(kt.OptionError, match=r"another robot \('pendulum'\)"):
        Track.of_record(floating_pair(), record)
    with pytest.raises(kt.OptionError, match="empty"):
        Track.of_record(robot, record[:0])
    with pytest.raises(kt.OptionError, match="after sample 0"):
        Track.of_record(robot, replace(record, time=record.time[::-1]))
    batch = kt.simulate(robot, [[1.0], [0.5]], time=0.1, integrator="rk4", step=0.01)
    with pytest.raises(kt.OptionError, match=r"record\.lane\(0\)"):
        Track.of_record(robot, batch)


def test_contact_forces_act_where_the_ground_says():
    robot, ground, record = falling_box()
    without = {key: value for key, value in record.info.items() if key != "contact_spots"}
    unnamed = replace(record, info=without)
    assert Track.of_record(robot, unnamed).spots == ()  # forces alone do not say where they act
    named = replace(record, info=without | {"contact_spots": [[s.frame, list(s.point)] for s in ground.spots]})
    for track in (Track.of_record(robot, unnamed, ground), Track.of_record(robot, named)):
        assert [tuple(s.point) for s in track.spots] == [(-0.2, 0, -0.1), (0.2, 0, -0.1)]
        np.testing.assert_array_equal(track.forces, record.contact_forces)
        assert track.forces[..., 2].max() > 1.0
    with pytest.raises(kt.OptionError, match="2 contact forces, but contacts= names 1"):
        Track.of_record(robot, record, ["box"])


# ------------------------------------------------------------------ the clock


def test_time_goes_as_fast_as_asked_and_stops_at_the_end():
    seen = []
    player = Player(1.0, 3.0, seen.append)
    player.advance(0.5)
    assert (player.time, seen) == (1.5, [1.5])
    player.speed = 2.0
    player.advance(0.5)
    assert player.time == 2.5
    player.playing = True
    player.advance(5.0)
    assert (player.time, player.playing) == (3.0, False)
    player.speed = -1.0
    player.advance(0.25)
    assert player.time == 2.75


def test_repeating_begins_again():
    player = Player(1.0, 3.0, lambda t: None)
    player.repeat = True
    player.advance(2.5)
    assert player.time == 1.5
    player.speed = -1.0
    player.advance(1.0)
    assert player.time == 2.5


def test_play_at_the_end_begins_at_the_start():
    player = Player(0.0, 2.0, lambda t: None)
    player.seek(2.0)
    player.play()
    try:
        assert player.time < 2.0
    finally:
        player.close()


@pytest.mark.parametrize("time", [-0.1, 2.1, float("nan")])
def test_times_outside_are_refused(time):
    with pytest.raises(kt.OptionError, match="from 0 to 2 s"):
        Player(0.0, 2.0, lambda t: None).seek(time)
    with pytest.raises(kt.OptionError, match="speed"):
        Player(0.0, 2.0, lambda t: None).speed = float("nan")


def test_playing_happens_by_itself_in_real_time():
    states, reached = [], threading.Event()
    player = Player(0.0, 0.4, lambda t: reached.set() if t == 0.4 else None, states.append)
    begin = clock.monotonic()
    player.play()
    assert reached.wait(10.0)
    assert clock.monotonic() - begin >= 0.39
    clock.sleep(0.1)
    assert states == [True, False]
    player.close()
    assert not any(t.name == "kinetree player" and t.is_alive() for t in threading.enumerate())

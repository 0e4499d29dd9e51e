"""What can be played: arrays, files, trajectories; and what is said about those that cannot."""

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, floating_pair
from helpers.view_models import pendulum
from kinetree_studio.view.given_wrenches import with_wrenches
from kinetree_studio.view.playable import MOST_NUMBERS, as_track

T = np.linspace(0.0, 1.0, 21)
Q = np.column_stack([np.sin(T), 0.5 * T, 0.1 * T**2])
V = np.column_stack([np.cos(T), 0.5 + 0 * T, 0.2 * T])


@pytest.fixture(scope="module")
def robot():
    return arm()


def test_arrays_are_played_as_they_are(robot):
    track = as_track(robot, (T, Q))
    np.testing.assert_array_equal(track.q, Q)
    assert (track.v, track.tau, track.energy) == (None, None, {})
    for k in (0, 7):
        np.testing.assert_allclose(track.poses.position[k, -1], robot.pose(Q[k], robot.body_names[-1])[:3, 3])
    full = as_track(robot, [T, Q, V, 2.0 * V])  # a list does as well
    np.testing.assert_array_equal(full.v, V)
    np.testing.assert_array_equal(full.tau, 2.0 * V)
    np.testing.assert_allclose(full.energy["kinetic"], robot.kinetic_energy(Q, V))
    one = as_track(pendulum(), (T, np.sin(T)))  # a single joint needs no column
    assert one.q.shape == (21, 1)


def test_a_trajectory_and_measurements_are_played(robot):
    move = kt.trajectories.Quintic(np.zeros(3), np.ones(3), 2.0)
    track = as_track(robot, move)
    assert (track.time[0], track.time[-1]) == (0.0, 2.0)
    np.testing.assert_allclose(track.q, move(track.time)[0])
    np.testing.assert_allclose(track.v, move(track.time)[1])
    with pytest.raises(kt.OptionError, match="never ends"):
        as_track(robot, kt.trajectories.Constant(np.zeros(3)))
    with pytest.raises(kt.ShapeError, match="3 coordinates, and 'pendulum' has 1"):
        as_track(pendulum(), move)
    t = np.linspace(0.0, 1.0, 60)
    q = np.zeros((60, 3))
    np.testing.assert_array_equal(as_track(robot, kt.Measured(t=t, q=q, tau=q + 1.0)).tau, q + 1.0)


@pytest.mark.parametrize("names", [["t", "q1", "q2", "q3"], ["time", "q_shoulder", "q_elbow", "q_{last}"]])
def test_a_table_is_played(robot, tmp_path, names):
    header = ",".join(names).replace("{last}", robot.joint_names[-1])
    path = tmp_path / "motion.csv"
    np.savetxt(path, np.column_stack([T, Q]), delimiter=",", header=header, comments="")
    track = as_track(robot, path)
    np.testing.assert_allclose(track.q, Q)
    np.testing.assert_allclose(track.time, T)
    np.savez(tmp_path / "motion.npz", time=T, q=Q, v=V)
    np.testing.assert_allclose(as_track(robot, str(tmp_path / "motion.npz")).v, V)


def test_degrees_in_a_table_are_understood(robot, tmp_path):
    names = ["t", *(f"q_{name} [deg]" for name in robot.joint_names[:2]), f"q_{robot.joint_names[2]}"]
    turned = Q * [180 / np.pi, 180 / np.pi, 1.0]
    np.savetxt(tmp_path / "m.csv", np.column_stack([T, turned]), delimiter=",", header=",".join(names), comments="")
    np.testing.assert_allclose(as_track(robot, tmp_path / "m.csv").q, Q)


def test_a_record_in_any_file_is_played_with_its_energy(tmp_path):
    robot = pendulum()
    record = kt.simulate(robot, [1.0], time=0.5, samples=31)
    for name in ("r.csv", "r.npz"):
        record.save(tmp_path / name)
        track = as_track(robot, tmp_path / name)
        np.testing.assert_allclose(track.energy["kinetic"], record.energy.kinetic, atol=1e-12)
        np.testing.assert_allclose(track.tau, record.tau, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q1,q2\n0,0,0\n", r"line 1: .*missing.*there are t, q1, q2"),
        ("x,y,z,w\n0,0,0,0\n", r"line 1: .*missing: q_.*there are x, y, z, w"),
        ("q1,q2,q3\n0,0,0\n", "no column of times; name it 't' or 'time'"),
        ("t,q1,q2,q3\n", "no rows"),
        ("t,q1,q2,q3\n0,0,zero,0\n", r"line 2.*'zero'"),
        ("", "empty"),
    ],
)
def test_files_without_what_is_needed_say_so(robot, tmp_path, text, message):
    (tmp_path / "motion.csv").write_text(text)
    with pytest.raises(kt.FileFormatError, match=message):
        as_track(robot, tmp_path / "motion.csv")


def test_files_that_are_not_there(robot, tmp_path):
    with pytest.raises(kt.KinetreeError, match=r"nowhere\.csv"):
        as_track(robot, tmp_path / "nowhere.csv")
    (tmp_path / "motion.xlsx").write_text("t,q1\n")
    with pytest.raises(kt.KinetreeError, match=r"\.csv.*read_excel"):
        as_track(robot, tmp_path / "motion.xlsx")


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        ((T, Q[:, :2]), "q has 2 columns, and 'arm' needs 3: "),
        ((T, Q[:-1]), r"q must be an array \(21, 3\), a row for each of t, not \(20, 3\)"),
        ((T, Q, V[:, :1]), "v has 1 column, "),
        ((Q, T), "t holds one time for each sample"),
        ((T[::-1], Q), "time goes back after sample 0"),
        ((np.full(21, np.nan), Q), "t is not a number at sample 0"),
        ((T, Q * np.nan), "no sample of the motion can be drawn"),
        ((T, None), "no positions"),
        (([], []), "one time for each sample"),
        ((T, Q.astype(str)), "q must hold numbers"),
        ((T,), "a motion is a record, arrays"),
        (17, "a motion is a record, arrays"),
    ],
)
def test_motions_that_cannot_be_played_say_why(robot, motion, message):
    with pytest.raises(kt.KinetreeError, match=message):
        as_track(robot, motion)


def test_samples_that_are_not_numbers_are_reported_with_time_and_joint(robot):
    q = Q.copy()
    q[4, 1] = np.nan
    q[9:, 0] = np.inf
    with pytest.warns(kt.ModelWarning, match=r"13 of 21 samples .* t = 0\.2 s \(sample 4, 'elbow'\)"):
        track = as_track(robot, (T, q))
    assert np.isfinite(track.poses.position[3]).all()


def test_wrenches_are_arrows_along_world_axes(robot):
    last = robot.body_names[-1]
    track = as_track(robot, (T, Q))
    turning = kt.Wrench(force=(1, 2, 3), moment=(0, 0, 4), point=(0.1, 0, 0))
    growing = np.column_stack([np.zeros((21, 5)), T])
    shown = with_wrenches(robot, track, {last: turning, robot.body_names[0]: growing})
    assert shown.forces.shape == shown.moments.shape == (21, 2, 3)
    for k in (0, 12):
        pose = robot.pose(Q[k], last)
        np.testing.assert_allclose(shown.forces[k, 0], pose[:3, :3] @ (1, 2, 3))
        np.testing.assert_allclose(shown.moments[k, 0], pose[:3, :3] @ (0, 0, 4))
        place = track.poses[k].point(shown.spots[0].body, shown.spots[0].point)
        np.testing.assert_allclose(place, pose[:3, :3] @ (0.1, 0, 0) + pose[:3, 3])
    np.testing.assert_array_equal(shown.forces[:, 1, 2], T)
    more = with_wrenches(robot, shown, {last: (0, 0, -1)})
    assert more.forces.shape == (21, 3, 3)
    np.testing.assert_array_equal(more.forces[:, :2], shown.forces)
    for bad, message in (({last: (1, 2)}, r"\(3,\), or moment and force \(6,\)"), ({last: np.zeros((5, 3))}, "21, 3"),
                         ([1, 2], "by frame"), ({"handd": (1, 2, 3)}, "handd")):  # fmt: skip
        with pytest.raises(kt.KinetreeError, match=message):
            with_wrenches(robot, track, bad)


def test_quaternions_of_the_wrong_length_or_order_are_refused():
    robot = floating_pair()
    q = np.tile(robot.neutral(), (21, 1))
    as_track(robot, (T, q))
    q[5, :4] = (0, 0, 0, 1.1)
    with pytest.raises(kt.OptionError, match=r"joint 'root' has length 1\.1 at sample 5.*x, y, z, w"):
        as_track(robot, (T, q))


def test_a_motion_that_is_too_large_for_a_page_is_thinned():
    robot = pendulum()
    count = 30_000
    track = as_track(robot, (np.linspace(0, 1, count), np.linspace(0, 1, count)))
    assert len(track) < count
    assert track.poses.position.size + track.poses.wxyz.size <= MOST_NUMBERS
    assert (track.time[0], track.time[-1]) == (0.0, 1.0)
    np.testing.assert_allclose(track.q[:, 0], track.time)

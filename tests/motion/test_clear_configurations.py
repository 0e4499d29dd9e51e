"""Inverse kinematics at a distance from obstacles: a redundant arm beside a post, judged by coal-tested clearances."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, OptionError, UnreachableError

S = kt.shapes


def arm(post=True, links=4):
    b = kt.Builder("arm")
    parent = "base"
    for k in range(links):
        b.body(f"link{k}", parent, kt.Revolute("z"), position=(0.5 if k else 0, 0, 0), mass=1.0, lower=-2.8, upper=2.8)
        b.shape(f"link{k}", S.Capsule(0.04, 0.3), (0.25, 0, 0), rpy=(0, "90 deg", 0))
        parent = f"link{k}"
    b.frame("tip", parent, (0.5, 0, 0))
    if post:
        b.shape("base", S.Cylinder(0.1, 1.0), (1.0, 0.3, 0), name="post")
    return kt.Robot(b.build().model, backend="compiled")


def test_solutions_keep_their_distance():
    robot, rng = arm(), np.random.default_rng(2)
    goals = rng.uniform((0.6, 0.7, 0.0), (1.4, 1.2, 0.0), size=(12, 3))
    guess = [0.2, 0.3, 0.2, 0.1]
    plain = kt.inverse_kinematics(robot, "tip", goals, guess, what="position")
    assert plain.clearance is None
    assert (robot.clearance(plain.q).smallest < 0.03).sum() > 3
    found = kt.inverse_kinematics(robot, "tip", goals, guess, what="position", clearance=0.03)
    assert found.reached.all()
    assert found.clearance == pytest.approx(robot.clearance(found.q).smallest, abs=1e-12)
    assert found.clearance.min() >= 0.03
    assert robot.pose(found.q, "tip")[:, :3, 3] == pytest.approx(goals, abs=1e-8)
    assert robot.within_limits(found.q).all()
    was_clear = robot.clearance(plain.q).smallest >= 0.03
    assert np.array_equal(found.q[was_clear], plain.q[was_clear])
    one = kt.inverse_kinematics(robot, "tip", goals[4], guess, what="position", clearance=0.03)
    assert one.q == pytest.approx(found.q[4], abs=1e-12)


def test_goals_inside_an_obstacle_are_refused_or_told():
    robot = arm()
    with pytest.raises(UnreachableError, match=r"keeps 0.02 m: '.*' and 'post' are|keeps 0.02 m: 'post' and '.*' are"):
        kt.inverse_kinematics(robot, "tip", [1.0, 0.3, 0.0], what="position", clearance=0.02, attempts=4)
    found = kt.inverse_kinematics(
        robot, "tip", [[1.0, 0.3, 0.0], [0.0, 1.2, 0], [np.nan, 0, 0]], what="position", clearance=0.02, attempts=4,
        must_reach=False,
    )  # fmt: skip
    assert found.reached.tolist() == [False, True, False]
    assert found.clearance[0] < 0.02 <= found.clearance[1]
    assert np.isnan(found.clearance[2])


def test_a_robot_without_shapes_has_no_distance():
    bare = kt.Builder("bare").body("rod", "base", kt.Revolute("z"), mass=1.0).frame("tip", "rod", (1, 0, 0)).build()
    with pytest.raises(ModelError, match="keeps no distance"):
        kt.inverse_kinematics(bare, "tip", [0, 1, 0], [0.3], what="position", clearance=0.1)


COUNTED = (("table", "arm/fore"), ("arm/upper", "box"), ("arm/fore", "box"))
"""The pairs of the room whose distances the two hinges change: all but that of table and box."""


@pytest.fixture(scope="module")
def room():
    """An arm with a finger that does not move the tool, a table, and a loose box that lies on it."""
    b = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), position=(0, 0, 0.6), mass=1.0, lower=-3, upper=3)
    b.shape("upper", S.Capsule(0.03, 0.3), (0.2, 0, 0), rpy=(0, "90 deg", 0))
    b.body("fore", "upper", kt.Revolute("y"), position=(0.4, 0, 0), mass=1.0, lower=-2.6, upper=2.6)
    b.shape("fore", S.Capsule(0.03, 0.25), (0.2, 0, 0), rpy=(0, "90 deg", 0))
    b.body("finger", "fore", kt.Prismatic("y"), position=(0.3, 0, 0), mass=0.1, lower=0.0, upper=0.1)
    things = {
        "table": kt.Thing(S.Box((0.6, 0.6, 0.1)), position=(0.5, 0, 0.25), fixed=True),
        "box": kt.Thing(S.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.5, 0, 0.35)),
    }
    return kt.scene(robots={"arm": b.frame("tool", "fore", (0.4, 0, 0)).build()}, things=things)


def guess_in(room):
    q = room.configuration("start")
    q[:3] = 0.9, -1.4, 0.07  # with the elbow below, in the box
    return q


@pytest.mark.parametrize("joints", [None, ["arm/upper_joint", "arm/fore_joint"]])
def test_loose_things_and_fingers_stay(room, joints):
    guess, goals = guess_in(room), np.array([[0.55, 0, 0.45], [0.7, 0, 0.38], [0.6, 0, 0.5]])
    plain = kt.inverse_kinematics(room, "arm/tool", goals, guess, what="position", joints=joints)
    assert (room.clearance(plain.q, pairs=COUNTED).smallest < 0.01).any()  # so that other starts are needed
    found = kt.inverse_kinematics(room, "arm/tool", goals, guess, what="position", joints=joints, clearance=0.01)
    assert found.reached.all()
    assert found.pairs == COUNTED
    assert np.array_equal(found.q[:, 2:], np.tile(guess[2:], (3, 1)))
    assert np.array_equal(found.clearance, room.clearance(found.q, pairs=COUNTED).smallest)
    assert found.clearance.min() >= 0.01
    assert room.pose(found.q, "arm/tool")[:, :3, 3] == pytest.approx(goals, abs=1e-8)
    one = kt.inverse_kinematics(room, "arm/tool", goals[0], guess, what="position", joints=joints, clearance=0.01)
    assert one.q == pytest.approx(found.q[0], abs=1e-12)
    assert np.array_equal(one.q[2:], guess[2:])


def test_a_distance_that_cannot_be_kept_is_told_and_moves_nothing_else(room):
    guess, goals = np.tile(guess_in(room), (3, 1)), [[0.5, 0, 0.35], [0.7, 0, 0.38], [9.0, 0, 0]]
    guess[1, :2] = -0.1, 0.8
    found = kt.inverse_kinematics(
        room, "arm/tool", goals, guess, what="position", clearance=0.01, must_reach=False, attempts=2
    )
    assert found.reached.tolist() == [False, True, False]
    assert found.clearance[0] < 0.01 <= found.clearance[1]
    assert np.array_equal(found.clearance, room.clearance(found.q, pairs=COUNTED).smallest)
    assert np.array_equal(found.q[:, 2:], guess[:, 2:])
    with pytest.raises(UnreachableError, match=r"\(batch index 0; 1 of 2 .*'arm/fore'.* are -0.* at best"):
        kt.inverse_kinematics(room, "arm/tool", goals[:2], guess[:2], what="position", clearance=0.01, attempts=1)


def test_named_pairs_count_and_those_that_no_joint_changes_are_told(room):
    guess, goal = guess_in(room), [0.55, 0, 0.45]
    ask = {"what": "position", "attempts": 4}
    plain = kt.inverse_kinematics(room, "arm/tool", goal, guess, **ask)
    only = kt.inverse_kinematics(room, "arm/tool", goal, guess, clearance=0.001, pairs=[("arm/upper", "box")], **ask)
    assert only.pairs == (("arm/upper", "box"),)
    assert np.array_equal(only.q, plain.q)
    assert only.clearance == room.clearance(plain.q, pairs=only.pairs).smallest
    both = [("box", "table"), ("box", "arm/fore")]
    with pytest.raises(UnreachableError, match=r"'box' and 'table' are .* joints that may move do not change that"):
        kt.inverse_kinematics(room, "arm/tool", goal, guess, clearance=0.01, pairs=both, **ask)
    told = kt.inverse_kinematics(room, "arm/tool", goal, guess, clearance=0.01, pairs=both, must_reach=False, **ask)
    assert not told.reached
    assert told.clearance == pytest.approx(0, abs=1e-12)
    assert room.clearance(told.q, pairs=[both[1]]).smallest >= 0.01
    with pytest.raises(OptionError, match="say which, clearance="):
        kt.inverse_kinematics(room, "arm/tool", goal, guess, pairs=both, **ask)
    with pytest.raises(ModelError, match="change none of the distances of the 4 pairs"):
        kt.inverse_kinematics(
            room, "arm/finger", [0.7, 0, 0.38], guess, joints=["arm/finger_joint"], clearance=0.01, must_reach=False,
            **ask,
        )  # fmt: skip


def test_other_mechanisms_of_a_scene_stay():
    b = kt.Builder("link").body("crank", "base", kt.Revolute("y"), mass=1.0)
    b.body("rod", "crank", kt.Revolute("y"), position=(0.2, 0, 0), mass=1.0)
    b.body("rocker", "base", kt.Revolute("y"), position=(0.5, 0, 0), mass=1.0)
    b.loop("cut", "rod", "rocker", kt.Revolute("y"), placement=(0.4, 0, 0), seat=(0.3, 0, 0))
    linkage = b.build()
    still = linkage.close([0.3, 0.5, 1.0])
    scene = kt.scene(robots={"arm": kt.Robot(arm(links=2).model), "linkage": kt.Placed(linkage, (0, 3, 0), q=still)})
    guess = scene.configuration("start")
    found = kt.inverse_kinematics(scene, "arm/tip", [[0.4, 0.6, 0], [-0.5, 0.2, 0]], guess, what="position")
    own = scene.joint("arm/link1_joint").q_slice.stop
    assert np.abs(scene.pose(found.q, "arm/tip")[:, :3, 3] - [[0.4, 0.6, 0], [-0.5, 0.2, 0]]).max() < 1e-9
    assert found.q[:, own:] == pytest.approx(np.tile(guess[own:], (2, 1)), abs=1e-14)

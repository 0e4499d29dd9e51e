"""Models of spatial_v2: forces are those of its own recursion on the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

import kinetree as kt
from helpers.spatial_v2_structs import cell, crm, inertia, inverse_dynamics, planar, plux, skew, tree, turn, write

SCREW = {"code": "H", "pars": {"pitch": 0.13}}
EVERY = ["Rx", "Ry", "Rz", "R", "Px", "Py", "Pz", "P", SCREW, "Rx-", "Py-", "S"]


def states(robot: kt.Robot, seed: int = 1):
    """A random state as kinetree has it, and joint by joint as spatial_v2 does: quaternions with w first."""
    rng = np.random.default_rng(seed)
    q, v, a = robot.random_configuration(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    joints = [link for link in robot.model.links if link.kind.nq and not robot.model.joint(link.name).mimic]
    own = []
    for link in joints:
        x = q[link.q_slice]
        own.append(np.concatenate([x[3:4], x[:3], x[4:]]) if len(x) >= 4 else x)
    return (q, v, a), (own, [v[j.v_slice] for j in joints], [a[j.v_slice] for j in joints])


def agree(robot: kt.Robot, model: dict) -> None:
    ours, theirs = states(robot)
    expected = inverse_dynamics(model, *theirs)
    np.testing.assert_allclose(robot.inverse_dynamics(*ours), expected, rtol=1e-10, atol=1e-10)
    assert np.abs(expected).max() > 0.1


def test_every_joint_of_a_spatial_tree(tmp_path):
    model = tree(EVERY, [0, 1, 2, 1, 4, 5, 2, 7, 8, 9, 10, 11])
    robot = kt.load(write(tmp_path, model))
    assert robot.name == "robot"
    assert robot.body_names[:2] == ["link1", "link2"]
    assert robot.joint_names[:2] == ["joint1", "joint2"]
    np.testing.assert_array_equal(robot.gravity, [0, 0, -9.81])
    agree(robot, model)


def test_a_floating_base(tmp_path):
    model = tree(["Fb", "Rx", "Ry"], [0, 1, 1], gravity=np.array([0.3, -9.0, 1.0]))
    agree(kt.load(write(tmp_path, model)), model)


def test_gravity_may_be_a_column_or_given_here(tmp_path):
    model = tree(["Rx", "Ry"], [0, 1], gravity=np.array([[0.3], [-9.0], [1.0]]))
    agree(kt.load(write(tmp_path, model)), model)
    np.testing.assert_array_equal(kt.load(write(tmp_path, model), gravity=(0, 0, 0)).gravity, [0, 0, 0])


@pytest.mark.parametrize("gravity", [None, [0.5, -9.81]])
def test_planar_models(tmp_path, gravity):
    """They fall in their plane, and not at all where the model does not say."""
    model = planar(["r", "px", "r-", "py", "r"], **({} if gravity is None else {"gravity": np.array(gravity)}))
    robot = kt.load(write(tmp_path, model))
    agree(robot, model)
    np.testing.assert_array_equal(robot.gravity, [*(gravity or (0, 0)), 0])
    # nothing leaves the plane
    q = np.random.default_rng(0).standard_normal(5)
    np.testing.assert_allclose(robot.pose(q, "link5")[2], [0, 0, 1, 0], atol=1e-15)


def test_rotors_follow_their_joints(tmp_path):
    """Of the extended package: as a tree of bodies whose joints are tied, Featherstone's section 9.6, has it."""
    rotor, gear = inertia(0.3, np.zeros(3), np.diag([0.01, 0.01, 0.02])), 9.0
    places = [plux(turn(1, 0.4), (0.1, 0.0, 0.2)), plux(turn(0, -0.7), (0.0, 0.3, 0.0))]
    model = tree(["Rz", "Rx"], [0, 1])
    extra = {"has_rotor": np.array([1.0, 0.0]), "gr": cell([gear, gear]), "I_rotor": cell([rotor, rotor]),
             "jtype_rotor": cell(["Ry", "Ry"]), "Xrotor": cell(places)}  # fmt: skip
    robot = kt.load(write(tmp_path, model | extra))
    assert robot.nv == 2
    # the rotor as a third body with a joint of its own, which turns by the gear's ratio of the first
    loose = dict(model, NB=3.0, parent=np.array([0.0, 1.0, 0.0]), jtype=cell(["Rz", "Rx", "Ry"]),
                 Xtree=cell([*model["Xtree"].ravel(), places[0]]), I=cell([*model["I"].ravel(), rotor]))  # fmt: skip
    (q, v, a), theirs = states(robot)
    tied = [[*one, gear * one[0]] for one in theirs]
    expected = inverse_dynamics(loose, *tied)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, v, a), [expected[0] + gear * expected[2], expected[1]], rtol=1e-10
    )


def test_points_of_contact_are_frames(tmp_path):
    points = np.array([[0.1, 0.2], [0.0, 0.3], [0.5, -0.4]])
    model = tree(["Rx", "Ry"], [0, 1], gc={"point": points, "body": np.array([2.0, 1.0])})
    robot = kt.load(write(tmp_path, model))
    q = np.array([0.4, -0.3])
    for k, body in enumerate(("link2", "link1")):
        expected = robot.pose(q, body) @ [*points[:, k], 1.0]
        np.testing.assert_allclose(robot.pose(q, f"contact{k + 1}")[:, 3], expected, atol=1e-14)


def test_what_else_is_in_the_file(tmp_path):
    """Other variables, drawings; a structure within another, or its fields alone."""
    model = tree(["R"], [0], appearance={"base": cell(["box", np.eye(3)])}, camera={"body": 1.0})
    path = write(tmp_path, model, t=np.arange(3.0), note="text")
    agree(kt.load(path), model)
    savemat(path, {"data": {"arm": model}})
    agree(kt.load(path), model)
    savemat(path, model, do_compression=True)
    agree(kt.load(path), model)


def test_it_is_saved_as_others_are(tmp_path):
    robot = kt.load(write(tmp_path, tree(EVERY, list(range(12)))))
    robot.save(tmp_path / "robot.yaml")
    assert kt.load(tmp_path / "robot.yaml") == robot


def test_its_functions_are_what_the_index_of_names_says():
    rng = np.random.default_rng(0)
    v, r, c = rng.standard_normal(6), rng.standard_normal(3), rng.standard_normal(3)
    pose = kt.Pose.of(r, rpy=(0.3, -0.5, 0.7))
    x = plux(pose.rotation.T, r)
    np.testing.assert_allclose(pose.rotation.T, turn(0, 0.3) @ turn(1, -0.5) @ turn(2, 0.7), atol=1e-14)
    np.testing.assert_allclose(np.linalg.inv(kt.spatial.transform_matrix(pose.matrix)), x, atol=1e-14)
    np.testing.assert_array_equal(kt.spatial.cross_matrix3(r), skew(r))
    np.testing.assert_array_equal(kt.spatial.cross_matrix(v), crm(v))
    np.testing.assert_array_equal(kt.spatial.cross_matrix(v, "force"), -crm(v).T)
    np.testing.assert_allclose(kt.spatial.line_vector(c, r, "force"), [*np.cross(r, c), *c], atol=1e-14)
    np.testing.assert_allclose(kt.spatial.split_at(v, r)[1][3:], v[3:] + np.cross(v[:3], r), atol=1e-14)
    np.testing.assert_allclose(kt.spatial.rigid_inertia(2.0, c, np.eye(3)), inertia(2.0, c, np.eye(3)), atol=1e-14)


BASE = tree(["Rx", "Ry"], [0, 1])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"jtype": cell(["Rx", "U"])}, r"jtype\{2\} is 'U', not a joint of a spatial model; these are R, P"),
        ({"jtype": cell(["Rx", "r"])}, r"jtype\{2\} is 'r', not a joint of a spatial model"),
        ({"jtype": cell(["Rx"])}, r"jtype\{2\} is None"),
        ({"jtype": cell(["Rx", {"code": "H"}])}, r"jtype\{2\}\.pars\.pitch is missing"),
        ({"parent": np.array([0.0, 2.0])}, r"parent\(2\) is 2: it must be 0 \(the base\) or a body before 2"),
        ({"parent": np.array([0.0, 0.5])}, r"parent\(2\) is 0.5"),
        ({"parent": np.array([0.0, 1.0, 2.0])}, "parent is 1 x 3, not 1 x 2"),
        ({"NB": 1e9}, "NB is 1000000000, but"),
        ({"NB": 0.0}, "NB is 0"),
        ({"Xtree": cell([np.eye(6), np.eye(3)])}, r"Xtree\{2\} is 3 x 3, not 6 x 6"),
        ({"Xtree": cell([np.eye(6), 2 * np.eye(6)])}, r"Xtree\{2\} is not a coordinate transform: rotation must be"),
        ({"Xtree": cell([np.eye(6), np.ones((6, 6))])}, r"Xtree\{2\} is not a coordinate transform: plux"),
        ({"Xtree": cell([np.eye(6), np.full((6, 6), np.nan)])}, r"Xtree\{2\} has numbers that are not finite"),
        ({"I": cell([np.eye(6), np.ones((6, 6))])}, r"I\{2\} is not an inertia of a rigid body: mcI"),
        ({"I": cell([np.eye(6)])}, r"I\{2\} is missing"),
        ({"I": cell([np.eye(6), -np.eye(6)])}, r"link2.*negative|I\{2\}.*negative"),
        ({"gravity": np.array([0.0, 1.0])}, "gravity is 1 x 2, not 1 x 3"),
        ({"gc": {"point": np.zeros((3, 1)), "body": 7.0}}, r"gc\.body\(1\) is 7: there is no such body"),
        ({"gamma_q": "anything"}, "gamma_q, which couples joints, is a MATLAB function"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, changes, said):
    path = write(tmp_path, BASE | changes)
    with pytest.raises(kt.FileFormatError, match=said) as caught:
        kt.load(path)
    assert str(path) in str(caught.value)


def test_files_without_a_model_or_with_two(tmp_path):
    savemat(tmp_path / "m.mat", {"t": np.arange(3.0), "log": {"q": np.eye(2)}})
    with pytest.raises(kt.FileFormatError, match=r"a structure with NB, parent, .*; this file has log, t"):
        kt.load(tmp_path / "m.mat")
    savemat(tmp_path / "m.mat", {"one": BASE, "two": BASE})
    with pytest.raises(kt.FileFormatError, match=r"this file has several: one, two\. Save one alone"):
        kt.load(tmp_path / "m.mat")
    (tmp_path / "m.mat").write_bytes(b"no file of MATLAB")
    with pytest.raises(kt.FileFormatError, match="this is not a MATLAB file"):
        kt.load(tmp_path / "m.mat")

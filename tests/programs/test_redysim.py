"""ReDySim's inputs.m: the gripper of Shah chapter 10, typed as a user would have it, and files with mistakes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.io

import kinetree as kt
from helpers.cli import invoke
from kinetree_programs.matlab import MatlabFolder, evaluate

GRIPPER = """
function [type dof s n_s n_l n_j bt al alp a b dx dy dz m g ...
    Icxx Icyy Iczz Icxy Icyz Iczx aj Tp step] = inputs()
% a gripper with a palm, a finger of two links and a thumb
type = 0; dof = 4; s = 3;
n_s = [1, 2, 1]; n_l = sum(n_s); n = n_l;
bt = [0, 1, 2, 1];  n_j = [1 1 1 1];
al = [0.10, 0.05, 0.05, 0.05];
alp = [0, 0, 0, 0]; a = [0, 0.10, 0.05, 0.05]; b = [0; 0; 0; 0];
dx = [0.1/2, 0.05/2, 0.05/2, 0.05/2]; dy = zeros(1, n); dz = zeros(1, n);
m = [0.4, 0.2, 0.2, 0.2];
Icxx = zeros(n, 1); Icyy = zeros(n, 1); Iczz = zeros(n, 1);
Icxy = zeros(n, 1); Icyz = zeros(n, 1); Iczx = zeros(n, 1);
Icyy(1) = (1/12)*m(1)*al(1)*al(1); Iczz(1) = (1/12)*m(1)*al(1)^2;
Icyy(2) = (1/12)*m(2)*al(2)*al(2); Iczz(2) = (1/12)*m(2)*al(2)^2;
Icyy(3) = (1/12)*m(3)*al(3)*al(3); Iczz(3) = (1/12)*m(3)*al(3)^2;
Icyy(4) = (1/12)*m(4)*al(4)*al(4); Iczz(4) = (1/12)*m(4)*al(4)^2;
g = [0 ; -9.81; 0];
aj = [1, 1, 1, 1];
Tp = 1; ts = 0.01;
"""

OWN = {"link_1": "palm", "link_2": "finger", "link_3": "finger_tip", "link_4": "thumb"}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "Gripper"
    place.mkdir()
    (place / "inputs.m").write_text(GRIPPER)
    return place


def test_the_gripper_is_that_of_the_gallery(folder):
    robot, gripper = kt.load(folder), kt.gallery.load("gripper")
    assert robot.name == "Gripper"
    q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, 20, 4))
    order = [robot.body_names.index(own) for own in OWN]
    other = [gripper.body_names.index(name) for name in OWN.values()]
    expected = gripper.inverse_dynamics(q[:, np.argsort(other)], v[:, np.argsort(other)], a[:, np.argsort(other)])
    found = robot.inverse_dynamics(q[:, np.argsort(order)], v[:, np.argsort(order)], a[:, np.argsort(order)])
    np.testing.assert_allclose(found[:, order], expected[:, other], rtol=1e-12, atol=1e-14)


def test_a_closed_loop_is_read_as_its_tree_and_says_so(tmp_path):
    text = GRIPPER.replace("type = 0", "type = 1").replace("aj = [1, 1, 1, 1]", "aj = [1, 0, 0, 0]")
    (tmp_path / "inputs.m").write_text(text)
    with pytest.warns(kt.ModelWarning, match="jacobian.m"):
        robot = kt.load(tmp_path / "inputs.m")
    assert [robot.joint(name).actuated for name in robot.joint_names].count(True) == 1


def test_a_floating_base_and_slides(tmp_path):
    text = GRIPPER.replace("n_j = [1 1 1 1]", "n_j = [6 1 1 1]; r = [1 1 0 1]")
    (tmp_path / "inputs.m").write_text(text)
    robot = kt.load(tmp_path / "inputs.m")
    assert robot.is_floating
    assert robot.nv == 9
    assert isinstance(robot.joint("joint_3").kind, kt.Prismatic)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("bt = [0, 1, 2, 1]", "bt = [0, 1, 4, 1]", r"bt\(3\) is 4"),
        ("m = [0.4, 0.2, 0.2, 0.2]", "m = [0.4, 0.2, 0.2]", r"m\(4\) is outside a 1x3 matrix"),
        ("dx = [0.1/2, 0.05/2, ", "dx = [0.1/2, ", "'dx' must have 4 numbers, got 3"),
        ("bt = [0, 1, 2, 1]", "bt = []", "'bt' has no entries"),
        ("n_j = [1 1 1 1]", "n_j = [1 1 3 1]", "joint 3 has 3 variables"),
        ("g = [0 ; -9.81; 0];", "for i=1:2, g(i) = i; end", "'g' must have 3 numbers, got 2"),
        ("al = [0.10, 0.05", "al = [0.10; 0.05", "1x1, 1x3 do not fit below one another"),
        ("dz = zeros(1, n)", "dz = system('rm -rf /')", "nothing outside the folder is run"),
        ("aj = [1, 1, 1, 1];", "clear m", "there is no 'm'"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, before, after, message):
    assert before in GRIPPER
    (tmp_path / "inputs.m").write_text(GRIPPER.replace(before, after))
    with pytest.raises(kt.FileFormatError, match=message) as caught:
        kt.load(tmp_path / "inputs.m")
    assert "inputs.m" in str(caught.value)


def test_a_folder_without_inputs(tmp_path):
    (tmp_path / "torque.m").write_text("tau = 0;")
    assert "it has torque.m" in invoke("import", "redysim", tmp_path, code=1).output.replace("\n", " ")


@pytest.mark.parametrize(
    "text",
    ["x = " + "(" * 500 + "1" + ")" * 500, "x = zeros(1e9)", "x = 1:1e12", "x(1e9) = 1", "x = [", "=",
     "x = " + "-" * 5000 + "1", "a = zeros(1, 1e5); x = [" + "a " * 9000 + "]", "x = zeros(1, inf)",
     "x = zeros(1, 1.5)", "x(inf) = 1", "a = 1:3; x = a(nan)", "while 1, x = 1; end", "x = inputs();"],
)  # fmt: skip
def test_nothing_runs_away(tmp_path, text, monkeypatch):
    monkeypatch.setattr(evaluate, "MOST_STEPS", 20_000)
    (tmp_path / "inputs.m").write_text(f"{GRIPPER}\n{text}\n")
    with pytest.raises(kt.FileFormatError, match=r"inputs\.m"):
        kt.load(tmp_path)


@pytest.mark.parametrize("entry", ["inf", "0/0", "1/0", "1e999"])
@pytest.mark.parametrize("name", ["bt", "alp", "m", "g"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, name, entry):
    text = GRIPPER + f"{name}(1) = {entry};\n"
    (tmp_path / "inputs.m").write_text(text)
    with pytest.raises(kt.FileFormatError, match=f"'{name}' has an entry that is not a finite number"):
        kt.load(tmp_path / "inputs.m")


def test_angles_of_hinges_are_where_the_system_was_drawn(folder):
    """ReDySim puts its variables in the place of th (of hinges) and b (of slides): they are no offsets."""
    text = GRIPPER.replace("b = [0; 0; 0; 0];", "b = [0; 0; 0; 0.2]; th = [0.1, 0.2, 0.3, 0.4]; r = [1, 1, 1, 0];")
    plain = kt.load(folder / "inputs.m")
    (folder / "inputs.m").write_text(text)
    robot = kt.load(folder / "inputs.m")
    assert robot.configuration("as_drawn").tolist() == [0.1, 0.2, 0.3, 0.2]
    q = np.array([0.5, 0.6, 0.7, 0.0])
    assert np.allclose(robot.pose(q, "link_3"), plain.pose(q, "link_3"))
    # the angle of a slide is a constant of the table
    assert np.allclose(robot.pose(q, "link_4")[:3, :3], plain.pose([0.5, 0.6, 0.7, 0.4], "link_4")[:3, :3])
    assert plain.configuration_names == []


def test_numbers_of_the_graphical_interface_come_from_its_mat_file(folder):
    """ReDySim's interface writes inputs.mat, and an inputs.m that loads it."""
    names = re.findall(r"\w+", GRIPPER.split("[", 1)[1].split("]", 1)[0])
    plain = MatlabFolder(folder).workspace("inputs").variables
    scipy.io.savemat(folder / "inputs.mat", {n: np.asarray(plain[n].data) for n in names if n in plain} | {"n": 4.0})
    lines = [f"{n} = inputs_file.{n};" for n in [*names, "n"] if n in plain]
    robot = kt.load(folder)
    text = f"function [{' '.join(n for n in names if n in plain)}] = inputs()\ninputs_file = load('inputs.mat');\n"
    (folder / "inputs.m").write_text(text + "\n".join(lines) + "\nend\n")
    assert kt.load(folder) == robot


@pytest.mark.parametrize("motors", ["[1 0 1]", "[0 1 0 1]"])
def test_motors_of_a_floating_base_are_given_with_or_without_it(tmp_path, motors):
    text = GRIPPER.replace("n_j = [1 1 1 1]", "n_j = [6 1 1 1]; nq = 1").replace("aj = [1, 1, 1, 1]", f"aj = {motors}")
    (tmp_path / "inputs.m").write_text(text)
    robot = kt.load(tmp_path)
    assert [robot.joint(f"joint_{k}").actuated for k in (1, 2, 3, 4)] == [False, True, False, True]

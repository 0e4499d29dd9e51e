"""ReDySim's files: the gripper of Shah chapter 10, typed as a user would have it, and files with mistakes."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

import kinetree as kt
from helpers.cli import invoke
from kinetree.model.formats import matlab_assignments, redysim

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

TRAJECTORY = """
function [th_ind, dth_ind, ddth_ind] = trajectory(time, dof, Tp)
thi = [0, 0, 0, pi/2]; t2r = pi/180;
thf = [pi/3, 80*t2r, 80*t2r, pi/2 + pi/6];
for i = 1:n
    th_ind(i) = thi(i) + ((thf(i) - thi(i))/Tp)*(time - (Tp/(2*pi))*sin((2*pi/Tp)*time));
end
"""

INITIALS = """
function [y0, ti, tf, incr, rtol, atol, step, int_type] = initials()
th = [0, 0, 0, 0]
dth = [0, 0, 0, 0];
y0 = [th, dth, 0];
ti = 0; tf = 3; step = 0.01; rtol = 1e-3; atol = 1e-6; int_type = 0;
"""

OWN = {"link_1": "palm", "link_2": "finger", "link_3": "finger_tip", "link_4": "thumb"}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "Gripper"
    place.mkdir()
    for name, text in (("inputs.m", GRIPPER), ("trajectory.m", TRAJECTORY), ("initials.m", INITIALS)):
        (place / name).write_text(text)
    return place


def test_the_gripper_is_that_of_the_gallery(folder):
    robot, gripper = kt.load(folder / "inputs.m"), kt.gallery.load("gripper")
    assert robot.name == "Gripper"
    q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, 20, 4))
    order = [robot.body_names.index(own) for own in OWN]
    other = [gripper.body_names.index(name) for name in OWN.values()]
    expected = gripper.inverse_dynamics(q[:, np.argsort(other)], v[:, np.argsort(other)], a[:, np.argsort(other)])
    found = robot.inverse_dynamics(q[:, np.argsort(order)], v[:, np.argsort(order)], a[:, np.argsort(order)])
    np.testing.assert_allclose(found[:, order], expected[:, other], rtol=1e-12, atol=1e-14)


def test_numbers_of_the_run(folder):
    run = redysim.run_of(folder)
    np.testing.assert_array_equal(run.q, np.zeros(4))
    assert (run.time, run.step, run.rtol, run.atol, run.integrator) == (3.0, 0.01, 1e-3, 1e-6, "rk45")
    np.testing.assert_allclose(run.end, [np.pi / 3, np.radians(80), np.radians(80), 2 * np.pi / 3])
    assert run.duration == 1.0


def test_the_command_writes_a_robot_and_a_study_that_run(folder, tmp_path):
    file = tmp_path / "gripper.yaml"
    invoke("import", "redysim", folder, "-o", file)
    study = yaml.safe_load((tmp_path / "gripper-study.yaml").read_text())
    assert study["motion"]["kind"] == "cycloid"
    simulation = {"time": 3.0, "integrator": "rk45", "rtol": 1e-3, "atol": 1e-6, "samples": 301}
    assert study["simulation"] == simulation
    assert kt.load(file).nv == 4
    message = invoke("import", "redysim", folder, "-o", file, code=1).output
    assert "is there already" in message
    study["simulation"]["time"], study["simulation"]["samples"] = 0.1, 11
    (tmp_path / "gripper-study.yaml").write_text(yaml.safe_dump(study))
    invoke("run", tmp_path / "gripper-study.yaml", "-o", tmp_path / "out", "--no-pictures")


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
        ("m = [0.4, 0.2, 0.2, 0.2]", "m = [0.4, 0.2, 0.2]", r"m\(4\) is outside of a 1x3 matrix"),
        ("dx = [0.1/2, ", "dx = [0.1/2, 1, ", "'dx' needs 4 numbers, it has 5"),
        ("n_j = [1 1 1 1]", "n_j = [1 1 3 1]", "joint 3 has 3 variables"),
        ("g = [0 ; -9.81; 0];", "for i=1:3, g(i) = i; end", r"there is no 'g' \(line 1\d is no plain assignment"),
        ("al = [0.10, 0.05", "al = [0.10; 0.05", "rows of a matrix have different lengths"),
        ("dz = zeros(1, n)", "dz = system('rm -rf /')", "there is no 'dz'"),
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
    ("text", "value"),
    [
        ("x = [1 -2 3];", [[1, -2, 3]]),
        ("x = [1 - 2 3];", [[-1, 3]]),
        ("x = [1, 2\n 3, 4];", [[1, 2], [3, 4]]),
        ("y = [1 2; 3 4]; x = y';", [[1, 3], [2, 4]]),
        ("y = [1 2; 3 4]; x = [y' y];", [[1, 3, 1, 2], [2, 4, 3, 4]]),
        ("y = [1 2; 3 4]; x = y*y;", [[7, 10], [15, 22]]),
        ("y = [1 2; 3 4]; x = y.*y + 1;", [[2, 5], [10, 17]]),
        ("y = 1:4; x = y(2:3);", [[2, 3]]),
        ("x = -2^2;", [[-4]]),
        ("x = 2^-1;", [[0.5]]),
        ("x = 3 ... half of six\n + 1;", [[4]]),
        ("x(3) = 2;", [[0, 0, 2]]),
        ("x = zeros(2); x(2,1) = 5;", [[0, 0], [5, 0]]),
        ("x = 1e-3*sqrt(4) % a comment = 7", [[2e-3]]),
        ("x = (0/180)*pi;", [[0]]),
        ("x = 1; x = other(3);", None),
        ("x = 1; if a, x = 2; end", None),
        ("x = 1; [x y] = trajectory(0);", None),
        ("x = eval('1');", None),
    ],
)
def test_expressions(text, value):
    found = matlab_assignments.read(text, "file.m").values
    if value is None:
        assert "x" not in found
    else:
        np.testing.assert_allclose(found["x"], np.array(value, dtype=float))


@pytest.mark.parametrize(
    "text",
    ["x = " + "(" * 500 + "1" + ")" * 500, "x = zeros(1e9)", "x = 1:1e12", "x(1e9) = 1", "x = [", "=", "x = 1e999",
     "x = " + "-" * 5000 + "1",
     "a = zeros(1, 1e5); x = [" + "a " * 9000 + "]", "x = zeros(1, inf)", "x = zeros(1, 1.5)", "x(inf) = 1",
     "a = 1:3; x = a(nan)"],
)  # fmt: skip
def test_nothing_runs_away(text):
    try:
        found = matlab_assignments.read(text, "file.m")
    except kt.FileFormatError:
        return
    assert found.values.get("x", np.zeros(1)).size <= 1


@pytest.mark.parametrize("entry", ["inf", "0/0", "1/0", "1e999"])
@pytest.mark.parametrize("name", ["bt", "alp", "m", "g"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, name, entry):
    text = GRIPPER + f"{name}(1) = {entry};\n"
    (tmp_path / "inputs.m").write_text(text)
    with pytest.raises(kt.FileFormatError, match=f"'{name}' has an entry that is no finite number"):
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


def test_names_that_begin_like_words_of_matlab_are_whole_names():
    """Nothing keeps its older value behind a statement that cannot be read: ``force`` is no loop over ``ce``."""
    text = "force = 1; iffy = 2; whiles(1) = 3;\nforce = measured(2); iffy = f('x'); whiles(1) = g(x);"
    found = matlab_assignments.read(text, "inputs.m")
    assert not {"force", "iffy", "whiles"} & set(found.values)

"""Folders of ReDySim that run: our own ones, judged by the book, the gallery, closed forms and energy; real ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml

import kinetree as kt
from helpers import redysim_texts as texts
from helpers.cli import invoke
from helpers.redysim_folders import VARIABLE, folders
from kinetree.studies.user_study import read as read_study
from kinetree_programs.redysim.study import Redysim, analyses_of

pytestmark = pytest.mark.xdist_group("redysim")


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """As users run folders: laws of MATLAB go through machine code."""
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")


@pytest.fixture
def pendulum(tmp_path):
    return texts.written(tmp_path / "Pendulum", inputs=texts.PENDULUM, trajectory=texts.CYCLOID)


# ---------------------------------------------------------------- open chains


def test_inverse_dynamics_is_that_of_a_double_pendulum(pendulum):
    system = Redysim(pendulum)
    assert repr(system) == "<Redysim 'Pendulum': fixed base, inverse dynamics>"
    run = system.run()
    assert len(run.time) == 41
    q, v, a = run.state[:, :2].T, run.state[:, 2:4].T, run.state[:, 4:].T
    np.testing.assert_allclose(q[:, -1], [np.pi / 3, np.pi / 2])
    np.testing.assert_allclose(np.gradient(q, run.time, axis=1)[:, 5:-5], v[:, 5:-5], atol=5e-3)
    m1, m2, l1, l2, g = 1.0, 0.5, 1.0, 0.8, 9.81
    c, s = np.cos(q[1]), np.sin(q[1])
    own = m1 * l1**2 / 3 + m2 * l1**2
    tip, both = m2 * l2**2 / 3, m2 * l1 * l2 / 2
    weight = m2 * g * l2 / 2 * np.cos(q[0] + q[1])
    second = (tip + both * c) * a[0] + tip * a[1] + both * s * v[0] ** 2 + weight
    first = (own + tip + 2 * both * c) * a[0] + (tip + both * c) * a[1] - both * s * (2 * v[0] + v[1]) * v[1]
    first += (m1 / 2 + m2) * g * l1 * np.cos(q[0]) + weight
    np.testing.assert_allclose(run.torques.T, [first, second], rtol=1e-11)


def test_a_torque_with_a_condition_is_the_same_law_in_python(pendulum):
    texts.written(pendulum, initials=texts.INITIALS, torque=texts.PD)
    system = Redysim(pendulum)
    assert system.analysis == "forward"
    run = system.run()

    def law(t, q, v):
        turn = 2 * np.pi * t
        first, second = (
            49 * (begin + (end - begin) * (t - kt.sin(turn) / (2 * np.pi)) - x)
            + 14 * ((end - begin) * (1 - kt.cos(turn)) - y)
            for begin, end, x, y in ((0.2, np.pi / 3, q[0], v[0]), (-0.3, np.pi / 2, q[1], v[1]))
        )
        return [first, kt.where(t > 0.5, 0.0, second)]

    record = kt.simulate(
        system.robot, [0.4, 0.1], [0.0, 0.0], time=1.0, controller=law, samples=run.time, rtol=1e-8, atol=1e-10,
        progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(run.state[:, :4], np.hstack([record.q, record.v]), atol=2e-6)
    np.testing.assert_allclose(run.energy[:, 3], run.energy[0, 3], rtol=1e-6)
    np.testing.assert_allclose(run.state[:, 4], run.energy[:, 2])


def test_stored_outputs_are_put_beside_ours(pendulum):
    texts.written(pendulum, initials=texts.INITIALS, torque=texts.PD)
    system = Redysim(pendulum)
    run = system.run()
    for name, x in run.columns().items():
        np.savetxt(pendulum / f"{name}.dat", x, "%e")
    np.savetxt(pendulum / "timevar.dat", run.time, "%e")
    facts = [f for f in analyses_of(system)["forward"](True).facts if f.source == "ReDySim"]
    assert [f.text.split()[0] for f in facts] == ["statevar.dat", "tor.dat", "envar.dat"]
    assert all(f.holds for f in facts)
    assert max(float(f.measured) for f in facts) < 1e-4
    wrong = run.state.copy()
    wrong[-1, 0] += 0.1  # the end is another one: that is a fault, which no finer tolerance explains
    np.savetxt(pendulum / "statevar.dat", wrong, "%e")
    first = next(f for f in analyses_of(system)["forward"](True).facts if f.source == "ReDySim")
    assert not first.known
    np.savetxt(pendulum / "statevar.dat", run.state + 0.1, "%e")
    outcome = analyses_of(system)["forward"](True)
    assert not [f for f in outcome.facts if f.source == "ReDySim"]
    assert any("of another run" in words for words in outcome.remarks)


# ---------------------------------------------------------------- loops


def test_the_books_four_bar_gets_its_torques_and_multipliers(tmp_path):
    place = texts.written(
        tmp_path / "Fourbar", inputs=texts.FOUR_BAR, trajectory=texts.TURNING, inv_kine=texts.INV_KINE,
        jacobian=texts.JACOBIAN,
    )  # fmt: skip
    with pytest.warns(kt.ModelWarning, match=r"joint_2 is moved by \(-0\.0895, "):
        system = Redysim(place, analysis="inverse")
    assert system.robot.model.is_constrained
    run = system.run()
    np.testing.assert_allclose(run.torques[:4, 0], [2.009999, -0.018579, -1.679998, -0.069872], atol=1e-6)
    np.testing.assert_allclose(run.multipliers[:4, 0], [-15.71413, 0.48893, -1.36068, -1.83874], atol=1e-5)
    np.testing.assert_allclose(run.multipliers[0, 1], 45.53722, atol=1e-5)
    outcome = analyses_of(system)["inverse"](True)
    assert all(f.holds for f in outcome.facts)
    assert any("1 joint closes loops, found from the geometry" in words for words in outcome.remarks)


@pytest.mark.parametrize(
    ("place", "said"), [("0", "the table does not have it"), ("-0.08", r"table, a\(2\), disagree")]
)
def test_a_pivot_that_is_elsewhere_is_named_at_the_line_of_its_place(tmp_path, place, said):
    inputs = texts.FOUR_BAR
    line = next(k for k, text in enumerate(inputs.split("\n"), 1) if re.search(r"\ba ?= ?\[", text))
    row = re.search(r"\ba ?= ?\[([^\]]*)\]", inputs)
    entries = row[1].split(";")
    entries[1] = place
    inputs = inputs[: row.start(1)] + ";".join(entries) + inputs[row.end(1) :]
    folder = texts.written(
        tmp_path / "Fourbar", inputs=inputs, initials=texts.FOUR_BAR_INITIALS, jacobian=texts.JACOBIAN,
        torque=texts.NOTHING,
    )  # fmt: skip
    with pytest.warns(kt.ModelWarning, match=rf"inputs\.m, line {line}: joint_2 is moved by .*{said}"):
        kt.load(folder)


def test_a_four_bar_falls_as_that_of_the_gallery(tmp_path):
    place = texts.written(
        tmp_path / "Fourbar", inputs=texts.FOUR_BAR, initials=texts.FOUR_BAR_INITIALS, jacobian=texts.JACOBIAN,
        torque=texts.NOTHING,
    )  # fmt: skip
    with pytest.warns(kt.ModelWarning, match="is moved by"):
        system = Redysim(place)
    run = system.run()
    known = kt.gallery.load("four-bar")
    np.testing.assert_allclose(run.state[0, :3], known.close([0.0, 0.9845, 4.3142]), atol=3e-4)  # Table 10.8
    record = kt.simulate(known, run.state[0, :3], time=0.5, samples=run.time, rtol=1e-8, atol=1e-10, progress=False)
    np.testing.assert_allclose(run.state[:, :3], record.q, atol=1e-7)
    assert np.ptp(run.energy[:, 3]) < 1e-5


def test_rows_that_no_joint_gives_are_kept_as_rows(tmp_path):
    """Two bars that a row of jacobian.m gears together: one pendulum with the inertia and weight of both."""
    place = texts.written(
        tmp_path / "Geared", inputs=texts.GEARED, jacobian=texts.GEARED_JACOBIAN, initials=texts.INITIALS.replace(
            "[0.4; 0.1;", "[0.4; -0.8;"), torque=texts.NOTHING, trajectory=texts.SWINGING,
        inv_kine=texts.GEARED_INV_KINE,
    )  # fmt: skip
    with pytest.warns(kt.ModelWarning, match="no joint closes the loops"):
        system = Redysim(place, analysis="forward")
    run = system.run()
    np.testing.assert_allclose(run.state[:, 1], -2 * run.state[:, 0], atol=1e-7)
    inertia = 1.0 / 3 + 4 * 0.5 * 0.8**2 / 3

    def weight(q):
        return -9.81 * (0.5 * np.cos(q) - 2 * 0.5 * 0.4 * np.cos(-2 * q))

    one = kt.Builder("one", gravity=(0, 0, 0)).body("arm", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, inertia))
    record = kt.simulate(
        one.build(), [0.4], time=1.0, controller=lambda t, q, v: [-9.81 * (0.5 * kt.cos(q[0])
                                                                         - 0.4 * kt.cos(2 * q[0]))],
        samples=run.time, rtol=1e-8, atol=1e-10, progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(run.state[:, 0], record.q[:, 0], atol=1e-6)
    with pytest.warns(kt.ModelWarning, match="no joint closes the loops"):
        inverse = Redysim(place, analysis="inverse").run()
    q, a = inverse.state[:, 0], inverse.state[:, 4]
    np.testing.assert_allclose(inverse.torques[:, 0], inertia * a - weight(q), atol=1e-12)


# ---------------------------------------------------------------- floating bases


def space(tmp_path, **files):
    files = {"inputs": texts.SPACE, "trajectory": texts.SPACE_TRAJECTORY} | files
    return texts.written(tmp_path / "Space", **files)


def test_an_arm_in_space_moves_its_base_without_momentum(tmp_path):
    system = Redysim(space(tmp_path, initials=texts.SPACE_INITIALS.format(th="", dth="")))
    assert repr(system) == "<Redysim 'Space': floating base, inverse dynamics>"
    run = system.run()
    # at t = 0 the joint moves at once, so that base and arm have the momentum of the arm's speed alone
    np.testing.assert_allclose(run.momentum, np.broadcast_to(run.momentum[0], run.momentum.shape), atol=1e-6)
    np.testing.assert_allclose(run.state[:, 6], 0.3 + np.sin(run.time), atol=1e-9)
    np.testing.assert_allclose(run.energy[:, 3], run.energy[0, 3], atol=1e-6)


def test_torques_on_a_floating_base_follow_the_motion(tmp_path):
    start = texts.SPACE_INITIALS.format(th="[0.3; -0.6]; ", dth="[1; 0]; ")
    system = Redysim(space(tmp_path, initials=start, torque=texts.SPACE_TORQUE), analysis="forward")
    run = system.run()
    np.testing.assert_allclose(run.momentum, np.broadcast_to(run.momentum[0], run.momentum.shape), atol=1e-6)
    np.testing.assert_allclose(run.energy[:, 3], run.energy[0, 3], atol=1e-6)
    assert np.abs(run.state[:, :6]).max() > 0.01  # the base gives way
    t, th, dth = run.time, run.state[:, 6:8], run.state[:, 14:16]
    wanted = np.column_stack([0.3 + np.sin(t), -0.6 + 0.5 * t**2]), np.column_stack([np.cos(t), t])
    np.testing.assert_allclose(run.torques, 49 * (wanted[0] - th) + 14 * (wanted[1] - dth), atol=1e-9)


# ---------------------------------------------------------------- what cannot be read


def test_an_encrypted_trajectory_is_named_and_another_file_may_stand_in(pendulum, tmp_path):
    other = tmp_path / "mine.m"
    (pendulum / "trajectory.m").rename(other)
    (pendulum / "trajectory.p").write_bytes(b"v00000000v00")
    (pendulum / "runinv.p").write_bytes(b"v00000000v00")
    system = Redysim(pendulum)
    notes = " ".join(system.notes())
    assert "trajectory.p is encrypted: the motion of the joints" in notes
    assert "runinv.p is encrypted: the loop over time" in notes
    with pytest.raises(kt.FileFormatError, match=r"give a trajectory\.m that can be read, trajectory=\.\.\."):
        system.run()
    run = Redysim(pendulum, trajectory=other).run()
    np.testing.assert_allclose(run.state[-1, :2], [np.pi / 3, np.pi / 2])


def test_wrong_sizes_are_errors_with_the_file(pendulum):
    (pendulum / "trajectory.m").write_text(
        "function [q, v, a] = trajectory(t, n, tf)\nq = [1;2;3]; v = [0;0]; a = [0;0];\n"
    )
    with pytest.raises(kt.FileFormatError, match=r"trajectory\.m gives 3 numbers as position, but there are 2 joints"):
        Redysim(pendulum).run()
    texts.written(pendulum, initials=texts.INITIALS, torque="function tau = torque(t, tf, n, dof, q, dq)\ntau = 1;\n")
    with pytest.raises(kt.KinetreeError, match=r"torque\.m gives 1 forces, but there are 2 freedoms"):
        Redysim(pendulum, analysis="forward").run()
    with pytest.raises(kt.UnknownNameError, match="analysis of ReDySim"):
        Redysim(pendulum, analysis="backward")


# ---------------------------------------------------------------- the command line


def test_the_command_writes_a_robot_and_a_study_that_run(pendulum, tmp_path):
    texts.written(pendulum, initials=texts.INITIALS, torque=texts.PD)
    file = tmp_path / "pendulum.yaml"
    invoke("import", "redysim", pendulum, "-o", file)
    study = tmp_path / "pendulum-study.yaml"
    content = yaml.safe_load(study.read_text())
    assert content["redysim"] == {"folder": pendulum.as_posix(), "analysis": "forward"}
    assert "robot" not in content  # the folder has one
    heavier = kt.load(file).with_parameters({"bodies": {"link_1": {"mass": 9.0}}})
    heavier.save(tmp_path / "heavier.yaml")
    study.write_text(yaml.safe_dump(content | {"robot": "heavier.yaml"}))
    assert read_study(study).robot == heavier
    study.write_text(yaml.safe_dump(content))
    assert read_study(study).robot == kt.load(pendulum)
    assert kt.load(file).nv == 2
    assert "already exists" in invoke("import", "redysim", pendulum, "-o", file, code=1).output
    invoke("run", study, "-o", tmp_path / "out", "--no-pictures")
    header = (tmp_path / "out" / "pendulum-study" / "forward-statevar.csv").read_text().split("\n")[0]
    assert header == "time,q_joint_1,q_joint_2,v_joint_1,v_joint_2,work_of_actuators"
    study.write_text(yaml.safe_dump(content | {"motion": {"kind": "cycloid"}}))
    assert "belongs to the ReDySim folder" in invoke("run", study, code=1).output.replace("\n", " ")


def test_without_a_motion_there_is_a_robot_and_no_study(pendulum, tmp_path):
    (pendulum / "trajectory.m").rename(pendulum / "trajectory.p")
    said = invoke("import", "redysim", pendulum, "-o", tmp_path / "x.yaml").output.replace("\n", " ")
    assert "no study:" in said
    assert "--trajectory" in said
    assert (tmp_path / "x.yaml").exists()
    assert not (tmp_path / "x-study.yaml").exists()


# ---------------------------------------------------------------- real folders


@pytest.mark.skipif(not folders(), reason=f"{VARIABLE} names no folders of ReDySim")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kinetree.ModelWarning")
@pytest.mark.parametrize("path", folders(), ids=lambda p: "-".join(p.parts[-3:]))
def test_real_folders_run_and_agree_with_what_they_store(path):
    system = Redysim(path)
    if not system.has_motion:
        assert "trajectory" in system.folder.encrypted()
        if system.analysis == "forward" or path.name != "Hexapod":  # of which there are stored states
            with pytest.raises(kt.FileFormatError, match=r"trajectory\.p is encrypted"):
                system.check()
            return
    outcome = analyses_of(system)[system.analysis](False)
    assert outcome.facts
    assert all(f.known for f in outcome.facts), [str(f) for f in outcome.facts if not f.known]

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.cli.app import app

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("identify")
    robot = two_links()
    t, q, v, a = fourier(2, np.random.default_rng(0), 20.0)
    tau = robot.inverse_dynamics(q, v, a) + 0.05 * np.random.default_rng(1).standard_normal(q.shape)
    names = ["t", *(f"{key}_{name}" for key in ("q", "v", "tau") for name in robot.v_names)]
    np.savetxt(
        place / "motion.csv", np.column_stack([t, q, v, tau]), delimiter=",", header=",".join(names), comments=""
    )
    robot.with_parameters({"upper.M": 4.0, "lower.M": 2.0}).save(place / "robot.yaml")
    return place


def run(*words):
    return RUNNER.invoke(app, ["identify", *map(str, words)])


def test_from_a_table_to_a_robot_file_and_a_report(folder):
    answer = run(
        folder / "robot.yaml", folder / "motion.csv", "-o", folder / "found.urdf", "--report", folder / "out",
        "--held-out", "0.4", "--format", "markdown", "--friction-model", "none",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    assert "errors on held-out data" in answer.output
    found = kt.load(folder / "found.urdf")
    q, v, a = np.random.default_rng(3).standard_normal((3, 20, 2))
    expected = two_links().inverse_dynamics(q, v, a)
    assert np.abs(found.inverse_dynamics(q, v, a) - expected).max() < 0.02 * np.abs(expected).max()
    page = (folder / "out" / "report.md").read_text()
    for word in ("# Identification of two links", "## Errors", "held-out error %", "upper.MX + 0.5 lower.M", "Hz"):
        assert word in page
    assert (folder / "out" / "held_out.png").stat().st_size > 1000


def test_as_json(folder):
    answer = run(
        folder / "robot.yaml", folder / "motion.csv", "--json", "--friction-model", "none", "--fixed", "upper.*"
    )
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.output[answer.output.index("{") :])
    assert set(told["training_errors"]) == {"upper_joint", "lower_joint"}
    assert told["held_out_errors"] is None
    assert not any(name.startswith("upper.") for name in told["parameters"])


def test_trouble_is_one_line(folder):
    for words, said in (
        (["--estimator", "odd"], "no estimator named"),
        (["--held-out", "1.5"], "--held-out"),
        (["--fixed", "uper.*"], "upper"),
        (["--cutoff", "1e6"], "cutoff"),
    ):
        answer = run(folder / "robot.yaml", folder / "motion.csv", *words)
        assert answer.exit_code == 1
        assert said in answer.output


def test_joints_that_were_not_measured_are_locked(folder, tmp_path):
    longer = kt.Builder("with fingers")
    longer.body("upper", "base", kt.Revolute("y"), mass=3.0, com=(0.2, 0, 0.03), inertia=(0.02, 0.06, 0.05))
    longer.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), mass=1.2, com=(0.2, 0, 0),
                inertia=(0.01, 0.03, 0.03))  # fmt: skip
    for name in ("left", "right"):
        longer.body(name, "lower", kt.Prismatic("x"), mass=0.1, com=(0.3, 0, 0), inertia=(1e-4,) * 3)
    longer.build().save(tmp_path / "robot.yaml")
    given = (tmp_path / "robot.yaml", folder / "motion.csv", "--friction-model", "none", "--json")
    answer = run(*given)
    assert answer.exit_code == 1
    assert "--locked left_joint=0" in answer.output
    answer = run(*given, "--locked", "left_joint=0.02", "--locked", "right_joint", "-o", tmp_path / "found.yaml")
    assert answer.exit_code == 0, answer.output
    found = kt.load(tmp_path / "found.yaml")
    q, v, a = np.random.default_rng(3).standard_normal((3, 20, 2))
    expected = two_links().inverse_dynamics(q, v, a)
    assert np.abs(found.inverse_dynamics(q, v, a) - expected).max() < 0.02 * np.abs(expected).max()
    assert found.pose(np.zeros(2), "left")[0, 3] == pytest.approx(0.52)
    for words, said in ((["left_joint=1,left_joint=2"], "more than once"), (["lft_joint=0"], "left_joint")):
        answer = run(*given, "--locked", *words)
        assert answer.exit_code == 1
        assert said in answer.output


def test_what_was_found_is_told_before_anything_is_written(folder, tmp_path, monkeypatch):
    def torn(*_, **__):
        raise kt.OutputError("torn paper")

    given = (folder / "robot.yaml", folder / "motion.csv", "--friction-model", "none", "--springs", "none")
    for place, said in (
        (tmp_path / "found.xyz", "robots are written as"),
        (tmp_path / "no" / "found.urdf", "no directory"),
    ):
        early = run(*given, "-o", place)
        assert early.exit_code == 1
        assert said in early.output
        assert "upper.MX" not in early.output  # known before the fit
    monkeypatch.setattr("kinetree.Robot.save", torn)
    answer = run(*given, "-o", tmp_path / "found.urdf", "--report", tmp_path / "out", "--format", "markdown")
    assert answer.exit_code == 1
    assert "torn paper" in answer.output
    assert "upper.MX + 0.5 lower.M" in answer.output
    assert (tmp_path / "out" / "report.md").is_file()


def test_a_file_with_a_prefix_that_is_not_declared_is_written(folder, tmp_path):
    robot = kt.load(folder / "robot.yaml")
    robot.save(tmp_path / "robot.urdf")
    text = (tmp_path / "robot.urdf").read_text()
    (tmp_path / "robot.urdf").write_text(text.replace("<axis", '<dynamics kinetree:rotor_inertia="0"/><axis', 1))
    plain = ("--friction-model", "none", "--springs", "none")
    answer = run(tmp_path / "robot.urdf", folder / "motion.csv", "-o", tmp_path / "found.urdf", *plain)
    assert answer.exit_code == 0, answer.output
    assert "upper.MX + 0.5 lower.M" in answer.output
    assert kt.load(tmp_path / "found.urdf").parameters()["lower.M"] != robot.parameters()["lower.M"]

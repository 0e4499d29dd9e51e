"""Designs in study files and on the command line: the same goals, by the same names."""

import inspect
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli.app import app
from kinetree.studies.user_study import read_design_file
from kinetree.studies.user_study.design_section import GOALS
from kinetree_design.goals import DesignGoal

FOUR_BAR = """
kinetree: 1
name: four-bar
linkage:
  units: mm
  points: {O: [0, 0], C: [100, 0], A: [0, 30], B: [90, 80], P: [40, 120]}
  bars: {crank: {points: O A, mass: 1}, coupler: {points: A B P, mass: 1}, rocker: {points: B C, mass: 1}}
  ground: O C
  motor: O
"""

STUDY = """
kinetree-study: 1
robot: four-bar.yaml
design:
  free: {A: 8, B: [0 cm, 12 cm]}
  wanted:
    - torque: {kind: rms}
    - shaking_force: {weight: 0.2}
  subject_to:
    transmission_angle: {at: B, at_least: 42 deg}
  speed: 120 rpm
  samples: 24
  starts: 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")  # as users have it: searches are long without machine code
    (tmp_path / "four-bar.yaml").write_text(FOUR_BAR, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_file_asks_for_what_python_does(folder):
    task = read_design_file(folder / "study.yaml")
    torque, shaking = task.asked["wanted"]
    assert (type(torque), torque.kind, shaking.weight) == (kt.design.Torque, "rms", 0.2)
    (limit,) = task.asked["subject_to"]
    assert (limit.goal.at, limit.low, limit.high) == ("B", "42 deg", None)
    found = task.run(progress=False)
    robot = kt.load(folder / "four-bar.yaml")
    wanted = [kt.design.Torque(kind="rms"), 0.2 * kt.design.ShakingForce()]
    limits = [kt.design.TransmissionAngle("B") >= "42 deg"]
    free = {"A": 8, "B": ("0 cm", "12 cm")}
    same = kt.design(robot, free, wanted, limits, speed="120 rpm", samples=24, starts=1)
    np.testing.assert_array_equal(found.unknowns, same.unknowns)


def test_the_command_line_writes_mechanism_report_table_and_picture(folder):
    place = folder / "found"
    done = CliRunner().invoke(app, ["design", str(folder / "study.yaml"), "-o", str(place), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    names = {"mechanism.yaml", "report.txt", "numbers.csv", "before-and-after.svg"}
    assert {one.name for one in place.iterdir()} == names
    rows = [line.split(",") for line in (place / "numbers.csv").read_text(encoding="utf-8").splitlines()]
    assert {row[0] for row in rows[1:]} == set(told["numbers"]) == {"A.x", "A.y", "B.x", "B.y"}
    robot = kt.load(place / "mechanism.yaml")
    np.testing.assert_allclose(robot.point_position(robot.neutral(), "A")[0], told["numbers"]["A.x"], rtol=1e-12)
    assert "rms torque" in (place / "report.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_line_writes_the_front_of_two_goals(folder):
    study = STUDY.replace("samples: 24", "samples: 12\n  pareto: 3").replace(
        "free: {A: 8, B: [0 cm, 12 cm]}", "free: {A: 8}"
    )
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    place = folder / "found"
    done = CliRunner().invoke(app, ["design", str(folder / "study.yaml"), "-o", str(place)])
    assert done.exit_code == 0, done.output
    assert {"front.csv", "front.svg"} < {one.name for one in place.iterdir()}
    heads, *rows = [line.split(",") for line in (place / "front.csv").read_text(encoding="utf-8").splitlines()]
    assert heads == ["rms torque [N m]", "rms shaking force [N]", "A.x [m]", "A.y [m]"]
    torque, shaking = np.array(rows, dtype=float).T[:2]
    assert len(rows) == 3
    assert (np.diff(torque) > 0).all()
    assert (np.diff(shaking) < 0).all()


def test_the_command_line_keeps_the_best_of_several_searches(folder):
    command = ["design", str(folder / "study.yaml"), "-o", str(folder / "found"), "--starts", "2", "--json"]
    several, alone = (
        json.loads(CliRunner().invoke(app, [*command, *more]).stdout)
        for more in (["--searches", "2", "--workers", "0"], ["--seed", "1"])
    )
    (said,) = [note for note in several["notes"] if "of 2 searches" in note]
    if said.endswith("the seed 1"):
        assert several["numbers"] == alone["numbers"]
    done = CliRunner().invoke(app, [*command, "--searches", "0"])
    assert done.exit_code == 2


def test_a_study_with_a_design_runs(folder):
    from kinetree.studies.user_study import read

    outcome = read(folder / "study.yaml").analyses["design"](True)
    assert outcome.tables["numbers"]["number"] == ["A.x", "A.y", "B.x", "B.y"]
    assert list(outcome.figures) == ["before-and-after"]


def test_every_goal_of_python_has_a_name_in_files():
    public = {name for name in kt.design.__all__ if name[0].isupper()}
    goals = {
        name for name in public - {"Own"}  # a function of Python
        if inspect.isclass(getattr(kt.design, name)) and issubclass(getattr(kt.design, name), DesignGoal)
    }  # fmt: skip
    assert {getattr(kt.design, name) for name in goals} <= {getattr(kt.design, name) for name in GOALS.values()}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("torque: {kind: rms}", "torqe: {kind: rms}", "goal of a design"), ("kind: rms", "sort: rms", "sort"),
     ("free: {A: 8", "free: {Z: 8", "Z"), ("free:", "fre:", "free"), ("at: B,", "at: Q,", "pin"),
     ("[0 cm, 12 cm]", "[0 kg, 12 kg]", "kg"), ("samples: 24", "samples: nan", "samples"),
     ("samples: 24", "samples: .inf", "must be a number"), ("{kind: rms}", "{kind: rms, at_most: 3}", "at_most")],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_said(folder, old, new, said):
    (folder / "study.yaml").write_text(STUDY.replace(old, new), encoding="utf-8")
    done = CliRunner().invoke(app, ["design", str(folder / "study.yaml"), "-o", str(folder / "found")])
    assert done.exit_code == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr

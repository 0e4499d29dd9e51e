"""Designs in study files and on the command line: the same goals, by the same names."""

import inspect
import json
from types import SimpleNamespace

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
    told = json.loads(done.stdout)
    assert done.exit_code == (0 if told["solved"] else 3), done.output
    names = {"mechanism.yaml", "report.txt", "numbers.csv", "before-and-after.svg"}
    assert {one.name for one in place.iterdir()} == names
    assert ' m"' not in (place / "mechanism.yaml").read_text(encoding="utf-8")  # all lengths are in mm
    assert "crank-rocker: ground 100 mm" in (place / "report.txt").read_text(encoding="utf-8")
    rows = [line.split(",") for line in (place / "numbers.csv").read_text(encoding="utf-8").splitlines()]
    assert {row[0] for row in rows[1:]} == set(told["numbers"]) == {"A.x", "A.y", "B.x", "B.y"}
    robot = kt.load(place / "mechanism.yaml")
    np.testing.assert_allclose(robot.point_position(robot.neutral(), "A")[0], told["numbers"]["A.x"], rtol=1e-12)
    assert "rms torque" in (place / "report.txt").read_text(encoding="utf-8")


ROCKER = """
kinetree-study: 1
robot: four-bar.yaml
design:
  free: {A: 12, B: 40}
  wanted:
    transmission_angle: {at: B}
  subject_to:
    swing: {line: C B, from: 95 deg, to: 140 deg, at_most: 0.2 deg}
  samples: 24
  starts: 4
"""


def test_a_rocker_swings_between_two_angles(folder):
    (folder / "study.yaml").write_text(ROCKER, encoding="utf-8")
    (limit,) = read_design_file(folder / "study.yaml").asked["subject_to"]
    assert (type(limit.goal), limit.goal.start, limit.goal.end) == (kt.design.SwingBetween, "95 deg", "140 deg")
    place = folder / "found"
    done = CliRunner().invoke(app, ["design", str(folder / "study.yaml"), "-o", str(place)])
    assert done.exit_code == 0, done.output
    assert "limit positions of C B" in done.stdout
    robot = kt.load(place / "mechanism.yaml")
    q = robot.follow({"O": np.linspace(0, 2 * np.pi, 721)})
    arm = robot.point_position(q, "B") - robot.point_position(q, "C")
    angle = np.degrees(np.arctan2(arm[:, 1], arm[:, 0]))
    np.testing.assert_allclose([angle.min(), angle.max()], [95, 140], atol=0.25)
    low, high = kt.design.report(robot, points=[]).directions["C B"]
    np.testing.assert_allclose(np.degrees([low, high]), [angle.min(), angle.max()], atol=1e-2)
    impossible = ROCKER.replace("free: {A: 12, B: 40}", "free: {A: 5, B: 5}").replace("starts: 4", "starts: 1")
    (folder / "study.yaml").write_text(impossible, encoding="utf-8")
    done = CliRunner().invoke(app, ["design", str(folder / "study.yaml"), "-o", str(place)])
    assert done.exit_code == 3, done.output
    assert "MISSED" in done.stdout
    with pytest.raises(kt.OptionError, match="is no range: the second end is larger"):
        kt.design(robot, {"A": 5}, kt.design.SwingBetween("C B", "140 deg", "95 deg"), starts=1, progress=False)


SWING = """
kinetree-study: 1
robot: rocker.yaml
design:
  free: {A.x: [15, 120], B: 90}
  wanted: [transmission_angle: {at: B}]
  subject_to: [swing_between: {line: C B, start: 70 deg, end: 112 deg, at_most: 0.1 deg}]
  samples: 36
  starts: 2
"""


def swung(robot):
    q = robot.follow({"O": np.linspace(0, 2 * np.pi, 3601)})
    arm = robot.point_position(q, "B") - robot.point_position(q, "C")
    angle = np.degrees(np.arctan2(arm[:, 1], arm[:, 0]))
    return angle.min(), angle.max()


@pytest.mark.slow
def test_limits_are_met_and_reached_between_the_samples_too(folder):
    points = "{O: [0, 0], C: [190, 10], A: [45, 0], B: [170, 120]}"
    lines = FOUR_BAR.replace("{O: [0, 0], C: [100, 0], A: [0, 30], B: [90, 80], P: [40, 120]}", points)
    lines = lines.replace("A B P", "A B")
    (folder / "rocker.yaml").write_text(lines, encoding="utf-8")
    (folder / "study.yaml").write_text(SWING, encoding="utf-8")
    found = read_design_file(folder / "study.yaml").run(progress=False)
    assert found.solved, str(found)
    low, high = swung(found.robot)
    assert max(abs(low - 70.0), abs(high - 112.0)) == pytest.approx(0.1, abs=2e-4)  # its limit is active, and held
    (folder / "study.yaml").write_text(SWING.replace(", at_most: 0.1 deg", "").replace(
        "wanted: [transmission_angle: {at: B}]\n  subject_to", "wanted"), encoding="utf-8")  # fmt: skip
    alone = read_design_file(folder / "study.yaml").run(progress=False)
    np.testing.assert_allclose(swung(alone.robot), [70.0, 112.0], atol=2e-4)


def test_slopes_of_a_swing_between_are_those_of_differences():
    goal = kt.design.SwingBetween("C B", "60 deg", "125 deg")
    rng = np.random.default_rng(3)
    of = SimpleNamespace(motion=SimpleNamespace(wraps=None))
    for _ in range(5):
        angle = np.radians(rng.uniform(40, 150, 7))
        x = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        value, slopes = goal._value(x, of, 30.0)
        sharp, _ = goal._value(x, of, None)
        assert sharp == pytest.approx(np.abs([angle.max() - np.radians(125), angle.min() - np.radians(60)]).max())
        for i, j in np.ndindex(*x.shape):
            step = np.zeros_like(x)
            step[i, j] = 1e-6
            by_difference = (goal._value(x + step, of, 30.0)[0] - goal._value(x - step, of, 30.0)[0]) / 2e-6
            assert slopes[i, j] == pytest.approx(by_difference, abs=1e-6)
        assert value >= sharp - 1e-9


@pytest.mark.slow
def test_the_command_line_writes_the_front_of_two_goals(folder):
    study = STUDY.replace("samples: 24", "samples: 12\n  pareto: 3").replace(
        "free: {A: 8, B: [0 cm, 12 cm]}", "free: {A: 8}"
    )
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    place = folder / "found"
    done = CliRunner().invoke(app, ["design", str(folder / "study.yaml"), "-o", str(place)])
    assert done.exit_code == (3 if "not all is met" in done.stdout else 0), done.output
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

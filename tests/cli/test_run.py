"""``kinetree list``, ``run`` and ``new``: the gallery, studies, studies of one's own, exit codes."""

import csv
import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import kinetree as kt
from helpers.cli import invoke
from kinetree.cli import listing
from kinetree.cli import run as running
from kinetree.cli.app import app
from kinetree.cli.completion import complete_algorithm, complete_robot, complete_study
from kinetree.gallery import Fact, Outcome, Study
from kinetree.studies.report import _legend
from kinetree.studies.sources import COMPUTED
from kinetree.studies.user_study import read, starter
from kinetree_gallery.systems.walking_machine import walker

ROOT = Path(__file__).resolve().parents[2]
HOLDS = Fact("holds", 1.0, 1.0)
FAILS = Fact("fails", 1.0, 2.0)
KNOWN = Fact("misprint", 1.0, 2.0, reason="the source is wrong")


def made(name, *facts, problem=None):
    def analysis(quick):
        if problem:
            raise problem
        return Outcome(facts, {"numbers": {"x [m]": np.arange(3.0)}})

    return Study(name, f"study {name}", "nowhere", {"first": analysis, "second": analysis})


@pytest.fixture
def studies(monkeypatch):
    """A gallery of four."""
    found = {
        "good": made("good", HOLDS, KNOWN),
        "bad": made("bad", HOLDS, FAILS),
        "broken": made("broken", problem=kt.StateError("no such state")),
        "other": Study("other", "other", "nowhere", {"third": lambda quick: Outcome([HOLDS])}),
    }
    monkeypatch.setattr(kt.gallery, "studies", lambda: list(found))
    monkeypatch.setattr(kt.gallery, "study", found.__getitem__)
    return found


# ---------------------------------------------------------------- list


def test_everything_is_listed_once():
    text = invoke("list").stdout
    for name in {*kt.gallery.names(), *kt.gallery.studies()}:
        assert sum(line.split()[:1] == [name] for line in text.splitlines()) == 1, name
    data = json.loads(invoke("list", "--json").stdout)
    by_name = {entry["name"]: entry for entry in data}
    assert len(by_name) == len(data)
    assert by_name["four-bar"]["analyses"] == list(kt.gallery.study("four-bar").analyses)
    assert by_name["four-bar"]["system"]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_one_line_each_on_narrow_terminals(width, monkeypatch):
    monkeypatch.setattr(listing, "make_console", lambda: Console(width=width))
    lines = invoke("list").stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert {line.split()[0] for line in lines} >= {*kt.gallery.names(), *kt.gallery.studies()}


def test_the_list_is_by_source():
    lines = invoke("list").stdout.splitlines()
    heading, found = "", {}
    for line in lines:
        if line.split()[0] in (*kt.gallery.names(), *kt.gallery.studies()):
            found[line.split()[0]] = heading
        else:
            heading = line
    assert found["kuka-kr5"].startswith("Shah")
    assert found["puma"].startswith("Saha")
    assert found["biped-unified"].startswith("Biped")
    assert found["sr400"].startswith("Khalil")
    assert found["hoeken"].startswith("ReDySim")
    assert found["delta"].startswith("Others")


# ---------------------------------------------------------------- run


def test_facts_and_files_of_a_real_study(tmp_path):
    result = invoke("run", "four-bar", "--quick", "--analysis", "inverse", "-o", tmp_path / "r", "--no-pictures")
    assert "✓ driving torque at t = 0, 1/3, 2/3, 1 s: (2.009999" in result.stdout
    assert "facts hold" in result.stdout
    assert "stated" in result.stdout  # only of the misprint
    assert result.stdout.count("stated") == 1
    again = "run", "four-bar", "--quick", "-a", "inverse", "-o", tmp_path / "r", "--no-pictures", "--verbose"
    assert "computed from the book's formulas" in invoke(*again).stdout
    folder = tmp_path / "r" / "four-bar"
    told = json.loads((folder / "summary.json").read_text())
    assert list(told["analyses"]) == ["inverse"]
    assert told["faults"] == 0
    assert {"model.yaml", "summary.md", "inverse-motion.csv"} <= {f.name for f in folder.iterdir()}
    assert kt.load(folder / "model.yaml") == kt.gallery.load("four-bar")
    invoke("id", "four-bar", folder / "inverse-motion.csv", "-o", tmp_path / "tau.csv")
    torques = [float(row["tau_crank_joint"]) for row in csv.DictReader((tmp_path / "tau.csv").open())]
    stated = list(csv.reader((folder / "inverse-torques.csv").open()))[1:]
    assert np.allclose(torques, [float(row[1]) for row in stated], rtol=1e-9, atol=1e-9)


def test_exit_code_0_when_all_facts_hold_or_are_known_not_to(tmp_path, studies):
    result = invoke("run", "good", "-o", tmp_path)
    assert "does not" in result.stdout
    assert "the source is wrong" in result.stdout


def test_exit_code_3_when_a_fact_fails(tmp_path, studies):
    assert "FAILS" in invoke("run", "bad", "-o", tmp_path, code=3).stdout
    assert (tmp_path / "bad" / "summary.json").exists()


def test_exit_code_1_for_errors_and_the_others_still_run(tmp_path, studies):
    result = invoke("run", "broken", "bad", "good", "-o", tmp_path, code=1)
    assert "broken: no such state" in result.stderr
    assert (tmp_path / "good").exists()
    assert not (tmp_path / "broken").exists()
    assert "2 of 4" in result.stdout  # the overview


@pytest.mark.parametrize("problem", [ZeroDivisionError("pivot"), KeyError("pivot"), MemoryError(), RecursionError()])
def test_an_unforeseen_error_in_a_study_is_no_traceback_and_the_others_still_run(tmp_path, studies, problem):
    studies["broken"] = made("broken", problem=problem)
    result = invoke("run", "all", "-o", tmp_path, code=1)
    line = f"error: broken: {type(problem).__name__}"
    assert [said for said in result.stderr.splitlines() if said.startswith(line)]
    assert "in analysis, test_run.py, line " in result.stderr
    assert "Traceback" not in result.output
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["bad", "good", "other"]
    assert "broken" in result.stdout  # in the overview


def test_an_unforeseen_error_in_writing_is_reported_too(tmp_path, studies, monkeypatch):
    def torn(self, folder, pictures):
        raise ValueError("torn paper")

    monkeypatch.setattr("kinetree.gallery.Result.write", torn)
    data = json.loads(invoke("run", "good", "other", "-o", tmp_path, "--json", code=1).stdout)
    assert list(data["errors"]) == ["good", "other"]
    assert [(one["folder"], bool(one["analyses"])) for one in data["studies"]] == [
        (None, True)
    ] * 2  # computed, so told
    assert data["errors"]["good"].startswith("ValueError: torn paper (in torn, test_run.py, line ")
    said = invoke("run", "good", "-o", tmp_path, code=1)
    assert "not written" in said.stdout
    assert "torn paper" in said.stderr


def test_advice_about_a_study_of_ones_own_is_in_the_form_of_its_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "kinetree-study: 1\nrobot: kuka-kr5\nstart: {q: {joint_2: 0.2}}\n"
        "simulation: {time: 20, integrator: euler, step: 0.5}\n"
    )
    said = invoke("run", path, "-o", tmp_path / "r", code=1).stderr
    assert "an integrator for stiff problems, integrator: radau" in said
    assert "=" not in said.replace("at t = ", "")


def test_an_interrupt_ends_all_studies(tmp_path, studies):
    studies["broken"] = made("broken", problem=KeyboardInterrupt())
    result = invoke("run", "broken", "other", "-o", tmp_path, code=130)
    assert not (tmp_path / "other").exists()
    assert "broken" not in result.stdout


def test_exit_code_2_for_usage():
    invoke("run", code=2)
    invoke("run", "four-bar", "--no-such-option", code=2)


def test_all_runs_all(tmp_path, studies):
    data = json.loads(invoke("run", "all", "-o", tmp_path, "--json", code=1).stdout)
    assert [s["name"] for s in data["studies"]] == ["good", "bad", "other"]
    assert data["errors"] == {"broken": "no such state"}
    assert data["exit_code"] == 1
    assert data["studies"][1]["analyses"]["first"]["facts"][1]["holds"] is False


def test_analyses_are_chosen(tmp_path, studies):
    data = json.loads(invoke("run", "good", "other", "-a", "second", "-o", tmp_path, "--json").stdout)
    assert [(s["name"], list(s["analyses"])) for s in data["studies"]] == [("good", ["second"])]
    assert "did you mean 'second'" in invoke("run", "good", "-a", "secnd", "-o", tmp_path, code=1).stderr


def test_a_study_named_twice_runs_once(tmp_path, studies):
    data = json.loads(invoke("run", "good", "good", "-o", tmp_path, "--json").stdout)
    assert len(data["studies"]) == 1


def test_unknown_studies(tmp_path):
    assert "did you mean 'four-bar'" in invoke("run", "four-bra", "-o", tmp_path, code=1).stderr
    assert not list(tmp_path.iterdir())


def test_foreign_files_are_kept(tmp_path, studies):
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "thesis.tex").write_text("years of work")
    assert "would be lost" in invoke("run", "good", "-o", tmp_path, code=1).stderr
    assert (tmp_path / "good" / "thesis.tex").exists()


def test_the_bar_counts_analyses(studies):
    with running.AnalysisBar(6) as bar:
        for study in ("good", "bad"):
            studies[study].run(tell=lambda name, study=study: bar.begin(study, name))
        assert bar.done == 3  # the last one is still running
        bar.show(bar.begun, "done")
        assert bar.done == 4


# ---------------------------------------------------------------- completion, help


def test_names_complete(tmp_path, monkeypatch):
    assert complete_robot("four-bar-") == ["four-bar-table-8-1"]
    assert "all" in complete_study("al")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "arm.urdf").write_text("")
    (tmp_path / "robots" / "notes.txt").write_text("")
    assert complete_robot("rob") == ["robotic-leg", "robots/"]
    assert complete_robot("robots/") == ["robots/arm.urdf"]
    assert complete_robot("nowhere/x") == []


KEYED = """<mujoco><worldbody><body name="b"><joint name="hook" axis="0 1 0"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody>
<keyframe><key name="home" qpos="0.3"/></keyframe></mujoco>"""


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("codegen kuka-kr5 -a inverse_dyn", ["inverse_dynamics", "inverse_dynamics_derivatives"]),
        ("fmu kuka-kr5 --kind co", ["co-simulation"]),
        ("simulate kuka-kr5 --locked joint_1=0,joint_", [f"joint_1=0,joint_{k}=" for k in range(1, 7)]),
        ("inverse four-bar --speed cr", ["crank_joint="]),
        ("inverse nowhere.urdf --speed cr", []),
        ("simulate kuka-kr5 --q0 joint_1=0.2,joint_5", ["joint_1=0.2,joint_5="]),
        ("simulate kuka-kr5 --floating-base --q0 floating_base.z", ["floating_base.z="]),
        ("simulate keyed.xml --target ho", ["home", "hook="]),
        ("simulate keyed.xml --q0 hook=1,ho", ["hook=1,hook="]),
        ("simulate kuka-kr5 --floating-base --v0 floating_base.w", [f"floating_base.w{axis}=" for axis in "xyz"]),
        ("simulate four-bar --kp cr", ["crank_joint="]),
        ("simulate nowhere.urdf --q0 a", []),
        ("simulate kuka-kr5 --controller comp", ["computed-torque"]),
    ],
)
def test_algorithms_and_joints_complete(words, answer, tmp_path):
    (tmp_path / "keyed.xml").write_text(KEYED)
    asked = f"kinetree {words}"
    environment = {"_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": asked, "COMP_CWORD": str(asked.count(" "))}
    script = "import sys; sys.argv = ['kinetree']; from kinetree.cli.app import app; app(prog_name='kinetree')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=os.environ | environment
    )
    assert done.stdout.split() == answer
    assert "inverse_dynamics" in complete_algorithm("inv")


def test_the_list_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setattr(listing, "make_console", lambda: Console(width=80, highlight=False))
    lines = invoke("list").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("four-bar ") and line.endswith("four-bar mechanism, crank and rocker") for line in lines)
    assert "replay" in invoke("list", "--verbose").stdout


def test_help_has_no_type_for_flags_and_one_pair_of_brackets():
    for command in ("view", "run", "codegen", "inverse"):
        text = invoke(command, "--help").stdout
        assert "<bool>" not in text
        assert "(8080)" not in text
    assert "[default: 8080]" in " ".join(invoke("view", "--help").stdout.replace("│", " ").split())


def test_loops_of_a_urdf_file(tmp_path):
    robot = kt.load("four-bar").with_gravity((0, 0, -9.81))  # URDF knows no other
    robot.tree.save(tmp_path / "bars.urdf")
    (loop,) = robot.model.loops
    names = [robot.base_name, *robot.body_names]
    poses = [f"{{position: [{', '.join(map(str, p.translation))}]}}" for p in (loop.placement, loop.seat)]
    side = tmp_path / "bars.loops.yaml"
    side.write_text(
        "kinetree: 1\npassive: [rocker_joint, coupler_joint]\nloops:\n  - {name: pin, kind: revolute, axis: z, "
        f"predecessor: {names[loop.predecessor + 1]}, successor: {names[loop.successor + 1]}, "
        f"placement: {poses[0]}, seat: {poses[1]}}}\n"
    )
    hint = invoke("info", tmp_path / "bars.urdf")
    assert "bars.loops.yaml is next to bars.urdf and has joints that close loops" in hint.stderr
    told = invoke("info", tmp_path / "bars.urdf", "--loops", side)
    assert "1 degree of freedom" in told.stdout
    assert not told.stderr
    for command in (
        ("simulate", "--time", "0.01"), ("codegen", "-o", tmp_path / "c"), ("inverse", "--speed", "crank_joint=1"),
    ):  # fmt: skip
        invoke(command[0], tmp_path / "bars.urdf", *command[1:], "--loops", side)
    side.rename(tmp_path / "a.loops.yaml")
    kt.load("kuka-kr5").save(tmp_path / "arm.urdf")
    frames = tmp_path / "b.loops.yaml"
    frames.write_text("closed_loop: [[rocker, coupler]]\ntype: [6d]\n")
    assert "loops" not in invoke("info", tmp_path / "arm.urdf").stderr  # neither file is about this robot
    frames.write_text("closed_loop: [[link_2, link_6]]\ntype: [6d]\n")
    assert f"--loops {frames}" in " ".join(invoke("info", tmp_path / "arm.urdf").stderr.split())
    (tmp_path / "a.loops.yaml").unlink()
    robot.save(tmp_path / "bars.loops.yaml")  # a whole robot, not a file of loops
    assert not invoke("info", tmp_path / "bars.urdf").stderr


def test_the_shell_asks_for_completion():
    environment = os.environ | {
        "_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": "kinetree run stew", "COMP_CWORD": "2",
    }  # fmt: skip
    script = "import sys; sys.argv[0] = 'kinetree'; from kinetree.cli.app import app; app(prog_name='kinetree')"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["stewart-platform"]


@pytest.mark.parametrize(
    "command", ["list", "run", "new", "info", "view", "inverse", "forward", "simulate", "bench", "cost", "codegen"]
)
def test_help_has_an_example(command):
    text = invoke(command, "--help").stdout
    assert "For example" in text
    assert text.count(f"kinetree {command}") >= 2  # the usage, and the example


def test_the_help_names_the_exit_codes():
    text = " ".join(invoke("--help").stdout.split())
    assert "3 a study in which a fact that should hold does not" in text


def test_from_a_shell(tmp_path):
    command = [sys.executable, "-m", "kinetree", "run", "nothing-like-it", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no study")
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- studies of one's own


def study_file(tmp_path, text, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_starter_runs_as_it_is(tmp_path):
    invoke("new", tmp_path / "arm.yaml")
    data = json.loads(
        invoke("run", tmp_path / "arm.yaml", "--quick", "-o", tmp_path / "r", "--no-pictures", "--json").stdout
    )
    (told,) = data["studies"]
    assert told["name"] == "arm"
    assert list(told["analyses"]) == ["inverse", "simulation"]
    assert told["facts_that_hold"] == 5
    record = kt.Record.load(tmp_path / "r" / "arm" / "simulation-record.csv")
    assert np.allclose(record.q[-1][:3], [1.0, -0.4, 0.6], atol=1e-6)


def test_the_starter_is_not_written_over_anything(tmp_path):
    path = study_file(tmp_path, "precious")
    assert "--force" in invoke("new", path, code=1).stderr
    assert path.read_text() == "precious"
    invoke("new", path, "--force")
    assert path.read_text() == starter().replace("my-study", "mine")
    assert "no directory" in invoke("new", tmp_path / "a" / "b.yaml", code=1).stderr
    assert ".yaml" in invoke("new", tmp_path / "b.txt", code=1).stderr


def test_forces_for_a_motion_are_those_of_the_library(tmp_path):
    path = study_file(
        tmp_path,
        "kinetree-study: 1\nrobot: kuka-kr5\nmotion: {kind: cycloid, to: {joint_2: 0.8}, duration: 1.5}\n"
        "outputs: {samples: 11}\n",
    )
    table = read(path).run().outcomes["inverse"].tables["motion"]
    robot = kt.gallery.load("kuka-kr5")
    move = kt.trajectories.Cycloid(robot.neutral(), [0, 0.8, 0, 0, 0, 0], 1.5)
    tau = robot.inverse_dynamics(*move(np.linspace(0, 1.5, 11)))
    turned = path.read_text().replace("0.8", f"{math.degrees(0.8)} deg")
    table = read(study_file(tmp_path, turned)).run().outcomes["inverse"].tables["motion"]
    assert np.allclose(np.column_stack([table[f"tau_{n}"] for n in robot.v_names]), tau, atol=1e-9)


def test_a_mechanism_is_driven_by_its_motors(tmp_path):
    path = study_file(
        tmp_path,
        "kinetree-study: 1\nrobot: four-bar\nmotion: {kind: constant-speed, speed: 4.71238898038469, duration: 1.3}\n"
        "outputs: {samples: 14}\n",
    )
    table = read(path).run().outcomes["inverse"].tables["motion"]
    q, v, a = kt.gallery.motion("four-bar").states(np.linspace(0.0, 1.3, 14))
    tau = kt.gallery.load("four-bar").inverse_dynamics(q, v, a)
    assert np.allclose(table["tau_crank_joint"], tau[:, 0], atol=1e-7)
    assert np.allclose(table["v_rocker_joint"], v[:, 1], atol=1e-7)


@pytest.mark.parametrize(
    ("motion", "position", "rate"),
    [
        ("{kind: sine, amplitude: {joint_1: 0.5}, frequency: 2, duration: 1}",
         lambda t: 0.5 * np.sin(4 * np.pi * t), lambda t: 2 * np.pi * np.cos(4 * np.pi * t)),
        ("{kind: constant-speed, speed: {joint_1: 0.5}, duration: 1}", lambda t: 0.5 * t, lambda t: 0.5 + 0 * t),
        ("{kind: constant, at: {joint_1: 0.5}, duration: 1}", lambda t: 0.5 + 0 * t, lambda t: 0 * t),
        ("{kind: cubic, to: {joint_1: 0.5}, duration: 1}",
         lambda t: 0.5 * (3 * t**2 - 2 * t**3), lambda t: 3 * (t - t**2)),
        ("{kind: spline, times: [0, 1], points: [[0, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 0]]}",
         lambda t: 0.5 * (3 * t**2 - 2 * t**3), lambda t: 3 * (t - t**2)),
    ],
)  # fmt: skip
def test_kinds_of_motion(tmp_path, motion, position, rate):
    path = study_file(tmp_path, f"kinetree-study: 1\nrobot: kuka-kr5\nmotion: {motion}\n")
    table = read(path).run().outcomes["inverse"].tables["motion"]
    t = np.asarray(table["time"])
    assert np.allclose(table["q_joint_1"], position(t), atol=1e-12)
    assert np.allclose(table["v_joint_1"], rate(t), atol=1e-12)
    assert not np.any(table["q_joint_2"])


def test_the_motion_of_the_gallery(tmp_path):
    path = study_file(
        tmp_path,
        "kinetree-study: 1\nrobot: 3-rrr\nmotion: {kind: gallery}\ncontroller: {kind: pd, kp: 2000, kd: 50}\n"
        "simulation: {integrator: radau, samples: 5, time: 0.2, rtol: 1e-5}\nexpect: {final_error: 0.1}\n",
    )
    with pytest.warns(
        kt.ModelWarning, match="begins at another speed .* in arm_2_joint; the controller has to"
    ) as said:
        read(path)
    start = re.search(r"start: (\{.*\}) begins", str(said[0].message))[1]  # as it says, there is no warning
    path.write_text(f"{path.read_text()}start: {start}\n")
    result = read(path).run()
    assert not result.faults
    table = result.outcomes["inverse"].tables["motion"]
    motion = kt.gallery.motion("3-rrr")
    robot = kt.gallery.load("3-rrr")
    q = np.column_stack([table[f"q_{name}"] for name in robot.q_names])
    assert np.array_equal(q, motion.states(motion.grid(201)).q)


def test_a_fall_on_the_ground(tmp_path):
    text = (
        "kinetree: 1\nname: ball\nbodies:\n  - {name: ball, parent: base, joint: {kind: prismatic, axis: z}, mass: 2}\n"
    )
    study_file(tmp_path, text, "ball.yaml")
    path = study_file(
        tmp_path,
        "kinetree-study: 1\nrobot: ball.yaml\nstart: {q: [0.3]}\n"
        "ground: {spots: [{frame: ball, radius: 0.1}], stiffness: 1e4, dissipation: 2, height: 0.05}\n"
        "simulation: {time: 3, samples: 301}\nexpect: {energy_error: 1e-5}\noutputs: {plots: [motion, reactions]}\n",
    )
    result = read(path).run()
    assert not result.faults
    outcome = result.outcomes["simulation"]
    record = outcome.records["record"]
    assert list(outcome.figures) == ["motion", "reactions"]
    sunk = (2 * 9.81 / 1e4) ** (2 / 3)  # where k d^1.5 carries it
    assert record.q[-1, 0] == pytest.approx(0.15 - sunk, abs=1e-4)
    assert record.contact_forces[-1, 0, 2] == pytest.approx(2 * 9.81, rel=1e-3)
    path.write_text(path.read_text().replace("samples: 301", "samples: steps").replace("time: 3", "time: 0.3"))
    record = read(path).run().outcomes["simulation"].records["record"]
    assert len(record) - 1 == record.info["steps"]


def test_expectations_that_fail(tmp_path):
    path = study_file(
        tmp_path,
        "kinetree-study: 1\nrobot: kuka-kr5\nmotion: {kind: cycloid, to: {joint_2: 0.8}, duration: 1}\n"
        "expect: {largest_force: 1}\n",
    )
    data = json.loads(invoke("run", path, "-o", tmp_path / "r", "--no-pictures", "--json", code=3).stdout)
    facts = data["studies"][0]["analyses"]["inverse"]["facts"]
    assert [fact["holds"] for fact in facts] == [True, False]


WALK = "kinetree-study: 1\nrobot: quadruped\nmotion: {kind: gallery}\n"


def test_a_walker_brings_its_ground_and_its_start(tmp_path, monkeypatch):
    """It fell from 0.5 to -4.4 m, and all statements held; now its feet stand, and without motors it falls."""
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")
    options = "integrator: bdf, rtol: 1e-4, atol: 1e-6, samples: 11"
    path = study_file(tmp_path, f"{WALK}simulation: {{time: 0.5, {options}}}\n")
    plan = read(path).analyses["simulation"].__self__
    machine = walker("quadruped")
    assert np.allclose(plan.q, machine.start()[0])
    assert np.allclose(plan.v, machine.start()[1])
    assert plan.begins == "It begins on the motion."
    (ground,) = plan.elements
    assert ground.spots == machine.ground.spots
    data = json.loads(invoke("run", path, "-o", tmp_path / "r", "--no-pictures", "--json", code=3).stdout)
    (fact,) = data["studies"][0]["analyses"]["simulation"]["facts"]
    assert fact["text"].startswith("does not fall")
    assert not fact["holds"]
    driven = f"{WALK}controller: {{kind: computed-torque, kp: 49, kd: 14}}\nsimulation: {{time: 0.2, {options}}}\n"
    outcome = read(study_file(tmp_path, driven)).run(["simulation"]).outcomes["simulation"]
    assert outcome.records["record"].contact_forces[..., 2].max() > 10.0
    assert [fact.holds for fact in outcome.facts] == [True]
    given = read(study_file(tmp_path, f"{WALK}ground: {{spots: all}}\nsimulation: {{time: 0.1}}\n"))
    assert len(given.analyses["simulation"].__self__.elements[0].spots) > 4


def test_a_floating_robot_without_ground_falls_in_a_study_too(tmp_path):
    text = "kinetree-study: 1\nrobot: hexapod\nsimulation: {time: 0.6, samples: 2}\n"
    with pytest.warns(kt.KinetreeWarning, match="'hexapod' has fallen by 1.7"):
        (fact,) = read(study_file(tmp_path, text)).run().outcomes["simulation"].facts
    assert not fact.holds
    with pytest.warns(kt.KinetreeWarning, match="'hexapod' has fallen by 1.7"):
        assert not read(study_file(tmp_path, f"{text}expect: {{stands: false}}\n")).run().outcomes["simulation"].facts
    arm = read(study_file(tmp_path, "kinetree-study: 1\nrobot: kuka-kr5\nsimulation: {time: 0.1, samples: 2}\n"))
    assert not arm.run().outcomes["simulation"].facts


GAIT = """robot: biped-planar
motion:
  kind: gait
  {duration: 1, period: 1, stride: 0.3, height: 0.96, foot_height: 0.1}
  legs:
"""
GAIT = GAIT.replace("  {", "  ").replace("}", "").replace(", ", "\n  ")

WRONG = [
    ("robt: kuka-kr5", 2, "no key named 'robt'; did you mean 'robot'"),
    ("robot: kuka-kr6", 2, "did you mean 'kuka-kr5'"),
    ("robot: missing.urdf", 2, "no robot file"),
    ("robot: {name: kuka-kr5, file: x.urdf}", 2, "either 'name'"),
    ("robot: kuka-kr5", 1, "nothing to compute"),
    ("robot: kuka-kr5\nname: a/b", 3, "letters, digits"),
    ("robot: kuka-kr5\nstart: {q: [1, 2]}", 3, "6 numbers are needed"),
    ("robot: kuka-kr5\nstart:\n  q: {joint_9: 1}", 4, "no joint named 'joint_9'"),
    ("robot: kuka-kr5\nstart:\n  q: {joint_1: [1, 2]}", 4, "1 numbers are needed"),
    ("robot: kuka-kr5\nmotion:\n  kind: cyclod", 4, "did you mean 'cycloid'"),
    ("robot: kuka-kr5\nmotion: {to: [1]}", 3, "needs a kind"),
    ("robot: kuka-kr5\nmotion: {kind: cycloid, duration: 1}", 3, "needs 'to'"),
    ("robot: kuka-kr5\nmotion: {kind: cycloid, to: {joint_1: 1}}", 3, "needs 'duration'"),
    ("robot: kuka-kr5\nmotion: {kind: cycloid, to: {joint_1: 1}, duration: -1}", 3, "positive"),
    ("robot: kuka-kr5\nmotion: {kind: cycloid, to: {joint_1: 1}, duration: 1, speed: 3}", 3, "'speed'"),
    ("robot: kuka-kr5\nmotion: {kind: sine, frequency: 1, duration: 1}", 3, "needs 'amplitude'"),
    ("robot: kuka-kr5\nmotion: {kind: spline, times: [0, 1], points: [[1]]}", 3, "list of 6 numbers"),
    ("robot: {file: robot.yaml}\nmotion: {kind: gallery}", 3, "robots of the gallery"),
    ("robot: kuka-kr5\nmotion: {kind: gallery, of: gripper}", 3, "this robot has joint_1"),
    (
        "robot: {name: four-bar, parameters: {joints.coupler_joint.position: [0.12, 0, 0]}}\nmotion: {kind: gallery}",
        3,
        "its links are different",
    ),
    ("robot: {name: gripper, parameters: {bodies.plam.mass: 1}}\nsimulation: {time: 1}", 2, "did you mean 'palm'"),
    ("robot: kuka-kr5\ncontroller: pd", 3, "needs a simulation"),
    ("robot: kuka-kr5\nsimulation: {time: 1}\ncontroller: {kind: pds}", 4, "did you mean 'pd'"),
    ("robot: kuka-kr5\nsimulation: {time: 1}\ncontroller: {kind: pd, kp: soft}", 4, "kp must be a number"),
    ("robot: kuka-kr5\nsimulation: {}", 3, "needs 'time'"),
    ("robot: kuka-kr5\nsimulation: {time: -1}", 3, "must be positive"),
    ("robot: kuka-kr5\nsimulation: {time: 1, integrator: rk5}", 3, "no integrator named 'rk5'"),
    ("robot: kuka-kr5\nsimulation: {time: 1, samples: 2.5}", 3, "whole number"),
    ("robot: kuka-kr5\nsimulation: {time: 1}\nground: {spots: [toe]}", 4, "named 'toe'"),
    ("robot: biped-planar\nmotion: {kind: gait, duration: 1, period: 1}", 3, "needs 'stride'"),
    (GAIT + "    - {joints: [left_hip, left_kne], thigh: 0.5, shank: 0.5, group: 0}", 11, "did you mean 'left_knee'"),
    (GAIT + "    - {joints: [base_joint], thigh: 0.5, shank: 0.5, group: 0}", 11, "it needs a motor"),
    (GAIT + "    - {joints: [left_hip], thigh: 0.5, shank: 0.5, group: 2}", 11, "group 0"),
    (GAIT + "    - {joints: [left_hip], angles: [hep], thigh: 0.5, shank: 0.5, group: 1}", 11, "did you mean 'hip'"),
    (GAIT + "    - {joints: [left_hip, left_hip], thigh: 0.5, shank: 0.5, group: 0}", 11, "to one twice"),
    (GAIT + "    - {joints: [left_hip], thigh: 0.2, shank: 0.2, group: 0}", 4, "walk lower"),
    ("robot: biped-planar\nsimulation: {time: 1}\nground: {spots: [left_toe], kind: frim}", 4, "did you mean 'firm'"),
    (
        "robot: biped-planar\nsimulation: {time: 1}\nground: {spots: [left_toe], kind: firm, dust: 1}",
        4,
        "'dust' is not a parameter",
    ),
    ("robot: biped-planar\nsimulation: {time: 1}\nground: {spots: [{frame: left_foot, width: 1}]}", 4, "has a length"),
    ("robot: biped-planar\nsimulation: {time: 1}\nground: {spots: all, source: hexpod}", 4, "did you mean 'hexapod'"),
    (
        "robot: biped-planar\nsimulation: {time: 1}\nground: {spots: all, source: hexapod, kind: hunt-crossley}",
        4,
        "is 'firm' or 'dusty'",
    ),
    ("robot: biped-planar\nsimulation: {time: 1}\nground: {spots: all, isotropic: 0}", 4, "must be true or false"),
    ("robot: biped-planar\nmotion: {kind: table, file: none.csv}", 3, "there is no file"),
    ("robot: kuka-kr5\nsimulation: {time: 1}\noutputs: {plots: [energi]}", 4, "did you mean 'energy'"),
    ("robot: kuka-kr5\nsimulation: {time: 1}\nexpect: {final_error: 1}", 4, "needs a simulation and a motion"),
]


def test_a_walker_without_python_is_the_one_of_the_gallery(tmp_path):
    path = study_file(tmp_path, starter(walker=True))
    plan = read(path).analyses["prescribed"].__self__
    m, times = walker("biped-planar"), np.linspace(0.0, 2.5, 26)
    assert np.allclose((plan.q, plan.v), m.start(), atol=1e-12)
    assert np.allclose(plan.desired(times), m.walk(times), atol=1e-12)
    q, v = plan.q.copy(), plan.v.copy()
    q[5], v[3] = q[5] - 0.01, v[3] + 0.1
    assert np.allclose(plan.elements[0](m.robot, q, v), m.ground(m.robot, q, v), rtol=1e-9)
    dusty = starter(walker=True).replace("kind: firm", "kind: dusty").replace("# dust: 0.01", "  dust: 0.02")
    left = "joints: [left_hip, left_knee, left_ankle], thigh: 0.5, shank: 0.5, group: 0"
    right = "joints: [right_ankle, right_hip, right_knee], angles: [ankle, hip, knee], thigh: 0.5, shank: 0.5, group: 0"
    swapped = dusty.replace(left, right).replace(
        "[right_hip, right_knee, right_ankle]", "[left_hip, left_knee, left_ankle]"
    )
    other = read(study_file(tmp_path, swapped)).analyses["prescribed"].__self__
    assert other.elements[0].normal.dust == 0.02
    assert np.allclose(other.desired(times)[0], np.roll(m.walk(times)[0], 3, axis=-1), atol=1e-12)
    upright = study_file(tmp_path, starter(walker=True) + 'start: {q: {"base_joint[5]": 1.5, left_knee: 0.1}}\n')
    moved = read(upright).analyses["prescribed"].__self__
    assert moved.q[5] == 1.5
    assert moved.q[7] == 0.1
    assert np.array_equal(np.delete(moved.q, [5, 7]), np.delete(plan.q, [5, 7]))


def test_a_walker_with_universal_hips_is_the_one_of_the_gallery(tmp_path):
    m = walker("quadruped")
    legs = "".join(
        f"    - {{joints: [{leg}_hip, {leg}_knee], thigh: 0.3, shank: 0.3, group: {one.group}, hip: {list(one.hip)}}}\n"
        for leg, one in zip(("front_left", "front_right", "rear_left", "rear_right"), m.walk.legs, strict=True)
    )
    gait = GAIT.replace("biped-planar", "quadruped").replace("0.96", "0.5").replace("0.1\n", "0.09\n") + legs
    plan = read(study_file(tmp_path, f"kinetree-study: 1\n{gait}")).analyses["prescribed"].__self__
    times = np.linspace(0.0, 2.5, 26)
    assert np.allclose((plan.q, plan.v), m.start(), atol=1e-12)
    assert np.allclose(plan.desired(times), m.walk(times), atol=1e-12)
    tips = "spots: [front_left_tip, front_right_tip, rear_left_tip, rear_right_tip]"
    q, v = plan.q.copy(), plan.v.copy()
    q[list(m.robot.q_names).index("base_joint.z")] -= 0.01
    v[:6] += [0.1, 0.2, 0.3, 0.4, 0.5, -0.2]  # feet slide forward and sideways
    numbers = "kind: firm, stiffness: 2500, factor: 10, friction: 0.7, sliding_damping: 1500"
    for given, book in (("source: quadruped", True), (f"{numbers}, isotropic: false", True), (numbers, False)):
        text = f"kinetree-study: 1\n{gait}ground: {{{given}, {tips}}}\n"
        floor = read(study_file(tmp_path, text)).analyses["prescribed"].__self__.elements[0]
        assert np.allclose(floor(m.robot, q, v), m.ground(m.robot, q, v), rtol=1e-9) == book
    wrong = legs.replace("thigh", "angles: [-roll, hip, knee], thigh")
    path = study_file(tmp_path, f"kinetree-study: 1\n{gait.replace(legs, wrong)}")
    problem = invoke("run", path, "-o", tmp_path / "r", code=1).stderr
    assert "coordinates=('-roll', '-hip', 'knee') fits" in problem


def test_a_worked_example_with_other_numbers_and_another_pace(tmp_path):
    text = "kinetree-study: 1\nrobot: {robot}\nmotion: {{kind: gallery, {more}duration: 2}}\n"
    changed = "{name: gripper, parameters: {bodies.palm.mass: 0.8, joints: {palm_joint: {damping: 2}}}}"
    robot = kt.load("gripper").with_parameters(
        {"bodies": {"palm": {"mass": 0.8}}, "joints": {"palm_joint": {"damping": 2}}}
    )
    robot.save(tmp_path / "heavy.yaml")
    q, v, a = kt.gallery.motion("gripper").states(np.linspace(0.0, 1.0, 5))
    wanted = robot.inverse_dynamics(q, 0.5 * v, 0.25 * a)
    given = kt.load("gripper").inverse_dynamics(q, 0.5 * v, 0.25 * a, parameters={"bodies": {"palm": {"mass": 0.8}}})
    assert np.allclose(wanted, given, atol=1e-14)
    for where, more in ((changed, ""), ("heavy.yaml", "of: gripper, ")):
        plan = read(study_file(tmp_path, text.format(robot=where, more=more))).analyses["inverse"].__self__
        states = plan.states(np.linspace(0.0, 2.0, 5))
        assert np.allclose(plan.robot.inverse_dynamics(*states), wanted, atol=1e-14)
        assert np.allclose(plan.desired(1.0), [x[2] * p for x, p in zip((q, v, a), (1.0, 0.5, 0.25), strict=True)])
        assert plan.robot.joint("palm_joint").damping == (2.0,)


def test_where_a_simulation_of_a_worked_example_begins(tmp_path):
    text = "kinetree-study: 1\nrobot: {}\n{}simulation: {{time: 0.01, samples: 2}}\n"
    plain = read(study_file(tmp_path, text.format("gripper", ""))).run()
    assert plain.outcomes["simulation"].remarks[1] == (
        "It begins where the motion of the gallery begins, at rest: the file has no start."
    )
    record = plain.outcomes["simulation"].records["record"]
    assert np.array_equal(record.q[0], kt.gallery.motion("gripper").states([0.0]).q[0])
    for start in ("free-fall", "{q: free-fall}"):
        fall = read(study_file(tmp_path, text.format("gripper", f"start: {start}\n"))).analyses["simulation"].__self__
        assert np.array_equal(fall.q, kt.gallery.start("gripper", "free-fall"))
        assert fall.begins == "It begins at the start of the file."
    for robot, joint, speed in (("gripper", "palm_joint", 0.0), ("four-bar", "crank_joint", 1.5 * math.pi)):
        both = f"motion: {{kind: gallery}}\nstart: {{q: {{{joint}: 0.3}}, v: {{{joint}: {speed}}}}}\n"
        path = study_file(tmp_path, text.format(robot, both))
        with pytest.warns(kt.ModelWarning, match=f"begins elsewhere .* rad in {joint}; nothing follows"):
            read(path)
    moving = f"motion: {{kind: gallery}}\ncontroller: pd\nstart: {{v: {{crank_joint: {1.5 * math.pi}}}}}\n"
    read(study_file(tmp_path, text.format("four-bar", moving)))  # no warning
    (tmp_path / "wrong.yaml").write_text(text.format("gripper", "start: free-fal\n"))
    with pytest.raises(kt.FileFormatError, match=r"line 3: .*free-fal"):
        read(tmp_path / "wrong.yaml")


def test_the_walkers_file_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")
    text = starter(walker=True).replace("duration: 1.0", "duration: 0.1").replace("time: 1.0", "time: 0.1")
    result = read(study_file(tmp_path, text.replace("forward: 0.25", "forward: 0.03"))).run(quick=True)
    assert all(fact.holds for fact in result.facts)
    prescribed, controlled = (result.outcomes[name].records["record"] for name in ("prescribed", "simulation"))
    assert np.allclose(prescribed.q, controlled.q, atol=1e-4)
    assert np.allclose(prescribed.tau[1:], controlled.tau[1:], atol=0.2)


@pytest.mark.parametrize(("text", "line", "words"), WRONG)
def test_faults_are_told_with_their_line(tmp_path, text, line, words):
    study_file(tmp_path, "kinetree: 1\nbodies:\n  - {name: b, parent: base, joint: revolute, mass: 1}\n", "robot.yaml")
    path = study_file(tmp_path, f"kinetree-study: 1\n{text}\n")
    problem = invoke("run", path, "-o", tmp_path / "r", code=1).stderr
    assert f"mine.yaml, line {line}: " in problem
    assert words in problem
    assert not (tmp_path / "r").exists()


def test_files_that_are_no_studies(tmp_path):
    assert "kinetree new" in invoke("run", tmp_path / "none.yaml", code=1).stderr
    robot = study_file(tmp_path, "kinetree: 1\nbodies: []\n")
    assert "it is a robot file" in invoke("run", robot, code=1).stderr
    assert "malformed YAML" in invoke("run", study_file(tmp_path, "a: [1\n"), code=1).stderr
    assert "only version 1" in invoke("run", study_file(tmp_path, "kinetree-study: 2\nrobot: x\n"), code=1).stderr


@pytest.mark.parametrize("goal", ["[9, 9, 9, 9]", "{arm_1_joint: 3, arm_2_joint: 0}"])
def test_a_motion_that_the_loops_do_not_allow(tmp_path, goal):
    path = study_file(
        tmp_path, f"kinetree-study: 1\nrobot: five-bar\nmotion:\n  kind: cycloid\n  to: {goal}\n  duration: 1\n"
    )
    problem = invoke("run", path, "-o", tmp_path / "r", code=1).stderr
    assert "mine.yaml, line 5: " in problem
    assert "loop" in problem
    assert not (tmp_path / "r").exists()


# ---------------------------------------------------------------- the page about it


@pytest.mark.slow
def test_every_command_of_the_page_works(tmp_path, monkeypatch):
    """Blocks of the page in turn: Python is run, and every console line that begins with kinetree."""
    page = (ROOT / "docs" / "cli.md").read_text()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")
    commands = 0
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        if kind == "python":
            exec(block, {})
        for line in block.splitlines() if kind == "console" else ():
            invoke(*shlex.split(line.removeprefix("$ kinetree ")))
            commands += 1
    assert commands >= 11
    for name in ("results/3-rrr/summary.md", "tau.csv", "tau.parquet", "fall.npz", "move.png", "swing.csv"):
        assert (tmp_path / name).exists(), name


def test_the_page_names_every_command():
    page = (ROOT / "docs" / "cli.md").read_text()
    groups = [group.typer_instance.info.name for group in app.registered_groups]
    commands = [*(command.name for command in app.registered_commands if not command.hidden), *groups]
    assert sorted(re.findall(r"^\| `(\w+)[ `]", page, re.MULTILINE)) == sorted(commands)


def test_results_that_cannot_be_written_are_told_before_computing(tmp_path):
    (tmp_path / "file").write_text("")
    text = invoke("run", "all", "-o", tmp_path / "file" / "results", code=1).stderr
    assert "is not a folder" in text
    assert text.count("error") == 1


def test_a_robot_file_is_no_study():
    assert "is not a study" in invoke("run", "examples/kuka_kr5.urdf", code=1).stderr


def test_the_legend_names_sources_that_are_cited_and_no_others():
    assert _legend("below 0.001 rad, 1,000 N; 0.0035") == []
    assert any("Biped" in line for line in _legend("Biped section 4, below 0.001"))
    assert not any("Saha:" in line for line in _legend("Biped section 4, Saha 1999, below 0.001"))
    assert any("not printed" in line for line in _legend(f"| {COMPUTED} |"))

"""``--set`` of the command line: other numbers for a robot, and a table that compares several."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli.app import app

runner = CliRunner()


def said(*words):
    done = runner.invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words):
    done = runner.invoke(app, [str(word) for word in words])
    assert done.exit_code == 1
    return " ".join(done.stderr.split())


def peaks(robot, time, q, v, a):
    tau = robot.inverse_dynamics(q, v, a)
    return tau[np.abs(tau).argmax(axis=0), np.arange(robot.nv)]


@pytest.fixture
def swinging():
    """The motion of the gallery, as the command samples it."""
    motion = kt.gallery.motion("gripper")
    time = np.linspace(*motion.span, 361)
    return time, *motion.states(time)


def test_values_are_compared_along_the_motion_of_the_gallery(swinging, tmp_path):
    robot = kt.load("gripper")
    own = robot.body("palm").mass
    file = tmp_path / "compared.csv"
    said("inverse", "gripper", "--set", f"palm.mass={own},{2 * own}", "-o", file)
    lines = list(csv.DictReader(file.read_text().splitlines()))
    for k, mass in enumerate((own, 2 * own)):
        right = peaks(robot.with_parameters({"bodies.palm.mass": mass}), *swinging)
        own_lines = lines[k::2]
        assert [line["joint"] for line in own_lines] == robot.v_names
        assert {float(line["palm.mass"]) for line in own_lines} == {mass}
        np.testing.assert_allclose([float(line["peak"]) for line in own_lines], right, rtol=1e-9)
    assert not np.allclose(right, peaks(robot, *swinging), rtol=1e-3)  # the mass counts


def test_two_numbers_change_together_and_one_stays(swinging):
    """Those that change are told in every line; one that stays is not."""
    told = json.loads(
        said(
            "inverse",
            "gripper",
            "--set",
            "palm.mass=1,2,gravity=0:0:0",
            "--set",
            "thumb_joint.damping=0.1,0.2",
            "--friction",
            "--json",
        )
    )
    lines = told["joints"]
    assert told["rows"] == 2 * 361
    assert len(lines) == 2 * 4
    for k, (mass, damping) in enumerate([(1, 0.1), (2, 0.2)]):
        numbers = {"bodies.palm.mass": mass, "gravity": (0, 0, 0), "joints.thumb_joint.damping": damping}
        robot = kt.load("gripper").with_parameters(numbers)
        tau = robot.inverse_dynamics(*swinging[1:], friction=True)
        line = lines[2 * 3 + k]
        assert line["joint"] == "thumb_joint"
        assert (line["palm.mass"], line["thumb_joint.damping"]) == (str(mass), str(damping))
        assert "gravity" not in line
        assert line["peak"] == pytest.approx(tau[np.abs(tau[:, 3]).argmax(), 3], rel=1e-9)


def test_a_turning_mechanism_is_compared_over_its_crank():
    shown = said(
        "inverse", "four-bar", "--speed", "crank_joint=60rpm", "--over", "crank_joint", "--units", "deg",
        "--set", "coupler.mass=2kg,4000g",
    )  # fmt: skip
    heading, first, second, *_ = shown.splitlines()
    assert heading.split() == ["joint", "coupler.mass", "peak", "at,", "deg", "rms", "mean"]
    assert first.split()[:2] == ["crank_joint", "2kg"]
    assert second.split()[0] == "4000g"
    assert first.split()[2] != second.split()[1]


def test_one_value_changes_the_robot_of_every_command(tmp_path):
    assert "palm  0.75 kg" in said("info", "gripper", "--set", "palm.mass=750g")
    file = tmp_path / "run.npz"
    said("simulate", "gripper", "--set", "gravity=0:0:0", "--time", 0.1, "-o", file)
    assert np.ptp(kt.Record.load(file).q, axis=0).max() == 0.0
    written = tmp_path / "c"
    said("codegen", "gripper", "-a", "inverse_dynamics", "-o", written, "--set", "bodies.palm.mass=0.75")
    said("simulate", "four-bar", "--set", "loops.crank_pin.position=0.05:0:0", "--time", 0.01)  # closed anew


def test_accelerations_are_compared_and_rows_without_a_motion_are_asked_for(tmp_path):
    states = tmp_path / "states.csv"
    names = [f"{key}_{name}" for key in ("q", "v", "tau") for name in kt.load("gripper").v_names]
    states.write_text(",".join(names) + "\n" + ",".join(["0.1"] * len(names)) + "\n")
    told = json.loads(said("forward", "gripper", states, "--set", "palm.mass=1,2", "--json"))
    for k, line in enumerate(told["joints"][:2]):
        robot = kt.load("gripper").with_parameters({"bodies.palm.mass": k + 1.0})
        assert line["peak"] == pytest.approx(robot.forward_dynamics(*np.full((3, 4), 0.1))[0], rel=1e-9)
    assert "give a table of states as MOTION" in refused("forward", "gripper", "--set", "palm.mass=1,2")
    assert "give a table of states as MOTION" in refused("inverse", "gripper", "--locked", "palm_joint")
    assert "give a table of states as MOTION" in refused("inverse", "gripper", "--differentiate")


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("mass=3", "whose? BODY.mass"),
        ("plam.mass=3", "no body to --set named 'plam'; did you mean 'palm'?"),
        ("palm_joit.damping=3", "no joint to --set named 'palm_joit'; did you mean 'palm_joint'?"),
        ("palm.mas=3", "no parameter named 'palm.mas'; did you mean 'palm.mass'?"),
        ("gravity=0", "gravity needs three numbers, separated by colons, such as gravity=0:0:-9.81"),
        ("palm.com=0.1", "palm.com needs three numbers, separated by colons, such as palm.com=0:0:0.1"),
        ("palm.mass", "give a name and a value"),
        ("palm.mass=", "give a name and a value"),
        ("3,palm.mass=3", "give a name and a value"),
        ("palm.mass=3,palm.mass=4", "'palm.mass' is given more than once"),
        ("palm.mass=1,2,thumb.mass=1,2,3", "palm.mass has 2 values, another name has 3"),
        ("palm.mass=x", "'x' is not a finite number"),
        ("palm.mass=-1", "mass is negative"),
        ("palm.mass=3m", "palm.mass=3m: this unit does not fit"),
        ("palm_joint.damping=3kg", "palm_joint.damping=3kg: this unit does not fit"),
    ],
)
def test_what_cannot_be_set_is_refused(typed, reason):
    assert reason in refused("inverse", "gripper", "--set", typed)


def test_several_values_are_refused_where_nothing_compares_them(tmp_path):
    assert "this command takes one" in refused("info", "gripper", "--set", "palm.mass=1,2")
    several = ("inverse", "gripper", "--set", "palm.mass=1,2")
    assert "is written as .csv" in refused(*several, "-o", tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def test_friction_is_not_left_out_in_silence(tmp_path):
    file, typed = tmp_path / "rough.yaml", ("--speed", "A=60rpm", "--samples", "5", "--json")
    b = kt.Builder("rough").body("a", "base", kt.Revolute("y"), joint_name="A", mass=1, com=(0.1, 0, 0), damping=0.3)
    b.body("b", "a", kt.Revolute("y"), joint_name="B", mass=1, com=(0.1, 0, 0), friction=0.2).build().save(file)
    without = runner.invoke(app, ["inverse", str(file), *typed])
    assert "joints A, B have friction, which is left out: --friction includes it" in without.stderr
    included = runner.invoke(app, ["inverse", str(file), *typed, "--friction"])
    assert "friction" not in included.stderr
    means = [json.loads(done.stdout)["joints"][0]["mean"] for done in (without, included)]
    assert means[1] - means[0] == pytest.approx(0.3 * 2 * np.pi)
    for name in ("A.damping=0,0.5", "joints.B.friction=1"):
        said_why = refused("inverse", file, *typed, "--set", name)
        assert f"--set {name.partition('=')[0]}: friction is left out of these forces: add --friction" in said_why
    still = runner.invoke(app, ["inverse", "gripper", "--set", "palm.mass=1"])  # which has no friction
    assert "friction" not in still.stderr


def test_curves_of_several_values_are_drawn_over_one_another(tmp_path):
    given = ["four-bar", "--speed", "crank_joint=60rpm", "--over", "crank_joint", "--set", "coupler.mass=2,4"]
    said("inverse", *given, "--plot", tmp_path / "both.svg")
    text = (tmp_path / "both.svg").read_text()
    labels = [f"crank_joint, coupler.mass = {x}" for x in (2, 4)]
    assert all(f"<!-- {label} -->" in text or label in text for label in labels)
    said("inverse", *given[:-1], "coupler.mass=2", "--plot", tmp_path / "one.svg")
    assert "coupler.mass" not in (tmp_path / "one.svg").read_text()

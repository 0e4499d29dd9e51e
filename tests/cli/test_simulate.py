"""``kinetree simulate``, ``view`` and ``bench``; robots of the gallery in ``info``."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from kinetree.cli.bench import _best, measure, sample
from kinetree.cli.pinocchio_comparison import beside
from kinetree.cli.values import read_values
from kinetree.cli.view import read_size
from kinetree.errors import OptionError
from kinetree.studies.simulation_setup import compliant_ground, configuration

PENDULUM = """\
kinetree: 1
name: pendulum
bodies:
  - {name: bob, parent: base, joint: {name: hinge, kind: revolute, axis: y, lower: -1, upper: 1}, mass: 2,
     com: [0, 0, -0.5]}
frames:
  - {name: tip, body: bob, placement: {position: [0, 0, -1]}}
"""


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    return path


def simulated(*arguments, code=0):
    return json.loads(invoke("simulate", *arguments, "--json", code=code).stdout)


# ---------------------------------------------------------------- simulate


def test_a_record_is_written(tmp_path, pendulum):
    told = simulated(pendulum, "--q0", "hinge=0.3", "--time", 1, "--samples", 11, "-o", tmp_path / "r.npz")
    record = kt.Record.load(tmp_path / "r.npz")
    ours = kt.simulate(kt.load(pendulum), [0.3], time=1.0, samples=11)
    assert np.array_equal(record.q, ours.q)
    assert told["final"]["q"]["hinge"] == ours.q[-1, 0]
    assert told["energy_relative_error"] < 1e-7
    assert told["files"] == [str(tmp_path / "r.npz")]


def test_the_summary_for_people(tmp_path, pendulum):
    text = invoke("simulate", pendulum, "--q0", "0.3", "--time", 0.5, "--plot", tmp_path / "p.svg").stdout
    assert "pendulum: 0.5 s simulated by dop853" in text
    assert "energy balance off by" in text
    assert "motors off: joints move freely, --controller holds or moves them" in text
    assert "speed of hinge" in text
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.svg", "pendulum.yaml"]


def test_what_was_computed_is_told_though_a_file_cannot_be_written(tmp_path, pendulum, monkeypatch):
    def torn(*_, **__):
        raise kt.OutputError("torn paper")

    monkeypatch.setattr("kinetree.Record.plot", torn)
    given = ("simulate", pendulum, "--q0", 0.3, "--time", 0.2, "-o", tmp_path / "r.npz", "--plot", tmp_path / "p.svg")
    said = invoke(*given, "--json", code=1)
    assert "torn paper" in said.stderr
    assert json.loads(said.stdout)["files"] == [str(tmp_path / "r.npz")]
    assert "energy balance off by" in invoke(*given, code=1).stdout


def test_computed_torque_arrives(pendulum):
    told = simulated(
        pendulum, "--controller", "computed-torque", "--target", "hinge=0.8", "--duration", 1, "--time", 1.2
    )
    assert told["final"]["q"]["hinge"] == pytest.approx(0.8, abs=1e-6)
    assert told["largest_force"]["hinge"] > 5.0


def test_gains_are_used(pendulum):
    """A stiff spring against gravity settles where both balance: kp (q_d - q) = m g l sin q."""
    told = simulated(pendulum, "--controller", "pd", "--kp", 40, "--kd", 20, "--target", 0.8, "--time", 8)
    q = told["final"]["q"]["hinge"]
    assert 40 * (0.8 - q) == pytest.approx(2 * 9.81 * 0.5 * np.sin(q), rel=1e-4)
    told = simulated(pendulum, "--controller", "pd+gravity", "--kp", 40, "--kd", 20, "--target", 0.8, "--time", 8)
    assert told["final"]["q"]["hinge"] == pytest.approx(0.8, abs=1e-6)


def test_limits_and_gains_by_names_are_those_of_python(pendulum, tmp_path):
    options = ["--controller", "pid", "--target", 0.8, "--time", 1, "--kp", "hinge=40", "--kd", 2, "--ki", "hinge=30"]
    told = simulated(pendulum, *options, "--limit", "hinge=6")
    robot, goal = kt.load(pendulum), kt.trajectories.Constant([0.8])
    pid = kt.control.Saturated(kt.control.PID(goal, 40.0, 2.0, 30.0, limit=6.0), 6.0)
    assert told["final"]["q"]["hinge"] == pytest.approx(kt.simulate(robot, time=1.0, controller=pid).q[-1, 0], abs=1e-9)
    assert told["largest_force"]["hinge"] == 6.0
    study = tmp_path / "study.yaml"
    study.write_text(
        f"kinetree-study: 1\nname: limited\nrobot: {pendulum}\nstart: {{q: {{hinge: 0.8}}}}\n"
        "controller: {kind: pd, kp: 40, kd: 8, limit: 6}\nsimulation: {time: 0.3}\nexpect: {largest_force: 6.001}\n"
    )
    invoke("run", study, "--output", tmp_path / "out")
    for more, said in (
        (["--limit", "robot"], "has no effort limits"),
        (["--limit", "fast"], "or 'robot'; not 'fast'"),
        (["--limit", "hing=3"], "did you mean 'hinge'"),
        (["--limit", -3], "--limit must be positive"),
    ):
        assert said in " ".join(invoke("simulate", pendulum, *options, *more, code=1).stderr.split())


def test_a_sampled_controller_is_that_of_python(pendulum, tmp_path):
    told = simulated(
        pendulum, "--controller", "pd", "--kp", 40, "--kd", 8, "--target", 0.8, "--time", 0.5, "--sample-time", 0.02,
        "--delay", 0.01, "--encoder", 1000, "--noise", 1e-3, "--seed", 4,
    )  # fmt: skip
    servo = kt.control.PD(kt.trajectories.Constant([0.8]), 40.0, 8.0)
    law = kt.control.Sampled(servo, 0.02, delay=0.01, encoder=1000, velocity="differences", position_noise=1e-3, seed=4)
    ours = kt.simulate(kt.load(pendulum), time=0.5, controller=law)
    assert told["final"]["q"]["hinge"] == ours.q[-1, 0]
    said = invoke("simulate", pendulum, "--controller", "pd", "--delay", 0.1, code=1).stderr
    assert "--delay needs --sample-time" in said
    study = tmp_path / "study.yaml"
    study.write_text(
        f"kinetree-study: 1\nname: sampled\nrobot: {pendulum}\ncontroller: {{kind: pd, kp: 40, kd: 8, noise: 0.1}}\n"
        "simulation: {time: 0.1}\n"
    )
    assert "give its sample time" in invoke("run", study, code=1).stderr
    study.write_text(study.read_text().replace("noise: 0.1", "sample_time: 0.02, delay: 0.01, noise: 0.1, seed: 3"))
    invoke("run", study, "--output", tmp_path / "out")


def test_gains_that_are_chosen_are_told_and_a_goal_beyond_the_range_too(pendulum):
    goal = ("--controller", "pd", "--target", "hinge=1.5", "--time", 0.01)
    done = invoke("simulate", pendulum, *goal)
    told = simulated(pendulum, *goal)["gains"]
    assert f"gains: kp {told['kp'][0]:.4g}  kd {told['kd'][0]:.4g}" in done.stdout
    assert "--target: hinge = 1.5 is beyond its range, from -1 to 1" in done.stderr
    found = kt.control.gains_for(kt.load(pendulum), [0.0])
    assert (told["kp"], told["kd"]) == (found.kp.tolist(), found.kd.tolist())


def test_gravity_compensation_holds(pendulum):
    told = simulated(pendulum, "--controller", "gravity", "--q0", 0.7, "--time", 1)
    assert told["final"]["q"]["hinge"] == pytest.approx(0.7, abs=1e-9)


def test_ground_and_stops(pendulum):
    free = simulated(pendulum, "--v0", 6, "--time", 1)
    stopped = simulated(pendulum, "--v0", 6, "--time", 1, "--stops")
    assert stopped["energy"]["ground"][1] != 0.0
    assert stopped["final"] != free["final"]
    rests = simulated(pendulum, "--q0", 1.9, "--ground", "tip", "--time", 3, "--rtol", 1e-6)
    sunk = (0.5 * 2 * 9.81 / 1e5) ** (2 / 3)  # half of the weight on the tip, k d^1.5
    assert -np.cos(rests["final"]["q"]["hinge"]) == pytest.approx(-sunk, rel=0.05)


def test_shapes_of_a_file_touch_its_ground(tmp_path):
    b = kt.Builder("crate").shape("base", kt.shapes.HalfSpace())
    b.body("crate", "base", kt.Free(), mass=2.0, inertia=(0.02, 0.02, 0.02))
    b.shape("crate", kt.shapes.Box((0.2, 0.2, 0.2)), friction=0.5).build().save(tmp_path / "crate.yaml")
    start = ("--q0", "0,0,0,1,0,0,0.15", "--time", 1, "--integrator", "implicit_euler", "--step", 1e-3)
    rests = simulated(tmp_path / "crate.yaml", "--ground", "shapes", "--stiffness", 2e5, *start)
    assert list(rests["final"]["q"].values())[-1] == pytest.approx(0.1 - 2 * 9.81 / 2e5, abs=1e-6)
    with pytest.raises(kt.OptionError, match="contact of shapes has no 'height', but friction, stiffness and dissip"):
        compliant_ground(kt.load(tmp_path / "crate.yaml"), ["shapes"], height=0.1)


HOPPER = """\
kinetree: 1
name: hopper
bodies:
  - {name: trunk, parent: base, joint: {name: height, kind: prismatic, axis: z, actuated: false}, mass: 3}
  - {name: leg, parent: trunk, joint: {name: leg, kind: prismatic, axis: z}, mass: 0.5}
frames:
  - {name: tip, body: leg, placement: {position: [0, 0, -0.5]}}
"""


def test_joints_follow_a_table_and_the_base_the_ground(tmp_path):
    robot, table = tmp_path / "hopper.yaml", tmp_path / "push.csv"
    robot.write_text(HOPPER)
    motion = kt.trajectories.Sine([-0.1], [0.05], [2.0])
    t = np.linspace(0, 0.2, 21)
    columns = np.column_stack([t, *motion(t)])
    np.savetxt(table, columns, delimiter=",", header="time,q_leg,v_leg,a_leg", comments="")
    around = ("--time", 0.1, "--ground", "tip", "--ground-kind", "firm", "--integrator", "bdf", "--rtol", 1e-6)
    told = simulated(robot, "--follow", table, "--q0", "height=0.605", *around)
    ground = kt.ground.Ground(["tip"], kt.ground.Firm.overdamped(2000, 10, 3.5), kt.ground.PseudoCoulomb())
    ours = kt.simulate_prescribed(kt.load(robot), motion, [0.605], time=0.1, ground=ground, integrator="bdf", rtol=1e-6)
    assert told["final"]["q"]["height"] == pytest.approx(ours.q[-1, 0], abs=1e-5)
    assert told["final"]["q"]["leg"] == pytest.approx(motion(0.1)[0][0], abs=1e-9)
    assert told["largest_force"]["height"] == 0.0
    assert told["largest_force"]["leg"] == pytest.approx(np.abs(ours.tau[:, 1]).max(), rel=0.02)
    for wrong, words in (
        (["--q0", "leg=0.1"], "'leg' follows"),
        (["--q0", "0.65,0.1"], "off the motion"),
        (["--controller", "pd"], "leave --controller out"),
    ):
        assert words in invoke("simulate", robot, "--follow", table, *wrong, code=1).stderr
    whole = simulated(robot, "--follow", table, "--q0", "height=2")
    assert whole["time"] == pytest.approx(0.2)  # as long as the table
    table.write_text("time,q_leg\n0,0\n")
    assert "at least two rows" in invoke("simulate", robot, "--follow", table, code=1).stderr


def test_a_crank_that_moves_from_the_start_takes_its_linkage_along(tmp_path):
    table, robot = tmp_path / "crank.csv", kt.gallery.load("four-bar")
    t, begin = np.linspace(0, 0.1, 51), kt.gallery.start("four-bar")[0] + 0.2
    columns = np.column_stack([t, begin + 6.28 * t, np.full_like(t, 6.28), np.zeros_like(t)])
    names = "time,q_crank_joint,v_crank_joint,a_crank_joint"
    np.savetxt(table, columns, delimiter=",", header=names, comments="")
    invoke("simulate", "four-bar", "--follow", table, "--samples", 5, "-o", tmp_path / "r.npz")
    record = kt.Record.load(tmp_path / "r.npz")
    assert np.allclose(record.q[:, 0], begin + 6.28 * record.time, atol=1e-9)
    assert np.allclose(record.v, robot.velocities(record.q, np.full((5, 1), 6.28)), atol=1e-6)
    assert np.allclose(record.tau, robot.inverse_dynamics(record.q, record.v, record.a), atol=1e-6)
    refused = invoke("simulate", "four-bar", "--follow", table, "--v0", "crank_joint=1", code=1).stderr
    assert "'crank_joint' follows" in refused


def test_systems_start_where_they_are_drawn():
    told = simulated("four-bar", "--time", 0.05, "--samples", 2)
    ours = kt.simulate(kt.gallery.load("four-bar"), kt.gallery.start("four-bar"), time=0.05, samples=2)
    assert list(told["final"]["q"].values()) == ours.q[-1].tolist()
    told = simulated("gripper", "--q0", "free-fall", "--time", 0.05, "--samples", 2)
    ours = kt.simulate(kt.gallery.load("gripper"), kt.gallery.start("gripper", "free-fall"), time=0.05, samples=2)
    assert list(told["final"]["q"].values()) == ours.q[-1].tolist()


def test_a_configuration_of_the_file_and_how_loops_are_held(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "reference")
    robot = kt.gallery.load("five-bar")
    path = tmp_path / "bars.yaml"
    robot.save(path)
    q = [round(float(x), 4) for x in robot.close(kt.gallery.start("five-bar") + 0.05)]
    listed = ", ".join(f"{name}: {x}" for name, x in zip(robot.q_names, q, strict=True))
    path.write_text(path.read_text() + f"configurations:\n  ready: {{{listed}}}\n")
    common = ("--time", "0.002", "--integrator", "rk4", "--step", "1e-3", "-o", str(tmp_path / "r.npz"))
    for how in ("projection", "none"):
        simulated(str(path), "--q0", "ready", "--drift", how, *common)
        record = kt.Record.load(tmp_path / "r.npz")
        assert np.abs(record.q[0] - q).max() < 1e-3  # closed from four digits
        assert record.info.get("drift", "projection") == how
    told = invoke("simulate", str(path), "--q0", "steady", code=1).stderr
    assert "its file names 'ready'" in " ".join(told.split())
    told = invoke("simulate", str(path), "--drift", "glue", code=1).stderr
    assert "no way to correct drift named 'glue'" in " ".join(told.split())


def test_joints_in_loops_follow():
    told = simulated("four-bar", "--q0", "crank_joint=0.5", "--v0", "crank_joint=2", "--time", 1e-6)
    robot = kt.gallery.load("four-bar")
    q = np.array(list(told["final"]["q"].values()))
    v = np.array(list(told["final"]["v"].values()))
    assert q[0] == pytest.approx(0.5, abs=1e-5)
    assert robot.closure_error(q) < 1e-9
    assert np.abs(robot.loop_jacobian(q) @ v).max() < 1e-6
    assert v[0] == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--q0", "1,2"], "1 numbers are needed"),
        (["--q0", "hing=1"], "did you mean 'hinge'"),
        (["--q0", "hinge=x"], "'x' is not a finite number"),
        (["--q0", "1,hinge=2"], "numbers only, or joints only"),
        (["--q0", "falling"], "starts with names are for systems of the gallery"),
        (["--v0", "fast"], "--v0"),
        (["--controller", "pdd"], "did you mean 'pd'"),
        (["--kp", "a=3", "--controller", "pd"], "--kp"),
        (["--ground", "toe"], "named 'toe'"),
        (["--integrator", "rk5"], "no integrator named 'rk5'"),
        (["--integrator", "rk4"], "needs a step"),
        (["--time", "-1"], "time must be"),
        (["-o", "r.txt"], ".npz, .csv, .parquet"),
        (["-o", "nowhere/r.npz"], "no directory 'nowhere'"),
    ],
)
def test_what_cannot_be(tmp_path, pendulum, arguments, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in invoke("simulate", pendulum, *arguments, code=1).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["pendulum.yaml"]


def test_velocities_that_follow_cannot_be_given():
    assert "give crank_joint" in invoke("simulate", "four-bar", "--v0", "rocker_joint=1", code=1).stderr


def test_records_and_pictures_in_other_units_and_over_a_joint(tmp_path, pendulum):
    given = ("simulate", pendulum, "--q0", 0.3, "--time", 0.2, "--units", "deg", "--samples", 5)
    name = kt.load(pendulum).q_names[0]
    invoke(*given, "-o", tmp_path / "r.csv", "--plot", tmp_path / "p.svg", "--over", name)
    assert f"q_{name} [deg]" in (tmp_path / "r.csv").read_text()
    assert kt.Record.load(tmp_path / "r.csv").q[0, 0] == pytest.approx(0.3, rel=1e-14)
    assert f"{name} [deg]" in (tmp_path / "p.svg").read_text()
    assert "is in SI" in invoke(*given, "-o", tmp_path / "r.npz").stderr
    assert "--over needs --plot" in invoke(*given, "--over", name, code=1).stderr
    assert "no coordinate named" in invoke(*given, "--plot", tmp_path / "p.svg", "--over", "none", code=1).stderr


def test_a_picture_of_the_energy_alone(tmp_path, pendulum):
    from kinetree.cli.simulate import DRAWN
    from kinetree.simulation.records.plot import PANELS

    assert DRAWN == PANELS
    given = ("simulate", pendulum, "--q0", 0.3, "--time", 0.05, "--samples", 3)
    invoke(*given, "--plot", tmp_path / "e.svg", "--draw", "energy")
    drawn = (tmp_path / "e.svg").read_text()
    assert "energy [J]" in drawn
    assert "rad/s" not in drawn
    invoke(*given, "--plot", tmp_path / "two.svg", "--draw", "velocities, energy")
    drawn = (tmp_path / "two.svg").read_text()
    assert "energy [J]" in drawn
    assert "rad/s" in drawn
    wrong = invoke(*given, "--plot", tmp_path / "w.svg", "--draw", "enrgy", code=1).stderr
    assert "no part of a plot named 'enrgy'; did you mean 'energy'?" in wrong
    assert "--draw needs --plot" in invoke(*given, "--draw", "energy", code=1).stderr


def test_a_bad_ending_of_a_picture(tmp_path, pendulum):
    assert "--plot" in invoke("simulate", pendulum, "--time", 0.01, "--plot", tmp_path / "p.xyz", code=1).stderr
    assert "--separate needs --plot" in invoke("simulate", pendulum, "--separate", code=1).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["pendulum.yaml"]


def test_what_there_was_is_kept_when_it_cannot_go_on(tmp_path, pendulum):
    problem = invoke(
        "simulate", pendulum, "--controller", "pd", "--kp", 1e9, "--kd", 1, "--q0", 0.1, "--target", 0.2,
        "--integrator", "euler", "--step", 0.01, "--time", 9, "-o", tmp_path / "r.npz", code=1,
    ).stderr  # fmt: skip
    assert "at t = " in problem
    assert kt.Record.load(tmp_path / "r.npz").status == "failed"


def test_values_on_the_command_line():
    assert read_values("1, -2e-1 3", "--x") == [1.0, -0.2, 3.0]
    assert read_values("a=1,b=0:0:0:1", "--x") == {"a": [1.0], "b": [0.0, 0.0, 0.0, 1.0]}
    assert read_values("free-fall", "--x") == "free-fall"
    with pytest.raises(OptionError):
        read_values("1,inf", "--x")
    assert read_values("a=90deg,b=0.1:-45°", "--x", True) == {"a": [np.pi / 2], "b": [0.1, -np.pi / 4]}
    with pytest.raises(OptionError, match="'90deg' is not a finite number"):
        read_values("a=90deg", "--kp")


def test_angles_in_degrees_and_quaternions_with_few_digits():
    builder = kt.Builder("doll").body("trunk", "base", kt.Spherical(), joint_name="neck", mass=1.0)
    builder.body("arm", "trunk", kt.Revolute("y"), joint_name="hinge", mass=1.0)
    builder.body("rod", "arm", kt.Prismatic("z"), joint_name="slide", mass=1.0)
    robot = builder.build()
    q = configuration(robot, read_values("neck=0.3:0:0:0.954,hinge=30deg", "--q0", True), what="--q0")
    assert np.allclose(q, [0.3, 0, 0, np.sqrt(0.91), np.pi / 6, 0], atol=2e-5)
    assert abs(np.linalg.norm(q[:4]) - 1.0) < 1e-15
    with pytest.raises(OptionError, match="'slide': '30deg' does not fit: give a number in m"):
        configuration(robot, read_values("slide=30deg", "--q0", True), what="--q0")
    with pytest.warns(kt.ModelWarning, match=r"hinge = 30 rad is 4\.8 turns; .* write 30deg for degrees"):
        configuration(robot, {"hinge": 30.0}, what="--q0")
    with pytest.raises(kt.StateError, match="length off"):  # that is no rounding
        kt.simulate(robot, configuration(robot, {"neck": [0.5, 0, 0, 0.5]}), time=0.1)


# ---------------------------------------------------------------- info


def test_info_of_mechanisms():
    assert str(kt.gallery.load("four-bar").mobility()) in invoke("info", "four-bar").stdout
    data = json.loads(invoke("info", "four-bar", "--json").stdout)
    assert data["mobility"]["freedoms"] == 1
    assert data["mobility"]["independent"] == ["crank_joint"]
    assert [(loop["predecessor"], loop["successor"]) for loop in data["loops"]] == [("crank", "coupler")]
    assert json.loads(invoke("info", "kuka-kr5", "--json").stdout)["mobility"] is None


def test_unknown_robots():
    assert "did you mean 'four-bar'" in invoke("info", "four-bra", code=1).stderr
    assert "no robot file" in invoke("info", "arm.urdf", code=1).stderr


# ---------------------------------------------------------------- view


def test_view_hands_everything_over(tmp_path, monkeypatch):
    from kinetree import view

    asked = {}

    def play(robot, record, **options):
        asked.update(options, robot=robot, record=record)
        return [tmp_path / "a.png"]

    monkeypatch.setattr(view, "play", play)
    text = invoke(
        "view", "four-bar", tmp_path / "r.npz", "--screenshot", tmp_path / "a.png", "--at", 0.5, "--size", "640x480",
        "--port", 0,
    ).stdout  # fmt: skip
    assert asked["robot"] == "four-bar"
    assert asked["record"] == tmp_path / "r.npz"
    assert (asked["time"], asked["size"], asked["port"]) == (0.5, (640, 480), 0)
    assert "wrote" in text


def test_view_of_nothing():
    assert "did you mean 'four-bar'" in invoke("view", "four-bra", code=1).stderr


def test_sizes():
    assert read_size("1280x720") == (1280, 720)
    assert read_size(None) is None
    for bad in ("1280", "0x5", "axb"):
        with pytest.raises(OptionError, match="1280x720"):
            read_size(bad)


# ---------------------------------------------------------------- bench


@pytest.mark.parametrize("name", ["kuka-kr5", "stanford-arm", "gripper"])
def test_pinocchio_is_given_the_same_robot(name):
    pytest.importorskip("pinocchio")
    robot = kt.gallery.load(name).with_backend("compiled")
    timings = measure(robot, 64, 1, beside(robot, 64))
    assert [(t.algorithm, t.how) for t in timings] == [
        ("inverse_dynamics", "batch"), ("inverse_dynamics", "one state"),
        ("forward_dynamics", "batch"), ("forward_dynamics", "one state"),
    ]  # fmt: skip
    for timing in timings:
        assert timing.kinetree > 0
        assert timing.pinocchio > 0
        assert timing.difference < 1e-9


def test_bench_prints(tmp_path, pendulum):
    text = invoke("bench", pendulum, "--states", 16, "--rounds", 1).stdout
    assert "batch of 16" in text
    assert "two joints" in text  # where Pinocchio would write outside its arrays
    data = json.loads(invoke("bench", "four-bar", "--states", 4, "--rounds", 1, "--json").stdout)
    assert "loops" in data["without_pinocchio"]
    assert all(row["pinocchio"] is None for row in data["timings"])
    assert "--states" in invoke("bench", "--states", 0, code=1).stderr


def test_states_of_mechanisms_are_closed():
    robot = kt.gallery.load("four-bar")
    q, v, a = sample(robot, 3)
    robot.inverse_dynamics(q, v, a)  # would refuse others
    assert q.shape == (3, robot.nq)


def test_the_best_round_counts():
    def work():
        sum(range(20_000))

    best = _best({"a": work, "b": lambda: [work() for _ in range(20)]}, 3)
    assert best["b"] > 5 * best["a"]


# ---------------------------------------------------------------- as a program


def test_json_is_all_that_is_printed(pendulum):
    command = [sys.executable, "-m", "kinetree", "simulate", str(pendulum), "--time", "0.1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["time"] == pytest.approx(0.1)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--kp", 10], "--kp"), (["--target", "hinge=1"], "--target"), (["--duration", 1], "--duration"),
        (["--controller", "gravity", "--kd", 1], "--kd"), (["--controller", "pd", "--ki", 1], "--controller pid"),
        (["--stiffness", 1e4], "--ground"), (["--friction-coefficient", 0], "--ground"),
        (["--integrator", "rk4", "--step", 0.01, "--rtol", 1e-6], "adaptive"),
    ],
)  # fmt: skip
def test_options_that_would_do_nothing_are_refused(pendulum, options, names):
    assert names in invoke("simulate", pendulum, "--time", 0.1, *options, code=1).stderr


# ---------------------------------------------------------------- mechanisms in codegen and cost


def test_c_of_a_mechanism_closes_its_loops(tmp_path):
    told = json.loads(invoke("codegen", "four-bar", "-o", tmp_path, "--json").stdout)
    assert list(told["functions"]) == ["four_bar_closed_inverse_dynamics", "four_bar_closed_forward_dynamics"]
    assert "method" in invoke("codegen", "four-bar", "-o", tmp_path, "--method", "composite_body", code=1).stderr
    with pytest.raises(OptionError, match="without options"):
        kt.gallery.load("four-bar").codegen(tmp_path, [("forward_dynamics", {"method": "composite_body"})])


def test_cost_of_a_mechanism_is_with_its_loops_closed():
    told = json.loads(invoke("cost", "four-bar", "--no-formulas", "--json").stdout)
    totals = {row["name"]: row.get("multiplications") for row in told["algorithms"]}
    mechanism = kt.gallery.load("four-bar")
    for name in ("inverse_dynamics", "forward_dynamics"):
        assert totals[name] == mechanism.cost(name).multiplications > mechanism.tree.cost(name).multiplications
    assert "include the closed loops" in invoke("cost", "four-bar", "--no-formulas").stdout


# ---------------------------------------------------------------- advice


@pytest.mark.parametrize(
    ("command", "arguments", "advice"),
    [
        ("simulate", ["kuka-kr5", "--integrator", "rk4"], "such as --step 1e-3"),
        ("simulate", ["kuka-kr5", "--step", 0.1], "no --step ..., but --rtol ..., --atol ... and --largest-step ..."),
        ("simulate", ["kuka-kr5", "--integrator", "euler", "--step", 0.5, "--time", 20], ", --integrator radau"),
        ("simulate", ["four-bar", "--integrator", "variational", "--step", 0.01], "use --integrator rk4"),
        ("simulate", ["four-bar", "--integrator", "bdf"], "use --integrator radau"),
        ("simulate", ["kuka-kr5", "--rtol", -1], "--rtol must be a positive number"),
        ("simulate", ["kuka-kr5", "--largest-step", 0], "--largest-step must be a positive number"),
        ("simulate", ["kuka-kr5", "--samples", 1], "--samples must be at least 2"),
        ("simulate", ["kuka-kr5", "--time", -1], "--time must be seconds"),
        (
            "simulate",
            ["kuka-kr5", "--controller", "pd", "--kp", "1,2"],
            "--kp: one number, or one per motor (joint_1, ",
        ),
        ("simulate", ["four-bar", "--v0", "1,0,0"], "--v0: these velocities open loops"),
        ("codegen", ["kuka-kr5", "-a", "jacobian"], "give --frame ..., such as 'link_6'"),
        ("codegen", ["kuka-kr5", "--fma", "--own-math"], "which --own-math does without"),
        ("codegen", ["kuka-kr5", "-a", "floating_base_inverse_dynamics"], "load it with --floating-base"),
    ],
)
def test_advice_is_given_in_the_form_of_the_command_line(tmp_path, command, arguments, advice):
    more = ["-o", tmp_path / "c"] if command == "codegen" else []
    said = invoke(command, *arguments, *more, code=1).stderr
    assert advice in said
    assert not re.search(r"\w=(?!0\.3)", said), said  # no settings in Python's form
    assert not list(tmp_path.iterdir())


def test_advice_to_take_another_integrator_can_be_followed(tmp_path, pendulum):
    """A spring so stiff that dop853 would never arrive; what the message says then works."""
    stiff = ["simulate", pendulum, "--time", 100, "--controller", "pd", "--kp", 1e4, "--kd", 1e7, "--q0", "0.5"]
    said = invoke(*stiff, "--target", "0", code=1).stderr
    advice = re.search(r"use (--integrator \w+) or bdf", said)
    invoke(*stiff, "--target", "0", *advice[1].split())


@pytest.fixture
def hopper(tmp_path):
    b = kt.Builder("hopper").body("trunk", "base", kt.Free(), joint_name="root", mass=4.0, inertia=(0.1, 0.1, 0.05))
    b.body("leg", "trunk", kt.Prismatic("z"), mass=0.5, inertia=(0.01, 0.01, 0.001))
    b.frame("foot", "leg", position=(0, 0, -0.5)).build().save(tmp_path / "hopper.yaml")
    return tmp_path / "hopper.yaml"


def test_one_number_of_a_joint_with_several(hopper):
    """By the name that the summary prints; the others stay as they are."""
    whole = simulated(hopper, "--q0", "root=0:0:0:1:0:0:1.5", "--v0", "root=0:0:2:0:0:0", "--time", 0.1)
    names = list(whole["final"]["q"])
    single = simulated(hopper, "--q0", f"{names[6]}=1.5", "--v0", f"{list(whole['final']['v'])[2]}=2",
                       "--time", 0.1)  # fmt: skip
    assert single["final"] == whole["final"]
    counted = simulated(hopper, "--q0", "root[6]=1.5", "--v0", "root[2]=2", "--time", 0.1)
    assert counted["final"] == whole["final"]
    assert single["final"]["q"][names[6]] == pytest.approx(1.5 - 9.81 / 2 * 0.01)
    twice = invoke("simulate", hopper, "--q0", f"root=0:0:0:1:0:0:1,{names[6]}=2", code=1).stderr
    assert f"'{names[6]}' is given twice, by 'root' and by '{names[6]}'" in twice


def test_what_is_needed_of_a_joint_with_several_numbers_is_shown(hopper):
    """The example that the message gives can be followed."""
    said = invoke("simulate", hopper, "--q0", "root=1", code=1).stderr
    assert "joint 'root': 7 numbers are needed (such as root=0:0:0:1:0:0:0; or one of them, " in said
    examples = [said.partition("such as ")[2].partition(";")[0], said.partition("one of them, ")[2].partition(")")[0]]
    for example in examples:
        assert simulated(hopper, "--q0", example, "--time", 0.01)["status"] == "complete"
    assert "6 numbers are needed" in invoke("simulate", hopper, "--v0", "root=1", code=1).stderr
    explained = invoke("simulate", "--help").stdout
    assert "'ball=0:0:0:1'" in explained
    assert "'base.z=0.4'" in explained


def test_a_start_inside_the_ground_is_told_and_how_to_lift_it(hopper):
    """Following the advice there is no warning, and the foot is at the ground."""
    deep = invoke("simulate", hopper, "--ground", "foot", "--time", 0.01)
    assert deep.stderr.count("warning") == 1
    assert "frame 'foot' starts 0.5 m inside the ground" in deep.stderr
    advice = deep.stderr.split("--q0 ")[1].strip()
    lifted = invoke("simulate", hopper, "--ground", "foot", "--time", 0.01, "--q0", advice)
    assert "warning" not in lifted.stderr
    assert float(advice.partition("=")[2]) == pytest.approx(0.5)


def test_view_says_that_the_base_differs(two_arms):
    folder, _ = two_arms
    said = invoke(
        "view", folder / "fixed.yaml", "--floating-base", folder / "fixed.npz", "--screenshot", "x.png", code=1
    )
    assert "it was simulated on a fixed base; load the robot without --floating-base" in said.stderr
    said = invoke("view", folder / "arm.urdf", folder / "floating.npz", "--screenshot", "x.png", code=1)
    assert "joint 'floating_base'; load the robot with --floating-base" in said.stderr
    assert "another robot" not in said.stderr


def test_a_joint_given_twice_is_refused(pendulum):
    text = invoke("simulate", pendulum, "--q0", "hinge=1,hinge=2", code=1).stderr
    assert "--q0: 'hinge' is given more than once in 'hinge=1,hinge=2'" in text


def test_steps_that_would_take_for_ever_are_refused_in_the_words_of_the_command_line(pendulum):
    text = invoke("simulate", pendulum, "--integrator", "rk4", "--step", "1e-320", code=1).stderr
    assert "take a larger --step" in text
    assert "--steps-at-most" in text
    text = invoke("simulate", pendulum, "--samples", "999999999999", code=1).stderr
    assert "--samples must be at least 2 and at most" in text


def test_an_interrupted_run_is_written_and_does_not_end_as_if_all_were_well(pendulum, tmp_path, monkeypatch):
    from kinetree.simulation.equation import Equation

    usual, calls = Equation.rates, iter(range(300))

    def rates(self, *state):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return usual(self, *state)

    monkeypatch.setattr(Equation, "rates", rates)
    out = tmp_path / "r.npz"
    told = simulated(pendulum, "--q0", "0.3", "--time", 100, "-o", out, code=130)
    assert told["status"] == "interrupted"
    assert kt.Record.load(out).status == "interrupted"


def test_joints_that_no_target_names_stay_and_usual_gains_suit_every_joint():
    told = simulated(
        "kuka-kr5", "--q0", "joint_2=0.4, joint_3=-0.2", "--controller", "pd+gravity", "--target", "joint_1=1",
        "--time", 2,
    )  # fmt: skip
    assert np.allclose(list(told["final"]["q"].values()), [1.0, 0.4, -0.2, 0.0, 0.0, 0.0], atol=1e-3)


def test_stops_without_limits_say_that_they_do_nothing():
    told = invoke("simulate", "kuka-kr5", "--stops", "--time", 0.01)
    assert "--stops has no effect: no joint of" in told.stderr


def test_torques_beyond_the_limits_of_motors_are_told_everywhere(tmp_path, monkeypatch):
    """By ``simulate``, by ``inverse``, and by ``run``, on the terminal and in the summary."""
    robot = tmp_path / "lift.yaml"
    robot.write_text(
        "kinetree: 1\nname: lift\nbodies:\n  - {name: weight, parent: base, mass: 2, joint: {name: lift, kind: "
        "prismatic, axis: z, effort_limit: 15}}\n"
    )
    said = "stronger than allowed: lift 19.62, limit 15"
    typed = ["simulate", robot, "--controller", "computed-torque", "--time", 0.1, "--samples", 11]
    assert f"{said}. --limit robot keeps forces to the limits" in invoke(*typed).stdout
    assert json.loads(invoke(*typed, "--json").stdout)["too_strong"] == {"lift": [pytest.approx(19.62), 15.0]}
    assert "stronger" not in invoke(*typed, "--limit", "robot").stdout
    table = tmp_path / "still.csv"
    table.write_text("time,q_lift,v_lift,a_lift\n0,0,0,0\n1,0,0,0\n")
    for more in ((), ("-o", tmp_path / "tau.csv"), ("-o", tmp_path / "tau.npz")):
        assert said in invoke("inverse", robot, table, *more).stderr
    assert "stronger" not in invoke("inverse", robot, table, "--set", "weight.mass=1").stderr
    both = invoke("inverse", robot, table, "--set", "weight.mass=1,2").stderr
    assert both.count("stronger") == 1
    assert f"with weight.mass=2, {said}" in both
    study = tmp_path / "study.yaml"
    study.write_text(
        "kinetree-study: 1\nrobot: lift.yaml\nmotion: {kind: cycloid, to: {lift: 0.1}, duration: 1}\n"
        "controller: {kind: computed-torque}\nsimulation: {time: 0.1, samples: 11}\n"
    )
    monkeypatch.chdir(tmp_path)
    shown = invoke("run", study, "-o", tmp_path / "results").stdout
    summary = (tmp_path / "results" / "study" / "summary.md").read_text()
    for text in (shown, summary):
        assert text.count("Stronger than allowed: lift") == 2
        assert "In the controller, limited: true keeps forces to the limits." in text

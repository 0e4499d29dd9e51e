"""Runs that the studio computes: the library's numbers, code that repeats them, mistakes where they are made."""

import json
import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree_studio.desk.computing import Job, computed
from kinetree_studio.project.document import Document
from kinetree_studio.project.planned_motion import KINDS, simple_joints
from kinetree_studio.project.run_kinds import run_of
from kinetree_studio.view.page import unpacked


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Compute as users do: the reference would take long."""
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")


@pytest.fixture
def studio(tmp_path):
    with kt.studio("four-bar", folder=tmp_path, port=0) as made:
        yield made


pytestmark = pytest.mark.slow

STIFF = "adaptive, stiff"


def begin(system):
    robot = kt.load(system)
    return robot, [float(x) for x in (robot.neutral() if robot.loops is None else kt.gallery.start(system))]


def motion(robot, q, kind="quintic", times=(0.0, 0.5, 1.0), steps=(0.0, 0.2, 0.1), **more):
    joints = [j.name for j in simple_joints(robot)]
    first = [q[robot.joint(name).q_slice.start] for name in joints]
    points = [[x + step for x in first] for step in steps]
    given = {"joints": joints, "kinds": [kind] * len(joints), "times": list(times), "points": points, "values": {}}
    return {"kind": "motion", "q": q, **given, **more}


def simulation(robot, q, **more):
    return {"kind": "simulation", "q": q, "v": [0.0] * robot.nv, "seconds": 0.5, "values": {}, **more}


def result(studio, run):
    told = studio.heard({"do": "compute", "job": "one", "run": run})
    assert "problem" not in told, told
    return unpacked(told["result"])


def curve(found, title, name):
    group = next(g for g in found["groups"] if g["title"] == title)
    return np.split(np.asarray(group["data"]), len(group["names"]))[group["names"].index(name)]


@pytest.mark.parametrize(
    "system",
    ["four-bar", "kuka-kr5", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("five-bar", "gripper"))],
)
def test_forces_along_a_motion_are_those_of_the_library(studio, system):
    robot, q = begin(system)
    studio.heard({"do": "open", "system": system})
    found = result(studio, motion(robot, q))
    t, nq, nv = found["time"], robot.nq, robot.nv
    places = [robot.joint(j.name).q_slice.start for j in simple_joints(robot)]
    first = np.array(q)[places]
    path = kt.trajectories.spline([0, 0.5, 1], [first, first + 0.2, first + 0.1], degree=5)
    position, rate, change = path(t)
    if robot.loops is None:
        states = position, rate, change
        sizes = np.linalg.norm(robot.joint_wrenches(*states)[:, 0, 3:], axis=-1)
    else:
        moved = robot.driven_motion(position, rate, change, q_guess=q)
        states = moved.q, moved.v, moved.a
        sizes = np.linalg.norm(robot.constraint_forces(*states).at(robot.joint_names[0])[:, 3:], axis=-1)
    tau = robot.inverse_dynamics(*states)
    scale = np.abs(tau).max()
    assert np.abs(np.reshape(found["q"], (-1, nq)) - states[0]).max() < 1e-12
    assert np.abs(np.reshape(found["tau"], (-1, nv)) - tau).max() < 1e-12 * scale + 1e-14
    assert np.abs(curve(found, "Forces in joints", robot.joint_names[0]) - sizes).max() < 1e-11 * sizes.max()
    motor = robot.v_names[robot.model.motors[0]]
    parts = "What makes the torque of " + motor
    total = sum(curve(found, parts, name) for name in ("acceleration (M·a)", "velocity (C·v)", "weight (g)"))
    assert np.abs(total - curve(found, parts, "all")).max() < 1e-12 * scale
    if robot.loops is None:
        k = robot.model.motors[0]
        inertia = np.einsum("tij,tj->ti", robot.mass_matrix(states[0]), states[2])[:, k]
        assert np.abs(curve(found, parts, "acceleration (M·a)") - inertia).max() < 1e-11 * scale
        assert np.abs(curve(found, parts, "weight (g)") - robot.gravity_force(states[0])[:, k]).max() < 1e-12 * scale
    row = found["table"][0]
    assert row["peak"] == pytest.approx(np.abs(tau[:, robot.model.motors[0]]).max(), rel=1e-12)
    assert abs(row["rms"] ** 2 - np.trapezoid(tau[:, robot.model.motors[0]] ** 2, t)) < 1e-12 * scale**2


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_motion_goes_through_its_points(studio, kind):
    robot, q = begin("four-bar")
    found = result(studio, motion(robot, q, kind, (0, 0.4, 1.0), (0.0, 0.7, 0.3)))
    for t, step in ((0.0, 0.0), (0.4, 0.7), (1.0, 0.3)):
        k = int(np.abs(found["time"] - t).argmin())
        assert abs(found["time"][k] - t) < 1e-12
        assert abs(np.reshape(found["q"], (-1, 3))[k, 0] - q[0] - step) < 1e-12


def test_joints_have_points_and_kinds_of_their_own(studio):
    robot, q = begin("kuka-kr5")
    studio.heard({"do": "open", "system": "kuka-kr5"})
    run = motion(robot, q)
    run["kinds"] = ["cycloid", *run["kinds"][1:]]
    run["points"][1] = [None, *run["points"][1][1:]]
    run["points"][2] = [run["points"][2][0], None, *run["points"][2][2:]]
    states = np.reshape(result(studio, run)["q"], (-1, 6))
    assert np.abs(states[90, 0] - 0.05) < 1e-12  # halfway, by one cycloid from 0 to 0.1
    assert np.abs(states[90:, 1] - 0.2).max() < 1e-12  # it stays at its last point


@pytest.mark.parametrize(
    ("system", "more"),
    [
        ("four-bar", {"controller": "PD", "kp": [2.0], "kd": [0.3]}),
        ("kuka-kr5", {"controller": "computed torque", "kp": [100.0], "kd": [20.0]}),
        ("kuka-kr5", {"controller": "PID", "kp": [90.0] * 6, "kd": [9.0] * 6, "ki": [5.0] * 6, "method": STIFF}),
        ("gripper", {"controller": "PD with gravity", "kp": [3.0], "kd": [1.0], "method": "implicit"}),
        ("four-bar", {"controller": "none", "values": {"mass of crank": 2.0}}),
    ],
)  # fmt: skip
def test_simulations_are_those_of_the_library(studio, system, more):
    robot, q = begin(system)
    studio.heard({"do": "open", "system": system})
    follows = more["controller"] != "none"
    run = simulation(robot, q, motion=motion(robot, q) if follows else None, on_motion=follows, **more)
    found = result(studio, run)
    places = [robot.joint(j.name).q_slice.start for j in simple_joints(robot)]
    first = np.array(q)[places]
    goal = kt.trajectories.spline([0, 0.5, 1], [first, first + 0.2, first + 0.1], degree=5).held()
    kp, kd, ki = (more.get(name, [0.0]) for name in ("kp", "kd", "ki"))
    law = {
        "PD": lambda: kt.control.PD(goal, kp[0], kd[0]), "PID": lambda: kt.control.PID(goal, kp, kd, ki),
        "PD with gravity": lambda: kt.control.PD(goal, kp[0], kd[0]) + kt.control.GravityCompensation(),
        "computed torque": lambda: kt.control.ComputedTorque(goal, kp[0], kd[0]), "none": lambda: None,
    }[more["controller"]]()  # fmt: skip
    options = {
        STIFF: {"integrator": "radau", "rtol": 1e-6, "atol": 1e-8},
        "implicit": {"integrator": "implicit_euler", "step": 1e-3},
    }
    crank = robot.body("crank").mass_properties if "values" in more else None
    changed = None
    if crank is not None:
        factor = 2.0 / crank.mass
        changed = {"bodies": {"crank": {"mass": 2.0, "inertia": [factor * x for x in crank.inertia]}}}
    record = kt.simulate(
        robot, q, time=0.5, controller=law, samples=101, parameters=changed, progress=False,
        **options.get(more.get("method"), {}),
    )  # fmt: skip
    assert np.abs(np.reshape(found["q"], (-1, robot.nq)) - record.q).max() < 1e-12
    assert np.abs(np.reshape(found["tau"], (-1, robot.nv)) - record.tau).max() < 1e-11 * max(
        1, np.abs(record.tau).max()
    )
    balance = curve(found, "Energy: where it comes from", "error of the balance")
    assert np.abs(balance - (record.energy.total - record.energy.total[0])).max() < 1e-12 * 100


def test_python_repeats_what_was_computed_to_the_last_bit(tmp_path):
    document = Document.open("five-bar")
    robot, q = begin("five-bar")
    planned = motion(robot, q, "cycloid")
    run = simulation(robot, q, motion=planned, on_motion=True, controller="PD", kp=[30.0, 30.0], kd=[3.0, 3.0])
    for one in (planned, {**planned, "kinds": ["quintic"] * 2}, run):
        document.add_run(one)
    assert [made.KIND for made in document.runs] == ["motion", "simulation"]  # the first was tuned
    shown = [computed(made, robot, Job())["content"] for made in document.runs]
    done = {}
    exec(document.script(), done)
    assert np.array_equal(done["record"].q.ravel(), shown[1]["q"])
    assert np.array_equal(done["record"].tau.ravel(), shown[1]["tau"])
    document.runs.pop()
    exec(document.script(), done)
    assert np.array_equal(done["tau"].ravel(), shown[0]["tau"])
    document.add_run(run)
    document.save(tmp_path / "mine.yaml")  # and runs are kept with the project
    assert Document.open(tmp_path / "mine.yaml").runs == [run_of({**r.content()}, robot) for r in document.runs]


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"times": [0.0, 0.5, 0.5]}, "motion", "times must increase: 0.5 s comes after 0.5 s"),
        ({"times": [0.1, 0.5, 0.6]}, "motion", "the first point is at 0 s"),
        ({"points": [[0.0], [1.0], [float("nan")]]}, "motion", "positions must be numbers"),
        ({"kinds": ["jump"]}, "motion", "jump"),
        ({"joints": ["elbow"]}, "motion", "elbow"),
        ({"joints": ["rocker_joint"]}, "motion", "rocker_joint"),
    ],
)
def test_a_mistake_is_told_with_the_place_where_it_is_mended(studio, change, where, said):
    robot, q = begin("four-bar")
    told = studio.heard({"do": "compute", "job": "one", "run": {**motion(robot, q), **change}})
    assert said in told["problem"]
    assert told["where"] == where
    assert not studio.document.runs


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"controller": "PD", "kp": [1.0, 2.0], "kd": [1.0]}, "controller", "kp"),
        ({"controller": "LQR", "kp": [1.0], "kd": [1.0], "ki": [-1.0]}, "controller", "efforts"),
        ({"method": "Runge-Kutta", "step": 0.0}, "simulation", "step"),
        ({"seconds": -1.0}, "simulation", "-1"),
        ({"ground": "shapes"}, "ground", "shapes"),
    ],
)
def test_mistakes_of_simulations_too(studio, change, where, said):
    robot, q = begin("four-bar")
    told = studio.heard({"do": "compute", "job": "one", "run": simulation(robot, q, **change)})
    assert said in told["problem"]
    assert told["where"] == where


def test_a_crank_that_cannot_turn_round_says_when_it_stops(studio):
    studio.document.set("loops", "crank_pin", "placement", "position", to=["160 mm", 0, 0])
    robot = studio.document.robot
    q = robot.assembled()
    told = studio.heard({"do": "compute", "job": "one", "run": motion(robot, q.tolist(), steps=(0.0, 3.0, 6.0))})
    assert told["where"] == "motion"
    assert told["problem"].startswith("at t = 0.")


def test_names_are_no_code(tmp_path):
    bad = "'); raise SystemExit('hurt') #\"\"\"\\"
    joint = json.dumps({"name": bad, "kind": "revolute"})
    body = f"{{name: link, parent: base, joint: {joint}, mass: 1, com: [1, 0, 0]}}"
    text = f"kinetree: 1\nname: arm\nbodies:\n  - {body}\n"
    document = Document(text)
    robot = document.robot
    assert list(robot.joint_names) == [bad]
    run = motion(robot, [0.0])
    document.add_run(run)
    document.add_run(simulation(robot, [0.0], motion=run, on_motion=True, controller="PD", kp=[1.0], kd=[1.0]))
    for made in document.runs:
        computed(made, robot, Job())
    exec(document.script(), {})


def test_progress_is_told_and_a_run_can_be_ended(studio):
    robot, q = begin("four-bar")
    run = simulation(robot, q, seconds=400.0, method="Runge-Kutta", step=1e-4)
    answers = []
    work = threading.Thread(target=lambda: answers.append(studio.heard({"do": "compute", "job": "long", "run": run})))
    work.start()
    seen = set()
    while work.is_alive() and len(seen) < 3:
        seen.add(studio.heard({"do": "progress", "job": "long"})["done"])
    studio.heard({"do": "edit", "edit": {"do": "set", "at": ["gravity"], "to": [0, -5, 0]}})  # others are answered
    studio.heard({"do": "cancel", "job": "long"})
    work.join(timeout=20)
    assert not work.is_alive()
    assert len([x for x in seen if 0 < x < 1]) >= 1
    kept = unpacked(answers[0]["result"])["time"]
    assert 0 < kept[-1] < 400


def test_the_best_linear_feedback_brings_a_pose_back(studio):
    robot, q = begin("two-link")
    studio.heard({"do": "open", "system": "two-link"})
    away = [q[0] + 0.1, q[1] - 0.1]
    weights = {"kp": [100.0], "kd": [1.0], "ki": [0.01]}
    found = result(studio, simulation(robot, away, goal=q, controller="LQR", seconds=3.0, method=STIFF, **weights))
    assert np.abs(np.reshape(found["q"], (-1, 2))[-1] - q).max() < 1e-2


@pytest.mark.parametrize(
    "system",
    [
        "space-four-bar",
        "spatial-double-pendulum",
        "rolling-ball",
        pytest.param("biped-planar", marks=pytest.mark.thorough),
    ],
)
def test_robots_with_bases_and_balls_have_motions_or_a_reason(studio, system):
    robot, q = begin(system)
    studio.heard({"do": "open", "system": system})
    offered = studio.heard({"do": "offers", "pose": q})
    told = studio.heard({"do": "compute", "job": "one", "run": motion(robot, q)})
    if not offered["joints"]:
        assert "no joint that turns or slides alone" in told["problem"]
        return
    states = np.reshape(unpacked(told["result"])["q"], (-1, robot.nq))
    if robot.is_floating:
        assert np.ptp(states[:, :3], axis=0).max() < 1e-9
        assert any("base is held" in note for note in told["notes"])
    if offered["motors"]:
        run = simulation(robot, q, goal=q, controller="PD with gravity", seconds=0.1, **offered["gains"])
        assert np.isfinite(result(studio, run)["q"]).all()


def test_gains_that_are_offered_hold_the_robot(studio):
    robot, q = begin("kuka-kr5")
    studio.heard({"do": "open", "system": "kuka-kr5"})
    offered = studio.heard({"do": "offers", "pose": q})
    assert [j["name"] for j in offered["motors"]] == list(robot.joint_names)
    run = simulation(robot, [0.1, *q[1:]], goal=q, controller="PD with gravity", seconds=2.0, **offered["gains"])
    found = result(studio, run)
    assert np.abs(np.reshape(found["q"], (-1, 6))[-1] - q).max() < 1e-3
    assert studio.heard({"do": "offers", "pose": q})["last"]["simulation"]["controller"] == "PD with gravity"


def test_a_ball_lies_on_a_slope_of_the_studio(studio):
    body = "{name: foot, parent: base, joint: {kind: prismatic, axis: z}, mass: 2}"
    text = f"kinetree: 1\nname: hopper\nbodies:\n  - {body}\n"
    studio.heard({"do": "open", "text": text})
    found = result(
        studio, simulation(studio.document.robot, [0.0], ground="plane", stiffness=1e5, method="implicit", seconds=2.0)
    )
    total = curve(found, "Forces of the ground", "all together")
    assert abs(total[-1] - 2 * 9.81) < 1e-2
    assert curve(found, "Forces in joints", "foot_joint")[-1] < 1e-2  # the ground has all of the weight
    assert found["spots"] == [{"body": 0, "point": [0, 0, 0]}]
    assert np.abs(np.reshape(found["ground"], (-1, 3))[-1] - [0, 0, 2 * 9.81]).max() < 1e-2
    with pytest.raises(KinetreeError):
        run_of({"kind": "dance", "q": []}, studio.document.robot)


def sweep(of, numbers, lows, highs, counts, measure):
    return {"kind": "sweep", "q": of["q"], "of": of, "numbers": numbers, "lows": lows, "highs": highs, "counts": counts,
            "measure": measure}  # fmt: skip


@pytest.mark.parametrize("system", ["four-bar", "kuka-kr5"])
def test_a_sweep_measures_each_design_as_if_it_were_alone(studio, system):
    robot, q = begin(system)
    studio.heard({"do": "open", "system": system})
    planned = motion(robot, q)
    mass, length = ("mass of crank", "length of rocker") if system == "four-bar" else ("mass of link_2", "gravity")
    motor, pin = robot.v_names[robot.model.motors[1 if system == "kuka-kr5" else 0]], robot.joint_names[1]
    known = {one["name"]: one for one in studio.heard({"do": "offers", "pose": q})["sweeps"]["motion"]["numbers"]}
    ends = [0.8 * known[length]["value"], 1.1 * known[length]["value"]]
    for measure in (f"peak torque of {motor}", f"rms torque of {motor}", f"peak force in {pin}"):
        run = sweep(planned, [mass, length], [1.0, ends[0]], [3.0, ends[1]], [3, 2], measure)
        found = result(studio, run)
        assert found["unit"] == ("N" if "force" in measure else "N m")
        alone = result(studio, {**planned, "values": {mass: 2.0, length: ends[1]}})
        if "torque" in measure:
            row = next(one for one in alone["table"] if one["name"] == motor)
            value = row["peak" if "peak" in measure else "rms"]
        else:
            value = curve(alone, "Forces in joints", pin).max()
        assert found["value"][3] == pytest.approx(value, rel=1e-9)
    done = {}
    document = studio.document
    document.runs[:] = [run_of({**run, "text": document.text}, robot)]
    exec(document.script(), done)
    assert np.array_equal(done["value"], found["value"])


def test_sweeps_of_simulations_vary_masses_and_gains(studio):
    robot, q = begin("kuka-kr5")
    studio.heard({"do": "open", "system": "kuka-kr5"})
    gains = studio.heard({"do": "offers", "pose": q})["gains"]
    base = {"motion": motion(robot, q), "on_motion": True, "controller": "PD", "method": "Runge-Kutta"}
    run = simulation(robot, q, **base, **gains)
    names = ["mass of link_2", "stiffness of the motors (factor)"]
    found = result(studio, sweep(run, names, [10.0, 0.5], [30.0, 1.0], [3, 2], "last position of joint_2"))
    stiff = {**gains, "kp": [0.5 * x for x in gains["kp"]]}
    alone = result(studio, simulation(robot, q, **base, **stiff, values={"mass of link_2": 20.0}))
    assert found["value"][2] == pytest.approx(np.reshape(alone["q"], (-1, 6))[-1, 1], abs=1e-12)
    for change, said in (
        ({"lows": [30.0, 0.5]}, "from a smaller number to a larger one"), ({"counts": [3000, 20]}, "at most"),
        ({"numbers": ["mass of nothing", names[1]]}, "nothing"), ({"measure": "beauty"}, "beauty"),
    ):  # fmt: skip
        wrong = {**sweep(run, names, [10.0, 0.5], [30.0, 1.0], [3, 2], "last position of joint_2"), **change}
        told = studio.heard({"do": "compute", "job": "one", "run": wrong})
        assert said in told["problem"]
        assert told["where"] == "sweep"


def design_run(robot, **more):
    goal = {"kind": "torque", "by": "peak"}
    free = {"free": ["crank.mass", "crank_pin.position.x"], "lows": [1.0, 0.03], "highs": [2.0, 0.05]}
    return {
        "kind": "design",
        "q": robot.assembled().tolist(),
        **free,
        "wanted": [goal],
        "samples": 36,
        "starts": 2,
        **more,
    }


def test_a_design_is_found_as_one_edit_and_repeated_by_python(studio):
    robot = studio.document.robot
    run = design_run(robot, limits=[{"kind": "swing", "of": "rocker_joint", "low": 0.3}])
    found = result(studio, run)
    alone = kt.design(
        robot, {"crank.mass": (1.0, 2.0), "crank_pin.position.x": ("0.03 m", "0.05 m")}, kt.design.Torque(),
        kt.design.Swing("rocker_joint") >= 0.3, samples=36, starts=2, progress=False,
    )  # fmt: skip
    assert [one["after"] for one in found["numbers"]] == list(alone.columns["after"])
    assert found["goals"][0]["after"] == alone.goals[0].after < found["goals"][0]["before"]
    edit = {"do": "replace", "text": found["text"], "title": "design"}
    assert studio.heard({"do": "edit", "edit": edit})["undo"] == "design"
    done = {}
    exec(studio.document.script(), done)
    assert done["found"].numbers == alone.numbers
    assert done["robot"] == studio.document.robot
    studio.heard({"do": "undo"})
    assert studio.document.robot == robot


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"free": [], "lows": [], "highs": []}, "free", "nothing may change"),
        ({"wanted": []}, "design", "nothing is wanted"),
        ({"lows": [3.0, 0.03]}, "free", "from a smaller number to a larger one"),
        ({"limits": [{"kind": "swing", "of": "rocker_joint"}]}, "design", "at least"),
        ({"wanted": [{"kind": "pin force", "of": "nothing"}]}, "design", "nothing"),
    ],
)
def test_mistakes_of_designs(studio, change, where, said):
    told = studio.heard({"do": "compute", "job": "one", "run": design_run(studio.document.robot, **change)})
    assert said in told["problem"]
    assert told["where"] == where

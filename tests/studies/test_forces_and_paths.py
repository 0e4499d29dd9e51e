"""What study files write on request: pin forces, paths of points, other units."""

import csv

import numpy as np
import pytest

import kinetree as kt
from kinetree.studies.system import States
from kinetree.studies.user_study.forces_on_motion import loads_on
from kinetree.studies.user_study.reader import read

STUDY = """kinetree-study: 1
robot: four-bar
motion: {kind: constant-speed, speed: {crank_joint: 60 rpm}, duration: 1 s}
outputs:
  samples: 20
  forces: true
  paths: {pen: {frame: coupler, point: [50 mm, 20 mm, 0]}, rocker: {frame: rocker}}
  units: [deg, mm, rpm]
"""


def study(tmp_path, text):
    (tmp_path / "mine.yaml").write_text(text)
    return read(tmp_path / "mine.yaml")


def columns(file):
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def test_pin_forces_paths_and_units(tmp_path):
    result = study(tmp_path, STUDY).run()
    result.write(tmp_path / "out")
    (folder,) = {file.parent for file in (tmp_path / "out").rglob("inverse-motion.csv")}
    motion, forces, paths = (columns(folder / f"inverse-{name}.csv") for name in ("motion", "forces", "paths"))
    robot = kt.load("four-bar")
    q = np.radians(np.stack([motion[f"q_{name} [deg]"] for name in robot.joint_names], axis=-1))
    v = np.stack([motion[f"v_{name} [rpm]"] for name in robot.joint_names], axis=-1) * np.pi / 30
    a = np.radians(np.stack([motion[f"a_{name} [deg/s^2]"] for name in robot.joint_names], axis=-1))
    assert np.allclose(v[:, 0], 2 * np.pi)
    judge = robot.constraint_forces(q, v, a)
    assert np.allclose(forces["tau_crank_joint [N m]"], judge.tau[:, 0], atol=1e-9)
    assert np.allclose(forces["crank_pin.world_fx [N]"], judge.at("crank_pin")[:, 3], atol=1e-9)
    assert np.allclose(forces["coupler_joint.world_fy [N]"], judge.at("coupler_joint")[:, 4], atol=1e-9)
    assert np.allclose(forces["coupler_joint.body_fy [N]"], judge.joint_wrenches[:, 2, 4], atol=1e-9)
    pen = robot.point_position(q, "coupler", (0.05, 0.02, 0.0))
    assert np.allclose(np.stack([paths[f"pen.{x} [mm]"] for x in "xyz"], axis=-1), 1000 * pen, atol=1e-9)
    assert {"inverse-joint-forces.svg", "inverse-paths.svg"} <= {file.name for file in folder.iterdir()}
    other = kt.load("four-bar").inverse_dynamics(q, v, a)  # units in the headers are read again
    assert np.allclose(other[:, 0], forces["tau_crank_joint [N m]"], atol=1e-9)


def test_trees_and_simulations_have_them_too(tmp_path):
    text = "kinetree-study: 1\nrobot: kuka-kr5\nsimulation: {time: 50 ms, samples: 5}\n"
    text += "outputs: {forces: true, paths: [link_6]}\n"
    (outcome,) = study(tmp_path, text).run().outcomes.values()
    record, table = outcome.records["record"], outcome.tables["forces"]
    wrenches = record.robot.joint_wrenches(record.q, record.v, record.a)
    assert np.allclose(table["joint_2.body_fz [N]"], wrenches[:, 1, 5])
    turned = record.robot.pose(record.q, "link_2")[:, :3, :3] @ wrenches[:, 1, 3:, None]
    assert np.allclose(table["joint_2.world_fz [N]"], turned[:, 2, 0])
    assert np.allclose(outcome.tables["paths"]["link_6.z [m]"], record.robot.pose(record.q, "link_6")[:, 2, 3])
    (outcome,) = (
        study(tmp_path, text + "forces: [{kind: push, at: link_6, force: [0, 0, 5]}]\n").run().outcomes.values()
    )
    assert "forces" not in outcome.tables
    assert "paths" in outcome.tables
    assert any("Forces at joints are not written" in line for line in outcome.remarks)


def test_records_of_simulations_are_in_the_units_too(tmp_path):
    text = "kinetree-study: 1\nrobot: kuka-kr5\nsimulation: {time: 20 ms, samples: 3}\noutputs: {units: [deg, rpm]}\n"
    result = study(tmp_path, text).run()
    (outcome,) = result.outcomes.values()
    record = outcome.records["record"]
    result.write(tmp_path / "out", pictures=False)
    (file,) = (tmp_path / "out").rglob("simulation-record.csv")
    written = columns(file)
    np.testing.assert_allclose(written["q_joint_2 [deg]"], np.degrees(record.q[:, 1]), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(written["v_joint_2 [rpm]"], record.v[:, 1] * 30 / np.pi, rtol=1e-12, atol=1e-15)
    assert abs(record.q[-1, 1]) > 0
    np.testing.assert_allclose(kt.Record.load(file).q, record.q, rtol=1e-12, atol=1e-15)


def test_curves_and_tables_over_the_angle_of_a_crank(tmp_path):
    (outcome,) = (
        study(tmp_path, STUDY.replace("samples: 20", "samples: 20\n  over: crank_joint")).run().outcomes.values()
    )
    for name, table in outcome.tables.items():
        assert next(iter(table)) == "q_crank_joint [deg]", name
        assert np.allclose(table["q_crank_joint [deg]"], np.linspace(0, 360, 20))
    for name in ("motion", "forces", "joint-forces"):
        assert outcome.figures[name].x_label == "crank_joint [deg]"
        assert np.allclose(outcome.figures[name].x, np.linspace(0, 360, 20))


@pytest.mark.parametrize("locked", ["{joint_5: 0.1, joint_6: 90 deg}", "[joint_5, joint_6]"])
def test_locked_joints(tmp_path, locked):
    text = f"kinetree-study: 1\nrobot: {{name: kuka-kr5, locked: {locked}}}\n"
    text += "motion: {kind: cycloid, to: {joint_1: 60 deg}, duration: 1}\n"
    made = study(tmp_path, text)
    (outcome,) = made.run(quick=True).outcomes.values()
    at = {"joint_5": 0.1, "joint_6": np.pi / 2} if locked[0] == "{" else ["joint_5", "joint_6"]
    judge, table = kt.load("kuka-kr5").reduced(at), outcome.tables["motion"]
    q, v, a = (np.stack([table[f"{key}_{name}"] for name in judge.joint_names], axis=-1) for key in "qva")
    assert np.allclose(judge.inverse_dynamics(q, v, a)[:, 1], table["tau_joint_2"], atol=1e-9)
    with pytest.raises(kt.FileFormatError, match=r"line 2.*no joint named 'joint_9'"):
        study(tmp_path, text.replace("joint_6", "joint_9"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("frame: coupler, ", "frame: couplr, ", "line 7.*no body or frame named 'couplr'"),
        ("50 mm", "50 deg", "line 7.*'50 deg' does not fit"),
        ("[deg, mm, rpm]", "[degs]", "line 8.*unit 'degs' is not understood"),
        ("forces: true", "over: crank", "line 6.*no coordinate named 'crank'"),
        ("forces: true", "forces: maybe", "line 6.*true or false"),
    ],
)
def test_what_cannot_be(tmp_path, before, after, said):
    with pytest.raises(kt.FileFormatError, match=said):
        study(tmp_path, STUDY.replace(before, after))


def test_a_summary_says_whose_friction_forces_leave_out(tmp_path):
    rough = kt.load("four-bar").with_parameters({"joints.crank_joint.damping": 0.2})
    rough.save(tmp_path / "rough.yaml")
    for robot, told in (("rough.yaml", True), ("four-bar", False)):
        result = study(tmp_path, STUDY.replace("robot: four-bar", f"robot: {robot}")).run()
        folder = result.write(tmp_path / robot.partition(".")[0], pictures=False)
        summary = (folder / "summary.md").read_text()
        assert ("These forces leave out the friction of crank_joint." in summary) is told


GAS = """kinetree-study: 1
robot: slider-crank
motion: {{kind: constant-speed, speed: {{{crank}: 600 rpm}}, duration: 0.1 s}}
forces:
  - kind: joint-push
    joint: {slide}
    over: {crank}
    force: {{x: [0 deg, 90 deg, 200 deg], y: [-900, -300, 0], period: 360 deg}}
outputs: {{samples: 30, forces: true}}
"""


def test_inverse_has_the_forces_of_the_file_without_a_simulation(tmp_path):
    robot = kt.load("slider-crank")
    (crank,) = robot.independent()
    slide = next(name for name in robot.joint_names if robot.tau_units[robot.v_names.index(name)] == "N")
    result = study(tmp_path, GAS.format(crank=crank, slide=slide)).run()
    outcome = result.outcomes["inverse"]
    assert not result.faults
    assert any("JointPush" in remark for remark in outcome.remarks)
    table = outcome.tables["motion"]
    q, v, a = (np.stack([table[f"{key}_{name}"] for name in robot.v_names], axis=-1) for key in "qva")
    gas = kt.forces.Characteristic([0, np.pi / 2, np.radians(200)], [-900, -300, 0], period=2 * np.pi)
    push = np.array([gas(x) for x in q[:, robot.v_names.index(crank)]])
    dry = robot.inverse_dynamics(q, v, a)[:, robot.v_names.index(crank)]
    work = push * v[:, robot.v_names.index(slide)] / v[:, robot.v_names.index(crank)]
    assert np.abs(work).max() > 1.0
    assert np.allclose(table[f"tau_{crank}"], dry - work, atol=1e-9)  # virtual work
    assert np.allclose(outcome.tables["forces"][f"tau_{crank} [N m]"], dry - work, atol=1e-9)


def test_forces_at_joints_become_loads_with_the_same_work():
    rng, time = np.random.default_rng(5), np.linspace(0, 1, 4)
    for robot in (*map(kt.load, ("quadruped", "kuka-kr5")), spherical()):
        q = robot.normalize(robot.neutral() + 0.5 * rng.normal(size=(4, robot.nq)))
        motion = States(q, *rng.normal(size=(2, 4, robot.nv)))
        given = rng.normal(size=robot.nv)
        own = kt.forces.OwnForce(lambda t, q, v, given=given: [x * (1 + t) for x in given])
        loads = loads_on(robot.model, [own], time, motion)
        less = robot.inverse_dynamics(*motion) - robot.inverse_dynamics(*motion, loads)
        assert np.allclose(less, given * (1 + time)[:, None], atol=1e-10)


def spherical():
    made = kt.Builder("arm").body("ball", "base", kt.Spherical(), mass=1, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    made = made.body("led", "ball", kt.Revolute("y"), position=(0.3, 0.1, 0), mass=1, com=(0, 0, -1))
    return made.body("follower", "led", kt.Revolute("x"), position=(0, 0, 1), mass=1, com=(0, 1, 0)).build()


def test_a_force_that_ends_before_the_motion_is_refused(tmp_path):
    text = "kinetree-study: 1\nrobot: kuka-kr5\nmotion: {kind: cycloid, to: {joint_1: 1}, duration: 2}\n"
    text += "forces:\n  - {kind: push, at: link_6, force: {times: [0, 1], values: [[0, 0, 0], [9, 0, 0]]}}\n"
    with pytest.raises(kt.errors.OptionError, match="Push covers 0 to 1 s, but the motion takes 0 to 2 s"):
        study(tmp_path, text).run()
    with pytest.raises(kt.errors.FileFormatError, match="'forces' needs a simulation"):
        study(tmp_path, "kinetree-study: 1\nrobot: kuka-kr5\nforces: []\n")


def test_a_list_of_forces_alone_is_a_file_of_forces(tmp_path):
    listed = "- {kind: joint-push, joint: elbow, force: {x: [0 deg, 90 deg], y: [0, 8]}, over: elbow}\n"
    (tmp_path / "bare.yaml").write_text(listed)
    (tmp_path / "named.yaml").write_text("forces:\n" + listed)
    for name in ("bare", "named"):
        (push,) = kt.forces.load(tmp_path / f"{name}.yaml")
        assert push.force(np.pi / 4) == pytest.approx(4.0)

"""What study files write on request: pin forces, paths of points, other units."""

import csv

import numpy as np
import pytest

import kinetree as kt
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
    assert np.allclose(table["joint_2.fz [N]"], wrenches[:, 1, 5])
    assert np.allclose(outcome.tables["paths"]["link_6.z [m]"], record.robot.pose(record.q, "link_6")[:, 2, 3])
    (outcome,) = (
        study(tmp_path, text + "forces: [{kind: push, at: link_6, force: [0, 0, 5]}]\n").run().outcomes.values()
    )
    assert "forces" not in outcome.tables
    assert "paths" in outcome.tables
    assert any("Forces at joints are not written" in line for line in outcome.remarks)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("frame: coupler, ", "frame: couplr, ", "line 7.*no body or frame named 'couplr'"),
        ("50 mm", "50 deg", "line 7.*'50 deg' does not fit"),
        ("[deg, mm, rpm]", "[degs]", "line 8.*unit 'degs' is not understood"),
        ("forces: true", "forces: maybe", "line 6.*true or false"),
    ],
)
def test_what_cannot_be(tmp_path, before, after, said):
    with pytest.raises(kt.FileFormatError, match=said):
        study(tmp_path, STUDY.replace(before, after))

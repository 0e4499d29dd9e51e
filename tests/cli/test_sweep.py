"""``kinetree sweep``: a study's file with what varies in it."""

import json
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke

pytest.importorskip("pyarrow")

STUDY = """
kinetree-study: 1
robot: arm.yaml
start: {q: {upper_joint: 0.3}}
simulation: {time: 0.2, integrator: rk4, step: 1e-2, samples: 11}
sweep:
  parameters:
    q0.upper_joint: {linspace: [0.1, 0.4, 4]}
    bodies.lower.mass: [1.0, 2.0]
  outputs: [final.q.upper_joint, energy_error]
"""


def test_sweep_of_a_study_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    b = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=2, com=(0, 0, 0.5))
    arm = b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, 1), mass=1, com=(0, 0, 0.4)).build()
    arm.save("arm.yaml")
    (tmp_path / "study.yaml").write_text(STUDY)
    done = invoke(
        "sweep", "study.yaml", "-o", "results", "--workers", "0", "--best", "final.q.upper_joint", "--rows", "2"
    )
    assert done.exit_code == 0, done.output
    assert "8 rows" in done.output
    assert "deviation" not in done.output  # few rows are shown one by one
    found = kt.sweeps.SweepResult("results").arrays()
    record = kt.simulate(
        arm, [0.2, 0.0], time=0.2, integrator="rk4", step=1e-2, parameters={"bodies": {"lower": {"mass": 2.0}}}
    )
    assert found["final.q.upper_joint"][3] == pytest.approx(record.q[-1, 0], abs=1e-12)
    assert found["energy_error"].max() < 1e-5
    again = invoke("sweep", "study.yaml", "-o", "results", "--json")
    assert '"rows": 8' in again.output
    for bad, words in (
        ("q0.uper_joint", "did you mean 'q0.upper_joint'"),
        ("final.q.uper_joint", "did you mean 'final.q.upper_joint'"),
    ):  # fmt: skip
        (tmp_path / "bad.yaml").write_text(STUDY.replace(bad.replace("uper", "upper"), bad))
        refused = invoke("sweep", "bad.yaml", code=1)
        assert words in " ".join(refused.output.split())
        assert "bad.yaml, line" in " ".join(refused.output.split())


def test_rows_of_a_sweep_as_a_csv_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=2, com=(0, 0, 0.5)).build().save("arm.yaml")
    study = STUDY.replace("    bodies.lower.mass: [1.0, 2.0]\n", "")
    (tmp_path / "study.yaml").write_text(study)
    refused = invoke("sweep", "study.yaml", "-o", "rows.csv", code=1)
    assert "--csv" in refused.output
    assert not (tmp_path / "rows.csv").exists()
    invoke("sweep", "study.yaml", "--workers", "0", "--csv", "rows.csv")
    table = np.genfromtxt(tmp_path / "rows.csv", delimiter=",", names=True, deletechars="")
    np.testing.assert_allclose(table["q0.upper_joint"], [0.1, 0.2, 0.3, 0.4], rtol=1e-15)
    found = kt.sweeps.SweepResult("kinetree-sweeps/study").arrays()
    assert np.array_equal(table["final.q.upper_joint"], found["final.q.upper_joint"])
    again = invoke("sweep", "study.yaml", "--workers", "0", "--csv", "rows.csv", "--json")
    assert json.loads(again.output)["folder"] == str(Path("kinetree-sweeps") / "study")
    (tmp_path / "many.yaml").write_text(study.replace("0.4, 4]", "0.4, 21]"))
    assert "deviation" in invoke("sweep", "many.yaml", "--workers", "0").output

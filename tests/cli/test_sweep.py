"""``kinetree sweep``: a study's file with what varies in it."""

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

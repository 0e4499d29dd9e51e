"""``kinetree equilibrium``: the same as in Python, in the units that are asked for."""

import json

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke

FLAP = """\
kinetree: 1
name: flap
bodies:
  - {name: flap, parent: base, mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1],
     joint: {name: hinge, kind: revolute, axis: y}}
tendons:
  - {name: cord, points: [{body: base, position: [0, 0, 1]}, {body: flap, position: [0.5, 0, 0]}],
     stiffness: 30, rest: 0.5}
"""


def test_the_command_finds_what_python_finds(tmp_path):
    file = tmp_path / "flap.yaml"
    file.write_text(FLAP)
    flap = kt.load(file)
    assert "cord through base, flap  stiffness 30 N/m" in invoke("info", file).stdout
    found = kt.equilibrium(flap, held=[])
    told = json.loads(invoke("equilibrium", file, "--held", "none", "--json").stdout)
    assert told["kind"] == found.kind == "stable"
    assert told["q"]["hinge"] == pytest.approx(found.q[0], abs=1e-12)
    assert told["frequencies"] == pytest.approx(found.frequencies.tolist())
    x, z = 0.5 * np.cos(found.q[0]), -0.5 * np.sin(found.q[0])
    assert told["springs"]["cord"] == pytest.approx(30.0 * (np.hypot(x, 1.0 - z) - 0.5))
    text = invoke("equilibrium", file, "--held", "none", "--units", "deg").stdout
    assert f"{np.degrees(found.q[0]):.6g} deg" in text
    assert "pulls" in text
    held = invoke("equilibrium", file, "--held", "hinge=20deg").stdout
    torque = kt.equilibrium(flap, held={"hinge": np.radians(20)}).tau[0]
    assert f"{torque:.5g} N m" in held
    assert "nothing is free to move" in held
    pushed = json.loads(invoke("equilibrium", file, "--held", "none", "--tau", "hinge=1.5", "--json").stdout)
    assert pushed["q"]["hinge"] == pytest.approx(kt.equilibrium(flap, held=[], tau={"hinge": 1.5}).q[0], abs=1e-9)
    assert "no joint named 'hing'" in invoke("equilibrium", file, "--held", "hing", code=1).stderr

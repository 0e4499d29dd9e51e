"""Numbers for symbols of .par files on the command line."""

import json
import re

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from helpers.par_files import ARM, write

VALUES = {
    "L1": 0.4,
    "ZZ1": 0.2,
    "MX1": 0.3,
    "M1": 2.0,
    "ZZ2": 0.1,
    "MX2": 0.2,
    "M2": 1.0,
    "FV1": 0.0,
    "FV2": 0.0,
    "G": 9.81,
}
TYPED = ",".join(f"{name}={x}" for name, x in VALUES.items())


@pytest.fixture
def arm(tmp_path):
    return write(tmp_path, ARM.replace("YY = {0,0}", "YY = {ZZ1,ZZ2}"), "arm.par")


def test_info_keeps_symbols_and_takes_values(arm):
    assert "L1" in json.loads(invoke("info", arm, "--json").output)["symbols"]
    some = json.loads(invoke("info", arm, "--values", "L1=0.4,M1=2", "--values", "M2=1", "--json").output)
    assert not {"L1", "M1", "M2"} & set(some["symbols"])
    assert "ZZ1" in some["symbols"]


def test_info_shows_the_table_of_geometric_parameters(arm):
    rows = json.loads(invoke("info", arm, "--json").output)["geometry"]
    assert [(row["frame"], row["ant"], row["d"], row["theta"]) for row in rows] == [
        ("1", "0", "0", "th1"), ("2", "1", "L1", "th2"),
    ]  # fmt: skip
    said = invoke("info", "kuka-kr5").output
    assert re.search(r"joint_4 +4 +3 +0 .*pi/2 +0\.12 +th4 +0\.62", said)
    closed = json.loads(invoke("info", "four-bar", "--json").output)["geometry"]
    assert [row["joint"] for row in closed][-2:] == ["crank_pin", ""]
    assert json.loads(invoke("info", "stewart-platform", "--json").output)["geometry"] == []  # joints of other kinds


def test_inverse_dynamics_with_values(arm, tmp_path):
    (tmp_path / "motion.csv").write_text("t,q1,q2,v1,v2,a1,a2\n0,0.1,0.2,0.3,0.4,0.5,0.6\n1,0.2,0.1,0,0,0,0\n")
    out = tmp_path / "tau.csv"
    invoke("inverse", arm, tmp_path / "motion.csv", "--values", TYPED, "-o", out)
    rows = np.loadtxt(out, delimiter=",", skiprows=1)
    expected = kt.load(arm, values=VALUES).inverse_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    np.testing.assert_allclose(rows[0, -2:], expected, rtol=1e-6)


def test_a_page_of_the_viewer(arm, tmp_path):
    page = tmp_path / "arm.html"
    assert "give them with --values" in invoke("view", arm, "--recording", page, code=1).output
    invoke("view", arm, "--recording", page, "--values", TYPED)
    assert page.exists()


def test_values_from_a_file_and_typed(arm, tmp_path):
    file = tmp_path / "numbers.json"
    file.write_text(json.dumps({"L1": 0.4, "M1": 2.0}))
    some = json.loads(invoke("info", arm, "--values", file, "--values", "M2=1", "--json").output)
    assert not {"L1", "M1", "M2"} & set(some["symbols"])
    assert "numbers.yaml" in invoke("info", arm, "--values", tmp_path / "numbers.yaml", code=1).output


def test_what_is_typed_wrongly(arm):
    for typed, said in (("0.4", "give symbols with a number each"), ("L1=1:2", "a number each"), ("L9=1", "L9")):
        assert said in invoke("info", arm, "--values", typed, code=1).output

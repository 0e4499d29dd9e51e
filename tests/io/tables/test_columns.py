"""Which column holds what: names, units, and what is refused."""

import pytest

import kinetree as kt
from kinetree.io.tables.columns import layout

WANTED = {"q": ["elbow", "slide [left]"], "v": ["elbow", "slide [left]"]}
UNITS = {"q": {"elbow": "rad", "slide [left]": "m"}, "v": {"elbow": "rad/s", "slide [left]": "m/s"}}


def found(*header, fewer=None):
    return layout("m.csv", header, len(header), WANTED, fewer, UNITS)


def test_brackets_in_the_name_of_a_joint_are_no_unit():
    own = found("q_slide [left]", "q_elbow [deg]", "v_slide [left] [mm/s]", "v_elbow(rpm)")
    assert own.quantities == {"q": (1, 0), "v": (3, 2)}
    assert own.factors == pytest.approx({1: 0.0174532925199433, 2: 1e-3, 3: 0.10471975511966})


@pytest.mark.parametrize("unit", ["1", "rad", " rad "])
def test_units_of_si_leave_numbers_as_they_are(unit):
    wanted, units = {"q": ["base.qw"]}, {"q": {"base.qw": unit.strip()}}
    assert layout("m.csv", [f"q_base.qw [{unit}]"], 1, wanted, None, units).factors == {}


def test_numbers_in_brackets_count_entries():
    wanted = {"q": ["hip[0]", "hip[1]"]}
    assert layout("m.csv", ["q_hip[1]", "q_hip[0]"], 2, wanted).quantities == {"q": (1, 0)}


def test_one_misspelt_name_is_told():
    with pytest.raises(kt.FileFormatError, match=r"1 column is missing: v_elbow.*'v_Elbow' may be 'v_elbow'"):
        found("q_elbow", "q_slide [left]", "v_Elbow", "v_slide [left]")


def test_forces_are_not_taken_for_misspelt_positions():
    with pytest.raises(kt.FileFormatError, match=r"1 column is missing: q_elbow") as said:
        found("tau_elbow", "a:elbow", "q_slide [left]", "v_elbow", "v_slide [left]")
    assert "may be" not in str(said.value)


def test_joints_that_were_not_measured_may_be_locked():
    with pytest.raises(kt.FileFormatError, match=r"2 columns are missing: q_elbow, v_elbow") as said:
        found("q_slide [left]", "v_slide [left]")
    assert "robot.reduced(locked={'elbow': 0.0}), or --locked elbow=0" in str(said.value)
    with pytest.raises(kt.FileFormatError, match="1 column is missing: v_elbow") as said:
        found("q_elbow", "q_slide [left]", "v_slide [left]")
    assert "locked" not in str(said.value)


@pytest.mark.parametrize("name", ["[", "]", "()", "[]", "q [", "(deg)", "[" * 1000 + "]" * 1000, " " * 100_000 + "]"])
def test_odd_names_are_no_danger(name):
    own = found("q_elbow", "q_slide [left]", "v_elbow", "v_slide [left]", name)
    assert "columns not used" in own.remark

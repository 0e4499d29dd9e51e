"""Units behind numbers: taken wherever one can be written, converted to SI, refused where they do not fit."""

import math

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from kinetree.errors import OptionError
from kinetree.io.units import in_si, quantity


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("45 deg", math.pi / 4, "rad"), ("45°", math.pi / 4, "rad"), ("-.5turn", -math.pi, "rad"), ("120mm", 0.12, "m"),
        ("60 rpm", 2 * math.pi, "rad/s"), ("90 deg/s", math.pi / 2, "rad/s"), ("1e3 N mm", 1.0, "Nm"),
        ("500 ms", 0.5, "s"), ("250 g", 0.25, "kg"),
    ],
)  # fmt: skip
def test_a_number_with_a_unit_is_one_in_si(text, number, unit):
    found = quantity(text)
    assert found == pytest.approx(number, rel=1e-15)
    assert found.unit == unit


@pytest.mark.parametrize("text", ["1e5", "12", "free-fall", "3-rrr", "inf", "", "nan"])
def test_all_else_is_none(text):
    assert quantity(text) is None


def test_units_that_are_not_understood_or_do_not_fit_are_named():
    with pytest.raises(OptionError, match="--q0: '45degs': the unit 'degs' is not understood; did you mean 'deg"):
        quantity("45degs", "--q0")
    with pytest.raises(OptionError, match="elbow: '45 deg' does not fit: give a number in m, or in a unit"):
        in_si("45 deg", "m", "elbow")


def test_builders_take_them():
    b = kt.Builder("arm")
    b.body("upper", "base", kt.Revolute("z"), mass=1.0, lower="-45 deg", upper="90 deg", velocity_limit="60 rpm")
    b.body("lower", "upper", kt.Prismatic("x"), position=("120 mm", 0, 0), mass=1.0, upper="5 cm", effort_limit="2 kN")
    b.frame("tip", "lower", ("1 in", 0.0, 0.0))
    robot = b.build()
    upper, lower = robot.model.joints
    assert (upper.lower, upper.upper) == ((-math.pi / 4,), (math.pi / 2,))
    assert upper.velocity_limit == pytest.approx((2 * math.pi,))
    assert (lower.upper, lower.effort_limit) == ((0.05,), (2000.0,))
    assert robot.pose([0.0, 0.0], "tip")[0, 3] == pytest.approx(0.1454)
    assert np.allclose(kt.Pose.of(rpy=("90 deg", 0, 0)).rotation, kt.Pose.of(rpy=(math.pi / 2, 0, 0)).rotation)
    with pytest.raises(kt.KinetreeError, match=r"'5 mm' does not fit: give a number in rad"):
        kt.Builder("arm").body("upper", "base", kt.Revolute("z"), mass=1.0, lower="5 mm")


def test_study_files_take_them(tmp_path):
    file = tmp_path / "turn.yaml"
    file.write_text("""
kinetree-study: 1
name: turn
robot: four-bar
motion: {kind: constant-speed, speed: {crank_joint: 60 rpm}, duration: 500 ms}
simulation: {time: 100 ms}
""")
    from kinetree.studies.user_study import read

    study = read(file)
    result = study.run(quick=True)
    record = next(r for outcome in result.outcomes.values() for r in outcome.records.values())
    assert record.time[-1] == pytest.approx(0.1)
    file.write_text(file.read_text().replace("60 rpm", "60 mm"))
    with pytest.raises(kt.KinetreeError, match=r"line 5: speed of 'crank_joint': '60 mm' does not fit.*rad/s"):
        read(file).run(quick=True)


def test_the_command_line_takes_them(tmp_path):
    done = invoke("simulate", "four-bar", "--time", "0.01", "--q0", "crank_joint=90deg", "--v0", "crank_joint=60rpm")
    assert done.exit_code == 0
    refused = invoke("simulate", "four-bar", "--time", "0.01", "--v0", "crank_joint=60mm", code=1)
    assert "'60mm' does not fit: give a number in rad/s" in refused.output


@pytest.mark.parametrize("text", ["1e5", "1e-2", "1E+3", "-2.5e-12"])
def test_a_number_with_an_exponent_has_no_unit(text):
    assert quantity(text) is None

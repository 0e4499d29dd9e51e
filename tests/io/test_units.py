"""Units behind numbers: taken wherever one can be written, converted to SI, refused where they do not fit."""

import math

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from kinetree.errors import OptionError
from kinetree.io.units import ShownUnits, in_si, quantity


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("45 deg", math.pi / 4, "rad"), ("45°", math.pi / 4, "rad"), ("-.5turn", -math.pi, "rad"), ("120mm", 0.12, "m"),
        ("60 rpm", 2 * math.pi, "rad/s"), ("90 deg/s", math.pi / 2, "rad/s"), ("1e3 N mm", 1.0, "Nm"),
        ("500 ms", 0.5, "s"), ("250 g", 0.25, "kg"), ("90 kg mm^2", 9e-5, "kgm^2"), ("3 g·cm²", 3e-7, "kgm^2"),
        ("2 kg*m^2", 2.0, "kgm^2"),
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


def test_stiffness():
    assert [in_si(text, "N/m", "spring") for text in ("2 N/mm", "3 kN/m", "5 N/m")] == [2000.0, 3000.0, 5.0]


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
start: {v: {crank_joint: 60 rpm}}
""")
    from kinetree.studies.user_study import read

    study = read(file)
    result = study.run(quick=True)
    record = next(r for outcome in result.outcomes.values() for r in outcome.records.values())
    assert record.time[-1] == pytest.approx(0.1)
    file.write_text(file.read_text().replace("speed: {crank_joint: 60 rpm", "speed: {crank_joint: 60 mm"))
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


def test_files_of_robots_tables_and_masses_take_them(tmp_path):
    text = """kinetree: 1
name: arm
bodies:
  - name: upper
    parent: base
    joint: {kind: revolute, axis: y, lower: -45 deg, upper: 0.25 turn, velocity_limit: 60 rpm}
    placement: {position: [120 mm, 0, 0], rpy: [90 deg, 0, 0]}
    mass: 200 g
    com: [1 cm, 0, 0]
"""
    (tmp_path / "arm.yaml").write_text(text)
    robot = kt.load(tmp_path / "arm.yaml")
    assert np.allclose(
        [*robot.lower_limits, *robot.upper_limits, *robot.velocity_limits], [-np.pi / 4, np.pi / 2, 2 * np.pi]
    )
    assert (robot.mass, robot.body("upper").mass_properties.com[0]) == (0.2, 0.01)
    assert np.allclose(robot.pose([0.0], "upper")[:3, 3], [0.12, 0, 0])
    (tmp_path / "bad.yaml").write_text(text.replace("-45 deg", "-45 mm"))
    with pytest.raises(kt.FileFormatError, match=r"line 6.*lower limit: '-45 mm' does not fit"):
        kt.load(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text(text.replace("200 g", "200 stone"))
    with pytest.raises(kt.FileFormatError, match=r"line 8.*the unit 'stone' is not understood"):
        kt.load(tmp_path / "bad.yaml")
    for degrees in (False, True):
        row = kt.from_dh([{"alpha": "90 deg", "a": "120 mm", "mass": 1.0}], degrees=degrees).dh_table()[0]
        assert (row.alpha if degrees else np.degrees(row.alpha), row.a) == (pytest.approx(90.0), 0.12)
    rod = kt.MassProperties.rod("200 g", (0, 0, 0), ("300 mm", 0, 0))
    assert rod == kt.MassProperties.rod(0.2, (0, 0, 0), (0.3, 0, 0))
    assert kt.Distance("120 mm") == kt.Distance(0.12)
    with pytest.raises(kt.OptionError, match="mass: '3 mm' does not fit"):
        kt.MassProperties.of("3 mm")
    four_bar = kt.load("four-bar")
    assert four_bar.close(kt.gallery.start("four-bar"), fixed={"crank_joint": "30 deg"})[0] == pytest.approx(np.pi / 6)
    assert kt.load("kuka-kr5").reduced({"joint_2": "45 deg"}).nv == 5


# ------------------------------------------------------------------ units that are shown


def test_what_is_shown():
    units = ShownUnits.read("rpm, deg mm, N mm")
    assert [units.label(u) for u in ("rad", "rad/s", "rad/s^2", "m", "m/s", "N m", "N", "J")] == [
        "deg", "rpm", "deg/s^2", "mm", "mm/s", "N mm", "N", "J"
    ]  # fmt: skip
    assert units.shown(np.pi, "rad") == pytest.approx(180.0)
    assert units.shown(np.array([np.pi]), "rad/s") == pytest.approx(30.0)
    assert (units.shown(2.0, "m"), units.shown(3.0, "N m"), units.shown(4.0, "J")) == (2000.0, 3000.0, 4.0)
    assert ShownUnits.read(["deg", "mm"]) == ShownUnits.read("deg,mm") == ShownUnits.read(ShownUnits.read("deg mm"))
    assert ShownUnits.read(None).label("rad") == "rad"
    for given, said in (
        ("degs", "the unit 'degs' is not understood"),
        ("kg", "'kg' is not a unit of angles, lengths"),
        ("ms", "times are always shown and written in s: leave out 'ms'"),
    ):
        with pytest.raises(kt.OptionError, match=said):
            ShownUnits.read(given)


def test_times_stay_in_seconds():
    assert ShownUnits.read(["deg", "s"]) == ShownUnits.read("deg")


def test_records_are_shown_in_them(tmp_path):
    pytest.importorskip("matplotlib")
    robot = kt.load("slider-crank")
    record = kt.simulate(robot, kt.gallery.start("slider-crank"), time=0.1, samples=5)
    plain, other = record.plot(("motion", "velocities")), record.plot(("motion", "velocities"), units="deg mm rpm")
    wanted = {
        "position [deg]": np.pi / 180,
        "position [mm]": 1e-3,
        "velocity [rpm]": np.pi / 30,
        "velocity [mm/s]": 1e-3,
    }
    assert [axis.get_ylabel() for axis in other.axes] == list(wanted)
    for axis, before, factor in zip(other.axes, plain.axes, wanted.values(), strict=True):
        for line, old in zip(axis.lines, before.lines, strict=True):
            assert np.allclose(np.array(line.get_ydata()) * factor, old.get_ydata())
    row = next(row for row in record.table_in("deg mm rpm").rows if row[0] == "crank_joint")
    assert row[1] == "deg, rpm, N m"
    assert row[3] == pytest.approx(np.degrees(record.q[-1, 0]))
    assert str(record) == str(record.table_in(None))


def test_commands_show_them(tmp_path):
    text = invoke("simulate", "slider-crank", "--time", 0.01, "--units", "deg,mm,rpm").stdout
    record = kt.simulate(kt.load("slider-crank"), kt.gallery.start("slider-crank"), time=0.01)
    assert f"{np.degrees(record.q[-1, 0]):.6g}" in text
    assert all(unit in text for unit in (" deg ", " mm ", " rpm ", " mm/s "))
    text = invoke("inverse", "four-bar", "--speed", "crank_joint=60rpm", "--units", "N mm").stdout
    assert "N mm" in text
    assert "unit 'furlong' is not understood" in invoke("simulate", "four-bar", "--units", "furlong", code=1).stderr


def test_the_viewer_is_told_of_them():
    from kinetree_studio.view.page import unpacked

    with kt.view("four-bar", units="deg mm", port=0) as viewer:
        page = viewer.recording()
    show = unpacked(page.partition('id="data"')[2].partition(">")[2].partition("<")[0].strip())
    assert show["units"]["rad"] == ["deg", pytest.approx(np.pi / 180)]
    assert {slider["unit"] for slider in show["sliders"]} == {"rad"}

"""Planar mechanisms by points: the drawing is the mechanism, its masses are those of the bars, slips are explained."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.linkages.drawing import drawing_of
from kinetree.model.linkages.plates import hull, rounded_plate, spread

FOUR_BAR = {
    "points": {"O": (0, 0), "C": (100, 0), "A": (0, 30), "B": {"A": 90, "C": 70, "side": "above"}},
    "bars": {"crank": "O A", "coupler": "A B", "rocker": "B C"},
    "ground": "O C",
    "motor": "O",
    "units": "mm",
}


def jansen(**options):
    """Theo Jansen's leg by his eleven numbers."""
    return kt.linkage(
        points={
            "O": (0, 0), "B": (-38, -7.8), "A": {"O": 15, "angle": 0.0},
            "C": {"A": 50, "B": 41.5, "side": "above"}, "D": {"C": 55.8, "B": 40.1, "side": "left"},
            "E": {"A": 61.9, "B": 39.3, "side": "below"}, "F": {"D": 39.4, "E": 36.7, "side": "left"},
            "G": {"F": 65.7, "E": 49, "side": "below"},
        },
        bars={"crank": "O A", "j": "A C", "k": "A E", "upper": "B C D", "c": "B E", "f": "D F", "foot": "E F G"},
        ground="O B", motor="O", units="mm", name="jansen", **options,
    )  # fmt: skip


def quick_return(**options):
    """A crank that drives a slotted rocker, which moves a ram: pins, a slot in a bar, a slide on the ground."""
    return kt.linkage(
        points={"O": (0, 0), "D": (0, -40), "A": {"O": 20, "angle": "30 deg"}, "E": (30.0, 35.0), "P": (60, 35)},
        bars={
            "crank": {"points": "O A", "mass": 0.1},
            "rocker": {"points": "D E", "mass": "200 g", "com": (0, 0), "inertia": 1e-4},
            "rod": {"points": "E P", "width": 8, "thickness": 3, "density": 7850},
        },
        ground="O D", motor="O", sliders={"A": {"along": "D", "on": "rocker"}, "P": "x"}, units="mm",
        masses={"P": 0.3, "A": 0.02}, springs={"s": {"between": "O E", "stiffness": 40}}, **options,
    )  # fmt: skip


def meet(p, r, s, t, side):
    along = s - p
    d = np.hypot(*along)
    x = (d**2 + r**2 - t**2) / (2 * d)
    return p + x * along / d + side * np.sqrt(r**2 - x**2) * np.array([-along[1], along[0]]) / d


def test_a_leg_walks_as_its_circles_meet():
    leg = jansen()
    assert np.abs(leg.closure_error(leg.neutral())).max() < 1e-15
    angles = np.linspace(0, 2 * np.pi, 25)
    toe = leg.point_position(leg.follow({"O": angles}), "G")[:, :2]
    for angle, found in zip(angles, toe, strict=True):
        b, a = np.array([-0.038, -0.0078]), 0.015 * np.array([np.cos(angle), np.sin(angle)])
        c, e = meet(a, 0.05, b, 0.0415, -1), meet(a, 0.0619, b, 0.0393, 1)
        d = meet(b, 0.0401, c, 0.0558, 1)
        f = meet(d, 0.0394, e, 0.0367, -1)
        np.testing.assert_allclose(found, meet(e, 0.049, f, 0.0657, 1), atol=1e-12)
    assert leg.mobility().planar == leg.mobility().freedoms == 1
    assert "in the plane, 3 (n - 1) - 2 j, 1" in str(leg.mobility())


def test_every_point_is_a_frame_where_it_is_drawn():
    leg = jansen()
    for point, place in drawing_of(leg.model).drawn.items():
        np.testing.assert_allclose(leg.point_position(leg.neutral(), point)[:2], place, atol=1e-15)


@pytest.mark.parametrize(
    "corners", [[(0.2, 0.1), (1.0, 0.7)], [(0, 0), (1, 0.2), (0.3, 0.9)], [(1, 1), (2, 1), (2, 2), (1.2, 2)]]
)
def test_moments_of_plates_are_those_of_their_cells(corners):
    width, cells = 0.3, 700
    corner = np.array(corners)
    low, high = corner.min(axis=0) - width, corner.max(axis=0) + width
    x, y = (low[k] + (high[k] - low[k]) * (np.arange(cells) + 0.5) / cells for k in (0, 1))
    p = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    away, inside = np.full(len(p), np.inf), np.full(len(p), len(corners) > 2)
    for a, b in zip(corner, np.roll(corner, -1, axis=0), strict=True):
        u = b - a
        t = np.clip((p - a) @ u / (u @ u), 0, 1)
        away = np.minimum(away, np.linalg.norm(p - a - t[:, None] * u, axis=1))
        inside &= u[0] * (p[:, 1] - a[1]) - u[1] * (p[:, 0] - a[0]) >= 0
    p = p[inside | (away <= width / 2)]
    area = np.prod((high - low) / cells) * len(p)
    found = rounded_plate(corners, width)
    np.testing.assert_allclose(found.area, area, rtol=2e-3)
    lump = spread(corners, 2.0, width, None)
    np.testing.assert_allclose(lump.center, p.mean(axis=0), atol=2e-3)
    spans = np.cov(p.T, bias=True) * 2.0
    np.testing.assert_allclose(lump.second, [spans[0, 0], spans[0, 1], spans[1, 1]], rtol=1e-2, atol=1e-3)


def test_a_bar_in_line_is_a_bar():
    assert hull([(0, 0), (1, 1), (2, 2), (0.5, 0.5)]) == [0, 2]
    three = kt.linkage({"O": (0, 0), "A": (0.1, 0), "P": (0.3, 0)}, {"arm": {"points": "O A P", "mass": 2}}, ground="O")
    rod = kt.MassProperties.rod(2.0, (0, 0, 0), (0.3, 0, 0))
    np.testing.assert_allclose(three.model.bodies[0].mass_properties.parameters, rod.parameters, atol=1e-15)


def test_numbers_of_a_drawing_go_where_a_new_drawing_has_them():
    """What is put into the model for other numbers is what the drawing with these numbers would be."""
    rng = np.random.default_rng(3)
    for robot in (quick_return(), jansen(width=8, thickness=3, density=7850)):
        drawn = drawing_of(robot.model)
        new = {key: x * rng.uniform(0.97, 1.03) for key, x in drawn.numbers.items()}
        other = type(robot)(drawn.with_numbers(new).model())
        tables = drawn.tables(robot.model, new)
        q, v, a = rng.normal(size=(3, robot.nv)) * 0.2
        given = {key: table for key, table in tables.items() if key != "loops"}
        found, wanted = robot.tree.inverse_dynamics(q, v, a, parameters=given), other.tree.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
        for point in drawn.points:
            found = robot.tree.point_position(q, point, parameters=given)
            np.testing.assert_allclose(found, other.point_position(q, point), atol=1e-13)
        for loop, made in zip(robot.model.loops, other.model.loops, strict=True):
            np.testing.assert_allclose(tables["loops"][loop.name]["position"], made.placement.translation, atol=1e-15)
            np.testing.assert_allclose(tables["loops"][loop.name]["seat"], made.seat.translation, atol=1e-15)


def test_a_slot_in_a_rocker_and_a_slide_move_as_they_must():
    robot = quick_return()
    angle = np.linspace(0, 2 * np.pi, 50)
    q = robot.follow({"O": angle})
    pin = 0.02 * np.stack([np.cos(angle + np.pi / 6), np.sin(angle + np.pi / 6)], axis=-1)
    np.testing.assert_allclose(robot.point_position(q, "A")[:, :2], pin, atol=1e-12)
    slot = np.arctan2(pin[:, 1] + 0.04, pin[:, 0])  # the rocker points from D through the pin
    first = np.arctan2(0.01 + 0.04, 0.02 * np.cos(np.pi / 6))
    np.testing.assert_allclose(q[:, list(robot.joint_names).index("D")], slot - first, atol=1e-10)
    np.testing.assert_allclose(robot.point_position(q, "P")[:, 1], 0.035, atol=1e-12)


def test_a_bar_may_slide_without_turning():
    robot = kt.linkage(
        points={"O": (0, 0), "A": (20, 0), "B": (100, 0), "P": (140, 0)},
        bars={"crank": "O A", "rod": "A B", "ram": {"points": "B P", "mass": 1}},
        ground="O", motor="O", sliders={"B": {"along": "x", "bar": "ram"}}, units="mm",
    )  # fmt: skip
    q = robot.follow({"O": np.linspace(0, 2 * np.pi, 30)})
    tool = robot.point_position(q, "P") - robot.point_position(q, "B")
    np.testing.assert_allclose(tool, np.broadcast_to([0.04, 0, 0], tool.shape), atol=1e-12)
    assert np.isclose(np.ptp(robot.point_position(q, "P")[:, 0]), 0.04, atol=1e-4)


def geared(**gear):
    return kt.linkage(
        points={"O": (0, 0), "C": (60, 0), "A": (20, 20), "B": (70, 30), "P": (40, 70)},
        bars={name: {"points": ends, "mass": 0.1} for name, ends in
              {"a": "O A", "b": "C B", "c": "A P", "d": "B P"}.items()},
        ground="O C", motor="O", gears={"pair": {"wheels": "a b", **gear}}, units="mm",
        springs={"s": {"between": "A B", "stiffness": 50}},
    )  # fmt: skip


def test_wheels_turn_by_their_teeth():
    robot = geared(teeth=(20, 40))
    assert robot.mobility().freedoms == drawing_of(robot.model).gruebler == 1
    q = robot.follow({"O": np.linspace(0, 0.5, 10)})
    np.testing.assert_allclose(q[:, list(robot.joint_names).index("C")], -np.linspace(0, 0.5, 10) / 2, atol=1e-12)


def test_backlash_leaves_the_teeth_slack_and_then_pushes():
    """The force of a pair with backlash is that of a spring with a dead zone, whatever else acts."""
    slack, stiff = 0.02, 100.0
    robot, soft = (geared(ratio=-2, backlash=slack, stiffness=k) for k in (stiff, 1e-12))
    assert robot.mobility().freedoms == 2
    entries, zero = [list(robot.joint_names).index(name) for name in ("O", "C")], np.zeros(robot.nv)
    for lost, torque in ((0.0, 0.0), (0.4 * slack, 0.0), (1.5 * slack, stiff * slack), (-slack, -stiff * slack / 2)):
        q = robot.close(robot.neutral(), fixed={"O": 0.0, "C": lost})
        more = robot.tree.inverse_dynamics(q, zero, zero) - soft.tree.inverse_dynamics(q, zero, zero)
        np.testing.assert_allclose(more[entries], [2 * torque, torque], atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [jansen, quick_return, lambda: geared(ratio=-2.5), lambda: geared(teeth=(7, 3), backlash="1 deg", stiffness=3.0)],
)
def test_files_hold_drawings(make, tmp_path):
    robot, file = make(), tmp_path / "linkage.yaml"
    robot.save(file)
    again = kt.load(file)
    assert again == robot
    assert drawing_of(again.model) == drawing_of(robot.model)
    assert "points:" in file.read_text()


def test_a_changed_robot_is_written_as_it_is(tmp_path):
    robot = quick_return()
    changed = robot.with_frame("tip", "rod", (0.1, 0, 0))
    assert drawing_of(changed.model) is None
    changed.save(tmp_path / "changed.yaml")
    assert kt.load(tmp_path / "changed.yaml") == changed


def test_a_file_with_a_slip_names_the_line(tmp_path):
    file = tmp_path / "leg.yaml"
    file.write_text("kinetree: 1\nlinkage:\n  points: {O: [0, 0], A: [1, 0]}\n  bars: {crank: O X}\n  ground: O\n")
    with pytest.raises(kt.FileFormatError, match="'X'"):
        kt.load(file)
    file.write_text("kinetree: 1\nlinkage:\n  points: {O: [0, 0], A: [1, 0]}\n  bar: {crank: O A}\n  ground: O\n")
    with pytest.raises(kt.FileFormatError, match=r"line 4.*did you mean 'bars'"):
        kt.load(file)


WRONG = {
    "unknown point": ({"bars": {"crank": "O A", "coupler": "A X"}}, "'X'"),
    "one point": ({"bars": {"crank": "O"}}, "has 1 point"),
    "not connected": (
        {"bars": {"crank": "O A", "rocker": "B Q"}, "points": {**FOUR_BAR["points"], "Q": (5, 5)}},
        "'rocker' is not connected to the ground",
    ),
    "nothing held": ({"ground": ""}, "nothing is fixed"),
    "a frame": ({"ground": "O A C"}, "cannot move.* = -1 freedoms"),
    "too many motors": ({"motor": "O C"}, "1 freedom and 2 motors"),
    "open": ({"points": {**FOUR_BAR["points"], "B": {"A": 20, "C": 30, "side": "above"}}}, "54.4031 mm are missing"),
    "no side": ({"points": {**FOUR_BAR["points"], "B": {"A": 90, "C": 80}}}, "choose one by 'side'"),
    "text": ({"points": {**FOUR_BAR["points"], "B": "x"}}, "needs two coordinates"),
    "kilograms": ({"points": {**FOUR_BAR["points"], "B": ("1 kg", 2)}}, "does not fit"),
    "infinite": ({"points": {**FOUR_BAR["points"], "B": (np.inf, 2)}}, "must be one number"),
    "unused": ({"points": {**FOUR_BAR["points"], "Q": (3, 4)}}, "'Q' is on no bar"),
    "misspelled": ({"bars": {"crank": {"points": "O A", "mas": 1}}}, "did you mean 'mass'"),
    "thickness alone": ({"bars": {"crank": {"points": "O A", "width": 9, "thickness": 1}}}, "so it needs a density"),
    "density alone": ({"bars": {"crank": {"points": "O A", "density": 1}}}, "width and a thickness"),
    "unit": ({"units": "foot"}, "did you mean 'ft'"),
    "off its line": ({"sliders": {"B": "O C"}}, "off the line"),
    "no line": ({"sliders": {"B": None}}, "slides along"),
    "wrong bar": ({"motor": {"O": "rocker"}}, "pinned there are 'crank'"),
    "no pin": (
        {"motor": "P", "bars": {**FOUR_BAR["bars"], "coupler": "A B P"}, "points": {**FOUR_BAR["points"], "P": (5, 9)}},
        "only one body",
    ),
    "same name": ({"bars": {"O": "O A", "coupler": "A B", "rocker": "B C"}}, "both named 'O'"),
    "a list of points": ({"points": [(0, 0)]}, "must map names"),
    "gravity": ({"gravity": (0, 0, -9.81)}, "2 finite numbers"),
    "gear of one": ({"gears": {"g": {"wheels": "crank", "ratio": 2}}}, "needs two bars"),
    "gear without carrier": ({"gears": {"g": {"wheels": "crank coupler", "ratio": 2}}}, "no body carries both"),
    "spring of two lengths": (
        {"springs": {"s": {"between": "A C", "stiffness": 2, "rest": (9, 99)}}}, "add 'pushes_only': True",
    ),
    "spring of both sides": (
        {"springs": {"s": {"between": "A C", "stiffness": 2, "pushes_only": True, "pulls_only": True}}}, "not both",
    ),
    "spring without ends": ({"springs": {"s": {"between": "A", "stiffness": 2}}}, "needs two points"),
    "mass on the ground": ({"masses": {"O": 2}}, "never moves"),
}  # fmt: skip


@pytest.mark.parametrize("slip", WRONG)
def test_slips_are_explained(slip):
    given, message = WRONG[slip]
    with pytest.raises(kt.KinetreeError, match=message):
        kt.linkage(**{**FOUR_BAR, **given})


def test_a_missing_motor_is_doubted_and_a_redundant_rod_is_not_refused():
    five = {**FOUR_BAR, "bars": {"crank": "O A", "coupler": "A P", "rod": "P B", "rocker": "B C"}}
    with pytest.warns(kt.ModelWarning, match="2 freedoms and 1 motor"):
        kt.linkage(**{**five, "points": {**FOUR_BAR["points"], "P": (20, 90)}})
    points = {"O": (0, 0), "C": (2, 0), "M": (1, 0), "A": (0, 1), "B": (2, 1), "N": (1, 1)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        three = kt.linkage(points, {"a": "O A", "b": "C B", "m": "M N", "beam": "A N B"}, ground="O C M", motor="O")
    assert drawing_of(three.model).gruebler == 0
    assert three.mobility(three.close(three.neutral(), fixed={"O": 0.3})).freedoms == 1


def test_a_point_may_be_on_the_line_of_others(tmp_path):
    near = 0.1 + 0.2  # A and B are 0.3 apart, one rounding error less
    points = {"O": (0, 0), "A": (0, 1), "B": (near, 1), "P": {"A": 0.1, "B": 0.2}, "Q": {"A": 0.5, "B": 0.2}}
    robot = kt.linkage(points, {"crank": "O A", "bar": "A B P Q"}, ground="O")
    for point, x in (("P", 0.1), ("Q", 0.5)):
        np.testing.assert_allclose(robot.point_position(robot.neutral(), point), [x, 1, 0], atol=1e-12)
    robot.save(tmp_path / "line.yaml")
    assert kt.load(tmp_path / "line.yaml") == robot
    drawn = drawing_of(robot.model)
    moved = drawn.with_numbers({"B.x": 0.31})  # then the distances do not fit, and nothing is made up
    assert np.isnan(moved.drawn["P"]).all()
    with pytest.raises(kt.ModelError, match="missing"):
        kt.linkage({**points, "P": {"A": 0.1, "B": 0.2 - 1e-6}}, {"crank": "O A", "bar": "A B P Q"}, ground="O")


def massive(**bar):
    return kt.linkage(
        {"O": (0, 0), "A": (100, 0), "B": (140, 0)}, {"crank": "O A", "arm": {"points": "A B", "mass": 0.3, **bar}},
        ground="O", units="mm",
    ).model.bodies[1].mass_properties  # fmt: skip


def test_a_center_of_mass_alone_keeps_the_inertia_of_an_even_bar():
    even, moved = massive(), massive(com=(110, 5))
    np.testing.assert_allclose(np.subtract(moved.com, even.com), [-0.01, 0.005, 0], atol=1e-15)
    about = np.array(even.inertia)  # about the center of mass
    assert about[2] == pytest.approx(0.3 * 0.04**2 / 12)
    np.testing.assert_allclose(moved.inertia, about, atol=1e-18)
    assert massive(com=(110, 5), inertia=0).inertia[2] == 0.0
    assert massive(com=(110, 5), inertia="100 kg mm^2").inertia[2] == pytest.approx(1e-4)
    wide = massive(width=10)
    np.testing.assert_allclose(massive(com=(110, 5), width=10).inertia, wide.inertia, atol=1e-18)


def test_masses_in_other_coordinates_or_units_are_doubted():
    with pytest.warns(
        kt.ModelWarning, match=r"bar 'arm': its center of mass is 80 mm away from the bar, which is 40 mm"
    ):
        massive(com=(20, 0))
    with pytest.warns(kt.ModelWarning, match=r"radius of gyration of 18257.4 mm, but the bar is 40 mm long.*kg mm\^2"):
        massive(com=(120, 0), inertia=100)
    with warnings.catch_warnings():  # a counterweight, a flywheel
        warnings.simplefilter("error")
        massive(com=(70, 0), inertia="0.3 kg cm^2")
        massive(com=(100, 0), inertia=0.3 * 0.2**2)


def sprung(units="mm", **spring):
    return kt.linkage(
        {"O": (0, 0), "A": (100, 0), "S": (100, -40)}, {"arm": {"points": "O A", "mass": 0.2}}, ground="O S", motor="O",
        units=units, springs={"pad": {"between": "A S", "stiffness": 5000, "rest": 40, **spring}}, gravity=(0, 0),
    )  # fmt: skip


@pytest.mark.parametrize(("side", "sign"), [("pushes_only", -1), ("pulls_only", 1)])
def test_a_spring_may_push_or_pull_only(side, sign, tmp_path):
    robot, both = sprung(**{side: True}), sprung()
    robot.save(tmp_path / "pad.yaml")
    assert kt.load(tmp_path / "pad.yaml") == robot
    other = robot.with_frame("tip", "arm", (0.1, 0, 0))  # no drawing any more
    other.save(tmp_path / "other.yaml")
    zero = np.zeros(1)
    for angle in (-0.1, 0.1):
        q = np.array([angle])
        longer = np.linalg.norm(robot.point_position(q, "A") - robot.point_position(q, "S")) - 0.04
        acts = sign * longer > 0
        for one in (robot, kt.load(tmp_path / "other.yaml")):
            found, usual = one.inverse_dynamics(q, zero, zero), both.inverse_dynamics(q, zero, zero)
            assert abs(usual) > 1.0
            np.testing.assert_allclose(found, usual if acts else 0.0, atol=1e-12)
            assert one.potential_energy(q) == pytest.approx(2500 * longer**2 if acts else 0.0)
    drawn = drawing_of(robot.model)
    new = {"pad.rest": 0.043, "A.y": 0.001}
    changed, given = drawn.with_numbers(new).model(), drawn.tables(robot.model, new)
    for angle in (-0.1, 0.1):
        found = robot.inverse_dynamics([angle], zero, zero, parameters=given)
        np.testing.assert_allclose(found, type(robot)(changed).inverse_dynamics([angle], zero, zero), atol=1e-12)
    np.testing.assert_allclose(robot.with_parameters(given).model.tendons[0].rest, changed.tendons[0].rest)


@pytest.mark.parametrize("along", ["F", (1, 0)])
def test_the_force_of_a_slide_is_positive_toward_its_line(along):
    slider = {"along": along, "on": "rail"}
    points = {"O": (0, 0), "M": (10, 0), "F": (50, 0)}
    robot = kt.linkage(
        points, {"rail": "O F"}, ground="O", sliders={"M": slider}, motor="O M", masses={"M": 2}, units="mm",
        gravity=(0, 0),
    )  # fmt: skip
    slide = list(robot.joint_names).index("M_slide")
    push = robot.inverse_dynamics([0, 0], [0, 0], np.eye(2)[slide] * 3.0)
    assert push[slide] == pytest.approx(6.0)
    assert robot.point_position(np.eye(2)[slide] * 0.01, "M")[0] == pytest.approx(0.02)


def test_a_motor_named_after_the_joint_of_a_slider_is_told_its_point():
    with pytest.raises(kt.UnknownNameError, match="did you mean 'B'"):
        kt.linkage(
            points={"A": (0, 0), "B": (1, 0)}, bars={"rod": "A B"}, ground="A", sliders={"B": "x"}, motor="B_slide"
        )

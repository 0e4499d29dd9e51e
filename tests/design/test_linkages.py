"""What designers ask of linkages, against closed forms: Freudenstein, Kennedy, Cardan, Euler and Savary, Roberts."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.linkages.plates import rounded_plate

design = kt.design


def four_bar(ground=1.0, crank=0.3, coupler=0.9, rocker=0.7, angle=1.1):
    return kt.linkage(
        {
            "O": (0, 0), "C": (ground, 0), "A": {"O": crank, "angle": angle},
            "B": {"A": coupler, "C": rocker, "side": "above"}, "P": {"A": 0.5, "B": 0.8, "side": "above"},
        },
        {"crank": "O A", "coupler": "A B P", "rocker": "B C"}, ground="O C", motor="O",
    )  # fmt: skip


def trammel():
    """A bar whose ends slide on two lines that are square to one another: Cardan's circles."""
    return kt.linkage(
        {"A": (0.8, 0), "B": (0, 0.6), "P": (0.4, 0.3)},
        {"bar": "A B P"},
        ground=[],
        motor="A",
        sliders={"A": "x", "B": "y"},
    )


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [((1.0, 0.3, 0.9, 0.7), "crank-rocker"), ((1.0, 0.7, 0.9, 0.3), "rocker-crank"),
     ((0.3, 0.7, 0.9, 1.0), "double-crank"),
     ((1.0, 0.9, 0.3, 0.7), "double-rocker"), ((1.0, 0.6, 0.6, 0.8), "triple-rocker"),
     ((1.0, 0.4, 0.8, 0.6), "change point")],
)  # fmt: skip
def test_grashof(sizes, kind):
    loop = design.four_bars(four_bar(*sizes))[0]
    assert loop.kind == kind
    np.testing.assert_allclose(loop.lengths, sizes)
    assert loop.joints == ("O", "A", "B", "C")


def test_transmission_angle_is_that_of_the_cosine_rule():
    robot, (d, a, b, c) = four_bar(), (1.0, 0.3, 0.9, 0.7)
    q = design.turn(robot, 50)
    theta = 1.1 + np.linspace(0, 2 * np.pi, 50)
    cosine = (b**2 + c**2 - a**2 - d**2 + 2 * a * d * np.cos(theta)) / (2 * b * c)
    np.testing.assert_allclose(design.transmission_angle(robot, q), np.arccos(cosine), atol=1e-10)


def test_three_centers_are_in_line():
    robot = four_bar()
    q = design.turn(robot, 7)
    at = design.instant_centers(robot, q)
    links = ("ground", "crank", "rocker", "coupler")
    for k, a in enumerate(links):
        for m, b in enumerate(links[k + 1 :], k + 1):
            for c in links[m + 1 :]:
                one, two, three = (at.get(pair, at.get(pair[::-1])) for pair in ((a, b), (b, c), (a, c)))
                u, v = two - one, three - one
                np.testing.assert_allclose(
                    u[:, 0] * v[:, 1], u[:, 1] * v[:, 0], atol=1e-9 * np.abs(u).max() * np.abs(v).max()
                )
    np.testing.assert_allclose(at["crank", "coupler"], robot.point_position(q, "A")[:, :2], atol=1e-12)


def test_cardans_circles_roll_on_one_another():
    robot = trammel()
    q = robot.follow({"A_slide": np.linspace(0.0, -0.7, 20)})
    fixed, moving = design.centrodes(robot, q, "bar")
    np.testing.assert_allclose(np.hypot(*fixed.T), 1.0, atol=1e-10)  # the bar is one long
    np.testing.assert_allclose(np.hypot(*(moving - [0.4, 0.3]).T), 0.5, atol=1e-10)
    assert np.isinf(design.instant_centers(robot, q)["A_slider", "B_slider"]).all()


def test_points_of_the_inflection_circle_go_straight_on():
    """Euler and Savary: PA^2 = AO * AJ gives a point J of the circle on each ray from the pole P."""
    robot = four_bar()
    q = design.turn(robot, 9)[3]
    at = {name: robot.point_position(q, name)[:2] for name in "OABC"}
    pole = design.instant_centers(robot, q)["ground", "coupler"]
    circle = [pole]
    for pin, pivot in (("A", "O"), ("B", "C")):
        arm = at[pin] - pole
        to_pivot = (at[pivot] - at[pin]) @ arm / np.linalg.norm(arm)
        circle.append(at[pin] + arm / np.linalg.norm(arm) * (arm @ arm) / to_pivot)
    (x0, y0), (x1, y1), (x2, y2) = circle
    matrix = 2 * np.array([[x1 - x0, y1 - y0], [x2 - x0, y2 - y0]])
    middle = np.linalg.solve(matrix, [x1**2 + y1**2 - x0**2 - y0**2, x2**2 + y2**2 - x0**2 - y0**2])
    radius = np.linalg.norm(middle - pole)
    pose = robot.pose(q, "coupler")
    for angle in (0.3, 1.7, 4.0):
        spot = middle + radius * np.array([np.cos(angle), np.sin(angle)])
        marked = robot.with_frame("spot", "coupler", np.linalg.inv(pose)[:3] @ [*spot, 0, 1])
        assert abs(design.path_curvature(marked, q, "spot")) < 1e-9 / radius
    np.testing.assert_allclose(design.path_curvature(robot, q, "A"), 1 / 0.3, rtol=1e-9)


def test_a_rocker_is_stuck_where_crank_and_coupler_are_in_line():
    robot, (d, a, b, c) = four_bar(), (1.0, 0.3, 0.9, 0.7)
    found = design.dead_points(robot, "C")
    reach = np.linalg.norm(robot.point_position(found, "B")[:, :2], axis=1)
    np.testing.assert_allclose(np.sort(reach), [b - a, b + a], atol=1e-10)
    assert not len(design.dead_points(robot))
    alpha = [np.arccos((d**2 + r**2 - c**2) / (2 * d * r)) for r in (b + a, b - a)]
    there = abs(alpha[1] + np.pi - alpha[0])
    np.testing.assert_allclose(
        design.quick_return(robot, "C"), max(there, 2 * np.pi - there) / min(there, 2 * np.pi - there)
    )


def test_an_output_that_turns_back_in_the_drawing_itself():
    engine = kt.linkage(
        {"O": (0, 0), "A": (0.04, 0), "B": (0.18, 0)}, ["O A", "A B"], ground="O", motor="O", sliders={"B": "x"}
    )
    ends = design.dead_points(engine, "B_slide")
    np.testing.assert_allclose(np.sort(ends[:, engine.joint_names.index("B_slide")]), [-0.08, 0.0], atol=1e-12)
    assert design.quick_return(engine, "B_slide") == pytest.approx(1.0, abs=1e-9)
    assert "B_slide swings from -0.08 to 0 m, quick-return ratio 1" in str(design.report(engine))


def test_a_report_prints_lengths_in_the_unit_of_the_drawing():
    engine = kt.linkage(
        {"O": (0, 0), "A": (40, 0), "B": (180, 0)}, {"crank": "O A", "rod": "A B"}, ground="O", motor="O",
        sliders={"B": "x"}, units="mm",
    )  # fmt: skip
    made = design.report(engine, points=["A"])
    assert "crank 40 mm, rod 140 mm" in str(made)
    assert "B_slide swings from -80 to 0 mm, quick-return ratio 1" in str(made)
    assert "point A: x from -40 to 40 mm, y from -40 to 40 mm" in str(made)
    np.testing.assert_allclose(made.paths["A"], [[-0.04, -0.04], [0.04, 0.04]], atol=1e-6)


def test_a_drive_that_does_not_turn_has_no_quick_return():
    clamp = kt.gallery.load("toggle-clamp")
    assert np.isnan(design.report(clamp, []).swings["C"][2])
    with pytest.raises(kt.UnsupportedError, match=r"back and forth .* 'O' cannot turn all around"):
        design.quick_return(clamp, "C")


def test_a_drive_that_does_not_turn_goes_from_one_dead_point_to_the_other():
    robot = four_bar(1.0, 0.6, 0.6, 0.8)
    q = design.turn(robot, 40)
    stretched = np.arccos((1 + 0.36 - (0.6 + 0.8) ** 2) / (2 * 0.6))  # coupler and rocker are in line there
    angle = q[:, 0] + 1.1
    np.testing.assert_allclose([angle.min(), angle.max()], [-stretched, stretched], atol=5e-3)
    np.testing.assert_allclose(robot.closure_error(q), 0.0, atol=1e-12)
    dead = design.dead_points(robot)[:, 0] + 1.1
    np.testing.assert_allclose(np.sort(np.cos(dead)), np.cos(stretched), atol=1e-12)


def test_mechanical_advantage_is_the_ratio_of_forces():
    robot = kt.linkage(
        {"O": (0, 0), "A": (0, 0.2), "B": {"A": 0.6, "O": 0.5, "side": "right"}},
        {"crank": {"points": "O A", "mass": 1}, "rod": {"points": "A B", "mass": 1}},
        ground="O", motor="O", sliders={"B": "x"}, gravity=(0, 0),
    )  # fmt: skip
    q = robot.follow({"O": np.linspace(0.3, 2.0, 6)})
    zero, force = np.zeros(robot.nv), 7.0
    torque = robot.inverse_dynamics(
        q, zero, zero, wrenches={"B_slider": kt.Wrench(force=(-force, 0, 0), axes="world")}
    )[:, 0]
    np.testing.assert_allclose(design.mechanical_advantage(robot, q, ("B", (1, 0))) * torque, force, rtol=1e-9)
    np.testing.assert_allclose(design.mechanical_advantage(robot, q, "B_slide") * torque, force, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_cognates_draw_the_same_curve(seed):
    rng = np.random.default_rng(seed)
    robot = four_bar(*(np.array([1.0, 0.3, 0.9, 0.7]) * rng.uniform(0.95, 1.05, 4)), angle=rng.uniform(0.5, 2.5))
    q = design.turn(robot, 30)
    path = robot.point_position(q, "P")
    left, right = design.cognates(robot, "P")
    timed = right.follow({"C": q[:, 0]}, right.neutral())
    np.testing.assert_allclose(right.point_position(timed, "P"), path, atol=1e-11)
    curve = left.point_position(design.circuit(left).q, "P")
    step = np.roll(curve, -1, axis=0) - curve
    for p in path:
        share = np.clip(((p - curve) * step).sum(axis=1) / (step**2).sum(axis=1), 0, 1)
        assert np.linalg.norm(curve + share[:, None] * step - p, axis=1).min() < 2e-3
    lengths = [np.sort(design.four_bars(r)[0].lengths) for r in (robot, left, right)]
    assert not np.allclose(lengths[0], lengths[1])
    assert not np.allclose(lengths[0], lengths[2])


def test_a_report_says_it_all():
    said = str(design.report(four_bar()))
    for words in (
        "crank-rocker",
        "turns all around",
        "transmission angle at B",
        "quick-return ratio",
        "point P: x from",
    ):
        assert words in said
    assert "dead points" in str(design.report(four_bar(1.0, 0.6, 0.6, 0.8)))


def test_outlines_have_the_area_of_the_plates(tmp_path):
    ezdxf = pytest.importorskip("ezdxf")
    robot = four_bar()
    design.save_outlines(robot, tmp_path / "bars.dxf", width="100 mm", hole="30 mm", curves=[[(0, 0), (1, 1)]])
    document = ezdxf.readfile(tmp_path / "bars.dxf")
    plates = {e.dxf.layer: e for e in document.modelspace().query("LWPOLYLINE") if e.closed}
    assert set(plates) == {"crank", "coupler", "rocker"}
    at = {name: robot.point_position(robot.neutral(), name)[:2] for name in "OABCP"}
    for bar, ends in (("crank", "OA"), ("coupler", "ABP"), ("rocker", "BC")):
        area = 0.0
        points = [(x, y, bulge) for x, y, _, _, bulge in plates[bar].get_points()]
        for (x, y, bulge), (u, v, _) in zip(points, [*points[1:], points[0]], strict=True):
            turn, chord = 4 * np.arctan(bulge), np.hypot(u - x, v - y)
            area += (x * v - y * u) / 2
            area += 0 if not bulge else (chord / 2 / np.sin(turn / 2)) ** 2 * (turn - np.sin(turn)) / 2
        np.testing.assert_allclose(area * 1e-6, rounded_plate(_around([at[p] for p in ends]), 0.1).area, rtol=1e-9)
    design.save_outlines(robot, tmp_path / "bars.svg", width=0.1)
    assert len(ElementTree.parse(tmp_path / "bars.svg").getroot()) == 3


def _around(points):
    """Return points counterclockwise."""
    middle = np.mean(points, axis=0)
    return sorted(points, key=lambda p: np.arctan2(*(p - middle)[::-1]))


def test_what_is_no_linkage_is_refused(tmp_path):
    robot = four_bar()
    with pytest.raises(kt.UnsupportedError, match="no loops"):
        design.four_bars(kt.load("kuka-kr5"))
    with pytest.raises(kt.UnsupportedError, match="plane"):
        design.four_bars(kt.load("delta"))
    with pytest.raises(kt.OptionError, match="must be on the coupler"):
        design.cognates(robot, "C")
    with pytest.raises(kt.UnknownNameError, match="'Q'; 'B' joins coupler 'coupler' and output 'rocker'"):
        design.transmission_angle(robot, robot.neutral(), "Q")
    with pytest.raises(kt.UnsupportedError, match="back and forth"):
        design.quick_return(robot, "A")
    with pytest.raises(kt.OptionError, match="svg or"):
        design.save_outlines(robot, tmp_path / "bars.png")

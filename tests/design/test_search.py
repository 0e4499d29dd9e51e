"""Searches for designs, against closed forms and known mechanisms: Freudenstein, counterweights, cognates."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import kinetree as kt
from kinetree_design.found_design import GoalRow
from kinetree_design.free_numbers import FreeNumbers
from kinetree_design.problem import DesignProblem

design = kt.design
EVERY = ["O", "C", "A", "B", "P"]


def linkage(*args, **options):
    """Return a linkage in machine code, as users have it."""
    return kt.Mechanism(kt.linkage(*args, **options).model, backend="compiled")


def four_bar(scale=1.0, **options):
    points = {"O": (0, 0), "C": (1, 0), "A": (0, 0.3), "B": (0.9, 0.8), "P": (0.4, 1.2)}
    return linkage(
        {name: (scale * x, scale * y) for name, (x, y) in points.items()},
        {name: {"points": own, "mass": 1} for name, own in (("crank", "O A"), ("coupler", "A B P"), ("rocker", "B C"))},
        ground="O C", motor="O", **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def drawn():
    return four_bar()


@pytest.fixture(scope="module")
def hidden():
    """A four-bar whose coupler curve gives points that can be met, and nine of them."""
    robot = linkage(
        {"O": (0.1, -0.1), "C": (1.1, 0.2), "A": (0.05, 0.3), "B": (0.95, 0.9), "P": (0.4, 1.2)},
        {"crank": "O A", "coupler": "A B P", "rocker": "B C"}, ground="O C", motor="O",
    )  # fmt: skip
    turn = robot.follow({"O": np.linspace(0, 2 * np.pi, 9, endpoint=False)})
    return robot, robot.point_position(turn, "P")[:, :2]


@pytest.mark.parametrize("count", [4, 5, 9])
def test_points_are_met_without_defects(drawn, hidden, count):
    points = hidden[1][np.linspace(0, 8, count).astype(int)]
    found = design(drawn, EVERY, design.Path("P", points), seed=count)
    assert found.solved
    assert found.miss.max() < 1e-9
    # it is driven from point to point, as a mechanism of its own, drawn at the first of them
    robot = found.robot
    drive = found.points.unwrapped(found.q[:, :1])[:, 0]
    went = robot.point_position(robot.follow({"O": drive}, robot.neutral()), "P")[:, :2]
    np.testing.assert_allclose(went, points, atol=1e-8)
    assert robot.closure_error(robot.neutral()).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(k, marks=pytest.mark.thorough) for k in range(2, 10))])
def test_nine_points_from_any_seed(drawn, hidden, seed):
    found = design(drawn, EVERY, design.Path("P", hidden[1]), seed=seed)
    assert found.solved
    assert found.miss.max() < 1e-6


@pytest.mark.slow
def test_all_cognates_meet_nine_points(drawn, hidden):
    points = hidden[1]
    many = design(drawn, EVERY, design.Path("P", points), starts=1500, seed=3)
    shapes = np.array([_lengths(one.robot) for one in (many, *many.others)])
    for cognate in (hidden[0], *design.cognates(hidden[0], "P")):
        assert np.abs(shapes - _lengths(cognate)).max(axis=1).min() < 1e-6


def _lengths(robot):
    """Return lengths of a four-bar in an order that does not tell input from output."""
    at = {p: robot.point_position(robot.neutral(), p)[:2] for p in EVERY}
    o, c = (at["O"], at["C"]), (at["A"], at["B"])
    ends = sorted(range(2), key=lambda k: float(o[k][0]))
    return np.array(
        [np.linalg.norm(o[0] - o[1]), *(np.linalg.norm(o[k] - c[k]) for k in ends), np.linalg.norm(c[0] - c[1])]
    )


def test_function_is_freudensteins():
    d, a, b, c = 1.0, 0.4, 1.1, 0.8
    phi = np.radians([40.0, 75.0, 110.0])
    reach = a * np.exp(1j * phi) - d
    inside = (c**2 + np.abs(reach) ** 2 - b**2) / (2 * c * np.abs(reach))
    psi = np.angle(reach) - np.arccos(inside)
    equations = np.stack([np.cos(psi), -np.cos(phi), np.ones(3)], axis=1)
    k1, k2, k3 = np.linalg.solve(equations, np.cos(phi - psi))
    wanted = d / k1, d / k2, np.sqrt((d / k1) ** 2 + (d / k2) ** 2 + d**2 - 2 * k3 * d * d / k1 / k2)
    robot = linkage(
        {"O": (0, 0), "C": (d, 0), "A": {"O": 0.6, "angle": "40 deg"}, "B": {"A": 1.3, "C": 1.0, "side": "above"}},
        {"crank": "O A", "coupler": "A B", "rocker": "C B"}, ground="O C", motor="O",
    )  # fmt: skip
    free = {"A.O": (0.05, 3), "B.C": (0.05, 3), "B.A": (0.05, 3)}
    found = design(robot, free, design.Function("O A", "C B", list(zip(phi, psi, strict=True))))
    np.testing.assert_allclose([found.numbers[name] for name in free], wanted, rtol=1e-10)


def test_counterweight_of_a_slider_crank_is_the_textbooks():
    """Half of what goes forth and back is balanced, and all that goes round: in the mean that shakes least."""
    engine = linkage(
        {"O": (0, 0), "A": (40, 0), "B": (190, 0), "W": (-25, 0)},
        {"crank": {"points": "O A W", "mass": 0.5, "com": (10, 0), "inertia": 1e-4}, "rod": "A B"},
        ground="O", motor="O", sliders={"B": "x"}, masses={"A": 0.2, "B": 0.4, "W": 0.1}, units="mm",
    )  # fmt: skip
    found = design(engine, {"W.mass": (0, 3)}, design.ShakingForce(), speed="600 rpm")
    assert found.numbers["W.mass"] == pytest.approx((0.5 * 10 + 0.2 * 40 + 0.5 * 0.4 * 40) / 25, rel=1e-6)


@pytest.mark.parametrize(
    "goal",
    [design.Torque(), design.Torque("O", "rms"), design.Energy(), design.PinForce("B"), design.ShakingForce("peak"),
     design.ShakingMoment(), design.TransmissionAngle(), design.Dwell("C", (0.0, 1.0)), design.Dwell("P", (0.0, 1.0)),
     design.Swing("C")],
    ids=lambda goal: goal.label,
)  # fmt: skip
def test_slopes_of_goals_are_those_of_differences(drawn, goal):
    _compare(drawn, {"A": 0.1, "B": 0.1, "coupler.mass": (1, 3)}, goal)


def test_torques_are_those_of_the_motors_where_a_platform_is_led():
    robot, states = kt.load("delta-design"), kt.gallery.motion("delta-design").states(np.linspace(0.02, 0.28, 9))
    led, motion = robot.with_independent(["x", "y", "z"]), tuple(x[:, :3] for x in states)
    free = {"arm": (0.2, 0.3)} | {f"elbow_{k}.position.x": "= arm" for k in (1, 2, 3)}
    numbers = FreeNumbers(led, free)
    values = (
        DesignProblem(led, numbers, motion, 1.0, 9, 1).evaluate(numbers.start[None], [design.Torque()], None).values
    )
    assert values[0, 0] == pytest.approx(np.abs(robot.inverse_dynamics(*states)).max(), rel=1e-12)
    for goal in (design.Torque(), design.Torque("shoulder_2", "rms"), design.Energy()):
        _compare(led, free, goal, motion=motion)
    with pytest.raises(kt.UnknownNameError, match="shoulder_1"):
        design(led, free, design.Torque("x"), motion=motion, progress=False)


def _compare(robot, free, goal, **options):
    numbers = FreeNumbers(robot, free)
    motion = {"motion": None, "speed": 3.0, "samples": 24, "threads": 1} | options
    problem = DesignProblem(robot, numbers, **motion)
    u = numbers.start[None]
    for sharp in (20.0, None):
        found = problem.evaluate(u, [goal], sharp).slopes[0, 0]
        step = 1e-5
        sides = [problem.evaluate(u + s * step * np.eye(u.size), [goal], sharp).values[:, 0] for s in (-2, -1, 1, 2)]
        wanted = (sides[0] - 8 * sides[1] + 8 * sides[2] - sides[3]) / (12 * step)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def test_natural_frequency_is_that_of_a_spring():
    """A mass on a bar that a spring holds: k l^2 / m l^2, where the spring is square to it."""
    robot = linkage(
        {"O": (0, 0), "C": (1, 0), "A": (0, 0.5), "B": (1, 0.5), "S": (-0.5, 0.5)},
        {"one": "O A", "link": "A B", "two": "C B"},
        ground="O C S", motor="O", masses={"A": 2.0}, springs={"s": {"between": "S A", "stiffness": 800}},
        gravity=(0, 0),
    )  # fmt: skip
    goal = design.NaturalFrequency()
    numbers = FreeNumbers(robot, {"s.stiffness": (100, 2000), "A.mass": (1, 3)})
    problem = DesignProblem(robot, numbers, (0.0, 0.3), 1.0, 5, 1)
    assert problem.evaluate(numbers.start[None], [goal], None).values[0, 0] == pytest.approx(20 / 2 / np.pi, rel=1e-8)
    _compare(robot, {"s.stiffness": (100, 2000), "A.mass": (1, 3)}, goal, motion=(0.0, 0.3))
    found = design(robot, {"s.stiffness": (100, 2000)}, goal, [goal <= 4.0], motion=(0.0, 0.3))
    assert found.numbers["s.stiffness"] == pytest.approx(2.0 * (8 * np.pi) ** 2, rel=1e-4)


def test_goals_within_limits(drawn):
    found = design(
        drawn, {"A": 0.1, "B": 0.2}, design.Torque(), [design.TransmissionAngle("B") >= "40 deg"], speed=3, samples=48
    )
    torque, angle = found.goals
    assert torque.after < 0.7 * torque.before
    assert angle.is_met
    q = design.turn(found.robot, 361)
    least = design.transmission_angle(found.robot, q)
    assert np.minimum(least, np.pi - least).min() > np.radians(40) * (1 - 1e-5)  # the true one, between samples
    assert "active" in str(found)


def test_ties_groups_and_names_of_ones_own(drawn):
    free = FreeNumbers(
        drawn, {"r": (0.1, 2), "A.y": "= r", "C.x": "= 3 * r + 0.1", ("crank.mass", "rocker.mass"): (1, 2)}
    )
    assert free.names == ("r", "crank.mass")
    numbers = dict(zip((p.key for p in free.places), free.values(np.array([0.5, 1.5])), strict=True))
    assert numbers == pytest.approx({"A.y": 0.5, "C.x": 1.6, "crank.mass": 1.5, "rocker.mass": 1.5})
    np.testing.assert_allclose(free.start[0], 0.3, atol=1e-12)
    assert free.slope(np.array([0.5, 1.5]))[list(numbers).index("C.x"), 0] == pytest.approx(3.0)


MM = {"O": (0, 0), "C": (250, 0), "A": (0, 40), "B": (250, 60)}


def in_mm(points=MM, **options):
    bars = {"crank": "O A", "rod": "A B", "lever": "B C"}
    return linkage(points, bars, ground="O C", motor="O", units="mm", width=15, thickness=3, density=7850, **options)


@pytest.mark.parametrize("bounds", [(50, 70), ("50 mm", "70 mm"), ("5 cm", "0.07 m")])
def test_names_of_ones_own_are_in_the_unit_of_the_drawing(bounds):
    tied = {"r": bounds, "B.y": "= r", "A.y": "= 0.6 * r", "C.x": "= sqrt(r ** 2 + B.x * B.x) - 10"}
    free = FreeNumbers(in_mm(), tied)
    assert free.units == ("m",)
    np.testing.assert_allclose([free.low[0], free.high[0]], [0.05, 0.07])
    values = dict(zip((p.key for p in free.places), free.values(np.array([0.06])), strict=True))
    assert values == pytest.approx({"B.y": 0.06, "A.y": 0.036, "C.x": np.hypot(0.06, 0.25) - 0.01})
    found = design(in_mm(), {"r": bounds, "B.y": "= r", "A.y": "= 0.6 * r"}, design.TransmissionAngle("B"), starts=4)
    assert "nan" not in str(found)
    y = found.table[0].after
    assert found.table[0].unit == "mm"
    assert found.goals[0].after == pytest.approx(_least_angle(0.6 * y, np.hypot(250, 0.4 * y), y, 250), rel=1e-6)


def test_names_of_ones_own_may_be_angles_and_factors():
    polar = in_mm(MM | {"A": {"O": 40, "angle": "100 deg"}})
    free = FreeNumbers(polar, {"a": ("80 deg", "120 deg"), "r": (30, 50), "k": (0.5, 2), "A.O": "= r", "A.angle": "= a",
                               "B.x": "= 250 + r * cos(a)", "B.y": "= k * C.x / 5"})  # fmt: skip
    assert free.units == ("rad", "m", "")
    values = dict(zip((p.key for p in free.places), free.values(np.array([2.0, 0.04, 1.5])), strict=True))
    assert values == pytest.approx({"A.O": 0.04, "A.angle": 2, "B.x": 0.25 + 0.04 * np.cos(2.0), "B.y": 0.075})
    both = {"B.y": "= r", "lever.mass": "= 0.01 * r"}
    with pytest.raises(kt.OptionError, match="different kinds are tied to it, in kg and in m"):
        FreeNumbers(_with_masses(), {"r": (50, 70), **both})
    free = FreeNumbers(_with_masses(), {"r": ("50 mm", "70 mm"), **both})
    np.testing.assert_allclose(sorted(free.values(np.array([0.06]))), [0.06, 0.6])


def _with_masses():
    bars = {"crank": "O A", "rod": "A B", "lever": {"points": "B C", "mass": 1}}
    return linkage(MM, bars, ground="O C", motor="O", units="mm")


@pytest.mark.parametrize(
    ("free", "said"),
    [({"r": ("50 m", "70 m"), "A.y": "= 0.6 * r"}, "'A.y', which is tied by '= 0.6 . r': .* another unit"),
     ({"r": (0.05, 0.07), "A.y": "= r"}, "another unit"), ({"r": None, "A.y": "= r"}, "needs bounds"),
     ({"r": 5, "A.y": "= r"}, "needs bounds"), ({"r": ("50 kg", "70 kg"), "A.y": "= r"}, "'50 kg' is no number in m")],
)  # fmt: skip
def test_bounds_of_ones_own_names_that_do_not_fit(free, said):
    with pytest.raises(kt.OptionError, match=said):
        FreeNumbers(in_mm(), free)


def test_designs_that_do_not_close_are_said():
    free = FreeNumbers(in_mm(MM | {"B": {"A": 245, "C": 60, "side": "above"}}), {"r": (20, 70), "B.C": "= r"})
    free.built(np.array([0.06]))
    with pytest.raises(kt.OptionError, match="does not close with these numbers: nothing is at 'B'"):
        free.built(np.array([0.001]))


def _least_angle(a, b, c, d):
    """Return the least transmission angle of a crank-rocker, by the law of cosines at the ends of its range."""
    angles = [np.arccos((b * b + c * c - (d + s * a) ** 2) / (2 * b * c)) for s in (1, -1)]
    return min(min(x, np.pi - x) for x in angles)


@pytest.mark.parametrize("motion", [None, ("-100 deg", "300 deg")])
def test_least_transmission_angle_is_that_between_samples(motion):
    robot = in_mm(MM | {"A": (-8.21812, 0.353458), "B": (241.301, -6.3099)})
    limit = design.TransmissionAngle("B") >= "37.5 deg"
    found = design(robot, {"A.x": 1e-6}, design.TransmissionAngle("B"), [limit], motion=motion, starts=1, samples=40)
    a, b, c = np.hypot(8.21812, 0.353458), np.hypot(249.51912, 6.663358), np.hypot(8.699, 6.3099)
    for row in found.goals:
        assert row.before == pytest.approx(_least_angle(a, b, c, 250), rel=1e-6)
    tight = design(robot, {"A.x": 1e-6}, design.Torque(), design.TransmissionAngle("B") >= "37.5 deg", starts=1)
    assert not tight.solved


def test_peaks_are_those_between_samples():
    """Of a mass on a parallelogram's crank at constant speed: its weight's torque."""
    robot = linkage(
        {"O": (0, 0), "C": (1, 0), "A": (0.11, 0.4), "B": (1.11, 0.4)}, {"one": "O A", "link": "A B", "two": "C B"},
        ground="O C", motor="O", masses={"A": 2.0}, gravity=(0, -9.81),
    )  # fmt: skip
    numbers, length = FreeNumbers(robot, {"A.mass": (1, 3)}), np.hypot(0.11, 0.4)
    problem = DesignProblem(robot, numbers, (-2.0, -1.0), 5.0, 9, 1)
    value = problem.evaluate(numbers.start[None], [design.Torque()], None).values[0, 0]
    angle = np.arctan2(0.4, 0.11) + np.linspace(-2.0, -1.0, 100_001)
    assert value == pytest.approx(np.abs(2.0 * 9.81 * length * np.cos(angle)).max(), rel=1e-6)


@pytest.fixture(scope="module")
def five_bar():
    links = {"one": "O A", "two": "C B", "three": "A P", "four": "B P"}
    return linkage(
        {"O": (0, 0), "C": (0.4, 0), "A": (-0.15, 0.3), "B": (0.55, 0.3), "P": {"A": 0.45, "B": 0.45, "side": "above"}},
        {name: {"points": points, "mass": 0.5} for name, points in links.items()},
        ground="O C", motor=["O", "C"], masses={"P": 1.0},
    )  # fmt: skip


@pytest.mark.parametrize("goal", [design.Torque(kind="rms"), design.PinForce("P")], ids=lambda goal: goal.label)
def test_drives_follow_from_the_motion_of_a_tool(five_bar, goal):
    """Slopes hold the tool where it is, so that its drives change with the dimensions."""
    times = np.linspace(0, 1, 12)
    places = np.stack([0.2 + 0.1 * np.cos(2 * np.pi * times), 0.5 + 0.05 * np.sin(2 * np.pi * times)], axis=1)
    motion = design.LedPoint("P", places, times)
    _compare(five_bar, {"A": 0.1, "B": 0.1}, goal, motion=motion)
    found = design(five_bar, {"A": 0.1, "B": 0.1}, goal, motion=motion, samples=16, starts=4)
    assert found.goals[0].after < found.goals[0].before


def test_condition_number(five_bar):
    motion = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    motion[0][1] = 0.1, -0.1
    _compare(five_bar, {"A": 0.1, "B": 0.1}, design.ConditionNumber("P"), motion=motion)
    numbers = FreeNumbers(five_bar, {"A": 0.1})
    found = DesignProblem(five_bar, numbers, motion, 1.0, 2, 1).evaluate(
        numbers.start[None], [design.ConditionNumber("P")], None
    )
    q = five_bar.follow({"O": motion[0][:, 0], "C": motion[0][:, 1]}, five_bar.neutral())
    slopes = [five_bar.jacobian(one, "P")[3:5] @ five_bar.basis(one) for one in q]
    assert found.values[0, 0] == pytest.approx(max(np.linalg.cond(one) for one in slopes))


# ---------------------------------------------------------------- paths that are missed


def pin(a, c, ab, cb, left):
    """Return where two circles meet, left of the way from a to c or right of it, as complex numbers."""
    way, far = (c - a) / np.abs(c - a), np.abs(c - a)
    along = (far**2 + ab**2 - cb**2) / (2 * far)
    return a + way * (along + (1j if left else -1j) * np.sqrt(ab**2 - along**2))


def foot_of(numbers, angle, left=(True, False)):
    """Return the coupler point of a four-bar O A B C, by circles."""
    oa, c, ab, cb, af, bf = numbers
    a = oa * np.exp(1j * angle)
    b = pin(a, c, ab, cb, left[0])
    return pin(a, b, af, bf, left[1])


def walking_leg():
    return linkage(
        {"O": (0, 0), "C": (27, 13.9616), "A": {"O": 18.0008, "angle": "137 deg"},
         "B": {"A": 65.0983, "C": 68, "side": "above"}, "foot": {"A": 70, "B": 30, "side": "right"}},
        {"crank": "O A", "coupler": "A B foot", "rocker": "B C"}, ground="O C", motor="O", units="mm",
    )  # fmt: skip


@pytest.mark.parametrize("noise", [0.003, 0.1, 0.3])
def test_a_path_that_is_missed_has_no_dead_point(noise):
    leg = walking_leg()
    way = leg.point_position(leg.follow({"O": -np.radians(np.arange(0, 180, 22.5))}), "foot")[:, :2]
    points = 1e3 * way + noise * np.random.default_rng(0).standard_normal(way.shape)
    goal = design.Path("foot", points, within="0.001 mm")
    found = design(leg, {"B": 2, "foot": 2}, goal, starts=3)
    assert (found.notes, found.defect, found.solved) == ((), "", False)
    assert "MISSED by" in str(found)
    assert found.assemblies == (tuple(range(8)),)
    free = np.array([found.numbers[name] for name in ("B.A", "B.C", "foot.A", "foot.B")])

    def missed(z):
        at = foot_of([18.0008e-3, 27e-3 + 13.9616e-3j, *z[:4]], np.radians(137) + z[4:])
        return np.concatenate([at.real - points[:, 0] / 1e3, at.imag - points[:, 1] / 1e3])

    here = np.append(free, found.q[:, 0])
    np.testing.assert_allclose(np.hypot(*missed(here).reshape(2, -1)), found.miss, atol=1e-9)
    own = np.array([65.0983, 68, 70, 30]) / 1e3
    bounds = np.append(own - 2e-3, np.full(8, -np.inf)), np.append(own + 2e-3, np.full(8, np.inf))
    best = least_squares(missed, here, bounds=bounds, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert np.linalg.norm(missed(here)) < 1.001 * np.linalg.norm(best.fun)  # nothing better is near
    allowed = design(leg, {"B": 2, "foot": 2}, design.Path("foot", points, within=3 * noise), starts=3)
    assert allowed.solved
    assert allowed.miss.max() < 3e-3 * noise


def test_misses_of_timed_paths_are_those_at_the_given_drives():
    drawn = linkage(
        {"O": (0, 0), "C": (37.1, 4.07), "A": {"O": 18.86, "angle": "134.5 deg"},
         "B": {"A": 85.9, "C": 100.4, "side": "above"}, "foot": (60, 80)},
        {"crank": "O A", "coupler": "A B foot", "rocker": "B C"}, ground="O C", motor="O", units="mm",
    )  # fmt: skip
    degrees, points = np.linspace(0, 180, 6), np.stack([np.linspace(60, -20, 6), np.full(6, 80)], axis=1)
    timed = [f"{angle} deg" for angle in degrees]
    free = {"A": 3, "B": 5, "C": 5, "foot": 5}
    found = design(drawn, free, design.Path("foot", points, timed=timed), starts=4)
    at = found.robot.point_position(found.robot.follow({"O": np.radians(degrees)}), "foot")[:, :2]
    np.testing.assert_allclose(found.miss, np.hypot(*(at - points / 1e3).T), rtol=1e-6)
    assert (found.notes, found.assemblies) == ((), (tuple(range(6)),))


# ---------------------------------------------------------------- bad input


def test_points_that_two_assemblies_meet_are_said():
    """Points of both circuits of the same four-bar: what meets them has to be taken apart."""
    above, mirrored = (
        linkage(
            {"O": (0, 0), "C": (1, 0), "A": (0, 0.3), "B": {"A": 0.9, "C": 0.75, "side": side},
             "P": {"A": 0.5, "B": 0.6, "side": "above"}},
            {"crank": "O A", "coupler": "A B P", "rocker": "B C"}, ground="O C", motor="O",
        )
        for side in ("above", "below")
    )  # fmt: skip
    angles = np.radians([0.0, 40.0])
    points = [r.point_position(r.follow({"O": angles}, r.neutral()), "P")[:, :2] for r in (above, mirrored)]
    free = {"P.A": (0.3, 0.8), "P.B": (0.3, 0.8)}
    found = design(above, free, design.Path("P", np.concatenate(points), timed=[*angles, *angles]), starts=48)
    assert found.miss.max() < 1e-8
    assert found.assemblies == ((0, 1), (2, 3))
    assert "assembled otherwise" in str(found) or "another order" in str(found)
    assert not found.solved
    beside = np.concatenate(points) + 0.003 * np.random.default_rng(1).standard_normal((4, 2))
    found = design(
        above, free, design.Path("P", beside, timed=[*angles, *angles], within=0.1, ordered=False), starts=300
    )
    assert 1e-4 < found.miss.max() < 0.1
    assert found.assemblies == ((0, 1), (2, 3))
    assert found.notes == ("comes to point 3 only by a dead point, or taken apart and assembled otherwise",)
    assert not found.solved


def test_what_cannot_be_met_says_by_how_much(drawn):
    found = design(drawn, {"A": 0.01, "P": 0.01}, design.Path("P", [(0.4, 1.2), (2.0, 0.2)]), starts=24)
    assert not found.solved
    assert found.miss.max() > 0.1
    text = str(found)
    assert "not all is met" in text
    assert "misses by up to" in text
    assert "bound" in text


def test_limits_that_cannot_hold_are_missed(drawn):
    found = design(drawn, {"B": 0.02}, design.Torque(), design.TransmissionAngle("B") >= "80 deg", samples=24)
    assert "MISSED by" in str(found)
    assert not found.solved


def test_limits_that_are_just_missed_are_said(drawn):
    row = GoalRow("angle", 1.0, 0.999, "rad", "at least", 1.0)
    assert not row.is_met
    assert GoalRow("angle", 1.0, 1.0 - 1e-9, "rad", "at least", 1.0).is_met


def test_where_no_design_follows_words_are_said_and_no_nan(drawn):
    """A crank longer than all other links does not turn."""
    stuck = linkage(
        {"O": (0, 0), "C": (1, 0), "A": (0, 0.9), "B": (0.9, 0.8)}, {"crank": "O A", "rod": "A B", "rocker": "B C"},
        ground="O C", motor="O", masses={"A": 1.0},
    )  # fmt: skip
    limit = design.TransmissionAngle("B") >= "40 deg"
    found = design(stuck, {"B": 0.01}, design.Torque(), limit, samples=24, starts=4)
    assert not found.solved
    assert "nan" not in str(found)
    assert str(found).count("no design was found that follows the whole motion") == 2


def test_a_front_of_two_goals_is_the_known_one():
    """A counterweight on a crank that speeds up: it shakes less, and takes more torque."""
    robot = linkage(
        {"O": (0, 0), "C": (1, 0), "A": (0, 0.5), "B": (1, 0.5), "W": (0, -0.4)},
        {"one": "O A W", "link": "A B", "two": "C B"}, ground="O C", motor="O", masses={"A": 2.0, "W": 0.5},
        gravity=(0, 0),
    )  # fmt: skip
    way = np.linspace(0.1, 0.6, 5)
    motion = way, np.full(5, 2.0), np.full(5, 3.0)
    goals = [design.Torque(), design.ShakingForce("peak")]
    found = design(robot, {"W.mass": (0, 1)}, goals, pareto=4, motion=motion, starts=1)
    assert len(found.front) == 4
    weights = np.array([one.numbers["W.mass"] for one in found.front])
    values = np.array([[row.after for row in one.goals[:2]] for one in found.front])
    np.testing.assert_allclose(values[:, 0], 3.0 * (2.0 * 0.25 + weights * 0.16), rtol=1e-6)
    np.testing.assert_allclose(values[:, 1], (2.0 * 0.5 - weights * 0.4) * np.hypot(3.0, 4.0), rtol=1e-6)
    np.testing.assert_allclose(weights, [0, 1 / 3, 2 / 3, 1], atol=2e-3)  # even, but for smooth maxima


def test_interrupts_keep_the_best_so_far(drawn, monkeypatch):
    calls, whole = [], DesignProblem.evaluate

    def interrupted(self, u, goals, sharp):
        calls.append(len(u))
        if len(calls) == 25:
            raise KeyboardInterrupt
        return whole(self, u, goals, sharp)

    monkeypatch.setattr(DesignProblem, "evaluate", interrupted)
    found = design(drawn, {"A": 0.1, "B": 0.2}, design.Torque(), speed=3, samples=24, starts=1)
    assert found.notes == ("interrupted: this is the best so far",)
    assert found.goals[0].after < 0.99 * found.goals[0].before  # what was found before Ctrl-C, not what was drawn
    assert len(calls) < 30


def test_numbers_that_nothing_depends_on_are_named(drawn):
    found = design(drawn, {"A": 0.05, "P": 0.1}, design.TransmissionAngle(), samples=24)
    assert any("P.x, P.y" in note for note in found.notes)
    assert found.numbers["P.x"] == 0.4


@pytest.mark.parametrize(
    ("free", "wanted", "said"),
    [({"A.x": (10, 60)}, design.Torque(), "another unit"), ({"A.q": (0, 1)}, design.Torque(), "A.x"),
     (["A"], design.Path("P", [(400, 1200), (300, 1000)]), "another unit"),
     ({"A.x": (2, 1)}, design.Torque(), "choose"),
     (["A"], design.Path("P", [(0.4, 1.2), (0.3, 1.0)], within=-0.1), "positive"),
     (["A"], [], "no goal"), (["A"], design.Torque() <= 2, "subject_to"), (["A"], design.PinForce("D"), "joint"),
     ({"A.x": "= import os"}, design.Torque(), "formula"), ({"A.x": "3 kg"}, design.Torque(), "A.x"),
     (["A"], design.Path("P", [(1, 2, 3, 4)]), "shape"), ({}, design.Torque(), "no number")],
)  # fmt: skip
def test_bad_input(drawn, free, wanted, said):
    with pytest.raises(kt.KinetreeError, match=said):
        design(drawn, free, wanted)


@pytest.mark.parametrize(
    ("wanted", "limit", "options", "said"),
    [(design.Torque(), design.TransmissionAngle() >= 40, {}, "never more than 1.5708 rad, .* written '40 deg'"),
     (design.Torque(), design.PinForce("B") <= np.nan, {}, "a bound is a finite number"),
     (design.Torque(), design.PinForce("B") <= "3 mm", {}, "'3 mm' is no number in N"),
     (-1 * design.Torque(), (), {}, "weights are positive"), (np.nan * design.Torque(), (), {}, "weights are positive"),
     (design.Energy(recovered=3), (), {}, "a fraction from 0 to 1"),
     (design.Torque(), (), {"speed": 0}, "speed of the drive must not be 0"),
     (design.Torque(), (), {"motion": (np.nan, 1.0)}, "from one position of the drive to another"),
     (design.Torque(), (), {"motion": (1.0, 1.0)}, "from one position of the drive to another"),
     (design.Torque(), (), {"starts": 0}, "starts"), (design.Torque(), (), {"seed": -1}, "seed"),
     (design.Pose("coupler", [(0, 0.3)]), (), {}, r"each pose is \(x, y, angle\)"),
     (design.Torque(), (), {"searches": 2, "workers": -1}, "workers"),
     (design.Torque(), (), {"searches": 2, "cluster": 3}, "address of a Dask scheduler"),
     (design.Torque(), (), {"pareto": 4}, "a front needs two goals")],
)  # fmt: skip
def test_bad_input_of_goals_limits_and_motions(drawn, wanted, limit, options, said):
    with pytest.raises(kt.OptionError if "pose" not in said else kt.ShapeError, match=said):
        design(drawn, {"A": 0.05}, wanted, limit, progress=False, **options)


def test_a_line_has_two_ends_of_a_kind():
    with pytest.raises(kt.ShapeError, match="a line goes from"):
        design.straight_line("P", (0, 0, 0), (1, 1))


@pytest.mark.parametrize("method", ["gradients", pytest.param("cma", marks=pytest.mark.slow)])
def test_a_crank_does_not_shrink_to_nothing(drawn, method):
    """Without a crank nothing would move, and take no torque: pins of a link stay apart."""
    found = design(
        drawn, {"A": 0.4}, design.Torque(), samples=16, starts=2, shortest=0.07, method=method, progress=False
    )
    assert np.hypot(found.numbers["A.x"], found.numbers["A.y"]) == pytest.approx(0.07, rel=1e-5)
    assert found.goals[0].after < 0.5 * found.goals[0].before


@pytest.mark.parametrize(
    ("after", "bound", "active"),
    [
        (0.0, 0.0, True),
        (-1e-7, 0.0, True),
        (-1e-3, 0.0, False),
        (2.001, 2.0, True),
        (1.9, 2.0, False),
        (1.0, None, False),
    ],
)
def test_a_limit_is_active_at_its_bound_also_at_zero(after, bound, active):
    assert GoalRow("x", 1.0, after, "m", "at most", bound).is_active is active

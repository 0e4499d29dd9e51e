"""Base parameters: three methods against one another, against what they must satisfy, and against the literature."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.random_arms import body, random_arm
from judges.real_robots import FIXED, FLOATING, load_quietly, robot_file
from kinetree import symbolic
from kinetree_gallery.systems.sr400 import table_10_2
from kinetree_gallery.systems.sr400.study import letters

REAL = {**{n: (p, False) for n, p in FIXED.items()}, **{n: (p, True) for n, p in FLOATING.items()}}


def states(robot: kt.Robot, count: int = 20) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return robot.random_configuration(rng, count), *rng.standard_normal((2, count, robot.nv))


def assert_same(a, b, tolerance=1e-6):
    assert a.names == b.names
    np.testing.assert_allclose(a.matrix, b.matrix, atol=tolerance)


def assert_complete(robot: kt.Robot, base, tolerance: float = 1e-9):
    """The groups give all torques, and none of them can be left out."""
    assert base.values == pytest.approx(base.matrix @ robot.parameters().values)
    count = max(40, 4 * len(base) // robot.nv)
    q, v, a = states(robot, count)
    columns = robot.regressor(q, v, a)[..., base.columns]
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(columns @ base.values, tau, atol=tolerance * np.abs(tau).max())
    tall = columns.reshape(-1, len(base))
    tall = tall / np.linalg.norm(tall, axis=0)
    assert np.linalg.svd(tall, compute_uv=False)[-1] > 1e-7


# ---------------------------------------------------------------- methods against one another


@pytest.mark.parametrize("part", range(4))
def test_three_methods_agree_on_random_arms(part):
    for seed in range(25 * part, 25 * part + 25):
        robot = random_arm(seed)
        rules, null_space, qr = (robot.base_parameters(method) for method in ("rules", "null_space", "qr"))
        assert_same(rules, null_space, 1e-9)
        assert_same(rules, qr)
        links = sum(not name.endswith("rotor_inertia") for name in rules.names)
        assert links <= rules.upper_bound


@pytest.mark.parametrize("name", sorted(REAL))
def test_methods_agree_on_real_robots(name):
    path, floating = REAL[name]
    robot = load_quietly(robot_file(path), floating_base=floating)
    null_space, qr = robot.base_parameters("null_space"), robot.base_parameters("qr")
    assert_same(null_space, qr)
    assert_complete(robot, null_space, 1e-4)  # 1.5708 in a file is taken for a right angle
    if floating:
        robot = load_quietly(robot_file(path))
    if not robot.model.has_followers:
        assert_same(robot.base_parameters("rules"), robot.base_parameters("qr"))


KINDS = {
    "spherical": kt.Spherical(),
    "universal": kt.Universal("XY"),
    "helical": kt.Helical("z", 0.1),
    "cylindrical": kt.Cylindrical("x"),
    "planar": kt.Planar(),
    "translation": kt.Translation(),
    "free": kt.Free(),
    "spherical_euler": kt.EulerSpherical("ZYX"),
    "free_euler": kt.EulerFree("YXZ"),
    "custom": kt.Custom(1, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0.1 * kt.sin(5 * x), 0))),
}


@pytest.mark.parametrize("carried", [False, True], ids=["on the base", "carried"])
@pytest.mark.parametrize("kind", KINDS)
def test_null_spaces_of_every_kind_of_joint(kind, carried):
    rng = np.random.default_rng(4)
    builder = kt.Builder("some").body("a", "base", kt.Revolute("z"), **body(rng))
    builder.body("b", "a" if carried else "base", KINDS[kind], position=(0.3, 0.1, 0.2), actuated=True, **body(rng))
    builder.body("c", "b", kt.Revolute("y"), position=(0.1, 0.2, 0.3), **body(rng))
    builder.body("d", "c", kt.Prismatic("x"), position=(0.1, 0.2, 0.3), **body(rng))
    robot = builder.build()
    for friction in (False, True):
        found = robot.base_parameters("null_space", friction=friction)
        assert_same(found, robot.base_parameters("qr", friction=friction))
    assert_complete(robot, robot.base_parameters())
    with pytest.raises(kt.UnsupportedError, match=r"'b_joint' is \w+, neither revolute nor prismatic.*null_space"):
        robot.base_parameters("rules")


@pytest.mark.parametrize("kind", ["free", "free_euler"])
def test_rules_reach_floating_bases(kind):
    """A floating base with two branches, hinges and slides of all directions, beside an arm on the ground."""
    rng = np.random.default_rng(5)
    builder = kt.Builder("some").body("a", "base", kt.Revolute("z"), **body(rng))
    builder.body("b", "base", KINDS[kind], position=(0.3, 0.1, 0.2), **body(rng))
    builder.body("c", "b", kt.Revolute("y"), position=(0.1, 0.2, 0.3), **body(rng))
    builder.body("d", "c", kt.Prismatic("x"), position=(0.1, 0.2, 0.3), **body(rng))
    builder.body("e", "b", kt.Prismatic("z"), position=(0.4, 0.2, 0.3), **body(rng))
    builder.body("f", "e", kt.Revolute("z"), position=(0.4, 0.2, 0.3), **body(rng))
    robot = builder.build()
    found = robot.base_parameters("rules")
    assert_same(found, robot.base_parameters("qr"))
    assert_complete(robot, found)
    assert len(found.names) - sum("rotor" in name for name in found.names) <= found.upper_bound


def test_followers_are_grouped_with_their_leader():
    rng = np.random.default_rng(0)
    builder = kt.Builder("gripper").body("palm", "base", kt.Revolute("z"), **body(rng))
    builder.body("left", "palm", kt.Prismatic("x"), **body(rng))
    builder.body("right", "palm", kt.Prismatic("-x"), mimic=kt.Mimic("left_joint"), **body(rng))
    robot = builder.build()
    base = robot.base_parameters(friction=True)
    assert_same(base, robot.base_parameters("qr", friction=True))
    assert base.group("left_joint.damping")["right_joint.damping"] == pytest.approx(1.0)
    assert_complete(robot, robot.base_parameters())
    with pytest.raises(kt.UnsupportedError, match="'right_joint' follows another"):
        robot.base_parameters("rules")


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "slider-crank", "robotic-leg"])
def test_mechanisms(name):
    mechanism = kt.gallery.load(name).with_backend("compiled")
    near = kt.gallery.start(name)
    base = mechanism.base_parameters(q_guess=near)
    assert_same(base, mechanism.base_parameters("qr", q_guess=near), 1e-5)
    q, v, a = kt.gallery.motion(name).states(np.linspace(*kt.gallery.motion(name).span, 7)[1:-1])
    whole = mechanism.reduced_regressor(q, v, a)
    tau = whole @ mechanism.parameters().values
    np.testing.assert_allclose(whole[..., base.columns] @ base.values, tau, atol=1e-7 * np.abs(tau).max())


def test_rules_miss_what_loops_in_general_add():
    leg = kt.gallery.load("robotic-leg").with_backend("compiled")
    near = kt.gallery.start("robotic-leg")
    base, rules = leg.base_parameters(q_guess=near), leg.base_parameters("rules", q_guess=near)
    assert len(rules) == len(base) + 3
    assert "the rules of Khalil miss 3" in str(base)


def test_rules_miss_what_free_fall_adds():
    """A pointing device in space: without gravity its first moments about the fixed center have no effect."""
    rng = np.random.default_rng(0)
    builder = kt.Builder("gimbal", gravity=(0, 0, 0)).body("a", "base", kt.Revolute("z"), **body(rng))
    robot = builder.body("b", "a", kt.Revolute("x"), **body(rng)).build()
    assert {"b.MY", "b.MZ"} <= set(robot.base_parameters().without_effect)
    assert {"b.MY", "b.MZ"} <= set(robot.base_parameters("rules").names)
    assert_same(robot.base_parameters(), robot.base_parameters("qr"))


# ---------------------------------------------------------------- the sources


SYMBOLS = ("d2", "d3", "d4", "d8", "RL4")


@pytest.fixture(scope="module")
def sr400_by_symbols():
    sp = pytest.importorskip("sympy")
    mechanism = kt.gallery.load("sr400").with_backend("compiled")
    d2, d3, d4, d8, r4 = lengths = sp.symbols(SYMBOLS, positive=True)
    places = {"joint_2": (d2, 0, 0), "joint_7": (d2, 0, 0), "joint_3": (d3, 0, 0), "joint_4": (d4, r4, 0)}
    parametric = symbolic.with_parameters(
        mechanism,
        joints={name: {"position": place} for name, place in (places | {"joint_8": (d8, 0, 0)}).items()},
        loops={"joint_9": {"position": (0, -d8, 0), "seat": (d3, 0, 0)}},
    )
    return lengths, mechanism.base_parameters(q_guess=kt.gallery.start("sr400"), symbols=parametric)


def test_sr400_in_symbols(sr400_by_symbols):
    """Every grouping equation of example 10.2, coefficient by coefficient."""
    lengths, base = sr400_by_symbols
    name = letters(kt.gallery.load("sr400"))
    assert tuple(name[x] for x in base.names) == table_10_2.KEPT
    stated = table_10_2.equations(*lengths)
    for kept in base.names:
        found = {name[o]: into[kept] for o, into in base.coefficients.items() if kept in into}
        expected = stated.get(name[kept], {})
        assert found.keys() == expected.keys()
        assert all((found[o] - expected[o]).simplify() == 0 for o in found)
    assert "forearm.MY + wrist_roll.MZ + RL4 wrist_roll.M" in str(base)
    assert str(base.expressions()["lever.MX"]) == "d8*pull_rod.M + lever.MX - d8*pull_rod.MX/d3"


def test_crossed_the_sr400_is_no_parallelogram():
    mechanism = kt.gallery.load("sr400").with_backend("compiled")
    crossed = mechanism.assembled(1)
    assert abs(crossed[7] - crossed[1] + crossed[6]) > 0.01  # theta8 = theta2 - theta7 in the parallelogram
    base = mechanism.base_parameters(q_guess=crossed)
    assert len(base) == 50
    assert len(mechanism.base_parameters()) == 42  # the parallelogram, if nothing is said
    assert base.upper_bound == 39 + 11


@pytest.mark.parametrize("friction", [False, True])
def test_motors_at_every_corner_of_a_parallelogram_are_one(friction):
    """Its corners turn at the same speed, so rotors and friction there act together; the rules know that, too."""
    rng = np.random.default_rng(3)
    b = kt.Builder("swing", gravity=(0, -9.81, 0))
    b.body("left", "base", kt.Revolute("z"), **body(rng)).body(
        "right", "base", kt.Revolute("z"), position=(0.5, 0, 0), **body(rng)
    )
    b.body("rod", "left", kt.Revolute("-z"), position=(0, 0.3, 0), **body(rng))
    mechanism = b.loop("pin", "rod", "right", kt.Revolute("z"), placement=(0.5, 0, 0), seat=(0, 0.3, 0)).build()
    found = {m: mechanism.base_parameters(m, friction=friction, q_guess=[0.3, 0.3, 0.3]) for m in ("rules", "qr")}
    for name in ("left.ZZ", *(["left_joint.damping", "left_joint.friction"] if friction else [])):
        groups = [{n: x for n, x in base.group(name).items() if "joint" in n} for base in found.values()]
        assert len(groups[0]) == 3
        assert groups[0] == pytest.approx(groups[1])


def dh_arm(name, rows, **options):
    body = {"mass": 1.0, "com": (0.1, 0.05, 0.02), "inertia": (0.1, 0.1, 0.1)}
    numbered = [{"antecedent": k, "name": f"link_{k + 1}", **body, **row} for k, row in enumerate(rows)]
    return kt.from_dh([kt.KhalilRow(**row) for row in numbered], "khalil", degrees=True, name=name, **options)


PUMA = [{}, {"alpha": -90}, {"d": 0.43, "r": 0.15}, {"alpha": -90, "d": 0.02, "r": 0.43}, {"alpha": 90}, {"alpha": -90}]
RX90 = [{}, {"alpha": 90}, {"d": 0.45}, {"alpha": -90, "r": 0.45}, {"alpha": 90}, {"alpha": -90}]
PANDA = [
    {"r": 0.333}, {"alpha": -90}, {"alpha": 90, "r": 0.316}, {"alpha": 90, "d": 0.0825},
    {"alpha": -90, "d": -0.0825, "r": 0.384}, {"alpha": 90}, {"alpha": 90, "d": 0.088},
]  # fmt: skip
UR5 = [{}, {"alpha": 90}, {"d": -0.425}, {"d": -0.392, "r": 0.109}, {"alpha": 90, "r": 0.095}, {"alpha": -90}]
FLAT_2R = [{}, {"d": 0.5}]
DIRECT_DRIVE = [{}, {"alpha": 90}, {"d": 0.46}]

PUBLISHED = {
    # Mayeda, Yoshida, Osuka, IEEE Trans. Robotics and Automation 6(3), 1990: hinges that are parallel or square have
    # 7 n - 4 b base parameters, b of them in the first group of parallel axes; two less if these are upright.
    "puma 560": (PUMA, 36, 7 * 6 - 4 - 2),
    "ur5": (UR5, 36, 7 * 6 - 4 - 2),
    "direct drive arm": (DIRECT_DRIVE, 15, 7 * 3 - 4 - 2),
    # Gautier, Janot, Vandanjon, IEEE Trans. Control Systems Technology 21(2), 2013: ZZR1, ZZ2, MX2 and MY2, beside
    # friction.
    "two hinges in the plane": (FLAT_2R, 4, 7 * 2 - 8 - 2),
    # Gaz, Cognetti, Oliva, Robuffo Giordano, De Luca, IEEE Robotics and Automation Letters 4(4), 2019: 43.
    "panda": (PANDA, 43, 7 * 7 - 4 - 2),
    # Khalil and Dombre 2002, chapter 9: 40 with the rotors 3 to 6.
    "rx90": (RX90, 36, 40 - 4),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    rows, links, stated = PUBLISHED[name]
    base = dh_arm(name, rows).base_parameters()
    assert base.method.endswith("finds the same")
    assert sum(not x.endswith("rotor_inertia") for x in base.names) == links == stated
    if name == "rx90":
        assert [x for x in base.names if x.endswith("rotor_inertia")] == [
            f"joint{k}.rotor_inertia" for k in (3, 4, 5, 6)
        ]
        assert len(base) == 40


def test_floating_trees_have_ten_and_seven_per_hinge():
    """Ayusawa, Venture, Nakamura, Int. J. Robotics Research 33(3), 2014: base-link motion sees all of them."""
    robot = load_quietly(robot_file(FLOATING["solo12"]), floating_base=True)
    base = robot.base_parameters()
    assert sum(not x.endswith("rotor_inertia") for x in base.names) == 10 + 7 * 12


# ---------------------------------------------------------------- what a user relies on


def test_units_do_not_matter():
    """The same arm in millimeters: the same groups, coefficients in other units."""
    for seed in (3, 11, 17):
        ours = random_arm(seed)
        theirs = scaled(ours, 1000.0)
        for method in ("null_space", "qr", "rules"):
            a, b = ours.base_parameters(method), theirs.base_parameters(method)
            assert a.names == b.names
            lengths = {"kg m^2": 1000.0**2, "kg m": 1000.0, "kg": 1.0}
            size = np.array([lengths[unit] for unit in a.table.units[: 10 * len(ours.body_names)]])
            kept = np.array([c for c in a.columns if c < len(size)])
            rows = [i for i, c in enumerate(a.columns) if c < len(size)]
            np.testing.assert_allclose(
                b.matrix[rows][:, : len(size)],
                a.matrix[rows][:, : len(size)] * size[kept][:, None] / size,
                rtol=1e-6,
                atol=1e-6,
            )


def scaled(robot: kt.Robot, factor: float) -> kt.Robot:
    """The same robot with another unit of length."""
    builder = kt.Builder(robot.name, gravity=tuple(factor * g for g in robot.gravity))
    names = {-1: "base"} | dict(enumerate(robot.body_names))
    for i, joint in enumerate(robot.model.joints):
        mass = robot.model.bodies[i].mass_properties
        builder.body(
            names[i], names[joint.parent], joint.kind, position=factor * joint.placement.position,
            rotation=joint.placement.rotation, mass=mass.mass, com=factor * np.array(mass.com),
            inertia=factor**2 * np.array(mass.inertia),
        )  # fmt: skip
    return builder.build()


def nearly_parallel(angle: float) -> kt.Robot:
    rng = np.random.default_rng(0)
    builder = kt.Builder("nearly").body("a", "base", kt.Revolute("z"), **body(rng))
    builder.body("b", "a", kt.Revolute("z"), position=(0.5, 0, 0), rpy=(angle, 0, 0), **body(rng))
    return builder.body("c", "b", kt.Revolute("y"), position=(0.4, 0, 0), **body(rng)).build()


def test_almost_parallel_axes_are_taken_for_parallel_and_it_says_so():
    exact, nearly = nearly_parallel(0.0).base_parameters(), nearly_parallel(3e-6).base_parameters()
    assert exact.names == nearly.names
    assert exact.notes == ()
    assert "rounded by up to 3e-06" in nearly.notes[0]
    assert len(nearly_parallel(1e-3).base_parameters()) > len(exact)
    assert len(nearly_parallel(3e-6).base_parameters(tolerance=1e-9)) > len(exact)


def test_numbers_say_when_they_cannot_tell():
    with pytest.raises(kt.SingularError, match=r"no clear gap between parameters of 'nearly'.*tolerance"):
        nearly_parallel(1e-6).base_parameters("qr", tolerance=0.0)


def test_an_upright_slide_cannot_be_told_from_an_offset():
    rng = np.random.default_rng(0)
    lift = kt.Builder("lift").body("car", "base", kt.Prismatic("z"), **body(rng)).build()
    assert lift.base_parameters().names == ("car.M", "car_joint.rotor_inertia")
    with_friction = lift.base_parameters(friction=True)
    assert with_friction.names == ("car.M", "car_joint.damping", "car_joint.friction", "car_joint.offset")
    assert with_friction.group("car_joint.offset")["car_joint.rotor_inertia"] == pytest.approx(-9.81)
    assert_same(with_friction, lift.base_parameters("qr", friction=True))


def test_a_printed_table_names_everything():
    robot = kt.gallery.load("kuka-kr5")
    base = robot.base_parameters()
    shown = str(base)
    assert "40 base parameters of 'kuka-kr5' out of 66: 16 are grouped with others, 10 have no effect" in shown
    assert "found by the rules of Khalil; null-space propagation finds the same" in shown
    assert "= link_2.XZ - 0.6 link_3.MZ" in shown
    assert "without effect: link_1.XX, link_1.XY" in shown
    assert list(base) == list(base.names)
    assert base["link_2.XZ"] == pytest.approx(base.values[3])
    assert {*base.names, *base.grouped, *base.without_effect} == {base.table.names[c] for c in base.considered}
    assert repr(base) == f"<40 base parameters of robot 'kuka-kr5', by {base.method}>"
    with pytest.raises(kt.UnknownNameError, match=r"base parameter"):
        base.group("link_2.XX2")


def test_expressions_of_numbers_are_fractions():
    sp = pytest.importorskip("sympy")
    shown = kt.gallery.load("kuka-kr5").base_parameters().expressions()["link_2.XZ"]
    assert shown == sp.Symbol("link_2.XZ", real=True) - sp.Rational(3, 5) * sp.Symbol("link_3.MZ", real=True)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "guess"}, kt.UnknownNameError, "method of finding base parameters"),
        ({"q_guess": np.zeros(6)}, kt.OptionError, "no closed loops"),
        ({"tolerance": -1.0}, kt.OptionError, "tolerance must be"),
        ({"tolerance": "small"}, kt.OptionError, "tolerance must be"),
    ],
)
def test_bad_options_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        kt.gallery.load("puma").base_parameters(**options)


def test_symbols_need_rules():
    robot = kt.gallery.load("puma")
    parametric = symbolic.with_parameters(robot, joints={robot.joint_names[1]: {"position": (0.1, 0, 0)}})
    with pytest.raises(kt.OptionError, match="symbols among dimensions need method='rules'"):
        robot.base_parameters("qr", symbols=parametric)


@pytest.mark.parametrize("method", ["rules", "null_space", "qr"])
def test_links_alone_without_the_rotors_of_their_motors(method):
    """The count is the rank of the regressor without the columns of rotors, and the torques are the same."""
    rng = np.random.default_rng(5)
    rows = [
        {
            "alpha": alpha,
            "a": a,
            "d": 0.1,
            "theta": 0.0,
            "mass": 1.0,
            "com": (0.1, 0.05, 0.02),
            "inertia": (0.1, 0.2, 0.15),
        }
        for alpha, a in ((0.0, 0.0), (1.1, 0.3), (0.7, 0.4))
    ]
    robot = kt.from_dh(rows, "modified")
    alone, driven = robot.base_parameters(method, rotors=False), robot.base_parameters(method)
    q, v, a = rng.uniform(-2.0, 2.0, (3, 60, 3))
    table = robot.regressor(q, v, a).reshape(180, -1)
    links = [k for k, name in enumerate(robot.parameters().names) if name.startswith("link") and "rotor" not in name]
    assert len(alone) == np.linalg.matrix_rank(table[:, links], tol=1e-9 * np.abs(table).max()) == 15
    assert not any("rotor" in name for name in alone.names)
    assert any("rotor" in name for name in driven.names)
    assert len(driven) > len(alone)
    tau = robot.inverse_dynamics(q, v, a).ravel()
    np.testing.assert_allclose(table[:, list(alone.columns)] @ alone.values, tau, rtol=1e-9, atol=1e-9)

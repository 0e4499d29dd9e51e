"""Files of SYMORO (.par): read with numbers and with symbols, written back, refused with file and line."""

from __future__ import annotations

import math
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.par_files import ARM, FLOATING, NUMBERS, RX90, SR400, TREE, TWO_LOOPS, bodies, par, write
from kinetree.model.dh.khalil_parameters import meant_angle, step_of
from kinetree.model.formats.formulas import ExpressionError, parse
from kinetree.model.pose import Pose
from kinetree.spatial.formula import ScalarFormula


def all_values(robot: kt.Robot, seed: int = 0, **fixed: float) -> dict[str, float]:
    """Numbers for all symbols; those of bodies are bodies that can be, so that nothing warns."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in robot.symbols:
        j = int(re.sub(r"\D", "", name) or 1)
        x, y, z, m = 0.1 * j, 0.05, -0.02 * j, 2.0 + 0.1 * j
        body = {
            "XX": 0.5 + m * (y * y + z * z), "YY": 0.6 + m * (x * x + z * z), "ZZ": 0.4 + m * (x * x + y * y),
            "XY": 0.02 - m * x * y, "XZ": 0.01 - m * x * z, "YZ": -0.03 - m * y * z, "MX": m * x, "MY": m * y,
            "MZ": m * z, "M": m,
        }  # fmt: skip
        found[name] = body.get(name.rstrip("0123456789"), float(rng.uniform(0.2, 0.6)))
    return found | fixed


def states(robot: kt.Robot, count: int = 5, seed: int = 1) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, count), *rng.standard_normal((2, count, robot.nv))


# ------------------------------------------------------------------ numbers


def test_tree_of_numbers_is_that_of_the_table(tmp_path):
    """The same table by kt.from_dh, which is judged against Khalil: slides, welds, branches, offsets, gravity."""
    robot = kt.load(write(tmp_path, TREE))
    numbers = [[float(x) for x in line.partition("{")[2].rstrip("}").split(",")] for line in bodies(6).splitlines()]
    rows = [
        {"antecedent": 0, "r": 0.3, "alpha": 0.3, "d": 0.0},
        {"antecedent": 1, "sigma": 1, "d": 0.1, "alpha": math.pi / 2, "theta": 0.4},
        {"antecedent": 2, "b": 0.1, "d": 0.2, "r": 0.1, "alpha": -0.5, "theta": 0.2, "mu": 0},
        {"antecedent": 1, "b": 0.2, "d": 0.3, "gamma": 0.7, "alpha": 1.1},
        {"antecedent": 4, "sigma": 2, "d": 0.1, "r": 0.2, "gamma": 0.2, "alpha": 0.4, "theta": 0.6},
        {"antecedent": 4, "b": 0.3, "d": 0.25, "r": 0.05, "gamma": -0.4, "alpha": math.pi},
    ]
    for j, row in enumerate(rows):
        xx, xy, xz, yy, yz, zz, mx, my, mz, m, ia, fv, fs = (column[j] for column in numbers)
        row |= {"mass": m, "com": (mx / m, my / m, mz / m), "inertia": (xx, yy, zz, xy, xz, yz), "about": "origin"}
        if row.get("sigma") != 2:
            row |= {"rotor_inertia": ia, "damping": fv, "friction": fs}
    table = kt.from_dh(rows, "khalil", gravity=(0.1, -0.2, -9.81))
    q, v, a = states(robot)
    assert robot.symbols == ()
    assert robot.joint_names == table.joint_names
    assert [j.actuated for j in robot.model.joints] == [True, True, False, True, True]
    for method in ("inverse_dynamics", "forward_dynamics"):
        np.testing.assert_allclose(
            getattr(robot, method)(q, v, a, friction=True), getattr(table, method)(q, v, a, friction=True), atol=1e-12
        )
    for frame in ("link5", "link6"):
        np.testing.assert_allclose(robot.pose(q, frame), table.pose(q, frame), atol=1e-14)


def test_numbers_need_no_sympy(tmp_path):
    path = write(tmp_path, TREE)
    code = (
        "import sys; sys.modules['sympy'] = None\nimport kinetree as kt\n"
        f"robot = kt.load({str(path)!r})\nprint(robot.mass_matrix([0.0] * 5).shape)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "(5, 5)"


def test_floating_base_has_the_inertia_of_link_0(tmp_path):
    robot = kt.load(write(tmp_path, FLOATING))
    assert robot.is_floating
    assert robot.body("link0").mass == 2.0
    placed = FLOATING.replace("G = ", "Z = {0,-1,0,1, 1,0,0,2, 0,0,1,3, 0,0,0,1}\nG = ")
    moved = kt.load(write(tmp_path, placed, "moved.par"))
    np.testing.assert_allclose(moved.pose(moved.neutral(), "link0")[:3, 3], (1, 2, 3))
    mobile = kt.load(write(tmp_path, FLOATING.replace("is_floating = True", "is_mobile = 1"), "mobile.par"))
    assert mobile.model == robot.model


def test_gravity_is_in_the_axes_of_frame_0(tmp_path):
    """A base that is turned by Z: gravity turns with it, so torques stay what they are."""
    text = par("r", "ant = {0}\nalpha = {pi/2}", links=1, dynamics=bodies(1), gravity="1,2,-9")
    turned = text.replace("G = ", "Z = {0,0,1,0.5, 1,0,0,0, 0,1,0,0, 0,0,0,1}\nG = ")
    one, other = kt.load(write(tmp_path, text)), kt.load(write(tmp_path, turned, "turned.par"))
    np.testing.assert_allclose(one.gravity_force([0.3]), other.gravity_force([0.3]), atol=1e-13)
    np.testing.assert_allclose(other.gravity, (-9, 1, 2))


def test_elastic_joint_is_a_spring_without_a_motor(tmp_path):
    text = par(
        "r", "ant = {0,1}\nd = {0,1}", links=2, dynamics=bodies(2) + "\neta = {0,1}\nk = {0,50}", gravity="0,0,0"
    )
    robot = kt.load(write(tmp_path, text))
    assert [j.actuated for j in robot.model.joints] == [True, False]
    np.testing.assert_allclose(robot.inverse_dynamics([0.0, 0.2], [0.0, 0.0], [0.0, 0.0]), [0.0, 10.0], atol=1e-12)


def test_wrenches_of_the_file_are_what_a_link_exerts(tmp_path):
    """Khalil's f is the force of the link on its surroundings: a link that pushes down is held up by its joint."""
    text = par(
        "r", "ant = {0}\nsigma = {1}\nr = {r1}\ntheta = {0}", links=1, gravity="0,0,-9.81",
        dynamics=bodies(1) + "\nFX = {0}\nFY = {0}\nFZ = {-5}",
    )  # fmt: skip
    with pytest.warns(kt.ModelWarning, match="wrenches=robot.loads"):
        robot = kt.load(write(tmp_path, text))
    weight = robot.body("link1").mass * 9.81
    np.testing.assert_allclose(robot.inverse_dynamics([0.0], [0.0], [0.0]), weight)
    np.testing.assert_allclose(robot.inverse_dynamics([0.0], [0.0], [0.0], wrenches=robot.loads), weight - 5.0)


def test_angles_of_twelve_digits_are_right_angles():
    assert meant_angle(1.57079632679) == math.pi / 2
    assert meant_angle(-1.57079632679000) == -math.pi / 2
    assert meant_angle(1.5708) == 1.5708
    assert meant_angle(0.0) == 0.0
    assert meant_angle(1.0471975512) == math.pi / 3


def test_joint_that_follows_another(tmp_path):
    text = par(
        "r", "ant = {0,1,2}\nd = {0,1,1}\ntheta = {th1, th2, 0.1 - 2*th2}", links=3, dynamics=bodies(3), gravity="0,0,0"
    )
    robot = kt.load(write(tmp_path, text))
    free = kt.load(write(tmp_path, text.replace("0.1 - 2*th2", "th3"), "free.par"))
    assert robot.nv == 2
    np.testing.assert_allclose(robot.pose([0.2, 0.3], "link3"), free.pose([0.2, 0.3, 0.1 - 0.6], "link3"), atol=1e-15)


# ------------------------------------------------------------------ loops


def numeric_loops(values: dict[str, float]) -> kt.Mechanism:
    """The two parallelograms, built by hand."""
    b = kt.Builder("by hand", gravity=(0, 0, 0.4))
    down = {"rotation": [[1, 0, 0], [0, 0, 1], [0, -1, 0]]}
    places = {1: ("base", 0.0, down), 2: ("base", values["B1"], down), 3: ("link1", values["L1"], {}),
              4: ("link3", values["B2"], {}), 5: ("link3", 0.0, {}), 6: ("link5", values["L2"], {})}  # fmt: skip
    for j, (parent, x, more) in places.items():
        ten = {s: values[f"{s}{j}"] for s in ("XX", "YY", "ZZ", "XY", "XZ", "YZ", "MX", "MY", "MZ", "M")}
        com = tuple(ten[s] / ten["M"] for s in ("MX", "MY", "MZ"))
        b.body(
            f"link{j}", parent, kt.Revolute("z"), joint_name=f"joint{j}", position=(x, 0, 0), **more,
            mass_properties=kt.MassProperties.of(
                ten["M"], com, [ten[s] for s in ("XX", "YY", "ZZ", "XY", "XZ", "YZ")], about="origin"
            ),
            actuated=j in (1, 4), rotor_inertia=values[f"IA{j}"],
        )  # fmt: skip
    b.loop("joint7", "link2", "link3", kt.Revolute("z"), placement=(values["L1"], 0, 0), seat=(values["B1"], 0, 0))
    b.loop("joint8", "link4", "link6", kt.Revolute("z"), placement=(values["L2"], 0, 0), seat=(values["B2"], 0, 0))
    made = b.build()
    assert isinstance(made, kt.Mechanism)
    return made


@pytest.fixture(scope="module")
def two_loops(tmp_path_factory):
    """The file of two loops, and values for all its symbols."""
    path = write(tmp_path_factory.mktemp("two_loops"), TWO_LOOPS)
    return path, all_values(kt.load(path), B1=0.5, B2=0.3, L1=0.4, L2=0.35, G3=0.4)


def test_loops_of_two_cut_frames_close_and_have_the_forces_of_the_numeric_robot(two_loops):
    """Parallelograms: q2 = q1, q3 = -q1, q5 = q4, q6 = -q4, so G of the closed motion is known (Khalil eq. 10.40)."""
    path, values = two_loops
    robot, by_hand = kt.load(path, values=values), numeric_loops(values)
    assert isinstance(robot, kt.Mechanism)
    g = np.array([[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]]).T
    rng = np.random.default_rng(3)
    active, va, aa = rng.standard_normal((3, 10, 2))
    q, v, a = active @ g.T, va @ g.T, aa @ g.T
    np.testing.assert_allclose(robot.loop_gaps(q), 0.0, atol=1e-15)
    closed = robot.close(q + 0.01 * (rng.standard_normal(q.shape) * [0, 1, 1, 0, 1, 1]), fixed=["joint1", "joint4"])
    np.testing.assert_allclose(closed, q, atol=1e-9)
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, by_hand.inverse_dynamics(q, v, a), atol=1e-11)
    np.testing.assert_allclose(tau[:, [0, 3]], robot.tree.inverse_dynamics(q, v, a) @ g, atol=1e-11)
    assert robot.mobility(q[0]).freedoms == 2


def test_cut_joint_with_a_motor(tmp_path, two_loops):
    """It keeps a coordinate; with symbols it is refused, for the link is cut through beside it."""
    text = TWO_LOOPS.replace("mu = {1,0,0,1,0,0,0,0,0,0}", "mu = {1,0,0,0,0,0,0,1,0,0}")
    with pytest.raises(kt.FileFormatError, match=r"line 8.*joint 8 closes a loop and has a motor"):
        kt.load(write(tmp_path, text))
    robot = kt.load(write(tmp_path, text), values=two_loops[1])
    assert robot.joint("joint8").actuated


# ------------------------------------------------------------------ symbols


def test_symbols_stay_until_they_have_values(tmp_path):
    path = write(tmp_path, RX90)
    robot = kt.load(path)
    assert robot.symbols[:2] == ("D3", "RL4")
    assert len(robot.symbols) == 2 + 13 * 6 + 1
    values = all_values(robot, D3=0.45)
    some = kt.load(path, values={"D3": 0.45})
    assert "D3" not in some.symbols
    assert some.model == robot.with_values({"D3": 0.45}).model
    whole, after = kt.load(path, values=values), some.with_values({k: x for k, x in values.items() if k != "D3"})
    assert whole.symbols == after.symbols == ()
    assert whole.model == after.model
    assert pickle.loads(pickle.dumps(robot)).model == robot.model


def test_what_needs_no_symbol_is_computed_and_what_does_names_it(tmp_path):
    robot = kt.load(write(tmp_path, RX90), values={"D3": 0.45, "RL4": 0.4})
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    numbers = kt.load(write(tmp_path, RX90), values=all_values(kt.load(write(tmp_path, RX90)), D3=0.45, RL4=0.4))
    for backend in ("reference", "compiled"):
        own = robot.with_backend(backend)
        np.testing.assert_allclose(own.pose(q, "link6"), numbers.pose(q, "link6"), atol=1e-15)
        np.testing.assert_allclose(own.jacobian(q, "link6"), numbers.jacobian(q, "link6"), atol=1e-15)
        for call in (lambda r: r.mass_matrix(q), lambda r: r.inverse_dynamics(q, q, q), lambda r: r.gravity,
                     lambda r: r.save(tmp_path / "x.yaml"), lambda r: r.with_parameters({"link1.M": 1.0})):  # fmt: skip
            with pytest.raises(kt.NoValueError, match=r"no value.*with_values"):
                call(own)
        with pytest.raises(kt.KinetreeError, match=r"no value.*with_values"):
            kt.simulate(own, q, time=0.1)


@pytest.mark.parametrize("ending", ["yaml", "urdf", "sdf", "xml"])
@pytest.mark.parametrize("text", [RX90, SR400], ids=["tree", "loop"])
def test_other_formats_have_no_symbols(tmp_path, text, ending):
    robot = kt.load(write(tmp_path, text), values={"G3": -9.81})
    with pytest.raises(kt.NoValueError, match="no value"):
        robot.save(tmp_path / f"x.{ending}")
    assert not (tmp_path / f"x.{ending}").exists()


def test_the_parallelogram_of_the_sr400_closes(tmp_path):
    """With the dimensions that SYMORO's own file has."""
    robot = kt.load(write(tmp_path, SR400), values={"D2": 4, "D3": 8, "D4": -2, "D8": 10, "RL4": 10})
    assert isinstance(robot, kt.Mechanism)
    assert robot.nv == 8
    q = np.array([0.3, -1.5, 0.0, 0.1, 0.2, 0.3, -2.8, 0.0])
    q[2], q[7] = math.pi / 2 - q[1] + q[6], q[1] - q[6]  # Khalil, example 7.1
    np.testing.assert_allclose(robot.loop_gaps(q), 0.0, atol=1e-10)


def test_expressions_and_values(tmp_path):
    text = par(
        "r", "ant = {0,1}\nd = {0,sqrt(b**2 + d6^2)}\nalpha = {-atan2(b, d6),Pi/2 + x}\nr = {2*a - (a/4),0}",
        links=2, dynamics=bodies(2), gravity="0,0,-g",
    )  # fmt: skip
    robot = kt.load(write(tmp_path, text))
    assert set(robot.symbols) == {"b", "d6", "x", "a", "g"}
    values = {"b": 3.0, "d6": 4.0, "x": 0.3, "a": 2.0, "g": 9.81}
    numbers = kt.load(write(tmp_path, text), values=values)
    plain = par(
        "r", f"ant = {{0,1}}\nd = {{0,5}}\nalpha = {{{-math.atan2(3, 4)},{math.pi / 2 + 0.3}}}\nr = {{3.5,0}}", links=2,
        dynamics=bodies(2), gravity="0,0,-9.81",
    )  # fmt: skip
    q, v, a = states(numbers)
    expected = kt.load(write(tmp_path, plain, "plain.par")).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(numbers.inverse_dynamics(q, v, a), expected, rtol=1e-12)
    np.testing.assert_allclose(robot.with_values(values).inverse_dynamics(q, v, a), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0), ("-1.5e-3", -1.5e-3), ("2*3 - 4/2", 4.0), ("2**3**2", 512.0), ("-2**2", -4.0), ("(1+2)*3", 9.0),
        ("sqrt(2)", math.sqrt(2)), ("atan2(1, -1)", math.atan2(1, -1)), ("cos(pi/2)", 0.0), ("sin(Pi/6)", 0.5),
        ("- -1", 1.0), ("4^0.5", 2.0), ("abs(-3)", 3.0), ("acos(0.5)", math.acos(0.5)), ("2**-1", 0.5),
        (".5", 0.5), ("tan(0.3)", math.tan(0.3)), ("exp(log(2))", 2.0), ("asin(0.3)", math.asin(0.3)),
    ],
)  # fmt: skip
def test_numbers_of_expressions(text, value):
    assert float(parse(text)) == pytest.approx(value, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a number, a symbol or a bracket is expected"), ("1 2", "is unexpected"), ("sqrt(1", "is expected"),
        ("foo(1)", "no function 'foo'"), ("sqr(2)", "did you mean 'sqrt'"), ("atan2(1)", "takes 2"),
        ("1/0", "no value"), ("sqrt(-1)", "not a finite number"), ("1e999", "not a finite number"),
        ("a.b", "cannot be part"),
        ("(" * 99 + "1", "more than"),
        ("__import__('os')", "cannot be part"), ("9**9**9**9", "no"), ("x" * 3000, "characters"),
        ("d3;", "cannot be part"),
    ],
)  # fmt: skip
def test_bad_expressions(text, reason):
    with pytest.raises(ExpressionError, match=reason):
        parse(text)


def test_formulas_are_evaluated_on_any_scalar():
    """The text that is printed says the same as the formula: parsed again it has the same value."""
    rng = np.random.default_rng(0)
    for text in ("a - (b - c)", "a/(b*c)", "(a + b)**2", "-(a + b)*c", "a**(b + 1)", "sqrt(a**2 + b)/-c", "2*(3*a)",
                 "atan2(a - b, c)", "a - -b", "(a - a) + b", "0*a + 1*b", "a**-2", "(-a)**2"):  # fmt: skip
        formula = parse(text)
        again = parse(str(formula))
        for _ in range(5):
            values = dict(zip("abc", rng.uniform(0.5, 2.0, 3).tolist(), strict=True))
            expected = eval(text, {"sqrt": math.sqrt, "atan2": math.atan2}, dict(values))
            assert formula.evaluate(values) == pytest.approx(expected, rel=1e-14), text
            assert again.evaluate(values) == pytest.approx(expected, rel=1e-14), text
    assert parse("a - a") == 0.0
    assert parse("0*a") == 0.0
    assert str(parse("sqrt(b**2 + d6**2)")) == "sqrt(b**2 + d6**2)"
    with pytest.raises(kt.NoValueError, match="a, b have no value"):
        float(parse("a + b"))
    with pytest.raises(kt.NoValueError):
        np.ones(3) * ScalarFormula.symbol("a")


# ------------------------------------------------------------------ writing


@pytest.mark.parametrize("text", [RX90, ARM, TWO_LOOPS, FLOATING], ids=["RX90", "ARM", "TWO_LOOPS", "FLOATING"])
def test_round_trip(tmp_path, text):
    robot = kt.load(write(tmp_path, text))
    robot.save(tmp_path / "again.par")
    assert kt.load(tmp_path / "again.par").model == robot.model
    kt.load(tmp_path / "again.par").save(tmp_path / "third.par")
    assert (tmp_path / "third.par").read_text() == (tmp_path / "again.par").read_text()


def test_round_trip_of_welds_and_wrenches_with_symbols(tmp_path):
    text = par(
        "welded",
        "ant = {0,1,2,2,4}\nsigma = {0,2,0,2,0}\nd = {0,a,b,c,0}\nr = {0,0,0,h,2}\ntheta = {th1,0.3,th3,x,th5}",
        links=5, type_=1, dynamics="FX = {0,0,0,0,FX5}\nCZ = {0,0,0,0,-CZ5}",
    )  # fmt: skip
    robot = kt.load(write(tmp_path, text))
    assert robot.body_names == ["link1", "link3", "link5"]
    assert str(robot.loads["link5"][3]) == "-FX5"
    assert str(robot.loads["link5"][2]) == "CZ5"
    robot.save(tmp_path / "again.par")
    again = kt.load(tmp_path / "again.par")
    assert again.model == robot.model
    values = all_values(robot, a=0.2, b=0.3, c=0.4, h=0.1, x=0.5)
    q, v, acc = states(robot)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        one, other = robot.with_values(values), kt.load(write(tmp_path, text), values=values)
    np.testing.assert_allclose(one.inverse_dynamics(q, v, acc), other.inverse_dynamics(q, v, acc), rtol=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "carpet-scraper", "sr400", "kuka-kr5", "puma", "stanford-arm", "gripper"])
def test_robots_of_the_gallery_are_written(tmp_path, name):
    """Bodies may have other frames, but the same coordinates move the same masses in the same way."""
    robot = kt.gallery.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        robot.save(tmp_path / "r.par")
    again = kt.load(tmp_path / "r.par")
    q, v, a = states(robot)
    here, there = (r.tree if isinstance(r, kt.Mechanism) else r for r in (robot, again))
    np.testing.assert_allclose(there.inverse_dynamics(q, v, a), here.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-9)
    assert [j.actuated for j in again.model.joints] == [j.actuated for j in robot.model.joints]
    for one, other in zip(robot.model.loops, again.model.loops, strict=True):
        gaps = (r.loop_gaps(q) for r in (robot, again))
        assert one.count == other.count
        np.testing.assert_allclose(*(np.linalg.norm(g, axis=-1) for g in gaps), atol=1e-12)


def test_any_pose_has_khalil_parameters():
    rng = np.random.default_rng(5)
    for k in range(200):
        angles = rng.choice([0.0, math.pi / 2, -math.pi / 2, math.pi, 0.3], 3) if k % 2 else rng.uniform(-3, 3, 3)
        pose = Pose.of(rng.choice([0.0, 0.5, -0.2], 3), rpy=angles)
        found = step_of(pose).transform()
        np.testing.assert_allclose(found.homogeneous(), pose.matrix, atol=1e-12)


def test_what_a_par_file_cannot_say(tmp_path):
    with pytest.raises(kt.UnsupportedError, match="universal"):
        kt.gallery.load("delta").save(tmp_path / "x.par")
    b = kt.Builder("limited").body("a", "base", kt.Revolute("y"), mass=1, lower=-1, upper=1)
    b.frame("tool", "a")
    with pytest.warns(kt.ModelWarning, match=r"limits of joint 'a_joint'.*frame 'tool'"):
        b.build().save(tmp_path / "x.par")
    spring = kt.Builder("s").body("a", "base", kt.Revolute("y"), mass=1, stiffness=2.0).build()
    with pytest.raises(kt.UnsupportedError, match="a spring and a motor"):
        spring.save(tmp_path / "x.par")


# ------------------------------------------------------------------ what cannot be read

GOOD = par("r", "ant = {0,1}\nd = {0,1}", links=2, dynamics=bodies(2), gravity="0,0,-9.81")

BAD = {
    "empty": ("", None, "there is no NL"),
    "no list": (GOOD.replace("ant = {0,1}", "ant = 3"), 8, "ant must be a list"),
    "a list": (GOOD.replace("NL = 2", "NL = {2}"), 2, "NL must be one word"),
    "no end": (GOOD.replace("d = {0,1}", "d = {0,1"), 9, "the list of d does not end: '}' is missing"),
    "not at all": ("hello", 1, "'key = value' or 'key = {...}' is expected, not 'hello'"),
    "count of frames": (GOOD.replace("NF = 2", "NF = 3"), 4, "NF = 3, but 2 links and 2 joints have 2 frames"),
    "no whole number": (GOOD.replace("NL = 2", "NL = two"), 2, "NL must be a whole number, not 'two'"),
    "no links": (GOOD.replace("NL = 2", "NL = 0"), 2, "NL = 0 links"),
    "too few": (GOOD.replace("d = {0,1}", "d = {0}"), 9, "d has 1 entries, where 2 are needed: one for each frame"),
    "antecedent behind": (GOOD.replace("ant = {0,1}", "ant = {0,2}"), 8, "ant of frame 2 is 2: it must be"),
    "sigma": (GOOD.replace("d = {0,1}", "d = {0,1}\nsigma = {0,\n3}"), 11, "sigma of frame 2 is 3"),
    "mu": (GOOD.replace("d = {0,1}", "d = {0,1}\nmu = {0,7}"), 10, "mu of frame 2 is 7"),
    "expression": (GOOD.replace("d = {0,1}", "d = {0,\n\n1 +}"), 11, "d of frame 2: a number, a symbol"),
    "function": (GOOD.replace("d = {0,1}", "d = {0,sqr(2)}"), 9, "did you mean 'sqrt'"),
    "twice": (GOOD.replace("d = {0,1}", "d = {0,1}\nd = {0,1}"), 10, "d occurs twice; the first is on line 9"),
    "two variables": (
        GOOD.replace("d = {0,1}", "theta = {th1,th1+th2}"), 9, "theta of frame 2: th2 and th1 are variables"),
    "which variable": (GOOD.replace("d = {0,1}", "theta = {th1,x+y}"), 9, "which of x, y is the variable"),
    "not linear": (GOOD.replace("d = {0,1}", "theta = {th1,th2**2}"), 9, "th2**2 must be the variable th2 plus"),
    "backwards": (GOOD.replace("d = {0,1}", "theta = {th1,-th2}"), 9, "-th2 must be the variable"),
    "variable as dimension": (GOOD.replace("d = {0,1}", "d = {0,th1}"), 9, "th1 is the variable of joint 1"),
    "variable as mass": (GOOD.replace("XX = {", "XX = {th1*"), 11, "XX of link 1: th1 is the variable of joint 1"),
    "floating": (GOOD.replace("Type = 0", "Type = 0\nis_floating = perhaps"), 6, "True or False"),
    "base inertia": (GOOD.replace("Type = 0", "Type = 0\nis_floating = 1"), 12, "XX has 2 entries, where 3"),
    "place": (GOOD.replace("G = ", "Z = {1,2,3,4,5,6,7,8,9,10,11,12,0,0,0,1}\nG = "), 24, "orthonormal"),
    "place of symbols": (GOOD.replace("G = ", "Z = {1,0,0,x,0,1,0,0,0,0,1,0,0,0,0,1}\nG = "), 24, "must be numbers; x"),
    "eta": (GOOD.replace("d = {0,1}", "d = {0,1}\neta = {0,2}"), 10, "eta of joint 2 is 2"),
    "end of a loop": (
        TWO_LOOPS.replace("sigma = {0,0,0,0,0,0,0,0,2,2}", "sigma = {0,0,0,0,0,0,0,0,0,2}"), 9,
        "sigma of frame 9 is 0: it is fixed on its link (2), and frame 7"),
    "negative mass": (GOOD.replace("M = {", "M = {-"), 8, "mass is negative"),
    "far away": (GOOD.replace("d = {0,1}", "d = {0,1e300}"), None, "must not exceed"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    text, line, message = BAD[case]
    path = write(tmp_path, text)
    with pytest.raises(kt.FileFormatError) as caught:
        kt.load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    if line is not None:
        assert caught.value.line == line


def test_odd_files_are_read_with_a_warning(tmp_path):
    with pytest.warns(kt.ModelWarning, match=r"line 10: no key of .par files named 'alhpa'; did you mean 'alpha'"):
        kt.load(write(tmp_path, GOOD.replace("d = {0,1}", "d = {0,1}\nalhpa = {0,1}")))
    with pytest.warns(kt.ModelWarning, match="W0 says that the base moves"):
        kt.load(write(tmp_path, GOOD.replace("G = ", "W0 = {0,0,1}\nG = ")))


def test_values_of_nothing(tmp_path):
    path = write(tmp_path, RX90)
    with pytest.raises(kt.UnknownNameError, match="no symbol in this file named 'D4'"):
        kt.load(path, values={"D4": 1.0})
    with pytest.raises(kt.OptionError, match="'th2' is the variable of joint 2"):
        kt.load(path, values={"th2": 1.0})
    with pytest.raises(kt.OptionError, match="the value of 'D3' must be a finite number"):
        kt.load(path, values={"D3": math.nan})
    with pytest.raises(kt.UnknownNameError, match="no symbol named 'D4'"):
        kt.load(path).with_values({"D4": 1.0})
    with pytest.raises(kt.OptionError, match=r"values are for symbols in \.par files"):
        kt.load("kuka-kr5", values={"D3": 1.0})
    root = par("r", "ant = {0,1}\nd = {0,sqrt(a - b)}", links=2, dynamics=bodies(2), gravity="0,0,-9.81")
    with pytest.raises(kt.FileFormatError, match=r"d of frame 2: 'sqrt\(a - b\)' is not a finite number"):
        kt.load(write(tmp_path, root), values={"a": 1.0, "b": 2.0})
    with pytest.raises(kt.ModelError, match=r"sqrt\(a - b\) is not a finite number with these values"):
        kt.load(write(tmp_path, root)).with_values({"a": 1.0, "b": 2.0})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.yaml", "D3: 0.45\nRL4: 9/20  # as SYMORO writes numbers\n"),
        ("v.json", '{"D3": 4.5e-1, "RL4": 0.45}'),
        ("v.csv", "name,value\nD3,0.45\nRL4;.45\n\n# no more\n"),
    ],
)
def test_values_from_a_file(tmp_path, name, text):
    path, file = write(tmp_path, RX90), tmp_path / name
    file.write_text(text)
    known = kt.load(path, values={"D3": 0.45, "RL4": 0.45})
    assert kt.load(path, values=file) == known
    assert kt.load(path).with_values(str(file)) == known


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("v.yaml", "- 1\n", "a line for each symbol"),
        ("v.yaml", "D3: [1]\n", "D3 must be a single number"),
        ("v.yaml", "RL4: 1\nD3: x + 1\n", r"v\.yaml, line 2: D3: 'x \+ 1' is not a number"),
        ("v.json", '{"D3": 1e400}', "D3: '1e400' is not a finite number"),
        ("v.csv", "D3,1\nD3,2\n", "line 2: 'D3' is given twice"),
        ("v.csv", "D3 1\n", "a line is a name and a number"),
        ("v.txt", "D3 1\n", "values of symbols are read from"),
    ],
)
def test_bad_files_of_values(tmp_path, name, text, reason):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(kt.FileFormatError, match=reason):
        kt.load(write(tmp_path, RX90), values=file)
    with pytest.raises(kt.MissingFileError, match="no file with values"):
        kt.load(write(tmp_path, RX90), values=tmp_path / "none.yaml")


def test_all_symbols_without_a_value_are_named_at_once(tmp_path):
    robot = kt.load(write(tmp_path, ARM))
    q = np.zeros(2)
    with pytest.raises(kt.NoValueError) as missing:
        robot.forward_dynamics(q, q, q, parameters={"L1": 1.0})
    needed = missing.value.symbols
    assert {"ZZ1", "ZZ2", "M2", "MX1", "MX2"} <= set(needed)
    assert "L1" not in needed
    values = dict.fromkeys(needed, 1.5) | {"L1": 1.0}
    assert np.isfinite(robot.forward_dynamics(q, q, q, parameters=values)).all()
    with pytest.raises(kt.NoValueError) as missing:
        kt.simulate(robot, q, q, time=1.0)
    assert missing.value.symbols == tuple(sorted(robot.symbols))


def test_values_of_groups_have_no_rounding_in_them(tmp_path):
    lengths = {"D2": 4, "D3": 8, "D4": -2, "D8": 10, "RL4": 10}
    base = kt.load(write(tmp_path, SR400), values=lengths).base_parameters()
    assert str(base["link2.XX"]) == "XX2 - YY2 - 64*M3 - 64*M4 - 64*M5 - 64*M6 + XX8 - YY8"
    assert str(base["link7.MX"]) == "MX7 - 1.25*MX8 + 10*M8"


OF_EVERY_KIND = {
    "old spellings": "Ant = {0,\n 1}\nSigma = {0,0}\nB = {0,0}\nd = {0,D2}\nR = {RL1,0}\nAlpha = {0,Pi/2}\n"
    "Theta = {t1,t2}",
    "slide": "ant = {0,1}\nsigma\t=\t{0,1}\r\nr = {0,r2}\nalpha = {0,-pi/2}\ntheta = {th1,0}",
    "branches": "ant = {0,1,1}\nsigma = {0,0,1}\nb = {0,0,b3}\ngamma = {0,0,gam3}\nd = {0,d2,d3}\nr = {0,0,r3}\n"
    "alpha = {0,pi/2,al3}\ntheta = {th1,th2,th3c}",
    "two loops": "ant = {0,1,0,1,4,0,2,5,3,6}\nsigma = {0,0,0,0,0,0,0,0,2,2}\nd = {0,L1,B1,L1,L2,B2,L2,L2,L3,L3}\n"
    "theta = {th1,th2,th3,th4,th5,th6,th7,th8,0,0}\nmu = {1,0,0,0,0,0,0,0,0,0}",
    "weld": "ant = {0,1,2}\nsigma = {0,2,0}\nd = {0,d2,d3}\ntheta = {th1,0.3,th3}\nr = {0,r2,0}",
    "functions": "ant = {0,1}\nd = {0,sqrt(b**2 + d6**2)}\ntheta = {th1,th2 + atan2(b,d6)}\nalpha = { 0 ,asin(h/2) }",
    "floating": "is_floating = True\nant = {0,1}\nd = {d1,d2}\nalpha = {0,0.4}\ntheta = {q1,q2}\nW0 = {WXb,WYb,WZb}",
    "mobile": "is_mobile = 1\nant = {0,1}\nsigma = {0,1}\nd = {d1,d2}\nr = {0,r2}\nalpha = {0,0.4}\ntheta = {q1,0}",
}


@pytest.mark.filterwarnings("ignore::kinetree.ModelWarning")
@pytest.mark.parametrize("kind", OF_EVERY_KIND)
def test_groups_in_symbols_are_those_of_numbers(tmp_path, kind):
    """Read, written back, grouped by rule with symbols: the numbers of the numeric robot at random values."""
    text = OF_EVERY_KIND[kind]
    frames = text.lower().split("ant = {")[1].split("}")[0].count(",") + 1
    links = {"two loops": 6}.get(kind, frames)
    joints = (frames + links) // 2
    type_ = 2 * (kind == "two loops")
    head = f"(* Robotname = 'r' *)  \nNL = {links} (* links *)\nNJ = {joints}\n  NF={frames}\nType = {type_}\n"
    robot = kt.load(write(tmp_path, f"{head}{text}\nG = {{0,-9.81,0}}\n"))
    robot.save(tmp_path / "back.par")
    assert kt.load(tmp_path / "back.par") == robot
    base, rng = robot.base_parameters(), np.random.default_rng(3)
    for _ in range(3):
        values = {name: rng.uniform(0.4, 1.0) for name in robot.symbols}
        numeric = robot.with_values(values).base_parameters()
        assert numeric.names == base.names
        found = [x.evaluate(values) if hasattr(x, "evaluate") else x for x in base.values]
        np.testing.assert_allclose(np.array(found, dtype=float), numeric.values, rtol=1e-12, atol=1e-12)


def test_grouped_parameters_are_read_as_they_are(tmp_path):
    """Files of base parameters have first moments without mass; all algorithms work with them."""
    ten = ["0", "0", "0", "0", "0", "1.5", "0.3", "0.2", "0", "0", "0", "0", "0"]
    text = par("r", "alpha = {pi/2}", links=1, dynamics=NUMBERS % tuple(ten), gravity="0,0,-10")
    with pytest.warns(kt.ModelWarning, match="a first moment"):
        robot = kt.load(write(tmp_path, text))
    np.testing.assert_allclose(robot.inverse_dynamics([0.0], [0.0], [2.0]), 1.5 * 2.0 + 0.3 * 10.0)

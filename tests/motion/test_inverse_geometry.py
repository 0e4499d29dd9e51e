"""Inverse geometric models in closed form: every solution leads back to the pose, and none is missing."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import sympy as sp

import kinetree as kt
from helpers.par_files import ARM, RX90, write

PI2 = math.pi / 2

UR5 = kt.from_dh(
    [{"alpha": PI2, "a": 0, "d": 0.089}, {"alpha": 0, "a": -0.425, "d": 0}, {"alpha": 0, "a": -0.392, "d": 0},
     {"alpha": PI2, "a": 0, "d": 0.109}, {"alpha": -PI2, "a": 0, "d": 0.095}, {"alpha": 0, "a": 0, "d": 0.082}],
    "standard", name="UR5",
)  # fmt: skip
"""Three parallel axes and no spherical wrist."""

SCARA = kt.from_dh(
    [{"antecedent": 0, "r": 0.5}, {"antecedent": 1, "d": 0.4}, {"antecedent": 2, "d": 0.3},
     {"antecedent": 3, "sigma": 1}],
    "khalil", name="scara",
)  # fmt: skip

ARMS = {name: kt.gallery.load(name) for name in ("puma", "kuka-kr5", "stanford-arm")} | {"UR5": UR5, "scara": SCARA}


@cache
def model_of(name: str) -> kt.InverseGeometry:
    return kt.inverse_geometry(ARMS[name])


def apart(robot: kt.Robot, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How far configurations are apart, whole turns left out; infinite for NaN."""
    turns = np.array([unit == "rad" for unit in robot.q_units])
    off = one - other
    off = np.abs(np.where(turns, np.remainder(off + math.pi, 2 * math.pi) - math.pi, off)).max(axis=-1)
    return np.where(np.isnan(off), np.inf, off)


@pytest.mark.parametrize("name", ARMS)
def test_all_solutions_of_the_usual_arms(name):
    """Random poses, and such with right angles in them, where formulas could divide by what is zero there."""
    robot = ARMS[name]
    model, frame = model_of(name), robot.body_names[-1]
    rng = np.random.default_rng(3)
    q = rng.uniform(-3, 3, (300, robot.nq))
    special = rng.integers(-1, 3, q.shape) * PI2
    q = np.where((rng.random(q.shape) < 0.6) & (np.arange(300) >= 100)[:, None], special, q)
    pose = robot.pose(q, frame)
    found = model.solutions(pose)
    assert found.shape == (300, model.branches, robot.nq)
    real = ~np.isnan(found).any(axis=-1)
    there = robot.pose(np.where(real[..., None], found, 0.0), frame)
    np.testing.assert_allclose(np.where(real[..., None, None], there - pose[:, None], 0.0), 0.0, atol=1e-6)
    regular = np.linalg.svd(robot.jacobian(q, frame))[1].min(axis=-1) > 1e-3
    assert regular[:100].mean() > 0.8
    nearest = apart(robot, found, q[:, None]).min(axis=-1)
    assert (nearest[regular] < 1e-7).all()
    assert np.nanmedian(nearest) < 1e-11
    # solutions are different ones
    for k in range(20):
        own = found[k][real[k]]
        pairs = [apart(robot, a, b) for i, a in enumerate(own) for b in own[:i]]
        assert min(pairs, default=1.0) > 1e-6


def two_joints(kind: str, rng: np.random.Generator) -> kt.Robot:
    """Make a robot whose equations Khalil and Dombre's Table 4.1 has as one of its types 4 to 8, of random size."""
    a, b, c = rng.uniform(0.2, 0.8, 3)
    rows = {
        # r2 sin(q1) and r2 cos(q1)
        "4": [{"antecedent": 0}, {"antecedent": 1, "sigma": 1, "alpha": PI2}],
        # sine and cosine of q1, each with r2 beside it
        "5": [{"antecedent": 0}, {"antecedent": 1, "sigma": 1, "alpha": PI2, "d": a, "gamma": b}],
        # q1 and q2 turn about parallel axes, a slide between them
        "6": [{"antecedent": 0}, {"antecedent": 1, "sigma": 1, "d": a}, {"antecedent": 2, "d": b}],
        # the same, seen from frames that are turned about them
        "7": [
            {"antecedent": 0, "gamma": c, "d": c},
            {"antecedent": 1, "d": a, "gamma": b},
            {"antecedent": 2, "sigma": 1},
        ],
        # q1 and q1 + q2
        "8": [{"antecedent": 0}, {"antecedent": 1, "d": a}],
    }
    return kt.from_dh(rows[kind], "khalil", name=f"type {kind}")


@pytest.mark.parametrize("kind", ["4", "5", "6", "7", "8"])
def test_types_of_two_unknown_joints_have_both_solutions(kind):
    """Squared distances are among the equations, so that one joint at a time is found; none of the two is missed."""
    rng = np.random.default_rng(int(kind))
    for _ in range(3):
        robot = two_joints(kind, rng)
        tool = rng.uniform(0.1, 0.5, 3) if kind in "678" else np.zeros(3)
        robot = robot.with_frame("tool", robot.body_names[-1], kt.Pose.of(tool))
        model = kt.inverse_geometry(robot, "tool", orientation=False)
        q = rng.uniform(-1.5, 1.5, (20, robot.nq))
        position = robot.pose(q, "tool")[:, :3, 3]
        found = model.solutions(position)
        np.testing.assert_allclose(
            robot.pose(found, "tool")[..., :3, 3], np.broadcast_to(position[:, None], (*found.shape[:2], 3)), atol=1e-9
        )
        assert found.shape[1] == 2
        assert (apart(robot, found, q[:, None]).min(axis=-1) < 1e-9).all()
        assert (apart(robot, found[:, 0], found[:, 1]) > 1e-6).all()


@pytest.mark.parametrize(("name", "count"), [("puma", 8), ("UR5", 8), ("scara", 2)])
def test_as_many_solutions_as_the_books_have(name, count):
    robot, model = ARMS[name], model_of(name)
    assert model.branches == count
    q = np.array([0.3, -0.7, 0.9, 0.4, 0.8, -0.5])[: robot.nq]
    assert (~np.isnan(model.solutions(robot.pose(q, robot.body_names[-1])))).all(axis=-1).sum() == count


def test_what_cannot_be_reached_is_nan():
    model = model_of("UR5")
    far = np.eye(4)
    far[0, 3] = 10.0
    assert np.isnan(model.solutions(far)).all()
    poses = np.stack([far, UR5.pose([0.1, -0.5, 0.7, 0.2, 0.4, 0.3], "link6")])
    found = model.solutions(poses)
    assert np.isnan(found[0]).all()
    assert not np.isnan(found[1]).all()
    assert np.isnan(model.solutions(np.full((4, 4), np.nan))).all()


def test_a_stretched_arm_is_reached():
    """Under the root is what rounding leaves of zero."""
    model = model_of("scara")
    found = model.solutions(SCARA.pose([0.4, 0.0, 0.3, 0.1], "link4"))
    assert apart(SCARA, found, np.array([0.4, 0.0, 0.3, 0.1])).min() < 1e-6


def test_position_alone_of_a_tool():
    b = kt.Builder("leg")
    b.body("hip", "base", kt.Revolute("z"), mass=1)
    b.body("thigh", "hip", kt.Revolute("y"), mass=1, position=(0.1, 0.05, 0))
    b.body("shank", "thigh", kt.Revolute("-y"), mass=1, position=(0, 0, -0.4))
    b.frame("foot", "shank", (0.02, 0.01, -0.4))
    robot = b.build()
    model = kt.inverse_geometry(robot, "foot", orientation=False)
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 3))
    found = model.solutions(robot.pose(q, "foot")[:, :3, 3])
    assert (apart(robot, found, q[:, None]).min(axis=-1) < 1e-7).all()
    assert model.branches == 4
    np.testing.assert_array_equal(found, model.solutions(robot.pose(q, "foot")))


def test_slides_and_welds():
    """A hinge and two slides, with a welded hand."""
    b = kt.Builder("cylinder")
    b.body("turret", "base", kt.Revolute("z"), mass=1)
    b.body("lift", "turret", kt.Prismatic("z"), mass=1)
    b.body("boom", "lift", kt.Prismatic("x"), mass=1, position=(0, 0.2, 0))
    b.body("hand", "boom", kt.Fixed(), mass=1, position=(0.3, 0, 0.1))
    robot = b.build()
    model = kt.inverse_geometry(robot, "hand", orientation=False)
    q = np.random.default_rng(0).uniform(0.2, 1.5, (50, 3))
    found = model.solutions(robot.pose(q, "hand"))
    assert (apart(robot, found, q[:, None]).min(axis=-1) < 1e-8).all()


def test_a_slide_that_squares_find():
    """Its direction leaves no entry of the matrices without a hinge: the distance finds it first."""
    b = kt.Builder("crane")
    b.body("turret", "base", kt.Revolute("z"), mass=1)
    b.body("shoulder", "turret", kt.Revolute("y"), mass=1)
    b.body("boom", "shoulder", kt.Prismatic((0.6, 0.48, 0.64)), mass=1, position=(0.1, 0.2, -0.1))
    robot = b.build()
    model = kt.inverse_geometry(robot, "boom", orientation=False)
    assert "boom_joint: a q3^2 + b q3 + c = 0" in str(model)
    q = np.random.default_rng(0).uniform(0.2, 1.5, (50, 3))
    found = model.solutions(robot.pose(q, "boom"))
    assert (apart(robot, found, q[:, None]).min(axis=-1) < 1e-8).all()


def test_formulas_give_the_solutions(tmp_path):
    """Evaluated one after the other at random values of the dimensions, for all signs."""
    robot = kt.load(write(tmp_path, RX90))
    symbolic = kt.inverse_geometry(robot)
    formulas = symbolic.formulas()
    assert str(formulas["Z_q3"]) == "D3**2 + RL4**2 - px**2 - py**2 - pz**2"
    with pytest.raises(kt.NoValueError, match="D3, RL4 have no value"):
        symbolic.solutions(np.eye(4))
    values = {"D3": 0.45, "RL4": 0.37}
    numeric = robot.with_values(values)
    q = np.array([0.4, -0.9, 1.3, 0.7, -0.8, 1.1])
    pose = numeric.pose(q, "link6")
    given = {f"{'snap'[k]}{'xyz'[i]}": pose[i, k] for i in range(3) for k in range(4)} | values
    steps = {}
    for name, expression in formulas.items():
        letters = sorted(expression.free_symbols, key=str)
        steps[name] = [str(x) for x in letters], sp.lambdify(letters, expression, "math")
    rows = []
    for signs in np.ndindex(2, 2, 2):
        known = given | {f"eps{k + 1}": 1.0 - 2.0 * s for k, s in enumerate(signs)}
        for name, (letters, function) in steps.items():
            known[name] = function(*(known[x] for x in letters))
        rows.append([known[f"q{k}"] for k in range(1, 7)])
    expected = kt.inverse_geometry(numeric).solutions(pose)
    assert not np.isnan(expected).any()
    assert apart(numeric, np.array(rows), q).min() < 1e-9
    for row in expected:
        assert apart(numeric, np.array(rows), row).min() < 1e-9


def test_the_planar_arm_in_symbols(tmp_path):
    robot = kt.load(write(tmp_path, ARM)).with_frame("tip", "link2", (0.5, 0, 0))
    found = kt.inverse_geometry(robot, "tip", orientation=False).formulas()
    assert str(found["q2"]) == "atan2(eps1*sqrt(1 - C_q2**2), C_q2)"  # the law of cosines


def test_what_has_no_closed_form():
    seven = kt.from_dh([{"alpha": a, "d": d} for a, d in ((0, 0.3), (-PI2, 0), (PI2, 0.3), (PI2, 0), (-PI2, 0.3),
                                                          (PI2, 0), (PI2, 0.1))])  # fmt: skip
    with pytest.raises(kt.UnsupportedError, match="7 joints move 'link7': more than 6"):
        kt.inverse_geometry(seven)
    rng = np.random.default_rng(2)
    general = kt.from_dh([{"alpha": rng.uniform(0.3, 1.2), "a": rng.uniform(0.1, 0.5), "d": rng.uniform(0.1, 0.5)}
                          for _ in range(6)])  # fmt: skip
    with pytest.raises(kt.UnsupportedError, match=r"no closed form was found for joint1, .*inverse_kinematics"):
        kt.inverse_geometry(general)
    ball = kt.Builder("ball").body("a", "base", kt.Spherical(), mass=1).build()
    with pytest.raises(kt.UnsupportedError, match="is spherical"):
        kt.inverse_geometry(ball)


def test_it_tells_what_it_is():
    model = model_of("stanford-arm")
    assert "joint_3: type 1: X q3 = Y" in str(model)
    assert repr(model) == "<inverse geometry of 'link_6' of 'stanford-arm': 8 solutions at most>"
    with pytest.raises(kt.ShapeError, match="pose must have shape"):
        model.solutions(np.zeros(3))

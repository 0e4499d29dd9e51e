"""Denavit-Hartenberg rows of Euler-angle-joints against plain products of elementary rotations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_mass, random_pose
from kinetree.model import euler_angle_joints
from kinetree.model.joints import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES

ALL = euler_angle_joints.SEQUENCES


def elementary(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return {
        "X": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "Y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "Z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


def product(sequence: str, angles: np.ndarray) -> np.ndarray:
    total = np.eye(3)
    for axis, angle in zip(sequence, angles, strict=True):
        total = total @ elementary(axis, angle)
    return total


def joint_of(sequence: str) -> kt.EulerSpherical | kt.Universal:
    return kt.EulerSpherical(sequence) if len(sequence) == 3 else kt.Universal(sequence)


def angles_for(sequence: str, rng: np.random.Generator) -> np.ndarray:
    """Angles well away from gimbal lock."""
    angles = rng.uniform(-3.0, 3.0, len(sequence))
    if len(sequence) == 3:
        low, high = (0.4, 2.7) if sequence[0] == sequence[2] else (-1.1, 1.1)
        angles[1] = rng.uniform(low, high)
    return angles


def test_there_are_twelve_and_six():
    assert len(set(ALL)) == 18
    assert set(ALL) == set(THREE_AXIS_SEQUENCES) | set(TWO_AXIS_SEQUENCES)
    for sequence in ALL:
        assert all(a != b for a, b in pairwise(sequence))


@pytest.mark.parametrize("sequence", ALL)
def test_rows_reproduce_the_plain_product(sequence):
    rng = np.random.default_rng(ALL.index(sequence))
    for _ in range(50):
        angles = rng.uniform(-np.pi, np.pi, len(sequence))
        assert np.abs(euler_angle_joints.rotation(sequence, angles) - product(sequence, angles)).max() <= 1e-15


@pytest.mark.parametrize("sequence", ALL)
def test_rows_in_radians_do_too(sequence):
    """The float properties alpha and offset say the same as the exact quarter turns."""
    rng = np.random.default_rng(7)
    angles = rng.uniform(-np.pi, np.pi, len(sequence))
    total = np.eye(3)
    for row in euler_angle_joints.rows(sequence):
        angle = row.offset + (0.0 if row.coordinate is None else angles[row.coordinate])
        total = total @ elementary("X", row.alpha) @ elementary("Z", angle)
    assert np.abs(total - product(sequence, angles)).max() <= 2e-15


@pytest.mark.parametrize("sequence", ALL)
def test_rows_equal_the_joint(sequence):
    rng = np.random.default_rng(11)
    angles = rng.uniform(-np.pi, np.pi, len(sequence))
    joint = joint_of(sequence).transform(list(angles)).matrix().to_rows()
    assert np.abs(euler_angle_joints.rotation(sequence, angles) - np.array(joint, dtype=float)).max() <= 1e-15


@pytest.mark.parametrize("sequence", ALL)
def test_coordinates_come_in_order_and_constants_are_whole(sequence):
    moving = [row for row in euler_angle_joints.rows(sequence) if row.coordinate is not None]
    assert [row.coordinate for row in moving] == list(range(len(sequence)))
    for row in euler_angle_joints.rows(sequence):
        assert set(np.abs(row.pose.rotation).ravel()) == {0.0, 1.0}


def test_the_rule_of_table_3_7():
    groups = {(False, False): set(), (True, False): set(), (False, True): set(), (True, True): set()}
    for sequence in THREE_AXIS_SEQUENCES:
        before, after = euler_angle_joints.constant_rows(sequence)
        groups[before is not None, after is not None].add(sequence)
    assert groups == {
        (False, False): {"ZYZ", "ZXZ", "YXZ"},
        (True, False): {"XYZ"},
        (False, True): {"ZYX", "YZX", "ZXY", "YXY", "YZY"},
        (True, True): {"XYX", "XZX", "XZY"},
    }


def test_printed_rows_of_the_default_sequence():
    degrees = [(round(np.degrees(r.alpha)), round(np.degrees(r.offset))) for r in euler_angle_joints.rows("yxz")]
    assert degrees == [(-90, 90), (90, 90), (-90, -90)]
    assert str(euler_angle_joints.rows("XYX")[0]) == "alpha 0, theta 90 (degrees)"
    assert str(euler_angle_joints.rows("XYX")[1]) == "alpha 90, theta theta1-90 (degrees)"


def axes_determinant(sequence: str, middle: float) -> float:
    """Volume spanned by the three joint axes: zero where they do not span space."""
    turn, axes = np.eye(3), []
    for row in euler_angle_joints.rows(sequence):
        turn = turn @ row.rotation(middle if row.coordinate == 1 else 0.3)
        if row.coordinate is not None:
            axes.append(turn[:, 2])
    return float(np.linalg.det(np.array(axes)))


@pytest.mark.parametrize("sequence", THREE_AXIS_SEQUENCES)
def test_singular_angles_are_where_the_axes_are_dependent(sequence):
    grid = np.linspace(-np.pi, np.pi, 361)
    found = {round(np.degrees(x)) for x in grid if abs(axes_determinant(sequence, x)) < 1e-12}
    said = {round(np.degrees(x)) for x in euler_angle_joints.singular_angles(sequence)}
    assert {x % 360 for x in found} == {x % 360 for x in said}


def test_singular_angles_by_name():
    assert euler_angle_joints.singular_angles("ZYZ") == (0, np.pi)
    assert euler_angle_joints.singular_angles("yxz") == (-np.pi / 2, np.pi / 2)
    assert euler_angle_joints.singular_angles("XY") == ()


@pytest.mark.parametrize("sequence", THREE_AXIS_SEQUENCES)
def test_the_joint_warns_at_the_singular_angles_and_nowhere_else(sequence):
    robot = kt.Builder().body("ball", "base", kt.EulerSpherical(sequence), mass=1.0, com=(0.1, 0.2, 0.3)).build()
    for angle in euler_angle_joints.singular_angles(sequence):
        with pytest.warns(kt.SingularityWarning, match="ball_joint"):
            robot.mass_matrix([0.2, angle, -0.4])
        robot.mass_matrix([0.2, angle + 0.1, -0.4])


def pendulums(sequence: str, rng: np.random.Generator) -> tuple[kt.Robot, kt.Robot]:
    """The same two-body pendulum on a compound joint, and on the chain of rows."""
    placement, second = random_pose(rng), random_pose(rng)
    ball, bob = random_mass(rng), random_mass(rng)
    damping = rng.uniform(0.1, 0.5, len(sequence))
    gravity = rng.uniform(-10, 10, 3)
    compound, chain = kt.Builder("p", gravity=gravity), kt.Builder("p", gravity=gravity)
    compound.body("ball", "base", joint_of(sequence), placement=placement, mass_properties=ball, damping=damping)
    euler_angle_joints.add_chain(
        chain, "ball", "base", sequence, placement=placement, mass_properties=ball, damping=damping, rotor_inertia=0.0
    )
    for builder in (compound, chain):
        builder.body("bob", "ball", kt.Revolute("y"), placement=second, mass_properties=bob)
        builder.frame("tip", "ball", (0.3, -0.2, 0.1))
    return compound.build(), chain.build()


@pytest.mark.parametrize("sequence", ALL)
def test_chain_of_rows_moves_like_the_compound_joint(sequence):
    rng = np.random.default_rng(100 + ALL.index(sequence))
    compound, chain = pendulums(sequence, rng)
    single = compound.with_single_joints()
    assert [b.mass for b in chain.model.bodies[: len(sequence) - 1]] == [0.0] * (len(sequence) - 1)
    assert all(j.nv == 1 for j in chain.model.joints)
    q = np.append(angles_for(sequence, rng), rng.uniform(-2, 2))
    v, a, tau = rng.uniform(-2, 2, (3, compound.nv))
    for other in (chain, single):
        assert other.nv == compound.nv
        np.testing.assert_allclose(other.pose(q, "ball"), compound.pose(q, "ball"), rtol=0, atol=4e-15)
        np.testing.assert_allclose(other.pose(q, "tip"), compound.pose(q, "tip"), rtol=0, atol=4e-15)
        torque = compound.inverse_dynamics(q, v, a, friction=True)
        np.testing.assert_allclose(other.inverse_dynamics(q, v, a, friction=True), torque, rtol=1e-12, atol=1e-12)
        motion = compound.forward_dynamics(q, v, tau)
        np.testing.assert_allclose(other.forward_dynamics(q, v, tau), motion, rtol=1e-11, atol=1e-11)


def test_names_of_the_chain_are_those_of_single_joints():
    rng = np.random.default_rng(3)
    compound, chain = pendulums("XZY", rng)
    assert chain.joint_names == compound.with_single_joints().joint_names
    assert chain.body_names == compound.with_single_joints().body_names


def test_errors_say_what_is_wrong():
    with pytest.raises(kt.ModelError, match=r"XYX, .*ZY, not 'XXY'"):
        euler_angle_joints.rows("XXY")
    with pytest.raises(kt.ShapeError, match="YXZ takes 3 angles, got 2"):
        euler_angle_joints.rotation("YXZ", [0.1, 0.2])
    with pytest.raises(kt.ModelError, match=r"joint 'ball_joint': damping needs one number or 2, got 3"):
        euler_angle_joints.add_chain(kt.Builder(), "ball", "base", "XY", damping=(1, 2, 3))


@pytest.mark.parametrize("sequence", ALL)
def test_a_table_is_the_joint(sequence):
    """The same body on rows of a table and on the joint that they stand for, between a link before and one behind."""
    rng = np.random.default_rng(ALL.index(sequence) + 50)
    body, first, last = random_mass(rng), random_mass(rng), random_mass(rng)
    rows = [kt.DHRow(name="first", a=0.3, mass_properties=first)]
    rows += euler_angle_joints.table(sequence, "ball", "first", body, damping=[0.1, 0.2, 0.3][: len(sequence)])
    rows.append(kt.DHRow(name="last", parent="ball", alpha=40.0, a=0.2, d=0.1, mass_properties=last))
    table = kt.from_dh(rows, degrees=True)
    builder = kt.Builder("joint")
    builder.body("first", "base", kt.Revolute("z"), position=(0.3, 0, 0), mass_properties=first)
    builder.body("ball", "first", joint_of(sequence), mass_properties=body)
    turn = elementary("X", np.radians(40.0))
    builder.body("last", "ball", kt.Revolute("z"), position=np.array([0.2, 0, 0]) + turn @ [0, 0, 0.1],
                 rpy=(np.radians(40.0), 0, 0), mass_properties=last)  # fmt: skip
    joint = builder.build()
    q = np.concatenate([rng.uniform(-1, 1, 1), angles_for(sequence, rng), rng.uniform(-1, 1, 1)])
    v, a = rng.standard_normal((2, joint.nv))
    assert np.allclose(table.inverse_dynamics(q, v, a), joint.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)
    assert np.allclose(table.pose(q, "last"), joint.pose(q, "last"), atol=1e-14)
    assert np.allclose(table.friction_force(v)[1:-1], v[1:-1] * [0.1, 0.2, 0.3][: len(sequence)])

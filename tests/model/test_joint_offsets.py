"""Turns about a hinge's own axis that its placement holds: added to the coordinate, and free but for that."""

import itertools

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.joint_offsets import without_offset
from kinetree.model.joints import Prismatic, Revolute
from kinetree.model.pose import Pose

QUARTERS = [Pose.of(rpy=np.multiply(turns, np.pi / 2)).rotation.round() for turns in np.ndindex(4, 4, 4)]
ANGLES = (0.0, 0.4, -2.0, 3.0, np.pi)


def matrix(transform):
    return np.array(transform.matrix().to_rows())


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z"])
def test_the_divided_placement_is_the_same_displacement(axis):
    kind = Revolute(axis)
    for rpy in itertools.product(ANGLES, ANGLES, ANGLES):
        placement = Pose.of((1.0, 2.0, 3.0), rpy=rpy).spatial()
        divided, offset = without_offset(placement, kind)
        assert divided.translation is placement.translation
        for q in (0.0, 0.7):
            whole, moved = placement @ kind.transform([q]), divided @ kind.transform([q + offset])
            np.testing.assert_allclose(matrix(moved), matrix(whole), atol=2e-15)


@pytest.mark.parametrize("axis", ["x", "y", "-z"])
def test_quarter_turns_stay_exact_and_need_no_offset(axis):
    for rotation in QUARTERS:
        divided, offset = without_offset(Pose.of(rotation=rotation).spatial(), Revolute(axis))
        assert offset == 0.0
        assert np.array_equal(matrix(divided), rotation)


def test_other_joints_and_numbers_that_are_no_rotation_to_the_last_digit_stay_as_they_are():
    tilted = Pose.of(rpy=(0.1, 0.2, 0.3)).spatial()
    rounded = Pose.of(rotation=Pose.of(rpy=(0.1, 0.2, 0.3)).rotation.round(7)).spatial()
    for placement, kind in ((tilted, Prismatic("z")), (tilted, Revolute((0.6, 0.8, 0.0))), (rounded, Revolute("z"))):
        assert without_offset(placement, kind) == (placement, 0.0)


def table(theta, degrees=False):
    turn = 180 / np.pi if degrees else 1.0
    rows = [
        {
            "alpha": alpha * turn, "a": 0.3 + 0.1 * alpha, "d": 0.2, "theta": theta[k] * turn, "mass": 2.0 + k,
            "com": (0.1, 0.2, 0.3 + 0.1 * k), "inertia": np.diag([1.0, 1.1, 1.2]) + 0.1,
        }
        for k, alpha in enumerate((0.3, -0.7, 1.1, 0.5, -0.2, 0.9))
    ]  # fmt: skip
    return kt.from_dh(rows, degrees=degrees)


ALGORITHMS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_offsets_of_a_table_cost_additions_only(algorithm):
    """A general 6R; the offset of the first joint changes how many products with gravity there are."""
    without = table(np.zeros(6)).cost(algorithm)
    with_offsets = table([0.0, 0.3, -0.4, 0.5, 1.1, 2.0]).cost(algorithm)
    assert with_offsets.multiplications == without.multiplications
    assert 0 < with_offsets.additions - without.additions <= 6
    quarters = table(np.array([0, 1, 2, 3, 1, 1]) * np.pi / 2, degrees=True).cost(algorithm)
    assert quarters.multiplications <= without.multiplications + 20


def test_offsets_are_added_to_coordinates():
    theta, rng = [0.2, 0.3, -0.4, 0.5, 1.1, 2.0], np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 50, 6))
    straight, turned = table(np.zeros(6)), table(theta)
    np.testing.assert_allclose(turned.inverse_dynamics(q, v, a), straight.inverse_dynamics(q + theta, v, a), atol=1e-10)
    np.testing.assert_allclose(turned.mass_matrix(q), straight.mass_matrix(q + theta), atol=1e-11)
    np.testing.assert_allclose(turned.pose(q, "link6"), straight.pose(q + theta, "link6"), atol=1e-14)


def chain(offsets):
    builder = kt.Builder("chain")
    parent = "base"
    for k, offset in enumerate(offsets):
        placement = Pose.of((0.0, 0.1, 0.05), rpy=(0.4, 0, 0)) @ Pose.of(rpy=(0, 0, offset))
        builder.body(f"b{k}", parent, kt.Revolute("z"), placement=placement, mass=1.0, com=(0, 0.05, 0.01))
        parent = f"b{k}"
    return builder.build()


def test_bodies_of_a_large_tree_with_different_offsets_share_their_code():
    offsets = np.linspace(-2.0, 2.0, 115)
    offsets[::4] = 0.0
    q, v, a = np.random.default_rng(2).normal(size=(3, 115)) * 0.3
    straight, turned = chain(0 * offsets), chain(offsets)
    for algorithm in ("inverse_dynamics", "forward_dynamics"):
        expected = getattr(straight, algorithm)(q + offsets, v, a)
        np.testing.assert_allclose(getattr(turned, algorithm)(q, v, a), expected, rtol=1e-9, atol=1e-9)

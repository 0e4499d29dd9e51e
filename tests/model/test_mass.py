"""Mass properties against sums over point masses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_mass, random_pose
from kinetree.errors import ModelError
from kinetree.model.mass import GroupedMass, inertia_matrix
from kinetree.spatial import AxisRotation, RigidInertia, Symmetric3, Vec3

seeds = st.integers(0, 2**32 - 1)


def of_points(masses: np.ndarray, points: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, center of mass, inertia about it, and about the origin, by summing."""
    total = masses.sum()
    center = masses @ points / total

    def about(point: np.ndarray) -> np.ndarray:
        d = points - point
        return np.einsum("p,pk,pk->", masses, d, d) * np.eye(3) - np.einsum("p,pi,pj->ij", masses, d, d)

    return float(total), center, about(center), about(np.zeros(3))


def cloud(rng: np.random.Generator, count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(0.1, 2.0, count), rng.uniform(-1, 1, (count, 3)) + rng.uniform(-1, 1, 3)


def check(found: kt.MassProperties, masses: np.ndarray, points: np.ndarray, tolerance: float = 1e-13) -> None:
    total, center, about_center, about_origin = of_points(masses, points)
    assert_close(found.mass, np.array(total), tolerance)
    assert_close(found.com, center, tolerance, scale=1.0)
    assert_close(found.inertia_matrix, about_center, tolerance, scale=float(np.max(np.abs(about_origin))))
    assert_close(found.inertia_about_origin, about_origin, tolerance)


@given(seed=seeds)
def test_of_moved_and_added_against_point_masses(seed):
    rng = np.random.default_rng(seed)
    masses, points = cloud(rng)
    total, center, about_center, about_origin = of_points(masses, points)
    by_com = kt.MassProperties.of(total, center, about_center)
    by_origin = kt.MassProperties.of(total, center, about_origin, about="origin")
    check(by_com, masses, points)
    check(by_origin, masses, points)
    pose = random_pose(rng)
    moved_points = points @ pose.rotation.T + pose.position
    check(by_com.moved(pose), masses, moved_points)
    more_masses, more_points = cloud(rng)
    other_total, other_center, other_inertia, _ = of_points(more_masses, more_points)
    other = kt.MassProperties.of(other_total, other_center, other_inertia)
    check(by_com + other, np.concatenate([masses, more_masses]), np.concatenate([points, more_points]))
    assert by_com.problems() == []


@given(seed=seeds)
def test_ten_parameters_round_trip(seed):
    rng = np.random.default_rng(seed)
    masses, points = cloud(rng)
    total, center, about_center, about_origin = of_points(masses, points)
    found = kt.MassProperties.of(total, center, about_center)
    i = about_origin
    expected = [total, *(total * center), i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]]
    assert_close(found.parameters, expected, 1e-13)
    again = kt.MassProperties.from_parameters(found.parameters)
    check(again, masses, points)
    assert_close(again.parameters, found.parameters, 1e-14)


@given(seed=seeds)
def test_inertia_along_other_axes(seed):
    rng = np.random.default_rng(seed)
    mass = random_mass(rng)
    turn = Rotation.random(rng=rng).as_matrix()
    local = turn.T @ mass.inertia_matrix @ turn
    found = kt.MassProperties.of(mass.mass, mass.com, 0.5 * (local + local.T), axes=kt.Pose.of(rotation=turn))
    assert_close(found.inertia_matrix, mass.inertia_matrix, 1e-14)


def test_three_six_and_nine_numbers_mean_the_same():
    np.testing.assert_array_equal(inertia_matrix((1, 2, 3)), np.diag([1.0, 2.0, 3.0]))
    nine = [[1, 4, 5], [4, 2, 6], [5, 6, 3]]
    np.testing.assert_array_equal(inertia_matrix((1, 2, 3, 4, 5, 6)), nine)
    np.testing.assert_array_equal(inertia_matrix(nine), nine)
    assert kt.MassProperties.of(1, (0, 0, 0), nine).inertia == (1, 2, 3, 4, 5, 6)
    rounded = np.array(nine) + np.array([[0, 1e-15, 0], [0, 0, 0], [0, 0, 0]])
    assert_close(inertia_matrix(rounded), np.array(nine, dtype=float), 1e-15)


# Shapes, against many small pieces


def grid(count: int) -> np.ndarray:
    """Midpoints of equal pieces of -1/2 ... 1/2."""
    return (np.arange(count) + 0.5) / count - 0.5


def test_rod():
    start, end = np.array([0.1, -0.2, 0.3]), np.array([0.7, 0.4, -0.5])
    n = 1000
    points = (start + end) / 2 + grid(n)[:, None] * (end - start)
    check(kt.MassProperties.rod(2.0, start, end), np.full(n, 2.0 / n), points, 1e-6)


def test_box():
    n = 60
    size, center = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.2, -0.3])
    points = np.stack(np.meshgrid(grid(n), grid(n), grid(n)), axis=-1).reshape(-1, 3) * size + center
    check(kt.MassProperties.box(3.0, size, center), np.full(n**3, 3.0 / n**3), points, 1e-3)
    assert_close(kt.MassProperties.box(12.0, (1, 2, 3)).inertia[:3], [13.0, 10.0, 5.0], 1e-15)


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
def test_round_shapes(shape):
    radius, length, center = 0.4, 0.9, np.array([0.1, 0.2, -0.3])
    n = 90
    unit = np.stack(np.meshgrid(grid(n), grid(n), grid(n)), axis=-1).reshape(-1, 3) * 2 * radius
    if shape == "sphere":
        points = unit[np.linalg.norm(unit, axis=-1) <= radius]
        found = kt.MassProperties.sphere(3.0, radius, center)
    else:
        points = unit[np.linalg.norm(unit[:, :2], axis=-1) <= radius] * [1, 1, length / (2 * radius)]
        found = kt.MassProperties.cylinder(3.0, radius, length, center)
    check(found, np.full(len(points), 3.0 / len(points)), points + center, 3e-3)
    assert found.problems() == []


def test_welding_nothing_changes_nothing():
    mass = kt.MassProperties.sphere(1.0, 0.2, (1, 2, 3))
    nothing = kt.MassProperties()
    assert mass + nothing == mass
    assert nothing + mass == mass
    assert nothing.is_massless
    assert not mass.is_massless
    assert mass.moved(kt.Pose()) is mass
    rotor = kt.MassProperties(0.0, (0, 0, 0), (1, 1, 1, 0, 0, 0))
    assert (rotor + rotor).inertia == (2, 2, 2, 0, 0, 0)
    assert not rotor.is_massless


# What is physically wrong


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        (kt.MassProperties(-1.0), "mass is negative"),
        (kt.MassProperties(np.nan), "finite"),
        (kt.MassProperties(1.0, (0, np.inf, 0)), "finite"),
        (kt.MassProperties(1.0, (0, 0, 0), (1, 1, np.nan, 0, 0, 0)), "finite"),
        (kt.MassProperties(1.0, (0, 0, 0), (-0.1, 1, 1, 0, 0, 0)), "positive semi-definite"),
        (kt.MassProperties(1.0, (0, 0, 0), (1, 1, 1, 2, 0, 0)), "positive semi-definite"),
        (kt.MassProperties(1.0, (0, 0, 0), (1, 1, 2.01, 0, 0, 0)), "triangle inequality"),
        (kt.MassProperties(1.0, (0, 0, 0), (0, 0, 0.2, 0, 0, 0)), "about one axis only may have 0.2 about all"),
        (kt.MassProperties(0.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)), "zero mass with a non-zero inertia"),
    ],
)
def test_impossible_bodies_have_problems(properties, says):
    (problem,) = properties.problems()
    assert says in problem
    with pytest.raises(ModelError, match=f"body 'odd': .*{says}"):
        kt.Builder().body("odd", "base", kt.Revolute("z"), mass_properties=properties)


@pytest.mark.parametrize(
    "properties",
    [
        kt.MassProperties(),
        kt.MassProperties(1.0, (1, 2, 3)),
        kt.MassProperties(1.0, (0, 0, 0), (1, 1, 2, 0, 0, 0)),
        kt.MassProperties.rod(1.0, (0, 0, 0), (1, 2, 3)),
        kt.MassProperties.sphere(1e-9, 1e-3),
    ],
)
def test_limiting_cases_are_possible(properties):
    assert properties.problems() == []


@given(seed=seeds)
def test_rounding_is_no_problem(seed):
    """A point mass or thin rod far from the origin keeps nothing but rounding about its center of mass."""
    rng = np.random.default_rng(seed)
    point = kt.MassProperties.of(rng.uniform(0.1, 5), rng.uniform(-10, 10, 3))
    rod = kt.MassProperties.rod(rng.uniform(0.1, 5), rng.uniform(-10, 10, 3), rng.uniform(-10, 10, 3))
    for body in (point, rod):
        assert kt.MassProperties.from_parameters(body.parameters).problems() == []
        assert body.moved(random_pose(rng)).problems() == []
        about_origin = body.inertia_about_origin
        assert kt.MassProperties.of(body.mass, body.com, about_origin, about="origin").problems() == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: kt.MassProperties.of(1, (0, 0)), "3 components"),
        (lambda: kt.MassProperties.of(1, (0, 0, 0), (1, 2)), "Ixx, Iyy, Izz"),
        (lambda: kt.MassProperties.of(1, (0, 0, 0), [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (lambda: kt.MassProperties.of(1, (0, 0, 0), (1, 1, 1), about="center"), "'com' or 'origin'"),
        (lambda: kt.MassProperties.of("heavy"), "mass must be numbers"),
        (lambda: kt.MassProperties.of([1, 2]), "one number"),
        (lambda: kt.MassProperties.of(1, "abc"), "center of mass must be numbers"),
        (lambda: kt.MassProperties.from_parameters(np.zeros(9)), "ten inertial parameters"),
        (lambda: kt.MassProperties.from_parameters([0, 1, *np.zeros(8)]), "first moment"),
    ],
)
def test_wrong_arguments(make, says):
    with pytest.raises(ModelError, match=says):
        make()


# Poses


@given(seed=seeds)
def test_poses_are_displacements(seed):
    rng = np.random.default_rng(seed)
    a, b = random_pose(rng), random_pose(rng)
    assert_close((a @ b).matrix, a.matrix @ b.matrix, 1e-15)
    assert_close((a @ a.inverse()).matrix, np.eye(4), 1e-15)
    assert kt.Pose.from_matrix(a.matrix) == a
    quaternion = Rotation.from_matrix(a.rotation).as_quat()
    assert_close(kt.Pose.of(quaternion=quaternion).rotation, a.rotation, 1e-14)
    assert_close(kt.Pose.of(quaternion=(1 + 0.9e-6) * quaternion).rotation, a.rotation, 1e-14)


def test_no_displacement_and_pure_shifts():
    np.testing.assert_array_equal(kt.Pose().matrix, np.eye(4))
    assert kt.Pose().is_identity
    shift = np.eye(4)
    shift[:3, 3] = (1, 2, 3)
    np.testing.assert_array_equal(kt.Pose.of((1, 2, 3)).matrix, shift)
    assert not kt.Pose.of((1, 2, 3)).is_identity
    turned = kt.Pose.of((0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    assert_close((kt.Pose.of((1, 2, 3)) @ turned).matrix, shift @ turned.matrix, 1e-15)
    assert_close((turned @ kt.Pose.of((1, 2, 3))).matrix, turned.matrix @ shift, 1e-15)


def test_rpy_is_that_of_urdf():
    angles = (0.3, -0.7, 1.9)
    assert_close(kt.Pose.of(rpy=angles).rotation, Rotation.from_euler("xyz", angles).as_matrix(), 1e-15)


@given(seed=seeds, axis=st.integers(0, 2))
def test_poses_as_the_algorithms_use_them(seed, axis):
    """Turns about one axis take a short way; the result must be the same."""
    rng = np.random.default_rng(seed)
    rpy = np.zeros(3)
    rpy[axis] = rng.uniform(-4, 4)
    for pose in (random_pose(rng), kt.Pose.of(rng.uniform(-1, 1, 3), rpy=rpy), kt.Pose.of(rpy=rpy)):
        np.testing.assert_array_equal(np.array(pose.spatial().homogeneous(), dtype=float), pose.matrix)
    assert all(isinstance(turn, AxisRotation) for turn in kt.Pose.of(rpy=rpy).spatial().rotations)
    assert kt.Pose.of((1, 2, 3)).spatial().rotations == ()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: kt.Pose.of((1, 2)), "three finite numbers"),
        (lambda: kt.Pose.of((1, 2, np.nan)), "three finite numbers"),
        (lambda: kt.Pose.of("abc"), "position must be numbers"),
        (lambda: kt.Pose.of(rpy=(1, 2)), "three finite angles"),
        (lambda: kt.Pose.of(rpy=(1, 2, 3), quaternion=(0, 0, 0, 1)), "only one"),
        (lambda: kt.Pose.of(quaternion=(0, 0, 0, 0)), "not all zero"),
        (lambda: kt.Pose.of(quaternion=(0, 0, 1)), "four numbers"),
        (lambda: kt.Pose.of(quaternion=(0, 0, 0.6, 0.800002)), r"has length 1\.0000016, not 1"),
        (lambda: kt.Pose.of(quaternion=(0, 0, 0, -2)), "has length 2, not 1"),
        (lambda: kt.Pose.of(rotation=2 * np.eye(3)), "orthonormal"),
        (lambda: kt.Pose.of(rotation=np.diag([1, 1, -1])), "right-handed"),
        (lambda: kt.Pose.of(rotation=np.full((3, 3), np.nan)), "orthonormal"),
        (lambda: kt.Pose.from_matrix(np.eye(3)), "4x4"),
        (lambda: kt.Pose.from_matrix(2 * np.eye(4)), "last row"),
    ],
)
def test_impossible_poses(make, says):
    with pytest.raises(ModelError, match=says):
        make()


Sphere, Box, Rod, Cylinder = (getattr(kt.MassProperties, n) for n in ("sphere", "box", "rod", "cylinder"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box(1, 2.0), "size of the box along x, y and z must be three numbers, got 2.0"),
        (lambda: Box(1, (1, 2)), "must be three numbers, got (1, 2)"),
        (lambda: Box(1, (1, 2, -3)), "must be finite and not negative"),
        (lambda: Rod(1, (0, 0), (1, 0)), "start of the rod must be three numbers, got (0, 0)"),
        (lambda: Rod(1, (0, 0, 0), (1, 0)), "end of the rod must be three numbers, got (1, 0)"),
        (lambda: Rod(-1, (0, 0, 0), (1, 0, 0)), "mass must be finite and not negative"),
        (lambda: Sphere(-1, 0.1), "mass must be finite and not negative; got -1"),
        (lambda: Sphere(1, -0.1), "radius of the sphere must be finite and not negative; got -0.1"),
        (lambda: Sphere(np.nan, 0.1), "mass must be finite and not negative; got nan"),
        (lambda: Sphere("1", 0.1), "mass must be numbers, got '1'"),
        (lambda: Cylinder(1, 0.1, -1), "length of the cylinder must be finite and not negative"),
        (lambda: Cylinder(1, [0.1, 0.2], 1), "radius of the cylinder must be one number"),
        (lambda: kt.MassProperties.of("1"), "mass must be numbers, got '1'"),
        (lambda: kt.MassProperties.of(1.0, ["0", "0", "1"]), "center of mass must be numbers"),
    ],
)
def test_shapes_that_cannot_be(make, words):
    with pytest.raises(kt.ModelError, match=re.escape(words)):
        make()


def test_shapes_that_can_be_are_as_before():
    """Closed forms; a point and a plate are bodies, too."""
    assert Sphere(2, 0.0).inertia == (0.0,) * 6
    assert Box(12, [0, 1, 2]).inertia[:3] == (5.0, 4.0, 1.0)
    assert Cylinder(12, 2, 1).inertia[:3] == (13.0, 13.0, 24.0)
    assert Rod(12, (0, 0, 0), (1, 0, 0)).inertia[:3] == (0.0, 1.0, 1.0)


@pytest.mark.filterwarnings("error")
def test_parameters_beyond_all_numbers_are_told_from_finite_ones_without_a_warning():
    inertia = RigidInertia(1.0, Vec3(1e160, 0.0, 0.0), Symmetric3(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    assert not GroupedMass.exactly(inertia).is_finite

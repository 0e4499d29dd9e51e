"""Every joint kind against plain formulas, and against derivatives of its own transform."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close, derivative, rate, skew, times, transpose, unskew
from helpers.robots import KINDS, cam, random_mass, random_state
from kinetree.errors import ModelError
from kinetree.model.joints import KINDS as REGISTERED
from kinetree.model.joints import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES, JointKind, reverse

SKEWED = (0.3, -1.2, 0.7)

ALL = [
    kt.Revolute("x"),
    kt.Revolute("-y"),
    kt.Revolute(SKEWED),
    kt.Continuous("z"),
    kt.Prismatic("-z"),
    kt.Prismatic(SKEWED),
    kt.Helical("y", 0.3),
    kt.Helical(SKEWED, -0.2),
    kt.Cylindrical("x"),
    kt.Cylindrical(SKEWED),
    *(kt.Universal(s) for s in TWO_AXIS_SEQUENCES),
    kt.Spherical(),
    *(kt.EulerSpherical(s) for s in THREE_AXIS_SEQUENCES),
    *(kt.Planar(n) for n in ("x", "y", "z", "-z", SKEWED)),
    kt.Translation(),
    kt.Free(),
    *(kt.EulerFree(s) for s in THREE_AXIS_SEQUENCES),
    kt.Custom(2, cam, "cam", ("rad", "m")),
]
ALL += [
    reverse(kind)
    for kind in (
        kt.Universal("XZ"),
        kt.Spherical(),
        kt.EulerSpherical("ZXZ"),
        kt.Planar(SKEWED),
        kt.Translation(),
        kt.Free(),
        kt.EulerFree("YXZ"),
        kt.Custom(2, cam, "cam", ("rad", "m")),
    )
]


def _label(kind: JointKind) -> str:
    text = str(next(iter(kind.parameters().values()), "")) if kind.name != "custom" else ""
    return f"{kind.name}-{text}" if text else kind.name


each_kind = pytest.mark.parametrize("kind", ALL, ids=_label)


def drawn(kind: JointKind, rng: np.random.Generator, count: int = 16) -> np.ndarray:
    return kind.random(rng, (-np.inf,) * kind.nq, (np.inf,) * kind.nq, (count,))


def split(x: np.ndarray) -> list[np.ndarray]:
    return list(np.moveaxis(x, -1, 0))


def stacked(rows, batch: tuple[int, ...]) -> np.ndarray:
    """An array from nested rows of scalars or arrays."""
    if isinstance(rows, (list, tuple)):
        parts = [stacked(row, batch) for row in rows]
        return np.stack(parts, axis=len(batch)) if parts else np.zeros((*batch, 0))
    return np.broadcast_to(rows, batch)


def pose(kind: JointKind, q: np.ndarray) -> np.ndarray:
    return stacked(kind.transform(split(q)).homogeneous(), q.shape[:-1])


def columns(motions, batch: tuple[int, ...]) -> np.ndarray:
    """Motion vectors as the columns of (..., 6, k)."""
    return transpose(stacked([list(m) for m in motions], batch))


def subspace(kind: JointKind, q: np.ndarray) -> np.ndarray:
    return columns(kind.subspace(split(q)), q.shape[:-1])


def integrate(kind: JointKind, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return stacked(kind.integrate(split(q), split(v)), batch)


def difference(kind: JointKind, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return stacked(kind.difference(split(a), split(b)), a.shape[:-1])


def path(kind: JointKind, q: np.ndarray, v: np.ndarray):
    return lambda t: integrate(kind, q, t[:, None, None] * v)


# What the transform is


def homogeneous(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    result = np.zeros((*position.shape[:-1], 4, 4))
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = rotation, position, 1.0
    return result


def turned(axis, angle: np.ndarray) -> np.ndarray:
    """Rotation matrices about an axis, by scipy."""
    return Rotation.from_rotvec(np.asarray(axis) * angle[:, None]).as_matrix()


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z", SKEWED], ids=str)
def test_one_axis_joints_are_what_they_say(axis):
    rng = np.random.default_rng(1)
    unit = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}.get(str(axis).lstrip("-"))
    unit = np.array(axis) / np.linalg.norm(axis) if unit is None else np.array(unit) * (-1 if "-" in axis else 1)
    angle, shift, zero = rng.uniform(-7, 7, 16), rng.uniform(-2, 2, 16), np.zeros((16, 3))
    rotation = turned(unit, angle)
    along = unit * shift[:, None]
    assert_close(pose(kt.Revolute(axis), angle[:, None]), homogeneous(rotation, zero), 1e-14)
    assert_close(pose(kt.Continuous(axis), angle[:, None]), homogeneous(rotation, zero), 1e-14)
    assert_close(pose(kt.Prismatic(axis), shift[:, None]), homogeneous(np.eye(3), along), 1e-14)
    screw = homogeneous(rotation, unit * (0.3 * angle)[:, None])
    assert_close(pose(kt.Helical(axis, 0.3), angle[:, None]), screw, 1e-14)
    sleeve = pose(kt.Cylindrical(axis), np.stack([angle, shift], axis=-1))
    assert_close(sleeve, homogeneous(rotation, along), 1e-14)


@pytest.mark.parametrize("normal", ["x", "y", "z", "-x", "-y", "-z", SKEWED], ids=str)
def test_planar_joint_slides_in_its_plane_and_turns_about_the_normal(normal):
    rng = np.random.default_rng(2)
    kind = kt.Planar(normal)
    n = np.array(kind.normal)
    q = rng.uniform(-2, 2, (16, 3))
    slides = [step for step in kind.steps() if not step.turns]
    first, second = (np.array(step.axis) for step in slides)
    assert_close(np.array([first, second, n]) @ np.array([first, second, n]).T, np.eye(3), 1e-14)
    assert_close(np.cross(first, second), n, 1e-14)
    expected = homogeneous(turned(n, q[:, 0]), q[:, 1:2] * first + q[:, 2:] * second)
    assert_close(pose(kind, q), expected, 1e-14)


def test_planar_joint_about_z_uses_x_and_y():
    x, y, turn = kt.Planar("z").steps()
    assert (x.axis, y.axis, turn.axis) == ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    assert (x.coordinate, y.coordinate, turn.coordinate) == (1, 2, 0)


def test_quaternion_joints_are_what_they_say():
    rng = np.random.default_rng(3)
    rotation = Rotation.random(16, rng=rng)
    position = rng.uniform(-2, 2, (16, 3))
    zero = np.zeros((16, 3))
    assert_close(pose(kt.Spherical(), rotation.as_quat()), homogeneous(rotation.as_matrix(), zero), 1e-14)
    free = np.concatenate([rotation.as_quat(), position], axis=-1)
    assert_close(pose(kt.Free(), free), homogeneous(rotation.as_matrix(), position), 1e-14)
    assert_close(pose(kt.Translation(), position), homogeneous(np.eye(3), position), 1e-14)


@pytest.mark.parametrize("sequence", TWO_AXIS_SEQUENCES)
def test_universal_joints_are_products_of_two_turns(sequence):
    q = np.random.default_rng(4).uniform(-4, 4, (16, 2))
    expected = Rotation.from_euler(sequence, q).as_matrix()  # capitals: about the moving axes
    assert_close(pose(kt.Universal(sequence), q), homogeneous(expected, np.zeros((16, 3))), 1e-14)


@pytest.mark.parametrize("sequence", THREE_AXIS_SEQUENCES)
def test_euler_joints_are_products_of_three_turns(sequence):
    rng = np.random.default_rng(5)
    q, position = rng.uniform(-4, 4, (16, 3)), rng.uniform(-2, 2, (16, 3))
    turns = [turned(np.eye(3)["XYZ".index(a)], q[:, k]) for k, a in enumerate(sequence)]
    expected = turns[0] @ turns[1] @ turns[2]
    assert_close(expected, Rotation.from_euler(sequence, q).as_matrix(), 1e-13)
    assert_close(pose(kt.EulerSpherical(sequence), q), homogeneous(expected, np.zeros((16, 3))), 1e-14)
    free = pose(kt.EulerFree(sequence), np.concatenate([q, position], axis=-1))
    assert_close(free, homogeneous(expected, position), 1e-14)


def test_there_are_twelve_and_six_sequences():
    assert len(set(THREE_AXIS_SEQUENCES)) == 12
    assert len(set(TWO_AXIS_SEQUENCES)) == 6
    assert all(a != b for s in (*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES) for a, b in pairwise(s))


# Derivatives


@each_kind
def test_subspace_is_the_derivative_of_the_transform(kind):
    q = drawn(kind, np.random.default_rng(6))
    t, s = pose(kind, q), subspace(kind, q)
    assert s.shape == (16, 6, kind.nv)
    for k in range(kind.nv):
        along = path(kind, q, np.eye(kind.nv)[k])
        rate_of_pose = derivative(lambda x, along=along: pose(kind, along(x)))
        seen = np.linalg.inv(t) @ rate_of_pose  # [[w x, u], [0, 0]] in child coordinates
        assert_close(skew(s[:, :3, k]), seen[:, :3, :3], 1e-11, scale=1.0)
        assert_close(s[:, 3:, k], seen[:, :3, 3], 1e-11, scale=1.0)


@each_kind
def test_subspace_rate_is_the_derivative_of_the_subspace(kind):
    rng = np.random.default_rng(7)
    q, v = drawn(kind, rng), rng.uniform(-2, 2, (16, kind.nv))
    expected = derivative(lambda t: subspace(kind, path(kind, q, v)(t)))
    rates = kind.subspace_rate(split(q), split(v))
    found = np.zeros((16, 6, kind.nv)) if rates is None else columns(rates, (16,))
    assert_close(found, expected, 1e-10, scale=1.0)


@each_kind
def test_constant_subspaces_say_so(kind):
    """None spares the algorithms work; it must be given exactly where the subspace never changes."""
    rng = np.random.default_rng(8)
    constant = np.ptp(subspace(kind, drawn(kind, rng)), axis=0).max() == 0.0
    rates = kind.subspace_rate([0.3] * kind.nq, [1.0] * kind.nv)
    assert (rates is None) == constant


@each_kind
def test_configuration_rate_is_the_derivative_of_integrate(kind):
    rng = np.random.default_rng(9)
    q, v = drawn(kind, rng), rng.uniform(-2, 2, (16, kind.nv))
    expected = derivative(path(kind, q, v))
    assert_close(stacked(kind.rate(split(q), split(v)), (16,)), expected, 1e-11)


# Configurations


@each_kind
def test_neutral_is_no_displacement(kind):
    q = np.array(kind.neutral())
    assert q.shape == (kind.nq,)
    if kind.name != "custom":
        np.testing.assert_array_equal(pose(kind, q), np.eye(4))


@each_kind
def test_units_and_sizes(kind):
    assert len(kind.q_units) == kind.nq
    assert set(kind.q_units) <= {"rad", "m", "1"}
    assert kind.nq == kind.nv + (kind.quaternion is not None)
    assert REGISTERED[kind.name] is type(kind)


@each_kind
def test_random_stays_within_limits(kind):
    rng = np.random.default_rng(10)
    first = 4 if kind.quaternion else 0
    lower, upper = np.full(kind.nq, -np.inf), np.full(kind.nq, np.inf)
    lower[first:], upper[first:] = 2.5, 2.75
    q = kind.random(rng, lower, upper, (50,))
    assert q.shape == (50, kind.nq)
    assert np.all(q[:, first:] >= 2.5)
    assert np.all(q[:, first:] <= 2.75)
    if kind.quaternion:
        assert_close(np.linalg.norm(q[:, :4], axis=-1), np.ones(50), 1e-15)
    else:
        assert np.ptp(q, axis=0).min() > 0.1


@each_kind
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_random_honours_a_single_limit(kind, side):
    first = 4 if kind.quaternion else 0
    lower, upper = np.full(kind.nq, -np.inf), np.full(kind.nq, np.inf)
    (lower if side == "lower" else upper)[first:] = 20.0 if side == "lower" else -20.0
    q = kind.random(np.random.default_rng(11), lower, upper, (50,))[:, first:]
    assert np.all(q >= 20.0) if side == "lower" else np.all(q <= -20.0)
    spans = np.array([2 * np.pi if unit == "rad" else 2.0 for unit in kind.q_units[first:]])
    assert np.all(np.ptp(q, axis=0) <= spans)
    assert np.all(np.ptp(q, axis=0) >= 0.8 * spans)


@each_kind
def test_random_spreads_over_a_turn_or_two_meters(kind):
    q = drawn(kind, np.random.default_rng(12), 2000)
    for k, unit in enumerate(kind.q_units):
        half = {"rad": np.pi, "m": 1.0, "1": 1.0}[unit]
        assert -half <= q[:, k].min() < -0.9 * half
        assert 0.9 * half < q[:, k].max() <= half


lengths = st.floats(-14, 0.497).map(lambda x: 10.0**x)  # up to 3.1405, just short of half a turn
seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, length=lengths)
def test_integrate_and_difference_are_inverse(seed, length):
    rng = np.random.default_rng(seed)
    for make in KINDS.values():
        kind = make(rng)
        q, v = drawn(kind, rng, 4), rng.standard_normal((4, kind.nv))
        turning = v[:, :3] if kind.quaternion else v
        v = v * length / np.linalg.norm(turning, axis=-1, keepdims=True)
        found = difference(kind, q, integrate(kind, q, v))
        assert_close(found, v, 2e-13, scale=1.0 + float(np.max(np.abs(v))))


@given(seed=seeds, length=st.floats(0.0, 40.0))
def test_integrate_arrives_also_after_several_turns(seed, length):
    rng = np.random.default_rng(seed)
    for kind in (kt.Spherical(), kt.Free()):
        q, v = drawn(kind, rng, 4), rng.standard_normal((4, kind.nv))
        v[:, :3] *= length / np.linalg.norm(v[:, :3], axis=-1, keepdims=True)
        end = integrate(kind, q, v)
        shortest = difference(kind, q, end)
        assert np.all(np.linalg.norm(shortest[:, :3], axis=-1) <= np.pi + 1e-12)
        assert_close(pose(kind, integrate(kind, q, shortest)), pose(kind, end), 1e-12)


@settings(max_examples=20)
@given(seed=seeds, length=lengths)
def test_quaternion_joints_move_along_screws(seed, length):
    """integrate is the exponential of a constant body velocity."""
    rng = np.random.default_rng(seed)
    for kind in (kt.Spherical(), kt.Free()):
        q, v = drawn(kind, rng, 3), length * rng.uniform(-1, 1, (3, kind.nv))
        twist = np.zeros((3, 4, 4))
        twist[:, :3, :3] = skew(v[:, :3])
        if kind.nv == 6:
            twist[:, :3, 3] = v[:, 3:]
        expected = pose(kind, q) @ expm(twist)
        assert_close(pose(kind, integrate(kind, q, v)), expected, 1e-13)
        assert_close(np.linalg.norm(integrate(kind, q, v)[:, :4], axis=-1), np.ones(3), 1e-15)


@pytest.mark.parametrize("distance", [0.0, 1e-150, 1e-15, 1e-9, 9.9e-3, 1.01e-2, 1.99e-2, 2.01e-2, 3.14159])
def test_series_and_formulas_meet(distance):
    """Around the switch to Taylor series, at zero and near half a turn nothing jumps."""
    kind = kt.Free()
    v = np.array([[0.6 * distance, 0.0, -0.8 * distance, 0.3, -2.0, 1.0]])
    q = np.array([kind.neutral()])
    end = integrate(kind, q, v)
    angle = Rotation.from_quat(end[:, :4]).as_rotvec()
    assert_close(angle, v[:, :3], 1e-15, scale=max(distance, 1e-300))
    back = difference(kind, q, end)
    assert_close(back[:, :3], v[:, :3], 1e-15, scale=max(distance, 1e-300))
    assert_close(back[:, 3:], v[:, 3:], 1e-15)


def test_both_signs_of_a_quaternion_are_one_rotation():
    rng = np.random.default_rng(13)
    for kind in (kt.Spherical(), kt.Free()):
        a, b = drawn(kind, rng), drawn(kind, rng)
        flipped = b.copy()
        flipped[:, :4] *= -1
        assert_close(difference(kind, a, flipped), difference(kind, a, b), 1e-13)


# User functions


def custom_revolute(x):
    c, s = kt.cos(x), kt.sin(x)
    return ((c, -s, 0), (s, c, 0), (0, 0, 1)), (0, 0, 0)


def custom_helical(x):
    c, s = kt.cos(x), kt.sin(x)
    return ((1, 0, 0), (0, c, -s), (0, s, c)), (0.3 * x, 0, 0)


def custom_planar(angle, x, y):
    c, s = kt.cos(angle), kt.sin(angle)
    return ((c, -s, 0), (s, c, 0), (0, 0, 1)), (x, y, 0)


def custom_numpy(x):
    """The same hinge by NumPy's own functions."""
    c, s = np.cos(x), np.sin(x)
    return np.array([[c, -s, 0 * c], [s, c, 0 * c], [0 * c, 0 * c, 1 + 0 * c]]), (0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "function", "units"),
    [
        (kt.Revolute("z"), custom_revolute, ("rad",)),
        (kt.Helical("x", 0.3), custom_helical, ("rad",)),
        (kt.Planar("z"), custom_planar, ("rad", "m", "m")),
    ],
    ids=["revolute", "helical", "planar"],
)
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)], ids=str)
def test_custom_joints_reproduce_built_in_ones(kind, function, units, batch):
    rng = np.random.default_rng(14)
    mass, tip = random_mass(rng), random_mass(rng)
    robots = []
    for first in (kind, kt.Custom(kind.nv, function, coordinate_kinds=units)):
        builder = kt.Builder(gravity=(1, 2, -9)).body("a", "base", first, mass_properties=mass)
        robots.append(builder.body("b", "a", kt.Universal("XY"), position=(0.2, 0, 0.1), mass_properties=tip).build())
    built_in, custom = robots
    q, v, a = random_state(built_in, rng, batch)
    tau = built_in.inverse_dynamics(q, v, a)
    assert_close(custom.inverse_dynamics(q, v, a), tau, 1e-13)
    assert_close(custom.mass_matrix(q), built_in.mass_matrix(q), 1e-13)
    assert_close(custom.coriolis_matrix(q, v), built_in.coriolis_matrix(q, v), 1e-13)
    assert_close(custom.forward_dynamics(q, v, tau), a, 1e-11)
    assert_close(custom.jacobian_rate(q, v, "b"), built_in.jacobian_rate(q, v, "b"), 1e-13)
    assert_close(custom.pose(q, "b"), built_in.pose(q, "b"), 1e-14)


def test_custom_joint_may_use_numpy_functions():
    q, v = np.array([[0.3]]), np.array([[1.5]])
    for x in (q[0], q):
        kind, plain = kt.Custom(1, custom_numpy), kt.Revolute("z")
        assert_close(pose(kind, x), pose(plain, x), 1e-15)
        assert_close(subspace(kind, x), subspace(plain, x), 1e-15)
    rates = kind.subspace_rate(split(q), split(v))
    assert_close(columns(rates, (1,)), np.zeros((1, 6, 1)), 1e-15, scale=1.0)


def test_custom_joint_with_powers_quotients_and_roots():
    def curve(x):
        return ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x**1, 2 / (1 + x**2), kt.sqrt(1 + x**2) - x**0)

    kind = kt.Custom(1, curve, coordinate_kinds=("m",))
    x = np.array([[-1.3], [0.0], [0.4]])
    square = x[:, 0] ** 2
    expected = np.stack([np.ones(3), -4 * x[:, 0] / (1 + square) ** 2, x[:, 0] / np.sqrt(1 + square)], axis=-1)
    assert_close(subspace(kind, x)[:, 3:, 0], expected, 1e-15)
    second = np.stack([np.zeros(3), -4 / (1 + square) ** 2 + 16 * square / (1 + square) ** 3, (1 + square) ** -1.5], -1)
    rates = columns(kind.subspace_rate(split(x), split(np.full((3, 1), 2.0))), (3,))
    assert_close(rates[:, 3:, 0], 2.0 * second, 1e-14)


def test_custom_joint_moves_a_body_along_its_curve():
    robot = kt.Builder(gravity=(0, 0, -10)).body(
        "bead",
        "base",
        kt.Custom(1, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0, 0.5 * x * x)), "parabola", ("m",)),
        mass=2.0,
    )
    bead = robot.build()
    x, u = np.linspace(-1, 1, 7), np.linspace(2, -1, 7)
    # Lagrange by hand: m (1 + x^2) x'' + m x x'^2 + m g x = tau
    tau = bead.inverse_dynamics(x[:, None], u[:, None], np.full((7, 1), 3.0))[:, 0]
    assert_close(tau, 2 * ((1 + x * x) * 3.0 + x * u * u + 10 * x), 1e-14)


# What joints refuse


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: kt.Revolute((0, 0, 0)), "zero length"),
        (lambda: kt.Revolute((0, 1)), "three finite numbers"),
        (lambda: kt.Prismatic((0, np.nan, 1)), "three finite numbers"),
        (lambda: kt.Prismatic("w"), "x, y, z"),
        (lambda: kt.Revolute([1, "a", 2]), "three numbers"),
        (lambda: kt.Helical("x", np.inf), "pitch"),
        (lambda: kt.Planar((0, 0, 0)), "normal has zero length"),
        (lambda: kt.Universal("XX"), "XY, XZ, YX, YZ, ZX, ZY"),
        (lambda: kt.EulerSpherical("XXY"), "XYX, XYZ"),
        (lambda: kt.EulerFree("XY"), "XYX, XYZ"),
        (lambda: kt.Custom(0, custom_revolute), "1 to 6"),
        (lambda: kt.Custom(1, None), "function"),
        (lambda: kt.Custom(2, custom_revolute, "odd"), "custom joint 'odd': the function must take 2 numbers"),
        (lambda: kt.Custom(1, lambda x: x, "odd"), "custom joint 'odd': .*three rows of three"),
        (lambda: kt.Custom(1, lambda x: (np.eye(2), (x, 0, 0))), "three rows of three"),
        (lambda: kt.Custom(1, lambda x: (np.eye(3), (x, 0))), "three rows of three"),
        (lambda: kt.Custom(1, lambda x: (np.eye(3), (np.cbrt(x), 0, 0))), "kinetree.sin, cos, sqrt"),
        (lambda: kt.Custom(1, lambda x: (np.eye(3) * 2, (x, 0, 0))), "not orthonormal"),
        (lambda: kt.Custom(2, cam, coordinate_kinds=("rad",)), "each of 2"),
        (lambda: kt.Custom(2, cam, coordinate_kinds=("rad", "deg")), "'rad' or 'm'"),
    ],
)
def test_impossible_joints_are_refused(make, says):
    with pytest.raises(ModelError, match=says):
        make()


def test_axes_are_normalized_and_sequences_understood_in_any_case():
    assert kt.Revolute((0, 3, 4)).axis == (0.0, 0.6, 0.8)
    assert kt.Revolute((1e200, 0, 0)).axis == (1.0, 0.0, 0.0)
    assert kt.Revolute((0, 0, -1e-200)).axis == (0.0, 0.0, -1.0)
    assert kt.EulerSpherical("zyx") == kt.EulerSpherical("ZYX")
    assert kt.Universal("xy").sequence == "XY"


# The same through a robot


@pytest.mark.parametrize("name", KINDS)
def test_robot_methods_reach_the_joint(name):
    rng = np.random.default_rng(15)
    kind = KINDS[name](rng)
    robot = kt.Builder().body("a", "base", kind, mass_properties=random_mass(rng)).build()
    q, v, _ = random_state(robot, rng, 8)
    assert_close(robot.neutral(), np.array(kind.neutral()))
    assert_close(robot.pose(q, "a"), pose(kind, q), 1e-15)
    assert_close(robot.difference(q, robot.integrate(q, 0.3 * v)), 0.3 * v, 1e-13)
    assert_close(robot.configuration_rate(q, v), derivative(lambda t: robot.integrate(q, t[:, None, None] * v)), 1e-11)
    turning = rate(lambda q, v: robot.pose(q, "a"), robot, q, v)[..., :3, :3]
    assert_close(
        times(subspace(kind, q), v)[:, :3],
        unskew(transpose(robot.pose(q, "a")[..., :3, :3]) @ turning),
        1e-10,
        scale=1.0,
    )


# ------------------------------------------------------------------ numbers that are none


@pytest.mark.parametrize("pitch", ["a", None, [0.1], 1j, float("inf"), float("nan"), True])
def test_a_pitch_that_is_no_number_is_refused(pitch):
    with pytest.raises(kt.ModelError, match="pitch of a helical joint must be a finite number of meters per radian"):
        kt.Helical("z", pitch)


@pytest.mark.parametrize("dof", ["x", float("nan"), 1.5, None, 0, 7, True, [1]])
def test_a_custom_joint_has_a_whole_number_of_coordinates(dof):
    with pytest.raises(kt.ModelError, match="dof of a custom joint must be a whole number from 1 to 6"):
        kt.Custom(dof, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0, 0)))


@pytest.mark.parametrize("problem", [ZeroDivisionError("1/0"), KeyError("x"), AttributeError("sin"), RuntimeError("?")])
def test_a_custom_joint_whose_function_raises_says_so(problem):
    def broken(x):
        raise problem

    with pytest.raises(kt.ModelError, match=f"it failed with {type(problem).__name__}") as caught:
        kt.Custom(1, broken)
    assert caught.value.__cause__ is problem


@pytest.mark.parametrize("kinds", [3, "rad m", ["rad", "m"], [["rad"]]])
def test_units_of_a_custom_joint_that_are_none_are_refused(kinds):
    with pytest.raises(kt.ModelError, match="coordinate_kinds needs 'rad' or 'm'"):
        kt.Custom(1, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0, 0)), coordinate_kinds=kinds)


def test_entries_of_planar_joints_are_named_for_their_axes():
    """What q[1] of Planar("y") is, z or x, is seen in the name, and the pose agrees with it."""
    for normal, axes in (("z", "xy"), ("x", "yz"), ("y", "zx"), ("-z", None)):
        robot = kt.Builder("slab").body("slab", "base", kt.Planar(normal), mass=1.0).build()
        labels = [name.removeprefix("slab_joint") for name in robot.q_names]
        if axes is not None:
            assert labels == [".angle", *(f".{axis}" for axis in axes)]
        assert robot.v_names == robot.q_names
        for k in (1, 2):
            place = robot.pose(np.eye(3)[k], "slab")[:3, 3]
            axis = labels[k].removeprefix(".")
            assert place["xyz".index(axis[-1])] == (-1.0 if axis.startswith("-") else 1.0)
            assert robot.entry_index(f"slab_joint[{k}]", "q") == k  # numbers are still understood

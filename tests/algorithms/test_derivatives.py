"""Derivatives of dynamics against Pinocchio, differences along motions, and differentiated graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from helpers.compare import assert_close, derivative, transpose
from helpers.robots import KINDS, arm, floating_pair, random_state, random_tree
from judges.comparison import States
from judges.pinocchio_judge import PinocchioJudge
from judges.real_robots import FIXED, FLOATING, MIMICS, load_quietly, robot_file, with_rotors
from kinetree.algorithms.kinematics import configuration_rate
from kinetree.algorithms.sparse_inverse import SparseInverse
from kinetree.algorithms.table import find
from kinetree.engine.differentiate import forward
from kinetree.engine.graph import inputs, outputs
from kinetree.engine.interpret import evaluate
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.spatial import Force
from kinetree.spatial.arrays import flatten, pack, split

Array = np.ndarray

INVERSE, FORWARD = "inverse_dynamics", "forward_dynamics"


# ---------------------------------------------------------------- asking


def loads_of(wrenches: Array | None, bodies: int) -> list[Force] | None:
    return None if wrenches is None else [Force.of(split(wrenches[..., i, :])) for i in range(bodies)]


def derivatives(robot: kt.Robot, name: str, q: Array, v: Array, x: Array, wrenches: Array | None = None) -> Array:
    """By q, v and the third argument, stacked, from the algorithm as it is written."""
    loads = loads_of(wrenches, len(robot.body_names))
    nested = find(f"{name}_derivatives").function(robot.model, split(q), split(v), split(x), loads)
    return pack(nested, q.shape[:-1])


def random_wrenches(robot: kt.Robot, rng: np.random.Generator, count: int) -> Array:
    return rng.uniform(-20.0, 20.0, (count, len(robot.body_names), 6))


def reference(robot: kt.Robot) -> kt.Robot:
    return robot.with_backend("reference")


# ---------------------------------------------------------------- judges


def differences(robot: kt.Robot, name: str, q: Array, v: Array, x: Array, wrenches: Array | None) -> Array:
    """The same by central differences of sixth order; q moves as ``integrate`` says."""
    robot = reference(robot)
    method: Callable[..., Array] = getattr(robot, name)
    columns = []
    for unit in np.eye(robot.nv):

        def along(times: Array, *weights: float, unit: Array = unit) -> Array:
            t = times.reshape(-1, 1, 1) * unit
            moved = robot.integrate(q, t) if weights[0] else np.broadcast_to(q, (len(times), *q.shape))
            return method(moved, v + weights[1] * t, x + weights[2] * t, wrenches)

        columns.append([derivative(lambda times, w=weights: along(times, *w)) for weights in np.eye(3)])
    return np.moveaxis(np.array(columns), [1, 0], [-3, -1])


def differentiated(robot: kt.Robot, name: str, q: Array, v: Array, x: Array, wrenches: Array | None) -> Array:
    """The same by forward differentiation of the algorithm's graph along unit velocities: exact to rounding."""
    n, tree = robot.nv, robot.model
    loads = loads_of(wrenches, len(robot.body_names))
    options = {"method": "composite_body"} if name == FORWARD else {}
    result = []
    for k in range(len(q)):
        own = None if loads is None else [Force.of([float(c[k]) for c in force]) for force in loads]
        traced = trace(lambda *s, own=own: find(name).function(tree, *s, own, **options), (robot.nq, n, n), flatten)
        graph = traced.graph
        positions = inputs(graph, robot.nq)
        columns = []
        for j in range(n):
            rates = outputs(graph, configuration_rate(tree, positions, [float(i == j) for i in range(n)]))
            columns.append(forward(graph, traced.outputs, dict(zip((p.index for p in positions), rates, strict=True))))
        for j in range(robot.nq, robot.nq + 2 * n):
            columns.append(forward(graph, traced.outputs, {graph.input(j): graph.const(1.0)}))
        values = evaluate(graph, [o for column in columns for o in column], np.concatenate([q[k], v[k], x[k]]))
        result.append(transpose(values.reshape(3, n, n)))
    return np.array(result)


def by_pinocchio(judge: PinocchioJudge, name: str, q: Array, v: Array, x: Array, wrenches: Array) -> Array:
    """Pinocchio's derivatives in our coordinates; joints whose velocities differ only by a constant matrix."""
    assert judge.integrates_alike
    ask = pin.computeRNEADerivatives if name == INVERSE else pin.computeABADerivatives
    result = []
    for k in range(len(q)):
        t = judge.tangent(q[k])  # a permutation, so that its inverse is its transpose
        np.testing.assert_array_equal(t.T @ t, np.eye(len(t)))
        three = ask(judge.model, judge.data, judge.position(q[k]), t @ v[k], t @ x[k], judge._forces(wrenches[k]))
        full = [np.array(three[0]), np.array(three[1]), np.triu(three[2]) + np.triu(three[2], 1).T]
        result.append([t.T @ m @ t for m in full])
    return np.array(result)


def assert_each_close(actual: Array, expected: Array, tolerance: float) -> None:
    """Each of the three matrices of each state to its own largest entry."""
    assert actual.shape == expected.shape
    for state, wanted in zip(actual, expected, strict=True):
        for matrix, target in zip(state, wanted, strict=True):
            scale = max(float(np.max(np.abs(target))), 1e-3 * float(np.max(np.abs(wanted))))
            assert_close(matrix, target, tolerance, scale)


# ---------------------------------------------------------------- real robots against Pinocchio

CASES = [pytest.param(FIXED[n], False, id=f"{n}-fixed") for n in ("panda", "ur5", "baxter", "allegro_hand")] + [
    pytest.param(FLOATING[n], True, id=f"{n}-floating") for n in ("anymal", "talos", "simple_humanoid", "quadrotor")
]


@pytest.mark.parametrize(("path", "floating"), CASES)
@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_real_robots_against_pinocchio(name: str, path: str, floating: bool) -> None:
    file = robot_file(path)
    rng = np.random.default_rng(0)
    robot = with_rotors(load_quietly(file, floating_base=floating, mimic="independent"), rng)
    robot = robot.with_gravity(rng.uniform(-8.0, 8.0, 3))
    judge = PinocchioJudge.of_urdf(robot, file, floating_base=floating)
    s = States.draw(robot, rng, 2)
    third = s.a if name == INVERSE else s.tau
    actual = derivatives(robot, name, s.q, s.v, third, s.wrenches)
    assert_each_close(actual, by_pinocchio(judge, name, s.q, s.v, third, s.wrenches), 1e-8)


def test_the_convention_is_pinocchios() -> None:
    """A free body: turning it about its own x axis changes the force that holds it up, in its own axes."""
    robot = kt.Builder("brick").body("brick", "base", kt.Free(), mass=2.0, inertia=(1.0, 2.0, 3.0)).build()
    by_q = derivatives(robot, INVERSE, robot.neutral(), np.zeros(6), np.zeros(6))[0]
    expected = np.zeros((6, 6))
    expected[3:, :3] = 2.0 * 9.81 * np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(by_q, expected, atol=1e-15)


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in MIMICS.items()])
def test_followers_against_pinocchios_free_joints(path: str) -> None:
    """With q_free = G q + offset the derivatives are G^T D G."""
    file = robot_file(path)
    robot, free = load_quietly(file), load_quietly(file, mimic="independent")
    assert robot.nv < free.nv
    g, offset = _follower_map(robot, free)
    s = States.draw(robot, np.random.default_rng(1), 2)
    judge = PinocchioJudge.of_urdf(free, file)
    q, v, a = s.q @ g.T + offset, s.v @ g.T, s.a @ g.T
    expected = g.T @ by_pinocchio(judge, INVERSE, q, v, a, s.wrenches) @ g
    assert_each_close(derivatives(robot, INVERSE, s.q, s.v, s.a, s.wrenches), expected, 1e-8)
    tau = reference(robot).inverse_dynamics(s.q, s.v, s.a, s.wrenches)
    inverse = np.linalg.inv(expected[:, 2])
    expected = np.stack([-inverse @ expected[:, 0], -inverse @ expected[:, 1], inverse], axis=1)
    assert_each_close(derivatives(robot, FORWARD, s.q, s.v, tau, s.wrenches), expected, 1e-8)


def _follower_map(robot: kt.Robot, free: kt.Robot) -> tuple[Array, Array]:
    """G and offset, read off by moving one coordinate of the leaders at a time (single-DOF joints only)."""

    def spread(q: Array) -> Array:
        return np.concatenate([link.position(q) for link in robot.model.links])

    offset = spread(np.zeros(robot.nq))
    assert free.nq == len(offset)
    return np.stack([spread(unit) - offset for unit in np.eye(robot.nq)], axis=-1), offset


# ---------------------------------------------------------------- every kind of joint


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_every_kind_of_joint_by_differences(kind: str, name: str) -> None:
    """Three bodies on joints of one kind between hinges, with rotors and wrenches."""
    rng = np.random.default_rng(list(KINDS).index(kind))
    robot = random_tree(rng, 4, ["revolute", kind, kind])
    while not any(j.kind.name == KINDS[kind](rng).name for j in robot.model.joints[1:]):
        robot = random_tree(rng, 4, ["revolute", kind, kind])
    q, v, x = random_state(robot, rng, 2)
    wrenches = random_wrenches(robot, rng, 2)
    actual = derivatives(robot, name, q, v, x, wrenches)
    assert_each_close(actual, differences(robot, name, q, v, x, wrenches), 1e-7)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans(), st.booleans())
def test_random_trees_by_differentiated_graphs(seed: int, n: int, floating: bool, followers: bool) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, floating=floating, followers=followers)
    q, v, x = random_state(robot, rng, 1)
    wrenches = random_wrenches(robot, rng, 1) if rng.random() < 0.5 else None
    for name in (INVERSE, FORWARD):
        actual = derivatives(robot, name, q, v, x, wrenches)
        expected = differentiated(robot, name, q, v, x, wrenches)
        assert_each_close(actual, expected, 1e-10 if name == INVERSE else 1e-8)


def test_a_joint_whose_screws_change_in_every_way() -> None:
    """A user's joint of three freedoms with nothing constant, twice in a row, below a ball joint."""

    def twist(x: Any, y: Any, z: Any) -> Any:
        s, c, a = kt.sin(x + 0.3 * y * z), kt.cos(x + 0.3 * y * z), 0.1 * x * x
        return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)), (y + a, z * kt.cos(y), x * y * z)

    builder = kt.Builder("odd", gravity=(1.0, -2.0, 9.0))
    box = kt.MassProperties.box(1.5, (0.3, 0.2, 0.1), (0.05, 0.1, 0.02))
    builder.body("a", "base", kt.Spherical(), mass_properties=box)
    builder.body("b", "a", kt.Custom(3, twist), position=(0.1, 0.2, 0.3), mass_properties=box)
    builder.body("c", "b", kt.Custom(3, twist), position=(-0.1, 0.2, 0.1), mass_properties=box)
    robot = builder.build()
    rng = np.random.default_rng(5)
    q, v, x = random_state(robot, rng, 2)
    for name in (INVERSE, FORWARD):
        actual = derivatives(robot, name, q, v, x)
        assert_each_close(actual, differentiated(robot, name, q, v, x, None), 1e-10)
        assert_each_close(actual, differences(robot, name, q, v, x, None), 1e-6)


def test_several_trees_on_one_base() -> None:
    """Separate trees do not see one another, but a follower may join them."""
    builder = kt.Builder("two")
    box = kt.MassProperties.box(1.5, (0.3, 0.2, 0.1), (0.05, 0.1, 0.02))
    builder.body("a", "base", kt.Revolute("x"), joint_name="ja", mass_properties=box)
    builder.body("b", "base", kt.Revolute("y"), joint_name="jb", position=(1, 0, 0), mass_properties=box)
    builder.body("c", "b", kt.Prismatic("z"), joint_name="jc", mass_properties=box)
    q, v, x = random_state(builder.build(), np.random.default_rng(3), 1)
    apart = derivatives(builder.build(), INVERSE, q, v, x)
    assert not apart[..., 0, 1:].any()
    assert not apart[..., 1:, 0].any()
    builder.body(
        "d", "c", kt.Revolute("x"), joint_name="jd", mass_properties=box, mimic=kt.Mimic("ja", -1.5, 0.2)
    )  # fmt: skip
    for name in (INVERSE, FORWARD):
        joined = derivatives(builder.build(), name, q, v, x)
        assert_each_close(joined, differentiated(builder.build(), name, q, v, x, None), 1e-11)
        assert joined[..., 0, 1:].any()


# ---------------------------------------------------------------- how the matrices hang together


@pytest.mark.parametrize("seed", range(4))
def test_mass_matrices_and_the_chain_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = reference(random_tree(rng, 5, floating=bool(seed % 2), followers=seed > 1))
    q, v, a = random_state(robot, rng, 3)
    wrenches = random_wrenches(robot, rng, 3)
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    by_q, by_v, by_a = np.moveaxis(derivatives(robot, INVERSE, q, v, a, wrenches), -3, 0)
    a_by_q, a_by_v, a_by_tau = np.moveaxis(derivatives(robot, FORWARD, q, v, tau, wrenches), -3, 0)
    assert_close(by_a, robot.mass_matrix(q), 1e-12)
    np.testing.assert_array_equal(by_a, transpose(by_a))
    np.testing.assert_array_equal(a_by_tau, transpose(a_by_tau))
    assert_close(a_by_tau @ by_a, np.broadcast_to(np.eye(robot.nv), by_a.shape), 1e-9)
    assert_close(by_a @ a_by_q, -by_q, 1e-9)
    assert_close(by_a @ a_by_v, -by_v, 1e-9)


def test_at_rest_velocities_have_no_first_order_effect() -> None:
    robot = floating_pair()
    q = robot.random_configuration(0)
    three = derivatives(robot, INVERSE, q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert not three[1].any()


def test_a_rate_changes_forces_through_the_coriolis_matrix() -> None:
    """Forces quadratic in v: (d tau/d v) v is twice the velocity forces."""
    robot = reference(random_tree(np.random.default_rng(8), 5))
    q, v, a = random_state(robot, np.random.default_rng(9), 2)
    by_v = derivatives(robot, INVERSE, q, v, a)[..., 1, :, :]
    expected = 2.0 * (robot.bias_force(q, v) - robot.gravity_force(q))
    assert_close(np.einsum("bij,bj->bi", by_v, v), expected, 1e-11)


def test_where_a_free_robot_stands_does_not_matter() -> None:
    robot = floating_pair()
    q, v, a = random_state(robot, np.random.default_rng(2), 2)
    q[1] = q[0]
    q[1, 4:7] += (10.0, -20.0, 30.0)
    v[1], a[1] = v[0], a[0]
    for name in (INVERSE, FORWARD):
        here, there = derivatives(robot, name, q, v, a)
        np.testing.assert_array_equal(here, there)
        assert not here[0][:, 3:6].any()


def test_a_sparse_inverse_of_any_tree() -> None:
    rng = np.random.default_rng(4)
    parents = [-1, 0, 1, 1, 0, 4, -1, 6]
    paths = [{k} for k in range(8)]
    for k, p in enumerate(parents):
        paths[k] |= paths[p] if p >= 0 else set()
    w = np.array([[rng.standard_normal() if i in paths[k] else 0.0 for i in range(8)] for k in range(8)])
    matrix = w.T @ w + np.diag(rng.uniform(1.0, 2.0, 8))
    inverse = SparseInverse(matrix.tolist(), parents)
    expected = np.linalg.inv(matrix)
    rows = inverse.matrix()
    np.testing.assert_allclose([[row.get(j, 0.0) for j in range(8)] for row in rows], expected, rtol=1e-12, atol=1e-14)
    assert set(rows[7]) == {6, 7}  # the second tree has nothing to do with the first
    found = inverse.times({3: 2.0, 5: -1.0})
    assert set(found) == {0, 1, 2, 3, 4, 5}
    wanted = expected @ np.array([0, 0, 0, 2.0, 0, -1.0, 0, 0])
    np.testing.assert_allclose([found.get(k, 0.0) for k in range(8)], wanted, rtol=1e-12, atol=1e-14)


# ---------------------------------------------------------------- as machine code


@pytest.mark.parametrize("name", [INVERSE, FORWARD])
@pytest.mark.parametrize("make", [arm, floating_pair, lambda: random_tree(np.random.default_rng(6), 3)])
def test_machine_code_equals_the_reference(name: str, make: Callable[[], kt.Robot]) -> None:
    robot = make()
    algorithm = find(f"{name}_derivatives")
    traced = trace(lambda *s: algorithm.function(robot.model, *s), algorithm.lengths(robot.model), flatten)
    assert traced.shape == algorithm.shape(robot.model, {}) == (3, robot.nv, robot.nv)
    kernel = Kernel(algorithm.name, lambda: traced, traced.lengths, traced.shape)
    q, v, x = random_state(robot, np.random.default_rng(7), 19)
    assert_each_close(kernel(q, v, x), derivatives(robot, name, q, v, x), 1e-12)


@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_methods_of_the_robot(name: str) -> None:
    """Three arrays, batches that broadcast, wrenches by name, compiled or not."""
    robot = floating_pair()
    rng = np.random.default_rng(10)
    q, v, x = random_state(robot, rng, 5)
    wrenches = np.zeros((5, 3, 6))
    wrenches[:, 1] = rng.uniform(-5.0, 5.0, (5, 6))
    expected = derivatives(robot, name, q, v, np.broadcast_to(x[0], v.shape), wrenches)
    for backend in ("compiled", "reference"):
        method = getattr(robot.with_backend(backend), f"{name}_derivatives")
        three = method(q, v, x[0], {"head": wrenches[:, 1]})
        assert [m.shape for m in three] == [(5, robot.nv, robot.nv)] * 3
        assert_each_close(np.stack(three, axis=1), expected, 1e-12)
        assert_close(method(q[2], v[2], x[0], {"head": wrenches[2, 1]})[0], expected[2, 0], 1e-12)


# ---------------------------------------------------------------- options of the robot's methods


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_out_and_threads(name: str, backend: str) -> None:
    robot = floating_pair().with_backend(backend)
    method = getattr(robot, f"{name}_derivatives")
    q, v, x = random_state(robot, np.random.default_rng(20), 40)
    expected = np.stack(method(q, v, x), axis=1)
    out = np.zeros((40, 3, robot.nv, robot.nv))
    three = method(q, v, x, out=out, threads=2)
    np.testing.assert_array_equal(out, expected)
    for k, matrix in enumerate(three):
        assert np.shares_memory(matrix, out)
        np.testing.assert_array_equal(matrix, expected[:, k])
    with pytest.raises(kt.ShapeError, match=r"out must have shape \(40, 3, "):
        method(q, v, x, out=np.zeros((40, robot.nv, robot.nv)))
    with pytest.raises(kt.OptionError, match="threads"):
        method(q, v, x, threads=0)


def rubbing() -> kt.Robot:
    """An arm on a cart with damping and Coulomb friction, and a joint with neither."""
    b = kt.Builder("rubbing")
    b.body("cart", "base", kt.Prismatic("x"), mass=2.0, damping=0.7, friction=1.5)
    b.body("arm", "cart", kt.Revolute("y"), mass=1.0, com=(0.1, 0.0, -0.4), damping=0.2)
    b.body("hand", "arm", kt.Revolute("x"), position=(0, 0, -0.8), mass=0.5, com=(0, 0.1, -0.2), friction=0.3)
    b.body("tip", "hand", kt.Revolute("y"), position=(0, 0, -0.3), mass=0.2, com=(0.05, 0, -0.1))
    return b.build()


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_friction_by_differences(name: str, backend: str) -> None:
    robot = rubbing().with_backend(backend)
    q, v, x = random_state(robot, np.random.default_rng(21), 6)
    assert np.min(np.abs(v)) > 0.01  # the differences must not step over rest
    found = np.stack(getattr(robot, f"{name}_derivatives")(q, v, x, friction=True), axis=1)
    method = getattr(robot.with_backend("reference"), name)

    def moved(k: int, t: Array) -> Array:
        state = [q, v, x]
        state[k] = state[k] + t
        return np.asarray(method(*state, friction=True))

    step = 1e-4
    columns = [
        [(moved(k, step * unit) - moved(k, -step * unit)) / (2 * step) for unit in np.eye(robot.nv)] for k in range(3)
    ]
    expected = np.moveaxis(np.array(columns), [0, 1], [1, 3])
    assert_each_close(found, expected, 1e-6)
    without = np.stack(getattr(robot, f"{name}_derivatives")(q, v, x), axis=1)
    assert not np.allclose(found[:, 1], without[:, 1])


@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_coulomb_friction_at_rest_has_no_derivative(name: str) -> None:
    robot = rubbing()
    q, v, x = random_state(robot, np.random.default_rng(22), 6)
    method = getattr(robot, f"{name}_derivatives")
    v[:, 1] = v[:, 3] = 0.0  # no Coulomb friction here: no jump
    method(q, v, x, friction=True)
    v[4, 2] = 0.0
    with pytest.raises(kt.StateError, match=r"'.*hand.*' is at rest \(batch index 4\) and has Coulomb friction"):
        method(q, v, x, friction=True)
    with pytest.raises(kt.StateError, match="at rest and has"):
        method(q[4], v[4], x[4], friction=True)
    method(q, v, x)


@pytest.mark.parametrize(
    ("axes", "point_axes", "backend"),
    [(a, p, "reference") for a in ("body", "world") for p in ("body", "world")] + [("world", "world", "compiled")],
)
@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_wrenches_that_the_world_holds_by_differences(name: str, axes: str, point_axes: str, backend: str) -> None:
    rng = np.random.default_rng(23)
    robot = random_tree(rng, 4, floating=True).with_backend(backend)
    q, v, x = random_state(robot, rng, 3)
    frames = robot.body_names[-1], robot.body_names[1]
    force, moment, point = rng.uniform(-20.0, 20.0, (3, 3, 3))
    load = kt.Wrench(force, moment, point / 20.0, axes, point_axes)
    wrenches = {frames[0]: load, frames[1]: [load, kt.Wrench((1.0, 2.0, 3.0), axes="world")]}
    found = np.stack(getattr(robot, f"{name}_derivatives")(q, v, x, wrenches), axis=1)
    assert_each_close(found, differences(robot, name, q, v, x, wrenches), 1e-8)


def test_a_wrench_on_the_base_changes_nothing() -> None:
    robot = rubbing()
    q, v, x = random_state(robot, np.random.default_rng(24), 2)
    push = {robot.base_name: kt.Wrench((1.0, 2.0, 3.0), axes="world")}
    for with_push, without in zip(
        robot.inverse_dynamics_derivatives(q, v, x, push), robot.inverse_dynamics_derivatives(q, v, x), strict=True
    ):
        np.testing.assert_array_equal(with_push, without)


@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_the_recursion_takes_fewer_operations_than_differentiated_graphs(name: str) -> None:
    """The reason why there is one; numbers in docs/derivatives.md."""
    robot = load_quietly(robot_file(FIXED["panda"]))
    n = robot.nv
    graphs = {}
    for algorithm in (name, f"{name}_derivatives"):
        a = find(algorithm)
        graphs[algorithm] = trace(lambda *s, a=a: a.function(robot.model, *s), a.lengths(robot.model), flatten)
    plain = graphs[name]
    columns = [
        forward(plain.graph, plain.outputs, {plain.graph.input(j): plain.graph.const(1.0)}) for j in range(3 * n)
    ]
    by_graph = len(plain.graph.reachable([x for c in columns for x in c]))
    recursion = graphs[f"{name}_derivatives"]
    assert len(recursion.graph.reachable(recursion.outputs)) < 0.8 * by_graph

"""The algorithms played off against one another on random trees with every kind of joint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from helpers.compare import assert_close, times, transpose
from helpers.robots import KINDS, floating_pair, random_state, random_tree
from kinetree.algorithms.table import FORWARD_METHODS
from kinetree.errors import ModelError, ShapeError, SingularError, UnknownNameError

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)
BATCH = 4
LEAVES = [kt.Revolute("x"), kt.Prismatic("y"), kt.Spherical(), kt.Universal("XY"), kt.Free()]


def drawn(seed: int, n: int, **options) -> tuple[kt.Robot, np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, **options)
    return robot, rng, *random_state(robot, rng, BATCH)


def loads(robot: kt.Robot, rng: np.random.Generator, batch: tuple[int, ...] = (BATCH,)) -> dict[str, object]:
    """Wrenches of every form on about half of the bodies."""
    found: dict[str, object] = {}
    for i in range(len(robot.body_names)):
        force, moment, point = rng.uniform(-20, 20, (3, *batch, 3))
        found |= [
            {},
            {f"b{i}": np.concatenate([moment, force], axis=-1)},
            {f"f{i}": kt.Wrench(force, moment, 0.02 * point)},
            {f"b{i}": kt.Wrench(force, moment, 0.02 * point, axes="world", point_axes="world")},
            {f"f{i}": [kt.Wrench(force, axes="world"), kt.Wrench(moment=moment, point_axes="world")]},
        ][int(rng.integers(5))]
    return found


def conditioned(robot: kt.Robot, q: np.ndarray) -> float:
    """What forward dynamics can be asked for: rounding times the condition of the mass matrix."""
    return max(1e-11, 4e-14 * float(np.max(np.linalg.cond(robot.mass_matrix(q)))))


# Forward dynamics


@settings(max_examples=25)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_every_method_returns_what_inverse_dynamics_was_given(seed, n, followers):
    robot, rng, q, v, a = drawn(seed, n, followers=followers)
    wrenches = loads(robot, rng)
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    for method in FORWARD_METHODS:
        found = robot.forward_dynamics(q, v, tau, wrenches, method=method)
        assert_close(found, a, conditioned(robot, q), scale=100.0)


@settings(max_examples=15)
@given(seed=seeds, n=sizes)
def test_inverse_dynamics_returns_what_forward_dynamics_was_given(seed, n):
    robot, rng, q, v, tau = drawn(seed, n, followers=True)
    wrenches = loads(robot, rng)
    a = robot.forward_dynamics(q, v, tau, wrenches)
    back = robot.inverse_dynamics(q, v, a, wrenches)
    assert_close(back, tau, conditioned(robot, q), scale=float(np.max(np.abs(a))) + 100.0)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_agree_for_each_kind_of_joint(kind):
    """Three in a row and a branch, all of one kind."""
    robot, _, q, v, a = drawn(40, 4, kinds=[kind])
    tau = robot.inverse_dynamics(q, v, a)
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics(q, v, tau, method=method), a, conditioned(robot, q))


@pytest.mark.parametrize("method", FORWARD_METHODS)
def test_methods_agree_on_a_long_chain_of_hinges(method):
    rng = np.random.default_rng(41)
    builder = kt.Builder()
    box = kt.MassProperties.box(1.0, (0.1, 0.1, 0.3), (0, 0, -0.15))
    for i in range(20):
        parent = f"b{i - 1}" if i else "base"
        axis = ("x", "y")[i % 2]
        builder.body(f"b{i}", parent, kt.Revolute(axis), position=(0, 0, -0.3), mass_properties=box, rotor_inertia=0.05)
    robot = builder.build()
    q, v, a = random_state(robot, rng, BATCH)
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(robot.forward_dynamics(q, v, tau, method=method), a, 1e-8)


@settings(max_examples=10)
@given(seed=seeds, n=sizes)
def test_accelerations_are_linear_in_the_forces(seed, n):
    robot, rng, q, v, tau = drawn(seed, n)
    more = rng.uniform(-5, 5, tau.shape)
    response = times(robot.inverse_mass_matrix(q), more)
    found = robot.forward_dynamics(q, v, tau + more) - robot.forward_dynamics(q, v, tau)
    assert_close(found, response, 1e-7, scale=float(np.max(np.abs(response))) + 1.0)


def test_unknown_method_lists_the_known():
    robot = floating_pair()
    with pytest.raises(UnknownNameError, match="did you mean 'articulated_body'"):
        robot.forward_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv), method="articulated")


# Followers


def follower_robot() -> kt.Robot:
    """b follows a, c follows b, d (before a in the file) follows c, e is free; on two branches."""
    builder = kt.Builder(gravity=(1, 2, -9))
    mass = kt.MassProperties.box(1.0, (0.1, 0.2, 0.3), (0.1, 0.05, -0.1))
    builder.body("d", "base", kt.Revolute("y"), mass_properties=mass, mimic=kt.Mimic("c_joint", 0.5, 0.3))
    builder.body("a", "base", kt.Revolute("x"), mass_properties=mass, rotor_inertia=0.1)
    builder.body("b", "a", kt.Prismatic("x"), position=(0.1, 0, 0.2), mass_properties=mass, rotor_inertia=0.2,
                 mimic=kt.Mimic("a_joint", -0.7, 0.1))  # fmt: skip
    builder.body("c", "b", kt.Helical("z", 0.1), mass_properties=mass, mimic=kt.Mimic("b_joint", 2.0, -0.4))
    builder.body("e", "d", kt.Spherical(), position=(0, 0, 0.3), mass_properties=mass)
    return builder.frame("tip", "c", (0.1, 0.2, 0.3)).build()


def widen(robot: kt.Robot, free: kt.Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The state of the same tree with every joint free, and G with v_free = G v, from the mimic rules alone."""
    wide_q, g = np.zeros((*q.shape[:-1], free.nq)), np.zeros((free.nv, robot.nv))
    for joint, own in zip(robot.model.joints, free.model.joints, strict=True):
        if joint.mimic is None:
            wide_q[..., own.q_slice] = q[..., joint.q_slice]
            g[own.v_slice, joint.v_slice] = np.eye(joint.nv)
            continue
        leader = robot.joint(joint.mimic.leader)
        wide_q[..., own.q_slice] = joint.mimic.ratio * q[..., leader.q_slice] + joint.mimic.offset
        g[own.v_slice, leader.v_slice] = joint.mimic.ratio
    return wide_q, v @ g.T, g


def test_chains_of_followers_are_resolved():
    robot = follower_robot()
    assert (robot.nq, robot.nv) == (5, 4)
    found = {j.name: j.mimic for j in robot.model.joints if j.mimic}
    assert {name: m.leader for name, m in found.items()} == dict.fromkeys(found, "a_joint")
    # c = 2 (-0.7 a + 0.1) - 0.4 = -1.4 a - 0.2; d = 0.5 c + 0.3 = -0.7 a + 0.2
    assert_close([found["c_joint"].ratio, found["c_joint"].offset], [-1.4, -0.2], 1e-15)
    assert_close([found["d_joint"].ratio, found["d_joint"].offset], [-0.7, 0.2], 1e-15)


def check_followers(robot: kt.Robot, rng: np.random.Generator) -> None:
    free = kt.Robot(robot.model.independent)
    q, v, a = random_state(robot, rng, BATCH)
    wide_q, wide_v, g = widen(robot, free, q, v)
    wide_a = a @ g.T
    wrenches = {robot.body_names[-1]: rng.uniform(-5, 5, (BATCH, 6))}
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    assert_close(tau, free.inverse_dynamics(wide_q, wide_v, wide_a, wrenches) @ g, 1e-12)
    mass = g.T @ free.mass_matrix(wide_q) @ g
    assert_close(robot.mass_matrix(q), mass, 1e-12)
    assert_close(robot.coriolis_matrix(q, v), g.T @ free.coriolis_matrix(wide_q, wide_v) @ g, 1e-11)
    assert_close(robot.bias_force(q, v, wrenches), free.bias_force(wide_q, wide_v, wrenches) @ g, 1e-12)
    assert_close(robot.inverse_mass_matrix(q), np.linalg.inv(mass), 1e-9)
    assert_close(robot.kinetic_energy(q, v), free.kinetic_energy(wide_q, wide_v), 1e-13)
    assert_close(robot.potential_energy(q), free.potential_energy(wide_q), 1e-13)
    assert_close(robot.momentum(q, v), free.momentum(wide_q, wide_v), 1e-12)
    assert_close(robot.centroidal_momentum_matrix(q), free.centroidal_momentum_matrix(wide_q) @ g, 1e-12)
    rate = free.centroidal_momentum_matrix_rate(wide_q, wide_v) @ g
    assert_close(robot.centroidal_momentum_matrix_rate(q, v), rate, 1e-11)
    for frame in robot.frame_names:
        assert_close(robot.jacobian(q, frame), free.jacobian(wide_q, frame) @ g, 1e-12)
        assert_close(robot.jacobian_rate(q, v, frame), free.jacobian_rate(wide_q, wide_v, frame) @ g, 1e-11)
        assert_close(
            robot.acceleration(q, v, a, frame), free.acceleration(wide_q, wide_v, wide_a, frame), 1e-12, scale=10.0
        )
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics(q, v, tau, wrenches, method=method), a, conditioned(robot, q), scale=100.0)


def test_followers_carry_their_inertia_to_the_leader():
    check_followers(follower_robot(), np.random.default_rng(42))


@settings(max_examples=12)
@given(seed=seeds)
def test_random_followers(seed):
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic", "helical", "continuous", "spherical", "universal"]
    check_followers(random_tree(rng, 6, kinds, followers=True), rng)


def test_follower_of_its_own_carrier_by_hand():
    """Two hinges about one axis, the second twice as fast: inertia I1 + 9 I2 on the leader."""
    builder = kt.Builder(gravity=(0, 0, 0)).body("a", "base", kt.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    builder.body("b", "a", kt.Revolute("z"), mass=1.0, inertia=(2, 2, 2), mimic=kt.Mimic("a_joint", 2.0))
    robot = builder.build()
    assert_close(robot.mass_matrix([0.3]), [[1.0 + 9 * 2.0]], 1e-15)
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics([0.3], [5.0], [38.0], method=method), [2.0], 1e-14)


def test_follower_with_ratio_zero_is_fixed_at_its_offset():
    solid = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (1, 1, 1)}
    builder = kt.Builder().body("a", "base", kt.Revolute("x"), **solid)
    held = builder.body("b", "a", kt.Revolute("z"), mimic=kt.Mimic("a_joint", 0.0, 0.7), **solid).build()
    builder = kt.Builder().body("a", "base", kt.Revolute("x"), **solid)
    welded = builder.body("b", "a", kt.Fixed(), rpy=(0, 0, 0.7), **solid).build()
    q, v, a = random_state(welded, np.random.default_rng(53), BATCH)
    tau = welded.inverse_dynamics(q, v, a)
    assert_close(held.inverse_dynamics(q, v, a), tau, 1e-14)
    for method in FORWARD_METHODS:
        assert_close(held.forward_dynamics(q, v, tau, method=method), a, 1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_very_light_and_very_heavy_robots_are_not_taken_for_singular(scale):
    """A grain on a heavy carriage, and the other way round."""
    for first, second in ((1.0, scale), (scale, 1.0)):
        builder = kt.Builder().body("a", "base", kt.Prismatic("x"), mass=first)
        builder.body("b", "a", kt.Revolute("y"), mass=second, com=(0, 0, -0.1), inertia=np.full(3, 0.01 * second))
        free = builder.build()
        tied = builder.body("c", "base", kt.Revolute("y"), mass=1, com=(0, 0, 1), mimic=kt.Mimic("a_joint")).build()
        for robot in (free, tied):
            q, v, a = random_state(robot, np.random.default_rng(54), BATCH)
            tau = robot.inverse_dynamics(q, v, a)
            found = robot.forward_dynamics(q, v, tau)
            assert_close(
                robot.inverse_dynamics(q, v, found) / np.abs(tau).max(axis=0), tau / np.abs(tau).max(axis=0), 1e-7
            )


@pytest.mark.parametrize("heavy", ["leader", "follower"])
def test_massless_leader_or_follower_is_no_problem(heavy):
    """Only together do they need inertia."""
    box = kt.MassProperties.box(1.0, (0.1, 0.2, 0.3), (0.2, 0, 0))
    none = kt.MassProperties()
    builder = kt.Builder().body(
        "a", "base", kt.Revolute("y"), mass_properties=box if heavy == "leader" else none, joint_name="leader"
    )
    builder.body(
        "b", "base", kt.Revolute("y"), mass_properties=box if heavy == "follower" else none,
        mimic=kt.Mimic("leader", 3.0, 0.2),
    )  # fmt: skip
    robot = builder.build()
    q, v, a = random_state(robot, np.random.default_rng(43), BATCH)
    tau = robot.inverse_dynamics(q, v, a)
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics(q, v, tau, method=method), a, 1e-12)
    assert_close(robot.inverse_mass_matrix(q) * robot.mass_matrix(q), np.ones((BATCH, 1, 1)), 1e-14)


# Matrices


@settings(max_examples=20)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_mass_matrix_and_its_inverse(seed, n, followers):
    robot, _, q, v, a = drawn(seed, n, followers=followers)
    m = robot.mass_matrix(q)
    assert_close(m, transpose(m), 1e-15)
    assert np.linalg.eigvalsh(m).min() > 0
    assert_close(m @ robot.inverse_mass_matrix(q), np.tile(np.eye(robot.nv), (BATCH, 1, 1)), conditioned(robot, q))
    inertial = robot.inverse_dynamics(q, v, a) - robot.bias_force(q, v)
    assert_close(times(m, a), inertial, 1e-11, scale=float(np.max(np.abs(robot.inverse_dynamics(q, v, a)))))
    assert_close(robot.kinetic_energy(q, v), 0.5 * np.einsum("bi,bij,bj->b", v, m, v), 1e-12)


@settings(max_examples=20)
@given(seed=seeds, n=sizes)
def test_factors_reproduce_the_mass_matrix_and_keep_the_zeros_of_branches(seed, n):
    robot, _, q, _, _ = drawn(seed, n)
    m = robot.mass_matrix(q)
    lower, d = robot.mass_matrix_factors(q)
    (root,) = robot.mass_matrix_factors(q, "LTL")
    assert_close(transpose(lower) @ (d[..., None] * lower), m, 1e-12)
    assert_close(transpose(root) @ root, m, 1e-12)
    assert np.all(d > 0)
    assert_close(np.diagonal(lower, axis1=-2, axis2=-1), np.ones((BATCH, robot.nv)), 1e-15)
    # a freedom may touch only its own joint and those that carry it
    owner = [i for i, joint in enumerate(robot.model.joints) for _ in range(joint.nv)]
    carries = np.array([[owner[j] in robot.model.support(owner[i]) for j in range(robot.nv)] for i in range(robot.nv)])
    allowed = carries & np.tri(robot.nv, dtype=bool)
    assert np.all(lower[:, ~allowed] == 0.0)
    assert np.all(root[:, ~allowed] == 0.0)
    assert np.all(m[:, ~(carries | carries.T)] == 0.0)


def test_factors_with_followers():
    robot = follower_robot()
    q, _, _ = random_state(robot, np.random.default_rng(44), BATCH)
    lower, d = robot.mass_matrix_factors(q)
    assert_close(transpose(lower) @ (d[..., None] * lower), robot.mass_matrix(q), 1e-13)


def test_unknown_factors():
    with pytest.raises(UnknownNameError, match="LTDL"):
        floating_pair().mass_matrix_factors(floating_pair().neutral(), "LU")


@settings(max_examples=15)
@given(seed=seeds, n=sizes, several=st.booleans(), axes=st.sampled_from(["body", "world", "aligned"]))
def test_operational_space_inertia(seed, n, several, axes):
    robot, rng, q, _, _ = drawn(seed, n, floating=True, followers=True)
    frames = [f"f{i}" for i in rng.choice(n, size=min(n, 2) if several else 1, replace=False)]
    stacked = np.concatenate([robot.jacobian(q, f, axes) for f in frames], axis=-2)
    compliance = stacked @ np.linalg.inv(robot.mass_matrix(q)) @ transpose(stacked)
    assert_close(robot.operational_space_inertia(q, frames, axes, inverse=True), compliance, 1e-9)
    one = frames[0] if len(frames) == 1 else frames
    if np.linalg.cond(compliance).max() < 1e8:
        assert_close(robot.operational_space_inertia(q, one, axes), np.linalg.inv(compliance), 1e-6)


def test_operational_space_inertia_of_a_free_body_is_its_own():
    box = kt.MassProperties.box(2.0, (0.1, 0.2, 0.3))
    robot = kt.Builder().body("a", "base", kt.Free(), mass_properties=box).build()
    q = robot.random_configuration(np.random.default_rng(45))
    assert_close(robot.operational_space_inertia(q, "a"), np.diag([*box.inertia[:3], 2, 2, 2]), 1e-13)


def test_operational_space_inertia_where_frames_cannot_move():
    robot = random_tree(np.random.default_rng(46), 1, ["revolute"])
    with pytest.raises(SingularError, match="inverse=True"):
        robot.operational_space_inertia([0.2], "f0")
    assert np.linalg.matrix_rank(robot.operational_space_inertia([0.2], "f0", inverse=True)) == 1


# Hybrid and floating-base dynamics


@settings(max_examples=20)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_hybrid_dynamics_is_consistent_with_both(seed, n, followers):
    robot, rng, q, v, a = drawn(seed, n, followers=followers)
    wrenches = loads(robot, rng)
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    motions, forces = {}, {}
    for joint in robot.model.joints:
        if joint.mimic:
            continue
        if rng.random() < 0.5:
            motions[joint.name] = a[:, joint.v_slice]
        else:
            forces[joint.name] = tau[:, joint.v_slice]
    found_a, found_tau = robot.hybrid_dynamics(q, v, a=motions, tau=forces, wrenches=wrenches)
    tolerance = conditioned(robot, q)
    assert_close(found_a, a, tolerance, scale=100.0)
    assert_close(found_tau, tau, tolerance, scale=float(np.max(np.abs(tau))) + 100.0)


def test_hybrid_dynamics_with_everything_given_is_inverse_or_forward():
    robot, _, q, v, a = drawn(47, 5)
    names = robot.joint_names
    tau = robot.inverse_dynamics(q, v, a)
    by_motion = robot.hybrid_dynamics(q, v, a={n: a[:, robot.joint(n).v_slice] for n in names})
    assert_close(by_motion[0], a, 1e-15)
    assert_close(by_motion[1], tau, 1e-12)
    by_force = robot.hybrid_dynamics(q, v, tau={n: tau[:, robot.joint(n).v_slice] for n in names})
    assert_close(by_force[0], a, conditioned(robot, q))
    assert_close(by_force[1], tau, 1e-15)


def test_hybrid_dynamics_takes_plain_numbers_and_fills_in_zero_forces():
    robot = floating_pair()
    q, v = robot.neutral(), np.zeros(robot.nv)
    a, tau = robot.hybrid_dynamics(q, v, a={"hinge": 2.0}, tau={"neck": [0.1, 0.2, 0.3]})
    assert a[-1] == 2.0
    assert_close(tau[:9], [0, 0, 0, 0, 0, 0, 0.1, 0.2, 0.3], 1e-15)
    assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-12)
    many, _ = robot.hybrid_dynamics(q, v, a={"hinge": [2.0, 3.0]}, tau={"neck": [0.1, 0.2, 0.3]})
    assert many.shape == (2, robot.nv)
    assert_close(many[0], a, 1e-14)


def test_hybrid_dynamics_allows_a_massless_leaf_whose_motion_is_given():
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    robot = builder.body("b", "a", kt.Revolute("z")).build()
    a, tau = robot.hybrid_dynamics([0, 0], [0, 0], a={"b_joint": 3.0}, tau={"a_joint": 2.0})
    assert_close(a, [2.0, 3.0], 1e-15)
    assert_close(tau, [2.0, 0.0], 1e-15, scale=1.0)
    with pytest.raises(SingularError, match="'b_joint'"):
        robot.hybrid_dynamics([0, 0], [0, 0], a={"a_joint": 3.0})


def test_hybrid_dynamics_refuses_contradictions():
    robot = follower_robot()
    state = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(kt.OptionError, match="'a_joint' is given both"):
        robot.hybrid_dynamics(*state, a={"a_joint": 1.0}, tau={"a_joint": 1.0})
    with pytest.raises(ModelError, match="follows 'a_joint'"):
        robot.hybrid_dynamics(*state, a={"b_joint": 1.0})
    with pytest.raises(UnknownNameError, match="did you mean 'a_joint'"):
        robot.hybrid_dynamics(*state, a={"a_jont": 1.0})
    with pytest.raises(ShapeError, match="'e_joint'"):
        robot.hybrid_dynamics(*state, a={"e_joint": [1.0, 2.0]})
    with pytest.raises(ShapeError, match="do not fit"):
        robot.hybrid_dynamics(*state, a={"a_joint": [1.0, 2.0]}, tau={"e_joint": np.zeros((3, 3))})


@settings(max_examples=15)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_floating_base_inverse_dynamics_balances_the_base(seed, n, followers):
    robot, rng, q, v, a = drawn(seed, n, floating=True, followers=followers)
    assert robot.is_floating
    wrenches = loads(robot, rng)
    base, tau = robot.floating_base_inverse_dynamics(q, v, a[:, 6:], wrenches)
    whole = robot.inverse_dynamics(q, v, np.concatenate([base, a[:, 6:]], axis=-1), wrenches)
    assert_close(whole[:, :6], np.zeros((BATCH, 6)), 1e-10, scale=float(np.max(np.abs(whole))) + 100.0)
    assert_close(tau, whole[:, 6:], 1e-10, scale=float(np.max(np.abs(whole))) + 100.0)


def test_floating_base_with_euler_angles():
    rng = np.random.default_rng(48)
    robot = random_tree(rng, 1, ["free_euler"])
    q, v, _ = random_state(robot, rng, BATCH)
    base, tau = robot.floating_base_inverse_dynamics(q, v, np.zeros((BATCH, 0)))
    assert tau.shape == (BATCH, 0)
    assert_close(base, robot.forward_dynamics(q, v, np.zeros((BATCH, 6))), 1e-10)


def test_floating_base_inverse_dynamics_allows_massless_leaves():
    builder = kt.Builder().body("a", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1))
    robot = builder.body("b", "a", kt.Revolute("z"), position=(1, 0, 0)).build()
    base, tau = robot.floating_base_inverse_dynamics(robot.neutral(), np.zeros(7), [4.0])
    assert_close(base, [0, 0, 0, 0, 0, -9.81], 1e-15)
    assert_close(tau, [0.0], 1e-15)


def test_floating_base_inverse_dynamics_needs_a_floating_base_with_inertia():
    fixed = random_tree(np.random.default_rng(49), 2, ["revolute"])
    with pytest.raises(ModelError, match="floating_base=True"):
        fixed.floating_base_inverse_dynamics(fixed.neutral(), np.zeros(2), [])
    massless = kt.Builder().body("a", "base", kt.Free(), joint_name="root").build()
    with pytest.raises(SingularError, match="'root'"):
        massless.floating_base_inverse_dynamics(massless.neutral(), np.zeros(6), [])


# Massless links


def test_massless_link_in_the_middle_is_allowed():
    rng = np.random.default_rng(50)
    builder = kt.Builder().body("a", "base", kt.Revolute("x"))
    builder.body("b", "a", kt.Revolute("y"), position=(0, 0, 0.1))
    builder.body("c", "b", kt.Revolute("z"), mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
    robot = builder.build()
    q, v, a = random_state(robot, rng, BATCH)
    tau = robot.inverse_dynamics(q, v, a)
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics(q, v, tau, method=method), a, 1e-10)


@pytest.mark.parametrize("kind", LEAVES, ids=str)
def test_massless_leaf_is_refused_by_name(kind):
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    robot = builder.body("leaf", "a", kind, joint_name="loose").build()
    state = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    for method in FORWARD_METHODS:
        with pytest.raises(SingularError, match=r"'loose' moves body 'leaf'.*armature"):
            robot.forward_dynamics(*state, method=method)
    for call in (robot.inverse_mass_matrix, robot.mass_matrix_factors):
        with pytest.raises(SingularError, match="'loose'"):
            call(state[0])
    assert_close(robot.inverse_dynamics(*state), np.zeros(robot.nv), scale=1.0)  # this needs no inertia


def test_point_mass_on_a_ball_joint_has_no_inertia_about_its_own_line():
    robot = kt.Builder().body("a", "base", kt.Spherical(), mass=1.0, com=(0, 0, -1)).build()
    with pytest.raises(SingularError, match="'a_joint'"):
        robot.forward_dynamics(robot.neutral(), np.zeros(3), np.zeros(3))


def test_rotor_inertia_saves_a_massless_leaf():
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    robot = builder.body("b", "a", kt.Revolute("x"), rotor_inertia=0.1, gear_ratio=2).build()
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics([0, 0], [0, 0], [1, 1], method=method), [1.0, 2.5], 1e-14)


def test_unmerged_welds_change_nothing_but_show_their_forces():
    builder = kt.Builder().body("a", "base", kt.Revolute("x"), mass=1.0, com=(0, 0.1, 0.2), inertia=(0.1, 0.1, 0.1))
    builder.body("weld", "a", kt.Fixed(), position=(0, 0.3, 0), mass=2.0, inertia=(0.2, 0.2, 0.2))
    builder.body(
        "b", "weld", kt.Revolute("y"), position=(0.1, 0, 0), mass=1.0, com=(0, 0, 0.4), inertia=(0.1, 0.1, 0.1)
    )
    merged, apart = builder.build(), kt.Robot(builder.model(merge_fixed=False))
    q, v, a = random_state(merged, np.random.default_rng(51), BATCH)
    tau = merged.inverse_dynamics(q, v, a)
    assert_close(apart.inverse_dynamics(q, v, a), tau, 1e-14)
    for method in FORWARD_METHODS:
        assert_close(apart.forward_dynamics(q, v, tau, method=method), a, 1e-10)
    assert_close(apart.inverse_mass_matrix(q), merged.inverse_mass_matrix(q), 1e-12)
    assert_close(apart.coriolis_matrix(q, v), merged.coriolis_matrix(q, v), 1e-13)
    lower, d = apart.mass_matrix_factors(q)
    assert_close(transpose(lower) @ (d[..., None] * lower), merged.mass_matrix(q), 1e-13)
    bearing = apart.joint_wrenches(q, v, a, bearings_only=True)
    assert_close(bearing[:, 1], apart.joint_wrenches(q, v, a)[:, 1], 1e-15)  # a weld carries everything


# Friction


def test_friction_is_added_and_subtracted():
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1), damping=0.5, friction=0.2)
    robot = builder.body(
        "b", "a", kt.Universal("XY"), mass=1, inertia=(1, 1, 1), damping=(1, 2), friction=(3, 4)
    ).build()
    q, v, a = random_state(robot, np.random.default_rng(52), BATCH)
    v[0] = 0.0
    force = v * [0.5, 1, 2] + np.sign(v) * [0.2, 3, 4]
    assert_close(robot.friction_force(v), force, 1e-15)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    assert_close(tau, robot.inverse_dynamics(q, v, a) + force, 1e-15)
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics(q, v, tau, friction=True, method=method), a, 1e-11)

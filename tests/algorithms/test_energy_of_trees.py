"""Energy, power, Coriolis terms and reaction forces against Newton's laws and numerical derivatives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import kinetree as kt
from helpers.compare import assert_close, rate, times, transpose
from helpers.robots import KINDS, random_state, random_tree
from kinetree.evaluation import compiler

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)
BATCH = 4


def drawn(seed: int, n: int, **options) -> tuple[kt.Robot, np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, **options)
    return robot, rng, *random_state(robot, rng, BATCH)


# Energy of single bodies, from their masses and the robot's kinematics alone


def body_energies(robot: kt.Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kinetic, potential = np.zeros(len(q)), np.zeros(len(q))
    for body in robot.model.bodies:
        mass = body.mass_properties
        w = robot.velocity(q, v, body.name)[..., :3]
        u = robot.point_velocity(q, v, body.name, mass.com)
        kinetic += 0.5 * mass.mass * np.sum(u * u, axis=-1) + 0.5 * np.sum(w * (w @ mass.inertia_matrix), axis=-1)
        potential -= mass.mass * robot.point_position(q, body.name, mass.com) @ robot.gravity
    return kinetic, potential


@settings(max_examples=15)
@given(seed=seeds, n=sizes)
def test_energies_are_sums_over_bodies(seed, n):
    robot, _, q, v, _ = drawn(seed, n, armature=False, followers=True)
    kinetic, potential = body_energies(robot, q, v)
    assert_close(robot.kinetic_energy(q, v), kinetic, 1e-12)
    assert_close(robot.potential_energy(q), potential, 1e-12, scale=float(np.max(np.abs(potential))) + 1.0)


def test_rotors_carry_kinetic_energy():
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, rotor_inertia=0.01, gear_ratio=10)
    robot = builder.body("b", "a", kt.Prismatic("z"), mass=1.0, rotor_inertia=2.0, gear_ratio=0.5).build()
    assert_close(robot.kinetic_energy([0, 0], [3.0, 4.0]), 0.5 * 1.0 * 9 + 0.5 * (1.0 + 0.5) * 16, 1e-15)


# Power balance: what goes in is what the energy gains


def world_loads(robot: kt.Robot, rng: np.random.Generator) -> tuple[dict, list]:
    """Forces at points, in world axes; and the same as plain data (frame, point, force, moment)."""
    wrenches, plain = {}, []
    for i in range(len(robot.body_names)):
        force, moment, point = rng.uniform(-9, 9, (3, BATCH, 3))
        wrenches[f"f{i}"] = kt.Wrench(force, moment, 0.05 * point, axes="world")
        plain.append((f"f{i}", 0.05 * point, force, moment))
    return wrenches, plain


@settings(max_examples=20)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_power_is_the_rate_of_energy_along_random_motions(seed, n, followers):
    robot, rng, q, v, a = drawn(seed, n, followers=followers)
    wrenches, plain = world_loads(robot, rng)
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    gained = rate(lambda q, v: robot.kinetic_energy(q, v) + robot.potential_energy(q), robot, q, v, a)
    supplied = np.sum(tau * v, axis=-1)
    for frame, point, force, moment in plain:
        supplied = supplied + np.sum(force * robot.point_velocity(q, v, frame, point), axis=-1)
        supplied = supplied + np.sum(moment * robot.velocity(q, v, frame, "aligned")[..., :3], axis=-1)
    scale = float(np.max(np.abs(tau))) * 10
    assert_close(supplied, gained, 1e-9, scale=scale)
    assert_close(robot.power(q, v, tau, wrenches), supplied, 1e-12, scale=scale)


@pytest.mark.parametrize("axes", ["body", "world"])
@pytest.mark.parametrize("point_axes", ["body", "world"])
def test_wrenches_do_virtual_work(axes, point_axes):
    """tau falls by J^T f, whatever way the wrench is given."""
    for seed in range(5):
        robot, rng, q, v, a = drawn(seed, 4)
        frame = f"f{rng.integers(4)}"
        force, moment, point = rng.uniform(-9, 9, (3, BATCH, 3))
        pose = robot.pose(q, frame)
        turn, origin = pose[..., :3, :3], pose[..., :3, 3]
        arm = times(turn, point) if point_axes == "body" else point - origin
        world_force, world_moment = (force, moment) if axes == "world" else (times(turn, force), times(turn, moment))
        at_origin = np.concatenate([world_moment + np.cross(arm, world_force), world_force], axis=-1)
        expected = times(transpose(robot.jacobian(q, frame, "aligned")), at_origin)
        wrench = {frame: kt.Wrench(force, moment, point, axes, point_axes)}
        found = robot.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a, wrench)
        assert_close(found, expected, 1e-11, scale=float(np.max(np.abs(robot.inverse_dynamics(q, v, a, wrench)))))


def test_three_forms_of_the_same_wrench():
    robot, rng, q, v, a = drawn(3, 3)
    moment, force = rng.uniform(-9, 9, (2, BATCH, 3))
    six = np.concatenate([moment, force], axis=-1)
    rows = np.zeros((BATCH, 3, 6))
    rows[:, 1] = six
    expected = robot.inverse_dynamics(q, v, a, {"b1": six})
    for wrenches in ({"b1": kt.Wrench(force, moment)}, rows, {"b1": [kt.Wrench(force), kt.Wrench(moment=moment)]}):
        assert_close(robot.inverse_dynamics(q, v, a, wrenches), expected, 1e-13)
    bias = robot.bias_force(q, v, {"b1": six})
    assert_close(bias, robot.inverse_dynamics(q, v, np.zeros_like(a), {"b1": six}), 1e-15)


def test_wrench_on_the_ground_does_nothing():
    robot, _, q, v, a = drawn(4, 3)
    np.testing.assert_array_equal(
        robot.inverse_dynamics(q, v, a, {"base": [1, 2, 3, 4, 5, 6]}), robot.inverse_dynamics(q, v, a)
    )


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_wrench_on_the_ground_is_read_like_any_other(backend):
    """It must make sense, and its batch counts."""
    robot, rng, q, v, a = drawn(4, 3)
    robot = robot.with_backend(backend)
    push = kt.Wrench(rng.standard_normal((BATCH, 3)), axes="world")
    for load in (push, rng.standard_normal((BATCH, 6))):
        for name in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"):
            alone = np.asarray(getattr(robot, name)(q[0], v[0], a[0]))
            found = np.asarray(getattr(robot, name)(q[0], v[0], a[0], {"base": load}))
            for lane in range(BATCH):
                state = found[:, lane] if name.endswith("derivatives") else found[lane]
                assert_close(state, alone, 1e-12)
    for nonsense in ("push", None, [1.0, 2.0]):
        with pytest.raises(kt.ShapeError, match="the wrench on 'base'"):
            robot.inverse_dynamics(q, v, a, {"base": nonsense})


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_infinite_wrenches_pass_without_a_warning(name):
    robot, rng, q, v, a = drawn(4, 3)
    force, point = rng.standard_normal((2, BATCH, 3))
    fine = np.asarray(getattr(robot, name)(q, v, a, {"b2": kt.Wrench(force, point=point, axes="world")}))
    force[1], point[2, 0] = np.inf, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = np.asarray(getattr(robot, name)(q, v, a, {"b2": kt.Wrench(force, point=point, axes="world")}))
    assert not np.isfinite(found[0, 1]).all()
    assert not np.isfinite(found[0, 2]).all()
    np.testing.assert_array_equal(np.delete(found, (1, 2), 1), np.delete(fine, (1, 2), 1))


def test_energy_is_kept_when_nothing_is_supplied():
    """Half a second of free motion of a floating tree with ball, universal and helical joints."""
    rng = np.random.default_rng(60)
    robot = random_tree(rng, 4, ["spherical", "universal", "helical"], floating=True)
    q, v, _ = random_state(robot, rng)

    def motion(_, y):
        q, v = robot.normalize(y[: robot.nq]), y[robot.nq :]
        a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
        return np.concatenate([robot.configuration_rate(q, v), a])

    path = solve_ivp(motion, (0, 0.5), np.concatenate([q, v]), "DOP853", rtol=1e-10, atol=1e-11)
    q, v = robot.normalize(path.y[: robot.nq].T), path.y[robot.nq :].T
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert_close(energy, np.full_like(energy, energy[0]), 1e-8, scale=float(robot.kinetic_energy(q, v).max()))
    assert np.ptp(robot.kinetic_energy(q, v)) > 1.0


# Coriolis matrix


@settings(max_examples=20)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_coriolis_matrix(seed, n, followers):
    robot, _, q, v, _ = drawn(seed, n, followers=followers)
    c = robot.coriolis_matrix(q, v)
    m_rate = rate(lambda q, v: robot.mass_matrix(q), robot, q, v)
    twice = m_rate - 2 * c
    size = float(np.max(np.abs(c))) + 1.0
    assert_close(twice + transpose(twice), np.zeros_like(c), 1e-10, scale=size)
    bias, weight = robot.bias_force(q, v), robot.gravity_force(q)
    assert_close(times(c, v) + weight, bias, 1e-11, scale=float(np.max(np.abs(bias))) + 1.0)


@settings(max_examples=10)
@given(seed=seeds, n=sizes)
def test_coriolis_matrix_is_that_of_christoffel(seed, n):
    """Of all matrices with these two properties it is the one that differentiating M gives."""
    kinds = [k for k in KINDS if k not in ("spherical", "free")]  # v must be the rate of coordinates
    robot, _, q, v, _ = drawn(seed, n, kinds=kinds, followers=True)
    slopes = [rate(lambda q, v: robot.mass_matrix(q), robot, q, np.tile(e, (BATCH, 1))) for e in np.eye(robot.nv)]
    dm = np.stack(slopes, axis=-1)  # dM_ij / dq_k
    symbols = 0.5 * (dm + np.swapaxes(dm, -1, -2) - np.moveaxis(dm, -1, -3))
    expected = np.einsum("bijk,bk->bij", symbols, v)
    assert_close(robot.coriolis_matrix(q, v), expected, 1e-10, scale=float(np.max(np.abs(expected))) + 10.0)


def test_coriolis_matrix_is_linear_in_velocity():
    robot, _, q, v, _ = drawn(61, 5)
    assert_close(robot.coriolis_matrix(q, -2 * v), -2 * robot.coriolis_matrix(q, v), 1e-12)
    assert np.all(robot.coriolis_matrix(q, 0 * v) == 0.0)


@settings(max_examples=15)
@given(seed=seeds, n=sizes)
def test_gravity_force_is_the_gradient_of_potential_energy(seed, n):
    robot, _, q, _, _ = drawn(seed, n, followers=True)
    weight = robot.gravity_force(q)
    for k in range(robot.nv):
        along = np.zeros((BATCH, robot.nv))
        along[:, k] = 1.0
        slope = rate(lambda q, v: robot.potential_energy(q), robot, q, along)
        assert_close(weight[:, k], slope, 1e-10, scale=100.0)


def test_gravity_may_point_anywhere_and_change():
    robot, _, q, v, a = drawn(62, 4)
    weightless = robot.with_gravity((0, 0, 0))
    assert np.all(weightless.gravity_force(q) == 0.0)
    assert np.all(weightless.potential_energy(q) == 0.0)
    parts = sum(robot.with_gravity(g).gravity_force(q) for g in ((1, 0, 0), (0, -2, 0), (0, 0, 3)))
    assert_close(robot.with_gravity((1, -2, 3)).gravity_force(q), parts, 1e-12)
    difference = robot.inverse_dynamics(q, v, a) - weightless.inverse_dynamics(q, v, a)
    assert_close(difference, robot.gravity_force(q), 1e-11)


# Reaction wrenches


@settings(max_examples=20)
@given(seed=seeds, n=sizes, followers=st.booleans())
def test_joint_wrenches_obey_newton_and_euler_body_by_body(seed, n, followers):
    robot, rng, q, v, a = drawn(seed, n, followers=followers, gravity=(1, 2, -9))
    wrenches, plain = world_loads(robot, rng)
    reaction = robot.joint_wrenches(q, v, a, wrenches)
    assert reaction.shape == (BATCH, n, 6)
    poses = [robot.pose(q, name) for name in robot.body_names]

    def in_world(i: int, about: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Force and moment about a point that joint i puts on body i, in world axes."""
        turn, origin = poses[i][..., :3, :3], poses[i][..., :3, 3]
        force = times(turn, reaction[:, i, 3:])
        return force, times(turn, reaction[:, i, :3]) + np.cross(origin - about, force)

    for i, body in enumerate(robot.model.bodies):
        mass = body.mass_properties
        com = robot.point_position(q, body.name, mass.com)
        force, moment = in_world(i, com)
        for child in robot.model.children[i]:
            f, m = in_world(child, com)
            force, moment = force - f, moment - m
        frame, point, f, m = plain[i]
        arm = robot.point_position(q, frame, point) - com
        force, moment = force + f + mass.mass * robot.gravity, moment + m + np.cross(arm, f)
        turn = poses[i][..., :3, :3]
        inertia = turn @ mass.inertia_matrix @ transpose(turn)
        w = robot.velocity(q, v, body.name, "aligned")[..., :3]
        w_dot = robot.acceleration(q, v, a, body.name, "aligned")[..., :3]
        size = float(np.max(np.abs(reaction))) + 1.0
        assert_close(force, mass.mass * robot.point_acceleration(q, v, a, body.name, mass.com), 1e-11, scale=size)
        assert_close(moment, times(inertia, w_dot) + np.cross(w, times(inertia, w)), 1e-11, scale=size)


@settings(max_examples=15)
@given(seed=seeds, n=sizes)
def test_bearings_carry_nothing_along_the_freedom(seed, n):
    robot, _, q, v, a = drawn(seed, n, armature=False)
    total = robot.joint_wrenches(q, v, a)
    bearing = robot.joint_wrenches(q, v, a, bearings_only=True)
    tau = robot.inverse_dynamics(q, v, a)
    for i, joint in enumerate(robot.model.joints):
        own = [q[:, k] for k in range(joint.q_slice.start, joint.q_slice.stop)]
        s = np.array([[np.broadcast_to(x, BATCH) for x in column] for column in joint.kind.subspace(own)])
        s = np.moveaxis(s, -1, 0)  # (batch, nv, 6)
        size = float(np.max(np.abs(total))) + 1.0
        assert_close(times(s, bearing[:, i]), np.zeros((BATCH, joint.nv)), 1e-11, scale=size)
        assert_close(times(s, total[:, i]), tau[:, joint.v_slice], 1e-11, scale=size)
        # what was taken away lies along the freedom: nothing is left of it outside the span of S
        taken = total[:, i] - bearing[:, i]
        outside = taken - times(np.linalg.pinv(s) @ s, taken)
        assert_close(outside, np.zeros_like(taken), 1e-10, scale=size)


def test_bearing_of_a_turning_bar_by_hand():
    """A bar swung in the horizontal plane: the hinge pulls it inwards and holds its weight."""
    robot = kt.Builder().body("bar", "base", kt.Revolute("z"), mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)).build()
    total = robot.joint_wrenches([0.7], [3.0], [4.0])[0]
    bearing = robot.joint_wrenches([0.7], [3.0], [4.0], bearings_only=True)[0]
    assert_close(total, [0, -2 * 9.81 * 0.5, (0.1 + 0.5) * 4, -2 * 0.5 * 9, 2 * 0.5 * 4, 2 * 9.81], 1e-14)
    assert_close(bearing, total * [1, 1, 0, 1, 1, 1], 1e-14)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_robot_that_cannot_move_has_empty_answers(tmp_path, backend):
    """The axes of empty answers were lost, and its no wrenches were one argument too many."""
    file = tmp_path / "block.urdf"
    file.write_text('<robot name="block"><link name="block"/></robot>')
    with pytest.warns(kt.ModelWarning, match="no moving joints"):
        robot = kt.load(file).with_backend(backend)
    for batch in ((), (3,)):
        state = np.zeros((3, *batch, 0))
        for wrenches in (None, {}, np.zeros((0, 6)), {"block": np.ones(6)}):
            for name, shape in (("inverse_dynamics", (0,)), ("forward_dynamics", (0,)), ("joint_wrenches", (0, 6))):
                assert getattr(robot, name)(*state, wrenches).shape == (*batch, *shape)
            for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
                assert [m.shape for m in getattr(robot, name)(*state, wrenches)] == [(*batch, 0, 0)] * 3
        assert robot.operational_space_inertia(state[0], [], inverse=True).shape == (*batch, 0, 0)


@pytest.mark.parametrize("largest", [110, 0])
def test_no_frames_have_a_matrix_of_no_rows(largest, monkeypatch):
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", largest)
    robot, _, q, _, _ = drawn(4, 3)
    for any_robot in (robot, robot.with_backend("compiled")):
        for inverse in (True, False):
            assert any_robot.operational_space_inertia(q, [], inverse=inverse).shape == (BATCH, 0, 0)
            assert any_robot.operational_space_inertia(q[0], [], inverse=inverse).shape == (0, 0)

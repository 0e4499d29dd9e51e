"""Trees so large that their code is loops: structure, limits, and chains of hundreds and thousands of links."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.large_trees import chain, pinocchio_model, separate
from helpers.robots import random_state, random_tree
from kinetree.algorithms.table import find
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.evaluation import compiler
from kinetree.evaluation.large_trees.schedule import roll
from kinetree.evaluation.large_trees.tree import LoopedTree


@pytest.fixture
def always_rolled(monkeypatch):
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)


def _com_velocity(pinocchio, model, data, q, v):
    pinocchio.centerOfMass(model, data, q, v)
    return data.vcom[0]


def operations(robot, name):
    """Operations of all steps of a loop."""
    algorithm = find(name)
    layouts = ["q" if x == "q" else "v" for x in algorithm.inputs]
    steps = roll(algorithm.function, robot.model, layouts, {}).steps
    return sum(1 for s in steps for i in s.graph.reachable(s.outputs) if s.graph.args[i])


def _reach(robot):
    x, found = 0.0, []
    for joint, body in zip(robot.model.joints, robot.model.bodies, strict=True):
        x += joint.placement.position[0]
        found.append(x + body.mass_properties.com[0])
    return found


def test_links_of_which_hardly_two_look_alike(always_rolled, monkeypatch):
    kinds = ["revolute", "prismatic", "helical", "cylindrical"]
    robot = random_tree(np.random.default_rng(2), 30, kinds)
    alike = len(LoopedTree(robot.model).groups)
    state = random_state(robot, np.random.default_rng(0), 3)
    large = robot.with_backend("compiled")
    assert_close(large.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-12)
    assert_close(large.mass_matrix(state[0]), robot.mass_matrix(state[0]), 1e-12)
    monkeypatch.setattr("kinetree.evaluation.large_trees.groups.MOST_LOOKS", 1000)
    assert alike <= 5 * len(kinds) < len(LoopedTree(robot.model).groups)


def test_matrices_of_a_long_chain():
    robot = chain(150)
    compiled_robot = robot.with_backend("compiled")
    q = robot.random_configuration(0)
    expected = robot.mass_matrix(q)
    assert_close(compiled_robot.mass_matrix(q), expected, 1e-13)
    assert_close(compiled_robot.inverse_mass_matrix(q), np.linalg.inv(expected), 1e-8)


def test_pinocchio_judges_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")
    robot = chain(130).with_backend("compiled")
    model = pinocchio_model(pinocchio, robot)
    data = model.createData()
    q, v = np.random.default_rng(5).uniform(-1.0, 1.0, (2, robot.nv))
    matrix = pinocchio.crba(model, data, q)
    assert_close(robot.mass_matrix(q), np.triu(matrix) + np.triu(matrix, 1).T, 1e-12)
    assert_close(robot.kinetic_energy(q, v), pinocchio.computeKineticEnergy(model, data, q, v), 1e-12)
    assert_close(robot.potential_energy(q), pinocchio.computePotentialEnergy(model, data, q), 1e-12)
    assert_close(robot.gravity_force(q), pinocchio.computeGeneralizedGravity(model, data, q), 1e-12)
    assert_close(robot.center_of_mass(q), pinocchio.centerOfMass(model, data, q), 1e-12)
    assert_close(robot.center_of_mass_velocity(q, v), _com_velocity(pinocchio, model, data, q, v), 1e-12)
    momentum = pinocchio.computeCentroidalMomentum(model, data, q, v)
    assert_close(robot.momentum(q, v), np.concatenate([momentum.angular, momentum.linear]), 1e-12)


def test_algorithms_that_are_not_loops_still_work(monkeypatch):
    monkeypatch.setattr(compiler, "LONGEST_CODE", 20_000)
    robot = chain(115)
    compiled_robot = robot.with_backend("compiled")
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 115))
    # other ways to the accelerations are matrices, not loops
    with pytest.warns(kt.KinetreeWarning, match="forward_dynamics .* by 'composite_body' .* the slower reference"):
        solved = compiled_robot.forward_dynamics(q, v, a, method="composite_body")
    assert not compiled_robot.evaluator.compiler.handles("forward_dynamics", {"method": "composite_body"})
    assert_close(solved, robot.forward_dynamics(q, v, a), 1e-7)


def test_what_is_the_same_for_all_bodies_is_not_computed():
    robot = chain(120)
    assert operations(robot, "gravity_force") < 0.5 * operations(robot, "bias_force")  # nothing turns
    builder = kt.Builder("planar chain")
    for i in range(120):
        box = kt.MassProperties.of(0.5 + 0.001 * i, (0.05, 0.01, 0), (0.001, 0.002, 0.002))
        builder.body(f"l{i}", f"l{i - 1}" if i else "base", kt.Revolute("z"), position=(0.1, 0, 0), mass_properties=box)
    planar = builder.build()
    assert operations(planar, "bias_force") < 0.3 * operations(robot, "bias_force")  # about one axis of three
    q, v, _ = random_state(planar, np.random.default_rng(3), 5)
    assert_close(planar.with_backend("compiled").bias_force(q, v), planar.bias_force(q, v), 1e-12)


def test_what_nobody_asks_for_is_not_computed():
    robot = chain(120)
    # the angular part of the momentum, the second moments, the accelerations behind a velocity
    assert operations(robot, "center_of_mass_velocity") < 0.8 * operations(robot, "momentum_rate")
    assert operations(robot, "center_of_mass") < 0.4 * operations(robot, "center_of_mass_velocity")


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "semi_implicit_euler"])
def test_simulating_a_large_tree(integrator, always_rolled):
    robot = random_tree(np.random.default_rng(8), 6, ["revolute", "spherical", "cylindrical"], floating=True)
    q, v, _ = random_state(robot, np.random.default_rng(0))
    options = {} if integrator == "dop853" else {"step": 2e-3}
    runs = [
        kt.simulate(r, q, v, time=0.02, integrator=integrator, samples=5, **options)
        for r in (robot.with_backend("compiled"), robot)
    ]
    assert_close(runs[0].q[-1], runs[1].q[-1], 1e-9)
    assert_close(runs[0].v[-1], runs[1].v[-1], 1e-9)
    for part in ("kinetic", "potential", "total"):
        assert_close(getattr(runs[0].energy, part), getattr(runs[1].energy, part), 1e-9)


def test_simulating_a_chain_with_a_controller():
    robot = chain(115).with_backend("compiled")
    servo = kt.control.Law(lambda t, q, v: [-0.05 * x for x in v])
    record = kt.simulate(robot, np.full(115, 0.01), time=0.01, controller=servo)
    assert record.energy.relative_error < 1e-7
    assert np.all(np.diff(record.energy.actuators) <= 0.0)
    again = kt.simulate(robot, np.full(115, 0.01), time=0.01, controller=lambda t, q, v: -0.05 * v)
    assert_close(record.q[-1], again.q[-1], 1e-9)


@pytest.mark.thorough
def test_ten_thousand_links():
    robot = chain(10_000).with_backend("compiled")
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-0.01, 0.01, (3, 2, 10_000))
    tau = robot.inverse_dynamics(q, v, a)
    assert np.isfinite(tau).all()
    # stretched out and still, the second hinge (about y) carries the moment of all that hangs behind it
    held = robot.inverse_dynamics(np.zeros(10_000), np.zeros(10_000), np.zeros(10_000))
    where = _reach(robot)
    hinge = sum(j.placement.position[0] for j in robot.model.joints[:2])
    moment = sum(9.81 * b.mass * (x - hinge) for b, x in zip(robot.model.bodies[1:], where[1:], strict=True))
    assert abs(held[1] + moment) < 1e-9 * moment


def test_configurations_are_checked(always_rolled):
    robot = random_tree(np.random.default_rng(9), 8, ["revolute", "spherical", "spherical_euler"])
    robot = robot.with_backend("compiled")
    ball = [j for j in robot.model.joints if j.kind.quaternion is not None][-1]
    euler = [j for j in robot.model.joints if isinstance(j.kind, kt.EulerSpherical)][-1]
    q = random_state(robot, np.random.default_rng(0), 5)[0]
    robot.potential_energy(q)
    bad = q.copy()
    bad[3, ball.q_slice] *= 1.001
    bad[:, 0] = np.nan  # hides nothing
    with pytest.raises(kt.StateError, match=rf"joint '{ball.name}' .*batch index 3"):
        robot.potential_energy(bad)
    assert_close(robot.normalize(bad)[:, 1:], q[:, 1:], 1e-12)
    bad[2, ball.q_slice] = 0.0
    with pytest.raises(kt.StateError, match=rf"joint '{ball.name}' is zero \(batch index 2\)"):
        robot.normalize(bad)
    locked = q.copy()
    locked[4, euler.q_slice.start + 1] = 0.0 if euler.kind.sequence[0] == euler.kind.sequence[2] else np.pi / 2
    with pytest.warns(kt.SingularityWarning, match=rf"'{euler.name}' .*batch index 4"):
        robot.potential_energy(locked)


def test_code_that_is_at_hand_is_not_watched_for_being_compiled(monkeypatch):
    """The watch starts a thread, which takes longer than the call itself."""
    robot = chain(120).with_backend("compiled")
    q = np.zeros(robot.nv)
    for state in (q, q[None]):
        robot.gravity_force(state), robot.mass_matrix(state)
    monkeypatch.setattr("kinetree.io.progress._LateBar", lambda *_: pytest.fail("watched"))
    for state in (q, q[None]):
        robot.gravity_force(state), robot.mass_matrix(state)


def test_what_bearings_carry(always_rolled):
    reference = random_tree(np.random.default_rng(5), 7)
    state = random_state(reference, np.random.default_rng(0), 4)
    found = reference.with_backend("compiled").joint_wrenches(*state, bearings_only=True)
    assert_close(found, reference.joint_wrenches(*state, bearings_only=True), 1e-12)


def test_inertia_felt_at_frames(always_rolled):
    reference = random_tree(np.random.default_rng(1), 9, floating=True)
    robot = reference.with_backend("compiled")
    q = random_state(robot, np.random.default_rng(0), (2, 3))[0]
    for frames, axes in (("f7", "body"), (["f7", "f2"], "aligned"), (["f4", "base"], "world")):
        found = robot.operational_space_inertia(q, frames, axes, inverse=True)
        assert_close(found, reference.operational_space_inertia(q, frames, axes, inverse=True), 1e-12)
        assert np.array_equal(found, np.swapaxes(found, -1, -2))
        assert np.array_equal(robot.operational_space_inertia(q[1, 1], frames, axes, inverse=True), found[1, 1])
    found = robot.operational_space_inertia(q, "f7")
    assert_close(found, reference.operational_space_inertia(q, "f7"), 1e-9)


def test_pinocchio_judges_derivatives_of_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")
    robot = chain(150).with_backend("compiled")
    model = pinocchio_model(pinocchio, robot)
    data = model.createData()
    q, v, a = np.random.default_rng(5).uniform(-1.0, 1.0, (3, robot.nv))
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(q, v, a)
    expected = pinocchio.computeRNEADerivatives(model, data, q, v, a)
    assert_close(by_q, expected[0], 1e-12)
    assert_close(by_v, expected[1], 1e-12)
    assert_close(by_a, np.triu(expected[2]) + np.triu(expected[2], 1).T, 1e-12)
    tau = robot.inverse_dynamics(q, v, a)
    expected = pinocchio.computeABADerivatives(model, data, q, v, tau)
    for found, judge in zip(robot.forward_dynamics_derivatives(q, v, tau)[:2], expected[:2], strict=True):
        assert_close(found, judge, 1e-8)
    matrix = robot.coriolis_matrix(q, v)
    assert_close(matrix, pinocchio.computeCoriolisMatrix(model, data, q, v), 1e-12)


def test_the_coriolis_matrix_of_a_long_chain():
    robot = chain(400).with_backend("compiled")
    q, v = np.random.default_rng(5).uniform(-1.0, 1.0, (2, robot.nv))
    force = robot.bias_force(q, v) - robot.gravity_force(q)
    assert_close(robot.coriolis_matrix(q, v) @ v, force, 1e-11)


def test_factors_of_a_long_chain():
    robot = chain(300).with_backend("compiled")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, 300)
    lower, d = robot.mass_matrix_factors(q)
    assert np.array_equal(lower, np.tril(lower))
    assert_close(lower.T @ (d[:, None] * lower), robot.mass_matrix(q), 1e-12)


CALLS = {
    "pose": lambda r, q, v, a, frame, axes, **o: r.pose(q, frame, **o),
    "velocity": lambda r, q, v, a, frame, axes, **o: r.velocity(q, v, frame, axes, **o),
    "acceleration": lambda r, q, v, a, frame, axes, **o: r.acceleration(q, v, a, frame, axes, **o),
    "jacobian": lambda r, q, v, a, frame, axes, **o: r.jacobian(q, frame, axes, **o),
    "jacobian_rate": lambda r, q, v, a, frame, axes, **o: r.jacobian_rate(q, v, frame, axes, **o),
}


def test_frames_of_the_base_do_not_move(always_rolled):
    robot = random_tree(np.random.default_rng(3), 5).with_frame("stand", "base", (1.0, 2.0, 3.0))
    robot = robot.with_backend("compiled")
    state = random_state(robot, np.random.default_rng(0), 2)
    assert np.array_equal(robot.pose(state[0], "stand")[:, :3, 3], [[1.0, 2.0, 3.0]] * 2)
    for name in ("velocity", "acceleration", "jacobian", "jacobian_rate"):
        assert not CALLS[name](robot, *state, "stand", "world").any()


def test_pinocchio_judges_frames_of_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")
    robot = chain(150).with_backend("compiled")
    model = pinocchio_model(pinocchio, robot)
    data = model.createData()
    q, v = np.random.default_rng(5).uniform(-1.0, 1.0, (2, robot.nv))
    pinocchio.computeJointJacobiansTimeVariation(model, data, q, v)
    way = {"body": pinocchio.LOCAL, "world": pinocchio.WORLD, "aligned": pinocchio.LOCAL_WORLD_ALIGNED}
    swapped = [3, 4, 5, 0, 1, 2]
    assert_close(robot.pose(q, "l139"), data.oMi[140].homogeneous, 1e-12)
    for axes, other in way.items():
        expected = pinocchio.getJointJacobian(model, data, 140, other)[swapped]
        assert_close(robot.jacobian(q, "l139", axes), expected, 1e-12)
        expected = pinocchio.getJointJacobianTimeVariation(model, data, 140, other)[swapped]
        assert_close(robot.jacobian_rate(q, v, "l139", axes), expected, 1e-12)
        assert_close(robot.velocity(q, v, "l139", axes), robot.jacobian(q, "l139", axes) @ v, 1e-12)


def test_short_paths_of_wide_trees_are_straight_code():
    builder = kt.Builder("brush")
    for i in range(130):
        builder.body(f"b{i}", "base" if i < 10 else f"b{i - 10}", kt.Revolute("xyz"[i % 3]), position=(0.1, 0, 0.2))
    robot = builder.build()
    large = robot.with_backend("compiled")
    state = random_state(robot, np.random.default_rng(0), 3)
    for name, call in CALLS.items():
        assert_close(call(large, *state, "b128", "aligned"), call(robot, *state, "b128", "aligned"), 1e-12)
        assert_close(call(large, *state, "b128", "aligned"), call(robot, *state, "b128", "aligned"), 1e-12)
        kernels = [k for key, k in large.evaluator.compiler._kernels.items() if key[0] == name]
        assert not any(isinstance(k, RolledKernel) for k in kernels)


def test_few_frames_are_remembered(always_rolled, monkeypatch):
    monkeypatch.setattr(compiler, "MOST_FRAMES", 3)
    reference = random_tree(np.random.default_rng(2), 8, ["revolute"])
    robot = reference.with_backend("compiled")
    q = random_state(robot, np.random.default_rng(0))[0]
    for name in [*robot.body_names, *robot.body_names[:2]]:
        assert_close(robot.pose(q, name), reference.pose(q, name), 1e-13)
        assert len(robot.evaluator.compiler._kernels) <= 3
    assert [dict(key[1])["frame"] for key in robot.evaluator.compiler._kernels] == ["b7", "b0", "b1"]


@pytest.mark.thorough
def test_a_frame_behind_ten_thousand_links():
    robot = chain(10_000).with_backend("compiled")
    reach = np.sum([j.placement.position for j in robot.model.joints], axis=0)
    q = np.zeros(10_000)
    assert_close(robot.pose(q, "l9999")[:3, 3], reach, 1e-12)
    # a turn of the first hinge (about x, along which all links lie) moves nothing, one of the second all
    matrix = robot.jacobian(q, "l9999", "aligned")
    assert not matrix[3:, 0].any()
    assert abs(matrix[5, 1] + reach[0] - sum(j.placement.position[0] for j in robot.model.joints[:2])) < 1e-9


@pytest.mark.parametrize("links", [9, 50, 56])
def test_long_rows_of_trees_that_are_loops(monkeypatch, links):
    """Loops do not send their results while they compute, but these are written in whole lines, too."""
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)
    builder = kt.Builder("chain")
    for k in range(links):
        builder.body(
            f"b{k}", f"b{k - 1}" if k else "base", kt.Revolute("xyz"[k % 3]), position=(0.1, 0, 0.01 * (k % 4)),
            mass=0.5 + 0.01 * k, com=(0.05, 0.01, 0), inertia=(0.001, 0.002, 0.002),
        )  # fmt: skip
    robot = builder.build().with_backend("compiled")
    assert robot.evaluator.compiler.rolled
    state = random_state(robot, np.random.default_rng(links), 135)
    expected = robot.with_backend("reference").inverse_dynamics(*state)
    whole = robot.inverse_dynamics(*state)
    assert_close(whole, expected, 1e-10)
    for shift in range(8):
        for count, threads in ((1, 1), (64, 2), (65, 1), (135, 3)):
            area = np.full(16 + count * links, -7.0)
            out = area[shift : shift + count * links].reshape(count, links)
            robot.inverse_dynamics(*(x[:count] for x in state), out=out, threads=threads)
            assert_close(out, whole[:count], 0.0)
            assert (area[:shift] == -7.0).all()
            assert (area[shift + count * links :] == -7.0).all()


def test_pinocchio_judges_the_momentum_matrix_of_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")

    robot = chain(150).with_backend("compiled")
    model = pinocchio_model(pinocchio, robot)
    data = model.createData()
    q, v = np.random.default_rng(5).uniform(-1.0, 1.0, (2, robot.nv))
    pinocchio.dccrba(model, data, q, v)
    swapped = [3, 4, 5, 0, 1, 2]
    assert_close(robot.centroidal_momentum_matrix(q), data.Ag[swapped], 1e-11)
    assert_close(robot.centroidal_momentum_matrix_rate(q, v), data.dAg[swapped], 1e-11)


def test_matrices_are_symmetric_and_zero_between_branches_to_the_last_bit(always_rolled):
    robot = random_tree(np.random.default_rng(0), 12, floating=True).with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(1), 3)
    apart = separate(robot)
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(q, v, a)
    by_tau = robot.forward_dynamics_derivatives(q, v, a)[2]
    for matrix in (robot.mass_matrix(q), robot.inverse_mass_matrix(q), by_a, by_tau):
        assert np.array_equal(matrix, np.swapaxes(matrix, -1, -2))
    factors = (robot.mass_matrix_factors(q, form)[0] for form in ("LTDL", "LTL"))
    for matrix in (robot.mass_matrix(q), by_q, by_v, by_a, robot.coriolis_matrix(q, v), *factors):
        assert not np.any(matrix[..., apart])


MATRICES = ("mass_matrix", "coriolis_matrix", "inverse_dynamics_derivatives", "mass_matrix_factors")


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_that_are_too_large_for_several_states_at_once(name, always_rolled, monkeypatch):
    robot = random_tree(np.random.default_rng(5), 24, ["free", "spherical", "revolute", "cylindrical", "prismatic"])
    state = random_state(robot, np.random.default_rng(0), 5)[: len(find(name).inputs)]
    usual = np.asarray(getattr(robot.with_backend("compiled"), name)(*state)[0])
    monkeypatch.setattr("kinetree.evaluation.large_trees.schedule.MOST_SIDE_BY_SIDE", 1)
    compute = getattr(robot.with_backend("compiled"), name)
    found = compute(*state)
    assert np.array_equal(found[0], usual)
    assert_close(found[0], getattr(robot, name)(*state)[0], 1e-11)
    for part, several in zip(compute(*(x[3] for x in state)), found, strict=False):
        if isinstance(found, (tuple, list)):
            assert np.array_equal(part, several[3])
    if not isinstance(found, (tuple, list)):
        assert np.array_equal(compute(*(x[3] for x in state)), found[3])


@pytest.mark.parametrize("floating", [False, True])
def test_second_calls_of_large_trees_enter_no_python(floating, monkeypatch):
    robot = random_tree(np.random.default_rng(1), 112, ["revolute", "prismatic"], floating=floating)
    large = robot.with_backend("compiled")
    state = random_state(robot, np.random.default_rng(0), 5)
    names = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy", "coriolis_matrix")
    calls = [(name, state[: len(find(name).inputs)]) for name in names]
    expected = [getattr(large, name)(*given) for name, given in calls]
    ones = [getattr(large, name)(*(x[2] for x in given)) for name, given in calls]
    for (name, given), one in zip(calls, ones, strict=True):
        assert_close(one, getattr(robot, name)(*(x[2] for x in given)), 1e-11)
    monkeypatch.setattr("kinetree.evaluation.evaluator.Evaluator.run_checked", None)
    for (name, given), several, one in zip(calls, expected, ones, strict=True):
        assert np.array_equal(several[2], one), name
        assert np.array_equal(getattr(large, name)(*given), several)
        assert np.array_equal(getattr(large, name)(*(x[2] for x in given)), one)

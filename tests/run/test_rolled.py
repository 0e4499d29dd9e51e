"""Large trees as loops: the same numbers as the reference, whatever the joints and branches."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.large_trees import chain, separate
from helpers.robots import KINDS, random_state, random_tree
from kinetree.algorithms.table import ALGORITHMS, find
from kinetree.run import compiler
from kinetree.run.large_trees.schedule import roll
from kinetree.run.large_trees.tree import LoopedTree
from kinetree.run.options import needed_options

LOADED = ("inverse_dynamics", "forward_dynamics", "bias_force", "joint_wrenches")
"""Loops that take wrenches."""


@pytest.fixture
def always_rolled(monkeypatch):
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)


def made_by(way):
    """Algorithms of large trees, those that need options left out."""
    return [a.name for a in ALGORITHMS.values() if a.large and a.large.by == way and not needed_options(a.name)]


ROLLED = [n for n in made_by("passes") if n != "joint_subspaces"]
SYMMETRIC = ["inverse_mass_matrix", "mass_matrix"]


def compare(robot, n=13):
    rolled, reference = robot.with_backend("compiled"), robot.with_backend("reference")
    assert rolled.evaluator.compiler.rolled
    rng = np.random.default_rng(3)
    state = states(robot, rng, n)
    push = {robot.body_names[len(robot.body_names) // 2]: rng.standard_normal((n, 6))}
    for name in ROLLED:
        assert rolled.evaluator.compiler.handles(name)
        call, judge = getattr(rolled, name), getattr(reference, name)
        given = [state[x] for x in find(name).inputs]
        batch = call(*given)
        tolerance = 1e-10 if name == "forward_dynamics" else 1e-12  # of ill-conditioned trees
        assert_close(batch, judge(*given), tolerance)
        assert_close(call(*(x[2] for x in given)), batch[2], 0.0)
        if name in LOADED:
            assert_close(call(*given, push), judge(*given, push), tolerance)
    for name in ("inverse_dynamics", "forward_dynamics"):
        given = [state[x] for x in find(name).inputs]
        assert_close(getattr(rolled, name)(*given, threads=2), getattr(rolled, name)(*given), 0.0)


def states(robot, rng, n):
    """Whatever an algorithm asks for, by name."""
    q, v, a = random_state(robot, rng, n)
    return {"q": q, "v": v, "a": a, "tau": a, "q0": q, "q1": random_state(robot, rng, n)[0]}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_joint(kind, always_rolled):
    compare(random_tree(np.random.default_rng(1), 4, [kind, "revolute"]))


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed, always_rolled):
    compare(random_tree(np.random.default_rng(seed), 10, floating=seed % 2 == 0))


def test_links_of_which_hardly_two_look_alike(always_rolled, monkeypatch):
    kinds = ["revolute", "prismatic", "helical", "cylindrical"]
    robot = random_tree(np.random.default_rng(2), 30, kinds)
    alike = len(LoopedTree(robot.model).groups)
    state = random_state(robot, np.random.default_rng(0), 3)
    large = robot.with_backend("compiled")
    assert_close(large.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-12)
    assert_close(large.mass_matrix(state[0]), robot.mass_matrix(state[0]), 1e-12)
    monkeypatch.setattr("kinetree.run.large_trees.groups.MOST_LOOKS", 1000)
    assert alike <= 5 * len(kinds) < len(LoopedTree(robot.model).groups)


def test_a_chain_that_is_rolled_by_itself():
    compare(chain(120), 9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_matrices(seed, name, always_rolled):
    robot = random_tree(np.random.default_rng(seed), 12, floating=seed % 2 == 0)
    q = random_state(robot, np.random.default_rng(1), (2, 3))[0]
    call, judge = getattr(robot.with_backend("compiled"), name), getattr(robot, name)
    expected = judge(q)
    found = call(q)
    assert_close(found, expected, 1e-11)
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
    assert np.array_equal(call(q[1, 2]), found[1, 2])
    assert np.array_equal(call(q, threads=2), found)
    room = np.full((2, 3, robot.nv, 2 * robot.nv), np.nan)
    assert np.array_equal(call(q, out=room[..., ::2]), found)
    assert np.isnan(room[..., 1::2]).all()
    if name == "mass_matrix":
        assert not np.any(found[..., separate(robot)])


def test_matrices_of_a_long_chain():
    robot = chain(150)
    compiled_robot = robot.with_backend("compiled")
    q = robot.random_configuration(0)
    expected = robot.mass_matrix(q)
    assert_close(compiled_robot.mass_matrix(q), expected, 1e-13)
    assert_close(compiled_robot.inverse_mass_matrix(q), np.linalg.inv(expected), 1e-8)


def test_pinocchio_judges_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")
    robot, model, last = chain(130).with_backend("compiled"), pinocchio.Model(), 0
    joints = (pinocchio.JointModelRX, pinocchio.JointModelRY, pinocchio.JointModelRZ)
    for i, (joint, body) in enumerate(zip(robot.model.joints, robot.model.bodies, strict=True)):
        place = pinocchio.SE3(np.eye(3), np.array(joint.placement.position))
        last = model.addJoint(last, joints[i % 3](), place, joint.name)
        mass = body.mass_properties
        inertia = pinocchio.Inertia(mass.mass, np.array(mass.com), mass.inertia_matrix)
        model.appendBodyToJoint(last, inertia, pinocchio.SE3.Identity())
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


def _com_velocity(pinocchio, model, data, q, v):
    pinocchio.centerOfMass(model, data, q, v)
    return data.vcom[0]


def test_algorithms_that_are_not_loops_still_work():
    robot = chain(115)
    compiled_robot = robot.with_backend("compiled")
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 115))
    # other ways to the accelerations are matrices, not loops
    assert not compiled_robot.evaluator.compiler.handles("forward_dynamics", {"method": "composite_body"})
    solved = compiled_robot.forward_dynamics(q, v, a, method="composite_body")
    assert_close(solved, robot.forward_dynamics(q, v, a), 1e-7)


def test_nan_stays_in_its_state(always_rolled):
    reference = random_tree(np.random.default_rng(3), 7, ["revolute", "prismatic", "universal"])
    robot = reference.with_backend("compiled")
    state = states(robot, np.random.default_rng(0), 11)
    for name in (*ROLLED, *SYMMETRIC):
        given = [state[x] for x in find(name).inputs]
        clean = getattr(robot, name)(*given)
        for k in range(len(given)):
            bad = [x.copy() for x in given]
            bad[k][4, 2] = np.nan
            found = getattr(robot, name)(*bad)
            assert np.isnan(found[4]).any() == np.isnan(getattr(reference, name)(*bad)[4]).any()
            assert np.array_equal(np.delete(found, 4, axis=0), np.delete(clean, 4, axis=0))


def test_single_precision(always_rolled):
    robot = random_tree(np.random.default_rng(6), 6, ["revolute", "spherical"])
    single = robot.with_backend("compiled").with_precision("single")
    state = states(robot, np.random.default_rng(0), 19)
    for name in (*ROLLED, *SYMMETRIC):
        given = [state[x] for x in find(name).inputs]
        found = getattr(single, name)(*given)
        assert found.dtype == np.float32
        assert_close(found, getattr(robot, name)(*given), 1e-3)


def test_momentum_about_the_origin(always_rolled):
    robot = random_tree(np.random.default_rng(7), 8)
    q, v, _ = random_state(robot, np.random.default_rng(0), 5)
    found = robot.with_backend("compiled").momentum(q, v, about="origin")
    assert_close(found, robot.momentum(q, v, about="origin"), 1e-12)


def operations(robot, name):
    """Operations of all steps of a loop."""
    algorithm = find(name)
    layouts = ["q" if x == "q" else "v" for x in algorithm.inputs]
    steps = roll(algorithm.function, robot.model, layouts, {}).steps
    return sum(1 for s in steps for i in s.graph.reachable(s.outputs) if s.graph.args[i])


def test_what_is_the_same_for_all_bodies_is_not_computed():
    robot = chain(120)
    assert operations(robot, "gravity_force") < 0.5 * operations(robot, "bias_force")  # nothing turns
    builder = kt.Builder("planar chain")
    for i in range(120):
        box = kt.MassProperties.of(0.5 + 0.001 * i, (0.05, 0.01, 0), (0.001, 0.002, 0.002))
        builder.body(f"l{i}", f"l{i - 1}" if i else "base", kt.Revolute("z"), position=(0.1, 0, 0), mass_properties=box)
    planar = builder.build()
    assert operations(planar, "bias_force") < 0.3 * operations(robot, "bias_force")  # about one axis of three
    compare(planar, 5)


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
        kt.simulate(r, q, v, time=0.02, integrator=integrator, output=5, **options)
        for r in (robot.with_backend("compiled"), robot)
    ]
    assert_close(runs[0].q[-1], runs[1].q[-1], 1e-9)
    assert_close(runs[0].v[-1], runs[1].v[-1], 1e-9)
    for part in ("kinetic", "potential", "total"):
        assert_close(getattr(runs[0].energy, part), getattr(runs[1].energy, part), 1e-9)


def test_simulating_a_chain_with_a_controller():
    robot = chain(115).with_backend("compiled")
    servo = kt.simulation.control.Law(lambda t, q, v: [-0.05 * x for x in v])
    record = kt.simulate(robot, np.full(115, 0.01), time=0.01, controller=servo)
    assert record.energy.relative_error < 1e-7
    assert np.all(np.diff(record.energy.actuators) <= 0.0)
    again = kt.simulate(robot, np.full(115, 0.01), time=0.01, controller=lambda t, q, v: -0.05 * v)
    assert_close(record.q[-1], again.q[-1], 1e-9)


def test_followers_in_large_trees(always_rolled):
    robot = random_tree(np.random.default_rng(2), 8, ["revolute", "prismatic"], followers=True)
    q, v, a = random_state(robot, np.random.default_rng(0), 3)
    tau = robot.with_backend("compiled").inverse_dynamics(q, v, a)
    assert_close(tau, robot.inverse_dynamics(q, v, a), 1e-12)


@pytest.mark.slow
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


def _reach(robot):
    x, found = 0.0, []
    for joint, body in zip(robot.model.joints, robot.model.bodies, strict=True):
        x += joint.placement.position[0]
        found.append(x + body.mass_properties.com[0])
    return found


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


def test_hybrid_dynamics(always_rolled):
    reference = random_tree(np.random.default_rng(4), 9, floating=True)
    robot = reference.with_backend("compiled")
    rng = np.random.default_rng(0)
    q, v, _ = random_state(robot, rng, (2, 3))
    push = {"b5": rng.standard_normal((2, 3, 6))}
    for names in (["j3"], ["j0", "j2", "j7"], []):
        known = {name: rng.standard_normal((2, 3, robot.joint(name).nv)) for name in names}
        tau = {"j1": rng.standard_normal((2, 3, robot.joint("j1").nv))}
        found = robot.hybrid_dynamics(q, v, a=known, tau=tau, wrenches=push)
        for x, expected in zip(found, reference.hybrid_dynamics(q, v, a=known, tau=tau, wrenches=push), strict=True):
            assert_close(x, expected, 1e-11)
        one = robot.hybrid_dynamics(
            q[1, 2], v[1, 2], a={k: x[1, 2] for k, x in known.items()}, tau={"j1": tau["j1"][1, 2]},
            wrenches={"b5": push["b5"][1, 2]},
        )  # fmt: skip
        assert np.array_equal(np.stack(one), np.stack(found)[:, 1, 2])


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


def test_pinocchio_judges_the_momentum_matrix_of_a_long_chain():
    pinocchio = pytest.importorskip("pinocchio")
    from test_large_matrices import pinocchio_model

    robot = chain(150).with_backend("compiled")
    model = pinocchio_model(pinocchio, robot)
    data = model.createData()
    q, v = np.random.default_rng(5).uniform(-1.0, 1.0, (2, robot.nv))
    pinocchio.dccrba(model, data, q, v)
    swapped = [3, 4, 5, 0, 1, 2]
    assert_close(robot.centroidal_momentum_matrix(q), data.Ag[swapped], 1e-11)
    assert_close(robot.centroidal_momentum_matrix_rate(q, v), data.dAg[swapped], 1e-11)

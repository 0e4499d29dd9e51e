"""Poses, velocities and Jacobians of frames far out on large trees: loops over the path to the frame."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.large_trees import chain, pinocchio_model
from helpers.robots import KINDS, random_state, random_tree
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.run import compiler

AXES = ("body", "world", "aligned")

CALLS = {
    "pose": lambda r, q, v, a, frame, axes, **o: r.pose(q, frame, **o),
    "velocity": lambda r, q, v, a, frame, axes, **o: r.velocity(q, v, frame, axes, **o),
    "acceleration": lambda r, q, v, a, frame, axes, **o: r.acceleration(q, v, a, frame, axes, **o),
    "jacobian": lambda r, q, v, a, frame, axes, **o: r.jacobian(q, frame, axes, **o),
    "jacobian_rate": lambda r, q, v, a, frame, axes, **o: r.jacobian_rate(q, v, frame, axes, **o),
}


@pytest.fixture
def always_rolled(monkeypatch):
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)


def deepest(robot):
    """A frame on the longest path."""
    lengths = [len(robot.model.support(i)) for i in range(len(robot.body_names))]
    return f"f{int(np.argmax(lengths))}"


def compare(reference, frame, axes, names=tuple(CALLS)):
    robot = reference.with_backend("compiled")
    state = random_state(robot, np.random.default_rng(2), (3, 2))
    for name in names:
        call = CALLS[name]
        expected, found = call(reference, *state, frame, axes), call(robot, *state, frame, axes)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))
        assert np.array_equal(call(robot, *(x[1, 1] for x in state), frame, axes), found[1, 1])
        assert np.array_equal(call(robot, *state, frame, axes, threads=2), found)
        room = np.full((*found.shape[:-1], 2 * found.shape[-1]), np.nan)[..., ::2]
        call(robot, *state, frame, axes, out=room)
        assert np.array_equal(room, found)
        kernels = [k for key, k in robot.evaluator.compiler._kernels.items() if key[0] == name]
        assert kernels
        assert all(isinstance(k, RolledKernel) for k in kernels)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_joint(kind, always_rolled):
    robot = random_tree(np.random.default_rng(1), 5, [kind, "prismatic"])
    compare(robot, deepest(robot), AXES[len(kind) % 3])


@pytest.mark.parametrize("axes", AXES)
def test_random_trees(axes, always_rolled):
    robot = random_tree(np.random.default_rng(AXES.index(axes)), 10, floating=axes == "body")
    compare(robot, deepest(robot), axes)


def test_a_classical_acceleration(always_rolled):
    robot = random_tree(np.random.default_rng(3), 7)
    frame = deepest(robot)
    state = random_state(robot, np.random.default_rng(0), 4)
    found = robot.with_backend("compiled").acceleration(*state, frame, "aligned", classical=True)
    assert_close(found, robot.acceleration(*state, frame, "aligned", classical=True), 1e-12)


def test_frames_of_the_base_do_not_move(always_rolled):
    robot = random_tree(np.random.default_rng(3), 5).with_frame("stand", "base", (1.0, 2.0, 3.0))
    robot = robot.with_backend("compiled")
    state = random_state(robot, np.random.default_rng(0), 2)
    assert np.array_equal(robot.pose(state[0], "stand")[:, :3, 3], [[1.0, 2.0, 3.0]] * 2)
    for name in ("velocity", "acceleration", "jacobian", "jacobian_rate"):
        assert not CALLS[name](robot, *state, "stand", "world").any()


def test_pinocchio_judges_a_long_chain():
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


def test_nan_stays_in_its_state(always_rolled):
    reference = random_tree(np.random.default_rng(3), 7, ["revolute", "prismatic", "universal"])
    robot, frame = reference.with_backend("compiled"), deepest(reference)
    state = random_state(robot, np.random.default_rng(0), 4)
    bad = [x.copy() for x in state]
    first = reference.model.joints[reference.model.support(reference.frame(frame).body)[0]]
    bad[0][2, first.q_slice] = np.nan
    for call in CALLS.values():
        found = call(robot, *bad, frame, "world")
        assert np.isnan(found[2]).any()
        assert np.array_equal(np.delete(found, 2, 0), np.delete(call(robot, *state, frame, "world"), 2, 0))


def test_single_precision(always_rolled):
    reference = random_tree(np.random.default_rng(6), 6, ["revolute", "spherical"])
    robot, frame = reference.with_backend("compiled").with_precision("single"), deepest(reference)
    state = random_state(robot, np.random.default_rng(0), 3)
    for call in CALLS.values():
        found = call(robot, *state, frame, "aligned")
        assert found.dtype == np.float32
        assert_close(found, call(reference, *state, frame, "aligned"), 1e-4)


def test_ten_thousand_links():
    robot = chain(10_000).with_backend("compiled")
    reach = np.sum([j.placement.position for j in robot.model.joints], axis=0)
    q = np.zeros(10_000)
    assert_close(robot.pose(q, "l9999")[:3, 3], reach, 1e-12)
    # a turn of the first hinge (about x, along which all links lie) moves nothing, one of the second all
    matrix = robot.jacobian(q, "l9999", "aligned")
    assert not matrix[3:, 0].any()
    assert abs(matrix[5, 1] + reach[0] - sum(j.placement.position[0] for j in robot.model.joints[:2])) < 1e-9

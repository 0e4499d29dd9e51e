"""Large trees as loops: the same numbers as the reference, whatever the joints and branches."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import KINDS, random_state, random_tree
from kinetree import compiled


@pytest.fixture
def always_rolled(monkeypatch):
    monkeypatch.setattr(compiled, "LARGEST_UNROLLED", 0)


def chain(n, **options):
    """A chain of links that differ in size, on hinges about x, y, z in turn."""
    rng = np.random.default_rng(0)
    builder = kt.Builder(f"chain of {n}")
    for i in range(n):
        size = rng.uniform(0.9, 1.1)
        builder.body(
            f"l{i}", f"l{i - 1}" if i else "base", kt.Revolute("xyz"[i % 3]), position=(0.1 * size, 0, 0),
            mass_properties=kt.MassProperties.of(0.5 * size, (0.05, 0.01, 0), (0.001, 0.002, 0.002)),
        )  # fmt: skip
    return builder.build()


def compare(robot, n=13):
    rolled, reference = robot.with_backend("compiled"), robot.with_backend("reference")
    assert rolled._compiler.rolled
    rng = np.random.default_rng(3)
    q, v, a = random_state(robot, rng, n)
    push = {robot.body_names[len(robot.body_names) // 2]: rng.standard_normal((n, 6))}
    for name in ("inverse_dynamics", "forward_dynamics"):
        call, judge = getattr(rolled, name), getattr(reference, name)
        batch = call(q, v, a)
        assert_close(batch, judge(q, v, a), 1e-10)
        assert_close(call(q, v, a, push), judge(q, v, a, push), 1e-10)
        assert_close(call(q[2], v[2], a[2]), batch[2], 0.0)
        assert_close(call(q, v, a, threads=2), batch, 0.0)
    assert_close(rolled.bias_force(q, v), reference.bias_force(q, v), 1e-10)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_joint(kind, always_rolled):
    compare(random_tree(np.random.default_rng(1), 4, [kind, "revolute"]))


@pytest.mark.parametrize("seed", range(6))
def test_random_trees(seed, always_rolled):
    compare(random_tree(np.random.default_rng(seed), 12, floating=seed % 2 == 0))


def test_a_chain_that_is_rolled_by_itself():
    compare(chain(120), 9)


def test_algorithms_that_are_not_loops_still_work():
    robot = chain(115).with_backend("compiled")
    q = robot.random_configuration(0)
    assert_close(robot.mass_matrix(q) @ robot.inverse_mass_matrix(q), np.eye(115), 1e-5)
    assert_close(robot.gravity_force(q), robot.bias_force(q, np.zeros(115)), 1e-12)


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

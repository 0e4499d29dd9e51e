"""Regrouped robots: the same dynamics, with fewer operations."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.random_arms import body, random_arm


def states(robot, count=5):
    rng = np.random.default_rng(2)
    return robot.random_configuration(rng, count), *rng.standard_normal((2, count, robot.nv))


@pytest.mark.parametrize("form", ["fewest", "table"])
@pytest.mark.parametrize("seed", range(12))
def test_random_arms_move_alike(seed, form):
    robot = random_arm(seed).with_backend("reference")
    grouped = robot.grouped(form)
    q, v, a = states(robot)
    for name in ("inverse_dynamics", "forward_dynamics"):
        expected = getattr(robot, name)(q, v, a)
        np.testing.assert_allclose(
            getattr(grouped, name)(q, v, a), expected, atol=1e-10 * max(1.0, np.abs(expected).max())
        )
    np.testing.assert_allclose(grouped.mass_matrix(q), robot.mass_matrix(q), atol=1e-10)
    base, again = robot.base_parameters(), grouped.base_parameters()
    np.testing.assert_allclose(again.matrix, base.matrix, atol=1e-12)
    np.testing.assert_allclose(again.values, base.values, atol=1e-10)


def test_table_form_is_the_table():
    robot = kt.gallery.load("puma")
    base = robot.base_parameters()
    values = robot.grouped("table").parameters().values
    np.testing.assert_allclose(values[list(base.columns)], base.values)
    assert not np.delete(values, base.columns).any()


@pytest.mark.parametrize("name", ["kuka-kr5", "puma", "stanford-arm", "gripper"])
def test_fewer_operations(name):
    robot = kt.gallery.load(name)
    standard, table, fewest = (r.cost("inverse_dynamics") for r in (robot, robot.grouped("table"), robot.grouped()))
    assert fewest.total <= table.total < standard.total
    assert fewest.multiplications < standard.multiplications
    assert fewest.additions < standard.additions


def test_general_arm_of_six_hinges():
    """At most 425M 369A (92 n - 127 and 81 n - 117, Khalil and Dombre 2002), with no number zero or one."""
    rng = np.random.default_rng(0)
    builder, parent = kt.Builder("general"), "base"
    for k in range(6):
        place = {} if k == 0 else {"position": tuple(rng.uniform(0.2, 0.9, 3)), "rpy": (rng.uniform(0.2, 1), 0, 0)}
        inertia = np.array([0.8, 0.9, 0.7, 0.03, 0.05, 0.07]) * (1 + k / 16)
        builder.body(
            f"b{k}", parent, kt.Revolute("z"), mass=2 + k / 3, com=(0.06, 0.15, 0.21), inertia=inertia, **place
        )
        parent = f"b{k}"
    robot = builder.build()
    for form, (most_m, most_a) in {"table": (417, 353), "fewest": (399, 336)}.items():
        count = robot.grouped(form).cost("inverse_dynamics")
        assert count.multiplications <= most_m <= 425
        assert count.additions <= most_a <= 369


def test_mechanisms_move_alike():
    mechanism = kt.gallery.load("sr400").with_backend("compiled")
    motion = kt.gallery.motion("sr400")
    grouped = mechanism.grouped(q_guess=kt.gallery.start("sr400"))
    q, v, a = motion.states(np.linspace(0.1, 1.9, 5))
    expected = mechanism.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(grouped.inverse_dynamics(q, v, a), expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(
        grouped.forward_dynamics(q, v, expected), mechanism.forward_dynamics(q, v, expected), atol=1e-7
    )
    assert grouped.tree.cost("inverse_dynamics").total < mechanism.tree.cost("inverse_dynamics").total


def test_followers_move_alike():
    rng = np.random.default_rng(0)
    builder = kt.Builder("gripper").body("palm", "base", kt.Revolute("z"), **body(rng))
    builder.body("left", "palm", kt.Revolute("x"), position=(0, 0.1, 0), **body(rng))
    builder.body("right", "palm", kt.Revolute("-x"), position=(0, -0.1, 0), mimic=kt.Mimic("left_joint"), **body(rng))
    robot = builder.build()
    q, v, a = states(robot)
    np.testing.assert_allclose(robot.grouped().inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), atol=1e-9)


def test_unknown_forms_are_refused():
    with pytest.raises(kt.UnknownNameError, match="form of grouped parameters"):
        kt.gallery.load("puma").grouped("small")

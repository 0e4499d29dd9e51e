"""Tendons whose points meet: no direction, no slope, and nothing that is not a number."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import symbolic

BAR = {"mass": 1.0, "com": (0.3, 0, 0), "inertia": (0.1, 0.1, 0.1)}
STILL = np.zeros(1)


def pendulum(rest=None):
    """A bar whose tip meets an eye of the base in the neutral configuration."""
    b = kt.Builder("pendulum", gravity=(0, -9.81, 0)).body("bar", "base", kt.Revolute("z"), **BAR)
    if rest is not None:
        b.tendon("spring", points=[("base", (0.5, 0, 0)), ("bar", (0.5, 0, 0))], stiffness=10.0, rest=rest)
    return b.build()


RESTS = [0.0, 0.2, (0.1, 0.3)]


@pytest.mark.parametrize("rest", RESTS)
def test_the_slope_of_potential_energy_on_jax(rest):
    """It was NaN: the root of zero has no slope, and nothing times that is not nothing."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    robot = pendulum(rest)
    energy = symbolic.function(robot, "potential_energy", "jax")
    for angle in (0.0, 0.5):
        q = np.array([angle])
        np.testing.assert_allclose(jax.grad(energy)(q), robot.gravity_force(q), rtol=1e-12)
    if rest == 0.0:  # k (2 r sin(q / 2))^2 / 2, curved as k r^2 beside the bar's weight, which is level
        np.testing.assert_allclose(jax.hessian(energy)(STILL), [[10.0 * 0.5**2]], rtol=1e-12)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("rest", RESTS)
def test_bearings_carry_what_they_carry_without_the_spring(rest, backend):
    """What a joint transmits was NaN; without a direction nothing is pulled."""
    wanted = pendulum().joint_wrenches(STILL, STILL, STILL)
    found = pendulum(rest).with_backend(backend).joint_wrenches(STILL, STILL, STILL)
    np.testing.assert_allclose(found, wanted, atol=1e-14)


def arm(points):
    b = kt.Builder("arm", gravity=(0, -9.81, 0)).body("upper", "base", kt.Revolute("z"), **BAR)
    b.body("lower", "upper", kt.Revolute("z"), position=(0.6, 0, 0), **BAR)
    return b.tendon("muscle", points=points, stiffness=50.0, rest=0.4).build()


def test_points_that_always_meet_change_nothing():
    """A line that passes over a hinge, once on either body: derivatives were NaN in every state."""
    start, middle, end = ("base", (0, 0.5, 0)), ("upper", (0.6, 0, 0)), ("lower", (0.4, 0.1, 0))
    plain, doubled = arm([start, middle, end]), arm([start, middle, ("lower", (0, 0, 0)), end])
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 4, 2))
    np.testing.assert_allclose(doubled.inverse_dynamics(q, v, a), plain.inverse_dynamics(q, v, a), atol=1e-12)
    for found, wanted in zip(
        doubled.inverse_dynamics_derivatives(q, v, a), plain.inverse_dynamics_derivatives(q, v, a), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-11)
    found, wanted = doubled.joint_wrenches(q, v, a), plain.joint_wrenches(q, v, a)
    np.testing.assert_allclose(found[:, 0], wanted[:, 0], atol=1e-12)
    assert np.isfinite(found).all()  # which side of the hinge feels the bend is not said

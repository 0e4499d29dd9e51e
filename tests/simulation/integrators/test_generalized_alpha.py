"""The generalized-alpha method: its order, what it damps, and constraints of positions and velocities."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.loop_models import compiled_system
from kinetree.simulation.integrators.generalized_alpha import coefficients


@pytest.mark.parametrize("radius", [1.0, 0.5])
def test_second_order_on_closed_loops(radius):
    robot = kt.gallery.load("four-bar")
    q = kt.gallery.motion("four-bar").states(0.0)[0]
    v = robot.velocities(q, [3.0])
    end = kt.simulate(robot, q, v, time=0.1, rtol=1e-11, atol=1e-12, samples=[0.1]).q[-1]
    errors = []
    for step in (2e-3, 1e-3):
        record = kt.simulate(
            robot, q, v, time=0.1, integrator="generalized_alpha", spectral_radius=radius, step=step, samples=2
        )
        errors.append(np.abs(record.q[-1] - end).max())
        assert record.info["largest_gap"] < 1e-10
        assert record.info["drift"] == "generalized_alpha"
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)


def oscillator(stiffness: float) -> kt.Robot:
    b = kt.Builder("oscillator", gravity=(0, 0, 0))
    return b.body("mass", "base", kt.Prismatic("x"), mass=1.0, stiffness=stiffness).build()


@pytest.mark.parametrize("radius", [0.9, 0.6])
def test_what_is_too_fast_for_a_step_decays_by_the_spectral_radius(radius):
    """Of a spring with a thousand periods in a step; amplitudes shrink as radius^n, for a while times n."""
    robot = oscillator(1e10)
    record = kt.simulate(
        robot, [1e-3], time=6.0, integrator="generalized_alpha", step=0.1, spectral_radius=radius,
        samples=np.arange(0, 61) * 0.1,
    )  # fmt: skip
    size = np.abs(record.q[:, 0])
    assert (size[60] / size[30]) ** (1 / 30) == pytest.approx(radius, rel=0.06)


def test_slow_motion_is_kept_and_no_step_is_too_large():
    """Two masses, one on a stiff spring: explicit formulas would need steps of microseconds."""
    b = kt.Builder("two", gravity=(0, 0, 0))
    b.body("slow", "base", kt.Prismatic("x"), mass=1.0, stiffness=4.0)
    b.body("fast", "slow", kt.Prismatic("x"), mass=1e-3, stiffness=1e9)
    robot = b.build()
    record = kt.simulate(robot, [0.1, 0.0], time=2.0, integrator="generalized_alpha", step=0.01, samples=5)
    assert_close(record.q[:, 0], 0.1 * np.cos(2 * record.time / np.sqrt(1.001)), 2e-4, scale=0.1)
    together = kt.simulate(
        robot, [[0.1, 0.0], [0.2, 0.0]], time=2.0, integrator="generalized_alpha", step=0.01, samples=5
    )  # fmt: skip
    assert_close(together.q[:, 0], record.q, 1e-9, scale=0.1)


def test_rolling_and_driven_constraints():
    b = kt.Builder("ball", gravity=(1.0, 0, -9.0))
    b.body("ball", "base", kt.Free(), mass=2.0, inertia=(0.008, 0.008, 0.008), actuated=False)
    robot = b.loop("plane", "base", "ball", kt.RollingBall(0.1)).build()
    q = robot.close(robot.neutral())
    record = kt.simulate(robot, q, time=0.5, integrator="generalized_alpha", step=0.01, samples=3)
    height, *slips = np.abs(robot.loop_jacobian(record.q) @ record.v[..., None])[..., 0].max(axis=0)
    assert max(slips) < 1e-9
    assert height < 1e-4  # positions are held to the last digit, their rates to the order of the method
    assert record.info["largest_gap"] < 1e-12
    assert_close(record.q[-1, 4], 5 / 14 * 0.25, 3e-5, scale=1.0)
    crane = kt.Builder("crane")
    crane.body("cart", "base", kt.Prismatic("x"), mass=2.0)
    crane.body("bob", "cart", kt.Revolute("y"), mass=1.5, com=(0, 0, -0.8), actuated=False)
    law = {"cart_joint": lambda t: 0.3 * kt.sin(2.0 * t)}
    machine = crane.build()
    runs = [
        kt.simulate(machine, [0.0, 0.5], [0.6, 0.0], time=0.5, prescribed=law, samples=3, **more)
        for more in ({}, {"integrator": "generalized_alpha", "step": 2e-3, "spectral_radius": 1.0})
    ]
    assert_close(runs[1].q, runs[0].q, 1e-4, scale=1.0)


def test_coefficients_and_errors():
    assert coefficients(1.0) == (0.5, 0.5, 0.25, 0.5)  # the midpoint's neighbor, which keeps everything
    pendulum = kt.Builder("p").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    with pytest.raises(kt.OptionError, match=r"spectral_radius must be between 0 and 1, got 1\.5"):
        kt.simulate(pendulum, time=0.1, integrator="generalized_alpha", step=0.01, spectral_radius=1.5)
    with pytest.raises(kt.OptionError, match=r"spectral_radius=\.\.\. belongs to"):
        kt.simulate(pendulum, time=0.1, spectral_radius=0.5)
    with pytest.raises(kt.OptionError, match="needs a step in seconds"):
        kt.simulate(pendulum, time=0.1, integrator="generalized_alpha")


@pytest.mark.parametrize("batch", [(), (2,)])
def test_samples_may_fall_just_behind_a_step(batch):
    """0.3 / 3 is 1e-17 beyond a hundred steps of a millisecond: such a rest of a step has no digits of its own."""
    robot, q = compiled_system("four-bar")
    q = np.broadcast_to(q, (*batch, robot.nq))
    for time, output, step in [(0.3, 4, 1e-3), (0.1, 8, 1e-3), (0.06, 3, 1e-3), (0.07, 7, 5e-4)]:
        record = kt.simulate(robot, q, time=time, samples=output, integrator="generalized_alpha", step=step)
        assert robot.closure_error(record.q).max() < 1e-9


def test_samples_just_behind_a_step_lie_on_the_motion():
    robot, q = compiled_system("four-bar")
    times = 0.05 + np.array([0.0, 1e-13, 1e-9, 1e-7, 1e-6, 9.9e-6, 1.01e-5, 1e-4, 5e-4])
    options = {"integrator": "generalized_alpha", "step": 1e-3}
    record = kt.simulate(robot, q, time=0.06, samples=times, **options)
    exact = kt.simulate(robot, q, time=0.06, samples=times, rtol=1e-12, atol=1e-12)
    off = record.q - exact.q  # of the method, the same just behind a step as at it
    assert np.abs(off - off[0])[:7].max() < 1e-8
    mean = 0.5 * (record.v[1:] + record.v[:-1])
    assert np.abs(np.diff(record.q, axis=0) - np.diff(times)[:, None] * mean)[:6].max() < 1e-8

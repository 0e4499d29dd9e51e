"""Forces that jump at known times: integrators keep their order there, whether steps end at the jumps or not."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

MASS = 2.0
ROWS = np.random.default_rng(5).normal(size=21) * 10.0
TIMES = np.arange(21) * 0.02
HELD = kt.control.TorqueTable(TIMES, ROWS[:, None], kind="step", hold=True)
LOOKS = np.array([0.0, 0.0391, 0.06, 0.2053, 0.4])


@pytest.fixture(scope="module")
def cart() -> kt.Robot:
    """Return a mass on a rail, whose motion under held forces is a parabola from jump to jump."""
    return kt.Builder("cart", gravity=(0, 0, 0)).body("cart", "base", kt.Prismatic("x"), mass=MASS).build()


def exact(times: np.ndarray) -> np.ndarray:
    """Return positions by summing up parabolas."""
    found = []
    for t in times:
        q = v = 0.0
        for begin, force in zip(TIMES, ROWS, strict=True):
            h = min(t, begin + 0.02) - begin
            if h > 0.0:
                q, v = q + h * v + 0.5 * h * h * force / MASS, v + h * force / MASS
        found.append(q)
    return np.array(found)


@pytest.mark.parametrize("step", [4e-3, 1.7e-3])
def test_a_fixed_step_meets_jumps_at_its_ends_and_within(cart: kt.Robot, step: float) -> None:
    """The formula is exact for parabolas; a stage on the wrong side of a jump is off by 1e-4 m."""
    options = {"time": 0.4, "controller": HELD, "integrator": "rk4", "step": step, "samples": LOOKS}
    alone = kt.simulate(cart, [0.0], progress=False, **options)
    assert np.allclose(alone.q[:, 0], exact(LOOKS), rtol=0.0, atol=1e-12)
    batch = kt.simulate(cart, [[0.0], [1.0]], progress=False, **options)
    assert np.allclose(batch.q[..., 0].T, [exact(LOOKS), 1.0 + exact(LOOKS)], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("integrator", "most"), [("dop853", 70), ("radau", 900)])
def test_a_chosen_step_ends_just_before_a_jump(cart: kt.Robot, integrator: str, most: int) -> None:
    """The last stage and the curve through a step see nothing of what acts behind it."""
    record = kt.simulate(
        cart, [0.0], time=0.4, controller=HELD, integrator=integrator, samples=LOOKS, progress=False, rtol=1e-10
    )
    assert np.allclose(record.q[:, 0], exact(LOOKS), rtol=0.0, atol=1e-10)
    assert record.info["steps"] < most


def test_worlds_meet_jumps_at_the_ends_of_their_steps(cart: kt.Robot) -> None:
    """Each world has a time of its own, so jumps within a step are not met there."""
    world = kt.World(cart, batch=2, controller=HELD, integrator="rk4", step=4e-3, substeps=5)
    world.reset()
    q, v = world.q.copy(), world.v.copy()
    for _ in range(10):
        world.step(np.zeros((2, 1)))
    assert np.allclose(world.q - q - 0.2 * v, exact(np.array([0.2])), rtol=0.0, atol=1e-12)

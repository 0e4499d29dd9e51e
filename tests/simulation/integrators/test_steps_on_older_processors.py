"""Steps in machine code for processors without AVX-512: the motion of the newer ones, the same in any lane."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("name", ["four-bar", "kuka-kr5"])
def test_steps_are_those_of_the_native_processor(name, integrator):
    model = kt.load(name).model
    kinds = kt.Mechanism if model.loops else kt.Robot
    robots = [kinds(model, backend="compiled", cpu=cpu) for cpu in (None, "x86-64-v3")]
    q = robots[0].assembled() if model.loops else robots[0].neutral()
    v = robots[0].velocities(q, [1.0]) if model.loops else np.ones(robots[0].nv)
    options = {"time": 0.1, "step": 1e-3, "integrator": integrator, "samples": 11}
    native, older = (kt.simulate(robot, q, v, **options) for robot in robots)
    np.testing.assert_allclose(older.q, native.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(older.v, native.v, rtol=0, atol=1e-10)
    batch = kt.simulate(robots[1], np.tile(q, (9, 1)), np.tile(v, (9, 1)), **options)
    np.testing.assert_array_equal(batch.q, np.broadcast_to(batch.q[:, :1], batch.q.shape))
    np.testing.assert_allclose(batch.q[:, 0], older.q, rtol=0, atol=1e-11)

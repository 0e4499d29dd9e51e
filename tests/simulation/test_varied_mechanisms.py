"""Parameters of mechanisms vary over a batch of simulations."""

import numpy as np
import pytest

import kinetree as kt


def four_bar(mass=None, backend="compiled"):
    robot = kt.load("four-bar")
    if mass is not None:
        table = robot.parameters()
        robot = robot.with_parameters({name: mass * table[name] for name in table.names if name.startswith("coupler.")})
    return robot.with_backend(backend)


def scaled(masses):
    table = kt.load("four-bar").parameters()
    return {name: np.asarray(masses) * table[name] for name in table.names if name.startswith("coupler.")}


@pytest.mark.parametrize("integrator", ["rk4", "implicit_euler"])
def test_a_batch_of_mechanisms_with_masses_of_their_own(integrator):
    robot, masses = four_bar(), [0.5, 1.0, 2.0]
    q = robot.close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    options = {"time": 0.2, "integrator": integrator, "step": 2e-3, "samples": 3}
    together = kt.simulate(robot, q, parameters=scaled(masses), **options)
    for k, mass in enumerate(masses):
        alone = kt.simulate(four_bar(mass), q, **options)
        assert np.abs(together.q[:, k] - alone.q).max() < 1e-10
        assert np.allclose(together.constraint_forces[:, k], alone.constraint_forces, atol=1e-6)
    assert np.abs(together.q[-1, 0] - together.q[-1, 2]).max() > 1e-4  # masses matter


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_one_mechanism_with_another_mass_by_adaptive_steps(backend):
    q = four_bar().close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    varied = kt.simulate(four_bar(backend=backend), q, time=0.1, parameters=scaled(2.0), samples=3)
    alone = kt.simulate(four_bar(2.0), q, time=0.1, samples=3)
    assert np.abs(varied.q - alone.q).max() < 1e-7
    assert varied.energy.relative_error < 1e-6


def test_what_decides_about_closed_loops_is_refused():
    robot = four_bar()
    q = robot.close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    for options, said in (
        ({"parameters": {"joints": {"crank_joint": {"position": [0.1, 0.0, 0.0]}}}}, "which configurations are closed"),
        ({"parameters": scaled(2.0), "drift": "baumgarte"}, "kept closed by projection"),
    ):
        with pytest.raises(kt.UnsupportedError, match=said):
            kt.simulate(robot, q, time=0.1, **options)

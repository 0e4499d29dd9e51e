"""Every run has a budget of steps: refused before it begins, or stopped with its record."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import balls
from helpers.robots import rods as rods_as_written


def rods():
    return rods_as_written().with_backend("compiled")


@pytest.mark.parametrize("step", [1e-9, 1e-300, 5e-324])
def test_steps_too_short_are_refused_before_the_start(no_hang, step):
    with pytest.raises(kt.OptionError, match=r"take a larger step, a shorter time, or .* steps_at_most=\.\.\."):
        kt.simulate(rods(), time=1.0, integrator="rk4", step=step)
    with pytest.raises(kt.OptionError, match="take a larger largest_step"):
        kt.simulate(rods(), time=1.0, largest_step=step)
    with pytest.raises(kt.OptionError, match="take a larger largest_step"):
        kt.simulate_rigid(balls(), [kt.contact.Contact("ball0")], [1.0], time=1.0, largest_step=step)


def test_the_number_of_steps_is_said_and_can_be_raised():
    options = {"time": 1.0, "integrator": "rk4", "step": 0.01}
    with pytest.raises(kt.OptionError, match=r"1 s in steps of 0\.01 s are 100 steps, and a run takes no more than 99"):
        kt.simulate(rods(), **options, steps_at_most=99)
    assert kt.simulate(rods(), **options, steps_at_most=100).info["steps"] == 100
    with pytest.raises(kt.OptionError, match="101 samples are more than a run may keep, 100"):
        kt.simulate(rods(), **options, steps_at_most=100, samples=101)


def test_a_batch_has_a_budget_too():
    with pytest.raises(kt.OptionError, match=r"1e\+09 steps"):
        kt.simulate(rods(), np.zeros((3, 2)), time=1.0, integrator="rk4", step=1e-9)


def test_a_motion_too_fast_to_be_followed_is_stopped_with_its_record(no_hang):
    with pytest.raises(kt.SimulationError, match=r"200 steps .* more would be needed .* larger rtol") as caught:
        kt.simulate(rods(), [0.5, 1.0], [1e6, 1e6], time=1e5)
    assert caught.value.record.info["steps"] == 200
    assert 0.0 < caught.value.record.time[-1] == caught.value.time < 1e-3


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
@pytest.mark.parametrize("what", ["random", "remembers"])
def test_a_controller_that_depends_on_more_than_its_arguments_is_stopped(no_hang, integrator, what):
    rng, calls = np.random.default_rng(0), itertools.count()

    def controller(t, q, v):
        return rng.normal(size=2) if what == "random" else [np.sin(7.0 * next(calls)), 0.0]

    with pytest.raises(kt.SimulationError, match="depends on t, q and v alone") as caught:
        kt.simulate(rods(), time=1.0, controller=controller, integrator=integrator)
    assert len(caught.value.record) > 1


def test_an_adaptive_run_stops_at_its_budget():
    with pytest.raises(kt.SimulationError, match=r"7 steps are taken, .* where 7 are allowed in all") as caught:
        kt.simulate(rods(), [1.0, 1.5], time=5.0, steps_at_most=7)
    assert caught.value.record.info["steps"] == 7
    with pytest.raises(kt.SimulationError, match="where 3 are allowed in all"):
        kt.simulate_rigid(balls(), [kt.contact.Contact("ball0")], [1.0], time=2.0, steps_at_most=3)
    enough = kt.simulate(rods(), [1.0, 1.5], time=5.0).info["steps"]
    assert kt.simulate(rods(), [1.0, 1.5], time=5.0, steps_at_most=enough).status == "complete"


def test_a_short_phase_of_small_steps_is_no_reason_to_stop():
    def jolt(t, q, v):  # a thousand swings of force within a millisecond
        return [np.sin(6e6 * t) if 0.1 < t < 0.1002 else 0.0, 0.0]

    assert kt.simulate(rods(), time=0.2, controller=jolt, largest_step=0.01).status == "complete"

"""Controllers that compute with another robot than they drive: against closed forms of what they leave over."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import control, trajectories

GOAL, KP, KD = 0.7, 400.0, 40.0


def pendulum(mass: float = 1.0, joint: str = "pivot") -> kt.Robot:
    """A point at the end of a rod of one meter."""
    builder = kt.Builder("pendulum")
    return (
        builder.body("bob", "base", kt.Revolute("y"), mass=mass, com=(0, 0, -1), joint_name=joint)
        .build()
        .with_backend("compiled")
    )


@pytest.fixture(scope="module")
def servo():
    return control.ComputedTorque(trajectories.Constant([GOAL]), KP, KD)


def resting_error(share: float) -> float:
    """e where a servo with ``share`` of the true mass holds: share (kp e + g sin) = g sin, sin of where it is."""
    e = 0.0
    for _ in range(100):
        e = 9.81 * np.sin(GOAL - e) * (1.0 - share) / (share * KP)
    return e


def test_a_wrong_mass_leaves_the_error_that_statics_say(servo):
    robot, share = pendulum(), np.array([0.8, 1.0, 1.25])
    # one model for robots that differ, as parameters of a simulation: the share of the mass that it knows
    record = kt.simulate(
        robot, [GOAL], time=1.2, controller=control.WithModel(servo, robot), integrator="rk4", step=1e-2, samples=2,
        parameters={"bodies": {"bob": {"mass": 1.0 / share}}},
    )  # fmt: skip
    assert np.allclose(GOAL - record.q[-1, :, 0], [resting_error(x) for x in share], atol=1e-9)
    # without it the controller knows each of them
    knowing = kt.simulate(
        robot, [GOAL], time=1.2, controller=servo, integrator="rk4", step=1e-2, samples=2,
        parameters={"bodies": {"bob": {"mass": 1.0 / share}}},
    )  # fmt: skip
    assert np.allclose(knowing.q[-1], GOAL, atol=1e-12)


def test_an_observer_knows_no_more_than_its_law_and_takes_the_error_off(servo):
    light = pendulum(0.8)
    end = {"time": 1.2, "integrator": "rk4", "step": 1e-2, "samples": 2}
    watch = control.MomentumObserver(gain=40.0)
    for law in (
        control.Sampled(control.WithModel(servo, light), 1e-2, observer=watch),
        control.Sampled(servo, 1e-2, observer=watch, model=light),
        control.Sampled(lambda t, q, v: servo(light, t, q, v), 1e-2, observer=watch, model=light),
    ):
        record = kt.simulate(pendulum(), [GOAL], controller=law, **end)
        assert np.isclose(GOAL - record.q[-1, 0], resting_error(0.8), atol=1e-6)
        # the weight that its model does not explain
        assert np.isclose(record.sampled.load[-1, 0], -0.2 * 9.81 * np.sin(record.q[-1, 0]), atol=1e-5)
    steady = control.Sampled(servo, 1e-2, observer=control.MomentumObserver(gain=40.0, compensate=True), model=light)
    assert abs(kt.simulate(pendulum(), [GOAL], controller=steady, **end).q[-1, 0] - GOAL) < 1e-6


def test_all_that_a_controller_is_goes_through_it():
    known, heavy = pendulum(), pendulum(3.0)
    gains = np.array([[10.0], [20.0]])
    law = control.PID(trajectories.Constant([GOAL]).held(), gains, 2.0, 1.0) + control.GravityCompensation()
    unaware = control.WithModel(law, known)
    assert unaware.span == law.span
    assert len(unaware.initial_states(heavy.model)) == 1
    state = 0.0, [0.1], [0.2], [0.3]
    assert np.array_equal(unaware(heavy, *state), law(known, *state))
    assert unaware(heavy, *state).shape == (2, 1)
    implicit = {"integrator": "implicit_euler", "step": 0.01, "time": 0.1, "samples": 2}
    pd = control.PD(trajectories.Constant([GOAL]), 1e5, 1e3)
    same = [kt.simulate(heavy, controller=x, **implicit).q for x in (pd, control.WithModel(pd, known))]
    assert np.array_equal(*same)
    assert np.isfinite(same[0]).all()


def test_what_is_no_model_is_refused(servo):
    with pytest.raises(kt.OptionError, match="must be a robot, not 'light'"):
        control.WithModel(servo, "light")
    with pytest.raises(kt.UnsupportedError, match=r"Sampled\(WithModel\(law, model\)"):
        control.WithModel(control.Sampled(servo, 1e-2), pendulum())
    other = pendulum(joint="hinge")
    for law in (control.WithModel(servo, other), control.Sampled(servo, 1e-2, model=other)):
        with pytest.raises(
            kt.OptionError, match="whose joints are not those of 'pendulum', which it drives: see 'pivot'"
        ):
            kt.simulate(pendulum(), time=0.1, controller=law)

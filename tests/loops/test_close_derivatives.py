"""Derivatives of closed configurations, judged by sixth-order differences of closing itself."""

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import FIVE_BAR_START, five_bar

STEPS = np.array([-3, -2, -1, 1, 2, 3])
FIRST, SECOND = np.array([-1, 9, -45, 45, -9, 1]) / 60, np.array([2, -27, 270, 270, -27, 2]) / 180


def pin(x):
    return {"loops": {"pin": {"position": x}}}


def with_pin(x):
    b = kt.Builder("four-bar")
    turn = kt.Revolute("z")
    b.body("crank", "base", turn, mass=1.0)
    b.body("rocker", "base", turn, position=(-0.9, 0, 0), mass=1.0, actuated=False)
    b.body("coupler", "rocker", turn, position=(1.1, 0, 0), mass=1.0, actuated=False)
    b.loop("pin", "crank", "coupler", turn, placement=(*x, 0), seat=(1.15, 0, 0))
    return kt.Mechanism(b.build().model, backend="compiled")


def test_derivatives_by_drive_and_dimensions_are_those_of_closing():
    where = np.array([0.4, 0.03])
    robot = with_pin(where)
    q = robot.close([0.3, 1.0, 4.3], fixed=["crank_joint"])
    found = robot.close_derivatives(q, ["crank_joint"], pin([*where, 0.0]), order=2)
    assert found.names == ("crank_joint", "loops.pin.position[0]", "loops.pin.position[1]", "loops.pin.position[2]")

    h = 2e-3
    turned = robot.close(np.tile(q, (6, 1)), fixed={"crank_joint": q[0] + h * STEPS})
    middle = robot.close(q, fixed=["crank_joint"])
    assert np.abs(FIRST @ turned / h - found.first[:, 0]).max() < 1e-9
    assert np.abs((SECOND @ turned - SECOND.sum() * middle) / h**2 - found.second[:, 0, 0]).max() < 1e-7
    lanes = np.array([[where[0] + h * s, where[1], 0.0] for s in STEPS])
    still = np.full((1, 1), q[0])
    moved = robot.driven_motion(still, 0 * still, 0 * still, pin(lanes), q_guess=q).q[:, 0]
    assert np.abs(FIRST @ moved / h - found.first[:, 1]).max() < 1e-9
    assert np.abs((SECOND @ moved - SECOND.sum() * middle) / h**2 - found.second[:, 1, 1]).max() < 1e-7
    slopes = np.array([robot.close_derivatives(x, ["crank_joint"], pin([*where, 0.0])).first[:, 1] for x in turned])
    assert np.abs(FIRST @ slopes / h - found.second[:, 0, 1]).max() < 1e-9
    assert np.allclose(found.second, np.swapaxes(found.second, -1, -2), atol=1e-12)
    v = robot.velocities(q, [1.0])
    assert np.allclose(found.first[:, 0], v, atol=1e-12)  # what velocities and accelerations are made of
    assert np.allclose(found.second[:, 0, 0], robot.accelerations(q, v, [0.0]), atol=1e-10)


def test_batches_other_drives_and_what_has_no_derivative():
    robot = five_bar()
    q = robot.close(FIVE_BAR_START)
    batch = robot.close(robot.integrate(q, 0.1 * np.random.default_rng(0).standard_normal((5, robot.nv))))
    whole = robot.close_derivatives(batch, threads=2)
    assert whole.first.shape == (5, 4, 2)
    assert whole.second is None
    for one, first in zip(batch, whole.first, strict=True):
        assert np.array_equal(robot.close_derivatives(one).first, first)
    other = robot.close_derivatives(batch, ["a1_joint", "a2_joint"])
    rates = np.stack(
        [other.first[..., robot.joint(name).v_slice.start, :] for name in ("a1_joint", "b1_joint")], axis=-2
    )
    order = [whole.names.index(name) for name in ("a1_joint", "b1_joint")]
    assert np.allclose(other.first, whole.first[..., order] @ rates, atol=1e-10)
    spoiled = batch.copy()
    spoiled[1], spoiled[3] = np.nan, spoiled[3] + 0.1  # unknown, and open
    assert np.isnan(robot.close_derivatives(spoiled).first).all(axis=(1, 2)).tolist() == [
        False,
        True,
        False,
        True,
        False,
    ]
    with pytest.raises(kt.OptionError, match="can still move"):
        robot.close_derivatives(q, ["a1_joint"])
    with pytest.raises(kt.OptionError):
        robot.close_derivatives(q, order=3)

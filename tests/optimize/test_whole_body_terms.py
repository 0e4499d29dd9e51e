"""Terms about whole robots: their numbers are those of the robot, and limits of them are kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt

o = kt.optimize


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def block():
    made = kt.Builder("block").body("block", "base", kt.Prismatic("x"), mass=2.0, joint_name="track", effort_limit=50.0)
    return compiled(made)


def test_powers_of_a_block_are_limited():
    ends = [o.Positions([1.0], at="end"), o.Velocities(at="end")]
    given = {"horizon": 1.0, "step": 0.02, "costs": [o.Effort()]}
    free = kt.optimize(block(), limits=["torques", *ends], **given)
    plan = kt.optimize(block(), limits=["torques", o.Bounded(o.Powers(), -6.5, 6.5), *ends], **given)
    powers = [(each.u[:, 0] * each.v[:-1, 0]) for each in (free, plan)]
    assert plan.success
    assert np.abs(powers[0]).max() > 7.0
    assert np.abs(powers[1]).max() < 6.5 + 1e-4
    assert plan.cost > free.cost
    assert any("power of track" in each.name for each in plan.limits)


def two_links():
    b = kt.Builder("arm")
    for k in range(2):
        b.body(
            f"link{k}", f"link{k - 1}" if k else "base", kt.Revolute("y"), position=(0, 0, 0.4 if k else 0), mass=1.0,
            com=(0.0, 0.05, 0.2), inertia=(0.03, 0.03, 0.01),
        )  # fmt: skip
    return compiled(b)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["energy", "momentum", "center"])
def test_ends_are_what_the_robot_says(kind):
    robot, q, v = two_links(), np.array([0.5, 0.4]), np.array([0.3, -0.2])
    momentum, center = robot.momentum(q, v), robot.center_of_mass(q)
    energy = float(robot.kinetic_energy(q, v) + robot.potential_energy(q))
    term = {
        "energy": o.Energy(energy, at="end"),
        "momentum": o.Residual(lambda m: 0.0 * m.q[0], at="end"),
        "center": o.CenterOfMass(center, axes="xz", at="end"),
    }[kind]
    limits = [o.Positions(q, at="end"), o.Velocities(v, at="end")] if kind == "momentum" else [term]
    costs = [o.Effort(weight=0.1), *([o.Momentum(momentum, at="end")] if kind == "momentum" else [])]
    plan = kt.optimize(robot, [0.1, 0.1], horizon=0.5, step=0.02, costs=costs, limits=limits)
    assert plan.success
    last = plan.q[-1], plan.v[-1]
    if kind == "energy":
        assert_allclose(robot.kinetic_energy(*last) + robot.potential_energy(last[0]), energy, atol=1e-5)
    elif kind == "center":
        assert_allclose(robot.center_of_mass(last[0])[[0, 2]], center[[0, 2]], atol=1e-5)
    else:  # the state is held at the end, where the momentum costs nothing
        without = kt.optimize(robot, [0.1, 0.1], horizon=0.5, step=0.02, costs=[o.Effort(weight=0.1)], limits=limits)
        assert_allclose(plan.cost, without.cost, rtol=1e-6)


def test_what_is_wrong_is_said():
    with pytest.raises(kt.OptionError, match="powers count while it runs"):
        o.Powers(at="end")
    with pytest.raises(kt.OptionError, match="axes of CenterOfMass"):
        o.CenterOfMass([0, 0, 0], axes="w")
    with pytest.raises(kt.ShapeError, match="momentum must be 6 finite numbers"):
        kt.optimize(block(), horizon=0.1, step=0.02, costs=[o.Momentum([1.0, 2.0])], limits=[])

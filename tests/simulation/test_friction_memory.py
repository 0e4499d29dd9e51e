"""Friction that builds up over some way or in some time: against Dahl's and Maxwell's models in closed form."""

import numpy as np
import pytest
from scipy.linalg import expm

import kinetree as kt

MASS, COULOMB, TRAVEL = 2.0, 3.0, 0.01
DAMPING, TIME = 5.0, 0.2


def sledge(travel=TRAVEL):
    made = kt.Builder("sledge", gravity=(0, 0, 0))
    return made.body("a", "base", kt.Prismatic("x"), mass=MASS, friction=COULOMB, friction_travel=travel).build()


def taken(x, start=0.0):
    """Return the work against friction on a way without reversals, of which a share had built up."""
    return COULOMB * (x - (1.0 - start) * TRAVEL * (1.0 - np.exp(-x / TRAVEL)))


def test_friction_builds_up_with_the_way():
    force = 5.0
    record = kt.simulate(sledge(), [0.0], [0.0], time=0.2, controller=lambda t, q, v: [force], rtol=1e-10, atol=1e-12)
    x, v = record.q[:, 0], record.v[:, 0]
    assert x[-1] > 2.0 * TRAVEL
    np.testing.assert_allclose(0.5 * MASS * v**2, force * x - taken(x), atol=1e-9)
    np.testing.assert_allclose(record.friction[:, 0], -COULOMB * (1.0 - np.exp(-x / TRAVEL)), atol=1e-7)
    assert record.energy.relative_error < 1e-9


@pytest.mark.parametrize(("integrator", "tolerance"), [("rk4", 1e-9), ("semi_implicit_euler", 2e-3)])
def test_batches_with_other_friction(integrator, tolerance):
    both = kt.simulate(
        sledge(), [0.0], [1.0], time=0.1, step=2e-4, integrator=integrator,
        parameters={"a_joint.friction": np.array([COULOMB, 0.0])},
    )  # fmt: skip
    x, v = both.q[:, 0, 0], both.v[:, 0, 0]
    np.testing.assert_allclose(0.5 * MASS * v**2, 0.5 * MASS - taken(x), atol=tolerance)
    np.testing.assert_allclose(both.v[:, 1], 1.0, atol=1e-12)


def test_below_coulomb_friction_it_is_a_spring():
    """A force below friction moves it by a part of the travel, and back: as stiff as friction over travel."""
    force = 0.01
    record = kt.simulate(sledge(), [0.0], [0.0], time=0.5, controller=lambda t, q, v: [force], rtol=1e-9, atol=1e-12)
    swing = force * TRAVEL / COULOMB * (1.0 - np.cos(np.sqrt(COULOMB / TRAVEL / MASS) * record.time))
    np.testing.assert_allclose(record.q[:, 0], swing, atol=0.02 * swing.max())
    free = kt.simulate(sledge(), [0.0], [0.0], time=0.1, friction=False, controller=lambda t, q, v: [1.0])
    assert free.q[-1, 0] == pytest.approx(0.5 * 1.0 / MASS * 0.1**2, rel=1e-6)


def damped(time=TIME):
    made = kt.Builder("sledge", gravity=(0, 0, 0))
    return made.body("a", "base", kt.Prismatic("x"), mass=MASS, damping=DAMPING, damping_time=time).build()


@pytest.mark.parametrize(
    ("way", "tolerance"), [({"rtol": 1e-9}, 1e-6), ({"integrator": "semi_implicit_euler", "step": 1e-3}, 5e-3)]
)
def test_damping_follows_in_time(way, tolerance):
    """A linear equation in velocity and in that of the damper, which begins at rest."""
    record = kt.simulate(damped(), [0.0], [1.0], time=1.5, **way)
    equation = np.array([[0.0, -DAMPING / MASS], [1.0 / TIME, -1.0 / TIME]])
    v, behind = np.array([expm(equation * t) @ [1.0, 0.0] for t in record.time]).T
    np.testing.assert_allclose(record.v[:, 0], v, atol=tolerance)
    np.testing.assert_allclose(record.friction[:, 0], -DAMPING * behind, atol=DAMPING * tolerance)
    assert v.min() < -0.02  # it swings back: before the damper there is a spring
    assert damped().friction_force([2.0]) == pytest.approx(2.0 * DAMPING)  # at a velocity alone: after a long time


def led(**friction):
    """A sledge that another one of half its friction and no memory follows, twice as fast."""
    made = kt.Builder("two", gravity=(0, 0, 0))
    made.body("a", "base", kt.Prismatic("x"), mass=MASS, **friction)
    other = {name: 0.5 * friction[name] for name in ("damping", "friction") if name in friction}
    return made.body("b", "base", kt.Prismatic("x"), mass=MASS, mimic=kt.Mimic("a_joint", 2.0), **other).build()


def test_friction_of_followers_is_there_at_once():
    """As what refuses their ``damping_time`` says: only the leader's own builds up, though its freedom feels both."""
    record = kt.simulate(led(damping=DAMPING, damping_time=TIME), [0.0], [1.0], time=1.0, rtol=1e-9)
    equation = np.array([[-2.0 * DAMPING, -DAMPING], [5.0 * MASS / TIME, -5.0 * MASS / TIME]]) / (5.0 * MASS)
    v, behind = np.array([expm(equation * t) @ [1.0, 0.0] for t in record.time]).T
    np.testing.assert_allclose(record.v[:, 0], v, atol=1e-6)
    np.testing.assert_allclose(record.friction[:, 0], -DAMPING * (behind + 2.0 * v), atol=1e-5)
    # Coulomb's: the leader's over its way, the follower's (half as much, twice as fast) from the first
    slid = kt.simulate(led(friction=COULOMB, friction_travel=TRAVEL), [0.0], [2.0], time=0.2, friction_speed=1e-6)
    x = slid.q[:, 0]
    np.testing.assert_allclose(2.5 * MASS * slid.v[:, 0] ** 2, 10.0 * MASS - taken(x) - COULOMB * x, atol=1e-5)


def test_files_keep_time(tmp_path):
    robot = damped()
    robot.save(tmp_path / "sledge.yaml")
    assert kt.load(tmp_path / "sledge.yaml").model.joint("a_joint").damping_time == (TIME,)
    both = robot.with_friction_travel({"a_joint": TRAVEL})
    assert both.model.joint("a_joint").damping_time == (TIME,)
    assert both.with_damping_time({"a_joint": 0.0}).model.joint("a_joint").friction_travel == (TRAVEL,)
    with pytest.warns(kt.KinetreeWarning, match="time in which damping follows of joint 'a_joint'"):
        robot.with_gravity((0, 0, -9.81)).save(tmp_path / "sledge.urdf")
    with pytest.raises(kt.ModelError, match="damping_time must not be negative"):
        damped(-1.0)


def test_files_keep_it(tmp_path):
    robot = sledge()
    robot.save(tmp_path / "sledge.yaml")
    again = kt.load(tmp_path / "sledge.yaml")
    assert again.model.joint("a_joint").friction_travel == (TRAVEL,)
    assert again.with_friction_travel({"a_joint": 0.0}).model.joint("a_joint").friction_travel == ()
    with pytest.warns(kt.KinetreeWarning, match="way in which friction builds up of joint 'a_joint'"):
        robot.save(tmp_path / "sledge.sdf")
    with pytest.raises(kt.ModelError, match="friction_travel must not be negative"):
        sledge(-1.0)
    follower = kt.Builder("two").body("a", "base", kt.Revolute("x"), mass=1.0)
    with pytest.raises(kt.ModelError, match="give friction_travel to its leader"):
        follower.body("b", "a", kt.Revolute("x"), mass=1.0, mimic=kt.Mimic("a_joint"), friction_travel=0.1).build()

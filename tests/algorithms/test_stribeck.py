"""Friction that fades with speed: against its formula, differences, and SciPy's integrator."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt

MASS, DAMPING, COULOMB, MORE, SPEED = 2.0, 0.4, 3.0, 1.5, 0.3
SMOOTH = 1e-2


def sledge(more=MORE, speed=SPEED):
    made = kt.Builder("sledge", gravity=(0, 0, 0))
    return made.body(
        "a", "base", kt.Prismatic("x"), mass=MASS, inertia=(1.0, 1.0, 1.0), damping=DAMPING, friction=COULOMB,
        stribeck=more, stribeck_speed=speed,
    ).build()  # fmt: skip


def formula(v):
    return DAMPING * v + (COULOMB + MORE * np.exp(-((v / SPEED) ** 2))) * np.sign(v)


@pytest.fixture(scope="module")
def robot():
    return sledge()


@pytest.fixture(scope="module")
def speeds():
    return np.array([-2.0, -0.3, -0.01, 0.0, 0.05, 0.5])[:, None]


def test_forces_of_all_kinds(robot, speeds):
    rest = np.zeros_like(speeds)
    np.testing.assert_allclose(robot.friction_force(speeds), formula(speeds), rtol=1e-15)
    np.testing.assert_allclose(robot.inverse_dynamics(rest, speeds, rest, friction=True), formula(speeds), rtol=1e-14)
    np.testing.assert_allclose(robot.forward_dynamics(rest, speeds, rest, friction=True), -formula(speeds) / MASS)
    values = robot.parameters().values
    np.testing.assert_allclose(robot.regressor(rest, speeds, rest, friction=True) @ values, formula(speeds), rtol=1e-14)
    power = robot.power_regressor(rest, speeds, rest, friction=True) @ values
    np.testing.assert_allclose(power, (formula(speeds) * speeds)[:, 0], rtol=1e-14)
    assert not np.any(robot.regressor(rest, speeds, rest)[..., -1])
    assert np.isnan(robot.friction_force([np.nan])).all()


def test_it_is_a_parameter(robot):
    table = robot.parameters()
    assert table.names[-1] == "a_joint.stribeck"
    assert table.units[-1] == "N"
    assert robot.with_parameters({"a_joint.stribeck": 0.5}).model.joint("a_joint").stribeck == (0.5,)
    varied = robot.friction_force([0.1], {"a_joint.stribeck": np.array([0.0, MORE])})
    np.testing.assert_allclose(varied[:, 0], [DAMPING * 0.1 + COULOMB, formula(0.1)])
    with pytest.raises(kt.ModelError, match=r"stribeck of joint 'a_joint' is -1"):
        robot.with_parameters({"a_joint.stribeck": -1.0})


def test_slopes(robot, speeds):
    moving = speeds[speeds[:, 0] != 0.0]
    rest, h = np.zeros_like(moving), 1e-6
    slope = (formula(moving + h) - formula(moving - h)) / (2.0 * h)
    by_v = robot.inverse_dynamics_derivatives(rest, moving, rest, friction=True)[1]
    np.testing.assert_allclose(by_v[..., 0], slope, rtol=1e-7)
    by_v = robot.forward_dynamics_derivatives(rest, moving, rest, friction=True)[1]
    np.testing.assert_allclose(by_v[..., 0], -slope / MASS, rtol=1e-7)
    bare = robot.with_parameters({"a_joint.friction": 0.0})
    with pytest.raises(kt.StateError, match="jumps there"):
        bare.inverse_dynamics_derivatives([0.0], [0.0], [0.0], friction=True)


@pytest.mark.parametrize(
    ("way", "tolerance"),
    [({"rtol": 1e-9, "atol": 1e-11}, 1e-7), ({"integrator": "semi_implicit_euler", "step": 1e-3}, 2e-3)],
)
def test_simulations_know_it(robot, way, tolerance):
    def rates(t, y):
        v = y[1]
        smooth = v / np.hypot(v, SMOOTH)
        return v, -(DAMPING * v + (COULOMB + MORE * np.exp(-((v / SPEED) ** 2))) * smooth) / MASS

    record = kt.simulate(robot, [0.0], [1.5], time=1.0, friction_speed=SMOOTH, **way)
    right = solve_ivp(rates, (0.0, 1.0), [0.0, 1.5], method="Radau", rtol=1e-10, atol=1e-12, t_eval=record.time)
    np.testing.assert_allclose(record.v[:, 0], right.y[1], atol=tolerance)
    assert abs(record.v[-1, 0]) < 1e-3  # it comes to rest, the sooner for it
    if "step" in way:
        both = kt.simulate(robot, [0.0], [1.5], time=0.7, parameters={"a_joint.stribeck": np.array([MORE, 0.0])}, **way)
        assert both.v[-1, 0, 0] == pytest.approx(record.v[700, 0], abs=1e-12)
        assert both.v[-1, 0, 0] < both.v[-1, 1, 0]


def test_files(tmp_path, robot):
    robot.save(tmp_path / "sledge.yaml")
    again = kt.load(tmp_path / "sledge.yaml")
    assert again.model.joint("a_joint") == robot.model.joint("a_joint")
    assert "stribeck 1.5  fades with 0.3" in again.describe()
    for ending in ("urdf", "xml", "sdf"):
        with pytest.warns(kt.KinetreeWarning, match="Stribeck's friction of joint 'a_joint'"):
            robot.with_gravity((0, 0, -9.81)).save(tmp_path / f"sledge.{ending}")
    assert not again.with_stribeck({"a_joint": 0.0}, {}).model.joint("a_joint").stribeck


def test_what_cannot_be_is_said():
    for more, speed, words in (
        (-1.0, 0.1, "must not be negative"), (1.0, None, "needs a stribeck_speed"), (1.0, 0.0, "above zero"),
        (None, 0.1, "give stribeck"),
    ):  # fmt: skip
        with pytest.raises(kt.ModelError, match=words):
            sledge(more, speed)
    two = kt.Builder("two").body("a", "base", kt.Revolute("x"), mass=1.0)
    with pytest.raises(kt.ModelError, match="give stribeck to its leader"):
        two.body("b", "a", kt.Revolute("x"), mass=1.0, mimic=kt.Mimic("a_joint"), stribeck=1.0, stribeck_speed=0.1)
    with pytest.raises(kt.ModelError, match="no stribeck_speed"):
        two.build().friction_force([0.0], {"joints": {"a_joint": {"stribeck": 1.0}}})

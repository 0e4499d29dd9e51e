"""Joint stops: push back beyond the limits, on every kind of joint, and never pull."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.contact.ground import Firm, HuntCrossley
from kinetree.contact.joint_stops import JointStops
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.spatial.arrays import flatten, pack, split


def arm():
    builder = kt.Builder("arm")
    rod = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.02, 0.02)}
    builder.body("a", "base", kt.Revolute("y"), joint_name="hinge", lower=-0.5, upper=0.8, **rod)
    builder.body("b", "a", kt.Prismatic("x"), joint_name="slide", upper=0.3, **rod)
    builder.body("c", "b", kt.EulerSpherical("zyx"), joint_name="ball", lower=[-0.4] * 3, upper=[0.4] * 3, **rod)
    builder.body(
        "d", "b", kt.Revolute("z"), joint_name="twin", lower=-0.2, upper=0.2, mimic=kt.Mimic("slide", -2.0, 0.1), **rod
    )
    return builder.build()


def test_push_back_beyond_the_limit_only():
    robot = arm()
    stops = JointStops(HuntCrossley(1e3, 0.0, exponent=1), joints=["hinge"])

    def force(angle, rate=0.0):
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[0], v[0] = angle, rate
        return stops.loads(robot.model, 0.0, list(q), list(v))[1][0]

    assert force(0.79) == 0.0
    assert force(0.81) == pytest.approx(-10.0)
    assert force(-0.52) == pytest.approx(20.0)


@pytest.mark.parametrize("law", [HuntCrossley(1e3, 0.5, exponent=1), HuntCrossley(1e4, 0.3), Firm(1e3, 50.0, 0.01)])
def test_power_is_that_of_the_joint_forces_and_force_is_minus_the_slope_of_the_energy(law):
    """Also where rates of the coordinates are not the velocities, and on joints that mimic others."""
    robot, rng = arm(), np.random.default_rng(0)
    stops, tree = JointStops(law), robot.model
    for _ in range(20):
        q = rng.uniform(-1.2, 1.2, robot.nq)
        v = rng.normal(size=robot.nv)
        _, tau, _ = stops.loads(tree, 0.0, list(q), list(v))
        assert stops.power(tree, 0.0, list(q), list(v)) == pytest.approx(np.array(tau) @ v, rel=1e-12)
        still = np.array(stops.loads(tree, 0.0, list(q), [0.0] * robot.nv)[1], dtype=float)
        for k in range(robot.nv):
            unit, h = np.eye(robot.nv)[k], 1e-6
            up, down = (stops.energy(tree, 0.0, list(robot.integrate(q, s * h * unit)), list(v)) for s in (1, -1))
            assert still[k] == pytest.approx(-(up - down) / (2 * h), abs=1e-4 * (1 + abs(still[k])))


def test_machine_code_agrees():
    robot, rng = arm(), np.random.default_rng(1)
    stops, tree = JointStops(), robot.model
    lengths = (robot.nq, robot.nv)

    def law(q, v):
        return stops.loads(tree, 0.0, q, v)[1]

    kernel = Kernel("stops", lambda: trace(law, lengths, flatten), lengths, (robot.nv,), None, ("q", "v"), False)
    q, v = rng.uniform(-1, 1, (20, robot.nq)), rng.normal(size=(20, robot.nv))
    assert np.allclose(kernel(q, v), pack(law(split(q), split(v)), (20,)), rtol=1e-12, atol=1e-9)


def test_pendulum_bounces_off_its_stop_without_gaining_energy():
    builder = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), lower=0.0)
    robot = builder.build()
    stops = JointStops(HuntCrossley(5e3, 0.2, exponent=1))

    def swing(t, y):
        _, tau, _ = stops.loads(robot.model, t, [y[0]], [y[1]])
        return [y[1], robot.forward_dynamics(y[:1], y[1:2], np.array(tau, dtype=float))[0]]

    run = solve_ivp(swing, (0, 1.5), [1.0, 0.0], rtol=1e-9, atol=1e-11, max_step=5e-3)
    energy = [
        robot.kinetic_energy([a], [w]) + robot.potential_energy([a]) + stops.energy(robot.model, 0.0, [a], [w])
        for a, w in run.y.T
    ]
    assert run.y[0].min() > -0.05
    assert np.all(np.diff(energy) < 1e-7)
    assert energy[-1] < energy[0] - 0.1


def test_stops_are_the_same_as_ground_and_as_forces():
    robot = kt.Builder("one").body("bob", "base", kt.Revolute("y"), mass=1.0, com=(0.3, 0, 0), upper=0.5).build()
    ways = ({"ground": JointStops()}, {"forces": [kt.forces.JointStops()]})
    first, second = (kt.simulate(robot, [0.4], time=0.3, integrator="rk4", step=1e-3, **way) for way in ways)
    assert 0.5 < first.q.max() < 0.52  # it came to the stop
    np.testing.assert_allclose(second.q, first.q, atol=1e-12)
    np.testing.assert_allclose(second.energy.forces, first.energy.ground, atol=1e-12)
    assert first.energy.ground[-1] < -0.1


def test_joints_without_limits_and_unknown_ones_are_named():
    robot = kt.Builder("one").body("a", "base", kt.Revolute("y"), joint_name="free", mass=1.0, com=(1, 0, 0)).build()
    assert JointStops().loads(robot.model, 0.0, [9.0], [0.0])[1] == [0.0]
    with pytest.raises(kt.ModelError, match="no finite limit"):
        JointStops(joints=["free"]).loads(robot.model, 0.0, [0.0], [0.0])
    with pytest.raises(kt.UnknownNameError, match="free"):
        JointStops(joints=["fre"]).loads(robot.model, 0.0, [0.0], [0.0])
    with pytest.raises(kt.OptionError, match="law"):
        JointStops(law=3.0)

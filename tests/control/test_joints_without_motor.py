"""Joints without a motor: no controller can push them, and one that tries is told so."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import control as laws
from kinetree.contact.rigid_contacts import Contact

BACKENDS = ["reference", "compiled"]
BATCHED = {"integrator": "rk4", "step": 0.01, "q0": np.full((3, 2), 0.1), "v0": np.full((3, 2), 0.2)}
SINGLE = {"q0": [0.1, 0.2], "v0": [0.3, 0.4]}
WAYS = [SINGLE, SINGLE | {"integrator": "rk4", "step": 0.01}, SINGLE | {"integrator": "variational", "step": 0.01},
        BATCHED]  # fmt: skip


def acrobot(backend: str) -> kt.Robot:
    b = kt.Builder("acrobot").body("upper", "base", kt.Revolute("y"), joint_name="shoulder", mass=1, com=(0, 0, -0.5),
                                   actuated=False)  # fmt: skip
    b.body("lower", "upper", kt.Revolute("y"), joint_name="elbow", position=(0, 0, -1), mass=1, com=(0, 0, -0.5))
    return b.build().with_backend(backend)


ASKING = {
    "a function": lambda t, q, v: np.broadcast_to([5.0, 1.0], v.shape),
    "a constant law": laws.Law(lambda t, q, v: [5.0, 1.0]),
    "a law": laws.Law(lambda t, q, v: [-0.5 * rate for rate in v]),
    "a table": laws.TorqueTable([0, 1], [[5.0, 0.0], [5.0, 0.0]]),
    "a sum": laws.GravityCompensation() + laws.Law(lambda t, q, v: [q[0], 0.0]),
    "a limited law": laws.Saturated(laws.Law(lambda t, q, v: [5.0 * q[0], 0.0]), 1.0),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("way", WAYS, ids=["adaptive", "rk4", "variational", "batch"])
@pytest.mark.parametrize("name", ASKING)
def test_a_force_on_a_joint_without_motor_is_refused(backend, way, name):
    with pytest.raises(kt.SimulationError, match="no motor") as caught:
        kt.simulate(acrobot(backend), time=0.3, controller=ASKING[name], samples=3, **way)
    assert caught.value.joint == "shoulder"
    assert "'shoulder'" in str(caught.value)
    assert "elbow" not in str(caught.value)
    assert 0.0 <= caught.value.time <= 0.01


@pytest.mark.parametrize("way", WAYS, ids=["adaptive", "rk4", "variational", "batch"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_forces_of_motors_alone_are_not(backend, way):
    """Exact zeros count as none, however the law writes them, and the others act as they are."""
    forces = {
        "function": lambda t, q, v: np.stack([0.0 * v[..., 0], -v[..., 1]], axis=-1),
        "law": laws.Law(lambda t, q, v: [0.0 * q[0], -1.0 * v[1]]),
        "minus zero": laws.Law(lambda t, q, v: [-0.0, -1.0 * v[1]]),
    }
    ends = [kt.simulate(acrobot(backend), time=0.3, controller=c, samples=3, **way).v[-1] for c in forces.values()]
    assert np.allclose(ends[0], ends[1], rtol=1e-6)
    assert np.allclose(ends[0], ends[2], rtol=1e-6)
    free = kt.simulate(acrobot(backend), time=0.3, samples=3, **way).v[-1]
    assert np.all(np.abs(ends[0] - free) > 1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_force_that_comes_later_is_refused_when_it_comes(backend):
    late = lambda t, q, v: [4.0 if t > 0.25 else 0.0, 1.0]  # noqa: E731
    with pytest.raises(kt.SimulationError, match="a force of 4 at joint 'shoulder'") as caught:
        kt.simulate(acrobot(backend), time=1.0, controller=late, integrator="rk4", step=0.01)
    assert 0.25 < caught.value.time <= 0.26
    assert caught.value.record.time[-1] == pytest.approx(0.25)


def test_only_the_lane_that_is_no_number_is_lost():
    """NaN is no force on the joint: it is lost in that lane, and the others go on."""

    def law(t, q, v):
        tau = np.zeros_like(v)
        tau[1] = np.nan
        return tau

    record = kt.simulate(acrobot("reference"), time=0.1, controller=law, samples=3, **BATCHED)
    assert record.lost.tolist() == [False, True, False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_floating_base_is_pushed_by_no_controller(backend):
    """Neither in free flight nor on rigid ground; unless it is said to have motors."""

    def made(**said):
        b = kt.Builder("hopper").body("trunk", "base", kt.Free(), mass=4.0, inertia=(0.1, 0.1, 0.05), **said)
        b.body("leg", "trunk", kt.Prismatic("z"), mass=0.5, inertia=(0.01, 0.01, 0.001))
        return b.build().with_backend(backend)

    lift = laws.Law(lambda t, q, v: [0.0, 0.0, 0.0, 0.0, 0.0, 4.5 * 9.81, 0.5 * 9.81])
    with pytest.raises(kt.SimulationError, match="'trunk_joint', which has no motor"):
        kt.simulate(made(), time=0.2, controller=lift)
    high = [0, 0, 0, 1, 0, 0, 2, 0]
    with pytest.raises(kt.SimulationError, match=r"t = 0 s: .*'trunk_joint', which has no motor"):
        kt.simulate_rigid(made(), [Contact("leg")], high, time=0.2, controller=lift)
    hovering = kt.simulate(made(actuated=True), time=0.2, controller=lift)
    assert np.allclose(hovering.q[-1], [0, 0, 0, 1, 0, 0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_passive_joint_of_a_loop_is_refused_too(backend):
    robot = kt.gallery.load("four-bar").with_backend(backend)
    idle = [k for k, j in enumerate(robot.model.joints) if not j.actuated]
    q = kt.gallery.start("four-bar")
    tau = np.zeros(robot.nv)
    tau[idle[0]] = 1.0
    with pytest.raises(kt.SimulationError, match="has no motor") as caught:
        kt.simulate(robot, q, time=0.1, controller=laws.Law(lambda t, q, v: tau.tolist()))
    assert caught.value.joint == robot.model.joints[idle[0]].name


def four_bar_leg(**said) -> kt.Mechanism:
    """A trunk on a free joint, with a leg of one motor and one loop."""
    b = kt.Builder("hopper").body("trunk", "base", kt.Free(), mass=5.0, inertia=(0.1, 0.1, 0.1), **said)
    b.body(
        "thigh",
        "trunk",
        kt.Revolute("y"),
        joint_name="hip",
        mass_properties=kt.MassProperties.rod(1.0, (0, 0, 0), (0, 0, -0.4)),
    )
    b.body("shank", "thigh", kt.Revolute("y"), joint_name="knee", position=(0, 0, -0.4), actuated=False,
           mass_properties=kt.MassProperties.rod(0.5, (0, 0, 0.1), (0, 0, -0.4)))  # fmt: skip
    b.body("pushrod", "trunk", kt.Revolute("y"), joint_name="rod_hip", position=(0.1, 0, 0.1), actuated=False,
           mass_properties=kt.MassProperties.rod(0.3, (0, 0, 0), (0, 0, -0.4)))  # fmt: skip
    return b.loop("pin", "pushrod", "shank", kt.Revolute("y"), placement=(0, 0, -0.4), seat=(0, 0, 0.1)).build()


def test_a_floating_mechanism_is_lifted_by_no_motor_it_does_not_have():
    """With a motor for every freedom of the base it hangs in the air at rest; without, the base lacks a force."""
    fixed = four_bar_leg(actuated=True)
    q = fixed.close(np.array([0, 0, 0, 1, 0, 0, 1.0, 0.3, -0.6, 0.1]), fixed=["trunk_joint"])
    rest = np.zeros(fixed.nv)
    tau = fixed.inverse_dynamics(q, rest, rest)
    assert tau[5] == pytest.approx(fixed.mass * 9.81)  # the whole weight, along the trunk's z axis
    hanging = kt.simulate(fixed, q, time=0.3, controller=kt.control.GravityCompensation(), samples=3)
    assert np.abs(hanging.v).max() < 1e-6
    floating = four_bar_leg()
    needed = floating.inverse_dynamics(q, rest, rest)  # as of trees: with the force that would have to hold the base
    assert needed[5] == pytest.approx(fixed.mass * 9.81)
    needed[:6] = 0.0
    assert floating.forward_dynamics(q, rest, needed)[5] == pytest.approx(
        -9.81, rel=1e-2
    )  # nobody gives it, so it falls

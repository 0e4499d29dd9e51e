"""Loops in which every joint has damping, friction, a rotor, a spring or a motor: one of them is split off its body."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.tree import Configuration

LENGTHS = {"crank": 0.3, "coupler": 1.0, "rocker": 0.8}
GROUND = 1.1
DAMPING, STIFFNESS, ROTORS = (0.1, 0.2, 0.3, 0.4), (1.0, 2.0, 3.0, 4.0), (0.01, 0.02, 0.03, 0.04)
RESTS = (0.2, -0.3, 0.5, 1.0)


def four_bar(cuts=None, **changed):
    """A four-bar of rods, each joint with damping, a rotor and a spring."""
    data = {"damping": DAMPING, "stiffness": STIFFNESS, "rotor_inertia": ROTORS, "spring_rest": RESTS} | changed
    own = [{key: values[k] for key, values in data.items()} for k in range(4)]
    b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
    for name, length in LENGTHS.items():
        b.add_body(name, kt.MassProperties.rod(1.0, (0, 0, 0), (length, 0, 0)))
    z = kt.Revolute("z")
    b.joint("j1", "base", "crank", z, **own[0])
    b.joint("j2", "crank", "coupler", z, (0.3, 0, 0), actuated=False, **own[1])
    b.joint("j3", "coupler", "rocker", z, (1.0, 0, 0), seat=(0.8, 0, 0), actuated=False, **own[2])
    b.joint("j4", "base", "rocker", z, (GROUND, 0, 0), actuated=False, **own[3])
    return b.build(cuts=cuts)


def angles(crank):
    """The four joint angles of the assembly with the coupler above, from the triangle of its ends."""
    pin = 0.3 * np.array([np.cos(crank), np.sin(crank)])
    across = np.array([GROUND, 0.0]) - pin
    distance = np.hypot(*across)
    bent = np.arccos((1.0 + distance**2 - 0.64) / (2 * distance))
    coupler = np.arctan2(across[1], across[0]) + bent
    top = pin + np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(top[1], top[0] - GROUND)
    return np.array([crank, coupler - crank, rocker - coupler, rocker]), pin, coupler, rocker


def energies(crank, rate):
    """Kinetic energy and potential energy, from the positions of the rods' centers."""

    def places(c):
        own, pin, coupler, rocker = angles(c)
        centers = [
            pin / 2,
            pin + 0.5 * np.array([np.cos(coupler), np.sin(coupler)]),
            np.array([GROUND, 0.0]) + 0.4 * np.array([np.cos(rocker), np.sin(rocker)]),
        ]
        return own, centers, np.array([c, coupler, rocker])

    h = 1e-5
    (q0, c0, t0), (q1, c1, t1) = places(crank - h), places(crank + h)
    joints, turns = (q1 - q0) / (2 * h), (t1 - t0) / (2 * h)
    kinetic = sum(0.5 * np.sum(((b - a) / (2 * h)) ** 2) for a, b in zip(c0, c1, strict=True))
    kinetic += sum(0.5 * length**2 / 12 * w**2 for length, w in zip(LENGTHS.values(), turns, strict=True))
    kinetic += 0.5 * np.sum(np.array(ROTORS) * joints**2)
    own, centers, _ = places(crank)
    potential = 9.81 * sum(c[1] for c in centers) + 0.5 * np.sum(np.array(STIFFNESS) * (own - RESTS) ** 2)
    return kinetic * rate**2, potential, joints


def state(robot, crank, rate):
    """Coordinates and velocities by the triangle, in the robot's own order."""
    own = angles(crank)[0]
    h = 1e-6
    rates = (angles(crank + h)[0] - angles(crank - h)[0]) / (2 * h) * rate
    start = np.array([own[int(name[1]) - 1] for name in robot.joint_names if "weld" not in name])
    q = robot.close(start, fixed=["j1"])
    v = robot.velocities(q, [rate])  # of the crank, or of whichever is the independent one
    v = v * rate / v[robot.joint("j1").v_slice.start]
    order = [int(name[1]) - 1 for name in robot.joint_names]
    assert np.allclose(v, rates[order], atol=1e-8)
    return q, v


@pytest.mark.parametrize("cuts", [None, ["j1"], ["j2"], ["j3"], ["j4"]])
def test_motion_is_that_of_lagrange_in_one_coordinate(cuts):
    robot = four_bar(cuts)
    crank, rate, torque = 0.7, 1.3, 0.4
    q, v = state(robot, crank, rate)
    h = 1e-4
    m = [2 * energies(c, 1.0)[0] for c in (crank - h, crank, crank + h)]
    u = [energies(c, 0.0)[1] for c in (crank - h, crank + h)]
    drag = np.sum(np.array(DAMPING) * energies(crank, 1.0)[2] ** 2) * rate
    wanted = (torque - drag - 0.5 * (m[2] - m[0]) / (2 * h) * rate**2 - (u[1] - u[0]) / (2 * h)) / m[1]
    first = robot.joint("j1").v_slice.start
    tau = np.zeros(robot.nv)
    tau[first] = torque
    a = robot.forward_dynamics(q, v, tau, friction=True)
    assert np.isclose(a[first], wanted, rtol=1e-5)
    assert np.allclose(robot.inverse_dynamics(q, v, a, friction=True)[first], torque, atol=1e-9)
    assert np.isclose(robot.kinetic_energy(q, v), energies(crank, rate)[0], rtol=1e-7)
    assert robot.mobility(q).freedoms == 1
    assert np.isclose(robot.mass, 3.0)


def test_a_joint_that_is_cut_keeps_its_motor():
    """A motor at the joint that is cut does what one elsewhere does with the same power."""
    robot = four_bar(["j4"], damping=(0.0,) * 4)
    q, v = state(robot, 0.7, 1.3)
    j1, j4 = (robot.joint(name).v_slice.start for name in ("j1", "j4"))
    at_rocker, at_crank = np.zeros((2, robot.nv))
    at_rocker[j4] = 2.0
    at_crank[j1] = 2.0 * v[j4] / v[j1]
    a = robot.forward_dynamics(q, v, at_rocker)
    assert np.allclose(a, robot.forward_dynamics(q, v, at_crank), atol=1e-9)
    assert not np.allclose(a, robot.forward_dynamics(q, v, 0 * at_crank), atol=1e-3)


def test_energy_is_kept_in_simulation():
    robot = four_bar(friction=(0.05, 0.05, 0.05, 0.05))
    q, v = state(robot, 0.7, 1.3)
    record = kt.simulate(robot, q, v, time=0.3, works=True)
    assert record.energy.relative_error < 1e-7
    assert record.energy.friction[-1] < -0.01


def test_loops_take_what_joints_take(tmp_path):
    b = kt.Builder("pair", gravity=(0, -9.81, 0))
    for name, x in (("a", 0.0), ("b", 0.5)):
        b.body(name, "base", kt.Revolute("z"), position=(x, 0, 0), mass=1.0, com=(0, 0.3, 0), inertia=(0.1, 0.1, 0.1))
    b.body("bar", "a", kt.Revolute("z"), position=(0, 0.6, 0), mass=0.5, com=(0.25, 0, 0), inertia=(0.01, 0.01, 0.01))
    b.loop("pin", "bar", "b", kt.Revolute("z"), placement=(0.5, 0, 0), seat=(0, 0.6, 0), damping=0.7, stiffness=3.0)
    robot = b.build()
    assert robot.joint("pin").damping == (0.7,)
    robot.save(tmp_path / "pair.yaml")
    again = kt.load(tmp_path / "pair.yaml")
    q = robot.close(np.full(4, 0.1), fixed=["a_joint"])
    v = robot.velocities(q, [1.0])
    assert np.allclose(robot.forward_dynamics(q, v, np.zeros(4), friction=True),
                       again.forward_dynamics(q, v, np.zeros(4), friction=True))  # fmt: skip
    with pytest.raises(kt.KinetreeError, match="no property of a cut joint"):
        b.loop("other", "bar", "b", kt.Revolute("z"), dampin=1.0)


def test_other_cuts_put_halves_together_and_keep_configurations():
    """Cut elsewhere, a body that was cut through is whole again; named configurations are the same ones."""
    first = four_bar()
    assert first.loop_names == ["j4_weld"]
    own = dict(zip(("j1", "j2", "j3", "j4"), angles(0.4)[0], strict=True))
    q = first.close([own[name] for name in first.joint_names], fixed=["j1"])
    positions = tuple((j.name, tuple(q[j.q_slice])) for j in first.model.joints)
    model = replace(first.model, configurations=(Configuration("raised", positions),))
    again = kt.Mechanism(model).with_cuts(["j2"])
    assert again.loop_names == ["j2_weld"]
    assert sorted(again.joint_names) == ["j1", "j2", "j3", "j4"]
    assert sorted(again.body_names) == sorted(["crank", "coupler", "rocker", again.body_names[-1]])
    assert again.closure_error(again.configuration("raised")) < 1e-10
    back = again.with_cuts(["j4"])
    assert back.loop_names == ["j4_weld"]
    a, b = first.tree.mass_matrix(q), back.tree.mass_matrix(back.configuration("raised"))
    order = [back.joint(n).v_slice.start for n in first.joint_names]
    assert np.allclose(a, b[np.ix_(order, order)], atol=1e-12)


def test_a_joint_that_was_cut_is_where_it_was():
    """Positions of joints without a coordinate come from the poses of their frames."""
    b = kt.Builder("four-bar")
    for name, length in LENGTHS.items():
        b.add_body(name, kt.MassProperties.rod(1.0, (0, 0, 0), (length, 0, 0)))
    z = kt.Revolute("z")
    b.joint("j1", "base", "crank", z)
    b.joint("j2", "crank", "coupler", z, (0.3, 0, 0), actuated=False)
    b.joint("j3", "coupler", "rocker", z, (1.0, 0, 0), seat=(0.8, 0, 0), actuated=False)
    b.joint("j4", "base", "rocker", z, (GROUND, 0, 0), actuated=False)
    own = angles(0.4)[0]
    b.configuration("raised", dict(zip(("j1", "j2", "j3", "j4"), own, strict=True)))
    for cut in ("j2", "j3", "j4"):
        robot = b.build(cuts=[cut])
        other = robot.with_cuts(["j4" if cut != "j4" else "j2"])
        q = other.configuration("raised")
        assert other.closure_error(q) < 1e-9
        place = other.joint(cut).q_slice.start
        assert q[place] == pytest.approx(own[int(cut[1]) - 1])

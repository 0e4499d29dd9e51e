"""What actuators can do: forces of motors for generalized forces, sets that can drive, and what is out of reach."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "delta"])
def test_motors_of_the_gallery_give_what_inverse_dynamics_finds(name):
    """Q^a = (S^T F)^-1 S^T f of the tree's forces; inverse dynamics of mechanisms solves other equations."""
    robot, motion = kt.gallery.load(name), kt.gallery.motion(name)
    q, v, a = motion.states(np.array([0.1, 0.2, 0.35]))
    found = robot.actuation(q)
    assert found.can_drive.all()
    assert (found.freedoms == robot.mobility(q[0]).freedoms).all()
    wanted = robot.tree.inverse_dynamics(q, v, a)
    motors = np.zeros_like(wanted)
    motors[..., robot.driven] = found.forces(wanted)
    assert_close(motors, robot.inverse_dynamics(q, v, a), 1e-9)
    assert_close(found.joint_forces(found.forces(wanted)), motors, 1e-12)


def four_bar() -> tuple[kt.Mechanism, np.ndarray]:
    return kt.gallery.load("four-bar"), kt.gallery.motion("four-bar").states(0.0)[0]


def test_any_joint_can_drive_a_four_bar_but_at_its_dead_center():
    robot, q = four_bar()
    sets = robot.actuation(q, "joints").driving_sets()
    assert {names for names, _ in sets} == {("crank_joint",), ("rocker_joint",), ("coupler_joint",)}
    # crank and the line from its pivot to the rocker's pin in one line: the rocker stands still
    q, v, _ = kt.gallery.motion("four-bar").states(np.linspace(0.0, 1.3, 1301))
    q = q[np.argmin(np.abs(v[:, 1] / v[:, 0]))]
    strong, weak = robot.actuation(q, ["crank_joint"]), robot.actuation(q, ["rocker_joint"])
    # one motor on one motion is all the strength there is, so look at how much force a torque at the crank takes
    tau = np.array([1.0, 0.0, 0.0])
    assert abs(weak.forces(tau)[0]) > 100 * abs(strong.forces(tau)[0])


def test_too_few_and_too_many():
    robot = kt.gallery.load("five-bar")
    q = kt.gallery.motion("five-bar").states(0.1)[0]
    freedoms = robot.mobility(q).freedoms
    assert freedoms == 2
    names = [n for n, d in zip(robot.v_names, robot.driven, strict=True) if d]
    tau = robot.tree.gravity_force(q)
    few = robot.actuation(q, names[:1])
    assert not few.can_drive
    assert few.rank == 1
    assert few.strength == 0.0
    with pytest.raises(kt.SingularError, match=r"they control 1 of 2 motions.*which moves '.*' most"):
        few.forces(tau)
    reachable = few.joint_forces([2.5])  # but what it can do it does
    assert_close(few.forces(reachable), [2.5], 1e-12)
    many = robot.actuation(q, "joints")
    least = many.forces(tau)
    exact = robot.actuation(q).forces(tau)
    assert np.linalg.norm(least) < np.linalg.norm(exact)
    n = many.motions
    assert_close(n.T @ many.joint_forces(least), n.T @ tau, 1e-10, scale=1.0)
    heavy = np.where(robot.driven, 1.0, 1e12)
    assert_close(many.forces(tau, weights=heavy)[robot.driven], exact, 1e-6)
    assert len(many.driving_sets()) >= 2
    assert all(len(names) == 2 for names, _ in many.driving_sets())
    assert few.driving_sets() == []


def test_gears_and_tendons_of_real_motors():
    """Two joints, a motor with a gear of five on the first and a cable over both with radii of 2 and 3 cm."""
    b = kt.Builder("finger")
    b.body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.1), actuated=False)
    b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -0.2), mass=0.5, com=(0, 0, -0.1), actuated=False)
    b.tendon("cable", joints={"upper_joint": 0.02, "lower_joint": 0.03})
    b.actuator("geared", joint="upper_joint", gear=5.0)
    b.actuator("winch", tendon="cable")
    robot = b.build()
    found = robot.actuation(np.array([[0.1, 0.2], [np.nan, 0.0]]))
    assert found.names == ("geared", "winch")
    assert_close(found.matrix[0], [[5.0, 0.02], [0.0, 0.03]], 1e-14)
    assert np.isnan(found.matrix[1]).all()
    tau = np.array([1.0, 0.6])
    forces = robot.actuation([0.1, 0.2]).forces(tau)
    assert_close(forces, [(1.0 - 0.02 * 20.0) / 5.0, 20.0], 1e-12)
    both = found.forces(tau)
    assert_close(both[0], forces, 1e-12)
    assert np.isnan(both[1]).all()


def test_bad_input():
    robot, q = four_bar()
    with pytest.raises(kt.UnknownNameError, match="did you mean 'crank_joint'"):
        robot.actuation(q, ["crank_joints"])
    with pytest.raises(kt.OptionError, match="for a single one, write"):
        robot.actuation(q, "crank_joint")
    with pytest.raises(kt.OptionError, match="named twice"):
        robot.actuation(q, ["crank_joint", "crank_joint"])
    with pytest.raises(kt.StateError, match="do not allow this configuration"):
        robot.actuation(q + np.array([0.1, 0.0, 0.0]))
    with pytest.raises(kt.OptionError, match="weights must be positive"):
        robot.actuation(q).forces(np.zeros(3), weights=[0.0])
    with pytest.raises(kt.OptionError, match="one configuration at a time"):
        robot.actuation(q[None]).driving_sets()

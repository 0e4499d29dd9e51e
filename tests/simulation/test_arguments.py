"""What a simulation is given: batches that fit together, and explanations where it cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import rods


def test_a_mechanism_needs_a_start_and_the_advice_can_be_followed():
    robot = kt.gallery.load("four-bar")
    with pytest.raises(kt.StateError, match="q0 is needed") as caught:
        kt.simulate(robot, time=0.1)
    assert "project" not in str(caught.value)
    assert "q0=robot.assembled()" in str(caught.value)
    assert "kinetree.gallery.start(name)" in str(caught.value)
    for q0 in (robot.assembled(), kt.gallery.start("four-bar")):
        assert kt.simulate(robot, q0, time=0.01).status == "complete"
    with pytest.raises(kt.StateError, match=r"robot\.project\(q0, v0\), or, .* robot\.assembled\(\)"):
        kt.simulate(robot, robot.neutral(), time=0.1)


GOAL = kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"controller": kt.control.GravityCompensation}, r"make one, GravityCompensation\(\.\.\.\)"),
        ({"controller": lambda t, q, v: None}, "returned None"),
        ({"controller": lambda t, q, v: [0.0]}, r"expected 2 forces, one per .* \(b0_joint, b1_joint\)"),
        ({"controller": kt.control.PD(GOAL, np.ones(50), 1.0)}, r"50 simulations are kp\[:, None\]"),
        ({"ground": "b0"}, "not 'b0'"),
        ({"ground": kt.forces.JointStops}, "force elements"),
        ({"ground": [kt.contact.Contact("b0")]}, "simulate_rigid"),
    ],
    ids=["class", "None", "one force", "gains", "name", "class of ground", "rigid contact"],
)  # fmt: skip
def test_what_cannot_be_is_explained(options, says):
    with pytest.raises(kt.KinetreeError, match=says):
        kt.simulate(rods(), time=0.1, **options)


def test_batches_that_differ_are_named():
    b = kt.Builder("leg").body("trunk", "base", kt.Prismatic("z"), mass=1.0, actuated=False)
    robot = b.body("foot", "trunk", kt.Prismatic("z"), mass=0.1).build()
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley([1e3, 2e3, 3e3], 0.5))
    law = kt.control.PD(kt.trajectories.Constant([-0.5]), [[100.0], [200.0]], 5.0)
    with pytest.raises(
        kt.OptionError, match=r"differ: kp of PD \(2,\), stiffness of Ground \(3,\)\. A batch comes first"
    ):
        kt.simulate(robot, time=0.1, controller=law, ground=ground, integrator="rk4", step=1e-3)
    masses = {"bodies": {"foot": {"mass": [0.1, 0.2, 0.3, 0.4]}}}
    with pytest.raises(kt.OptionError, match=r"differ: q0 \(2,\), mass of 'foot' \(4,\)\."):
        kt.simulate(robot, np.zeros((2, 2)), time=0.1, parameters=masses, integrator="rk4", step=1e-3)
    both = law + kt.control.PD(kt.trajectories.Constant([-0.5]), 1.0, [[1.0], [2.0], [3.0]])
    with pytest.raises(kt.OptionError, match=r"differ: kp of Sum \(2,\), kd of Sum \(3,\)\."):
        kt.simulate(robot, time=0.1, controller=both, integrator="rk4", step=1e-3)


# ------------------------------------------------------------------ of the wrong type


NO_NUMBER = [None, [1e-3], 1e-3 + 0j, "1e-3", b"x", {}, np.ones(2), True, np.nan, object()]
NO_ROBOT = [None, 3, kt.Builder("b"), kt.Robot, rods().model]


@pytest.mark.parametrize("name", ["rtol", "atol", "largest_step", "friction_speed", "step", "steps_at_most"])
@pytest.mark.parametrize("given", NO_NUMBER, ids=lambda x: type(x).__name__)
def test_options_that_are_no_numbers_are_refused(name, given):
    options = {"integrator": "rk4", "step": 1e-3} if name == "step" else {}
    with pytest.raises(kt.OptionError, match=r"must be a|needs a step in seconds"):
        kt.simulate(rods(), time=0.01, **(options | {name: given}))


@pytest.mark.parametrize("name", ["rtol", "atol", "friction_speed"])
def test_tolerances_are_finite(name):
    with pytest.raises(kt.OptionError, match=f"{name} must be a positive number, not inf"):
        kt.simulate(rods(), time=0.01, **{name: np.inf})


@pytest.mark.parametrize(
    "time",
    [
        *(x for x in NO_NUMBER if np.ndim(x) != 1),
        (0.0, 1 + 0j),
        (0.0, None),
        ["0", "1"],
        (1.0, 0.0),
        (0, 1, 2),
        np.inf,
        -1.0,
    ],
)
def test_times_that_are_none_are_refused(time):
    with pytest.raises(kt.OptionError, match="time must be how long to simulate, or"):
        kt.simulate(rods(), time=time)


@pytest.mark.parametrize(
    "output", ["abc", [None], [0.0, "1"], 1 + 0j, object(), 1, 10**13, 10**19, 100_000_000, [[0.0]]]
)
def test_outputs_that_cannot_be_are_refused(output):
    with pytest.raises(kt.OptionError, match=r"samples must be|samples are more than a run may keep"):
        kt.simulate(rods(), time=0.1, samples=output)


@pytest.mark.parametrize("robot", NO_ROBOT, ids=repr)
def test_what_is_no_robot_is_refused(robot):
    contacts = [kt.contact.Contact("b0")]
    for call in (
        lambda: kt.simulate(robot, time=0.1),
        lambda: kt.simulate_rigid(robot, contacts, time=0.1),
        lambda: kt.contact.RigidContacts(robot, contacts),
        lambda: kt.inverse_kinematics(robot, "b0", np.eye(4)),
    ):
        with pytest.raises(kt.OptionError, match="robot must be a kinetree robot, not"):
            call()


def test_a_file_that_is_not_there_is_named():
    for call in (
        lambda: kt.simulate("panda.urdf", time=0.1),
        lambda: kt.simulate_rigid("panda.urdf", [kt.contact.Contact("b0")], time=0.1),
    ):
        with pytest.raises(kt.RobotFileNotFoundError, match=r"panda\.urdf"):
            call()


@pytest.mark.parametrize("parameters", [3, "mass", {"bodies": 3}, {"bodies": {"b0": 2.0}}, {"masses": {}}])
def test_parameters_that_are_none_are_refused(parameters):
    with pytest.raises((kt.OptionError, kt.ShapeError), match="parameter"):
        kt.simulate(rods(), time=0.1, parameters=parameters)


@pytest.mark.parametrize("contacts", [None, 3, [None], []])
def test_contacts_that_are_none_are_refused(contacts):
    with pytest.raises(kt.OptionError, match="contacts must be a list of kinetree contacts"):
        kt.simulate_rigid(rods(), contacts, time=0.1)

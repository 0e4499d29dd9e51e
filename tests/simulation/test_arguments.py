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
    with pytest.raises(kt.StateError, match=r"robot\.project\(q0, v0\), or .* robot\.assembled\(\)"):
        kt.simulate(robot, robot.neutral(), time=0.1)


GOAL = kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"controller": kt.control.GravityCompensation}, r"make one, GravityCompensation\(\.\.\.\)"),
        ({"controller": kt.control.PD([0.1, 0.2], 1.0, 1.0)}, r"trajectories\.Constant"),
        ({"controller": lambda t, q, v: None}, "returned None"),
        ({"controller": lambda t, q, v: [0.0]}, r"wanted are 2 forces, one per .* \(b0_joint, b1_joint\)"),
        ({"controller": kt.control.PD(GOAL, np.ones(50), 1.0)}, r"50 simulations are kp\[:, None\]"),
        ({"ground": "b0"}, "not 'b0'"),
        ({"ground": kt.stops.JointStops}, "force elements"),
        ({"ground": [kt.contact.Contact("b0")]}, "simulate_rigid"),
    ],
    ids=["class", "array for a trajectory", "None", "one force", "gains", "name", "class of ground", "rigid contact"],
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
    with pytest.raises(kt.OptionError, match=r"differ: q0 \(2,\), bodies\.foot\.mass \(4,\)\."):
        kt.simulate(robot, np.zeros((2, 2)), time=0.1, parameters=masses, integrator="rk4", step=1e-3)
    both = law + kt.control.PD(kt.trajectories.Constant([-0.5]), 1.0, [[1.0], [2.0], [3.0]])
    with pytest.raises(kt.OptionError, match=r"differ: kp of Sum \(2,\), kd of Sum \(3,\)\."):
        kt.simulate(robot, time=0.1, controller=both, integrator="rk4", step=1e-3)

"""Warnings about robots that fall because there is no ground, and joints that leave their ranges without stops."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.crate_files import TEXT, drawn, loaded
from kinetree.errors import KinetreeWarning

g = kt.ground
FORMATS = pytest.mark.parametrize("kind", TEXT)


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", KinetreeWarning)
        result = function()
    return result, [str(w.message) for w in found]


@FORMATS
def test_a_floating_robot_without_ground_is_told_of_the_shapes_that_nothing_uses(tmp_path, kind):
    robot = loaded(tmp_path, kind)
    _, (said,) = told(lambda: kt.simulate(robot, drawn(robot), time=1.0, ground=kt.forces.JointStops(), samples=2))
    assert "'crate' has fallen by 4.9" in said or "has fallen by 4.9" in said
    assert "kinetree.ground.collision_spots(robot)" in said
    assert "its file has 1 box, 1 capsule, 1 sphere on its bodies" in said
    assert ("1 plane in the world" in said) == (kind != "urdf")
    # a short flight is one
    assert not told(lambda: kt.simulate(robot, drawn(robot), time=0.3, samples=2))[1]
    (made,) = told(lambda: kt.World(robot, q0=drawn(robot)))[1]
    assert "will fall in this World" in made


def test_who_is_not_meant_to_stand_may_fall():
    """A projectile, an arm on its base, a robot in space, one on a spring: no word."""
    thrown = kt.Builder("stone").body("stone", "base", kt.Free(), mass=1.0, inertia=(1e-3,) * 3).build()
    probe = kt.Builder("probe", gravity=(0, 0, 0)).body("hull", "base", kt.Free(), mass=5.0, inertia=(1, 1, 1))
    probe = probe.body("arm", "hull", kt.Revolute("y"), mass=1.0, com=(0.5, 0, 0)).build()
    for robot, v in ((thrown, [0, 0, 0, 1, 0, 1]), (probe, None), (kt.load("kuka-kr5"), None)):
        assert not told(lambda robot=robot, v=v: kt.simulate(robot, None, v, time=1.0, samples=2))[1]
        assert not told(lambda robot=robot: kt.World(robot))[1]
    b = kt.Builder("hung").body("hull", "base", kt.Free(), mass=5.0, inertia=(1, 1, 1))
    hung = b.body("arm", "hull", kt.Revolute("y"), mass=1.0, com=(0.1, 0, 0)).build()
    spring = kt.forces.PointSpring(("base", (0, 0, 1.0)), "hull", stiffness=1e3, damping=100.0, length=1.0)
    assert not told(lambda: kt.simulate(hung, time=1.0, forces=spring, samples=2))[1]
    assert not told(lambda: kt.World(hung, forces=spring, integrator="implicit_euler"))[1]
    assert told(lambda: kt.World(hung))[1]


def test_slides_of_a_planar_robot_float_too(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "hopper.xml"
    path.write_text("""
    <mujoco model="hopper"><worldbody><geom type="plane" size="5 5 0.1"/>
      <body name="torso" pos="0 0 1">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
        <joint name="turn" axis="0 1 0"/><geom type="capsule" size="0.05 0.2"/>
        <body name="leg" pos="0 0 -0.2"><joint name="knee" axis="0 1 0"/><geom type="capsule" size="0.03 0.2"/></body>
      </body></worldbody><actuator><motor joint="knee"/></actuator></mujoco>""")
    robot = kt.load(path)
    (said,) = told(lambda: kt.World(robot))[1]
    assert "1 plane in the world" in said


def test_a_world_says_once_that_joints_leave_their_ranges():
    b = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0), lower=-1.0, upper=1.0)
    robot = b.body("lower", "upper", kt.Revolute("y"), position=(1, 0, 0), mass=1, com=(0.5, 0, 0)).build()
    robot = robot.with_backend("compiled")

    def run(**options):
        world = kt.World(robot, batch=3, substeps=20, **options)
        lost = [world.step(np.zeros(2)).lost.any() for _ in range(60)]
        assert not any(lost)
        return world

    world, words = told(run)
    assert world.q[:, 0].max() > 1.2
    (said,) = words
    assert said.startswith("out of range: upper_joint. A World goes past the limits of joints unless stops hold them")
    held, words = told(lambda: run(ground=kt.forces.JointStops(g.HuntCrossley(1e4, 1.0, exponent=1))))
    assert not words
    assert held.q[:, 0].max() < 1.1
    ended = world.step([[np.nan, 0.0], [0.0, 0.0], [0.0, 0.0]]).lost
    assert ended.tolist() == [True, False, False]

"""Ground from a robot's file: its collision shapes and floor, in every format."""

import numpy as np
import pytest

import kinetree as kt
from helpers.crate_files import CYLINDERS, TEXT, drawn, loaded
from kinetree.errors import ModelError, ModelWarning, UnknownNameError
from kinetree.model.shapes import ContactShape, Sphere

g = kt.ground
FORMATS = pytest.mark.parametrize("kind", TEXT)


def places(robot, spots, q):
    """Where spots are in the world, and their radii."""
    found = []
    for s in spots:
        pose = robot.pose(q, s.frame)
        found.append((*np.round(pose[:3, :3] @ s.point + pose[:3, 3], 9), s.radius))
    return sorted(found)


@FORMATS
def test_spots_are_where_the_shapes_are(tmp_path, kind):
    """Corners of the box, both ends of the capsule, the sphere: by hand, with the arm along x."""
    robot = loaded(tmp_path, kind)
    corners = [(x, y, 1 + z, 0.0) for x in (-0.1, 0.1) for y in (-0.15, 0.15) for z in (-0.2, 0.2)]
    balls = [(0.2, 0.0, 1.0, 0.02), (0.5, 0.0, 1.0, 0.02), (0.5, 0.0, 1.0, 0.03)]
    found = places(robot, g.collision_spots(robot), drawn(robot))
    assert np.allclose(found, sorted([*corners, *balls]), atol=1e-8)
    arm = next(s.frame for s in robot.model.shapes if s.kind == "sphere")
    assert np.allclose(places(robot, g.collision_spots(robot, [arm]), drawn(robot)), balls, atol=1e-8)
    with pytest.raises(UnknownNameError, match="leg"):
        g.collision_spots(robot, ["leg"])
    if kind == "urdf":
        with pytest.raises(ModelError, match="no plane to stand on"):
            g.collision_floor(robot)
    else:
        assert np.allclose([*g.collision_floor(robot).point, *g.collision_floor(robot).normal], [0, 0, 0.1, 0, 0, 1])


@FORMATS
def test_shapes_that_are_left_out_are_named(tmp_path, kind):
    robot = loaded(tmp_path, kind, CYLINDERS[kind])
    with pytest.warns(ModelWarning, match="left out, as they are not spheres, capsules or boxes: 1 cylinder, on .*arm"):
        assert len(g.collision_spots(robot)) == 11


@FORMATS
def test_what_falls_onto_its_own_floor_stays_there(tmp_path, kind):
    """One call for the spots: it lay 4.9 m below after a second."""
    robot = loaded(tmp_path, kind).with_backend("compiled")
    floor = g.Plane((0, 0, 0.1)) if kind == "urdf" else g.collision_floor(robot)
    ground = g.Ground(g.collision_spots(robot), g.HuntCrossley(1e4, 1.0), g.PseudoCoulomb(0.5, 50.0), floor)
    record = kt.simulate(
        robot, drawn(robot), time=1.0, ground=[ground, kt.forces.JointStops()], integrator="implicit_euler", step=1e-3,
        samples=2,
    )  # fmt: skip
    assert 0.1 < robot.center_of_mass(record.q[-1])[2] < 0.5


@FORMATS
def test_shapes_do_not_make_another_robot(tmp_path, kind):
    """They survive locking, and equality does not look at them."""
    robot = loaded(tmp_path, kind)
    assert robot == loaded(tmp_path, kind, CYLINDERS[kind]) or kind != "urdf"  # in MJCF a cylinder has mass
    swing = next(name for name in robot.joint_names if name.endswith("swing"))
    stiff = robot.reduced(locked={swing: 0.0})
    assert np.allclose(
        places(stiff, g.collision_spots(stiff), drawn(stiff)), places(robot, g.collision_spots(robot), drawn(robot)),
        atol=1e-8,
    )  # fmt: skip


def test_shapes_that_cannot_be_read_are_no_error(tmp_path):
    """What is wrong with them must not refuse a robot: they are left out, with one warning that has the lines."""
    bad = """<collision><geometry><sphere radius="big"/></geometry></collision><collision><geometry><blob/></geometry>
    </collision><collision/><collision><geometry/></collision>"""
    said = r"2 things are odd:\n  line 11: .*'arm' is left out: .*big.*\n.* named 'blob'"
    with pytest.warns(ModelWarning, match=said):
        robot = loaded(tmp_path, "urdf", bad)
    assert [s.kind for s in robot.shapes] == ["box", "capsule", "sphere"]


def test_a_robot_without_shapes_says_what_to_name():
    robot = kt.load("quadruped")
    with pytest.raises(ModelError, match="gives its bodies no spheres, capsules or boxes: name spots"):
        g.collision_spots(robot)
    assert ContactShape("trunk", Sphere(0.1)).pose.is_identity

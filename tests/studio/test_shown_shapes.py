"""Shapes that may touch, as they are drawn: on their bodies, of their sizes, and for each kind."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import shapes
from kinetree_studio.view.displayed_robot import make_figure
from kinetree_studio.view.geometry import contact_looks, grid_facets
from kinetree_studio.view.page_data import robot_data
from kinetree_studio.view.triangles import triangles

CORNERS = [(0.1 * x, 0.2 * y, 0.3 * z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]


def robot_with(solid, **more):
    b = kt.Builder("arm")
    b.body("link", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.frame("tip", "link", (0, 0, -1))
    b.shape("tip", solid, **more)
    return b.build()


@pytest.mark.parametrize(
    ("solid", "low", "high"),
    [
        (shapes.Sphere(0.2), (-0.2, -0.2, -0.2), (0.2, 0.2, 0.2)),
        (shapes.Capsule(0.1, 0.4), (-0.1, -0.1, -0.3), (0.1, 0.1, 0.3)),
        (shapes.Box((0.2, 0.4, 0.6)), (-0.1, -0.2, -0.3), (0.1, 0.2, 0.3)),
        (shapes.Cylinder(0.1, 0.4), (-0.1, -0.1, -0.2), (0.1, 0.1, 0.2)),
        (shapes.Ellipsoid((0.1, 0.2, 0.3)), (-0.1, -0.2, -0.3), (0.1, 0.2, 0.3)),
        (shapes.ConvexHull([*CORNERS, (0.05, 0.1, 0.1)]), (0, 0, 0), (0.1, 0.2, 0.3)),
        (shapes.HeightGrid((2, 1), [[0, 0.1], [0.3, 0], [0, -0.2]]), (-1, -0.5, -0.2), (1, 0.5, 0.3)),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, shapes.Solid) else "",
)
def test_a_shape_is_drawn_of_its_size_where_it_is(solid, low, high):
    robot = robot_with(solid)
    [look], problems = contact_looks(robot.model, 1.0)
    assert problems == []
    assert look.body == 0
    assert np.allclose(look.pose.position, (0, 0, -1))
    points = np.concatenate([mesh.vertices for mesh in triangles(look.shape)])
    assert np.allclose(points.min(axis=0), low, atol=5e-3)
    assert np.allclose(points.max(axis=0), high, atol=5e-3)


def test_triangles_of_a_hull_and_of_uneven_ground_face_outward():
    [look], _ = contact_looks(robot_with(shapes.ConvexHull(CORNERS)).model, 1.0)
    corners, faces = look.shape.vertices, look.shape.faces
    a, b, c = (corners[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    assert (np.einsum("fi,fi->f", normals, a - corners.mean(axis=0)) > 0).all()
    assert np.isclose(0.5 * np.linalg.norm(normals, axis=1).sum(), 2 * (0.02 + 0.03 + 0.06))
    ground = grid_facets(shapes.HeightGrid((2, 1), np.zeros((5, 4))))
    a, b, c = (ground.vertices[ground.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    assert (normals[:, 2] > 0).all()
    assert np.isclose(0.5 * normals[:, 2].sum(), 2.0)


def test_shapes_have_a_switch_and_do_not_move_the_camera():
    plain = robot_with(shapes.Sphere(0.2))
    wide = robot_with(shapes.HalfSpace())
    with kt.view(plain, port=0) as viewer:
        assert viewer.shown["shapes"] is False
        viewer.switch(shapes=True)
        assert viewer.shown["shapes"]
    figures = [make_figure(robot, None) for robot in (plain, wide)]
    spans = [np.ptp(figure.scene.points(figure.some_poses()), axis=0) for figure in figures]
    assert np.allclose(*spans)
    parts = robot_data(figures[0])["parts"]
    assert [part["role"] for part in parts].count("shape") == 1
    arm = kt.Builder("bare")
    arm.body("link", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    with kt.view(arm.build(), port=0) as viewer, pytest.raises(kt.KinetreeError, match="no shapes"):
        viewer.switch(shapes=True)

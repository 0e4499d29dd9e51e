"""Heights of solids from above, against MuJoCo's rays."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.clearance.heights_below import NOWHERE, height_at
from kinetree.algorithms.clearance.placed_solids import PlacedSolid

mujoco = pytest.importorskip("mujoco")
S = kt.shapes

KINDS = [
    (S.Sphere(0.3), "sphere", "0.3"),
    (S.Box((0.4, 0.6, 0.2)), "box", "0.2 0.3 0.1"),
    (S.Ellipsoid((0.2, 0.4, 0.3)), "ellipsoid", "0.2 0.4 0.3"),
    (S.Cylinder(0.2, 0.6), "cylinder", "0.2 0.3"),
    (S.Capsule(0.2, 0.6), "capsule", "0.2 0.3"),
]


def rays(model, places, turned):
    data = mujoco.MjData(model)
    found = []
    for x, y in places:
        geom = np.zeros(1, dtype=np.int32)
        mujoco.mj_forward(model, data)
        far = mujoco.mj_ray(model, data, np.array([x, y, 5.0]), np.array([0, 0, -1.0]), None, 1, -1, geom)
        found.append(5.0 - far if far >= 0 else NOWHERE)
    return np.array(found)


@pytest.mark.parametrize(("solid", "word", "size"), KINDS, ids=lambda x: getattr(x, "name", ""))
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_heights_are_those_of_mujocos_rays(solid, word, size, turn):
    rng = np.random.default_rng(turn)
    quaternion = np.array([0, 0, 0, 1.0]) if turn == 0 else rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    pose = kt.Pose.of((0.1, -0.2, 0.4), quaternion=quaternion)
    x, y, z, w = quaternion
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom type='{word}' size='{size}' pos='0.1 -0.2 0.4' quat='{w} {x} {y} {z}'/>"
        "</worldbody></mujoco>"
    )
    places = rng.uniform(-0.6, 0.6, size=(60, 2))
    placed = PlacedSolid(solid.name, solid.numbers(), pose.spatial())
    found = np.array([height_at(placed, a, b, solid) for a, b in places])
    expected = rays(model, places, turn)
    assert (expected > NOWHERE).sum() >= 5
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_hull_of_a_box_is_as_high_as_the_box():
    box = S.Box((0.4, 0.6, 0.2))
    hull = S.ConvexHull([(x, y, z) for x in (-0.2, 0.2) for y in (-0.3, 0.3) for z in (-0.1, 0.1)])
    for rpy in ((0, 0, 0), (0.3, -1.2, 0.4)):
        pose = kt.Pose.of((0.1, 0, 0.3), rpy=rpy).spatial()
        for x, y in np.random.default_rng(0).uniform(-0.5, 0.5, size=(40, 2)):
            a, b = (height_at(PlacedSolid(s.name, s.numbers(), pose), x, y, s) for s in (box, hull))
            assert a == pytest.approx(b, abs=1e-9)


def test_a_height_grid_is_exact_on_planes_and_at_its_points():
    slope = kt.terrain.heights(lambda x, y: 0.3 * x - 0.2 * y + 1.0, (4, 6), 0.5)[0].shape
    at = PlacedSolid("height_field", slope.numbers(), kt.Pose.of((1, 2, 0.5), rpy=(0, 0, 0.4)).spatial())
    for u, v in np.random.default_rng(1).uniform(-1.9, 1.9, size=(20, 2)):
        x, y = 1 + np.cos(0.4) * u - np.sin(0.4) * v, 2 + np.sin(0.4) * u + np.cos(0.4) * v
        assert height_at(at, x, y, slope) == pytest.approx(0.3 * u - 0.2 * v + 1.5, abs=1e-12)
    assert height_at(at, 9.0, 9.0, slope) == NOWHERE
    rough = kt.terrain.random_heights((2, 2), 0.1, spacing=0.25, seed=4)[0].shape
    here = PlacedSolid("height_field", rough.numbers(), kt.Pose().spatial())
    assert height_at(here, 0.25, -0.5, rough) == pytest.approx(rough.heights[5][2], abs=1e-12)

"""The common part of two faces, against polygons that are clipped one line after the other."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kinetree.algorithms.clearance.face_on_face import patch_of
from kinetree.algorithms.clearance.placed_solids import PlacedSolid
from kinetree.algorithms.clearance.touching_points import touching_area
from kinetree.spatial import Matrix3, MatrixRotation, Transform, Vec3


def placed(halves, place, turn=(0, 0, 0)):
    matrix = Rotation.from_rotvec(turn).as_matrix()
    return PlacedSolid("box", halves, Transform((MatrixRotation(Matrix3.of(matrix.tolist())),), Vec3(*place)))


def turned(box):
    return np.array([list(row) for row in box.pose.matrix().rows])


def face(box, toward):
    """Corners of the face that looks most in a direction, and its outward normal."""
    matrix, center = turned(box), np.array(list(box.pose.translation))
    k = int(np.argmax(np.abs(matrix.T @ toward)))
    outward = matrix[:, k] * np.sign(matrix[:, k] @ toward)
    u, v = (matrix[:, (k + i) % 3] * box.numbers[(k + i) % 3] for i in (1, 2))
    middle = center + outward * box.numbers[k]
    return np.array([middle - u - v, middle + u - v, middle + u + v, middle - u + v]), outward


def clipped(polygon, normal, offset):
    """The part of a polygon where normal . x <= offset."""
    found = []
    for p, q in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        a, b = normal @ p - offset, normal @ q - offset
        if a <= 0:
            found.append(p)
        if a * b < 0:
            found.append(p + (q - p) * a / (a - b))
    return np.array(found)


def expected(a, b, normal):
    """Center and second moments of the patch in a plane, and its depth there."""
    one = np.cross(normal, [0.3, 0.5, 0.8])
    one /= np.linalg.norm(one)
    plane = np.stack([one, np.cross(normal, one)])
    (first, up), (second, down) = face(a, normal), face(b, -normal)
    seen, other = first @ plane.T, second @ plane.T

    def height(corners, outward):
        slope = -plane @ outward / (outward @ normal)
        return slope, corners[0] @ normal - slope @ (plane @ corners[0])

    (ga, za), (gb, zb) = height(first, up), height(second, down)
    polygon = clipped(seen, gb - ga, za - zb)
    for k in range(4):
        if len(polygon):
            side = other[(k + 1) % 4] - other[k]
            outward = np.array([side[1], -side[0]])
            outward *= np.sign(outward @ (other[k] - other.mean(axis=0)))
            polygon = clipped(polygon, outward, outward @ other[k])
    if len(polygon) < 3:
        return None
    weights, points = [], []
    for p, q in pairwise(polygon[1:]):  # three points of a triangle integrate squares exactly
        (px, py), (qx, qy) = p - polygon[0], q - polygon[0]
        area = 0.5 * (px * qy - py * qx)
        corners = np.array([polygon[0], p, q])
        points += list(0.5 * (corners + np.roll(corners, 1, axis=0)))
        weights += [area / 3] * 3
    weights, points = np.array(weights) / np.sum(weights), np.array(points)
    center = weights @ points
    spread = (points - center).T @ (weights[:, None] * (points - center))
    return plane, center, spread, lambda x: (za - zb) + (ga - gb) @ x


def test_four_points_have_center_moments_and_depth_of_the_common_part():
    rng, met = np.random.default_rng(3), 0
    for _ in range(300):
        sizes = rng.uniform(0.05, 0.3, (2, 3))
        turn = rng.standard_normal(3) * rng.choice([0.0, 1e-6, 0.05, 1.0])
        a = placed(tuple(sizes[0]), rng.uniform(-1, 1, 3), turn)
        where = [*rng.uniform(-0.2, 0.2, 2), 0.0]
        tilt = Rotation.from_rotvec(turn) * Rotation.from_rotvec(
            rng.standard_normal(3) * rng.choice([0, 1e-4, 1e-2, 1.0])
        )
        b = placed(tuple(sizes[1]), (0, 0, 0), tilt.as_rotvec())
        reach = sizes[0, 2] + np.abs(Rotation.from_rotvec(turn).as_matrix()[:, 2] @ turned(b)) @ sizes[1]
        where[2] = reach - 10.0 ** rng.uniform(-5, -2)
        shift = Rotation.from_rotvec(turn).apply(where) + np.array(list(a.pose.translation))
        b = placed(b.numbers, shift, tilt.as_rotvec())
        normal, points, _, _ = patch_of(a, b)
        normal = np.array([float(x) for x in normal])
        found = expected(a, b, normal)
        depths = np.array([float(d) for d, _ in points])
        if found is None:
            assert (depths < 0).all()
            continue
        met += 1
        plane, center, spread, depth = found
        seen = np.array([[float(x) for x in place] for _, place in points]) @ plane.T
        size = np.sqrt(np.trace(spread))
        assert seen.mean(axis=0) == pytest.approx(center, abs=1e-6 * size)
        assert np.cov(seen.T, bias=True) == pytest.approx(spread, abs=1e-6 * size**2)
        assert depths == pytest.approx([depth(x) for x in seen], abs=1e-12)
    assert met > 200


def test_faces_that_lie_on_one_another_edge_on_edge():
    """Rounding decides whose edges are inside, and must not matter."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        turn, place = rng.standard_normal(3), rng.uniform(-2, 2, 3)
        up = Rotation.from_rotvec(turn).apply([0, 0, 0.2 - 1e-4])
        a, b = placed((0.2, 0.15, 0.1), place, turn), placed((0.2, 0.15, 0.1), place + up, turn)
        for one, other, sign in ((a, b, 1), (b, a, -1)):
            area = touching_area(one, other)
            assert np.array([*area.normal]) == pytest.approx(sign * up / np.linalg.norm(up), abs=1e-12)
            own = np.array([[*p.place] for p in area.points]) - place - 0.5 * up
            spread = Rotation.from_rotvec(turn).inv().apply(own)
            assert np.cov(spread.T, bias=True) == pytest.approx(np.diag([0.04 / 3, 0.0225 / 3, 0]), abs=1e-9)
            assert [p.depth for p in area.points] == pytest.approx([1e-4] * 4, abs=1e-12)


def test_the_growth_of_a_patch_is_what_differences_of_its_area_say():
    """A box that leans on another presses with a strip, which grows as it comes deeper."""
    a = placed((0.3, 0.2, 0.1), (0.1, 0.2, 0.3))
    lean, size = (0.02, 0.015, 0.3), (0.1, 0.15, 0.1)
    matrix = Rotation.from_rotvec(lean).as_matrix()
    height = 0.4 + np.abs(matrix[2]) @ size
    areas = []
    for depth in (1e-3 - 1e-7, 1e-3, 1e-3 + 1e-7):
        b = placed(size, (0.12, 0.18, height - depth), lean)
        patch = patch_of(a, b)
        points = np.array([[*place] for _, place in patch.points])
        areas.append(np.sqrt(np.linalg.det(np.cov(points[:, :2].T, bias=True))))  # of triangles of one form
        growth = patch.growth
    assert growth == pytest.approx((areas[2] - areas[0]) / 2e-7 / areas[1], rel=1e-4)

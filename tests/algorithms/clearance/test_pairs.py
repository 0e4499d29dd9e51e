"""Distances of pairs of shapes: against Coal, by support functions, in degenerate poses, and moved rigidly."""

import numpy as np
import pytest

from kinetree.algorithms.clearance.pairs import separation
from kinetree.algorithms.clearance.placed_solids import PlacedSolid
from kinetree.algorithms.clearance.supports import farthest
from kinetree.spatial import MatrixRotation, Transform, Vec3

coal = pytest.importorskip("coal")

SIZES = {"sphere": (0.3,), "capsule": (0.2, 0.5), "box": (0.3, 0.5, 0.2)}
KINDS = list(SIZES)
PAIRS = [(a, b) for k, a in enumerate(KINDS) for b in KINDS[k:]]


def quaternions(rng, n):
    q = rng.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def pose(q, p):
    return Transform((MatrixRotation.from_quaternion(*np.transpose(q)),), Vec3(*np.transpose(p)))


def matrices(q):
    return np.moveaxis(np.array(MatrixRotation.from_quaternion(*np.transpose(q)).m.to_rows()), -1, 0)


def coal_solid(kind, sizes):
    return {
        "sphere": lambda r: coal.Sphere(r),
        "capsule": lambda r, h: coal.Capsule(r, 2 * h),
        "box": lambda *h: coal.Box(*(2 * np.array(h))),
        "plane": lambda: coal.Halfspace(np.array([0, 0, 1.0]), 0.0),
    }[kind](*sizes)


def by_coal(a, b, q, p):
    """Return Coal's signed distances; q and p are those of both."""
    one, two = coal_solid(*a), coal_solid(*b)
    request, found = coal.DistanceRequest(), np.empty(len(p[0]))
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    turned = [matrices(x) for x in q]
    for k in range(len(found)):
        frames = [coal.Transform3s(r[k], x[k]) for r, x in zip(turned, p, strict=True)]
        found[k] = coal.distance(one, frames[0], two, frames[1], request, coal.DistanceResult())
    return found


def at(kind, sizes, q, p):
    return PlacedSolid(kind, sizes, pose(q, p))


def vectors(*three):
    return [np.stack(np.broadcast_arrays(*v), axis=-1) for v in three]


def check_points(a, b, found):
    """Points, normal and distance fit together, and no plane across the normal is farther from both solids."""
    first, second, normal = vectors(found.first, found.second, found.normal)
    assert np.allclose(np.linalg.norm(normal, axis=-1), 1.0, atol=1e-9)
    assert np.allclose(second - first, found.distance[:, None] * normal, atol=1e-12)
    (one,), (two,) = vectors(farthest(a, found.normal)), vectors(farthest(b, -found.normal))
    assert np.allclose(np.sum((two - one) * normal, axis=-1), found.distance, atol=1e-9)
    for solid, point, sign in ((a, first, -1.0), (b, second, 1.0)):  # a point of a convex solid is within all planes
        for direction in np.random.default_rng(7).normal(size=(20, 3)):
            n = Vec3(*(direction / np.linalg.norm(direction)))
            (reached,) = vectors(farthest(solid, n))
            assert (((point - reached) @ np.array(list(n))) < 1e-9).all(), sign


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_distances_are_those_of_coal(first, second):
    """Some 300 pairs each, a third of them overlapping; 1e5 of each kind were compared by hand."""
    rng, n = np.random.default_rng([1, *map(ord, first + second)]), 300
    q = quaternions(rng, n), quaternions(rng, n)
    p = rng.uniform(-0.5, 0.5, (n, 3)), rng.uniform(-1, 1, (n, 3)) * rng.uniform(0, 1.5, (n, 1))
    sizes = SIZES[first], tuple(0.8 * x for x in SIZES[second])
    a, b = at(first, sizes[0], q[0], p[0]), at(second, sizes[1], q[1], p[1])
    found = separation(a, b)
    theirs = by_coal((first, sizes[0]), (second, sizes[1]), q, p)
    assert 0.1 < (theirs < 0).mean() < 0.6
    assert np.abs(found.distance - theirs).max() < 1e-9
    check_points(a, b, found)
    back = separation(b, a)
    assert np.allclose(back.distance, found.distance, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_from_planes_are_those_of_coal(kind):
    rng, n = np.random.default_rng(2), 200
    q, p = (quaternions(rng, n), quaternions(rng, n)), (rng.uniform(-0.5, 0.5, (n, 3)), rng.uniform(-1, 1, (n, 3)))
    found = separation(at("plane", (), q[0], p[0]), at(kind, SIZES[kind], q[1], p[1]))
    assert np.abs(found.distance - by_coal(("plane", ()), (kind, SIZES[kind]), q, p)).max() < 1e-12
    first, second, normal = vectors(found.first, found.second, found.normal)
    assert np.allclose(second - first, found.distance[:, None] * normal, atol=1e-12)
    assert np.allclose(np.sum(normal * (first - p[0]), axis=-1), 0.0, atol=1e-12)


TURNS = {
    "as it is": (0, 0, 0, 1), "quarter": (0, 0, np.sqrt(0.5), np.sqrt(0.5)), "half": (1, 0, 0, 0),
    "eighth": (0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)), "hair": (1e-9, 0, 0, 1), "less": (0, 1e-6, 2e-7, 1),
    "corner": (0.5, 0.5, 0.5, 0.5),
}  # fmt: skip
PLACES = {
    "concentric": (0, 0, 0), "along": (1.0, 0, 0), "above": (0, 0, 1.2), "touching": (0.6, 0, 0), "edge": (0.6, 1.0, 0),
    "corners": (0.6, 1.0, 0.4), "inside": (0.1, 0, 0), "beside": (0.45, 0.9, 0), "shifted": (0.5, 0.3, 0.1),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_degenerate_poses(first, second):
    """Parallel faces and edges, concentric and touching solids: all distances as Coal's, all points on the solids.

    Of solids that are turned by a hair Coal says the distance wrongly, by up to half a box: there it is the distance of
    those that are not turned, but for the hair.
    """
    q, p = (np.array(x) for x in zip(*((t, x) for t in TURNS.values() for x in PLACES.values()), strict=True))
    q = q / np.linalg.norm(q, axis=1)[:, None]
    still = np.tile([0, 0, 0, 1.0], (len(q), 1)), np.zeros((len(p), 3))
    a, b = at(first, SIZES[first], *still), at(second, SIZES[second], q, p.astype(float))
    found = separation(a, b)
    exact = np.repeat([turn not in ("hair", "less") for turn in TURNS], len(PLACES))
    theirs = by_coal((first, SIZES[first]), (second, SIZES[second]), (still[0], q), (still[1], p))
    assert np.abs(found.distance - theirs)[exact].max() < 1e-9
    count = len(PLACES)
    for k, turn in enumerate(TURNS):
        if turn in ("hair", "less"):
            assert np.allclose(found.distance[k * count : (k + 1) * count], found.distance[:count], atol=3e-6)
    check_points(a, b, found)

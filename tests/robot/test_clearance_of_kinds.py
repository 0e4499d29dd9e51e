"""Distances of cylinders, ellipsoids and hulls, against Coal and by planes that touch both."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.clearance.placed_solids import PlacedSolid
from kinetree.algorithms.clearance.supports import farthest
from kinetree.robot.clearance import PairProgram
from kinetree.spatial import Matrix3, MatrixRotation, Transform, Vec3

coal = pytest.importorskip("coal")


def hull(count, seed):
    """Random vertices on an ellipsoid, off the origin."""
    x = np.random.default_rng(seed).normal(size=(count, 3))
    return (x / np.linalg.norm(x, axis=1)[:, None] * (0.3, 0.5, 0.2) + (0.05, 0.0, -0.1)).ravel()


SIZES = {
    "sphere": (0.3,), "capsule": (0.2, 0.5), "box": (0.3, 0.5, 0.2), "cylinder": (0.3, 0.4),
    "ellipsoid": (0.2, 0.5, 0.3), "convex_hull": tuple(hull(12, 0)),
}  # fmt: skip
OTHERS = ("cylinder", "ellipsoid", "convex_hull")
PAIRS = [(a, b) for k, a in enumerate(OTHERS) for b in SIZES if b not in OTHERS[:k]]


def coal_hull(vertices):
    points = coal.StdVec_Vec3s()
    for vertex in vertices:
        points.append(vertex)
    return coal.Convex.convexHull(points, False, "")


COAL = {
    "sphere": lambda r: coal.Sphere(r), "capsule": lambda r, h: coal.Capsule(r, 2 * h),
    "box": lambda *h: coal.Box(*(2 * np.array(h))), "cylinder": lambda r, h: coal.Cylinder(r, 2 * h),
    "ellipsoid": lambda *r: coal.Ellipsoid(*r), "convex_hull": lambda *x: coal_hull(np.reshape(x, (-1, 3))),
}  # fmt: skip


def rotations(rng, n):
    q = rng.normal(size=(n, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    return np.moveaxis(np.array(MatrixRotation.from_quaternion(*q.T).m.to_rows()), -1, 0)


def poses(turned, places):
    return np.concatenate([turned.reshape(-1, 9), places], axis=1)


def by_coal(kinds, sizes, turned, places):
    one, two = (COAL[kind](*own) for kind, own in zip(kinds, sizes, strict=True))
    request, found = coal.DistanceRequest(), np.empty(len(places[0]))
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    for k in range(len(found)):
        frames = [coal.Transform3s(r[k], x[k]) for r, x in zip(turned, places, strict=True)]
        found[k] = coal.distance(one, frames[0], two, frames[1], request, coal.DistanceResult())
    return found


def solid(kind, sizes, turned, places):
    rows = [[turned[:, i, j] for j in range(3)] for i in range(3)]
    return PlacedSolid(kind, sizes, Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*places.T)))


def stacked(v):
    return np.stack(np.broadcast_arrays(*v), axis=-1)


def check(kinds, sizes, turned, places, found):
    """The distance is that of two planes across the normal that touch the solids, and of the points, which are theirs.

    So no distance is too large, whether solids overlap or not; that of solids that are apart is not too small, either.
    """
    curved_hull = "convex_hull" in kinds and bool({"cylinder", "ellipsoid"} & set(kinds))
    a, b = (solid(k, s, r, x) for k, s, r, x in zip(kinds, sizes, turned, places, strict=True))
    distance, first, second, normal = found[:, 0], found[:, 1:4], found[:, 4:7], found[:, 7:]
    n = Vec3(*normal.T)
    assert np.allclose(np.linalg.norm(normal, axis=-1), 1.0, atol=1e-12)
    assert np.allclose(second - first, distance[:, None] * normal, atol=1e-9)
    planes = np.sum((stacked(farthest(b, -n)) - stacked(farthest(a, n))) * normal, axis=-1)
    assert np.abs(planes - distance).max() < 1e-10
    for own, point in ((a, first), (b, second)):
        for direction in np.random.default_rng(7).normal(size=(20, 3)):
            d = direction / np.linalg.norm(direction)
            assert ((point - stacked(farthest(own, Vec3(*d)))) @ d < (1e-7 if curved_hull else 1e-9)).all()


def compared(first, second, n, seed):
    """Return kinds, sizes, rotations and places of random pairs, some of which overlap, and distances."""
    rng = np.random.default_rng([seed, *map(ord, first + second)])
    kinds, sizes = (first, second), (SIZES[first], tuple(0.8 * x for x in SIZES[second]))
    turned = rotations(rng, n), rotations(rng, n)
    one = rng.uniform(-0.5, 0.5, (n, 3))
    places = one, one + rng.normal(size=(n, 3)) * rng.uniform(0, 1, (n, 1))
    given = np.array(sizes[0]), poses(turned[0], places[0]), np.array(sizes[1]), poses(turned[1], places[1])
    program = PairProgram([(k, len(s)) for k, s in zip(kinds, sizes, strict=True)], True, "")
    return kinds, sizes, turned, places, given, program


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_distances_are_those_of_coal(first, second):
    """Of pairs that overlap Coal says some wrongly, too deep; its tolerance for curved solids is 1e-6 or so."""
    kinds, sizes, turned, places, given, program = compared(first, second, 200, 1)
    found = program(*given)
    check(kinds, sizes, turned, places, found)
    theirs = by_coal(kinds, sizes, turned, places)
    apart = theirs > 0
    assert 0.2 < apart.mean() < 0.8
    hulls = "convex_hull" in kinds  # of these, few deep overlaps have a shorter way out than the one that is found
    assert (found[:, 0] > theirs - 1e-8)[found[:, 0] > (-0.03 if hulls else -1.0)].all()
    assert (found[:, 0] > theirs - 1e-8).mean() >= (0.98 if hulls else 1.0)
    assert np.abs(found[:, 0] - theirs)[apart].max() < 2e-6  # as near as Coal comes: check() is stricter
    assert np.median(np.abs(found[:, 0] - theirs)) < 1e-9
    alone = program(given[0], given[1][7], given[2], given[3][7])
    assert np.allclose(alone, found[7], rtol=0, atol=1e-10)
    assert np.array_equal(program(given[0], given[1][5:9], given[2], given[3][5:9]), found[5:9])
    spoiled = given[1].copy()
    spoiled[3, 10] = np.nan
    again = program(given[0], spoiled, *given[2:])
    assert np.isnan(again[3, 0])
    assert np.array_equal(np.delete(again, 3, 0), np.delete(found, 3, 0))


@pytest.mark.slow
def test_the_text_says_the_same():
    kinds, sizes, _, _, given, program = compared("cylinder", "box", 8, 2)
    text = PairProgram([(k, len(s)) for k, s in zip(kinds, sizes, strict=True)], False, "")
    assert np.allclose(text(*given)[:, 0], program(*given)[:, 0], atol=1e-11)


def widest_gap(kinds, sizes, turned, places, k):
    """A second judge of one pair: the widest gap between planes, climbed to from 200 random normals by SciPy."""
    from scipy.optimize import minimize

    a, b = (
        solid(kind, s, r[k : k + 1], x[k : k + 1]) for kind, s, r, x in zip(kinds, sizes, turned, places, strict=True)
    )

    def gap(n):
        n = n / np.linalg.norm(n)
        v = Vec3(*n)
        return float(((stacked(farthest(b, -v)) - stacked(farthest(a, v))) @ n)[0])

    starts = sorted(np.random.default_rng(k).normal(size=(200, 3)).tolist(), key=lambda n: -gap(np.array(n)))[:6]
    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000}
    return max(-minimize(lambda n: -gap(n), n, method="Nelder-Mead", options=options).fun for n in starts)


@pytest.mark.thorough
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_distances_of_very_many_pairs(first, second):
    """1e5 pairs of each two kinds; where Coal differs, planes and points prove ours, or the second judge does.

    Of hulls that overlap deeply, fewer than one in a hundred ways out is not the shortest.
    """
    n = 100_000
    kinds, sizes, turned, places, given, program = compared(first, second, n, 3)
    found = program(*given)
    theirs = by_coal(kinds, sizes, turned, places)
    distance, apart = found[:, 0], found[:, 0] > 0
    between = np.linalg.norm(found[:, 4:7] - found[:, 1:4], axis=1)
    assert np.abs(between - distance)[apart].max() < 1e-9
    check(kinds, sizes, turned, places, found)  # so those apart are right, whatever Coal says
    assert (distance - theirs)[apart].min() > -2e-6
    worse = np.flatnonzero(~apart & (distance < theirs - 1e-9))
    assert len(worse) < (1e-2 if "convex_hull" in kinds else 1e-4) * n
    better = np.flatnonzero(~apart & (distance > theirs + 1e-6))[:5]
    for k in better:
        assert distance[k] == pytest.approx(widest_gap(kinds, sizes, turned, places, k), abs=1e-7)


@pytest.mark.parametrize("other", ["cylinder", "box", "ellipsoid"])
def test_degenerate_poses(other):
    """By hand: a cylinder above, beside, inside and touching others with parallel axes and faces."""
    size = {"cylinder": (0.2, 0.3), "box": (0.2, 0.2, 0.3), "ellipsoid": (0.2, 0.2, 0.3)}[other]
    program = PairProgram((("cylinder", 2), (other, len(size))), True, "")
    places = np.array([(0, 0, 1.0), (0.9, 0, 0), (0, 0, 0.7), (0.5, 0, 0), (0, 0, 0.6), (0.05, 0, 0), (0, 0, 0.0)])
    still = np.tile(np.eye(3), (len(places), 1, 1))
    found = program(np.array((0.3, 0.4)), poses(still, 0 * places), np.array(size), poses(still, places))
    assert np.allclose(found[:, 0], (0.3, 0.4, 0.0, 0.0, -0.1, -0.45, -0.5), atol=1e-9)
    check(("cylinder", other), ((0.3, 0.4), size), (still, still), (0 * places, places), found)


def test_a_hull_above_a_plane():
    """The lowest vertex counts; a plane has no numbers of its own."""
    b = kt.Builder("hull").shape("base", kt.shapes.HalfSpace(), name="floor")
    b.body("hull", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1))
    b.shape("hull", kt.shapes.ConvexHull([(0, 0, -0.2), (0.1, 0, 0), (0, 0.1, 0), (-0.1, -0.1, 0.1)]))
    robot = b.build()
    q = np.array([[0, 0, 0, 1, 0, 0, 0.5], [1, 0, 0, 0, 0, 0, 0.5]])
    assert robot.clearance(q).distances[:, 0] == pytest.approx([0.3, 0.4])

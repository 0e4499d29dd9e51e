"""The nearest points of any two convex solids, known by the farthest point of each in a direction.

Solids that are apart: the point of the difference of two solids that is nearest to zero, by the method of Gilbert,
Johnson and Keerthi (1988). Each step adds the point of the difference that is farthest toward zero, and keeps those of
at most three points whose hull comes nearest to zero.  The candidates are the edges and triangles at the newest point;
each is a set of points of the two solids, so that the smallest distance of them is never too small.

Curved solids would take many steps: there the search ends early, and :mod:`.smooth_search` has the last word.

Solids that overlap are moved apart along a normal, as far as they overlap along it and a little more. The normal of
their nearest points then is a way out that is at least as short (the gap along it is larger by the distance moved times
one minus the cosine between the two): from a good first normal, a few such rounds end at the shortest way out.
Where they overlap deeply, many first normals are tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ...spatial import (
    BASIS,
    IDENTITY,
    ZERO3,
    Matrix3,
    MatrixRotation,
    Scalar,
    Transform,
    Vec3,
    minimum,
    repeat,
    sqrt,
    where,
)  # fmt: skip
from .heights_below import looked_up
from .placed_solids import PlacedSolid, Scalars, Separation, called, chosen, length, smallest
from .smooth_search import DIMENSIONS, GOING, NARROW, NormalSearch

CENTERED = ("sphere", "capsule", "box", "cylinder", "ellipsoid")
"""Kinds that are their own mirror image in their center."""

ROUNDED = ("sphere", "capsule")
"""Kinds that are a point or a line, and a radius around it."""

EIGHT = 8
"""Hulls whose numbers of vertices round up to the same multiple of this share their code."""

MOVED_APART = 2e-3
"""How far solids that overlap are moved apart beyond touching, relative to their size."""

MOST_ROUNDS = 24
"""How often solids are moved apart anew at most."""

NORMAL_SETTLED = 1e-20
"""Square of the change of a normal that ends these rounds."""

SLOWEST = 0.95
"""The largest square of the factor by which changes of the normal become smaller that is believed."""

DEEP = 0.01
"""Depth, relative to the size of a pair, from which the shortest way out may be far from the first one."""

FEW, MANY, MANY_OF_HULLS = 13, 48, 20
"""Directions on half a sphere, of which the best is a first normal; and if the solids overlap deeply."""

MOST_CORNERS = 48
"""Steps of a search after which it ends anyway."""

AGREED = 1e-15
"""Gap between the distance of points and of planes, relative to the distance, that ends a search."""

NEARLY_AGREED = 3e-3
"""The same where another search follows."""

POLISHED = 1e-5
"""Width of smoothed kinks with which the last search begins, see :mod:`.smooth_search`."""

QUICKLY = 0.01
"""By how much kinks become narrower in each of its steps."""

MOST_POLISHING = 20
"""Steps of the last search."""

CURVED = ("cylinder", "ellipsoid")
"""Kinds with curved surfaces besides a radius around everything."""

NO_WORSE = 1e-9
"""How much less a gap may be, relative to the size of a pair, if it was found by the last search."""

THIN = 1e-30
"""Square of a triangle's area, relative to the fourth power of its edges, below which it has no plane."""

NOWHERE_LONG = 1e-300
"""Square of a length that is none."""


class Difference(NamedTuple):
    """Two solids without their roundings, in axes of the first and seen from its center."""

    kinds: tuple[str, str]
    first: Scalars
    second: Scalars
    turn: tuple[Vec3, ...]
    """Axes of the second."""
    to: Vec3
    """Its center."""

    def points(self, direction: Vec3) -> tuple[Vec3, Vec3]:
        """Return the point of the first that is farthest in a direction, and that of the second against it."""
        one = _core(self.kinds[0], self.first, direction)
        x, y, z = (-axis.dot(direction) for axis in self.turn)
        other = _core(self.kinds[1], self.second, Vec3(x, y, z))
        e1, e2, e3 = self.turn
        return one, self.to + e1 * other.x + e2 * other.y + e3 * other.z

    def gap(self, normal: Vec3) -> Scalar:
        """Return the width of the gap between planes across a normal; negative if the solids overlap along it."""
        first, second = self.points(normal)
        return normal.dot(second - first)

    def numbers(self) -> list[Scalar]:
        """Return all numbers."""
        return [*self.first, *self.second, *(x for axis in self.turn for x in axis), *self.to]

    def of(self, numbers: Scalars) -> Difference:
        """Return two solids of the same kinds with other numbers."""
        n, m = len(self.first), len(self.second)
        rest = numbers[n + m :]
        axes = tuple(Vec3(*rest[k : k + 3]) for k in (0, 3, 6))
        return Difference(self.kinds, numbers[:n], numbers[n : n + m], axes, Vec3(*rest[9:12]))


def separation(a: PlacedSolid, b: PlacedSolid) -> Separation:
    """Return the separation of two convex solids of any kinds."""
    one, other = (x._replace(numbers=_own(x)) for x in (a, b))
    found = called(("nearest in difference",), lambda x, y: _separation(_pair(x, y)).numbers(), one, other)
    radii = (x.numbers[0] if x.kind in ROUNDED else None for x in (a, b))
    return _read(found).rounded(*radii).placed(a.pose)


def _pair(a: PlacedSolid, b: PlacedSolid) -> Difference:
    return Difference(
        (a.kind, b.kind), a.numbers, b.numbers, tuple(b.pose.rotate(axis) for axis in BASIS), b.pose.translation
    )


def _own(x: PlacedSolid) -> Scalars:
    """Return the numbers without the radius around everything; those of hulls in eights of vertices."""
    if x.kind == "convex_hull":
        missing = -(len(x.numbers) // 3) % EIGHT
        return [*x.numbers, *list(x.numbers[-3:]) * missing]
    return x.numbers[1:] if x.kind in ROUNDED else x.numbers


def _core(kind: str, numbers: Scalars, d: Vec3) -> Vec3:
    """Return the point farthest in a direction, which is no unit vector."""
    if kind == "sphere":
        return ZERO3
    if kind == "capsule":
        return Vec3(0.0, 0.0, where(d.z < 0.0, -numbers[0], numbers[0]))
    if kind == "box":
        return Vec3(*(where(x < 0.0, -half, half) for x, half in zip(d, numbers, strict=True)))
    if kind == "cylinder":
        square = d.x * d.x + d.y * d.y
        share = numbers[0] / sqrt(where(square > NOWHERE_LONG, square, 1.0))
        return Vec3(d.x * share, d.y * share, where(d.z < 0.0, -numbers[1], numbers[1]))
    if kind == "ellipsoid":
        x, y, z = (e * r for e, r in zip(d, numbers, strict=True))
        share = 1.0 / sqrt(x * x + y * y + z * z)
        return Vec3(*(e * r * share for e, r in zip((x, y, z), numbers, strict=True)))
    best: Scalar = None
    for k in range(0, len(numbers), 3):
        corner = Vec3(*numbers[k : k + 3])
        height = d.dot(corner)
        if best is None:
            best, found = height, corner
        else:
            higher = height > best
            best, found = where(higher, height, best), chosen(higher, corner, found)
    return found


def _reach(kind: str, numbers: Scalars, d: Vec3) -> Scalar:
    """Return how far a solid reaches in a direction."""
    if kind != "convex_hull":
        return d.dot(_core(kind, numbers, d))
    best: Scalar = None
    for k in range(0, len(numbers), 3):
        height = d.dot(Vec3(*numbers[k : k + 3]))
        best = height if best is None else where(height > best, height, best)
    return best


def _separation(pair: Difference) -> Separation:
    size = _size(pair)
    found = _from_normal(pair, size, _first_normal(pair, size))
    deep = found.distance < -DEEP * size
    state = [where(deep, 1.0, 0.0), *found.numbers()]
    key = ("shortest way out", pair.kinds, len(pair.first), len(pair.second))

    def once(numbers: list[Scalar]) -> list[Scalar]:
        own = pair.of(numbers[len(state) :])
        return [0.0, *_way_out(own, _size(own), _read(numbers[1:11])).numbers()]

    return _read(repeat(key, once, state, pair.numbers(), 1, 0)[1:])


def _read(numbers: Scalars) -> Separation:
    return Separation(numbers[0], Vec3(*numbers[1:4]), Vec3(*numbers[4:7]), Vec3(*numbers[7:10]))


def _way_out(pair: Difference, size: Scalar, known: Separation) -> Separation:
    """Return the best of what is known and of the ways out from many normals, one after the other."""
    starts: list[Scalar] = []
    for octant in _octants(MANY_OF_HULLS if "convex_hull" in pair.kinds else MANY):
        starts += _best_direction(pair, octant)
    for axis in (*_flat(pair, 0), *_flat(pair, 1)):
        starts += [*axis, *-axis]
    count = len(starts) // 3
    state = [float(count), *known.numbers(), *starts]
    key = ("ways out", pair.kinds, len(pair.first), len(pair.second))

    def step(numbers: list[Scalar]) -> list[Scalar]:
        own, best, rest = pair.of(numbers[len(state) :]), _read(numbers[1:11]), numbers[11 : len(state)]
        found = _from_normal(own, _size(own), Vec3(*rest[:3]))
        wider = found.distance > best.distance
        kept = [where(wider, x, y) for x, y in zip(found.numbers(), best.numbers(), strict=True)]
        return [numbers[0] - 1.0, *kept, *rest[3:], *rest[:3]]

    return _read(repeat(key, step, state, pair.numbers(), count, 0)[1:])


def _from_normal(pair: Difference, size: Scalar, normal: Vec3) -> Separation:
    """Return the separation, that of the best way out near a normal if the solids overlap."""
    curved = bool(set(pair.kinds) & set(CURVED)) and set(pair.kinds) <= set(DIMENSIONS)
    little, gap = size * MOVED_APART, pair.gap(normal)
    if curved:
        moved = where(gap < little, little - gap, 0.0)
        search = _nearest(pair, normal * moved, _first_corner(pair, normal, normal * moved), NEARLY_AGREED)
        normal, first, second = _ends(search, normal * moved)
        return _polished(pair, pair.gap(normal), normal, first, second)
    moved = where(gap < little, little - gap, 0.0)
    begun = _first_corner(pair, normal, normal * moved)
    state = [float(MOST_ROUNDS), gap, *normal, -1.0, *ZERO3, *ZERO3, *(normal * moved), *begun]
    at = len(state) - len(begun)
    key = ("moved apart", pair.kinds, len(pair.first), len(pair.second))

    def step(numbers: list[Scalar]) -> list[Scalar]:
        own = pair.of(numbers[len(state) :])
        little, gap, before, last = MOVED_APART * _size(own), numbers[1], Vec3(*numbers[2:5]), numbers[5]
        moved = where(gap < little, little - gap, 0.0)
        search = _nearest(own, before * moved, _shifted(numbers[at : len(state)], Vec3(*numbers[at - 3 : at]),
                          before * moved), AGREED)  # fmt: skip
        normal, first, second = _ends(search, before * moved)
        new = own.gap(normal)
        off = normal - before
        step = off.dot(off)
        going = (moved > 0.0) & (step > NORMAL_SETTLED)
        # steps become shorter by nearly the same factor each time: every other time all that follow are taken at once
        factor = sqrt(where(last > 0.0, minimum(step / where(last > 0.0, last, 1.0), SLOWEST), 0.0))
        farther = _unit(normal + off * (factor / (1.0 - factor)), 1.0, normal)
        wider = own.gap(farther)
        leap = going & (wider > new)
        return [
            where(going, numbers[0] - 1.0, 0.0), where(leap, wider, new), *chosen(leap, farther, normal),
            where(leap, -1.0, step), *first, *second, *(before * moved), *search,
        ]  # fmt: skip

    found = repeat(key, step, state, pair.numbers(), MOST_ROUNDS, 0)
    gap, normal, first, second = found[1], *(Vec3(*found[k : k + 3]) for k in (2, 6, 9))
    middle = (first + second) * 0.5
    return Separation(gap, middle - normal * (0.5 * gap), middle + normal * (0.5 * gap), normal)


def _polished(pair: Difference, gap: Scalar, normal: Vec3, first: Vec3, second: Vec3) -> Separation:
    """Return the separation from a good guess of normal and nearest points."""
    search = NormalSearch(*pair.kinds)
    turn = Matrix3(*(Vec3(*row) for row in zip(*pair.turn, strict=True)))
    one = PlacedSolid(pair.kinds[0], _with_radius(pair, 0), IDENTITY)
    other = PlacedSolid(pair.kinds[1], _with_radius(pair, 1), Transform((MatrixRotation(turn),), pair.to))
    seen = Vec3(*(axis.dot(pair.to - second) for axis in pair.turn))
    z = [*_touched(pair.kinds[0], pair.first, first), *_touched(pair.kinds[1], pair.second, seen)]
    state = search.begin_at(one, other, normal, z, POLISHED)
    key = ("step of normal", pair.kinds)
    state = list(repeat(key, lambda x: search.step(x, QUICKLY), state, [], MOST_POLISHING, GOING))
    found, apart = search.found(state, one, other)
    size = _size(pair)
    doubtful = (found.distance < gap - NO_WORSE * size) | (apart > NO_WORSE * size)
    again = search.begin(one, other, chosen(found.distance > gap, found.normal, normal), NARROW)
    again[GOING] = where(doubtful, 1.0, 0.0)
    again = list(repeat(("careful", *key), search.step, again, [], MOST_CORNERS, GOING))
    state = [where(doubtful, x, y) for x, y in zip(again, state, strict=True)]
    found, _ = search.found(state, one, other)
    better = found.distance > gap - NO_WORSE * size
    middle = (first + second) * 0.5
    return Separation(
        where(better, found.distance, gap), chosen(better, found.first, middle - normal * (0.5 * gap)),
        chosen(better, found.second, middle + normal * (0.5 * gap)), chosen(better, found.normal, normal),
    )  # fmt: skip


def _with_radius(pair: Difference, side: int) -> Scalars:
    own = (pair.first, pair.second)[side]
    return [0.0, *own] if pair.kinds[side] in ROUNDED else own


def _touched(kind: str, numbers: Scalars, point: Vec3) -> list[Scalar]:
    """Return which point of each part touches, from the point of the whole."""
    if kind == "sphere":
        return []
    if kind == "capsule":
        return [point.z / numbers[0]]
    if kind == "cylinder":
        return [point.x / numbers[0], point.y / numbers[0], point.z / numbers[1]]
    return [x / half for x, half in zip(point, numbers, strict=True)]


def _size(pair: Difference) -> Scalar:
    """Return a length of the order of both solids."""
    total: Scalar = 0.0
    for kind, numbers in zip(pair.kinds, (pair.first, pair.second), strict=True):
        own = [abs(x) for x in (numbers[:12] if kind == "convex_hull" else numbers)]
        total = total + sum(own, 0.0)
    return total


def _flat(pair: Difference, side: int) -> list[Vec3]:
    """Return the normals of flat faces that are known by an axis, and the axis of a line."""
    axes = list((BASIS, pair.turn)[side])
    return {"box": axes, "cylinder": axes[2:], "capsule": axes[2:]}.get(pair.kinds[side], [])


def _unit(v: Vec3, size: Scalar, otherwise: Vec3) -> Vec3:
    square = v.dot(v)
    known = square > 1e-24 * size * size
    return chosen(known, v * (1.0 / sqrt(where(known, square, 1.0))), otherwise)


def _likely_normals(pair: Difference, size: Scalar) -> list[Vec3]:
    """Return normals of which one is near the right one if the solids do not overlap deeply."""
    toward = _unit(pair.to - _center(pair, 0) + _center(pair, 1), size, BASIS[2])
    found = [toward]
    one, two = _flat(pair, 0), _flat(pair, 1)
    found += [*one, *two, *(_unit(x.cross(y), 1.0, x) for x in one for y in two)]
    for side in (0, 1):
        if pair.kinds[side] == "cylinder":
            axis = _flat(pair, side)[0]
            found.append(_unit(pair.to - axis * axis.dot(pair.to), size, toward))
    return found


def _center(pair: Difference, side: int) -> Vec3:
    if pair.kinds[side] in CENTERED:
        return ZERO3
    numbers = (pair.first, pair.second)[side]
    x, y, z = (sum(numbers[k::3], 0.0) * (3.0 / len(numbers)) for k in range(3))
    if side == 0:
        return Vec3(x, y, z)
    e1, e2, e3 = pair.turn
    return e1 * x + e2 * y + e3 * z


def _first_normal(pair: Difference, size: Scalar) -> Vec3:
    return _best_of(pair, [*_likely_normals(pair, size), *directions(FEW)], True)


def _best_direction(pair: Difference, candidates: tuple[Vec3, ...]) -> Vec3:
    """Return the best of some fixed directions, through which a loop goes."""
    columns = _columns(candidates)
    state = [float(len(candidates)), -math.inf, *candidates[0]]

    def step(numbers: list[Scalar]) -> list[Scalar]:
        own, row = pair.of(numbers[len(state) :]), numbers[0] - 1.0
        n, gap = _signed(own, Vec3(*(looked_up(column, row) for column in columns)), False)
        wider = gap > numbers[1]
        return [row, where(wider, gap, numbers[1]), *chosen(wider, n, Vec3(*numbers[2:5]))]

    key = ("best direction", pair.kinds, len(pair.first), len(pair.second), candidates)
    return Vec3(*repeat(key, step, state, pair.numbers(), len(candidates), 0)[2:])


def _best_of(pair: Difference, candidates: Sequence[Vec3], both: bool) -> Vec3:
    """Return the normal with the widest gap; ``both`` asks for the better sign of each."""
    best: Scalar = None
    for normal in candidates:
        n, gap = _signed(pair, normal, both)
        if best is None:
            best, found = gap, n
        else:
            wider = gap > best
            best, found = where(wider, gap, best), chosen(wider, n, found)
    return found


def _signed(pair: Difference, normal: Vec3, both: bool) -> tuple[Vec3, Scalar]:
    """Return a normal, or its opposite if that is toward the second solid and both are meant, and the gap."""
    if both:
        toward = pair.to - _center(pair, 0) + _center(pair, 1)
        normal = chosen(toward.dot(normal) < 0.0, -normal, normal)
    gap = normal.dot(pair.to) - _reach(pair.kinds[0], pair.first, normal)
    return normal, gap - _reach(pair.kinds[1], pair.second, Vec3(*(-axis.dot(normal) for axis in pair.turn)))


@cache
def _columns(candidates: tuple[Vec3, ...]) -> tuple[np.ndarray, ...]:
    """Return the coordinates of directions as tables."""
    return tuple(np.array([[list(n)[k]] for n in candidates]) for k in range(3))


@cache
def _octants(count: int) -> tuple[tuple[Vec3, ...], ...]:
    """Return directions that cover a sphere evenly, those of each octant together."""
    every = [n for d in directions(count) for n in (d, -d)]
    signs = [[1.0 if octant >> k & 1 else -1.0 for k in range(3)] for octant in range(8)]
    return tuple(tuple(n for n in every if all(x * s >= 0.0 for x, s in zip(n, own, strict=True))) for own in signs)


@cache
def directions(count: int) -> tuple[Vec3, ...]:
    """Return directions that cover half a sphere evenly."""
    found = []
    for k in range(count):
        z = 1.0 - (2 * k + 1) / (2 * count)
        turn, across = math.pi * (1.0 + math.sqrt(5.0)) * k + 1.0, math.sqrt(1.0 - z * z)
        found.append(Vec3(across * math.cos(turn), across * math.sin(turn), z))
    return tuple(found)


def _first_corner(pair: Difference, way: Vec3, moved: Vec3) -> list[Scalar]:
    """Return the state of a search that begins with one point of the difference, if the second solid is moved."""
    first, second = pair.points(way)
    w = second + moved - first
    return [1.0, *w, *first, *w, *first, *w, *first, *w, *first]


def _shifted(search: Scalars, before: Vec3, after: Vec3) -> list[Scalar]:
    """Return the state of a search if the second solid is moved in another way than before."""
    more = after - before
    places = [Vec3(*search[k : k + 3]) for k in range(1, len(search), 3)]  # of the difference, of the first, and so on
    moved = [place if k % 2 else place + more for k, place in enumerate(places)]
    at, on = _of_triangle(*zip(moved[2::2], moved[3::2], strict=True))
    return [1.0, *at, *on, *(x for place in moved[2:] for x in place)]


def _of_triangle(one: Corner, two: Corner, three: Corner) -> Corner:
    """Return the point of a triangle that is nearest to zero."""
    at, on = _of_corners(one, _nearest_of_corners(one, (two, three, three)))
    v, own = _of_corners(two, _nearest_of_corners(two, (three, three, three)))
    closer = v.dot(v) < at.dot(at)
    return chosen(closer, v, at), chosen(closer, own, on)


def nearest_of_triangle(one: Vec3, two: Vec3, three: Vec3) -> Vec3:
    """Return the point of a triangle that is nearest to zero."""
    return _of_triangle((one, ZERO3), (two, ZERO3), (three, ZERO3))[0]


def _nearest(pair: Difference, moved: Vec3, begun: Scalars, agreed: float) -> Scalars:
    """Return the state at the end of a search for the nearest points, if the second solid is moved."""
    pair = pair._replace(to=pair.to + moved)
    key = ("step toward nearest", pair.kinds, len(pair.first), len(pair.second), agreed)

    def step(numbers: list[Scalar]) -> list[Scalar]:
        return _step(pair.of(numbers[len(begun) :]), numbers, agreed)

    return repeat(key, step, begun, pair.numbers(), MOST_CORNERS, 0)


def _ends(search: Scalars, moved: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """Return the normal and the nearest points, the second one moved back."""
    v, first = Vec3(*search[1:4]), Vec3(*search[4:7])
    return v * (1.0 / length(v)), first, first + v - moved


Corner = tuple[Vec3, Vec3]
"""A point of the difference, and that of the first solid from which it comes."""


def _step(pair: Difference, state: Scalars, agreed: float) -> list[Scalar]:
    v, own = Vec3(*state[1:4]), Vec3(*state[4:7])
    corners = [(Vec3(*state[k : k + 3]), Vec3(*state[k + 3 : k + 6])) for k in (7, 13, 19)]
    first, second = pair.points(v)
    w = second - first
    square = v.dot(v)
    open_ = square - v.dot(w) > agreed * square
    found = _nearest_of_corners((w, first), corners)
    new, on = _of_corners((w, first), found)
    better = open_ & (new.dot(new) < square)
    return [
        where(better, 1.0, 0.0), *chosen(better, new, v), *chosen(better, on, own), *w, *first,
        *(x for corner in found.corners for point in corner for x in point),
    ]  # fmt: skip


class NearestOfCorners(NamedTuple):
    """The two other corners besides the newest one, and their shares of the nearest point."""

    corners: tuple[Corner, Corner]
    shares: tuple[Scalar, Scalar]


def _of_corners(newest: Corner, found: NearestOfCorners) -> Corner:
    """Return the nearest point itself, and that of the first solid from which it comes."""
    w, first = newest
    (w1, first1), (w2, first2) = found.corners
    one, other = found.shares
    return w + (w1 - w) * one + (w2 - w) * other, first + (first1 - first) * one + (first2 - first) * other


def _nearest_of_corners(newest: Corner, others: Sequence[Corner]) -> NearestOfCorners:
    """Return the point nearest to zero of the edges and triangles at the newest corner."""
    w = newest[0]
    edges = [corner[0] - w for corner in others]
    candidates: list[tuple[Scalar, ...]] = []
    squares, alongs = [e.dot(e) for e in edges], [-w.dot(e) for e in edges]
    for e, square, along, corner in zip(edges, squares, alongs, others, strict=True):
        share = along / where(square > NOWHERE_LONG, square, 1.0)
        share = where(share > 0.0, where(share < 1.0, share, 1.0), 0.0)
        off = w + e * share
        candidates.append((off.dot(off), share, 0.0, *corner, *corner))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        n = edges[i].cross(edges[j])
        area = n.dot(n)
        flat = area > THIN * squares[i] * squares[j]
        scale = 1.0 / where(flat, area, 1.0)
        one, other = edges[j].cross(w).dot(n) * scale, w.cross(edges[i]).dot(n) * scale
        off = w + edges[i] * one + edges[j] * other
        inside = flat & (one > 0.0) & (other > 0.0) & (one + other < 1.0)
        candidates.append((where(inside, off.dot(off), math.inf), one, other, *others[i], *others[j]))
    _, one, other, w1, a1, w2, a2 = smallest(candidates)
    return NearestOfCorners(((w1, a1), (w2, a2)), (one, other))

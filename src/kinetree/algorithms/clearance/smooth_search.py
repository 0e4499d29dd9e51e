"""Cylinders and ellipsoids, with one another and with balls, capsules and boxes: the last steps of a search.

A normal and points that are nearly right come from :mod:`.nearest_in_difference`.

The signed distance of two convex solids is the largest width of a gap between parallel planes that touch them,

    d = max f(n),    f(n) = n.c - sum |M_k n|,    |n| = 1,

where c leads from center to center. All these solids are sums: a box of three lines, a cylinder of a line and a disk,
an ellipsoid is one itself; each M_k has as many rows as its part has dimensions. Solids that are apart have one
maximum; each local maximum of solids that overlap is a way to move them apart, and the least of them counts.

A kink of |M n| is where a face, an edge or a rim touches. So |M n| is replaced by s = sqrt(|M n|^2 + m^2), and m goes
to zero during the search, as in Andersen, Christiansen, Conn and Overton, An efficient primal-dual interior-point
method for minimizing a sum of Euclidean norms, 2000: Newton's steps linearize s z = M n, in which z, |z| <= 1, says
which point of the part touches. Steps are across n, and the best of several lengths is taken. At the end
c - sum M_k^T z_k = d n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...spatial import BASIS, Scalar, Vec3, maximum, minimum, sqrt, where
from .placed_solids import PlacedSolid, Scalars, Separation, across, length

DIMENSIONS = {"sphere": (), "capsule": (1,), "box": (1, 1, 1), "cylinder": (2, 1), "ellipsoid": (3,)}
"""The dimensions of the parts of each kind."""

NARROW, LAST_WIDTH, LESS, KEPT = 0.0005, 1e-13, 0.15, 0.9
"""Width m of the smoothed kinks, in units of the pair's size: at first, where the maximum near the start is wanted, and
in the end; factors after full steps and after others."""

SHARES = (1.0, 0.3, 0.1, 0.02)
"""The shares of a step of which the best is taken."""

NOISE = 1e-14
"""Differences of heights that count as rounding."""

LONGEST = 0.4
"""Longest step, in radians."""

SETTLED = 1e-18
"""Square of a step, of the normal and of the points that touch, that ends the search."""

GOING = 4
"""Place in the state of the number that is positive until a search has ended."""


class Parts(NamedTuple):
    """A pair of solids as sums of parts, in units of its size."""

    size: Scalar
    to: Vec3
    """From center to center."""
    rows: list[Vec3]
    """Those of all parts, one after the other."""


class NormalSearch(NamedTuple):
    """The search for two kinds of solids; its state is one list of numbers."""

    first: str
    second: str

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Dimensions of all parts, those of the first solid in front."""
        return DIMENSIONS[self.first] + DIMENSIONS[self.second]

    @property
    def row_count(self) -> int:
        """The number of rows of both solids' matrices."""
        return sum(self.dimensions)

    def parts(self, a: PlacedSolid, b: PlacedSolid) -> Parts:
        """Return a pair as sums of parts."""
        to, rows = b.pose.translation - a.pose.translation, [*_rows(a), *_rows(b)]
        size = length(to)
        for row in rows:
            size = size + length(row)
        size = where(size > 0.0, size, 1.0)
        return Parts(size, to * (1.0 / size), [row * (1.0 / size) for row in rows])

    def begin(self, a: PlacedSolid, b: PlacedSolid, normal: Vec3, width: Scalar) -> list[Scalar]:
        """Return the state before the first step, with a guess of the normal and the first width of kinks."""
        _, _, rows = self.parts(a, b)
        x = [row.dot(normal) for row in rows]
        z = [y / sqrt(_squares(part) + width * width) for part in self.each(x) for y in part]
        return self.begin_at(a, b, normal, z, width)

    def begin_at(
        self, a: PlacedSolid, b: PlacedSolid, normal: Vec3, z: Sequence[Scalar], width: Scalar
    ) -> list[Scalar]:  # fmt: skip
        """Return the same with a guess of the points that touch, too."""
        size, to, rows = self.parts(a, b)
        return [*normal, width, 1.0, size, *to, *(y for row in rows for y in row), *z]

    def each(self, numbers: Sequence[Scalar]) -> list[Sequence[Scalar]]:
        """Return numbers part by part."""
        found, at = [], 0
        for dimension in self.dimensions:
            found.append(numbers[at : at + dimension])
            at += dimension
        return found

    def read(self, state: Scalars) -> tuple[Vec3, Scalar, Parts, Sequence[Scalar]]:
        """Return normal, width, parts and z of a state."""
        k, n = 9, self.row_count
        rows = [Vec3(*state[k + 3 * i : k + 3 * i + 3]) for i in range(n)]
        return Vec3(*state[:3]), state[3], Parts(state[5], Vec3(*state[6:9]), rows), state[k + 3 * n :]

    def step(self, state: Scalars, less: float = LESS) -> list[Scalar]:
        """Return the state after one more step; ``less`` is the factor of the width after a full one."""
        normal, width, (_, to, rows), z = self.read(state)
        one = across(normal)
        other = normal.cross(one)
        x, y1, y2 = ([row.dot(v) for row in rows] for v in (normal, one, other))
        every = list(zip(*map(self.each, (x, y1, y2, z)), strict=True))
        value, g1, g2 = (to.dot(v) for v in (normal, one, other))
        a, b, d = 0.0, 0.0, 0.0
        lengths, touched = [], []
        for x_k, y1_k, y2_k, z_k in every:
            s = sqrt(_squares(x_k) + width * width)
            w = [e / s for e in x_k]
            w1, w2, z1, z2 = _dot(w, y1_k), _dot(w, y2_k), _dot(z_k, y1_k), _dot(z_k, y2_k)
            value, g1, g2 = value - _dot(w, x_k), g1 - w1, g2 - w2
            a = a + (_squares(y1_k) - z1 * w1) / s
            d = d + (_squares(y2_k) - z2 * w2) / s
            b = b + (_dot(y1_k, y2_k) - 0.5 * (z1 * w2 + z2 * w1)) / s
            lengths.append(s)
            touched.append(w)
        u1, u2, is_full = _climb(a + value, b, d + value, g1, g2, value)
        moves = [[u1 * p + u2 * q for p, q in zip(y1_k, y2_k, strict=True)] for _, y1_k, y2_k, _ in every]
        climb, square = u1 * to.dot(one) + u2 * to.dot(other), u1 * u1 + u2 * u2
        best: Scalar = None
        taken: Scalar = None
        for share in SHARES:
            stretch = 1.0 + share * share * square
            height = (to.dot(normal) + share * climb) / sqrt(stretch)
            for (x_k, *_), move in zip(every, moves, strict=True):
                there = [e + share * m for e, m in zip(x_k, move, strict=True)]
                height = height - sqrt(_squares(there) / stretch + width * width)
            higher = True if best is None else height > best + NOISE
            best = height if best is None else where(higher, height, best)
            taken = share if taken is None else where(higher, share, taken)
        new = normal + (one * u1 + other * u2) * taken
        new = new * (1.0 / length(new))
        after = []
        for (_, _, _, z_k), move, s, w in zip(every, moves, lengths, touched, strict=True):
            along = _dot(w, move)
            there = [e + taken * ((m - e * along) / s + v - e) for e, m, v in zip(z_k, move, w, strict=True)]
            shorter = 1.0 / sqrt(maximum(_squares(there), 1.0))
            after += [e * shorter for e in there]
        full = (taken > 0.9) & is_full
        narrower = maximum(width * where(full, less, KEPT), LAST_WIDTH)
        moved = square + _squares([x - y for x, y in zip(after, z, strict=True)])
        done = (moved < SETTLED) & (width < 2.0 * LAST_WIDTH)
        changed = [*new, narrower, where(done, 0.0, 1.0), *state[5 : 9 + 3 * self.row_count], *after]
        on = state[GOING] > 0.0  # a search that has ended no longer changes, whatever others do beside it
        return [x if x is y else where(on, x, y) for x, y in zip(changed, state, strict=True)]

    def found(self, state: Scalars, a: PlacedSolid, b: PlacedSolid) -> tuple[Separation, Scalar]:
        """Return the separation at the end, and by how much the points of the solids that touch do not fit to it.

        If that is nothing, the normal is a local maximum, and of solids that are apart the only one.
        """
        normal, _, (size, to, rows), z = self.read(state)
        split = sum(DIMENSIONS[self.first])
        value, first, second = to.dot(normal), a.pose.translation, b.pose.translation
        for part in self.each([row.dot(normal) for row in rows]):
            value = value - sqrt(_squares(part))
        for k, (row, e) in enumerate(zip(rows, z, strict=True)):
            if k < split:
                first = first + row * (e * size)
            else:
                second = second - row * (e * size)
        distance = value * size
        off = second - first - normal * distance
        middle = (first + second) * 0.5
        first, second = middle - normal * (0.5 * distance), middle + normal * (0.5 * distance)
        radii = (x.numbers[0] if x.kind in ("sphere", "capsule") else None for x in (a, b))
        return Separation(distance, first, second, normal).rounded(*radii), length(off)


def _rows(x: PlacedSolid) -> list[Vec3]:
    axes = [x.pose.rotate(axis) for axis in BASIS]
    if x.kind in ("box", "ellipsoid"):
        return [axis * h for axis, h in zip(axes, x.numbers, strict=True)]
    if x.kind == "cylinder":
        radius, half = x.numbers
        return [axes[0] * radius, axes[1] * radius, axes[2] * half]
    return [axes[2] * x.numbers[1]] if x.kind == "capsule" else []


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def _squares(a: Sequence[Scalar]) -> Scalar:
    return _dot(a, a)


def _climb(a: Scalar, b: Scalar, d: Scalar, g1: Scalar, g2: Scalar, value: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return Newton's step upwards, and whether the hill is round and the step short: otherwise both are corrected."""
    half, middle = 0.5 * (a - d), 0.5 * (a + d)
    apart = sqrt(half * half + b * b)
    most = middle + apart
    least = where(most > apart, (a * d - b * b) / most, middle - apart)  # without cancellation at a kink
    enough = 1e-3 * abs(value) + 1e-12
    is_round = least > enough
    more = where(is_round, 0.0, enough - least + abs(least))
    a, d = a + more, d + more
    det = a * d - b * b
    u1, u2 = (d * g1 - b * g2) / det, (a * g2 - b * g1) / det
    size = sqrt(u1 * u1 + u2 * u2)
    short = minimum(LONGEST / maximum(size, LONGEST), 1.0)
    return u1 * short, u2 * short, is_round & (size < LONGEST)

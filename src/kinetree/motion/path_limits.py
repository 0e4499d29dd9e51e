"""Limits along paths as straight lines, and the passes that find the largest speeds within them.

Along a path q(s), with x the square of the speed of s and u its acceleration, all limits are ``|a u + b x + g| <= 1``
(accelerations, torques) or ``b x <= 1`` (velocities). On an interval u is constant and x rises linearly. There the
coefficients are parabolas, by the points at its ends and the next ones, so that what is limited is a polynomial of
third degree, and it stays below its control points in Bernstein's form: four straight lines in (u, x), which hold on
all of the interval. How far the parabolas of both neighbors differ says how far they are off; limits are narrower by
that.

Viscous friction grows with the root of x, which lies between its chord and the tangent parallel to it. Powers
are limited by a tangent of 1 over the root of x. Both are taken around where the passes before were, first on a coarse
grid, and passes are repeated until they stay there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..evaluation.chains import ChainProgram, ChainRows, kept_arrays
from ..evaluation.law_kernels import SearchProgram
from ..spatial import Scalar, maximum, minimum, sqrt, where
from ..spatial.arrays import Array

Scalars = Sequence[Scalar]
Line = tuple[Scalar, Scalar]
"""Slope and constant of a bound that is linear in x."""

NO_BOUND = 1e30
"""Stands for no bound in machine code, where infinity times zero is not a number."""

LEVEL = 1e-9
"""Coefficients of u are at least this part of the largest one: below it, a limit is one of speed alone."""

PARALLEL = 1e-13
"""Lines whose slopes differ by less than this part of them do not cross."""

OFF = 0.14
"""How far parabolas may be off, in differences of the second differences at both ends: an eighth, and some more."""

THIRD = 1.0 / 3.0

CHUNK, LONG_CHUNK = 128, 512
"""Intervals that a piece of machine code passes at once, at most: of several paths, and of one."""

COARSE = 8
"""Intervals of the path that are one of the coarse grid."""

NEAR_ENDS = (0, 1, 2, 3, 4, 6, 8, 12)
"""Points of the path, from its ends, that are points of the coarse grid: near rests, speeds change most."""

MOST_NEWTON = 60
"""The most steps towards the largest speed at which limits leave any acceleration; three or four are usual."""

MOST_REPEATS = 40
"""The most passes until friction and power follow the speed."""

WIDE = 0.01
"""By which part of it x may change from pass to pass without a word: friction is bounded for all of these."""

FASTER = 4.0
"""Limits of power are first looked at for slow motions, and for this many times faster ones at each pass."""

RISING = 1.1
"""How much the largest x may rise from pass to pass; with powers, as much as these."""


class PathLayout(NamedTuple):
    """How many limits of each kind there are.

    Attributes
    ----------
    torque, acceleration, velocity, power : int
    viscous : bool
        Whether forces depend on the speed itself.
    rubbing : bool
        Whether there is Coulomb friction.
    """

    torque: int
    acceleration: int
    velocity: int
    power: int
    viscous: bool
    rubbing: bool

    @property
    def at_point(self) -> int:
        """How many numbers a point has: coefficients of all limits."""
        of_force = 4 if self.viscous else 3
        return of_force * (self.torque + self.power) + 2 * self.acceleration + self.velocity

    @property
    def of_interval(self) -> int:
        """How many numbers an interval has besides those of points."""
        return len(Interval._fields) + (2 * self.torque if self.rubbing else 0)

    @property
    def follows(self) -> bool:
        """Whether limits depend on the speed in another way than linearly."""
        return self.viscous or self.power > 0

    @property
    def velocities(self) -> slice:
        """Where the coefficients of velocities are among those of a point."""
        begin = (4 if self.viscous else 3) * self.torque + 2 * self.acceleration
        return slice(begin, begin + self.velocity)

    @property
    def of_u(self) -> list[int]:
        """Where the coefficients of u are among those of a point."""
        first = (4 if self.viscous else 3) * self.torque
        return [*range(self.torque), *range(first, first + self.acceleration)]


class Interval(NamedTuple):
    """Numbers of an interval.

    Attributes
    ----------
    step : float
        Twice its length.
    off : float
        How far parabolas may be off, in differences of the second differences at both ends.
    room : float
        The share of the limits that may be used.
    least : float
        The least magnitude of a coefficient of u.
    size : float
        About how large the magnitude of u is.
    slope, over, under : float
        The root of x is at most ``over + slope x`` and at least ``under + slope x``.
    near : float
        About the largest x of its ends, where powers are limited by a tangent.
    """

    step: Scalar
    off: Scalar
    room: Scalar
    least: Scalar
    size: Scalar
    slope: Scalar
    over: Scalar
    under: Scalar
    near: Scalar


class PathLimit(NamedTuple):
    """``|a u + b x + rest| + off x <= left``; without ``both``, that for the sum rather than its magnitude."""

    a: Scalar
    b: Scalar
    off: Scalar
    rest: Scalar
    left: Scalar
    both: bool


Control = tuple[Scalar, Scalar, Scalar]


class Bent(NamedTuple):
    """A parabola: its control points, the same as a polynomial of third degree, and how far it may be off."""

    points: Control
    raised: Sequence[Scalar]
    off: Scalar

    @classmethod
    def of(cls, before: Scalar, first: Scalar, last: Scalar, after: Scalar, off: Scalar) -> Bent:
        """Return the parabola between two points, from these and their neighbors; for ``off`` see :class:`Interval`."""
        middle = 0.625 * (first + last) - 0.125 * (before + after)
        third = 2.0 * THIRD * middle
        raised = first, third + THIRD * first, third + THIRD * last, last
        return cls((first, middle, last), raised, off * abs(after - before - 3.0 * (last - first)))

    def risen(self, i: int, step: Scalar) -> Scalar:
        """Return what multiplies u in a control point of the parabola times x."""
        return 0.0 if i == 0 else (i / 3.0) * step * self.points[i - 1]


def limits_of(layout: PathLayout, points: Scalars, given: Scalars, known: Scalar | None = None) -> list[PathLimit]:
    """Return all limits on an interval, by four points, one after the other, and the interval's own numbers.

    Velocities come first, those of the first point before all others. With x ``known`` at one end, limits of powers are
    tangents close to it.
    """
    m, n_own = layout.at_point, len(Interval._fields)
    at, lost = Interval(*given[:n_own]), given[n_own:]
    found = list[PathLimit]()

    def taken(first: int, count: int) -> list[Bent]:
        return [
            Bent.of(points[k], points[m + k], points[2 * m + k], points[3 * m + k], at.off)
            for k in range(first, first + count)
        ]

    fast = taken(layout.velocities.start, layout.velocity)
    if fast:  # the largest of all control points: x is never negative
        most = Bent((_most([c.points[0] + c.off for c in fast]), _most([c.points[1] + c.off for c in fast]),
                     _most([c.points[2] + c.off for c in fast])), (), 0.0)  # fmt: skip
        c0, c1, c2 = most.points
        raised = c0, THIRD * (c0 + 2.0 * c1), THIRD * (2.0 * c1 + c2), c2
        for i in range(4):
            found.append(PathLimit(most.risen(i, at.step), raised[i], 0.0, 0.0, at.room, False))
    width, n = 4 if layout.viscous else 3, layout.torque
    for k in range(n):
        a, b, g, *d = (taken(part * n + k, 1)[0] for part in range(width))
        shift: Scalar = lost[k] if layout.rubbing else 0.0
        left = at.room - lost[n + k] if layout.rubbing else at.room
        off, left = b.off, left - a.off * at.size - g.off
        for drag in d:
            off, left = off + drag.off * at.slope, left - drag.off * at.over
        for i in range(4):
            of_u, of_x, rest, own = b.risen(i, at.step) + a.raised[i], b.raised[i], g.raised[i] + shift, left
            for drag in d:
                of_u, of_x = of_u + at.slope * drag.risen(i, at.step), of_x + at.slope * drag.raised[i]
                rest = rest + drag.raised[i] * (0.5 * (at.over + at.under))
                own = own - abs(drag.raised[i]) * (0.5 * (at.over - at.under))
            found.append(PathLimit(of_u, of_x, off, rest, own, True))
    begin, n = width * layout.torque, layout.acceleration
    for k in range(n):
        a, b = (taken(begin + part * n + k, 1)[0] for part in range(2))
        for i in range(4):
            of_u = b.risen(i, at.step) + a.raised[i]
            found.append(PathLimit(of_u, b.raised[i], b.off, 0.0, at.room - a.off * at.size, True))
    begin, n = layout.velocities.stop, layout.power
    level, fall = _tangent(at.near, known) if n else (0.0, 0.0)
    for k in range(n):
        a, b, g, *d = (taken(begin + part * n + k, 1)[0] for part in range(width))
        off, left = b.off, level * at.room - a.off * at.size - g.off
        for drag in d:
            off, left = off + drag.off * at.slope, left - drag.off * at.over
        for i in range(4):  # what is left falls with x
            fall_u, fall_x = (i / 3.0) * at.step * fall, fall + off
            of_u, of_x, rest, own = b.risen(i, at.step) + a.raised[i], b.raised[i], g.raised[i], left
            for drag in d:
                of_u, of_x = of_u + at.slope * drag.risen(i, at.step), of_x + at.slope * drag.raised[i]
                rest = rest + drag.raised[i] * (0.5 * (at.over + at.under))
                own = own - abs(drag.raised[i]) * (0.5 * (at.over - at.under))
            found.append(PathLimit(of_u + fall_u, of_x + fall_x, 0.0, rest, own, False))
            found.append(PathLimit(fall_u - of_u, fall_x - of_x, 0.0, -rest, own, False))
    return found


def _tangent(near: Scalar, known: Scalar | None) -> tuple[Scalar, Scalar]:
    """Return level and fall of a tangent of 1 over the root of x, which is nowhere above it."""
    at = near
    if known is not None:  # x changes little within an interval, unless it begins or ends at rest
        at = where(known > 0.0, maximum(minimum(near, 2.0 * known), known), near)
    level = where(near < 0.5 * NO_BOUND, 1.5 / sqrt(at), NO_BOUND)
    return level, where(near < 0.5 * NO_BOUND, level / (3.0 * at), 0.0)


def _most(numbers: Sequence[Scalar]) -> Scalar:
    most = numbers[0]
    for x in numbers[1:]:
        most = maximum(most, x)
    return most


def _lines(limits: Sequence[PathLimit], step: Scalar, least: Scalar) -> tuple[list[Line], list[Line]]:
    """Return limits as bounds of u, lower and upper, linear in x."""
    lower: list[Line] = [(-1.0 / step, 0.0 * step)]  # x does not become negative
    upper: list[Line] = []
    for a, b, off, rest, left, both in limits:
        by = 1.0 / where(abs(a) < least, least, a)
        size = abs(by)
        if both:
            upper.append((-b * by - off * size, left * size - rest * by))
            lower.append((off * size - b * by, -left * size - rest * by))
            continue
        slope, constant, turned = -(b + off) * by, (left - rest) * by, by < 0.0
        upper.append((where(turned, 0.0, slope), where(turned, NO_BOUND, constant)))
        lower.append((where(turned, slope, 0.0), where(turned, constant, -NO_BOUND)))
    return lower, upper


def _extreme(lines: Sequence[Line], x: Scalar, sign: float) -> Line:
    """Return slope and constant of the line that is largest at x (least for sign -1)."""
    slope, constant = lines[0]
    value = slope * x + constant
    for other, own in lines[1:]:
        new = other * x + own
        better = value < new if sign > 0.0 else new < value
        value, slope, constant = where(better, new, value), where(better, other, slope), where(better, own, constant)
    return slope, constant


@lru_cache(maxsize=64)
def cap_program(layout: PathLayout, cpu: str) -> SearchProgram:
    """Return the program that finds the largest x on an interval at which limits leave any u, by Newton's method."""
    m = layout.at_point * 4
    step_at, least_at = Interval._fields.index("step"), Interval._fields.index("least")

    def begin(start: Scalars, p: Scalars) -> list[Scalar]:
        cap = start[0]
        if layout.velocity:
            first = limits_of(layout, p[:m], p[m:])[0]
            cap = minimum(cap, first.left / maximum(first.b, 1.0 / NO_BOUND))
        return [cap, 1.0 + 0.0 * cap]

    def step(state: Scalars, p: Scalars) -> list[Scalar]:
        lower, upper = _lines(limits_of(layout, p[:m], p[m:])[layout.velocity > 0 :], p[m + step_at], p[m + least_at])
        cap = state[0]
        if not upper:
            return [cap, 0.0 * cap]
        most, least = _extreme(lower, cap, 1.0), _extreme(upper, cap, -1.0)
        slope = most[0] - least[0]
        crosses = slope > PARALLEL * (abs(most[0]) + abs(least[0]))
        new = where(crosses, minimum(cap, (least[1] - most[1]) / where(crosses, slope, 1.0)), cap)
        return [new, cap - new - 1e-12 * abs(new)]

    return SearchProgram("caps of speed", begin, step, (1, m, layout.of_interval), 1, (0,), cpu)


@lru_cache(maxsize=64)
def pass_program(layout: PathLayout, steps: int, backward: bool, cpu: str) -> ChainProgram:
    """Return the program that passes some intervals, from the end or from the start."""

    def down(limit: PathLimit, x: Scalar, step: Scalar, least: Scalar) -> Scalar:
        """Return the largest x from which u can be low enough for the next one."""
        a, b, off, rest, left, both = limit
        size, turned = maximum(abs(a), least), a < 0.0
        if both:
            low, much = where(turned, -b, b) - off, left + where(turned, -rest, rest)
        else:
            low, much = -(b + off), left - rest
        tilt = size - step * low
        is_bound = tilt > 1e-14 * (size + abs(step * low))
        own = where(is_bound, (x * size + step * much) / where(is_bound, tilt, 1.0), NO_BOUND)
        return own if both else where(turned, own, NO_BOUND)

    def up(limit: PathLimit, x: Scalar, least: Scalar) -> Scalar:
        """Return the largest u."""
        a, b, off, rest, left, both = limit
        size, turned, own = maximum(abs(a), least), a < 0.0, b * x + rest
        if both:
            return (left - off * x - where(turned, -own, own)) / size
        return where(turned, NO_BOUND, (left - off * x - own) / size)

    def law(state: Scalars, points: Scalars, given: Scalars, most: Scalars, _: Scalars) -> list[Scalar]:
        at = Interval(*given[: len(Interval._fields)])
        x, best = state[0], most[0]
        limits = limits_of(layout, points, given, x)
        if backward:  # limits of velocity, which are the first ones, do not hold u up
            for limit in limits[4 if layout.velocity else 0 :]:
                best = minimum(best, down(limit, x, at.step, at.least))
            return [maximum(best, 0.0)]
        u: Scalar = NO_BOUND
        for limit in limits[layout.velocity > 0 :]:
            u = minimum(u, up(limit, x, at.least))
        return [maximum(minimum(x + at.step * u, best), 0.0)]

    m = layout.at_point
    rows = ChainRows(4 * m, m), ChainRows(layout.of_interval, layout.of_interval), ChainRows(1, 1)
    name = f"pass from the {'end' if backward else 'start'} of a path"
    return ChainProgram(name, law, 1, rows, 0, steps, backward, cpu)


def extrapolate(points: Array) -> None:
    """Fill in the first and the last point of coefficients (paths, points, numbers), by the others."""
    count = points.shape[1] - 2
    for ghost, y in ((points[:, 0], points[:, 1:5]), (points[:, -1], points[:, -2:-6:-1])):
        if count > 3:
            ghost[:] = 4.0 * (y[:, 0] + y[:, 2]) - 6.0 * y[:, 1] - y[:, 3]
        else:
            ghost[:] = 3.0 * (y[:, 0] - y[:, 1]) + y[:, 2]


class PathPasses:
    """The passes along some paths with the same number of intervals.

    Parameters
    ----------
    layout : PathLayout
    s : ndarray (paths, points)
    points : ndarray (paths, points + 2, numbers)
        Coefficients; those of the first and the last one are made up here.
    lost : ndarray (paths, intervals, numbers)
        Coulomb friction on the intervals.
    ends : tuple of ndarrays (paths,)
        x at the first and the last point.
    cpu : str
    threads : int
    """

    def __init__(
        self, layout: PathLayout, s: Array, points: Array, lost: Array, ends: tuple[Array, Array], cpu: str,
        threads: int,
    ) -> None:  # fmt: skip
        self.layout, self.s, self.rows, self.points, self.lost = layout, s, points, points[:, 1:-1], lost
        self.ends, self.cpu, self.threads = ends, cpu, threads
        self.paths, self.intervals = len(s), s.shape[1] - 1
        self.given, self._caps = kept_arrays(
            (self.paths, self.intervals + 3, layout.of_interval), (self.paths, self.intervals + 3)
        )
        """Numbers of the intervals, and of three more, which do not count."""
        own = self.own
        own[..., Interval._fields.index("step")] = 2.0 * np.diff(s, axis=1)
        own[..., len(Interval._fields) :] = lost
        sizes = np.abs(self.points[:, ::COARSE][..., layout.of_u]).max(axis=(1, 2), initial=0.0)
        own[..., Interval._fields.index("least")] = np.maximum(LEVEL * sizes, 1.0 / NO_BOUND)[:, None]
        self.set("off", OFF)
        self.room = np.ones((self.paths, self.intervals))
        extrapolate(points)
        self._caps[:] = NO_BOUND

    @property
    def own(self) -> Array:
        """Numbers of the intervals."""
        return self.given[:, : self.intervals]

    def set(self, name: str, numbers: Array | float) -> None:
        """Set one of the numbers of all intervals."""
        self.own[..., Interval._fields.index(name)] = numbers

    def caps(self) -> Array:
        """Return the largest x at which an interval can be entered at all, (paths, intervals)."""
        m, flat = self.layout.at_point, self.rows.reshape(-1)
        count = self.paths * (self.intervals + 3) - 3
        self.given[:, self.intervals :] = self.given[:, self.intervals - 1, None]
        windows = np.lib.stride_tricks.as_strided(
            flat, (count, 4 * m), (m * flat.itemsize, flat.itemsize), writeable=False
        )
        rows = self.given.reshape(-1, self.layout.of_interval)[:count]
        start = np.minimum((FASTER if self.layout.power else RISING) * self._caps.reshape(-1)[:count, None], NO_BOUND)
        found = cap_program(self.layout, self.cpu)(start, (windows, rows), MOST_NEWTON, self.threads)
        caps = self._caps.reshape(-1)
        caps[:count] = np.maximum(found[:, 0], 0.0)
        return self._caps[:, : self.intervals]

    def _pass(self, most: Array, x: Array, backward: bool) -> None:
        """Go through all intervals; x (paths, points) holds the first point of the pass, and gets the others."""
        longest = LONG_CHUNK if self.paths == 1 else CHUNK
        steps, m = min(longest, 1 << (self.intervals.bit_length() - 1)), self.layout.at_point
        program = pass_program(self.layout, steps, backward, self.cpu)
        firsts = [*range(0, self.intervals - steps, steps), self.intervals - steps]
        if backward:
            firsts = [self.intervals - steps - k for k in firsts]
        rows = self.rows.reshape(self.paths, -1)
        for first in firsts:
            begin, after = (first + steps, 0) if backward else (first, 1)
            part = slice(m * first, m * (first + steps + 3))
            given = self.given[:, first : first + steps].reshape(self.paths, -1)
            vectors = [x[:, begin, None], rows[:, part], given, most[:, first : first + steps]]
            if self.paths == 1:
                vectors = [y[0] for y in vectors]
            x[:, first + after : first + after + steps] = program(*vectors, threads=self.threads)[..., 0]

    def once(self) -> Array:
        """Return the largest x at all points, (paths, points), NaN if the first one is not possible."""
        begin, end = self.ends
        most = np.empty((self.paths, self.intervals + 1))
        most[:, -1] = end
        self._pass(self.caps(), most, True)
        x = np.empty_like(most)
        x[:, 0] = np.where(begin <= most[:, 0] * (1.0 + 1e-12), begin, np.nan)
        self._pass(most[:, 1:], x, False)
        return x

    def guess(self) -> Array | None:
        """Return x at all points, from a coarse grid; None if the grid is coarse already."""
        if self.intervals < COARSE * COARSE * 4:
            return None
        middle = np.arange(2 * COARSE, self.intervals - 2 * COARSE, COARSE)
        some = np.concatenate([NEAR_ENDS, middle, self.intervals - np.array(NEAR_ENDS[::-1])])
        lost = np.maximum.reduceat(np.abs(self.lost), some[:-1], axis=1) if self.lost.size else self.lost[:, some[:-1]]
        if self.layout.rubbing:
            n = self.layout.torque
            lost[..., :n] = self.lost[:, some[:-1], :n]
        (points,) = kept_arrays((self.paths, len(some) + 2, self.layout.at_point))
        points[:, 1:-1] = self.points[:, some]
        coarse = PathPasses(self.layout, self.s[:, some], points, lost, self.ends, self.cpu, self.threads)
        coarse.set("off", 0.0)  # it need not be sure
        coarse.room[:] = np.minimum.reduceat(self.room, some[:-1], axis=1)
        x = coarse()
        if not (x[:, 1:-1] > 0.0).all():
            return None
        found = np.empty_like(self.s)
        for own, s, known, at in zip(found, self.s, x, coarse.s, strict=True):
            own[:] = np.interp(s, at, known)
        return found

    def follow(self, x: Array | None) -> None:
        """Make limits those around given squares of speeds; without any, without friction and powers."""
        self.set("room", self.room)
        if x is None:
            for name in ("size", "slope", "over", "under"):
                self.set(name, 0.0)
            self.set("near", NO_BOUND)
            return
        root = np.sqrt(np.maximum(x, 0.0))
        self.set("size", np.abs(np.diff(x, axis=1)) / self.own[..., Interval._fields.index("step")])
        if self.layout.viscous:
            low = (1.0 - 0.5 * WIDE) * np.minimum(root[:, 1:], root[:, :-1])
            high = (1.0 + 0.5 * WIDE) * np.maximum(root[:, 1:], root[:, :-1])
            total = np.maximum(low + high, 1e-12 * root.max(axis=1, initial=0.0)[:, None] + 1e-150)
            self.set("slope", 1.0 / total)
            self.set("over", 0.25 * total)
            self.set("under", low * high / total)
        if self.layout.power:
            largest = np.maximum(x[:, 1:], x[:, :-1])
            self.set("near", np.maximum(largest, 1e-150))

    def used(self, points: Array, x: Array, u: Array, lost: Array) -> Array:
        """Return the largest share of any limit that is used at points with x and u, each (paths, points)."""
        layout, root = self.layout, np.sqrt(np.maximum(x, 0.0))[..., None]
        place, most = 0, np.zeros(x.shape)

        def taken(count: int) -> Array:
            nonlocal place
            place += count
            return points[..., place - count : place]

        def forces(count: int) -> Array:
            found = taken(count) * u[..., None] + taken(count) * x[..., None] + taken(count)
            return found + taken(count) * root if layout.viscous else found

        n, tau = layout.torque, forces(layout.torque)
        if layout.rubbing:
            most = (np.abs(tau + lost[..., :n]) + lost[..., n:]).max(axis=-1, initial=0.0)
        else:
            most = np.abs(tau).max(axis=-1, initial=0.0)
        n = layout.acceleration
        own = taken(n) * u[..., None] + taken(n) * x[..., None]
        most = np.maximum(most, np.abs(own).max(axis=-1, initial=0.0))
        most = np.maximum(most, (taken(layout.velocity) * x[..., None]).max(axis=-1, initial=0.0))
        return np.asarray(np.maximum(most, np.abs(forces(layout.power) * root).max(axis=-1, initial=0.0)))

    def slow(self) -> Array:
        """Return x at points at which the powers of forces at rest and of friction are well within limits."""
        layout = self.layout
        begin, n = layout.velocities.stop + 2 * layout.power, layout.power
        found = 0.25 / np.square(self.points[..., begin : begin + n]).max(axis=2)
        if layout.viscous:
            found = np.minimum(found, 1.0 / np.abs(self.points[..., begin + n : begin + 2 * n]).max(axis=2))
        return np.asarray(found)

    def __call__(self, known: Array | None = None) -> Array:
        """Return the largest x at all points, once friction and power follow the speed; ``known`` is about that."""
        with np.errstate(all="ignore"):
            x = self.guess() if known is None else known
            if x is None:
                self.follow(None)
                x = self.once()
            most = self.slow() if self.layout.power else np.inf
            for _ in range(MOST_REPEATS):
                x = np.minimum(x, most)
                most = FASTER * most
                self.follow(x)
                new = self.once()
                done = (np.abs(new - x) <= WIDE * np.abs(x) + 1e-300).all(axis=1) | ~np.isfinite(new).all(axis=1)
                x = new
                if done.all() or not self.layout.follows:
                    break
        return x

"""How far the shapes of a robot are apart: what ``robot.clearance(q)`` returns, and the programs that compute it.

Pairs whose separation is a short text are computed together with the poses of their bodies, in one piece of machine
code.  Longer ones have a program for each two kinds, which takes poses and sizes and is the same for all robots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms.clearance import of_robot, pairs
from ..algorithms.clearance.placed_solids import PlacedSolid
from ..algorithms.clearance.smooth_search import FIRST_WIDTH, GOING, MOST_STEPS, NARROW, NormalSearch
from ..errors import ExplainsArguments, ModelError, OptionError, UnsupportedError
from ..evaluation.law_kernels import LawProgram, SearchProgram, can_compile, has_machine_code
from ..model.shapes.pairs import check_pair, shapes_named
from ..model.tree import Model
from ..spatial import Matrix3, MatrixRotation, Scalar, Transform, Vec3
from ..spatial.arrays import Array

Pair = tuple[int, int]

LONGEST_TOGETHER = 20_000
"""Operations, estimated, of the pairs that are computed together with the poses of their bodies."""

COST = {("box", "box"): 1800, ("box", "capsule"): 700, ("box", "sphere"): 150}
"""Estimated operations of pairs of kinds; of all others that are short."""
OTHERS_COST = 100

NUMBERS = 10
"""A distance, two points and a normal."""

PROVED = 1e-11
"""Difference between the distance of points and of planes, relative to that of centers, that proves a distance."""


@dataclass(frozen=True, eq=False, repr=False)
class Clearance(ExplainsArguments):
    """Signed distances of pairs of shapes, with what is computed from them when it is first asked for.

    Attributes
    ----------
    pairs : tuple of pairs of str
        The shapes' names.
    distances : ndarray, shape (..., pairs)
        In meters; negative if two shapes overlap: then by how far they have to be moved apart.
    """

    pairs: tuple[tuple[str, str], ...]
    distances: Array
    _programs: ClearancePrograms = field(repr=False)
    _q: Array = field(repr=False)
    _threads: int = field(default=1, repr=False)

    @cached_property
    def _details(self) -> Array:
        return self._programs.details(self._q, self._threads)

    @property
    def first(self) -> Array:
        """Nearest point on the first shape of each pair, in the world, (..., pairs, 3)."""
        return self._details[..., 1:4]

    @property
    def second(self) -> Array:
        """Nearest point on the second shape of each pair, in the world, (..., pairs, 3)."""
        return self._details[..., 4:7]

    @property
    def normals(self) -> Array:
        """Unit vectors from the first shape of each pair to the second: ``second - first = distance * normal``."""
        return self._details[..., 7:10]

    @cached_property
    def gradients(self) -> Array:
        """Derivatives of the distances by the robot's motion v, (..., pairs, nv).

        They are exact where nearest points are unique, and otherwise those of the points that are given.  Loops count
        as open.
        """
        return self._programs.gradients(self._q, self._details, self._threads)

    @property
    def smallest(self) -> Any:
        """The smallest distance, (...); infinite without pairs, NaN if any is."""
        found = self.distances.min(axis=-1, initial=np.inf)
        return float(found) if found.ndim == 0 else found

    @property
    def nearest(self) -> Any:
        """The index of the pair with the smallest distance, (...)."""
        if not self.pairs:
            raise ModelError("there are no pairs of shapes that may touch")
        found = self.distances.argmin(axis=-1)
        return int(found) if found.ndim == 0 else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the distances."""
        return np.array(self.distances, dtype=dtype) if copy or dtype else self.distances

    def __repr__(self) -> str:
        least = self.distances.reshape(-1, len(self.pairs)).min(axis=0, initial=np.inf)
        order = np.argsort(least)
        lines = [f"{1e3 * least[k]:10.2f} mm  {self.pairs[k][0]} - {self.pairs[k][1]}" for k in order[:8]]
        more = [f"{len(order) - 8} more"] if len(order) > 8 else []
        return "\n".join([f"<Clearance of {len(self.pairs)} pairs, batch {self.distances.shape[:-1]}>", *lines, *more])


@dataclass(frozen=True, eq=False)
class SampledContacts:
    """Which pairs of shapes overlapped in random configurations.

    Attributes
    ----------
    never, sometimes, always : tuple of pairs of str
        The shapes' names.
    """

    never: tuple[tuple[str, str], ...]
    sometimes: tuple[tuple[str, str], ...]
    always: tuple[tuple[str, str], ...]


def sampled(robot: Any, q: Array, threads: int) -> SampledContacts:
    """Return which pairs overlap in these configurations, (count, nq)."""
    programs, chunk = ClearancePrograms(robot, robot.model.touching_pairs), 4096
    met = np.zeros(len(programs.pairs), dtype=int)
    for k in range(0, len(q), chunk):
        met += (programs.distances(q[k : k + chunk], threads) <= 0.0).sum(axis=0)

    def those(which: Array) -> tuple[tuple[str, str], ...]:
        return tuple(programs.names[k] for k in np.flatnonzero(which))

    return SampledContacts(those(met == 0), those((met > 0) & (met < len(q))), those((met == len(q)) & (met > 0)))


def chosen_pairs(model: Model, wanted: Sequence[Sequence[str]] | None) -> tuple[Pair, ...]:
    """Return indices of pairs of shapes: all that may touch, or those named by shapes or bodies."""
    if wanted is None:
        return model.touching_pairs
    if isinstance(wanted, str):
        raise OptionError(f"pairs is a list of pairs of names, not {wanted!r}")
    found: dict[Pair, None] = {}
    for pair in wanted:
        one, two = (shapes_named(model.shapes, name) for name in check_pair(model.shapes, pair))
        found |= dict.fromkeys((i, j) for i in one for j in two if i != j)
    return tuple(found)


class ClearancePrograms:
    """The programs of some pairs of a robot's shapes.

    Parameters
    ----------
    robot : Robot
    chosen : sequence of pairs of int
    """

    def __init__(self, robot: Any, chosen: Sequence[Pair]) -> None:
        self.tree, self.cpu, self.pairs = robot.model, robot.cpu, tuple(chosen)
        self.unrolled, self.compiled = can_compile(robot), has_machine_code(robot)
        shapes = self.tree.shapes
        self.names = tuple((shapes[i].name, shapes[j].name) for i, j in self.pairs)
        solids = {k: of_robot.solid_of(shapes[k]) for pair in self.pairs for k in pair}
        self._groups: dict[tuple[tuple[str, int], ...], list[int]] = {}
        self._together: list[int] = []
        cost = 0
        for k, pair in enumerate(self.pairs):
            kinds = tuple(solids[i].name for i in pair)
            own = COST.get(tuple(sorted(kinds)), OTHERS_COST)  # type: ignore[call-overload]
            if pairs.is_closed_form(*kinds) and "convex_hull" not in kinds and cost + own <= LONGEST_TOGETHER:
                self._together.append(k)
                cost += own
            else:
                key = tuple((solids[i].name, len(solids[i].numbers())) for i in pair)
                self._groups.setdefault(key, []).append(k)
        self._numbers = {i: np.array(solid.numbers(), dtype=float) for i, solid in solids.items()}
        self._in_groups = sorted({i for group in self._groups.values() for k in group for i in self.pairs[k]})

    def distances(self, q: Array, threads: int = 1) -> Array:
        """Return the distances, (..., pairs)."""
        if not self._groups:
            return self._distances({"q": q}, threads)
        return self.details(q, threads)[..., 0]

    def details(self, q: Array, threads: int = 1) -> Array:
        """Return distances, points and normals, (..., pairs, 10)."""
        found = np.empty((*q.shape[:-1], len(self.pairs), NUMBERS))
        if self._together:
            together = self._separations({"q": q}, threads)
            found[..., self._together, :] = together.reshape(*q.shape[:-1], -1, NUMBERS)
        if self._groups:
            poses = self._poses({"q": q}, threads).reshape(*q.shape[:-1], -1, 12)
            for key, group in self._groups.items():
                one, two = ([self.pairs[k][side] for k in group] for side in (0, 1))
                place = [self._in_groups.index(i) for i in one], [self._in_groups.index(i) for i in two]
                sizes = [np.stack([self._numbers[i] for i in side]) for side in (one, two)]
                found[..., group, :] = self._programs[key](
                    sizes[0], poses[..., place[0], :], sizes[1], poses[..., place[1], :], threads
                )
        return found

    def gradients(self, q: Array, details: Array, threads: int = 1) -> Array:
        """Return the derivatives of distances, (..., pairs, nv)."""
        found = details[..., 1:].reshape(*q.shape[:-1], -1)
        return self._gradients({"q": q, "found": found}, threads).reshape(*q.shape[:-1], len(self.pairs), self.tree.nv)

    def _law(self, law: Any, what: str, found: int = 0) -> LawProgram:
        lengths = {"q": self.tree.nq, "found": found}
        return LawProgram(f"{what} of {self.tree.name!r}", law, lengths, self.unrolled, cpu=self.cpu)

    @cached_property
    def _distances(self) -> LawProgram:
        return self._law(
            lambda q, found: [s.distance for s in of_robot.separations(self.tree, q, self.pairs)], "distances"
        )

    @cached_property
    def _separations(self) -> LawProgram:
        own = [self.pairs[k] for k in self._together]

        def law(q: list[Scalar], found: list[Scalar]) -> list[Scalar]:
            return [x for s in of_robot.separations(self.tree, q, own) for x in s.numbers()]

        return self._law(law, "nearest points")

    @cached_property
    def _poses(self) -> LawProgram:
        def law(q: list[Scalar], found: list[Scalar]) -> list[Scalar]:
            placed = of_robot.placed_shapes(self.tree, q, self._in_groups)
            poses = [placed[k].pose for k in self._in_groups]
            return [x for pose in poses for row in (*pose.matrix().rows, pose.translation) for x in row]

        return self._law(law, "poses of shapes")

    @cached_property
    def _programs(self) -> dict[Any, PairProgram]:
        return {key: PairProgram(key, self.compiled, self.cpu) for key in self._groups}

    @cached_property
    def _gradients(self) -> LawProgram:
        def law(q: list[Scalar], found: list[Scalar]) -> list[Scalar]:
            each = [found[k : k + NUMBERS - 1] for k in range(0, len(found), NUMBERS - 1)]
            return [x for row in of_robot.gradients(self.tree, q, self.pairs, each) for x in row]

        return self._law(law, "slopes of distances", (NUMBERS - 1) * len(self.pairs))


class PairProgram:
    """The separation of two kinds of solids of any sizes.

    Parameters
    ----------
    key : two pairs
        Each kind, and how many numbers it has.
    compiled : bool
    cpu : str
    """

    def __init__(self, key: Sequence[tuple[str, int]], compiled: bool, cpu: str) -> None:
        (self.first, n), (self.second, m) = key
        self.lengths, self.compiled, self.cpu = (n, 12, m, 12), compiled, cpu
        if not (pairs.is_closed_form(self.first, self.second) or pairs.is_searched(self.first, self.second)):
            raise UnsupportedError(
                f"the distance between a {self.first} and a {self.second}: there is none yet. Leave such pairs out, "
                "robot.without_contacts(pairs), or name others, robot.clearance(q, pairs=...)"
            )
        self._search = NormalSearch(self.first, self.second)

    def __call__(self, a: Array, pose_a: Array, b: Array, pose_b: Array, threads: int = 1) -> Array:
        """Return distance, points and normal, (..., 10)."""
        batch = pose_a.shape[:-1]
        count = math.prod(batch)
        parts = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1]) for x in (a, pose_a, b, pose_b)]
        pair = np.concatenate(parts, axis=-1)
        if pairs.is_closed_form(self.first, self.second):
            return self._closed({"pair": pair}, threads).reshape(*batch, NUMBERS)
        return self._searched(pair, threads).reshape(*batch, NUMBERS)

    def _searched(self, pair: Array, threads: int) -> Array:
        """Search from center to center; where that proves nothing, as where solids overlap, from further starts."""
        to = parts_of(self.lengths, pair)[3][:, 9:] - parts_of(self.lengths, pair)[1][:, 9:]
        x, y, z = to.T
        far = np.sqrt(x * x + y * y + z * z)[:, None]  # the same bits in any batch, which norm() does not promise
        found = self._from(
            pair, np.where(far > 0.0, to / np.where(far > 0.0, far, 1.0), (0.0, 0.0, 1.0)), FIRST_WIDTH, threads
        )
        left = np.flatnonzero(~(found[:, NUMBERS] < PROVED * (1.0 + far[:, 0])))
        left = left[np.isfinite(pair[left]).all(axis=-1)]
        if len(left):
            starts = self._starts({"pair": pair[left]}, threads).reshape(len(left), -1, 3)
            starts = np.concatenate([found[left, None, 7:10], starts], axis=1)
            count = starts.shape[1]
            others = self._from(np.repeat(pair[left], count, axis=0), starts.reshape(-1, 3), NARROW, threads)
            others = others.reshape(len(left), count, -1)
            best = np.argmax(np.where(np.isnan(others[..., 0]), -np.inf, others[..., 0]), axis=1)
            found[left] = others[np.arange(len(left)), best]
        return found[:, :NUMBERS]

    def _from(self, pair: Array, normals: Array, width: float, threads: int) -> Array:
        given = np.concatenate([pair, normals, np.full((len(pair), 1), width)], axis=-1)
        state = self._program(given, [], MOST_STEPS, threads)
        return self._end({"state": state, "pair": pair}, threads)

    def _solids(self, pair: Sequence[Scalar]) -> tuple[PlacedSolid, PlacedSolid]:
        a, pose_a, b, pose_b = parts_of(self.lengths, pair)
        return PlacedSolid(self.first, a, pose_of(pose_a)), PlacedSolid(self.second, b, pose_of(pose_b))

    def _law(self, law: Any, **more: int) -> LawProgram:
        name = f"{self.first} and {self.second}"
        return LawProgram(name, law, {**more, "pair": sum(self.lengths)}, self.compiled, cpu=self.cpu)

    @cached_property
    def _closed(self) -> LawProgram:
        return self._law(lambda pair: pairs.separation(*self._solids(pair)).numbers())

    @cached_property
    def _starts(self) -> LawProgram:
        return self._law(lambda pair: self._search.starts(*self._solids(pair)))

    @cached_property
    def _end(self) -> LawProgram:
        def law(state: list[Scalar], pair: list[Scalar]) -> list[Scalar]:
            found, doubt = self._search.found(state, *self._solids(pair))
            return [*found.numbers(), doubt]

        return self._law(law, state=self._search.state_length)

    @cached_property
    def _program(self) -> SearchProgram:
        search, size = self._search, sum(self.lengths)

        def begin(start: Sequence[Scalar], parameters: Sequence[Scalar]) -> list[Scalar]:
            return search.begin(*self._solids(start[:size]), Vec3(*start[size : size + 3]), start[-1])

        def step(state: Sequence[Scalar], parameters: Sequence[Scalar]) -> list[Scalar]:
            return search.step(state)

        returned = range(search.state_length)
        name = f"{self.first} and {self.second}"
        return SearchProgram(name, begin, step, [size + 4], GOING, returned, self.cpu, self.compiled)


def parts_of(lengths: Sequence[int], numbers: Any) -> list[Any]:
    """Divide the last axis of an array, or a list, into parts of these lengths."""
    ends = np.cumsum(lengths).tolist()
    pieces = [slice(end - n, end) for end, n in zip(ends, lengths, strict=True)]
    return [numbers[..., k] if isinstance(numbers, np.ndarray) else numbers[k] for k in pieces]


def pose_of(numbers: Sequence[Scalar]) -> Transform:
    """Return the pose with a rotation matrix, by rows, and a position."""
    rows = [numbers[k : k + 3] for k in (0, 3, 6)]
    return Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*numbers[9:]))

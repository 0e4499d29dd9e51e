"""How far the shapes of a robot are apart: what ``robot.clearance(q)`` returns, and the programs that compute it.

All pairs are computed together with the poses of their bodies, in one piece of machine code, in which the separation of
each two kinds is a function that takes poses and sizes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.clearance import of_robot, pairs
from ..algorithms.clearance.placed_solids import PlacedSolid
from ..errors import ExplainsArguments, ModelError, OptionError
from ..evaluation.law_kernels import LawProgram, can_compile
from ..io.distance_plot import plot_distances
from ..model.shapes.pairs import check_pair, shapes_named
from ..model.tree import Model
from ..spatial import Matrix3, MatrixRotation, Scalar, Transform, Vec3
from ..spatial.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pair = tuple[int, int]

NUMBERS = 10
"""A distance, two points and a normal."""


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

    def plot(
        self, time: ArrayLike | None = None, path: str | os.PathLike[str] | None = None, *, wanted: float = 0.0
    ) -> Figure:
        """Draw the distances along a motion: the smallest one, and each pair as a row colored by how near it is.

        Parameters
        ----------
        time : array_like, shape (samples,), optional
            Times of the configurations.
        path : path-like, optional
            Where to save the picture.
        wanted : float
            What is nearer than this, in meters, is red.
        """
        names = [f"{first} - {second}" for first, second in self.pairs]
        return plot_distances(names, self.distances, None if time is None else np.asarray(time), wanted, path)

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
        self.unrolled = can_compile(robot)
        shapes = self.tree.shapes
        self.names = tuple((shapes[i].name, shapes[j].name) for i, j in self.pairs)

    def distances(self, q: Array, threads: int = 1) -> Array:
        """Return the distances, (..., pairs)."""
        return self._distances({"q": q}, threads)

    def details(self, q: Array, threads: int = 1) -> Array:
        """Return distances, points and normals, (..., pairs, 10)."""
        return self._separations({"q": q}, threads).reshape(*q.shape[:-1], len(self.pairs), NUMBERS)

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
        def law(q: list[Scalar], found: list[Scalar]) -> list[Scalar]:
            return [x for s in of_robot.separations(self.tree, q, self.pairs) for x in s.numbers()]

        return self._law(law, "nearest points")

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

    def __call__(self, a: Array, pose_a: Array, b: Array, pose_b: Array, threads: int = 1) -> Array:
        """Return distance, points and normal, (..., 10)."""
        batch = pose_a.shape[:-1]
        count = math.prod(batch)
        parts = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1]) for x in (a, pose_a, b, pose_b)]
        return self._law({"pair": np.concatenate(parts, axis=-1)}, threads).reshape(*batch, NUMBERS)

    @cached_property
    def _law(self) -> LawProgram:
        def law(pair: Sequence[Scalar]) -> list[Scalar]:
            a, pose_a, b, pose_b = parts_of(self.lengths, pair)
            solids = PlacedSolid(self.first, a, pose_of(pose_a)), PlacedSolid(self.second, b, pose_of(pose_b))
            return pairs.separation(*solids).numbers()

        return LawProgram(
            f"{self.first} and {self.second}", law, {"pair": sum(self.lengths)}, self.compiled, cpu=self.cpu
        )


def parts_of(lengths: Sequence[int], numbers: Any) -> list[Any]:
    """Divide the last axis of an array, or a list, into parts of these lengths."""
    ends = np.cumsum(lengths).tolist()
    pieces = [slice(end - n, end) for end, n in zip(ends, lengths, strict=True)]
    return [numbers[..., k] if isinstance(numbers, np.ndarray) else numbers[k] for k in pieces]


def pose_of(numbers: Sequence[Scalar]) -> Transform:
    """Return the pose with a rotation matrix, by rows, and a position."""
    rows = [numbers[k : k + 3] for k in (0, 3, 6)]
    return Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*numbers[9:]))

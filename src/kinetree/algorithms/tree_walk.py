"""The ways to walk a tree, on which every recursion is built.

A :class:`TreeWalk` has three forms. :class:`Unrolled` goes from body to body immediately. :class:`OnDemand` also goes
from body to body, but computes a body's quantities only when they are needed. A large tree has its own walk
(:mod:`kinetree.evaluation.large_trees.tree`), in which each step is traced once per kind of body and run in a loop, and
the results of the steps stay inside that loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any, NamedTuple

from ..model.tree import BASE, Link, Model
from ..spatial import Scalar
from .path import Path

Matrix = list[list[Scalar]]
Column = dict[int, Scalar]
"""The entries of a vector that are not structural zeros."""


class Coupling(NamedTuple):
    """How the entries of a matrix are computed for pairs of freedoms, where the body of one carries that of the other.

    The argument ``own`` of every function has the quantities of a body as attributes, under the names given to
    :meth:`TreeWalk.pairs`.
    """

    block: Callable[..., Scalar]
    """``block(link, i, j, own)``: the entry in row i and column j within a joint."""
    take: Callable[..., Any]
    """``take(k, own)``: the quantity that freedom k of a joint takes along to the bodies that carry it."""
    above: Callable[..., Scalar]
    """``above(taken, m, own)``: the entry in the row of freedom m of a body that carries it."""
    take_below: Callable[..., Any] | None = None
    """Like ``take``, for the entries below the diagonal; None for symmetric matrices."""
    below: Callable[..., Scalar] | None = None
    """``below(taken, m, own)``: the entry in the column of freedom m of a body that carries it."""

    def whole_block(self, link: Link, own: OfBody) -> Matrix:
        """Return all entries within a joint, by rows."""
        n = link.kind.nv
        block: Matrix = [[0.0] * n for _ in range(n)]
        for j in range(n):
            for i in range(n if self.below else j + 1):
                block[i][j] = self.block(link, i, j, own)
                if not self.below:
                    block[j][i] = block[i][j]
        return block

    def taken(self, k: int, own: OfBody) -> Taken:
        """Return the quantities that freedom k of a joint takes along."""
        return Taken(self.take(k, own), None if self.take_below is None else self.take_below(k, own))

    def entries(self, taken: Taken, m: int, own: OfBody) -> tuple[Scalar, Scalar]:
        """Return the entries in the row and in the column of freedom m of a body that carries it."""
        above = self.above(taken.above, m, own)
        return above, above if self.below is None else self.below(taken.below, m, own)


class Taken(NamedTuple):
    """The quantities that a freedom takes along for the entries of one matrix above and below the diagonal."""

    above: Any
    below: Any

    def carried(self, carry: Callable[..., Any], own: OfBody) -> Taken:
        """Return these quantities as seen from the parent of a body."""
        return Taken(carry(self.above, own), None if self.below is None else carry(self.below, own))


class OfBody:
    """The quantities of one body, looked up in columns on request."""

    def __init__(self, columns: Mapping[str, Any], look_up: Callable[[Any], Any]) -> None:
        self.columns, self.look_up = columns, look_up

    def __getattr__(self, name: str) -> Any:
        value = self.look_up(self.columns[name])
        setattr(self, name, value)  # stored, so that the next access finds it immediately
        return value


class TreeWalk(ABC):
    """The operations on a tree from which recursions are built; the functions of :mod:`.passes` describe them."""

    @abstractmethod
    def outward(self, step: Callable[..., Any], base: Any, *per_body: Any) -> Any:
        """Return results per body, computed from the base to the tips."""

    @abstractmethod
    def inward(self, step: Callable[..., Any], own: Any, *per_body: Any) -> tuple[Any, Any]:
        """Return results per body, computed from the tips to the base."""

    @abstractmethod
    def each(self, function: Callable[..., Any], *per_body: Any) -> Any:
        """Return a function's result for each body, computed from that body's own values."""

    @abstractmethod
    def pairs(self, couplings: Sequence[Coupling], carry: Callable[..., Any] | None, **per_body: Any) -> list[Any]:
        """Return matrices with an entry for each pair of freedoms if the body of one carries the other's."""

    @abstractmethod
    def body_columns(self, width: int, length: int, take: Any, felt: Any, **per_body: Any) -> Any:
        """Return a matrix of each body with its own joint and each of those that carry it."""

    @abstractmethod
    def total(self, per_body: Any, zero: Any) -> Any:
        """Return the sum over all bodies."""

    @abstractmethod
    def everywhere(self, value: Any) -> Any:
        """Return one and the same input for every body."""

    @abstractmethod
    def positions(self, q: Any) -> Any:
        """Return the coordinates of each joint."""

    @abstractmethod
    def rates(self, v: Any) -> Any:
        """Return velocities, accelerations or forces of each joint."""

    @abstractmethod
    def collect(self, per_body: Any, empty: Any) -> Any:
        """Return results of the joints, laid out like ``v``."""

    @abstractmethod
    def side_by_side(self, per_body: Any, layout: str) -> Any:
        """Return the joints' own numbers, laid out like ``q`` or ``v``."""

    @abstractmethod
    def table(self, per_body: Any, width: int) -> Any:
        """Return rows of several numbers per freedom."""

    @abstractmethod
    def path_to(self, body: int) -> Any:
        """Return the tree of those bodies that carry this one."""

    @abstractmethod
    def at_tip(self, per_body: Any) -> Any:
        """Return what was found for the last body of a path."""

    @abstractmethod
    def on_demand(self) -> Any:
        """Return a tree that is walked in the order in which results are requested, if that makes a difference."""


class Unrolled(TreeWalk):
    """The walk that visits the bodies one after the other."""

    def __init__(self, tree: Model | Path) -> None:
        self.tree = tree

    def outward(self, step: Callable[..., Any], base: Any, *per_body: Sequence[Any]) -> Sequence[Any]:
        """Return results per body, computed from the base to the tips."""
        results: list[Any] = []
        for link in self.tree.links:
            parent = base if link.parent == BASE else results[link.parent]
            results.append(step(link, parent, *(column[link.index] for column in per_body)))
        return results

    def inward(
        self, step: Callable[..., Any], own: Sequence[Any], *per_body: Sequence[Any]
    ) -> tuple[Sequence[Any], Any]:
        """Return results per body, computed from the tips to the base."""
        totals = list(own)
        results: list[Any] = [None] * len(self.tree.links)
        ground: Any = None
        for link in reversed(self.tree.links):
            i = link.index
            results[i], handed = step(link, totals[i], *(column[i] for column in per_body))
            if link.parent == BASE:
                ground = handed if ground is None else add(ground, handed)
            else:
                totals[link.parent] = add(totals[link.parent], handed)
        return results, ground

    def each(self, function: Callable[..., Any], *per_body: Sequence[Any]) -> Sequence[Any]:
        """Return a function's result for each body, computed from that body's own values."""
        return [function(link, *(column[link.index] for column in per_body)) for link in self.tree.links]

    def pairs(
        self, couplings: Sequence[Coupling], carry: Callable[..., Any] | None, **per_body: Sequence[Any]
    ) -> list[Matrix]:
        """Return matrices, walking from each body to the base."""
        tree, sums = self.tree, [_Sums(self.tree.nv) for _ in couplings]
        bodies = [OfBody(per_body, itemgetter(link.index)) for link in tree.links]

        for link in tree.links:
            own, freedoms = bodies[link.index], range(link.kind.nv)
            taken = [[c.taken(k, own) for c in couplings] for k in freedoms]
            for c, total in zip(couplings, sums, strict=True):
                total.add_block(link, c.whole_block(link, own))
            carrier = link
            while carrier.parent != BASE:
                if carry is not None:
                    taken = [[held.carried(carry, own) for held in several] for several in taken]
                carrier = tree.links[carrier.parent]
                own = bodies[carrier.index]
                for k, m in product(freedoms, range(carrier.kind.nv)):
                    for c, total, held in zip(couplings, sums, taken[k], strict=True):
                        above, below = c.entries(held, m, own)
                        total.add(carrier, m, link, k, above)
                        total.add(link, k, carrier, m, below)
        return [total.rows() for total in sums]

    def body_columns(
        self, width: int, length: int, take: Callable[..., Any], felt: Callable[..., Scalar], **per_body: Sequence[Any]
    ) -> Matrix:
        """Return a matrix, walking from each body to the base."""
        tree = self.tree
        matrix: list[list[Any]] = [[None] * length for _ in range(tree.nv)]
        bodies = [OfBody(per_body, itemgetter(link.index)) for link in tree.links]
        for link in tree.links:
            held, i = [take(k, bodies[link.index]) for k in range(width)], link.index
            while i != BASE:
                carrier = tree.links[i]
                for m, k in product(range(carrier.kind.nv), range(width)):
                    value, row = felt(held[k], m, bodies[i]), matrix[carrier.v_slice.start + m]
                    place = width * link.index + k
                    row[place] = add(row[place], value * carrier.ratio if carrier.follows else value)
                i = carrier.parent
        return [[0.0 if x is None else x for x in row] for row in matrix]

    def total(self, per_body: Sequence[Any], zero: Any) -> Any:
        """Return the sum over all bodies."""
        for value in per_body:
            zero = add(zero, value)
        return zero

    def everywhere(self, value: Any) -> Sequence[Any]:
        """Return one and the same input for every body."""
        return [value] * len(self.tree.links)

    def positions(self, q: Sequence[Scalar]) -> list[list[Scalar]]:
        """Return the coordinates of each joint."""
        return [link.position(q) for link in self.tree.links]

    def rates(self, v: Sequence[Scalar]) -> list[list[Scalar]]:
        """Return velocities, accelerations or forces of each joint."""
        return [link.velocity(v) for link in self.tree.links]

    def collect(self, per_body: Sequence[Sequence[Any]], empty: Any) -> list[Any]:
        """Return results of the joints, laid out like ``v``."""
        total: list[Any] = [None] * self.tree.nv
        for link, values in zip(self.tree.links, per_body, strict=True):
            for k, value in zip(link.freedoms, values, strict=True):
                total[k] = add(total[k], value * link.ratio if link.follows else value)
        return total if empty is None else [empty if x is None else x for x in total]

    def side_by_side(self, per_body: Sequence[Sequence[Scalar]], layout: str) -> list[Scalar]:
        """Return the joints' own numbers, laid out like ``q`` or ``v``."""
        both = zip(self.tree.links, per_body, strict=True)
        return [x for link, values in both if not link.follows for x in values]

    def table(self, per_body: Sequence[Sequence[Sequence[Scalar]]], width: int) -> list[list[Scalar]]:
        """Return rows of several numbers per freedom."""
        return [list(row) for rows in per_body for row in rows]

    def path_to(self, body: int) -> Path:
        """Return the tree of those bodies that carry this one."""
        assert isinstance(self.tree, Model)
        return Path(self.tree, body)

    def at_tip(self, per_body: Sequence[Any]) -> Any:
        """Return what was found for the last body of a path."""
        return per_body[-1]

    def on_demand(self) -> OnDemand:
        """Return this tree, walked in the order in which results are requested."""
        assert isinstance(self.tree, Model)
        return OnDemand(self.tree)


class OnDemand(Unrolled):
    """The walk that computes the quantities of each body on first use and then remembers them.

    If results are requested from the tips to the base, operations are done depth first. Then few intermediate results
    are alive at any time, which is best for machine code.
    """

    tree: Model

    def __init__(self, tree: Model) -> None:
        super().__init__(tree)
        self.nv, self.links = tree.nv, tree.links

    def outward(self, step: Callable[..., Any], base: Any, *per_body: Sequence[Any]) -> Remembered:
        """Return results that are computed outward, starting at the root of a body's branch."""

        def find(i: int) -> Any:
            for j in self.tree.support(i)[:-1]:
                found[j]
            link = self.tree.links[i]
            parent = base if link.parent == BASE else found[link.parent]
            return step(link, parent, *(column[i] for column in per_body))

        found = Remembered(len(self.links), find)
        return found

    def inward(self, step: Callable[..., Any], own: Sequence[Any], *per_body: Sequence[Any]) -> tuple[Remembered, Any]:
        """Return results that are computed after those of all carried bodies; there is no result for the base."""

        def find(i: int) -> Any:
            total = own[i]
            for child in self.tree.children[i]:
                total = add(total, found[child][1])
            return step(self.tree.links[i], total, *(column[i] for column in per_body))

        found = Remembered(len(self.links), find)
        return Remembered(len(self.links), lambda i: found[i][0]), None

    def each(self, function: Callable[..., Any], *per_body: Sequence[Any]) -> Remembered:
        """Return results that are computed for each body alone, on request."""
        links = self.tree.links
        return Remembered(len(links), lambda i: function(links[i], *(column[i] for column in per_body)))

    def pairs(
        self, couplings: Sequence[Coupling], carry: Callable[..., Any] | None, **per_body: Sequence[Any]
    ) -> list[Any]:
        """Return matrices column by column; all bodies are seen from one frame, so nothing is transformed."""
        assert carry is None
        return [LazyMatrix(self.tree, c, per_body) for c in couplings]


class Remembered(Sequence[Any]):
    """The quantities of each body, computed on first use."""

    def __init__(self, size: int, find: Callable[[int], Any]) -> None:
        self.size, self.find, self.known = size, find, dict[int, Any]()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: Any) -> Any:
        if i not in self.known:
            if not -self.size <= i < self.size:
                raise IndexError(i)
            self.known[i] = self.find(i)
        return self.known[i]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.size))


class LazyMatrix:
    """A matrix of pairs of bodies, computed column by column."""

    def __init__(self, tree: Model, coupling: Coupling, per_body: Mapping[str, Sequence[Any]]) -> None:
        self.tree, self.coupling = tree, coupling
        self.bodies = [OfBody(per_body, itemgetter(link.index)) for link in tree.links]
        self.taken: dict[tuple[bool, int, int], Any] = {}

    def column(self, j: int) -> Column:
        """Return one column, the sum over all freedoms that one entry of v drives (several if there are followers)."""
        total: Column = {}
        for link in reversed(self.tree.links):
            if link.v_slice.start <= j < link.v_slice.stop:
                for row, value in self._column(link, j - link.v_slice.start).items():
                    total[row] = add(total.get(row), value)
        return total

    def _column(self, link: Link, k: int) -> Column:
        c, links, column = self.coupling, self.tree.links, Column()

        def enter(other: Link, m: int, value: Scalar) -> None:
            row, ratio = other.v_slice.start + m, other.ratio * link.ratio
            column[row] = add(column.get(row), value if ratio == 1.0 else value * ratio)

        own, below = self.bodies[link.index], c.below or c.above
        for j in reversed(_carried(self.tree, link.index)):
            for m in range(links[j].kind.nv):
                enter(links[j], m, below(self._taken(c.below is not None, j, m), k, own))
        for m in range(link.kind.nv):
            enter(link, m, c.block(link, m, k, own))
        for j in reversed(self.tree.support(link.index)[:-1]):
            for m in range(links[j].kind.nv):
                enter(links[j], m, c.above(self._taken(False, link.index, k), m, self.bodies[j]))
        return column

    def _taken(self, below: bool, i: int, k: int) -> Any:
        take = self.coupling.take_below if below else self.coupling.take
        if (below, i, k) not in self.taken:
            assert take is not None
            self.taken[below, i, k] = take(k, self.bodies[i])
        return self.taken[below, i, k]


class _Sums:
    """A square matrix whose entries are added up; entries without contributions are exact zeros."""

    def __init__(self, n: int) -> None:
        self.entries: list[list[Any]] = [[None] * n for _ in range(n)]

    def add(self, one: Link, i: int, other: Link, j: int, value: Scalar) -> None:
        """Add to the row of one link's freedom and the column of another's."""
        row, column, ratio = one.v_slice.start + i, other.v_slice.start + j, one.ratio * other.ratio
        self.entries[row][column] = add(self.entries[row][column], value if ratio == 1.0 else value * ratio)

    def add_block(self, link: Link, block: Matrix) -> None:
        """Add the entries within a joint."""
        for i, row in enumerate(block):
            for j, value in enumerate(row):
                self.add(link, i, link, j, value)

    def rows(self) -> Matrix:
        """Return the matrix."""
        return [[0.0 if x is None else x for x in row] for row in self.entries]


def _carried(tree: Model, i: int) -> list[int]:
    """Return the bodies that body i carries, without itself."""
    found = list(tree.children[i])
    for j in found:
        found.extend(tree.children[j])
    return sorted(found)


def walk_of(tree: Any) -> TreeWalk:
    """Return the walk of a tree; some trees bring their own."""
    return tree if isinstance(tree, TreeWalk) else Unrolled(tree)


def add(a: Any, b: Any) -> Any:
    """Return the sum of two quantities, or of two tuples of quantities, part by part; None counts as zero."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(add(x, y) for x, y in zip(a, b, strict=True))
    return a + b

"""Matrices of large trees whose entries belong to a body and one that carries it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ...engine.graph import INPUT, Node
from ...engine.pair_loops import COLUMN, OWN, ROW
from ...engine.rolled import Place, Step
from .groups import GroupedTree, rebuild, scalars
from .traces import OUT, PerBody, Trace, as_many, constant


class CarrierTrace(Trace):
    """A step for a body and one that it carries: what it needs of its own body comes from a table."""

    def __init__(self, bodies: GroupedTree, group: int) -> None:
        super().__init__(bodies)
        self.group = group
        self.needed: list[tuple[Trace, Node]] = []

    def fetched(self, origin: Trace, x: Node) -> Node:
        """Note a number that a pass made."""
        self.needed.append((origin, x))
        return self.at(OWN, 0, len(self.needed) - 1)

    def read_from_table(self, shares: dict[int, int]) -> Step:
        """Let the passes put what is read into the table, and nothing else."""
        step = self.step
        for i in step.graph.reachable(step.outputs):
            if step.graph.kinds[i] == INPUT:
                k = int(step.graph.values[i])
                if step.sources[k].base == OWN:
                    origin, x = self.needed[step.sources[k].index]
                    step.sources[k] = Place(OWN, 0, origin.kept("out", OUT, x, shares))
        return step


class Pairs:
    """Matrices made together, body by body with those that it carries.

    A table, which the passes fill, has a share for every body: what a step for pairs needs of the
    body that carries, what its freedoms hold at first, and the entries within its joint.
    """

    def __init__(
        self, bodies: GroupedTree, starts: PerBody, carry: Callable[..., Any] | None, meet: Callable[..., Any],
        columns: Sequence[PerBody],
    ) -> None:  # fmt: skip
        self.bodies, self.carry, self.meet, self.columns = bodies, carry, meet, columns
        self.template = next(value for values, _ in starts.values for value in values)
        size = len(scalars(self.template))
        held = [[as_many(x, size) for x in values] for values, _ in starts.values]
        self.known = [_common([constant(x[k]) for values in held for x in values]) for k in range(size)]
        """Numbers that all freedoms hold, all the way to the base."""
        self.symmetric = [True for _ in starts.values[0][1]]
        """Whether a matrix is."""
        while not self._trace_steps():
            pass
        self.shares: defaultdict[int, int] = defaultdict(int)
        """How many numbers of the table belong to a body of each group."""
        self.steps = [trace.read_from_table(self.shares) for trace in self.traces]

        def at(g: int, x: Any) -> int:
            return starts.made_in.traces[g].kept("out", OUT, x, self.shares)

        self.held_at = [[[at(g, x[k]) for k in self.varying] for x in values] for g, values in enumerate(held)]
        """Where in a body's share the numbers of each of its freedoms are."""
        self.blocks_at = [
            [[[at(g, x) for x in row] for row in block] for block in blocks]
            for g, (_, blocks) in enumerate(starts.values)
        ]
        """Where in a body's share the entries within its joint are, of each matrix by rows."""
        self.matrices = [PairedMatrix(self, k) for k in range(len(self.symmetric))]

    def _trace_steps(self) -> bool:
        """Trace what bodies of each group do with freedoms they carry; False if known numbers turn out not to be."""
        before = list(self.known)
        self.varying = [k for k, x in enumerate(self.known) if x is None]
        self.traces = [CarrierTrace(self.bodies, g) for g in range(len(self.bodies.groups))]
        met = [self._met(t) if self.bodies.groups[t.group].has_children else [] for t in self.traces]
        for rows in met:
            for row in rows:
                for k, (above, below) in enumerate(row):
                    self.symmetric[k] &= _same(above, below)
        for trace, rows in zip(self.traces, met, strict=True):
            for m, row in enumerate(rows):
                for k, (above, below) in enumerate(row):
                    trace.put(ROW, k, m, above)
                    if not self.symmetric[k]:
                        trace.put(ROW, len(row) + k, m, below)
        return before == self.known

    def _met(self, trace: CarrierTrace) -> list[list[tuple[Any, Any]]]:
        place = {k: i for i, k in enumerate(self.varying)}
        index = count()

        def number(_: Any) -> Any:
            k = next(index)
            return trace.at(COLUMN, 0, place[k]) if k in place else self.known[k]

        held = rebuild(self.template, number, expand_zero=True)
        own = [column.value(trace) for column in self.columns]
        rows = self.meet(held, *own)
        if self.carry is not None and not self.bodies.groups[trace.group].is_root:
            carried = as_many(self.carry(held, *own), len(self.known))
            for k, x in enumerate(carried):
                if k in place:
                    if not _same(x, trace.at(COLUMN, 0, place[k])):
                        trace.put(COLUMN, 0, place[k], x)
                elif constant(x) != self.known[k]:
                    self.known[k] = None
        return rows


def _same(a: Any, b: Any) -> bool:
    """Whether two results of one step are the same number."""
    if isinstance(a, Node) and isinstance(b, Node):
        return a.index == b.index
    return constant(a) is not None and constant(a) == constant(b)


def _common(known: Sequence[float | None]) -> float | None:
    """The number that all are."""
    return known[0] if all(x == known[0] for x in known) else None


@dataclass(frozen=True)
class PairedMatrix:
    """One of the matrices that are made together."""

    pairs: Pairs
    number: int

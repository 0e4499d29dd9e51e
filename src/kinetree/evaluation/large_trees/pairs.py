"""Matrices of large trees whose entries belong to a body and one that carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ...algorithms.tree_walk import Coupling, OfBody
from ...engine.graph import INPUT, Node
from ...engine.llvm.body_loops import COLUMN, ROW, Slot
from .groups import GroupedTree, rebuild, scalars
from .traces import COUNT, FIRST, OUT, RECORD, Pass, PerBody, Trace, as_many, constant

_OWN = "own"
"""Base of the body's own numbers while it is not known which of them are needed."""


class CarrierTrace(Trace):
    """A step for a body and one that it carries; the body's own numbers come from its record."""

    def __init__(self, bodies: GroupedTree, group: int) -> None:
        super().__init__(bodies)
        self.group = group
        self.step.columns_word = COUNT
        self.needed: list[tuple[Trace, Node]] = []

    def fetched(self, origin: Trace, x: Node) -> Node:
        """Note a number that a pass computed."""
        self.needed.append((origin, x))
        return self.at(_OWN, RECORD, len(self.needed) - 1)

    def read_from_records(self) -> None:
        """Make each pass store only the values that are read later."""
        step = self.step
        for i in step.graph.reachable(step.outputs):
            if step.graph.kinds[i] == INPUT:
                k = int(step.graph.values[i])
                if step.sources[k].base == _OWN:
                    origin, x = self.needed[step.sources[k].index]
                    step.sources[k] = Slot("work", RECORD, origin.kept("work", RECORD, x, self.bodies.record_size))


class PairPass(Pass):
    """The pass from the tips to the base, each body with everything it carries."""

    def __init__(self, bodies: GroupedTree, traces: list[Trace]) -> None:
        super().__init__(bodies, outward=False)
        self.traces = traces


class LoopedBodies(GroupedTree):
    """Bodies that passes visit."""

    passes: list[Pass]


class Pairs:
    """Matrices computed together, body by body with those that it carries.

    The passes write the numbers that a step for pairs needs to every body's record, the initial content of its
    freedoms' columns to these, and the entries within its joint to the results.
    """

    def __init__(
        self, bodies: LoopedBodies, starts: PerBody, couplings: Sequence[Coupling], carry: Callable[..., Any] | None,
        columns: Mapping[str, PerBody], of_bodies: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.of_bodies = of_bodies
        """The number of columns per body and the length of rows, if columns do not belong to freedoms."""
        self.bodies, self.couplings, self.carry, self.columns = bodies, couplings, carry, columns
        self.template = next(value for values, _ in starts.values for value in values)
        size = len(scalars(self.template))
        held = [[as_many(x, size) for x in values] for values, _ in starts.values]
        self.known = [_common([constant(x[k]) for values in held for x in values]) for k in range(size)]
        """Numbers that are the same for all freedoms, all the way to the base."""
        self.symmetric = [c.below is None for c in couplings]
        """Whether each matrix is symmetric."""
        alike = [tuple(_mark(x[k]) for values in held for x in values) for k in range(size)]
        self.twins = [alike.index(x) if carry is None else k for k, x in enumerate(alike)]
        """For each number, the first one that always equals it."""
        while not self._trace_steps():
            pass
        for trace in self.traces:
            trace.read_from_records()
        self.starts = starts.made_in.traces
        """The pass that writes the initial content of columns, and the entries within joints."""
        self.rows_per_freedom = len(couplings) + self.symmetric.count(False)
        """Results of a freedom with each of those that its body carries."""
        width = len(self.varying)
        for values, start in zip(held, self.starts, strict=True):
            for m, x in enumerate(values):
                for n, k in enumerate(self.varying):
                    start.put(COLUMN, FIRST, m * width + n, x[k])
        for (_, blocks), start in zip(starts.values, self.starts, strict=True):
            for k, x in enumerate(x for block in blocks for row in block for x in row):
                start.put("out", OUT, k, x)
        bodies.passes.append(PairPass(bodies, list(self.traces)))
        self.matrices = [PairedMatrix(self, k) for k in range(len(self.symmetric))]

    def _trace_steps(self) -> bool:
        """Trace the steps of each group for carried freedoms; return False if assumed constants are not constant."""
        before = list(self.known)
        self.varying = [k for k, x in enumerate(self.known) if x is None and self.twins[k] == k]
        self.traces = [CarrierTrace(self.bodies, g) for g in range(len(self.bodies.groups))]
        for trace in self.traces:
            if self.bodies.groups[trace.group].has_children:
                self._meet(trace)
        return before == self.known

    def _meet(self, trace: CarrierTrace) -> None:
        place = {k: i for i, k in enumerate(self.varying)}
        index = count()

        def number(_: Any) -> Any:
            k = self.twins[next(index)]
            return trace.at(COLUMN, FIRST, place[k]) if k in place else self.known[k]

        held = rebuild(self.template, number, expand_zero=True)
        own = OfBody(self.columns, lambda column: column.value(trace))
        rows = count()
        for m in range(self.bodies.links[self.bodies.groups[trace.group].bodies[0]].kind.nv):
            for n, (c, taken) in enumerate(zip(self.couplings, held, strict=True)):
                above, below = c.entries(taken, m, own)
                trace.put(ROW, OUT, next(rows), above)
                if not self.symmetric[n]:
                    trace.put(ROW, OUT, next(rows), below)
        if self.carry is not None and not self.bodies.groups[trace.group].is_root:
            carried = [taken.carried(self.carry, own) for taken in held]
            for k, x in enumerate(as_many(carried, len(self.known))):
                if k in place:
                    trace.put(COLUMN, FIRST, place[k], x)
                elif constant(x) != self.known[k]:
                    self.known[k] = None


def _mark(x: Any) -> Any:
    return x.index if isinstance(x, Node) else float(x), isinstance(x, Node)


def _common(known: Sequence[float | None]) -> float | None:
    """Return the number that all of them equal."""
    return known[0] if all(x == known[0] for x in known) else None


@dataclass(frozen=True)
class PairedMatrix:
    """One of the matrices that are computed together."""

    pairs: Pairs
    number: int

"""Matrices of large trees whose entries belong to a body and one that carries it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ...algorithms.tree_walk import Coupling, OfBody
from ...engine.graph import INPUT, Node
from ...engine.llvm.body_loops import BodyStep, Slot
from ...engine.llvm.pair_loops import COLUMN, OWN, ROW
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

    def read_from_table(self, shares: dict[int, int]) -> BodyStep:
        """Let the passes put what is read into the table, and nothing else."""
        step = self.step
        for i in step.graph.reachable(step.outputs):
            if step.graph.kinds[i] == INPUT:
                k = int(step.graph.values[i])
                if step.sources[k].base == OWN:
                    origin, x = self.needed[step.sources[k].index]
                    step.sources[k] = Slot(OWN, 0, origin.kept("out", OUT, x, shares))
        return step


class Pairs:
    """Matrices made together, body by body with those that it carries.

    A table, which the passes fill, has a share for every body: what a step for pairs needs of the
    body that carries, what its freedoms hold at first, and the entries within its joint.
    """

    def __init__(
        self, bodies: GroupedTree, starts: PerBody, couplings: Sequence[Coupling], carry: Callable[..., Any] | None,
        columns: Mapping[str, PerBody],
    ) -> None:  # fmt: skip
        self.bodies, self.couplings, self.carry, self.columns = bodies, couplings, carry, columns
        self.template = next(value for values, _ in starts.values for value in values)
        size = len(scalars(self.template))
        held = [[as_many(x, size) for x in values] for values, _ in starts.values]
        self.known = [_common([constant(x[k]) for values in held for x in values]) for k in range(size)]
        """Numbers that all freedoms hold, all the way to the base."""
        self.symmetric = [c.below is None for c in couplings]
        """Whether a matrix is."""
        alike = [tuple(_mark(x[k]) for values in held for x in values) for k in range(size)]
        self.twins = [alike.index(x) if carry is None else k for k, x in enumerate(alike)]
        """Of each number, the first that is the same for all and stays so."""
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
            return trace.at(COLUMN, 0, place[k]) if k in place else self.known[k]

        held = rebuild(self.template, number, expand_zero=True)
        own = OfBody(self.columns, lambda column: column.value(trace))
        several = len(self.couplings)
        for m in range(self.bodies.links[self.bodies.groups[trace.group].bodies[0]].kind.nv):
            for n, (c, taken) in enumerate(zip(self.couplings, held, strict=True)):
                above, below = c.entries(taken, m, own)
                trace.put(ROW, n, m, above)
                if not self.symmetric[n]:
                    trace.put(ROW, several + n, m, below)
        if self.carry is not None and not self.bodies.groups[trace.group].is_root:
            carried = [taken.carried(self.carry, own) for taken in held]
            for k, x in enumerate(as_many(carried, len(self.known))):
                if k in place:
                    trace.put(COLUMN, 0, place[k], x)
                elif constant(x) != self.known[k]:
                    self.known[k] = None


def _mark(x: Any) -> Any:
    return x.index if isinstance(x, Node) else float(x), isinstance(x, Node)


def _common(known: Sequence[float | None]) -> float | None:
    """Return the number that all are."""
    return known[0] if all(x == known[0] for x in known) else None


@dataclass(frozen=True)
class PairedMatrix:
    """One of the matrices that are made together."""

    pairs: Pairs
    number: int

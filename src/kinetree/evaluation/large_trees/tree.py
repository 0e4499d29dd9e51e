"""Large trees: the same steps, traced once per kind of body and run in loops.

A :class:`LoopedTree` stands in for a model.  When an algorithm walks it, each step is traced
once for every *group* of bodies that look alike (same joint, same structure of constants,
root or not, tip or not), with the numbers that differ between the bodies as parameters.  The result is a schedule
(:mod:`kinetree.evaluation.large_trees.schedule`) for :mod:`kinetree.engine.llvm.body_loops`.

Numbers that a step passes on stay in a work area. They go to the children and to the parent through pools whose slots
are reused as soon as they are free (for a chain, these stay in the processor's nearest cache), and from one pass to a
later one through each body's record. Sums over all bodies, and the total that the base receives, are accumulated
separately; everything that depends on them is computed in one last step. Numbers that are never read are not stored,
and numbers that are the same constant for every body are not passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from ...algorithms.path import Path
from ...algorithms.tree_walk import Coupling, OfBody, TreeWalk
from ...errors import UnsupportedError
from ...model.tree import BASE, Link, Model
from .groups import rebuild, scalars
from .pairs import LoopedBodies, PairedMatrix, Pairs
from .traces import (
    OWN_POOL,
    OWN_SUM,
    PARENT_POOL,
    PARENT_SUM,
    TOTAL,
    AtRest,
    InputColumn,
    InputVector,
    Laid,
    Pass,
    PerBody,
    Shared,
    Trace,
    as_many,
    constant,
    value_of,
)


class LoopedTree(LoopedBodies, TreeWalk):
    """Stands in for a :class:`Model`, or for a path of one, while an algorithm is traced."""

    def __init__(self, tree: Model | Path, marks: Sequence[Any] = ()) -> None:
        super().__init__(tree, marks)
        self.passes: list[Pass] = []
        self.last = Trace(self)
        """The step that computes results from sums over all bodies."""
        self.n_totals = 0

    # methods that the algorithms call, see algorithms/tree_walk.py

    def positions(self, q: InputVector) -> InputColumn:
        """Return joint coordinates."""
        return InputColumn(q, "q")

    def rates(self, v: Any) -> Any:
        """Return joint velocities, accelerations or forces; numbers that are known must be zeros."""
        if isinstance(v, InputVector):
            return InputColumn(v, "v")
        if any(x != 0.0 for x in v):
            raise UnsupportedError("this algorithm cannot be rolled into a loop: it uses rates that are not inputs")
        return AtRest()

    def outward(self, step: Callable[..., Any], base: Any, *columns: Any) -> PerBody:
        """Return results per body, from the base to the tips."""
        carried = _Carried(base)
        while True:  # repeated until all assumed constants are constant
            this = Pass(self, outward=True)
            values = []
            for trace, group in zip(this.traces, self.groups, strict=True):
                parent = base if group.is_root else _Proxy(carried, trace)
                values.append(step(trace.link, parent, *(value_of(c, trace) for c in columns)))
            if carried.settled(v for v, group in zip(values, self.groups, strict=True) if group.has_children):
                break
        for trace, group, value in zip(this.traces, self.groups, values, strict=True):
            if group.has_children:
                carried.store(trace, value)
        self.passes.append(this)
        return PerBody(self, this, values)

    def each(self, function: Callable[..., Any], *columns: Any) -> PerBody:
        """Return what is computed for each body independently, within the last pass."""
        if not self.passes:
            self.passes.append(Pass(self, outward=True))
        this = self.passes[-1]
        values = [function(t.link, *(value_of(c, t) for c in columns)) for t in this.traces]
        return PerBody(self, this, values)

    def inward(self, step: Callable[..., Any], own: PerBody, *columns: Any) -> tuple[PerBody, Any]:
        """Return results per body, from the tips to the base."""
        this = Pass(self, outward=False)
        self.passes.append(this)
        values: dict[int, Any] = {}
        on_base = []
        handed: Any = None
        for trace in sorted(this.traces, key=lambda t: self.groups[t.group].has_children):
            group = self.groups[trace.group]
            total = value_of(own, trace)
            if group.has_children:  # bodies without values receive what tips passed on
                arrived = trace.found("work", OWN_SUM, 0, handed if total is None else total)
                total = arrived if total is None else _add(total, arrived)
            values[trace.group], handed = step(trace.link, total, *(value_of(c, trace) for c in columns))
            if group.is_root:
                on_base.append((trace, handed))
                continue
            for k, x in enumerate(scalars(handed)):
                trace.put("work", PARENT_SUM, k, x, accumulate=not group.adds_first)
        return PerBody(self, this, [values[g] for g in sorted(values)]), self._summed(on_base, on_base[0][1])

    def total(self, per_body: PerBody, zero: Any) -> Any:
        """Return the sum over all bodies, for the last step."""
        return _add(zero, self._summed(list(zip(per_body.made_in.traces, per_body.values, strict=True)), zero))

    def _summed(self, parts: Sequence[tuple[Trace, Any]], template: Any) -> Any:
        """Return the sum of values of several traces, as the last step finds it."""
        first, size = self.n_totals, len(scalars(template))
        self.n_totals += size
        for trace, value in parts:
            for k, x in enumerate(as_many(value, size)):
                trace.put("work", TOTAL, first + k, x, accumulate=True)
        return self.last.found("work", TOTAL, first, template)

    def everywhere(self, value: Any) -> Shared:
        """Return values computed so far from sums over all bodies, for further steps of every body."""
        made, first = self.last, self.n_totals
        for k, x in enumerate(scalars(value)):
            made.put("work", TOTAL, first + k, x)
            self.n_totals += 1
        self.passes += [Pass(self, outward=True, whole=made), Pass(self, outward=True)]
        self.last = Trace(self)
        return Shared(value, first)

    def collect(self, per_body: PerBody, empty: Any = None) -> Laid:
        """Return results of the joints, laid out like ``v``."""
        return Laid(per_body, "v")

    def path_to(self, body: int) -> LoopedTree:
        """Return the tree without bodies that do not carry this one."""
        if self.passes or not isinstance(self.tree, Model):
            raise UnsupportedError("this algorithm cannot be rolled into a loop: it walks more than one path")
        self.tree = Path(self.tree, body)
        self.__dict__.pop("links", None)
        return self

    def at_tip(self, per_body: PerBody) -> Any:
        """Return the result of the last body of the path, for use in the final step."""
        group = self.group_of[-1]
        trace = per_body.made_in.traces[group]

        def keep(x: Any) -> Any:
            known = constant(x)
            if known is not None:
                return known
            self.n_totals += 1
            trace.put("work", TOTAL, self.n_totals - 1, x)
            return self.last.at("work", TOTAL, self.n_totals - 1)

        return rebuild(per_body.values[group], keep)

    def side_by_side(self, per_body: PerBody, layout: str) -> Laid:
        """Return numbers of the joints, laid out like ``q`` or ``v``."""
        return Laid(per_body, layout)

    def table(self, per_body: PerBody, width: int) -> Laid:
        """Return several numbers per degree of freedom."""
        return Laid(per_body, "v", width)

    def pairs(
        self, couplings: Sequence[Coupling], carry: Callable[..., Any] | None, **columns: PerBody
    ) -> list[PairedMatrix]:
        """Return matrices with an entry for each pair of a body and a carrier; numbers that differ go into a table."""
        names = list(columns)

        def begin(link: Link, *values: Any) -> tuple[list[Any], Any]:
            own, freedoms = OfBody(dict(zip(names, values, strict=True)), lambda x: x), range(link.kind.nv)
            taken = [[c.taken(k, own) for c in couplings] for k in freedoms]
            if carry is not None and link.parent != BASE:  # as seen by the first body that carries it
                taken = [[held.carried(carry, own) for held in several] for several in taken]
            return taken, [c.whole_block(link, own) for c in couplings]

        return Pairs(self, self.each(begin, *columns.values()), couplings, carry, columns).matrices

    def body_columns(
        self, width: int, length: int, take: Callable[..., Any], felt: Callable[..., Any], **columns: PerBody
    ) -> list[PairedMatrix]:
        """Return a matrix of each body with its own joint and each of those that carry it."""
        names, coupling = list(columns), Coupling(felt, take, felt)

        def begin(link: Link, *values: Any) -> tuple[list[Any], Any]:
            own = OfBody(dict(zip(names, values, strict=True)), lambda x: x)
            taken = [coupling.taken(k, own) for k in range(width)]
            block = [[felt(held.above, m, own) for held in taken] for m in range(link.kind.nv)]
            return [[held] for held in taken], [block]

        found = Pairs(self, self.each(begin, *columns.values()), [coupling], None, columns, (width, length))
        return found.matrices

    def on_demand(self) -> LoopedTree:
        """Return this tree: a loop has only one order."""
        return self


class _Carried:
    """The parent's values as its children see them; only the fields that they read are kept.

    A number of the base that every body passes on unchanged (such as the velocities of a robot at rest, or two of three
    directions in a plane) remains a constant: each number is assumed to be constant until a body changes it.
    """

    def __init__(self, base: Any) -> None:
        self.base = base
        self.starts: dict[Any, int] = {}
        self.constants: list[float | None] = []

    def field(self, trace: Trace, key: Any) -> Any:
        """Return a field of the parent as numbers in its pool."""
        template = _field(self.base, key)
        if key not in self.starts:
            self.starts[key] = len(self.constants)
            self.constants += [constant(x) for x in scalars(template)]
        index = count(self.starts[key])

        def number(_: Any) -> Any:
            k = next(index)
            known = self.constants[k]
            return trace.at("work", PARENT_POOL, k) if known is None else known

        return rebuild(template, number, expand_zero=True)

    def _numbers(self, value: Any) -> Iterator[tuple[int, Any]]:
        for key, start in self.starts.items():
            size = len(scalars(_field(self.base, key)))
            yield from enumerate(as_many(_field(value, key), size), start)

    def settled(self, values: Iterable[Any]) -> bool:
        """Return whether all assumed constants are constant; those that are not will not be assumed again."""
        right = True
        for value in values:
            for k, x in self._numbers(value):
                if self.constants[k] is not None and self.constants[k] != constant(x):
                    self.constants[k] = None
                    right = False
        return right

    def store(self, trace: Trace, value: Any) -> None:
        """Keep what children read."""
        for k, x in self._numbers(value):
            if self.constants[k] is None:
                trace.put("work", OWN_POOL, k, x)


def _field(value: Any, key: Any) -> Any:
    return value[key] if isinstance(key, int) else getattr(value, key)


class _Proxy:
    def __init__(self, carried: _Carried, trace: Trace) -> None:
        self._carried, self._trace = carried, trace

    def __getattr__(self, name: str) -> Any:
        return self._carried.field(self._trace, name)

    def __getitem__(self, index: int) -> Any:
        return self._carried.field(self._trace, index)


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_add(x, y) for x, y in zip(a, b, strict=True))
    return a + b

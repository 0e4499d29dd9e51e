"""Steps of a large tree while they are traced: where their numbers come from and go to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ...engine.graph import CONST, INPUT, Node
from ...engine.llvm.body_loops import BodyStep, Slot
from ...errors import UnsupportedError
from ...model.tree import Link
from ...spatial import ZERO3, AxisRotation, Force, Matrix3, MatrixRotation, RigidInertia, Symmetric3, Transform, Vec3
from .groups import GroupedTree, kind_with, rebuild, scalars

# Words of a schedule's entry: the step's address, then offsets.
STEP, PARAMS, RECORD, OWN_POOL, PARENT_POOL, OWN_SUM, PARENT_SUM, TOTAL, OUT, FIRST, COUNT, FIRST_INPUT = range(12)
"""Indices of these words; ``FIRST`` and ``COUNT`` define the columns that a step goes through: a body's own, or all."""


class Trace:
    """One step being traced for one group or (without a group) for the whole tree."""

    link: Link

    def __init__(self, bodies: GroupedTree, group: int = -1) -> None:
        self.step = BodyStep()
        self.bodies, self.group = bodies, group
        if group >= 0:
            self.link = self._symbolic_link()

    def at(self, base: str, word: int, index: int) -> Node:
        """Return a number at a place."""
        return Node(self.step.graph, self.step.source(Slot(base, word, index)))

    def found(self, base: str, word: int, first: int, template: Any) -> Any:
        """Return a value like ``template`` whose numbers are at consecutive places."""
        index = count(first)
        return rebuild(template, lambda _: self.at(base, word, next(index)), expand_zero=True)

    def fetched(self, origin: Trace, x: Node) -> Node:
        """Return a number of the same body that an earlier pass computed.

        It comes from the same source as in that pass, or from the body's record.
        """
        graph = origin.step.graph
        if graph.kinds[x.index] == INPUT:
            place = origin.step.sources[int(graph.values[x.index])]
            if place.base in ("in", "params"):
                return self.at(place.base, place.word, place.index)
        return self.at("work", RECORD, origin.kept("work", RECORD, x, self.bodies.record_size))

    def kept(self, base: str, word: int, x: Any, sizes: dict[int, int]) -> int:
        """Return the place of a number among those that are kept for each body.

        ``sizes`` is how many there are per group.
        """
        node = x.index if isinstance(x, Node) else self.step.graph.const(float(x))
        for (place, _), known in zip(self.step.targets, self.step.outputs, strict=True):
            if known == node and place.base == base and place.word == word:
                return place.index
        slot = sizes[self.group]
        sizes[self.group] += 1
        self.put(base, word, slot, x)
        return slot

    def put(self, base: str, word: int, index: int, value: Any, accumulate: bool = False) -> None:
        """Store a number at a place."""
        node = value.index if isinstance(value, Node) else self.step.graph.const(float(value))
        self.step.store(Slot(base, word, index), node, accumulate)

    def _symbolic_link(self) -> Link:
        """Return the first body of the group, with the numbers that differ between its bodies as parameters."""
        group = self.bodies.groups[self.group]
        link = self.bodies.links[group.bodies[0]]
        constants = self.bodies.constants[group.bodies[0]]
        numbers: Iterator[Any] = iter(
            [
                self.at("params", PARAMS, group.varying.index(k)) if k in group.varying else x
                for k, x in enumerate(constants)
            ]
        )

        def take(size: int) -> list[Any]:
            return [next(numbers) for _ in range(size)]

        rotations: list[Any] = []
        for rotation in link.placement.rotations:
            if isinstance(rotation, AxisRotation):
                rotations.append(AxisRotation(rotation.axis, *take(2)))
            else:
                rotations.append(MatrixRotation(Matrix3(*(Vec3(*take(3)) for _ in range(3)))))
        translation = take(3)
        # slots in the order in which `scalars` visits them
        first, mass, second = take(3), take(1)[0], take(6)
        return replace(
            link, placement=Transform(rotations, ZERO3 if link.placement.translation is ZERO3 else Vec3(*translation)),
            inertia=RigidInertia(mass, Vec3.of(first), Symmetric3(*second)), turn=take(1)[0],
            armature=tuple(take(len(link.armature))),
            stiffness=tuple(take(len(link.stiffness))), spring_rest=tuple(take(len(link.spring_rest))),
            kind=kind_with(link.kind, list(numbers)),
        )  # fmt: skip


class Pass:
    """One walk over the tree, or one step for the tree as a ``whole``."""

    def __init__(self, bodies: GroupedTree, outward: bool, whole: Trace | None = None) -> None:
        self.outward, self.whole = outward, whole
        self.traces = [Trace(bodies, g) for g in range(len(bodies.groups))] if whole is None else [whole]


@dataclass
class PerBody:
    """The result of a pass for every body: one value per group, in terms of that pass's graphs."""

    bodies: GroupedTree
    made_in: Pass
    values: list[Any]

    def part(self, index: int) -> PerBody:
        """Return one component."""
        return PerBody(self.bodies, self.made_in, [v[index] for v in self.values])

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def value(self, trace: Trace) -> Any:
        """Return the value in another pass: numbers come from their original source, or from the body's record."""
        value = self.values[trace.group]
        origin = self.made_in.traces[trace.group]
        if origin is trace:
            return value

        def fetch(x: Any) -> Any:
            if not isinstance(x, Node):
                return x
            known = constant(x)
            return trace.fetched(origin, x) if known is None else known

        return rebuild(value, fetch)


@dataclass
class Laid:
    """A result with some numbers per joint; ``width`` numbers for each coordinate or freedom."""

    per_body: PerBody
    layout: str
    width: int = 1
    by_rows: bool = False
    """Whether the first numbers of all joints precede all second numbers."""

    def rows(self) -> Laid:
        """Return a matrix of columns of six numbers, by rows."""
        return replace(self, width=6, by_rows=True)

    def place(self, k: int, number: int) -> int:
        """Return the position of a number of a body's freedom k, relative to the body's part."""
        return number * self.per_body.bodies.nv + k if self.by_rows else k * self.width + number

    def share(self, link: Link) -> int:
        """Return where a body's share begins."""
        start = (link.q_slice if self.layout == "q" else link.v_slice).start
        return start if self.by_rows else start * self.width

    def blanks(self) -> list[int]:
        """Return the columns of freedoms that no body has; they are set to zero."""
        if not self.by_rows:
            return []
        rolled = self.per_body.bodies
        present = {k for link in rolled.links for k in link.freedoms}
        return [k for k in range(rolled.nv) if k not in present]


@dataclass(frozen=True)
class Shared:
    """Numbers that are the same for every body, and where they are."""

    template: Any
    first: int

    def value(self, trace: Trace) -> Any:
        """Return the numbers as the current body reads them."""
        return trace.found("work", TOTAL, self.first, self.template)


@dataclass(frozen=True)
class AtRest:
    """Rates that are zero."""

    def value(self, trace: Trace) -> list[float]:
        """Return one zero per freedom of the current body."""
        return [0.0] * trace.link.kind.nv


@dataclass(frozen=True)
class InputVector:
    """One of the kernel's inputs."""

    index: int


@dataclass(frozen=True)
class InputColumn:
    """A joint's share of an input vector."""

    vector: InputVector
    layout: str

    def value(self, trace: Trace) -> Any:
        """Return the numbers of the current body."""
        word = FIRST_INPUT + self.vector.index
        if self.layout == "wrench":
            return Force.of([trace.at("in", word, k) for k in range(6)])
        size = trace.link.kind.nq if self.layout == "q" else trace.link.kind.nv
        return [trace.at("in", word, k) for k in range(size)]


def constant(x: Any) -> float | None:
    """Return the number, if it is already known."""
    if not isinstance(x, Node):
        return float(x)
    return float(x.graph.values[x.index]) if x.graph.kinds[x.index] == CONST else None


def as_many(value: Any, size: int) -> list[Any]:
    """Return a value's scalars; every body must have the same number of them."""
    found = scalars(value)
    if len(found) != size:
        raise UnsupportedError("this algorithm cannot be rolled into a loop: bodies pass on different kinds of values")
    return found


def value_of(column: Any, trace: Trace) -> Any:
    """Return the content of a column for the current body."""
    if isinstance(column, (PerBody, InputColumn, AtRest, Shared)):
        return column.value(trace)
    if isinstance(column, list) and all(x is None for x in column):
        return None
    raise UnsupportedError("this algorithm cannot be rolled into a loop: it decomposes a body's data itself")

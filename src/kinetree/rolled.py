"""Large trees: the same steps, traced once per kind of body and looped over.

A :class:`RolledTree` stands in for a model.  When an algorithm walks it, each step is traced
once for every *group* of bodies that look alike (same joint, same structure of constants,
root or not, tip or not), with what differs between the bodies as parameters.  The result
is a schedule for :mod:`kinetree.engine.rolled`.

What a step hands over stays in a work area: to the children and to the parent through
pools whose places are reused as soon as they are free (for a chain they stay in the
processor's nearest cache), and from one pass to a later one through each body's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from .engine.graph import INPUT, Node
from .engine.rolled import Place, Step
from .errors import UnsupportedError
from .model.tree import BASE, Link, Model
from .spatial import ZERO3, AxisRotation, Force, Matrix3, MatrixRotation, RigidInertia, Symmetric3, Transform, Vec3

# Words of a schedule's entry: the step's address, then offsets.
STEP, PARAMS, RECORD, OWN_POOL, PARENT_POOL, OWN_SUM, PARENT_SUM, OUT, FIRST_INPUT = range(9)


# ------------------------------------------------------------------ values made of scalars


def rebuild(value: Any, leaf: Callable[[Any], Any], expand_zero: bool = False) -> Any:
    """The same structure with every scalar replaced; whole numbers, None and words are structure."""
    if isinstance(value, (float, Node)):
        return leaf(value)
    if value is ZERO3 and not expand_zero:
        return value
    if isinstance(value, tuple):
        parts = [rebuild(x, leaf, expand_zero) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [rebuild(x, leaf, expand_zero) for x in value]
    slots = getattr(type(value), "__slots__", None)
    if not slots or isinstance(value, str):
        return value
    new = object.__new__(type(value))
    for name in slots:
        setattr(new, name, rebuild(getattr(value, name), leaf, expand_zero))
    return new


def scalars(value: Any) -> list[Any]:
    """All scalars of a value in a fixed order, zero vectors included."""
    found: list[Any] = []
    rebuild(value, lambda x: found.append(x) or x, expand_zero=True)  # type: ignore[func-returns-value]
    return found


# ------------------------------------------------------------------ groups of bodies that look alike


@dataclass
class Group:
    """Bodies that share their steps."""

    bodies: list[int]
    is_root: bool
    has_children: bool
    adds_first: bool
    """Whether it is the first of its siblings to hand something to the parent, going inward."""
    varying: list[int] = field(default_factory=list)
    """Which of a link's constants differ between the bodies."""


def _constants(link: Link) -> list[float]:
    """A link's numbers in a fixed order: placement, inertia, rotor."""
    return [
        float(x) for x in scalars((link.placement.rotations, link.placement.translation, link.inertia, link.armature))
    ]


def _structure(rotation: Any) -> Any:
    return ("axis", rotation.axis) if isinstance(rotation, AxisRotation) else "matrix"


class RolledTree:
    """Stands in for a :class:`Model` while an algorithm is traced."""

    has_followers = False

    def __init__(self, tree: Model) -> None:
        if tree.has_followers:
            raise UnsupportedError("joints that mimic others cannot be rolled into a loop")
        self.tree = tree
        self.gravity = tree.gravity
        self.nq, self.nv = tree.nq, tree.nv
        self.links = tree.links
        self.walk = self
        self.groups: list[Group] = []
        self.group_of: list[int] = []
        self._group()
        self.passes: list[Pass] = []
        self.inputs: list[str] = []
        self.record_size = [0] * len(self.groups)

    def _group(self) -> None:
        tree = self.tree
        known: dict[Any, int] = {}
        for link in tree.links:
            siblings = tree.roots if link.parent == BASE else tree.children[link.parent]
            key = (
                link.kind,
                tuple(_structure(r) for r in link.placement.rotations),
                link.placement.translation is ZERO3,
                tuple(x == 0.0 for x in link.armature),
                link.parent == BASE,
                bool(tree.children[link.index]),
                link.index == siblings[-1],
            )
            if key not in known:
                known[key] = len(self.groups)
                self.groups.append(Group([], *key[4:]))
            self.groups[known[key]].bodies.append(link.index)
            self.group_of.append(known[key])
        for group in self.groups:
            table = np.array([_constants(tree.links[i]) for i in group.bodies])
            group.varying = [k for k in range(table.shape[1]) if np.any(table[:, k] != table[0, k])]

    # what the algorithms call, see algorithms/passes.py

    def positions(self, q: InputVector) -> InputColumn:
        """Joint coordinates."""
        return InputColumn(q, "q")

    def rates(self, v: InputVector) -> InputColumn:
        """Joint velocities, accelerations or forces."""
        return InputColumn(v, "v")

    def outward(self, step: Callable[..., Any], base: Any, *columns: Any) -> PerBody:
        """From the base to the tips."""
        this = Pass(self, outward=True)
        self.passes.append(this)
        carried = _Carried(base)
        values = []
        for g, group in enumerate(self.groups):
            trace = this.traces[g]
            parent = base if group.is_root else carried.proxy(trace)
            values.append(step(trace.link, parent, *(_value(c, trace) for c in columns)))
        for g, group in enumerate(self.groups):
            if group.has_children:
                this.pool_size = max(this.pool_size, carried.store(this.traces[g], values[g]))
        return PerBody(self, this, values)

    def each(self, function: Callable[..., Any], *columns: Any) -> PerBody:
        """Every body by itself: done within the last pass."""
        this = self.passes[-1]
        values = [function(t.link, *(_value(c, t) for c in columns)) for t in this.traces]
        return PerBody(self, this, values)

    def inward(self, step: Callable[..., Any], own: PerBody, *columns: Any) -> tuple[PerBody, None]:
        """From the tips to the base."""
        this = Pass(self, outward=False)
        self.passes.append(this)
        values = []
        for g, group in enumerate(self.groups):
            trace = this.traces[g]
            total = _value(own, trace)
            if group.has_children:
                total = _add(total, trace.found("work", OWN_SUM, 0, total))
            result, handed = step(trace.link, total, *(_value(c, trace) for c in columns))
            values.append(result)
            if not group.is_root:
                parts = scalars(handed)
                this.pool_size = max(this.pool_size, len(parts))
                for k, x in enumerate(parts):
                    trace.put("work", PARENT_SUM, k, x, accumulate=not group.adds_first)
        return PerBody(self, this, values), None

    def collect(self, per_body: PerBody) -> Collected:
        """Results of the joints, laid out like ``v``."""
        for trace, values in zip(per_body.made_in.traces, per_body.values, strict=True):
            for k, x in enumerate(values):
                trace.put("out", OUT, k, x)
        return Collected()


class Collected(list[Any]):
    """The output vector, already stored."""


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
        """The numbers of the body at hand."""
        word = FIRST_INPUT + self.vector.index
        if self.layout == "wrench":
            return Force.of([trace.at("in", word, k) for k in range(6)])
        size = trace.link.kind.nq if self.layout == "q" else trace.link.kind.nv
        return [trace.at("in", word, k) for k in range(size)]


class Trace:
    """One step being traced for one group."""

    def __init__(self, rolled: RolledTree, group: int) -> None:
        self.step = Step()
        self.rolled, self.group = rolled, group
        self.link = self._symbolic_link()

    def at(self, base: str, word: int, index: int) -> Node:
        """A number found at a place."""
        return Node(self.step.graph, self.step.source(Place(base, word, index)))

    def found(self, base: str, word: int, first: int, template: Any) -> Any:
        """A value like ``template`` whose numbers are found one after the other."""
        index = count(first)
        return rebuild(template, lambda _: self.at(base, word, next(index)), expand_zero=True)

    def put(self, base: str, word: int, index: int, value: Any, accumulate: bool = False) -> None:
        """Store a number at a place."""
        node = value.index if isinstance(value, Node) else self.step.graph.const(float(value))
        self.step.store(Place(base, word, index), node, accumulate)

    def _symbolic_link(self) -> Link:
        """The first body of the group, with what differs between its bodies as parameters."""
        group = self.rolled.groups[self.group]
        link = self.rolled.tree.links[group.bodies[0]]
        constants = _constants(link)
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
            link,
            placement=Transform(rotations, ZERO3 if link.placement.translation is ZERO3 else Vec3(*translation)),
            inertia=RigidInertia(mass, Vec3.of(first), Symmetric3(*second)),
            armature=tuple(take(len(link.armature))),
        )


class Pass:
    """One walk over the tree."""

    def __init__(self, rolled: RolledTree, outward: bool) -> None:
        self.outward = outward
        self.traces = [Trace(rolled, g) for g in range(len(rolled.groups))]
        self.pool_size = 0


@dataclass
class PerBody:
    """What a pass made for every body: one value per group, in terms of that pass's graphs."""

    rolled: RolledTree
    made_in: Pass
    values: list[Any]

    def part(self, index: int) -> PerBody:
        """One component."""
        return PerBody(self.rolled, self.made_in, [v[index] for v in self.values])

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def value(self, trace: Trace) -> Any:
        """The value in another pass: numbers are found where they came from or in the body's record."""
        value = self.values[trace.group]
        origin = self.made_in.traces[trace.group]
        if origin is trace:
            return value

        def fetch(x: Any) -> Any:
            if not isinstance(x, Node):
                return x
            graph = origin.step.graph
            kind = graph.kinds[x.index]
            if kind == "const":
                return float(graph.values[x.index])
            if kind == INPUT:
                place = origin.step.sources[int(graph.values[x.index])]
                if place.base in ("in", "params"):
                    return trace.at(place.base, place.word, place.index)
            return trace.at("work", RECORD, self._slot(origin, x))

        return rebuild(value, fetch)

    def _slot(self, origin: Trace, x: Node) -> int:
        """Place in the body's record, which the pass that made the number fills."""
        for (place, _), node in zip(origin.step.targets, origin.step.outputs, strict=True):
            if node == x.index and place.base == "work" and place.word == RECORD:
                return place.index
        slot = self.rolled.record_size[origin.group]
        self.rolled.record_size[origin.group] += 1
        origin.put("work", RECORD, slot, x)
        return slot


class _Carried:
    """What children see of their parent: only the fields they look at are kept."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.starts: dict[Any, int] = {}
        self.size = 0

    def field(self, trace: Trace, key: Any) -> Any:
        """A field of the parent as numbers in its pool."""
        template = self.base[key] if isinstance(key, int) else getattr(self.base, key)
        if key not in self.starts:
            self.starts[key] = self.size
            self.size += len(scalars(template))
        return trace.found("work", PARENT_POOL, self.starts[key], template)

    def proxy(self, trace: Trace) -> Any:
        """An object with the parent's fields."""
        return _Proxy(self, trace)

    def store(self, trace: Trace, value: Any) -> int:
        """Keep the fields that children asked for; returns how many numbers that is."""
        for key, start in self.starts.items():
            for k, x in enumerate(scalars(value[key] if isinstance(key, int) else getattr(value, key))):
                trace.put("work", OWN_POOL, start + k, x)
        return self.size


class _Proxy:
    def __init__(self, carried: _Carried, trace: Trace) -> None:
        self._carried, self._trace = carried, trace

    def __getattr__(self, name: str) -> Any:
        return self._carried.field(self._trace, name)

    def __getitem__(self, index: int) -> Any:
        return self._carried.field(self._trace, index)


def _value(column: Any, trace: Trace) -> Any:
    if isinstance(column, (PerBody, InputColumn)):
        return column.value(trace)
    if isinstance(column, list) and all(x is None for x in column):
        return None
    raise UnsupportedError("this algorithm cannot be rolled into a loop: it takes a body's data apart by itself")


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_add(x, y) for x, y in zip(a, b, strict=True))
    return a + b


# ------------------------------------------------------------------ the schedule


@dataclass
class Schedule:
    """Everything a rolled kernel needs: steps, entries (without addresses), parameters, sizes."""

    steps: list[Step]
    entries: np.ndarray
    """One row per call: step number, then offsets."""
    params: np.ndarray
    work_vectors: int


def roll(function: Callable[..., Any], tree: Model, layouts: Sequence[str], options: dict[str, Any]) -> Schedule:
    """Trace ``function(tree, *vectors, **options)`` into a schedule; a vector's layout is "q", "v" or "wrench"."""
    rolled = RolledTree(tree)
    vectors: list[Any] = [InputVector(k) for k in range(len(layouts))]
    if layouts and layouts[-1] == "wrench":
        vectors[-1] = InputColumn(vectors[-1], "wrench")
    result = function(rolled, *vectors, **options)
    if not isinstance(result, Collected):
        raise UnsupportedError("only algorithms that return one number per degree of freedom can be rolled into a loop")
    return _schedule(rolled, layouts)


def _forget_what_nobody_reads(rolled: RolledTree) -> None:
    """Drop numbers that were kept for a later pass which then had no use for them; close the gaps."""
    needed: list[set[int]] = [set() for _ in rolled.groups]
    for this in reversed(rolled.passes):
        for g, trace in enumerate(this.traces):
            step = trace.step
            kept = [
                (target, node)
                for target, node in zip(step.targets, step.outputs, strict=True)
                if target[0].word != RECORD or target[0].base != "work" or target[0].index in needed[g]
            ]
            step.targets, step.outputs = [t for t, _ in kept], [n for _, n in kept]
            for i in step.graph.reachable(step.outputs):
                if step.graph.kinds[i] == INPUT:
                    place = step.sources[int(step.graph.values[i])]
                    if place.base == "work" and place.word == RECORD:
                        needed[g].add(place.index)
    for g, slots in enumerate(needed):
        number = {slot: k for k, slot in enumerate(sorted(slots))}
        rolled.record_size[g] = len(slots)

        def moved(place: Place, number: dict[int, int] = number) -> Place:
            if place.base != "work" or place.word != RECORD:
                return place
            return Place("work", RECORD, number.get(place.index, -1))  # -1: never read

        for this in rolled.passes:
            step = this.traces[g].step
            step.sources = [moved(p) for p in step.sources]
            step.targets = [(moved(p), a) for p, a in step.targets]


def _schedule(rolled: RolledTree, layouts: Sequence[str]) -> Schedule:
    _forget_what_nobody_reads(rolled)
    tree, bodies = rolled.tree, len(rolled.tree.links)
    params: list[float] = []
    params_at = []
    for link in tree.links:
        params_at.append(len(params))
        constants = _constants(link)
        params += [constants[k] for k in rolled.groups[rolled.group_of[link.index]].varying]
    records = np.array([rolled.record_size[g] for g in rolled.group_of])
    record_at = np.concatenate([[0], np.cumsum(records)])
    sizes = {"q": tree.nq, "v": tree.nv, "wrench": 6 * bodies}
    starts = [sum(sizes[layout] for layout in layouts[:k]) for k in range(len(layouts))]
    steps: list[Step] = []
    rows: list[list[int]] = []
    pools = 0
    for this in rolled.passes:
        first = len(steps)
        steps += [t.step for t in this.traces]
        places, used = _pool_places(tree, this.outward)
        order = range(bodies) if this.outward else reversed(range(bodies))
        start = int(record_at[-1])
        pools = max(pools, used * this.pool_size)
        for i in order:
            link = tree.links[i]
            own = start + places[i] * this.pool_size
            parent = start + (places[link.parent] if link.parent != BASE else 0) * this.pool_size
            within = {"q": link.q_slice.start, "v": link.v_slice.start, "wrench": 6 * i}
            shares = [start_of + within[layout] for start_of, layout in zip(starts, layouts, strict=True)]
            head = (first + rolled.group_of[i], params_at[i], int(record_at[i]), own, parent, own, parent)
            rows.append([*head, link.v_slice.start, *shares])
    return Schedule(steps, np.array(rows, dtype=np.int64), np.array(params or [0.0]), int(record_at[-1]) + pools)


def _pool_places(tree: Model, outward: bool) -> tuple[list[int], int]:
    """A place per body for what passes between it and its children, reused when all are done."""
    places = [0] * len(tree.links)
    free: list[int] = []
    used = 0
    waiting = [len(c) for c in tree.children]

    def take() -> int:
        nonlocal used
        if free:
            return free.pop()
        used += 1
        return used - 1

    if outward:
        for i, parent in enumerate(tree.parents):
            if tree.children[i]:
                places[i] = take()
            if parent != BASE:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    free.append(places[parent])
    else:
        for i in reversed(range(len(tree.links))):
            parent = tree.parents[i]
            if parent != BASE and tree.children[parent][-1] == i:
                places[parent] = take()
            if tree.children[i]:
                free.append(places[i])
    return places, used

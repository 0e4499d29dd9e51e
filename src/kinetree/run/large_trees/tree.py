"""Large trees: the same steps, traced once per kind of body and looped over.

A :class:`RolledTree` stands in for a model.  When an algorithm walks it, each step is traced
once for every *group* of bodies that look alike (same joint, same structure of constants,
root or not, tip or not), with what differs between the bodies as parameters.  The result
is a schedule (:mod:`kinetree.run.large_trees.schedule`) for :mod:`kinetree.engine.llvm.body_loops`.

What a step hands over stays in a work area: to the children and to the parent through
pools whose places are reused as soon as they are free (for a chain they stay in the
processor's nearest cache), and from one pass to a later one through each body's record.
Sums over all bodies, and what the base receives, grow in places of their own; what is made
of them is one last step.  Numbers that nobody reads in the end are not kept, and numbers
that are the same constant for every body are not handed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from itertools import count
from typing import Any

import numpy as np

from ...algorithms.path import Path
from ...engine.graph import CONST, INPUT, Node
from ...engine.llvm.body_loops import BodyStep, Slot
from ...errors import UnsupportedError
from ...model.joints import JointKind
from ...model.tree import BASE, Link, Model
from ...spatial import (
    ZERO3,
    AxisRotation,
    Force,
    Matrix3,
    MatrixRotation,
    RigidInertia,
    Symmetric3,
    Transform,
    Vec3,
)

MOST_LOOKS = 16
"""Kinds of links up to which each has code of its own that makes the most of what is zero."""

# Words of a schedule's entry: the step's address, then offsets.
STEP, PARAMS, RECORD, OWN_POOL, PARENT_POOL, OWN_SUM, PARENT_SUM, TOTAL, OUT, FIRST_INPUT = range(10)


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


@lru_cache(maxsize=1 << 14)
def _constants(
    placement: Transform, inertia: RigidInertia, armature: tuple[float, ...], kind: JointKind
) -> tuple[float, ...]:
    """A link's numbers in a fixed order; remembered, because every kernel of a tree asks for them."""
    axis = [getattr(kind, name) for name in _axis_fields(kind)]
    return tuple(float(x) for x in scalars((placement.rotations, placement.translation, inertia, armature, axis)))


@lru_cache(maxsize=1 << 14)
def _general(placement: Transform) -> Transform:
    """The same placement with all twelve numbers, whatever they are."""
    return Transform((MatrixRotation(placement.matrix()),), Vec3(*placement.translation))


def _axis_fields(kind: JointKind) -> tuple[str, ...]:
    """Names of a joint's numbers if these are an axis, and perhaps a pitch; else none."""
    names: tuple[str, ...] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
    return names if names in (("axis",), ("axis", "pitch")) else ()


def _is_slanted(kind: JointKind) -> bool:
    """Whether a joint has an axis that is not one of the coordinate axes."""
    return bool(_axis_fields(kind)) and sum(x != 0.0 for x in kind.axis) > 1  # type: ignore[attr-defined]


def _kind_with(kind: JointKind, numbers: Sequence[Any]) -> JointKind:
    """The same joint with other numbers (not checked: they are not known yet)."""
    if not numbers:
        return kind
    other = copy(kind)
    object.__setattr__(other, "axis", tuple(numbers[:3]))
    if len(numbers) > 3:
        object.__setattr__(other, "pitch", numbers[3])
    return other


def _structure(rotation: Any) -> Any:
    return ("axis", rotation.axis) if isinstance(rotation, AxisRotation) else "matrix"


class RolledTree:
    """Stands in for a :class:`Model`, or for a path of one, while an algorithm is traced.

    Bodies with different ``marks`` are treated differently.
    """

    has_followers = False

    def __init__(self, tree: Model | Path, marks: Sequence[Any] = ()) -> None:
        if tree.has_followers:
            raise UnsupportedError("joints that mimic others cannot be rolled into a loop")
        self.tree, self.marks = tree, marks
        self._plainly = True
        self.gravity, self.frame = tree.gravity, tree.frame
        self.nq, self.nv, self.bodies = tree.nq, tree.nv, tree.bodies
        self.walk = self
        self.passes: list[Pass] = []
        self.last = Trace(self)
        """What is made of sums over all bodies."""
        self.record_size: defaultdict[int, int] = defaultdict(int)
        self.n_totals = 0

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All that are walked over; where hardly two look alike, what they have in common is brought out."""
        links = self.tree.links
        if len({self._look(link) for link in links}) <= MOST_LOOKS:
            return links
        self._plainly = False
        return tuple(replace(link, placement=_general(link.placement)) for link in links)

    @cached_property
    def constants(self) -> list[tuple[float, ...]]:
        """Numbers of all links in a fixed order: placement, inertia, rotor, axis."""
        return [_constants(link.placement, link.inertia, link.armature, link.kind) for link in self.links]

    @property
    def groups(self) -> list[Group]:
        """Bodies that look alike."""
        return self._grouped[0]

    @property
    def group_of(self) -> list[int]:
        """Which group each body belongs to."""
        return self._grouped[1]

    @cached_property
    def _grouped(self) -> tuple[list[Group], list[int]]:
        tree = self.tree
        groups: list[Group] = []
        group_of: list[int] = []
        known: dict[Any, int] = {}
        for link in self.links:
            siblings = tree.roots if link.parent == BASE else tree.children[link.parent]
            key = (
                self.marks[link.index] if self.marks else None,
                self._look(link),
                link.parent == BASE,
                bool(tree.children[link.index]),
                link.index == siblings[-1],
            )
            if key not in known:
                known[key] = len(groups)
                groups.append(Group([], *key[2:]))
            groups[known[key]].bodies.append(link.index)
            group_of.append(known[key])
        for group in groups:
            numbers = np.array([self.constants[i] for i in group.bodies])
            group.varying = np.nonzero((numbers != numbers[0]).any(axis=0))[0].tolist()
        return groups, group_of

    def _look(self, link: Link) -> Any:
        """What links must have in common to be treated alike.

        If joints look ``_plainly`` alike, the numbers that they have in common save operations.
        """
        with_axis = _is_slanted(link.kind) or (not self._plainly and _axis_fields(link.kind))
        return (
            type(link.kind) if with_axis else link.kind,
            tuple(_structure(r) for r in link.placement.rotations),
            link.placement.translation is ZERO3,
            tuple(x == 0.0 for x in link.armature) if self._plainly else None,
        )

    # what the algorithms call, see algorithms/passes.py

    def positions(self, q: InputVector) -> InputColumn:
        """Joint coordinates."""
        return InputColumn(q, "q")

    def rates(self, v: Any) -> Any:
        """Joint velocities, accelerations or forces; numbers that are known must be zeros."""
        if isinstance(v, InputVector):
            return InputColumn(v, "v")
        if any(x != 0.0 for x in v):
            raise UnsupportedError("this algorithm cannot be rolled into a loop: it has rates of its own")
        return AtRest()

    def outward(self, step: Callable[..., Any], base: Any, *columns: Any) -> PerBody:
        """From the base to the tips."""
        carried = _Carried(base)
        while True:  # until what seemed to be the same for every body is
            this = Pass(self, outward=True)
            values = []
            for trace, group in zip(this.traces, self.groups, strict=True):
                parent = base if group.is_root else _Proxy(carried, trace)
                values.append(step(trace.link, parent, *(_value(c, trace) for c in columns)))
            if carried.settled(v for v, group in zip(values, self.groups, strict=True) if group.has_children):
                break
        for trace, group, value in zip(this.traces, self.groups, values, strict=True):
            if group.has_children:
                carried.store(trace, value)
        self.passes.append(this)
        return PerBody(self, this, values)

    def each(self, function: Callable[..., Any], *columns: Any) -> PerBody:
        """Every body by itself: done within the last pass."""
        if not self.passes:
            self.passes.append(Pass(self, outward=True))
        this = self.passes[-1]
        values = [function(t.link, *(_value(c, t) for c in columns)) for t in this.traces]
        return PerBody(self, this, values)

    def inward(self, step: Callable[..., Any], own: PerBody, *columns: Any) -> tuple[PerBody, Any]:
        """From the tips to the base."""
        this = Pass(self, outward=False)
        self.passes.append(this)
        values: dict[int, Any] = {}
        on_base = []
        handed: Any = None
        for trace in sorted(this.traces, key=lambda t: self.groups[t.group].has_children):
            group = self.groups[trace.group]
            total = _value(own, trace)
            if group.has_children:  # who has nothing of its own finds what tips handed on
                arrived = trace.found("work", OWN_SUM, 0, handed if total is None else total)
                total = arrived if total is None else _add(total, arrived)
            values[trace.group], handed = step(trace.link, total, *(_value(c, trace) for c in columns))
            if group.is_root:
                on_base.append((trace, handed))
                continue
            for k, x in enumerate(scalars(handed)):
                trace.put("work", PARENT_SUM, k, x, accumulate=not group.adds_first)
        return PerBody(self, this, [values[g] for g in sorted(values)]), self._summed(on_base, on_base[0][1])

    def total(self, per_body: PerBody, zero: Any) -> Any:
        """Sum over all bodies, for the last step."""
        return _add(zero, self._summed(list(zip(per_body.made_in.traces, per_body.values, strict=True)), zero))

    def _summed(self, parts: Sequence[tuple[Trace, Any]], template: Any) -> Any:
        """The sum of values of several traces, as the last step finds it."""
        first, size = self.n_totals, len(scalars(template))
        self.n_totals += size
        for trace, value in parts:
            for k, x in enumerate(_as_many(value, size)):
                trace.put("work", TOTAL, first + k, x, accumulate=True)
        return self.last.found("work", TOTAL, first, template)

    def everywhere(self, value: Any) -> Shared:
        """What was made of sums over all bodies so far, for further steps of every body."""
        made, first = self.last, self.n_totals
        for k, x in enumerate(scalars(value)):
            made.put("work", TOTAL, first + k, x)
            self.n_totals += 1
        self.passes += [Pass(self, outward=True, whole=made), Pass(self, outward=True)]
        self.last = Trace(self)
        return Shared(value, first)

    def collect(self, per_body: PerBody) -> Laid:
        """Results of the joints, laid out like ``v``."""
        return Laid(per_body, "v")

    def path_to(self, body: int) -> RolledTree:
        """Leave out all bodies that do not carry this one."""
        if self.passes or not isinstance(self.tree, Model):
            raise UnsupportedError("this algorithm cannot be rolled into a loop: it walks more than one path")
        self.tree = Path(self.tree, body)
        self.__dict__.pop("links", None)
        return self

    def at_tip(self, per_body: PerBody) -> Any:
        """What was found for the last body of a path, for the last step."""
        group = self.group_of[-1]
        trace = per_body.made_in.traces[group]

        def keep(x: Any) -> Any:
            known = _constant(x)
            if known is not None:
                return known
            self.n_totals += 1
            trace.put("work", TOTAL, self.n_totals - 1, x)
            return self.last.at("work", TOTAL, self.n_totals - 1)

        return rebuild(per_body.values[group], keep)

    def side_by_side(self, per_body: PerBody, layout: str) -> Laid:
        """Numbers of the joints, laid out like ``q`` or ``v``."""
        return Laid(per_body, layout)

    def table(self, per_body: PerBody, width: int) -> Laid:
        """Several numbers per degree of freedom."""
        return Laid(per_body, "v", width)


@dataclass
class Laid:
    """A result with some numbers per joint; ``width`` numbers for each coordinate or freedom."""

    per_body: PerBody
    layout: str
    width: int = 1
    by_rows: bool = False
    """Whether the first numbers of all come first."""

    def rows(self) -> Laid:
        """A matrix of columns of six numbers, by rows."""
        return replace(self, width=6, by_rows=True)

    def place(self, k: int, number: int) -> int:
        """Where a number of a body's freedom k is, seen from the body's share."""
        return number * self.per_body.rolled.nv + k if self.by_rows else k * self.width + number

    def share(self, link: Link) -> int:
        """Where a body's share begins."""
        start = (link.q_slice if self.layout == "q" else link.v_slice).start
        return start if self.by_rows else start * self.width

    def blanks(self) -> list[int]:
        """Where the shares of freedoms begin that no body has."""
        if not self.by_rows:
            return []
        rolled = self.per_body.rolled
        present = {k for link in rolled.links for k in range(link.v_slice.start, link.v_slice.stop)}
        return [k for k in range(rolled.nv) if k not in present]


@dataclass(frozen=True)
class Shared:
    """Numbers that are the same for every body, and where they are."""

    template: Any
    first: int

    def value(self, trace: Trace) -> Any:
        """As the body at hand finds them."""
        return trace.found("work", TOTAL, self.first, self.template)


@dataclass(frozen=True)
class AtRest:
    """Rates that are zero."""

    def value(self, trace: Trace) -> list[float]:
        """One per freedom of the body at hand."""
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
        """The numbers of the body at hand."""
        word = FIRST_INPUT + self.vector.index
        if self.layout == "wrench":
            return Force.of([trace.at("in", word, k) for k in range(6)])
        size = trace.link.kind.nq if self.layout == "q" else trace.link.kind.nv
        return [trace.at("in", word, k) for k in range(size)]


class Trace:
    """One step being traced for one group, or (without a group) for the tree as a whole."""

    link: Link

    def __init__(self, rolled: RolledTree, group: int = -1) -> None:
        self.step = BodyStep()
        self.rolled, self.group = rolled, group
        if group >= 0:
            self.link = self._symbolic_link()

    def at(self, base: str, word: int, index: int) -> Node:
        """A number found at a place."""
        return Node(self.step.graph, self.step.source(Slot(base, word, index)))

    def found(self, base: str, word: int, first: int, template: Any) -> Any:
        """A value like ``template`` whose numbers are found one after the other."""
        index = count(first)
        return rebuild(template, lambda _: self.at(base, word, next(index)), expand_zero=True)

    def put(self, base: str, word: int, index: int, value: Any, accumulate: bool = False) -> None:
        """Store a number at a place."""
        node = value.index if isinstance(value, Node) else self.step.graph.const(float(value))
        self.step.store(Slot(base, word, index), node, accumulate)

    def _symbolic_link(self) -> Link:
        """The first body of the group, with what differs between its bodies as parameters."""
        group = self.rolled.groups[self.group]
        link = self.rolled.links[group.bodies[0]]
        constants = self.rolled.constants[group.bodies[0]]
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
            kind=_kind_with(link.kind, list(numbers)),
        )


class Pass:
    """One walk over the tree, or one step for the tree as a ``whole``."""

    def __init__(self, rolled: RolledTree, outward: bool, whole: Trace | None = None) -> None:
        self.outward, self.whole = outward, whole
        self.traces = [Trace(rolled, g) for g in range(len(rolled.groups))] if whole is None else [whole]


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
    """What children see of their parent: only the fields they look at are kept.

    A number that the base has and every body hands on unchanged (the velocities of a robot at
    rest, two of three directions in a plane) stays a constant: each is taken for one until some
    body proves otherwise.
    """

    def __init__(self, base: Any) -> None:
        self.base = base
        self.starts: dict[Any, int] = {}
        self.constants: list[float | None] = []

    def field(self, trace: Trace, key: Any) -> Any:
        """A field of the parent as numbers in its pool."""
        template = _field(self.base, key)
        if key not in self.starts:
            self.starts[key] = len(self.constants)
            self.constants += [_constant(x) for x in scalars(template)]
        index = count(self.starts[key])

        def number(_: Any) -> Any:
            k = next(index)
            known = self.constants[k]
            return trace.at("work", PARENT_POOL, k) if known is None else known

        return rebuild(template, number, expand_zero=True)

    def _numbers(self, value: Any) -> Iterator[tuple[int, Any]]:
        for key, start in self.starts.items():
            size = len(scalars(_field(self.base, key)))
            yield from enumerate(_as_many(_field(value, key), size), start)

    def settled(self, values: Iterable[Any]) -> bool:
        """Whether all that was taken for constant is; what is not will not be again."""
        right = True
        for value in values:
            for k, x in self._numbers(value):
                if self.constants[k] is not None and self.constants[k] != _constant(x):
                    self.constants[k] = None
                    right = False
        return right

    def store(self, trace: Trace, value: Any) -> None:
        """Keep what children asked for."""
        for k, x in self._numbers(value):
            if self.constants[k] is None:
                trace.put("work", OWN_POOL, k, x)


def _field(value: Any, key: Any) -> Any:
    return value[key] if isinstance(key, int) else getattr(value, key)


def _constant(x: Any) -> float | None:
    """The number, if it is one already."""
    if not isinstance(x, Node):
        return float(x)
    return float(x.graph.values[x.index]) if x.graph.kinds[x.index] == CONST else None


def _as_many(value: Any, size: int) -> list[Any]:
    """A value's scalars, of which there must be as many for every body."""
    found = scalars(value)
    if len(found) != size:
        raise UnsupportedError("this algorithm cannot be rolled into a loop: what bodies hand on differs in kind")
    return found


class _Proxy:
    def __init__(self, carried: _Carried, trace: Trace) -> None:
        self._carried, self._trace = carried, trace

    def __getattr__(self, name: str) -> Any:
        return self._carried.field(self._trace, name)

    def __getitem__(self, index: int) -> Any:
        return self._carried.field(self._trace, index)


def _value(column: Any, trace: Trace) -> Any:
    if isinstance(column, (PerBody, InputColumn, AtRest, Shared)):
        return column.value(trace)
    if isinstance(column, list) and all(x is None for x in column):
        return None
    raise UnsupportedError("this algorithm cannot be rolled into a loop: it takes a body's data apart by itself")


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_add(x, y) for x, y in zip(a, b, strict=True))
    return a + b

"""The operations of a graph as the body of a function: each node once, in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from ..graph import (
    ABS,
    ADD,
    ATAN2,
    CALL,
    CONST,
    COS,
    DIV,
    FMA,
    GATHER,
    INPUT,
    LESS,
    MUL,
    NEG,
    SELECT,
    SIN,
    SQRT,
    SUB,
    Graph,
)  # fmt: skip
from . import streaming
from .calls import Calls
from .emitter import Emitter
from .registers import operand_of
from .table_lookups import TableLookups
from .trigonometry import arctangent, sines_and_cosines
from .vectors import SCALARS, Vectors

ANGLES_AT_ONCE = 4
"""Angles of one state whose sines and cosines are computed as one vector."""

FEWEST_OPERATIONS = 144
"""Operations between two calls that send lines: each call costs half of the registers."""

MOST_WAITING = 256
"""Number of results that wait to be sent, if they are to stay in the nearest cache beside everything else."""

MOST_LEFT = 0.25
"""Fraction of the lines that may still have to be sent when a tile has been computed."""

FETCHED_BEFORE = 50
"""Operations between prefetching a place and storing a value there."""

_BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


class Sending:
    """How a kernel sends lines of results on to memory every few operations; see :mod:`.streaming`.

    Lines that become whole soon are sent while the rest of the same tile is computed, so that few results wait, in the
    nearest cache.  Otherwise those of the tile before are sent.  Then a value whose place is not in the nearest cache
    when it is stored would have to wait for all lines on their way to memory, so that place is fetched some time
    before.

    graph, outputs: What is computed; if left out, there is nothing to send.
    vectors: What the values are.
    in_pieces: Whether lines are sent between several functions; see :meth:`part`.

    Attributes
    ----------
    results : list of int
        The nodes that are kept for sending.
    slots : list of int
        Where each of them is kept.
    """

    def __init__(
        self, graph: Graph | None = None, outputs: Sequence[int] = (), vectors: Vectors = SCALARS,
        in_pieces: bool = False,
    ) -> None:  # fmt: skip
        self.results = list(dict.fromkeys(outputs))
        self.slots = list(range(len(self.results)))
        self.convention = vectors.sender
        self.done, self.time = 0, 0
        self.soon: dict[int, list[int]] = {}
        self.times = streaming.AT_ONCE
        if graph is None:
            return
        done = list(itertools.accumulate(map(bool, graph.args)))
        lines = len(outputs) // vectors.per_line
        self.every = min(max(done[-1] // max(lines, 1), FEWEST_OPERATIONS), max(done[-1], 1))
        count = done[-1] // self.every
        self.times = streaming.Times(count)
        if not in_pieces and self._sent_soon(outputs, np.array(done) // self.every, vectors.per_line):
            return
        for place, i in enumerate(self.results):
            if graph.args[i]:
                self.soon.setdefault(done[i] - FETCHED_BEFORE, []).append(place)

    def _sent_soon(self, outputs: Sequence[int], known: np.ndarray, per_line: int) -> bool:
        """Arrange to send lines of the same tile if that leaves few results waiting and few lines at the end."""
        results = sorted(set(outputs))
        number = {i: k for k, i in enumerate(results)}
        times = streaming.Times(self.times.count, known[np.asarray(outputs)])
        slots = streaming.slots_of_results([number[i] for i in outputs], per_line, times)
        when = streaming.order_of_lines(np.asarray(outputs), per_line, 0, times)[:, 2]
        if len(set(slots)) > MOST_WAITING or np.mean(when >= times.count) > MOST_LEFT:
            return False
        self.results, self.slots, self.times = results, slots, times
        return True

    def __bool__(self) -> bool:
        return self.times.count > 0

    @property
    def is_soon(self) -> bool:
        """Whether lines are sent while the results of the same tile are computed."""
        return self.times.known is not None

    def _send(self, e: Emitter, time: int) -> None:
        """Call the function that sends a parcel on, which is its first word.

        It is read anew each time: where the call itself would read it from the stack, LLVM (22) forgets that it has
        just pushed the frame pointer there, which the function does not keep.
        """
        e.line(f"call {self.convention} void {e.op('load ptr, ptr %parcel')}(ptr %parcel, i64 {time})")

    def after_operation(self, e: Emitter) -> None:
        """Emit what is due now."""
        self.done += 1
        if not self:
            return
        for place in self.soon.get(self.done, ()):
            e.line(f"call void @llvm.prefetch.p0(ptr {e.place('out', place)}, i32 1, i32 3, i32 1)")
        if self.done % self.every == 0:
            self._send(e, self.done // self.every - 1)

    def part(self, e: Emitter, k: int, count: int) -> None:
        """Emit the k-th of several parts at once."""
        if self:
            self._send(e, self.times.count * (k + 1) // count - 1)


NOTHING_TO_SEND = Sending()


def emit_body(
    emitter: Emitter, graph: Graph, outputs: Sequence[int], load: Callable[[int], str], store: Callable[[int, str],
    None], sending: Sending = NOTHING_TO_SEND, turned: Mapping[int, int] | None = None,
) -> None:  # fmt: skip
    """Emit every node once, inputs when first needed, outputs as soon as they are known.

    Values of the nodes ``turned`` are in an area of that name, at these places.
    """
    turned = turned or {}
    names: dict[int, str] = {}
    wanted = places_of(outputs)

    def name(i: int) -> str:
        if graph.kinds[i] == CONST:
            return emitter.number(graph.values[i])
        if i not in names:
            names[i] = emitter.load("turned", turned[i]) if i in turned else load(int(graph.values[i]))
        return names[i]

    emit = node_emitter(emitter, graph, [i for i in range(len(graph.kinds)) if i not in turned], name, names)
    for i, kind in enumerate(graph.kinds):
        if kind not in (CONST, INPUT):
            if i not in turned:
                names[i] = emit(i)
            sending.after_operation(emitter)
        for k in wanted.get(i, ()):
            store(k, name(i))


def places_of(outputs: Sequence[int], but: Collection[int] = ()) -> dict[int, list[int]]:
    """Return the outputs that each node stands for, except some."""
    wanted: dict[int, list[int]] = {}
    for k, o in enumerate(outputs):
        if k not in but:
            wanted.setdefault(o, []).append(k)
    return wanted


def node_emitter(
    emitter: Emitter, graph: Graph, operations: Iterable[int], name: Callable[[int], str], names: Mapping[int, str]
) -> Callable[[int], str]:
    """Return a function that emits one operation on values that ``name`` knows; ``names`` holds those already made."""
    circles: dict[int, tuple[str, str]] = {}
    turning = list(dict.fromkeys(graph.args[i][0] for i in operations if graph.kinds[i] in (SIN, COS)))
    in_order = [i for i in operations if graph.args[i]]
    made_here = set(in_order)
    lookups, calls = TableLookups(emitter, graph), Calls(emitter, graph, in_order)
    t = emitter.type

    def is_known(i: int) -> bool:
        """Return whether a value already exists; a sign that is changed on reading exists with its operand."""
        value, _ = operand_of(graph, made_here, i)
        return value in names or value not in made_here

    def turn(angle: int) -> None:
        """Compute sine and cosine of an angle, and of those that are needed next if they are known."""
        first = turning.index(angle)
        known = [a for a in turning[first + 1 :] if a not in circles and is_known(a)]
        together = [angle, *known[: ANGLES_AT_ONCE - 1]] if emitter.lanes == 1 else [angle]
        circles.update(zip(together, sines_and_cosines(emitter, [name(a) for a in together]), strict=True))

    def emit(i: int) -> str:
        kind, args = graph.kinds[i], graph.args[i]
        if kind == GATHER:
            return lookups.number(i, name)
        if kind == CALL:
            return calls.result(i, name)
        a = [name(j) for j in args]
        if kind in _BINARY:
            return emitter.op(f"{_BINARY[kind]} {t} {a[0]}, {a[1]}")
        if kind == FMA:
            return emitter.fma(*a)
        if kind == NEG:
            return emitter.op(f"fneg {t} {a[0]}")
        if kind == SQRT:
            return emitter.call("sqrt", a[0])
        if kind == ABS:
            return emitter.call("fabs", a[0])
        if kind in (SIN, COS):
            if args[0] not in circles:
                turn(args[0])
            return circles[args[0]][kind == COS]
        if kind == ATAN2:
            return arctangent(emitter, *a)
        if kind == LESS:
            return emitter.op(f"fcmp olt {t} {a[0]}, {a[1]}")
        if kind == SELECT:
            mask = f"<{emitter.lanes} x i1>" if emitter.lanes > 1 else "i1"
            return emitter.op(f"select {mask} {a[0]}, {t} {a[1]}, {t} {a[2]}")
        raise NotImplementedError(f"no machine code for {kind!r} nodes")

    return emit


def consecutive_inputs(e: Emitter) -> Callable[[int], str]:
    """Return a function that loads inputs that lie one after another."""
    return lambda k: e.load("in", k)


def inputs_by_table(lengths: Sequence[int]) -> Callable[[Emitter], Callable[[int], str]]:
    """Return a factory of functions that load inputs from several arrays, given as a table of pointers."""
    place = [(j, k) for j, n in enumerate(lengths) for k in range(n)]

    def inputs_of(e: Emitter) -> Callable[[int], str]:
        arrays: dict[int, str] = {}

        def load(i: int) -> str:
            j, k = place[i]
            if j not in arrays:
                arrays[j] = e.op(f"load ptr, ptr {e.op(f'getelementptr inbounds ptr, ptr %in, i64 {j}')}")
            p = e.op(f"getelementptr inbounds {e.type}, ptr {arrays[j]}, i64 {k}")
            return e.op(f"load {e.type}, ptr {p}, align {e.size}")

        return load

    return inputs_of

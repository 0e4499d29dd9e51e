"""Results of as many states as there are lanes, straight from registers to memory in whole cache lines.

As many results of each state as a line holds are transposed in registers, in one square of lanes by lanes or several.
Each state then has a full line of its results, if the rows of the states all begin at the same distance from a line.
Consecutive states do so only if their rows are whole lines long, but every eighth state (of doubles) always does: the
driver picks states that are :func:`apart` from one another.  Past the caches (streamed) such a line need not be read
before it is written. Lines of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast,
several at once. They are sent between the others, and cost hardly anything there: the others saturate the memory bus,
and zeros need none of it.  A table gives the order in which lines are sent.

Memory accepts a line far more slowly than the processor makes one.  So the results of a tile are a *parcel* that a
kernel sends on, line by line, while it computes: ``pack`` begins a parcel, ``send`` is what kernels call every few
operations, ``deliver`` does what is left.  Lines that soon become complete are sent with the next call, and their
places are used again: what fits in the nearest cache does not have to pass between caches, which would obstruct the
lines.  Otherwise a kernel sends the parcel of one tile while it computes the next. Where no registers of the kernel
would survive that, and for few results, ``write`` does everything in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from .assembly import MachineFunction, Module, StructLayout, Value
from .vectors import LINE, Vectors, spread, transpose_loaded

PACK, SEND, SEND_CACHED, DELIVER = "pack_parcel", "send_lines", "send_lines_cached", "deliver_parcel"
WRITE, _PART, _NOTHING = "write_lines", "write_part_of_line", "nothing_to_send"

PARCEL = StructLayout(
    sender="ptr", result="ptr", places="ptr", next="ptr", length="i64", rows="ptr", apart="i64", spoiled="i64"
)  # fmt: skip
"""Which function sends a parcel on; where the results are, in what places, which line is next (:data:`ORDER`); how many
results a state has, where those of the first one go and how many bytes after them those of the next; and, bit by bit,
which states are to be NaN."""

ORDER = StructLayout(first="i32", equal="i32", time="i32")
"""A line to send: its first output, how many lines of equal outputs begin with it (none: it is a mixed one), and when;
see :func:`order_of_lines`."""

_BLOCK = {"result": "ptr", "places": "ptr", "rows": "ptr", "length": "i64", "apart": "i64"}
"""The parameters of the functions that :func:`add_parcel_functions` writes."""

MOST_EQUAL_LINES = 64
"""Lines of one and the same result that a kernel sends at once."""

AT_THE_END = (1 << 31) - 2
"""A time after all others at which lines are sent."""

NEVER = AT_THE_END + 1
"""The end mark of an order of lines."""


def apart(length: int, per_line: int) -> int:
    """Return the n for which every n-th row of this length begins at the same distance from a line."""
    return per_line // math.gcd(length, per_line)


@dataclass(frozen=True)
class Times:
    """When lines of results can be sent on."""

    count: int = 0
    """How many times a kernel sends lines, 0, 1, ..."""
    known: np.ndarray | None = None
    """From which time on each output is known, if lines are sent while the results of the same tile are computed; those
    of the previous tile are all known."""


AT_ONCE = Times()
"""All results are known."""


def place_words(
    places: Sequence[int] | np.ndarray, per_line: int, results: Sequence[int] | np.ndarray | None = None, times: Times =
    AT_ONCE,
) -> np.ndarray:  # fmt: skip
    """Return the table of places: where each output is, in bytes, followed by the orders in which lines are sent.

    Outputs that are the same result are equal: places may be used for several, one after the other.

    The places are padded for those who read a whole line of them.  Then come, for each number of outputs that may
    be in front of the first whole line, where its order begins (in words of the table), and whether results have to be
    sent before the next are computed; then the orders themselves, as :func:`order_of_lines` gives them, each with an
    end.
    """
    given = np.asarray(places, dtype=np.int32)
    what = given if results is None else np.asarray(results)
    orders = [order_of_lines(what, per_line, head, times) for head in range(per_line)]
    closed = [np.append(order, [[0, 0, NEVER]], axis=0).reshape(-1) for order in orders]
    begin = len(given) + per_line + per_line + 1
    starts = begin + np.cumsum([0, *map(len, closed[:-1])])
    padding, soon = np.zeros(per_line, dtype=int), [int(times.known is not None)]
    return np.concatenate([given, padding, starts, soon, *closed]).astype(np.int32)


def order_of_lines(results: np.ndarray, per_line: int, head: int, times: Times = AT_ONCE) -> np.ndarray:
    """Return the order in which whole lines after ``head`` outputs are sent, those of equal outputs between others.

    Returns
    -------
    ndarray, shape (n, 3)
        Which output begins a line; how many lines of equal outputs begin with it, zero for a mixed line; and at which
        time it is sent.
    """
    first = np.arange(head, len(results) - per_line + 1, per_line)
    of_lines = first[:, None] + np.arange(per_line)
    lines = results[of_lines]
    known = np.zeros(len(first), dtype=int) if times.known is None else times.known[of_lines].max(axis=1, initial=0)
    is_equal = (lines == lines[:, :1]).all(axis=1)
    mixed, equal, what = first[~is_equal], first[is_equal], lines[is_equal, 0]
    known_mixed, known_equal = known[~is_equal], known[is_equal]
    soonest = np.argsort(known_mixed, kind="stable")
    # where equal lines are cut: at the ends of runs, and so that after each other line its share has been sent
    apart = (np.diff(equal) != per_line) | (np.diff(what) != 0)
    shares = np.arange(1, len(mixed) + 1) * len(equal) // max(len(mixed), 1)
    often = np.arange(0, len(equal), MOST_EQUAL_LINES)
    cuts = np.unique(np.concatenate([often, np.flatnonzero(apart) + 1, shares, [len(equal)]]))
    behind = np.searchsorted(shares, cuts[1:])  # which mixed line the equal ones follow
    singles = np.stack([mixed, np.zeros_like(mixed), known_mixed], axis=1)[soonest]
    runs = np.stack([equal[cuts[:-1]], np.diff(cuts), known_equal[cuts[:-1]]], axis=1)
    position = np.concatenate([2 * np.arange(len(mixed)), 2 * behind + 1])
    order = np.concatenate([singles, runs])[np.argsort(position, kind="stable")]
    if times.known is None:
        order[:, 2] = np.arange(len(order)) * times.count // max(len(order), 1)
    order[:, 2] = np.maximum.accumulate(order[:, 2])
    return order


def slots_of_results(results: Sequence[int], per_line: int, times: Times) -> list[int]:
    """Return where each result is kept until all its lines are sent, wherever the first whole line begins.

    Outputs are given as numbers of results, which are numbered in the order in which they become known.
    """
    what, known = np.asarray(results), times.known
    assert known is not None
    count = int(what.max(initial=-1)) + 1
    last = np.zeros(count, dtype=int)
    edge = per_line - 1  # outputs that need not be part of a whole line
    np.maximum.at(last, what[:edge], AT_THE_END)
    np.maximum.at(last, what[len(what) - edge :], AT_THE_END)
    for head in range(per_line):
        for first, lines, when in order_of_lines(what, per_line, head, times):
            np.maximum.at(last, what[first : first + max(lines, 1) * per_line], when)
    begin = np.zeros(count, dtype=int)
    begin[what] = known
    free: list[int] = []
    leaving: list[tuple[int, int]] = []
    slots: list[int] = []
    for k in range(count):
        while leaving and leaving[0][0] < begin[k]:
            free.append(heappop(leaving)[1])
        slots.append(free.pop() if free else len(leaving))
        heappush(leaving, (int(last[k]), slots[k]))
    return slots


def add_parcel_functions(module: Module, v: Vectors) -> None:
    """Add functions that write results in whole lines.

    ``write_lines(result, places, rows, length, apart)`` does so at once: ``places`` gives the offset of each result
    from ``result``, in bytes; ``rows`` is where the first state's results go and ``apart`` how many bytes are between
    one row and the next, whole lines.  A row is at least a line long.

    For kernels that send, ``pack_parcel(parcel, sender, ...)`` begins this instead, with one of two senders, past the
    caches or into them.
    """
    module.add(_NOTHING, f"@{_NOTHING} = internal constant [3 x i32] [i32 0, i32 0, i32 {NEVER}]")
    with module.function(WRITE, _BLOCK, linkage="internal") as f:
        parcel = f.room("i8", PARCEL.size, LINE)
        f.call(PACK, parcel, f.symbol(SEND), *f.args)
        f.call(DELIVER, parcel)
    with module.function(PACK, {"parcel": "ptr", "sender": "ptr", **_BLOCK}, linkage="internal") as f:
        pack(v, *f.args)
    with module.function(
        _PART, {"parcel": "ptr", "first": "i64", "count": "i64"}, linkage="internal", attributes="noinline"
    ) as f:
        write_part(f, v, *f.args)
    for name in (SEND, SEND_CACHED) if v.sends else (SEND,):
        parameters = {"parcel": "ptr", "time": "i64"}
        with module.function(name, parameters, linkage=f"internal {v.sender}", attributes="noinline") as f:
            parcel, time = f.args
            send(f, v, parcel, time, past_caches=name == SEND)
    with module.function(DELIVER, {"parcel": "ptr"}, linkage="internal") as f:
        deliver(f, v, *f.args)


def empty_parcel(f: MachineFunction) -> Value:
    """Return a parcel in which there is nothing to send."""
    parcel = f.room("i8", PARCEL.size, LINE)
    PARCEL.of(parcel).fill(sender=f.symbol(SEND), length=0, next=f.symbol(_NOTHING))
    return parcel


def before_whole_lines(v: Vectors, rows: Value) -> Value:
    """Return how many numbers of a row come before its first whole cache line."""
    return (-rows.to("i64") & (LINE - 1)) >> (v.item.bit_length() - 1)


def pack(
    v: Vectors, parcel: Value, sender: Value, result: Value, places: Value, rows: Value, length: Value, apart: Value
) -> None:
    """Set what to send, and where; the order of lines depends on where the first one begins."""
    begin = places.at(length + v.per_line + before_whole_lines(v, rows), "i32").load("i32")
    PARCEL.of(parcel).fill(
        sender=sender, result=result, places=places, next=places.at(begin, "i32"), length=length, rows=rows,
        apart=apart, spoiled=0,
    )  # fmt: skip


def send(f: MachineFunction, v: Vectors, parcel: Value, time: Value, past_caches: bool) -> None:
    """Send the lines that are due."""
    fields, now = PARCEL.of(parcel), time.to("i32")
    result, places = fields["result"], fields["places"]
    rows = rows_of_states(v, fields["rows"], fields["apart"])
    order = f.variable(fields["next"], "order")
    with f.forever(order):
        line = ORDER.of(order.value)
        f.leave(unless=line["time"] <= now)
        first, equal = line["first"].to("i64"), line["equal"].to("i64")
        with f.when(equal.equals(0)):
            of_states = line_of_results(v, result, places.at(first, "i32"))
            for row, values in zip(rows, of_states, strict=True):
                store_line(v, row.at(first, v.real), values, past_caches)
        with f.otherwise():
            (source,) = places_of(result, places.at(first, "i32"), 1)
            send_equal(f, v, source, rows, first, first + equal * v.per_line, past_caches)
        order.set(order.value + ORDER.size)
    fields["next"] = order.value


def send_equal(
    f: MachineFunction, v: Vectors, source: Value, rows: Sequence[Value], first: Value, stop: Value, past_caches: bool
) -> None:
    """Fill lines with one result: state k gets its value in lane k."""
    with f.way_out("sent") as sent:
        if (
            v.clears and past_caches
        ):  # an instruction sets lines to zero, which takes the place of a store, and less time
            bits = source.load(v.of(f"i{8 * v.item}"), v.size)
            zero = Value(f, bits.type, "zeroinitializer")
            any_bit = f.op(f"bitcast {v.of('i1')} {bits.differs(zero).name} to i{v.lanes}", f"i{v.lanes}")
            with f.when(any_bit.equals(0)):
                with f.loop(first, stop, v.per_line) as at:
                    for row in rows:
                        f.call("llvm.x86.clzero", row.at(at, v.real))
                f.jump(sent)
        values = [spread(source.at(k, v.real).load(v.real), v.lanes) for k in range(v.lanes)]
        with f.loop(first, stop, v.per_line) as at:
            for row, value in zip(rows, values, strict=True):
                store_line(v, row.at(at, v.real), [value] * (LINE // v.size), past_caches)


def deliver(f: MachineFunction, v: Vectors, parcel: Value) -> None:
    """Send what is left, including what does not fill lines, which are shared with other rows."""
    fields = PARCEL.of(parcel)
    length = fields["length"]
    with f.when(length.differs(0)):
        f.call(fields["sender"], parcel, AT_THE_END, convention=v.sender)  # read here: see Sending
        head = before_whole_lines(v, fields["rows"])
        with f.when(head.differs(0)):
            f.call(_PART, parcel, 0, head)
        left = (length - head) & (v.per_line - 1)
        with f.when(left.differs(0)):
            f.call(_PART, parcel, length - left, left)
        fields["length"] = 0
        spoiled = fields["spoiled"]
        with f.when(spoiled.differs(0)):
            f.do("fence seq_cst")
            spoil(f, v, spoiled, fields["rows"], fields["apart"], length)


def spoil(f: MachineFunction, v: Vectors, spoiled: Value, rows: Value, apart: Value, length: Value) -> None:
    """Overwrite the rows of some states, given bit by bit, with NaN."""
    with f.loop(0, v.lanes) as k, f.when((spoiled >> k).to("i1")):
        row = rows + apart * k
        with f.loop(0, length) as j:
            row.at(j, v.real).store(Value(f, v.real, "0x7FF8000000000000"))


def write_part(f: MachineFunction, v: Vectors, parcel: Value, first: Value, count: Value) -> None:
    """Write less than a line of every state: ``count`` outputs from the first one on."""
    fields = PARCEL.of(parcel)
    of_states = line_of_results(v, fields["result"], fields["places"].at(first, "i32"))
    rows = rows_of_states(v, fields["rows"], fields["apart"])
    room = f.room("i8", LINE * v.lanes, LINE)
    for k, values in enumerate(of_states):
        store_line(v, room + k * LINE, values)
    copy_by_halves(f, v, room, [row.at(first, v.real) for row in rows], count)


def copy_by_halves(f: MachineFunction, v: Vectors, room: Value, rows: Sequence[Value], count: Value) -> None:
    """Copy the first ``count`` numbers of each line: half a line at once, a quarter, ..., one.

    Masks would do it in one store, which takes some 25 cycles on Zen 4 beside lines that go past the caches, and
    a dozen with AVX2.
    """
    part = v.per_line // 2
    while part:
        with f.when((count & part).differs(0)):
            before, width = count & (-2 * part), min(part, v.lanes)
            for k, row in enumerate(rows):
                source, to = ((room + k * LINE).at(before, v.real), row.at(before, v.real))
                for at in range(0, part, width):
                    value = source.at(at, v.real).load(f"<{width} x {v.real}>", v.item)
                    to.at(at, v.real).store(value, v.item)
        part //= 2


def places_of(result: Value, places: Value, count: int) -> list[Value]:
    """Return the addresses of ``count`` results, for all states, from a table of places."""
    return [result + places.at(k, "i32").load("i32").to("i64") for k in range(count)]


def line_of_results(v: Vectors, result: Value, places: Value) -> list[list[Value]]:
    """Load as many results as a line holds, and return the vectors of a line for each state."""
    sources = places_of(result, places, v.per_line)
    squares = [transpose_loaded(v, sources[k : k + v.lanes]) for k in range(0, v.per_line, v.lanes)]
    return [list(vectors) for vectors in zip(*squares, strict=True)]


def rows_of_states(v: Vectors, rows: Value, apart: Value) -> list[Value]:
    """Return where the results of each state go."""
    return [rows + apart * k for k in range(v.lanes)]


def store_line(v: Vectors, to: Value, values: Sequence[Value], past_caches: bool = False) -> None:
    """Store a line; one that bypasses the caches is aligned to a cache line."""
    for k, value in enumerate(values):
        (to + k * v.size).store(value, v.size if past_caches else v.item, past_caches)

"""Results of as many states as there are lanes, straight from registers to memory in whole cache lines.

As many results of each state as a line holds are transposed in registers, in one square of lanes by
lanes or several.  What belongs to one state is then a line of its results, if the rows of the states all
begin at the same distance from a line.  Consecutive states do so only if their rows are whole lines long,
but every eighth state (of doubles) always does: the driver picks states that are :func:`apart` from one
another.  Past the caches (streamed) such a line need not be read before it is written.
Lines of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast, several at once.
They are sent between the others, and hardly cost anything there: the way to memory is too narrow for the others, and
nothing has to be carried for zeros.  A table says in which order lines are sent.

Memory takes a line far more slowly than the processor makes one.  So the results of a tile are
a *parcel* that a kernel sends on, lines after lines, while it computes: ``pack`` begins a parcel, ``send`` is what
kernels call every few operations, ``deliver`` does what is left.  Lines that become whole soon are sent with the next
call, and their places are used again: what fits the nearest cache does not have to pass between caches, which would
be in the way of the lines.  Otherwise a kernel sends the parcel of one tile while it computes the next.
Where no registers of the kernel would survive that, and for few results, ``write`` does everything in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from .vectors import LINE, Vectors, transpose_loaded

PACK, SEND, SEND_CACHED, DELIVER = "pack_parcel", "send_lines", "send_lines_cached", "deliver_parcel"
WRITE, _PART = "write_lines", "write_part_of_line"

# A parcel, in bytes: which function sends it on, what is sent, what next, where to; and which states are to be NaN.
_SENDER, _RESULT, _TABLE, _NEXT, _LENGTH, _ROWS_AT, _APART, SPOILED = range(0, 64, 8)
PARCEL_BYTES = 64

MOST_EQUAL_LINES = 64
"""Lines of one and the same result that are sent at once by a kernel."""

AT_THE_END = (1 << 31) - 2
"""A time behind all others at which lines are sent."""

NEVER = AT_THE_END + 1
"""Ends an order of lines."""


def apart(length: int, per_line: int) -> int:
    """Return how many states one is taken of, so that rows of this length begin at the same distance from a line."""
    return per_line // math.gcd(length, per_line)


@dataclass(frozen=True)
class Times:
    """When lines of results can be sent on.

    Parameters
    ----------
    count : int
        How many times a kernel sends lines, 0, 1, ...
    known : ndarray of int or None
        From which time on each output is known, if lines are sent while the results of the same tile are computed;
        of results of the tile before all are known.
    """

    count: int = 0
    known: np.ndarray | None = None


AT_ONCE = Times()
"""All results are known."""


def place_words(
    places: Sequence[int] | np.ndarray,
    per_line: int,
    results: Sequence[int] | np.ndarray | None = None,
    times: Times = AT_ONCE,
) -> np.ndarray:
    """Return the table of places: where each output is, in bytes; and behind that the orders in which lines are sent.

    Which result each output is says which of them are equal: places may be used for several, one after the other.

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
    """Return the order in which whole lines behind so many outputs are sent, those of equal outputs between others.

    Returns
    -------
    ndarray, shape (n, 3)
        Which output begins a line; how many lines of equal outputs begin with it, zero for one that is none; and
        at which time it is sent.
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
    behind = np.searchsorted(shares, cuts[1:])  # which other line equal ones follow
    singles = np.stack([mixed, np.zeros_like(mixed), known_mixed], axis=1)[soonest]
    runs = np.stack([equal[cuts[:-1]], np.diff(cuts), known_equal[cuts[:-1]]], axis=1)
    position = np.concatenate([2 * np.arange(len(mixed)), 2 * behind + 1])
    order = np.concatenate([singles, runs])[np.argsort(position, kind="stable")]
    if times.known is None:
        order[:, 2] = np.arange(len(order)) * times.count // max(len(order), 1)
    order[:, 2] = np.maximum.accumulate(order[:, 2])
    return order


def slots_of_results(results: Sequence[int], per_line: int, times: Times) -> list[int]:
    """Return where each result is kept until all its lines are sent, whatever is in front of the first whole line.

    Outputs are given as numbers of results, which are numbered in the order in which they become known.
    """
    what, known = np.asarray(results), times.known
    assert known is not None
    count = int(what.max(initial=-1)) + 1
    last = np.zeros(count, dtype=int)
    edge = per_line - 1  # numbers that may not be part of a whole line
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


def parcel_functions(vectors: Vectors) -> list[str]:
    """Return LLVM assembly of functions that write results in whole lines.

    ``write_lines(result, places, rows, length, apart)`` does so at once: ``places`` says where each result is
    behind ``result``, in bytes; ``rows`` is where the first state's results go and ``apart`` how many bytes are
    between one row and the next, whole lines.  A row is at least a line long.

    Of kernels that send, ``pack_parcel(parcel, sender, ...)`` begins with it instead, with one of two senders, past
    the caches or into them.
    """
    functions = _Functions(vectors)
    return [
        *(["declare void @llvm.x86.clzero(ptr)"] if vectors.clears else []),
        f"@nothing_to_send = internal constant [3 x i32] [i32 0, i32 0, i32 {NEVER}]",
        *functions.write(),
        *functions.part(),
        *functions.pack(),
        *functions.send(SEND, ", !nontemporal !0"),
        *(functions.send(SEND_CACHED, "") if vectors.sends else []),
        *functions.deliver(),
    ]


def empty_parcel(name: str) -> list[str]:
    """Make a parcel in which there is nothing to send."""
    return [
        f"  {name} = alloca i8, i64 {PARCEL_BYTES}, align 64",
        f"  store ptr @{SEND}, ptr {name}",
        *_set(_LENGTH, "i64 0", name),
        *_set(_NEXT, "ptr @nothing_to_send", name),
    ]


def _set(at: int, value: str, parcel: str = "%parcel") -> list[str]:
    place = f"{parcel}_at{at}"
    return [f"  {place} = getelementptr i8, ptr {parcel}, i64 {at}", f"  store {value}, ptr {place}"]


def _get(name: str, at: int, kind: str) -> list[str]:
    return [f"  %{name}_in = getelementptr i8, ptr %parcel, i64 {at}", f"  %{name} = load {kind}, ptr %{name}_in"]


def _get_contents() -> list[str]:
    return [
        *_get("result", _RESULT, "ptr"),
        *_get("places", _TABLE, "ptr"),
        *_get("rows", _ROWS_AT, "ptr"),
        *_get("apart", _APART, "i64"),
    ]


class _Functions:
    """Writes them for one form of vectors."""

    def __init__(self, vectors: Vectors) -> None:
        self.v = vectors
        self.count = vectors.per_line  # numbers in a line
        self.states = range(vectors.lanes)
        self.squares = range(self.count // vectors.lanes)  # vectors in a line

    def write(self) -> list[str]:
        """Write all lines past the caches: a parcel that is delivered at once."""
        given = "ptr %result, ptr %places, ptr %rows, i64 %length, i64 %apart"
        return [
            f"define internal void @{WRITE}({given}) {{",
            f"  %parcel = alloca i8, i64 {PARCEL_BYTES}, align 64",
            f"  call void @{PACK}(ptr %parcel, ptr @{SEND}, {given})",
            f"  call void @{DELIVER}(ptr %parcel)",
            "  ret void",
            "}",
        ]

    def _room(self) -> list[str]:
        """Make room for a line of every state."""
        return [f"  %room = alloca i8, i64 {LINE * self.v.lanes}, align {LINE}"]

    def _head(self) -> list[str]:
        """Return how many numbers come before the first whole line."""
        return [
            "  %bits = ptrtoint ptr %rows to i64",
            "  %up = sub i64 0, %bits",
            f"  %gap = and i64 %up, {LINE - 1}",
            f"  %head = lshr i64 %gap, {self.v.item.bit_length() - 1}",
        ]

    def pack(self) -> list[str]:
        """Say what is to be sent, and where to."""
        parameters = "ptr %parcel, ptr %sender, ptr %result, ptr %places, ptr %rows, i64 %length, i64 %apart"
        return [
            f"define internal void @{PACK}({parameters}) {{",
            *self._head(),
            *_set(_SENDER, "ptr %sender"),
            *_set(_RESULT, "ptr %result"),
            *_set(_TABLE, "ptr %places"),
            *_set(_LENGTH, "i64 %length"),
            *_set(_ROWS_AT, "ptr %rows"),
            *_set(_APART, "i64 %apart"),
            *_set(SPOILED, "i64 0"),
            f"  %padded = add i64 %length, {self.count}",
            "  %start_at = add i64 %padded, %head",
            "  %begin_at = getelementptr i32, ptr %places, i64 %start_at",
            "  %begin = load i32, ptr %begin_at",
            "  %next = getelementptr i32, ptr %places, i32 %begin",
            *_set(_NEXT, "ptr %next"),
            "  ret void",
            "}",
        ]

    def part(self) -> list[str]:
        """Write less than a line of every state, ``count`` outputs from ``d`` on."""
        return [
            f"define internal void @{_PART}(ptr %parcel, i64 %d, i64 %count) noinline {{",
            *self._room(),
            *_get_contents(),
            *self._transpose(),
            *self._store_by_halves("%count"),
            "  ret void",
            "}",
        ]

    def send(self, name: str, hint: str) -> list[str]:
        """Send those lines on for which it is time."""
        transposed = self._transpose()
        return [
            f"define internal {self.v.sender} void @{name}(ptr %parcel, i64 %time) noinline {{",
            "entry:",
            *_get("begin", _NEXT, "ptr"),
            "  %now = trunc i64 %time to i32",
            *_get_contents(),
            *(line for k in self.states for line in self._row(k)),
            "  br label %next",
            "next:",
            "  %order = phi ptr [ %begin, %entry ], [ %order_next, %sent ]",
            "  %when_at = getelementptr i32, ptr %order, i64 2",
            "  %when = load i32, ptr %when_at",
            "  %goes_on = icmp sle i32 %when, %now",
            "  br i1 %goes_on, label %look, label %end",
            "look:",
            "  %d_short = load i32, ptr %order",
            "  %d = zext i32 %d_short to i64",
            "  %equal_at = getelementptr i32, ptr %order, i64 1",
            "  %equal_short = load i32, ptr %equal_at",
            "  %order_next = getelementptr i32, ptr %order, i64 3",
            "  %differ = icmp eq i32 %equal_short, 0",
            "  br i1 %differ, label %transpose, label %broadcast",
            "broadcast:",
            self._places("all_from"),
            *self._source(0, "_all", "all_from"),
            "  %equal = zext i32 %equal_short to i64",
            f"  %numbers = mul i64 %equal, {self.count}",
            "  %stop = add i64 %d, %numbers",
            *(self._clear() if self.v.clears and hint else []),
            "  br label %spread",
            "spread:",
            *self._broadcast(),
            "  br label %equal_line",
            "equal_line:",
            "  %e = phi i64 [ %d, %spread ], [ %e_next, %equal_line ]",
            *(line for k in self.states for line in self._store(k, "%e", [f"%b{k}"] * len(self.squares), hint)),
            f"  %e_next = add i64 %e, {self.count}",
            "  %more_equal = icmp slt i64 %e_next, %stop",
            "  br i1 %more_equal, label %equal_line, label %sent",
            "transpose:",
            *transposed,
            *(line for k in self.states for line in self._store(k, "%d", [c[k] for c in self.columns], hint)),
            "  br label %sent",
            "sent:",
            "  br label %next",
            "end:",
            *_set(_NEXT, "ptr %order"),
            "  ret void",
            "}",
        ]

    def deliver(self) -> list[str]:
        """Send what is left, and what does not fill lines: those are shared with other rows."""
        v = self.v
        return [
            f"define internal void @{DELIVER}(ptr %parcel) {{",
            "entry:",
            *_get("length", _LENGTH, "i64"),
            "  %empty = icmp eq i64 %length, 0",
            "  br i1 %empty, label %end, label %send",
            "send:",
            "  %sender = load ptr, ptr %parcel",  # here: see Sending
            f"  call {v.sender} void %sender(ptr %parcel, i64 {AT_THE_END})",
            *_get("rows", _ROWS_AT, "ptr"),
            *self._head(),
            "  %begins_with_line = icmp eq i64 %head, 0",
            "  br i1 %begins_with_line, label %behind, label %before",
            "before:",
            f"  call void @{_PART}(ptr %parcel, i64 0, i64 %head)",
            "  br label %behind",
            "behind:",
            "  %behind_head = sub i64 %length, %head",
            f"  %left = and i64 %behind_head, {self.count - 1}",
            "  %d = sub i64 %length, %left",
            "  %ends_with_line = icmp eq i64 %left, 0",
            "  br i1 %ends_with_line, label %done, label %rest",
            "rest:",
            f"  call void @{_PART}(ptr %parcel, i64 %d, i64 %left)",
            "  br label %done",
            "done:",
            *_set(_LENGTH, "i64 0"),
            *_get("spoiled", SPOILED, "i64"),
            "  %fine = icmp eq i64 %spoiled, 0",
            "  br i1 %fine, label %end, label %spoil",
            "spoil:",
            "  fence seq_cst",
            *_get("apart", _APART, "i64"),
            "  br label %state",
            "state:",
            "  %k = phi i64 [ 0, %spoil ], [ %k_next, %state_end ]",
            "  %shifted = lshr i64 %spoiled, %k",
            "  %bit = trunc i64 %shifted to i1",
            "  %row_offset = mul i64 %apart, %k",
            "  %row = getelementptr i8, ptr %rows, i64 %row_offset",
            "  br i1 %bit, label %number, label %state_end",
            "number:",
            "  %j = phi i64 [ 0, %state ], [ %j_next, %number ]",
            f"  %cell = getelementptr {v.real}, ptr %row, i64 %j",
            f"  store {v.real} 0x7FF8000000000000, ptr %cell",
            "  %j_next = add i64 %j, 1",
            "  %more_numbers = icmp slt i64 %j_next, %length",
            "  br i1 %more_numbers, label %number, label %state_end",
            "state_end:",
            "  %k_next = add i64 %k, 1",
            f"  %more_states = icmp slt i64 %k_next, {v.lanes}",
            "  br i1 %more_states, label %state, label %end",
            "end:",
            "  ret void",
            "}",
        ]

    def _places(self, name: str) -> str:
        """Find the places of the results from ``%d`` on."""
        return f"  %{name} = getelementptr i32, ptr %places, i64 %d"

    def _source(self, k: int, suffix: str = "", places: str = "from") -> list[str]:
        """Return where the k-th result of a line is, for all states."""
        name = f"%source{k}{suffix}"
        return [
            f"  {name}_at = getelementptr i32, ptr %{places}, i64 {k}",
            f"  {name}_place = load i32, ptr {name}_at",
            f"  {name}_bytes = zext i32 {name}_place to i64",
            f"  {name} = getelementptr i8, ptr %result, i64 {name}_bytes",
        ]

    def _clear(self) -> list[str]:
        """Set lines of zeros to zero, which takes the place of a store, and less time."""
        v, bits = self.v, f"i{8 * self.v.item}"
        return [
            f"  %all_bits = load {v.of(bits)}, ptr %source0_all, align {v.size}",
            f"  %not_zero = icmp ne {v.of(bits)} %all_bits, zeroinitializer",
            f"  %not_zero_bits = bitcast <{v.lanes} x i1> %not_zero to i{v.lanes}",
            f"  %is_zero = icmp eq i{v.lanes} %not_zero_bits, 0",
            "  br i1 %is_zero, label %clear_line, label %not_clear",
            "clear_line:",
            "  %c = phi i64 [ %d, %broadcast ], [ %c_next, %clear_line ]",
            *(
                line
                for k in self.states
                for line in (
                    f"  %clear{k} = getelementptr {v.real}, ptr %row{k}, i64 %c",
                    f"  call void @llvm.x86.clzero(ptr %clear{k})",
                )
            ),
            f"  %c_next = add i64 %c, {self.count}",
            "  %more_to_clear = icmp slt i64 %c_next, %stop",
            "  br i1 %more_to_clear, label %clear_line, label %sent",
            "not_clear:",
        ]

    def _broadcast(self) -> list[str]:
        """Spread one result over a line: what state k has of it is its value in lane k."""
        v = self.v
        lines: list[str] = []
        for k in self.states:
            lines += [
                f"  %value{k}_at = getelementptr {v.real}, ptr %source0_all, i64 {k}",
                f"  %value{k} = load {v.real}, ptr %value{k}_at",
                f"  %value{k}_one = insertelement {v.type} poison, {v.real} %value{k}, i64 0",
                f"  %b{k} = shufflevector {v.type} %value{k}_one, {v.type} poison, <{v.lanes} x i32> zeroinitializer",
            ]
        return lines

    def _transpose(self) -> list[str]:
        """Make a line of results from ``%d`` on of every state: vector j of state k is ``columns[j][k]``."""
        lines = [self._places("from"), *(line for k in range(self.count) for line in self._source(k))]
        self.columns: list[list[str]] = []
        for j in self.squares:
            sources = [f"%source{j * self.v.lanes + k}" for k in self.states]
            square, columns = transpose_loaded(self.v, sources, f"s{j}_")
            lines += square
            self.columns.append(columns)
        return lines

    def _row(self, k: int) -> list[str]:
        """Find where the results of state k go, as ``%row<k>``."""
        return [
            f"  %row{k}_offset = mul i64 %apart, {k}",
            f"  %row{k} = getelementptr i8, ptr %rows, i64 %row{k}_offset",
        ]

    def _store(self, k: int, first: str, values: list[str], hint: str) -> list[str]:
        """Store a whole line of state k, its results from ``first`` on."""
        name = f"%line{k}_{first[1:]}"
        lines = [f"  {name} = getelementptr {self.v.real}, ptr %row{k}, i64 {first}"]
        for j, value in enumerate(values):
            lines += [
                f"  {name}_{j} = getelementptr i8, ptr {name}, i64 {j * self.v.size}",
                f"  store {self.v.type} {value}, ptr {name}_{j}, align {self.v.size if hint else self.v.item}{hint}",
            ]
        return lines

    def _store_by_halves(self, count: str) -> list[str]:
        """Store the first so many numbers of each line: half a line at once, a quarter, ..., one, by way of ``%room``.

        Masks would do it in one store, which takes some 25 cycles on Zen 4 beside lines that go past the caches, and
        a dozen with AVX2.
        """
        v = self.v
        lines = [line for k in self.states for line in self._row(k)]
        lines += [f"  %to{k} = getelementptr {v.real}, ptr %row{k}, i64 %d" for k in self.states]
        for k in self.states:
            for j in self.squares:
                lines += [
                    f"  %room{k}_{j} = getelementptr i8, ptr %room, i64 {k * LINE + j * v.size}",
                    f"  store {v.type} {self.columns[j][k]}, ptr %room{k}_{j}, align {v.size}",
                ]
        part = self.count // 2
        while part:
            lines += [
                f"  %bit{part} = and i64 {count}, {part}",
                f"  %before{part} = and i64 {count}, {-2 * part}",
                f"  %any{part} = icmp ne i64 %bit{part}, 0",
                f"  br i1 %any{part}, label %copy{part}, label %copied{part}",
                f"copy{part}:",
                f"  %room_part{part} = getelementptr {v.real}, ptr %room, i64 %before{part}",
            ]
            width = min(part, v.lanes)
            kind = f"<{width} x {v.real}>"
            for k in self.states:
                lines.append(f"  %to_part{part}_{k} = getelementptr {v.real}, ptr %to{k}, i64 %before{part}")
                for at in range(0, part, width):
                    name = f"part{part}_{k}_{at}"
                    lines += [
                        f"  %{name}_at = getelementptr i8, ptr %room_part{part}, i64 {k * LINE + at * v.item}",
                        f"  %{name} = load {kind}, ptr %{name}_at, align {v.item}",
                        f"  %{name}_to = getelementptr {v.real}, ptr %to_part{part}_{k}, i64 {at}",
                        f"  store {kind} %{name}, ptr %{name}_to, align {v.item}",
                    ]
            lines += [f"  br label %copied{part}", f"copied{part}:"]
            part //= 2
        return lines

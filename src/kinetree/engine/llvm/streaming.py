"""Results of as many states as there are lanes, straight from registers to memory in whole cache lines.

As many results of each state as a line holds are transposed in registers, in one square of lanes by
lanes or several.  What belongs to one state is then a line of its results, if the rows of the states all
begin at the same distance from a line.  Consecutive states do so only if their rows are whole lines long,
but every eighth state (of doubles) always does: the driver picks states that are :func:`apart` from one
another.  Past the caches (streamed) such a line need not be read before it is written.
Lines of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast, several at once:
a table says how many equal results begin where.

Memory takes a line far more slowly than the processor makes one.  So the results of a tile are
a *parcel* that a kernel sends on, lines after lines, while it computes the next tile: ``pack``
begins a parcel, ``send`` is what kernels call every few operations, ``deliver`` does what is left.
Where no registers of the kernel would survive that, and for few results, ``write`` does everything in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .vectors import LINE, Vectors, transpose_loaded

PACK, SEND, SEND_CACHED, DELIVER = "pack_parcel", "send_lines", "send_lines_cached", "deliver_parcel"
WRITE = "write_lines"

# A parcel, in bytes: which function sends it on, what is sent, how much of it is done, where to.
_SENDER, _RESULT, _TABLE, _DONE, _LENGTH, _ROWS_AT, _APART, _RUNS = range(0, 64, 8)
PARCEL_BYTES = 64

MOST_EQUAL_LINES = 64
"""Lines of one and the same result that are sent at once by a kernel: hardly any work, and zeros, which is what
they are, leave a Zen 4 three times as fast as other numbers."""

EVERYTHING = 1 << 40
"""More lines than there are."""


def apart(length: int, per_line: int) -> int:
    """Return how many states one is taken of, so that rows of this length begin at the same distance from a line."""
    return per_line // math.gcd(length, per_line)


def place_words(places: Sequence[int] | np.ndarray, per_line: int) -> np.ndarray:
    """Return the table of places: where each output is, in bytes; and behind that how many equal ones begin there.

    Both parts are padded for those who read a whole line of the table.
    """
    given = np.asarray(places, dtype=np.int32)
    words = np.zeros((2, len(given) + per_line), dtype=np.int32)
    words[0, : len(given)] = given
    ends = np.append(np.flatnonzero(given[1:] != given[:-1]) + 1, len(given))
    at = np.arange(len(given))
    words[1, : len(given)] = ends[np.searchsorted(ends, at, side="right")] - at
    return words.reshape(-1)


def times_to_send(places: Sequence[int], per_line: int) -> int:
    """Return how many times lines are sent until all are, if the first line is whole."""
    runs = place_words(places, per_line)[len(places) + per_line :]
    times, at = 0, 0
    while at < len(places):
        at += min(max(int(runs[at]) // per_line, 1), MOST_EQUAL_LINES) * per_line
        times += 1
    return times


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
        *functions.write(),
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
        *(line for at in (_DONE, _LENGTH) for line in _set(at, "i64 0", name)),
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
        """Write what comes before the first whole line at once: that line is shared with another row."""
        parameters = "ptr %parcel, ptr %sender, ptr %result, ptr %places, ptr %rows, i64 %length, i64 %apart"
        return [
            f"define internal void @{PACK}({parameters}) {{",
            *self._room(),
            *self._head(),
            *_set(_SENDER, "ptr %sender"),
            *_set(_RESULT, "ptr %result"),
            *_set(_TABLE, "ptr %places"),
            *_set(_DONE, "i64 %head"),
            *_set(_LENGTH, "i64 %length"),
            *_set(_ROWS_AT, "ptr %rows"),
            *_set(_APART, "i64 %apart"),
            f"  %table_length = add i64 %length, {self.count}",
            "  %runs = getelementptr i32, ptr %places, i64 %table_length",
            *_set(_RUNS, "ptr %runs"),
            "  %d = add i64 0, 0",
            "  %whole = icmp eq i64 %head, 0",
            "  br i1 %whole, label %end, label %begin",
            "begin:",
            *self._transpose(),
            *self._store_by_halves("%head"),
            "  br label %end",
            "end:",
            "  ret void",
            "}",
        ]

    def send(self, name: str, hint: str) -> list[str]:
        """Send the next lines on, so many times, but not the last ones, which may not be whole."""
        transposed, equal = self._transpose(), self._broadcast()
        return [
            f"define internal {self.v.sender} void @{name}(ptr %parcel, i64 %times) noinline {{",
            "entry:",
            *_get("begin", _DONE, "i64"),
            *_get("length", _LENGTH, "i64"),
            *_get_contents(),
            *_get("runs", _RUNS, "ptr"),
            *(line for k in self.states for line in self._row(k)),
            f"  %last = sub i64 %length, {self.count}",
            "  br label %next",
            "next:",
            "  %d = phi i64 [ %begin, %entry ], [ %d_after, %sent ]",
            "  %n = phi i64 [ %times, %entry ], [ %n_left, %sent ]",
            "  %inside = icmp sle i64 %d, %last",
            "  %more = icmp ne i64 %n, 0",
            "  %goes_on = and i1 %inside, %more",
            "  br i1 %goes_on, label %look, label %end",
            "look:",
            f"  %d_next = add i64 %d, {self.count}",
            "  %run_at = getelementptr i32, ptr %runs, i64 %d",
            "  %run_short = load i32, ptr %run_at",
            f"  %same = icmp sge i32 %run_short, {self.count}",
            "  br i1 %same, label %broadcast, label %transpose",
            "broadcast:",
            *equal,
            f"  %most_short = icmp slt i32 %run_short, {MOST_EQUAL_LINES * self.count}",
            f"  %count_short = select i1 %most_short, i32 %run_short, i32 {MOST_EQUAL_LINES * self.count}",
            f"  %count_whole = and i32 %count_short, {-self.count}",
            "  %count = zext i32 %count_whole to i64",
            "  %stop = add i64 %d, %count",
            "  br label %equal_line",
            "equal_line:",
            "  %e = phi i64 [ %d, %broadcast ], [ %e_next, %equal_line ]",
            *(line for k in self.states for line in self._store(k, "%e", [f"%b{k}"] * len(self.squares), hint)),
            f"  %e_next = add i64 %e, {self.count}",
            "  %more_equal = icmp slt i64 %e_next, %stop",
            "  br i1 %more_equal, label %equal_line, label %sent",
            "transpose:",
            *transposed,
            *(line for k in self.states for line in self._store(k, "%d", [c[k] for c in self.columns], hint)),
            "  br label %sent",
            "sent:",
            "  %d_after = phi i64 [ %stop, %equal_line ], [ %d_next, %transpose ]",
            "  %n_left = sub i64 %n, 1",
            "  br label %next",
            "end:",
            *_set(_DONE, "i64 %d"),
            "  ret void",
            "}",
        ]

    def deliver(self) -> list[str]:
        """Send what is left."""
        return [
            f"define internal void @{DELIVER}(ptr %parcel) {{",
            "entry:",
            *self._room(),
            *_get("length", _LENGTH, "i64"),
            "  %empty = icmp eq i64 %length, 0",
            "  br i1 %empty, label %end, label %send",
            "send:",
            "  %sender = load ptr, ptr %parcel",  # here: see Sending
            f"  call {self.v.sender} void %sender(ptr %parcel, i64 {EVERYTHING})",
            *_get("d", _DONE, "i64"),
            "  %left = sub i64 %length, %d",
            "  %ends_with_line = icmp eq i64 %left, 0",
            "  br i1 %ends_with_line, label %done, label %rest",
            "rest:",
            *_get_contents(),
            *self._transpose(),
            *self._store_by_halves("%left"),
            "  br label %done",
            "done:",
            *_set(_LENGTH, "i64 0"),
            *_set(_DONE, "i64 0"),
            "  br label %end",
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

    def _broadcast(self) -> list[str]:
        """Spread one result over a line: what state k has of it is its value in lane k."""
        lines, v = [self._places("all_from"), *self._source(0, "_all", "all_from")], self.v
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
                f"  store {self.v.type} {value}, ptr {name}_{j}, align {self.v.size}{hint}",
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

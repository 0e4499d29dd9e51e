"""Results of as many states as there are lanes, straight from registers to memory in whole cache lines.

As many results of each state as a line holds are transposed in registers, in one square of lanes by
lanes or several.  What belongs to one state is then a line of its results, if the rows of the states all
begin at the same distance from a line.  Consecutive states do so only if their rows are whole lines long,
but every eighth state (of doubles) always does: the driver picks states that are :func:`apart` from one
another.  Past the caches (streamed) such a line need not be read before it is written.
Lines of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast.

Memory takes a line far more slowly than the processor makes one.  So the results of a tile are
a *parcel* that a kernel sends on, lines after lines, while it computes the next tile: ``pack``
begins a parcel, ``send`` is what kernels call every few operations, ``deliver`` does what is left.
Where no registers of the kernel would survive that, and for few results, ``write`` does everything in between.
"""

from __future__ import annotations

import math

from .vectors import LINE, Vectors, transpose_loaded

PACK, SEND, SEND_CACHED, DELIVER = "pack_parcel", "send_lines", "send_lines_cached", "deliver_parcel"
WRITE = "write_lines"

# A parcel, in bytes: which function sends it on, what is sent, how much of it is done, where to.
_SENDER, _RESULT, _TABLE, _DONE, _LENGTH, _ROWS_AT, _APART = range(0, 56, 8)
PARCEL_BYTES = 64


def apart(length: int, per_line: int) -> int:
    """Return how many states one is taken of, so that rows of this length begin at the same distance from a line."""
    return per_line // math.gcd(length, per_line)


def parcel_functions(vectors: Vectors) -> list[str]:
    """Return LLVM assembly of functions that write results in whole lines.

    ``write_lines(result, places, rows, length, apart)`` does so at once: ``places`` says where each result is
    behind ``result``, in bytes; ``rows`` is where the first state's results go and ``apart`` how many bytes are
    between one row and the next, whole lines.  A row is at least a line long.

    Of kernels that send, ``pack_parcel(parcel, sender, ...)`` begins with it instead, with one of two senders, past
    the caches or into them.
    """
    functions = _Functions(vectors)
    if not vectors.sends:
        return functions.write()
    return [
        *functions.write(),
        *functions.pack(),
        *functions.send(SEND, ", !nontemporal !0"),
        *functions.send(SEND_CACHED, ""),
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
        """Write all lines past the caches, the first and last, which other rows may share, only as far as needed."""
        return [
            f"define internal void @{WRITE}(ptr %result, ptr %places, ptr %rows, i64 %length, i64 %apart) {{",
            "entry:",
            *self._room(),
            *self._head(),
            "  %some_first = icmp ne i64 %head, 0",
            f"  %count_first = select i1 %some_first, i64 %head, i64 {self.count}",
            "  br label %line",
            "line:",
            "  %d = phi i64 [ 0, %entry ], [ %d_next, %line_end ]",
            f"  %count_most = phi i64 [ %count_first, %entry ], [ {self.count}, %line_end ]",
            "  %left = sub i64 %length, %d",
            "  %count = call i64 @llvm.smin.i64(i64 %count_most, i64 %left)",
            "  %d_next = add i64 %d, %count",
            *self._lines(),
            f"  %whole = icmp eq i64 %count, {self.count}",
            "  br i1 %whole, label %whole_line, label %part_of_line",
            "whole_line:",
            *(line for k in self.states for line in self._store(k, ", !nontemporal !0")),
            "  br label %line_end",
            "part_of_line:",
            *self._store_by_halves("%count"),
            "  br label %line_end",
            "line_end:",
            "  %more = icmp slt i64 %d_next, %length",
            "  br i1 %more, label %line, label %end",
            "end:",
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
            "  %d = add i64 0, 0",
            "  %whole = icmp eq i64 %head, 0",
            "  br i1 %whole, label %end, label %begin",
            "begin:",
            *self._lines(),
            *self._store_by_halves("%head"),
            "  br label %end",
            "end:",
            "  ret void",
            "}",
        ]

    def send(self, name: str, hint: str) -> list[str]:
        """Send the next lines on, unless they are the last ones, which may not be whole."""
        return [
            f"define internal {self.v.sender} void @{name}(ptr %parcel) noinline {{",
            *_get("d", _DONE, "i64"),
            *_get("length", _LENGTH, "i64"),
            f"  %d_next = add i64 %d, {self.count}",
            "  %inside = icmp sle i64 %d_next, %length",
            "  br i1 %inside, label %body, label %end",
            "body:",
            *_get_contents(),
            *_set(_DONE, "i64 %d_next"),
            *self._lines(),
            *(line for k in self.states for line in self._store(k, hint)),
            "  br label %end",
            "end:",
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
            "  br i1 %empty, label %end, label %line",
            "line:",
            *_get("d", _DONE, "i64"),
            f"  %d_next = add i64 %d, {self.count}",
            "  %inside = icmp sle i64 %d_next, %length",
            "  br i1 %inside, label %send, label %last",
            "send:",
            "  %sender = load ptr, ptr %parcel",  # here: see Sending
            f"  call {self.v.sender} void %sender(ptr %parcel)",
            "  br label %line",
            "last:",
            "  %left = sub i64 %length, %d",
            "  %ends_with_line = icmp eq i64 %left, 0",
            "  br i1 %ends_with_line, label %done, label %rest",
            "rest:",
            *_get_contents(),
            *self._lines(),
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

    def _lines(self) -> list[str]:
        """Make a line of results from ``%d`` on of every state: vector j of state k as ``%now<k>_<j>``."""
        places, flags = f"<{self.count} x i32>", (1 << self.count - 1) - 1
        return [
            "  %from = getelementptr i32, ptr %places, i64 %d",
            "  %from_next = getelementptr i32, ptr %from, i64 1",
            f"  %here = load {places}, ptr %from, align 4",
            f"  %there = load {places}, ptr %from_next, align 4",
            f"  %equal = icmp eq {places} %here, %there",
            f"  %equal_bits = bitcast <{self.count} x i1> %equal to i{self.count}",
            f"  %equal_to_next = and i{self.count} %equal_bits, {flags}",
            f"  %same = icmp eq i{self.count} %equal_to_next, {flags}",
            "  br i1 %same, label %broadcast, label %transpose",
            "broadcast:",
            *self._broadcast(),
            "  br label %join",
            "transpose:",
            *self._transpose(),
            "  br label %join",
            "join:",
            *(
                f"  %now{k}_{j} = phi {self.v.type} [ %b{k}, %broadcast ], [ {self.columns[j][k]}, %transpose ]"
                for k in self.states
                for j in self.squares
            ),
        ]

    def _source(self, k: int, suffix: str = "") -> list[str]:
        """Return where the k-th result of a line is, for all states."""
        name = f"%source{k}{suffix}"
        return [
            f"  {name}_at = getelementptr i32, ptr %from, i64 {k}",
            f"  {name}_place = load i32, ptr {name}_at",
            f"  {name}_bytes = zext i32 {name}_place to i64",
            f"  {name} = getelementptr i8, ptr %result, i64 {name}_bytes",
        ]

    def _broadcast(self) -> list[str]:
        """Spread one result over a line: what state k has of it is its value in lane k."""
        lines, v = self._source(0, "_all"), self.v
        for k in self.states:
            lines += [
                f"  %value{k}_at = getelementptr {v.real}, ptr %source0_all, i64 {k}",
                f"  %value{k} = load {v.real}, ptr %value{k}_at",
                f"  %value{k}_one = insertelement {v.type} poison, {v.real} %value{k}, i64 0",
                f"  %b{k} = shufflevector {v.type} %value{k}_one, {v.type} poison, <{v.lanes} x i32> zeroinitializer",
            ]
        return lines

    def _transpose(self) -> list[str]:
        lines, self.columns = [line for k in range(self.count) for line in self._source(k)], []
        for j in self.squares:
            sources = [f"%source{j * self.v.lanes + k}" for k in self.states]
            square, columns = transpose_loaded(self.v, sources, f"s{j}_")
            lines += square
            self.columns.append(columns)
        return lines

    def _row(self, k: int, name: str = "to") -> list[str]:
        """Return where the results of state k from ``%d`` on go."""
        return [
            f"  %{name}{k}_offset = mul i64 %apart, {k}",
            f"  %{name}{k}_row = getelementptr i8, ptr %rows, i64 %{name}{k}_offset",
            f"  %{name}{k} = getelementptr {self.v.real}, ptr %{name}{k}_row, i64 %d",
        ]

    def _store(self, k: int, hint: str) -> list[str]:
        """Store a whole line of state k."""
        lines = self._row(k, "line")
        for j in self.squares:
            lines += [
                f"  %line{k}_{j} = getelementptr i8, ptr %line{k}, i64 {j * self.v.size}",
                f"  store {self.v.type} %now{k}_{j}, ptr %line{k}_{j}, align {self.v.size}{hint}",
            ]
        return lines

    def _store_by_halves(self, count: str) -> list[str]:
        """Store the first so many numbers of each line: half a line at once, a quarter, ..., one, by way of ``%room``.

        Masks would do it in one store, which takes some 25 cycles on Zen 4 beside lines that go past the caches, and
        a dozen with AVX2.
        """
        v = self.v
        lines = [line for k in self.states for line in self._row(k)]
        for k in self.states:
            for j in self.squares:
                lines += [
                    f"  %room{k}_{j} = getelementptr i8, ptr %room, i64 {k * LINE + j * v.size}",
                    f"  store {v.type} %now{k}_{j}, ptr %room{k}_{j}, align {v.size}",
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

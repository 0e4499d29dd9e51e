"""Runs a lane kernel over a batch of states kept in ordinary C-ordered arrays.

Tiles of as many states as there are lanes are transposed into a scratch area, computed,
and transposed back.  Rows past the end of the batch repeat the last one on the way in and
are not written on the way out, so any batch length works.  A row stride of zero
broadcasts one state to the whole batch without a copy.  Numbers that do not follow one another,
or are of the other precision, are gathered as they are.

A second, small kernel may guard the inputs: the driver returns 1 if it gives a positive number for any state.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from . import streaming
from .assembly import SIZES, MachineFunction, Module, StructLayout, Value, Variable
from .streaming import places_of
from .vectors import Vectors, first_lanes, gathered, halves, shuffled, transpose, transpose_loaded

SYMBOL = "drive"
RUN = "run"

CHUNK = 384
"""Numbers per state that are collected in the nearest cache before they are streamed."""

STREAMED_BYTES = 1 << 21
"""Results larger than this do not fit the nearer caches and are written past them."""

JOB = StructLayout(
    kernel="ptr", guard="ptr", out="ptr", scratch="ptr", out_length="i64", start="i64", stop="i64", count="i64",
    context="ptr", places="ptr", tile_area="ptr", scratch_bytes="i64", second="i64", tiles="i64", block_bytes="i64",
)  # fmt: skip
"""The words of a job, followed by pointers, strides, lengths and layouts of its ``count`` inputs."""

LAYOUT = StructLayout(row="i64", column="i64", other="i64")
"""The layout of an input that does not consist of rows of numbers of the kernel's own precision: bytes from one state
to the next, bytes from one number to the next, and whether its numbers are of the other precision."""

_READ = "read_any"

_OWN = {"scratch": "ptr", "start": "i64", "stop": "i64", "tile_area": "ptr"}
"""What differs between the threads that work on one job."""


def pack_job(
    kernel: int, guard: int, out: int, scratch: int, out_length: int, start: int, stop: int,
    pointers: Sequence[int], strides: Sequence[int], lengths: Sequence[int],
    context: int, places: int, tile_area: int = 0, scratch_bytes: int = 0, second: int = 0,
    tiles: int = 1, block_bytes: int = 0, layouts: Sequence[int] = (),
) -> bytes:  # fmt: skip
    """Pack one call of the driver into a job. The context is passed to the kernel as it is.

    ``places`` is a table of 32-bit numbers, one per output and a vector's worth of padding:
    where among the kernel's results each output is, in bytes.

    With a ``tile_area`` results are collected there, a chunk of each state's at a time, and
    streamed past the caches, which pays when they are too many to stay in them.

    ``second`` is for a kernel that sends results on while it computes: how many bytes after the beginning of the
    scratch area there is room for as many other results; zero for other kernels.  They are those of the next tile; or,
    if the table of places says that results are sent soon, rows of a tile that is only partly in the batch.

    ``tiles`` is how many tiles the kernel computes at once, each in a separate block of ``block_bytes`` of the scratch
    area; one for kernels that send.

    ``layouts`` are addresses of a :data:`LAYOUT` for each input, or zero for rows; left out, all are rows.
    """
    head = (kernel, guard, out, scratch, out_length, start, stop, len(pointers), context, places)
    inputs = (*pointers, *strides, *lengths, *(layouts or [0] * len(pointers)))
    words = (*head, tile_area, scratch_bytes, second, tiles, block_bytes, *inputs)
    return struct.pack(f"<{len(words)}q", *words)


def driver_module(v: Vectors) -> str:
    """Return LLVM assembly of ``drive(job)``, a job being a block of 8-byte words from :func:`pack_job`.

    ``run(job, scratch, start, stop, tile_area)`` does a part of it.

    Strides are in elements. ``scratch`` must hold the inputs, the outputs and two
    spare vectors per lane, aligned to the vector size.
    """
    module = Module()
    streaming.add_parcel_functions(module, v)
    places = {"pointer": "ptr", "layout": "ptr", "base": "i64", "step": "i64", "last": "i64", "length": "i64"}
    with module.function(_READ, {**places, "to": "ptr"}, linkage="internal", attributes="noinline") as f:
        read_any(f, v, *f.args)
    with module.function(RUN, {"job": "ptr", **_OWN}, "i64") as f:
        run(f, v, *f.args)
    with module.function(SYMBOL, {"job": "ptr"}, "i64") as f:
        job = JOB.of(f.args[0])
        f.ret(f.call(RUN, job.pointer, *(job[name] for name in _OWN), result="i64"))
    return module.text()


class Rounds(NamedTuple):
    """The order in which states are computed.

    States whose results go out in whole lines are computed in rounds: of lanes times g consecutive states first
    number 0, g, 2 g, ..., then 1, g + 1, ...; see streaming.  What does not fill a round comes in order.
    """

    start: Value
    stop: Value
    """The end of a round: one past its last state."""
    apart: Value
    """g."""
    states: Value
    """In a round."""


class Tile(NamedTuple):
    """As many states as there are lanes."""

    base: Value
    """The first of them."""
    in_round: Value
    """Whether it belongs to a round."""
    result: Value
    """Where its results are."""
    final: Value
    """Where the results of its first state go."""


@dataclass
class Batch:
    """Values of the generated driver that are constant over one thread's share of the states."""

    f: MachineFunction
    v: Vectors
    word: Mapping[str, Value]
    """Fields of the job, by name."""
    inputs: Value
    """Where pointers, strides, lengths and layouts of inputs are."""
    scratch: Value
    start: Value
    stop: Value
    tile_area: Value

    def __post_init__(self) -> None:
        word, per_line = self.word, self.v.per_line
        self.streaming = self.tile_area.differs(self.f.null)
        self.sends = word["second"].differs(0)
        self.second_area = self.scratch + word["second"]
        # rounds need rows of a line at least, of whole numbers; what stays in the caches need not go there in whole
        # lines unless a kernel sends them: states then come in order
        fits = (word["out_length"] >= per_line) & (word["out"].to("i64") & (self.v.item - 1)).equals(0)
        pays = self.sends | self.streaming
        self.rounds = find_rounds(self.v, self.start, self.stop, word["out_length"], fits & pays)
        self.apart = self.rounds.apart * self.row_bytes
        if self.v.sends:
            soon = word["places"].at(word["out_length"] + 2 * per_line, "i32").load("i32", hint="soon")
            self.sends_soon = soon.differs(0)
            self.parcel = streaming.empty_parcel(self.f)

    @property
    def row_bytes(self) -> Value:
        """The number of bytes between the results of one state and those of the next."""
        return self.word["out_length"] * self.v.item


def run(
    f: MachineFunction, v: Vectors, job: Value, scratch: Value, start: Value, stop: Value, tile_area: Value
) -> None:
    """Compute some states of a job; return whether the guard rejects any."""
    fields = JOB.of(job)
    word = {name: fields[name] for name in JOB.at if name not in _OWN}
    batch = Batch(f, v, word, job + JOB.size, scratch, start, stop, tile_area)
    base, doubts, odd = f.variable(start, "base"), f.variable(0, "doubts"), f.variable(f.valued(0, "i1"), "odd")
    with f.forever(base, doubts, odd):
        f.leave(unless=base.value < stop)
        if v.some_tiles:
            compute_some(batch, base, doubts)
        else:
            compute_one(batch, base, doubts, odd)
    if v.sends:
        f.call(streaming.DELIVER, batch.parcel)
    f.do("fence seq_cst")
    f.ret(doubts.value)


def compute_one(b: Batch, base: Variable, doubts: Variable, odd: Variable) -> None:
    """Read a tile, compute it, possibly with a kernel that sends results on, and write it.

    Results that are sent with the next tile must stay in place meanwhile: odd tiles have theirs elsewhere.
    """
    f, v, word = b.f, b.v, b.word
    result = b.scratch.at(read_inputs(b, base.value, b.scratch) + v.lanes, v.type)
    if v.sends:
        result = odd.value.choose(b.second_area, result)
    doubts.set(doubts.value | ask_guard(f, v, word["guard"], b.scratch, result))
    tile = tile_at(b, base.value, result)
    if not v.sends:
        f.call(word["kernel"], b.scratch, result, word["context"])
        write_tile(b, tile)
    else:
        is_straight = pack_first(b, tile)
        f.call(word["kernel"], b.scratch, result, word["context"], b.parcel)
        write_sent_tile(b, tile, is_straight)
        odd.set(odd.value ^ (b.sends & ~b.sends_soon))
    base.set(next_tile(v, b.rounds, base.value))


def compute_some(b: Batch, base: Variable, doubts: Variable) -> None:
    """Read some tiles, as many as the kernel computes at once or as remain; compute them; write them one by one.

    That pays where code is long and vectors are short.
    """
    f, v, word, first = b.f, b.v, b.word, base.value
    count, gap = f.variable(0, "count"), f.variable(0, "gap")
    with f.forever(base, doubts, count, gap):
        area = b.scratch + count.value * word["block_bytes"]
        gap.set(read_inputs(b, base.value, area) + v.lanes)
        doubts.set(doubts.value | ask_guard(f, v, word["guard"], area, area.at(gap.value, v.type)))
        base.set(next_tile(v, b.rounds, base.value))
        count.set(count.value + 1)
        f.leave(when=count.value.equals(word["tiles"]) | (base.value >= b.stop))
    results = b.scratch.at(gap.value, v.type)
    f.call(word["kernel"], b.scratch, results, word["context"], count.value)
    here = f.variable(first, "here")
    with f.loop(0, count.value, changing=(here,)) as k:
        write_tile(b, tile_at(b, here.value, results + k * word["block_bytes"]))
        here.set(next_tile(v, b.rounds, here.value))


# ---------------------------------------------------------------- which states


def find_rounds(v: Vectors, start: Value, stop: Value, length: Value, whole_lines: Value) -> Rounds:
    """Find where rounds end, if there are any: when the results of each state are written in whole lines."""
    f = start.f
    zeros = f.call("llvm.cttz.i64", length | v.per_line, f.valued(1, "i1"), result="i64")
    apart = f.valued(v.per_line) >> zeros
    states, count = apart * v.lanes, stop - start
    in_rounds = whole_lines.choose(count - (count & (states - 1)), 0)
    return Rounds(start, start + in_rounds, apart, states)


def next_tile(v: Vectors, rounds: Rounds, base: Value) -> Value:
    """Return where the next tile begins: in this round, in the next one or, without rounds, right after this tile."""
    of_round = (base - rounds.start) & (rounds.states - 1)
    is_last = (of_round + 1).equals(rounds.apart)
    in_rounds = is_last.choose(base - of_round + rounds.states, base + 1)
    return (base < rounds.stop).choose(in_rounds, base + v.lanes)


def states_of(v: Vectors, rounds: Rounds, base: Value, last: Value) -> list[Value]:
    """Return which state each lane holds; past the end of the batch, the last one again."""
    step = states_apart(rounds, base)
    return [(base + step * k).min(last) for k in range(v.lanes)]


def states_apart(rounds: Rounds, base: Value) -> Value:
    """Return how far apart the states of a tile are."""
    return (base < rounds.stop).choose(rounds.apart, 1)


def tile_at(b: Batch, base: Value, result: Value) -> Tile:
    """Return the tile whose results are at an address."""
    return Tile(base, base < b.rounds.stop, result, b.word["out"].at(base * b.word["out_length"], b.v.real))


# ---------------------------------------------------------------- inputs: from rows to columns


def read_inputs(b: Batch, base: Value, area: Value) -> Value:
    """Transpose the inputs of a tile into an area; return how many vectors that makes."""
    f, v, count, last = b.f, b.v, b.word["count"], b.stop - 1
    states = states_of(v, b.rounds, base, last)
    read = f.variable(0, "read")
    with f.loop(0, count, changing=(read,)) as j:
        pointer = b.inputs.at(j, "ptr").load("ptr")
        stride, length = (b.inputs.at(j + count * k, "i64").load("i64") for k in (1, 2))
        layout, to = b.inputs.at(j + count * 3, "ptr").load("ptr"), area.at(read.value, v.type)
        with f.when(layout.equals(f.null)):
            rows = [pointer.at(state * stride, v.real) for state in states]
            (read_masked if v.masks else read_whole)(f, v, rows, length, to)
        with f.otherwise():
            f.call(_READ, pointer, layout, base, states_apart(b.rounds, base), last, length, to)
        read.set(read.value + length)
    return read.value


def read_any(
    f: MachineFunction, v: Vectors, pointer: Value, layout: Value, base: Value, step: Value, last: Value,
    length: Value, to: Value,
) -> None:  # fmt: skip
    """Gather the numbers of a tile from wherever they are; states that follow one another already are vectors."""
    lies = LAYOUT.of(layout)
    row, column, other = (lies[name] for name in LAYOUT.at)
    rows = [pointer + (base + step * k).min(last) * row for k in range(v.lanes)]
    other_real, how = ("double", "fptrunc") if v.single_precision else ("float", "fpext")
    with f.when(other.differs(0)):
        with f.loop(0, length) as c:
            found = [(at + c * column).load(other_real, SIZES[other_real]) for at in rows]
            own = [f.op(f"{how} {other_real} {x.name} to {v.real}", v.real) for x in found]
            store_vectors(v, to.at(c, v.type), [gathered(own)])
        f.ret()
    with f.when(row.equals(v.item) & step.equals(1) & (base + (v.lanes - 1) <= last)):
        with f.loop(0, length) as c:
            to.at(c, v.type).store((rows[0] + c * column).load(v.type, v.item), v.size)
        f.ret()
    with f.loop(0, length) as c:
        store_vectors(v, to.at(c, v.type), [gathered([(at + c * column).load(v.real) for at in rows])])


def read_masked(f: MachineFunction, v: Vectors, rows: Sequence[Value], length: Value, to: Value) -> None:
    """Transpose squares of numbers, the last one only partly if it is incomplete.

    Of at most half a row, two are loaded into one vector, which leaves less than half as many exchanges.
    """
    half = v.lanes // 2
    with f.loop(0, length, v.lanes) as c:
        left, none = length - c, Value(f, v.type, "zeroinitializer")

        def load(cell: Value, mask: Value, beside: Value) -> Value:
            name = f"llvm.masked.load.{v.suffix}.p0"
            return f.call(name, cell, f.valued(v.item, "i32"), mask, beside, result=v.type)

        with f.when(left > half):
            mask = first_lanes(v, left)
            loaded = [load(row.at(c, v.real), mask, none) for row in rows]
            store_vectors(v, to.at(c, v.type), transpose(loaded))
        with f.otherwise():
            lower, upper = halves(v, left)
            loaded = [load(row.at(c, v.real), lower, none) for row in rows[:half]]
            both = zip(rows[half:], loaded, strict=True)
            loaded = [load(row.at(c - half, v.real), upper, beside) for row, beside in both]
            store_vectors(v, to.at(c, v.type), transpose(loaded))


def read_whole(f: MachineFunction, v: Vectors, rows: Sequence[Value], length: Value, to: Value) -> None:
    """Transpose squares of numbers, the last one overlapping the one before, of which two may share a vector.

    What is shorter than half a vector goes number by number.
    """
    half = v.lanes // 2
    with f.when(length >= v.lanes), f.loop(0, length, v.lanes) as wanted:
        c = wanted.min(length - v.lanes)
        store_vectors(v, to.at(c, v.type), transpose_loaded(v, [row.at(c, v.real) for row in rows]))
    with f.otherwise():
        with f.when(length >= half), f.loop(0, length, half) as wanted:
            c = wanted.min(length - half)
            found = [row.at(c, v.real).load(f"<{half} x {v.real}>", v.item) for row in rows]
            pairs = [shuffled(*pair, range(v.lanes)) for pair in zip(found[:half], found[half:], strict=True)]
            store_vectors(v, to.at(c, v.type), transpose(pairs))
        with f.otherwise(), f.loop(0, length) as c:
            store_vectors(v, to.at(c, v.type), [gathered([row.at(c, v.real).load(v.real) for row in rows])])


def store_vectors(v: Vectors, to: Value, vectors: Sequence[Value]) -> None:
    """Store vectors one after the other."""
    for k, vector in enumerate(vectors):
        to.at(k, v.type).store(vector, v.size)


def ask_guard(f: MachineFunction, v: Vectors, guard: Value, area: Value, room: Value) -> Value:
    """Return 1 if there is a guard and it gives a positive number for any state of a tile; it writes to ``room``."""
    doubt = f.variable(0, "doubt")
    with f.when(guard.differs(f.null)):
        f.call(guard, area, room)
        verdicts = room.load(v.type, v.size)
        bad = f.op(f"fcmp ogt {v.type} {verdicts.name}, zeroinitializer", v.of("i1"))
        doubt.set(f.call(f"llvm.vector.reduce.or.v{v.lanes}i1", bad, result="i1").to("i64"))
    return doubt.value


# ---------------------------------------------------------------- results: from columns to rows


def write_tile(b: Batch, tile: Tile) -> None:
    """Write a tile of a round in whole lines, any other one in squares."""
    with b.f.when(tile.in_round):
        write_lines(b, tile)
    with b.f.otherwise():
        write_chunks(b, tile)


def write_lines(b: Batch, tile: Tile) -> None:
    """Write a tile in whole lines, past the caches."""
    word = b.word
    b.f.call(streaming.WRITE, tile.result, word["places"], tile.final, word["out_length"], b.apart)


def write_sent_tile(b: Batch, tile: Tile, is_straight: Value) -> None:
    """Write a tile, or what its kernel has not sent: its own results, or those of the tile before.

    A tile of a round that was not sent soon becomes the parcel that is sent with the next one.
    """
    f = b.f
    with f.way_out("written") as written:
        with f.when(b.sends):
            f.call(streaming.DELIVER, b.parcel)
            with f.when(b.sends_soon):
                f.jump(written, when=is_straight)
                copy_numbers(f, b.v, b.second_area, tile.final, (b.stop - tile.base) * b.word["out_length"])
                f.jump(written)
            with f.when(tile.in_round):
                pack(b, tile, b.streaming, tile.final, b.apart)
                f.jump(written)
        with f.otherwise(), f.when(tile.in_round):
            write_lines(b, tile)
            f.jump(written)
        write_chunks(b, tile)


def pack_first(b: Batch, tile: Tile) -> Value:
    """Prepare where results go before they are computed, if the kernel sends them soon; return whether they go there.

    Those of a tile that belongs to no round go into the caches; those of one that exceeds the batch first go to
    separate rows.
    """
    f, is_straight = b.f, b.f.variable(b.f.valued(1, "i1"), "is_straight")
    with f.when(b.sends_soon):
        is_straight.set(tile.in_round | (tile.base + b.v.lanes <= b.stop))
        rows = is_straight.value.choose(tile.final, b.second_area)
        apart = tile.in_round.choose(b.apart, b.row_bytes)
        pack(b, tile, b.streaming & tile.in_round, rows, apart)
    return is_straight.value


def pack(b: Batch, tile: Tile, past_caches: Value, rows: Value, apart: Value) -> None:
    """Make the results of a tile the parcel to be sent."""
    sender = past_caches.choose(b.f.symbol(streaming.SEND), b.f.symbol(streaming.SEND_CACHED))
    word = b.word
    b.f.call(streaming.PACK, b.parcel, sender, tile.result, word["places"], rows, word["out_length"], apart)


def copy_numbers(f: MachineFunction, v: Vectors, source: Value, to: Value, count: Value) -> None:
    """Copy numbers one by one."""
    with f.loop(0, count) as k:
        to.at(k, v.real).store(source.at(k, v.real).load(v.real))


def write_chunks(b: Batch, tile: Tile) -> None:
    """Write a tile in squares; when streaming, via an area in the nearest cache, a chunk of each row at a time."""
    f, v, length = b.f, b.v, b.word["out_length"]
    chunk, states = b.streaming.choose(f.valued(CHUNK), length), b.stop - tile.base
    write = write_masked if v.masks else write_whole
    with f.loop(0, length, chunk) as first:
        count, final = (length - first).min(chunk), tile.final.at(first, v.real)
        to = b.streaming.choose(b.tile_area, final)
        write(f, v, tile.result, b.word["places"].at(first, "i32"), count, to, chunk, states)
        with f.when(b.streaming), f.loop(0, states.min(v.lanes)) as k:
            source = b.tile_area.at(k * chunk, v.real)
            copy_past_caches(f, v, source, final.at(k * length, v.real), count)


def write_masked(
    f: MachineFunction, v: Vectors, result: Value, places: Value, count: Value, to: Value, apart: Value, states: Value
) -> None:
    """Write squares of results, the last one only partly if it is incomplete, for the existing states.

    ``places`` gives the offset of each of ``count`` results from ``result``, for all states; ``to`` is where those of
    the first state go, and those of the next are ``apart`` numbers further on.
    """
    half = v.lanes // 2
    with f.loop(0, count, v.lanes) as d, f.way_out("written") as written:

        def write(rows: Sequence[Value], mask: Value, first: int, before: int) -> None:
            for k, row in enumerate(rows, first):
                f.jump(written, unless=states > k)
                cell, item = to.at(apart * k + d - before, v.real), f.valued(v.item, "i32")
                f.call(f"llvm.masked.store.{v.suffix}.p0", row, cell, item, mask)

        with f.when(count - d > half):
            columns = [p.load(v.type, v.size) for p in places_of(result, places.at(d, "i32"), v.lanes)]
            write(transpose(columns), first_lanes(v, count - d), 0, 0)
        with f.otherwise():
            columns = [p.load(v.type, v.size) for p in places_of(result, places.at(d, "i32"), half)]
            rows, (lower, upper) = transpose(columns), halves(v, count - d)
            write(rows, lower, 0, 0)
            write(rows, upper, half, half)


def write_whole(
    f: MachineFunction, v: Vectors, result: Value, places: Value, count: Value, to: Value, apart: Value, states: Value
) -> None:
    """Write the same, the last square overlapping the one before, as :func:`read_whole` reads."""
    half, all_there = v.lanes // 2, states >= v.lanes

    def write(rows: Sequence[Value], d: Value) -> None:
        with f.way_out("written") as written:
            with f.when(all_there):
                for k, row in enumerate(rows):
                    to.at(apart * k + d, v.real).store(row, v.item)
                f.jump(written)
            for k, row in enumerate(rows):
                f.jump(written, unless=states > k)
                to.at(apart * k + d, v.real).store(row, v.item)

    with f.when(count >= v.lanes), f.loop(0, count, v.lanes) as wanted:
        d = wanted.min(count - v.lanes)
        write(transpose_loaded(v, places_of(result, places.at(d, "i32"), v.lanes)), d)
    with f.otherwise():
        with f.when(count >= half), f.loop(0, count, half) as wanted:
            d = wanted.min(count - half)
            pairs = transpose([p.load(v.type, v.size) for p in places_of(result, places.at(d, "i32"), half)])
            write([shuffled(x, x, range(k, k + half)) for k in (0, half) for x in pairs], d)
        with f.otherwise(), f.loop(0, count) as d:
            (source,) = places_of(result, places.at(d, "i32"), 1)
            with f.loop(0, states.min(v.lanes)) as state:
                to.at(state * apart + d, v.real).store(source.at(state, v.real).load(v.real))


def copy_past_caches(f: MachineFunction, v: Vectors, source: Value, to: Value, count: Value) -> None:
    """Copy numbers with stores that bypass the caches, where alignment allows."""
    k = f.variable(0, "k")
    with f.forever(k):
        here, behind = k.value, k.value + v.lanes
        f.leave(unless=here < count)
        from_here, to_here = source.at(here, v.real), to.at(here, v.real)
        is_aligned = (to_here.to("i64") & (v.size - 1)).equals(0)
        with f.when(is_aligned & (behind <= count)):
            to_here.store(from_here.load(v.type, v.item), v.size, past_caches=True)
            k.set(behind)
        with f.otherwise():
            to_here.store(from_here.load(v.real))
            k.set(here + 1)

"""Runs a lane kernel over a batch of states kept in ordinary C-ordered arrays.

Tiles of as many states as there are lanes are transposed into a scratch area, computed,
and transposed back.  Rows past the end of the batch repeat the last one on the way in and
are not written on the way out, so any batch length works.  A row stride of zero
broadcasts one state to the whole batch without a copy.

A second, small kernel may guard the inputs: the driver returns 1 if its verdict on any
state is positive.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from . import streaming, tiles
from .assembly import Layout
from .vectors import Vectors, transpose, transpose_loaded

SYMBOL = "drive"
RUN = "run"

CHUNK = 384
"""Numbers per state that are collected in the nearest cache before they are streamed."""

STREAMED_BYTES = 1 << 21
"""Results larger than this do not fit the nearer caches and are written past them."""

JOB_WORDS = {
    "kernel": "ptr", "guard": "ptr", "out": "ptr", "scratch": "ptr", "out_length": "i64", "start": "i64", "stop": "i64",
    "count": "i64", "context": "ptr", "places": "ptr", "tile_area": "ptr", "scratch_bytes": "i64",
    "second": "i64", "tiles": "i64", "block_bytes": "i64",
}  # fmt: skip
"""Words of a job and what they are, of 8 bytes each."""

JOB = Layout(**JOB_WORDS)
JOB_AT = JOB.at
"""Where each word of a job is, in bytes."""

_OWN = ("scratch", "start", "stop", "tile_area")
"""What differs between the threads that work on one job."""


def pack_job(
    kernel: int, guard: int, out: int, scratch: int, out_length: int, start: int, stop: int,
    pointers: Sequence[int], strides: Sequence[int], lengths: Sequence[int],
    context: int, places: int, tile_area: int = 0, scratch_bytes: int = 0, second: int = 0,
    tiles: int = 1, block_bytes: int = 0,
) -> bytes:  # fmt: skip
    """Pack what one call of the driver is to do. The context is handed to the kernel as it is.

    ``places`` is a table of 32-bit numbers, one per output and a vector's worth of padding:
    where among the kernel's results each output is, in bytes.

    With a ``tile_area`` results are collected there, a chunk of each state's at a time, and
    streamed past the caches, which pays when they are too many to stay in them.

    ``second`` is for a kernel that sends results on while it computes: how many bytes behind the beginning of the
    scratch area there is room for as many other results; zero for other kernels.  They are those of the next tile;
    or, if the table of places says that results are sent soon, rows of a tile that is only partly in the batch.

    ``tiles`` is how many tiles the kernel computes at once, each in ``block_bytes`` of its own of the scratch
    area; one for kernels that send.
    """
    head = (kernel, guard, out, scratch, out_length, start, stop, len(pointers), context, places)
    words = (*head, tile_area, scratch_bytes, second, tiles, block_bytes, *pointers, *strides, *lengths)
    return struct.pack(f"<{len(words)}q", *words)


def _unpack_job() -> list[str]:
    """Name the words of a job that all threads share."""
    lines = []
    for k, (name, kind) in enumerate(JOB_WORDS.items()):
        if name in _OWN:
            continue
        lines += [f"  %{name}_at = getelementptr i64, ptr %job, i64 {k}", f"  %{name} = load {kind}, ptr %{name}_at"]
    return [
        *lines,
        f"  %pointers = getelementptr i64, ptr %job, i64 {len(JOB_WORDS)}",
        "  %strides = getelementptr i64, ptr %pointers, i64 %count",
        "  %lengths = getelementptr i64, ptr %strides, i64 %count",
    ]


def driver_module(vectors: Vectors) -> str:
    """Return LLVM assembly of ``drive(job)``, a job being a block of 8-byte words as :func:`pack_job` makes it.

    ``run(job, scratch, start, stop, tile_area)`` does a part of it.

    Strides are in elements. ``scratch`` must hold the inputs, the outputs and two
    spare vectors per lane, aligned to the vector size.
    """
    v, lanes, area = vectors, vectors.lanes, tiles.area(vectors)
    mask = f"<{lanes} x i1>"
    text = [
        f"declare {v.type} @llvm.masked.load.{v.suffix}.p0(ptr, i32, {mask}, {v.type})",
        f"declare void @llvm.masked.store.{v.suffix}.p0({v.type}, ptr, i32, {mask})",
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.cttz.i64(i64, i1)",
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mask})",
        f"define i64 @{RUN}(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile_area) {{",
        "entry:",
        *_unpack_job(),
        *_rounds(v),
        "  %last = sub i64 %stop, 1",
        "  %any = icmp slt i64 %start, %stop",
        "  br i1 %any, label %tile, label %done",
        "tile:",
        *tiles.numbers_of_tile(v),
        *_round(),
        *_next_of_round(lanes),
        *(line for k in range(lanes) for line in _state_of(k)),
        *(tiles.read_or_write() if v.some_tiles else ["  br label %argument"]),
        # inputs
        "argument:",
        "  %j = phi i64 [ 0, %tile ], [ %j_next, %argument_end ]",
        "  %at = phi i64 [ 0, %tile ], [ %at_next, %argument_end ]",
        "  %more_arguments = icmp slt i64 %j, %count",
        "  br i1 %more_arguments, label %rows, label %compute",
        "rows:",
        "  %p_at = getelementptr ptr, ptr %pointers, i64 %j",
        "  %p = load ptr, ptr %p_at",
        "  %s_at = getelementptr i64, ptr %strides, i64 %j",
        "  %s = load i64, ptr %s_at",
        "  %n_at = getelementptr i64, ptr %lengths, i64 %j",
        "  %n = load i64, ptr %n_at",
    ]
    for k in range(lanes):
        text += [f"  %f{k} = mul i64 %k{k}, %s", f"  %row{k} = getelementptr {v.real}, ptr %p, i64 %f{k}"]
    text += [
        *(_read_masked(v) if v.masks else _read_whole(v)),
        "argument_end:",
        "  %j_next = add i64 %j, 1",
        "  %at_next = add i64 %at, %n",
        "  br label %argument",
        # the kernel, its results behind the inputs
        "compute:",
        f"  %gap = add i64 %at, {lanes}",
        f"  %behind = getelementptr {v.type}, ptr {area}, i64 %gap",
        "  %computed_at = select i1 %odd, ptr %second_area, ptr %behind",
        "  %unguarded = icmp eq ptr %guard, null",
        "  br i1 %unguarded, label %calculate, label %ask",
        "ask:",
        f"  call void %guard(ptr {area}, ptr %computed_at)",
        f"  %verdicts = load {v.type}, ptr %computed_at, align {v.size}",
        f"  %bad_lanes = fcmp ogt {v.type} %verdicts, zeroinitializer",
        f"  %bad = call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %bad_lanes)",
        "  %bad_bit = zext i1 %bad to i64",
        "  br label %calculate",
        "calculate:",
        "  %doubt = phi i64 [ 0, %compute ], [ %bad_bit, %ask ]",
        "  %doubts_next = or i64 %doubts, %doubt",
        *(tiles.evaluate_some(v) if v.some_tiles else tiles.evaluate_one(v)),
        # outputs
        *_write_lines(v),
        "by_chunks:",
        f"  %chunk = select i1 %streaming, i64 {CHUNK}, i64 %out_length",
        "  br label %out_chunk",
        "out_chunk:",
        "  %d0 = phi i64 [ 0, %by_chunks ], [ %d1, %chunk_end ]",
        "  %more_chunks = icmp slt i64 %d0, %out_length",
        "  br i1 %more_chunks, label %chunk_body, label %tile_end",
        "chunk_body:",
        "  %d1_far = add i64 %d0, %chunk",
        "  %d1 = call i64 @llvm.smin.i64(i64 %d1_far, i64 %out_length)",
        f"  %final_chunk = getelementptr {v.real}, ptr %final, i64 %d0",
        "  %dest = select i1 %streaming, ptr %tile_area, ptr %final_chunk",
        *(_write_masked(v) if v.masks else _write_whole(v)),
        "written:",
        "  br i1 %streaming, label %stream, label %chunk_end",
        *_stream(v),
        "chunk_end:",
        "  br label %out_chunk",
        "tile_end:",
        *(tiles.next_to_write() if v.some_tiles else []),
        "  %more_tiles = icmp slt i64 %next_base, %stop",
        "  br i1 %more_tiles, label %tile, label %done",
        "done:",
        f"  %answer = phi i64 [ 0, %entry ], [ {'%doubts_now' if v.some_tiles else '%doubts_next'}, %tile_end ]",
        *([f"  call void @{streaming.DELIVER}(ptr %parcel)"] if v.sends else []),
        "  fence seq_cst",
        "  ret i64 %answer",
        "}",
        *_whole_job(),
        *streaming.parcel_functions(v),
        "!0 = !{i32 1}",
        "",
    ]
    return "\n".join(text)


# Inputs of a tile, from rows to columns in the scratch area, where %at is the first of an argument of %n numbers;
# and results, from columns to rows of %chunk numbers behind %dest, those from %d0 to %d1.


def _some(v: Vectors, name: str, left: str) -> list[str]:
    """Make a mask of the first so many lanes."""
    longs = f"<{v.lanes} x i64>"
    ramp = ", ".join(f"i64 {k}" for k in range(v.lanes))
    return [
        f"  %{name}_one = insertelement {longs} poison, i64 {left}, i64 0",
        f"  %{name}_all = shufflevector {longs} %{name}_one, {longs} poison, <{v.lanes} x i32> zeroinitializer",
        f"  %{name} = icmp slt {longs} <{ramp}>, %{name}_all",
    ]


def _read_masked(v: Vectors) -> list[str]:
    """Read squares of numbers, the last one as far as there are any."""
    lines, columns = transpose(v, [f"%r{k}" for k in range(v.lanes)], "x")
    text = [
        "  br label %block",
        "block:",
        "  %c = phi i64 [ 0, %rows ], [ %c_next, %block_body ]",
        "  %more = icmp slt i64 %c, %n",
        "  br i1 %more, label %block_body, label %argument_end",
        "block_body:",
        "  %left = sub i64 %n, %c",
        *_some(v, "mask", "%left"),
    ]
    for k in range(v.lanes):
        text += [
            f"  %cell{k} = getelementptr {v.real}, ptr %row{k}, i64 %c",
            f"  %r{k} = call {v.type} @llvm.masked.load.{v.suffix}.p0"
            f"(ptr %cell{k}, i32 {v.item}, <{v.lanes} x i1> %mask, {v.type} zeroinitializer)",
        ]
    return [
        *text,
        *lines,
        *_store_columns(v, "%c", columns),
        f"  %c_next = add i64 %c, {v.lanes}",
        "  br label %block",
    ]


def _read_whole(v: Vectors) -> list[str]:
    """Read squares of numbers, the last one overlapping the one before; of short rows one number after the other."""
    text = [
        f"  %is_short = icmp slt i64 %n, {v.lanes}",
        f"  %c_most = sub i64 %n, {v.lanes}",
        "  br i1 %is_short, label %number, label %block",
        "block:",
        "  %c_wanted = phi i64 [ 0, %rows ], [ %c_next, %block ]",
        "  %c = call i64 @llvm.smin.i64(i64 %c_wanted, i64 %c_most)",
        *(f"  %cell{k} = getelementptr {v.real}, ptr %row{k}, i64 %c" for k in range(v.lanes)),
    ]
    lines, columns = transpose_loaded(v, [f"%cell{k}" for k in range(v.lanes)], "x")
    text += [
        *lines,
        *_store_columns(v, "%c", columns),
        f"  %c_next = add i64 %c_wanted, {v.lanes}",
        "  %more = icmp slt i64 %c_next, %n",
        "  br i1 %more, label %block, label %argument_end",
        "number:",
        "  %e_in = phi i64 [ 0, %rows ], [ %e_in_next, %number_body ]",
        "  %more_numbers = icmp slt i64 %e_in, %n",
        "  br i1 %more_numbers, label %number_body, label %argument_end",
        "number_body:",
    ]
    value = "poison"
    for k in range(v.lanes):
        text += [
            f"  %single{k}_at = getelementptr {v.real}, ptr %row{k}, i64 %e_in",
            f"  %single{k} = load {v.real}, ptr %single{k}_at",
            f"  %gathered{k} = insertelement {v.type} {value}, {v.real} %single{k}, i64 {k}",
        ]
        value = f"%gathered{k}"
    return [
        *text,
        "  %number_slot = add i64 %at, %e_in",
        f"  %number_to = getelementptr {v.type}, ptr {tiles.area(v)}, i64 %number_slot",
        f"  store {v.type} {value}, ptr %number_to, align {v.size}",
        "  %e_in_next = add i64 %e_in, 1",
        "  br label %number",
    ]


def _store_columns(v: Vectors, first: str, columns: list[str]) -> list[str]:
    """Store columns into the scratch area."""
    text = [f"  %column = add i64 %at, {first}"]
    for k, column in enumerate(columns):
        text += [
            f"  %slot{k}_i = add i64 %column, {k}",
            f"  %slot{k} = getelementptr {v.type}, ptr {tiles.area(v)}, i64 %slot{k}_i",
            f"  store {v.type} {column}, ptr %slot{k}, align {v.size}",
        ]
    return text


def _places_of(v: Vectors, first: str) -> list[str]:
    """Find where the results from ``first`` on are, as ``%from<k>``."""
    return [
        line
        for k in range(v.lanes)
        for line in (
            f"  %from{k}_i = add i64 {first}, {k}",
            f"  %from{k}_at = getelementptr i32, ptr %places, i64 %from{k}_i",
            f"  %from{k}_place = load i32, ptr %from{k}_at",
            f"  %from{k}_bytes = zext i32 %from{k}_place to i64",
            f"  %from{k} = getelementptr i8, ptr %result, i64 %from{k}_bytes",
        )
    ]


def _rows_to(v: Vectors, k: int, prefix: str = "") -> list[str]:
    """Find where the results of state k from ``%within`` on go."""
    return [
        f"  %{prefix}g{k} = mul i64 {k}, %chunk",
        f"  %{prefix}h{k} = add i64 %{prefix}g{k}, %within",
        f"  %{prefix}to{k} = getelementptr {v.real}, ptr %dest, i64 %{prefix}h{k}",
    ]


def _row_by_row(v: Vectors, store: Callable[[int], str]) -> list[str]:
    """Write the rows of those states that there are."""
    text = ["  br label %write0"]
    for k in range(v.lanes):
        follow = f"%write{k + 1}" if k + 1 < v.lanes else "%out_end"
        text += [
            f"write{k}:",
            f"  %w{k} = add i64 %base, {k}",
            f"  %valid{k} = icmp slt i64 %w{k}, %stop",
            f"  br i1 %valid{k}, label %do{k}, label %out_end",
            f"do{k}:",
            *_rows_to(v, k),
            store(k),
            f"  br label {follow}",
        ]
    return text


def _write_masked(v: Vectors) -> list[str]:
    """Write squares of results, the last one as far as there are any."""
    lines, rows = transpose(v, [f"%c{k}" for k in range(v.lanes)], "y")

    def store(k: int) -> str:
        masked = f"@llvm.masked.store.{v.suffix}.p0"
        return f"  call void {masked}({v.type} {rows[k]}, ptr %to{k}, i32 {v.item}, <{v.lanes} x i1> %omask)"

    return [
        "  br label %out_block",
        "out_block:",
        "  %d = phi i64 [ %d0, %chunk_body ], [ %d_next, %out_end ]",
        "  %more_out = icmp slt i64 %d, %d1",
        "  br i1 %more_out, label %out_body, label %written",
        "out_body:",
        "  %within = sub i64 %d, %d0",
        "  %oleft = sub i64 %d1, %d",
        *_some(v, "omask", "%oleft"),
        *_places_of(v, "%d"),
        *(f"  %c{k} = load {v.type}, ptr %from{k}, align {v.size}" for k in range(v.lanes)),
        *lines,
        *_row_by_row(v, store),
        "out_end:",
        f"  %d_next = add i64 %d, {v.lanes}",
        "  br label %out_block",
    ]


def _write_whole(v: Vectors) -> list[str]:
    """Write squares of results, the last one overlapping the one before; of short rows one number after the other."""
    lines, rows = transpose_loaded(v, [f"%from{k}" for k in range(v.lanes)], "y")

    def store(k: int, prefix: str = "") -> str:
        return f"  store {v.type} {rows[k]}, ptr %{prefix}to{k}, align {v.item}"

    text = [
        "  %numbers_here = sub i64 %d1, %d0",
        f"  %few = icmp slt i64 %numbers_here, {v.lanes}",
        f"  %d_most = sub i64 %d1, {v.lanes}",
        f"  %after_tile = add i64 %base, {v.lanes}",
        "  %all_there = icmp sle i64 %after_tile, %stop",
        "  br i1 %few, label %out_number, label %out_block",
        "out_block:",
        "  %d_wanted = phi i64 [ %d0, %chunk_body ], [ %d_next, %out_end ]",
        "  %d = call i64 @llvm.smin.i64(i64 %d_wanted, i64 %d_most)",
        "  %within = sub i64 %d, %d0",
        *_places_of(v, "%d"),
        *lines,
        "  br i1 %all_there, label %write_all, label %write_some",
        "write_all:",
    ]
    for k in range(v.lanes):
        text += [*_rows_to(v, k, "all_"), store(k, "all_")]
    text += [
        "  br label %out_end",
        "write_some:",
        *_row_by_row(v, store),
        "out_end:",
        f"  %d_next = add i64 %d_wanted, {v.lanes}",
        "  %more_out = icmp slt i64 %d_next, %d1",
        "  br i1 %more_out, label %out_block, label %written",
        "out_number:",
        "  %e_out = phi i64 [ %d0, %chunk_body ], [ %e_out_next, %out_number_end ]",
        "  %more_numbers_out = icmp slt i64 %e_out, %d1",
        "  br i1 %more_numbers_out, label %out_number_body, label %written",
        "out_number_body:",
        "  %e_place_at = getelementptr i32, ptr %places, i64 %e_out",
        "  %e_place = load i32, ptr %e_place_at",
        "  %e_bytes = zext i32 %e_place to i64",
        "  %e_from = getelementptr i8, ptr %result, i64 %e_bytes",
        "  %e_within = sub i64 %e_out, %d0",
        "  %states_left = sub i64 %stop, %base",
        f"  %states_here = call i64 @llvm.smin.i64(i64 %states_left, i64 {v.lanes})",
        "  br label %out_single",
        "out_single:",
        "  %lane = phi i64 [ 0, %out_number_body ], [ %lane_next, %out_single ]",
        f"  %lane_from = getelementptr {v.real}, ptr %e_from, i64 %lane",
        f"  %lane_value = load {v.real}, ptr %lane_from",
        "  %lane_row = mul i64 %lane, %chunk",
        "  %lane_at = add i64 %lane_row, %e_within",
        f"  %lane_to = getelementptr {v.real}, ptr %dest, i64 %lane_at",
        f"  store {v.real} %lane_value, ptr %lane_to",
        "  %lane_next = add i64 %lane, 1",
        "  %more_lanes = icmp slt i64 %lane_next, %states_here",
        "  br i1 %more_lanes, label %out_single, label %out_number_end",
        "out_number_end:",
        "  %e_out_next = add i64 %e_out, 1",
        "  br label %out_number",
    ]
    return text


# States whose results go out in whole lines are computed in rounds: of lanes times g consecutive states first
# number 0, g, 2 g, ..., then 1, g + 1, ...; see streaming.  What does not fill a round comes in order.


def _rounds(v: Vectors) -> list[str]:
    """Find where rounds end; they need rows of a line at least, of whole numbers.

    What stays in the caches need not go there in whole lines unless a kernel sends them: states then come in
    order.
    """
    return [
        *(streaming.empty_parcel("%parcel") if v.sends else []),
        "  %second_area = getelementptr i8, ptr %scratch, i64 %second",
        "  %sends = icmp ne i64 %second, 0",
        "  %streaming = icmp ne ptr %tile_area, null",
        f"  %soon_word = add i64 %out_length, {2 * v.per_line}",
        "  %soon_at = getelementptr i32, ptr %places, i64 %soon_word",
        "  %soon_number = load i32, ptr %soon_at",
        "  %sends_soon = icmp ne i32 %soon_number, 0",
        "  %not_soon = xor i1 %sends_soon, true",
        "  %sends_later = and i1 %sends, %not_soon",
        f"  %fraction = or i64 %out_length, {v.per_line}",
        "  %fraction_bits = call i64 @llvm.cttz.i64(i64 %fraction, i1 true)",
        f"  %g = lshr i64 {v.per_line}, %fraction_bits",
        f"  %round = mul i64 %g, {v.lanes}",
        f"  %row_bytes = mul i64 %out_length, {v.item}",
        "  %apart = mul i64 %row_bytes, %g",
        "  %states = sub i64 %stop, %start",
        "  %round_part = sub i64 %round, 1",
        "  %beyond_rounds = and i64 %states, %round_part",
        "  %in_whole_rounds = sub i64 %states, %beyond_rounds",
        f"  %long = icmp sge i64 %out_length, {v.per_line}",
        "  %out_bits = ptrtoint ptr %out to i64",
        f"  %out_part = and i64 %out_bits, {v.item - 1}",
        "  %whole_numbers = icmp eq i64 %out_part, 0",
        "  %lines_fit = and i1 %long, %whole_numbers",
        "  %lines_pay = or i1 %sends, %streaming",
        "  %by_rounds = and i1 %lines_fit, %lines_pay",
        "  %in_rounds = select i1 %by_rounds, i64 %in_whole_rounds, i64 0",
        "  %rounds_stop = add i64 %start, %in_rounds",
    ]


def _round() -> list[str]:
    """Find whether this tile belongs to a round, and how far apart its states are."""
    return [
        "  %odd_next = xor i1 %odd, %sends_later",
        "  %by_lines = icmp slt i64 %base, %rounds_stop",
        "  %step = select i1 %by_lines, i64 %g, i64 1",
    ]


def _next_of_round(lanes: int) -> list[str]:
    """Find the next tile of this round, the first of the next round, or the next one in order."""
    return [
        "  %so_far = sub i64 %base, %start",
        "  %of_round = and i64 %so_far, %round_part",
        "  %of_round_next = add i64 %of_round, 1",
        "  %round_over = icmp eq i64 %of_round_next, %g",
        "  %round_base = sub i64 %base, %of_round",
        "  %next_round = add i64 %round_base, %round",
        "  %base_one = add i64 %base, 1",
        "  %next_by_lines = select i1 %round_over, i64 %next_round, i64 %base_one",
        f"  %next_in_order = add i64 %base, {lanes}",
        "  %next_base = select i1 %by_lines, i64 %next_by_lines, i64 %next_in_order",
    ]


def _state_of(k: int) -> list[str]:
    """Find which state lane k is: the last one again behind the end of the batch."""
    return [
        f"  %i{k}_far = mul i64 {k}, %step",
        f"  %i{k} = add i64 %base, %i{k}_far",
        f"  %k{k} = call i64 @llvm.smin.i64(i64 %i{k}, i64 %last)",
    ]


def _write_lines(v: Vectors) -> list[str]:
    """Write a tile of a round in whole lines: past the caches at once, or, if the kernel sends them, with the next."""
    write = [
        "  br i1 %by_lines, label %lines, label %by_chunks",
        "lines:",
        f"  call void @{streaming.WRITE}(ptr %result, ptr %places, ptr %final, i64 %out_length, i64 %apart)",
        "  br label %tile_end",
    ]
    if not v.sends:
        return write
    arguments = "ptr %parcel, ptr %sender, ptr %result, ptr %places, ptr %final, i64 %out_length, i64 %apart"
    return [
        "  br i1 %sends, label %deliver, label %at_once",
        "deliver:",
        f"  call void @{streaming.DELIVER}(ptr %parcel)",
        "  br i1 %sends_soon, label %delivered, label %deliver_later",
        *_copy_rows(v),
        "deliver_later:",
        "  br i1 %by_lines, label %pack, label %by_chunks",
        "pack:",
        f"  %sender = select i1 %streaming, ptr @{streaming.SEND}, ptr @{streaming.SEND_CACHED}",
        f"  call void @{streaming.PACK}({arguments})",
        "  br label %tile_end",
        "at_once:",
        *write,
    ]


def _copy_rows(v: Vectors) -> list[str]:
    """Copy those rows that belong to the batch to their places, unless results went there."""
    return [
        "delivered:",
        "  br i1 %is_straight, label %tile_end, label %copy_rows",
        "copy_rows:",
        "  %states_there = sub i64 %stop, %base",
        "  %numbers_there = mul i64 %states_there, %out_length",
        "  br label %copy_number",
        "copy_number:",
        "  %m = phi i64 [ 0, %copy_rows ], [ %m_next, %copy_number ]",
        f"  %m_from = getelementptr {v.real}, ptr %second_area, i64 %m",
        f"  %m_to = getelementptr {v.real}, ptr %final, i64 %m",
        f"  %m_value = load {v.real}, ptr %m_from",
        f"  store {v.real} %m_value, ptr %m_to",
        "  %m_next = add i64 %m, 1",
        "  %more_m = icmp slt i64 %m_next, %numbers_there",
        "  br i1 %more_m, label %copy_number, label %tile_end",
    ]


def _whole_job() -> list[str]:
    """Compute all of a job in this thread."""
    loads = [
        line
        for name in _OWN
        for line in (
            f"  %{name}_at = getelementptr i8, ptr %job, i64 {JOB_AT[name]}",
            f"  %{name} = load {JOB_WORDS[name]}, ptr %{name}_at",
        )
    ]
    call = f"  %answer = call i64 @{RUN}(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile_area)"
    return [f"define i64 @{SYMBOL}(ptr %job) {{", *loads, call, "  ret i64 %answer", "}"]


def _stream(v: Vectors) -> list[str]:
    """Copy the rows of a finished chunk to their places with stores that bypass the caches, where alignment allows."""
    real, vec, lanes, size, wide = v.real, v.type, v.lanes, v.item, v.size
    return [
        "stream:",
        "  %rows_left = sub i64 %stop, %base",
        f"  %rows_now = call i64 @llvm.smin.i64(i64 %rows_left, i64 {lanes})",
        "  %numbers = sub i64 %d1, %d0",
        "  br label %stream_row",
        "stream_row:",
        "  %u = phi i64 [ 0, %stream ], [ %u_next, %row_done ]",
        "  %u_in = mul i64 %u, %chunk",
        f"  %row_from = getelementptr {real}, ptr %tile_area, i64 %u_in",
        "  %u_out = mul i64 %u, %out_length",
        f"  %row_to = getelementptr {real}, ptr %final_chunk, i64 %u_out",
        "  br label %copy",
        "copy:",
        "  %e = phi i64 [ 0, %stream_row ], [ %e_one, %copy_one ], [ %e_many, %copy_many ]",
        "  %copied = icmp sge i64 %e, %numbers",
        "  br i1 %copied, label %row_done, label %choose",
        "choose:",
        f"  %from_e = getelementptr {real}, ptr %row_from, i64 %e",
        f"  %to_e = getelementptr {real}, ptr %row_to, i64 %e",
        "  %to_bits = ptrtoint ptr %to_e to i64",
        f"  %low = and i64 %to_bits, {wide - 1}",
        "  %aligned = icmp eq i64 %low, 0",
        f"  %e_many = add i64 %e, {lanes}",
        "  %enough = icmp sle i64 %e_many, %numbers",
        "  %by_vector = and i1 %aligned, %enough",
        "  br i1 %by_vector, label %copy_many, label %copy_one",
        "copy_many:",
        f"  %many = load {vec}, ptr %from_e, align {size}",
        f"  store {vec} %many, ptr %to_e, align {wide}, !nontemporal !0",
        "  br label %copy",
        "copy_one:",
        f"  %one = load {real}, ptr %from_e",
        f"  store {real} %one, ptr %to_e",
        "  %e_one = add i64 %e, 1",
        "  br label %copy",
        "row_done:",
        "  %u_next = add i64 %u, 1",
        "  %more_rows = icmp slt i64 %u_next, %rows_now",
        "  br i1 %more_rows, label %stream_row, label %chunk_end",
    ]

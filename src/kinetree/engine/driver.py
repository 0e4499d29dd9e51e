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
from collections.abc import Sequence

from . import parcel

SYMBOL = "drive"
RUN = "run"

CHUNK = 384
"""Numbers per state that are collected in the nearest cache before they are streamed."""

LONG_ROW = 8
"""Numbers per state from which results are written in whole lines; at least a vector."""

_WORDS = {
    "kernel": "ptr", "guard": "ptr", "out": "ptr", "scratch": "ptr", "out_length": "i64", "start": "i64", "stop": "i64",
    "count": "i64", "context": "ptr", "places": "ptr", "tile_area": "ptr", "scratch_bytes": "i64",
    "second": "i64",
}  # fmt: skip

JOB_AT = {name: 8 * k for k, name in enumerate(_WORDS)}
"""Where each word of a job is, in bytes."""

_OWN = ("scratch", "start", "stop", "tile_area")
"""What differs between the threads that work on one job."""


def pack_job(
    kernel: int, guard: int, out: int, scratch: int, out_length: int, start: int, stop: int,
    pointers: Sequence[int], strides: Sequence[int], lengths: Sequence[int],
    context: int, places: int, tile_area: int = 0, scratch_bytes: int = 0, second: int = 0,
) -> bytes:  # fmt: skip
    """What one call of the driver is to do. The context is handed to the kernel as it is.

    ``places`` is a table of 32-bit numbers, one per output and a vector's worth of padding:
    where among the kernel's results each output is, in bytes.

    With a ``tile_area`` results are collected there, a chunk of each state's at a time, and
    streamed past the caches, which pays when they are too many to stay in them.

    ``second`` is for a kernel that sends the results of one tile on while it computes the next: how many
    bytes behind the beginning of the scratch area there is room for other results; zero for other kernels.
    """
    head = (kernel, guard, out, scratch, out_length, start, stop, len(pointers), context, places)
    words = (*head, tile_area, scratch_bytes, second, *pointers, *strides, *lengths)
    return struct.pack(f"<{len(words)}q", *words)


def _unpack_job() -> list[str]:
    """Name the words of a job that all threads share."""
    lines = []
    for k, (name, kind) in enumerate(_WORDS.items()):
        if name in _OWN:
            continue
        lines += [f"  %{name}_at = getelementptr i64, ptr %job, i64 {k}", f"  %{name} = load {kind}, ptr %{name}_at"]
    return [
        *lines,
        f"  %pointers = getelementptr i64, ptr %job, i64 {len(_WORDS)}",
        "  %strides = getelementptr i64, ptr %pointers, i64 %count",
        "  %lengths = getelementptr i64, ptr %strides, i64 %count",
    ]


def driver_module(lanes: int, single_precision: bool = False, whole_lines: bool = False) -> str:
    """LLVM assembly of ``drive(job)``, a job being a block of 8-byte words as :func:`pack_job` makes it.

    ``run(job, scratch, start, stop, tile_area)`` does a part of it.

    With ``whole_lines`` (AVX-512, doubles) results that are streamed go straight from registers.

    Strides are in elements. ``scratch`` must hold the inputs, the outputs and two
    spare vectors per lane, aligned to the vector size.
    """
    real = "float" if single_precision else "double"
    size = 4 if single_precision else 8
    vec = f"<{lanes} x {real}>"
    mask = f"<{lanes} x i1>"
    longs = f"<{lanes} x i64>"
    wide = lanes * size
    ramp = ", ".join(f"i64 {k}" for k in range(lanes))
    suffix = f"v{lanes}{'f32' if single_precision else 'f64'}"

    def transpose(names: list[str], prefix: str) -> tuple[list[str], list[str]]:
        """Exchange rows and columns of a square of vectors by swapping halves, quarters, ..."""
        lines: list[str] = []
        current, stage = list(names), 0
        d = lanes // 2
        while d:
            fresh = list(current)
            for i in range(lanes):
                if i & d:
                    continue
                a, b = current[i], current[i + d]
                low = ", ".join(f"i32 {lane if not lane & d else lane - d + lanes}" for lane in range(lanes))
                high = ", ".join(f"i32 {lane + d if not lane & d else lane + lanes}" for lane in range(lanes))
                for row, pattern in ((i, low), (i + d, high)):
                    fresh[row] = f"%{prefix}{stage}_{row}"
                    lines.append(f"  {fresh[row]} = shufflevector {vec} {a}, {vec} {b}, <{lanes} x i32> <{pattern}>")
            current, stage, d = fresh, stage + 1, d // 2
        return lines, current

    in_lines, in_columns = transpose([f"%r{k}" for k in range(lanes)], "x")
    out_lines, out_rows = transpose([f"%c{k}" for k in range(lanes)], "y")

    text = [
        f"declare {vec} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vec})",
        f"declare void @llvm.masked.store.{suffix}.p0({vec}, ptr, i32, {mask})",
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.cttz.i64(i64, i1)",
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mask})",
        f"define i64 @{RUN}(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile_area) {{",
        "entry:",
        *_unpack_job(),
        *(_rounds(lanes) if whole_lines else []),
        "  %last = sub i64 %stop, 1",
        "  %any = icmp slt i64 %start, %stop",
        "  br i1 %any, label %tile, label %done",
        "tile:",
        "  %base = phi i64 [ %start, %entry ], [ %next_base, %tile_end ]",
        "  %doubts = phi i64 [ 0, %entry ], [ %doubts_next, %tile_end ]",
        *(_round() if whole_lines else []),
        "  br label %argument",
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
        text += [
            *([f"  %i{k}_far = mul i64 {k}, %step"] if whole_lines else []),
            f"  %i{k} = add i64 %base, {f'%i{k}_far' if whole_lines else k}",
            f"  %k{k} = call i64 @llvm.smin.i64(i64 %i{k}, i64 %last)",
            f"  %f{k} = mul i64 %k{k}, %s",
            f"  %row{k} = getelementptr {real}, ptr %p, i64 %f{k}",
        ]
    text += [
        "  br label %block",
        "block:",
        "  %c = phi i64 [ 0, %rows ], [ %c_next, %block_body ]",
        "  %more = icmp slt i64 %c, %n",
        "  br i1 %more, label %block_body, label %argument_end",
        "block_body:",
        "  %left = sub i64 %n, %c",
        f"  %left_one = insertelement <{lanes} x i64> poison, i64 %left, i64 0",
        f"  %left_all = shufflevector {longs} %left_one, {longs} poison, <{lanes} x i32> zeroinitializer",
        f"  %mask = icmp slt <{lanes} x i64> <{ramp}>, %left_all",
    ]
    for k in range(lanes):
        text += [
            f"  %cell{k} = getelementptr {real}, ptr %row{k}, i64 %c",
            f"  %r{k} = call {vec} @llvm.masked.load.{suffix}.p0"
            f"(ptr %cell{k}, i32 {size}, {mask} %mask, {vec} zeroinitializer)",
        ]
    text += in_lines
    text += ["  %column = add i64 %at, %c"]
    for k in range(lanes):
        text += [
            f"  %slot{k}_i = add i64 %column, {k}",
            f"  %slot{k} = getelementptr {vec}, ptr %scratch, i64 %slot{k}_i",
            f"  store {vec} {in_columns[k]}, ptr %slot{k}, align {wide}",
        ]
    text += [
        f"  %c_next = add i64 %c, {lanes}",
        "  br label %block",
        "argument_end:",
        "  %j_next = add i64 %j, 1",
        "  %at_next = add i64 %at, %n",
        "  br label %argument",
        # the kernel, its results behind the inputs
        "compute:",
        f"  %gap = add i64 %at, {lanes}",
        f"  %first_area = getelementptr {vec}, ptr %scratch, i64 %gap",
        f"  %result = select i1 {'%odd, ptr %second_area' if whole_lines else 'false, ptr null'}, ptr %first_area",
        "  %unguarded = icmp eq ptr %guard, null",
        "  br i1 %unguarded, label %calculate, label %ask",
        "ask:",
        "  call void %guard(ptr %scratch, ptr %result)",
        f"  %verdicts = load {vec}, ptr %result, align {wide}",
        f"  %bad_lanes = fcmp ogt {vec} %verdicts, zeroinitializer",
        f"  %bad = call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %bad_lanes)",
        "  %bad_bit = zext i1 %bad to i64",
        "  br label %calculate",
        "calculate:",
        "  %doubt = phi i64 [ 0, %compute ], [ %bad_bit, %ask ]",
        "  %doubts_next = or i64 %doubts, %doubt",
        f"  call void %kernel(ptr %scratch, ptr %result, ptr %context{', ptr %parcel' if whole_lines else ''})",
        # outputs
        "  %out_start = mul i64 %base, %out_length",
        f"  %final = getelementptr {real}, ptr %out, i64 %out_start",
        "  %streaming = icmp ne ptr %tile_area, null",
        *(_by_lines() if whole_lines else []),
        f"  %chunk = select i1 %streaming, i64 {CHUNK}, i64 %out_length",
        "  br label %out_chunk",
        "out_chunk:",
        f"  %d0 = phi i64 [ 0, %{'by_chunks' if whole_lines else 'calculate'} ], [ %d1, %chunk_end ]",
        "  %more_chunks = icmp slt i64 %d0, %out_length",
        "  br i1 %more_chunks, label %chunk_body, label %tile_end",
        "chunk_body:",
        "  %d1_far = add i64 %d0, %chunk",
        "  %d1 = call i64 @llvm.smin.i64(i64 %d1_far, i64 %out_length)",
        f"  %final_chunk = getelementptr {real}, ptr %final, i64 %d0",
        "  %dest = select i1 %streaming, ptr %tile_area, ptr %final_chunk",
        "  br label %out_block",
        "out_block:",
        "  %d = phi i64 [ %d0, %chunk_body ], [ %d_next, %out_end ]",
        "  %more_out = icmp slt i64 %d, %d1",
        "  br i1 %more_out, label %out_body, label %written",
        "out_body:",
        "  %within = sub i64 %d, %d0",
        "  %oleft = sub i64 %d1, %d",
        f"  %oleft_one = insertelement <{lanes} x i64> poison, i64 %oleft, i64 0",
        f"  %oleft_all = shufflevector {longs} %oleft_one, {longs} poison, <{lanes} x i32> zeroinitializer",
        f"  %omask = icmp slt <{lanes} x i64> <{ramp}>, %oleft_all",
    ]
    for k in range(lanes):
        text += [
            f"  %from{k}_i = add i64 %d, {k}",
            f"  %from{k}_at = getelementptr i32, ptr %places, i64 %from{k}_i",
            f"  %from{k}_place = load i32, ptr %from{k}_at",
            f"  %from{k}_bytes = zext i32 %from{k}_place to i64",
            f"  %from{k} = getelementptr i8, ptr %result, i64 %from{k}_bytes",
            f"  %c{k} = load {vec}, ptr %from{k}, align {wide}",
        ]
    text += out_lines
    text += ["  br label %write0"]
    for k in range(lanes):
        follow = f"%write{k + 1}" if k + 1 < lanes else "%out_end"
        text += [
            f"write{k}:",
            f"  %w{k} = add i64 %base, {k}",
            f"  %valid{k} = icmp slt i64 %w{k}, %stop",
            f"  br i1 %valid{k}, label %do{k}, label %out_end",
            f"do{k}:",
            f"  %g{k} = mul i64 {k}, %chunk",
            f"  %h{k} = add i64 %g{k}, %within",
            f"  %to{k} = getelementptr {real}, ptr %dest, i64 %h{k}",
            f"  call void @llvm.masked.store.{suffix}.p0({vec} {out_rows[k]}, ptr %to{k}, i32 {size}, {mask} %omask)",
            f"  br label {follow}",
        ]
    text += [
        "out_end:",
        f"  %d_next = add i64 %d, {lanes}",
        "  br label %out_block",
        "written:",
        "  br i1 %streaming, label %stream, label %chunk_end",
        *_stream(real, vec, lanes, size),
        "chunk_end:",
        "  br label %out_chunk",
        "tile_end:",
        *(_next_of_round(lanes) if whole_lines else [f"  %next_base = add i64 %base, {lanes}"]),
        "  %more_tiles = icmp slt i64 %next_base, %stop",
        "  br i1 %more_tiles, label %tile, label %done",
        "done:",
        "  %answer = phi i64 [ 0, %entry ], [ %doubts_next, %tile_end ]",
        *([f"  call void @{parcel.DELIVER}(ptr %parcel)"] if whole_lines else []),
        "  fence seq_cst",
        "  ret i64 %answer",
        "}",
        *_whole_job(),
        *(parcel.parcel_functions() if whole_lines else []),
        "!0 = !{i32 1}",
        "",
    ]
    return "\n".join(text)


# States whose results go out in whole lines are computed in rounds: of 8 g consecutive states first
# number 0, g, 2 g, ..., then 1, g + 1, ...; see parcel.  What does not fill a round comes in order.


def _rounds(lanes: int) -> list[str]:
    """Where rounds end; they need long rows of whole numbers of doubles."""
    return [
        *parcel.empty_parcel("%parcel"),
        "  %second_area = getelementptr i8, ptr %scratch, i64 %second",
        "  %sends = icmp ne i64 %second, 0",
        f"  %fraction = or i64 %out_length, {lanes}",
        "  %fraction_bits = call i64 @llvm.cttz.i64(i64 %fraction, i1 true)",
        f"  %g = lshr i64 {lanes}, %fraction_bits",
        f"  %round = mul i64 %g, {lanes}",
        "  %row_bytes = mul i64 %out_length, 8",
        "  %apart = mul i64 %row_bytes, %g",
        "  %states = sub i64 %stop, %start",
        "  %round_part = sub i64 %round, 1",
        "  %beyond_rounds = and i64 %states, %round_part",
        "  %in_whole_rounds = sub i64 %states, %beyond_rounds",
        f"  %long = icmp sge i64 %out_length, {LONG_ROW}",
        "  %out_bits = ptrtoint ptr %out to i64",
        "  %out_part = and i64 %out_bits, 7",
        "  %whole_doubles = icmp eq i64 %out_part, 0",
        "  %lines_fit = and i1 %long, %whole_doubles",
        "  %in_rounds = select i1 %lines_fit, i64 %in_whole_rounds, i64 0",
        "  %rounds_stop = add i64 %start, %in_rounds",
    ]


def _round() -> list[str]:
    """Whether this tile belongs to a round, and how far apart its states are."""
    return [
        "  %odd = phi i1 [ false, %entry ], [ %odd_next, %tile_end ]",
        "  %odd_next = xor i1 %odd, %sends",
        "  %by_lines = icmp slt i64 %base, %rounds_stop",
        "  %step = select i1 %by_lines, i64 %g, i64 1",
    ]


def _next_of_round(lanes: int) -> list[str]:
    """The next tile of this round, the first of the next round, or the next one in order."""
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


def _by_lines() -> list[str]:
    """A tile of a round: whole lines, past the caches or not, at once or with the next tile."""
    arguments = "ptr %parcel, ptr %sender, ptr %result, ptr %places, ptr %final, i64 %out_length, i64 %apart"
    return [
        f"  call void @{parcel.DELIVER}(ptr %parcel)",
        "  br i1 %by_lines, label %lines, label %by_chunks",
        "lines:",
        f"  %sender = select i1 %streaming, ptr @{parcel.SEND}, ptr @{parcel.SEND_CACHED}",
        f"  call void @{parcel.PACK}({arguments})",
        "  br i1 %sends, label %tile_end, label %deliver",
        "deliver:",
        f"  call void @{parcel.DELIVER}(ptr %parcel)",
        "  br label %tile_end",
        "by_chunks:",
    ]


def _whole_job() -> list[str]:
    """All of a job in this thread."""
    loads = [
        line
        for name in _OWN
        for line in (
            f"  %{name}_at = getelementptr i8, ptr %job, i64 {JOB_AT[name]}",
            f"  %{name} = load {_WORDS[name]}, ptr %{name}_at",
        )
    ]
    call = f"  %answer = call i64 @{RUN}(ptr %job, ptr %scratch, i64 %start, i64 %stop, ptr %tile_area)"
    return [f"define i64 @{SYMBOL}(ptr %job) {{", *loads, call, "  ret i64 %answer", "}"]


def _stream(real: str, vec: str, lanes: int, size: int) -> list[str]:
    """Copy the rows of a finished chunk to their places with stores that bypass the caches, where alignment allows."""
    wide = lanes * size
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

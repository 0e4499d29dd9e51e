"""Results of eight states straight from registers to memory in whole cache lines (AVX-512).

Each state's results are a row of memory that begins anywhere.  Squares of eight results of
eight states are transposed in registers; of two neighbouring squares a row's aligned line is
put together by one permutation, so that every store but the first and the last ones of a row
is a full line.  Past the caches (streamed) such a line need not be read before it is written.
Squares of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast.
"""

from __future__ import annotations

SYMBOL, CACHED_SYMBOL = "stream_tile", "write_tile"
LANES = 8
"""States at a time."""

_VEC, _LONGS, _PLACES = "<8 x double>", "<8 x i64>", "<8 x i32>"
_ROWS = range(LANES)
_RAMP = ", ".join(f"i64 {i}" for i in _ROWS)


def stream_functions() -> list[str]:
    """LLVM assembly of ``stream_tile(result, places, rows, length)`` and of ``write_tile``, which uses the caches.

    ``places`` says where each result is behind ``result``, in bytes; ``rows`` are the states'
    places in memory, one after another.  The length is at least eight.
    """
    return [
        f"declare {_VEC} @llvm.x86.avx512.vpermi2var.pd.512({_VEC}, {_LONGS}, {_VEC})",
        "declare i1 @llvm.vector.reduce.and.v8i1(<8 x i1>)",
        *_function(SYMBOL, ", !nontemporal !0"),
        *_function(CACHED_SYMBOL, ""),
    ]


def _function(name: str, hint: str) -> list[str]:
    return [
        f"define internal void @{name}(ptr %result, ptr %places, ptr %rows, i64 %length) noinline {{",
        "entry:",
        *(line for k in _ROWS for line in _row(k)),
        "  br label %square",
        "square:",
        "  %d = phi i64 [ 0, %entry ], [ %d_next, %onward ]",
        *(f"  %last{k} = phi {_VEC} [ zeroinitializer, %entry ], [ %now{k}, %onward ]" for k in _ROWS),
        "  %from_at = getelementptr i32, ptr %places, i64 %d",
        f"  %from = load {_PLACES}, ptr %from_at, align 4",
        f"  %first = shufflevector {_PLACES} %from, {_PLACES} poison, {_PLACES} zeroinitializer",
        f"  %equal = icmp eq {_PLACES} %from, %first",
        "  %same = call i1 @llvm.vector.reduce.and.v8i1(<8 x i1> %equal)",
        "  br i1 %same, label %broadcast, label %transpose",
        "broadcast:",
        *_broadcast(),
        "  br label %join",
        "transpose:",
        *_transpose(),
        "  br label %join",
        "join:",
        *(f"  %now{k} = phi {_VEC} [ %b{k}, %broadcast ], [ %z{k}, %transpose ]" for k in _ROWS),
        "  %d_next = add i64 %d, 8",
        "  %is_first = icmp eq i64 %d, 0",
        "  br i1 %is_first, label %heads, label %body",
        "heads:",
        *(line for k in _ROWS for line in _head(k)),
        "  br label %onward",
        "body:",
        "  %inside = icmp sle i64 %d_next, %length",
        "  br i1 %inside, label %lines, label %tails",
        "lines:",
        *(line for k in _ROWS for line in (*_line(k, ""), _store(k, hint))),
        "  br label %onward",
        "onward:",
        "  br label %square",
        "tails:",  # this square reaches beyond the end of the row, or lies there altogether
        *(line for k in _ROWS for line in (*_line(k, "end_"), *_tail(k))),
        "  ret void",
        "}",
    ]


def _row(k: int) -> list[str]:
    """Where row k begins, and how many numbers before its first whole line."""
    return [
        f"  %row{k}_offset = mul i64 %length, {k}",
        f"  %row{k} = getelementptr double, ptr %rows, i64 %row{k}_offset",
        f"  %row{k}_bits = ptrtoint ptr %row{k} to i64",
        f"  %row{k}_up = sub i64 0, %row{k}_bits",
        f"  %row{k}_gap = and i64 %row{k}_up, 63",
        f"  %head{k} = lshr i64 %row{k}_gap, 3",
        f"  %head{k}_one = insertelement {_LONGS} poison, i64 %head{k}, i64 0",
        f"  %head{k}_all = shufflevector {_LONGS} %head{k}_one, {_LONGS} poison, <8 x i32> zeroinitializer",
        f"  %pick{k} = add {_LONGS} %head{k}_all, <{_RAMP}>",
    ]


def _broadcast() -> list[str]:
    """All eight results are one: row k is its value in lane k."""
    lines = [
        f"  %one = extractelement {_PLACES} %from, i64 0",
        "  %one_bytes = zext i32 %one to i64",
        "  %source = getelementptr i8, ptr %result, i64 %one_bytes",
    ]
    for k in _ROWS:
        lines += [
            f"  %value{k}_at = getelementptr double, ptr %source, i64 {k}",
            f"  %value{k} = load double, ptr %value{k}_at",
            f"  %value{k}_one = insertelement {_VEC} poison, double %value{k}, i64 0",
            f"  %b{k} = shufflevector {_VEC} %value{k}_one, {_VEC} poison, <8 x i32> zeroinitializer",
        ]
    return lines


def _transpose() -> list[str]:
    """Exchange halves while loading, then quarters, then neighbours."""
    half, lines = "<4 x double>", []
    for k in _ROWS:
        lines += [
            f"  %place{k} = extractelement {_PLACES} %from, i64 {k}",
            f"  %place{k}_bytes = zext i32 %place{k} to i64",
            f"  %low{k}_at = getelementptr i8, ptr %result, i64 %place{k}_bytes",
            f"  %high{k}_at = getelementptr i8, ptr %low{k}_at, i64 32",
            f"  %low{k} = load {half}, ptr %low{k}_at, align 32",
            f"  %high{k} = load {half}, ptr %high{k}_at, align 32",
        ]
    both = ", ".join(f"i32 {i}" for i in _ROWS)
    for k in range(4):
        lines += [
            f"  %x{k} = shufflevector {half} %low{k}, {half} %low{k + 4}, <8 x i32> <{both}>",
            f"  %x{k + 4} = shufflevector {half} %high{k}, {half} %high{k + 4}, <8 x i32> <{both}>",
        ]
    for name, source, d in (("y", "x", 2), ("z", "y", 1)):
        low = ", ".join(f"i32 {i if not i & d else i - d + 8}" for i in _ROWS)
        high = ", ".join(f"i32 {i + d if not i & d else i + 8}" for i in _ROWS)
        for k in (k for k in _ROWS if not k & d):
            pair = f"{_VEC} %{source}{k}, {_VEC} %{source}{k + d}"
            lines += [
                f"  %{name}{k} = shufflevector {pair}, <8 x i32> <{low}>",
                f"  %{name}{k + d} = shufflevector {pair}, <8 x i32> <{high}>",
            ]
    return lines


def _line(k: int, prefix: str) -> list[str]:
    """A line: the end of the square before and the beginning of this one."""
    name = f"%{prefix}line{k}"
    return [
        f"  {name} = call {_VEC} @llvm.x86.avx512.vpermi2var.pd.512"
        f"({_VEC} %last{k}, {_LONGS} %pick{k}, {_VEC} %now{k})",
        f"  {name}_end = add i64 %d, %head{k}",
        f"  {name}_i = sub i64 {name}_end, 8",
        f"  {name}_at = getelementptr double, ptr %row{k}, i64 {name}_i",
    ]


def _store(k: int, hint: str) -> str:
    return f"  store {_VEC} %line{k}, ptr %line{k}_at, align 64{hint}"


def _masked(value: str, at: str, mask: str) -> str:
    return f"  call void @llvm.masked.store.v8f64.p0({_VEC} {value}, ptr {at}, i32 8, <8 x i1> {mask})"


def _head(k: int) -> list[str]:
    """What comes before the first whole line, which is shared with the row before."""
    return [
        f"  %head{k}_mask = icmp slt {_LONGS} <{_RAMP}>, %head{k}_all",
        _masked(f"%now{k}", f"%row{k}", f"%head{k}_mask"),
    ]


def _tail(k: int) -> list[str]:
    """What comes after the last whole line: perhaps a line, and what is left of this square."""
    return [
        f"  %tail{k}_left = sub i64 %length, %end_line{k}_i",
        f"  %tail{k}_one = insertelement {_LONGS} poison, i64 %tail{k}_left, i64 0",
        f"  %tail{k}_all = shufflevector {_LONGS} %tail{k}_one, {_LONGS} poison, <8 x i32> zeroinitializer",
        f"  %tail{k}_mask = icmp slt {_LONGS} <{_RAMP}>, %tail{k}_all",
        _masked(f"%end_line{k}", f"%end_line{k}_at", f"%tail{k}_mask"),
        f"  %rest{k}_left = sub i64 %length, %d",
        f"  %rest{k}_one = insertelement {_LONGS} poison, i64 %rest{k}_left, i64 0",
        f"  %rest{k}_all = shufflevector {_LONGS} %rest{k}_one, {_LONGS} poison, <8 x i32> zeroinitializer",
        f"  %rest{k}_before = icmp slt {_LONGS} <{_RAMP}>, %rest{k}_all",
        f"  %rest{k}_after = icmp sge {_LONGS} <{_RAMP}>, %head{k}_all",
        f"  %rest{k}_mask = and <8 x i1> %rest{k}_before, %rest{k}_after",
        f"  %rest{k}_at = getelementptr double, ptr %row{k}, i64 %d",
        _masked(f"%now{k}", f"%rest{k}_at", f"%rest{k}_mask"),
    ]

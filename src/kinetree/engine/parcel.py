"""Results of eight states straight from registers to memory in whole cache lines (AVX-512).

Squares of eight results of eight states are transposed in registers; each row of a square is
then a cache line of one state's results, if the rows of the states all begin at the same
distance from a line.  Consecutive states do so only if their rows are whole lines long, but
every eighth state always does: the driver picks states that are :func:`apart` from one another.
Past the caches (streamed) such a line need not be read before it is written.
Squares of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast.

Memory takes a line far more slowly than the processor makes one.  So the results of a tile are
a *parcel* that a kernel sends on, square by square, while it computes the next tile: ``pack``
begins a parcel, ``send`` is what kernels call every few operations, ``deliver`` does what is left.
"""

from __future__ import annotations

import math

PACK, SEND, SEND_CACHED, DELIVER = "pack_parcel", "send_square", "send_square_cached", "deliver_parcel"
LANES = 8
"""States at a time, and numbers in a line."""

CONVENTION = "intel_ocl_bicc"
"""How ``send`` is called: half of the vector registers of the kernel that calls it survive."""

_VEC, _PLACES = "<8 x double>", "<8 x i32>"
_ROWS = range(LANES)

# A parcel, in bytes: which function sends it on, what is sent, how much of it is done, where to.
_SENDER, _RESULT, _TABLE, _DONE, _LENGTH, _ROWS_AT, _APART = range(0, 56, 8)
PARCEL_BYTES = 64


def apart(length: int) -> int:
    """Of so many states one is taken, so that rows of this length begin at the same distance from a line."""
    return LANES // math.gcd(length, LANES)


def parcel_functions() -> list[str]:
    """LLVM assembly of three functions and of the two senders, past the caches or into them.

    ``pack_parcel(parcel, sender, result, places, rows, length, apart)`` begins: ``places`` says where each
    result is behind ``result``, in bytes; ``rows`` is where the first state's results go and ``apart`` how many
    bytes are between one row and the next, whole lines.  The length is at least eight.
    """
    return [
        *_pack(),
        *_send(SEND, ", !nontemporal !0"),
        *_send(SEND_CACHED, ""),
        *_deliver(),
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


def _pack() -> list[str]:
    """What comes before the first whole line is written at once: that line is shared with another row."""
    parameters = "ptr %parcel, ptr %sender, ptr %result, ptr %places, ptr %rows, i64 %length, i64 %apart"
    return [
        f"define internal void @{PACK}({parameters}) {{",
        "  %bits = ptrtoint ptr %rows to i64",
        "  %up = sub i64 0, %bits",
        f"  %gap = and i64 %up, {8 * LANES - 1}",
        "  %head = lshr i64 %gap, 3",
        *_set(_SENDER, "ptr %sender"),
        *_set(_RESULT, "ptr %result"),
        *_set(_TABLE, "ptr %places"),
        *_set(_DONE, "i64 %head"),
        *_set(_LENGTH, "i64 %length"),
        *_set(_ROWS_AT, "ptr %rows"),
        *_set(_APART, "i64 %apart"),
        "  %d = add i64 0, 0",
        *_square(),
        *_store_some("%head"),
        "  ret void",
        "}",
    ]


def _send(name: str, hint: str) -> list[str]:
    """Send the next lines on, unless they are the last ones, which may not be whole."""
    return [
        f"define internal {CONVENTION} void @{name}(ptr %parcel) noinline {{",
        *_get("d", _DONE, "i64"),
        *_get("length", _LENGTH, "i64"),
        f"  %d_next = add i64 %d, {LANES}",
        "  %inside = icmp sle i64 %d_next, %length",
        "  br i1 %inside, label %body, label %end",
        "body:",
        *_get_contents(),
        *_set(_DONE, "i64 %d_next"),
        *_square(),
        *(line for k in _ROWS for line in (*_row(k), f"  store {_VEC} %now{k}, ptr %to{k}, align 64{hint}")),
        "  br label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _deliver() -> list[str]:
    """Send what is left."""
    return [
        f"define internal void @{DELIVER}(ptr %parcel) {{",
        "entry:",
        "  %sender = load ptr, ptr %parcel",
        *_get("length", _LENGTH, "i64"),
        "  %empty = icmp eq i64 %length, 0",
        "  br i1 %empty, label %end, label %line",
        "line:",
        *_get("d", _DONE, "i64"),
        f"  %d_next = add i64 %d, {LANES}",
        "  %inside = icmp sle i64 %d_next, %length",
        "  br i1 %inside, label %send, label %last",
        "send:",
        f"  call {CONVENTION} void %sender(ptr %parcel)",
        "  br label %line",
        "last:",
        "  %left = sub i64 %length, %d",
        "  %ends_with_line = icmp eq i64 %left, 0",
        "  br i1 %ends_with_line, label %done, label %rest",
        "rest:",
        *_get_contents(),
        *_square(),
        *_store_some("%left"),
        "  br label %done",
        "done:",
        *_set(_LENGTH, "i64 0"),
        *_set(_DONE, "i64 0"),
        "  br label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _square() -> list[str]:
    """Results ``%d`` to ``%d + 7`` of state k as ``%now<k>``."""
    return [
        "  %from = getelementptr i32, ptr %places, i64 %d",
        "  %from_next = getelementptr i32, ptr %from, i64 1",
        f"  %here = load {_PLACES}, ptr %from, align 4",
        f"  %there = load {_PLACES}, ptr %from_next, align 4",
        f"  %equal = icmp eq {_PLACES} %here, %there",
        "  %equal_bits = bitcast <8 x i1> %equal to i8",
        "  %equal_to_next = and i8 %equal_bits, 127",
        "  %same = icmp eq i8 %equal_to_next, 127",
        "  br i1 %same, label %broadcast, label %transpose",
        "broadcast:",
        *_broadcast(),
        "  br label %join",
        "transpose:",
        *_transpose(),
        "  br label %join",
        "join:",
        *(f"  %now{k} = phi {_VEC} [ %b{k}, %broadcast ], [ %z{k}, %transpose ]" for k in _ROWS),
    ]


def _source(k: int, suffix: str = "") -> list[str]:
    """Where the k-th result of a square is, for all states."""
    name = f"%source{k}{suffix}"
    return [
        f"  {name}_at = getelementptr i32, ptr %from, i64 {k}",
        f"  {name}_place = load i32, ptr {name}_at",
        f"  {name}_bytes = zext i32 {name}_place to i64",
        f"  {name} = getelementptr i8, ptr %result, i64 {name}_bytes",
    ]


def _broadcast() -> list[str]:
    """All eight results are one: row k is its value in lane k."""
    lines = _source(0, "_all")
    for k in _ROWS:
        lines += [
            f"  %value{k}_at = getelementptr double, ptr %source0_all, i64 {k}",
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
            *_source(k),
            f"  %high{k}_at = getelementptr i8, ptr %source{k}, i64 32",
            f"  %low{k} = load {half}, ptr %source{k}, align 32",
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


def _row(k: int) -> list[str]:
    """Where the results of state k from ``%d`` on go."""
    return [
        f"  %row{k}_offset = mul i64 %apart, {k}",
        f"  %row{k} = getelementptr i8, ptr %rows, i64 %row{k}_offset",
        f"  %to{k} = getelementptr double, ptr %row{k}, i64 %d",
    ]


def _store_some(count: str) -> list[str]:
    """Store the first so many numbers of each row."""
    ramp = ", ".join(f"i64 {i}" for i in _ROWS)
    stores = (
        (*_row(k), f"  call void @llvm.masked.store.v8f64.p0({_VEC} %now{k}, ptr %to{k}, i32 8, <8 x i1> %some)")
        for k in _ROWS
    )
    return [
        f"  %count_one = insertelement <8 x i64> poison, i64 {count}, i64 0",
        "  %count_all = shufflevector <8 x i64> %count_one, <8 x i64> poison, <8 x i32> zeroinitializer",
        f"  %some = icmp slt <8 x i64> <{ramp}>, %count_all",
        *(line for lines in stores for line in lines),
    ]

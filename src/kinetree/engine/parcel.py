"""Results of eight states straight from registers to memory in whole cache lines (AVX-512).

Each state's results are a row of memory that begins anywhere.  Squares of eight results of
eight states are transposed in registers; of two neighbouring squares a row's aligned line is
put together by one permutation, so that every store but the first and the last ones of a row
is a full line.  Past the caches (streamed) such a line need not be read before it is written.
Squares of one and the same result (the zeros of a sparse matrix) are not transposed but broadcast.

Memory takes a line far more slowly than the processor makes one.  So the results of a tile are
a *parcel* that a kernel sends on, square by square, while it computes the next tile: ``pack``
begins a parcel, ``send`` is what kernels call every few operations, ``deliver`` does what is left.
"""

from __future__ import annotations

PACK, SEND, SEND_CACHED, DELIVER = "pack_parcel", "send_square", "send_square_cached", "deliver_parcel"
LANES = 8
"""States at a time."""

CONVENTION = "intel_ocl_bicc"
"""How ``send`` is called: half of the vector registers of the kernel that calls it survive."""

_VEC, _LONGS, _PLACES = "<8 x double>", "<8 x i64>", "<8 x i32>"
_ROWS = range(LANES)
_RAMP = ", ".join(f"i64 {i}" for i in _ROWS)

# A parcel, in bytes: which function sends it on, what is sent, how much of it, and for each row
# where it goes, how many numbers come before its first whole line, which numbers of two
# neighbouring squares make a line, and the square that was sent last.
_SENDER, _RESULT, _TABLE, _DONE, _LENGTH = range(0, 40, 8)
_TO, _PICK, _LAST = 64, 128, 640
PARCEL_BYTES = 1152


def parcel_functions() -> list[str]:
    """LLVM assembly of three functions and of the two senders, past the caches or into them.

    ``pack_parcel(parcel, sender, result, places, rows, length)`` begins: ``places`` says where each
    result is behind ``result``, in bytes; ``rows`` are the states' places in memory, one after another.
    The length is at least eight.  A parcel whose first words are a sender and zeros is empty.
    """
    return [
        f"declare {_VEC} @llvm.x86.avx512.vpermi2var.pd.512({_VEC}, {_LONGS}, {_VEC})",
        "declare i1 @llvm.vector.reduce.and.v8i1(<8 x i1>)",
        *_pack(),
        *_send(SEND, ", !nontemporal !0"),
        *_send(SEND_CACHED, ""),
        *_deliver(),
    ]


def empty_parcel(name: str) -> list[str]:
    """Make a parcel in memory in which there is nothing to send."""
    return [
        f"  {name} = alloca i8, i64 {PARCEL_BYTES}, align 64",
        f"  store ptr @{SEND}, ptr {name}",
        *(line for at in (_DONE, _LENGTH) for line in _set(at, "i64 0", name)),
    ]


def _set(at: int, value: str, parcel: str = "%parcel") -> list[str]:
    place = f"{parcel}_at{at}"
    return [f"  {place} = getelementptr i8, ptr {parcel}, i64 {at}", f"  store {value}, ptr {place}"]


def _get(name: str, at: int, kind: str, parcel: str = "%parcel") -> list[str]:
    return [f"  %{name}_in = getelementptr i8, ptr {parcel}, i64 {at}", f"  %{name} = load {kind}, ptr %{name}_in"]


def _pack() -> list[str]:
    return [
        f"define internal void @{PACK}(ptr %parcel, ptr %sender, ptr %result, ptr %places, ptr %rows, i64 %length) {{",
        "entry:",
        *_set(_SENDER, "ptr %sender"),
        *_set(_RESULT, "ptr %result"),
        *_set(_TABLE, "ptr %places"),
        *_set(_DONE, f"i64 {LANES}"),
        *_set(_LENGTH, "i64 %length"),
        *(line for k in _ROWS for line in _row(k)),
        "  %d = add i64 0, 0",
        *_square(),
        *(line for k in _ROWS for line in _head(k)),
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
        *_set(_PICK + 64 * k, f"{_LONGS} %pick{k}"),
        f"  %before{k} = sub i64 %row{k}_gap, 64",  # a line is complete eight numbers after it began
        f"  %to{k} = getelementptr i8, ptr %row{k}, i64 %before{k}",
        *_set(_TO + 8 * k, f"ptr %to{k}"),
    ]


def _head(k: int) -> list[str]:
    """What comes before the first whole line, which is shared with the row before."""
    return [
        f"  %head{k}_mask = icmp slt {_LONGS} <{_RAMP}>, %head{k}_all",
        _masked(f"%now{k}", f"%row{k}", f"%head{k}_mask"),
        *_set(_LAST + 64 * k, f"{_VEC} %now{k}"),
    ]


def _send(name: str, hint: str) -> list[str]:
    """Send the next square on, unless it is the last one, which needs masks."""
    return [
        f"define internal {CONVENTION} void @{name}(ptr %parcel) noinline {{",
        "entry:",
        *_get("d", _DONE, "i64"),
        *_get("length", _LENGTH, "i64"),
        f"  %d_next = add i64 %d, {LANES}",
        "  %inside = icmp sle i64 %d_next, %length",
        "  br i1 %inside, label %body, label %end",
        "body:",
        *_get("result", _RESULT, "ptr"),
        *_get("places", _TABLE, "ptr"),
        *_set(_DONE, "i64 %d_next"),
        *_square(),
        *(line for k in _ROWS for line in (*_line(k), f"  store {_VEC} %line{k}, ptr %line{k}_at, align 64{hint}")),
        *(line for k in _ROWS for line in _set(_LAST + 64 * k, f"{_VEC} %now{k}")),
        "  br label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _deliver() -> list[str]:
    """Send what is left; the last square reaches beyond the end of the row, or lies there altogether."""
    return [
        f"define internal void @{DELIVER}(ptr %parcel) {{",
        "entry:",
        "  %sender = load ptr, ptr %parcel",
        *_get("length", _LENGTH, "i64"),
        "  %empty = icmp eq i64 %length, 0",
        "  br i1 %empty, label %end, label %square",
        "square:",
        *_get("d", _DONE, "i64"),
        f"  %d_next = add i64 %d, {LANES}",
        "  %inside = icmp sle i64 %d_next, %length",
        "  br i1 %inside, label %send, label %tails",
        "send:",
        f"  call {CONVENTION} void %sender(ptr %parcel)",
        "  br label %square",
        "tails:",
        *_get("result", _RESULT, "ptr"),
        *_get("places", _TABLE, "ptr"),
        *_square(),
        *(line for k in _ROWS for line in (*_line(k), *_tail(k))),
        *_set(_LENGTH, "i64 0"),
        *_set(_DONE, "i64 0"),
        "  br label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _square() -> list[str]:
    """Row k of the square that begins with result ``%d``, as ``%now<k>``."""
    return [
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


def _line(k: int) -> list[str]:
    """A line of row k: the end of the square before and the beginning of this one."""
    return [
        *_get(f"last{k}", _LAST + 64 * k, _VEC),
        *_get(f"pick{k}", _PICK + 64 * k, _LONGS),
        *_get(f"to{k}", _TO + 8 * k, "ptr"),
        f"  %line{k} = call {_VEC} @llvm.x86.avx512.vpermi2var.pd.512"
        f"({_VEC} %last{k}, {_LONGS} %pick{k}, {_VEC} %now{k})",
        f"  %line{k}_at = getelementptr double, ptr %to{k}, i64 %d",
    ]


def _masked(value: str, at: str, mask: str) -> str:
    return f"  call void @llvm.masked.store.v8f64.p0({_VEC} {value}, ptr {at}, i32 8, <8 x i1> {mask})"


def _up_to(name: str, count: str) -> list[str]:
    """A mask of the first so many lanes."""
    return [
        f"  %{name}_one = insertelement {_LONGS} poison, i64 {count}, i64 0",
        f"  %{name}_all = shufflevector {_LONGS} %{name}_one, {_LONGS} poison, <8 x i32> zeroinitializer",
        f"  %{name} = icmp slt {_LONGS} <{_RAMP}>, %{name}_all",
    ]


def _tail(k: int) -> list[str]:
    """What comes after the last whole line: perhaps a line, and what is left of this square."""
    return [
        f"  %head{k} = extractelement {_LONGS} %pick{k}, i64 0",
        f"  %left{k} = sub i64 %length, %d",
        f"  %tail{k}_before = sub i64 %left{k}, %head{k}",
        f"  %tail{k}_left = add i64 %tail{k}_before, {LANES}",
        *_up_to(f"tail{k}", f"%tail{k}_left"),
        _masked(f"%line{k}", f"%line{k}_at", f"%tail{k}"),
        *_up_to(f"rest{k}", f"%left{k}"),
        *_up_to(f"sent{k}", f"%head{k}"),
        f"  %unsent{k} = xor <8 x i1> %sent{k}, splat (i1 true)",
        f"  %rest{k}_mask = and <8 x i1> %rest{k}, %unsent{k}",
        f"  %row{k}_back = sub i64 {LANES}, %head{k}",
        f"  %rest{k}_at = getelementptr double, ptr %line{k}_at, i64 %row{k}_back",
        _masked(f"%now{k}", f"%rest{k}_at", f"%rest{k}_mask"),
    ]

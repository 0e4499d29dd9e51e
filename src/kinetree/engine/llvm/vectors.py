"""The form of a kernel's values: numbers of one state, or of as many states as there are lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .assembly import Value, typed

LINE = 64
"""Bytes in a cache line."""


NARROW = 16
"""Bytes of the shortest vectors."""


@dataclass(frozen=True)
class Vectors:
    """The form of the values that code computes with."""

    lanes: int
    """States per value; 1 for scalar code.  May be more than a register holds: LLVM then uses several."""
    single_precision: bool = False
    """Numbers are floats instead of doubles."""
    fused: bool = True
    """Whether the processor multiplies and adds in one operation with one rounding."""
    masks: bool = False
    """Whether it loads and stores some lanes of a vector as quickly as all of them."""
    registers: int = 32
    """How many vector registers there are."""
    clears: bool = False
    """Whether there is an instruction that sets a line to zero past the caches (AMD's ``clzero``)."""

    @property
    def real(self) -> str:
        """LLVM's name for a number."""
        return "float" if self.single_precision else "double"

    @property
    def item(self) -> int:
        """The number of bytes of a number."""
        return 4 if self.single_precision else 8

    @property
    def size(self) -> int:
        """The number of bytes of a value."""
        return self.item * self.lanes

    @property
    def type(self) -> str:
        """LLVM's name for a value."""
        return self.of(self.real)

    @property
    def suffix(self) -> str:
        """The suffix of intrinsics on values."""
        return (f"v{self.lanes}" if self.lanes > 1 else "") + ("f32" if self.single_precision else "f64")

    @property
    def per_line(self) -> int:
        """The numbers in a cache line, at least as many as in a vector."""
        return LINE // self.item

    @property
    def few_registers(self) -> bool:
        """Whether it pays to plan which values are kept in registers; see :mod:`.registers`."""
        return self.registers < 32

    @property
    def some_tiles(self) -> bool:
        """Whether long kernels compute several tiles at once; see :mod:`.split_kernels`.

        With few lanes it takes longer to fetch and decode instructions than to run them.
        """
        return self.lanes > 1 and self.size <= NARROW and self.few_registers and not self.sends

    @property
    def sends(self) -> bool:
        """Whether kernels send results on while they compute; see :mod:`.streaming`.

        That takes a calling convention in which some vector registers of the caller survive.  There is one that
        works for registers that AVX-512 has and other processors do not.
        """
        return self.masks

    @property
    def sender(self) -> str:
        """The calling convention of functions that send."""
        return "intel_ocl_bicc" if self.sends else "ccc"

    @property
    def one(self) -> Vectors:
        """The same form for one state."""
        return replace(self, lanes=1)

    def of(self, element: str) -> str:
        """Return LLVM's name for a value with other elements."""
        return f"<{self.lanes} x {element}>" if self.lanes > 1 else element


SCALARS = Vectors(1)
"""Doubles of one state."""


def shuffled(a: Value, b: Value, lanes: Sequence[int]) -> Value:
    """Return some lanes of two vectors, those of the second one counted after those of the first."""
    picked = ", ".join(f"i32 {lane}" for lane in lanes)
    element = a.type.partition(" x ")[2][:-1]
    text = f"shufflevector {typed(a)}, {typed(b)}, <{len(lanes)} x i32> <{picked}>"
    return a.f.op(text, f"<{len(lanes)} x {element}>", "lanes")


def gathered(values: Sequence[Value]) -> Value:
    """Return numbers as the lanes of a vector."""
    kind = f"<{len(values)} x {values[0].type}>"
    vector = Value(values[0].f, kind, "poison")
    for k, value in enumerate(values):
        vector = value.f.op(f"insertelement {typed(vector)}, {typed(value)}, i64 {k}", kind, "lanes")
    return vector


def spread(value: Value, lanes: int) -> Value:
    """Return a number in all lanes of a vector."""
    kind = f"<{lanes} x {value.type}>"
    one = value.f.op(f"insertelement {kind} poison, {typed(value)}, i64 0", kind)
    return value.f.op(f"shufflevector {typed(one)}, {kind} poison, <{lanes} x i32> zeroinitializer", kind, "spread")


def first_lanes(vectors: Vectors, count: Value) -> Value:
    """Return a mask of the first ``count`` lanes."""
    ramp = ", ".join(f"i64 {k}" for k in range(vectors.lanes))
    return Value(count.f, f"<{vectors.lanes} x i64>", f"<{ramp}>") < spread(count, vectors.lanes)


def transpose_loaded(vectors: Vectors, sources: Sequence[Value]) -> list[Value]:
    """Load a square of numbers, from pointers to its rows, and return its columns.

    Halves are exchanged while they are loaded, which costs nothing; then quarters, ..., neighbors.
    """
    half = vectors.lanes // 2
    part, both = f"<{half} x {vectors.real}>", range(vectors.lanes)
    low, high = zip(
        *((p.load(part, vectors.item), p.at(half, vectors.real).load(part, vectors.item)) for p in sources), strict=True
    )
    rows = [shuffled(side[k], side[k + half], both) for side in (low, high) for k in range(half)]
    return _exchanged(rows, half // 2, vectors.lanes)


def transpose(rows: Sequence[Value]) -> list[Value]:
    """Return the columns of a square of values.

    If there are half as many values as lanes, each half of the lanes is a square: values ``row k | row k + half``
    become columns, and columns become such values.
    """
    lanes = int(rows[0].type[1:].partition(" ")[0])
    return _exchanged(list(rows), len(rows) // 2, lanes)


def halves(vectors: Vectors, count: Value) -> tuple[Value, Value]:
    """Return masks of the first ``count`` lanes of either half."""
    half = vectors.lanes // 2
    upper = f"<{', '.join(f'i1 {int(k >= half)}' for k in range(vectors.lanes))}>"
    mask = first_lanes(vectors, count + half)
    return first_lanes(vectors, count), mask & Value(count.f, mask.type, upper)


def _exchanged(rows: list[Value], d: int, lanes: int) -> list[Value]:
    """Exchange blocks of ``d`` numbers between rows that are ``d`` apart, then smaller ones."""
    n = len(rows)
    while d:
        low = [lane if not lane & d else lane - d + lanes for lane in range(lanes)]
        high = [lane + d if not lane & d else lane + lanes for lane in range(lanes)]
        rows = [
            shuffled(rows[i], rows[i + d], low) if not i & d else shuffled(rows[i - d], rows[i], high) for i in range(n)
        ]
        d //= 2
    return rows

"""One function in LLVM assembly, written line by line: constants, intrinsics, loads and stores of values."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from itertools import count

from .assembly import MachineFunction
from .vectors import Vectors

WINDOW = 256
"""Bytes, or vectors on AVX-512, around a pointer that instructions reach with a one-byte offset."""


def _rounded_to_single(x: float) -> float:
    """Return the nearest float; infinity beyond the largest one."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def bits_of(x: float) -> str:
    """Return a double as text that reads back exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


class Emitter:
    """Collects the lines of one function body.

    vectors: What the values are.
    within: Whose function is written on: another one, of values of another form, or :mod:`.assembly`.

    Attributes
    ----------
    numbers : dict or None
        Places of constants in a table ``@numbers`` of values, from which operations read them.  Without it, or in
        another precision, they are part of the code, and have to be spread over the lanes of a register first.
    windows : dict
        Of areas in which places are referred to in few bytes, how many windows they have; see :meth:`place`.
    """

    def __init__(self, vectors: Vectors, within: Emitter | MachineFunction | None = None) -> None:
        self.vectors = vectors
        self.lanes, self.single = vectors.lanes, vectors.single_precision
        self.real, self.type, self.size = vectors.real, vectors.type, vectors.size
        self.lines: list[str] = within.lines if within else []
        self.counter: Iterator[int] = within.counter if within else count(1)
        self.numbers: dict[str, int] | None = None
        self.windows: dict[str, int] = {}
        self._windows: dict[tuple[str, int], str] = {}

    def _suffix(self, element: str = "") -> str:
        width = "f32" if (element or self.real) == "float" else "f64"
        return (f"v{self.lanes}" if self.lanes > 1 else "") + width

    def op(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        name = f"%t{next(self.counter)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append("  " + text)

    def number(self, x: float, element: str = "") -> str:
        """Return a constant in all lanes."""
        element = element or self.real
        if element == "float":
            x = _rounded_to_single(x)
        text = f"splat ({element} {bits_of(x)})" if self.lanes > 1 else bits_of(x)
        if self.numbers is None or element != self.real:
            return text
        place = self.numbers.setdefault(text, len(self.numbers))
        where = f"getelementptr ({self.type}, ptr @numbers, i64 {place})"
        return self.op(f"load {self.type}, ptr {where}, align {self.size}")

    def spread(self, number: str, element: str = "") -> str:
        """Return a number in all lanes."""
        if self.lanes == 1:
            return number
        kind = self.vectors.of(element or self.real)
        one = self.op(f"insertelement {kind} poison, {element or self.real} {number}, i64 0")
        return self.op(f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer")

    def call(self, function: str, *args: str, element: str = "") -> str:
        """Call an elementwise intrinsic."""
        t = self.vectors.of(element or self.real)
        return self.op(f"call {t} @llvm.{function}.{self._suffix(element)}({', '.join(f'{t} {a}' for a in args)})")

    def fma(self, a: str, b: str, c: str, element: str = "") -> str:
        """Emit a b + c, with one rounding where the processor can do that."""
        if self.vectors.fused:
            return self.call("fma", a, b, c, element=element)
        t = self.vectors.of(element or self.real)
        return self.op(f"fadd {t} {self.op(f'fmul {t} {a}, {b}')}, {c}")

    def place(self, area: str, k: int) -> str:
        """Return the address of value k of an area of consecutive vectors.

        The more bytes long code has, the slower it is: it refers to values from pointers into the middle of their
        neighborhood, which takes one byte instead of four.  The empty piece of inline assembly keeps LLVM from undoing
        that.
        """
        size = WINDOW if self.vectors.masks else WINDOW // self.size  # AVX-512 counts distances in vectors
        window, within = divmod(k, size)
        if window >= self.windows.get(area, 0):
            return self.op(f"getelementptr inbounds {self.type}, ptr %{area}, i64 {k}")
        if (area, window) not in self._windows:
            middle = self.op(f"getelementptr {self.type}, ptr %{area}, i64 {window * size + size // 2}")
            self._windows[area, window] = self.op(f'call ptr asm "", "=r,0"(ptr {middle})')
        return self.op(f"getelementptr {self.type}, ptr {self._windows[area, window]}, i64 {within - size // 2}")

    def load(self, area: str, k: int) -> str:
        """Load value k of an area of consecutive vectors."""
        return self.op(f"load {self.type}, ptr {self.place(area, k)}, align {self.size}")

    def store(self, value: str, area: str, k: int) -> None:
        """Store value k of an area of consecutive vectors."""
        p = self.place(area, k)
        self.line(f"store {self.type} {value}, ptr {p}, align {self.size}")

    def declarations(self) -> list[str]:
        """Return declarations of the intrinsics that bodies may call."""
        found = []
        for element in dict.fromkeys(("double", self.real)):  # in a fixed order: texts are looked up in the cache
            t, s = self.vectors.of(element), self._suffix(element)
            found += [f"declare {t} @llvm.fma.{s}({t}, {t}, {t})"]
            found += [f"declare {t} @llvm.{f}.{s}({t})" for f in ("sqrt", "fabs")]
        if self.lanes > 1:
            mask, at = f"<{self.lanes} x i1>", f"<{self.lanes} x ptr>"
            name = f"@llvm.masked.gather.{self.vectors.suffix}.v{self.lanes}p0"
            found += [f"declare {self.type} {name}({at}, i32, {mask}, {self.type})"]
        return [*found, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]

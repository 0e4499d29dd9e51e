"""What the values of a kernel are: numbers of one state, or of as many states as there are lanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

LINE = 64
"""Bytes in a line of the caches."""


NARROW = 16
"""Bytes of the shortest vectors."""


@dataclass(frozen=True)
class Vectors:
    """The form of the values that code computes with.

    Parameters
    ----------
    lanes : int
        States per value; 1 for scalar code.  May be more than a register holds: LLVM then uses several.
    single_precision : bool
        Numbers are floats instead of doubles.
    fused : bool
        Whether the processor multiplies and adds in one operation with one rounding.
    masks : bool
        Whether it loads and stores some lanes of a vector as quickly as all of them.
    registers : int
        How many vector registers there are.
    clears : bool
        Whether there is an instruction that sets a line to zero past the caches (AMD's ``clzero``).
    """

    lanes: int
    single_precision: bool = False
    fused: bool = True
    masks: bool = False
    registers: int = 32
    clears: bool = False

    @property
    def real(self) -> str:
        """LLVM's name of a number."""
        return "float" if self.single_precision else "double"

    @property
    def item(self) -> int:
        """Bytes of a number."""
        return 4 if self.single_precision else 8

    @property
    def size(self) -> int:
        """Bytes of a value."""
        return self.item * self.lanes

    @property
    def type(self) -> str:
        """LLVM's name of a value."""
        return self.of(self.real)

    @property
    def suffix(self) -> str:
        """How intrinsics on values are called."""
        return (f"v{self.lanes}" if self.lanes > 1 else "") + ("f32" if self.single_precision else "f64")

    @property
    def per_line(self) -> int:
        """Numbers in a line of the caches, which is at least a vector."""
        return LINE // self.item

    @property
    def few_registers(self) -> bool:
        """Whether it pays to say which values are kept in registers; see :mod:`.registers`."""
        return self.registers < 32

    @property
    def some_tiles(self) -> bool:
        """Whether long kernels compute several tiles at once; see :mod:`.split_kernels`.

        With so few lanes it takes longer to fetch and decode instructions than to run them.
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
        """The calling convention of what sends."""
        return "intel_ocl_bicc" if self.sends else "ccc"

    @property
    def one(self) -> Vectors:
        """The same for one state."""
        return replace(self, lanes=1)

    def of(self, element: str) -> str:
        """Return LLVM's name of a value with other elements."""
        return f"<{self.lanes} x {element}>" if self.lanes > 1 else element


SCALARS = Vectors(1)
"""Doubles of one state."""


def transpose_loaded(vectors: Vectors, sources: list[str], prefix: str) -> tuple[list[str], list[str]]:
    """Return LLVM assembly that loads a square of numbers and exchanges its rows and columns.

    Halves are exchanged while they are loaded, which memory does for nothing; then quarters, ..., neighbours.

    Parameters
    ----------
    sources : list of str
        Pointers to as many rows as there are lanes, aligned to a number.
    prefix : str
        Begins the names of what is made.

    Returns
    -------
    lines, columns : lists of str
        The assembly, and the names of the columns.
    """
    n, half = vectors.lanes, vectors.lanes // 2
    part = f"<{half} x {vectors.real}>"
    lines: list[str] = []
    for k, source in enumerate(sources):
        low, high = f"%{prefix}low{k}", f"%{prefix}high{k}"
        lines += [
            f"  {high}_at = getelementptr {vectors.real}, ptr {source}, i64 {half}",
            f"  {low} = load {part}, ptr {source}, align {vectors.item}",
            f"  {high} = load {part}, ptr {high}_at, align {vectors.item}",
        ]
    both = ", ".join(f"i32 {i}" for i in range(n))
    current = [f"%{prefix}{half}_{k}" for k in range(n)]
    for k in range(half):
        for target, side in ((k, "low"), (k + half, "high")):
            pair = f"{part} %{prefix}{side}{k}, {part} %{prefix}{side}{k + half}"
            lines.append(f"  {current[target]} = shufflevector {pair}, <{n} x i32> <{both}>")
    return _exchange(vectors, lines, current, half // 2, prefix)


def transpose(vectors: Vectors, rows: list[str], prefix: str) -> tuple[list[str], list[str]]:
    """Return LLVM assembly that exchanges rows and columns of a square of values, and the names of the columns."""
    return _exchange(vectors, [], list(rows), vectors.lanes // 2, prefix)


def _exchange(
    vectors: Vectors, lines: list[str], current: list[str], distance: int, prefix: str
) -> tuple[list[str], list[str]]:
    """Exchange blocks of this size between rows that are as far apart, then smaller ones."""
    n, t, d = vectors.lanes, vectors.type, distance
    while d:
        fresh = list(current)
        low = ", ".join(f"i32 {lane if not lane & d else lane - d + n}" for lane in range(n))
        high = ", ".join(f"i32 {lane + d if not lane & d else lane + n}" for lane in range(n))
        for i in (i for i in range(n) if not i & d):
            for row, pattern in ((i, low), (i + d, high)):
                fresh[row] = f"%{prefix}{d}_{row}x"
                pair = f"{t} {current[i]}, {t} {current[i + d]}"
                lines.append(f"  {fresh[row]} = shufflevector {pair}, <{n} x i32> <{pattern}>")
        current, d = fresh, d // 2
    return lines, current

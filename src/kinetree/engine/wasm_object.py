"""From an object file of WebAssembly, as LLVM writes it, to a module that runs.

Nothing else is linked to it, so its addresses and function indices stay as they are.  It lacks memory, a stack, and a
list of exports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .llvm.host import CompilationError

STACK = 1 << 18
"""Bytes for what functions keep while they run: at most a few thousand numbers, two states at a time."""

PAGE = 1 << 16
"""Memory is allocated in pages of this many bytes."""

_CUSTOM, _TYPE, _IMPORT, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT, _CODE, _DATA = 0, 1, 2, 3, 5, 6, 7, 10, 11
"""Sections, by number."""

_ORDER = (_TYPE, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT, _CODE, _DATA)
_GIVEN = {"__linear_memory", "__stack_pointer"}
_COUNT_OF_DATA = 12
_I32, _I32_CONST, _END = b"\x7f", b"\x41", b"\x0b"
_UNDEFINED, _NAMED = 0x10, 0x40
"""Flags of symbols."""


def linked(code: bytes, functions: Collection[str]) -> bytes:
    """Give an object file memory, a stack, and exports: ``memory``, ``heap``, and those ``functions`` that it has."""
    sections = list(_sections(code))
    parts = dict(section for section in sections if section[0] != _CUSTOM)
    missing = set(_imports(parts.pop(_IMPORT, b"\0"))) - _GIVEN
    if missing or set(parts) - {*_ORDER, _COUNT_OF_DATA}:
        raise CompilationError(f"code for WebAssembly lacks what it refers to: {sorted(missing)}, {sorted(parts)}")
    end = max((at + size for at, size in _segments(parts.get(_DATA, b"\0"))), default=0)
    heap = -(-(end + STACK) // 16) * 16
    parts[_MEMORY] = b"\1\0" + _number(-(-heap // PAGE) + 1)
    # the pointer to the stack, which grows downwards from the heap; and the heap, which never changes
    parts[_GLOBAL] = b"\2" + b"".join(
        _I32 + changes + _I32_CONST + _number(heap, 6) + _END for changes in (b"\1", b"\0")
    )
    tables = [_SectionReader(part).rest_after_name("linking") for kind, part in sections if kind == _CUSTOM]
    exports = {name: (0, index) for table in tables for name, index in _functions(table) if name in functions}
    exports |= {"memory": (2, 0), "heap": (3, 1)}
    listed = (_number(len(name)) + name.encode() + bytes([kind]) + _number(k) for name, (kind, k) in exports.items())
    parts[_EXPORT] = _number(len(exports)) + b"".join(listed)
    return code[:8] + b"".join(bytes([k]) + _number(len(parts[k])) + parts[k] for k in _ORDER if k in parts)


class _SectionReader:
    """Reads a section from beginning to end."""

    def __init__(self, code: bytes, place: int = 0) -> None:
        self.code, self.place = code, place

    def __bool__(self) -> bool:
        return self.place < len(self.code)

    def number(self) -> int:
        """Read a number in seven bits per byte; signs do not matter here."""
        value = shift = 0
        while True:
            byte = self.code[self.place]
            self.place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def bytes(self) -> bytes:
        """Read a length, and that many bytes."""
        size = self.number()
        self.place += size
        return self.code[self.place - size : self.place]

    def name(self) -> str:
        return self.bytes().decode()

    def rest_after_name(self, name: str) -> _SectionReader:
        """Return what follows a name; nothing after any other name."""
        return self if self.name() == name else _SectionReader(b"")


def _sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _SectionReader(code, 8)
    while reader:
        yield reader.number(), reader.bytes()


def _imports(section: bytes) -> Iterator[str]:
    """Yield the names of imports."""
    reader = _SectionReader(section)
    for _ in range(reader.number()):
        reader.name()
        yield reader.name()
        kind = reader.number()
        # functions have a type, memories one limit or two, globals a type and whether they change
        for _ in range(1 if kind == 0 else 1 + (reader.number() & 1) if kind == 2 else 2):
            reader.number()


def _segments(section: bytes) -> Iterator[tuple[int, int]]:
    """Yield addresses and sizes of data."""
    reader = _SectionReader(section)
    for _ in range(reader.number()):
        reader.number()  # which memory
        reader.number()  # i32.const
        at = reader.number()
        reader.number()  # end
        yield at, len(reader.bytes())


def _functions(linking: _SectionReader) -> Iterator[tuple[str, int]]:
    """Yield names and indices of functions in the table of symbols."""
    if linking:
        linking.number()  # version
    while linking:
        kind, table = linking.number(), _SectionReader(linking.bytes())
        if kind != 8:
            continue
        for _ in range(table.number()):
            what, flags = table.number(), table.number()
            index = table.number() if what != 1 else 0
            name = table.name() if what == 1 or not flags & _UNDEFINED or flags & _NAMED else ""
            if what == 1 and not flags & _UNDEFINED:
                for _ in range(3):  # of data: segment, offset, size
                    table.number()
            if what == 0:
                yield name, index


def _number(value: int, bits: int = 7) -> bytes:
    """Return a number in seven bits per byte; with a sign, the last byte has six ``bits`` for a positive one."""
    out = bytearray()
    while value >> bits:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])

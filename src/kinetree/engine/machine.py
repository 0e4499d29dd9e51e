"""The computer we run on: its vector width, and turning LLVM assembly into functions."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from .making import MAKING, once


class CompilationError(RuntimeError):
    """Machine code cannot be made or loaded."""


@dataclass(frozen=True)
class Machine:
    """What code is generated for."""

    cpu: str
    features: str
    lanes: int
    version: str

    @property
    def supported(self) -> bool:
        """Whether fused multiply-add and vectors are there."""
        return self.lanes > 0

    @property
    def key(self) -> str:
        """Distinguishes machines whose code cannot be exchanged."""
        return f"{platform.machine()}|{self.cpu}|{self.features}|{self.lanes}|{self.version}"


@lru_cache(maxsize=1)
def binding() -> Any:
    """llvmlite, imported and initialised on first use."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@lru_cache(maxsize=1)
def host() -> Machine:
    """The machine we run on; refuses one that does not let programs make code."""
    llvm = binding()
    if not _memory_can_be_executed():
        raise CompilationError("this system does not let programs make memory executable")
    features = llvm.get_host_cpu_features()
    flat = features.flatten()
    architecture = platform.machine().lower()
    if features.get("avx512f"):
        # LLVM keeps to 256-bit vectors on many CPUs unless told otherwise
        lanes, flat = 8, flat + ",-prefer-256-bit"
    elif features.get("avx2") and features.get("fma"):
        lanes = 4
    elif architecture in ("aarch64", "arm64"):
        lanes = 2
    else:
        lanes = 0
    return Machine(llvm.get_host_cpu_name(), flat, lanes, ".".join(str(n) for n in llvm.llvm_version_info))


def _memory_can_be_executed() -> bool:
    """Whether memory that was written may become code: hardened systems refuse that, and LLVM's linker would abort."""
    if os.name != "posix":
        return True
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page[0] = 1
    first = ctypes.c_char.from_buffer(page)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    refused = protect(ctypes.addressof(first), mmap.PAGESIZE, mmap.PROT_READ | _PROT_EXEC)
    del first  # the page cannot be given back while somebody points to it
    page.close()
    return not refused


_PROT_EXEC = 4
"""The same on all systems that have it; Python names it only from version 3.12 on everywhere."""

MEGABYTE = 1 << 20


def _memory_for(code: str | bytes) -> int:
    """Bytes that LLVM may need for a text, or for machine code: somewhat more than was measured.

    A function takes some 35 times its text, and more the more it stores; long texts are divided into many functions.
    """
    if isinstance(code, str):
        stores = max(function.count("\n  store ") for function in code.split("\n}"))
        return 8 * MEGABYTE + 32 * min(len(code), MEGABYTE) + 4 * len(code) + 40_000 * stores
    return MEGABYTE + 8 * len(code)


def _need_memory(size: int) -> None:
    """Refuse what there is no memory for: LLVM takes the process down when it gets none."""
    try:
        if os.name == "posix":
            mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        else:
            mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        raise CompilationError(f"memory is short, it may take {-(-size // MEGABYTE)} MB") from None


@once
def _target() -> Any:
    llvm, machine = binding(), host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=2, reloc="pic", codemodel="small"
    )


LIBRARIES_PER_LINKER = 25
"""After so many a linker is given up: LLVM keeps some 9 kB of every library until its linker goes."""


class _Linker:
    """Loads libraries, and goes when it has been given up and the last of them has gone."""

    def __init__(self) -> None:
        # LLVM's older linker puts code and constants wherever there is room, and takes the process down when they come
        # to lie more than 2 GB apart, as they do in a program with large arrays; JITLink keeps them together. LLVM
        # itself does not choose it for the object files of Windows.
        self._llvm = binding().create_lljit_compiler(_target(), use_jit_link=platform.system() != "Windows")
        self._numbers = count(1)
        self._loaded: set[int] = set()
        self._given_up: list[bool] = []  # whoever takes the one entry closes the linker
        self.is_worn = False

    def load(self, builder: Any) -> _Library:
        """Load what a builder holds."""
        number = next(self._numbers)
        library = builder.link(self._llvm, f"kinetree{number}")
        self._loaded.add(number)
        self.is_worn = number >= LIBRARIES_PER_LINKER
        return _Library(self, number, library)

    def give_up(self) -> None:
        """Nothing more will be loaded."""
        self._given_up.append(True)
        self._close_if_unused()

    def forget(self, number: int) -> None:
        """A library has gone.  Any thread may find that, whatever it is doing: no locks here."""
        self._loaded.discard(number)
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._loaded:
            with suppress(IndexError):
                self._given_up.pop()
                self._llvm.close()


class _Library:
    """Keeps loaded code alive."""

    def __init__(self, linker: _Linker, number: int, library: Any) -> None:
        self._linker, self._number, self._library = linker, number, library

    def __getitem__(self, symbol: str) -> int:
        return int(self._library[symbol])

    def __del__(self, is_over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_over():  # a program that ends takes everything with it
            self._library.close()
            self._linker.forget(self._number)


_linkers: list[_Linker] = []
"""The one that loads, if there is one."""


def _linker() -> _Linker:
    if _linkers and _linkers[0].is_worn:
        _linkers.pop().give_up()
    if not _linkers:
        _linkers.append(_Linker())
    return _linkers[0]


def assemble(text: str) -> bytes:
    """Machine code (an object file) for a module of LLVM assembly."""
    _need_memory(_memory_for(text))
    try:
        module = binding().parse_assembly(text)
        module.verify()  # a malformed module would take the whole process down
        for function in module.functions:
            if not function.is_declaration:
                # nothing here throws: tables for unwinding would only have to be registered with the C++ runtime
                function.add_function_attribute("nounwind")
        return bytes(_target().emit_object(module))
    except RuntimeError as problem:
        raise CompilationError(_first_line(problem)) from None


def _first_line(problem: RuntimeError) -> str:
    return next(iter(str(problem).splitlines()), "LLVM failed")


def python_function(name: str) -> int:
    """Address of a function of CPython."""
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


def load(
    code: bytes, symbols: tuple[str, ...] = ("kernel",), from_python: tuple[str, ...] = ()
) -> tuple[dict[str, int], Any]:
    """Make an object file callable; returns addresses and what must be kept alive.

    Functions ``from_python`` are given to the code by address: an interpreter inside of another program
    need not be among those that the linker looks through.
    """
    _need_memory(_memory_for(code))
    builder = binding().JITLibraryBuilder().add_object_img(code)
    for name in from_python:
        builder = builder.import_symbol(name, python_function(name))
    for symbol in symbols:
        builder = builder.export_symbol(symbol)
    try:
        with MAKING:
            library = _linker().load(builder)
    except RuntimeError as problem:
        raise CompilationError(f"the code cannot be loaded: {_first_line(problem)}") from None
    return {symbol: library[symbol] for symbol in symbols}, library

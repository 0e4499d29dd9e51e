"""The processor that code is made for, by name or the current one, and LLVM assembly made into functions."""

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

from ..make_once import MAKING, once
from .vectors import Vectors


class CompilationError(RuntimeError):
    """Machine code cannot be made or loaded."""


class UnknownTarget(ValueError):
    """The processor to make code for is unknown, or the current one cannot run its code."""


@dataclass(frozen=True)
class Machine:
    """What code is generated for."""

    cpu: str
    features: str
    """As LLVM calls them."""
    lanes: int
    """Doubles per vector; zero if no vectors are known."""
    version: str
    """Version of LLVM."""
    fused: bool = True
    masks: bool = False
    clears: bool = False
    """See :class:`~kinetree.engine.llvm.vectors.Vectors`."""

    @property
    def supported(self) -> bool:
        """Whether vectors are known."""
        return self.lanes > 0

    @property
    def key(self) -> str:
        """A key that differs between machines whose code cannot be exchanged."""
        made_as = (binding().get_process_triple(), *_code_model().values())
        return "|".join((*made_as, self.cpu, self.features, str(self.lanes), self.version))

    def vectors(self, single_precision: bool = False) -> Vectors:
        """Return the form of the values in kernels for batches."""
        lanes = self.lanes * (2 if single_precision else 1)
        few = architecture() == "x86-64" and not self.masks
        return Vectors(lanes, single_precision, self.fused, self.masks, 16 if few else 32, self.clears)


def architecture() -> str:
    """Return the family of the current processor."""
    name = platform.machine().lower()
    return {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64"}.get(name, name)


NATIVE = "native"

_SSE4 = ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_AVX2 = (*_SSE4, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")

TARGETS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86-64": {"x86-64": (), "x86-64-v2": _SSE4, "x86-64-v3": _AVX2, "x86-64-v4": _AVX512},
    "aarch64": {
        "armv8-a": (),
        "cortex-a72": ("crc",),
        "neoverse-n1": ("crc", "lse", "rdm", "fullfp16", "dotprod", "rcpc"),
        "apple-m1": ("crc", "lse", "rdm", "fullfp16", "dotprod", "rcpc", "flagm", "jsconv", "complxnum"),
    },
}
"""Processors that code can be made for besides the current one, and the features it needs to run such code."""

_ARM_CAPABILITIES = {
    "crc": 7, "lse": 8, "fullfp16": 10, "rdm": 12, "jsconv": 13, "complxnum": 14, "rcpc": 15, "dotprod": 20,
    "flagm": 27,
}  # fmt: skip
"""Bits by which Linux reports the features of an ARM processor."""


@lru_cache(maxsize=1)
def binding() -> Any:
    """Return llvmlite, imported and initialized on first use."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def host() -> Machine:
    """Return the machine to make code for by default: ``KINETREE_CPU``, or the current processor."""
    return target("")


def target(name: str) -> Machine:
    """Return the machine to make code for, by name; refuse where the system forbids making code.

    name: ``"native"`` for the current processor, or one of those that :func:`targets` lists; as for :func:`host` if
        empty.
    """
    return _target((name or os.environ.get("KINETREE_CPU", "")).strip().lower() or NATIVE)


@lru_cache(maxsize=16)
def _target(name: str) -> Machine:
    llvm = binding()
    if not _memory_can_be_executed():
        raise CompilationError("this system does not let programs make memory executable")
    version = ".".join(str(n) for n in llvm.llvm_version_info)
    if name == NATIVE:
        here = llvm.get_host_cpu_features()
        flat, cpu, has = here.flatten(), llvm.get_host_cpu_name(), _features()
    else:
        if name not in targets():
            why = "needs what this processor does not have" if _is_known(name) else "is not known"
            raise UnknownTarget(f"{name!r} {why}; code that runs here can be made for {', '.join(targets())}")
        cpu, flat, has = ("generic" if name == "armv8-a" else name), "", frozenset(TARGETS[architecture()][name])
    return _machine(cpu, flat, has, version)


def _machine(cpu: str, features: str, has: frozenset[str], version: str) -> Machine:
    """Return a machine with the widest vectors that these features have."""
    kind = architecture()
    if "avx512f" in has:
        # LLVM keeps to 256-bit vectors on many CPUs unless told otherwise
        wide = f"{features},-prefer-256-bit".lstrip(",")
        return Machine(cpu, wide, 8, version, masks=True, clears="clzero" in has)
    if "avx" in has:
        return Machine(cpu, features, 4, version, fused="fma" in has)
    if kind == "x86-64":
        return Machine(cpu, features, 2, version, fused=False)
    return Machine(cpu, features, 2 if kind == "aarch64" else 0, version)


def targets() -> list[str]:
    """Return the names of processors whose code runs here."""
    here, known = _features(), TARGETS.get(architecture(), {})
    return [NATIVE, *(name for name, needed in known.items() if here.issuperset(needed))]


def _is_known(name: str) -> bool:
    return any(name in names for names in TARGETS.values())


@lru_cache(maxsize=1)
def _features() -> frozenset[str]:
    """Return those features of the current processor that we ask about."""
    if architecture() == "aarch64" and sys.platform == "linux":  # LLVM reads a file that emulators do not keep
        read = ctypes.CDLL(None).getauxval
        read.restype, read.argtypes = ctypes.c_ulong, (ctypes.c_ulong,)
        capabilities = read(16)
        return frozenset(name for name, bit in _ARM_CAPABILITIES.items() if capabilities >> bit & 1)
    if architecture() == "aarch64" and sys.platform == "darwin":
        return frozenset(_ARM_CAPABILITIES)  # there was none before the M1
    return frozenset(name for name, on in binding().get_host_cpu_features().items() if on)


def _memory_can_be_executed() -> bool:
    """Return whether written memory may become code: hardened systems refuse that, and LLVM would abort."""
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
    """Return how many bytes LLVM may need for LLVM code or machine code: somewhat more than measured.

    A function takes about 35 times the size of its text, plus some for each store; long texts consist of many
    functions.
    """
    if isinstance(code, str):
        stores = max(function.count("\n  store ") for function in code.split("\n}"))
        return 8 * MEGABYTE + 32 * min(len(code), MEGABYTE) + 4 * len(code) + 40_000 * stores
    return MEGABYTE + 8 * len(code)


def _need_memory(size: int) -> None:
    """Refuse what there is not enough memory for: LLVM ends the process when it gets none."""
    try:
        if os.name == "posix":
            mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        else:
            mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        raise CompilationError(f"memory is low; this may take {-(-size // MEGABYTE)} MB") from None


def _code_model() -> dict[str, str]:
    """Return how code refers to constants and to other functions.

    Windows has only LLVM's older linker, which fails on distances in that system's object files, and on code that is
    more than 2 GB away from its constants: there, addresses have full length and object files are those of Linux.
    """
    if platform.system() == "Windows":
        return {"reloc": "static", "codemodel": "jitdefault"}
    return {"reloc": "pic", "codemodel": "small"}


@once
def _generator(machine: Machine) -> Any:
    """Return the LLVM object that makes code for a machine."""
    target = binding().Target.from_default_triple()
    return target.create_target_machine(cpu=machine.cpu, features=machine.features, opt=2, **_code_model())


LIBRARIES_PER_LINKER = 25
"""Number of libraries after which a linker is given up: LLVM keeps some 9 kB of each until its linker goes."""


class _Linker:
    """Loads libraries, and closes when it has been given up and the last of them is gone."""

    def __init__(self) -> None:
        # LLVM's older linker puts code and constants wherever there is room, and ends the process when they are more
        # than 2 GB apart, as they do in a program with large arrays; JITLink keeps them together. LLVM
        # itself does not choose it for the object files of Windows.
        self._llvm = binding().create_lljit_compiler(
            _generator(_target(NATIVE)), use_jit_link=platform.system() != "Windows"
        )
        self._numbers = count(1)
        self._loaded: set[int] = set()
        self._given_up: list[bool] = []  # whoever takes the one entry closes the linker
        self.is_worn = False

    def load(self, builder: Any) -> _Library:
        """Load the content of a builder."""
        number = next(self._numbers)
        library = builder.link(self._llvm, f"kinetree{number}")
        self._loaded.add(number)
        self.is_worn = number >= LIBRARIES_PER_LINKER
        return _Library(self, number, library)

    def give_up(self) -> None:
        """Load nothing more, and close when nothing is used anymore."""
        self._given_up.append(True)
        self._close_if_unused()

    def forget(self, number: int) -> None:
        """Forget a library that is gone.  Any thread may notice that, whatever it is doing: no locks."""
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
"""The current linker, if there is one."""


def _linker() -> _Linker:
    if _linkers and _linkers[0].is_worn:
        _linkers.pop().give_up()
    if not _linkers:
        _linkers.append(_Linker())
    return _linkers[0]


def assemble(text: str, machine: Machine | None = None) -> bytes:
    """Return machine code (an object file) for a module of LLVM assembly; for the default machine if none is given."""
    _need_memory(_memory_for(text))
    try:
        module = binding().parse_assembly(text)
        module.verify()  # a malformed module would end the whole process
        for function in module.functions:
            if not function.is_declaration:
                # nothing here throws: tables for unwinding would only have to be registered with the C++ runtime
                function.add_function_attribute("nounwind")
        return bytes(_generator(machine or host()).emit_object(module))
    except RuntimeError as problem:
        raise CompilationError(_first_line(problem)) from None


def _first_line(problem: RuntimeError) -> str:
    return next(iter(str(problem).splitlines()), "LLVM failed")


def python_function(name: str) -> int:
    """Return the address of a function of CPython."""
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


def load(
    code: bytes, symbols: tuple[str, ...] = ("kernel",), from_python: tuple[str, ...] = ()
) -> tuple[dict[str, int], Any]:
    """Make an object file callable; return addresses and what must be kept alive.

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

"""The computer we run on: its vector width, and turning LLVM assembly into functions."""

from __future__ import annotations

import ctypes
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class CompilationError(RuntimeError):
    """LLVM refused a module."""


def once(function: Callable[..., T]) -> Callable[..., T]:
    """Remember results for ever, and compute each only once even if several threads ask at the same time.

    With ``lru_cache`` the slower thread would get a result of its own that nothing keeps
    alive: fatal for addresses.
    """
    known: dict[tuple[Any, ...], T] = {}
    lock = threading.RLock()

    @wraps(function)
    def remembered(*args: Any) -> T:
        if args not in known:
            with lock:
                if args not in known:
                    known[args] = function(*args)
        return known[args]

    return remembered


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
    """The machine we run on."""
    llvm = binding()
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


@once
def _target() -> Any:
    llvm, machine = binding(), host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=2, reloc="pic", codemodel="small"
    )


@once
def _linker() -> Any:
    # LLVM's older linker puts code and constants wherever there is room, and takes the process down when they come to
    # lie more than 2 GB apart, as they do in a program with large arrays; JITLink keeps them together. LLVM itself
    # does not choose it for the object files of Windows.
    return binding().create_lljit_compiler(_target(), use_jit_link=platform.system() != "Windows")


def assemble(text: str) -> bytes:
    """Machine code (an object file) for a module of LLVM assembly."""
    try:
        module = binding().parse_assembly(text)
        module.verify()  # a malformed module would take the whole process down
        for function in module.functions:
            if not function.is_declaration:
                # nothing here throws: tables for unwinding would only have to be registered with the C++ runtime
                function.add_function_attribute("nounwind")
        return bytes(_target().emit_object(module))
    except RuntimeError as problem:
        raise CompilationError(str(problem).splitlines()[0] if str(problem) else "LLVM failed") from None


_numbers = count(1)


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
    builder = binding().JITLibraryBuilder().add_object_img(code)
    for name in from_python:
        builder = builder.import_symbol(name, python_function(name))
    for symbol in symbols:
        builder = builder.export_symbol(symbol)
    library = builder.link(_linker(), f"kinetree{next(_numbers)}")
    return {symbol: library[symbol] for symbol in symbols}, library

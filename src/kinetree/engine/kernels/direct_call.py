"""Built-in functions that call kernels straight from Python; see :mod:`kinetree.engine.llvm.vectorcall`."""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..llvm import host
from ..llvm.vectorcall import CONTEXT, CONTEXT_AT, FROM_PYTHON, MAX_DIMS, MAX_INPUTS, SYMBOL, entry_module, layout_holds
from ..load_code import load_or_compile_text
from ..once import once
from ..threads import thread_pool
from .kernel import Kernel, batch_loop


def available() -> bool:
    """Return whether this interpreter has the object layout that the entry point relies on."""
    return (
        sys.implementation.name == "cpython"
        and struct.calcsize("P") == 8
        and not hasattr(sys, "gettotalrefcount")
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and layout_holds()
    )


@once
def _entry_point() -> tuple[int, Any]:
    addresses, alive = load_or_compile_text(None, entry_module(), (SYMBOL,), FROM_PYTHON, host.target(host.NATIVE))
    return addresses[SYMBOL], alive


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_FASTCALL_KEYWORDS = 0x0080 | 0x0002


@once
def _definition(name: str, doc: str) -> _MethodDef:
    """CPython keeps a pointer to this for as long as the function lives, so it lives for ever."""
    return _MethodDef(name.encode(), _entry_point()[0], _FASTCALL_KEYWORDS, doc.encode())


@lru_cache(maxsize=1)
def _numpy_new_array() -> int:
    """Address of NumPy's ``PyArray_New``: entry 93 of its table of C functions."""
    try:
        from numpy._core import _multiarray_umath as core  # type: ignore[attr-defined]
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as core  # type: ignore[no-redef]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(core._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + 93 * 8).value or 0)


class _Context(bytes):
    """The built-in's ``self``: numbers for the entry point, and what must live as long as it does."""

    keep: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling a built-in pickles its ``self`` and a name: give the object whose method it stands for."""
        return _itself, (self.keep[-1].__self__,)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()


def _itself(value: Any) -> Any:
    return value


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _documentation(name: str, doc: str, function: Callable[..., Any]) -> str:
    """A docstring from which :func:`inspect.signature` learns the parameters, as CPython's own built-ins have it."""
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    if not all(p.default is p.empty or isinstance(p.default, (int, float, str, type(None))) for p in plain):
        return doc  # only literals can be written
    parameters = ", ".join(["$self", str(inspect.Signature(plain))[1:-1]] if plain else ["$self"])
    return f"{name}({parameters})\n--\n\n{doc}"


_OUT, _THREADS = sys.intern("out"), sys.intern("threads")
_DTYPE = np.dtype(np.float64)


class DirectCall:
    """A built-in function for plain arrays, with an ordinary one for everything else.

    The two forms, one state and batch, are switched on separately, so that nothing is
    compiled before it is needed; until then calls of that form go to the fallback.

    Attributes
    ----------
    function : built-in function
        Takes the kernel's arrays, and ``out=`` and ``threads=`` if the fallback does.
    """

    def __init__(self, function: Any, context: _Context, kernel: Kernel, guard: Kernel | None) -> None:
        self.function, self._context = function, context
        self._kernel, self._guard = kernel, guard

    @classmethod
    def make(
        cls, kernel: Kernel, fallback: Callable[..., Any], name: str, doc: str = "", guard: Kernel | None = None
    ) -> DirectCall | None:
        """Make the function, with both forms off; None if the kernel is not of a form that the entry point knows.

        Parameters
        ----------
        kernel : Kernel
            What is computed, of doubles.
        fallback : callable
            Gets all other calls with their arguments, and all calls of a form that is off.
        name, doc : str
            Of the function.
        guard : Kernel, optional
            Takes the first of the inputs; states on which its verdict is positive go to the fallback.
        """
        if len(kernel.lengths) > MAX_INPUTS or len(kernel.shape) > MAX_DIMS or kernel.single_precision:
            return None
        values = {
            "pool": thread_pool().address,
            "out_length": kernel.size,
            "array_type": id(np.ndarray),
            "float64": id(_DTYPE),
            "fallback": id(fallback),
            "vectorcall": host.python_function("PyObject_Vectorcall"),
            "new_array": _numpy_new_array(),
            "release": host.python_function("PyEval_SaveThread"),
            "retake": host.python_function("PyEval_RestoreThread"),
            "out_name": id(_OUT) if _takes(fallback, "out") else 0,
            "threads_name": id(_THREADS) if _takes(fallback, "threads") else 0,
            "int_type": id(int),
            "as_long": host.python_function("PyLong_AsLongLongAndOverflow"),
            "inputs": len(kernel.lengths),
            "ndim": len(kernel.shape),
            **{f"dim{k}": n for k, n in enumerate(kernel.shape)},
            **{f"length{k}": n for k, n in enumerate(kernel.lengths)},
        }
        context = _Context(struct.pack(f"<{len(CONTEXT)}q", *(values.get(word, 0) for word in CONTEXT)))
        context.keep = (kernel, guard, fallback)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        definition = _definition(name, _documentation(name, doc, fallback))
        function = make(ctypes.addressof(definition), context, None)
        return cls(function, context, kernel, guard)

    def _set(self, **words: int) -> None:
        """Fill in words of the context, in this order."""
        for name, value in words.items():
            ctypes.c_int64.from_address(id(self._context) + CONTEXT_AT[name]).value = value

    def enable_single(self) -> None:
        """Compile the form for one state and let calls go to it."""
        if self._guard:
            self._set(guard_single=self._guard.single_address)
        self._set(single=self._kernel.single_address)

    def enable_batch(self) -> None:
        """Compile the form for batches and the loop over them, and let calls go there."""
        if self._guard:
            self._set(guard_lanes=self._guard.lanes_address)
        kernel, loop = self._kernel, batch_loop(self._kernel.target)
        self._set(
            lanes=kernel.lanes_address, drive=loop.address, run=loop.run_address, places=kernel.places_address,
            tile_bytes=kernel.tile_bytes, second=kernel.second_area, round=kernel.round,
            scratch_bytes=kernel.scratch_bytes,
        )  # fmt: skip

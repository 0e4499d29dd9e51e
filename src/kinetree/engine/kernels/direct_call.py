"""Built-in functions that call kernels straight from Python; see :mod:`kinetree.engine.llvm.vectorcall`."""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..llvm import host
from ..llvm.foreign import BYTES, FASTCALL_WITH_KEYWORDS, NEW_ARRAY, SET_HANDLER, MethodDef, differences, numpy_function
from ..llvm.vectorcall import CONTEXT, FROM_PYTHON, MAX_DIMS, MAX_INPUTS, SYMBOL, entry_module
from ..load_code import load_or_compile_own
from ..make_once import once
from ..result_memory import LARGE, for_machine_code, handler
from ..threads import thread_pool
from .kernel import Kernel, batch_loop


def available() -> bool:
    """Return whether this interpreter has the object layout that the entry point relies on."""
    return (
        sys.implementation.name == "cpython"
        and struct.calcsize("P") == 8
        and not hasattr(sys, "gettotalrefcount")
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and not differences()
    )


@once
def _entry_point(single_precision: bool = False) -> tuple[int, Any]:
    here, name = host.target(host.NATIVE), f"entry {single_precision}"
    addresses, alive = load_or_compile_own(
        None, name, lambda: entry_module(single_precision), (SYMBOL,), FROM_PYTHON, here
    )
    return addresses[SYMBOL], alive


class _Context(bytes):
    """The built-in's ``self``: numbers for the entry point, and what must live as long as it does."""

    fallback: Callable[..., Any]
    keep: tuple[Any, ...] = ()

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Handle calls made before there is machine code; see :class:`DirectCall`."""
        return self.fallback(*arguments, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to pickle: a built-in is pickled as its ``self`` and a name, so give the method's object."""
        return _itself, (self.fallback.__self__,)  # type: ignore[attr-defined]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()


def _itself(value: Any) -> Any:
    return value


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _documentation(name: str, doc: str, function: Callable[..., Any]) -> str:
    """Return a docstring from which :func:`inspect.signature` learns the parameters, as for CPython's built-ins."""
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    if not all(p.default is p.empty or isinstance(p.default, (int, float, str, type(None))) for p in plain):
        return doc  # only literals can be written
    parameters = ", ".join(["$self", str(inspect.Signature(plain))[1:-1]] if plain else ["$self"])
    return f"{name}({parameters})\n--\n\n{doc}"


_OUT, _THREADS = sys.intern("out"), sys.intern("threads")
_DTYPES = np.dtype(np.float64), np.dtype(np.float32)


class DirectCall:
    """A built-in function for arrays of floats, with an ordinary one for everything else.

    The function exists from the start, and is as fast for those who kept it before there was machine code as for those
    who ask for it later: at first its C function is CPython's own ``PyObject_Vectorcall``, which has the same arguments
    and calls the context and so the fallback; :meth:`attach` puts the entry point in its place.  Then the two forms,
    one state and batch, are switched on separately, so that nothing is compiled before it is needed; until then calls
    of that form go to Python.

    Parameters
    ----------
    fallback : callable
        Gets all other calls with their arguments.
    name : str
        Name of the function.
    doc : str, optional
        The fallback's if left out.
    refused : callable, optional
        Gets calls with as many positional arguments as the kernel has, and no options but ``out`` and ``threads``, if
        machine code does not understand the values, or while that form is off; the fallback if left out.

    Attributes
    ----------
    function : built-in function
        Takes the kernel's arrays, and ``out=`` and ``threads=`` if the fallback does.
    """

    def __init__(
        self, fallback: Callable[..., Any], name: str, doc: str | None = None, refused: Callable[..., Any] | None = None
    ) -> None:
        self._fallback, self._refused = fallback, refused or fallback
        self._kernel: Kernel | None = None
        self._guard: Kernel | None = None
        self._context = _Context(CONTEXT.size - BYTES.at["data"])
        text = _documentation(name, (fallback.__doc__ or "") if doc is None else doc, fallback)
        waiting = host.python_function("PyObject_Vectorcall")
        # CPython keeps a pointer to this: the context, which the function holds, keeps it alive
        self._definition = MethodDef(name.encode(), waiting, FASTCALL_WITH_KEYWORDS, text.encode())
        self._context.fallback, self._context.keep = fallback, (self._definition,)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        self.function: Callable[..., Any] = make(ctypes.addressof(self._definition), self._context, None)

    @classmethod
    def make(
        cls, kernel: Kernel, fallback: Callable[..., Any], name: str, doc: str = "", guard: Kernel | None = None
    ) -> DirectCall | None:
        """Return the function with its kernel, both forms disabled; None if the entry point does not know its form."""
        call = cls(fallback, name, doc)
        return call if call.attach(kernel, guard) else None

    @property
    def attached(self) -> bool:
        """Whether there is a kernel to call."""
        return self._kernel is not None

    def attach(self, kernel: Kernel, guard: Kernel | None = None) -> bool:
        """Let the function call a kernel; return False if the entry point does not know the kernel's form.

        Parameters
        ----------
        kernel : Kernel
            What is computed.
        guard : Kernel, optional
            Takes the first of the inputs; states for which it returns a positive number go to Python.
        """
        if len(kernel.lengths) > MAX_INPUTS or len(kernel.shape) > MAX_DIMS or not kernel.is_one_function:
            return False
        if self.attached:
            return True
        entry_point = _entry_point(kernel.single_precision)[0]
        own, other = reversed(_DTYPES) if kernel.single_precision else _DTYPES
        self._set(
            pool=thread_pool().address, out_length=kernel.size, array_type=id(np.ndarray), own_type=id(own),
            other_type=id(other), fallback=id(self._fallback), refused=id(self._refused),
            vectorcall=host.python_function("PyObject_Vectorcall"), new_array=numpy_function(NEW_ARRAY),
            handler=handler()[0], set_handler=numpy_function(SET_HANDLER), large=LARGE,
            **dict(zip(("take_kept", "give_kept", "kept"), for_machine_code(), strict=True)),
            release=host.python_function("PyEval_SaveThread"), retake=host.python_function("PyEval_RestoreThread"),
            out_name=id(_OUT) if _takes(self._fallback, "out") else 0, threads_name=id(_THREADS) if
            _takes(self._fallback, "threads") else 0, int_type=id(int), list_type=id(list), tuple_type=id(tuple),
            float_type=id(float), numpy_float=id(np.float64),
            as_long=host.python_function("PyLong_AsLongLongAndOverflow"), inputs=len(kernel.lengths),
            ndim=len(kernel.shape), **{f"dim{k}": n for k, n in enumerate(kernel.shape)}, **{f"length{k}": n for k, n in
            enumerate(kernel.lengths)},
        )  # fmt: skip
        self._context.keep = (self._definition, kernel, guard, self._refused)
        self._kernel, self._guard = kernel, guard
        self._definition.function = entry_point  # last: from here on it is called
        return True

    def _set(self, **words: int) -> None:
        """Set words of the context, in this order."""
        CONTEXT.write(id(self._context), **words)

    def enable_single(self) -> None:
        """Compile the form for one state and let calls go to it."""
        assert self._kernel is not None
        if self._guard:
            self._set(guard_single=self._guard.single_address)
        self._set(single=self._kernel.single_address)

    def enable_batch(self) -> None:
        """Compile the form for batches and the loop over them, and let calls go to it."""
        assert self._kernel is not None
        if self._guard:
            self._set(guard_lanes=self._guard.lanes_address)
        kernel, loop = self._kernel, batch_loop(self._kernel.target, self._kernel.single_precision)
        self._set(
            lanes=kernel.lanes_address, drive=loop.address, run=loop.run_address, places=kernel.places_address,
            job_context=kernel.context_address, tile_bytes=kernel.tile_bytes, second=kernel.second_area,
            round=kernel.round, tiles=kernel.tiles, block_bytes=kernel.block_bytes,
            scratch_bytes=kernel.scratch_bytes,
        )  # fmt: skip

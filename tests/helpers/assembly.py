"""Blocks of machine code by themselves: a function that is nothing but the block, called by ctypes."""

import ctypes
import mmap
import os

import numpy as np
import pytest

from kinetree.engine.llvm import host
from kinetree.engine.llvm.assembly import Module

KINDS = {"ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "i32": ctypes.c_int32, "i1": ctypes.c_bool, "void": None}


def compiled(write, parameters, result="void", machine=None, from_python=(), before=lambda module: None):
    """Compile a function whose body ``write(f, *arguments)`` writes, which may return its result; return that."""
    module = Module()
    before(module)
    with module.function("block", parameters, result) as f:
        found = write(f, *f.args)
        if found is not None:
            f.ret(found)
    return loaded(module.text(), {"block": (result, *parameters.values())}, machine, from_python)["block"]


def loaded(text, functions, machine=None, from_python=()):
    """Return functions of a module, which are given with the types of their results and parameters."""
    code = host.assemble(text, machine)
    addresses, library = host.load(code, tuple(functions), from_python)
    found = {}
    for name, kinds in functions.items():
        found[name] = ctypes.CFUNCTYPE(*(KINDS[kind] for kind in kinds))(addresses[name])
        found[name].library, found[name].address = library, addresses[name]
    return found


def every_form():
    """Return each machine that code can be made for here, with the vectors of each precision, for parametrize."""
    if not host.host().supported:
        return []
    return [
        pytest.param(machine, machine.vectors(single), id=f"{name}-{'float' if single else 'double'}")
        for name in host.targets()
        for machine in (host.target(name),)
        for single in (False, True)
    ]


def dtype_of(vectors):
    return np.float32 if vectors.single_precision else np.float64


def aligned_area(shape, dtype, align=64, shift=0):
    """Return an array of NaN that begins so many bytes behind a multiple of others, and all of the NaN around it."""
    size, item = int(np.prod(shape)), np.dtype(dtype).itemsize
    room = np.full(size + 4 * align // item, np.nan if np.dtype(dtype).kind == "f" else 0, dtype)
    first = (-room.ctypes.data % align + align + shift) // item
    return room[first : first + size].reshape(shape), room


def at_the_edge(values):
    """Return a copy of an array behind which memory must not be read."""
    size = -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, size + mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    if os.name == "posix":
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        assert protect(start + size, mmap.PAGESIZE, 0) == 0
    copy = np.frombuffer(pages, values.dtype, values.size, size - values.nbytes).reshape(values.shape)
    copy[...] = values
    return copy


class Block:
    """Memory whose places have names, words of 8 bytes, and perhaps more bytes behind them."""

    def __init__(self, layout, more=0, **values):
        self._layout, self._words = layout, (ctypes.c_int64 * ((layout.size + more) // 8))()
        self.address = ctypes.addressof(self._words)
        for name, value in values.items():
            self[name] = value

    def __getitem__(self, name):
        return self._words[self._layout.at[name] // 8]

    def __setitem__(self, name, value):
        self._words[self._layout.at[name] // 8] = value

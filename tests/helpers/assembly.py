"""Blocks of machine code by themselves: a function that is nothing but the block, called by ctypes."""

import ctypes

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

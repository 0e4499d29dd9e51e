"""Graphs as WebAssembly, which browsers run: made by the same generator from the same text as machine code.

LLVM writes an object file for it that lacks only memory and a stack.  :func:`module` adds both and exports what can be
called from outside:

``name(in, out)``
    one state: addresses of consecutive doubles;
``name_many(count, in, out)``
    the same for many states, one after the other, two at a time in the lanes of a vector;
``memory``, ``heap``
    where all numbers are, and the address from which memory is free.

There is no fused multiply-add in WebAssembly: results equal those of machine code for processors that have none, bit by
bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .fuse import prepare
from .kernels.step_kernel import Stages, step_functions
from .llvm import host
from .llvm.assembly import Module
from .llvm.emit import inner_function
from .llvm.emitter import Emitter, bits_of
from .llvm.table_lookups import SYMBOL as TABLES
from .llvm.vectors import Vectors, gathered
from .trace import Traced
from .wasm_object import linked

PAIRS = Vectors(2, fused=False)
"""Two doubles are what a vector of WebAssembly holds."""

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128"

MANY = "_many"

FUNCTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class WasmFunction:
    """A graph, or steps through time, to be called from outside."""

    name: str
    source: Traced | Stages
    many: bool = False
    """Whether there is also a form for many states."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""
        return sum(self.source.lengths), int(np.prod(self.source.shape))


def module(functions: Sequence[WasmFunction]) -> bytes:
    """Make a WebAssembly module.

    Raises
    ------
    CompilationError
        If LLVM cannot make it.
    """
    tables: dict[int, tuple[str, np.ndarray]] = {}
    texts = [text for function in functions for text in _texts(function, tables)]
    declared = dict.fromkeys(line for v in (PAIRS, PAIRS.one, Vectors(4)) for line in Emitter(v).declarations())
    numbers = [_constant(name, table) for name, table in tables.values()]
    code = _object("\n".join([f'target triple = "{TRIPLE}"', *declared, *numbers, *texts]))
    return linked(code, {f.name + form for f in functions for form in ("", MANY)})


def _texts(function: WasmFunction, tables: dict[int, tuple[str, np.ndarray]]) -> Iterator[str]:
    """Yield the parts of a function in LLVM assembly; tables that it looks up are added to the known ones."""
    name, source = function.name, function.source
    if not FUNCTION_NAME.match(name) or name.endswith(MANY):
        raise ValueError(f"{name!r} is not a valid function name")
    looked_up = source.graph.tables
    for table in looked_up:
        tables.setdefault(id(table), (f"table{len(tables)}", table))
    if looked_up:
        words = ", ".join(f"ptr @{tables[id(t)][0]}, i32 0, double {bits_of(float(len(t) - 1))}" for t in looked_up)
        kinds = ", ".join(["ptr, i32, double"] * len(looked_up))
        yield f"@{name}.{TABLES} = internal constant <{{ {kinds} }}> <{{ {words} }}>, align 8"
    yield _body(f"{name}.one", source, PAIRS.one).replace(f"@{TABLES}", f"@{name}.{TABLES}")
    outer = Module()
    with outer.function(name, {"in": "ptr", "out": "ptr"}) as f:
        f.call(f"{name}.one", *f.args)
    if function.many:
        yield _body(f"{name}.pair", source, PAIRS).replace(f"@{TABLES}", f"@{name}.{TABLES}")
        _add_many(outer, function)
    outer.called.clear()  # what it calls is in the other parts
    yield outer.text()


def _body(name: str, source: Traced | Stages, v: Vectors) -> str:
    """Return a function of consecutive vectors."""
    if isinstance(source, Traced):
        return inner_function(name, *prepare(source.graph, source.outputs, v.fused), v)
    return step_functions(source, v, name, inner=True)


def _add_many(outer: Module, function: WasmFunction) -> None:
    """Write the loop over pairs of states; the last of an odd number is computed twice and stored once."""
    (n_in, n_out), v = function.sizes, PAIRS
    with outer.function(function.name + MANY, {"count": "i32", "in": "ptr", "out": "ptr"}) as f:
        count, given, out = f.args
        many = count.to("i64")
        x, y = (f.room(v.type, max(n, 1), v.size) for n in (n_in, n_out))
        with f.loop(0, many, 2) as k:
            other = (k + 1).min(many - 1)
            for place in range(n_in):
                both = (given.at(state * n_in + place, "double").load("double", 8) for state in (k, other))
                x.at(place, v.type).store(gathered(list(both)), v.size)
            f.call(f"{function.name}.pair", x, y)
            for place in range(n_out):
                pair = y.at(place, v.type).load(v.type, v.size)
                for lane, state in ((1, other), (0, k)):
                    value = f.op(f"extractelement {v.type} {pair.name}, i32 {lane}", "double")
                    out.at(state * n_out + place, "double").store(value, 8)


def _constant(name: str, table: np.ndarray) -> str:
    numbers = ", ".join(f"double {bits_of(x)}" for x in np.asarray(table, dtype=float).ravel().tolist())
    return f"@{name} = internal constant [{table.size} x double] [{numbers}], align 8"


def _object(text: str) -> bytes:
    """Return the object file that LLVM makes."""
    llvm = host.binding()
    try:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(TRIPLE)
        made = llvm.parse_assembly(text)
        made.verify()  # a malformed module would end the whole process
        return bytes(target.create_target_machine(features=FEATURES, opt=2, reloc="static").emit_object(made))
    except RuntimeError as problem:
        raise host.CompilationError(f"no WebAssembly: {next(iter(str(problem).splitlines()), 'LLVM failed')}") from None

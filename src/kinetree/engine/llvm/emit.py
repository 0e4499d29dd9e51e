"""A graph as LLVM assembly: straight-line code over one value or a vector of lanes.

The text goes to LLVM's code generator as it is; no optimization passes run, since the graph is already simplified and
its order already chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..functions import functions_of
from ..fuse import prepare
from ..graph import Graph
from .assembly import MachineFunction, Module
from .body import NOTHING_TO_SEND, Sending, consecutive_inputs, emit_body, inputs_by_table
from .calls import PREFIX, loop_around, symbol_of
from .emitter import Emitter
from .modules import aligned_stack, kernel_parameters, spoil_for_unused, table_of_places, unused_inputs, work_vectors
from .sines_of_inputs import FUNCTION, Turns
from .split_kernels import module_in_pieces
from .table_lookups import table_words
from .vectors import SCALARS, Vectors

LONGEST_BODY = 16000
"""Operations up to which a kernel is one function if there are many vector registers (32), and LLVM chooses what is
kept in them; beyond that, LLVM takes ever longer per operation, and chooses worse."""

LONGEST_BODY_OF_SHORT_WAITS = 4000
"""The same for operations in an order of short waits, from which pieces lose little: half of the time to compile."""

_AREAS = {"in": "ptr noalias readonly", "out": "ptr noalias"}


def _in_pieces(graph: Graph, vectors: Vectors) -> bool:
    """Return whether a kernel is divided into pieces by a plan: long ones, and all where registers are few."""
    longest = LONGEST_BODY_OF_SHORT_WAITS if graph.in_short_waits else LONGEST_BODY
    return vectors.few_registers or sum(map(bool, graph.args)) > longest


MOST_RESULTS, MOST_RESULTS_TIMES_OPERATIONS = 1500, 12_000_000
"""Results, also times operations, up to which the kernel of one state is one function: LLVM compares every store with
every other one, and with the loads of what it does not keep in registers."""


def lanes_module(
    graph: Graph, outputs: Sequence[int], vectors: Vectors, input_count: int = 0, sends: bool = False,
    work_at: int | None = None,
) -> str:  # fmt: skip
    """Make a module with ``@kernel(in, out)``, inputs and results as consecutive vectors, and the table ``@places``.

    Equal outputs are one result; the table says for each output where its result is, in bytes. A kernel that ``sends``
    takes two more arguments, one for whoever calls it and a parcel. Long code keeps ``@work`` vectors between its
    functions, starting ``work_at`` vectors after the beginning of the inputs; without that, on the stack, which is too
    small in some threads.
    """
    in_pieces = _in_pieces(graph, vectors)
    sending = Sending(graph if sends else None, outputs, vectors, in_pieces)
    results = sending.results
    place = {node: slot * vectors.size for node, slot in zip(results, sending.slots, strict=True)}
    table = table_of_places([place[o] for o in outputs], vectors, outputs, sending.times)
    places = table_words(len(graph.tables)) + table
    called = called_functions(graph, vectors)
    if in_pieces:
        text = module_in_pieces(graph, results, vectors, input_count, sending=sending, work_at=work_at)
        return places + text + called
    module = Module()
    with module.function("kernel", kernel_parameters(_AREAS, sending), attributes=aligned_stack(vectors)) as f:
        e = Emitter(vectors, f)
        load = consecutive_inputs(e)
        _whole_body(f, e, graph, results, load, lambda k, value: e.store(value, "out", sending.slots[k]), sending)
        spoil_for_unused(f, e, unused_inputs(graph, input_count), load, len(results), sending)
    return places + work_vectors(0) + "\n".join(e.declarations()) + "\n" + module.text() + called


def _whole_body(
    f: MachineFunction, e: Emitter, graph: Graph, results: Sequence[int], load: Callable[[int], str],
    store: Callable[[int, str], None], sending: Sending = NOTHING_TO_SEND,
) -> None:  # fmt: skip
    """Emit a graph as one function, and add a function that it calls to the module."""
    turns = Turns(graph, e.vectors)
    if turns:
        turns.add_function(f.module)
        e.line(f"%turned = alloca [{turns.size} x {e.type}], align {e.size}")
        turns.emit(e, load, "turned")
    emit_body(e, graph, results, load, store, sending, turns.places)


def single_module(
    graph: Graph, outputs: Sequence[int], lengths: Sequence[int], vectors: Vectors = SCALARS, spread_nan: bool = True
) -> str:
    """Make a module with ``@kernel(in, out)`` for one state: ``in`` is a table of pointers to the input arrays."""
    watched, inputs_of = sum(lengths) if spread_nan else 0, inputs_by_table(lengths)
    tables = table_words(len(graph.tables))
    compared = len(outputs) * sum(map(bool, graph.args))
    too_many = len(outputs) > MOST_RESULTS or compared > MOST_RESULTS_TIMES_OPERATIONS
    if _in_pieces(graph, vectors) or too_many:
        text = module_in_pieces(graph, outputs, vectors.one, watched, inputs_of)
        return tables + text + called_functions(graph, vectors.one)
    module, v = Module(), vectors.one
    with module.function("kernel", _AREAS, attributes=aligned_stack(v)) as f:
        e = Emitter(v, f)
        load = inputs_of(e)
        _whole_body(f, e, graph, outputs, load, lambda k, value: e.store(value, "out", k))
        spoil_for_unused(f, e, unused_inputs(graph, watched), load, len(outputs))
    return tables + "\n".join(e.declarations()) + "\n" + module.text() + called_functions(graph, v)


def inner_function(name: str, graph: Graph, results: Sequence[int], vectors: Vectors) -> str:
    """Return a function of a larger module that reads and writes consecutive vectors, and those that it calls."""
    text, called = _function(name, graph, results, vectors), called_functions(graph, vectors)
    return _symbols_of(name, text + called, (PREFIX,)) if called else text


def called_functions(graph: Graph, vectors: Vectors) -> str:
    """Return all functions that a graph calls, those that they call included."""
    text = ""
    for function in functions_of(graph):
        name, step = symbol_of(function), "" if function.repeated is None else "_step"
        own = prepare(function.graph, function.outputs, vectors.fused)
        text += _function(name + step, *own, vectors)
        if step:
            text += loop_around(function, vectors)
    return text


def _function(name: str, graph: Graph, results: Sequence[int], vectors: Vectors) -> str:
    if not _in_pieces(graph, vectors):
        module, attributes = Module(), f"noinline {aligned_stack(vectors)}".rstrip()
        with module.function(name, _AREAS, linkage="internal", attributes=attributes) as f:
            e = Emitter(vectors, f)
            _whole_body(f, e, graph, results, consecutive_inputs(e), lambda k, value: e.store(value, "out", k))
        return _symbols_of(name, module.text(), (FUNCTION,))
    whole = module_in_pieces(graph, results, vectors, 0)
    own = "\n".join(line for line in whole.splitlines() if not line.startswith(("declare", "@work")))
    own = _symbols_of(name, own, ("piece", "numbers", "clear", FUNCTION))
    return own.replace("define void @kernel(", f"define internal void @{name}(")


def _symbols_of(name: str, text: str, symbols: Sequence[str]) -> str:
    """Return a function of a larger module in which its private symbols have unique names."""
    for symbol in symbols:
        text = text.replace(f"@{symbol}", f"@{name}_{symbol}")
    return text

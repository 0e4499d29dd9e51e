"""Calls of functions: arguments and results go through two areas on the stack of the function that calls.

Their code is one function in the module for each function of the graph, whatever calls it, see
:mod:`kinetree.engine.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..functions import CalledFunction
from ..graph import CALL, Graph
from .assembly import Module, Value
from .emitter import Emitter
from .vectors import Vectors

PREFIX = "called_"
"""What the names of such functions begin with."""


def symbol_of(function: CalledFunction) -> str:
    """Return the name of a function in assembly."""
    return PREFIX + function.digest


class Calls:
    """Emits the calls within one function."""

    def __init__(self, emitter: Emitter, graph: Graph, operations: Iterable[int]) -> None:
        self.e, self.graph = emitter, graph
        self._results: dict[tuple[CalledFunction, tuple[int, ...]], list[int]] = {}
        for i in operations:
            if graph.kinds[i] == CALL:
                self._results.setdefault((graph.values[i].function, graph.args[i]), []).append(i)
        self._known: dict[int, str] = {}
        for area, count in (
            ("arguments", max((function.inputs for function, _ in self._results), default=0)),
            ("results", max((len(function.outputs) for function, _ in self._results), default=0)),
        ):
            if count:
                emitter.line(f"%{area} = alloca [{count} x {emitter.type}], align {emitter.size}")

    def result(self, i: int, name: Callable[[int], str]) -> str:
        """Return one result; the first one of a call emits the call and reads all of them."""
        if i not in self._known:
            e, function, given = self.e, self.graph.values[i].function, self.graph.args[i]
            for k, a in enumerate(given):
                e.store(name(a), "arguments", k)
            e.line(f"call void @{symbol_of(function)}(ptr %arguments, ptr %results)")
            for j in self._results[function, given]:
                self._known[j] = e.load("results", self.graph.values[j].number)
        return self._known[i]


def loop_around(function: CalledFunction, v: Vectors) -> str:
    """Return the loop that repeats a step, whose function has the loop's name and ``_step``.

    A lane that is done does not change any more, whatever the lanes beside it do.
    """
    module, name, n = Module(), symbol_of(function), len(function.outputs)
    assert function.repeated is not None
    going = function.repeated.going
    areas = {"in": "ptr", "out": "ptr"}
    mask = v.of("i1")
    zero = "zeroinitializer" if v.lanes > 1 else "0.0"
    with module.function(name, areas, linkage="internal", attributes="noinline") as f:
        state, out = f.args  # arguments are written anew for each call: the state takes their place
        with f.loop(0, function.repeated.most):
            how = state.at(going, v.type).load(v.type, v.size)
            on = f.op(f"fcmp ogt {v.type} {how.name}, {zero}", mask)
            some = on if v.lanes == 1 else f.op(f"bitcast {mask} {on.name} to i{v.lanes}", f"i{v.lanes}").differs(0)
            f.leave(unless=some)
            f.do(f"call void @{name}_step(ptr {state.name}, ptr {out.name})")
            with f.loop(0, n) as k:
                place = state.at(k, v.type)
                place.store(_chosen(on, out.at(k, v.type), place, v), v.size)
        with f.loop(0, n) as k:
            out.at(k, v.type).store(state.at(k, v.type).load(v.type, v.size), v.size)
    return module.text()


def _chosen(on: Value, yes: Value, no: Value, v: Vectors) -> Value:
    new, old = (place.load(v.type, v.size) for place in (yes, no))
    return on.f.op(f"select {on.type} {on.name}, {v.type} {new.name}, {v.type} {old.name}", v.type)

"""Sines and cosines of inputs: found before all else, a few angles at a time, by one function.

What they take is the time that one operation waits for the one before; two angles side by side fill it.  Nearly
all angles are small enough for a short reduction to a quarter turn, which a branch chooses where it holds for all
lanes; elsewhere both reductions are made, so that a result does not depend on what is beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..graph import COS, INPUT, SIN, Graph
from .emitter import Emitter
from .mathematics import near_sines_and_cosines, sines_and_cosines
from .vectors import Vectors

FUNCTION = "turn"

ANGLES_AT_ONCE = 2
"""Vectors of doubles side by side: floats, whose vectors make two of doubles, are so by themselves."""

ANGLES_OF_ONE_STATE = 4
"""Numbers of one state that make one vector."""


FEWEST_TURNS = 12
"""Angles from which on that pays with fused multiply-add, which makes the longer reduction nearly as short."""


class Turns:
    """The sines and cosines of a graph whose angles are inputs, and where each is in an area of values.

    Parameters
    ----------
    graph : Graph
    vectors : Vectors
        What the values are.

    Attributes
    ----------
    places : dict
        For each such node, where its value is.
    size : int
        Values in the area.
    """

    def __init__(self, graph: Graph, vectors: Vectors) -> None:
        nodes = [i for i, k in enumerate(graph.kinds) if k in (SIN, COS) and graph.kinds[graph.args[i][0]] == INPUT]
        self._graph, self._vectors = graph, vectors
        self._angles = list(dict.fromkeys(graph.args[i][0] for i in nodes))
        if vectors.fused and (len(self._angles) < FEWEST_TURNS or not vectors.few_registers):
            nodes, self._angles = [], []
        most = ANGLES_OF_ONE_STATE if vectors.lanes == 1 else 1 if vectors.single_precision else ANGLES_AT_ONCE
        self._together = next(n for n in (1, 2, 4) if n >= min(most, len(self._angles)))
        self.size = -(-len(self._angles) // self._together) * self._together * 2
        number = {angle: k for k, angle in enumerate(self._angles)}
        self.places = {i: self._place(number[graph.args[i][0]], graph.kinds[i]) for i in nodes}

    def __bool__(self) -> bool:
        return bool(self._angles)

    def _place(self, angle: int, kind: str) -> int:
        """Return where the sine or cosine of an angle is: those of a group's angles are side by side."""
        group, within = divmod(angle, self._together)
        return (2 * group + (kind == COS)) * self._together + within

    @property
    def _wide(self) -> Vectors:
        return replace(self._vectors, lanes=self._vectors.lanes * self._together)

    def function(self) -> list[str]:
        """Make the function that computes both functions of a group of angles and stores them."""
        if not self:
            return []
        e = Emitter(self._wide)
        size = self._vectors.size

        def store(both: tuple[str, str]) -> None:
            for k, value in enumerate(both):
                at = e.op(f"getelementptr {e.type}, ptr %to, i64 {k}")
                e.line(f"store {e.type} {value}, ptr {at}, align {size}")
            e.line("ret void")

        near, is_near, any_far = near_sines_and_cosines(e, "%x")
        e.line(f"br i1 {any_far}, label %far, label %near")
        e.lines.append("near:")
        store(near())
        e.lines.append("far:")
        other = sines_and_cosines(e, ["%x"])[0]
        mask = f"<{e.lanes} x i1>" if e.lanes > 1 else "i1"
        both = zip(near(), other, strict=True)
        first, second = (e.op(f"select {mask} {is_near}, {e.type} {a}, {e.type} {b}") for a, b in both)
        store((first, second))
        return [f"define internal void @{FUNCTION}(ptr noalias %to, {e.type} %x) noinline {{", *e.lines, "}"]

    def emit(self, e: Emitter, load: Callable[[int], str], area: str) -> None:
        """Emit what computes them all into an area, from inputs that ``load`` finds by their position."""
        wide, n = self._wide, self._together
        for first in range(0, len(self._angles), n):
            group = self._angles[first : first + n]
            group += group[-1:] * (n - len(group))
            x = _joined(e, [load(int(self._graph.values[angle])) for angle in group], wide)
            to = e.op(f"getelementptr {e.type}, ptr %{area}, i64 {2 * first}")
            e.line(f"call void @{FUNCTION}(ptr {to}, {wide.type} {x})")


def _joined(e: Emitter, values: list[str], wide: Vectors) -> str:
    """Return several values as one vector."""
    if len(values) == 1:
        return values[0]
    if e.lanes == 1:
        x = "poison"
        for k, value in enumerate(values):
            x = e.op(f"insertelement {wide.type} {x}, {e.type} {value}, i64 {k}")
        return x
    first, second = values
    order = ", ".join(f"i32 {k}" for k in range(wide.lanes))
    return e.op(f"shufflevector {e.type} {first}, {e.type} {second}, <{wide.lanes} x i32> <{order}>")

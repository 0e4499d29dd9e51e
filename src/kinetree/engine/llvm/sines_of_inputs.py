"""Sines and cosines of inputs: found before all else, a few angles at a time, by one function.

Their cost is the time that each operation waits for the previous one; two angles side by side fill it.  Nearly all
angles are small enough for a short reduction to a quarter turn, which a branch chooses where it holds for all lanes;
otherwise both reductions are computed, so that a result does not depend on its neighbors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..graph import COS, INPUT, SIN, Graph
from .assembly import Module, Value
from .emitter import Emitter
from .trigonometry import near_sines_and_cosines, sines_and_cosines
from .vectors import Vectors

FUNCTION = "turn"

VECTORS_AT_ONCE = 2
"""Vectors of doubles that are computed side by side; a vector of floats already makes two of them."""

ANGLES_OF_ONE_STATE = 4
"""Numbers of one state that form one vector; twice as many with AVX-512, whose registers hold them."""


FEWEST_TURNS = 12
"""Number of angles from which this pays on processors with fused multiply-add, where the longer reduction costs little
more."""


class Turns:
    """The sines and cosines of a graph whose angles are inputs, and where each is in an area of values.

    vectors: What the values are.

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
        pays = vectors.few_registers or vectors.lanes == 1
        if vectors.fused and (len(self._angles) < FEWEST_TURNS or not pays):
            nodes, self._angles = [], []
        of_one = 2 * ANGLES_OF_ONE_STATE if vectors.masks else ANGLES_OF_ONE_STATE
        most = of_one if vectors.lanes == 1 else 1 if vectors.single_precision else VECTORS_AT_ONCE
        self._together = next(n for n in (1, 2, 4, 8) if n >= min(most, len(self._angles)))
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

    def add_function(self, module: Module) -> None:
        """Add the function that computes sine and cosine of a group of angles and stores them."""
        if not self:
            return
        v = self._wide
        parameters = {"to": "ptr noalias", "x": v.type}
        with module.function(FUNCTION, parameters, linkage="internal", attributes="noinline") as f:
            e, (to, x) = Emitter(v, f), f.args
            near, is_near, any_far = near_sines_and_cosines(e, x.name)
            with f.way_out("far") as far:
                f.jump(far, when=Value(f, "i1", any_far))
                self._store(to, [Value(f, v.type, name) for name in near()])
                f.ret()
            e = Emitter(v, f)
            (other,) = sines_and_cosines(e, [x.name])
            both = ((Value(f, v.type, a), Value(f, v.type, b)) for a, b in zip(near(), other, strict=True))
            self._store(to, [Value(f, v.of("i1"), is_near).choose(a, b) for a, b in both])

    def _store(self, to: Value, both: Sequence[Value]) -> None:
        for k, value in enumerate(both):
            to.at(k, value.type).store(value, self._vectors.size)

    def emit(self, e: Emitter, load: Callable[[int], str], area: str) -> None:
        """Emit code that computes them all into an area, from inputs that ``load`` finds by their position."""
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

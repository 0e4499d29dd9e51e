"""Kernels that loop: a schedule of small straight-line steps instead of one long function.

Each step is compiled once and called many times with different offsets.  Per lane of the
batch there is a work area; a step finds its numbers at ``base + offset + index``, where
the offset comes from its entry in the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..fuse import fuse
from ..graph import Graph
from .assembly import Module, StructLayout
from .body import emit_body
from .emitter import Emitter
from .modules import aligned_stack
from .vectors import Vectors

BASES = ("in", "out", "work", "params")

_SCHEDULE = StructLayout(count="i64", entries="ptr", params="ptr", outs="i64", words="i64")
"""How many entries there are, where they are and the parameters, how many output vectors, words per entry."""


@dataclass(frozen=True)
class Slot:
    """Where a number is: ``base`` area, which word of the entry holds the offset, index from there."""

    base: str
    word: int
    index: int


@dataclass
class BodyStep:
    """A graph whose inputs and outputs are in slots; input k of the graph is in ``sources[k]``."""

    graph: Graph = field(default_factory=Graph)
    sources: list[Slot] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    targets: list[tuple[Slot, bool]] = field(default_factory=list)
    """Slot, and whether to add to what is there instead of replacing it."""

    def source(self, place: Slot) -> int:
        """Return the graph's node for a number at a place."""
        if place not in self.sources:
            self.sources.append(place)
        return self.graph.input(self.sources.index(place))

    def store(self, place: Slot, node: int, accumulate: bool = False) -> None:
        """Write a result."""
        if (place, accumulate) not in self.targets:
            self.targets.append((place, accumulate))
            self.outputs.append(node)


def rolled_module(steps: Sequence[BodyStep], v: Vectors) -> str:
    """Return LLVM assembly of ``@step0``, ``@step1``, ... and of ``@kernel(in, out, context)`` that runs a schedule.

    The context is a :data:`_SCHEDULE`.  The first word of an entry is the address of its step.
    """
    module = Module()
    module.add("declarations", "\n".join(Emitter(v).declarations()))
    areas = dict.fromkeys((*BASES, "entry"), "ptr")
    for k, step in enumerate(steps):
        graph, outputs = fuse(step.graph, step.outputs) if v.fused else (step.graph, step.outputs)
        with module.function(f"step{k}", areas, attributes=aligned_stack(v)) as f:
            _emit_step(Emitter(v, f), step, graph, outputs)
    with module.function("kernel", {"in": "ptr", "out": "ptr", "context": "ptr"}) as f:
        given, out, context = f.args
        schedule = _SCHEDULE.of(context)
        count, entries, params, outs, words = (schedule[name] for name in _SCHEDULE.at)
        work = out.at(outs, v.type)
        with f.loop(0, count) as i:
            entry = entries.at(i * words, "i64")
            f.call(entry.load("ptr"), given, out, work, params, entry)
    return module.text()


def _emit_step(e: Emitter, step: BodyStep, graph: Graph, outputs: Sequence[int]) -> None:
    bases: dict[tuple[str, int], str] = {}

    def base(place: Slot) -> str:
        """Return the address of an area for this entry; offsets are in vectors (in parameters: numbers)."""
        key = (place.base, place.word)
        if key not in bases:
            offset = e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr %entry, i64 {place.word}')}")
            element = e.real if place.base == "params" else e.type
            bases[key] = e.op(f"getelementptr {element}, ptr %{place.base}, i64 {offset}")
        return bases[key]

    def address(place: Slot) -> str:
        element = e.real if place.base == "params" else e.type
        return e.op(f"getelementptr {element}, ptr {base(place)}, i64 {place.index}")

    def load(k: int) -> str:
        place = step.sources[k]
        if place.base != "params":
            return e.op(f"load {e.type}, ptr {address(place)}, align {e.size}")
        return e.spread(e.op(f"load {e.real}, ptr {address(place)}"))

    def store(k: int, value: str) -> None:
        place, accumulate = step.targets[k]
        where = address(place)
        if accumulate:
            present = e.op(f"load {e.type}, ptr {where}, align {e.size}")
            value = e.op(f"fadd {e.type} {present}, {value}")
        e.line(f"store {e.type} {value}, ptr {where}, align {e.size}")

    emit_body(e, graph, outputs, load, store)

"""Parts that modules of kernels have in common: the function ``@kernel``, its tables, and NaN for unused inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..graph import INPUT, Graph
from .assembly import MachineFunction, Value
from .body import NOTHING_TO_SEND, Sending
from .emitter import Emitter
from .streaming import AT_ONCE, PARCEL, Times, place_words
from .vectors import Vectors

STACK_ALIGNMENT = 16
"""Stack alignment in every function, in bytes."""


def table_of_places(
    places: Sequence[int], vectors: Vectors, results: Sequence[int] | None = None, times: Times = AT_ONCE
) -> str:
    """Return the table of where each output is among the results, in bytes; see :func:`.streaming.place_words`."""
    words = place_words(places, vectors.per_line, results, times)
    return f"@places = constant [{len(words)} x i32] [{', '.join(f'i32 {k}' for k in words)}]\n"


def work_vectors(count: int, tiles: int = 1) -> str:
    """Return ``@work``: vectors that a kernel needs besides inputs and results, and tiles that it computes at once."""
    return f"@work = constant [2 x i64] [i64 {count}, i64 {tiles}]\n"


def kernel_parameters(areas: Mapping[str, str], sending: Sending) -> dict[str, str]:
    """Return the parameters of a kernel."""
    return {**areas, **({"context": "ptr", "parcel": "ptr"} if sending else {})}


def unused_inputs(graph: Graph, input_count: int) -> list[int]:
    """Return the inputs that nothing depends on."""
    used = {int(graph.values[i]) for i, kind in enumerate(graph.kinds) if kind == INPUT}
    return [k for k in range(input_count) if k not in used]


def spoil_for_unused(
    f: MachineFunction, e: Emitter, unused: Sequence[int], load: Callable[[int], str], count: int,
    sending: Sending = NOTHING_TO_SEND,
) -> None:  # fmt: skip
    """Make NaN in give NaN out even for an input that nothing depends on: such lanes are overwritten at the end.

    A single test finds one, x - x summed over the unused inputs; the loop that overwrites is hardly ever entered.
    Where results have already been sent, the code that sends the last ones does it.
    """
    if not unused or not count:
        return
    total = None
    for k in unused:
        x = load(k)
        zero = e.op(f"fsub {e.type} {x}, {x}")
        total = zero if total is None else e.op(f"fadd {e.type} {total}, {zero}")
    bad = f.op(f"fcmp uno {e.type} {total}, {total}", e.vectors.of("i1"))
    found = bad
    if e.lanes > 1:
        bits = f.op(f"bitcast {bad.type} {bad.name} to i{e.lanes}", f"i{e.lanes}")
        found = bits.differs(0)
        if sending.is_soon:
            PARCEL.of(f.args[-1])["spoiled"] = bits.to("i64")
            return
    with f.when(found), f.loop(0, count) as each:
        place = f.args[1].at(each, e.type)
        nan = Value(f, e.type, e.number(float("nan")))
        place.store(bad.choose(nan, place.load(e.type, e.size)), e.size)


def aligned_stack(v: Vectors) -> str:
    """Return the function attribute that keeps spilled values on as few cache lines as possible.

    Without it, LLVM notices too late that there are such values: vectors would be as misaligned as the caller.
    """
    return f"alignstack({v.size})" if v.size > STACK_ALIGNMENT else ""

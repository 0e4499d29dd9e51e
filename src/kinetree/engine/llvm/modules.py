"""Parts that modules of kernels have in common: the function ``@kernel``, its tables, and NaN for unused inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph import INPUT, Graph
from .body import NOTHING_TO_SEND, Sending
from .emitter import Emitter
from .streaming import AT_ONCE, PARCEL, Times, place_words
from .vectors import Vectors

STACK_ALIGNMENT = 16
"""Bytes that the stack is aligned to in every function."""


def table_of_places(
    places: Sequence[int], vectors: Vectors, results: Sequence[int] | None = None, times: Times = AT_ONCE
) -> str:
    """Return where each output is among the results, in bytes; see :func:`.streaming.place_words`."""
    words = place_words(places, vectors.per_line, results, times)
    return f"@places = constant [{len(words)} x i32] [{', '.join(f'i32 {k}' for k in words)}]\n"


def work_vectors(count: int, tiles: int = 1) -> str:
    """Say how many vectors a kernel needs beside its inputs and results, and how many tiles it computes at once."""
    return f"@work = constant [2 x i64] [i64 {count}, i64 {tiles}]\n"


def kernel_parameters(areas: str, sending: Sending) -> str:
    """Write the parameters of a kernel."""
    return areas + (", ptr %context, ptr %parcel" if sending else "")


def spoil_for_unused(
    e: Emitter, graph: Graph, input_count: int, load: Callable[[int], str], count: int,
    sending: Sending = NOTHING_TO_SEND,
) -> bool:  # fmt: skip
    """Let NaN in be NaN out, also for an input that nothing depends on: such lanes are overwritten at the end.

    Whether there is one is a single test, x - x summed over the unused inputs; the loop that
    overwrites is hardly ever entered.  Where results have been sent already, whoever sends the last ones does it.
    """
    used = {int(graph.values[i]) for i, kind in enumerate(graph.kinds) if kind == INPUT}
    unused = [k for k in range(input_count) if k not in used]
    if not unused or not count:
        return False
    total = None
    for k in unused:
        x = load(k)
        zero = e.op(f"fsub {e.type} {x}, {x}")
        total = zero if total is None else e.op(f"fadd {e.type} {total}, {zero}")
    mask = f"<{e.lanes} x i1>" if e.lanes > 1 else "i1"
    bad = e.op(f"fcmp uno {e.type} {total}, {total}")
    found = bad
    if e.lanes > 1:
        bits = e.op(f"bitcast {mask} {bad} to i{e.lanes}")
        found = e.op(f"icmp ne i{e.lanes} {bits}, 0")
        if sending.is_soon:
            spoiled = e.op(f"getelementptr i8, ptr %parcel, i64 {PARCEL.at['spoiled']}")
            e.line(f"store i64 {e.op(f'zext i{e.lanes} {bits} to i64')}, ptr {spoiled}")
            return False
    e.lines += [
        f"  br i1 {found}, label %spoil, label %end",
        "spoil:",
        "  %k = phi i64 [ 0, %begin ], [ %k_next, %spoil ]",
        f"  %place = getelementptr inbounds {e.type}, ptr %out, i64 %k",
        f"  %was = load {e.type}, ptr %place, align {e.size}",
        f"  %is = select {mask} {bad}, {e.type} {e.number(float('nan'))}, {e.type} %was",
        f"  store {e.type} %is, ptr %place, align {e.size}",
        "  %k_next = add i64 %k, 1",
        f"  %again = icmp slt i64 %k_next, {count}",
        "  br i1 %again, label %spoil, label %end",
        "end:",
    ]
    return True


def kernel_module(e: Emitter, parameters: str, branches: bool) -> str:
    """Make a module of the body of ``@kernel``, which begins with a label if there are ``branches``."""
    head = ["begin:"] if branches else []
    body = [*head, *e.lines, "  ret void", "}", ""]
    return "\n".join([*e.declarations(), f"define void @kernel({parameters}){aligned_stack(e)} {{", *body])


def aligned_stack(e: Emitter) -> str:
    """Return the attribute of a function that lets values that go to the stack lie on as few cache lines as possible.

    By itself LLVM finds out too late that there are such values: vectors would be as far from a line as the caller is.
    """
    return f" alignstack({e.size})" if e.size > STACK_ALIGNMENT else ""

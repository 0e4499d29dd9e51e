"""Which values of straight-line code are kept in registers, which in memory, and when they go from one to the other.

Processors with few vector registers spend as much on moving values as on computing with them, if the code generator is
left to find out which to move: it looks at a few operations at a time.  The whole graph is known, so the value whose
next use is farthest away goes to memory first (Belady's rule), each is stored at most once, and an operation reads one
of its operands straight from memory where that saves an instruction.

Code is divided into pieces of moderate length; nothing stays in registers from one piece to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from ..graph import CALL, COS, INPUT, LESS, NEG, SIN, Graph

NEVER = 1 << 60


@dataclass
class PlannedStep:
    """One operation."""

    node: int
    """What is computed."""
    fetched: list[int] = field(default_factory=list)
    """Values that are brought from memory into registers before, to stay there."""
    read: int | None = None
    """A value that the operation itself reads from memory."""
    saved: list[int] = field(default_factory=list)
    """Values that are stored in their slots afterwards."""


@dataclass
class RegisterPlan:
    """The operations of each piece, the slots of values that are ever stored, and how many slots there are."""

    pieces: list[list[PlannedStep]]
    slots: dict[int, int]
    size: int


def operand_of(graph: Graph, kept: set[int], node: int) -> tuple[int, bool]:
    """Return the value that an operand comes from, and whether its sign is changed on the way.

    Changes of sign that are not ``kept`` as values happen in the operation that reads them.
    """
    negated = False
    while graph.kinds[node] == NEG and node not in kept:
        node, negated = graph.args[node][0], not negated
    return node, negated


def operands(graph: Graph, wanted: set[int], node: int) -> list[int]:
    """Return the values that an operation reads: comparisons are made where their outcome is needed."""
    found: dict[int, None] = {}
    for a in graph.args[node]:
        for b in graph.args[a] if graph.kinds[a] == LESS else (a,):
            found[operand_of(graph, wanted, b)[0]] = None
    return list(found)


def plan(
    graph: Graph, outputs: Sequence[int], registers: int, piece: int, soon: int, given: Mapping[int, int] | None = None
) -> RegisterPlan:
    """Decide where every value is at every operation.

    outputs: Nodes whose values leave as soon as they are known.
    registers: Values that may be in registers between two operations.
    piece: Operations in a piece.
    soon: A value that is used again within this many operations is fetched instead of being read in place.
    given: Slots of operations that are in memory from the beginning.
    """
    wanted = set(outputs)
    given = given or {}
    order = _order(graph, wanted, given)
    reads = [operands(graph, wanted, i) for i in order]
    uses: dict[int, list[int]] = {}
    for t in range(len(order) - 1, -1, -1):  # the next use is the last of each list
        for b in reads[t]:
            uses.setdefault(b, []).append(t)

    def next_use(value: int) -> int:
        later = uses.get(value)
        return later[-1] if later else NEVER

    held: set[int] = set()  # in registers
    slots: dict[int, int] = dict(given)
    free: list[int] = []
    size = max(given.values(), default=-1) + 1
    pieces: list[list[PlannedStep]] = [[]]
    length = 0

    def save(value: int, step: PlannedStep) -> None:
        nonlocal size
        if value in slots or not graph.args[value]:
            return  # it is in memory already
        if free:
            slots[value] = heappop(free)  # low places are referred to in fewer bytes
        else:
            slots[value], size = size, size + 1
        step.saved.append(value)

    for t, (node, read) in enumerate(zip(order, reads, strict=True)):
        turns, calls = graph.kinds[node] in (SIN, COS), graph.kinds[node] == CALL
        goes_on = calls and t > 0 and call_of(graph, order[t - 1]) == call_of(graph, node)
        is_full = length >= piece and not goes_on
        if is_full or (calls and not goes_on):  # a called function keeps no registers
            for value in held:
                save(value, pieces[-1][-1])
            held.clear()
        if is_full:
            pieces.append([])
            length = 0
        length += LENGTH_OF_A_TURN if turns else 1
        step = PlannedStep(node)
        pieces[-1].append(step)
        for b in read:
            uses[b].pop()
        missing = [b for b in read if b not in held]
        if missing and not calls:
            rarest = max(missing, key=next_use)
            if next_use(rarest) >= t + soon:
                step.read = rarest
            step.fetched = [b for b in missing if b != step.read]
            held.update(step.fetched)
        if next_use(node) < NEVER:
            held.add(node)
            if turns:
                save(node, step)  # its neighbors are found together with it and need the registers
                held.discard(node)
        for b in read:
            if next_use(b) == NEVER:
                held.discard(b)
                if b in slots and not (b in given and b in wanted):
                    heappush(free, slots[b])
        while len(held) > registers:
            farthest = max(held, key=next_use)
            held.discard(farthest)
            save(farthest, step)
    return RegisterPlan(pieces, slots, size)


def call_of(graph: Graph, node: int) -> tuple[Any, ...]:
    """Return what the results of one call have in common; nothing for other operations."""
    return (graph.values[node].function, graph.args[node]) if graph.kinds[node] == CALL else ()


LENGTH_OF_A_TURN = 20
"""The number of operations that a sine or cosine counts as."""


def _order(graph: Graph, wanted: set[int], given: Mapping[int, int]) -> list[int]:
    """Return the operations as written, except that sines and cosines of inputs come first, side by side."""
    kinds, args = graph.kinds, graph.args
    own = [i for i in range(len(kinds)) if args[i] and kinds[i] != LESS and (kinds[i] != NEG or i in wanted)]
    own = [i for i in own if i not in given]
    first = [i for i in own if kinds[i] in (SIN, COS) and kinds[args[i][0]] == INPUT]
    early, found = set(first), list(first)
    results: dict[tuple[Any, ...], list[int]] = {}
    for i in own:
        results.setdefault(call_of(graph, i), []).append(i)
    for i in own:
        if kinds[i] == CALL:
            found += results.pop(call_of(graph, i), [])
        elif i not in early:
            found.append(i)
    return found

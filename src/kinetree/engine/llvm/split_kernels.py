"""Long kernels divided into several functions, between which values pass through memory.

A plan determines what each keeps in registers; see :mod:`.registers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..graph import CONST, INPUT, LESS, Graph
from .assembly import MachineFunction, Module, Value
from .body import NOTHING_TO_SEND, Sending, consecutive_inputs, node_emitter, places_of
from .emitter import Emitter
from .modules import aligned_stack, kernel_parameters, spoil_for_unused, unused_inputs, work_vectors
from .registers import PlannedStep, operand_of, plan
from .sines_of_inputs import Turns
from .vectors import LINE, Vectors

MOST_STORES = 500
"""Results that are constants or inputs per function of a longer kernel: LLVM compares every store with every other."""

FEWEST_CLEARED = 200
"""Number of zero results of one state from which a loop clears all results first, instead of one line for each."""

MOST_WINDOWS = 10
"""Number of windows into the work area: as many as there are other registers to spare."""

SPARE_REGISTERS = 3
"""Vector registers that are left to LLVM when a plan chooses the values that are kept in them."""

USED_SOON = 8
"""Operations within which a value in memory must be used again to be worth a register."""

SHORTEST_PIECE, LONGEST_PIECE = 300, 1200
"""Operations per function: each begins with empty registers."""

LONGEST_DECODED = 2500
"""Operations up to which instructions stay decoded between two tiles (some 6000 of them on Zen 4, 4000 elsewhere)."""

MOST_TILES, FEWEST_TILES, MOST_BYTES = 16, 4, 3 << 16
"""How many tiles go through a piece one after another, and how many bytes of values they have together: they have to
stay in the second-nearest cache."""

MOST_COMPARED = 6_500_000
"""Operations of a kernel times those of a piece: LLVM compares each load with the stores before it."""


_PIECE = {"in": "ptr noalias readonly", "out": "ptr noalias", "work": "ptr noalias"}


def zeros_of(graph: Graph, results: Sequence[int], vectors: Vectors) -> frozenset[int]:
    """Return the places of zero results that a loop clears best: most of a wide robot's matrices."""
    zero = {i for i in set(results) if graph.kinds[i] == CONST and str(graph.values[i]) in ("0.0", "0")}
    places = frozenset(r for r, i in enumerate(results) if i in zero)
    return places if vectors.lanes == 1 and len(places) >= FEWEST_CLEARED else frozenset()


def clear(f: MachineFunction, v: Vectors, count: int) -> None:
    """Set the first ``count`` results to zero."""
    with f.loop(0, count) as k:
        f.args[0].at(k, v.type).store(Value(f, v.type, "zeroinitializer" if v.lanes > 1 else "0.0"), v.size)


def module_in_pieces(
    graph: Graph, results: Sequence[int], vectors: Vectors, input_count: int,
    inputs_of: Callable[[Emitter], Callable[[int], str]] = consecutive_inputs, sending: Sending = NOTHING_TO_SEND,
    work_at: int | None = None,
) -> str:  # fmt: skip
    """Make a kernel that calls functions of moderate length; values pass between them through memory.

    ``inputs_of`` returns the function that loads the inputs.  Results are sent between two functions, where that costs
    no registers.
    """
    module, pieces = Module(), list[str]()
    cleared = zeros_of(graph, results, vectors)
    wanted = places_of(results, cleared)
    operations = sum(map(bool, graph.args))
    piece = min(max(MOST_COMPARED // max(operations, 1), SHORTEST_PIECE), LONGEST_PIECE)
    turns = Turns(graph, vectors)
    found = plan(graph, results, vectors.registers - SPARE_REGISTERS, piece, USED_SOON, turns.places)
    # AVX-512 spreads a number over all lanes while it reads it
    numbers: dict[str, int] | None = {} if vectors.lanes > 1 and not vectors.masks else None

    @contextmanager
    def next_piece() -> Iterator[tuple[MachineFunction, Emitter]]:
        pieces.append(f"piece{len(pieces)}")
        with module.function(pieces[-1], _PIECE, linkage="internal", attributes="noinline") as f:
            yield f, Emitter(vectors, f)

    if turns:
        turns.add_function(module)
        with next_piece() as (_, e):
            turns.emit(e, inputs_of(e), "work")
    for steps in found.pieces:
        with next_piece() as (_, e):
            e.numbers, e.windows = numbers, {"work": MOST_WINDOWS}
            _emit_steps(e, graph, steps, set(results), wanted, found.slots, inputs_of(e))
    given = [(i, r) for i, places in wanted.items() if not graph.args[i] or i in turns.places for r in places]
    for first in range(0, len(given), MOST_STORES):
        with next_piece() as (_, e):
            _store_given(e, graph, given[first : first + MOST_STORES], inputs_of(e), turns.places)
    before = work_at or 0
    needed = max(found.size, turns.size)  # a sine's cosine is stored beside it, wanted or not
    tiles = 1 if work_at is None or sending else _tiles_at_once(operations, before + needed, vectors)
    size = _room(needed, before, vectors) if tiles > 1 else needed
    unused = unused_inputs(graph, input_count) if results else []
    if tiles > 1 and unused:
        with next_piece() as (f, e):
            spoil_for_unused(f, e, unused, inputs_of(e), len(results))
    if cleared:
        with module.function("clear", {"out": "ptr"}, linkage="internal", attributes="noinline") as f:
            clear(f, vectors, len(results))
    areas = {"in": "ptr", "out": "ptr"}
    parameters = {**areas, "context": "ptr", "tiles": "i64"} if tiles > 1 else kernel_parameters(areas, sending)
    with module.function("kernel", parameters, attributes=aligned_stack(vectors)) as f:
        e, (inputs, out) = Emitter(vectors, f), f.args[:2]
        room = f.room(vectors.type, max(size, 1), vectors.size) if work_at is None else None
        area = inputs.at(before, vectors.type) if room is None else room
        if cleared:
            f.call("clear", out)
        if tiles > 1:
            _call_tile_by_tile(f, pieces, (inputs, out, area), f.args[3], (before + size) * vectors.size)
        else:
            for k, name in enumerate(pieces):
                f.call(name, inputs, out, area)
                sending.part(e, k, len(pieces))
            spoil_for_unused(f, e, unused, inputs_of(e), len(results))
    head = [work_vectors(0 if work_at is None else size, tiles)] if vectors.lanes > 1 else []
    if numbers:  # not declared as constants: LLVM would read each once and keep it, in memory again
        table = ", ".join(f"{vectors.type} {number}" for number in numbers)
        head += [f"@numbers = internal global [{len(numbers)} x {vectors.type}] [{table}], align {vectors.size}"]
    return "\n".join([*head, *e.declarations(), module.text()])


def _emit_steps(
    e: Emitter, graph: Graph, steps: Sequence[PlannedStep], outputs: set[int], wanted: Mapping[int, Sequence[int]],
    slots: Mapping[int, int], load: Callable[[int], str],
) -> None:  # fmt: skip
    """Emit what a piece computes: a plan fetches values before they are used and saves them for later pieces."""
    names: dict[int, str] = {}

    def fetch(i: int) -> str:
        if graph.kinds[i] == CONST:
            return e.number(graph.values[i])
        return load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.load("work", slots[i])

    def name(i: int) -> str:
        if graph.kinds[i] == LESS:
            return emit(i)
        value, negated = operand_of(graph, outputs, i)
        known = names[value] if value in names else fetch(value)
        return e.op(f"fneg {e.type} {known}") if negated else known

    emit = node_emitter(e, graph, [step.node for step in steps], name, names)
    for step in steps:
        names.update((i, fetch(i)) for i in step.fetched)
        if step.read is not None:
            names[step.read] = fetch(step.read)
        names[step.node] = emit(step.node)
        for r in wanted.get(step.node, ()):
            e.store(names[step.node], "out", r)
        for i in step.saved:
            e.store(names[i], "work", slots[i])


def _tiles_at_once(operations: int, block: int, vectors: Vectors) -> int:
    """Return how many tiles go through each piece before the next one, given the values of one tile.

    Otherwise code that is too long to stay decoded would be fetched and decoded again for every tile.
    """
    if operations <= LONGEST_DECODED or not vectors.some_tiles:
        return 1
    tiles = min(MOST_BYTES // (block * vectors.size), MOST_TILES)
    return tiles if tiles >= FEWEST_TILES else 1


def _room(work: int, before: int, vectors: Vectors) -> int:
    """Return how much room the work of a tile gets: an odd number of lines, which caches spread best."""
    lines = -(-(before + work) * vectors.size // LINE) | 1
    return lines * LINE // vectors.size - before


def _call_tile_by_tile(
    f: MachineFunction, functions: Sequence[str], areas: Sequence[Value], tiles: Value, block: int
) -> None:
    """Call functions one after another, each for all tiles, which are ``block`` bytes apart."""
    end = tiles * block
    for name in functions:
        with f.loop(0, end, block) as at:
            f.call(name, *(area + at for area in areas))


def _store_given(
    e: Emitter, graph: Graph, given: Sequence[tuple[int, int]], load: Callable[[int], str], turned: Mapping[int, int]
) -> None:
    """Store results that are constants, inputs, or sines and cosines of inputs."""
    for i, r in given:
        if i in turned:
            value = e.load("work", turned[i])
        else:
            value = load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.number(graph.values[i])
        e.store(value, "out", r)

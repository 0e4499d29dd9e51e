"""Long kernels divided into several functions, between which values pass through memory.

A plan says what is kept in registers within each; see :mod:`.registers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..graph import CONST, INPUT, LESS, Graph
from .body import NOTHING_TO_SEND, Sending, consecutive_inputs, node_emitter, places_of
from .emitter import Emitter
from .modules import kernel_module, kernel_parameters, spoil_for_unused, work_vectors
from .registers import operand_of, plan
from .turns import Turns
from .vectors import LINE, Vectors

MOST_STORES = 500
"""Results that are numbers or inputs per function of a longer kernel: LLVM compares every store with every other."""

FEWEST_CLEARED = 200
"""Results of one state that are zero from which a loop stores them, all results first, instead of one line for each."""

MOST_WINDOWS = 10
"""Into the work area: as many as there are other registers to spare."""

SPARE_REGISTERS = 3
"""Vector registers that are left to LLVM when it is said which values are to be kept in them."""

USED_SOON = 8
"""Operations within which a value in memory is used again if it is worth a register."""

SHORTEST_PIECE, LONGEST_PIECE = 300, 1200
"""Operations per function: each begins with empty registers."""

LONGEST_DECODED = 2500
"""Operations up to which instructions stay decoded between two tiles (some 6000 of them on Zen 4, 4000 elsewhere)."""

MOST_TILES, FEWEST_TILES, MOST_BYTES = 16, 4, 3 << 16
"""How many tiles go through a piece one after another, and how many bytes of values they have together: they have to
stay in the second-nearest cache."""

MOST_COMPARED = 6_500_000
"""Operations of a kernel times those of a piece: LLVM compares each load with the stores before it."""


def zeros_of(graph: Graph, results: Sequence[int], vectors: Vectors) -> frozenset[int]:
    """Return the places of results that are zero and better cleared by a loop: most of a wide robot's matrices."""
    zero = {i for i in set(results) if graph.kinds[i] == CONST and str(graph.values[i]) in ("0.0", "0")}
    places = frozenset(r for r, i in enumerate(results) if i in zero)
    return places if vectors.lanes == 1 and len(places) >= FEWEST_CLEARED else frozenset()


def clearing(e: Emitter, count: int) -> list[str]:
    """Make the function ``@clear``, which sets so many results to zero."""
    return [
        "define internal void @clear(ptr %out) noinline {",
        "begin:",
        "  br label %each",
        "each:",
        "  %k = phi i64 [ 0, %begin ], [ %next, %each ]",
        f"  %at = getelementptr {e.type}, ptr %out, i64 %k",
        f"  store {e.type} {e.number(0.0)}, ptr %at, align {e.size}",
        "  %next = add i64 %k, 1",
        f"  %more = icmp ult i64 %next, {count}",
        "  br i1 %more, label %each, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def module_in_pieces(
    graph: Graph, results: Sequence[int], vectors: Vectors, input_count: int,
    inputs_of: Callable[[Emitter], Callable[[int], str]] = consecutive_inputs, sending: Sending = NOTHING_TO_SEND,
    work_at: int | None = None,
) -> str:  # fmt: skip
    """Make a kernel that calls functions of moderate length; values pass between them through memory.

    ``inputs_of`` makes what loads the inputs in one function.  What is to be sent is sent between two functions,
    where no registers are lost by that.
    """
    cleared = zeros_of(graph, results, vectors)
    wanted = places_of(results, cleared)
    outputs = set(results)
    operations = sum(map(bool, graph.args))
    piece = min(max(MOST_COMPARED // max(operations, 1), SHORTEST_PIECE), LONGEST_PIECE)
    turns = Turns(graph, vectors)
    found = plan(graph, results, vectors.registers - SPARE_REGISTERS, piece, USED_SOON, turns.places)
    # AVX-512 spreads a number over all lanes while it reads it
    numbers: dict[str, int] | None = {} if vectors.lanes > 1 and not vectors.masks else None
    text: list[str] = turns.function()
    bodies: list[Emitter] = []
    if turns:
        e = Emitter(vectors)
        turns.emit(e, inputs_of(e), "work")
        bodies.append(e)
    for steps in found.pieces:
        e = Emitter(vectors)
        e.numbers, e.windows = numbers, {"work": MOST_WINDOWS}
        load = inputs_of(e)
        names: dict[int, str] = {}

        def fetch(i: int, e: Emitter = e, load: Callable[[int], str] = load) -> str:
            if graph.kinds[i] == CONST:
                return e.number(graph.values[i])
            return load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.load("work", found.slots[i])

        def name(i: int, e: Emitter = e, names: dict[int, str] = names) -> str:
            if graph.kinds[i] == LESS:
                return emit(i)  # noqa: B023 (called only while its own piece is emitted)
            value, negated = operand_of(graph, outputs, i)
            known = names[value] if value in names else fetch(value)
            return e.op(f"fneg {e.type} {known}") if negated else known

        emit = node_emitter(e, graph, [step.node for step in steps], name, names)
        for step in steps:
            names.update((i, fetch(i)) for i in step.fetched)
            if step.read is not None:
                names[step.read] = fetch(step.read)
            value = emit(step.node)
            names[step.node] = value
            for r in wanted.get(step.node, ()):
                e.store(value, "out", r)
            for i in step.saved:
                e.store(names[i], "work", found.slots[i])
        bodies.append(e)
    given = [(i, r) for i, places in wanted.items() if not graph.args[i] or i in turns.places for r in places]
    bodies += _given(graph, vectors, given, inputs_of, turns.places)
    main = Emitter(vectors)
    before = work_at or 0
    needed = max(found.size, turns.size)  # a sine's cosine is stored beside it, wanted or not
    tiles = 1 if work_at is None or sending else _tiles_at_once(operations, before + needed, vectors)
    size = _room(needed, before, vectors) if tiles > 1 else needed
    if work_at is None:
        main.line(f"%area = alloca [{max(size, 1)} x {main.type}], align {main.size}")
    else:
        main.line(f"%area = getelementptr {main.type}, ptr %in, i64 {work_at}")
    if cleared:
        text += clearing(main, len(results))
        main.line("call void @clear(ptr %out)")
    areas = "ptr noalias readonly %in, ptr noalias %out, ptr noalias %work"
    for k, e in enumerate(bodies):
        text += [f"define internal void @piece{k}({areas}) noinline {{", *e.lines, "  ret void", "}"]
    if tiles > 1:
        functions = [f"piece{k}" for k in range(len(bodies))]
        e = Emitter(vectors)
        if spoil_for_unused(e, graph, input_count, inputs_of(e), len(results)):
            functions.append("spoil")
            text += [f"define internal void @spoil({areas}) noinline {{", "begin:", *e.lines, "  ret void", "}"]
        _call_tile_by_tile(main, functions, (before + size) * main.size)
        unused, parameters = True, "ptr %in, ptr %out, ptr %context, i64 %tiles"
    else:
        for k in range(len(bodies)):
            main.line(f"call void @piece{k}(ptr %in, ptr %out, ptr %area)")
            sending.part(main, k, len(bodies))
        unused = spoil_for_unused(main, graph, input_count, inputs_of(main), len(results))
        parameters = kernel_parameters("ptr %in, ptr %out", sending)
    head = [work_vectors(0 if work_at is None else size, tiles)] if vectors.lanes > 1 else []
    if numbers:  # not declared as constants: LLVM would read each once and keep it, in memory again
        table = ", ".join(f"{main.type} {number}" for number in numbers)
        head += [f"@numbers = internal global [{len(numbers)} x {main.type}] [{table}], align {main.size}"]
    return "\n".join([*head, *text, kernel_module(main, parameters, unused)])


def _tiles_at_once(operations: int, block: int, vectors: Vectors) -> int:
    """Return how many tiles go through each piece before the next one, each with a block of so many values.

    Code that is too long to stay decoded would be fetched and decoded anew for every tile.
    """
    if operations <= LONGEST_DECODED or not vectors.some_tiles:
        return 1
    tiles = min(MOST_BYTES // (block * vectors.size), MOST_TILES)
    return tiles if tiles >= FEWEST_TILES else 1


def _room(work: int, before: int, vectors: Vectors) -> int:
    """Return how much room the work of a tile gets: blocks are an odd number of lines, which caches spread best."""
    lines = -(-(before + work) * vectors.size // LINE) | 1
    return lines * LINE // vectors.size - before


def _call_tile_by_tile(e: Emitter, functions: Sequence[str], block: int) -> None:
    """Call functions one after another, each for all tiles, which are so many bytes apart."""
    e.line(f"%all = mul i64 %tiles, {block}")
    before = "begin"
    for name in functions:
        e.line(f"br label %{name}s")
        e.lines.append(f"{name}s:")
        e.line(f"%at_{name} = phi i64 [ 0, %{before} ], [ %next_{name}, %{name}s ]")
        places = (e.op(f"getelementptr i8, ptr %{area}, i64 %at_{name}") for area in ("in", "out", "area"))
        e.line(f"call void @{name}({', '.join(f'ptr {p}' for p in places)})")
        e.line(f"%next_{name} = add i64 %at_{name}, {block}")
        e.line(f"%more_{name} = icmp ult i64 %next_{name}, %all")
        e.line(f"br i1 %more_{name}, label %{name}s, label %{name}_done")
        e.lines.append(f"{name}_done:")
        before = f"{name}_done"


def _given(
    graph: Graph,
    vectors: Vectors,
    given: Sequence[tuple[int, int]],
    inputs_of: Callable[[Emitter], Callable[[int], str]],
    turned: Mapping[int, int],
) -> list[Emitter]:
    """Make the bodies of functions that store results that are numbers, inputs or their sines and cosines."""
    bodies = []
    for first in range(0, len(given), MOST_STORES):
        e = Emitter(vectors)
        load = inputs_of(e)
        for i, r in given[first : first + MOST_STORES]:
            if i in turned:
                value = e.load("work", turned[i])
            else:
                value = load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.number(graph.values[i])
            e.store(value, "out", r)
        bodies.append(e)
    return bodies

"""Which values are in registers and which in memory: everything is where an operation looks for it."""

import numpy as np
import pytest

from kinetree.engine.graph import CONST, INPUT, LESS, NEG, Graph
from kinetree.engine.llvm.registers import operands, plan


def random_graph(seed, size, inputs=6):
    """Operations on what was made lately and, now and then, on what was made long ago."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    nodes = [graph.input(k) for k in range(inputs)] + [graph.const(0.5 + k) for k in range(3)]

    def pick():
        far = rng.random() < 0.3
        return nodes[int(rng.integers(len(nodes)) if far else len(nodes) - 1 - rng.integers(min(12, len(nodes))))]

    while len(nodes) < size:
        kind = rng.choice(["add", "sub", "mul", "neg", "fma", "select", "sin", "sqrt"])
        if kind == "neg":
            node = graph.node(NEG, pick())
        elif kind in ("sin", "sqrt"):
            node = graph.node(str(kind), pick())
        elif kind == "fma":
            node = graph.node("fma", pick(), pick(), pick())
        elif kind == "select":
            node = graph.node("select", graph.node(LESS, pick(), pick()), pick(), pick())
        else:
            node = graph.node(str(kind), pick(), pick())
        nodes.append(node)
    outputs = [nodes[int(k)] for k in rng.integers(len(nodes), size=20)] + nodes[-3:]
    return graph, [o for o in outputs if graph.kinds[o] != LESS]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("registers", "piece"), [(3, 50), (5, 10**6), (13, 300), (13, 1), (8, 7)])
def test_a_plan_can_be_followed(seed, registers, piece):
    """Walk through it with a set of registers and a memory, and look whether everything is there in time."""
    graph, outputs = random_graph(seed, 400)
    found = plan(graph, outputs, registers, piece, 8)
    wanted = set(outputs)
    memory: dict[int, int] = {}  # what each slot holds
    stored: set[int] = set()
    done: set[int] = set()

    def in_memory(value):
        return graph.kinds[value] in (CONST, INPUT) or memory.get(found.slots.get(value, -1)) == value

    uses = [(t, b) for t, step in enumerate(s for p in found.pieces for s in p)
            for b in operands(graph, wanted, step.node)]  # fmt: skip
    last = {b: t for t, b in uses}
    t = 0
    for steps in found.pieces:
        held: set[int] = set()  # nothing stays from one piece to the next
        for step in steps:
            for value in step.fetched:
                assert in_memory(value)
                held.add(value)
            for value in operands(graph, wanted, step.node):
                assert value in held or (value == step.read and in_memory(value))
            assert step.node not in done
            done.add(step.node)
            held.add(step.node)
            for value in step.saved:
                assert value in held
                assert value not in stored  # at most once
                slot = found.slots[value]
                assert slot not in memory or last.get(memory[slot], -1) <= t  # nobody needs what was there
                memory[slot] = value
                stored.add(value)
            t += 1
    needed = [i for i in graph.reachable(outputs) if graph.args[i] and graph.kinds[i] not in (LESS, NEG)]
    assert done.issuperset(needed)
    assert found.size == 1 + max(found.slots.values(), default=-1)


def held_at_once(graph, outputs, found):
    """The most values that are used again later without being fetched anew, over all operations."""
    wanted, most = set(outputs), 0
    for steps in found.pieces:
        reads = [set(operands(graph, wanted, step.node)) - set(step.fetched) - {step.read} for step in steps]
        fetched = [set(step.fetched) | {step.node} for step in steps]
        for k in range(len(steps)):
            live = {v for v in set().union(*fetched[: k + 1]) if _is_used_before_it_is_fetched(v, reads, fetched, k)}
            most = max(most, len(live))
    return most


def _is_used_before_it_is_fetched(value, reads, fetched, k):
    for j in range(k + 1, len(reads)):
        if value in fetched[j]:
            return False
        if value in reads[j]:
            return True
    return False


@pytest.mark.parametrize("registers", [4, 8, 13])
def test_no_more_values_are_held_than_there_are_registers(registers):
    graph, outputs = random_graph(3, 300)
    found = plan(graph, outputs, registers, 10**6, 8)
    assert held_at_once(graph, outputs, found) <= registers
    fewer = plan(graph, outputs, 2 * registers, 10**6, 8)

    def moves(p):
        return sum(len(s.fetched) + len(s.saved) + (s.read is not None) for steps in p.pieces for s in steps)

    assert moves(fewer) < moves(found)


def test_a_chain_that_fits_never_goes_to_memory():
    graph = Graph()
    x, total = graph.input(0), graph.input(1)
    for _ in range(50):
        total = graph.node("fma", total, x, total)
    found = plan(graph, [total], 4, 1000, 8)
    assert found.size == 0
    assert all(not s.saved for s in found.pieces[0])
    assert sum(len(s.fetched) + (s.read is not None) for s in found.pieces[0]) == 2

"""Derivatives of graphs: forward along a direction, backward from a weighted sum, and whole Jacobians.

Derivatives are further nodes of the same graph, so that everything it shares is shared with them, constants fold, zeros
vanish, and derivatives can be differentiated again.  They are exact except for rounding; where a function has a kink,
the derivative is that of the branch that is evaluated (``abs`` at zero counts as positive), and ``less`` and ``gather``
have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .functions import written_out
from .graph import ABS, ADD, ATAN2, COS, DIV, FMA, GATHER, LESS, MUL, NEG, SELECT, SIN, SQRT, SUB, Graph
from .trace import Traced

MODES = ("auto", "forward", "reverse")

STEPWISE = (LESS, GATHER)
"""Kinds whose value jumps or stays constant: they pass no derivative on."""


def partials(graph: Graph, node: int) -> list[int]:
    """Return the derivative of a node with respect to each of its arguments, as nodes.

    Not for ``select``, whose untaken branch must not even be multiplied by zero.
    """
    kind, args = graph.kinds[node], graph.args[node]
    one = graph.const(1.0)
    if kind == ADD:
        return [one, one]
    if kind == SUB:
        return [one, graph.const(-1.0)]
    if kind == NEG:
        return [graph.const(-1.0)]
    if kind == MUL:
        return [args[1], args[0]]
    if kind == FMA:
        return [args[1], args[0], one]
    if kind == DIV:
        reciprocal = graph.div(one, args[1])
        return [reciprocal, graph.neg(graph.mul(node, reciprocal))]
    if kind == SQRT:
        return [graph.div(graph.const(0.5), node)]
    if kind == SIN:
        return [graph.cos(args[0])]
    if kind == COS:
        return [graph.neg(graph.sin(args[0]))]
    if kind == ATAN2:
        y, x = args
        reciprocal = graph.div(one, graph.add(graph.mul(x, x), graph.mul(y, y)))
        return [graph.mul(x, reciprocal), graph.neg(graph.mul(y, reciprocal))]
    if kind == ABS:
        return [graph.select(graph.less(args[0], graph.const(0.0)), graph.const(-1.0), one)]
    if kind in STEPWISE:
        return [graph.const(0.0)] * len(args)
    raise NotImplementedError(f"{kind!r} nodes have no partial derivatives")


def forward(graph: Graph, outputs: Sequence[int], rates: Mapping[int, int]) -> list[int]:
    """Return the rates of the outputs when some nodes change at given rates.

    graph: Grows by the nodes of the derivative.
    outputs: Nodes to be differentiated.
    rates: For each node whose rate is given (usually an input), the node of that rate.  What such a node was made from
        does not matter.

    Returns
    -------
    list of int
        One node per output.
    """
    zero = graph.const(0.0)
    outputs = written_out(graph, outputs, rates)
    known = {i: rate for i, rate in rates.items() if rate != zero}
    for i in _needed(graph, outputs):
        if i in rates or not any(a in known for a in graph.args[i]):
            continue
        args = graph.args[i]
        if graph.kinds[i] == SELECT:
            rate = graph.select(args[0], known.get(args[1], zero), known.get(args[2], zero))
        else:
            rate = zero
            for a, partial in zip(args, partials(graph, i), strict=True):
                if a in known:
                    rate = graph.add(rate, graph.mul(partial, known[a]))
        if rate != zero:
            known[i] = rate
    return [known.get(o, zero) for o in outputs]


def reverse(graph: Graph, outputs: Sequence[int], weights: Sequence[int], wrt: Sequence[int]) -> list[int]:
    """Return the gradient of a weighted sum of outputs.

    graph: Grows by the nodes of the derivative.
    outputs, weights: Nodes to be differentiated, and the node of the weight of each.
    wrt: Nodes to differentiate with respect to: inputs, or others, which are then taken as independent.

    Returns
    -------
    list of int
        One node per entry of ``wrt``.
    """
    zero = graph.const(0.0)
    outputs = written_out(graph, outputs, wrt)
    order = _needed(graph, outputs)
    active = dependents(graph, order, wrt)
    guards = _guards(graph, order, outputs)
    adjoints = dict.fromkeys(order, zero)

    def contribute(node: int, value: int) -> None:
        if node in active:
            adjoints[node] = graph.add(adjoints[node], value)

    for o, weight in zip(outputs, weights, strict=True):
        contribute(o, weight)
    stop = set(wrt)
    for i in reversed(order):
        adjoint, args = adjoints[i], graph.args[i]
        if i in stop or i not in active or adjoint == zero:
            continue
        if graph.kinds[i] == SELECT:
            contribute(args[1], graph.select(args[0], adjoint, zero))
            contribute(args[2], graph.select(args[0], zero, adjoint))
            continue
        for a, partial in zip(args, partials(graph, i), strict=True):
            if a in active:
                factor = partial if graph.is_const(partial) else _guarded(graph, partial, guards[i])
                contribute(a, graph.mul(adjoint, factor))
    return [adjoints.get(x, zero) for x in wrt]


def _needed(graph: Graph, outputs: Sequence[int]) -> list[int]:
    """Return what the outputs depend on, in order; unlike ``graph.reachable``, ignore what was made after them."""
    needed = bytearray(max(outputs, default=-1) + 1)
    for o in outputs:
        needed[o] = 1
    for i in range(len(needed) - 1, -1, -1):
        if needed[i]:
            for a in graph.args[i]:
                needed[a] = 1
    return [i for i, flag in enumerate(needed) if flag]


Guard = tuple[int, bool]
"""A condition, and the branch that it has to take."""


def _guards(graph: Graph, order: Sequence[int], outputs: Sequence[int]) -> dict[int, frozenset[Guard]]:
    """Return for each node the branches outside of which it is not used.

    There its derivatives may be infinite where the branch is not taken, as that of sin(x)/x at
    zero, and must be cut off rather than multiplied by zero.
    """
    found: dict[int, frozenset[Guard]] = {o: frozenset() for o in outputs}
    for i in reversed(order):
        own = found[i]
        for position, a in enumerate(graph.args[i]):
            under = own
            if graph.kinds[i] == SELECT and position:
                under = own | {(graph.args[i][0], position == 1)}
            found[a] = found[a] & under if a in found else under
    return found


def _guarded(graph: Graph, value: int, guards: frozenset[Guard]) -> int:
    zero = graph.const(0.0)
    for condition, branch in sorted(guards):
        value = graph.select(condition, value, zero) if branch else graph.select(condition, zero, value)
    return value


def dependents(graph: Graph, order: Sequence[int], wrt: Sequence[int]) -> set[int]:
    """Return those nodes of ``order`` that depend on any of ``wrt``; comparisons and lookups do not count."""
    found = set(wrt)
    for i in order:
        if graph.kinds[i] not in STEPWISE and any(a in found for a in graph.args[i]):
            found.add(i)
    return found


# ------------------------------------------------------------------ Jacobians


def sparsity(graph: Graph, outputs: Sequence[int], wrt: Sequence[int]) -> list[set[int]]:
    """Return for each output the positions in ``wrt`` that it depends on."""
    masks = _inputs_of_nodes(graph, _needed(graph, outputs), wrt)
    return [{k for k in range(len(wrt)) if masks.get(o, 0) >> k & 1} for o in outputs]


def jacobian(graph: Graph, outputs: Sequence[int], wrt: Sequence[int], mode: str = "auto") -> list[list[int]]:
    """Return the derivatives of all outputs with respect to all of ``wrt``, by rows.

    Parameters
    ----------
    graph : Graph
        Grows by the nodes of the derivatives.
    outputs, wrt : sequences of int
        Nodes; those of ``wrt`` are inputs, or others that are then taken as independent.
    mode : {"auto", "forward", "reverse"}
        Column by column, row by row, or whichever takes fewer operations.  Either way, a column or row visits only the
        nodes between its input and the outputs, or its output and the inputs.

    Returns
    -------
    list of list of int
        Entries that are zero by structure are the constant zero.
    """
    if mode not in MODES:
        raise ValueError(f"there is no mode of differentiation {mode!r}; there are {', '.join(MODES)}")
    outputs = written_out(graph, outputs, wrt)
    if mode == "auto":
        return _cheaper(graph, outputs, wrt)
    one = graph.const(1.0)
    if mode == "forward":
        still = dict.fromkeys(wrt, graph.const(0.0))
        columns = [forward(graph, outputs, still | {x: one}) for x in wrt]
        return [[column[k] for column in columns] for k in range(len(outputs))]
    return [reverse(graph, [o], [one], wrt) for o in outputs]


CLEAR = 4
"""If one way looks cheaper than the other by this factor, the other one is not tried."""


def _cheaper(graph: Graph, outputs: Sequence[int], wrt: Sequence[int]) -> list[list[int]]:
    """Return the Jacobian with fewer operations; the nodes that the other way leaves in the graph are not used."""
    by_columns, by_rows = costs(graph, outputs, wrt)
    modes = [m for m, own, other in (("forward", by_columns, by_rows), ("reverse", by_rows, by_columns))
             if own <= CLEAR * other]  # fmt: skip
    found = [jacobian(graph, outputs, wrt, mode) for mode in modes]
    return min(found, key=lambda rows: operations(graph, [x for row in rows for x in row]))


def operations(graph: Graph, outputs: Sequence[int]) -> int:
    """Return the number of operations that the outputs take."""
    return sum(bool(graph.args[i]) for i in _needed(graph, outputs))


def costs(graph: Graph, outputs: Sequence[int], wrt: Sequence[int]) -> tuple[int, int]:
    """Return the operations of a Jacobian by columns and by rows, if nothing can be simplified or shared.

    Each node between takes a multiplication and an addition per active argument, as often as
    there are inputs it depends on (columns) or outputs that depend on it (rows).
    """
    outputs = written_out(graph, outputs, wrt)
    order = _needed(graph, outputs)
    below = _inputs_of_nodes(graph, order, wrt)
    above = _outputs_of_nodes(graph, order, outputs, below)
    by_columns = by_rows = 0
    for i in order:
        if i in below and i in above:
            each = sum(_effort(graph.kinds[i]) for a in graph.args[i] if a in below)
            by_columns += each * below[i].bit_count()
            by_rows += each * above[i].bit_count()
    return by_columns, by_rows


def _effort(kind: str) -> int:
    return 1 if kind in (ADD, SUB, NEG, SELECT) else 2


def _inputs_of_nodes(graph: Graph, order: Sequence[int], wrt: Sequence[int]) -> dict[int, int]:
    """Return for each node a bit for each of ``wrt`` that it depends on."""
    found: dict[int, int] = {}
    for k, x in enumerate(wrt):
        found[x] = found.get(x, 0) | 1 << k
    for i in order:
        if graph.kinds[i] in STEPWISE or i in found:
            continue
        bits = 0
        for a in graph.args[i]:
            bits |= found.get(a, 0)
        if bits:
            found[i] = bits
    return found


def _outputs_of_nodes(
    graph: Graph, order: Sequence[int], outputs: Sequence[int], active: Mapping[int, int]
) -> dict[int, int]:
    """Return for each active node a bit for each output that depends on it."""
    found: dict[int, int] = {}
    for k, o in enumerate(outputs):
        if o in active:
            found[o] = found.get(o, 0) | 1 << k
    for i in reversed(order):
        bits = found.get(i, 0)
        if bits and graph.kinds[i] not in STEPWISE:
            for a in graph.args[i]:
                if a in active:
                    found[a] = found.get(a, 0) | bits
    return found


def differentiate(traced: Traced, mode: str = "auto", last: int | None = None) -> Traced:
    """Return the Jacobian of a traced function with respect to all its inputs, or to the last few of them.

    traced: Its graph grows by the derivative.
    mode: {"auto", "forward", "reverse"}. As in :func:`jacobian`.
    last: How many of the inputs, counted from the end, to differentiate with respect to; all if left out.

    Returns
    -------
    Traced
        Of shape ``(*shape, number of inputs)``.
    """
    every = sum(traced.lengths)
    count = every if last is None else last
    wrt = [traced.graph.input(k) for k in range(every - count, every)]
    rows = jacobian(traced.graph, traced.outputs, wrt, mode)
    return Traced(traced.graph, [x for row in rows for x in row], traced.lengths, (*traced.shape, count))


def along(traced: Traced, moved: Sequence[int]) -> Traced:
    """Return a traced function whose output also holds its derivative along a direction.

    Parameters
    ----------
    traced : Traced
        Its graph grows by the derivative.  Its last inputs, as many as there are in ``moved``, are the direction.
    moved : sequence of int
        Which of its inputs move, each at the rate that the direction gives it.

    Returns
    -------
    Traced
        Of shape ``(2, *shape)``: the value, and how fast it changes.
    """
    graph, first = traced.graph, sum(traced.lengths) - len(moved)
    rates = {graph.input(i): graph.input(first + k) for k, i in enumerate(moved)}
    found = forward(graph, traced.outputs, rates)
    return Traced(graph, [*traced.outputs, *found], traced.lengths, (2, *traced.shape))

"""Graphs evaluated node by node, in any NumPy precision: slow, obvious, a reference for compiled forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .functions import written_out
from .graph import ABS, ADD, ATAN2, CONST, COS, DIV, FMA, GATHER, INPUT, LESS, MUL, NEG, SELECT, SIN, SQRT, SUB, Graph

_OPERATIONS: dict[str, Callable[..., Any]] = {
    ADD: lambda a, b: a + b,
    SUB: lambda a, b: a - b,
    MUL: lambda a, b: a * b,
    DIV: lambda a, b: a / b,
    FMA: lambda a, b, c: a * b + c,
    NEG: lambda a: -a,
    ABS: np.abs,
    SQRT: np.sqrt,
    SIN: np.sin,
    COS: np.cos,
    ATAN2: np.arctan2,
    LESS: lambda a, b: a < b,
    SELECT: lambda condition, yes, no: yes if condition else no,
}


def evaluate(graph: Graph, outputs: Sequence[int], inputs: Sequence[float], precision: type = np.float64) -> np.ndarray:
    """Return the results for one set of inputs, every operation rounded to ``precision``.

    outputs: Nodes wanted.
    inputs: All inputs, one after the other.
    precision: ``numpy.float32``, ``numpy.float64`` or ``numpy.longdouble``; constants and inputs are rounded to it
        first.

    Returns
    -------
    ndarray, shape (len(outputs),)
    """
    outputs, values = written_out(graph, outputs), dict[int, Any]()
    with np.errstate(all="ignore"):
        for i in graph.reachable(outputs):
            kind = graph.kinds[i]
            if kind == CONST:
                values[i] = precision(graph.values[i])
            elif kind == INPUT:
                values[i] = precision(inputs[int(graph.values[i])])
            elif kind == GATHER:
                which, _, column = graph.gathered_from(i)
                row, table = values[graph.args[i][0]], graph.tables[which]
                found = row if row != row else table[int(np.clip(row, 0, len(table) - 1)), column]
                values[i] = precision(found)
            else:
                values[i] = _OPERATIONS[kind](*(values[a] for a in graph.args[i]))
        return np.array([values[o] for o in outputs], dtype=precision)

"""What networks are made of: operations on vectors, over arrays with a batch, over any scalar, and as lines of C.

All operate on the last axis of arrays (..., n), or on lists of n scalars of any kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.spatial import exp, log, maximum, minimum, tanh, where
from kinetree.spatial.arrays import Array

Vector = Any
"""An array (..., n), or a list of scalars."""


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + exp(-x))


@dataclass(frozen=True)
class Activation:
    """A function of one number: over any scalar, and as an expression of C."""

    of: Callable[[Any], Any]
    c: str
    """An expression in ``x``."""


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""The constants of the scaled exponential linear unit (Klambauer and others, 2017)."""

ACTIVATIONS: Mapping[str, Activation] = {
    "relu": Activation(lambda x: maximum(x, 0.0), "x > 0 ? x : 0"),
    "elu": Activation(lambda x: where(x > 0.0, x, exp(minimum(x, 0.0)) - 1.0), "x > 0 ? x : EXPM1(x)"),
    "selu": Activation(
        lambda x: SELU_SCALE * where(x > 0.0, x, SELU_ALPHA * (exp(minimum(x, 0.0)) - 1.0)),
        f"(REAL){SELU_SCALE!r} * (x > 0 ? x : (REAL){SELU_ALPHA!r} * EXPM1(x))",
    ),
    "tanh": Activation(tanh, "TANH(x)"),
    "sigmoid": Activation(_sigmoid, "1 / (1 + EXP(-x))"),
    "silu": Activation(lambda x: x * _sigmoid(x), "x / (1 + EXP(-x))"),
    "softplus": Activation(
        lambda x: maximum(x, 0.0) + log(1.0 + exp(-maximum(x, -x))), "(x > 0 ? x : 0) + LOG1P(EXP(x > 0 ? -x : x))"
    ),
    "softsign": Activation(lambda x: x / (1.0 + maximum(x, -x)), "x / (1 + (x > 0 ? x : -x))"),
    "leaky_relu": Activation(lambda x: where(x > 0.0, x, 0.01 * x), "x > 0 ? x : (REAL)0.01 * x"),
    "exp": Activation(exp, "EXP(x)"),
    "negative": Activation(lambda x: -x, "-x"),
}
"""Functions of one number by name."""

BINARY: Mapping[str, tuple[Callable[[Any, Any], Any], str]] = {
    "add": (lambda a, b: a + b, "a + b"),
    "subtract": (lambda a, b: a - b, "a - b"),
    "multiply": (lambda a, b: a * b, "a * b"),
    "divide": (lambda a, b: a / b, "a / b"),
    "maximum": (maximum, "a > b ? a : b"),
    "minimum": (minimum, "a < b ? a : b"),
}
"""Functions of two numbers by name."""


@dataclass(frozen=True)
class Operation:
    """One operation of a network.

    Parameters
    ----------
    kind : str
        ``"dense"``, ``"join"``, ``"take"``, or a name of :data:`ACTIVATIONS` or :data:`BINARY`.
    inputs : tuple of str
        Names of the vectors that it takes.
    output : str
        Name of the vector that it makes.
    weights, bias : ndarray (m, n) and (m,), optional
        Numbers of a dense layer, ``weights @ x + bias``.
    places : tuple of int
        Entries that ``"take"`` takes.
    """

    kind: str
    inputs: tuple[str, ...]
    output: str
    weights: Array = field(default_factory=lambda: np.zeros((0, 0)))
    bias: Array = field(default_factory=lambda: np.zeros(0))
    places: tuple[int, ...] = ()

    def of(self, vectors: Sequence[Vector]) -> Vector:
        """Return the result for these vectors."""
        if self.kind == "dense":
            return _dense(self.weights, self.bias, vectors[0])
        on_arrays = all(isinstance(x, np.ndarray) for x in vectors)
        if self.kind == "join":
            return np.concatenate(vectors, axis=-1) if on_arrays else [x for vector in vectors for x in vector]
        if self.kind == "take":
            (x,) = vectors
            return x[..., list(self.places)] if on_arrays else [x[k] for k in self.places]
        if self.kind in ACTIVATIONS:
            function = ACTIVATIONS[self.kind].of
            return function(vectors[0]) if on_arrays else [function(x) for x in vectors[0]]
        function_of_two = BINARY[self.kind][0]
        if on_arrays:
            return function_of_two(*vectors)
        a, b = vectors
        size = max(len(a), len(b))
        return [function_of_two(a[k if len(a) > 1 else 0], b[k if len(b) > 1 else 0]) for k in range(size)]

    def cost(self, size: int) -> tuple[int, int, int]:
        """Return multiplications, additions, and functions such as tanh, for a result of some size."""
        if self.kind == "dense":
            return self.weights.size, self.weights.size, 0
        if self.kind in ("join", "take", "relu", "leaky_relu", "negative", "maximum", "minimum"):
            return 0, 0, 0
        if self.kind in BINARY:
            return (size, 0, 0) if self.kind in ("multiply", "divide") else (0, size, 0)
        return 0, 0, size

    def in_c(self, place: Mapping[str, str], sizes: Mapping[str, int], number: int) -> list[str]:
        """Return the statements of C.

        Parameters
        ----------
        place : mapping of str to str
            What each vector is called in C.
        sizes : mapping of str to int
        number : int
            The number of this operation, which names its tables.
        """
        y, n = place[self.output], sizes[self.output]
        xs = [place[x] for x in self.inputs]
        if self.kind == "dense":
            count = sizes[self.inputs[0]]
            return [
                f"for (i = 0; i < {n}; ++i) {{",
                f"    REAL sum = bias_{number}[i];",
                f"    const REAL *row = weights_{number} + i * {count};",
                f"    for (k = 0; k < {count}; ++k) sum += row[k] * {xs[0]}[k];",
                f"    {y}[i] = sum;",
                "}",
            ]
        if self.kind == "join":
            lines, first = [], 0
            for name, x in zip(self.inputs, xs, strict=True):
                lines.append(f"for (i = 0; i < {sizes[name]}; ++i) {y}[{first} + i] = {x}[i];")
                first += sizes[name]
            return lines
        if self.kind == "take":
            return [f"{y}[{k}] = {xs[0]}[{place_}];" for k, place_ in enumerate(self.places)]
        if self.kind in ACTIVATIONS:
            return [f"for (i = 0; i < {n}; ++i) {{ const REAL x = {xs[0]}[i]; {y}[i] = {ACTIVATIONS[self.kind].c}; }}"]
        entries = [f"{x}[i]" if sizes[name] > 1 else f"{x}[0]" for name, x in zip(self.inputs, xs, strict=True)]
        return [
            f"for (i = 0; i < {n}; ++i) {{ const REAL a = {entries[0]}, b = {entries[1]}; "
            f"{y}[i] = {BINARY[self.kind][1]}; }}"
        ]


def _dense(weights: Array, bias: Array, x: Vector) -> Vector:
    if isinstance(x, np.ndarray):
        return x @ weights.T + bias
    rows = zip(weights.tolist(), bias.tolist(), strict=True)
    return [sum((w * value for w, value in zip(row, x, strict=True)), b) for row, b in rows]

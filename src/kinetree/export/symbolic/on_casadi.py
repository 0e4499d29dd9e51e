"""Algorithms as CasADi functions of SX symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...engine.graph import ABS, ADD, ATAN2, COS, DIV, LESS, MUL, NEG, SELECT, SIN, SQRT, SUB
from ...errors import ModelError
from .programs import Call, Program, library


def operations(casadi: Any) -> dict[str, Callable[..., Any]]:
    """Return the operations of a graph on SX."""
    return {
        ADD: lambda a, b: a + b,
        SUB: lambda a, b: a - b,
        MUL: lambda a, b: a * b,
        DIV: lambda a, b: a / b,
        LESS: lambda a, b: a < b,
        NEG: lambda a: -a,
        ABS: casadi.fabs,
        SQRT: casadi.sqrt,
        SIN: casadi.sin,
        COS: casadi.cos,
        ATAN2: casadi.atan2,
        SELECT: casadi.if_else,
    }


def casadi_function(call: Call) -> Any:
    """Return a ``casadi.Function`` with named inputs and outputs; symbols among the parameters are its last inputs."""
    casadi = library("casadi")
    program = Program.of(call)
    symbols = {name: casadi.SX.sym(name, *shape) for name, shape in call.arguments.items()}
    # CasADi stores matrices by columns, kinetree by rows
    flat = [x for s in symbols.values() for x in casadi.vertsplit(casadi.vec(s.T))]
    parameters = [_parameter(casadi, x) for x in call.subject.scalars]
    results = program.replay(operations(casadi), [*flat, *parameters])
    extra = casadi.symvar(casadi.vertcat(*parameters)) if parameters else []
    outputs = _outputs(casadi, call, [casadi.SX(x) for x in results])
    try:
        return casadi.Function(
            call.name,
            [*symbols.values(), *extra],
            list(outputs.values()),
            [*symbols, *(x.name() for x in extra)],
            list(outputs),
        )
    except RuntimeError as problem:
        names = [*symbols, *(x.name() for x in extra), *outputs]
        if len(set(names)) == len(names):
            raise
        raise ModelError(f"two of the names {', '.join(names)} are the same: rename your symbols") from problem


def _parameter(casadi: Any, value: Any) -> Any:
    if not isinstance(value, (casadi.SX, casadi.DM)) or value.numel() != 1:
        raise ModelError(
            f"parameter {value!r} is not a scalar of type casadi.SX, which is what CasADi functions are made of"
        )
    return casadi.SX(value)


def _outputs(casadi: Any, call: Call, results: Sequence[Any]) -> dict[str, Any]:
    """Return a scalar, a column or a matrix; several matrices if there are three dimensions."""
    *before, rows, columns = (1, 1, *call.shape) if len(call.shape) != 1 else (1, call.shape[0], 1)
    size = rows * columns
    blocks = [
        casadi.reshape(casadi.vertcat(*results[k * size : (k + 1) * size]), columns, rows).T
        for k in range(math.prod(before))
    ]
    return dict(zip(call.algorithm.results or (call.name,), blocks, strict=True))

"""Algorithms as functions of JAX arrays."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...engine.graph import ABS, ADD, ATAN2, COS, DIV, LESS, MUL, NEG, SELECT, SIN, SQRT, SUB
from ...errors import ModelError, OptionError, ShapeError
from .programs import Call, Program, library

Shape = tuple[int, ...]


def operations(jnp: Any) -> dict[str, Callable[..., Any]]:
    """Return the operations of a graph on JAX arrays."""
    return {
        ADD: lambda a, b: a + b,
        SUB: lambda a, b: a - b,
        MUL: lambda a, b: a * b,
        DIV: lambda a, b: a / b,
        LESS: lambda a, b: a < b,
        NEG: jnp.negative,
        ABS: jnp.abs,
        SQRT: jnp.sqrt,
        SIN: jnp.sin,
        COS: jnp.cos,
        ATAN2: jnp.arctan2,
        SELECT: jnp.where,
    }


def jax_function(call: Call) -> Callable[..., Any]:
    """Return a function of arrays with the batch in front, under ``jit``."""
    jax = library("jax")
    jnp = jax.numpy
    program, shapes = Program.of(call), call.arguments
    single = call.subject.robot.precision == "single"
    table = operations(jnp)
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in shapes])

    def compute(*arguments: Any, **named: Any) -> Any:
        real = _real(jax, single)
        given = signature.bind(*arguments, **named).arguments
        arrays = {name: _array(jnp, real, given[name], shape, name) for name, shape in shapes.items()}
        parameters = [_parameter(jnp, real, x) for x in call.subject.scalars]
        batch = _batch(arrays, shapes, parameters)
        results = program.replay(table, [*_split(arrays, shapes), *parameters])
        return _joined(jax, results, batch, real).reshape(*batch, *call.shape)

    compute.__name__ = compute.__qualname__ = call.name
    compute.__doc__ = f"{call.name} of robot {call.subject.name!r}; arrays have the batch in front."
    compute.__signature__ = signature  # type: ignore[attr-defined]
    return jax.jit(compute)  # type: ignore[no-any-return]


def _real(jax: Any, single: bool) -> Any:
    """Return the type to compute in; refuse JAX's mode that would silently use single precision."""
    if single:
        return np.float32
    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
        raise OptionError(
            "JAX is in its 32-bit mode, in which double precision is not available: call "
            "jax.config.update('jax_enable_x64', True) first, or ask for single precision with "
            "robot.with_precision('single')"
        )
    return np.float64


def _array(jnp: Any, real: Any, value: Any, shape: Shape, name: str) -> Any:
    """Return an array of the right shape and type, or raise an error that names the argument."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ShapeError(f"{name} cannot be read as an array of numbers: {problem}") from None
    if jnp.iscomplexobj(array):
        raise ShapeError(f"{name} must be real; for derivatives use jax.grad, jax.jacfwd and the like")
    if array.shape[max(array.ndim - len(shape), 0) :] != shape:
        expected = ", ".join(["...", *map(str, shape)])
        raise ShapeError(f"{name} must have shape ({expected}), got {array.shape}")
    return array.astype(real)


def _parameter(jnp: Any, real: Any, value: Any) -> Any:
    try:
        return jnp.asarray(value, dtype=real)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"parameter {value!r} is not a number or array that JAX understands") from None


def _batch(arrays: Mapping[str, Any], shapes: Mapping[str, Shape], parameters: Sequence[Any]) -> Shape:
    """Return the common batch; parameters are scalars and may be batches themselves."""
    batches = {name: a.shape[: a.ndim - len(shapes[name])] for name, a in arrays.items()}
    batches.update({f"parameter {k}": p.shape for k, p in enumerate(parameters)})
    try:
        return np.broadcast_shapes(*batches.values())
    except ValueError:
        listed = ", ".join(f"{name}: {shape}" for name, shape in batches.items())
        raise ShapeError(f"batches do not fit together: {listed}") from None


def _split(arrays: Mapping[str, Any], shapes: Mapping[str, Shape]) -> list[Any]:
    """Return one array over the batch per number."""
    scalars = []
    for name, array in arrays.items():
        flat = array.reshape(*array.shape[: array.ndim - len(shapes[name])], math.prod(shapes[name]))
        scalars += [flat[..., k] for k in range(flat.shape[-1])]
    return scalars


def _joined(jax: Any, results: Sequence[Any], batch: Shape, real: Any) -> Any:
    """Return one array from many, each written to its position.

    Stacking them would be the obvious solution, but XLA on CPUs fuses the operations that made them into the
    concatenation and then computes these over and over: measured on a 7-joint arm's inverse dynamics, 750 microseconds
    per state instead of one.
    """
    jnp = jax.numpy
    joined = jnp.zeros((*batch, len(results)), dtype=real)
    for k, x in enumerate(results):
        column = jnp.broadcast_to(jnp.asarray(x, dtype=real), batch)[..., None]
        joined = jax.lax.dynamic_update_slice_in_dim(joined, column, k, axis=-1)
    return joined

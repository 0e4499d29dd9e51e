"""Elementary functions over any scalar.

A *scalar* is whatever supports ``+ - * /``: a float, a NumPy array (one number per
state of a batch), a dual number, a SymPy symbol, a CasADi expression, a JAX array, a number of
mpmath of any precision or a node of the engine's graph.  The few functions that arithmetic operators do not cover
live here and are forwarded to the library the scalar comes from.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

Scalar = Any

_NUMPY = np
_LIBRARIES: dict[type, Any] = {}


class _SympyFunctions:
    """SymPy under NumPy's names."""

    def __init__(self) -> None:
        sympy = importlib.import_module("sympy")
        self.sin, self.cos, self.sqrt = sympy.sin, sympy.cos, sympy.sqrt
        self.exp, self.log, self.tanh = sympy.exp, sympy.log, sympy.tanh
        self.arctan2, self.floor = sympy.atan2, sympy.floor
        self._piecewise = sympy.Piecewise

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return self._piecewise((yes, condition), (no, True))


class _CasadiFunctions:
    """CasADi under NumPy's names."""

    def __init__(self) -> None:
        casadi = importlib.import_module("casadi")
        self.sin, self.cos, self.sqrt = casadi.sin, casadi.cos, casadi.sqrt
        self.exp, self.log, self.tanh = casadi.exp, casadi.log, casadi.tanh
        self.arctan2, self.where, self.floor = casadi.atan2, casadi.if_else, casadi.floor


class _MpmathFunctions:
    """mpmath, numbers of any precision, under NumPy's names."""

    def __init__(self) -> None:
        mpmath = importlib.import_module("mpmath")
        self.sin, self.cos, self.sqrt, self.arctan2 = mpmath.sin, mpmath.cos, mpmath.sqrt, mpmath.atan2
        self.exp, self.log, self.tanh, self.floor = mpmath.exp, mpmath.log, mpmath.tanh, mpmath.floor


_BY_PACKAGE: dict[str, Callable[[], Any]] = {
    "sympy": _SympyFunctions,
    "casadi": _CasadiFunctions,
    "mpmath": _MpmathFunctions,
    "jax": lambda: importlib.import_module("jax.numpy"),
    "jaxlib": lambda: importlib.import_module("jax.numpy"),
}


def _library(x: Scalar) -> Any:
    """Return the namespace whose ``sin``, ``cos``, ... understand ``x``."""
    kind = type(x)
    library = _LIBRARIES.get(kind)
    if library is None:
        own = getattr(kind, "scalar_functions", None)
        if own is not None:
            library = own
        else:
            make = _BY_PACKAGE.get(kind.__module__.partition(".")[0])
            library = make() if make else _NUMPY
        _LIBRARIES[kind] = library
    return library


def sin(x: Scalar) -> Scalar:
    """Return the sine of an angle in radians."""
    return _library(x).sin(x)


def cos(x: Scalar) -> Scalar:
    """Return the cosine of an angle in radians."""
    return _library(x).cos(x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root."""
    return _library(x).sqrt(x)


def exp(x: Scalar) -> Scalar:
    """Return the exponential."""
    return _library(x).exp(x)


def log(x: Scalar) -> Scalar:
    """Return the natural logarithm."""
    return _library(x).log(x)


def tanh(x: Scalar) -> Scalar:
    """Return the hyperbolic tangent: a smooth sign."""
    return _library(x).tanh(x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two numbers; NaN if the first one is."""
    return where(b < a, b, a)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two numbers; NaN if the first one is."""
    return where(b > a, b, a)


def clip(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Limit a number to an interval; NaN stays NaN."""
    return minimum(maximum(x, lower), upper)


def sign(x: Scalar) -> Scalar:
    """Return 1 for positive numbers, -1 for negative ones, and zero or NaN as it is."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x))


def logical_and(*conditions: Any) -> Any:
    """Return whether all conditions hold, lane by lane."""
    found: Any = True
    for condition in conditions:
        found = condition & found
    return found


def logical_or(*conditions: Any) -> Any:
    """Return whether any of the conditions holds, lane by lane."""
    found: Any = False
    for condition in conditions:
        found = condition | found
    return found


def logical_not(condition: Any) -> Any:
    """Return whether a condition does not hold, lane by lane."""
    return not condition if isinstance(condition, bool) else ~condition


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point ``(x, y)``."""
    library = _library(y)
    if library is _NUMPY:  # a plain number and a symbol: use the library of the symbol
        library = _library(x)
    return library.arctan2(y, x)


_DIGITS = np.arange(8192.0)[:, None]
"""Digits to base 8192, looked up with numbers that may have fractions: four of them make an integer of 52 bits."""


def floor(x: Scalar) -> Scalar:
    """Return the largest integer that is not above x.

    Graphs have no node for this operation, so the result is looked up in a table, which ignores the fraction of a row.
    """
    if not can_gather(x):
        return _library(x).floor(x)
    rest, whole = abs(x), 0.0
    for power in (39, 26, 13, 0):
        digit = gather(_DIGITS, 0, rest * 2.0**-power)
        rest, whole = rest - digit * 2.0**power, whole + digit * 2.0**power
    below = where(rest > 0.0, -whole - 1.0, -whole)
    found = where(x < 0.0, below, whole)
    return where(abs(x) < 2.0**52, found, x)  # larger ones have no fraction; NaN stays NaN


def can_gather(x: Scalar) -> bool:
    """Return whether a scalar can look up rows of a table with :func:`gather`."""
    return hasattr(_library(x), "gather")


def gather(table: np.ndarray, column: int, row: Scalar) -> Scalar:
    """Look up a number of a table (rows, columns) in a column, in the row given by a traced scalar.

    Fractions are truncated; rows outside the table are replaced by its first or last one; NaN gives NaN. In machine
    code the table is data, however long it is.
    """
    return _library(row).gather(table, column, row)


def call(
    key: Hashable, function: Callable[[list[Scalar]], Sequence[Scalar]], arguments: Sequence[Scalar]
) -> Sequence[Scalar]:
    """Return a function of scalars; in machine code it is compiled once, however often it is called.

    Parameters
    ----------
    key : hashable
        All that the function depends on besides its arguments.
    function : callable
        Takes a list of scalars and returns one.
    arguments : sequence of scalars
    """
    library = _that_calls(arguments)
    return function(list(arguments)) if library is None else library.call(key, function, arguments)


def repeat(
    key: Hashable, step: Callable[[list[Scalar]], Sequence[Scalar]], state: Sequence[Scalar], given: Sequence[Scalar],
    most: int, going: int,
) -> Sequence[Scalar]:  # fmt: skip
    """Return a state after steps, as many as are needed; in machine code this is a loop.

    Parameters
    ----------
    key : hashable
        All that the step depends on besides its arguments.
    step : callable
        Takes the state and what is given, in one list, and returns the next state.
    state, given : sequences of scalars
    most : int
        The most steps.
    going : int
        Place in the state of the number that is positive while there are further steps, in each lane for itself.
    """
    library = _that_calls([*state, *given])
    if library is not None:
        return library.call(key, step, [*state, *given], (most, going))
    for _ in range(most):
        on = state[going] > 0.0
        if isinstance(on, (bool, np.bool_, np.ndarray)) and not np.any(on):
            break
        state = [where(on, x, y) for x, y in zip(step([*state, *given]), state, strict=True)]
    return state


def _that_calls(arguments: Sequence[Scalar]) -> Any:
    """Return the library in which functions can be called, if all arguments are its scalars or plain numbers."""
    for x in arguments:
        if type(x) not in (float, int):
            library = _library(x)
            return library if hasattr(library, "call") else None
    return None


def where(condition: Any, yes: Scalar, no: Scalar) -> Scalar:
    """Choose between two values, lane by lane; both are evaluated."""
    if isinstance(condition, (bool, np.bool_)):
        return yes if condition else no
    for value in (yes, no):
        if hasattr(value, "chosen_by"):  # a number with parts, such as a dual number, is chosen part by part
            return type(value).chosen_by(condition, yes, no)
    return _library(condition).where(condition, yes, no)

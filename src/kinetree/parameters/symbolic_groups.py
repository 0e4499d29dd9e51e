"""The groups of base parameters over symbols: coefficients as SymPy expressions in a robot's dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from ..export.symbolic.exact import Exact, as_written, exact, symbol_values
from ..export.symbolic.parameters import Parametric
from . import base_by_rules
from .grouping import Grouping, group_exactly
from .parallelograms import Parallelogram
from .parameters_to_group import Considered


def coefficient_expressions(
    considered: Considered, shapes: Sequence[Parallelogram], found: Grouping, symbols: Parametric
) -> dict[str, dict[str, Any]]:
    """Return, as expressions, how much of each parameter that is given up goes into each one that is kept.

    shapes: The parallelograms among the loops.
    found: The grouping in numbers, which decides which parameters are given up.
    symbols: The robot with symbols in place of some of its dimensions; the others are rounded.
    """
    scalars = symbols.tree(exact, everything=True, symbols=symbol_values(symbols.symbols))
    vectors = [
        {c: y for c, x in vector.items() if (y := _plain(x)) != 0}
        for vector in base_by_rules.unnoticed(considered, shapes, scalars)
    ]
    gone = set(found.given_up)
    into = group_exactly(vectors, [c for c in considered.order if c in gone], _reduced)
    name = [row.name for row in considered.rows]
    return {name[c]: {name[k]: simplified(x) for k, x in sorted(into[c].items())} for c in found.given_up}


def simplified(x: Any) -> Any:
    """Return a short form of an expression, in which zero is 0."""
    turned = sp.trigsimp(sp.cancel(x)) if x.has(sp.sin, sp.cos) else sp.cancel(x)
    return sp.factor_terms(sp.expand(turned))


def _reduced(x: Any) -> Any:
    """Return a fraction without squares of sines: zero becomes 0, at a small part of the cost of :func:`simplified`."""
    x = sp.expand_trig(x)
    sines = x.atoms(sp.sin)
    numerator, denominator = sp.fraction(sp.cancel(x))
    for sine in sines:
        unit = sp.Poly(sine**2 + sp.cos(sine.args[0]) ** 2 - 1, sine)
        numerator, denominator = (sp.Poly(part, sine).rem(unit).as_expr() for part in (numerator, denominator))
    return sp.cancel(numerator / denominator) if sines else numerator / denominator


def _plain(x: Any) -> Any:
    return _reduced(x.expression if isinstance(x, Exact) else as_written(float(x)))


def group_expressions(
    names: Sequence[str], groups: Sequence[Mapping[str, float]], coefficients: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, Any]:
    """Return every group as a sum of symbols named like the parameters.

    names: Names of the groups.
    groups: The parameters in each group, with numbers as coefficients.
    coefficients: Expressions in place of these numbers: ``{grouped: {kept: expression}}``.
    """
    result: dict[str, Any] = {}
    for name, group in zip(names, groups, strict=True):
        if coefficients is None:
            terms: dict[str, Any] = {other: _number(x) for other, x in group.items()}
        else:
            terms = {name: sp.S.One} | {other: into[name] for other, into in coefficients.items() if name in into}
        result[name] = sp.Add(*(x * sp.Symbol(other, real=True) for other, x in terms.items()))
    return result


def _number(x: float) -> Any:
    """Return a coefficient as a fraction, without rounding errors in its last digits."""
    return as_written(float(f"{x:.12g}"))

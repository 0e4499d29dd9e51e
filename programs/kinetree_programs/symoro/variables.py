"""Which symbol of a ``.par`` file is the variable of which joint: ``th3`` in ``theta``, ``r2`` in ``r`` of a slide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kinetree.spatial import Scalar
from kinetree.spatial.formula import ScalarFormula

USUAL = ("th", "t", "theta", "q", "r")
"""Usual names of variables, followed by the number of their frame."""


class MovedBy(NamedTuple):
    """What moves a joint: its own variable, or another joint's."""

    variable: str | None
    """The joint's own variable; None if the file has a number."""
    leader: str | None
    """The variable of another joint that it follows."""
    ratio: float
    offset: Scalar


class VariableError(ValueError):
    """A joint's variable cannot be found; the message says why."""


def moved(entries: Mapping[int, Scalar]) -> dict[int, MovedBy]:
    """Return the variable that moves each joint.

    Parameters
    ----------
    entries : mapping of frame to scalar
        ``theta`` of hinges and ``r`` of slides.

    Raises
    ------
    VariableError
        If a variable cannot be found; the arguments of the error are the frame and the problem.
    """
    own: dict[int, str] = {}
    for j, x in entries.items():
        usual = [f"{word}{j}" for word in USUAL if f"{word}{j}" in _symbols(x)]
        if usual:
            own[j] = usual[0]
    for j, x in entries.items():
        names = _symbols(x)
        if j not in own and len(names) == 1 and names[0] not in own.values():
            own[j] = names[0]
    return {j: _moved(j, x, own.get(j), list(own.values())) for j, x in entries.items()}


def _symbols(x: Scalar) -> Sequence[str]:
    return sorted(x.symbols) if isinstance(x, ScalarFormula) else ()


def _moved(j: int, x: Scalar, own: str | None, variables: Sequence[str]) -> MovedBy:
    names = _symbols(x)
    if not names:
        return MovedBy(None, None, 1.0, x)
    others = [name for name in names if name in variables and name != own]
    if own is None and not others:
        raise VariableError(j, f"which of {', '.join(names)} is the variable? Name it th{j} or r{j}")
    if len(others) + (own is not None) > 1:
        both = [*([] if own is None else [own]), *others]
        raise VariableError(j, f"{' and '.join(both)} are variables of joints, but a joint has only one")
    name = own or others[0]
    split = linear(x, name)
    if split is None or (own is not None and split[0] != 1.0):
        raise VariableError(j, f"{x} must be the variable {name} plus a constant")
    return MovedBy(own, None if own else name, *split)


def linear(x: Scalar, name: str) -> tuple[float, Scalar] | None:
    """Return the factor of a symbol and the rest of the formula; None if the formula is not linear in the symbol."""
    if not isinstance(x, ScalarFormula) or name not in x.symbols:
        return 0.0, x
    if x.kind == "symbol":
        return 1.0, 0.0
    parts = [found for p in x.parts if (found := linear(p, name)) is not None]
    if len(parts) < len(x.parts):
        return None
    (a, rest), *more = parts
    if x.kind == "neg":
        return -a, -rest
    ((b, other),) = more or [(0.0, 0.0)]
    if x.kind in "+-":
        sign = 1.0 if x.kind == "+" else -1.0
        return a + sign * b, rest + sign * other
    if x.kind == "*" and not b and not _symbols(other):
        return a * float(other), rest * float(other)
    if x.kind == "*" and not a and not _symbols(rest):
        return b * float(rest), other * float(rest)
    if x.kind == "/" and not b and not _symbols(other):
        return a / float(other), rest / float(other)
    return None

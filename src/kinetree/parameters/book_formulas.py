"""Groups of parameters in the notation of the books: ``ZZR2 = ZZ2 + IA2 + D3**2*(M3 + M4)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from ..model.formats.formulas import parse
from ..model.parameters import OF_BODIES, ParameterTable
from ..spatial.formula import ScalarFormula

KHALIL = {"rotor_inertia": "IA", "damping": "FV", "friction": "FS", "offset": "FO", "stiffness": "K", "stribeck": "FB"}
"""Symbols of the parameters of joints."""

NUMBER = re.compile(r"(?<!\d)(\d+)$")


class Grouped(Protocol):
    """The interface of base parameters that this module uses."""

    @property
    def table(self) -> ParameterTable:
        """All parameters of the robot."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups."""

    @property
    def is_symbolic(self) -> bool:
        """Whether parameters are symbols with their own names."""

    def group(self, name: str) -> dict[str, Any]:
        """Return the parameters in a group, with coefficients."""


def parsed(text: str) -> Any:
    """Return the formula in the robot's symbols for the text of a SymPy expression."""
    found = parse(text)
    return found if isinstance(found, ScalarFormula) and found.symbols else float(found)


def book_formulas(base: Grouped) -> dict[str, str]:
    """Return every group as text, keyed by its name in the books."""
    numbers = _numbers(base.table.names)
    values: Mapping[str, Any] = dict(zip(base.table.names, base.table.values, strict=True))
    found: dict[str, str] = {}
    for name in base.names:
        terms: list[tuple[Any, str]] = []
        constant = 0.0
        for other, factor in base.group(name).items():
            value = values[other] if base.is_symbolic else _name(other, numbers)
            if isinstance(value, (int, float)):
                constant = constant + factor * float(value)
            else:
                word = value if isinstance(value, str) else str(value)
                terms += [(part, word if _is_one(word) else f"({word})") for part in _addends(factor)]
        found[_name(name, numbers, "R")] = _sum(terms, constant)
    return found


def _numbers(names: tuple[str, ...]) -> dict[str, str]:
    """Return the number of each body and joint: the one at the end of its name if all have one, else its index."""
    owners: dict[bool, list[str]] = {True: [], False: []}
    for name in names:
        owner, _, symbol = name.rpartition(".")
        known = owners[symbol in OF_BODIES]
        if owner not in known:
            known.append(owner)
    found: dict[str, str] = {}
    for known in owners.values():
        behind = [NUMBER.search(owner) for owner in known]
        told = [m[1] for m in behind if m]
        use = len(told) == len(known) == len(set(told))
        found |= {owner: told[k] if use else str(k + 1) for k, owner in enumerate(known)}
    return found


def _name(name: str, numbers: Mapping[str, str], mark: str = "") -> str:
    owner, _, symbol = name.rpartition(".")
    return f"{KHALIL.get(symbol, symbol)}{mark}{numbers[owner]}"


def _sum(terms: list[tuple[Any, str]], constant: Any) -> str:
    """Return a sum in which parameters with the same factor are collected in a bracket."""
    together: dict[str, tuple[bool, list[tuple[bool, str]]]] = {}
    for factor, word in terms:
        negative, size = _split(factor)
        together.setdefault(size, (negative, []))[1].append((negative, word))
    text = ""
    if isinstance(constant, ScalarFormula) or constant:
        together[""] = (False, [(False, _shown(constant))])
    for size, (negative, words) in together.items():
        if size in ("", "1"):
            for minus, word in words:
                text = _joined(text, minus, word)
            continue
        inner = ""
        for minus, word in words:
            inner = _joined(inner, minus != negative, word)
        text = _joined(text, negative, f"{size}*{inner if _is_one(inner) else f'({inner})'}")
    return text or "0"


def _addends(factor: Any) -> list[Any]:
    """Return the terms of a factor: the books write ``D2**2*(M2 + M3) + D3**2*M3``."""
    if not isinstance(factor, ScalarFormula) or factor.kind not in ("+", "-", "neg"):
        return [factor]
    parts = [_addends(part) for part in factor.parts]
    if factor.kind in ("-", "neg"):
        parts[-1] = [-x for x in parts[-1]]
    return [x for part in parts for x in part]


def _split(factor: Any) -> tuple[bool, str]:
    """Return whether a factor is negative, and its absolute value as text."""
    if isinstance(factor, ScalarFormula):
        turned = factor.kind == "neg"
        return turned, str(-factor if turned else factor)
    return bool(factor < 0.0), _shown(abs(factor))


def _shown(x: Any) -> str:
    return str(x) if isinstance(x, ScalarFormula) else f"{float(x):.12g}"


def _is_one(text: str) -> bool:
    """Return whether text is a single term, with sums only within brackets."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth and letter in "+-" and at and text[at - 1] == " ":
            return False
    return True


def _joined(text: str, minus: bool, word: str) -> str:
    if not text:
        return f"-{word}" if minus else word
    return f"{text} {'-' if minus else '+'} {word if not minus or _is_one(word) else f'({word})'}"

"""The meaning of each number of a result whose shape does not show it, such as the vectors of mechanisms with loops.

The parts of such a result are named in its row of the table of algorithms; this module explains the numbers of each
part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..algorithms.algorithm import Algorithm
from ..algorithms.loop_constraints import pattern
from ..model.force_units import FORCE_OF
from ..model.tree import Model


class ResultEntry(NamedTuple):
    """One number of a result, or several consecutive ones."""

    first: int
    last: int
    meaning: str

    @property
    def place(self) -> str:
        """Its index in C."""
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"


def entries(model: Model, algorithm: Algorithm, options: Mapping[str, Any], least_quality: float) -> list[ResultEntry]:
    """Return the meaning of the numbers of a result, one by one; an empty list if its shape shows it.

    options: All of its options.
    least_quality: The quality below which a result of closed loops is worthless.
    """
    found: list[ResultEntry] = []
    for part in algorithm.parts:
        each = model.nv if part == "rows" else 1  # numbers that are explained together
        for meaning in _MEANINGS[part](model, options):
            if part == "quality":
                meaning += f": below {least_quality:g} the other numbers are worthless"
            first = found[-1].last + 1 if found else 0
            found.append(ResultEntry(first, first + each - 1, meaning))
    return found


def parts(model: Model, algorithm: Algorithm, options: Mapping[str, Any]) -> dict[str, int]:
    """Return the offsets of the parts of a result, by names for macros; empty if there is only one part."""
    found, first = {}, 0
    for part in algorithm.parts if len(algorithm.parts) > 1 else ():
        found[part.upper()] = first
        first += len(_MEANINGS[part](model, options))
    return found


Meaning = Callable[[Model, Mapping[str, Any]], list[str]]


def _forces(model: Model, options: Mapping[str, Any]) -> list[str]:
    follows = set(options.get("dependent", ()))
    what = [
        "always 0, as nothing drives it" if k in follows else f"force of its motor ({unit})"
        for k, unit in enumerate(model.tau_units)
    ]
    return [f"tau, {name}: {text}" for name, text in zip(model.v_names, what, strict=True)]


def _accelerations(model: Model, options: Mapping[str, Any]) -> list[str]:
    units = zip(model.v_names, model.v_units, strict=True)
    return [f"a, {name}: acceleration ({unit}/s^2)" for name, unit in units]


def _multipliers(model: Model, options: Mapping[str, Any]) -> list[str]:
    names, units = model.constraint_names, model.constraint_units
    return [f"lambda, {names[r]!r} ({FORCE_OF[units[r]]})" for r in options.get("rows", range(len(names)))]


def _residuals(model: Model, options: Mapping[str, Any]) -> list[str]:
    return [
        "sum of the squares of the gaps of all loops (m, rad): how far q is from closed",
        "sum of the squares of the rates of these gaps: how far v is from what the loops allow",
        # accelerations are chosen so that these residuals vanish
        "sum of the squares of their second rates: how far a is from it" if "dependent" in options else "always 0",
    ]


def _held(rate: str) -> Meaning:
    def meanings(model: Model, options: Mapping[str, Any]) -> list[str]:
        held = zip(model.constraint_names, model.constraint_units, strict=True)
        return [f"{name!r} ({unit}{rate})" for name, unit in held]

    return meanings


def _entries_of_k(model: Model, options: Mapping[str, Any]) -> list[str]:
    return [f"row of {model.constraint_names[i]!r}, column v[{j}]" for i, j in pattern(model)]


_MEANINGS: dict[str, Meaning] = {
    "tau": _forces,
    "a": _accelerations,
    "lambda": _multipliers,
    "quality": lambda model, options: ["quality, from 0 (singular) to 1"],
    "residuals": _residuals,
    "gaps": _held(""),
    "drift": _held("/s^2"),
    "rows": lambda model, options: [f"row of {name!r}" for name in model.constraint_names],
    "entries": _entries_of_k,
}
"""Functions that explain the numbers of a part one by one, and those of ``rows`` row by row."""

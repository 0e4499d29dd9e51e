"""Code of runs: written once, shown to users, and run by the studio itself, so that both give the same numbers.

It is made of our own words, of numbers, and of names from the robot, each as a Python literal: a name is no code.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import kinetree
from kinetree.errors import KinetreeError, KinetreeWarning, OptionError, PathError


class CodePart(NamedTuple):
    """Some lines, and the part of the page in which a mistake in them is mended."""

    where: str
    lines: Sequence[str]


class RunProblem(OptionError):
    """A run that is not possible, with the part of the page in which that is mended.

    Attributes
    ----------
    where : str
    """

    def __init__(self, message: str, where: str) -> None:
        super().__init__(message)
        self.where = where


def number(x: float) -> str:
    """Write a number."""
    return repr(float(x))


def row(values: Iterable[float]) -> str:
    """Write a list of numbers."""
    return f"[{', '.join(number(x) for x in values)}]"


def rows(values: Iterable[Iterable[float]]) -> str:
    """Write a list of lists."""
    return f"[{', '.join(row(x) for x in values)}]"


def names(values: Iterable[str]) -> str:
    """Write a list of names."""
    return repr([str(x) for x in values])


def literal(value: Any) -> str:
    """Write plain values: mappings, lists, names and numbers."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{str(key)!r}: {literal(x)}' for key, x in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(literal(x) for x in value)}]"
    if isinstance(value, (str, bool, int)) or value is None:
        return repr(value)
    return number(value)


def run_parts(
    parts: Iterable[CodePart], known: Mapping[str, Any], tell: Callable[..., Any] | bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Run the code of a run, and return its variables and what the library warned of.

    Parameters
    ----------
    parts : iterable of CodePart
    known : mapping
        Variables that it begins with: robots by name.
    tell : callable or False
        What the code knows as ``told``, the progress of what takes long.
    """
    space: dict[str, Any] = {"kt": kinetree, "np": np, "told": tell, **known}
    with warnings.catch_warnings(record=True) as odd:
        warnings.simplefilter("always", KinetreeWarning)
        for where, lines in parts:
            try:
                exec(compile("\n".join(lines), f"<{where} of a run>", "exec"), space)
            except PathError as problem:
                t = space.get("t")
                when = f"at t = {t[problem.point]:.4g} s of the motion: " if t is not None else ""
                raise RunProblem(f"{when}{problem.why}", where) from problem
            except KinetreeError as problem:
                raise RunProblem(str(problem), where) from problem
    found = [str(w.message) for w in odd if issubclass(w.category, KinetreeWarning)]
    return space, list(dict.fromkeys(found))

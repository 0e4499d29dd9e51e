"""Systems of the sources by name: their models, where the data comes from, how they move.

Examples
--------
>>> import kinetree as kt
>>> robot = kt.gallery.load("four-bar")
>>> q, v, a = kt.gallery.motion("four-bar").states([0.0, 0.5])
>>> robot.inverse_dynamics(q, v, a).shape
(2, 3)

A study computes what the sources compute, and puts what they state beside it:

>>> result = kt.gallery.study("four-bar").run("inverse", quick=True)
>>> result.facts[3].source
"computed from the book's formulas"
>>> print(result.facts[3].shown("stated"), "and", result.facts[3].shown("measured"))
(1.404477, 0) rad/s and (1.404477, 0) rad/s

``result.table()`` shows all of it, ``result.write(folder)`` writes plots, data and a summary.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..errors import UnknownNameError
from . import comparisons, systems
from .study import Fact, Outcome, Result, Study
from .system import About, States
from .system import PrescribedMotion as Motion
from .systems import about, load, model_text, motion, start
from .systems.four_bar_chain import four_bar_chain, four_bar_chain_leaning

__all__ = [
    "About",
    "Fact",
    "Motion",
    "Outcome",
    "Result",
    "States",
    "Study",
    "about",
    "four_bar_chain",
    "four_bar_chain_leaning",
    "load",
    "model_text",
    "motion",
    "names",
    "start",
    "studies",
    "study",
]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def names() -> list[str]:
    """Return the names of all systems.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gallery.names()[0]
    'four-bar'
    """
    return list(systems.NAMES)


def studies() -> list[str]:
    """Return the names of all studies: those of systems in the order of :func:`names`, then the others.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gallery.studies()[0]
    'four-bar'
    """
    return [*systems.NAMES, *_compared()]


def study(name: str) -> Study:
    """Return a study: what is computed on a system, and what its source says about the answer.

    Parameters
    ----------
    name : str
        One of :func:`studies`.

    Examples
    --------
    >>> import kinetree as kt
    >>> list(kt.gallery.study("four-bar").analyses)
    ['inverse', 'replay', 'free-fall']
    """
    if name not in studies():
        raise UnknownNameError("study", name, studies())
    module = systems.part(name, "study") if name in systems.NAMES else import_module(_compared()[name])
    found: Study = module.STUDY
    return found


def _compared() -> dict[str, str]:
    """Return the modules of the folder ``comparisons`` by the names of their studies."""
    found = [module.name for module in iter_modules(comparisons.__path__)]
    return {name.replace("_", "-"): f"{comparisons.__name__}.{name}" for name in sorted(found)}

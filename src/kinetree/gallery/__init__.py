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
>>> print(result.facts[0])
one turn of the crank at 3 pi/2 rad/s takes 4/3 s: stated 1.333333 s, measured 1.333333 s, holds

``result.table()`` shows all of it, ``result.write(folder)`` writes plots, data and a summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module, resources
from pkgutil import iter_modules

import numpy as np

from ..errors import UnknownNameError
from ..model.tree import Model
from ..robot.load import load as load_file
from ..robot.robot import Robot
from .chain import four_bar_chain, four_bar_chain_leaning
from .mechanisms import SYSTEMS
from .study import Fact, Outcome, Result, Study
from .system import About, Motion, States, System
from .trees import SYSTEMS as TREES

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

import_module(".studies", __package__)  # now, or its first import would hide the function of that name below


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


_BY_NAME = {system.about.name: system for system in (*SYSTEMS, *TREES)}


def names() -> list[str]:
    """Names of all systems.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gallery.names()[0]
    'four-bar'
    """
    return list(_BY_NAME)


def load(name: str, **options: object) -> Robot:
    """A system's robot, ready to compute with.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    **options
        As for :func:`kinetree.load`.

    Returns
    -------
    Robot
        A :class:`kinetree.Mechanism` where the system has loops.

    Raises
    ------
    UnknownNameError
        With the nearest names.
    """
    _find(name)
    with resources.as_file(_file(name)) as path:
        return load_file(path, **options)  # type: ignore[arg-type]


def model_text(name: str) -> str:
    """A system's model file: YAML in kinetree's format, with comments."""
    _find(name)
    return _file(name).read_text(encoding="utf-8")


def about(name: str) -> About:
    """Where a system comes from, what its source leaves open, what was assumed and how it was found."""
    return _find(name).about


def motion(name: str) -> Motion:
    """A system's prescribed motion: its source's, or one of ours where the source has none."""
    system = _find(name)
    return Motion(system.driven, system.span, system.motion, _model(name), system.assembled)


def start(name: str, which: str = "motion") -> np.ndarray:
    """An assembled configuration, all loops closed to rounding.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    which : str
        ``"motion"``: where the prescribed motion starts; ``"free-fall"``, where the source has one.

    Returns
    -------
    ndarray (nq,)
    """
    return _find(name).start(which)


def studies() -> list[str]:
    """Names of all studies: those of systems in the order of :func:`names`, then the others.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gallery.studies()[0]
    'four-bar'
    """
    return list(_studies())


def study(name: str) -> Study:
    """A study: what is computed on a system, and what its source says about the answer.

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
    found = _studies().get(name) if isinstance(name, str) else None
    if found is None:
        raise UnknownNameError("study", name, _studies())
    return found


@cache
def _studies() -> dict[str, Study]:
    found = {made.name: made for made in _all_studies()}
    first = [name for name in _BY_NAME if name in found]
    return {name: found[name] for name in dict.fromkeys([*first, *sorted(found)])}


def _all_studies() -> Iterator[Study]:
    """Of every file in the folder ``studies``."""
    package = import_module(".studies", __package__)
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        loaded = import_module(module.name)
        yield from getattr(loaded, "STUDIES", ()) or (loaded.STUDY,)


def _find(name: str) -> System:
    system = _BY_NAME.get(name) if isinstance(name, str) else None
    if system is None:
        raise UnknownNameError("system in the gallery", name, _BY_NAME)
    return system


def _file(name: str) -> resources.abc.Traversable:
    return resources.files(__package__).joinpath("models", f"{name}.yaml")


@cache
def _model(name: str) -> Model:
    return load(name).model

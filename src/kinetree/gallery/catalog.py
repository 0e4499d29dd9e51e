"""What the gallery has, by name: systems, and the studies of them and of several."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..errors import UnknownNameError
from ..studies.named_systems import NAMES, part
from ..studies.study import Study
from ..studies.system import PrescribedMotion
from . import comparisons

Motion = PrescribedMotion
"""What :func:`kinetree.gallery.motion` gives."""


def names() -> list[str]:
    """Return the names of all systems.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gallery.names()[0]
    'four-bar'
    """
    return list(NAMES)


def studies() -> list[str]:
    """Return the names of all studies: those of systems in the order of :func:`names`, then the others.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gallery.studies()[0]
    'four-bar'
    """
    return [*NAMES, *_compared()]


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
    module = part(name, "study") if name in NAMES else import_module(_compared()[name])
    found: Study = module.STUDY
    return found


def _compared() -> dict[str, str]:
    """Return the modules of the folder ``comparisons`` by the names of their studies."""
    found = [module.name for module in iter_modules(comparisons.__path__)]
    return {name.replace("_", "-"): f"{comparisons.__name__}.{name}" for name in sorted(found)}

"""The contents of the gallery by name: systems, their studies, and comparisons."""

from __future__ import annotations

from importlib import import_module

from kinetree.errors import UnknownNameError
from kinetree.io.gallery_files import study_names
from kinetree.studies.named_systems import NAMES, part
from kinetree.studies.study import Study
from kinetree.studies.system import PrescribedMotion

Motion = PrescribedMotion
"""The result of :func:`kinetree.gallery.motion`."""


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
    return list(study_names())


def study(name: str) -> Study:
    """Return a study: what is computed for a system, and what its source states about the result.

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
    compared = f".comparisons.{name.replace('-', '_')}"
    module = part(name, "study") if name in NAMES else import_module(compared, __package__)
    found: Study = module.STUDY
    return found

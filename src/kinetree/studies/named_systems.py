"""Systems by name: their models, initial configurations and motions.

Each system has a folder in the gallery and is found by name, like a plug-in; nothing here depends on any of them. A
system's modules are imported when they are needed; loading its model does not import any of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources
from types import ModuleType

import numpy as np

from ..errors import UnknownNameError
from ..io.gallery_files import GALLERY, gallery_file, gallery_folder, gallery_names, only_a_study
from ..model.tree import Model
from ..robot.load import load as load_file
from ..robot.robot import Robot
from .system import About, GallerySystem, PrescribedMotion

NAMES = gallery_names()
"""All systems, those with loops first, in the order of the sources."""


def folder(name: str) -> str:
    """Return the folder of a system, which is its name as Python can import it."""
    _check(name)
    return gallery_folder(name)


def part(name: str, which: str) -> ModuleType:
    """Import the module ``system`` or ``study`` of a system."""
    return import_module(f"{GALLERY}.systems.{folder(name)}.{which}")


def system(name: str) -> GallerySystem:
    """Return the description of a system in the gallery, without its model."""
    found: GallerySystem = part(name, "system").SYSTEM
    return found


def load(name: str, **options: object) -> Robot:
    """Load a system's robot, ready to compute with.

    Parameters
    ----------
    name : str
        One of :func:`kinetree.gallery.names`.
    **options
        Options of :func:`kinetree.load`.

    Returns
    -------
    Robot
        A :class:`kinetree.Mechanism` if the system has loops.

    Raises
    ------
    UnknownNameError
        If there is no such system; the error suggests the nearest names.
    """
    _check(name)
    with resources.as_file(gallery_file(name)) as path:
        return load_file(path, **options)  # type: ignore[arg-type]


def model_text(name: str) -> str:
    """Return a system's model file: YAML in kinetree's format, with comments."""
    _check(name)
    return gallery_file(name).read_text(encoding="utf-8")


def about(name: str) -> About:
    """Return where a system comes from, what its source leaves open, and what was assumed for which reason."""
    return system(name).about


def motion(name: str) -> PrescribedMotion:
    """Return a system's prescribed motion: that of its source, or one made up if the source has none."""
    return motion_of(system(name), name)


def motion_of(found: GallerySystem, name: str) -> PrescribedMotion:
    """Return the prescribed motion of a system, perhaps with other steps, whose model is that of ``name``."""
    return PrescribedMotion(found.driven, found.span, found.motion, _model(name), found.assembled)


def start(name: str, which: str = "motion") -> np.ndarray:
    """Return an assembled configuration (nq,), with all loops closed to rounding.

    Parameters
    ----------
    name : str
        One of :func:`kinetree.gallery.names`.
    which : str
        ``"motion"`` for the start of the prescribed motion; ``"free-fall"``, if the source has one.

    Returns
    -------
    ndarray (nq,)
    """
    return system(name).start(which)


def _check(name: str) -> None:
    if not isinstance(name, str) or name not in NAMES:
        raise UnknownNameError("system in the gallery", name, NAMES, instead=only_a_study(str(name)), most=8)


@cache
def _model(name: str) -> Model:
    return load(name).model

"""Where the files of the gallery are, and the names that follow from them: for those who need no robot, too."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable


@cache
def gallery_names() -> tuple[str, ...]:
    """Return the names of all systems of the gallery, those with loops first, in the order of the sources."""
    return tuple(resources.files("kinetree").joinpath("gallery", "names.txt").read_text(encoding="utf-8").split())


def study_names() -> tuple[str, ...]:
    """Return the names of all studies: those of systems, then those that compare robots."""
    return (*gallery_names(), *compared_names())


def compared_names() -> list[str]:
    """Return the names of studies that compare robots, which are the modules of a folder."""
    folder = resources.files("kinetree").joinpath("gallery", "comparisons")
    modules = [file.name.removesuffix(".py") for file in folder.iterdir() if file.name.endswith(".py")]
    return sorted(name.replace("_", "-") for name in modules if name != "__init__")


def gallery_folder(name: str) -> str:
    """Return the folder of a system of the gallery, which is its name as Python can import it."""
    return name.replace("3-", "three_", 1) if name.startswith("3-") else name.replace("-", "_")


def gallery_file(name: str) -> Traversable:
    """Return the file of a system's robot; the package may be zipped, so it need not be on the disk."""
    return resources.files("kinetree").joinpath("gallery", "systems", gallery_folder(name), "model.yaml")


def only_a_study(name: str) -> str:
    """Say of a study that compares robots that it is one, and how it is run; nothing of any other name."""
    module = resources.files("kinetree").joinpath("gallery", "comparisons", f"{name.replace('-', '_')}.py")
    if "_" in name or not name.isprintable() or not module.is_file():
        return ""
    return f"{name!r} is a study without a robot: kinetree run {name}, or kinetree.gallery.study({name!r})"

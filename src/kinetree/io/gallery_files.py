"""The location of the gallery, and names derived from its files, without loading any robot.

The gallery is a separate package that depends on kinetree. Nothing here imports it; this module only contains its name.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

GALLERY = "kinetree_gallery"
"""The package of the gallery; ``kinetree.gallery`` is where users find it."""


@cache
def gallery_names() -> tuple[str, ...]:
    """Return the names of all systems of the gallery, those with loops first, in the order of the sources."""
    return tuple(resources.files(GALLERY).joinpath("names.txt").read_text(encoding="utf-8").split())


def study_names() -> tuple[str, ...]:
    """Return the names of all studies: those of systems, then those that compare robots."""
    return (*gallery_names(), *compared_names())


def compared_names() -> list[str]:
    """Return the names of studies that compare robots, which are the modules of a folder."""
    folder = resources.files(GALLERY).joinpath("comparisons")
    modules = [file.name.removesuffix(".py") for file in folder.iterdir() if file.name.endswith(".py")]
    return sorted(name.replace("_", "-") for name in modules if name != "__init__")


def gallery_folder(name: str) -> str:
    """Return the folder of a system of the gallery, which is its name as Python can import it."""
    return name.replace("3-", "three_", 1) if name.startswith("3-") else name.replace("-", "_")


def gallery_file(name: str, which: str = "model.yaml") -> Traversable:
    """Return a file of a system, by default its robot; it need not be on the disk, since the package may be zipped."""
    return resources.files(GALLERY).joinpath("systems", gallery_folder(name), which)


def only_a_study(name: str) -> str:
    """Return how to run a study that compares robots, for messages; an empty string for any other name."""
    module = resources.files(GALLERY).joinpath("comparisons", f"{name.replace('-', '_')}.py")
    if "_" in name or not name.isprintable() or not module.is_file():
        return ""
    return f"{name!r} is a study without a robot: kinetree run {name}, or kinetree.gallery.study({name!r})"

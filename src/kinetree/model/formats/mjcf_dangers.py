"""Checks of an MJCF file before MuJoCo reads it: excessive sizes, and percent signs in names.

A file of a few lines can require gigabytes of memory or hours of time. MuJoCo uses some names as formats of C's
``printf``, so a percent sign in a name may read or write memory: no attribute may have one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from ...errors import FileFormatError
from . import xml
from .source import Source
from .xml import Element

MOST_FILES = 200
"""The most files that a model may consist of."""

MOST_COPIES = 2000
"""The most copies that <replicate> may make: MuJoCo's time grows with their square."""

MOST_POINTS = 1 << 24
"""The most points of a height field, a texture or a flexible body."""

MOST_USER_NUMBERS = 10_000
"""The most user numbers of one element."""

PRODUCTS = {
    "hfield": (("nrow", "ncol"), MOST_POINTS, "points"),
    "texture": (("width", "height"), MOST_POINTS, "points"),
    "flexcomp": (("count",), 1 << 17, "points"),
    "composite": (("count",), MOST_COPIES, "bodies"),
}
"""Elements, the attributes whose numbers are multiplied, and the largest product."""


def refuse_dangers(source: Source) -> None:
    """Refuse a file that would exhaust memory or time, or whose names MuJoCo could take for formats."""
    roots: dict[Path, Element] = {}
    for path, root in _documents(source):
        roots[path.resolve()] = root
        for element in root.within():
            _refuse_percent(element, str(path))
            _refuse_sizes(element, str(path))
    copies = _Copies(roots, source.path.parent)
    for path in roots:
        copies.of(path)


class _Copies:
    """Counts the parts of a model; attached models may attach others, and all may be within <replicate>.

    roots: All files.
    folder: The folder that file names in the first file are relative to.
    """

    def __init__(self, roots: dict[Path, Element], folder: Path) -> None:
        self.roots, self.folder = roots, folder
        self.counted: dict[Path, float] = {}
        self.assets = {path: _models(root) for path, root in roots.items()}

    def of(self, path: Path) -> float:
        """Return the number of models that a file makes, including itself; refuse too many."""
        if path in self.counted:
            return self.counted[path]
        self.counted[path] = 1.0  # the file includes itself, which MuJoCo refuses
        root = self.roots[path]
        total, waiting = 1.0, [(root, 1.0)]
        while waiting:
            element, copies = waiting.pop()
            if element.tag == "replicate":
                copies *= max(1.0, _product(element, ("count",)))
                _refuse_above(copies, MOST_COPIES, "copies", element, str(path))
            if element.tag in ("attach", "include"):
                total += copies * self._brought(element, path)
                _refuse_above(total, MOST_COPIES, "models", element, str(path))
            waiting.extend((child, copies) for child in element.children)
        self.counted[path] = total
        return total

    def _brought(self, element: Element, path: Path) -> float:
        """Return how many models an element adds: those of the file it names, or of a named model."""
        names = [element.attributes.get("file", "")]
        if element.tag == "attach":
            word = element.attributes.get("model", "")
            here = self.assets[path].get(word)
            names = [here] if here else [own[word] for own in self.assets.values() if word in own]
        found = {(base / name).resolve() for name in names for base in (self.folder, path.parent)} & self.roots.keys()
        return max((self.of(file) for file in found), default=1.0)


def _models(root: Element) -> dict[str, str]:
    """Return the files of model assets by name; an asset without a name has that of its file."""
    assets = [e.attributes for e in root.within() if e.tag == "model" and "file" in e.attributes]
    return {own.get("name") or Path(own["file"]).stem: own["file"] for own in assets}


def _documents(source: Source) -> Iterator[tuple[Path, Element]]:
    """Yield the file and all XML files that it includes or attaches, if they can be found."""
    waiting, seen = [source.path], set[Path]()
    while waiting:
        path = waiting.pop()
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        if len(seen) > MOST_FILES:
            raise FileFormatError(f"the model consists of more than {MOST_FILES} files", source.file)
        try:
            data = source.data if path == source.path else path.read_bytes()
        except (OSError, ValueError):  # MuJoCo will report it
            continue
        root = xml.parse(data, str(path))
        yield path, root
        for element in root.within():
            name = element.attributes.get("file", "")
            if name and (element.tag == "include" or name.lower().endswith((".xml", ".mjcf"))):
                waiting.extend({source.path.parent / name, path.parent / name})


def _refuse_percent(element: Element, file: str) -> None:
    for attribute, value in element.attributes.items():
        if "%" in value:
            raise FileFormatError(
                f"<{element.tag} {attribute}={value!r}>: no name in MJCF may have a percent sign, which MuJoCo could "
                "take for an instruction to print memory",
                file,
                element.line,
            )


def _refuse_sizes(element: Element, file: str) -> None:
    if element.tag in PRODUCTS:
        attributes, most, what = PRODUCTS[element.tag]
        _refuse_above(_product(element, attributes), most, what, element, file)
    if element.tag == "size":
        for attribute in element.attributes:
            if attribute != "memory":
                most = MOST_USER_NUMBERS if attribute.startswith(("nuser_", "nkey")) else MOST_POINTS
                _refuse_above(_product(element, (attribute,)), most, attribute, element, file)


def _refuse_above(count: float, most: int, what: str, element: Element, file: str) -> None:
    if count > most:
        raise FileFormatError(
            f"<{element.tag}> asks for {count:.6g} {what}; at most {most} are read", file, element.line
        )


def _product(element: Element, attributes: tuple[str, ...]) -> float:
    """Multiply all numbers of some attributes; 0 if there is anything else, which MuJoCo refuses."""
    words = " ".join(element.attributes.get(attribute, "") for attribute in attributes).split()
    try:
        return math.prod(abs(float(word)) for word in words) if words else 0.0
    except ValueError:
        return 0.0

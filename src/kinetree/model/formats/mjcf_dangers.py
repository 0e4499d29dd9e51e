"""What an MJCF file must not say, looked at before MuJoCo is: sizes beyond all memory, and instructions for printing.

A file of a few lines can ask for gigabytes or for hours.  MuJoCo prints some names as if they were formats of C's
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
"""Files that one model may be put together from."""

MOST_COPIES = 2000
"""Of everything within <replicate>: MuJoCo takes time that grows with the square."""

MOST_POINTS = 1 << 24
"""Of a height field, a texture, a flexible body."""

MOST_USER_NUMBERS = 10_000
"""Of one element."""

PRODUCTS = {
    "hfield": (("nrow", "ncol"), MOST_POINTS, "points"),
    "texture": (("width", "height"), MOST_POINTS, "points"),
    "flexcomp": (("count",), 1 << 17, "points"),
    "composite": (("count",), MOST_COPIES, "bodies"),
}
"""Elements, their attributes whose numbers are multiplied, and how large the product may be."""


def refuse_dangers(source: Source) -> None:
    """Refuse a file that would exhaust memory or patience, or that asks MuJoCo to print what is not there."""
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
    """Counts what a model is put together from: attached models may attach others, and all that within <replicate>.

    Parameters
    ----------
    roots : dict
        All files.
    folder : Path
        From which the first file names others.
    """

    def __init__(self, roots: dict[Path, Element], folder: Path) -> None:
        self.roots, self.folder = roots, folder
        self.counted: dict[Path, float] = {}
        self.assets = {path: _models(root) for path, root in roots.items()}

    def of(self, path: Path) -> float:
        """Return the number of models of a file, itself included; too many are refused."""
        if path in self.counted:
            return self.counted[path]
        self.counted[path] = 1.0  # within itself, which MuJoCo refuses
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
        """Return how many models an element brings: the file it names, or that of a model named here or elsewhere."""
        names = [element.attributes.get("file", "")]
        if element.tag == "attach":
            word = element.attributes.get("model", "")
            here = self.assets[path].get(word)
            names = [here] if here else [own[word] for own in self.assets.values() if word in own]
        found = {(base / name).resolve() for name in names for base in (self.folder, path.parent)} & self.roots.keys()
        return max((self.of(file) for file in found), default=1.0)


def _models(root: Element) -> dict[str, str]:
    """Return the files of assets that are models, by their names; without a name one has its file's."""
    assets = [e.attributes for e in root.within() if e.tag == "model" and "file" in e.attributes]
    return {own.get("name") or Path(own["file"]).stem: own["file"] for own in assets}


def _documents(source: Source) -> Iterator[tuple[Path, Element]]:
    """Yield the file and all files of XML that it includes or attaches, where they can be found."""
    waiting, seen = [source.path], set[Path]()
    while waiting:
        path = waiting.pop()
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        if len(seen) > MOST_FILES:
            raise FileFormatError(f"the model is put together from more than {MOST_FILES} files", source.file)
        try:
            data = source.data if path == source.path else path.read_bytes()
        except (OSError, ValueError):  # MuJoCo says so in its own words
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
    """Multiply all numbers of some attributes; 0 where there is something else, which MuJoCo refuses."""
    words = " ".join(element.attributes.get(attribute, "") for attribute in attributes).split()
    try:
        return math.prod(abs(float(word)) for word in words) if words else 0.0
    except ValueError:
        return 0.0

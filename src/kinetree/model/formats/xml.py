"""XML with the line of every element, and without the dangerous parts of XML.

Document type declarations, and therefore all entities, are refused: otherwise a file of a few lines could expand to
gigabytes, or include other files.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from xml.parsers import expat

from ...errors import FileFormatError, UnsupportedError


class Element:
    """An XML element: its tag, its attributes, its text, its children, and the line it starts on."""

    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.text = ""
        self.children: list[Element] = []

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def within(self) -> Iterator[Element]:
        """Yield the element and everything within it, in no particular order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(element.children)

    def only(self, tag: str, file: str) -> Element | None:
        """Return the only child with this tag, or None; refuse two of them, with file and line."""
        found: Element | None = None
        for child in self.all(tag):
            if found is not None:
                name = self.attributes.get("name", "")
                message = f"<{self.tag}> {name!r} has two <{tag}> (the first on line {found.line})"
                raise FileFormatError(message, file, child.line)
            found = child
        return found

    def __repr__(self) -> str:
        return f"<{self.tag}> on line {self.line}"


def parse(data: bytes, file: str, closed: Collection[str] = (), texts: bool = False) -> Element:
    """Return the root element of an XML document.

    data: The document; its encoding is taken from its XML declaration.
    file: Name of the file in error messages.
    closed: Tags of elements whose content is ignored.
    texts: Whether to keep the text of elements as well.
    """
    if not data.strip():
        raise FileFormatError("the file is empty", file)
    parser = expat.ParserCreate()
    document = Element("", {}, 0)
    path: list[Element | None] = [document]

    def start(tag: str, attributes: dict[str, str]) -> None:
        parent = path[-1]
        if parent is not None:
            element = Element(tag, attributes, parser.CurrentLineNumber)
            parent.children.append(element)
            path.append(None if tag in closed else element)
        else:
            path.append(None)

    def end(tag: str) -> None:
        path.pop()

    def text(part: str) -> None:
        if path[-1] is not None:
            path[-1].text += part

    def declaration(*_: object) -> None:
        raise FileFormatError(
            "the document has a DOCTYPE; document types and entities are refused because they can be made to "
            "use up all memory. Remove the declaration and expand the entities",
            file,
            parser.CurrentLineNumber,
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if texts:
        parser.buffer_text = True
        parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = declaration
    parser.EntityDeclHandler = declaration
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        reason = expat.ErrorString(problem.code) or "unreadable"
        raise FileFormatError(f"malformed XML: {reason} (column {problem.offset + 1})", file, problem.lineno) from None
    except FileFormatError:
        raise
    except (LookupError, ValueError) as problem:
        raise FileFormatError(f"unreadable text encoding: {problem}", file, 1) from None
    return document.children[0]


def misspelled(element: Element, known: Iterable[str]) -> dict[str, str]:
    """Return attributes that are not known, each with the known one that was probably meant, or an empty string.

    Only what the element does not have besides can have been meant.  Attributes with a prefix belong to other tools.
    """
    missing = [name for name in known if name not in element.attributes]
    found = {}
    for name in element.attributes.keys() - set(known):
        if ":" not in name:
            found[name] = _meant(name.lower(), missing)
            missing = [other for other in missing if other != found[name]]
    return {name: found[name] for name in element.attributes if name in found}


def _meant(name: str, known: Iterable[str]) -> str:
    """Return the known name that is nearest: spelled almost so, or abbreviated."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.65)
    longer = [other for other in known if len(name) > 1 and other.startswith(name)]
    return next(iter(near or longer), "")


def quoted(text: str) -> str:
    """Return text as the value of an attribute, in quotation marks."""
    if any(ord(c) < 32 and c not in "\t\n\r" for c in text):
        raise UnsupportedError(f"XML cannot contain the name {text!r}")
    from xml.sax.saxutils import quoteattr  # imported here because it imports urllib, which readers do not need

    return quoteattr(text)

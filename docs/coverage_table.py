"""The table of what of the sources is covered, from coverage.yaml and the citations in the source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kinetree.studies.sources import SOURCES

ROOT = Path(__file__).resolve().parent.parent
TOPS = (ROOT / "src/kinetree", ROOT / "gallery", ROOT / "programs")
"""Where the source is; files are named from there."""
HEADINGS = "| section | about | computed by | studies | tests | cited in |\n|---|---|---|---|---|---|"
NOT_THERE = "*nothing to compute*"
PLACE = re.compile(r"^\*The site shows a table here, .* <!-- coverage (?P<source>\w+) -->$", re.MULTILINE)

NUMBER = r"(?:[A-D]\.)?\d+(?:\.\d+)*[a-z]?"
LIST = rf"{NUMBER}(?:(?:, | and |-|–){NUMBER})*"
KIND = r"(?:sections?|appendix|eqs?\.)"
CITED = re.compile(rf"\b({'|'.join(SOURCES)})(?P<first>,? {KIND} {LIST})(?P<more>(?:[,;]? (?:and )?{KIND} {LIST})*)")
PART = re.compile(rf"({KIND}) ({LIST})")


class Citation(NamedTuple):
    """A place in the source that names a section or an equation."""

    source: str
    what: str
    """``"section"`` or ``"equation"``."""
    number: str
    file: str


@cache
def rows() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the rows of each source, by section."""
    read = yaml.safe_load((ROOT / "docs/coverage.yaml").read_text(encoding="utf-8"))
    return {source: {str(section): row for section, row in table.items()} for source, table in read.items()}


@cache
def citations() -> tuple[Citation, ...]:
    """Return all citations by section or equation in the source."""
    return tuple(_citations())


def _citations() -> Iterator[Citation]:
    for top, path in [(t, path) for t in TOPS for path in sorted(t.rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        for found in CITED.finditer(text):
            for word, numbers in PART.findall(found["first"] + found["more"]):
                what = "equation" if word.startswith("eq") else "section"
                for number in re.findall(NUMBER, numbers):
                    yield Citation(found[1], what, number, path.relative_to(top).as_posix())


def row_of(citation: Citation) -> str | None:
    """Return the section whose row a citation belongs to; "" for a whole chapter of rows, None if there is none."""
    table = rows()[citation.source]
    if citation.what == "equation":
        place = _order(citation.number)
        for section, row in table.items():
            if "eqs" in row and _order(row["eqs"][0]) <= place <= _order(row["eqs"][1]):
                return section
        return None
    parts = citation.number.split(".")
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in table:
            return ".".join(parts[:end])
    return "" if any(section.startswith(f"{citation.number}.") for section in table) else None


def _order(number: str) -> tuple[int, ...]:
    """Return an equation's number as something to compare; appendices come after the chapters."""
    return tuple(ord(part) + 1000 if part.isalpha() else int(part) for part in number.rstrip("abcdefgh").split("."))


def table(source: str) -> str:
    """Return the table of one source, in Markdown."""
    files: dict[str, set[str]] = defaultdict(set)
    for citation in citations():
        section = row_of(citation)
        if citation.source == source and section:
            files[section].add(citation.file)
    return "\n".join([HEADINGS, *(_line(section, row, files[section]) for section, row in rows()[source].items())])


def _line(section: str, row: dict[str, Any], files: set[str]) -> str:
    by = ", ".join(f"`{name}`" for name in row.get("by", ()))
    missing = f"*not there: {row['missing']}*" if "missing" in row else ""
    computed = "<br>".join(x for x in (by or (NOT_THERE if row.get("words") else ""), missing) if x)
    studies = ", ".join(f"[{name}](studies/{name.partition('/')[0]}.md)" for name in row.get("studies", ()))
    tests = ", ".join(f"`{name.partition('::')[0]}`" for name in row.get("tests", ()))
    cited = ", ".join(f"`{name}`" for name in sorted(files))
    return f"| {section} | {row['about']} | {computed} | {studies} | {tests} | {cited} |"


def expanded(markdown: str) -> str:
    """Return a page with its lines ``*The site shows a table here, ...* <!-- coverage Shah -->`` replaced."""
    return PLACE.sub(lambda found: table(found["source"]), markdown)

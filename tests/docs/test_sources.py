"""How the sources are cited: by section, equation, table and figure, never by lines of a text that nobody else has."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from kinetree.studies.sources import SOURCES, cited

ROOT = Path(__file__).resolve().parents[2]
READ = (".py", ".md", ".yaml", ".yml", ".txt")
LINES = re.compile(r"(?<![\w.])L\d{2,4}\b")
"""Line numbers of plain texts, as citations had them."""
NO_AUTHORS = {"In", "Since"}
"""Capitals before a year at the beginning of a sentence."""


def texts():
    packages = ("src", "gallery", "programs", "studio", "learning", "optimize", "design", "sweeps")
    for top in (*packages, "docs", "tests", "examples", "benchmarks", "tools"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in READ and path != Path(__file__):
                yield path, path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("*.md")):
        yield path, path.read_text(encoding="utf-8")


def test_no_citation_is_a_line_number():
    found = [f"{path.relative_to(ROOT)}: {match.group()}" for path, text in texts() for match in LINES.finditer(text)]
    assert found == []


def test_sources_are_cited_by_their_authors():
    """``Shah section 5.1``, never a number for the book."""
    coded = re.compile(r"(?<![\d.,])0\d\d,? (?:sections?|eqs?\.|[Tt]ables?|[Ff]ig|chapter|appendix)")
    found = [f"{path.relative_to(ROOT)}: {match}" for path, text in texts() for match in coded.findall(text)]
    assert found == []
    assert set(cited(*(text for _, text in texts()))) == set(SOURCES)


def test_one_page_says_which_texts_they_are():
    page = (ROOT / "docs/references.md").read_text(encoding="utf-8").replace("*", "")
    for word, title in SOURCES.items():
        assert len(re.findall(rf"^\| {word} \| ", page, re.MULTILINE)) == 1
        assert title.rpartition(". ")[0] in page, word


def test_every_paper_that_is_cited_by_a_year_is_on_that_page():
    """``Jain 2012`` or ``(Dahl, 1968)`` in the source and on the pages; umlauts may be spelled without their dots."""
    name = r"[A-Z][a-z]+[A-Z]?[a-z]+"
    dated = re.compile(rf"\b({name})(?: et al\.)?(?:,| \(|,? \(?as of)? ((?:18|19|20)\d\d)\b")
    page = unicodedata.normalize("NFD", (ROOT / "docs/references.md").read_text(encoding="utf-8"))
    page = "".join(letter for letter in page if not unicodedata.combining(letter))
    rows = re.findall(r"^\| .*$", page, re.MULTILINE)
    found = {match for path, text in texts() if "tests" not in path.parts for match in dated.findall(text)}
    found -= {(word, year) for word, year in found if word in NO_AUTHORS}
    assert len(found) > 30
    lost = [f"{author} {year}" for author, year in sorted(found) if not any(author in r and year in r for r in rows)]
    assert lost == []

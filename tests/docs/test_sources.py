"""How the sources are cited: by section, equation, table and figure, never by lines of a text that nobody else has."""

from __future__ import annotations

import re
from pathlib import Path

from kinetree.gallery.sources import SOURCES

ROOT = Path(__file__).resolve().parents[2]
READ = (".py", ".md", ".yaml", ".yml", ".txt")
LINES = re.compile(r"(?<![\w.])L\d{2,4}\b")
"""Line numbers of plain texts, as citations had them."""


def texts():
    for top in ("src", "docs", "tests", "examples", "benchmarks", "tools"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in READ and path != Path(__file__):
                yield path, path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("*.md")):
        yield path, path.read_text(encoding="utf-8")


def test_no_citation_is_a_line_number():
    found = [f"{path.relative_to(ROOT)}: {match.group()}" for path, text in texts() for match in LINES.finditer(text)]
    assert found == []


def test_numbers_of_sources_mean_something():
    """Every ``000 section 5.1`` or ``004 eq. 10.12`` names one of the five."""
    cited = re.compile(r"(?<![\d.,])(0\d\d) (?:sections?|eqs?\.|[Tt]ables?|[Ff]ig|chapter|appendix)")
    numbers = {number for _, text in texts() for number in cited.findall(text)}
    assert numbers == set(SOURCES)


def test_one_page_says_which_texts_they_are():
    page = (ROOT / "docs/conventions.md").read_text(encoding="utf-8").replace("*", "")
    for number, title in SOURCES.items():
        assert page.count(f"| {number} | {title}") == 1

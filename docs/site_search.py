"""What the search of the site knows beside the pages: words that people type, how much a page counts, its worker.

``javascripts/search_worker.js`` answers in place of the theme's own worker, with the index that mkdocs writes.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

WORDS = Path(__file__).resolve().parent / "search_words.yaml"
WORKER_OF_THE_THEME = re.compile(r"assets/javascripts/workers/search\.\w+\.min\.js")
WORKER = "javascripts/search_worker.js"

BOOSTS = {
    "api/": 0.2, "studies/cost": 0.3, "studies/path": 0.5, "studies/": 0.85, "theory/": 0.5, "notebooks/index": 0.9,
    "notebooks/": 0.6, "from/": 0.9, "coverage": 0.3, "names": 0.3, "references": 0.4, "architecture": 0.3,
    "processors": 0.7, "benchmarks": 0.6, "glossary": 0.5, "for/identification-accuracy": 0.6,
}  # fmt: skip
"""How much a page counts for the search, where not 1: guides come first.  The first start that fits counts."""


@cache
def words() -> dict[str, list[str]]:
    """The phrases that people type for each page, by the page's file."""
    listed = yaml.safe_load(WORDS.read_text(encoding="utf-8"))
    return {page: [phrase.strip() for phrase in phrases.split(",")] for page, phrases in listed.items()}


def describe(page: Page) -> None:
    """Note in a page's meta data what the search needs of it."""
    source = page.file.src_uri
    boost = next((boost for start, boost in BOOSTS.items() if source.startswith(start)), 1.0)
    page.meta.setdefault("search", {}).setdefault("boost", boost)


def with_own_worker(output: str) -> str:
    """A page that asks our worker; a page without a search stays as it is."""
    return WORKER_OF_THE_THEME.sub(WORKER, output)


def add_words(site: Path, addresses: dict[str, str]) -> None:
    """Add the words to the index that was written; ``addresses`` are those of the pages, by their files."""
    if unknown := sorted(words().keys() - addresses.keys()):
        raise LookupError(f"{WORDS.name} has words for pages that are not there: {', '.join(unknown)}")
    file = site / "search" / "search_index.json"
    index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    phrases = {addresses[page]: found for page, found in words().items()}
    for section in index["docs"]:
        if section["location"] in phrases:
            section["words"] = phrases[section["location"]]
    file.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")

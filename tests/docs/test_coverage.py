"""The table of what of the sources is covered: names, studies and tests exist, and every citation has its row."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.studies.sources import SOURCES

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import coverage_table  # noqa: E402
import hooks  # noqa: E402

ROWS = [(source, section, row) for source, table in coverage_table.rows().items() for section, row in table.items()]


def resolve(name):
    """Return what a name under kinetree, or of the gallery, stands for."""
    parts = name.split(".")
    try:
        thing = kt
        for part in parts:
            thing = getattr(thing, part)
        return thing
    except AttributeError:
        for end in range(len(parts), 0, -1):
            try:
                thing = importlib.import_module(
                    ".".join([*(() if name.startswith("kinetree_") else ("kinetree",)), *parts[:end]])
                )
            except ModuleNotFoundError:
                continue
            for part in parts[end:]:
                thing = getattr(thing, part)
            return thing
        raise


def test_every_source_has_its_table():
    assert set(coverage_table.rows()) == set(SOURCES)
    assert len(ROWS) > 150


def test_every_row_says_what_computes_it_or_that_nothing_does():
    for source, section, row in ROWS:
        place = f"{source} section {section}"
        assert set(row) <= {"about", "eqs", "by", "studies", "tests", "missing", "words"}, place
        assert row["about"], place
        assert ("by" in row) != bool(row.get("words")), place
        assert ("tests" in row) == ("by" in row), place


def test_every_name_can_be_imported():
    for name in sorted({name for _, _, row in ROWS for name in row.get("by", ())}):
        assert resolve(name) is not None, name


def test_every_study_exists():
    for name in sorted({name for _, _, row in ROWS for name in row.get("studies", ())}):
        study, _, analysis = name.partition("/")
        assert study in kt.gallery.studies(), name
        assert not analysis or analysis in kt.gallery.study(study).analyses, name


def test_every_test_exists():
    for name in sorted({name for _, _, row in ROWS for name in row.get("tests", ())}):
        file, _, function = name.partition("::")
        path = ROOT / "tests" / file
        assert path.is_file(), name
        assert re.search(rf"^\s*def {function or 'test_'}", path.read_text(encoding="utf-8"), re.MULTILINE), name


def test_every_citation_has_a_row():
    lost = [c for c in coverage_table.citations() if coverage_table.row_of(c) is None]
    assert lost == []


def test_sections_come_in_order_and_their_equations_do():
    for source, table in coverage_table.rows().items():
        last = (0,)
        for section, row in table.items():
            if "eqs" in row:
                first, end = (coverage_table._order(x) for x in row["eqs"])
                assert last < first <= end, (source, section)
                last = end


@pytest.mark.parametrize("source", SOURCES)
def test_the_page_shows_all_rows(source):
    page = hooks.on_page_markdown((ROOT / "docs/coverage.md").read_text(encoding="utf-8"))
    assert "{{" not in page
    for section in coverage_table.rows()[source]:
        assert f"\n| {section} | " in page


def test_citations_are_found():
    """One of each kind, so that a pattern that finds nothing cannot pass."""
    found = {(c.source, c.what, c.number) for c in coverage_table.citations() if c.file.startswith("algorithms/")}
    handles = {("Featherstone", "equation", "9.18"), ("Featherstone", "section", "9.5")}
    assert handles | {("Shah", "equation", "6.8")} <= found

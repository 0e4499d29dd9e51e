"""Pages that are made from something else: those of the studies, and excerpts of the source on the theory pages."""

import re
import sys
from pathlib import Path

import pytest

import kinetree as kt
from helpers.studies import TIMES, by_study, quick_result

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import hooks  # noqa: E402

import studies  # noqa: E402

NAMES = kt.gallery.studies()


def text_of(name):
    return (studies.PAGES / f"{name}.md").read_text(encoding="utf-8")


def test_every_study_has_a_page_and_every_page_a_study():
    assert sorted(p.stem for p in studies.PAGES.glob("*.md")) == sorted([*NAMES, "index"])


def test_the_list_of_studies_is_that_of_the_gallery():
    assert text_of("index") == studies.contents([kt.gallery.study(name) for name in NAMES])


@pytest.mark.parametrize("name", NAMES)
def test_page_says_what_the_study_says(name):
    study, text = kt.gallery.study(name), text_of(name)
    assert text.startswith(f"# {studies.title(study)}\n")
    assert f"*Source: {study.source}.*" in text
    assert studies.lesson(name)
    assert studies.lesson(name) in text
    section = text.partition("## What was assumed\n\n")[2].partition("\n\n")[0]
    assert "\n".join(studies.change_it(study)) in text
    assert section.splitlines() == [f"* {studies.escaped(words)}" for words in study.assumptions]
    # an analysis without facts and remarks has no section, so sections are some of the analyses, in their order
    found = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert found
    assert [h for h in map(studies.heading, study.analyses) if h in found] == found


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_there_and_small(name):
    pictures = re.findall(r"!\[.*\]\((.*)\)", text_of(name))
    assert pictures
    for picture in pictures:
        file = (studies.PAGES / picture).resolve()
        assert file.read_bytes().startswith(b"\x89PNG"), picture
        assert file.stat().st_size < studies.LARGEST, picture


def test_thumbnails_are_of_studies_and_small():
    thumbnails = list(studies.THUMBNAILS.iterdir())
    assert {file.stem for file in thumbnails} <= set(NAMES)
    assert len(thumbnails) > 20
    for file in thumbnails:
        assert file.read_bytes()[8:12] == b"WEBP", file.name
        assert file.stat().st_size < 20_000, file.name
    shown = set(re.findall(r"\(\.\./(images/[\w./-]+)\)", text_of("index")))
    assert len(shown) == len(NAMES)  # one for every study, and each is there
    assert all((studies.DOCS / picture).is_file() for picture in shown)


def test_no_picture_is_left_over():
    used = {picture for name in NAMES for picture in re.findall(r"images/studies/([\w.-]+)\)", text_of(name))}
    assert {file.name for file in studies.PICTURES.iterdir()} == used


@by_study(NAMES)
def test_facts_on_the_page_are_those_of_the_study(name):
    result, _ = quick_result(name)
    rows = [line for line in text_of(name).splitlines() if line.startswith("| ") and not line.startswith("| statement")]
    assert len(rows) == len(result.facts)
    for line, fact in zip(rows, result.facts, strict=True):
        assert line.startswith(f"| {studies.escaped(fact.text)}"), fact.text
        assert f" {studies.stated(fact)} " in line, fact.text  # who states what
        assert ("<br>*" in line) == bool(fact.reason), fact.text
        if not fact.text.startswith(TIMES):
            assert line.endswith("| holds |" if fact.holds else "| **does not hold** |"), fact.text


def placeholders():
    pages = sorted((ROOT / "docs").glob("**/*.md"))
    return [(page, found) for page in pages for found in hooks.PLACE.finditer(page.read_text(encoding="utf-8"))]


def test_every_excerpt_names_source_that_exists():
    found = placeholders()
    assert len(found) > 20
    for _, place in found:
        file, line, text = hooks.source(place["name"])
        assert text.splitlines()[0].strip() == file.read_text(encoding="utf-8").splitlines()[line - 1].strip()


def test_every_theory_page_quotes_source():
    pages = {page.name for page, _ in placeholders()}
    assert {p.name for p in (ROOT / "docs" / "theory").glob("*.md")} <= pages


def test_braces_are_excerpts_or_a_mistake():
    for page in (ROOT / "docs").glob("**/*.md"):
        text = hooks.PLACE.sub("", page.read_text(encoding="utf-8"))
        assert "{{ source" not in text, page


def test_a_name_that_is_gone_ends_the_build():
    with pytest.raises(LookupError, match="nothing is called 'no_such'"):
        hooks.on_page_markdown("{{ source kinetree.algorithms.udu.no_such }}")
    with pytest.raises(LookupError, match="no such module"):
        hooks.on_page_markdown("{{ source nothing.at.all }}")


def test_excerpts_of_methods_and_without_docstring():
    _, _, whole = hooks.source("kinetree.contact.ground.Firm.force")
    assert whole.startswith("def force(self")
    assert '"""' in whole
    _, _, bare = hooks.source("kinetree.contact.ground.Firm.force", docstring=False)
    assert '"""' not in bare
    assert bare.endswith(whole.splitlines()[-1])

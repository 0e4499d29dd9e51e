"""Regular expressions see what users and files say: none may take time that grows with the square of its length."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import kinetree as kt
import kinetree_books
import kinetree_design
import kinetree_gallery
import kinetree_learning
import kinetree_optimize
import kinetree_programs
import kinetree_studio
import kinetree_sweeps

PACKAGES = (
    kt,
    kinetree_gallery,
    kinetree_programs,
    kinetree_studio,
    kinetree_learning,
    kinetree_optimize,
    kinetree_design,
    kinetree_sweeps,
    kinetree_books,
)
FILES = {path: path.read_text(encoding="utf-8") for p in PACKAGES for path in Path(p.__file__).parent.rglob("*.py")}
USES = "match|fullmatch|search|sub|split|findall|finditer"
LONG = 150_000
"""Letters: a pattern that goes back over all of them from each takes minutes, any other milliseconds."""

CHARACTERS, BEGINNINGS = " 1.aA_[(,e=-\n?", ("", "a", "1", "a(", "[")


def patterns():
    """List all patterns of the package that are written down as texts, and how each is used."""
    uses_of = defaultdict(set)
    for text in FILES.values():
        for name, use in re.findall(rf"\b(\w+)\.({USES})\(", text):
            uses_of[name].add(use)
    found = []
    for path, text in FILES.items():
        calls = ast.walk(ast.parse(text)) if "import re\n" in text else ()  # reading all files takes seconds
        for node in calls:
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=use), args=[ast.Constant() as pattern, *_]
                ):
                    uses = {use}
                case _:
                    continue
            if use == "compile":
                name = text.splitlines()[node.lineno - 1].partition(" =")[0].strip()
                uses = uses_of.get(name, {"match"})  # by somebody else's reader
            found += [pytest.param(pattern.value, one, id=f"{path.stem}:{node.lineno}:{one}") for one in sorted(uses)]
    return found


@pytest.mark.parametrize(("pattern", "use"), patterns())
def test_no_pattern_goes_back_over_all_it_has_seen(pattern, use, no_hang):
    made = re.compile(pattern)
    for begin in BEGINNINGS:
        for character in CHARACTERS:
            text = f"{begin}{character * LONG}!"
            given = text.encode() if isinstance(pattern, bytes) else text
            if use == "sub":
                made.sub(given[:0], given)
            elif use == "finditer":
                assert sum(1 for _ in made.finditer(given)) >= 0
            else:
                getattr(made, use)(given)

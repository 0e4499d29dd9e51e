"""Regular expressions see what users and files say: none may take time that grows with the square of its length."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import kinetree as kt
import kinetree_gallery
import kinetree_programs

PACKAGES = (kt, kinetree_gallery, kinetree_programs)
FILES = {path: path.read_text(encoding="utf-8") for p in PACKAGES for path in Path(p.__file__).parent.rglob("*.py")}
USES = "match|fullmatch|search|sub|split|findall|finditer"
LONG = 150_000
"""Letters: a pattern that goes back over all of them from each takes minutes, any other milliseconds."""

CHARACTERS, BEGINNINGS = " 1.aA_[(,e=-\n?", ("", "a", "1", "a(", "[")


def patterns():
    """List all patterns of the package that are written down as texts, and how each is used."""
    everything = "\n".join(FILES.values())
    found = []
    for path, text in FILES.items():
        for node in ast.walk(ast.parse(text)):
            owner, _, use = ast.unparse(node.func).rpartition(".") if isinstance(node, ast.Call) else ("", "", "")
            if owner != "re" or not isinstance(pattern := node.args[0], ast.Constant):
                continue
            uses = {use}
            if use == "compile":
                name = text.splitlines()[node.lineno - 1].partition(" =")[0].strip()
                uses = set(re.findall(rf"\b{name}\.({USES})\(", everything)) or {"match"}  # by somebody else's reader
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

"""One spelling, American, in code, pages and tests."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BRITISH = re.compile(
    r"(?<![a-z])(?:(?:milli|centi|deci|kilo)?metres?|centre[sd]?|(?:neighb|behavi|col|fav|harb|lab)our\w*"
    r"|(?:model|label|travel|signal)l(?:ed|ing)|analys(?:e|ed|ing)|grey|catalogues?|anticlockwise|ageing|artefacts?"
    r"|\w+(?:tor|bil|tim|ear|mal|ral|nim|xim|ial|ogn|ret|etr|ron|gan)is(?:e|es|ed|er|ing|ation|ations))(?![a-z])",
    re.IGNORECASE,
)
KEPT = {
    "kinetree.catalogue": "a module's former name",
    "*Optimiser*": "a menu of SYMORO",
    "stabilisation=": "an argument's former name",
    'stabilisation"': "the same",
}
"""What is spelled the other way, each with its reason."""
ENDINGS = (".py", ".pyi", ".md", ".yaml", ".ipynb", ".html")
ELSEWHERE = ("docs/references.md", "tests/docs/test_spelling.py")
"""Titles of others' works, and this list."""


def test_spelling_is_american():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = []
    for name in done.stdout.splitlines():
        if name.endswith(ENDINGS) and name not in ELSEWHERE and (ROOT / name).is_file():
            for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
                for kept in KEPT:
                    line = line.replace(kept, "")
                found += [f"{name}:{number}: {m.group(0)}" for m in BRITISH.finditer(line)]
    assert not found, "\n".join(found)

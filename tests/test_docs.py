"""Every piece of Python in the README and the documentation runs, page by page."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_in_page_runs(page, monkeypatch, tmp_path, capsys):
    blocks = list(BLOCK.finditer(page.read_text()))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)  # pages read examples/ and may write files
    names: dict[str, object] = {"__name__": page.stem}
    for block in blocks:
        line = page.read_text()[: block.start()].count("\n") + 2
        code = compile("\n" * (line - 1) + block.group(1), str(page), "exec")
        exec(code, names)
    assert os.listdir(tmp_path)


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"(\S+\.md)", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(str(p.relative_to(ROOT / "docs")) for p in PAGES[1:])

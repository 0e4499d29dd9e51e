"""Every piece of Python in the README and the documentation runs, page by page."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_session(text, names, page, line):
    """A block with prompts must print what it says it prints."""
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)
    names.update(test.globs)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_in_page_runs(page, monkeypatch, tmp_path, capsys):
    text = page.read_text()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)  # pages read examples/ and may write files
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")  # as a reader would run them
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        if block.group(1).startswith(">>>"):
            run_session(block.group(1), names, page, line)
        else:
            exec(compile("\n" * line + block.group(1), str(page), "exec"), names)


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"(\S+\.md)", (ROOT / "mkdocs.yml").read_text())
    made = [p.with_suffix(".md") for p in (ROOT / "docs" / "notebooks").glob("*.ipynb")]  # pages of notebooks
    assert sorted(listed) == sorted(str(p.relative_to(ROOT / "docs")) for p in [*PAGES[1:], *made])

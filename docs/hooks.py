"""What the build of the documentation adds to mkdocs: excerpts of the source by name, tables, charts and notebooks.

``{{ source kinetree.algorithms.udu.forward_dynamics }}`` on a line of its own becomes the text of that
function as it is now, with its place.  Classes, their methods, functions inside functions and constants go
by their dotted names in the same way; ``{{ source NAME without docstring }}`` leaves the docstring out.
A name that is not there ends the build.  ``{{ live four-bar }}`` becomes a figure that computes.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))  # mkdocs loads this file by its path
import charts
import coverage_table
import formulas
import joint_table
import names_table
import notebooks
import site_checks
import site_search

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"^\{\{ source (?P<name>[\w.]+)(?P<bare> without docstring)? \}\}$", re.MULTILINE)

ADDRESSES: dict[str, str] = {}
"""Of the pages that were built, by their files."""

LIVE = re.compile(r"^\{\{ live (?P<name>[\w-]+) \}\}$", re.MULTILINE)
"""A figure that computes: a robot of the gallery."""

MOVED = {"robots-with-loops": "loops/", "springs-and-actuators": "forces/"}
"""Pages that were merged with others, and their places today."""

LONGEST_DESCRIPTION = 200
"""Characters of a page's description."""
BEGINS_PROSE = re.compile(r"\s*(?:[`\w]|\[(?!Download))")


def on_files(files: Files, config: MkDocsConfig, **_: object) -> Files:
    """Called by mkdocs when it has found all files: adds a page for every notebook and every recording, and KaTeX."""
    from mkdocs.structure.files import File

    for file in notebooks.files():
        files.append(File.generated(config, f"notebooks/{file.stem}.md", content=notebooks.page(file)))
    for name in live_figures():
        files.append(File.generated(config, f"live/{name}.html", content=live_page(name)))
    for file in sorted((ROOT / "docs" / "recordings").glob("*.txt")):
        files.append(File.generated(config, f"recordings/{file.stem}.html", content=recording(file)))
    for old, new in MOVED.items():
        files.append(File.generated(config, f"{old}/index.html", content=forwarding(new)))
    add_formulas(files, config)
    return files


def live_figures() -> list[str]:
    """The robots of figures that compute, on any page."""
    pages = (ROOT / "docs").glob("**/*.md")
    return sorted({found["name"] for page in pages for found in LIVE.finditer(page.read_text(encoding="utf-8"))})


def live_page(name: str) -> str:
    """A page that computes."""
    import kinetree as kt

    return kt.page(name).html


def live_figure(name: str, src_uri: str) -> str:
    """The frame of such a page, in a page of the documentation."""
    up = "../" * (src_uri.count("/") + (not src_uri.endswith("index.md")))
    address = f"{up}live/{name}.html"
    return (
        f'<iframe class="live" src="{address}" title="{name}, to change, move and let go" loading="lazy"></iframe>\n\n'
        f'<a href="{address}" target="_blank">Open it alone</a>, on a whole page.'
    )


def forwarding(new: str) -> str:
    """A page that leads from a former address, one folder deep, to the one of today."""
    return f'<!doctype html><meta http-equiv="refresh" content="0; url=../{new}"><a href="../{new}">This page has moved.</a>'


def add_formulas(files: Files, config: MkDocsConfig) -> None:
    """Add KaTeX, or say why there is none: not by the logger, for strict builds end with its warnings."""
    try:
        for part in formulas.files(config):
            files.append(part)
    except formulas.Unavailable as why:
        print(f"docs: {why}. The pages show formulas as TeX.", file=sys.stderr)


def recording(file: Path) -> str:
    """What was recorded, in the viewer's page as it is now."""
    from kinetree_studio.view.page import page, unpacked

    return page(f"kinetree: {file.stem}", unpacked(file.read_text(encoding="utf-8")))


def on_page_markdown(markdown: str, page: Page | None = None, **_: object) -> str:
    """Called by mkdocs for every page."""
    if page is not None:
        site_search.describe(page)
        ADDRESSES[page.file.src_uri] = page.url
        page.meta.setdefault("description", description(markdown))
    text = PLACE.sub(lambda found: excerpt(found["name"], found["bare"] is None), markdown)
    if page is not None:
        uri = page.file.src_uri
        text = LIVE.sub(lambda found: live_figure(found["name"], uri), text)
    return charts.expanded(joint_table.expanded(names_table.expanded(coverage_table.expanded(text))))


def description(markdown: str) -> str:
    """What search engines show below a page's title: its first paragraph, or as many of its sentences as fit."""
    prose = re.sub(r"^```.*?^```$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    first = next((text for text in re.split(r"\n\s*\n", prose) if BEGINS_PROSE.match(text)), "")
    plain = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", " ".join(first.split()))
    plain = re.sub(r"[`*$]", "", plain)
    if len(plain) <= LONGEST_DESCRIPTION:
        return plain.rstrip(":")
    whole = plain[:LONGEST_DESCRIPTION].rpartition(". ")[0]
    return f"{whole}." if whole else plain[: LONGEST_DESCRIPTION - 3].rpartition(" ")[0] + "..."


def on_post_page(output: str, **_: object) -> str:
    """Called by mkdocs before it writes a page."""
    return site_search.with_own_worker(output)


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Called by mkdocs when all is written, the index of the search, too."""
    site_search.add_words(Path(config.site_dir), ADDRESSES)
    site_checks.check(Path(config.site_dir))


def excerpt(name: str, docstring: bool = True) -> str:
    """A fenced block with the source of ``name`` and the file and line it is from."""
    file, line, text = source(name, docstring)
    return f'```py title="{file.relative_to(ROOT)}, line {line}"\n{text}\n```'


def source(name: str, docstring: bool = True) -> tuple[Path, int, str]:
    """File, line and text of a module's function, class, method, inner function or constant."""
    file, inner = _module(name)
    text = file.read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for part in inner:
        node = _member(node, part, name)
    lines = text.splitlines()
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])  # type: ignore[attr-defined]
    wanted = set(range(first, node.end_lineno + 1))  # type: ignore[attr-defined]
    if not docstring and ast.get_docstring(node) is not None:  # type: ignore[arg-type]
        described = node.body[0]  # type: ignore[attr-defined]
        wanted -= set(range(described.lineno, described.end_lineno + 1))
    kept = "\n".join(lines[k - 1] for k in sorted(wanted))
    return file, first, textwrap.dedent(kept)


def _module(name: str) -> tuple[Path, list[str]]:
    """The file of the longest part of the name that is a module, and what is left of the name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        for place in (ROOT.joinpath(top, *parts[:end]) for top in ("src", "gallery", "programs")):
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.is_file() and parts[end:]:
                    return file, parts[end:]
    raise LookupError(f"{{{{ source {name} }}}}: no such module under src/, gallery/ or programs/")


def _member(node: ast.AST, part: str, name: str) -> ast.AST:
    for child in ast.walk(node):
        if child is node:
            continue
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.name == part:
            return child
        if isinstance(child, ast.Assign) and any(isinstance(t, ast.Name) and t.id == part for t in child.targets):
            return child
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name) and child.target.id == part:
            return child
    raise LookupError(f"{{{{ source {name} }}}}: nothing is called {part!r} there any more")

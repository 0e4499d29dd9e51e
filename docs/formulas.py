"""KaTeX, which typesets the formulas of the documentation: npm installs the version of docs/package-lock.json.

Its files become part of the site, so that readers ask no other host for anything.  They are kept in build/, beside the
checkout's other products, until the lock file changes.  Without npm or without a network the site is built all the
same: formulas are then shown as TeX.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File

DOCS = Path(__file__).resolve().parent
PLACE = DOCS.parent / "build" / "katex"
ASKED = ("package.json", "package-lock.json")
OLD_FONTS = re.compile(r',url\([^)]*\) format\("(?:woff|truetype)"\)')
"""Beside WOFF2, which every browser of today reads."""


class Unavailable(Exception):
    """KaTeX cannot be installed here; the message says why."""


def installed(place: Path = PLACE) -> Path:
    """Return the folder of the KaTeX that the lock file asks for, installed if it is not there."""
    package = place / "node_modules" / "katex"
    if all((place / name).is_file() and (place / name).read_bytes() == (DOCS / name).read_bytes() for name in ASKED):
        return package
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm, which comes with Node.js, is not installed")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        new = Path(folder) / "katex"
        new.mkdir()
        for name in ASKED:
            shutil.copy(DOCS / name, new)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(command, cwd=new, capture_output=True, text=True, encoding="utf-8", errors="replace")
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise Unavailable(f"npm ci failed: {said[0]}")
        shutil.rmtree(place, ignore_errors=True)
        new.rename(place)
    return package


def style(package: Path) -> str:
    """Return the style sheet, which asks for WOFF2 fonts only."""
    return OLD_FONTS.sub("", (package / "dist" / "katex.min.css").read_text(encoding="utf-8"))


def files(config: MkDocsConfig) -> Iterator[File]:
    """Yield what the site needs of KaTeX, under katex/."""
    from mkdocs.structure.files import File

    package = installed()
    yield File.generated(config, "katex/katex.min.css", content=style(package))
    copied = [package / "LICENSE", package / "dist" / "katex.min.js", *(package / "dist" / "fonts").glob("*.woff2")]
    for file in copied:
        folder = "katex/fonts" if file.suffix == ".woff2" else "katex"
        yield File.generated(config, f"{folder}/{file.name}", abs_src_path=str(file))

"""What must hold of every page of the built site; the build ends with an error where it does not.

Nothing is asked of another host: scripts, styles, fonts and pictures are part of the site, so that it works on a
train, behind a firewall, and in twenty years.  No page shows the markup of another language than its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ELSEWHERE = r"(?:https?:)?//[\w.-]+"
FETCHED = re.compile(
    rf"<(?:script|img|source|iframe|video|audio|embed|object|link)\b[^>]*?\s(?:src|srcset|href|data|poster)=[\"']?({ELSEWHERE})"
)
"""What a browser fetches by itself; a link that a reader may follow is an ``<a>``."""
CANONICAL = re.compile(r"<link\b[^>]*rel=[\"']?canonical[^>]*>")
STYLED = re.compile(rf"(?:url\(\s*[\"']?|@import\s+[\"']?)({ELSEWHERE})")
ON_DEMAND = re.compile(r"class=[\"'][^\"']*\b(mermaid|md-source)\b")
"""For these the theme's script would ask another host."""
ROLE = re.compile(r":(?:meth|class|func|attr|mod|data|exc|obj|ref|doc|math):(?:`|<code>)")
UNRESOLVED = re.compile(r"\]\[(kinetree[\w.]*)\]")
"""A link to a name that no page of the reference describes."""
PLACEHOLDER = re.compile(r"\{\{ [\w ]+.*?\}\}")
CALLED = re.compile(r"\b(?:fetch|importScripts|import|open)\(\s*[\"'`](https?://[\w.-]+)")


def problems(file: Path, text: str) -> Iterator[str]:
    """Say what is wrong with a file of the site."""
    if file.suffix == ".html":
        text = CANONICAL.sub("", text)
        yield from (f"asks {found} for something" for found in FETCHED.findall(text))
        yield from (f"asks {found} for something" for found in STYLED.findall(text))
        yield from (f"has a {found}, for which the theme asks another host" for found in ON_DEMAND.findall(text))
        yield from (f"shows the role {found}" for found in ROLE.findall(text))
        yield from (f"links to {found}, which the reference does not describe" for found in UNRESOLVED.findall(text))
        yield from (
            f"has {found} left" for found in PLACEHOLDER.findall(re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL))
        )
    elif file.suffix == ".css":
        yield from (f"asks {found} for something" for found in STYLED.findall(text))
    elif file.suffix == ".js":
        yield from (f"asks {found} for something" for found in CALLED.findall(text))


def check(site: Path) -> None:
    """Look at all files of a site."""
    found = [
        f"{file.relative_to(site)} {problem}"
        for file in sorted(site.rglob("*"))
        if file.suffix in (".html", ".css", ".js")
        for problem in problems(file, file.read_text(encoding="utf-8"))
    ]
    if found:
        shown = "\n  ".join(dict.fromkeys(found[:20]))
        raise ValueError(f"the site is not what it should be, in {len(found)} places:\n  {shown}")

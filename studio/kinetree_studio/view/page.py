"""The page: HTML, style and script in one file, with everything it shows inside."""

from __future__ import annotations

import base64
import html
import json
import zlib
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from kinetree.spatial.arrays import Array

SCRIPTS = (
    "linear.js", "data.js", "renderer.js", "orbit.js", "scene.js", "units.js", "panel.js", "curves.js", "main.js"
)  # fmt: skip
KINDS = {"b": np.uint8, "f": np.float32, "u": np.uint32, "d": np.float64}


def page(title: str, show: dict[str, Any]) -> str:
    """Return the HTML page that shows something.

    Parameters
    ----------
    title : str
    show : dict
        The result of :func:`kinetree_studio.view.page_data.show_data`: plain values and arrays.

    Returns
    -------
    str
        HTML that needs nothing else: no network, no other file.
    """
    text = _template()
    # the data last: it contains no braces, so names in it cannot be mistaken for placeholders
    return text.replace("{{title}}", html.escape(title)).replace("{{data}}", packed(show))


def with_head(page: Any) -> str:
    """Return the text of a page, with the head that all pages share: its icon, and how it is laid out."""
    head = (files(__package__) / "web" / "head.html").read_text(encoding="utf-8").rstrip()
    return str(page.read_text(encoding="utf-8").replace("{{head}}", head))


@cache
def _template() -> str:
    folder = files(__package__) / "web"
    text = with_head(folder / "page.html")
    script = "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return text.replace("{{style}}", (folder / "page.css").read_text(encoding="utf-8")).replace("{{script}}", script)


def packed(show: dict[str, Any]) -> str:
    """Pack values and arrays into text: a JSON header, then the arrays' bytes, compressed, in base 64."""
    arrays: list[Array] = []
    header = _without_arrays(show, arrays)
    listed, offset = [], 0
    for array in arrays:
        kind = next(kind for kind, held in KINDS.items() if held is array.dtype.type)
        listed.append([kind, offset, array.size])
        offset += -(-array.nbytes // 8) * 8
    text = json.dumps({"show": header, "arrays": listed}, allow_nan=False).encode()
    block = bytearray(len(text).to_bytes(8, "little") + text)
    block += bytes(-len(block) % 8)
    for array in arrays:
        block += np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        block += bytes(-len(block) % 8)
    return base64.b64encode(zlib.compress(bytes(block), 6)).decode()


def unpacked(text: str) -> dict[str, Any]:
    """Read what :func:`packed` wrote, as the page does."""
    block = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(block[:8], "little")
    header = json.loads(block[8 : 8 + length])
    start = -(-(8 + length) // 8) * 8
    arrays = [
        np.frombuffer(block, np.dtype(KINDS[kind]).newbyteorder("<"), count, start + offset)
        for kind, offset, count in header["arrays"]
    ]
    return dict(_with_arrays(header["show"], arrays))


def _without_arrays(value: Any, arrays: list[Array]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"$": len(arrays) - 1}
    if isinstance(value, dict):
        return {key: _without_arrays(x, arrays) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(x, arrays) for x in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _with_arrays(value: Any, arrays: list[Array]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$"}:
            return arrays[value["$"]]
        return {key: _with_arrays(x, arrays) for key, x in value.items()}
    if isinstance(value, list):
        return [_with_arrays(x, arrays) for x in value]
    return value

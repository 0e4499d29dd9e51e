"""Notebooks: run their cells, keep what they printed and drew, and turn them into pages of the site.

``python docs/notebooks.py [NAME ...]`` runs the notebooks of ``docs/notebooks`` in a fresh namespace each and writes
outputs into the files, as Jupyter would.  The build of the site makes a page of each (:func:`page`); the tests run
them again.  Cells are plain Python but for lines that begin with ``%``, which belong to Jupyter.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "notebooks"
LARGEST = 300_000
"""Bytes of a notebook with its outputs."""


def files() -> list[Path]:
    """All notebooks."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(file: Path) -> dict[str, Any]:
    """A notebook as Jupyter's JSON."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


# ------------------------------------------------------------------ running


def run(notebook: dict[str, Any], name: str) -> None:
    """Run all cells in one namespace and put what they gave into them."""
    names: dict[str, Any] = {"__name__": name}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = _outputs(source(cell), names, f"{name}, cell {count}", count)


def _outputs(text: str, names: dict[str, Any], place: str, count: int) -> list[dict[str, Any]]:
    plain = "\n".join("" if line.startswith("%") else line for line in text.splitlines())
    tree = ast.parse(plain, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), names)
        if last is not None and not plain.rstrip().endswith(";"):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)  # type: ignore[attr-defined]
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))} | _picture(value)
        outputs.append({"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}})
    return outputs


def _picture(value: Any) -> dict[str, str]:
    """A matplotlib figure as PNG."""
    if not hasattr(value, "savefig"):
        return {}
    stream = io.BytesIO()
    value.savefig(stream, format="png", dpi=75)
    return {"image/png": base64.b64encode(stream.getvalue()).decode()}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


# ------------------------------------------------------------------ pages


def page(file: Path) -> str:
    """A notebook as Markdown: cells as blocks of code, outputs below them."""
    parts = []
    for cell in read(file)["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(source(cell))
            continue
        shown = "\n".join(line for line in source(cell).splitlines() if not line.startswith("%"))
        parts.append(f"```py\n{shown}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    text = "\n\n".join(parts)
    first, _, rest = text.partition("\n")
    return f"{first}\n\n[Download {file.name}]({file.name}){{ .md-button }}\n\n{rest}\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "image/png" in data:
        picture = f"data:image/png;base64,{data['image/png']}"
        return f'<div class="pictured"><img alt="What the cell drew" src="{picture}"></div>'
    return "``` { .text .printed }\n" + "".join(data["text/plain"]).rstrip() + "\n```"


def main(names: list[str]) -> None:
    """Run notebooks and write them with their outputs."""
    for file in files():
        if names and file.stem not in names:
            continue
        notebook, here = read(file), os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # cells may write files
            try:
                run(notebook, file.stem)
            finally:
                os.chdir(here)
        beside = file.with_name(f".{file.name}.new")
        beside.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(beside, file)
        print(file.name, file.stat().st_size, "bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

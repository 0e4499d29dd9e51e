"""Files with values of symbols: ``D3: 0.45`` in YAML or JSON, or ``D3,0.45`` in lines of CSV."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import FileFormatError, MissingFileError
from ...io.paths import as_path, file_meant, whole_content
from ...spatial.formula import ScalarFormula
from .formulas import ExpressionError, parse
from .source import Source
from .yaml_nodes import Scalar, Table, nodes

ENDINGS = (".yaml", ".yml", ".json", ".csv")
"""Extensions of such files."""


def symbol_values(given: Mapping[str, float] | str | os.PathLike[str]) -> Mapping[str, float]:
    """Return values of symbols, given directly or in a file.

    Raises
    ------
    FileFormatError
        If a line is not a name with a number; numbers may be written as in SYMORO files, ``pi/2`` or ``1.5e-3``.
    """
    if isinstance(given, Mapping):
        return given
    path = as_path(given, "a file with values")
    if path.suffix.lower() not in ENDINGS:
        raise FileFormatError(f"values of symbols are read from {', '.join(ENDINGS)} files", str(path))
    content = whole_content(path, "file with values", MissingFileError, lambda: file_meant(path, ENDINGS))
    source = Source(path, content)
    found: dict[str, float] = {}
    for name, text, line in _lines(source) if path.suffix.lower() == ".csv" else _entries(source):
        if name in found:
            raise FileFormatError(f"{name!r} is given twice", source.file, line)
        try:
            value: Any = parse(text)
        except ExpressionError as problem:
            raise FileFormatError(f"{name}: {problem}", source.file, line) from None
        if isinstance(value, ScalarFormula) and value.symbols:
            raise FileFormatError(f"{name}: {text!r} is not a number", source.file, line)
        found[name] = float(value)
    return found


def _entries(source: Source) -> Iterator[tuple[str, str, int]]:
    """Yield the entries of a mapping in YAML, which includes JSON."""
    whole = nodes(source)
    if not isinstance(whole, Table):
        raise FileFormatError("a file of values has a line for each symbol, such as D3: 0.45", source.file, whole.line)
    for name, node in whole.entries.items():
        if not isinstance(node, Scalar):
            raise FileFormatError(f"{name} must be a single number", source.file, node.line)
        yield name, node.text, node.line


def _lines(source: Source) -> Iterator[tuple[str, str, int]]:
    """Yield names and numbers from lines; the first may be a header."""
    for k, line in enumerate(source.data.decode("utf-8-sig", "replace").splitlines(), 1):
        cells = [cell.strip().strip('"') for cell in line.split("#")[0].replace(";", ",").split(",")]
        if not any(cells) or (k == 1 and cells[1:2] == ["value"]):
            continue
        if len(cells) != 2:
            raise FileFormatError(f"a line is a name and a number, such as D3,0.45, not {line[:60]!r}", source.file, k)
        yield cells[0], cells[1], k

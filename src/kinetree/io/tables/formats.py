"""Kinds of files that hold tables, and the package that reads and writes some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import OptionError

FORMATS = (".npz", ".csv", ".parquet")

RECORD_MARK = "# kinetree record "
"""How the first line of a record saved as CSV begins."""


def format_of(path: Path, what: str = "tables are .csv, .parquet, .npz files") -> str:
    """Return the ending of a file's name in lower case; refuse one that no table has, in words that begin with what."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise OptionError(f"{what}, not {path.suffix or 'without ending'!r}: {path}")
    return suffix


def pyarrow() -> Any:
    """Return the package pyarrow, or None where it is not installed."""
    try:
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        return None
    return pyarrow


def need_pyarrow() -> Any:
    """Return the package pyarrow, or raise an error that says how to get it."""
    found = pyarrow()
    if found is None:
        raise OptionError("Parquet files need the package pyarrow: pip install 'kinetree[parquet]'")
    return found

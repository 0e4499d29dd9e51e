"""File formats of tables, and the package that reads and writes some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import OptionError

FORMATS = (".npz", ".csv", ".parquet")
"""Formats that are written and read."""

TEXTS = (".csv", ".txt", ".dat", ".tsv")
READABLE = (*TEXTS, ".parquet", ".npz", ".mat")
"""Formats that measurements are read from."""

ELSEWHERE = {
    (".xlsx", ".xls", ".ods"): "save the sheet as CSV, or in pandas: pd.read_excel({0!r}).to_csv('m.csv', index=False)",
    (".h5", ".hdf5", ".hdf"): "f = h5py.File({0!r}); np.savez('m.npz', t=f['t'], q=f['q'], tau=f['tau'])",
    (".npy",): "np.savez('m.npz', t=..., q=..., tau=...) gives arrays the names by which they are known",
    (".pkl", ".pickle"): "pickled files are programs and are not run: df.to_csv('m.csv', index=False) in pandas",
    (".bag", ".db3", ".mcap"): "export the topic as CSV, as PlotJuggler does: its names are understood",
    (".json",): "in pandas: pd.read_json({0!r}).to_csv('m.csv', index=False)",
    (".gz", ".zip", ".bz2", ".xz", ".7z"): "unpack it first",
    (".feather", ".arrow"): "in pandas: pd.read_feather({0!r}).to_parquet('m.parquet')",
}  # fmt: skip
"""Advice for other files that often contain tables."""

RECORD_MARK = "# kinetree record "
"""Beginning of the first line of a record saved as CSV."""


def format_of(path: Path, what: str = "tables are .csv, .parquet, .npz files") -> str:
    """Return a file's extension in lower case; refuse one that no table has (``what`` begins the message)."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise OptionError(f"{what}, not {path.suffix or 'without ending'!r}: {path}")
    return suffix


def readable_format(path: Path) -> str:
    """Return the extension of a table to read, in lower case; refuse others, and say what to do with them."""
    suffix = path.suffix.lower()
    if suffix in READABLE:
        return suffix
    what = next((f"; {words.format(path.name)}" for endings, words in ELSEWHERE.items() if suffix in endings), "")
    listed = ", ".join(READABLE)
    raise OptionError(f"tables are {listed} files, not {path.suffix or 'without ending'!r}: {path}{what}")


def pyarrow() -> Any:
    """Return the package pyarrow, or None if it is not installed."""
    try:
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        return None
    return pyarrow


def need_pyarrow() -> Any:
    """Return the package pyarrow, or raise an error that says how to install it."""
    found = pyarrow()
    if found is None:
        raise OptionError("Parquet files need the package pyarrow: pip install 'kinetree[parquet]'")
    return found

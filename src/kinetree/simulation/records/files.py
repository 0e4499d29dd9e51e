"""Records on disk: ``.npz``, ``.csv`` and ``.parquet``, each read back as it was written."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, MissingFileError, OptionError, UnsupportedError
from ...io.whole_files import beside
from ..events import Occurrence
from .energy import NAMES, Energies

if TYPE_CHECKING:
    from .record import Record

Array = np.ndarray

FIELDS = ("q", "v", "a", "tau", "friction", "contact_forces", "constraint_forces", "z")
"""Arrays of a record beside time and energies."""

FORMATS = (".npz", ".csv", ".parquet")
VERSION = 1
_MARK = "# kinetree record "


def save(record: Record, path: Path) -> None:
    """Write a record, wholly or not at all."""
    if path.suffix not in FORMATS:
        raise OptionError(f"records are saved as {', '.join(FORMATS)}, not {path.suffix or 'without ending'!r}: {path}")
    if path.suffix != ".npz" and record.batch:
        raise UnsupportedError(
            f"{path.suffix} is a table of one simulation and this record has a batch of {record.batch}: save it as "
            ".npz, or one simulation of it, record.lane(index)"
        )
    content = {".npz": _to_npz, ".csv": _to_csv, ".parquet": _to_parquet}[path.suffix](record)
    with beside(path) as place:
        place.write_bytes(content)


def load(path: Path, make: Callable[[Mapping[str, Any]], Record]) -> Record:
    """Read what :func:`save` wrote; ``make`` gets the fields of a record by name, and what it refuses is no record."""
    if path.suffix not in FORMATS:
        raise OptionError(f"records are {', '.join(FORMATS)} files, not {path.suffix or 'without ending'!r}: {path}")
    if not path.is_file():
        raise MissingFileError(f"there is no record {path}")
    try:
        read = {".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}[path.suffix]
        return make(_fields(*read(path)))
    except (OptionError, FileFormatError):
        raise
    except Exception as problem:
        raise FileFormatError(f"this is no record of a simulation ({problem})", str(path)) from None


# ------------------------------------------------------------------ what a record consists of


def _about(record: Record) -> str:
    events = [
        {"time": e.time, "name": e.name, "index": e.index, "q": e.q.tolist(), "v": e.v.tolist()} for e in record.events
    ]
    shapes = {name: list(getattr(record, name).shape[1:]) for name in FIELDS}
    return json.dumps(
        {"version": VERSION, "status": record.status, "info": record.info, "events": events, "shapes": shapes}
    )


def _energies(record: Record) -> dict[str, Array]:
    return {f"energy:{name}": x for name, x in record.energy.as_dict().items()}


def _fields(text: str, arrays: dict[str, Array]) -> dict[str, Any]:
    about = json.loads(text)
    if about["version"] != VERSION:
        raise ValueError(f"version {about['version']} is not known")
    events = tuple(
        Occurrence(e["time"], e["name"], e["index"], np.array(e["q"]), np.array(e["v"])) for e in about["events"]
    )
    energy = Energies(**{name: arrays[f"energy:{name}"] for name in NAMES})
    found = {"energy": energy, "events": events, "status": about["status"], "info": about["info"]}
    return {name: arrays[name] for name in ("time", *FIELDS)} | found


# ------------------------------------------------------------------ npz


def _to_npz(record: Record) -> bytes:
    arrays = {name: getattr(record, name) for name in ("time", *FIELDS)} | _energies(record)
    stream = io.BytesIO()
    np.savez_compressed(stream, about=np.array(_about(record)), **arrays)
    return stream.getvalue()


def _from_npz(path: Path) -> tuple[str, dict[str, Array]]:
    with np.load(path, allow_pickle=False) as file:
        return str(file["about"]), {name: file[name] for name in file.files if name != "about"}


# ------------------------------------------------------------------ tables


def _columns(record: Record) -> dict[str, Array]:
    """One column per number, named by what it is and where."""
    columns = {"time": record.time}
    for name in FIELDS:
        array = getattr(record, name)
        flat = array.reshape(len(record), int(np.prod(array.shape[1:])))
        for label, column in zip(_labels(record, name, flat.shape[1]), flat.T, strict=True):
            columns[f"{name}:{label}"] = column
    return columns | _energies(record)


def _labels(record: Record, name: str, count: int) -> list[str]:
    if name == "q":
        return record.q_names
    if name in ("v", "a", "tau", "friction"):
        return record.v_names
    if name == "contact_forces":
        return [f"{k // 3}.{'xyz'[k % 3]}" for k in range(count)]
    return [str(k) for k in range(count)]


def _from_columns(about: str, names: list[str], table: Array) -> dict[str, Array]:
    arrays = {"time": table[:, names.index("time")]}
    for name, shape in json.loads(about)["shapes"].items():
        own = [k for k, label in enumerate(names) if label.startswith(f"{name}:")]
        arrays[name] = table[:, own].reshape(len(table), *shape)
    return arrays | {f"energy:{name}": table[:, names.index(f"energy:{name}")] for name in NAMES}


def _to_csv(record: Record) -> bytes:
    columns = _columns(record)
    stream = io.StringIO()
    stream.write(f"{_MARK}{_about(record)}\n")
    stream.write(",".join(_quoted(name) for name in columns) + "\n")
    np.savetxt(stream, np.column_stack(list(columns.values())), fmt="%.17g", delimiter=",")
    return stream.getvalue().encode()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name


def _from_csv(path: Path) -> tuple[str, dict[str, Array]]:
    import csv

    with path.open(newline="") as file:
        first = file.readline()
        if not first.startswith(_MARK):
            raise ValueError("the first line does not say that it is one")
        names = next(csv.reader([file.readline()]))
        rows = [[float(x) for x in line.split(",")] for line in file]
    table = np.array(rows).reshape(len(rows), len(names))
    about = first[len(_MARK) :]
    return about, _from_columns(about, names, table)


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise OptionError("Parquet files need the package pyarrow: pip install 'kinetree[parquet]'") from None
    return pyarrow


def _to_parquet(record: Record) -> bytes:
    pyarrow = _pyarrow()
    table = pyarrow.table(_columns(record)).replace_schema_metadata({"kinetree": _about(record)})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def _from_parquet(path: Path) -> tuple[str, dict[str, Array]]:
    pyarrow = _pyarrow()
    table = pyarrow.parquet.read_table(path)
    about = table.schema.metadata[b"kinetree"].decode()
    columns = [table.column(k).to_numpy() for k in range(table.num_columns)]
    return about, _from_columns(about, table.column_names, np.column_stack(columns))

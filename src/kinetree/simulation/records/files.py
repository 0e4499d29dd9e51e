"""Records on disk: ``.npz``, ``.csv`` and ``.parquet``, each read back as it was written."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, Message, MissingFileError, OptionError, Setting, UnsupportedError
from ...io.atomic_files import all_beside
from ...io.paths import as_path, is_file
from ...io.tables.columns import column_name
from ...io.tables.formats import FORMATS, RECORD_MARK, format_of, need_pyarrow
from ...io.tables.reading import csv_numbers
from ...io.tables.writing import csv_text, write_parquet
from ...io.units import ShownUnits, factor
from ...model.force_units import FORCE_OF
from ...spatial.arrays import Array
from ..events import Occurrence
from . import checks
from .energy_balance import LATER, NAMES, Energies
from .record import FIELDS
from .samples import Samples

if TYPE_CHECKING:
    from .record import Record

SAMPLED = "sampled:"
"""Prefix of the names of a sampled controller's data."""

UNITS_NAMED = "units in names"
"""Marks a table in units other than SI: its columns name them."""

VERSION = 1

UNKNOWN = "of unknown end"
"""Status of a table whose description file is missing."""


def save(record: Record, given: str | os.PathLike[str], units: ShownUnits) -> None:
    """Write a record, completely or not at all; a table perhaps in units other than SI."""
    path = as_path(given, "the file of a record")
    kind = record_format(path)
    if units.others and kind == ".npz":
        said = Message("arrays of .npz are in SI, since they cannot name a unit: leave out ", Setting("units"))
        raise OptionError(Message(said, ", or write .csv or .parquet"))
    if kind != ".npz" and record.batch:
        raise UnsupportedError(
            f"{path.suffix} is a table of one simulation and this record has a batch of {record.batch}: save it as "
            ".npz, or one simulation of it, record.lane(index)"
        )
    also = [description_of(path)] if kind == ".csv" else []
    with all_beside([path, *also], f"{path} cannot be written") as (place, *description):
        if kind == ".npz":
            _to_npz(record, place)
        else:
            {".csv": _to_csv, ".parquet": _to_parquet}[kind](record, place, units)
        for other in description:
            other.write_text(_about(record, units=units), encoding="utf-8", newline="\n")


def description_of(path: Path) -> Path:
    """Return the path of the file next to a CSV table that holds everything but numbers: status, events, names, units.

    Other programs could not read the table if it contained this description.
    """
    return path.with_name(f"{path.name}.json")


def record_format(path: Path) -> str:
    """Return the file format in which a record is to be saved; refuse unknown ones."""
    return format_of(path, f"records are saved as {', '.join(FORMATS)}")


def load(given: str | os.PathLike[str], make: Callable[[Mapping[str, Any]], Record]) -> Record:
    """Read what :func:`save` wrote; ``make`` gets the fields of a record by name and may refuse them."""
    path = as_path(given, "the file of a record")
    kind = format_of(path, f"records are {', '.join(FORMATS)} files")
    if not is_file(path):
        raise MissingFileError(f"there is no record {path}")
    try:
        read = {".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}[kind]
        return make(_fields(*read(path)))
    except (OptionError, FileFormatError):
        raise
    except KeyError as problem:
        raise FileFormatError(f"this is not a record of a simulation (it has no {problem})", str(path)) from None
    except Exception as problem:
        raise FileFormatError(f"this is not a record of a simulation ({problem})", str(path)) from None


# ------------------------------------------------------------------ what a record consists of


def _about(record: Record, in_words: bool = True, units: ShownUnits | None = None) -> str:
    """Return everything that is not a table, as JSON; with ``in_words`` also the samples of a sampled controller."""
    events = [
        {"time": e.time, "name": e.name, "index": e.index, "q": e.q.tolist(), "v": e.v.tolist()} for e in record.events
    ]
    shapes = {name: list(getattr(record, name).shape[1:]) for name in FIELDS}
    about = {"version": VERSION, "status": record.status, "info": record.info, "events": events, "shapes": shapes}
    if units is not None and units.others:
        about[UNITS_NAMED] = True
    if in_words:
        about |= {"sampled": {name: x.tolist() for name, x in _sampled(record).items()}} if record.sampled else {}
    try:
        return json.dumps(about)
    except (TypeError, ValueError, RecursionError) as problem:
        raise UnsupportedError(f"'info' holds what files cannot ({problem}): keep text, numbers, lists") from None


def _energies(record: Record) -> dict[str, Array]:
    held = record.energy.as_dict()
    return {f"energy:{name}": x for name, x in held.items() if name not in LATER or np.any(x != 0.0)}


def _fields(text: str, arrays: dict[str, Array]) -> dict[str, Any]:
    about = json.loads(text)
    if about["version"] != VERSION:
        raise ValueError(f"version {about['version']} is not known")
    own = {name: checks.numbers(name, arrays[name]) for name in ("time", *FIELDS)}
    known = [name for name in NAMES if name not in LATER or f"energy:{name}" in arrays]
    works = {name: checks.numbers(f"energy:{name}", arrays[f"energy:{name}"]) for name in known}
    checks.require_shapes(own, works)
    checks.require_info(about["info"], about["status"], own)
    events = tuple(_event(e, own) for e in about["events"])
    found = {"energy": Energies(**works), "events": events, "status": about["status"], "info": about["info"]}
    return own | found | {"sampled": _samples(about.get("sampled"), arrays, own)}


def _sampled(record: Record) -> dict[str, Array]:
    """Return the samples of a sampled controller by name; an empty mapping if there was none."""
    return {} if record.sampled is None else record.sampled.as_dict()


def _samples(words: Any, arrays: Mapping[str, Array], own: Mapping[str, Array]) -> Samples | None:
    """Return the samples of a sampled controller, from JSON or from arrays; None if there was none."""
    given = {name[len(SAMPLED) :]: x for name, x in arrays.items() if name.startswith(SAMPLED)} or words
    if not given:
        return None
    return Samples.checked({name: checks.numbers(f"{SAMPLED}{name}", x) for name, x in given.items()}, own)


def _event(about: Any, arrays: dict[str, Array]) -> Occurrence:
    q, v = (checks.numbers(f"{key} of an event", about[key]) for key in ("q", "v"))
    checks.require_event(about["time"], about["name"], about["index"], q, v, arrays)
    return Occurrence(float(about["time"]), about["name"], about["index"], q, v)


# ------------------------------------------------------------------ npz


def _to_npz(record: Record, path: Path) -> None:
    arrays = {name: getattr(record, name) for name in ("time", *FIELDS)} | _energies(record)
    arrays |= {f"{SAMPLED}{name}": x for name, x in _sampled(record).items()}
    with path.open("wb") as stream:
        np.savez_compressed(stream, about=np.array(_about(record, in_words=False)), **arrays)


def _from_npz(path: Path) -> tuple[str, dict[str, Array]]:
    with np.load(path, allow_pickle=False) as file:
        return str(file["about"]), {name: file[name] for name in file.files if name != "about"}


# ------------------------------------------------------------------ tables


def _columns(record: Record, units: ShownUnits) -> dict[str, Array]:
    """Return one column per number, named by quantity and joint as in tables of motions: ``q_elbow``.

    In units other than SI, columns name theirs: ``q_elbow [deg]``.
    """
    columns, known = {"time": record.time}, _units(record) if units.others else {}
    for name in FIELDS:
        array = getattr(record, name)
        flat = array.reshape(len(record), int(np.prod(array.shape[1:])))
        own = known.get(name) or [""] * flat.shape[1]
        for label, unit, column in zip(_labels(record, name, flat.shape[1]), own, flat.T, strict=True):
            in_unit = f" [{units.label(unit)}]" if unit not in ("", "1") else ""
            columns[column_name(f"{name}_{label}{in_unit}")] = units.shown(column, unit)
    return columns | {f"energy_{name.partition(':')[2]}": x for name, x in _energies(record).items()}


def _units(record: Record) -> dict[str, list[str]]:
    """Return the SI units of the columns whose units are known."""
    of_v = list(record.info.get("v_units") or ())
    forces, pushed = [FORCE_OF.get(unit, unit) for unit in of_v], len(record.info.get("contact_spots") or ())
    found = {"q": list(record.info.get("q_units") or ()), "v": [f"{unit}/s" for unit in of_v]}
    found |= {"a": [f"{unit}/s^2" for unit in of_v], "tau": forces, "friction": list(forces)}
    return found | {"contact_forces": ["N"] * (3 * pushed)}


def _labels(record: Record, name: str, count: int) -> list[str]:
    if name == "q":
        return record.q_names
    if name in ("v", "a", "tau", "friction"):
        return record.v_names
    if name == "contact_forces":
        spots = [str(spot[0]) for spot in record.info.get("contact_spots") or []]
        return [f"{spot}.{axis}" for spot in _told_apart(spots, count // 3) for axis in "xyz"]
    if name == "constraint_forces":
        return _told_apart(record.info.get("constraint_names") or [], count)
    return [str(k) for k in range(count)]


def _told_apart(names: list[str], count: int) -> list[str]:
    """Return ``count`` unique names: numbers replace missing ones, and are appended to duplicates."""
    if len(names) != count:
        return [str(k) for k in range(count)]
    return [name if names.count(name) == 1 else f"{name}[{k}]" for k, name in enumerate(names)]


def _from_columns(about: str, names: list[str], table: Array) -> dict[str, Array]:
    known = json.loads(about)
    if known.get(UNITS_NAMED):
        named, sizes = zip(*map(_name_and_unit_size, names), strict=True)
        names, table = list(named), table * sizes
    arrays = {"time": table[:, names.index("time")]}
    labels = [_split(name) for name in names]
    for name, shape in known["shapes"].items():
        own = [k for k, label in enumerate(labels) if label[0] == name]
        arrays[name] = table[:, own].reshape(len(table), *shape)
    works = [name for name in NAMES if name not in LATER or ("energy", name) in labels]
    return arrays | {f"energy:{name}": table[:, labels.index(("energy", name))] for name in works}


def _name_and_unit_size(column: str) -> tuple[str, float]:
    """Return the name of a column without its unit, and the size of that in SI."""
    name, _, unit = column.removesuffix("]").rpartition(" [")
    size = factor(unit, None) if name and column.endswith("]") else ""
    return (column, 1.0) if isinstance(size, str) else (name, size)


def _split(column: str) -> tuple[str, str]:
    """Return the quantity and the joint of a column; release 0.2 wrote a colon between the two."""
    for name in (*FIELDS, "energy"):
        if column.startswith((f"{name}_", f"{name}:")):
            return name, column[len(name) + 1 :]
    return "", column


def _to_csv(record: Record, path: Path, units: ShownUnits) -> None:
    path.write_text(csv_text(_columns(record, units)), encoding="utf-8", newline="\n")


def _from_csv(path: Path) -> tuple[str, dict[str, Array]]:
    with path.open("rb") as file:
        first = file.readline().decode("utf-8")
        marked = first.startswith(RECORD_MARK)  # release 0.1 wrote the description into the first line
        names = next(csv.reader([file.readline().decode("utf-8") if marked else first], strict=True))
        lines = file.read()
    columns = csv_numbers(lines, len(names), range(len(names)))
    if columns is None:
        rows = [[float(x) for x in line.split(b",")] for line in lines.splitlines()]
        table = np.array(rows).reshape(len(rows), len(names))
    else:
        table = np.column_stack(list(columns.values()))
    if marked:
        about = first[len(RECORD_MARK) :]
    elif is_file(description_of(path)):
        about = description_of(path).read_text(encoding="utf-8")
    else:
        about = _about_columns(names)
    return about, _from_columns(about, names, table)


def _about_columns(names: list[str]) -> str:
    """Describe a table by the names of its columns, since the file with its description is missing."""
    split = [_split(_name_and_unit_size(name)[0]) for name in names]
    for needed in (("", "time"), *(("energy", name) for name in NAMES if name not in LATER)):
        if needed not in split:
            raise KeyError("_".join(filter(None, needed)))
    labels = {field: [label for name, label in split if name == field] for field in FIELDS}
    shapes = {field: [len(own)] for field, own in labels.items()}
    shapes["contact_forces"] = [len(labels["contact_forces"]) // 3, 3]
    info = {"q_names": labels["q"], "v_names": labels["v"], "constraint_names": labels["constraint_forces"]}
    about = {"version": VERSION, "status": UNKNOWN, "info": info, "events": [], "shapes": shapes, UNITS_NAMED: True}
    return json.dumps(about)


def _to_parquet(record: Record, path: Path, units: ShownUnits) -> None:
    write_parquet(path, _columns(record, units), {"kinetree": _about(record, units=units)})


def _from_parquet(path: Path) -> tuple[str, dict[str, Array]]:
    table = need_pyarrow().parquet.read_table(path)
    about = table.schema.metadata[b"kinetree"].decode()
    columns = [table.column(k).to_numpy() for k in range(table.num_columns)]
    return about, _from_columns(about, table.column_names, np.column_stack(columns))

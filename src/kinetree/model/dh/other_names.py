"""Rows of Denavit-Hartenberg tables as other programs write them: their names, and tables of numbers.

=============  =================================================================================================
ReDySim        ``alp``, ``a``, ``b``, ``th``, ``bt`` (parent), ``r`` (1 revolute, 0 prismatic), ``m``, ``dx dy dz``
               (center of mass), ``Icxx Icyy Iczz Icxy Icyz Iczx`` (about it)
Robotics       ``theta``, ``d``, ``a``, ``alpha``, ``sigma`` (0 revolute, 1 prismatic), ``offset``, ``qlim``, ``m``,
Toolbox        ``r`` (center of mass), ``I`` (about it; six numbers are xx yy zz xy yz xz), ``Jm``, ``G``, ``B``, ``Tc``
               (of the motor: the joint feels G^2 Jm, G^2 B and G Tc), ``mdh``
MATLAB         ``Mass``, ``CenterOfMass``, ``Inertia`` (about the origin; xx yy zz yz xz xy), ``PositionLimits``,
               ``JointType``
=============  =================================================================================================

The columns of tables of numbers are named by the caller: ``"rtb"``, ``"matlab"``, ``"redysim"``, or any others.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ModelError

COLUMNS = {
    "rtb": ("theta", "d", "a", "alpha", "sigma", "offset"),
    "matlab": ("a", "alpha", "d", "theta"),
    "redysim": ("alpha", "a", "d", "theta"),
}
"""Orders of columns for each program; columns after the fourth may be missing."""

CONVENTION_OF = {
    "dh": "standard", "classical": "standard", "classic": "standard", "distal": "standard", "original": "standard",
    "corke": "standard", "spong": "standard", "paul": "standard", "revolutedh": "standard", "sdh": "standard",
    "mdh": "modified", "craig": "modified", "proximal": "modified", "redysim": "modified", "book": "modified",
    "revolutemdh": "modified", "khalilkleinfinger": "khalil", "dombre": "khalil",
}  # fmt: skip
"""Other names of the conventions, in lower case."""

LEAST_COLUMNS = 4
"""Number of columns that every table has."""

RENAMED = {
    "th": "theta", "alp": "alpha", "m": "mass", "Mass": "mass", "CenterOfMass": "com", "bt": "parent",
    "type": "joint", "JointType": "joint", "jointtype": "joint",
}  # fmt: skip
"""Other names of entries of a row."""

CONVERTED = ("sigma", "offset", "qlim", "PositionLimits", "r", "I", "Inertia", "Jm", "G", "B", "Tc", "mdh",
             "dx", "dy", "dz", "Icxx", "Icyy", "Iczz", "Icxy", "Icyz", "Iczx")  # fmt: skip
"""Entries whose numbers have to be converted."""

KINDS = {
    "r": "revolute", "p": "prismatic", "f": "fixed", "revolute": "revolute", "prismatic": "prismatic",
    "fixed": "fixed", "0": "revolute", "1": "prismatic",
}  # fmt: skip
"""Words for joints, in lower case."""


def is_foreign(row: object) -> bool:
    """Return whether a row has names of other programs, whose conventions differ."""
    return isinstance(row, Mapping) and any(key in RENAMED or key in CONVERTED for key in row)


def by_rows(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that is given column by column, as in ReDySim's ``inputs.m``.

    A single number applies to every row.

    Examples
    --------
    >>> by_rows({"a": [0, 0.3], "b": 0.1})
    [{'a': 0, 'b': 0.1}, {'a': 0.3, 'b': 0.1}]
    """
    columns = {key: x.ravel() if isinstance(x, np.ndarray) and 1 in x.shape else x for key, x in table.items()}
    lengths = {
        key: len(x) for key, x in columns.items() if isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str)
    }
    if len(set(lengths.values())) != 1:
        said = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise ModelError(
            "a table given by columns needs columns of equal length, one number per link: "
            + (f"these have {said}" if lengths else "{'alp': [...], 'a': [...], ...}; a single row goes into a list")
        )
    count = next(iter(lengths.values()))
    return [{key: x[k] if key in lengths else x for key, x in columns.items()} for k in range(count)]


def numbered(table: Any, columns: str | Sequence[str] | None) -> list[dict[str, Any]] | None:
    """Return the rows of a table of numbers as mappings with names; None for a table of another kind.

    table: The table as the caller gave it.
    columns: One of :data:`COLUMNS`, or names of the columns.
    """
    rows = list(table) if isinstance(table, np.ndarray) and table.ndim == 2 else table
    if not isinstance(rows, Sequence) or not rows or not all(_is_numbers(row) for row in rows):
        if columns is not None:
            raise ModelError("columns= is for a table of numbers, but this table has rows with names")
        return None
    if columns is None:
        orders = "; ".join(f"columns={key!r} is {', '.join(names)}" for key, names in COLUMNS.items())
        raise ModelError(
            f"a table of numbers needs to know what its {len(rows[0])} columns are: {orders}; or name them, such as "
            "columns=('alpha', 'a', 'd', 'theta')"
        )
    names = _names(columns)
    found = []
    for number, row in enumerate(rows, start=1):
        if not min(LEAST_COLUMNS, len(names)) <= len(row) <= len(names):
            raise ModelError(
                f"row {number} has {len(row)} numbers; the columns are {', '.join(names)}"
                + (", of which those after the fourth may be missing" if len(names) > LEAST_COLUMNS else "")
            )
        for k, value in enumerate(row):
            if not _is_number(value):
                raise ModelError(
                    f"row {number}, column {k + 1} ({names[k]}): {reprlib.repr(value)} is not a finite number; write 0 "
                    "where the joint moves"
                )
        found.append({name: float(x) for name, x in zip(names, row, strict=False)})
        if "sigma" in found[-1]:
            found[-1]["sigma"] = int(found[-1]["sigma"]) if found[-1]["sigma"] in (0, 1) else found[-1]["sigma"]
    return found


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        if columns not in COLUMNS:
            raise ModelError(f"columns must be one of {', '.join(COLUMNS)}, or names of columns, not {columns!r}")
        return COLUMNS[columns]
    known = ("theta", "d", "a", "alpha", "sigma", "offset", "th", "alp", "b", "m", "mass")
    for name in columns:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            raise ModelError(
                f"no column {name!r}; {f'did you mean {near[0]!r}?' if near else 'known: ' + ', '.join(known)}"
            )
    for name in columns:
        if list(columns).count(name) > 1:
            raise ModelError(f"two columns are named {name!r}: each column must have its own name")
    return tuple(columns)


def _is_numbers(row: Any) -> bool:
    return _is_list(row) and len(row) > 0


def _is_list(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_number(value: object) -> bool:
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False


def renamed(given: Mapping[str, Any], number: int, convention: str) -> dict[str, Any]:
    """Return the entries of a row under kinetree's names."""
    entries = dict(given)
    for key, name in RENAMED.items():
        if key in entries:
            _only_once(entries, number, key, name)
            entries[name] = entries.pop(key)
    _joint(entries, number)
    _mass(entries, number)
    _motor(entries, number)
    for key in ("qlim", "PositionLimits"):
        if key in entries:
            limits = _numbers(entries.pop(key), (2,), number, key)
            _only_once(entries, number, key, "lower", "upper")
            entries["lower"], entries["upper"] = limits.tolist()
    if "mdh" in entries and bool(entries.pop("mdh")) != (convention == "modified"):
        raise ModelError(
            f"row {number}: its mdh says that the table is {'standard' if convention == 'modified' else 'modified'}, "
            f"and convention={convention!r} was given"
        )
    return entries


def _only_once(entries: Mapping[str, Any], number: int, key: str, *names: str) -> None:
    twice = [name for name in names if name in entries]
    if twice:
        raise ModelError(f"row {number}: {key!r} and {twice[0]!r} are two names of the same entry; give one")


def _joint(entries: dict[str, Any], number: int) -> None:
    """Determine whether a joint turns or slides, and its offset."""
    if "sigma" in entries:
        _only_once(entries, number, "sigma", "joint")
        sigma = entries.pop("sigma")
        if not _is_number(sigma) or sigma not in (0, 1):
            raise ModelError(f"row {number}: sigma must be 0 (revolute) or 1 (prismatic), not {reprlib.repr(sigma)}")
        entries["joint"] = "prismatic" if sigma else "revolute"
    if "r" in entries and not _is_list(entries["r"]):
        _only_once(entries, number, "r", "joint")
        turns = entries.pop("r")
        if not _is_number(turns) or turns not in (0, 1):
            raise ModelError(
                f"row {number}: r is 1 (revolute) or 0 (prismatic) as in ReDySim, or the center of mass, 3 numbers, "
                f"as in the Robotics Toolbox; not {reprlib.repr(turns)}"
            )
        entries["joint"] = "revolute" if turns else "prismatic"
    said = entries.get("joint")
    if isinstance(said, (str, int, np.integer)) and not isinstance(said, bool):
        entries["joint"] = KINDS.get(str(said).lower(), said)
    if "offset" in entries:
        moved = "d" if entries.get("joint") == "prismatic" else "theta"
        offset = entries.pop("offset")
        if not _is_number(offset):
            raise ModelError(f"row {number}: offset must be a finite number, not {reprlib.repr(offset)}")
        moved = "b" if moved == "d" and "b" in entries else moved
        if not _is_number(own := entries.get(moved, 0.0)):
            raise ModelError(f"row {number}: {moved} must be a finite number, not {reprlib.repr(own)}")
        entries[moved] = own + offset


def _mass(entries: dict[str, Any], number: int) -> None:
    if "r" in entries:
        _only_once(entries, number, "r", "com")
        entries["com"] = _numbers(entries.pop("r"), (3,), number, "r")
    if any(key in entries for key in ("dx", "dy", "dz")):
        _only_once(entries, number, "dx", "com")
        entries["com"] = [entries.pop(key, 0.0) for key in ("dx", "dy", "dz")]
    about = [f"Ic{pair}" for pair in ("xx", "yy", "zz", "xy", "zx", "yz")]
    if any(key in entries for key in about):
        _only_once(entries, number, "Icxx", "inertia")
        entries["inertia"] = [entries.pop(key, 0.0) for key in about]
    if "I" in entries:
        _only_once(entries, number, "I", "inertia")
        entries["inertia"] = _reordered(entries.pop("I"), (0, 1, 2, 3, 5, 4))  # xx yy zz xy yz xz
    if "Inertia" in entries:
        _only_once(entries, number, "Inertia", "inertia", "about")
        entries["inertia"], entries["about"] = _reordered(entries.pop("Inertia"), (0, 1, 2, 5, 4, 3)), "origin"


def _reordered(inertia: Any, places: Iterable[int]) -> Any:
    """Return six numbers as xx, yy, zz, xy, xz, yz; three, or a matrix, as they are."""
    six = _is_list(inertia) and len(inertia) == 6 and not any(_is_list(entry) for entry in inertia)
    return np.asarray(inertia)[list(places)] if six else inertia


def _motor(entries: dict[str, Any], number: int) -> None:
    """Convert the Robotics Toolbox's motor data, which are given on the motor side of the gear."""
    given = {key: entries.pop(key) for key in ("Jm", "G", "B", "Tc") if key in entries}
    if not given:
        return
    for key, name in (("Jm", "rotor_inertia"), ("G", "gear_ratio"), ("B", "damping"), ("Tc", "friction")):
        if key in given:
            _only_once(entries, number, key, name)
    gear = float(_numbers(given.get("G", 1.0), (), number, "G")) or 1.0  # 0 means no gear
    if "Jm" in given:
        entries["rotor_inertia"] = float(_numbers(given["Jm"], (), number, "Jm"))
    if "Jm" in given or "G" in given:
        entries["gear_ratio"] = gear
    if "B" in given:
        entries["damping"] = float(_numbers(given["B"], (), number, "B")) * gear * gear
    if "Tc" in given:
        tc = _numbers(given["Tc"], (2,) if _is_list(given["Tc"]) else (), number, "Tc")
        forward, backward = (float(tc), -float(tc)) if tc.ndim == 0 else (float(tc[0]), float(tc[1]))
        entries["friction"] = 0.5 * abs(gear) * (forward - backward)
        if forward != -backward:  # the difference between directions is an additional constant force
            _only_once(entries, number, "Tc", "friction_offset")
            entries["friction_offset"] = 0.5 * abs(gear) * (forward + backward)


def _numbers(value: Any, shape: tuple[int, ...], number: int, key: str) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.full((1,), np.nan)
    if array.shape != shape or not np.isfinite(array).all():
        what = {(): "a finite number", (2,): "two finite numbers", (3,): "three finite numbers"}[shape]
        raise ModelError(f"row {number}: {key} must be {what}, not {reprlib.repr(value)}")
    return array

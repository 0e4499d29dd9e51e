"""Checks that the content of a file is a record: arrays that fit together, a name for every entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...spatial.arrays import Array

LIKE_V = ("v", "a", "tau", "friction")
ALSO_SAMPLED = ("constraint_forces", "z")

NAMED = {
    "q_names": "q", "q_units": "q", "v_names": "v", "v_units": "v", "constraint_names": "constraint_forces",
}  # fmt: skip
"""Lists of names in the description, with the arrays whose entries they name."""


class NoRecordError(ValueError):
    """Content that is not a record of a simulation; says what does not fit."""


def numbers(name: str, given: Any) -> Array:
    """Return an array of floats; refuse text, objects and complex numbers."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiu":
        raise NoRecordError(f"{name!r} holds {array.dtype}, not real numbers")
    return np.asarray(array, dtype=float)


def require_shapes(arrays: Mapping[str, Array], energies: Mapping[str, Array]) -> None:
    """Refuse arrays with different numbers of samples, batches or freedoms."""
    time, q, v = arrays["time"], arrays["q"], arrays["v"]
    if time.ndim != 1 or not np.isfinite(time).all():
        raise NoRecordError("'time' must be one finite number for each sample")
    if q.ndim < 2:
        raise NoRecordError(f"'q' has shape {q.shape}, which lacks an axis for samples or coordinates")
    sampled = (len(time), *q.shape[1:-1])
    wanted: dict[str, tuple[int | None, ...]] = {"q": (*sampled, q.shape[-1])}
    wanted |= dict.fromkeys(LIKE_V, (*sampled, v.shape[-1] if v.ndim else 0))
    wanted |= {"contact_forces": (*sampled, None, 3)} | dict.fromkeys(ALSO_SAMPLED, (*sampled, None))
    for name, shape in wanted.items():
        _require_shape(name, arrays[name], shape)
    for name, array in energies.items():
        _require_shape(f"energy:{name}", array, sampled)


def _require_shape(name: str, array: Array, wanted: tuple[int | None, ...]) -> None:
    """Refuse a shape that differs from the wanted one, in which None stands for any length."""
    fits = array.ndim == len(wanted) and all(w in (None, n) for n, w in zip(array.shape, wanted, strict=True))
    if not fits:
        shown = ", ".join("any" if w is None else str(w) for w in wanted)
        raise NoRecordError(f"{name!r} has shape {array.shape}, and to fit time and q it must have ({shown})")


def require_info(info: Any, status: Any, arrays: Mapping[str, Array]) -> None:
    """Refuse a wrong number of names, and anything but text where text is expected."""
    if not isinstance(info, dict) or not isinstance(status, str):
        raise NoRecordError("its description must have 'info', a mapping, and 'status', a text")
    if not isinstance(info.get("robot", ""), str):
        raise NoRecordError(f"the robot's name must be text, not {info['robot']!r:.80}")
    for key, name in NAMED.items():
        words, count = info.get(key) or [], arrays[name].shape[-1]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise NoRecordError(f"{key!r} must be a list of names")
        if words and len(words) != count:
            raise NoRecordError(f"{key!r} has {len(words)} entries for {count} of {name!r}")
        if key in ("q_names", "v_names") and len(set(words)) != len(words):
            raise NoRecordError(f"{key!r} has a name twice: entries of tables would be ambiguous")
    spots = info.get("contact_spots") or []
    if not isinstance(spots, list) or not all(map(_is_spot, spots)):
        raise NoRecordError("'contact_spots' must be a list of frames with a point on each")


def _is_spot(spot: Any) -> bool:
    return (
        isinstance(spot, list)
        and len(spot) == 2
        and isinstance(spot[0], str)
        and isinstance(spot[1], list)
        and len(spot[1]) == 3
        and all(isinstance(x, (int, float)) for x in spot[1])
    )


def require_event(time: Any, name: Any, index: Any, q: Array, v: Array, arrays: Mapping[str, Array]) -> None:
    """Refuse an event without a time, a name and a state of the robot."""
    timed = isinstance(time, (int, float)) and not isinstance(time, bool)
    if not (timed and isinstance(name, str) and isinstance(index, int)):
        raise NoRecordError("an event has a time, a name and an index")
    for key, state in (("q", q), ("v", v)):
        if state.shape[-1:] != arrays[key].shape[-1:]:
            raise NoRecordError(f"event {name!r}: {key!r} has shape {state.shape}, which is not a state of the robot")

"""Named outputs of a motion: one number for each row of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.errors import OptionError, ShapeError, UnknownNameError
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.measures import Measure, MovedBatch, measures


def chosen(wanted: Any, robot: Robot, simulated: bool) -> dict[str, Measure]:
    """Return the requested outputs, given by name or as a mapping of names to functions.

    wanted: str, sequence of str, or mapping. A mapping has for each name either the name of a measure, or a function of
        the record (or of a :class:`MovedBatch` if nothing is simulated) that returns one number per robot, such as
        ``lambda record: record.q[-1, :, 0]``.
    """
    known = measures(robot, simulated)
    if isinstance(wanted, str):
        wanted = [wanted]
    if not isinstance(wanted, (Mapping, Sequence)):
        raise OptionError(f"outputs are names, or functions by name, not {wanted!r}")
    given = dict(wanted) if isinstance(wanted, Mapping) else {str(name): name for name in wanted}
    if not given:
        raise OptionError("there is no output to keep: name one at least, such as 'peak_force'")
    found: dict[str, Measure] = {}
    for name, what in given.items():
        if callable(what):
            found[name] = _OfRecord(what) if simulated else what
        elif what in known:
            found[name] = known[what]
        else:
            raise UnknownNameError("output", what, known)
    return found


@dataclass(frozen=True)
class _OfRecord:
    """A user's function of the record."""

    function: Callable[[Any], Any]

    def __call__(self, moved: MovedBatch) -> Array:
        """Call the function with the record."""
        return np.asarray(self.function(moved.record))


def take(outputs: Mapping[str, Measure], moved: MovedBatch, rows: int) -> dict[str, Array]:
    """Return all outputs of a batch, an array of numbers each."""
    found = {}
    with np.errstate(all="ignore"):
        for name, measure in outputs.items():
            values = np.asarray(measure(moved), dtype=float)
            if values.shape[:1] != (rows,) or values.ndim > 2:
                raise ShapeError(f"output {name!r} must be {rows} numbers, one per robot; got shape {values.shape}")
            found[name] = values
    return found

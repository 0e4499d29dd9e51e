"""ReDySim's output files in a folder: ``timevar.dat``, ``statevar.dat``, ``tor.dat``, ``envar.dat``, ``mtvar.dat``.

ReDySim writes the outputs of an example to its parent folder and overwrites those of the previous example, so outputs
are used only if they fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinetree.errors import KinetreeError, MissingFileError
from kinetree.io.paths import whole_content
from kinetree.spatial.arrays import Array

from ..matlab.folder import table

NAMES = ("timevar", "statevar", "tor", "envar", "mtvar")

DIGITS = 1e-6
"""Relative size of the last digit that ReDySim prints, ``%e``."""

TENTH, ALIKE = 0.1, 0.02
"""Share of a motion by which outputs are recognized, and their tolerance there, relative to the largest number."""


@dataclass(frozen=True)
class Stored:
    """Arrays of a folder by the names of their files."""

    place: Path
    arrays: dict[str, Array]

    @property
    def time(self) -> Array:
        """Times of all rows."""
        return self.arrays["timevar"][:, 0]

    @property
    def state(self) -> Array:
        """Rows of ``statevar.dat``."""
        return self.arrays["statevar"]


def read_stored(place: Path) -> Stored | None:
    """Return the outputs in a folder, or None if there are no times and states."""
    found: dict[str, Array] = {}
    for name in NAMES:
        path = place / f"{name}.dat"
        if path.is_file():
            found[name] = np.asarray(table(whole_content(path, "output of ReDySim", MissingFileError), path).data)
    if not {"timevar", "statevar"} <= found.keys() or len(found["timevar"]) < 2:
        return None
    if len(found["timevar"]) != len(found["statevar"]):
        return None
    return Stored(place, {name: x for name, x in found.items() if len(x) == len(found["timevar"])})


def why_not(stored: Stored, time: Array, state: Array) -> str:
    """Return why outputs do not belong to a run, in words; an empty string if they do.

    Outputs of another system, or of this one under other forces, may begin at the same place: they are recognized by
    the first tenth of the motion.

    Parameters
    ----------
    stored : Stored
    time, state : ndarray
        Times and states of the run; unknown numbers are NaN.
    """
    if stored.state.shape[1] != state.shape[1]:
        return f"statevar.dat has {stored.state.shape[1]} columns, and this system writes {state.shape[1]}"
    if abs(stored.time[-1] - time[-1]) > 1e-3 * max(1.0, float(time[-1])):
        return f"timevar.dat ends at {stored.time[-1]:g} s, and this run at {time[-1]:g} s"
    begun = stored.time <= stored.time[0] + TENTH * (stored.time[-1] - stored.time[0])
    theirs = stored.state[begun]
    ours = np.column_stack([np.interp(stored.time[begun], time, column) for column in state.T])
    off = np.abs(ours - theirs)
    size = max(float(np.nanmax(np.abs(x), initial=0.0)) for x in (ours, theirs))
    if np.nanmax(off, initial=0.0) > ALIKE * size:
        row, column = np.unravel_index(int(np.nanargmax(off)), off.shape)
        return (
            f"statevar.dat differs by {off[row, column]:.2g} in column {column + 1} already at {stored.time[row]:g} s"
        )
    return ""


def stored_beside(places: list[Path]) -> list[Stored]:
    """Return all outputs that can be read in some folders."""
    found = []
    for place in places:
        try:
            one = read_stored(place)
        except KinetreeError:
            continue
        if one is not None:
            found.append(one)
    return found

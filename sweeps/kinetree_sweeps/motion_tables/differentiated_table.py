"""Tables with only times and positions, converted to tables of motions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kinetree.errors import FileFormatError, ModelWarning, OptionError, warn
from kinetree.identification.differentiation.differentiated import DifferentiatedMotion, differentiated
from kinetree.identification.doubts.about_samples import doubtful_steps
from kinetree.io.tables.columns import Wanted
from kinetree.io.tables.parts import OpenTable, Part, Rows
from kinetree.io.tables.reading import open_table
from kinetree.io.tables.times import lost_digits, not_increasing, repeated, words_about_repeated

if TYPE_CHECKING:
    from kinetree.robot.robot import Robot

Units = Mapping[str, Mapping[str, str]]


def _positions(path: Path, robot: Robot, fewer: Wanted | None, units: Units) -> OpenTable:
    return open_table(path, {"q": robot.q_names}, None if fewer is None else {"q": fewer["q"]}, units)


def has_positions_only(path: Path, robot: Robot, fewer: Wanted | None, units: Units) -> bool:
    """Return whether a table has times and positions, and could be differentiated."""
    try:
        return _positions(path, robot, fewer, units).has_time
    except FileFormatError:
        return False


def differentiated_table(
    path: Path, robot: Robot, fewer: Wanted | None, units: Units, cutoff: float | None
) -> OpenTable:
    """Read times and positions, all at once, and yield them with velocities and accelerations.

    fewer: For a mechanism, names of fewer positions that are sufficient.
    units: Units of the columns.
    cutoff: Cutoff frequency of the filter, in Hz.
    """
    source = _positions(path, robot, fewer, units)
    if not source.has_time:
        raise OptionError(
            f"{path} has no column of times, and without these nothing can be differentiated: name one `time`"
        )
    parts = list(source.parts())
    rows = [part.read() for part in parts]
    if not any(map(len, rows)):
        raise OptionError(f"{path} has no rows, so there is nothing to compute")
    times = np.concatenate([part.time for part in rows if part.time is not None])
    q = np.concatenate([part.arrays[0] for part in rows])
    again = repeated(times, [q])
    good = (np.diff(times) > 0.0) | again[1:]
    if not good.all():
        bad = int(np.argmin(good)) + 1
        lost = lost_digits(times[~again]) if times[bad] == times[bad - 1] else ""
        raise _fault(parts, rows, bad, lost or not_increasing(times[bad - 1], times[bad]))
    times, q = times[~again], q[~again]
    if doubt := doubtful_steps(float(np.median(np.diff(times))) if len(times) > 1 else 0.0):
        warn(f"{path}: {doubt}. Times are taken in seconds", ModelWarning)
    joints = list(fewer["q"]) if source.fewer and fewer is not None else None
    found = differentiated(robot, times, q, cutoff=cutoff, joints=joints)
    remark = _remark(found, cutoff, joints or robot.v_names)
    whole = Rows(found.t, (found.q, found.v, found.a))

    def read() -> Iterator[Part]:
        yield Part(lambda: whole, lambda row, message: _fault(parts, rows, row, message), 1.0)

    left_out = words_about_repeated(int(again.sum()), len(again)) if again.any() else ""
    remarks = ". ".join(text for text in (source.remark, left_out, remark) if text)
    return OpenTable(read, True, remarks, source.fewer, ("q", "v", "a"))


def _remark(found: DifferentiatedMotion, cutoff: float | None, names: Sequence[str]) -> str:
    """Return a remark on how the positions were processed, and how accurate the accelerations are."""
    if cutoff is not None:
        spacing = "" if found.is_even else " (samples were interpolated on even times)"
        return f"positions filtered at {cutoff:.3g} Hz and differentiated{spacing}"
    together = (
        ""
        if found.averaged == 1
        else f"; {found.averaged} samples at a time were averaged, their noise being correlated"
    )
    middle, ends, length = found.uncertainty()
    worst = int(np.argmax(ends))
    return (
        f"positions smoothed as their noise of up to {found.noise.max():.2g} asks, half being let through at "
        f"{found.band.cutoff:.3g} Hz, and differentiated{together}; accelerations have standard deviations of up to "
        f"{middle.max():.2g}, and up to {ends[worst]:.2g} ({names[worst]}) in the first and last {length:.2g} s"
    )


def _fault(parts: list[Part], rows: list[Rows], row: int, message: str) -> FileFormatError:
    """Return an error with the line of the file from which a row comes."""
    for part, some in zip(parts, rows, strict=True):
        if row < len(some):
            return part.fault(row, message)
        row -= len(some)
    return parts[-1].fault(len(rows[-1]) - 1, message)

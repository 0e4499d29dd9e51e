"""Everything that can be played: records, arrays, trajectories, measurements, and files of these."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileFormatError, ModelWarning, OptionError, ShapeError, callers_level
from kinetree.identification.measured import Measured
from kinetree.io.paths import as_path
from kinetree.io.tables.formats import FORMATS
from kinetree.io.tables.reading import open_table
from kinetree.model.describe import counted
from kinetree.motion.trajectory_interface import Trajectory
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.spatial.arrays import Array

from .given_wrenches import with_wrenches
from .motion import MOST_SAMPLES, Track

SAMPLES_PER_SECOND = 60
MOST_NUMBERS = 6_000_000
"""A motion of many bodies is thinned to this many numbers, which fit on a page of a few megabytes."""

NAMES = ("t", "q", "v", "tau")
UNIT_LENGTH = 1e-3
"""How far the length of a quaternion may be from one."""

ACCEPTED = "a motion is a record, arrays (t, q), (t, q, v) or (t, q, v, tau), a trajectory, or a file of one"


def as_track(robot: Robot, motion: Any, contacts: Any = None) -> Track:
    """Prepare any motion for display.

    Parameters
    ----------
    robot : Robot
        The robot that makes the motion.
    motion : Track, Record, tuple of arrays, Trajectory, Measured or path
        Arrays are times (n,), positions (n, nq), and possibly velocities and joint forces (n, nv). Files are saved
        records, or tables with a column ``t`` or ``time`` and one for each joint (``q_elbow``, or ``q1``, ``q2``, ...):
        ``.csv``, ``.npz``, ``.parquet`` or ``.mat``.
    contacts : optional
        Where a record's contact forces act.
    """
    if isinstance(motion, str | os.PathLike):
        motion = read_motion(as_path(motion, "the file of a motion"), robot)
    if isinstance(motion, Track):
        track = motion
    elif isinstance(motion, Record):
        track = Track.of_record(robot, motion, contacts)
    elif isinstance(motion, Trajectory):
        track = of_trajectory(robot, motion)
    elif isinstance(motion, Measured):
        track = of_arrays(robot, motion.t, motion.q, motion.v, motion.tau)
        track = with_wrenches(robot, track, motion.wrenches)
    elif isinstance(motion, Sequence) and not isinstance(motion, bytes) and 2 <= len(motion) <= len(NAMES):
        track = of_arrays(robot, *motion)
    else:
        raise OptionError(f"{ACCEPTED}; not {_shown(motion)}")
    _refuse_nothing(robot, track)
    return _thinned(track)


def read_motion(path: Path, robot: Robot) -> Record | tuple[Array, ...]:
    """Read a motion from a file: a record, or a table with columns of times and positions."""
    if path.suffix.lower() in FORMATS:
        try:
            return Record.load(path, robot)
        except FileFormatError:
            pass  # then it is another table, whose reader reports what is missing
    names = {"q": list(robot.q_names)}
    others = {"v": list(robot.v_names), "tau": list(robot.v_names)}
    units = {
        "q": dict(zip(robot.q_names, robot.q_units, strict=True)),
        "v": dict(zip(robot.v_names, (f"{unit}/s" for unit in robot.v_units), strict=True)),
        "tau": dict(zip(robot.v_names, robot.tau_units, strict=True)),
    }
    table = open_table(path, names, None, units, others)
    if not table.has_time:
        raise FileFormatError("there is no column of times; name it 't' or 'time'", str(path))
    times, arrays = table.whole()
    if times is None:
        raise FileFormatError("there are no rows", str(path))
    if table.rules:
        warnings.warn(f"{path}: {table.rules}", ModelWarning, stacklevel=callers_level())
    return (times, arrays["q"], arrays.get("v"), arrays.get("tau"))  # type: ignore[return-value]


def of_trajectory(robot: Robot, motion: Trajectory, begin: float | None = None, end: float | None = None) -> Track:
    """Sample a trajectory over its own span, or over a given one."""
    start = motion.start if begin is None else max(begin, motion.start)
    stop = motion.end if end is None else min(end, motion.end)
    if not np.isfinite(stop):
        raise OptionError("this trajectory never ends: give the samples to show, (t, *trajectory(t))")
    if motion.nq != robot.nq:
        raise ShapeError(f"the trajectory has {motion.nq} coordinates, and {robot.name!r} has {robot.nq}")
    t = np.linspace(start, stop, max(2, int(np.ceil((stop - start) * SAMPLES_PER_SECOND)) + 1))
    q, v, _ = motion(t)
    return of_arrays(robot, t, q, v)


def of_arrays(robot: Robot, t: Any, q: Any, v: Any = None, tau: Any = None) -> Track:
    """Check samples of a motion and prepare them for display."""
    time = _numbers(t, "t")
    if time.ndim != 1 or not len(time):
        raise ShapeError(f"t holds one time for each sample, (n,), not an array {time.shape}")
    if not np.isfinite(time).all():
        raise OptionError(f"t is not a number at sample {int(np.argmin(np.isfinite(time)))}")
    if np.any(np.diff(time) < 0.0):
        raise OptionError(f"time goes back after sample {int(np.argmax(np.diff(time) < 0.0))}: sort the samples")
    widths = {"q": (robot.nq, robot.q_names), "v": (robot.nv, robot.v_names), "tau": (robot.nv, robot.v_names)}
    found: dict[str, Array | None] = {}
    for name, given in (("q", q), ("v", v), ("tau", tau)):
        found[name] = None if given is None else _samples(robot, name, given, len(time), *widths[name])
    positions = found["q"]
    if positions is None:
        raise OptionError(f"there are no positions: {ACCEPTED}")
    _refuse_long_quaternions(robot, positions)
    return Track.of_states(robot, time, positions, found["v"], found["tau"])


def _samples(robot: Robot, name: str, given: Any, count: int, width: int, names: Sequence[str]) -> Array:
    array = _numbers(given, name)
    if array.ndim == 1 and width == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != count:
        raise ShapeError(f"{name} must be an array ({count}, {width}), a row for each of t, not {array.shape}")
    if array.shape[1] != width:
        few = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        columns = counted(array.shape[1], "column", "columns")
        raise ShapeError(f"{name} has {columns}, and {robot.name!r} needs {width}: {few}")
    return array


def _numbers(given: Any, name: str) -> Array:
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "fiu":
            raise TypeError
        return np.array(array, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} must hold numbers, not {_shown(given)}: {ACCEPTED}") from None


def _refuse_long_quaternions(robot: Robot, q: Array) -> None:
    for joint in robot.model.joints:
        if joint.kind.quaternion is None:
            continue
        first = joint.q_slice.start + joint.kind.quaternion.start
        length = np.linalg.norm(q[:, first : first + 4], axis=1)
        off = np.abs(length - 1.0) > UNIT_LENGTH  # NaN is not
        if off.any():
            k = int(np.argmax(off))
            raise OptionError(
                f"the quaternion of joint {joint.name!r} has length {length[k]:.4g} at sample {k}, not 1: quaternions "
                "are x, y, z, w; robot.normalize(q) makes them so"
            )


def _refuse_nothing(robot: Robot, track: Track) -> None:
    """Refuse a motion that cannot be drawn at all, and warn if part of it cannot."""
    known = np.isfinite(track.q).all(axis=1)
    if not known.any():
        raise OptionError("no sample of the motion can be drawn: all of them hold NaN or infinity")
    if not known.all():
        k = int(np.argmin(known))
        name = robot.q_names[int(np.argmin(np.isfinite(track.q[k])))]
        warnings.warn(
            f"{int((~known).sum())} of {len(track)} samples of the motion are not numbers, the first at t = "
            f"{track.time[k]:g} s (sample {k}, {name!r}): the bodies that they move are not drawn then",
            ModelWarning,
            stacklevel=callers_level(),
        )


def _thinned(track: Track) -> Track:
    """Return a motion with fewer samples if it is too large for a page."""
    most = int(np.clip(MOST_NUMBERS // (7 * max(1, track.poses.position.shape[-2])), 2, MOST_SAMPLES))
    if len(track) <= most:
        return track
    return track[np.linspace(0, len(track) - 1, most).round().astype(int)]


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"a {type(given).__name__}"

"""Measurements: times, positions and joint forces, perhaps velocities, accelerations and external wrenches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import (
    ExplainsArguments,
    FileFormatError,
    IdentificationError,
    IdentificationWarning,
    OptionError,
    ShapeError,
    warn,
)
from ..io.tables.parts import OpenTable
from ..io.tables.reading import open_table
from ..io.tables.times import lost_digits, repeated, words_about_repeated
from ..spatial.arrays import Array
from . import tuned_constants as tuned

if TYPE_CHECKING:
    from ..robot.robot import Robot

CURRENT = "current"
"""Names of motor currents in tables."""


@dataclass(frozen=True, eq=False)
class Measured(ExplainsArguments):
    """Samples of a motion and of its joint forces.

    Parameters
    ----------
    t : array_like, shape (n,)
        Increasing times in seconds; they need not be evenly spaced. A row that repeats the previous one, including its
        time, is left out with a warning.
    q : array_like, shape (n, nq)
        Positions. For a mechanism with closed loops, the independent joints are sufficient: the others follow.
    tau : array_like, shape (n, nv) or (n, motors)
        Joint forces; for a floating base, or if some joints have no motor, those of the motors are sufficient.
    v, a : array_like, shape (n, nv), optional
        Velocities and accelerations, if they were measured; otherwise they are computed from the positions.
    wrenches : mapping from frame to array_like, shape (n, 6) or (n, 3), optional
        External wrenches on the robot, for example at the feet: moment and force, or force alone, at the frame's origin
        in world axes.
    name : str
        Name of the data in messages and reports.
    currents : bool
        Whether ``tau`` contains motor currents in A, in which case :func:`identify` needs ``gains``.
    remark : str
        How the columns of the file were interpreted, and by which rule.
    named : bool
        Whether columns were named for joints, so that their meaning is certain.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> Measured(t=t, q=np.sin(t)[:, None], tau=np.cos(t)[:, None])
    <Measured: 101 rows in 1 s, q and tau>
    """

    t: Array
    q: Array
    tau: Array
    v: Array | None = None
    a: Array | None = None
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    name: str = "the data"
    currents: bool = False
    remark: str = ""
    named: bool = False

    def __init__(
        self, t: ArrayLike, q: ArrayLike, tau: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None, name: str = "the data", currents: bool = False,
        remark: str = "", named: bool = False,
    ) -> None:  # fmt: skip
        times = _numbers(t, "t", 1)
        if len(times) < tuned.LEAST_SAMPLES:
            raise IdentificationError(
                f"{name}: {len(times)} rows are too few to identify anything: at least {tuned.LEAST_SAMPLES} are needed"
            )
        own: dict[str, Any] = {"t": times}
        own |= {key: _rows(x, key, len(times)) for key, x in (("q", q), ("tau", tau))}
        own |= {key: None if x is None else _rows(x, key, len(times)) for key, x in (("v", v), ("a", a))}
        given = {} if wrenches is None else wrenches
        forces = {frame: _wrench(x, frame, len(times)) for frame, x in given.items()}
        again = repeated(times, [x for x in (*own.values(), *forces.values()) if x is not None])
        _refuse_odd_times(times, ~again, name)
        if again.any():
            words = words_about_repeated(int(again.sum()), len(times))
            warn(f"{name}: {words}", IdentificationWarning)
            own = {key: None if x is None else x[~again] for key, x in own.items()}
            forces = {frame: x[~again] for frame, x in forces.items()}
        own |= {"wrenches": forces, "name": name, "currents": bool(currents), "remark": remark, "named": bool(named)}
        for key, value in own.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        present = [key for key in ("q", "v", "a", "tau") if getattr(self, key) is not None]
        present += [f"wrenches on {frame}" for frame in self.wrenches]
        if self.currents:
            present[present.index("tau")] = "currents"
        listed = ", ".join(present[:-1]) + f" and {present[-1]}"
        remark = f"; {self.remark}" if self.remark else ""
        return f"<Measured: {len(self)} rows in {self.t[-1] - self.t[0]:.4g} s, {listed}{remark}>"

    def __len__(self) -> int:
        return len(self.t)

    @classmethod
    def read(cls, path: str | os.PathLike[str], robot: Robot) -> Measured:
        """Read a table: ``.csv``, ``.txt``, ``.parquet``, ``.npz`` or ``.mat``.

        Columns are named for joints (``q_elbow``, ``v_elbow``, ``a_elbow``, ``tau_elbow``) or numbered (``q1``,
        ``q2``, ...), with a column ``t`` or ``time``; velocities and accelerations may be missing.  ``.npz`` and
        ``.mat`` files have arrays ``t``, ``q``, ``tau``, ... Names that other programs use are accepted if they are
        unambiguous, and ``remark`` says how they were interpreted. Currents (``current_elbow``, ``i_elbow``) are
        accepted in place of forces.

        Parameters
        ----------
        path : path-like
        robot : Robot
            The robot whose joints the columns are named for.
        """
        path = Path(path)
        source, currents = _open(path, robot)
        if source.doubt:
            warn(f"{path.name}: {source.doubt}", IdentificationWarning)
        if not source.has_time:
            raise IdentificationError(f"{path}: there is no column of times; name it 't' or 'time'")
        times, arrays = source.whole()
        if times is None:
            raise IdentificationError(f"{path}: there are no rows")
        tau = arrays["tau"] if "tau" in arrays else arrays[CURRENT]
        return cls(
            t=times, q=arrays["q"], tau=tau, v=arrays.get("v"), a=arrays.get("a"), name=path.name, currents=currents,
            remark=source.remark, named="q" not in source.numbered,
        )  # fmt: skip

    def rows(self, chosen: slice | Array) -> Measured:
        """Return some of the rows."""
        try:
            return replace_arrays(self, lambda x: x[chosen])
        except IndexError as problem:
            raise ShapeError(f"chosen must be a slice, or an array of rows to take: {problem}") from None

    def split(self, share: float) -> tuple[Measured, Measured]:
        """Return the first part of the data, for training, and the rest, held out.

        Parameters
        ----------
        share : float
            Share of the first part, between 0 and 1.
        """
        if not 0.0 < share < 1.0:
            raise OptionError(f"share must be between 0 and 1, not {share!r}")
        at = round(share * len(self))
        first, rest = self.rows(slice(0, at)), self.rows(slice(at, None))
        return first, rest


def replace_arrays(data: Measured, change: Any) -> Measured:
    """Return the data with a function applied to each of its arrays."""
    return Measured(
        t=change(data.t),
        q=change(data.q),
        tau=change(data.tau),
        v=None if data.v is None else change(data.v),
        a=None if data.a is None else change(data.a),
        wrenches={frame: change(x) for frame, x in data.wrenches.items()},
        name=data.name,
        currents=data.currents,
        remark=data.remark,
        named=data.named,
    )


Data = Measured | str | os.PathLike | Sequence[Any]
"""The data that identification accepts: measurements, a file with measurements, or several of either."""


def as_measured(data: Data, robot: Robot) -> list[Measured]:
    """Return data, read from a file if necessary, after checking that they fit the robot."""
    if isinstance(data, Measured):
        found = [data]
    elif isinstance(data, str | os.PathLike):
        found = [Measured.read(data, robot)]
    elif isinstance(data, Sequence) and data:
        return [one for part in data for one in as_measured(part, robot)]
    else:
        raise OptionError(f"data must be kinetree.Measured, a file, or several of them, not {type(data).__name__}")
    return [_fitted(one, robot) for one in found]


def _open(path: Path, robot: Robot) -> tuple[OpenTable, bool]:
    """Open a table of all joints, one with the forces of the motors, or one with positions of the independent joints.

    Also return whether it has currents instead of forces.
    """
    driven = [robot.v_names[k] for k in robot.model.motors]
    every = list(robot.v_names)
    choices = [(list(robot.q_names), every, every), (list(robot.q_names), every, driven)]
    if robot.loops is not None and set(robot.independent()) <= set(robot.q_names):
        choices.append((robot.independent(), robot.independent(), driven))
    units = {
        "q": dict(zip(robot.q_names, robot.q_units, strict=True)),
        "v": dict(zip(every, (f"{unit}/s" for unit in robot.v_units), strict=True)),
        "a": dict(zip(every, (f"{unit}/s^2" for unit in robot.v_units), strict=True)),
        "tau": dict(zip(every, robot.tau_units, strict=True)),
    }
    amperes = dict.fromkeys(every, "A")
    problem: FileFormatError | None = None
    for (forces, own), (q, v, tau) in product((("tau", units["tau"]), (CURRENT, amperes), ("tau", amperes)), choices):
        try:
            found = open_table(path, {"q": q, forces: tau}, None, {**units, forces: own}, {"v": v, "a": v})
            return found, own is amperes
        except FileFormatError as why:
            problem = problem or why
    assert problem is not None
    raise problem


def _fitted(data: Measured, robot: Robot) -> Measured:
    """Check the widths, and spread the forces of motors over all degrees of freedom."""
    driven = robot.model.motors
    widths = {"q": {robot.nq: ""}, "tau": {robot.nv: ""}, "v": {robot.nv: ""}, "a": {robot.nv: ""}}
    if len(driven) != robot.nv:
        widths["tau"][len(driven)] = " (those with a motor)"
    if robot.loops is not None:
        count = len(robot.independent())
        for key in ("q", "v", "a"):
            widths[key][count] = " (the independent ones)"
    for key, known in widths.items():
        own = getattr(data, key)
        if own is not None and own.shape[1] not in known:
            names = list(robot.q_names if key == "q" else robot.v_names)
            raise ShapeError(
                f"{data.name}: {key} has {own.shape[1]} columns, and {robot.name!r} needs "
                + " or ".join(f"{n}{what}" for n, what in known.items())
                + f": {', '.join(names)}"
            )
    for frame in data.wrenches:
        robot.frame(frame)
    _warn_of_independent_joints(data, robot, driven)
    if data.tau.shape[1] == robot.nv:
        return data
    tau = np.zeros((len(data), robot.nv))
    tau[:, driven] = data.tau
    return replace_arrays(data, lambda x: tau if x is data.tau else x)


def _warn_of_independent_joints(data: Measured, robot: Robot, driven: Sequence[int]) -> None:
    """Warn about how unnamed columns are assigned to joints, if they might belong to the motors instead."""
    if data.named or robot.loops is None or data.q.shape[1] == robot.nq:
        return
    taken, motors = robot.independent(), [robot.v_names[k] for k in driven]
    if taken == motors:
        return
    warn(
        f"{data.name}: q has {len(taken)} columns, which are taken for the independent joints {', '.join(taken)}, in "
        f"this order; the motors are {', '.join(motors) or 'none'}. Give the positions of all {robot.nq} joints, name "
        f"the columns in a file ('q_{taken[0]}'), or make the mechanism with independent=[...] as they are",
        IdentificationWarning,
    )


def _numbers(given: ArrayLike, what: str, axes: int) -> Array:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{what} must be an array of numbers") from None
    if found.ndim != axes:
        raise ShapeError(f"{what} must have {axes} {'axis' if axes == 1 else 'axes'}, not shape {found.shape}")
    return found


def _rows(given: ArrayLike, what: str, count: int) -> Array:
    found = np.asarray(given)
    found = _numbers(found[:, None] if found.ndim == 1 else found, what, 2)
    if len(found) != count:
        raise ShapeError(f"{what} has {len(found)} rows, and t has {count}")
    return found


def _wrench(given: ArrayLike, frame: str, count: int) -> Array:
    found = _rows(given, f"the wrench on {frame!r}", count)
    if found.shape[1] == 3:
        return np.concatenate([np.zeros_like(found), found], axis=1)
    if found.shape[1] != 6:
        raise ShapeError(
            f"the wrench on {frame!r} must be six numbers (moment, then force) or three (force), not {found.shape[1]}"
        )
    return found


def _refuse_odd_times(t: Array, kept: Array, name: str) -> None:
    if not np.isfinite(t).all():
        raise IdentificationError(
            f"{name}: the time of row {int(np.argmin(np.isfinite(t))) + 1} is not a finite number"
        )
    rows = np.flatnonzero(kept)
    steps = np.diff(t[rows])
    if (steps <= 0.0).any():
        if lost := lost_digits(t[rows]):
            raise IdentificationError(f"{name}: {lost}")
        k = int(np.argmax(steps <= 0.0))
        first, second = int(rows[k]), int(rows[k + 1])
        word, do = ("runs backwards", "sort the rows") if steps[k] < 0.0 else ("stands still", "leave one of the rows")
        raise IdentificationError(
            f"{name}: time {word} between rows {first + 1} ({t[first]:.12g} s) and {second + 1} ({t[second]:.12g} s); "
            f"{do}, or give each motion separately: identify(robot, [first, second])"
        )

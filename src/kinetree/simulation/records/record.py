"""Records: the samples of a simulated motion, and whether a robot fits one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import kinematics
from ...errors import ExplainsArguments, Message, OptionError, Setting, ShapeError
from ...io.units import ShownUnits
from ...model.describe import counted
from ...model.force_units import FORCE_OF
from ...motion.trajectory_interface import Trajectory
from ...robot.robot import Robot
from ...spatial.arrays import Array, pack, split
from ..events import Occurrence
from ..integrators.fixed_step_methods import dexp_inverse
from .energy_balance import Energies
from .limits_in_words import FELL, OUT_OF_RANGE, beyond, extremes, in_everyday, in_words, some
from .samples import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...io.tables.text import TextTable
    from .tracking import TrackingErrors

FIELDS = ("q", "v", "a", "tau", "friction", "contact_forces", "constraint_forces", "z")
"""Arrays of a record besides time and energies."""

COMPLETE, FAILED = "complete", "failed"
"""How a run ended: as requested, or with an error."""

DOUBTFUL = 0.01
"""An energy balance that is off by more is reported whenever a record is printed."""

FALLEN = 0.5
"""Share of its first height below which the center of mass of a robot that stands has fallen."""

STOPS_GIVE_WAY = 0.05
"""Fraction of a joint's range by which it may exceed a limit without being reported."""


@dataclass(frozen=True, eq=False)
class Record(ExplainsArguments):
    """Samples of a motion and its forces; time is the first axis of every array, followed by the batch, if any.

    Attributes
    ----------
    time : ndarray, shape (T,)
        Times of the samples; also available as ``t``, the name that measurements and trajectories use.
    q, v, a : ndarray, shapes (T, ..., nq), (T, ..., nv), (T, ..., nv)
    tau : ndarray, shape (T, ..., nv)
        Forces of the actuators.
    friction : ndarray, shape (T, ..., nv)
        Forces of joint friction, against the motion.
    contact_forces : ndarray, shape (T, ..., points, 3)
        Contact forces on the robot, along world axes; ``info["contact_spots"]`` says where they act.
    constraint_forces : ndarray, shape (T, ..., constraints)
        Forces that keep loops closed; their names are in ``info["constraint_names"]``.
    z : ndarray, shape (T, ..., n)
        States of controller and force elements.
    energy : Energies
        See :class:`kinetree.simulation.records.energy_balance.Energies`.
    events : tuple of Occurrence
    robot : Robot or None
        The simulated robot; None for a loaded record unless it was given again.
    status : str
        ``"complete"``, ``"stopped by <event>"``, ``"interrupted"`` or ``"failed"``.
    info : dict
        Names, integrator, numbers of steps and of evaluations.
    sampled : Samples or None
        Measurements and commands of a sampled controller, at its own instants: see :class:`kinetree.control.Sampled`.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1))
    >>> record = kt.simulate(b.build(), [0.1], time=1.0, samples=11)
    >>> record[5:].time[0]
    np.float64(0.5)
    """

    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    friction: Array
    contact_forces: Array
    constraint_forces: Array
    z: Array
    energy: Energies
    events: tuple[Occurrence, ...] = ()
    robot: Robot | None = field(default=None, compare=False)
    status: str = COMPLETE
    info: dict[str, Any] = field(default_factory=dict)
    sampled: Samples | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def t(self) -> Array:
        """The same as ``time``, (samples,), under the name that measurements and motions use."""
        return self.time

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "nothing"
        batch = f", batch {self.batch}" if self.batch else ""
        lost = int(np.count_nonzero(self.lost))
        if self.batch and lost:
            batch += f" of which {lost} lost (NaN)"
        off = self.energy.relative_error
        doubt = f", energy off by {100 * off:.3g} %" if off > DOUBTFUL else ""
        return (
            f"<Record of {self.info.get('robot', '?')!r}: {span}, {counted(len(self), 'sample', 'samples')}{batch}, "
            f"{counted(len(self.events), 'event', 'events')}, {self.status}{doubt}>"
        )

    @property
    def table(self) -> TextTable:
        """One row per freedom: first, last, least and largest position, largest speed and force among the samples."""
        return self.table_in(None)

    def table_in(self, units: str | Sequence[str] | None) -> TextTable:
        """Return :attr:`table` in units other than SI: ``print(record.table_in("deg mm rpm"))``."""
        shown = ShownUnits.read(units)
        names, of_q = self.v_names, self.q_names
        units_of = list(self.info.get("v_units") or [""] * len(names))
        rows: list[tuple[object, ...]] = []
        for k, name in enumerate(names):
            at = of_q.index(name) if name in of_q else None
            place: tuple[object, ...] = ("", "", "", "")
            if at is not None and len(self):
                q = shown.shown(self.q[..., at], units_of[k])
                one = not self.batch
                place = (float(q[0]) if one else "", float(q[-1]) if one else "", *extremes(q))
            own = units_of[k], f"{units_of[k]}/s", FORCE_OF.get(units_of[k], "")
            most = [max(map(abs, extremes(shown.shown(x[..., k], unit))), default=0.0) if len(self) else ""
                    for x, unit in zip((self.v, self.tau), own[1:], strict=True)]  # fmt: skip
            rows.append((name, ", ".join(map(shown.label, own if units else own[:1])), *place, *most))
        from ...io.tables.text import TextTable

        columns = ("joint", "unit", "first", "last", "least", "largest", "max speed", "max force")
        notes = (self._balance, *self.limits_passed, self.fallen, self.peaks_missed, self.ground_gained)
        return TextTable(
            columns, rows, repr(self).strip("<>"), "record.q, v, tau have all; record.save(path) writes them",
            notes=[*filter(None, notes)],
        )  # fmt: skip

    @property
    def _balance(self) -> str:
        """How well the energy balance holds, in words."""
        off = self.energy.relative_error
        if not len(self) or np.isnan(off):
            return ""
        return f"energy balance off by {off:.1g} of the energy exchanged (print(record.energy) shows it)"

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table.html()

    @property
    def beyond_limits(self) -> dict[str, tuple[float, float]]:
        """Coordinates that leave their ranges: the farthest position and the limit that it passes.

        Exceeding a limit by a twentieth of the range does not count, since stops are compliant.
        """
        if self.robot is None or not len(self):
            return {}
        lower, upper = self.robot.lower_limits, self.robot.upper_limits
        names, passed = self.q_names, {}
        for k in np.flatnonzero(np.isfinite(lower) | np.isfinite(upper)).tolist():
            name, span = names[k], upper[k] - lower[k]
            slack = STOPS_GIVE_WAY * (span if np.isfinite(span) else 1.0)
            least, largest = extremes(self.q[..., k])
            if largest - upper[k] > max(slack, lower[k] - least):
                passed[name] = (largest, float(upper[k]))
            elif lower[k] - least > slack:
                passed[name] = (least, float(lower[k]))
        return passed

    @property
    def too_fast(self) -> dict[str, tuple[float, float]]:
        """Freedoms that move faster than the robot's velocity limits: the largest speed and the limit."""
        if self.robot is None or not len(self):
            return {}
        return beyond(self.v_names, self.v, self.robot.velocity_limits)

    @property
    def too_strong(self) -> dict[str, tuple[float, float]]:
        """Freedoms whose motors push harder than the robot's effort limits: the largest force and the limit."""
        if self.robot is None or not len(self):
            return {}
        return beyond(self.v_names, self.tau, self.robot.effort_limits)

    @property
    def limits_passed(self) -> tuple[str, ...]:
        """Violations of position, velocity and effort limits in words, one line each; empty if limits are kept."""
        lines = []
        units = {} if self.robot is None else dict(zip(self.q_names, self.robot.q_units, strict=True))
        passed = [
            f"{name} goes to {in_everyday(at, units[name])}, past {in_everyday(limit, units[name])}"
            for name, (at, limit) in self.beyond_limits.items()
        ]
        if passed:
            lines.append(
                f"{OUT_OF_RANGE}: {some(passed)}. A simulation goes past the limits of joints unless stops hold them: "
                "ground=kt.forces.JointStops()"
            )
        lines += in_words(self.too_fast, self.too_strong, "kt.control.Saturated(controller) keeps forces to the limits")
        return tuple(lines)

    @property
    def peaks_missed(self) -> str | None:
        """A line of text if forces of the ground may be larger between the samples, or None."""
        steps = self.info.get("steps")
        if len(self) - 1 == steps or not np.any(self.contact_forces):
            return None
        many, every = counted(len(self), "sample", "samples"), "step" if steps is None else f"of the {steps} steps"
        more = "take more" if self.batch else f"without samples= there is one at each {every}"
        return f"max speed and force are those of the {many}: at touchdown forces may be larger between them; {more}"

    @property
    def fallen(self) -> str | None:
        """A line of text if a robot that stood on the ground has fallen, or None.

        That is, if its center of mass has come below half of its first height above the ground; ``info["height_left"]``
        has the least share of that height.
        """
        left = self.info.get("height_left", 1.0)
        if not left < FALLEN:
            return None
        where = f"down to {left:.0%} of its height at the start" if left > 0.0 else "below the ground"
        return f"{FELL}: its center of mass comes {where}"

    @property
    def ground_gained(self) -> str | None:
        """A line of text if ground and stops have done more work than was stored in them, or None."""
        found = self.energy.gained_from_ground()
        if found is None:
            return None
        whose = f" in simulation {', '.join(map(str, found.lane))} of the batch" if found.lane else ""
        return (
            f"the ground has done {found.joules:.3g} J of net work on {self.info.get('robot', 'the robot')!r}{whose}, "
            f"seen from t = {self.time[found.sample]:.4g} s on (record.energy.ground_gain): energy from nowhere"
        )

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.q.shape[1:-1]

    @property
    def lost(self) -> Array:
        """Which simulations of the batch, (...), became NaN or infinite, most often because the step is too large."""
        finite = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)
        return np.asarray(~finite.all(axis=0))

    def __getitem__(self, where: slice | Array) -> Record:
        """Return some of the samples; a slice or a mask over time, or one index."""
        if isinstance(where, (int, np.integer)):
            if not -len(self) <= where < len(self):
                raise IndexError(f"the record has {len(self)} samples, there is no sample {where}")
            where = slice(where, None if where == -1 else where + 1)
        arrays = {name: getattr(self, name)[where] for name in FIELDS}
        time = self.time[where]
        kept = tuple(e for e in self.events if len(time) and time[0] <= e.time <= time[-1])
        seen = self.sampled
        if seen is not None:
            seen = seen[(seen.time >= time[0]) & (seen.time <= time[-1]) if len(time) else slice(0)]
        return replace(self, time=time, energy=self.energy[where], events=kept, sampled=seen, **arrays)

    def lane(self, index: int | tuple[int, ...]) -> Record:
        """Return one simulation of a batch."""
        if not self.batch:
            raise OptionError("this record has no batch to choose from")
        at = (slice(None), *(index if isinstance(index, tuple) else (index,)))
        seen = None if self.sampled is None else self.sampled.lane(at)
        return replace(self, energy=self.energy[at], sampled=seen, **{name: getattr(self, name)[at] for name in FIELDS})

    def at(self, t: ArrayLike) -> Record:
        """Return the record at other times, between its samples.

        Positions and velocities follow cubic polynomials that match the samples' rates (on the
        manifold for quaternion joints); everything else is interpolated linearly.  For a mechanism, loops are then
        closed again, unless they were allowed to drift or a loop was driven by time.

        Parameters
        ----------
        t : float or array_like
            Times within the record.
        """
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if times.ndim > 1:
            raise ShapeError(f"t must be one time or a row of them, not of shape {times.shape}")
        if not len(self) or np.any(~((times >= self.time[0]) & (times <= self.time[-1]))):
            span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "nothing"
            raise OptionError(f"the record covers {span}: t = {t!r} is outside of it")
        if np.any(np.diff(self.time) < 0.0):
            raise OptionError("the samples of this record are not in the order of their times: sort them first")
        if len(self) == 1:
            return self[np.zeros(len(times), dtype=int)]
        k = np.clip(np.searchsorted(self.time, times, side="right") - 1, 0, len(self) - 2)
        h = self.time[k + 1] - self.time[k]
        s = np.where(h > 0, (times - self.time[k]) / np.where(h > 0, h, 1.0), 1.0)

        def linear(x: Array) -> Array:
            weight = s.reshape(-1, *(1,) * (x.ndim - 1))
            return (1 - weight) * x[k] + weight * x[k + 1]

        with np.errstate(all="ignore"):  # NaN and infinity stay so
            arrays: dict[str, Any] = {name: linear(getattr(self, name)) for name in FIELDS}
            arrays["q"], arrays["v"] = self._between(k, h, s)
            energy = Energies(**{name: linear(x) for name, x in self.energy.as_dict().items()})
        return replace(self, time=times, energy=energy, events=(), **arrays)

    def _between(self, k: Array, h: Array, s: Array) -> tuple[Array, Array]:
        if self.robot is None:
            raise OptionError("at() moves along the robot's joints: load the record with load(path, robot=...)")
        shape = (-1, *(1,) * (self.q.ndim - 1))
        h, s = h.reshape(shape), s.reshape(shape)
        q0, q1, v0, v1 = self.q[k], self.q[k + 1], self.v[k], self.v[k + 1]
        whole = self.robot.difference(q0, q1)
        tree, batch = self.robot.model, whole.shape[:-1]
        end_rate = pack(dexp_inverse(tree, split(whole), split(h * v1)), batch)
        u = _cubic(s, np.zeros_like(whole), whole, h * v0, end_rate)
        q = pack(kinematics.integrate(tree, split(q0), split(u)), batch)
        v = _cubic(s, v0, v1, h * self.a[k], h * self.a[k + 1])
        return self._closed(q, v, (s[..., 0] > 0.0) & (s[..., 0] < 1.0))

    def _closed(self, q: Array, v: Array, between: Array) -> tuple[Array, Array]:
        """Return interpolated states with closed loops; samples are left as they are."""
        robot, driven = self.robot, set(self.info.get("prescribed", ()))
        held = self.info.get("drift", "projection") not in ("none", "baumgarte")
        if robot is None or robot.loops is None or not held or driven & set(robot.constraint_names):
            return q, v
        off = np.broadcast_to(between, q.shape[:-1]) & np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        if off.any():
            fixed = [j.name for j in robot.model.joints if driven & set(robot.v_names[j.v_slice])]
            q[off] = robot.close(q[off], fixed, limits=False)
            v[off] = robot.nearest_velocity(q[off], v[off])
        return q, v

    # ------------------------------------------------------------------ names

    @property
    def q_names(self) -> list[str]:
        """One name per entry of q."""
        return list(self.info.get("q_names") or [f"q[{k}]" for k in range(self.q.shape[-1])])

    @property
    def v_names(self) -> list[str]:
        """One name per entry of v."""
        return list(self.info.get("v_names") or [f"v[{k}]" for k in range(self.v.shape[-1])])

    # ------------------------------------------------------------------ pictures and files

    def plot(
        self,
        what: str | tuple[str, ...] = (),
        path: str | os.PathLike[str] | None = None,
        *,
        joints: str | Sequence[str] | None = None,
        desired: Trajectory | None = None,
        separate: bool = False,
        units: str | Sequence[str] | None = None,
        over: str | None = None,
    ) -> Figure:
        """Draw motion, errors, torques, energy and reactions over time, each curve with the name of its joint.

        Parameters
        ----------
        what : str or tuple of str
            Some of ``"motion"``, ``"errors"``, ``"velocities"``, ``"torques"``, ``"energy"``, ``"reactions"``; by
            default everything that the record contains.  A name with an extension, ``"run.png"``, is the file to which
            all of it is saved.
        path : path, optional
            Where to save the picture.
        joints : str or sequence of str, optional
            Draw only these joints, by name; energy and reactions are those of the whole robot.
        desired : Trajectory, optional
            The desired motion, for the errors.
        separate : bool
            Whether each joint gets its own panel and scale: on a common one, torques of a wrist look flat beside those
            of a shoulder.
        units : str or sequence of str, optional
            Units to draw in instead of SI: ``"deg mm rpm"``.
        over : str, optional
            A joint, such as a crank, whose position replaces time as the horizontal axis.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> import kinetree as kt
        >>> record = kt.simulate(kt.load("kuka-kr5"), time=0.1, samples=11)
        >>> figure = record.plot(("motion", "torques"), joints=["joint_2", "joint_3"])
        """
        from .plot import plot as draw

        return draw(self, what, path, joints, desired, separate, units, over)

    def errors(self, desired: Trajectory) -> TrackingErrors:
        """Return the tracking errors of the joints with motors: desired minus actual motion.

        Parameters
        ----------
        desired : Trajectory
            The trajectory as given to the controller, of the driven joints or of all.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.load("kuka-kr5")
        >>> goal = kt.trajectories.Cycloid(robot.neutral(), robot.neutral() + 0.3, 0.5).held()
        >>> follow = kt.control.ComputedTorque(goal, kp=100.0, kd=20.0)
        >>> names, position, velocity = kt.simulate(robot, time=0.6, controller=follow).errors(goal)
        >>> bool(abs(position).max() < 1e-6)
        True
        """
        from .tracking import tracking_errors

        return tracking_errors(self, desired)

    def save(self, path: str | os.PathLike[str], units: str | Sequence[str] | ShownUnits | None = None) -> None:
        """Write to ``.npz``, ``.csv`` or ``.parquet``, completely or not at all.

        Parameters
        ----------
        path : path
        units : str or sequence of str, optional
            Units of a ``.csv`` or ``.parquet`` table instead of SI, ``"deg mm rpm"``, which its columns then name:
            ``q_elbow [deg]``.  :meth:`load` converts them back.
        """
        from . import files

        files.save(self, path, ShownUnits.read(units))

    @staticmethod
    def load(path: str | os.PathLike[str], robot: Robot | None = None) -> Record:
        """Read a record back.

        Parameters
        ----------
        path : path
            A file written by :meth:`save`.
        robot : Robot, optional
            The simulated robot, which :meth:`at` needs.  A robot with other joints is refused.
        """
        if robot is not None and not isinstance(robot, Robot):
            raise OptionError(f"robot must be a kinetree.Robot, not {type(robot).__name__}")

        def make(content: Mapping[str, Any]) -> Record:
            record = Record(**content, robot=robot)
            if robot is not None:
                require_joints_of(robot, record)
            return record

        from . import files

        return files.load(path, make)


def _cubic(s: Array, x0: Array, x1: Array, r0: Array, r1: Array) -> Array:
    """Return the Hermite polynomial on the unit interval with given ends and rates."""
    rest = x1 - x0
    return x0 + s * (r0 + s * (3 * rest - 2 * r0 - r1 + s * (r0 + r1 - 2 * rest)))


# ------------------------------------------------------------------ whether a robot fits a record


def require_joints_of(robot: Robot, record: Record, by_name: bool = True) -> None:
    """Refuse a robot that does not fit the record.

    Parameters
    ----------
    robot : Robot
    record : Record
    by_name : bool
        Whether names of joints must match as well; otherwise equal numbers of coordinates suffice.
    """
    count = record.q.shape[-1]
    own = [j.name for j in robot.model.joints if not j.mimic for _ in range(j.nq)]
    from .plot import joint_of

    given = [joint_of(name) if name not in own else name for name in record.info.get("q_names") or ()]
    if count == robot.nq and record.v.shape[-1] != robot.nv:
        has, needs = record.v.shape[-1], robot.nv
        raise OptionError(
            f"the record has {has} velocities and robot {robot.name!r} has {needs}: it is of another robot"
        )
    if count == robot.nq and (not by_name or not given or given == own):
        return
    sizes = f"the record has {count} coordinates and robot {robot.name!r} has {robot.nq}"
    if count == robot.nq:
        k = next(k for k, (a, b) in enumerate(zip(given, own, strict=True)) if a != b)
        sizes = f"coordinate {k} is of joint {given[k]!r} in the record, and of {own[k]!r} in robot {robot.name!r}"
    raise OptionError(Message(f"{sizes}: ", _difference(given, own, record)))


def _difference(given: list[str], own: list[str], record: Record) -> str:
    """Return how the two differ, in words: in the base, in joints that follow others, or altogether."""
    more, fewer = ([name for name in dict.fromkeys(a) if name not in b] for a, b in ((given, own), (own, given)))
    same = [name for name in given if name not in more] == [name for name in own if name not in fewer]
    if same and len(more) == 1 and not fewer and given[:7] == more * 7:
        floating = f"it was simulated on a floating base, joint {more[0]!r}; load the robot with "
        return Message(floating, Setting("floating_base", True))
    if same and len(fewer) == 1 and not more and own[:7] == fewer * 7:
        return Message("it was simulated on a fixed base; load the robot without ", Setting("floating_base", True))
    if given and same and any(name in own for name in given) and bool(more) != bool(fewer):
        joints = ", ".join(map(repr, more or fewer))
        where = "only in the record" if more else "not in the record"
        follow = "load the robot as it was simulated (joints that follow others: "
        return Message(f"{joints} {where}; {follow}", Setting("mimic", ...), ")")
    return f"it is of another robot ({record.info.get('robot', 'unnamed')!r})"

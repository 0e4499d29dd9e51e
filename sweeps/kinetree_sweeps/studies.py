"""Studies of a sweep, computed for many rows at once: a function, the forces of a motion, or simulations."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algorithms.joint_friction import PARAMETERS
from kinetree.errors import (
    KinetreeError,
    KinetreeWarning,
    OptionError,
    ShapeError,
    UnsupportedError,
    explains_arguments,
    refuse_unknown_arguments,
)
from kinetree.former_names import former_arguments
from kinetree.motion.trajectory_interface import Trajectory
from kinetree.robot.load import as_robot
from kinetree.simulation.arguments import force_elements
from kinetree.simulation.integrators.fixed_step_methods import ADAPTIVE
from kinetree.simulation.prescribed import Prescribed
from kinetree.simulation.records.record import Record
from kinetree.simulation.run_warnings.unheld import without_ranges
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import shown, whole_number
from kinetree.studies.measures import Measure, MovedBatch, one_of_batch

from .folder import FAILURE
from .function_study import AT_ONCE, LOST, NOT_CLOSED, Columns, SweepStudy
from .outputs import chosen, take
from .parameter_names import OF_START, NamedNumber, SweptRobot, checked_names

NUMBERS_AT_ONCE = 8_000_000
"""The most numbers of a motion that are kept in memory at once."""

SAMPLES, MOST_TIMES = 101, 10_000_000

FAR_APART = 1.0
"""If a joint turns by more than this between two samples, in radians, there is a warning."""

JUMPY = 0.25
"""Share of its range by which a velocity may change between samples, on average: eight samples per swing."""


class _OfRobot(SweepStudy):
    """A study of a robot and its surroundings."""

    swept: SweptRobot
    outputs: dict[str, Measure]

    @cached_property
    def numbers(self) -> dict[str, NamedNumber]:
        """All numbers that can vary, by name."""
        return self.swept.numbers()

    def check(self, names: tuple[str, ...]) -> None:
        """Refuse unknown names, and numbers that are named twice."""
        checked_names(names, self.numbers)
        places: dict[Any, str] = {}
        for name in names:
            number = self.numbers[name]
            for entry in number.entries:
                other = places.setdefault((number.kind, number.where, entry), name)
                if other != name:
                    raise OptionError(f"parameters {other!r} and {name!r} are of the same number: leave one out")

    def own(self, name: str) -> float:
        """Return the robot's own value."""
        return self.numbers[name].own

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "numbers"}


@explains_arguments
@former_arguments(near="q_guess")
class Forces(_OfRobot):
    """The forces that a motion requires: inverse dynamics along it, for each row.

    Parameters
    ----------
    robot : Robot, or name or path of one
        For mechanisms with closed loops, dimensions may vary as well.
    motion : Trajectory, motion of the gallery, or tuple of arrays (time, q, v, a)
        The motion of all joints of a tree, or of the independent freedoms of a mechanism.
    span : pair of floats, optional
        Start and end time; those of the motion by default.
    samples : int
        Number of samples of the motion.
    q_guess : array_like, optional
        For a mechanism, a closed configuration on the branch of the motion.
    outputs
        The results to keep, see :func:`kinetree.sweeps.measures`: ``"peak_force"``, ``"rms_force"``, ``"peak_power"``,
        ``"work"``, or functions of a :class:`kinetree.sweeps.MovedBatch`.
    friction : bool
        Whether to include the joints' own damping and friction; for trees only.
    """

    def __init__(
        self, robot: Any, motion: Any, *, span: tuple[float, float] | None = None, samples: int = SAMPLES,
        q_guess: ArrayLike | None = None, outputs: Any = "peak_force", friction: bool = False,
    ) -> None:  # fmt: skip
        self.robot = as_robot(robot)
        self.label = self.robot.name
        self.swept = SweptRobot(self.robot)
        self.outputs, self._wanted = chosen(outputs, self.robot, False), outputs
        self.friction = friction
        self.q_guess = None if q_guess is None else np.asarray(q_guess, dtype=float)
        self.time, self.states = self._sampled(motion, span, whole_number(samples, "samples", 2, MOST_TIMES))
        if friction and self.robot.loops is not None:
            raise UnsupportedError("friction of mechanisms is not included in a sweep of forces: leave it out")

    def _sampled(self, motion: Any, span: Any, samples: int) -> tuple[Array, tuple[Array, ...]]:
        closed = self.robot.loops is not None
        width = self.robot.nv if self.robot.loops is None else len(self.robot.coordinates.independent)
        if isinstance(motion, tuple) and len(motion) == 4:
            time, *states = (np.asarray(x, dtype=float) for x in motion)
        else:
            if span is None:
                span = (
                    motion.span if hasattr(motion, "span") else (getattr(motion, "start", 0), getattr(motion, "end", 0))
                )
            if not callable(motion):
                raise OptionError(f"motion must be a trajectory, or times with q, v and a, not {shown(motion)}")
            time = np.linspace(float(span[0]), float(span[1]), samples)
            if not isinstance(motion, Trajectory) and not closed and hasattr(motion, "states"):
                states = list(motion.states(time))
            else:
                states = [np.asarray(x) for x in motion(time)]
        if len(time) < 2 or not all(len(x) == len(time) for x in states):
            raise ShapeError("a motion needs two samples at least, and as many of q, v and a as of the time")
        if states[1].shape[-1] != width:
            what = "the independent freedoms" if closed else "all joints"
            raise ShapeError(f"the motion is of {states[1].shape[-1]} freedoms, and {what} are {width}")
        return time, tuple(states)

    def check(self, names: tuple[str, ...]) -> None:
        """Refuse unknown names, and names of initial states: the whole motion is given."""
        super().check(names)
        for name in names:
            if self.numbers[name].kind == OF_START:
                raise OptionError(f"{name!r} is where a simulation starts; here the whole motion is given")
            if not self.friction and name.rpartition(".")[2].partition("[")[0] in PARAMETERS:
                raise OptionError(
                    f"{name!r} changes nothing, since these forces leave friction out: friction=True includes it for "
                    "trees, and simulations include it"
                )

    @property
    def rows_at_once(self) -> int:
        """The number of rows that are computed together."""
        return max(64, min(AT_ONCE, NUMBERS_AT_ONCE // (len(self.time) * 4 * self.robot.nv)))

    def compute(self, columns: Columns) -> dict[str, Any]:
        """Compute a batch of rows."""
        rows = len(next(iter(columns.values())))
        parameters = self.swept.model_parameters(columns, self.numbers)
        failure = None
        if self.robot.loops is not None:
            drive = self.states
            found = self.robot.driven_motion(drive[0], drive[1], drive[2], parameters, q_guess=self.q_guess)
            q, v, tau = found.q, found.v, found.tau
            failure = said(~found.closed, NOT_CLOSED)
        else:
            q, v = (np.broadcast_to(x, (rows, *x.shape)) for x in self.states[:2])
            beside = _over_time(parameters)
            tau = self.robot.inverse_dynamics(*self.states, parameters=beside, friction=self.friction)
            tau = np.broadcast_to(tau, (rows, *tau.shape[-2:]))
        q, v, tau = (np.swapaxes(x, 0, 1) for x in (q, v, tau))
        moved = MovedBatch(self.robot, self.time, q, v, tau)
        return take(self.outputs, moved, rows) | ({} if failure is None else {FAILURE: failure})

    def content(self) -> Any:
        """Return everything that determines the results."""
        return "forces", self.robot.model, self.time, self.states, self.q_guess, self.friction, self._wanted


def _over_time(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Insert an axis for time after the batch of all numbers."""
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            found[name] = {
                owner: {key: x[:, None] for key, x in properties.items()} for owner, properties in value.items()
            }
        else:
            found[name] = value[:, None]
    return found


@explains_arguments
@former_arguments(record="samples", output="samples")
class Simulations(_OfRobot):
    """A simulation of a robot, for each row.

    Parameters
    ----------
    robot : Robot, or name or path of one
    q0, v0 : array_like, optional
        The initial state; only one. If it varies, loops of a mechanism are closed again.
    outputs
        The results to keep, see :func:`kinetree.sweeps.measures`: ``"peak_force"``, ``"final.q.elbow"``, ``"forward"``,
        ``"tilt"``, ``"energy_error"``, ..., or functions of the record, ``{"height": lambda record: ...}``.
    samples : int or array_like, optional
        Number of samples of each simulation, or their times, from which outputs are computed. With a fixed step, 101 by
        default, with a warning if these are too few to show extremes.
    controller, ground, forces, prescribed, time, step, integrator, ...
        See :func:`kinetree.simulate`. With a fixed step (``integrator="rk4", step=1e-3``), thousands of rows are one
        batch in machine code; with an adaptive step, rows are simulated one after the other.
    """

    def __init__(
        self, robot: Any, q0: ArrayLike | None = None, v0: ArrayLike | None = None, *, outputs: Any = "peak_force",
        controller: Any = None, ground: Any = (), forces: Any = (), prescribed: Any = None, samples: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self.robot = as_robot(robot)
        self.label = self.robot.name
        if samples is not None:
            options["samples"] = samples
        if "parameters" in options:
            raise OptionError("parameters are what a sweep varies: give them to sweep(...)")
        if "events" in options:
            raise UnsupportedError("events are for one simulation at a time, not for a sweep")
        refuse_unknown_arguments("a simulation", options, inspect.signature(simulate).parameters)
        starts = [None if x is None else np.asarray(x, dtype=float) for x in (q0, v0)]
        for name, start, width in (("q0", starts[0], self.robot.nq), ("v0", starts[1], self.robot.nv)):
            if start is not None and start.shape != (width,):
                raise ShapeError(f"{name} is one start, shape ({width},), not {start.shape}; a sweep varies it")
        elements = force_elements(ground), force_elements(forces, "forces")
        self.swept = SweptRobot(self.robot, starts[0], starts[1], controller, *elements)
        self.prescribed = Prescribed(prescribed) if isinstance(prescribed, Trajectory) else prescribed
        if "time" not in options:
            raise OptionError("a simulation needs time=: until when")
        self.options = {"progress": False, **options}
        self.outputs, self._wanted = chosen(outputs, self.robot, True), outputs
        if "energy_error" in (outputs if not isinstance(outputs, Mapping) else outputs.values()):
            self.options.setdefault("works", True)

    @property
    def by_batches(self) -> bool:
        """Whether rows are simulated together."""
        return self.options.get("integrator", "dop853") not in ADAPTIVE

    @property
    def _looks_between(self) -> bool:
        """Whether an output depends on more than the initial and final states."""
        wanted = [self._wanted] if isinstance(self._wanted, str) else self._wanted
        values = wanted.values() if isinstance(wanted, Mapping) else wanted
        return not all(isinstance(x, str) and x.startswith(("final.", "forward")) for x in values)

    @property
    def rows_at_once(self) -> int:
        """The number of rows that are simulated together."""
        if not self.by_batches:
            return 64
        given = self.options.get("samples")
        samples = SAMPLES if given is None else given if isinstance(given, int) else len(np.atleast_1d(given))
        spots = sum(len(getattr(x, "spots", ())) for x in self.swept.ground)
        width = self.robot.nq + 5 * self.robot.nv + 3 * spots + self.robot.model.n_constraints
        return max(64, min(AT_ONCE, NUMBERS_AT_ONCE // (samples * width)))

    def compute(self, columns: Columns) -> dict[str, Any]:
        """Simulate a batch of rows."""
        rows = len(next(iter(columns.values())))
        if self.by_batches:
            record = self._simulated(columns)
            if "samples" not in self.options and self._looks_between:
                _warn_of_few_samples(record)
            _warn_of_limits(record)
            moved = MovedBatch(self.robot, record.time, record.q, record.v, record.tau, record)
            return take(self.outputs, moved, rows) | {FAILURE: said(record.lost, LOST)}
        return _one_by_one([{name: x[k : k + 1] for name, x in columns.items()} for k in range(rows)], self._alone)

    def _alone(self, columns: Columns) -> dict[str, Array]:
        """Simulate one row with an adaptive integrator."""
        record = self._simulated(columns, alone=True)
        _warn_of_limits(record)
        q, v, tau = (x[:, None] for x in (record.q, record.v, record.tau))
        return take(self.outputs, MovedBatch(self.robot, record.time, q, v, tau, one_of_batch(record)), 1)

    def _simulated(self, columns: Columns, alone: bool = False) -> Record:
        swept = self.swept.varied(columns, self.numbers, alone)
        parameters = self.swept.model_parameters(columns, self.numbers, alone)
        q0, v0 = self._start(swept, columns, () if alone else (len(next(iter(columns.values()))),))
        with without_ranges():
            return simulate(
                self.robot, q0, v0, controller=swept.controller, ground=swept.ground, forces=swept.forces,
                prescribed=self.prescribed, parameters=parameters or None, **self.options,
            )  # fmt: skip

    def _start(self, swept: SweptRobot, columns: Columns, batch: tuple[int, ...]) -> tuple[Array, Array | None]:
        robot = self.robot
        q0 = np.array(np.broadcast_to(robot.neutral() if swept.q0 is None else swept.q0, (*batch, robot.nq)))
        v0 = None if swept.v0 is None else np.array(np.broadcast_to(swept.v0, (*batch, robot.nv)))
        varied = [name for name in columns if self.numbers[name].kind == OF_START]
        if varied and robot.loops is not None:
            placed = {self.numbers[name].entries[0] for name in varied if self.numbers[name].where == "q0"}
            held = [j.name for j in robot.model.joints if placed & set(range(j.q_slice.start, j.q_slice.stop))]
            q0, v0 = robot.project(q0, np.zeros((*batch, robot.nv)) if v0 is None else v0, fixed=held)
        return q0, v0

    def content(self) -> Any:
        """Return everything that determines the results."""
        swept = self.swept
        return (
            "simulations", self.robot.model, swept.q0, swept.v0, swept.controller, swept.ground, swept.forces,
            self.prescribed, self.options, self._wanted,
        )  # fmt: skip


def _warn_of_few_samples(record: Record) -> None:
    """Warn if the samples of a record are so far apart that they may miss extremes."""
    between = float(np.diff(record.time).max(initial=0.0))
    speed = np.where(np.isfinite(record.v), np.abs(record.v), 0.0)
    turned = between * speed.max(axis=0).max(axis=0, initial=0.0)
    turned[[unit != "rad" for unit in record.info["v_units"]]] = 0.0  # peaks of a hinge occur once per turn
    with np.errstate(all="ignore"):
        swing = np.abs(np.diff(record.v, axis=0)).mean(axis=0) / np.ptp(record.v, axis=0)
    swing = np.where(np.isfinite(swing), swing, 0.0).max(axis=0, initial=0.0)
    far = np.maximum(turned / FAR_APART, swing / JUMPY)
    worst = int(np.argmax(far))
    if len(record.time) > 2 and far[worst] > 1.0:
        turns = f"turns by {turned[worst]:.3g} rad" if turned[worst] > FAR_APART else "swings to and fro"
        what = f"{record.v_names[worst]!r} {turns}"
        warnings.warn(
            f"each simulation has {len(record.time)} samples, {between:.3g} s apart, between which {what}: peaks, "
            "means and functions of the record miss what is in between; samples=1001 gives more",
            KinetreeWarning,
            stacklevel=2,
        )


def _warn_of_limits(record: Record) -> None:
    """Warn of joints that move beyond their limits, with the same message for all parts."""
    passed = record.beyond_limits
    if passed:
        named = ", ".join(repr(name) for name in passed)
        warnings.warn(
            f"in some rows joints leave their ranges, {named}: nothing holds them but ground=kt.forces.JointStops()",
            KinetreeWarning,
            stacklevel=2,
        )


def _one_by_one(rows: Sequence[Columns], compute: Callable[[Columns], dict[str, Array]]) -> dict[str, Any]:
    """Compute rows one after the other; a row that fails is NaN, with an explanation."""
    found: list[dict[str, Array] | None] = []
    failures: list[str | None] = []
    for columns in rows:
        try:
            found.append(compute(columns))
            failures.append(None)
        except KinetreeError as problem:
            found.append(None)
            failures.append(str(problem))
    good = next((x for x in found if x is not None), None)
    if good is None:
        return {FAILURE: np.array(failures, dtype=object)}
    nothing = {name: np.full_like(x, np.nan) for name, x in good.items()}
    whole = {name: np.concatenate([(x or nothing)[name] for x in found]) for name in good}
    return whole | {FAILURE: np.array(failures, dtype=object)}


def said(where: Array, words: str) -> Array:
    """Return an explanation for the rows that failed, and None for the others."""
    found = np.full(np.shape(where), None, dtype=object)
    found[where] = words
    return found

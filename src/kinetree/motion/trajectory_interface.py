"""The interface of trajectories, what they return outside their time span, and one trajectory after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Message, OptionError, Setting, ShapeError, TrajectoryError, UnsupportedError
from ..spatial.arrays import pack
from ..spatial.scalar import Scalar, where
from ..spatial.taylor import Jet, as_jet
from .piecewise import is_concrete

if TYPE_CHECKING:
    from ..robot.robot import Robot

Motion = tuple[list[Scalar], list[Scalar], list[Scalar]]
"""Positions, velocities and accelerations."""

SLACK = 1e-9
"""How far beyond its end, relative to its length, a trajectory may be evaluated, for rounding in sums of times."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Base of all trajectories; a new one defines :meth:`position` and its time span.

    Parameters
    ----------
    hold : bool
        Before its start or after its end a trajectory raises an error; with
        ``hold=True`` it rests at its first or last position.
    """

    hold: bool = field(default=False, kw_only=True)

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        raise NotImplementedError

    @property
    def nq(self) -> int:
        """Number of position coordinates: the same, except with quaternions."""
        return self.n

    @property
    def start(self) -> float:
        """Beginning of the time span."""
        return 0.0

    @property
    def end(self) -> float:
        """End of the time span; may be infinite."""
        return math.inf

    def position(self, t: Scalar) -> list[Scalar]:
        """Return positions at a time between start and end, over any scalar."""
        raise NotImplementedError

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations at a time between start and end."""
        q = [as_jet(x) for x in self.position(t)]
        return [x.value for x in q], [x.first for x in q], [x.second for x in q]

    def at(self, t: Scalar) -> Motion:
        """Return positions, velocities and accelerations as lists of scalars, over any scalar.

        Outside its time span a trajectory without ``hold`` raises an error for numbers, and is NaN
        if ``t`` is not known yet (in machine code).
        """
        if not is_concrete(t) and self.is_batched():
            raise UnsupportedError(
                f"this {type(self).__name__} holds a batch of motions, which cannot be compiled: give it one"
            )
        return self.motion(self._moment(t))

    def __call__(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions, velocities and accelerations at times of any shape: arrays (..., n).

        In a law that is being compiled, where the time is not known yet, they are arrays of scalars.
        """
        if not is_concrete(t) and not hasattr(t, "__len__") and not hasattr(t, "__array__"):
            place, rate, second = self.at(t)
            return np.array(place, dtype=object), np.array(rate, dtype=object), np.array(second, dtype=object)
        times = np.asarray(t, dtype=float)
        with np.errstate(all="ignore"):
            q, v, a = self.at(times if times.ndim else float(times))
        batch = np.broadcast_shapes(times.shape, *(np.shape(x) for x in (*q, *v, *a)))
        return pack(q, batch), pack(v, batch), pack(a, batch)

    def states(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions (..., nq), velocities and accelerations (..., n): the same as the call."""
        return self(times)

    def held(self) -> Self:
        """Return this trajectory held at rest before its start and after its end."""
        return replace(self, hold=True)

    def then(self, *following: Trajectory) -> Joined:
        """Return this trajectory followed by others, see :class:`Joined`."""
        return Joined((self, *following))

    def is_batched(self) -> bool:
        """Return whether its numbers have a batch in front."""
        found = [getattr(self, f.name) for f in fields(self)]
        return any(isinstance(x, np.ndarray) and x.ndim > 1 for x in found)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times between two others at which it has a kink or jump: its ends, if nothing more is known.

        If it drives a force, an adaptive integrator has to stop there, or it may miss a pulse entirely.
        """
        return within([self.start, self.end], begin, end)

    def check_axes(self, robot: Robot, joints: Sequence[str]) -> None:
        """Refuse a robot whose joints turn in other directions than this motion assumes; most assume none."""

    def _moment(self, t: Scalar) -> Jet:
        """Return the time as a jet, kept within the span or refused outside it."""
        jet = Jet(t, 1.0)
        start, end = self.start, self.end
        if self.hold:
            return clipped(jet, start, end)
        slack = SLACK * max([1.0, *(abs(x) for x in (start, end) if math.isfinite(x))])
        if is_concrete(t):
            self._refuse(np.asarray(t), slack)
            return jet
        nowhere = Jet(math.nan, math.nan, math.nan)
        if math.isfinite(start):
            jet = where(jet < start - slack, nowhere, jet)
        return where(jet > end + slack, nowhere, jet) if math.isfinite(end) else jet

    def _refuse(self, times: np.ndarray, slack: float) -> None:
        for outside, word, bound in (
            (times > self.end + slack, "ends at", self.end),
            (times < self.start - slack, "starts at", self.start),
        ):
            if np.any(outside):
                asked = float(times[outside].flat[0])
                raise TrajectoryError(
                    f"this {type(self).__name__} {word} t = {bound:.10g} s and was asked for t = {asked:.10g} s; "
                    "make it longer, or use .held() to make it rest there",
                    asked,
                )


@dataclass(frozen=True, eq=False)
class Timed(Trajectory):
    """Base of trajectories with a beginning and a duration, which is a field of the subclasses.

    Parameters
    ----------
    begin : float
        Time at which it starts.
    """

    begin: float = field(default=0.0, kw_only=True)

    if TYPE_CHECKING:  # a field of its own here would come before those of the trajectories

        @property
        def duration(self) -> float:
            """Duration in seconds."""

    @property
    def start(self) -> float:
        """Time at which it starts."""
        return self.begin

    @property
    def end(self) -> float:
        """Time at which it arrives."""
        return self.begin + self.duration


@dataclass(frozen=True, eq=False)
class AtOtherTimes(Trajectory):
    """Base of motions that go where another trajectory does, at other times."""

    @property
    def other(self) -> Trajectory:
        """The other trajectory."""
        raise NotImplementedError

    def along(self, t: Jet) -> Jet:
        """Return the time of the other trajectory at a time."""
        raise NotImplementedError

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return self.other.n

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.other.nq

    def is_batched(self) -> bool:
        """Return whether its numbers have a batch in front."""
        return self.other.is_batched()

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        return self.other.motion(self.along(t))


@dataclass(frozen=True, eq=False)
class Joined(Trajectory):
    """One trajectory after another, each starting when the previous one ends.

    Parameters
    ----------
    parts : sequence of Trajectory
        All but the last must end.
    jumps : bool
        Whether a part may start at another position than the previous one's end (velocities may always differ).
    """

    parts: Sequence[Trajectory]
    jumps: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        _same_joints(self.parts)
        for k, part in enumerate(self.parts[:-1]):
            if not math.isfinite(part.end):
                raise OptionError(f"part {k} never ends, so part {k + 1} would never start")
            after = self.parts[k + 1]
            if not self.jumps and not same_place(
                part.motion(Jet(part.end, 1.0))[0], after.motion(Jet(_begin(after), 1.0))[0]
            ):
                raise OptionError(
                    f"part {k + 1} does not start where part {k} ends, at t = {self._edges[k + 1]:g} s; "
                    "pass jumps=True if that is intended"
                )

    @cached_property
    def _edges(self) -> list[float]:
        """When each part starts, and when the last one ends."""
        edges = [_begin(self.parts[0])]
        for part in self.parts:
            edges.append(edges[-1] + (part.end - _begin(part)))
        if self.parts[-1].hold:
            edges[-1] = math.inf
        return edges

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return self.parts[0].n

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.parts[0].nq

    @property
    def start(self) -> float:
        """When the first part starts."""
        return self._edges[0]

    @property
    def end(self) -> float:
        """When the last part ends."""
        return self._edges[-1]

    def is_batched(self) -> bool:
        """Return whether its numbers have a batch in front."""
        return any(part.is_batched() for part in self.parts)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of all parts, including their ends."""
        found = [np.array(self._edges)]
        for part, edge in zip(self.parts, self._edges, strict=False):
            late = edge - _begin(part)
            found.append(part.kinks(begin - late, end - late) + late)
        return within(np.concatenate(found), begin, end)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        chosen: list[list[Scalar]] = []
        for part, edge in zip(self.parts, self._edges, strict=False):
            local = t + (_begin(part) - edge)
            if part is self.parts[-1] and part.hold:
                local = clipped(local, -math.inf, part.end)
            own = part.motion(_kept(local, _begin(part), part.end))
            if not chosen:
                chosen = list(own)
                continue
            before = t.value < edge
            chosen = [
                [where(before, a, b) for a, b in zip(x, y, strict=True)] for x, y in zip(chosen, own, strict=True)
            ]
        return chosen[0], chosen[1], chosen[2]


def _same_joints(parts: Sequence[Trajectory]) -> None:
    if not parts:
        raise OptionError("there is nothing to put together: give at least one trajectory")
    if len({(part.n, part.nq) for part in parts}) > 1:
        listed = ", ".join(str(part.n) for part in parts)
        raise ShapeError(f"trajectories one after the other must move the same joints, theirs have {listed}")


def _begin(part: Trajectory) -> float:
    """Return the time at which a trajectory starts; zero if it has no beginning."""
    return part.start if math.isfinite(part.start) else 0.0


def _kept(t: Jet, start: float, end: float) -> Jet:
    """Return a time with its derivatives, limited to a span: parts are evaluated even when they are not selected."""
    late = where(t.value < start, start, t.value)
    return Jet(where(late > end, end, late) if math.isfinite(end) else late, t.first, t.second)


def within(times: ArrayLike, begin: float, end: float) -> np.ndarray:
    """Return the times between two others, each once and in order."""
    found = np.unique(np.asarray(times, dtype=float))
    return found[(found > begin) & (found < end)]


def same_place(a: Sequence[Scalar], b: Sequence[Scalar]) -> bool:
    """Return whether two positions are the same up to rounding."""
    return all(np.allclose(x, y, rtol=1e-9, atol=1e-9) for x, y in zip(a, b, strict=True))


def clipped(t: Jet, start: float, end: float) -> Jet:
    """Return the time clipped to a span; its derivatives are zero outside."""
    if math.isfinite(start):
        t = where(t < start, start, t)
    return where(t > end, end, t) if math.isfinite(end) else t


def trajectories_of(part: Any) -> list[Trajectory]:
    """Return the fields of a dataclass that are trajectories."""
    return [x for f in fields(part) if isinstance(x := getattr(part, f.name), Trajectory)]


def span_of(part: Any) -> tuple[float, float]:
    """Return the common time span of these; held ones have no limits."""
    known = [x for x in trajectories_of(part) if not x.hold]
    return max([-math.inf, *(x.start for x in known)]), min([math.inf, *(x.end for x in known)])


def vector(value: ArrayLike, name: str) -> np.ndarray:
    """Return finite numbers, one per degree of freedom, possibly with a batch in front."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{name} must be numbers, got {value!r}") from None
    if not np.all(np.isfinite(numbers)):
        raise OptionError(f"{name} has an entry that is not a finite number: {numbers.tolist()}")
    return numbers


def alike(first: np.ndarray, value: ArrayLike, name: str) -> np.ndarray:
    """Return a vector as long as ``first``; a single number applies to all."""
    numbers = vector(value, name)
    wanted = (1, first.shape[-1]) if np.ndim(value) != 1 else first.shape[-1:]
    if numbers.shape[-1] not in wanted:
        raise ShapeError(f"{name} has {numbers.shape[-1]} entries, and the first vector has {first.shape[-1]}")
    return np.broadcast_to(numbers, np.broadcast_shapes(numbers.shape, first.shape))


def seconds(value: float, name: str = "duration") -> float:
    """Return a positive, finite time, or raise an error."""
    if not (isinstance(value, (int, float, np.number)) and 0 < value < math.inf):
        raise OptionError(Message(Setting(name), f" must be a positive number of seconds, not {value!r}"))
    return float(value)

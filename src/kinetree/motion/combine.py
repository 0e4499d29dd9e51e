"""Trajectories put together: one after another, again and again, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from ..errors import OptionError, ShapeError
from ..spatial.scalar import Scalar, where
from ..spatial.taylor import Jet
from .piecewise import since
from .trajectory import Motion, Trajectory, clipped


def _close(a: Sequence[Scalar], b: Sequence[Scalar]) -> bool:
    return all(np.allclose(x, y, rtol=1e-9, atol=1e-9) for x, y in zip(a, b, strict=True))


def _same_joints(parts: Sequence[Trajectory]) -> None:
    if not parts:
        raise OptionError("there is nothing to put together: give at least one trajectory")
    if len({(part.n, part.nq) for part in parts}) > 1:
        listed = ", ".join(str(part.n) for part in parts)
        raise ShapeError(f"trajectories one after the other must move the same joints, theirs have {listed}")


def _begin(part: Trajectory) -> float:
    """When a trajectory starts; one that has always been there starts at zero."""
    return part.start if math.isfinite(part.start) else 0.0


def _known(part: Trajectory) -> tuple[float, float]:
    """The time that a trajectory knows; one that holds its ends knows all."""
    return (-math.inf, math.inf) if part.hold else (part.start, part.end)


def _resting(part: Trajectory, t: Jet) -> Motion:
    """A part's motion, at rest outside its time if it holds its ends."""
    return part.motion(clipped(t, part.start, part.end) if part.hold else t)


def _kept(t: Jet, start: float, end: float) -> Jet:
    """A time that runs on, with its value kept within a span: for parts that will not be chosen."""
    late = where(t.value < start, start, t.value)
    return Jet(where(late > end, end, late) if math.isfinite(end) else late, t.first, t.second)


@dataclass(frozen=True, eq=False)
class Joined(Trajectory):
    """One trajectory after another, each starting when the one before ends.

    Parameters
    ----------
    parts : sequence of Trajectory
        All but the last must end.
    jumps : bool
        Whether a part may start elsewhere than the one before ended (velocities may always differ).
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
            if not self.jumps and not _close(
                part.motion(Jet(part.end, 1.0))[0], after.motion(Jet(_begin(after), 1.0))[0]
            ):
                raise OptionError(
                    f"part {k + 1} does not start where part {k} ends, at t = {self._edges[k + 1]:g} s; "
                    "say jumps=True if that is meant"
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

    def _batched(self) -> bool:
        return any(part._batched() for part in self.parts)

    def motion(self, t: Jet) -> Motion:
        """Positions, velocities and accelerations over any scalar."""
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


@dataclass(frozen=True, eq=False)
class Repeated(Trajectory):
    """The same again and again.

    Parameters
    ----------
    part : Trajectory
        Must end, and end where it started.
    jumps : bool
        Whether it may jump back to its start.
    """

    part: Trajectory
    jumps: bool = False

    def __post_init__(self) -> None:
        part = self.part
        if not (math.isfinite(part.start) and math.isfinite(part.end)):
            raise OptionError("only a trajectory with a start and an end can be repeated")
        if not self.jumps and not _close(part.motion(Jet(part.end, 1.0))[0], part.motion(Jet(part.start, 1.0))[0]):
            raise OptionError("this trajectory does not end where it started; say jumps=True if that is meant")

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return self.part.n

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.part.nq

    @property
    def start(self) -> float:
        """When the first round starts."""
        return self.part.start

    def _batched(self) -> bool:
        return self.part._batched()

    def motion(self, t: Jet) -> Motion:
        """Positions, velocities and accelerations over any scalar."""
        begin = self.part.start
        return self.part.motion(since(t - begin, self.part.end - begin) + begin)


@dataclass(frozen=True, eq=False)
class Stacked(Trajectory):
    """Trajectories of different joints side by side; it knows the time that all of them know."""

    parts: Sequence[Trajectory]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise OptionError("there is nothing to put together: give at least one trajectory")
        if self.start > self.end:
            raise OptionError(
                f"these trajectories share no time: one starts at {self.start:g}, one ends at {self.end:g} s"
            )

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return sum(part.n for part in self.parts)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return sum(part.nq for part in self.parts)

    @property
    def start(self) -> float:
        """When the last of them starts."""
        return max(_known(part)[0] for part in self.parts)

    @property
    def end(self) -> float:
        """When the first of them ends."""
        return min(_known(part)[1] for part in self.parts)

    def _batched(self) -> bool:
        return any(part._batched() for part in self.parts)

    def motion(self, t: Jet) -> Motion:
        """Positions, velocities and accelerations over any scalar."""
        motions = [_resting(part, t) for part in self.parts]
        q, v, a = (list(chain.from_iterable(lists)) for lists in zip(*motions, strict=True))
        return q, v, a

"""Combined trajectories: repeated, or side by side; for one after another see :class:`.trajectory_interface.Joined`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..errors import OptionError
from ..spatial.taylor import Jet
from .piecewise import since
from .trajectory_interface import AtOtherTimes, Motion, Trajectory, clipped, same_place, within


def _known(part: Trajectory) -> tuple[float, float]:
    """Return the time span of a trajectory, which is infinite if it holds its ends."""
    return (-math.inf, math.inf) if part.hold else (part.start, part.end)


def _resting(part: Trajectory, t: Jet) -> Motion:
    """Return a part's motion, at rest outside its time if it holds its ends."""
    return part.motion(clipped(t, part.start, part.end) if part.hold else t)


@dataclass(frozen=True, eq=False)
class Repeated(AtOtherTimes):
    """A trajectory that is repeated without end.

    Parameters
    ----------
    part : Trajectory
        A trajectory that ends, and ends where it started.
    jumps : bool
        Whether it may jump back to its start.
    """

    part: Trajectory
    jumps: bool = False

    def __post_init__(self) -> None:
        part = self.part
        if not (math.isfinite(part.start) and math.isfinite(part.end)):
            raise OptionError("only a trajectory with a start and an end can be repeated")
        if not self.jumps and not same_place(part.motion(Jet(part.end, 1.0))[0], part.motion(Jet(part.start, 1.0))[0]):
            raise OptionError("this trajectory does not end where it started; pass jumps=True if that is intended")

    @property
    def other(self) -> Trajectory:
        """The trajectory that is repeated."""
        return self.part

    @property
    def start(self) -> float:
        """When the first cycle starts."""
        return self.part.start

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of every cycle between two times."""
        start, length = self.part.start, self.part.end - self.part.start
        first = max(0, math.floor((begin - start) / length))
        rounds = np.arange(first, max(first, math.ceil((end - start) / length)))
        once = np.append(self.part.kinks(start, self.part.end), start)
        return within(np.add.outer(rounds * length, once).ravel(), begin, end)

    def along(self, t: Jet) -> Jet:
        """Return the time within a cycle."""
        begin = self.part.start
        return since(t - begin, self.part.end - begin) + begin


@dataclass(frozen=True, eq=False)
class Stacked(Trajectory):
    """Trajectories of different joints side by side; its time span is common to all of them."""

    parts: Sequence[Trajectory]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise OptionError("there is nothing to combine: give at least one trajectory")
        if self.start > self.end:
            raise OptionError(
                f"these trajectories have no time in common: one starts at {self.start:g}, one ends at {self.end:g} s"
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
        """Time at which the last of them starts."""
        return max(_known(part)[0] for part in self.parts)

    @property
    def end(self) -> float:
        """Time at which the first of them ends."""
        return min(_known(part)[1] for part in self.parts)

    def is_batched(self) -> bool:
        """Return whether its numbers have a batch in front."""
        return any(part.is_batched() for part in self.parts)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of all parts."""
        return within(np.concatenate([part.kinks(begin, end) for part in self.parts]), begin, end)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        motions = [_resting(part, t) for part in self.parts]
        q, v, a = (list(chain.from_iterable(lists)) for lists in zip(*motions, strict=True))
        return q, v, a


@dataclass(frozen=True, eq=False)
class Picked(Trajectory):
    """Some coordinates of a trajectory in any order, for example to match the joints of a robot.

    Parameters
    ----------
    whole : Trajectory
        A trajectory without quaternions.
    order : sequence of int
        Indices of its coordinates.
    """

    whole: Trajectory
    order: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(self.order))
        if self.whole.n != self.whole.nq:
            raise OptionError("coordinates of a trajectory with quaternions cannot be picked one by one")
        for k in self.order:
            if not 0 <= k < self.whole.n:
                raise OptionError(f"there is no coordinate {k!r} of a trajectory with {self.whole.n}")

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return len(self.order)

    @property
    def start(self) -> float:
        """When the whole starts."""
        return _known(self.whole)[0]

    @property
    def end(self) -> float:
        """When the whole ends."""
        return _known(self.whole)[1]

    def is_batched(self) -> bool:
        """Return whether its numbers have a batch in front."""
        return self.whole.is_batched()

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the kinks of the whole."""
        return self.whole.kinks(begin, end)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        q, v, a = _resting(self.whole, t)
        return [q[k] for k in self.order], [v[k] for k in self.order], [a[k] for k in self.order]

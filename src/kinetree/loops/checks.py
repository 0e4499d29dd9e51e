"""Checks of states against closed loops, and the messages about states that they do not allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import OptionError, StateError
from ..model.tree import Model
from ..spatial.arrays import Array
from .tolerances import ACCEPTED_SINGLE


@dataclass(frozen=True)
class Checks:
    """Refuses states of a mechanism, naming the joint with the largest gap and what to do.

    Parameters
    ----------
    model : Model
    gaps : callable
        Maps configurations (..., nq) to gaps (..., constraints).
    single : bool
        Whether states are in single precision.
    """

    model: Model
    gaps: Callable[[Array], Array]
    single: bool = False

    def granted(self, tolerance: float) -> float:
        """Return the largest error that a state may have."""
        if not tolerance >= 0.0:
            raise OptionError(f"tolerance must not be negative, got {tolerance!r}")
        return max(tolerance, ACCEPTED_SINGLE) if self.single else tolerance

    def motion(self, squares: Array, tolerance: float, q: Array, v: Array, a: Array | None = None) -> None:
        """Refuse motions that the loops do not allow.

        ``squares`` (..., 3) are the sums of the squares of gaps, of their rates and of their second rates.
        """
        tolerance = self.granted(tolerance)
        if tolerance == np.inf or not (squares > tolerance * tolerance).any():
            return
        self.closed(q, np.sqrt(squares[..., 0]), tolerance)
        self._speed(squares[..., 1], v, tolerance)
        if a is not None:
            size = np.linalg.norm(v, axis=-1) + np.linalg.norm(a, axis=-1)
            self.refuse(
                np.sqrt(squares[..., 2]) / (1.0 + size), tolerance, "acceleration", "relative to 1 + |v| + |a|",
                "accelerations(q, v, a_independent) builds one",
            )  # fmt: skip

    def velocity(self, rates: Array, v: Array, tolerance: float) -> None:
        """Refuse velocities at which loops open; ``rates`` (..., constraints) are those of the gaps."""
        self._speed((rates * rates).sum(axis=-1), v, self.granted(tolerance))

    def _speed(self, squares: Array, v: Array, tolerance: float) -> None:
        self.refuse(
            np.sqrt(squares) / (1.0 + np.linalg.norm(v, axis=-1)), tolerance, "velocity", "relative to 1 + |v|",
            "project(q, v) corrects it, velocities(q, v_independent) builds one",
        )  # fmt: skip

    def closed(self, q: Array, error: Array, tolerance: float) -> None:
        """Refuse configurations with open loops; ``error`` is the gap of each."""
        bad = error > tolerance
        if bad.any():
            lane, where = _first(bad)
            states = np.broadcast_to(q, (*bad.shape, self.model.nq))
            name, left, unit = self.widest(self.gaps(states[lane]))
            raise StateError(
                f"the loops of {self.model.name!r} do not allow this configuration{where}: it is off by {left:.3g} "
                f"{unit} at joint {name!r}, more than {tolerance:g}; robot.close(q) closes it"
            )

    def refuse(self, error: Array, tolerance: float, what: str, unit: str, advice: str) -> None:
        """Refuse states whose error is larger than tolerated."""
        bad = error > tolerance
        if bad.any():
            lane, where = _first(bad)
            raise StateError(
                f"the loops of {self.model.name!r} do not allow this {what}{where}: it is off by {error[lane]:.3g} "
                f"({unit}), more than {tolerance:g}; {advice}"
            )

    def between_branches(self, rates: Array, tolerance: float) -> str:
        """Return a message about velocities between branches, which no acceleration keeps closed; empty if none."""
        bad = rates > tolerance
        if not bad.any():
            return ""
        return (
            f"singular configuration of {self.model.name!r}{_first(bad)[1]}: the nearest velocity lies between the "
            "branches that meet here, and no acceleration then keeps the loops closed, so forward_dynamics refuses "
            "it. Take a velocity along a branch, or a neighboring configuration, as assembled() does"
        )

    def still_open(self, gaps: Array, lane: int, batch: tuple[int, ...], fixed: Sequence[str]) -> str:
        """Return a message that names the loop that could not be closed, in one state of a batch."""
        name, left, unit = self.widest(gaps[lane])
        where = f" in state {tuple(int(i) for i in np.unravel_index(lane, batch))}" if batch else ""
        held = f" with {', '.join(fixed)} held" if fixed else ""
        return (
            f"the loops of {self.model.name!r} cannot be closed{where}{held}: {left:.3g} {unit} remain at "
            f"joint {name!r}. Start from a guess nearer to an assembled configuration, or hold other joints"
        )

    def widest(self, gaps: Array) -> tuple[str, float, str]:
        """Return the constraint of one state with the largest gap, the gap, and its unit."""
        off = np.where(np.isnan(gaps), 0.0, np.abs(gaps))
        worst = int(off.argmax())
        name, unit = self.model.constraint_names[worst], self.model.constraint_units[worst]
        return name, float(off[worst]), unit


def opening_rate(left: Array, v: Array) -> Array:
    """Return how fast loops open that no acceleration can keep closed, relative to 1 + |v|^2.

    ``left`` (..., nc) is the residual K a + K' v.
    """
    speed = np.linalg.norm(v, axis=-1)
    return np.asarray(np.linalg.norm(left, axis=-1) / (1.0 + speed * speed))


def _first(bad: Array) -> tuple[tuple[int, ...], str]:
    """Return the first of the refused states, and its position in words."""
    lane = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    return lane, f" in state {lane}" if bad.ndim else ""

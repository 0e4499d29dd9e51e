"""Actions on their way to the motors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...control.commands import Commanded
from ...errors import OptionError
from ...spatial.arrays import Array


class Actions:
    """Actions of all worlds: the last one as given, and earlier ones that have not arrived yet.

    Parameters
    ----------
    numbers : ndarray (batch, n)
        Numbers of the worlds, including the command that has arrived and the time of its arrival.
    at : mapping of str to slice
        Slices of ``command``, ``before``, ``given_at`` and ``delay`` among these.
    period : float
        Seconds between two actions.
    is_late : bool
        Whether any world may have a delay; otherwise all actions arrive at once, and none has to be stored.

    Attributes
    ----------
    given : ndarray (batch, motors)
        The last actions.
    previous : ndarray (batch, motors)
        The actions before the last.
    late : ndarray of int (batch,)
        Whole periods of the delay, which are handled here; the rest is handled within a step.
    """

    def __init__(self, numbers: Array, at: Mapping[str, slice], period: float, is_late: bool) -> None:
        self._numbers, self._period, self.is_late = numbers, period, is_late
        self._command, self._before, self._given_at, self._rest = (
            numbers[:, at[name]] for name in ("command", "before", "given_at", "delay")
        )
        self._of_model = self._rest.copy()
        self.delay = np.zeros(len(numbers))
        self.late = np.zeros(len(numbers), dtype=int)
        self._lanes = np.arange(len(numbers))
        width = self._command.shape[-1]
        self._history = np.zeros((1, len(numbers), width), dtype=numbers.dtype)
        self.given: Array = np.zeros((len(numbers), width), dtype=numbers.dtype) if is_late else self._command
        self.previous = np.zeros_like(self.given)

    def before_draws(self, lanes: Array) -> None:
        """Restore the model's delay, so that random draws can replace it."""
        if self.is_late:
            self._rest[lanes] = self._of_model[lanes]

    def begin(self, lanes: Array, resting: Array) -> None:
        """Forget the actions of some worlds, whose delay may be different from now on.

        Parameters
        ----------
        lanes : ndarray of int (n,)
        resting : ndarray (n, motors)
            The neutral command, which motors have until the first action arrives.
        """
        self._given_at[lanes] = 0.0
        for numbers in (self._command, self._before, self.previous):
            numbers[lanes] = resting
        if not self.is_late:
            return
        self.given[lanes] = resting
        self.delay[lanes] = delay = self._rest[lanes, 0].astype(float)
        self.late[lanes] = whole = np.floor(delay / self._period + 1e-9).astype(int)
        self._rest[lanes, 0] = delay - whole * self._period
        missing = int(self.late.max()) + 2 - len(self._history)
        if missing > 0:
            more = np.zeros((missing, *self._history.shape[1:]), dtype=self._history.dtype)
            self._history = np.concatenate([self._history, more])
        self._history[:, lanes] = resting

    def take(self, given: Array, time: Array) -> None:
        """Take new actions, given at a time."""
        self.previous[:] = self.given
        self.given[:] = given
        if not self.is_late:
            return
        self._history[1:] = self._history[:-1]
        self._history[0] = given
        self._command[:] = self._history[self.late, self._lanes]
        self._before[:] = self._history[self.late + 1, self._lanes]
        self._given_at[:, 0] = time


def commanded(action: Any) -> Commanded:
    """Return the law of motors for this kind of action; servos need gains."""
    if action in ("position", "velocity"):
        gain = "kp=40.0, kd=1.0" if action == "position" else "kd=1.0"
        raise OptionError(f"a servo needs gains: action=kinetree.control.Commanded({action!r}, {gain}), not {action!r}")
    found = Commanded(action) if isinstance(action, str) else action
    if not isinstance(found, Commanded):
        raise OptionError(f"action must be a kind of command or a kinetree.control.Commanded, not {action!r}")
    return found

"""Tables that hold a mechanism's independent joints only: the others follow, row after row on the same branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ClosureError, FileFormatError
from ..io.tables.columns import Wanted
from ..io.tables.reading import OpenTable, Part, Rows

if TYPE_CHECKING:
    from ..robot.mechanism import Mechanism

Array = np.ndarray
Law = Callable[..., Array]
Fault = Callable[[int, str], FileFormatError]

STEP = 0.1
"""How far, in radians or metres, an independent joint is from a closed configuration that another one is found from."""

MOST_AT_ONCE = 1000
"""Rows that are closed together."""


def fewer_columns(mechanism: Mechanism, key: str) -> Wanted | None:
    """Name the columns from which all others follow; None where one of the joints has several coordinates.

    Parameters
    ----------
    mechanism : Mechanism
    key : str
        What is given beside positions and velocities: accelerations ``a``, or joint forces ``tau``.
    """
    names = mechanism.independent()
    if not set(names) <= set(mechanism.q_names):
        return None
    third = names if key == "a" else [mechanism.v_names[k] for k in motors(mechanism)]
    return {"q": names, "v": names, key: third}


def motors(mechanism: Mechanism) -> list[int]:
    """List the freedoms with a motor."""
    driven = [j for j in mechanism.model.joints if j.actuated and not j.mimic]
    return [k for j in driven for k in range(j.v_slice.start, j.v_slice.stop)]


def followed(source: OpenTable, mechanism: Mechanism, start: Array) -> OpenTable:
    """Fill in the positions of all joints; velocities and the rest stay those of the independent ones.

    Parameters
    ----------
    source : OpenTable
        With the columns that :func:`fewer_columns` names.
    mechanism : Mechanism
    start : ndarray (nq,)
        A closed configuration: the motion is found on its branch.
    """

    def parts() -> Iterator[Part]:
        branch = Branch(mechanism, start)
        for part in source.parts():
            rows = part.read()
            whole = Rows(rows.time, (branch.along(rows.arrays[0], part.fault), *rows.arrays[1:]))
            yield Part(lambda whole=whole: whole, part.fault, part.share)  # type: ignore[misc]

    return OpenTable(parts, source.has_time, source.remark)


def following(law: Law, mechanism: Mechanism, key: str) -> Law:
    """Make a law of all joints one of positions of all joints and velocities and the rest of the independent ones."""

    def whole(q: Array, v_independent: Array, third: Array) -> Array:
        v = mechanism.velocities(q, v_independent)
        if key == "a":
            return law(q, v, mechanism.accelerations(q, v, third))
        tau = np.zeros_like(v)
        tau[..., motors(mechanism)] = third
        return law(q, v, tau)

    return whole


@dataclass
class Branch:
    """One way of assembling a mechanism, followed as its independent joints move.

    Attributes
    ----------
    mechanism : Mechanism
    q : ndarray (nq,)
        The last closed configuration.
    """

    mechanism: Mechanism
    q: Array

    def __post_init__(self) -> None:
        self.names = self.mechanism.independent()
        self.places = [self.mechanism.q_names.index(name) for name in self.names]

    def along(self, goals: Array, fault: Fault) -> Array:
        """Find closed configurations (rows, nq) with the independent joints at their goals (rows, n).

        Rows near the last one are closed together; towards one that is farther away it goes in steps.
        """
        found = np.full((len(goals), self.mechanism.nq), np.nan)
        row = 0
        while row < len(goals):
            if not np.isfinite(goals[row]).all():  # NaN in, NaN out, in this row only
                row += 1
                continue
            way = np.abs(goals[row : row + MOST_AT_ONCE] - self.q[self.places]).max(axis=-1, initial=0.0)
            far = np.flatnonzero(~(way <= STEP))
            count = int(far[0]) if len(far) else len(way)
            if not count:
                count, steps = 1, int(np.ceil(way[0] / STEP))
                for stop in np.linspace(self.q[self.places], goals[row], steps + 1)[1:-1]:
                    self._close(stop[None], lambda _, message, row=row: fault(row, message))  # type: ignore[misc]
            first = row
            found[row : row + count] = self._close(
                goals[row : row + count],
                lambda k, message, first=first: fault(first + k, message),  # type: ignore[misc]
            )
            row += count
        return found

    def _close(self, goals: Array, fault: Fault) -> Array:
        guesses = np.repeat(self.q[None], len(goals), axis=0)
        guesses[:, self.places] = goals
        closed = self.mechanism.close(guesses, fixed=self.names, must_close=False, limits=False)
        for k in np.flatnonzero(~np.isfinite(closed).all(axis=-1)):
            try:
                closed[k] = self.mechanism.close(guesses[k], fixed=self.names, limits=False)
            except ClosureError as problem:
                raise fault(int(k), str(problem)) from None
        self.q = closed[-1]
        return closed

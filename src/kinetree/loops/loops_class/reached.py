"""Configurations of a batch or path, some of which do not exist, with the reasons in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from ...errors import ClosureError
from ...spatial.arrays import Array

NOT_FINITE = "what was asked for here, or the guess, is not finite"
ANOTHER_BRANCH = "no path leads here: it is reached only on another branch, or by leaving the limits on the way"


class _QAndReached(NamedTuple):
    q: Array
    reached: Array


class Reached(_QAndReached):
    """Closed configurations ``q``, (..., nq), NaN where there is none, and booleans ``reached``, (...): a pair.

    Parameters
    ----------
    q, reached : ndarray
    why : callable
        Given the index of a configuration that does not exist, returns why, in words.
    """

    why: Callable[[tuple[int, ...]], str]

    def __new__(cls, q: Array, reached: Array, why: Callable[[tuple[int, ...]], str]) -> Self:
        """Keep what knows the reasons beside the pair."""
        self = super().__new__(cls, q, reached)
        self.why = why
        return self

    @property
    def reasons(self) -> Array:
        """Why configurations do not exist, in words, (...); None where they do.  Each is searched for once more."""
        return reasons_of(np.asarray(self.reached), self.why)


def reasons_of(there: Array, why: Callable[[tuple[int, ...]], str]) -> Array:
    """Return texts (...), None where something is there; ``why`` is asked about the rest."""
    found = np.full(there.shape, None, dtype=object)
    for lane in map(tuple, np.argwhere(~there).tolist()):
        found[lane] = why(lane)
    return found


def said_by(call: Callable[[], object], otherwise: str) -> str:
    """Return the message of the error that a search ends with."""
    try:
        call()
    except ClosureError as problem:
        return str(problem)
    return otherwise

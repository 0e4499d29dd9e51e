"""The outcome of a world's step, as one law: observation, reward, end, and whether something became NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import KinetreeError, OptionError
from ...evaluation.law_kernels import is_condition, refuse_nested
from ...spatial import Scalar, where
from .instant import Moment

RETURNED = {
    "observe": "it returns a list of numbers, such as [*m.q, *m.v]",
    "reward": "it returns one number",
    "ended": "it returns a condition, or a list of conditions any of which ends the episode",
}
"""What functions of a moment return."""

NO_NUMBER = "a comparison is not a number: choose with kinetree.where(m.q[0] > 1.0, 1.0, 0.0)"
"""Advice about a condition given in place of a number."""

OF_VECTORS = "a vector has .x, .y and .z; [*vector] is the list of them, and vector.dot(vector) its length squared"
"""Advice about a vector used like an array."""


class OutcomeLaw:
    """Functions of a moment, evaluated one after the other.

    Parameters
    ----------
    functions : mapping from str to callable or None
        Those of :data:`RETURNED`, by name.
    moment : callable
        Makes the :class:`Moment` from a world's vectors.
    flag : callable
        Maps q to a number that is negative if a joint is beyond its range.
    largest : float
        Largest allowed magnitude of numbers.

    Attributes
    ----------
    observed : int
        How many numbers ``observe`` returns; known once the law has been called.
    """

    def __init__(
        self, functions: Mapping[str, Callable[[Moment], Any] | None], moment: Callable[..., Moment],
        flag: Callable[[Sequence[Scalar]], Scalar], largest: float,
    ) -> None:  # fmt: skip
        self._functions, self._moment, self._flag, self._largest = functions, moment, flag, largest
        self.observed = 0

    def __call__(self, state: Sequence[Scalar], action: Sequence[Scalar], **others: Sequence[Scalar]) -> list[Any]:
        """Return the results of the functions, and a number that is positive if something is NaN."""
        moment, found = self._moment(state=state, action=action, **others), list[Any]()
        for name, function in self._functions.items():
            if function is not None:
                found += [
                    x + 0.0 * state[0] if isinstance(x, (int, float)) else x for x in _asked(name, function, moment)
                ]
            if name == "observe":
                self.observed = len(found)
        size: Any = 0.0
        for x in (*state, *action):
            size = size + abs(x)
        return [*found, where(size < self._largest, self._flag(state) + 0.0 * size, 1.0)]


def _asked(name: str, function: Callable[[Moment], Any], moment: Moment) -> list[Any]:
    """Return the numbers that one function gives; explain what goes wrong in it."""
    try:
        numbers = READ[name](function(moment))
        refuse_nested(numbers, "[*m.q, *m.v]")
        if any(map(is_condition, numbers)):
            raise TypeError(NO_NUMBER)
    except KinetreeError:
        raise
    except Exception as problem:
        why = OF_VECTORS if "'Vec3'" in str(problem) else repr(problem)
        raise OptionError(
            f"{name} of the World cannot be traced into machine code ({why}); "
            f"{RETURNED[name]}, written with arithmetic, < and >, kinetree.where, sin, cos, exp, ..., "
            "without if; or compute it from world.q and world.v in Python"
        ) from problem
    return numbers


def _one(answer: Any) -> list[Any]:
    """Return one number; refuse several."""
    if isinstance(answer, (list, tuple)) or (isinstance(answer, np.ndarray) and answer.dtype == object):
        raise TypeError(f"it must return one number, not {len(answer)}")
    return [answer]


def _ends(answer: Any) -> list[Any]:
    """Return a number that is positive if any of some conditions holds, or any of some numbers is positive."""
    total: Any = 0.0
    for reason in answer if isinstance(answer, (list, tuple)) else (answer,):
        total = total + where(reason if is_condition(reason) else reason > 0.0, 1.0, 0.0)
    return [total]


READ: dict[str, Callable[[Any], list[Any]]] = {"observe": list, "reward": _one, "ended": _ends}
"""Functions that turn the returned values into lists of numbers."""

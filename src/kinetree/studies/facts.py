"""Facts: statements with measured values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import refuse_unknown
from ..io.plain_json import plain

RELATIONS = ("=", "<", ">")

Value = float | int | bool | str | Sequence[float] | np.ndarray
"""The value of a fact: a number, several, or words."""


@dataclass(frozen=True, eq=False)
class Fact:
    """A statement with the measured value.

    Parameters
    ----------
    text : str
        The statement in words.
    stated : number, sequence of numbers or str
        The stated value or bound.
    measured : the same
        The measured value.
    unit : str
    tolerance : float
        How far each number may be from the stated one, for example half a unit of the last printed digit.
    relation : {"=", "<", ">"}
        ``"<"``: every number measured is below the stated one.
    holds : bool, optional
        Decided by relation and tolerance if not given.
    reason : str
        Why it does not hold, or holds only approximately. A fact that does not hold and has no reason is a mistake of
        kinetree, see :attr:`Result.faults`.
    source : str
        Source of the statement; ``"ours"`` for statements that must be true in any case.

    Examples
    --------
    >>> print(Fact("torque at the start", 2.009999, 2.0099989, "N m", tolerance=5e-7))
    torque at the start: stated 2.009999 N m, measured 2.009999 N m, holds
    """

    text: str
    stated: Value
    measured: Value
    unit: str = ""
    tolerance: float = 0.0
    relation: str = "="
    holds: bool | None = None
    reason: str = ""
    source: str = "ours"

    def __post_init__(self) -> None:
        refuse_unknown("relation of a fact", self.relation, RELATIONS)
        decided = self._compare() if self.holds is None else bool(self.holds)
        object.__setattr__(self, "holds", decided)

    def _compare(self) -> bool:
        if isinstance(self.stated, str) or isinstance(self.measured, str):
            return self.stated == self.measured
        stated, measured = np.asarray(self.stated, dtype=float), np.asarray(self.measured, dtype=float)
        if self.relation == "<":
            return bool(np.all(measured < stated))
        if self.relation == ">":
            return bool(np.all(measured > stated))
        return stated.shape == measured.shape and bool(np.all(np.abs(measured - stated) <= self.tolerance))

    @property
    def known(self) -> bool:
        """Whether it holds, or there is a reason why it does not."""
        return bool(self.holds) or bool(self.reason)

    def shown(self, which: str) -> str:
        """Return ``"stated"`` or ``"measured"`` as text, with the unit."""
        text = show(self.stated if which == "stated" else self.measured)
        sign = {"=": "", "<": "below ", ">": "above "}[self.relation] if which == "stated" else ""
        return f"{sign}{text}{' ' if self.unit else ''}{self.unit}"

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        reason = f" ({self.reason})" if self.reason else ""
        by = "" if self.source == "ours" else f" ({self.source})"
        return f"{self.text}: stated {self.shown('stated')}{by}, measured {self.shown('measured')}, {verdict}{reason}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fact as data for JSON."""
        return {
            "text": self.text, "relation": self.relation, "stated": plain(self.stated),
            "measured": plain(self.measured), "unit": self.unit, "tolerance": self.tolerance, "holds": self.holds,
            "reason": self.reason, "source": self.source,
        }  # fmt: skip


def show(value: Any) -> str:
    """Return a value as readable text: seven digits, lists in brackets."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    array = np.asarray(value)
    if array.ndim:
        return "(" + ", ".join(show(x) for x in array.tolist()) + ")"
    number = array.item()
    if isinstance(number, int):
        return str(number)
    # small numbers are residuals, for which two digits are enough
    return f"{number:.2g}" if abs(number) < 1e-4 else f"{number:.7g}"

"""What each number of a result is where its shape does not say so: the vectors of mechanisms with loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..algorithms.constraints import pattern
from ..model.units import FORCE_OF

if TYPE_CHECKING:
    from ..robot.mechanism import Mechanism

SUMMARIES = {
    "closed_inverse_dynamics": "Forces of the motors for a motion, with the loops closed.",
    "closed_forward_dynamics": "Accelerations under joint forces, with the loops closed.",
    "loop_gaps": "How far each loop constraint is from being met.",
    "loop_jacobian": "K, with which velocities obey K v = 0: a row per constraint, a column per entry of v.",
    "loop_jacobian_entries": "The entries of K, with which velocities obey K v = 0, that are not always zero.",
    "loop_drift": "dK/dt v, with which accelerations obey K a + drift = 0.",
}
"""First lines about functions that only mechanisms have."""


class Entry(NamedTuple):
    """One number of a result, or some that follow one another."""

    first: int
    last: int
    meaning: str

    @property
    def place(self) -> str:
        """As an index in C."""
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"


def entries(mechanism: Mechanism, name: str, options: Mapping[str, Any], least_quality: float) -> list[Entry]:
    """What the numbers that an algorithm gives are, one by one; nothing for algorithms that trees have too.

    Parameters
    ----------
    mechanism : Mechanism
    name : str
        Of the algorithm.
    options : mapping
        Its options, complete.
    least_quality : float
        The quality below which a closed result is worthless.
    """
    names = mechanism.constraint_names
    if name in ("closed_inverse_dynamics", "closed_forward_dynamics"):
        return _numbered(_closed(mechanism, name == "closed_inverse_dynamics", options, least_quality))
    if name in ("loop_gaps", "loop_drift"):
        rate = "/s^2" if name == "loop_drift" else ""
        held = zip(names, mechanism.constraint_units, strict=True)
        return _numbered([f"{label!r} ({unit}{rate})" for label, unit in held])
    if name == "loop_jacobian":
        nv = mechanism.nv
        return [Entry(k * nv, (k + 1) * nv - 1, f"row of {label!r}") for k, label in enumerate(names)]
    if name == "loop_jacobian_entries":
        return _numbered([f"row of {names[i]!r}, column v[{j}]" for i, j in pattern(mechanism.model)])
    return []


def parts(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> dict[str, int]:
    """Where the parts of a closed result begin, under names for macros."""
    if name not in ("closed_inverse_dynamics", "closed_forward_dynamics"):
        return {}
    nv, count = mechanism.nv, len(options["rows"])
    first = "TAU" if name == "closed_inverse_dynamics" else "A"
    return {first: 0, "LAMBDA": nv, "QUALITY": nv + count, "RESIDUALS": nv + count + 1}


def _numbered(meanings: list[str]) -> list[Entry]:
    return [Entry(k, k, meaning) for k, meaning in enumerate(meanings)]


def _closed(mechanism: Mechanism, inverse: bool, options: Mapping[str, Any], least_quality: float) -> list[str]:
    """Forces or accelerations, multipliers, quality, three residuals: as ``catalogue`` puts them together."""
    follows = set(options.get("dependent", ()))
    found = []
    for k, (label, unit) in enumerate(zip(mechanism.v_names, mechanism.v_units, strict=True)):
        if inverse:
            what = "always 0, as nothing drives it" if k in follows else f"force of its motor ({FORCE_OF[unit]})"
            found.append(f"tau, {label}: {what}")
        else:
            found.append(f"a, {label}: acceleration ({unit}/s^2)")
    for r in options["rows"]:
        found.append(f"lambda, {mechanism.constraint_names[r]!r} ({FORCE_OF[mechanism.constraint_units[r]]})")
    return [
        *found,
        f"quality, from 0 (singular) to 1: below {least_quality:g} the other numbers are worthless",
        "sum of the squares of the gaps of all loops (m, rad): how far q is from closed",
        "sum of the squares of the rates of these gaps: how far v is from what the loops allow",
        "sum of the squares of their second rates: how far a is from it" if inverse else "always 0",
    ]

"""Tables of only a mechanism's independent joints: the others follow, row after row on the same branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinetree.errors import FileFormatError, PathError
from kinetree.io.tables.columns import Wanted
from kinetree.io.tables.parts import OpenTable, Part, Rows
from kinetree.spatial.arrays import Array

if TYPE_CHECKING:
    from kinetree.robot.robot import Robot

Law = Callable[..., Array]
Fault = Callable[[int, str], FileFormatError]


def fewer_columns(mechanism: Robot, key: str) -> Wanted | None:
    """Return the columns from which all others follow; None if one of the joints has several coordinates.

    key: The quantity given besides positions and velocities: accelerations ``a``, or joint forces ``tau``.
    """
    names = mechanism.independent()
    if not set(names) <= set(mechanism.q_names):
        return None
    third = names if key == "a" else [mechanism.v_names[k] for k in mechanism.model.motors]
    return {"q": names, "v": names, key: third}


def followed(source: OpenTable, mechanism: Robot, start: Array) -> OpenTable:
    """Yield rows with the positions of all joints, but velocities and other quantities of only the independent ones.

    source: A table with the columns that :func:`fewer_columns` names.
    start: (nq,). A closed configuration on the branch of the motion.
    """

    def parts() -> Iterator[Part]:
        branch = Branch(mechanism, start)
        for part in source.parts():
            rows = part.read()
            whole = Rows(rows.time, (branch.along(rows.arrays[0], part.fault), *rows.arrays[1:]))
            yield Part(lambda whole=whole: whole, part.fault, part.share)  # type: ignore[misc]

    return OpenTable(parts, source.has_time, source.remark)


def following(law: Law, mechanism: Robot, key: str) -> Law:
    """Convert a law of all joints to one that takes velocities and other quantities of only the independent joints."""

    def whole(q: Array, v_independent: Array, third: Array) -> Array:
        v = mechanism.velocities(q, v_independent)
        if key == "a":
            return law(q, v, mechanism.accelerations(q, v, third))
        tau = np.zeros_like(v)
        tau[..., mechanism.model.motors] = third
        return law(q, v, tau)

    return whole


@dataclass
class Branch:
    """One way of assembling a mechanism, followed as its independent joints move."""

    mechanism: Robot
    q: Array  # (nq,)
    """The last closed configuration."""

    def __post_init__(self) -> None:
        self.names = self.mechanism.independent()

    def along(self, goals: Array, fault: Fault) -> Array:
        """Find closed configurations (rows, nq) with the independent joints at their goals (rows, n)."""
        path = dict(zip(self.names, goals.T, strict=True))
        try:
            found: Array = self.mechanism.follow(path, self.q, limits=False, lead_in=True)
        except PathError as problem:
            raise fault(max(problem.point, 0), problem.why) from None
        known = np.flatnonzero(np.isfinite(found).all(axis=-1))
        self.q = found[known[-1]] if len(known) else self.q
        return found

"""Loop joints that say the same, or the opposite, between the same two places."""

from __future__ import annotations

import warnings
from itertools import combinations

from ..errors import ModelWarning, callers_level
from .graph import GraphError
from .joints import Distance
from .tree import Loop


def checked_loops(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Return loops as they are; warn of one that is there twice, refuse rods of two lengths in one place."""
    for one, other in combinations(loops, 2):
        alike = _ends(one) == _ends(other)
        crossed = _ends(one) == _ends(other)[::-1]
        if isinstance(one.kind, Distance) and isinstance(other.kind, Distance) and (alike or crossed):
            if one.kind.length != other.kind.length:
                raise GraphError(
                    f"loops {one.name!r} and {other.name!r} contradict one another: they are rods between the same two "
                    f"points, {one.kind.length:g} m and {other.kind.length:g} m long",
                    other.name,
                )
        elif not alike:
            continue
        if one.kind == other.kind:
            warnings.warn(
                f"loops {one.name!r} and {other.name!r} are the same joint twice: the second holds nothing that the "
                "first does not, and leaves open how they share forces; leave one of them out",
                ModelWarning,
                stacklevel=callers_level(),
            )
    return loops


def _ends(loop: Loop) -> tuple[object, object]:
    """Return where a loop begins and ends; of a rod only the points matter."""
    if isinstance(loop.kind, Distance):
        return (loop.predecessor, loop.placement.translation), (loop.successor, loop.seat.translation)
    return (loop.predecessor, loop.placement), (loop.successor, loop.seat)

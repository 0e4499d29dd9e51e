"""The separation of two solids of any kinds."""

from __future__ import annotations

from ...errors import UnsupportedError
from . import balls_capsules_boxes
from .placed_solids import PlacedSolid, Separation
from .smooth_search import DIMENSIONS
from .supports import above_plane

GROUND = "plane"


def is_closed_form(first: str, second: str) -> bool:
    """Return whether the separation of two kinds of solids is a short sequence of operations."""
    kinds = {first, second}
    return GROUND in kinds or kinds <= set(balls_capsules_boxes.BRICKS)


def is_searched(first: str, second: str) -> bool:
    """Return whether the separation of two kinds of solids is found by :mod:`.smooth_search`."""
    return not is_closed_form(first, second) and {first, second} <= set(DIMENSIONS)


def separation(a: PlacedSolid, b: PlacedSolid) -> Separation:
    """Return the signed distance of two solids, their nearest points, and the normal, in the world."""
    if a.kind == GROUND:
        return above_plane(a, b)
    if b.kind == GROUND:
        return above_plane(b, a).swapped()
    if is_closed_form(a.kind, b.kind):
        return balls_capsules_boxes.separation(a, b)
    raise UnsupportedError(f"the distance between a {a.kind} and a {b.kind}")

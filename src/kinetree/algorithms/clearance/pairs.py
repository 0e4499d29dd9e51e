"""The separation of two solids of any kinds."""

from __future__ import annotations

from ...errors import UnsupportedError
from ...spatial import Vec3
from . import balls_capsules_boxes, nearest_in_difference
from .placed_solids import PlacedSolid, Scalars, Separation, called
from .supports import above_plane

GROUND = "plane"

ORDER = {kind: k for k, kind in enumerate(("sphere", "capsule", "box", "cylinder", "ellipsoid", "convex_hull", GROUND))}
"""Kinds, so that a pair is computed in one order only: the later one is the first."""


LONG = ({"box"}, {"box", "capsule"})
"""Kinds of closed forms that are long enough to be called."""


def separation(a: PlacedSolid, b: PlacedSolid) -> Separation:
    """Return the signed distance of two solids, their nearest points, and the normal, in the world."""
    if a.kind == GROUND:
        return above_plane(a, b)
    if not {a.kind, b.kind} <= set(ORDER):
        raise UnsupportedError(
            f"the distance between a {a.kind} and a {b.kind}: there is none yet. Leave such pairs out, "
            "robot.without_contacts(pairs), or name others, robot.clearance(q, pairs=...)"
        )
    if ORDER[a.kind] < ORDER[b.kind]:
        return separation(b, a).swapped()
    kinds = {a.kind, b.kind}
    if not kinds <= set(balls_capsules_boxes.BRICKS):
        return nearest_in_difference.separation(a, b)
    if kinds not in LONG:
        return balls_capsules_boxes.separation(a, b)
    found = called(("bricks",), lambda x, y: balls_capsules_boxes.separation(x, y).numbers(), a, b)
    return read(found).placed(a.pose)


def read(numbers: Scalars) -> Separation:
    """Return a separation from its numbers."""
    return Separation(numbers[0], Vec3(*numbers[1:4]), Vec3(*numbers[4:7]), Vec3(*numbers[7:10]))

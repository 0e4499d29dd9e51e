"""The ground of a legged ReDySim system: ``g_prop`` of its ``inputs.m`` (Shah appendix D)."""

from __future__ import annotations

from kinetree.contact.ground import Firm, Ground, PseudoCoulomb
from kinetree.contact.surfaces import Plane, Spot
from kinetree.errors import FileFormatError

from .folder import RedysimFolder

LIFT = 1.125
"""Depth of the ground over damping times largest speed over stiffness, see :meth:`Firm.overdamped`."""


def ground_of(folder: RedysimFolder) -> Ground:
    """Return the ground under the ends of all legs.

    ``g_prop`` has stiffness, damping, the largest speed of a foot, friction, its slope at rest, and which axes are
    vertical, forward and sideways.  ReDySim's own ground law is encrypted (the file fcalc), so the law of the book is
    used instead, at both ends of every link that carries no other.
    """
    given = folder.inputs
    stiffness, damping, speed, friction, sliding, up, _, _ = (float(x) for x in given.vector("g_prop", 8))
    if up not in (1.0, 2.0, 3.0):
        raise FileFormatError(
            f"g_prop(6) is {up:g}: the vertical axis is 1 (x), 2 (y) or 3 (z)", given.file, given.line("g_prop")
        )
    count = folder.count
    lengths, tips, parents = (given.vector(name, count, True) for name in ("al", "alt", "bt"))
    legs = [k for k in range(1, count) if k + 1 not in parents.tolist()]
    spots = [Spot(f"link_{k + 1}", (x, 0.0, 0.0)) for k in legs for x in (tips[k] - lengths[k], tips[k])]
    normal = (float(up == 1.0), float(up == 2.0), float(up == 3.0))
    law = Firm(stiffness, damping, LIFT * damping * speed / stiffness)
    return Ground(spots, law, PseudoCoulomb(friction, sliding, isotropic=False), Plane(normal=normal))

"""Matrices whose entries are short products of something of the row and something of the column.

Seen from one frame, a change at one joint reaches another through nothing but a dot product:
of the change of motion and what the other joint carries, or of the change of force and the
other joint's screw (:mod:`.derivatives`).  So n x n numbers follow from a table with a few
dozen numbers per degree of freedom, which takes O(n) to find.  Large trees, for which the
sparse columns of :mod:`.derivatives` and :mod:`.coriolis` would be too long a text, use this.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model.tree import BASE, Link, Model
from ..spatial import ZERO3, Force, Motion, Scalar, Transform, Vec3
from .coriolis import Gathered, gathered
from .derivatives import (
    GROUND,
    Carried,
    Seen,
    acceleration_below,
    acceleration_of,
    alone,
    by_position,
    required_force,
    see,
)
from .kinematics import AT_ORIGIN, Posed
from .newton_euler import Wrenches
from .passes import Scalars, each, inward, nothing, outward, positions, rates, table

Table = list[list[Scalar]]


class Factors(NamedTuple):
    """Which numbers of a table's rows make the entries of a matrix.

    The entry of row j and column i is the product of ``below[0]`` of j and ``below[1]`` of i
    where j belongs to the joint of i or to one it carries, of ``above[0]`` of j and ``above[1]``
    of i where the joint of j carries that of i, and zero elsewhere.  Within a joint, number
    m of ``own`` of i is added to the entry of the joint's freedom m.
    """

    below: tuple[slice, slice]
    above: tuple[slice, slice]
    own: slice | None = None


# ------------------------------------------------------------------ derivatives of inverse dynamics

_Q_BY_Q, _Q_BY_V, _SCREW, _EFFECT_Q, _EFFECT_V = slice(0, 9), slice(9, 18), slice(15, 21), slice(21, 27), slice(27, 33)
_HANDLE, _MOMENTUM, _OWN = slice(33, 42), slice(33, 39), slice(42, 48)

DERIVATIVE_NUMBERS = 48
DERIVATIVES = (
    Factors((_HANDLE, _Q_BY_Q), (_SCREW, _EFFECT_Q), _OWN),
    Factors((_HANDLE, _Q_BY_V), (_SCREW, _EFFECT_V)),
    Factors((_MOMENTUM, _SCREW), (_SCREW, _MOMENTUM)),
)
"""By q, by v, and by a but for rotors."""


class Speeding(NamedTuple):
    """Accelerations of what a joint stands on and of its body, in root coordinates."""

    before: Motion
    own: Motion


def derivative_table(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> Table:
    """Per freedom: Q by q, angular P by q, Q by v, screw, effects by q and by v, I S, 2 B^T S, bends times force."""

    def speed_up(link: Link, parent: Speeding, s: Seen, a: Scalars) -> Speeding:
        before = acceleration_below(link, s, parent.own)
        return Speeding(before, acceleration_of(s, before, a))

    def own(link: Link, s: Seen, moved: Speeding, load: Force | None) -> tuple[Any, Force]:
        body = alone(link, s)
        return tuple(body), required_force(s, body, moved.own, load)

    def gather(link: Link, total: tuple[Any, Force], s: Seen, moved: Speeding, a: Scalars) -> tuple[Table, Any]:
        carried, force = Carried(*total[0]), total[1]
        return [_row(s, k, carried, force, moved.before, a) for k in range(len(s.freedoms))], total

    up = Motion(ZERO3, -Vec3.of(gravity))
    accelerations = rates(tree, a)
    seen = outward(tree, see, GROUND._replace(pose=AT_ORIGIN.pose), positions(tree, q), rates(tree, v))
    moved = outward(tree, speed_up, Speeding(up, up), seen, accelerations)
    bodies = each(tree, own, seen, moved, wrenches or nothing(tree))
    rows, _ = inward(tree, gather, bodies, seen, moved, accelerations)
    return table(tree, rows, DERIVATIVE_NUMBERS)


def _row(s: Seen, k: int, carried: Carried, force: Force, before: Motion, a: Scalars) -> list[Scalar]:
    f = s.freedoms[k]
    change = by_position(s, k, before, a)
    effects = carried.change(*change) + f.screw.cross_force(force), carried.change(*f.by_rate)
    handle = *(carried.inertia @ f.screw), *carried.mirrored(f.screw)
    bends = [bend.dot(force) for bend in f.bends]
    row = *change[1], *change[0].angular, *f.by_rate[1], *f.screw, *effects[0], *effects[1], *handle, *bends
    return [*row, *[0.0] * (DERIVATIVE_NUMBERS - len(row))]


# ------------------------------------------------------------------ the Coriolis matrix

CORIOLIS_NUMBERS = 27
CORIOLIS = (Factors((slice(12, 21), slice(0, 9)), (slice(6, 12), slice(21, 27))),)


class Placed(NamedTuple):
    """Pose of a body as its root body sees it."""

    pose: Transform


def coriolis_table(tree: Model, q: Scalars, v: Scalars) -> Table:
    """Per freedom: S', S, I S, B^T S (its moment), I S' + B S."""

    def place(link: Link, parent: Placed, p: Posed) -> Placed:
        return parent if link.parent == BASE else Placed((parent.pose @ p.transform).collapsed())

    def row(link: Link, placed: Placed, g: Gathered) -> Table:
        motion, force = placed.pose.motion_to_parent, placed.pose.force_to_parent
        return [
            [*motion(ds), *motion(s), *force(plain), *force(mirrored).moment, *force(full)]
            for s, ds, (full, plain, mirrored) in zip(g.subspace, g.rates, g.forces, strict=True)
        ]

    posed, parts = gathered(tree, q, v)
    placed = outward(tree, place, Placed(AT_ORIGIN.pose), posed)
    return table(tree, each(tree, row, placed, parts), CORIOLIS_NUMBERS)

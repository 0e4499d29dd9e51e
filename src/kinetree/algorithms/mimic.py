"""Forward dynamics when some joints mimic others.

The tree is solved with every joint free; then the multipliers that hold the followers to
their leaders come from a small system, one row per follower:  a_f = ratio * a_leader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.tree import Link, Model
from ..spatial import Scalar, ldl, ldl_solve
from .newton_euler import Wrenches
from .passes import Scalars, positions, rates

Solver = Callable[..., list[Scalar]]


def expand(tree: Model, tau: Scalars) -> list[Scalar]:
    """Return joint forces of the freed tree that do the same work: all at the leaders."""
    wide: list[Scalar] = []
    for link in tree.links:
        wide.extend([0.0] * link.kind.nv if link.follows else tau[link.v_slice])
    return wide


def forward_dynamics(
    solve: Solver,
    tree: Model,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    gravity: Scalars,
    wrenches: Wrenches | None = None,
) -> list[Scalar]:
    """Return accelerations of the independent coordinates, by any solver for trees of free joints."""
    free = tree.independent
    wide_q = [x for own in positions(tree, q) for x in own]
    wide_v = [x for own in rates(tree, v) for x in own]
    a = solve(free, wide_q, wide_v, expand(tree, tau), gravity, wrenches)
    rows = [_row(tree, free, link) for link in tree.links if link.follows]
    still, weightless = [0.0] * free.nv, (0.0, 0.0, 0.0)
    responses = [solve(free, wide_q, still, row, weightless) for row in rows]
    system = [[_dot(row, response) for response in responses] for row in rows]
    multipliers = ldl_solve(ldl(system), [-_dot(row, a) for row in rows])
    for multiplier, response in zip(multipliers, responses, strict=True):
        a = [x + multiplier * y for x, y in zip(a, response, strict=True)]
    owners = [i for i, link in enumerate(tree.links) if not link.follows]
    return [x for i in owners for x in a[free.links[i].v_slice]]


def _row(tree: Model, free: Model, follower: Link) -> list[float]:
    """Return coefficients of ``a_f - ratio * a_leader``."""
    row = [0.0] * free.nv
    row[free.links[follower.index].v_slice.start] = 1.0
    mimic = tree.joints[follower.index].mimic
    assert mimic is not None
    row[free.joint(mimic.leader).v_slice.start] -= follower.ratio
    return row


def _dot(row: Sequence[float], x: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for c, value in zip(row, x, strict=True):
        if c:
            total = total + c * value
    return total

"""Forward dynamics when some joints mimic others.

A leader and its followers, with the bodies between them, are one joint in a tree of clusters, which the
articulated-body recursion treats like any other (:mod:`.loop_clusters`); its only constraints are a_f = ratio *
a_leader. With other methods, or if leaders are far from their followers, the tree is solved with every joint free; then
a small system with one row per follower gives the multipliers that hold the followers to their leaders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.tree import Model
from ..spatial import Scalar, ldl, ldl_solve
from .loop_clusters import ClusterJoint, accelerations
from .newton_euler import Wrenches, base_at_rest, move
from .passes import Scalars, nothing, outward, positions, rates

Solver = Callable[..., list[Scalar]]

MOST_FREEDOMS = 12
"""If a leader and the joints between it and its followers have more freedoms than this, multipliers cost less."""


def expand(tree: Model, tau: Scalars) -> list[Scalar]:
    """Return joint forces of the freed tree that do the same work: all at the leaders."""
    wide: list[Scalar] = []
    for link in tree.links:
        wide.extend([0.0] * link.kind.nv if link.follows else tau[link.v_slice])
    return wide


def clusters(tree: Model) -> list[ClusterJoint]:
    """Return leaders with their followers and the bodies between them, and all other bodies, carriers first."""
    together = [{i} for i in range(len(tree.links))]
    for follower in (link for link in tree.links if link.follows):
        ends = follower.index, _leader(tree, follower.index)
        group = {*ends, *(set(tree.support(ends[0])) ^ set(tree.support(ends[1])))}
        for other in [other for other in together if other & group]:
            together.remove(other)
            group |= other
        together.append(group)
    free = tree.independent
    found = []
    for bodies in sorted(map(sorted, together)):
        led, own = ([i for i in bodies if tree.links[i].follows is kind] for kind in (True, False))
        freedoms = (tuple(j for i in some for j in range(free.nv)[free.links[i].v_slice]) for some in (own, led))
        found.append(ClusterJoint(tuple(bodies), tree.parents[bodies[0]], *freedoms))
    return found


def forward_dynamics_by_clusters(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> list[Scalar] | None:
    """Return accelerations of the independent coordinates; None if a cluster has too many of them."""
    order, free = clusters(tree), tree.independent
    if any(len(group.bodies) > 1 and len(group.independent) > MOST_FREEDOMS for group in order):
        return None
    own_q, own_v = positions(tree, q), rates(tree, v)
    moving = outward(free, move, base_at_rest(gravity), own_q, own_v, nothing(free))

    def following(group: ClusterJoint) -> dict[int, list[Scalar]]:
        return {
            free.links[i].v_slice.start: [*_shares(tree, free, i, group.independent), 0.0]
            for i in group.bodies
            if tree.links[i].follows
        }

    a = accelerations(free, order, moving, wrenches, expand(tree, tau), following)
    return [x for i, link in enumerate(tree.links) if not link.follows for x in a[free.links[i].v_slice]]


def _shares(tree: Model, free: Model, follower: int, independent: Sequence[int]) -> list[Scalar]:
    """Return the coefficients with which a follower follows the independent freedoms of its group."""
    leader = free.links[_leader(tree, follower)].v_slice.start
    return [tree.links[follower].ratio if j == leader else 0.0 for j in independent]


def forward_dynamics(
    solve: Solver, tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None =
    None, by_clusters: bool = False,
) -> list[Scalar]:  # fmt: skip
    """Return accelerations of the independent coordinates: by clusters, or by any solver for trees of free joints."""
    found = forward_dynamics_by_clusters(tree, q, v, tau, gravity, wrenches) if by_clusters else None
    if found is not None:
        return found
    free = tree.independent
    wide_q = [x for own in positions(tree, q) for x in own]
    wide_v = [x for own in rates(tree, v) for x in own]
    a = solve(free, wide_q, wide_v, expand(tree, tau), gravity, wrenches)
    rows = ties(tree)
    still, weightless = [0.0] * free.nv, (0.0, 0.0, 0.0)
    responses = [solve(free, wide_q, still, row, weightless) for row in rows]
    system = [[_dot(row, response) for response in responses] for row in rows]
    multipliers = ldl_solve(ldl(system), [-_dot(row, a) for row in rows])
    for multiplier, response in zip(multipliers, responses, strict=True):
        a = [x + multiplier * y for x, y in zip(a, response, strict=True)]
    owners = [i for i, link in enumerate(tree.links) if not link.follows]
    return [x for i in owners for x in a[free.links[i].v_slice]]


def ties(tree: Model) -> list[list[float]]:
    """Return the coefficients of ``a_f - ratio * a_leader`` of the freed tree, one row per follower."""
    free, rows = tree.independent, []
    for follower in (link for link in tree.links if link.follows):
        row = [0.0] * free.nv
        row[free.links[follower.index].v_slice.start] = 1.0
        row[free.links[_leader(tree, follower.index)].v_slice.start] -= follower.ratio
        rows.append(row)
    return rows


def _leader(tree: Model, follower: int) -> int:
    mimic = tree.joints[follower].mimic
    assert mimic is not None
    return tree.joint_index[mimic.leader]


def _dot(row: Sequence[float], x: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for c, value in zip(row, x, strict=True):
        if c:
            total = total + c * value
    return total

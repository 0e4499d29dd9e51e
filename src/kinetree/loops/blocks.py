"""Which rows of a closing task are solved together, and in which order.

Rows that involve only as many freedoms as there are rows determine these freedoms on their own: they come first, in the
order of their dependence (the fine decomposition of Dulmage and Mendelsohn).  The remaining rows are split into sets
that share no freedom.  If the whole pose of a platform is given, loops see it at its goal, and each leg stands alone:
see :func:`placed`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from ..algorithms import loop_constraints, placed_bodies
from ..algorithms.newton_closing_step import Block, FrameGoal, PlacedBodies
from ..algorithms.passes import present
from ..model.tree import BASE, Link, Model
from ..spatial import IDENTITY
from ..spatial.arrays import Array


def pattern(model: Model, goals: Sequence[FrameGoal], free: Sequence[int]) -> dict[int, set[int]]:
    """Return, for each row of loops and then of goals, the indices of the free freedoms that it depends on."""
    place = {j: c for c, j in enumerate(free)}
    found: dict[int, set[int]] = {i: set() for i in range(model.n_constraints)}
    for i, j in loop_constraints.pattern(model):
        if j in place:
            found[i].add(place[j])
    for goal in goals:
        moving = {
            j
            for body in model.support(model.frame(goal.frame).body)
            for j in range(model.nv)[model.links[body].v_slice]
        }
        for _ in range(goal.rows):
            found[len(found)] = {place[j] for j in moving if j in place}
    return found


def placed(model: Model, goals: Sequence[FrameGoal], free: Sequence[int], rows: Sequence[int]) -> PlacedBodies | None:
    """Return how loops are closed with the bodies of frames at their goals; None if these are not whole poses.

    Parameters
    ----------
    model : Model
    goals : sequence of FrameGoal
    free : sequence of int
        The free freedoms.
    rows : sequence of int
        Independent rows; those of goals that are not among them do not move.
    """
    bodies = [model.frame(goal.frame).body for goal in goals]
    tied = {name for joint in model.joints if joint.mimic for name in (joint.name, joint.mimic.leader)}
    if not goals or not all(goal.is_pose for goal in goals):
        return None
    if BASE in bodies or len(set(bodies)) < len(bodies) or any(model.joints[b].name in tied for b in bodies):
        return None
    place, standing = {j: c for c, j in enumerate(free)}, model
    found: dict[int, set[int]] = {i: set() for i in range(model.n_constraints)}
    for body in bodies:
        standing = placed_bodies.placed(standing, body, IDENTITY)
        carrying = [model.links[i] for i in model.support(body)]
        moving = {j for link in carrying for j in link.freedoms}
        turning = moving - _at_the_origin(carrying[-1])
        for columns in [moving] * 3 + [turning] * 3:
            found[len(found)] = {place[j] for j in columns if j in place}
    for i, j in loop_constraints.pattern(standing):
        if j in place:
            found[i].add(place[j])
    own = find(found, rows)
    return PlacedBodies(own, tuple(_turned(standing, own)))


def _at_the_origin(link: Link) -> set[int]:
    """Return the freedoms of a joint that only turn its body about the body's origin."""
    kind = link.kind
    somewhere = kind.integrate(kind.neutral(), [0.3 + 0.1 * k for k in range(kind.nv)])
    columns = zip(link.freedoms, kind.subspace(somewhere), strict=True)
    return {j for j, s in columns if not any(present(x) for x in s.linear)}


def _turned(model: Model, found: Sequence[Block]) -> Iterator[int]:
    """Yield the loops of which fewer freedoms move the successor, and whose rows may be along any axes."""
    first = 0
    for i, loop in enumerate(model.loops):
        own = set(range(first, first + loop.count))
        first += loop.count
        after, before = (set(model.support(body)) for body in (loop.successor, loop.predecessor))
        fewer = _freedoms(model, after - before) < _freedoms(model, before - after)
        if fewer and placed_bodies.holds_a_point(loop) and any(own <= set(block.rows) for block in found):
            yield i


def _freedoms(model: Model, bodies: Collection[int]) -> int:
    return sum(len(model.links[i].freedoms) for i in bodies)


def find(columns: Mapping[int, set[int]], rows: Sequence[int], redundant: Sequence[int] = ()) -> tuple[Block, ...]:
    """Return blocks of rows, each with the indices of the free freedoms that it determines.

    Parameters
    ----------
    columns : mapping of int to set of int
        Columns of each row.
    rows : sequence of int
        Rows that are independent of one another.
    redundant : sequence of int
        Rows that contradict these because of rounding: they stay in one block with everything they share freedoms with.
    """
    count = 1 + max((c for i in (*rows, *redundant) for c in columns[i]), default=-1)
    table = np.zeros((len(rows), count), dtype=bool)
    for k, i in enumerate(rows):
        table[k, list(columns[i])] = True
    matched = maximum_bipartite_matching(csr_array(table), perm_type="column")
    square = np.zeros(len(rows), dtype=bool) if redundant or (matched < 0).any() else _square(table, matched)
    ordered = _in_order(table, matched, square)
    decided = {int(matched[k]) for part in ordered for k in part}
    blocks = [Block(tuple(rows[k] for k in part), tuple(sorted(int(matched[k]) for k in part))) for part in ordered]
    left = [*(i for i, alone in zip(rows, square, strict=True) if not alone), *redundant]
    for own, places in loop_constraints.grouped({i: columns[i] - decided for i in left}):
        counting, others = tuple(i for i in own if i not in redundant), tuple(i for i in own if i in redundant)
        blocks += [Block(counting, tuple(places), others)] if counting and places else []
    return tuple(blocks)


def together(columns: Mapping[int, set[int]], rows: Sequence[int]) -> tuple[Block, ...]:
    """Return rows in blocks that share no freedom, whether or not the rows are independent."""
    return tuple(
        Block(tuple(own), tuple(places)) for own, places in loop_constraints.grouped({i: columns[i] for i in rows})
    )


def _square(table: Array, matched: Array) -> Array:
    """Return which rows (m,) need all their freedoms: no exchange between rows would leave one of these unused."""
    free = np.ones(table.shape[1], dtype=bool)
    free[matched] = False
    spare: Array = np.asarray(table[:, free].any(axis=1))
    for _ in spare:  # at most this many rounds
        spare = np.asarray(spare | table[:, matched[spare]].any(axis=1))
    return ~spare


def _in_order(table: Array, matched: Array, square: Array) -> list[Array]:
    """Return parts of the square rows, each needing only its own freedoms and those of previous parts."""
    rows = np.flatnonzero(square)
    needs = table[np.ix_(rows, matched[rows])]
    count, label = connected_components(csr_array(needs), directed=True, connection="strong")
    waiting = {part: set(label[needs[label == part].any(axis=0)].tolist()) - {part} for part in range(count)}
    ordered: list[Array] = []
    while waiting:
        ready = [part for part, others in waiting.items() if others.isdisjoint(waiting)]
        ordered += [rows[label == part] for part in ready]
        for part in ready:
            del waiting[part]
    return ordered

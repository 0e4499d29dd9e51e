"""Which rows of a closing task are solved together, and in which order.

Rows that involve only as many freedoms as there are rows determine these freedoms on their own: they come first, in the
order of their dependence (the fine decomposition of Dulmage and Mendelsohn).  If a platform is held, the first ones are
its own freedoms, followed by the legs one by one.  The remaining rows are split into sets that share no freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from ..algorithms import loop_constraints
from ..algorithms.newton_closing_step import Block, FrameGoal
from ..model.tree import Model
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

"""A robot as an articulated body with several handles (Featherstone section 9.5).

Forces f_g on the handles accelerate them linearly,

    a_h = sum over g of Phi_hg f_g + b_h        (Featherstone eq. 9.18)

Each Phi_hg is an inverse inertia or, for two different handles, an inverse cross-inertia.  Across a joint that yields,
accelerations are passed on by the propagator A = 1 - S D^-1 S^T I^A (Featherstone eq. 9.39), so that

    Phi_ij = A_i Phi_pj   (Featherstone eq. 9.35),    Phi_ii = A_i Phi_pi + S_i D_i^-1 S_i^T,    Phi_ji = Phi_ij^T

with p the body before i, and zero if p is the ground.  Featherstone uses the inertias I^B of every link (eq. 9.32),
which exist only for bodies that no joint holds to the ground; inverse inertias always exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import SingularError
from ..model.tree import BASE, Model
from ..spatial import Force, Motion, Scalar, Transform, combine, ldl, ldl_solve
from . import loop_constraints
from .articulated_body import articulated_inertias, forward_dynamics
from .constrained_dynamics import Residuals, inner, least_share
from .jacobian import express
from .kinematics import Posed, of_frame, poses
from .passes import Scalars, add, part, present

Matrix = list[list[Scalar]]

Columns = list[Motion]
"""A 6x6 matrix that maps a force to a motion: its six columns."""


class CrossInertias:
    """Inverse inertias between any two bodies of a tree, each computed on first use."""

    def __init__(self, tree: Model, posed: Sequence[Posed]) -> None:
        if tree.has_followers:
            raise SingularError("articulated bodies need independent joints; see algorithms.mimic")
        self.tree = tree
        self.transforms, self.subspaces = part(posed, 1), part(posed, 2)
        self.pivots = [pivot for _, pivot in articulated_inertias(tree, self.transforms, self.subspaces)]
        self._known: dict[tuple[int, int], Columns | None] = {}

    def between(self, i: int, j: int) -> Columns | None:
        """Return the acceleration of body i per force on body j, both in their own frames; None for zero."""
        if BASE in (i, j):
            return None
        if i < j:  # a body comes after all bodies that carry it
            found = self.between(j, i)
            return None if found is None else transposed(found)
        if (i, j) not in self._known:
            handed = self.between(self.tree.links[i].parent, j)
            own = self._give_way(i) if i == j else None
            passed = None if handed is None else [self._across(i, m) for m in handed]
            self._known[i, j] = add_columns(passed, own)
        return self._known[i, j]

    def _across(self, i: int, m: Motion) -> Motion:
        """Return an acceleration passed on to body i (Featherstone eq. 9.39)."""
        here = self.transforms[i].motion_to_child(m)
        return here - combine(self.subspaces[i], [here.dot(psi) for psi in self.pivots[i].psi])

    def _give_way(self, i: int) -> Columns:
        """Return S D^-1 S^T: how much the joint before body i yields."""
        s, inverse = self.subspaces[i], self.pivots[i].d_inverse
        yielding = [combine(s, row) for row in inverse]
        return [combine(yielding, components) for components in zip(*(list(column) for column in s), strict=True)]


def transposed(columns: Columns) -> Columns:
    """Return the transpose: rows of components become columns."""
    return [Motion.of(row) for row in zip(*(list(c) for c in columns), strict=True)]


def add_columns(a: Columns | None, b: Columns | None) -> Columns | None:
    """Return a sum, in which None stands for zero."""
    if a is None or b is None:
        return b if a is None else a
    return [x + y for x, y in zip(a, b, strict=True)]


def seen_at(columns: Columns, here: Callable[[Motion], Motion], there: Callable[[Motion], Motion]) -> Columns:
    """Return an inverse inertia with accelerations and forces in other coordinates: here Phi there^T."""
    return transposed([there(m) for m in transposed([here(m) for m in columns])])


def inverse_inertia(tree: Model, q: Scalars, names: Sequence[str], axes: str = "body") -> Matrix:
    """Return all Phi_hg of several frames in one matrix."""
    posed = poses(tree, q)
    inertias = CrossInertias(tree, posed)
    frames = [of_frame(tree, name, posed) for name in names]
    writers = [_writer(local, world, axes) for _, local, world in frames]
    nothing = [[0.0] * 6 for _ in range(6)]
    blocks: dict[tuple[int, int], Matrix] = {}
    for h, (body, _, _) in enumerate(frames):
        for g in range(h + 1):
            found = inertias.between(body, frames[g][0])
            block = nothing if found is None else [list(c) for c in seen_at(found, writers[h], writers[g])]
            blocks[g, h] = block  # by columns of Phi_hg, which are the rows of Phi_gh
            blocks[h, g] = [list(row) for row in zip(*block, strict=True)]
    count = range(len(names))
    return [[x for g in count for x in blocks[h, g][k]] for h in count for k in range(6)]


def _writer(local: Transform, world: Transform, axes: str) -> Callable[[Motion], Motion]:
    return lambda m: express(local.motion_to_child(m), world, axes)


def closed_forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Any, loads: Any, rows: Sequence[int],
    stabilization: tuple[float, float] = (0.0, 0.0),
) -> tuple[list[Scalar], list[Scalar], Scalar, Residuals]:  # fmt: skip
    """Return accelerations, multipliers of ``rows``, quality, and how consistent the state is.

    The two bodies that a loop joint joins are handles, and its force keeps them together (Featherstone eq. 9.27-9.29):
    Lambda phi + beta = 0, with Lambda_kl = R_k^T (Phi_ss - Phi_ps - Phi_sp + Phi_pp) R_l and beta the acceleration
    with which the loop would open.  No mass matrix is formed, and no constraint matrix.
    """
    inertias = CrossInertias(tree, poses(tree, q))
    free = forward_dynamics(tree, q, v, tau, gravity, loads)
    sides = loop_constraints.LoopSides(tree, q)
    motions = loop_constraints.loop_motions(tree, q, v, sides, free)
    opening = loop_constraints.opening(tree, motions)
    speeds = [m.twist.dot(c.force) for m in motions for c in m.closing.constraints]
    gaps = [c.gap for m in motions for c in m.closing.constraints]
    alpha, beta = stabilization
    target = [-opening[r] for r in rows]
    if alpha or beta:
        target = [t - 2.0 * alpha * speeds[r] - beta * beta * gaps[r] for t, r in zip(target, rows, strict=True)]

    ends = _ends(tree, [m.closing for m in motions])
    chosen = [ends[r] for r in rows]
    coupled = [[_along(inertias, one, other) for other in chosen[: k + 1]] for k, one in enumerate(chosen)]
    whole = [[coupled[max(i, j)][min(i, j)] for j in range(len(rows))] for i in range(len(rows))]
    factors = ldl(whole)
    multipliers = ldl_solve(factors, target)
    quality = least_share([row[i] for i, row in enumerate(whole)], factors[1])
    most = [_most(inertias, one, loop_constraints.usual_size(tree)) for one in chosen]
    quality = quality * least_share(most, [row[i] for i, row in enumerate(whole)])

    every: list[Scalar] = [0.0] * len(ends)
    for r, multiplier in zip(rows, multipliers, strict=True):
        every[r] = multiplier
    pushed = loop_constraints.loads_on_bodies(tree, q, loop_constraints.loop_wrenches(tree, q, every, sides), sides)
    given = loads or [None] * len(tree.links)
    a = forward_dynamics(tree, q, v, tau, gravity, [add(x, y) for x, y in zip(given, pushed, strict=True)])
    return a, multipliers, quality, Residuals(inner(gaps, gaps), inner(speeds, speeds), 0.0)


End = tuple[int, Force]


def _ends(tree: Model, closings: Sequence[loop_constraints.Closing]) -> list[list[End]]:
    """Return, for every constraint, the bodies it joins and its unit force on each, in the body's own frame."""
    found: list[list[End]] = []
    for loop, closing in zip(tree.loops, closings, strict=True):
        for c in closing.constraints:
            on_b = loop.seat.spatial().force_to_parent(c.force)
            on_a = -loop.placement.spatial().force_to_parent(closing.pose.force_to_parent(c.force))
            pair = [(loop.successor, on_b), (loop.predecessor, on_a)]
            found.append([end for end in pair if end[0] != BASE])
    return found


def _along(inertias: CrossInertias, one: Sequence[End], other: Sequence[End]) -> Scalar:
    """Return R_k^T Phi R_l: how the unit force of one constraint accelerates another."""
    total: Scalar = 0.0
    for i, here in one:
        for j, there in other:
            columns = inertias.between(i, j)
            if columns is not None:
                moved = [(c, x) for c, x in zip(columns, there, strict=True) if present(x)]
                total = total + combine([c for c, _ in moved], [x for _, x in moved]).dot(here)
    return total


def _most(inertias: CrossInertias, one: Sequence[End], size: float) -> Scalar:
    """Return a bound on how much a constraint's unit force can accelerate its ends in any direction.

    An effect that is tiny compared with this bound is a rounding error.
    """
    total: Scalar = 0.0
    for i, force in one:
        columns = inertias.between(i, i)
        assert columns is not None
        turns, shifts = (sum((list(columns[k])[k] for k in three), 0.0) for three in (range(3), range(3, 6)))
        strength = force.force.dot(force.force) + force.moment.dot(force.moment) * (1.0 / size**2)
        total = total + strength * (size**2 * turns + shifts)
    return total

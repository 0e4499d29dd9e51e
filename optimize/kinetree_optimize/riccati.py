"""One node of the backward pass of differential dynamic programming, with limited actions.

At a node the dynamics are ``dx' = A dx + B du + e`` and the cost is quadratic; the value of the next node is
``v'^T dx' + dx'^T V' dx' / 2``.  The text below is for matrices of numbers with a batch, and for matrices of traced
scalars, which become one piece of machine code per node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kinetree.evaluation.law_kernels import LawProgram, evaluation_into
from kinetree.evaluation.planning.backward_pass import BY_NODE, BY_PLAN, BackwardProgram, NodeShape
from kinetree.evaluation.planning.second_derivatives import Bend
from kinetree.spatial import Scalar, where
from kinetree.spatial.arrays import Array
from kinetree.spatial.linear_systems import ldl, ldl_solve

ROUNDS = 3
"""How often the set of actions at their limits is chosen anew within a node."""

LONGEST = 15_000
"""Products up to which a node becomes straight-line code, for many plans; larger ones are loops over matrices."""

FEW = 4
"""Fewer plans go through loops over matrices, whose vectors are rows; straight-line code has a plan in each lane."""

NUMBERS = 3
"""Slope and curvature of the cost along the step, and the least pivot."""

NEAR = 1e-12
"""How far from its limit, relative to the range, an action counts as being at it."""

BESIDE = 1e-6
"""How far from its limit, relative to the range, an action gets feedback."""


def bound(program: LawProgram, vectors: Mapping[str, Array], out: Array, threads: int = 1) -> Callable[[], object]:
    """Return a function that evaluates a program on arrays that stay in place, into one that does too."""
    given = {name: vectors[name] for name in program.lengths}
    if program.kernel is not None:
        return evaluation_into(program.kernel, list(given.values()), out, threads)

    def constant() -> None:
        out[...] = program(given, threads)

    return constant


class NodeLayout(NamedTuple):
    """Where the numbers of a node are in its vectors."""

    nd: int
    """Directions in which a state can change."""
    nu: int
    entries: tuple[tuple[int, int], ...]
    """Places of the numbers of the cost's second derivatives that are not always zero."""
    bends: tuple[tuple[int, int], ...] = ()
    """Places of what second derivatives of differences and limits add, which follow."""
    nx: int = 0
    """Length of a state if second derivatives of the dynamics count, otherwise zero."""

    @property
    def n_slopes(self) -> int:
        """Length of the vector of the cost's derivatives."""
        return self.nd + self.nu + len(self.entries) + len(self.bends)

    @property
    def n_value(self) -> int:
        """Length of the vector of a value: v, the upper triangle of V, three numbers of all nodes from here on."""
        return self.nd + self.nd * (self.nd + 1) // 2 + NUMBERS

    @property
    def n_result(self) -> int:
        """Length of the result: value, feed-forward, gains."""
        return self.n_value + self.nu + self.nu * self.nd

    @property
    def numbers(self) -> slice:
        """The place of slope, curvature and least pivot in a value."""
        return slice(self.n_value - NUMBERS, self.n_value)

    @property
    def forward(self) -> slice:
        """The place of the feed-forward in the result."""
        return slice(self.n_value, self.n_value + self.nu)

    @property
    def gains(self) -> slice:
        """The place of the gains in the result."""
        return slice(self.n_value + self.nu, self.n_result)

    @property
    def products(self) -> int:
        """About how many products a node takes."""
        n, m = self.nd, self.nu
        return n * n * n + n * n * n // 2 + 2 * n * n * m + 2 * m * m * n + m * m * m

    @property
    def lengths(self) -> dict[str, int]:
        """The vectors that a node takes."""
        return {
            "steps": self.nd * (self.nd + self.nu), "gap": self.nd, "slopes": self.n_slopes, "value": self.n_value,
            "u": self.nu, "bounds": 2 * self.nu, "damping": 1,
            "t": int(self.nx > 0), "x": self.nx, "share": int(self.nx > 0 or bool(self.bends)),
        }  # fmt: skip


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _times(matrix: Any, vector: Any) -> Any:
    return (matrix @ vector[..., None])[..., 0]


def _entrywise(function: Any, *given: Any) -> Any:
    """Return a function of scalars, entry by entry."""
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in given))
    found = np.empty(arrays[0].shape, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = function(*(x[place] for x in arrays))
    return found


def _less(a: Any, b: Any) -> Any:
    """Return one where a is less than b, otherwise zero."""
    if a.dtype != object:
        return (a < b).astype(float)
    return _entrywise(lambda x, y: where(x < y, 1.0, 0.0), a, b)


def _choose(mask: Any, a: Any, b: Any) -> Any:
    """Return a where the mask is one, otherwise b."""
    if mask.dtype != object:
        return np.where(mask > 0.5, a, b)
    return _entrywise(lambda chosen, x, y: where(chosen > 0.5, x, y), mask, a, b)


def _solved(matrix: Any, right: Any) -> tuple[Any, Any]:
    """Return the solution of a symmetric system with several right sides, and its least pivot."""
    if matrix.dtype == object:
        factors = ldl(matrix.tolist())
        columns = [ldl_solve(factors, right[:, j].tolist()) for j in range(right.shape[1])]
        least = factors[1][0]
        for pivot in factors[1][1:]:
            least = where(pivot < least, pivot, least)
        return np.array(columns, dtype=object).T, least
    least = np.full(matrix.shape[:-2], np.nan)
    found = np.full(right.shape, np.nan)
    fine = np.isfinite(matrix).all(axis=(-1, -2))
    if fine.any():
        least[fine] = np.linalg.eigvalsh(matrix[fine])[..., 0]
        fine &= least > 0.0
        found[fine] = np.linalg.solve(matrix[fine], right[fine])
    return found, least


def backward(
    a: Any, b: Any, gap: Any, slopes: tuple[Any, Any, Any, Any, Any], value: tuple[Any, Any], u: Any,
    bounds: tuple[Any, Any] | None, damping: Any, bend: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return value, feed-forward, gains and the predicted change of one node.

    Parameters
    ----------
    a, b, gap
        The dynamics.
    slopes
        Derivatives of the cost: by state, by action, twice by state, by action and state, twice by action.
    value
        v' and V'.
    u
        Actions of the node.
    bounds
        Least and largest actions; None if there are none.
    damping
        A number that is added to the curvature along every action.
    bend
        Returns what second derivatives of the dynamics add to the curvature by states, by actions and states, and by
        actions, from the slope of the next value; None if they do not count.

    Returns
    -------
    v, V, feed-forward k, gains K, slope of the cost along k, curvature of the cost along k, least pivot
    """
    by_x, by_u, by_xx, by_ux, by_uu = slopes
    v, curved = value
    ahead = v + _times(curved, gap)
    va, vb = curved @ a, curved @ b
    q_x, q_u = by_x + _times(_turned(a), ahead), by_u + _times(_turned(b), ahead)
    q_xx, q_ux, q_uu = by_xx + _turned(a) @ va, by_ux + _turned(b) @ va, by_uu + _turned(b) @ vb
    if bend is not None:
        q_xx, q_ux, q_uu = (x + y for x, y in zip((q_xx, q_ux, q_uu), bend(ahead), strict=True))
    k, led, damped, slope, bent, least = best_actions(q_u, q_uu, u, bounds, damping)
    gains = _solved(_masked(damped, led), -q_ux * led[..., None])[0]
    new = q_xx + _turned(q_ux) @ gains
    lead = q_x + _times(_turned(q_ux), k)
    return lead, new, k, gains, slope, bent, least


def best_actions(q_u: Any, q_uu: Any, u: Any, bounds: tuple[Any, Any] | None, damping: Any) -> tuple[Any, ...]:
    """Return what a node does with its actions within their limits.

    Parameters
    ----------
    q_u, q_uu
        Slope and curvature of the cost along the actions.
    u, bounds, damping
        See :func:`backward`.

    Returns
    -------
    change k, which actions have feedback, damped curvature, slope along k, curvature along k, least pivot
    """
    nu = q_u.shape[-1]
    eye = np.eye(nu)
    damped = q_uu + damping[..., None, None] * eye if q_uu.dtype != object else q_uu + damping * eye
    if bounds is None:
        found, least = _solved(damped, -q_u[..., None])
        k, led = found[..., 0], np.ones(nu)
    else:
        down, up = bounds[0] - u, bounds[1] - u
        scale = damped[..., range(nu), range(nu)]
        near, beside = (up - down) * NEAR, (up - down) * BESIDE
        at_low = _less(-down, near) * _less(0.0 * q_u, q_u)
        at_high = _less(up, near) * _less(q_u, 0.0 * q_u)
        for n in range(ROUNDS + 1):
            free = _choose(at_low, 0.0, _choose(at_high, 0.0, np.ones(nu)))
            held = _choose(at_low, down, _choose(at_high, up, np.zeros(nu)))
            right = -(q_u + _times(damped, held)) * free
            found, least = _solved(_masked(damped, free), right[..., None])
            k = found[..., 0] + held
            if n < ROUNDS:
                needed = -(q_u + _times(damped, k)) / scale  # how hard a limit pushes back, as a change of the action
                at_low, at_high = _less(k + needed, down), _less(up, k + needed)
        # feedback might push an action that leaves its limit beyond it, and then no step is short enough
        led = free * (1.0 - _less(-down, beside)) * (1.0 - _less(up, beside))
    slope, bent = (k * q_u).sum(axis=-1), (k * _times(q_uu, k)).sum(axis=-1)
    return k, led, damped, slope, bent, least


def _masked(matrix: Any, free: Any) -> Any:
    eye = np.eye(matrix.shape[-1])
    return matrix * free[..., None] * free[..., None, :] + eye * (1.0 - free)[..., None]


class RiccatiProgram:
    """The backward pass, as machine code: straight-line code for a node where that is short, otherwise loops.

    Parameters
    ----------
    layout : NodeLayout
    limited : bool
        Whether actions have limits.
    cpu : str
        The processor to make machine code for; the default one if empty.
    bend : Bend, optional
        Second derivatives of the dynamics, if they count.
    """

    def __init__(self, layout: NodeLayout, limited: bool, cpu: str = "", bend: Bend | None = None) -> None:
        self.layout, self.limited, self.cpu, self.bend = layout, limited, cpu, bend

    def is_short(self, plans: int) -> bool:
        """Whether a node becomes straight-line code, which alone has second derivatives of the dynamics."""
        return self.bend is not None or (plans >= FEW and self.layout.products <= LONGEST)

    @cached_property
    def loops(self) -> BackwardProgram:
        """The pass over all nodes as loops over matrices."""
        layout, limited = self.layout, self.limited

        def law(**vectors: Sequence[Scalar]) -> list[Scalar]:
            given = {name: np.array(x, dtype=object) for name, x in vectors.items()}
            n, bounds = layout.nu, given["bounds"]
            both = (bounds[:n], bounds[n:]) if limited else None
            curvature = given["q_uu"].reshape(n, n)
            k, led, damped, *numbers = best_actions(given["q_u"], curvature, given["u"], both, given["damping"][..., 0])
            lower, pivots = ldl(_masked(damped, led).tolist())
            below = [lower[i][j] for i in range(n) for j in range(i)]
            return [*k, *numbers, *below, *(1.0 / pivot for pivot in pivots), *led]

        shape = NodeShape(layout.nd, layout.nu, layout.entries, layout.bends)
        return BackwardProgram(shape, law, self.cpu)

    def prepared(
        self, by_node: Mapping[str, Array], by_plan: Mapping[str, Array], found: Array, threads: int
    ) -> list[Callable[[], object]]:
        """Return functions to call one after the other, for arrays that stay in place.

        Parameters
        ----------
        by_node, by_plan : mappings from str to ndarrays (nodes, plans, n), (plans, n)
            See :attr:`NodeLayout.lengths`; ``value`` is that of the end.
        found : ndarray (nodes, plans, n_result)
        """
        nodes = len(found)
        if not self.is_short(found.shape[1]):
            rows = [by_node[name] if name != "found" else found for name in BY_NODE]
            return [self.loops.prepared(rows, [by_plan[name] for name in BY_PLAN])]
        calls = []
        for k in reversed(range(nodes)):
            own = {name: x[k] for name, x in by_node.items()} | dict(by_plan)
            if k + 1 < nodes:
                own["value"] = found[k + 1][:, : self.layout.n_value]
            calls.append(bound(self.program, own, found[k], threads))
        return calls

    @cached_property
    def program(self) -> LawProgram:
        """The text on scalars, as straight-line machine code for one node."""

        def law(**vectors: Sequence[Scalar]) -> list[Scalar]:
            return list(self._on({name: np.array(x, dtype=object) for name, x in vectors.items()}))

        return LawProgram("backward pass of one node", law, self.layout.lengths, True, cpu=self.cpu)

    def __call__(self, vectors: Mapping[str, Array]) -> Array:
        """Return results (..., n_result) with matrices of the whole batch."""
        with np.errstate(all="ignore"):
            return np.asarray(self._on(vectors))

    def _on(self, given: Mapping[str, Any]) -> Any:
        nd, nu = self.layout.nd, self.layout.nu
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in given.values()))
        kind = given["steps"].dtype
        steps = given["steps"].reshape(*given["steps"].shape[:-1], nd, nd + nu)
        slopes, value = given["slopes"], given["value"]
        whole = np.zeros((*slopes.shape[:-1], nd + nu, nd + nu), dtype=kind)
        for n, (i, j) in enumerate(self.layout.entries):
            whole[..., i, j] = whole[..., j, i] = slopes[..., nd + nu + n]
        first = nd + nu + len(self.layout.entries)
        for n, (i, j) in enumerate(self.layout.bends):
            added = given["share"][..., :1] * slopes[..., first + n : first + n + 1]
            whole[..., i, j] = whole[..., j, i] = (whole[..., i, j, None] + added)[..., 0]
        curved = np.zeros((*value.shape[:-1], nd, nd), dtype=kind)
        rows, columns = np.triu_indices(nd)
        curved[..., rows, columns] = curved[..., columns, rows] = value[..., nd:-NUMBERS]
        bounds = (given["bounds"][..., :nu], given["bounds"][..., nu:]) if self.limited else None
        split = slopes[..., :nd], slopes[..., nd : nd + nu], *_blocks(whole, nd)
        lead, new, k, gains, *numbers = backward(
            steps[..., :nd], steps[..., nd:], given["gap"], split, (value[..., :nd], curved), given["u"], bounds,
            given["damping"][..., 0], self._bent(given) if self.bend else None,
        )  # fmt: skip
        slope, bent, least = (np.asarray(x, dtype=kind)[..., None] for x in numbers)
        later = value[..., -NUMBERS:]
        fewest = _choose(_less(later[..., 2:], least), later[..., 2:], least)
        total = [slope + later[..., :1], bent + later[..., 1:2], fewest]
        parts = [lead, new[..., rows, columns], *total, k, gains.reshape(*gains.shape[:-2], nu * nd)]
        return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)

    def _bent(self, given: Mapping[str, Any]) -> Callable[[Any], tuple[Any, Any, Any]]:
        bend, nd, nu, share = self.bend, self.layout.nd, self.layout.nu, given["share"][0]
        assert bend is not None

        def added(ahead: Any) -> tuple[Any, Any, Any]:
            whole = np.zeros((nd + nu, nd + nu), dtype=object)
            found = bend([*given["t"], *given["x"], *given["u"]], ahead.tolist())
            for (i, j), x in zip(bend.places, found, strict=True):
                whole[i, j] = whole[j, i] = share * x
            return _blocks(whole, nd)

        return added


def _blocks(whole: Any, nd: int) -> tuple[Any, Any, Any]:
    return whole[..., :nd, :nd], whole[..., nd:, :nd], whole[..., nd:, nd:]

"""Inverse dynamics of closed chains, subsystem by subsystem (Saha section 4, Shah section 8.2).

The open tree needs joint forces ``tau_tree`` for a motion.  In the closed mechanism they
come from the actuators and from the loop joints (Shah eq. 8.2),

    tau_tree = tau + K^T lambda,

one equation per degree of freedom.  The tree splits into subsystems: the branches that start at the base, or at a body
that is on no loop with them.  A subsystem whose equations are as many as its unknowns (multipliers of the cuts that
touch it and torques of its actuators) is *determinate*: it is solved, its multipliers become known to its neighbors,
and the search continues.  If nothing is determinate, neighbors are solved together. Only small systems are solved, and
the order of their solution can be printed.

Multipliers are counted by rank: a revolute joint that closes a planar loop has five, of which two have an effect.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, ShapeError, SingularError
from ...model.tree import Model
from ...spatial.arrays import Array, as_array, batch_shape
from .branches import Subsystem, subsystems
from .order import SolutionOrder, SolutionStep, plural
from .small_systems import Place, columns, determinate, effective, find_cuts, generic_rank, smallest, square

SAMPLE = 64
"""States of a batch that are examined to find the order."""

MOST_SETS_OF_SUBSYSTEMS = 200
"""The most sets of subsystems of equal size that are tried before everything connected is solved at once."""

BALANCE = 1e-7
"""Largest fraction of the forces that may be left over: much more than rounding, much less than a forgotten force."""


class SolutionPlan:
    """The order of the recursion for a mechanism, found once and used for any number of states.

    Parameters
    ----------
    model : Model
        The spanning tree with its loops.
    K : array_like, shape (..., nc, nv)
        The constraint matrix at one or more ordinary configurations.
    actuated : array_like of bool, shape (nv,)
        Which degrees of freedom are driven.
    """

    def __init__(self, model: Model, K: ArrayLike, actuated: ArrayLike) -> None:
        self.model = model
        self.actuated = _flags(actuated, model.nv)
        sample = _thinned(as_array(K, (model.n_constraints, model.nv), "K"))
        self._names = model.v_names
        self._cuts = find_cuts(model, sample)
        self._effective = [effective(cut, sample).matrix for cut in self._cuts]
        parts, outside = subsystems(model)
        self._usable = len(sample) > 0
        steps = [self._outside(outside)] if outside else []
        self.order = SolutionOrder(parts, (*steps, *self._recursion(parts)) if self._usable else ())

    def _outside(self, dofs: tuple[int, ...]) -> SolutionStep:
        idle = [self._names[k] for k in dofs if not self.actuated[k]]
        if idle:
            raise SingularError(
                f"{plural('joint', len(idle), False)} {', '.join(idle)} of {self.model.name!r} "
                f"{'is' if len(idle) == 1 else 'are'} on no loop and not actuated: nothing can produce "
                "a given motion there. Actuate it, or use forward dynamics"
            )
        names = tuple(self._names[k] for k in dofs)
        return SolutionStep((), names, (), names, len(dofs), len(dofs), True, dofs, dofs)

    def _recursion(self, parts: Sequence[Subsystem]) -> Iterable[SolutionStep]:
        """Yield determinate subsystems first; if there are none, neighbors together."""
        waiting, known = list(parts), set[int]()
        while waiting:
            together = self._next(waiting, known)
            cuts = self._touched(together, known)
            step = self._step(together, cuts)
            if not step.determinate:
                self._check_driven(step, cuts)
            known |= cuts
            waiting = [p for p in waiting if p not in together]
            yield step

    def _next(self, waiting: Sequence[Subsystem], known: AbstractSet[int]) -> tuple[Subsystem, ...]:
        """Return the smallest determinate set of connected subsystems.

        If there is none, return the first and everything connected to it.
        """
        touched = [self._touched((p,), known) for p in waiting]
        sets: list[tuple[int, ...]] = [(i,) for i in range(len(waiting))]
        while sets:
            for members in sets[:MOST_SETS_OF_SUBSYSTEMS]:
                together = tuple(waiting[i] for i in members)
                if self._is_determinate(together, known):
                    return together
            sets = [] if len(sets) > MOST_SETS_OF_SUBSYSTEMS else _grown(sets, touched)
        return self._neighborhood(waiting, known)

    def _is_determinate(self, together: Sequence[Subsystem], known: AbstractSet[int]) -> bool:
        """Return whether there are as many unknowns as equations, and these are independent."""
        cuts = self._touched(together, known)
        dofs, actuated = self._freedoms(together)
        unknowns = len(actuated) + sum(self._cuts[i].rank for i in cuts)
        if unknowns != len(dofs):
            return False
        return generic_rank(square(self._matrix(cuts, dofs), dofs, actuated)) == unknowns

    def _freedoms(self, together: Sequence[Subsystem]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return degrees of freedom of some subsystems, and those of them that are driven."""
        dofs = tuple(k for p in together for k in p.dofs)
        return dofs, tuple(k for k in dofs if self.actuated[k])

    def _matrix(self, cuts: Iterable[int], dofs: Sequence[int]) -> Array:
        """Return the effective constraints of some cuts at the sample."""
        return columns([self._effective[i] for i in sorted(cuts)], dofs)

    def _touched(self, together: Sequence[Subsystem], known: AbstractSet[int]) -> set[int]:
        """Return cuts with unknown multipliers at some subsystems."""
        dofs = {k for p in together for k in p.dofs}
        return {i for i, cut in enumerate(self._cuts) if i not in known and not cut.dofs.isdisjoint(dofs)}

    def _neighborhood(self, waiting: Sequence[Subsystem], known: AbstractSet[int]) -> tuple[Subsystem, ...]:
        """Return the first subsystem and all that are connected to it by unknown multipliers."""
        found, count = list(waiting[:1]), 0
        while len(found) > count:
            count = len(found)
            touched = self._touched(found, known)
            found = [p for p in waiting if p in found or self._touched((p,), known) & touched]
        return tuple(found)

    def _step(self, together: Sequence[Subsystem], cuts: AbstractSet[int]) -> SolutionStep:
        dofs, actuated = self._freedoms(together)
        matrix = self._matrix(cuts, dofs)
        unknowns = len(actuated) + matrix.shape[1]
        return SolutionStep(
            tuple(p.name for p in together),
            tuple(j for p in together for j in p.joints),
            tuple(self._cuts[i].name for i in sorted(cuts)),
            tuple(self._names[k] for k in actuated),
            len(dofs),
            unknowns,
            unknowns == len(dofs) and generic_rank(square(matrix, dofs, actuated)) == unknowns,
            dofs,
            actuated,
            generic_rank(matrix),
        )

    def _check_driven(self, step: SolutionStep, cuts: AbstractSet[int]) -> None:
        """Refuse subsystems whose actuators cannot hold them."""
        freedoms = step.equations - step.rank
        whole = square(self._matrix(cuts, step.dofs), step.dofs, step.actuated)
        reach = generic_rank(whole) - step.rank
        if reach < freedoms:
            drives = f"{plural('actuator', len(step.actuated))}" if step.actuated else "no actuator"
            useless = " (some act along the same freedom)" if reach < len(step.actuated) else ""
            raise SingularError(
                f"{self.model.name!r} has {plural('freedom', freedoms)} among the joints {', '.join(step.joints)}, "
                f"but {drives} there{useless}: torques for a given motion do not exist in general. "
                "Actuate more joints, or use forward dynamics"
            )

    # -------------------------------------------------------------- solving

    def solve(self, tau_tree: ArrayLike, K: ArrayLike, weights: ArrayLike | None = None) -> SubsystemSolution:
        """Return torques and multipliers; see :func:`solve`."""
        nc, nv = self.model.n_constraints, self.model.nv
        t = as_array(tau_tree, (nv,), "tau_tree")
        k = as_array(K, (nc, nv), "K")
        batch = batch_shape(tau_tree=(t, 1), K=(k, 2))
        w = _weights(weights, self.actuated)
        count = int(np.prod(batch))
        rest = np.array(np.broadcast_to(t, (*batch, nv)).reshape(count, nv))
        k = np.broadcast_to(k, (*batch, nc, nv)).reshape(count, nc, nv)
        good = np.isfinite(rest).all(axis=1) & np.isfinite(k).all(axis=(1, 2))
        lanes = np.flatnonzero(good)
        tau, multipliers = np.full((count, nv), np.nan), np.full((count, nc), np.nan)
        if len(lanes):
            if not self._usable:
                raise OptionError("this plan was made without a single finite K, so it has no order; make another one")
            place = functools.partial(_lane, lanes, batch)
            tau[lanes], multipliers[lanes] = self._substitute(rest[lanes], k[lanes], w, place)
        return SubsystemSolution(tau.reshape(*batch, nv), multipliers.reshape(*batch, nc), self.order)

    def _substitute(self, rest: Array, k: Array, weights: Array, place: Place) -> tuple[Array, Array]:
        """Solve step by step; ``rest`` is what remains of the tree's forces when known multipliers are moved over."""
        tau, multipliers = np.zeros_like(rest), np.zeros(k.shape[:2])
        given = rest.copy()
        by_name = {cut.name: cut for cut in self._cuts}
        for step in self.order.steps:
            dofs, driven = list(step.dofs), list(step.actuated)
            cuts = [by_name[name] for name in step.cuts]
            reduced = [effective(cut, k) for cut in cuts]
            matrix = columns([e.matrix for e in reduced], step.dofs, len(rest))
            solver = determinate if step.determinate else smallest
            torques, forces = solver(step, matrix, rest[:, dofs], weights[driven], place)
            tau[:, driven] = torques
            used = 0
            for cut, e in zip(cuts, reduced, strict=True):
                own = forces[:, used : used + cut.rank]
                used += cut.rank
                rest -= np.einsum("bri,br->bi", e.matrix, own)  # known from here on: Shah eq. 8.13
                rows = cut.rows if cut.chosen is None else cut.chosen
                multipliers[:, rows] = own if e.back is None else np.einsum("bcr,br->bc", e.back, own)
        self._check_balance(given, tau, np.einsum("bci,bc->bi", k, multipliers), place)
        return tau, multipliers

    def _check_balance(self, given: Array, tau: Array, loops: Array, place: Place) -> None:
        """Check that the order, which comes from a sample of states, held for all of them."""
        off = np.abs(given - tau - loops).max(axis=1)
        size = np.maximum(np.abs(given), np.maximum(np.abs(tau), np.abs(loops))).max(axis=1)
        bad = off > BALANCE * size
        if bad.any():
            raise SingularError(
                f"the loops of {self.model.name!r} hold differently{place(int(np.argmax(bad)))} than in the states "
                "from which the order of solution was found (a singular one among them?); solve such states apart"
            )


class SubsystemSolution(NamedTuple):
    """The result of the recursion.

    Attributes
    ----------
    tau : ndarray, shape (..., nv)
        Actuator torques, zero at passive joints.
    multipliers : ndarray, shape (..., nc)
        Constraint forces on the successors of the loop joints.
    order : SolutionOrder
        The order in which they were found; prints as a sentence.
    """

    tau: Array
    multipliers: Array
    order: SolutionOrder


def solve(
    model: Model, tau_tree: ArrayLike, K: ArrayLike, actuated: ArrayLike, weights: ArrayLike | None = None
) -> SubsystemSolution:
    """Return the actuator torques and multipliers with ``tau_tree = tau + K^T lambda``, subsystem by subsystem.

    Parameters
    ----------
    model : Model
        The spanning tree with its loops.
    tau_tree : array_like, shape (..., nv)
        Joint forces the open tree needs for the motion: its inverse dynamics.
    K : array_like, shape (..., nc, nv)
        Constraint matrix; batches broadcast.
    actuated : array_like of bool, shape (nv,)
    weights : array_like, shape (nv,), optional
        If actuators are redundant, the torques minimize ``sum(weights * tau**2)``; all one by default.

    Returns
    -------
    SubsystemSolution
        States that contain NaN give NaN.

    Raises
    ------
    SingularError
        If torques do not exist or are not unique: too few actuators, or a singular configuration.
    """
    k = as_array(K, (model.n_constraints, model.nv), "K")
    return SolutionPlan(model, k, actuated).solve(tau_tree, k, weights)


def _grown(sets: Iterable[tuple[int, ...]], touched: Sequence[AbstractSet[int]]) -> list[tuple[int, ...]]:
    """Return every set with one more member that shares an unknown with it."""
    found = set[tuple[int, ...]]()
    for members in sets:
        unknown = set[int]().union(*(touched[i] for i in members))
        found |= {tuple(sorted((*members, i))) for i, t in enumerate(touched) if i not in members and t & unknown}
    return sorted(found)


def _lane(lanes: Array, batch: tuple[int, ...], lane: int) -> str:
    if not batch:
        return ""
    index = tuple(int(i) for i in np.unravel_index(int(lanes[lane]), batch))
    return f" at state {index[0] if len(index) == 1 else index} of the batch"


def _thinned(k: Array) -> Array:
    """Return at most ``SAMPLE`` finite states of a batch."""
    states = k.reshape(-1, *k.shape[-2:])
    states = states[np.isfinite(states).all(axis=(1, 2))]
    return states[:: max(1, -(-len(states) // SAMPLE))]


def _flags(actuated: ArrayLike, nv: int) -> Array:
    flags = np.asarray(actuated)
    if flags.shape != (nv,) or flags.dtype != bool:
        raise ShapeError(f"actuated must be {nv} booleans, one per degree of freedom, got {flags.dtype} {flags.shape}")
    return flags


def _weights(weights: ArrayLike | None, actuated: Array) -> Array:
    nv = len(actuated)
    if weights is None:
        return np.ones(nv)
    array = as_array(weights, (nv,), "weights")
    if array.shape != (nv,):
        raise ShapeError(f"weights must have shape ({nv},), got {array.shape}")
    if not np.all(np.isfinite(array[actuated]) & (array[actuated] > 0)):
        raise OptionError("weights must be positive at every actuated joint")
    return array

"""Inverse dynamics of closed chains, subsystem by subsystem (001 section 4, 000 section 8.2).

The open tree needs joint forces ``tau_tree`` for a motion.  In the closed mechanism they
come from the actuators and from the loop joints (000 eq. 8.2),

    tau_tree = tau + K^T lambda,

one equation per degree of freedom.  The tree falls into subsystems: the branches that
stand on the base, or on a body that is on no loop with them.  A subsystem whose equations
are as many as its unknowns (multipliers of the cuts that touch it and torques of its
actuators) is *determinate*: it is solved, its multipliers are known to its neighbours,
and the search goes on.  Where nothing is determinate, neighbours are solved together.
Only small systems are solved, and the order in which that happens can be read.

Multipliers are counted by rank: a revolute joint that closes a planar loop has five, of
which two do anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import as_array, batch_shape
from ..errors import OptionError, ShapeError, SingularError
from ..model.tree import BASE, Loop, Model

Array = np.ndarray

Place = Callable[[int], str]
"""Names the state of a batch that went wrong, from the lane it is computed in."""

RANK_TOLERANCE = 1e-9
"""A singular value counts as zero below this fraction of the largest."""

SAMPLE = 64
"""States of a batch that are looked at to find the order."""

CONDITION_LIMIT = 1e13
"""Equations worse conditioned than this have no solution worth having."""


# ------------------------------------------------------------------ what the tree falls into


@dataclass(frozen=True)
class Subsystem:
    """A part of the spanning tree whose equations are solved together.

    Attributes
    ----------
    name : str
        A Roman numeral, in the order of the joints.
    joints : tuple of str
    dofs : tuple of int
        Its places in ``v``.
    """

    name: str
    joints: tuple[str, ...]
    dofs: tuple[int, ...]


def subsystems(model: Model) -> tuple[tuple[Subsystem, ...], tuple[int, ...]]:
    """The subsystems of a mechanism, and the degrees of freedom that are on no loop.

    Both ends of a loop are chains that start at the last body carrying both of them.
    Joints of one chain belong together.  Two chains of a loop belong together if the body
    they start at moves with one of them (the pantograph of a leg); they do not if it is the
    base, or a body that this part of the mechanism rides on (the first body of a SR400).
    """
    group = _Groups(len(model.joints))
    sides = [_sides(model, loop) for loop in model.loops]
    for _, here, there in sides:
        group.unite(here)
        group.unite(there)
    merged = True
    while merged:
        merged = False
        for meeting, here, there in sides:
            if meeting == BASE or not (here and there):
                continue
            a, b, m = group.of(here[0]), group.of(there[0]), group.of(_owner(model, meeting))
            if a != b and m in (a, b):
                group.unite([here[0], there[0]])
                merged = True
    looped = sorted({j for _, here, there in sides for j in (*here, *there)})
    members: dict[int, list[int]] = {}
    for j in looped:
        members.setdefault(group.of(j), []).append(j)
    found: list[Subsystem] = []
    for joints in members.values():
        dofs = tuple(k for j in joints for k in _dofs(model, j))
        if dofs:
            found.append(Subsystem(_roman(len(found) + 1), tuple(model.joints[j].name for j in joints), dofs))
    taken = {k for s in found for k in s.dofs}
    return tuple(found), tuple(k for k in range(model.nv) if k not in taken)


def _sides(model: Model, loop: Loop) -> tuple[int, list[int], list[int]]:
    """The last body that carries both ends, and the joints from there to either end."""
    here, there = model.support(loop.predecessor), model.support(loop.successor)
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    meeting = here[common - 1] if common else BASE
    return meeting, [_owner(model, j) for j in here[common:]], [_owner(model, j) for j in there[common:]]


def _owner(model: Model, joint: int) -> int:
    """The joint whose coordinate moves this one: itself, or the one it mimics."""
    mimic = model.joints[joint].mimic
    return model.joint_index[mimic.leader] if mimic else joint


def _dofs(model: Model, joint: int) -> range:
    where = model.joints[joint].v_slice
    return range(where.start, where.stop)


class _Groups:
    """Sets that only grow together."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def of(self, x: int) -> int:
        while self.parent[x] != x:
            x = self.parent[x]
        return x

    def unite(self, members: Sequence[int]) -> None:
        for x in members[1:]:
            a, b = self.of(members[0]), self.of(x)
            self.parent[max(a, b)] = min(a, b)


def _roman(number: int) -> str:
    signs = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
    text = ""
    for value, sign in signs:
        text += sign * (number // value)
        number %= value
    return text


# ------------------------------------------------------------------ the unknowns of a cut


class _Cut(NamedTuple):
    """The multipliers of a loop joint that do anything."""

    name: str
    rows: Array
    """Its rows of K."""
    rank: int
    chosen: Array | None
    """Those of the rows that do something, where they are independent; else all are mixed."""
    dofs: frozenset[int]
    """Degrees of freedom it touches."""


def _cuts(model: Model, sample: Array) -> list[_Cut]:
    found, used = [], 0
    for loop in model.loops:
        rows = np.arange(used, used + loop.count)
        used += loop.count
        part = sample[:, rows, :]
        largest = np.abs(part).max(axis=(1, 2), initial=0.0)
        seen = np.abs(part) > RANK_TOLERANCE * largest[:, None, None]
        rank = _generic_rank(part)
        active = rows[seen.any(axis=(0, 2))]
        dofs = frozenset(np.flatnonzero(seen.any(axis=(0, 1))).tolist())
        found.append(_Cut(loop.name, rows, rank, active if len(active) == rank else None, dofs))
    return found


def _generic_rank(matrices: Array) -> int:
    """Rank of a stack of matrices nearly everywhere: the largest that is found."""
    if 0 in matrices.shape:
        return 0
    values = np.linalg.svd(matrices, compute_uv=False)
    return int((values > RANK_TOLERANCE * values[:, :1]).sum(axis=1).max())


class _Effective(NamedTuple):
    """What is left of a cut's constraints: ``matrix`` (B, rank, nv), and the way back to the multipliers."""

    matrix: Array
    back: Array | None


def _effective(cut: _Cut, k: Array) -> _Effective:
    if cut.chosen is not None:
        return _Effective(k[:, cut.chosen, :], None)
    # an orthonormal basis of the forces that do something; multipliers along it are of minimum norm
    u, s, vt = np.linalg.svd(k[:, cut.rows, :], full_matrices=False)
    r = cut.rank
    return _Effective(s[:, :r, None] * vt[:, :r], u[:, :, :r])


# ------------------------------------------------------------------ the order


@dataclass(frozen=True)
class Step:
    """One system of equations of the recursion.

    Attributes
    ----------
    subsystems : tuple of str
        Solved together; empty for the joints that are on no loop.
    joints : tuple of str
    cuts : tuple of str
        Loop joints whose multipliers are found.
    actuators : tuple of str
        Degrees of freedom whose torques are found.
    equations, unknowns : int
    determinate : bool
        Whether the unknowns follow from the equations alone; else they are of minimum norm.
    """

    subsystems: tuple[str, ...]
    joints: tuple[str, ...]
    cuts: tuple[str, ...]
    actuators: tuple[str, ...]
    equations: int
    unknowns: int
    determinate: bool
    dofs: tuple[int, ...] = field(repr=False, default=())
    actuated: tuple[int, ...] = field(repr=False, default=())
    rank: int = field(repr=False, default=0)

    @property
    def cost(self) -> float:
        """Multiplications of a Gaussian elimination, n^3/3 (001 section 4.4)."""
        return self.equations**3 / 3 if self.subsystems else 0.0

    def __str__(self) -> str:
        what = [f"multipliers of {', '.join(self.cuts)}"] if self.cuts else []
        if self.actuators:
            what.append(f"{_plural('torque', len(self.actuators), False)} of {', '.join(self.actuators)}")
        label = " + ".join(self.subsystems) if self.subsystems else "outside the loops"
        count = f"{_plural('equation', self.equations)}, {_plural('unknown', self.unknowns)}"
        note = "" if self.determinate else "; not unique, the smallest is taken"
        return f"{label} ({count}: {' and '.join(what) or 'none'}{note})"


@dataclass(frozen=True)
class Order:
    """Which subsystem was solved when, for which unknowns; ``print`` it.

    Attributes
    ----------
    subsystems : tuple of Subsystem
    steps : tuple of Step
    """

    subsystems: tuple[Subsystem, ...]
    steps: tuple[Step, ...]

    @property
    def cost(self) -> float:
        """Sum of n^3/3 over the systems that were solved (001 section 4.4)."""
        return sum(step.cost for step in self.steps)

    @property
    def cost_at_once(self) -> float:
        """n^3/3 of the one system of 000 eq. 8.4."""
        return sum(step.equations for step in self.steps) ** 3 / 3

    def __str__(self) -> str:
        return ", then ".join(map(str, self.steps)) or "nothing to solve"


def _plural(word: str, count: int, number: bool = True) -> str:
    text = word if count == 1 else word + "s"
    return f"{count} {text}" if number else text


class Plan:
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
        self._names = [n for j in model.joints for n in _numbered(j.name, j.nv)]
        self._cuts = _cuts(model, sample)
        self._effective = [_effective(cut, sample).matrix for cut in self._cuts]
        parts, outside = subsystems(model)
        self._usable = len(sample) > 0
        steps = [self._outside(outside)] if outside else []
        self.order = Order(parts, (*steps, *self._recursion(parts)) if self._usable else ())

    def _outside(self, dofs: tuple[int, ...]) -> Step:
        idle = [self._names[k] for k in dofs if not self.actuated[k]]
        if idle:
            raise SingularError(
                f"{_plural('joint', len(idle), False)} {', '.join(idle)} of {self.model.name!r} "
                f"{'is' if len(idle) == 1 else 'are'} on no loop and not actuated: nothing can produce "
                "a given motion there. Actuate it, or use forward dynamics"
            )
        names = tuple(self._names[k] for k in dofs)
        return Step((), names, (), names, len(dofs), len(dofs), True, dofs, dofs)

    def _recursion(self, parts: Sequence[Subsystem]) -> Iterable[Step]:
        """Determinate subsystems first; where there are none, neighbours together."""
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
        """A determinate subsystem; else a determinate pair with common unknowns; else all that hang together."""
        for one in waiting:
            if self._is_determinate((one,), known):
                return (one,)
        for pair in combinations(waiting, 2):
            shared = self._touched(pair[:1], known) & self._touched(pair[1:], known)
            if shared and self._is_determinate(pair, known):
                return pair
        return self._neighbourhood(waiting, known)

    def _is_determinate(self, together: Sequence[Subsystem], known: AbstractSet[int]) -> bool:
        """As many unknowns as equations, and these independent."""
        cuts = self._touched(together, known)
        dofs, actuated = self._freedoms(together)
        unknowns = len(actuated) + sum(self._cuts[i].rank for i in cuts)
        if unknowns != len(dofs):
            return False
        return _generic_rank(_square(self._matrix(cuts, dofs), dofs, actuated)) == unknowns

    def _freedoms(self, together: Sequence[Subsystem]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Degrees of freedom of some subsystems, and those of them that are driven."""
        dofs = tuple(k for p in together for k in p.dofs)
        return dofs, tuple(k for k in dofs if self.actuated[k])

    def _matrix(self, cuts: Iterable[int], dofs: Sequence[int]) -> Array:
        """Effective constraints of some cuts at the sample."""
        return _columns([self._effective[i] for i in sorted(cuts)], dofs)

    def _touched(self, together: Sequence[Subsystem], known: AbstractSet[int]) -> set[int]:
        """Cuts with unknown multipliers at some subsystems."""
        dofs = {k for p in together for k in p.dofs}
        return {i for i, cut in enumerate(self._cuts) if i not in known and not cut.dofs.isdisjoint(dofs)}

    def _neighbourhood(self, waiting: Sequence[Subsystem], known: AbstractSet[int]) -> tuple[Subsystem, ...]:
        """The first subsystem and all that hang together with it by unknown multipliers."""
        found, count = list(waiting[:1]), 0
        while len(found) > count:
            count = len(found)
            touched = self._touched(found, known)
            found = [p for p in waiting if p in found or self._touched((p,), known) & touched]
        return tuple(found)

    def _step(self, together: Sequence[Subsystem], cuts: AbstractSet[int]) -> Step:
        dofs, actuated = self._freedoms(together)
        matrix = self._matrix(cuts, dofs)
        unknowns = len(actuated) + matrix.shape[1]
        return Step(
            tuple(p.name for p in together),
            tuple(j for p in together for j in p.joints),
            tuple(self._cuts[i].name for i in sorted(cuts)),
            tuple(self._names[k] for k in actuated),
            len(dofs),
            unknowns,
            unknowns == len(dofs) and _generic_rank(_square(matrix, dofs, actuated)) == unknowns,
            dofs,
            actuated,
            _generic_rank(matrix),
        )

    def _check_driven(self, step: Step, cuts: AbstractSet[int]) -> None:
        """Refuse what its actuators cannot hold."""
        freedoms = step.equations - step.rank
        whole = _square(self._matrix(cuts, step.dofs), step.dofs, step.actuated)
        reach = _generic_rank(whole) - step.rank
        if reach < freedoms:
            drives = f"{_plural('actuator', len(step.actuated))}" if step.actuated else "no actuator"
            useless = " (some act along the same freedom)" if reach < len(step.actuated) else ""
            raise SingularError(
                f"{self.model.name!r} has {_plural('freedom', freedoms)} among the joints {', '.join(step.joints)}, "
                f"but {drives} there{useless}: torques for a given motion do not exist in general. "
                "Actuate more joints, or use forward dynamics"
            )

    # -------------------------------------------------------------- solving

    def solve(self, tau_tree: ArrayLike, K: ArrayLike, weights: ArrayLike | None = None) -> Solution:
        """Torques and multipliers; see :func:`solve`."""
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
        return Solution(tau.reshape(*batch, nv), multipliers.reshape(*batch, nc), self.order)

    def _substitute(self, rest: Array, k: Array, weights: Array, place: Place) -> tuple[Array, Array]:
        """Go through the steps; ``rest`` is what is left of the tree's forces when known multipliers are moved over."""
        tau, multipliers = np.zeros_like(rest), np.zeros(k.shape[:2])
        by_name = {cut.name: cut for cut in self._cuts}
        for step in self.order.steps:
            dofs, driven = list(step.dofs), list(step.actuated)
            cuts = [by_name[name] for name in step.cuts]
            effective = [_effective(cut, k) for cut in cuts]
            matrix = _columns([e.matrix for e in effective], step.dofs, len(rest))
            solver = _determinate if step.determinate else _smallest
            torques, forces = solver(step, matrix, rest[:, dofs], weights[driven], place)
            tau[:, driven] = torques
            used = 0
            for cut, e in zip(cuts, effective, strict=True):
                own = forces[:, used : used + cut.rank]
                used += cut.rank
                rest -= np.einsum("bri,br->bi", e.matrix, own)  # known from here on: 000 eq. 8.13
                rows = cut.rows if cut.chosen is None else cut.chosen
                multipliers[:, rows] = own if e.back is None else np.einsum("bcr,br->bc", e.back, own)
        return tau, multipliers


class Solution(NamedTuple):
    """What the recursion found.

    Attributes
    ----------
    tau : ndarray, shape (..., nv)
        Actuator torques, zero at passive joints.
    multipliers : ndarray, shape (..., nc)
        Constraint forces on the successors of the loop joints.
    order : Order
        In what order they were found; prints as a sentence.
    """

    tau: Array
    multipliers: Array
    order: Order


def solve(
    model: Model,
    tau_tree: ArrayLike,
    K: ArrayLike,
    actuated: ArrayLike,
    weights: ArrayLike | None = None,
) -> Solution:
    """Actuator torques and multipliers with ``tau_tree = tau + K^T lambda``, subsystem by subsystem.

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
        Where actuators are redundant the torques minimise ``sum(weights * tau**2)``; all one by default.

    Returns
    -------
    Solution
        States with NaN in them have NaN as their result.

    Raises
    ------
    SingularError
        Where torques do not exist or are not unique: too few actuators, or a singular configuration.
    """
    k = as_array(K, (model.n_constraints, model.nv), "K")
    return Plan(model, k, actuated).solve(tau_tree, k, weights)


# ------------------------------------------------------------------ small systems


def _determinate(step: Step, matrix: Array, rest: Array, weights: Array, place: Place) -> tuple[Array, Array]:
    """As many equations as unknowns (001 eq. 42)."""
    square = _square(matrix, step.dofs, step.actuated)
    n = len(step.dofs)
    sides = np.concatenate([rest[:, :, None], np.broadcast_to(np.eye(n), square.shape)], axis=2)
    try:
        solved = np.linalg.solve(square, sides)
        condition = np.abs(solved[:, :, 1:]).sum(axis=1).max(axis=1) * np.abs(square).sum(axis=1).max(axis=1)
    except np.linalg.LinAlgError:
        condition = np.linalg.cond(square, 1)
    bad = ~(condition < CONDITION_LIMIT)
    if bad.any():
        raise _singular(step, place, int(np.argmax(bad)))
    na = len(step.actuated)
    return solved[:, :na, 0], solved[:, na:, 0]


def _smallest(step: Step, matrix: Array, rest: Array, weights: Array, place: Place) -> tuple[Array, Array]:
    """More unknowns than equations: the smallest torques first, then the smallest multipliers.

    Along the freedoms N of the subsystems (K N = 0) loop forces do no work, so that
    N^T tau = N^T tau_tree holds for the torques alone (004 eq. 10.40).
    """
    r = step.rank
    u, s, vt = np.linalg.svd(matrix, full_matrices=True)
    freedoms = vt[:, r:, :]
    own = [step.dofs.index(k) for k in step.actuated]
    scale = 1.0 / np.sqrt(weights)
    reach = freedoms[:, :, own] * scale
    ur, sr, vr = np.linalg.svd(reach, full_matrices=False)
    bad = _falls(s, r) | _falls(sr, freedoms.shape[1])
    if bad.any():
        raise _singular(step, place, int(np.argmax(bad)))
    work = np.einsum("bfi,bi->bf", freedoms, rest)
    torques = scale * np.einsum("bfa,bf,bgf,bg->ba", vr, 1.0 / sr, ur, work)
    left = rest.copy()
    left[:, own] -= torques
    forces = np.einsum("bcr,br,bri,bi->bc", u[:, :, :r], 1.0 / s[:, :r], vt[:, :r], left)
    return torques, forces


def _falls(values: Array, rank: int) -> Array:
    """Which of a stack of singular values do not reach a rank."""
    if rank == 0:
        return np.zeros(len(values), dtype=bool)
    return ~(values[:, rank - 1] > RANK_TOLERANCE * values[:, 0])


def _singular(step: Step, place: Place, lane: int) -> SingularError:
    together = " + ".join(step.subsystems)
    return SingularError(
        f"the equations of subsystem {together} (joints {', '.join(step.joints)}) are singular{place(lane)}: "
        f"the {'multipliers of ' + ', '.join(step.cuts) if step.cuts else 'torques'} are not determined. "
        "Move away from the singular configuration, or actuate another joint"
    )


def _lane(lanes: Array, batch: tuple[int, ...], lane: int) -> str:
    if not batch:
        return ""
    index = tuple(int(i) for i in np.unravel_index(int(lanes[lane]), batch))
    return f" at state {index[0] if len(index) == 1 else index} of the batch"


def _columns(effective: Sequence[Array], dofs: Sequence[int], count: int | None = None) -> Array:
    """Constraint rows of several cuts, restricted to some degrees of freedom: (B, unknowns, equations)."""
    if not effective:
        return np.zeros((1 if count is None else count, 0, len(dofs)))
    return np.concatenate([e[:, :, list(dofs)] for e in effective], axis=1)


def _square(matrix: Array, dofs: Sequence[int], actuated: Sequence[int]) -> Array:
    """The matrix F = [J_a^T J^T] of 000 eq. 8.4, of some subsystems."""
    select = np.zeros((len(matrix), len(dofs), len(actuated)))
    for column, k in enumerate(actuated):
        select[:, list(dofs).index(k), column] = 1.0
    return np.concatenate([select, np.swapaxes(matrix, 1, 2)], axis=2)


def _thinned(k: Array) -> Array:
    """At most ``SAMPLE`` finite states of a batch."""
    states = k.reshape(-1, *k.shape[-2:])
    states = states[np.isfinite(states).all(axis=(1, 2))]
    return states[:: max(1, -(-len(states) // SAMPLE))]


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


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

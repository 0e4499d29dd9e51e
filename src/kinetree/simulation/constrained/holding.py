"""Maintaining the constraints of a moving robot: the chosen way, and its state in one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...algorithms import constrained_dynamics
from ...algorithms.acting_element import Scalars
from ...algorithms.loop_constraints import UNCLOSED, usual_size
from ...errors import ClosureError, SingularError, UnsupportedError
from ...evaluation.law_kernels import LawProgram, can_compile, unrolls
from ...loops import dynamics, rank
from ...loops.tolerances import LEAST
from ...model.describe import counted
from ...robot.kept_programs import programs_of
from ...robot.robot import Robot
from ...spatial import Scalar
from ...spatial.arrays import Array
from ..elimination_order import LoopChoice, choice_at
from ..integrators.fixed_step_methods import GENERALIZED_ALPHA
from ..prescribed import BoundMotion
from .drift_correction import Drift, Partitioned, Projection

FOLLOWS = 1e-9
"""Coefficients below this, by which one drive would follow from another, are rounding."""

HELD_CLOSED = 1e-12
"""Gaps below this (m, rad) are closed."""

SURE = 1e-4
"""Constraints weaker than this fraction of the strongest do not change velocities: see :func:`nearest_state`."""

NEWTON_STEPS = 30

POOR = 0.1
"""A set of independent coordinates is replaced when its quality falls to this fraction of the initial one."""


class Terms(NamedTuple):
    """Constraints at a state, the batch first."""

    k: Array
    gaps: Array
    slips: Array
    bias: Array


class ByRank(NamedTuple):
    """The motion of a robot under constraints whose rank is determined at each state."""

    a: Array
    multipliers: Array
    """Multipliers of all constraints that count."""
    k: Array
    power: Array
    """Power of the driving forces."""


@dataclass(frozen=True)
class Holding:
    """A way to maintain constraints.

    Parameters
    ----------
    prescribed : BoundMotion, optional
        The prescribed motion.
    drift : Drift
        How errors of an integrator are corrected.
    spectral_radius : float, optional
        Spectral radius of the generalized-alpha method, if that maintains them.
    """

    prescribed: BoundMotion | None = None
    drift: Drift = field(default_factory=Projection)
    spectral_radius: float | None = None

    @property
    def is_usual(self) -> bool:
        """Whether loops, if any, are simply closed after every step."""
        return not self.prescribed and isinstance(self.drift, Projection) and self.spectral_radius is None

    @property
    def content(self) -> tuple[Any, ...]:
        """Everything but the robot that the laws of constraints depend on."""
        return self.prescribed and self.prescribed.given, self.drift, self.spectral_radius

    @property
    def name(self) -> str:
        """The name of this way in records."""
        return self.drift.name if self.spectral_radius is None else GENERALIZED_ALPHA


CLOSED_AFTER_STEPS = Holding()
"""The usual way."""


def refuse_large(robot: Robot) -> None:
    """Refuse robots for which only the usual way works: large ones, and those without inertia."""
    if not unrolls(robot):
        raise UnsupportedError(
            f"robot {robot.name!r} has {counted(len(robot.model.bodies), 'body', 'bodies')}: prescribed motions "
            "and ways to correct drift other than projection are for smaller robots"
        )
    robot.tree.evaluator.check_pivots()


class Hold:
    """The constraints of one run, and everything about them that changes during the run.

    Parameters
    ----------
    robot : Robot
    holding : Holding
    q : ndarray, shape (..., nq)
        A closed configuration, at which constraints are chosen that imply all others.
    t : float, optional
        Time of that configuration, for messages.
    programs : dict, optional
        Programs to reuse, kept by callers that run often.
    """

    def __init__(
        self, robot: Robot, holding: Holding, q: Array, t: float | None = None, programs: dict[Any, Any] | None = None
    ) -> None:
        self.robot, self.tree, self.holding = robot, robot.model, holding
        self.is_usual, self.drift = holding.is_usual, holding.drift
        self.prescribed = holding.prescribed or BoundMotion(robot)
        self.programs = programs_of(robot, (), holding.content) if programs is None else programs
        self.choice: LoopChoice | None = None
        """Constraints that imply all others, if they can be determined in advance."""
        self.dependent: tuple[int, ...] = ()
        """Freedoms that are solved for, if coordinates are partitioned."""
        self.margin = 0.0
        self.switches = -1
        """How often the dependent freedoms were chosen again."""
        if self.is_usual:
            choice = choice_at(robot, q) if unrolls(robot) and robot.has_inertia else None
            self.choice = choice if choice is not None and choice.rows else None
            return
        first = np.asarray(q).reshape(-1, self.tree.nq)[0]
        rows: tuple[int, ...] = ()
        if robot.loops is not None:
            known = robot.coordinates_at(first[None])
            rows = _independent(robot.loop_jacobian(first), self.prescribed.rows, known.rows)
        self.choice = LoopChoice(rows, (), self.prescribed or None, self.drift.gains)
        if self.prescribed:
            self._refuse_overdetermined(first, t)

    @property
    def kept(self) -> tuple[int, ...]:
        """The loop constraints that imply all others."""
        return () if self.choice is None else self.choice.rows

    def _refuse_overdetermined(self, q: Array, t: float | None) -> None:
        """Refuse prescribed motions that follow from one another, or that the loops do not allow."""
        k = np.zeros((0, self.tree.nv))
        if self.kept:
            k = self.robot.loop_jacobian(q)[list(self.kept)]
        units = np.eye(self.tree.nv)[[place for _, place in self.prescribed.joints]]
        whole = np.concatenate([k, units])
        u, sizes, _ = np.linalg.svd(whole)
        independent = int((sizes > LEAST * sizes[0]).sum())
        if independent == len(whole):
            return
        lost = sum(row not in self.kept for row in self.prescribed.rows)
        freedoms = self.tree.nv - len(self.kept) + len(self.prescribed.rows) - lost
        rows = [*range(len(k), len(whole)), *(self.kept.index(r) for r in self.prescribed.rows if r in self.kept)]
        shares = u[rows, independent:].T  # how drives follow from one another: shares @ rates = 0
        bound = np.flatnonzero(np.abs(shares).max(axis=0, initial=0.0) > FOLLOWS)
        names = self.prescribed.names
        clash = "" if lost else self._clash(shares, bound, t)
        if lost or not len(bound):
            tied = f"{', '.join(names)} cannot all be satisfied"
        elif len(bound) == 1:
            tied = f"{names[bound[0]]} cannot move at all"
        else:
            tied = f"{', '.join(names[i] for i in bound)} determine one another through the loops"
        how = "contradict one another or the loops of" if clash or t is None or lost else "are too many for"
        raise SingularError(
            f"the prescribed motions {how} {self.robot.name!r}: it has {counted(freedoms, 'freedom', 'freedoms')}, "
            f"{counted(len(names), 'is', 'are')} prescribed, and {tied}{clash}; leave out what follows from the rest"
        )

    def _clash(self, shares: Array, bound: Array, t: float | None) -> str:
        """Return in words by how much drives contradict each other at a time; empty if they agree."""
        if t is None or not len(bound):
            return ""
        rates = np.array(self.prescribed.at(t).velocities, dtype=float)
        off = np.abs(shares @ rates)
        worst, last = int(np.argmax(off)), int(bound[-1])
        if off[worst] <= FOLLOWS * (1.0 + np.abs(rates).max()) or abs(shares[worst, last]) <= FOLLOWS:
            return ""
        implied = rates[last] - (shares[worst] @ rates) / shares[worst, last]
        name = self.prescribed.names[last]
        return f" (at t = {t:g} s the others move {name!r} at {implied:.4g}, and {rates[last]:.4g} is prescribed)"

    # ------------------------------------------------------------------ the constraints on arrays

    def _of_state(self, name: str, law: Callable[..., list[Any]], choice: LoopChoice | None) -> LawProgram:
        """Return a law of time and state, on arrays, made at the first call."""
        key = name, choice and choice.key
        if key not in self.programs:
            sizes, robot = {"t": 1, "q": self.tree.nq, "v": self.tree.nv}, self.robot
            self.programs[key] = LawProgram(f"{name} of {robot.name!r}", law, sizes, can_compile(robot), cpu=robot.cpu)
        found: LawProgram = self.programs[key]
        return found

    @property
    def names(self) -> list[str]:
        """Names of the constraints that count: those of loops, then prescribed freedoms of joints."""
        of_loops = [self.tree.constraint_names[row] for row in self.kept]
        return [*of_loops, *self.prescribed.names[: len(self.prescribed.joints)]]

    def terms(self, t: Any, q: Array, v: Array) -> Terms:
        """Return K, gaps, slips and bias at states of unit quaternions."""
        tree, rows = self.tree, self.kept
        n = len(rows) + len(self.prescribed.joints)

        def law(t: Scalars, q: Scalars, v: Scalars) -> list[Scalar]:
            schedule = self.prescribed.at(t[0])
            k = constrained_dynamics.matrix(tree, q, rows, schedule)
            gaps, slips = (
                constrained_dynamics.gaps(tree, q, rows, schedule),
                constrained_dynamics.slips(k, v, rows, schedule),
            )
            return [x for row in k for x in row] + gaps + slips + constrained_dynamics.bias(tree, q, v, rows, schedule)

        out = self._of_state("constraints", law, self.choice)(
            {"t": np.atleast_1d(np.asarray(t, dtype=float)), "q": q, "v": v}
        )
        k, rest = out[..., : n * tree.nv], out[..., n * tree.nv :]
        return Terms(
            k.reshape(*k.shape[:-1], n, tree.nv), rest[..., :n], rest[..., n : 2 * n], rest[..., 2 * n :]
        )  # fmt: skip

    def by_rank(self, t: Any, q: Array, v: Array, tau: Array, loads: Any) -> ByRank:
        """Return the robot's motion under joint forces and wrenches, even where the choice of constraints fails."""
        run = self.robot.evaluator.run
        force = tau - run("bias_force", wrenches=loads, q=q, v=v)
        terms = self.terms(t, q, v)
        alpha, beta = self.drift.gains
        target = -(terms.bias + 2.0 * alpha * terms.slips + beta * beta * terms.gaps)
        m = np.broadcast_to(run("mass_matrix", q=q), (*force.shape[:-1], self.tree.nv, self.tree.nv))
        k = np.broadcast_to(terms.k, (*force.shape[:-1], *terms.k.shape[-2:]))
        found = dynamics.accelerations(m, k, force, target, k.shape[-2], usual_size(self.tree), LEAST, False)
        wanted = (terms.k @ v[..., None])[..., 0] - terms.slips
        return ByRank(found.a, found.multipliers, terms.k, (found.multipliers * wanted).sum(axis=-1))

    def forces(self, q: Array, found: ByRank) -> tuple[Array, Array]:
        """Return the forces of all constraints of the loops, and those that drive joints, (..., nv)."""
        n, driving = len(self.kept), np.zeros_like(found.a)
        driving[..., [place for _, place in self.prescribed.joints]] = found.multipliers[..., n:]
        if self.robot.loops is None:
            return np.zeros((*q.shape[:-1], 0)), driving
        push = np.swapaxes(found.k[..., :n, :], -1, -2) @ found.multipliers[..., :n, None]
        every = np.swapaxes(self.robot.loop_jacobian(q), -1, -2)
        return rank.least_squares(every, push, least=LEAST)[..., 0], driving

    # ------------------------------------------------------------------ holding

    def held(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Return states at a time with drift corrected in the chosen way; failed lanes do not affect the others."""
        if not self.drift.after_steps or not (self.is_usual or self.kept or self.prescribed):
            return q, v
        known = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        if known.all():
            return self._nearest(t, q, v)
        q, v = q.copy(), v.copy()
        if known.any():
            q[known], v[known] = self._nearest(t, q[known], v[known])
        return q, v

    def _nearest(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        if isinstance(self.drift, Partitioned):
            self._mind_partition(t, q, v)
            return self.completed(t, q, v)
        ways: tuple[LoopChoice, ...] = ()
        if self.choice is not None and not (self.is_usual and not (can_compile(self.robot) and self.choice.is_small)):
            ways = self.choice.ways
        given = {"t": np.asarray(t, dtype=float)[..., None], "q": q, "v": v}
        for way in ways:
            out = self._projection(way)(given)
            if np.all(out[..., -2] <= UNCLOSED * UNCLOSED) and np.all(out[..., -1] >= 1.0):
                return self.robot.normalize(out[..., : self.tree.nq]), out[..., self.tree.nq : -2]
        return nearest_state(self.robot, q, v) if self.is_usual else self.nearest(t, q, v)

    def _projection(self, way: LoopChoice) -> LawProgram:
        """Return :meth:`kinetree.Mechanism.project` in machine code, with the remaining gap and the quality."""
        tree = self.tree

        def law(t: Scalars, q: Scalars, v: Scalars) -> list[Scalar]:
            found = way.held(tree, t[0], q, v)
            return [*found.q, *found.v, found.left, found.quality]

        return self._of_state("projection", law, way)

    def nearest(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the nearest states that the constraints allow, by steps that determine the rank at each state.

        Parameters
        ----------
        t : float or ndarray
            One time, or one for each state.
        """
        q, terms, left = self._met(t, q, v, lambda terms: np.linalg.pinv(terms.k, rcond=LEAST) @ terms.gaps[..., None])
        if left.any():
            worst = np.unravel_index(int(np.argmax(left)), left.shape)
            row = int(np.argmax(np.abs(terms.gaps[worst])))
            raise ClosureError(
                f"the constraints of {self.robot.name!r} cannot be met at t = "
                f"{float(np.broadcast_to(t, left.shape)[worst]):g} s: {float(left[worst]):.3g} (m, rad) remain at "
                f"{self.names[row]!r}"
            )
        m = self.robot.evaluator.run("mass_matrix", q=q)
        light = np.linalg.solve(m, np.swapaxes(terms.k, -1, -2))
        back = light @ (np.linalg.pinv(terms.k @ light, rcond=LEAST) @ terms.slips[..., None])
        return q, v - back[..., 0]

    def _met(self, t: Any, q: Array, v: Array, back: Callable[[Terms], Array]) -> tuple[Array, Terms, Array]:
        """Return configurations after Newton steps ``back``, the terms there, and the remaining gaps, if any."""
        q, times = self.robot.normalize(q), np.broadcast_to(t, q.shape[:-1])[..., None]
        last = np.full(q.shape[:-1], np.inf)
        for _ in range(NEWTON_STEPS):
            terms = self.terms(times, q, v)
            off = np.abs(terms.gaps).max(axis=-1, initial=0.0)
            there = ~(off >= HELD_CLOSED) | ((off < UNCLOSED) & (off > 0.5 * last))
            if there.all():
                break
            last = off
            move = np.where(there[..., None], 0.0, -back(terms)[..., 0])
            q = self.robot.normalize(self.robot.integrate(q, move))
        return q, terms, np.where(there, 0.0, off)

    # ------------------------------------------------------------------ partitioned coordinates

    def _mind_partition(self, t: float, q: Array, v: Array) -> None:
        """Choose other independent coordinates if the current ones hardly determine the rest any more."""
        k = self.terms(t, self.robot.normalize(q), v).k.reshape(-1, *self._size_of_k)
        if self.dependent:
            here = np.linalg.svd(k[:, :, list(self.dependent)], compute_uv=False)[:, -1].min()
            if here >= POOR * self.margin:
                return
        from scipy.linalg import qr  # slow to import, and only this way of holding needs it

        # one set serves a whole batch: the one that is best for the sum of squares
        order = qr(k.reshape(-1, k.shape[-1]), mode="r", pivoting=True)[1]
        self.dependent = tuple(sorted(int(j) for j in order[: k.shape[-2]]))
        self.margin = float(np.linalg.svd(k[:, :, list(self.dependent)], compute_uv=False)[:, -1].min())
        self.switches += 1

    @property
    def _size_of_k(self) -> tuple[int, int]:
        return len(self.kept) + len(self.prescribed.joints), self.tree.nv

    def completed(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the state that follows from its independent coordinates; the others determine the branch."""
        if not self.dependent:
            self._mind_partition(t, q, v)
        rest = list(self.dependent)
        if not rest:
            return q, v

        def back(terms: Terms) -> Array:
            move = np.zeros((*terms.gaps.shape[:-1], self.tree.nv, 1))
            move[..., rest, :] = _follow(terms.k[..., rest], terms.gaps)
            return move

        q, terms, left = self._met(t, q, v, back)
        if left.any():
            raise ClosureError(
                f"the dependent coordinates of {self.robot.name!r} cannot be solved for at t = {t:g} s: "
                f"{left.max():.3g} (m, rad) remain; take a smaller step, or drift='projection'"
            )
        v = np.array(np.broadcast_to(v, terms.k.shape[:-2] + v.shape[-1:]))
        v[..., rest] -= _follow(terms.k[..., rest], terms.slips)[..., 0]
        return q, v

    # ------------------------------------------------------------------ for the record

    def told(self, t: Array, q: Array) -> dict[str, Any]:
        """Return the entries of a record: how constraints were maintained, and their largest error."""
        if self.is_usual:
            gaps = self.robot.loop_gaps(q)
        else:
            gaps = self.terms(t.reshape(-1, *(1,) * (q.ndim - 1)), q, np.zeros((*q.shape[:-1], self.tree.nv))).gaps
        worst = float(np.max(np.abs(gaps), initial=0.0, where=np.isfinite(gaps)))
        found: dict[str, Any] = {"drift": self.holding.name, "largest_gap": worst}
        if isinstance(self.drift, Partitioned):
            found["coordinate_switches"] = max(self.switches, 0)
        return found | ({"prescribed": list(self.prescribed.names)} if self.prescribed else {})


def nearest_state(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """Project a nearly closed state, as integrators and interpolation leave it; see :meth:`kinetree.Mechanism.project`.

    Near a change point the nearest configuration may belong to the other branch, whose velocities are entirely
    different; and on the right branch the weak constraint determines the velocity only to rounding divided by the
    square of its size.  The state's own velocity is known as accurately as the state, and violates the constraint only
    by its error times that size.
    """
    closed = robot.close(q, limits=False)
    return closed, robot.nearest_velocity(closed, v, SURE)


def _follow(k: Array, off: Array) -> Array:
    """Return the moves of the dependent coordinates, from (..., n, n) and (..., n), as columns."""
    try:
        return np.asarray(np.linalg.solve(k, off[..., None]))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(k, rcond=LEAST) @ off[..., None])


def _independent(k: Array, first: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    """Return as many independent rows as ``others``, including those that are driven."""
    if not first:
        return others
    kept: list[int] = []
    for row in (*first, *others):
        if row in kept:
            continue
        sizes = np.linalg.svd(k[[*kept, row]], compute_uv=False)
        if sizes[-1] > LEAST * sizes[0] and len(kept) < len(others):
            kept.append(row)
    return tuple(sorted(kept))

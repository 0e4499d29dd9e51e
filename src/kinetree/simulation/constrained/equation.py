"""The equation of motion of a system that holds its constraints itself, some of them driven by time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...algorithms import constrained, kinematics
from ...algorithms.acting import Scalars
from ...algorithms.constrained import LEAST_QUALITY
from ...algorithms.constraints import UNCLOSED, usual_size
from ...algorithms.projection import project
from ...errors import ClosureError, SingularError, UnsupportedError
from ...loops import dynamics, rank
from ...model.describe import counted
from ...run.failure import Fault
from ...run.law_kernels import LawProgram, unrolls
from ...spatial import Scalar
from ...spatial.arrays import split
from ..equation import Array, Equation, Observed, unit_quaternions
from ..integrators.fixed_step_methods import GENERALIZED_ALPHA
from ..system import DynamicSystem, State
from .drift import Drift, Partitioned, Projection
from .prescribed import PrescribedLaws

LEAST = 1e-9
"""Singular values below this part of the largest count as zero."""

FOLLOWS = 1e-9
"""Smaller shares of one drive in another are rounding."""

HELD_CLOSED = 1e-12
"""Gaps below this (m, rad) are closed."""

NEWTON_STEPS = 30

ROUNDS_TO_HOLD = 4
"""Newton steps in machine code after a step: drives may have gone farther than the error of a step."""

POOR = 0.1
"""A set of independent coordinates is changed where the others follow so much worse than when it was chosen."""


class Terms(NamedTuple):
    """Constraints at a state, the batch first."""

    k: Array
    gaps: Array
    slips: Array
    bias: Array


class ConstrainedEquation(Equation):
    """A system's laws under constraints that are held in a way of choice.

    Parameters
    ----------
    system, function, threads
        See :class:`kinetree.simulation.equation.Equation`.
    prescribed : PrescribedLaws
    drift : Drift
    spectral_radius : float
        Of the generalized-alpha method.
    """

    holds_itself = True

    def __init__(
        self, system: DynamicSystem, function: Callable[..., Any] | None, threads: int, prescribed: PrescribedLaws,
        drift: Drift, spectral_radius: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(system, function, threads)
        self.spectral_radius, self.by_alpha = spectral_radius, False
        self._own_programs: dict[tuple[str, tuple[int, ...]], LawProgram] = {}
        self._driving = np.zeros(0)
        robot = self.robot
        if not unrolls(robot):
            raise UnsupportedError(
                f"robot {robot.name!r} has {counted(len(self.tree.bodies), 'body', 'bodies')}: prescribed motions and "
                "ways to hold drift other than projection are for smaller ones"
            )
        robot.tree.evaluator.check_pivots()
        self.prescribed, self.drift, self.by_robot = prescribed, drift, True
        self.kept: tuple[int, ...] = ()
        """Constraints of the loops that imply all others."""
        self.dependent: tuple[int, ...] = ()
        """Freedoms that are solved for, where coordinates are partitioned."""
        self.margin = 0.0
        self.switches = -1
        """How often these were chosen anew."""

    @property
    def is_driven(self) -> bool:
        """Whether something is prescribed."""
        return bool(self.prescribed)

    @property
    def traceable(self) -> bool:
        """Whether whole steps become machine code: here rates do, and the rest is done around them."""
        return False

    def prepare(self, q: Array, t: float | None = None) -> None:
        """Choose constraints that are independent of one another, at a closed configuration; ``t`` is for messages."""
        first = np.asarray(q).reshape(-1, self.tree.nq)[0]
        self.dependent, self.margin, self.switches = (), 0.0, -1  # an earlier run may have ended with other ones
        if self.robot.loops is not None:
            known = self.robot.coordinates_at(first[None])
            k = self.robot.loop_jacobian(first)
            self.kept = _independent(k, self.prescribed.rows, known.rows)
        if self.prescribed:
            self._refuse_overdetermined(first, t)

    def _refuse_overdetermined(self, q: Array, t: float | None) -> None:
        """Refuse motions that follow from one another, or that the loops do not leave."""
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
            tied = f"{', '.join(names)} cannot all be had"
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
        """Say by how much drives contradict one another at a moment; nothing where they agree."""
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

    def own_program(self, name: str, make: Callable[[], LawProgram]) -> LawProgram:
        """Return the program of this name for the constraints that count in this run, made at the first call."""
        key = name, self.kept
        if key not in self._own_programs:
            self._own_programs[key] = make()
        return self._own_programs[key]

    def _of_state(self, name: str, law: Callable[..., list[Any]]) -> LawProgram:
        """Return a law of time and state alone, on arrays."""
        sizes = {"t": 1, "q": self.tree.nq, "v": self.tree.nv}
        title = f"{name} of {self.robot.name!r}"
        return self.own_program(name, lambda: LawProgram(title, law, sizes, self.compiled, cpu=self.robot.cpu))

    @property
    def names(self) -> list[str]:
        """Of the constraints that count: those of loops, then prescribed freedoms of joints."""
        of_loops = [self.tree.constraint_names[row] for row in self.kept]
        return [*of_loops, *self.prescribed.names[: len(self.prescribed.joints)]]

    def terms(self, t: Any, q: Array, v: Array) -> Terms:
        """Return K, gaps, slips and bias at states of unit quaternions."""
        tree, rows = self.tree, self.kept
        n = len(rows) + len(self.prescribed.joints)

        def law(t: Scalars, q: Scalars, v: Scalars) -> list[Scalar]:
            schedule = self.prescribed.at(t[0])
            k = constrained.matrix(tree, q, rows, schedule)
            gaps, slips = constrained.gaps(tree, q, rows, schedule), constrained.slips(k, v, rows, schedule)
            return [x for row in k for x in row] + gaps + slips + constrained.bias(tree, q, v, rows, schedule)

        out = self._of_state("constraints", law)({"t": np.atleast_1d(np.asarray(t, dtype=float)), "q": q, "v": v})
        k, rest = out[..., : n * tree.nv], out[..., n * tree.nv :]
        return Terms(
            k.reshape(*k.shape[:-1], n, tree.nv), rest[..., :n], rest[..., n : 2 * n], rest[..., 2 * n :]
        )  # fmt: skip

    # ------------------------------------------------------------------ rates

    def rates(self, t: float, q: Array, v: Array, z: Array) -> State:
        """Return the rates of q, v and z; where coordinates are partitioned, at the state that follows from some."""
        if isinstance(self.drift, Partitioned):
            q, v = self.completed(t, self.robot.normalize(q), v)
        out = self._rates_of(t, q, v, z, None)
        nq, nv = self.tree.nq, self.tree.nv
        return out[..., :nq], out[..., nq : nq + nv], out[..., nq + nv :]

    def accelerations(
        self, t: float, q: Array, v: Array, z: Array, ahead: float | None = None
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return the rates of v and z."""
        if ahead is None:
            _, a, z_rate = self.rates(t, q, v, z)
            return a, z_rate
        out = self._rates_of(t, q, v, z, ahead)
        nq, nv = self.tree.nq, self.tree.nv
        return out[..., nq : nq + nv], out[..., nq + nv :]

    def _rates_of(self, t: float, q: Array, v: Array, z: Array, ahead: float | None) -> Array:
        self.n_calls += 1
        given = self.named(t, q, v, z)
        program = self._rate_program(ahead is not None)
        try:
            out = program(given if ahead is None else given | {"h": np.array([ahead])}, self.threads)
        except Fault as fault:
            fault.time = t if np.isnan(fault.time) else fault.time
            raise
        if (out[..., -1] < LEAST_QUALITY).any():
            if ahead is not None:
                raise SingularError(
                    "the constraints depend on one another here, where an implicit step cannot tell their forces: "
                    "take an integrator that is explicit"
                )
            return self._rates_by_rank(t, q, v, z)
        return np.asarray(out[..., :-1])

    def _rate_program(self, implicit: bool) -> LawProgram:
        tree, rows, gains = self.tree, self.kept, self.drift.gains

        def law(
            t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars, h: Scalars = ()
        ) -> list[Scalar]:
            system = self.with_numbers(p)
            unit, length = unit_quaternions(tree, q)
            schedule = self.prescribed.at(t[0])
            acting = system.acting(t[0], unit, v, z, tau or None)
            heavy, total = system.yielding(acting, t[0], unit, v, h[0] if h else None)
            found = constrained.forward_dynamics(
                heavy, unit, v, total, tree.gravity, acting.loads, rows, schedule, gains
            )
            moving = kinematics.configuration_rate(tree, unit, v)
            q_rate = [r if s is None else r * s for r, s in zip(moving, length, strict=True)]
            powers = system.powers(unit, v, acting) if system.works else []
            if powers:
                powers[0] = powers[0] + found.driving_power(rows, schedule)
            return [*q_rate, *found.a, *acting.z_rate, *powers, found.quality]

        name = f"constrained rates{' ahead' if implicit else ''}"
        return self.own_program(name, lambda: self.program(name, law, h=1) if implicit else self.program(name, law))

    def _rates_by_rank(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Return rates where the choice of constraints fails: by a method that finds the rank there."""
        unit = self.robot.normalize(q)
        tau, loads, z_rate = self.forces(self.named(t, unit, v, z))
        found, rates = self._accelerations_by_rank(np.array([t]), unit, v, tau, loads)
        if self.n_works and self.is_driven:
            wanted = (rates.k @ v[..., None])[..., 0] - rates.slips
            z_rate = z_rate.copy()
            z_rate[..., -self.n_works] += (found.multipliers * wanted).sum(axis=-1)
        _, length = unit_quaternions(self.tree, split(q))
        scale = np.stack([np.broadcast_to(1.0 if s is None else s, q.shape[:-1]) for s in length], axis=-1)
        moving = self.robot.configuration_rate(unit, v) * scale
        return np.concatenate([moving, found.a, z_rate], axis=-1)

    def driven_motion(self, t: Any, q: Array, v: Array, tau: Array, wrenches: Any) -> tuple[Array, Array, Terms]:
        """Return accelerations under joint forces and wrenches, multipliers of all constraints, and these."""
        found, terms = self._accelerations_by_rank(t, q, v, tau, wrenches)
        return found.a, found.multipliers, terms

    def _accelerations_by_rank(
        self, t: Any, q: Array, v: Array, tau: Array, loads: Any
    ) -> tuple[dynamics.Accelerations, Terms]:
        run = self.robot.evaluator.run
        force = tau - run("bias_force", wrenches=loads, q=q, v=v)
        terms = self.terms(t, q, v)
        alpha, beta = self.drift.gains
        target = -(terms.bias + 2.0 * alpha * terms.slips + beta * beta * terms.gaps)
        m = np.broadcast_to(run("mass_matrix", q=q), (*force.shape[:-1], self.tree.nv, self.tree.nv))
        k = np.broadcast_to(terms.k, (*force.shape[:-1], *terms.k.shape[-2:]))
        found = dynamics.accelerations(m, k, force, target, k.shape[-2], usual_size(self.tree), LEAST, False)
        return found, terms

    # ------------------------------------------------------------------ holding

    def held(self, t: float, state: State) -> State:
        """Return the state at a time after what the choice of drift asks for; lost lanes leave the others alone."""
        q, v, z = state
        if not isinstance(self.drift, (Projection, Partitioned)) or not (self.kept or self.prescribed):
            return state
        known = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        if known.all():
            return (*self._nearest(t, q, v), z)
        q, v = q.copy(), v.copy()
        if known.any():
            q[known], v[known] = self._nearest(t, q[known], v[known])
        return q, v, z

    def _nearest(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        if isinstance(self.drift, Partitioned):
            self._mind_partition(t, q, v)
            return self.completed(t, q, v)
        tree, rows = self.tree, self.kept

        def law(t: Scalars, q: Scalars, v: Scalars) -> list[Scalar]:
            found = project(tree, q, v, rows, self.prescribed.at(t[0]), rounds=ROUNDS_TO_HOLD)
            return [*found.q, *found.v, found.left, found.quality]

        out = self._of_state("projection", law)({"t": np.array([t]), "q": q, "v": v})
        if np.all(out[..., -2] <= UNCLOSED * UNCLOSED) and np.all(out[..., -1] >= 1.0):
            return self.robot.normalize(out[..., : tree.nq]), out[..., tree.nq : -2]
        return self.nearest(t, q, v)

    def nearest(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the nearest states that the constraints allow, by steps that find the rank where they are.

        Parameters
        ----------
        t : float or ndarray
            One moment, or one of each state.
        """
        q, moments = self.robot.normalize(q), np.broadcast_to(t, q.shape[:-1])
        times, last = moments[..., None], np.full(q.shape[:-1], np.inf)
        for _ in range(NEWTON_STEPS):
            terms = self.terms(times, q, v)
            off = np.abs(terms.gaps).max(axis=-1, initial=0.0)
            there = (off < HELD_CLOSED) | ((off < UNCLOSED) & (off > 0.5 * last))
            if there.all():
                break
            last = off
            back = np.linalg.pinv(terms.k, rcond=LEAST) @ terms.gaps[..., None]
            q = self.robot.normalize(self.robot.integrate(q, np.where(there[..., None], 0.0, -back[..., 0])))
        else:
            worst = np.unravel_index(int(np.argmax(off)), off.shape)
            row = int(np.argmax(np.abs(terms.gaps[worst])))
            raise ClosureError(
                f"the constraints of {self.robot.name!r} cannot be met at t = {float(moments[worst]):g} s: "
                f"{float(off[worst]):.3g} (m, rad) remain at {self.names[row]!r}"
            )
        terms = self.terms(times, q, v)
        m = self.robot.evaluator.run("mass_matrix", q=q)
        light = np.linalg.solve(m, np.swapaxes(terms.k, -1, -2))
        back = light @ (np.linalg.pinv(terms.k @ light, rcond=LEAST) @ terms.slips[..., None])
        return q, v - back[..., 0]

    # ------------------------------------------------------------------ partitioned coordinates

    def _mind_partition(self, t: float, q: Array, v: Array) -> None:
        """Choose other independent coordinates where the rest hardly follows from these any more."""
        k = self.terms(t, self.robot.normalize(q), v).k.reshape(-1, *self._size_of_k)
        if self.dependent:
            here = np.linalg.svd(k[:, :, list(self.dependent)], compute_uv=False)[:, -1].min()
            if here >= POOR * self.margin:
                return
        from scipy.linalg import qr  # slow to import, and only this way of holding needs it

        # of a batch one set serves all: the one that is best for the sum of squares
        order = qr(k.reshape(-1, k.shape[-1]), mode="r", pivoting=True)[1]
        self.dependent = tuple(sorted(int(j) for j in order[: k.shape[-2]]))
        self.margin = float(np.linalg.svd(k[:, :, list(self.dependent)], compute_uv=False)[:, -1].min())
        self.switches += 1

    @property
    def _size_of_k(self) -> tuple[int, int]:
        return len(self.kept) + len(self.prescribed.joints), self.tree.nv

    def completed(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the state that follows from its independent coordinates; the others say which branch it is on."""
        if not self.dependent:
            self._mind_partition(t, q, v)
        rest = list(self.dependent)
        if not rest:
            return q, v
        q, last, terms = self.robot.normalize(q), np.inf, None
        for _ in range(NEWTON_STEPS):
            terms = self.terms(t, q, v)
            off = float(np.abs(terms.gaps).max(initial=0.0))
            if not off >= HELD_CLOSED or (off < UNCLOSED and off > 0.5 * last):
                break
            last = off
            move = np.zeros(v.shape)
            move[..., rest] = -_follow(terms.k[..., rest], terms.gaps)
            q = self.robot.normalize(self.robot.integrate(q, move))
        else:
            raise ClosureError(
                f"the dependent coordinates of {self.robot.name!r} cannot be solved for at t = {t:g} s: {last:.3g} (m, "
                "rad) remain; take a smaller step, or drift='projection'"
            )
        v = np.array(np.broadcast_to(v, terms.k.shape[:-2] + v.shape[-1:]))
        v[..., rest] -= _follow(terms.k[..., rest], terms.slips)
        return q, v

    # ------------------------------------------------------------------ for the record

    def observe(self, t: Array, q: Array, v: Array, z: Array, forgiving: bool = False) -> Observed:
        """Return the forces and energies at many times; those that drive joints are among the actuators'."""
        seen = super().observe(t, q, v, z, forgiving)
        places = [place for _, place in self.prescribed.joints]
        if not places:
            return seen
        tau = seen.tau.copy()
        tau[..., places] += self._driving
        return seen._replace(tau=tau)

    def told(self, t: Array, q: Array) -> dict[str, Any]:
        """Return what a record says: how constraints were held, and how far they were off at worst."""
        name = GENERALIZED_ALPHA if self.by_alpha else self.drift.name
        gaps = self.terms(t.reshape(-1, *(1,) * (q.ndim - 1)), q, np.zeros((*q.shape[:-1], self.tree.nv))).gaps
        found: dict[str, Any] = {
            "drift": name, "largest_gap": float(np.max(np.abs(gaps), initial=0.0, where=np.isfinite(gaps))),
        }  # fmt: skip
        if isinstance(self.drift, Partitioned):
            found["coordinate_switches"] = max(self.switches, 0)
        return found | ({"prescribed": list(self.prescribed.names)} if self.prescribed else {})

    def _observe_by_robot(self, given: Mapping[str, Array]) -> tuple[Array, Array]:
        q, v = given["q"], given["v"]
        tau, loads, _ = self.forces(given)
        found, terms = self._accelerations_by_rank(given["t"], q, v, tau, loads)
        n = len(self.kept)
        self._driving = found.multipliers[..., n:]
        if self.robot.loops is None:
            return found.a, np.zeros((*q.shape[:-1], 0))
        push = np.swapaxes(terms.k[..., :n, :], -1, -2) @ found.multipliers[..., :n, None]
        every = np.swapaxes(self.robot.loop_jacobian(q), -1, -2)
        return found.a, rank.least_squares(every, push, least=LEAST)[..., 0]


def _follow(k: Array, off: Array) -> Array:
    """Return how dependent coordinates have to move, (..., n, n) by (..., n)."""
    try:
        return np.asarray(np.linalg.solve(k, off[..., None])[..., 0])
    except np.linalg.LinAlgError:
        return np.asarray((np.linalg.pinv(k, rcond=LEAST) @ off[..., None])[..., 0])


def _independent(k: Array, first: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    """Return rows that are independent of one another and as many as ``others``, among them those that are driven."""
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

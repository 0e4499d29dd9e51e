"""Integrators one step at a time, all with the same face: ``step()``, then ``state_at(t)`` within the step taken.

Adaptive integrators are SciPy's and SUNDIALS', on the coordinates as they are: the rate of
a quaternion is proportional to its length, so its length is of no consequence and only its
direction is ever used.  Whatever leaves an integrator has unit length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ClosureError, Message, OptionError, Setting, UnsupportedError
from ...run.failure import Fault
from ..closed_rates import rates_of
from ..equation import Array, Equation
from ..projection import nearest_state, projector
from ..system import State
from .change_points import TELLING, Path, Way, agree, times_before, ways_over
from .fixed import NoConvergence

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

STIFF_AFTER = 15
"""Steps in a row at the edge of stability after which a problem counts as stiff (Hairer, Norsett, Wanner IV.2)."""

LARGEST_STEPS_LEFT = 50_000
"""A stiff problem is refused to an explicit integrator if it would need more steps than this to the end."""

LONGEST_LEAP = 10_000
"""Steps in machine code between two looks at the keyboard."""

ENDLESS = 1e10
"""Velocities beyond this are no motion of a robot."""


def is_motion(state: State) -> bool:
    """Whether a state is one that a robot can be in."""
    q, v, _ = state
    return bool(np.isfinite(q).all() and np.isfinite(v).all() and np.max(np.abs(v), initial=0.0) < ENDLESS)


SHRUNK = 0.5
"""Part of the usual step below which it is asked whether loops are the reason."""

NEARLY_SINGULAR = 0.02
"""Smallest singular value of K, as part of the largest, below which they can be."""

LOST = 1e-6
"""The same, below which rounding decides about velocities: it leaves them about 1e-16 divided by its square."""

CLEAR = 3e-4
"""The same, down to which the way over is made of states: rounding leaves accelerations about 1e-16 by its cube."""

TOO_NEAR = 1e-4
"""The same, below which even a motion that goes away from a change point is taken from before it."""

REMEMBERED = 40
"""States from which the motion towards a change point can be followed anew, half a usual step apart at least."""

MORE_DIGITS = 1e-3
"""Of tolerances: polynomials that are followed beyond their states multiply errors by about as much."""

KNOWN = 1e-7
"""What the way over may be off by in any case (rad, m, rad/s, m/s): ten times what it is usually known to at best."""

SHORTEST = 5.0
"""How far back states before a change point begin at least, in distances of the last one."""

PATIENCE = 1000
"""Steps after which the motion is not followed anew any longer: it has come to another change point."""

ELSEWHERE = 1e-5
"""Motions that are farther apart than this, beside their errors, are two (rad, m)."""


class Stepper:
    """What the run loop knows of an integrator."""

    t: float
    t_old: float
    state: State
    n_steps: int = 0
    interior: int = 0
    """How many points within a step are cheap to look at, for events."""

    def step(self) -> None:
        """Go one step on."""
        raise NotImplementedError

    def leap(self, until: float) -> None:
        """Go one step on; or several, if nobody wants to know what is between, but not beyond ``until``."""
        self.step()

    def state_at(self, t: float) -> State:
        """The state at a time within the last step."""
        raise NotImplementedError

    def states_at(self, times: list[float]) -> list[State]:
        """The same at several times."""
        return [self.state_at(t) for t in times]

    def restart(self, t: float, state: State) -> None:
        """Go on from another state."""
        raise NotImplementedError


class FixedStepper(Stepper):
    """Steps of equal length; the last one ends where the run does.

    States within a step are found by a shorter step from its beginning, so they are as exact as any.
    """

    def __init__(self, equation: Equation, name: str, t: float, state: State, end: float, step: float) -> None:
        self.advance = equation.steps.one(name)
        self.equation, self.name, self.end, self.h = equation, name, end, step
        self.project = projection(equation) if not equation.traceable else _as_it_is  # machine code closes loops itself
        self.careful = False
        self.restart(t, state)

    def restart(self, t: float, state: State) -> None:
        """Go on from another state; steps are counted from there."""
        self.t = self.t_old = self.start = t
        self.state = self.old = state
        self.count = 0

    def step(self) -> None:
        """Go one step on."""
        self.t_old, self.old = self.t, self.state
        self.count += 1
        self.n_steps += 1
        after = self.start + self.count * self.h
        # a last step shorter than rounding of the time is no step
        self.t = self.end if after > self.end - 1e-9 * self.h else after
        short = after > self.end + 1e-9 * self.h
        self.state = self._from(self.t_old, self.old, self.end - self.t_old if short else self.h)

    def leap(self, until: float) -> None:
        """Go on to the last whole step before a time, in machine code if there is any."""
        whole = min(int((min(until, self.end) - self.start) / self.h - 1e-9) - self.count, LONGEST_LEAP)
        if whole < 2 or self.careful or not self.equation.traceable:
            self.step()
            return
        try:
            state = self.equation.steps.many(self.name)(self.t, self.state, self.h, whole)
        except (NoConvergence, ClosureError):
            state = self.state
            self.careful = True
        if self.careful or not is_motion(state):  # go through it step by step, to see where it is lost
            self.careful = True
            self.step()
            return
        self.state = self.old = state
        self.count += whole
        self.n_steps += whole
        self.t = self.t_old = self.start + self.count * self.h

    def _unsolved(self, t: float, h: float) -> Fault:
        names, v = self.equation.robot.v_names, np.abs(self.state[1])
        joint = names[int(np.argmax(v))] if names else None
        return Fault(f"the equations of a step of {h:g} s cannot be solved: the step is too large", t, joint)

    def _from(self, t: float, state: State, h: float) -> State:
        try:
            return self.project(self.advance(t, state, h))
        except NoConvergence:
            raise self._unsolved(t, h) from None
        except ClosureError as problem:
            raise Fault(
                Message(
                    f"the loops of {self.equation.robot.name!r} cannot be closed after this step: {h:g} s are too much "
                    f"for {self.name} to be stable here; take a smaller step, or an integrator for stiff problems, ",
                    Setting("integrator", "radau"),
                ),
                t,
            ) from problem

    def state_at(self, t: float) -> State:
        """The state at a time within the last step."""
        if t == self.t:
            return self.state
        return self.old if t == self.t_old else self._from(self.t_old, self.old, t - self.t_old)


class ScipyStepper(Stepper):
    """SciPy's integrators, and SUNDIALS' behind the same face."""

    interior = 3

    def __init__(
        self, equation: Equation, name: str, t: float, state: State, end: float,
        rtol: float, atol: float, largest_step: float,
    ) -> None:  # fmt: skip
        from scipy.integrate import BDF, DOP853, RK45, Radau  # slow to import; fixed steps need none of it

        self.equation, self.name, self.end = equation, name, end
        self.options: dict[str, Any] = {"rtol": rtol, "atol": atol, "max_step": largest_step}
        self.project, self.rates = projection(equation), rates_of(equation)
        if equation.tree.loops and name in ("bdf", "sundials"):
            several = f"{name} remembers several steps, between which loops cannot be closed"
            raise UnsupportedError(
                Message(several, ": for stiff mechanisms with loops use ", Setting("integrator", "radau"))
            )
        self.make: Callable[..., OdeSolver] = {
            "rk45": RK45, "dop853": DOP853, "radau": Radau, "bdf": BDF, "sundials": _sundials,
        }[name]  # fmt: skip
        self.explicit = name in ("rk45", "dop853")
        if name in ("radau", "bdf"):
            self.options["jac"] = self._jacobian
        self.stiffness = _Stiffness(6.1 if name == "dop853" else 3.25)
        self.restart(t, state)

    def restart(self, t: float, state: State) -> None:
        """Go on from another state."""
        self.t = self.t_old = t
        self.state = state
        self.lengths = [x.shape[-1] for x in state]
        y = np.concatenate(state)
        if not np.isfinite(self._rate(t, y)).all():  # SciPy would look for a first step for ever
            raise self.equation.lost_control_after(t, state, self.end) or Fault(
                "the forces or accelerations are not finite", t, self._fastest()
            )
        self.solver = self.make(self._rate, t, y, self.end, **self.options)
        self.dense: Any = None
        self.usual_step = 0.0
        self.past: list[tuple[float, Array]] = [(t, y)]
        self.tried, self.tried_clear = np.inf, False
        self.most_regular = self._regularity() if self.equation.tree.loops else 1.0

    def _rate(self, t: float, y: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.concatenate(self.rates(t, *self._parts(y)))

    def _jacobian(self, t: float, y: Array) -> Array:
        """How the rates change with the state, by differences.

        SciPy's own differences take ten times larger steps after every look along a direction that
        changes nothing (where a robot stands on a plane, say), until these overflow.
        """
        steps = 1.5e-8 * np.maximum(1.0, np.abs(y))
        moved = y + np.diag(steps)
        if self.equation.function is None:
            with np.errstate(all="ignore"):
                rates = np.concatenate(self.rates(t, *self._parts(moved)), axis=-1)
        else:  # a user's function may know one state at a time only
            rates = np.stack([self._rate(t, row) for row in moved])
        return ((rates - self._rate(t, y)) / (np.diag(moved) - y)[:, None]).T

    def _parts(self, y: Array) -> State:
        nq, nv, _ = self.lengths
        return y[..., :nq], y[..., nq : nq + nv], y[..., nq + nv :]

    def _unit(self, y: Array) -> State:
        q, v, z = self._parts(y)
        return (self.equation.robot.normalize(q) if np.isfinite(q).all() else q), v.copy(), z.copy()

    def step(self) -> None:
        """Go one step on."""
        solver = self.solver
        self.t_old = solver.t
        complaint = self._stepped(solver)
        self.n_steps += 1
        if complaint is not None or solver.status == "failed":
            t = float(solver.t)
            if self._over_from_here():
                return
            lost = self.equation.lost_control_after(t, self.state, self.end)
            raise lost or Fault(self._diagnosis(complaint), t, self._fastest())
        self.t = float(solver.t)
        self.dense = None
        if self.explicit:
            self.stiffness.look(solver)
            if self.stiffness.found and (self.end - self.t) / solver.step_size > LARGEST_STEPS_LEFT:
                raise Fault(
                    Message(
                        f"the problem is stiff: {self.name} can only take steps of {solver.step_size:.3g} s and would "
                        f"need {(self.end - self.t) / solver.step_size:.3g} of them; use ",
                        Setting("integrator", "radau", "bdf"),
                    ),
                    self.t,
                    self._fastest(),
                )
        self.state = self._unit(solver.y)
        if self.equation.tree.loops:
            self._mind_change_points(self._close_loops())

    def _mind_change_points(self, poor: bool) -> None:
        """Where steps have shrunk because loops are about to lose a constraint, go over on the smooth path.

        Also where a step has come so near by chance that rounding decides about accelerations, which may be ``poor``.
        """
        step, y = self.t - self.t_old, self.solver.y.copy()
        self.usual_step = max(step, 0.9 * self.usual_step)
        # steps that shrink to nothing must not push those out that are needed
        if self.t - self.past[-1][0] >= SHRUNK * self.usual_step:
            self.past = [*self.past[1 - REMEMBERED :], (self.t, y)]
        shrunk = step < SHRUNK * self.usual_step
        left = self._regularity() if shrunk or poor else 1.0
        if left >= (NEARLY_SINGULAR if shrunk else TOO_NEAR):
            self.tried, self.tried_clear = np.inf, False
            return
        self.most_regular = max(self.most_regular, left)
        if left < self.tried:
            if self._go_over(y, left):
                return
            self.tried = 0.5 * left  # nearer to it the way over is shorter
        if left < LOST < 0.01 * self.most_regular and self.t < self.end:  # and did not begin there
            raise Fault(self._diagnosis(None), self.t, self._fastest())

    def _over_from_here(self) -> bool:
        """Go over a change point that the integrator cannot take a single step towards."""
        if not self.equation.tree.loops or self.t >= self.end or (left := self._regularity()) >= NEARLY_SINGULAR:
            return False
        return self._go_over(self.solver.y.copy(), left)

    def _go_over(self, y: Array, left: float) -> bool:
        """Go to the other side of a change point, if the way there is known."""
        falls = self._losing(y)
        ahead = left / falls if falls else np.inf
        if not np.isfinite(ahead) or (ahead > self.usual_step and left > CLEAR) or (ahead <= 0.0 and left > TOO_NEAR):
            return False  # it is too far yet, or the motion goes away from it
        # where something has begun to act just before, states that are not clear of the point are the only ones
        sizes = [2.0 * TELLING] if self.tried_clear else [CLEAR, 2.0 * TELLING]
        wanted = np.maximum(sizes, left) / abs(falls)
        if 0.5 * self.options["max_step"] > wanted[-1]:
            wanted = np.minimum(wanted, 0.5 * self.options["max_step"])
        self.tried_clear = True
        return any(self._gone_over(self.t + ahead, nearest) for nearest in np.unique(wanted)[::-1])

    def _gone_over(self, change: float, nearest: float) -> bool:
        """Go to the other side of a change point, if states until so long before it tell the way."""
        enough = [t for t, _ in self.past if change - t >= SHORTEST * nearest]
        # a long step may have passed another change point, which is not to be met again
        return any(
            self._gone_from(since, change, nearest) for since in sorted({enough[0], enough[-1]} if enough else ())
        )

    def _gone_from(self, since: float, change: float, nearest: float) -> bool:
        """Go to the other side of a change point, if states from ``since`` until so long before it tell the way."""
        rtol, atol = self.options["rtol"], self.options["atol"]
        past = self._anew(times_before(change, nearest, since))
        ways = ways_over(past, change, self.end, self._regularity, lambda y: atol + rtol * np.abs(y) + KNOWN)
        return any(self._taken(way, past[-1][0], change) for way in ways)

    def _taken(self, way: Way, last: float, change: float) -> bool:
        """Take a way over a change point, if forces on the other side agree with it."""
        t, path = way.end, way.path
        if t <= self.t or not self._same_motion(path):
            return False
        state = self.project(self._unit(path(np.array(t))))
        there = np.concatenate(state)
        if not agree(path, t, change - last, self._rate(t, there), way.error, self._regularity(there)):
            return False  # something has begun to act on the way
        # the last step may have got on another branch already
        before, switch = self.dense, max(self.t_old, last)
        self.dense = lambda times: np.where(times <= switch, before(times), path(times).T) if before else path(times).T
        self.t, self.state, self.past = t, state, [(t, there)]
        self.tried, self.tried_clear = np.inf, False
        if t < self.end:
            first = min(self.usual_step, self.end - t)
            self.solver = self.make(self._rate, t, there, self.end, first_step=first, **self.options)
        return True

    def _same_motion(self, path: Path) -> bool:
        """Whether a path leads past where the run is; not if it was found on another branch of the motion."""
        q, _, _ = self._parts(path(np.array(self.t)))
        off = np.abs(q - self._parts(self.solver.y)[0])
        return bool(np.all(off <= 1e3 * (self.options["atol"] + self.options["rtol"] * np.abs(q)) + ELSEWHERE))

    def _losing(self, y: Array) -> float:
        """How fast the loops get nearer to losing a constraint, in what :meth:`_regularity` measures per time.

        The least singular value of K has a sign if it is measured along directions that stay: it is smooth where it
        vanishes, and its absolute value is not.
        """
        robot: Any = self.equation.robot
        q, v, _ = self._unit(y)
        u, sizes, w = np.linalg.svd(robot.loop_jacobian(q))
        k = robot._known(self.state[0]).rank - 1
        apart = 1e-6 / max(1.0, float(np.abs(v).max()))
        ahead, behind = (u[:, k] @ robot.loop_jacobian(robot.integrate(q, h * v)) @ w[k] for h in (apart, -apart))
        return float((behind - ahead) / (2.0 * apart * sizes[0]))

    def _anew(self, times: Array) -> list[tuple[float, Array]]:
        """The motion at some times up to now, integrated once more and with more digits."""
        if not len(times):
            return []
        t, y = next((t, y) for t, y in reversed(self.past) if t <= times[0])
        finer = {k: max(MORE_DIGITS * self.options[k], 1e-13) for k in ("rtol", "atol")}
        nodes, count = [], 0
        for until in times.tolist():
            solver = self.make(self._rate, t, y, until, **(self.options | finer)) if until > t else None
            while solver is not None and solver.status == "running":
                count += 1
                if self._stepped(solver) is not None or count > PATIENCE:
                    return []
            if solver is not None:
                y = np.concatenate(self.project(self._unit(solver.y)))
            t = until
            nodes.append((t, y))
        return nodes

    def _regularity(self, y: Array | None = None) -> float:
        """How far the loops are from losing a constraint: zero where they do, at most one."""
        robot: Any = self.equation.robot
        q = self.state[0] if y is None else self._unit(y)[0]
        sizes, rank = np.linalg.svd(robot.loop_jacobian(q), compute_uv=False), robot._known(self.state[0]).rank
        return float(sizes[rank - 1] / sizes[0]) if rank else 1.0

    def _stepped(self, solver: OdeSolver) -> str | None:
        """Take a step; what the integrator complains about, if it does."""
        try:
            with np.errstate(all="ignore"):
                complaint: str | None = solver.step()
        except (ValueError, np.linalg.LinAlgError) as problem:
            return str(problem)  # how implicit integrators meet numbers that are none
        return complaint

    def _close_loops(self) -> bool:
        """Close loops after a step; whether its rates may be poor, for they were not found in the prepared way."""
        self.dense = self.solver.dense_output()  # made from what the step has left
        self.state = self.project(self.state)
        self.solver.y = np.concatenate(self.state)
        before = self.equation.n_prepared
        self.solver.f = self._rate(self.t, self.solver.y)
        return self.equation.n_prepared == before

    def _diagnosis(self, complaint: str | None) -> str:
        if self.equation.tree.loops and self._regularity() < NEARLY_SINGULAR:
            return Message(
                f"{self.name} cannot go on: the loops of {self.equation.robot.name!r} are at a change point or a dead "
                "centre, where they lose a constraint and forces no longer decide about the motion; see "
                "robot.mobility(q), or take a fixed step (",
                Setting("integrator", "rk4"), ", ", Setting("step", ...), "), which may step over it",
            )  # fmt: skip
        if self.explicit:
            return Message(
                f"{self.name} cannot go on: no step is small enough. Either the problem is stiff (use ",
                Setting("integrator", "radau", "bdf"),
                "), or the motion or a force grows without bound",
            )
        return f"{self.name} cannot go on ({(complaint or 'failed').rstrip('.')}): the motion or a force has no bound"

    def _fastest(self) -> str | None:
        """The joint whose acceleration is largest, where a problem most likely is."""
        with np.errstate(all="ignore"):
            _, a, _ = self.rates(self.t_old, *self.state)
        names = self.equation.robot.v_names
        return names[int(np.argmax(np.where(np.isfinite(a), np.abs(a), np.inf)))] if names else None

    def state_at(self, t: float) -> State:
        """The state at a time within the last step; its loops, open by the error of interpolation, are closed again."""
        if self.dense is None:
            self.dense = self.solver.dense_output()
        return self.project(self._unit(self.dense(t)))

    def states_at(self, times: list[float]) -> list[State]:
        """The same at several times: all loops are closed at once."""
        if not self.equation.tree.loops or len(times) < 2:
            return super().states_at(times)
        if self.dense is None:
            self.dense = self.solver.dense_output()
        return list(zip(*self.project(self._unit(self.dense(np.array(times)).T)), strict=True))


class _Stiffness:
    """Notices that stability and not accuracy limits an explicit Runge-Kutta formula's step.

    Two stages at the end of a step differ by little in y and by h lambda times as much in
    h y': their ratio estimates the largest eigenvalue (Hairer, Norsett, Wanner, section IV.2).
    """

    def __init__(self, edge: float) -> None:
        self.edge, self.hits, self.misses = edge, 0, 0

    @property
    def found(self) -> bool:
        return self.hits >= STIFF_AFTER

    def look(self, solver: Any) -> None:
        n, h = solver.n_stages, solver.h_previous
        slopes = solver.K[: n - 1]
        stage = solver.y_old + h * (slopes.T @ solver.A[n - 1, : n - 1])
        apart = np.linalg.norm(solver.y - stage)
        if apart > 0.0 and h * np.linalg.norm(solver.f - solver.K[n - 1]) > self.edge * apart:
            self.hits, self.misses = self.hits + 1, 0
        else:
            self.misses += 1
            if self.misses >= 6:
                self.hits = 0


def _sundials(rate: Any, t: float, y: Array, end: float, rtol: float, atol: float, max_step: float) -> Any:
    try:
        from .sundials import CvodeSolver
    except ImportError:
        raise OptionError(
            "integrator 'sundials' needs the package scikit-sundae: pip install 'kinetree[sundials]'; "
            "'radau' and 'bdf' need nothing more"
        ) from None
    return CvodeSolver(rate, t, y, end, rtol=rtol, atol=atol, max_step=max_step)


def _as_it_is(state: State) -> State:
    return state


def projection(equation: Equation) -> Callable[[State], State]:
    """What brings a state back onto the closed loops; nothing where there are none."""
    robot: Any = equation.robot
    if not robot.model.loops:
        return _as_it_is
    rows = equation.rows if equation.compiled else None
    nearest = projector(robot, rows) if rows else partial(nearest_state, robot)

    def project(state: State) -> State:
        q, v, z = state
        known = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        if known.all():
            return (*nearest(q, v), z)
        closed_q, closed_v = q.copy(), v.copy()
        if known.any():  # lanes that are lost leave the others alone
            closed_q[known], closed_v[known] = nearest(q[known], v[known])
        return closed_q, closed_v, z

    return project

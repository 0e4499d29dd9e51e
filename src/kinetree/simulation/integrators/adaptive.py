"""Adaptive integrators, which choose their own steps: SciPy's and SUNDIALS'.

They work on the coordinates as they are: the rate of a quaternion is proportional to its length, so its length does not
matter, and only its direction is used.  Results have unit length.  Integrators of mechanisms with closed loops are in
:mod:`.adaptive_of_loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ClosureError, Message, OptionError, Setting, UnsupportedError
from ...evaluation.law_failures import Fault
from ...spatial.arrays import Array
from ..equation import Equation
from ..system import State
from .stepper import Stepper

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

ROUNDED = 8.0 * float(np.finfo(float).eps)
"""Fraction of a time below which differences are rounding."""

STIFF_AFTER = 15
"""Steps in a row at the edge of stability after which a problem counts as stiff (Hairer, Norsett, Wanner IV.2)."""

LARGEST_STEPS_LEFT = 50_000
"""An explicit integrator refuses a stiff problem if it would need more steps than this to the end."""


class ScipyStepper(Stepper):
    """SciPy's integrators, and SUNDIALS' with the same interface."""

    interior = 3
    looks_at_all = False
    """Whether states within a step are interpolated all at once, which has to give the same bits for trees."""

    def __init__(
        self, equation: Equation, name: str, t: float, state: State, end: float,
        rtol: float, atol: float, largest_step: float,
    ) -> None:  # fmt: skip
        from scipy.integrate import BDF, DOP853, RK45, Radau  # slow to import; fixed steps need none of it

        self.equation, self.name, self.end = equation, name, end
        self.options: dict[str, Any] = {"rtol": rtol, "atol": atol, "max_step": largest_step}
        self.rates, self.rates_of_whole = equation.quick_rates, equation.rates_of_whole()
        self.holds = equation.hold is not None and equation.hold.drift.after_steps
        """Whether a step may end at another state than the integrator's."""
        if self.holds and name in ("bdf", "sundials"):
            several = f"{name} remembers several steps, between which constraints cannot be corrected by "
            raise UnsupportedError(
                Message(
                    several, Setting("drift", equation.holding.drift.name), ": use ", Setting("integrator", "radau")
                )
            )
        self.make: Callable[..., OdeSolver] = {
            "rk45": RK45, "dop853": DOP853, "radau": Radau, "bdf": BDF, "sundials": _sundials,
        }[name]  # fmt: skip
        self.explicit = name in ("rk45", "dop853")
        if name == "dop853" and not equation.holds_itself:  # others round differently
            self.looks_at_all = True
        if name in ("radau", "bdf"):
            self.options["jac"] = self._jacobian
        self.longest = 0.0
        """Length of the last step that an explicit formula would have taken."""
        self.stiffness = _Stiffness(6.1 if name == "dop853" else 3.25)
        self.restart(t, state)

    def restart(self, t: float, state: State) -> None:
        """Continue from another state."""
        if self.equation.holds_itself:  # which may violate a prescribed motion
            state = self._held(t, state)
        self.t = self.t_old = t
        self.state = state
        self._look_no_further(self.end)
        self.lengths = [x.shape[-1] for x in state]
        y = np.concatenate(state)
        if not np.isfinite(self._rate(t, y)).all():  # SciPy would search for a first step forever
            raise self.equation.lost_control_after(t, state, self.end) or Fault(
                "the forces or accelerations are not finite", t, self._fastest()
            )
        self.solver = self.make(self._rate, t, y, self.end, **self.options)
        self.dense: Any = None

    def carry_on(self, state: State, end: float) -> None:
        """Continue to another end; an explicit formula remembers only the length of its steps."""
        if self.equation.holds_itself:
            super().carry_on(state, end)
            return
        if not self.explicit:
            self._carry_on_implicitly(state, end)
            return
        solver, y = self.solver, np.concatenate(state)
        self._look_no_further(end)
        rate = self._rate(self.t, y)
        if not np.isfinite(rate).all():
            super().carry_on(state, end)
            return
        self.end, self.state, self.t_old, self.dense = end, state, self.t, None
        solver.y, solver.f, solver.t_bound, solver.status = y, rate, end, "running"
        solver.h_abs = max(solver.h_abs, self.longest)  # a step that was cut off at the end says little

    def _carry_on_implicitly(self, state: State, end: float) -> None:
        """Continue to another end with everything that an implicit formula remembers, unless the state has jumped.

        CVODE starts again: otherwise it would notice forces that have jumped only at the end of its next step.
        """
        solver, y = self.solver, np.concatenate(state)
        jumped = any(
            not np.array_equal(a, b) for a, b in zip(state[1:], self._parts(solver.y)[1:], strict=True)
        )  # quaternions may have been normalized
        self._look_no_further(end)
        rate = self._rate(self.t, y)
        if jumped or self.name == "sundials" or not np.isfinite(rate).all():
            super().carry_on(state, end)
            return
        self.end, self.state, self.t_old, self.dense = end, state, self.t, None
        solver.t_bound, solver.status = end, "running"
        if hasattr(solver, "f"):  # Radau's value is from before if forces have jumped here
            solver.f, solver.sol = rate, None

    def _look_no_further(self, end: float) -> None:
        """Evaluate forces only until just before a stop, at which they may jump."""
        self.last_look = max(end - ROUNDED * abs(end), self.t)

    def _rate(self, t: float, y: Array) -> Array:
        """Return the rates of one state or a batch."""
        if self.rates_of_whole is not None and y.ndim == 1:
            return self.rates_of_whole(min(t, self.last_look), y)
        with np.errstate(all="ignore"):
            return np.concatenate(self.rates(min(t, self.last_look), *self._parts(y)), axis=-1)

    def _jacobian(self, t: float, y: Array) -> Array:
        """Return the derivatives of the rates with respect to the state, by differences.

        SciPy's own differences use ten times larger steps after every evaluation along a direction that changes nothing
        (as for a robot that stands on a plane), until they overflow.
        """
        steps = 1.5e-8 * np.maximum(1.0, np.abs(y))
        moved = y + np.diag(steps)
        if self.equation.function is None:
            rates = self._rate(t, moved)
        else:  # a user's function may accept only one state at a time
            rates = np.stack([self._rate(t, row) for row in moved])
        return ((rates - self._rate(t, y)) / (np.diag(moved) - y)[:, None]).T

    def _parts(self, y: Array) -> State:
        nq, nv, _ = self.lengths
        return y[..., :nq], y[..., nq : nq + nv], y[..., nq + nv :]

    def _unit(self, y: Array) -> State:
        q, v, z = self._parts(y)
        return (self.equation.robot.normalize(q) if np.isfinite(q).all() else q), v.copy(), z.copy()

    def step(self) -> None:
        """Take one step."""
        solver = self.solver
        self.t_old = solver.t
        self.longest = getattr(solver, "h_abs", 0.0)
        complaint = self._stepped(solver)
        self.n_steps += 1
        if complaint is not None or solver.status == "failed":
            t = float(solver.t)
            if self._rescued():
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
        if self.holds:
            self._hold()

    def _hold(self) -> None:
        """Correct constraints after a step."""
        self.dense = self.solver.dense_output()  # the interpolant is made from the data of the step
        self.state = self._held(self.t, self.state)
        self.solver.y = np.concatenate(self.state)
        self.solver.f = self._rate(self.t, self.solver.y)

    def _held(self, t: Any, state: State) -> State:
        try:
            return self.equation.held(t, state)
        except ClosureError as problem:
            raise Fault(str(problem), float(np.min(t))) from problem

    def _rescued(self) -> bool:
        """Return whether the run continues although the integrator cannot; here it never does."""
        return False

    def _stepped(self, solver: OdeSolver) -> str | None:
        """Take a step; return the integrator's complaint, if any."""
        try:
            with np.errstate(all="ignore"):
                complaint: str | None = solver.step()
        except (ValueError, np.linalg.LinAlgError) as problem:
            return str(problem)  # how implicit integrators react to NaN
        return complaint

    def _diagnosis(self, complaint: str | None) -> str:
        if self.explicit:
            return Message(
                f"{self.name} cannot continue: no step is small enough. Either the problem is stiff (use ",
                Setting("integrator", "radau", "bdf"),
                "), or the motion or a force grows without bound",
            )
        return f"{self.name} cannot continue ({(complaint or 'failed').rstrip('.')}): a motion or force has no bound"

    def _fastest(self) -> str | None:
        """Return the joint with the largest acceleration, where a problem is most likely."""
        with np.errstate(all="ignore"):
            _, a, _ = self.rates(self.t_old, *self.state)
        names = self.equation.robot.v_names
        return names[int(np.argmax(np.where(np.isfinite(a), np.abs(a), np.inf)))] if names else None

    def state_at(self, t: float) -> State:
        """Return the state at a time within the last step.

        Loops, which interpolation leaves slightly open, are closed again.
        """
        if self.dense is None:
            self.dense = self.solver.dense_output()
        return self._held(t, self._unit(self.dense(t)))

    def states_at(self, times: list[float]) -> State:
        """Return the same at several times."""
        if len(times) < 2 or not self.looks_at_all:
            return super().states_at(times)
        if self.dense is None:
            self.dense = self.solver.dense_output()
        return self._held(times, self._unit(self.dense(np.array(times)).T))


class _Stiffness:
    """Detects that stability rather than accuracy limits the steps of an explicit Runge-Kutta formula.

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
            "'radau' and 'bdf' need no extra package"
        ) from None
    return CvodeSolver(rate, t, y, end, rtol=rtol, atol=atol, max_step=max_step)

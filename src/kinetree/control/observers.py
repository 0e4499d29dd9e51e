"""Observers: estimates of the robot's state for sampled controllers, from measurements and commands.

Observers are laws over any scalar with a memory, compiled together with their controller.  Between two samples they
predict the state with their model of the robot; at a sample they correct it with the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import joint_momenta, kinematics, newton_euler
from ..algorithms.acting_element import ActingElement
from ..algorithms.joint_friction import friction_force
from ..errors import OptionError, Setting, ShapeError, UnsupportedError
from ..model.tree import Model
from ..robot.linear_model import LinearModel, checked_elements, element_slopes
from ..spatial import Scalar
from ..spatial.arrays import Array
from ..spatial.numbers import real_number, real_numbers
from .driven_joints import Scalars

SAME_PERIOD = 1e-9
"""Relative difference that is allowed between the periods of an observer's model and of the controller."""


class StateEstimate(NamedTuple):
    """The estimate of an observer after a sample."""

    q: Sequence[Scalar]
    v: Sequence[Scalar]
    load: Sequence[Scalar]
    """The nv external joint forces; empty if the observer does not estimate them."""
    memory: Sequence[Scalar]


class Observer:
    """The interface of observers."""

    compensate: bool = False
    """Whether the estimated load is compensated."""

    def check(self, tree: Model, period: float) -> None:
        """Refuse a robot or a period that the observer was not designed for."""

    def memory_size(self, tree: Model) -> int:
        """Return how many numbers it remembers."""
        raise NotImplementedError

    def first_memory(self, tree: Model, period: float, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return its memory before the first sample, at which a state is measured."""
        raise NotImplementedError

    def update(
        self, tree: Model, period: float, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars
    ) -> StateEstimate:
        """Return the estimate after a sample; ``tau`` are the average forces since the last one."""
        raise NotImplementedError


# ---------------------------------------------------------------- linear ones


@dataclass(frozen=True, eq=False)
class LinearObserver(Observer):
    """Follows the linear model about a state: x = A x + B u, corrected to x + L (y - C x) by the measurement y = C x.

    Made by :func:`luenberger` and :func:`kalman`.

    Parameters
    ----------
    model : LinearModel
        Model in discrete time, with the controller's period.
    gain : array_like, shape (2 nv, m)
        L, for the m = nv positions, or for positions and velocities.
    q, v, tau : array_like
        The state about which the model is linear, and the joint forces there.
    """

    model: LinearModel
    gain: Array
    q: Array
    v: Array
    tau: Array

    def check(self, tree: Model, period: float) -> None:
        """Refuse a robot or a period that the observer was not designed for."""
        if len(self.v) != tree.nv or len(self.q) != tree.nq:
            raise ShapeError(f"the observer was made for {len(self.v)} freedoms, robot {tree.name!r} has {tree.nv}")
        step = self.model.step
        if step is None or abs(step - period) > SAME_PERIOD * period:
            raise OptionError(f"the observer was made for a period of {step} s, the controller has one of {period:g} s")

    def memory_size(self, tree: Model) -> int:
        """Return the length of x."""
        return 2 * tree.nv

    def first_memory(self, tree: Model, period: float, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the measured deviation, propagated back by one step.

        The first sample then agrees with the prediction.
        """
        x = np.array(np.broadcast_arrays(*self._deviation(tree, q, v)), dtype=float)
        still = np.asarray(self.model.rate, dtype=float) - np.asarray(self.model.B) @ self.tau
        back = np.linalg.solve(self.model.A, np.moveaxis(x, 0, -1)[..., None] - still[:, None])[..., 0]
        return list(np.moveaxis(back, -1, 0))

    def update(
        self, tree: Model, period: float, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars
    ) -> StateEstimate:
        """Return the estimate after a sample."""
        n, u = tree.nv, [a - b for a, b in zip(tau, self.tau.tolist(), strict=True)]
        ahead = _product(self.model.A, memory, _product(self.model.B, u, self.model.rate.tolist()))
        seen = self._deviation(tree, q, v)[: self.gain.shape[1]]
        missed = [a - b for a, b in zip(seen, ahead, strict=False)]
        x = _product(self.gain, missed, ahead)
        estimated = kinematics.integrate(tree, self.q.tolist(), x[:n])
        return StateEstimate(estimated, [a + b for a, b in zip(x[n:], self.v.tolist(), strict=True)], [], x)

    def _deviation(self, tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
        away = kinematics.difference(tree, self.q.tolist(), q)
        return [*away, *(a - b for a, b in zip(v, self.v.tolist(), strict=True))]


def _product(matrix: Array, x: Scalars, beside: Scalars) -> list[Scalar]:
    """Return ``matrix x + beside``, skipping products with zero."""
    found = []
    for row, total in zip(np.asarray(matrix).tolist(), beside, strict=True):
        for factor, value in zip(row, x, strict=True):
            if factor != 0.0:
                total = total + factor * value
        found.append(total)
    return found


def linear_model(
    robot: Any, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None, period: float | None, forces: Any,
    friction_speed: float | None,
) -> tuple[LinearModel, Array, Array, Array]:  # fmt: skip
    """Return a robot's model about a state, discrete if there is a period, and that state with its forces.

    By default the forces are those that hold the robot there, at joints with motors.
    """
    place = np.asarray(robot.evaluator.states.configuration(q), dtype=float)
    rate = np.zeros(robot.nv) if v is None else np.asarray(v, dtype=float)
    elements = checked_elements(forces)
    if tau is not None:
        force = np.asarray(tau, dtype=float)
    elif robot.model.is_constrained and elements:
        raise OptionError(f"give the forces tau that hold {robot.name!r} there: it has loops, and forces act on it")
    else:
        force = np.asarray(robot.inverse_dynamics(place, rate, np.zeros(robot.nv), friction=True))
        if elements:
            force = force - element_slopes(robot.model, place, rate, elements, 0.0).force
    if place.ndim != 1 or rate.shape != (robot.nv,) or force.shape != (robot.nv,):
        raise ShapeError(
            f"one state is needed here: q ({robot.nq},), v and tau ({robot.nv},); weights, noises and the period go by "
            "name"
        )
    if friction_speed is None:
        elements = tuple(
            x.free_at_rest(robot.model, rate.tolist()) if isinstance(x, ActingElement) else x for x in elements
        )
    model = robot.linearize(place, rate, force, period, friction_speed=friction_speed, forces=elements)
    return model, place, rate, force


def _tree_only(robot: Any, what: str) -> None:
    if robot.model.is_constrained:
        raise UnsupportedError(
            f"{what} estimates all joints of a tree; robot {robot.name!r} has closed loops, whose joints follow others"
        )


def luenberger(
    robot: Any, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, *, period: float,
    bandwidth: float, forces: Any = (), friction_speed: float | None = None,
) -> LinearObserver:  # fmt: skip
    """Return an observer of velocities from positions, whose errors decay with a given bandwidth.

    Parameters
    ----------
    robot : Robot
        A tree.
    q, v, tau : array_like
        The state about which the robot moves, at rest by default, and the joint forces there; by default those that
        hold it there.
    period : float
        Period of the controller, in seconds.
    bandwidth : float
        Bandwidth in hertz: errors decay about as exp(-2 pi bandwidth t).
    forces : force elements
        Forces that act on the robot, as in :func:`kinetree.simulate`.
    friction_speed : float, optional
        Smooths Coulomb friction as in :meth:`kinetree.Robot.linearize`, which at rest makes it a damper of its size
        over this speed.  By default it is left out at rest, that of :class:`kinetree.forces.Motor` too: viscous
        friction is included.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> observer = kt.control.luenberger(robot, [0.0], period=1e-3, bandwidth=50.0)
    """
    _tree_only(robot, "a Luenberger observer")
    real_number(period, "period", positive=True, unit="seconds")
    real_number(bandwidth, "bandwidth", positive=True, unit="hertz")
    model, place, rate, force = linear_model(robot, q, v, tau, period, forces, friction_speed)
    decay = np.exp(-2.0 * math.pi * bandwidth * period * np.array([0.9, 1.1]))
    return LinearObserver(model, _decoupled_gain(model.A, *decay), place, rate, force)


def _decoupled_gain(a: Array, first: float, second: float) -> Array:
    """Return L for which (1 - L C) A, where C picks the positions, has two given eigenvalues for every freedom.

    With w, the predicted positions, in place of velocities, A is [[0, 1], [f, g]], and L makes it
    [[0, -first second / f], [f, first + second]].
    """
    n = len(a) // 2
    one, (p, r), (s, t) = np.eye(n), np.split(a[:n], 2, axis=1), np.split(a[n:], 2, axis=1)
    back = np.linalg.inv(r)  # v = back (w - p q)
    f, g = r @ (s - t @ back @ p), p + r @ t @ back
    of_positions, of_expected = one + first * second * np.linalg.inv(f), g - (first + second) * one
    return np.vstack([of_positions, back @ (of_expected - p @ of_positions)])


def kalman(
    robot: Any, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, *, period: float,
    force_noise: ArrayLike, position_noise: ArrayLike, velocity_noise: ArrayLike | None = None, forces: Any = (),
    friction_speed: float | None = None,
) -> LinearObserver:  # fmt: skip
    """Return the steady-state Kalman filter of a robot about a state: the estimate of least variance.

    Parameters
    ----------
    robot : Robot
        A tree.
    q, v, tau : array_like
        As in :func:`luenberger`.
    period : float
        Period of the controller, in seconds.
    force_noise : float or array_like
        Standard deviation of unknown joint forces, constant within a period: one number or nv.
    position_noise, velocity_noise : float or array_like
        Standard deviations of measurements; without the second, only positions are measured.
    forces : force elements
        Forces that act on the robot.
    friction_speed : float, optional
        As in :func:`luenberger`.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> best = kt.control.kalman(robot, [0.0], period=1e-3, force_noise=0.1, position_noise=1e-3)
    """
    from scipy.linalg import solve_discrete_are  # slow to import, and few need it

    _tree_only(robot, "a Kalman filter")
    real_number(period, "period", positive=True, unit="seconds")
    model, place, rate, force = linear_model(robot, q, v, tau, period, forces, friction_speed)
    n = robot.nv
    spread = real_numbers(force_noise, Setting("force_noise"), n, positive=True)
    seen = [real_numbers(position_noise, Setting("position_noise"), n, positive=True)]
    if velocity_noise is not None:
        seen.append(real_numbers(velocity_noise, Setting("velocity_noise"), n, positive=True))
    c = np.eye(2 * n)[: n * len(seen)]
    known = np.diag(np.concatenate(seen) ** 2)
    drift = model.B @ np.diag(spread**2) @ model.B.T
    try:
        before = solve_discrete_are(model.A.T, c.T, drift, known)
    except (np.linalg.LinAlgError, ValueError) as problem:
        raise OptionError(f"there is no steady Kalman filter for these numbers: {problem}") from None
    gain = np.linalg.solve(c @ before @ c.T + known, c @ before).T
    return LinearObserver(model, gain, place, rate, force)


# ---------------------------------------------------------------- forces from outside


@dataclass(frozen=True, eq=False)
class MomentumObserver(Observer):
    """Estimates external joint forces from the momentum that motors and gravity do not explain.

    With p = M v, p' = tau + C^T v - g + friction + load.  The residual r = k (p - p_0 - integral of what is known + r)
    follows the load like a low-pass filter of bandwidth k.  No acceleration is needed, and no matrix is inverted.

    Parameters
    ----------
    gain : float
        k, in 1/s: 95 % of a sudden load is detected after 3 / k seconds.  It must be less than one over the period.
    compensate : bool
        Whether the controller's forces compensate the load.
    friction : bool
        Whether the observer's model includes the joints' friction.
    friction_speed : float
        As in :func:`kinetree.simulate`.
    """

    gain: float
    compensate: bool = False
    friction: bool = True
    friction_speed: float = 1e-2

    def __post_init__(self) -> None:
        real_number(self.gain, "the gain of a MomentumObserver", positive=True, unit="1/s")
        real_number(self.friction_speed, "friction_speed", positive=True)

    def check(self, tree: Model, period: float) -> None:
        """Refuse robots whose momentum is not that of a tree, and gains that are too fast for the period."""
        if tree.is_constrained or tree.has_followers:
            raise UnsupportedError(
                f"a MomentumObserver is for trees: joints of robot {tree.name!r} are coupled or close loops"
            )
        if any(joint.kind.nv > 1 for joint in tree.joints):
            raise UnsupportedError("a MomentumObserver is for joints of one freedom each")
        if self.gain * period >= 1.0:
            raise OptionError(
                f"a MomentumObserver with gain {self.gain:g} 1/s is too fast for a period of {period:g} s: keep it "
                f"below {1.0 / period:g}"
            )

    def memory_size(self, tree: Model) -> int:
        """Return the size of its memory: the explained momentum, the residual, and the last known rate."""
        return 3 * tree.nv

    def first_memory(self, tree: Model, period: float, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the momentum one period before the start, a zero residual, and the rate there without motors."""
        p, rate = self._known(tree, q, v)
        return [*(a - period * b for a, b in zip(p, rate, strict=True)), *[0.0] * tree.nv, *rate]

    def update(
        self, tree: Model, period: float, q: Scalars, v: Scalars, tau: Scalars, memory: Scalars
    ) -> StateEstimate:
        """Return the measured state and the load."""
        n = tree.nv
        explained, residual, before = memory[:n], memory[n : 2 * n], memory[2 * n :]
        p, rate = self._known(tree, q, v)
        # the trapezoidal rule for the known rates, implicit in r: r = k (p - explained - period r / 2)
        now, load = [], []
        for k in range(n):
            total = explained[k] + period * (tau[k] + 0.5 * (rate[k] + before[k]) + 0.5 * residual[k])
            found = (p[k] - total) * (self.gain / (1.0 + 0.5 * self.gain * period))
            load.append(found)
            now.append(total + 0.5 * period * found)
        return StateEstimate(q, v, load, [*now, *load, *rate])

    def _known(self, tree: Model, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return the momenta, and their known rates without motors."""
        both = joint_momenta.momenta(tree, q, v)
        weight, _ = newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)
        rubbing = friction_force(tree, v, self.friction_speed, q) if self.friction else [0.0] * tree.nv
        rate = [slope - g + f for (_, slope), g, f in zip(both, weight, rubbing, strict=True)]
        return [p for p, _ in both], rate

"""The linear model of a robot about a state, for the design of controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algorithms import newton_euler
from ..algorithms.joint_friction import friction_force, lost, sign
from ..algorithms.passes import moving_along
from ..errors import ExplainsArguments, OptionError, ShapeError, UnsupportedError
from ..evaluation.law_failures import asked_with_lists
from ..model.joints import JointKind
from ..model.tree import Model
from ..spatial.arrays import Array, pack, split
from ..spatial.dual import Dual
from ..spatial.numbers import real_number


@dataclass(frozen=True)
class LinearModel(ExplainsArguments):
    """The dynamics of small deviations x from a state, and u from its joint forces: x' = A x + B u, or discrete.

    It is also the pair of its matrices: ``A, B = robot.linearize(q, v, tau)`` unpacks it, and its item 0 is A.

    Attributes
    ----------
    A : ndarray, shape (..., 2 n, 2 n)
    B : ndarray, shape (..., 2 n, nv)
    rate : ndarray, shape (..., 2 n)
        Rate of the state itself, x' at x = 0 and u = 0: zero at an equilibrium.  For a discrete model, its change in
        a step.
    states : tuple of str
        Names of the entries of x: n deviations of positions, n of velocities.
    inputs : tuple of str
        Names of the entries of u: joint forces.
    step : float or None
        Length of a step in seconds; None for continuous time.
    """

    A: Array
    B: Array
    rate: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    step: float | None = None

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Array:
        return (self.A, self.B)[index]

    def discrete(self, step: float) -> LinearModel:
        """Return this model in discrete time with zero-order hold of joint forces: exp of [A B; 0 0]."""
        from scipy.linalg import expm  # importing takes a tenth of a second, and most programs do not need it

        step, (n, m) = real_number(step, "step", unit="seconds"), self.B.shape[-2:]
        whole = np.zeros((*self.A.shape[:-2], n + m + 1, n + m + 1))
        whole[..., :n, :n], whole[..., :n, n:-1], whole[..., :n, -1] = self.A, self.B, self.rate
        finite = np.isfinite(whole).all(axis=(-1, -2), keepdims=True)
        moved = np.where(finite, expm(np.where(finite, whole, 0.0) * step), np.nan) if whole.size else whole
        return LinearModel(
            moved[..., :n, :n], moved[..., :n, n:-1], moved[..., :n, -1], self.states, self.inputs, step
        )  # fmt: skip


Acts = Callable[[list[Any], list[Any]], Sequence[Any]]
"""Function from positions and velocities to joint forces, over any scalar."""


class ForceSlopes:
    """Joint forces that depend on a state, and their derivatives by dual numbers.

    acts: The forces.
    moves: Whether they depend on positions.
    """

    def __init__(self, model: Model, q: Array, v: Array, acts: Acts, moves: bool = True) -> None:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        own, rates = split(q), split(v)
        with np.errstate(all="ignore"):
            self.force = pack(list(acts(own, rates)), batch)
            columns = []
            for j in range(model.nv):
                moving = [Dual(x, 1.0 if k == j else 0.0) for k, x in enumerate(rates)]
                columns.append([_rate(f) for f in acts(own, moving)])
            self.by_v = np.swapaxes(pack(columns, batch), -1, -2)
            self.by_q = np.zeros_like(self.by_v)
            if moves:
                still = [Dual(x) for x in rates]
                columns = [[_rate(f) for f in acts(moving_along(model, own, j), still)] for j in range(model.nv)]
                self.by_q = np.swapaxes(pack(columns, batch), -1, -2)

    def with_others(self, others: ForceSlopes) -> ForceSlopes:
        """Return the sum of these forces and others."""
        both = copy(self)
        both.force, both.by_v = self.force + others.force, self.by_v + others.by_v
        both.by_q = self.by_q + others.by_q
        return both


def friction_slopes(model: Model, q: Array, v: Array, speed: float | None) -> ForceSlopes:
    """Return joint friction, smoothed as in simulations; without a speed, Coulomb friction does not turn around."""
    moves = any(t.damping for t in model.tendons)
    if speed is not None:
        return ForceSlopes(model, q, v, lambda own, rates: friction_force(model, rates, speed, own), moves)
    ways = [sign(rate) for rate in split(v)]
    return ForceSlopes(model, q, v, lambda own, rates: [-f for f in lost(model, own, rates, ways)], moves)


def element_slopes(model: Model, q: Array, v: Array, elements: Sequence[Any], time: float) -> ForceSlopes:
    """Return the forces of force elements and functions f(t, q, v) at a time, and their derivatives."""
    return ForceSlopes(model, q, v, lambda own, rates: element_forces(model, elements, time, own, rates))


def element_forces(model: Model, elements: Sequence[Any], time: float, q: list[Any], v: list[Any]) -> list[Any]:
    """Return the forces of force elements and functions f(t, q, v) at a time as joint forces, over any scalar."""
    total: list[Any] = [0.0] * model.nv
    for element in elements:
        total = [a + b for a, b in zip(total, _joint_forces(model, element, time, q, v), strict=True)]
    return total


def _joint_forces(model: Model, element: Any, t: float, q: list[Any], v: list[Any]) -> list[Any]:
    """Return the joint forces of one element; wrenches on bodies are converted by inverse dynamics at rest."""
    if not hasattr(element, "loads"):
        found = list(asked_with_lists(element, t, q, v))
        if len(found) != model.nv:
            raise ShapeError(f"the function of forces returned {len(found)} numbers, the robot has nv = {model.nv}")
        return found
    states = getattr(element, "initial_states", None)
    if states is not None and len(states(model)):
        raise UnsupportedError(f"{type(element).__name__} has internal states, which a linear model does not include")
    on_bodies, on_joints, _ = element.loads(model, t, q, v, [])
    forces = [0.0] * model.nv if on_joints is None else list(on_joints)
    if on_bodies is not None and any(load is not None for load in on_bodies):
        still, nowhere = [0.0] * model.nv, (0.0, 0.0, 0.0)
        held, _ = newton_euler.inverse_dynamics(model, q, still, None, nowhere, on_bodies)
        free, _ = newton_euler.inverse_dynamics(model, q, still, None, nowhere)
        forces = [f - (a - b) for f, a, b in zip(forces, held, free, strict=True)]
    return forces


def checked_elements(forces: Any) -> tuple[Any, ...]:
    """Return force elements as a tuple; refuse those with states of their own, and anything that is not a force."""
    listed = tuple(forces) if isinstance(forces, (list, tuple)) else (forces,)
    for element in listed:
        if isinstance(element, type) or not (hasattr(element, "loads") or callable(element)):
            raise OptionError(f"forces must be force elements or functions f(t, q, v), not {element!r}")
    return listed


@dataclass(frozen=True)
class MotionSlopes:
    """Derivatives of accelerations with respect to the state, along the possible motions."""

    independent: tuple[int, ...]
    """Freedoms that determine the others."""
    a: Array  # (..., nv)
    basis: Array  # (..., nv, n)
    """G of v = G v_independent."""
    swept: Array  # (..., nv, n)
    """Derivative of v with respect to independent positions, at constant independent velocities."""
    by_q: Array  # (..., nv, n)
    by_v: Array  # (..., nv, n)
    """Derivatives of a with respect to independent positions and velocities."""
    by_tau: Array  # (..., nv, nv)

    def pushed(self, forces: ForceSlopes) -> MotionSlopes:
        """Return these derivatives with forces that depend on the state."""
        with np.errstate(all="ignore"):
            by_q = self.by_q + self.by_tau @ (forces.by_q @ self.basis + forces.by_v @ self.swept)
            by_v = self.by_v + self.by_tau @ forces.by_v @ self.basis
        return replace(self, by_q=by_q, by_v=by_v)

    def model(
        self, batch: tuple[int, ...], turns: Array, v: Array, states: tuple[str, ...], inputs: tuple[str, ...]
    ) -> LinearModel:
        """Return the linear model of first order."""
        rows, n = list(self.independent), len(self.independent)
        a, b = np.zeros((*batch, 2 * n, 2 * n)), np.zeros((*batch, 2 * n, len(inputs)))
        with np.errstate(all="ignore"):
            a[..., :n, :n] = (turns @ self.basis)[..., rows, :]
            a[..., :n, n:] = np.eye(n)
            a[..., n:, :n], a[..., n:, n:] = self.by_q[..., rows, :], self.by_v[..., rows, :]
            b[..., n:, :] = self.by_tau[..., rows, :]
        rate = np.zeros((*batch, 2 * n))
        rate[..., :n], rate[..., n:] = v[..., rows], self.a[..., rows]
        return LinearModel(a, b, rate, states, inputs)


def _rate(x: Any) -> Any:
    return x.rate if isinstance(x, Dual) else 0.0


def turning(model: Model, q: Array, v: Array) -> Array:
    """Return the matrix C (..., nv, nv) of e' = dv + C e, where e is a deviation of the configuration along v.

    Deviations of a ball or a free body are in its own axes, which turn: C is -w x for a ball, zero for joints whose
    velocities are the rates of their coordinates.  With q' = R(q) v it is R C e = D R(e) v - D R(v) e.
    """
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    whole = np.zeros((*batch, model.nv, model.nv))
    for joint in model.joints:
        if joint.kind.quaternion is not None and not joint.mimic:
            own = np.broadcast_to(q[..., joint.q_slice], (*batch, joint.nq))
            rate = np.broadcast_to(v[..., joint.v_slice], (*batch, joint.nv))
            with np.errstate(all="ignore"):
                whole[..., joint.v_slice, joint.v_slice] = _turning_of(joint.kind, own, rate)
    return whole


def _turning_of(kind: JointKind, q: Array, v: Array) -> Array:
    batch, own, rates = q.shape[:-1], split(q), split(v)
    along = [Dual(x, r) for x, r in zip(own, kind.rate(own, rates), strict=True)]
    fields, brackets = [], []
    for m in range(kind.nv):
        unit = [1.0 if k == m else 0.0 for k in range(kind.nv)]
        direction = kind.rate(own, unit)
        aside = [Dual(x, r) for x, r in zip(own, direction, strict=True)]
        first, second = kind.rate(aside, [Dual(x) for x in rates]), kind.rate(along, [Dual(x) for x in unit])
        fields.append(direction)
        brackets.append([_rate(a) - _rate(b) for a, b in zip(first, second, strict=True)])
    r, sides = (np.swapaxes(pack(x, batch), -1, -2) for x in (fields, brackets))
    across = np.swapaxes(r, -1, -2)
    gram = across @ r
    finite = np.isfinite(gram).all(axis=(-1, -2), keepdims=True)
    return np.asarray(
        np.linalg.solve(np.where(finite, gram, np.eye(kind.nv)), np.where(finite, across @ sides, np.nan))
    )

"""A variational integrator for long runs with bounded energy errors, over any scalar.

The action of one step is evaluated at its middle: with q0 = qm exp(-x), q1 = qm exp(x) and
the mean velocity u = 2 x / h,

    Ld = h L(qm, u).

Requiring that the sum of Ld is stationary (the discrete Euler-Lagrange equations, written
with the momenta m0, m1 at the ends) gives, with a and b the momenta transformed to the middle frame, g the slope of the
Lagrangian along qm and F the forces,

    b - a = h (g + F),        2 M(qm) u = dexp_x^T b + dexp_-x^T a.

The map is symplectic, conserves the momenta of symmetries, and is of second order;
forces enter at the middle (Lagrange-d'Alembert).  Quaternion joints are stepped along their
group; for all others exp is a sum and dexp the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, NamedTuple, Protocol

from ...algorithms import articulated_body, kinematics, newton_euler
from ...algorithms.joint_momenta import momenta
from ...model.tree import Model
from ...spatial import ZERO3, Force, MatrixRotation, Motion, Scalar, Transform, Vec3, ldl, ldl_solve
from ...spatial.exponential import displacement_exp
from ..system import DynamicSystem
from .fixed_step_methods import plus, scaled

Scalars = Sequence[Scalar]

NO_GRAVITY = (0.0, 0.0, 0.0)

ROUNDS = 12
"""Rounds of solving a step in machine code, where they cannot end early; each gains at least one digit."""

UNSOLVED = 1e-8
"""A last change of the mean velocity beyond this (rad/s, m/s) means that a step was too large to be solved."""

ALIKE = 1e-14
"""Rounds whose squares differ by no more than this fraction count as equal."""

TERMS = 9
"""Terms of the series of dexp: what is left out is below rounding for turns of 0.3 rad per step."""


class Guess(NamedTuple):
    """One round of solving a step."""

    u: list[Scalar]
    """A better mean velocity."""

    z: list[Scalar]
    """The improved further states in the middle of the step."""

    momentum: list[Scalar]
    """Momentum at the end of the step."""

    z_end: list[Scalar]
    """Further states at the end of the step."""


class StepDynamics(Protocol):
    """The dynamics that a step needs; lists of scalars in, lists of scalars out."""

    @property
    def tree(self) -> Model:
        """The joints that the lists belong to."""

    def momenta(self, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return ``M v`` and ``C^T v``."""

    def held(self, q: Scalars, loads: Any) -> list[Scalar]:
        """Return the joint forces that hold the robot still against gravity and loads."""

    def velocity(self, q: Scalars, m: Scalars) -> list[Scalar]:
        """Return the velocity that has a momentum."""

    def total(self, values: Scalars) -> Scalar:
        """Return the sum over all degrees of freedom."""


@dataclass(frozen=True)
class Written:
    """The algorithms as straight-line code over any scalar, without loops over bodies."""

    tree: Model

    def momenta(self, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return ``M v`` and ``C^T v``."""
        rows = momenta(self.tree, q, v)
        return [row[0] for row in rows], [row[1] for row in rows]

    def held(self, q: Scalars, loads: newton_euler.Wrenches | None) -> list[Scalar]:
        """Return the joint forces that hold the robot still against gravity and loads."""
        return newton_euler.inverse_dynamics(self.tree, q, [0.0] * self.tree.nv, None, self.tree.gravity, loads)[0]

    def velocity(self, q: Scalars, m: Scalars) -> list[Scalar]:
        """Return the velocity that has a momentum."""
        return freed(self.tree, q, m)

    def total(self, values: Scalars) -> Scalar:
        """Return the sum over all degrees of freedom."""
        return sum(values, 0.0)


def freed(tree: Model, q: Scalars, m: Scalars) -> list[Scalar]:
    """Return ``M^-1 m``."""
    return articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, m, NO_GRAVITY, springs=False)


class Pushed(NamedTuple):
    """The forces on a robot in the middle of a step."""

    total: list[Scalar]
    """Joint forces."""

    loads: Any
    """Wrenches on the bodies, as :meth:`StepDynamics.held` takes them."""

    z_rate: list[Scalar]
    """Rates of the further states."""


Acts = Callable[[Scalar, Scalars, Scalars, Scalars], Pushed]
"""Maps (t, q, v, z) to the forces there."""


def acting(system: DynamicSystem, tau: Scalars | None = None) -> Acts:
    """Return the forces of a system; ``tau`` replaces those of its controller."""

    def acts(t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Pushed:
        found = system.acting(t, q, v, z, tau)
        return Pushed(found.total, found.loads, found.z_rate + (system.powers(q, v, found) if system.works else []))

    return acts


def refine(
    dynamics: StepDynamics,
    acts: Acts,
    t: Scalar,
    q: Scalars,
    m: Scalars,
    z: Scalars,
    u: Scalars,
    zm: Scalars,
    h: Scalar,
) -> Guess:
    """Evaluate the equations of one step at a guess of its mean velocity, and improve the guess."""
    tree, x = dynamics.tree, scaled(0.5 * h, u)
    qm = kinematics.integrate(tree, q, x)
    pushed = acts(t + 0.5 * h, qm, u, zm)
    at_middle, kinetic = dynamics.momenta(qm, u)
    slope = _slope(tree, u, at_middle, kinetic, dynamics.held(qm, pushed.loads))
    push = [h * (g + f) for g, f in zip(slope, pushed.total, strict=True)]
    a = carried(tree, x, m)
    b = [s + p for s, p in zip(a, push, strict=True)]
    ends = [0.5 * (s + r) for s, r in zip(_dexp(tree, x, b, 1.0), _dexp(tree, x, a, -1.0), strict=True)]
    rest = [e - p for e, p in zip(ends, at_middle, strict=True)]
    better = [s + d for s, d in zip(u, dynamics.velocity(qm, rest), strict=True)]
    z_rate = [pushed.z_rate]
    return Guess(better, plus(z, 0.5 * h, (1.0,), z_rate), carried(tree, x, b), plus(z, h, (1.0,), z_rate))


Ask = Callable[[Scalar, Scalars, Scalars, Scalars, Scalars, Scalars, Scalar], Guess]
"""Maps (t, q, m, z, u, zm, h) to a better guess: :func:`refine` in some form."""


def advance(
    dynamics: StepDynamics, ask: Ask, t: Scalar, q: Scalars, v: Scalars, z: Scalars, h: Scalar,
    rounds: int = ROUNDS, enough: Callable[[Scalar, Scalars], bool] | None = None, memory: int = 1,
    first: Scalars | None = None,
) -> tuple[list[Scalar], list[Scalar], list[Scalar], Scalar]:  # fmt: skip
    """Return the state at the end of a step, and the last round's change of the mean velocity.

    ``memory`` is the number of earlier rounds that each one is mixed with, ``first`` a guess of the mean velocity
    to begin with.
    """
    m, u, zm = dynamics.momenta(q, v)[0], list(v if first is None else first), list(z)
    earlier: list[Round] = []
    for _ in range(rounds):
        guess = ask(t, q, m, z, u, zm, h)
        this = Round(guess.u, [new - old for new, old in zip(guess.u, u, strict=True)])
        change = dynamics.total([abs(x) for x in this.off])
        u, zm = _mixed(dynamics, this, earlier), guess.z
        earlier = [this, *earlier[: memory - 1]]
        if enough is not None and enough(change, u):
            break
    end = kinematics.integrate(dynamics.tree, q, scaled(h, u))
    return end, dynamics.velocity(end, guess.momentum), guess.z_end, change


class Round(NamedTuple):
    """One round of solving a step, remembered for the next ones."""

    better: list[Scalar]
    """The mean velocity that it led to."""

    off: list[Scalar]
    """The change of the mean velocity."""


def _mixed(dynamics: StepDynamics, this: Round, earlier: Sequence[Round]) -> list[Scalar]:
    """Return Anderson's mixture of rounds: the point with the least residual if it were linear."""
    apart = [[x - y for x, y in zip(this.off, one.off, strict=True)] for one in earlier]
    if not apart:
        return this.better

    def times(a: Scalars, b: Scalars) -> Scalar:
        return dynamics.total([x * y for x, y in zip(a, b, strict=True)])

    squares = [[times(a, b) for b in apart[: i + 1]] for i, a in enumerate(apart)]
    shares = _least(squares, [times(this.off, a) for a in apart])
    result = this.better
    for share, one in zip(shares, earlier, strict=True):
        result = [x - share * (new - old) for x, new, old in zip(result, this.better, one.better, strict=True)]
    return result


def _least(squares: list[list[Scalar]], rhs: list[Scalar]) -> list[Scalar]:
    """Solve the normal equations, given on and below their diagonal; rounds without new information get no weight."""
    n = len(rhs)
    for i in range(n):
        squares[i][i] = squares[i][i] * (1.0 + (ALIKE if n > 1 else 0.0)) + 1e-300
    full = [[squares[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    return ldl_solve(ldl(full), rhs)


def _slope(tree: Model, v: Scalars, m: Scalars, kinetic: Scalars, held: Scalars) -> list[Scalar]:
    """Return the slope of the Lagrangian along the configuration, and the joint forces equivalent to the loads.

    From the equations of motion in body velocities, d(Mv)/dt = g + ad*_v(Mv) + F, and
    M a + C v + G = F with M' = C + C^T:  g = C^T v - G - ad*_v(Mv).
    """
    slope: list[Scalar] = [a - b for a, b in zip(kinetic, held, strict=True)]
    for where, turning, force in _groups(tree, v, m):
        spin = turning.cross_force(force)  # -ad*_v m
        for k, value in zip(range(where.start, where.stop), spin, strict=False):
            slope[k] = slope[k] + value
    return slope


def _groups(tree: Model, x: Scalars, m: Scalars) -> list[tuple[slice, Motion, Force]]:
    """Return, for each quaternion joint, a vector of the algebra and a momentum."""
    found = []
    for joint in tree.joints:
        if joint.kind.quaternion is not None and not joint.mimic:
            s = joint.v_slice
            six = joint.kind.nv == 6
            motion = Motion(Vec3(*x[s][:3]), Vec3(*x[s][3:]) if six else ZERO3)
            force = Force(Vec3(*m[s][:3]), Vec3(*m[s][3:]) if six else ZERO3)
            found.append((s, motion, force))
    return found


def carried(tree: Model, x: Scalars, m: Scalars) -> list[Scalar]:
    """Return a momentum as seen from the frame reached by exp(x)."""
    result = list(m)
    for where, motion, force in _groups(tree, x, m):
        turn, shift = displacement_exp(-motion.angular, -motion.linear)
        back = Transform((MatrixRotation.from_quaternion(*turn),), shift)
        result[where] = list(back.force_to_parent(force))[: where.stop - where.start]
    return result


def _dexp(tree: Model, x: Scalars, m: Scalars, sign: float) -> list[Scalar]:
    """Return ``dexp_{sign x}^T m`` with dexp_x = 1 + ad_x/2! + ad_x^2/3! + ... and ad_x^T m = -(x x* m)."""
    result = list(m)
    for where, motion, force in _groups(tree, x, m):
        total, power = force, force
        for k in range(1, TERMS):
            power = motion.cross_force(power) * -sign
            total = total + power * (1.0 / factorial(k + 1))
        result[where] = list(total)[: where.stop - where.start]
    return result

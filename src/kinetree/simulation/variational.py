"""A variational integrator for long runs whose energy stays true, over any scalar.

The action of one step is taken from its middle: with q0 = qm exp(-x), q1 = qm exp(x) and
the mean velocity u = 2 x / h,

    Ld = h L(qm, u).

Demanding that the sum of Ld is stationary (the discrete Euler-Lagrange equations, written
with the momenta m0, m1 at the ends) gives, with a and b the momenta carried to the middle
frame, g the slope of the Lagrangian along qm and F the forces,

    b - a = h (g + F),        2 M(qm) u = dexp_x^T b + dexp_-x^T a.

The map is symplectic, keeps momenta that symmetry keeps, and is of second order; forces
enter at the middle (Lagrange-d'Alembert).  Quaternion joints are stepped along their
group; for all others exp is a sum and dexp the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import NamedTuple

from ..algorithms import articulated_body, coriolis, kinematics, newton_euler
from ..model.tree import Model
from ..spatial import ZERO3, Force, MatrixRotation, Motion, Scalar, Transform, Vec3
from ..spatial.exponential import displacement_exp
from .equation import System
from .integrators import plus, scaled

Scalars = Sequence[Scalar]

NO_GRAVITY = (0.0, 0.0, 0.0)

ROUNDS = 12
"""Rounds of solving a step in machine code, where they cannot end early; each wins one digit or more."""

UNSOLVED = 1e-8
"""A last change of the mean velocity beyond this (rad/s, m/s) means that a step was too large to be solved."""

TERMS = 9
"""Terms of the series of dexp: what is left out is below rounding for turns of 0.3 rad per step."""


class Guess(NamedTuple):
    """One round of solving a step."""

    u: list[Scalar]
    """A better mean velocity."""

    z: list[Scalar]
    """Better further states in the middle."""

    momentum: list[Scalar]
    """At the end of the step."""

    z_end: list[Scalar]
    """Further states at the end of the step."""


def momentum(tree: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """``M v``."""
    return newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, v, NO_GRAVITY)[0]


def velocity(tree: Model, q: Scalars, m: Scalars) -> list[Scalar]:
    """The velocity that has a momentum."""
    return articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, m, NO_GRAVITY)


def refine(
    system: System, t: Scalar, q: Scalars, m: Scalars, z: Scalars, u: Scalars, zm: Scalars, h: Scalar,
    tau: Scalars | None = None,
) -> Guess:  # fmt: skip
    """Evaluate the equations of one step at a guess of its mean velocity, and improve the guess.

    ``tau`` replaces what the controller would say in the middle.
    """
    tree = system.tree
    qm = kinematics.integrate(tree, q, scaled(0.5 * h, u))
    acting = system.acting(t + 0.5 * h, qm, u, zm, tau)
    z_rate = acting.z_rate + (system.powers(qm, u, acting) if system.works else [])

    x = scaled(0.5 * h, u)
    at_middle = momentum(tree, qm, u)
    slope = _slope(tree, qm, u, at_middle, acting.loads)
    push = [h * (g + f) for g, f in zip(slope, acting.total, strict=True)]
    a = carried(tree, x, m)
    b = [s + p for s, p in zip(a, push, strict=True)]
    ends = [0.5 * (s + r) for s, r in zip(_dexp(tree, x, b, 1.0), _dexp(tree, x, a, -1.0), strict=True)]
    rest = [e - p for e, p in zip(ends, at_middle, strict=True)]
    better = [s + d for s, d in zip(u, velocity(tree, qm, rest), strict=True)]
    return Guess(better, plus(z, 0.5 * h, (1.0,), [z_rate]), carried(tree, x, b), plus(z, h, (1.0,), [z_rate]))


Ask = Callable[[Scalar, Scalars, Scalars, Scalars, Scalars, Scalars, Scalar], Guess]
"""(t, q, m, z, u, zm, h) to a better guess: :func:`refine` in some form."""


def advance(
    tree: Model, ask: Ask, t: Scalar, q: Scalars, v: Scalars, z: Scalars, h: Scalar,
    rounds: int = ROUNDS, enough: Callable[[Scalar, Scalars], bool] | None = None,
) -> tuple[list[Scalar], list[Scalar], list[Scalar], Scalar]:  # fmt: skip
    """State at the end of a step, and by how much the last round still changed the mean velocity."""
    m, u, zm = momentum(tree, q, v), list(v), list(z)
    previous: tuple[list[Scalar], list[Scalar]] | None = None
    for _ in range(rounds):
        guess = ask(t, q, m, z, u, zm, h)
        off = [new - old for new, old in zip(guess.u, u, strict=True)]
        change = sum((abs(x) for x in off), 0.0)
        u, zm = (guess.u if previous is None else _mixed(guess.u, off, *previous)), guess.z
        previous = guess.u, off
        if enough is not None and enough(change, u):
            break
    end = kinematics.integrate(tree, q, scaled(h, u))
    return end, velocity(tree, end, guess.momentum), guess.z_end, change


def _mixed(better: Scalars, off: Scalars, before: Scalars, off_before: Scalars) -> list[Scalar]:
    """Anderson's mixture of two rounds: the point where what is off would be least if it were linear."""
    apart = [x - y for x, y in zip(off, off_before, strict=True)]
    size = sum((x * x for x in apart), 1e-300)
    share = sum((x * y for x, y in zip(off, apart, strict=True)), 0.0) / size
    return [new - share * (new - old) for new, old in zip(better, before, strict=True)]


def _slope(tree: Model, q: Scalars, v: Scalars, m: Scalars, loads: newton_euler.Wrenches) -> list[Scalar]:
    """The slope of the Lagrangian along the configuration, and the joint forces that the loads amount to.

    From the equations of motion in body velocities, d(Mv)/dt = g + ad*_v(Mv) + F, and
    M a + C v + G = F with M' = C + C^T:  g = C^T v - G - ad*_v(Mv).
    """
    c = coriolis.coriolis_matrix(tree, q, v)
    held = newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity, loads)[0]
    slope: list[Scalar] = []
    for k in range(tree.nv):
        total: Scalar = -held[k]
        for row, rate in zip(c, v, strict=True):
            total = total + row[k] * rate
        slope.append(total)
    for where, turning, force in _groups(tree, v, m):
        spin = turning.cross_force(force)  # -ad*_v m
        for k, value in zip(range(where.start, where.stop), spin, strict=False):
            slope[k] = slope[k] + value
    return slope


def _groups(tree: Model, x: Scalars, m: Scalars) -> list[tuple[slice, Motion, Force]]:
    """Of quaternion joints: a vector of the algebra and a momentum."""
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
    """A momentum as seen from the frame reached by exp(x)."""
    result = list(m)
    for where, motion, force in _groups(tree, x, m):
        turn, shift = displacement_exp(-motion.angular, -motion.linear)
        back = Transform((MatrixRotation.from_quaternion(*turn),), shift)
        result[where] = list(back.force_to_parent(force))[: where.stop - where.start]
    return result


def _dexp(tree: Model, x: Scalars, m: Scalars, sign: float) -> list[Scalar]:
    """``dexp_{sign x}^T m`` with dexp_x = 1 + ad_x/2! + ad_x^2/3! + ... and ad_x^T m = -(x x* m)."""
    result = list(m)
    for where, motion, force in _groups(tree, x, m):
        total, power = force, force
        for k in range(1, TERMS):
            power = motion.cross_force(power) * -sign
            total = total + power * (1.0 / factorial(k + 1))
        result[where] = list(total)[: where.stop - where.start]
    return result

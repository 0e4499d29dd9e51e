"""Fixed-step integrators on the configuration manifold, over any scalar.

A state is (q, v, z): configuration, velocities, and further states that form a vector
space.  Joints with quaternions are stepped along their group, which keeps them at unit length.  The Runge-Kutta
formulas become Runge-Kutta-Munthe-Kaas ones: with q(t) = q0 exp(u(t)) and body velocity v the vector u obeys

    u' = dexp^-1_{-u}(v) = v + [u, v]/2 + [u, [u, v]]/12 - [u, [u, [u, [u, v]]]]/720 + ...

in a vector space, where any formula keeps its order.  The series is cut where the error
is of sixth order in u.  Coordinates other than quaternions have [u, v] = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...algorithms import kinematics
from ...model.joints.free import Free
from ...model.tree import Model
from ...spatial import ZERO3, MatrixRotation, Motion, Scalar, Vec3

Scalars = Sequence[Scalar]
State = tuple[list[Scalar], list[Scalar], list[Scalar]]
Rate = Callable[[Scalar, Scalars, Scalars, Scalars], tuple[list[Scalar], list[Scalar]]]
"""Maps (t, q, v, z) to (a, rate of z)."""

Step = Callable[[Model, Rate, Scalar, Scalars, Scalars, Scalars, Scalar], State]
"""Maps (tree, rate, t, q, v, z, h) to the state at t + h."""


INSIDE = 1e-9
"""Fraction of a step by which its ends are evaluated from inside.

Forces that jump at the end of a step, such as those held for several steps, then belong to this step.  Otherwise
rounding of times would decide, and formulas that evaluate the end of a step would use the forces of the next one, which
reduces them to first order."""


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge-Kutta formula: nodes, rows of the stages, weights, order."""

    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    order: int


RK4 = Tableau((0, 1 / 2, 1 / 2, 1), ((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), 4)

DORMAND_PRINCE = Tableau(
    (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    5,
)
"""The fifth-order formula of Dormand and Prince (1980), with a fixed step."""


def plus(base: Scalars, h: Scalar, weights: Sequence[float], vectors: Sequence[Scalars]) -> list[Scalar]:
    """Return ``base + h (w1 x1 + w2 x2 + ...)``, entry by entry."""
    used = [(w, x) for w, x in zip(weights, vectors, strict=True) if w]
    result = list(base)
    for k in range(len(result)):
        total: Scalar = None
        for w, x in used:
            term = x[k] if w == 1.0 else w * x[k]
            total = term if total is None else total + term
        if total is not None:
            result[k] = result[k] + h * total
    return result


def scaled(h: Scalar, x: Scalars) -> list[Scalar]:
    """Return ``h x``."""
    return [h * value for value in x]


def on_group(tree: Model, u: Scalars, v: Scalars) -> list[tuple[slice, Motion, Motion]]:
    """Return the parts of two vectors that belong to quaternion joints, as elements of the group's algebra."""
    found = []
    for joint in tree.joints:
        if joint.kind.quaternion is not None and not joint.mimic:
            where = joint.v_slice
            found.append((where, _motion(u[where]), _motion(v[where])))
    return found


def _motion(six_or_three: Scalars) -> Motion:
    turn = Vec3(*six_or_three[:3])
    return Motion(turn, Vec3(*six_or_three[3:]) if len(six_or_three) == 6 else ZERO3)


def dexp_inverse(tree: Model, u: Scalars, v: Scalars) -> list[Scalar]:
    """Return the rate of u for a body velocity v; see the module's docstring."""
    result = list(v)
    for where, x, y in on_group(tree, u, v):
        once = x.cross(y)
        twice = x.cross(once)
        four_times = x.cross(x.cross(twice))
        total = y + once * 0.5 + twice * (1 / 12) + four_times * (-1 / 720)
        result[where] = list(total)[: where.stop - where.start]
    return result


def runge_kutta(tableau: Tableau) -> Step:
    """Return the explicit Runge-Kutta-Munthe-Kaas step of a tableau."""

    def step(tree: Model, rate: Rate, t: Scalar, q: Scalars, v: Scalars, z: Scalars, h: Scalar) -> State:
        still = [0.0] * tree.nv
        u_rates: list[list[Scalar]] = []
        a_rates: list[list[Scalar]] = []
        z_rates: list[list[Scalar]] = []
        for c, row in zip(tableau.c, tableau.a, strict=True):
            if not row:
                velocity, (a, z_rate) = list(v), rate(t + INSIDE * h, q, v, z)
                u_rate = velocity
            else:
                u = plus(still, h, row, u_rates)
                velocity = plus(v, h, row, a_rates)
                when = t + min(c, 1.0 - INSIDE) * h
                a, z_rate = rate(when, kinematics.integrate(tree, q, u), velocity, plus(z, h, row, z_rates))
                u_rate = dexp_inverse(tree, u, velocity)
            u_rates.append(u_rate)
            a_rates.append(a)
            z_rates.append(z_rate)
        u = plus(still, h, tableau.b, u_rates)
        return (kinematics.integrate(tree, q, u), plus(v, h, tableau.b, a_rates), plus(z, h, tableau.b, z_rates))

    return step


def euler(tree: Model, rate: Rate, t: Scalar, q: Scalars, v: Scalars, z: Scalars, h: Scalar) -> State:
    """Take a step of explicit Euler: first order."""
    a, z_rate = rate(t + INSIDE * h, q, v, z)
    return kinematics.integrate(tree, q, scaled(h, v)), plus(v, h, (1.0,), [a]), plus(z, h, (1.0,), [z_rate])


def semi_implicit_euler(tree: Model, rate: Rate, t: Scalar, q: Scalars, v: Scalars, z: Scalars, h: Scalar) -> State:
    """Take a step of symplectic Euler, of first order: the new velocity moves the configuration.

    What floats moves straight on while it turns: without forces its velocity is constant in the axes in which its pose
    is measured.  If it were constant in its own, a body that spins would fly in a widening spiral.
    """
    a, z_rate = rate(t + INSIDE * h, q, v, z)
    faster = plus(v, h, (1.0,), [a])
    reached = kinematics.integrate(tree, q, scaled(h, faster))
    for joint in tree.joints:
        if joint.kind.name == Free.name and not joint.mimic:
            first, own = joint.q_slice.start, joint.v_slice
            turn, place, linear = slice(first, first + 4), slice(first + 4, first + 7), slice(own.start + 3, own.stop)
            before, after = (MatrixRotation.from_quaternion(*x[turn]) for x in (q, reached))
            carried = Vec3(*v[own][:3]).cross(Vec3(*v[linear])) * h
            moving = before.apply(Vec3(*faster[linear]) + carried)
            reached[place] = [x + h * y for x, y in zip(q[place], moving, strict=True)]
            faster[linear] = list(after.unapply(moving))
    return reached, faster, plus(z, h, (1.0,), [z_rate])


IMPLICIT = "implicit_euler"
"""Symplectic Euler with accelerations that take springs, dampers and servos at the end of the step.

See :mod:`kinetree.simulation.implicit_accelerations`.
"""

FIXED: dict[str, Step] = {
    "euler": euler,
    "semi_implicit_euler": semi_implicit_euler,
    IMPLICIT: semi_implicit_euler,
    "rk4": runge_kutta(RK4),
    "dopri5": runge_kutta(DORMAND_PRINCE),
}
"""Integrators with a fixed step that use accelerations, by name."""

ADAPTIVE = ("rk45", "dop853", "radau", "bdf", "sundials")
"""Integrators that choose their step: two explicit ones, and three implicit ones for stiff problems."""

VARIATIONAL = "variational"
"""The discrete Euler-Lagrange integrator, see :mod:`kinetree.simulation.integrators.variational`."""

GENERALIZED_ALPHA = "generalized_alpha"
"""Implicit, second order, with numerical damping; see :mod:`kinetree.simulation.integrators.generalized_alpha`."""

INTEGRATORS = (*ADAPTIVE, *FIXED, VARIATIONAL, GENERALIZED_ALPHA)
"""Every integrator by name."""

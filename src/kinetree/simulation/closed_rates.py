"""Rates of a mechanism with closed loops in one piece of machine code, for integrators that ask one state at a time.

What acts on it, the accelerations that keep its loops closed and the rate of its coordinates are
found together, with constraints that were chosen beforehand; where that choice fails, near a
singular configuration, the mechanism's own methods are asked, which look for the rank.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algorithms import kinematics
from ..algorithms.acting import Scalars
from ..run.law_kernels import LawProgram
from ..spatial import Scalar
from .equation import Array, Equation, unit_quaternions
from .loop_choice import LoopChoice
from .system import State

Rates = Callable[[float, Array, Array, Array], State]
"""(t, q, v, z) to the rates of q, v and z."""


def rates_of(equation: Equation) -> Rates:
    """Return how an integrator finds rates.

    At once where there is a mechanism and machine code, else as the equation says.
    """
    choice = equation.loops
    if not equation.compiled or choice is None or not choice.is_small:
        return equation.rates
    tree = equation.tree
    ends = (tree.nq, tree.nq + tree.nv)

    def program(choice: LoopChoice) -> LawProgram:
        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, tau: Scalars, p: Scalars) -> list[Scalar]:
            system = equation.with_numbers(p)
            unit, length = unit_quaternions(tree, q)
            acting = system.acting(t[0], unit, v, z, tau or None)
            a, quality = choice.accelerations(system.tree, unit, v, acting.total, acting.loads)
            moving = kinematics.configuration_rate(tree, unit, v)
            q_rate = [r if s is None else r * s for r, s in zip(moving, length, strict=True)]
            return [*q_rate, *a, *acting.z_rate, *(system.powers(unit, v, acting) if system.works else []), quality]

        return equation.kept_program("rates of loops", law, choice)

    def rates(t: float, q: Array, v: Array, z: Array) -> State:
        given = equation.named(t, q, v, z)
        for way in choice.ways:
            out = program(way)(given, equation.threads)
            if not (out[..., -1] < 1.0).any():
                equation.n_calls += 1
                equation.n_prepared += 1
                return out[..., : ends[0]], out[..., ends[0] : ends[1]], out[..., ends[1] : -1]
        return equation.rates(t, q, v, z)

    return rates

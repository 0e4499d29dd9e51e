"""Keeping loops closed while stepping, on arrays: in machine code, or by the mechanism's own methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from ..algorithms.constraints import UNCLOSED
from ..robot.robot import Robot
from ..run.law_kernels import LawProgram
from ..spatial import Scalar
from ..spatial.arrays import Array
from .loop_choice import LoopChoice

Scalars = Sequence[Scalar]


SURE = 1e-4
"""Constraints weaker than this, as part of the strongest, do not change velocities: see :func:`nearest_state`."""


def projector(robot: Robot, choice: LoopChoice | None) -> Callable[[Array, Array], tuple[Array, Array]]:
    """:meth:`kinetree.Mechanism.project` as machine code, which hands over to the original where it cannot do it."""
    if choice is None or not choice.is_small:
        return partial(nearest_state, robot)
    nq = robot.nq

    def nearest(q: Array, v: Array) -> tuple[Array, Array]:
        for way in choice.ways:
            out = _program(robot, way)({"q": q, "v": v})
            if np.all(out[..., -2] <= UNCLOSED * UNCLOSED) and np.all(out[..., -1] >= 1.0):
                return robot.normalize(out[..., :nq]), out[..., nq:-2]
        return nearest_state(robot, q, v)

    return nearest


def nearest_state(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """:meth:`kinetree.Mechanism.project` of a state that is nearly closed, as integrators and interpolation leave it.

    Beside a change point the nearest configuration may belong to the other branch, whose velocities are other ones
    altogether; and on the right one the weak constraint tells the velocity no better than rounding divided by the
    square of its size.  The one that the state has is known as well as the state is, and it breaks the constraint by
    its error times that size.
    """
    closed = robot.close(q, limits=False)
    return closed, robot.nearest_velocity(closed, v, SURE)


_PROGRAMS: WeakKeyDictionary[Robot, dict[LoopChoice, LawProgram]] = WeakKeyDictionary()
"""Of robots that are still there: tracing takes longer than many a projection."""


def _program(robot: Robot, choice: LoopChoice) -> LawProgram:
    own = _PROGRAMS.setdefault(robot, {})
    if choice not in own:
        tree = robot.model  # and not the robot itself, which would be there for ever

        def law(q: Scalars, v: Scalars) -> list[Scalar]:
            closed, rate, left, quality = choice.projected(tree, q, v)
            return [*closed, *rate, left, quality]

        sizes = {"q": tree.nq, "v": tree.nv}
        own[choice] = LawProgram(f"projection of {robot.name!r}", law, sizes, True, cpu=robot.cpu)
    return own[choice]

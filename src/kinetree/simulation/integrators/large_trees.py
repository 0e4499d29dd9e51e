"""The dynamics of a large tree on arrays, in loops of machine code, for the variational integrator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...algorithms import newton_euler
from ...algorithms.joint_momenta import momenta
from ...evaluation.law_kernels import TreeProgram
from ...model.tree import Model
from ...spatial import Scalar
from ...spatial.arrays import Array
from .joints_by_kind import ByKind
from .variational import freed

Scalars = Sequence[Scalar]


class LargeTreeDynamics:
    """The dynamics of a large tree for variational steps; scalars are arrays (..., joints of a kind).

    Parameters
    ----------
    kinds : ByKind
        How the lists of scalars are laid out.
    whole : Model
        The tree itself.
    threads : int
    cpu : str
        Processor that machine code is made for; the usual one if empty.
    """

    def __init__(self, kinds: ByKind, whole: Model, threads: int, cpu: str = "") -> None:
        self.kinds, self.whole, self.threads, self.cpu = kinds, whole, threads, cpu

    @property
    def tree(self) -> Model:
        """One joint for each kind."""
        return self.kinds.tree

    def momenta(self, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return ``M v`` and ``C^T v``."""
        rows = self._momenta(*self._joined(q, v))
        return self.kinds.split_v(rows[..., 0]), self.kinds.split_v(rows[..., 1])

    def held(self, q: Scalars, loads: Array | None) -> list[Scalar]:
        """Return the joint forces that hold the robot still against gravity and loads."""
        (state,) = self._joined(q)
        if loads is None:
            return self.kinds.split_v(self._held(state))
        return self.kinds.split_v(self._held_with_loads(state, loads.reshape(*loads.shape[:-2], -1)))

    def velocity(self, q: Scalars, m: Scalars) -> list[Scalar]:
        """Return the velocity that has a momentum."""
        return self.kinds.split_v(self._freed(*self._joined(q, m)))

    def total(self, values: Scalars) -> Scalar:
        """Return the sum over all degrees of freedom, (..., 1)."""
        return sum((x.sum(axis=-1, keepdims=True) for x in values), 0.0)

    def _joined(self, q: Scalars, *rates: Scalars) -> list[Array]:
        batch = np.broadcast_shapes(*(np.shape(x)[:-1] for vector in (q, *rates) for x in vector))
        return [self.kinds.join_q(q, batch), *(self.kinds.join_v(v, batch) for v in rates)]

    # ------------------------------------------------------------------ programs, made on first use

    @cached_property
    def _momenta(self) -> TreeProgram:
        return self._program("momenta", momenta, ("q", "v"), (self.whole.nv, 2))

    @cached_property
    def _freed(self) -> TreeProgram:
        return self._program("velocities of momenta", freed, ("q", "v"), (self.whole.nv,))

    @cached_property
    def _held(self) -> TreeProgram:
        return self._program("forces at rest", _at_rest, ("q",), (self.whole.nv,))

    @cached_property
    def _held_with_loads(self) -> TreeProgram:
        return self._program("forces at rest under loads", _at_rest, ("q", "wrench"), (self.whole.nv,))

    def _program(
        self, name: str, function: Callable[..., Any], layouts: tuple[str, ...], shape: tuple[int, ...]
    ) -> TreeProgram:
        return TreeProgram(name, function, self.whole, layouts, shape, self.threads, self.cpu)


def _at_rest(tree: Model, q: Scalars, loads: Any = None) -> list[Scalar]:
    """Return the joint forces of gravity and loads."""
    return newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity, loads)[0]

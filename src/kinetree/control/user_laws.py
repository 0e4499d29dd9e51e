"""Forces of your own: a table over time, or a function of time and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, refuse_unknown
from ..evaluation.law_failures import asked_with_lists
from ..evaluation.law_kernels import refuse_nested
from ..model.tree import Model
from ..motion.splines import Piecewise, steps, straight
from ..spatial import Scalar
from ..spatial.arrays import pack, split
from .base import Controller, Outcome
from .driven_joints import Scalars, spread


@dataclass(frozen=True, eq=False)
class TorqueTable(Controller):
    """Forces from a table.

    Parameters
    ----------
    times : array_like, shape (K,)
    tau : array_like, shape (K, n)
        Forces of the driven degrees of freedom, or of all.
    kind : {"linear", "step"}
        Linear between rows, or constant until the next row; the last row then lasts as long as the one before it.
    hold : bool
        Whether to keep the last row after the end (and the first before the start) instead of raising an error.
    """

    times: ArrayLike
    tau: ArrayLike
    kind: str = "linear"
    hold: bool = False
    table: Piecewise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        refuse_unknown("kind of table", self.kind, ("linear", "step"))
        made = (straight if self.kind == "linear" else steps)(self.times, self.tau, hold=self.hold, name="tau")
        object.__setattr__(self, "table", made)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times of rows at which the table has a kink or jump; dense samples of a curve have none."""
        return self.table.kinks(begin, end)

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        tau, _, _ = self.table.at(t)
        driven = tree.driven_joints
        count = sum(j.nv for j in driven)
        if len(tau) == count:
            return spread(tree, driven, tau), []
        if len(tau) == tree.nv:
            return tau, []
        raise ShapeError(
            f"the table has {len(tau)} columns; robot {tree.name!r} has {count} driven joints, nv = {tree.nv}"
        )


@dataclass(frozen=True, eq=False)
class Law(Controller):
    """A user's own law, written over any scalar, which is compiled like the others.

    Parameters
    ----------
    function : callable
        ``function(t, q, v)`` gets a scalar and two lists of scalars and returns nv scalars; it
        uses ``+ - * /``, :func:`kinetree.sin` and the like, and :func:`kinetree.where` instead of ``if``.

    Examples
    --------
    >>> damper = Law(lambda t, q, v: [-0.5 * rate for rate in v])
    """

    function: Callable[[Scalar, list[Scalar], list[Scalar]], Sequence[Scalar]]

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        answer = asked_with_lists(self.function, t, list(q), list(v))
        if not isinstance(answer, Iterable):
            raise ShapeError(f"the law returned one number: return a list of {tree.nv} forces, one per freedom")
        tau = list(answer)
        if len(tau) != tree.nv:
            raise ShapeError(f"the law returned {len(tau)} forces, robot {tree.name!r} has nv = {tree.nv}")
        try:
            refuse_nested(tau, "[*first, *others]")
        except TypeError as problem:
            raise ShapeError(f"the law must return {tree.nv} numbers: {problem}") from None
        return tau, []


@dataclass(frozen=True, eq=False)
class PythonLaw(Controller):
    """Any Python function of arrays as a controller; it cannot be compiled. Made by :func:`from_function`."""

    IN_MACHINE_CODE = False
    python_function: Callable[[Any, np.ndarray, np.ndarray], ArrayLike]

    def plain_function(self) -> Callable[..., Any]:
        """Return the function."""
        return self.python_function

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        batch = np.broadcast_shapes(np.shape(t), *(np.shape(x) for x in (*q, *v)))
        tau = np.asarray(self.python_function(t, pack(list(q), batch), pack(list(v), batch)), dtype=float)
        if tau.shape[-1:] != (tree.nv,):
            raise ShapeError(f"the controller returned shape {tau.shape}, expected (..., {tree.nv}) = nv")
        return split(tau), []


def from_function(function: Callable[[Any, np.ndarray, np.ndarray], ArrayLike]) -> PythonLaw:
    """Return a controller from a Python function ``f(t, q, v) -> tau`` of arrays; slower, as it is not compiled."""
    if not callable(function):
        raise OptionError(f"a controller is a function f(t, q, v) -> tau, not {type(function).__name__}")
    return PythonLaw(function)

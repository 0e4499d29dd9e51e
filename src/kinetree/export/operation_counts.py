"""The cost of algorithms, counted on a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from ..algorithms.table import ALGORITHMS, Algorithm, find
from ..engine.count import Count, count
from ..engine.trace import trace
from ..errors import KinetreeError, OptionError
from ..evaluation.algorithm_options import complete_options
from ..model.changes.values import generic
from ..model.tree import Model
from ..spatial.arrays import flatten
from ..spatial.numbers import whole_number
from .c_code import trace_algorithm
from .model_of import Modeled, model_of

__all__ = ["Costed", "Count", "all_costs", "cost", "count_algorithm", "count_function"]


def cost(robot: Modeled | Model, name: str, **options: Any) -> Count:
    """Return the number of operations that one evaluation of an algorithm takes on this robot.

    Constants are folded, zeros are skipped and common subexpressions are computed
    once; multiplications and additions are not fused.  The count is that of the algorithm with the robot's parameters
    as they are. Machine code and C take fewer operations, about as many as for ``robot.grouped()``, if parameters can
    be regrouped without changing results.

    Parameters
    ----------
    robot : Robot, or its model
    name : str
        An algorithm, such as ``"inverse_dynamics"``.
    **options
        Options of the method of that name: ``frame="tool"``, ``method="composite_body"``, ...

    Returns
    -------
    Count

    Examples
    --------
    >>> import kinetree as kt
    >>> from kinetree.export.operation_counts import cost
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=2, com=(0, 0, -1.5)).build()
    >>> print(cost(robot, "inverse_dynamics"))
    3M 1A, 1 sine and cosine
    """
    find(name)
    model = model_of(robot)
    return count_algorithm(model, name, complete_options(generic(model), name, options))


def count_algorithm(model: Model, name: str, options: Mapping[str, Any], results: int | None = None) -> Count:
    """Return the operations of an algorithm with all its options; with ``results``, those of its first numbers only."""
    traced = trace_algorithm(model, name, options)
    return count(traced.graph, traced.outputs[:results])


def count_function(function: Callable[..., Iterable[Any]], *lengths: int) -> Count:
    """Return the number of operations of a function of vectors, written over any scalar.

    function: Takes lists of scalars and returns several numbers.
    *lengths: Lengths of the vectors that it takes.

    Examples
    --------
    >>> from kinetree.export.operation_counts import count_function
    >>> from kinetree.spatial import Vec3
    >>> print(count_function(lambda a, b: Vec3(*a).cross(Vec3(*b)), 3, 3))
    6M 3A
    """
    sizes = [whole_number(n, "lengths", 0, 1_000_000) for n in lengths]
    try:
        traced = trace(lambda *vectors: list(function(*vectors)), sizes, flatten)
    except TypeError as problem:
        raise OptionError(f"a function to count takes lists and returns several numbers: {problem}") from problem
    return count(traced.graph, traced.outputs)


class Counted(Modeled, Protocol):
    """What an overview of costs asks of a robot; some counts of mechanisms include the closing of their loops."""

    def cost(self, name: str, **options: Any) -> Count:
        """Return the number of operations of an algorithm."""


class Costed(NamedTuple):
    """An algorithm with the options used for counting; it has no count if the algorithm does not apply."""

    name: str
    options: Mapping[str, Any]
    operations: Count | None
    reason: str = ""


def all_costs(robot: Counted) -> list[Costed]:
    """Return the cost of every algorithm on this robot, or the reason why an algorithm does not apply.

    The frame is that of the last body, and forward dynamics is counted by articulated and by composite bodies.  For a
    mechanism, inverse and forward dynamics are counted with closed loops, algorithms that loops do not affect are
    counted without them, and algorithms that are only for trees are left out.
    """
    looped = robot.model.is_constrained
    return [
        _costed(robot, a.name, options)
        for a in ALGORITHMS.values()
        if a.is_method and not (looped and a.tree_only)
        for options in _shown(robot.model, a, looped)
    ]


def _shown(model: Model, algorithm: Algorithm, looped: bool) -> list[dict[str, Any]]:
    """Return the options that an algorithm is counted with: examples of required ones, and some choices."""
    given = {o.name: o.example(model) for o in algorithm.options if o.needed and o.example is not None}
    variants = [{o.name: value} for o in algorithm.options for value in o.counted]
    return [given | variant for variant in ([] if looped else variants) or [{}]]


def _costed(robot: Counted, name: str, options: Mapping[str, Any]) -> Costed:
    try:
        return Costed(name, options, robot.cost(name, **options))
    except KinetreeError as problem:
        return Costed(name, options, None, str(problem))

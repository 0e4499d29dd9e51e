"""Algorithms as graphs that are replayed, operation by operation, on the scalars of another library."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...algorithms.table import LOOP_ALGORITHMS, Algorithm, find
from ...engine.graph import CONST, DIV, INPUT
from ...engine.trace import Traced, trace
from ...errors import ModelError, OptionError, SingularError, UnsupportedError
from ...evaluation.algorithm_options import complete_options
from ...model.tree import Model
from ...spatial import Force, Scalar
from ...spatial.arrays import flatten
from .parameters import ClosingLoops, Computing, Parametric

Shape = tuple[int, ...]

EXTRAS = {"jax": "jax", "casadi": "casadi", "sympy": "symbolic"}
"""The extra of kinetree that installs each library."""


def library(name: str) -> Any:
    """Import a library that is an extra, or raise an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise UnsupportedError(
            f"this needs the package {name!r}: pip install 'kinetree[{EXTRAS[name]}]' ({problem})"
        ) from problem


def check_loops(model: Model, name: str) -> None:
    """Refuse algorithms that would leave out the forces of closed loops, and loop gaps if there are no loops."""
    if model.is_constrained and find(name).tree_only and not find(name).closed_by:
        raise UnsupportedError(
            f"{name} of robot {model.name!r} on symbols would leave out the forces of its closed loops; "
            "inverse_dynamics and forward_dynamics include them, and .tree gives the opened tree"
        )
    if not model.is_constrained and name in LOOP_ALGORITHMS:
        raise ModelError(f"robot {model.name!r} has no closed loops, so it has no {name}")


def as_parametric(robot: Computing | Parametric) -> Parametric:
    """Return a robot with its parameters, possibly none."""
    return robot if isinstance(robot, Parametric) else Parametric(robot)


@dataclass(frozen=True)
class Call:
    """One algorithm of one robot with checked options: its inputs and its result."""

    subject: Parametric
    name: str
    options: dict[str, Any]
    loaded: bool
    """Whether the last input contains the wrenches on all bodies."""
    closed_by: str = ""
    """The algorithm that includes closed loops, to which the options belong."""

    @classmethod
    def of(cls, robot: Computing | Parametric, name: str, options: Mapping[str, Any], wrenches: bool) -> Call:
        """Return a checked call."""
        subject = as_parametric(robot)
        algorithm = find(name)
        if wrenches and not algorithm.loads:
            raise UnsupportedError(f"{name} does not take external wrenches")
        check_loops(subject.robot.model, name)
        checked = subject.stand_in if subject.scalars or subject.symbols else subject.robot.model
        by_choice = any(option.chosen_by_loops for option in algorithm.options)
        complete = {} if by_choice else complete_options(checked, name, options)
        if not by_choice and not (checked.is_constrained and algorithm.closed_by):
            return cls(subject, name, complete, wrenches)
        if not isinstance(subject.robot, ClosingLoops):
            raise UnsupportedError(f"{name} with closed loops needs a kinetree.Mechanism, not just its model")
        if options and name != "hybrid_dynamics":
            raise OptionError(f"{name} of a mechanism takes no options on symbols, got {', '.join(options)}")
        if subject.substitution.joints or subject.substitution.loops:
            raise UnsupportedError(
                f"parameters of joints determine where the loops of {subject.name!r} close, so its dynamics "
                "allows only parameters of bodies and of gravity"
            )
        closed_by, choices = subject.robot.closed_form(name, complete)
        return cls(subject, name, choices, wrenches, closed_by)

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm that is run."""
        return find(self.closed_by or self.name)

    @property
    def inputs(self) -> dict[str, Shape]:
        """Shape of every input, without the batch."""
        model = self.subject.robot.model
        lengths = zip(self.algorithm.inputs, self.algorithm.lengths(model), strict=True)
        shapes: dict[str, Shape] = {name: (length,) for name, length in lengths}
        return shapes | ({"wrenches": (len(model.bodies), 6)} if self.loaded else {})

    @property
    def arguments(self) -> dict[str, Shape]:
        """Shape of every input, and of the robot's symbols without a value, which are additional arguments."""
        taken = [name for name in self.subject.symbols if name in self.inputs]
        if taken:
            raise OptionError(
                f"robot {self.subject.name!r} has a symbol {taken[0]!r}, which is also the name of an input of "
                f"{self.name}: give it a value, with_parameters(robot, symbols=...)"
            )
        return self.inputs | dict.fromkeys(self.subject.symbols, ())

    @property
    def shape(self) -> Shape:
        """Shape of the result, without the batch."""
        return self.algorithm.shape(self.subject.robot.model, self.options)

    def singular(self) -> SingularError:
        """Return the error for a division by zero."""
        return SingularError(
            f"{self.name} of robot {self.subject.name!r} divides by zero; do all moving bodies have mass?"
        )

    def run(self, tree: Any, vectors: Sequence[Sequence[Scalar]]) -> Any:
        """Run the algorithm on any scalars; wrenches come as one flat vector."""
        algorithm, options = self.algorithm, self.options
        try:
            if not algorithm.loads:
                return flatten(algorithm.function(tree, *vectors, **options))
            loads: list[Force | None] = [None] * len(tree.bodies)
            if self.loaded:
                *vectors, six = vectors
                loads = [Force.of(six[6 * i : 6 * i + 6]) for i in range(len(loads))]
            return flatten(algorithm.function(tree, *vectors, loads, **options))
        except ZeroDivisionError:
            raise self.singular() from None
        except (TypeError, ModelError) as problem:
            reason = problem.__cause__ if isinstance(problem, ModelError) else problem
            if not isinstance(reason, TypeError):  # a joint's own function that needs the value of a symbol
                raise
            raise UnsupportedError(
                f"{self.name} of robot {self.subject.name!r} cannot be run on symbols: {reason}. A joint's own "
                "function must be made of + - * / and kinetree's sin, cos, sqrt and arctan2, without branches"
            ) from problem


@dataclass(frozen=True)
class Program:
    """A call as a graph; the robot's symbols come after its inputs, then parameters."""

    call: Call
    traced: Traced

    @classmethod
    def of(cls, call: Call) -> Program:
        """Return the program of a call, traced."""
        parameters, symbols = call.subject.scalars, call.subject.symbols
        lengths = [math.prod(shape) for shape in call.arguments.values()]

        def compute(*vectors: Sequence[Scalar]) -> Any:
            *state, nodes = vectors
            known = {id(x): node for x, node in zip(parameters, nodes, strict=True)}
            count = len(state) - len(symbols)
            values = {name: x for name, (x,) in zip(symbols, state[count:], strict=True)}
            return call.run(call.subject.tree(lambda x: known.get(id(x), x), symbols=values), state[:count])

        traced = trace(compute, [*lengths, len(parameters)], lambda nested: nested)
        if _divides_by_zero(traced):
            raise call.singular()
        return cls(call, traced)

    def replay(self, operations: Mapping[str, Callable[..., Any]], scalars: Sequence[Any]) -> list[Any]:
        """Return all results as one list, given all inputs and parameters as one list."""
        graph, values = self.traced.graph, dict[int, Any]()
        for i in graph.reachable(self.traced.outputs):
            kind = graph.kinds[i]
            if kind == CONST:
                values[i] = graph.values[i]
            elif kind == INPUT:
                values[i] = scalars[int(graph.values[i])]
            else:
                values[i] = operations[kind](*(values[a] for a in graph.args[i]))
        return [values[o] for o in self.traced.outputs]


def _divides_by_zero(traced: Traced) -> bool:
    """Return whether some divisor is zero for all inputs."""
    graph = traced.graph
    divisors = (graph.args[i][1] for i in graph.reachable(traced.outputs) if graph.kinds[i] == DIV)
    return any(graph.is_const(d) and graph.values[d] == 0.0 for d in divisors)

"""Steps through time as machine code: many steps of a formula with several stages, without leaving the lanes.

A step is cut where it asks for the rate of the state.  What lies between two questions is
small and different each time; the rate itself is long and always the same, so it is
compiled once and called by every stage.  The state goes round in vectors: only the first
and the last of many steps touch the arrays of the batch.

Inputs are ``t``, ``h`` and ``n`` (one number each), the state, and parameters; the output is
the state n steps on, t growing by h each time.  A kernel of several samples goes on like that, and its output is the
state after every n steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..fuse import prepare
from ..graph import Graph, inputs, outputs
from ..llvm.assembly import Module, Value
from ..llvm.emit import inner_function
from ..llvm.emitter import Emitter
from ..llvm.modules import table_of_places, work_vectors
from ..llvm.table_lookups import table_words
from ..llvm.vectors import Vectors, spread
from .kernel import Kernel

TIME, STEP, COUNT, STATE = 0, 1, 2, 3
"""Places of t, h, n and the first state among the inputs."""


@dataclass
class Stages:
    """A traced step: one graph cut at its questions, and the graph of the rate.

    The inputs of ``graph`` are t, h, n, state, parameters and the answers to the questions so far;
    those of ``rate`` are a question and the parameters.
    """

    graph: Graph
    questions: list[list[int]]
    final: list[int]
    rate: Graph
    answer: list[int]
    n_state: int
    n_question: int
    n_parameters: int
    samples: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the kernel's output."""
        return (self.n_state,) if self.samples == 1 else (self.samples, self.n_state)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the kernel's input vectors."""
        return (1, 1, 1, self.n_state, *((self.n_parameters,) if self.n_parameters else ()))

    def content(self) -> str:
        """Return everything that the machine code depends on."""
        graphs = [(g.kinds, g.args, g.values) for g in (self.graph, self.rate)]
        numbers = self.n_state, self.n_question, self.n_parameters, *((self.samples,) if self.samples > 1 else ())
        return repr((graphs, self.questions, self.final, self.answer, *numbers))


def trace_stages(
    advance: Callable[..., Sequence[object]], rate: Callable[..., Sequence[object]], n_state: int, n_question: int,
    n_parameters: int, n_answer: int, samples: int = 1,
) -> Stages:  # fmt: skip
    """Run a step on nodes, with questions cut out.

    Parameters
    ----------
    advance : callable
        ``advance(ask, t, state, h, parameters)`` returns the next state; ``ask(question)`` takes a list of
        scalars and returns one.
    rate : callable
        ``rate(question, parameters)`` answers.
    n_state, n_question, n_parameters, n_answer : int
        How many numbers these are.
    samples : int
        How many states the kernel returns.
    """
    graph = Graph()
    questions: list[list[int]] = []
    given = inputs(graph, STATE + n_state + n_parameters)

    def ask(question: Sequence[object]) -> list[object]:
        first = len(given) + len(questions) * n_answer
        questions.append(outputs(graph, question))
        return list(inputs(graph, n_answer, first))

    new = advance(ask, given[TIME], given[STATE : STATE + n_state], given[STEP], given[STATE + n_state :])
    final = outputs(graph, new)
    inner = Graph(tables=graph.tables)
    own = inputs(inner, n_question + n_parameters)
    answer = outputs(inner, rate(own[:n_question], own[n_question:]))
    return Stages(graph, questions, final, inner, answer, n_state, n_question, n_parameters, samples)


@dataclass
class StepKernel(Kernel):
    """Machine code of :class:`Stages`; see the head of this file.  One state goes through it as a batch of one."""

    stages: Callable[[], Stages] | None = None

    def is_ready(self, batch: bool) -> bool:
        """Return whether the one form that there is is at hand."""
        return super().is_ready(True)

    @property
    def sends(self) -> bool:
        """A loop has no place of its own for that."""
        return False

    @property
    def single_address(self) -> int:  # type: ignore[override]
        """The same loop."""
        return self.lanes_address

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch([np.atleast_2d(a) for a in arrays], (1,), result, 1)

    def _assembly(self, form: str) -> str:
        assert self.stages is not None
        return step_module(self.stages(), self.vectors)


def step_module(stages: Stages, v: Vectors) -> str:
    """Return LLVM assembly of the loop and of the functions it calls."""
    n, p, asked, n_answer = stages.n_state, stages.n_parameters, stages.n_question, len(stages.answer)
    answers_at, vector, size = STATE + n + p, v.type, v.size
    module = Module()
    module.add("declarations", "\n".join(Emitter(v).declarations()))
    names = [f"stage{k}" for k in range(len(stages.questions))]
    for name, wanted in (*zip(names, stages.questions, strict=True), ("final", stages.final)):
        module.add(name, _function(name, stages.graph, wanted, v))
    module.add("rate", _function("rate", stages.rate, stages.answer, v))
    with module.function("kernel", {"in": "ptr", "out": "ptr", "context": "ptr"}) as f:
        given, out, _ = f.args
        x, y = f.room(vector, answers_at + len(names) * n_answer, size), f.room(vector, asked + p, size)
        _copy(v, given, x, answers_at)
        _copy(v, given.at(STATE + n, vector), y.at(asked, vector), p)
        begin, h, rounds = (given.at(k, vector).load(vector, size) for k in (TIME, STEP, COUNT))
        every, done = _first_as_integer(v, rounds), f.variable(0, "done")
        last = every if stages.samples == 1 else every * stages.samples
        with f.forever(done):
            for k, name in enumerate(names):
                f.call(name, x, y)
                f.call("rate", y, x.at(answers_at + k * n_answer, vector))
            new = out if stages.samples == 1 else out.at(done.value // every * n, vector)
            f.call("final", x, new)
            done.set(done.value + 1)
            f.leave(unless=done.value < last)
            _copy(v, new, x.at(STATE, vector), n)
            x.at(TIME, vector).store(_time(v, begin, h, done.value), size)
    places = table_of_places([k * size for k in range(n * stages.samples)], v)
    return "\n".join([table_words(len(stages.graph.tables)), places, work_vectors(0), module.text()])


def _copy(v: Vectors, source: Value, to: Value, count: int) -> None:
    """Copy so many vectors."""
    for k in range(count):
        to.at(k, v.type).store(source.at(k, v.type).load(v.type, v.size), v.size)


def _first_as_integer(v: Vectors, vector: Value) -> Value:
    """Return the number in the first lane as an integer."""
    f, first = vector.f, vector.name
    if v.lanes > 1:
        first = f.op(f"extractelement {v.type} {vector.name}, i32 0", v.real).name
    return f.op(f"fptosi {v.real} {first} to i64", "i64")


def _time(v: Vectors, begin: Value, h: Value, done: Value) -> Value:
    """Return the time after so many steps: not summed up, but t0 + k h."""
    f = done.f
    count = spread(done, v.lanes) if v.lanes > 1 else done
    steps = f.op(f"sitofp {count.type} {count.name} to {v.type}", v.type)
    gone = f.op(f"fmul {v.type} {steps.name}, {h.name}", v.type)
    return f.op(f"fadd {v.type} {begin.name}, {gone.name}", v.type)


def _function(name: str, graph: Graph, wanted: Sequence[int], vectors: Vectors) -> str:
    """Write a graph as a function that reads consecutive vectors and writes consecutive vectors."""
    return inner_function(name, *prepare(graph, list(wanted), vectors.fused), vectors)

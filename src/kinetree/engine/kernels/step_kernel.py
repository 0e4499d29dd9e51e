"""Steps through time as machine code: many steps of a formula with several stages, without leaving the lanes.

A step is cut where it asks for the rate of the state.  What lies between two questions is
small and different each time; the rate itself is long and always the same, so it is
compiled once and called by every stage.  The state goes round in vectors: only the first
and the last of many steps touch the arrays of the batch.

Inputs are ``t``, ``h`` and ``n`` (one number each), the state, and parameters; the output is
the state n steps on, t growing by h each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..fuse import prepare
from ..graph import Graph, inputs, outputs
from ..llvm.emit import inner_function
from ..llvm.emitter import Emitter
from ..llvm.modules import table_of_places, work_vectors
from ..llvm.table_lookups import table_words
from ..llvm.vectors import Vectors
from .loop_kernel import LoopKernel

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

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the kernel's input vectors."""
        return (1, 1, 1, self.n_state, *((self.n_parameters,) if self.n_parameters else ()))

    def content(self) -> str:
        """Return everything that the machine code depends on."""
        graphs = [(g.kinds, g.args, g.values) for g in (self.graph, self.rate)]
        return repr((graphs, self.questions, self.final, self.answer, self.n_state, self.n_question, self.n_parameters))


def trace_stages(
    advance: Callable[..., Sequence[object]], rate: Callable[..., Sequence[object]], n_state: int, n_question: int,
    n_parameters: int, n_answer: int,
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
    return Stages(graph, questions, final, inner, answer, n_state, n_question, n_parameters)


@dataclass
class StepKernel(LoopKernel):
    """Machine code of :class:`Stages`; see the head of this file."""

    stages: Callable[[], Stages] | None = None

    def _assembly(self, form: str) -> str:
        assert self.stages is not None
        return step_module(self.stages(), self.vectors)


def step_module(stages: Stages, vectors: Vectors) -> str:
    """Return LLVM assembly of the loop and of the functions it calls."""
    e, lanes = Emitter(vectors), vectors.lanes
    n, p, count, asked = stages.n_state, stages.n_parameters, len(stages.questions), stages.n_question
    answers_at, n_answer = STATE + n + p, len(stages.answer)
    text = [table_words(len(stages.graph.tables)), *e.declarations()]
    text += [table_of_places([k * e.size for k in range(n)], vectors), work_vectors(0)]
    for k, question in enumerate(stages.questions):
        text.append(_function(f"stage{k}", stages.graph, question, vectors))
    text.append(_function("final", stages.graph, stages.final, vectors))
    text.append(_function("rate", stages.rate, stages.answer, vectors))

    real = e.real
    whole = f"<{lanes} x i64>" if lanes > 1 else "i64"
    e.line(f"%x = alloca [{answers_at + count * n_answer} x {e.type}], align {e.size}")
    e.line(f"%y = alloca [{asked + p} x {e.type}], align {e.size}")
    for k in range(answers_at):
        e.store(e.load("in", k), "x", k)
    for k in range(p):
        e.store(e.load("in", STATE + n + k), "y", asked + k)
    begin, h, rounds = (e.load("in", k) for k in (TIME, STEP, COUNT))
    first = e.op(f"extractelement {e.type} {rounds}, i32 0") if lanes > 1 else rounds
    last = e.op(f"fptosi {real} {first} to i64")
    e.line("br label %again")
    e.lines.append("again:")
    e.line("%i = phi i64 [ 0, %begin ], [ %i_next, %copy ]")
    for k in range(count):
        e.line(f"call void @stage{k}(ptr %x, ptr %y)")
        e.line(f"%answer{k} = getelementptr inbounds {e.type}, ptr %x, i64 {answers_at + k * n_answer}")
        e.line(f"call void @rate(ptr %y, ptr %answer{k})")
    e.line("call void @final(ptr %x, ptr %out)")
    e.line("%i_next = add i64 %i, 1")
    e.line(f"%more = icmp slt i64 %i_next, {last}")
    e.line("br i1 %more, label %copy, label %end")
    e.lines.append("copy:")
    for k in range(n):
        e.store(e.load("out", k), "x", STATE + k)
    gone = "%i_next"
    if lanes > 1:
        one = e.op(f"insertelement {whole} poison, i64 %i_next, i64 0")
        gone = e.op(f"shufflevector {whole} {one}, {whole} poison, <{lanes} x i32> zeroinitializer")
    steps = e.op(f"sitofp {whole} {gone} to {e.type}")
    # not summed up: the time of step k is t0 + k h
    e.store(e.op(f"fadd {e.type} {begin}, {e.op(f'fmul {e.type} {steps}, {h}')}"), "x", TIME)
    e.line("br label %again")
    e.lines.append("end:")
    text += ["define void @kernel(ptr %in, ptr %out, ptr %context) {", "begin:", *e.lines, "  ret void", "}", ""]
    return "\n".join(text)


def _function(name: str, graph: Graph, wanted: Sequence[int], vectors: Vectors) -> str:
    """Write a graph as a function that reads consecutive vectors and writes consecutive vectors."""
    return inner_function(name, *prepare(graph, list(wanted), vectors.fused), vectors)

"""Steps through time as machine code: many steps of a formula with several stages, without leaving the lanes.

A step is cut where it asks for the rate of the state.  What lies between two questions is small and different each
time; the rate itself is long and always the same, so it is compiled once and called by every stage.  The state stays in
vectors: only the first and the last of many steps touch the arrays of the batch.

Inputs are ``t``, ``h`` and ``n`` (one number each), the state, and parameters; the output is the state n steps later, t
growing by h each time.  A kernel of several samples continues like that, and its output is the state after every n
steps.

A rate may call a loop over bodies, whose code and schedule belong to another kernel: then its graph has the inputs of
that loop, followed by the rest of the answer.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ..fuse import prepare
from ..graph import Graph, inputs, outputs
from ..llvm.assembly import MachineFunction, Module, Operand, Value
from ..llvm.emit import inner_function
from ..llvm.emitter import Emitter
from ..llvm.modules import table_of_places, work_vectors
from ..llvm.table_lookups import table_words
from ..llvm.vectors import Vectors, spread
from ..make_once import made_once
from ..result_memory import empty
from .kernel import Kernel, address_of

if TYPE_CHECKING:
    from .loop_kernel import InnerLoop, RolledKernel

RESULTS_AT_ONCE = 64
"""Results per function for a large tree: LLVM takes longer over one long function than over many short ones, and the
joints hardly depend on one another in the formula of a step."""

TIME, STEP, COUNT, STATE = 0, 1, 2, 3
"""Places of t, h, n and the first state among the inputs."""


MOST_COPIED_ONE_BY_ONE = 256
"""Number of vectors up to which copies are unrolled."""


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
    inner: InnerLoop | None = None
    """A loop that the rate calls; ``answer`` lists the inputs of the loop, followed by what comes after its results."""

    @property
    def n_answer(self) -> int:
        """The number of values that answer a question."""
        return len(self.answer) + (0 if self.inner is None else self.inner.outs - self.inner.inputs)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the kernel's output."""
        return (self.n_state,) if self.samples == 1 else (self.samples, self.n_state)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the kernel's input vectors."""
        return (1, 1, 1, self.n_state, *((self.n_parameters,) if self.n_parameters else ()))

    def content(self) -> str:
        """Return everything that the machine code depends on."""
        graphs = [(g.kinds, g.args, g.values) for g in (self.graph, self.rate)]
        numbers = self.n_state, self.n_question, self.n_parameters, *((self.samples,) if self.samples > 1 else ())
        called = () if self.inner is None else (self.inner,)
        return repr((graphs, self.questions, self.final, self.answer, *numbers, *called))


def trace_stages(
    advance: Callable[..., Sequence[object]], rate: Callable[..., Sequence[object]], n_state: int, n_question: int,
    n_parameters: int, n_answer: int, samples: int = 1, inner: InnerLoop | None = None, most: float = math.inf,
) -> Stages:  # fmt: skip
    """Run a step on nodes, with questions cut out.

    Parameters
    ----------
    advance : callable
        ``advance(ask, t, state, h, parameters)`` returns the next state; ``ask(question)`` takes a list of
        scalars and returns one.
    rate : callable
        ``rate(question, parameters)`` answers; or returns what a loop is called with, and the rest of the answer.
    n_state, n_question, n_parameters, n_answer : int
        How many numbers each of these has.
    samples : int
        How many states the kernel returns.
    inner : InnerLoop, optional
        What the rate calls.
    most : float
        Operations of a graph beyond which :class:`~kinetree.engine.graph.TooLong` is raised.
    """
    graph = Graph(most)
    questions: list[list[int]] = []
    given = inputs(graph, STATE + n_state + n_parameters)

    def ask(question: Sequence[object]) -> list[object]:
        first = len(given) + len(questions) * n_answer
        questions.append(outputs(graph, question))
        return list(inputs(graph, n_answer, first))

    new = advance(ask, given[TIME], given[STATE : STATE + n_state], given[STEP], given[STATE + n_state :])
    final = outputs(graph, new)
    asked = Graph(most, tables=graph.tables)
    own = inputs(asked, n_question + n_parameters)
    answer = outputs(asked, rate(own[:n_question], own[n_question:]))
    return Stages(graph, questions, final, asked, answer, n_state, n_question, n_parameters, samples, inner)


@dataclass
class LanesKernel(Kernel):
    """Machine code with internal loops, over lanes only; one state goes through it as a batch of one."""

    def is_ready(self, batch: bool) -> bool:
        """Return whether its only form has been loaded."""
        return super().is_ready(True)

    @property
    def sends(self) -> bool:
        """Always False: a loop has no place for sending."""
        return False

    @made_once
    def single_address(self) -> int:
        """The same loop."""
        return self.lanes_address

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch([np.atleast_2d(a) for a in arrays], (1,), result, 1)


@dataclass
class StepKernel(Kernel):
    """Machine code of :class:`Stages`, with a separate form for one state; see the head of this file.

    The form for one state returns as many samples as it is asked for, whatever ``samples`` of its stages are.
    """

    stages: Callable[[], Stages] | None = None
    loop: RolledKernel | None = field(default=None, kw_only=True, repr=False)
    """What the rate calls."""

    @property
    def sends(self) -> bool:
        """Always False: a loop has no place for sending."""
        return False

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        call = self._local.__dict__.get("one")
        if call is None:
            call = self._local.one = OneStateCall(self)
        for own, given in zip(call.inputs, arrays, strict=True):
            own[:] = given
        direct = result.flags.c_contiguous and result.dtype == self.dtype
        made = result if direct else np.empty(self.shape, self.dtype)
        call.run(made, math.prod(self.shape[:-1]))
        if not direct:
            result[...] = made

    @made_once
    def _loops_over_lanes(self) -> np.ndarray:
        assert self.loop is not None
        return np.array([self.loop.lanes_address, self.loop.context_address], dtype=np.int64)

    @property
    def context_address(self) -> int:
        """The address of the code and schedule of what the rate calls; 0 if it calls nothing."""
        return 0 if self.loop is None else address_of(self._loops_over_lanes)

    def _assembly(self, form: str) -> str:
        assert self.stages is not None
        if form == "lanes":
            return step_module(self.stages(), self.vectors, self._before_work)
        return step_module(self.stages(), self.vectors.one)


class OneStateCall:
    """Steps of one state, from fixed buffers: microseconds matter to an integrator.

    Only one thread may call it at a time.

    Parameters
    ----------
    kernel : StepKernel
    arrays : sequence of ndarray, optional
        Its inputs, each of one state, whose numbers may change; own ones by default.
    """

    def __init__(self, kernel: StepKernel, arrays: Sequence[np.ndarray] | None = None) -> None:
        assert kernel.stages is not None
        self._kernel = kernel
        self._code = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3)(kernel.single_address)
        self.inputs = [np.zeros(n, kernel.dtype) for n in kernel.lengths] if arrays is None else list(arrays)
        self._work: np.ndarray = np.empty(work_of(kernel.stages()), kernel.dtype)
        loop = kernel.loop
        called = 0 if loop is None or not loop.single_address else loop.run_address
        self._context = np.array([1, address_of(self._work), called], dtype=np.int64)
        self._table = np.array([address_of(a) for a in self.inputs], dtype=np.int64)
        self._addresses = address_of(self._table), address_of(self._context)

    def run(self, out: np.ndarray, samples: int) -> None:
        """Write ``samples`` states, one after every n steps, to consecutive memory."""
        table, context = self._addresses
        self._context[0] = samples
        self._code(table, address_of(out), context)

    def __call__(self, out: np.ndarray | None = None) -> np.ndarray:
        """Evaluate as a batch of one, optionally into a given array, which must not share memory with inputs."""
        kernel, shape = self._kernel, (1, *self._kernel.shape)
        if out is None:
            out = empty(shape, kernel.dtype)
        elif not (out.shape == shape and out.dtype == kernel.dtype and out.flags.carray):
            raise TypeError(f"{kernel.name}: out must be a C-ordered array of {kernel.dtype} {shape}")
        self.run(out, math.prod(kernel.shape[:-1]))
        return out


def work_of(stages: Stages) -> int:
    """Return how many values steps need besides inputs and results: none if they fit on the stack."""
    if stages.inner is None:
        return 0
    held = STATE + stages.n_state + stages.n_parameters + len(stages.questions) * stages.n_answer
    asked = stages.n_question + stages.n_parameters + len(stages.answer)
    return held + asked + stages.inner.outs + stages.inner.kept


def step_module(stages: Stages, v: Vectors, work_at: int = 0) -> str:
    """Return LLVM assembly of the loop and of the functions it calls.

    ``work_at`` is how many vectors after the beginning of the inputs the work area begins.
    """
    places = table_of_places([k * v.size for k in range(stages.n_state * stages.samples)], v)
    declared = "\n".join(Emitter(v).declarations())
    tables, work = table_words(len(stages.graph.tables)), work_vectors(work_of(stages))
    return "\n".join([tables, places, work, declared, step_functions(stages, v, work_at=work_at)])


def step_functions(
    stages: Stages, v: Vectors, kernel: str = "kernel", inner: bool = False, work_at: int = 0
) -> str:  # fmt: skip
    """Return the loop, as a function ``kernel(in, out, context)``, and what it calls.

    Inputs and outputs are consecutive vectors.  For one state, inputs are addresses of the vectors of each, and the
    context says how many samples are wanted, where there is room to work, and what the rate calls.  As an ``inner``
    function of a larger module it has no context, and consecutive inputs.
    """
    n, p, asked, n_answer = stages.n_state, stages.n_parameters, stages.n_question, stages.n_answer
    answers_at, vector, size = STATE + n + p, v.type, v.size
    module, alone = Module(), v.lanes == 1 and not inner
    names = [f"{kernel}.stage{k}" for k in range(len(stages.questions))]
    final, rate = f"{kernel}.final", f"{kernel}.rate"
    for name, wanted in (*zip(names, stages.questions, strict=True), (final, stages.final)):
        _add_function(module, name, stages.graph, wanted, v, stages.inner is not None)
    _add_function(module, rate, stages.rate, stages.answer, v, stages.inner is not None)
    parameters = {"in": "ptr", "out": "ptr"} | ({} if inner else {"context": "ptr"})
    with module.function(kernel, parameters, linkage="internal" if inner else "") as f:
        given, out = f.args[:2]
        rooms = answers_at + len(names) * n_answer, asked + p, len(stages.answer)
        if stages.inner is None:
            x, y = (f.room(vector, count, size) for count in rooms[:2])
        else:
            start = f.args[2].at(1, "ptr").load("ptr") if alone else given.at(work_at, vector)
            x, y, w, found = (start.at(end, vector) for end in accumulate(rooms, initial=0))
        if alone:
            for k, place in enumerate(accumulate(stages.lengths[:-1], initial=0)):
                copy_vectors(v, given.at(k, "ptr").load("ptr"), x.at(place, vector), stages.lengths[k])
            given = x
        else:
            copy_vectors(v, given, x, answers_at)
        copy_vectors(v, given.at(STATE + n, vector), y.at(asked, vector), p)
        begin, h, rounds = (given.at(k, vector).load(vector, size) for k in (TIME, STEP, COUNT))
        every, done, kept = first_as_integer(v, rounds), f.variable(0, "done"), f.variable(0, "kept")
        samples = f.args[2].load("i64") if alone else f.valued(stages.samples)
        due = f.variable(every, "due")
        several, last = alone or stages.samples > 1, every * samples
        with f.forever(done, *((kept, due) if several else ())):
            for k, name in enumerate(names):
                f.call(name, x, y)
                answer = x.at(answers_at + k * n_answer, vector)
                f.call(rate, y, answer if stages.inner is None else w)
                if stages.inner is not None:
                    _call_loop(f, v, stages, w, found, answer)
            new = out.at(kept.value, vector) if several else out
            f.call(final, x, new)
            done.set(done.value + 1)
            f.leave(unless=done.value < last)
            copy_vectors(v, new, x.at(STATE, vector), n)
            x.at(TIME, vector).store(time_after(v, begin, h, done.value), size)
            if several:
                full = done.value.equals(due.value)
                kept.set(full.choose(kept.value + n, kept.value))
                due.set(full.choose(due.value + every, due.value))
    return module.text()


def _call_loop(f: MachineFunction, v: Vectors, stages: Stages, w: Value, found: Value, answer: Value) -> None:
    """Call a loop with what a rate asks for; the answer is what it finds, followed by the rest of the rate's answer.

    The loop over lanes gets its schedule; the one for one state gets room to work.
    """
    context, inner = f.args[2], stages.inner
    assert inner is not None
    called, third = context, found.at(inner.outs, v.type)
    if v.lanes > 1:
        third = context.at(1, "ptr").load("ptr")
    else:
        called = context.at(2, "ptr")
    f.call(called.load("ptr"), w, found, third)
    copy_vectors(v, found, answer, inner.outs)
    copy_vectors(v, w.at(inner.inputs, v.type), answer.at(inner.outs, v.type), len(stages.answer) - inner.inputs)


def copy_vectors(v: Vectors, source: Value, to: Value, count: int) -> None:
    """Copy ``count`` vectors, in a loop if there are many."""

    def copy(k: Operand) -> None:
        to.at(k, v.type).store(source.at(k, v.type).load(v.type, v.size), v.size)

    if count > MOST_COPIED_ONE_BY_ONE:
        with source.f.loop(0, count) as each:
            copy(each)
        return
    for k in range(count):
        copy(k)


def first_as_integer(v: Vectors, vector: Value) -> Value:
    """Return the number in the first lane as an integer."""
    f, first = vector.f, vector.name
    if v.lanes > 1:
        first = f.op(f"extractelement {v.type} {vector.name}, i32 0", v.real).name
    return f.op(f"fptosi {v.real} {first} to i64", "i64")


def time_after(v: Vectors, begin: Value, h: Value, done: Value) -> Value:
    """Return the time after a number of steps: t0 + k h rather than a running sum."""
    f = done.f
    count = spread(done, v.lanes) if v.lanes > 1 else done
    steps = f.op(f"sitofp {count.type} {count.name} to {v.type}", v.type)
    gone = f.op(f"fmul {v.type} {steps.name}, {h.name}", v.type)
    return f.op(f"fadd {v.type} {begin.name}, {gone.name}", v.type)


def _add_function(module: Module, name: str, graph: Graph, wanted: Sequence[int], v: Vectors, in_parts: bool) -> None:
    """Add a graph as a function; for a large tree, in parts that each compute some of the results."""
    if not in_parts:
        module.add(name, function_of(name, graph, wanted, v))
        return
    parts = range(0, len(wanted), RESULTS_AT_ONCE)
    for first in parts:
        part = f"{name}.{first}"
        module.add(part, function_of(part, graph, wanted[first : first + RESULTS_AT_ONCE], v))
    with module.function(name, {"in": "ptr", "out": "ptr"}, linkage="internal", attributes="noinline") as f:
        given, out = f.args
        for first in parts:
            f.call(f"{name}.{first}", given, out.at(first, v.type))


def function_of(name: str, graph: Graph, wanted: Sequence[int], vectors: Vectors, longest: int | None = None) -> str:
    """Return a graph as a function that reads and writes consecutive vectors; for ``longest`` see :mod:`..fuse`."""
    return inner_function(name, *prepare(graph, list(wanted), vectors.fused, longest), vectors)

"""Laws over any scalar, run as machine code or as they are written; all kernels of traced laws are made here.

The robot's backend decides which. Machine code is identified by the graph it was made from, so equal laws are compiled
only once, however often they are set up.

:class:`LawProgram`
    a law of named vectors;
:class:`StepProgram`
    many steps of a law that evaluates rates, without leaving the machine code in between;
:class:`SearchProgram`
    steps from a start until each lane is done;
:class:`TangentProgram`
    a law with its derivative along directions;
:class:`SlopeProgram`
    all derivatives of a law with respect to some of its vectors, or those of weighted sums;
:class:`TreeProgram`
    a recursion over a large tree, as loops.
"""

from __future__ import annotations

import ctypes
import math
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..algorithms.table import find
from ..engine import cache
from ..engine.differentiate import along, costs, jacobian, reverse
from ..engine.graph import LESS, Graph, Node, TooLong, Undecided, inputs
from ..engine.kernels.direct_call import DirectCall, available
from ..engine.kernels.kernel import Kernel, PreparedCall, address_of
from ..engine.kernels.search_kernel import SearchKernel, trace_search
from ..engine.kernels.step_kernel import OneStateCall, StepKernel, trace_stages
from ..engine.llvm import host
from ..engine.make_once import MAKING
from ..engine.result_memory import empty
from ..engine.trace import Traced, trace
from ..errors import CompileError, SpeedWarning, UnsupportedError, callers_level
from ..model.tree import Model
from ..spatial import Scalar
from ..spatial.arrays import Array, flatten, pack, split
from ..spatial.dual import Dual
from .compiler import LARGEST_UNROLLED, LONGEST_CODE, fingerprint, is_coupled, warn_of_reference
from .large_trees import roll, rolled_kernel
from .processor import supported

Scalars = Sequence[Scalar]
Law = Callable[..., list[Any]]
Ask = Callable[[list[Scalar]], list[Scalar]]
"""The function through which a step evaluates rates: from a question to its answer, both lists of scalars."""

SINGLE = "in single precision"
"""The options that distinguish kernels made from the same law."""

MOST_KEPT = 100
"""The most kernels that are kept for the next simulation with the same laws."""

MOST_KEPT_WITH_TABLES = 8
"""The most of these kernels that look up data, which they keep in memory."""

_MADE: dict[tuple[Any, ...], Any] = {}
"""Kernels of this process, keyed by a digest of their source, their target, and the addresses of tables that they
use."""


class Runnable(Protocol):
    """The part of a robot that determines how laws around it are run."""

    @property
    def model(self) -> Model:
        """The mechanism."""

    @property
    def backend(self) -> str:
        """``"compiled"`` or ``"reference"``."""


def unrolls(robot: Runnable) -> bool:
    """Return whether a robot is small enough to become straight-line code."""
    return len(robot.model.bodies) <= LARGEST_UNROLLED


def can_compile(robot: Runnable) -> bool:
    """Return whether laws around this robot are run as straight-line machine code."""
    return unrolls(robot) and has_machine_code(robot)


def moves_in_loops(robot: Runnable, method: str) -> bool:
    """Return whether a robot is large, and its accelerations are found by a loop over bodies in machine code."""
    if unrolls(robot) or not has_machine_code(robot) or robot.model.is_constrained or is_coupled(robot.model):
        return False
    return find("forward_dynamics").loops_over({"method": method})


def has_machine_code(robot: Runnable) -> bool:
    """Return whether laws that do not involve the robot's own motion can be machine code, regardless of its size."""
    return robot.backend == "compiled" and supported()


def is_traced(x: Any) -> bool:
    """Return whether a scalar stands for a number that is known only when machine code runs."""
    return isinstance(x, Node) and not x.graph.is_const(x.index)


def is_condition(x: Any) -> bool:
    """Return whether a scalar is the result of a comparison rather than a number."""
    if isinstance(x, Node):
        return x.graph.kinds[x.index] == LESS
    return isinstance(x, (bool, np.bool_, Undecided)) or (isinstance(x, np.ndarray) and x.dtype == bool)


def refuse_nested(answer: Sequence[Any], such: str) -> None:
    """Refuse the result of a law unless each entry is one number; nested lists are a common mistake.

    Parameters
    ----------
    answer : sequence
    such : str
        An example of a correct answer.
    """
    for k, x in enumerate(answer):
        if isinstance(flatten(x), list) or (isinstance(x, np.ndarray) and x.dtype == object and x.ndim):
            what = f"{len(x)} numbers" if isinstance(x, (list, tuple, np.ndarray)) else f"a {type(x).__name__}"
            if isinstance(x, (list, tuple)) and len(x) == 1:
                raise TypeError(
                    f"entry {k} of what it returned is a list of one number, not that number: take [0] of it"
                )
            raise TypeError(f"entry {k} of what it returned is {what}, not one number: unpack it, such as {such}")
        if x is None or isinstance(x, (str, bytes, dict)):
            raise TypeError(f"it returned {x!r}, not a number, as entry {k}")


def constant(x: Any) -> Any:
    """Return the number that a traced scalar stands for if it is always the same; other scalars unchanged."""
    return x.graph.values[x.index] if isinstance(x, Node) and x.graph.is_const(x.index) else x


def count_operations(law: Callable[..., Any], lengths: Sequence[int]) -> int:
    """Return how many operations a law of several vectors takes; its errors are passed on."""
    graph, first, vectors = Graph(), 0, []
    for n in lengths:
        vectors.append(inputs(graph, n, first))
        first += n
    law(*vectors)
    return len(graph)


def once(
    content: str, cpu: str, make: Callable[[str, host.Machine], Any], tables: Sequence[Any] = ()
) -> Any:  # fmt: skip
    """Return the kernel with this content: an existing one, or a new one.

    ``make`` is called with the key on disk and the target. Tables are data, and so are loops that the kernel calls:
    kernels that differ only in these share the code on disk, and the code is loaded separately for each.
    """
    key, target = cache.digest(fingerprint(), content), host.target(cpu)
    places = tuple(map(id, tables))  # the kernel keeps them alive
    with MAKING:  # another thread may be about to drop this very kernel, or to make the same one
        made = _MADE.get((key, target.key, *places))
        if made is None:
            of_its_kind = [known for known in _MADE if not tables or len(known) > 2]
            if len(of_its_kind) >= (MOST_KEPT_WITH_TABLES if tables else MOST_KEPT):
                _MADE.pop(of_its_kind[0])
            made = _MADE[key, target.key, *places] = make(key, target)
    return made


def _kernel(
    name: str, traced: Traced, cpu: str, names: tuple[str, ...] = (), single: bool = False
) -> Kernel:  # fmt: skip
    """Return a graph as machine code; ``names`` are those of its vectors, for messages."""
    graph = traced.graph

    def make(key: str, target: host.Machine) -> Kernel:
        return Kernel(
            name, lambda: traced, traced.lengths, traced.shape, key, names, single, target=target, tables=graph.tables
        )

    content = repr((graph.kinds, graph.args, graph.values, traced.outputs, traced.lengths)) + SINGLE * single
    kernel: Kernel = once(content, cpu, make, graph.tables)
    return kernel


def run_kernel(kernel: Kernel, *arrays: Array, threads: int) -> Array:
    """Run machine code on arrays."""
    try:
        return kernel(*arrays, threads=threads)
    except host.CompilationError as problem:
        raise CompileError(str(problem)) from None


def prepared_call(kernel: Kernel, arrays: Sequence[Array], threads: int) -> PreparedCall:
    """Prepare a call of machine code for arrays that stay in place."""
    try:
        return kernel.prepared(*arrays, threads=threads)
    except host.CompilationError as problem:
        raise CompileError(str(problem)) from None


def evaluation_into(kernel: Kernel, arrays: Sequence[Array], out: Array, threads: int) -> Callable[[], object]:
    """Return a function that evaluates machine code on arrays, (count, n) each, that stay in place."""
    if len(out) > 1 or any(not x.flags.c_contiguous for x in (*arrays, out)):
        return prepared_call(kernel, arrays, threads).into(out)
    try:
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.single_address)
    except host.CompilationError as problem:
        raise CompileError(str(problem)) from None
    table = (ctypes.c_void_p * len(arrays))(*map(address_of, arrays))
    places = ctypes.addressof(table), address_of(out)

    def again(alive: object = (table, arrays, out, kernel)) -> object:
        return call(*places)

    return again


class LawProgram:
    """One law on arrays.

    Parameters
    ----------
    name : str
        For messages.
    law : callable
        Takes lists of scalars by name, returns a flat list of scalars.
    lengths : mapping of str to int
        Length of each vector; those of length zero are left out.
    compiled : bool
        Machine code or plain Python.
    longest : int, optional
        Laws with more operations than this remain plain Python.
    cpu : str
        The processor to make machine code for; the default one if empty.
    single : bool
        Whether machine code computes in single precision.
    """

    def __init__(
        self, name: str, law: Law, lengths: Mapping[str, int], compiled: bool, longest: int | None = None,
        cpu: str = "", single: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.law, self.compiled, self.single = name, law, compiled, single
        self.lengths = {key: n for key, n in lengths.items() if n}
        self.empty: dict[str, list[Any]] = {key: [] for key, n in lengths.items() if not n}
        self.kernel: Kernel | None = None
        self.constants: Array | None = None
        """The result, if it is constant, as for a robot without motors and friction."""
        if compiled:
            names = tuple(self.lengths)

            def on_nodes(*vectors: Any) -> list[Any]:
                return law(**dict(zip(names, vectors, strict=True)), **self.empty)

            traced = trace(on_nodes, tuple(self.lengths.values()), lambda x: x)
            if all(traced.graph.is_const(i) for i in traced.outputs):
                self.constants = np.array([traced.graph.values[i] for i in traced.outputs], dtype=float)
            elif longest is None or len(traced.graph) <= longest:
                self.kernel = _kernel(name, traced, cpu, names, single)
            else:
                warnings.warn(
                    f"{name} takes {len(traced.graph)} operations, more than the {longest} that are worth compiling: "
                    "it runs in Python, beside the robot's machine code; fewer contact spots and force elements help",
                    SpeedWarning,
                    stacklevel=callers_level(),
                )
            self._local = threading.local()  # several threads may run the same simulator

    def __call__(self, vectors: Mapping[str, Array], threads: int = 1) -> Array:
        """Evaluate for one state or a batch; vectors are (..., n)."""
        if self.constants is not None:
            batch = np.broadcast_shapes(*(vectors[name].shape[:-1] for name in self.lengths))
            return np.array(np.broadcast_to(self.constants, (*batch, len(self.constants))))
        if self.kernel is None:
            return self._as_written(vectors)
        arrays = [vectors[name] for name in self.lengths]
        if not all(a.ndim == 1 for a in arrays):
            return run_kernel(self.kernel, *arrays, threads=threads)
        fast: OneState | None = getattr(self._local, "fast", None)
        if fast is None:
            fast = self._local.fast = OneState(self.kernel)
        return fast(*arrays)

    def of_one_state(self) -> OneState | None:
        """Return machine code for one state at a time, for one thread; None if there is none."""
        return None if self.kernel is None else OneState(self.kernel)

    def prepared(self, vectors: Mapping[str, Array], threads: int = 1) -> Callable[[], Array]:
        """Return a function that evaluates a batch in fixed arrays (count, n), whose numbers may change."""
        if self.kernel is None:
            return lambda: self(vectors, threads)
        return prepared_call(self.kernel, [vectors[name] for name in self.lengths], threads)

    def _as_written(self, vectors: Mapping[str, Array]) -> Array:
        batch = np.broadcast_shapes(*(vectors[name].shape[:-1] for name in self.lengths))
        with np.errstate(all="ignore"):
            result = self.law(**{name: split(vectors[name]) for name in self.lengths}, **self.empty)
            return pack(result, batch)


class OneState:
    """A kernel called for one state at a time, from fixed buffers: microseconds matter to an integrator."""

    def __init__(self, kernel: Kernel) -> None:
        try:
            self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.single_address)
        except host.CompilationError as problem:
            raise CompileError(str(problem)) from None
        self.kernel = kernel
        self.inputs = [np.empty(n) for n in kernel.lengths]
        self.out = np.empty(kernel.shape)
        self.table = (ctypes.c_void_p * len(self.inputs))(*(a.ctypes.data for a in self.inputs))
        self.table_at, self.out_at = ctypes.addressof(self.table), self.out.ctypes.data

    def __call__(self, *arrays: Array | float) -> Array:
        """Evaluate; inputs after the given arrays keep their values."""
        for own, given in zip(self.inputs, arrays, strict=False):
            own[:] = given
        self.call(self.table_at, self.out_at)
        return self.out.copy()


class Sizes(NamedTuple):
    """How many numbers a step deals with."""

    state: int
    question: int
    parameters: int
    answer: int


class StepProgram:
    """Many steps of a law in machine code; see :mod:`kinetree.engine.kernels.step_kernel`.

    Parameters
    ----------
    name : str
        For messages.
    advance : callable
        ``advance(ask, t, state, h, parameters)`` returns the next state; ``ask(question)`` returns the answer.
    rate : callable
        ``rate(question, parameters)`` returns the answer; or the arguments of ``inside``, and the rest of the answer.
    sizes : Sizes
    cpu : str
        The processor to make machine code for; the default one if empty.
    single : bool
        Whether it computes in single precision.
    compiled : bool
        Machine code or plain Python.
    samples : int
        How many states it returns, one after every n steps.
    inside : TreeProgram, optional
        The program that the rate calls.
    longest : float
        If there are more operations than this, there is no machine code, and ``is_too_long`` is True.
    """

    def __init__(
        self, name: str, advance: Callable[..., list[Scalar]], rate: Callable[..., list[Scalar]], sizes: Sizes,
        cpu: str = "", single: bool = False, compiled: bool = True, samples: int = 1,
        inside: TreeProgram | None = None, longest: float = math.inf,
    ) -> None:  # fmt: skip
        self.advance, self.rate, self.sizes, self.compiled = advance, rate, sizes, compiled
        self.is_too_long = False
        if not compiled:
            return
        loop = None if inside is None else inside.kernel
        try:
            stages = trace_stages(advance, rate, *sizes, samples, None if loop is None else loop.inside, longest)
        except TooLong:
            self.is_too_long = True
            return
        names = ("t", "h", "n", "state", "parameters")

        def make(key: str, target: host.Machine) -> StepKernel:
            return StepKernel(
                name, of_no_graph, stages.lengths, stages.shape, key, names, single, target=target,
                stages=lambda: stages, tables=stages.graph.tables, loop=loop,
            )  # fmt: skip

        content = "repeated" + stages.content() + SINGLE * single
        self.kernel: StepKernel = once(content, cpu, make, [*stages.graph.tables, *([] if loop is None else [loop])])

    def __call__(
        self, t: float | Array, state: Array, h: float, n: int, parameters: Array, threads: int = 1
    ) -> Array:  # fmt: skip
        """Take n steps of h from time t, for one state or a batch; return the state there.

        With several samples, this is repeated, and the states are (..., samples, n). Each state of a batch may have its
        own time (...).
        """
        if not self.compiled:
            return self._as_written(t, state, h, n, parameters)
        numbers = [np.asarray(x, dtype=float)[..., None] for x in (t, h, n)]
        given = [parameters] if parameters.shape[-1] else []
        return run_kernel(self.kernel, *numbers, state, *given, threads=threads)

    def _as_written(self, t: float | Array, state: Array, h: float, n: int, parameters: Array) -> Array:
        batch, p = np.broadcast_shapes(state.shape[:-1], parameters.shape[:-1]), split(parameters)
        with np.errstate(all="ignore"):
            for k in range(n):
                new = self.advance(lambda question: self.rate(question, p), t + k * h, split(state), h, p)
                state = pack(new, batch)
        return state

    def prepared(
        self, t: Array, state: Array, h: Array, n: Array, parameters: Array, threads: int = 1
    ) -> PreparedCall | OneStateCall:
        """Return a function that steps a batch in fixed arrays (count, ...), whose numbers may change.

        The returned function takes the array for the new state, or makes one.  A batch of one goes through the form for
        one state, which does not compute the other lanes of a vector.
        """
        arrays = [t, h, n, state, *([parameters] if parameters.shape[-1] else [])]
        if any(len(a) > 1 or a.dtype != self.kernel.dtype or not a.flags.carray for a in arrays):
            return prepared_call(self.kernel, arrays, threads)
        return self._one_state(arrays)

    def _one_state(self, arrays: Sequence[Array] | None = None) -> OneStateCall:
        try:
            return OneStateCall(self.kernel, arrays)
        except host.CompilationError as problem:
            raise CompileError(str(problem)) from None

    def of_one_state(self) -> OneStateSteps:
        """Return the same for one state at a time, for one thread."""
        return OneStateSteps(self)


class OneStateSteps:
    """Steps of one state at a time, from fixed buffers: microseconds matter to an integrator.

    Parameters
    ----------
    program : StepProgram
    """

    def __init__(self, program: StepProgram) -> None:
        self._call = program._one_state()
        self._t, self._h, self._n, self._state, *self._parameters = self._call.inputs

    def __call__(self, t: float, parts: Sequence[Array], h: float, n: int, parameters: Array, samples: int) -> Array:
        """Take n steps of h from time t, ``samples`` times in a row; return all samples. The state is in parts."""
        self._t[0], self._h[0], self._n[0] = t, h, n
        np.concatenate(parts, out=self._state)
        for own in self._parameters:
            own[:] = parameters
        out = empty((samples, len(self._state)), float)
        self._call.run(out, samples)
        return out


def of_no_graph() -> Traced:
    """A placeholder for the graph of a kernel that is made of several."""
    raise AssertionError("made of stages, not of one graph")


class SearchProgram:
    """Steps from a start until each lane is done; see :mod:`kinetree.engine.kernels.search_kernel`.

    Parameters
    ----------
    name : str
        For messages.
    begin, step : callables
        ``begin(start, parameters)`` and ``step(state, parameters)`` return a state, lists of scalars.
    sizes : sequence of int
        How many numbers the start and each vector of parameters have; empty vectors are left out.
    going : int
        Index in the state of a number that is positive until a lane is done.
    returned : sequence of int
        Indices in the state of the numbers that are returned.
    cpu : str
        The processor to make machine code for; the default one if empty.
    compiled : bool
        Machine code or plain Python.
    """

    def __init__(
        self, name: str, begin: Callable[..., list[Scalar]], step: Callable[..., list[Scalar]], sizes: Sequence[int],
        going: int, returned: Sequence[int], cpu: str = "", compiled: bool = True,
    ) -> None:  # fmt: skip
        self.name, self.begin, self.step, self.compiled = name, begin, step, compiled
        self.going, self.returned, self.some = going, list(returned), [size > 0 for size in sizes[1:]]
        self.is_too_long = False
        if not compiled:
            return
        try:
            search = trace_search(begin, step, [size for size in sizes if size], going, returned, LONGEST_CODE)
        except TooLong:
            self.compiled, self.is_too_long = False, True
            warn_of_reference(name)
            return

        def make(key: str, target: host.Machine) -> SearchKernel:
            names = ("most", "start", "parameters")
            return SearchKernel(
                name, of_no_graph, search.lengths, search.shape, key, names, target=target, search=lambda: search
            )

        self.kernel: SearchKernel = once("search" + search.content(), cpu, make)

    def __call__(self, start: Array, parameters: Sequence[Array], most: int, threads: int = 1) -> Array:
        """Search from one start or a batch, with at most ``most`` steps; return the wanted numbers, (..., n)."""
        given = [x for x, is_there in zip(parameters, self.some, strict=True) if is_there]
        if not self.compiled:
            return self._as_written(start, given, most)
        return run_kernel(self.kernel, np.array([float(most)]), start, *given, threads=threads)

    def _as_written(self, start: Array, parameters: Sequence[Array], most: int) -> Array:
        batch = np.broadcast_shapes(start.shape[:-1], *(x.shape[:-1] for x in parameters))
        p = [number for x in parameters for number in split(x)]
        with np.errstate(all="ignore"):
            state = pack(self.begin(split(start), p), batch)
            for _ in range(most):
                state = pack(self.step(split(state), p), batch)
                if not (state[..., self.going] > 0.0).any():
                    break
        return np.asarray(state[..., self.returned])

    def direct(self, otherwise: Callable[..., Any]) -> Callable[..., Array] | None:
        """Return a built-in function of the number of steps, a start and parameters, for one state; None if impossible.

        Arguments that machine code does not support go to ``otherwise``.
        """
        if not self.compiled or not available():
            return None
        call = DirectCall.make(self.kernel, otherwise, "search")
        if call is None:
            return None
        call.enable_single()
        return call.function


class TangentProgram:
    """A law with its derivative along directions, in machine code.

    Parameters
    ----------
    name : str
        For messages.
    law : callable
        Takes lists of scalars, returns a flat list of scalars.
    lengths : sequence of int
        Length of each list.
    moved : sequence of int
        Which of all these scalars, counted consecutively, move along a direction; the others are constant.
    cpu : str
        The processor to make machine code for; the default one if empty.
    """

    def __init__(self, name: str, law: Law, lengths: Sequence[int], moved: Sequence[int], cpu: str = "") -> None:
        sizes = (*lengths, len(moved))
        traced = along(trace(lambda *vectors: law(*vectors[:-1]), sizes, lambda x: x), moved)
        self.kernel = _kernel(name, traced, cpu)

    def __call__(self, *vectors: Array, direction: Array, threads: int = 1) -> tuple[Array, Array]:
        """Return values and how fast they change, each (..., n); batches broadcast."""
        found = run_kernel(self.kernel, *vectors, direction, threads=threads)
        return found[..., 0, :], found[..., 1, :]


MOST_SLOPES = 30_000
"""Up to this many operations, all derivatives of a law are one sequence; beyond that, each column is computed
separately."""


class SlopeProgram:
    """How a law changes with some of its vectors: all derivatives, or those of weighted sums of its results.

    Parameters
    ----------
    name : str
        For messages.
    law : callable
        Takes lists of scalars by name, returns a flat list of scalars.
    lengths : mapping of str to int
        Length of each vector; those of length zero are left out.
    by : sequence of str
        Vectors with respect to which derivatives are taken, one after the other.
    compiled : bool
        Machine code, or the law as it is written, on dual numbers.
    cpu : str
        The processor to make machine code for; the default one if empty.
    order : {1, 2}
        Order of the derivatives; second derivatives need machine code.
    """

    def __init__(
        self, name: str, law: Law, lengths: Mapping[str, int], by: Sequence[str], compiled: bool, cpu: str = "",
        order: int = 1,
    ) -> None:  # fmt: skip
        if order > 1 and not compiled:
            raise UnsupportedError(f"second derivatives of {name} are there in machine code only, backend='compiled'")
        self.name, self.law, self.compiled, self.cpu, self.order = name, law, compiled, cpu, order
        self.lengths = {key: n for key, n in lengths.items() if n}
        self.empty: dict[str, list[Any]] = {key: [] for key, n in lengths.items() if not n}
        self.by = [key for key in by if key in self.lengths]
        first = dict(zip(self.lengths, np.cumsum([0, *self.lengths.values()]).tolist(), strict=False))
        self.places = [first[key] + k for key in self.by for k in range(self.lengths[key])]

    def _traced(self, more: int = 0) -> Traced:
        """Return the law on nodes, with ``more`` additional inputs that it does not use."""
        return trace(self._in_order, (*self.lengths.values(), *((more,) if more else ())), lambda x: x)

    @cached_property
    def _all(self) -> Kernel | TangentProgram:
        traced = self._traced()
        graph, wrt = traced.graph, [traced.graph.input(k) for k in self.places]
        if self.order == 1 and len(graph) + min(costs(graph, traced.outputs, wrt)) > MOST_SLOPES:
            return TangentProgram(self.name, self._in_order, tuple(self.lengths.values()), self.places, self.cpu)
        slopes, shape = list(traced.outputs), (len(traced.outputs), *[len(wrt)] * self.order)
        for _ in range(self.order):
            slopes = [x for row in jacobian(graph, slopes, wrt) for x in row]
        return _kernel(self.name, Traced(graph, slopes, traced.lengths, shape), self.cpu, tuple(self.lengths))

    def _in_order(self, *vectors: Any) -> list[Any]:
        return self.law(**dict(zip(self.lengths, vectors, strict=False)), **self.empty)

    @cached_property
    def _back(self) -> Kernel:
        count = len(self._traced().outputs)
        traced = self._traced(count)
        graph, last = traced.graph, sum(self.lengths.values())
        weights = [graph.input(last + k) for k in range(count)]
        slopes = reverse(graph, traced.outputs, weights, [graph.input(k) for k in self.places])
        return _kernel(self.name, Traced(graph, slopes, traced.lengths, (len(self.places),)), self.cpu)

    def jacobian(self, vectors: Mapping[str, Array], threads: int = 1) -> Array:
        """Return the derivatives of all results of the law, (..., results, numbers); numbers twice for order 2."""
        if not self.compiled:
            return self._as_written(vectors)
        arrays = [vectors[name] for name in self.lengths]
        if isinstance(self._all, Kernel):
            return run_kernel(self._all, *arrays, threads=threads)
        every = np.eye(len(self.places))
        _, slopes = self._all(*(a[..., None, :] for a in arrays), direction=every, threads=threads)
        return np.swapaxes(slopes, -1, -2)

    def gradient(self, vectors: Mapping[str, Array], weights: Array, threads: int = 1) -> Array:
        """Return the derivatives of weighted sums of the law's results, (..., numbers); weights (..., results)."""
        if not self.compiled:
            return (weights[..., None, :] @ self._as_written(vectors))[..., 0, :]
        return run_kernel(self._back, *(vectors[name] for name in self.lengths), weights, threads=threads)

    def _as_written(self, vectors: Mapping[str, Array]) -> Array:
        """Return the derivatives by dual numbers, whose rates hold all columns."""
        count = len(self.places)
        columns = iter(np.eye(count))
        with np.errstate(all="ignore"):
            given = {name: split(vectors[name][..., None, :]) for name in self.lengths}
            given |= {name: [Dual(x, next(columns)) for x in given[name]] for name in self.by}
            found = self.law(**given, **self.empty)
        batch = np.broadcast_shapes(*(vectors[name].shape[:-1] for name in self.lengths))
        rates = [x.rate if isinstance(x, Dual) else np.zeros(count) for x in found]
        return np.stack([np.broadcast_to(rate, (*batch, count)) for rate in rates], axis=-2)


class TreeProgram:
    """A recursion over a large tree, in loops of machine code.

    Parameters
    ----------
    name : str
        For messages.
    function : callable
        ``function(tree, *vectors)``, written in passes over the tree.
    tree : Model
    layouts : tuple of {"q", "v", "wrench"}
        Layout of each vector: nq numbers, nv numbers, or six numbers per body.
    shape : tuple of int
        Shape of the result.
    threads : int
        Number of threads for batches.
    cpu : str
        The processor to make machine code for; the default one if empty.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], tree: Model, layouts: tuple[str, ...], shape: tuple[int, ...],
        threads: int = 1, cpu: str = "",
    ) -> None:  # fmt: skip
        self.threads = threads
        sizes = {"q": tree.nq, "v": tree.nv, "wrench": 6 * len(tree.bodies)}
        lengths = tuple(sizes[layout] for layout in layouts)
        self.kernel = rolled_kernel(
            f"{name} of {tree.name!r}", lambda: trace(lambda *v: function(tree, *v), lengths, flatten), lengths, shape,
            None, layouts, target=host.target(cpu), schedule=lambda: roll(function, tree, layouts, {}),
        )  # fmt: skip

    def __call__(self, *arrays: Array) -> Array:
        """Evaluate for one state or a batch."""
        return run_kernel(self.kernel, *arrays, threads=self.threads)

"""A robot's algorithms as machine code: traced once, compiled when first used, kept on disk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import mimic
from ..algorithms.algorithm import ALL
from ..algorithms.passes import each, positions, total
from ..algorithms.table import CONFIGURATIONS, FORWARD_METHODS, ROWS_OF_FACTORS, Algorithm, find
from ..engine import cache
from ..engine.differentiate import differentiate
from ..engine.graph import INPUT, TooLong
from ..engine.kernels.composed import (
    BodyColumnsKernel,
    FactorKernel,
    ImplicitEquation,
    QuadraticFormKernel,
    SolutionDerivativeKernel,
    SymmetricKernel,
)
from ..engine.kernels.direct_call import DirectCall, available
from ..engine.kernels.factored import FactoredKernel, SolvedEquation
from ..engine.kernels.follower_kernels import LedKernel, LedSolutionKernel, Spread
from ..engine.kernels.kernel import Kernel
from ..engine.llvm import host
from ..engine.make_once import MAKING, made_once
from ..engine.trace import Traced, trace
from ..errors import CompileError, KinetreeWarning, SingularError, warn
from ..io.progress import in_steps
from ..model.changes.regrouping import regrouped
from ..model.changes.single_joints import expand_in_order
from ..model.joints import Custom
from ..model.parameters import rows
from ..model.tree import Link, Model
from ..spatial import Force, Matrix3, MatrixRotation, Scalar, Transform, Vec3, ldl, ldl_inverse, where
from ..spatial.arrays import flatten, pack, split
from .checks import QUATERNION_TOLERANCE, SINGULARITY_TOLERANCE
from .large_trees import roll, rolled_kernel
from .parameters import GivenParameters, Place, places_of_symbols, put_in
from .wrenches import NOTHING, Attachment, Given, each_body, on_bodies, poses_at

LARGEST_UNROLLED = 110
"""Robots with up to this many bodies become straight-line code; larger ones become loops."""

LONGEST_CODE = 300_000
"""The most nodes of a graph that becomes straight-line code, which takes about twenty seconds to compile."""

MOST_FRAMES = 64
"""The most loops to frames that are kept for a large tree."""

MOST_FORMS = 8
"""The most forms of wrenches for which an algorithm has separate code; others are first converted to forces on all
bodies."""

USUAL_METHOD = FORWARD_METHODS[0]
"""Methods of forward dynamics."""


def warn_of_reference(what: str) -> None:
    """Warn that the reference computes something because machine code would be too long."""
    warn(
        f"{what} would be more than {LONGEST_CODE:,} operations, too many to compile: the slower reference is used "
        "instead. Batches compensate for much of that; with_backend('reference') does the same without this warning",
        KinetreeWarning,
    )


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return a value that changes whenever the algorithms do, so that stale code is never used."""
    root, rooms = Path(__file__).parents[1], ("algorithms", "engine", "model", "evaluation", "spatial")
    return cache.digest(*(cache.digest_of_sources(root / room) for room in rooms))


def is_coupled(tree: Model) -> bool:
    """Return whether branches affect one another, which loops over bodies cannot handle."""
    return tree.has_followers or any(t.stiffness for t in tree.tendons)


class Compiler:
    """Kernels of one model, made on demand.

    single_precision: Compute in float32.
    cpu: The processor to make code for; the default one if empty.
    """

    def __init__(self, tree: Model, single_precision: bool = False, cpu: str = "") -> None:
        self.tree = tree
        self.single_precision = single_precision
        self.cpu = cpu
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._too_long: set[tuple[str, str]] = set()

    @made_once
    def target(self) -> host.Machine:
        """The machine that code is made for."""
        return host.target(self.cpu)

    @made_once
    def _model_key(self) -> str | None:
        if any(isinstance(j.kind, Custom) for j in self.tree.joints):
            return None  # a user's function has no name that could identify a file
        return cache.digest(repr(self.tree), fingerprint())

    def kernel(
        self, name: str, options: Mapping[str, Any] | None = None, attachments: tuple[Attachment, ...] = (), places:
        tuple[Place, ...] = (), derivatives: bool = False,
    ) -> Kernel:  # fmt: skip
        """Return the kernel of an algorithm.

        With ``attachments`` it takes one more vector, the numbers of the wrenches; with ``places`` it takes another
        one, the numbers of the robot's parameters. With ``derivatives`` it returns derivatives with respect to these
        parameters.
        """
        key = _key(name, options, attachments, places, derivatives)
        kernel = self._kernels.get(key)
        if kernel is None:
            with MAKING:
                kernel = self._kernels.get(key) or self._make(
                    find(name), dict(key[1]), attachments, places, derivatives
                )
                if self.rolled and find(name).is_of_a_frame:
                    self._forget_frames()
                self._kernels[key] = kernel
        return kernel

    def has_made(self, name: str, options: Mapping[str, Any] | None = None) -> bool:
        """Return whether there is a kernel of an algorithm, with wrenches or without."""
        return any(key[:2] == _key(name, options, ())[:2] for key in list(self._kernels))

    def _forget_frames(self) -> None:
        """Keep only a few loops to frames: each has a schedule and a work area as long as the path to its frame."""
        framed = [key for key in self._kernels if find(key[0]).is_of_a_frame]
        for key in framed[: 1 - MOST_FRAMES]:
            del self._kernels[key]

    def _make(
        self, algorithm: Algorithm, options: Mapping[str, Any], attachments: tuple[Attachment, ...],
        places: tuple[Place, ...] = (), derivatives: bool = False,
    ) -> Kernel:  # fmt: skip
        lengths = self._lengths(algorithm, attachments, places)
        shape = algorithm.shape(self.tree, options) + ((lengths[-1],) if derivatives else ())
        if self.loops(algorithm.name, options) and not places:
            if attachments not in ((), each_body(self.tree)):
                raise TooLong  # another thread has given up the straight-line code since the loads were gathered
            return self._make_rolled(algorithm, options, lengths, shape, bool(attachments))
        key = None
        if self._model_key is not None:
            given = (repr(attachments), repr(places), repr(derivatives)) if places else (repr(attachments),)
            key = cache.digest(self._model_key, algorithm.name, repr(options), *given)

        # a word that code would be too long is kept, too: finding out takes each process a second
        too_long = None if key is None else cache.digest(key, f"longer than {LONGEST_CODE}")

        def source() -> Traced:
            if too_long is not None and cache.read(too_long) is not None:
                raise TooLong
            try:
                return self.trace(algorithm.name, options, attachments, LONGEST_CODE, places, derivatives, regroup=True)
            except TooLong:
                if too_long is not None:
                    cache.write(too_long, b"")
                raise

        traced = source() if self._looks_up(options) else None
        return Kernel(
            ("derivatives by parameters of " if derivatives else "") + f"{algorithm.name} of {self.tree.name!r}", source
            if traced is None else lambda: traced, lengths, shape, key, algorithm.inputs + (("wrenches",) if attachments
            else ()) + (("parameters",) if places else ()), self.single_precision, target=self.target, tables=() if
            traced is None else traced.graph.tables,
        )  # fmt: skip

    def _looks_up(self, options: Mapping[str, Any]) -> bool:
        """Return whether code may need tables, as exponentials do: for Stribeck friction, or in a user's functions."""
        fades = bool(options.get("friction")) and any(joint.stribeck for joint in self.tree.joints)
        return fades or any(isinstance(joint.kind, Custom) for joint in self.tree.joints)

    def _lengths(
        self, algorithm: Algorithm, attachments: Sequence[Attachment], places: Sequence[Place] = ()
    ) -> tuple[int, ...]:
        """Return how many numbers each argument has."""
        further = (sum(x.size for x in several) for several in (attachments, places) if several)
        return algorithm.lengths(self.tree) + tuple(further)

    @made_once
    def _hinged(self) -> tuple[Model, list[int]]:
        """The tree with Cardan and Euler-angle joints as series of hinges, and the new index of each body."""
        return expand_in_order(self.tree)

    @made_once
    def rolled(self) -> bool:
        """Whether this tree is too large to be unrolled."""
        return len(self.tree.bodies) > LARGEST_UNROLLED

    def loops(self, name: str, options: Mapping[str, Any] | None = None) -> bool:
        """Return whether an algorithm should not become straight-line code."""
        large = self.rolled and not self._coupled and find(name).loops_over(options or {})
        if large and options and find(name).is_of_a_frame:
            large = len(self.tree.support(self.tree.frame(options["frame"]).body)) > LARGEST_UNROLLED
        return large or (name, _method(options)) in self._too_long

    def handles(self, name: str, options: Mapping[str, Any] | None = None) -> bool:
        """Return whether an algorithm has machine code: on large trees, only those that can be rolled."""
        if not self.loops(name, options):
            return True
        large = find(name).large
        if large is None or not find(name).loops_over(options or {}) or any(t.stiffness for t in self.tree.tendons):
            return False
        return large.followers or not self.tree.has_followers

    @made_once
    def _coupled(self) -> bool:
        """Whether branches affect one another, so that straight-line code is shorter."""
        return is_coupled(self.tree)

    @made_once
    def _free(self) -> Compiler:
        """Loops over the same tree with every joint free."""
        return Compiler(self.tree.independent, self.single_precision, self.cpu)

    def _make_rolled(
        self, algorithm: Algorithm, options: Mapping[str, Any], lengths: tuple[int, ...], shape: tuple[int, ...],
        loaded: bool,
    ) -> Kernel:  # fmt: skip
        large = algorithm.large
        assert large is not None
        if large.by == "columns":
            return self._factored(algorithm, lengths, shape) or self._by_columns(algorithm, lengths, shape)
        if large.by == "solving":
            return self._by_solving(algorithm, lengths, shape, loaded)
        if large.by == "frames":
            return self._felt_at_frames(algorithm, options, lengths, shape)
        if large.by == "bodies":
            return self._columns_of_bodies(algorithm, options, lengths, shape)
        if large.by == "factors":
            assert large.of is not None
            both = self._make_rolled(large.of, {}, lengths, (self.tree.nv, self.tree.nv), False)
            return FactorKernel(**self._called(algorithm, lengths, shape), both=both)
        if self.tree.has_followers:
            return self._led(algorithm, options, lengths, shape, loaded)
        layouts = self._layouts(algorithm, loaded)
        return rolled_kernel(
            f"{algorithm.name} of {self.tree.name!r}", lambda: self.trace(algorithm.name, options), lengths, shape,
            None, algorithm.inputs, self.single_precision, target=self.target, schedule=lambda: roll(algorithm.function,
            self.tree, layouts, dict(options)),
        )  # fmt: skip

    def _led(
        self, algorithm: Algorithm, options: Mapping[str, Any], lengths: tuple[int, ...], shape: tuple[int, ...],
        loaded: bool,
    ) -> LedKernel:  # fmt: skip
        """Return a kernel for joints that follow others, made of the loops over a tree of free joints."""
        tree, free = self.tree, self._free
        wide = tuple(x for x in free._lengths(algorithm, each_body(tree) if loaded else ()))
        rates = _spread(tree, "v_slice", lambda link: (link.ratio, 0.0))
        how = {
            "q": _spread(tree, "q_slice", lambda link: (link.ratio, link.offset)), "v": rates,
            "tau": _spread(tree, "v_slice", lambda link: (0.0 if link.follows else 1.0, 0.0)),
        }  # fmt: skip
        names = ["q" if name in CONFIGURATIONS else "tau" if name == "tau" else "v" for name in algorithm.inputs]
        spreads = [how[name] for name in names] + ([None] if loaded else [])
        own = [i for i, link in enumerate(tree.links) if not link.follows]
        common = {
            **self._called(algorithm, lengths, shape), "spreads": spreads, "rates": rates,
            "own": np.concatenate([np.arange(free.tree.nv)[free.tree.links[i].v_slice] for i in own]),
        }  # fmt: skip
        if not algorithm.needs_inertia:
            found = algorithm.shape(free.tree, options)
            inner = free._make_rolled(algorithm, options, wide, found, loaded)
            axes = tuple(k - len(shape) for k, (x, y) in enumerate(zip(found, shape, strict=True)) if x != y)
            return LedKernel(**common, free=inner, axes=axes)
        times = find("inverse_mass_matrix").large
        assert times is not None
        assert times.of is not None
        nv = (free.tree.nv,)
        return LedSolutionKernel(
            **common, free=free._make_rolled(algorithm, options, wide, nv, loaded),
            product=free._make_rolled(times.of, {}, (wide[0], *nv), nv, False), ties=np.array(mimic.ties(tree)),
        )  # fmt: skip

    def _called(self, algorithm: Algorithm, lengths: tuple[int, ...], shape: tuple[int, ...]) -> dict[str, Any]:
        """Return the arguments that a composed kernel shares with its parts."""
        return {
            "name": f"{algorithm.name} of {self.tree.name!r}",
            "source": lambda: self.trace(algorithm.name),
            "lengths": lengths,
            "shape": shape,
            "argument_names": algorithm.inputs,
            "single_precision": self.single_precision,
            "target": self.target,
        }

    def _by_columns(self, algorithm: Algorithm, lengths: tuple[int, ...], shape: tuple[int, ...]) -> SymmetricKernel:
        assert algorithm.large is not None
        assert algorithm.large.of is not None
        product = self._make_rolled(algorithm.large.of, {}, (*lengths, self.tree.nv), shape[:1], False)
        return SymmetricKernel(**self._called(algorithm, lengths, shape), product=product)

    def _layouts(self, algorithm: Algorithm, loaded: bool) -> list[str]:
        """Return how the vectors of a loop are divided among the bodies."""
        return ["q" if name in CONFIGURATIONS else "v" for name in algorithm.inputs] + (["wrench"] if loaded else [])

    def _by_solving(
        self, algorithm: Algorithm, lengths: tuple[int, ...], shape: tuple[int, ...], loaded: bool
    ) -> FactoredKernel | SolutionDerivativeKernel:
        forward, inverse = find("forward_dynamics"), find("inverse_mass_matrix")
        assert algorithm.large is not None
        assert algorithm.large.of is not None
        solution = self._make_rolled(forward, {}, lengths, shape[-1:], loaded)
        slopes = self._make_rolled(algorithm.large.of, {}, lengths, (2, *shape[1:]), loaded)
        if (found := self._factored(algorithm, lengths, shape, SolvedEquation(solution, slopes, 2))) is not None:
            return found
        by_columns = self._by_columns(inverse, lengths[:1], shape[1:])
        assert by_columns.product is not None
        equation = ImplicitEquation(
            solution, slopes, self._part("inverse_mass_matrix") or by_columns, by_columns.product, 2
        )
        return SolutionDerivativeKernel(**self._called(algorithm, lengths, shape), equation=equation)

    def _factored(
        self,
        algorithm: Algorithm,
        lengths: tuple[int, ...],
        shape: tuple[int, ...],
        equation: SolvedEquation | None = None,
    ) -> FactoredKernel | None:
        """Return a kernel that solves with the factors of the mass matrix, which must have no followers."""
        if self.tree.has_followers:
            return None
        factors = self._make_rolled(ROWS_OF_FACTORS, {}, lengths[:1], ROWS_OF_FACTORS.shape(self.tree, {}), False)
        carriers = self.tree.dof_parents
        return FactoredKernel(
            **self._called(algorithm, lengths, shape), factors=factors, carriers=carriers, equation=equation
        )

    def _part(self, name: str, options: Mapping[str, Any] | None = None) -> Kernel | None:
        """Return straight-line code of an algorithm that is part of another; None if it would be too long."""
        if not self.loops(name, options):
            try:
                kernel = self.kernel(name, options)
                _ = kernel.lanes_address
                return kernel
            except TooLong:
                self.give_up(name, options)
        return None

    def _felt_at_frames(
        self, algorithm: Algorithm, options: Mapping[str, Any], lengths: tuple[int, ...], shape: tuple[int, ...]
    ) -> QuadraticFormKernel:
        nv = self.tree.nv
        rows = [{"frame": frame, "axes": options["axes"]} for frame in options["frames"]]
        return QuadraticFormKernel(
            **self._called(algorithm, lengths, shape),
            rows=[self._part("jacobian", one) or self._make(find("jacobian"), one, ()) for one in rows],
            product=self._by_columns(find("inverse_mass_matrix"), lengths, (nv, nv)).product,
            finish=None if options["inverse"] else _inverses,
        )

    def _columns_of_bodies(
        self, algorithm: Algorithm, options: Mapping[str, Any], lengths: tuple[int, ...], shape: tuple[int, ...]
    ) -> BodyColumnsKernel:
        tree, large, places = self.tree, algorithm.large, list[tuple[int, int]]()
        assert large is not None
        assert large.of is not None
        assert large.beside is not None
        beside = partial(large.beside, tree, **dict(options, parameters=ALL))

        def entries(*vectors: Sequence[Scalar]) -> list[Scalar]:
            found = beside(*vectors)
            places[:] = found
            return list(found.values())

        traced = trace(entries, lengths, flatten)
        every = {p.name: k for k, p in enumerate(rows(tree))}
        chosen = options["parameters"]
        return BodyColumnsKernel(
            **self._called(algorithm, lengths, shape),
            bodies=self._make_rolled(large.of, {"length": len(every)}, lengths, (tree.nv, len(every)), False),
            beside=Kernel(
                f"{algorithm.name} of joints of {tree.name!r}", lambda: traced, lengths, (len(places),), None,
                algorithm.inputs, self.single_precision, target=self.target, tables=traced.graph.tables,
            ),
            places=np.array(places, dtype=int).reshape(-1, 2).T,
            chosen=None if chosen == ALL else np.array([every[name] for name in chosen]),
        )  # fmt: skip

    def give_up(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        """Give up straight-line code of an algorithm, which would be too long; warn if nothing else is as fast.

        The algorithm's other methods keep their code, which may be shorter.
        """
        method = _method(options)
        form = (name, method)
        with MAKING:
            if form in self._too_long:
                return
            self._too_long.add(form)
            self._kernels = {key: k for key, k in self._kernels.items() if (key[0], _method(dict(key[1]))) != form}
        if not self.handles(name, options):
            warn_of_reference(f"{name} of {self.tree.name!r}" + ("" if method == USUAL_METHOD else f" by {method!r}"))

    def trace(
        self, name: str, options: Mapping[str, Any] | None = None, attachments: tuple[Attachment, ...] = (), most_nodes:
        float = math.inf, places: tuple[Place, ...] = (), derivatives: bool = False, regroup: bool = False,
    ) -> Traced:  # fmt: skip
        """Return the graph of an algorithm, or of the derivatives of its results with respect to parameters.

        With ``regroup``, parameters are regrouped first if the results are the same: fewer operations, the same numbers
        up to rounding.  Parameters that are given with each call are not changed.
        """
        algorithm = find(name)
        lengths = self._lengths(algorithm, attachments, places)

        def compute(*vectors: Sequence[Scalar]) -> Any:
            own, place = self.tree, list(range(len(self.tree.bodies)))
            tree = own
            if places:
                *vectors, numbers = vectors  # type: ignore[assignment]
                own = tree = put_in(own, places, numbers)
            else:
                if algorithm.hinged:
                    tree, place = self._hinged
                if regroup and algorithm.regroups:
                    tree = regrouped(tree)
            if not algorithm.loads:
                return algorithm.function(tree, *vectors, **(options or {}))
            state = vectors[: len(algorithm.inputs)]
            loads: list[Force | None] = [None] * len(tree.bodies)
            if attachments:
                pose = poses_at(own, state[algorithm.inputs.index("q")])
                for body, force in enumerate(on_bodies(own, attachments, vectors[-1], pose)):
                    loads[place[body]] = force
            return algorithm.function(tree, *state, loads, **(options or {}))

        traced = trace(compute, lengths, flatten, most_nodes)
        return differentiate(traced, last=lengths[-1]) if derivatives else traced

    @made_once
    def guard(self) -> Kernel | None:
        """A small kernel of q that is positive if a quaternion is not of unit length or gimbal lock is near."""
        if not any(j.kind.quaternion or _has_gimbal(j.kind) for j in self.tree.joints if not j.mimic):
            return None
        key = None if self._model_key is None else cache.digest(self._model_key, "guard")
        name, lengths, one = f"the check of configurations of {self.tree.name!r}", (self.tree.nq,), (1,)

        def source() -> Traced:
            return trace(lambda q: _doubts(self.tree, q), lengths, flatten)

        # NaN in other entries must not hide a bad quaternion
        return Kernel(
            name, source, lengths, one, key, ("q",), self.single_precision, spread_nan=False, target=self.target,
            is_guard=True,
        )  # fmt: skip

    def suspects(self, q: np.ndarray) -> bool:
        """Return whether a closer check is needed: quaternions may not have unit length, gimbal lock may be near."""
        return self.guard is not None and bool(np.any(_run(self.guard, q) > 0.0))

    def attach(
        self, entry: DirectCall, name: str, options: Mapping[str, Any] | None, attachments: tuple[Attachment, ...] = (),
        places: tuple[Place, ...] = (),
    ) -> bool:  # fmt: skip
        """Give an entry point the kernel of an algorithm; return False if that is impossible."""
        if not available():
            return False
        if attachments and not self._turns(name, options, attachments):
            return False
        if find(name).is_of_a_frame and self.loops(name, options):
            return False  # only a few loops are kept
        kernel = self.kernel(name, options, attachments, places)
        try:
            with MAKING:
                return entry.attach(kernel, self.guard)
        except host.CompilationError as problem:
            raise CompileError(f"compiling the entry point of {kernel.name} failed: {problem}") from None

    def enable(self, entry: DirectCall, name: str, batch: bool) -> None:
        """Route calls of an entry point to its kernel: those for batches, or those for one state."""
        try:
            if batch:
                entry.enable_batch()
            else:
                entry.enable_single()
        except host.CompilationError as problem:
            raise CompileError(f"compiling the entry point of {name} of {self.tree.name!r} failed: {problem}") from None

    def with_parameters(
        self, name: str, options: Mapping[str, Any] | None, arrays: Sequence[np.ndarray], given: Given,
        parameters: GivenParameters, out: np.ndarray | None = None, threads: int = 1, derivatives: bool = False,
    ) -> np.ndarray:  # fmt: skip
        """Evaluate with other parameters, or differentiate with respect to them; raise :class:`TooLong` if necessary.

        This is straight-line code regardless of the size of the tree, since loops over bodies cannot take other
        parameters.
        """
        assert parameters.numbers is not None
        form = (f"{'derivatives by parameters' if derivatives else 'parameters'} of {name}", _method(options))
        if form in self._too_long:
            raise TooLong
        kernel = self.kernel(name, options, given.attachments, parameters.places, derivatives)
        vectors = [*arrays, *([] if given.numbers is None else [given.numbers]), parameters.numbers]
        try:
            return _run(kernel, *vectors, out=out, threads=threads)
        except TooLong:
            self._too_long.add(form)
            warn_of_reference(f"{name} of {self.tree.name!r} with other parameters")
            raise

    def symbols_needed(self, name: str, options: Mapping[str, Any] | None) -> list[str]:
        """Return the symbols of the model without a value on which an algorithm's results depend."""
        traced = self.trace(name, options, places=places_of_symbols(self.tree))
        graph, first = traced.graph, sum(traced.lengths[:-1])
        read = {int(graph.values[i]) - first for i in graph.reachable(traced.outputs) if graph.kinds[i] == INPUT}
        return [symbol for k, symbol in enumerate(self.tree.symbols) if k in read]

    def __call__(
        self, name: str, options: Mapping[str, Any] | None, arrays: Sequence[np.ndarray], given: Given,
        out: np.ndarray | None, threads: int,
    ) -> np.ndarray:  # fmt: skip
        """Evaluate; raise :class:`TooLong` if the code would be too long and there is no other."""
        attachments, numbers = given.attachments, given.numbers
        if numbers is not None and not self._turns(name, options, attachments):
            attachments, numbers = each_body(self.tree), self._on_all_bodies(given, arrays[0])
        vectors = arrays if numbers is None else [*arrays, numbers]
        try:
            return _run(self.kernel(name, options, attachments), *vectors, out=out, threads=threads)
        except TooLong:
            self.give_up(name, options)
            if not self.handles(name, options):
                raise
            return self(name, options, arrays, given, out, threads)

    def _turns(self, name: str, options: Mapping[str, Any] | None, attachments: tuple[Attachment, ...]) -> bool:
        """Return whether machine code takes wrenches as they are given.

        A loop treats all bodies alike, and wrenches that come and go (such as contacts) would need new code again and
        again.
        """
        if self.loops(name, options):
            return False
        key = _key(name, options, attachments)
        if key in self._kernels or attachments == each_body(self.tree):
            return True
        return sum(bool(k[2]) and k[:2] == key[:2] for k in list(self._kernels)) < MOST_FORMS

    def _on_all_bodies(self, given: Given, q: np.ndarray) -> np.ndarray:
        """Return six numbers for every body, (..., 6 bodies)."""
        assert given.numbers is not None
        if given.attachments == each_body(self.tree):
            return given.numbers
        forces = on_bodies(self.tree, given.attachments, split(given.numbers), self.poses_at(q))
        batch = np.broadcast_shapes(q.shape[:-1], given.numbers.shape[:-1])
        rows = np.zeros((*batch, len(forces), 6))
        for body, force in enumerate(forces):
            if force is not None:
                rows[..., body, :] = pack(force, batch)
        return rows.reshape(*batch, 6 * len(forces))

    def poses_at(self, q: np.ndarray) -> Callable[[str], Transform]:
        """Return poses of frames at a configuration, by machine code if there is any."""
        by_recursion = poses_at(self.tree, split(q))

        def pose(name: str) -> Transform:
            options = {"frame": name}
            if self.handles("pose", options):
                with suppress(TooLong):
                    return _as_transform(self("pose", options, [q], NOTHING, None, 1))
            return by_recursion(name)

        return pose


def _as_transform(pose: np.ndarray) -> Transform:
    """Return homogeneous matrices (..., 4, 4) as a transform over arrays."""
    x, y, z = (Vec3(*split(pose[..., i, :3])) for i in range(3))
    return Transform([MatrixRotation(Matrix3(x, y, z))], Vec3(*split(pose[..., :3, 3])))


def _spread(tree: Model, where: str, numbers: Callable[[Link], tuple[float, float]]) -> Spread:
    """Return how the values of all joints follow from those of independent joints."""
    places = [(k, *numbers(link)) for link in tree.links for k in range(*_ends(getattr(link, where)))]
    index, factor, offset = zip(*places, strict=True)
    return Spread(np.array(index, dtype=int), np.array(factor), np.array(offset))


def _ends(place: slice) -> tuple[int, int]:
    return place.start, place.stop


def _key(
    name: str, options: Mapping[str, Any] | None, attachments: tuple[Attachment, ...],
    places: tuple[Place, ...] = (), derivatives: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the key of a kernel."""
    return name, tuple(sorted((options or {}).items())), attachments, places, derivatives


def _method(options: Mapping[str, Any] | None) -> str:
    """Return the method that an algorithm uses, if it has several."""
    return str((options or {}).get("method", USUAL_METHOD))


def _run(kernel: Kernel, *arrays: np.ndarray, out: np.ndarray | None = None, threads: int = 1) -> np.ndarray:
    """Call a kernel; show that it is being compiled if that takes long."""
    if not kernel.is_ready(any(a.ndim > 1 for a in arrays)):
        return in_steps([(kernel.name, lambda: _run_ready(kernel, arrays, out, threads))], show=True)[0]
    return _run_ready(kernel, arrays, out, threads)


def _run_ready(kernel: Kernel, arrays: Sequence[np.ndarray], out: np.ndarray | None, threads: int) -> np.ndarray:
    try:
        return kernel(*arrays, out=out, threads=threads)
    except host.CompilationError as problem:
        raise CompileError(str(problem)) from None


def _inverses(matrices: np.ndarray) -> np.ndarray:
    """Return the inverses of symmetric matrices, by the same algorithm as straight-line code."""
    rows = [[matrices[..., i, k] for k in range(matrices.shape[-1])] for i in range(matrices.shape[-2])]
    return pack(ldl_inverse(ldl(rows)), matrices.shape[:-2])


def _has_gimbal(kind: Any) -> bool:
    return kind.singularity([0.3] * kind.nq) is not None


def _doubts(tree: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """Return a positive number if a quaternion is not of unit length or gimbal lock is near, else zero."""

    def of_joint(link: Link, q: Sequence[Scalar]) -> Scalar:
        doubt: Scalar = 0.0
        if link.follows:
            return doubt
        if link.kind.quaternion is not None:
            x, y, z, w = q[link.kind.quaternion]
            # |n^2 - 1| = |n - 1| |n + 1|: slightly stricter than the limit; Python decides
            doubt = _if_positive(abs(x * x + y * y + z * z + w * w - 1.0) - 1.9 * QUATERNION_TOLERANCE)
        distance = link.kind.singularity(q)
        return doubt if distance is None else doubt + _if_positive(SINGULARITY_TOLERANCE - distance)

    return [total(tree, each(tree, of_joint, positions(tree, q)), 0.0)]


def _if_positive(x: Scalar) -> Scalar:
    """Return a number if it is positive, else zero; NaN counts as zero, so that it never hides another joint."""
    return where(x > 0.0, x, 0.0)


def prepare(kernel: Kernel, single: bool, batch: bool) -> None:
    """Compile a kernel's forms now."""
    try:
        if single:
            _ = kernel.single_address
        if batch:
            _ = kernel.lanes_address
    except host.CompilationError as problem:
        raise CompileError(str(problem)) from None
    except ZeroDivisionError:
        raise SingularError(
            f"{kernel.name} divides by zero: does every moving body have mass, and can frames move in all directions?"
        ) from None

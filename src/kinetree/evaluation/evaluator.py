"""Evaluation of algorithms by name: with machine code, or with the algorithm as it is written.

A call is checked and computed through Python once.  From then on, calls of that form (the same options, wrenches given
in the same way) go to an entry point of machine code that takes the arrays directly, and passes everything else back to
Python: lists, other types, batches with several axes, a configuration that needs a closer check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..algorithms import joint_friction, singular_joints
from ..algorithms.rounding_of_dynamics import conditioning
from ..algorithms.table import find
from ..engine.graph import TooLong
from ..engine.kernels.direct_call import DirectCall, available
from ..errors import KinetreeError, NoValueError, OptionError, SingularityWarning, warn
from ..io.progress import in_steps
from ..model.tree import Model
from ..spatial import Force
from ..spatial.arrays import Array, batch_shape, pack, split
from .checks import StateChecks, check_out, check_threads
from .compiler import Compiler, prepare
from .parameters import NO_PARAMETERS, SYMBOLS, GivenParameters, ParameterReader, Place, put_in, stand_in
from .processor import supported
from .wrenches import NOTHING, Attachment, Given, Wrenches, gather, on_bodies, poses_at

Key = tuple[Any, ...]
"""An algorithm, values of its options, attachments of wrenches, and the form of the parameters if any are given."""


def _key(
    name: str, options: Mapping[str, Any], attachments: tuple[Attachment, ...],
    parameters: GivenParameters = NO_PARAMETERS,
) -> Key:  # fmt: skip
    """Return the key of an entry point."""
    key = name, tuple(options.values()), attachments
    return (*key, parameters.form) if parameters.places else key


class Evaluator:
    """Computes the algorithms of one model.

    backend: {"compiled", "reference"}
    precision: {"double", "single"}
    cpu: The processor to make machine code for; the default one if empty.
    """

    def __init__(self, model: Model, backend: str = "compiled", precision: str = "double", cpu: str = "") -> None:
        self.model, self.backend, self.precision, self.cpu = model, backend, precision, cpu
        self._entries: dict[Key, tuple[DirectCall, tuple[str, ...]] | None] = {}
        self._methods: dict[str, DirectCall] = {}
        self._singular: dict[frozenset[int], int | None] = {}
        self._chosen_methods: dict[str, str] = {}
        self._solid: set[tuple[int | tuple[Place, ...], frozenset[int]]] = set()
        self.read_parameters = ParameterReader(model)
        self._shapes: dict[Key, tuple[int, ...]] = {}
        self._looked = False

    @cached_property
    def compiler(self) -> Compiler | None:
        """The compiler to machine code; None if the algorithms run as they are written."""
        if self.backend == "reference" or not supported():
            return None
        return Compiler(self.model, self.precision == "single", self.cpu)

    @cached_property
    def states(self) -> StateChecks:
        """Checks of configurations and velocities."""
        compiler = self.compiler
        return StateChecks(self.model, None if compiler is None else lambda q: not compiler.suspects(q))

    # ---------------------------------------------------------------- computing

    def run(
        self, name: str, options: Mapping[str, Any] | None = None, *, wrenches: Wrenches = None, parameters: Any = None,
        out: Array | None = None, threads: int = 1, **state: Any,
    ) -> Array:  # fmt: skip
        """Evaluate an algorithm; from the second call of the same form on, directly by machine code.

        name: Name of the algorithm.
        options: All of its options.
        wrenches, parameters, out, threads: See the methods of :class:`kinetree.Robot`.
        **state: Its inputs by name.
        """
        given = gather(self.model, wrenches)
        options = dict(options or {})
        own = NO_PARAMETERS if parameters is None else self.read_parameters(parameters)
        found = self._entries.get(_key(name, options, given.attachments, own))
        if found is None or (own.places and not own.form):
            return self.run_checked(name, options, given, out, threads, state, own)
        entry, inputs = found
        vectors = [state[x] for x in inputs]
        if given.attachments:
            vectors.append(given.numbers)
        if own.form:
            vectors.append(own.numbers)
        if out is None and type(threads) is int and threads == 1:
            return np.asarray(entry.function(*vectors))
        return np.asarray(entry.function(*vectors, threads=threads, **({} if out is None else {"out": out})))

    def run_checked(
        self, name: str, options: dict[str, Any], given: Given, out: Array | None, threads: int, state: Mapping[str,
        Any], parameters: GivenParameters = NO_PARAMETERS,
    ) -> Array:  # fmt: skip
        """Check the arguments of an algorithm, evaluate it, and put the batch in front."""
        algorithm = find(name)
        check_threads(threads)
        arrays = {key: self.states.vector(key, state[key], algorithm.of_places) for key in algorithm.inputs}
        shapes = {key: (array, 1) for key, array in arrays.items()}
        if given.numbers is not None:
            shapes["wrenches"] = (given.numbers, 1)
        if parameters.numbers is not None:
            shapes["parameters"] = (parameters.numbers, 1)
        try:
            with np.errstate(all="ignore"):
                batch = batch_shape(**shapes)
                if out is not None:
                    check_out(out, (*batch, *self._shape(name, options)))
                real = not any(np.iscomplexobj(a) for a, _ in shapes.values())
                vectors = list(arrays.values())
                compiler = self.compiler if real else None
                if parameters.places and compiler is not None:
                    with suppress(TooLong):
                        result = compiler.with_parameters(name, options, vectors, given, parameters, out, threads)
                        if parameters.form:
                            self._go_direct(name, options, given.attachments, bool(batch), parameters)
                        return result
                elif not parameters.places and compiler is not None and compiler.handles(name, options):
                    with suppress(TooLong):
                        result = compiler(name, options, vectors, given, out, threads)
                        self._go_direct(name, options, given.attachments, bool(batch))
                        return result
                scalars: list[Any] = [split(array) for array in vectors]
                tree = self._with(parameters)
                if algorithm.loads:
                    scalars.append(self.loads(given, arrays["q"], tree))
                # the number of axes of empty lists is unknown
                shape = (*batch, *self._shape(name, options))
                result = pack(algorithm.function(tree, *scalars, **options), batch).reshape(shape)
        except NoValueError as problem:
            raise NoValueError(self._all_without_value(name, options, parameters) or problem.symbols) from None
        if out is None:
            return result.astype(np.float32) if real and self.precision == "single" else result
        out[...] = result
        return out

    def _shape(self, name: str, options: dict[str, Any]) -> tuple[int, ...]:
        """Return the shape of an algorithm's result; remembered, since that of a regressor counts all parameters."""
        key = _key(name, options, ())
        if key not in self._shapes:
            self._shapes[key] = find(name).shape(self.model, options)
        return self._shapes[key]

    def _all_without_value(self, name: str, options: dict[str, Any], parameters: GivenParameters) -> list[str]:
        """Return all symbols for which an algorithm needs numbers, not only the first of them."""
        known = {place.key for place in parameters.places if place.table == SYMBOLS}
        try:
            return [s for s in Compiler(self.model).symbols_needed(name, options) if s not in known]
        except (KinetreeError, ZeroDivisionError):
            return []  # the algorithm needs numbers: the error names the first symbol

    def loads(self, given: Given, q: Array, tree: Model | None = None) -> list[Force | None]:
        """Return one force per body in body axes, at a configuration that has been checked."""
        if given.numbers is None:
            return [None] * len(self.model.bodies)
        tree = tree or self.model
        compiler = self.compiler if tree is self.model and not np.iscomplexobj(q) else None
        pose = poses_at(tree, split(q)) if compiler is None else compiler.poses_at(q)
        return on_bodies(tree, given.attachments, split(given.numbers), pose)

    # ---------------------------------------------------------------- parameters as inputs

    def derivatives_by_parameters(
        self, name: str, options: dict[str, Any], wrenches: Wrenches, parameters: Any, threads: int, **state: Any
    ) -> Array:
        """Return the derivatives of an algorithm's result with respect to parameters, (..., *shape, numbers)."""
        own, given = self.read_parameters(parameters), gather(self.model, wrenches)
        if not own.places:
            raise OptionError("no parameter to differentiate by is given")
        algorithm = find(name)
        check_threads(threads)
        assert own.numbers is not None
        vectors = [self.states.vector(key, state[key], algorithm.of_places) for key in algorithm.inputs]
        shapes = {key: (array, 1) for key, array in zip(algorithm.inputs, vectors, strict=True)}
        shapes["parameters"] = (own.numbers, 1)
        if given.numbers is not None:
            shapes["wrenches"] = (given.numbers, 1)
        batch = batch_shape(**shapes)
        with np.errstate(all="ignore"):
            if self.compiler is not None:
                with suppress(TooLong):
                    return self.compiler.with_parameters(
                        name, options, vectors, given, own, None, threads, derivatives=True
                    )
            return self._by_complex_steps(name, options, given, own, state, batch)

    def friction_force(self, v: Array, parameters: Any) -> Array:
        """Return joint forces lost to friction at checked velocities, with other parameters."""
        given = self.read_parameters(parameters)
        with np.errstate(all="ignore"):
            rates = split(v)
            lost = joint_friction.spent(self._with(given), rates)
            found = [force + 0.0 * rate for force, rate in zip(lost, rates, strict=True)]  # NaN stays NaN
            return np.stack(np.broadcast_arrays(*found), axis=-1) if found else np.array(v)

    def _by_complex_steps(
        self, name: str, options: dict[str, Any], given: Given, parameters: GivenParameters, state: Mapping[str, Any],
        batch: tuple[int, ...],
    ) -> Array:  # fmt: skip
        """Return derivatives by a complex step in each parameter, exact to rounding, without machine code."""
        assert parameters.numbers is not None
        count, step = parameters.numbers.shape[-1], 1e-30
        result = np.empty((*batch, *find(name).shape(self.model, options), count))
        for k in range(count):
            moved = parameters.numbers.astype(complex)
            moved[..., k] += 1j * step
            own = GivenParameters(parameters.places, moved)
            result[..., k] = self.run_checked(name, options, given, None, 1, state, own).imag / step
        return result

    def _with(self, parameters: GivenParameters) -> Model:
        """Return the model with arrays in place of its own numbers."""
        if parameters.numbers is None:
            return self.model
        return put_in(self.model, parameters.places, split(parameters.numbers))

    # ---------------------------------------------------------------- directly to machine code

    def plain_method(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method as a built-in function that calls machine code directly as soon as it exists.

        name: Name of the method and of the algorithm that it runs when it is called with vectors only.
        method: The method in Python, bound to its robot: for the first call, and for calls with options.
        """
        known = self._methods.get(name)
        if known is not None:
            return known.function
        # values that machine code refuses are checked in Python without the method itself, whose first call has already
        # shown that the algorithm applies to this robot
        inputs, options = find(name).inputs, find(name).defaults
        entry = DirectCall(method, name, refused=self._through_python(name, options, ()))
        key = _key(name, options, ())
        if self._entries.get(key) is not None and self._attach(entry, name, options, ()):
            self._entries[key] = entry, inputs
        return self._methods.setdefault(name, entry).function

    @cached_property
    def has_entries(self) -> bool:
        """Whether there may be entry points of machine code."""
        return self.backend == "compiled" and available()

    @property
    def entry_points(self) -> list[Key]:
        """Forms of calls that go directly to machine code."""
        return [key for key, found in self._entries.items() if found is not None]

    def entry_point(self, name: str, options: Mapping[str, Any]) -> Callable[..., Array] | None:
        """Return an algorithm as a function of its inputs that goes directly to machine code; None before a first call.

        Arguments that machine code does not support are passed to Python and checked there.
        """
        found = self._entries.get(_key(name, options, ()))
        return None if found is None else found[0].function

    def _go_direct(
        self, name: str, options: dict[str, Any], attachments: tuple[Attachment, ...], batch: bool,
        parameters: GivenParameters = NO_PARAMETERS,
    ) -> None:  # fmt: skip
        """After a first call through Python, let calls of this form go directly to machine code."""
        algorithm = find(name)
        if not algorithm.direct or not self.has_entries:
            return
        key, places = _key(name, options, attachments, parameters), parameters.places
        plain = not attachments and not places and options == algorithm.defaults
        entry = self._methods.get(name) if plain else None
        entries = self._entries
        if key not in entries or (entries[key] is not None and entry is not None and not entry.attached):
            entry = entry or DirectCall(self._through_python(name, options, attachments, parameters), name)
            fits = self._attach(entry, name, options, attachments, places)
            entries[key] = (entry, algorithm.inputs) if fits else None
        found = entries[key]
        if found is not None and self.compiler is not None:
            self.compiler.enable(found[0], name, batch)

    def _attach(
        self, entry: DirectCall, name: str, options: dict[str, Any], attachments: tuple[Attachment, ...],
        places: tuple[Place, ...] = (),
    ) -> bool:  # fmt: skip
        """Give an entry point the machine code of its form; return whether there is any that it can call."""
        return self.compiler is not None and self.compiler.attach(entry, name, options, attachments, places)

    def _through_python(
        self, name: str, options: dict[str, Any], attachments: tuple[Attachment, ...],
        parameters: GivenParameters = NO_PARAMETERS,
    ) -> Callable[..., Array]:  # fmt: skip
        """Return an algorithm as a function of its plain arguments, followed by numbers of wrenches and parameters."""
        inputs, places, form = find(name).inputs, parameters.places, parameters.form
        further = [what for what, is_there in (("wrenches", attachments), ("parameters", places)) if is_there]

        def compute(*vectors: Any, out: Array | None = None, threads: int = 1) -> Array:
            state = dict(zip((*inputs, *further), vectors, strict=True))
            given = Given(attachments, state.pop("wrenches")) if attachments else NOTHING
            own = GivenParameters(places, state.pop("parameters"), form) if places else NO_PARAMETERS
            return self.run_checked(name, options, given, out, threads, state, own)

        return compute

    # ---------------------------------------------------------------- ahead of time

    def compile(self, wanted: Sequence[tuple[str, dict[str, Any]]], single: bool, batch: bool, progress: bool) -> None:
        """Compile algorithms, each with all its options, ahead of the first call."""
        compiler = self.compiler
        if compiler is None:
            return
        steps = []
        for name, options in wanted:
            if compiler.handles(name, options):
                kernel = compiler.kernel(name, options)
                steps += [(f"{kernel.name}, one state", partial(self._prepare, name, options, False))] if single else []
                steps += [(f"{kernel.name}, batches", partial(self._prepare, name, options, True))] if batch else []
        in_steps(steps, progress)

    def is_made(self, name: str, options: Mapping[str, Any]) -> bool:
        """Return whether an algorithm runs without machine code having to be made first."""
        return self.compiler is None or self.compiler.has_made(name, options)

    def _prepare(self, name: str, options: dict[str, Any], batch: bool) -> None:
        """Compile one form of an algorithm, and let calls of that form go directly to it."""
        assert self.compiler is not None
        if not self.compiler.handles(name, options):
            return  # the code turned out to be too long
        try:
            prepare(self.compiler.kernel(name, options), not batch, batch)
        except TooLong:
            self.compiler.give_up(name, options)
            self._prepare(name, options, batch)
            return
        self._go_direct(name, options, (), batch)

    # ---------------------------------------------------------------- whether an algorithm applies

    def check_pivots(self, held: Collection[int] = (), parameters: Any = None) -> None:
        """Refuse forward dynamics where a joint that is not ``held`` moves nothing that has inertia.

        Inertias that are given among the parameters count as nonzero.
        """
        if parameters is None:
            singular_joints.refuse(self.model, self.singular_joint(held))
            if not held:
                self.warn_of_rounding()
        else:
            own, kept = self.read_parameters(parameters), frozenset(held)
            key = own.form or own.places, kept
            if key not in self._solid:
                singular_joints.check(stand_in(self.model, own.places), held)
                self._solid.add(key)

    def warn_of_rounding(self) -> None:
        """Warn, once, about a robot whose accelerations suffer from rounding."""
        if not self._looked:
            self._looked = True
            found = conditioning(self.model)
            if found is not None:
                joint = self.model.joints[found.joint].name
                warn(
                    f"robot {self.model.name!r}: light bodies carry heavy ones, so rounding alone can spoil "
                    f"accelerations, near joint {joint!r} first: the mass matrix, with rows scaled to one size, has a "
                    f"condition number of {found.number:.2g}, where 1e16 leaves no digit. Give the light bodies their "
                    "real mass, or their joints rotor inertia (armature)",
                    SingularityWarning,
                )

    def singular_joint(self, held: Collection[int] = ()) -> int | None:
        """Return the first joint that moves nothing with inertia; the result is remembered."""
        key = frozenset(held)
        if key not in self._singular:
            self._singular[key] = singular_joints.singular_joint(self.model, key)
        return self._singular[key]

    def forward_method(self, method: str) -> str:
        """Return a method of forward dynamics that works for this robot; the result is remembered."""
        if method not in self._chosen_methods:
            self._chosen_methods[method] = singular_joints.possible_method(self.model, method)
        return self._chosen_methods[method]

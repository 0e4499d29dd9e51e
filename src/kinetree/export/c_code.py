"""A robot's algorithms as standalone C: one source file, one header, one small test program."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

import numpy as np

from ..algorithms import constrained_dynamics
from ..algorithms.table import CONFIGURATIONS, Algorithm, find
from ..engine import c_source
from ..engine.count import Count, count
from ..engine.fuse import fuse
from ..engine.interpret import evaluate
from ..engine.trace import Traced, trace
from ..errors import (
    KinetreeWarning,
    Message,
    OptionError,
    OutputError,
    Setting,
    SingularError,
    UnsupportedError,
    explain_public,
    refuse_unknown,
    warn,
)
from ..evaluation.algorithm_options import Request, requests
from ..evaluation.compiler import Compiler
from ..evaluation.parameters import SYMBOLS, places_of_symbols
from ..evaluation.wrenches import each_body
from ..io.atomic_files import all_beside
from ..io.paths import as_path
from ..model import configurations
from ..model.changes.values import generic, generic_values, valued
from ..model.tree import Model
from ..spatial import Force
from ..spatial.arrays import pack, split
from ..version import VERSION
from .c_law import CLaw
from .model_of import Modeled, model_of
from .result_names import entries, parts

MOST_STATES = 10_000
"""The most random states in a test program, since each is written out as text."""

__all__ = ["PRECISIONS", "Exported", "codegen"]


PRECISIONS = ("double", "single")

TOLERANCE = {"double": 1e-12, "single": 1e-5}
"""Tolerance of the test program, relative to the largest number of each result, if rounding allows it."""

WORTHLESS = 1e-2
"""Rounding errors above this fraction of the largest number of a result cause a warning."""


def trace_algorithm(
    model: Model, name: str, options: Mapping[str, Any], wrenches: bool = False, regroup: bool = False
) -> Traced:
    """Return the graph of an algorithm; with ``wrenches``, six more inputs per body: its moment and force.

    ``regroup`` allows regrouped parameters if that does not change the results. Symbols of the model without a value
    become the last input.
    """
    loaded = each_body(model) if wrenches and find(name).loads else ()
    try:
        return Compiler(model).trace(name, options, loaded, regroup=regroup, places=places_of_symbols(model))
    except ZeroDivisionError:
        raise _singular(model, name) from None


def _singular(model: Model, name: str) -> SingularError:
    hint = "do all moving bodies have mass?"
    if "frames" in find(name).option_names:
        hint = "its frames cannot move freely in all directions; use inverse=True, or fewer frames"
    return SingularError(f"{name} of robot {model.name!r} divides by zero: {hint}")


@dataclass(frozen=True)
class Exported:
    """The result of :func:`codegen`.

    Attributes
    ----------
    source, header, test : Path
    functions : dict of str to Count
        The C functions and the cost of each call.
    """

    source: Path
    header: Path
    test: Path
    functions: dict[str, Count]

    @property
    def files(self) -> tuple[Path, Path, Path]:
        """Source, header and test program."""
        return self.source, self.header, self.test


def codegen(
    robot: Modeled | Model, directory: str | os.PathLike[str] = ".", algorithms: Iterable[Request] | Request =
    ("inverse_dynamics", "forward_dynamics"), *, prefix: str | None = None, precision: str = "double", own_math: bool =
    False, fma: bool = False, wrenches: bool = False, reentrant: bool = False, states: int = 4,
    controllers: Mapping[str, Any] | None = None,
) -> Exported:  # fmt: skip
    """Write algorithms and controllers as C99 that allocates nothing: ``prefix.c``, ``prefix.h`` and ``prefix_test.c``.

    Parameters
    ----------
    robot : Robot, or its model
        Symbols without a value become an argument: functions take their numbers.
    directory : path-like
        Created if it does not exist. Files of the same names are replaced, each completely or not at all.
    algorithms : sequence
        Names, or pairs of a name and options: ``["mass_matrix", ("jacobian", {"frame": "tool"})]``.
    prefix : str
        Prefix of all names; by default the robot's name in lower case.
    precision : {"double", "single"}
        The type of all numbers: ``double`` or ``float``.
    own_math : bool
        Whether to include sine, cosine and square root, so that not even math.h is needed.
    fma : bool
        Whether to use C99's ``fma`` wherever a product is added; worth it only if the processor has it.
    wrenches : bool
        Whether dynamics takes external forces: one more argument, moment and force of every body
        in its own axes at its own origin.
    reentrant : bool
        Whether to keep temporaries on the stack instead of in static memory, so that a function may run
        twice at the same time.
    states : int
        Random states in the test program, with results computed by the reference.
    controllers : mapping from name to controller, optional
        Laws of :mod:`kinetree.control`; each becomes a function that takes the desired motion as arguments and its
        gains in a struct.

    Returns
    -------
    Exported

    Raises
    ------
    UnknownNameError, OptionError
        If an algorithm, one of its options or the prefix is not valid.
    OutputError
        If the files cannot be written.
    """
    model = model_of(robot)
    refuse_unknown("precision", precision, PRECISIONS)
    if fma and own_math:
        does_without = Setting("own_math", True)
        raise OptionError(Message("fma comes from math.h, which ", does_without, " does without; choose one of them"))
    if not 1 <= states <= MOST_STATES:
        raise OptionError(f"the test program needs at least one state, and at most {MOST_STATES}, not {states}")
    name = c_source.identifier(model.name.lower(), "robot") if prefix is None else prefix
    if not isinstance(name, str) or not c_source.is_identifier(name):
        raise OptionError(
            f"prefix {name!r} is not a valid name in C: use letters, digits and underscores, begin with a letter, "
            "and avoid C keywords"
        )
    dialect = c_source.Dialect(name, precision == "single", own_math)
    asked = [] if controllers and not algorithms else requests(generic(model), algorithms)
    exports = [_Export(model, dialect, *request, wrenches, fma, states) for request in asked]
    for law in (controllers or {}).values():
        if not hasattr(law, "for_c"):
            raise OptionError(f"controllers are those of kinetree.control, by name, not {type(law).__name__}")
    laws = [_LawExport(model, dialect, own, law.for_c(robot), fma, states) for own, law in (controllers or {}).items()]
    taken = function_names(asked, name)
    taken += [_fresh(f"{name}_{c_source.identifier(e.name, 'law')}", taken) for e in laws]
    exports += laws
    for export, own in zip(exports, taken, strict=True):
        export.c_name = own
    texts = {
        f"{name}.c": _source(model, dialect, exports, reentrant),
        f"{name}.h": _header(model, dialect, exports, reentrant),
        f"{name}_test.c": _test_program(dialect, exports),
    }
    folder = as_path(directory, "the folder of C files")
    _write_all(folder, texts)
    source, header, test = (folder / file for file in texts)
    return Exported(source, header, test, {e.c_name: e.cost for e in exports})


# ------------------------------------------------------------------ one algorithm


class _Export:
    """One algorithm to be written in C: its graph, its test states and their results."""

    c_name = ""
    temporaries = 0
    gains: Mapping[str, np.ndarray] = MappingProxyType({})

    def __init__(
        self, model: Model, dialect: c_source.Dialect, name: str, options: dict[str, Any], wrenches: bool, fma: bool,
        states: int,
    ) -> None:  # fmt: skip
        self.name, self.options = name, options
        algorithm = find(name)
        loaded = wrenches and algorithm.loads
        self.traced = trace_algorithm(model, name, options, loaded, regroup=True)
        self.cost = count(self.traced.graph, self.traced.outputs)
        names = algorithm.inputs + (("wrenches",) if loaded else ()) + ((SYMBOLS,) if model.symbols else ())
        self.arguments = tuple(zip(names, self.traced.lengths, strict=True))
        self.shape = algorithm.shape(model, options)
        least = (
            constrained_dynamics.LEAST_QUALITY_SINGLE
            if dialect.single_precision
            else constrained_dynamics.LEAST_QUALITY
        )
        self.entries = entries(model, algorithm, options, least)
        self.parts = parts(model, algorithm, options)
        self.states = [_random_state(model, self.arguments, k, dialect.single_precision) for k in range(states)]
        self.expected = [_reference(model, algorithm, state, options, loaded) for state in self.states]
        self._settle(model, dialect, fma)

    def _settle(self, model: Model, dialect: c_source.Dialect, fma: bool) -> None:
        self.tolerance = self._tolerance(model, dialect.single_precision)
        self.graph, self.outputs = self.traced.graph, self.traced.outputs
        if fma:
            self.graph, self.outputs = fuse(self.graph, self.outputs)

    def said(self) -> list[str]:
        """Return a description of the function with its options and notes."""
        algorithm = find(self.name)
        shown = [o.name for o in algorithm.options if not o.chosen_by_loops]  # other options show in the entries
        chosen = ", ".join(f"{c_source.comment(name)} = {c_source.comment(str(self.options[name]))}" for name in shown)
        notes = [self.summary + (f" ({chosen})" if chosen else "")]
        if algorithm.needs_floating_base:
            notes.append(
                "The first six entries of a are not read; the result is the base's acceleration, then joint forces."
            )
        if self.parts:
            notes.append("It holds M a + h = tau + K^T lambda and K a + dK/dt v = 0; what is given must be closed.")
        return notes

    @property
    def summary(self) -> str:
        """What the function computes."""
        return find(self.name).summary or self.name

    @property
    def function(self) -> c_source.CFunction:
        """The function for the engine's writer."""
        results = find(self.name).results
        return c_source.CFunction(
            self.c_name, self.graph, self.outputs, self.arguments, results[0] if len(results) == 1 else "result"
        )

    def _tolerance(self, model: Model, single_precision: bool) -> float:
        """Return the tolerance of the test program; rounding errors are measured in extended arithmetic."""
        narrow, wide = (np.float32, np.float64) if single_precision else (np.float64, np.longdouble)
        g, o = self.traced.graph, self.traced.outputs
        errors = [0.0]
        for state, expected in zip(self.states, self.expected, strict=True):
            flat = np.concatenate(state).tolist()
            off = np.abs(evaluate(g, o, flat, narrow).astype(wide) - evaluate(g, o, flat, wide))
            errors.append(float(np.max(off, initial=0.0)) / _size(expected))
        worst = float(np.max(errors))
        if not np.isfinite(worst):
            raise UnsupportedError(
                f"{self.name} of robot {model.name!r} overflows; use double precision and usual units"
            )
        if worst > WORTHLESS:
            warn(
                f"{self.name} of robot {model.name!r} is ill-conditioned: rounding errors reach {worst:.1g} of "
                f"the largest number of a result; {'use double precision' if single_precision else 'do not trust it'}",
                KinetreeWarning,
            )
        return max(TOLERANCE["single" if single_precision else "double"], 16.0 * worst)


class _LawExport(_Export):
    """A control law to be written in C."""

    def __init__(self, model: Model, dialect: c_source.Dialect, name: str, law: CLaw, fma: bool, states: int) -> None:
        self.name, self.options, self.law, self.gains = name, {}, law, law.gains
        own = tuple((f"gains->{key}", len(x)) for key, x in law.gains.items())
        self.arguments, function = own + law.arguments, law.function
        self.traced = trace(function, [n for _, n in self.arguments], lambda x: x)
        time = self.traced.graph.input(sum(self.traced.lengths) - 1)
        if timeless := time not in self.traced.graph.reachable(self.traced.outputs):  # an unused argument
            self.arguments, function = self.arguments[:-1], lambda *x: law.function(*x, [0.0])
            self.traced = trace(function, [n for _, n in self.arguments], lambda x: x)
        self.cost = count(self.traced.graph, self.traced.outputs)
        self.shape, self.entries, self.parts = self.traced.shape, [], dict(law.parts)
        self.states, self.expected = [], []
        for k in range(states):
            rng = np.random.default_rng([k, 21])
            drawn = [x * rng.uniform(0.5, 1.5, len(x)) for x in law.gains.values()] + law.sample(rng)
            drawn = drawn[:-1] if timeless else drawn
            if dialect.single_precision:
                drawn = [x.astype(np.float32).astype(float) for x in drawn]
            self.states.append(drawn)
            self.expected.append(np.array(function(*(x.tolist() for x in drawn)), dtype=float))
        self._settle(model, dialect, fma)

    @property
    def function(self) -> c_source.CFunction:
        """The function for the engine's writer."""
        return c_source.CFunction(self.c_name, self.graph, self.outputs, self.arguments, "tau")

    def said(self) -> list[str]:
        """Return a description of the law, with notes."""
        return list(self.law.summary)


def _size(values: np.ndarray) -> float:
    """Return the largest magnitude of a result, to which errors are relative."""
    return float(np.max(np.abs(values), initial=0.0)) or 1.0


def _random_state(
    model: Model, arguments: Sequence[tuple[str, int]], seed: int, single_precision: bool
) -> list[np.ndarray]:
    """Return configurations away from gimbal lock, and random numbers of moderate size for everything else."""
    rng = np.random.default_rng([seed, 20])

    def drawn(name: str, length: int) -> np.ndarray:
        if name == SYMBOLS:
            return np.array(list(generic_values(model, seed).values()))
        return _random_configuration(model, rng) if name in CONFIGURATIONS else rng.uniform(-2.0, 2.0, length)

    state = [drawn(name, length) for name, length in arguments]
    return [x.astype(np.float32).astype(float) if single_precision else x for x in state]


def _random_configuration(model: Model, rng: np.random.Generator) -> np.ndarray:
    for _ in range(200):
        q = configurations.random(model, rng)
        distances = [j.kind.singularity(list(q[j.q_slice])) for j in model.joints if not j.mimic]
        if all(d is None or d > 0.2 for d in distances):
            break
    return q


def _reference(
    model: Model, algorithm: Algorithm, state: Sequence[np.ndarray], options: Mapping[str, Any], loaded: bool
) -> np.ndarray:
    """Run the algorithm itself on the numbers."""
    if model.symbols:
        *state, values = state
        model = valued(model, dict(zip(model.symbols, values.tolist(), strict=True)))
    scalars: list[Any] = [split(x) for x in state]
    if algorithm.loads:
        six = scalars.pop() if loaded else []
        forces = [Force.of(six[k : k + 6]) for k in range(0, len(six), 6)]
        scalars.append(forces or [None] * len(model.bodies))
    try:
        with np.errstate(all="ignore"):
            result = pack(algorithm.function(model, *scalars, **options), ()).ravel()
    except ZeroDivisionError:
        raise _singular(model, algorithm.name) from None
    if not np.all(np.isfinite(result)):
        raise _singular(model, algorithm.name)
    return result


def function_names(asked: Iterable[tuple[str, Mapping[str, Any]]], prefix: str = "") -> list[str]:
    """Return a unique name for each algorithm: prefix, algorithm, and the options that are not the default."""
    taken: list[str] = []
    for name, options in asked:
        parts = [prefix, name] if prefix else [name]
        for option in find(name).options:
            value = options[option.name]
            if not option.chosen_by_loops and (option.needed or value != option.default):
                parts.append(_word(option.name, value))
        taken.append(_fresh("_".join(parts), taken))
    return taken


def _word(option: str, value: Any) -> str:
    """Return an option's value as part of a name."""
    if value is True:
        return option
    if isinstance(value, tuple) and all(isinstance(v, bool) for v in value):  # the joints with given motions
        return "".join("m" if motion else "f" for motion in value)
    texts = [str(v) for v in value] if isinstance(value, (tuple, list)) else [str(value)]
    return "_".join(c_source.identifier(text, "frame") for text in texts)


def _fresh(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    if name not in taken:
        return name
    return next(f"{name}_{k}" for k in range(2, len(taken) + 3) if f"{name}_{k}" not in taken)


# ------------------------------------------------------------------ the three files


def _banner(model: Model) -> str:
    return f"{c_source.comment(model.name)}, written by kinetree {VERSION}."


def _source(model: Model, dialect: c_source.Dialect, exports: Sequence[_Export], reentrant: bool) -> str:
    functions, needs = [], set()
    for e in exports:
        try:
            text, more, e.temporaries = c_source.write_function(dialect, e.function)
        except c_source.ConstantError as problem:
            raise UnsupportedError(f"{e.name} of robot {model.name!r}: {problem}; use double precision") from None
        needs |= more
        functions.append(text)
    own = c_source.own_mathematics(dialect, needs)
    calls_math = not dialect.own_math and any(f"{f}(" in text for text in functions for f in _math_names(dialect))
    place = "" if reentrant else " static"
    parts = [
        f"/* {_banner(model)} See {dialect.prefix}.h. */\n",
        f'#include "{dialect.prefix}.h"\n' + ("\n#include <math.h>\n" if calls_math else ""),
        "/* Where temporaries live. Static memory keeps the stack small, but then a function must not be entered\n"
        "   again before it has returned (from an interrupt, from another thread). Compile with\n"
        f"   -D{dialect.temporary}= to put them on the stack instead, with -D{dialect.temporary}=static to take them\n"
        "   off it. */\n"
        f"#ifndef {dialect.temporary}\n#define {dialect.temporary}{place}\n#endif\n",
        *([own] if own else []),
        *functions,
    ]
    return "\n".join(parts)


def _math_names(dialect: c_source.Dialect) -> list[str]:
    return [dialect.function(f) for f in ("sin", "cos", "sqrt", "fabs", "atan2", "fma")]


def _header(model: Model, dialect: c_source.Dialect, exports: Sequence[_Export], reentrant: bool) -> str:
    upper = dialect.prefix.upper()
    sizes = [("NQ", model.nq, "position coordinates"), ("NV", model.nv, "degrees of freedom")]
    sizes.append(("BODIES", len(model.bodies), "moving bodies"))
    lines = [
        f"/* {_banner(model)}",
        "",
        "   SI units and radians. Moments before forces, angular velocities before linear ones; quaternions are",
        "   x, y, z, w and must be of unit length, which is not checked. Matrices are stored row by row. A result",
        "   must not overlap with an argument. Nothing is allocated and nothing is remembered from call to call.",
        "",
        *_layout(model),
        "*/",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(f"#define {upper}_{name} {value} /* {meaning} */" for name, value, meaning in sizes),
        "",
        "/* Where the coordinates of a joint begin, in q and in v. */",
        *_joint_defines(model, upper),
        "",
        *_symbol_defines(model, upper),
    ]
    for e in exports:
        lines += _declaration(dialect, e, reentrant)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _layout(model: Model) -> list[str]:
    """Return comments that list which joint owns which entries of q and v."""
    lines = ["   Joints, with their entries of q and of v (a and tau are laid out like v):"]
    for joint, body in zip(model.joints, model.bodies, strict=True):
        name = c_source.comment(joint.name)
        if joint.mimic:
            m = joint.mimic
            lines.append(
                f"     {name}: {m.ratio!r} times {c_source.comment(m.leader)} plus {m.offset!r}, without entries"
            )
            continue
        units = ", ".join(joint.kind.q_units)
        lines.append(
            f"     q[{_span(joint.q_slice)}] ({units}), v[{_span(joint.v_slice)}]: {name}, {joint.kind.name}, "
            f"carries {c_source.comment(body.name)}"
        )
    lines.append("   Bodies are numbered like joints, from 0.")
    return lines


def _span(place: slice) -> str:
    return str(place.start) if place.stop == place.start + 1 else f"{place.start}..{place.stop - 1}"


def _joint_defines(model: Model, upper: str) -> list[str]:
    lines, taken = [], set[str]()
    for joint in model.joints:
        if joint.mimic:
            continue
        name = _fresh(c_source.identifier(joint.name, "joint").upper(), taken)
        taken.add(name)
        lines.append(f"#define {upper}_Q_{name} {joint.q_slice.start}")
        lines.append(f"#define {upper}_V_{name} {joint.v_slice.start}")
    return lines


def _symbol_defines(model: Model, upper: str) -> list[str]:
    """Return macros with the index of each symbol of the robot in the argument that holds the values of symbols."""
    if not model.symbols:
        return []
    lines, taken = ["/* Numbers of the robot that functions take in symbols: how many, and where each is. */"], {"S"}
    lines.append(f"#define {upper}_SYMBOLS {len(model.symbols)}")
    for k, symbol in enumerate(model.symbols):
        name = _fresh(f"{upper}_S_{c_source.identifier(symbol, 'symbol')}", taken)
        taken.add(name)
        lines.append(f"#define {name} {k}")
    return [*lines, ""]


def _declaration(dialect: c_source.Dialect, e: _Export, reentrant: bool) -> list[str]:
    size, macro = max(1, int(np.prod(e.shape))), f"{e.c_name.upper()}_SIZE"
    shape = " x ".join(str(n) for n in e.shape) or "1"
    arguments = ", ".join(f"{name}[{length}]" for name, length in e.arguments)
    first, *notes = (c_source.comment(note) for note in e.said())
    room = e.temporaries * (4 if dialect.single_precision else 8)
    place = "on the stack" if reentrant else f"static; -D{dialect.temporary}= puts them on the stack"
    lines = [
        f"/* {first}", f"   Takes {arguments}; gives {e.function.result}[{macro}], {shape}.",
        f"   Costs {e.cost} in every call, and {room} bytes of temporaries ({place}).", *(f"   {n}" for n in notes),
    ]  # fmt: skip
    lines += [f"     {e.function.result}[{entry.place}]: {c_source.comment(entry.meaning)}" for entry in e.entries]
    if any(name == "wrenches" for name, _ in e.arguments):
        lines.append("   wrenches: moment and force on each body, in its own axes at its own origin.")
    if any(name == SYMBOLS for name, _ in e.arguments):
        lines.append("   symbols: numbers of the robot, in the order of the names above.")
    if e.tolerance > TOLERANCE["single" if dialect.single_precision else "double"]:
        lines.append(f"   Rounding errors reach {e.tolerance / 16.0:.1e} of the largest entry on the test states.")
    lines[-1] += " */"
    places = [f"#define {e.c_name.upper()}_{part} {first}" for part, first in e.parts.items()]
    own = []
    if e.gains:
        members = " ".join(f"{dialect.real} {name}[{len(x)}];" for name, x in e.gains.items())
        own = [f"typedef struct {{ {members} }} {e.c_name}_gains;",
               f"#define {e.c_name.upper()}_GAINS {_initializer(dialect, list(e.gains.values()))}"]  # fmt: skip
    return [*lines, f"#define {macro} {size}", *places, *own, f"{e.function.signature(dialect.real)};", ""]


def _initializer(dialect: c_source.Dialect, rows: Sequence[np.ndarray]) -> str:
    return "{" + ", ".join("{" + ", ".join(dialect.number(float(x)) for x in row) + "}" for row in rows) + "}"


def _test_program(dialect: c_source.Dialect, exports: Sequence[_Export]) -> str:
    prefix, libm = dialect.prefix, "" if dialect.own_math else " -lm"
    text = resources.files(__package__).joinpath("test_program.c").read_text(encoding="ascii")
    lines = [Template(text).substitute(prefix=prefix, libm=libm, real=dialect.real)]
    for k, e in enumerate(exports):
        lines += _check(dialect, e, k)
    calls = [f"    check_{k}();" for k in range(len(exports))]
    return "\n".join([*lines, "int main(void)", "{", *calls, "    return failures;", "}", ""])


def _check(dialect: c_source.Dialect, e: _Export, number: int) -> list[str]:
    """Return a static function that runs one exported function on all states."""
    macro, count = f"{e.c_name.upper()}_SIZE", len(e.states)
    lines = [f"static void check_{number}(void)", "{"]
    own = len(e.gains)
    if own:
        rows = [_initializer(dialect, state[:own])[1:-1] for state in e.states]
        lines += _table(f"static const {e.c_name}_gains gains[{count}]", rows)
    for j, (name, length) in list(enumerate(e.arguments))[own:]:
        rows = [", ".join(dialect.number(float(x)) for x in state[j]) for state in e.states]
        lines += _table(f"static const {dialect.real} {name}[{count}][{length}]", rows)
    plain = c_source.Dialect(dialect.prefix)
    rows = [", ".join(plain.number(float(x)) for x in values) for values in e.expected]
    lines += _table(f"static const double expected[{count}][{macro}]", rows)
    given = ["&gains[k]"] if own else []
    arguments = ", ".join([*given, *(f"{name}[k]" for name, _ in e.arguments[own:]), "result"])
    return [
        *lines,
        f"    static {dialect.real} result[{macro}];",
        "    double worst = 0.0;",
        "    int k;",
        f"    for (k = 0; k < {count}; ++k) {{",
        "        double error;",
        f"        {e.c_name}({arguments});",
        f"        error = error_of(result, expected[k], {macro});",
        "        if (error > worst) worst = error;",
        "    }",
        f'    report("{e.c_name}", worst, {e.tolerance!r});',
        "}",
        "",
    ]


def _table(declaration: str, rows: Sequence[str]) -> list[str]:
    return [f"    {declaration} = {{", *(f"        {{{row}}}," for row in rows), "    };"]


# ------------------------------------------------------------------ writing


def _write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files, or none of them."""
    refusal = f"cannot write C into {str(folder)!r}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OutputError(f"{refusal}: that is a file; name a folder") from None
    except OSError as problem:
        raise OutputError(f"{refusal}: {problem.strerror or problem}") from None
    with all_beside([folder / name for name in texts], refusal) as places:
        for place, text in zip(places, texts.values(), strict=True):
            place.write_text(text, encoding="ascii", newline="\n")


__dir__ = explain_public(__name__)

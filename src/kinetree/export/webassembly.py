"""A robot's algorithms and other laws as WebAssembly, for pages that compute without Python."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms.table import find
from ..engine import webassembly as engine
from ..engine.c_source import identifier
from ..engine.kernels.step_kernel import Stages, trace_stages
from ..engine.llvm.host import CompilationError
from ..engine.trace import Traced, trace
from ..errors import CompileError
from ..evaluation.algorithm_options import Request, requests
from ..evaluation.compiler import Compiler
from ..evaluation.law_kernels import Law, Sizes
from ..evaluation.parameters import SYMBOLS, ParameterReader, places_of_symbols
from ..evaluation.wrenches import each_body
from ..io.atomic_files import all_beside
from ..io.paths import as_path
from ..model.changes.values import generic
from ..model.tree import Model
from ..spatial.arrays import flatten
from ..version import VERSION
from .c_code import function_names
from .model_of import Modeled, model_of

__all__ = ["NamedLaw", "StepLaw", "WebAssembly", "of_laws", "webassembly"]


class NamedLaw(NamedTuple):
    """A law over any scalar that becomes a function: from named lists of scalars to a list of scalars."""

    name: str
    law: Law
    lengths: Mapping[str, int]
    many: bool = False


class StepLaw(NamedTuple):
    """Many steps of a law, in the form of :class:`kinetree.evaluation.law_kernels.StepProgram`."""

    name: str
    advance: Callable[..., list[Any]]
    rate: Callable[..., list[Any]]
    sizes: Sizes
    many: bool = False


@dataclass(frozen=True)
class WebAssembly:
    """A module of WebAssembly.

    Attributes
    ----------
    code : bytes
        The module: it imports nothing, and exports its functions, ``memory`` and ``heap``.
    description : dict
        Inputs and results of each function, as plain data for JSON.

    Notes
    -----
    ``name(in, out)`` reads the inputs of one state, one after the other, from the address ``in``, and writes its
    results to the address ``out``, all as doubles; ``name_many(count, in, out)`` does the same for consecutive states.
    Addresses from ``heap`` on are free, and ``memory`` can grow.
    """

    code: bytes
    description: dict[str, Any]

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write a ``.wasm`` file and, next to it, its description in ``.json``: both or neither.

        If the path is a folder, the files are named after the robot.
        """
        target = as_path(path, "the WebAssembly file")
        if target.is_dir():
            target = target / identifier(self.description["robot"].lower(), "robot")
        target = target.with_name(f"{target.name.removesuffix('.wasm')}.wasm")
        files = [target, target.with_suffix(".json")]
        with all_beside(files, f"{target} cannot be written") as (code, description):
            code.write_bytes(self.code)
            description.write_text(json.dumps(self.description, indent=1) + "\n", encoding="utf-8")
        return files[0], files[1]


def webassembly(
    robot: Modeled | Model, algorithms: Iterable[Request] | Request = ("inverse_dynamics", "forward_dynamics"), *,
    parameters: Any = None, wrenches: bool = False, many: bool = True,
) -> WebAssembly:  # fmt: skip
    """Compile algorithms to WebAssembly, which browsers and Node run.

    Parameters
    ----------
    robot : Robot, or its model
        Symbols without a value become an input of each function.
    algorithms : sequence
        Names, or pairs of a name and options: ``["mass_matrix", ("jacobian", {"frame": "tool"})]``.
    parameters : mapping, optional
        Numbers of the robot that become one more input, in the form that methods of a robot accept: ``{"bodies":
        {"rocker": {"mass": 2.0}}}``. Their values are listed in the description.
    wrenches : bool
        Whether dynamics takes external forces: one more input, moment and force of every body in its own axes at its
        own origin.
    many : bool
        Whether to also make the form for many states, two at a time in the lanes of a vector.

    Returns
    -------
    WebAssembly
        The module, with ``code`` and ``description``; ``save("arm.wasm")`` writes both.

    Examples
    --------
    >>> import kinetree as kt
    >>> made = kt.webassembly(kt.from_dh([(0, 0, 1, 0), (0, 0, 1, 0)], masses=[1, 1]), ["gravity_force"])
    >>> made.description["functions"]["gravity_force"]["inputs"]
    [['q', 2]]
    """
    model = model_of(robot)
    given = ParameterReader(model)(parameters)
    places = given.places + places_of_symbols(model)
    asked = requests(generic(model), algorithms)
    functions, facts = [], {}
    for name, (algorithm, options) in zip(function_names(asked), asked, strict=True):
        row = find(algorithm)
        loaded = each_body(model) if wrenches and row.loads else ()
        traced = Compiler(model).trace(algorithm, options, loaded, places=places, regroup=True)
        names = [
            *row.inputs,
            *(["wrenches"] if loaded else []),
            *(["parameters" if given.places else SYMBOLS] if places else []),
        ]
        functions.append(engine.WasmFunction(name, traced, many))
        facts[name] = _described(names, traced, many) | {"summary": row.summary or algorithm}
    extra = (
        {}
        if given.numbers is None
        else {"parameters": {place.path: given.of(place).tolist() for place in given.places}}
    )
    return _made(model.name, functions, facts, extra)


def of_laws(name: str, laws: Iterable[NamedLaw | StepLaw]) -> WebAssembly:
    """Compile any laws; inputs of length zero are left out."""
    functions, facts = [], {}
    for law in laws:
        source: Traced | Stages
        if isinstance(law, NamedLaw):
            lengths = {key: n for key, n in law.lengths.items() if n}
            empty: dict[str, list[Any]] = {key: [] for key, n in law.lengths.items() if not n}
            source = trace(_by_name(law.law, tuple(lengths), empty), tuple(lengths.values()), flatten)
        else:
            source = trace_stages(law.advance, law.rate, *law.sizes)
            lengths = dict(zip(("t", "h", "n", "state", "parameters"), source.lengths, strict=False))
        functions.append(engine.WasmFunction(law.name, source, law.many))
        facts[law.name] = _described(list(lengths), source, law.many)
    return _made(name, functions, facts, {})


def _by_name(law: Law, names: tuple[str, ...], empty: Mapping[str, list[Any]]) -> Callable[..., list[Any]]:
    return lambda *vectors: law(**dict(zip(names, vectors, strict=True)), **empty)


def _described(names: list[str], source: Traced | Stages, many: bool) -> dict[str, Any]:
    inputs = [[name, int(size)] for name, size in zip(names, source.lengths, strict=True)]
    return {"inputs": inputs, "shape": [int(n) for n in source.shape], "many": many}


def _made(
    name: str, functions: list[engine.WasmFunction], facts: Mapping[str, Any], extra: Mapping[str, Any]
) -> WebAssembly:  # fmt: skip
    try:
        code = engine.module(functions)
    except CompilationError as problem:
        raise CompileError(f"robot {name!r}: {problem}") from None
    return WebAssembly(code, {"kinetree": VERSION, "robot": name, **extra, "functions": dict(facts)})

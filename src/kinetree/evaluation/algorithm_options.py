"""Options of algorithms: checked against a model, with defaults filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..algorithms import singular_joints
from ..algorithms.algorithm import Algorithm
from ..algorithms.table import ALGORITHMS, find
from ..errors import Message, ModelError, OptionError, Setting, refuse_unknown
from ..model.tree import Model

Request = str | tuple[str, Mapping[str, Any]]
"""An algorithm by name, or with its options."""


def needed_options(name: str) -> tuple[str, ...]:
    """Return the options of an algorithm that have no default."""
    return tuple(option.name for option in find(name).options if option.needed)


def complete_options(model: Model, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked options of an algorithm, with defaults filled in.

    Raises
    ------
    UnknownNameError
        For an option, a frame or a choice that does not exist.
    OptionError
        If an option without a default is missing.
    ModelError, SingularError
        If the algorithm is not defined for this model.
    """
    algorithm = find(name)
    for given in options:
        refuse_unknown(f"option of {name}", given, algorithm.option_names)
    for option in algorithm.options:
        if option.needed and option.name not in options:
            hint = _hint(model) if option.name in ("frame", "frames") else ""
            raise OptionError(Message(f"{name} needs the {option.name}: give ", Setting(option.name, ...), hint))
    chosen = {o.name: o.read(model, name, options.get(o.name, o.default)) for o in algorithm.options}
    check_possible(model, algorithm, chosen)
    if "method" in chosen:
        chosen["method"] = singular_joints.possible_method(model, chosen["method"])
    return chosen


def _hint(model: Model) -> str:
    bodies = [body.name for body in model.bodies]
    own = [f.name for f in model.frames if f.name not in bodies]
    return f", such as {(own or bodies)[-1]!r}"


def check_possible(model: Model, algorithm: Algorithm, options: Mapping[str, Any]) -> None:
    """Refuse algorithms that are not defined for this model, as the methods of a robot do."""
    if model.nv == 0:
        raise ModelError(f"robot {model.name!r} has no moving joints: there is nothing to compute")
    if algorithm.needs_floating_base and not model.is_floating:
        fixed = f"robot {model.name!r} has no floating base; load it with "
        raise ModelError(Message(fixed, Setting("floating_base", True)))
    if algorithm.needs_inertia:
        singular_joints.check(model, algorithm.held(model, options))


def requests(model: Model, algorithms: Iterable[Request] | Request) -> list[tuple[str, dict[str, Any]]]:
    """Return the requested algorithms, given by name or with options, each with all its options."""
    single = isinstance(algorithms, str) or (isinstance(algorithms, tuple) and _is_pair(algorithms))
    wanted: list[Any] = [algorithms] if single else list(algorithms)
    found: list[tuple[str, dict[str, Any]]] = []
    for request in wanted:
        if not isinstance(request, str) and not (isinstance(request, tuple) and _is_pair(request)):
            raise OptionError(f"an algorithm is a name, or a pair (name, dict of its options), not {request!r}")
        name, options = (request, {}) if isinstance(request, str) else request
        find(name)
        complete = (name, complete_options(model, name, options))
        if complete in found:
            raise OptionError(f"{name} is requested twice, with the same options")
        found.append(complete)
    if not found:
        raise OptionError(f"no algorithm chosen; there are {', '.join(ALGORITHMS)}")
    return found


def _is_pair(value: tuple[Any, ...]) -> bool:
    return len(value) == 2 and isinstance(value[1], Mapping)

"""The required kind of an argument, read from its annotation after a call has failed: valid calls cost nothing extra.

Names are matched rather than imported, since most modules import what they annotate with for type checkers only.
"""

from __future__ import annotations

import builtins
import inspect
import operator
import os
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, TracebackType, UnionType
from typing import Any

import numpy as np

NUMBERS = ("ArrayLike", "Array", "ndarray", "Gain")
"""Annotations that stand for an array of numbers of any scalar type."""

WORDS = {
    "float": "a number", "Scalar": "a number", "Scalars": "a sequence of numbers", "int": "a whole number",
    "bool": "True or False", "str": "text", "PathLike": "a path", "Sequence": "a sequence", "Iterable": "several",
    "tuple": "a tuple", "list": "a list", "Mapping": "a mapping", "dict": "a dict", "Callable": "a function",
    "type": "a class", "NoneType": "None", "Condition": "a condition, as x > 0 is",
    **dict.fromkeys(NUMBERS, "an array of numbers"),
}  # fmt: skip
"""Words for kinds of arguments in messages; a kinetree class is called by its own name."""

BY_NAME = {
    **dict.fromkeys(("robot", "tree"), "Robot | Model"),
    **dict.fromkeys(("condition", "conditions"), "Condition"),
}
"""The kinds of arguments with these names where they have no annotation."""


class Unseen:
    """A class known only by its name."""

    def __class_getitem__(cls, _: Any) -> type[Unseen]:
        return cls


class _Names(dict[str, Any]):
    """Names in annotations: first those with a special meaning here, then those of a module, then unseen classes."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        super().__init__(os=os, np=np)
        self.module = module

    def __missing__(self, name: str) -> Any:
        found = self.module.get(name, getattr(typing, name, getattr(builtins, name, None)))
        own = name in NUMBERS or name in ("Scalar", "Scalars")
        return type(name, (Unseen,), {}) if own or found is None else found


def wrong_kind(
    function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any], problem: Exception,
    shown: Callable[[Any], str] = repr,
) -> str | None:  # fmt: skip
    """Return which argument does not match its annotation, and what is expected; None if all match.

    Most arrays may be complex, so complex numbers are blamed only where the problem is about them.
    """
    function = inspect.unwrap(function)
    names, given = _Names(getattr(function, "__globals__", {})), list(_given(function, args, named))
    about_complex = "complex" in str(problem) or "input types" in str(problem)
    for name, value, annotation in given:
        hint = _meant(BY_NAME.get(name, annotation) if annotation == "Any" else annotation, names)
        if not _fits(value, hint):
            return f"{name} must be {_words(hint)}, not {shown(value)}"
        if str(problem).startswith(f"{getattr(value, '__qualname__', None)}() "):
            return f"{name} cannot be called as required: {problem}"
        if about_complex and _is_numeric(value) and np.iscomplexobj(value):
            return f"{name} must be real, not {shown(value)}"
        size = {"q": "nq", "v": "nv"}.get(name, "") if annotation in ("Scalars", "Sequence[Scalar]") else ""
        for wanted in (getattr(other, size) for _, other, _ in given if hasattr(other, size)):  # of the robot beside
            if len(value) != wanted:
                return f"{name} must be a sequence of {wanted} numbers, not of {len(value)}"
    return None


def _given(
    function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, value and annotation of every argument, except those that count as not given."""
    signature = inspect.signature(function)
    for name, value in signature.bind_partial(*args, **named).arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from ((name, one, parameter.annotation) for one in value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield from ((key, one, parameter.annotation) for key, one in value.items())
        elif name not in ("self", "cls") and value is not parameter.default:
            yield name, value, parameter.annotation


def _meant(annotation: Any, names: _Names) -> Any:
    """Return what an annotation means; Any if that cannot be determined."""
    text = annotation.__forward_arg__ if isinstance(annotation, typing.ForwardRef) else annotation
    try:
        return eval(text, {"__builtins__": {}}, names) if isinstance(text, str) else text  # our own source, no user's
    except (TypeError, AttributeError, NameError, SyntaxError):
        return Any


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a kind; True in case of doubt, so that nobody is blamed for an internal error."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    kind = origin or hint
    if kind in (None, NoneType):
        return value is None
    if kind in (Any, object, inspect.Parameter.empty) or not isinstance(kind, type):
        return True
    if kind.__name__ in _CHECKS:
        return _CHECKS[kind.__name__](value, inner)
    if issubclass(kind, Unseen):
        return not _is_class(kind.__name__) or any(base.__name__ == kind.__name__ for base in type(value).__mro__)
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return isinstance(value, kind)


def _is_class(name: str) -> bool:
    """Return whether a name is a class everywhere in kinetree, rather than a short name for several kinds."""
    own = [module for key, module in list(sys.modules.items()) if _package(key) == _package(__name__)]
    found = [vars(module)[name] for module in own if name in vars(module)]
    return bool(found) and all(isinstance(one, type) for one in found)


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_real(value: Any, _: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return not isinstance(value, (bool, np.bool_, complex)) and hasattr(value, "__float__") and _is_scalar(value)


def _is_whole(value: Any, _: Any) -> bool:
    """Return whether something is a whole number that fits in a processor's integer."""
    one = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(one, (bool, np.bool_, type, np.ndarray)) or not hasattr(one, "__index__"):
        return False
    return abs(operator.index(one)) <= sys.maxsize


def _is_scalar(value: Any, _: Any = None) -> bool:
    """Return whether something can be used in computations: a number, an array, a symbol, a node of a graph."""
    if isinstance(value, np.ndarray):
        return _is_numeric(value)
    if isinstance(value, int):
        return value.bit_length() <= sys.float_info.max_exp
    return hasattr(value, "__truediv__") and not isinstance(value, (type, os.PathLike))


def _is_numeric(value: Any, _: Any = None) -> bool:
    """Return whether something is an array of numbers, or of anything else that can be used in computations."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return array.dtype.kind in "iufcb" or (array.dtype.kind == "O" and all(map(_is_scalar, array.flat)))


def _is_sequence(value: Any, inner: tuple[Any, ...]) -> bool:
    has_rows = hasattr(value, "__array__") and not isinstance(value, type) and np.ndim(value) > 0
    if isinstance(value, (str, bytes)) or not (isinstance(value, Sequence) or has_rows):
        return False
    if len(inner) > 1 and inner[-1] is not ...:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    return not inner or all(_fits(one, inner[0]) for one in value)


def _is_mapping(value: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(value, Mapping):
        return False
    return len(inner) != 2 or all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())


def _is_condition(value: Any, _: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuO"
    return hasattr(value, "__and__") and not isinstance(value, (type, set, frozenset, dict))


def _is_callable(value: Any, inner: tuple[Any, ...]) -> bool:
    try:
        return callable(value) and (not isinstance(inner[0], list) or bool(inspect.signature(value).bind(*inner[0])))
    except TypeError:
        return False
    except (ValueError, IndexError):  # built-in functions, and functions without named arguments
        return True


_CHECKS: dict[str, Callable[[Any, tuple[Any, ...]], bool]] = {
    "float": _is_real, "int": _is_whole, "bool": lambda value, _: isinstance(value, (bool, np.bool_)),
    "Scalar": _is_scalar, "Scalars": lambda value, _: _is_sequence(value, ()) and all(map(_is_scalar, value)),
    **dict.fromkeys(("Sequence", "tuple", "list"), _is_sequence), **dict.fromkeys(("Mapping", "dict"), _is_mapping),
    "Iterable": lambda x, inner: isinstance(x, (Iterator, set, frozenset, Mapping)) or _is_sequence(x, inner),
    "Callable": _is_callable, "Condition": _is_condition, **dict.fromkeys(NUMBERS, _is_numeric),
}  # fmt: skip


def _words(hint: Any) -> str:
    """Write a kind for a message: ``a number or None``."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, inner)))
    if origin is typing.Literal:
        return " or ".join(map(repr, inner))
    kind = NoneType if hint is None else origin or hint
    name = kind.__name__
    if name == "Callable" and inner and isinstance(inner[0], list):
        return f"a function of {len(inner[0])} argument{'s' * (len(inner[0]) != 1)}"
    several = f" of {len(inner)}" if name == "tuple" and inner and inner[-1] is not ... else ""
    last = next((one for one in reversed(inner) if one is not ...), Any)
    within = f" (each {_words(last)})" if name != "Callable" and last is not Any else ""
    return WORDS.get(name, f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}") + several + within


def entered_users_code(trace: TracebackType | None, own: tuple[str, ...]) -> bool:
    """Return whether an exception left our packages for a user's function: a controller, a law, a sweep's lambda."""
    while trace is not None:
        package = _package(str(trace.tb_frame.f_globals.get("__name__")))
        file = getattr(sys.modules.get(package), "__file__", None) or ""
        installed = package != "__main__" and file.startswith(os.path.dirname(os.path.dirname(np.__file__)))
        if not installed and package not in (*own, *sys.stdlib_module_names):
            return True
        trace = trace.tb_next
    return False

"""Texts that change whenever results may change: a sweep is resumed only if they are unchanged."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint_of(thing: Any) -> str:
    """Return the SHA-256 digest, in hexadecimal, of an object's whole content."""
    return hashlib.sha256(content_of(thing).encode()).hexdigest()


def content_of(thing: Any) -> str:
    """Return the whole content of an object as text, without addresses in memory.

    The content of a function is its source, its defaults and the values it has captured; globals of its module are not
    included.
    """
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return ADDRESS.sub("", _text(thing, ()))


def _text(thing: Any, within: tuple[Any, ...]) -> str:
    if any(thing is other for other in within):  # a function that captures itself
        return "..."
    inside = (*within, thing)
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(_text(x, inside) for x in thing)})"
    if isinstance(thing, Mapping):
        return f"{{{', '.join(f'{key!r}: {_text(x, inside)}' for key, x in thing.items())}}}"
    if isinstance(thing, partial):
        return f"partial{_text((thing.func, thing.args, thing.keywords), inside)}"
    robots = sys.modules.get("kinetree.robot.robot")  # without this there is no robot
    if robots is not None and isinstance(thing, robots.Robot):
        return _text(thing.model, inside)
    if inspect.ismethod(thing):
        return f"{_text(thing.__func__, inside)} of {_text(thing.__self__, inside)}"
    if inspect.isfunction(thing):
        return _of_function(thing, inside)
    if is_dataclass(thing) and not isinstance(thing, type):
        own = {field.name: getattr(thing, field.name) for field in fields(thing) if field.repr}
        return f"{type(thing).__qualname__}{_text(own, inside)}"
    if inspect.getattr_static(type(thing), "__repr__") is object.__repr__ and hasattr(thing, "__dict__"):
        return _of_object(thing, inside)
    return repr(thing)


def _of_function(function: Any, inside: tuple[Any, ...]) -> str:
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):  # typed interactively
        code = function.__code__
        text = f"{function.__qualname__} {code.co_code.hex()} {code.co_consts} {code.co_names}"
    captured = [_captured(cell) for cell in function.__closure__ or ()]
    return f"{text} {_text((captured, function.__defaults__, function.__kwdefaults__), inside)}"


def _captured(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        return None


def _of_object(thing: Any, inside: tuple[Any, ...]) -> str:
    """Return the attributes of an object that does not describe itself and, if it can be called, its code."""
    kind = type(thing)
    kept = {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(inspect.getattr_static(kind, name, None), cached_property)
    }
    answer = inspect.getattr_static(kind, "__call__", None)
    called = _text(answer, inside) if inspect.isfunction(answer) else ""
    return f"{kind.__qualname__}{_text(kept, inside)} {called}"

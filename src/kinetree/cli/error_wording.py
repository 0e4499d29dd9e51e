"""The library's messages in terms of the command line: options as typed, or as keys of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import ContactWarning, Message, Setting, message_of, word_of

Write = Callable[[Setting], str]


def worded(problem: BaseException, write: Write) -> str:
    """Return the message of an error or a warning, with its settings written by a function."""
    if isinstance(problem, ContactWarning):
        return _lifted(problem)
    said = message_of(problem)
    return said.written(write) if isinstance(said, Message) else said


def as_options(command: Any) -> Write:
    """Write settings as options of a command, ``--integrator radau or bdf``; if it has none, as in Python.

    command: click.Command or None
    """
    options = {p.name: p for p in getattr(command, "params", ()) if p.param_type_name == "option"}

    def write(setting: Setting) -> str:
        option = options.get(setting.name)
        if option is None:
            return str(setting)
        typed = str(option.opts[0])
        if not setting.values:
            return typed
        if not option.is_flag:
            return f"{typed} {_any_of(setting)}"
        if setting.values[0]:
            return typed
        without = option.secondary_opts[:1]
        return str(without[0]) if without else f"no {typed}"

    return write


def as_keys(keys: Iterable[str], otherwise: Write = str) -> Write:
    """Return what writes settings in ``keys`` as YAML, ``integrator: radau or bdf``, others by ``otherwise``."""
    known = frozenset(keys)

    def write(setting: Setting) -> str:
        if setting.name not in known:
            return otherwise(setting)
        return f"{setting.name}: {_any_of(setting).lower()}" if setting.values else setting.name

    return write


def _any_of(setting: Setting) -> str:
    return " or ".join(map(word_of, setting.values))


def _lifted(warning: ContactWarning) -> str:
    """Return the text of a warning about a start inside the ground, with how to start instead."""
    if warning.lift is None:
        return f"{warning.fact}: start above the ground, --q0"
    name, _, value = warning.lift
    return f"{warning.fact}: start higher, --q0 {name}={value:g}"

"""Advice in messages, written for Python (``integrator='radau'``), in the form of the command line or of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

SETTING = re.compile(r"\b([a-z][a-z_]*)=('[^']*'|\.\.\.|True\b|False\b|[-+]?\d[\w.+-]*(?<!\.))((?: or '[^']*')*)")
"""``name=value``, perhaps with other values behind it: ``integrator='radau' or 'bdf'``."""

LEADING = re.compile(r"^([a-z][a-z_]*)(?= must )")
"""What a message is about: ``rtol must be positive``."""


def on_command_line(message: str, command: Any) -> str:
    """A message with its settings as options of a command: ``--integrator radau or bdf``.

    Parameters
    ----------
    message : str
        One that speaks of options already (``--kp: ...``) is left as it is, as are settings the command does not have.
    command : click.Command or None
    """
    options = {p.name: p for p in getattr(command, "params", ()) if p.param_type_name == "option"}
    if message.startswith("--") or not options:
        return message

    def typed(name: str, value: str) -> str | None:
        option = options.get(name)
        if option is None:
            return None
        if not option.is_flag:
            return f"{option.opts[0]} {value}"
        if value == "True":
            return str(option.opts[0])
        without = option.secondary_opts[:1]
        return str(without[0]) if without else f"no {option.opts[0]}"

    named = LEADING.sub(lambda found: options[found[1]].opts[0] if found[1] in options else found[1], message)
    return _rewritten(named, typed)


def in_file(message: str, keys: Iterable[str]) -> str:
    """A message with its settings as a YAML file with such keys has them: ``integrator: radau or bdf``."""
    known = frozenset(keys)
    return _rewritten(message, lambda name, value: f"{name}: {value.lower()}" if name in known else None)


def _rewritten(message: str, write: Callable[[str, str], str | None]) -> str:
    def one(found: re.Match[str]) -> str:
        name, value, others = found.groups()
        written = write(name, value.strip("'"))
        return found[0] if written is None else written + others.replace("'", "")

    return SETTING.sub(one, message)

"""Values as typed on the command line."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ..errors import OptionError
from ..io.units import quantity


def read_values(text: str | None, option: str, units: bool = False) -> Any:
    """Read numbers, numbers by joint (``elbow=0.3``; several with colons, ``ball=0:0:0:1``), or a word.

    If units are allowed, numbers may have one: ``elbow=45deg``, ``slide=120mm``, ``motor=60rpm``.
    """
    if text is None:
        return None
    parts = [part for part in text.replace(",", " ").split() if part]
    if any("=" in part for part in parts):
        pairs = [part.partition("=") for part in parts]
        for name, sign, _ in pairs:
            if not (name and sign):
                raise OptionError(f"{option}: give numbers only, or joints only as in elbow=0.3; not {text!r}")
        twice = [name for name, count in Counter(name for name, _, _ in pairs).items() if count > 1]
        if twice:
            raise OptionError(f"{option}: {twice[0]!r} is given more than once in {text!r}")
        return {name: [_number(x, option, units) for x in value.split(":")] for name, _, value in pairs}
    if len(parts) == 1 and not _is_number(parts[0]) and not (units and quantity(parts[0], option)):
        return parts[0]
    return [_number(part, option, units) for part in parts]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str, option: str, units: bool) -> float:
    found = quantity(text, option) if units else None
    if found is not None:
        return found
    if not _is_number(text):
        raise OptionError(f"{option}: {text!r} is not a finite number")
    return float(text)

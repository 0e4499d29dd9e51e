"""Angles as people type them, on the command line and in study files: in radians, or with ``deg`` behind."""

from __future__ import annotations

import math
import re

_DEGREES = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:deg|degrees|°)")


class Degrees(float):
    """An angle that was written in degrees; as a number it is in radians."""


def in_degrees(text: str) -> Degrees | None:
    """Return the angle that ``"45deg"``, ``"45 deg"`` or ``"45°"`` is, or None for anything else."""
    found = _DEGREES.fullmatch(text.strip())
    return None if found is None else Degrees(math.radians(float(found[1])))

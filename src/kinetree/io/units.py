"""Units that people use: in headers of tables, ``q_elbow [deg]``, and behind numbers, ``"45 deg"``, ``60rpm``.

They are converted to SI; what is not understood or does not fit is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ..errors import OptionError, nearest

ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": math.radians(1.0), "degree": math.radians(1.0),
          "degrees": math.radians(1.0), "radian": 1.0, "radians": 1.0, "rev": math.tau, "turn": math.tau}  # fmt: skip
LENGTHS = {"m": 1.0, "dm": 0.1, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
TIMES = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
FORCES = {"N": 1.0, "mN": 1e-3, "kN": 1e3}


def _spelled() -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield every spelling with its unit in SI, and what it is of that."""
    yield from (("1", ("1", 1.0)), ("-", ("1", 1.0)), ("rpm", ("rad/s", math.tau / 60.0)))
    yield from (("A", ("A", 1.0)), ("mA", ("A", 1e-3)), ("kg", ("kg", 1.0)), ("g", ("kg", 1e-3)), ("Hz", ("Hz", 1.0)))
    for unit, factor in TIMES.items():
        yield unit, ("s", factor)
    for own, parts in (("rad", ANGLES), ("m", LENGTHS)):
        for unit, factor in parts.items():
            yield unit, (own, factor)
            for time in ("s", "sec"):
                yield f"{unit}/{time}", (f"{own}/s", factor)
                for square in ("^2", "2"):
                    yield f"{unit}/{time}{square}", (f"{own}/s^2", factor)
    for force, factor in FORCES.items():
        yield force, ("N", factor)
        for length in ("m", "cm", "mm"):
            yield f"{force}{length}", ("Nm", factor * LENGTHS[length])


UNITS = dict(_spelled())
_NUMBER_WITH_UNIT = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z°µμ][\w°µμ²/^*·⋅. -]*)")


class Quantity(float):
    """A number that was written with a unit; as a number it is in SI.

    Attributes
    ----------
    written : str
        As it was written, such as ``45 deg``.
    unit : str
        In SI, such as ``rad``.
    """

    written: str
    unit: str

    def refuse_other(self, wanted: str, what: str) -> None:
        """Refuse it where a number in another unit is meant."""
        if self.unit != plain(wanted):
            meant = "" if wanted == "1" else f" in {wanted}, or in a unit of the same kind"
            raise OptionError(f"{what}: {self.written!r} does not fit: give a number{meant}")


def quantity(text: str, what: str = "a number") -> Quantity | None:
    """Return what ``"45deg"``, ``"45 °"`` or ``"60 rpm"`` is in SI; None for anything but a number with a unit."""
    found = _NUMBER_WITH_UNIT.fullmatch(text.strip())
    if found is None or re.fullmatch(r"[eE][-+]?\d+", found[2]):  # 1e5 is a number without
        return None
    times = factor(found[2], None)
    if isinstance(times, str):
        raise OptionError(f"{what}: {text!r}: {times}")
    made = Quantity(math.radians(float(found[1])) if plain(found[2]) == "deg" else float(found[1]) * times)
    made.written, made.unit = text.strip(), UNITS[plain(found[2])][0]
    return made


def in_si(value: Any, wanted: str, what: str) -> Any:
    """Return a value, or values in lists, with texts such as ``"45 deg"`` as numbers in SI; all else as it is.

    Parameters
    ----------
    value : object
    wanted : str
        The unit in SI that a text must be of.
    what : str
        What it is called in messages.
    """
    if isinstance(value, str):
        found = quantity(value, what)
        if found is not None:
            found.refuse_other(wanted, what)
            return float(found)
    if isinstance(value, (list, tuple)):
        return type(value)(in_si(x, wanted, what) for x in value) if any(isinstance(x, str) for x in value) else value
    return value


def factor(written: str, wanted: str | None) -> float | str:
    """Return the factor from a unit to SI, or in words why there is none.

    Parameters
    ----------
    written : str
        As in the header: ``deg``, ``N·m``, ``mm/s²``.
    wanted : str or None
        The unit in SI that the numbers must be of, such as ``rad/s``; None for any.
    """
    found = UNITS.get(plain(written))
    if found is None:
        near = nearest(plain(written), UNITS, 1)
        hint = f"did you mean {near[0]!r}?" if near else "such as rad, deg, m, mm, N m, N, s, ms, with /s or /s^2"
        return f"the unit {written!r} is not understood; {hint}"
    unit, times = found
    if unit == "A" and wanted in ("N m", "N"):
        return f"the unit {written!r} is of a current and not of a force; name the column 'current_...' or 'i_...'"
    if wanted is not None and unit != plain(wanted):
        return f"the unit {written!r} does not fit, it must be one of {wanted!r}"
    return times


def plain(written: str) -> str:
    """Return one spelling of many: ``N·m``, ``N.m`` and ``N m`` are ``Nm``, ``°/s²`` is ``deg/s^2``."""
    text = written.replace("**", "^").replace("²", "^2").replace("°", "deg").replace("µ", "u").replace("μ", "u")
    return re.sub(r"[\s·⋅*]", "", text.replace("N-m", "Nm").replace("N.m", "Nm"))

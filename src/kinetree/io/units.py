"""Units in headers of tables, ``q_elbow [deg]``, after numbers, ``"45 deg"``, ``60rpm``, and of displayed numbers.

Numbers are converted to SI, and back for display; unknown units and units of another quantity are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import OptionError, nearest

ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": math.radians(1.0), "degree": math.radians(1.0),
          "degrees": math.radians(1.0), "radian": 1.0, "radians": 1.0, "rev": math.tau, "turn": math.tau}  # fmt: skip
LENGTHS = {"m": 1.0, "dm": 0.1, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
MASSES = {"kg": 1.0, "g": 1e-3}
TIMES = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
FORCES = {"N": 1.0, "mN": 1e-3, "kN": 1e3}


def _spelled() -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield every spelling with its SI unit and the factor to it."""
    yield from (("1", ("1", 1.0)), ("-", ("1", 1.0)), ("rpm", ("rad/s", math.tau / 60.0)))
    yield from (("A", ("A", 1.0)), ("mA", ("A", 1e-3)), ("Hz", ("Hz", 1.0)))
    for mass, factor in MASSES.items():
        yield mass, ("kg", factor)
        for length in ("m", "cm", "mm"):
            for square in ("^2", "2"):
                yield f"{mass}{length}{square}", ("kgm^2", factor * LENGTHS[length] ** 2)
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
            yield f"{force}/{length}", ("N/m", factor / LENGTHS[length])


UNITS = dict(_spelled())
SHOWN = ("rad", "rad/s", "rad/s^2", "m", "m/s", "m/s^2", "N", "N m")
"""SI units for which others can be shown."""
_NUMBER_WITH_UNIT = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z°µμ][\w°µμ²/^*·⋅. -]*)")


class Quantity(float):
    """A number that was written with a unit; its value is in SI."""

    written: str
    """The original text, such as ``45 deg``."""
    unit: str
    """SI unit, such as ``rad``."""

    def refuse_other(self, wanted: str, what: str) -> None:
        """Refuse the quantity if a number in another unit is needed."""
        if self.unit != plain(wanted):
            meant = "" if wanted == "1" else f" in {wanted}, or in a unit of the same kind"
            raise OptionError(f"{what}: {self.written!r} does not fit: give a number{meant}")


def quantity(text: str, what: str = "a number") -> Quantity | None:
    """Return ``"45deg"``, ``"45 °"`` or ``"60 rpm"`` in SI; None for anything but a number with a unit."""
    found = _NUMBER_WITH_UNIT.fullmatch(text.strip())
    if found is None or re.fullmatch(r"[eE][-+]?\d+", found[2]):  # 1e5 is a number without a unit
        return None
    times = factor(found[2], None)
    if isinstance(times, str):
        raise OptionError(f"{what}: {text!r}: {times}")
    made = Quantity(math.radians(float(found[1])) if plain(found[2]) == "deg" else float(found[1]) * times)
    made.written, made.unit = text.strip(), UNITS[plain(found[2])][0]
    return made


def in_si(value: Any, wanted: str, what: str) -> Any:
    """Return texts such as ``"45 deg"`` as numbers in SI, also in lists; everything else unchanged.

    wanted: The SI unit of the quantity.
    what: Its name in messages.
    """
    if isinstance(value, (str, Quantity)):
        found = quantity(value, what) if isinstance(value, str) else value
        if found is not None:
            found.refuse_other(wanted, what)
            return float(found)
    if isinstance(value, (list, tuple)) and any(isinstance(x, (str, Quantity)) for x in value):
        return type(value)(in_si(x, wanted, what) for x in value)
    return value


@dataclass(frozen=True)
class ShownUnits:
    """Units in which numbers are shown instead of SI."""

    others: Mapping[str, tuple[str, float]] = field(default_factory=dict)  # (unit, factor)
    """A number in SI is divided by the factor."""

    @classmethod
    def read(cls, given: str | Sequence[str] | ShownUnits | None) -> ShownUnits:
        """Read ``"deg mm rpm"``, ``["deg", "mm"]`` or ``"deg,mm"``; rates follow their lengths and angles."""
        if isinstance(given, ShownUnits):
            return given
        words = re.split(r"[,;]|(?<!N) ", given) if isinstance(given, str) else list(given or ())
        found: dict[str, tuple[str, float]] = {}
        for word in sorted(filter(None, map(str.strip, words)), key=lambda w: w == "rpm"):  # more specific than deg
            times = factor(word, None)
            if isinstance(times, str):
                raise OptionError(f"units: {times}")
            unit = UNITS[plain(word)][0].replace("Nm", "N m")
            if unit == "s" and times == 1.0:
                continue
            if unit == "s":
                raise OptionError(f"units: times are always shown and written in s: leave out {word!r}")
            if unit not in SHOWN:
                raise OptionError(f"units: {word!r} is not a unit of angles, lengths, their rates, forces or moments")
            found[unit] = word, times
            if unit in ("rad", "m"):
                found |= {f"{unit}/s{square}": (f"{word}/s{square}", times) for square in ("", "^2")}
        return cls(found)

    def size(self, unit: str) -> tuple[str, float]:
        """Return the unit in which values in an SI unit are shown, and its size in that SI unit."""
        return self.others.get(unit, (unit, 1.0))

    def label(self, unit: str) -> str:
        """Return the unit in which values in an SI unit are shown."""
        return self.size(unit)[0]

    def shown(self, values: Any, unit: str) -> Any:
        """Return numbers, or an array, as they are shown."""
        return values / self.others[unit][1] if unit in self.others else values


def factor(written: str, wanted: str | None) -> float | str:
    """Return the factor from a unit to SI, or a message why there is none.

    written: The unit as in the header: ``deg``, ``N·m``, ``mm/s²``.
    wanted: The SI unit of the quantity, such as ``rad/s``; None for any.
    """
    found = UNITS.get(plain(written))
    if found is None:
        near = nearest(plain(written), UNITS, 1)
        hint = f"did you mean {near[0]!r}?" if near else "such as rad, deg, m, mm, N m, N, s, ms, with /s or /s^2"
        return f"the unit {written!r} is not understood; {hint}"
    unit, times = found
    if unit == "A" and wanted in ("N m", "N"):
        return f"the unit {written!r} is a current, not a force; name the column 'current_...' or 'i_...'"
    if wanted is not None and unit != plain(wanted):
        return f"the unit {written!r} does not fit; it must be a unit of the kind of {wanted!r}"
    return times


def plain(written: str) -> str:
    """Return the normalized spelling: ``N·m``, ``N.m`` and ``N m`` become ``Nm``, ``°/s²`` becomes ``deg/s^2``."""
    text = written.replace("**", "^").replace("²", "^2").replace("°", "deg").replace("µ", "u").replace("μ", "u")
    return re.sub(r"[\s·⋅*]", "", text.replace("N-m", "Nm").replace("N.m", "Nm"))

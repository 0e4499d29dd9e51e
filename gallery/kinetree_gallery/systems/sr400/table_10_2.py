"""The base parameters of the SR400 according to Khalil: Table 10.2 and the grouping equations of example 10.2."""

from __future__ import annotations

from collections.abc import Mapping

PER_LINK = {
    1: "ZZ",
    2: "XX XY XZ YZ ZZ MX MY",
    3: "XX XY XZ YZ ZZ MX MY",
    4: "XX XY XZ YZ ZZ MX MY",
    5: "XX XY XZ YZ ZZ MX MY",
    6: "XX XY XZ YZ ZZ MX MY",
    7: "MX MY",
    8: "MY",
}
"""The parameters of the links in Table 10.2, which also has the rotors IA4, IA5 and IA6."""

KEPT = (*(f"{symbol}{link}" for link, symbols in PER_LINK.items() for symbol in symbols.split()), "IA4", "IA5", "IA6")

WITHOUT_EFFECT = (
    "XX1", "XY1", "XZ1", "YY1", "YZ1", "MX1", "MY1", "MZ1", "M1", "MZ2", "MZ7",
)  # fmt: skip

GROUPED = (
    "YY2", "M2", "YY3", "MZ3", "M3", "YY4", "MZ4", "M4", "YY5", "MZ5", "M5", "YY6", "MZ6", "M6", "XX7", "XY7", "XZ7",
    "YY7", "YZ7", "ZZ7", "M7", "XX8", "XY8", "XZ8", "YY8", "YZ8", "ZZ8", "MX8", "MZ8", "M8", "IA1", "IA2", "IA7",
)  # fmt: skip

Equations = Mapping[str, Mapping[str, float]]

WRIST = ("M4", "M5", "M6")
FOREARM = ("M3", *WRIST)


def equations(d2: float, d3: float, d4: float, d8: float, r4: float) -> Equations:
    """Return what is grouped into which parameter of Table 10.2, link by link (Khalil section 10.3.6).

    Khalil's own summary has two misprints, see :func:`misprints`.
    """
    return {
        "ZZ1": _sum("IA1 YY2 YY3 XX7 YY8", _times(d4**2, WRIST), _times(d3**2, FOREARM),
                    _times(d2**2, ("M2", *FOREARM, "M7", "M8"))),
        "XX2": _sum("-YY2 XX8 -YY8", _times(-(d3**2), FOREARM)),
        "XY2": _sum("XY8"),
        "XZ2": _sum("XZ8", {"MZ3": -d3}),
        "YZ2": _sum("YZ8"),
        "ZZ2": _sum("IA2 ZZ8", _times(d3**2, FOREARM)),
        "MX2": _sum("MX8", _times(d3, FOREARM)),
        "XX3": _sum("-YY3 YY4 -XX7 YY7", _times(r4**2 - d4**2, WRIST), {"MZ4": 2 * r4, "M8": d8**2}),
        "XY3": _sum("-XY7", {"MZ4": -d4}, _times(-d4 * r4, WRIST)),
        "XZ3": _sum("YZ7"),
        "YZ3": _sum("-XZ7", {"MZ8": d8}),
        "ZZ3": _sum("IA7 YY4 ZZ7", {"M8": d8**2, "MZ4": 2 * r4}, _times(d4**2 + r4**2, WRIST)),
        "MX3": _sum("", _times(d4, WRIST)),
        "MY3": _sum("MZ4", _times(r4, WRIST), {"MX8": -d8 / d3}),
        "XX4": _sum("-YY4 YY5"),
        "ZZ4": _sum("YY5"),
        "MY4": _sum("-MZ5"),
        "XX5": _sum("-YY5 YY6"),
        "ZZ5": _sum("YY6"),
        "MY5": _sum("MZ6"),
        "XX6": _sum("-YY6"),
        "MX7": _sum("", {"MX8": -d8 / d3, "M8": d8}),
    }  # fmt: skip


def misprints(d2: float, d3: float, d4: float, d8: float, r4: float) -> Equations:
    """Return the two equations of the summary that differ from the derivation above it.

    ZZR1 has d2 and d3 exchanged before the masses of links 2 to 6, and MYR3 lacks - d8/d3 MX8.
    """
    return {
        "ZZ1": _sum("IA1 YY2 YY3 XX7 YY8", _times(d4**2, WRIST), _times(d2**2, FOREARM),
                    _times(d3**2, ("M2", *FOREARM)), _times(d2**2, ("M7", "M8"))),
        "MY3": _sum("MZ4", _times(r4, WRIST)),
    }  # fmt: skip


def _times(x: float, names: tuple[str, ...]) -> dict[str, float]:
    return dict.fromkeys(names, x)


def _sum(whole: str, *parts: Mapping[str, float]) -> dict[str, float]:
    """Return coefficients: names with a sign, and others with a factor."""
    result = {name.lstrip("-"): -1.0 if name.startswith("-") else 1.0 for name in whole.split()}
    for part in parts:
        for name, x in part.items():
            result[name] = result.get(name, 0.0) + x
    return result

"""Planar linkages in kinetree's YAML format: points and bars, named as in :func:`kinetree.linkage`."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping

from ...io.units import LENGTHS
from ..linkages import reading
from ..linkages.drawing import Drawing, DrawnPoint
from .yaml_nodes import Node, NodeReader, is_not_text

KEYS = tuple(inspect.signature(reading.drawing).parameters)


def read_linkage(reader: NodeReader, node: Node, name: str) -> Drawing:
    """Read a drawing."""
    fields = reader.fields(node, "a linkage", [key for key in KEYS if key != "name"], ("points", "bars", "ground"))
    given = {key: reader.plain(own, key, logical=key == "springs") for key, own in fields.items()}
    with reader.at(node):
        return reading.drawing(**given, name=name)


def written(drawn: Drawing, number: Callable[[float], str]) -> list[str]:
    """Return the lines of a drawing; read back, it is identical to the last bit.

    number: A function that writes a number.
    """

    def length(x: float) -> str:
        for digits in (12, 15, 17):
            text = number(float(f"{x / LENGTHS[drawn.units]:.{digits}g}"))
            if float(text) * LENGTHS[drawn.units] == x:
                return text
        return f'"{number(x)} m"'

    def flow(entries: Mapping[str, str | None]) -> str:
        return "{" + ", ".join(f"{_word(key)}: {text}" for key, text in entries.items() if text is not None) + "}"

    def words(names: tuple[str, ...]) -> str:
        return f"[{', '.join(map(_word, names))}]"

    def optional(x: float | None, write: Callable[[float], str] = number) -> str | None:
        return None if x is None else write(x)

    def place(p: DrawnPoint) -> str:
        one, two = p.numbers
        if not p.of:
            return f"[{length(one)}, {length(two)}]"
        if len(p.of) == 1:
            return flow({p.of[0]: length(one), "angle": number(two)})
        side = _side(p, drawn) if p.turn else None
        return flow({p.of[0]: length(one), p.of[1]: length(two), "side": side})

    lines = [f"units: {drawn.units}", f"gravity: [{', '.join(map(number, drawn.gravity))}]", "points:"]
    lines += [f"  {_word(p)}: {place(own)}" for p, own in drawn.points.items()]
    lines.append("bars:")
    for name, bar in drawn.bars.items():
        more = {
            "mass": optional(bar.mass), "inertia": optional(bar.inertia), "density": optional(bar.density),
            "width": optional(bar.width, length), "thickness": optional(bar.thickness, length),
            "com": None if bar.com is None else f"[{', '.join(map(length, bar.com))}]",
        }  # fmt: skip
        plain = not any(more.values())
        lines.append(f"  {_word(name)}: {words(bar.points) if plain else flow({'points': words(bar.points), **more})}")
    lines.append(f"ground: {words(drawn.ground)}")
    if any(bar for _, bar in drawn.motors):
        lines.append(f"motor: {flow({p: _word(bar) for p, bar in drawn.motors})}")
    elif drawn.motors:
        lines.append(f"motor: {words(tuple(p for p, _ in drawn.motors))}")
    tables = {
        "sliders": {
            p: flow({
                "along": words((own.along,)) if isinstance(own.along, str) else number(own.along),
                "on": _word(own.on), "bar": _word(own.bar) if own.bar else None,
            })
            for p, own in drawn.sliders.items()
        },
        "springs": {
            key: flow({
                "between": words(own.between), "stiffness": number(own.stiffness),
                "rest": optional(own.rest, length), "damping": number(own.damping),
                **{side: "true" for side in ("pushes_only", "pulls_only") if getattr(own, side)},
            })
            for key, own in drawn.springs.items()
        },
        "gears": {
            key: flow({"wheels": words(own.wheels)} | {
                what: number(getattr(own, what)) for what in ("ratio", "backlash", "stiffness", "damping")
            })
            for key, own in drawn.gears.items()
        },
        "masses": {p: number(x) for p, x in drawn.masses.items()},
    }  # fmt: skip
    for title, table in tables.items():
        lines += [f"{title}:", *(f"  {_word(key)}: {text}" for key, text in table.items())] if table else []
    return lines


def _word(text: str) -> str:
    """Return a name, quoted if some version of YAML would take it for something else."""
    plain = text.isidentifier() and text.isascii() and text.lower() not in ("y", "n", "yes", "no", "on", "off")
    return text if plain and not is_not_text(text) else json.dumps(text)


def _side(p: DrawnPoint, drawn: Drawing) -> str:
    """Return the word that distinguishes this position from the other possible one."""
    here, other = (DrawnPoint(p.numbers, p.of, turn).place(*p.numbers, drawn.drawn) for turn in (p.turn, -p.turn))
    axis = max((0, 1), key=lambda k: abs(here[k] - other[k]))
    sign = math.copysign(1, here[axis] - other[axis])
    return next(word for word, rule in reading.SIDES.items() if rule == (axis, sign))

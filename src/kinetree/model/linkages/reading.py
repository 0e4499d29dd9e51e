"""Drawings of linkages as users give them, in Python or in files: names, lists, numbers with or without units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...errors import ModelError, ModelWarning, UnknownNameError, refuse_unknown, warn
from ...io.units import LENGTHS, in_si, quantity
from ...spatial.numbers import shown
from ..describe import counted
from ..pose import floats
from .drawing import GROUND, ON_LINE, Drawing, DrawnBar, DrawnGear, DrawnPoint, DrawnSlider, DrawnSpring

SIDES = {"above": (1, 1), "below": (1, -1), "right": (0, 1), "left": (0, -1)}
"""Words for one of two positions: the coordinate to compare, and whether the larger value is meant."""

OF_BARS = {"mass": "kg", "inertia": "kg m^2", "width": "m", "thickness": "m", "density": "1"}

DIRECTIONS = {"x": 0.0, "y": math.pi / 2}

IN_LINE = 1e-13
"""What rounding may leave of the height of a point over a line, as a fraction of its distances."""

FAR_OUTSIDE = 1.0
"""A center of mass this many sizes of the bar away from it is doubted."""

FAR_AROUND = 10.0
"""A radius of gyration of more sizes of the bar than this is doubted: flywheels have some, other units have 100."""


def drawing(
    points: Mapping[str, Any], bars: Mapping[str, Any] | Sequence[Any], *, ground: str | Sequence[str],
    motor: str | Sequence[str] | Mapping[str, str] = (), sliders: Mapping[str, Any] | None = None,
    springs: Mapping[str, Any] | None = None, gears: Mapping[str, Any] | None = None,
    masses: Mapping[str, Any] | None = None, width: Any = None, thickness: Any = None, density: float | None = None,
    units: str = "m", gravity: Sequence[float] = (0.0, -9.81), name: str = "linkage",
) -> Drawing:  # fmt: skip
    """Read a drawing; see :func:`kinetree.linkage`."""
    refuse_unknown("unit of length", units, LENGTHS)
    read = _DrawingReader(units)
    placed = read.points(_table(points, "points"))
    bodies = {"width": width, "thickness": thickness, "density": density}
    found = Drawing(
        name,
        placed,
        read.bars(_named_bars(bars), placed, bodies),
        read.words(ground, "ground", placed),
        read.motors(motor, placed),
        {},
        {key: read.spring(key, own, placed) for key, own in _table(springs, "springs").items()},
        {},
        {p: read.number(x, "kg", f"mass at {p!r}", low=0.0) for p, x in _table(masses, "masses", placed).items()},
        units,
        (_row(gravity, 2, "gravity")[0], _row(gravity, 2, "gravity")[1]),
    )
    for p, own in _table(sliders, "sliders", placed).items():
        found.sliders[p] = read.slider(p, own, found)
    for key, own in _table(gears, "gears").items():
        found.gears[key] = read.gear(key, own, found)
    _check(found)
    return found


def _check(found: Drawing) -> None:
    """Refuse drawings that are not connected, or that cannot move."""
    owners: dict[str, Mapping[str, Any]] = {
        "point": found.points,
        "bar": found.bars,
        "spring": found.springs,
        "gear": found.gears,
    }
    seen: dict[str, str] = {GROUND: "ground"}
    for what, own in owners.items():
        for key in own:
            if key in seen:
                raise ModelError(f"a {seen[key]} and a {what} are both named {key!r}: give them different names")
            if not isinstance(key, str) or not key.strip() or "." in key or (what == "point" and len(key.split()) > 1):
                raise ModelError(f"a {what} cannot be named {key!r}: names have no dots, and those of points no spaces")
            seen[key] = what
    if not found.ground and not any(own.on == GROUND for own in found.sliders.values()):
        raise ModelError("nothing is fixed: name the points that are pinned to the ground, ground='O B'")
    for p in found.ground:
        if p in found.sliders and found.sliders[p].on == GROUND:
            raise ModelError(f"point {p!r} slides on the ground, so it is not pinned to it: leave it out of ground")
    used = {*found.ground, *found.sliders, *(p for bar in found.bars.values() for p in bar.points)}
    measured = {p for own in found.points.values() for p in own.of} | {str(s.along) for s in found.sliders.values()}
    for p in found.points:
        if p not in used | measured or (p not in used and any(p in s.between for s in found.springs.values())):
            raise ModelError(f"point {p!r} is on no bar and not on the ground: add it to a bar, or to ground")
    loose = [body for body in found.bodies if body not in found.steps]
    if loose:
        raise ModelError(
            f"{', '.join(map(repr, loose))} {'is' if len(loose) == 1 else 'are'} not connected to the ground: bars are "
            "connected by the points that they share"
        )
    for p in found.masses:
        if found.body_of(p) == GROUND:
            raise ModelError(f"masses: point {p!r} is on the ground; a mass there never moves")
    for name, bar in found.bars.items():
        _doubt_mass(f"bar {name!r}", bar, found)
    _check_freedoms(found)


def _doubt_mass(what: str, bar: DrawnBar, found: Drawing) -> None:
    """Warn of a center of mass far outside of a bar, and of an inertia that its size does not explain."""
    if bar.mass is None or bar.com is None:
        return
    points = [found.drawn[p] for p in bar.points]
    size = max(math.dist(a, b) for a in points for b in points)
    said = _DrawingReader(found.units).said
    away = min(_distance(bar.com, a, b) for a in points for b in points)
    if away > FAR_OUTSIDE * size:
        warn(
            f"{what}: its center of mass is {said(away)} away from the bar, which is {said(size)} long. com is in "
            "coordinates of the drawing, like points, and does not count from an end of the bar",
            ModelWarning,
        )
    around = math.sqrt((bar.inertia or 0.0) / bar.mass) if bar.mass else 0.0
    if around > FAR_AROUND * size:
        warn(
            f"{what}: an inertia of {bar.inertia:.6g} kg m^2 and a mass of {bar.mass:.6g} kg have a radius of gyration "
            f"of {said(around)}, but the bar is {said(size)} long. Without a unit, an inertia is in kg m^2, also in "
            "drawings in millimeters: give a unit, '100 kg mm^2' or '1e5 g mm^2'",
            ModelWarning,
        )


def _distance(p: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return how far a point is from a segment."""
    (ux, uy), (px, py) = (b[0] - a[0], b[1] - a[1]), (p[0] - a[0], p[1] - a[1])
    share = min(1.0, max(0.0, (px * ux + py * uy) / ((ux * ux + uy * uy) or 1.0)))
    return math.hypot(px - share * ux, py - share * uy)


def _check_freedoms(found: Drawing) -> None:
    motors, least = len(found.driven), min(found.gruebler, found.freedoms)
    if not found.freedoms:
        raise ModelError(
            f"{found.name!r} cannot move: it is a frame with {found.counted()} freedoms. Leave out a bar, or a pin to "
            "the ground"
        )
    has = f"{counted(motors, 'motor', 'motors')}: {found.counted()}"
    if motors > found.freedoms:
        freedoms = counted(found.freedoms, "freedom", "freedoms")
        raise ModelError(f"{found.name!r} has {freedoms} and {has}. Motors would work against one another")
    if 0 < motors < least and not found.springs:
        warn(
            f"{found.name!r} has {least} freedoms and {has}. Drive another joint, or add a bar: what no motor drives "
            "moves freely",
            ModelWarning,
        )


class _DrawingReader:
    """Reads numbers and names, lengths in the unit of the drawing."""

    def __init__(self, units: str) -> None:
        self.units, self.factor = units, LENGTHS[units]

    def said(self, length: float) -> str:
        """Return a length in the user's unit."""
        return f"{length / self.factor:.6g} {self.units}"

    def number(self, given: Any, unit: str, what: str, low: float = -math.inf) -> float:
        """Return a number in SI."""
        with_unit = isinstance(given, str)
        value = floats(in_si(given, unit, what), what)
        if value.ndim or not math.isfinite(value) or value < low or isinstance(given, bool):
            least = "" if low == -math.inf else f", {low:g} or more"
            raise ModelError(f"{what} must be one number{least}, such as 12 or '12 {unit}', not {shown(given)}")
        return float(value) * (self.factor if unit == "m" and not with_unit else 1.0)

    def words(self, given: Any, what: str, known: Iterable[str]) -> tuple[str, ...]:
        """Return names, from a list or from a text with spaces or commas between them."""
        names = given.replace(",", " ").split() if isinstance(given, str) else given
        if not isinstance(names, (list, tuple)) or not all(isinstance(x, str) for x in names):
            raise ModelError(f"{what} must be names of points, such as 'A B' or ['A', 'B'], not {shown(given)}")
        for x in names:
            refuse_unknown(f"point (of {what})", x, known)
        if len({*names}) < len(names):
            raise ModelError(f"{what} names a point twice: {' '.join(names)}")
        return tuple(names)

    def points(self, given: Mapping[str, Any]) -> dict[str, DrawnPoint]:
        """Return all points, each measured from previous ones."""
        found: dict[str, DrawnPoint] = {}
        places: dict[str, Any] = {}
        for p, own in given.items():
            found[p] = self._measured(p, own, places) if isinstance(own, Mapping) else self._placed(p, own)
            places[p] = found[p].place(*found[p].numbers, places)
        return found

    def _placed(self, p: str, own: Any) -> DrawnPoint:
        if not isinstance(own, (list, tuple, np.ndarray)) or len(own) != 2:
            raise ModelError(
                f"point {p!r} needs two coordinates, (x, y), or distances from two points before it, "
                f"{{'A': 50, 'B': 41.5, 'side': 'above'}}; not {shown(own)}"
            )
        x, y = (self.number(v, "m", f"{axis} of point {p!r}") for v, axis in zip(own, "xy", strict=True))
        return DrawnPoint((x, y))

    def _measured(self, p: str, own: Mapping[str, Any], places: Mapping[str, Any]) -> DrawnPoint:
        of = tuple(key for key in own if key not in ("side", "angle"))
        what = f"point {p!r}"
        for key in of:
            refuse_unknown(f"point before {p!r} (that it is measured from)", key, places)
        if len(of) == 1 and "angle" in own and "side" not in own:
            away = self.number(own[of[0]], "m", f"distance of {what} from {of[0]!r}", low=0.0)
            return DrawnPoint((away, self.number(own["angle"], "rad", f"angle of {what}")), of)
        if len(of) != 2 or "angle" in own:
            raise ModelError(
                f"{what} is given by distances from two points and a side, {{'A': 50, 'B': 41.5, 'side': 'above'}}, or "
                f"by one distance and an angle, {{'O': 15, 'angle': '30 deg'}}; not {shown(dict(own))}"
            )
        r = [self.number(own[key], "m", f"distance of {what} from {key!r}", low=0.0) for key in of]
        apart = math.dist(places[of[0]], places[of[1]])
        missing = max(apart - r[0] - r[1], abs(r[0] - r[1]) - apart)
        if missing > ON_LINE * sum(r) or not apart:
            raise ModelError(
                f"{what} cannot be {self.said(r[0])} from {of[0]!r} and {self.said(r[1])} from {of[1]!r}, which are "
                f"{self.said(apart)} apart: {self.said(missing)} are missing, so the drawing does not close there"
            )
        if missing > -IN_LINE * sum(r):
            return DrawnPoint((r[0], r[1]), of)
        both = {turn: DrawnPoint((r[0], r[1]), of, turn) for turn in (1, -1)}
        at = {turn: both[turn].place(r[0], r[1], places) for turn in both}
        side = own.get("side")
        if side not in SIDES:
            spots = " or ".join(f"({x / self.factor:.6g}, {y / self.factor:.6g})" for x, y in at.values())
            raise ModelError(f"{what} can be at {spots}: choose one by 'side', one of {', '.join(SIDES)}")
        axis, sign = SIDES[side]
        if abs(at[1][axis] - at[-1][axis]) <= 1e-9 * apart:
            other = "left or right" if axis else "above or below"
            raise ModelError(f"{what}: both places are equally far {'up' if axis else 'to the right'}: use {other}")
        return both[max(at, key=lambda turn: sign * at[turn][axis])]

    def bars(self, given: Mapping[str, Any], known: Any, usual: Mapping[str, Any]) -> dict[str, DrawnBar]:
        """Return all bars."""
        found = {}
        for bar, own in given.items():
            what = f"bar {bar!r}"
            content = _fields(own, DrawnBar, what) if isinstance(own, Mapping) else {"points": own}
            if "points" not in content:
                raise ModelError(f"{what} needs points that it joins: {{'points': 'A B', 'mass': 0.2}}")
            points = self.words(content["points"], what, known)
            if len(points) < 2:
                raise ModelError(f"{what} has {len(points)} point: a bar joins two points or more")
            whole = {**usual, **content}
            numbers: dict[str, Any] = {
                key: self.number(whole[key], unit, f"{key} of {what}", low=0.0)
                for key, unit in OF_BARS.items()
                if whole.get(key) is not None
            }
            if content.get("com") is not None:
                pair = [self.number(x, "m", f"com of {what}") for x in _pair(content["com"], f"com of {what}")]
                numbers["com"] = tuple(pair)
            found[bar] = _sound(what, DrawnBar(points, **numbers))
        return found

    def motors(self, given: Any, known: Any) -> tuple[tuple[str, str], ...]:
        """Return the driven points, each with a bar if one is named."""
        for joint in given.replace(",", " ").split() if isinstance(given, str) else ():
            point = joint.removesuffix("_slide")
            if joint not in known and point in known:
                raise UnknownNameError("point (of motor)", joint, known, meant=point)
        named = dict(given) if isinstance(given, Mapping) else dict.fromkeys(self.words(given, "motor", known), "")
        self.words(tuple(named), "motor", known)
        return tuple((p, str(bar)) for p, bar in named.items())

    def slider(self, p: str, own: Any, drawn: Drawing) -> DrawnSlider:
        """Return a slider; a line given by two points must go through the point that slides on it."""
        what = f"slider {p!r}"
        content = _fields(own, DrawnSlider, what) if isinstance(own, Mapping) else {"along": own}
        for key in ("on", "bar"):
            if content.get(key, GROUND) not in (GROUND, *drawn.bars):
                raise UnknownNameError(f"bar ({key!r} of {what})", content[key], (GROUND, *drawn.bars))
        bar = content.get("bar", "")
        if bar and p not in drawn.bars[bar].points:
            raise ModelError(f"{what}: bar {bar!r} does not have that point")
        along, on = content.get("along"), content.get("on")
        if isinstance(along, str) and along not in DIRECTIONS and quantity(along) is None:
            along = along.replace(",", " ").split()
        if isinstance(along, (list, tuple)) and along and all(isinstance(x, str) and x in drawn.points for x in along):
            return self._on_line(p, self.words(along, what, drawn.points), on, bar, drawn)
        if isinstance(along, str) and along in DIRECTIONS:
            return DrawnSlider(DIRECTIONS[along], on or GROUND, bar)
        if not isinstance(along, (list, tuple)) and along is not None:
            return DrawnSlider(self.number(along, "rad", f"direction of {what}"), on or GROUND, bar)
        if along is None or len(along) != 2 or not all(isinstance(x, (int, float)) for x in along) or not any(along):
            raise ModelError(
                f"{what} slides along 'x', 'y', an angle '30 deg', a direction (1, 0) or a line through points 'C D', "
                f"not {shown(content.get('along'))}"
            )
        return DrawnSlider(math.atan2(along[1], along[0]), on or GROUND, bar)

    def _on_line(self, p: str, line: tuple[str, ...], on: str | None, bar: str, drawn: Drawing) -> DrawnSlider:
        what = f"slider {p!r}"
        if on is None:
            owners = [b for b, own in drawn.bars.items() if {*line} <= {*own.points}]
            owners += [GROUND] if {*line} <= {*drawn.ground} else []
            if len(owners) != 1:
                raise ModelError(f"{what}: {' and '.join(line)} are on {len(owners)} bodies: choose one, {{'on': bar}}")
            on = owners[0]
        others = [q for q in line if q != p]
        far = max(others, key=lambda q: math.dist(drawn.drawn[p], drawn.drawn[q]), default=None)
        if far is None or not math.dist(drawn.drawn[p], drawn.drawn[far]):
            raise ModelError(f"{what} slides along a line to another point of the body it slides on, not to itself")
        (ax, ay), (bx, by) = drawn.drawn[p], drawn.drawn[far]
        for q in others:
            x, y = drawn.drawn[q]
            off = abs((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / math.dist((ax, ay), (bx, by))
            if off > 1e-6 * math.dist((ax, ay), (bx, by)):
                raise ModelError(
                    f"{what} is drawn {self.said(off)} off the line through {' and '.join(line)} it slides on: draw it "
                    "there, or give a direction, {'along': (1, 0)}"
                )
        return DrawnSlider(far, on, bar)

    def spring(self, name: str, own: Any, known: Any) -> DrawnSpring:
        """Return a spring."""
        what = f"spring {name!r}"
        content = _fields(own, DrawnSpring, what)
        between = self.words(content.get("between", ()), what, known)
        if len(between) != 2 or "stiffness" not in content:
            raise ModelError(f"{what} needs two points and a stiffness: {{'between': 'A B', 'stiffness': 500}}")
        sides = {key: content.get(key, False) for key in ("pushes_only", "pulls_only")}
        if not all(isinstance(x, bool) for x in sides.values()) or all(sides.values()):
            raise ModelError(f"{what}: pushes_only and pulls_only are True or False, and not both True")
        if isinstance(content.get("rest"), (list, tuple)):
            raise ModelError(
                f"{what} has one length at rest, not {shown(content['rest'])}. If it is slack when it is longer, add "
                "'pushes_only': True; if it is slack when it is shorter, 'pulls_only': True"
            )
        rest = None if content.get("rest") is None else self.number(content["rest"], "m", f"rest of {what}", low=0.0)
        stiffness, damping = (
            self.number(content.get(key, 0.0), unit, f"{key} of {what}", low=0.0)
            for key, unit in (("stiffness", "N/m"), ("damping", "N s/m"))
        )
        if rest == 0.0 and any(sides.values()):
            side = "pulls" if sides["pulls_only"] else "pushes"
            raise ModelError(
                f"{what} is never shorter than its rest of 0: leave {side}_only out, or give a longer rest"
            )
        return DrawnSpring((between[0], between[1]), stiffness, rest, damping, **sides)

    def gear(self, name: str, own: Any, drawn: Drawing) -> DrawnGear:
        """Return a pair of wheels."""
        what = f"gear {name!r}"
        content = dict(_fields(own, DrawnGear, what, ("teeth",)))
        given = content.get("wheels", ())
        wheels = given.replace(",", " ").split() if isinstance(given, str) else list(given)
        for bar in wheels:
            refuse_unknown(f"bar (of {what})", bar, drawn.bars)
        if len(wheels) != 2 or ("ratio" in content) == ("teeth" in content):
            raise ModelError(f"{what} needs two bars, and a ratio or teeth: {{'wheels': 'a b', 'teeth': (20, 40)}}")
        if "teeth" in content:
            one, two = (self.number(x, "1", f"teeth of {what}", low=1e-300) for x in _pair(content["teeth"], what))
            content["ratio"] = -one / two
        numbers = {
            key: self.number(content.get(key, 0.0), unit, f"{key} of {what}", low)
            for key, unit, low in (
                ("ratio", "1", -math.inf), ("backlash", "rad", 0.0), ("stiffness", "1", 0.0), ("damping", "1", 0.0),
            )
        }  # fmt: skip
        if not numbers["ratio"]:
            raise ModelError(f"{what}: a ratio of zero drives nothing")
        if numbers["backlash"] and not numbers["stiffness"]:
            raise ModelError(f"{what} has backlash, so its teeth need a stiffness, in N m per rad of the second wheel")
        made = DrawnGear((wheels[0], wheels[1]), **numbers)
        drawn.geared(made)
        return made


def _sound(what: str, bar: DrawnBar) -> DrawnBar:
    """Return a bar after checking that its numbers fit together."""
    if bar.mass is None and bar.density is not None and (not bar.width or not bar.thickness):
        raise ModelError(f"{what} has a density, so it needs a width and a thickness, too; or give its mass")
    if bar.mass is None and bar.density is None and bar.thickness is not None:
        raise ModelError(
            f"{what} has a thickness, so it needs a density, too; or give its mass. A bar without mass has neither"
        )
    if bar.mass is None and (bar.com is not None or bar.inertia is not None):
        raise ModelError(f"{what}: a center of mass or an inertia needs a mass")
    if bar.inertia is not None and bar.com is None:
        raise ModelError(
            f"{what}: an inertia needs com, the center of mass that it is about, in coordinates of the drawing"
        )
    return bar


def _named_bars(bars: Any) -> Mapping[str, Any]:
    """Return bars by name; those given in a list are named after their points."""
    if isinstance(bars, (list, tuple)):
        listed = [own.replace(",", " ").split() if isinstance(own, str) else own for own in bars]
        return {"-".join(map(str, own)): own for own in listed}
    return _table(bars, "bars")


def _table(given: Any, what: str, known: Any = None) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(f"{what} must map names to what they are, such as {{'A': ...}}, not {shown(given)}")
    for key in given:
        if known is not None and key not in known:
            raise UnknownNameError(f"point (of {what})", key, known)
    return given


def _fields(given: Any, kind: type, what: str, more: Sequence[str] = ()) -> Mapping[str, Any]:
    known = [*(f.name for f in fields(kind)), *more]
    content = _table(given, what)
    for key in content:
        refuse_unknown(f"property of {what}", key, known)
    return content


def _pair(given: Any, what: str) -> Sequence[Any]:
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise ModelError(f"{what} needs two numbers, not {shown(given)}")
    return given


def _row(given: Any, count: int, what: str) -> list[float]:
    row = floats(given, what)
    if row.shape != (count,) or not all(map(math.isfinite, row)):
        raise ModelError(f"{what} of a planar linkage must be {count} finite numbers, not {shown(given)}")
    return [float(x) for x in row]

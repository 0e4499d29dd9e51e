"""The numbers of a mechanism that a search may change, their bounds, and the numbers tied to them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.algorithms.loop_constraints import arms
from kinetree.errors import OptionError, UnknownNameError
from kinetree.evaluation.parameters import DRAWING, GivenParameters, ParameterReader, Place, own_numbers
from kinetree.io.units import LENGTHS, in_si
from kinetree.model.linkages.drawing import drawing_of
from kinetree.model.substitution import OF_BODIES, OF_FRAMES, OF_JOINTS, OF_LOOPS, OF_TENDONS, SIZES, TABLES
from kinetree.robot.make import make
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

OTHER_UNIT = 100.0
"""Lengths that are too long or too short by this factor were meant in another unit."""

COMPLEX_STEP = 1e-30
_NUMBER = re.compile(r"(?:(bodies|joints|frames|loops|tendons)\.)?(.+?)\.(\w+?)(?:\[(\d)\]|\.([xyz]))?")
_NAME = re.compile(r"[A-Za-z_][\w\-]*(?:\.[A-Za-z_]\w*|\[\d\])+|[A-Za-z_]\w*")
_FUNCTIONS = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt}
_OF_TABLE = {"bodies": OF_BODIES, "joints": OF_JOINTS, "frames": OF_FRAMES, "loops": OF_LOOPS, "tendons": OF_TENDONS}


class FreeNumbers:
    """Unknowns of a search, (..., n), and the numbers of the model that follow from them.

    Parameters
    ----------
    robot : Robot
    given : mapping or sequence of str
        As ``free`` of :func:`kinetree.design`.

    Attributes
    ----------
    names, units : tuple of str
        Names and units of the unknowns.
    low, high, start : ndarray, shape (n,)
        Bounds, and the values as drawn.
    """

    def __init__(self, robot: Robot, given: Any) -> None:
        self.robot, self.model, self.drawn = robot, robot.model, drawing_of(robot.model)
        lengths = arms(self.model) or [1.0]
        if self.drawn:
            lengths = [float(np.ptp(list(self.drawn.drawn.values()), axis=0).max())]
        self.size = max(lengths)
        """How large the mechanism is, in meters."""
        entries = self._entries(given)
        self.ties = {name: NumberTie(text, name) for name, text in entries.items() if _is_tie(text)}
        own = [name for name in entries if name not in self.ties]
        used = {name for tie in self.ties.values() for name in tie.names}
        self.numbers = {name: self._number(name, name in used) for name in (*own, *self.ties)}
        self.variables = [name for name in own if self.numbers[name] is None]
        self.names = tuple(own)
        self._units: dict[str, str] = {}
        self.units = tuple(self._unit(name, entries[name]) for name in own)
        if not own:
            raise OptionError("free names no number that may change: give at least one, such as free={'A.x': (10, 60)}")
        self._read_places()
        self.start = np.array([self._own(name) for name in own])
        self.low, self.high = np.array([self._bounds(name, entries[name]) for name in own]).T
        self._refuse_tied()
        self._start_of_variables()

    # ---------------------------------------------------------------- reading

    def _entries(self, given: Any) -> dict[str, Any]:
        """Return the given entries for each number: points become two numbers, and groups become ties."""
        if isinstance(given, str):
            given = given.split()
        if not isinstance(given, Mapping):
            if not isinstance(given, Sequence) or not all(isinstance(x, str) for x in given):
                raise OptionError(f"free is names of numbers, or a mapping from these to bounds, not {given!r}")
            given = dict.fromkeys(given)
        found: dict[str, Any] = {}
        for key, value in given.items():
            first, *others = [key] if isinstance(key, str) else key
            if self.drawn and first in self.drawn.points and f"{first}.mass" not in (first,):
                found |= {f"{first}.{k}": value for k in self.drawn.points[first].keys}
            else:
                found[first] = value
            found |= dict.fromkeys(others, f"= {first}")
        return found

    def _number(self, name: str, is_used: bool) -> tuple[Place, int] | None:
        """Return where a number is in the model; None for a name that only ties use."""
        if self.drawn and name in self.drawn.numbers:
            return Place(DRAWING, key=name), 0
        found = _NUMBER.fullmatch(name)
        if found is None:
            if is_used:
                return None
            known = [*self.drawn.numbers, *self.drawn.points] if self.drawn else self._known()
            raise UnknownNameError("number that could be free", name, known)
        table, owner, key, entry, axis = found.groups()
        owners: dict[str, Any] = {"bodies": self.model.body_index, "joints": self.model.joint_index}
        for t in ("frames", "loops", "tendons"):
            owners[t] = [one.name for one in getattr(self.model, t)]
        fitting = [t for t in ([table] if table else TABLES) if owner in owners[t] and key in _OF_TABLE[t]]
        if not fitting:
            known = list(self.drawn.numbers) if self.drawn else self._known()
            raise UnknownNameError("number that could be free", name, known)
        size = 6 if key == "inertia" else SIZES.get(key, (1,))[0]
        place = Place(fitting[0], owner, key, size, alone=size == 1)
        which = "xyz".index(axis) if axis else int(entry or 0)
        if size > 1 and entry is None and axis is None:
            raise OptionError(f"{name!r} is {size} numbers: name one of them, {name}[0] to {name}[{size - 1}]")
        if which >= size:
            raise OptionError(f"{name!r}: {key} has {size} numbers, [0] to [{size - 1}]")
        return place, which

    def _known(self) -> list[str]:
        bodies = [f"{b.name}.mass" for b in self.model.bodies]
        names = [*self.model.joint_index, *(loop.name for loop in self.model.loops)]
        joints = [f"{x}.position.{a}" for x in names for a in "xyz"]
        return [*bodies, *joints, *(f"{x.name}.seat.{a}" for x in self.model.loops for a in "xyz"),
                *(f"{t.name}.{key}" for t in self.model.tendons for key in ("stiffness", "rest"))]  # fmt: skip

    def _read_places(self) -> None:
        tables: dict[str, Any] = {}
        for number in self.numbers.values():
            if number:
                place = number[0]
                values = own_numbers(self.model, place)
                one = values[0] if place.alone else values
                if place.table == DRAWING:
                    tables.setdefault(DRAWING, {})[place.key] = one
                else:
                    tables.setdefault(place.table, {}).setdefault(place.owner, {})[place.key] = one
        self.given: GivenParameters = ParameterReader(self.model)(tables)
        self.places = self.given.places
        assert self.given.numbers is not None
        self.fixed: Array = np.asarray(self.given.numbers, dtype=float)
        self.columns = {
            name: self.given.slice_of(number[0]).start + number[1] for name, number in self.numbers.items() if number
        }

    def _own(self, name: str) -> float:
        return float(self.fixed[self.columns[name]]) if name in self.columns else np.nan

    def _unit(self, name: str, given: Any = None) -> str:
        """Return the SI unit of a number; for a name that the user invented, find it from the ties, and store it."""
        if name in self._units:
            return self._units[name]
        number = self.numbers[name] if name in self.numbers else self._number(name, False)
        if number is None:
            self._units[name] = self._own_unit(name, given)
            return self._units[name]
        place, _ = number
        if place.table == DRAWING:
            return str(self.drawn.unit_of(place.key)) if self.drawn else "m"
        known = {"mass": "kg", "inertia": "kg m^2", "rpy": "rad", "stiffness": "N/m", "rest": "m"}
        return "m" if place.key in ("position", "seat", "com") else known.get(place.key, "")

    def _own_unit(self, name: str, given: Any) -> str:
        """Return the unit of a name that only ties use; empty if they do not determine it."""

        def known(other: str) -> str | None:
            return None if other in self.numbers and self.numbers[other] is None else self._unit(other)

        found = {u for tie in self.ties.values() for n, u in tie.kinds(self._unit(tie.what), known) if n == name}
        kinds = sorted(found - {None})  # type: ignore[type-var]
        if len(kinds) == 1:
            return str(kinds[0])
        texts = [x for x in (given if isinstance(given, (list, tuple)) else [given]) if isinstance(x, str)]
        for unit in ("m", "rad", "kg", "N/m") if texts else ():
            try:
                if not any(isinstance(in_si(x, unit, name), str) for x in texts):
                    return unit
            except OptionError:
                continue
        if "m" in kinds and self._factor("m") != 1.0:
            said = " and ".join(f"in {kind}" if kind else "without unit" for kind in kinds)
            raise OptionError(
                f"free number {name!r}: numbers of different kinds are tied to it, {said}: give its bounds with units, "
                "such as ('20 mm', '60 mm')"
            )
        return ""

    def _factor(self, unit: str) -> float:
        """Return the factor for plain numbers: lengths, also those in formulas, are in the drawing's unit."""
        return LENGTHS[self.drawn.units] if unit == "m" and self.drawn else 1.0

    def in_si(self, value: Any, unit: str, what: str) -> float:
        """Return a number in SI; plain lengths are in the unit of the drawing."""
        try:
            read = in_si(value, unit or "1", what)
            found = float(read)
        except (TypeError, ValueError):
            raise OptionError(f"{what}: {value!r} is no number" + (f" in {unit}" if unit else "")) from None
        return found * (self._factor(unit) if read is value else 1.0)

    def _bounds(self, name: str, given: Any) -> tuple[float, float]:
        unit, own = self.units[self.names.index(name)], self._own(name)
        if np.isnan(own) and (given is None or isinstance(given, (int, float, str))):
            raise OptionError(f"free number {name!r} needs bounds: free={{{name!r}: (low, high)}}")
        if given is None:
            return self._usual(name, unit, own)
        if isinstance(given, (int, float, str)):
            aside = self.in_si(given, unit, f"free number {name!r}")
            low, high = own - aside, own + aside
        elif isinstance(given, Sequence) and len(given) == 2:
            low, high = (self.in_si(x, unit, f"bounds of {name!r}") for x in given)
        else:
            raise OptionError(
                f"free number {name!r}: give bounds (low, high), how far it may be from where it is drawn, a tie "
                f"'= -B.x', or None; not {given!r}"
            )
        if not low < high or not np.isfinite([low, high]).all():
            raise OptionError(f"free number {name!r}: from {low:g} to {high:g} {unit} there is nothing to choose")
        if unit == "m" and np.isfinite(own):
            self._refuse_lengths(low, high, own, f"bounds of {name!r}")
        return low, high

    def _refuse_lengths(self, low: float, high: float, own: float, what: str, least: float = 0.0) -> None:
        """Refuse a length between bounds that were meant in another unit."""
        usual, (near, far) = max(abs(own), self.size), sorted((abs(low), abs(high)))
        refuse_other_unit(max(far, least), usual, what)
        if low * high > 0.0 and near > usual:
            refuse_other_unit(near, usual, what, 5.0)

    def _refuse_tied(self) -> None:
        """Refuse lengths that are tied to numbers whose bounds were meant in another unit."""
        low, high = self.values(self.low), self.values(self.high)
        for name, tie in self.ties.items():
            k = self.columns[name]
            if self._unit(name) == "m" and np.isfinite([low[k], high[k]]).all():
                least = 0.0 if set(tie.names) & {*self.variables} else self.size  # the others may cancel
                what = f"{name!r}, which is tied by '= {tie.text}'"
                self._refuse_lengths(float(low[k]), float(high[k]), float(self.fixed[k]), what, least)

    def _usual(self, name: str, unit: str, own: float) -> tuple[float, float]:
        """Return the default bounds of a number."""
        key = name.rpartition(".")[2]
        if unit == "rad":
            return own - np.pi, own + np.pi
        if unit == "m" and (key in ("x", "y", "z") or "[" in name):
            return own - 1.5 * self.size, own + 1.5 * self.size
        if own > 0.0:
            return own / 5.0, own * 5.0
        raise OptionError(f"free number {name!r} needs bounds: free={{{name!r}: (low, high)}}")

    def _start_of_variables(self) -> None:
        """Fit the names that only ties use to the drawing by least squares, and move everything within bounds."""
        which = [self.names.index(name) for name in self.variables]
        if which:
            u = np.where(np.isnan(self.start), (self.low + self.high) / 2.0, self.start)
            rows = [self.columns[name] for name in self.ties]
            for _ in range(20):
                off = self.fixed[rows] - self.values(u)[rows]
                u[which] += np.linalg.lstsq(self.slope(u)[np.ix_(rows, which)], off, rcond=None)[0]
            self.start = u
        self.start = np.clip(self.start, self.low, self.high)

    # ---------------------------------------------------------------- numbers of the model

    def values(self, u: Array) -> Array:
        """Return the numbers of the model that vary, (..., p), from unknowns (..., n)."""
        found = np.broadcast_to(self.fixed, (*u.shape[:-1], len(self.fixed))).astype(u.dtype)
        known: dict[str, Any] = {name: u[..., k] for k, name in enumerate(self.names)}
        for name, tie in self.ties.items():
            given = {n: self._known_value(n, known, tie.what) / self._factor(self._unit(n)) for n in tie.names}
            known[name] = tie(given) * self._factor(self._unit(name))
        for name, column in self.columns.items():
            found[..., column] = known[name]
        return found

    def _known_value(self, name: str, known: Mapping[str, Any], what: str) -> Any:
        if name in known:
            return known[name]
        number = self._number(name, False)
        assert number is not None
        if name in self.ties:
            raise OptionError(
                f"free number {what!r} is tied to {name!r}, which is tied itself, behind it: change the order"
            )
        return own_numbers(self.model, number[0])[number[1]]

    def slope(self, u: Array) -> Array:
        """Return the derivatives of these numbers with respect to the unknowns, (..., p, n)."""
        steps = u[..., None, :] + 1j * COMPLEX_STEP * np.eye(u.shape[-1])
        return np.swapaxes(self.values(steps).imag / COMPLEX_STEP, -1, -2)

    def parameters(self, u: Array) -> GivenParameters:
        """Return parameters of designs, (..., n)."""
        return GivenParameters(self.places, self.values(u), self.given.form)

    def built(self, u: Array) -> Robot:
        """Return a design as a robot."""
        x = self.values(u)
        if self.drawn and all(place.table == DRAWING for place in self.places):
            changed = {place.key: float(x[self.given.slice_of(place)][0]) for place in self.places}
            changed = {key: value if _is_no_length(key) else self.in_drawing(value) for key, value in changed.items()}
            own, drawing = self.robot.evaluator, self.drawn.with_numbers(changed)
            with np.errstate(invalid="ignore"):
                lost = [name for name, at in drawing.positions().items() if not np.isfinite(at).all()]
            if lost:
                raise OptionError(f"the drawing does not close with these numbers: nothing is at {lost[0]!r}")
            return make(drawing.model(), backend=own.backend, cpu=own.cpu)
        tables: dict[str, Any] = {}
        if self.drawn and any(place.table == DRAWING for place in self.places):
            raise OptionError(
                "free numbers of the drawing and of the model behind it cannot be mixed: name numbers such as "
                f"{', '.join(list(self.drawn.numbers)[:3])} only"
            )
        for place in self.places:
            part = x[self.given.slice_of(place)]
            one = float(part[0]) if place.alone else part
            tables.setdefault(place.table, {}).setdefault(place.owner, {})[place.key] = one
        return self.robot.with_parameters(tables)

    def random(self, count: int, rng: np.random.Generator) -> Array:
        """Return random designs within the bounds, (count, n), preceded by the one as drawn."""
        found = rng.uniform(self.low, self.high, (count, len(self.names)))
        found[0] = self.start
        return found

    def in_drawing(self, length: float) -> float:
        """Return a length as it comes back from a number in the drawing's unit, so that files do not mix units."""
        unit = LENGTHS[self.drawn.units] if self.drawn else 1.0
        return float(f"{length / unit:.15g}") * unit

    def shown(self, value: float, unit: str) -> tuple[float, str]:
        """Return a number and its unit as the drawing has them."""
        if unit == "m" and self.drawn and self.drawn.units != "m":
            return value / LENGTHS[self.drawn.units], self.drawn.units
        return (float(np.degrees(value)), "deg") if unit == "rad" else (value, unit)


def _is_no_length(key: str) -> bool:
    return key.rpartition(".")[2] in ("angle", "mass", "stiffness")


def refuse_other_unit(given: float, usual: float, what: str, most: float = OTHER_UNIT) -> None:
    """Refuse lengths that are hundreds of times longer, or shorter, than the mechanism."""
    if given > most * usual or 0.0 < given < usual / OTHER_UNIT / 2.0:
        raise OptionError(
            f"{what}: {given:g} m does not fit a mechanism of some {usual:.3g} m. Is that in another unit? Write it "
            "with its unit, such as '30 mm'"
        )


def _is_tie(given: Any) -> bool:
    return isinstance(given, str) and given.lstrip().startswith("=")


class NumberTie:
    """A number that follows from others: ``= -0.5 * r``, ``= r * cos(a) + 0.1``, with lengths in the drawing's unit.

    Parameters
    ----------
    text : str
    what : str
        The number, for messages.
    """

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what = text.strip().lstrip("=").strip(), what
        self.names: list[str] = []
        plain = _NAME.sub(self._stand_in, self.text)
        try:
            self.tree = ast.parse(plain, mode="eval").body
        except SyntaxError:
            raise OptionError(f"free number {what!r}: {text!r} is no formula such as '= -B.x' or '= 0.5 * r'") from None

    def _stand_in(self, found: re.Match[str]) -> str:
        name = found[0]
        if name in _FUNCTIONS:
            return name
        if name not in self.names:
            self.names.append(name)
        return f"_{self.names.index(name)}"

    def __call__(self, known: Mapping[str, Any]) -> Any:
        """Return the number from those that it follows from."""
        return self._value(self.tree, [known[name] for name in self.names])

    def _value(self, node: ast.expr, known: list[Any]) -> Any:
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id=name):
                return known[int(name[1:])]
            case ast.UnaryOp(op=ast.USub(), operand=one):
                return -self._value(one, known)
            case ast.Call(func=ast.Name(id=name), args=[one]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self._value(one, known))
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._value(left, known), self._value(right, known)
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b
                    case ast.Div():
                        return a / b
                    case ast.Pow():
                        return a**b
        raise OptionError(
            f"free number {self.what!r}: '= {self.text}' may have + - * / **, sin, cos, tan and sqrt only"
        )

    def kinds(self, unit: str, known: Callable[[str], str | None]) -> list[tuple[str, str | None]]:
        """Return the names in the formula with the unit each needs for a result in ``unit``; None if undetermined."""
        return self._kinds(self.tree, unit, lambda node: self._unit_of(node, known))

    def _kinds(self, node: ast.expr, unit: str | None, of: Callable[[ast.expr], str | None]) -> list[Any]:
        match node:
            case ast.Name(id=name) if name[1:].isdigit():
                return [(self.names[int(name[1:])], unit)]
            case ast.UnaryOp(operand=one):
                return self._kinds(one, unit, of)
            case ast.Call(func=ast.Name(id=name), args=[one]):
                return self._kinds(one, None if name == "sqrt" else "rad", of)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = None, None
                if isinstance(op, (ast.Add, ast.Sub)):
                    a, b = unit, unit
                elif isinstance(op, (ast.Mult, ast.Div)) and unit is not None:
                    a = unit if of(right) == "" else "" if of(right) == unit and isinstance(op, ast.Mult) else None
                    b = "" if of(left) == unit else unit if of(left) == "" and isinstance(op, ast.Mult) else None
                return self._kinds(left, a, of) + self._kinds(right, b, of)
        return []

    def _unit_of(self, node: ast.expr, known: Callable[[str], str | None]) -> str | None:
        """Return the unit of a part; None if a name has none yet, or if it is a product of units."""
        match node:
            case ast.Name(id=name) if name[1:].isdigit():
                return known(self.names[int(name[1:])])
            case ast.UnaryOp(operand=one):
                return self._unit_of(one, known)
            case ast.Call(func=ast.Name(id="sqrt"), args=[one]):
                return "" if self._unit_of(one, known) == "" else None
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._unit_of(left, known), self._unit_of(right, known)
                if isinstance(op, (ast.Add, ast.Sub)):
                    return a or b
                if isinstance(op, ast.Div) and a == b and a:
                    return ""
                return a if b == "" and (a == "" or not isinstance(op, ast.Pow)) else b if a == "" else None
        return ""

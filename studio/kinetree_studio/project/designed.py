"""A search for dimensions that was made in the studio: what may change, what is wanted, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinetree import design
from kinetree.errors import refuse_unknown
from kinetree.model.linkages.drawing import drawing_of
from kinetree.robot.robot import Robot

from .run_code import CodePart, RunProblem, number
from .runs import Numbers, StudioRun

PINS_APART = 1e-9
"""Entries of a position below this are zero: of a planar mechanism those across its plane."""

KINDS_OF_MEAN = ("peak", "rms", "mean")


class GoalKind(NamedTuple):
    """A goal as the page offers it.

    words: What it is called; ``{of}`` is chosen from a list.
    name: Its class in :mod:`kinetree.design`.
    of: The list: ``"motors"``, ``"joints"``, ``"points"`` or none.
    argument: What the chosen one is called in Python.
    by: Whether peak, rms or mean is chosen.
    unit: Of its bounds.
    """

    words: str
    name: str
    of: str = ""
    argument: str = ""
    by: bool = False
    unit: str = ""


GOALS = {
    "torque": GoalKind("torque of the motors", "Torque", by=True, unit="N m"),
    "pin force": GoalKind("force in a joint", "PinForce", "pins", "joint", True, "N"),
    "energy": GoalKind("energy of a turn", "Energy", unit="J"),
    "shaking force": GoalKind("shaking force on the ground", "ShakingForce", by=True, unit="N"),
    "transmission angle": GoalKind("least transmission angle", "TransmissionAngle", "pins", "at", unit="rad"),
    "swing": GoalKind("swing of a joint", "Swing", "pins", "joint", unit="rad"),
    "path": GoalKind("path of a point through points", "Path", "points", "point", unit="m"),
}
"""What can be wanted or limited, by name."""


@dataclass(frozen=True)
class DesignGoalAsked:
    """A goal, or with a bound a limit.

    Attributes
    ----------
    kind : str
        One of :data:`GOALS`.
    of : str
        The joint or point, if it has one.
    by : str
        ``"peak"``, ``"rms"`` or ``"mean"``, if it has several.
    weight : float
    low, high : float or None
        At least and at most, of limits.
    points : tuple of pairs
        Of a path, in meters.
    """

    kind: str
    of: str = ""
    by: str = "peak"
    weight: float = 1.0
    low: float | None = None
    high: float | None = None
    points: tuple[tuple[float, float], ...] = ()

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> DesignGoalAsked:
        """Read one from plain values."""
        bounds = {key: None if given.get(key) is None else float(given[key]) for key in ("low", "high")}
        points = tuple((float(x), float(y)) for x, y in given.get("points") or ())
        words = {key: str(given[key]) for key in ("kind", "of", "by") if given.get(key)}
        return cls(weight=float(given.get("weight") or 1.0), points=points, **bounds, **words)  # type: ignore[arg-type]

    @property
    def code(self) -> str:
        """The goal as Python writes it."""
        refuse_unknown("goal", self.kind, GOALS)
        kind = GOALS[self.kind]
        given = [repr(self.of)] if kind.of and self.of else []
        if kind.of and not self.of and kind.name != "TransmissionAngle":
            raise RunProblem(f"choose what is meant by {kind.words!r}", "design")
        if self.kind == "path":
            if len(self.points) < 2:
                raise RunProblem("a path needs two points at least: type them as 'x y; x y'", "design")
            given.append(f"[{', '.join(f'({x!r}, {y!r})' for x, y in self._in_units())}]")
        if kind.by:
            refuse_unknown("kind of mean", self.by, KINDS_OF_MEAN)
            given.append(f"kind={self.by!r}")
        if self.weight != 1.0:
            given.append(f"weight={number(self.weight)}")
        return f"kt.design.{kind.name}({', '.join(given)})"

    def _in_units(self) -> list[tuple[str, str]]:
        return [(f"{x!r} m", f"{y!r} m") for x, y in self.points]

    @property
    def limits(self) -> list[str]:
        """The limits as Python writes them."""
        bounds = [(">=", self.low), ("<=", self.high)]
        found = [f"{self.code} {sign} {number(x)}" for sign, x in bounds if x is not None]
        if not found:
            raise RunProblem(f"a limit of {GOALS[self.kind].words!r} needs 'at least' or 'at most'", "design")
        return found


@dataclass(frozen=True, kw_only=True)
class DesignedRun(StudioRun):
    """A search for numbers of a mechanism.

    Attributes
    ----------
    free : tuple of str
        Numbers that may change.
    lows, highs : tuple of float
        Their bounds, in SI.
    wanted, limits : tuple of DesignGoalAsked
    speed : float
        Of the drive.
    samples, starts, seed : int
        Samples of the motion, starts of the search (0: as many as it takes), and the seed of the random ones.
    """

    KIND: ClassVar[str] = "design"

    free: tuple[str, ...]
    lows: Numbers
    highs: Numbers
    wanted: tuple[DesignGoalAsked, ...]
    limits: tuple[DesignGoalAsked, ...] = ()
    speed: float = 1.0
    samples: int = 36
    starts: int = 4
    seed: int = 0

    def content(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"kind": self.KIND, **asdict(self)}

    def parts(self, name: str, robot: Robot, told: str = "False") -> list[CodePart]:
        """Return the code; the result is ``found``."""
        if not self.free:
            raise RunProblem("nothing may change: choose a number at least", "free")
        if not self.wanted:
            raise RunProblem("nothing is wanted: add a goal", "design")
        units = {one["name"]: one["unit"] for one in free_numbers(robot)}
        bounds = []
        for one, low, high in zip(self.free, self.lows, self.highs, strict=True):
            refuse_unknown("number that may change", one, units)
            if not low < high:
                raise RunProblem(
                    f"{one} goes from a smaller number to a larger one, not from {low:g} to {high:g}", "free"
                )
            ends = [f"'{low!r} m'", f"'{high!r} m'"] if units[one] == "m" else [number(low), number(high)]
            bounds.append(f"{one!r}: ({ends[0]}, {ends[1]})")
        limits = [code for one in self.limits for code in one.limits]
        lines = [
            f"found = kt.design({name}, free={{{', '.join(bounds)}}},",
            f"    wanted=[{', '.join(one.code for one in self.wanted)}],",
            *([f"    subject_to=[{', '.join(limits)}],"] if limits else []),
            f"    speed={number(self.speed)}, samples={self.samples}, starts={self.starts or None}, seed={self.seed}, "
            f"progress={told})",
        ]
        return [CodePart("design", lines)]

    def lines(self, name: str, robot: Robot) -> list[str]:
        """Return Python code that repeats it."""
        parts = self.parts(name, robot)
        return ["# a search for dimensions", *(line for part in parts for line in part.lines), "print(found)"]


def read_goals(given: Sequence[Mapping[str, Any]]) -> tuple[DesignGoalAsked, ...]:
    """Read goals from plain values."""
    return tuple(DesignGoalAsked.read(one) for one in given)


def free_numbers(robot: Robot) -> list[dict[str, Any]]:
    """Return the numbers of a mechanism that may change: name, unit, value and usual bounds."""
    drawing = drawing_of(robot.model)
    found: list[tuple[str, str, float]] = []
    if drawing is not None:
        for name, value in drawing.numbers.items():
            key = name.rpartition(".")[2]
            unit = {"mass": "kg", "stiffness": "N/m", "angle": "rad"}.get(key, "m")
            found.append((name, unit, float(value)))
    else:
        places = [(j.name, "position", j.placement.position) for j in robot.model.joints]
        places += [(loop.name, "position", loop.placement.position) for loop in robot.model.loops]
        places += [(loop.name, "seat", loop.seat.position) for loop in robot.model.loops]
        for owner, key, position in places:
            for axis, x in zip("xyz", position, strict=True):
                if abs(float(x)) > PINS_APART:
                    found.append((f"{owner}.{key}.{axis}", "m", float(x)))
        found += [(f"{body.name}.mass", "kg", float(body.mass)) for body in robot.model.bodies if body.mass > 0.0]
    size = max((abs(x) for _, unit, x in found if unit == "m"), default=0.0)
    least = {"m": 0.05 * size, "rad": 0.2}
    known = [(name, unit, x, _reach(x, least.get(unit, 0.0))) for name, unit, x in found if np.isfinite(x)]
    return [{"name": n, "unit": unit, "value": x, "low": x - by, "high": x + by} for n, unit, x, by in known]


def _reach(x: float, least: float) -> float:
    """Return how far a number may usually change: by a fifth, or by a least amount."""
    return float(f"{max(0.2 * abs(x), least) or 1.0:.3g}")


def report(found: design.FoundDesign) -> dict[str, Any]:
    """Return what the page tells of a design: goals and numbers before and after."""
    return {
        "solved": bool(found.solved), "notes": [str(note) for note in found.notes],
        "goals": [
            {"name": g.label, "unit": g.unit, "before": float(g.before), "after": float(g.after), "wanted": g.wanted,
             "bound": None if g.bound is None else float(g.bound), "met": bool(g.is_met)}
            for g in found.goals
        ],
        "numbers": [
            {"name": c.name, "unit": c.unit, "before": float(c.before), "after": float(c.after), "at": c.at}
            for c in found.table
        ],
    }  # fmt: skip

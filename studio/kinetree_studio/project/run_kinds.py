"""All kinds of runs, and how one is read from plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kinetree.errors import OptionError
from kinetree.robot.robot import Robot

from .designed import DesignedRun, read_goals
from .planned_motion import PlannedMotion, finite_rows
from .runs import LetGo, MotorTurn, StudioRun
from .simulated import SimulatedRun
from .swept import SweptRun

KINDS: dict[str, type[StudioRun]] = {
    kind.KIND: kind for kind in (MotorTurn, LetGo, PlannedMotion, SimulatedRun, SweptRun, DesignedRun)
}

READERS: dict[str, Callable[[Any], Any]] = {
    "str": str, "float": float, "bool": bool, "int": int,
    "Numbers": lambda x: tuple(float(y) for y in x),
    "tuple[str, ...]": lambda x: tuple(str(y) for y in x),
    "tuple[Row, ...]": finite_rows, "tuple[DesignGoalAsked, ...]": read_goals,
    "dict[str, float]": lambda x: {str(key): float(y) for key, y in x.items()},
}  # fmt: skip
"""How a field of a run is read, by its type."""


def run_of(content: Mapping[str, Any], robot: Robot) -> StudioRun:
    """Return a run from plain values, checked: it may come from a file or from a browser."""
    kind = KINDS.get(str(content.get("kind")))
    if kind is None:
        raise OptionError(f"a run is one of {', '.join(KINDS)}, not {content.get('kind')!r}")
    fields = kind.__dataclass_fields__
    known = {key: _read(str(fields[key].type), content[key], content, robot) for key in fields if key in content}
    if isinstance(content.get("joint"), str):
        robot.joint(content["joint"])
    return kind(**known)


def _read(wanted: str, value: Any, whole: Mapping[str, Any], robot: Robot) -> Any:
    if wanted.startswith("StudioRun"):  # with the robot of the run that it belongs to
        return None if value is None else run_of({**value, "text": whole.get("text", "")}, robot)
    return READERS[wanted](value)

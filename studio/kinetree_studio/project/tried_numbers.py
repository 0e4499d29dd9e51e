"""Numbers of sliders that were tried in a run without being put into the robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinetree.robot.robot import Robot

from ..page.chosen_numbers import ChosenNumbers
from .run_code import literal


def changed_parameters(robot: Robot, values: Mapping[str, float]) -> dict[str, Any]:
    """Return what sliders change, as robots take parameters: only numbers that differ from the robot's own."""
    if not values:
        return {}
    chosen = ChosenNumbers(robot.model)
    return _changed(chosen.parameters(values), chosen.parameters())


def _changed(new: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in new.items():
        if isinstance(value, Mapping):
            if inner := _changed(value, own[key]):
                found[key] = inner
        elif value != own[key]:
            found[key] = value
    return found


def tried_line(name: str, robot: Robot, values: Mapping[str, float]) -> tuple[list[str], str]:
    """Return the line that makes the robot with these numbers, and what it is called then."""
    changed = changed_parameters(robot, values)
    return ([f"tried = {name}.with_parameters({literal(changed)})"], "tried") if changed else ([], name)

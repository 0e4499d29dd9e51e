"""Parameters of the robot itself that vary over a batch of simulations: masses, places of joints, gravity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError, OptionError, ShapeError
from ..export.symbolic.parameters import SIZES, with_parameters
from ..model.tree import Model
from ..robot.robot import Robot
from ..spatial import Scalar
from ..spatial.numbers import shown

TABLES = ("bodies", "joints", "frames")
PREFIX = "robot"


def varied_numbers(robot: Robot, given: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """Return what varies, each (..., n), under names such as ``robot.bodies.upper.mass`` (with tabs for dots).

    Parameters
    ----------
    robot : Robot
    given : mapping
        ``bodies``, ``joints``, ``frames`` and ``gravity`` as in
        :func:`kinetree.symbolic.with_parameters`, with arrays that have the batch in front.
    """
    found: dict[str, np.ndarray] = {}
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(f"parameters are a mapping of {', '.join(TABLES)} and gravity, not {shown(given)}")
    for table, content in (given or {}).items():
        if table == "gravity":
            found[_name("gravity")] = _array(content, "gravity", True)
        elif table in TABLES:
            for owner, properties in _mapping(content, table).items():
                for key, value in _mapping(properties, f"{table} of {owner!r}").items():
                    several = key in SIZES or (table == "joints" and robot.joint(owner).kind.nv > 1)
                    found[_name(table, owner, key)] = _array(value, f"{key} of {owner!r}", several)
        else:
            raise OptionError(f"parameters are of {', '.join(TABLES)} and gravity, not of {table!r}")
    if found:
        one = {name: [float(x) for x in value.reshape(-1, value.shape[-1])[0]] for name, value in found.items()}
        varied_tree(robot, one)  # names and counts
    for name, value in found.items():
        if name.endswith("\tmass") and np.any(value < 0.0):
            raise ModelError(f"a mass of {value.min()} in the parameters: masses must not be negative")
    return found


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise OptionError(f"parameters: {what} must be a mapping, such as {{'mass': [1.0, 2.0]}}, not {shown(given)}")
    return given


def _name(*parts: str) -> str:
    return "\t".join((PREFIX, *parts))


def _array(value: Any, what: str, several: bool) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"parameter {what} must be an array of numbers, got {value!r}") from None
    if not np.isfinite(array).all():
        raise ShapeError(f"parameter {what} must be finite")
    return array if several else array[..., None]


def varied_tree(robot: Robot, numbers: Mapping[str, Sequence[Scalar]]) -> Model:
    """Return the robot's model with scalars of any kind in the place of what varies."""
    tables: dict[str, Any] = {}
    for name, values in numbers.items():
        _, table, *place = name.split("\t")
        if table == "gravity":
            tables["gravity"] = list(values)
        else:
            owner, key = place
            one = values[0] if key not in SIZES and len(values) == 1 else list(values)
            tables.setdefault(table, {}).setdefault(owner, {})[key] = one
    return with_parameters(robot, **tables).tree(lambda x: x)

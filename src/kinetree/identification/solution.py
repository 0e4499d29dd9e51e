"""From a fit of groups of parameters to all parameters of a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from ..model import parameters
from ..model.parameters import OF_BODIES
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .equations import MeasuredEquations
from .estimators.least_squares import Estimate
from .estimators.physically_consistent import ConsistentFit, consistent
from .estimators.pseudo_inertia import is_possible
from .identifiable import ParameterGroups
from .model_choice import ChosenModel

if TYPE_CHECKING:
    from ..robot.robot import Robot

SOME_BODY = np.array([0.02, 0.0, 0.0, 0.02, 0.0, 0.02, 0.0, 0.0, 0.0, 2.0])
"""Reference for bodies about which the file says nothing: two kilograms, a few decimeters across."""

NOT_NEGATIVE = tuple(f".{symbol}" for symbol in parameters.NOT_NEGATIVE)
"""Suffixes of parameters of joints that cannot be negative."""


def nearest_to_file(groups: ParameterGroups, values: Array, file_values: Mapping[str, float]) -> dict[str, float]:
    """Return all parameters: those with the given values of the groups that are nearest to the file's."""
    old = np.array([file_values.get(name, 0.0) for name in groups.parameters])
    change = np.linalg.lstsq(groups.matrix, values - groups.matrix @ old, rcond=None)[0]
    return dict(zip(groups.parameters, (float(x) for x in old + change), strict=True))


def consistent_solution(
    model: ChosenModel, fit: Estimate, file_values: Mapping[str, float], way: str, pull: str, weight: float,
    said_by: Callable[[MeasuredEquations], MeasuredEquations] | None = None,
) -> dict[str, float]:  # fmt: skip
    """Return all parameters such that bodies are possible and friction dissipates energy.

    fit: Fit of the groups, which gives the weights of the rows.
    file_values: Reference values of the bodies.
    way, pull, weight: See :func:`kinetree.identify`.
    said_by: The part of the equations that instruments explain.
    """
    groups, equations = model.groups, model.columns.equations()
    if said_by is not None:
        equations = said_by(equations)
    names = groups.parameters
    place = {name: k for k, name in enumerate(names)}
    scale = np.sqrt(fit.weights * equations.counted) / fit.noise
    a = (equations.y * scale[..., None]).reshape(-1, len(groups.independent))
    b = (equations.tau * scale).reshape(-1)
    triangle = np.asarray(np.linalg.qr(np.column_stack([a, b]), mode="r"))
    a, b = triangle[:, :-1] @ groups.matrix, triangle[:, -1]
    reference = np.array([file_values.get(name, 0.0) for name in names])
    bodies, weights, broken = [], [], []
    for body in model.columns.prepared.robot.model.bodies:
        own = [place.get(f"{body.name}.{symbol}") for symbol in OF_BODIES]
        if None not in own:
            indices = np.array(own)
            bodies.append(indices)
            weights.append(weight)
            if not _is_full(reference[indices]):
                reference[indices] = SOME_BODY
                weights[-1] *= tuned.NOTHING_KNOWN
        elif any(k is not None for k in own):
            broken.append(body.name)
    if broken:
        raise OptionError(
            f"some parameters of {', '.join(broken)} are fixed and others are not, which bodies that must be possible "
            "do not allow: fix all ten (such as 'link_1.*'), or give consistent=None"
        )
    positive = [k for name, k in place.items() if name.endswith(NOT_NEGATIVE)]
    x = consistent(ConsistentFit(a, b, bodies, np.array(positive, dtype=int), reference, pull, np.array(weights)), way)
    return dict(zip(names, (float(value) for value in x), strict=True))


def _is_full(ten: Array) -> bool:
    """Return whether a body is possible, with a margin, so that distances from it can be measured."""
    return bool(is_possible(ten, -1e-9)) and ten[9] > 0.0


def is_physical(robot: Robot, values: Mapping[str, float]) -> bool:
    """Return whether bodies with these parameters are possible, and joints dissipate energy."""
    tens = np.array([[values[f"{body.name}.{symbol}"] for symbol in OF_BODIES] for body in robot.model.bodies])
    others = [value for name, value in values.items() if name.endswith(NOT_NEGATIVE)]
    return bool(is_possible(tens).all()) and min(others, default=0.0) >= 0.0

"""Inconsistent forces: sensors and drives whose scale is off by a few percent.

The mass of a body affects every joint that carries it. If the force of a joint is larger or smaller than the forces of
all other joints imply, its scale is wrong: a badly calibrated sensor, or the wrong torque constant of a motor. Forces
that are all wrong by the same factor cannot be distinguished from other masses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .estimators.products import Folds
from .model_choice import ChosenModel

if TYPE_CHECKING:
    from ..robot.robot import Robot


def agreeing_gains(robot: Robot, model_with: Callable[[Array | None], ChosenModel]) -> Array | None:
    """Return the factors by which measured forces must be multiplied to agree with one another; None if they agree.

    model_with: A function that makes the equations for given gains.
    """
    if robot.loops is not None or len(robot.model.motors) < 2:
        raise OptionError("gains='auto' compares the forces of several joints of a robot without loops: give numbers")
    wrong = disagreeing(model_with(None))
    if not wrong:
        return None
    gains = np.ones(robot.nv)
    more = np.array(list(wrong.values()))
    for _ in range(tuned.GAIN_ROUNDS):
        gains[list(wrong)] /= 1.0 + more
        more = _shown_too_much(model_with(gains), list(wrong))
        if np.abs(more).max() < tuned.GAINS_SETTLED:
            break
    return gains


def disagreeing(model: ChosenModel) -> dict[int, float]:
    """Return the motors whose forces are too large or small, and by what share: as few as explain the data.

    Motors are corrected one after the other, beginning with the one that improves the prediction of all rows most. Each
    correction must clearly lower the errors and differ significantly from one.
    """
    prepared = model.columns.prepared
    driven = prepared.robot.model.motors
    if any(r is not None for r in prepared.reductions) or len(driven) < 2:
        return {}
    folds, count = _with_loads(model, driven)
    chosen, errors = list(range(count)), folds.with_columns(range(count)).errors
    left = {joint: count + k for k, joint in enumerate(driven)}
    while len(left) > 1:
        judged = {}
        for joint, column in left.items():
            tried = folds.with_columns([*chosen, column])
            change = float(np.sum(np.log(tried.errors / errors)))
            if change < len(errors) * np.log(1.0 - tuned.CLEAR) and abs(tried.last_over_deviation()) > tuned.SURE:
                judged[joint] = change
        if not judged:
            break
        chosen.append(left.pop(min(judged, key=judged.__getitem__)))
        errors = folds.with_columns(chosen).errors
    found = {driven[column - count]: k for k, column in enumerate(chosen[count:])}
    values = folds.with_columns(chosen).fit[0][count:]
    return {joint: float(values[k]) for joint, k in found.items() if tuned.LEAST_CORRECTION < abs(values[k]) < 1.0}


def words_about(robot: Robot, wrong: dict[int, float]) -> list[str]:
    """Return a warning about inconsistent forces."""
    if not wrong:
        return []
    listed = ", ".join(f"that of {robot.v_names[k]} {100 * abs(x):.2g} % too {'much' if x > 0.0 else 'little'}"
                       for k, x in wrong.items())  # fmt: skip
    return [
        f"the measured forces disagree about what the bodies weigh: compared with the others, {listed}. "
        "Check the scale of its sensor or drive; gains='auto' (--gains auto) corrects the force"
    ]


def _with_loads(model: ChosenModel, joints: Sequence[int]) -> tuple[Folds, int]:
    """Return the data with one more column per joint, the best fit of its bodies' forces, and the previous count."""
    equations, groups = model.columns.equations(), len(model.columns.groups)
    x, _ = Folds.of(equations).fit
    load = equations.y[..., :groups] @ x[:groups]
    columns = np.zeros((*load.shape, len(joints)))
    for k, joint in enumerate(joints):
        columns[:, joint, k] = load[:, joint]
    return Folds.of(equations.with_columns([f"gain {j}" for j in joints], columns)), len(x)


def _shown_too_much(model: ChosenModel, joints: Sequence[int]) -> Array:
    """Return the relative excess of the measured force at these joints over what the bodies need."""
    folds, count = _with_loads(model, joints)
    return folds.fit[0][count:]

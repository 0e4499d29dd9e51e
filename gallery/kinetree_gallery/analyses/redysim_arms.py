"""ReDySim's analyses of a small arm: inverse dynamics along a cycloid, and a free fall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from .free_fall import free_fall_of_tree
from .inverse_dynamics import inverse
from .prescribed import AlongMotion


def redysim_arm_study(name: str, weights: Sequence[float], units: str = "N m", fall: float | None = 1.0) -> Study:
    """Return the study of an arm.

    Parameters
    ----------
    name : str
    weights : sequence of float
        Joint forces at the end of the motion, at rest, computed by hand.
    units : str
    fall : float or None
        Duration of the fall in seconds; None if all joints are horizontal, so that the arm does not fall.
    """

    def measured(along: AlongMotion) -> Values:
        return {"held": along.tau[-1], "weights": weights, "units": units, "work_error": _work_less_height(along)}

    analyses = {"inverse": inverse(name, measured, shared="arms of ReDySim")}
    if fall is not None:
        analyses["free-fall"] = free_fall_of_tree(name, fall)
    return Study.of(name, analyses)


def _work_less_height(along: AlongMotion) -> float:
    q, v, _ = along.states
    power = (along.tau * v).sum(axis=1)
    step = along.time[1] - along.time[0]
    # Simpson's rule: samples are evenly spaced, and their number is odd
    work = step / 3.0 * float(power[0] + power[-1] + 4.0 * power[1:-1:2].sum() + 2.0 * power[2:-1:2].sum())
    heights = np.asarray(along.robot.potential_energy(q[[0, -1]]))
    return abs(work - float(heights[1] - heights[0]))

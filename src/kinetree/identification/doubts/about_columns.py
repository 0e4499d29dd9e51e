"""Columns that are another joint's, or turn the other way: forces that fit much better with others."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..model_choice import Columns

Array = np.ndarray

MIXED_UP = 0.1
"""Relative error beyond which some joint's column may be another's, or have the wrong sign."""

TRIED_ROWS, AVERAGED = 400, 25
"""Groups of samples by which exchanged columns are judged, and how many samples are averaged in each, against noise."""

UNMIXED = 0.5
"""Share of what is left that exchanged columns must leave at most to be believed."""

FASTER = 0.05
"""Share of a joint's largest speed beyond which its friction has a sign."""


def of_columns(columns: Columns, errors: Array) -> list[str]:
    """Return a warning if forces fit much better with two columns exchanged, or one of another sign.

    Parameters
    ----------
    columns : Columns
        Of the fit.
    errors : ndarray
        Relative errors of the fit, per row.
    """
    prepared, robot = columns.prepared, columns.prepared.robot
    simple = all(joint.nv == joint.nq == 1 and joint.actuated and not joint.mimic for joint in robot.model.joints)
    if not simple or robot.closes_loops or prepared.contacts or not np.any(errors > MIXED_UP):
        return []
    rows = sum(m.t.size for m in prepared.motions)
    begins = np.linspace(0, max(rows - AVERAGED, 0), min(TRIED_ROWS, max(rows // AVERAGED, 1))).astype(int)
    picked = (begins[:, None] + np.arange(min(AVERAGED, rows))).reshape(-1)
    q, v, a, tau = (
        np.concatenate([getattr(m, key) for m in prepared.motions])[picked] for key in ("q", "v", "a", "tau")
    )

    def left(order: Array, sign: Array, force: Array) -> float:
        """Return which share of forces a fit leaves, if the motion of each joint is that of another."""
        motion = [sign * x[:, order] for x in (q, v, a)]
        return _left_of(robot.regressor(*motion, parameters=prepared.inertial), motion[1], force, len(begins))

    plain, ones = np.arange(robot.nv), np.ones(robot.nv)
    before = left(plain, ones, tau)
    judged: dict[str, float] = {}
    for i, j in combinations(range(robot.nv), 2):
        swapped = plain.copy()
        swapped[[i, j]] = j, i
        names = f"{robot.v_names[i]} and {robot.v_names[j]}"
        judged[f"the positions of {names} exchanged"] = left(swapped, ones, tau)
        judged[f"the forces of {names} exchanged"] = left(plain, ones, tau[:, swapped])
        judged[f"the columns of {names} exchanged"] = left(swapped, ones, tau[:, swapped])
    for i, name in enumerate(robot.v_names):
        turned = np.where(plain == i, -1.0, 1.0)
        judged[f"positions of {name} of the other sign"] = left(plain, turned, tau)
        judged[f"forces of {name} of the other sign"] = left(plain, ones, tau * turned)
    best = min(judged, key=judged.__getitem__)
    if not judged[best] < UNMIXED * before:
        return []
    return [
        f"with {best} the model leaves {100 * judged[best]:.2g} % of the forces instead of {100 * before:.2g} %: "
        "columns are probably mixed up, or joints turn the other way than in the file"
    ]


def _left_of(regressor: Array, v: Array, force: Array, groups: int) -> float:
    """Return the root mean square that a fit with viscous and Coulomb friction leaves of forces, each of size one.

    Samples are averaged in groups.  Joints that are about to turn back do not count: a sample there has any friction.
    """
    size = np.maximum(np.sqrt(np.mean(force**2, axis=0)), 1e-300)
    fast = np.abs(v) > FASTER * np.abs(v).max(axis=0)
    rubbing = [np.eye(v.shape[1]) * x[:, None, :] for x in (v, np.sign(v), np.ones_like(v))]
    both = np.concatenate([regressor, *rubbing, force[:, :, None]], axis=-1) / size[:, None]
    both = both.reshape(groups, -1, *both.shape[1:]).mean(axis=1)
    counted = fast.reshape(groups, -1, v.shape[1]).all(axis=1).reshape(-1)
    tall, target = np.split(both.reshape(len(counted), -1)[counted], [-1], axis=1)
    target = target[:, 0]
    width = np.linalg.norm(tall, axis=0)
    tall = tall[:, width > 0.0] / width[width > 0.0]
    rest = target - tall @ np.linalg.lstsq(tall, target, rcond=1e-8)[0]
    return float(np.sqrt(np.mean(rest**2)))

"""Parameters with the same torques and as many zeros as can be: zeros are skipped, so regrouped robots cost less."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import UnknownNameError
from ..model.joints import Revolute
from ..model.parameters import ParameterTable, parameters
from ..model.tree import BASE, Model
from ..spatial import ZERO3, RigidInertia, Symmetric3, Vec3
from .base_parameters import BaseParameters
from .considered import ten_of

Array = np.ndarray

FORMS = ("flat", "table")


def regrouped(model: Model, base: BaseParameters, form: str) -> ParameterTable:
    """Return parameters of which only the base ones, and what makes bodies flat, differ from zero.

    Parameters
    ----------
    model : Model
    base : BaseParameters
        Of this model.
    form : {"flat", "table"}
        ``"table"``: everything but the base parameters is zero, as in 004 (Table 10.2).  ``"flat"``: in place of YY =
        0, bodies on hinges along a coordinate axis have no extent along it, ZZ = XX + YY, which saves more operations.
    """
    if form not in FORMS:
        raise UnknownNameError("form of grouped parameters", form, FORMS)
    table = parameters(model)
    values = table.values.copy()
    values[list(base.considered)] = 0.0
    values[list(base.columns)] = base.values
    if form == "flat":
        tens = values[: 10 * len(model.bodies)].reshape(-1, 10)
        silent = {table.index(name) for name in base.without_effect}
        for i in reversed(range(len(model.bodies))):
            tens[i][[k for k in range(10) if 10 * i + k in silent]] = 0.0
            if _bends_away(model, i, tens[i]):
                _flatten(model, i, tens)
    return replace(table, values=values)


def _bends_away(model: Model, i: int, ten: Array) -> bool:
    """Return whether accelerations of other points than the origin are asked for: else Euler's equations cost less."""
    return bool(np.any(ten[[1, 2, 4, 6, 7, 8]])) or any(
        any(model.joints[k].placement.translation) for k in model.children[i]
    )


def _flatten(model: Model, i: int, tens: Array) -> None:
    """Take the second moment of mass along a body's hinge away, and give it to its parent (004 eq. 10.14)."""
    joint = model.joints[i]
    if not isinstance(joint.kind, Revolute) or sorted(map(abs, joint.kind.axis)) != [0.0, 0.0, 1.0]:
        return
    z = int(np.argmax(np.abs(joint.kind.axis)))
    diagonal = np.array([0, 3, 5])
    x, y = diagonal[(z + 1) % 3], diagonal[(z + 2) % 3]
    own = tens[i]
    if not (own[x] or own[y] or own[diagonal[z]]):
        return
    depth = 0.5 * (own[x] + own[y] - own[diagonal[z]])
    unit = 2.0 ** (
        math.frexp(max(abs(own[diagonal]).max(), abs(depth)))[1] - 50
    )  # so that sums are exact, as zeros must be
    own[x], own[y] = (unit * round((own[k] - depth) / unit) for k in (x, y))
    own[diagonal[z]] = own[x] + own[y]
    if joint.parent != BASE:
        axis = Vec3(*joint.kind.axis)
        across = (Symmetric3.diagonal(1.0) - Symmetric3.outer(axis)) * depth
        moved = joint.placement.spatial().rigid_to_parent(RigidInertia(0.0, ZERO3, across))
        tens[joint.parent] += ten_of(moved)

"""Parameters that give the same torques with as many zeros as possible; zeros are skipped, which saves operations.

Base parameters tell how few numbers are needed, but not which ones: inertia that a hinge cannot distinguish may be on
either side of it. Besides Khalil's zeros, three choices save operations: a body without extent along its hinge (ZZ = XX
+ YY instead of YY = 0) has one second moment of mass less; mass at the next joint instead of a first moment toward it
needs 3 products instead of 5; and along principal axes, Euler's equations do not need the accelerations of other
points. The best choice depends on which other parameters are zero, so operations are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import refuse_unknown
from ..export.operation_counts import count_algorithm
from ..model.changes.regrouping import divided
from ..model.joints import Revolute
from ..model.parameters import ParameterTable, parameters, with_parameters
from ..model.tree import BASE, Joint, Model
from ..spatial import RigidInertia
from ..spatial.arrays import Array
from ..spatial.formula import ScalarFormula
from .base_parameters import BaseParameters
from .parameters_to_group import inertia_of, ten_of

FORMS = ("fewest", "table", "symbols")


def regrouped(model: Model, base: BaseParameters, form: str) -> ParameterTable:
    """Return parameters with the same torques.

    base: Base parameters of this model.
    form: {"fewest", "table", "symbols"}. ``"table"``: everything but the base parameters is zero (Khalil Table 10.2).
        ``"symbols"``: the same with a symbol for each number that is not zero.  ``"fewest"``: the table or one of two
        other choices, whichever takes the fewest operations for inverse dynamics.
    """
    refuse_unknown("form of grouped parameters", form, FORMS)
    table = parameters(model)
    values = table.values.copy()
    values[list(base.considered)] = 0.0
    values[list(base.columns)] = base.values
    if form == "symbols":
        values = values.astype(object)
        for c, value, name in zip(base.columns, base.values, base.formulas(), strict=True):
            is_symbol = isinstance(value, ScalarFormula) and value.kind == "symbol"
            values[c] = value if is_symbol or value == 0.0 else ScalarFormula.symbol(name)
    if form == "fewest":
        flat, heavy = (_spare_operations(model, values.copy(), base, masses=masses) for masses in (False, True))
        values = min((values, flat, heavy), key=lambda x: _operations(model, x))
    return replace(table, values=values)


def _operations(model: Model, values: Array) -> int:
    """Return the number of operations of inverse dynamics of the tree with these parameters."""
    tree = with_parameters(model, values, physical=False).opened()
    return count_algorithm(tree, "inverse_dynamics", {}).total


def _spare_operations(model: Model, values: Array, base: BaseParameters, *, masses: bool) -> Array:
    """Return parameters moved across hinges, from the last body to the first; with ``masses``, also first moments."""
    tens = values[: 10 * len(model.bodies)].reshape(-1, 10)
    kept = np.isin(np.arange(tens.size), base.columns).reshape(tens.shape)
    silent = ~np.any(base.matrix[:, : tens.size], axis=0).reshape(tens.shape)
    for i in reversed(range(len(model.bodies))):
        tens[i][silent[i]] = 0.0
        joint = model.joints[i]
        if not isinstance(joint.kind, Revolute):
            continue
        if masses and kept[i][:6].any():  # otherwise a loop gives its inertia to others, and this would bring it back
            _put_mass_at_the_next_joint(model, i, tens)
        *mass_and_first, second = joint.kind.cannot_tell()
        _hand_on(joint, tens, i, mass_and_first)
        tens[i][silent[i]] = 0.0
        if max(map(abs, joint.kind.axis)) == 1.0 and _other_points_matter(model, i, tens[i]):
            _hand_on(joint, tens, i, [second])
    return values


def _hand_on(joint: Joint, tens: Array, i: int, parts: Sequence[RigidInertia]) -> None:
    """Move as much of some parts of the inertia from a body to its parent as creates zeros."""
    kept, handed = divided(inertia_of(tens[i].tolist()), parts)
    tens[i] = ten_of(kept)
    _receive(joint, tens, handed)


def _receive(joint: Joint, tens: Array, handed: RigidInertia) -> None:
    """Add an inertia to the parent of a joint; the base ignores it."""
    if joint.parent != BASE:
        tens[joint.parent] += ten_of(joint.placement.spatial().rigid_to_parent(handed))


def _put_mass_at_the_next_joint(model: Model, i: int, tens: Array) -> None:
    """Replace one component of the first moment with mass of a body that is carried by a hinge in that direction.

    This pays only if the acceleration of that body's origin is needed anyway.
    """
    for k in model.children[i]:
        if not any(tens[b][6:].any() for b in _carried(model, k)):
            continue
        place = np.array(model.joints[k].placement.translation)
        useful = np.abs(np.where(place != 0.0, tens[i][6:9], 0.0))
        if isinstance(model.joints[k].kind, Revolute) and useful.any():
            c = int(np.argmax(np.abs(np.where(useful > 0.0, place, 0.0))))
            mass = float(tens[i][6 + c] / place[c])
            tens[k][9] += mass
            _receive(model.joints[k], tens, RigidInertia(mass=-mass))
            tens[i][6 + c] = 0.0
            return


def _carried(model: Model, i: int) -> list[int]:
    """Return a body and all that it carries."""
    return [i, *(b for k in model.children[i] for b in _carried(model, k))]


def _other_points_matter(model: Model, i: int, ten: Array) -> bool:
    """Return whether accelerations of points other than the origin are needed; if not, Euler's equations cost less."""
    return bool(np.any(ten[[1, 2, 4, 6, 7, 8]])) or any(
        any(model.joints[k].placement.translation) for k in model.children[i]
    )

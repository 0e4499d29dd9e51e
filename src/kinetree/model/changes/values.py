"""A mechanism with values for all or some of its symbols, or with arbitrary values if only its structure matters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import ModelError, ModelWarning, refuse_unknown, warn
from ...spatial import Scalar
from ...spatial.formula import ScalarFormula, symbols_among
from ...spatial.numbers import real_number
from ..joint_fields import PER_FREEDOM
from ..mass import MassProperties
from ..parameters import rows
from ..tree import Body, Joint, Model
from .over_any_scalar import ScalarTen, Values, valued_scalar

SOME_BODY = MassProperties(1.0, (0.1, 0.2, 0.3), (1.0, 1.1, 1.2, 0.1, 0.2, 0.3))
"""A physically possible body that replaces those whose parameters are symbols."""

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
ATTEMPTS = 200


def valued(model: Model, values: Values) -> Model:
    """Return the model with values for some of its symbols; with values for all it is a model of plain numbers.

    values: Numbers, or any other scalars.
    """
    if not model.symbols and not model.loads:
        return model

    def put(given: Any) -> Any:
        return given.valued(values) if hasattr(given, "valued") else given

    def joint(own: Joint) -> Joint:
        numbers: dict[str, Any] = {
            key: tuple(valued_scalar(x, values) for x in getattr(own, key)) for key in PER_FREEDOM
        }
        return replace(own, placement=put(own.placement), **numbers)

    def body(own: Body) -> Body:
        return replace(own, mass_properties=put(own.mass_properties))

    return replace(
        model,
        joints=tuple(joint(j) for j in model.joints),
        bodies=tuple(body(b) for b in model.bodies),
        base=body(model.base),
        frames=tuple(replace(f, pose=put(f.pose)) for f in model.frames),
        loops=tuple(replace(x, placement=put(x.placement), seat=put(x.seat)) for x in model.loops),
        gravity=tuple(valued_scalar(x, values) for x in model.gravity),  # type: ignore[arg-type]
        loads=tuple(replace(x, six=tuple(valued_scalar(y, values) for y in x.six)) for x in model.loads),
    )


def with_values(model: Model, values: Mapping[str, float]) -> Model:
    """Return the model with checked numbers for some of its symbols; warn of impossible bodies.

    Raises
    ------
    UnknownNameError
        If there is no such symbol.
    ModelError
        If a formula is not a finite number with these values.
    """
    known = dict.fromkeys([*model.symbols, *symbols_among(x for load in model.loads for x in load.six)])
    for name in values:
        refuse_unknown("symbol", name, known)
    numbers = {name: real_number(x, f"the value of {name!r}") for name, x in values.items()}
    for x in _scalars(model):
        if isinstance(x, ScalarFormula) and not math.isfinite(_number(x.evaluate(numbers))):
            raise ModelError(f"{x} is not a finite number with these values")
    made = valued(model, numbers)
    odd = {
        after.name: after.mass_properties.problems()
        for before, after in zip(model.bodies, made.bodies, strict=True)
        if isinstance(before.mass_properties, ScalarTen) and isinstance(after.mass_properties, MassProperties)
    }
    listed = [f"body {name!r}: {problems[0]}" for name, problems in odd.items() if problems]
    if listed:
        warn("; ".join(listed), ModelWarning)
    return made


def _number(x: Any) -> float:
    return x if isinstance(x, (int, float)) else 0.0


def with_table(model: Model, values: Sequence[Scalar]) -> Model:
    """Return the model with other parameters of bodies and rotors, formulas among them.

    values: In the order of the table of parameters; friction and springs stay.
    """
    tens = (tuple(values[10 * i : 10 * i + 10]) for i in range(len(model.bodies)))
    rotors = {(p.body, p.freedom): x for p, x in zip(rows(model), values, strict=True) if p.symbol == "rotor_inertia"}
    return replace(
        model,
        bodies=tuple(
            replace(b, mass_properties=ScalarTen(ten).valued({}))  # type: ignore[arg-type]
            for b, ten in zip(model.bodies, tens, strict=True)
        ),
        joints=tuple(
            replace(j, rotor_inertia=tuple(rotors[i, k] for k in range(j.kind.nv)), gear_ratio=(1.0,) * j.kind.nv)
            for i, j in enumerate(model.joints)
        ),
    )


def generic(model: Model) -> Model:
    """Return a model of numbers with the structure of a model of symbols; no two of its dimensions are equal.

    Dimensions are near 1, so that loops of a few bodies can be closed. Bodies with symbols among their parameters are
    replaced by an arbitrary body. The result is only good for questions of structure (which joints are parallel, which
    bodies have mass).
    """
    if not model.symbols:
        return model

    def some(body: Body) -> Body:
        return replace(body, mass_properties=SOME_BODY) if isinstance(body.mass_properties, ScalarTen) else body

    bodies = tuple(some(b) for b in model.bodies)
    return valued(replace(model, bodies=bodies, base=some(model.base)), generic_values(model))


def exemplary(model: Model) -> Model:
    """Return a model with a number for each symbol; parameters of bodies that are zero stay zero."""
    return valued(model, generic_values(model)) if model.symbols else model


def generic_values(model: Model, first: int = 0) -> dict[str, float]:
    """Return a number near 1 for every symbol such that all formulas of the model are numbers.

    first: Start of the sequence of numbers; another start gives other numbers.
    """
    formulas = [x for x in _scalars(model) if isinstance(x, ScalarFormula)]
    for attempt in range(first, first + ATTEMPTS):
        numbers = ((k * GOLDEN + attempt * math.sqrt(2.0)) % 1.0 for k in range(1, len(model.symbols) + 1))
        found = {name: 0.75 + 0.5 * x for name, x in zip(model.symbols, numbers, strict=True)}
        if all(math.isfinite(x.evaluate(found)) for x in formulas):
            return found
    raise ModelError(
        f"no values near 1 were found for {', '.join(model.symbols)} of {model.name!r} at which all its formulas are "
        "numbers: give values to some of them"
    )


def symbols_of_geometry(model: Model) -> tuple[str, ...]:
    """Return the symbols of joint placements, which decide where loops close."""
    poses = [j.placement for j in model.joints]
    poses += [pose for loop in model.loops for pose in (loop.placement, loop.seat)]
    return tuple(dict.fromkeys(name for pose in poses for name in getattr(pose, "symbols", ())))


def _scalars(model: Model) -> list[Any]:
    """Return the formulas and numbers of placements, joints and gravity."""
    poses = [
        *(j.placement for j in model.joints),
        *(f.pose for f in model.frames),
        *(pose for loop in model.loops for pose in (loop.placement, loop.seat)),
    ]
    found = [x for pose in poses for step in getattr(pose, "steps", ()) for x in step]
    return [*found, *(x for j in model.joints for key in PER_FREEDOM for x in getattr(j, key)), *model.gravity]

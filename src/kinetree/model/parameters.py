"""The parameter table of a robot: ten parameters per body, four per degree of freedom, and stiffnesses of springs.

The table begins with the parameters of every moving body, in Khalil's symbols: the entries of the inertia tensor about
the origin of its frame (``XX XY XZ YY YZ ZZ``, products with the sign they have in the tensor), the first moments of
mass ``MX MY MZ`` and the mass ``M``. Then, for all degrees of freedom, come the inertia of the rotor as felt at the
joint, viscous friction, Coulomb friction and the constant offset of the torque. Last are the stiffnesses of joints with
springs, and the additional friction at low speed of joints that have it. Joint forces are linear in all of these.

A joint that mimics another has parameters like any other joint: they are felt at its leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ExplainsArguments, ModelError, NoValueError, ShapeError, UnknownNameError
from ..spatial.formula import symbols_among
from .joint_fields import FIELDS
from .mass import GroupedMass, MassProperties
from .tree import Body, Joint, Model

OF_BODIES = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
"""The ten parameters of a body, in the order of the table."""

OF_FREEDOMS = ("rotor_inertia", "damping", "friction", "offset")
"""The parameters of a degree of freedom, in the order of the table."""

OF_SPRINGS = ("stiffness",)
"""The parameters of a degree of freedom of a joint with a spring, after all others."""

OF_FADING = ("stribeck",)
"""The parameters of a degree of freedom of a joint with friction that fades with speed, after those of springs."""

OF_SOME = (*OF_SPRINGS, *OF_FADING)
"""Attributes of joints that are in the table only if the joint has them."""

FRICTION = OF_FREEDOMS[1:]
"""The parameters of friction."""

NOT_NEGATIVE = tuple(symbol for symbol in (*OF_FREEDOMS, *OF_SOME) if symbol in FIELDS and FIELDS[symbol].nonnegative)
"""The parameters of joints that cannot be negative."""

PINOCCHIO_ORDER = ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")
"""The ten parameters of a body in the order of :attr:`MassProperties.parameters`."""

_TO_TABLE = [PINOCCHIO_ORDER.index(symbol) for symbol in OF_BODIES]
_FROM_TABLE = [OF_BODIES.index(symbol) for symbol in PINOCCHIO_ORDER]

UNITS_OF_BODIES = ("kg m^2",) * 6 + ("kg m",) * 3 + ("kg",)


class Parameter(NamedTuple):
    """One row of the table: a parameter of a body or of a degree of freedom."""

    name: str
    symbol: str
    """One of :data:`OF_BODIES`, :data:`OF_FREEDOMS` or :data:`OF_SOME`."""
    body: int
    """Index of the body, which is that of the joint that carries it."""
    freedom: int
    """Index among the joint's freedoms; 0 for parameters of bodies."""
    unit: str


def rows(model: Model) -> tuple[Parameter, ...]:
    """Return the rows of the table, in order."""
    found = [
        Parameter(f"{body.name}.{symbol}", symbol, i, 0, unit)
        for i, body in enumerate(model.bodies)
        for symbol, unit in zip(OF_BODIES, UNITS_OF_BODIES, strict=True)
    ]
    for symbol in (*OF_FREEDOMS, *OF_SOME):
        found += [
            Parameter(f"{joint.name}{label}.{symbol}", symbol, i, k, FIELDS[attribute_of(symbol)].units[unit != "rad"])
            for i, joint in enumerate(model.joints)
            if symbol not in OF_SOME or getattr(joint, symbol)
            for k, (label, unit) in enumerate(zip(joint.kind.v_labels, joint.kind.v_units, strict=True))
        ]
    return tuple(found)


def attribute_of(symbol: str) -> str:
    """Return the attribute of a joint that holds a parameter of its freedoms."""
    return "friction_offset" if symbol == "offset" else symbol


@dataclass(frozen=True, eq=False)
class ParameterTable(ExplainsArguments):
    """Names, values and units of a robot's parameters, in the order of the columns of its regressor.

    Read a value by its name, ``table["link_3.M"]``; ``len``, ``in`` and iteration go over the names.

    Attributes
    ----------
    names, units : tuple of str
    values : ndarray, shape (p,)
        A copy of the robot's values: change it and pass the table, or the values, to
        :meth:`kinetree.Robot.with_parameters`.
    """

    names: tuple[str, ...]
    values: np.ndarray
    units: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.index(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def index(self, name: str) -> int:
        """Return the index of a parameter; the error for an unknown name suggests the nearest."""
        try:
            return self.names.index(name)
        except ValueError:
            raise UnknownNameError("parameter", name, self.names) from None

    def __repr__(self) -> str:
        return f"<{len(self)} parameters, {self.names[0]} to {self.names[-1]}>" if self.names else "<no parameters>"

    def __str__(self) -> str:
        """Return the table as text: a line per body, then a line per degree of freedom."""
        owners: dict[str, dict[str, float]] = {}
        for name, value in zip(self.names, self.values, strict=True):
            owner, _, symbol = name.rpartition(".")
            owners.setdefault(f"{owner}\t{symbol in OF_BODIES}", {})[symbol] = value
        of_bodies = {k.partition("\t")[0]: v for k, v in owners.items() if k.endswith("\tTrue")}
        of_joints = {k.partition("\t")[0]: v for k, v in owners.items() if k.endswith("\tFalse")}
        blocks = [_block("body", OF_BODIES, of_bodies), _block("joint", _columns(of_joints), of_joints)]
        return "\n\n".join(block for block in blocks if block)


def _columns(of_joints: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """Return the columns shown for joints: springs and fading friction only if there are any."""
    return OF_FREEDOMS + tuple(symbol for symbol in OF_SOME if any(symbol in own for own in of_joints.values()))


def _block(what: str, symbols: Sequence[str], owners: Mapping[str, Mapping[str, float]]) -> str:
    if not owners:
        return ""
    lines = [[what, *symbols]]
    lines += [[name, *(f"{own[s]:.6g}" if s in own else "" for s in symbols)] for name, own in owners.items()]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    first = widths[0]
    return "\n".join(
        "  ".join([line[0].ljust(first), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    )


# ------------------------------------------------------------------ out of a model and into one


def parameters(model: Model) -> ParameterTable:
    """Return the parameters of a model."""
    known = rows(model)
    values = [mass_properties_to_table(body.mass_properties) for body in model.bodies]
    values += [np.array([x for j in model.joints for x in _of_joint(j, symbol)]) for symbol in OF_FREEDOMS]
    values += [np.array([x for j in model.joints for x in getattr(j, symbol)]) for symbol in OF_SOME]
    return ParameterTable(
        tuple(p.name for p in known), np.concatenate([np.zeros(0), *values]), tuple(p.unit for p in known)
    )


def mass_properties_to_table(given: MassProperties) -> np.ndarray:
    """Return the ten numbers of a body, in the order of the table."""
    return given.parameters[_TO_TABLE]


def mass_properties_from_table(ten: ArrayLike) -> MassProperties:
    """Return mass properties from ten numbers in the order of the table; they need not be those of a real body."""
    return GroupedMass.from_parameters(np.asarray(ten, dtype=float)[_FROM_TABLE])


def _of_joint(joint: Joint, symbol: str) -> Sequence[float]:
    """Return one parameter of a joint, per degree of freedom."""
    row = FIELDS[attribute_of(symbol)]
    return row.felt(joint) or row.usual(joint.kind)


def with_parameters(model: Model, given: Any, *, physical: bool = True) -> Model:
    """Return a model with other parameters.

    Parameters
    ----------
    model : Model
    given : ParameterTable, array_like of p numbers, or mapping of names to numbers
        Parameters that a mapping leaves out stay as they are.
    physical : bool
        Whether to refuse parameters that no body or joint can have.  If False, a body may have a first moment but no
        mass, or an impossible inertia: grouped parameters.

    Raises
    ------
    UnknownNameError
        For a parameter that the model does not have.
    ShapeError
        If there are too many numbers, or too few.
    ModelError
        For numbers that are not finite or, with ``physical``, not possible for a real robot.
    """
    old = parameters(model)
    new = _all_values(old, given)
    unknown = symbols_among(new)
    if unknown:
        raise NoValueError(unknown)
    bad = np.nonzero(~np.isfinite(new))[0]
    if bad.size:
        raise ModelError(f"parameter {old.names[bad[0]]!r} is {new[bad[0]]}: parameters must be finite numbers")
    count = 10 * len(model.bodies)
    tens = zip(model.bodies, old.values[:count].reshape(-1, 10), new[:count].reshape(-1, 10), strict=True)
    bodies = tuple(
        body if np.array_equal(before, after) else Body(body.name, _mass(body.name, after, physical))
        for body, before, after in tens
    )
    of_joints: dict[int, dict[str, list[float]]] = {}
    for p, value in zip(rows(model)[count:], new[count:].tolist(), strict=True):
        of_joints.setdefault(p.body, {}).setdefault(p.symbol, []).append(value)
    joints = tuple(_with_numbers(joint, of_joints.get(i, {}), physical) for i, joint in enumerate(model.joints))
    return replace(model, bodies=bodies, joints=joints)


def _all_values(old: ParameterTable, given: Any) -> np.ndarray:
    """Return all values; those that are not given stay as they were."""
    if isinstance(given, ParameterTable):  # the table of another robot is matched by names
        given = given.values if given.names == old.names else dict(zip(given.names, given.values, strict=True))
    if isinstance(given, Mapping):
        new = old.values.copy()
        for name, value in given.items():
            place = old.index(name)
            try:
                new[place] = float(value)
            except (TypeError, ValueError, OverflowError):
                raise ShapeError(f"parameter {name!r} must be one number, got {value!r}") from None
        return new
    try:
        new = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(
            "parameters are given as a table (robot.parameters()), as an array of all values, or as a mapping of names "
            f"to numbers, not as {given!r}"
        ) from None
    if new.shape != old.values.shape:
        raise ShapeError(f"this robot has {len(old)} parameters; got an array of shape {new.shape}")
    return new


def _mass(name: str, ten: np.ndarray, physical: bool) -> MassProperties:
    made = mass_properties_from_table(ten)
    problems = made.problems()
    if physical and problems:
        raise ModelError(
            f"the parameters of body {name!r} are impossible: {problems[0]}. Grouped parameters are allowed with "
            "physical=False"
        )
    return made


def _with_numbers(joint: Joint, given: Mapping[str, list[float]], physical: bool) -> Joint:
    """Return the joint with the parameters that have changed."""
    found: dict[str, Any] = {}
    for symbol, values in given.items():
        if values == list(_of_joint(joint, symbol)):
            continue
        if physical and symbol in NOT_NEGATIVE and min(values) < 0.0:
            raise ModelError(
                f"{symbol} of joint {joint.name!r} is {min(values):g}: it must not be negative, unless parameters that "
                "are not physical are allowed with physical=False"
            )
        if symbol == "rotor_inertia":
            found |= _before_gear(joint, values)
        else:
            found[attribute_of(symbol)] = () if symbol == "offset" and not any(values) else tuple(values)
    return replace(joint, **found) if found else joint


def _before_gear(joint: Joint, felt: Sequence[float]) -> dict[str, Any]:
    """Return the rotor inertia and gear ratio that give a joint the rotor inertia ``felt``."""
    gears = joint.gear_ratio or (1.0,) * joint.kind.nv
    own = joint.rotor_inertia or (0.0,) * joint.kind.nv
    for x, gear in zip(felt, gears, strict=True):
        if gear == 0.0 and x != 0.0:
            raise ModelError(
                f"joint {joint.name!r} has a gear ratio of zero, so that its rotor is not felt; its rotor_inertia "
                f"cannot be {x:g}"
            )
    motors = (x / gear**2 if gear else rotor for x, gear, rotor in zip(felt, gears, own, strict=True))
    return {"rotor_inertia": tuple(motors), "gear_ratio": gears}

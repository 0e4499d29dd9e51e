"""The numbers of a joint besides its geometry: limits, friction, rotor inertia and gear ratio, springs.

The table is used wherever joints are built, read, changed or shown.

To add a number, add a row to :class:`JointNumbers` and a keyword to :class:`JointData`.  The builder,
Denavit-Hartenberg tables, every file format, :meth:`kinetree.Robot.describe`, substitutions, the schema of YAML files
(``python tools/schema.py``) and the documentation take it from here; its effect on the motion is a law in
``algorithms`` or ``simulation``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import numpy as np

from ..errors import ModelError
from ..io.units import in_si
from ..spatial.numbers import real_number
from .joints import JointKind
from .pose import floats

T = TypeVar("T")

Floats = tuple[float, ...]
PerFreedom = float | Sequence[float] | None

LARGEST = 1e100
"""Numbers of a robot beyond this are mistakes: products of three of them overflow."""

TWO_TURNS, LARGEST_DEGREES = 4.0 * math.pi, 720.0
"""A limit between these, in radians, is most likely in degrees: nobody stops a hinge at 90 rad."""


@dataclass(frozen=True)
class Mimic:
    """Makes a joint follow another one: ``q = ratio * q_leader + offset``."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


# ------------------------------------------------------------------ the table


@dataclass(frozen=True)
class JointField:
    """One row of the table: everything about one quantity that each joint has."""

    help: str
    """Its description in one sentence."""
    units: tuple[str, str]
    """Units for a hinge and for a slide."""
    name: str = ""
    """Name of the attribute, the keyword, the key in YAML files and the entry in a row of a table."""
    per: str = "v"  # {"v", "q"}
    """Whether there is one number per degree of freedom (``"v"``) or per coordinate (``"q"``)."""
    default: float | None = 0.0
    """Value if none is given; None for the neutral configuration."""
    nonnegative: bool = False
    finite: bool = False
    """Whether it must not be negative, and whether it must be finite."""
    infinite: bool = False
    """Whether it is a limit, so that infinity means no limit. A cut joint keeps its limits."""
    sparse: bool = False
    """Whether the default is an empty tuple, ``()``, instead of zeros."""
    of: str = ""
    """Another field without which it has no meaning: the rest position of a spring belongs to its stiffness."""
    alone: str = ""
    needed: str = ""
    """Error messages for when it is given without ``of``, and when ``of`` is given without it."""
    leaders_only: str = ""
    """Why a joint that follows another one cannot have it."""
    law: Callable[[JointKind, Floats, str], None] | None = None
    """A further check, called with the kind of joint, the numbers, and their name for messages."""
    said: str = ""
    noun: str = ""
    """Its name in messages about its value, and about joints that have it, with a plural in s."""
    has: str = ""
    """Phrase for a joint that has it; such a joint has more than geometry and is not cut."""
    label: str = ""
    """Word before it in descriptions."""
    parameter: bool = False
    """Whether it may vary: as a symbol, an input of compiled code, or a column of a sweep."""
    of_motor: bool = False
    """Whether it belongs to the motor."""
    felt_as: str = ""
    """The attribute of :class:`kinetree.model.tree.Joint` with its value on the joint side of the gear."""
    urdf: str = ""
    sdf: str = ""
    mjcf: str = ""
    par: str = ""
    """Its name in these formats (for limits, within the element of limits); kinetree's own names begin with
    ``kinetree:``."""

    def count(self, kind: JointKind) -> int:
        """Return how many numbers a joint of a kind has."""
        return kind.nq if self.per == "q" else kind.nv

    def usual(self, kind: JointKind) -> Floats:
        """Return the numbers of a joint if none are given."""
        return tuple(kind.neutral()) if self.default is None else (self.default,) * self.count(kind)

    def is_usual(self, kind: JointKind, values: Sequence[float]) -> bool:
        """Return whether numbers are the default and can be left out."""
        return not values or all(x == y for x, y in zip(values, self.usual(kind), strict=True))

    def felt(self, joint: Any) -> Floats:
        """Return the numbers of a joint; those that act through its gear are converted to the joint side."""
        found: Floats = getattr(joint, self.felt_as or self.name)
        return found


def _yields(kind: JointKind, stiffness: Floats, what: str) -> None:
    if not all(map(math.isfinite, stiffness)):
        raise ModelError(f"{what} must be finite; a joint that cannot move is kinetree.Fixed()")


def _can_be_reached(kind: JointKind, rest: Floats, what: str) -> None:
    if not all(map(math.isfinite, rest)):
        raise ModelError(f"{what} must be finite, got {list(rest)}")
    turn = kind.quaternion
    if turn is not None and abs(math.hypot(*rest[turn]) - 1.0) > 1e-9:
        raise ModelError(f"{what} has a quaternion whose length is not one: {list(rest[turn])}")


def _above_zero(kind: JointKind, values: Floats, what: str) -> None:
    if not all(values):
        raise ModelError(f"{what} must be above zero, got {list(values)}")


def _row(help: str, *units: str, **known: Any) -> Any:
    return dataclasses.field(default=(), metadata={"row": JointField(help, (units[0], units[-1]), **known)})


@dataclass(frozen=True, kw_only=True)
class JointNumbers(Generic[T]):
    """The table of a joint's numbers: tuples in a model, or values as users write them in rows of tables."""

    lower: T = _row(
        "Smallest position.", "rad", "m", per="q", default=-math.inf, infinite=True, said="lower limit",
        noun="position limits", urdf="lower", sdf="lower", mjcf="range",
    )  # fmt: skip
    upper: T = _row(
        "Largest position.", "rad", "m", per="q", default=math.inf, infinite=True, said="upper limit",
        noun="position limits", urdf="upper", sdf="upper", mjcf="range",
    )  # fmt: skip
    velocity_limit: T = _row(
        "Largest speed.", "rad/s", "m/s", default=math.inf, infinite=True, nonnegative=True, said="velocity limit",
        noun="velocity limits", label="|v| <=", urdf="velocity", sdf="velocity",
    )  # fmt: skip
    effort_limit: T = _row(
        "Largest torque or force of its motor.", "N m", "N", default=math.inf, infinite=True, nonnegative=True,
        said="effort limit", noun="effort limits", label="|tau| <=", urdf="effort", sdf="effort",
        mjcf="actuatorfrcrange",
    )  # fmt: skip
    damping: T = _row(
        "Viscous friction.", "N m s/rad", "N s/m", nonnegative=True, finite=True, has="has damping", label="damping",
        parameter=True, urdf="damping", sdf="damping", mjcf="damping", par="FV",
    )  # fmt: skip
    friction: T = _row(
        "Coulomb friction.", "N m", "N", nonnegative=True, finite=True, has="has friction", label="friction",
        parameter=True, urdf="friction", sdf="friction", mjcf="frictionloss", par="FS",
    )  # fmt: skip
    rotor_inertia: T = _row(
        "Inertia of the motor's rotor; the joint feels rotor_inertia * gear_ratio**2.", "kg m^2", "kg",
        nonnegative=True, finite=True, said="rotor inertia", noun="rotor inertia", has="has a rotor", label="armature",
        parameter=True, of_motor=True, felt_as="armature", urdf="kinetree:rotor_inertia", mjcf="armature",
        par="IA",
    )  # fmt: skip
    gear_ratio: T = _row(
        "Turns of the rotor per turn of the joint.", "1", default=1.0, finite=True, said="gear ratio",
        noun="gear ratio", parameter=True, of_motor=True, felt_as="armature", mjcf="armature", par="IA",
    )  # fmt: skip
    friction_offset: T = _row(
        "A constant force on top of friction, of a drive or sensor whose zero is off.", "N m", "N", finite=True,
        sparse=True, said="offset of friction", noun="friction offset", has="has an offset of friction", label="offset",
        parameter=True,
    )  # fmt: skip
    friction_travel: T = _row(
        "Distance in which 63 % of Coulomb friction builds up after a reversal (Dahl's model); at once if left out. "
        "Only simulations include it.", "rad", "m",
        nonnegative=True, finite=True, sparse=True, noun="way in which friction builds up",
        has="has friction that builds up", label="builds up within",
        leaders_only="friction of a follower builds up at once: give friction_travel to its leader",
    )  # fmt: skip
    damping_time: T = _row(
        "Time in which viscous friction follows 63 % of a change in velocity: a damper behind a spring (Maxwell's "
        "model), as grease, seals and hoses are; at once if left out. Only simulations include it.", "s",
        nonnegative=True, finite=True, sparse=True, noun="time in which damping follows",
        has="has friction that builds up", label="damping follows within",
        leaders_only="friction of a follower builds up at once: give damping_time to its leader",
    )  # fmt: skip
    stribeck: T = _row(
        "Additional Coulomb friction at low speed, stribeck * sign(v) * exp(-(v / stribeck_speed)**2).", "N m", "N",
        nonnegative=True, finite=True, sparse=True, noun="Stribeck's friction", has="has friction", label="stribeck",
        parameter=True,
        leaders_only="a follower has no friction that fades with its speed: give stribeck to its leader",
    )  # fmt: skip
    stribeck_speed: T = _row(
        "Speed with which that fades.", "rad/s", "m/s", nonnegative=True, finite=True, label="fades with",
        of="stribeck", alone="says where friction fades, but there is none: give stribeck",
        needed="with which it fades", law=_above_zero,
    )  # fmt: skip
    stiffness: T = _row(
        "Stiffness of a spring in the joint, which belongs to the mechanism as gravity does: dynamics and potential "
        "energy include it.", "N m/rad", "N/m", nonnegative=True, sparse=True, noun="spring", has="has a spring",
        label="stiffness", parameter=True, law=_yields, urdf="kinetree:stiffness", sdf="spring_stiffness",
        mjcf="stiffness", par="k",
    )  # fmt: skip
    spring_rest: T = _row(
        "Coordinates at which the spring exerts no force; the neutral ones if left out.", "rad", "m", per="q",
        default=None, parameter=True, of="stiffness",
        alone="says where a spring rests, but there is none: give its stiffness", law=_can_be_reached,
        urdf="kinetree:spring_rest", sdf="spring_reference", mjcf="springref",
    )  # fmt: skip


class JointData(TypedDict, total=False):
    """The keywords of a joint, for editors and type checkers."""

    actuated: bool | None
    mimic: Mimic | None
    lower: PerFreedom
    upper: PerFreedom
    velocity_limit: PerFreedom
    effort_limit: PerFreedom
    damping: PerFreedom
    friction: PerFreedom
    rotor_inertia: PerFreedom
    gear_ratio: PerFreedom
    friction_offset: PerFreedom
    friction_travel: PerFreedom
    damping_time: PerFreedom
    stribeck: PerFreedom
    stribeck_speed: PerFreedom
    stiffness: PerFreedom
    spring_rest: PerFreedom


FIELDS: dict[str, JointField] = {
    f.name: dataclasses.replace(f.metadata["row"], name=f.name) for f in fields(JointNumbers)
}
"""The rows by name."""

JOINT_DATA = tuple(JointData.__annotations__)
"""Everything that can be given for a joint besides its geometry."""

LIMITS = tuple(name for name, row in FIELDS.items() if row.infinite)
"""The data that a cut joint keeps, in case it becomes part of the tree again."""

PER_FREEDOM = tuple(row.name for row in sorted(FIELDS.values(), key=lambda row: not row.of_motor) if row.parameter)
"""Numbers of a joint that may be parameters; those of the motor first."""


OF_MOTOR = tuple(name for name, row in FIELDS.items() if row.of_motor)
"""Numbers that act together, through a gear."""


def words_of(language: str, *, limits: bool = False) -> dict[str, JointField]:
    """Return the fields that a format has words for, keyed by these words: either limits, or all other fields."""
    rows = [row for row in FIELDS.values() if getattr(row, language) and row.infinite == limits]
    return {getattr(row, language): row for row in rows}


# ------------------------------------------------------------------ numbers, checked


def _plainly(numbers: Floats) -> str:
    """Return one number as such, and several in parentheses."""
    return f"{numbers[0]:g}" if len(numbers) == 1 else "(" + ", ".join(f"{x:g}" for x in numbers) + ")"


def joint_data(kind: JointKind, where: str, **data: Unpack[JointData]) -> dict[str, Any]:
    """Check and return everything that a joint has besides its geometry; see :meth:`kinetree.Builder.add_joint`."""
    mimic, actuated = data.pop("mimic", None), data.pop("actuated", None)
    given: dict[str, Any] = dict.fromkeys(FIELDS) | data
    found: dict[str, Any] = numbers_of(kind, where, given, follows=mimic is not None)
    lower, upper = found["lower"], found["upper"]
    if math.inf in lower or -math.inf in upper:
        raise ModelError(f"{where}no position is within limits {_plainly(lower)} and {_plainly(upper)}")
    if any(lo > up for lo, up in zip(lower, upper, strict=True)):
        raise ModelError(f"{where}lower limit {_plainly(lower)} exceeds upper limit {_plainly(upper)}")
    if mimic is not None and not isinstance(mimic, Mimic):
        raise ModelError(f"{where}mimic must be kinetree.Mimic(leader, ratio, offset), not {mimic!r}")
    if mimic:
        for what, number in (("ratio", mimic.ratio), ("offset", mimic.offset)):
            real_number(number, f"{where}the {what} of mimic", error=ModelError)
    if mimic and kind.nv != 1:
        raise ModelError(f"{where}only joints with one degree of freedom can mimic another")
    return found | {"actuated": kind.usually_driven if actuated is None else bool(actuated), "mimic": mimic}


def passive_data(kind: JointKind) -> dict[str, Any]:
    """Return the data of a joint without limits, motor or friction."""
    return joint_data(kind, "", actuated=False)


def numbers_of(
    kind: JointKind, where: str, given: Mapping[str, PerFreedom], *, follows: bool = False
) -> dict[str, Floats]:
    """Check and return the given numbers of a joint, each together with the number that it belongs to."""
    found: dict[str, Floats] = {}
    for name, row in FIELDS.items():
        if name not in given:
            continue
        value, what = given[name], where + (row.said or name)
        if row.of and not found[row.of]:
            if value is not None and given[row.of] is None:
                raise ModelError(f"{where}{name} {row.alone}")
            found[name] = ()
            continue
        if row.needed and value is None:
            raise ModelError(f"{where}{row.of} needs a {name}, {row.needed}")
        numbers = row.usual(kind)
        if value is not None:
            value = in_si(value, row.units[kind.q_units[:1] != ("rad",)], what)
            numbers = per_freedom(value, row.count(kind), 0.0, what, row.nonnegative, row.finite)
        if row.law is not None:
            row.law(kind, numbers, what)
        found[name] = numbers if any(numbers) or not row.sparse else ()
        if follows and row.leaders_only and found[name]:
            raise ModelError(where + row.leaders_only)
    return found


def per_freedom(
    value: PerFreedom, count: int, default: float, what: str, nonnegative: bool = False, finite: bool = False
) -> Floats:
    """Return one number per freedom, from one number or a sequence."""
    if value is None:
        return (default,) * count
    if isinstance(value, float):
        numbers = (value,) * count
    else:
        array = floats(value, what)
        if array.shape not in ((), (count,)):
            raise ModelError(f"{what} needs one number or {count}, got shape {array.shape}")
        numbers = tuple(float(x) for x in np.broadcast_to(array, (count,)))
    if any(map(math.isnan, numbers)):
        raise ModelError(f"{what} is not a number")
    if nonnegative and any(x < 0 for x in numbers):
        raise ModelError(f"{what} must not be negative, got {list(numbers)}")
    if finite and any(abs(x) > LARGEST for x in numbers):
        raise ModelError(f"{what} must be finite, and no more than {LARGEST:g}; got {list(numbers)}")
    return numbers


def like_degrees(angle: object) -> bool:
    """Return whether an angle that should be in radians is more likely in degrees."""
    return isinstance(angle, (int, float)) and TWO_TURNS < abs(angle) <= LARGEST_DEGREES


def doubtful_limits(kind: JointKind, data: Mapping[str, Any]) -> str | None:
    """Return which limit of a joint is more likely in degrees, or None; a huge number means no limit."""
    sides = [data.get(key) for key in ("lower", "upper")]
    pairs = [side if isinstance(side, (list, tuple, np.ndarray)) else [side] * kind.nq for side in sides]
    for unit, *both in zip(kind.q_units, *pairs, strict=False):
        value = max((x for x in both if isinstance(x, (int, float)) and math.isfinite(x)), key=abs, default=0.0)
        if unit == "rad" and like_degrees(value):
            return (
                f"limit {value:g} rad is more than two turns; limits are in radians, {value:g} degrees are "
                f"{math.radians(value):.4g}"
            )
    return None

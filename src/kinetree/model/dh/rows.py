"""Mechanisms from Denavit-Hartenberg tables: modified, standard, and Khalil's parameters for trees.

Each row is one frame, one joint and one body.  The pose of the row's frame in its
parent's frame is a product of elementary displacements:

===========  ================================================================  ==========================
convention   pose of the frame                                                 source
===========  ================================================================  ==========================
modified     ``Rx(alpha) Tx(a) Rz(theta) Tz(d)``                               Shah eq. 3.3-3.5
standard     ``Rz(theta) Tz(d) Tx(a) Rx(alpha)``                               frame at the far end
khalil       ``Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r)``               Khalil section 10.2
===========  ================================================================  ==========================

The joint coordinate adds to ``theta`` (revolute) or to ``d``, ``r`` (prismatic); the
number in the table remains as an offset.  Masses are given in the row's own frame.

Khalil's tables of mechanisms with n links and B loops have n + 2 B rows (section 10.3.1): first those of the links;
then frame k of every cut joint, which moves with its coordinate on link a(k); then frames k + B, fixed to the links on
the other side, which the frames k coincide with.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError
from ...io.units import in_si
from ..builder import ModelBuilder
from ..joint_fields import FIELDS, JointNumbers, PerFreedom, like_degrees
from ..joints import Fixed, JointKind, Prismatic, Revolute
from ..mass import MassProperties
from ..pose import Pose, cosine_and_sine, floats, symbols_hint
from . import other_names

CONVENTIONS = ("modified", "standard", "khalil")

POSITIONS = tuple(name for name, row in FIELDS.items() if row.per == "q")
"""Angles of a row that ``degrees=True`` does not convert, since coordinates are in radians; ``degrees="all"`` does."""

LONGEST = 100.0
"""If joints are farther apart than this, in meters, the table is probably in millimeters."""


@dataclass(frozen=True, kw_only=True)
class _Row(JointNumbers[PerFreedom]):
    """The common part of rows of all conventions.

    Attributes
    ----------
    name, joint_name : str, optional
        Names of the body and its frame, and of the joint; ``link1``, ``joint1``, ... by default.
    mass, com, inertia, about
        See :meth:`kinetree.MassProperties.of`, in the row's own frame.
    mass_properties : MassProperties, optional
        Given instead of the four above.
    lower, upper, damping, ...
        Numbers of the joint, see :class:`kinetree.model.joint_fields.JointNumbers`; angles in radians.
    """

    name: str | None = None
    joint_name: str | None = None
    mass: float | None = None
    com: ArrayLike | None = None
    inertia: ArrayLike | None = None
    about: str = "com"
    mass_properties: MassProperties | None = None

    def numbers_given(self) -> dict[str, Any]:
        """Return the numbers of the joint that were given: all that are neither None nor ``()``."""
        found = {name: getattr(self, name) for name in FIELDS}
        return {name: x for name, x in found.items() if x is not None and not (isinstance(x, tuple) and not x)}


@dataclass(frozen=True, kw_only=True)
class DHRow(_Row):
    """One row of a modified or standard Denavit-Hartenberg table.

    Attributes
    ----------
    alpha, theta : float
        Twist and joint angle.
    a, d : float
        Offsets along x and along z (Shah calls ``d`` b; a mapping may use either name).
    joint : {"revolute", "prismatic", "fixed"} or JointKind
        A joint object, such as ``kinetree.Helical("z", 0.1)``, moves relative to the frame that the row has when its
        coordinates are zero.
    parent : int or str, optional
        Row number (from 1; 0 is the base) or name; by default the previous row.
    actuated : bool, optional
        Whether a motor drives the joint; by default it does if the joint moves.
    """

    alpha: float = 0.0
    a: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    joint: str | JointKind = "revolute"
    parent: int | str | None = None
    actuated: bool | None = None


@dataclass(frozen=True, kw_only=True)
class KhalilRow(_Row):
    """One frame of a tree in Khalil's notation.

    Attributes
    ----------
    antecedent : int or str
        Row number a(j) (from 1; 0 is the base) or name.
    gamma, b : float
        Additional rotation about and translation along the antecedent's z, for all but one of its children.
    alpha, d, theta, r : float
        As in the ordinary modified table.
    sigma : {0, 1, 2}
        Revolute, prismatic, fixed.
    mu : {0, 1}, optional
        Whether the joint is actuated; by default all moving joints are, except free ones.
    """

    antecedent: int | str
    gamma: float = 0.0
    b: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    r: float = 0.0
    sigma: int = 0
    mu: int | None = None


Row = DHRow | KhalilRow


def build(
    table: Any, convention: str | None = None, *, name: str | None = None, base: str = "base",
    gravity: Sequence[float] = (0.0, 0.0, -9.81), degrees: bool | str = False, strict: bool = True,
    links: int | None = None, columns: str | Sequence[str] | None = None,
    base_mass_properties: MassProperties | None = None,
) -> tuple[ModelBuilder, tuple[Row, ...]]:  # fmt: skip
    """Read a table into a builder, and return both; see :func:`kinetree.from_dh` for the parameters."""
    builder = ModelBuilder(
        "robot" if name is None else _text(name, "name"), base=_text(base, "base"), gravity=gravity,
        strict=_yes_or_no(strict, "strict"),
    )  # fmt: skip
    if base_mass_properties is not None:
        builder.add_body(base, base_mass_properties)
    if isinstance(table, Mapping):
        table = other_names.by_rows(table)
    rows = other_names.numbered(table, columns)
    if convention is None:
        _ask_for_convention(table, rows is not None)
        convention = "modified"
    given = fill(builder, table if rows is None else rows, convention, base=base, degrees=degrees, links=links)
    if name is None:
        builder.name = builder.joint_letters()
    return builder, given


def _ask_for_convention(table: Any, numbers: bool) -> None:
    """Refuse tables of other programs without a convention: the same numbers could describe two different robots."""
    if numbers or (isinstance(table, Sequence) and any(other_names.is_foreign(row) for row in table)):
        raise ModelError(
            "state the convention of the table: convention='standard' (Rz(theta) Tz(d) Tx(a) Rx(alpha): RevoluteDH, "
            "Link(...), setFixedTransform(..., 'dh')) or 'modified' (Rx(alpha) Tx(a) Rz(theta) Tz(d): ReDySim, Craig, "
            "RevoluteMDH, 'mdh'); the same numbers describe two different robots"
        )


def fill(
    builder: ModelBuilder, table: Sequence[Row | Mapping[str, Any]], convention: str, *, base: str,
    degrees: bool | str = False, links: int | None = None,
) -> tuple[Row, ...]:  # fmt: skip
    """Add the rows of a table to a builder, and return them; see :func:`kinetree.from_dh` for the parameters."""
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        raise ModelError(_no_convention(convention))
    limits_too = isinstance(degrees, str) and degrees == "all"
    degrees = limits_too or _yes_or_no(degrees, "degrees", " or 'all'")
    if isinstance(table, (str, bytes, Mapping)) or not isinstance(table, Sequence):
        raise ModelError(f"a DH table is a sequence of rows, not {type(table).__name__}")
    if not table:
        raise ModelError("the DH table is empty: it needs at least one row")
    moving = _count_of_links(links, len(table), convention)
    bodies = [base]
    rows = [_in_si(_as_row(x, convention, k), degrees, f"row {k}") for k, x in enumerate(table, start=1)]
    if limits_too:
        rows = [_limits_in_radians(row, f"row {number}") for number, row in enumerate(rows, start=1)]
    for number, row in enumerate(rows[:moving], start=1):
        for key in ("name", "joint_name"):
            if not isinstance(getattr(row, key), (str, NoneType)):
                raise ModelError(f"row {number}: {key} must be text, not {reprlib.repr(getattr(row, key))}")
        body = row_name(row, number)
        _add(builder, row, convention, number, body, bodies, degrees)
        bodies.append(body)
    cuts = (len(rows) - moving) // 2
    for number in range(moving + 1, moving + cuts + 1):
        _close(builder, rows[number - 1], rows[number + cuts - 1], number, number + cuts, bodies, degrees)
    _notice_units(builder, rows, degrees, limits_too)
    return tuple(rows)


def _in_si(row: Row, degrees: bool, where: str) -> Row:
    """Return a row without units: angles that have one are converted to the unit of the table."""
    found: dict[str, Any] = {}
    for key in ("alpha", "theta", "gamma", "a", "b", "d", "r"):
        given = getattr(row, key, 0.0)
        value = in_si(given, "rad" if key in ("alpha", "theta", "gamma") else "m", f"{where}: {key}")
        if value is not given:
            found[key] = math.degrees(value) if degrees and key in ("alpha", "theta", "gamma") else value
    return replace(row, **found) if found else row


def row_name(row: Row, number: int) -> str:
    """Return the name of a row's body and frame; rows are numbered from 1."""
    return row.name or f"link{number}"


def row_parent(row: Row) -> int | str | None:
    """Return the number or name of the row that carries another; None for the previous row."""
    return row.antecedent if isinstance(row, KhalilRow) else row.parent


def _no_convention(given: object) -> str:
    """Return a message that lists the conventions and, for a name used elsewhere, the one it corresponds to."""
    told = f"convention must be one of {', '.join(CONVENTIONS)}, not {reprlib.repr(given)}"
    meant = other_names.CONVENTION_OF.get(given.lower().replace("-", "")) if isinstance(given, str) else None
    if meant is not None:
        return f"{told}; here it is {meant!r}"
    return f"{told}: 'standard' is classical (Corke, Spong, Paul: 'dh'), 'modified' is Craig's and Shah's ('mdh')"


def _limits_in_radians(row: Row, where: str) -> Row:
    """Convert the limits of a row from degrees to radians; those of sliding joints are lengths."""
    if not isinstance(_kind(row, where), Revolute):
        return row
    given = {key: value for key, value in row.numbers_given().items() if key in POSITIONS}
    return replace(row, **{key: np.radians(floats(value, f"{where}: {key}")) for key, value in given.items()})


def _notice_units(builder: ModelBuilder, rows: Sequence[Row], degrees: bool, limits_too: bool) -> None:
    """Warn once per table about angles and lengths that are unlikely to be in radians and meters."""
    for number, row in enumerate(rows, start=1):
        hint = _unit_doubt(row, degrees, limits_too)
        if hint:
            builder.doubt(f"row {number}: {hint}")
            return


def _unit_doubt(row: Row, degrees: bool, limits_too: bool) -> str | None:
    for key in () if degrees else ("alpha", "theta", "gamma"):
        if like_degrees(getattr(row, key, 0.0)):
            told = "if the table is in degrees, give degrees=True"
            return f"{key} = {getattr(row, key):g} rad is more than two turns; {told}"
    for key in () if limits_too or not isinstance(_kind(row, ""), Revolute) else POSITIONS:
        if like_degrees(getattr(row, key)):
            told = "limits (qlim) stay in radians under degrees=True; degrees='all' takes them in degrees, too"
            other = "limits (qlim) are in radians: np.radians(...) converts them, degrees='all' the whole table"
            return f"{key} = {getattr(row, key):g} rad is more than two turns; {told if degrees else other}"
    for key in ("a", "d") if isinstance(row, DHRow) else ("b", "d", "r"):
        if abs(getattr(row, key)) > LONGEST:
            return f"{key} = {getattr(row, key):g} m: lengths are in meters; divide those in millimeters by 1000"
    return None


def _count_of_links(links: int | None, rows: int, convention: str) -> int:
    """Return how many rows are links; the others are frames of cut joints, in pairs."""
    if links is None:
        return rows
    if convention != "khalil":
        raise ModelError("rows for cut joints belong to the khalil convention: leave links out")
    if not isinstance(links, (int, np.integer)) or isinstance(links, bool) or not 1 <= links <= rows:
        raise ModelError(f"links must be the number of rows that are links, 1 to {rows}, not {reprlib.repr(links)}")
    if (rows - links) % 2:
        raise ModelError(
            f"the table has {rows} rows, {links} of them links: the other {rows - links} must come in pairs, "
            "frame k of each cut joint first and then frames k + B on the other side"
        )
    return int(links)


def _close(
    builder: ModelBuilder, first: Row, second: Row, number: int, partner: int, bodies: list[str], degrees: bool
) -> None:
    """Close a loop: frame k, which a cut joint moves on link a(k), meets frame k + B, fixed to link a(k + B)."""
    where = f"row {number}, a cut joint"
    for row, place in ((first, where), (second, f"row {partner}, the other side of row {number}")):
        _check_numbers(row, place)
        massive = (
            row.mass is not None or row.mass_properties is not None or row.com is not None or row.inertia is not None
        )
        if massive:
            raise ModelError(f"{place}: it is a frame of a link that has its own row, so it cannot have mass")
    if not isinstance(first, KhalilRow) or not isinstance(second, KhalilRow):
        raise ModelError(f"{where}: rows of cut joints belong to the khalil convention")
    if second.mu or second.numbers_given():
        raise ModelError(f"row {partner}: it is fixed to its link and has no joint; row {number} has it")
    kind = _kind(first, where)
    here, there = (_parent(row, f"row {k}", len(bodies), bodies) for row, k in ((first, number), (second, partner)))
    placement, seat = (placements(row, "khalil", degrees)[0] for row in (first, second))
    data = first.numbers_given()
    try:
        builder.loop(
            first.joint_name or f"joint{number}", here, there, kind, placement=placement, seat=seat,
            actuated=bool(_yes_or_no(first.mu or 0, f"{where}: mu")), **data,
        )  # fmt: skip
    except (TypeError, ValueError, OverflowError) as problem:  # a ModelError is a ValueError
        raise ModelError(f"{where}: {problem}") from None


def _text(text: Any, what: str) -> str:
    if not isinstance(text, str) or not text:
        raise ModelError(f"{what} must be text, not {reprlib.repr(text)}")
    return text


def placements(row: Row, convention: str, degrees: bool = False) -> tuple[Pose, Pose]:
    """Split a row into the pose before its joint and the pose of its frame after the joint."""
    about_z = _turn(2, row.theta, degrees)
    about_x = _turn(0, row.alpha, degrees)
    if isinstance(row, KhalilRow):
        along_z = _turn(2, row.gamma, degrees) @ _shift(z=row.b)
        return along_z @ about_x @ _shift(x=row.d) @ about_z @ _shift(z=row.r), Pose()
    if convention == "standard":
        return about_z @ _shift(z=row.d), _shift(x=row.a) @ about_x
    return about_x @ _shift(x=row.a) @ about_z @ _shift(z=row.d), Pose()


def _add(
    builder: ModelBuilder, row: Row, convention: str, number: int, body: str, bodies: list[str], degrees: bool
) -> None:
    where = f"row {number} ({body!r})"
    _check_numbers(row, where)
    kind = _kind(row, where)
    parent = _parent(row, where, number, bodies)
    placement, child_pose = placements(row, convention, degrees)
    data = row.numbers_given()
    actuated = _actuated(row, kind, where)
    if isinstance(kind, Fixed) and data:
        raise ModelError(f"{where}: the row is fixed, so it cannot have {', '.join(data)}")
    try:
        builder.add_body(body, _mass(row))
        builder.add_joint(
            row.joint_name or f"joint{number}", parent, body, kind, placement,
            child_pose=child_pose, actuated=actuated, **data,
        )  # fmt: skip
    except (TypeError, ValueError, OverflowError) as problem:  # a ModelError is a ValueError
        raise ModelError(f"{where}: {problem}") from None


def _as_row(given: Row | Mapping[str, Any], convention: str, number: int) -> Row:
    """Return a mapping as a row; refuse anything that is not understood."""
    wanted: type[Row] = KhalilRow if convention == "khalil" else DHRow
    if isinstance(given, wanted):
        return given
    if not isinstance(given, Mapping):
        raise ModelError(
            f"row {number}: a row of the {convention} convention is a {wanted.__name__} or a mapping of its fields, "
            f"not {type(given).__name__}"
        )
    entries = other_names.renamed(given, number, convention) if wanted is DHRow else dict(given)
    if wanted is DHRow and "b" in entries:
        if "d" in entries:
            raise ModelError(f"row {number}: 'b' and 'd' are two names of the same offset; give one")
        entries["d"] = entries.pop("b")
    if wanted is KhalilRow:
        _rename_khalil(entries, number)
    known = [f.name for f in fields(wanted)]
    for key in entries:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1) or [x for x in known if x == str(key).lower()]
            others = (*other_names.RENAMED, *other_names.CONVERTED) if wanted is DHRow else ()
            near = near or difflib.get_close_matches(str(key), others, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise ModelError(f"row {number}: no entry {key!r} in a row of the {convention} convention; {hint}")
    missing = [f.name for f in fields(wanted) if f.default is MISSING and f.name not in entries]
    if missing:
        raise ModelError(f"row {number}: {', '.join(missing)} must be given in the {convention} convention")
    return wanted(**entries)


def _rename_khalil(entries: dict[str, Any], number: int) -> None:
    """Accept the columns j and a(j), as Khalil calls them."""
    if "j" in entries and entries.pop("j") != number:
        raise ModelError(f"row {number}: its column j is another number; rows are numbered from 1 in their order")
    for short in ("a", "a(j)"):
        if short in entries:
            if "antecedent" in entries:
                raise ModelError(f"row {number}: {short!r} and 'antecedent' are two names of the same column; give one")
            entries["antecedent"] = entries.pop(short)


def _check_numbers(row: Row, where: str) -> None:
    keys = ("alpha", "a", "d", "theta") if isinstance(row, DHRow) else ("gamma", "b", "alpha", "d", "theta", "r")
    for key in keys:
        value = getattr(row, key)
        try:
            finite = math.isfinite(value)
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite or np.ndim(value):
            raise ModelError(f"{where}: {key} must be a finite number, not {reprlib.repr(value)}{symbols_hint(value)}")


def _kind(row: Row, where: str) -> JointKind:
    if isinstance(row, KhalilRow):
        kinds: dict[Any, JointKind] = {0: Revolute("z"), 1: Prismatic("z"), 2: Fixed()}
        if not isinstance(row.sigma, (int, np.integer)) or row.sigma not in kinds:
            told = "sigma must be 0 (revolute), 1 (prismatic) or 2 (fixed)"
            raise ModelError(f"{where}: {told}, not {reprlib.repr(row.sigma)}")
        return kinds[row.sigma]
    if isinstance(row.joint, JointKind):
        return row.joint
    words: dict[Any, JointKind] = {"revolute": Revolute("z"), "prismatic": Prismatic("z"), "fixed": Fixed()}
    if not isinstance(row.joint, str) or row.joint not in words:
        raise ModelError(
            f"{where}: joint must be {', '.join(repr(w) for w in words)} or a joint such as "
            f"kinetree.Helical('z', 0.1), not {reprlib.repr(row.joint)}"
        )
    return words[row.joint]


def _parent(row: Row, where: str, number: int, bodies: list[str]) -> str:
    """Return the name of the carrying body, which must come before this one."""
    parent = row_parent(row)
    if parent is None:
        return bodies[number - 1]
    label = "antecedent" if isinstance(row, KhalilRow) else "parent"
    if isinstance(parent, (int, np.integer)) and not isinstance(parent, bool):
        if 0 <= parent < number:
            return bodies[parent]
        told = f"is not among the rows before it (1 to {number - 1}; 0 is the base)"
        raise ModelError(f"{where}: {label} {reprlib.repr(parent)} {told}")
    if not isinstance(parent, str) or parent not in bodies:
        told = f"is not among the rows before it: {', '.join(bodies)}"
        raise ModelError(f"{where}: {label} {reprlib.repr(parent)} {told}")
    return parent


def _actuated(row: Row, kind: JointKind, where: str) -> bool:
    fixed = isinstance(kind, Fixed)
    said = row.mu if isinstance(row, KhalilRow) else row.actuated
    if said is None:
        return not fixed and kind.usually_driven
    said = _yes_or_no(said, f"{where}: {'mu' if isinstance(row, KhalilRow) else 'actuated'}")
    if said and fixed:
        raise ModelError(f"{where}: the row is fixed, so it cannot be actuated")
    return said


def _yes_or_no(said: Any, what: str, other: str = "") -> bool:
    if not isinstance(said, (bool, int, float, np.bool_, np.integer, np.floating)) or said not in (0, 1):
        raise ModelError(f"{what} must be 0 or 1{other}, not {reprlib.repr(said)}")
    return bool(said)


def _mass(row: Row) -> MassProperties:
    parts = {key: getattr(row, key) for key in ("mass", "com", "inertia") if getattr(row, key) is not None}
    if row.mass_properties is not None:
        if parts:
            raise ModelError(f"give either mass_properties or {', '.join(parts)}")
        return row.mass_properties
    if "mass" not in parts and parts:
        raise ModelError(f"{', '.join(parts)} without a mass")
    return MassProperties.of(**parts, about=row.about)


def _shift(x: float = 0.0, z: float = 0.0) -> Pose:
    return Pose(translation=(float(x), 0.0, float(z)))


def _turn(axis: int, angle: float, degrees: bool) -> Pose:
    """Return a rotation about x (0) or z (2).

    Whole quarter turns are exact, in radians for the double nearest to them: a table's 1.5708 is used as it is.
    """
    if angle == 0:
        return Pose()
    c, s = _cos_sin_degrees(float(angle)) if degrees else cosine_and_sine(float(angle))
    turn = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn[i, i] = turn[j, j] = c
    turn[i, j], turn[j, i] = 0.0 - s, s
    return Pose(tuple(float(x) for x in turn.ravel()))


def _cos_sin_degrees(angle: float) -> tuple[float, float]:
    quarters = round(angle / 90.0)
    rest = math.radians(angle - 90.0 * quarters)
    c, s = math.cos(rest), math.sin(rest)
    for _ in range(quarters % 4):
        c, s = 0.0 - s, c
    return c, s

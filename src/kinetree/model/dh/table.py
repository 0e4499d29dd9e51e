"""Denavit-Hartenberg tables of robots: the table that a robot was made from, or one that describes it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from ...errors import NoValueError, UnknownNameError, UnsupportedError
from ...io.tables.text import TextTable
from ..changes.over_any_scalar import KhalilStep
from ..joint_fields import FIELDS
from ..joints import Fixed, JointKind, Prismatic, Revolute
from ..mass import MassProperties
from ..pose import Pose
from ..tree import BASE, Joint, Model
from .khalil_parameters import step_of, to_axis
from .rows import CONVENTIONS, DHRow, KhalilRow, Row, row_name, row_parent

ANGLES = ("alpha", "theta", "gamma")
OF_DH = {"modified": ("alpha", "a", "d", "theta"), "standard": ("theta", "d", "a", "alpha")}
OF_KHALIL = ("sigma", "mu", "gamma", "b", "alpha", "d", "theta", "r")
ROUNDED = 1e-12
"""Angles and lengths below this are rounding errors from computing them from poses."""


@dataclass(frozen=True)
class DHTable(Sequence[Row]):
    """A table from which :func:`kinetree.from_dh` makes a robot: a sequence of rows, printed with angles in degrees.

    Attributes
    ----------
    convention : {"modified", "standard", "khalil"}
    rows : tuple of DHRow or KhalilRow
        Rows with masses and the numbers of joints.
    degrees : bool
        Whether angles of the rows are in degrees.
    links : int, optional
        How many rows are links, if others are frames of cut joints.
    floating_base : bool
        Whether the base is on a free joint.
    """

    convention: str
    rows: tuple[Row, ...]
    degrees: bool = False
    links: int | None = None
    floating_base: bool = False
    made: Model | None = field(default=None, compare=False, repr=False)
    """The robot that was made from the table."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, k: int) -> Row: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, k: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[k]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def table(self) -> TextTable:
        """The geometry as books print it: ``q`` is the joint coordinate, angles are in degrees, lengths in meters."""
        names: tuple[str, ...] = OF_KHALIL if self.convention == "khalil" else OF_DH[self.convention]
        if self.convention == "khalil" and not any(row.gamma or row.b for row in self.rows):  # type: ignore[union-attr]
            names = tuple(name for name in names if name not in ("gamma", "b"))
        follows = all(row_parent(row) in (None, k, row_name(self.rows[k - 1], k) if k else None)
                      for k, row in enumerate(self.rows))  # fmt: skip
        heads = [
            f"{name} [deg]" if name in ANGLES else name if name in ("sigma", "mu") else f"{name} [m]" for name in names
        ]
        lines = []
        for k, row in enumerate(self.rows, start=1):
            parent = row_parent(row)
            cells = [self._entry(row, name) for name in names]
            lines.append([row_name(row, k), *([] if follows else [k - 1 if parent is None else parent]), *cells])
        return TextTable(
            ["link", *([] if follows else ["parent"]), *heads], lines, f"{self.convention} Denavit-Hartenberg table"
        )

    def _entry(self, row: Row, name: str) -> str:
        value = getattr(row, name)
        if name in ("sigma", "mu"):
            return "" if value is None else str(int(value))
        shown = f"{math.degrees(value) if name in ANGLES and not self.degrees else value:.6g}"
        kind = row.sigma if isinstance(row, KhalilRow) else row.joint
        turns = kind == 0 if isinstance(row, KhalilRow) else kind == "revolute" or isinstance(kind, Revolute)
        slides = kind == 1 if isinstance(row, KhalilRow) else kind == "prismatic" or isinstance(kind, Prismatic)
        moved = "theta" if turns else ("r" if isinstance(row, KhalilRow) else "d") if slides else ""
        if name != moved:
            return shown
        return "q" if value == 0.0 else f"q {'-' if value < 0 else '+'} {shown.removeprefix('-')}"

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table.html()

    # ---------------------------------------------------------------- whether a robot still matches the table

    def describes(self, model: Model) -> bool:
        """Return whether a robot has the joints, bodies and loops of the table, to the last bit."""
        made = self.made
        if made is None or (model.joints, model.bodies, model.base, model.loops) != (
            made.joints,
            made.bodies,
            made.base,
            made.loops,
        ):
            return False
        own = self.names
        return [f for f in model.frames if f.name in own] == [f for f in made.frames if f.name in own]

    @property
    def names(self) -> set[str]:
        """Names of the rows: those of bodies or, if a row is fixed, of frames."""
        return {row_name(row, k) for k, row in enumerate(self.rows, start=1)}

    def with_numbers_of(self, model: Model) -> DHTable | None:
        """Return the table with the current masses and joints of a robot; None if its geometry differs."""
        if self.made is None or _geometry(model) != _geometry(self.made):
            return None
        if self.convention == "standard" or any(isinstance(j.kind, Fixed) for j in model.joints) or model.loops:
            return None  # derived again, since welded bodies cannot be separated
        rows = []
        for k, row in enumerate(self.rows, start=1):
            body = model.body_index.get(row_name(row, k))
            if body is None:
                return None
            rows.append(replace(row, **_numbers(model.joints[body], model.bodies[body].mass_properties)))
        return replace(self, rows=tuple(rows), made=None)


def _geometry(model: Model) -> list[Any]:
    return [(j.name, j.parent, j.kind, j.placement) for j in model.joints] + [
        (x.name, x.placement, x.seat) for x in model.loops
    ]


def _numbers(joint: Joint, mass: MassProperties) -> dict[str, Any]:
    found = {
        key: getattr(joint, key) for key, row in FIELDS.items() if not row.is_usual(joint.kind, getattr(joint, key))
    }
    return {"mass": None, "com": None, "inertia": None, "mass_properties": mass} | found


# ---------------------------------------------------------------- from a robot


def dh_table(model: Model, convention: str | None = None) -> DHTable:
    """Return the table that a robot was made from, or one that describes it; see :meth:`kinetree.Robot.dh_table`."""
    if convention is not None and convention not in CONVENTIONS:
        raise UnknownNameError("convention", convention, CONVENTIONS)
    own = model.table if isinstance(model.table, DHTable) else None
    convention = own.convention if convention is None and own is not None else convention
    if own is not None and convention == own.convention:
        if own.describes(model):
            return own
        changed = own.with_numbers_of(model)
        if changed is not None:
            return changed
    if model.symbols:
        raise NoValueError(model.symbols)
    frames = _TableFrames(model)
    if convention == "standard":
        return frames.standard()
    if convention == "khalil" or (convention is None and (model.loops or frames.is_apart)):
        return frames.khalil()
    return frames.modified()


class _TableFrames:
    """Frames of a robot as Khalil places them: z along the axis of each joint, x along the normal to the next axis."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.root = model.roots[0] if model.is_floating else BASE
        for joint in model.joints:
            if joint.mimic:
                raise UnsupportedError(
                    f"joint {joint.name!r} mimics {joint.mimic.leader!r}, which tables cannot express: lock both, "
                    f"robot.reduced([{joint.mimic.leader!r}])"
                )
        kinds = [(j.name, j.kind) for i, j in enumerate(model.joints) if i != self.root] + [
            (x.name, x.kind) for x in model.loops
        ]
        for name, kind in kinds:
            if not isinstance(kind, (Revolute, Prismatic, Fixed)):
                raise UnsupportedError(
                    f"joint {name!r} is {kind.name}: Denavit-Hartenberg tables have hinges, slides and fixed frames; "
                    "robot.with_single_joints() splits joints with several freedoms"
                )
        self.moving = [i for i in range(len(model.joints)) if i != self.root]
        if not self.moving:
            raise UnsupportedError(
                f"{model.name!r} has no joints, apart from its base, that a table could have rows for"
            )
        self.number = {BASE: 0, self.root: 0} | {i: k for k, i in enumerate(self.moving, start=1)}
        self.frames: dict[int, Pose] = {BASE: Pose(), self.root: Pose()}
        """Pose of each frame of the table on its body."""
        self.steps: dict[int, KhalilStep] = {}
        for i in self.moving:
            self.frames[i] = Pose.of(rotation=to_axis(model.joints[i].kind))
        led = set[int]()
        for i in self.moving:
            parent, step = model.joints[i].parent, self._step(i)
            if parent not in (BASE, self.root) and parent not in led:  # x is along the normal to its first child
                own = self.steps[parent]
                theta = math.remainder(own.theta + step.gamma, 2.0 * math.pi)
                self.steps[parent] = own._replace(theta=theta, r=own.r + step.b)
                self.frames[parent] = self.frames[parent] @ _along_z(step.gamma, step.b)
                step = step._replace(gamma=0.0, b=0.0)
            led.add(parent)
            self.steps[i] = step

    def _step(self, i: int) -> KhalilStep:
        """Return the pose of a joint in its parent's frame; if both axes are on one line, only theta turns it."""
        joint = self.model.joints[i]
        step = _tidy(step_of(self.frames[joint.parent].inverse() @ joint.placement @ self.frames[i]))
        if step.d == 0.0 and step.alpha in (0.0, math.pi):
            theta = step.theta + step.gamma if step.alpha == 0.0 else step.theta - step.gamma
            return step._replace(gamma=0.0, theta=theta)
        return step

    @property
    def is_apart(self) -> bool:
        """Whether some frame needs six parameters: one on the base, or a second child of a body."""
        return any(step.gamma or step.b for step in self.steps.values())

    def _row(self, i: int, at: Pose | None = None) -> dict[str, Any]:
        """Return names, mass and joint of a row whose frame is ``at`` a pose on Khalil's."""
        body, joint = self.model.bodies[i], self.model.joints[i]
        frame = self.frames[i] if at is None else self.frames[i] @ at
        numbers = _numbers(joint, body.mass_properties.moved(frame.inverse()))
        return {"name": body.name, "joint_name": joint.name} | numbers

    def _table(self, convention: str, rows: Sequence[Row], links: int | None = None) -> DHTable:
        return DHTable(convention, tuple(rows), links=links, floating_base=self.root != BASE)

    def khalil(self) -> DHTable:
        """Return six parameters per frame, and two more frames for each cut joint."""
        rows = []
        for i in self.moving:
            joint = self.model.joints[i]
            sigma = _sigma(joint.kind)
            driven = None if joint.actuated == joint.kind.usually_driven else int(joint.actuated)
            step = self.steps[i]._asdict()
            rows.append(KhalilRow(antecedent=self.number[joint.parent], sigma=sigma, mu=driven, **step, **self._row(i)))
        here, there = [], []
        for loop in self.model.loops:
            turn = Pose.of(rotation=to_axis(loop.kind))
            first, second = (
                _tidy(step_of(self.frames[body].inverse() @ pose @ turn))._asdict()
                for body, pose in ((loop.predecessor, loop.placement), (loop.successor, loop.seat))
            )
            here.append(
                KhalilRow(
                    antecedent=self.number[loop.predecessor],
                    sigma=_sigma(loop.kind),
                    joint_name=loop.name,
                    mu=0,
                    **first,
                )
            )
            there.append(KhalilRow(antecedent=self.number[loop.successor], sigma=2, **second))
        return self._table("khalil", [*rows, *here, *there], len(rows) if here else None)

    def modified(self) -> DHTable:
        """Return four parameters per frame, Craig's."""
        if self.model.loops or self.is_apart:
            where = next((i for i in self.moving if self.steps[i].gamma or self.steps[i].b), self.moving[0])
            raise UnsupportedError(
                f"joint {self.model.joints[where].name!r} of {self.model.name!r} needs six parameters, as branches, "
                "loops and a base rotated relative to the first axis do: dh_table('khalil') has them"
            )
        return self._table("modified", [self._dh_row(i, self.steps[i]) for i in self.moving])

    def standard(self) -> DHTable:
        """Return four parameters per link of a chain, with frames at the far ends of links."""
        model, steps = self.model, [self.steps[i] for i in self.moving]
        serial = all(
            model.joints[i].parent == (self.moving[k - 1] if k else self.root) for k, i in enumerate(self.moving)
        )
        if model.loops or not serial or any(steps[0][:4]):
            raise UnsupportedError(
                f"a standard table describes a chain whose first axis is z of the base, which {model.name!r} is not: "
                "dh_table('modified') or dh_table('khalil') describes it"
            )
        rows = []
        for k, i in enumerate(self.moving):
            following = steps[k + 1] if k + 1 < len(steps) else KhalilStep()
            far = Pose.of((following.d, 0.0, 0.0), rpy=(following.alpha, 0.0, 0.0))
            rows.append(self._dh_row(i, steps[k]._replace(alpha=following.alpha, d=following.d), far))
        return self._table("standard", rows)

    def _dh_row(self, i: int, step: KhalilStep, far: Pose | None = None) -> DHRow:
        joint = self.model.joints[i]
        parent = None if self.number[joint.parent] == self.number[i] - 1 else self.number[joint.parent]
        driven = None if joint.actuated == joint.kind.usually_driven else joint.actuated
        turned = type(joint.kind)("z") if isinstance(joint.kind, (Revolute, Prismatic)) else joint.kind
        words: Mapping[JointKind, str] = {Revolute("z"): "revolute", Prismatic("z"): "prismatic", Fixed(): "fixed"}
        kind = words.get(turned, turned)
        return DHRow(alpha=float(step.alpha), a=float(step.d), d=float(step.r), theta=float(step.theta), joint=kind,
                     parent=parent, actuated=driven, **self._row(i, far))  # fmt: skip


def _sigma(kind: JointKind) -> int:
    return 0 if isinstance(kind, Revolute) else 1 if isinstance(kind, Prismatic) else 2


def _along_z(angle: Any, shift: Any) -> Pose:
    return Pose.of((0.0, 0.0, float(shift)), rpy=(0.0, 0.0, float(angle)))


def _tidy(step: KhalilStep) -> KhalilStep:
    """Return a step without rounding errors: near-zero numbers, and angles near quarter turns."""
    quarter = math.pi / 2

    def near(x: Any, whole: float) -> float:
        count = round(float(x) / whole)
        return count * whole if abs(float(x) - count * whole) < ROUNDED else float(x)

    found = {
        key: near(x, quarter) if key in ANGLES else 0.0 if abs(float(x)) < ROUNDED else float(x)
        for key, x in step._asdict().items()
    }
    return KhalilStep(**found)

"""A planar linkage as it is drawn, and the mechanism that the drawing represents.

All bodies are described in the coordinates of the drawing, so that the mechanism's neutral configuration is the
drawing, in which all loops are closed.  Its numbers (coordinates and distances of points, masses, springs) have names,
``"A.x"``, and may be any scalar: :meth:`Drawing.tables` converts them to parameters of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError
from ...spatial import Scalar, arctan2, cos, sin, sqrt, where
from ..builder import ModelBuilder
from ..joints import Prismatic, Revolute
from ..mass import MassProperties
from ..pose import Pose
from ..tree import BASE, Model
from .plates import Lump, Point, hull, spread, together

GROUND = "ground"
ON_LINE = 1e-9
"""How far from a line a point may be that is drawn on it, as a fraction of its distances."""
Numbers = Mapping[str, Scalar]


@dataclass(frozen=True)
class DrawnPoint:
    """A point: its coordinates, its distances from two others, or its distance and direction from another."""

    numbers: tuple[float, float]
    of: tuple[str, ...] = ()
    """The points that it is measured from: none, one or two."""
    turn: int = 0
    """Which of two possible positions: 1 if the point is to the left of the line from the first point to the second,
    -1 if it is to the right, 0 if it is on the line."""

    @property
    def keys(self) -> tuple[str, str]:
        """The names of its two numbers."""
        first, second = (*self.of, "angle")[:2] if self.of else ("x", "y")
        return first, second

    def place(self, one: Scalar, two: Scalar, known: Mapping[str, Point]) -> Point:
        """Return its position, from its two numbers."""
        if not self.of:
            return one, two
        ax, ay = known[self.of[0]]
        if len(self.of) == 1:
            return ax + one * cos(two), ay + one * sin(two)
        bx, by = known[self.of[1]]
        dx, dy = bx - ax, by - ay
        square = dx * dx + dy * dy
        along = 0.5 * (1.0 + (one * one - two * two) / square)
        left = one * one / square - along * along
        if self.turn:
            across = self.turn * sqrt(left)
        else:  # other distances may miss the line: NaN, as for all that do not close
            off = 4.0 * ON_LINE * (1.0 + along * along)
            across = where(left * left > off * off, math.nan, 0.0)
        return ax + along * dx - across * dy, ay + along * dy + across * dx


@dataclass(frozen=True)
class DrawnBar:
    """A rigid bar or plate through some points; see :func:`kinetree.linkage` for its numbers."""

    points: tuple[str, ...]
    mass: float | None = None
    com: tuple[float, float] | None = None
    inertia: float | None = None
    width: float | None = None
    thickness: float | None = None
    density: float | None = None


@dataclass(frozen=True)
class DrawnSlider:
    """A point that slides on a body: along a direction, or along the line from it to a point of that body.

    With ``bar``, that bar itself slides without turning; otherwise a block slides, to which bars are pinned.
    """

    along: float | str
    on: str = GROUND
    bar: str = ""


@dataclass(frozen=True)
class DrawnSpring:
    """A spring between two points; without ``rest`` it is relaxed as drawn, and it may be slack on one side of it."""

    between: tuple[str, str]
    stiffness: float
    rest: float | None = None
    damping: float = 0.0
    pushes_only: bool = False
    pulls_only: bool = False

    def slack(self, rest: float) -> tuple[float, float]:
        """Return lengths between which it is slack."""
        return (0.0 if self.pulls_only else rest), (math.inf if self.pushes_only else rest)


@dataclass(frozen=True)
class DrawnGear:
    """Two bars that carry wheels: the second turns ``ratio`` times as much as the first, seen from their carrier."""

    wheels: tuple[str, str]
    ratio: float
    backlash: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0


class DrawnJoint(NamedTuple):
    """A pin or a slide at a point."""

    name: str
    point: str
    parent: str
    child: str
    slides: bool = False


@dataclass(frozen=True)
class Drawing:
    """A planar linkage; see :func:`kinetree.linkage`. Lengths are in meters, however they are written.

    Attributes
    ----------
    points, bars, sliders, springs, gears : dict
        Parts by name; sliders are keyed by the point that slides.
    ground : tuple of str
        Points that are pinned to the ground.
    motors : tuple of pairs of str
        Points, each with the bar that is driven there if there are several.
    masses : dict from point to float
        Masses at points.
    units : str
        The unit of lengths that are given without one.
    gravity : pair of floats
    """

    name: str
    points: dict[str, DrawnPoint]
    bars: dict[str, DrawnBar]
    ground: tuple[str, ...]
    motors: tuple[tuple[str, str], ...] = ()
    sliders: dict[str, DrawnSlider] = field(default_factory=dict)
    springs: dict[str, DrawnSpring] = field(default_factory=dict)
    gears: dict[str, DrawnGear] = field(default_factory=dict)
    masses: dict[str, float] = field(default_factory=dict)
    units: str = "m"
    gravity: tuple[float, float] = (0.0, -9.81)

    # ---------------------------------------------------------------- numbers

    @cached_property
    def numbers(self) -> dict[str, float]:
        """All numbers that make up the drawing, by name: ``"A.x"``, ``"C.A"`` (a distance), ``"crank.mass"``."""
        found = dict[str, float]()
        for p, point in self.points.items():
            found |= {f"{p}.{key}": x for key, x in zip(point.keys, point.numbers, strict=True)}
        found |= {f"{bar}.mass": own.mass for bar, own in self.bars.items() if own.mass is not None}
        found |= {f"{p}.mass": mass for p, mass in self.masses.items()}
        for name, spring in self.springs.items():
            found |= {f"{name}.stiffness": spring.stiffness}
            found |= {} if spring.rest is None else {f"{name}.rest": spring.rest}
        return found

    def unit_of(self, number: str) -> str:
        """Return the SI unit of a number."""
        owner, _, key = number.rpartition(".")
        return {"mass": "kg", "stiffness": "N/m", "angle": "rad"}.get(key, "m") if owner in self._names else "m"

    @cached_property
    def _names(self) -> set[str]:
        return {*self.points, *self.bars, *self.springs, *self.gears}

    def with_numbers(self, numbers: Mapping[str, float]) -> Drawing:
        """Return the drawing with some numbers changed."""
        new = self.numbers | {key: float(x) for key, x in numbers.items()}

        def of(owner: str, own: Any, *keys: str) -> Any:
            return replace(own, **{key: new[f"{owner}.{key}"] for key in keys if f"{owner}.{key}" in new})

        points = {}
        for p, point in self.points.items():
            one, two = (new[f"{p}.{key}"] for key in point.keys)
            points[p] = replace(point, numbers=(one, two))
        return replace(
            self,
            points=points,
            bars={bar: of(bar, own, "mass") for bar, own in self.bars.items()},
            springs={name: of(name, own, "stiffness", "rest") for name, own in self.springs.items()},
            masses={p: new[f"{p}.mass"] for p in self.masses},
        )

    def positions(self, numbers: Numbers | None = None) -> dict[str, Point]:
        """Return the positions of points, from numbers of any kind."""
        given, found = self.numbers if numbers is None else numbers, dict[str, Point]()
        for p, own in self.points.items():
            one, two = (given[f"{p}.{key}"] for key in own.keys)
            found[p] = own.place(one, two, found)
        return found

    @cached_property
    def drawn(self) -> dict[str, tuple[float, float]]:
        """Where points are drawn, in meters."""
        return {p: (float(x), float(y)) for p, (x, y) in self.positions().items()}

    # ---------------------------------------------------------------- what it is made of

    @cached_property
    def joints(self) -> tuple[DrawnJoint, ...]:
        """Pins and slides; if several bars meet, all are pinned to the ground, to the block or to the first bar."""
        found = []
        for p in self.points:
            on = [GROUND] if p in self.ground else []
            on += [bar for bar, own in self.bars.items() if p in own.points]
            slider = self.sliders.get(p)
            if slider:
                body = self.slider_body(p)
                found.append(DrawnJoint(f"{p}_slide", p, slider.on, body, slides=True))
                on = [body, *(b for b in on if b not in (body, slider.on))]
            if len(on) > 1:
                names = [p] if len(on) == 2 else [f"{p}_{bar}" for bar in on[1:]]
                found += [DrawnJoint(name, p, on[0], bar) for name, bar in zip(names, on[1:], strict=True)]
        return tuple(found)

    def slider_body(self, point: str) -> str:
        """Return the body that slides at a point."""
        return self.sliders[point].bar or f"{point}_slider"

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """All moving bodies: bars, and blocks that slide."""
        return (*self.bars, *(self.slider_body(p) for p, own in self.sliders.items() if not own.bar))

    @cached_property
    def driven(self) -> tuple[DrawnJoint, ...]:
        """Joints that motors drive."""
        return tuple(self.driven_at(point, bar) for point, bar in self.motors)

    def driven_at(self, point: str, bar: str) -> DrawnJoint:
        """Return the joint that a motor at a point drives; ``bar`` may be empty if there is only one."""
        here = [joint for joint in self.joints if joint.point == point]
        if point in self.sliders and not bar:
            return here[0]
        fitting = [joint for joint in here if bar in joint[2:4]] if bar else here
        if len(fitting) == 1:
            return fitting[0]
        if not here:
            raise ModelError(f"motor {point!r}: only one body has that point, but a motor needs two")
        bars = ", ".join(repr(joint.child) for joint in here)
        raise ModelError(f"motor {point!r}: name the driven bar, motor={{{point!r}: bar}}; pinned there are {bars}")

    def body_of(self, point: str) -> str:
        """Return a body that contains a point: the ground, the sliding body, or the first bar."""
        if point in self.ground:
            return GROUND
        if point in self.sliders:
            return self.slider_body(point)
        return next((bar for bar, own in self.bars.items() if point in own.points), GROUND)

    def geared(self, gear: DrawnGear) -> tuple[str, str]:
        """Return the pins that two wheels turn on; both are on the same carrier."""
        one, two = (
            {j.parent if j.child == wheel else j.child: j.name for j in self.joints if wheel in j[2:4] and not j.slides}
            for wheel in gear.wheels
        )
        shared = [body for body in one if body in two and body not in gear.wheels]
        if shared:
            return one[shared[0]], two[shared[0]]
        raise ModelError(
            f"bars {gear.wheels[0]!r} and {gear.wheels[1]!r} cannot be geared: no body carries both by pins. Wheels "
            "turn on the ground, or on one bar that both are pinned to"
        )

    # ---------------------------------------------------------------- masses

    def lumps(self, where: Mapping[str, Point], numbers: Numbers) -> dict[str, Lump]:
        """Return mass, center and second moments of everything that moves, in coordinates of the drawing."""
        parts: dict[str, list[Lump]] = {body: [] for body in self.bodies}
        for name, bar in self.bars.items():
            mass = numbers[f"{name}.mass"] if bar.mass is not None else None
            if mass is not None or bar.density is not None:
                parts[name].append(self._lump(bar, mass, where))
        for p in self.masses:
            body = self.body_of(p)
            if body in parts:
                parts[body].append(Lump(numbers[f"{p}.mass"], where[p]))
        return {body: together(own) for body, own in parts.items()}

    def _lump(self, bar: DrawnBar, mass: Scalar | None, where: Mapping[str, Point]) -> Lump:
        """Return the mass of a bar: spread evenly, moved to ``com`` if that is given, or with its own inertia there."""
        if bar.com is not None and bar.inertia is not None:
            half = bar.inertia / 2.0
            return Lump(mass, bar.com, (half, 0.0, half))
        order = hull([self.drawn[p] for p in bar.points])
        per_area = None if bar.density is None or bar.thickness is None else bar.density * bar.thickness
        even = spread([where[bar.points[k]] for k in order], mass, bar.width, per_area)
        return even if bar.com is None else even._replace(center=bar.com)

    # ---------------------------------------------------------------- the mechanism

    def model(self) -> Model:
        """Return the mechanism."""
        builder = ModelBuilder(self.name, base=GROUND, gravity=(*self.gravity, 0.0))
        self.fill(builder)
        return replace(builder.model(cuts=self.cuts), drawing=self)

    def fill(self, builder: ModelBuilder) -> None:
        """Add all bodies, joints, frames, springs and gears to a builder."""
        driven = {joint.name for joint in self.driven}
        for body, lump in self.lumps(self.drawn, self.numbers).items():
            builder.add_body(body, _mass(lump))
        for joint in self.joints:
            place = (*self.drawn[joint.point], 0.0)
            pose = Pose.of(place, rpy=(0.0, 0.0, self._yaw(joint, self.drawn)))
            kind = Prismatic("x") if joint.slides else Revolute("z")
            parent = builder.base if joint.parent == GROUND else joint.parent
            builder.joint(joint.name, parent, joint.child, kind, pose, seat=pose, actuated=joint.name in driven)
        for p, (x, y) in self.drawn.items():
            body = self.body_of(p)
            builder.frame(p, builder.base if body == GROUND else body, (x, y, 0.0))
        for name, spring in self.springs.items():
            length = math.dist(*(self.drawn[p] for p in spring.between)) if spring.rest is None else spring.rest
            along = {"stiffness": spring.stiffness, "rest": spring.slack(length), "damping": spring.damping}
            builder.tendon(name, points=spring.between, **along)  # type: ignore[arg-type]
        for name, gear in self.gears.items():
            one, two = self.geared(gear)
            if gear.backlash:
                slack = gear.backlash / 2.0
                meshing = {"stiffness": gear.stiffness, "rest": (-slack, slack), "damping": gear.damping}
                builder.tendon(name, {one: -gear.ratio, two: 1.0}, **meshing)  # type: ignore[arg-type]
            else:
                builder.coupling(name, {one: -gear.ratio, two: 1.0})

    @cached_property
    def cuts(self) -> list[str]:
        """Pins to cut: never at motors, at slides and wheels only if unavoidable, otherwise far from the ground."""
        first = {joint.name for joint in self.driven} | {joint.name for joint in self.joints if joint.slides}
        first |= {name for gear in self.gears.values() for name in self.geared(gear)}
        steps, root = self.steps, {body: body for body in (GROUND, *self.bodies)}
        order = sorted(self.joints, key=lambda j: (j.name not in first, min(steps[j.parent], steps[j.child])))
        found = []
        for joint in order:
            ends = []
            for body in (joint.parent, joint.child):
                while root[body] != body:
                    body = root[body]
                ends.append(body)
            if ends[0] == ends[1]:
                found.append(joint.name)
            root[ends[1]] = ends[0]
        return found

    @cached_property
    def steps(self) -> dict[str, int]:
        """The number of joints between the ground and each body that is connected to it."""
        found, waiting = {GROUND: 0}, [GROUND]
        for body in waiting:
            for joint in self.joints:
                if body in (joint.parent, joint.child):
                    other = joint.child if body == joint.parent else joint.parent
                    if other not in found:
                        found[other] = found[body] + 1
                        waiting.append(other)
        return found

    def _yaw(self, joint: DrawnJoint, where: Mapping[str, Point]) -> Scalar:
        """Return the direction of a slide."""
        if not joint.slides:
            return 0.0
        along = self.sliders[joint.point].along
        if not isinstance(along, str):
            return along
        (ax, ay), (bx, by) = where[joint.point], where[along]
        return arctan2(by - ay, bx - ax)

    def tables(self, model: Model, numbers: Numbers) -> dict[str, Any]:
        """Return the parameters of the model that follow from numbers of any kind, as :func:`kinetree.linkage` would.

        model: The model of the drawing.
        numbers: Numbers that differ from those of the drawing; the others are kept.

        Returns
        -------
        dict
            In the form of the argument ``parameters`` of :meth:`kinetree.Mechanism.driven_motion`.
        """
        given: Numbers = {**self.numbers, **numbers}
        where, known = self.positions(given), {joint.name: joint for joint in self.joints}
        lumps = self.lumps(where, given)
        origin: dict[int, Point] = {BASE: (0.0, 0.0)}
        yaw: dict[int, Scalar] = {BASE: 0.0}
        for i, joint in enumerate(model.joints):
            drawn = known[joint.name]
            origin[i], yaw[i] = where[drawn.point], self._yaw(drawn, where)

        def on(body: int, p: Point) -> list[Scalar]:
            dx, dy = p[0] - origin[body][0], p[1] - origin[body][1]
            return [*_turned((dx, dy), yaw[body]), 0.0]

        joints = {j.name: {"position": on(j.parent, origin[i])} for i, j in enumerate(model.joints)}
        for i, j in enumerate(model.joints):
            if known[j.name].slides and isinstance(self.sliders[known[j.name].point].along, str):
                joints[j.name]["rpy"] = [0.0, 0.0, yaw[i] - yaw[j.parent]]
        frames = {f.name: {"position": on(f.body, where[f.name])} for f in model.frames if f.name in where}
        frames |= {b.name: {"position": on(i, (0.0, 0.0))} for i, b in enumerate(model.bodies)}
        for f in model.frames:
            if f.name in known and f.name not in where:
                frames[f.name] = {"position": on(f.body, where[known[f.name].point])}
        loops = {}
        for loop in model.loops:
            p = where[known[loop.name].point]
            loops[loop.name] = {"position": on(loop.predecessor, p), "seat": on(loop.successor, p)}
        bodies = {}
        for i, body in enumerate(model.bodies):
            mass, center, (xx, xy, yy) = lumps[body.name]
            if body.mass_properties.is_massless:
                continue
            if not isinstance(yaw[i], float) or yaw[i]:
                c, s = cos(yaw[i]), sin(yaw[i])
                xx, xy, yy = (
                    c * c * xx + 2.0 * c * s * xy + s * s * yy, (c * c - s * s) * xy + c * s * (yy - xx),
                    s * s * xx - 2.0 * c * s * xy + c * c * yy,
                )  # fmt: skip
            inertia = [yy, xx, xx + yy, -xy, 0.0, 0.0]
            bodies[body.name] = {"mass": mass, "com": on(i, center), "inertia": inertia}
        tendons = {}
        for name, spring in self.springs.items():
            (ax, ay), (bx, by) = (where[p] for p in spring.between)
            length = sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay))
            rest = length if spring.rest is None else given[f"{name}.rest"]
            tendons[name] = {"stiffness": given[f"{name}.stiffness"], "rest": rest}
        named = {frame.name for frame in model.frames}
        every = {"joints": joints, "frames": {k: x for k, x in frames.items() if k in named}, "loops": loops}
        return {**every, "bodies": bodies, "tendons": tendons}

    def of(self, model: Model) -> Drawing | None:
        """Return the drawing of a model that was made from it, or None if the model has been changed since."""
        if model.gravity[2]:
            return None
        drawn = replace(self, name=model.name, gravity=model.gravity[:2])
        return drawn if drawn.model() == model else None

    # ---------------------------------------------------------------- how it can move

    @property
    def gruebler(self) -> int:
        """Freedoms by the planar count, 3 (n - 1) - 2 j, for links with the ground and joints; gears take one each."""
        rigid = sum(not gear.backlash for gear in self.gears.values())
        return 3 * len(self.bodies) - 2 * len(self.joints) - rigid

    @cached_property
    def freedoms(self) -> int:
        """Freedoms in the drawn position, by rank; more than in other positions if the drawing is singular."""
        size = max(np.ptp(list(self.drawn.values()), axis=0).max(), 1e-300)
        places = {body: 3 * k for k, body in enumerate(self.bodies)}
        rows: list[np.ndarray] = []

        def row(entries: Sequence[tuple[str, np.ndarray]]) -> None:
            rows.append(np.zeros(3 * len(places)))
            for body, three in entries:
                if body in places:
                    rows[-1][places[body] : places[body] + 3] += three

        for joint in self.joints:
            x, y = (c / size for c in self.drawn[joint.point])
            across = np.array([[1.0, 0.0, -y], [0.0, 1.0, x]])
            if joint.slides:
                yaw = self._yaw(joint, self.drawn)
                across = np.array([[-math.sin(yaw), math.cos(yaw)] @ across, [0.0, 0.0, 1.0]])
            for three in across:
                row([(joint.child, three), (joint.parent, -three)])
        for gear in self.gears.values():
            if not gear.backlash:
                one, two = (next(j for j in self.joints if j.name == name) for name in self.geared(gear))
                carrier = {one.parent, one.child} & {two.parent, two.child}
                (one_turn, two_turn), turn = gear.wheels, np.array([0.0, 0.0, 1.0])
                row([(two_turn, turn), (one_turn, -gear.ratio * turn), (carrier.pop(), (gear.ratio - 1.0) * turn)])
        return 3 * len(places) - int(np.linalg.matrix_rank(np.array(rows), tol=1e-9)) if rows else 3 * len(places)

    def counted(self) -> str:
        """Return the planar count as text."""
        n, j = len(self.bodies) + 1, len(self.joints)
        gears = 3 * (n - 1) - 2 * j - self.gruebler
        less = f" - {gears} for gears" if gears else ""
        return f"3 x ({n} links with the ground - 1) - 2 x {j} pins and slides{less} = {self.gruebler}"


def _turned(p: Point, angle: Scalar) -> Point:
    """Return a vector as seen from axes that are rotated by an angle."""
    if isinstance(angle, float) and angle == 0.0:
        return p
    c, s = cos(angle), sin(angle)
    return c * p[0] + s * p[1], c * p[1] - s * p[0]


def _mass(lump: Lump) -> MassProperties:
    mass, (x, y), (xx, xy, yy) = lump
    return MassProperties.of(mass, (x, y, 0.0), (yy, xx, xx + yy, -xy, 0.0, 0.0)) if mass else MassProperties()


def drawing_of(model: Model) -> Drawing | None:
    """Return the drawing that a model was made from; None if there is none, or if the model has been changed since."""
    return model.drawing.of(model) if isinstance(model.drawing, Drawing) else None

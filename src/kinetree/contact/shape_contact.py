"""Compliant contact of shapes: bodies that press on the ground and on one another with their whole surface.

Each pair of shapes touches at a few points, see :mod:`kinetree.algorithms.clearance.touching_points`.  A normal law
acts at each of them, with its share of the stiffness of a whole face.  Friction acts on the pair as a whole, at the
center of pressure: bristles along the surface, and about the normal with the mean distance of the pressure from its
center as their lever, see :mod:`.bristles`.  Sliding and spinning together share one limit, so that a spinning body
slides more easily.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ..algorithms.acting_element import ActingElement, Loads, Pushing, Scalars
from ..algorithms.clearance.heights_below import height_at, highest
from ..algorithms.clearance.of_robot import data_of, solid_of
from ..algorithms.clearance.placed_solids import PlacedSolid, across, length
from ..algorithms.clearance.touching_points import check_kinds, touching_area
from ..algorithms.compliant_directions import Along, BodyLine, GivingWay, difference, slopes_of
from ..algorithms.kinematics import Posed, Twist, of_frame, poses, twists
from ..algorithms.passes import present
from ..algorithms.tendons import Taut
from ..errors import ModelError, OptionError, explain_public
from ..model.shapes.contact_shape import ContactShape
from ..model.tree import BASE, Model
from ..robot.clearance import chosen_pairs
from ..robot.robot import Robot
from ..spatial import IDENTITY, ZERO3, ZERO_MOTION, Force, Motion, Scalar, Transform, Vec3
from ..spatial.numbers import as_numbers, is_unknown, shown
from .bristles import Bristles
from .ground import HuntCrossley, slopes
from .rebound import Rebound
from .surfaces import Spot, triple
from .varied_ground import PLACE, placed_anew, varied_ground

__all__ = ["ShapeContact"]

LIGHTEST = 1e-30
"""Pressure (N) that every point has in addition, so that there is a center of pressure where nothing touches."""

SLIPPERY = 1e-9
"""Friction that is added where something is divided by it."""

NUMBERS = ("friction", "shear_stiffness", "shear_time")


class TouchingBody(NamedTuple):
    """One of two bodies that touch."""

    body: int
    pose: Transform
    velocity: Motion
    """In its own coordinates."""
    before: Motion
    """The velocity at the beginning of a step."""

    def wrench(self, place: Vec3, force: Vec3) -> Force:
        """Return a force at a point in the world as a wrench in coordinates of the body."""
        own = self.pose.unrotate(force)
        return Force(self.pose.unrotate(place - self.pose.translation).cross(own), own)

    def turning(self, place: Vec3) -> Vec3:
        """Return how fast the velocity of a point of the body turns with it, along world axes."""
        arm, spin = self.pose.unrotate(place - self.pose.translation), self.before.angular
        return self.pose.rotate(spin.cross(self.before.linear + spin.cross(arm)))

    def couple(self, moment: Vec3) -> Force:
        """Return a moment along world axes as a wrench in coordinates of the body."""
        return Force(self.pose.unrotate(moment), ZERO3)


Bodies = tuple[TouchingBody, TouchingBody]


class UnitPush(NamedTuple):
    """A direction in which two bodies move against one another: a unit force on each of them."""

    sides: Bodies
    direction: Vec3
    """Of the force or moment on the second body, along world axes; the first body feels the opposite."""
    wrenches: tuple[Force, Force]
    """Of this direction on the second body, and on the first one."""

    @property
    def rate(self) -> Scalar:
        """How fast the second body moves along it, as seen from the first one."""
        return self._rate([side.velocity for side in self.sides])

    @property
    def rate_before(self) -> Scalar:
        """The same at the beginning of a step."""
        return self._rate([side.before for side in self.sides])

    def _rate(self, velocities: Sequence[Motion]) -> Scalar:
        found: Scalar = 0.0
        if self.sides[1].body != BASE:
            found = found + velocities[1].dot(self.wrenches[0])
        if self.sides[0].body != BASE:
            found = found - velocities[0].dot(self.wrenches[1])
        return found

    def rate_ahead(self, h: Scalar, carriers: tuple[Vec3, Vec3]) -> Scalar:
        """Return the rate after a step of ``h``, but for accelerations; these count at a place that stands still.

        What rolls changes the point at which it touches, and its middle moves straight on.
        """
        found = self.rate
        for side, carrier, sign in zip(self.sides, carriers, (-1.0, 1.0), strict=True):
            if side.body != BASE:
                found = found + (sign * h) * self.direction.dot(side.turning(carrier))
        return found

    def held(self, tree: Model, posed: Sequence[Posed]) -> BodyLine | Taut:
        """Return the line as implicit steps use it."""
        first, second = self.sides
        if first.body == BASE:
            return BodyLine(second.body, self.wrenches[0], self.rate)
        if second.body == BASE:
            return BodyLine(first.body, self.wrenches[1] * -1.0, self.rate)
        one, other = slopes_of(
            tree, posed, [BodyLine(s.body, w, 0.0) for s, w in zip((second, first), self.wrenches, strict=True)]
        )
        return Taut(0.0, difference(one, other))


class Pressed(NamedTuple):
    """A point at which two shapes press on one another."""

    line: UnitPush
    """Along the normal."""
    place: Vec3
    depth: Scalar
    rate: Scalar
    share: float
    force: Scalar
    straight: Scalar
    """What is added within a step because what rolls moves straight on."""


class Rubbing(NamedTuple):
    """Bristles, and the lines along or about which they act."""

    bristles: Bristles
    lines: list[UnitPush]


class Meeting(NamedTuple):
    """Two shapes that touch, or may do so."""

    sides: Bodies
    normal: Vec3
    """From the first to the second."""
    pressed: list[Pressed]
    center: Vec3
    """The center of pressure."""
    pressure: Scalar
    """All normal forces together, in newtons."""
    straight: Scalar
    sliding: Rubbing
    """Along the surface in two directions, and about the normal if there is friction about it."""
    rolling: Rubbing | None

    @property
    def rubbing(self) -> list[Rubbing]:
        """All kinds of friction."""
        return [self.sliding] if self.rolling is None else [self.sliding, self.rolling]

    def force(self) -> tuple[Vec3, Vec3]:
        """Return force and moment on the second body at the center of pressure, along world axes."""
        first, second, *about = [
            line.direction * -f for r in self.rubbing for line, f in zip(r.lines, r.bristles.forces, strict=True)
        ]
        return self.normal * (self.pressure + self.straight) + first + second, sum(about, ZERO3)

    def rates(self, z: Scalars) -> list[Scalar]:
        """Return the rates of the bends; those along the surface are kept in axes of the first body.

        What turned out of the surface straightens.
        """
        first = self.sides[0].pose
        found: list[Scalar] = []
        for (bristles, lines), own in zip(self.rubbing, (z[:3], z[4:]), strict=False):
            one, other, *about = bristles.rates
            bend = first.rotate(Vec3(*own))
            out = bend.dot(self.normal) * bristles.stiffness / bristles.damping
            tangents = [self.sliding.lines[k].direction for k in (0, 1)]
            moving = tangents[0] * one + tangents[1] * other - self.normal * out
            found += [*first.unrotate(moving), *about]
            if lines is self.sliding.lines and not about:
                found.append(0.0)
        return found


@dataclass(frozen=True, eq=False)
class ShapeContact(ActingElement):
    """Compliant contact of the shapes of a robot with the ground and with one another, with friction that holds.

    Make it with :meth:`of`, from a robot whose bodies have shapes.  Below the limit of friction nothing creeps: what
    stands on a slope, or between two fingers, stays there.

    Parameters
    ----------
    pairs : sequence of pairs of ContactShape
        The shapes that may touch, on bodies or frames of the robot.
    normal : HuntCrossley, Firm or Dusty
        The force of a whole face.  Where one of two shapes has restitution, that replaces its damping, see
        :mod:`.rebound`.  A corner of a box and one of four points of a cylinder's rim have a quarter of it,
        an end of a capsule half.  By default 100 kN/m, with damping that lets little rebound.
    friction : float, optional
        Coefficient for all pairs; by default the smaller one of the two shapes.
    shear_stiffness : float, optional
        Stiffness along the surface (N/m), by default that of a normal law of exponent 1.
    shear_time : float
        Damping along the surface over its stiffness, in seconds.

    Examples
    --------
    >>> import kinetree as kt
    >>> crate = kt.Builder("crate").shape("base", kt.shapes.HalfSpace())
    >>> crate = crate.body("crate", "base", kt.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    >>> crate = crate.shape("crate", kt.shapes.Box((0.2, 0.2, 0.2)), friction=0.5).build()
    >>> record = kt.simulate(crate, [0, 0, 0, 1, 0, 0, 0.1], time=0.1, ground=kt.forces.ShapeContact.of(crate))
    >>> bool(abs(record.q[-1, 6] - 0.1) < 1e-3)
    True
    """

    pairs: Sequence[tuple[ContactShape, ContactShape]]
    normal: Any = field(default_factory=lambda: HuntCrossley(1e5, 10.0, exponent=1))
    friction: Any = None
    shear_stiffness: Any = None
    shear_time: Any = 1e-3
    varied: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Numbers of ground that differ between lanes, by the shapes' names: see :mod:`.varied_ground`."""
    step: Any = field(default=None, repr=False)
    """Within an implicit step: its length, and velocities and states at its beginning."""
    STANDS_ON = GIVES_BACK = True

    @classmethod
    def of(
        cls, robot: Robot, pairs: Sequence[Sequence[str]] | None = None, *, terrains: Sequence[Any] = (), **numbers: Any
    ) -> Self:  # fmt: skip
        """Make the contact of a robot's shapes.

        Parameters
        ----------
        robot : Robot
        pairs : sequence of pairs of str, optional
            Names of shapes or bodies that may touch; by default all that may, see ``robot.without_contacts``.
        terrains : sequence of sequences of ContactShape, optional
            For each world of a batch, its own terrain: the same shapes by name and kind as in the robot's, at other
            places or of other sizes, such as those of :func:`kinetree.terrain.stairs` with another rise.
        **numbers
            ``normal``, ``friction``, ``shear_stiffness``, ``shear_time``.
        """
        shapes = robot.model.shapes
        chosen = chosen_pairs(robot.model, pairs)
        if not chosen:
            has = f"none of its {len(shapes)} shapes may touch another" if shapes else "its bodies have no shapes"
            raise ModelError(f"robot {robot.name!r} cannot touch anything: {has}")
        if len(terrains):
            numbers["varied"] = varied_ground(robot.model, terrains)
        return cls(tuple((shapes[i], shapes[j]) for i, j in chosen), **numbers)

    def __post_init__(self) -> None:
        if not hasattr(self.normal, "force"):
            raise OptionError(f"normal must be a law such as HuntCrossley, Firm or Dusty, not {self.normal!r}")
        if isinstance(self.pairs, str) or not isinstance(self.pairs, Iterable):
            raise OptionError("pairs are pairs of shapes: make a contact with kinetree.forces.ShapeContact.of(robot)")
        for pair in self.pairs:
            check_kinds(*(solid_of(shape).name for shape in pair))
        if self.shear_stiffness is None:
            if getattr(self.normal, "exponent", 1) != 1 or not hasattr(self.normal, "stiffness"):
                raise OptionError(
                    "the stiffness along the surface follows only from a normal law of exponent 1: give shear_stiffness"
                )
            object.__setattr__(self, "shear_stiffness", self.normal.stiffness)
        for name in NUMBERS:
            self._check(name)

    def _check(self, name: str) -> None:
        value = getattr(self, name)
        if is_unknown(value) or value is None:
            return
        numbers = as_numbers(value)
        low = math.nan if numbers is None else np.min(numbers, initial=math.inf)
        if numbers is None or not np.all(np.isfinite(numbers)) or low < 0.0 or (low == 0.0 and name != "friction"):
            kind = "zero or positive" if name == "friction" else "positive"
            raise ModelError(f"ShapeContact: {name} must be finite and {kind}, got {shown(value)}")
        object.__setattr__(self, name, numbers if numbers.ndim else float(numbers))

    # Numbers that vary over a batch, and states

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers of the laws, each with one entry on its last axis and perhaps a batch in front."""
        own = {name: getattr(self, name) for name in NUMBERS}
        found = {name: np.asarray(x, dtype=float)[..., None] for name, x in own.items() if x is not None}
        places = {f"{PLACE}{name}": numbers for name, numbers in self.varied.items()}
        return dict(self.normal.parameters()) | found | places

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> ShapeContact:
        """Return the same contact with other numbers."""
        if self.varied:
            own = {name: values.get(f"{PLACE}{name}", numbers) for name, numbers in self.varied.items()}
            return replace(self, varied=own)._with_laws(values)
        return self._with_laws(values)

    def _with_laws(self, values: Mapping[str, Sequence[Scalar]]) -> ShapeContact:
        own = {name: values[name][0] for name in NUMBERS if name in values}
        return replace(self, normal=self.normal.with_parameters(values), **own)

    @cached_property
    def _places(self) -> list[slice]:
        """The states of each pair: three of the bend along the surface, one about the normal, three of rolling."""
        found, at = [], 0
        for pair in self.pairs:
            count = 7 if _rolling_friction(pair) else 4
            found.append(slice(at, at + count))
            at += count
        return found

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return straight bristles."""
        return np.zeros(self._places[-1].stop)

    def within_step(self, v: Scalars, z: Scalars, h: Scalar) -> ShapeContact:
        """Return the contact as it acts within an implicit step."""
        return replace(self, step=(h, list(v), list(z)))

    def rates_after_step(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar] | None:
        """Return the rates of all bends with the velocities after a step."""
        return self.loads(tree, t, q, v, z)[2]

    # The law, over any scalar

    def _law_of(self, pair: Sequence[ContactShape]) -> Any:
        """Return the normal law of a pair, with restitution if either of both has any: the larger one counts."""
        springy = max(shape.restitution for shape in pair)
        return Rebound(self.normal, springy) if springy else self.normal

    def _meetings(self, tree: Model, posed: Sequence[Posed], q: Scalars, v: Scalars, z: Scalars) -> Iterator[Meeting]:
        moving = twists(tree, q, v, None, posed)
        before = moving if self.step is None else twists(tree, q, self.step[1], None, posed)
        placed: dict[str, tuple[TouchingBody, PlacedSolid]] = {}
        for pair, own in zip(self.pairs, self._places, strict=True):
            for shape in pair:
                if shape.name not in placed:
                    placed[shape.name] = _placed(tree, posed, moving, before, shape, self.varied.get(shape.name))
            first, second = (placed[shape.name] for shape in pair)
            yield self._meeting(pair, (first[0], second[0]), first[1], second[1], z[own])

    def _meeting(
        self, pair: Sequence[ContactShape], sides: Bodies, a: PlacedSolid, b: PlacedSolid, z: Scalars
    ) -> Meeting:  # fmt: skip
        normal, points, shares, end, growth = touching_area(a, b)
        law = self._law_of(pair)
        pressed = []
        h = None if self.step is None else self.step[0]
        for (depth, place, carriers), share in zip(points, shares, strict=True):
            line = _along(sides, place, normal)
            rate = -line.rate_before
            force = law.force(depth, rate) * share
            straight: Scalar = 0.0
            if h is not None:
                k, c = slopes(law, depth, rate)
                straight = (c + h * k) * share * (line.rate - line.rate_ahead(h, carriers))
            pressed.append(Pressed(line, place, depth, rate, share, force, straight))
        pressure, straight = _total(x.force for x in pressed), _total(x.straight for x in pressed)
        less: Scalar = 0.0
        if end is not None:
            stored = _total(law.energy(x.depth) * x.share for x in pressed)
            at_rest = _total(law.force(x.depth, 0.0) * x.share for x in pressed)
            less = stored * growth / (at_rest + LIGHTEST)
        weight = _total(x.force + LIGHTEST for x in pressed)
        parts = [(x.force + LIGHTEST) / weight for x in pressed]
        center = _middle(parts, [x.place for x in points])
        if end is not None:  # the energy that an area gains by growing is not given back as a force
            center = (center - end * less) * (1.0 / (1.0 - less))
            pressure = pressure * (1.0 - less)
        one, other = (_middle(parts, [x.carriers[k] for x in points]) for k in (0, 1))
        carriers = one, other
        friction = min(shape.friction for shape in pair) if self.friction is None else self.friction
        tangents = across(normal), normal.cross(across(normal))
        lines = [_along(sides, center, tangent) for tangent in tangents]
        bend = sides[0].pose.rotate(Vec3(*z[:3]))
        bends = [bend.dot(tangent) for tangent in tangents]
        lever = _lever(pair, pressed, center, parts, friction)
        if present(lever):
            lines.append(_about(sides, normal * lever))
            bends.append(z[3])
        speeds = [x.rate if h is None else x.rate_ahead(h, carriers) for x in lines[:2]]
        sliding = self._rubbing(friction * pressure, lines, bends, speeds + [x.rate for x in lines[2:]])
        rolling, hard = None, _rolling_friction(pair)
        if hard:
            size = min(solid_of(shape).ball()[1] for shape in pair)
            turned = sides[0].pose.rotate(Vec3(*z[4:7]))
            about = [_about(sides, tangent * size) for tangent in tangents]
            bends, speeds = [turned.dot(tangent) for tangent in tangents], [x.rate for x in about]
            rolling = self._rubbing(pressure * (hard / size), about, bends, speeds)
        return Meeting(sides, normal, pressed, center, pressure, straight, sliding, rolling)

    def _rubbing(self, limit: Scalar, lines: list[UnitPush], bends: Scalars, speeds: Scalars) -> Rubbing:
        damping = self.shear_stiffness * self.shear_time
        if self.step is not None:
            damping = damping + self.shear_stiffness * self.step[0]
        return Rubbing(Bristles(self.shear_stiffness, damping, limit, bends, speeds), lines)

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return the force on every body in its own coordinates at its origin, no joint forces, and rates of bends."""
        posed = poses(tree, q)
        total: Loads = [None] * len(tree.bodies)
        rates: list[Scalar] = []
        for meeting, own in zip(self._meetings(tree, posed, q, v, z), self._places, strict=True):
            force, moment = meeting.force()
            for side, sign in zip(meeting.sides, (-1.0, 1.0), strict=True):
                if side.body != BASE:
                    load = side.wrench(meeting.center, force * sign) + side.couple(moment * sign)
                    before = total[side.body]
                    total[side.body] = load if before is None else before + load
            rates += meeting.rates(z[own])
        return total, None, rates

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping at every point, and of the bristles: those of a step if there is one."""
        posed = poses(tree, q)
        found: Along = []
        h, _, z = self.step or (None, v, [0.0] * self._places[-1].stop)
        for pair, meeting in zip(self.pairs, self._meetings(tree, posed, q, v, z), strict=True):
            law = self._law_of(pair)
            for x in meeting.pressed:
                k, c = slopes(law, x.depth, x.rate)
                found.append((x.line.held(tree, posed), k * x.share, c * x.share))
            mass = _common_mass(tree, meeting.sides)
            for bristles, lines in meeting.rubbing:
                if h is None:
                    resistance = bristles.stiffness, bristles.damping
                else:
                    resistance = 0.0, bristles.resistance(h, mass)
                found += [(line.held(tree, posed), *resistance) for line in lines]
        none: list[Scalar] = [0.0] * tree.nv
        return none, none, found

    def energy(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return the energy stored in what is pressed together and in bristles."""
        total: Scalar = 0.0
        for meeting in self._meetings(tree, poses(tree, q), q, v, z):
            total = total + _total(self.normal.energy(x.depth) * x.share for x in meeting.pressed)
            total = total + _total(bristles.energy for bristles, _ in meeting.rubbing)
        return total

    def depths(self, tree: Model, q: Scalars) -> list[tuple[str, str, Scalar, float]]:
        """Return names of shapes, the depth at each point where they touch, and the point's share of the stiffness."""
        still = [0.0] * tree.nv
        met = self._meetings(tree, poses(tree, q), q, still, [0.0] * self._places[-1].stop)
        pairs = zip(self.pairs, met, strict=True)
        return [(a.name, b.name, x.depth, x.share) for (a, b), meeting in pairs for x in meeting.pressed]

    # For the record

    def contact_spots(self) -> Sequence[Spot]:
        """Return the origin of the second shape of each pair, on which the recorded force acts."""
        return [Spot(shape.frame, triple(shape.pose.translation, "a shape")) for _, shape in self.pairs]

    def contact_pairs(self) -> Sequence[tuple[ContactShape, ContactShape]]:
        """Return the two shapes of each pair."""
        return list(self.pairs)

    def ground_height(self, tree: Model, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height of all shapes that do not move, as seen from straight above."""
        still = {s.name: s for pair in self.pairs for s in pair if tree.frame(s.frame).body == BASE}
        found = []
        for name, shape in still.items():
            solid, numbers = solid_of(shape), self.varied.get(name)
            pose = tree.frame(shape.frame).pose.spatial() @ shape.pose.spatial()
            placed = PlacedSolid(solid.name, solid.numbers(), pose) if numbers is None else placed_anew(solid, numbers)
            found.append(height_at(placed, x, y, solid))
        return highest(found) if found else None

    def contact_forces(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> list[Vec3]:
        """Return the force on the second shape of each pair, along world axes."""
        return [meeting.force()[0] for meeting in self._meetings(tree, poses(tree, q), q, v, z)]


def _placed(
    tree: Model, posed: Sequence[Posed], moving: Sequence[Twist], before: Sequence[Twist], shape: ContactShape,
    numbers: Sequence[Scalar] | None = None,
) -> tuple[TouchingBody, PlacedSolid]:  # fmt: skip
    body, _, frame = of_frame(tree, shape.frame, posed)
    side = TouchingBody(BASE, IDENTITY, ZERO_MOTION, ZERO_MOTION)
    if body != BASE:
        side = TouchingBody(body, posed[body].pose, moving[body].velocity, before[body].velocity)
    solid = solid_of(shape)
    if numbers is not None:
        return side, placed_anew(solid, numbers)
    return side, PlacedSolid(solid.name, solid.numbers(), (frame @ shape.pose.spatial()).collapsed(), data_of(solid))


def _along(sides: Bodies, place: Vec3, direction: Vec3) -> UnitPush:
    first, second = sides
    return UnitPush(sides, direction, (second.wrench(place, direction), first.wrench(place, direction)))


def _about(sides: Bodies, direction: Vec3) -> UnitPush:
    first, second = sides
    return UnitPush(sides, direction, (second.couple(direction), first.couple(direction)))


def _total(terms: Iterable[Scalar]) -> Scalar:
    return sum(terms, 0.0)


def _middle(parts: Scalars, points: Sequence[Vec3]) -> Vec3:
    if len(points) == 1:
        return points[0]
    return sum((x * part for x, part in zip(points, parts, strict=True)), ZERO3)


def _rolling_friction(pair: Sequence[ContactShape]) -> float:
    return max(shape.rolling_friction for shape in pair)


def _lever(
    pair: Sequence[ContactShape], pressed: Sequence[Pressed], center: Vec3, parts: Scalars, friction: Any
) -> Scalar:  # fmt: skip
    """Return the mean distance of the pressure from its center, and what torsional friction adds."""
    found: Scalar = max(shape.torsional_friction for shape in pair)
    if found:
        found = found * (1.0 / (friction + SLIPPERY))
    if len(pressed) > 1:
        found = found + _total(length(x.place - center) * part for x, part in zip(pressed, parts, strict=True))
    return found


def _common_mass(tree: Model, sides: Bodies) -> Scalar:
    """Return the mass with which two bodies resist a force between them, as if nothing else were tied to them."""
    masses = [tree.bodies[side.body].mass for side in sides if side.body != BASE]
    return masses[0] if len(masses) == 1 else masses[0] * masses[1] / (masses[0] + masses[1] + LIGHTEST)


__dir__ = explain_public(__name__)

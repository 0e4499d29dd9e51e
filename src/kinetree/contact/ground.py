"""Compliant ground: forces from the depth and velocity of spots (Shah appendix D, the biped paper).

A *normal law* gives the force along the normal from depth and its rate, a *friction law* the
force along the surface from the normal force and the sliding velocity.  Both are written once
over any scalar, so they run on numbers, on batches and as machine code.  All of them push and
never pull.

Departures from the printed equations (Shah eq. D.1-D.6): the cubic's coefficients follow from its four conditions, a2 =
3 c'/d^2 and a3 = -2 c'/d^3; forces are cut off at zero; D.5 is written with the two-argument arctangent, because as
printed it is 0/0 in the air; the two depth conditions of D.6 are exchanged there (k = 0 belongs to the inside of the
dust, depth < t_d), and its spring starts at the bottom of the dust, so that the force does not jump.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.acting_element import ActingElement, Loads, Pushing, Scalars
from ..algorithms.compliant_directions import Along, BodyLine, GivingWay, difference, point_slope
from ..algorithms.kinematics import poses, twists
from ..algorithms.tendons import Taut
from ..errors import ModelError, OptionError, UnknownNameError, explain_public
from ..model.tree import BASE, Model
from ..spatial import Force, Scalar, Transform, Vec3, arctan2, scalar, where
from ..spatial.arrays import as_array, batch_shape, pack, split
from ..spatial.dual import Dual
from ..spatial.numbers import as_numbers, is_unknown, shown
from .ground_from_shapes import collision_floor, collision_spots
from .surfaces import (
    Ball,
    Grid,
    HeightField,
    Plane,
    Spot,
    Surface,
    Touch,
    box,
    line,
    rectangle,
    refuse_hollows,
    spot,
    touch,
    whole_body,
)

__all__ = [
    "SOURCE_SETS", "Ball", "ContactLaw", "Dusty", "Firm", "Grid", "Ground", "HeightField", "HuntCrossley", "Plane",
    "PseudoCoulomb", "Spot", "box", "collision_floor", "collision_spots", "from_source", "line", "rectangle",
    "whole_body",
]  # fmt: skip


def positive_part(x: Scalar) -> Scalar:
    """Return a number if it is positive, otherwise zero; NaN stays NaN."""
    return where(x < 0.0, 0.0, x)


# ------------------------------------------------------------------ laws


class FrictionLaw(Protocol):
    """Force along the surface.  ``velocity`` lies in the surface, and ``tangents`` are two directions in it."""

    def force(self, pressure: Scalar, velocity: Vec3, tangents: tuple[Vec3, Vec3]) -> Vec3:
        """Return the force on the sliding body under a normal force ``pressure``, in newtons."""
        ...


class NormalLaw(Protocol):
    """Force along the normal. ``depth`` is positive inside, ``rate`` is positive when going deeper."""

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """Return the force of the ground, in newtons."""
        ...

    def energy(self, depth: Scalar) -> Scalar:
        """Return the stored energy, in joules."""
        ...


def slopes(law: NormalLaw, depth: Scalar, rate: Scalar) -> tuple[Scalar, Scalar]:
    """Return stiffness and damping of a law: exact derivatives of its force with respect to depth and rate.

    Negative values, which would push something further in, are replaced by zero.
    """
    by_depth, by_rate = law.force(Dual(depth, 1.0), rate), law.force(depth, Dual(rate, 1.0))
    stiffness, damping = (f.rate if isinstance(f, Dual) else 0.0 for f in (by_depth, by_rate))
    return positive_part(stiffness), positive_part(damping)


class ContactLaw:
    """Base of laws of ground and stops: a user's own law has a ``force`` and, along the normal, an ``energy``."""

    varying: ClassVar[tuple[str, ...]] = ()
    """Fields that may vary over a batch; each holds one number, one per simulation, or a node of machine code."""

    def _check(self, name: str, strictly: bool = False) -> None:
        value = getattr(self, name)
        if is_unknown(value):
            return
        numbers = as_numbers(value)
        low = math.nan if numbers is None else np.min(numbers, initial=math.inf)
        if numbers is None or not np.all(np.isfinite(numbers)) or low < 0.0 or (strictly and low == 0.0):
            kind = "positive" if strictly else "zero or positive"
            raise ModelError(f"{type(self).__name__}: {name} must be finite and {kind}, got {shown(value)}")
        object.__setattr__(self, name, numbers if numbers.ndim else float(numbers))

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the numbers that may vary over a batch by name, (..., 1) each."""
        return {name: np.asarray(getattr(self, name), dtype=float)[..., None] for name in self.varying}

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> Any:
        """Return the same law with other numbers."""
        return replace(self, **{name: values[name][0] for name in self.varying if name in values})  # type: ignore[type-var]


def _over_critical(law: str, stiffness: float, factor: float, mass: float) -> float:
    """Return ``2 factor sqrt(stiffness mass)`` (Shah eq. D.4)."""
    for name, value in (("stiffness", stiffness), ("factor", factor), ("mass", mass)):
        if not (math.isfinite(value) and value > 0.0):
            raise ModelError(f"{law}: {name} must be finite and positive, got {value!r}")
    return 2.0 * factor * math.sqrt(stiffness * mass)


@dataclass(frozen=True, eq=False)
class Firm(ContactLaw):
    """A spring and a damper that is weaker on the way out (Shah eq. D.1-D.4).

    On the way in the damping is constant, so that a foot does not bounce; on the way out it
    falls with the depth as a cubic, ``c(d) = damping (3 s^2 - 2 s^3)`` with ``s = d / depth``
    (constant beyond ``depth``), so that lifting off is not held back.

    Parameters
    ----------
    stiffness : float
        k', the stiffness in N/m of each spot.
    damping : float
        c', the damping in N s/m of each spot.
    depth : float
        delta_max in meters, which the sources never state; see :meth:`overdamped`.
    """

    stiffness: Any
    damping: Any
    depth: Any
    varying: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "depth")

    def __post_init__(self) -> None:
        self._check("stiffness", True)
        self._check("damping")
        self._check("depth", True)

    @classmethod
    def overdamped(
        cls, stiffness: float, factor: float, mass: float, *, depth: float | None = None, lift_speed: float = 4.5
    ) -> Firm:
        """Make a law with the damping that the sources compute from the robot's mass (Shah eq. D.4).

        Parameters
        ----------
        stiffness : float
        factor : float
            Over-damping factor zeta: ``damping = 2 zeta sqrt(stiffness mass)``.
        mass : float
            Mass of the whole robot.
        depth : float, optional
            delta_max.  By default the smallest one for which the unclipped force never turns
            negative up to ``lift_speed``: ``9/8 damping lift_speed / stiffness``, the maximum of
            (3 s - 2 s^2) being 9/8.  The sources list a "maximum velocity of the foot tip" of 4.5 m/s
            among the ground's data without ever using it (Shah section 10.3.1); this gives it a meaning.
        """
        damping = _over_critical(cls.__name__, stiffness, factor, mass)
        if depth is None:
            depth = 1.125 * damping * lift_speed / stiffness
        return cls(stiffness, damping, depth)

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """Return ``k d + c d'``, not below zero."""
        s = depth / self.depth
        s = where(s > 1.0, 1.0, s)
        leaving = self.damping * s * s * (3.0 - 2.0 * s)  # Shah eq. D.3 with its conditions
        c = where(rate < 0.0, leaving, self.damping)
        return where(depth < 0.0, 0.0, positive_part(self.stiffness * depth + c * rate))

    def energy(self, depth: Scalar) -> Scalar:
        """Return the energy of the spring."""
        d = positive_part(depth)
        return 0.5 * self.stiffness * d * d


@dataclass(frozen=True, eq=False)
class Dusty(ContactLaw):
    """A layer of dust that only damps, with a spring below it (Shah eq. D.6).

    Parameters
    ----------
    stiffness, damping : float
        As in :class:`Firm`; the damper works on the way in only.
    dust : float
        t_d, thickness of the layer in meters; never stated in the sources.
    """

    stiffness: Any
    damping: Any
    dust: Any = 0.01
    varying: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "dust")

    def __post_init__(self) -> None:
        self._check("stiffness", True)
        self._check("damping")
        self._check("dust")

    @classmethod
    def overdamped(cls, stiffness: float, factor: float, mass: float, *, dust: float = 0.01) -> Dusty:
        """Make a law with ``damping = 2 factor sqrt(stiffness mass)`` (Shah eq. D.4)."""
        return cls(stiffness, _over_critical(cls.__name__, stiffness, factor, mass), dust)

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """Return ``k (d - t_d) + c d'`` on the way in, without the damper on the way out."""
        spring = self.stiffness * positive_part(depth - self.dust)
        return where(depth < 0.0, 0.0, spring + self.damping * positive_part(rate))

    def energy(self, depth: Scalar) -> Scalar:
        """Return the energy of the spring below the dust."""
        d = positive_part(depth - self.dust)
        return 0.5 * self.stiffness * d * d


@dataclass(frozen=True, eq=False)
class HuntCrossley(ContactLaw):
    """``F = k d^n (1 + b d')``: the damping grows with the depth, so the force never jumps.

    Parameters
    ----------
    stiffness : float
        k, in N/m^n.
    dissipation : float
        b in s/m.  The restitution of an impact at speed v is about ``1 - 2/3 b v`` if that is close to one.
    exponent : float
        n: 1.5 for a ball on a plane (Hertz), 1 for a flat sole.  A multiple of one half, from 1.
    """

    stiffness: Any
    dissipation: Any
    exponent: float = 1.5
    varying: ClassVar[tuple[str, ...]] = ("stiffness", "dissipation")

    def __post_init__(self) -> None:
        self._check("stiffness", True)
        self._check("dissipation")
        if not isinstance(self.exponent, (int, float)) or self.exponent < 1 or (2 * self.exponent) % 1:
            raise ModelError(f"HuntCrossley: exponent must be 1, 1.5, 2, ..., not {self.exponent!r}")

    def _power(self, d: Scalar, exponent: float) -> Scalar:
        whole = int(exponent)
        result = d
        for _ in range(whole - 1):
            result = result * d
        # In the air the root of one is taken, whose slope is finite, and multiplied by zero.
        return result * scalar.sqrt(where(d > 0.0, d, where(d < 1.0, 1.0, d))) if exponent != whole else result

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """Return ``k d^n (1 + b d')``, not below zero."""
        spring = self.stiffness * self._power(positive_part(depth), self.exponent)
        return spring * positive_part(1.0 + self.dissipation * rate)

    def energy(self, depth: Scalar) -> Scalar:
        """Return the energy of the spring: ``k d^(n+1) / (n+1)``."""
        return self.stiffness * self._power(positive_part(depth), self.exponent + 1) / (self.exponent + 1.0)


SLOWEST = 1e-12
"""Sliding slower than this (m/s) has no direction; friction is then viscous to the last digit."""


@dataclass(frozen=True, eq=False)
class PseudoCoulomb(ContactLaw):
    """Viscous friction that saturates at the Coulomb limit (Shah eq. D.5).

    Parameters
    ----------
    friction : float
        mu.
    sliding_damping : float
        c_h in N s/m: the slope at rest.  At speeds well above ``mu F / c_h`` the law is Coulomb friction.
    isotropic : bool
        Whether friction is along the sliding direction, within a circle of radius mu F (default).  False
        treats the two directions of the surface separately, as printed in the sources; the total then
        reaches sqrt(2) mu F.  In the plane there is no difference.
    """

    friction: Any = 0.7
    sliding_damping: Any = 1000.0
    isotropic: bool = True
    varying: ClassVar[tuple[str, ...]] = ("friction", "sliding_damping")

    def __post_init__(self) -> None:
        self._check("friction")
        self._check("sliding_damping")

    def _along(self, speed: Scalar, limit: Scalar) -> Scalar:
        """Return ``limit 2/pi atan(pi/2 c v / limit)``, which is zero where the limit is."""
        return limit * (2.0 / math.pi) * arctan2(0.5 * math.pi * self.sliding_damping * speed, limit)

    def force(self, pressure: Scalar, velocity: Vec3, tangents: tuple[Vec3, Vec3]) -> Vec3:
        """Return the force opposite to the sliding velocity, which lies in the surface."""
        limit = self.friction * pressure
        if self.isotropic:
            square = velocity.dot(velocity)
            speed = scalar.sqrt(where(square < SLOWEST**2, SLOWEST**2, square))
            return velocity * (-self._along(speed, limit) / speed)
        first, second = tangents
        return -(first * self._along(velocity.dot(first), limit) + second * self._along(velocity.dot(second), limit))


def drag(law: FrictionLaw, pressure: Scalar, velocity: Vec3, tangents: tuple[Vec3, Vec3]) -> tuple[Scalar, Scalar]:
    """Return the damping along both tangents equivalent to a friction law: force over speed, the slope at rest.

    An implicit step with this damping slows sliding down and never reverses it.  With the slope of the law, which is
    almost zero during sliding, it could reverse: friction would push as hard in the other direction a step later.
    """
    found = []
    for tangent in tangents:
        along = velocity.dot(tangent)
        probe = where(abs(along) < SLOWEST, SLOWEST, along)
        force = law.force(pressure, velocity + tangent * (probe - along), tangents).dot(tangent)
        found.append(positive_part(-force / probe))
    return found[0], found[1]


# ------------------------------------------------------------------ the element


@dataclass(frozen=True, eq=False)
class Ground(ActingElement):
    """Compliant contact between spots of a robot and a surface.

    Parameters
    ----------
    spots : sequence of Spot or str
        Where the robot can touch: points or balls on any body, see :func:`line`, :func:`rectangle`,
        :func:`box`, :func:`whole_body`; a name means the origin of that frame.
    normal : Firm, Dusty or HuntCrossley
    friction : PseudoCoulomb or None
        None for a frictionless surface.
    surface : Plane, HeightField, Grid or Ball
        The plane z = 0 by default.
    on : str, optional
        Frame of the robot that carries the surface; by default it is fixed in the world.

    Examples
    --------
    >>> ground = Ground(["left_foot", "right_foot"], Firm.overdamped(2500, 10, mass=21.0), PseudoCoulomb(0.7, 1500))
    """

    spots: Sequence[Any]
    normal: Any
    friction: Any = field(default_factory=PseudoCoulomb)
    surface: Any = field(default_factory=Plane)
    on: str | None = None
    STANDS_ON = GIVES_BACK = True

    def __post_init__(self) -> None:
        if isinstance(self.spots, (str, Spot)) or not isinstance(self.spots, Iterable):
            raise OptionError(f"spots must be a list of spots or frame names, not {self.spots!r}")
        chosen = tuple(spot(s) for s in self.spots)
        if not chosen:
            raise OptionError("a ground needs at least one spot of the robot to touch it")
        object.__setattr__(self, "spots", chosen)
        if not hasattr(self.normal, "force"):
            raise OptionError(f"normal must be a law such as Firm, Dusty or HuntCrossley, not {self.normal!r}")
        if self.friction is not None and not hasattr(self.friction, "force"):
            raise OptionError(f"friction must be a law such as PseudoCoulomb or None, not {self.friction!r}")
        if not hasattr(self.surface, "gap"):
            raise OptionError(f"surface must be a Plane, HeightField, Grid or Ball, not {self.surface!r}")
        largest = max(s.radius for s in chosen)
        if largest and isinstance(self.surface, (HeightField, Grid)):
            refuse_hollows(self.surface, largest)

    # Numbers that vary over a batch

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the numbers of both laws, each with one entry on its last axis and perhaps a batch in front."""
        found: dict[str, np.ndarray] = dict(self.normal.parameters())
        if self.friction is not None:
            found.update(self.friction.parameters())
        return found

    def with_parameters(self, values: Mapping[str, Sequence[Scalar]]) -> Ground:
        """Return the same ground with other numbers."""
        friction = None if self.friction is None else self.friction.with_parameters(values)
        return replace(self, normal=self.normal.with_parameters(values), friction=friction)

    # The law, over any scalar

    def touches(self, tree: Model, q: Scalars, v: Scalars) -> list[Touch]:
        """Return the relation of every spot to the surface."""
        return self._touches(tree, poses(tree, q), q, v)

    def _touches(self, tree: Model, posed: Sequence[Any], q: Scalars, v: Scalars) -> list[Touch]:
        moving = twists(tree, q, v, None, posed)
        return [touch(tree, posed, moving, s, self.surface, self.on) for s in self.spots]

    def host(self, tree: Model) -> int:
        """Return the body that carries the surface, -1 for the world."""
        return BASE if self.on is None else tree.frame(self.on).body

    def _force(self, t: Touch) -> Vec3:
        """Return the force on the spot's body, along world axes."""
        leaving = t.velocity.dot(t.normal)
        pressure = self.normal.force(-t.gap, -leaving)
        if self.friction is None:
            return t.normal * pressure
        sliding = t.velocity - t.normal * leaving
        return t.normal * pressure + self.friction.force(pressure, sliding, t.tangents)

    def contact_spots(self) -> Sequence[Spot]:
        """Return the spots."""
        return self.spots

    def switches(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the gap of every spot."""
        return [touching.gap for touching in self.touches(tree, q, v)]

    def contact_forces(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> list[Vec3]:
        """Return the force of the ground on each spot, along world axes."""
        return [self._force(touching) for touching in self.touches(tree, q, v)]

    def ground_height(self, tree: Model, x: Scalar, y: Scalar) -> Scalar | None:
        """Return the height of the surface at a place, if it is fixed in the world and has one."""
        return self.surface.height_at(x, y) if self.on is None else None

    def loads(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Pushing:
        """Return the force on every body in its own coordinates at its origin; no joint forces, no states."""
        posed, host = poses(tree, q), self.host(tree)
        total: Loads = [None] * len(tree.bodies)
        for at, touching in zip(self.spots, self._touches(tree, posed, q, v), strict=True):
            force = self._force(touching)
            _add(total, tree.frame(at.frame).body, posed, touching.arm, force)
            _add(total, host, posed, touching.host_arm, -force)
        return total, None, []

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of the ground at every spot, along its normal and along the surface.

        Returns
        -------
        stiffness, damping : list
            Empty: those of single freedoms.
        along : list
            Three lines for each spot, see :mod:`kinetree.algorithms.compliant_directions`.
        """
        posed, host = poses(tree, q), self.host(tree)
        found: Along = []
        for at, touching in zip(self.spots, self._touches(tree, posed, q, v), strict=True):
            body = tree.frame(at.frame).body
            leaving = touching.velocity.dot(touching.normal)
            sliding = touching.velocity - touching.normal * leaving
            k, c = slopes(self.normal, -touching.gap, -leaving)
            held: list[tuple[Vec3, Scalar, Scalar]] = [(touching.normal, k, c)]
            if self.friction is not None:
                pressure = self.normal.force(-touching.gap, -leaving)
                rubbing = drag(self.friction, pressure, sliding, touching.tangents)
                held += [(tangent, 0.0, c) for tangent, c in zip(touching.tangents, rubbing, strict=True)]
            for direction, stiffness, damping in held:
                found.append((_line(tree, posed, body, host, touching, direction), stiffness, damping))
        none: list[Scalar] = [0.0] * tree.nv
        return none, none, found

    def energy(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return the energy stored in the ground, which it can return."""
        return _total(self.normal.energy(-touching.gap) for touching in self.touches(tree, q, v))

    def dissipation(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars = ()) -> Scalar:
        """Return the rate at which energy is lost in the ground: the power into it minus that stored."""
        taken = -self.power(tree, t, q, v, z)
        return taken - self._storing(tree, q, v)

    def _storing(self, tree: Model, q: Scalars, v: Scalars) -> Scalar:
        """Return the rate of the stored energy: the elastic force times the rate of the depth."""
        return _total(-self.normal.force(-t.gap, 0.0) * t.velocity.dot(t.normal) for t in self.touches(tree, q, v))

    # On arrays

    def __call__(self, robot: Any, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the forces on all spots for one state or a batch, along world axes.

        Returns
        -------
        ndarray, shape (..., spots, 3)
        """
        tree: Model = robot.model
        position, rate = as_array(q, (tree.nq,), "q"), as_array(v, (tree.nv,), "v")
        batch = batch_shape(q=(position, 1), v=(rate, 1))
        with np.errstate(all="ignore"):
            return pack(self.contact_forces(tree, 0.0, split(position), split(rate)), batch)


def _add(total: Loads, body: int, posed: Sequence[Any], arm: Vec3, force: Vec3) -> None:
    """Apply a force in world axes to a body at a point in its coordinates; forces on the base are ignored."""
    if body == BASE:
        return
    pose: Transform = posed[body].pose
    own = pose.unrotate(force)
    load = Force(arm.cross(own), own)
    present = total[body]
    total[body] = load if present is None else present + load


def _line(
    tree: Model, posed: Sequence[Any], body: int, host: int, touching: Touch, direction: Vec3
) -> BodyLine | Taut:  # fmt: skip
    """Return the line along which a spot moves against a surface: one in the world if the surface is fixed."""
    if host == BASE and body != BASE:
        own = posed[body].pose.unrotate(direction)
        return BodyLine(body, Force(touching.arm.cross(own), own), touching.velocity.dot(direction))
    ends = (body, touching.arm), (host, touching.host_arm)
    of_spot, of_surface = (point_slope(tree, posed, i, arm, direction) for i, arm in ends)
    return Taut(touching.gap, difference(of_spot, of_surface))


def _total(terms: Iterable[Scalar]) -> Scalar:
    result: Scalar = 0.0
    for term in terms:
        result = result + term
    return result


# ------------------------------------------------------------------ the sources' numbers

SOURCE_SETS: dict[str, dict[str, float]] = {
    # Shah section 10.3.1; two spots per foot, robot of 9.4 kg
    "planar-biped": {"stiffness": 2000.0, "factor": 10.0, "friction": 0.7, "sliding_damping": 1000.0},
    # the biped paper prints no numbers for the same links; on the ground above that machine falls in its fifth step, on
    # this one it keeps walking
    "unified-biped": {"stiffness": 5000.0, "factor": 10.0, "friction": 0.7, "sliding_damping": 1000.0},
    # no numbers are printed for the spatial biped: those of the planar one, four spots per foot
    "spatial-biped": {"stiffness": 2000.0, "factor": 10.0, "friction": 0.7, "sliding_damping": 1000.0},
    # from the authors' program; one spot per foot
    "quadruped": {"stiffness": 2500.0, "factor": 10.0, "friction": 0.7, "sliding_damping": 1500.0},
    "hexapod": {"stiffness": 3000.0, "factor": 10.0, "friction": 0.7, "sliding_damping": 2000.0},
}
"""Ground data of the sources' walking machines: k', zeta, mu and c_h."""


def from_source(
    name: str, spots: Sequence[Any], mass: float, *, dusty: bool = False, dust: float = 0.01,
    surface: Surface | None = None,
) -> Ground:  # fmt: skip
    """Return the ground of one of the sources' walking machines, see :data:`SOURCE_SETS`.

    Parameters
    ----------
    name : str
        ``"planar-biped"``, ``"spatial-biped"``, ``"quadruped"``, ``"hexapod"`` or ``"unified-biped"``.
    spots : sequence of Spot or str
    mass : float
        Mass of the whole robot, which determines the damping (Shah eq. D.4).
    dusty : bool
        Whether to use the dusty model instead of the firm one.
    dust : float
        Thickness of the dust.
    surface : optional
        The plane z = 0 by default.
    """
    if name not in SOURCE_SETS:
        raise UnknownNameError("set of ground data", name, SOURCE_SETS)
    data = SOURCE_SETS[name]
    law: Any
    if dusty:
        law = Dusty.overdamped(data["stiffness"], data["factor"], mass, dust=dust)
    else:
        law = Firm.overdamped(data["stiffness"], data["factor"], mass)
    friction = PseudoCoulomb(data["friction"], data["sliding_damping"], isotropic=False)
    return Ground(spots, law, friction, Plane() if surface is None else surface)


__dir__ = explain_public(__name__)

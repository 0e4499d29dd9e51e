"""How joint forces change with q, v and a, and accelerations with q, v and the joint forces.

All bodies of a tree are described in one frame, that of its root body. Then motions and forces need not be transformed
from body to body, and quantities of the bodies that a joint carries are simply added.  Let S be the screw of one degree
of freedom and v', a' the motion of the body that carries the joint (a' includes gravity).  When the coordinate changes,
the motion of every body that the joint carries, seen from that body, changes by

    dv = P,  da = Q + P x v,    P = v' x S + d,  Q = a' x S + v' x (P + d) + g,

where d and g belong to joints whose screws change with their coordinates and vanish for
all others.  When its rate changes, the same holds with P = S and Q = v' x S + d + dS/dt;
when its acceleration changes, with P = 0 and Q = S.  The force f = I a + v x* I v on a body then changes by

    df = I Q + 2 B P,    2 B = v x* I - I v x + (I v) x^*,

with I and B summed over all that the joint carries; seen from the bodies that carry it, f also turns with the
coordinate, by S x* f.  Derived here from the equations of motion; B is the matrix of :mod:`.coriolis`.

If q is not a vector space, the derivative is taken along the motion of one unit of v: d/de f(integrate(q, e * unit)).
External wrenches are held constant in body axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..model.tree import BASE, Link, Model
from ..spatial import (
    IDENTITY,
    ZERO3,
    ZERO_MOTION,
    Force,
    Motion,
    RigidInertia,
    Scalar,
    Symmetric3,
    Transform,
    Vec3,
    combine,
)
from ..spatial.dual import Dual
from . import springs, tendons
from .factorization import carriers
from .kinematics import AT_ORIGIN
from .newton_euler import Wrenches
from .passes import (
    Coupling,
    Scalars,
    bias_motion,
    collect,
    each,
    inward,
    nothing,
    on_demand,
    outward,
    pairs,
    positions,
    present,
    rates,
    tips_first,
)
from .sparse_inverse import SparseInverse
from .tree_walk import Column

Matrix = list[list[Scalar]]
Change = tuple[Motion, Motion]
"""P and Q."""


# ------------------------------------------------------------------ one joint


class Freedom(NamedTuple):
    """One degree of freedom in root coordinates."""

    screw: Motion
    by_rate: Change
    p: Motion
    d: Motion
    g: Motion
    """The rate g without the part that is linear in the joint's accelerations."""
    bends: tuple[Motion, ...]
    """How each screw of the same joint changes with this coordinate; empty if screws are constant."""


class Seen(NamedTuple):
    """A body and its joint seen from the root body."""

    joint: Transform
    pose: Transform
    before: Motion
    """Velocity of the body that carries the joint."""
    velocity: Motion
    drift: Motion
    """The joint's contribution to the acceleration when its coordinates do not accelerate."""
    freedoms: tuple[Freedom, ...]


GROUND = Seen(IDENTITY, AT_ORIGIN.pose, ZERO_MOTION, ZERO_MOTION, ZERO_MOTION, ())
"""The carrier of root bodies; its pose is chosen so that a root body has the identity as its own pose."""


def see(link: Link, parent: Seen, q: Scalars, v: Scalars) -> Seen:
    """Return a body seen from the root, given its parent."""
    joint, screws = link.transform(q), link.subspace(q)
    pose, before = parent.pose if link.parent == BASE else (parent.pose @ joint).collapsed(), parent.velocity
    here = pose.motion_to_parent
    freedoms, velocity, drift = [], before, here(bias_motion(link, q, v) or ZERO_MOTION)
    for k, local in enumerate(screws):
        s, d, g = here(local), ZERO_MOTION, ZERO_MOTION
        swept = before.cross(s)
        bends, turned = _bends(link, k, screws, q, v)
        if bends:
            d, g = here(combine(bends, v)), here(_bias_change(link, k, screws, bends, q, v))
        by_rate = s, swept + d + swept + here(turned)
        freedoms.append(Freedom(s, by_rate, swept + d, d, g, tuple(here(b) for b in bends)))
        velocity, drift = velocity + s * v[k], drift + swept * v[k]
    return Seen(joint, pose, before, velocity, drift, tuple(freedoms))


def _bends(link: Link, k: int, screws: Sequence[Motion], q: Scalars, v: Scalars) -> tuple[tuple[Motion, ...], Motion]:
    """Return the change of a joint's screws with coordinate k, and the rate of screw k seen from the parent."""
    others = [m for m in range(len(screws)) if m != k]
    turned = combine([screws[m].cross(screws[k]) for m in others], [v[m] for m in others])
    apparent = link.kind.subspace_rate(q, v)
    if apparent is None:
        return (), turned
    return link.kind.subspace_rate(q, _unit(k, len(screws))) or (), turned + apparent[k]


def _bias_change(
    link: Link, k: int, screws: Sequence[Motion], bends: Sequence[Motion], q: Scalars, v: Scalars
) -> Motion:
    """Return the part of g without the joint's accelerations: the change of (dS/dt) v, and d turned by the joint."""
    direction = link.kind.rate(q, _unit(k, len(screws)))
    moved = [Dual(x, rate) for x, rate in zip(q, direction, strict=True)]
    bias = bias_motion(link, moved, [Dual(x) for x in v]) or ZERO_MOTION
    change = Motion.of([x.rate if isinstance(x, Dual) else 0.0 for x in bias])
    return change + combine(screws, v).cross(combine(bends, v))


def _unit(k: int, n: int) -> list[float]:
    return [1.0 if m == k else 0.0 for m in range(n)]


def by_position(s: Seen, k: int, before: Motion, a: Scalars | None) -> Change:
    """Return P and Q of coordinate k of a joint on a body with acceleration ``before``; ``a`` are the joint's own."""
    f = s.freedoms[k]
    q = before.cross(f.screw) + s.before.cross(f.p + f.d) + f.g
    return f.p, q + combine(f.bends, a) if f.bends and a is not None else q


def acceleration_below(link: Link, s: Seen, parent: Motion) -> Motion:
    """Return the acceleration of a joint's carrier; that of the base is given in its own axes, and it does not turn."""
    return Motion(ZERO3, s.joint.unrotate(parent.linear)) if link.parent == BASE else parent


def acceleration_of(s: Seen, before: Motion, a: Scalars | None) -> Motion:
    """Return the acceleration of a body; None means that the joint's coordinates do not accelerate."""
    total = before + s.drift
    return total if a is None else total + combine((f.screw for f in s.freedoms), a)


# ------------------------------------------------------------------ what a joint carries


class CarriedSums(NamedTuple):
    """Sums over a body and everything it carries."""

    inertia: RigidInertia
    rate: Symmetric3
    """Rate of the second moments."""
    momentum: Force

    def change(self, p: Motion, q: Motion) -> Force:
        """Return I Q + 2 B P."""
        w, h = p.angular, self.momentum
        return self.inertia @ q + Force(self.rate @ w + w.cross(h.moment), w.cross(h.force * 2.0))

    def mirrored(self, s: Motion) -> Vec3:
        """Return the moment of 2 B^T S; its force is zero."""
        w, h = s.angular, self.momentum
        return self.rate @ w - w.cross(h.moment) + (h.force * 2.0).cross(s.linear)


def alone(link: Link, s: Seen) -> CarriedSums:
    """Return a body without those it carries."""
    body = s.pose.rigid_to_parent(link.inertia)
    return CarriedSums(body, inertia_rate(body, s.velocity), body @ s.velocity)


def required_force(s: Seen, body: CarriedSums, acceleration: Motion, load: Force | None) -> Force:
    """Return the force that a body alone needs for its motion, less the external force."""
    force = body.inertia @ acceleration + s.velocity.cross_force(body.momentum)
    return force if load is None else force - s.pose.force_to_parent(load)


def inertia_rate(body: RigidInertia, v: Motion) -> Symmetric3:
    """Return the rate of second moments about a fixed point: w x I - I w x - u x h x - h x u x, in 21 products."""
    w, u, h, i = v.angular, v.linear, body.first, body.second
    a, b, c = w.x * i.yz, w.y * i.xz, w.z * i.xy
    x, y, z = h.x * u.x, h.y * u.y, h.z * u.z
    return Symmetric3(
        2.0 * (b - c + y + z), w.y * i.yz - w.x * i.xz + w.z * (i.xx - i.yy) - h.x * u.y - h.y * u.x, w.x * i.xy - w.z *
        i.yz + w.y * (i.zz - i.xx) - h.x * u.z - h.z * u.x, 2.0 * (c - a + x + z), w.z * i.xz - w.y * i.xy + w.x * (i.yy
        - i.zz) - h.y * u.z - h.z * u.y, 2.0 * (a - b + x + y),
    )  # fmt: skip


# ------------------------------------------------------------------ the whole tree


class Bodies(NamedTuple):
    """A tree at one q and v, seen from its root bodies; per body."""

    seen: Sequence[Seen]
    alone: Sequence[CarriedSums]
    carried: Sequence[CarriedSums]
    handles: Sequence[list[tuple[Force, Vec3]]]
    """For each freedom, the factors that convert a change of motion to a change of its force: I S and 2 B^T S."""


def bodies_of(tree: Model, q: Scalars, v: Scalars) -> Bodies:
    """Return all bodies and what they carry, seen from one frame: nothing is transformed, only summed."""

    def handles(link: Link, s: Seen, carried: CarriedSums) -> list[tuple[Force, Vec3]]:
        return [(carried.inertia @ f.screw, carried.mirrored(f.screw)) for f in s.freedoms]

    seen = outward(tree, see, GROUND, positions(tree, q), rates(tree, v))
    own = each(tree, lambda link, s: tuple(alone(link, s)), seen)
    carried, _ = inward(tree, lambda link, total: (CarriedSums(*total), total), own)
    return Bodies(seen, own, carried, each(tree, handles, seen, carried))


class Speeding(NamedTuple):
    """Accelerations of the body that carries a joint and of the joint's own body."""

    before: Motion
    own: Motion


class Moved(NamedTuple):
    """The quantities of one body that depend on accelerations."""

    force: Force
    """What its joint must transmit to it for the motion of everything it carries."""
    changes: list[Change]
    """Changes with each coordinate of its joint."""


def forces_and_accelerations(
    tree: Model, bodies: Bodies, a: Scalars | None, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[Sequence[Force], Sequence[Speeding]]:
    """Return forces and accelerations, with or without joint accelerations; gravity is a base accelerating upward."""

    def speed_up(link: Link, parent: Speeding, s: Seen, a: Scalars | None) -> Speeding:
        before = acceleration_below(link, s, parent.own)
        return Speeding(before, acceleration_of(s, before, a))

    def require(link: Link, s: Seen, alone: Any, m: Speeding, load: Force | None) -> Force:
        return required_force(s, CarriedSums(*alone), m.own, load)

    up = Motion(ZERO3, -Vec3.of(gravity))
    accelerations = nothing(tree) if a is None else rates(tree, a)
    speeding = outward(tree, speed_up, Speeding(up, up), bodies.seen, accelerations)
    needed = each(tree, require, bodies.seen, bodies.alone, speeding, wrenches or nothing(tree))
    return inward(tree, lambda link, total: (total, total), needed)[0], speeding


def moved(
    tree: Model, bodies: Bodies, a: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> Sequence[Moved]:
    """Return, for every body, the quantities that depend on accelerations."""

    def change(link: Link, s: Seen, m: Speeding, a: Scalars, force: Force) -> Moved:
        return Moved(force, [by_position(s, k, m.before, a) for k in range(len(s.freedoms))])

    forces, speeding = forces_and_accelerations(tree, bodies, a, gravity, wrenches)
    return each(tree, change, bodies.seen, speeding, rates(tree, a), forces)


def _screw(own: Any, k: int) -> Motion:
    return own.seen.freedoms[k].screw  # type: ignore[no-any-return]


def _turned(effect: Force, m: int, own: Any) -> Scalar:
    """Return the change of force at a joint before the one that causes it."""
    return _screw(own, m).dot(effect)


def _handle(k: int, own: Any) -> tuple[Force, Vec3]:
    return own.handles[k]  # type: ignore[no-any-return]


def _through(change: Change, handle: tuple[Force, Vec3]) -> Scalar:
    """Return the change of force at a joint after the one whose motion changes."""
    return change[1].dot(handle[0]) + change[0].angular.dot(handle[1])


def _by_position_within(link: Link, i: int, j: int, own: Any) -> Scalar:
    bends, value = own.seen.freedoms[j].bends, _screw(own, i).dot(own.carried.change(*own.moved.changes[j]))
    value = value + bends[i].dot(own.moved.force) if bends else value
    return value if own.springs is None or not present(own.springs[i][j]) else value + own.springs[i][j]


def _by_acceleration_within(link: Link, i: int, j: int, own: Any) -> Scalar:
    first, last = sorted((i, j))
    value = _screw(own, first).dot(own.handles[last][0])
    return value + link.armature[i] if i == j and present(link.armature[i]) else value


BY_POSITION = Coupling(
    _by_position_within, lambda k, own: own.carried.change(*own.moved.changes[k]) + _screw(own,
    k).cross_force(own.moved.force), _turned, _handle, lambda handle, m, own: _through(own.moved.changes[m], handle),
)  # fmt: skip
"""How joint forces change with coordinates: forces on the carried bodies also turn."""

BY_RATE = Coupling(
    lambda link, i, j, own: _screw(own, i).dot(own.carried.change(*own.seen.freedoms[j].by_rate)), lambda k, own:
    own.carried.change(*own.seen.freedoms[k].by_rate), _turned, _handle, lambda handle, m, own:
    _through(own.seen.freedoms[m].by_rate, handle),
)  # fmt: skip
"""How joint forces change with rates."""

BY_ACCELERATION = Coupling(_by_acceleration_within, lambda k, own: own.handles[k][0], _turned)
"""How joint forces change with accelerations: the mass matrix."""


def inverse_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, wrenches: Wrenches | None = None,
    couplings: Sequence[Coupling] = (BY_POSITION, BY_RATE, BY_ACCELERATION),
) -> list[Matrix]:  # fmt: skip
    """Return the derivatives of tau with respect to q, v and a, each by rows; the last is the mass matrix."""
    along_tendons = tendons.slopes(tree, q)
    tree = on_demand(tree)
    bodies = bodies_of(tree, q, v)
    accelerated = moved(tree, bodies, a, gravity, wrenches)
    found = tips_first(
        tree, pairs(tree, couplings, **bodies._asdict(), moved=accelerated, springs=springs.slopes(tree, q))
    )
    return found if along_tendons is None else [_sum(found[0], along_tendons), *found[1:]]


class AccelerationSlopes:
    """The accelerations of a tree at one state and their derivatives.

    Differentiating ID(q, v, a) = tau at the a that solves it: M da = dtau - (dID/dq) dq - (dID/dv) dv.

    added: A matrix over the freedoms that is added to the mass matrix.
    """

    def __init__(self, tree: Model, q: Scalars, v: Scalars, gravity: Scalars, added: Matrix | None = None) -> None:
        self.tree, self.q, self.gravity = tree, q, gravity
        self._walked = on_demand(tree)
        self.bodies = bodies_of(self._walked, q, v)
        mass = tips_first(self._walked, pairs(self._walked, [BY_ACCELERATION], **self.bodies._asdict()))[0]
        parents: Sequence[int] = tree.dof_parents
        if added is not None:
            mass = _sum(mass, added)
            parents = widened(parents, added)
        self.inverse = SparseInverse(mass, parents)
        """Factors of the mass matrix."""

    def accelerations(self, tau: Scalars, wrenches: Wrenches | None = None) -> list[Scalar]:
        """Return a for joint forces and wrenches on the bodies."""
        tau = springs.left_for_bodies(self.tree, self.q, tau)
        forces, _ = forces_and_accelerations(self._walked, self.bodies, None, self.gravity, wrenches)
        bias = _joint_forces(self._walked, self.bodies, forces)
        a = self.inverse.times({k: t - b for k, (t, b) in enumerate(zip(tau, bias, strict=True))})
        return [a[k] for k in range(self.tree.nv)]

    def of_forces(
        self, a: Scalars, wrenches: Wrenches | None = None, then: Callable[[Column], Column] = lambda column: column
    ) -> tuple[Matrix, Matrix]:
        """Return dID/dq and dID/dv by rows, with ``then`` applied to their columns if it is given."""
        accelerated = moved(self._walked, self.bodies, a, self.gravity, wrenches)
        slopes = pairs(
            self._walked, [BY_POSITION, BY_RATE], **self.bodies._asdict(), moved=accelerated,
            springs=springs.slopes(self.tree, self.q),
        )  # fmt: skip
        by_q, by_v = tips_first(self._walked, slopes, then)
        along_tendons = tendons.slopes(self.tree, self.q)
        if along_tendons is not None:
            places = range(self.tree.nv)
            columns = [then({i: along_tendons[i][j] for i in places}) for j in places]
            by_q = _sum(by_q, [[columns[j].get(i, 0.0) for j in places] for i in places])
        return by_q, by_v


def widened(parents: Sequence[int], added: Matrix) -> Sequence[int]:
    """Return what carries each freedom; the one before it, if a matrix added to the mass matrix couples branches."""
    paths = [set(carriers(parents, k)) for k in range(len(parents))]
    couples = any(present(x) and j <= i and j not in paths[i] for i, row in enumerate(added) for j, x in enumerate(row))
    return tuple(range(-1, len(parents) - 1)) if couples else parents


def forward_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """Return derivatives of a with respect to q, v and tau, by rows; the last is the inverse of the mass matrix."""
    at = AccelerationSlopes(tree, q, v, gravity)
    by_q, by_v = at.of_forces(at.accelerations(tau, wrenches), wrenches, lambda column: at.inverse.times(column, -1.0))
    places, by_tau = range(tree.nv), at.inverse.matrix()
    return by_q, by_v, [[by_tau[i].get(j, 0.0) for j in places] for i in places]


def _sum(a: Matrix, b: Matrix) -> Matrix:
    return [[x + y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]


def _joint_forces(tree: Model, bodies: Bodies, forces: Sequence[Force]) -> list[Scalar]:
    """Return joint forces except those of rotors; they must be requested from the tips to the base."""
    last_first = [[f.screw.dot(forces[i]) for f in bodies.seen[i].freedoms] for i in reversed(range(len(tree.links)))]
    return collect(tree, last_first[::-1])

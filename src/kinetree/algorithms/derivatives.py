"""How joint forces change with q, v and a, and accelerations with q, v and the joint forces.

All bodies of a tree are seen from one frame, that of its root body: then motions and forces
need no carrying from body to body, and what a joint carries is summed as it is.  Let S be the
screw of one degree of freedom and v', a' the motion of the body it stands on (a' includes
gravity).  When its coordinate moves, every body it carries sees its own motion change by

    dv = P,  da = Q + P x v,    P = v' x S + d,  Q = a' x S + v' x (P + d) + g,

where d and g belong to joints whose screws change with their coordinates and vanish for
all others.  When its rate changes, the same holds with P = S and Q = v' x S + d + dS/dt;
when its acceleration changes, with P = 0 and Q = S.  The force f = I a + v x* I v that
moves a body then changes by

    df = I Q + 2 B P,    2 B = v x* I - I v x + (I v) x^*,

with I and B summed over all that the joint carries; seen from the bodies it stands on, f
also turns with the coordinate, by S x* f.  Derived here from the equations of motion;
B is the matrix of :mod:`.coriolis`.

Where q is not a vector space, the derivative is along the motion of one unit of v:
d/de f(integrate(q, e * unit)).  External wrenches are held constant in body axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
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
from .newton_euler import Wrenches
from .passes import Scalars, add, bias_motion, collect, positions, present, rates
from .sparse_inverse import Column, SparseInverse

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
    """Without the part that is linear in the joint's accelerations."""
    bends: tuple[Motion, ...]
    """How each screw of the same joint changes with this coordinate; empty where screws are constant."""


class Seen(NamedTuple):
    """A body and its joint seen from the root body."""

    joint: Transform
    pose: Transform
    before: Motion
    """Velocity of the body that the joint stands on."""
    velocity: Motion
    drift: Motion
    """What the joint adds to the acceleration when its coordinates do not accelerate."""
    freedoms: tuple[Freedom, ...]


GROUND = Seen(IDENTITY, IDENTITY, ZERO_MOTION, ZERO_MOTION, ZERO_MOTION, ())
"""What root bodies stand on; its pose is the one in which a root body sees itself."""


def see(link: Link, parent: Seen, q: Scalars, v: Scalars) -> Seen:
    """A body from its parent."""
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
    """Change of a joint's screws with coordinate k, and rate of screw k seen from the parent; child coordinates."""
    others = [m for m in range(len(screws)) if m != k]
    turned = combine([screws[m].cross(screws[k]) for m in others], [v[m] for m in others])
    apparent = link.kind.subspace_rate(q, v)
    if apparent is None:
        return (), turned
    return link.kind.subspace_rate(q, _unit(k, len(screws))) or (), turned + apparent[k]


def _bias_change(
    link: Link, k: int, screws: Sequence[Motion], bends: Sequence[Motion], q: Scalars, v: Scalars
) -> Motion:
    """The part of g without the joint's accelerations: the change of (dS/dt) v, and d turned by the joint."""
    direction = link.kind.rate(q, _unit(k, len(screws)))
    moved = [Dual(x, rate) for x, rate in zip(q, direction, strict=True)]
    bias = bias_motion(link, moved, [Dual(x) for x in v]) or ZERO_MOTION
    change = Motion.of([x.rate if isinstance(x, Dual) else 0.0 for x in bias])
    return change + combine(screws, v).cross(combine(bends, v))


def _unit(k: int, n: int) -> list[float]:
    return [1.0 if m == k else 0.0 for m in range(n)]


def by_position(s: Seen, k: int, before: Motion, a: Scalars | None) -> Change:
    """P and Q of coordinate k of a joint on a body with acceleration ``before``; ``a`` are the joint's own."""
    f = s.freedoms[k]
    q = before.cross(f.screw) + s.before.cross(f.p + f.d) + f.g
    return f.p, q + combine(f.bends, a) if f.bends and a is not None else q


def acceleration_below(link: Link, s: Seen, parent: Motion) -> Motion:
    """Acceleration of what a joint stands on; the base's is given in its own axes, and it does not turn."""
    return Motion(ZERO3, s.joint.unrotate(parent.linear)) if link.parent == BASE else parent


def acceleration_of(s: Seen, before: Motion, a: Scalars | None) -> Motion:
    """Acceleration of a body; None means that the joint's coordinates do not accelerate."""
    total = before + s.drift
    return total if a is None else total + combine((f.screw for f in s.freedoms), a)


# ------------------------------------------------------------------ what a joint carries


class Carried(NamedTuple):
    """Sums over a body and all that it carries."""

    inertia: RigidInertia
    rate: Symmetric3
    """Of the second moments."""
    momentum: Force

    def change(self, p: Motion, q: Motion) -> Force:
        """I Q + 2 B P."""
        w, h = p.angular, self.momentum
        return self.inertia @ q + Force(self.rate @ w + w.cross(h.moment), w.cross(h.force * 2.0))

    def mirrored(self, s: Motion) -> Vec3:
        """The moment of 2 B^T S; its force is zero."""
        w, h = s.angular, self.momentum
        return self.rate @ w - w.cross(h.moment) + (h.force * 2.0).cross(s.linear)


def alone(link: Link, s: Seen) -> Carried:
    """A body by itself."""
    body = s.pose.rigid_to_parent(link.inertia)
    return Carried(body, inertia_rate(body, s.velocity), body @ s.velocity)


def required_force(s: Seen, body: Carried, acceleration: Motion, load: Force | None) -> Force:
    """What a body by itself needs for its motion, less what acts from outside."""
    force = body.inertia @ acceleration + s.velocity.cross_force(body.momentum)
    return force if load is None else force - s.pose.force_to_parent(load)


def inertia_rate(body: RigidInertia, v: Motion) -> Symmetric3:
    """Rate of second moments about a fixed point: w x I - I w x - u x h x - h x u x, in 21 products."""
    w, u, h, i = v.angular, v.linear, body.first, body.second
    a, b, c = w.x * i.yz, w.y * i.xz, w.z * i.xy
    x, y, z = h.x * u.x, h.y * u.y, h.z * u.z
    return Symmetric3(
        2.0 * (b - c + y + z),
        w.y * i.yz - w.x * i.xz + w.z * (i.xx - i.yy) - h.x * u.y - h.y * u.x,
        w.x * i.xy - w.z * i.yz + w.y * (i.zz - i.xx) - h.x * u.z - h.z * u.x,
        2.0 * (c - a + x + z),
        w.z * i.xz - w.y * i.xy + w.x * (i.yy - i.zz) - h.y * u.z - h.z * u.y,
        2.0 * (a - b + x + y),
    )


# ------------------------------------------------------------------ the whole tree


class Mechanism:
    """A tree at one q and v, seen from its root bodies.

    Everything is computed when first asked for and then remembered.  Asked for from the tips
    to the base, the operations come depth first, with few results waiting at any time, which
    is what machine code made from them wants.
    """

    def __init__(self, tree: Model, q: Scalars, v: Scalars) -> None:
        self.tree = tree
        self.q, self.v = positions(tree, q), rates(tree, v)
        self.seen, self.body, self.carried = cache(self._seen), cache(self._body), cache(self._carried)
        self.handles = cache(self._handles)

    def _seen(self, i: int) -> Seen:
        """Everything about joint i and its body, from the root outwards."""
        for j in self.tree.support(i)[:-1]:
            self.seen(j)
        parent = self.tree.parents[i]
        return see(self.tree.links[i], GROUND if parent == BASE else self.seen(parent), self.q[i], self.v[i])

    def _body(self, i: int) -> Carried:
        """Body i by itself."""
        return alone(self.tree.links[i], self.seen(i))

    def _carried(self, i: int) -> Carried:
        """Body i and all that it carries."""
        return Carried(*self.summed(i, tuple(self.body(i)), self.carried))

    def summed(self, i: int, own: Any, below: Any) -> Any:
        """What body i has and its children have gathered: in one frame it needs no transforming."""
        for child in self.tree.children[i]:
            own = add(own, tuple(below(child)) if isinstance(own, tuple) else below(child))
        return own

    def _handles(self, i: int) -> list[tuple[Force, Vec3]]:
        """Per freedom of joint i what turns a change of motion into a change of its force: I S and 2 B^T S."""
        carried = self.carried(i)
        return [(carried.inertia @ f.screw, carried.mirrored(f.screw)) for f in self.seen(i).freedoms]

    def column(self, i: int, k: int, change: Change, force: Force | None = None) -> Column:
        """Changes of joint forces when freedom k of joint i changes motions; ``force`` if by its coordinate."""
        links, f = self.tree.links, self.seen(i).freedoms[k]
        column: Column = {}

        def enter(link: Link, m: int, value: Scalar) -> None:
            row, ratio = link.v_slice.start + m, link.ratio * links[i].ratio
            column[row] = add(column.get(row), value if ratio == 1.0 else value * ratio)

        for j in reversed(self.below(i)):
            for m, (inertial, mirrored) in enumerate(self.handles(j)):
                enter(links[j], m, change[1].dot(inertial) + change[0].angular.dot(mirrored))
        effect = self.carried(i).change(*change)
        for m, other in enumerate(self.seen(i).freedoms):
            own = other.screw.dot(effect)
            enter(links[i], m, own + f.bends[m].dot(force) if force is not None and f.bends else own)
        if force is not None:
            effect = effect + f.screw.cross_force(force)
        for j in reversed(self.tree.support(i)[:-1]):
            for m, other in enumerate(self.seen(j).freedoms):
                enter(links[j], m, other.screw.dot(effect))
        return column

    def below(self, i: int) -> list[int]:
        """Bodies that body i carries, without itself."""
        found = list(self.tree.children[i])
        for j in found:
            found.extend(self.tree.children[j])
        return sorted(found)

    def by_rate(self, i: int, k: int) -> Column:
        """Change of joint forces with a rate."""
        return self.column(i, k, self.seen(i).freedoms[k].by_rate)

    def by_acceleration(self, i: int, k: int) -> Column:
        """Change of joint forces with an acceleration: a column of the mass matrix."""
        link, f = self.tree.links[i], self.seen(i).freedoms[k]
        column = self.column(i, k, (ZERO_MOTION, f.screw))
        row = link.v_slice.start + k
        if present(link.armature[k]):
            column[row] = column[row] + link.armature[k] * link.ratio * link.ratio
        for m, (inertial, _) in enumerate(self.handles(i)[k + 1 :], 1):
            column[row + m] = f.screw.dot(inertial)  # the very product of its mirror image: symmetric to the bit
        return column


class Moved:
    """The same mechanism with accelerations; None means that no coordinate accelerates."""

    def __init__(
        self, mechanism: Mechanism, a: Scalars | None, gravity: Scalars, wrenches: Wrenches | None = None
    ) -> None:
        self.mechanism, self.tree = mechanism, mechanism.tree
        self.a = None if a is None else rates(self.tree, a)
        self.up = Motion(ZERO3, -Vec3.of(gravity))
        self.loads: Wrenches = wrenches or [None] * len(self.tree.links)
        self.acceleration, self.force = cache(self._acceleration), cache(self._force)

    def before(self, i: int) -> Motion:
        """Acceleration of the body that joint i stands on; the base accelerates upwards instead of falling."""
        parent = self.tree.parents[i]
        below = self.up if parent == BASE else self.acceleration(parent)
        return acceleration_below(self.tree.links[i], self.mechanism.seen(i), below)

    def _acceleration(self, i: int) -> Motion:
        for j in self.tree.support(i)[:-1]:
            self.acceleration(j)
        return acceleration_of(self.mechanism.seen(i), self.before(i), None if self.a is None else self.a[i])

    def _force(self, i: int) -> Force:
        """What joint i must pass to body i for the motion of all that it carries."""
        own = required_force(self.mechanism.seen(i), self.mechanism.body(i), self.acceleration(i), self.loads[i])
        return self.mechanism.summed(i, own, self.force)  # type: ignore[no-any-return]

    def forces(self) -> list[Scalar]:
        """Joint forces, but for rotors."""
        per_joint = [
            [f.screw.dot(self.force(i)) for f in self.mechanism.seen(i).freedoms]
            for i in reversed(range(len(self.tree.links)))
        ]
        return collect(self.tree, per_joint[::-1])

    def by_position(self, i: int, k: int) -> Column:
        """Change of joint forces with a coordinate."""
        a = None if self.a is None else self.a[i]
        change = by_position(self.mechanism.seen(i), k, self.before(i), a)
        return self.mechanism.column(i, k, change, self.force(i))


def inverse_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """Derivatives of tau with respect to q, v and a, each by rows; the last is the mass matrix."""
    mechanism = Mechanism(tree, q, v)
    moved = Moved(mechanism, a, gravity, wrenches)
    by_q, by_v, by_a = Columns(), Columns(), Columns()
    for j, driven in _tips_first(tree):
        by_q[j] = _total(moved.by_position, driven)
        by_v[j] = _total(mechanism.by_rate, driven)
        by_a[j] = _total(mechanism.by_acceleration, driven)
    return by_q.rows(), by_v.rows(), by_a.rows()


def forward_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """Derivatives of a with respect to q, v and tau, each by rows; the last is the inverse of the mass matrix.

    Differentiating ID(q, v, a) = tau at the a that solves it: M da = dtau - (dID/dq) dq - (dID/dv) dv.
    """
    mechanism = Mechanism(tree, q, v)
    mass, by_q, by_v = Columns(), Columns(), Columns()
    for j, driven in _tips_first(tree):
        mass[j] = _total(mechanism.by_acceleration, driven)
    inverse = SparseInverse(mass.rows(), tree.dof_parents)
    bias = Moved(mechanism, None, gravity, wrenches).forces()
    a = inverse.times({k: t - b for k, (t, b) in enumerate(zip(tau, bias, strict=True))})
    moved = Moved(mechanism, [a[k] for k in range(tree.nv)], gravity, wrenches)
    for j, driven in _tips_first(tree):
        by_q[j] = inverse.times(_total(moved.by_position, driven), -1.0)
        by_v[j] = inverse.times(_total(mechanism.by_rate, driven), -1.0)
    return by_q.rows(), by_v.rows(), Columns(enumerate(inverse.matrix())).rows()


class Columns(dict[int, Column]):
    """A square matrix by columns."""

    def rows(self) -> Matrix:
        """The same by rows, zeros included."""
        return [[self[j].get(i, 0.0) for j in range(len(self))] for i in range(len(self))]


def _tips_first(tree: Model) -> list[tuple[int, list[tuple[int, int]]]]:
    """Places in v from the last to the first, each with the freedoms (joint, k) it drives: several with followers."""
    driven: dict[int, list[tuple[int, int]]] = {j: [] for j in reversed(range(tree.nv))}
    for link in reversed(tree.links):
        for k in range(link.kind.nv):
            driven[link.v_slice.start + k].append((link.index, k))
    return list(driven.items())


def _total(column: Callable[[int, int], Column], driven: Sequence[tuple[int, int]]) -> Column:
    """Sum of the columns of all freedoms that one place in v drives."""
    total: Column = {}
    for i, k in driven:
        for row, value in column(i, k).items():
            total[row] = add(total.get(row), value)
    return total

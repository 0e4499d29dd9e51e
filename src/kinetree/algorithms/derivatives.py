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

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..model.tree import Link, Model
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
from .passes import Scalars, add, bias_motion, collect, inward, outward, positions, rates
from .sparse_inverse import Column, SparseInverse

Matrix = list[list[Scalar]]
Sparse = list[Column]
"""A matrix by rows without the entries that are zero by structure."""
Change = tuple[Motion, Motion]
"""P and Q of one degree of freedom."""


# ------------------------------------------------------------------ outward: freedoms seen from the root body


class Freedom(NamedTuple):
    """One degree of freedom in root coordinates."""

    screw: Motion
    by_rate: Change
    p: Motion
    d: Motion
    g: Motion
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


def see(link: Link, parent: Seen | None, q: Scalars, v: Scalars) -> Seen:
    """Outward step. A root body is where it sees itself."""
    joint, screws = link.transform(q), link.subspace(q)
    pose, before = (IDENTITY, ZERO_MOTION) if parent is None else ((parent.pose @ joint).collapsed(), parent.velocity)
    here = pose.motion_to_parent
    freedoms, velocity, drift = [], before, here(bias_motion(link, q, v) or ZERO_MOTION)
    for k, local in enumerate(screws):
        s, d, g = here(local), ZERO_MOTION, ZERO_MOTION
        swept = before.cross(s)
        bends, turned = _bends(link, k, screws, q, v)
        if bends:
            d, g = here(combine(bends, v)), here(_acceleration_change(link, k, screws, bends, q, v))
        freedoms.append(Freedom(s, (s, swept + d + swept + here(turned)), swept + d, d, g, tuple(map(here, bends))))
        velocity, drift = velocity + s * v[k], drift + swept * v[k]
    return Seen(joint, pose, before, velocity, drift, tuple(freedoms))


def _bends(
    link: Link, k: int, screws: Sequence[Motion], q: Scalars, v: Scalars
) -> tuple[tuple[Motion, ...], Motion]:
    """Change of a joint's screws with coordinate k, and the rate of screw k seen from the parent; child coordinates."""
    others = [m for m in range(len(screws)) if m != k]
    turned = combine([screws[m].cross(screws[k]) for m in others], [v[m] for m in others])
    apparent = link.kind.subspace_rate(q, v)
    if apparent is None:
        return (), turned
    return link.kind.subspace_rate(q, _unit(k, len(screws))) or (), turned + apparent[k]


def _acceleration_change(
    link: Link, k: int, screws: Sequence[Motion], bends: Sequence[Motion], q: Scalars, v: Scalars
) -> Motion:
    """g without the joint's accelerations: the change of (dS/dt) v with coordinate k, and d turned by the joint."""
    direction = link.kind.rate(q, _unit(k, len(screws)))
    moved = [Dual(x, rate) for x, rate in zip(q, direction, strict=True)]
    bias = bias_motion(link, moved, [Dual(x) for x in v]) or ZERO_MOTION
    change = Motion.of([x.rate if isinstance(x, Dual) else 0.0 for x in bias])
    return change + combine(screws, v).cross(combine(bends, v))


def _unit(k: int, n: int) -> list[float]:
    return [1.0 if m == k else 0.0 for m in range(n)]


# ------------------------------------------------------------------ inward: what each joint carries


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


class Moved(NamedTuple):
    """What depends on accelerations: of the body each joint stands on, and the force each joint carries."""

    before: list[Motion]
    force: list[Force]


class Mechanism:
    """A tree at one q and v, seen from its root bodies."""

    def __init__(self, tree: Model, q: Scalars, v: Scalars) -> None:
        self.tree = tree
        self.seen: list[Seen] = outward(tree, see, None, positions(tree, q), rates(tree, v))
        self.bodies = [s.pose.rigid_to_parent(link.inertia) for link, s in zip(tree.links, self.seen, strict=True)]
        self.momenta = [body @ s.velocity for body, s in zip(self.bodies, self.seen, strict=True)]
        turning = [inertia_rate(body, s.velocity) for body, s in zip(self.bodies, self.seen, strict=True)]
        self.carried = [Carried(*sums) for sums in self._sums(zip(self.bodies, turning, self.momenta, strict=True))]

    def _sums(self, own):
        """Of each body and all that it carries: in one frame nothing needs to be transformed on the way."""
        return inward(self.tree, lambda link, total: (total, total), list(own))[0]

    def move(self, a: Scalars | None, gravity: Scalars, wrenches: Wrenches | None) -> Moved:
        """Accelerations and forces; ``a`` of None means zero."""
        up = -Vec3.of(gravity)

        def accelerate(link, parent, s, a):
            before = Motion(ZERO3, s.joint.unrotate(up)) if parent is None else parent[1]
            own = s.drift if a is None else s.drift + combine((f.screw for f in s.freedoms), a)
            return before, before + own

        def force(i, acceleration, load):
            total = self.bodies[i] @ acceleration + self.seen[i].velocity.cross_force(self.momenta[i])
            return total if load is None else total - self.seen[i].pose.force_to_parent(load)

        nothing = [None] * len(self.seen)
        motions = outward(self.tree, accelerate, None, self.seen, nothing if a is None else rates(self.tree, a))
        own = [force(i, m[1], load) for i, (m, load) in enumerate(zip(motions, wrenches or nothing, strict=True))]
        return Moved([m[0] for m in motions], self._sums(own))

    def forces(self, moved: Moved) -> list[Scalar]:
        """Joint forces, without rotors."""
        pairs = zip(self.seen, moved.force, strict=True)
        return collect(self.tree, [[f.screw.dot(force) for f in s.freedoms] for s, force in pairs])

    def by_position(self, a: Scalars, moved: Moved) -> Sparse:
        """d tau / d q."""

        def change(f: Freedom, s: Seen, before: Motion, a: Scalars) -> Change:
            q = before.cross(f.screw) + s.before.cross(f.p + f.d) + f.g
            return f.p, q + combine(f.bends, a) if f.bends else q

        columns = zip(self.seen, moved.before, rates(self.tree, a), strict=True)
        return self._matrix([[change(f, s, before, own) for f in s.freedoms] for s, before, own in columns], moved.force)

    def by_rate(self) -> Sparse:
        """d tau / d v."""
        return self._matrix([[f.by_rate for f in s.freedoms] for s in self.seen])

    def by_acceleration(self) -> Sparse:
        """d tau / d a: the mass matrix."""
        matrix = self._matrix([[(ZERO_MOTION, f.screw) for f in s.freedoms] for s in self.seen])
        for link in self.tree.links:
            for k, armature in enumerate(link.armature, link.v_slice.start):
                if armature:
                    matrix[k][k] = matrix[k][k] + armature * link.ratio * link.ratio
        return matrix

    def _matrix(self, changes: list[list[Change]], forces: list[Force] | None = None) -> Sparse:
        """Joint forces per unit of what changes motions by ``changes``; with ``forces`` it moves coordinates."""
        table: Sparse = [{} for _ in range(self.tree.nv)]
        for link, s, carried in zip(self.tree.links, self.seen, self.carried, strict=True):
            i = link.index
            for k, f in enumerate(s.freedoms):
                column = carried.change(*changes[i][k])
                for m, o in enumerate(s.freedoms):
                    own = o.screw.dot(column)
                    if forces is not None and f.bends:
                        own = own + f.bends[m].dot(forces[i])
                    _enter(table, link, m, link, k, own)
                if forces is not None:
                    column = column + f.screw.cross_force(forces[i])
                inertial, mirrored = carried.inertia @ f.screw, carried.mirrored(f.screw)
                for carrier in (self.tree.links[j] for j in self.tree.support(link.parent)):
                    seen = self.seen[carrier.index].freedoms
                    for m, (o, (p, q)) in enumerate(zip(seen, changes[carrier.index], strict=True)):
                        _enter(table, carrier, m, link, k, o.screw.dot(column))
                        _enter(table, link, k, carrier, m, q.dot(inertial) + p.angular.dot(mirrored))
        return table


def _enter(table: Sparse, row: Link, m: int, column: Link, k: int, value: Scalar) -> None:
    """Add what freedom k of one joint does to freedom m of another; a follower's part is its leader's."""
    if row.follows or column.follows:
        value = value * (row.ratio * column.ratio)
    line, place = table[row.v_slice.start + m], column.v_slice.start + k
    line[place] = add(line.get(place), value)


def dense(rows: Sparse) -> Matrix:
    """A matrix by rows, zeros included."""
    return [[row.get(j, 0.0) for j in range(len(rows))] for row in rows]


def transposed(rows: Sparse) -> Sparse:
    """Columns from rows."""
    return [{i: row[j] for i, row in enumerate(rows) if j in row} for j in range(len(rows))]


def inverse_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """d tau / d q, d tau / d v and d tau / d a, each by rows; the last is the mass matrix."""
    mechanism = Mechanism(tree, q, v)
    moved = mechanism.move(a, gravity, wrenches)
    return dense(mechanism.by_position(a, moved)), dense(mechanism.by_rate()), dense(mechanism.by_acceleration())


def forward_dynamics_derivatives(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """d a / d q, d a / d v and d a / d tau, each by rows; the last is the inverse of the mass matrix.

    Differentiating ID(q, v, a) = tau at the a that solves it: M da = dtau - (dID/dq) dq - (dID/dv) dv.
    """
    mechanism = Mechanism(tree, q, v)
    inverse = SparseInverse(dense(mechanism.by_acceleration()), tree.dof_parents)
    bias = mechanism.forces(mechanism.move(None, gravity, wrenches))
    a = list(inverse.times({k: t - b for k, (t, b) in enumerate(zip(tau, bias, strict=True))}).values())
    by_q, by_v = mechanism.by_position(a, mechanism.move(a, gravity, wrenches)), mechanism.by_rate()

    def response(forces: Sparse) -> Matrix:
        return dense(transposed([inverse.times(column, -1.0) for column in transposed(forces)]))

    return response(by_q), response(by_v), dense(inverse.matrix())

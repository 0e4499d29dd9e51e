"""Changes of parameters that do not affect any torque, found joint by joint: null-space propagation.

A change of parameters is unnoticed if it does not change the energy of any motion, except for a constant (Khalil
section 10.2.4). Let the parameters of the last body of a branch change by x. Only the energy of that body depends on
its joint's coordinates, so the energy of x must not depend on them; then x acts as if it were welded to the parent,
which can compensate for it. So every joint has a small space of changes that may be passed on to its parent, and there
are no others. The space depends on how the parent can move and how it can be oriented relative to gravity, which is
propagated outward.

This works for every kind of joint, since only its transform and its motion subspace are used. The additional changes
due to followers and closed loops are not local, and are found numerically afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model.joints import JointKind
from ..model.tree import BASE, Link
from ..spatial import Motion
from ..spatial.arrays import Array
from .grouping import null_space, span
from .parameters_to_group import Considered, Vector, inertia_of, ten_of

SEED = 20
SAMPLES = 8
"""Number of positions sampled per freedom of a joint: energies are polynomials of degree two in q, or in its sine and
cosine."""

LEAST = 1e-9
"""Effects below this fraction of the largest are rounding errors."""


class Attainable(NamedTuple):
    """The attainable motions of a body, over all motions of its carriers; lengths in the robot's own unit."""

    energies: Array
    """(10, e): basis of the kinetic energies per unit of each of the ten parameters."""
    velocities: Array
    """(6, r): basis of its velocities."""
    gravity: Array
    """(4, g): basis of the vectors (gravity in body axes, 1)."""


def at_rest(gravity: Sequence[float]) -> Attainable:
    """Return the attainable motions of the base, which does not move."""
    g = np.array(gravity, dtype=float)
    size = np.linalg.norm(g) or 1.0
    return Attainable(np.zeros((10, 0)), np.zeros((6, 0)), np.array([*(g / size), 1.0])[:, None])


class JointAtPlaces(NamedTuple):
    """A joint at several positions: batch first, lengths in the robot's own unit."""

    to_parent: Array
    """(n, 10, 10): maps ten parameters to the parent's frame."""
    motion_to_child: Array
    """(n, 6, 6)"""
    rotation: Array
    """(n, 3, 3): child to parent."""
    subspace: Array
    """(n, nv, 6)"""


def unnoticed(considered: Considered) -> list[Vector]:
    """Return a basis of the changes that affect no torque of the tree; followers count as independent joints."""
    rng = np.random.default_rng(SEED)
    reach = {BASE: at_rest(considered.model.gravity)}
    vectors: list[Vector] = []
    for link in considered.model.independent.links:
        placed = place(link, considered.length, rng)
        parent = reach[link.parent]
        vectors += handed_on(link, placed, parent, considered)
        reach[link.index] = carried(placed, parent)
    return vectors


def handed_on(link: Link, placed: JointAtPlaces, parent: Attainable, considered: Considered) -> list[Vector]:
    """Return the changes that this joint passes on to the parent, which compensates for them."""
    nv = placed.subspace.shape[1]
    rotors = [k for k in range(nv) if considered.rotor(link.index, k) is not None]
    offsets = [k for k in range(nv) if considered.offset(link.index, k) is not None]
    width = 10 + len(rotors) + len(offsets)
    rows: list[Array] = []

    def demand(of_body: Array, rotor: int | None = None, offset: int | None = None, constant: Any = 0.0) -> None:
        """Require that an effect is zero, given per unit of the ten parameters, of a rotor (1) and of an offset."""
        block = np.zeros((*of_body.shape[:-1], width))
        block[..., :10] = of_body
        if rotor in rotors:
            block[..., 10 + rotors.index(rotor)] = 1.0
        if offset in offsets:
            block[..., 10 + len(rotors) + offsets.index(offset)] = constant
        rows.append(block.reshape(-1, width))

    felt = np.swapaxes(placed.motion_to_child @ parent.velocities, -1, -2)  # the parent's velocities in this frame
    weights = gravity_here(placed, parent)
    for k in range(nv):
        own = placed.subspace[:, k]
        for other in range(k + 1):
            demand(energy(own, placed.subspace[:, other]), rotor=k if other == k else None)
        demand(energy(own[:, None], felt))
        demand(holding_force(own[:, None], weights[..., :3]), None, k, weights[..., 3])
    through = np.swapaxes(parent.energies.T @ placed.to_parent, -1, -2)
    demand(np.swapaxes(through - through[:1], -1, -2))
    if link.kind.quaternion is not None:
        rows.append(_equal_rotors(link.kind, rotors, width))
    return [
        _vector(x, link, rotors, offsets, placed.to_parent[0], considered)
        for x in null_space(np.concatenate(rows), LEAST).T
    ]


def _equal_rotors(kind: JointKind, rotors: list[int], width: int) -> Array:
    """Return the conditions under which rotors that turn with the body act like its inertia: they must be equal.

    Their force is inertia times the rate of v.  If v are components along the body's own axes instead of rates of
    coordinates, that leaves out w x I w, which is zero only for an inertia that is the same about all axes.
    """
    turning = [k for k in rotors if kind.v_units[k] == "rad"]
    equal = [(turning[0], k) for k in turning[1:]] if len(turning) == 3 else [(k, k) for k in turning]
    rows = np.zeros((len(equal) + len(rotors) - len(turning), width))
    for row, (a, b) in zip(rows, equal + [(k, k) for k in rotors if k not in turning], strict=True):
        row[10 + rotors.index(b)] = -1.0
        row[10 + rotors.index(a)] += 1.0 if a != b else 2.0
    return rows


def carried(placed: JointAtPlaces, parent: Attainable) -> Attainable:
    """Return the attainable motions of a body, from those of its parent."""
    felt = np.swapaxes(placed.motion_to_child @ parent.velocities, -1, -2)
    own = placed.subspace
    energies = [(parent.energies.T @ placed.to_parent).reshape(-1, 10)]
    for k in range(own.shape[1]):
        energies.append(energy(own[:, k, None], own[:, : k + 1]).reshape(-1, 10))
        energies.append(energy(own[:, k, None], felt).reshape(-1, 10))
    velocities = np.concatenate([felt.reshape(-1, 6), own.reshape(-1, 6)])
    return Attainable(
        span(np.concatenate(energies).T, LEAST), span(velocities.T, LEAST),
        span(gravity_here(placed, parent).reshape(-1, 4).T, LEAST),
    )  # fmt: skip


def energy(v: Array, w: Array) -> Array:
    """Return ``v . I w`` per unit of each of the ten parameters of I; for v = w it is twice the kinetic energy."""
    v, w = np.broadcast_arrays(v, w)
    (a, u), (b, s) = (v[..., :3], v[..., 3:]), (w[..., :3], w[..., 3:])
    second = [
        a[..., i] * b[..., j] + (a[..., j] * b[..., i] if i != j else 0.0)
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    ]
    first = np.cross(s, a) + np.cross(u, b)
    return np.concatenate([np.stack(second, axis=-1), first, (u * s).sum(axis=-1)[..., None]], axis=-1)


def holding_force(motion: Array, gravity: Array) -> Array:
    """Return the force along ``motion`` that holds a body, per unit of each of its ten parameters."""
    motion, gravity = np.broadcast_arrays(motion, np.concatenate([gravity, gravity], axis=-1))
    w, u, g = motion[..., :3], motion[..., 3:], gravity[..., :3]
    parts = [np.zeros((*w.shape[:-1], 6)), -np.cross(g, w), -(g * u).sum(axis=-1)[..., None]]
    return np.concatenate(parts, axis=-1)


def gravity_here(placed: JointAtPlaces, parent: Attainable) -> Array:
    """Return the basis of gravity in the body's axes, and 1, at every position: (n, g, 4)."""
    turned = np.swapaxes(placed.rotation, -1, -2) @ parent.gravity[:3]
    constant = np.broadcast_to(parent.gravity[3:], (*turned.shape[:-2], 1, turned.shape[-1]))
    return np.swapaxes(np.concatenate([turned, constant], axis=-2), -1, -2)


def place(link: Link, length: float, rng: np.random.Generator) -> JointAtPlaces:
    """Return a joint at random positions, with lengths in the given unit."""
    kind = link.kind
    count = 1 if kind.nv == 0 else SAMPLES * kind.nv
    q = random_positions(kind, length, rng, count)
    x = link.transform([q[:, k] for k in range(kind.nq)])
    spread = _spreader(count)
    body, motion = np.array([length**2] * 6 + [length] * 3 + [1.0]), np.array([1.0] * 3 + [length] * 3)
    columns = [spread(ten_of(x.rigid_to_parent(inertia_of(list(unit))))) for unit in np.eye(10)]
    to_parent = np.stack(columns, axis=-1) * body / body[:, None]
    to_child = np.stack([spread([*x.motion_to_child(Motion.of(list(unit)))]) for unit in np.eye(6)], axis=-1)
    to_child = to_child * motion / motion[:, None]
    rotation = spread([entry for row in x.matrix().to_rows() for entry in row]).reshape(count, 3, 3)
    scale = [length if unit == "m" else 1.0 for unit in kind.v_units]
    columns_s = kind.subspace([q[:, k] for k in range(kind.nq)])
    subspace = [spread([*s]) / motion * size for s, size in zip(columns_s, scale, strict=True)]
    return JointAtPlaces(
        to_parent, to_child, rotation, np.stack(subspace, axis=1) if subspace else np.zeros((count, 0, 6))
    )


def random_positions(kind: JointKind, length: float, rng: np.random.Generator, count: int) -> Array:
    """Return random positions: any angle, and slides displaced by up to the robot's length either way."""
    limits = [{"rad": np.pi, "m": length}.get(unit, np.inf) for unit in kind.q_units]
    return kind.random(rng, [-x for x in limits], limits, (count,))


def _spreader(count: int) -> Any:
    """Return a function that makes one array of entries that are numbers or arrays over positions."""
    return lambda entries: np.stack([np.broadcast_to(np.asarray(x, dtype=float), (count,)) for x in entries], axis=-1)


def _vector(
    x: Array, link: Link, rotors: list[int], offsets: list[int], to_parent: Array, considered: Considered
) -> Vector:
    """Return a change in the units of the table: that of the body and its joint, and the compensation by the parent."""
    found: Vector = {10 * link.index + k: x[k] for k in range(10)}
    found |= {_known(considered.rotor(link.index, k)): x[10 + i] for i, k in enumerate(rotors)}
    found |= {_known(considered.offset(link.index, k)): x[10 + len(rotors) + i] for i, k in enumerate(offsets)}
    if link.parent != BASE:
        found |= {10 * link.parent + k: -y for k, y in enumerate(to_parent @ x[:10])}
    return {c: float(y * considered.sizes[c]) for c, y in found.items() if abs(y) > 1e-14}


def _known(column: int | None) -> int:
    assert column is not None
    return column

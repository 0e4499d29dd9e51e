"""Forces, momenta and energies as linear functions of the parameters: tau = Y(q, v, a) p (Khalil eq. 10.4, 10.12).

The force that a body's motion requires is linear in its ten parameters, through a 6 x 10 matrix. A joint feels the
component along its axis, as seen from that body. So the axes are transformed from body to body, which takes one motion
each instead of ten forces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import UnsupportedError
from ..model.parameters import OF_BODIES, OF_SPRINGS, Parameter, rows
from ..model.tree import BASE, Link, Model
from ..spatial import BASIS, ZERO3, Force, Motion, Scalar, Transform, Vec3, dot
from . import springs, tendons
from .algorithm import ALL
from .joint_friction import fading, sign
from .kinematics import AT_ORIGIN, MovingBody, poses, velocities
from .newton_euler import Moving, base_at_rest, move
from .passes import Scalars, add, body_columns, each, on_demand, outward, part, positions, rates

Columns = Sequence[str] | str
OfFreedom = Callable[[int, int], Scalar]
"""The contribution of a unit of a parameter of freedom ``k`` of joint ``i``."""


def selected(tree: Model, names: Columns) -> list[Parameter]:
    """Return the requested rows of the parameter table, in the requested order."""
    every = rows(tree)
    if isinstance(names, str):
        return list(every)
    by_name = {p.name: p for p in every}
    return [by_name[name] for name in names]


# ------------------------------------------------------------------ of a body, per unit of its ten parameters


def required_forces(m: Moving) -> dict[str, Force]:
    """Return the forces that a body's motion requires (Khalil eq. 10.8)."""
    w, r, o = m.w, m.w_dot, m.o_ddot
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    moments = (  # I w' + w x I w
        Vec3(r.x, xz, -xy), Vec3(r.y - xz, r.x + yz, xx - yy), Vec3(r.z + xy, zz - xx, r.x - yz),
        Vec3(-yz, r.y, xy), Vec3(yy - zz, r.z - xy, r.y + xz), Vec3(yz, -xz, r.z),
    )  # fmt: skip
    forces = [Force(moment, ZERO3) for moment in moments]
    forces += [Force(e.cross(o), m.turning @ e) for e in BASIS]
    return _by_symbol([*forces, Force(ZERO3, o)])


def momenta(velocity: Motion) -> dict[str, Force]:
    """Return the momenta, about the body's origin: I w + h x u and m u + w x h."""
    w, u = velocity.angular, velocity.linear
    moments = (
        Vec3(w.x, 0.0, 0.0), Vec3(w.y, w.x, 0.0), Vec3(w.z, 0.0, w.x),
        Vec3(0.0, w.y, 0.0), Vec3(0.0, w.z, w.y), Vec3(0.0, 0.0, w.z),
    )  # fmt: skip
    found = [Force(moment, ZERO3) for moment in moments]
    return _by_symbol([*found, *(Force(e.cross(u), w.cross(e)) for e in BASIS), Force(ZERO3, u)])


def kinetic_energies(velocity: Motion) -> dict[str, Scalar]:
    """Return the kinetic energies: w.I w / 2 + u.(w x h) + m u.u / 2 (Khalil eq. 10.28)."""
    w, u = velocity.angular, velocity.linear
    turning = [0.5 * w.x * w.x, w.x * w.y, w.x * w.z, 0.5 * w.y * w.y, w.y * w.z, 0.5 * w.z * w.z]
    swinging = u.cross(w)
    return _by_symbol([*turning, swinging.x, swinging.y, swinging.z, 0.5 * u.dot(u)])


def _by_symbol(ten: Sequence[object]) -> dict:
    return dict(zip(OF_BODIES, ten, strict=True))


# ------------------------------------------------------------------ of the joints: a row per degree of freedom


class FreedomSeen(NamedTuple):
    """The motion of a body due to one freedom, in the body's coordinates."""

    row: int
    motion: Motion


def axes_of_carriers(
    tree: Model, transforms: Sequence[Transform], subspaces: Sequence[Sequence[Motion]]
) -> list[tuple[FreedomSeen, ...]]:
    """Return, for every body, how each freedom that carries it moves it: its Jacobian, in its own coordinates."""

    def step(
        link: Link, parent: tuple[FreedomSeen, ...], x: Transform, subspace: Sequence[Motion]
    ) -> tuple[FreedomSeen, ...]:
        seen = tuple(FreedomSeen(axis.row, x.motion_to_child(axis.motion)) for axis in parent)
        own = [s * link.ratio if link.follows else s for s in subspace]
        return seen + tuple(FreedomSeen(link.v_slice.start + k, s) for k, s in enumerate(own))

    return outward(tree, step, (), transforms, subspaces)


def felt_by_joints(
    tree: Model, columns: Sequence[Parameter], axes: Sequence[Sequence[FreedomSeen]],
    of_body: Callable[[int], Mapping[str, Force]], own: OfJoints,
) -> list[list[Scalar]]:  # fmt: skip
    """Return a matrix with a row per degree of freedom and a column per parameter; entries not given are zero.

    The loop goes body by body and, for each body, axis by axis, so that few intermediate results are alive at any time.
    """
    matrix: list[list[Scalar]] = [[0.0] * len(columns) for _ in range(tree.nv)]
    of_bodies: dict[int, list[tuple[int, str]]] = {}
    for c, p in enumerate(columns):
        if p.symbol in OF_BODIES:
            of_bodies.setdefault(p.body, []).append((c, p.symbol))
    for (row, c), value in own.items():
        matrix[row][c] = value
    for i in sorted(of_bodies):
        forces, felt = of_body(i), set[int]()
        for row, axis in axes[i]:
            for c, symbol in of_bodies[i]:  # a leader and its follower may both carry a body, and share one row
                matrix[row][c] = add(matrix[row][c] if row in felt else None, axis.dot(forces[symbol]))
            felt.add(row)
    return matrix


def felt_in_root_frame(
    tree: Model, transforms: Sequence[Transform], subspaces: Sequence[Sequence[Motion]], forces: Sequence[Any],
    length: int,
) -> list[list[Scalar]]:  # fmt: skip
    """Return the columns of all parameters of bodies, padded with zeros to ``length``, computed in the root's frame.

    ``forces`` are the forces per unit of each body's ten parameters, in order. This function takes more operations than
    :func:`felt_by_joints`, but the same ones for every pair of a body and a body that carries it.
    """

    def place(link: Link, parent: tuple[Transform], x: Transform) -> tuple[Transform]:
        return (parent[0] if link.parent == BASE else (parent[0] @ x).collapsed(),)

    def felt(force: Force, m: int, own: Any) -> Scalar:
        return own.screws[m].dot(force)

    posed = part(outward(tree, place, (AT_ORIGIN.pose,), transforms), 0)
    screws = each(tree, lambda _, x, s: tuple(x.motion_to_parent(axis) for axis in s), posed, subspaces)
    seen = each(tree, lambda _, x, ten: tuple(x.force_to_parent(f) for f in ten), posed, forces)
    return body_columns(tree, len(OF_BODIES), length, lambda k, own: own.seen[k], felt, screws=screws, seen=seen)


OfJoints = dict[tuple[int, int], Scalar]
"""Entries of the columns of the joints' parameters, keyed by row and column."""


def of_joints(
    tree: Model, columns: Sequence[Parameter], of_freedom: Mapping[str, OfFreedom],
    coordinates: Sequence[Scalars] | None = None,
) -> OfJoints:  # fmt: skip
    """Return the entries of the joints' own parameters, including springs if ``coordinates`` are given."""
    found: OfJoints = {}
    for c, p in enumerate(columns):
        link = tree.links[p.body]
        felt: list[tuple[int, Scalar]] = []
        if p.symbol in OF_SPRINGS and coordinates is not None:  # the spring of a ball joint is felt about all its axes
            felt = list(enumerate(springs.pull_per_stiffness(link, coordinates[p.body], p.freedom)))
        elif p.symbol in of_freedom:
            felt = [(p.freedom, of_freedom[p.symbol](p.body, p.freedom))]
        for k, value in felt:
            found[link.v_slice.start + k, c] = value * link.ratio if link.follows else value
    return found


def torques_of_joints(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, parameters: Columns = ALL, friction: bool = False
) -> OfJoints:
    """Return the columns of parameters of joints of :func:`torque_regressor`."""
    refuse_sprung_tendons(tree)
    speeds, accelerations = rates(tree, v), rates(tree, a)
    of_freedom: dict[str, OfFreedom] = {"rotor_inertia": lambda i, k: accelerations[i][k]}
    if friction:
        of_freedom["damping"] = lambda i, k: speeds[i][k]
        of_freedom["friction"] = lambda i, k: sign(speeds[i][k])
        of_freedom["offset"] = lambda i, k: 1.0
        of_freedom["stribeck"] = lambda i, k: sign(speeds[i][k]) * _fading(tree, speeds, i, k)
    return of_joints(tree, selected(tree, parameters), of_freedom, positions(tree, q))


def torque_regressor(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, parameters: Columns = ALL, friction: bool = False
) -> list[list[Scalar]]:
    """Return Y with tau = Y p; without ``friction`` the columns of friction are zero."""
    bodies = on_demand(tree)
    moving = outward(bodies, move, base_at_rest(gravity), positions(tree, q), rates(tree, v), rates(tree, a))
    axes = axes_of_carriers(
        bodies, each(bodies, lambda _, m: m.transform, moving), each(bodies, lambda _, m: m.subspace, moving)
    )
    own = torques_of_joints(tree, q, v, a, parameters, friction)
    return felt_by_joints(tree, selected(tree, parameters), axes, lambda i: required_forces(moving[i]), own)


def torques_of_bodies(tree: Model, q: Scalars, v: Scalars, a: Scalars, *, length: int) -> list[list[Scalar]]:
    """Return Y except for the columns of parameters of joints, in a form that loops over large trees."""
    moving = outward(tree, move, base_at_rest(tree.gravity), positions(tree, q), rates(tree, v), rates(tree, a))
    forces = each(tree, lambda _, m: tuple(required_forces(m).values()), moving)
    subspaces = each(tree, lambda _, m: m.subspace, moving)
    return felt_in_root_frame(tree, each(tree, lambda _, m: m.transform, moving), subspaces, forces, length)


def _fading(tree: Model, speeds: Sequence[Scalars], joint: int, freedom: int) -> Scalar:
    """Return the fraction of a freedom's Stribeck friction that is left at its speed."""
    return fading(speeds[joint][freedom], tree.joints[joint].stribeck_speed[freedom])


def refuse_sprung_tendons(tree: Model) -> None:
    """Refuse robots whose forces depend on more parameters than those in the table."""
    if tendons.sprung(tree):
        raise UnsupportedError("springs along tendons have no parameters, so there is no regressor")


def momenta_of_joints(tree: Model, q: Scalars, v: Scalars, parameters: Columns = ALL) -> OfJoints:
    """Return the columns of parameters of joints of :func:`joint_momentum_regressor`."""
    speeds = rates(tree, v)
    of_freedom: dict[str, OfFreedom] = {"rotor_inertia": lambda i, k: speeds[i][k]}
    return of_joints(tree, selected(tree, parameters), of_freedom)


def joint_momentum_regressor(tree: Model, q: Scalars, v: Scalars, *, parameters: Columns = ALL) -> list[list[Scalar]]:
    """Return the matrix that maps the parameters to the momenta of the joints, M v."""
    moving = velocities(tree, q, v)
    subspaces = each(tree, lambda link, x: link.subspace(x), positions(tree, q))
    axes = axes_of_carriers(tree, [m.transform for m in moving], subspaces)
    own = momenta_of_joints(tree, q, v, parameters)
    return felt_by_joints(tree, selected(tree, parameters), axes, lambda i: momenta(moving[i].velocity), own)


def momenta_of_bodies(tree: Model, q: Scalars, v: Scalars, *, length: int) -> list[list[Scalar]]:
    """Return the same except for the columns of parameters of joints, in a form that loops over large trees."""
    moving = velocities(tree, q, v)
    subspaces = each(tree, lambda link, x: link.subspace(x), positions(tree, q))
    forces = each(tree, lambda _, m: tuple(momenta(m.velocity).values()), moving)
    return felt_in_root_frame(tree, each(tree, lambda _, m: m.transform, moving), subspaces, forces, length)


# ------------------------------------------------------------------ of the whole robot: one row, or six


def momentum_regressor(tree: Model, q: Scalars, v: Scalars, *, parameters: Columns = ALL) -> list[list[Scalar]]:
    """Return the matrix that maps the parameters to the momentum about the world's origin, in world axes."""
    posed, moving, columns = poses(tree, q), velocities(tree, q, v), selected(tree, parameters)
    of_body = {i: momenta(moving[i].velocity) for i in sorted({p.body for p in columns if p.symbol in OF_BODIES})}
    found = [
        list(posed[p.body].pose.force_to_parent(of_body[p.body][p.symbol])) if p.symbol in OF_BODIES else [0.0] * 6
        for p in columns
    ]
    return [[column[row] for column in found] for row in range(6)]


def kinetic_energy_regressor(tree: Model, q: Scalars, v: Scalars, *, parameters: Columns = ALL) -> list[Scalar]:
    """Return the row that maps the parameters to the kinetic energy."""
    speeds, moving = rates(tree, v), velocities(tree, q, v)
    return _row(
        tree, parameters, lambda i: kinetic_energies(moving[i].velocity),
        {"rotor_inertia": lambda i, k: 0.5 * speeds[i][k] * speeds[i][k]},
    )  # fmt: skip


def potential_energy_regressor(tree: Model, q: Scalars, gravity: Scalars, parameters: Columns = ALL) -> list[Scalar]:
    """Return the row that maps the parameters to the potential energy: -g.(m o + R h) (Khalil eq. 10.29)."""

    def step(link: Link, parent: tuple[Vec3, Scalar], q: Scalars) -> tuple[Vec3, Scalar]:
        x = link.transform(q)
        down, height = parent
        return x.unrotate(down), height - down.dot(x.translation)

    coordinates = positions(tree, q)
    seen = outward(tree, step, (Vec3.of(gravity), 0.0), coordinates)

    def of_body(i: int) -> dict[str, Scalar]:
        down, height = seen[i]
        return _by_symbol([0.0] * 6 + [-down.x, -down.y, -down.z, height])

    refuse_sprung_tendons(tree)
    return _row(tree, parameters, of_body, {"stiffness": lambda i, k: 0.5 * _stretch(tree, i, coordinates[i])[k] ** 2})


def _stretch(tree: Model, i: int, q: Scalars) -> list[Scalar]:
    link = tree.links[i]
    return link.kind.spring_stretch(link.spring_rest, q)


def power_regressor(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, parameters: Columns = ALL, friction: bool = False
) -> list[Scalar]:
    """Return v.Y, the row that maps the parameters to the power of the joint forces: each body's along its velocity."""
    speeds, accelerations = rates(tree, v), rates(tree, a)
    coordinates = positions(tree, q)
    moving = outward(tree, move, base_at_rest(gravity), coordinates, speeds, accelerations)
    turning: list[MovingBody] = velocities(tree, q, v)
    of_freedom: dict[str, OfFreedom] = {"rotor_inertia": lambda i, k: speeds[i][k] * accelerations[i][k]}
    refuse_sprung_tendons(tree)
    of_freedom["stiffness"] = lambda i, k: dot(springs.pull_per_stiffness(tree.links[i], coordinates[i], k), speeds[i])
    if friction:
        of_freedom["damping"] = lambda i, k: speeds[i][k] * speeds[i][k]
        of_freedom["friction"] = lambda i, k: abs(speeds[i][k])
        of_freedom["offset"] = lambda i, k: speeds[i][k]
        of_freedom["stribeck"] = lambda i, k: abs(speeds[i][k]) * _fading(tree, speeds, i, k)

    def of_body(i: int) -> dict[str, Scalar]:
        forces = required_forces(moving[i])
        return {symbol: turning[i].velocity.dot(force) for symbol, force in forces.items()}

    return _row(tree, parameters, of_body, of_freedom)


def _row(
    tree: Model, parameters: Columns, of_body: Callable[[int], Mapping[str, Scalar]],
    of_freedom: Mapping[str, OfFreedom],
) -> list[Scalar]:  # fmt: skip
    """Return one number per parameter; entries not given are zero."""
    columns = selected(tree, parameters)
    bodies = {i: of_body(i) for i in sorted({p.body for p in columns if p.symbol in OF_BODIES})}
    row: list[Scalar] = []
    for p in columns:
        if p.symbol in OF_BODIES:
            row.append(bodies[p.body][p.symbol])
        else:
            row.append(of_freedom[p.symbol](p.body, p.freedom) if p.symbol in of_freedom else 0.0)
    return row

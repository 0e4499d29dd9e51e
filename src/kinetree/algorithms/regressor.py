"""Joint forces as a linear function of the parameters: tau = Y(q, v, a) p (004 eq. 10.4, 10.12).

The force that a body's motion requires is linear in its ten parameters: a 6 x 10 matrix.  A joint feels it along its
axis, seen from that body, so the axes are taken along from body to body: one motion each instead of ten forces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..model.parameters import OF_BODIES, Parameter, rows
from ..model.tree import Link, Model
from ..spatial import BASIS, ZERO3, Force, Motion, Scalar, Transform, Vec3, where
from .algorithm import ALL
from .newton_euler import Moving, base_at_rest, move
from .passes import Scalars, add, each, outward, positions, rates

Columns = Sequence[str] | str


class FreedomSeen(NamedTuple):
    """A motion that one freedom gives to a body, in the body's coordinates."""

    row: int
    motion: Motion


def selected(tree: Model, names: Columns) -> list[Parameter]:
    """Return the rows of the table of parameters that are asked for, in the order asked."""
    every = rows(tree)
    if isinstance(names, str):
        return list(every)
    by_name = {p.name: p for p in every}
    return [by_name[name] for name in names]


def required_forces(m: Moving) -> dict[str, Force]:
    """Return the forces that a body's motion requires, per unit of each of its ten parameters (004 eq. 10.8)."""
    w, r, o = m.w, m.w_dot, m.o_ddot
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    moments = (  # I w' + w x I w
        Vec3(r.x, xz, -xy), Vec3(r.y - xz, r.x + yz, xx - yy), Vec3(r.z + xy, zz - xx, r.x - yz),
        Vec3(-yz, r.y, xy), Vec3(yy - zz, r.z - xy, r.y + xz), Vec3(yz, -xz, r.z),
    )  # fmt: skip
    forces = [Force(moment, ZERO3) for moment in moments]
    forces += [Force(e.cross(o), m.turning @ e) for e in BASIS]
    return dict(zip(OF_BODIES, [*forces, Force(ZERO3, o)], strict=True))


def axes_of_carriers(
    tree: Model, moving: Sequence[tuple[Transform, Sequence[Motion]]]
) -> list[tuple[FreedomSeen, ...]]:
    """Return, for every body, how each freedom that carries it moves it: its Jacobian, in its own coordinates."""

    def step(
        link: Link, parent: tuple[FreedomSeen, ...], m: tuple[Transform, Sequence[Motion]]
    ) -> tuple[FreedomSeen, ...]:
        transform, subspace = m
        seen = tuple(FreedomSeen(axis.row, transform.motion_to_child(axis.motion)) for axis in parent)
        own = [s * link.ratio if link.follows else s for s in subspace]
        return seen + tuple(FreedomSeen(link.v_slice.start + k, s) for k, s in enumerate(own))

    return outward(tree, step, (), moving)


def torque_regressor(
    tree: Model, q: Scalars, v: Scalars, a: Scalars, gravity: Scalars, parameters: Columns = ALL, friction: bool = False
) -> list[list[Scalar]]:
    """Return Y, a row per degree of freedom and a column per parameter; without ``friction`` its columns are zero."""
    speeds, accelerations = rates(tree, v), rates(tree, a)
    moving = outward(tree, move, base_at_rest(gravity), positions(tree, q), speeds, accelerations)
    axes = axes_of_carriers(tree, each(tree, lambda link, m: (m.transform, m.subspace), moving))
    columns = selected(tree, parameters)
    needed = {p.body for p in columns if p.symbol in OF_BODIES}
    forces = {i: required_forces(moving[i]) for i in needed}
    per_freedom: dict[str, Callable[[int, int], Scalar]] = {"rotor_inertia": lambda i, k: accelerations[i][k]}
    if friction:
        per_freedom |= {
            "damping": lambda i, k: speeds[i][k],
            "friction": lambda i, k: sign(speeds[i][k]),
            "offset": lambda i, k: 1.0,
        }
    matrix: list[list[Scalar]] = [[0.0] * len(columns) for _ in range(tree.nv)]
    for c, p in enumerate(columns):
        if p.symbol in OF_BODIES:
            felt: dict[int, Scalar] = {}
            for axis in axes[p.body]:
                felt[axis.row] = add(felt.get(axis.row), axis.motion.dot(forces[p.body][p.symbol]))
            for row, value in felt.items():
                matrix[row][c] = value
        elif p.symbol in per_freedom:
            link = tree.links[p.body]
            value = per_freedom[p.symbol](p.body, p.freedom)
            matrix[link.v_slice.start + p.freedom][c] = value * link.ratio if link.follows else value
    return matrix


def sign(x: Scalar) -> Scalar:
    """Return 1, -1, or 0 at rest; NaN stays NaN."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x))

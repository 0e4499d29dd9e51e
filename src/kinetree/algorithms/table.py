"""Every algorithm a robot offers, by name: what it takes, what it returns, which recursion it is.

This is the one list that evaluation, compilation, operation counts and code export read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import UnknownNameError
from ..model.tree import Model
from ..spatial import Motion, Scalar, ldl, ldl_inverse
from . import (
    articulated_body,
    centroidal,
    composite_body,
    constrained,
    constraints,
    coriolis,
    derivatives,
    energy,
    factorisation,
    floating_base,
    hybrid,
    inverse_mass_matrix,
    jacobian,
    kinematics,
    mimic,
    newton_euler,
    operational_space,
    tree_factors,
    udu,
    walker_orin,
)
from .passes import each, positions, table

Shape = tuple[int, ...]
Options = Mapping[str, Any]

FORWARD_METHODS = (
    "articulated_body",
    "composite_body",
    "udu",
    "walker_orin_1",
    "walker_orin_2",
    "walker_orin_4",
)

CONFIGURATIONS = ("q", "q0", "q1")
"""Inputs that are configurations."""

_WEIGHTLESS = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Algorithm:
    """One computation.

    Attributes
    ----------
    name : str
        The method of :class:`kinetree.Robot` it belongs to.
    inputs : tuple of str
        Vectors it takes, in order: ``q``, ``q0`` and ``q1`` have nq numbers, all others nv.
    function : callable
        ``function(tree, *vectors, **options)`` over any scalar; with ``loads`` it also
        takes one force (or None) per body after the vectors.
    shape : callable
        ``shape(tree, options)`` of what it returns.
    loads : bool
        Whether external wrenches enter.
    """

    name: str
    inputs: tuple[str, ...]
    function: Callable[..., Any]
    shape: Callable[[Model, Options], Shape]
    loads: bool = False

    def lengths(self, tree: Model) -> tuple[int, ...]:
        """Length of each input."""
        return tuple(tree.nq if name in CONFIGURATIONS else tree.nv for name in self.inputs)


def find(name: str) -> Algorithm:
    """An algorithm by name; an unknown name suggests the nearest."""
    try:
        return ALGORITHMS.get(name) or LOOP_ALGORITHMS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("algorithm", name, ALGORITHMS) from None


# ------------------------------------------------------------------ the algorithms, with options as keywords


def _velocity(tree: Model, q: Any, v: Any, *, frame: str, axes: str) -> Motion:
    motion, pose = kinematics.frame_velocity(tree, q, v, frame)
    return jacobian.express(motion, pose, axes)


def _acceleration(tree: Model, q: Any, v: Any, a: Any, *, frame: str, axes: str, classical: bool) -> Motion:
    velocity, spatial, pose = kinematics.frame_acceleration(tree, q, v, a, frame)
    return jacobian.express(kinematics.classical(velocity, spatial) if classical else spatial, pose, axes)


def _jacobian(tree: Model, q: Any, *, frame: str, axes: str) -> list[list[Scalar]]:
    return jacobian.rows(jacobian.jacobian(tree, q, frame, axes))


def _jacobian_rate(tree: Model, q: Any, v: Any, *, frame: str, axes: str) -> list[list[Scalar]]:
    return jacobian.rows(jacobian.jacobian_rate(tree, q, v, frame, axes))


def _inverse_dynamics(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Scalar]:
    return newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)[0]


def _joint_wrenches(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> Any:
    return newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)[1]


def _bias_force(tree: Model, q: Any, v: Any, loads: Any = None) -> list[Scalar]:
    return newton_euler.inverse_dynamics(tree, q, v, None, tree.gravity, loads)[0]


def _gravity_force(tree: Model, q: Any) -> list[Scalar]:
    return newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)[0]


def _mobility_times(tree: Model, q: Any, tau: Any) -> list[Scalar]:
    """The inverse of the mass matrix times forces: the accelerations they cause at rest, without gravity."""
    return articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, tau, _WEIGHTLESS)


def _joint_subspaces(tree: Model, q: Any) -> list[list[Scalar]]:
    return table(tree, each(tree, lambda link, q: [list(s) for s in link.subspace(q)], positions(tree, q)), 6)


def _floating_base(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Scalar]:
    base, tau = floating_base.inverse_dynamics(tree, q, v, a[6:], tree.gravity, loads)
    return base + tau


def _by_mass_matrix(tree: Model, q: Any, v: Any, tau: Any, gravity: Any, loads: Any = None) -> list[Scalar]:
    """Composite rigid bodies, then branch-sparse factors (002 section 5.1)."""
    bias, _ = newton_euler.inverse_dynamics(tree, q, v, None, gravity, loads)
    rhs = [t - b for t, b in zip(tau, bias, strict=True)]
    factors = factorisation.ltdl(composite_body.mass_matrix(tree, q), tree.dof_parents)
    return factorisation.ltdl_solve(factors, tree.dof_parents, rhs)


_SOLVERS: dict[str, Callable[..., list[Scalar]]] = {
    "articulated_body": articulated_body.forward_dynamics,
    "composite_body": _by_mass_matrix,
    "udu": udu.forward_dynamics,
    **{f"walker_orin_{k}": partial(walker_orin.forward_dynamics, way=k) for k in (1, 2, 4)},
}


def _forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, method: str = "articulated_body"
) -> list[Scalar]:
    solve = _SOLVERS[method]
    if tree.has_followers and method in ("articulated_body", "udu"):
        return mimic.forward_dynamics(solve, tree, q, v, tau, tree.gravity, loads)
    return solve(tree, q, v, tau, tree.gravity, loads)


def _hybrid_dynamics(
    tree: Model, q: Any, v: Any, given: Any, loads: Any = None, *, known: Sequence[bool]
) -> list[list[Scalar]]:
    solve = hybrid.by_partition if tree.has_followers else hybrid.hybrid_dynamics
    return list(solve(tree, q, v, given, known, tree.gravity, loads))


def _inverse_mass_matrix(tree: Model, q: Any) -> list[list[Scalar]]:
    if tree.has_followers:
        return ldl_inverse(ldl(composite_body.mass_matrix(tree, q)))
    return inverse_mass_matrix.inverse_mass_matrix(tree, q)


def _mass_matrix_factors(tree: Model, q: Any, *, form: str) -> list[list[Scalar]]:
    matrix = composite_body.mass_matrix(tree, q)
    if form == "LTL":
        return factorisation.ltl(matrix, tree.dof_parents)
    lower, d = factorisation.ltdl(matrix, tree.dof_parents)
    return [*lower, d]


def _operational_space_inertia(
    tree: Model, q: Any, *, frames: Sequence[str], axes: str, inverse: bool
) -> list[list[Scalar]]:
    compute = operational_space.inverse_inertia if inverse else operational_space.inertia
    return compute(tree, q, frames, axes)


def _inverse_dynamics_derivatives(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Any]:
    return derivatives.inverse_dynamics_derivatives(tree, q, v, a, tree.gravity, loads)


def _slopes(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Any]:
    """Derivatives of inverse dynamics by q and v alone."""
    couplings = (derivatives.BY_POSITION, derivatives.BY_RATE)
    return derivatives.inverse_dynamics_derivatives(tree, q, v, a, tree.gravity, loads, couplings)


def _forward_dynamics_derivatives(tree: Model, q: Any, v: Any, tau: Any, loads: Any = None) -> list[Any]:
    return list(derivatives.forward_dynamics_derivatives(tree, q, v, tau, tree.gravity, loads))


def _closed_inverse_dynamics(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, rows: Sequence[int], dependent: Sequence[int]
) -> list[Scalar]:
    forces, multipliers, quality, left = constrained.inverse_dynamics(
        tree, q, v, a, tree.gravity, loads, rows, dependent
    )
    return [*forces, *multipliers, quality, *left]


def _closed_forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, rows: Sequence[int], stabilisation: tuple[float, float]
) -> list[Scalar]:
    a, multipliers, quality, left = constrained.forward_dynamics(
        tree, q, v, tau, tree.gravity, loads, rows, stabilisation
    )
    return [*a, *multipliers, quality, *left]


def _potential_energy(tree: Model, q: Any) -> Scalar:
    return energy.potential_energy(tree, q, tree.gravity)


# ------------------------------------------------------------------ shapes


def _fixed(*shape: int) -> Callable[[Model, Options], Shape]:
    return lambda tree, options: shape


def _per_v(*before: int) -> Callable[[Model, Options], Shape]:
    return lambda tree, options: (*before, tree.nv)


def _per_constraint(*before: int) -> Callable[[Model, Options], Shape]:
    return lambda tree, options: (*before, tree.n_constraints)


def _closed(tree: Model, options: Options) -> Shape:
    """Forces or accelerations, multipliers, the quality of the choice, three residuals."""
    return (tree.nv + len(options["rows"]) + 4,)


def _square(tree: Model, options: Options) -> Shape:
    return (tree.nv, tree.nv)


def _three_squares(tree: Model, options: Options) -> Shape:
    return (3, tree.nv, tree.nv)


def _factor_shape(tree: Model, options: Options) -> Shape:
    return (tree.nv + (options["form"] == "LTDL"), tree.nv)


def _frames_square(tree: Model, options: Options) -> Shape:
    n = 6 * len(options["frames"])
    return (n, n)


_Q, _QV, _QVA = ("q",), ("q", "v"), ("q", "v", "a")

ALGORITHMS: dict[str, Algorithm] = {
    a.name: a
    for a in (
        Algorithm("integrate", _QV, kinematics.integrate, lambda t, o: (t.nq,)),
        Algorithm("difference", ("q0", "q1"), kinematics.difference, _per_v()),
        Algorithm("configuration_rate", _QV, kinematics.configuration_rate, lambda t, o: (t.nq,)),
        Algorithm("pose", _Q, lambda t, q, *, frame: kinematics.frame_pose(t, q, frame), _fixed(4, 4)),
        Algorithm("velocity", _QV, _velocity, _fixed(6)),
        Algorithm("acceleration", _QVA, _acceleration, _fixed(6)),
        Algorithm("jacobian", _Q, _jacobian, _per_v(6)),
        Algorithm("jacobian_rate", _QV, _jacobian_rate, _per_v(6)),
        Algorithm("center_of_mass", _Q, centroidal.center_of_mass, _fixed(3)),
        Algorithm("center_of_mass_velocity", _QV, centroidal.center_of_mass_velocity, _fixed(3)),
        Algorithm("momentum", _QV, lambda t, q, v, *, about: centroidal.momentum(t, q, v, about), _fixed(6)),
        Algorithm("momentum_rate", _QVA, centroidal.momentum_rate, _fixed(6)),
        Algorithm(
            "centroidal_momentum_matrix", _Q,
            lambda t, q: jacobian.rows(centroidal.centroidal_matrix(t, q)), _per_v(6),
        ),
        Algorithm(
            "centroidal_momentum_matrix_rate", _QV,
            lambda t, q, v: jacobian.rows(centroidal.centroidal_matrix_rate(t, q, v)), _per_v(6),
        ),
        Algorithm("centroidal_momentum_drift", _QV, centroidal.centroidal_drift, _fixed(6)),
        Algorithm("inverse_dynamics", _QVA, _inverse_dynamics, _per_v(), loads=True),
        Algorithm("joint_wrenches", _QVA, _joint_wrenches, lambda t, o: (len(t.bodies), 6), loads=True),
        Algorithm(
            "joint_subspaces", _Q, _joint_subspaces, lambda t, o: (sum(link.kind.nv for link in t.links), 6),
        ),
        Algorithm("floating_base_inverse_dynamics", _QVA, _floating_base, _per_v(), loads=True),
        Algorithm("bias_force", _QV, _bias_force, _per_v(), loads=True),
        Algorithm("gravity_force", _Q, _gravity_force, _per_v()),
        Algorithm("forward_dynamics", ("q", "v", "tau"), _forward_dynamics, _per_v(), loads=True),
        Algorithm("hybrid_dynamics", ("q", "v", "tau"), _hybrid_dynamics, _per_v(2), loads=True),
        Algorithm("mass_matrix", _Q, composite_body.mass_matrix, _square),
        Algorithm("inverse_mass_matrix", _Q, _inverse_mass_matrix, _square),
        Algorithm("mass_matrix_factors", _Q, _mass_matrix_factors, _factor_shape),
        Algorithm("coriolis_matrix", _QV, coriolis.coriolis_matrix, _square),
        Algorithm(
            "inverse_dynamics_derivatives", _QVA, _inverse_dynamics_derivatives, _three_squares, loads=True,
        ),
        Algorithm(
            "forward_dynamics_derivatives", ("q", "v", "tau"), _forward_dynamics_derivatives, _three_squares,
            loads=True,
        ),
        Algorithm("operational_space_inertia", _Q, _operational_space_inertia, _frames_square),
        Algorithm("kinetic_energy", _QV, energy.kinetic_energy, _fixed()),
        Algorithm("potential_energy", _Q, _potential_energy, _fixed()),
        Algorithm("power", ("q", "v", "tau"), energy.power, _fixed(), loads=True),
    )
}  # fmt: skip

LOOP_ALGORITHMS: dict[str, Algorithm] = {
    a.name: a
    for a in (
        Algorithm("loop_gaps", _Q, constraints.gaps, _per_constraint()),
        Algorithm("loop_jacobian", _Q, constraints.constraint_matrix, lambda t, o: (t.n_constraints, t.nv)),
        Algorithm(
            "loop_jacobian_entries", _Q, constraints.constraint_entries, lambda t, o: (len(constraints.pattern(t)),),
        ),
        Algorithm("loop_drift", _QV, constraints.drift, _per_constraint()),
        Algorithm("closed_inverse_dynamics", _QVA, _closed_inverse_dynamics, _closed, loads=True),
        Algorithm(
            "closed_forward_dynamics", ("q", "v", "tau"), _closed_forward_dynamics, _closed, loads=True,
        ),
    )
}  # fmt: skip
"""Those that only a mechanism with loops has."""

PRODUCTS: dict[str, Algorithm] = {
    "inverse_mass_matrix": Algorithm("inverse_mass_matrix times tau", ("q", "tau"), _mobility_times, _per_v()),
}
"""Symmetric matrices that large trees find column by column, each with what multiplies by it."""

SLOPES = Algorithm("inverse_dynamics_derivatives by q and v", _QVA, _slopes, lambda t, o: (2, t.nv, t.nv), loads=True)
"""What large trees make derivatives of forward dynamics of."""

FACTORS = Algorithm("mass_matrix_factors with D on the diagonal of L", _Q, tree_factors.tree_factors, _square)
"""What large trees make the factors of the mass matrix of."""

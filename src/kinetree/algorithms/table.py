"""Every algorithm a robot offers, by name: what it takes, what it returns, and its recursion.

Evaluation, compilation, operation counts and code export all read this one list; everything they need to know about an
algorithm is a field of its row, see :class:`kinetree.algorithms.algorithm.Algorithm`. So a new algorithm consists of
one file with its recursion and one row here. It then runs as reference, as machine code for one state and for batches,
as C, and on symbols. A method of :class:`kinetree.Robot` offers it to users by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from ..errors import UnknownNameError
from ..model.denoc_modules import partition
from ..model.tree import Model
from ..spatial import Motion, Scalar, ldl, ldl_inverse
from . import (
    absolute_coordinates,
    articulated_body,
    centroidal,
    composite_body,
    coriolis,
    derivatives,
    energy,
    factorization,
    floating_base,
    hybrid,
    inverse_mass_matrix,
    jacobian,
    kinematics,
    mimic,
    module_recursion,
    multi_handle,
    newton_euler,
    operational_space,
    regressor,
    springs,
    tendons,
    tree_factors,
    udu,
    walker_orin,
)
from .algorithm import (
    CONFIGURATIONS,
    FORWARD_METHODS,
    FRAME,
    FRAMES,
    FRICTION,
    KNOWN,
    PAIRS,
    PARAMETERS,
    PASSES,
    PASSES_OF_FREE_JOINTS,
    Algorithm,
    LargeTree,
    Option,
    Options,
    Shape,
)
from .loop_table import LOOP_ALGORITHMS
from .passes import each, positions, table
from .singular_joints import BY_ELIMINATION

__all__ = [
    "ALGORITHMS", "CONFIGURATIONS", "FORWARD_METHODS", "INVERSE_METHODS", "LOOP_ALGORITHMS", "MASS_MATRIX_METHODS",
    "WITH_ADDED", "Algorithm", "Option", "find",
]  # fmt: skip

INVERSE_METHODS = ("newton_euler", "modules", "absolute_newton_euler")

WITH_ADDED = ("articulated_body", "composite_body")
"""Methods of forward dynamics that include what is added to the inertia of a :class:`kinetree.model.tree.Body`."""

MASS_MATRIX_METHODS = ("composite_body", "absolute_composite_body")

AXES = Option("axes", "body", jacobian.FRAMES)
ABOUT = Option("about", "com", ("com", "origin"))
FORM = Option("form", "LTDL", ("LTDL", "LTL"))
INVERSE = Option("inverse", False)
HANDLE_METHODS = ("factors", "handles")
HANDLE_METHOD = Option("method", HANDLE_METHODS[0], HANDLE_METHODS)
CLASSICAL = Option("classical", False)
INVERSE_METHOD = Option("method", INVERSE_METHODS[0], INVERSE_METHODS)
MASS_MATRIX_METHOD = Option("method", MASS_MATRIX_METHODS[0], MASS_MATRIX_METHODS)
METHOD = Option("method", FORWARD_METHODS[0], FORWARD_METHODS, counted=FORWARD_METHODS[:2])

_WEIGHTLESS = (0.0, 0.0, 0.0)


ABBREVIATED = {
    "id": "inverse_dynamics", "rnea": "inverse_dynamics", "rne": "inverse_dynamics", "newton_euler": "inverse_dynamics",
    "fd": "forward_dynamics", "aba": "forward_dynamics", "crba": "mass_matrix", "crb": "mass_matrix",
    "inertia": "mass_matrix", "gim": "mass_matrix", "fk": "pose", "fkine": "pose", "gravload": "gravity_force",
    "nle": "bias_force", "ccrba": "centroidal_momentum_matrix",
}  # fmt: skip
"""Short names of algorithms that books and other libraries use."""


def find(name: str) -> Algorithm:
    """Return an algorithm by name; the error for an unknown name suggests the nearest."""
    try:
        return ALGORITHMS.get(name) or LOOP_ALGORITHMS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("algorithm", name, ALGORITHMS, meant=ABBREVIATED.get(str(name).lower())) from None


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


def _inverse_dynamics(
    tree: Model, q: Any, v: Any, a: Any, loads: Any = None, *, method: str = "newton_euler"
) -> list[Scalar]:
    if method == "modules":
        return module_recursion.inverse_dynamics(tree, q, v, a, tree.gravity, loads, parts=partition(tree))
    if method == "absolute_newton_euler":
        return absolute_coordinates.inverse_dynamics(tree, q, v, a, tree.gravity, loads)
    return newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, loads)[0]


def _joint_wrenches(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> Any:
    return newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity, tendons.with_lines(tree, q, loads))[1]


def _bias_force(tree: Model, q: Any, v: Any, loads: Any = None) -> list[Scalar]:
    return newton_euler.inverse_dynamics(tree, q, v, None, tree.gravity, loads)[0]


def _velocity_force(tree: Model, q: Any, v: Any) -> list[Scalar]:
    return newton_euler.inverse_dynamics(tree, q, v, None, _WEIGHTLESS, springs=False)[0]


def _gravity_force(tree: Model, q: Any) -> list[Scalar]:
    return newton_euler.inverse_dynamics(tree, q, [0.0] * tree.nv, None, tree.gravity)[0]


def _mobility_times(tree: Model, q: Any, tau: Any) -> list[Scalar]:
    """Return the inverse of the mass matrix times forces: the accelerations they cause at rest, without gravity."""
    return articulated_body.forward_dynamics(tree, q, [0.0] * tree.nv, tau, _WEIGHTLESS, springs=False)


def _joint_subspaces(tree: Model, q: Any) -> list[list[Scalar]]:
    return table(tree, each(tree, lambda link, q: [list(s) for s in link.subspace(q)], positions(tree, q)), 6)


def _floating_base(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Scalar]:
    base, tau = floating_base.inverse_dynamics(tree, q, v, a[6:], tree.gravity, loads)
    return base + tau


def _by_modules(tree: Model, q: Any, v: Any, tau: Any, gravity: Any, loads: Any = None) -> list[Scalar]:
    return module_recursion.forward_dynamics(tree, q, v, tau, gravity, loads, parts=partition(tree))


def _by_mass_matrix(tree: Model, q: Any, v: Any, tau: Any, gravity: Any, loads: Any = None) -> list[Scalar]:
    """Return accelerations by composite rigid bodies, then branch-sparse factors (Featherstone section 5.1)."""
    bias, _ = newton_euler.inverse_dynamics(tree, q, v, None, gravity, loads, springs=False)
    rhs = [t - b for t, b in zip(tau, bias, strict=True)]
    factors = factorization.ltdl(composite_body.mass_matrix(tree, q), tree.dof_parents)
    return factorization.ltdl_solve(factors, tree.dof_parents, rhs)


_SOLVERS: dict[str, Callable[..., list[Scalar]]] = {
    "articulated_body": partial(articulated_body.forward_dynamics, springs=False),
    "composite_body": _by_mass_matrix,
    "udu": udu.forward_dynamics,
    "modules": _by_modules,
    "absolute_articulated_body": partial(absolute_coordinates.articulated_body, pulling=False),
    "absolute_composite_body": absolute_coordinates.by_mass_matrix,
    **{f"walker_orin_{k}": partial(walker_orin.forward_dynamics, way=k) for k in (1, 2, 4)},
}

_WITH_SPRINGS: dict[str, Callable[..., list[Scalar]]] = {
    "articulated_body": articulated_body.forward_dynamics,
    "absolute_articulated_body": absolute_coordinates.articulated_body,
}
"""Methods that hold springs body by body, as loops over bodies require."""


def _forward_dynamics(
    tree: Model, q: Any, v: Any, tau: Any, loads: Any = None, *, method: str = "articulated_body"
) -> list[Scalar]:
    holds_springs = _WITH_SPRINGS.get(method)
    if holds_springs is not None and not tree.has_followers:
        return holds_springs(tree, q, v, tau, tree.gravity, loads)
    solve, tau = _SOLVERS[method], springs.left_for_bodies(tree, q, tau)
    if tree.has_followers and method in BY_ELIMINATION:
        by_clusters = method == FORWARD_METHODS[0]
        return mimic.forward_dynamics(solve, tree, q, v, tau, tree.gravity, loads, by_clusters)
    return solve(tree, q, v, tau, tree.gravity, loads)


def _hybrid_dynamics(
    tree: Model, q: Any, v: Any, given: Any, loads: Any = None, *, known: Sequence[bool]
) -> list[list[Scalar]]:
    solve = hybrid.by_partition if tree.has_followers else hybrid.hybrid_dynamics
    return list(solve(tree, q, v, given, known, tree.gravity, loads))


def _mass_matrix(tree: Model, q: Any, *, method: str = "composite_body") -> list[list[Scalar]]:
    compute = absolute_coordinates if method == "absolute_composite_body" else composite_body
    return compute.mass_matrix(tree, q)


def _inverse_mass_matrix(tree: Model, q: Any) -> list[list[Scalar]]:
    if tree.has_followers:
        return ldl_inverse(ldl(composite_body.mass_matrix(tree, q)))
    return inverse_mass_matrix.inverse_mass_matrix(tree, q)


def _mass_matrix_factors(tree: Model, q: Any, *, form: str) -> list[list[Scalar]]:
    matrix = composite_body.mass_matrix(tree, q)
    if form == "LTL":
        return factorization.ltl(matrix, tree.dof_parents)
    lower, d = factorization.ltdl(matrix, tree.dof_parents)
    return [*lower, d]


def _operational_space_inertia(
    tree: Model, q: Any, *, frames: Sequence[str], axes: str, inverse: bool, method: str = "factors"
) -> list[list[Scalar]]:
    compute = multi_handle if method == "handles" and not tree.has_followers else operational_space
    found = compute.inverse_inertia(tree, q, frames, axes)
    return found if inverse else ldl_inverse(ldl(found))


def _inverse_dynamics_derivatives(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Any]:
    return derivatives.inverse_dynamics_derivatives(tree, q, v, a, tree.gravity, loads)


def _slopes(tree: Model, q: Any, v: Any, a: Any, loads: Any = None) -> list[Any]:
    """Return the derivatives of inverse dynamics with respect to q and v only."""
    couplings = (derivatives.BY_POSITION, derivatives.BY_RATE)
    return derivatives.inverse_dynamics_derivatives(tree, q, v, a, tree.gravity, loads, couplings)


def _forward_dynamics_derivatives(tree: Model, q: Any, v: Any, tau: Any, loads: Any = None) -> list[Any]:
    return list(derivatives.forward_dynamics_derivatives(tree, q, v, tau, tree.gravity, loads))


def _regressor(
    tree: Model, q: Any, v: Any, a: Any, *, parameters: Sequence[str] | str, friction: bool
) -> list[list[Scalar]]:
    return regressor.torque_regressor(tree, q, v, a, tree.gravity, parameters, friction)


def _potential_energy_regressor(tree: Model, q: Any, *, parameters: Sequence[str] | str) -> list[Scalar]:
    return regressor.potential_energy_regressor(tree, q, tree.gravity, parameters)


def _power_regressor(
    tree: Model, q: Any, v: Any, a: Any, *, parameters: Sequence[str] | str, friction: bool
) -> list[Scalar]:
    return regressor.power_regressor(tree, q, v, a, tree.gravity, parameters, friction)


def _potential_energy(tree: Model, q: Any) -> Scalar:
    return energy.potential_energy(tree, q, tree.gravity)


# ------------------------------------------------------------------ shapes


def _fixed(*shape: int) -> Callable[[Model, Options], Shape]:
    return lambda tree, options: shape


def _per_v(*before: int) -> Callable[[Model, Options], Shape]:
    return lambda tree, options: (*before, tree.nv)


def _square(tree: Model, options: Options) -> Shape:
    return (tree.nv, tree.nv)


def _three_squares(tree: Model, options: Options) -> Shape:
    return (3, tree.nv, tree.nv)


def _per_parameter(*before: int) -> Callable[[Model, Options], Shape]:
    return lambda tree, options: (*before, len(regressor.selected(tree, options["parameters"])))


def _per_v_and_parameter(tree: Model, options: Options) -> Shape:
    return (tree.nv, len(regressor.selected(tree, options["parameters"])))


def _per_length(tree: Model, options: Options) -> Shape:
    return (tree.nv, options["length"])


def _factor_shape(tree: Model, options: Options) -> Shape:
    return (tree.nv + (options["form"] == "LTDL"), tree.nv)


def _frames_square(tree: Model, options: Options) -> Shape:
    n = 6 * len(options["frames"])
    return (n, n)


# ------------------------------------------------------------------ which joints are held


def _all_but_the_base(tree: Model, options: Options) -> Collection[int]:
    return range(1, len(tree.joints))


def _moved_as_given(tree: Model, options: Options) -> Collection[int]:
    return [i for i, motion in enumerate(options["known"]) if motion]


# ------------------------------------------------------------------ large trees

_BY_COLUMNS = LargeTree(
    "columns",
    Algorithm(
        "inverse_mass_matrix times tau", ("q", "tau"), _mobility_times, _per_v(), needs_inertia=True, large=PASSES
    ),
)
_BY_SOLVING = LargeTree(
    "solving",
    Algorithm(
        "inverse_dynamics_derivatives by q and v", ("q", "v", "a"), _slopes, lambda t, o: (2, t.nv, t.nv), loads=True,
        large=PAIRS,
    ),
)  # fmt: skip
_BY_FACTORS = LargeTree(
    "factors",
    Algorithm("mass_matrix_factors in one matrix", ("q",), tree_factors.tree_factors, _square, large=PAIRS),
    followers=False,
)
ROWS_OF_FACTORS = Algorithm(
    "mass_matrix_factors by rows", ("q",), tree_factors.rows_of_factors, lambda t, o: (t.nv, 13), needs_inertia=True,
    large=PASSES,
)  # fmt: skip
_TORQUES_OF_BODIES = LargeTree(
    "bodies",
    Algorithm("regressor of bodies", ("q", "v", "a"), regressor.torques_of_bodies, _per_length, large=PAIRS),
    beside=regressor.torques_of_joints,
)
_MOMENTA_OF_BODIES = LargeTree(
    "bodies",
    Algorithm("joint_momentum_regressor of bodies", ("q", "v"), regressor.momenta_of_bodies, _per_length, large=PAIRS),
    beside=regressor.momenta_of_joints,
)


# ------------------------------------------------------------------ the table

_Q, _QV, _QVA, _QVT = ("q",), ("q", "v"), ("q", "v", "a"), ("q", "v", "tau")

ALGORITHMS: dict[str, Algorithm] = {
    a.name: a
    for a in (
        Algorithm(
            "integrate", _QV, kinematics.integrate, lambda t, o: (t.nq,),
            "Configuration reached from q in unit time with constant velocity v.",
            of_places=True, direct=True, large=PASSES_OF_FREE_JOINTS,
        ),
        Algorithm(
            "difference", ("q0", "q1"), kinematics.difference, _per_v(),
            "The constant velocity that leads from q0 to q1 in unit time.",
            large=PASSES_OF_FREE_JOINTS,
        ),
        Algorithm(
            "configuration_rate", _QV, kinematics.configuration_rate, lambda t, o: (t.nq,),
            "Time derivative of q when moving with v (equal to v but for quaternion joints).",
            direct=True, large=PASSES_OF_FREE_JOINTS,
        ),
        Algorithm(
            "pose", _Q, lambda t, q, *, frame: kinematics.frame_pose(t, q, frame), _fixed(4, 4),
            "Pose of a body or frame in the world.",
            (FRAME,), of_places=True, direct=True, large=PASSES,
        ),
        Algorithm(
            "velocity", _QV, _velocity, _fixed(6),
            "Velocity of a frame, angular part first.",
            (FRAME, AXES), direct=True, large=PASSES,
        ),
        Algorithm(
            "acceleration", _QVA, _acceleration, _fixed(6),
            "Acceleration of a frame, angular part first, without gravity.",
            (FRAME, AXES, CLASSICAL), direct=True, large=PASSES,
        ),
        Algorithm(
            "jacobian", _Q, _jacobian, _per_v(6),
            "The matrix that maps v to the velocity of a frame, angular rows first.",
            (FRAME, AXES), of_places=True, direct=True, large=PASSES,
        ),
        Algorithm(
            "jacobian_rate", _QV, _jacobian_rate, _per_v(6),
            "Time derivative of jacobian along v.",
            (FRAME, AXES), direct=True, large=PASSES,
        ),
        Algorithm(
            "center_of_mass", _Q, centroidal.center_of_mass, _fixed(3),
            "World coordinates of the center of mass of all moving bodies.",
            of_places=True, direct=True, large=PASSES,
        ),
        Algorithm(
            "center_of_mass_velocity", _QV, centroidal.center_of_mass_velocity, _fixed(3),
            "Velocity of the center of mass in world axes.",
            large=PASSES,
        ),
        Algorithm(
            "momentum", _QV, lambda t, q, v, *, about: centroidal.momentum(t, q, v, about), _fixed(6),
            "Angular and linear momentum in world axes, about the center of mass or the world's origin.",
            (ABOUT,), direct=True, large=PASSES,
        ),
        Algorithm(
            "momentum_rate", _QVA, centroidal.momentum_rate, _fixed(6),
            "Rate of the momentum about the center of mass: the external wrench, gravity included.",
            large=PASSES,
        ),
        Algorithm(
            "centroidal_momentum_matrix", _Q,
            lambda t, q: jacobian.rows(centroidal.centroidal_matrix(t, q)), _per_v(6),
            "The matrix A with momentum = A v, about the center of mass.",
            direct=True, large=PASSES,
        ),
        Algorithm(
            "centroidal_momentum_matrix_rate", _QV,
            lambda t, q, v: jacobian.rows(centroidal.centroidal_matrix_rate(t, q, v)), _per_v(6),
            "Time derivative of centroidal_momentum_matrix along v.",
            large=PASSES,
        ),
        Algorithm(
            "centroidal_momentum_drift", _QV, centroidal.centroidal_drift, _fixed(6),
            "Rate of the momentum about the center of mass when all accelerations are zero: A' v.",
            large=PASSES,
        ),
        Algorithm(
            "inverse_dynamics", _QVA, _inverse_dynamics, _per_v(),
            "Joint forces that produce the accelerations a.",
            (INVERSE_METHOD,), loads=True, results=("tau",), closed_by="closed_inverse_dynamics",
            hinged=True, regroups=True, direct=True, ahead=True,
            large=LargeTree("passes", only={"method": ("newton_euler", "absolute_newton_euler")}),
        ),
        Algorithm(
            "joint_wrenches", _QVA, _joint_wrenches, lambda t, o: (len(t.bodies), 6),
            "The wrench that each joint transmits to its body: moment and force in body axes at the body's origin.",
            loads=True, tree_only=True, closed_by="closed_joint_wrenches", large=PASSES,
        ),
        Algorithm(
            "joint_subspaces", _Q, _joint_subspaces, lambda t, o: (sum(link.kind.nv for link in t.links), 6),
            "The directions of motion that each joint allows, a row each, in body axes.",
            is_method=False, large=PASSES,
        ),
        Algorithm(
            "floating_base_inverse_dynamics", _QVA, _floating_base, _per_v(),
            "Base acceleration and joint forces when only the joints' accelerations are given.",
            loads=True, needs_floating_base=True, needs_inertia=True, held=_all_but_the_base, tree_only=True,
            hinged=True, regroups=True,
        ),
        Algorithm(
            "bias_force", _QV, _bias_force, _per_v(),
            "Joint forces at zero acceleration: velocity terms, gravity, springs and external wrenches.",
            loads=True, results=("tau",), hinged=True, regroups=True, direct=True, ahead=True, large=PASSES,
        ),
        Algorithm(
            "velocity_force", _QV, _velocity_force, _per_v(),
            "Joint forces at zero acceleration that velocities alone need: without gravity and springs.",
            results=("tau",), is_method=False, regroups=True, large=PASSES,
        ),
        Algorithm(
            "gravity_force", _Q, _gravity_force, _per_v(),
            "Joint forces that hold a tree still against gravity and springs: the gradient of potential energy.",
            results=("tau",), of_places=True, direct=True, ahead=True, regroups=True, large=PASSES,
        ),
        Algorithm(
            "forward_dynamics", _QVT, _forward_dynamics, _per_v(),
            "Accelerations that joint forces tau cause.",
            (METHOD,), loads=True, results=("a",), needs_inertia=True, closed_by="closed_forward_dynamics",
            hinged=True, regroups=True, direct=True, ahead=True,
            large=LargeTree("passes", only={"method": ("articulated_body", "absolute_articulated_body")}),
        ),
        Algorithm(
            "hybrid_dynamics", _QVT, _hybrid_dynamics, _per_v(2),
            "All accelerations and forces, where some joints are given accelerations, the others forces.",
            (KNOWN,), loads=True, needs_inertia=True, held=_moved_as_given, tree_only=True, regroups=True,
            large=PASSES_OF_FREE_JOINTS,
            closed_by="independent_hybrid_dynamics",
        ),
        Algorithm(
            "mass_matrix", _Q, _mass_matrix, _square,
            "The joint-space inertia matrix, rotor inertias included.",
            (MASS_MATRIX_METHOD,), hinged=True, direct=True, ahead=True, large=PAIRS,
        ),
        Algorithm(
            "inverse_mass_matrix", _Q, _inverse_mass_matrix, _square,
            "The inverse of mass_matrix, found in O(n^2) without inverting it.",
            needs_inertia=True, tree_only=True, direct=True, large=_BY_COLUMNS,
        ),
        Algorithm(
            "mass_matrix_factors", _Q, _mass_matrix_factors, _factor_shape,
            "Factors of the mass matrix that keep the zeros between branches.",
            (FORM,), needs_inertia=True, large=_BY_FACTORS,
        ),
        Algorithm(
            "coriolis_matrix", _QV, coriolis.coriolis_matrix, _square,
            "The matrix C with C v the velocity forces and M' - 2 C skew-symmetric.",
            direct=True, regroups=True, large=PAIRS,
        ),
        Algorithm(
            "inverse_dynamics_derivatives", _QVA, _inverse_dynamics_derivatives, _three_squares,
            "Derivatives of a motion's joint forces with respect to q, v and a.",
            loads=True, results=("dtau_dq", "dtau_dv", "dtau_da"), tree_only=True, direct=True,
            regroups=True, large=PAIRS,
        ),
        Algorithm(
            "forward_dynamics_derivatives", _QVT, _forward_dynamics_derivatives, _three_squares,
            "Derivatives of the accelerations that joint forces cause, with respect to q, v and tau.",
            loads=True, results=("da_dq", "da_dv", "da_dtau"), needs_inertia=True, tree_only=True, direct=True,
            regroups=True, large=_BY_SOLVING,
        ),
        Algorithm(
            "regressor", _QVA, _regressor, _per_v_and_parameter,
            "The matrix Y that maps the parameters to the joint forces of a motion.",
            (PARAMETERS, FRICTION), tree_only=True, direct=True, large=_TORQUES_OF_BODIES,
        ),
        Algorithm(
            "joint_momentum_regressor", _QV, regressor.joint_momentum_regressor, _per_v_and_parameter,
            "The matrix that maps the parameters to the momenta of the joints, M v.",
            (PARAMETERS,), direct=True, large=_MOMENTA_OF_BODIES,
        ),
        Algorithm(
            "momentum_regressor", _QV, regressor.momentum_regressor, _per_parameter(6),
            "The matrix that maps the parameters to the momentum about the world's origin, in world axes.",
            (PARAMETERS,), direct=True,
        ),
        Algorithm(
            "kinetic_energy_regressor", _QV, regressor.kinetic_energy_regressor, _per_parameter(),
            "The row that maps the parameters to the kinetic energy.",
            (PARAMETERS,), direct=True,
        ),
        Algorithm(
            "potential_energy_regressor", _Q, _potential_energy_regressor, _per_parameter(),
            "The row that maps the parameters to the potential energy.",
            (PARAMETERS,), direct=True,
        ),
        Algorithm(
            "power_regressor", _QVA, _power_regressor, _per_parameter(),
            "The row that maps the parameters to the power of the joint forces of a motion.",
            (PARAMETERS, FRICTION), direct=True,
        ),
        Algorithm(
            "operational_space_inertia", _Q, _operational_space_inertia, _frames_square,
            "Operational-space inertia at one frame or several frames together.",
            (FRAMES, AXES, INVERSE, HANDLE_METHOD), needs_inertia=True, tree_only=True,
            large=LargeTree("frames", only={"method": ("factors",)}),
        ),
        Algorithm(
            "kinetic_energy", _QV, energy.kinetic_energy, _fixed(),
            "Kinetic energy in joules, rotors included.",
            direct=True, large=PASSES,
        ),
        Algorithm(
            "potential_energy", _Q, _potential_energy, _fixed(),
            "Potential energy in joules: of gravity, zero at the world's origin, and of springs.",
            direct=True, large=PASSES,
        ),
        Algorithm(
            "power", _QVT, energy.power, _fixed(),
            "Power of joint forces and external wrenches: the rate of kinetic plus potential energy.",
            loads=True,
        ),
    )
}  # fmt: skip

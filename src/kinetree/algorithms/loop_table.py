"""The algorithms that only mechanisms with closed loops have: rows of :mod:`.table`, by name."""

from __future__ import annotations

from ..model.tree import Model
from . import closed_algorithms, independent_motion, loop_constraints
from .algorithm import DEPENDENT, FRICTION, KNOWN_FREEDOMS, PIVOTS, ROWS, STABILIZATION, Algorithm, Options, Shape

_Q, _QV, _QVA, _QVT = ("q",), ("q", "v"), ("q", "v", "a"), ("q", "v", "tau")


def _per_v(tree: Model, options: Options) -> Shape:
    return (tree.nv,)


def _per_constraint(tree: Model, options: Options) -> Shape:
    return (tree.n_constraints,)


def _closed(tree: Model, options: Options) -> Shape:
    """Return the shape of forces or accelerations, multipliers, the quality of the choice, and three residuals."""
    return (tree.nv + len(options["rows"]) + 4,)


def _by_clusters(tree: Model, options: Options) -> Shape:
    return (tree.nv + 4,)


def _freedoms(tree: Model, options: Options) -> int:
    return tree.nv - len(options["pivots"])


def _per_freedom(tree: Model, options: Options) -> Shape:
    return (_freedoms(tree, options),)


LOOP_ALGORITHMS: dict[str, Algorithm] = {
    a.name: a
    for a in (
        Algorithm(
            "loop_gaps", _Q, loop_constraints.gaps, _per_constraint,
            "How far each loop constraint is from being met.",
            parts=("gaps",), of_places=True, direct=True,
        ),
        Algorithm(
            "loop_jacobian", _Q, loop_constraints.constraint_matrix, lambda t, o: (t.n_constraints, t.nv),
            "K, with which velocities obey K v = 0: a row per constraint, a column per entry of v.",
            parts=("rows",), of_places=True,
        ),
        Algorithm(
            "loop_jacobian_entries", _Q, loop_constraints.constraint_entries,
            lambda t, o: (len(loop_constraints.pattern(t)),),
            "The entries of K, with which velocities obey K v = 0, that are not always zero.",
            parts=("entries",), of_places=True, is_method=False, direct=True,
        ),
        Algorithm(
            "loop_drift", _QV, loop_constraints.drift, _per_constraint,
            "dK/dt v, with which accelerations obey K a + drift = 0.",
            parts=("drift",), direct=True,
        ),
        Algorithm(
            "closed_inverse_dynamics", _QVA, closed_algorithms.inverse_dynamics, _closed,
            "Forces of the motors for a motion, with the loops closed.",
            (ROWS, DEPENDENT), loads=True, parts=("tau", "lambda", "quality", "residuals"), is_method=False,
            direct=True, regroups=True,
        ),
        Algorithm(
            "closed_forward_dynamics", _QVT, closed_algorithms.forward_dynamics, _closed,
            "Accelerations under joint forces, with the loops closed.",
            (ROWS, STABILIZATION), loads=True, parts=("a", "lambda", "quality", "residuals"), is_method=False,
            direct=True, regroups=True,
        ),
        Algorithm(
            "reduced_forward_dynamics", _QVT, closed_algorithms.forward_dynamics_by_independent, _closed,
            "Accelerations under joint forces, with the loops closed, by the inertia of the independent freedoms.",
            (ROWS, PIVOTS), loads=True, parts=("a", "lambda", "quality", "residuals"), is_method=False,
            regroups=True,
        ),
        Algorithm(
            "handled_forward_dynamics", _QVT, closed_algorithms.forward_dynamics_by_handles, _closed,
            "Accelerations under joint forces, with loop joints as handles of an articulated body.",
            (ROWS, STABILIZATION), loads=True, parts=("a", "lambda", "quality", "residuals"), is_method=False,
            direct=True, regroups=True,
        ),
        Algorithm(
            "clustered_forward_dynamics", _QVT, closed_algorithms.forward_dynamics_by_clusters, _by_clusters,
            "Accelerations under joint forces, with the loops closed cluster by cluster.",
            (PIVOTS,), loads=True, parts=("a", "quality", "residuals"), is_method=False, direct=True, regroups=True,
        ),
        Algorithm(
            "clustered_inverse_dynamics", _QVA, closed_algorithms.inverse_dynamics_by_clusters, _by_clusters,
            "Forces of the motors for a motion, with the loops closed cluster by cluster.",
            (PIVOTS, FRICTION), loads=True, parts=("tau", "quality", "residuals"), is_method=False, direct=True,
            regroups=True,
        ),
        Algorithm(
            "loop_residuals", _QVA, closed_algorithms.residuals, lambda t, o: (3,),
            "Squares of what positions, velocities and accelerations leave of the constraints.",
            is_method=False, direct=True,
        ),
        Algorithm(
            "closed_velocities", _QV, closed_algorithms.velocities, _by_clusters,
            "All velocities from the independent ones.",
            (PIVOTS,), is_method=False, direct=True,
        ),
        Algorithm(
            "closed_accelerations", _QVA, closed_algorithms.accelerations, _by_clusters,
            "All accelerations from the independent ones.",
            (PIVOTS,), is_method=False, direct=True,
        ),
        Algorithm(
            "closed_basis", _Q, closed_algorithms.basis_entries,
            lambda t, o: (len(independent_motion.pattern(t, o["pivots"])) + 4,),
            "The entries of G, with v = G v_independent, that are neither zeros nor ones.",
            (PIVOTS,), is_method=False, direct=True,
        ),
        Algorithm(
            "closed_mass_matrix", _Q, closed_algorithms.checked_mass_matrix, lambda t, o: (_freedoms(t, o) ** 2 + 4,),
            "The mass matrix of the independent freedoms, G^T M G.",
            (PIVOTS,), is_method=False, direct=True,
        ),
        Algorithm(
            "closed_momentum", _QV, closed_algorithms.momentum, lambda t, o: (_freedoms(t, o) + 4,),
            "The momenta of the independent freedoms, G^T M v.",
            (PIVOTS,), is_method=False, direct=True,
        ),
        Algorithm(
            "closed_loop_forces", (*_QVA, "tau"), closed_algorithms.loop_forces,
            lambda t, o: (t.n_constraints + 12 * len(t.loops) + 6 * len(t.bodies) + 4,),
            "Multipliers, forces of loop joints, and what all other joints transmit, under joint forces tau.",
            (PIVOTS,), loads=True, is_method=False, direct=True,
        ),
        Algorithm(
            "independent_inverse_dynamics", _QVA, closed_algorithms.independent_inverse_dynamics, _per_v,
            "Forces on the independent freedoms for a motion, with the loops closed.",
            (PIVOTS,), loads=True, results=("tau",), is_method=False, regroups=True,
        ),
        Algorithm(
            "independent_forward_dynamics", _QVT, closed_algorithms.independent_forward_dynamics, _per_v,
            "Accelerations under joint forces, with the loops closed, by those of the independent freedoms.",
            (PIVOTS,), loads=True, results=("a",), needs_inertia=True, is_method=False, regroups=True,
        ),
        Algorithm(
            "independent_hybrid_dynamics", _QVT, closed_algorithms.independent_hybrid_dynamics, lambda t, o: (2, t.nv),
            "Accelerations and forces, with the loops closed, where some freedoms are given accelerations.",
            (PIVOTS, KNOWN_FREEDOMS), loads=True, is_method=False, regroups=True,
        ),
        Algorithm(
            "closed_joint_wrenches", _QVA, closed_algorithms.joint_wrenches, lambda t, o: (len(t.bodies), 6),
            "What each joint transmits to its body, with the loops closed.",
            (PIVOTS,), loads=True, is_method=False,
        ),
        Algorithm(
            "multipliers", _QVT, closed_algorithms.multipliers, _per_constraint,
            "What each constraint carries under joint forces: the smallest where some are redundant.",
            (PIVOTS,), loads=True, parts=("lambda",), is_method=False, regroups=True,
        ),
        Algorithm(
            "basis", _Q, closed_algorithms.basis, lambda t, o: (t.nv, _freedoms(t, o)),
            "G, with which velocities follow from the independent ones, v = G v_independent.",
            (PIVOTS,), is_method=False,
        ),
        Algorithm(
            "reduced_mass_matrix", _Q, closed_algorithms.reduced_mass_matrix, lambda t, o: (_freedoms(t, o),) * 2,
            "The mass matrix in independent coordinates, G^T M G.",
            (PIVOTS,), is_method=False,
        ),
        Algorithm(
            "reduced_inverse_dynamics", _QVA, closed_algorithms.reduced_inverse_dynamics, _per_freedom,
            "Forces on the independent coordinates for a motion, G^T (M a + h), whichever joints have motors.",
            (PIVOTS,), loads=True, results=("force",), is_method=False, regroups=True,
        ),
        Algorithm(
            "reduced_bias_force", _QV, closed_algorithms.reduced_bias_force, _per_freedom,
            "Forces on the independent coordinates when these do not accelerate.",
            (PIVOTS,), loads=True, results=("force",), is_method=False, regroups=True,
        ),
        Algorithm(
            "closed_hybrid_dynamics", _QVT, closed_algorithms.hybrid_dynamics, lambda tree, options: (2 * tree.nv + 4,),
            "Accelerations and forces, with the loops closed, where some freedoms are given accelerations.",
            (PIVOTS, KNOWN_FREEDOMS), loads=True, is_method=False, direct=True, regroups=True,
        ),
        Algorithm(
            "closed_inverse_dynamics_derivatives", _QVA, closed_algorithms.inverse_dynamics_derivatives,
            lambda t, o: (3 * _freedoms(t, o) ** 2 + 4,),
            "How the forces on independent freedoms change with these, their rates and accelerations.",
            (PIVOTS, FRICTION), loads=True, is_method=False, direct=True, regroups=True,
        ),
        Algorithm(
            "closed_forward_dynamics_derivatives", _QVT, closed_algorithms.forward_dynamics_derivatives,
            lambda t, o: (4 * _freedoms(t, o) * t.nv + 4,),
            "How accelerations change with independent freedoms, their rates and all joint forces.",
            (PIVOTS, FRICTION), loads=True, needs_inertia=True, is_method=False, direct=True, regroups=True,
        ),
        Algorithm(
            "closed_force_slopes", (*_QVA, "tau"), closed_algorithms.force_slopes,
            lambda t, o: (3 * _freedoms(t, o) * (_freedoms(t, o) + t.nv) + 4,),
            "How the equations of motion change with independent freedoms, their rates and accelerations.",
            (PIVOTS, FRICTION), loads=True, is_method=False, regroups=True,
        ),
        Algorithm(
            "basis_slopes", _Q, closed_algorithms.basis_slopes, lambda t, o: (_freedoms(t, o), t.nv, _freedoms(t, o)),
            "How G of v = G v_independent changes with each independent coordinate.",
            (PIVOTS,), is_method=False,
        ),
    )
}  # fmt: skip

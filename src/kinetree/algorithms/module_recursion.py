"""Inverse and forward dynamics module by module: recursions between modules, and within each (Shah tables 6.1, 6.2).

A module is a serial chain of links.  Between modules only the motion of the last link of the carrying module goes
outward, and one wrench and one articulated inertia come back; within a module its links are visited one by one, and its
freedoms are eliminated together: the pivot I_i of a module is a matrix, which is factored as U D U^T with scalar
pivots. The book's stacked vectors and matrices (w_i, N_i, Psi_i with bars) are lists here, with one entry per link, in
the links' own coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model.denoc_modules import Modules
from ..model.tree import BASE, Model
from ..spatial import ZERO_MOTION, ArticulatedInertia, Force, Motion, Scalar, combine, combine_forces
from . import springs
from .newton_euler import Moving, Wrenches, base_at_rest, inertia_force, move
from .passes import Scalars, add, collect, nothing, positions, present, rates

Chain = tuple[int, ...]


class InverseStep(NamedTuple):
    """Results of the recursions of inverse dynamics for one module."""

    own: list[Force]
    """w*, the wrench that the motion of each link alone requires (Shah eq. 6.3)."""
    total: list[Force]
    """w~, the wrench of each link with everything it carries (eq. 6.5)."""
    tau: list[Scalar]
    """Joint forces of the module, N^T w~ (eq. 6.6)."""


class ForwardStep(NamedTuple):
    """Results of the backward recursion of forward dynamics for one module (Shah eq. 6.10, 6.11)."""

    pivot: list[list[Scalar]]
    """I^_i = N^T M^ N, one row per freedom of the module."""
    u: list[list[Scalar]]
    d: list[Scalar]
    """Its factors, I^_i = U D U^T."""
    felt: list[Force]
    """A^T Psi^, the wrench on the carrying link per unit of each freedom's acceleration."""
    eta_tilde: Force | None
    """The wrench that the modules carried by this one pass to its last link; None if it carries none."""
    phi_hat: list[Scalar]
    phi_tilde: list[Scalar]
    """Forces that remain for the module's own freedoms, and I^_i^-1 times them."""


def move_modules(
    tree: Model, parts: Modules, q: Scalars, v: Scalars, a: Scalars | None, gravity: Scalars
) -> list[Moving]:
    """Return the motion of every link: outward from module to module, and along each (Shah eq. 6.2)."""
    own_q, own_v = positions(tree, q), rates(tree, v)
    own_a = nothing(tree) if a is None else rates(tree, a)
    moving: dict[int, Moving] = {BASE: base_at_rest(gravity)}
    for chain in parts.bodies:
        for k in chain:
            moving[k] = move(tree.links[k], moving[tree.parents[k]], own_q[k], own_v[k], own_a[k])
    return [moving[k] for k in range(len(tree.links))]


def inverse_steps(
    tree: Model, parts: Modules, moving: Sequence[Moving], a: Scalars | None, wrenches: Wrenches | None = None
) -> list[InverseStep]:
    """Return the wrenches and joint forces of every module, from the tips to the base (Shah eq. 6.5, 6.6)."""
    loads, steps = wrenches or nothing(tree), {}
    accelerations = nothing(tree) if a is None else rates(tree, a)
    handed: dict[int, Force] = {}
    for i in reversed(range(len(parts))):
        chain = parts.bodies[i]
        own = [inertia_force(tree.links[k], moving[k], loads[k]) for k in chain]
        total, tau = list(own), []
        total[-1] = add(handed.get(chain[-1]), own[-1])  # w~_i = w*_i + sum of A_ji^T w~_j, at the last link
        for place, k in reversed(list(enumerate(chain))):
            forces = [s.dot(total[place]) for s in moving[k].subspace]
            tau.append(_with_rotors(forces, tree.links[k].armature, accelerations[k]))
            down = moving[k].transform.force_to_parent(total[place])
            if place:
                total[place - 1] = total[place - 1] + down
            else:
                handed[tree.parents[k]] = add(handed.get(tree.parents[k]), down)
        steps[i] = InverseStep(own, total, [x for forces in reversed(tau) for x in forces])
    return [steps[i] for i in range(len(parts))]


def inverse_dynamics(
    tree: Model, q: Scalars, v: Scalars, a: Scalars | None, gravity: Scalars, wrenches: Wrenches | None = None, *,
    parts: Modules,
) -> list[Scalar]:  # fmt: skip
    """Return the joint forces for a motion (Shah table 6.1), including those that hold springs."""
    moving = move_modules(tree, parts, q, v, a, gravity)
    tau = laid_out(tree, parts, [step.tau for step in inverse_steps(tree, parts, moving, a, wrenches)])
    return list(springs.held_too(tree, q, tau))


def forward_steps(tree: Model, parts: Modules, moving: Sequence[Moving], phi: Scalars) -> list[ForwardStep]:
    """Eliminate the modules' freedoms, from the tips to the base (Shah eq. 6.10, 6.11, with phi^ in eta)."""
    forces, steps = rates(tree, phi), {}
    inertias: dict[int, ArticulatedInertia] = {}
    eta: dict[int, Force] = {}
    for i in reversed(range(len(parts))):
        chain = parts.bodies[i]
        last, carrier = chain[-1], tree.parents[chain[0]]
        whole, pivot, felt = _composite(tree, chain, moving, inertias.get(last))
        eta_tilde = eta.get(last)
        phi_hat = [x for k in chain for x in forces[k]]
        if eta_tilde is not None:
            phi_hat = [x - s.dot(eta_tilde) for x, s in zip(phi_hat, columns_of_last(chain, moving), strict=True)]
        u, d = udu(pivot)
        phi_tilde = udu_solve(u, d, phi_hat)
        steps[i] = ForwardStep(pivot, u, d, felt, eta_tilde, phi_hat, phi_tilde)
        if carrier != BASE:
            up = combine_forces(felt, phi_tilde) if felt else None  # A^T Psi phi^ = A^T Psi^ phi~
            if eta_tilde is not None:
                for k in reversed(chain):
                    eta_tilde = moving[k].transform.force_to_parent(eta_tilde)
                up = add(up, eta_tilde)
            if up is not None:
                eta[carrier] = add(eta.get(carrier), up)
            inertias[carrier] = add(inertias.get(carrier), _freed(whole, felt, u, d))
    return [steps[i] for i in range(len(parts))]


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None, *, parts:
    Modules,
) -> list[Scalar]:  # fmt: skip
    """Return joint accelerations for given joint forces, without springs (Shah table 6.2)."""
    moving = move_modules(tree, parts, q, v, None, gravity)
    phi = forces_left(tree, parts, tau, inverse_steps(tree, parts, moving, None, wrenches))
    own = accelerations(tree, parts, moving, forward_steps(tree, parts, moving, phi))
    return laid_out(tree, parts, own)


def forces_left(tree: Model, parts: Modules, tau: Scalars, unmoved: Sequence[InverseStep]) -> list[Scalar]:
    """Return phi = tau - h, h from inverse dynamics without accelerations (Shah eq. 6.8, with tau and not tau^F)."""
    h = laid_out(tree, parts, [step.tau for step in unmoved])
    return [t - x for t, x in zip(tau, h, strict=True)]


def accelerations(
    tree: Model, parts: Modules, moving: Sequence[Moving], steps: Sequence[ForwardStep]
) -> list[list[Scalar]]:
    """Return the joint accelerations of every module, from the base to the tips (Shah eq. 6.12, 6.13)."""
    mu: dict[int, Motion] = {BASE: ZERO_MOTION}
    found: list[list[Scalar]] = []
    for chain, step in zip(parts.bodies, steps, strict=True):
        carried = mu[tree.parents[chain[0]]]
        given = udu_solve(step.u, step.d, [carried.dot(f) for f in step.felt])  # Psi^T mu~
        own = [x - y for x, y in zip(step.phi_tilde, given, strict=True)]  # eq. 6.12
        found.append(own)
        first = 0
        for k in chain:
            subspace = moving[k].subspace
            carried = moving[k].transform.motion_to_child(carried) + combine(
                subspace, own[first : first + len(subspace)]
            )
            mu[k], first = carried, first + len(subspace)
    return found


# ------------------------------------------------------------------ within a module


def columns_of_last(chain: Chain, moving: Sequence[Moving]) -> list[Motion]:
    """Return the last six rows of N_i: how each freedom of a module moves its last link (Shah eq. 4.22)."""
    columns: list[Motion] = []
    for k in chain:
        columns = [moving[k].transform.motion_to_child(s) for s in columns]
        columns += moving[k].subspace
    return columns


def _composite(
    tree: Model, chain: Chain, moving: Sequence[Moving], handed: ArticulatedInertia | None
) -> tuple[ArticulatedInertia, list[list[Scalar]], list[Force]]:
    """Return M^ of a module at its carrier, its pivot N^T M^ N, and A^T M^ N (Shah eq. 5.34-5.36).

    M^ has the links' inertias on its diagonal; only the last link receives the inertia of carried modules.
    """
    first, counts = {}, 0
    for k in chain:
        first[k], counts = counts, counts + len(moving[k].subspace)
    pivot: list[list[Scalar]] = [[0.0] * counts for _ in range(counts)]
    felt: list[Force] = []
    whole = handed
    for place, k in reversed(list(enumerate(chain))):
        own: ArticulatedInertia = add(whole, tree.links[k].inertia.articulated())
        forces = [own @ s for s in moving[k].subspace]
        for m in reversed(chain[: place + 1]):
            for row, s in enumerate(moving[m].subspace, first[m]):
                for column, force in enumerate(forces, first[k]):
                    pivot[row][column] = pivot[column][row] = s.dot(force)
            forces = [moving[m].transform.force_to_parent(f) for f in forces]
        felt = forces + felt
        for row, rotor in enumerate(tree.links[k].armature, first[k]):
            if present(rotor):
                pivot[row][row] = pivot[row][row] + rotor
        whole = moving[k].transform.articulated_to_parent(own)
    assert whole is not None  # a module has at least one link
    return whole, pivot, felt


def _freed(
    whole: ArticulatedInertia, felt: Sequence[Force], u: list[list[Scalar]], d: list[Scalar]
) -> ArticulatedInertia:
    """Return the inertia that a carrier feels if a module's freedoms yield, A^T (M^ - Psi^ Psi^T) A (Shah eq. 5.36)."""
    n = len(d)
    columns = [udu_solve(u, d, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    for force, column in zip(felt, columns, strict=True):
        whole = whole - ArticulatedInertia.dyad(combine_forces(felt, column), force)
    return whole


def udu(matrix: Sequence[Sequence[Scalar]]) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Factor a symmetric matrix as U D U^T, U unit upper triangular, from the last row up (Shah section 6.1.2)."""
    n, rest = len(matrix), [list(row) for row in matrix]
    u: list[list[Scalar]] = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for j in reversed(range(n)):
        for i in range(j):
            u[i][j] = rest[i][j] / rest[j][j]
        for i in range(j):
            for k in range(i + 1):
                rest[k][i] = rest[k][i] - u[k][j] * rest[i][j]
    return u, [rest[j][j] for j in range(n)]


def udu_solve(u: Sequence[Sequence[Scalar]], d: Sequence[Scalar], rhs: Sequence[Scalar]) -> list[Scalar]:
    """Solve with the factors of :func:`udu`, in the three sweeps of Shah eq. 6.9."""
    n, x = len(d), list(rhs)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - u[i][j] * x[j]
    x = [a / b for a, b in zip(x, d, strict=True)]
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - u[j][i] * x[j]
    return x


def laid_out(tree: Model, parts: Modules, per_module: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Return the values of each module's freedoms in the layout of ``v``; a leader carries its followers' forces."""
    per_body: list[list[Scalar]] = [[] for _ in tree.links]
    for chain, numbers in zip(parts.bodies, per_module, strict=True):
        first = 0
        for k in chain:
            per_body[k] = list(numbers[first : first + tree.links[k].kind.nv])
            first += tree.links[k].kind.nv
    return collect(tree, per_body)


def _with_rotors(forces: list[Scalar], armature: Sequence[float], a: Scalars | None) -> list[Scalar]:
    if a is None:
        return forces
    return [f + inertia * x if present(inertia) else f for f, inertia, x in zip(forces, armature, a, strict=True)]

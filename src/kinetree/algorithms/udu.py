"""Forward dynamics from the factorization I = U D U^T, in three sweeps (Shah eq. 6.8-6.12, Saha eq. 18-21).

U phi_hat = phi (tips to base), D phi_tilde = phi_hat, U^T q'' = phi_tilde (base to tips),
with phi = tau - h and h from inverse dynamics without accelerations.  The factors are
never formed: their entries are N_i^T A_ji^T Psi_j, and the sweeps pass eta and mu.
"""

from __future__ import annotations

from ..model.tree import Link, Model
from ..spatial import ZERO_FORCE, ZERO_MOTION, Force, Motion, Scalar, Transform, combine, combine_forces
from .articulated_body import Pivot, articulated_inertias, times
from .newton_euler import Wrenches, inverse_dynamics
from .passes import Scalars, inward, outward, positions, rates


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """Return joint accelerations for given joint forces."""
    h, _ = inverse_dynamics(tree, q, v, None, gravity, wrenches, springs=False)
    phi = [t - b for t, b in zip(tau, h, strict=True)]  # eq. 6.8, with tau and not tau^F
    coordinates = positions(tree, q)
    transforms = [link.transform(x) for link, x in zip(tree.links, coordinates, strict=True)]
    subspaces = [link.subspace(x) for link, x in zip(tree.links, coordinates, strict=True)]
    pivots = [pivot for _, pivot in articulated_inertias(tree, transforms, subspaces)]

    def first(
        link: Link, eta_tilde: Force, x: Transform, p: tuple[Motion, ...], pivot: Pivot, phi: Scalars
    ) -> tuple[list[Scalar], Force]:
        phi_hat = [f - s.dot(eta_tilde) for f, s in zip(phi, p, strict=True)]
        eta = combine_forces(pivot.psi, phi_hat) + eta_tilde  # eq. 6.11 with phi_hat
        return phi_hat, x.force_to_parent(eta)

    def third(
        link: Link, parent: tuple[Motion, list[Scalar]], x: Transform, p: tuple[Motion, ...], pivot: Pivot, phi: Scalars
    ) -> tuple[Motion, list[Scalar]]:
        mu_tilde = x.motion_to_child(parent[0])
        a = [f - mu_tilde.dot(psi) for f, psi in zip(phi, pivot.psi, strict=True)]
        return combine(p, a) + mu_tilde, a

    phi_hat, _ = inward(tree, first, [ZERO_FORCE] * len(tree.links), transforms, subspaces, pivots, rates(tree, phi))
    phi_tilde = [times(pivot.d_inverse, x) for pivot, x in zip(pivots, phi_hat, strict=True)]
    reached = outward(tree, third, (ZERO_MOTION, []), transforms, subspaces, pivots, phi_tilde)
    return [x for _, a in reached for x in a]

"""Three older methods of forward dynamics that use only inverse dynamics (Featherstone section 5.2).

Methods 1 and 2 compute the mass matrix by inverse dynamics with unit accelerations: whole columns in method 1, the
lower triangle in method 2. Method 4 needs only products H x and solves by conjugate gradients, which are exact in n
steps except for rounding. (Method 3 is the composite-rigid-body method.)
"""

from __future__ import annotations

from ..model.tree import Model
from ..spatial import Scalar, dot, where
from .factorization import Matrix, ltdl, ltdl_solve
from .newton_euler import Wrenches, inverse_dynamics
from .passes import Scalars

_NO_GRAVITY = (0.0, 0.0, 0.0)
_TINIEST = 2.3e-308  # smaller than every normal number: a test for zero that works with all scalars


def inertia_times(tree: Model, q: Scalars, x: Scalars) -> list[Scalar]:
    """Return ``H x``: inverse dynamics without velocity, gravity or wrenches (Featherstone eq. 5.5)."""
    return inverse_dynamics(tree, q, [0.0] * tree.nv, x, _NO_GRAVITY, springs=False)[0]


def mass_matrix(tree: Model, q: Scalars, triangle_only: bool = False) -> Matrix:
    """Return the mass matrix, column by column; with ``triangle_only`` (method 2) the upper half is mirrored."""
    n = tree.nv
    columns = [inertia_times(tree, q, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    if triangle_only:
        return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]


def forward_dynamics(
    tree: Model, q: Scalars, v: Scalars, tau: Scalars, gravity: Scalars, wrenches: Wrenches | None = None, *, way: int =
    1,
) -> list[Scalar]:  # fmt: skip
    """Return joint accelerations for given joint forces, by method 1, 2 or 4."""
    c, _ = inverse_dynamics(tree, q, v, None, gravity, wrenches, springs=False)
    rhs = [t - b for t, b in zip(tau, c, strict=True)]
    if way == 4:
        return conjugate_gradients(tree, q, rhs)
    full = tuple(range(-1, tree.nv - 1))
    return ltdl_solve(ltdl(mass_matrix(tree, q, triangle_only=way == 2), full), full, rhs)


def conjugate_gradients(tree: Model, q: Scalars, rhs: Scalars) -> list[Scalar]:
    """Solve ``H x = rhs`` in n steps, each along the residual made conjugate to all earlier directions.

    In theory the last direction alone would suffice.  With rounding it does not: for a finger on a torso, conjugacy is
    lost long before the n-th step.
    """
    x: list[Scalar] = [0.0 * b for b in rhs]
    residual = list(rhs)
    earlier: list[tuple[list[Scalar], list[Scalar], Scalar]] = []
    for _ in range(tree.nv):
        direction = list(residual)
        for other, image, curvature in earlier:
            share = _ratio(dot(direction, image), curvature)
            direction = [d - share * o for d, o in zip(direction, other, strict=True)]
        image = inertia_times(tree, q, direction)
        curvature = dot(direction, image)
        length = _ratio(dot(direction, residual), curvature)
        x = [a + length * d for a, d in zip(x, direction, strict=True)]
        residual = [r - length * h for r, h in zip(residual, image, strict=True)]
        earlier.append((direction, image, curvature))
    return x


def _ratio(a: Scalar, b: Scalar) -> Scalar:
    done = abs(b) < _TINIEST  # nothing left to correct: the step is zero, not 0/0
    return where(done, 0.0, a / where(done, 1.0, b))

"""Linear complementarity: forces act only at closed contacts, gaps open only where no force acts.

Given a matrix C and a vector d, find ``f >= 0`` with ``w = C f + d >= 0`` and ``f . w = 0``
(Featherstone eq. 9.50-9.51).  For contacts C is symmetric and positive semi-definite without friction;
with friction it is not symmetric.

Contacts are solved with :func:`solve`, by one of two methods:

:func:`lemke`
    pivoting, for any C that contacts produce; it can detect that there is no solution;
:func:`gauss_seidel`
    sweeps of one contact at a time, for many contacts;

and two more methods are for learning and for checking the others:

:func:`enumerate_patterns`
    tries every choice of pushing contacts (Featherstone section 9.8): the reference, for a few contacts;
:func:`prune`
    Featherstone figure 9-6, for positive definite C.

Round friction cones are not linear: :mod:`kinetree.contact.cones`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NoSolutionError, OptionError, ShapeError, UnknownNameError
from ..spatial.arrays import Array

METHODS = ("auto", "enumerate", "prune", "lemke", "gauss_seidel")

MOST_ENUMERATED = 16
"""The most contacts for which every pattern is tried: 65,536 of them."""


RAISED_DIAGONALS = (0.0, 1e-10, 1e-8)
"""Fractions by which the diagonal is raised in successive attempts of pivoting."""


@dataclass(frozen=True)
class ContactSolution:
    """The result of a solver.

    Attributes
    ----------
    force, slack : ndarray
        f and ``w = C f + d``.
    method : str
    steps : int
        Patterns tried, one-dimensional problems solved, pivots or sweeps.
    """

    force: Array
    slack: Array
    method: str
    steps: int

    @property
    def residual(self) -> float:
        """Largest violation of any of the three conditions."""
        if not self.force.size:
            return 0.0
        signs = max(float(np.max(-self.force)), float(np.max(-self.slack)), 0.0)
        return max(signs, float(np.max(np.minimum(np.abs(self.force), np.abs(self.slack)))))


def solve(matrix: ArrayLike, offset: ArrayLike, method: str = "auto") -> ContactSolution:
    """Solve ``f >= 0``, ``C f + d >= 0``, ``f . (C f + d) = 0``.

    Parameters
    ----------
    matrix, offset : array_like, shapes (n, n) and (n,)
        C and d.
    method : {"auto", "enumerate", "prune", "lemke", "gauss_seidel"}
        ``"auto"`` pivots (Lemke), which covers the positive semi-definite case.

    Returns
    -------
    ContactSolution

    Raises
    ------
    NoSolutionError
        If there is no solution.
    """
    if method not in METHODS:
        raise UnknownNameError("method of complementarity", method, METHODS)
    return _SOLVERS[method](matrix, offset)


def checked(matrix: ArrayLike, offset: ArrayLike) -> tuple[Array, Array]:
    """Return C and d as arrays of the right shapes, without NaN and infinity."""
    c, d = np.asarray(matrix, dtype=float), np.asarray(offset, dtype=float)
    if d.ndim != 1 or c.shape != (d.size, d.size):
        raise ShapeError(f"the matrix must be n x n and the offset n numbers, got {c.shape} and {d.shape}")
    if not (np.all(np.isfinite(c)) and np.all(np.isfinite(d))):
        raise ShapeError("the complementarity problem holds NaN or infinity; check the state it was made from")
    return c, d


def _tolerance(c: Array, d: Array) -> float:
    """Return how small a number counts as zero: as small as the rounding of the largest terms."""
    return 1e-10 * max(1e-300, float(np.max(np.abs(d), initial=0.0)))


# ------------------------------------------------------------------ for work


def lemke(matrix: ArrayLike, offset: ArrayLike) -> ContactSolution:
    """Solve by Lemke's pivoting method, with ties broken lexicographically so that it cannot cycle.

    An extra unknown z is added to every row so that no slack is negative, and is driven out again pivot by pivot.  If
    it cannot be driven out (a ray), a problem with positive semi-definite or copositive C has no solution.

    Redundant contacts make many bases nearly singular.  If that makes pivoting fail, the problem is solved again with a
    slightly raised diagonal; a solution counts only if it solves the original problem.
    """
    c, d = checked(matrix, offset)
    n = d.size
    if np.all(d >= 0.0):
        return ContactSolution(np.zeros(n), d.copy(), "lemke", 0)
    size = _sizes(c)
    scaled, right = c / size[:, None] / size[None, :], d / size
    level = float(np.max(np.abs(right)))
    plain = np.abs(np.diagonal(scaled)) > 0.0
    problem: NoSolutionError | None = None
    for raised in RAISED_DIAGONALS:
        try:
            g, pivots = _complementary_pivots(scaled + np.diag(raised * plain), right / level)
        except NoSolutionError as found:
            problem = problem or found
            continue
        force = _polished(c, d, np.where(g > 0.0, g * level / size, 0.0))
        result = ContactSolution(force, c @ force + d, "lemke", pivots)
        size_d = float(np.max(np.abs(d)))
        # Forces that cancel each other are inaccurate; beyond this they are a ray in disguise, not a solution.
        rounding = min(1e-12 * float(np.max(np.abs(c) @ force, initial=0.0)), 1e-5 * size_d)
        if result.residual <= 1e-7 * size_d + rounding:
            cleared = (force > 0.0) | (np.abs(result.slack) < _tolerance(c, d))
            return ContactSolution(force, np.where(cleared, 0.0, result.slack), "lemke", pivots)
        problem = problem or NoSolutionError(
            f"the complementarity problem is too ill-conditioned to be decided (residual {result.residual:.3g})"
        )
    assert problem is not None
    raise problem


def _sizes(c: Array) -> Array:
    """Return factors s that make ``c_ij / (s_i s_j)`` about one: roots of the diagonal where it is not zero."""
    diagonal = np.abs(np.diagonal(c))
    plain = diagonal > 1e-12 * max(float(np.max(np.abs(c))), 1e-300)
    size = np.where(plain, np.sqrt(diagonal), 1.0)
    if np.any(plain) and not np.all(plain):  # rows that limit friction have none: scale them by their partners
        partners = np.max(np.abs(c[np.ix_(~plain, plain)]) / size[plain], axis=1)
        size[~plain] = np.where(partners > 0.0, partners, 1.0)
    return size


def _complementary_pivots(m: Array, q: Array) -> tuple[Array, int]:
    """Pivot on ``w - M g - z e = q``; unknowns are numbered w: 0..n-1, g: n..2n-1, z: 2n."""
    n = q.size
    # Tableau: columns of w (the inverse basis, used for lexicographic ties), g, z and the right side.
    tableau = np.hstack([np.eye(n), -m, -np.ones((n, 1)), q[:, None]])
    basis = list(range(n))
    row = int(np.lexsort((*(tableau[:, k] for k in range(n - 1, -1, -1)), tableau[:, -1]))[0])
    entering = 2 * n
    most = 50 * n + 100
    for pivots in range(1, most + 1):
        tableau[row] /= tableau[row, entering]
        others = np.arange(n) != row
        tableau[others] -= np.outer(tableau[others, entering], tableau[row])
        leaving, basis[row] = basis[row], entering
        if leaving == 2 * n:
            g = np.zeros(n)
            for k, unknown in enumerate(basis):
                if n <= unknown < 2 * n:
                    g[unknown - n] = tableau[k, -1]
            return g, pivots
        entering = leaving + n if leaving < n else leaving - n
        candidates = np.flatnonzero(tableau[:, entering] > 1e-11)
        if candidates.size == 0:
            raise NoSolutionError(
                f"the contact conditions contradict one another (pivoting ended on a ray after {pivots} steps): there "
                "are no contact forces that keep all contacts from penetrating"
            )
        row = _smallest_ratio(tableau, candidates, entering, basis, n)
    raise NoSolutionError(f"pivoting did not end within {most} steps; the problem is too ill-conditioned to be decided")


def _smallest_ratio(tableau: Array, candidates: Array, entering: int, basis: list[int], n: int) -> int:
    """Return the row that limits the entering unknown.

    The unknown z leaves if it can; other ties are decided lexicographically.
    """
    column = tableau[candidates, entering]
    ratios = tableau[candidates, -1] / column
    best = candidates[ratios <= np.min(ratios) + 1e-11]
    for k in best:
        if basis[k] == 2 * n:
            return int(k)
    for w in range(n):
        if best.size == 1:
            break
        values = tableau[best, w] / tableau[best, entering]
        best = best[values <= np.min(values) + 1e-12]
    return int(best[0])


def _polished(c: Array, d: Array, force: Array) -> Array:
    """Take one step of iterative refinement on the pushing contacts, to remove the rounding of pivoting."""
    pushing = np.flatnonzero(force > 0.0)
    if pushing.size == 0:
        return force
    block = c[np.ix_(pushing, pushing)]
    correction = np.linalg.lstsq(block, -(block @ force[pushing] + d[pushing]), rcond=1e-12)[0]
    better = force.copy()
    better[pushing] += correction
    return better if np.all(better >= 0.0) else force


def gauss_seidel(
    matrix: ArrayLike, offset: ArrayLike, *, start: ArrayLike | None = None, tolerance: float = 1e-10,
    sweeps: int = 20_000,
) -> ContactSolution:  # fmt: skip
    """Solve by projected Gauss-Seidel: each force in turn is set to what its own condition requires.

    It converges linearly for symmetric positive semi-definite C if there is a solution; each sweep costs n^2.

    Parameters
    ----------
    matrix, offset : array_like
    start : array_like, optional
        Forces to start from, such as those of the previous step.
    tolerance : float
        Largest change of any slack in a sweep, relative to the largest entry of d.
    sweeps : int
        The most sweeps.
    """
    c, d = checked(matrix, offset)
    force = np.zeros(d.size) if start is None else np.maximum(np.asarray(start, dtype=float), 0.0)
    diagonal = np.diagonal(c)
    dead = diagonal <= 1e-14 * float(np.max(np.abs(c), initial=0.0))
    if np.any(dead & (d < -_tolerance(c, d))):
        raise NoSolutionError(
            f"contact {int(np.flatnonzero(dead & (d < 0.0))[0])} is violated but no force of its own moves it"
        )
    limit = tolerance * max(float(np.max(np.abs(d), initial=0.0)), 1e-300)
    for sweep in range(1, sweeps + 1):
        worst = 0.0
        for i in np.flatnonzero(~dead):
            before = force[i]
            force[i] = max(0.0, before - (c[i] @ force + d[i]) / diagonal[i])
            worst = max(worst, abs(force[i] - before) * diagonal[i])
        if worst <= limit:
            slack = c @ force + d
            return ContactSolution(force, np.where(force > 0.0, 0.0, np.maximum(slack, 0.0)), "gauss_seidel", sweep)
    raise NoSolutionError(
        f"projected Gauss-Seidel did not settle in {sweeps} sweeps (last change {worst:.3g}): there is no solution, or "
        "the problem is ill-conditioned; method='lemke' can decide"
    )


# ------------------------------------------------------------------ to learn from


def enumerate_patterns(matrix: ArrayLike, offset: ArrayLike) -> ContactSolution:
    """Try every set of pushing contacts, fewest first (Featherstone section 9.8).

    For a given set the forces follow from ``C'' f = -d''`` (Featherstone eq. 9.61).  If C is only
    semi-definite, sets with a singular C'' can be skipped: if there is a solution, there is one
    whose pushing contacts are independent (Featherstone section 9.8).
    """
    c, d = checked(matrix, offset)
    if d.size > MOST_ENUMERATED:
        raise OptionError(f"{d.size} contacts have too many patterns to try them all; use method='lemke'")
    tolerance = _tolerance(c, d)
    for tried, pattern in enumerate(_patterns(d.size), 1):
        force = np.zeros(d.size)
        if pattern:
            chosen = np.ix_(pattern, pattern)
            if np.linalg.cond(c[chosen]) > 1e11:
                continue
            force[list(pattern)] = np.linalg.solve(c[chosen], -d[list(pattern)])
        slack = c @ force + d
        slack[list(pattern)] = 0.0
        scale = max(1.0, float(np.max(np.abs(force), initial=0.0)))
        if np.all(force >= -1e-10 * scale) and np.all(slack >= -tolerance):
            return ContactSolution(np.maximum(force, 0.0), slack, "enumerate", tried)
    raise NoSolutionError(f"no pattern of the {d.size} contacts satisfies all conditions: the problem has no solution")


def _patterns(n: int) -> Iterator[tuple[int, ...]]:
    for size in range(n + 1):
        yield from itertools.combinations(range(n), size)


def prune(matrix: ArrayLike, offset: ArrayLike, *, most_negative_first: bool = True) -> ContactSolution:
    """Decide one contact at a time (Featherstone figure 9-6); C must be positive definite.

    Parameters
    ----------
    matrix, offset : array_like
    most_negative_first : bool
        Whether to begin with the most violated contact and assume that it pushes, which is nearly
        always right (Featherstone section 9.8.1).  Otherwise contacts are decided in order, first
        assuming that they do not push: on average 1.5^n patterns instead of 2^n.
    """
    c, d = checked(matrix, offset)
    if d.size and (
        not np.allclose(c, c.T, atol=1e-9 * np.max(np.abs(c))) or np.linalg.eigvalsh(c)[0] <= 1e-12 * np.max(np.abs(c))
    ):
        raise OptionError("pruning needs a symmetric positive definite matrix; use method='lemke'")
    counter = [0]
    force = (_prune_negative if most_negative_first else _prune_in_order)(c, d, counter)
    slack = np.where(force > 0.0, 0.0, c @ force + d)
    return ContactSolution(force, slack, "prune", counter[0])


def _struck(c: Array, d: Array, i: int) -> tuple[Array, Array]:
    """Return the problem that is left when contact i does not push (Featherstone eq. 9.58)."""
    rest = np.arange(d.size) != i
    return c[np.ix_(rest, rest)], d[rest]


def _eliminated(c: Array, d: Array, i: int) -> tuple[Array, Array]:
    """Return the problem that is left when contact i stays closed (Featherstone eq. 9.59, hats added)."""
    rest = np.arange(d.size) != i
    column = c[rest, i] / c[i, i]
    return c[np.ix_(rest, rest)] - np.outer(column, c[i, rest]), d[rest] - column * d[i]


def _prune_in_order(c: Array, d: Array, counter: list[int]) -> Array:
    if d.size == 0:
        return d
    if d.size == 1:
        counter[0] += 1
        return np.maximum(-d / c[0], 0.0)
    others = _prune_in_order(*_struck(c, d, 0), counter)
    if c[0, 1:] @ others + d[0] >= 0.0:
        return np.concatenate([[0.0], others])
    others = _prune_in_order(*_eliminated(c, d, 0), counter)
    return np.concatenate([[-(c[0, 1:] @ others + d[0]) / c[0, 0]], others])


def _prune_negative(c: Array, d: Array, counter: list[int]) -> Array:
    if np.all(d >= 0.0):
        counter[0] += 1
        return np.zeros(d.size)
    i = int(np.argmin(d))
    others = _prune_negative(*_eliminated(c, d, i), counter)
    pushing = -(np.delete(c[i], i) @ others + d[i]) / c[i, i]
    if pushing >= 0.0:
        return np.insert(others, i, pushing)
    return np.insert(_prune_negative(*_struck(c, d, i), counter), i, 0.0)


_SOLVERS = {
    "auto": lemke,
    "enumerate": enumerate_patterns,
    "prune": prune,
    "lemke": lemke,
    "gauss_seidel": gauss_seidel,
}


def dependent_contacts(columns: ArrayLike) -> str:
    """Classify contacts with a minimal set of dependent normals (Featherstone section 9.8.2).

    Parameters
    ----------
    columns : array_like, shape (n, contacts)
        Generalized normals f_k as columns; exactly one linear dependence between them.

    Returns
    -------
    {"unbreakable", "redundant", "undecided"}
        All coefficients of one sign: none of the contacts can break, so they may be treated as a
        joint.  Exactly one of the other sign: that contact follows from the others.  Otherwise
        nothing can be said beforehand.
    """
    f = np.asarray(columns, dtype=float)
    values, vectors = np.linalg.eigh(f.T @ f)
    null = values <= 1e-10 * max(float(values[-1]), 1e-300)
    if np.count_nonzero(null) != 1:
        raise OptionError(f"{np.count_nonzero(null)} dependences among {f.shape[1]} normals; exactly one is needed")
    a = vectors[:, 0]
    a = a[np.abs(a) > 1e-9]
    positive = int(np.count_nonzero(a > 0.0))
    if positive in (0, a.size):
        return "unbreakable" if a.size > 1 else "redundant"
    return "redundant" if positive in (1, a.size - 1) else "undecided"

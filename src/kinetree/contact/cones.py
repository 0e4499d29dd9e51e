"""Contacts with round friction cones: Coulomb's law solved by Newton's method, from soft contacts to rigid ones.

Each contact has a force f (normal, two tangents) and an acceleration w of its spot along the same
axes (a velocity, for impacts); together ``w = C f + d``.  The law of a contact is written once, in
:func:`coulomb`: for any stiffness 1/e it is

    f = coulomb(x)   with the trial force   x = f - w / e,

that is f_n = max(0, x_n), and f_t is x_t projected into the circle of radius mu f_n.  Any f that obeys it
for one e obeys it for all: nothing pulls, nothing penetrates, friction is within its limit, and reaches it
only directly opposite to the sliding (maximal dissipation).

**Soft contacts.**  With ``x = -w / e`` the law is that of contacts that all yield by e f.  The force is then unique
(apart from sliding), and for a large e it is nearly known.  Therefore e is decreased step by step, each solution being
the start for the next: ``e x + C coulomb(x) + d = 0`` by Newton's method.  The number of equations is that of the
robot's freedoms that the contacts act on, however many contacts there are.

**Rigid contacts.**  In the end the state of each contact is known, and the law with ``w = C f + d`` is linear
except for the directions of sliding.  A few more steps of Newton's method with e = 0 give the forces to
rounding.  If contacts are redundant, these equations have many solutions, and the one nearest to that of
the hard contacts is taken.  For contacts that stick, or have no friction, it is that of least
norm ``sum |f|^2``: they share the load evenly, as far as they can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NoSolutionError, ShapeError
from ..spatial.arrays import Array
from .complementarity import ContactSolution, checked

HARD, HARDEST = 1e-7, 1e-10
"""Softness e at which contacts behave like rigid ones, and where to stop; in units of the largest mobility."""

HARDENING = 0.01
"""Factor by which e is lowered in one step; less if Newton's method does not converge."""

PATIENCE = (1, 6)
"""For how many steps of Newton's method the residual may grow, in successive attempts."""

MOST_STEPS = 25
"""The most Newton steps for one softness."""

MOST_RIGID = 10
"""The most Newton steps with rigid contacts; from a good start two or three are enough."""

ALIKE = 1e-4
"""How close, relatively, the least forces must be to those of hard contacts to be taken as their limit."""

EXACT = 1e-11
"""Largest violation of the law by the motion of spots, relative to their motion without contact forces."""

CLOSE = 1e-7
"""The same if nothing better is possible, as with nearly redundant contacts."""

ROUNDED = 1e-5
"""The same at most, if large forces on small masses cancel and rounding allows no better."""

REDUNDANT, DEPENDENT = 1e-11, 1e-13
"""Relative size below which directions do not count when forces are shared, and when they are corrected."""


class NotConverged(NoSolutionError):
    """Raised if no forces were found, though they may exist; ``force`` is the best guess."""

    def __init__(self, message: str, force: Array) -> None:
        super().__init__(message)
        self.force = force


@dataclass(frozen=True)
class Cones:
    """The friction of contacts, and :func:`coulomb`'s law for all of them at once.

    Attributes
    ----------
    mu : ndarray, shape (n,)
    sliding : ndarray, shape (n, 2)
        Direction of contacts that already slide, whose friction is known except for its size; NaN for
        those at rest.
    given : ndarray, shape (n,)
        Normal forces that act already and add to the friction limit.
    """

    mu: Array
    sliding: Array
    given: Array

    @classmethod
    def of(cls, friction: ArrayLike, sliding: ArrayLike | None = None, given: ArrayLike | None = None) -> Cones:
        """Check arguments and fill in defaults."""
        mu = np.asarray(friction, dtype=float)
        known = np.full((mu.size, 2), np.nan) if sliding is None else np.asarray(sliding, dtype=float)
        pressed = np.zeros(mu.size) if given is None else np.asarray(given, dtype=float)
        if mu.ndim != 1 or known.shape != (mu.size, 2) or pressed.shape != mu.shape:
            raise ShapeError(
                f"n contacts have n coefficients of friction, n x 2 directions of sliding and n given forces, got "
                f"shapes {mu.shape}, {known.shape} and {pressed.shape}"
            )
        return cls(mu, known, pressed)


def coulomb(trial: Array, cones: Cones) -> tuple[Array, Array]:
    """Return the forces (n, 3) for trial forces (n, 3), and their derivatives (n, 3, 3)."""
    normal, along = trial[:, 0], trial[:, 1:]
    pressing = normal > 0.0
    force, slope = np.zeros_like(trial), np.zeros((len(trial), 3, 3))
    force[:, 0], slope[:, 0, 0] = np.where(pressing, normal, 0.0), pressing
    # at rest: held as the trial says, within the circle
    limit = cones.mu * (force[:, 0] + cones.given)
    size = np.sqrt(along[:, 0] ** 2 + along[:, 1] ** 2)
    held = size <= limit
    direction = along / np.where(size > 0.0, size, 1.0)[:, None]
    share = np.where(held, 1.0, limit / np.where(held, 1.0, size))
    force[:, 1:] = share[:, None] * along
    across = np.eye(2) - np.where(held, 0.0, 1.0)[:, None, None] * (direction[:, :, None] * direction[:, None, :])
    slope[:, 1:, 1:] = np.where(limit > 0.0, share, 0.0)[:, None, None] * across
    slope[:, 1:, 0] = np.where(held, 0.0, cones.mu * pressing)[:, None] * direction
    # sliding already: the size of friction follows the normal force
    known = ~np.isnan(cones.sliding[:, 0])
    if known.any():
        pulled = -cones.mu[known, None] * cones.sliding[known]
        force[known, 1:], slope[known, 1:, 1:] = pulled * force[known, :1], 0.0
        slope[known, 1:, 0] = pulled * pressing[known, None]
    return force, slope


def solve_cones(
    matrix: ArrayLike, offset: ArrayLike, friction: ArrayLike, sliding: ArrayLike | None = None, *,
    given: ArrayLike | None = None, start: ArrayLike | None = None,
) -> ContactSolution:  # fmt: skip
    """Find the forces of contacts with round friction cones.

    Parameters
    ----------
    matrix, offset : array_like, shapes (3n, 3n) and (3n,)
        C, symmetric and positive semi-definite, and d; unknowns come in threes, normal and two tangents.
    friction : array_like, shape (n,)
        Coefficients mu.
    sliding : array_like, shape (n, 2), optional
        Direction of contacts that already slide, whose friction is known except for its size; NaN for
        those at rest.
    given : array_like, shape (n,), optional
        Normal forces that act already (their effect is in ``offset``) and add to the friction limit.
    start : array_like, shape (3n,), optional
        Forces that are nearly right, such as those of friction pyramids; soft contacts are skipped
        if these lead to the solution.

    Returns
    -------
    ContactSolution
        ``steps`` counts those of Newton's method.

    Raises
    ------
    NoSolutionError
        If the forces grow without bound or Newton's method does not converge.
    """
    c, d = checked(matrix, offset)
    cones = Cones.of(friction, sliding, given)
    if d.size != 3 * cones.mu.size:
        raise ShapeError(f"{cones.mu.size} contacts have {3 * cones.mu.size} unknowns, not {d.size}")
    if not np.any(c):  # no contacts, or spots that no force moves
        if np.any(d[::3] < 0.0):
            raise NoSolutionError(f"contact {int(np.argmin(d[::3]))} is violated but no force moves it")
        return ContactSolution(np.zeros_like(d), d, "cones", 0)
    problem = _Problem.of(c, d, cones)
    steps, best, least = 0, np.zeros((cones.mu.size, 3)), np.inf
    for force in problem.guesses() if start is None else ():
        if problem.violation(force) <= EXACT * problem.level:
            return ContactSolution(force.ravel(), c @ force.ravel() + d, "cones", 0)
    for more, rough in problem.rough(None if start is None else np.asarray(start, dtype=float).reshape(-1, 3)):
        force, off, further = problem.rigid(rough)
        steps += more + further
        if off <= EXACT * problem.level:
            return ContactSolution(force.ravel(), c @ force.ravel() + d, "cones", steps)
        if off < least:
            best, least = force, off
    if least <= max(CLOSE * problem.level, problem.rounding(best)):
        return ContactSolution(best.ravel(), c @ best.ravel() + d, "cones", steps)
    raise NotConverged(
        f"the forces in {cones.mu.size} friction cones were not found in {steps} steps of Newton's method: spots still "
        f"move against Coulomb's law by {least:.3g} (of {problem.level:.3g} without contact forces)",
        best.ravel(),
    )


def violation(matrix: ArrayLike, offset: ArrayLike, cones: Cones, force: ArrayLike) -> float:
    """Return by how much the motion of spots violates the law: zero if and only if ``force`` (n, 3) is a solution.

    It is the largest ``m (f - coulomb(f - w / m))``, in the units of ``offset``, with the mobility m of each contact.
    """
    c, d = checked(matrix, offset)
    return _Problem.of(c, d, cones).violation(np.asarray(force, dtype=float).reshape(-1, 3))


@dataclass(frozen=True)
class _Problem:
    """One problem, its matrix factored as ``C = root root^T``."""

    c: Array
    d: Array
    cones: Cones
    root: Array
    mobility: Array
    level: float

    @classmethod
    def of(cls, c: Array, d: Array, cones: Cones) -> _Problem:
        diagonal = np.diagonal(c).reshape(-1, 3).sum(axis=1)
        largest = max(float(np.max(diagonal, initial=0.0)), 1e-300)
        level = max(float(np.max(np.abs(d), initial=0.0)), 1e-300)
        return cls(c, d.reshape(-1, 3), cones, _root(c), np.maximum(diagonal, 1e-12 * largest), level)

    def violation(self, force: Array) -> float:
        """Return how far the motion of spots violates the law."""
        trial = force - self.motion(force) / self.mobility[:, None]
        return float(np.max(np.abs(force - coulomb(trial, self.cones)[0]) * self.mobility[:, None]))

    def rounding(self, force: Array) -> float:
        """Return the error of rounding where forces cancel, as under a much heavier body.

        At most ``ROUNDED``: beyond that, forces grow without bound.
        """
        added = float(np.max(np.abs(self.c) @ np.abs(force).ravel()))
        return min(4.0 * float(np.finfo(float).eps) * added, ROUNDED * self.level)

    def motion(self, force: Array) -> Array:
        """Return ``w = C f + d``."""
        return np.asarray((self.c @ force.ravel()).reshape(-1, 3) + self.d)

    def guesses(self) -> Iterator[Array]:
        """Yield guesses that are usually right for few contacts: no forces, and those that keep all spots at rest."""
        yield np.zeros_like(self.d)
        yield np.linalg.lstsq(self.c, -self.d.ravel(), rcond=REDUNDANT)[0].reshape(-1, 3)

    # ------------------------------------------------------------------ soft contacts

    def rough(self, start: Array | None) -> Iterator[tuple[int, Array]]:
        """Yield steps taken and approximate forces, those of hard contacts, trying one method after another."""
        if start is None:
            for patience in PATIENCE:
                yield from self.hardening(patience)
            return
        yield 0, start
        hard = HARD * float(np.max(self.mobility))
        for patience in PATIENCE:
            steps, trial, _ = self.soft(hard, start - self.motion(start) / hard, patience)
            if np.all(np.isfinite(trial)):
                yield steps, coulomb(trial, self.cones)[0]

    def hardening(self, patience: int) -> Iterator[tuple[int, Array]]:
        """Yield the number of steps and forces of ever harder contacts, once they behave like rigid ones.

        If they never do, yield the forces of the hardest ones that were found.
        """
        unit = float(np.max(self.mobility))
        soft, factor = unit, HARDENING
        steps, trial, _ = self.soft(soft, -self.d / (2.0 * unit), patience)
        while soft > HARDEST * unit:
            more, ahead, follows = self.soft(soft * factor, trial, patience)
            steps += more
            if follows:
                soft, trial, factor = soft * factor, ahead, max(factor * factor, HARDENING)
                if soft <= HARD * unit:
                    yield steps, coulomb(trial, self.cones)[0]
                    steps = 0
            elif factor > 0.8:
                yield steps, coulomb(trial, self.cones)[0]  # as hard as possible
                return
            else:
                factor = factor**0.5

    def soft(self, soft: float, trial: Array, patience: int) -> tuple[int, Array, bool]:
        """Solve ``e x + C coulomb(x) + d = 0`` by Newton's method; return the steps made, x, and whether it converged.

        Steps are shortened until the residual is below the largest of the last few.
        """
        force, slope = coulomb(trial, self.cones)
        rest = soft * trial + self.motion(force)
        left = [float(np.linalg.norm(rest))]
        for step in range(1, MOST_STEPS + 1):
            move, length = self._newton(soft, rest, slope), 1.0
            while True:
                ahead = trial + length * move
                force, slope = coulomb(ahead, self.cones)
                rest = soft * ahead + self.motion(force)
                size = float(np.linalg.norm(rest))
                if size <= (1.0 - 0.1 * length) * max(left[-patience:]) or length < 0.01:
                    break
                length *= 0.5
            trial = ahead
            left.append(size)
            if size <= max(1e-3 * soft * float(np.max(np.abs(force))), 1e-12 * self.level):
                return step, trial, True
        return MOST_STEPS, trial, False

    def _newton(self, soft: float, rest: Array, slope: Array) -> Array:
        """Return the change of x from ``(e + C S) dx = -rest``, with as many equations as ``root`` has columns."""
        from scipy.linalg.lapack import dgesv  # SciPy is slow to import, and few need it

        felt = np.einsum("kji,kjr->kir", slope, self.root.reshape(len(slope), 3, -1)).reshape(rest.size, -1)
        small = felt.T @ self.root
        small[np.diag_indices_from(small)] += soft
        u = dgesv(small, -(felt.T @ rest.ravel()))[2]
        return np.asarray(-(rest + (self.root @ u).reshape(rest.shape)) / soft)

    # ------------------------------------------------------------------ rigid contacts

    def rigid(self, rough: Array) -> tuple[Array, float, int]:
        """Solve with e = 0 by Newton's method from nearly right forces; return forces, their violation, steps."""
        best, least, steps = rough, self.violation(rough), 0
        shortest = self._solved(rough, np.zeros_like(rough), REDUNDANT)
        if np.max(np.abs(shortest - rough)) <= ALIKE * np.max(np.abs(rough)):  # as for soft contacts, to rounding
            best, least, steps = shortest, self.violation(shortest), 1
        while least > EXACT * self.level and steps < MOST_RIGID:
            force = self._solved(best, best)
            off, steps = self.violation(force), steps + 1
            if not off < least:
                break
            best, least = force, off
        return best, least, steps

    def _solved(self, force: Array, near: Array, smallest: float = DEPENDENT) -> Array:
        """Return the f nearest to ``near`` with ``f = coulomb(f - w / m)``, linearized about ``force``."""
        mobility = self.mobility[:, None]
        trial = force - self.motion(force) / mobility
        answer, slope = coulomb(trial, self.cones)
        n = len(force)
        moved = np.einsum("kij,kjr->kir", slope, (self.c / np.repeat(self.mobility, 3)[:, None]).reshape(n, 3, 3 * n))
        equations = moved.reshape(3 * n, 3 * n)
        for k in range(n):
            equations[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += np.eye(3) - slope[k]
        right = answer - np.einsum("kij,kj->ki", slope, trial + self.d / mobility)
        step = np.linalg.lstsq(equations, right.ravel() - equations @ near.ravel(), rcond=smallest)[0]
        new = near + step.reshape(n, 3)
        return coulomb(new - self.motion(new) / mobility, self.cones)[0]  # exactly within the cones


def _root(c: Array) -> Array:
    """Return a matrix with ``root root^T = C`` and only as many columns as C has independent rows."""
    from scipy.linalg.lapack import dpstrf

    factor, order, rank, _ = dpstrf(0.5 * (c + c.T), lower=1, tol=1e-14 * float(np.max(np.diagonal(c))))
    root = np.zeros((len(c), rank))
    root[order - 1] = np.tril(factor)[:, :rank]
    return root

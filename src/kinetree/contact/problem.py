"""The forces (or impulses) of contacts at one state: one problem with two shapes of friction limits.

With the rates ``w = C f + d`` along each contact's normal and tangents, Coulomb's round cones go to
:mod:`kinetree.contact.cones`, pyramids to the linear :mod:`kinetree.contact.complementarity`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import NoSolutionError
from ..spatial.arrays import Array
from .complementarity import ContactSolution, solve
from .cones import NotConverged, solve_cones

FALLBACK_SIDES = (8, 16)
"""Numbers of sides of pyramids whose forces are tried as a start if soft contacts do not lead to a solution."""

DECIDABLE = 1e8
"""Spread of mobilities up to which pivoting can be trusted when it finds that contacts contradict each other."""


@dataclass(frozen=True)
class ContactProblem:
    """Contacts, their response to forces, and their friction limits.

    Attributes
    ----------
    matrix : ndarray, shape (3m, 3m)
        C, ``J M^-1 J^T`` with normal and tangents of each contact as rows of J.
    rates : ndarray, shape (m, 3)
        d, accelerations (or velocities, for impacts) without these contacts' forces.
    mu : ndarray, shape (m,)
    sliding : ndarray, shape (m, 2)
        Direction of contacts that already slide; NaN for those at rest or without friction.
    pressure : ndarray, shape (m,)
        Normal forces (or impulses) that already act and count toward the friction limit.
    """

    matrix: Array
    rates: Array
    mu: Array
    sliding: Array
    pressure: Array

    @classmethod
    def of(cls, jacobian: Array, inverse: Array, rates: Array, mu: Array, sliding: Array) -> ContactProblem:
        """Make one from Jacobians (m, 3, nv), the inverse inertia, and the rates (m, 3) without contact forces."""
        flat = jacobian.reshape(3 * len(mu), -1)
        known = np.where((mu > 0.0)[:, None], sliding, np.nan)
        return cls(flat @ inverse @ flat.T, rates, mu, known, np.zeros(len(mu)))

    @property
    def at_rest(self) -> Array:
        """Which contacts have unknown friction."""
        return np.asarray((self.mu > 0.0) & np.isnan(self.sliding[:, 0]))

    def with_pressure(self, pressure: Array) -> ContactProblem:
        """Return the same problem with normal forces (or impulses) that already act."""
        return replace(self, pressure=pressure)

    def cone_forces(self) -> Array:
        """Return the forces (m, 3) with round friction cones."""
        try:
            return self._cones(None)
        except NotConverged as failed:
            for sides in FALLBACK_SIDES:  # pivoting finds a solution, or that there is none
                try:
                    return self._cones(Pyramids.of(self, sides).solved("lemke"))
                except NotConverged:
                    continue
                except NoSolutionError as verdict:
                    spread = self.spread()
                    if spread < DECIDABLE:
                        raise
                    raise NotConverged(
                        f"what the contacts move differs in mass by a factor of about {spread:.0e}; rounding decides "
                        "whether their conditions contradict one another; bring the masses closer together",
                        failed.force,
                    ) from verdict
            raise failed

    def spread(self) -> float:
        """Return the ratio of the largest mobility of a combination of contacts to the smallest beyond rounding."""
        values = np.linalg.eigvalsh(self.matrix)
        return float(values[-1] / np.min(values[values > 1e-14 * values[-1]], initial=values[-1]))

    def _cones(self, start: Array | None) -> Array:
        found = solve_cones(
            self.matrix, self.rates.ravel(), self.mu, self.sliding, given=self.pressure, start=start
        )  # fmt: skip
        return found.force.reshape(-1, 3)

    def pyramid_forces(self, sides: int, method: str) -> Array:
        """Return the forces (m, 3) with friction pyramids."""
        return Pyramids.of(self, sides).solved(method)


@dataclass(frozen=True)
class Pyramids:
    """The same contacts as a linear complementarity problem.

    The unknowns are the normal forces; for each contact at rest with friction, the forces along the sides of its
    pyramid; and its sliding acceleration (or speed, for impacts), which is zero unless the friction is at its limit.  A
    contact that slides has its friction tied to the normal force.

    Attributes
    ----------
    matrix, offset : ndarray
        Matrix and offset of the complementarity problem.
    pressed : ndarray, shape (3m, ...)
        Maps normal forces and forces along sides to forces along normals and tangents.
    """

    matrix: Array
    offset: Array
    pressed: Array

    @classmethod
    def of(cls, problem: ContactProblem, sides: int) -> Pyramids:
        """Make pyramids with this number of sides."""
        mu, sliding, m = problem.mu, problem.sliding, problem.mu.size
        at_rest = np.flatnonzero(problem.at_rest)
        angles = 2.0 * np.pi * np.arange(sides) / sides
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
        directions[np.abs(directions) < 1e-15] = 0.0
        r = at_rest.size
        top = m + r * sides
        pressed = np.zeros((3 * m, top))
        felt = np.zeros((top, 3 * m))  # picks the rates of the conditions
        for i in range(m):
            pressed[3 * i, i] = felt[i, 3 * i] = 1.0
            if not np.isnan(sliding[i, 0]):
                pressed[3 * i + 1 : 3 * i + 3, i] = -mu[i] * sliding[i]
        matrix, offset = np.zeros((top + r, top + r)), np.zeros(top + r)
        for k, i in enumerate(at_rest.tolist()):
            own = slice(m + k * sides, m + (k + 1) * sides)
            pressed[3 * i + 1 : 3 * i + 3, own] = directions.T
            felt[own, 3 * i + 1 : 3 * i + 3] = directions
            matrix[own, top + k] = 1.0
            matrix[top + k, own] = -1.0
            matrix[top + k, i] = mu[i]
        matrix[:top, :top] = felt @ problem.matrix @ pressed
        offset[:top] = felt @ problem.rates.ravel()
        offset[top:] = (mu * problem.pressure)[at_rest]
        return cls(matrix, offset, pressed)

    def solved(self, method: str) -> Array:
        """Return the forces (m, 3) along normals and tangents."""
        solution: ContactSolution = solve(self.matrix, self.offset, method)
        return (self.pressed @ solution.force[: self.pressed.shape[1]]).reshape(-1, 3)


def named(reason: NoSolutionError, names: list[str]) -> NoSolutionError:
    """Return the same error with the names of the contacts and what can be done."""
    some = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    advice = (
        "; try shape='pyramid' or fewer contacts (redundant ones can be left out)"
        if isinstance(reason, NotConverged)
        else ""
    )
    return NoSolutionError(f"contacts {some}: {reason}{advice}")

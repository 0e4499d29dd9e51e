"""Physically possible parameters: fits in which every pseudo-inertia is positive definite.

The fit minimizes ``|A x - b|^2 / 2`` in units of the noise, plus a regularization toward the robot's own values, which
decides what the motion does not determine. It is either the log-det divergence of pseudo-inertias, a distance between
bodies that does not depend on units (Lee, Wensing and Park, 2020), or the Euclidean distance. There are three methods:
Newton steps with a barrier, written here; a semidefinite program solved by CVXPY; and Gauss-Newton steps in
log-Cholesky coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import IdentificationError, OptionError, refuse_unknown
from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from .pseudo_inertia import BASIS, from_log_cholesky, log_cholesky_slope, matrix_of, to_log_cholesky

WAYS = ("barrier", "sdp", "log_cholesky")
PULLS = ("log_det", "euclidean")


@dataclass(frozen=True)
class ConsistentFit:
    """A fitting problem with its conditions."""

    a: Array  # (m, p)
    b: Array  # (m, p)
    """The equations, in units of the noise."""
    bodies: Sequence[Array]
    """Indices in x of the parameters of each body."""
    positive: Array
    """Indices of other parameters that must not be negative: rotor inertias, friction."""
    reference: Array  # (p,)
    """The values to stay near; those of bodies must be physically possible."""
    pull: str = "log_det"  # {"log_det", "euclidean"}
    weight: float | Array = 1.0
    """Weight of the pull: with 1, a change of a body by a factor e counts as much as one standard deviation."""

    def __post_init__(self) -> None:
        refuse_unknown("pull", self.pull, PULLS)
        weights = np.asarray(self.weight, dtype=float)
        if not np.all((weights > 0.0) & (weights < np.inf)):
            raise OptionError(f"pull_weight must be a positive number, not {self.weight!r}")

    @property
    def weights(self) -> Array:
        """The weight of the pull of each body."""
        return np.broadcast_to(np.asarray(self.weight, dtype=float), (len(self.bodies),))

    @property
    def weight_of_parameters(self) -> Array:
        """The weight with which each parameter is pulled to its reference; zero if it belongs to no body."""
        found = np.zeros(len(self.reference))
        for own, weight in zip(self.bodies, self.weights, strict=True):
            found[own] = weight
        return found

    @property
    def scale(self) -> Array:
        """The scale of each parameter in the Euclidean pull: the largest one of its body, or of its kind."""
        found = np.maximum(np.abs(self.reference), 1e-3)
        for own in self.bodies:
            ten = np.abs(self.reference[own])
            found[own[:6]], found[own[6:9]], found[own[9]] = max(ten[:6].max(), 1e-4), max(ten[6:9].max(), 1e-3), ten[9]
        return found

    def of_bodies(self) -> Array:
        """Return all indices of bodies' parameters."""
        return np.concatenate([np.asarray(own) for own in self.bodies]) if len(self.bodies) else np.zeros(0, dtype=int)


def consistent(problem: ConsistentFit, way: str = "barrier") -> Array:
    """Return the best fit in which all bodies are possible.

    way: {"barrier", "sdp", "log_cholesky"}
    """
    refuse_unknown("way to consistent parameters", way, WAYS)
    settled, kept = _settled(problem)
    x = problem.reference.copy()
    try:
        ways = {"barrier": by_barrier, "sdp": by_semidefinite_program, "log_cholesky": by_log_cholesky}
        x[kept] = ways[way](settled)
    except np.linalg.LinAlgError:  # the bodies have shrunk to nothing
        raise IdentificationError(_NOT_FOUND) from None
    return x


def _settled(problem: ConsistentFit) -> tuple[ConsistentFit, Array]:
    """Return a problem with a unique solution, and the parameters that remain in it.

    Parameters of bodies are pulled toward their reference. For rotors and friction there is no such pull: those that no
    row depends on are kept, and the others are pulled so weakly that only combinations that the rows do not determine
    are affected.
    """
    size = np.linalg.norm(problem.a, axis=0)
    others = np.ones(len(size), dtype=bool)
    others[problem.of_bodies()] = False
    kept = np.flatnonzero(~others | (size > tuned.IDLE * np.max(size, initial=0.0)))
    drawn = np.flatnonzero(others[kept])
    rows = np.zeros((len(drawn), len(kept)))
    rows[np.arange(len(drawn)), drawn] = tuned.FAINT * size[kept[drawn]]
    place = np.full(len(size), -1)
    place[kept] = np.arange(len(kept))
    reference = problem.reference[kept]
    positive = place[problem.positive]
    return replace(
        problem,
        a=np.concatenate([problem.a[:, kept], rows]),
        b=np.concatenate([problem.b, rows @ reference]),
        bodies=[place[own] for own in problem.bodies],
        positive=positive[positive >= 0],
        reference=reference,
    ), kept


# ------------------------------------------------------------------ a barrier and Newton's steps


def by_barrier(problem: ConsistentFit) -> Array:
    """Minimize by damped Newton steps, with logarithmic barriers that are weakened step by step."""
    x = problem.reference.copy()
    x[problem.positive] = np.maximum(x[problem.positive], 1e-3)
    normal, right = problem.a.T @ problem.a, problem.a.T @ problem.b
    left = 0.0
    for weight, barrier in _ever_weaker(problem):
        x, left = _newton(replace(problem, weight=weight), normal, right, x, barrier)
    if left > tuned.NEGLIGIBLE * 0.5 * float(np.sum((problem.a @ x - problem.b) ** 2)):
        raise IdentificationError(_NOT_FOUND)
    return x


def _ever_weaker(problem: ConsistentFit) -> Iterator[tuple[Array, float]]:
    """Yield weights of pull and barrier, from strong ones to the final ones; otherwise steps do not converge."""
    strong = max(1e4, 0.01 * float(problem.b @ problem.b))
    barrier = 1.0
    weights = np.maximum(strong, problem.weights) if problem.pull == "log_det" else problem.weights
    yield weights, barrier
    while barrier > tuned.LAST_BARRIER or np.any(weights > problem.weights):
        barrier, weights = (
            max(tuned.BARRIER_WEAKER * barrier, tuned.LAST_BARRIER),
            np.maximum(tuned.WEAKER * weights, problem.weights),
        )
        yield weights, barrier


def _newton(problem: ConsistentFit, normal: Array, right: Array, x: Array, barrier: float) -> tuple[Array, float]:
    """Minimize by Newton steps; return the point, and the gain of another step: zero if they converged.

    If the data call for parameters that are far from possible, bodies shrink toward zero, step after step.
    """
    decrease = 0.0
    for _ in range(tuned.NEWTON_STEPS):
        gradient, hessian = _slopes(problem, normal, right, x, barrier)
        scale = 1.0 / np.sqrt(np.diagonal(hessian))
        step = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)
        decrease = -float(gradient @ step)
        now, length = _value(problem, normal, right, x, barrier), 1.0
        if decrease < 1e-9 + 1e-12 * abs(now):  # rounding hides the gain, but further steps still improve some digits
            last = x + step
            return last if np.isfinite(_value(problem, normal, right, last, barrier)) else x, 0.0
        while not _value(problem, normal, right, x + length * step, barrier) <= now - 1e-4 * length * decrease:
            length *= 0.5
            if length < 1e-12:
                return x, 0.0  # only rounding is left: nothing more can be gained
        x = x + length * step
    return x, decrease


def _value(problem: ConsistentFit, normal: Array, right: Array, x: Array, barrier: float) -> float:
    total = 0.5 * x @ normal @ x - right @ x
    pulled = problem.pull == "log_det"
    for own, weight in zip(problem.bodies, problem.weights if pulled else [barrier] * len(problem.bodies), strict=True):
        matrix = matrix_of(x[own])
        if np.any(np.linalg.eigvalsh(matrix) <= 0.0):
            return np.inf
        total -= weight * np.linalg.slogdet(matrix)[1]
        if pulled:
            total += weight * np.trace(np.linalg.solve(matrix_of(problem.reference[own]), matrix))
    if problem.pull == "euclidean":
        total += 0.5 * np.sum(problem.weight_of_parameters * ((x - problem.reference) / problem.scale) ** 2)
    kept = x[problem.positive]
    if np.any(kept <= 0.0):
        return np.inf
    return float(total - barrier * np.sum(np.log(kept)))


def _slopes(problem: ConsistentFit, normal: Array, right: Array, x: Array, barrier: float) -> tuple[Array, Array]:
    gradient, hessian = normal @ x - right, normal.copy()
    pulled = problem.pull == "log_det"
    for own, weight in zip(problem.bodies, problem.weights if pulled else [barrier] * len(problem.bodies), strict=True):
        inverse = np.linalg.inv(matrix_of(x[own]))
        slopes = inverse @ BASIS
        gradient[own] -= weight * np.einsum("kii->k", slopes)
        hessian[np.ix_(own, own)] += weight * np.einsum("kij,lji->kl", slopes, slopes)
        if pulled:
            gradient[own] += weight * np.einsum("ij,kji->k", np.linalg.inv(matrix_of(problem.reference[own])), BASIS)
    if problem.pull == "euclidean":
        stiffness = problem.weight_of_parameters / problem.scale**2
        gradient += stiffness * (x - problem.reference)
        hessian += np.diag(stiffness)
    kept = problem.positive
    gradient[kept] -= barrier / x[kept]
    hessian[kept, kept] += barrier / x[kept] ** 2
    return gradient, hessian


# ------------------------------------------------------------------ a semidefinite program


def by_semidefinite_program(problem: ConsistentFit) -> Array:
    """Solve the problem with CVXPY and the solver Clarabel."""
    cvxpy = _cvxpy()
    size = np.ones(len(problem.reference))
    for own in problem.bodies:
        size[own] = problem.scale[own]
    z = cvxpy.Variable(len(size))
    factor = np.asarray(np.linalg.qr(np.column_stack([problem.a * size, problem.b]), mode="r"))
    goal = 0.5 * cvxpy.sum_squares(factor[:, :-1] @ z - factor[:, -1])
    limits = [z[int(k)] >= 0.0 for k in problem.positive]
    for own, weight in zip(problem.bodies, problem.weights, strict=True):
        matrix = sum(z[int(k)] * size[k] * BASIS[i] for i, k in enumerate(own))
        if problem.pull == "log_det":
            root = np.linalg.inv(np.linalg.cholesky(matrix_of(problem.reference[own])))
            relative = root @ matrix @ root.T
            goal += weight * (cvxpy.trace(relative) - cvxpy.log_det(relative))
        else:
            scale = np.diag(1.0 / np.sqrt(np.diagonal(matrix_of(problem.reference[own]))))
            limits.append(scale @ matrix @ scale >> 0)
    if problem.pull == "euclidean":
        own = problem.of_bodies()
        away = z[own] - problem.reference[own] / size[own]
        strength = np.sqrt(problem.weight_of_parameters[own]) * size[own] / problem.scale[own]
        goal += 0.5 * cvxpy.sum_squares(cvxpy.multiply(strength, away))
    program = cvxpy.Problem(cvxpy.Minimize(goal), limits)
    try:
        program.solve(solver="CLARABEL")
    except cvxpy.error.SolverError as trouble:
        raise IdentificationError(f"{_FAILED}: {str(trouble).splitlines()[0]}; {_INSTEAD}") from None
    if program.status not in ("optimal", "optimal_inaccurate") or z.value is None:
        raise IdentificationError(f"{_FAILED}: it is {program.status}; {_INSTEAD}")
    return np.asarray(z.value) * size


_NOT_FOUND = (
    "no physically consistent parameters were found: the best fit to the data is far from possible. The forces may "
    "have the wrong sign or unit, see the result of consistent=None; otherwise give another pull_weight"
)
_FAILED = "the semidefinite program has no solution that Clarabel can find"
_INSTEAD = "try consistent='barrier' or 'log_cholesky', or another pull_weight"


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise OptionError(
            "consistent='sdp' needs the packages cvxpy and clarabel: pip install 'kinetree[identification]'; "
            "consistent='barrier' works without them"
        ) from None
    return cvxpy


# ------------------------------------------------------------------ log-Cholesky coordinates


def by_log_cholesky(problem: ConsistentFit) -> Array:
    """Minimize over coordinates in which every body is possible; numbers that must be positive are exponentials."""
    x = problem.reference.copy()
    x[problem.positive] = np.maximum(x[problem.positive], 1e-3)
    theta = x.copy()
    for own in problem.bodies:
        theta[own] = to_log_cholesky(x[own])
    theta[problem.positive] = np.log(x[problem.positive])
    for weight, barrier in _ever_weaker(problem):
        theta = _levenberg_marquardt(replace(problem, weight=weight), theta, barrier)
    return _from_coordinates(problem, theta)


def _from_coordinates(problem: ConsistentFit, theta: Array) -> Array:
    found = theta.copy()
    for own in problem.bodies:
        found[own] = from_log_cholesky(theta[own])
    found[problem.positive] = np.exp(theta[problem.positive])
    return found


def _levenberg_marquardt(problem: ConsistentFit, theta: Array, barrier: float) -> Array:
    """Return the coordinates of the minimum, by damped Gauss-Newton steps."""
    normal, right = problem.a.T @ problem.a, problem.a.T @ problem.b
    x = _from_coordinates(problem, theta)
    damping, now = 1e-3, _value(problem, normal, right, x, barrier)
    for _ in range(tuned.NEWTON_STEPS):
        gradient, hessian = _slopes(problem, normal, right, x, barrier)
        slope = np.eye(len(x))
        for own in problem.bodies:
            slope[np.ix_(own, own)] = log_cholesky_slope(theta[own])
        slope[problem.positive, problem.positive] = x[problem.positive]
        curvature, downhill = slope.T @ hessian @ slope, -slope.T @ gradient
        diagonal = np.maximum(np.diagonal(curvature), 1e-12 * np.max(np.diagonal(curvature)))
        while True:
            step = np.linalg.solve(curvature + damping * np.diag(diagonal), downhill)
            step = np.clip(step, -tuned.LONGEST_STEP, tuned.LONGEST_STEP)
            tried = _from_coordinates(problem, np.maximum(theta + step, tuned.SMALLEST_COORDINATE))
            value = _value(problem, normal, right, tried, barrier)
            if value <= now:
                break
            damping *= 4.0
            if damping > 1e12:
                return theta
        gained, now = now - value, value
        theta, x, damping = np.maximum(theta + step, tuned.SMALLEST_COORDINATE), tried, max(damping * 0.2, 1e-12)
        if gained < 1e-10 * max(1.0, abs(now)):
            return theta
    return theta

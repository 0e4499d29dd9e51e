"""Motions that excite a robot's parameters well: Fourier series and splines, within all limits.

Both are linear in the unknowns: ``q = center + B x``, with one column of x per joint. The condition number of the
equations (or their determinant) plus a penalty for exceeding the limits is minimized with gradients from several random
starts: eigenvectors give the derivatives of eigenvalues, and derivatives of equations and limits with respect to the
motion are exact. At the end, the motion is shrunk around its center until it is within all limits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize

from ..algorithms.passes import Scalars
from ..algorithms.regressor import torque_regressor
from ..errors import IdentificationError, OptionError, ShapeError, UnsupportedError, explains_arguments, refuse_unknown
from ..evaluation.law_kernels import SlopeProgram, can_compile
from ..evaluation.small_matrices import one_blas_thread
from ..io.atomic_files import beside
from ..io.progress import in_steps
from ..io.tables.formats import format_of
from ..io.tables.writing import csv_text, write_parquet
from ..model.parameters import OF_BODIES
from ..motion.splines import Piecewise, sampled
from ..spatial import Scalar
from ..spatial.arrays import Array
from ..spatial.numbers import random_source, real_number
from . import tuned_constants as tuned
from .identifiable import Structure

if TYPE_CHECKING:
    from ..robot.robot import Robot

FORMS = ("fourier", "spline")
CRITERIA = ("condition", "determinant")


@dataclass(frozen=True)
class Limits:
    """The limits of a motion; arrays have one entry per joint, infinite if there is no limit."""

    lower: Array
    upper: Array
    """Limits of positions."""
    velocity: Array
    acceleration: Array
    effort: Array
    """Largest magnitudes."""
    clearance: Mapping[str, float]
    """Minimum heights above the ground, z = 0."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites parameters well.

    Attributes
    ----------
    t : ndarray (n,)
    q, v, a : ndarray (n, nv)
    tau : ndarray (n, nv)
        The joint forces that the robot, with its current parameters, needs for this motion.
    condition : float
        Condition number of the equations for the combinations that can be identified, in SI units.
    names : tuple of str
        Names of the joints.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    condition: float
    names: tuple[str, ...]

    def __repr__(self) -> str:
        fastest, longest = np.abs(self.v).max(), self.t[-1] - self.t[0]
        return (
            f"<Excitation of {len(self.names)} joints: {longest:.4g} s in {len(self.t)} samples, speeds up to "
            f"{fastest:.3g}, condition number {self.condition:.4g}>"
        )

    @property
    def trajectory(self) -> Piecewise:
        """The motion for controllers: quintics through all samples."""
        return sampled(self.t, self.q, self.v, self.a)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table with time, q, v and a, for controllers to replay: ``.csv``, ``.parquet`` or ``.npz``."""
        path = Path(path)
        kind = format_of(path)
        columns: dict[str, Array] = {"time": self.t}
        for key in ("q", "v", "a"):
            columns |= {f"{key}_{name}": x for name, x in zip(self.names, getattr(self, key).T, strict=True)}
        with beside(path) as place:
            if kind == ".csv":
                place.write_text(csv_text(columns), encoding="utf-8")
            elif kind == ".parquet":
                write_parquet(place, columns)
            else:
                with place.open("wb") as stream:
                    np.savez(stream, time=self.t, q=self.q, v=self.v, a=self.a)


@explains_arguments
@one_blas_thread()
def exciting_motion(
    robot: Robot,
    duration: float = 10.0,
    *,
    form: str = "fourier",
    count: int = 8,
    criterion: str = "condition",
    center: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    clearance: Mapping[str, float] | None = None,
    friction: bool = True,
    starts: int = 8,
    steps: int = 120,
    samples: int = 60,
    rate: float = 100.0,
    seed: int = 0,
    progress: bool = True,
) -> Excitation:
    """Find a motion from which a robot's parameters can be identified well.

    Parameters
    ----------
    robot : Robot
        A tree of joints with one coordinate each.
    duration : float
        Duration in seconds, which is the period of a Fourier series.
    form : {"fourier", "spline"}
        A finite Fourier series, or a quintic spline through points; both start from rest.
    count : int
        Number of harmonics of the series, or of points of the spline besides its ends.
    criterion : {"condition", "determinant"}
        Make the condition number of the equations small, or the determinant of their normal matrix large (D-optimal).
    center : array_like (n,), optional
        Center of the motion; by default the middle of the limits, or zero if there are none.
    velocity, acceleration, effort, lower, upper : array_like, optional
        Limits, one number or one per joint; by default those of the robot (for acceleration, ten times the velocity).
    clearance : mapping from frame to float, optional
        How high above the ground (z = 0) frames must stay.
    friction : bool
        Whether viscous friction, Coulomb friction and offsets are also to be identified.
    starts, steps : int
        Number of random initial motions, and of minimization steps from each.
    samples : int
        Number of times at which the equations are evaluated during the search.
    rate : float
        Samples per second of the result.
    seed : int
        Seed of the random starts.
    progress : bool
        Whether to show a progress bar on a terminal if the search takes longer than a second.

    Returns
    -------
    Excitation

    Examples
    --------
    ``kt.exciting_motion(robot, 10.0, velocity=1.5).save("excitation.csv")``
    """
    _check(robot, form, criterion, duration, count, starts)
    real_number(rate, "rate", positive=True, unit="hertz")
    limits = _limits(robot, velocity, acceleration, effort, lower, upper, clearance or {})
    middle = _center(robot, limits, center)
    names = tuple(n for n in robot.parameters().names if n.rpartition(".")[2] in OF_BODIES)
    independent = Structure(robot).groups(names).independent
    search = _ExcitationSearch(robot, limits, middle, independent, friction, criterion)
    basis = _basis(form, duration, count, np.linspace(0.0, duration, samples, endpoint=form == "spline"))
    rng = random_source(seed, "seed")

    def from_a_random_start() -> tuple[float, Array]:
        begin = _random_start(rng, basis, limits, middle, 0.7 if steps else 1.0)
        x = begin.reshape(-1)
        for search.penalty in tuned.PENALTIES if steps else ():
            x = minimize(
                lambda x: search.value_and_slope(x.reshape(begin.shape), basis),
                x, jac=True, method="L-BFGS-B", options={"maxiter": steps, "ftol": 1e-7},
            ).x  # fmt: skip
        shrunk = _within(search, x.reshape(begin.shape), form, duration, count, rate)
        return search.criterion_of(shrunk, basis), shrunk

    work = [(f"improving motion {k} of {starts}", from_a_random_start) for k in range(1, starts + 1)]
    _, best = min(in_steps(work, show=progress), key=lambda found: np.nan_to_num(found[0], nan=np.inf))
    return _finished(search, best, form, duration, count, rate)


def random_motion(
    robot: Robot, duration: float = 10.0, *, seed: int = 0, rate: float = 100.0, **options: Any
) -> Excitation:
    """Return a random Fourier series within the same limits, to compare with: see :func:`exciting_motion`."""
    return exciting_motion(robot, duration, starts=1, steps=0, seed=seed, rate=rate, **options)


# ------------------------------------------------------------------ arguments


def can_be_excited(robot: Robot) -> bool:
    """Return whether motions can be found for a robot: a tree of joints with one coordinate each."""
    return robot.loops is None and all(not j.mimic and j.nq == j.nv == 1 for j in robot.model.joints)


def _check(robot: Robot, form: str, criterion: str, duration: float, count: int, starts: int) -> None:
    refuse_unknown("form of motions", form, FORMS)
    refuse_unknown("criterion", criterion, CRITERIA)
    if not 0.0 < duration < np.inf:
        raise OptionError(f"duration must be a time in seconds, not {duration!r}")
    if count < 2 or starts < 1:
        raise OptionError(f"count must be at least 2 and starts at least 1, not {count} and {starts}")
    if robot.loops is not None:
        raise UnsupportedError(
            f"exciting motions are found for trees of joints with one coordinate each, and a motion of {robot.name!r} "
            f"as a tree would not close its loops: choose a motion of its independent joints "
            f"({', '.join(robot.loops.choice.independent())}) with many speeds and postures, and follow it; the other "
            "joints follow, and kt.identify takes what is measured"
        )
    if not can_be_excited(robot):
        odd = next(j.name for j in robot.model.joints if j.mimic or not j.nq == j.nv == 1)
        raise UnsupportedError(
            f"exciting motions are found for trees of joints with one coordinate each, unlike {odd!r}: give a floating "
            "robot without its base, and joints that mimic none, or choose a motion yourself"
        )


def _limits(
    robot: Robot, velocity: Any, acceleration: Any, effort: Any, lower: Any, upper: Any, clearance: Any
) -> Limits:
    def each(value: Any, own: Array, what: str) -> Array:
        found = own if value is None else np.asarray(value, dtype=float)
        if found.shape not in ((), (robot.nv,)):
            raise ShapeError(f"{what} must be one number, or one for each of {robot.nv} joints")
        return np.array(np.broadcast_to(found, (robot.nv,)), dtype=float)

    speeds = each(velocity, robot.velocity_limits, "velocity")
    low, high = each(lower, robot.lower_limits, "lower"), each(upper, robot.upper_limits, "upper")
    speeds = np.where(np.isfinite(speeds), speeds, 2.0)
    low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
    if np.any(low >= high) or np.any(speeds <= 0.0):
        raise OptionError("limits leave no room: lower must be below upper, and velocities above zero")
    for frame in clearance:
        robot.frame(frame)
    return Limits(
        low, high, speeds, each(acceleration, 10.0 * speeds, "acceleration"),
        each(effort, robot.effort_limits, "effort"), dict(clearance),
    )  # fmt: skip


def _center(robot: Robot, limits: Limits, given: ArrayLike | None) -> Array:
    middle = 0.5 * (limits.lower + limits.upper) if given is None else np.asarray(given, dtype=float)
    if middle.shape != (robot.nv,):
        raise ShapeError(f"center must have {robot.nv} positions, not shape {middle.shape}")
    for frame, height in limits.clearance.items():
        here = float(robot.pose(middle, frame)[2, 3])
        if here <= height:
            raise OptionError(
                f"{frame!r} is {here:.3g} m high at the center of the motion, not above {height:g} m: give center=, a "
                "configuration in which it is"
            )
    if np.any(np.abs(robot.gravity_force(middle)) >= limits.effort):
        raise OptionError("the robot cannot hold the center of the motion within its limits of effort")
    return middle


# ------------------------------------------------------------------ forms


def _basis(form: str, duration: float, count: int, t: Array) -> tuple[Array, Array, Array]:
    """Return the matrices of positions, velocities and accelerations, (n, k)."""
    if form == "spline":
        knots = np.linspace(0.0, duration, count + 2)
        rest = [(1, np.zeros(count + 2)), (2, np.zeros(count + 2))]
        curve = make_interp_spline(knots, np.eye(count + 2), k=5, bc_type=(rest, rest))
        return curve(t), curve(t, nu=1), curve(t, nu=2)
    w = 2.0 * np.pi / duration * np.arange(1, count + 1)
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = np.concatenate([sine / w, (cosine - 1.0) / w], axis=1)
    v = np.concatenate([cosine, -sine], axis=1)
    a = np.concatenate([-w * sine, -w * cosine], axis=1)
    start = np.zeros((2, 2 * count))  # velocity and acceleration at the start
    start[0, :count], start[1, count:] = 1.0, -w
    free = np.linalg.svd(start)[2][2:].T
    still = np.zeros((len(t), 1))
    away = np.ones((len(t), 1))  # the mean of the motion need not be the center
    return np.hstack([q @ free, away]), np.hstack([v @ free, still]), np.hstack([a @ free, still])


def _random_start(
    rng: np.random.Generator, basis: tuple[Array, Array, Array], limits: Limits, middle: Array, share: float
) -> Array:
    """Return random unknowns for a motion that uses a share of the limits of positions, velocities, accelerations."""
    x = rng.standard_normal((basis[0].shape[1], len(middle)))
    x -= np.linalg.lstsq(basis[0], np.ones(len(basis[0])), rcond=None)[0][:, None] * np.mean(basis[0] @ x, axis=0)
    room = np.minimum(limits.upper - middle, middle - limits.lower)
    shrink = np.minimum.reduce([
        room / np.abs(basis[0] @ x).max(axis=0), limits.velocity / np.abs(basis[1] @ x).max(axis=0),
        limits.acceleration / np.abs(basis[2] @ x).max(axis=0),
    ])  # fmt: skip
    return share * shrink * x


# ------------------------------------------------------------------ the search


class _ExcitationSearch:
    """The function that is minimized, and its gradient."""

    def __init__(
        self, robot: Robot, limits: Limits, middle: Array, independent: tuple[str, ...], friction: bool, criterion: str
    ) -> None:
        self.robot, self.limits, self.middle, self.independent = robot, limits, middle, independent
        self.friction, self.criterion, self.penalty = friction, criterion, tuned.PENALTIES[0]
        self.smooth = tuned.SMOOTH_SIGN * limits.velocity
        """Speeds at which the smoothed friction of the search changes sign."""

    def motion(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations, (n, joints)."""
        return self.middle + basis[0] @ x, basis[1] @ x, basis[2] @ x

    def columns(self, q: Array, v: Array, a: Array) -> Array:
        """Return the equations of the parameters, (n, joints, p): those of bodies, then friction joint by joint."""
        y = self.robot.regressor(q, v, a, parameters=self.independent)
        if not self.friction:
            return y
        rubbing = np.stack([v, np.tanh(v / self.smooth), np.ones_like(v)], axis=-1)
        own = rubbing[:, :, None, :] * np.eye(self.robot.nv)[:, :, None]
        return np.concatenate([y, own.reshape(*v.shape, -1)], axis=-1)

    def judged(self, y: Array) -> tuple[float, Array]:
        """Return the criterion, and its derivatives with respect to each entry of the equations.

        An eigenvalue of the normal matrix N with the eigenvector u changes by u^T dN u.
        """
        tall = y.reshape(-1, y.shape[-1])
        squares, u = np.linalg.eigh(tall.T @ tall)
        squares = np.maximum(squares, 1e-300)
        if self.criterion == "condition":
            share = np.zeros_like(squares)
            share[-1], share[0] = 1.0, -1.0
        else:
            share = np.full_like(squares, -1.0 / len(squares))
        slope = tall @ ((u * (share / squares)) @ u.T)
        return float(0.5 * np.sum(share * np.log(squares))), slope.reshape(y.shape)

    @cached_property
    def _regressor(self) -> SlopeProgram:
        tree, names = self.robot.model, self.independent

        def law(q: Scalars, v: Scalars, a: Scalars) -> list[Scalar]:
            found = torque_regressor(tree, q, v, a, tree.gravity, names, False)
            return [x for row in found for x in row]

        lengths = dict.fromkeys("qva", tree.nv)
        name = f"slopes of the regressor of {self.robot.name!r}"
        return SlopeProgram(name, law, lengths, "qva", can_compile(self.robot), self.robot.cpu)

    def _pulled(self, q: Array, v: Array, a: Array, slope: Array) -> list[Array]:
        """Return the derivatives with respect to the motion, from those with respect to its equations."""
        own = len(self.independent)
        flat = slope[..., :own].reshape(len(q), -1)
        found = np.split(self._regressor.gradient({"q": q, "v": v, "a": a}, flat), 3, axis=-1)
        if self.friction:
            joints = np.arange(self.robot.nv)
            by_v, by_sign = (slope[:, joints, own + 3 * joints + k] for k in (0, 1))
            found[1] = found[1] + by_v + by_sign / (self.smooth * np.cosh(v / self.smooth) ** 2)
        return found

    def excess(self, q: Array, v: Array, a: Array) -> Array:
        """Return by how much a motion exceeds its limits, relative to them, (n, limits)."""
        limits = self.limits
        span = limits.upper - limits.lower
        found = [
            (q - limits.upper) / span, (limits.lower - q) / span, np.abs(v) / limits.velocity - 1.0,
            np.abs(a) / limits.acceleration - 1.0,
        ]  # fmt: skip
        if np.isfinite(limits.effort).any():
            found.append(np.abs(self.robot.inverse_dynamics(q, v, a)) / limits.effort - 1.0)
        for frame, height in limits.clearance.items():
            found.append((height - self.robot.pose(q, frame)[..., 2, 3])[..., None])
        return np.concatenate(found, axis=-1)

    def _excess_pulled(self, q: Array, v: Array, a: Array, slope: Array) -> list[Array]:
        """Return the derivatives with respect to the motion, from those with respect to the excess over the limits."""
        limits, n = self.limits, self.robot.nv
        span = limits.upper - limits.lower
        above, below, fast, hard, rest = np.split(slope, [n, 2 * n, 3 * n, 4 * n], axis=-1)
        found = [(above - below) / span, fast * np.sign(v) / limits.velocity, hard * np.sign(a) / limits.acceleration]
        if np.isfinite(limits.effort).any():
            strong, rest = rest[:, :n], rest[:, n:]
            pushed = strong * np.sign(self.robot.inverse_dynamics(q, v, a)) / limits.effort
            slopes = self.robot.inverse_dynamics_derivatives(q, v, a)
            found = [x + (pushed[:, None] @ m)[:, 0] for x, m in zip(found, slopes, strict=True)]
        for k, frame in enumerate(limits.clearance):
            found[0] = found[0] - rest[:, k, None] * self.robot.jacobian(q, frame, "aligned")[:, 5]
        return found

    def value_and_slope(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[float, Array]:
        """Return the minimized function, criterion plus penalty, and its gradient."""
        motion = self.motion(x, basis)
        value, slope = self.judged(self.columns(*motion))
        over = np.maximum(self.excess(*motion) + (1.0 - tuned.ROOM), 0.0)
        found = self._pulled(*motion, slope), self._excess_pulled(*motion, 2.0 * self.penalty * over)
        gradient = sum(b.T @ (one + other) for b, one, other in zip(basis, *found, strict=True))
        return value + self.penalty * float(np.sum(over**2)), np.asarray(gradient).reshape(-1)

    def criterion_of(self, x: Array, basis: tuple[Array, Array, Array]) -> float:
        """Return the criterion alone."""
        return self.judged(self.columns(*self.motion(x, basis)))[0]


def _dense(form: str, duration: float, count: int, rate: float) -> tuple[Array, tuple[Array, Array, Array]]:
    t = np.arange(round(duration * rate) + 1) / rate
    return t, _basis(form, duration, count, t)


def _within(search: _ExcitationSearch, x: Array, form: str, duration: float, count: int, rate: float) -> Array:
    """Return the motion, shrunk if necessary to stay within all limits at all samples of the result."""
    _, basis = _dense(form, duration, count, rate)

    def keeps(share: float) -> bool:
        return bool(np.max(search.excess(*search.motion(share * x, basis))) <= 0.0)

    if keeps(1.0):
        return x
    low, high = 0.0, 1.0
    for _ in range(20):
        share = 0.5 * (low + high)
        low, high = (share, high) if keeps(share) else (low, share)
    if low == 0.0:
        raise IdentificationError("no motion around the center keeps all limits: give another center, or wider limits")
    return low * x


def _finished(search: _ExcitationSearch, x: Array, form: str, duration: float, count: int, rate: float) -> Excitation:
    t, basis = _dense(form, duration, count, rate)
    q, v, a = search.motion(x, basis)
    measure = _ExcitationSearch(
        search.robot, search.limits, search.middle, search.independent, search.friction, "condition"
    )
    tau = search.robot.inverse_dynamics(q, v, a)
    return Excitation(
        t, q, v, a, tau, float(np.exp(measure.judged(measure.columns(q, v, a))[0])), tuple(search.robot.v_names)
    )

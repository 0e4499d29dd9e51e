"""Motions that tell a robot's parameters well: Fourier series and splines, within all limits.

Both are linear in what is looked for: ``q = center + B x``, a column of x per joint.  The condition number of the
equations (or their determinant) and a penalty for what leaves the limits are minimized by gradient from several random
starts; all slopes come from one batch of motions.  At the end a motion is shrunk around its center until it keeps to
every limit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize

from ..errors import IdentificationError, OptionError, ShapeError, UnknownNameError, UnsupportedError
from ..io.atomic_files import beside
from ..io.progress import in_steps
from ..io.tables.formats import format_of
from ..io.tables.writing import csv_text, write_parquet
from ..model.parameters import OF_BODIES
from ..motion.splines import Piecewise, sampled
from ..spatial.arrays import Array
from ..spatial.numbers import random_source, real_number
from . import tuned
from .identifiable import Structure

if TYPE_CHECKING:
    from ..robot.robot import Robot

FORMS = ("fourier", "spline")
CRITERIA = ("condition", "determinant")


@dataclass(frozen=True)
class Limits:
    """What a motion must keep to; arrays have an entry per joint, infinite where there is no limit.

    Attributes
    ----------
    lower, upper : ndarray
        Positions.
    velocity, acceleration, effort : ndarray
        Largest sizes.
    clearance : mapping from frame to float
        Least heights above the ground, z = 0.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    clearance: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that tells parameters well.

    Attributes
    ----------
    t : ndarray (n,)
    q, v, a : ndarray (n, nv)
    tau : ndarray (n, nv)
        What the robot as it is needs for it.
    condition : float
        Condition number of the equations of the combinations that can be told, in SI units.
    names : tuple of str
        Of the joints.
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
    starts: int = 4,
    steps: int = 60,
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
        In seconds; a Fourier series begins anew after it.
    form : {"fourier", "spline"}
        A finite Fourier series, or a spline of the fifth degree through points; both start from rest.
    count : int
        Harmonics of the series, or points of the spline beside its ends.
    criterion : {"condition", "determinant"}
        Make the condition number of the equations small, or the determinant of their normal matrix large (D-optimal).
    center : array_like (n,), optional
        What positions move around; the middle of the limits, or zero where there are none.
    velocity, acceleration, effort, lower, upper : array_like, optional
        Limits, one number or one per joint; those of the robot when left out (acceleration: ten times the velocity).
    clearance : mapping from frame to float, optional
        How high above the ground (z = 0) frames must stay.
    friction : bool
        Whether viscous and Coulomb friction and an offset are to be told, too.
    starts, steps : int
        Random motions to begin with, and steps of the minimization from each.
    samples : int
        At how many times the equations are written while searching.
    rate : float
        Samples per second of the result.
    seed : int
        Of the random starts.
    progress : bool
        Show a bar, on a terminal, when it takes longer than a second.

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
        return float(search.criterion_of(shrunk, basis)), shrunk

    work = [(f"improving motion {k} of {starts}", from_a_random_start) for k in range(1, starts + 1)]
    _, best = min(in_steps(work, show=progress), key=lambda found: np.nan_to_num(found[0], nan=np.inf))
    return _finished(search, best, form, duration, count, rate)


def random_motion(
    robot: Robot, duration: float = 10.0, *, seed: int = 0, rate: float = 100.0, **options: Any
) -> Excitation:
    """Return a random Fourier series within the same limits, to compare with: see :func:`exciting_motion`."""
    return exciting_motion(robot, duration, starts=1, steps=0, seed=seed, rate=rate, **options)


# ------------------------------------------------------------------ what was asked for


def can_be_excited(robot: Robot) -> bool:
    """Tell whether motions are found for a robot: a tree of joints with one coordinate each."""
    return robot.loops is None and all(not j.mimic and j.nq == j.nv == 1 for j in robot.model.joints)


def _check(robot: Robot, form: str, criterion: str, duration: float, count: int, starts: int) -> None:
    if form not in FORMS:
        raise UnknownNameError("form of motions", form, FORMS)
    if criterion not in CRITERIA:
        raise UnknownNameError("criterion", criterion, CRITERIA)
    if not 0.0 < duration < np.inf:
        raise OptionError(f"duration must be a time in seconds, not {duration!r}")
    if count < 2 or starts < 1:
        raise OptionError(f"count must be at least 2 and starts at least 1, not {count} and {starts}")
    if not can_be_excited(robot):
        raise UnsupportedError(
            "exciting motions are found for trees of joints with one coordinate each: give a mechanism's tree, or a "
            "floating robot without its base"
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
    away = np.ones((len(t), 1))  # what a motion turns around need not be the center
    return np.hstack([q @ free, away]), np.hstack([v @ free, still]), np.hstack([a @ free, still])


def _random_start(
    rng: np.random.Generator, basis: tuple[Array, Array, Array], limits: Limits, middle: Array, share: float
) -> Array:
    """Return random numbers for a motion that uses a share of the limits of positions, velocities, accelerations."""
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
    """What is minimized, for a batch of motions at once."""

    def __init__(
        self, robot: Robot, limits: Limits, middle: Array, independent: tuple[str, ...], friction: bool, criterion: str
    ) -> None:
        self.robot, self.limits, self.middle, self.independent = robot, limits, middle, independent
        self.friction, self.criterion, self.penalty = friction, criterion, tuned.PENALTIES[0]

    def motion(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations, (..., n, joints)."""
        return self.middle + basis[0] @ x, basis[1] @ x, basis[2] @ x

    def criteria(self, q: Array, v: Array, a: Array) -> Array:
        """Return what is to be small, per motion."""
        y = self.robot.regressor(q, v, a, parameters=self.independent)
        if self.friction:
            joints = self.robot.nv
            more = np.zeros((*y.shape[:-1], 3 * joints))
            for j in range(joints):
                more[..., j, 3 * j] = v[..., j]
                more[..., j, 3 * j + 1] = np.tanh(v[..., j] / (0.05 * self.limits.velocity[j]))
                more[..., j, 3 * j + 2] = 1.0
            y = np.concatenate([y, more], axis=-1)
        tall = y.reshape(*y.shape[:-3], -1, y.shape[-1])
        normal = np.swapaxes(tall, -1, -2) @ tall
        s = np.sqrt(np.maximum(np.linalg.eigvalsh(normal), 1e-300))
        if self.criterion == "condition":
            return np.asarray(np.log(s[..., -1] / s[..., 0]))
        return np.asarray(-np.mean(np.log(s), axis=-1))

    def excess(self, q: Array, v: Array, a: Array) -> Array:
        """Return by how much a motion leaves its limits at worst, as a share of them, (..., limits)."""
        limits = self.limits
        span = limits.upper - limits.lower
        found = [
            (q - limits.upper) / span, (limits.lower - q) / span, np.abs(v) / limits.velocity - 1.0,
            np.abs(a) / limits.acceleration - 1.0,
        ]  # fmt: skip
        if np.isfinite(limits.effort).any():
            found.append(np.abs(self.robot.inverse_dynamics(q, v, a)) / limits.effort - 1.0)
        for frame, height in limits.clearance.items():
            found.append((height - self.robot.pose(q, frame)[..., 2, 3])[..., None] * np.ones(q.shape[-1]))
        return np.concatenate(found, axis=-1)

    def values(self, x: Array, basis: tuple[Array, Array, Array]) -> Array:
        """Return criterion and penalty, per motion."""
        q, v, a = self.motion(x, basis)
        over = np.maximum(self.excess(q, v, a) + (1.0 - tuned.ROOM), 0.0)
        return self.criteria(q, v, a) + self.penalty * np.sum(over**2, axis=(-1, -2))

    def value_and_slope(self, x: Array, basis: tuple[Array, Array, Array]) -> tuple[float, Array]:
        """Return what is minimized and its gradient, by differences in one batch."""
        size = max(1e-3, float(np.abs(x).max()))
        shifts = tuned.SLOPE_STEP * size * np.eye(x.size).reshape(x.size, *x.shape)
        found = self.values(np.concatenate([x[None], x + shifts]), basis)
        return float(found[0]), (found[1:] - found[0]) / (tuned.SLOPE_STEP * size)

    def criterion_of(self, x: Array, basis: tuple[Array, Array, Array]) -> float:
        """Return the criterion alone."""
        return float(self.criteria(*self.motion(x, basis)))


def _dense(form: str, duration: float, count: int, rate: float) -> tuple[Array, tuple[Array, Array, Array]]:
    t = np.arange(round(duration * rate) + 1) / rate
    return t, _basis(form, duration, count, t)


def _within(search: _ExcitationSearch, x: Array, form: str, duration: float, count: int, rate: float) -> Array:
    """Return the motion, smaller if need be, so that it keeps to all limits at all samples of the result."""
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
        raise IdentificationError(
            "no motion around the center keeps to all limits: give another center, or wider limits"
        )
    return low * x


def _finished(search: _ExcitationSearch, x: Array, form: str, duration: float, count: int, rate: float) -> Excitation:
    t, basis = _dense(form, duration, count, rate)
    q, v, a = search.motion(x, basis)
    measure = _ExcitationSearch(
        search.robot, search.limits, search.middle, search.independent, search.friction, "condition"
    )
    tau = search.robot.inverse_dynamics(q, v, a)
    return Excitation(t, q, v, a, tau, float(np.exp(measure.criteria(q, v, a))), tuple(search.robot.v_names))

"""Maps of a workspace: where a frame can be, its manipulability (margin to singularities), force and stiffness.

A platform is moved from point to neighboring point, a whole front at a time, first far from singularities and then
nearer, so that it stays on the branch it started on; an arm is moved to all points at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ExplainsArguments, OptionError, ShapeError, SingularityWarning, UnknownNameError, warn
from ..io.atomic_files import beside
from ..io.paths import as_path
from ..io.pictures import drawing
from ..io.tables.text import TextTable
from ..io.tables.writing import csv_text
from ..robot.platform import Platform
from ..robot.robot import Robot, require_robot
from ..spatial.arrays import Array, as_array
from .inverse_kinematics import inverse_kinematics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS = {"reach": "", "margin": "", "force": "N", "stiffness": "N/m"}
"""The maps and their units."""

MEANINGS = {
    "reach": "1 where the frame can be",
    "margin": "distance from singularities, 0 to 1",
    "force": "force in any direction, with the motors' limits and its own weight [N]",
    "stiffness": "least stiffness of the motors against a force [N/m]",
}

LONGEST_LABEL = 38
"""The most letters of a line next to a color bar."""

LEEWAY = 1e-9
"""Tolerance of limits, in radians or meters."""

WIDE = (0.1, 0.01)
"""A platform first goes from point to point only where its margin is at least the first of these, then the second."""

SAME = 1e-3
"""What is found directly and on a straight way is the same branch if no joint differs by more, in radians or meters."""

CLEAR = 1e-4
"""Nearer to singularities a platform does not go on: branches meet there."""

STARTS = 10
"""Number of starts for each point of an arm."""

MOST_SLICES = 6
"""The most pictures of one map."""

SINGULAR = 1e-6
"""A margin below this counts as zero."""


@dataclass(frozen=True, eq=False)
class Workspace(ExplainsArguments):
    """The result for the points of a grid; ``print`` it for a summary, ``plot`` a map.

    Attributes
    ----------
    x, y, z : ndarray (nx,), (ny,), (nz,)
        Coordinates of the points, in meters.
    reached : ndarray (nx, ny, nz) of bool
    q : ndarray (nx, ny, nz, nq)
        A configuration at each point; NaN where there is none.
    maps : dict of ndarray (nx, ny, nz)
        ``"margin"``, and ``"force"`` and ``"stiffness"`` if the numbers for them are known; NaN outside.
    crossed : ndarray (nx, ny, nz) of bool
        Points of a platform beyond forward singularities (type 2) of its motors, seen from ``q_guess``; False also
        where that is not defined, see :meth:`Platform.sides`.
    """

    name: str
    frame: str
    x: Array
    y: Array
    z: Array
    reached: Array
    q: Array
    maps: dict[str, Array]
    crossed: Array
    q_names: tuple[str, ...] = field(repr=False)

    @property
    def share(self) -> float:
        """The fraction of the grid that is reached."""
        return float(self.reached.mean())

    @property
    def size(self) -> float:
        """Length, area or volume that is reached, in m, m^2 or m^3 by the number of axes that vary."""
        steps = [(axis[-1] - axis[0]) / (len(axis) - 1) for axis in (self.x, self.y, self.z) if len(axis) > 1]
        return float(self.reached.sum() * np.prod(steps))

    @property
    def table(self) -> TextTable:
        """A row per map: the least, the median and the largest value where the frame can be."""
        rows = []
        for what, values in self.maps.items():
            inside = values[self.reached]
            numbers = [f(inside) for f in (np.min, np.median, np.max)] if len(inside) else ["", "", ""]
            rows.append((what, *numbers, MEANINGS[what]))
        free = [axis for axis in self._axes().values() if len(axis) > 1]
        unit = {0: "", 1: " m", 2: " m^2", 3: " m^3"}[len(free)]
        size = f", {self.size:.4g}{unit}" if free else ""
        held = "".join(f", {name} = {_plain(axis[0]):.4g} m" for name, axis in self._axes().items() if len(axis) == 1)
        count = f"{self.reached.sum()} of {self.reached.size} points{size}"
        if self.crossed.any():
            count += f" ({self.crossed.sum()} of them only through forward singularities)"
        title = f"{self.frame!r} of {self.name!r} reaches {count}{f' at{held[1:]}' if held and free else ''}"
        return TextTable(("map", "least", "median", "largest", "what it is"), rows, title)

    def _axes(self) -> dict[str, Array]:
        return {"x": self.x, "y": self.y, "z": self.z}

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table.html()

    def columns(self) -> dict[str, Array]:
        """Return columns (n,) with a row per point: coordinates, whether it is reached, the maps, the configuration."""
        grid = np.meshgrid(self.x, self.y, self.z, indexing="ij")
        found = {key: values.ravel() for key, values in zip("xyz", grid, strict=True)}
        found["reached"], found["crossed"] = (x.ravel().astype(int) for x in (self.reached, self.crossed))
        found |= {what: values.ravel() for what, values in self.maps.items()}
        return found | {f"q_{name}": self.q[..., k].ravel() for k, name in enumerate(self.q_names)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`columns` to a ``.csv`` file, completely or not at all."""
        place = as_path(path, "a table")
        if place.suffix.lower() != ".csv":
            raise OptionError(f"a workspace is saved as .csv, not {place.suffix or 'without ending'!r}: {place}")
        with beside(place) as other:
            other.write_text(csv_text(self.columns()), encoding="utf-8", newline="\n")

    def plot(self, what: str = "margin", path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw a map: a curve along one axis, a picture over two, slices through three.

        Parameters
        ----------
        what : {"reach", "margin", "force", "stiffness"}
        path : path, optional
            Where to save the picture.

        Returns
        -------
        matplotlib.figure.Figure
        """
        known = {"reach": self.reached.astype(float), **self.maps}
        if what not in known:
            if what in UNITS:
                missing = {"force": "limits of the motors' forces: efforts=", "stiffness": "stiffness="}[what]
                raise OptionError(f"there is no map of the {what}: give workspace() {missing}")
            raise UnknownNameError("map of a workspace", what, known)
        slices = list(self._slices(np.where(self.reached, known[what], np.nan)))
        inside = known[what][self.reached]
        low, high = (float(inside.min()), float(inside.max())) if len(inside) and what != "reach" else (0.0, 2.0)
        rows, columns = -(-len(slices) // 3), min(3, len(slices))
        with drawing((1.0 + 4.0 * columns, 0.6 + 3.6 * rows), path) as figure:
            drawn, axes = None, [figure.add_subplot(rows, columns, k + 1) for k in range(len(slices))]
            for panel, (title, names, places, values) in zip(axes, slices, strict=True):
                panel.set_title(title)
                panel.set_xlabel(f"{names[0]} [m]")
                if len(names) == 1:
                    panel.plot(places[0], values, marker=".")
                    panel.set_ylabel(MEANINGS[what])
                    continue
                panel.set_ylabel(f"{names[1]} [m]")
                panel.set_aspect("equal")
                panel.set_facecolor("0.93")
                panel.grid(False)
                drawn = panel.pcolormesh(*places, values.T, shading="nearest", vmin=low, vmax=high)
            if drawn is not None and what != "reach":  # this map has no values: the frame can be where it is colored
                figure.colorbar(drawn, ax=axes, label=fill(MEANINGS[what], LONGEST_LABEL))
            figure.suptitle(f"{self.frame} of {self.name}")
        return figure

    def _slices(self, values: Array) -> Iterator[tuple[str, list[str], list[Array], Array]]:
        """Yield the title, names and coordinates of the axes, and values of each picture."""
        axes = self._axes()
        free = [name for name, axis in axes.items() if len(axis) > 1]
        held = ", ".join(f"{name} = {_plain(axis[0]):.4g} m" for name, axis in axes.items() if len(axis) == 1)
        if len(free) < 3:
            names = free or ["x"]
            yield held, names, [axes[name] for name in names], values.reshape([len(axes[name]) for name in names])
            return
        for k in np.unique(np.linspace(0, len(self.z) - 1, min(MOST_SLICES, len(self.z))).round().astype(int)):
            yield f"z = {_plain(self.z[k]):.4g} m", ["x", "y"], [self.x, self.y], values[:, :, k]


def _plain(x: float) -> float:
    """Return a coordinate for display: zero if only rounding is left."""
    return round(float(x), 12) + 0.0


def workspace(
    robot: Robot | Platform, frame: str | None = None, *, x: ArrayLike | None = None, y: ArrayLike | None = None,
    z: ArrayLike | None = None, rotation: ArrayLike | None = None, q_guess: ArrayLike | None = None,
    efforts: ArrayLike | None = None, stiffness: ArrayLike | None = None, limits: bool = True, threads: int = 1,
) -> Workspace:  # fmt: skip
    """Return which points of a grid a frame can reach, and its margin, force and stiffness there.

    Parameters
    ----------
    robot : Robot, Mechanism or Platform
        For a mechanism with loops, a platform says whether the orientation of its frame matters; for the mechanism
        itself, it does not.
    frame : str, optional
        A body or frame; a platform has its own.
    x, y, z : float or array_like, shape (n,), optional
        Coordinates of the grid in the world, in meters; by default those of the frame at ``q_guess``.
    rotation : array_like, shape (3, 3), optional
        The orientation that the frame keeps.  By default that at ``q_guess`` for platforms whose orientation matters,
        and any for arms.
    q_guess : array_like, shape (nq,), optional
        Where to start; for a mechanism it decides the branch.  ``assembled()`` or the neutral configuration by
        default.  What can be reached only through inverse singularities (type 1) or those of the constraints, where
        branches meet, is not in the map, and a warning counts it.  What can be reached only through forward
        singularities (type 2), where the motors lose hold of the platform, is in the map: ``crossed`` tells where.
    efforts : float or array_like, optional
        Largest force or torque of each motor, for the map of the force; those of the model by default.
    stiffness : float or array_like, optional
        Stiffness of each motor under control, in N/m or N m/rad, for the map of the stiffness; links are rigid.
    limits : bool
        Whether joints obey their position limits (default); those of arms always do.
    threads : int
        Threads that share the points of an arm.

    Returns
    -------
    Workspace
        ``margin`` is the least of a platform's margins (see :meth:`Platform.margins`), and for arms the smallest
        singular value of the Jacobian, among those that do not vanish everywhere, relative to the largest.  ``force``
        is the largest force that the frame can exert in every direction besides carrying the robot's own weight,
        negative where it cannot carry that.  ``stiffness`` is the least over all directions.

    Examples
    --------
    >>> import kinetree as kt, numpy as np
    >>> robot = kt.Builder("two links").body("upper", "base", kt.Revolute("z"), mass=1.0)
    >>> robot = robot.body("lower", "upper", kt.Revolute("z"), position=(1, 0, 0), mass=1.0)
    >>> arm = robot.frame("tip", "lower", (0.5, 0, 0)).build()
    >>> found = kt.workspace(arm, "tip", x=[0.2, 0.6, 1.0, 1.4, 1.8], y=0.0, q_guess=[0.3, 0.3])
    >>> found.reached[:, 0, 0].tolist()
    [False, True, True, True, False]
    """
    subject = _subject(robot, frame)
    start = subject.start(q_guess)
    pose = subject.pose(start)
    axes = [_axis(given, name, pose[k, 3]) for k, (given, name) in enumerate(((x, "x"), (y, "y"), (z, "z")))]
    turned = None if rotation is None else as_array(rotation, (3, 3), "rotation")
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    q, reached = subject.reach(points, start, turned, limits, threads)
    maps: dict[str, Array] = {}
    lanes = q[reached]
    motors = len(subject.dofs)
    for what, values in subject.maps(lanes, turned is not None, _per_motor(efforts, motors, "efforts"),
                                     _per_motor(stiffness, motors, "stiffness")).items():  # fmt: skip
        maps[what] = np.full(reached.shape, np.nan)
        maps[what][reached] = values
    crossed = np.zeros(reached.shape, dtype=bool)
    crossed[reached] = subject.crossed(lanes, start)
    names = tuple(subject.robot.q_names)
    return Workspace(subject.robot.name, subject.frame, axes[0], axes[1], axes[2], reached, q, maps, crossed, names)


def _axis(given: ArrayLike | None, name: str, default: float) -> Array:
    axis = np.atleast_1d(np.asarray(default if given is None else given, dtype=float))
    if axis.ndim != 1 or not len(axis) or not np.isfinite(axis).all() or not (np.diff(axis) > 0.0).all():
        raise ShapeError(
            f"{name} must be a number, or increasing finite numbers, shape (n,), such as np.linspace(0, 1, 21)"
        )
    return axis


def _per_motor(given: ArrayLike | None, count: int, name: str) -> Array | None:
    if given is None:
        return None
    values = np.asarray(given, dtype=float)
    if values.shape not in ((), (count,)) or not (values > 0.0).all():
        raise OptionError(f"{name} must be positive: one number, or one for each of the {count} motors")
    return np.broadcast_to(values, (count,))


def _subject(robot: Robot | Platform, frame: str | None) -> _PlatformMap | _ArmMap:
    if isinstance(robot, Platform):
        if frame not in (None, robot.frame):
            raise OptionError(f"this platform moves the frame {robot.frame!r}, not {frame!r}: leave frame out")
        return _PlatformMap(robot)
    require_robot(robot)
    if frame is None:
        raise OptionError(f"frame, the body or frame of {robot.name!r} to move, is needed")
    if robot.loops is not None:
        return _PlatformMap(robot.platform(frame, orientation=False))
    robot.frame(frame)
    return _ArmMap(robot, frame)


def _force_and_stiffness(
    jacobian: Array, weight: Array, efforts: Array, stiffness: Array | None
) -> dict[str, Array]:  # fmt: skip
    """Return force and stiffness of motors through a Jacobian (N, 3, n) that carry a weight (N, n).

    |w_i + J_i^T F| <= effort_i bounds the forces F by planes; the largest ball between them has the radius
    min_i (effort_i - |w_i|) / |J_i|.  The compliance is J diag(1/k) J^T.
    """
    found = {}
    if np.isfinite(efforts).any():
        lever = np.linalg.norm(jacobian, axis=-2)
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = efforts - np.abs(weight)
            radius = np.where(lever > 0.0, spare / lever, np.where(spare < 0.0, -np.inf, np.inf))
        found["force"] = radius.min(axis=-1, initial=np.inf)
    if stiffness is not None:
        compliance = (jacobian / stiffness) @ np.swapaxes(jacobian, -1, -2)
        softest = np.linalg.eigvalsh(compliance)[..., -1] if len(jacobian) else np.zeros(0)
        with np.errstate(divide="ignore"):
            found["stiffness"] = 1.0 / softest
    return found


@dataclass(frozen=True)
class _ArmMap:
    """An arm and a frame on it."""

    robot: Robot
    frame: str

    @property
    def dofs(self) -> list[int]:
        return [
            k
            for j in self.robot.model.joints
            if j.actuated and not j.mimic
            for k in range(j.v_slice.start, j.v_slice.stop)
        ]

    def start(self, q_guess: ArrayLike | None) -> Array:
        if q_guess is not None:
            return as_array(q_guess, (self.robot.nq,), "q_guess")
        low, high, q = self.robot.lower_limits, self.robot.upper_limits, self.robot.neutral()
        bounded = np.isfinite(low) & np.isfinite(high)
        middle = 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0))
        return np.where(bounded & ((q < low) | (q > high)), middle, q)

    def pose(self, q: Array) -> Array:
        return self.robot.pose(q, self.frame)

    def reach(
        self, points: Array, start: Array, rotation: Array | None, limits: bool, threads: int
    ) -> tuple[Array, Array]:
        goal, what = points, "position"
        if rotation is not None:
            goal, what = np.zeros((*points.shape[:-1], 4, 4)), "pose"
            goal[..., :3, :3], goal[..., :3, 3], goal[..., 3, 3] = rotation, points, 1.0
        found = inverse_kinematics(
            self.robot, self.frame, goal, start, what=what, attempts=STARTS, must_reach=False, threads=threads
        )
        return np.where(found.reached[..., None], found.q, np.nan), found.reached

    def crossed(self, q: Array, start: Array) -> Array:
        """Return none: motors of an arm hold it everywhere."""
        return np.zeros(len(q), dtype=bool)

    def maps(self, q: Array, turned: bool, efforts: Array | None, stiffness: Array | None) -> dict[str, Array]:
        jacobian = self.robot.jacobian(q, self.frame, "aligned")[..., self.dofs]
        size = float(np.linalg.norm(jacobian[:, 3:], axis=-2).max(initial=0.0)) or 1.0
        whole = jacobian * np.repeat([size, 1.0], 3)[:, None] if turned else jacobian[:, 3:]
        values = np.linalg.svd(whole, compute_uv=False) if len(q) else np.zeros((0, 1))
        largest = np.maximum(values[:, :1], 1e-300)
        count = int((values > SINGULAR * largest).sum(axis=-1).max(initial=1))  # a planar arm stays in its plane
        found = {"margin": values[:, count - 1] / largest[:, 0]}
        limits = self.robot.effort_limits[self.dofs] if efforts is None else efforts
        weight = self.robot.gravity_force(q)[..., self.dofs]
        return found | _force_and_stiffness(jacobian[:, 3:], weight, limits, stiffness)


@dataclass(frozen=True)
class _PlatformMap:
    """A platform."""

    platform: Platform

    @property
    def robot(self) -> Robot:
        return self.platform.mechanism

    @property
    def frame(self) -> str:
        return self.platform.frame

    @property
    def dofs(self) -> list[int]:
        return self.platform.actuated_freedoms

    def start(self, q_guess: ArrayLike | None) -> Array:
        guess = self.robot.assembled() if q_guess is None else as_array(q_guess, (self.robot.nq,), "q_guess")
        if guess.ndim != 1:
            raise ShapeError(f"q_guess must be one configuration, shape ({self.robot.nq},), not {guess.shape}")
        return guess

    def pose(self, q: Array) -> Array:
        return self.platform.pose(q)

    def reach(
        self, points: Array, start: Array, rotation: Array | None, limits: bool, threads: int
    ) -> tuple[Array, Array]:
        """Move the platform from point to point, front after front, on ways as far from singularities as there are."""
        kept = rotation if rotation is not None else self.pose(start)[:3, :3] if self.platform.orientation else None
        shape, flat = points.shape[:-1], points.reshape(-1, 3)
        grid = _MappedPoints(shape, self.robot.nq)
        first = np.argsort(np.linalg.norm(flat - self.pose(start)[:3, 3], axis=-1))[:1]
        grid.q[first] = self._at(self._goal(flat[first], kept), start[None], limits, 3)
        grid.clear[first] = self._clear(grid.q[first])
        others = np.flatnonzero(~grid.reached)
        if len(others) and not grid.clear[first] >= CLEAR:  # the start is not on the grid, or a singular point is there
            home = self._at(self._goal(self.pose(start)[None, :3, 3], kept), start[None], limits, 3)
            if self._clear(home) >= CLEAR:
                self._move(grid, others, self._goal(flat[others], kept), np.repeat(home, len(others), axis=0), limits)
            elif grid.reached.any():
                warn(
                    f"the map of {self.frame!r} starts in a singular configuration, where branches meet: which of them "
                    "it shows is not determined. Start elsewhere, with another q_guess",
                    SingularityWarning,
                )
                grid.clear[first] = CLEAR
            else:
                self._move(grid, others, self._goal(flat[others], kept), np.repeat(start[None], len(others), axis=0),
                           limits, straight=False)  # fmt: skip
        for least in (*WIDE, CLEAR):
            self._spread(grid, flat, kept, limits, least)
        beyond = deepcopy(grid)
        self._spread(beyond, flat, kept, limits, -np.inf)
        only = (beyond.reached & ~grid.reached).reshape(shape)
        if only.any():
            x, y, z = (_plain(c) for c in points[only][0])
            warn(
                f"{only.sum()} points that {self.frame!r} can reach, such as ({x:.4g}, {y:.4g}, {z:.4g}), are not in "
                "the map: the ways there along the grid go through singular configurations, where branches meet. Make "
                "another map with a q_guess there, or take a finer grid",
                SingularityWarning,
            )
        return grid.q.reshape(*shape, -1), grid.reached.reshape(shape)

    def _spread(self, grid: _MappedPoints, points: Array, kept: Array | None, limits: bool, least: float) -> None:
        """Move from points at least this far from singularities to those beside them, until no more are reached."""
        while True:
            front, nearby = grid.front(least)
            if not len(front):
                return
            self._move(grid, front, self._goal(points[front], kept), grid.q[nearby], limits, least >= CLEAR)

    def _move(
        self, grid: _MappedPoints, lanes: Array, goals: Array, guesses: Array, limits: bool, straight: bool = True
    ) -> None:
        """Move to points; what is beyond the limits is not reached, even on another branch."""
        q = self._at(goals, guesses, False, 0)
        if limits:
            q[~self.robot.within_limits(q, LEEWAY)] = np.nan
        clear = self._clear(q)
        sure = np.flatnonzero(clear >= CLEAR)  # at others, branches meet
        if straight and len(sure):
            way = self.platform.straight(guesses[sure], goals[sure])
            apart = np.abs(self.robot.difference(way, q[sure])).max(axis=-1)
            q[sure[~(apart <= SAME)]] = np.nan
        grid.q[lanes], grid.clear[lanes] = q, np.where(np.isfinite(q[:, 0]), clear, np.nan)

    def _clear(self, q: Array) -> Array:
        """Return how far configurations are from where branches meet."""
        clear, found = np.full(len(q), np.nan), np.isfinite(q[:, 0])
        if found.any():
            margins = self.platform.margins(q[found])
            clear[found] = np.nan_to_num(np.minimum(margins["inverse"], margins["constraint"]))
        return clear

    def _goal(self, points: Array, rotation: Array | None) -> Array:
        if rotation is None:
            return points
        goal = np.zeros((len(points), 4, 4))
        goal[:, :3, :3], goal[:, :3, 3], goal[:, 3, 3] = rotation, points, 1.0
        return goal

    def _at(self, goal: Array, guesses: Array, limits: bool, attempts: int) -> Array:
        return self.platform.inverse(goal, guesses, limits=limits, attempts=attempts, must_reach=False).q

    def crossed(self, q: Array, start: Array) -> Array:
        """Return which configurations are beyond forward singularities, seen from the start."""
        home = self._at(self.pose(start) if self.platform.orientation else self.pose(start)[:3, 3], start, False, 3)
        own = self.platform.sides(np.concatenate([home[None], q]))
        return np.asarray(own[1:] * own[0] < 0.0)

    def maps(self, q: Array, turned: bool, efforts: Array | None, stiffness: Array | None) -> dict[str, Array]:
        if not len(q):
            return {"margin": np.zeros(0)}
        margins = self.platform.margins(q)
        found = {"margin": np.minimum.reduce(list(margins.values()))}
        own = self.robot.effort_limits[self.dofs] if efforts is None else efforts
        if stiffness is None and not np.isfinite(own).any():
            return found
        held = (margins["forward"] > SINGULAR) & (margins["constraint"] > SINGULAR)
        jacobian = self.platform.jacobian(q[held])[..., -3:, :]
        still = np.zeros((int(held.sum()), self.robot.nv))
        weight = self.robot.inverse_dynamics(q[held], still, still)[..., self.dofs]
        for what, values in _force_and_stiffness(jacobian, weight, own, stiffness).items():
            found[what] = np.zeros(len(q))  # what is not held carries nothing
            found[what][held] = values
        return found


class _MappedPoints:
    """The points of a grid (nx, ny, nz) that a platform has reached, as a list of n points.

    Attributes
    ----------
    q : ndarray (n, nq)
        NaN where none is reached.
    clear : ndarray (n,)
        How far each configuration is from others at the same point, 0 to 1; NaN where none is reached.
    tried : ndarray (6, n) of bool
        From which of its neighbors a point was tried.
    """

    def __init__(self, shape: tuple[int, ...], nq: int) -> None:
        count = int(np.prod(shape))
        self.q, self.clear = np.full((count, nq), np.nan), np.full(count, np.nan)
        self.tried = np.zeros((6, count), dtype=bool)
        numbers = np.pad(np.arange(count).reshape(shape), 1, constant_values=-1)
        inside = (slice(1, -1),) * 3
        self._neighbors = np.array(
            [np.roll(numbers, step, axis)[inside].ravel() for axis in range(3) for step in (1, -1)]
        )

    @property
    def reached(self) -> Array:
        """Which points are reached, (n,)."""
        return np.isfinite(self.q[:, 0])

    def front(self, least: float) -> tuple[Array, Array]:
        """Return points to try, and for each the neighbor that is farthest from singularities, at least so far."""
        clear = np.append(self.clear, np.nan)[self._neighbors]
        usable = (clear >= least) & ~self.tried & ~self.reached
        front = np.flatnonzero(usable.any(axis=0))
        best = np.where(usable, clear, -np.inf)[:, front].argmax(axis=0)
        self.tried[best, front] = True
        return front, self._neighbors[best, front]

"""The function ``kt.design``: what is free, what is wanted and within which limits, by one search or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.errors import OptionError, explains_arguments
from kinetree.io.units import in_si
from kinetree.robot.load import load
from kinetree.robot.robot import Robot
from kinetree.spatial.numbers import real_number, whole_number

from .found_design import FoundDesign
from .free_numbers import FreeNumbers
from .goals import DesignGoal, Limit, PointGoal
from .many_searches import SearchTask, best_of
from .problem import DesignProblem
from .search_progress import SearchProgress, SoFar


@explains_arguments
def design(
    mechanism: Robot | str | os.PathLike[str], free: Mapping[Any, Any] | Sequence[str] | str, wanted: Any,
    subject_to: Any = (), *, motion: Any = None, speed: float | str = 1.0, samples: int = 72,
    starts: int | None = None, seed: int = 0, pareto: int | None = None, shortest: float | str | None = None,
    method: str | None = None, searches: int = 1, workers: int | None = None, cluster: Any = None,
    progress: bool | Callable[[SoFar], Any] = True, threads: int = 1,
) -> FoundDesign:  # fmt: skip
    """Search for numbers of a mechanism that meet its goals, with exact gradients.

    Parameters
    ----------
    mechanism : Robot, str or path
        A mechanism with loops, such as :func:`kinetree.linkage` makes, a name of the gallery or a file.
    free : mapping or names
        Numbers that may change: in a drawing ``"A.x"``, ``"B.A"`` (a distance), ``"crank.mass"``, ``"s.stiffness"``, or
        ``"A"`` for both numbers of a point; in other mechanisms ``"crank_pin.position.x"``, ``"loops.pin.seat.y"``,
        ``"coupler.mass"``.  Each has bounds ``(low, high)``, a distance that it may move from the drawing, a tie
        ``"= -B.x"``, or None for default bounds.  Several names in a tuple share one number.  You may introduce a name
        of your own that others are tied to: ``{"r": ("0.1 m", "0.3 m"), "C.x": "= r", "D.x": "= -0.5 * r"}``.
    wanted : goal, or sequence of goals
        Such as ``kt.design.Path("P", points)`` or ``kt.design.Torque()``; weights are factors, ``0.1 * goal``.
    subject_to : limit, or sequence of limits
        Such as ``kt.design.TransmissionAngle("B") >= "40 deg"``; a goal of points given here without a bound must be
        met.
    motion : optional
        The motion that quantities are measured over: ``"turn"`` (default), ``(start, end)`` of the drive, arrays
        ``(q, v, a)`` or ``(t, q, v, a)`` of the independent freedoms, a trajectory of them, or a
        :class:`kinetree.design.LedPoint`, from which the drives follow.
    speed : float or str
        Speed of the drive if the motion does not determine it: rad/s or m/s, or ``"60 rpm"``.
    samples : int
        Number of samples of the motion.
    starts : int, optional
        How many designs to begin with, including the drawing.  By default as many as it takes.
    seed : int
        Seed of the random starts: the same seed gives the same design.
    pareto : int, optional
        For two goals: return a front of this many designs between the best for either, see :attr:`FoundDesign.front`.
    shortest : float or str, optional
        Least distance between two pins of a link; by default 2 % of the mechanism's size.
    method : {"gradients", "cma"}, optional
        By gradients, or by CMA-ES (the extra ``design``), which needs none: the default if a goal is
        :class:`kinetree.design.Own`.  Points to be met need gradients.
    searches : int
        How many whole searches to make, with the seeds ``seed``, ``seed + 1``, ...: the best design of all is returned.
    workers : int, optional
        Number of processes for several searches; by default one per processor, 0 for none besides this one.
    cluster : str or dask.distributed.Client, optional
        Where to make several searches instead: a client, or the address of a Dask scheduler, ``"tcp://host:8786"``.
    progress : bool or callable
        Whether to show the best design so far, on a terminal; or a function that gets each better design, as a
        :class:`kinetree.design.SoFar`.  Ctrl-C, or a KeyboardInterrupt that it raises, ends the search and keeps the
        best.
    threads : int
        Threads of one search.

    Returns
    -------
    FoundDesign
        Print it to see which goals are met, by how much the rest are missed, and which limits are active.

    Examples
    --------
    >>> import kinetree as kt
    >>> four_bar = kt.linkage(
    ...     {"O": (0, 0), "C": (100, 0), "A": (0, 30), "B": (90, 80), "P": (40, 120)},
    ...     {"crank": "O A", "coupler": "A B P", "rocker": "B C"}, ground="O C", motor="O", units="mm")
    >>> found = kt.design(four_bar, free=["C", "A", "B", "P"],
    ...     wanted=kt.design.Path("P", [(30, 120), (10, 110), (-10, 90), (-20, 60)]))
    >>> found.solved
    True
    """
    robot = mechanism if isinstance(mechanism, Robot) else load(mechanism)
    numbers = FreeNumbers(robot, free)
    rate = real_number(in_si(speed, "rad/s", "speed"), "speed")
    if rate == 0.0 or not np.isfinite(rate):
        raise OptionError(f"speed of the drive must not be {speed!r}: quantities are of a motion")
    problem = DesignProblem(robot, numbers, motion, rate, whole_number(samples, "samples", 3), threads)
    least = 0.02 * numbers.size if shortest is None else numbers.in_si(shortest, "m", "shortest")
    goals, limits = _goals(wanted), [_limit(one) for one in _several(subject_to)]
    starts = None if starts is None else whole_number(starts, "starts", 1)
    seed = whole_number(seed, "seed", 0)
    task = SearchTask(problem, goals, limits, real_number(least, "shortest"), starts, method)
    told, count = SearchProgress(numbers, progress), whole_number(searches, "searches", 1)
    if pareto is None:
        return task.search(seed, told).run() if count == 1 else best_of(task, seed, count, workers, cluster, told)
    if count > 1:
        raise OptionError("a front is made by one search: leave out searches, or pareto")
    return task.search(seed, told).front(whole_number(pareto, "pareto", 2))


def _several(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _goals(given: Any) -> list[DesignGoal]:
    found = _several(given)
    for one in found:
        if not isinstance(one, DesignGoal):
            hint = "; with a bound it belongs to subject_to" if isinstance(one, Limit) else ""
            raise OptionError(f"wanted is goals of kt.design, such as Path or Torque, not {one!r}{hint}")
        if not 0.0 < one.weight < np.inf:
            raise OptionError(f"{one.label}: weights are positive numbers, not {one.weight!r}")
    if not found:
        raise OptionError("wanted names no goal: what is the mechanism to do?")
    return found


def _limit(given: Any) -> Limit:
    if isinstance(given, PointGoal):
        return Limit(given, high=given.within)
    if not isinstance(given, Limit):
        raise OptionError(f"subject_to is goals with bounds, such as kt.design.Torque() <= 2.0, not {given!r}")
    return given

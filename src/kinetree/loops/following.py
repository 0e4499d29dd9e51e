"""Following a path through closed configurations: no jumps from one branch to another, none by whole turns.

From each configuration the next one is predicted along the velocity that leads there, and closed from the prediction.
Where it comes to lie far from it, the step was too long, or there is no way on: it is halved until that is clear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ClosureError, PathError
from ..spatial.arrays import Array
from . import rank
from .limits import PositionLimits
from .newton import NO_DISTANCE, TRUST

LONGEST = 0.2
"""How far goals may be that are predicted from one configuration together, in radians and meters."""

FARTHEST = 0.5
"""And how far a single one may be: whole turns must not be mistaken for none."""

SHORTEST = 2.0**-12
"""Steps shorter than this part of the way between two points of a path mean that there is no way on."""

POINTS_AT_ONCE, FEWEST_AT_ONCE = 500, 20
"""Points that are found from one configuration: at first, and at least."""


@dataclass(frozen=True)
class PathProblem:
    """What is to be followed; goals are rows of numbers.

    Attributes
    ----------
    close : callable
        Of guesses (n, nq) and goals (n, g): closed configurations, and which of them are at their goals.
    matrix : callable
        Of a configuration (nq,): the matrix (rows, nv) that the loops keep zero, and that of the goals' rates.
    way : callable
        From goals (g,) or (n, g) to others (n, g), as rates in unit time.
    between : callable
        Of two goals and a share of the way: the goal there.
    moved, difference : callables
        Configurations along velocities, and velocities between configurations, in unit time.
    follows : callable, optional
        Of configurations (n, nq), the next ones and the ways between their goals (n, g): which of the next ones lie
        where those before lead to.
    """

    close: Callable[[Array, Array], tuple[Array, Array]]
    matrix: Callable[[Array], tuple[Array, Array]]
    way: Callable[[Array, Array], Array]
    between: Callable[[Array, Array, float], Array]
    moved: Callable[[Array, Array], Array]
    difference: Callable[[Array, Array], Array]
    follows: Callable[[Array, Array, Array], Array] | None = None

    def follow(self, goals: Array, start: Array, must_reach: bool) -> tuple[Array, int | None, float]:
        """Return a configuration per goal, the first that is not reached, and how much of the way to it was.

        Parameters
        ----------
        goals : ndarray (T, g)
        start : ndarray (nq,)
            The configuration at the first goal.
        must_reach : bool
            Whether to stop at a goal that is not reached.  Else it stays NaN, and the next one is looked for from the
            last that was.
        """
        found = np.full((len(goals), len(start)), np.nan)
        here, k, missed, share, window = 0, 1, None, 1.0, POINTS_AT_ONCE
        found[0] = start
        while k < len(goals):
            if not np.isfinite(goals[k]).all():  # NaN in, NaN out, in this row only
                k += 1
                continue
            ahead = goals[k : k + window]
            several = self._several(found[here], goals[here], ahead)
            window = 2 * window if len(several) == len(ahead) else max(FEWEST_AT_ONCE, 2 * len(several))
            if len(several):
                found[k : k + len(several)] = several
                k += len(several)
                here = k - 1
                continue
            q, gone = self._in_steps(found[here], goals[here], goals[k])
            if q is not None:
                found[k], here = q, k
            elif missed is None:
                missed, share = k, gone
                if must_reach:
                    break
            k += 1
        return found, missed, share

    def _several(self, q: Array, at: Array, goals: Array) -> Array:
        """Return as many configurations at the next goals as can be trusted, all found from the same one."""
        if self.follows is not None:
            return self._chained(q, at, goals)
        way = self.way(at, goals)
        far = ~(np.linalg.norm(way, axis=-1) <= LONGEST)
        count = int(np.argmax(far)) if far.any() else len(far)
        if not count:
            return np.zeros((0, len(q)))
        found, good = self._next(q, goals[:count], way[:count])
        return found[: int(np.argmin(good)) if not good.all() else count]

    def _chained(self, q: Array, at: Array, goals: Array) -> Array:
        """Return the configurations that can be trusted, judged by whether each leads to the next."""
        assert self.follows is not None
        way = self.way(np.concatenate([at[None], goals[:-1]]), goals)
        far = ~(np.linalg.norm(way, axis=-1) <= FARTHEST)
        count = int(np.argmax(far)) if far.any() else len(far)
        if not count:
            return np.zeros((0, len(q)))
        found, done = self.close(np.broadcast_to(q, (count, len(q))), goals[:count])
        before = np.concatenate([q[None], found[:-1]])
        good = done & self.follows(before, found, way[:count])
        return found[: int(np.argmin(good)) if not good.all() else count]

    def _next(self, q: Array, goals: Array, way: Array) -> tuple[Array, Array]:
        """Return configurations at goals, and which are near where they were predicted."""
        loops, rates = self.matrix(q)
        allowed = rank.null_space(loops, int(rank.numerical_rank(loops)))
        v = (allowed @ np.linalg.lstsq(rates @ allowed, way.T, rcond=1e-9)[0]).T
        predicted = self.moved(np.broadcast_to(q, (len(goals), len(q))), v)
        found, done = self.close(predicted, goals)
        off = np.linalg.norm(self.difference(predicted, found), axis=-1)
        return found, done & (off <= TRUST * np.linalg.norm(v, axis=-1) + NO_DISTANCE)

    def _in_steps(self, q: Array, at: Array, goal: Array) -> tuple[Array | None, float]:
        """Go to one goal in steps as long as can be trusted; else say which share of the way it went."""
        share, step, start = 0.0, 1.0, at
        while share < 1.0:
            to = min(1.0, share + step)
            stop = goal if to == 1.0 else self.between(start, goal, to)
            way = self.way(at, stop[None])
            short = np.linalg.norm(way) <= FARTHEST
            found, good = self._next(q, stop[None], way) if short else (q[None], np.array([False]))
            if good[0]:
                q, at, share, step = found[0], stop, to, 2.0 * step
                continue
            step *= 0.5
            if step < SHORTEST:
                return None, share
        return q, 1.0


def followed(
    path: PathProblem,
    goals: Array,
    start: Array,
    nearest: Callable[[int, Array], Array],
    limits: PositionLimits | None,
    must_reach: bool,
    name: str,
    first: int = 0,
    said: Callable[[Array], str] = str,
) -> tuple[Array, Array]:
    """Return configurations along goals (T, g), NaN where there are none, and where there are some.

    Parameters
    ----------
    path : PathProblem
    goals : ndarray (T, g)
    start : ndarray (nq,)
        From which the first goal is looked for.
    nearest : callable
        Of the number of a goal and a guess: the configuration there, or an error that says why there is none.
    limits : PositionLimits, optional
        That must hold.
    must_reach : bool
        Whether a goal that is not reached is an error.
    name : str
        Of the mechanism, for messages.
    first : int
        Number of the first goal, for messages: -1 where that is the start.
    said : callable
        A goal in words.
    """
    q = np.full((len(goals), len(start)), np.nan)
    for k in np.flatnonzero(np.isfinite(goals).all(axis=-1)):
        try:
            begin = nearest(int(k), start)
        except ClosureError as problem:
            if must_reach:
                raise _error(int(k) + first, str(problem)) from None
            continue  # the path may come within reach
        q[k:], missed, share = path.follow(goals[k:], begin, must_reach)
        if must_reach and missed is not None:
            last = q[np.isfinite(q).all(axis=-1)][-1]
            before = goals[: int(k) + missed][np.isfinite(goals[: int(k) + missed]).all(axis=-1)][-1]
            end = said(path.between(before, goals[int(k) + missed], share))
            raise _lost(int(k) + missed, share, last, nearest, name, first, end)
        break
    reached = np.isfinite(q).all(axis=-1)
    within = reached if limits is None else limits.hold(q)
    if limits is not None and must_reach and (reached & ~within).any():
        at = int(np.flatnonzero(reached & ~within)[0])
        why = (
            f"{name!r} would leave its limits: {limits.in_words(q[at])}. limits=False "
            "ignores limits; another q_guess may begin on a branch that stays within them"
        )
        raise PathError(f"{_where(at + first)} {why}", at + first, why)
    return np.where((reached & within)[:, None], q, np.nan), reached & within


def _where(point: int) -> str:
    return f"at point {point} of the path" if point >= 0 else "on the way to the first point of the path"


def _error(point: int, why: str) -> PathError:
    return PathError(f"{_where(point)}: {why}", point, why)


def _lost(
    k: int, share: float, last: Array, nearest: Callable[[int, Array], Array], name: str, first: int, end: str
) -> PathError:  # fmt: skip
    """Say why a point of a path is not reached."""
    try:
        nearest(k, last)
    except ClosureError as problem:
        gap = str(problem).split(". ")[0]  # a guess that is nearer, which it goes on to ask for, there is not
        why = f"{gap}. It comes as far as {end}: a dead point, or the end of what these sizes reach"
        return _error(k + first, why)
    why = (
        f"after {share:.0%} of the way from the point before it comes "
        "to a singular configuration, beyond which the point is reached on another branch only. Lead the path around "
        "it, begin on another branch (q_guess), or give points that lie closer together"
    )
    return PathError(f"{name!r} cannot follow the path to point {k + first}: {why}", k + first, why)

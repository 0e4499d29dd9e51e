"""Following paths through closed configurations: no jumps from one branch to another, none by whole turns.

From each configuration as many of the next ones are found as lead from one to the other: where a prediction along the
velocity leads.  Where one comes to lie far from its prediction, the step was too long, or there is no way on: it is
halved until that is clear.  Several paths are followed at once, each for itself: those of designs of a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import ClosureError, PathError
from ..spatial.arrays import Array
from .limits import PositionLimits

FARTHEST = 0.5
"""How far a goal may be from the one before, in radians and meters: whole turns must not be mistaken for none."""

SHORTEST = 2.0**-12
"""Steps shorter than this part of the way between two points of a path mean that there is no way on."""

POINTS_AT_ONCE, FEWEST_AT_ONCE, MOST_AT_ONCE = 500, 20, 100_000
"""Points of a path that are found from one configuration: at first, and at least; and of all paths together."""


@dataclass(frozen=True)
class PathProblem:
    """What is to be followed; goals are rows of numbers, and paths are told apart by their numbers.

    Attributes
    ----------
    goals : callable
        Of paths (n,), points on them (n,), and a number: so many goals from there on, (n, number, g); NaN behind the
        last.
    close : callable
        Of guesses (n, nq) and goals (n, g): closed configurations, and which of them are at their goals.
    way : callable
        From goals (n, g) to others, as rates in unit time.
    between : callable
        Of two goals and a share of the way, (n, g), (n, g) and (n,): the goals there.
    predicted : callable
        Of configurations (n, nq), the ways to the next goals, and these: where that leads.
    follows : callable
        Of configurations (n, nq), the next ones, the ways between their goals, and the next goals: which of the next
        ones lie where those before lead to.
    """

    goals: Callable[[Array, Array, int], Array]
    close: Callable[[Array, Array], tuple[Array, Array]]
    way: Callable[[Array, Array], Array]
    between: Callable[[Array, Array, Array], Array]
    predicted: Callable[[Array, Array, Array], Array]
    follows: Callable[[Array, Array, Array, Array], Array]

    def follow(self, count: int, starts: Array, must_reach: bool) -> Followed:
        """Return a configuration per path and point.

        Parameters
        ----------
        count : int
            Points of each path.
        starts : ndarray (L, nq)
            Configurations at the first points; NaN where there is none.
        must_reach : bool
            Whether to stop at a point that is not reached.  Else it stays NaN, and the next one is looked for from the
            last that was.
        """
        paths = len(starts)
        found = np.full((paths, count, starts.shape[-1]), np.nan)
        found[:, 0] = starts
        at, nxt = np.zeros(paths, dtype=int), np.ones(paths, dtype=int)
        missed, share = np.full(paths, -1), np.ones(paths)
        nxt[~np.isfinite(starts).all(axis=-1)] = count
        window = max(FEWEST_AT_ONCE, min(POINTS_AT_ONCE, MOST_AT_ONCE // max(paths, 1)))
        while len(going := np.flatnonzero(nxt < count)):
            several = self._several(found, at[going], nxt[going], going, min(window, count - int(nxt[going].min())))
            ends = nxt[going] + several
            complete = bool((ends == np.minimum(nxt[going] + window, count)).all())
            grown = 2 * window if complete else max(FEWEST_AT_ONCE, 2 * int(several.mean()))
            window = min(grown, max(FEWEST_AT_ONCE, MOST_AT_ONCE // len(going)))
            at[going], nxt[going] = np.where(several > 0, ends - 1, at[going]), ends
            stuck = going[(several == 0) & (ends < count)]
            if not len(stuck):
                continue
            known = np.isfinite(self.goals(stuck, nxt[stuck], 1)).all(axis=(-1, -2))
            nxt[stuck[~known]] += 1  # NaN in, NaN out, at this point only
            stuck = stuck[known]
            if not len(stuck):
                continue
            q, gone = self._in_steps(found[stuck, at[stuck]], stuck, at[stuck], nxt[stuck])
            there = gone == 1.0
            found[stuck[there], nxt[stuck[there]]] = q[there]
            at[stuck[there]] = nxt[stuck[there]]
            lost = stuck[~there]
            new = missed[lost] < 0
            missed[lost[new]], share[lost[new]] = nxt[lost[new]], gone[~there][new]
            nxt[stuck] += 1
            if must_reach:
                nxt[lost] = count
        return Followed(found, missed, share)

    def _several(self, found: Array, at: Array, nxt: Array, paths: Array, width: int) -> Array:
        """Find the next points of paths, each from the last that was; return how many of each lead to one another."""
        goals = self.goals(paths, nxt, width)
        before = np.concatenate([self.goals(paths, at, 1), goals[:, :-1]], axis=1)
        way = self.way(before.reshape(-1, goals.shape[-1]), goals.reshape(-1, goals.shape[-1]))
        near = ((way * way).sum(axis=-1) <= FARTHEST**2).reshape(goals.shape[:2])
        if not near.all():
            width = int(_leading(near).max())
            goals, near = goals[:, :width], near[:, :width]
            way = way.reshape(len(paths), -1, way.shape[-1])[:, :width].reshape(-1, way.shape[-1])
        if not width:
            return np.zeros(len(paths), dtype=int)
        here, flat = found[paths, at], goals.reshape(-1, goals.shape[-1])
        shape = (*goals.shape[:2], here.shape[-1])
        q, done = self.close(np.broadcast_to(here[:, None], shape).reshape(-1, shape[-1]), flat)
        last = np.concatenate([here[:, None], q.reshape(shape)[:, :-1]], axis=1).reshape(-1, shape[-1])
        good = near & (done & self.follows(last, q, way, flat)).reshape(shape[:2])
        several, q = _leading(good), q.reshape(shape)
        if len(paths) == 1:
            found[paths[0], nxt[0] : nxt[0] + several[0]] = q[0, : several[0]]
        else:
            row, column = np.nonzero(np.arange(width) < several[:, None])
            found[paths[row], nxt[row] + column] = q[row, column]
        return several

    def _in_steps(self, q: Array, paths: Array, at: Array, nxt: Array) -> tuple[Array, Array]:
        """Go to one point of each path in steps as long as can be trusted; return where, and which share of the way."""
        start, end = self.goals(paths, at, 1)[:, 0], self.goals(paths, nxt, 1)[:, 0]
        q, here, share, step = q.copy(), start.copy(), np.zeros(len(paths)), np.ones(len(paths))
        while len(lanes := np.flatnonzero((share < 1.0) & (step >= SHORTEST))):
            to = np.minimum(1.0, share[lanes] + step[lanes])
            stop = np.where((to == 1.0)[:, None], end[lanes], self.between(start[lanes], end[lanes], to))
            way = self.way(here[lanes], stop)
            found, done = self.close(self.predicted(q[lanes], way, stop), stop)
            good = done & (np.linalg.norm(way, axis=-1) <= FARTHEST) & self.follows(q[lanes], found, way, stop)
            ahead = lanes[good]
            q[ahead], here[ahead], share[ahead] = found[good], stop[good], to[good]
            step[lanes] *= np.where(good, 2.0, 0.5)
        return q, share


@dataclass(frozen=True)
class Followed:
    """Configurations along paths.

    Attributes
    ----------
    q : ndarray, shape (L, T, nq)
        NaN at points that are not reached.
    missed : ndarray of int, shape (L,)
        The first point that is not reached; -1 where all are.
    share : ndarray, shape (L,)
        How much of the way to that was gone.
    """

    q: Array
    missed: Array
    share: Array


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
        rest = replace(path, goals=partial(of_one_path, goals[k:]))
        went = rest.follow(len(goals) - int(k), begin[None], must_reach)
        missed, share = int(k + went.missed[0]), float(went.share[0])
        q[k:] = went.q[0]
        if must_reach and went.missed[0] >= 0:
            last = q[np.isfinite(q).all(axis=-1)][-1]
            before = goals[:missed][np.isfinite(goals[:missed]).all(axis=-1)][-1:]
            end = said(path.between(before, goals[missed : missed + 1], np.array([share]))[0])
            raise _lost(missed, share, last, nearest, name, first, end)
        break
    reached = np.isfinite(q).all(axis=-1)
    if limits is None or not limits.any:
        return q, reached
    within = limits.hold(q)
    if must_reach and (reached & ~within).any():
        at = int(np.flatnonzero(reached & ~within)[0])
        why = (
            f"{name!r} would leave its limits: {limits.in_words(q[at])}. limits=False "
            "ignores limits; another q_guess may begin on a branch that stays within them"
        )
        raise PathError(f"{_where(at + first)} {why}", at + first, why)
    return np.where((reached & within)[:, None], q, np.nan), reached & within


def _leading(good: Array) -> Array:
    """Return how many in each row come before the first that is not good."""
    return np.asarray(np.where(good.all(axis=1), good.shape[1], good.argmin(axis=1)))


def of_one_path(goals: Array, paths: Array, points: Array, width: int) -> Array:
    """Return goals (T, g) of the only path, as :class:`PathProblem` wants them."""
    return goals[None, points[0] : points[0] + width]


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

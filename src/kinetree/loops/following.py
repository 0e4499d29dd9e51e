"""Paths through closed configurations: no jumps from one branch to another, or by whole turns.

A few of the next configurations, far apart, are found from each one, then those between them, as long as each lies
near its prediction along the velocity.  If one is far from its prediction, the step was too long or there is no way
forward: it is halved until that is clear.  Several paths, such as those of several designs, are followed at once and
independently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import ClosureError, PathError
from ..spatial.arrays import Array, finite_rows
from .limits import PositionLimits
from .loops_class.reached import ANOTHER_BRANCH, NOT_FINITE, said_by

FARTHEST = 0.5
"""How far a goal may be from the previous one, in radians and meters, so that whole turns are not overlooked."""

SHORTEST = 2.0**-12
"""Steps shorter than this fraction of the way between two points of a path mean that there is no way forward."""

POINTS_AT_ONCE, FEWEST_AT_ONCE, MOST_AT_ONCE = 5000, 20, 100_000
"""Points of a path found from one configuration, initially and at least, and the most over all paths.

How many are found at once depends on the path alone, so it has the same bits in any batch.
"""

APART = (256, 16)
"""How far points are apart whose configurations are found before those between them."""


@dataclass(frozen=True)
class PathProblem:
    """Paths to follow; goals are rows of numbers, and paths are identified by their indices.

    Attributes
    ----------
    goals : callable
        Given paths (n,), points on them (n,) and a number, returns that many goals from there on, (n, number, g); NaN
        after the last.
    close : callable
        Given guesses (n, nq) and goals (n, g), returns closed configurations, and which of them are at their goals.
    way : callable
        Returns the way from goals (n, g) to others, as rates in unit time.
    between : callable
        Given two goals and a fraction of the way, (n, g), (n, g) and (n,), returns the goals there.
    predicted : callable
        Given configurations (n, nq), the ways to the next goals, and these goals, returns the predicted configurations.
    follows : callable
        Given configurations (n, nq), the next ones, the ways between their goals, and the next goals, returns which of
        the next ones lie near their predictions.
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
            Number of points of each path.
        starts : ndarray (L, nq)
            Configurations at the first points; NaN where there is none.
        must_reach : bool
            Whether to stop at a point that is not reached.  Otherwise it stays NaN, and the next one is searched for
            from the last one reached.
        """
        paths = len(starts)
        found = np.full((paths, count, starts.shape[-1]), np.nan)
        found[:, 0] = starts
        at, nxt = np.zeros(paths, dtype=int), np.ones(paths, dtype=int)
        missed, share = np.full(paths, -1), np.ones(paths)
        nxt[~np.isfinite(starts).all(axis=-1)] = count
        window = np.full(paths, POINTS_AT_ONCE)
        while len(going := np.flatnonzero(nxt < count)):
            several, widths = np.zeros(len(going), dtype=int), np.minimum(window[going], count - nxt[going])
            for width in np.unique(widths):
                alike = np.flatnonzero(widths == width)
                parts = -(-len(alike) * width // MOST_AT_ONCE)
                for part in [alike] if parts == 1 else np.array_split(alike, parts):
                    some = going[part]
                    several[part] = self._several(found, at[some], nxt[some], some, width)
            ends = nxt[going] + several
            window[going] = np.where(several == widths, 2 * window[going], np.maximum(FEWEST_AT_ONCE, 2 * several))
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
        """Find the next points of paths from the last ones reached; return how many of each are connected."""
        is_next = bool((nxt == at + 1).all())  # nothing was left out
        if is_next:
            every = self.goals(paths, at, width + 1)
            before, goals = every[:, :-1], every[:, 1:]
        else:
            goals = self.goals(paths, nxt, width)
            before = np.concatenate([self.goals(paths, at, 1), goals[:, :-1]], axis=1)
        way = self.way(before.reshape(-1, goals.shape[-1]), goals.reshape(-1, goals.shape[-1]))
        way = way.reshape(*goals.shape[:2], way.shape[-1])
        ahead = _leading(np.einsum("...i,...i->...", way, way) <= FARTHEST**2)
        if (ahead != ahead[0]).any():
            several = np.zeros(len(paths), dtype=int)
            for own in np.unique(ahead[ahead > 0]):
                part = ahead == own
                several[part] = self._several(found, at[part], nxt[part], paths[part], own)
            return several
        if not ahead[0]:
            return ahead
        here = found[paths, at]
        guesses, reach = self._guesses(here, goals[:, : ahead[0]])
        width = guesses.shape[1]
        if not width:
            return reach
        shape, near = guesses.shape, np.arange(width) < reach[:, None] if reach.min() < width else None
        pick = _flat if near is None else lambda x: x[near]  # what a path does not reach is not searched for
        flat = pick(goals[:, :width])
        closed, done = self.close(pick(guesses), flat)
        if len(paths) == 1 and near is None and is_next:
            own = found[paths[0], at[0] : nxt[0] + width]
            own[1:] = closed
            several = _leading((done & self.follows(own[:-1], closed, way[0, :width], flat))[None])
            own[1 + several[0] :] = np.nan
            return several
        q = _spread(closed, near, shape, np.nan)
        last = np.concatenate([here[:, None], q[:, :-1]], axis=1)
        done = done & self.follows(pick(last), closed, pick(way[:, :width]), flat)
        several = _leading(_spread(done, near, shape[:2], False))
        row, column = np.nonzero(np.arange(width) < several[:, None])
        found[paths[row], nxt[row] + column] = q[row, column]
        return several

    def _guesses(self, here: Array, goals: Array) -> tuple[Array, Array]:
        """Return guesses (L, n, nq) for the next goals (L, T, g), and how many of each path seem to be within reach.

        A few far apart are closed first, then more between them: the guess for a point is the nearest one of those.
        """
        guesses = np.broadcast_to(here[:, None], (*goals.shape[:2], here.shape[-1]))
        reach = np.full(len(here), goals.shape[1])
        for apart in APART:
            some = np.arange(apart // 2, guesses.shape[1], apart)
            if len(some) > 1:
                begin = guesses[:, some]
                q, done = self.close(_flat(begin), _flat(goals[:, some]))
                done = done.reshape(begin.shape[:2])
                led = q.reshape(begin.shape)
                if not done.all():
                    led = np.where(done[..., None], led, begin)
                reach = np.minimum(reach, np.append(some, guesses.shape[1])[_leading(done)])
                guesses = np.repeat(led, apart, axis=1)[:, : reach.max()]
        return guesses, reach

    def _in_steps(self, q: Array, paths: Array, at: Array, nxt: Array) -> tuple[Array, Array]:
        """Go to one point of each path in the longest steps that are safe; return where, and the fraction covered."""
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
        The first point that is not reached; -1 if all are.
    share : ndarray, shape (L,)
        The fraction of the way to it that was covered.
    """

    q: Array
    missed: Array
    share: Array


def followed(
    path: PathProblem, goals: Array, start: Array, nearest: Callable[[int, Array], Array],
    limits: PositionLimits | None, must_reach: bool, name: str, first: int = 0, said: Callable[[Array], str] = str,
) -> tuple[Array, Array]:  # fmt: skip
    """Return configurations along goals (T, g), NaN if there are none, and which were found.

    Parameters
    ----------
    path : PathProblem
    goals : ndarray (T, g)
    start : ndarray (nq,)
        The configuration from which to search for the first goal.
    nearest : callable
        Given the index of a goal and a guess, returns the configuration there, or an error that says why there is none.
    limits : PositionLimits, optional
        Limits that must hold.
    must_reach : bool
        Whether a goal that is not reached is an error.
    name : str
        Name of the mechanism, for messages.
    first : int
        Index of the first goal, for messages: -1 if that is the start.
    said : callable
        Returns a goal in words.
    """
    q = None
    for k in np.flatnonzero(finite_rows(goals)):
        try:
            begin = nearest(int(k), start)
        except ClosureError as problem:
            if must_reach:
                raise _error(int(k) + first, str(problem)) from None
            continue  # the path may come within reach
        rest = replace(path, goals=partial(of_one_path, goals[k:]))
        went = rest.follow(len(goals) - int(k), begin[None], must_reach)
        missed, share = int(k + went.missed[0]), float(went.share[0])
        q = np.concatenate([np.full((k, len(start)), np.nan), went.q[0]]) if k else went.q[0]
        if must_reach and went.missed[0] >= 0:
            last = q[np.isfinite(q).all(axis=-1)][-1]
            before = goals[:missed][np.isfinite(goals[:missed]).all(axis=-1)][-1:]
            end = said(path.between(before, goals[missed : missed + 1], np.array([share]))[0])
            raise _lost(missed, share, last, nearest, name, first, end)
        break
    if q is None:
        q = np.full((len(goals), len(start)), np.nan)
    reached = finite_rows(q)
    if limits is None or not limits.any:
        return q, reached
    within = limits.hold(q)
    if must_reach and (reached & ~within).any():
        at = int(np.flatnonzero(reached & ~within)[0])
        why = (
            f"{name!r} would leave its limits: {limits.in_words(q[at])}. limits=False "
            "ignores limits; another q_guess may start on a branch that stays within them"
        )
        raise PathError(f"{_where(at + first)} {why}", at + first, why)
    return np.where((reached & within)[:, None], q, np.nan), reached & within


def why_not_reached(k: int, goals: Array, start: Array, q: Array, nearest: Callable[[int, Array], Array]) -> str:
    """Return why a path (T, g), followed as ``q`` (T, nq) from a start, has no configuration at its k-th point."""
    if not np.isfinite(goals[k]).all():
        return NOT_FINITE
    before = np.flatnonzero(finite_rows(q[:k]))
    return said_by(lambda: nearest(k, q[before[-1]] if len(before) else start), ANOTHER_BRANCH)


def _flat(x: Array) -> Array:
    """Return points of all paths in one list."""
    return x.reshape(-1, x.shape[-1])


def _spread(values: Array, where: Array | None, shape: tuple[int, ...], other: float) -> Array:
    """Put values where they belong, and something else in all other places; they belong everywhere if None."""
    if where is None:
        return values.reshape(shape)
    whole = np.full(shape, other, values.dtype)
    whole[where] = values
    return whole


def _leading(good: Array) -> Array:
    """Return how many entries of each row precede the first that is not good."""
    if good.all():
        return np.full(len(good), good.shape[1])
    return np.asarray(np.where(good.all(axis=1), good.shape[1], good.argmin(axis=1)))


def of_one_path(goals: Array, paths: Array, points: Array, width: int) -> Array:
    """Return goals (T, g) of the only path, as :class:`PathProblem` needs them."""
    return goals[None, points[0] : points[0] + width]


def _where(point: int) -> str:
    return f"at point {point} of the path" if point >= 0 else "on the way to the first point of the path"


def _error(point: int, why: str) -> PathError:
    return PathError(f"{_where(point)}: {why}", point, why)


def _lost(
    k: int, share: float, last: Array, nearest: Callable[[int, Array], Array], name: str, first: int, end: str
) -> PathError:  # fmt: skip
    """Return an error that says why a point of a path is not reached."""
    try:
        nearest(k, last)
    except ClosureError as problem:
        gap = str(problem).split(". ")[0]  # the rest of the message suggests a nearer guess, which does not exist
        why = f"{gap}. It gets as far as {end}: a dead point, or the limit of what these sizes reach"
        return _error(k + first, why)
    why = (
        f"after {share:.0%} of the way from the previous point it reaches a singular configuration, beyond which "
        "the point is reached only on another branch. Lead the path around it, start on another branch "
        "(q_guess), or give points that are closer together"
    )
    return PathError(f"{name!r} cannot follow the path to point {k + first}: {why}", k + first, why)

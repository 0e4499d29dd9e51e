"""All assemblies of a mechanism: many starts are closed in one batch and sorted; the number missed is estimated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...algorithms.newton_closing_step import FrameGoal
from ...errors import OptionError
from ...spatial.arrays import Array
from ...spatial.numbers import random_source, whole_number
from ..loops_class.closed_configurations import NOTHING_GIVEN, LoopClosing
from ..rank import null_space, numerical_rank
from .planar_eigenvalues import CannotTellError, PlanarLoops

SAME = 1e-5
"""Two configurations are the same if rotation matrices, and positions per size, differ by no more than this."""

FIRST_STARTS, MOST_STARTS, WITH_PATIENCE = 256, 8192, 64
"""First starts, most starts by default, and how many singular ones are closed with extra patience."""

OFTEN, MANY = 10, 200
"""Starts continue until each assembly was reached this often, or until there are this many assemblies."""


@dataclass(frozen=True, eq=False)
class Assemblies:
    """All configurations found, how often each was reached, and whether they are proven to be all.

    An instance can be used like the array :attr:`q`.

    Attributes
    ----------
    q : ndarray, shape (..., k, nq)
        Configurations; hinges that were not given are between -pi and pi, or within their limits.  Padded with NaN
        where a state of a batch has fewer assemblies than others.
    met : ndarray of int, shape (..., k)
        How many starts led to each; 0 for one found only by a formula.
    closed : ndarray of int, shape (...)
        Number of starts that led to an assembly.
    starts : ndarray of int, shape (...)
        Total number of starts.
    proven : ndarray of bool, shape (...), or bool
        Whether these are proven to be all assemblies.
    reason : str
        What the proof rests on, or why there is none.
    """

    q: Array
    met: Array
    closed: Array
    starts: Array
    proven: Array
    reason: str

    @property
    def count(self) -> Array:
        """Number of assemblies, (...)."""
        return np.asarray(np.isfinite(self.q).all(axis=-1).sum(axis=-1))

    @property
    def unseen(self) -> Array:
        """Share of starts that may lead to an unknown assembly, (...): those reached once over all (Good-Turing)."""
        return np.where(self.proven, 0.0, (self.met == 1).sum(axis=-1) / np.maximum(self.closed, 1))

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, which: Any) -> Array:
        return np.asarray(self.q[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.q, dtype=dtype) if copy else np.asarray(self.q, dtype=dtype)

    def __str__(self) -> str:
        """Say how many assemblies there are, and how certain that is."""
        if self.q.ndim > 2:
            numbers, states = np.unique(self.count, return_counts=True)
            each = ", ".join(f"{n} of {times}" for n, times in zip(numbers, states, strict=True))
            sure = f"proven for {int(np.sum(self.proven))} of {self.count.size} states"
            return f"configurations of states: {each}; {sure}: {self.reason}"
        head = f"{len(self.q)} configuration{'' if len(self.q) == 1 else 's'}"
        if self.proven:
            return f"{head}, proven to be all: {self.reason}"
        often = f"each met by {self.met.min(initial=int(self.closed))} or more of {self.closed} starts that closed"
        share = f"some {float(self.unseen):.1%} of starts lead to others" if self.unseen else ""
        share = share or f"less than {min(1.0, 3.0 / max(int(self.closed), 1)):.2g} of starts lead to others (at 95 %)"
        return f"{head}, likely all: {often}, {share}; not proven: {self.reason}"


def sort_out(marks: Array, good: Array) -> tuple[Array, Array]:
    """Return the first lane of each distinct solution, (N, k), padded with -1, and how often each occurs, (N, k).

    Parameters
    ----------
    marks : ndarray, shape (N, S, m)
        Numbers that distinguish solutions.
    good : ndarray of bool, shape (N, S)
        Lanes that count.
    """
    left, every = good.copy(), np.arange(len(marks))
    firsts, counts = [], []
    while left.any():
        k = left.argmax(axis=1)
        same = left & (np.abs(marks - marks[every, k][:, None]).max(axis=-1) <= SAME)
        firsts.append(np.where(left.any(axis=1), k, -1))
        counts.append(same.sum(axis=1))
        left &= ~same
    shape = len(firsts), len(marks)
    return np.array(firsts, dtype=int).reshape(shape).T, np.array(counts, dtype=int).reshape(shape).T


@dataclass(frozen=True)
class AssemblyQuestion:
    """The search for all assemblies under given conditions.

    Attributes
    ----------
    closing : LoopClosing
    q : ndarray, shape (nq,)
        Positions of the joints that are held.
    free : ndarray of bool, shape (nv,)
        Which velocities may move.
    marks : callable
        Maps configurations (N, nq) to numbers that distinguish them, (N, m).
    goals, given
        Frames with prescribed poses, see :meth:`LoopClosing.closed_from`.
    """

    closing: LoopClosing
    q: Array
    free: Array
    marks: Callable[[Array], Array]
    goals: tuple[FrameGoal, ...] = ()
    given: Array = field(default_factory=lambda: NOTHING_GIVEN)
    most: int | None = None
    """How many there can be, if that is known; see :mod:`.upper_bounds`."""

    def answer(self, starts: int | None, rng: np.random.Generator | int | None, limits: bool) -> Assemblies:
        """Return all assemblies found from starts (by default as many as needed), within limits if they apply."""
        generator = random_source(rng, "rng")
        count = FIRST_STARTS if starts is None else whole_number(starts, "starts", 1)
        found, total = np.zeros((0, len(self.q))), 0
        while True:
            found = np.concatenate([found, self._closed(self._starts(generator, count), limits)])
            total += count
            firsts, met = sort_out(self.marks(found)[None], np.ones((1, len(found)), dtype=bool))
            if total == count:
                self._refuse_freedoms(found[firsts[0]])
            if starts is not None or total >= MOST_STARTS or met.shape[1] > MANY or (len(found) and met.min() >= OFTEN):
                break
            count = total
        q, met = self._to_rounding(found[firsts[0]]), met[0]
        formulas, proven, reason = self._proof(q, limits)
        q, met = np.concatenate([q, formulas]), np.concatenate([met, np.zeros(len(formulas), dtype=int)])
        order = np.lexsort(np.round(self.marks(q), 5).T[::-1]) if len(q) else np.arange(0)
        return Assemblies(q[order], met[order], np.array(len(found)), np.array(total), np.array(proven), reason)

    def _starts(self, generator: np.random.Generator, count: int) -> Array:
        model = self.closing.model
        q = self.closing.assembling.random(generator, count)
        for joint in model.joints:
            if not joint.mimic and not self.free[joint.v_slice].all():
                q[:, joint.q_slice] = self.q[joint.q_slice]
            elif (
                not joint.mimic and joint.kind.q_units == ("m",) and not np.isfinite([*joint.lower, *joint.upper]).any()
            ):
                q[:, joint.q_slice] *= 2.0 * self.closing.geometry.size
        return q

    def _closed(self, q: Array, limits: bool) -> Array:
        """Return the closed configurations that starts lead to."""
        kernel = self.closing.kernel(self.free, self.goals)
        few = len(q) if kernel is None else WITH_PATIENCE
        found, done = self.closing.closed_from(q[:few], self.free, None, False, self.goals, self.given)
        parts = [found[done]]
        if kernel is not None and len(q) > few:
            found, done = kernel(q[few:], self.given, None)
            parts.append(found[done])
        within = self.closing.geometry.limits
        if not limits or not within.any:
            return self._wrapped(np.concatenate(parts))
        found, done = self.closing.closed_from(q, self.free, None, True, self.goals, self.given)
        return self._within(np.concatenate([*parts, found[done]]))  # solutions beyond limits attract starts

    def _within(self, q: Array) -> Array:
        limits = self.closing.geometry.limits
        q = limits.turned(self._wrapped(q), self.free)
        return q[limits.hold(q)]

    def _wrapped(self, q: Array) -> Array:
        """Return configurations whose free hinges are between -pi and pi."""
        q = q.copy()
        for joint in self.closing.geometry.limits.idle_turns:
            if self.free[joint.v_slice].all():
                angle = q[:, joint.q_slice]
                q[:, joint.q_slice] = angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))
        return q

    def _to_rounding(self, q: Array) -> Array:
        """Return configurations closed to rounding, since the search stops at a tolerance."""
        again, done = self.closing.closed_from(q, self.free, None, False, self.goals, self.given)
        return np.where(done[:, None] & (np.abs(again - q) < SAME).all(axis=-1, keepdims=True), again, q)

    def _refuse_freedoms(self, q: Array) -> None:
        """Refuse mechanisms that can still move, so that assemblies are not isolated."""
        if not len(q):
            return
        k = self.closing.matrix(q, self.goals)[..., self.free]
        ranks = np.array([int(numerical_rank(one)) for one in k])
        best = int(ranks.argmax())
        ways = null_space(k[best], int(ranks[best]))
        for way in ways.T:
            v = np.zeros(len(self.free))
            v[self.free] = 1e-3 * way
            both = np.concatenate([q[best : best + 1], self.closing.geometry.moved(q[best : best + 1], v[None])])
            here, there = self.marks(both)
            if np.abs(here - there).max() > SAME:
                model, moving = self.closing.model, np.flatnonzero(np.abs(v) > 1e-6)
                names = ", ".join(model.v_names[j] for j in moving[:4])
                raise OptionError(
                    f"{model.name!r} can still move ({names}): there are infinitely many assemblies. Hold as many "
                    f"joints as it has freedoms, fixed={{...}}, {ways.shape[1]} more than now; or name bodies to tell "
                    "assemblies apart by, distinct=[...]"
                )

    def _proof(self, q: Array, limits: bool) -> tuple[Array, bool, str]:
        """Return assemblies that no start led to, whether the list is then proven complete, and the reason."""
        none = np.zeros((0, len(self.q)))
        try:
            loops = PlanarLoops.of(self.closing.model, self.q, self.free, self.goals, self.given)
            guesses, most = loops.assemblies()
        except CannotTellError as why:
            if self.most is None:
                return none, False, str(why)
            return none, len(q) == self.most, f"a platform on six legs has at most {self.most}"
        found, done = self.closing.closed_from(guesses, self.free, None, False, self.goals, self.given)
        if not done.all():
            return none, False, "solutions of the planar equations do not close in space"
        found = self._within(found) if limits else self._wrapped(found)
        both = np.concatenate([found, q])
        firsts, _ = sort_out(self.marks(both)[None], np.ones((1, len(both)), dtype=bool))
        if firsts.max(initial=-1) >= len(found):
            return none, False, "solutions lie close together"
        met = np.concatenate([q, found])
        firsts, _ = sort_out(self.marks(met)[None], np.ones((1, len(met)), dtype=bool))
        new = met[firsts[0][firsts[0] >= len(q)]]
        real = f"{len(guesses)} of at most {most} solutions of the loops' equations are real"
        beyond = (
            f", {len(guesses) - len(q) - len(new)} of them beyond limits" if len(guesses) > len(q) + len(new) else ""
        )
        return new, True, f"{real}{beyond} (eigenvalues of Dixon's determinant)"


def marks_of(closing: LoopClosing, frames: Sequence[str]) -> Callable[[Array], Array]:
    """Return a function that distinguishes configurations by the poses of frames."""
    exact, size = closing.geometry.exact, max(closing.geometry.size, 1e-300)

    def marks(q: Array) -> Array:
        poses = np.stack([exact.run("pose", {"frame": name}, q=q) for name in frames], axis=-3)[..., :3, :].copy()
        poses[..., 3] /= size
        return poses.reshape(len(q), 12 * len(frames))

    return marks

"""Where the joints of a mechanism may be when its loops are closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algorithms.newton_closing_step import Bound, JointRange
from ..model.joints import Revolute
from ..model.limits_of_followers import bounded_by_followers
from ..model.tree import Joint, Model
from ..spatial.arrays import Array

SLACK = 1e-9
"""A joint this far beyond its limit, in radians or meters, counts as at it: loops close to no more digits."""

TURN = 2.0 * np.pi


@dataclass(frozen=True)
class PositionLimits:
    """Limits of all coordinates of a mechanism.

    Leaders of couplings are also bound by the limits of their followers; joints with quaternions are checked at the
    end.
    """

    model: Model

    def bounds(self, free: Sequence[int]) -> tuple[Bound, ...]:
        """Return the limits of free freedoms, by their indices among these."""
        place = {j: c for c, j in enumerate(free)}
        every = zip(*(part.tolist() for part in self._bounds), strict=True)
        return tuple(Bound(place[rate], where, low, high) for where, rate, low, high in every if rate in place)

    @cached_property
    def ranges(self) -> tuple[JointRange, ...]:
        """Limits of all joints, including followers, as far as they have any."""
        found = []
        for joint, link in zip(self.model.joints, self.model.links, strict=True):
            scale = (float(link.ratio), float(link.offset)) if link.follows else (1.0, 0.0)
            for k, (low, high) in enumerate(zip(joint.lower, joint.upper, strict=True)):
                if np.isfinite(low) or np.isfinite(high):
                    found.append(JointRange(link.q_slice.start + k, *scale, float(low), float(high)))
        return tuple(found)

    @cached_property
    def _bounds(self) -> tuple[Array, Array, Array, Array]:
        """For each coordinate with limits: its index in q and in v, and the limits."""
        found = [
            (joint.q_slice.start + k, joint.v_slice.start + k, joint.lower[k], joint.upper[k])
            for joint in bounded_by_followers(self.model, ()).joints
            if not joint.mimic and joint.nq == joint.nv
            for k in range(joint.nq)
            if np.isfinite(joint.lower[k]) or np.isfinite(joint.upper[k])
        ]
        places, rates, low, high = zip(*found, strict=True) if found else ((), (), (), ())
        return np.array(places, dtype=int), np.array(rates, dtype=int), np.array(low), np.array(high)

    @property
    def _hinges(self) -> list[Joint]:
        """Hinges with limits for which a whole turn changes only the number."""
        return [joint for joint in self.idle_turns if np.isfinite([*joint.lower, *joint.upper]).any()]

    @cached_property
    def idle_turns(self) -> list[Joint]:
        """Hinges for which a whole turn changes only the number."""
        led = {joint.mimic.leader for joint in self.model.joints if joint.mimic}
        led |= {name for coupling in self.model.couplings for name in (*coupling.joints, *coupling.follows)}
        led |= {name for tendon in self.model.tendons for name in tendon.joints}
        return [
            joint
            for joint in self.model.joints
            if isinstance(joint.kind, Revolute) and not (joint.mimic or joint.name in led or any(joint.stiffness))
        ]

    @cached_property
    def any(self) -> bool:
        """Whether there are limits at all."""
        return bool(self.ranges)

    def hold(self, q: Array) -> Array:
        """Return for each configuration whether all joints are within their limits."""
        own = q[..., self._table[0].astype(int)] * self._table[1] + self._table[2]
        inside = (own >= self._table[3] - SLACK) & (own <= self._table[4] + SLACK)
        return np.asarray(inside.all(axis=-1) & np.isfinite(q).all(axis=-1))

    @cached_property
    def _table(self) -> Array:
        """Indices, ratios, offsets and ends of :attr:`ranges`, (5, n)."""
        return np.array(self.ranges).reshape(-1, 5).T

    def turned(self, q: Array, free: Array) -> Array:
        """Return these configurations with hinges turned by whole turns where that brings them within limits."""
        q = q.copy()
        for joint in self._hinges:
            if free[joint.v_slice].all():
                angle, (low,), (high,) = q[..., joint.q_slice], joint.lower, joint.upper
                up, down = np.ceil((low - SLACK - angle) / TURN), np.ceil((angle - high - SLACK) / TURN)
                other = angle + TURN * np.where(up > 0.0, up, np.where(down > 0.0, -down, 0.0))
                fits = (other >= low - SLACK) & (other <= high + SLACK)
                q[..., joint.q_slice] = np.where(fits, other, angle)
        return q

    def clipped(self, q: Array, free: Array) -> Array:
        """Return configurations whose free coordinates are moved to the nearest limit."""
        places, rates, low, high = self._bounds
        own = free[rates]
        q = q.copy()
        q[..., places[own]] = np.clip(q[..., places[own]], low[own], high[own])
        return q

    def blocked(self, q: Array, pull: Array) -> Array:
        """Return which velocities (N, nv) would move a joint at a limit further beyond it."""
        places, rates, low, high = self._bounds
        found = np.zeros(pull.shape, dtype=bool)
        at, along = q[..., places], pull[..., rates]
        found[..., rates] = ((at <= low) & (along < 0.0)) | ((at >= high) & (along > 0.0))
        return found

    def kept(
        self, found: Array, done: Array, free: Array, again: Callable[[Array, Array], tuple[Array, Array]],
        *starts: Array,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return closed configurations within limits if there are any, and which these are.

        Parameters
        ----------
        found : ndarray (N, nq)
            Closed configurations, wherever they are; overwritten.
        done : ndarray (N,) of bool
            Which of them are closed.
        free : ndarray (nv,) of bool
            Which velocities may move.
        again : callable
            Closes configurations (n, nq) of some lanes (n,) without leaving the limits, and returns which are closed.
        *starts : ndarray (N, nq) or (nq,)
            New starts for lanes that are beyond limits.
        """
        if not self.any:
            return found, np.ones(len(found), dtype=bool)
        within = self.hold(found)
        if len(out := np.flatnonzero(done & ~within)):
            found[out] = self.turned(found[out], free)
            within[out] = self.hold(found[out])
        for start in starts:
            lanes = np.flatnonzero(done & ~within)
            if not len(lanes):
                break
            other, closed = again(self.clipped(np.broadcast_to(start, found.shape)[lanes], free), lanes)
            other = self.turned(other, free)
            fits = closed & self.hold(other)
            found[lanes[fits]], within[lanes[fits]] = other[fits], True
        return found, within

    def refusal(self, how: str, q: Array, bad: Array, batch: tuple[int, ...]) -> str:
        """Return a message that names the joint beyond its limits, in the ``bad`` state that is nearest to them."""
        lanes = np.flatnonzero(bad)
        lane = int(lanes[np.argmin(self.excess(q[lanes]))])
        where = f" in state {tuple(int(i) for i in np.unravel_index(lane, batch))}" if batch else ""
        return f"{how.format(where=where)}: {self.in_words(q[lane])}. limits=False ignores limits"

    def excess(self, q: Array) -> Array:
        """Return by how much the joint that is farthest out exceeds its limit, for each configuration."""
        return np.asarray(np.max([np.zeros(q.shape[:-1]), *(out.max(axis=-1) for _, out in self._out(q))], axis=0))

    def in_words(self, q: Array) -> str:
        """Return for one configuration which joint is farthest out, where it is, and what its limits are."""
        k, out = max(self._out(q), key=lambda found: float(found[1].max(initial=0.0)))
        joint, i = self.model.joints[k], int(out.argmax())
        link = self.model.links[k]
        value = q[link.q_slice][i] * link.ratio + link.offset if link.follows else q[link.q_slice][i]
        which = f"[{i}]" if len(joint.lower) > 1 else ""
        unit = joint.kind.q_units[i]
        return (
            f"joint '{joint.name}{which}' would be at {value:.6g} {unit}, "
            f"its limits are {joint.lower[i]:g} to {joint.upper[i]:g}"
        )

    def _out(self, q: Array) -> list[tuple[int, Array]]:
        """Return for each joint how far its coordinates are beyond their limits."""
        found = []
        for k, (joint, link) in enumerate(zip(self.model.joints, self.model.links, strict=True)):
            own = q[..., link.q_slice] * link.ratio + link.offset if link.follows else q[..., link.q_slice]
            if own.shape[-1]:
                found.append((k, np.maximum(np.array(joint.lower) - own, own - np.array(joint.upper))))
        return found

"""Closing loops: damped Newton steps on all lanes of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import rank

Array = np.ndarray

MOST_STEPS = 200
LONGEST_STEP = 0.5
"""Longest step of one iteration, in radians or metres: far steps lose the branch the guess belongs to."""

NUDGE = 0.01
"""How far a guess is moved, in radians or metres, where a joint in it is turned over or a rod has no direction."""


class Closed(NamedTuple):
    """Configurations, the gaps left, and which lanes are closed."""

    q: Array
    gaps: Array
    done: Array


def close(
    q: Array,
    free: Array,
    gaps: Callable[[Array], Array],
    matrix: Callable[[Array], Array],
    step: Callable[[Array, Array], Array],
    tolerance: float,
    any_will_do: bool = False,
    most_steps: int = MOST_STEPS,
) -> Closed:
    """Move the ``free`` velocities (a mask) until every gap is below ``tolerance``; q is (N, nq).

    Where ``any_will_do``, no lane is waited for once another is closed.

    The Levenberg-Marquardt rule, lane by lane: the damping falls after a step that brought
    the loops closer together and grows after one that did not, which is then taken back.
    """
    with np.errstate(all="ignore"):
        q, left = _nudged(q.copy(), free, gaps, matrix, step)
        return _close(q, left, free, gaps, matrix, step, tolerance, any_will_do, most_steps)


def _nudged(
    q: Array,
    free: Array,
    gaps: Callable[[Array], Array],
    matrix: Callable[[Array], Array],
    step: Callable[[Array, Array], Array],
) -> tuple[Array, Array]:
    """Leave guesses that say nothing about which way to go: half a turn off, both ends of a rod in one place."""
    left = gaps(q)
    lost = ~np.isfinite(left).all(axis=-1)
    far = np.flatnonzero(~lost & (np.abs(left).max(axis=-1, initial=0.0) > NUDGE))
    if len(far):
        lost[far] = ~np.isfinite(matrix(q[far])).all(axis=(-1, -2))
    lost &= np.isfinite(q).all(axis=-1)
    if lost.any():
        move = np.random.default_rng(0).standard_normal(len(free)) * free
        q[lost] = step(q[lost], np.tile(NUDGE * move / (np.linalg.norm(move) or 1.0), (int(lost.sum()), 1)))
        left[lost] = gaps(q[lost])
    return q, left


def _close(
    q: Array,
    left: Array,
    free: Array,
    gaps: Callable[[Array], Array],
    matrix: Callable[[Array], Array],
    step: Callable[[Array, Array], Array],
    tolerance: float,
    any_will_do: bool,
    most_steps: int,
) -> Closed:
    size = np.linalg.norm(left, axis=-1)
    damping = np.full(len(q), 1e-3)
    polished = np.zeros(len(q), dtype=int)
    for _ in range(most_steps):
        small = np.abs(left).max(axis=-1, initial=0.0) <= tolerance
        # two more Newton steps once it is closed: they cost little and give the last digits
        active = np.flatnonzero(np.isfinite(size) & (polished < 2) & (damping < 1e12))
        if not len(active) or (any_will_do and (polished >= 2).any()):
            break
        polished[active] += small[active]
        move = _damped_step(matrix(q[active])[..., free], left[active], np.where(small, 0.0, damping)[active])
        whole = np.zeros((len(active), len(free)))
        whole[:, free] = move
        trial = step(q[active], whole)
        trial_left = gaps(trial)
        trial_size = np.linalg.norm(trial_left, axis=-1)
        better = trial_size < size[active]
        taken = active[better]
        q[taken], left[taken], size[taken] = trial[better], trial_left[better], trial_size[better]
        damping[active] = np.where(better, damping[active] * 0.1, damping[active] * 10.0)
        polished[active[~better & small[active]]] = 2
    return Closed(q, left, np.abs(left).max(axis=-1, initial=0.0) <= tolerance)


def _damped_step(matrix: Array, left: Array, damping: Array) -> Array:
    u, s, vt, kept = rank.decompose(matrix)
    count = s.shape[-1]
    scale = s[..., :1] if count else s
    gain = np.where(kept, s / (s * s + damping[:, None] * scale * scale + (s == 0.0)), 0.0)
    along = gain * (np.swapaxes(u[..., :count], -1, -2) @ left[..., None])[..., 0]
    move = -(np.swapaxes(vt[..., :count, :], -1, -2) @ along[..., None])[..., 0]
    length = np.linalg.norm(move, axis=-1, keepdims=True)
    return np.asarray(move * np.minimum(1.0, LONGEST_STEP / np.maximum(length, 1e-300)))

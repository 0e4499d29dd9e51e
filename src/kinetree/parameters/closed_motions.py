"""Random motions of a mechanism with closed loops, all in one assembly mode.

A parallelogram can also be assembled in its crossed form, and then has other base parameters. So all samples are
reached from one closed configuration in small steps, and those near singular configurations, where assembly modes meet,
are left out.
"""

from __future__ import annotations

import numpy as np

from ..errors import ClosureError
from ..loops.loops import Loops
from ..spatial.arrays import Array
from .base_by_qr import Draw, Motions
from .find_base import Assembled
from .parallelograms import Parallelogram, parallelograms
from .parameters_to_group import Considered

STEPS = 20
FARTHEST = 2.5
"""How far samples are from the start, in radians or lengths of the mechanism."""

LEAST_QUALITY = 0.2
"""Samples avoid configurations where the smallest nonzero singular value of K is below this share of its initial value.

The avoided region is so wide that no step crosses it.
"""


def assembled(loops: Loops, candidates: Array, rank: int) -> Assembled:
    """Return one assembly mode of a mechanism.

    Parameters
    ----------
    loops : Loops
        Loops of the mechanism.
    candidates : ndarray, shape (n, nq)
        Closed configurations; the one with the most parallelograms is chosen, and among these the least singular one.
    rank : int
        Generic rank of K.
    """
    considered = Considered(loops.model)
    shapes = [_parallelograms(loops, q, considered.length) for q in candidates]
    quality = _quality(loops.geometry.jacobian(candidates), rank)
    best = max(range(len(candidates)), key=lambda k: (len(shapes[k]), quality[k]))
    start = candidates[best]
    shown = np.array2string(start, precision=3, separator=", ", max_line_width=10000)
    return Assembled(closed_motions(loops, start, rank, considered), shapes[best], shown)


def _parallelograms(loops: Loops, q: Array, length: float) -> list[Parallelogram]:
    poses = np.array([loops.evaluator.run("pose", {"frame": body.name}, q=q) for body in loops.model.bodies])
    return parallelograms(loops.model, poses, length)


def closed_motions(loops: Loops, start: Array, rank: int, considered: Considered) -> Draw:
    """Return a function that draws closed states around a closed configuration."""
    model, length, time = considered.model, considered.length, considered.time
    unit = np.array([length if u == "m" else 1.0 for u in model.v_units])

    def draw(count: int, rng: np.random.Generator) -> Motions:
        q = np.broadcast_to(start, (count, model.nq)).copy()
        heading = rng.standard_normal((count, model.nv)) * unit
        reach = rng.uniform(0.1, FARTHEST, (count, 1))
        k = loops.geometry.jacobian(q)
        least = LEAST_QUALITY * _quality(k[0], rank)
        for _ in range(STEPS):
            along = _along(_basis(k, rank), heading)
            size = np.abs(along / unit).max(axis=-1, keepdims=True)
            step = along * reach / np.maximum(size, 1e-9) / STEPS
            moved = loops.closing.close(loops.geometry.moved(q, step), must_close=False, limits=False)
            # if the next step is singular or cannot be closed, the sample remains where it is
            moved = np.where(np.isfinite(moved).all(axis=-1, keepdims=True), moved, q)
            there = loops.geometry.jacobian(moved)
            good = _quality(there, rank) > least
            q, k = np.where(good[:, None], moved, q), np.where(good[:, None, None], there, k)
        if not np.isfinite(q).all() or np.abs(q - start).max() < 1e-3:
            raise ClosureError(
                f"{model.name!r} cannot move away from q = {np.round(start, 3).tolist()} with its loops closed: give "
                "q_guess=, a configuration from which it can"
            )
        basis = _basis(k, rank)
        v, a = (_along(basis, rng.standard_normal((len(q), model.nv)) * unit) for _ in range(2))
        v, a = v / time, a / time**2
        held = np.linalg.pinv(k, rcond=1e-9) @ loops.geometry.drift(q, v)[..., None]
        return Motions(q, v, a - held[..., 0], basis)

    return draw


def _basis(k: Array, rank: int) -> Array:
    """Return a basis of the velocities that the loops allow, (..., nv, nv - rank)."""
    _, _, vt = np.linalg.svd(k, full_matrices=True)
    return np.asarray(np.swapaxes(vt[..., rank:, :], -1, -2))


def _along(basis: Array, v: Array) -> Array:
    """Return the nearest velocities that the loops allow."""
    return np.asarray((basis @ (np.swapaxes(basis, -1, -2) @ v[..., None]))[..., 0])


def _quality(k: Array, rank: int) -> Array:
    s = np.linalg.svd(k, compute_uv=False)
    return np.asarray(s[..., rank - 1] / np.maximum(s[..., 0], 1e-300)) if rank else np.ones(k.shape[:-2])

"""Motions that are too short, and forces that come later or earlier than positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..equations import MeasuredEquations, Prepared
from ..estimators.least_squares import Estimate
from ..friction_models import MODELS
from ..model_choice import Columns


def of_shortness(prepared: Prepared, lasts: float) -> str:
    """Return a warning if a motion is too short to identify anything: most joints hardly ever reverse.

    lasts: Duration of the measurement, in seconds.
    """
    turns = []
    for joint in np.flatnonzero(prepared.moving):
        parts = [m.v[np.abs(m.v[:, joint]) > tuned.FAST * m.speed_noise[joint], joint] for m in prepared.motions]
        turns.append(int(np.sum(np.diff(np.sign(np.concatenate(parts))) != 0.0)))
    if not turns or np.median(turns) >= tuned.LEAST_TURNS:
        return ""
    half = int(np.median(turns))
    often = {0: "never reverse", 1: "reverse once at most"}.get(half, f"reverse {half} times at most")
    return (
        f"{lasts:.2g} s of motion are too short to tell masses, inertias and friction apart: half of the joints "
        f"{often}. Measure until every joint has moved both ways several times, fast and slowly; nothing found here "
        "should be trusted"
    )


def of_delay(columns: Columns, fit: Estimate) -> list[str]:
    """Return a warning if forces shifted in time would fit the motion much better.

    Friction that builds up over some travel can hide delays of forces, so it is tried as well as friction that builds
    up at once: the best fit without a delay is compared with the best fit with one.

    columns: Columns of the fit.
    """
    prepared = columns.prepared
    if any(m.wrenches for m in prepared.motions):
        return []
    plain = {k: replace(own, model=MODELS["coulomb"], shape=0.0) if own.shape else own
             for k, own in columns.friction.items()}  # fmt: skip
    weight = np.sqrt(fit.weights) / fit.noise
    judges = [_left_with(columns.equations(own), weight)
              for own in ([columns.friction, plain] if plain != columns.friction else [plain])]  # fmt: skip

    def curves(delays: Array) -> list[Array]:
        moved = [prepared.in_rows([_shifted(m.t, m.tau, delay) - m.tau for m in prepared.motions]) for delay in delays]
        return [np.array([judge(more) for more in moved]) for judge in judges]

    delays = np.linspace(-tuned.LONGEST_DELAY, tuned.LONGEST_DELAY, tuned.DELAYS)
    coarse, middle = curves(delays), tuned.DELAYS // 2
    k = int(np.argmin(min(coarse, key=np.min)))
    finer = np.linspace(delays[max(k - 1, 0)], delays[min(k + 1, tuned.DELAYS - 1)], tuned.FINER_DELAYS)
    left = min(curves(finer), key=np.min)
    best = float(finer[int(np.argmin(left))])
    needed = tuned.LATE if best > 0.0 else tuned.EARLY
    if abs(best) < tuned.LEAST_DELAY or left.min() > needed * min(curve[middle] for curve in coarse):
        return []
    late, word = abs(1e3 * best), "earlier" if best > 0.0 else "later"
    more = " or more" if k in (0, tuned.DELAYS - 1) else ""
    return [
        f"forces fit the motion much better when they are taken {_digits(late)} ms{more} {word}: "
        f"{'forces' if best > 0.0 else 'positions'} come too late by about that, by a filter or a bus. Shift one of "
        "them"
    ]


def _digits(milliseconds: float) -> str:
    return f"{milliseconds:.2g}" if milliseconds < 99.5 else f"{milliseconds:.0f}"


def _left_with(equations: MeasuredEquations, weight: Array) -> Callable[[Array], float]:
    """Return a function that fits modified forces, and returns the remaining error."""
    tall = (equations.y * weight[..., None]).reshape(-1, len(equations.names))
    size = np.linalg.norm(tall, axis=0)
    basis = np.linalg.qr(tall[:, size > 0.0] / size[size > 0.0])[0]

    def left(more: Array) -> float:
        force = ((equations.tau + more) * weight).reshape(-1)
        return float(force @ force - np.sum((basis.T @ force) ** 2))

    return left


def _shifted(t: Array, tau: Array, delay: float) -> Array:
    """Return forces that were recorded with a delay, at their true times."""
    return np.stack([np.interp(t + delay, t, column) for column in tau.T], axis=1)

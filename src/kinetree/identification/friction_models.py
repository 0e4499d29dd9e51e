"""Friction models: functions of a joint's motion; the joint force is linear in their coefficients.

Velocities are noisy around zero, where the sign of Coulomb friction would be meaningless.  So within the noise, Coulomb
friction is a straight line through zero if the joint reverses. Samples at which a joint is at rest are not used, since
its friction can then have any value up to the breakaway force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.signal import lfilter

from ..errors import UnknownNameError
from ..spatial.arrays import Array
from . import tuned_constants as tuned

Function = Callable[[Array, Array, float, float], Array]
"""A function of travel or position (n,), velocity (n,), the noise of velocities, and the shape."""


@dataclass(frozen=True)
class FrictionModel:
    """A kind of friction."""

    name: str
    terms: dict[str, Function]
    """The function that each of its parameters is multiplied by."""
    shape: str = ""
    """Description of the number that its functions depend on; empty if they depend on none."""
    shapes: tuple[float, ...] = ()
    """Values of that number from which the search begins."""


def viscous(q: Array, v: Array, noise: float, shape: float) -> Array:
    """Return the velocity."""
    return v


def following(v: Array, step: float, time: float) -> Array:
    """Return the velocities of a damper that follows its joint with a time constant, in series with a spring (Maxwell).

    At the beginning, the damper has the velocity of the joint.

    v: (n,)
    step: Time between samples; velocities are interpolated linearly.
    time: Time constant, after which 63 % of a change is followed.
    """
    left = np.exp(-step / time)
    bent = time / step * (1.0 - left)
    found, _ = lfilter([1.0 - bent, bent - left], [1.0, -left], v, zi=[bent * v[0]])
    return np.asarray(found)


def offset(q: Array, v: Array, noise: float, shape: float) -> Array:
    """Return ones: a constant offset, such as that of a sensor that shows a force at rest."""
    return np.ones_like(v)


def coulomb(q: Array, v: Array, noise: float, shape: float) -> Array:
    """Return the sign of the velocity, a straight line within its noise.

    If a joint slows down and then continues in the same direction, and only noise suggests that it reversed in between,
    friction keeps its sign, as in Dahl's model. This happens at every seam of motions that are repeated end to end.
    """
    width = tuned.NOISE * noise
    if not width > 0.0:
        return np.sign(v)
    found = np.clip(v / width, -1.0, 1.0)
    told = np.flatnonzero(np.abs(found) == 1.0)
    same = (found[told[1:]] == found[told[:-1]]) & (np.diff(told) > 1)
    for first, last in zip(told[:-1][same], told[1:][same], strict=True):
        if np.min(found[first] * v[first:last]) > -tuned.TURNED_BACK * noise:
            found[first:last] = found[first]
    return found


def presliding(q: Array, v: Array, noise: float, shape: float) -> Array:
    """Return Coulomb friction that builds up over some travel after a reversal (Dahl's model).

    With the travel s since the reversal it is ``sign - (sign - start) exp(-s / shape)``. Elastic gears, bearings and
    the asperities of two surfaces behave in this way.
    """
    steps = np.diff(q)
    travel = np.concatenate([[0.0], np.cumsum(np.abs(steps))])
    direction = np.sign(steps)
    reversals = np.flatnonzero(np.diff(direction) != 0.0) + 1
    bounds = [0, *reversals, len(q) - 1]
    found = np.zeros_like(q)
    state = coulomb(q[:1], v[:1], noise, shape)[0]
    for first, last in pairwise(bounds):
        sign = direction[first] if last > first else 0.0
        part = slice(first, last + 1)
        if sign:
            found[part] = sign + (state - sign) * np.exp(-(travel[part] - travel[first]) / shape)
        else:
            found[part] = state
        state = found[last]
    return found


def stribeck(q: Array, v: Array, noise: float, shape: float) -> Array:
    """Return the increase of Coulomb friction at low speed, which fades with the square of the speed over ``shape``."""
    return coulomb(q, v, noise, shape) * np.exp(-((v / shape) ** 2))


MODELS = {
    model.name: model
    for model in (
        FrictionModel("none", {}),
        FrictionModel("offset", {"offset": offset}),
        FrictionModel("viscous", {"damping": viscous, "offset": offset}),
        FrictionModel("coulomb", {"damping": viscous, "friction": coulomb, "offset": offset}),
        FrictionModel(
            "stribeck",
            {"damping": viscous, "friction": coulomb, "offset": offset, "stribeck": stribeck},
            "speed at which it fades",
            (0.02, 0.1, 0.4),
        ),
        FrictionModel(
            "presliding",
            {"damping": viscous, "friction": presliding, "offset": offset},
            "travel in which it builds up",
            (3e-4, 1e-3, 4e-3),
        ),
    )
}


SIGN_OF_STEPS = FrictionModel("coulomb", MODELS["presliding"].terms)
"""Coulomb friction whose sign comes from position steps, used if these show reversals better than velocities do. It is
presliding over a travel, given as its shape, that is too short to be seen."""


def friction_model(name: str) -> FrictionModel:
    """Return a model by name; the error for an unknown name suggests the nearest."""
    try:
        return MODELS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("friction model", name, [*MODELS, "auto"]) from None


def resting(v: Array, noise: Array, window: int) -> Array:
    """Return the samples at which a joint is at rest throughout a window around them.

    v: (n, nv)
    noise: (nv,). Standard deviation of the noise of the velocities.
    window: Number of samples on each side.
    """
    slow = np.abs(v) <= tuned.NOISE * noise
    counts = np.concatenate([np.zeros((1, v.shape[1]), dtype=int), np.cumsum(slow, axis=0)])
    n = len(v)
    first, last = np.maximum(np.arange(n) - window, 0), np.minimum(np.arange(n) + window + 1, n)
    return counts[last] - counts[first] == (last - first)[:, None]

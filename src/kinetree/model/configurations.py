"""Configurations of a model: neutral ones, named ones, random ones."""

from __future__ import annotations

import numpy as np

from ..errors import UnknownNameError
from .tree import Model


def neutral(model: Model) -> np.ndarray:
    """Return the configuration in which every joint is at its zero."""
    return np.array([x for j in model.joints if not j.mimic for x in j.kind.neutral()])


def named(model: Model, name: str) -> np.ndarray:
    """Return a configuration that the model has a name for."""
    found = {c.name: c for c in model.configurations}
    if name not in found:
        raise UnknownNameError("configuration", name, found)
    q = neutral(model)
    for joint, position in found[name].positions:
        own = model.joints[model.joint_index[joint]] if joint in model.joint_index else None
        if own is not None and own.nq == len(position):  # followers have no coordinates of their own
            q[own.q_slice] = position
    return q


def random(model: Model, generator: np.random.Generator, batch: tuple[int, ...] = ()) -> np.ndarray:
    """Return random configurations within the position limits, (*batch, nq)."""
    parts = [j.kind.random(generator, j.lower, j.upper, batch) for j in model.joints if not j.mimic]
    return np.concatenate([np.empty((*batch, 0)), *parts], axis=-1)


def within_limits(model: Model, q: np.ndarray, slack: float = 0.0) -> np.ndarray:
    """Return whether configurations are within the position limits of all joints, (...) of bool."""
    within = np.isfinite(q).all(axis=-1)
    for joint, link in zip(model.joints, model.links, strict=True):
        own = q[..., link.q_slice] * link.ratio + link.offset if link.follows else q[..., link.q_slice]
        within &= ((own >= np.array(joint.lower) - slack) & (own <= np.array(joint.upper) + slack)).all(axis=-1)
    return np.asarray(within)

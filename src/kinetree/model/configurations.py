"""Configurations of a model: neutral ones, random ones."""

from __future__ import annotations

import numpy as np

from .tree import Model


def neutral(model: Model) -> np.ndarray:
    """Return the configuration in which every joint is at its zero."""
    return np.array([x for j in model.joints if not j.mimic for x in j.kind.neutral()])


def random(model: Model, generator: np.random.Generator, batch: tuple[int, ...] = ()) -> np.ndarray:
    """Return random configurations within the position limits, (*batch, nq)."""
    parts = [j.kind.random(generator, j.lower, j.upper, batch) for j in model.joints if not j.mimic]
    return np.concatenate([np.empty((*batch, 0)), *parts], axis=-1)

"""Configurations of a model: neutral ones, named ones, random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import OptionError, refuse_unknown
from ..io.units import in_si
from ..spatial.arrays import as_array, batch_shape
from .tree import Model

START = "start"
"""The name of the configuration with which motions begin unless they say otherwise."""


def start(model: Model) -> np.ndarray:
    """Return the configuration named ``start``, or the neutral one, (nq,)."""
    known = any(c.name == START for c in model.configurations)
    return named(model, START) if known else neutral(model)


def neutral(model: Model) -> np.ndarray:
    """Return the configuration (nq,) in which every joint is at its zero."""
    return np.array([x for j in model.joints if not j.mimic for x in j.kind.neutral()])


def named(model: Model, name: str) -> np.ndarray:
    """Return a named configuration of the model, (nq,)."""
    found = {c.name: c for c in model.configurations}
    refuse_unknown("configuration", name, found)
    q = neutral(model)
    for joint, position in found[name].positions:
        own = model.joints[model.joint_index[joint]] if joint in model.joint_index else None
        if own is not None and own.nq == len(position):  # followers have no coordinates
            q[own.q_slice] = position
    return q


def by_joint(model: Model, given: Mapping[str, Any], others: np.ndarray, called: str) -> np.ndarray:
    """Return configurations with joints at given positions, (..., nq).

    given: Positions may have batch axes; those of joints with one coordinate may omit the last axis.
    others: (..., nq). Positions of the joints that are left out.
    called: The name of ``others``, for messages.
    """
    values = {}
    for name, position in given.items():
        joint, what = model.joint(name), f"the position of {name!r}"
        if joint.mimic:
            raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and has no position: give its leader's")
        value = as_array(in_si(position, joint.kind.q_units[0] if joint.nq else "1", what), (), what)
        value = value[..., None] if joint.nq == 1 and value.shape[-1:] != (1,) else value
        values[name] = as_array(value, (joint.nq,), what)
    shapes = {f"the position of {name!r}": (x, 1) for name, x in values.items()}
    q = np.broadcast_to(others, (*batch_shape(**{called: (others, 1)}, **shapes), model.nq)).copy()
    for name, value in values.items():
        q[..., model.joint(name).q_slice] = value
    return q


def random(model: Model, generator: np.random.Generator, batch: tuple[int, ...] = ()) -> np.ndarray:
    """Return random configurations within the position limits, (*batch, nq)."""
    parts = [j.kind.random(generator, j.lower, j.upper, batch) for j in model.joints if not j.mimic]
    return np.concatenate([np.empty((*batch, 0)), *parts], axis=-1)


def within_limits(model: Model, q: np.ndarray, slack: float = 0.0) -> np.ndarray:
    """Return whether configurations are within the position limits of all joints: booleans (...)."""
    within = np.isfinite(q).all(axis=-1)
    for joint, link in zip(model.joints, model.links, strict=True):
        own = q[..., link.q_slice] * link.ratio + link.offset if link.follows else q[..., link.q_slice]
        within &= ((own >= np.array(joint.lower) - slack) & (own <= np.array(joint.upper) + slack)).all(axis=-1)
    return np.asarray(within)


def brought_within_limits(model: Model, q: np.ndarray) -> np.ndarray:
    """Return a configuration, (nq,), with joints that are beyond a limit in the middle of their range."""
    q = q.copy()
    for joint in model.joints:
        for k, (low, high) in enumerate(zip(joint.lower, joint.upper, strict=True) if joint.nq == joint.nv else ()):
            place = joint.q_slice.start + k
            if not joint.mimic and not low <= q[place] <= high and np.isfinite(low + high):
                q[place] = 0.5 * (low + high)
    return q

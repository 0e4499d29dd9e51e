"""Joint forces lost to friction, on arrays; :mod:`kinetree.algorithms.joint_friction` has its laws over any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.joint_friction import fading_friction, spent_slopes
from ..algorithms.tendons import damping_force
from ..errors import OptionError, StateError, UnsupportedError
from ..model.tree import Model
from ..spatial.arrays import Array, as_array, pack, split
from .evaluator import Evaluator


def friction_force(evaluator: Evaluator, v: ArrayLike, parameters: Any = None, q: ArrayLike | None = None) -> Array:
    """Return joint forces lost to friction, (..., nv); see :meth:`kinetree.Robot.friction_force`."""
    model = evaluator.model
    rate = as_array(v, (model.nv,), "v", f"{model.nv} = nv")
    if parameters is not None:
        rubbing = evaluator.friction_force(rate, parameters)
    else:
        damping, coulomb = model.effective_friction
        with np.errstate(all="ignore"):
            for k, fades in fading_friction(model).items():
                coulomb = coulomb + np.eye(model.nv)[k] * fades.at(rate[..., k])[..., None]
            rubbing = damping * rate + coulomb * np.sign(rate) + model.effective_offset
    return rubbing + _along_tendons(model, rate, q) if any(t.damping for t in model.tendons) else rubbing


def _along_tendons(model: Model, rate: Array, q: ArrayLike | None) -> Array:
    if q is None:
        raise OptionError("there are dampers along tendons, whose force depends on q: friction_force(v, q=q)")
    position = as_array(q, (model.nq,), "q", f"{model.nq} = nq")
    batch = np.broadcast_shapes(position.shape[:-1], rate.shape[:-1])
    with np.errstate(all="ignore"):
        return -pack(damping_force(model, split(position), split(rate)), batch)


def friction_slope(model: Model, v: ArrayLike) -> Array:
    """Return the derivative of :func:`friction_force` away from rest: a number per velocity, or per state."""
    rate = as_array(v, (model.nv,), "v", f"{model.nv} = nv")
    if any(t.damping for t in model.tendons):
        raise UnsupportedError("derivatives do not include dampers along tendons: leave friction=False")
    damping, coulomb = model.effective_friction
    more = fading_friction(model)
    jumps = (rate == 0.0) & ((coulomb > 0.0) | np.isin(np.arange(model.nv), list(more)))
    if np.any(jumps):
        *state, k = (int(i) for i in np.argwhere(jumps)[0])
        place = "" if not state else f" (batch index {state[0] if len(state) == 1 else tuple(state)})"
        raise StateError(
            f"{model.v_names[k]!r} is at rest{place} and has Coulomb friction, whose force jumps there: it has no "
            "derivative. Leave friction=False, or set that joint's friction to zero"
        )
    return pack(spent_slopes(model, split(rate)), rate.shape[:-1]) if more else damping

"""The robot's own actuators, driven by control signals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.tendons import Driven, clamped, drive
from ..errors import ModelError, ShapeError, UnknownNameError, explains_arguments
from ..model.tree import Model
from ..motion.trajectory import Trajectory
from ..spatial import Scalar
from .base import Controller, Outcome, as_gain, gains
from .driven_joints import Scalars


@explains_arguments
@dataclass(frozen=True, eq=False)
class Actuators(Controller):
    """Turn control signals into joint forces as the model's actuators do: motors, position and velocity servos.

    Parameters
    ----------
    signals : float, array_like, mapping of actuator name to number, or Trajectory
        One number for all, or one per actuator, in the order of ``robot.actuators``, with a batch of simulations in
        front if you like; a mapping leaves the others at zero.  A trajectory's positions are the signals.

    Examples
    --------
    ``kt.simulate(gripper, time=1.0, controller=kt.control.Actuators({"fingers_actuator": 255}))``
    """

    signals: Any = 0.0

    def parameters(self, tree: Model) -> dict[str, np.ndarray]:
        """Return the signals, which may vary over a batch; those of a trajectory do not."""
        if isinstance(self.signals, Trajectory):
            return {}
        return {"signals": as_gain(self._numbers(tree), len(tree.actuators), "signals")}

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces."""
        tau: list[Scalar] = [0.0] * tree.nv
        for driven in self.at(tree, t, q, v):
            for k, s in driven.taut.slope.items():
                tau[k] = tau[k] + s * driven.force
        for joint in tree.joints:
            if joint.mimic is None:
                for k, limit in zip(range(joint.v_slice.start, joint.v_slice.stop), joint.effort_limit, strict=False):
                    if not (isinstance(tau[k], float) and tau[k] == 0.0):
                        tau[k] = clamped(tau[k], (-limit, limit))
        return tau, []

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return how stiff and how damping the servos are at each freedom, for steps that are implicit in them.

        What a tendon couples is counted where it acts, so that a step with it is never less stable than the truth.
        """
        stiffness: list[Scalar] = [0.0] * tree.nv
        damping: list[Scalar] = [0.0] * tree.nv
        for driven in self.at(tree, t, q, v):
            sizes = {k: abs(s) for k, s in driven.taut.slope.items()}
            whole: Scalar = sum(sizes.values(), 0.0)
            for k, s in sizes.items():  # what drives away from rest is left to the step as it is
                stiffness[k] = stiffness[k] + s * whole * clamped(driven.stiffness, (0.0, math.inf))
                damping[k] = damping[k] + s * whole * clamped(driven.damping, (0.0, math.inf))
        return stiffness, damping

    def at(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Driven]:
        """Return what every actuator does at a state."""
        if not tree.actuators:
            raise ModelError(
                f"robot {tree.name!r} has no actuators that signals could drive: add them with builder.actuator(...), "
                "or control its joints by a law such as control.PD"
            )
        signals = self._at_time(tree, t)
        return [drive(tree, a, u, q, v) for a, u in zip(tree.actuators, signals, strict=True)]

    def _at_time(self, tree: Model, t: Scalar) -> list[Scalar]:
        count = len(tree.actuators)
        if not isinstance(self.signals, Trajectory):
            return gains(self._numbers(tree), count, "signals")
        position = self.signals.at(t)[0]
        if len(position) != count:
            raise ShapeError(f"the trajectory has {len(position)} signals; robot {tree.name!r} has {count} actuators")
        return list(position)

    def _numbers(self, tree: Model) -> Any:
        if not isinstance(self.signals, Mapping):
            nested = isinstance(self.signals, (list, tuple)) and isinstance(self.signals[0], (list, tuple))
            return np.asarray(self.signals, dtype=float) if nested else self.signals
        names = [a.name for a in tree.actuators]
        for name in self.signals:
            if name not in names:
                raise UnknownNameError("actuator", name, names)
        given = [np.asarray(self.signals.get(name, 0.0), dtype=float) for name in names]
        return np.stack(np.broadcast_arrays(*given), axis=-1) if given else 0.0

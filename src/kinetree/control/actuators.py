"""The robot's own actuators, driven by control signals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.compliant_directions import GivingWay, at_freedoms
from ..algorithms.tendons import Driven, clamped, drive, transmission
from ..errors import ModelError, ShapeError, refuse_unknown
from ..model.tree import Model
from ..motion.trajectory_interface import Trajectory
from ..spatial import Scalar
from ..spatial.arrays import split
from .base import Controller, Outcome, as_gain, gains
from .driven_joints import Scalars


@dataclass(frozen=True, eq=False)
class Actuators(Controller):
    """Turns control signals into joint forces by the model's actuators: motors, position and velocity servos.

    Parameters
    ----------
    signals : float, array_like, mapping of actuator name to number, or Trajectory
        One number for all, or one per actuator in the order of ``robot.actuators``, perhaps with a batch of
        simulations in front; a mapping leaves the others at zero.  The signals of a trajectory are its positions.

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
        return joint_forces(tree, self.at(tree, t, q, v)), []

    def impedance(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> GivingWay:
        """Return stiffness and damping of the servos at each freedom, for implicit steps.

        The coupling through a tendon is added to the diagonal, so that a step is never less stable than with the exact
        matrix.
        """
        return joint_impedance(tree, self.at(tree, t, q, v))

    def at(self, tree: Model, t: Scalar, q: Scalars, v: Scalars) -> list[Driven]:
        """Return the effect of every actuator at a state."""
        check_has_actuators(tree)
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
            refuse_unknown("actuator", name, names)
        given = [np.asarray(self.signals.get(name, 0.0), dtype=float) for name in names]
        return np.stack(np.broadcast_arrays(*given), axis=-1) if given else 0.0


def check_has_actuators(tree: Model) -> None:
    """Refuse a robot that has nothing for signals to drive."""
    if not tree.actuators:
        raise ModelError(
            f"robot {tree.name!r} has no actuators that signals could drive: add them with builder.actuator(...), "
            "or control its joints by a law such as control.PD"
        )


def joint_forces(tree: Model, actuators: Sequence[Driven]) -> list[Scalar]:
    """Return the joint forces of actuators, within the joints' effort limits."""
    tau: list[Scalar] = [0.0] * tree.nv
    for driven in actuators:
        for k, s in driven.taut.slope.items():
            tau[k] = tau[k] + s * driven.force
    for joint in tree.joints:
        if joint.mimic is None:
            for k, limit in zip(joint.freedoms, joint.effort_limit, strict=False):
                if not (isinstance(tau[k], float) and tau[k] == 0.0):
                    tau[k] = clamped(tau[k], (-limit, limit))
    return tau


def joint_impedance(tree: Model, actuators: Sequence[Driven]) -> GivingWay:
    """Return stiffness and damping of actuators at each freedom; see :meth:`Actuators.impedance`."""
    some = (0.0, math.inf)  # forces that drive away from rest stay explicit
    lengths = [(d.taut, clamped(d.stiffness, some), clamped(d.damping, some)) for d in actuators]
    return *at_freedoms(tree, lengths), []


def resting_signals(tree: Model, q: np.ndarray) -> np.ndarray:
    """Return the signals (..., actuators) with the least forces at rest in q (..., nq).

    They are zero for a motor and the position for a position servo, or the nearest signal in range.
    """
    found = []
    for actuator in tree.actuators:
        length = np.asarray(transmission(tree, actuator, split(q)).length, dtype=float)
        gain = actuator.gain[0] + actuator.gain[1] * length
        pull = actuator.bias[0] + actuator.bias[1] * length
        with np.errstate(divide="ignore", invalid="ignore"):
            signal = np.where((gain == 0.0) | (pull == 0.0), 0.0, -pull / gain)
        found.append(np.broadcast_to(np.clip(signal, *actuator.control_range), q.shape[:-1]))
    return np.stack(found, axis=-1)

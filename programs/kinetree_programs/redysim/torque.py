"""The forces of ``torque.m`` of a ReDySim folder, compiled with the robot like any law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms import hybrid, newton_euler
from kinetree.control.base import Controller, Outcome
from kinetree.control.computed_torque import check_senses, sensed
from kinetree.control.driven_joints import Scalars
from kinetree.model.tree import Model
from kinetree.spatial import Scalar

from ..matlab import values
from ..matlab.evaluate import HostFunction
from ..matlab.folder import numbers
from .laws import RedysimLaws

TREE = ("n", "alp", "a", "b", "th", "bt", "r", "dx", "dy", "dz", "m", "g", "Icxx", "Icyy", "Iczz", "Icxy", "Icyz",
        "Iczx")  # fmt: skip
FLOATING = ("n", "alp", "a", "b", "bt", "dx", "dy", "dz", "al", "alt", "m", "g", "Icxx", "Icyy", "Iczz", "Icxy", "Icyz",
            "Iczx")  # fmt: skip
"""Arguments of ReDySim's own functions after the state: the robot, as in ``inputs.m``."""


@dataclass(frozen=True, eq=False)
class RedysimTorque(Controller):
    """Forces of ``torque.m``; functions that ReDySim encrypts are replaced by kinetree's.

    Parameters
    ----------
    laws : RedysimLaws
    senses : sequence of force elements
        The ground of a legged system, which its ``torque.m`` needs.
    """

    laws: RedysimLaws
    senses: Sequence[Any] = ()

    def __post_init__(self) -> None:
        check_senses(self.senses)

    def initial_states(self, tree: Model) -> np.ndarray:
        """Return the initial base motion that a legged system's controller assumes, ``qq`` and ``dqq``."""
        state = self.laws.initials.state
        if not self.laws.folder.has_ground or state is None:
            return np.zeros(0)
        return state[-12:]

    def law(self, tree: Model, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> Outcome:
        """Return the joint forces, and the rates of additional states."""
        return self.laws.torque(t, q, v, z, self._hosts(tree, t))

    def _hosts(self, tree: Model, t: Scalar) -> dict[str, HostFunction]:
        order = self.laws.order

        def on_a_fixed_base(given: Sequence[Any], outputs: int) -> list[Any]:
            self.laws.same_robot(TREE, given[3:])
            q, v, a = (order.ours(numbers(x)) for x in given[:3])
            tau, _ = newton_euler.inverse_dynamics(tree, q, v, a, tree.gravity)
            return [values.of(order.theirs(tau))]

        def on_a_floating_base(given: Sequence[Any], outputs: int) -> list[Any]:
            names = (*FLOATING, "g_prop") if len(given) == len(FLOATING) + 6 else FLOATING
            self.laws.same_robot(names, given[5:])
            base, base_rate, th, dth, ddth = (numbers(x) for x in given[:5])
            q, v = order.ours([*base, *th[1:]]), order.ours([*base_rate, *dth[1:]])
            known = [j.nv == 1 for j in tree.joints]
            loads = sensed(tree, self.senses, t, q, v)
            a, tau = hybrid.hybrid_dynamics(
                tree, q, v, order.ours([0.0] * 6 + ddth[1:]), known, tree.gravity, loads
            )  # fmt: skip
            return [values.of(order.theirs(tau)[6:]), values.of(order.theirs(a)[:6])]

        return {"invdyn_tree_eff": on_a_fixed_base, "invdyn_float": on_a_floating_base}

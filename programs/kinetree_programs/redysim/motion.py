"""The motion defined by ``trajectory.m`` of a ReDySim folder."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.motion.trajectory_interface import Motion, Trajectory
from kinetree.spatial.taylor import Jet

from .laws import RedysimLaws


@dataclass(frozen=True, eq=False)
class RedysimMotion(Trajectory):
    """The motion of all joints except a floating base, by ``trajectory.m`` and, with closed loops, ``inv_kine.m``.

    Velocities and accelerations are those that the files give.

    Parameters
    ----------
    laws : RedysimLaws
    """

    laws: RedysimLaws

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return len(self.laws.order.joints)

    def is_batched(self) -> bool:
        """Return False: it is a single motion."""
        return False

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations, in the order of the robot's joints."""
        found = self.laws.motion(t.value)
        joints = self.laws.order.joints
        ranks = sorted(range(len(joints)), key=joints.__getitem__)
        q, v, a = ([row[k] for k in ranks] for row in found)
        rates = [x * t.first for x in v]
        return q, rates, [y * (t.first * t.first) + x * t.second for x, y in zip(v, a, strict=True)]

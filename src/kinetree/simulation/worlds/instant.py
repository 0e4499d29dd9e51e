"""A world at one instant, for functions of observation, reward and end: scalars of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ...algorithms import centroidal, kinematics
from ...errors import OptionError, nearest
from ...spatial import Motion, Scalar, Transform, Vec3
from ..elimination_order import LoopChoice
from ..system import Acting, DynamicSystem

Scalars = Sequence[Scalar]

ELSEWHERE = {
    "qpos": "q", "qvel": "v", "velocities": "v", "positions": "q", "ctrl": "action", "actions": "action", "t": "time",
    "tau": "forces", "torques": "forces", "qacc": "accelerations", "com": "center_of_mass", "goals": "goal",
    "xpos": "place", "last_action": "action", "prev_action": "previous_action", "projected_gravity": "up",
    "gravity": "up", "orientation": "pose", "rotation": "pose", "quaternion": "pose", "base_velocity": "twist",
    "contacts": "contact_forces",
}  # fmt: skip
"""Names that other libraries use for these attributes."""


class Moment:
    """The state of one world, and quantities that follow from it; all are scalars that may be traced into machine code.

    Attributes
    ----------
    time : scalar
        Seconds since the episode began.
    q, v : sequence of scalars
    action, previous_action : sequence of scalars
        The last action as given to the world, and the one before.  Before any action they are neutral: the positions of
        the motors if actions are positions, otherwise zero.
    goal : mapping of str to sequence of scalars
        Numbers of the world's ``goal``, by name.
    """

    def __init__(
        self, system: DynamicSystem, time: Scalar, q: Scalars, v: Scalars, z: Scalars, action: Scalars,
        choice: LoopChoice | None = None, goal: Mapping[str, Scalars] | None = None, previous_action: Scalars = (),
    ) -> None:  # fmt: skip
        self.system, self.tree = system, system.tree
        self.time, self.q, self.v, self.z, self.action = time, q, v, z, action
        self.goal = {} if goal is None else goal
        self.previous_action = previous_action
        self._choice = choice

    def __getattr__(self, name: str) -> Any:
        known = (
            "time",
            "q",
            "v",
            "action",
            "previous_action",
            "goal",
            *(key for key in vars(Moment) if not key.startswith("_")),
        )
        near = [ELSEWHERE[name]] if name in ELSEWHERE else nearest(name, known, 2)
        raise AttributeError(f"a moment has no {name!r}; " + (
            "did you mean " + " or ".join(f"m.{key}" for key in near) + "?" if near else f"it has {', '.join(known)}"
        ))  # fmt: skip

    # ------------------------------------------------------------------ joints

    def position(self, joint: str) -> Scalar:
        """Return the coordinate of a joint of one freedom."""
        return self._only(joint, "q", self.q[self.tree.joint(joint).q_slice])

    def speed(self, joint: str) -> Scalar:
        """Return the velocity of a joint of one freedom."""
        return self._only(joint, "v", self.v[self.tree.joint(joint).v_slice])

    def _only(self, joint: str, name: str, found: Scalars) -> Scalar:
        if len(found) == 1:
            return found[0]
        place = getattr(self.tree.joint(joint), f"{name}_slice")
        numbers = f"{len(found)} numbers: use m.{name}[{place.start}:{place.stop}]" if found else "no numbers"
        raise OptionError(f"joint {joint!r} has {numbers}")

    # ------------------------------------------------------------------ frames

    def pose(self, frame: str) -> Transform:
        """Return the pose of a frame: ``.translation`` in the world, and ``.rotate(vector)``."""
        return kinematics.frame_pose(self.tree, self.q, frame)

    def place(self, frame: str) -> Vec3:
        """Return the origin of a frame in the world."""
        return self.pose(frame).translation

    def axis(self, frame: str, which: int = 2) -> Vec3:
        """Return an axis of a frame (0, 1, 2 for x, y, z) in the world."""
        unit = [0.0, 0.0, 0.0]
        unit[which] = 1.0
        return self.pose(frame).rotate(Vec3(*unit))

    def up(self, frame: str) -> Vec3:
        """Return the world's z axis along the axes of a frame: (0, 0, 1) for an upright frame."""
        return self.pose(frame).unrotate(Vec3(0.0, 0.0, 1.0))

    def twist(self, frame: str) -> tuple[Vec3, Vec3]:
        """Return angular and linear velocity of a frame's origin, both along the frame's axes."""
        velocity: Motion = kinematics.frame_velocity(self.tree, self.q, self.v, frame)[0]
        return velocity.angular, velocity.linear

    def velocity(self, frame: str) -> Vec3:
        """Return the velocity of a frame's origin along the axes of the world."""
        velocity, pose = kinematics.frame_velocity(self.tree, self.q, self.v, frame)
        return pose.rotate(velocity.linear)

    # ------------------------------------------------------------------ forces

    @cached_property
    def acting(self) -> Acting:
        """What acts on the robot: forces of motors, friction, ground."""
        return self.system.acting(self.time, self.q, self.v, self.z)

    @property
    def forces(self) -> list[Scalar]:
        """Forces of the motors, one per freedom."""
        return self.acting.tau

    @cached_property
    def contact_forces(self) -> list[Vec3]:
        """Forces on all spots that can touch the ground, along world axes."""
        flat = self.system.contact_forces(self.time, self.q, self.v, self.z)
        if not flat:
            raise OptionError(
                "m.contact_forces: the World has no ground to touch; give ground=kinetree.ground.Ground(...)"
            )
        return [Vec3(*flat[k : k + 3]) for k in range(0, len(flat), 3)]

    @cached_property
    def accelerations(self) -> list[Scalar]:
        """Accelerations of all freedoms."""
        if self._choice is not None:
            return self.system.closed_rate(self.time, self.q, self.v, self.z, self._choice)[0]
        return self.system.rate(self.time, self.q, self.v, self.z)[0]

    @property
    def power(self) -> Scalar:
        """Mechanical power of all motors: the sum of the magnitudes."""
        total: Any = 0.0
        for force, rate in zip(self.forces, self.v, strict=True):
            total = total + abs(force * rate)
        return total

    @cached_property
    def center_of_mass(self) -> Vec3:
        """The robot's center of mass in the world."""
        return centroidal.center_of_mass(self.tree, self.q)

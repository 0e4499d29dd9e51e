"""A world at one instant, for functions of observation, reward and end: scalars of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ...algorithms import centroidal, kinematics
from ...algorithms.clearance.of_robot import separations
from ...errors import OptionError, UnknownNameError, nearest
from ...robot.clearance import chosen_pairs
from ...spatial import Motion, Scalar, Transform, Vec3, clip, maximum, minimum, sqrt
from ..elimination_order import LoopChoice
from ..system import Acting, DynamicSystem

Scalars = Sequence[Scalar]

UPRIGHT = 1e-18
"""Square of the length of a horizontal direction that counts as none, so that nothing is divided by zero."""

ELSEWHERE = {
    "qpos": "q", "qvel": "v", "velocities": "v", "positions": "q", "ctrl": "action", "actions": "action", "t": "time",
    "tau": "forces", "torques": "forces", "qacc": "accelerations", "com": "center_of_mass", "goals": "goal",
    "xpos": "place", "last_action": "action", "prev_action": "previous_action", "projected_gravity": "up",
    "gravity": "up", "orientation": "pose", "rotation": "pose", "quaternion": "pose", "base_velocity": "twist",
    "contacts": "contact_forces", "contact": "touches", "collision": "touches", "is_touching": "touches",
    "height_map": "height_scan", "heights": "height_scan", "measured_heights": "height_scan", "distance": "clearance",
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

    def contact_force(self, name: str, other: str | None = None) -> Vec3:
        """Return the total contact force on a shape, a body, a frame or a robot of a scene, along world axes.

        With ``other``, only that of contacts with this other one.
        """
        total = Vec3(0.0, 0.0, 0.0)
        for force, sign in self._contacts(name, other):
            total = total + force * sign
        return total

    def touches(self, name: str, other: str | None = None) -> Any:
        """Return whether a shape, a body, a frame or a robot of a scene touches anything, or touches another one.

        The condition ends an episode: ``ended=lambda m: m.touches("trunk", "floor")``.
        """
        most: Scalar = 0.0
        for force, _ in self._contacts(name, other):
            most = maximum(most, force.dot(force))
        return most > 0.0

    def _contacts(self, name: str, other: str | None) -> list[tuple[Vec3, float]]:
        """Return the forces of contacts between two, each with the sign with which the first one feels it."""
        owners = self.system.contact_owners
        for one in (name, other):
            known = dict.fromkeys(x for pair in owners for side in pair for x in side)
            if one is not None and one not in known:
                raise UnknownNameError("shape, body or frame that can touch anything", one, known)
        found = []
        for k, (feels, against) in enumerate(owners):
            for mine, others, sign in ((feels, against, 1.0), (against, feels, -1.0)):
                if name in mine and name not in others and (other is None or other in others):
                    found.append((self.contact_forces[k], sign))
        if not found:
            raise OptionError(f"{name!r} and {other!r} cannot touch: no contact of this World is between them")
        return found

    def clearance(self, first: str, second: str) -> Scalar:
        """Return the smallest distance between the shapes of two bodies, or two shapes; negative if they overlap."""
        pairs = chosen_pairs(self.tree, [(first, second)])
        found = [x.distance for x in separations(self.tree, self.q, pairs)]
        least = found[0]
        for distance in found[1:]:
            least = minimum(least, distance)
        return least

    def ground_height(self, x: Scalar, y: Scalar) -> Scalar:
        """Return the height of the ground at a place, as seen from straight above: of all that stands still."""
        found = self.system.ground_height(x, y)
        if found is None:
            raise OptionError("m.ground_height: the World has no ground that stands still; give ground=...")
        return found

    def height_scan(self, frame: str, points: Sequence[Sequence[float]], reach: float = 2.0) -> list[Scalar]:
        """Return heights of the ground at points around a frame, above the frame's origin (negative: below it).

        The points (x, y) lie in a level plane that turns with the frame about the vertical axis, as the ground below a
        walking machine does.  Heights are limited to ``reach`` meters, which also stands where there is no ground.
        """
        pose = self.pose(frame)
        ahead = pose.rotate(Vec3(1.0, 0.0, 0.0))
        size = sqrt(ahead.x * ahead.x + ahead.y * ahead.y + UPRIGHT)
        c, s = ahead.x / size, ahead.y / size
        at = pose.translation
        places = [(at.x + c * x - s * y, at.y + s * x + c * y) for x, y in points]
        return [clip(self.ground_height(*place) - at.z, -reach, reach) for place in places]

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

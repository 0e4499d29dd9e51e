"""The part of the builder that adds tendons, actuators and couplings of joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..errors import ExplainsArguments, ModelError, UnknownNameError, refuse_unknown
from .actuators import Actuator, JointCoupling, Tendon, Waypoint
from .joint_fields import per_freedom
from .pose import Pose, floats
from .tree import Joint


class TendonDraft(NamedTuple):
    """A tendon as described, before the indices of its bodies are known."""

    name: str
    joints: dict[str, float]
    points: list[tuple[str, tuple[float, float, float]]]
    stiffness: float
    rest: tuple[float, float]
    damping: float


class DriveBuilder(ExplainsArguments):
    """Collects tendons, actuators and couplings, which refer to joints, bodies and frames by name."""

    def __init__(self) -> None:
        self._tendons: dict[str, TendonDraft] = {}
        self._actuators: dict[str, Actuator] = {}
        self._couplings: dict[str, JointCoupling] = {}

    def _oddity(self, message: str) -> None:
        """Report something harmless that is likely a mistake."""
        raise NotImplementedError

    def tendon(
        self, name: str, joints: Mapping[str, float] | None = None, *, points: Sequence[Any] = (),
        stiffness: float = 0.0, rest: float | Sequence[float] | None = None, damping: float = 0.0,
    ) -> Self:  # fmt: skip
        """Add a tendon: a length that a spring, a damper or an actuator acts along. Returns the builder.

        Parameters
        ----------
        name : str
        joints : mapping of joint name to coefficient
            The length is the sum of coordinates times coefficients; each joint has one degree of freedom.
        points : sequence of names of bodies or frames, or pairs of such a name and a (3,) position
            Given instead of joints; the length is that of a line through these points, straight from each point to the
            next.
        stiffness, damping : float
            Along the length, in N/m and N s/m.
        rest : float or pair of floats
            Rest length of the spring, or two lengths between which it is slack; the second is infinite for a spring
            that only pushes.
        """
        if not isinstance(name, str) or not name or name in self._tendons:
            raise ModelError(f"two tendons are named {name!r}" if name in self._tendons else "a tendon needs a name")
        where = f"tendon {name!r}: "
        if bool(joints) == bool(len(points)):
            raise ModelError(f"{where}give either joints, or points that it goes through")
        stiff, (low, high) = spring_along(where, stiffness, rest)
        (drag,) = per_freedom(damping, 1, 0.0, where + "damping", True)
        if not math.isfinite(drag):
            raise ModelError(f"{where}stiffness and damping must be finite")
        if not all(isinstance(p, str) or (isinstance(p, (list, tuple)) and len(p) == 2) for p in points):
            raise ModelError(f"{where}points are names of bodies or frames, or pairs of such a name and a position")
        through = [(p, (0.0, 0.0, 0.0)) if isinstance(p, str) else (p[0], _point(p[1], where)) for p in points]
        if points and len(through) < 2:
            raise ModelError(f"{where}a line needs two points at least")
        coefficients = {
            key: per_freedom(x, 1, 0.0, f"{where}coefficient of {key!r}")[0] for key, x in (joints or {}).items()
        }
        self._tendons[name] = TendonDraft(name, coefficients, through, stiff, (low, high), drag)
        return self

    def actuator(
        self, name: str, joint: str = "", *, tendon: str = "", gear: float = 1.0, gain: float | Sequence[float] = 1.0,
        bias: Sequence[float] = (0.0, 0.0, 0.0), control_range: Sequence[float] | None = None,
        force_range: Sequence[float] | None = None,
    ) -> Self:  # fmt: skip
        """Add an actuator, which turns a control signal into a force at a joint or along a tendon. Returns the builder.

        Parameters
        ----------
        name : str
        joint, tendon : str
            The joint (with one degree of freedom) or the tendon that it drives.
        gear : float
            Length of the actuator per unit of the joint's coordinate.
        gain : float or three of them
            Force per unit of the control signal; with three numbers, the second and third multiply length and speed.
        bias : three floats
            Constant force, force per unit of length and force per unit of speed: ``(0, -kp, -kd)`` for a position
            servo.
        control_range, force_range : pairs of floats
            See :class:`kinetree.model.actuators.Actuator`.
        """
        if not isinstance(name, str) or not name or name in self._actuators:
            raise ModelError(
                f"two actuators are named {name!r}" if name in self._actuators else "an actuator needs a name"
            )
        where = f"actuator {name!r}: "
        if bool(joint) == bool(tendon):
            raise ModelError(f"{where}give either a joint or a tendon that it drives")
        (geared,) = per_freedom(gear, 1, 1.0, where + "gear")
        gains = floats(gain, where + "gain")
        three = (float(gains), 0.0, 0.0) if gains.shape == () else per_freedom(gain, 3, 0.0, where + "gain")  # type: ignore[arg-type]
        biases = per_freedom(bias, 3, 0.0, where + "bias")
        if not all(map(math.isfinite, (geared, *three, *biases))):
            raise ModelError(f"{where}gear, gain and bias must be finite")
        ranges = [_range(x, where + w) for x, w in ((control_range, "control_range"), (force_range, "force_range"))]
        self._actuators[name] = Actuator(name, joint, tendon, geared, three, biases, *ranges)  # type: ignore[arg-type]
        return self

    def coupling(
        self, name: str, joints: str | Mapping[str, float], follows: str | Mapping[str, float] | None = None,
        polynomial: Sequence[float] | None = None,
    ) -> Self:  # fmt: skip
        """Couple joints by a constraint ``y = p(x)``: a gear, a cam, a differential. Returns the builder.

        All joints keep their coordinates; they are held together by a constraint force, as in a closed loop.

        Parameters
        ----------
        name : str
        joints : str or mapping of joint name to coefficient
            Joints of y, which is a coordinate or a sum of coordinates times coefficients; each has one degree of
            freedom.
        follows : str or mapping of joint name to coefficient, optional
            Joints of x, given in the same way.
        polynomial : sequence of floats, optional
            Coefficients of p, the constant first: ``[0, 1, 0.5]`` is x + x²/2.  By default y = x, or y = 0 if there is
            no x.

        Examples
        --------
        >>> import kinetree as kt
        >>> b = kt.Builder("two wheels")
        >>> _ = b.body("left", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1))
        >>> _ = b.body("right", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1))
        >>> _ = b.coupling("gear", "right_joint", "left_joint", [0, -2])
        >>> b.build().mobility([0.5, -1.0]).freedoms
        1
        """
        where = f"coupling {name!r}: "
        if not isinstance(name, str) or not name or name in self._couplings:
            raise ModelError(
                f"two couplings are named {name!r}" if name in self._couplings else "a coupling needs a name"
            )
        y, x = _coefficients(joints, where), _coefficients({} if follows is None else follows, where)
        if not y:
            raise ModelError(f"{where}it needs at least one joint")
        given = floats(([0.0, 1.0] if x else [0.0]) if polynomial is None else polynomial, where + "polynomial")
        if given.ndim != 1 or not len(given) or not np.all(np.isfinite(given)):
            raise ModelError(f"{where}a polynomial is a list of finite numbers, the constant first, not {polynomial!r}")
        powers = [float(c) for c in given]
        if not x and any(powers[1:]):
            raise ModelError(f"{where}a polynomial needs the joint it depends on: follows=...")
        self._couplings[name] = JointCoupling(
            name, tuple(y), tuple(y.values()), tuple(x), tuple(x.values()), tuple(powers)
        )
        return self

    def gear(self, name: str, first: str, second: str, teeth: Sequence[float], *, internal: bool = False) -> Self:
        """Let two gear wheels mesh. Returns the builder.

        Parameters
        ----------
        name : str
        first, second : str
            The joints that the wheels turn on, both on the same carrier.  (For a rack, couple a sliding joint with its
            pinion: ``coupling(name, "rack", {"pinion": radius})``.)
        teeth : pair of positive numbers
            Numbers of teeth, or radii: only their ratio matters.
        internal : bool
            Whether one wheel is a ring gear with teeth inside, so that both turn the same way.
        """
        one, two = _sizes(teeth, f"gear {name!r}: teeth")
        return self.coupling(name, {first: one, second: -two if internal else two})

    def belt(self, name: str, first: str, second: str, radii: Sequence[float], *, crossed: bool = False) -> Self:
        """Connect two wheels by a belt or chain that does not slip. Returns the builder.

        Parameters
        ----------
        name : str
        first, second : str
            The joints that the wheels turn on.
        radii : pair of positive numbers
        crossed : bool
            Whether the belt is crossed, so that the wheels turn opposite ways.
        """
        one, two = _sizes(radii, f"belt {name!r}: radii")
        return self.coupling(name, {first: one, second: two if crossed else -two})

    def _coupled(self, joints: Sequence[Joint]) -> tuple[JointCoupling, ...]:
        """Return all couplings, once the joints are known."""
        kinds = {j.name: j.kind for j in joints}
        found = []
        for coupling in self._couplings.values():
            for name, _, _ in coupling.terms():
                _one_freedom(name, joints, f"coupling {coupling.name!r}")
            found.append(replace(coupling, unit=kinds[coupling.joints[0]].v_units[0]))
        return tuple(found)

    def _why_coupled(self) -> dict[str, str]:
        """Return the joints that need a coordinate because they are coupled, with the reason in words."""
        names = {name: c.name for c in self._couplings.values() for name, _, _ in c.terms()}
        return {name: f"is coupled by {coupling!r}" for name, coupling in names.items()}

    def _drives(
        self, joints: Sequence[Joint], places: dict[str, tuple[int, Pose]]
    ) -> tuple[tuple[Tendon, ...], tuple[Actuator, ...]]:
        """Return all tendons and actuators, once the indices of the bodies are known."""
        tendons = tuple(self._spanned(tendon, joints, places) for tendon in self._tendons.values())
        return tendons, tuple(self._attached(actuator, joints) for actuator in self._actuators.values())

    def _spanned(self, draft: TendonDraft, joints: Sequence[Joint], places: dict[str, tuple[int, Pose]]) -> Tendon:
        """Return a tendon, once the indices of its bodies are known."""
        for name in draft.joints:
            _one_freedom(name, joints, f"tendon {draft.name!r}")
        points = []
        for end, position in draft.points:
            refuse_unknown(f"body or frame (of tendon {draft.name!r})", end, places)
            body, pose = places[end]
            x, y, z = (pose @ Pose.of(position)).translation
            points.append(Waypoint(body, (x, y, z), end, position))
        if points and len({p.body for p in points}) == 1:
            self._oddity(f"tendon {draft.name!r} goes through points of one rigid body only: its length never changes")
        return Tendon(
            draft.name, tuple(draft.joints), tuple(draft.joints.values()), tuple(points), draft.stiffness, draft.rest,
            draft.damping,
        )  # fmt: skip

    def _attached(self, actuator: Actuator, joints: Sequence[Joint]) -> Actuator:
        if actuator.joint:
            _one_freedom(actuator.joint, joints, f"actuator {actuator.name!r}")
        elif actuator.tendon not in self._tendons:
            raise UnknownNameError(f"tendon (of actuator {actuator.name!r})", actuator.tendon, self._tendons)
        return actuator


def _one_freedom(name: str, joints: Sequence[Joint], whose: str) -> None:
    known = {j.name: j for j in joints}
    refuse_unknown(f"moving joint (of {whose})", name, known)
    if known[name].kind.nv != 1:
        raise ModelError(
            f"{whose}: joint {name!r} has {known[name].kind.nv} degrees of freedom, where one is needed: build it from "
            "single joints with massless bodies between them, and name one of these"
        )


def _coefficients(joints: str | Mapping[str, float], where: str) -> dict[str, float]:
    """Return joints with their coefficients, which must be finite; a joint alone has the coefficient 1."""
    given = {joints: 1.0} if isinstance(joints, str) else dict(joints)
    found = {key: per_freedom(x, 1, 1.0, f"{where}coefficient of {key!r}")[0] for key, x in given.items()}
    for key, x in found.items():
        if not math.isfinite(x) or x == 0.0:
            raise ModelError(f"{where}the coefficient of {key!r} must be finite and not zero, got {x:g}")
    return found


def _sizes(given: Sequence[float], what: str) -> tuple[float, float]:
    numbers = floats(given, what)
    if numbers.shape != (2,) or not np.all(np.isfinite(numbers) & (numbers > 0.0)):
        raise ModelError(f"{what} must be two positive numbers, not {given!r}")
    return float(numbers[0]), float(numbers[1])


def _point(position: Any, where: str) -> tuple[float, float, float]:
    numbers = floats(position, where + "position of a point")
    if numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
        raise ModelError(f"{where}a point needs three finite numbers, not {position!r}")
    return (float(numbers[0]), float(numbers[1]), float(numbers[2]))


def _range(bounds: Sequence[float] | None, what: str) -> tuple[float, float]:
    if bounds is None:
        return (-math.inf, math.inf)
    low, high = per_freedom(bounds, 2, 0.0, what)
    if low > high:
        raise ModelError(f"{what} goes from the smaller number to the larger, not {(low, high)}")
    return (low, high)


def spring_along(
    where: str, stiffness: float | Sequence[float] | None, rest: float | Sequence[float] | None,
    known: tuple[float, float] | None = None,
) -> tuple[float, tuple[float, float]]:  # fmt: skip
    """Return stiffness and rest lengths of a spring along a tendon; without ``rest``, the known rest lengths."""
    (stiff,) = per_freedom(stiffness, 1, 0.0, where + "stiffness", True)
    if not math.isfinite(stiff):
        raise ModelError(f"{where}stiffness and damping must be finite")
    if stiff and rest is None and known is None:
        raise ModelError(f"{where}a spring needs its length at rest: rest=...")
    low, high = per_freedom((known or 0.0) if rest is None else rest, 2, 0.0, where + "rest")
    if low > high:
        raise ModelError(f"{where}rest goes from the shorter length to the longer, not {(low, high)}")
    if low == math.inf or high == -math.inf:
        raise ModelError(f"{where}rest is a length, or goes from a length to infinity for a spring that only pushes")
    return stiff, (low, high)


def with_spring(
    tendon: Tendon, stiffness: float | Sequence[float] | None, rest: float | Sequence[float] | None
) -> Tendon:
    """Return a tendon with another spring, which has the rest lengths of the previous one unless others are given."""
    known = tendon.rest if tendon.stiffness else None
    stiff, lengths = spring_along(f"tendon {tendon.name!r}: ", stiffness, rest, known)
    return replace(tendon, stiffness=stiff, rest=lengths)

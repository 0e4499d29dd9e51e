"""Joints and loops whose motion is a given function of time: what drives them is found, not given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from ...algorithms.constrained import Targets
from ...errors import OptionError, UnknownNameError, UnsupportedError
from ...model.joints import Distance, PointOnLine, PointOnPlane
from ...model.tree import Model
from ...motion.trajectory import Trajectory
from ...spatial import Scalar
from ...spatial.numbers import shown
from ...spatial.taylor import Jet

DRIVEN_LOOPS = (Distance, PointOnLine, PointOnPlane)
"""Loop joints whose gaps are lengths at any place, so that a length can be given to each of them."""

Law = Callable[[Scalar], tuple[list[Scalar], list[Scalar], list[Scalar]]]
"""Time to positions, velocities and accelerations."""


class PrescribedLaws:
    """What is driven by time, in a form that can be asked at any moment.

    Parameters
    ----------
    model : Model
    given : mapping
        Names of joints or loops to trajectories, or to functions of time.
    """

    def __init__(self, model: Model, given: Mapping[str, Any] | None) -> None:
        if given is not None and not isinstance(given, Mapping):
            raise OptionError(f"prescribed motions are a mapping from joints to trajectories, not {given!r}")
        self.model, self.given = model, dict(given or {})
        joints: list[tuple[int, int]] = []
        rows: list[int] = []
        laws: list[tuple[Law, int]] = []
        loops: list[tuple[Law, int]] = []
        self.names: list[str] = []
        of_loops: list[str] = []
        for name, motion in self.given.items():
            if name in model.joint_index:
                joint = model.joint(name)
                _check_joint(joint.name, joint)
                places = zip(range(joint.q_slice.start, joint.q_slice.stop),
                             range(joint.v_slice.start, joint.v_slice.stop), strict=True)  # fmt: skip
                joints += list(places)
                laws.append((_law(name, motion, joint.nv), joint.nv))
                self.names += list(model.v_names[joint.v_slice])
            elif name in (known := {loop.name: k for k, loop in enumerate(model.loops)}):
                loop = model.loops[known[name]]
                if not isinstance(loop.kind, DRIVEN_LOOPS):
                    raise UnsupportedError(
                        f"loop {name!r} is a {loop.kind.name} joint, whose gaps are not lengths: a time can be given "
                        "to distance, point_on_line and point_on_plane loops; for others put the loop's frame on a "
                        "body that a joint carries, and prescribe that joint"
                    )
                first = sum(other.count for other in model.loops[: known[name]])
                rows += range(first, first + loop.count)
                loops.append((_law(name, motion, loop.count), loop.count))
                of_loops += list(model.constraint_names[first : first + loop.count])
            else:
                raise UnknownNameError("joint or loop (to be prescribed)", name, [*model.joint_index, *known])
        self.joints, self.rows, self._laws = tuple(joints), tuple(rows), [*laws, *loops]
        self.names += of_loops

    def __bool__(self) -> bool:
        return bool(self.given)

    @property
    def span(self) -> tuple[float, float]:
        """From when until when all trajectories are known."""
        known = [m for m in self.given.values() if isinstance(m, Trajectory) and not m.hold]
        return max((m.start for m in known), default=-np.inf), min((m.end for m in known), default=np.inf)

    def at(self, t: Scalar) -> Targets:
        """Return where everything has to be."""
        parts: tuple[list[Scalar], list[Scalar], list[Scalar]] = [], [], []
        for law, _ in self._laws:
            for part, own in zip(parts, law(t), strict=True):
                part += own
        return Targets(self.joints, self.rows, *parts)

    def refuse_unknown(self, t: float) -> None:
        """Refuse motions that have no finite value where they begin."""
        now = self.at(t)
        for name, *numbers in zip(self.names, now.positions, now.velocities, now.accelerations, strict=True):
            if not np.isfinite(numbers).all():
                listed = ", ".join(f"{float(x):g}" for x in numbers)
                raise OptionError(
                    f"the motion that is prescribed to {name!r} begins at t = {t:g} s with position, velocity and "
                    f"acceleration {listed}: these must be finite numbers"
                )


def _check_joint(name: str, joint: Any) -> None:
    if joint.mimic:
        raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r}, so its motion cannot be prescribed: that can")
    if joint.kind.quaternion is not None:
        raise UnsupportedError(
            f"joint {name!r} has a quaternion, which no function of time prescribes coordinate by coordinate: use a "
            "joint with angles, such as kinetree.EulerSpherical or kinetree.EulerFree"
        )


def _law(name: str, motion: Any, count: int) -> Law:
    """Return positions, velocities and accelerations as a function of time."""
    if isinstance(motion, Trajectory):
        if motion.n != count:
            raise OptionError(f"the trajectory for {name!r} has {motion.n} coordinates, {count} are wanted")
        if motion.is_batched():
            raise UnsupportedError(f"the trajectory for {name!r} holds a batch of motions: give it one")
        return motion.at
    if not callable(motion):
        raise OptionError(
            f"prescribed {name!r} must be a trajectory or a function of time, not {motion!r}; to hold it where it is "
            "give a function that returns a number"
        )

    def law(t: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        try:
            answer = motion(Jet(t, 1.0))
        except (TypeError, AttributeError) as problem:
            raise OptionError(
                f"the function that prescribes {name!r} cannot be differentiated ({problem}): write it with "
                "kinetree.sin, kinetree.cos, kinetree.sqrt and arithmetic, or give a trajectory"
            ) from problem
        except (ValueError, ArithmeticError) as problem:
            raise OptionError(f"the function that prescribes {name!r} has no value ({problem})") from problem
        listed = list(answer) if isinstance(answer, (list, tuple, np.ndarray)) else [answer]
        if len(listed) != count:
            raise OptionError(f"the function that prescribes {name!r} returned {len(listed)} numbers, not {count}")
        jets = [_number(x, name) for x in listed]
        return [j.value for j in jets], [j.first for j in jets], [j.second for j in jets]

    return law


def _number(x: Any, name: str) -> Jet:
    """Return what a function of time gave, with its rates; a number without any does not move."""
    if isinstance(x, Jet):
        return x
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, Real):
        raise OptionError(
            f"the function that prescribes {name!r} returned {shown(x)}, which is not a number: it must return the "
            "position at the time that it is given"
        )
    return Jet(float(x))

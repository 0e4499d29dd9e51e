"""States, controllers and ground from plain words and numbers, as on the command line or in a study's file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import control, forces
from ..contact.ground import SOURCE_SETS, Dusty, Firm, Ground, HuntCrossley, PseudoCoulomb, whole_body
from ..contact.surfaces import Plane
from ..control.base import critical_damping
from ..control.tuning import FREQUENCY, gains_for
from ..errors import (
    FileFormatError,
    KinetreeError,
    ModelWarning,
    OptionError,
    Setting,
    ShapeError,
    StateError,
    UnknownNameError,
    refuse_unknown,
    warn,
)
from ..io.tables.reading import open_table
from ..io.units import Quantity
from ..model import configurations
from ..model.joint_fields import like_degrees
from ..model.joints import Continuous
from ..motion import trajectories
from ..robot.robot import Robot
from ..spatial.arrays import Array
from ..spatial.numbers import real_numbers
from .controller_names import CONTROLLERS
from .named_systems import start

if TYPE_CHECKING:
    from ..contact.shape_contact import ShapeContact

Given = Sequence[float] | Mapping[str, Any] | str | None
"""Numbers for all entries, numbers by joint, the name of a start, or None."""

CLOSED = 1e-6
"""How far loops of a given configuration may be open, in meters and radians."""
KP = FREQUENCY**2
"""Default stiffness of computed torque in 1/s^2; for other laws it is multiplied by the inertia."""


ROUNDED = 1e-2
"""How far the length of a typed quaternion may be from one; it has few digits, and is normalized."""


# ------------------------------------------------------------------ states


def configuration(
    robot: Robot, given: Given = None, system: str | None = None, what: str = "configuration",
    otherwise: Array | None = None,
) -> Array:  # fmt: skip
    """Make a configuration (nq,) with closed loops.

    Parameters
    ----------
    robot : Robot
    given : sequence, mapping or str, optional
        All ``nq`` coordinates; or those of some joints by name (``base``), or single ones (``base.z``), with the others
        as in ``otherwise``; or the name of an initial configuration in the gallery, such as ``free-fall``, or of a
        configuration in the robot's file, such as a keyframe.
    system : str, optional
        Name in the gallery, if the robot is from there.
    what : str
        Its name in messages.
    otherwise : array, optional
        Positions of joints that are not named; by default those in the robot's file.
    """
    if isinstance(given, str):
        return _named_start(robot, given, system, what)
    if given is None or isinstance(given, Mapping):
        q = _drawn(robot, system) if otherwise is None else otherwise
        return q if not given else _with_joints(robot, q, given, what)
    q = _scaled(robot, _counted(given, robot.nq, what, robot.q_names))
    _notice_units(robot, range(robot.nq), given, "q", what)
    if robot.loops is not None and not robot.closure_error(q) < CLOSED:
        raise StateError(
            f"{what}: these coordinates leave loops open by {robot.closure_error(q):.3g} m or rad; give the driven "
            "joints by name, and the others follow"
        )
    return q


def _drawn(robot: Robot, system: str | None) -> Array:
    """Return the default configuration of a robot."""
    if system is not None:
        q = start(system)
        if len(q) == robot.nq:  # not for a floating base that was added on request
            return q
    if configurations.START in robot.configuration_names or robot.loops is None:
        return configurations.start(robot.model)
    return robot.assembled()


def _named_start(robot: Robot, name: str, system: str | None, what: str) -> Array:
    if name in robot.configuration_names:
        q = robot.configuration(name)
        return q if robot.loops is None else robot.close(q)
    if system is None:
        named = ", ".join(repr(n) for n in robot.configuration_names)
        known = f"its file names {named}" if named else "its file names no configuration"
        raise OptionError(
            f"{what}: give {robot.nq} numbers, or some joints by name, such as {robot.joint_names[0]!r}; {name!r} is "
            f"neither, {known}; other starts with names are for systems of the gallery"
        )
    return start(system, name)


def _with_joints(robot: Robot, q: Array, given: Mapping[str, Any], what: str) -> Array:
    q = _scaled(robot, with_entries(robot, q, given, "q", what))
    if robot.loops is not None:
        places = {_single(robot, name, "q") for name in given}
        owners = [j.name for j in robot.model.joints if places & {*range(j.q_slice.start, j.q_slice.stop)}]
        q = robot.close(q, fixed=[*owners, *(name for name in given if name in robot.joint_names)])
    return q


def with_entries(robot: Robot, state: Array, given: Mapping[str, Any], which: str, what: str) -> Array:
    """Return a state with the entries of some joints (``base``), or single ones of them (``base.z``), replaced."""
    names, state, owners = robot.q_names if which == "q" else robot.v_names, state.copy(), dict[int, str]()
    for name, value in given.items():
        place = _single(robot, name, which)
        if place is not None:
            places, numbers = [place], _counted(np.atleast_1d(value), 1, f"{what}: {name!r}", [])
        else:
            own = robot.joint(name).q_slice if which == "q" else robot.joint(name).v_slice
            places, numbers = list(range(own.start, own.stop)), of_joint(robot, name, value, which, what)
        for place in places:
            if place in owners:
                raise OptionError(f"{what}: {names[place]!r} is given twice, by {owners[place]!r} and by {name!r}")
            owners[place] = name
        _notice_units(robot, places, np.atleast_1d(np.asarray(value, dtype=object)), which, what)
        state[places] = numbers
    return state


def _notice_units(robot: Robot, places: Iterable[int], values: Iterable[Any], which: str, what: str) -> None:
    """Refuse units that do not fit, and warn of angles that look like degrees."""
    names, units = (robot.q_names, robot.q_units) if which == "q" else (robot.v_names, robot.v_units)
    endless = {j.q_slice.start for j in robot.model.joints if isinstance(j.kind, Continuous)}
    for place, value in zip(places, values, strict=False):
        if isinstance(value, Quantity):
            value.refuse_other(units[place] if which == "q" else f"{units[place]}/s", f"{what}: {names[place]!r}")
            continue
        doubtful = which == "q" and units[place] == "rad" and place not in endless and like_degrees(value)
        if doubtful:
            warn(
                f"{what}: {names[place]} = {value:g} rad is {value / (2.0 * math.pi):.1f} turns; angles are in "
                f"radians, write {value:g}deg for degrees",
                ModelWarning,
            )
            return


def warn_of_limits(robot: Robot, q: Array, what: str) -> None:
    """Warn of the first joint that is beyond its range in a configuration: only stops would hold it back."""
    for joint in robot.model.joints:
        lower, upper = np.array(joint.lower), np.array(joint.upper)
        own = q[joint.q_slice]
        if joint.mimic is None and np.any((own < lower) | (own > upper)):
            k = int(np.argmax((own < lower) | (own > upper)))
            warn(
                f"{what}: {robot.q_names[joint.q_slice.start + k]} = {own[k]:g} is beyond its range, from {lower[k]:g} "
                f"to {upper[k]:g}",
                ModelWarning,
            )
            return


def _scaled(robot: Robot, q: Array) -> Array:
    """Normalize the quaternions of a configuration, which may have been written with a few digits."""
    for joint in robot.model.joints:
        if joint.kind.quaternion is not None:
            own = np.arange(joint.q_slice.start, joint.q_slice.stop)[joint.kind.quaternion]
            length = float(np.linalg.norm(q[own]))
            if abs(length - 1.0) < ROUNDED:
                q = q.copy()
                q[own] /= length
    return q


def _single(robot: Robot, name: str, which: str) -> int | None:
    """Return the index of a single entry of a joint (``base.z``, or ``base[6]``); None for any other name."""
    if name not in robot.joint_names:
        with suppress(UnknownNameError):
            return robot.entry_index(name, which)
    return None


def velocity(robot: Robot, q: Array, given: Given = None, what: str = "velocity") -> Array:
    """Make velocities (nv,) that the loops allow.

    Parameters
    ----------
    given : sequence or mapping, optional
        All ``nv`` velocities; or those of some joints by name, where the others are zero or, in loops, follow from the
        independent ones. By default the robot is at rest.
    """
    v = np.zeros(robot.nv)
    if given is None:
        return v
    if isinstance(given, str):
        raise OptionError(f"{what}: give {robot.nv} numbers, or joints by name; not {given!r}")
    if not isinstance(given, Mapping):
        return _refuse_torn(robot, q, _counted(given, robot.nv, what, robot.v_names), what)
    v = with_entries(robot, v, given, "v", what)
    if robot.loops is None:
        return v
    independent = robot.independent(q)
    places = [robot.v_names.index(name) for name in independent]
    follow = set(np.flatnonzero(v)) - set(places)
    if follow:
        raise OptionError(
            f"{what}: {robot.v_names[min(follow)]!r} follows from the others, since it is part of a loop; give "
            f"{', '.join(independent)}"
        )
    return np.asarray(robot.velocities(q, v[places]))


def _refuse_torn(robot: Robot, q: Array, v: Array, what: str) -> Array:
    if robot.loops is not None:
        off = np.abs(robot.project(q, v)[1] - v)
        if not off.max(initial=0.0) <= CLOSED * (1.0 + np.abs(v).max(initial=0.0)):
            name = robot.v_names[int(np.argmax(off))]
            raise StateError(
                f"{what}: these velocities open loops, at joint {name!r} by {off.max():.3g}; give the driven "
                f"joints by name ({', '.join(robot.independent(q))}), and the others follow"
            )
    return v


def of_joint(robot: Robot, name: str, value: Any, which: str, what: str) -> Array:
    """Return the coordinates or velocities of one joint, as many as it has."""
    joint = robot.joint(name)
    count = joint.nq if which == "q" else joint.nv
    example = [] if count == 1 else _example(robot, name, which, what)
    return _counted(np.atleast_1d(np.asarray(value, dtype=float)), count, f"{what}: joint {name!r}", example)


def _example(robot: Robot, name: str, which: str, what: str) -> list[str]:
    """Return examples of how to give a joint's numbers, or one of them, on the command line or in a file."""
    joint = robot.joint(name)
    own, names = (joint.q_slice, robot.q_names) if which == "q" else (joint.v_slice, robot.v_names)
    usual = [f"{x:g}" for x in (joint.kind.neutral() if which == "q" else [0.0] * joint.nv)]
    last = names[own.stop - 1]
    if what.startswith("--"):
        return [f"such as {name}={':'.join(usual)}; or one of them", f"{last}={usual[-1]}"]
    return [f"such as {name}: [{', '.join(usual)}]; or one of them", f"{last}: {usual[-1]}"]


def _counted(given: Any, count: int, what: str, names: Sequence[str]) -> Array:
    numbers = np.asarray(given, dtype=float)
    if numbers.shape != (count,):
        listed = f" ({', '.join(names[:8])}{', ...' if count > 8 else ''})" if names else ""
        raise ShapeError(f"{what}: {count} numbers are needed{listed}, not {numbers.size}")
    return numbers


# ------------------------------------------------------------------ controllers


def stay(robot: Robot, q: Array) -> trajectories.Trajectory:
    """Return a desired motion that holds a position."""
    return trajectories.Between(robot, q, q, 1.0).held()


def controller(
    kind: str, robot: Robot, desired: trajectories.Trajectory, *, kp: Any = None, kd: Any = None, ki: Any = 0.0,
    senses: Sequence[Any] = (), begin: tuple[Array, Array], limited: bool = False, limit: Any = None,
) -> Any:  # fmt: skip
    """Make a controller by name, or None.

    Parameters
    ----------
    kind : str
        One of :data:`kinetree.studies.controller_names.CONTROLLERS`.
    desired : Trajectory
        Desired motion of the driven joints, or of all.
    kp, kd, ki : float or sequence, optional
        Gains; by default every joint responds equally fast and critically damped at the start
        (:func:`kinetree.control.gains_for`).
    senses : sequence
        Ground that model-based laws take into account.
    begin : (q, v)
        Initial state, for default gains and for feedforward with a floating base.
    limited : bool
        Whether to limit forces to the robot's effort limits.
    limit : float or sequence, optional
        Limits to use instead of the robot's: one number, or one per motor.
    """
    refuse_unknown("controller", kind, CONTROLLERS)
    if kind not in ("none", "gravity") and not robot.model.driven_joints:
        raise OptionError(f"controller {kind!r}: no joint of {robot.name!r} has a motor")
    stiffness, damping = completed_gains(kind, robot, begin[0], kp, kd)
    first = begin if robot.is_floating else (None, None)
    most = None if kind == "none" else _largest_forces(robot, limited, limit)
    laws: dict[str, Callable[[], Any]] = {
        "none": lambda: None,
        "pd": lambda: control.PD(desired, stiffness, damping),
        "pd+gravity": lambda: control.PD(desired, stiffness, damping) + control.GravityCompensation(),
        "pid": lambda: control.PID(desired, stiffness, damping, ki, limit=most),
        "gravity": lambda: control.GravityCompensation(),
        "computed-torque": lambda: control.ComputedTorque(
            desired, stiffness, damping, senses, ki=ki if np.any(np.asarray(ki)) else None
        ),
        "feedforward": lambda: control.Feedforward(desired, stiffness, damping, senses, *first),
    }
    made = laws[kind]()
    if kind == "gravity" and not robot.model.driven_joints:
        raise OptionError(f"controller {kind!r}: no joint of {robot.name!r} has a motor")
    if most is None or made is None:
        return made
    whole = np.full(robot.nv, np.inf)
    whole[_motors(robot)] = most
    return control.Saturated(made, whole)


def _motors(robot: Robot) -> list[int]:
    return robot.model.motors


def _largest_forces(robot: Robot, limited: bool, limit: Any) -> Array | None:
    """Return the largest force of each motor, which a PID also needs; None without limits."""
    motors = _motors(robot)
    if limit is not None:
        return real_numbers(limit, Setting("limit"), len(motors), positive=True, infinite=True)
    return control.Saturated(control.GravityCompensation()).limits(robot.model)[motors] if limited else None


SAMPLING = ("delay", "encoder", "noise", "seed")
"""Options of a controller in discrete time besides the sample time."""


def sampled(law: Any, sample_time: float | None, **told: Any) -> Any:
    """Return a controller in discrete time; without a sample time, return it unchanged.

    law: controller or None
    sample_time: Seconds between samples.
    **told: ``delay`` in seconds, ``encoder`` in counts per turn or meter (velocities are then differences of counted
        positions), ``noise`` of positions in radians and meters, ``seed`` of the noise.
    """
    given = {name: value for name, value in told.items() if value is not None}
    if sample_time is None:
        if given:
            raise OptionError(f"{next(iter(given))} is for a controller in discrete time: give its sample time, too")
        return law
    if law is None:
        raise OptionError("a sample time has no effect without a controller")
    if "seed" in given and "noise" not in given:
        raise OptionError("seed is for noise: give its size, too")
    if "noise" in given:
        given["position_noise"] = given.pop("noise")
    velocity = "differences" if "encoder" in given else "measured"
    return control.Sampled(law, sample_time, velocity=velocity, **given)


def completed_gains(kind: str, robot: Robot, q: Array, kp: Any, kd: Any) -> tuple[Any, Any]:
    """Complete missing gains: one frequency for all, critically damped for the inertia of each motor."""
    if kind in ("none", "gravity") or (kp is not None and kd is not None):
        return kp, kd
    if kind == "computed-torque":
        stiffness = KP if kp is None else kp
        return stiffness, critical_damping(stiffness) if kd is None else kd
    usual = gains_for(robot, q)
    if kp is None:
        return usual.kp, usual.kd if kd is None else kd
    felt = usual.kp / FREQUENCY**2
    return kp, critical_damping(np.asarray(kp, dtype=float) * felt)  # kd = 2 sqrt(kp m)


# ------------------------------------------------------------------ ground


GROUNDS: dict[str, tuple[str, ...]] = {
    "hunt-crossley": ("stiffness", "dissipation", "exponent"),
    "firm": ("stiffness", "factor", "damping", "depth"),
    "dusty": ("stiffness", "factor", "damping", "dust"),
}
"""Kinds of compliant ground, and the numbers of each besides those of the surface and its friction."""

SHAPE_NUMBERS = ("stiffness", "dissipation")
"""Numbers of contact of shapes besides its friction."""

STIFFNESS = {"hunt-crossley": 1e5, "firm": 2000.0, "dusty": 2000.0}
"""Default stiffness in N/m^1.5, or N/m at each spot (Shah section 10.3.1)."""


def compliant_ground(
    robot: Robot, spots: Sequence[Any], kind: str | None = None, *, source: str | None = None,
    friction: float | None = None, sliding_damping: float | None = None, isotropic: bool | None = None,
    height: float = 0.0, slope: float = 0.0, **numbers: float,
) -> Ground | ShapeContact:  # fmt: skip
    """Make level or sloping ground for some frames of a robot.

    spots: Names of frames, or spots; ``["all"]`` means every joint, body origin and frame, ``["shapes"]`` contact of
        the robot's shapes with the ground that is among them and with one another.
    kind: One of :data:`GROUNDS`: Hunt and Crossley's law (default), or Shah's firm and dusty ground (appendix D).
    source: One of the sources' walking machines, :data:`kinetree.contact.ground.SOURCE_SETS`, whose ground is used
        (firm by default), except for numbers that are given.
    friction, sliding_damping: Coefficient of friction (0 for none), and the slope of friction over speed; 0.7 and 1000
        N s/m by default.
    isotropic: False treats both directions of the surface separately, as printed in the sources and used with
        ``source``.
    height, slope: Height of the plane, and its slope in radians about y, descending toward positive x.
    **numbers: Numbers of the law: ``stiffness``; ``dissipation`` and ``exponent`` of Hunt and Crossley's law; for firm
        and dusty ground the ``damping``, or the over-damping ``factor`` from which it follows with the robot's mass (10
        by default, Shah eq. D.4), and the ``depth`` beyond which the damper acts fully during separation, or the
        thickness of the ``dust``.
    """
    if list(spots) == ["shapes"]:
        others = {"source": source, "sliding_damping": sliding_damping, "isotropic": isotropic}
        others |= {"height": height or None, "slope": slope or None}
        return _contact_of_shapes(robot, kind, friction, others, numbers)
    usual: Mapping[str, float] = {}
    if source is not None:
        refuse_unknown("set of ground data", source, SOURCE_SETS)
        usual = SOURCE_SETS[source]
    kind = ("hunt-crossley" if source is None else "firm") if kind is None else kind
    refuse_unknown("kind of ground", kind, GROUNDS)
    if source is not None and kind == "hunt-crossley":
        raise OptionError(
            f"the ground of {source!r} is 'firm' or 'dusty', not {kind!r}: its numbers are those of a damper"
        )
    for number in numbers:
        if number not in GROUNDS[kind]:
            own = ", ".join(GROUNDS[kind])
            raise OptionError(f"{number!r} is not a parameter of ground of kind {kind!r}, which has {own}")
    known = robot.frame_names
    chosen = list(whole_body(robot)) if list(spots) == ["all"] else list(spots)
    for spot in chosen:
        name = getattr(spot, "frame", spot)
        refuse_unknown("frame that could touch the ground", name, known)
    friction = usual.get("friction", 0.7) if friction is None else friction
    steep = usual.get("sliding_damping", 1000.0) if sliding_damping is None else sliding_damping
    rubbing = PseudoCoulomb(friction, steep, source is None if isotropic is None else isotropic) if friction else None
    surface = Plane.inclined(slope, point=(0.0, 0.0, height))
    if source is not None and "damping" not in numbers:
        numbers = {"factor": usual["factor"]} | numbers
    numbers = {"stiffness": usual.get("stiffness", STIFFNESS[kind])} | numbers
    if kind == "hunt-crossley":
        return Ground(chosen, HuntCrossley(**{"dissipation": 0.5} | numbers), rubbing, surface)
    return Ground(chosen, _damped(kind, robot.mass, numbers), rubbing, surface)


def _contact_of_shapes(
    robot: Robot, kind: str | None, friction: float | None, others: Mapping[str, Any], numbers: Mapping[str, float]
) -> ShapeContact:
    given = [name for name, x in others.items() if x is not None] + [x for x in numbers if x not in SHAPE_NUMBERS]
    if given or kind not in (None, "hunt-crossley"):
        wrong = repr(given[0]) if given else f"kind {kind!r}"
        raise OptionError(f"contact of shapes has no {wrong}, but friction, {' and '.join(SHAPE_NUMBERS)}")
    law = HuntCrossley(
        numbers.get("stiffness", STIFFNESS["hunt-crossley"]), numbers.get("dissipation", 10.0), exponent=1
    )
    return forces.ShapeContact.of(robot, normal=law, friction=friction)


def _damped(kind: str, mass: float, numbers: dict[str, float]) -> Firm | Dusty:
    """Return firm or dusty ground with given damping, or damping from the robot's mass."""
    if "factor" in numbers and "damping" in numbers:
        raise OptionError("ground: give either 'damping' or the 'factor' that it follows from, not both")
    stiffness, damping, factor = numbers.pop("stiffness"), numbers.pop("damping", None), numbers.pop("factor", 10.0)
    law = Firm if kind == "firm" else Dusty
    usual = law.overdamped(stiffness, factor, mass, **numbers)
    return usual if damping is None else replace(usual, damping=damping)


# ------------------------------------------------------------------ motions from tables


def table_motion(robot: Robot, path: Path) -> tuple[trajectories.Trajectory, tuple[str, ...]]:
    """Read a motion of joints from a table with times, and the names of the joints.

    path: ``.csv``, ``.parquet`` or ``.npz`` with ``time`` and a column ``q_elbow`` for each joint that has a motor (or
        for every joint); with ``v_elbow`` and ``a_elbow`` the motion also matches these; without them it is a smooth
        curve through the positions.
    """
    driven = robot.model.driven_joints
    if not driven:
        raise OptionError(f"no joint of {robot.name!r} has a motor, so none can follow {path}")
    quaternions = [j.name for j in driven if j.nq != j.nv]
    if quaternions:
        raise OptionError(f"{path}: joint {quaternions[0]!r} has a quaternion, whose motion a table cannot give")
    names = [robot.q_names[k] for j in driven for k in range(j.q_slice.start, j.q_slice.stop)]
    units = [robot.v_units[k] for j in driven for k in j.freedoms]
    measured = {
        key: {name: unit + more for name, unit in zip(names, units, strict=True)}
        for key, more in (("q", ""), ("v", "/s"), ("a", "/s^2"))
    }
    table = open_table(path, {"q": names}, None, measured, {"v": names, "a": names})
    if not table.has_time:
        raise FileFormatError("a motion needs a column 'time'", str(path))
    times, given = table.whole()
    if times is None or len(times) < 2:
        raise FileFormatError(f"a motion needs at least two rows, not {0 if times is None else len(times)}", str(path))
    if table.rules:
        warn(f"{path}: {table.rules}", ModelWarning)
    try:
        made = trajectories.sampled(times, given["q"], given.get("v"), given.get("a"))
    except KinetreeError as problem:
        raise FileFormatError(str(problem), str(path)) from None
    return made, tuple(j.name for j in driven)

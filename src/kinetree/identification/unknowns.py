"""The parameters to be identified from the data, and those that are already known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import IdentificationError, OptionError, UnknownNameError
from ..model.parameters import OF_FREEDOMS
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .equations import Prepared, row_names
from .friction_models import MODELS, friction_model
from .measured import Measured

if TYPE_CHECKING:
    from ..robot.robot import Robot

LINEAR = ("none", "offset", "viscous", "coulomb")
"""Kinds of friction without memory or shape parameters."""


@dataclass(frozen=True)
class Unknowns:
    """The parameters that may be identified; the data decide which of them are."""

    bodies: tuple[str, ...]
    rotors: tuple[str, ...]
    """Parameters of bodies, and inertias of rotors."""
    friction: dict[int, str]
    """The model of each degree of freedom with a motor, or ``"auto"``."""
    springs: dict[int, float]
    """Degrees of freedom whose stiffness is to be identified, and the rest positions of their springs."""
    perhaps_springs: dict[int, float]
    """Degrees of freedom that get a spring if the data show one."""
    file_values: dict[str, float]
    """All parameters of the original robot."""
    known: dict[str, float]
    """Parameters that are fixed regardless of the data."""
    fixed: set[str]
    """Names of parameters that are fixed by request or by design."""
    still: tuple[int, ...]
    """Degrees of freedom that hardly move."""

    @property
    def moving(self) -> dict[int, str]:
        """The friction models of the joints that move."""
        return {k: name for k, name in self.friction.items() if k not in self.still}


def unknowns_of(
    prepared: Prepared, friction: str | Mapping[str, str], springs: bool | str | Sequence[str], fixed: Sequence[str]
) -> Unknowns:
    """Return the unknowns to be identified.

    friction, springs, fixed: See :func:`kinetree.identify`.
    """
    robot = prepared.robot
    _refuse_silence(robot, prepared)
    table = robot.parameters()
    file_values = dict(zip(table.names, (float(x) for x in table.values), strict=True))
    kept = _held(robot, table.names, fixed)
    models = _friction_models(robot, friction)
    moving = set(np.flatnonzero(prepared.moving).tolist())
    still = tuple(k for k in models if k not in moving)
    for k in still:
        models[k] = "offset" if models[k] != "none" else "none"
    kept |= {f"{name}.rotor_inertia" for k, name in enumerate(robot.v_names) if k not in moving}  # not determined
    sure, perhaps = _springs(prepared, springs, {k: name for k, name in models.items() if k in moving}, kept)
    unknown = {f"{robot.v_names[k]}.{term}" for k, name in models.items() for term in _terms(name)} - kept
    unknown |= {f"{robot.v_names[k]}.stiffness" for k in sure}
    unknown |= {name for name in prepared.inertial if name not in kept}
    return Unknowns(
        bodies=tuple(n for n in prepared.inertial if not n.endswith(".rotor_inertia") and n not in kept),
        rotors=tuple(n for n in prepared.inertial if n.endswith(".rotor_inertia") and n not in kept),
        friction=models,
        springs=sure,
        perhaps_springs=perhaps,
        file_values=file_values,
        known={name: value for name, value in file_values.items() if name not in unknown},
        fixed=kept,
        still=still,
    )


def gains_of(robot: Robot, given: Any) -> Array | None:
    """Return the factors of the columns of measured forces, checked."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        found = np.ones(robot.nv)
        for name, value in given.items():
            found[robot.entry_index(name)] = float(value)
    elif isinstance(given, str):
        raise OptionError(f"gains must be numbers, or 'auto', not {given!r}")
    else:
        found = np.asarray(given, dtype=float)
    if found.shape != (robot.nv,) or not np.isfinite(found).all() or np.any(found == 0.0):
        raise OptionError(f"gains must be {robot.nv} numbers other than zero, one per degree of freedom, not {given!r}")
    return found


def refuse_currents(data: Sequence[Measured], robot: Robot, gains: Any) -> None:
    """Refuse currents whose force constants are unknown, and currents in addition to forces."""
    wrong = [one.name for one in data if one.currents]
    if wrong and len(wrong) < len(data):
        forces = next(one.name for one in data if not one.currents)
        raise IdentificationError(
            f"{wrong[0]} has currents and {forces} forces, and gains multiply all: identify from one kind"
        )
    if wrong and (gains is None or isinstance(gains, str)):
        raise IdentificationError(
            f"{', '.join(wrong)}: these are currents, and forces are needed: give gains= (--gains), the force of each "
            f"joint per ampere, such as gains={{{robot.v_names[robot.model.motors[0]]!r}: 11.2, ...}}; "
            "kt.identification.drive_gains finds them with a known load"
        )


def _refuse_silence(robot: Robot, prepared: Prepared) -> None:
    """Refuse forces that are always zero: all of them, those of a motor of a tree, or those that hold the robot."""
    names = row_names(robot)
    silent = [name for name, column in zip(names, prepared.equations.tau.T, strict=True) if not np.any(column)]
    if len(silent) == len(names):
        raise IdentificationError("the measured forces are zero throughout: there is nothing to identify from")
    driven = {name for joint in robot.model.joints if joint.actuated and not robot.model.is_constrained
              for name in (robot.v_names[k] for k in joint.freedoms)}  # fmt: skip
    if wrong := [name for name in silent if name in driven]:
        raise IdentificationError(
            f"the measured force of {', '.join(wrong)} is zero throughout: a column that was never written? A joint "
            "without a motor is one with actuated=False"
        )
    _refuse_floating_in_the_air(robot, prepared, silent)


def _refuse_floating_in_the_air(robot: Robot, prepared: Prepared, silent: Sequence[str]) -> None:
    """Refuse a floating base on which nothing acts although, according to the file's masses, it does not fall."""
    free = [robot.v_names[k] for joint in robot.model.joints if joint.nv == 6 and not joint.actuated
            for k in joint.freedoms]  # fmt: skip
    rows = [k for k, name in enumerate(prepared.rows) if name in free]
    if robot.model.is_constrained or prepared.contacts or not rows or not set(free) <= set(silent):
        return
    table = robot.parameters()
    held = prepared.equations.y[:, rows] @ np.array([table[name] for name in prepared.inertial])
    weight = robot.mass * float(np.linalg.norm(robot.gravity))
    if np.sqrt(np.mean(held**2, axis=0)).max() > tuned.HELD_WEIGHT * weight > 0.0:
        raise IdentificationError(
            f"nothing that was measured holds {robot.name!r} up, and it does not fall: give the forces at its feet, "
            "wrenches={'foot': ...} of kt.Measured, or contacts=['foot'] for feet that stand all the time"
        )


def _held(robot: Robot, names: Sequence[str], fixed: Sequence[str]) -> set[str]:
    """Return the parameters that keep their values: those in ``fixed``, and bodies that are massless by design."""
    if isinstance(fixed, str):
        raise OptionError(f"fixed must be a list of names, such as [{fixed!r}], not a single one")
    found: set[str] = set()
    for pattern in fixed:
        matched = {name for name in names if fnmatchcase(name, pattern)}
        if not matched:
            raise UnknownNameError("parameter", pattern, names)
        found |= matched
    massless = [body.name for body in robot.model.bodies if body.mass_properties.is_massless]
    if len(massless) < len(robot.model.bodies):
        found |= {name for name in names if name.rpartition(".")[0] in massless and not name.endswith(OF_FREEDOMS)}
    followers = [j.name for j in robot.model.joints if j.mimic]
    found |= {name for name in names if name.rpartition(".")[0] in followers and name.endswith(OF_FREEDOMS)}
    return found


def _springs(
    prepared: Prepared, wanted: bool | str | Sequence[str], models: Mapping[int, str], kept: set[str]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return which freedoms certainly or possibly have springs to identify, with their rest positions.

    The rest position of a new spring cannot be distinguished from an offset of the joint's force, so it is set to the
    middle of the motion.
    """
    robot = prepared.robot
    present = {j.v_slice.start: j.spring_rest[0] for j in robot.model.joints if j.stiffness and j.nq == j.nv == 1}
    if isinstance(wanted, str):
        if wanted != "auto":
            raise OptionError(f"springs must be True, False, 'auto' or a list of joints, not {wanted!r}")
        names = robot.v_names
        open_to = [k for k, model in models.items() if "offset" in _terms(model) and f"{names[k]}.offset" not in kept]
        return {}, {k: prepared.middle(k) for k in open_to if k not in present and _is_single(robot, k)}
    if isinstance(wanted, bool):
        chosen = [k for k in models if _is_single(robot, k)] if wanted else []
    else:
        chosen = [robot.entry_index(name) for name in wanted]
    for k in chosen:
        if not _is_single(robot, k):
            raise OptionError(f"a spring of {robot.v_names[k]!r} cannot be identified: it has no coordinate")
    free = [k for k in chosen if f"{robot.v_names[k]}.stiffness" not in kept]
    return {k: present[k] if k in present else prepared.middle(k) for k in free}, {}


def _friction_models(robot: Robot, wanted: str | Mapping[str, str]) -> dict[int, str]:
    """Return the friction model of every motor whose velocities are rates of coordinates.

    Friction with memory or shape parameters is only for joints with one freedom: others have Coulomb friction at most.
    """
    driven = [k for k in robot.model.motors if _has_rates(robot, k)]

    def of(k: int, model: str) -> str:
        return model if _is_single(robot, k) or model in LINEAR else "coulomb"

    if isinstance(wanted, str):
        if wanted != "auto":
            friction_model(wanted)
        return {k: of(k, wanted) for k in driven}
    found = {k: of(k, "auto") for k in driven}
    for name, model in wanted.items():
        k = robot.entry_index(name)
        if model != "auto":
            friction_model(model)
        if not _has_rates(robot, k):
            raise OptionError(f"friction of {name!r} cannot be identified: its velocities are not rates of coordinates")
        if model not in LINEAR and not _is_single(robot, k):
            raise OptionError(f"{model!r} friction needs a joint of one freedom: {name!r} can be {' or '.join(LINEAR)}")
        found[k] = model
    return found


def _has_rates(robot: Robot, freedom: int) -> bool:
    joint = next(j for j in robot.model.joints if not j.mimic and j.v_slice.start <= freedom < j.v_slice.stop)
    return joint.kind.q_units == joint.kind.v_units


def _is_single(robot: Robot, freedom: int) -> bool:
    joint = next(j for j in robot.model.joints if not j.mimic and j.v_slice.start <= freedom < j.v_slice.stop)
    return joint.nq == joint.nv == 1


def _terms(name: str) -> tuple[str, ...]:
    return tuple(MODELS["coulomb" if name == "auto" else name].terms)

"""From measured motions to a robot: the way through all steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import IdentificationError, IdentificationWarning, OptionError, UnknownNameError, callers_level
from ..model.parameters import OF_BODIES, OF_FREEDOMS
from .closed_motion import motions_of
from .doubts import doubts, signs
from .equations import MeasuredEquations, Prepared, row_names
from .estimators.consistency import WAYS, ConsistentFit, consistent
from .estimators.instrumental_variables import explained
from .estimators.least_squares import METHODS, UNTOLD, Estimate, estimate
from .estimators.pseudo_inertia import is_possible
from .friction_models import MODELS, friction_model
from .identifiable import ParameterGroups, grouped, structural_columns
from .identified import Identified
from .measured import Data, motors
from .model_choice import Columns, Friction, choose_friction, rotors_are_felt
from .residuals import relative_errors

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

SOME_BODY = np.array([0.02, 0.0, 0.0, 0.02, 0.0, 0.02, 0.0, 0.0, 0.0, 2.0])
"""What a body is pulled to of which the file says nothing: two kilograms, some decimeters across."""


def identify(
    robot: Robot,
    data: Data,
    *,
    estimator: str = "weighted",
    friction: str | Mapping[str, str] = "auto",
    rotor_inertia: bool | str = "auto",
    consistent: str | None = "barrier",
    pull: str = "log_det",
    pull_weight: float = 1.0,
    fixed: Sequence[str] = (),
    gains: ArrayLike | Mapping[str, float] | None = None,
    cutoff: float | None = None,
    both_sides: float | None = None,
    contacts: Sequence[str] = (),
    initial: ArrayLike | None = None,
    instruments: Data | None = None,
) -> Identified:
    """Find the inertial and friction parameters of a robot from measured motions.

    Parameters
    ----------
    robot : Robot
        Its geometry is taken as known; its masses and inertias are what the result is pulled to where the motion does
        not tell.  Bodies without mass in a robot that has masses stay so.
    data : Measured, path, or several of them
        See :class:`kinetree.Measured`.
    estimator : {"weighted", "ordinary", "reweighted"}
        Least squares with each joint weighted by the noise of its residuals; all rows alike; or with outliers that
        count less.
    friction : str, or mapping from joint to str
        ``"coulomb"`` (viscous, Coulomb and offset), ``"viscous"``, ``"offset"``, ``"stribeck"``, ``"presliding"``,
        ``"none"``; or ``"auto"``: Coulomb, or presliding where that predicts better.
    rotor_inertia : bool or "auto"
        Whether to identify the inertias of rotors; by default where the robot has any, or they predict better.
    consistent : {"barrier", "sdp", "log_cholesky"} or None
        How to find parameters that bodies can have; None for those that fit best, possible or not.
    pull : {"log_det", "euclidean"}
        What keeps parameters near the robot's own where the motion does not tell.
    pull_weight : float
        How strongly.
    fixed : sequence of str
        Parameters that are known: names of ``robot.parameters()``, with ``*`` for any letters, such as ``"link_1.*"``.
    gains : array_like (nv,) or mapping from joint to float, optional
        What measured columns of ``tau`` are multiplied with: drive gains that turn currents into joint forces.
    cutoff, both_sides : float, optional
        Frequencies in Hz of the filter of the motion and of that of both sides of the equation; chosen from the
        spectrum when left out.
    contacts : sequence of str
        Frames that stand on the ground all the time, by forces that were not measured.
    initial : array_like (nq,), optional
        Of a mechanism of which only the independent joints were measured: a closed configuration near the first one.
    instruments : Measured, path, or several of them, optional
        The same motion at the same times, without the noise of the measured positions: as it was commanded, or as a
        simulation has it; its forces do not matter.  Then the fit is one by instrumental variables.

    Returns
    -------
    Identified
        With ``robot``, ``names``, ``values``, ``deviations``, ``errors(data)``, ``report(folder)``.

    Raises
    ------
    IdentificationError
        For data from which nothing can be found.

    Warns
    -----
    IdentificationWarning
        Where the result should not be trusted: forces of the wrong sign or unit, joints that do not move, parameters
        that the motion does not tell, bodies that cannot be.

    Examples
    --------
    ``found = kt.identify(robot, "motion.csv"); found.save("found.urdf")``
    """
    _check_options(estimator, consistent)
    factors = _gains(robot, gains)
    start = None if initial is None else np.asarray(initial, dtype=float)
    motions, band, notes = motions_of(robot, data, None, factors, cutoff, both_sides, start)
    prepared = Prepared(robot, motions, band, contacts)
    _refuse_silence(robot, prepared)
    table = robot.parameters()
    file_values = dict(zip(table.names, (float(x) for x in table.values), strict=True))
    kept = _held(robot, table.names, fixed)
    models = _friction_models(robot, friction)
    moving = _moving(robot, prepared)
    still = [k for k in models if k not in moving]
    for k in still:
        models[k] = "offset" if models[k] not in ("none",) else "none"
    unknown_friction = {f"{robot.v_names[k]}.{term}" for k, name in models.items() for term in _terms(name)} - kept
    bodies = [name for name in prepared.inertial if not name.endswith(".rotor_inertia") and name not in kept]
    rotors = [name for name in prepared.inertial if name.endswith(".rotor_inertia") and name not in kept]
    known = {name: value for name, value in file_values.items() if name not in (*bodies, *rotors, *unknown_friction)}

    branch = np.concatenate([m.q for m in motions]) if robot.closes_loops else None

    def columns_of(names: Sequence[str]) -> tuple[Columns, ParameterGroups]:
        held = {**known, **{name: file_values[name] for name in (*bodies, *rotors) if name not in names}}
        groups = grouped(structural_columns(robot, tuple(names), branch), tuple(names))
        begin = {k: Friction(MODELS["coulomb" if name in ("auto", "stribeck", "presliding") else name])
                 for k, name in models.items()}  # fmt: skip
        force = prepared.equations.tau - prepared.known(held)
        return Columns(prepared, groups.independent, begin, kept, force), groups

    with_rotors = rotor_inertia is True or (rotor_inertia == "auto" and any(file_values[n] for n in rotors))
    columns, groups = columns_of([*bodies, *rotors] if with_rotors else bodies)
    if rotor_inertia == "auto" and rotors and not with_rotors:
        more, more_groups = columns_of([*bodies, *rotors])
        if rotors_are_felt(columns.equations(), more.equations()):
            columns, groups = more, more_groups
            with_rotors = True
    rows = {k: _row_of(robot, k) for k in models}
    notes += choose_friction(columns, {k: n for k, n in models.items() if k in moving}, rows) if moving else []
    for k in still:
        columns.friction[k] = Friction(MODELS[models[k]])
    notes.append("rotor inertias are identified" if with_rotors else "rotor inertias are as they were")
    equations = columns.equations()
    said_by = None if instruments is None else _instruments(columns, instruments, factors)
    if said_by is not None:
        equations = said_by(equations)
    prior = _prior(groups, equations.names, file_values)
    fit = estimate(equations.y, equations.tau, estimator, equations.counted, prior)
    untold, condition = _told(equations.y, equations.counted, fit, groups, equations.names)
    inertial = [*bodies, *rotors] if with_rotors else bodies
    held = {**known, **({} if with_rotors else {name: file_values[name] for name in rotors})}
    for word in signs(columns.friction_names(), fit, equations):
        warnings.warn(word, IdentificationWarning, stacklevel=callers_level())
    if consistent is None:
        solution = _nearest_to_file(groups, equations.names, fit.values, file_values)
    else:
        solution = _consistent_solution(
            robot, columns, inertial, fit, file_values, consistent, pull, pull_weight, said_by
        )  # fmt: skip
    values = np.array([*(groups.matrix @ np.array([solution[n] for n in groups.parameters])),
                       *(solution[n] for n in equations.names[len(groups.independent) :])])  # fmt: skip
    physical = _is_physical(robot, {**held, **solution})
    found = robot.with_parameters(
        {name: value for name, value in solution.items() if name in file_values}, physical=physical
    )
    predicted = columns.equations().y @ values
    total = prepared.equations.tau
    result = Identified(
        robot=found,
        names=(*groups.names, *equations.names[len(groups.independent) :]),
        values=values,
        deviations=fit.deviations,
        units=tuple(_unit(table, name) for name in (*groups.independent, *equations.names[len(groups.independent) :])),
        row_names=row_names(robot),
        training_errors=relative_errors(total, predicted + total - equations.tau),
        condition=condition,
        untold=untold,
        physical=physical,
        noise=fit.noise,
        band=band,
        friction={robot.v_names[k]: own for k, own in columns.friction.items()},
        notes=tuple(notes),
        given=robot,
        equations=replace(equations, y=np.stack([predicted + total - equations.tau], axis=-1), tau=total,
                          names=("prediction",)),
        known=held,
        solution=solution,
        contacts=tuple(contacts),
        gains=factors,
    )  # fmt: skip
    for word in doubts(result, prior[: len(groups.independent)], [robot.v_names[k] for k in still]):
        warnings.warn(word, IdentificationWarning, stacklevel=callers_level())
    return result


def _refuse_silence(robot: Robot, prepared: Prepared) -> None:
    """Refuse forces that are zero all the time: of all rows, or of a motor of a robot without loops."""
    names = row_names(robot)
    silent = [name for name, column in zip(names, prepared.equations.tau.T, strict=True) if not np.any(column)]
    if len(silent) == len(names):
        raise IdentificationError("the measured forces are zero throughout: there is nothing to identify from")
    driven = {name for joint in robot.model.joints if joint.actuated and not robot.model.is_constrained
              for name in (robot.v_names[k] for k in range(joint.v_slice.start, joint.v_slice.stop))}  # fmt: skip
    if wrong := [name for name in silent if name in driven]:
        raise IdentificationError(
            f"the measured force of {', '.join(wrong)} is zero throughout: a column that was never written? A joint "
            "without a motor is one with actuated=False"
        )


# ------------------------------------------------------------------ what was asked for


def _check_options(estimator: str, way: str | None) -> None:
    if estimator not in METHODS:
        raise UnknownNameError("estimator", estimator, METHODS)
    if way is not None and way not in WAYS:
        raise UnknownNameError("way to consistent parameters", way, WAYS)


def _gains(robot: Robot, given: Any) -> Array | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        found = np.ones(robot.nv)
        for name, value in given.items():
            found[robot.entry_index(name)] = float(value)
    else:
        found = np.asarray(given, dtype=float)
    if found.shape != (robot.nv,) or not np.isfinite(found).all() or np.any(found == 0.0):
        raise OptionError(f"gains must be {robot.nv} numbers other than zero, one per degree of freedom, not {given!r}")
    return found


def _held(robot: Robot, names: Sequence[str], fixed: Sequence[str]) -> set[str]:
    """Return the parameters that keep their values: those asked for, and bodies that have no mass by design."""
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


def _friction_models(robot: Robot, wanted: str | Mapping[str, str]) -> dict[int, str]:
    """Return the model of friction of every motor with a coordinate of its own."""
    driven = [k for k in motors(robot) if _is_single(robot, k)]
    if isinstance(wanted, str):
        if wanted != "auto":
            friction_model(wanted)
        return dict.fromkeys(driven, wanted)
    found = dict.fromkeys(driven, "auto")
    for name, model in wanted.items():
        k = robot.entry_index(name)
        if model != "auto":
            friction_model(model)
        if not _is_single(robot, k):
            raise OptionError(f"friction of {name!r} cannot be identified: it is no joint with one degree of freedom")
        found[k] = model
    return found


def _is_single(robot: Robot, freedom: int) -> bool:
    joint = next(j for j in robot.model.joints if not j.mimic and j.v_slice.start <= freedom < j.v_slice.stop)
    return joint.nq == joint.nv == 1


def _terms(name: str) -> tuple[str, ...]:
    return tuple(MODELS["coulomb" if name == "auto" else name].terms)


def _moving(robot: Robot, prepared: Prepared) -> set[int]:
    """Return the degrees of freedom that move in more than a few samples."""
    fast = sum(np.sum(np.abs(m.v) > np.maximum(5.0 * m.speed_noise, 1e-9), axis=0) for m in prepared.motions)
    count = sum(len(m.t) for m in prepared.motions)
    return {k for k in range(robot.nv) if np.asarray(fast)[k] > 0.02 * count}


def _row_of(robot: Robot, freedom: int) -> int:
    """Return the row in which a joint's friction shows most."""
    names = row_names(robot)
    name = robot.v_names[freedom]
    return names.index(name) if name in names else 0


def _unit(table: Any, name: str) -> str:
    """Return a parameter's unit; what friction models have more is measured like Coulomb's."""
    owner, _, symbol = name.rpartition(".")
    return table.units[table.index(name if symbol != "stribeck" else f"{owner}.friction")]


# ------------------------------------------------------------------ from what was fitted to all parameters


def _prior(groups: ParameterGroups, names: Sequence[str], file_values: Mapping[str, float]) -> Array:
    """Return the file's values of what is fitted: directions that the motion does not tell keep them."""
    of_groups = groups.matrix @ np.array([file_values[name] for name in groups.parameters])
    return np.array([*of_groups, *(file_values.get(name, 0.0) for name in names[len(groups.independent) :])])


def _nearest_to_file(
    groups: ParameterGroups, names: Sequence[str], values: Array, file_values: Mapping[str, float]
) -> dict[str, float]:
    """Return all parameters: those with the values of the groups that are nearest to the file's."""
    count = len(groups.independent)
    old = np.array([file_values[name] for name in groups.parameters])
    change = np.linalg.lstsq(groups.matrix, values[:count] - groups.matrix @ old, rcond=None)[0]
    found = dict(zip(groups.parameters, (float(x) for x in old + change), strict=True))
    return found | dict(zip(names[count:], (float(x) for x in values[count:]), strict=True))


def _instruments(columns: Columns, data: Data, gains: Array | None) -> Callable[[MeasuredEquations], MeasuredEquations]:
    """Return what leaves of equations that part of their columns which another motion explains."""
    prepared = columns.prepared
    motions, _, _ = motions_of(prepared.robot, data, prepared.band, gains)
    other = Prepared(prepared.robot, motions, prepared.band, prepared.contacts)
    own = columns.equations()
    noise = estimate(own.y, own.tau, "weighted", own.counted).noise

    def said(equations: MeasuredEquations) -> MeasuredEquations:
        names = [name for name in equations.names if name in prepared.inertial]
        there = Columns(other, names, columns.friction, columns.fixed, other.equations.tau).equations()
        return replace(equations, y=explained(equations.y, there.y, equations.counted, noise))

    return said


def _consistent_solution(
    robot: Robot,
    columns: Columns,
    inertial: Sequence[str],
    fit: Estimate,
    file_values: Mapping[str, float],
    way: str,
    pull: str,
    weight: float,
    said_by: Callable[[MeasuredEquations], MeasuredEquations] | None = None,
) -> dict[str, float]:
    """Return all parameters, of possible bodies and with friction that takes energy away."""
    whole = columns.equations(names=inertial)
    if said_by is not None:
        whole = said_by(whole)
    place = {name: k for k, name in enumerate(whole.names)}
    scale = np.sqrt(fit.weights * whole.counted) / fit.noise
    a = (whole.y * scale[..., None]).reshape(-1, len(place))
    b = (whole.tau * scale).reshape(-1)
    reference = np.array([file_values.get(name, 0.0) for name in whole.names])
    bodies, broken = [], []
    for body in robot.model.bodies:
        own = [place.get(f"{body.name}.{symbol}") for symbol in OF_BODIES]
        if None not in own:
            indices = np.array(own)
            bodies.append(indices)
            if not _is_full(reference[indices]):
                reference[indices] = SOME_BODY
        elif any(k is not None for k in own):
            broken.append(body.name)
    if broken:
        raise OptionError(
            f"some parameters of {', '.join(broken)} are fixed and others are not, which bodies that must be possible "
            "do not allow: fix all ten (such as 'link_1.*'), or give consistent=None"
        )
    positive = [k for name, k in place.items() if name.endswith((".rotor_inertia", ".damping", ".friction"))]
    triangle = np.asarray(np.linalg.qr(np.column_stack([a, b]), mode="r"))
    x = consistent(
        ConsistentFit(
            triangle[:, :-1], triangle[:, -1], bodies, np.array(positive, dtype=int), reference, pull, weight
        ),
        way,
    )
    return dict(zip(whole.names, (float(value) for value in x), strict=True))


def _is_full(ten: Array) -> bool:
    """Tell whether a body is possible, with room to spare, so that distances from it can be measured."""
    return bool(is_possible(ten, -1e-9)) and ten[9] > 0.0


def _is_physical(robot: Robot, values: Mapping[str, float]) -> bool:
    tens = np.array([[values[f"{body.name}.{symbol}"] for symbol in OF_BODIES] for body in robot.model.bodies])
    others = [value for name, value in values.items() if name.endswith((".rotor_inertia", ".damping", ".friction"))]
    return bool(is_possible(tens).all()) and min(others, default=0.0) >= 0.0


def _told(
    y: Array, counted: Array, fit: Estimate, groups: ParameterGroups, names: Sequence[str]
) -> tuple[tuple[str, ...], float]:
    """Return what the rows do not tell at all, and the condition number of the rest."""
    tall = (y * (counted / fit.noise)[..., None]).reshape(-1, y.shape[-1])
    size = np.linalg.norm(tall, axis=0)
    idle = size <= 1e-12 * np.max(size, initial=0.0)
    _, s, vt = np.linalg.svd(tall / np.where(idle, 1.0, size), full_matrices=False)
    dark = s <= 10.0 * UNTOLD * s[0]
    blind = np.sqrt(np.sum(vt[dark] ** 2, axis=0)) > 0.1
    written = (*groups.names, *names[len(groups.independent) :])
    missing = tuple(name for name, a, b in zip(written, idle, blind, strict=True) if a or b)
    if len(missing) == len(names):
        raise IdentificationError("this motion tells none of the parameters: it excites nothing")
    return missing, float(s[0] / s[~dark][-1])

"""From measured motions to a robot: all steps of identification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..control.base import Controller
from ..errors import (
    IdentificationError,
    IdentificationWarning,
    OptionError,
    UnknownNameError,
    explains_arguments,
    refuse_unknown,
    warn,
)
from ..evaluation.small_matrices import one_blas_thread
from ..former_names import former_arguments
from ..model.parameters import ParameterTable
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .closed_motion import motions_of
from .doubts.about_columns import of_columns
from .doubts.about_results import doubts, of_scale, signs
from .doubts.about_samples import of_stuck_encoders, of_units
from .doubts.about_times import of_delay, of_shortness
from .equations import MeasuredEquations, Prepared, row_names
from .estimators.instrumental_variables import explained
from .estimators.least_squares import METHODS, Estimate, estimate
from .estimators.physically_consistent import WAYS
from .force_gains import agreeing_gains, disagreeing, words_about
from .identifiable import ParameterGroups, Structure, is_inertial
from .identified import Identified
from .measured import Data, Measured, as_measured
from .model_choice import ChosenModel, Columns, Friction, choose_model
from .residuals import relative_errors
from .simulated.controlled_motion import ControlledRun
from .solution import consistent_solution, is_physical, nearest_to_file
from .unknowns import Unknowns, gains_of, refuse_currents, unknowns_of

if TYPE_CHECKING:
    from ..robot.robot import Robot


@explains_arguments
@former_arguments(initial="q_guess")
@one_blas_thread()
def identify(
    robot: Robot,
    data: Data,
    *,
    estimator: str = "weighted",
    friction: str | Mapping[str, str] = "auto",
    rotor_inertia: bool | str = "auto",
    springs: bool | str | Sequence[str] = "auto",
    consistent: str | None = "barrier",
    pull: str = "log_det",
    pull_weight: float = 1.0,
    fixed: Sequence[str] = (),
    gains: ArrayLike | Mapping[str, float] | str | None = None,
    cutoff: float | None = None,
    both_sides: float | None = None,
    contacts: Sequence[str] = (),
    q_guess: ArrayLike | None = None,
    instruments: Data | None = None,
    controller: Controller | None = None,
) -> Identified:
    """Find the inertial and friction parameters of a robot from measured motions.

    Parameters
    ----------
    robot : Robot
        Its geometry is assumed to be known. Its masses and inertias are used as prior values for parameters that the
        motion does not determine. If the robot has masses, bodies without mass stay massless.
    data : Measured, path, or several of them
        See :class:`kinetree.Measured`.
    estimator : {"weighted", "ordinary", "reweighted", "didim"}
        Least squares with each joint weighted by the noise of its residuals; with equal weights for all rows; or, in
        addition to the weights of joints, with less weight for outliers. ``"didim"``: weighted, with the motion of the
        simulated robot under ``controller`` in place of the measured one, repeated until both agree; noise of positions
        then has no effect.
    friction : str, or mapping from joint to str
        ``"coulomb"`` (viscous, Coulomb and offset), ``"viscous"``, ``"offset"``, ``"stribeck"``, ``"presliding"``,
        ``"none"``; or ``"auto"``: Coulomb friction, or presliding or Stribeck friction if that predicts better, and
        viscous friction that follows the velocity with a delay if that predicts better.
    rotor_inertia : bool or "auto"
        Whether to identify the inertias of rotors; by default if the robot has any, or if they improve predictions.
    springs : bool, "auto" or sequence of str
        Joints whose springs are to be identified: all, none, or those named; by default those without a spring in the
        file that are clearly pulled back by cables or hoses. Springs in the file are kept unless their joints are
        named.
    consistent : {"barrier", "sdp", "log_cholesky"} or None
        How to find physically possible parameters; None for those that fit best, possible or not.
    pull : {"log_det", "euclidean"}
        The distance that keeps parameters near the robot's own values if the motion does not determine them.
    pull_weight : float
        How strongly they are kept near these values.
    fixed : sequence of str
        Parameters that are known: names of ``robot.parameters()``, with ``*`` for any letters, such as ``"link_1.*"``.
    gains : array_like (nv,), mapping from joint to float, or "auto", optional
        Factors by which measured columns of ``tau`` are multiplied: drive gains that convert currents to joint forces.
        ``"auto"`` finds those of sensors and drives whose scale is clearly inconsistent with all others.
    cutoff, both_sides : float, optional
        Cutoff frequencies in Hz of the filter of the motion and of the filter applied to both sides of the equation; by
        default they are chosen from the spectrum.
    contacts : sequence of str
        Frames that stand on the ground all the time and whose contact forces were not measured.
    q_guess : array_like (nq,), optional
        For a mechanism of which only the independent joints were measured, a closed configuration near the first one.
    instruments : Measured, path, or several of them, optional
        The same motion at the same times without the noise of the measured positions: as commanded, or as simulated;
        its forces are not used. The fit then uses instrumental variables.
    controller : Controller, optional
        For ``estimator="didim"``: the controller that drove the robot, with its reference over the times of the data.

    Returns
    -------
    Identified
        The result, with ``robot``, ``names``, ``values``, ``deviations``, ``errors(data)`` and ``report(folder)``.

    Raises
    ------
    IdentificationError
        If nothing can be identified from the data.

    Warns
    -----
    IdentificationWarning
        If the result should not be trusted: forces with the wrong sign or unit, joints that do not move, parameters
        that the motion does not determine, impossible bodies.

    Examples
    --------
    ``found = kt.identify(robot, "motion.csv"); found.save("found.urdf")``
    """
    _check_options(estimator, consistent)
    if estimator == "didim":
        friction = _simple_friction(friction)
    measured = as_measured(data, robot)
    refuse_currents(measured, robot, gains)
    odd_units = [word for one in measured for word in of_units(one, robot)]
    first = [*odd_units, *(word for one in measured for word in of_stuck_encoders(one, robot))]
    _warn(first)
    start = None if q_guess is None else np.asarray(q_guess, dtype=float)
    choice = _ModelChoice(robot, measured, friction, rotor_inertia, springs, fixed, cutoff, both_sides, contacts, start)
    if isinstance(gains, str) and gains == "auto":
        factors = agreeing_gains(robot, choice.model_with)
    else:
        factors = gains_of(robot, gains)
    model = choice.model_with(factors)
    asked, prepared = choice.unknowns(model.columns.prepared), model.columns.prepared
    said_by = None if instruments is None else _instruments(model.columns, instruments, factors)
    prior = model.groups.values(asked.file_values)
    short = of_shortness(prepared, sum(float(one.t[-1] - one.t[0]) for one in measured))
    method = "weighted" if estimator == "didim" else estimator

    def fitted(model: ChosenModel) -> tuple[MeasuredEquations, Estimate]:
        own = model.columns.equations()
        equations = own if said_by is None else said_by(own)
        return equations, estimate(equations.y, equations.tau, method, equations.counted, prior, equations.sources)

    def solved(model: ChosenModel, equations: MeasuredEquations, fit: Estimate) -> Identified:
        try:
            if consistent is None:
                solution = nearest_to_file(model.groups, fit.values, asked.file_values)
            else:
                solution = consistent_solution(model, fit, asked.file_values, consistent, pull, pull_weight, said_by)
        except IdentificationError:
            if not short:
                raise
            raise IdentificationError(f"{short}: no possible bodies explain its forces") from None
        return _result(model, equations, fit, solution, (*_of_gains(robot, gains, factors), *model.notes), factors)

    known_groups, fit = prior[: len(model.columns.groups)], fitted(model)
    odd, second = (False, []) if short else _about(model, *fit, known_groups, bool(odd_units), isinstance(gains, str))
    _warn(second)
    result = solved(model, *fit)
    if estimator == "didim":
        run = ControlledRun(robot, controller, prepared.motions, result.robot)  # type: ignore[arg-type]
        result = _by_simulation(run, model, result, lambda model: solved(model, *fitted(model)))
    still = [robot.v_names[k] for k in asked.still]
    last = doubts(result, known_groups, still, bool(odd_units) or odd, short)
    _warn(last)
    return replace(result, warned=(*first, *second, *last))


@dataclass
class _ModelChoice:
    """The choice of a robot's model from measured motions; arguments as for :func:`identify`."""

    robot: Robot
    data: Sequence[Measured]
    friction: str | Mapping[str, str]
    rotor_inertia: bool | str
    springs: bool | str | Sequence[str]
    fixed: Sequence[str]
    cutoff: float | None
    both_sides: float | None
    contacts: Sequence[str]
    start: Array | None
    structure: Structure | None = None
    """The parameters that act together, which do not depend on the gains; found once."""

    def unknowns(self, prepared: Prepared) -> Unknowns:
        """Return the unknowns to be identified."""
        return unknowns_of(prepared, self.friction, self.springs, self.fixed)

    def model_with(self, gains: Array | None) -> ChosenModel:
        """Return the model that best predicts forces multiplied by gains."""
        given = self.data, None, gains, self.cutoff, self.both_sides, self.start
        motions, band, notes = motions_of(self.robot, *given)
        prepared = Prepared(self.robot, motions, band, self.contacts)
        asked = self.unknowns(prepared)
        if self.structure is None:
            sprung = _with_springs(self.robot, asked.springs)
            self.structure = Structure(sprung, np.concatenate([m.q for m in motions]))
        chosen = choose_model(prepared, asked, self.rotor_inertia, self.structure)
        return replace(chosen, notes=(*notes, *chosen.notes))


def _about(
    model: ChosenModel, equations: MeasuredEquations, fit: Estimate, known: Array, odd_units: bool, corrected: bool
) -> tuple[bool, list[str]]:
    """Return whether columns or scales of forces are suspicious, and warnings about them.

    If columns are exchanged or have the wrong sign, scales are not reported; nor are single scales if all forces are
    off.

    equations, fit: Equations and fit of the model.
    known: The groups of inertial parameters of the original robot.
    odd_units: Whether units of the motion are already in doubt.
    corrected: Whether forces were already corrected to be consistent.
    """
    columns, robot = model.columns, model.columns.prepared.robot
    mixed = [] if odd_units else of_columns(columns, relative_errors(equations.tau, equations.y @ fit.values))
    wrong = mixed or signs(columns.friction_names(), fit, equations) or of_delay(columns, fit)
    scaled = [] if wrong else of_scale(fit, equations, known)
    single = {} if wrong or scaled or corrected else disagreeing(model)
    return bool(mixed or scaled), [*wrong, *scaled, *words_about(robot, single)]


def _by_simulation(
    run: ControlledRun, model: ChosenModel, first: Identified, fitted: Callable[[ChosenModel], Identified]
) -> Identified:
    """Fit measured forces to simulated motions, each with the parameters of the previous fit, until they converge."""
    found, prepared = first, model.columns.prepared
    for turn in range(1, tuned.MOST_SIMULATIONS + 1):
        ahead = Prepared(prepared.robot, run.simulated(found.robot), prepared.band)
        force = ahead.equations.tau - ahead.known(model.held)
        columns = Columns(ahead, model.columns.groups, model.columns.friction, model.columns.fixed, force,
                          model.columns.springs)  # fmt: skip
        before, found = found, fitted(replace(model, columns=columns))
        change = np.abs(found.values - before.values)
        if np.all(
            change <= tuned.PARAMETERS_SETTLED * np.maximum(found.deviations, 1e-12) + 1e-9 * np.abs(found.values)
        ):
            note = f"simulated under the controller {turn} times, until nothing changed"
            return replace(found, notes=(*found.notes, note))
    words = f"simulations with the controller did not settle in {tuned.MOST_SIMULATIONS} rounds: the last change was " \
            f"up to {np.max(change / np.maximum(found.deviations, 1e-300)):.2g} standard deviations"  # fmt: skip
    _warn([words])
    return replace(found, notes=(*found.notes, words))


def _simple_friction(wanted: str | Mapping[str, str]) -> str | Mapping[str, str]:
    """Return friction without memory and shape parameters, which these simulations do not support."""
    given = {"": wanted} if isinstance(wanted, str) else wanted
    for name in given.values():
        if name in ("presliding", "stribeck"):
            raise OptionError(f"estimator='didim' simulates viscous and Coulomb friction and offsets, not {name!r}")
    simple = {joint: "coulomb" if name == "auto" else name for joint, name in given.items()}
    return simple[""] if isinstance(wanted, str) else simple


def _result(
    model: ChosenModel, equations: MeasuredEquations, fit: Estimate, solution: dict[str, float], notes: tuple[str, ...],
    gains: Array | None,
) -> Identified:  # fmt: skip
    """Return the result: the robot, its groups of parameters, its predictions."""
    columns, groups = model.columns, model.groups
    prepared, robot, table = columns.prepared, columns.prepared.robot, columns.prepared.robot.parameters()
    values = groups.values(solution)
    untold, condition = _told(equations, fit, groups)
    physical = is_physical(robot, {**model.held, **solution})
    friction = _friction_of_all(model)
    shaped = _shaped(_with_springs(robot, model.springs), friction, set(solution))
    own = shaped.parameters()
    found = shaped.with_parameters({n: value for n, value in solution.items() if n in own}, physical=physical)
    total = prepared.equations.tau
    predicted = columns.equations().y @ values + total - equations.tau
    return Identified(
        robot=found, names=groups.names, values=values, deviations=fit.deviations,
        units=tuple(_unit(table, name) for name in groups.independent), row_names=row_names(robot),
        training_errors=relative_errors(total, predicted), condition=condition, untold=untold, physical=physical,
        noise=fit.noise, band=prepared.band, friction=friction,
        springs={robot.v_names[k]: rest for k, rest in model.springs.items()}, notes=notes, given=robot,
        equations=replace(equations, y=np.stack([predicted], axis=-1), tau=total, names=("prediction",)),
        known=model.held, solution=solution, matrix=groups.matrix, parameters=groups.parameters,
        columns=groups.independent, contacts=prepared.contacts, gains=gains,
    )  # fmt: skip


def _with_springs(robot: Robot, rests: Mapping[int, float]) -> Robot:
    """Return the robot with springs whose stiffness is an ordinary parameter."""
    named = {robot.v_names[k]: rest for k, rest in rests.items()}
    return robot.with_springs(dict.fromkeys(named, 1.0), named)


def _friction_of_all(model: ChosenModel) -> dict[str, Friction]:
    """Return the friction of every joint; joints whose friction cannot be separated have the same kind.

    A joint that turns g times as fast as another has friction with g times its travel or speed, if the forces of both
    are proportional. Coulomb friction at g times the rate is felt |g| times as much.
    """
    groups, names = model.groups, model.columns.prepared.robot.v_names
    found = {names[k]: own for k, own in model.columns.friction.items()}
    for name in list(found):
        if f"{name}.friction" in groups.given_up:
            for other, share in groups.part_of(f"{name}.friction").items():
                like = found[other.rpartition(".")[0]]
                found[name] = replace(like, shape=abs(share) * like.shape)
    return found


def _shaped(robot: Robot, friction: Mapping[str, Friction], fitted: set[str]) -> Robot:
    """Return a robot with the kinds of friction that were chosen; their coefficients are ordinary parameters."""
    joints = set(robot.joint_names)  # joints with several freedoms: friction without a shape
    friction = {name: own for name, own in friction.items() if name in joints}
    fades = {name: own.shape for name, own in friction.items() if f"{name}.stribeck" in fitted}
    slides = {name: own.shape if own.model.name == "presliding" else 0.0
              for name, own in friction.items() if f"{name}.friction" in fitted}  # fmt: skip
    follows = {name: own.time for name, own in friction.items() if f"{name}.damping" in fitted}
    faded = robot.with_stribeck(dict.fromkeys(fades, 1.0), fades)
    return faded.with_friction_travel(slides).with_damping_time(follows)


def _of_gains(robot: Robot, asked: object, found: Array | None) -> list[str]:
    """Describe which forces were corrected to agree with the others."""
    if not isinstance(asked, str):
        return []
    if found is None:
        return ["the forces of all joints agree"]
    return [f"the force of {robot.v_names[k]} is multiplied by {found[k]:.4g}, as all others imply"
            for k in np.flatnonzero(found != 1.0)]  # fmt: skip


def _warn(words: Iterable[str]) -> None:
    for word in words:
        warn(word, IdentificationWarning)


def _check_options(estimator: str, way: str | None) -> None:
    refuse_unknown("estimator", estimator, (*METHODS, "didim"))
    if way is not None and way not in WAYS:
        raise UnknownNameError("way to consistent parameters", way, WAYS)


def _unit(table: ParameterTable, name: str) -> str:
    """Return a parameter's unit; other friction has that of Coulomb friction, stiffness that of force per position."""
    owner, _, symbol = name.rpartition(".")
    if symbol == "stiffness":
        return table.units[table.index(f"{owner}.damping")].replace(" s/", "/")
    return table.units[table.index(name if symbol != "stribeck" else f"{owner}.friction")]


def _instruments(columns: Columns, data: Data, gains: Array | None) -> Callable[[MeasuredEquations], MeasuredEquations]:
    """Return a function that keeps the part of the columns that another motion explains."""
    prepared = columns.prepared
    motions, _, _ = motions_of(prepared.robot, data, prepared.band, gains)
    other = Prepared(prepared.robot, motions, prepared.band, prepared.contacts)
    own = columns.equations()
    noise = estimate(own.y, own.tau, "weighted", own.counted).noise

    def said(equations: MeasuredEquations) -> MeasuredEquations:
        names = list(filter(is_inertial, equations.names))
        there = Columns(other, names, columns.friction, columns.fixed, other.equations.tau).equations()
        return replace(equations, y=explained(equations.y, there.y, equations.counted, noise))

    return said


def _told(equations: MeasuredEquations, fit: Estimate, groups: ParameterGroups) -> tuple[tuple[str, ...], float]:
    """Return what the rows do not determine, and the condition number of the rest."""
    weighted = equations.y * (equations.counted / fit.noise)[..., None]
    tall = weighted.reshape(-1, len(equations.names))
    size = np.linalg.norm(tall, axis=0)
    idle = size <= 1e-12 * np.max(size, initial=0.0)
    _, s, vt = np.linalg.svd(tall / np.where(idle, 1.0, size), full_matrices=False)
    dark = s <= 10.0 * tuned.UNTOLD * s[0]
    blind = np.sqrt(np.sum(vt[dark] ** 2, axis=0)) > 0.1
    missing = tuple(name for name, a, b in zip(groups.names, idle, blind, strict=True) if a or b)
    if len(missing) == len(groups.names):
        raise IdentificationError("this motion determines none of the parameters: it excites nothing")
    return missing, float(s[0] / s[~dark][-1])

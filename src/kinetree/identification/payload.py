"""A robot's payload, and the force constants of its drives, from motions with and without a load."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import IdentificationError, IdentificationWarning, ModelError, explains_arguments, warn
from ..former_names import former_arguments
from ..model.mass import MassProperties
from ..model.parameters import OF_BODIES, UNITS_OF_BODIES, mass_properties_from_table, mass_properties_to_table
from ..model.pose import Pose
from ..model.tree import BASE
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .closed_motion import motions_of
from .equations import Prepared
from .friction_models import MODELS
from .identifiable import Structure
from .identified import Identified
from .measured import Data
from .procedure import identify

if TYPE_CHECKING:
    from ..robot.robot import Robot


@dataclass(frozen=True)
class Payload:
    """The identified load on a body.

    Attributes
    ----------
    values : ndarray (10,)
        XX XY XZ YY YZ ZZ MX MY MZ M about the origin of the frame, along its axes, in kg m^2, kg m and kg.
    deviations : ndarray (10,)
        Standard deviations, which include the uncertainty of the robot's own parameters; NaN for parameters that the
        motion with the load determines only together with others, or not at all.
    mass_properties : MassProperties
        The same as mass, center of mass and inertia; grouped parameters if no real body has these values.
    errors : ndarray
        Relative errors of the joint forces with the load, per joint.
    frame : str
        The body or frame in whose axes the load is given.
    """

    values: Array
    deviations: Array
    mass_properties: MassProperties
    errors: Array
    frame: str = ""

    def __str__(self) -> str:
        lines = [
            f"{symbol:<3}{value:12.5g}" + (f" +- {deviation:.2g}" if np.isfinite(deviation) else "") + f" {unit}"
            for symbol, value, deviation, unit in zip(
                OF_BODIES, self.values, self.deviations, UNITS_OF_BODIES, strict=True
            )
        ]
        errors = ", ".join(f"{100.0 * error:.3g}" for error in self.errors)
        center = ", ".join(f"{x:.4g}" for x in self.mass_properties.com)
        head = f"a load of {self.mass_properties.mass:.4g} kg at ({center}) m; errors with it {errors} %"
        where = [f"about the origin of {self.frame!r}, along its axes:"] if self.frame else []
        return "\n".join([head, *where, *lines])


@explains_arguments
@former_arguments(initial="q_guess")
def identify_payload(robot: Robot, free: Data, loaded: Data, body: str, **options: Any) -> Payload:
    """Find a robot's payload by difference: the robot is identified without the load, then the body with it.

    Parameters of the load that the motion does not determine are kept near those of a ball with the identified mass and
    center of mass.

    Parameters
    ----------
    robot : Robot
    free, loaded : Measured, path, or several of them
        Motions without and with the load; they need not be the same.
    body : str
        The body that carries the load, or a frame on it, in whose axes the load is then given (deviations without what
        correlates the parameters).
    **options
        Options of :func:`kinetree.identify`, for both fits.
    """
    frame, named = robot.frame(body), body
    if frame.body == BASE:
        raise ModelError(f"{named!r} is fixed to the ground: no motion feels a payload there")
    body = robot.body_names[frame.body]
    before = identify(robot, free, **options)
    names = before.robot.parameters().names
    own = [f"{body}.{symbol}" for symbol in OF_BODIES]
    held = [name for name in names if name not in own]
    again = {**options, "friction": "none", "rotor_inertia": False, "springs": False, "fixed": held}
    old = mass_properties_to_table(before.robot.body(body).mass_properties)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # the radius of a guess
        best = identify(before.robot, loaded, **{**again, "consistent": None})
    after = best
    if options.get("consistent", "barrier") is not None:
        load = _ball(mass_properties_to_table(best.robot.body(body).mass_properties) - old)
        after = identify(before.robot if load is None else before.robot.with_payload(body, load), loaded, **again)
    found = mass_properties_to_table(after.robot.body(body).mass_properties) - old
    with_load = dict(zip(best.names, best.deviations, strict=True))
    without = _spread(before, best, free, loaded, own, options.get("q_guess"))
    deviations = np.array([np.hypot(with_load.get(n, np.nan), without.get(n, 0.0)) for n in own])
    if not frame.pose.is_identity:
        turned = _seen_from(frame.pose.inverse())
        found, deviations = turned @ found, np.sqrt(_sums(turned**2, deviations**2))
    return Payload(found, deviations, mass_properties_from_table(found), after.training_errors, named)


def _seen_from(pose: Pose) -> Array:
    """Return the matrix that takes ten parameters to a frame in which the current one has a pose."""
    columns = [mass_properties_to_table(mass_properties_from_table(one).moved(pose)) for one in np.eye(10)]
    return np.array(columns).T


def _sums(shares: Array, terms: Array) -> Array:
    """Return sums of terms by their shares, NaN where a term that counts is NaN."""
    return np.where(shares > 0.0, shares * terms, 0.0).sum(axis=1)


def _spread(
    before: Identified, best: Identified, free: Data, loaded: Data, own: Sequence[str], q_guess: Any
) -> dict[str, float]:
    """Return the deviations of the load's parameters due to those of the robot, known from the motion without it.

    The fixed parameters have errors dx with covariance C. The load p compensates A dx as well as B p can, where A and B
    are columns of the motion with the load, so its covariance is G C G^T with G = B^+ A.
    """
    robot = before.given
    prepared = []
    for data in (free, loaded):
        motions = motions_of(robot, data, before.band, before.gains, q_guess=q_guess)[0]
        prepared.append(Prepared(robot, motions, before.band, before.contacts))
    part = Structure(robot, np.concatenate([m.q for m in prepared[1].motions])).groups(own).independent
    rows = []
    for one, noise in zip(prepared, (before.noise, best.noise), strict=True):
        scale = one.equations.counted / noise
        rows.append([(y * scale[..., None]).reshape(scale.size, -1)
                     for y in (before.fitted_columns(one).y, one.equations.only(part).y)])  # fmt: skip
    (alone, _), (with_load, carried) = rows
    size = np.maximum(np.linalg.norm(alone, axis=0), 1e-300)
    told = np.linalg.norm(alone, axis=0) > 0.0
    spread = np.linalg.pinv(alone[:, told] / size[told], rcond=tuned.UNTOLD) / size[told, None]
    spread = np.linalg.lstsq(carried, with_load[:, told] @ spread, rcond=tuned.UNTOLD)[0]
    return dict(zip(part, np.linalg.norm(spread, axis=1), strict=True))


def _ball(values: Array) -> MassProperties | None:
    """Return a ball of some mass at some center, toward which bodies are pulled; None if there is no mass."""
    mass, moments = values[9], values[6:9]
    if not mass > 0.0:
        return None
    return MassProperties.sphere(mass, (0.75 * mass / (np.pi * tuned.DENSITY)) ** (1 / 3), moments / mass)


def drive_gains(robot: Robot, free: Data, loaded: Data, payload: MassProperties, body: str) -> Array:
    """Find the factors that convert currents to joint forces, with a known load.

    Without a known load, only ratios can be determined: twice the masses and twice the gains explain the same currents
    (Gautier and Briot, 2014).

    Parameters
    ----------
    robot : Robot
    free, loaded : Measured, path, or several of them
        Motions without and with the load, with currents instead of joint forces.
    payload : MassProperties
        Mass properties of the load, in the axes of the body that carries it.
    body : str

    Returns
    -------
    ndarray, shape (nv,)
        Factors for the argument ``gains``; 1 for joints without a motor.

    Raises
    ------
    IdentificationError
        If the load does not explain the currents, or gains are not positive.

    Warns
    -----
    IdentificationWarning
        If the load explains the currents poorly, or some gains cannot be determined.
    """
    own = [f"{robot.body(body).name}.{symbol}" for symbol in OF_BODIES]
    load = mass_properties_to_table(payload)
    motions, band, _ = motions_of(robot, free)
    parts = [Prepared(robot, motions, band), Prepared(robot, motions_of(robot, loaded, band)[0], band)]
    names = tuple(n for n in parts[0].inertial if not n.endswith(".rotor_inertia"))
    groups = Structure(robot, np.concatenate([m.q for m in motions])).groups(names)
    driven, table = robot.model.motors, robot.parameters()
    rows, right = [], []
    for part, carried in zip(parts, (0.0, 1.0), strict=True):
        columns = [part.equations.only(groups.independent).y]
        columns += [part.friction(k, MODELS["coulomb"], 0.0)[1] for k in driven]
        alone = np.eye(robot.nv)[driven]
        columns += [-part.in_rows([m.tau * one for m in part.motions])[..., None] for one in alone]
        whole = np.concatenate(columns, axis=-1)
        rows.append(whole.reshape(-1, whole.shape[-1]))
        right.append(-carried * (part.equations.only(own).y @ load).reshape(-1))
    tall, target = np.concatenate(rows), np.concatenate(right)
    size = np.maximum(np.linalg.norm(tall, axis=0), 1e-300)
    found = np.linalg.lstsq(tall / size, target, rcond=1e-10)[0] / size
    gains = np.ones(robot.nv)
    gains[driven] = found[-len(driven) :]
    if np.any(gains == 0.0) or not np.isfinite(gains).all():
        raise IdentificationError("the load does not determine the gains of all drives: move every joint with it")
    rest, bodies = target - tall @ found, tall[:, : len(groups.independent)]
    spread = np.linalg.pinv(tall / size, rcond=1e-10) / size[:, None]
    deviations = np.std(rest) * np.linalg.norm(spread, axis=1)[-len(driven) :]
    heavy, before = (
        bodies @ found[: bodies.shape[1]],
        bodies @ groups.values(dict(zip(table, table.values, strict=True))),
    )
    _doubt_gains(
        [robot.v_names[k] for k in driven], gains[driven], deviations,
        float(np.linalg.norm(rest) / np.linalg.norm(target)) if np.any(target) else 1.0,
        float(heavy @ before / (before @ before)) if np.any(before) else 1.0,
    )  # fmt: skip
    return gains


def _doubt_gains(names: Sequence[str], gains: Array, deviations: Array, left: float, weighs: float) -> None:
    """Refuse impossible gains, or a load that does not explain the currents; warn of doubtful ones.

    names: Names of the motors.
    left: Share of the load's forces that remains unexplained.
    weighs: Ratio of the robot's weight with these gains to its weight in the file.
    """
    listed = ", ".join(f"{name} {gain:.3g}" for name, gain in zip(names, gains, strict=True))
    if np.all(gains < 0.0):
        raise IdentificationError(
            f"all gains are negative ({listed}): the motions with the load and without it are exchanged, or "
            "currents have the opposite sign of forces"
        )
    if np.any(gains < 0.0) or left > tuned.NOT_THE_LOAD:
        raise IdentificationError(
            f"this load leaves {100 * left:.0f} % of its forces unexplained, with gains of {listed}: it is not what "
            "was carried, or not on this body or in its axes, or some current has the opposite sign of its force"
        )
    unsure = [
        name for name, gain, deviation in zip(names, gains, deviations, strict=True) if gain < tuned.SURE * deviation
    ]
    words = [f"the load leaves {100 * left:.0f} % of its forces unexplained"] if left > tuned.DOUBTFUL_LOAD else []
    words += [f"the gains of {', '.join(unsure)} are not determined"] if unsure else []
    if not 1.0 / tuned.COMMON < weighs < tuned.COMMON:
        words.append(f"the robot itself would weigh {weighs:.3g} times what its file says")
    if words:
        warn(
            f"the gains of drives are in doubt ({listed}): {'; '.join(words)}. Is this the load that was carried, on "
            "this body and in its axes? A heavier one, and a motion in which every joint feels it, tell more",
            IdentificationWarning,
        )

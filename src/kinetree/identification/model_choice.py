"""The choice of friction models, rotors and springs: those that best predict data that were not used in the fit.

The data are divided into a few parts; each is predicted by a fit to the others. A more complex model is chosen only if
it predicts better by a clear margin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import IdentificationError
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .equations import MeasuredEquations, Prepared
from .estimators.least_squares import estimate
from .estimators.products import Folds, cross_validated, fitted, grams
from .friction_models import MODELS, SIGN_OF_STEPS, FrictionModel
from .identifiable import ParameterGroups, Structure
from .unknowns import Unknowns

KINDS = ("presliding", "stribeck")
"""Kinds of friction, besides Coulomb friction, that are tried if none is given."""


@dataclass(frozen=True)
class Friction:
    """The model of a joint's friction, and the shape parameters of its functions."""

    model: FrictionModel
    shape: float = 0.0
    """Shape parameter of the model."""
    time: float = 0.0
    """Time constant with which viscous friction follows the velocity, in seconds; zero if it follows at once."""

    @property
    def words(self) -> str:
        """The model in words."""
        found = [f"{self.model.shape} {self.shape:.2g}"] if self.model.shape else []
        return ", ".join([*found, f"time in which damping follows {self.time:.2g} s"] if self.time else found)


@dataclass
class Columns:
    """The columns that are fitted: groups of inertial parameters, then friction."""

    prepared: Prepared
    groups: Sequence[str]
    """Independent columns of bodies and rotors."""
    friction: dict[int, Friction]
    """Friction of the degrees of freedom that have any."""
    fixed: set[str]
    """Parameters of friction without a column, because they are known or act only together with others."""
    force: Array  # (n, r)
    """The forces to be explained: measured forces less those of known parameters."""
    springs: dict[int, float] = field(default_factory=dict)
    """Rest positions of the springs whose stiffness is fitted, by degree of freedom."""
    _made: dict[tuple[int, str, float, float], tuple[list[str], Array]] = field(default_factory=dict)

    def of_joint(self, joint: int, friction: Friction) -> tuple[list[str], Array]:
        """Return the columns of a joint's friction, without those that are known."""
        key = (joint, friction.model.name, friction.shape, friction.time)
        if key not in self._made:
            names, columns = self.prepared.friction(joint, friction.model, friction.shape, friction.time)
            kept = [k for k, name in enumerate(names) if name not in self.fixed]
            self._made[key] = [names[k] for k in kept], columns[..., kept]
        return self._made[key]

    def friction_names(self) -> list[str]:
        """Return the joints whose friction is fitted."""
        return [self.prepared.robot.v_names[k] for k in self.friction]

    def equations(self, friction: Mapping[int, Friction] | None = None) -> MeasuredEquations:
        """Return the equations with all columns."""
        found = self.prepared.equations.only(self.groups)
        for joint, own in (self.friction if friction is None else friction).items():
            found = found.with_columns(*self.of_joint(joint, own))
        for joint, rest in self.springs.items():
            found = found.with_columns(*self.prepared.spring(joint, rest))
        return replace(found, tau=self.force)


def choose_rubbing(
    columns: Columns, begin: Mapping[int, Friction], wanted: Mapping[int, str], row_of: Mapping[int, int]
) -> None:
    """Choose friction in place: alternately models with shapes, and time constants.

    begin: The simplest friction of each degree of freedom; joints that do not move keep theirs.
    wanted, row_of: See :func:`choose_friction`.
    """
    columns.friction = dict(begin)
    for _ in range(tuned.CHOICE_ROUNDS if wanted else 0):
        before = {k: own.time for k, own in columns.friction.items()}
        columns.friction = {k: replace(own, time=before[k]) for k, own in begin.items()}
        choose_friction(columns, wanted, row_of)
        columns.friction = {k: replace(own, time=0.0) for k, own in columns.friction.items()}
        choose_times(columns, [k for k, name in wanted.items() if name == "auto"], row_of)
        after = {k: own.time for k, own in columns.friction.items()}
        if all(abs(after[k] - time) <= tuned.TIMES_SETTLED * time for k, time in before.items()):
            return


def choose_friction(columns: Columns, wanted: Mapping[int, str], row_of: Mapping[int, int]) -> None:
    """Choose models and shapes of friction, in place.

    For each joint, the kind is chosen that best predicts data outside of the fit, if it is clearly better than the
    initial one.

    columns: Columns with an initial model for every joint.
    wanted: Name of the model of each degree of freedom, or ``"auto"``.
    row_of: The row of each degree of freedom.
    """
    simple = dict(columns.friction)
    asked = {k: replace(simple[k], model=MODELS[name], shape=_middle(name))
             for k, name in wanted.items() if name != "auto"}  # fmt: skip
    open_to = [k for k, name in wanted.items() if name == "auto"]
    chosen = _shaped(columns, asked, asked)
    if open_to:
        before = Folds.of(columns.equations(simple))
        least = dict.fromkeys(open_to, 1.0 - tuned.CLEAR)
        for kind in KINDS:
            fancy = {k: replace(simple[k], model=MODELS[kind], shape=_middle(kind)) for k in open_to}
            fancy = _shaped(columns, chosen | fancy, fancy)
            equations = columns.equations(simple | chosen | fancy)
            after = Folds.of(equations)
            for joint in open_to:
                ratio = float(after.errors[row_of[joint]] / before.errors[row_of[joint]])
                if ratio < least[joint] and _is_there(columns, equations, before, after, fancy, joint, row_of[joint]):
                    least[joint], chosen[joint] = ratio, fancy[joint]
        _take_back(columns, simple, chosen, open_to, row_of, before.errors)
        for joint in open_to:
            own = chosen.get(joint, simple[joint])
            short = own.model.name == "presliding" and own.shape < tuned.AT_ONCE * own.model.shapes[0]
            chosen[joint] = replace(own, model=SIGN_OF_STEPS) if short else own
    columns.friction = columns.friction | chosen


def _take_back(
    columns: Columns, simple: dict[int, Friction], chosen: dict[int, Friction], open_to: Sequence[int],
    row_of: Mapping[int, int], before: Array,
) -> None:  # fmt: skip
    """Undo, in place, choices that no longer help, given what was chosen for the other joints.

    Each kind was tried with all joints of that kind, so the improvement may be due to only some of them.
    """
    while fancy := [joint for joint in open_to if joint in chosen]:
        ratio = Folds.of(columns.equations(simple | chosen)).errors / before
        lost = [joint for joint in fancy if not ratio[row_of[joint]] < 1.0 - tuned.CLEAR]
        if not lost and np.sum(np.log(ratio)) >= 0.0:
            lost = fancy
        if not lost:
            return
        for joint in lost:
            del chosen[joint]


def _shaped(columns: Columns, friction: Mapping[int, Friction], open_to: Mapping[int, Friction]) -> dict[int, Friction]:
    """Return friction with the shapes of some joints that leave the smallest error, each given the others."""
    found = dict(friction)
    for _ in range(tuned.SWEEPS):
        for joint, own in open_to.items():
            if own.model.shape:
                found[joint] = _best(columns, found, joint, "shape", own.model.shapes)
    return found


def _is_there(
    columns: Columns, equations: MeasuredEquations, before: Folds, after: Folds, friction: Mapping[int, Friction],
    joint: int, row: int,
) -> bool:  # fmt: skip
    """Return whether Stribeck friction is significant; True for all other kinds.

    Friction must be larger at low speed, not smaller; the additional part must fade well within the speeds of the
    motion but above their noise, and it must reduce the residuals of all data.
    """
    own = friction[joint]
    if own.model.name != "stribeck":
        return True
    name = f"{columns.prepared.robot.v_names[joint]}.stribeck"
    slow, fast = columns.prepared.speeds(joint)
    if (
        name not in equations.names
        or not max(tuned.NOISE * slow, tuned.SEEN * fast) < own.shape < tuned.WELL_WITHIN * fast
    ):
        return False
    last = [*(k for k, other in enumerate(equations.names) if other != name), equations.names.index(name)]
    more = after.with_columns(last).last_over_deviation()
    return bool(more > tuned.SURE and after.fit[1][row] < (1.0 - tuned.CLEAR) * before.fit[1][row])


def _middle(name: str) -> float:
    shapes = MODELS[name].shapes
    return shapes[len(shapes) // 2] if shapes else 0.0


def _best(
    columns: Columns, friction: Mapping[int, Friction], joint: int, number: str, around: Sequence[float]
) -> Friction:
    """Return a joint's friction with the shape parameter that leaves the smallest error, all others unchanged.

    The search goes from a tenth of the smallest initial value to ten times the largest.
    """
    own = friction[joint]
    others = {k: f for k, f in friction.items() if k != joint}
    fixed = columns.equations(others)
    noise = fitted(grams(columns.equations(friction)), fixed.counted.sum(axis=0))[1]
    weight = fixed.counted / noise
    tall = _weighted(fixed.y, weight)
    size = np.maximum(np.linalg.norm(tall, axis=0), 1e-300)
    tall, left = tall / size, (weight * fixed.tau).reshape(-1)
    inverse = np.linalg.inv(tall.T @ tall + tuned.RIDGE * np.eye(len(size)))
    lowest, highest = around[0] / tuned.FURTHER, around[-1] * tuned.FURTHER
    shapes = np.geomspace(lowest, highest, int(np.ceil(tuned.STEPS_PER_DECADE * np.log10(highest / lowest))) + 1)

    def with_number(value: float) -> Friction:
        return replace(own, **{number: float(value)})  # type: ignore[arg-type]

    def unexplained(shape: float) -> float:
        _, part = columns.of_joint(joint, with_number(shape))
        part = _weighted(part, weight)
        mixed = tall.T @ np.column_stack([part, left])
        small = np.column_stack([part, left]).T @ np.column_stack([part, left]) - mixed.T @ inverse @ mixed
        return float(small[-1, -1] - small[-1, :-1] @ np.linalg.lstsq(small[:-1, :-1], small[:-1, -1], rcond=1e-9)[0])

    values = np.array([unexplained(shape) for shape in shapes])
    k = int(np.argmin(values))
    best = float(shapes[k])
    if 0 < k < len(shapes) - 1:  # the minimum of a parabola through three points
        a, b, c = values[k - 1 : k + 2]
        away = 0.5 * (a - c) / (a - 2.0 * b + c) if a - 2.0 * b + c > 0.0 else 0.0
        best *= float((shapes[1] / shapes[0]) ** away)
    return with_number(best)


def _weighted(y: Array, weight: Array) -> Array:
    return (y * weight[..., None]).reshape(-1, y.shape[-1])


def choose_springs(columns: Columns, candidates: Mapping[int, float], row_of: Mapping[int, int]) -> None:
    """Give springs to joints that are pulled back in proportion to their displacement, for example by cables and hoses.

    Joints are tried one after the other, beginning with the one whose error decreases most. The stiffness must be
    significantly positive, and the error of the joint's row must clearly decrease while those of all rows together do
    not increase.

    columns: Columns whose springs are chosen in place.
    candidates: Degrees of freedom that may have a spring, and its rest position.
    row_of: The row of each degree of freedom.
    """
    if not candidates:
        return
    before = columns.equations()
    equations = before
    for joint, rest in candidates.items():
        equations = equations.with_columns(*columns.prepared.spring(joint, rest))
    folds, count = Folds.of(equations), len(before.names)
    chosen: list[int] = list(range(count))
    place = {joint: count + k for k, joint in enumerate(candidates)}
    without = folds.with_columns(chosen)
    while place:
        judged = {}
        for joint, column in place.items():
            gain = _gain(without, folds.with_columns([*chosen, column]), row_of[joint])
            if gain is not None:
                judged[joint] = gain
        if not judged:
            return
        best = max(judged, key=judged.__getitem__)
        columns.springs[best] = candidates[best]
        chosen.append(place.pop(best))
        without = folds.with_columns(chosen)


def choose_times(columns: Columns, joints: Sequence[int], row_of: Mapping[int, int]) -> None:
    """Let viscous friction follow velocities with a time constant if that clearly predicts better; in place.

    Grease, seals and hoses yield before they resist. If this is not modeled, a negative inertia takes its place in the
    fit. As with springs, joints are tried one after the other, beginning with the one whose error decreases most; the
    damping must be significantly positive.

    joints: Degrees of freedom to be tried.
    row_of: The row of each degree of freedom.
    """
    names = columns.prepared.robot.v_names
    left = [k for k in joints if f"{names[k]}.damping" in columns.of_joint(k, columns.friction[k])[0]]
    slower = {k: _best(columns, columns.friction, k, "time", tuned.TIMES) for k in left}
    slower = {
        k: own for k, own in slower.items() if tuned.TIMES[0] / tuned.FOUND < own.time < tuned.FOUND * tuned.TIMES[-1]
    }
    while slower:
        judged, without = {}, Folds.of(columns.equations())
        for joint, own in slower.items():
            tried = columns.equations(columns.friction | {joint: own})
            order = [k for k, name in enumerate(tried.names) if name != f"{names[joint]}.damping"]
            last = [*order, tried.names.index(f"{names[joint]}.damping")]
            gain = _gain(without, Folds.of(tried).with_columns(last), row_of[joint])
            if gain is not None:
                judged[joint] = gain
        if not judged:
            return
        best = max(judged, key=judged.__getitem__)
        columns.friction[best] = slower.pop(best)
        slower = {k: own for k, own in slower.items() if k in judged}  # useless alone, useless in combination


def _gain(without: Folds, tried: Folds, row: int) -> float | None:
    """Return the relative improvement of a joint's prediction by the last column; None if it is not significant.

    The prediction of all joints together must not become worse, the coefficient of the last column must be
    significantly positive, and the residuals of a fit to all data must also decrease: parts of a short motion may
    contain so little information that any column helps to predict one from the others.
    """
    ratio = tried.errors / without.errors
    clear = ratio[row] < 1.0 - tuned.CLEAR and np.sum(np.log(ratio)) < 0.0 and tried.last_over_deviation() > tuned.SURE
    fits = tried.fit[1][row] < (1.0 - tuned.FITS) * without.fit[1][row]
    return float(1.0 - ratio[row]) if clear and fits else None


def rotors_are_felt(without: MeasuredEquations, with_rotors: MeasuredEquations) -> bool:
    """Return whether rotors explain forces that bodies do not, with plausible inertias."""
    try:
        found = estimate(with_rotors.y, with_rotors.tau, "weighted", with_rotors.counted)
    except IdentificationError:  # too few rows
        return False
    rotors = [k for k, name in enumerate(with_rotors.names) if name.endswith(".rotor_inertia")]
    if np.any(found.values[rotors] < -2.0 * found.deviations[rotors]):
        return False
    before, after = cross_validated(without), cross_validated(with_rotors)
    return bool(np.sum(np.log(after)) < np.sum(np.log(before)) + len(before) * np.log(1.0 - tuned.CLEAR))


@dataclass(frozen=True)
class ChosenModel:
    """The model that is fitted, with the reasons for choosing it."""

    columns: Columns
    """Columns of groups of parameters."""
    groups: ParameterGroups
    """Groups of all unknown parameters, in the order of the columns."""
    held: dict[str, float]
    """All known parameters."""
    springs: dict[int, float]
    """Rest positions of the springs whose stiffness is unknown, with or without a separate column."""
    notes: tuple[str, ...] = ()
    """The decisions, in words."""


def choose_model(prepared: Prepared, asked: Unknowns, rotor_inertia: bool | str, structure: Structure) -> ChosenModel:
    """Decide which of the possible terms the data support: rotors, kinds of friction, springs.

    structure: The parameters that act together in the robot, including the requested springs.
    """
    robot, values = prepared.robot, asked.file_values
    begin = {k: Friction(MODELS["coulomb" if name in ("auto", "stribeck", "presliding") else name])
             for k, name in asked.friction.items()}  # fmt: skip
    of_joints = {f"{robot.v_names[k]}.{term}" for k, own in begin.items() for term in own.model.terms} - asked.fixed
    of_joints |= {f"{robot.v_names[k]}.stiffness" for k in asked.springs}

    def with_inertial(names: tuple[str, ...], rotors_known: Sequence[str]) -> ChosenModel:
        idle = [name for name in names if not structure.counts(name)]
        held = asked.known | {name: values[name] for name in (*rotors_known, *idle)}
        groups = structure.groups({*names, *of_joints} - set(idle))
        force = prepared.equations.tau - prepared.known(held)
        springs = {
            k: rest for k, rest in asked.springs.items() if f"{robot.v_names[k]}.stiffness" in groups.independent
        }
        columns = Columns(prepared, groups.inertial, dict(begin), asked.fixed | groups.given_up, force, springs)
        return ChosenModel(columns, groups, held, asked.springs)

    with_rotors = rotor_inertia is True or (rotor_inertia == "auto" and any(values[n] for n in asked.rotors))
    everything = (*asked.bodies, *asked.rotors)
    found = with_inertial(everything, ()) if with_rotors else with_inertial(asked.bodies, asked.rotors)
    if rotor_inertia == "auto" and asked.rotors and not with_rotors:
        more = with_inertial(everything, ())
        if rotors_are_felt(found.columns.equations(), more.columns.equations()):
            found, with_rotors = more, True
    columns = found.columns
    rows = {k: prepared.row_of(k) for k in asked.friction}
    alone = {k: name for k, name in asked.moving.items() if columns.of_joint(k, begin[k])[0]}
    choose_rubbing(columns, begin, alone, rows)
    choose_springs(columns, asked.perhaps_springs, rows)
    if columns.springs:  # forces that springs explain are no longer attributed to friction
        choose_rubbing(columns, begin, alone, rows)
    notes = [f"friction of {robot.v_names[k]}: {own.model.name}" + (f", {own.words}" if own.words else "")
             for k, own in columns.friction.items() if k in alone]  # fmt: skip
    notes += [f"friction of {robot.v_names[k]} is only known together with that of other joints"
              for k in asked.moving if k not in alone and begin[k].model.terms]  # fmt: skip
    notes += [f"a spring of {robot.v_names[k]} is identified, at rest at {rest:.3g}"
              for k, rest in columns.springs.items()]  # fmt: skip
    notes.append("rotor inertias are identified" if with_rotors else "rotor inertias stay unchanged")
    groups = found.groups.in_order(columns.equations().names)
    return replace(found, groups=groups, springs=asked.springs | columns.springs, notes=tuple(notes))

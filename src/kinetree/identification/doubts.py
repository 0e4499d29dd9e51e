"""Reasons not to trust data or a result: units and delays, signs, joints that rest, bodies that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from .equations import MeasuredEquations
from .estimators.least_squares import Estimate
from .excitation import can_be_excited
from .friction_models import MODELS
from .identified import POOR, Identified
from .measured import Measured
from .model_choice import Columns

if TYPE_CHECKING:
    from ..robot.robot import Robot

Array = np.ndarray

NOT_EXPLAINED = 0.5
"""Relative error beyond which a joint's force is not explained."""

SURE = 5.0
"""Standard deviations beyond which a sign is not chance."""

MOSTLY = 2.0 / 3.0
"""Share of parameters with large deviations beyond which a motion tells hardly anything."""

SHORT = 1.0
"""Seconds of motion below which what is not told is not told because there is too little of it."""

PLAUSIBLE = 20.0
"""Factor between measured forces and the file's that other masses may explain."""

OF_WEIGHT = 3.0
"""Factor between the mass that measured wrenches hold up and the file's that other masses may explain."""


def doubts(
    found: Identified, before: Array, still: Sequence[str], odd_units: bool = False, lasts: float = np.inf
) -> list[str]:
    """Return warnings, most serious first.

    Parameters
    ----------
    found : Identified
    before : ndarray
        The combinations of inertial parameters of the robot as it was; zeros if it had no masses.
    still : sequence of str
        Joints that hardly move.
    odd_units : bool
        Whether units of the motion or its columns are in doubt already: then those of forces are no news.
    lasts : float
        How many seconds were measured.
    """
    words = [] if odd_units else _units(found, before)
    if lasts < SHORT and (words or still or found.untold or len(found.poor) > MOSTLY * len(found)):
        words = [
            f"{lasts:.2g} s of motion are too short to tell masses, inertias and friction apart: measure some seconds, "
            "in which every joint goes both ways, fast and slowly. Nothing found here should be trusted"
        ]
    lost = [f"{name} ({100 * e:.0f} %)" for name, e in zip(found.row_names, found.training_errors, strict=True)
            if e > NOT_EXPLAINED]  # fmt: skip
    if lost and not words:
        words.append(
            f"the model does not explain the forces of {', '.join(lost)}: check the columns, the signs, the axes of "
            "these joints, and whether something else acts on the robot"
        )
    if still:
        whose = "moves: its" if len(still) == 1 else "move: their"
        words.append(f"{', '.join(still)} hardly {whose} friction cannot be told and stays as it was")
    if found.untold:
        stays = "it stays as it was" if len(found.untold) == 1 else "they stay as they were"
        words.append(f"this motion does not tell {_some(found.untold)}; {stays}")
    if len(found.poor) > MOSTLY * len(found):
        words.append(
            f"{len(found.poor)} of {len(found)} parameters have a standard deviation of more than 30 %, such as "
            f"{_some(found.poor, 3)}: the motion is too small or too slow for its noise, and the robot will err on "
            f"others. {_more_telling(found)}"
        )
    if not found.physical:
        words.append(
            "the parameters are those of no real robot (masses, inertias or friction are negative, or inertias break "
            "the triangle inequality): give consistent='barrier' for ones that are"
        )
    return words


def _more_telling(found: Identified) -> str:
    """Say how to come by motions that tell more."""
    if can_be_excited(found.given):
        return "kt.exciting_motion finds motions that tell more"
    return "Let it move faster and further, in many postures, with all joints at once"


def signs(joints: Sequence[str], fit: Estimate, equations: MeasuredEquations) -> list[str]:
    """Return a warning if the friction of some of the joints drives them."""
    place = {name: k for k, name in enumerate(equations.names)}
    wrong = []
    for joint in joints:
        k = place.get(f"{joint}.friction")
        if k is not None and fit.values[k] < -SURE * fit.deviations[k] and _gives_energy(equations, fit, joint, place):
            wrong.append(joint)
    if not wrong:
        return []
    return [
        f"friction drives {', '.join(wrong)} instead of braking: the sign of its force, or that of its position, is "
        "probably wrong (gains={joint: -1} turns a force around)"
    ]


def _gives_energy(equations: MeasuredEquations, fit: Estimate, joint: str, place: Mapping[str, int]) -> bool:
    """Tell whether viscous and Coulomb friction together do positive work."""
    speed, sign = place.get(f"{joint}.damping"), place[f"{joint}.friction"]
    force = fit.values[sign] * equations.y[..., sign]
    if speed is None:
        return True
    force = force + fit.values[speed] * equations.y[..., speed]
    return bool(np.sum(force * equations.y[..., speed]) < 0.0)


def _units(found: Identified, before: Array) -> list[str]:
    """Compare what was found with what the file has, if it has anything, and look for forces that run backwards."""
    told = found.relative_deviations[: len(before)] < POOR  # what is not told may be anything
    old, new = (np.linalg.norm(x[: len(before)][told]) for x in (before, found.values))
    if old > 0.0 and new > 0.0 and not 1.0 / PLAUSIBLE < new / old < PLAUSIBLE:
        return [
            f"the first moments and inertias found are {new / old:.3g} times those of the file: are the forces in N m "
            "and N at the joints, not in another unit, currents, or at the motor's side of the gear? gains= multiplies "
            "them"
        ]
    floats = [joint.name for joint in found.given.model.joints if joint.nv == 6 and not joint.actuated]
    masses = found.robot.mass / found.given.mass if found.given.mass else 1.0
    if floats and not 1.0 / OF_WEIGHT < masses < OF_WEIGHT:
        return [
            f"the mass found is {masses:.3g} times that of the file: are the measured wrenches in N and N m, along the "
            "axes of the world, and those that act on the robot, not those that it exerts?"
        ]
    slope = np.sum(found.equations.tau * found.equations.y[..., 0], axis=0)
    backwards = [
        n for n, s, e in zip(found.row_names, slope, found.training_errors, strict=True)
        if s < 0.0 and e > 0.9 and n.partition(".")[0] not in floats
    ]  # fmt: skip
    if not backwards:
        return []
    return [
        f"the forces of {', '.join(backwards)} run against what bodies need: their sign is probably wrong "
        "(gains={joint: -1} turns a force around)"
    ]


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# ------------------------------------------------------------------ units of positions, velocities and times

UNITS = (
    (180.0 / np.pi, "positions look like degrees, while velocities are in rad/s"),
    (np.pi / 180.0, "velocities look like degrees per second, while positions are in rad"),
    (1e-3, "times look like milliseconds"),
    (1e-6, "times look like microseconds"),
    (1e-9, "times look like nanoseconds"),
)
"""What steps of positions are, over velocities times steps of time, where units are wrong."""

NEAR = 1.15
"""Factor within which such a ratio is recognized."""

TURNS = 3.0
"""Turns beyond which positions are no radians, if most joints go so far, and none keeps to its limits."""

BEYOND_LIMITS, MARGIN = 1.5, 0.2
"""How far beyond its limits, as a multiple and in rad on top, no measured joint is."""

MOVES = 0.05
"""Joints that stay so near to zero, in rad, tell nothing about units."""

CLOCKS = {"milliseconds": ("ms", 1e-3), "microseconds": ("us", 1e-6), "nanoseconds": ("ns", 1e-9)}
"""Units of clocks that times may be in without saying so."""

SLOWEST = 0.25
"""Steps of time, in seconds, that no controller has."""


def doubtful_angles(robot: Robot, reach: Array) -> str:
    """Say that positions look like degrees: far beyond limits, or through several turns at most joints that turn.

    Parameters
    ----------
    reach : ndarray (nq,)
        Largest absolute value of each coordinate; NaN where it is not known.
    """
    turning = [k for k, unit in enumerate(robot.q_units) if unit == "rad" and np.isfinite(reach[k])]
    limits = np.maximum(np.abs(robot.lower_limits), np.abs(robot.upper_limits))
    beyond = [k for k in turning if reach[k] > BEYOND_LIMITS * limits[k] + MARGIN]
    if beyond:
        k = max(beyond, key=lambda k: float(reach[k] / limits[k]) if limits[k] else np.inf)
        return (
            f"positions look like degrees: {robot.q_names[k]} goes to {reach[k]:.4g} rad, its limit is {limits[k]:.3g}"
        )
    moving = [k for k in turning if reach[k] > MOVES]
    within = any(np.isfinite(limits[k]) for k in moving)  # a joint that keeps to its limits is in rad
    if not moving or within or not np.median(reach[moving]) > TURNS * 2.0 * np.pi:
        return ""
    return f"positions look like degrees: they go up to {reach[moving].max():.4g} rad"


def doubtful_steps(step: float) -> str:
    """Say which unit times look like, where a step would be longer than any controller's.

    Parameters
    ----------
    step : float
        From one row to the next, as the table has it.
    """
    if not step > SLOWEST:
        return ""
    unit = next((unit for unit, (_, size) in CLOCKS.items() if size * step < SLOWEST), "nanoseconds")
    return f"times look like {unit}: the steps would be {step:.3g} s; name the column 't [{CLOCKS[unit][0]}]' if so"


def of_units(data: Measured, robot: Robot) -> list[str]:
    """Return a warning if positions, velocities and times do not fit one another, or cannot be in rad and s."""
    good = np.isfinite(data.q).all(axis=1)
    t, q = data.t[good], data.q[good]
    if len(t) < 2:
        return []
    steps = np.diff(t)
    found = ""
    if data.v is not None and data.v.shape == data.q.shape:
        v = data.v[good]
        middle = 0.5 * (v[1:] + v[:-1]) * steps[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(np.nansum(np.diff(q, axis=0) * middle) / np.nansum(middle**2))
        found = next((words for value, words in UNITS if value / NEAR < ratio < value * NEAR), "")
        if not found and -NEAR < ratio < -1.0 / NEAR:
            found = "velocities have the other sign than positions"
    found = found or doubtful_steps(float(np.median(steps)))
    if not found and q.shape[1] == robot.nq:
        found = doubtful_angles(robot, np.abs(q).max(axis=0))
    if not found:
        return []
    return [
        f"{data.name}: {found}. Everything is taken in rad, m and s, unless columns say otherwise, as 'q_elbow [deg]' "
        "and 't [ms]' do"
    ]


# ------------------------------------------------------------------ columns that were mixed up

MIXED_UP = 0.1
"""Relative error beyond which some joint's column may be another's, or have the wrong sign."""

TRIED_ROWS, AVERAGED = 400, 25
"""Groups of samples by which exchanged columns are judged, and how many samples are averaged in each, against noise."""

UNMIXED = 0.5
"""Share of what is left that exchanged columns must leave at most to be believed."""

FASTER = 0.05
"""Share of a joint's largest speed beyond which its friction has a sign."""


def of_columns(columns: Columns, errors: Array) -> list[str]:
    """Return a warning if forces fit much better with two columns exchanged, or one of another sign.

    Parameters
    ----------
    columns : Columns
        Of the fit.
    errors : ndarray
        Relative errors of the fit, per row.
    """
    prepared, robot = columns.prepared, columns.prepared.robot
    simple = all(joint.nv == joint.nq == 1 and joint.actuated and not joint.mimic for joint in robot.model.joints)
    if not simple or robot.closes_loops or prepared.contacts or not np.any(errors > MIXED_UP):
        return []
    rows = sum(m.t.size for m in prepared.motions)
    begins = np.linspace(0, max(rows - AVERAGED, 0), min(TRIED_ROWS, max(rows // AVERAGED, 1))).astype(int)
    picked = (begins[:, None] + np.arange(min(AVERAGED, rows))).reshape(-1)
    q, v, a, tau = (
        np.concatenate([getattr(m, key) for m in prepared.motions])[picked] for key in ("q", "v", "a", "tau")
    )

    def left(order: Array, sign: Array, force: Array) -> float:
        """Return which share of forces a fit leaves, if the motion of each joint is that of another."""
        motion = [sign * x[:, order] for x in (q, v, a)]
        return _left_of(robot.regressor(*motion, parameters=prepared.inertial), motion[1], force, len(begins))

    plain, ones = np.arange(robot.nv), np.ones(robot.nv)
    before = left(plain, ones, tau)
    judged: dict[str, float] = {}
    for i, j in combinations(range(robot.nv), 2):
        swapped = plain.copy()
        swapped[[i, j]] = j, i
        names = f"{robot.v_names[i]} and {robot.v_names[j]}"
        judged[f"the positions of {names} exchanged"] = left(swapped, ones, tau)
        judged[f"the forces of {names} exchanged"] = left(plain, ones, tau[:, swapped])
        judged[f"the columns of {names} exchanged"] = left(swapped, ones, tau[:, swapped])
    for i, name in enumerate(robot.v_names):
        turned = np.where(plain == i, -1.0, 1.0)
        judged[f"positions of {name} of the other sign"] = left(plain, turned, tau)
        judged[f"forces of {name} of the other sign"] = left(plain, ones, tau * turned)
    best = min(judged, key=judged.__getitem__)
    if not judged[best] < UNMIXED * before:
        return []
    return [
        f"with {best} the model leaves {100 * judged[best]:.2g} % of the forces instead of {100 * before:.2g} %: "
        "columns are probably mixed up, or joints turn the other way than in the file"
    ]


def _left_of(regressor: Array, v: Array, force: Array, groups: int) -> float:
    """Return the root mean square that a fit with viscous and Coulomb friction leaves of forces, each of size one.

    Samples are averaged in groups.  Joints that are about to turn back do not count: a sample there has any friction.
    """
    size = np.maximum(np.sqrt(np.mean(force**2, axis=0)), 1e-300)
    fast = np.abs(v) > FASTER * np.abs(v).max(axis=0)
    rubbing = [np.eye(v.shape[1]) * x[:, None, :] for x in (v, np.sign(v), np.ones_like(v))]
    both = np.concatenate([regressor, *rubbing, force[:, :, None]], axis=-1) / size[:, None]
    both = both.reshape(groups, -1, *both.shape[1:]).mean(axis=1)
    counted = fast.reshape(groups, -1, v.shape[1]).all(axis=1).reshape(-1)
    tall, target = np.split(both.reshape(len(counted), -1)[counted], [-1], axis=1)
    target = target[:, 0]
    width = np.linalg.norm(tall, axis=0)
    tall = tall[:, width > 0.0] / width[width > 0.0]
    rest = target - tall @ np.linalg.lstsq(tall, target, rcond=1e-8)[0]
    return float(np.sqrt(np.mean(rest**2)))


# ------------------------------------------------------------------ encoders that stick

STUCK_FOR, FREED_BY = 0.1, 5.0
"""Seconds for which a position does not change, and with how many times its usual largest step it goes on then."""

BRAKES_WITHIN, BREAKS_BY = 0.025, 1.5
"""Seconds over which changes of speed are compared, and how many times the largest elsewhere one is at a stuck end."""


def of_stuck_encoders(data: Measured, robot: Robot) -> list[str]:
    """Return a warning if positions stand still to the last digit in the midst of a motion.

    Behind that they jump; or, where the joint came back meanwhile, its speed breaks off or sets in faster than it
    changes anywhere else.  A joint that comes to rest brakes, and one whose steps are coarse has such changes always.
    """
    words = []
    t, q = data.t, data.q
    for k in range(q.shape[1] if q.shape[1] == robot.nq else 0):
        steps = np.abs(np.diff(q[:, k]))
        moving = steps[steps > 0.0]
        if len(moving) < 2:
            continue
        usual = float(np.quantile(moving, 0.99))
        changes = np.flatnonzero(steps > 0.0)
        starts, ends = np.concatenate([[0], changes + 1]), np.append(changes, len(t) - 1)
        long = t[ends] - t[starts] > STUCK_FOR
        starts, ends = starts[long], ends[long]
        jumps = np.append(steps, 0.0)[ends]
        stuck = (jumps > FREED_BY * usual) | _breaks_off(t, q[:, k], starts, ends)
        if stuck.any():
            first = int(np.flatnonzero(stuck)[0])
            begin, end, jump = t[starts[first]], t[ends[first]], jumps[first]
            then = f"jumps by {jump:.3g}" if jump > FREED_BY * usual else "goes on, as if it had been moving before"
            words.append(
                f"{data.name}: the position of {robot.q_names[k]} does not change from {begin:.4g} s to {end:.4g} s "
                f"and then {then}: an encoder that hung? Leave out these rows"
            )
    return words


def _breaks_off(t: Array, q: Array, starts: Array, ends: Array) -> Array:
    """Tell at which spells of equal positions the speed breaks off, or sets in, faster than it changes elsewhere."""
    span = max(3, int(np.ceil(BRAKES_WITHIN / max(float(np.median(np.diff(t))), 1e-300))))
    if len(q) < 3 * span:
        return np.zeros(len(starts), dtype=bool)
    bends = np.abs(q[2 * span :] - 2.0 * q[span:-span] + q[: -2 * span])  # around samples span, span + 1, ...
    elsewhere = np.isfinite(bends)
    for first, last in zip(starts, ends, strict=True):
        elsewhere[max(0, first - 2 * span) : max(0, last + 1)] = False
    most = BREAKS_BY * float(np.max(bends[elsewhere], initial=0.0))
    inner = (starts >= span) & (ends + span < len(q))  # records begin and end in the midst of anything
    before = np.abs(q[starts] - q[np.maximum(starts - span, 0)])
    behind = np.abs(q[np.minimum(ends + span, len(q) - 1)] - q[ends])
    return np.asarray(inner & (most > 0.0) & (np.maximum(before, behind) > most))


# ------------------------------------------------------------------ delays

LONGEST_DELAY, DELAYS = 0.05, 21
"""Delays that are looked for, in seconds both ways, and how many of them."""

FINER, LEAST_DELAY = 11, 5e-4
"""Delays that are tried around the best of these, and the shortest one, in seconds, that is told."""

LATE, EARLY = 0.8, 0.5
"""Share of what is left without a delay that one of forces, or of positions, must leave at most to be believed.

Joints that stick look as if positions came late: forces grow before anything moves.
"""


def of_delay(columns: Columns, fit: Estimate) -> list[str]:
    """Return a warning if forces that came earlier or later would fit much better to the same motion.

    Friction that builds up over some way, which hides delays of forces, is judged beside that which does so at once:
    whatever fits best without a delay is compared with whatever does with one.

    Parameters
    ----------
    columns : Columns
        Of the fit.
    fit : Estimate
    """
    prepared = columns.prepared
    if any(r is not None for r in prepared.reductions) or any(m.wrenches for m in prepared.motions):
        return []
    plain = {k: replace(own, model=MODELS["coulomb"], shape=0.0) if own.shape else own
             for k, own in columns.friction.items()}  # fmt: skip
    weight = np.sqrt(fit.weights) / fit.noise
    judges = [_left_with(columns.equations(own), weight)
              for own in ([columns.friction, plain] if plain != columns.friction else [plain])]  # fmt: skip

    def curves(delays: Array) -> list[Array]:
        moved = [
            np.concatenate([d(_shifted(m.t, m.tau, delay) - m.tau)
                            for m, d in zip(prepared.motions, prepared.decimations, strict=True)])
            for delay in delays
        ]  # fmt: skip
        return [np.array([judge(more) for more in moved]) for judge in judges]

    delays = np.linspace(-LONGEST_DELAY, LONGEST_DELAY, DELAYS)
    coarse, middle = curves(delays), DELAYS // 2
    k = int(np.argmin(min(coarse, key=np.min)))
    if k in (0, DELAYS - 1):
        return []
    finer = np.linspace(delays[k - 1], delays[k + 1], FINER)
    left = min(curves(finer), key=np.min)
    best = float(finer[int(np.argmin(left))])
    needed = LATE if best > 0.0 else EARLY
    if abs(best) < LEAST_DELAY or left.min() > needed * min(curve[middle] for curve in coarse):
        return []
    late, word = abs(1e3 * best), "earlier" if best > 0.0 else "later"
    return [
        f"forces fit the motion much better when they are taken {late:.2g} ms {word}: "
        f"{'forces' if best > 0.0 else 'positions'} come too late by about that, by a filter or a bus. Shift one of "
        "them"
    ]


def _left_with(equations: MeasuredEquations, weight: Array) -> Callable[[Array], float]:
    """Return what tells how much the best fit leaves of forces to which something is added."""
    tall = (equations.y * weight[..., None]).reshape(-1, len(equations.names))
    size = np.linalg.norm(tall, axis=0)
    basis = np.linalg.qr(tall[:, size > 0.0] / size[size > 0.0])[0]

    def left(more: Array) -> float:
        force = ((equations.tau + more) * weight).reshape(-1)
        return float(force @ force - np.sum((basis.T @ force) ** 2))

    return left


def _shifted(t: Array, tau: Array, delay: float) -> Array:
    """Return forces that were written down too late by a delay, at the times that they belong to."""
    return np.stack([np.interp(t + delay, t, column) for column in tau.T], axis=1)

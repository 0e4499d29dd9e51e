"""Results that should not be trusted: wrong scales and signs of forces, joints at rest, impossible bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..equations import MeasuredEquations
from ..estimators.least_squares import Estimate
from ..excitation import can_be_excited
from ..identified import Identified


def doubts(
    found: Identified, before: Array, still: Sequence[str], odd_units: bool = False, short: str = ""
) -> list[str]:
    """Return warnings, most serious first.

    before: The combinations of inertial parameters of the original robot; zeros if it had no masses.
    still: Joints that hardly move.
    odd_units: Whether units of the motion or its columns are already in doubt; if so, doubtful units of forces are not
        reported.
    short: Warning that the motion is too short; empty if it is not. If there is one, nothing else is reported.
    """
    words = [short] if short else [] if odd_units else _units(found, before)
    lost = [f"{name} ({100 * e:.0f} %)" for name, e in zip(found.row_names, found.training_errors, strict=True)
            if e > tuned.NOT_EXPLAINED]  # fmt: skip
    if lost and not words:
        words.append(
            f"the model does not explain the forces of {', '.join(lost)}: check the columns, the signs, the axes of "
            "these joints, and whether something else acts on the robot"
        )
    if still:
        whose = "moves: its" if len(still) == 1 else "move: their"
        words.append(f"{', '.join(still)} hardly {whose} friction cannot be estimated and stays unchanged")
    if found.untold:
        stays = "it stays unchanged" if len(found.untold) == 1 else "they stay unchanged"
        words.append(f"this motion does not determine {_some(found.untold)}; {stays}")
    if len(found.poor) > tuned.MOSTLY * len(found):
        words.append(
            f"{len(found.poor)} of {len(found)} parameters have a standard deviation of more than 30 %, such as "
            f"{_some(found.poor, 3)}: the motion is too small or too slow for its noise, and other motions will "
            f"be predicted poorly. {_more_telling(found)}"
        )
    if not found.physical:
        words.append(
            "the parameters are physically impossible (masses, inertias or friction are negative, or inertias break "
            "the triangle inequality): give consistent='barrier' for possible ones"
        )
    return words


def _more_telling(found: Identified) -> str:
    """Advise how to record motions from which more can be identified."""
    if can_be_excited(found.given):
        return "kt.exciting_motion finds more informative motions"
    return "Let it move faster and further, in many postures, with all joints at once"


def signs(joints: Sequence[str], fit: Estimate, equations: MeasuredEquations) -> list[str]:
    """Return a warning if the friction of some of the joints drives them."""
    place = {name: k for k, name in enumerate(equations.names)}
    wrong = []
    for joint in joints:
        k = place.get(f"{joint}.friction")
        if (
            k is not None
            and fit.values[k] < -tuned.SURE_SIGN * fit.deviations[k]
            and _gives_energy(equations, fit, joint, place)
        ):
            wrong.append(joint)
    if not wrong:
        return []
    return [
        f"friction drives {', '.join(wrong)} instead of braking: the sign of its force, or that of its position, is "
        "probably wrong (gains={joint: -1} turns a force around)"
    ]


def of_scale(fit: Estimate, equations: MeasuredEquations, before: Array) -> list[str]:
    """Return a warning if all loads are those of the file times a common factor, which other masses seldom explain.

    equations: Equations in which the columns of bodies and rotors come first.
    before: The values of these combinations for the original robot.
    """
    weight = (equations.counted / fit.noise)[..., None]
    tall = (equations.y * weight).reshape(-1, len(equations.names))
    loads = np.stack([tall[:, : len(before)] @ x for x in (fit.values[: len(before)], before)], axis=1)
    size = np.linalg.norm(tall[:, len(before) :], axis=0)
    rubbing = np.linalg.qr(tall[:, len(before) :][:, size > 0.0] / size[size > 0.0])[0]
    new, old = (loads - rubbing @ (rubbing.T @ loads)).T  # the part that neither friction nor an offset can explain
    if len(before) < tuned.SEVERAL or np.linalg.norm(old) < tuned.TOLD:
        return []
    factor = float(new @ old) / float(old @ old)
    alike = np.linalg.norm(new - factor * old) < tuned.ALIKE * np.linalg.norm(new)
    if not alike or 1.0 / tuned.COMMON < factor < tuned.COMMON or factor < 0.0:
        return []
    return [
        f"all loads are {factor:.3g} times those of the file, within {100 * tuned.ALIKE:.0f} %: a common factor of "
        "forces (currents, another unit, the motor's side of a gear; gains= multiplies them), unless the file's masses "
        "are all off by it"
    ]


def _gives_energy(equations: MeasuredEquations, fit: Estimate, joint: str, place: Mapping[str, int]) -> bool:
    """Return whether viscous and Coulomb friction together do positive work."""
    speed, sign = place.get(f"{joint}.damping"), place[f"{joint}.friction"]
    force = fit.values[sign] * equations.y[..., sign]
    if speed is None:
        return True
    force = force + fit.values[speed] * equations.y[..., speed]
    return bool(np.sum(force * equations.y[..., speed]) < 0.0)


def _units(found: Identified, before: Array) -> list[str]:
    """Return warnings from a comparison with the file's values, if it has any, and about forces with the wrong sign."""
    told = found.relative_deviations[: len(before)] < tuned.POOR  # others may be anything
    old, new = (np.linalg.norm(x[: len(before)][told]) for x in (before, found.values))
    if old > 0.0 and new > 0.0 and not 1.0 / tuned.PLAUSIBLE < new / old < tuned.PLAUSIBLE:
        return [
            f"the first moments and inertias found are {new / old:.3g} times those of the file: are the forces in N m "
            "and N at the joints, not in another unit, currents, or at the motor's side of the gear? gains= multiplies "
            "them; else the file's masses are far from real"
        ]
    floats = [joint.name for joint in found.given.model.joints if joint.nv == 6 and not joint.actuated]
    masses = found.robot.mass / found.given.mass if found.given.mass else 1.0
    if floats and not 1.0 / tuned.PLAUSIBLE_WEIGHT < masses < tuned.PLAUSIBLE_WEIGHT:
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
        f"the forces of {', '.join(backwards)} are opposite to what the bodies need: their sign is probably wrong "
        "(gains={joint: -1} turns a force around)"
    ]


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")

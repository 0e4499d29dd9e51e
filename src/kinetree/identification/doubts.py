"""Reasons not to trust a result, found in the fit itself: signs, units, joints that rest, bodies that cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .equations import Equations
from .identified import Identified
from .least_squares import Estimate

Array = np.ndarray

NOT_EXPLAINED = 0.5
"""Relative error beyond which a joint's force is not explained."""

SURE = 5.0
"""Standard deviations beyond which a sign is not chance."""

PLAUSIBLE = 20.0
"""Factor between measured forces and the file's that other masses may explain."""


def doubts(
    found: Identified, fit: Estimate, equations: Equations, file_values: Mapping[str, float], still: Sequence[str]
) -> list[str]:
    """Return warnings, most serious first.

    Parameters
    ----------
    found : Identified
    fit : Estimate
        Of the parameters without regard to what bodies can have.
    equations : Equations
        Of the fit, with a column per parameter.
    file_values : mapping
        Parameters of the robot as it was.
    still : sequence of str
        Joints that hardly move.
    """
    words = [*_signs(found, fit, equations), *_units(found, file_values)]
    lost = [f"{name} ({100 * e:.0f} %)" for name, e in zip(found.row_names, found.training_errors, strict=True)
            if e > NOT_EXPLAINED]  # fmt: skip
    if lost and not words:
        words.append(
            f"the model does not explain the forces of {', '.join(lost)}: check the columns, the signs, the axes of these "
            "joints, and whether something else acts on the robot"
        )
    if still:
        words.append(f"{', '.join(still)} hardly moves: its friction cannot be told and stays as it was")
    if found.untold:
        words.append(f"this motion does not tell {_some(found.untold)}; they stay as they were")
    if not found.physical:
        words.append(
            "the parameters are those of no real robot (masses, inertias or friction are negative, or inertias break the "
            "triangle inequality): give consistent='barrier' for ones that are"
        )
    return words


def _signs(found: Identified, fit: Estimate, equations: Equations) -> list[str]:
    """Look for joints whose friction drives them."""
    place = {name: k for k, name in enumerate(equations.names)}
    wrong = []
    for joint in found.friction:
        k = place.get(f"{joint}.friction")
        if k is not None and fit.values[k] < -SURE * fit.deviations[k] and _gives_energy(equations, fit, joint, place):
            wrong.append(joint)
    if not wrong:
        return []
    return [
        f"friction drives {', '.join(wrong)} instead of braking: the sign of its force, or that of its position, is "
        "probably wrong (gains={joint: -1} turns a force around)"
    ]


def _gives_energy(equations: Equations, fit: Estimate, joint: str, place: Mapping[str, int]) -> bool:
    """Tell whether viscous and Coulomb friction together do positive work."""
    speed, sign = place.get(f"{joint}.damping"), place[f"{joint}.friction"]
    force = fit.values[sign] * equations.y[..., sign]
    if speed is None:
        return True
    force = force + fit.values[speed] * equations.y[..., speed]
    return bool(np.sum(force * equations.y[..., speed]) < 0.0)


def _units(found: Identified, file_values: Mapping[str, float]) -> list[str]:
    """Compare masses with those of the file, if it has any."""
    before = sum(value for name, value in file_values.items() if name.endswith(".M"))
    tau, said = found.equations.tau, found.equations.y[..., 0]
    words = []
    if before > 0.0:
        moments = ("MX", "MY", "ZZ")
        old = np.array([v for n, v in file_values.items() if n.rpartition(".")[2] in moments])
        new = np.array([found.solution.get(n, v) for n, v in file_values.items() if n.rpartition(".")[2] in moments])
        size, told = np.linalg.norm(old), np.linalg.norm(new)
        if size > 0.0 and told > 0.0 and not 1.0 / PLAUSIBLE < told / size < PLAUSIBLE:
            words.append(
                f"the first moments and inertias found are {told / size:.3g} times those of the file: are the forces in "
                "N m and N at the joints, not in another unit, currents, or at the motor's side of the gear? gains= "
                "multiplies them"
            )
    slope = np.sum(tau * said, axis=0)
    backwards = [
        n for n, s, e in zip(found.row_names, slope, found.training_errors, strict=True) if s < 0.0 and e > 0.9
    ]
    if backwards and not words:
        words.append(
            f"the forces of {', '.join(backwards)} run against what bodies need: their sign is probably wrong "
            "(gains={joint: -1} turns a force around)"
        )
    return words


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")

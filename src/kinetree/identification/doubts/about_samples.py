"""Samples that cannot be right: wrong units of positions, velocities and times, and encoders that got stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..measured import Measured

if TYPE_CHECKING:
    from ...robot.robot import Robot

UNITS = (
    (180.0 / np.pi, "positions look like degrees, while velocities are in rad/s"),
    (np.pi / 180.0, "velocities look like degrees per second, while positions are in rad"),
    (1e-3, "times look like milliseconds"),
    (1e-6, "times look like microseconds"),
    (1e-9, "times look like nanoseconds"),
)
"""Ratios of position steps to velocities times time steps that show wrong units."""

CLOCKS = {"milliseconds": ("ms", 1e-3), "microseconds": ("us", 1e-6), "nanoseconds": ("ns", 1e-9)}
"""Units of clocks in which times may be given without a label."""


def doubtful_angles(robot: Robot, reach: Array) -> str:
    """Return a warning if positions look like degrees: far beyond limits, or through several turns at most hinges.

    reach: (nq,). Largest absolute value of each coordinate; NaN where it is not known.
    """
    turning = [k for k, unit in enumerate(robot.q_units) if unit == "rad" and np.isfinite(reach[k])]
    limits = np.maximum(np.abs(robot.lower_limits), np.abs(robot.upper_limits))
    beyond = [k for k in turning if reach[k] > tuned.BEYOND_LIMITS * limits[k] + tuned.MARGIN]
    if beyond:
        k = max(beyond, key=lambda k: float(reach[k] / limits[k]) if limits[k] else np.inf)
        return (
            f"positions look like degrees: {robot.q_names[k]} goes to {reach[k]:.4g} rad, its limit is {limits[k]:.3g}"
        )
    moving = [k for k in turning if reach[k] > tuned.MOVES]
    within = any(np.isfinite(limits[k]) for k in moving)  # a joint that stays within its limits is in rad
    if not moving or within or not np.median(reach[moving]) > tuned.TURNS_IN_DEGREES * 2.0 * np.pi:
        return ""
    return f"positions look like degrees: they go up to {reach[moving].max():.4g} rad"


def doubtful_steps(step: float) -> str:
    """Return the unit that times seem to have, if a step would be longer than that of any controller.

    step: Time from one row to the next, as given in the table.
    """
    if not step > tuned.SLOWEST:
        return ""
    unit = next((unit for unit, (_, size) in CLOCKS.items() if size * step < tuned.SLOWEST), "nanoseconds")
    return f"times look like {unit}: the steps would be {step:.3g} s; name the column 't [{CLOCKS[unit][0]}]' if so"


def of_units(data: Measured, robot: Robot) -> list[str]:
    """Return a warning if positions, velocities and times are inconsistent, or cannot be in rad and s."""
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
        found = next(
            (words for value, words in UNITS if value / tuned.NEAR_RATIO < ratio < value * tuned.NEAR_RATIO), ""
        )
        if not found and -tuned.NEAR_RATIO < ratio < -1.0 / tuned.NEAR_RATIO:
            found = "velocities have the other sign than positions"
    found = found or doubtful_steps(float(np.median(steps)))
    if not found and q.shape[1] == robot.nq:
        found = doubtful_angles(robot, np.abs(q).max(axis=0))
    if not found:
        return []
    return [
        f"{data.name}: {found}. All values are taken in rad, m and s, unless columns say otherwise, as 'q_elbow [deg]' "
        "and 't [ms]' do"
    ]


# ------------------------------------------------------------------ encoders that stick


def of_stuck_encoders(data: Measured, robot: Robot) -> list[str]:
    """Return a warning if positions do not change at all in the middle of a motion.

    Afterwards they jump; or, if the joint has returned in the meantime, its speed stops or starts more abruptly than it
    changes anywhere else. A joint that really comes to rest slows down first, and one with a coarse encoder shows such
    changes everywhere.
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
        long = t[ends] - t[starts] > tuned.STUCK_FOR
        starts, ends = starts[long], ends[long]
        jumps = np.append(steps, 0.0)[ends]
        stuck = (jumps > tuned.FREED_BY * usual) | _breaks_off(t, q[:, k], starts, ends)
        if stuck.any():
            first = int(np.flatnonzero(stuck)[0])
            begin, end, jump = t[starts[first]], t[ends[first]], jumps[first]
            then = (
                f"jumps by {jump:.3g}" if jump > tuned.FREED_BY * usual else "goes on, as if it had been moving before"
            )
            words.append(
                f"{data.name}: the position of {robot.q_names[k]} does not change from {begin:.4g} s to {end:.4g} s "
                f"and then {then}: did an encoder get stuck? Leave these rows out"
            )
    return words


def _breaks_off(t: Array, q: Array, starts: Array, ends: Array) -> Array:
    """Return at which runs of equal positions the speed stops, or starts, faster than it changes elsewhere."""
    span = max(3, int(np.ceil(tuned.BRAKES_WITHIN / max(float(np.median(np.diff(t))), 1e-300))))
    if len(q) < 3 * span:
        return np.zeros(len(starts), dtype=bool)
    bends = np.abs(q[2 * span :] - 2.0 * q[span:-span] + q[: -2 * span])  # at samples span, span + 1, ...
    elsewhere = np.isfinite(bends)
    for first, last in zip(starts, ends, strict=True):
        elsewhere[max(0, first - 2 * span) : max(0, last + 1)] = False
    most = tuned.BREAKS_BY * float(np.max(bends[elsewhere], initial=0.0))
    inner = (starts >= span) & (ends + span < len(q))  # records may begin and end in the middle of a motion
    before = np.abs(q[starts] - q[np.maximum(starts - span, 0)])
    behind = np.abs(q[np.minimum(ends + span, len(q) - 1)] - q[ends])
    return np.asarray(inner & (most > 0.0) & (np.maximum(before, behind) > most))

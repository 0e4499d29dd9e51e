"""From data to motions that a robot can make: data are filtered, and loops are closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import IdentificationError, PathError
from ..spatial.arrays import Array
from .filtering import Band, FilteredMotion, SingleCoordinates, choose_band, filtered, lag_of_velocities, without_lag
from .measured import Data, as_measured
from .sampling import Piece, sampled

if TYPE_CHECKING:
    from ..robot.robot import Robot


def motions_of(
    robot: Robot, data: Data, band: Band | None = None, gains: Array | None = None, cutoff: float | None = None,
    both_sides: float | None = None, q_guess: Array | None = None,
) -> tuple[list[FilteredMotion], Band, list[str]]:  # fmt: skip
    """Return motions, the frequencies of their filters, and notes on what was done to the data.

    band: Frequencies of the filters; by default, they are chosen from the data.
    gains: (nv,). Factors by which measured forces are multiplied.
    cutoff, both_sides: Frequencies of the two filters, if they are given instead of chosen.
    q_guess: (nq,). For a mechanism, a closed configuration on the branch of the motion.
    """
    pieces: list[Piece] = []
    notes: list[str] = []
    for one in as_measured(data, robot):
        found = sampled(one)
        pieces += found.pieces
        notes += [f"{one.name}: {note}" for note in (one.remark, *found.notes) if note]
    steps = {round(piece.step, 9) for piece in pieces}
    if band is None and max(steps) > 1.05 * min(steps):
        raise IdentificationError(
            f"the data have different sampling periods ({min(steps):g} to {max(steps):g} s): resample them to one"
        )
    if gains is not None:
        pieces = [replace(piece, tau=piece.tau * gains) for piece in pieces]
    if robot.loops is not None:
        return _closed_motions(robot, pieces, band, cutoff, both_sides, q_guess, notes)
    if band is None:
        band = choose_band(pieces, robot, cutoff, both_sides)
    pieces = _without_lag(pieces, band, robot, notes)
    return [filtered(piece, _at(band, piece), robot) for piece in pieces], band, notes


def _without_lag(pieces: Sequence[Piece], band: Band, robot: Robot, notes: list[str]) -> list[Piece]:
    """Return samples with velocities at the times of the positions, and note the lag that was removed."""
    lag = lag_of_velocities(pieces, band, robot)
    if lag:
        late = "later" if lag > 0.0 else "earlier"
        notes.append(f"velocities come {1e3 * abs(lag):.2g} ms {late} than positions: they are realigned")
    return [without_lag(piece, lag) for piece in pieces]


def _at(band: Band, piece: Piece) -> Band:
    """Return a band's frequencies at the sampling rate of a piece."""
    return replace(band, sampling=1.0 / piece.step)


def _closed_motions(
    robot: Robot, pieces: Sequence[Piece], band: Band | None, cutoff: float | None, both_sides: float | None,
    q_guess: Array | None, notes: list[str],
) -> tuple[list[FilteredMotion], Band, list[str]]:  # fmt: skip
    """Filter the independent joints as if they were a robot by themselves; the others follow."""
    independent = list(robot.coordinates.independent)
    reduced = [replace(p, **_picked(robot, p, independent)) for p in pieces]
    single = SingleCoordinates(len(independent))
    if band is None:
        band = choose_band(reduced, single, cutoff, both_sides)  # type: ignore[arg-type]
    reduced = _without_lag(reduced, band, single, notes)  # type: ignore[arg-type]
    found = []
    for whole, piece in zip(pieces, reduced, strict=True):
        m = filtered(piece, _at(band, piece), single)  # type: ignore[arg-type]
        q = follow(robot, m.q, whole.q if whole.q.shape[1] == robot.nq else None, q_guess)
        v = robot.velocities(q, m.v)
        a = robot.accelerations(q, v, m.a)
        noise = np.sqrt(np.mean(robot.basis(q) ** 2 @ m.speed_noise**2, axis=0))  # others follow
        found.append(FilteredMotion(m.t, q, v, a, whole.tau, whole.wrenches, noise))
    return found, band, notes


def _picked(robot: Robot, piece: Piece, independent: Sequence[int]) -> dict[str, Any]:
    """Return the columns of the independent joints."""
    names = robot.v_names
    places = [robot.q_names.index(names[k]) for k in independent]

    def some(x: Array | None, columns: Sequence[int], width: int) -> Array | None:
        return x if x is None or x.shape[1] != width else x[:, columns]

    return {
        "q": some(piece.q, places, robot.nq),
        "v": some(piece.v, independent, robot.nv),
        "a": some(piece.a, independent, robot.nv),
    }


def follow(robot: Robot, q_independent: Array, guess: Array | None, q_guess: Array | None = None) -> Array:
    """Return closed configurations for positions of the independent joints.

    Parameters
    ----------
    robot : Robot
    q_independent : ndarray (n, freedoms)
    guess : ndarray (n, nq), optional
        Approximate positions of all joints, if these were measured.
    q_guess : ndarray (nq,), optional
        A closed configuration near the first one.
    """
    names = [robot.v_names[k] for k in robot.coordinates.independent]
    path = dict(zip(names, q_independent.T, strict=True))
    if guess is not None:
        return np.asarray(robot.close(guess, fixed=path, limits=False))  # stops give way a little
    try:
        return np.asarray(robot.follow(path, q_guess, limits=False, lead_in=True))
    except PathError as problem:
        if problem.point > 0:
            raise
        raise IdentificationError(
            f"the motion cannot be reached from the assembled mechanism ({problem.why}): give q_guess=, a closed "
            "configuration on its branch, or measure all joints"
        ) from None

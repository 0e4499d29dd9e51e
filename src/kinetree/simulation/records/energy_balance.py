"""The energy balance of a simulation: where energy is, and where it went (Shah appendix C)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from ...spatial.arrays import Array

LATER = ("forces", "stored", "in_ground")
"""Names that older records lack, since these energies were not kept."""

ROUNDING = 8 * np.finfo(float).eps
"""Relative rounding of the sum of five energies."""


LARGEST_GAIN = 0.02
"""Fraction of the energy exchanged with the ground that it may appear to have created."""


class Gain(NamedTuple):
    """Energy that appeared from nowhere."""

    joules: float
    sample: int
    """Index of the first sample that shows it."""
    lane: tuple[int, ...]
    """Index of the worst simulation of a batch."""


@dataclass(frozen=True, eq=False)
class Energies:
    """Energies and works in joules, one per sample.

    Attributes
    ----------
    kinetic, potential : ndarray
        Energies of the robot; potential energy is that of gravity and of springs in joints.
    actuators, friction, ground, forces : ndarray
        Work done on the robot since the beginning: by the actuators, by joint friction
        (negative), by ground and stops, by forces.  NaN if something acted but its work was not integrated
        (``works=False``, the default for batches); the balance is then unknown.
    stored : ndarray
        Energy currently stored in springs among the forces; it is part of their work, so it does not enter the balance.
    in_ground : ndarray
        The same in ground and stops.
    """

    kinetic: Array
    potential: Array
    actuators: Array
    friction: Array
    ground: Array
    forces: Array = None  # type: ignore[assignment]
    stored: Array = None  # type: ignore[assignment]
    in_ground: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in LATER:
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(np.shape(self.ground)))

    @property
    def total(self) -> Array:
        """The sum that must stay constant: kinetic + potential - actuators - friction - ground - forces.

        The sources write a sum (Shah appendix C.3), since they integrate the energy that the robot gives away.
        """
        with np.errstate(all="ignore"):  # infinity minus infinity is unknown: NaN
            return self.kinetic + self.potential - self.actuators - self.friction - self.ground - self.forces

    @property
    def ground_gain(self) -> Array:
        """The energy that ground and stops have given the robot beyond what was stored, since any earlier sample.

        Ground and stops return only stored energy, so this should not be positive.  If it is, energy came from nowhere:
        from a surface that curves within a ball, or from a step too long for the ground.
        """
        return self._gain(self.ground)

    def _gain(self, work: Array) -> Array:
        """Return W(t) minus the least value of W + stored up to then."""
        with np.errstate(all="ignore"):
            return work - np.minimum.accumulate(work + self.in_ground, axis=0)

    def gained_from_ground(self) -> Gain | None:
        """Return the energy that ground created, if it is more than rounding and the integrator explain.

        Works are integrated along with the motion, and are no more accurate: only a gain that also shows in the energy
        of the robot counts.
        """
        if not len(self.kinetic):
            return None
        with np.errstate(all="ignore"):
            gain = np.nan_to_num(np.minimum(self.ground_gain, self._gain(self.ground + self.error)))
            parts = np.abs(self.ground - self.ground[:1]), self.in_ground, self.kinetic
            size = sum(np.max(np.nan_to_num(x), axis=0, initial=0.0) for x in parts)
        most = np.max(gain, axis=0)
        share = most / np.where(size > 0.0, size, 1.0)
        if not np.any(share > LARGEST_GAIN):
            return None
        lane = tuple(int(i) for i in np.unravel_index(int(np.argmax(share)), np.shape(share)))
        seen = gain[(slice(None), *lane)] > LARGEST_GAIN * float(np.asarray(size)[lane])
        return Gain(float(np.asarray(most)[lane]), int(np.argmax(seen)), lane)

    @property
    def mechanical(self) -> Array:
        """Kinetic and potential energy."""
        return self.kinetic + self.potential

    @property
    def error(self) -> Array:
        """The error of the balance: the total minus its initial value."""
        total = self.total
        with np.errstate(all="ignore"):
            return total - total[:1]

    @property
    def relative_error(self) -> float:
        """The largest error of the balance, relative to the largest energy that was exchanged or present.

        NaN if the works are not known.  An error no larger than the rounding of the energies themselves, which is all
        that a robot at rest has, counts as zero.
        """
        error, parts = _largest(self.error), list(self.as_dict().values())
        if error <= ROUNDING * max(_largest(x) for x in parts):
            return 0.0
        with np.errstate(all="ignore"):
            changes = max(_largest(x - x[:1]) for x in parts)
        return error / max(changes, _largest(self.kinetic)) if np.isfinite(error) else error

    def __str__(self) -> str:
        """Return the balance of a single run: initial energy, supplied energy, and the error of the sum."""
        if np.ndim(self.kinetic) != 1 or not len(self.kinetic):
            return repr(self)
        works = {"actuators": "work of motors", "friction": "work of friction", "ground": "work of ground and stops"}
        named = {"kinetic": "kinetic", "potential": "potential", **works, "forces": "work of forces"}
        rows: list[tuple[object, ...]] = []
        for key, words in named.items():
            x = getattr(self, key)
            if key not in (*works, "forces") or np.any(x != 0.0):
                rows.append((words, float(x[0]), float(x[-1]), float(x[-1] - x[0])))
        rows.append(("balance (constant if exact)", float(self.total[0]), float(self.total[-1]), float(self.error[-1])))
        title = f"energy [J], balance off by {self.relative_error:.2g} of what was exchanged"
        from ...io.tables.text import TextTable

        return str(TextTable(("what", "first", "last", "change"), rows, title))

    def __getitem__(self, where: object) -> Energies:
        return Energies(*(getattr(self, f.name)[where] for f in fields(self)))

    def as_dict(self) -> dict[str, Array]:
        """Return the energies by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


NAMES = tuple(f.name for f in fields(Energies))

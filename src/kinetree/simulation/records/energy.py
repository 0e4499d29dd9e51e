"""Where the energy of a simulation is and went (000 appendix C)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ...io.tables.text import TextTable

Array = np.ndarray

ROUNDING = 8 * np.finfo(float).eps
"""Relative rounding of the sum of five energies."""


@dataclass(frozen=True, eq=False)
class Energies:
    """Energies and works in joules, one per sample.

    Attributes
    ----------
    kinetic, potential : ndarray
        Of the robot; potential energy is that of gravity and of springs in joints.
    actuators, friction, ground, forces : ndarray
        Work done on the robot since the beginning: by the actuators, by joint friction
        (negative), by ground and stops, by forces.  NaN where something acted but its work
        was not integrated (``works=False``, which is the default of batches): then the balance is not known.
    stored : ndarray
        Energy that is in the springs of forces now; part of the work that they have done, so not of the balance.
    """

    kinetic: Array
    potential: Array
    actuators: Array
    friction: Array
    ground: Array
    forces: Array = None  # type: ignore[assignment]
    stored: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("forces", "stored"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(np.shape(self.ground)))

    @property
    def total(self) -> Array:
        """What must stay constant: kinetic + potential - actuators - friction - ground - forces.

        The sources write a sum (000 appendix C.3), since they integrate what the robot gives away.
        """
        with np.errstate(all="ignore"):  # infinite less infinite is not known, and said so by NaN
            return self.kinetic + self.potential - self.actuators - self.friction - self.ground - self.forces

    @property
    def mechanical(self) -> Array:
        """Kinetic and potential energy."""
        return self.kinetic + self.potential

    @property
    def error(self) -> Array:
        """How far the balance is off: the total minus what it was at the beginning."""
        total = self.total
        with np.errstate(all="ignore"):
            return total - total[:1]

    @property
    def relative_error(self) -> float:
        """The largest error of the balance, as a part of the largest energy that was exchanged or present.

        NaN if the works are not known.  An error no larger than the rounding of the energies themselves, all
        that a robot at rest has, counts as none.
        """
        error, parts = _largest(self.error), list(self.as_dict().values())
        if error <= ROUNDING * max(_largest(x) for x in parts):
            return 0.0
        with np.errstate(all="ignore"):
            changes = max(_largest(x - x[:1]) for x in parts)
        return error / max(changes, _largest(self.kinetic)) if np.isfinite(error) else error

    def __str__(self) -> str:
        """Return the balance of a single run: what was there, what came in, and how far the sum is off."""
        if np.ndim(self.kinetic) != 1 or not len(self.kinetic):
            return repr(self)
        works = {"actuators": "work of motors", "friction": "work of friction", "ground": "work of ground and stops"}
        named = {"kinetic": "kinetic", "potential": "potential", **works, "forces": "work of forces"}
        rows: list[tuple[object, ...]] = []
        for key, words in named.items():
            x = getattr(self, key)
            if key not in (*works, "forces") or np.any(x != 0.0):
                rows.append((words, float(x[0]), float(x[-1]), float(x[-1] - x[0])))
        rows.append(("balance, to stay as it is", float(self.total[0]), float(self.total[-1]), float(self.error[-1])))
        title = f"energy [J], balance off by {self.relative_error:.2g} of what was exchanged"
        return str(TextTable(("what", "first", "last", "change"), rows, title))

    def __getitem__(self, where: object) -> Energies:
        return Energies(*(getattr(self, f.name)[where] for f in fields(self)))

    def as_dict(self) -> dict[str, Array]:
        """By name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


NAMES = tuple(f.name for f in fields(Energies))

LATER = ("forces", "stored")
"""Names that older records do not have: there were no such forces."""

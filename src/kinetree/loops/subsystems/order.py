"""The record of a subsystem-level recursion: what was solved, in which order, for which unknowns."""

from __future__ import annotations

from dataclasses import dataclass, field

from .branches import Subsystem


@dataclass(frozen=True)
class SolutionStep:
    """One system of equations of the recursion.

    Attributes
    ----------
    subsystems : tuple of str
        Solved together; empty for the joints that are on no loop.
    joints : tuple of str
    cuts : tuple of str
        Loop joints whose multipliers are found.
    actuators : tuple of str
        Degrees of freedom whose torques are found.
    equations, unknowns : int
    determinate : bool
        Whether the unknowns follow from the equations alone; otherwise they are of minimum norm.
    """

    subsystems: tuple[str, ...]
    joints: tuple[str, ...]
    cuts: tuple[str, ...]
    actuators: tuple[str, ...]
    equations: int
    unknowns: int
    determinate: bool
    dofs: tuple[int, ...] = field(repr=False, default=())
    actuated: tuple[int, ...] = field(repr=False, default=())
    rank: int = field(repr=False, default=0)

    @property
    def cost(self) -> float:
        """Multiplications of a Gaussian elimination, n^3/3 (Saha section 4.4)."""
        return self.equations**3 / 3 if self.subsystems else 0.0

    def __str__(self) -> str:
        what = [f"multipliers of {', '.join(self.cuts)}"] if self.cuts else []
        if self.actuators:
            what.append(f"{plural('torque', len(self.actuators), False)} of {', '.join(self.actuators)}")
        label = " + ".join(self.subsystems) if self.subsystems else "outside the loops"
        count = f"{plural('equation', self.equations)}, {plural('unknown', self.unknowns)}"
        note = "" if self.determinate else "; not unique, the smallest is taken"
        return f"{label} ({count}: {' and '.join(what) or 'none'}{note})"


@dataclass(frozen=True)
class SolutionOrder:
    """Which subsystem was solved when, for which unknowns; ``print`` it.

    Attributes
    ----------
    subsystems : tuple of Subsystem
    steps : tuple of SolutionStep
    """

    subsystems: tuple[Subsystem, ...]
    steps: tuple[SolutionStep, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many equations each system has, in the order in which they were solved."""
        return tuple(step.equations for step in self.steps)

    @property
    def cost(self) -> float:
        """Sum of n^3/3 over the systems that were solved (Saha section 4.4)."""
        return sum(step.cost for step in self.steps)

    @property
    def cost_at_once(self) -> float:
        """n^3/3 of the one system of Shah eq. 8.4."""
        return sum(self.sizes) ** 3 / 3

    def __str__(self) -> str:
        return ", then ".join(map(str, self.steps)) or "nothing to solve"


def plural(word: str, count: int, number: bool = True) -> str:
    """Return a count and a word, or the word alone."""
    text = word if count == 1 else word + "s"
    return f"{count} {text}" if number else text

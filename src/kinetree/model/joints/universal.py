"""Two turns about intersecting axes."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ModelError
from .compound import Compound, Step
from .kind import AXES

TWO_AXIS_SEQUENCES = ("XY", "XZ", "YX", "YZ", "ZX", "ZY")


@dataclass(frozen=True)
class Universal(Compound):
    """A Cardan joint: two angles about two different axes, ``"XY"`` meaning x first, then the new y."""

    sequence: str = "XY"
    name = "universal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sequence", str(self.sequence).upper())
        if self.sequence not in TWO_AXIS_SEQUENCES:
            raise ModelError(
                f"a universal joint's sequence is one of {', '.join(TWO_AXIS_SEQUENCES)}, not {self.sequence!r}"
            )

    def steps(self) -> tuple[Step, ...]:
        """The elementary motions."""
        return tuple(Step(True, AXES[a.lower()], k) for k, a in enumerate(self.sequence))

"""A shape on a body or on the ground, with all that contact needs to know about its surface."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from ...errors import ModelError
from ...spatial.numbers import shown
from ..pose import Pose, floats
from .solid import Solid

MOST_GROUPS = 32
"""Number of groups: as many as bits of a mask."""

NUMBERS = ("margin", "friction", "torsional_friction", "rolling_friction", "restitution")
"""Fields that are numbers, none of them negative."""


@dataclass(frozen=True)
class ContactShape:
    """A shape that may touch others.

    Attributes
    ----------
    frame : str
        Body or frame that it is fixed to; the robot's base for shapes in the world.
    shape : Solid
    pose : Pose
        Pose of the shape in the frame.
    name : str
        Unique among the shapes of a robot; by default that of the frame, with a number if the frame has several shapes.
    group, mask : int
        Two shapes may touch if the group of one has a bit in common with the mask of the other.
    margin : float
        Distance in meters from which a contact is known before there is any force.
    friction, torsional_friction, rolling_friction : float
        Coefficients of sliding (without unit), and of spinning about the normal and of rolling (in meters).
    restitution : float
        From 0 (no rebound) to 1.
    """

    frame: str
    shape: Solid
    pose: Pose = field(default_factory=Pose)
    name: str = ""
    group: int = 1
    mask: int = 1
    margin: float = 0.0
    friction: float = 1.0
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0
    restitution: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.frame, str):
            raise ModelError(f"name and frame of a shape must be text, not {shown(self.name)} and {shown(self.frame)}")
        where = f"the shape {self.name or f'on {self.frame!r}'}: "
        if not isinstance(self.shape, Solid):
            raise ModelError(f"{where}it must be one of kinetree.shapes, such as Box, not {shown(self.shape)}")
        for key in NUMBERS:
            value = floats(getattr(self, key), f"{where}its {key}")
            if value.shape != () or not math.isfinite(value) or value < 0.0:
                raise ModelError(f"{where}its {key} must be a number that is not negative, not {getattr(self, key)!r}")
            object.__setattr__(self, key, float(value))
        if self.restitution > 1.0:
            raise ModelError(f"{where}its restitution must not exceed 1: {self.restitution!r}")
        for key in ("group", "mask"):
            bits = getattr(self, key)
            if isinstance(bits, bool) or not isinstance(bits, int) or not 0 <= bits < 1 << MOST_GROUPS:
                raise ModelError(f"{where}its {key} must be bits of a number below 2**{MOST_GROUPS}, not {bits!r}")

    @property
    def kind(self) -> str:
        """The name of the shape's kind in files."""
        return self.shape.name

    def surface(self) -> dict[str, Any]:
        """Return what differs from the usual of group, mask, margin, friction and restitution, by name."""
        own = [f for f in dataclasses.fields(self) if f.name in ("group", "mask", *NUMBERS)]
        return {f.name: getattr(self, f.name) for f in own if getattr(self, f.name) != f.default}

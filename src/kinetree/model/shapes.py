"""Shapes that a robot's file gives its bodies to touch things with: plain data, which no dynamics looks at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .pose import Pose

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3, "plane": 0}
"""How many numbers say how large a shape of a kind is; of others (meshes, height fields) none do."""

PLURALS = {"sphere": "spheres", "box": "boxes", "mesh": "meshes"}


@dataclass(frozen=True)
class ContactShape:
    """A shape on a body, or in the world.

    Attributes
    ----------
    frame : str
        Body or frame it is fixed to; the robot's base for what stands in the world.
    kind : str
        ``"sphere"``, ``"capsule"``, ``"cylinder"``, ``"box"``, ``"ellipsoid"``, ``"plane"``, ``"mesh"``, or what else
        the file says.
    size : tuple of floats
        Radius; radius and length of what is straight between its ends, along z; edges of a box; radii of an ellipsoid.
    pose : Pose
        In the frame.  A plane's z axis points out of the ground.
    """

    frame: str
    kind: str
    size: tuple[float, ...] = ()
    pose: Pose = field(default_factory=Pose)


def counted_kinds(shapes: Iterable[ContactShape]) -> str:
    """Return in words how many of each kind there are: ``4 spheres, 1 mesh``."""
    counts = Counter(shape.kind for shape in shapes)
    return ", ".join(f"{n} {kind if n == 1 else PLURALS.get(kind, f'{kind}s')}" for kind, n in counts.items())

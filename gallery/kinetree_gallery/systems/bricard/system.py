"""Bricard's mechanism: six hinges that should be immobile by counting, but move."""

from __future__ import annotations

from kinetree.spatial.scalar import Scalar, arctan2, sin, sqrt
from kinetree.studies.system import About, GallerySystem

from ..motion_laws import there_and_back

DURATION = 2.0


def close(first: Scalar) -> list[Scalar]:
    """Return all five angles from the first, above -30 degrees; at zero the bars lie on edges of a cube.

    Every other angle is the same but for its sign: with c the cosine of the angle between two
    bars and d that of the next two, c + d + c d = 0 (the trihedral linkage with equal bars).
    Both angles count from a right angle here, c = sin(first) and d = -sin(second).
    """
    s = sin(first)
    other = s / (1.0 + s)
    second = arctan2(other, sqrt(1.0 - other * other))
    return [first, second, first, -second, -first]


SYSTEM = GallerySystem(
    About(
        "bricard",
        "Bricard's mechanism: five bars and six hinges, one freedom where Gruebler counts none",
        "IFToMM's library of multibody benchmarks, problem A04",
        (
            "The benchmark's bars lie on six edges of a unit cube, from (0, 0, 0) over (1, 0, 0), (1, -1, 0), (1, "
            "-1, 1) and (0, -1, 1) to (0, 0, 1), gravity along -y. The model is turned so that gravity is along -z.",
            "Bars are slender (their section, 0.1 m square in some statements of the problem, is left out).",
            "The benchmark lets it fall freely from rest at zero. The prescribed motion of the first hinge is ours.",
        ),
    ),
    ("bar_1_joint",),
    (0.0, DURATION),
    "the first hinge by 0.6 rad and back within 2 s",
    lambda t: close(there_and_back(t, DURATION, 0.6)),
)

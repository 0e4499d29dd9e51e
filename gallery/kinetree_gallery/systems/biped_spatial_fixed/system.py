"""The spatial biped of Shah, chapter 6: one foot is the fixed base, for a single step."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.spatial.scalar import Scalar
from kinetree.spatial.taylor import Jet, as_jet
from kinetree.studies.system import About, GallerySystem

from ..biped_spatial.system import machine

REVERSED_LEG = (5, 4, 3, 2, 1, 0)
"""Coordinates of the supporting leg from the foot up: ankle x, y; knee; hip y, x, z."""

SAME_SIGN = 3
"""The knee's coordinate keeps its sign, since its axis is reversed as well; the others change sign."""


def upwards(leg: Sequence[Scalar]) -> list[Scalar]:
    """Return a leg's coordinates (hip z, x, y, knee, ankle y, x) in the order from the foot to the trunk.

    A joint seen from its other body undoes its elementary turns in the opposite order.
    Forces on these coordinates change likewise.
    """
    return [leg[k] if k == SAME_SIGN else -leg[k] for k in REVERSED_LEG]


_WALK = machine().walk


def single_support(t: Scalar) -> list[Scalar]:
    """Return both legs during the first step, in which the left one stands."""
    angles = _WALK.position(as_jet(t))
    q = [*upwards(angles[:6]), *angles[6:]]
    return q if isinstance(t, Jet) else [as_jet(x).value for x in q]


SYSTEM = GallerySystem(
    About(
        "biped-spatial-fixed",
        "spatial biped on one foot: 12 degrees of freedom",
        "Shah section 6.2.3, Table 6.7",
        (
            "The labels of Table 6.7 are garbled and its shank has 0.6 m; section 7.2.2 says that it has the same "
            "biped, and thigh and shank have 0.5 m there, as in the authors' program.",
            "Width of a foot and inertia of the trunk as in biped-spatial.",
            "The left foot stands. The desired motion is the first step of biped-spatial.",
        ),
    ),
    ("left_ankle", "left_knee", "left_hip", "right_hip", "right_knee", "right_ankle"),
    (0.0, 0.5 * (1.0 - 1e-12)),  # at T the legs would swap their roles
    "one step: the trunk as an inverted pendulum over the left foot, the right foot swings 0.6 m within 0.5 s",
    single_support,
)

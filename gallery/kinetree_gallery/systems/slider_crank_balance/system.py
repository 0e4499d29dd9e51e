"""A slider-crank with a counterweight."""

from __future__ import annotations

import math

from kinetree.spatial.scalar import Scalar, sqrt
from kinetree.studies.system import About, GallerySystem

from ..drawn_linkages import DrawnLinkage
from ..planar_geometry import Point, polar

CRANK, ROD, LEVER = 0.040, 0.140, 0.030

CRANK_MASS, CRANK_CENTER, ROD_MASS, PISTON = 0.5, 0.015, 0.4, 0.5

ROTATING = CRANK_MASS * CRANK_CENTER / CRANK + ROD_MASS * 2.0 / 3.0
"""Mass that rotates with the crank's pin: that of the crank, reduced to the pin, and two thirds of the rod's, whose
center is a third of its length away."""

RECIPROCATING = PISTON + ROD_MASS / 3.0

TEXTBOOK = (ROTATING + 0.5 * RECIPROCATING) * CRANK / LEVER
"""The counterweight."""

SPEED = 100.0 * math.pi


def places(turned: Scalar) -> dict[str, Point]:
    """Return all points."""
    pin = polar(CRANK, turned)
    piston = Point(pin.x + sqrt(ROD * ROD - pin.y * pin.y), 0.0 * pin.y)
    return {"O": Point(0.0, 0.0), "A": pin, "B": piston, "W": polar(-LEVER, turned)}


ENGINE = DrawnLinkage("slider-crank-balance", "crank", places)

SYSTEM = GallerySystem(
    About(
        "slider-crank-balance",
        "slider-crank with a counterweight",
        "textbooks on the balance of engines; the data is ours",
        (
            "Crank 40 mm, 0.5 kg with its mass center at 15 mm; rod 140 mm, 0.4 kg with its mass center at a third of "
            "its length; piston 0.5 kg; counterweight at 30 mm opposite to the crank's pin. No gas; gravity along -y.",
            "The counterweight balances all that rotates and half of what goes forth and back, 1.02778 kg.",
        ),
    ),
    ("O",),
    (0.0, 2.0 * math.pi / SPEED),
    "one turn of the crank at 3000 rpm, from the piston's outer end",
    lambda t: ENGINE(SPEED * t),
)

"""A warning for ground and stops that return more energy than was stored in them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...algorithms.acting_element import ActingElement
from ...contact.ground import Ground
from ...contact.surfaces import Ball, Plane
from ...errors import KinetreeWarning, Message, Setting, callers_level
from ..integrators.fixed_step_methods import ADAPTIVE
from ..records.record import Record


def is_uneven(elements: Sequence[Any]) -> bool:
    """Return whether the distance to some ground is found iteratively, so that its work should be checked."""
    return any(isinstance(e, Ground) and not isinstance(e.surface, (Plane, Ball)) for e in elements)


def warn_of_gain(record: Record, ground: Sequence[ActingElement]) -> None:
    """Warn if ground and stops have done more work than was stored in them."""
    # other ground may move by itself, and drive the robot
    words = record.ground_gained if ground and all(e.GIVES_BACK for e in ground) else None
    if words is None:
        return
    shorter = "" if record.info.get("integrator") in ADAPTIVE else Message(", or take a shorter ", Setting("step"))
    warnings.warn(
        Message(
            f"{words}. Something got inside the ground before it was pushed back: let the ground bend less within a "
            "ball, give steps a ramp",
            shorter,
        ),
        KinetreeWarning,
        stacklevel=callers_level(),
    )

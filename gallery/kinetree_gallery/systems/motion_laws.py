"""Laws of motion that the sources use, as formulas for the position over any scalar."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinetree.spatial.scalar import Scalar, cos, sin

DEGREE = math.pi / 180.0


def cycloid(t: Scalar, duration: float, start: Sequence[float], end: Sequence[float]) -> list[Scalar]:
    """Return the cycloidal motion from rest to rest, without jerk at the ends (Saha eq. 22a, Shah section 6.2.1)."""
    turn = 2.0 * math.pi / duration
    share = t / duration - sin(turn * t) / (2.0 * math.pi)
    return [a + (b - a) * share for a, b in zip(start, end, strict=True)]


def there_and_back(t: Scalar, duration: float, reach: float) -> Scalar:
    """Return a motion from zero to ``reach`` and back, at rest at both ends."""
    return 0.5 * reach * (1.0 - cos(2.0 * math.pi / duration * t))

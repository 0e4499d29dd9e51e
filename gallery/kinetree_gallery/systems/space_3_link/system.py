"""A satellite with an arm of three links."""

from __future__ import annotations

from ..space_robots import space_system

END = (0.8, -1.2, 0.6)

SYSTEM = space_system(
    "space-3-link", "satellite with an arm of three links", tuple(f"joint_{k}" for k in (1, 2, 3)), END
)

"""The definition of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from kinetree.simulation.worlds.world import World


@dataclass(frozen=True)
class Task:
    """A learning task.

    Attributes
    ----------
    title : str
        Short description of the task.
    world : callable
        Makes the world, with the options of :class:`kinetree.World` that users may choose: ``batch``, ``precision``,
        ``threads``, ``first`` and ``random``.
    scale, center : float or array_like
        Motors get ``center + scale * action`` for actions from -1 to 1.
    time_limit : float
        Duration of an episode in seconds.
    """

    title: str
    world: Callable[..., World]
    scale: ArrayLike
    center: ArrayLike
    time_limit: float


def with_random(usual: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a world in which the user's ``random`` entries are merged with the task's, name by name."""
    return options | {"random": usual | dict(options.get("random") or {})}

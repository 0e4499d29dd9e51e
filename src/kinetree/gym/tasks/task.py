"""The definition of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ...simulation.worlds.world import World


@dataclass(frozen=True)
class Task:
    """A learning task.

    Attributes
    ----------
    title : str
        What is to be done, in words.
    world : callable
        Makes the world, with options of :class:`kinetree.World` that everybody may choose: ``batch``, ``precision``,
        ``threads``, ``first`` and ``random``.
    scale, center : float or array_like
        What actions from -1 to 1 mean to the motors.
    time_limit : float
        Seconds of an episode.
    """

    title: str
    world: Callable[..., World]
    scale: ArrayLike
    center: ArrayLike
    time_limit: float


def with_random(usual: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a world in which the user's ``random`` entries are merged with the task's, name by name."""
    return options | {"random": usual | dict(options.get("random") or {})}

"""Environments by name."""

from __future__ import annotations

from typing import Any

from kinetree.errors import UnknownNameError

from ..tasks import arm, biped, cart_pole, closed_loop_leg, quadruped
from ..tasks.task import Task
from .environment import Environment
from .vector_environment import VectorEnvironment

TASKS: dict[str, Task] = {
    "cart-pole": cart_pole.TASK,
    "arm": arm.TASK,
    "quadruped": quadruped.TASK,
    "biped": biped.TASK,
    "closed-loop-leg": closed_loop_leg.TASK,
}
"""Tasks by name."""

OF_WORLDS = ("precision", "threads", "first", "random", "pushes")
"""Options that go to the world; the others go to the environment."""

OF_ENVIRONMENTS = ("scale", "center", "time_limit", "max_episode_steps", "autoreset_mode", "dtype", "render_mode")


def names() -> list[str]:
    """Return the names of all tasks.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gym.names()[0]
    'cart-pole'
    """
    return list(TASKS)


def make_vec(name: str, num_envs: int = 1, **options: Any) -> VectorEnvironment:
    """Make many environments of a task that are stepped together.

    Parameters
    ----------
    name : str
        ``"cart-pole"``, ``"arm"``, ``"quadruped"``, ``"biped"`` or ``"closed-loop-leg"``.
    num_envs : int
    **options
        Options of the world: ``precision``, ``threads``, ``first``, ``pushes`` and ``random``, which is added to the
        task's own random quantities. Options of the environment: ``time_limit`` in seconds or ``max_episode_steps``,
        ``scale``, ``center``, ``autoreset_mode``, ``dtype``, ``render_mode``.

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.gym.make_vec("cart-pole", num_envs=4096)
    VectorEnvironment('cart-pole', num_envs=4096)
    """
    task, of_world, others = _sorted_options(name, options)
    return VectorEnvironment(task.world(batch=num_envs, **of_world), **others)


def make(name: str, **options: Any) -> Environment:
    """Make one environment of a task; options are those of :func:`make_vec`, without ``autoreset_mode``."""
    task, of_world, others = _sorted_options(name, options)
    return Environment(task.world(batch=1, **of_world), **others)


def _sorted_options(name: str, options: dict[str, Any]) -> tuple[Task, dict[str, Any], dict[str, Any]]:
    """Return the task, options of its world, and those of the environment."""
    if name not in TASKS:
        bare = name.rpartition("/")[2].rpartition("-v")[0] if isinstance(name, str) else ""  # names that Gymnasium uses
        same = [key for key in TASKS if bare and key.replace("-", "") == bare.lower()]
        raise UnknownNameError("task", name, TASKS, meant=same[0] if same else None)
    known = [*OF_WORLDS, *OF_ENVIRONMENTS]
    for key in options:
        if key not in known:
            raise UnknownNameError("option of an environment", key, known)
    task = TASKS[name]
    of_world = {key: value for key, value in options.items() if key in OF_WORLDS}
    usual: dict[str, Any] = {"scale": task.scale, "center": task.center}
    if "max_episode_steps" not in options:
        usual["time_limit"] = task.time_limit
    return task, of_world, usual | {key: value for key, value in options.items() if key not in OF_WORLDS}

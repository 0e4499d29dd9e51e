"""One world as a Gymnasium environment."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from kinetree.errors import OptionError, ShapeError, refuse_unknown_arguments
from kinetree.simulation.worlds.world import World
from kinetree.spatial.arrays import Array

from .vector_environment import VectorEnvironment


class Environment(gymnasium.Env):
    """A single :class:`kinetree.World` with the interface of a Gymnasium environment.

    Parameters
    ----------
    world : World
        A world with ``batch=1``.
    **options
        Options of :class:`VectorEnvironment`, except ``autoreset_mode``.
    """

    def __init__(self, world: World, **options: Any) -> None:
        if isinstance(world, World) and world.batch != 1:
            raise OptionError(f"an Environment has one world, not {world.batch}: a VectorEnvironment has many")
        taken = inspect.signature(VectorEnvironment).parameters
        refuse_unknown_arguments("Environment()", options, [name for name in taken if name != "autoreset_mode"])
        self._vector = VectorEnvironment(world, **options, autoreset_mode=AutoresetMode.DISABLED)
        self.render_mode = self._vector.render_mode
        self.metadata = {key: self._vector.metadata[key] for key in ("render_modes", "render_fps")}
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    @property
    def world(self) -> World:
        """The world that is stepped."""
        return self._vector.world

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin a new episode and return its observation, (n,); ``options`` may give the initial ``q`` and ``v``."""
        super().reset(seed=seed)
        observations, infos = self._vector.reset(seed=seed, options=options)
        return observations[0], infos

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Advance the world under an action.

        Returns
        -------
        observation (n,), reward, terminated, truncated, info
        """
        given = np.asarray(action)
        if given.shape != self.action_space.shape:
            raise ShapeError(f"an action must be numbers of shape {self.action_space.shape}, got {given.shape}")
        observations, rewards, ended, late, infos = self._vector.step(given[None])
        info = {"lost": True} if infos else {}
        return observations[0], float(rewards[0]), bool(ended[0]), bool(late[0]), info

    def render(self) -> Array | None:  # type: ignore[override]
        """Return a picture, (height, width, 3), if ``render_mode`` is ``"rgb_array"``."""
        pictures = self._vector.render()
        return None if pictures is None else pictures[0]

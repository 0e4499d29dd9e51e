"""A :class:`kinetree.World` as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike

from kinetree.errors import OptionError, ShapeError, UnknownNameError
from kinetree.simulation.worlds.world import World
from kinetree.spatial.arrays import Array, aligned_zeros
from kinetree.spatial.numbers import real_number, whole_number

from .rendering import Painter

RENDER_MODES = ("rgb_array",)
OPTIONS = ("reset_mask", "q", "v")
"""Options of :meth:`VectorEnvironment.reset`."""


class VectorEnvironment(VectorEnv):
    """All worlds of a :class:`kinetree.World`, with the interface of a Gymnasium vector environment.

    Actions are numbers from -1 to 1; motors get ``center + scale * action``.  Nothing is clipped; limits of motors
    belong to the world (``Commanded(..., limited=True)``).

    Parameters
    ----------
    world : World
        A world with ``observe`` and ``reward``. Its ``ended`` terminates episodes.
    scale, center : float or array_like (actions,)
        Motors get ``center + scale * action``.
    time_limit : float, optional
        Seconds after which episodes are truncated.
    max_episode_steps : int, optional
        Number of steps after which episodes are truncated; give only one of the two.
    autoreset_mode : AutoresetMode or str
        ``NEXT_STEP`` (default), ``SAME_STEP`` or ``DISABLED``, as Gymnasium describes them.
    dtype : {float32, float64}
        Type of observations and actions.
    render_mode : {None, "rgb_array"}

    Examples
    --------
    >>> import kinetree as kt
    >>> world = kt.World("kuka-kr5", batch=16, substeps=10, observe=lambda m: [*m.q, *m.v], reward=lambda m: -m.power)
    >>> environments = kt.gym.VectorEnvironment(world, scale=50.0, time_limit=1.0)
    >>> environments.reset(seed=0)[0].shape
    (16, 12)
    """

    def __init__(
        self, world: World, *, scale: ArrayLike = 1.0, center: ArrayLike = 0.0, time_limit: float | None = None,
        max_episode_steps: int | None = None, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        dtype: Any = np.float32, render_mode: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(world, World):
            raise OptionError(f"a VectorEnvironment is made from a kinetree.World, not from {world!r}")
        if not world.observation_size or not world.has_reward:
            raise OptionError("the World of an environment needs observe=... and reward=...")
        if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise OptionError(f"dtype of observations is float32 or float64, not {dtype!r}")
        self.world, self._dtype = world, np.dtype(dtype)
        self._scale, self._center = (self._per_motor(x, n) for x, n in ((scale, "scale"), (center, "center")))
        if np.any(self._scale == 0.0):
            raise OptionError("scale of actions must not be zero: the action would do nothing")
        if not np.isfinite([self._scale, self._center]).all():
            raise OptionError("scale and center of actions must be finite: every world would be lost at once")
        if max_episode_steps is not None:
            if time_limit is not None:
                raise OptionError("give max_episode_steps or time_limit, which is in seconds, not both")
            time_limit = whole_number(max_episode_steps, "max_episode_steps", least=1) * world.period
        self._limit = np.inf if time_limit is None else real_number(time_limit, "time_limit", positive=True)
        self._mode = _autoreset_mode(autoreset_mode)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownNameError("render mode", render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": list(RENDER_MODES), "render_fps": round(1.0 / world.period), "autoreset_mode": self._mode,
        }  # fmt: skip
        self.num_envs = world.batch
        size, motors = world.observation_size, world.action_size
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), dtype=self._dtype.type)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (motors,), dtype=self._dtype.type)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._is_seeded = False
        self._painter: Painter | None = None

    def _per_motor(self, given: ArrayLike, name: str) -> Array:
        try:
            numbers = np.asarray(given, dtype=float)
            return np.broadcast_to(numbers, (self.world.action_size,))
        except (TypeError, ValueError, OverflowError):
            motors = ", ".join(self.world.action_names)
            raise ShapeError(f"{name} of actions must be one number, or one per motor: {motors}") from None

    # ------------------------------------------------------------------ Gymnasium's two methods

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes, in all worlds or in those of a mask.

        Parameters
        ----------
        seed : int, optional
            Random numbers depend on this seed, on the index of the world, and on the number of its episodes.
        options : mapping, optional
            ``reset_mask``, booleans (num_envs,), selects worlds; ``q`` and ``v`` are their initial states.

        Returns
        -------
        observations (num_envs, n), infos
        """
        chosen = dict(options or {})
        for name in chosen:
            if name not in OPTIONS:
                raise UnknownNameError("option of reset", name, OPTIONS)
        if isinstance(seed, (list, tuple)):
            raise OptionError("give one seed: what a world draws also depends on its number")
        super().reset(seed=seed)
        mask = chosen.pop("reset_mask", None)
        if seed is None and not self._is_seeded:
            if mask is not None:
                raise OptionError("the first reset must be of all worlds: leave reset_mask out")
            seed = int(self.np_random_seed or 0) % 2**63
        self._is_seeded = True
        self.world.reset(mask, **chosen, seed=seed, observed=False)
        self._over[slice(None) if mask is None else np.asarray(mask)] = False
        return self._observed(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Advance all worlds under actions.

        Parameters
        ----------
        actions : array_like (num_envs, motors)
            An action that is not a number ends its world, which ``infos["lost"]`` reports.

        Returns
        -------
        observations (num_envs, n), rewards, terminations, truncations (num_envs,), infos
            New arrays at every call. The observation of a lost world is zero, and so is its reward.
        """
        if not self._is_seeded:
            raise OptionError("call reset() before the first step: it sets the seed of the episodes")
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            ended = np.flatnonzero(self._over)[:5].tolist()
            how = "" if self.num_envs == 1 else "options={'reset_mask': terminations | truncations}"
            what = "the episode has" if self.num_envs == 1 else f"worlds {ended} have"
            raise OptionError(f"{what} ended: reset({how})")
        stepped = self.world.step(self.command(actions))
        assert stepped.observation is not None
        assert stepped.reward is not None
        observations = self._aligned(stepped.observation)
        rewards, terminations, lost = stepped.reward.astype(float), stepped.ended, stepped.lost
        truncations = (self.world.time > self._limit - 0.5 * self.world.period) & ~terminations
        if self._mode is AutoresetMode.NEXT_STEP and self._over.any():
            self._begin(self._over, observations)
            for array in (rewards, terminations, truncations, lost):
                array[self._over] = 0
        infos: dict[str, Any] = {}
        if lost.any():
            observations[lost], rewards[lost] = 0.0, 0.0
            infos |= {"lost": lost, "_lost": lost.copy()}
        self._over = terminations | truncations
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            infos = {
                "final_obs": _one_by_one(observations, self._over), "_final_obs": self._over.copy(),
                "final_info": infos, "_final_info": self._over.copy(),
            }  # fmt: skip
            self._begin(self._over, observations)
            self._over = np.zeros_like(self._over)
        return observations, rewards, terminations, truncations, infos

    def command(self, actions: Any) -> Array:
        """Return the motor commands for actions, (num_envs, motors), in the world's own units."""
        given = np.asarray(actions)
        if given.shape != self.action_space.shape or given.dtype.kind not in "fiu":
            raise ShapeError(
                f"actions must be numbers of shape {self.action_space.shape}, got {given.dtype} {given.shape}"
            )
        return self._center + self._scale * given

    def _begin(self, lanes: Array, observations: Array) -> None:
        """Begin new episodes in some worlds, and observe their starts."""
        self.world.reset(lanes, observed=False)
        observations[lanes] = self.world.observe(lanes)

    def _observed(self) -> Array:
        observations = self._aligned(self.world.observe())
        observations[~np.isfinite(observations).all(axis=-1)] = 0.0
        return observations

    def _aligned(self, observations: Array) -> Array:
        """Return a compact copy with the memory alignment that JAX needs."""
        found = aligned_zeros(observations.shape, self._dtype)
        found[:] = observations
        return found

    # ------------------------------------------------------------------ pictures

    def render(self) -> tuple[Array, ...] | None:  # type: ignore[override]
        """Return a picture of every world, (height, width, 3), if ``render_mode`` is ``"rgb_array"``."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() draws nothing without render_mode="rgb_array"')
            return None
        if self._painter is None:
            self._painter = Painter(self.world.robot, self.world.start[0][0])
        return tuple(self._painter.picture(q) for q in self.world.q)

    def __repr__(self) -> str:
        return f"VectorEnvironment({self.world.robot.name!r}, num_envs={self.num_envs})"


def _autoreset_mode(given: Any) -> AutoresetMode:
    known = {name: mode for mode in AutoresetMode for name in (mode.name, mode.value)}
    if isinstance(given, AutoresetMode):
        return given
    if given not in known:
        raise UnknownNameError("autoreset mode", given, known)
    return known[given]


def _one_by_one(observations: Array, chosen: Array) -> Array:
    """Return observations of some worlds in Gymnasium's form: one array each, None for the others."""
    found = np.full(len(observations), None, dtype=object)
    for k in np.flatnonzero(chosen):
        found[k] = observations[k].copy()
    return found

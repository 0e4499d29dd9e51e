"""Learn to reach in seconds: an arm takes its wrist to places that are drawn anew for every episode.

    pip install "kinetree[learn]"
    python examples/learn_arm.py

The policy is a matrix of 3 by 6: targets of the three servos that carry the wrist, from what is missing to the goal and
where these joints are.  CMA-ES tries a generation of matrices at once, each in its own sixteen worlds.
"""

from __future__ import annotations

import time

import cma
import numpy as np

import kinetree as kt

CANDIDATES, TRIES = 24, 16
MOVED = 3
"""The wrist is where the first three joints take it."""

SEEN = [0, 1, 2, 12, 13, 14]
"""Of the observation: their angles, and what is missing to the target."""


def run(environments: kt.gym.VectorEnvironment, matrices: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean reward of an episode, and distance left at its end in meters, both (candidates, tries)."""
    observations, _ = environments.reset(seed=seed)
    count, total = len(matrices), 0.0
    while True:
        seen = observations[:, SEEN].reshape(count, -1, len(SEEN))
        actions = np.zeros(environments.action_space.shape)
        actions[:, :MOVED] = np.einsum("can,ctn->cta", matrices, seen).reshape(-1, MOVED)
        observations, rewards, _, late, _ = environments.step(np.clip(actions, -1.0, 1.0))
        total = total + rewards.reshape(count, -1)
        if late.all():
            return total, np.linalg.norm(observations[:, -3:], axis=-1).reshape(count, -1)


def learn(generations: int = 60, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A policy, and the distances that it leaves in 256 worlds that it has not seen."""
    environments = kt.gym.make_vec("arm", num_envs=CANDIDATES * TRIES)
    options = {"popsize": CANDIDATES, "seed": seed, "verbose": -9}
    search = cma.CMAEvolutionStrategy(np.zeros(MOVED * len(SEEN)), 0.5, options)
    for k in range(generations):
        candidates = search.ask()
        earned, left = run(environments, np.array(candidates).reshape(CANDIDATES, MOVED, -1), seed + k)
        search.tell(candidates, -earned.mean(axis=1))
        if (k + 1) % 10 == 0:
            print(f"generation {k + 1}: {1e2 * np.median(left):.1f} cm left, half of the worlds have less")
    matrix = search.result.xfavorite.reshape(1, MOVED, -1)
    _, left = run(kt.gym.make_vec("arm", num_envs=256), matrix, seed=10_000)
    return matrix[0], left[0]


if __name__ == "__main__":
    begin = time.perf_counter()
    _, left = learn()
    print(f"{1e2 * np.median(left):.1f} cm left after {time.perf_counter() - begin:.1f} s of learning")

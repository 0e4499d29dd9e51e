"""Learn to balance a pole in seconds: CMA-ES over one linear policy per world.

    pip install "kinetree[learn]"
    python examples/learn_cart_pole.py

Every candidate of a generation has its own sixteen worlds with random starts, and all are stepped together: a
generation of ten seconds of simulated time takes a fraction of a second on one core.
"""

from __future__ import annotations

import time

import cma
import numpy as np

import kinetree as kt

CANDIDATES, TRIES = 64, 16


def policy(weights: np.ndarray, observations: np.ndarray) -> np.ndarray:
    """Actions of (candidates, tries) worlds: weights (candidates, n) times observations."""
    return np.einsum("cn,ctn->ct", weights, observations)[..., None]


def returns(environments: kt.gym.VectorEnvironment, weights: np.ndarray, seed: int) -> np.ndarray:
    """Mean reward of the first episode, one number per candidate; a fallen pole earns nothing more."""
    observations, _ = environments.reset(seed=seed)
    count, tries = len(weights), environments.num_envs // len(weights)
    total, alive = np.zeros(count * tries), np.ones(count * tries, dtype=bool)
    while alive.any():
        actions = policy(weights, observations.reshape(count, tries, -1)).reshape(count * tries, 1)
        observations, rewards, ended, late, _ = environments.step(np.clip(actions, -1.0, 1.0))
        total += np.where(alive, rewards, 0.0)
        alive &= ~(ended | late)
    return total.reshape(count, tries).mean(axis=1)


def learn(generations: int = 6, seed: int = 1) -> tuple[np.ndarray, float]:
    """The best policy, and what it earns in worlds that it has not seen, at most 500 (one per action)."""
    environments = kt.gym.make_vec("cart-pole", num_envs=CANDIDATES * TRIES)
    size = environments.single_observation_space.shape[0]
    search = cma.CMAEvolutionStrategy(np.zeros(size), 0.5, {"popsize": CANDIDATES, "seed": seed, "verbose": -9})
    for k in range(generations):
        candidates = search.ask()
        earned = returns(environments, np.array(candidates), seed + k)
        search.tell(candidates, -earned)
        print(f"generation {k + 1}: best {earned.max():.0f}, mean {earned.mean():.0f}")
    best = search.result.xfavorite
    test = kt.gym.make_vec("cart-pole", num_envs=256)
    return best, float(returns(test, best[None], seed=10_000)[0])


if __name__ == "__main__":
    begin = time.perf_counter()
    weights, earned = learn()
    print(f"earned {earned:.0f} of 500 after {time.perf_counter() - begin:.1f} s, weights {np.round(weights, 2)}")

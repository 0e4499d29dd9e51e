"""The examples that learn do learn."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")


@pytest.mark.slow
def test_the_pole_is_balanced_after_some_generations():
    learned = example("learn_cart_pole")
    learned.TRIES = 4  # fewer than in the example, to be quick
    lazy = learned.returns(kt.gym.make_vec("cart-pole", num_envs=64), np.zeros((1, 5)), seed=3)
    assert lazy[0] < 100.0
    assert learned.learn(generations=5)[1] > 300.0


@pytest.mark.slow
def test_the_arm_comes_nearer_to_what_it_reaches_for():
    learned = example("learn_arm")
    _, lazy = learned.run(kt.gym.make_vec("arm", num_envs=64), np.zeros((1, 3, 6)), seed=3)
    assert 0.15 < np.median(lazy) < 0.35
    assert np.median(learned.learn(generations=20)[1]) < 0.5 * np.median(lazy)

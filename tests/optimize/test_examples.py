"""The examples of optimal motions, with few goals and points: they run, and what they print is right."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def machine_code(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")


def example(name):
    path = EXAMPLES / f"{name}.py"
    assert len(path.read_text().splitlines()) <= 150
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_cart_pole_swing_up(capsys):
    plan, ends, plans = example("cart_pole_swing_up").main(8)
    assert plan.success
    assert plans.success.all()
    assert ends["with gains"] < 0.01 < 0.5 < ends["forces alone"]
    assert "100.0% swung up" in capsys.readouterr().out


@pytest.mark.slow
def test_five_bar_pick_and_place():
    there, calm, use, error = example("five_bar_pick_and_place").main(301)
    assert use.max() < 1.0 + 1e-6
    assert np.mean(use.max(axis=1) > 0.97) > 0.95
    assert error < 1e-10
    assert calm.duration > there.duration


@pytest.mark.slow
def test_delta_cycle():
    found, use, gap = example("delta_cycle").main(201)
    assert found["loaded"].duration > 1.1 * found["empty"].duration
    assert 0.99 < use.max() < 1.0 + 1e-5
    assert gap < 1e-10


@pytest.mark.slow
def test_panda_reach():
    plans, swift = example("panda_reach").main(2)
    assert plans.success.all()
    robot = plans.problem.robot
    for k in range(2):
        q, v, a = swift[k].states(np.linspace(0.0, swift[k].end, 1001)[1:-1])
        assert (np.abs(robot.inverse_dynamics(q, v, a)) / robot.effort_limits).max() < 1.0 + 1e-6
        assert (np.abs(v) / robot.velocity_limits).max() < 1.0 + 1e-6

"""Methods that are machine code: there from the first look-up on, and Python for all else."""

import copy
import gc
import inspect
import pickle
import pydoc
import re
import weakref

import numpy as np
import pytest

import kinetree as kt
from kinetree.evaluation.direct_methods import DirectMethod
from kinetree.evaluation.evaluator import Evaluator

METHODS = [name for name in dir(kt.Robot) if isinstance(inspect.getattr_static(kt.Robot, name), DirectMethod)]


def arm(kind=kt.Robot, **options):
    builder = kt.Builder("arm")
    builder.body("upper", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.01))
    builder.body("lower", "upper", kt.Revolute("x"), position=(0, 0, 0.6), mass=1.0, com=(0, 0, 0.2))
    return kind(builder.build().model, **({"backend": "compiled"} | options))


def state(batch=()):
    return np.random.default_rng(3).uniform(-1.0, 1.0, (3, *batch, 2))


def refuse_python(monkeypatch):
    """From here on nothing may be computed or even checked in Python."""
    for name in ("run", "run_checked"):
        monkeypatch.setattr(Evaluator, name, None)


def test_the_usual_methods_are_direct():
    assert {"inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_force", "integrate"} <= set(METHODS)


def test_a_method_kept_before_the_first_call_is_machine_code_after_it(monkeypatch):
    robot = arm()
    held = robot.inverse_dynamics
    assert robot.inverse_dynamics is held
    expected = [held(*state()), held(*state((5,)))]
    assert robot.inverse_dynamics is held
    refuse_python(monkeypatch)
    for call in (held, robot.inverse_dynamics):
        assert np.array_equal(call(*state()), expected[0])
        assert np.array_equal(call(*state((5,))), expected[1])


def test_a_method_kept_before_compiling_ahead_of_time_is_machine_code_after_it(monkeypatch):
    robot = arm()
    held = robot.forward_dynamics
    robot.compile("forward_dynamics")
    refuse_python(monkeypatch)
    assert held(*state()).shape == (2,)
    assert held(*state((4,))).shape == (4, 2)


def test_a_method_kept_before_another_one_ran_its_algorithm_is_machine_code_too(monkeypatch):
    robot = arm()
    kt.Robot.inverse_dynamics(robot, *state())  # as a subclass would call it
    held = robot.inverse_dynamics
    held(*state())
    refuse_python(monkeypatch)
    assert held(*state()).shape == (2,)


def test_what_machine_code_refuses_is_refused_once(monkeypatch):
    robot, judge = arm(), arm(backend="reference")
    robot.inverse_dynamics(*state())
    asked = []
    checked = Evaluator.run_checked
    monkeypatch.setattr(Evaluator, "run", None)  # where a second entry point would be asked
    monkeypatch.setattr(Evaluator, "run_checked", lambda self, *given: asked.append(1) or checked(self, *given))
    q, v, a = state()
    found = robot.inverse_dynamics(q.astype(np.float16).astype(object).tolist(), v.astype(np.longdouble), a)
    out = np.empty((5, 2), np.float32)
    assert robot.inverse_dynamics(*state((5,)), out=out, threads=2) is out
    assert len(asked) == 2
    monkeypatch.undo()
    assert np.allclose(found, judge.inverse_dynamics(q.astype(np.float16), v, a), rtol=1e-13)


def test_other_arguments_go_to_the_method():
    robot, judge = arm(), arm(backend="reference")
    q, v, a = state()
    for _ in range(2):
        for given, options in (
            ((q, v, a), {"friction": True}), ((q, v), {"a": a}), ((q, v, a, {"lower": np.ones(6)}), {}),
            ((), {"q": q, "v": v, "a": a}),
        ):  # fmt: skip
            assert np.allclose(robot.inverse_dynamics(*given, **options), judge.inverse_dynamics(*given, **options))
        with pytest.raises(TypeError, match="has no argument 'speed'; known: q, v, a"):
            robot.inverse_dynamics(q, v, a, speed=1)
        with pytest.raises(TypeError, match="out"):
            robot.kinetic_energy(q, v, out=np.empty(()))
        assert robot.kinetic_energy(q=q, v=v) == robot.kinetic_energy(q, v)
        with pytest.raises(kt.OptionError, match="threads must be"):
            robot.inverse_dynamics(q, v, a, threads=True)


@pytest.mark.parametrize("name", METHODS)
def test_signatures_and_help_are_those_of_the_method(name):
    for owner in (arm(), arm(backend="reference"), arm(precision="single")):
        held, method = getattr(owner, name), getattr(kt.Robot, name)
        plain = [p.replace(annotation=p.empty) for p in inspect.signature(held).parameters.values()]
        expected = list(inspect.signature(method).parameters.values())[1:]
        assert plain == [p.replace(annotation=p.empty) for p in expected]
        assert inspect.getdoc(held) == inspect.getdoc(method)
        assert held.__name__ == name
    assert inspect.isfunction(method)
    assert re.search(rf" {name}\([\s|]*self,[\s|]*q", pydoc.plain(pydoc.render_doc(kt.Robot)))


def test_backends_without_entry_points_have_the_method_itself():
    robot = arm(backend="reference")
    assert inspect.ismethod(robot.inverse_dynamics)
    assert not vars(robot).keys() & set(METHODS)
    for robot in (arm(), arm(precision="single")):
        assert inspect.isbuiltin(robot.inverse_dynamics)


def test_subclasses_are_asked_every_time():
    class Asked(kt.Robot):
        calls = 0

        def gravity_force(self, *arguments, **options):
            self.calls += 1
            return super().gravity_force(*arguments, **options)

    robot = arm(Asked)
    q = state()[0]
    for _ in range(3):
        assert np.array_equal(robot.gravity_force(q), arm().gravity_force(q))
    assert robot.calls == 3
    assert inspect.isbuiltin(robot.mass_matrix)


def test_methods_and_robots_are_copied_and_pickled():
    robot = arm()
    for first in (True, False):
        held = robot.bias_force
        expected = arm().bias_force(*state()[:2])
        for other in (pickle.loads(pickle.dumps(held)), copy.deepcopy(held)):
            assert np.array_equal(other(*state()[:2]), expected)
        for other in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
            assert not other.evaluator.entry_points
            assert np.array_equal(other.bias_force(*state()[:2]), expected)
        if first:
            held(*state()[:2])


def test_a_kept_method_keeps_its_robot_and_goes_with_it():
    robot = arm()
    held, gone = robot.gravity_force, weakref.ref(robot)
    expected = held(state()[0])
    del robot
    gc.collect()
    assert np.array_equal(held(state()[0]), expected)
    del held
    gc.collect()
    assert gone() is None

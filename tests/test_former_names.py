"""Modules and arguments are found by their former names, with a warning."""

import warnings
from importlib import import_module

import numpy as np
import pytest

import kinetree as kt
from kinetree.former_names import NOW_AT

PENDULUM = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
FOUR_BAR, START = kt.gallery.load("four-bar"), kt.gallery.start("four-bar")
ZERO = np.zeros(3)


def swept(**given):
    return kt.sweep(lambda p: {"y": p["x"]}, {"x": kt.Uniform(0, 1)}, workers=0, progress=False, **given)["x"]


@pytest.mark.parametrize("former", NOW_AT)
def test_a_former_name_is_the_module_of_today(former, monkeypatch):
    monkeypatch.delitem(__import__("sys").modules, former, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{former} is now {NOW_AT[former]}"):
        module = import_module(former)
    today = import_module(NOW_AT[former])
    assert module is today
    assert today.__spec__.name == NOW_AT[former]
    assert not any(isinstance(value, type(kt)) for value in (kt.load, kt.inverse_kinematics, kt.simulate))


def test_what_is_inside_a_package_is_not_loaded_a_second_time():
    with pytest.warns(DeprecationWarning, match="is now kinetree_gallery.systems.motion_laws"):
        module = import_module("kinetree.gallery.systems.motion_laws")
    assert module is import_module("kinetree_gallery.systems.motion_laws")
    assert module.__name__ == module.__spec__.name == "kinetree_gallery.systems.motion_laws"


def test_names_that_never_were_stay_unknown():
    with pytest.raises(ModuleNotFoundError):
        import_module("kinetree.nothing")
    with pytest.raises(ModuleNotFoundError), pytest.warns(DeprecationWarning, match="is now"):
        import_module("kinetree.gallery.systems.nothing")


@pytest.mark.parametrize(
    ("call", "former", "today"),
    [
        (lambda **given: kt.simulate(PENDULUM, [0.1], time=0.1, **given).q, {"output": 3}, {"samples": 3}),
        (lambda **given: kt.Simulator(PENDULUM).run([0.1], time=0.1, **given).q, {"output": 3}, {"samples": 3}),
        (lambda **given: kt.World(PENDULUM, **given).q, {"start": ([0.3], [0.0])}, {"q0": [0.3], "v0": [0.0]}),
        (lambda **given: swept(**given), {"samples": 4}, {"draws": 4}),
        (lambda **given: FOUR_BAR.forward_dynamics(START, ZERO, ZERO, **given), *(
            {word: True} for word in ("stabilisation", "stabilization"))),
        (lambda **given: len(FOUR_BAR.base_parameters(**given)), {"near": START}, {"q_guess": START}),
    ],
)  # fmt: skip
def test_a_former_argument_is_taken_with_a_warning(call, former, today):
    (name,) = former
    with pytest.warns(DeprecationWarning, match=f"{name}= of .* is now {' and '.join(f'{x}=' for x in today)};"):
        found = call(**former)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        assert np.array_equal(found, call(**today))


def test_an_argument_by_both_its_names_is_refused():
    with pytest.raises(kt.ArgumentError, match="has no argument 'output'"):
        kt.simulate(PENDULUM, time=0.1, samples=3, output=3)

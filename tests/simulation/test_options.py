"""One table of what simulations can be asked for."""

from __future__ import annotations

import inspect

import pytest

import kinetree as kt
from kinetree.cli.app import COMMANDS, imported
from kinetree.simulation.options import OPTIONS, SimulationOptions
from kinetree.studies.user_study.reader import SIMULATION_KEYS

OTHER_DEFAULTS = {
    (kt.World, "integrator"): "semi_implicit_euler",
    (kt.World, "step"): 1e-3,
    (kt.simulate_rigid, "rtol"): 1e-9,
    (kt.simulate_rigid, "atol"): 1e-11,
}


@pytest.mark.parametrize("taker", [kt.simulate, kt.Simulator, kt.simulate_rigid, kt.World])
def test_all_that_simulate_take_names_and_defaults_from_the_table(taker):
    taken = inspect.signature(taker).parameters
    for name in taken.keys() & OPTIONS.keys():
        assert taken[name].default == OTHER_DEFAULTS.get((taker, name), OPTIONS[name].default), name
    if taker in (kt.simulate, kt.Simulator):
        assert taken.keys() >= OPTIONS.keys()


def test_the_command_line_and_study_files_know_what_can_be_typed():
    (command,) = (imported(command) for command in COMMANDS if command.name == "simulate")
    typed = {parameter.name: parameter.help for parameter in command.params}
    can_be_typed = {name for name, row in OPTIONS.items() if row.kind} - {"works", "threads"}
    assert typed.keys() >= can_be_typed
    assert set(SIMULATION_KEYS) >= can_be_typed
    assert all(row.help in typed[row.name] for row in OPTIONS.values() if row.name in can_be_typed)


def test_options_are_checked_once_and_cannot_be_changed():
    options = SimulationOptions(integrator="rk4", step=1)
    assert options.step == 1.0
    with pytest.raises(kt.ReadOnlyError, match=r"SimulationOptions\(..., step=...\)"):
        options.step = 2.0
    with pytest.raises(kt.ArgumentError, match=r"has no argument 'stp'.*'step'"):
        SimulationOptions(stp=1)
    with pytest.raises(kt.ArgumentError, match=r"Simulator\(\) has no argument 'stp'"):
        kt.Simulator("two-link", stp=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"integrator": "rk5"}, "no integrator named"),
        ({"integrator": "rk4"}, "needs a step"),
        ({"step": 1e-3}, "chooses its own steps"),
        ({"method": "none"}, "no method of forward dynamics"),
        ({"rtol": -1}, "rtol"),
        ({"steps_at_most": 0}, "steps_at_most"),
        ({"drift": "some"}, "no way to correct drift"),
        ({"spectral_radius": 0.5}, "belongs to"),
        ({"integrator": "generalized_alpha", "step": 1e-3, "spectral_radius": 2}, "between 0 and 1"),
        ({"integrator": "generalized_alpha", "step": 1e-3, "drift": "none"}, "leave drift out"),
    ],
)
def test_what_cannot_be_is_refused_whatever_the_robot(given, said):
    with pytest.raises(kt.KinetreeError, match=said):
        SimulationOptions(**given)

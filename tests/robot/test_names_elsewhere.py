"""Names that people bring from elsewhere lead to what is meant."""

from operator import attrgetter
from pathlib import Path

import pytest
import yaml

import kinetree as kt
from kinetree.robot.names_elsewhere import function_called, tables
from kinetree.simulation.integrators.fixed_step_methods import INTEGRATORS as OURS

METHODS, FUNCTIONS, INTEGRATORS = (tables()[name] for name in ("METHODS", "FUNCTIONS", "INTEGRATORS"))


def test_every_hint_names_something_that_there_is():
    for ours in (*METHODS.values(), *FUNCTIONS.values()):
        name = ours.split("(")[0]
        on = kt if name.startswith("kinetree.") else kt.Mechanism
        assert attrgetter(name.removeprefix("kinetree."))(on), ours
    assert all(ours.startswith("kinetree.") for ours in FUNCTIONS.values())
    assert set(INTEGRATORS.values()) <= set(OURS)


SPATIAL_V2 = """rq rqd rv rx ry rz skew crf crm Fpt mcI plnr pluho plux rotx roty rotz Vpt xlt Xpt XtoV
apply_external_forces EnerMo fbanim fbkin FDab FDcrb FDfb FDgq get_gravity HandC HD IDfb ID jcalc
autoTree doubleElbow floatbase gfxExample planar rollingdisc scissor singlebody vee gcFD gcontact gcPosVel
expandLambda LTDL LTL mpyH mpyL mpyLi mpyLit mpyLt showmotion"""
"""All functions of the package."""


def test_every_function_of_spatial_v2_is_known():
    spelled = yaml.safe_load((Path(__file__).parents[2] / "docs" / "names.yaml").read_text(encoding="utf-8"))
    for name in SPATIAL_V2.split():
        key = name.lower().replace("_", "")
        assert key in METHODS or key in FUNCTIONS, name
        assert spelled[key] == [f"`{name}`", "spatial_v2"]
        assert function_called(name), name


def test_hints_come_with_the_usual_errors():
    arm = kt.load("kuka-kr5")
    with pytest.raises(AttributeError, match=r"'rnea'; here it is inverse_dynamics"):
        arm.rnea  # noqa: B018
    with pytest.raises(AttributeError, match="here it is mass_matrix"):
        arm.computeInertiaMatrix  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'wheels'$"):
        arm.wheels  # noqa: B018
    with pytest.raises(AttributeError, match=r"robot\.forward_dynamics"):
        kt.aba  # noqa: B018
    with pytest.raises(AttributeError, match=r"'jtraj'; here it is kinetree\.trajectories\.Quintic"):
        kt.jtraj  # noqa: B018
    with pytest.raises(AttributeError, match=r"'cycloid'; did you mean Cycloid\?"):
        kt.trajectories.cycloid  # noqa: B018
    with pytest.raises(kt.UnknownNameError, match="'ode45'; did you mean 'rk45'"):
        kt.simulate(arm, time=1.0, integrator="ode45")
    with pytest.raises(AttributeError, match=r"mobility\(q\)\.freedoms"):
        kt.load("four-bar").dof  # noqa: B018
    with pytest.raises(kt.NoLoopsError):  # what a property says is not hidden by the hints
        arm.loop_names  # noqa: B018


def test_a_room_shows_what_is_meant_for_users():
    for room in ("control", "trajectories", "impact", "errors", "gallery"):
        module = getattr(kt, room)
        assert {name for name in dir(module) if not name.startswith("__")} == set(module.__all__)

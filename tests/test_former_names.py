"""Modules that pages of release 0.1 imported are found by their former names, with a warning."""

from importlib import import_module

import pytest

import kinetree as kt
from kinetree.former_names import NOW_AT


@pytest.mark.parametrize("former", NOW_AT)
def test_a_former_name_is_the_module_of_today(former, monkeypatch):
    monkeypatch.delitem(__import__("sys").modules, former, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{former} is now {NOW_AT[former]}"):
        module = import_module(former)
    today = import_module(NOW_AT[former])
    assert module is today
    assert today.__spec__.name == NOW_AT[former]
    assert not any(isinstance(value, type(kt)) for value in (kt.load, kt.inverse_kinematics, kt.simulate))


def test_names_that_never_were_stay_unknown():
    with pytest.raises(ModuleNotFoundError):
        import_module("kinetree.nothing")

"""``kinetree.load``: where robots are found."""

from __future__ import annotations

import pytest

import kinetree as kt
from helpers.cli import invoke
from kinetree.cli.listing import entries


def test_the_gallery_is_suggested_where_it_may_be_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kt.RobotFileNotFoundError, match="no robot file 'fourbar'; the gallery has 'four-bar'"):
        kt.load("fourbar")
    for name in ("four-bar.urdf", "nothing", "models/four-bar"):
        with pytest.raises(kt.RobotFileNotFoundError) as caught:
            kt.load(name)
        assert "gallery" not in str(caught.value)


def test_a_system_of_the_gallery_is_loaded_by_its_name_wherever_a_robot_goes(tmp_path, monkeypatch):
    assert kt.load("kuka-kr5") == kt.gallery.load("kuka-kr5")
    assert kt.load("kuka-kr5", floating_base=True).nv == 12
    assert kt.simulate("kuka-kr5", time=0.01, integrator="rk4", step=0.005).q.shape == (3, 6)
    with pytest.raises(kt.RobotFileNotFoundError, match="the gallery has 'kuka-kr5'"):
        kt.load("kuka-kr")
    monkeypatch.chdir(tmp_path)  # a file of that name is meant rather
    (tmp_path / "puma").write_text("something else")
    with pytest.raises(kt.KinetreeError):
        kt.load("puma")


def test_every_name_of_the_list_is_a_robot_or_says_that_it_is_a_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = entries()
    assert {entry.name for entry in listed if entry.system} == set(kt.gallery.names())
    studies = [entry.name for entry in listed if not entry.system]
    assert "cassie" in studies
    for name in studies:
        says = f"{name!r} is a study without a robot: kinetree run {name}, or"
        with pytest.raises(kt.RobotFileNotFoundError, match=says):
            kt.load(name)
        with pytest.raises(kt.UnknownNameError, match=says):
            kt.gallery.load(name)
        assert says in " ".join(invoke("info", name, code=1).stderr.split())
        assert kt.gallery.study(name).analyses

"""Paths that cannot be: every door of the library refuses them in the same words."""

from __future__ import annotations

import pytest

import kinetree as kt
from helpers.robots import arm
from kinetree.io.paths import as_path, whole_content
from kinetree.io.tables.reading import open_table
from kinetree.studies import user_study

BAD = [None, 3, 1.5, b"robot.urdf", "a\0b.urdf", "\ud800.yaml", "", ["robot.urdf"]]

DOORS = {
    "load": kt.load,
    "loops": lambda path: kt.load("robot.urdf", loops=path if path is not None else 0),
    "save": lambda path: arm().save(path),
    "study": user_study.read,
    "codegen": lambda path: arm().codegen(path),
    "record": kt.Record.load,
    "view": kt.view.view,
}


@pytest.mark.parametrize("path", BAD, ids=repr)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_them(door, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arm().save("robot.urdf")
    with pytest.raises(kt.OptionError):
        DOORS[door](path)
    assert [p.name for p in tmp_path.iterdir()] == ["robot.urdf"]


def test_what_the_error_says():
    with pytest.raises(kt.OptionError, match=r"a study is given as text or a pathlib\.Path, not as bytes"):
        as_path(b"x", "a study")


def test_names_that_are_too_long_and_files_that_are_none(tmp_path):
    for name in (f"{'x' * 300}.yaml", f"{'x' * 300}/r.yaml"):
        with pytest.raises(kt.KinetreeError):
            kt.load(tmp_path / name)
        with pytest.raises(kt.KinetreeError):
            arm().save(tmp_path / name)
        with pytest.raises(kt.KinetreeError):
            open_table((tmp_path / name).with_suffix(".csv"), {"q": ["a"]})
    with pytest.raises(kt.MissingFileError, match=r"there is no note .*: write one"):
        whole_content(tmp_path / "note", "note", hint=lambda: ": write one")
    with pytest.raises(kt.FileFormatError, match="this is a directory, not a note"):
        whole_content(tmp_path, "note")

"""Files and folders appear whole or not at all."""

from __future__ import annotations

import os

import pytest

import kinetree as kt
from kinetree.io.atomic_files import all_beside, beside, folder_beside


def fail(block, problem):
    """Write half of what is to be written."""
    with block as given:
        place = given[0] if isinstance(given, list) else given
        (place / "half" if place.is_dir() else place).write_text("half")
        raise problem


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "table.csv"
    with beside(path) as place:
        place.write_text("1,2")
        assert place.suffix == ".csv"
        assert not path.exists()
    assert path.read_text() == "1,2"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_whatever_goes_wrong_the_old_file_stays(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    for problem in (KeyboardInterrupt, ValueError, kt.OptionError):
        with pytest.raises(problem):
            fail(beside(path), problem)
    with pytest.raises(kt.OutputError, match=r"table\.csv cannot be written: disk full"):
        fail(beside(path), OSError("disk full"))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_place_that_cannot_be_written_to(tmp_path):
    with pytest.raises(kt.OutputError, match=r"x\.csv cannot be written: No such file"):
        fail(beside(tmp_path / "no" / "x.csv"), AssertionError)


def test_links_and_permissions_are_kept(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "usual").touch()
    with beside(tmp_path / "link") as place:
        place.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_name_as_long_as_can_be(tmp_path):
    path = tmp_path / ("x" * 251 + ".csv")
    with beside(path) as place:
        place.write_text("new")
    assert path.read_text() == "new"


def test_several_files_appear_together(tmp_path):
    paths = [tmp_path / "a.c", tmp_path / "a.h"]
    with all_beside(paths, "no") as places:
        places[0].write_text("1")
        places[1].write_text("2")
        assert not any(path.exists() for path in paths)
    with pytest.raises(kt.OutputError, match=r"^C into here: disk full$"):
        fail(all_beside(paths, "C into here"), OSError("disk full"))
    assert [path.read_text() for path in paths] == ["1", "2"]
    assert sorted(os.listdir(tmp_path)) == ["a.c", "a.h"]


def test_a_folder_is_replaced_wholly(tmp_path):
    folder = tmp_path / "deep" / "results"
    for text in ("first", "second"):
        with folder_beside(folder) as made:
            (made / text).write_text(text)
        assert os.listdir(folder) == [text]
    with pytest.raises(KeyboardInterrupt):
        fail(folder_beside(folder), KeyboardInterrupt)
    assert os.listdir(folder) == ["second"]
    assert os.listdir(folder.parent) == ["results"]

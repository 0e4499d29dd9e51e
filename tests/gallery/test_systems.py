"""The table of names, the folders and the modules in them agree; nothing is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree import gallery
from kinetree.studies import named_systems
from kinetree_gallery import comparisons, systems

FOLDERS = {path.parent.name for path in Path(systems.__file__).parent.glob("*/__init__.py")}


def modules_after(code: str) -> set[str]:
    """Names of kinetree's modules that a fresh interpreter has imported after some code."""
    listed = f"import sys\n{code}\nprint(*[m for m in sys.modules if m.startswith('kinetree')])"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_folder_has_a_name_and_every_name_a_folder():
    assert {named_systems.folder(name) for name in named_systems.NAMES} == FOLDERS
    assert len(set(named_systems.NAMES)) == len(named_systems.NAMES)


@pytest.mark.parametrize("name", named_systems.NAMES)
def test_a_folder_has_model_system_and_study_of_one_name(name):
    folder = Path(systems.__file__).parent / named_systems.folder(name)
    files = {path.name for path in folder.iterdir() if path.is_file()}
    assert files >= {"__init__.py", "model.yaml", "study.py", "system.py"}
    assert all(name.endswith((".py", ".yaml")) for name in files)
    assert gallery.about(name).name == name
    study = gallery.study(name)
    assert (study.name, study.system) == (name, name)


def test_comparisons_are_named_by_their_files():
    others = [name for name in gallery.studies() if name not in named_systems.NAMES]
    files = sorted(path.stem for path in Path(comparisons.__file__).parent.glob("*.py") if path.stem != "__init__")
    assert others == [name.replace("_", "-") for name in files]
    assert [gallery.study(name).name for name in others] == others


def test_names_of_folders_are_no_names():
    for wrong in ("four_bar", "three_rrr", "3_rrr", "../system", "", None, 3):
        with pytest.raises(kt.UnknownNameError):
            gallery.load(wrong)
        with pytest.raises(kt.UnknownNameError):
            gallery.study(wrong)


def test_loading_a_system_imports_no_room_above_the_robot():
    loaded = modules_after("import kinetree; kinetree.gallery.load('four-bar')")
    rooms = {name.split(".")[1] for name in loaded if "." in name}
    assert not rooms & {"export", "control", "contact", "motion", "simulation", "view", "cli"}
    assert not {name for name in loaded if name.startswith("kinetree_gallery.systems.four_bar.")}


def test_a_study_imports_no_other_study():
    loaded = modules_after("import kinetree; kinetree.gallery.study('five-bar')")
    assert {name for name in loaded if name.endswith(".study")} == {
        "kinetree.studies.study", "kinetree_gallery.systems.five_bar.study",
    }  # fmt: skip
    assert not {name for name in loaded if name.startswith("kinetree_gallery.comparisons.")}

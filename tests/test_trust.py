"""Robot files are data and never run code: what docs/trust.md promises, door by door."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from helpers.gcc import COMPILER
from kinetree.io.tables.reading import open_table
from kinetree.studies import user_study
from kinetree.studies.report import without_tags
from kinetree.studies.study import Outcome, Study
from kinetree_studio.view import triangles
from kinetree_studio.view.page import page, unpacked

LINKS = '<link name="a"/><link name="b"/>'
JOINT = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'


def robot(links: str) -> str:
    return f'<robot name="r">{links}{JOINT}</robot>'


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
@pytest.mark.parametrize(
    "entity", ['<!ENTITY x SYSTEM "file:///etc/passwd">', '<!ENTITY % x SYSTEM "http://localhost/"> %x;']
)
def test_entities_of_xml_are_refused(tmp_path, suffix, entity):
    (tmp_path / f"r{suffix}").write_text(f'<!DOCTYPE robot [{entity}]><robot name="&x;"><link name="a"/></robot>')
    with pytest.raises(kt.FileFormatError, match="DOCTYPE"):
        kt.load(tmp_path / f"r{suffix}")


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system [touch owned]", "!!python/name:os.system", "!evil x"])
def test_tags_of_yaml_are_refused(tmp_path, monkeypatch, tag):
    monkeypatch.chdir(tmp_path)
    for name, read, first in (("r.yaml", kt.load, "kinetree: 1"), ("s.yaml", user_study.read, "kinetree-study: 1")):
        (tmp_path / name).write_text(f"{first}\nname: {tag}\n")
        with pytest.raises(kt.FileFormatError, match="tags such as"):
            read(tmp_path / name)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("key", ["q", "about", "time"])
def test_pickles_in_files_of_arrays_are_not_opened(tmp_path, key):
    arrays = {"about": np.array("{}"), "q": np.zeros((1, 1)), "time": np.zeros(1)}
    arrays[key] = np.array([Evil(str(tmp_path / "owned"))], dtype=object)
    np.savez(tmp_path / "r.npz", **arrays)
    with pytest.raises(kt.FileFormatError):
        kt.Record.load(tmp_path / "r.npz")
    with pytest.raises(kt.FileFormatError):
        open_table(tmp_path / "r.npz", {"q": ["a"], "time": ["b"], "about": ["c"]})
    assert not (tmp_path / "owned").exists()
    pickle.loads(pickle.dumps(Evil(str(tmp_path / "owned")))).close()
    assert (tmp_path / "owned").exists()  # it would have been


@pytest.mark.parametrize("name", ["secret.pkl", "secret.py", "/etc/passwd", "http://localhost/a.stl"])
def test_meshes_are_read_from_files_of_meshes_only(tmp_path, name):
    pytest.importorskip("trimesh")
    from kinetree_studio.view.geometry import read_visuals

    (tmp_path / "secret.pkl").write_bytes(pickle.dumps(Evil(str(tmp_path / "owned"))))
    (tmp_path / "secret.py").write_text("open('owned', 'w')")
    (tmp_path / "r.urdf").write_text(robot(LINKS))
    model = kt.load(tmp_path / "r.urdf").model
    visual = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(robot(f'<link name="a"/><link name="b">{visual}</link>'))
    looks, problems = read_visuals(tmp_path / "r.urdf", model, [])
    for look in looks:
        with pytest.raises(kt.FileFormatError, match="meshes are read from files ending in"):
            triangles.triangles(look.shape)
    assert looks or problems
    assert not (tmp_path / "owned").exists()


EVIL = "<script>alert(1)</script> <img src=x onerror=alert(1)> {alert(1)} ![x](/etc/passwd) [y](javascript:alert(1))"


def test_names_on_pages_are_text():
    shown = page(EVIL, {"title": EVIL, "{{style}}": EVIL})
    assert EVIL not in shown
    assert "<img" not in shown
    assert shown.count("<script") == page("", {}).count("<script")
    data = shown[shown.index('id="data">') + 10 :]
    assert unpacked(data[: data.index("</script>")])["title"] == EVIL  # text again where the page sets it as text
    title = f"a {EVIL}"
    text = Study("small", title, "nobody", {"first": lambda quick: Outcome(remarks=[EVIL])}).run().markdown()
    assert "<script" not in text
    assert "<img" not in text
    assert without_tags("a < b") == "a &lt; b"


def test_names_in_c_stay_in_comments(tmp_path):
    """A compiler sees the same program whatever the names are."""
    programs = []
    for name in ("plain", '*/ #include "/etc/passwd" /* \n#error owned\n??/\n\\'):
        b = kt.Builder("robot").body("body", "base", kt.Revolute("y"), joint_name=name, mass=1, com=(0, 0, -1))
        exported = b.build().codegen(tmp_path / str(len(programs)), "inverse_dynamics", prefix="robot")
        text = subprocess.run(
            [COMPILER, "-std=c99", "-trigraphs", "-E", "-P", exported.source.name],
            cwd=exported.source.parent, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        programs.append(text)
    assert programs[0] == programs[1]


def test_loading_runs_no_other_program(tmp_path):
    """But for MuJoCo's compiler, which is started by its full path and without a shell."""
    (tmp_path / "r.urdf").write_text(robot(LINKS))
    program = (
        "import sys, kinetree as kt, warnings; warnings.simplefilter('ignore')\n"
        "forbidden = ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn', 'socket.connect', 'compile')\n"
        "sys.addaudithook(lambda event, _: event in forbidden and found.append(event))\n"
        "found = []; kt.load(sys.argv[1]); import json; found.clear(); kt.load(sys.argv[1]); print(found)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "r.urdf")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

"""Small files that ask for millions of parts: by including, attaching and repeating one another."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.model.formats.source import Source
from kinetree.studies.user_study.reader import StudyReader

pytestmark = pytest.mark.usefixtures("no_hang")

LINK = (
    "<link name='l'><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>"
)


@pytest.fixture(autouse=True)
def soon():
    """Whatever is refused is refused within seconds of processor time; before it took minutes."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 10.0


def nested_sdf(folder: Path, depth: int, times: int) -> Path:
    for k in range(depth):
        inner = "".join(f"<include><uri>{k + 1}.sdf</uri><name>i{j}</name></include>" for j in range(times))
        model = f"<model name='m'>{LINK}{inner if k < depth - 1 else ''}</model>"
        (folder / f"{k}.sdf").write_text(f"<sdf version='1.9'>{model}</sdf>")
    return folder / "0.sdf"


def test_sdf_files_that_include_one_another(tmp_path):
    """Six files of some 700 bytes are 111,111 models, which took more than 100 seconds."""
    with pytest.raises(kt.FileFormatError, match=r"\.sdf, line 1: <include> brings more than 2000 models"):
        kt.load(nested_sdf(tmp_path, 6, 10))
    assert kt.load(nested_sdf(tmp_path, 3, 4)).nv == 6 * (4 + 16)
    nested_sdf(tmp_path, 3, 20)
    (tmp_path / "2.sdf").write_text(f"<sdf version='1.9'><model name='m'>{LINK}{'<gui/>' * 2000}</model></sdf>")
    with pytest.raises(kt.FileFormatError, match="<include> brings more than 200000 elements"):
        kt.load(tmp_path / "0.sdf")


def nested_mjcf(folder: Path, depth: int, times: int, wrap: str = "{}") -> Path:
    for k in range(depth):
        last = k == depth - 1
        asset = "" if last else f"<asset><model name='sub' file='{k + 1}.xml'/></asset>"
        inner = "".join(f"<frame><attach model='sub' body='b' prefix='p{j}'/></frame>" for j in range(times))
        body = f"<body name='b'><joint/><geom size='0.1'/>{'' if last else wrap.format(inner)}</body>"
        (folder / f"{k}.xml").write_text(f"<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>")
    return folder / "0.xml"


def test_mjcf_files_that_attach_one_another(tmp_path):
    with pytest.raises(kt.FileFormatError, match=r"line 1: <attach> asks for \d+ models; at most 2000 are read"):
        kt.load(nested_mjcf(tmp_path, 6, 10))
    wrapped = nested_mjcf(tmp_path, 3, 1, "<replicate count='100' offset='1 0 0'>{}</replicate>")
    with pytest.raises(kt.FileFormatError, match="<attach> asks for 10101 models"):
        kt.load(wrapped)
    assert kt.load(nested_mjcf(tmp_path, 3, 4)).nv == 1 + 4 + 16
    text = (tmp_path / "1.xml").read_text().replace("2.xml", "0.xml")  # a circle, which MuJoCo refuses
    (tmp_path / "1.xml").write_text(text)
    with pytest.raises(kt.FileFormatError):
        kt.load(tmp_path / "0.xml")


def laughs(depth: int) -> str:
    """A list of lists of lists ..., ten each."""
    text = "&a0 [1, 2]"
    for k in range(1, depth):
        text = f"&a{k} [{text}{f', *a{k - 1}' * 9}]"
    return text


@pytest.mark.parametrize("place", ["start: {{q: {}}}", "motion: {{kind: spline, times: {0}, points: {0}}}"])
def test_aliases_of_aliases(tmp_path, place):
    path = tmp_path / "study.yaml"
    path.write_text("kinetree-study: 1\nrobot: kuka-kr5\n" + place.format(laughs(9)) + "\n")
    with pytest.raises(kt.FileFormatError, match=r"line 3: with alias \*a\d, aliases stand for more than 100000"):
        StudyReader(Source(path, path.read_bytes())).study()


def test_aliases_may_repeat_what_is_meant_to_be_repeated(tmp_path):
    link = "{{name: b{0}, parent: {1}, joint: revolute, mass: 1, com: {2}, inertia: {3}}}"
    rows = [link.format(0, "base", "&c [0, 0, 1]", "&i [1, 1, 1]")]
    rows += [link.format(k, f"b{k - 1}", "*c", "*i") for k in range(1, 500)]
    (tmp_path / "chain.yaml").write_text("kinetree: 1\nname: chain\nbodies:\n" + "".join(f"  - {r}\n" for r in rows))
    assert kt.load(tmp_path / "chain.yaml").nv == 500

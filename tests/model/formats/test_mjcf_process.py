"""MJCF that would end the process, exhaust its memory or never end: each is an error about the file."""

from __future__ import annotations

import sys

import pytest

import kinetree as kt
from kinetree.model.formats import mjcf_process

pytest.importorskip("mujoco")

ARM = '<body name="arm"><joint name="hinge" axis="0 1 0"/><geom size="0.1"/></body>'


def mjcf(inside: str = ARM, before: str = "", behind: str = "") -> str:
    return f"<mujoco>\n{before}\n<worldbody>{inside}</worldbody>{behind}</mujoco>"


@pytest.fixture
def load(tmp_path):
    def loaded(text: str) -> kt.Robot:
        (tmp_path / "arm.xml").write_text(text, encoding="utf-8")
        return kt.load(tmp_path / "arm.xml")

    return loaded


@pytest.fixture
def fresh(monkeypatch):
    """No process beside this one yet."""
    monkeypatch.setattr(mjcf_process, "_known", [])
    yield
    for helper in mjcf_process._known:
        helper.stop()


HILL = '<asset><hfield name="h" nrow="65536" ncol="65536" size="1 1 1 1"/></asset>'
PICTURE = '<asset><texture name="t" type="2d" builtin="flat" width="{0}" height="{0}"/></asset>'
DANGERS = {
    "height field": (mjcf(before=HILL), 2, "<hfield> asks for 4.29497e[+]09 points"),
    "texture": (mjcf(before=PICTURE.format(200_000)), 2, "<texture> asks for 4e[+]10 points"),
    "user numbers": (mjcf(before='<size nuser_body="2000000000"/>'), 2, "<size> asks for 2e[+]09 nuser_body"),
    "key frames": (mjcf(before='<size nkey="2147483647"/>'), 2, "<size> asks for 2.14748e[+]09 nkey"),
    "copies": (mjcf(f'<replicate count="1e5">{ARM}</replicate>'), 3, "<replicate> asks for 100000 copies"),
    "copies of copies": (
        mjcf(f'<replicate count="100"><replicate count="100">{ARM}</replicate></replicate>'),
        3,
        "<replicate> asks for 10000 copies",
    ),
    "a format for printing": (mjcf(ARM.replace("<geom", '<geom class="%s%n"')), 3, "may have a percent sign"),
    "a document type": ("<!DOCTYPE mujoco>" + mjcf(), 1, "has a DOCTYPE"),
}


@pytest.mark.parametrize("danger", DANGERS)
def test_dangers_are_refused_before_mujoco_sees_them(load, danger, tmp_path, monkeypatch):
    text, line, told = DANGERS[danger]
    monkeypatch.setattr(mjcf_process, "_helper", lambda: pytest.fail("MuJoCo was asked"))
    monkeypatch.setattr("kinetree.model.formats.mjcf.start", lambda: None)
    with pytest.raises(kt.FileFormatError, match=told) as caught:
        load(text)
    assert caught.value.line == line


def test_dangers_in_included_files_are_found(load, tmp_path):
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{HILL}<include file='other.xml'/></mujocoinclude>")
    with pytest.raises(kt.FileFormatError, match=r"part\.xml, line 1: <hfield> asks for"):
        load(mjcf(before='<include file="part.xml"/>'))


def test_errors_that_mujoco_does_not_foresee_leave_it_working(load, no_hang):
    """Within one process the next file would never be read: a lock stays closed."""
    pin = '<equality><connect body1="arm" anchor=" "/></equality>'
    for _ in range(2):
        with pytest.raises(kt.FileFormatError, match=r"arm\.xml: MuJoCo cannot compile it: "):
            load(mjcf(behind=pin))
        assert load(mjcf()).joint_names == ["hinge"]


def test_what_mujoco_says_keeps_its_line(load):
    with pytest.raises(kt.FileFormatError, match=r"arm\.xml, line 3: MuJoCo cannot compile it: ") as caught:
        load(mjcf('<body><joint type="screw"/></body>'))
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("then", "told"), [("raise SystemExit", "it died"), ("import time; time.sleep(60)", "it took more than 1 s")]
)
def test_a_process_that_dies_or_hangs_is_an_error_about_the_file(load, fresh, monkeypatch, then, told):
    program = f"import sys; print('kinetree compiles MJCF', flush=True); sys.stdin.readline(); {then}"
    with monkeypatch.context() as patched:
        patched.setattr(mjcf_process, "SERVER", program)
        patched.setattr(mjcf_process, "MOST_SECONDS", 1 if "time" in then else 60)
        with pytest.raises(kt.FileFormatError, match=f"MuJoCo cannot compile it: {told}"):
            load(mjcf())
    assert load(mjcf()).joint_names == ["hinge"]


@pytest.mark.parametrize("executable", [None, "", "/nowhere/python", sys.executable])
def test_where_no_process_can_be_started_files_are_read_here(load, fresh, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    if executable and "nowhere" not in executable:
        monkeypatch.setattr(mjcf_process, "SERVER", "print('this is no server')")
    assert load(mjcf()).joint_names == ["hinge"]
    with pytest.raises(kt.FileFormatError, match="MuJoCo cannot compile it"):
        load(mjcf('<body><joint type="screw"/></body>'))

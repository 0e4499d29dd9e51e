"""What reaches the terminal: names cannot steer it, and one that cannot print or is closed gets one line of error."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import kinetree as kt
from helpers.cli import invoke

EVIL = "bob\x1b]0;owned\x07\x1b[2J\x9b1m\u202e\n\rfake"


@pytest.fixture
def robot(tmp_path):
    b = kt.Builder(f"odd {EVIL}")
    b.body(f"body {EVIL}", "base", kt.Revolute("y"), joint_name=f"Δ {EVIL}", mass=1, com=(0, 0, -1))
    b.frame(f"tip {EVIL}", f"body {EVIL}", (0, 0, -1))
    b.build().save(tmp_path / "odd.yaml")
    return tmp_path / "odd.yaml"


def run(*arguments, encoding="utf-8", closed="", **options):
    """Run a command in a process of its own, perhaps with streams closed."""
    command = [sys.executable, "-m", "kinetree.cli", *map(str, arguments)]
    script = f'exec "$@" {closed}'
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run(
        ["sh", "-c", script, "sh", *command], env=environment, capture_output=True, check=False, **options
    )


@pytest.mark.parametrize(
    "arguments",
    [["info"], ["info", "--json"], ["simulate", "--time", "0.01"], ["simulate", "--time", "0.01", "--json"], ["cost"],
     ["simulate", "--q0", "bob=1"], ["codegen", "-f", "bob"]],
    ids=" ".join,
)  # fmt: skip
def test_names_cannot_steer_the_terminal(robot, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bad = "bob" in " ".join(arguments)
    result = invoke(arguments[0], robot, *arguments[1:], code=bad)
    text = result.stdout + result.stderr
    assert text.replace("\n", "").isprintable(), repr(text)
    assert "fake" in text or arguments[0] == "codegen"
    assert not any(line.startswith("fake") for line in text.splitlines())
    if "--json" in arguments:
        assert json.loads(result.stdout)[{"info": "name", "simulate": "robot"}[arguments[0]]] == f"odd {EVIL}"


def test_describe_writes_names_on_one_line(robot):
    assert kt.load(robot).describe().count("\n") == 5


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_terminal_that_cannot_encode_a_name(robot):
    done = run("info", robot, encoding="ascii")
    assert done.returncode == 0
    assert rb"\u0394" in done.stdout
    assert not done.stderr
    assert run("info", f"{robot}Δ", encoding="ascii").stderr.startswith(b"error: ")


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("arguments", [["info", "four-bar"], ["--version"], ["--help"]], ids=" ".join)
def test_a_closed_standard_output_is_one_line_of_error(arguments):
    done = run(*arguments, closed=">&-")
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: standard output is closed")
    assert done.stderr.count(b"\n") == 1
    assert run(*arguments, closed=">&- 2>&-").returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_one_line_of_error():
    done = run("info", "four-bar", closed="> /dev/full")
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_files_are_written_whatever_standard_error_is(tmp_path):
    done = run("simulate", "four-bar", "--time", 0.01, "-o", tmp_path / "r.npz", closed="2>&-")
    assert done.returncode == 0
    assert (tmp_path / "r.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--plot", ""], "--plot: '.' is a folder; name a file"),
        (["-o", ""], ".npz, .csv, .parquet"),
        (["--samples", "999999999999"], "--samples must be at least 2 and at most 5000000"),
    ],
)
def test_options_that_cannot_be(arguments, told):
    assert told in invoke("simulate", "four-bar", "--time", "0.01", *arguments, code=1).stderr

"""Compiled code on disk: found again, never trusted when damaged, and never in the way."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from helpers.kernels import product
from kinetree.engine import cache
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace


def kernel(function, *lengths, name="test", key=None, single_precision=False, shape=None):
    traced = trace(function, lengths, lambda v: v)
    return Kernel(name, lambda: traced, lengths, traced.shape, key, (), single_precision)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path / "cache"


def double(x):
    return [x[0] + x[0]]


def code_files(folder):
    """Files that kernels wrote, without those of the driver that all share."""
    return sorted(folder.glob("*.code")) if folder.exists() else []


def test_code_is_taken_from_the_cache(folder):
    kernel(double, 1, key="k")(np.array([2.0]))
    assert len(code_files(folder)) == 1

    def never():
        raise AssertionError("compiled again")

    again = Kernel("test", never, (1,), (1,), "k")
    assert again(np.array([3.0]))[0] == 6.0


def test_damaged_code_is_compiled_again_with_a_warning(folder):
    kernel(double, 1, key="k")(np.array([2.0]))
    (file,) = code_files(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    with pytest.warns(kt.CacheWarning, match="damaged"):
        assert kernel(double, 1, key="k")(np.array([4.0]))[0] == 8.0
    assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_does_not_stop_anything(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("KINETREE_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(kt.CacheWarning, match="cannot be"):
        assert kernel(double, 1, key="k")(np.array([4.0]))[0] == 8.0


def test_the_cache_can_be_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "off")
    assert cache.directory() is None
    assert kernel(double, 1, key="k")(np.array([4.0]))[0] == 8.0


def test_two_processes_may_write_at_once(folder):
    program = (
        "import numpy as np\n"
        "from kinetree.engine.kernels.kernel import Kernel\n"
        "from kinetree.engine.trace import trace\n"
        "k = Kernel('t', lambda: trace(lambda x: [x[0] * x[0]], [1], lambda v: v), (1,), (1,), 'shared')\n"
        "assert k(np.array([3.0]))[0] == 9.0\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", program], env=os.environ) for _ in range(3)]
    assert [r.wait() for r in runs] == [0, 0, 0]
    assert not list(folder.glob(".writing-*"))


@pytest.mark.parametrize("damage", ["a bit of the code", "a bit of the checksum", "empty", "zeros", "more"])
def test_damaged_files_are_never_run(folder, damage):
    product(key="k")(np.ones(2))
    (file,) = folder.glob("*.code")
    whole = bytearray(file.read_bytes())
    changed = {"empty": b"", "zeros": bytes(len(whole)), "more": whole + b"x"}.get(damage)
    if changed is None:
        changed = bytearray(whole)
        changed[len(whole) // 2 if "code" in damage else 20] ^= 4
    file.write_bytes(changed)
    with pytest.warns(kt.CacheWarning, match="damaged"):
        assert product(key="k")(np.ones(2))[0] == 2.0
    assert file.read_bytes() == whole


def test_an_interrupt_while_code_is_written_leaves_nothing_behind(folder, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        product(key="k")(np.ones(2))
    assert list(folder.iterdir()) == []
    monkeypatch.undo()
    assert product(key="k")(np.ones(2))[0] == 2.0


def test_a_disk_that_becomes_read_only_while_code_is_written(folder, monkeypatch):
    def refuse(*args, **options):
        raise OSError(30, "Read-only file system")

    for what in ("replace", "unlink"):
        monkeypatch.setattr(os, what, refuse)
    with pytest.warns(kt.CacheWarning, match="cannot be written .*Read-only"):
        assert product(key="k")(np.ones(2))[0] == 2.0

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


# ------------------------------------------------------------------ code that somebody else may have planted


def triple(x):
    return [x[0] + x[0] + x[0]]


@pytest.fixture
def planted(folder):
    """The code of another kernel, whole and with its checksum, where that of :func:`double` is looked for."""
    kernel(double, 1, key="k")(np.array([2.0]))
    (file,) = code_files(folder)
    file.unlink()
    kernel(triple, 1, key="other")(np.array([2.0]))
    (other,) = code_files(folder)
    other.rename(file)
    assert kernel(double, 1, key="k")(np.array([2.0]))[0] == 6.0  # what is in the cache is run
    return file


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.parametrize(
    ("place", "mode"), [("folder", 0o777), ("folder", 0o770), ("folder", 0o1777), ("file", 0o666), ("file", 0o620)]
)
def test_code_that_others_could_have_written_is_not_run(folder, planted, place, mode):
    (folder if place == "folder" else planted).chmod(mode)
    with pytest.warns(kt.CacheWarning, match=f"others can write to \\(mode {mode:o}\\)") as caught:
        assert [kernel(double, 1, key="k")(np.array([x]))[0] for x in (2.0, 4.0)] == [4.0, 8.0]
    assert len(caught) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no users by number")
@pytest.mark.parametrize("place", ["folder", "file"])
def test_code_of_another_user_is_not_run(folder, planted, place, monkeypatch):
    stranger = folder if place == "folder" else planted
    real = os.fstat

    def fstat(opened):
        found = real(opened)
        if os.path.samestat(found, os.stat(stranger)):
            found = os.stat_result([*found[:4], found.st_uid + 1, *found[5:]])
        return found

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.warns(kt.CacheWarning, match=f"{stranger}, which belongs to another user"):
        assert kernel(double, 1, key="k")(np.array([2.0]))[0] == 4.0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_root_does_not_run_the_code_of_a_user(folder, planted):
    os.chown(folder, 12345, -1)
    with pytest.warns(kt.CacheWarning, match="belongs to another user .uid 12345, yours is 0"):
        assert kernel(double, 1, key="k")(np.array([2.0]))[0] == 4.0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_nothing_is_kept_where_nothing_would_be_read(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(kt.CacheWarning, match="others can write to"):
        kernel(double, 1, key="k")(np.array([2.0]))
    assert not code_files(folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_folder_and_files_are_made_for_the_user_only(folder, monkeypatch):
    old = os.umask(0)
    try:
        kernel(double, 1, key="k")(np.array([2.0]))
    finally:
        os.umask(old)
    (file,) = code_files(folder)
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_on_windows_code_is_kept_below_the_profile_only(folder, planted, monkeypatch):
    monkeypatch.setattr(cache.Path, "home", lambda: folder.parent)
    monkeypatch.setattr(cache, "_IS_WINDOWS", True)
    assert kernel(double, 1, key="k")(np.array([2.0]))[0] == 6.0
    monkeypatch.setattr(cache.Path, "home", lambda: folder.parent / "elsewhere")
    with pytest.warns(kt.CacheWarning, match="not below your own folder"):
        assert kernel(double, 1, key="k")(np.array([2.0]))[0] == 4.0


def test_the_key_of_own_code_changes_with_any_source(tmp_path):
    def key():
        cache.digest_of_sources.cache_clear()
        return cache.digest_of_sources(tmp_path)

    (tmp_path / "inner").mkdir()
    files = tmp_path / "a.py", tmp_path / "inner" / "b.py"
    found = [key()]
    for file in files:
        for text in ("x = 1\n", "x = 2\n"):
            file.write_text(text)
            found.append(key())
    (tmp_path / "notes.txt").write_text("no code")
    assert key() == found[-1]
    assert len(set(found)) == 5
    cache.digest_of_sources.cache_clear()


def test_a_start_from_the_cache_writes_no_assembly(folder):
    """Neither for the kernel nor for the loop over batches, the entry point and the threads."""
    program = (
        "import numpy as np, kinetree as kt\n"
        "from kinetree.engine.llvm import assembly\n"
        "def count(self, *given, write=assembly.Module.__init__):\n"
        "    made.append(1)\n"
        "    write(self, *given)\n"
        "made, assembly.Module.__init__ = [], count\n"
        "robot = kt.Builder('p').body('b', 'base', kt.Revolute('y'), mass=1, com=(0, 0, -1)).build()\n"
        "robot, x = robot.with_backend('compiled'), np.ones((500, 1))\n"
        "for given in (x, x[0]):\n"
        "    for _ in range(2):\n"
        "        robot.inverse_dynamics(given, given, given, threads=2)\n"
        "print(len(made))\n"
    )
    first, second = (
        int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    )
    assert first > 3
    assert second == 0

"""Bars of progress: for long work, where somebody looks."""

from __future__ import annotations

import _thread
import io
import sys
import time
from contextlib import suppress

import pytest

from kinetree.io import progress


def shown(monkeypatch, terminal, steps):
    """What a run in steps writes to standard error."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(written, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    monkeypatch.setenv("TERM", "xterm")
    progress.in_steps(steps, show=True)
    return written.getvalue()


def test_a_bar_appears_in_the_middle_of_one_long_step(monkeypatch, capsys):
    text = shown(monkeypatch, True, [("forward_dynamics of 'talos', batches", lambda: time.sleep(0.4))])
    assert "forward_dynamics of 'talos', batches" in text
    assert "0/1" in text
    assert capsys.readouterr().out == ""


def test_no_bar_for_short_work_nor_where_nobody_looks(monkeypatch, capsys):
    quick = ("quick", lambda: None)
    assert shown(monkeypatch, True, [quick, quick]) == ""
    assert shown(monkeypatch, False, [("slow", lambda: time.sleep(0.2))]) == ""
    assert capsys.readouterr().out == ""


def test_a_log_gets_one_line_about_long_work(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_OF_LOGS", 0.1)
    steps = [("poses", lambda: None), ("jacobians", lambda: time.sleep(0.3)), ("momenta", lambda: time.sleep(0.3))]
    assert shown(monkeypatch, False, steps) == "kinetree is compiling jacobians (2 of 3), once: the code is kept\n"


def test_the_bar_goes_away_when_a_step_fails(monkeypatch):
    def fail():
        time.sleep(0.3)
        raise ValueError("no")

    before = _thread._count()
    with pytest.raises(ValueError, match="no"):
        shown(monkeypatch, True, [("fails", fail)])
    with suppress(ValueError):
        shown(monkeypatch, True, [("fails at once", lambda: int("x"))])
    time.sleep(0.1)
    assert _thread._count() <= before


@pytest.mark.parametrize("given", [RuntimeError("can't start new thread"), None])
def test_work_goes_on_where_threads_cannot_start_or_never_begin(monkeypatch, given):
    def start(*args):
        if given:
            raise given

    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert progress.in_steps([("one", lambda: 1), ("two", lambda: 2)], show=True) == [1, 2]

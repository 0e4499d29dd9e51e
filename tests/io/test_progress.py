"""Bars on the terminal: for long work, where somebody looks, and gone at the end."""

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
    monkeypatch.setattr(progress, "BEFORE_BAR", 0.02)
    monkeypatch.setenv("TERM", "xterm")
    progress.in_steps(steps, show=True)
    return written.getvalue()


def test_a_bar_appears_in_the_middle_of_one_long_step(monkeypatch, capsys):
    def until_it_is_there():
        ends = time.monotonic() + 20.0
        while "0/1" not in sys.stderr.getvalue() and time.monotonic() < ends:
            time.sleep(0.02)

    text = shown(monkeypatch, True, [("forward_dynamics of 'talos', batches", until_it_is_there)])
    assert "forward_dynamics of 'talos', batches" in text
    assert "0/1" in text
    assert capsys.readouterr().out == ""


def test_no_bar_for_short_work_nor_where_nobody_looks(monkeypatch, capsys):
    quick = ("quick", lambda: None)
    assert shown(monkeypatch, True, [quick, quick]) == ""
    assert shown(monkeypatch, False, [("slow", lambda: time.sleep(0.2))]) == ""
    assert capsys.readouterr().out == ""


def test_a_log_gets_one_line_about_long_work(monkeypatch):
    monkeypatch.setattr(progress, "BEFORE_LOG", 0.1)
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


def stream(monkeypatch, is_terminal):
    """Standard error, taken for a terminal or for none."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(written, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return written


def test_a_bar_says_what_is_going_on_and_how_many_are_done(monkeypatch):
    terminal = stream(monkeypatch, True)
    with progress.Bar(3, "[starting]", counted=True) as bar:
        bar.show(2, "second [thing]")
        time.sleep(0.2)
    assert "second [thing]" in terminal.getvalue()
    assert "2/3" in terminal.getvalue()


def test_nothing_is_drawn_where_nobody_looks_or_wants_it(monkeypatch):
    written = stream(monkeypatch, False)
    with progress.Bar(3, "starting") as bar:
        bar.show(3)
    written = stream(monkeypatch, True)
    with progress.Bar(3, "starting", wanted=False) as bar:
        bar.show(3)
    assert written.getvalue() == ""
    assert bar.done == 3


def test_simulated_time_is_shown_after_a_while_only(monkeypatch):
    terminal = stream(monkeypatch, True)
    with progress.TimeBar(1.0, 3.0, wanted=True) as bar:
        bar.show_time(2.0)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(progress, "BEFORE_BAR", 0.0)
    with progress.TimeBar(1.0, 3.0, wanted=True) as bar:
        bar.show_time(2.0)
        bar.show_time(2.1)  # too soon after the other
    assert "simulating, t = 2 s" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "2.1" not in terminal.getvalue()

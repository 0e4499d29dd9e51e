"""Bars on the terminal: drawn where somebody looks, and gone at the end."""

from __future__ import annotations

import io
import sys
import time

from kinetree.io import progress


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
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.TimeBar(1.0, 3.0, wanted=True) as bar:
        bar.show_time(2.0)
        bar.show_time(2.1)  # too soon after the other
    assert "simulating, t = 2 s" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "2.1" not in terminal.getvalue()

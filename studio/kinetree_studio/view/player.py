"""The clock of a motion: play, pause, speed, repeat."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable

from kinetree.errors import Message, OptionError, Setting

FRAME = 1.0 / 30.0
"""Seconds between two pictures during playback."""


class Player:
    """Moves a time through an interval.

    Parameters
    ----------
    begin, end : float
        The interval in seconds.
    show : callable
        Called with every new time.
    changed : callable
        Called with whether the motion is playing, whenever this, the speed or the repetition changes.

    Attributes
    ----------
    time : float
    playing : bool
    repeat : bool
        Whether to begin again at the end.
    """

    def __init__(
        self, begin: float, end: float, show: Callable[[float], None], changed: Callable[[bool], None] | None = None
    ) -> None:
        self.begin, self.end, self.show, self.changed = begin, end, show, changed
        self.time, self.playing, self._repeat = begin, False, False
        self._speed = 1.0
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def speed(self) -> float:
        """The seconds of motion per second; negative plays backward."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if not abs(value) < float("inf"):
            raise OptionError(Message(Setting("speed"), f" must be a finite number, not {value!r}"))
        self._speed = float(value)
        if self.changed is not None:
            self.changed(self.playing)

    @property
    def repeat(self) -> bool:
        """Whether it begins again at the end."""
        return self._repeat

    @repeat.setter
    def repeat(self, value: bool) -> None:
        self._repeat = bool(value)
        if self.changed is not None:
            self.changed(self.playing)

    def play(self) -> None:
        """Play from the current time; from the start if it is at the end."""
        with self._lock:
            if self._speed > 0 and self.time >= self.end:
                self.seek(self.begin)
            elif self._speed < 0 and self.time <= self.begin:
                self.seek(self.end)
            self._set_playing(True)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kinetree player", daemon=True)
                self._thread.start()
            self._wake.set()

    def pause(self) -> None:
        """Stop at the current time."""
        with self._lock:
            self._wake.clear()
            self._set_playing(False)

    def seek(self, time: float) -> None:
        """Show another time.

        Parameters
        ----------
        time : float
            A time within the interval.
        """
        if not self.begin <= time <= self.end:
            raise OptionError(f"the motion lasts from {self.begin:g} to {self.end:g} s: {time!r} is outside of it")
        with self._lock:
            self.time = float(time)
            self.show(self.time)

    def advance(self, seconds: float) -> None:
        """Advance the motion by some seconds of real time."""
        with self._lock:
            time = self.time + self._speed * seconds
            if not self.begin <= time <= self.end:
                if self._repeat and self.end > self.begin:
                    time = self.begin + (time - self.begin) % (self.end - self.begin)
                else:
                    time = min(max(time, self.begin), self.end)
                    self.pause()
            self.seek(time)

    def close(self) -> None:
        """Stop for good."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def _set_playing(self, playing: bool) -> None:
        if playing != self.playing:
            self.playing = playing
            if self.changed is not None:
                self.changed(playing)

    def _run(self) -> None:
        before = clock.monotonic()
        while not self._stopped.is_set():
            if not self.playing:
                self._wake.wait()
                before = clock.monotonic()
            if self._stopped.wait(FRAME):
                return
            now = clock.monotonic()
            with self._lock:
                if self.playing:
                    self.advance(now - before)
            before = now

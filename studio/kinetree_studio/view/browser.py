"""A headless Chromium that draws what the viewer shows."""

from __future__ import annotations

import atexit
import base64
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time as clock
from contextlib import suppress
from pathlib import Path
from typing import Any

from kinetree.errors import KinetreeError, OptionError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
VARIABLE = "KINETREE_BROWSER"
"""Environment variable with the path of a browser to use instead."""

PATIENCE_WITH_BROWSER = 90.0
"""Seconds to wait for the browser before giving up: machines without a graphics card are slow."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # it opens only kinetree's own page, and root and containers have no sandbox
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",  # a port would let every account of this machine read this user's files by the browser
)

STARTED = (
    "import fcntl, os, sys\n"
    "ends = [fcntl.fcntl(int(x), fcntl.F_DUPFD, 10) for x in sys.argv[1:3]]\n"
    "for place, end in zip((3, 4), ends): os.dup2(end, place)\n"
    "os.execv(sys.argv[3], sys.argv[3:])"
)
"""Starts a program with two pipes at the file descriptors that Chromium uses: it reads from 3 and writes to 4."""


class BrowserError(KinetreeError, RuntimeError):
    """A browser that does not start or does not draw; quotes its messages."""


def find_browser() -> str:
    """Find a Chromium, or raise an error that says what to install."""
    if sys.platform == "win32":
        raise OptionError("pictures and videos can be drawn on Linux and macOS; recordings also on Windows")
    chosen = os.environ.get(VARIABLE)
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise OptionError(f"{VARIABLE} names {chosen!r}, which is not a program")
        return found
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise OptionError(
        "screenshots and videos are drawn by Chromium without a window, and none was found. Install one "
        f"(Debian, Ubuntu: apt-get install chromium), or set {VARIABLE} to the path of Chromium or Chrome"
    )


class Browser:
    """A headless Chromium with one page.

    Parameters
    ----------
    url : str
        The page to open.
    size : (int, int)
        Width and height of the page in pixels.
    """

    def __init__(self, url: str, size: tuple[int, int]) -> None:
        self.program = find_browser()
        self.folder = Path(tempfile.mkdtemp(prefix="kinetree-browser-"))
        self.said = self.folder / "said.txt"
        self.calls = 0
        self.session = ""
        width, height = size
        arguments = [self.program, *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self.folder}", url]
        asked, answered = os.pipe(), os.pipe()
        theirs = (asked[0], answered[1])
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-IS", "-c", STARTED, *map(str, theirs), *arguments],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, pass_fds=theirs, start_new_session=True,
            )  # fmt: skip
        for end in theirs:
            os.close(end)
        self._pipes = _Pipes(asked[1], answered[0])
        atexit.register(self.close)  # a viewer that is never closed must not leave a browser running

    def check_alive(self) -> None:
        """Raise an error with the browser's messages if it has ended."""
        if self.process.poll() is not None:
            words = self.said.read_text(errors="replace").strip().splitlines()
            raise BrowserError(
                f"{self.program} ended with code {self.process.returncode}: "
                + ("\n".join(words[-5:]) or "it printed nothing")
            )

    def close(self) -> None:
        """End the browser and remove its files."""
        atexit.unregister(self.close)
        self._pipes.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ the page, over the DevTools protocol

    def page_picture(self, size: tuple[int, int]) -> bytes:
        """Draw the whole page with its controls, as PNG."""
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.evaluate("window.kinetree && kinetree.settle()")
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def evaluate(self, script: str) -> Any:
        """Evaluate a JavaScript expression in the page; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"the page failed at {script!r}: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command of the DevTools protocol to the page and return the reply."""
        if not self.session:
            self.session = self._attached()
        return self._exchange(method, parameters, {"sessionId": self.session})

    def _attached(self) -> str:
        """Find the page, wait for it if necessary, and return the ID of a session with it."""
        given_up = clock.monotonic() + PATIENCE_WITH_BROWSER
        while clock.monotonic() < given_up:
            targets = self._exchange("Target.getTargets")["targetInfos"]
            pages = [target["targetId"] for target in targets if target["type"] == "page"]
            if pages:
                found = self._exchange("Target.attachToTarget", {"targetId": pages[0], "flatten": True})
                return str(found["sessionId"])
            clock.sleep(0.05)
        raise BrowserError(f"the browser did not open a page within {PATIENCE_WITH_BROWSER:g} s")

    def _exchange(self, method: str, parameters: Any = None, whose: Any = None) -> dict[str, Any]:
        self.calls += 1
        given_up = clock.monotonic() + PATIENCE_WITH_BROWSER
        try:
            self._pipes.send({"id": self.calls, "method": method, "params": parameters or {}, **(whose or {})})
            while (answer := self._pipes.received(given_up)).get("id") != self.calls:
                pass
        except TimeoutError:
            raise BrowserError(f"the browser did not answer {method} within {PATIENCE_WITH_BROWSER:g} s") from None
        except OSError:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5.0)
            self.check_alive()
            raise BrowserError(f"the browser no longer responds, when asked for {method}") from None
        if "error" in answer:
            raise BrowserError(f"the browser refused {method}: {answer['error'].get('message')}")
        return dict(answer["result"])


class _Pipes:
    """JSON messages to and from a browser, each terminated by a zero byte."""

    def __init__(self, to: int, back: int) -> None:
        self.to, self.back = os.fdopen(to, "wb", buffering=0), os.fdopen(back, "rb", buffering=0)
        self.waiting = selectors.DefaultSelector()
        self.waiting.register(back, selectors.EVENT_READ)
        self.arrived = bytearray()

    def send(self, message: dict[str, Any]) -> None:
        left = memoryview(json.dumps(message).encode() + b"\0")
        while left:
            left = left[self.to.write(left) :]

    def received(self, given_up: float) -> dict[str, Any]:
        looked = 0
        while (end := self.arrived.find(b"\0", looked)) < 0:
            looked = len(self.arrived)
            if not self.waiting.select(max(0.0, given_up - clock.monotonic())):
                raise TimeoutError
            more = self.back.read(1 << 16)
            if not more:
                raise BrokenPipeError
            self.arrived += more
        message = json.loads(self.arrived[:end])
        del self.arrived[: end + 1]
        return dict(message)

    def close(self) -> None:
        self.waiting.close()
        for end in (self.to, self.back):
            with suppress(OSError):
                end.close()

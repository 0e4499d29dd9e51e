"""A Chromium without a window, which draws what the viewer shows."""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time as clock
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import KinetreeError, OptionError

Array = np.ndarray

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
VARIABLE = "KINETREE_BROWSER"
"""Environment variable with the path of a browser to use instead."""

PATIENCE = 90.0
"""Seconds to wait for the browser before giving up: machines without a graphics card are slow."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # it only ever opens our own page, and root and containers have no sandbox
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
    "--remote-debugging-port=0",
)


class BrowserError(KinetreeError, RuntimeError):
    """A browser that does not start or does not draw; says what it said."""


def find_browser() -> str:
    """Find a Chromium, or raise an error that says what to install."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise OptionError(f"{VARIABLE} names {chosen!r}, which is no program")
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
        self._socket: Any = None
        width, height = size
        arguments = [self.program, *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self.folder}", url]
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )
        atexit.register(self.close)  # a viewer that nobody closes must not leave a browser behind

    def check_alive(self) -> None:
        """Raise with the browser's own words if it has ended."""
        if self.process.poll() is not None:
            words = self.said.read_text(errors="replace").strip().splitlines()
            raise BrowserError(
                f"{self.program} ended with code {self.process.returncode}: "
                + ("\n".join(words[-5:]) or "it said nothing")
            )

    def close(self) -> None:
        """End the browser and remove its traces."""
        atexit.unregister(self.close)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
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
        """Send one command of the DevTools protocol and return its answer."""
        if self._socket is None:
            self._socket = self._connect()
        self.calls += 1
        self._socket.send(json.dumps({"id": self.calls, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise BrowserError(f"the browser refused {method}: {answer['error'].get('message')}")
                return dict(answer["result"])

    def _connect(self) -> Any:
        from websockets.sync.client import connect

        given_up = clock.monotonic() + PATIENCE
        port_file = self.folder / "DevToolsActivePort"
        while clock.monotonic() < given_up:
            self.check_alive()
            lines = port_file.read_text().split() if port_file.is_file() else []
            if lines:
                with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json", timeout=PATIENCE) as answer:
                    pages = [t for t in json.load(answer) if t["type"] == "page"]
                if pages:
                    return connect(pages[0]["webSocketDebuggerUrl"], max_size=None)
            clock.sleep(0.05)
        raise BrowserError(f"the browser did not open a page within {PATIENCE:g} s")

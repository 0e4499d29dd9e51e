"""Pages in a headless Chromium: scripts are evaluated in them, and the mouse is moved."""

import time as clock

import pytest

from kinetree.errors import OptionError
from kinetree_studio.view.browser import find_browser

try:
    BROWSER = find_browser()
except OptionError as problem:
    BROWSER, REASON = None, str(problem)

IN_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason=f"no Chromium: {REASON}" if BROWSER is None else ""),
    pytest.mark.xdist_group("browser"),
]
"""Marks of tests that need Chromium."""

WATCH = """
window.problems = [];
for (const name of ["error", "warn"]) console[name] = (...x) => problems.push(x.join(" "));
addEventListener("error", (e) => problems.push(e.message));
addEventListener("unhandledrejection", (e) => problems.push(String(e.reason)));
document.addEventListener("securitypolicyviolation", (e) => problems.push(`${e.violatedDirective}: ${e.blockedURI}`));
"""


class Page:
    """A page in the browser; it is there when a condition holds."""

    def __init__(self, browser, url, ready):
        self.browser = browser
        browser.call("Page.enable")
        watching = browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)["identifier"]
        browser.call("Page.navigate", url=url)
        self.wait(f"Boolean(window.kinetree && (kinetree.problem || ({ready})))")
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=watching)
        assert self("kinetree.problem") == ""

    def __call__(self, script):
        return self.browser.evaluate(script)

    def wait(self, condition, seconds=60.0):
        until = clock.monotonic() + seconds
        while clock.monotonic() < until:
            if self(condition):
                return
            clock.sleep(0.03)
        raise AssertionError(f"{condition}: not within {seconds} s; {self('window.problems')}")

    def mouse(self, kind, x, y, held=True):
        given = {"x": x, "y": y, "button": "left", "buttons": int(held), "clickCount": 1}
        self.browser.call("Input.dispatchMouseEvent", type=kind, **given)

"""The studio in a headless Chromium: what is called so is clicked, and clicks are counted."""

from helpers.chromium import Page

FIND = """((what) => {
  const bold = (x) => (x.querySelector(":scope > b") || {}).textContent;
  const named = (x) => [x.textContent.trim(), x.title, x.dataset.name, bold(x)];
  const found = [...document.querySelectorAll("button")].find((x) => x.offsetParent && named(x).includes(what));
  if (!found) return null;
  found.scrollIntoView({ block: "center" });
  const box = found.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
})"""


class Desk(Page):
    """The studio in the browser, with a count of clicks."""

    def __init__(self, browser, url):
        super().__init__(browser, url, "kinetree.desk")
        self.clicks = 0

    def at(self, x, y):
        """Click a place."""
        self.clicks += 1
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y, held=False)

    def click(self, what):
        """Click what is called so."""
        found = self(f"{FIND}({what!r})")
        assert found, what
        self.at(*found)

    def type(self, label, text):
        """Click a field, type, and leave it with Enter."""
        self.clicks += 1
        self(f"""window.typed = document.querySelector('input[aria-label="{label}"]'); typed.focus(); typed.select()""")
        self.browser.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)

    def settled(self):
        """Wait for the robot that is open."""
        self.wait("kinetree.app && kinetree.app.drawn && !kinetree.app.waits && document.body.dataset.shows === 'desk'")

    def clean(self):
        """Nothing was said on the console, refused, or thrown."""
        assert self("problems") == []

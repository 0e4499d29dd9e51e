"""Pictures and videos without a browser window."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import subprocess
import tempfile
import time as clock
from pathlib import Path
from typing import IO, Any

import numpy as np

from kinetree.errors import OptionError, OutputError
from kinetree.io.atomic_files import beside
from kinetree.io.paths import as_path, is_folder
from kinetree.spatial.arrays import Array

from . import browser as chromium

PICTURES = (".png", ".jpg", ".jpeg")
FILMS = (".mp4", ".webm", ".gif")
PAGES = (".html", ".htm")
LARGEST = 4096
CODECS = {
    ".mp4": ("-c:v", "libx264", "-preset", "fast", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart"),
    ".webm": ("-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0", "-pix_fmt", "yuv420p"),
    ".gif": ("-filter_complex", "split[a][b];[a]palettegen[p];[b][p]paletteuse", "-loop", "0"),
}
"""Options of ffmpeg for each kind of video: colors that every player supports; for GIF, the best 256."""


class Camera:
    """A headless browser that shows a viewer's page.

    Parameters
    ----------
    url : str
        The page.
    """

    def __init__(self, url: str) -> None:
        self.browser = chromium.Browser(url, (1280, 900))
        try:
            self._settle()
        except BaseException:
            self.browser.close()
            raise

    def _settle(self) -> None:
        """Wait until the page has drawn its first picture."""
        given_up = clock.monotonic() + chromium.PATIENCE_WITH_BROWSER
        while clock.monotonic() < given_up:
            said = self.browser.evaluate("window.kinetree ? kinetree.problem || (kinetree.app ? 'ready' : '') : ''")
            if said == "ready":
                return
            if said:
                raise chromium.BrowserError(f"the page cannot be drawn: {said}")
            self.browser.check_alive()
            clock.sleep(0.02)
        raise chromium.BrowserError(f"the browser did not show the page within {chromium.PATIENCE_WITH_BROWSER:g} s")

    def go(self, url: str) -> None:
        """Show another page."""
        self.browser.call("Page.navigate", url=url)
        self.browser.evaluate("new Promise(done => setTimeout(done, 0))")
        self._settle()

    def tell(self, news: dict[str, Any]) -> None:
        """Send the current view to the page."""
        self.browser.evaluate(f"kinetree.app.told({json.dumps(news)})")

    def picture(self, size: tuple[int, int], *, time: float | None = None, film: bool = False) -> Array:
        """Draw the camera's view as (height, width, 3) bytes; for a video, this is faster but less exact."""
        kind = "image/jpeg" if film else "image/png"
        width, height = size
        drawn = self.browser.evaluate(f"kinetree.picture({width}, {height}, {json.dumps(time)}, {kind!r})")
        return _decoded(base64.b64decode(str(drawn).partition(",")[2]))

    def page(self, size: tuple[int, int]) -> Array:
        """Draw the whole page with its controls; (height, width, 3) bytes."""
        return _decoded(self.browser.page_picture(size))

    def close(self) -> None:
        """End the browser."""
        self.browser.close()


def _decoded(picture: bytes) -> Array:
    import imageio.v3 as imageio

    return np.asarray(imageio.imread(io.BytesIO(picture)))[..., :3]


def check_size(size: Any, even: bool = False) -> tuple[int, int]:
    """Check a width and height in pixels."""
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"size is width and height in pixels, such as (1280, 800), not {size!r}") from None
    if not (16 <= width <= LARGEST and 16 <= height <= LARGEST):
        raise OptionError(f"width and height must be from 16 to {LARGEST} pixels, not {width} and {height}")
    if even and (width % 2 or height % 2):
        raise OptionError(f"videos have an even number of pixels each way, not {width} by {height}")
    return width, height


def check_path(path: str | os.PathLike[str], endings: tuple[str, ...], what: str) -> Path:
    """Check, before anything is drawn, that a path has one of the endings and is in a folder that exists."""
    chosen = as_path(path, "a picture, video or page")
    if chosen.suffix.lower() not in endings:
        raise OptionError(f"{what} are written as {', '.join(endings)}, not as {chosen.name!r}")
    if not is_folder(chosen.parent):
        raise OutputError(f"{chosen} cannot be written: there is no folder {str(chosen.parent)!r}")
    return chosen


def write_picture(path: Path, image: Array) -> None:
    """Write a picture, completely or not at all."""
    import imageio.v3 as imageio

    with beside(path) as name:
        imageio.imwrite(name, image)


class Film:
    """A video to which pictures are added; it is always completed, even if an error occurs.

    Parameters
    ----------
    path : Path
        ``.mp4``, ``.webm`` or ``.gif``.
    fps : float
        Pictures per second.
    size : (int, int)
        Width and height of every picture.
    """

    def __init__(self, path: Path, fps: float, size: tuple[int, int]) -> None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]
        except ImportError:
            raise OptionError("videos need the package imageio-ffmpeg: pip install 'kinetree[view]'") from None
        given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:g}", "-i", "-"]
        made = CODECS[path.suffix.lower()]
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the film is
        self.process = subprocess.Popen(
            [get_ffmpeg_exe(), "-y", "-loglevel", "error", *given, "-an", *made, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.said,
        )  # fmt: skip

    def __enter__(self) -> Film:
        return self

    def __exit__(self, problem: object, *_: object) -> None:
        if problem is not None:
            self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._pipe.close()
        code = self.process.wait()
        self.said.seek(0)
        words = self.said.read().decode(errors="replace").strip()
        self.said.close()
        if problem is None and code != 0:
            raise OutputError(f"the video could not be made (ffmpeg ended with code {code}): {words}")

    @property
    def _pipe(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def add(self, image: Array) -> None:
        """Add a picture, (height, width, 3) bytes."""
        with contextlib.suppress(BrokenPipeError):  # reported at the end, with ffmpeg's message
            self._pipe.write(np.ascontiguousarray(image, dtype=np.uint8).tobytes())

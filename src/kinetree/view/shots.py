"""Pictures and films without a browser window."""

from __future__ import annotations

import io
import os
import tempfile
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import OptionError, OutputError
from . import browser as chromium

Array = np.ndarray

PICTURES = (".png", ".jpg", ".jpeg")
FILMS = (".mp4", ".gif", ".webm")
LARGEST = 4096
HIDE_NOTICES = """document.querySelectorAll('[class*="Notification-root"]').forEach(e => e.style.display = "none")"""


class Camera:
    """A headless browser that is connected to a viewer's server.

    Parameters
    ----------
    server : viser.ViserServer
    url : str
        The server's page.
    """

    def __init__(self, server: Any, url: str) -> None:
        self.server = server
        before = set(server.get_clients())
        self.browser = chromium.Browser(url, (640, 480))
        try:
            self.client = self._joined(before)
            self._settle()
        except BaseException:
            self.browser.close()
            raise

    def _joined(self, before: set[int]) -> Any:
        """The browser as the server knows it."""
        given_up = clock.monotonic() + chromium.PATIENCE
        while clock.monotonic() < given_up:
            self.browser.check_alive()
            new = [client for number, client in self.server.get_clients().items() if number not in before]
            if new:
                return new[0]
            clock.sleep(0.02)
        raise chromium.BrowserError(f"the browser did not show the page within {chromium.PATIENCE:g} s")

    def _settle(self) -> None:
        """Wait until the page has drawn everything: two pictures alike."""
        last, given_up = self.picture((320, 240)), clock.monotonic() + chromium.PATIENCE
        while clock.monotonic() < given_up:
            clock.sleep(0.05)
            now = self.picture((320, 240))
            if np.array_equal(now, last):
                return
            last = now

    def picture(self, size: tuple[int, int]) -> Array:
        """What the camera sees, on white; (height, width, 3) bytes."""
        width, height = size
        try:
            image = self.client.get_render(height, width, transport_format="png", timeout=chromium.PATIENCE)
        except (RuntimeError, TimeoutError) as problem:
            self.browser.check_alive()
            raise chromium.BrowserError(f"the browser drew nothing ({problem})") from None
        share = image[..., 3:].astype(float) / 255.0
        return np.asarray(np.round(image[..., :3] * share + 255.0 * (1.0 - share)), dtype=np.uint8)

    def page(self, size: tuple[int, int]) -> Array:
        """The whole page with its controls; (height, width, 3) bytes."""
        import imageio.v3 as imageio

        self.browser.evaluate(HIDE_NOTICES)
        return np.asarray(imageio.imread(io.BytesIO(self.browser.page_picture(size))))[..., :3]

    def close(self) -> None:
        """End the browser."""
        self.browser.close()


def check_size(size: Any, even: bool = False) -> tuple[int, int]:
    """Width and height in pixels, or an error."""
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError):
        raise OptionError(f"size is width and height in pixels, such as (1280, 800), not {size!r}") from None
    if not (16 <= width <= LARGEST and 16 <= height <= LARGEST):
        raise OptionError(f"width and height must be from 16 to {LARGEST} pixels, not {width} and {height}")
    if even and (width % 2 or height % 2):
        raise OptionError(f"films have an even number of pixels each way, not {width} by {height}")
    return width, height


def check_path(path: str | os.PathLike[str], endings: tuple[str, ...], what: str) -> Path:
    """A path with one of the endings and in a folder that is there, before anything is drawn."""
    chosen = Path(path)
    if chosen.suffix.lower() not in endings:
        raise OptionError(f"{what} are written as {', '.join(endings)}, not as {chosen.name!r}")
    if not chosen.parent.is_dir():
        raise OutputError(f"{chosen} cannot be written: there is no folder {str(chosen.parent)!r}")
    return chosen


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A name beside a file to write to; it takes the file's place when all went well, and is gone otherwise."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
        os.close(handle)
        os.chmod(name, 0o666 & ~_umask())
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem}") from None
    try:
        yield Path(name)
        os.replace(name, path)
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_picture(path: Path, image: Array) -> None:
    """Write a picture, wholly or not at all."""
    import imageio.v3 as imageio

    with beside(path) as name:
        imageio.imwrite(name, image)


@contextmanager
def film(path: Path, fps: float) -> Iterator[Any]:
    """A film to append pictures to, written wholly or not at all."""
    try:
        import imageio
        import imageio_ffmpeg  # type: ignore[import-untyped]  # noqa: F401  # what imageio writes films with
    except ImportError:
        raise OptionError("films need the package imageio-ffmpeg: pip install 'kinetree[view]'") from None
    with beside(path) as name:
        if path.suffix.lower() == ".gif":
            writer = imageio.get_writer(name, duration=1000.0 / fps, loop=0)
        else:
            writer = imageio.get_writer(name, fps=fps, macro_block_size=2, quality=8)
        with writer:
            yield writer

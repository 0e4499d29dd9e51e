"""The viewer: a robot in the browser, moving."""

from __future__ import annotations

import contextlib
import html
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import Message, OptionError, Setting, UnknownNameError
from kinetree.io.atomic_files import beside
from kinetree.io.progress import Bar
from kinetree.io.units import ShownUnits
from kinetree.model.tree import Joint
from kinetree.spatial.arrays import Array, as_array

from . import capture
from .at_rest import at_rest
from .displayed_robot import Figure
from .framing import framing
from .motion import BodyPoint, Poses, Track
from .page import page
from .page_data import pose_numbers, show_data
from .player import Player
from .server import News, PageServer
from .sliders import from_sliders, moved_closed, slider_values

Size = tuple[int, int]

PICTURE: Size = (1280, 800)
FILM: Size = (960, 600)
PORT = 8080

SWITCHES = {
    "ground": "the ground",
    "joints": "marks at the joints",
    "follow": "the camera follows the robot",
    "forces": "arrows of contact forces and pushes",
    "frames": "axes of bodies and frames",
    "axes": "axes of the joints",
    "com": "the center of mass",
    "inertia": "ellipsoids of the bodies' inertia",
    "shapes": "shapes that may touch",
    "ghost": "the second robot",
}
"""The switches of things to show; those that a robot or motion does not have are missing in its viewer."""

NOT_HERE = {
    "follow": "the robot stays where it is",
    "forces": "the motion has no contact forces; give contacts= or wrenches= to say what acts, and where",
    "com": "the robot has no mass",
    "inertia": "the robot has no mass",
    "shapes": "the robot has no shapes that may touch",
    "ghost": "give a second robot or motion as ghost",
}
"""Why a switch is missing."""


class Viewer:
    """A robot shown in the browser, with controls to move it and to play a motion.

    Made by :func:`kinetree.view`.  Use it as a context manager, or close it when done.

    Parameters
    ----------
    figures : sequence of Figure
        The robot, then its ghosts.
    trails : sequence of str
        Frames whose paths are drawn.
    view : three floats, optional
        Direction from the robot to the camera.
    show : mapping or sequence of str
        What to show or hide besides the robot: ``["frames", "com"]``, ``{"ground": False}``; see ``shown``.
    units : str or sequence of str, optional
        Initial units other than SI, such as ``"deg mm rpm"``; the page has a switch for them.
    host, port
        Where the page is served. Port 0 picks any free port; if the given port is in use, the next free one is used.

    Attributes
    ----------
    url : str
        The page.
    player : Player or None
        Plays the motion, if there is one.
    q : ndarray
        The configuration shown.
    poses : Poses
        The poses of its bodies.
    shown : dict from str to bool
        What is shown: ground, joints, follow (the camera follows the robot), forces, frames, axes, com, inertia, ghost.
    """

    def __init__(
        self, figures: Sequence[Figure], *, trails: Sequence[str] = (), view: Sequence[float] | None = None,
        show: Any = (), units: str | Sequence[str] | None = None, host: str = "127.0.0.1", port: int = PORT,
    ) -> None:  # fmt: skip
        self.figures = list(figures)
        self.robot, self.scene, self.track = self.figures[0].robot, self.figures[0].scene, self.figures[0].track
        self.trails = [self._known_frame(name) for name in trails]
        self._lock = threading.RLock()
        self._speaker = threading.local()
        self._camera: capture.Camera | None = None
        self._html = ""
        self._away = False
        self.units = ShownUnits.read(units)
        self._still = self.robot.with_backend("reference")  # one pose at a time: compiling would take longer
        self.ground, self.sight, self.follow, self.shown = framing(self.figures, view)
        for name, visible in _switched(show).items():
            self._check_switch(name)
            self.shown[name] = visible
        self.q = self.track.q[0]
        self.poses = self.track.poses[0]
        self.player: Player | None = None
        if len(self.track) > 1 and self.track.time[-1] > self.track.time[0]:
            begin, end = float(self.track.time[0]), float(self.track.time[-1])
            self.player = Player(begin, end, self._show_time, self._playing)
        self.server = PageServer(host, port, self._page, self.state, self._heard)
        if self.player is not None:
            self.player.repeat = True
            self.player.seek(self.player.begin)

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.server.url

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer of {self.robot.name!r} at {self.url}>"

    def _repr_html_(self) -> str:
        """Return a recording for a notebook, which remains there after Python has ended."""
        inside = html.escape(self._recorded(), quote=True)
        return f'<iframe srcdoc="{inside}" style="width:100%;height:560px;border:1px solid #ccc"></iframe>'

    # ------------------------------------------------------------------ moving

    def show(self, q: ArrayLike) -> None:
        """Show a configuration; a motion that is playing pauses.

        Parameters
        ----------
        q : array_like, shape (nq,)
        """
        configuration = as_array(q, (self.robot.nq,), "q")
        if configuration.ndim != 1:
            raise OptionError(f"show one configuration at a time, not an array {configuration.shape}")
        self.pause()
        with self._lock:
            self._place(configuration.copy())
        self._tell(self._placed())

    def reset(self) -> None:
        """Go back to the beginning."""
        if self.player is None:
            self.show(self.track.q[0])
        else:
            self.player.pause()
            self.player.seek(self.player.begin)

    def move_joint(self, joint: Joint | str, position: ArrayLike) -> str:
        """Move one joint; loops stay closed, and it moves only as far as they allow.

        Parameters
        ----------
        joint : Joint or str
        position : float or array_like
            Coordinates of the joint.

        Returns
        -------
        str
            Why it could not go all the way; empty if it could.
        """
        chosen = self.robot.joint(joint) if isinstance(joint, str) else joint
        part = np.broadcast_to(np.asarray(position, dtype=float), (chosen.nq,))
        self.pause()
        message = ""
        with self._lock:
            if self.robot.loops is not None:
                q, message = moved_closed(self.robot, self.q, chosen, part)
            else:
                q = self.q.copy()
                q[chosen.q_slice] = part
            self._place(q)
        self._tell(self._placed() | {"message": message})
        return message

    def play(self) -> None:
        """Play the motion from the current time."""
        self._need_player().play()

    def pause(self) -> None:
        """Stop the motion at the current time."""
        if self.player is not None:
            self.player.pause()

    def seek(self, time: float) -> None:
        """Show another time of the motion."""
        self._need_player().seek(time)

    def _need_player(self) -> Player:
        if self.player is None:
            raise OptionError("there is no motion to play: give a record, or a table of times and positions")
        return self.player

    def _playing(self, playing: bool) -> None:
        player = self.player
        if player is not None:
            self._tell(self._clock(player) | {"playing": playing})

    def _show_time(self, time: float) -> None:
        player = self.player
        with self._lock:
            self.poses, self.q = self.track.at(time), self.track.q[self.track.index(time)]
            self._away = False
        if player is not None and not player.playing:  # during playback, pages use their own clocks
            self._tell({"time": time})

    def _place(self, q: Array) -> None:
        """Show ``q``, away from the motion if there is one."""
        self.q, self.poses, self._away = q, Poses.of(self.robot.model, q), True

    # ------------------------------------------------------------------ pages

    def _page(self) -> str:
        """Return the page, made on first use."""
        if not self._html:
            self._html = page(f"kinetree: {self.robot.name}", self._data(live=True))
        return self._html

    def _recorded(self) -> str:
        return page(f"kinetree: {self.robot.name}", self._data(live=False))

    def _data(self, live: bool) -> dict[str, Any]:
        figures, rest, speed = self.figures, None, 1.0
        if self.player is None:
            main = replace(figures[0], track=Track(np.zeros(1), self.q[None], self.poses[None]))
            figures, rest = [main, *figures[1:]], at_rest(self._still, self.q)
        else:
            speed = self.player.speed
        return show_data(
            figures, self.sight, self.ground, self.follow, self.shown, self.trails, live=live, speed=speed, rest=rest,
            units=self.units,
        )  # fmt: skip

    def _tell(self, news: News) -> None:
        self.server.tell(news, but=getattr(self._speaker, "page", ""))

    @staticmethod
    def _clock(player: Player) -> News:
        return {"time": player.time, "playing": player.playing, "speed": player.speed, "repeat": player.repeat}

    def _placed(self) -> News:
        """Return the poses of bodies, the values of sliders, and the data of the pose at rest."""
        values = slider_values(self.robot, self.q[None])[0]
        return {
            "poses": _plain(pose_numbers(self.poses)), "values": _plain(values), "rest": at_rest(self._still, self.q)
        }  # fmt: skip

    def state(self) -> News:
        """Return what a newly opened page needs to know."""
        with self._lock:
            news: News = {"shown": dict(self.shown), "trails": list(self.trails)}
            if self.player is not None:
                news = self._clock(self.player) | news
            if self._away:
                news |= self._placed()
            return news

    def _heard(self, news: News) -> News:
        """Perform an action from a page, and update the others."""
        self._speaker.page = str(news.get("page", ""))
        try:
            answer: News = {}
            if self.player is not None:
                self._heard_clock(self.player, news)
            for name, visible in dict(news.get("shown", {})).items():
                self.switch(**{name: bool(visible)})
            if "trails" in news:
                self.trails = [self._known_frame(str(name)) for name in news["trails"]]
                self._tell({"trails": self.trails})
            if news.get("reset"):
                self.reset()
                answer = self.state()
            if "move" in news:
                joint = self.robot.joint(str(news["move"]["joint"]))
                values = np.array(news["move"]["values"], dtype=float)
                message = self.move_joint(joint, from_sliders(joint, values))
                answer = self._placed() | {"message": message}
            return answer
        finally:
            self._speaker.page = ""

    @staticmethod
    def _heard_clock(player: Player, news: News) -> None:
        if "speed" in news:
            player.speed = float(news["speed"])
        if "repeat" in news:
            player.repeat = bool(news["repeat"])
        if news.get("playing") is False:
            player.pause()
        if "time" in news:
            player.seek(float(np.clip(float(news["time"]), player.begin, player.end)))
        if news.get("playing"):
            player.play()

    # ------------------------------------------------------------------ what is shown

    def add_trail(self, frame: str) -> None:
        """Draw the path of a body or frame."""
        if self._known_frame(frame) not in self.trails:
            self.trails.append(frame)
        self._tell({"trails": self.trails})

    def clear_trails(self) -> None:
        """Remove all paths."""
        self.trails = []
        self._tell({"trails": []})

    def switch(self, **switches: bool) -> None:
        """Show or hide what is drawn besides the robot.

        Parameters
        ----------
        **switches : bool
            ``ground``, ``joints``, ``follow``, ``forces``, ``frames``, ``axes``, ``com``, ``inertia``, ``ghost``:
            those that are not given are unchanged.

        Examples
        --------
        >>> import kinetree as kt
        >>> with kt.view("four-bar", port=0) as viewer:
        ...     viewer.switch(frames=True, ground=False)
        """
        for name in switches:
            self._check_switch(name)
        self.shown |= {name: bool(visible) for name, visible in switches.items()}
        self._tell({"shown": dict(self.shown)})

    def _check_switch(self, name: str) -> None:
        if name in NOT_HERE and name not in self.shown:
            raise OptionError(f"{name!r} cannot be shown here: {NOT_HERE[name]}")
        if name not in self.shown:
            raise UnknownNameError("thing to show here", name, list(self.shown))

    def _known_frame(self, name: str) -> str:
        BodyPoint.of(self.robot.model, name)
        return name

    # ------------------------------------------------------------------ pictures

    def screenshot(
        self, path: str | os.PathLike[str] | None = None, *, size: Size = PICTURE, panel: bool = False
    ) -> Array:
        """Draw what is shown, without a browser window; needs Chromium.

        Parameters
        ----------
        path : path, optional
            ``.png`` or ``.jpg`` file, which is written completely or not at all.
        size : (int, int)
            Width and height in pixels.
        panel : bool
            Whether to draw the whole page, including controls and curves.

        Returns
        -------
        ndarray (height, width, 3)
            Bytes of red, green and blue.
        """
        pixels = capture.check_size(size)
        target = None if path is None else capture.check_path(path, capture.PICTURES, "pictures")
        self.pause()
        camera = self.camera()
        camera.tell(self.state())
        image = camera.page(pixels) if panel else camera.picture(pixels)
        if target is not None:
            capture.write_picture(target, image)
        return image

    def video(
        self, path: str | os.PathLike[str], *, fps: float = 30.0, speed: float = 1.0, size: Size = FILM,
        progress: bool = True,
    ) -> int:  # fmt: skip
        """Write the motion as a video, without a browser window; needs Chromium.

        Parameters
        ----------
        path : path
            ``.mp4``, ``.webm`` or ``.gif`` file, which is written completely or not at all.
        fps : float
            Frames per second of the video.
        speed : float
            Seconds of motion per second of video.
        size : (int, int)
            Width and height in pixels, both even.
        progress : bool
            Whether to show a progress bar if it takes long.

        Returns
        -------
        int
            Number of pictures.
        """
        player = self._need_player()
        pixels = capture.check_size(size, even=True)
        target = capture.check_path(path, capture.FILMS, "films")
        for name, value in (("fps", fps), ("speed", speed)):
            if not 0.0 < value < np.inf:
                raise OptionError(Message(Setting(name), f" must be a positive number, not {value!r}"))
        times = np.arange(player.begin, player.end + 1e-9 * (player.end - player.begin), speed / fps)
        player.pause()
        camera = self.camera()
        camera.tell(self.state())
        bar = Bar(len(times), "drawing", wanted=progress)
        with beside(target) as written, capture.Film(written, fps, pixels) as film, bar:
            for k, time in enumerate(times):
                bar.show(k)
                film.add(camera.picture(pixels, time=min(float(time), player.end), film=True))
        return len(times)

    def recording(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write everything that is shown as one page that opens in any browser, without Python or a network.

        Parameters
        ----------
        path : path, optional
            ``.html`` file, which is written completely or not at all.

        Returns
        -------
        str
            The page, as HTML.
        """
        target = None if path is None else capture.check_path(path, capture.PAGES, "recordings")
        made = self._recorded()
        if target is not None:
            with beside(target) as written:
                written.write_text(made, encoding="utf-8", newline="\n")
        return made

    def camera(self) -> capture.Camera:
        """Return the headless browser, started when it is first needed."""
        if self._camera is None:
            self._camera = capture.Camera(f"{self.url}/?still")
        return self._camera

    # ------------------------------------------------------------------ waiting and closing

    def wait(self) -> None:
        """Wait until the user presses Ctrl-C, or the viewer is closed."""
        with contextlib.suppress(KeyboardInterrupt):
            while not self.server.closed.wait(0.5):  # an endless wait could not be interrupted on all systems
                pass

    def close(self) -> None:
        """Stop serving; browsers that show the page keep it, but joints can no longer be moved there."""
        if self.player is not None:
            self.player.close()
        if self._camera is not None:
            self._camera.close()
            self._camera = None
        self.server.close()


def _switched(show: Any) -> dict[str, bool]:
    if isinstance(show, str):
        return {show: True}
    if isinstance(show, dict):
        return {str(name): bool(visible) for name, visible in show.items()}
    return dict.fromkeys(map(str, show), True)


def _plain(numbers: Array) -> list[float | None]:
    """Return numbers for JSON, which has no NaN."""
    return [float(x) if np.isfinite(x) else None for x in numbers]

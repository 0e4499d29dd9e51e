"""The viewer: a robot in the browser, moving."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import socket
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Message, ModelWarning, OptionError, Setting, callers_level
from ..io.atomic_files import beside
from ..io.progress import Bar
from ..model.tree import BASE, Joint
from ..robot.mechanism import Mechanism
from ..robot.robot import Robot
from ..spatial.arrays import as_array
from . import capture, geometry, skeleton
from .mjcf_geometry import read_geoms
from .motion import BodyPoint, Poses, Track
from .panel import ControlPanel
from .player import Player
from .scene import Scene
from .sliders import moved_closed

if TYPE_CHECKING:
    import viser

Array = np.ndarray
Size = tuple[int, int]

PICTURE: Size = (1280, 800)
FILM: Size = (960, 600)
PORT = 8080

TRAIL_POINTS = 400


class Viewer:
    """A robot shown in the browser, with controls to move it and to play a motion.

    Made by :func:`kinetree.view`.  Use it as a context manager, or close it when done.

    Parameters
    ----------
    robot : Robot
    track : Track, optional
        A motion to play.
    file : path, optional
        URDF or MJCF file to take the links' looks from.
    q : array_like, optional
        Configuration to begin with, where there is no motion.
    trails : sequence of str
        Frames whose paths are drawn.
    package_dirs : sequence of paths
        Folders that hold ROS packages, for meshes.
    view : three floats, optional
        Direction from the robot to the camera.
    host, port
        Where the page is served; port 0 takes any that is free.

    Attributes
    ----------
    url : str
        The page.
    player : Player or None
        Plays the motion, if there is one.
    q : ndarray
        The configuration shown.
    """

    def __init__(
        self,
        robot: Robot,
        track: Track | None = None,
        *,
        file: str | os.PathLike[str] | None = None,
        q: ArrayLike | None = None,
        trails: Sequence[str] = (),
        package_dirs: Sequence[str | os.PathLike[str]] = (),
        view: Sequence[float] | None = None,
        host: str = "127.0.0.1",
        port: int = PORT,
    ) -> None:
        self.robot, self.track = robot, track
        if track is not None:
            self.start = np.array(track.q[0])
        else:
            self.start = starting_configuration(robot) if q is None else as_array(q, (robot.nq,), "q").copy()
        if self.start.ndim != 1:
            raise OptionError(f"q must be one configuration of {robot.nq} numbers, not an array {self.start.shape}")
        self._trails = {name: BodyPoint.of(robot.model, name) for name in trails}
        self._lock = threading.RLock()
        self._camera: capture.Camera | None = None
        self._closed = threading.Event()
        size = extent(robot, Poses.of(robot.model, self.start))
        looks, problems = appearance(robot, size, file, package_dirs)
        self.server = start_server(host, port, f"kinetree: {robot.name}")
        try:
            self.scene = Scene(self.server, robot.model, looks, size)
            self._warn(problems + self.scene.problems, file)
            self.marks_shown = all(look.line is None for look in looks)
            self.scene.show_marks("joint", self.marks_shown)
            if track is None and q is None and robot.model.has_quaternion_base and any(robot.model.gravity):
                self.start = self._standing(self.start)
            self.q = self.start
            every = self._all_poses()
            self.scene.add_grid(every)
            self.scene.aim(every, view)
            self.player = None
            if track is not None:
                self.player = Player(float(track.time[0]), float(track.time[-1]), self._show_time, self._playing)
                self.player.repeat = True
                self._largest_force = float(np.nanmax(np.linalg.norm(track.forces, axis=-1), initial=0.0))
            self.panel = ControlPanel(self)
            self.reset()
        except BaseException:
            self.server.stop()
            raise

    @property
    def url(self) -> str:
        """Return the address of the page."""
        host = self.server.get_host()
        return f"http://{'localhost' if host == '0.0.0.0' else host}:{self.server.get_port()}"

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer of {self.robot.name!r} at {self.url}>"

    def _all_poses(self) -> Poses:
        """Return some fifty poses over the motion, for camera and ground."""
        if self.track is None:
            return Poses.of(self.robot.model, self.start[None])
        return self.track.poses[:: max(1, len(self.track) // 50)]

    def _standing(self, q: Array) -> Array:
        """Lift the floating base of a configuration so high that the robot stands on the ground."""
        lowest = float((self.scene.points(Poses.of(self.robot.model, q)) @ self.scene.up).min())
        root = self.robot.model.joints[self.robot.model.roots[0]]
        lifted = q.copy()
        lifted[root.q_slice.stop - 3 : root.q_slice.stop] -= lowest * self.scene.up
        return lifted

    @staticmethod
    def _warn(problems: list[str], file: Any) -> None:
        if problems:
            listed = "\n".join(f"  {p}" for p in problems[:10])
            more = f"\n  and {len(problems) - 10} more" if len(problems) > 10 else ""
            warnings.warn(
                f"{file}: {len(problems)} things cannot be drawn as the file wants; bodies left bare are drawn from "
                f"their joints and inertia:\n{listed}{more}",
                ModelWarning,
                stacklevel=callers_level(),
            )

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
            self.q = configuration.copy()
            self._refresh()

    def reset(self) -> None:
        """Go back to the beginning."""
        if self.player is None:
            self.show(self.start)
        else:
            self.player.pause()
            self.player.seek(self.player.begin)

    def move_joint(self, joint: Joint | str, position: ArrayLike) -> None:
        """Move one joint; loops stay closed, and it goes only as far as they let it.

        Parameters
        ----------
        joint : Joint or str
        position : float or array_like
            Its coordinates.
        """
        chosen = self.robot.joint(joint) if isinstance(joint, str) else joint
        part = np.broadcast_to(np.asarray(position, dtype=float), (chosen.nq,))
        self.pause()
        with self._lock:
            message = ""
            if isinstance(self.robot, Mechanism):
                self.q, message = moved_closed(self.robot, self.q, chosen, part)
            else:
                self.q = self.q.copy()
                self.q[chosen.q_slice] = part
            self._refresh()
            self.panel.say(message)

    def play(self) -> None:
        """Play the motion from where it is."""
        self._need_player().play()

    def pause(self) -> None:
        """Stop the motion where it is."""
        if self.player is not None:
            self.player.pause()

    def seek(self, time: float) -> None:
        """Show another time of the motion."""
        self._need_player().seek(time)

    def _need_player(self) -> Player:
        if self.player is None:
            raise OptionError("there is no motion to play: give view() a record")
        return self.player

    def _playing(self, playing: bool) -> None:
        self.panel.playing(playing)

    def _show_time(self, time: float) -> None:
        track = self.track
        assert track is not None
        with self._lock, self.server.atomic():
            poses, k = track.at(time), track.index(time)
            self.q = track.q[k]
            self.scene.place(poses)
            self._show_forces(poses, k)
            for name, place in self._trails.items():
                every = max(1, len(track) // TRAIL_POINTS)
                past = track.poses[: k + 1 : every].point(place.body, place.point)
                self.scene.trail(name, np.concatenate([past, poses.point(place.body, place.point)[None]]))
            self.panel.follow(time, self.q)

    def _show_forces(self, poses: Poses, k: int) -> None:
        track = self.track
        if track is not None and track.spots:
            points = np.array([poses.point(spot.body, spot.point) for spot in track.spots])
            self.scene.arrows(points, track.forces[k], self._largest_force)

    def _refresh(self) -> None:
        """Show ``q``, away from the motion if there is one."""
        with self.server.atomic():
            self.scene.place(Poses.of(self.robot.model, self.q))
            self.scene.arrows(np.zeros((0, 3)), np.zeros((0, 3)), 0.0)
            self.panel.follow(None, self.q)

    # ------------------------------------------------------------------ what is shown

    def add_trail(self, frame: str) -> None:
        """Draw the path of a body or frame."""
        self._trails[frame] = BodyPoint.of(self.robot.model, frame)
        if self.player is not None:
            self._show_time(self.player.time)

    def clear_trails(self) -> None:
        """Remove all paths."""
        with self._lock:
            self._trails.clear()
            self.scene.clear_trails()

    def show_forces(self, visible: bool) -> None:
        """Show or hide contact forces."""
        self.scene.show_forces = visible
        if self.player is not None:
            self._show_time(self.player.time)

    # ------------------------------------------------------------------ pictures

    def screenshot(
        self, path: str | os.PathLike[str] | None = None, *, size: Size = PICTURE, panel: bool = False
    ) -> Array:
        """Draw what is shown, without a browser window; needs Chromium.

        Parameters
        ----------
        path : path, optional
            ``.png`` or ``.jpg`` file to write, wholly or not at all.
        size : (int, int)
            Width and height in pixels.
        panel : bool
            Whether to draw the whole page, controls and energy plot included.

        Returns
        -------
        ndarray (height, width, 3)
            Bytes of red, green and blue.
        """
        pixels = capture.check_size(size)
        target = None if path is None else capture.check_path(path, capture.PICTURES, "pictures")
        camera = self.camera()
        image = camera.page(pixels) if panel else camera.picture(pixels)
        if target is not None:
            capture.write_picture(target, image)
        return image

    def video(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        size: Size = FILM,
        progress: bool = True,
    ) -> int:
        """Write the motion as a film, without a browser window; needs Chromium.

        Parameters
        ----------
        path : path
            ``.mp4``, ``.webm`` or ``.gif`` file to write, wholly or not at all.
        fps : float
            Pictures per second of the film.
        speed : float
            Seconds of motion per second of film.
        size : (int, int)
            Width and height in pixels, both even.
        progress : bool
            Show a bar while it takes long.

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
        bar = Bar(len(times), "drawing", wanted=progress)
        with beside(target) as written, capture.Film(written, fps, pixels) as film, bar:
            for k, time in enumerate(times):
                bar.show(k)
                player.seek(min(float(time), player.end))
                film.add(camera.picture(pixels, film=True))
        return len(times)

    def camera(self) -> capture.Camera:
        """Return the headless browser, started when it is first needed."""
        if self._camera is None:
            self._camera = capture.Camera(self.server, self.url)
        return self._camera

    # ------------------------------------------------------------------ living and ending

    def wait(self) -> None:
        """Stay until the user presses Ctrl-C, or the viewer is closed."""
        with contextlib.suppress(KeyboardInterrupt):
            while not self._closed.wait(0.5):  # a wait without end could not be interrupted everywhere
                pass

    def close(self) -> None:
        """Stop serving; browsers that show the page lose it."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self.player is not None:
            self.player.close()
        if self._camera is not None:
            self._camera.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def start_server(host: str, port: int, label: str) -> viser.ViserServer:
    """Start a viser server that keeps quiet."""
    try:
        import viser
    except ImportError:
        raise OptionError("the viewer needs the package viser: pip install 'kinetree[view]'") from None
    if not (isinstance(port, int) and 0 <= port < 65536):
        raise OptionError(Message(Setting("port"), f" must be a number from 0 to 65535, not {port!r}"))
    _refuse_unbindable(host, port)
    # browsers open connections in advance and drop them, which is nothing to report
    logging.getLogger("websockets").addHandler(logging.NullHandler())
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    server.gui.configure_theme(control_width="large", show_share_button=False)
    return server


def _refuse_unbindable(host: str, port: int) -> None:
    """Refuse a host that no server can listen at: viser would wait for itself for ever."""
    if not isinstance(host, str):
        raise OptionError(Message(Setting("host"), f" must be the name or address of this machine, not {host!r}"))
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)  # whether the port is free as well is viser's to find out: it takes the next one
    except (OSError, UnicodeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        advice = Message("give an address of this machine, ", Setting("host", "127.0.0.1"), ", or ")
        every = Message(Setting("host", "0.0.0.0"), " for all of them")
        raise OptionError(Message(f"the viewer cannot listen at {host!r} ({reason}): ", advice, every)) from None


def starting_configuration(robot: Robot) -> Array:
    """Find a configuration to begin with: closed, and within limits."""
    if isinstance(robot, Mechanism):
        return robot.assembled()
    q = robot.neutral()
    for joint in robot.model.joints:
        if joint.nq == 1 and not joint.lower[0] <= q[joint.q_slice][0] <= joint.upper[0]:
            bounds = [x for x in (joint.lower[0], joint.upper[0]) if np.isfinite(x)]
            q[joint.q_slice] = np.mean(bounds)
    return q


def extent(robot: Robot, poses: Poses) -> float:
    """Compute the diagonal of the box around joints and centers of mass; of the largest body if these are one point."""
    points = [poses.point(body, p) for body, local in skeleton.landmarks(robot.model) for p in local]
    finite = np.array([p for p in points if np.isfinite(p).all()]).reshape(-1, 3)
    size = float(np.linalg.norm(np.ptp(finite, axis=0))) if len(finite) else 0.0
    edges = [float(skeleton.equivalent_box(body.mass_properties)[0].max()) for body in robot.model.bodies]
    return size or max(edges, default=0.0) or 1.0


def appearance(
    robot: Robot, size: float, file: str | os.PathLike[str] | None, package_dirs: Sequence[str | os.PathLike[str]]
) -> tuple[list[geometry.Look], list[str]]:
    """Take shapes from the file where it has any, and from joints and inertia where it has none."""
    looks: list[geometry.Look] = []
    problems: list[str] = []
    kind = geometry.format_of(Path(file)) if file is not None else ""
    if file is not None and kind == "urdf":
        looks, problems = geometry.read_visuals(Path(file), robot.model, [Path(p) for p in package_dirs])
    elif file is not None and kind == "mjcf":
        looks, problems = read_geoms(Path(file), robot.model)
    dressed = {look.body for look in looks}
    bare = [i for i in range(len(robot.model.bodies)) if i not in dressed]
    if not dressed:
        bare.append(BASE)
    return [*looks, *skeleton.links(robot.model, size, bare), *skeleton.joints(robot.model, size)], problems

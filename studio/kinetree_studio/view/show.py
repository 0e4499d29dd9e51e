"""Show a robot in the browser, or draw it to files: what ``kt.view`` and ``kinetree view`` call."""

from __future__ import annotations

import inspect
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import OptionError, UnknownNameError, refuse_unknown_arguments
from kinetree.io.paths import as_path
from kinetree.motion.trajectory_interface import Trajectory
from kinetree.robot.load import load
from kinetree.robot.robot import Robot
from kinetree.studies import named_systems

from .displayed_robot import Figure, make_figure
from .geometry import format_of
from .given_wrenches import with_wrenches
from .motion import Track
from .playable import SAMPLES_PER_SECOND, as_track, of_trajectory
from .viewer import FILM, PICTURE, PORT, Viewer

CLOSED = 1e-6
"""If a loop is open by more than this, in meters or radians, a motion does not belong to the robot."""

ROBOT_FILES = (".urdf", ".xml", ".mjcf", ".yaml", ".yml", ".sdf", ".xacro")


def view(
    robot: Robot | str | os.PathLike[str], motion: Any = None, *, ghost: Any = None, q: ArrayLike | None = None,
    geometry: str | os.PathLike[str] | None = None, meshes: bool = True, contacts: Any = None, wrenches: Any = None,
    load_options: dict[str, Any] | None = None, package_dirs: Sequence[str | os.PathLike[str]] = (), **options: Any,
) -> Viewer:  # fmt: skip
    """Show a robot in the browser; with a motion, play it.

    Parameters
    ----------
    robot : Robot, str or path
        A robot, the name of a system in the gallery (whose own motion is played if no other is
        given), or a robot file.
    motion : optional
        What to play: a record of :func:`kinetree.simulate`, arrays ``(t, q)``, ``(t, q, v)`` or ``(t, q, v, tau)``,
        a trajectory, :class:`kinetree.Measured`, or a file: of a record, or a table with a column ``t`` or ``time``
        and one for each joint (``q_elbow``, or ``q1``, ``q2``, ...).
    ghost : optional
        What to show as a pale ghost in addition: another motion of the robot, such as the reference it should follow; a
        configuration; another robot; or a robot and its motion, ``(robot, motion)``.
    q : array_like, optional
        Initial configuration, if there is no motion.
    geometry : path, optional
        URDF or MJCF file from which the links' visual shapes are read; by default the robot file, if ``robot`` is one.
    meshes : bool
        Whether to draw the file's visual shapes; if False, shapes are made from joints and inertia.
    contacts : optional
        Where the record's contact forces act: the ground, contacts or frames that were used in the simulation.
    wrenches : mapping from frame to Wrench or array_like, optional
        Other wrenches on the robot to be drawn: forces (3,), or moments and forces (6,), along world axes, with a
        leading axis for the samples if they change.
    load_options : dict, optional
        Options of :func:`kinetree.load`, if ``robot`` is a file: ``{"floating_base": True}``.
    package_dirs : sequence of paths
        Folders that hold ROS packages, for meshes.
    **options
        ``trails``, ``view``, ``show``, ``units``, ``host`` and ``port``, see :class:`Viewer`.

    Returns
    -------
    Viewer
        The viewer, which serves its page at ``viewer.url`` until ``viewer.close()``.

    Examples
    --------
    >>> import kinetree as kt
    >>> with kt.view("four-bar", port=0) as viewer:  # doctest: +SKIP
    ...     viewer.screenshot("four-bar.png")
    """
    known = [key for taker in (view, Viewer) for key in inspect.signature(taker).parameters]
    refuse_unknown_arguments("view()", options, known)
    shown, file, name = robot_of(robot, load_options or {})
    track = None
    if motion is not None:
        track = as_track(shown, motion, contacts)
    elif q is None and (name or shown.model.motion_of):
        track = gallery_motion(name or shown.model.motion_of, shown)
    if geometry is not None:
        file = as_path(geometry, "geometry")
        if not format_of(file):
            raise OptionError(f"geometry must be a URDF or MJCF file, which {str(file)!r} is not")
    looks: dict[str, Any] = {"file": file if meshes else None, "package_dirs": package_dirs}
    main = make_figure(shown, track, q=q, **looks)
    figures = [replace(main, track=with_wrenches(shown, main.track, wrenches))]
    if ghost is not None:
        figures.append(_ghost(ghost, figures[0], looks))
    return Viewer(figures, **options)


def play(
    robot: Robot | str | os.PathLike[str], motion: Any = None, *, screenshot: str | os.PathLike[str] | None = None,
    video: str | os.PathLike[str] | None = None, recording: str | os.PathLike[str] | None = None,
    time: float | None = None, size: tuple[int, int] | None = None, panel: bool = False, fps: float = 30.0,
    speed: float = 1.0, port: int | None = None, open_browser: bool = True, say: Any = print, **options: Any,
) -> list[Path]:  # fmt: skip
    """Show a robot until the user presses Ctrl-C; or draw it to files and return.

    Parameters
    ----------
    robot, motion
        As for :func:`view`.
    screenshot : path, optional
        File for a picture, which is written instead of opening a window.
    video : path, optional
        File for a video of the motion, which is written instead of opening a window.
    recording : path, optional
        File for a page that opens in any browser, without Python; it is written instead of opening a window.
    time : float, optional
        The moment of the motion to draw; the beginning by default.
    size : (int, int), optional
        Width and height of the picture or video in pixels.
    panel : bool
        Whether the picture also shows the controls.
    fps, speed : float
        Frames per second of the video, and seconds of motion per second of video.
    port : int, optional
        Port at which the page is served; by default 8080 or the next free one, and any port if only files are written.
    open_browser : bool
        Whether to open the page in the user's browser, if there is a screen.
    say : callable
        Called with lines of text for the user.
    **options
        As for :func:`view`.

    Returns
    -------
    list of Path
        Files written.
    """
    drawing = screenshot is not None or video is not None or recording is not None
    if port is None:
        port = 0 if drawing else PORT
    with view(robot, motion, port=port, **options) as viewer:
        if time is not None:
            viewer.seek(time)
        if viewer.player is not None:
            viewer.player.speed = speed
        written = []
        if recording is not None:
            viewer.recording(recording)
            written.append(Path(recording))
        if screenshot is not None:
            viewer.screenshot(screenshot, size=size or PICTURE, panel=panel)
            written.append(Path(screenshot))
        if video is not None:
            viewer.video(video, fps=fps, speed=speed, size=size or FILM)
            written.append(Path(video))
        if not drawing:
            say(f"{viewer.robot.name} is shown at {viewer.url} until you press Ctrl-C")
            if open_browser and has_screen():
                webbrowser.open(viewer.url)
            if viewer.player is not None:
                viewer.play()
            viewer.wait()
        return written


def has_screen() -> bool:
    """Return whether there is a screen: without one, a text browser might open and take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def robot_of(robot: Any, load_options: dict[str, Any]) -> tuple[Robot, Path | None, str | None]:
    """Return the robot, its file, and its name in the gallery."""
    if isinstance(robot, Robot):
        return robot, None, None
    if not isinstance(robot, (str, os.PathLike)):
        raise OptionError(f"view shows a robot, a name in the gallery or a robot file, not {robot!r}")
    if isinstance(robot, str) and robot in named_systems.NAMES:
        return named_systems.load(robot, **load_options), None, robot
    path = as_path(robot, "a robot file")
    if isinstance(robot, str) and path.suffix.lower() not in ROBOT_FILES and not path.exists():
        raise UnknownNameError("system in the gallery, and no robot file,", robot, named_systems.NAMES, most=8)
    return load(path, **load_options), path, None


def _ghost(given: Any, main: Figure, looks: dict[str, Any]) -> Figure:
    """Prepare a second robot, or a second motion of the first, to be shown with it."""
    pair = isinstance(given, tuple) and len(given) == 2 and _is_robot(given[0])
    if pair or _is_robot(given):
        robot, file, name = robot_of(given[0] if pair else given, {})
        track = as_track(robot, given[1]) if pair else gallery_motion(name, robot) if name is not None else None
        return make_figure(robot, track, file=file, ghost=True)
    robot, time = main.robot, main.track.time
    if isinstance(given, Trajectory):
        track = of_trajectory(robot, given, float(time[0]), float(time[-1]))
    elif (isinstance(given, np.ndarray) and given.ndim == 1) or _is_configuration(given):
        return make_figure(robot, None, q=given, ghost=True, **looks)
    else:
        track = as_track(robot, given)
    return make_figure(robot, track, ghost=True, **looks)


def _is_robot(given: Any) -> bool:
    if isinstance(given, Robot):
        return True
    if not isinstance(given, str | os.PathLike):
        return False
    return (isinstance(given, str) and given in named_systems.NAMES) or Path(given).suffix.lower() in ROBOT_FILES


def _is_configuration(given: Any) -> bool:
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(x, float | int) for x in given)


def gallery_motion(name: str, robot: Robot) -> Track | None:
    """Return the motion of a gallery system; for a changed mechanism, as its own loops allow."""
    motion = named_systems.motion(name)
    if [j.name for j in motion.model.joints] != robot.joint_names or motion.model.nq != robot.nq:
        return None
    begin, end = motion.span
    times = motion.grid(max(2, int(np.ceil((end - begin) * SAMPLES_PER_SECOND)) + 1))
    q, v, _ = motion.states(times)
    if robot.loops is not None and robot.closure_error(q).max() > CLOSED:
        q = robot.follow({j: q[:, robot.joint(j).q_slice] for j in motion.joints}, robot.close(q[0], motion.joints))
        v = robot.velocities(q, v[:, [robot.v_names.index(freedom) for freedom in robot.independent()]])
    return Track.of_states(robot, times, q, v)

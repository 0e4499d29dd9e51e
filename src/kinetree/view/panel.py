"""The controls beside the scene: playing, joints, what is shown, energy."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import printable
from .sliders import JointSliders

if TYPE_CHECKING:
    from .viewer import Viewer

Array = np.ndarray

PLOT_POINTS = 400
REFRESH = 0.2
"""Seconds between updates of sliders and plot while playing: pictures come first."""

LAST_FOLDER = "Joints"
"""Once a page shows this, it shows everything."""

CURVE_COLORS = ("#d1495b", "#3070b3", "#222222", "#2e8b57", "#b07aa1", "#e6953b")


def without_markup(text: str) -> str:
    """Write text for a page that renders Markdown and HTML: names in it are data, not links, images or scripts."""
    return "".join(c if c.isalnum() or c in " .,'" else f"&#{ord(c)};" for c in printable(text, keep="\n"))


class ControlPanel:
    """Everything a user can press and drag.

    Attributes
    ----------
    play, time, speed, repeat : viser handles, or None where there is no motion
    joints : JointSliders
    message : viser handle
        What the user should know, empty most of the time.
    """

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer
        self.gui = viewer.server.gui
        self.play: Any = None
        self.time: Any = None
        self.plot: Any = None
        self._following = False
        self._refreshed = 0.0
        self.message = self.gui.add_markdown("", visible=False)
        if viewer.track is not None:
            self._playback()
            self._energy()
        self._shown()
        with self.gui.add_folder(LAST_FOLDER, expand_by_default=viewer.track is None):
            reset = self.gui.add_button("Back to the start")
            reset.on_click(lambda _: viewer.reset())
            self.joints = JointSliders(self.gui, viewer.robot, viewer.q, viewer.scene.size, viewer.move_joint)

    # ------------------------------------------------------------------ playing

    def _playback(self) -> None:
        player = self.viewer.player
        assert player is not None
        with self.gui.add_folder("Motion"):
            self.play = self.gui.add_button("Play")
            span = player.end - player.begin
            self.time = self.gui.add_slider(
                "Time [s]", min=player.begin, max=player.end if span > 0 else player.begin + 1e-6,
                step=max(span, 1e-6) / 1000.0, initial_value=player.begin,
            )  # fmt: skip
            self.speed = self.gui.add_slider("Speed", min=0.05, max=4.0, step=0.05, initial_value=1.0)
            self.repeat = self.gui.add_checkbox("Repeat", initial_value=player.repeat)
        self.play.on_click(lambda _: player.pause() if player.playing else player.play())
        self.time.on_update(lambda _: self._sought())
        self.speed.on_update(lambda _: setattr(player, "speed", self.speed.value))
        self.repeat.on_update(lambda _: setattr(player, "repeat", self.repeat.value))

    def _sought(self) -> None:
        player = self.viewer.player
        if not self._following and player is not None:
            player.pause()
            player.seek(float(np.clip(self.time.value, player.begin, player.end)))

    def playing(self, playing: bool) -> None:
        """Show whether the motion is playing."""
        if self.play is not None:
            self.play.label = "Pause" if playing else "Play"

    def follow(self, time: float | None, q: Array) -> None:
        """Show a time and a configuration on the controls."""
        player = self.viewer.player
        now = clock.monotonic()
        if player is not None and player.playing and now - self._refreshed < REFRESH:
            return
        self._refreshed = now
        if self.time is not None and time is not None:
            self._following = True
            try:
                self.time.value = time
            finally:
                self._following = False
            self._mark_energy(time)
        self.joints.follow(q)

    def say(self, text: str) -> None:
        """Show the user a line; "" takes it away."""
        content = without_markup(text)
        if self.message.content != content:
            self.message.content = content
            self.message.visible = bool(text)

    # ------------------------------------------------------------------ what is shown

    def _shown(self) -> None:
        viewer, scene = self.viewer, self.viewer.scene
        with self.gui.add_folder("Show", expand_by_default=False):
            ground = self.gui.add_checkbox("Ground", initial_value=bool(scene.grid.visible))
            ground.on_update(lambda _: setattr(scene.grid, "visible", ground.value))
            marks = self.gui.add_checkbox("Joints", initial_value=viewer.marks_shown)
            marks.on_update(lambda _: scene.show_marks("joint", marks.value))
            if viewer.track is not None and len(viewer.track.spots):
                forces = self.gui.add_checkbox("Contact forces", initial_value=True)
                forces.on_update(lambda _: viewer.show_forces(forces.value))
            names = [name for name in viewer.robot.model.frame_table if name != viewer.robot.base_name]
            if names:
                chosen = self.gui.add_dropdown("Trail of", names, initial_value=names[-1])
                add = self.gui.add_button("Add trail")
                add.on_click(lambda _: viewer.add_trail(chosen.value))
                self.gui.add_button("Remove trails").on_click(lambda _: viewer.clear_trails())

    def _energy(self) -> None:
        track = self.viewer.track
        if track is None or not track.energy or len(track) < 2:
            return
        known = np.flatnonzero(np.isfinite(list(track.energy.values())).all(axis=0))  # a gap empties the whole plot
        chosen = known[:: max(1, -(-len(known) // PLOT_POINTS))]
        if not len(chosen):
            return
        self._plot_time = track.time[chosen]
        self._curves = [curve[chosen] for curve in track.energy.values()]
        series: list[Any] = [{"label": "t"}]
        for name, color in zip(track.energy, CURVE_COLORS, strict=False):  # six at most
            series.append({"label": name, "stroke": color, "width": 1.5})
        series.append({"label": "now", "stroke": "#999999", "width": 1.5, "scale": "now"})
        scales: Any = {"x": {"time": False}, "now": {"range": (0.0, 1.0)}}
        with self.gui.add_folder("Energy [J]"):
            self.plot = self.gui.add_uplot(self._data(track.time[0]), tuple(series), scales=scales, aspect=1.4)

    def _data(self, time: float) -> tuple[Array, ...]:
        """Return the curves, and a needle where time is."""
        needle = np.zeros(len(self._plot_time))
        needle[int(np.argmin(np.abs(self._plot_time - time)))] = 1.0
        return (self._plot_time, *self._curves, needle)

    def _mark_energy(self, time: float) -> None:
        if self.plot is not None:
            self.plot.data = self._data(time)

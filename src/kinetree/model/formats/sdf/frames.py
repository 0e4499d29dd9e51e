"""The frames of an SDF file: a graph of poses, each relative to another frame."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import FileFormatError, UnknownNameError
from ...graph import inverse
from ...pose import Pose
from ..xml import Element

WORLD, MODEL = "world", "__model__"


@dataclass
class SdfFrame:
    """A frame: its pose, the frame that the pose is relative to, and what it moves with."""

    relative_to: str
    pose: Pose
    element: Element
    attached_to: str
    """A link or a frame; by default the same as ``relative_to``."""
    placement_frame: str = ""
    """For a model, the frame in it whose pose is given."""


class Frames:
    """All frames by their full names, with '::' between models; poses are those with all joints at zero."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[str, SdfFrame] = {}
        self.links: set[str] = {WORLD}
        self._found: dict[str, Pose] = {WORLD: Pose()}
        self._asked: list[str] = []

    def add(self, name: str, place: SdfFrame, is_link: bool = False) -> None:
        """Declare a frame."""
        if name in self.places or name == WORLD:
            first = f"; the first is on line {self.places[name].element.line}" if name in self.places else ""
            raise FileFormatError(f"two frames are named {name!r}{first}", self.file, place.element.line)
        self.places[name] = place
        if is_link:
            self.links.add(name)

    def known(self, name: str, scope: str) -> str | None:
        """Return the full name of a frame from its name within a model; None if there is no such frame."""
        full = scope + name
        if full in self.places:
            return full
        if name == WORLD or f"{full}::{MODEL}" in self.places:
            return WORLD if name == WORLD else f"{full}::{MODEL}"
        return None

    def find(self, name: str, scope: str, element: Element, whose: str) -> str:
        """Return the full name of a frame, or raise an error that names what refers to it."""
        found = self.known(name, scope)
        if found is None:
            near = [n.removeprefix(scope) for n in self.places if n.startswith(scope) and MODEL not in n]
            raise FileFormatError(f"{whose}: {UnknownNameError('frame', name, near)}", self.file, element.line)
        return found

    def pose(self, name: str) -> Pose:
        """Return the pose of a frame in the world."""
        self._asked.clear()
        at = name
        while at not in self._found:
            at = self._enter(at).relative_to
        for each in reversed(self._asked):
            place = self.places[each]
            base, pose = self._found[place.relative_to], place.pose
            if place.placement_frame:
                # this is the pose of the placement frame; the model's own pose follows from the frame's pose in the
                # model
                pose = pose @ inverse(self._within(place.placement_frame, each))
            self._found[each] = pose if base.is_identity else base if pose.is_identity else base @ pose
        self._asked.clear()
        return self._found[name]

    def _within(self, name: str, model: str) -> Pose:
        """Return the pose of a frame in its model, through frames that do not depend on the model's own pose."""
        pose = Pose()
        seen = 0
        while name != model:
            place = self.places.get(name)
            seen += 1
            if place is None or seen > len(self.places):
                raise FileFormatError(f"the placement frame {name!r} is not in its model", self.file)
            pose, name = place.pose @ pose, place.relative_to
        return pose

    def between(self, parent: str, child: str) -> Pose:
        """Return the pose of one frame in another."""
        if parent == child:
            return Pose()
        if self.places[child].relative_to == parent and not self.places[child].placement_frame:
            return self.places[child].pose
        return inverse(self.pose(parent)) @ self.pose(child)

    def link_of(self, name: str) -> str:
        """Return the link that a frame moves with."""
        self._asked.clear()
        while name not in self.links:
            name = self._enter(name).attached_to
        self._asked.clear()
        return name

    def _enter(self, name: str) -> SdfFrame:
        place = self.places[name]
        if name in self._asked:
            circle = " -> ".join([*self._asked[self._asked.index(name) :], name])
            raise FileFormatError(
                f"frames are relative to one another in a circle: {circle}", self.file, place.element.line
            )
        self._asked.append(name)
        return place

"""Reads numbers, words and poses from the elements of an SDF file, with errors that name file and line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable

from ....errors import FileFormatError
from ...joint_fields import words_of
from ...pose import Pose
from ..xml import Element, misspelled

CLOSED = (
    "visual", "sensor", "plugin", "light", "gui", "scene", "audio_source", "battery", "particle_emitter",
    "projector", "material", "physics_friction", "actor", "road", "state", "atmosphere", "magnetic_field", "wind",
    "gripper", "spherical_coordinates", "population", "experimental:params",
)  # fmt: skip
"""Elements whose content does not affect the motion of a robot."""

KNOWN = {
    "sdf": ("model", "world"),
    "world": ("model", "include", "gravity", "joint", "frame", "physics", "model_file"),
    "model": (
        "link", "joint", "frame", "model", "include", "pose", "static", "self_collide", "allow_auto_disable",
        "enable_wind",
    ),
    "include": ("uri", "name", "pose", "static", "placement_frame"),
    "link": (
        "pose", "inertial", "collision", "gravity", "self_collide", "kinematic", "must_be_base_link", "enable_wind",
        "velocity_decay",
    ),
    "inertial": ("mass", "pose", "inertia", "density", "auto_inertia_params", "fluid_added_mass", "frame"),
    "joint": (
        "parent", "child", "pose", "axis", "axis2", "gearbox_ratio", "gearbox_reference_body", "thread_pitch",
        "screw_thread_pitch", "physics",
    ),
    "axis": ("xyz", "limit", "dynamics", "use_parent_model_frame", "initial_position", "mimic"),
    "limit": (*words_of("sdf", limits=True), "stiffness", "dissipation"),
    "dynamics": tuple(words_of("sdf")),
    "frame": ("pose",),
}  # fmt: skip
"""Elements that the reader uses; an unknown one with almost the same spelling is reported."""

ATTRIBUTES = {
    "pose": ("relative_to", "rotation_format", "degrees", "frame"), "xyz": ("expressed_in",),
    "model": ("name", "canonical_link", "placement_frame"), "link": ("name",), "joint": ("name", "type"),
    "frame": ("name", "attached_to"), "inertial": ("auto",), "mimic": ("joint", "axis"),
}  # fmt: skip
"""Attributes that the reader uses, or that do not matter; an unknown one that is almost so is reported."""

Report = Callable[[str, int | None], None]


class Elements:
    """Reads the elements of one file.

    file: Name of the file in messages.
    report: Called with a description of something that cannot be represented, and its line.
    """

    def __init__(self, file: str, report: Report) -> None:
        self.file, self.report = file, report

    def error(self, message: str, element: Element) -> FileFormatError:
        """Return an error that names file and line."""
        return FileFormatError(message, self.file, element.line)

    def check(self, element: Element, tag: str | None = None) -> None:
        """Report children that look like misspellings; all other unknown children belong to other tools."""
        known = KNOWN[tag or element.tag]
        self._check_attributes(element)
        for child in element.children:
            if child.tag in known and child.tag not in KNOWN:
                self._check_attributes(child)
            if child.tag not in known and child.tag not in CLOSED:
                near = difflib.get_close_matches(child.tag, known, n=1, cutoff=0.75)
                if near:
                    self.report(
                        f"<{child.tag}> in <{element.tag}> is unknown and not read; did you mean <{near[0]}>?",
                        child.line,
                    )

    def _check_attributes(self, element: Element) -> None:
        for name, meant in misspelled(element, ATTRIBUTES.get(element.tag, ())).items():
            if meant:
                self.report(
                    f"{name!r} in <{element.tag}> is unknown and not read; did you mean {meant!r}?", element.line
                )

    def name(self, element: Element) -> str:
        """Return the name that an element must have."""
        name = element.attributes.get("name", "").strip()
        if not name:
            raise self.error(f"<{element.tag}> has no name", element)
        if "::" in name:
            raise self.error(f"<{element.tag}> {name!r}: a name cannot contain '::', which separates names", element)
        return name

    def only(self, element: Element, tag: str) -> Element | None:
        """Return the only child with this tag."""
        return element.only(tag, self.file)

    def word(self, element: Element, tag: str) -> str:
        """Return the text of a child; an empty string if there is no such child."""
        child = self.only(element, tag)
        return "" if child is None else child.text.strip()

    def number(self, element: Element | None, tag: str, default: float) -> float:
        """Return the number in a child, or the default that SDF prescribes."""
        child = None if element is None else self.only(element, tag)
        return default if child is None else self.numbers(child, 1)[0]

    def truth(self, element: Element, tag: str, default: bool = False) -> bool:
        """Return the boolean in a child."""
        word = self.word(element, tag).lower()
        if word not in ("", "0", "1", "true", "false"):
            child = self.only(element, tag)
            raise self.error(f"<{tag}> must be true or false, not {word!r}", child or element)
        return default if not word else word in ("1", "true")

    def numbers(self, element: Element, count: int, infinite: bool = True) -> list[float]:
        """Return the numbers in an element's text."""
        what = "a number" if count == 1 else f"{count} numbers"
        try:
            found = [float(word) for word in element.text.split()]
        except ValueError:
            found = []
        if len(found) != count or any(map(math.isnan, found)) or not (infinite or all(map(math.isfinite, found))):
            raise self.error(f"<{element.tag}> must be {what}, not {element.text.strip()!r}", element)
        return found

    def pose(self, element: Element | None) -> Pose:
        """Return the pose of a <pose>: position, and roll, pitch and yaw or a quaternion."""
        if element is None or not element.text.strip():
            return Pose()
        form = element.attributes.get("rotation_format", "euler_rpy")
        if form not in ("euler_rpy", "quat_xyzw"):
            raise self.error(f"rotation_format is euler_rpy or quat_xyzw, not {form!r}", element)
        x = self.numbers(element, 6 if form == "euler_rpy" else 7, infinite=False)
        position, turn = x[:3], x[3:]
        if form == "quat_xyzw":
            if abs(math.hypot(*turn) - 1.0) > 1e-6:
                raise self.error(f"the quaternion {turn} is not of unit length", element)
            return Pose.of(position, quaternion=turn)
        if element.attributes.get("degrees", "false").strip().lower() in ("true", "1"):
            turn = [math.radians(angle) for angle in turn]
        return Pose.of(position, rpy=turn) if any(turn) else Pose.of(position)

    def relative_to(self, element: Element | None) -> str:
        """Return the frame that a pose is relative to; versions before 1.7 called it ``frame``."""
        return "" if element is None else (
            element.attributes.get("relative_to") or element.attributes.get("frame") or ""
        ).strip()  # fmt: skip

"""Elements of other tools for joints that close loops of URDF: ``<constraint>`` and ``<coupling>``.

``<constraint>`` is that of a proposal for URDF (urdfdom, request 264): a joint between two links of the tree, with an
origin and an axis on either side.  ``<coupling>`` is that of URDF+ (generalized_rbda), for gears and belts; its
``<loop>`` is written like kinetree's own.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...errors import FileFormatError, UnknownNameError
from ..joints import Cylindrical, Fixed, JointKind, Planar, Prismatic, Revolute, Spherical, Universal
from ..pose import Pose
from .source import FileBuilder
from .xml import Element

BY_AXIS: dict[str, Any] = {
    "revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "cylindrical": Cylindrical, "planar": Planar,
}  # fmt: skip

WITHOUT_AXIS: dict[str, JointKind] = {"fixed": Fixed(), "spherical": Spherical(), "ball": Spherical()}

TYPES = (*BY_AXIS, *WITHOUT_AXIS, "universal")


class Reader(Protocol):
    """What reads URDF."""

    builder: FileBuilder

    def text(self, element: Element, attribute: str, what: str | None = None) -> str:
        """Return an attribute that must be there."""

    def only(self, element: Element, tag: str) -> Element | None:
        """Return the only child with this tag."""

    def vector(self, element: Element, attribute: str, count: int, default: Any = None) -> list[float]:
        """Return so many numbers."""

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        """Return one number."""

    def pose_of(self, origin: Element | None) -> Pose:
        """Return the pose that an origin tells."""

    def error(self, message: str, element: Element) -> FileFormatError:
        """Return an error that names file and line."""


def read_constraint(reader: Reader, element: Element) -> None:
    """Read a joint between two links that closes a loop."""
    name = reader.text(element, "name")
    word = reader.text(element, "type", f"constraint {name!r}").lower()
    if word not in TYPES:
        raise reader.error(f"constraint {name!r}: {UnknownNameError('type', word, TYPES)}", element)
    links, origins, axes = [], [], []
    for role in ("parent", "child"):
        end = reader.only(element, role)
        if end is None:
            raise reader.error(f"constraint {name!r} has no <{role}>", element)
        links.append(reader.text(end, "link", f"the <{role}> of constraint {name!r}"))
        origins.append(reader.pose_of(reader.only(element, f"{role}_origin")))
        axes.append(_axis(reader, element, f"{role}_axis", name))
    if word == "universal":
        kind: JointKind = Universal("XY")
        placement, seat = origins[0] @ _turned((1.0, 0.0, 0.0), axes[0]), origins[1] @ _turned((0.0, 1.0, 0.0), axes[1])
    elif word in WITHOUT_AXIS:
        kind, (placement, seat) = WITHOUT_AXIS[word], origins
    else:
        kind, placement = BY_AXIS[word](axes[0]), origins[0]
        seat = origins[1] @ _turned(axes[0], axes[1])
    with reader.builder.at(element.line):
        reader.builder.loop(name, links[0], links[1], kind, placement=placement, seat=seat)


def _axis(reader: Reader, element: Element, tag: str, name: str) -> tuple[float, float, float]:
    given = reader.only(element, tag)
    if given is None:
        return (1.0, 0.0, 0.0)
    x, y, z = reader.vector(given, "xyz", 3)
    length = float(np.linalg.norm((x, y, z)))
    if length == 0.0:
        raise reader.error(f"constraint {name!r}: <{tag}> has zero length", given)
    return (x / length, y / length, z / length)


def _turned(given: tuple[float, float, float], wanted: tuple[float, float, float]) -> Pose:
    """Return the shortest turn that takes one direction to another."""
    a, b = np.array(given), np.array(wanted)
    if np.array_equal(a, b):
        return Pose()
    half = np.append(np.cross(a, b), 1.0 + a @ b)
    if np.linalg.norm(half) < 1e-9:  # half a turn, about any direction across
        across = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        half = np.append(across, 0.0)
    return Pose.of(quaternion=half / np.linalg.norm(half))


def read_own_coupling(reader: Reader, element: Element) -> None:
    """Read a coupling in kinetree's own words."""
    name = reader.text(element, "name")
    sums: dict[str, dict[str, float]] = {"joint": {}, "follows": {}}
    for child in element.children:
        if child.tag not in sums:
            raise reader.error(f"coupling {name!r} has <joint> and <follows>, and no <{child.tag}>", child)
        joint = reader.text(child, "name", f"a joint of coupling {name!r}")
        sums[child.tag][joint] = reader.number(child, "coefficient", 1.0)
    polynomial = None
    if "polynomial" in element.attributes:
        count = len(element.attributes["polynomial"].split())
        polynomial = reader.vector(element, "polynomial", count)
    with reader.builder.at(element.line):
        reader.builder.coupling(name, sums["joint"], sums["follows"] or None, polynomial)


def read_coupling(
    reader: Reader, element: Element, carriers: dict[str, tuple[str, str]]
) -> tuple[str, str, float] | None:
    """Read a gear between two joints on one carrier as a joint that follows another: its name, the leader's, the ratio.

    Parameters
    ----------
    reader, element
    carriers : dict
        Of each link: the joint that carries it, and that joint's parent.
    """
    name = reader.text(element, "name")
    ends = []
    for role in ("predecessor", "successor"):
        end = reader.only(element, role)
        if end is None:
            raise reader.error(f"coupling {name!r} has no <{role}>", element)
        link = reader.text(end, "link", f"the <{role}> of coupling {name!r}")
        if link not in carriers:
            raise reader.error(f"the {role} of coupling {name!r}: {UnknownNameError('link', link, carriers)}", end)
        ends.append(carriers[link])
    given = reader.only(element, "ratio")
    ratio = 1.0 if given is None else reader.number(given, "value")
    (leader, below), (follower, beside) = ends
    if below == beside and abs(ratio) == 1.0:
        return follower, leader, ratio
    why = "its links are not carried by one link" if below != beside else f"the ratio is {ratio:g}, not 1 or -1"
    reader.builder.oddity(f"<coupling> {name!r} is not read, for {why}: use <mimic>", element.line)
    return None

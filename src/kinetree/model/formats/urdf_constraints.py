"""Other tools' elements for closed loops in URDF: ``<constraint>`` and ``<coupling>``.

``<constraint>`` comes from a proposal for URDF (urdfdom, request 264): a joint between two links of the tree, with an
origin and an axis on each side.  ``<coupling>`` comes from URDF+ (generalized_rbda), for gears and belts; its
``<loop>`` is written like kinetree's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ...errors import FileFormatError, UnknownNameError
from ..graph import Draft
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
    """The methods of the URDF reader that this module uses."""

    builder: FileBuilder

    def text(self, element: Element, attribute: str, what: str | None = None) -> str:
        """Return an attribute that must be there."""

    def only(self, element: Element, tag: str) -> Element | None:
        """Return the only child with this tag."""

    def vector(self, element: Element, attribute: str, count: int, default: Any = None) -> list[float]:
        """Return ``count`` numbers."""

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        """Return one number."""

    def pose_of(self, origin: Element | None) -> Pose:
        """Return the pose of an origin."""

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
    """Return the shortest rotation that takes one direction to another."""
    a, b = np.array(given), np.array(wanted)
    if np.array_equal(a, b):
        return Pose()
    half = np.append(np.cross(a, b), 1.0 + a @ b)
    if np.linalg.norm(half) < 1e-9:  # half a turn about any perpendicular direction
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


def read_coupling(reader: Reader, element: Element) -> None:
    """Read a gear or belt of URDF+: ratio times the joint sum to the predecessor equals that to the successor.

    Both sums begin at the link that carries both sides, so joints between that link and the base are not included.
    """
    name, builder = reader.text(element, "name"), reader.builder
    carriers = {draft.child: draft for draft in builder.drafts}
    chains: list[list[str]] = []
    for role in ("predecessor", "successor"):
        end = reader.only(element, role)
        if end is None:
            raise reader.error(f"coupling {name!r} has no <{role}>", element)
        link = reader.text(end, "link", f"the <{role}> of coupling {name!r}")
        if link not in builder.body_names:
            unknown = UnknownNameError("link", link, builder.body_names)
            raise reader.error(f"the {role} of coupling {name!r}: {unknown}", end)
        chains.append(_moving_joints(link, carriers))
    given = reader.only(element, "ratio")
    ratio = 1.0 if given is None else reader.number(given, "value")
    before, after = ([joint for joint in chain if joint not in other] for chain, other in (chains, chains[::-1]))
    if ratio == 0.0 or not (before or after):
        why = "its ratio is 0" if ratio == 0.0 else "no moving joint is between its links"
        raise reader.error(f"coupling {name!r} couples nothing: {why}", element)
    with builder.at(element.line):
        builder.bind(name, after, before, ratio)


def _moving_joints(link: str, carriers: Mapping[str, Draft]) -> list[str]:
    """Return the moving joints between a link and the base; a circle, which is refused later, is visited once."""
    found: dict[str, Draft] = {}
    while link in carriers and carriers[link].name not in found:
        found[carriers[link].name] = carriers[link]
        link = carriers[link].parent
    return [name for name, draft in found.items() if draft.kind.nv]

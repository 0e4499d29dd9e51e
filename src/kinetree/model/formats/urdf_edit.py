"""Changing only inertias and friction in URDF files; meshes, comments and elements of other tools are kept.

If a body consists of several links welded together, the moving link takes up the difference; if that would make it
physically impossible, it takes up everything, and the links welded to it lose their inertia.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, ModelWarning, UnsupportedError
from ..mass import MassProperties
from ..parameters import OF_BODIES, parameters
from ..tree import Model
from . import losses, urdf, xml
from .source import Options, Source
from .urdf_writer import dynamics, warn_of_our_own

if TYPE_CHECKING:
    from xml.dom.minidom import Document, Element

SAME = 1e-9
"""How far the written parameters may be from the intended ones, relative to a body's own size."""


def edited(model: Model, source: Source) -> str:
    """Return a URDF file with the inertias, friction, springs and rotors of a model that was made from it.

    model: A model with the same links and joints.
    source: The original file.

    Raises
    ------
    UnsupportedError
        If the model does not belong to the file, or has something that URDF cannot express.
    """
    from xml.dom import expatbuilder  # imported only to edit files

    if xml.parse(source.data, source.file).tag != "robot":
        raise FileFormatError("only URDF files can be edited", source.file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # warnings were issued when the file was loaded
        before = urdf.read(source, Options())
        inertias = urdf.link_inertias(source)
    # prefixes are part of names, as in the reader: many files use prefixes that they do not declare
    document = expatbuilder.parseString(source.data, namespaces=False)
    links, joints = (_named(document, tag) for tag in ("link", "joint"))
    changed = _edit_links(model, before, inertias, links, source.file)
    changed |= _edit_joints(model, before, joints, document, source.file)
    if not changed:
        return source.data.decode("utf-8", "surrogateescape")
    text = "\n".join([_declaration(source.data), *(node.toxml() for node in document.childNodes)]) + "\n"
    _check(model, Source(source.path, text.encode("utf-8")))
    return text


def _declaration(data: bytes) -> str:
    """Return the XML declaration of the file, unless it names an encoding other than the one that is written."""
    found = re.match(rb"\s*(<\?xml[^>]*\?>)", data)
    words = found.group(1).decode("ascii", "replace") if found else ""
    plain = words and ("encoding" not in words or re.search("utf-?8", words, re.IGNORECASE))
    return words if plain else '<?xml version="1.0" encoding="utf-8"?>'


def _named(document: Document, tag: str) -> dict[str, Element]:
    root = document.documentElement
    assert root is not None
    return {e.getAttribute("name"): e for e in _children(root, tag)}


# ------------------------------------------------------------------ links


def _edit_links(
    model: Model, before: Model, inertias: Mapping[str, MassProperties], links: Mapping[str, Element], file: str
) -> bool:
    """Change the inertias of links; return whether any has changed."""
    changed = False
    old = {body.name: body.mass_properties for body in (before.base, *before.bodies)}
    for i, body in enumerate(model.bodies):
        new = body.mass_properties
        if body.name not in links or body.name not in old:
            raise UnsupportedError(f"{file} has no moving link {body.name!r}: it is not this robot's file")
        if new == old[body.name]:
            continue
        new.require_writable(body.name)
        welded = [name for name in links if name != body.name and _carrier(model, name) == i and name in inertias]
        others = [inertias[name].moved(model.frame(name).pose) for name in welded]
        rest = None
        if new.mass > sum(m.mass for m in others):
            rest = MassProperties.from_parameters(new.parameters - sum((m.parameters for m in others), np.zeros(10)))
        if rest is None or rest.problems():
            rest = new
            for name in welded:
                for element in _children(links[name], "inertial"):
                    links[name].removeChild(element)
        _set_inertial(links[body.name], rest.moved(model.frame(body.name).pose.inverse()))
        changed = True
    return changed


def _carrier(model: Model, name: str) -> int | None:
    return model.frame_table[name].body if name in model.frame_table else None


def _set_inertial(link: Element, mass: MassProperties) -> None:
    inertial = _child(link, "inertial")
    xx, yy, zz, xy, xz, yz = (repr(x) for x in mass.inertia)
    moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    origin = _child(inertial, "origin")
    if origin.hasAttribute("quat_xyzw"):
        origin.removeAttribute("quat_xyzw")
    for element, values in (
        (origin, {"xyz": " ".join(repr(x) for x in mass.com), "rpy": "0 0 0"}),
        (_child(inertial, "mass"), {"value": repr(mass.mass)}),
        (_child(inertial, "inertia"), moments),
    ):
        for name, value in values.items():
            element.setAttribute(name, value)


# ------------------------------------------------------------------ joints


def _edit_joints(model: Model, before: Model, joints: Mapping[str, Element], document: Document, file: str) -> bool:
    """Change the friction, springs and rotors of joints; return whether any has changed."""
    lost, changed = [], []
    for joint in model.joints:
        old = before.joints[before.joint_index[joint.name]] if joint.name in before.joint_index else None
        if old is None or joint.name not in joints:
            if joint.kind.usually_driven:
                raise UnsupportedError(f"{file} has no moving joint {joint.name!r}: it is not this robot's file")
            continue  # the free joint of a floating base, which no file has
        values, were = dynamics(joint), dynamics(old)
        if values != were:
            changed.append(joint)
            element = _child(joints[joint.name], "dynamics")
            for name in were.keys() - values.keys():
                element.removeAttribute(name)
            for name, value in values.items():
                element.setAttribute(name, repr(value))
            if any(name.startswith(urdf.OWN) for name in values) and document.documentElement is not None:
                document.documentElement.setAttribute("xmlns:kinetree", urdf.NAMESPACE)
        lost += losses.of_joint(joint, "urdf")
    losses.warn_of(lost, "URDF has")
    warn_of_our_own(changed)
    return bool(changed)


# ------------------------------------------------------------------ elements


def _children(parent: Element, tag: str) -> list[Element]:
    nodes: list[Any] = list(parent.childNodes)
    return [node for node in nodes if getattr(node, "tagName", "") == tag]


def _child(parent: Element, tag: str) -> Element:
    """Return the child with a tag; add one, indented like its neighbors, if there is none."""
    found = _children(parent, tag)
    if found:
        return found[0]
    document = parent.ownerDocument
    assert document is not None
    element = document.createElement(tag)
    first, last = parent.firstChild, parent.lastChild
    if first is not None and last is not None and first.nodeType == first.TEXT_NODE:
        parent.insertBefore(document.createTextNode(str(first.nodeValue)), last)
        parent.insertBefore(element, last)
    else:
        parent.appendChild(element)
    return element


def _check(model: Model, source: Source) -> None:
    """Refuse a result that does not read back as intended: a file of another robot, or with another geometry."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        again = parameters(urdf.read(source, Options()))
    wanted = parameters(model)
    for body in model.bodies:
        names = [f"{body.name}.{symbol}" for symbol in OF_BODIES]
        if names[0] not in again:  # the link of a floating base
            continue
        found, meant = (np.array([table[name] for name in names]) for table in (again, wanted))
        if np.abs(found - meant).max() > SAME * max(np.abs(meant).max(), 1e-300):
            raise UnsupportedError(
                f"{source.file} cannot hold the parameters of link {body.name!r}: its links are not placed like "
                "this robot's; save without original="
            )

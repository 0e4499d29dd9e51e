"""New names for bodies, joints, loops, frames, tendons, actuators and shapes, wherever the text names them."""

from __future__ import annotations

from kinetree.errors import ModelError
from kinetree.model.formats.yaml import quoted_word

from .yaml_edits import Path, composed, node_at, plain, put, scalars

BODIES, JOINTS, TENDONS, ACTUATORS, SHAPES = "bodies and frames", "joints and loops", "tendons", "actuators", "shapes"
OF_SECTION = {
    "bodies": BODIES, "frames": BODIES, "base": BODIES, "joints": JOINTS, "loops": JOINTS, "tendons": TENDONS,
    "actuators": ACTUATORS, "shapes": SHAPES,
}  # fmt: skip
"""Which names belong together: two of them cannot be the same."""

CONTACTS = ("excluded_contacts", "allowed_contacts")

ENDS = ("parent", "child", "predecessor", "successor", "body")


def renamed(text: str, section: str, old: str, new: str) -> str:
    """Return the text with another name for something of a section."""
    if section not in OF_SECTION:
        raise ModelError(f"{section} have no names that could change; those of a drawing are changed where it is drawn")
    if section == "base" and node_at(composed(text), ("base",)) is None:
        text = put(text, ("base",), old)
    own = ("bodies", old, "joint")
    if section == "bodies" and node_at(composed(text), own) is not None:
        joint = plain(node_at(composed(text), own))
        if isinstance(joint, str) or "name" not in joint:  # it is named for its body, and keeps that name
            text = put(text, (*own, "name"), f"{old}_joint")
    kind, found = OF_SECTION[section], []
    for at, is_key, node in scalars(composed(text)):
        touches = kind == SHAPES and at[0] in CONTACTS  # of shapes or of bodies
        if node.value == old and (_names(at, is_key) == kind or touches):
            found.append((node.start_mark.index, node.end_mark.index))
    for start, end in reversed(found):
        text = text[:start] + quoted_word(new) + text[end:]
    return text


def _names(at: Path, is_key: bool) -> str:
    """Return what a word at a place names."""
    top, last = at[0], at[-1]
    if is_key:
        if (top == "configurations" and len(at) == 3) or (len(at) > 3 and at[-2] in ("joints", "follows")):
            return JOINTS
        return BODIES if top == "loads" and len(at) == 2 else ""
    if top == "base" and (len(at) == 1 or last == "name"):
        return BODIES
    if last in ENDS or top in CONTACTS or (top == "tendons" and "points" in at[-2:]):
        return BODIES
    if last == "leader" or top == "cuts" or (top == "couplings" and last in ("joints", "follows")):
        return JOINTS
    if last == "joint_name" or (top == "actuators" and last == "joint") or (last == "name" and "joint" in at):
        return JOINTS
    if top == "bodies" and last == "joint":
        return ""
    if top == "actuators" and last == "tendon":
        return TENDONS
    if last == "name" and len(at) == 3:
        return OF_SECTION.get(str(top), "")
    return BODIES if top == "table" and last == "name" else ""

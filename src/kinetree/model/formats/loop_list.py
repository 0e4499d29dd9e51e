"""Loop lists: YAML files that accompany URDF files and name pairs of frames that coincide.

This is the format of the collection of parallel robots by Batto and De Matteis::

    closed_loop: [[frame_a, frame_b], ...]     # links, frames or joints; a joint means the frame that it moves
    type: [6d, ...]                            # 6d: welded, 3d: held at a point
    name_mot: [joint, ...]                     # the joints with motors
    joint_name: [joint, ...]                   # joints that URDF has no type for,
    joint_type: [SPHERICAL, UJOINT_XY, ...]    # and what they are
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import FileFormatError, UnknownNameError
from ..joints import Fixed, JointKind, Spherical, Universal
from ..joints.universal import TWO_AXIS_SEQUENCES
from .source import FileBuilder, Source
from .yaml_nodes import Node, NodeReader, Scalar, Table, nodes

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type", "rotor_inertia", "rotor_ratio")

CLOSED_BY: dict[str, JointKind] = {"6d": Fixed(), "3d": Spherical()}

JOINT_TYPES: dict[str, JointKind] = {"SPHERICAL": Spherical(), "FIXED": Fixed(), "UJOINT": Universal("XY")} | {
    f"UJOINT_{axes}": Universal(axes) for axes in TWO_AXIS_SEQUENCES
}


def is_loop_list(root: Node) -> bool:
    """Return whether a YAML document is such a list, and not a kinetree file."""
    return isinstance(root, Table) and "closed_loop" in root.entries and "kinetree" not in root.entries


@dataclass(frozen=True)
class LoopList:
    """Adds the loops of such a file to a robot."""

    source: Source

    def __call__(self, builder: FileBuilder) -> None:
        """Change the types of joints, mark those that have motors, and close the loops."""
        _LoopListReader(self.source.file, nodes(self.source)).add_to(builder)


class _LoopListReader(NodeReader):
    def __init__(self, file: str, root: Node) -> None:
        super().__init__(file)
        self.root = root
        self.top = self.fields(root, "a list of loops", KEYS)

    def add_to(self, builder: FileBuilder) -> None:
        with builder.reading(self.file):
            for name, word in zip(self.words("joint_name"), self.words("joint_type", like="joint_name"), strict=True):
                if word.text.upper() not in JOINT_TYPES:
                    raise self.error(str(UnknownNameError("type of joint", word.text, JOINT_TYPES)), word)
                with builder.at(name.line):
                    builder.change_kind(name.text, JOINT_TYPES[word.text.upper()])
            if "name_mot" in self.top:
                with builder.at(self.top["name_mot"].line):
                    builder.drive_only([word.text for word in self.words("name_mot")])
            for left_out in ("rotor_inertia", "rotor_ratio"):
                if left_out in self.top:
                    builder.oddity(f"{left_out} in the list of loops is not read", self.top[left_out].line)
            self.close(builder)

    def words(self, key: str, like: str | None = None) -> list[Scalar]:
        items = self.items(self.top[key], key) if key in self.top else []
        found = [self.scalar(item, f"an entry of {key}") for item in items]
        if like is not None and len(found) != len(self.words(like)):
            raise self.error(f"{key} has {len(found)} entries, but {like} has {len(self.words(like))}", self.root)
        return found

    def close(self, builder: FileBuilder) -> None:
        listed = self.items(self.top["closed_loop"], "closed_loop")
        pairs = [self.items(pair, "a pair of closed_loop") for pair in listed]
        kinds = [word.text.lower() for word in self.words("type")] if "type" in self.top else ["6d"] * len(pairs)
        if len(kinds) != len(pairs):
            raise self.error(f"type has {len(kinds)} entries, but closed_loop has {len(pairs)}", self.root)
        for pair, kind in zip(pairs, kinds, strict=True):
            if len(pair) != 2:
                raise FileFormatError(
                    "closed_loop has an entry that is not a pair of frames", self.file, self.root.line
                )
            first, second = (self.text(end, "a frame of closed_loop") for end in pair)
            if kind not in CLOSED_BY:
                raise self.error(str(UnknownNameError("type of loop", kind, CLOSED_BY)), pair[0])
            same = [a == b for a, b in zip(first, second, strict=False)]
            name = first[: same.index(False) if False in same else len(same)].rstrip("_- ")
            if not name or name in builder.joints_and_loops:
                name = f"{first}-{second}"
            with builder.at(pair[0].line):
                builder.loop(name, first, second, CLOSED_BY[kind])

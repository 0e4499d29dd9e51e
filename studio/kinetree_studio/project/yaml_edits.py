"""Edits of YAML text that leave all else as it was written: comments, order, spacing, numbers with units.

A place in the text is a path: keys of mappings, and items of lists by their ``name`` or number, such as
``("bodies", "crank", "joint", "damping")``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from kinetree.errors import UnknownNameError
from kinetree.io.units import quantity
from kinetree.model.formats.yaml import exact_number, quoted_word

Path = tuple[str | int, ...]

SHORT = {"joint": "kind", "base": "name"}
"""Mappings that may be written as a single word, and the key that it stands for."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def composed(text: str) -> yaml.Node:
    """Return the nodes of a text, with their places."""
    found = yaml.compose(text, Loader=_LOADER)
    assert found is not None
    return found


def has_aliases(text: str) -> bool:
    """Return whether some values of a text stand for others."""
    return "*" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_LOADER))


def written(value: Any, *, is_name: bool = False) -> str:
    """Return a value on one line; text that is a number, or a number with a unit, is one unless it is a name."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted_word(k)}: {written(x, is_name=k in NAMES)}" for k, x in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(written(x, is_name=is_name) for x in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return exact_number(float(value))
    text = str(value).strip()
    return text if not is_name and _is_number(text) else quoted_word(text)


def _lines(value: Mapping[str, Any], indent: int) -> list[str]:
    """Return a mapping with a line for each key, and for each key of mappings in it."""
    found = []
    for key, own in value.items():
        if isinstance(own, Mapping) and own:
            found += [f"{' ' * indent}{quoted_word(key)}:"]
            found += [
                f"{' ' * (indent + 2)}{quoted_word(k)}: {written(x, is_name=key in NAMES)}" for k, x in own.items()
            ]
        else:
            found.append(f"{' ' * indent}{quoted_word(key)}: {written(own, is_name=key in NAMES)}")
    return found


NAMES = (
    "name", "joint_name", "parent", "child", "predecessor", "successor", "body", "leader", "kind", "axis", "of",
    "side", "points", "between", "wheels", "units", "convention", "follows",
)  # fmt: skip
"""Keys whose values are words, even if they look like numbers."""


def _is_number(text: str) -> bool:
    if text.lower() in (".inf", "-.inf"):
        return True
    try:
        float(text)
    except ValueError:
        return quantity(text) is not None
    return text.strip("+-").lower() not in ("nan", "inf", "infinity") and "_" not in text


# ------------------------------------------------------------------ finding


def node_at(root: yaml.Node, at: Path) -> yaml.Node | None:
    """Return the node at a place; None if a key of its mapping is not given."""
    node: yaml.Node | None = root
    for step in at:
        node = _child(node, step)
        if node is None:
            return None
    return node


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode):
        if isinstance(step, int):
            return node.value[step] if 0 <= step < len(node.value) else None
        named = {_name(item): item for item in node.value}
        if step not in named:
            raise UnknownNameError("item", step, [name for name in named if name is not None])
        return named[step]
    return None


def _name(item: yaml.Node) -> str | None:
    own = _child(item, "name") if isinstance(item, yaml.MappingNode) else None
    return None if own is None else str(own.value)


def plain(node: yaml.Node | None) -> Any:
    """Return mappings, lists and words as they are written; numbers are text."""
    if node is None:
        return None
    if isinstance(node, yaml.MappingNode):
        return {key.value: plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    return node.value


def scalars(node: yaml.Node, at: Path = ()) -> Iterator[tuple[Path, bool, yaml.Node]]:
    """Yield all words with their places, and whether each is a key."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*at, key.value), True, key
            yield from scalars(value, (*at, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for k, item in enumerate(node.value):
            yield from scalars(item, (*at, k))
    else:
        yield at, False, node


def _end(node: yaml.Node) -> int:
    """Return where a node ends, without the empty lines and comments behind it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


# ------------------------------------------------------------------ changing


def put(text: str, at: Path, value: Any) -> str:
    """Return the text with another value at a place, which is added if it was not given."""
    root = composed(text)
    node, key = node_at(root, at), str(at[-1])
    new = written(value, is_name=key in NAMES)
    if node is not None:
        start, end = node.start_mark.index, _end(node)
        if isinstance(value, Mapping) and value and isinstance(node, yaml.MappingNode) and not node.flow_style:
            new = "\n".join(_lines(value, node.start_mark.column)).lstrip()
        return f"{text[:start]}{'' if end > start else ' '}{new}{text[end:]}"
    parent = node_at(root, at[:-1])
    if parent is None:
        return put(text, at[:-1], {key: value})
    if isinstance(parent, yaml.SequenceNode):
        raise UnknownNameError("item", str(at[-1]), map(str, range(len(parent.value))))
    if not isinstance(parent, yaml.MappingNode):
        short = SHORT.get(str(at[-2])) if len(at) > 1 else None
        whole = {short: parent.value} if short and parent.value else {}
        return put(text, at[:-1], {**whole, key: value})
    return _added(text, parent, f"{quoted_word(key)}: {new}")


def insert(text: str, section: Path, item: Any) -> str:
    """Return the text with an item added to a list, which is added if it was not given."""
    found = node_at(composed(text), section)
    if found is None or not isinstance(found, yaml.SequenceNode):
        if found is None and len(section) == 1:
            return f"{text.rstrip()}\n{section[0]}:\n  - {written(item)}\n"
        return put(text, section, [item])
    return _added(text, found, written(item))


def _added(text: str, parent: yaml.CollectionNode, entry: str) -> str:
    """Return the text with an entry at the end of a mapping or list."""
    if parent.flow_style or not parent.value:
        end = parent.end_mark.index - 1
        return f"{text[:end].rstrip()}{', ' if parent.value else ''}{entry}{text[end:]}"
    end = text.find("\n", _end(parent))
    end = len(text) if end < 0 else end
    dash = "- " if isinstance(parent, yaml.SequenceNode) else ""
    return f"{text[:end]}\n{' ' * parent.start_mark.column}{dash}{entry}{text[end:]}"


def drop(text: str, at: Path) -> str:
    """Return the text without what is at a place; a mapping or list that would be empty goes with it."""
    root = composed(text)
    parent, node = node_at(root, at[:-1]), node_at(root, at)
    if node is None or not isinstance(parent, yaml.CollectionNode):
        return text
    if len(parent.value) == 1 and at[:-1]:
        return drop(text, at[:-1])
    pairs = [entry if isinstance(entry, tuple) else (entry, entry) for entry in parent.value]
    spans = [(first.start_mark.index, _end(last)) for first, last in pairs]
    k = next(i for i, (_, own) in enumerate(pairs) if own is node)
    start, end = spans[k]
    if parent.flow_style:
        return text[: spans[k - 1][1]] + text[end:] if k else text[:start] + text[spans[1][0] :]
    line = text.rfind("\n", 0, start) + 1
    if isinstance(parent, yaml.MappingNode) and text[line:start].strip():  # behind the dash of a list
        return text[:start] + text[spans[1][0] :]
    after = text.find("\n", end)
    return text[:line] + ("" if after < 0 else text[after + 1 :])

"""Tables whose rows name the joint of each number in columns of text, as ROS does: ``name0``, ``position0``, ..."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

NUMBERED = re.compile(r"(?<![A-Za-z])(?P<word>[A-Za-z]++)[\[_]?(?P<number>\d++)\]?\Z")
"""The end of a column's name.  The possessive quantifiers keep it from backtracking on long names."""


def named_by_row(names: Sequence[str], texts: Mapping[int, str]) -> tuple[tuple[str, ...], dict[int, str]]:
    """Return names of columns with numbers replaced by the names of joints in the columns ``name0``, ``name[1]``, ...

    names: Names of the columns.
    texts: Content of the first row in columns of text.

    Returns
    -------
    tuple of str
        Names of the columns, ``position/elbow`` for ``position0``.
    dict from int to str
        The columns of text that name a joint, with its name, which must be the same in every row.
    """
    cut = [NUMBERED.search(name.strip()) for name in names]
    places = [(name.strip()[: one.start()], one["number"]) if one else None
              for name, one in zip(names, cut, strict=True)]  # fmt: skip
    telling = {k: text for k, text in texts.items() if (one := cut[k]) and one["word"] == "name" and text}
    joints = {places[k]: text for k, text in telling.items()}
    found = tuple(
        f"{place[0]}{one['word']}/{joints[place]}"
        if one and place and one["word"] != "name" and place in joints
        else name
        for name, one, place in zip(names, cut, places, strict=True)
    )
    return found, telling if found != tuple(names) else {}


def of_another_joint(column: str, first: str, here: str) -> str:
    """Return the message that a row names other joints than the first one, so that its numbers belong elsewhere.

    column: Name of the column of text.
    first, here: The joint of the first row, and that of the row in question.
    """
    return (
        f"{column!r} is {here!r}, but in the first row it is {first!r}: rows belong to different joints. Give each "
        f"joint its own columns, such as 'q_{first}', and every number to the joint that its row names"
    )

"""Finding the columns of a table of motions by the names in its first line, or in plain order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import FileFormatError, nearest, printable
from ..units import factor
from .other_names import PATH, OtherNames, times_among, words_of
from .other_names import WORDS as OTHER_WORDS
from .times import SINCE_1970, unit_since_1970

Wanted = Mapping[str, Sequence[str]]
"""Quantities that are needed, such as ``q``, with the names of their entries."""

Units = Mapping[str, Mapping[str, str]]
"""Units of quantities in SI, by the names of their entries."""

TIME = re.compile(r"t|time", re.IGNORECASE)
SUGGESTIONS = 4
"""For how many missing columns a similar name is suggested."""

WORD = re.compile(r"\.([qwv]?[xyz]|-[xyz]|qw|angle|about_[xyz]2?)$")
"""Suffixes of entries of joints with several entries: ``base.qw``, ``base.z``, ``base.wx``, ``trunk.angle``."""

BY_NUMBER = 2
"""Index of the first spelling that numbers the columns."""

WORDS = {"q": "position", "v": "velocity", "a": "acceleration", "tau": "actuator"}
"""Names of the quantities in tables of studies."""


def column_name(name: str) -> str:
    """Return a name on one line; unprintable characters, such as line ends, are escaped as in Python."""
    return printable(name)


@dataclass(frozen=True)
class Layout:
    """Where the columns are."""

    names: tuple[str, ...]
    """Names of the columns for messages."""
    time: int | None
    """The column of times."""
    quantities: Mapping[str, tuple[int, ...]]
    """The columns of ``q``, ``v``, ..."""
    remark: str = ""
    """Remarks for the user: unused columns, names that were not recognized."""
    fewer: bool = False
    """Whether the table has only the ``fewer`` columns, which are sufficient."""
    factors: Mapping[int, float] = field(default_factory=dict)
    """Factors for columns with a unit."""
    nanoseconds: int | None = None
    """The column of nanoseconds to add to the times."""
    rules: str = ""
    """Inferences that were made by a rule; ``remark`` does not repeat them."""
    doubt: str = ""
    """Why the columns may have been misunderstood."""
    numbered: frozenset[str] = frozenset()
    """Quantities whose columns are numbered or in plain order instead of named."""

    @property
    def used(self) -> list[int]:
        """All columns that are needed."""
        own = {k for columns in self.quantities.values() for k in columns}
        return sorted(own | {k for k in (self.time, self.nanoseconds) if k is not None})


@dataclass(frozen=True)
class Asked:
    """The quantities that are to be read from a table."""

    wanted: Wanted
    """Quantities with the names of their entries."""
    fewer: Wanted | None = None
    """A sufficient subset of these entries."""
    units: Units | None = None
    """Units of the entries: columns whose names end in another unit, ``q_elbow [deg]``, are converted."""
    optional: Wanted | None = None
    """Further quantities, read if the table has them."""

    def layout(self, file: str, header: Sequence[str] | None, count: int) -> Layout:
        """Find the columns; see :func:`layout`."""
        more, wanted = self.optional, self.wanted
        wanted = with_optional(file, header, count, wanted, more) if more else wanted
        return layout(file, header, count, wanted, self.fewer, self.units)


def in_seconds(found: Layout, first: float) -> Layout:
    """Return a layout that converts times since 1970 in units other than seconds.

    found: A layout with a column of times.
    first: The first time.
    """
    unit = unit_since_1970(first)
    if found.time is None or found.time in found.factors or unit is None:
        return found
    rules = "; ".join(text for text in (found.rules, f"times are {unit} since 1970") if text)
    return replace(found, factors={**found.factors, found.time: SINCE_1970[unit]}, rules=rules)


def with_optional(file: str, header: Sequence[str] | None, count: int, wanted: Wanted, optional: Wanted) -> Wanted:
    """Return the required quantities and those optional ones that a table has.

    A table with names has the quantities that have a column; without names, it has as many as fit its columns.

    file, header, count: As in :func:`layout`.
    wanted: Required quantities.
    optional: Optional quantities; without names they come before the last required one, in this order.
    """
    if header is not None:
        head = _Header(file, header)
        there = {key for key, labels in (*wanted.items(), *optional.items()) if any(
            k is not None for k in head.find(key, labels)
        )}  # fmt: skip
        return {**wanted, **{key: labels for key, labels in optional.items() if key in there}}
    every = list(optional.items())
    *first, last = wanted.items()
    choices: list[Wanted] = [dict([*first, *every[:some], last]) for some in range(len(every) + 1)]
    for choice in choices:
        needed = sum(len(labels) for labels in choice.values())
        if count in (needed, needed + 1):
            return choice
    sizes = ", or ".join(
        " ".join(f"{len(labels)} of {key}," for key, labels in choice.items()).rstrip(",") for choice in choices
    )
    example = next(f"{key}_{labels[0]}" for key, labels in wanted.items() if labels)
    raise FileFormatError(
        f"{count} columns that cannot be identified: there must be time and {sizes}; or name the columns in the first "
        f"line, such as {example!r}",
        file,
        1,
    )


def layout(
    file: str,
    header: Sequence[str] | None,
    count: int,
    wanted: Wanted,
    fewer: Wanted | None = None,
    units: Units | None = None,
) -> Layout:
    """Find the columns of quantities.

    file: Name of the file in messages.
    header: Names of the columns, if the file has any.
    count: Number of columns.
    wanted: Quantities in their plain order, with the name of each of their entries.
    fewer: A sufficient subset of these entries, from which the others follow.
    units: Units of the entries; any unit that a header names is converted to these.
    """
    if header is None:
        return _in_order(file, tuple(f"column {k + 1}" for k in range(count)), wanted, fewer)
    head = _Header(file, header)
    found = {key: head.find(key, labels) for key, labels in wanted.items()}
    if fewer is not None and (_are_just(found, wanted, fewer) or head.has_just_others(found, wanted, fewer)):
        return replace(layout(file, header, count, fewer, units=units), fewer=True)
    head.refuse_missing(found, wanted, fewer)
    quantities = {key: tuple(k for k in own if k is not None) for key, own in found.items()}
    time = head.time()
    factors = {} if time is None else head.factor(time, "s")
    for key, own in quantities.items():
        for label, k in zip(wanted[key], own, strict=True):
            factors |= head.factor(k, units[key][label] if units else None)
    found_all = Layout(head.names, time, quantities, factors=factors, nanoseconds=head.nanoseconds)
    left = [head.names[k] for k in range(count) if k not in found_all.used and head.names[k]]
    remark = f"columns not used: {_some(left)}" if left else ""
    return replace(
        found_all, remark=remark, rules="; ".join(head.understood.values()), doubt=head.doubt,
        numbered=frozenset(head.numbered),
    )  # fmt: skip


class _Header:
    """The names of columns, with and without their units."""

    def __init__(self, file: str, header: Sequence[str]) -> None:
        self.file = file
        self.names = tuple(name.strip() for name in header)
        for name, times in Counter(self.names).items():
            if times > 1 and name:
                raise FileFormatError(f"two columns are named {name!r}", file, 1)
        self.bare, units = zip(*map(_without_unit, self.names), strict=True)
        self.units: list[str | None] = list(units)
        self.whole: set[int] = set()  # columns with the exact name of an entry: brackets in it are not units
        self.others = OtherNames(self.bare)
        self.nanoseconds: int | None = None
        self.numbered: set[str] = set()
        self.doubt = ""
        self.understood: dict[str, str] = {}  # inferences about columns that other programs named

    def find(self, key: str, labels: Sequence[str]) -> list[int | None]:
        """Return the column of every entry.

        Columns are found by the joint's name, or numbered from zero or one; if some are missing, in the spellings of
        other programs.
        """
        best: list[int | None] = [None] * len(labels)
        self.numbered.discard(key)
        for way, (spelling, begins) in enumerate(_spellings(key, labels)):
            forms_of_all = {form for forms in spelling for form in forms}
            whole = {k for k, name in enumerate(self.names) if name in forms_of_all}
            places: dict[str, list[int]] = {}
            for k, (name, bare) in enumerate(zip(self.names, self.bare, strict=True)):
                places.setdefault(name if k in whole else bare, []).append(k)
            own = [self._only([k for form in forms for k in places.get(form, ())]) for forms in spelling]
            if begins and labels and own[0] is None:
                continue  # q1 alone is the first of columns numbered from one
            if sum(k is not None for k in own) > sum(k is not None for k in best):
                best, self.whole = own, self.whole | whole
                if way >= BY_NUMBER:
                    self.numbered.add(key)
        return best if all(k is not None for k in best) else self._find_others(key, labels) or best

    def _find_others(self, key: str, labels: Sequence[str]) -> list[int | None]:
        """Return the column of every entry by the names that other programs use; refuse ambiguous ones."""
        choices = self.others.choices(key, labels)
        if not choices:
            return []
        if len(choices) > 1:
            (first, _), (second, _), *_ = choices
            one, other = (next(self.names[k] for k in own if k not in same) for own, same in
                          ((first, second), (second, first)))  # fmt: skip
            raise FileFormatError(
                f"columns such as {one!r} and {other!r} can both be {key!r} of the joints: rename the intended ones "
                f"to '{key}_{labels[0]}', ..., or leave out the others",
                self.file,
                1,
            )
        columns, units = choices[0]
        shown = self.names[columns[0]]
        named = self.others.choices(key, labels, by_name=True)
        if not named:
            self.numbered.add(key)
        if PATH & set(shown) and len(labels) > 1 and not named:
            self.doubt = self.doubt or (
                f"{shown!r} and those that follow are assumed to be the joints {_some(labels)}, in this order; "
                "messages of ROS may have another, often that of the alphabet: see their names"
            )
        for k, unit in zip(columns, units, strict=True):
            self.units[k] = self.units[k] or unit
        self.understood[key] = f"{key} of {_some(labels)} is read from {_some([self.names[k] for k in columns])}"
        return list(columns)

    def has_just_others(self, found: Mapping[str, Sequence[int | None]], wanted: Wanted, fewer: Wanted) -> bool:
        """Return whether only the ``fewer`` columns exist, under names used by other programs."""
        if any(k is not None for own in found.values() for k in own):
            return False
        complete = (self.others.choices(key, wanted[key]) for key in wanted)
        return not any(complete) and all(
            self.others.choices(key, labels, by_name=True) for key, labels in fewer.items()
        )

    def _only(self, found: Sequence[int]) -> int | None:
        if len(found) > 1:
            twins = " and ".join(repr(self.names[k]) for k in found)
            raise FileFormatError(f"columns {twins} are of the same thing: leave one", self.file, 1)
        return found[0] if found else None

    def time(self) -> int | None:
        """Return the column of times."""
        own = self._only([k for k, bare in enumerate(self.bare) if TIME.fullmatch(bare)])
        if own is not None:
            return own
        found = times_among(self.bare)
        if len(found) > 1:
            listed = " and ".join(repr(self.names[one.column]) for one in found)
            raise FileFormatError(f"columns {listed} may be the times: name the one that is 't'", self.file, 1)
        if not found:
            return None
        k, self.nanoseconds = found[0].column, found[0].nanoseconds
        self.units[k] = self.units[k] or found[0].unit
        more = "" if self.nanoseconds is None else f" and {self.names[self.nanoseconds]}"
        self.understood["t"] = f"times are read from {self.names[k]}{more}"
        return k

    def factor(self, k: int, wanted: str | None) -> dict[int, float]:
        """Return the factor of a column with a unit; refuse a unit that it cannot have."""
        unit = self.units[k]
        if unit is None or k in self.whole:
            return {}
        found = factor(unit, wanted)
        if isinstance(found, str):
            raise FileFormatError(f"column {self.names[k]!r}: {found}", self.file, 1)
        return {} if found == 1.0 else {k: found}

    def _to_rename(
        self, key: str, own: Sequence[int | None], labels: Sequence[str], left: Sequence[str]
    ) -> str:  # fmt: skip
        """Return a suggestion of columns that may be the missing entries of a quantity, and how to name them."""
        if all(k is not None for k in own) or not labels:
            return ""
        names = f"'{key}_{labels[0]}'" + (f", '{key}_{labels[1]}', ..." if len(labels) > 1 else "")
        may_be = [name for name in self.others.like(key) if name in left]
        if may_be:
            motor = " (what they are at the joint, not at the motor)" if "motor" in " ".join(may_be).lower() else ""
            return f"{_some(may_be, 4)} may be {key}: rename them to {names}, or number them, '{key}1', ...{motor}"
        currents = [name for name in self.others.like("current") if name in left] if key == "tau" else []
        if currents:
            return f"{_some(currents, 4)} may be currents: multiply them by torque constants and gears for {names}"
        return ""

    def refuse_missing(self, found: Mapping[str, Sequence[int | None]], wanted: Wanted, fewer: Wanted | None) -> None:
        """Refuse a table that lacks columns; suggest which were meant."""
        missing = [
            f"{key}_{label}"
            for key, own in found.items()
            for k, label in zip(own, wanted[key], strict=True)
            if k is None
        ]  # fmt: skip
        if not missing:
            return
        used = {k for own in found.values() for k in own}
        left = [name for k, name in enumerate(self.names) if k not in used]
        meant = {name: nearest(name, _of_this_kind(name, left), 1) for name in missing[:SUGGESTIONS]}
        renaming = [words for key in found if (words := self._to_rename(key, found[key], wanted[key], left))]
        hints = [f"{near[0]!r} may be {name!r}" for name, near in meant.items() if near]
        what = "1 column is" if len(missing) == 1 else f"{len(missing)} columns are"
        there = f"there are {_some(self.names)}"
        if hints:
            there += f"; {', '.join(hints)}: rename what is misspelt"
        elif renaming:
            there += f"; {'; '.join(renaming)}"
        elif idle := _not_measured(found, wanted):
            places = ", ".join(f"{name!r}: 0.0" for name in idle[:SUGGESTIONS])
            more = ", ..." if len(idle) > SUGGESTIONS else ""
            there += (
                f"; joints that were not measured can be locked where they stood: robot.reduced(locked={{{places}"
                f"{more}}}), or --locked {idle[0]}=0"
            )
        if all(k is None for own in found.values() for k in own):
            there += "; without a line of names, columns are taken in order"
        raise FileFormatError(f"{what} missing: {_some(missing)}; {there}{_or_fewer(fewer)}", self.file, 1)


def _not_measured(found: Mapping[str, Sequence[int | None]], wanted: Wanted) -> list[str]:
    """Return entries, usually joints, that have no column at all, if all others have all of theirs."""
    there = [{label for k, label in zip(own, wanted[key], strict=True) if k is not None} for key, own in found.items()]
    known = dict.fromkeys(label for key in found for label in wanted[key])
    if not there or not set.intersection(*there):
        return []
    return [label for label in known if not any(label in own for own in there)]


def _of_this_kind(missing: str, names: Sequence[str]) -> list[str]:
    """Return the columns that may be misspellings of a missing one; the quantity must be the same."""
    kind = missing.partition("_")[0]
    return [name for name in names if not (kinds := _kinds(name)) or kind in kinds]


def _kinds(name: str) -> set[str]:
    """Return the quantities that a name mentions, at its beginning or as a whole word."""
    words = [word.lower() for word in words_of(name).words]
    own = {word for k, word in enumerate(words) if len(word) > 1 or k == 0}
    return {key for key, known in OTHER_WORDS.items() if own & known}


def _without_unit(name: str) -> tuple[str, str | None]:
    """Return a name and the unit at its end, as in studies: ``q elbow [rad]``; ``q_hip[0]`` has none."""
    at = max(name.rfind("["), name.rfind("("))
    unit = name[at + 1 : -1].strip()
    if at < 1 or name[-1] not in "])" or not unit or (unit.isdigit() and not name[at - 1].isspace()):
        return name, None
    return name[:at].rstrip(), unit


def _are_just(found: Mapping[str, Sequence[int | None]], wanted: Wanted, fewer: Wanted) -> bool:
    """Return whether the ``fewer`` columns exist, and none of the others."""
    return all(
        (k is not None) == (label in fewer[key])
        for key, own in found.items()
        for k, label in zip(own, wanted[key], strict=True)
    )  # fmt: skip


def _spellings(key: str, labels: Sequence[str]) -> Iterator[tuple[list[tuple[str, ...]], bool]]:
    """Yield spellings of the columns of a quantity, and whether the first column must exist."""
    labels = [column_name(label) for label in labels]
    for own in (labels, _counted(labels)):
        yield [(f"{key}_{x}", f"{key}:{x}", f"{key} {x}", f"{WORDS.get(key, key)} {x}") for x in own], False
    for first in (0, 1):
        numbers = range(first, first + len(labels))
        yield [(f"{key}{k}", f"{key}_{k}", f"{key}[{k}]") for k in numbers], first == 0


def _counted(labels: Sequence[str]) -> list[str]:
    """Return numbered entries of quaternions, positions and their rates: ``base[0]``, ... for ``base.qx``, ..."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        joint, word, _ = WORD.split(label, maxsplit=1) if WORD.search(label) else (label, "", "")
        found.append(f"{joint}[{seen.get(joint, 0)}]" if word else label)
        seen[joint] = seen.get(joint, 0) + 1
    return found


def _in_order(file: str, names: tuple[str, ...], wanted: Wanted, fewer: Wanted | None = None) -> Layout:
    """Return the columns in plain order: possibly time, then one quantity after the other."""
    needed = sum(len(labels) for labels in wanted.values())
    if fewer is not None and len(names) < needed:
        try:
            return replace(_in_order(file, names, fewer), fewer=True)
        except FileFormatError:
            pass  # the error about all columns also mentions the fewer ones
    order = ", ".join(f"{len(labels)} of {key}" for key, labels in wanted.items())
    time = 0 if len(names) == needed + 1 else None
    rest = [k for k in range(len(names)) if k != time]
    if len(rest) != needed:
        example = next(f"{key}_{labels[0]}" for key, labels in wanted.items() if labels)
        raise FileFormatError(
            f"{len(names)} columns, but {needed} are needed ({order}), or {needed + 1} with time first; or name the "
            f"columns in the first line, such as {example!r}{_or_fewer(fewer)}",
            file,
            1,
        )
    quantities, first = {}, 0
    for key, labels in wanted.items():
        quantities[key] = tuple(rest[first : first + len(labels)])
        first += len(labels)
    known = "time, " if time is not None else ""
    remark = f"columns are taken in order: {known}{order}"
    return Layout(names, time, quantities, remark, numbered=frozenset(quantities))


def _or_fewer(fewer: Wanted | None) -> str:
    if fewer is None:
        return ""
    listed = _some([f"{key}_{label}" for key, labels in fewer.items() for label in labels])
    return f"; or give only {listed} and none of the other joints, which then follow"


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")

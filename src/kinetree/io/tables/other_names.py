"""Column names of other programs: ``/joint_states/position[0]``, ``elbow.velocity``, ``torque1``, ``actual_qd_3``.

A name is split into words.  It is recognized if it consists of a word for a quantity and the name or number of a joint,
in either order, possibly after a path (``/arm/``), with words without significance (``measured``), or with a unit at
its end (``torque_1_Nm``). Names with any other word are not used: ``target_q_0`` is not a measured position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORDS: Mapping[str, frozenset[str]] = {
    "q": _set("q pos position positions angle angles theta θ"),
    "v": _set("v vel velocity velocities speed speeds qd dq qdot omega ω"),
    "a": _set("a acc accel acceleration accelerations qdd ddq qddot"),
    "tau": _set("tau torque torques effort efforts trq force forces τ"),
    "current": _set("i iq cur current currents"),
}
"""Words for quantities, in lower case."""

NOTHING_MORE = _set(
    "actual act measured meas measurement msr real field data feedback fb joint joints state states robot j axis"
    " ax dof jnt value values"
)
"""Words that do not matter for the quantity or joint."""

NOT_MEASURED = _set(
    "cmd command commanded commands desired des target targets ref reference references setpoint setpoints goal goals"
    " error errors err limit limits max min ext external std var offset"
)
"""Words that mark columns as not measured, also within a path."""

UNITS = {
    ("rad",): "rad", ("deg",): "deg", ("degrees",): "deg", ("mm",): "mm", ("m",): "m", ("rpm",): "rpm",
    ("rad", "s"): "rad/s", ("deg", "s"): "deg/s", ("mm", "s"): "mm/s", ("m", "s"): "m/s",
    ("radps",): "rad/s", ("degps",): "deg/s", ("rad", "per", "s"): "rad/s", ("deg", "per", "s"): "deg/s",
    ("rad", "s", "2"): "rad/s^2", ("deg", "s", "2"): "deg/s^2", ("m", "s", "2"): "m/s^2",
    ("Nm",): "Nm", ("N", "m"): "Nm", ("m", "Nm"): "mNm", ("N",): "N", ("A",): "A", ("m", "A"): "mA",
    ("s",): "s", ("sec",): "s", ("secs",): "s", ("seconds",): "s", ("ms",): "ms", ("msec",): "ms", ("us",): "us",
    ("usec",): "us", ("ns",): "ns", ("nsec",): "ns", ("nanoseconds",): "ns",
}  # fmt: skip
"""Units at the ends of names, in words."""

TIMES = _set("t time timestamp timestamps stamp")

PIECES = re.compile(r"(?P<letters>[^\W\d_]+)|(?P<digits>\d+)|(?P<between>[\W_]+)")
HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
PATH = frozenset("/.:")
LONGEST = 200
"""The most letters of a name that is examined."""


@dataclass(frozen=True)
class Words:
    """A name split into words; ``starts`` are the indices of those after a slash or the like."""

    words: tuple[str, ...]
    starts: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.words)


def words_of(name: str) -> Words:
    """Return a name split between letters and digits, before capitals, and at all other characters."""
    words: list[str] = []
    starts: set[int] = set()
    for piece in PIECES.finditer(name[:LONGEST]):
        if piece.lastgroup == "between":
            if PATH & set(piece[0]):
                starts.add(len(words))
        else:
            words += HUMPS.split(piece[0])
    return Words(tuple(words), frozenset(starts))


@dataclass(frozen=True)
class Reading:
    """A possible meaning of a column: an entry of a quantity, by name or by number, and the rest of its name.

    Columns that belong together share ``style``.
    """

    key: str
    entry: tuple[str, ...] | int
    style: tuple[object, ...]
    unit: str | None


def readings(name: str, labels: frozenset[tuple[str, ...]]) -> Iterator[Reading]:
    """Yield all possible meanings of a column's name.

    labels: The words of the names of all entries, in lower case.
    """
    cut = words_of(name)
    if WORDS["current"] & {word.lower() for word in cut.words}:  # these always belong to a motor, while forces need not
        cut = _without(cut, "motor")
    if len(name) > LONGEST or NOT_MEASURED & {word.lower() for word in cut.words}:
        return
    yield from _plain_readings(cut, labels, None)
    for size in (1, 2, 3):
        unit = UNITS.get(cut.words[-size:]) if len(cut) > size else None
        if unit is not None:
            yield from _plain_readings(Words(cut.words[:-size], cut.starts), labels, unit)


def _plain_readings(cut: Words, labels: frozenset[tuple[str, ...]], unit: str | None) -> Iterator[Reading]:
    words, end = cut.words, len(cut)
    dots = {"dot": "v", "ddot": "a"}
    for k, word in enumerate(words):
        for key in (key for key, known in WORDS.items() if word.lower() in known):
            rest, own = k + 1, key
            last = end
            if word.lower() in ("q", "theta") and end > k + 1:  # q_dot_1, q1_dot
                if words[k + 1].lower() in dots:
                    own, rest = dots[words[k + 1].lower()], k + 2
                elif words[-1].lower() in dots:
                    own, last = dots[words[-1].lower()], end - 1
            style: tuple[object, ...]
            if _adds_nothing(words[:k], cut, k):  # position elbow
                style = (words[: k + 1], own, last == end)
                for entry, beside in _entries(words[rest:last], labels):
                    yield Reading(own, entry, (*style, "before", beside), unit)
            tail = words[rest:last]
            if k and not [w for w in tail if w.lower() not in NOTHING_MORE]:  # elbow position
                for first in range(k):
                    if _adds_nothing(words[:first], cut, first):
                        style = (words[:first], words[k : k + 1], own, tail)
                        for entry, beside in _entries(words[first:k], labels):
                            yield Reading(own, entry, (*style, "behind", beside), unit)


def _without(cut: Words, word: str) -> Words:
    kept = [k for k, one in enumerate(cut.words) if one.lower() != word]
    return Words(tuple(cut.words[k] for k in kept), frozenset(kept.index(k) for k in cut.starts if k in kept))


def _adds_nothing(words: Sequence[str], cut: Words, end: int) -> bool:
    """Return whether leading words are a path, or add nothing."""
    while end and end not in cut.starts and words[end - 1].lower() in NOTHING_MORE:
        end -= 1
    return not end or end in cut.starts


def _entries(words: tuple[str, ...], labels: frozenset[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...] | int, str]]:
    """Yield the entry that words name, or else its number, with the words next to the number."""
    small = tuple(word.lower() for word in words)
    if small in labels:
        yield small, ""
        return
    telling = [word for word in small if word not in NOTHING_MORE]
    if len(telling) == 1 and telling[0].isdigit() and telling[0].isascii():
        yield int(telling[0]), " ".join("#" if word == telling[0] else word for word in small)


@dataclass
class OtherNames:
    """The columns of a table, as other programs may have named them."""

    names: Sequence[str]
    """Names without units in brackets."""
    _found: dict[frozenset[tuple[str, ...]], list[list[Reading]]] = field(default_factory=dict)

    def choices(
        self, key: str, labels: Sequence[str], by_name: bool = False
    ) -> list[tuple[list[int], list[str | None]]]:
        """Return all ways to find every entry of a quantity: the columns, and units at the ends of their names.

        Columns that are named for joints come before those numbered from zero or one; ``by_name`` ignores the latter.
        """
        cut = [tuple(word.lower() for word in words_of(label).words) for label in labels]
        if len(set(cut)) != len(cut):
            cut = [()] * len(labels)  # names that are equal after splitting differ only in their numbers
        whole = frozenset(words for words in cut if words)
        if whole not in self._found:
            self._found[whole] = [list(readings(name, whole)) for name in self.names]
        groups: dict[tuple[object, ...], dict[object, list[tuple[int, str | None]]]] = {}
        for column, possible in enumerate(self._found[whole]):
            own_key = [one for one in possible if one.key == key]
            named = any(not isinstance(one.entry, int) for one in own_key)
            for one in own_key:
                if not (named and isinstance(one.entry, int)):  # joint_1 is the joint of that name, not number one
                    places = groups.setdefault((*one.style, one.unit), {}).setdefault(one.entry, [])
                    if (column, one.unit) not in places:
                        places.append((column, one.unit))
        ways: list[Sequence[object]] = [cut, range(len(labels)), range(1, len(labels) + 1)]
        for wanted in ways[:1] if by_name else ways:
            found: dict[tuple[int, ...], list[str | None]] = {}
            for group in groups.values():
                own = [group.get(entry, []) for entry in wanted]
                if labels and all(len(columns) == 1 for columns in own):
                    found.setdefault(tuple(columns[0][0] for columns in own), [columns[0][1] for columns in own])
            if found:
                return [(list(columns), units) for columns, units in found.items()]
        return []

    def like(self, key: str) -> list[str]:
        """Return columns whose names contain a word for a quantity, regardless of the entry."""
        words = [{word.lower() for word in words_of(name).words} for name in self.names]
        return [
            name
            for name, own in zip(self.names, words, strict=True)
            if own & WORDS.get(key, frozenset()) and not own & NOT_MEASURED
        ]


@dataclass(frozen=True)
class TimeColumns:
    """The column of times, perhaps with its unit and a column of nanoseconds to add."""

    column: int
    unit: str | None = None
    nanoseconds: int | None = None


def times_among(names: Sequence[str]) -> list[TimeColumns]:
    """Return columns of times under other names: ``timestamp``, ``t_ms``, ``/header/stamp/sec``."""
    found, seconds, nano = [], {}, {}
    for k, name in enumerate(names):
        cut = words_of(name)
        words = tuple(word.lower() for word in cut.words)
        if len(name) > LONGEST or not words or NOT_MEASURED & set(words):
            continue
        if words[-2:] in (("stamp", "sec"), ("stamp", "secs")):
            seconds[words[:-1]] = k
        elif words[-2:] in (("stamp", "nanosec"), ("stamp", "nsec"), ("stamp", "nsecs")):
            nano[words[:-1]] = k
        elif words[-1] in TIMES and _adds_nothing(words[:-1], cut, len(words) - 1):
            found.append(TimeColumns(k))
        else:
            unit, named = UNITS.get(cut.words[-1:]), len(words) > 1 and words[-2] in TIMES
            if unit in ("s", "ms", "us", "ns") and named and _adds_nothing(words[:-2], cut, len(words) - 2):
                found.append(TimeColumns(k, unit))
    return found or [TimeColumns(k, "s", nano[stem]) for stem, k in seconds.items() if stem in nano]


def array_readings(name: str, key: str) -> Iterator[str | None]:
    """Yield the unit, or None without one, if a name is that of a whole quantity: ``log.joint_positions_deg``."""
    cut = words_of(name)
    if len(name) > LONGEST or NOT_MEASURED & {word.lower() for word in cut.words}:
        return
    for size in range(min(3, len(cut) - 1) + 1):
        unit = UNITS.get(cut.words[-size:]) if size else None
        if unit is not None or not size:
            numbered = Words((*cut.words[: len(cut) - size], "0"), cut.starts)
            if any(one.key == key and one.entry == 0 for one in _plain_readings(numbered, frozenset(), unit)):
                yield unit
                return

"""The common part of all readers: their options, and a builder whose errors name file and line."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ...errors import (
    FileFormatError,
    Message,
    ModelError,
    ModelWarning,
    OptionError,
    Setting,
    UnknownNameError,
    refuse_unknown,
    warn,
)
from ..actuators import Tendon
from ..builder import WORLD, ModelBuilder, circle
from ..drive_builder import TendonDraft
from ..graph import Draft, GraphError
from ..joint_fields import Mimic, passive_data
from ..joints import Fixed, JointKind
from ..mass import MassProperties
from ..pose import Pose
from ..shapes.contact_shape import ContactShape
from ..shapes.pairs import check_pair
from ..tree import Joint, Model
from .idle_joints import idle_joints

MIMIC_CHOICES = ("follow", "couple", "independent")
MESH_CHOICES = ("refuse", "massless")

MOST_SUGGESTIONS = 10
"""How many unknown names of one file get the nearest known one as a suggestion."""

MOST_FAULTS = 20
"""How many faults of one file are named."""

MOST_NAMES = 6
"""How many names one message lists."""


@dataclass(frozen=True)
class Options:
    """How to read a file; see :func:`kinetree.load`."""

    floating_base: bool = False
    mimic: str = "follow"
    gravity: Sequence[float] | None = None
    strict: bool = False
    cuts: Sequence[str] | None = None
    rule: str | None = None
    missing_meshes: str = "refuse"
    values: Mapping[str, float] | str | os.PathLike[str] | None = None
    """Values of symbols in the file, or the name of a file with such values."""
    side_file: Callable[[FileBuilder], None] | None = None
    """Adds the loops of a second file."""

    def __post_init__(self) -> None:
        refuse_unknown("way to treat mimic joints", self.mimic, MIMIC_CHOICES)
        refuse_unknown("way to treat missing meshes", self.missing_meshes, MESH_CHOICES)


@dataclass(frozen=True)
class Source:
    """A file and its content."""

    path: Path
    data: bytes

    @property
    def file(self) -> str:
        """The name of the file in messages."""
        return str(self.path)


class FileBuilder(ModelBuilder):
    """A builder whose errors and warnings name the file and the line.

    Add bodies, joints and frames within ``with builder.at(line):``; :meth:`finish` checks
    the tree, warns once about all oddities (in strict mode refuses the file for them), and returns the model.
    """

    def __init__(
        self, source: Source, name: str, options: Options, *, gravity: Sequence[float] = (0.0, 0.0, -9.81)
    ) -> None:
        chosen = gravity if options.gravity is None else options.gravity
        try:
            super().__init__(name, gravity=chosen, strict=options.strict)
        except ModelError as problem:
            if options.gravity is not None:
                raise  # not from the file
            raise FileFormatError(str(problem), source.file) from None
        self.file, self.path = source.file, source.path
        self.options = options
        self.cuts = options.cuts
        self.oddities: list[tuple[int | None, str]] = []
        self.faults: list[FileFormatError] = []
        self._line: int | None = None
        self._body_lines: dict[str, int | None] = {}
        self._joint_lines: dict[str, int | None] = {}
        self._joint_files: dict[str, str] = {}
        self._tendon_lines: dict[str, int | None] = {}
        self._carriers: dict[str, Draft] = {}  # keyed by the body that each carries; the first if there are several
        self._unknown = 0

    # Describing

    def error(self, message: str, line: int | None) -> FileFormatError:
        """Return an error that names file and line."""
        return FileFormatError(message, self.file, line)

    def error_about(self, message: str, subject: str) -> FileFormatError:
        """Return an error that names the file and the line of a joint or body."""
        line = self._joint_lines.get(subject, self._body_lines.get(subject))
        return FileFormatError(message, self._joint_files.get(subject, self.file), line)

    @contextmanager
    def reading(self, file: str) -> Iterator[None]:
        """Make errors that are raised in this context name another file."""
        outer, self.file = self.file, file
        try:
            yield
        finally:
            self.file = outer

    def unknown(self, what: str, name: str, known: Iterable[str]) -> str:
        """Return the message that there is no such name; only the first few suggest another, since that takes time."""
        self._unknown += 1
        if self._unknown > MOST_SUGGESTIONS:
            return f"no {what} named {name!r}."
        return str(UnknownNameError(what, name, known))

    def oddity(self, message: str, line: int | None = None) -> None:
        """Note something odd; in strict mode, a fault of the file."""
        if self.strict:
            self.faults.append(self.error(message, line))
        else:
            self.oddities.append((line, message))

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Leave out what has a fault in this context, so that others are found too; :meth:`refuse_faults` names all."""
        try:
            yield
        except FileFormatError as fault:
            self.faults.append(fault)

    def refuse_faults(self) -> None:
        """Refuse the file if it has faults, all of which are named with their lines."""
        if not self.faults:
            return
        faults = sorted(self.faults, key=lambda fault: fault.line or 0)
        if len(faults) == 1:
            raise faults[0]
        told = "".join(f"\n  {_short(fault)}" for fault in faults[:MOST_FAULTS])
        more = f"\n  and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise self.error(f"{len(faults)} things are wrong, the first of them here:{told}{more}", faults[0].line)

    def _oddity(self, message: str) -> None:
        self.oddity(message, self._line)

    def doubt(self, message: str) -> None:
        """Note a likely mistake, see :meth:`ModelBuilder.doubt`."""
        self.oddity(message, self._line)

    @contextmanager
    def at(self, line: int | None) -> Iterator[None]:
        """Make errors that are raised in this context name the file and this line."""
        outer, self._line = self._line, line
        try:
            yield
        except FileFormatError:
            raise
        except GraphError as problem:
            raise self.error_about(str(problem), problem.subject) from None
        except (ModelError, OptionError, UnknownNameError) as problem:
            raise self.error(str(problem), line) from None
        finally:
            self._line = outer

    def add_body(self, name: str, mass_properties: MassProperties | None = None) -> None:
        """Declare a body, see :meth:`ModelBuilder.add_body`."""
        if name in self._body_lines:
            raise self.error(f"two links are named {name!r}{_first(self._body_lines[name])}", self._line)
        super().add_body(name, mass_properties)
        self._body_lines[name] = self._line

    def add_joint(
        self, name: str, parent: str, child: str, kind: JointKind, placement: Pose | None = None, **data: Any
    ) -> None:
        """Declare a joint, see :meth:`ModelBuilder.add_joint`."""
        if name in self._joint_lines:
            raise self.error(f"two joints are named {name!r}{_first(self._joint_lines[name])}", self._line)
        mimic = data.get("mimic")
        if self.options.mimic != "follow":
            data.pop("mimic", None)
        super().add_joint(name, parent, child, kind, placement, **data)
        if mimic is not None and self.options.mimic == "couple":
            self.coupling(name, name, mimic.leader, [mimic.offset, mimic.ratio])
        self._joint_lines[name] = self._line
        self._carriers.setdefault(child, self._joints[name])

    def bind(self, name: str, y: Sequence[str], x: Sequence[str], ratio: float, offset: float = 0.0) -> None:
        """Couple known joints by y = ratio x + offset, with y and x sums of joints, as the option ``mimic`` requests.

        If y and x are single joints, y follows x, or x follows y if only y has a motor. All other cases become
        couplings: sums, a joint that already follows another, and joints that would follow one another in a circle.

        name: Name of the coupling, if it becomes one.
        y, x: One of them may be empty.
        ratio: Must not be zero.
        """
        if self.options.mimic == "independent":
            return
        pair = [self._joints[names[0]] for names in (y, x) if len(names) == 1]
        single = len(pair) == 2 and all(draft.kind.nv == 1 for draft in pair)
        if self.options.mimic == "couple" or not single or not self._can_follow(*pair):
            if not y:
                y, x, offset = x, y, 0.0 - offset / ratio
            sums = [dict.fromkeys(names, 1.0) for names in (y, x)]
            self.coupling(name, sums[0], sums[1] or None, [offset, ratio] if x else [offset])
            return
        follower, leader = pair
        if follower.data["actuated"] and not leader.data["actuated"] and leader.data["mimic"] is None:
            follower, leader, ratio, offset = leader, follower, 1.0 / ratio, 0.0 - offset / ratio
        follower.data["mimic"] = Mimic(leader.name, ratio, offset)

    def _can_follow(self, follower: Draft, leader: Draft) -> bool:
        """Return whether a joint follows no other, and the other does not follow it, directly or indirectly."""
        above: set[str] = set()
        name = leader.name
        while name in self._joints and name not in above:
            above.add(name)
            mimic = self._joints[name].data["mimic"]
            name = "" if mimic is None else mimic.leader
        return follower.data["mimic"] is None and follower.name not in above

    def doubt_ranges(self) -> None:
        """Warn of moving joints with the range 0 to 0; if all joints have it, limits were probably never set."""
        ranged = [d for d in self._joints.values() if any(map(math.isfinite, (*d.data["lower"], *d.data["upper"])))]
        empty = [d for d in ranged if not any((*d.data["lower"], *d.data["upper"]))]
        if not empty:
            return
        names = [draft.name for draft in empty]
        message = f"joints that move have ranges from 0 to 0: {listed(names)}"
        if len(empty) == len(ranged):
            for draft in empty:
                draft.data |= {"lower": (-math.inf,), "upper": (math.inf,)}
            message += ". No joint has another range, so these are treated as unlimited"
        self.oddity(f"{message}. Set limits, leave them out, or make such a joint fixed", self._joint_lines[names[0]])

    def loop(self, name: str, predecessor: str, successor: str, joint: JointKind, **data: Any) -> Self:
        """Close a loop, see :meth:`ModelBuilder.loop`; bodies, frames and joints must be known by now."""
        if name in self._joint_lines:
            raise self.error(f"two joints are named {name!r}{_first(self._joint_lines[name])}", self._line)
        ends = {"predecessor": (predecessor, "placement"), "successor": (successor, "seat")}
        bodies = []
        for role, (end, place) in ends.items():
            grounded = end == WORLD and self.options.floating_base
            if end not in self._bodies and end not in self._frames and not grounded:
                known = [*self._bodies, *self._frames, *self._joints]
                if end not in self._joints:
                    unknown = UnknownNameError("link, frame or joint", end, known)
                    raise self.error(f"the {role} of loop {name!r}: {unknown}", self._line)
                # the frame that the joint moves
                draft = self._joints[end]
                end, data[place] = draft.child, draft.seat @ (data.get(place) or Pose())
            bodies.append(end)
        super().loop(name, bodies[0], bodies[1], joint, **data)
        self._joint_lines[name] = self._line
        self._joint_files[name] = self.file
        return self

    def tendon(self, name: str, *args: Any, **data: Any) -> Self:
        """Add a tendon, see :meth:`ModelBuilder.tendon`."""
        super().tendon(name, *args, **data)
        self._tendon_lines[name] = self._line
        return self

    def _spanned(self, draft: TendonDraft, joints: Sequence[Joint], places: dict[str, tuple[int, Pose]]) -> Tendon:
        with self.at(self._tendon_lines[draft.name]):
            return super()._spanned(draft, joints, places)

    def frame(self, name: str, body: str, *args: Any, **pose: Any) -> Self:
        """Name a place on a body, see :meth:`ModelBuilder.frame`; bodies and joints must be known by now."""
        if body not in self._bodies:
            raise self.error(f"frame {name!r}: {UnknownNameError('body', body, self._bodies)}", self._line)
        if name in self._bodies and name != body:
            raise self.error(f"frame {name!r} has the name of a body that it is not on", self._line)
        for draft in (self._joints.get(name), self._carriers.get(name) if name == body else None):
            if draft is not None and isinstance(draft.kind, Fixed):
                raise self.error(
                    f"frame {name!r} already exists: the weld {draft.name!r} leaves frames of that name", self._line
                )
        return super().frame(name, body, *args, **pose)

    @contextmanager
    def or_left_out(self, what: str, line: int | None) -> Iterator[None]:
        """Leave out what cannot be understood in this context, with a warning that names the line."""
        try:
            yield
        except (ModelError, OptionError, UnknownNameError) as problem:
            text = str(problem).removeprefix(f"{self.file}, line {line}: ").removeprefix(f"{self.file}: ")
            self.oddity(f"{what} is left out: {text}", line)

    def add_shape(self, shape: ContactShape) -> None:
        """Keep a shape; files may give several shapes one name, which they then lose."""
        self._shapes.append(shape)

    def exclude_contact(self, first: str, second: str) -> Self:
        """Keep two shapes or bodies from touching; they must be known by now."""
        check_pair(self._shapes, (first, second), {*self._bodies, *self._frames}, "an excluded contact")
        return super().exclude_contact(first, second)

    def allow_contact(self, first: str, second: str) -> Self:
        """Let two shapes or bodies touch; they must be known by now."""
        check_pair(self._shapes, (first, second), {*self._bodies, *self._frames}, "an allowed contact")
        return super().allow_contact(first, second)

    def _unnamed_twins(self) -> None:
        counts = Counter(shape.name for shape in self._shapes)
        self._shapes = [replace(x, name="") if counts[x.name] > 1 else x for x in self._shapes]

    def make_passive(self, name: str) -> None:
        """Mark a joint as having no motor."""
        refuse_unknown("joint", name, self._joints)
        self._joints[name].data["actuated"] = False

    def drive_only(self, names: Sequence[str]) -> None:
        """Mark these joints, and no others, as having motors."""
        for name in names:
            refuse_unknown("joint", name, self._joints)
        for draft in self._joints.values():
            draft.data["actuated"] = draft.name in names

    def change_kind(self, name: str, kind: JointKind) -> None:
        """Replace a joint by one of another kind in the same place, without limits, friction and motor."""
        refuse_unknown("joint", name, self._joints)
        self._joints[name] = replace(self._joints[name], kind=kind, data=passive_data(kind))

    def hold(self, base: str) -> None:
        """Declare which body is the ground, regardless of the joints."""
        self.base, self._base_is_ground = base, True

    @property
    def joints_and_loops(self) -> list[str]:
        """Names of all joints so far."""
        return [*self._joints, *self._loops]

    @property
    def drafts(self) -> list[Draft]:
        """All joints so far, as described, except those declared as loops."""
        return list(self._joints.values())

    @property
    def body_names(self) -> list[str]:
        """Names of all bodies so far."""
        return list(self._bodies)

    def why_coupled(self) -> dict[str, str]:
        """Return the joints that are coupled with others, with the reason in words."""
        return self._why_coupled()

    @property
    def shape_names(self) -> list[str]:
        """Names of all shapes so far that have one."""
        return [shape.name for shape in self._shapes if shape.name]

    @property
    def is_massless(self) -> bool:
        """Whether no body so far has mass."""
        return all(properties.is_massless for properties in self._bodies.values())

    # Building

    def finish(self, *, floating_base: bool, graph: bool = False, inertias: bool = False) -> Model:
        """Check bodies and joints, build the model, and warn about oddities.

        floating_base: Put the root on a free joint.
        graph: Whether the joints of the file may themselves form loops; if so, its base is the root.
        inertias: Whether the format expects an inertia wherever there is mass.
        """
        if self.options.side_file:
            self.options.side_file(self)
        self.refuse_faults()
        self._check_ends(graph)
        root = self.base if graph else self._check_roots()
        if not graph:
            self._check_reach(root)
        self._check_mimics()
        if floating_base:
            self._check_not_floating(root)
        self._unnamed_twins()
        with self.at(None):
            model = self.model(floating_base=floating_base, cuts=self.cuts, rule=self.options.rule)
        if inertias:
            self._doubt_idle_joints(model)
        self.refuse_faults()
        self._warn()
        return model

    def _doubt_idle_joints(self, model: Model) -> None:
        """Warn of joints whose bodies have mass, and no inertia that they could feel."""
        idle = idle_joints(model)
        if idle:
            name, mass = next(iter(idle.items()))
            self.oddity(
                f"nothing resists joints {listed(idle)}: what {name!r} carries has a mass of {mass:g} kg, but no "
                "inertia about the axis: forward dynamics divides by zero. Give it an inertia, or fix the joint",
                self._joint_lines.get(name),
            )

    def _check_ends(self, graph: bool) -> None:
        carried: dict[str, str] = {}
        for draft in self._joints.values():
            line = self._joint_lines[draft.name]
            for role, body in (("parent", draft.parent), ("child", draft.child)):
                if body not in self._bodies:
                    unknown = UnknownNameError("link", body, self._bodies)
                    raise self.error(f"the {role} of joint {draft.name!r}: {unknown}", line)
            if draft.parent == draft.child:
                raise self.error(f"joint {draft.name!r} joins link {draft.child!r} to itself", line)
            if draft.child in carried and not graph:
                other = carried[draft.child]
                raise self.error(
                    f"link {draft.child!r} is the child of two joints, {other!r}{_on(self._joint_lines[other])} and "
                    f"{draft.name!r}: that closes a loop, but the joints of this format form a tree; describe the "
                    "joint that closes it as a loop",
                    line,
                )
            carried[draft.child] = draft.name

    def _check_roots(self) -> str:
        children = {draft.child for draft in self._joints.values()}
        roots = [body for body in self._bodies if body not in children]
        if not roots:
            raise self._loop(self._bodies)
        if len(roots) > 1:
            listed = ", ".join(f"{r!r}{_on(self._body_lines[r])}" for r in roots[:6])
            raise self.error(
                f"robot {self.name!r} has {len(roots)} roots, {listed}{', ...' if len(roots) > 6 else ''}: "
                "every link but one must be the child of a joint",
                self._body_lines[roots[1]],
            )
        return roots[0]

    def _check_reach(self, root: str) -> None:
        by_parent: dict[str, list[str]] = {}
        for draft in self._joints.values():
            by_parent.setdefault(draft.parent, []).append(draft.child)
        reached, waiting = {root}, [root]
        while waiting:
            children = by_parent.get(waiting.pop(), [])
            reached.update(children)
            waiting.extend(children)
        lost = [body for body in self._bodies if body not in reached]
        if lost:
            raise self._loop(lost)

    def _loop(self, bodies: Sequence[str] | dict[str, MassProperties]) -> FileFormatError:
        """Return an error that names the joints of a loop among bodies that all carry one another."""
        above = {draft.child: draft for draft in self._joints.values()}
        body = next(iter(bodies))
        seen: dict[str, int] = {}
        while body not in seen:
            seen[body] = len(seen)
            body = above[body].parent
        loop = [above[b] for b in reversed(list(seen)[seen[body] :])]
        order = {name: i for i, name in enumerate(self._joints)}
        first = min(range(len(loop)), key=lambda i: order[loop[i].name])
        loop = loop[first:] + loop[:first]
        names = ", ".join(f"{draft.name!r}{_on(self._joint_lines[draft.name])}" for draft in loop[:6])
        return self.error(
            f"joints {names}{', ...' if len(loop) > 6 else ''} form a closed loop that is attached to "
            "nothing: some link must be the root",
            self._joint_lines[loop[0].name],
        )

    def _check_mimics(self) -> None:
        mimics: dict[str, Mimic] = {d.name: d.data["mimic"] for d in self._joints.values() if d.data["mimic"]}
        settled: set[str] = set()
        for name in mimics:
            seen: dict[str, None] = {}
            while name in mimics and name not in settled:
                line, leader = self._joint_lines[name], mimics[name].leader
                if leader not in self._joints:
                    raise self.error(f"joint {name!r} mimics: {UnknownNameError('joint', leader, self._joints)}", line)
                if isinstance(self._joints[leader].kind, Fixed):
                    raise self.error(f"joint {name!r} mimics {leader!r}, which is fixed: make {name!r} fixed too", line)
                seen[name] = None
                if leader in seen:
                    at = self._joint_lines[leader]
                    raise self.error(f"joints mimic one another in a circle: {circle(seen, leader)}", at)
                name = leader
            settled.update(seen)

    def _check_not_floating(self, root: str) -> None:
        first = [draft for draft in self._joints.values() if draft.parent == root]
        if len(first) == 1 and first[0].kind.nv == 6 and self._bodies[root].is_massless:
            raise self.error(
                Message(
                    Setting("floating_base", True),
                    f", but the robot already floats: joint {first[0].name!r} leaves {first[0].child!r} free. Load it "
                    "without ",
                    Setting("floating_base"),
                ),
                self._joint_lines[first[0].name],
            )

    def _warn(self) -> None:
        if not self.oddities:
            return
        if len(self.oddities) == 1:
            line, text = self.oddities[0]
            message = str(self.error(text, line))
        else:
            listed = [f"  line {line}: {text}" if line else f"  {text}" for line, text in self.oddities]
            message = f"{self.file}: {len(listed)} things are odd:\n" + "\n".join(listed)
        warn(message, ModelWarning)


def _short(fault: FileFormatError) -> str:
    """Return what is wrong without the name of the file, which the list of faults begins with."""
    place = f"{fault.file}, line {fault.line}: " if fault.line else f"{fault.file}: "
    return (f"line {fault.line}: " if fault.line else "") + str(fault).removeprefix(place)


def listed(names: Iterable[str]) -> str:
    """Return names as a list for a message, only the first few of many."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:MOST_NAMES]) + (f", ... ({len(shown)} in all)" if len(shown) > MOST_NAMES else "")


def _on(line: int | None) -> str:
    return f" (line {line})" if line else ""


def _first(line: int | None) -> str:
    return f"; the first is on line {line}" if line else ""

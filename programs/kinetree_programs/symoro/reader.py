"""The reader of ``.par`` files.

If there are only numbers, the robot is like any other. Symbols without a value are kept: the robot is built with
arbitrary numbers in their place to find its structure, and then the formulas are inserted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.errors import ModelError, OptionError, UnknownNameError, UnsupportedError
from kinetree.model.changes.over_any_scalar import (
    FormulaPose,
    KhalilStep,
    ScalarTen,
    are_numbers,
    as_pose,
    valued_scalar,
)
from kinetree.model.changes.values import SOME_BODY
from kinetree.model.dh.khalil_parameters import meant_angle, step_of
from kinetree.model.formats.source import FileBuilder, Options, Source
from kinetree.model.formats.values_file import symbol_values
from kinetree.model.joint_fields import Mimic
from kinetree.model.joints import Fixed, Free, JointKind, Prismatic, Revolute
from kinetree.model.mass import MassProperties
from kinetree.model.parameters import OF_BODIES, mass_properties_from_table
from kinetree.model.pose import Pose
from kinetree.model.tree import Load, Model
from kinetree.spatial import RigidInertia, Scalar, Vec3
from kinetree.spatial.formula import ScalarFormula, symbols_among
from kinetree.spatial.numbers import real_number

from .sections import OF_FRAMES, OF_LINKS, Word, read_sections
from .variables import MovedBy, VariableError, moved

MOST_FRAMES = 10_000
"""The most frames of one file."""

ANGLES = ("gamma", "alpha", "theta")
WRENCH = ("CX", "CY", "CZ", "FX", "FY", "FZ")
OF_MOTION = ("W0", "WP0", "V0", "VP0")
KINDS: dict[int, JointKind] = {0: Revolute("z"), 1: Prismatic("z"), 2: Fixed()}
PER_JOINT = {"IA": "rotor_inertia", "FV": "damping", "FS": "friction"}


def read(source: Source, options: Options) -> Model:
    """Read a ``.par`` file; symbols with a value in the options become numbers, others stay."""
    return _ParReader(source, options).model()


@dataclass
class _ParFrame:
    """One frame: its pose on its antecedent with its joint at zero."""

    number: int
    antecedent: int
    sigma: int
    mu: int
    step: dict[str, Scalar]

    @property
    def key(self) -> str:
        """The parameter that is the variable; empty for a fixed frame."""
        return {0: "theta", 1: "r"}.get(self.sigma, "")


@dataclass
class _Formulas:
    """The formulas that are inserted into the model once its structure is known."""

    placements: dict[str, FormulaPose] = field(default_factory=dict)
    seats: dict[str, FormulaPose] = field(default_factory=dict)
    frames: dict[str, FormulaPose] = field(default_factory=dict)
    bodies: dict[str, ScalarTen] = field(default_factory=dict)
    joints: dict[str, dict[str, tuple[Scalar, ...]]] = field(default_factory=dict)
    gravity: tuple[Scalar, ...] = ()

    def put_into(self, model: Model) -> Model:
        """Return the model with the formulas in it."""

        def posed(own: Pose, name: str, known: Mapping[str, FormulaPose]) -> Any:
            return known.get(name, own)

        def joint_data(name: str) -> dict[str, Any]:
            return dict(self.joints.get(name, {}))

        return replace(
            model,
            joints=tuple(
                replace(j, placement=posed(j.placement, j.name, self.placements), **joint_data(j.name))
                for j in model.joints
            ),
            bodies=tuple(
                replace(b, mass_properties=self.bodies.get(b.name, b.mass_properties))  # type: ignore[arg-type]
                for b in model.bodies
            ),
            frames=tuple(replace(f, pose=posed(f.pose, f.name, self.frames)) for f in model.frames),
            loops=tuple(
                replace(
                    x, placement=posed(x.placement, x.name, self.placements), seat=posed(x.seat, x.name, self.seats)
                )
                for x in model.loops
            ),
            gravity=self.gravity or model.gravity,  # type: ignore[arg-type]
        )


class _ParReader:
    """Reads one file."""

    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        self.words = read_sections(source.file, source.data)
        self.links, self.joints = self.words.count("NL"), self.words.count("NJ")
        self.frames = 2 * self.joints - self.links
        self._check_counts()
        self.floats = self.words.choice("is_floating") or self.words.choice("is_mobile")
        given = symbol_values(options.values or {})
        self.given = {name: real_number(x, f"the value of {name!r}") for name, x in given.items()}
        self.symbols: dict[str, None] = {}
        """All symbols of the file except variables, with or without values."""
        self.formulas = _Formulas()
        self.rows = self._rows()
        self.moved = self._tell_variables()
        self.of_links = {key: self._of_links(key) for key in OF_LINKS}
        self.gravity = self._gravity()
        self.elasticity = self._elasticity()
        self._check_values()
        # the moving body of each frame, and the frame's pose on it
        self.places: dict[int, tuple[str, FormulaPose]] = {}
        self.cut_through: list[int] = []
        """Cut joints that have more than geometry."""

    def _check_counts(self) -> None:
        words = self.words
        if not 1 <= self.links <= self.joints:
            message = f"NL = {self.links} links and NJ = {self.joints} joints: a robot has a joint for every link"
            raise words.error(message, words.lines["NL"])
        if self.frames > MOST_FRAMES:
            raise words.error(f"{self.frames} frames; at most {MOST_FRAMES} are read", words.lines["NJ"])
        if "NF" in words.single and words.count("NF") != self.frames:
            raise words.error(
                f"NF = {words.count('NF')}, but {self.links} links and {self.joints} joints have {self.frames} frames: "
                "each joint that closes a loop has two, one on each side",
                words.lines["NF"],
            )

    # ---------------------------------------------------------------- words

    def _entries(self, key: str, numbers: range, meaning: str) -> dict[int, Word] | None:
        found = self.words.words(key, len(numbers), meaning)
        return None if found is None else dict(zip(numbers, found, strict=True))

    def _formula(self, word: Word, what: str) -> Scalar:
        """Return a number, or a formula in all its symbols."""
        found = self.words.scalar(word, what)
        self.symbols |= dict.fromkeys(symbols_among([found]))
        return found if symbols_among([found]) else float(found)

    def _value(self, word: Word, what: str) -> Scalar:
        """Return a number, or a formula in symbols that have no value."""
        found = self._formula(word, what)
        variables = [name for name in symbols_among([found]) if name in self.owners]
        if variables:
            j = self.owners[variables[0]]
            raise self.words.error(f"{what}: {variables[0]} is the variable of joint {j}, not a constant", word.line)
        return self._finite(valued_scalar(found, self.given), what, word)

    def _finite(self, x: Scalar, what: str, word: Word) -> Scalar:
        if isinstance(x, float) and not math.isfinite(x):
            raise self.words.error(f"{what}: {word.text!r} is not a finite number", word.line)
        return x

    # ---------------------------------------------------------------- geometry

    def _rows(self) -> dict[int, _ParFrame]:
        """Read the frames; entries with symbols stay formulas in all of them."""
        numbers, words = range(1, self.frames + 1), self.words
        lists = {key: self._entries(key, numbers, "frame") for key in OF_FRAMES}

        def whole(key: str, j: int, default: int, choices: range, meaning: str) -> int:
            entries = lists[key]
            if entries is None:
                return default
            found = words.whole(entries[j], f"{key} of frame {j}")
            if found not in choices:
                raise words.error(f"{key} of frame {j} is {found}: it must be {meaning}", entries[j].line)
            return found

        def dimension(key: str, j: int, sigma: int) -> Scalar:
            entries = lists[key]
            if entries is None:
                return ScalarFormula.symbol(f"th{j}") if key == "theta" and sigma == 0 else 0.0
            return self._formula(entries[j], f"{key} of frame {j}")

        rows = {}
        for j in numbers:
            last = min(j - 1, self.links)
            sigma = whole("sigma", j, 0 if j <= self.joints else 2, range(3), "0 (turns), 1 (slides) or 2 (fixed)")
            rows[j] = _ParFrame(
                j, whole("ant", j, last, range(last + 1), f"a frame before it, 0 (the base) to {last}"), sigma,
                whole("mu", j, int(j <= self.links), range(2), "1 (driven) or 0"),
                {key: dimension(key, j, sigma) for key in KhalilStep._fields},
            )  # fmt: skip
            if j > self.joints and sigma != 2:
                raise words.error(
                    f"sigma of frame {j} is {sigma}: it is fixed on its link (2), and frame "
                    f"{j - self.joints + self.links} of the joint that closes the loop meets it",
                    words.lines["sigma"],
                )
        return rows

    def _tell_variables(self) -> dict[int, MovedBy]:
        """Separate variables from dimensions; rows keep the constants, with values for their symbols."""
        lines = self.words.lines
        joints = {j: row for j, row in self.rows.items() if row.key and j <= self.joints}
        try:
            found = moved({j: row.step[row.key] for j, row in joints.items()})
        except VariableError as problem:
            j, reason = problem.args
            key = joints[j].key
            raise self.words.error(f"{key} of frame {j}: {reason}", lines.get(key)) from None
        self.owners = {m.variable: j for j, m in found.items() if m.variable}
        for name in self.owners:
            self.symbols.pop(name, None)
        for j, m in found.items():
            key = joints[j].key
            joints[j].step[key] = m.offset
            if m.leader and self.owners[m.leader] > self.links:
                message = f"{key} of frame {j}: {m.leader} is the variable of a cut joint, which nothing can follow"
                raise self.words.error(message, lines[key])
        for row in self.rows.values():
            for key, x in row.step.items():
                what = f"{key} of frame {row.number}"
                wrong = [name for name in symbols_among([x]) if name in self.owners]
                if wrong:
                    message = f"{what}: {wrong[0]} is the variable of joint {self.owners[wrong[0]]}, not a constant"
                    raise self.words.error(message, lines.get(key))
                value = self._finite(valued_scalar(x, self.given), what, Word(str(x), lines.get(key, 0)))
                row.step[key] = meant_angle(value) if key in ANGLES and isinstance(value, float) else value
        return found

    # ---------------------------------------------------------------- numbers of links, joints and the base

    def _of_links(self, key: str) -> dict[int, Scalar]:
        """Return one entry of every link; if the file has none, a symbol as in SYMORO."""
        numbers = range(0 if self.floats else 1, self.links + 1)
        entries = self._entries(key, numbers, "link, and one for the base that moves" if self.floats else "link")
        if entries is None:
            if key in WRENCH:
                return dict.fromkeys(numbers, 0.0)
            names = {j: f"{key}{j}" for j in numbers}
            self.symbols |= dict.fromkeys(names.values())
            return {j: valued_scalar(ScalarFormula.symbol(name), self.given) for j, name in names.items()}
        return {j: self._value(word, f"{key} of link {j}") for j, word in entries.items()}

    def _elasticity(self) -> dict[int, Scalar]:
        """Return the stiffness of joints that are elastic (eta = 1)."""
        numbers = range(1, self.joints + 1)
        eta, k = (self._entries(key, numbers, "joint") for key in ("eta", "k"))
        chosen = {} if eta is None else {j: self.words.whole(word, f"eta of joint {j}") for j, word in eta.items()}
        for j, found in chosen.items():
            if found not in (0, 1):
                assert eta is not None
                raise self.words.error(f"eta of joint {j} is {found}: it must be 1 (elastic) or 0", eta[j].line)
        return {
            j: 0.0 if k is None else self._value(k[j], f"k of joint {j}") for j, elastic in chosen.items() if elastic
        }

    def _vector(self, key: str, count: int) -> list[Scalar] | None:
        found = self.words.words(key, count, "component")
        return None if found is None else [self._value(word, key) for word in found]

    def _gravity(self) -> tuple[Scalar, ...]:
        """Return gravity in the axes of the world; the file gives it in those of frame 0."""
        found = self._vector("G", 3)
        if found is None:
            self.symbols["GZ"] = None
            found = [0.0, 0.0, valued_scalar(ScalarFormula.symbol("GZ"), self.given)]
        where = self._location()
        return tuple(found) if where.is_identity else tuple(where.spatial().rotate(Vec3.of(found)))

    def _location(self) -> Pose:
        """Return the pose of frame 0 in the world; a moving base may be anywhere, so symbols do not matter there."""
        words = self.words.words("Z", 16, "number of a 4x4 matrix, row by row")
        if words is None:
            return Pose()
        before = dict(self.symbols)
        numbers = [self._value(word, "Z") for word in words]
        if not are_numbers(numbers):
            if self.floats:
                self.symbols = before
                return Pose()
            raise self.words.error(
                f"Z: the place of a base that does not move must be numbers; {', '.join(symbols_among(numbers))} has "
                "none",
                self.words.lines["Z"],
            )
        try:
            return Pose.from_matrix(np.reshape(numbers, (4, 4)))
        except ModelError as problem:
            raise self.words.error(f"Z, the place of frame 0: {problem}", self.words.lines["Z"]) from None

    def _check_values(self) -> None:
        for name in self.given:
            if name in self.owners:
                raise OptionError(
                    f"values: {name!r} is the variable of joint {self.owners[name]}, which moves: it has no value"
                )
            if name not in self.symbols:
                raise UnknownNameError("symbol in this file", name, self.symbols)

    # ---------------------------------------------------------------- building

    def model(self) -> Model:
        """Return the robot."""
        if symbols_among(self.gravity) and self.options.gravity is None:
            self.formulas.gravity = self.gravity
        numbers = [x if isinstance(x, float) else 0.0 for x in self.gravity]
        self.builder = builder = FileBuilder(
            self.source, self.words.name or self.source.path.stem, self.options, gravity=numbers
        )
        root = "link0" if self.floats else "base"
        location = FormulaPose(()) if self._location().is_identity else FormulaPose((step_of(self._location()),))
        if self.floats:
            builder.base = "world"
            builder.add_body("world")
        builder.add_body(root, None if not self.floats else self._mass(root, 0))
        if self.floats:
            builder.add_joint(
                "floating_base", "world", root, Free(), self._pose(location, "floating_base", "placements")
            )
            location = FormulaPose(())
        self.places[0] = (root, location)
        line = self.words.lines.get("ant", self.words.lines["NL"])
        with builder.at(line):
            for j in range(1, self.links + 1):
                self._add(self.rows[j])
            for j in range(self.links + 1, self.joints + 1):
                self._close(self.rows[j], self.rows[j + self.joints - self.links])
        self._note_oddities(root)
        formulas = self.formulas
        symbolic = any(vars(formulas).values())
        if symbolic and self.cut_through:
            raise self.words.error(
                f"joint {self.cut_through[0]} closes a loop and has a motor or a spring, so a link must be split next "
                "to it: give all symbols values, or let another joint close the loop",
                line,
            )
        if symbolic and (self.options.cuts is not None or self.options.rule is not None):
            raise UnsupportedError(
                "other cuts can be chosen only with numbers: give all symbols values, or cut where the file does"
            )
        made = builder.finish(floating_base=self.options.floating_base)
        loads = self._loads(made)
        return replace(formulas.put_into(made) if symbolic else made, loads=loads)

    def _pose(self, pose: FormulaPose, name: str, table: str) -> Pose:
        """Return a numeric pose; for one with symbols return an arbitrary pose and note the formulas."""
        if not pose.symbols:
            return as_pose(pose.spatial())
        known = getattr(self.formulas, table)
        known[name] = pose
        return Pose.of((float(len(known)), 0.0, 0.0))

    def _mass(self, name: str, j: int) -> MassProperties:
        """Return the inertia of a link together with all links welded to it."""
        whole = self._inertia(j)
        for k, pose in self._welded.get(name, []):
            whole = whole + pose.spatial().rigid_to_parent(self._inertia(k))
        ten = ScalarTen.of(whole)
        if are_numbers(ten.ten):
            return mass_properties_from_table(ten.ten)
        self.formulas.bodies[name] = ten
        return SOME_BODY

    def _inertia(self, j: int) -> RigidInertia:
        return ScalarTen(tuple(self.of_links[key][j] for key in OF_BODIES)).spatial()

    @cached_property
    def _welded(self) -> dict[str, list[tuple[int, FormulaPose]]]:
        """The fixed links of each moving body, each with its pose there."""
        found: dict[str, list[tuple[int, FormulaPose]]] = {}
        places: dict[int, tuple[str, FormulaPose]] = {}
        for j in range(1, self.links + 1):
            row = self.rows[j]
            if row.sigma == 2:
                carrier, pose = places.get(row.antecedent, (self._body(row.antecedent), FormulaPose(())))
                places[j] = carrier, pose @ FormulaPose((KhalilStep(**row.step),))
                found.setdefault(carrier, []).append((j, places[j][1]))
        return found

    def _body(self, j: int) -> str:
        return f"link{j}" if j or self.floats else "base"

    def _add(self, row: _ParFrame) -> None:
        """Add a link, or a named frame for one that is fixed."""
        j, builder = row.number, self.builder
        body, pose = self.places[row.antecedent]
        pose = pose @ FormulaPose((KhalilStep(**row.step),))
        if row.sigma == 2:
            self.places[j] = (body, pose)
            builder.frame(f"link{j}", body, pose=self._pose(pose, f"link{j}", "frames"))
            return
        name, joint = f"link{j}", f"joint{j}"
        self.places[j] = (name, FormulaPose(()))
        builder.add_body(name, self._mass(name, j))
        m = self.moved[j]
        data: dict[str, Any] = {"actuated": bool(row.mu) and j not in self.elasticity}
        if m.leader:
            data |= {"mimic": Mimic(f"joint{self.owners[m.leader]}", m.ratio, 0.0), "actuated": None}
        numbers = {word: self.of_links[key][j] for key, word in PER_JOINT.items()}
        if j in self.elasticity and not (isinstance(self.elasticity[j], float) and self.elasticity[j] == 0.0):
            numbers["stiffness"] = self.elasticity[j]
        for word, x in numbers.items():
            if isinstance(x, ScalarFormula):
                self.formulas.joints.setdefault(joint, {})[word] = (x,)
                x = 1.0
            data[word] = x
        placement = self._pose(pose, joint, "placements")
        builder.add_joint(joint, body, name, KINDS[row.sigma], placement, **data)

    def _close(self, row: _ParFrame, other: _ParFrame) -> None:
        """Close a loop between the frame that a cut joint moves and the one on the other side."""
        name, data = f"joint{row.number}", dict[str, Any]()
        (here, before), (there, behind) = self.places[row.antecedent], self.places[other.antecedent]
        placement = before @ FormulaPose((KhalilStep(**row.step),))
        seat = behind @ FormulaPose((KhalilStep(**other.step),))
        if row.mu and row.sigma != 2:
            data["actuated"] = True
        stiffness = self.elasticity.get(row.number, 0.0)
        if isinstance(stiffness, ScalarFormula) or stiffness:
            data["stiffness"] = stiffness if isinstance(stiffness, float) else 1.0
        if data:
            self.cut_through.append(row.number)
        self.builder.loop(
            name, here, there, KINDS[row.sigma], placement=self._pose(placement, name, "placements"),
            seat=self._pose(seat, name, "seats"), **data,
        )  # fmt: skip
        self.builder.frame(f"frame{other.number}", there, pose=self._pose(seat, f"frame{other.number}", "frames"))

    # ---------------------------------------------------------------- what is not part of the robot

    def _loads(self, model: Model) -> tuple[Load, ...]:
        """Return the wrenches that act on links; the file contains those that links exert, so the sign is changed."""
        found = []
        for j in self.of_links["FX"]:
            six = tuple(-self.of_links[key][j] + 0.0 for key in WRENCH)
            if any(isinstance(x, ScalarFormula) or x != 0.0 for x in six) and self._body(j) in model.frame_table:
                found.append(Load(self._body(j), six))
        return tuple(found)

    def _note_oddities(self, root: str) -> None:
        builder, words = self.builder, self.words
        for word in words.unknown:
            builder.oddity(builder.unknown("key of .par files", word.text, (*OF_FRAMES, *OF_LINKS)), word.line)
        for j in self.of_links["FX"]:
            if any(isinstance(x := self.of_links[key][j], float) and x != 0.0 for key in WRENCH):
                builder.oddity(
                    f"a wrench acts on link {j}: dynamics includes it only if it is passed, wrenches=robot.loads",
                    words.lines.get("FX"),
                )
        for key in OF_MOTION if not self.floats else ():
            if any(isinstance(x, float) and x != 0.0 for x in self._vector(key, 3) or ()):
                builder.oddity(
                    f"{key} says that the base moves, but it is neither floating nor mobile: it is held still "
                    "(is_mobile = 1 lets it move as given)",
                    words.lines[key],
                )

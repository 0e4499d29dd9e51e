"""The structure that describes a kinematic tree in spatial_v2: NB, parent, jtype, Xtree, I, gravity.

Coordinate transforms and inertias are matrices over Plücker coordinates (Featherstone 2.24 and 2.63), 6 x 6 or, for
planar models, 3 x 3; bodies and joints are numbered.  Additions of the extended version of the package are also read:
ball joints, floating bases, and rotors, which are bodies that follow a joint with its gear ratio.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import FileFormatError, ModelError
from kinetree.io.tables.mat_file import Variable, read_variables
from kinetree.model.formats.source import FileBuilder, Options, Source
from kinetree.model.joint_fields import Mimic
from kinetree.model.joints import Free, Helical, JointKind, Prismatic, Revolute, Spherical
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.model.tree import Model
from kinetree.spatial.arrays import Array

NEEDED = ("NB", "parent", "jtype", "Xtree", "I")

KINDS: dict[str, JointKind] = {
    "R": Revolute("z"), "P": Prismatic("z"), "r": Revolute("z"), "px": Prismatic("x"), "py": Prismatic("y"),
    **{f"R{axis}": Revolute(axis) for axis in "xyz"}, **{f"P{axis}": Prismatic(axis) for axis in "xyz"},
    **{f"{letter}{axis}-": kind(f"-{axis}") for letter, kind in (("R", Revolute), ("P", Prismatic)) for axis in "xyz"},
    "r-": Revolute("-z"), "px-": Prismatic("-x"), "py-": Prismatic("-y"),
    "S": Spherical(), "SO3": Spherical(), "Fb": Free(), "SE3": Free(),
}  # fmt: skip
"""Joints by their codes; a screw, ``H``, also has a pitch."""

PLANAR = ("r", "px", "py", "r-", "px-", "py-")
SAME_ENTRY = 1e-9


def read(source: Source, options: Options) -> Model:
    """Read a spatial_v2 model from a MATLAB file."""
    return _StructReader(source, options).model()


class _StructReader:
    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        found = read_variables(source.data, source.file)
        owners = [name[: -len("NB")] for name in found if name == "NB" or name.endswith(".NB")]
        if len(owners) != 1:
            there = ", ".join(sorted({name.partition(".")[0].partition("{")[0] for name in found})) or "nothing"
            raise self._error(
                f"a model of spatial_v2 is a structure with {', '.join(NEEDED)}; this file has "
                + (f"several: {', '.join(name.rstrip('.') for name in owners)}. Save one alone" if owners else there)
            )
        own = owners[0]
        self.given = {name.removeprefix(own): x for name, x in found.items() if name.startswith(own)}
        self.count = int(self._numbers("NB", (1, 1))[0, 0])
        self.planar = self._shape("Xtree{1}") == (3, 3)
        self.size = 3 if self.planar else 6

    def model(self) -> Model:
        builder = FileBuilder(self.source, self.source.path.stem, self.options, gravity=self._gravity())
        builder.add_body("base")
        if any(name.partition("{")[0] == "gamma_q" for name in self.given):
            raise self._error(
                "gamma_q, which couples joints, is a MATLAB function, and no code is run: remove the field, "
                "and give joints that follow others, or close loops, in loops="
            )
        parents = self._parents()
        for i, parent in enumerate(parents, 1):
            with builder.at(None):
                self._add(builder, f"link{i}", f"joint{i}", self._name(parent), i, "")
            if f"I_rotor{{{i}}}" in self.given and self._has_rotor(i):
                ratio = float(self._numbers(f"gr{{{i}}}", (1, 1))[0, 0])
                with builder.at(None):
                    mimic = Mimic(f"joint{i}", ratio)
                    self._add(builder, f"rotor{i}", f"rotor{i}_joint", self._name(parent), i, "_rotor", mimic=mimic)
        self._add_contacts(builder)
        return builder.finish(floating_base=self.options.floating_base)

    def _add(self, builder: FileBuilder, body: str, joint: str, parent: str, i: int, which: str, **data: Any) -> None:
        builder.add_body(body, self._mass(f"I{which}{{{i}}}"))
        tree = f"Xrotor{{{i}}}" if which else f"Xtree{{{i}}}"
        builder.add_joint(joint, parent, body, self._kind(f"jtype{which}{{{i}}}"), self._pose(tree), **data)

    # ---------------------------------------------------------------- what is given

    def _error(self, message: str) -> FileFormatError:
        return FileFormatError(message, self.source.file)

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array; an empty tuple if it is not an array."""
        x: Variable = self.given.get(name)
        return x.shape if isinstance(x, np.ndarray) else ()

    def _numbers(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return an array of finite numbers in this shape."""
        x: Variable = self.given.get(name)
        if not isinstance(x, np.ndarray):
            raise self._error(f"{name} is missing: it must be an array of numbers, {' x '.join(map(str, shape))}")
        if x.shape != shape:
            raise self._error(f"{name} is {' x '.join(map(str, x.shape))}, not {' x '.join(map(str, shape))}")
        if not np.isfinite(x).all():
            raise self._error(f"{name} has numbers that are not finite")
        return x.astype(float)

    def _row(self, name: str, count: int) -> Array:
        """Return a row or column of numbers."""
        column = self._shape(name) == (count, 1)
        return self._numbers(name, (count, 1) if column else (1, count)).ravel()

    def _gravity(self) -> tuple[float, ...]:
        """Return the acceleration of gravity; zero in planar models that do not give it (get_gravity of spatial_v2)."""
        if "gravity" not in self.given:
            return (0.0, 0.0, 0.0) if self.planar else (0.0, 0.0, -9.81)
        count = 2 if self.planar and max(self._shape("gravity"), default=0) == 2 else 3
        x, y, z = (*self._row("gravity", count), 0.0)[:3]
        return (x, y, 0.0) if self.planar else (x, y, z)

    def _parents(self) -> list[int]:
        if self.count < 1:
            raise self._error(f"NB is {self.count}: a model has at least one body")
        if self.count > len(self.given):
            raise self._error(f"NB is {self.count}, but parent, jtype, Xtree and I have another number of entries")
        parents = self._row("parent", self.count)
        for i, parent in enumerate(parents, 1):
            if parent != int(parent) or not 0 <= parent < i:
                raise self._error(f"parent({i}) is {parent:g}: it must be 0 (the base) or a body before {i}")
        return [int(x) for x in parents]

    @staticmethod
    def _name(body: int) -> str:
        return f"link{body}" if body else "base"

    def _has_rotor(self, i: int) -> bool:
        return "has_rotor" not in self.given or bool(self._row("has_rotor", self.count)[i - 1])

    def _kind(self, name: str) -> JointKind:
        code = self.given.get(name, self.given.get(f"{name}.code"))
        if code == "H":
            return Helical("z", float(self._numbers(f"{name}.pars.pitch", (1, 1))[0, 0]))
        kind = KINDS.get(code) if isinstance(code, str) else None
        if kind is None or (code in PLANAR) != self.planar:
            raise self._error(
                f"{name} is {code!r}, not a joint of a {'planar' if self.planar else 'spatial'} model; these are "
                + ", ".join(k for k in (*KINDS, "H") if (k in PLANAR) == self.planar)
            )
        return kind

    def _pose(self, name: str) -> Pose:
        """Return the pose of a joint, given the transform from the parent's coordinates to the joint's."""
        x = self._numbers(name, (self.size, self.size))
        if self.planar:
            turn, lower = x[1:, 1:], x[1:, :1]
            rotation, at = np.eye(3), turn.T @ lower[:, 0]
            rotation[:2, :2] = turn.T
            position = np.array([at[1], -at[0], 0.0])  # of turn (-y, x), see plnr
            rest = [*x[0, 1:], x[0, 0] - 1.0]
        else:
            turn, lower = x[:3, :3], x[3:, :3]
            rotation, skew = turn.T, -turn.T @ lower
            position = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
            rest = [*x[:3, 3:].ravel(), *(x[3:, 3:] - turn).ravel(), *(skew + skew.T).ravel()]
        if np.abs(rest).max() > SAME_ENTRY * max(1.0, float(np.abs(x).max())):
            raise self._error(f"{name} is not a coordinate transform: plux(E, r) makes one")
        try:
            return Pose.of(position, rotation=rotation)
        except ModelError as problem:
            raise self._error(f"{name} is not a coordinate transform: {problem}") from None

    def _mass(self, name: str) -> MassProperties:
        """Return mass properties from a body's inertia about the origin of its frame."""
        x = self._numbers(name, (self.size, self.size))
        mass = x[-1, -1]
        if self.planar:
            first = np.array([x[2, 0], -x[1, 0], 0.0])
            like = np.array([[x[0, 0], -first[1], first[0]], [-first[1], mass, 0.0], [first[0], 0.0, mass]])
            # inertia against turns out of the plane is not given and does not matter: a flat body
            across = x[0, 0] - (first @ first / mass if mass else 0.0)
            second = np.diag([across / 2.0, across / 2.0, across])
            second += (first @ first * np.eye(3) - np.outer(first, first)) / mass if mass else 0.0
        else:
            second, cross = (x[:3, :3] + x[:3, :3].T) / 2.0, x[:3, 3:]
            first = np.array([cross[2, 1], cross[0, 2], cross[1, 0]])
            own = np.array([[0.0, -first[2], first[1]], [first[2], 0.0, -first[0]], [-first[1], first[0], 0.0]])
            like = np.block([[second, own], [own.T, mass * np.eye(3)]])
        if np.abs(x - like).max() > SAME_ENTRY * float(np.abs(x).max()):
            raise self._error(f"{name} is not an inertia of a rigid body: mcI(m, c, I) makes one")
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = second
        try:
            return MassProperties.from_parameters([mass, *first, xx, xy, yy, xz, yz, zz])
        except ModelError as problem:
            raise self._error(f"{name}: {problem}") from None

    def _add_contacts(self, builder: FileBuilder) -> None:
        """Name the points that touch the ground, ``gc``: ``contact1``, ..."""
        if "gc.point" not in self.given:
            return
        axes, count = (*self._shape("gc.point"), 0, 0)[:2]
        where = self._numbers("gc.point", (2 if self.planar and axes == 2 else 3, count))
        for k, body in enumerate(self._row("gc.body", count)):
            if body != int(body) or not 0 <= body <= self.count:
                raise self._error(f"gc.body({k + 1}) is {body:g}: there is no such body")
            x, y, z = (*where[:, k], 0.0)[:3]
            with builder.at(None):
                builder.frame(f"contact{k + 1}", self._name(int(body)), (x, y, z))

"""The writer of ``.par`` files: trees and loops of hinges, slides and welds, with their symbols.

In Khalil's notation a joint moves along the z axis of its frame.  If it moves along another axis, its body's frame is
rotated; links, joints and their properties stay the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.errors import UnsupportedError
from kinetree.model.changes.over_any_scalar import FormulaPose, KhalilStep, ScalarTen
from kinetree.model.dh.khalil_parameters import TWELFTH, step_of, to_axis
from kinetree.model.formats import losses
from kinetree.model.joints import Fixed, Free, JointKind, Prismatic, Revolute
from kinetree.model.parameters import OF_BODIES, mass_properties_to_table
from kinetree.model.pose import Pose
from kinetree.model.tree import BASE, Frame, Joint, Model
from kinetree.spatial import Scalar, Vec3
from kinetree.spatial.formula import ScalarFormula

from .reader import ANGLES, PER_JOINT, WRENCH

NUMBERED = re.compile(r"link([1-9]\d*)")
SIGMA: dict[type[JointKind], int] = {Revolute: 0, Prismatic: 1, Fixed: 2}
VARIABLE = ("th", "r")
OF_MOVING_BASE = {
    "W0": ("WXb", "WYb", "WZb"), "WP0": ("WPXb", "WPYb", "WPZb"), "V0": ("VXb", "VYb", "VZb"),
    "VP0": ("VPXb", "VPYb", "VPZb"),
}  # fmt: skip
FIXED_LINK = (0.0,) * 10
ALONG_Z = (0.0, 0.0, 1.0)
GEOMETRY = ("gamma", "b", "alpha", "d", "theta", "r")


def write(model: Model) -> str:
    """Return a model as a ``.par`` file.

    Raises
    ------
    UnsupportedError
        If the dynamics would change: joints other than hinges, slides and a floating base, couplings, springs that do
        not rest at zero.
    """
    return _ParWriter(model).document()


def geometric_table(model: Model) -> list[dict[str, str]]:
    """Return the geometry as rows of Khalil's parameters; no rows if joints are not along z, as a table requires.

    Each row has ``frame``, ``ant``, ``sigma``, ``gamma``, ``b``, ``alpha``, ``d``, ``theta`` and ``r`` as in a file,
    with six digits of numbers, and the name of its ``joint``, which is empty for the far side of a cut.
    """
    kinds = [*(joint.kind for joint in model.joints), *(loop.kind for loop in model.loops)]
    if not kinds or any(getattr(kind, "axis", ALONG_Z) != ALONG_Z for kind in kinds):
        return []
    try:
        writer = _ParWriter(model)
        rows = writer.rows()
    except UnsupportedError:
        return []
    cut = {len(rows) - 2 * len(model.loops) + k: loop.name for k, loop in enumerate(model.loops)}
    return [
        {"joint": cut.get(k, "") if row.joint is None else row.joint.name, "frame": str(k + 1),
         "ant": str(row.antecedent), "sigma": str(row.sigma)} | {key: _entry(row, key, "{:.6g}") for key in GEOMETRY}
        for k, row in enumerate(rows)
    ]  # fmt: skip


@dataclass
class _FrameLine:
    """A frame to be written."""

    antecedent: int
    sigma: int
    step: KhalilStep
    variable: Scalar = 0.0
    """The variable that is added to theta or r."""
    ten: Sequence[Scalar] = FIXED_LINK
    joint: Joint | None = None
    load: Sequence[Scalar] = (0.0,) * 6

    def entry(self, key: str) -> Scalar:
        """Return one of the geometric parameters."""
        moves = key == ("theta", "r", "")[self.sigma]
        x: Scalar = getattr(self.step, key)
        return self.variable + x if moves else x


class _ParWriter:
    """Writes one model; collects what is lost without changing the motion."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._refuse()
        self.root = model.roots[0] if model.is_floating else BASE
        """The body that is link 0."""
        self.turns = [Pose.of(rotation=to_axis(j.kind)) for j in model.joints]
        """Rotation of each body's frame that makes its joint move along z."""
        self.numbers: dict[int, int] = {BASE: 0, self.root: 0}
        """Numbers of bodies."""
        self.welded: dict[int, Frame] = {}
        """Frames that already had numbers."""
        self._number()

    def _refuse(self) -> None:
        model = self.model
        floating = model.roots[0] if model.is_floating else None
        for i, joint in enumerate(model.joints):
            if type(joint.kind) not in SIGMA and not (i == floating and isinstance(joint.kind, Free)):
                raise UnsupportedError(
                    f"joint {joint.name!r} is {joint.kind.name}: .par files have revolute, prismatic and fixed joints "
                    "and a floating base; write .yaml, or take robot.with_single_joints()"
                )
            if any(joint.stiffness) and (any(joint.spring_rest) or joint.actuated):
                raise UnsupportedError(
                    f"joint {joint.name!r} has a spring {'and a motor' if joint.actuated else 'that rests elsewhere'}: "
                    ".par files have springs in joints without a motor that rest at zero; write .yaml"
                )
        for loop in model.loops:
            if type(loop.kind) not in SIGMA:
                raise UnsupportedError(f"loop {loop.name!r} is {loop.kind.name}: .par files have hinges and slides")
        if model.couplings or any(t.stiffness for t in model.tendons):
            raise UnsupportedError(".par files have no couplings and no springs along tendons: write .yaml")

    def _number(self) -> None:
        """Number the bodies by their names if these are link1, link2, ...; otherwise consecutively."""
        model = self.model
        moving = [i for i in range(len(model.bodies)) if i != self.root]
        by_name = {i: int(m[1]) for i in moving if (m := NUMBERED.fullmatch(model.bodies[i].name))}
        frames = {int(m[1]): f for f in model.frames if (m := NUMBERED.fullmatch(f.name))}
        every = sorted([*by_name.values(), *frames])
        in_order = all(by_name.get(model.joints[i].parent, 0) < j for i, j in by_name.items())
        if len(by_name) == len(moving) and every == list(range(1, len(every) + 1)) and in_order:
            self.numbers |= by_name
            self.welded = frames
        else:
            self.numbers |= {i: number for number, i in enumerate(moving, start=1)}

    # ---------------------------------------------------------------- frames

    def document(self) -> str:
        """Return the text."""
        rows = self.rows()
        self._warn_of_what_is_lost()
        return self._text(rows, len(rows) - 2 * len(self.model.loops))

    def rows(self) -> list[_FrameLine]:
        """Return all frames in the order of their numbers: links, cut joints, and their far sides."""
        model = self.model
        rows = {
            number: self._link(model.joints[i], i) for i, number in self.numbers.items() if i not in (BASE, self.root)
        }
        for number, frame in self.welded.items():
            antecedent, step = self._placed(frame.body, frame.pose, Pose(), number)
            rows[number] = _FrameLine(antecedent, 2, step)
        links, loops = len(rows), len(model.loops)
        for k, loop in enumerate(model.loops, start=links + 1):
            turn, sigma = Pose.of(rotation=to_axis(loop.kind)), SIGMA[type(loop.kind)]
            variable: Scalar = 0.0 if sigma == 2 else ScalarFormula.symbol(f"{VARIABLE[sigma]}{k}")
            rows[k] = _FrameLine(*self._apart(sigma, loop.predecessor, loop.placement, turn), variable)
            rows[k + loops] = _FrameLine(*self._apart(2, loop.successor, loop.seat, turn))
        return [rows[j] for j in sorted(rows)]

    def _apart(self, sigma: int, body: int, pose: Any, turn: Pose) -> tuple[int, int, KhalilStep]:
        antecedent, step = self._placed(body, pose, turn, len(self.numbers) + len(self.welded))
        return antecedent, sigma, step

    def _link(self, joint: Joint, i: int) -> _FrameLine:
        model, number = self.model, self.numbers[i]
        antecedent, step = self._placed(joint.parent, joint.placement, self.turns[i], number)
        sigma = SIGMA[type(joint.kind)]
        variable: Scalar = 0.0 if sigma == 2 else ScalarFormula.symbol(f"{VARIABLE[sigma]}{number}")
        if joint.mimic:
            leader = model.joint_index[joint.mimic.leader]
            word = VARIABLE[SIGMA[type(model.joints[leader].kind)]]
            variable = ScalarFormula.symbol(f"{word}{self.numbers[leader]}") * joint.mimic.ratio + joint.mimic.offset
        return _FrameLine(antecedent, sigma, step, variable, self._ten(i), joint, self._load(i))

    def _placed(self, body: int, pose: Any, turn: Pose, below: int) -> tuple[int, KhalilStep]:
        """Return the frame that a pose is relative to, and the step from there.

        Formulas stay as they are: a pose of several steps begins with those of a welded frame.
        """
        if not isinstance(pose, FormulaPose):
            before = Pose() if body == BASE else self.turns[body].inverse()
            return self.numbers[body], step_of(before @ pose @ turn)
        if len(pose.steps) == 1:
            return self.numbers[body], pose.steps[0]
        for number, frame in self.welded.items():
            known = frame.pose.steps if isinstance(frame.pose, FormulaPose) else (step_of(frame.pose),)
            if number < below and frame.body == body and known == pose.steps[:-1]:
                return number, pose.steps[-1]
        raise UnsupportedError(
            f"a frame on {self._name(body)!r} is placed by several steps that contain symbols, and the frames between "
            "no longer exist: give the symbols values to write it as .par"
        )

    def _name(self, body: int) -> str:
        return (self.model.base if body == BASE else self.model.bodies[body]).name

    def _ten(self, i: int) -> Sequence[Scalar]:
        own = self.model.bodies[i].mass_properties
        if isinstance(own, ScalarTen):
            return own.ten
        turn = self.turns[i]
        moved = own if turn.is_identity else own.moved(turn.inverse())
        return [float(x) for x in mass_properties_to_table(moved)]

    def _load(self, i: int) -> Sequence[Scalar]:
        body = self.model.bodies[i].name
        found = [load.six for load in self.model.loads if load.body == body]
        return tuple(-x for x in found[0]) if found else (0.0,) * 6

    # ---------------------------------------------------------------- text

    def _text(self, rows: Sequence[_FrameLine], links: int) -> str:
        model, floats = self.model, self.root != BASE
        joints = links + len(model.loops)
        of_links = list(rows[:links])
        base = _FrameLine(0, 2, KhalilStep())
        if floats:
            base.ten, base.load = self._ten(self.root), self._load(self.root)
            of_links.insert(0, base)
        branches = any(row.antecedent != j for j, row in enumerate(rows[:links]))

        def listed(key: str, entries: Iterable[Scalar]) -> str:
            return f"{key} = {{{','.join(_word(x) for x in entries)}}}"

        def per_joint(word: str) -> Callable[[_FrameLine], Scalar]:
            def entry(row: _FrameLine) -> Scalar:
                numbers = () if row.joint is None else getattr(row.joint, word)
                return numbers[0] if numbers else 0.0

            return entry

        name = re.sub(r"[^\w\s-]", "_", model.name)
        lines = [
            f"(* Robotname = '{name}' *)",
            f"NL = {links}", f"NJ = {joints}", f"NF = {len(rows)}", f"Type = {2 if model.loops else int(branches)}",
            f"is_floating = {int(floats)}", "is_mobile = 0", "", "(* Geometric parameters *)",
            listed("ant", [float(row.antecedent) for row in rows]),
            listed("sigma", [float(row.sigma) for row in rows]),
        ]  # fmt: skip
        for key in ("b", "d", "r", "gamma", "alpha"):
            lines.append(f"{key} = {{{','.join(_entry(row, key) for row in rows)}}}")
        lines.append(listed("mu", [float(_driven(row)) for row in rows]))
        lines.append(f"theta = {{{','.join(_entry(row, 'theta') for row in rows)}}}")
        lines += ["", "(* Dynamic parameters and external forces *)"]
        lines += [listed(key, [row.ten[k] for row in of_links]) for k, key in enumerate(OF_BODIES)]
        lines += [listed(key, map(per_joint("armature" if key == "IA" else word), of_links))
                  for key, word in PER_JOINT.items()]  # fmt: skip
        lines += [listed(key, [row.load[WRENCH.index(key)] for row in of_links]) for key in (*WRENCH[3:], *WRENCH[:3])]
        numbers = range(1, joints + 1)
        springs = [per_joint("stiffness")(row) for row in rows[:joints]]
        lines += ["", "(* Joint parameters *)"]
        lines += [
            listed("eta", [float(isinstance(x, ScalarFormula) or x != 0.0) for x in springs]),
            listed("k", springs),
        ]
        lines += [f"{key} = {{{','.join(f'{key}{j}' for j in numbers)}}}" for key in ("QP", "QDP", "GAM")]
        lines += ["", "(* Velocity and acceleration of the base *)"]
        lines += [f"{key} = {{{','.join(words if floats else '000')}}}" for key, words in OF_MOVING_BASE.items()]
        place = model.joints[self.root].placement if floats else Pose()
        gravity = Vec3.of(model.gravity) if place.is_identity else place.spatial().unrotate(Vec3.of(model.gravity))
        lines += ["", "(* Acceleration of gravity *)", listed("G", gravity), ""]
        lines += ["(* Transformation of 0 frame position fT0 *)", listed("Z", place.matrix.ravel().tolist()), ""]
        return "\n".join([*lines, "(* End of definition *)", ""])

    def _warn_of_what_is_lost(self) -> None:
        model = self.model
        lost = [what for joint in model.joints for what in losses.of_joint(joint, "par")]
        lost += [f"frame {f.name!r}" for f in model.frames if f not in self.welded.values() and not _of_loop(f)]
        lost += [f"configuration {c.name!r}" for c in model.configurations]
        lost += [f"actuator {a.name!r}" for a in model.actuators]
        losses.warn_of(lost, ".par files have")


def _of_loop(frame: Frame) -> bool:
    """Return whether a frame is the far side of a joint that closes a loop; files have their own frame for that."""
    return re.fullmatch(r"frame\d+", frame.name) is not None


def _driven(row: _FrameLine) -> bool:
    return row.joint is not None and row.sigma != 2 and row.joint.actuated


def _entry(row: _FrameLine, key: str, digits: str = "") -> str:
    x = row.entry(key)
    text = _angle(x) if key in ANGLES and isinstance(x, float) else _word(x)
    return digits.format(x + 0.0) if digits and isinstance(x, float) and "pi" not in text else text


def _word(x: Scalar) -> str:
    """Return a scalar as text; integers without a decimal point."""
    return str(x) if isinstance(x, ScalarFormula) else repr(float(x) + 0.0).removesuffix(".0")


def _angle(x: float) -> str:
    """Return an angle as text; exact multiples of 15 degrees as fractions of pi."""
    count = round(x / TWELFTH)
    if not count or count * TWELFTH != x:
        return _word(x)
    common = math.gcd(count, 12)
    top, bottom = abs(count) // common, 12 // common
    text = ("-" if count < 0 else "") + ("pi" if top == 1 else f"{top}*pi")
    return text if bottom == 1 else f"{text}/{bottom}"

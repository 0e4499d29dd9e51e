"""MJCF, MuJoCo's own format, read through the ``mujoco`` package.

MuJoCo compiles the file and takes care of defaults, includes, inertia from geometry and the
like; what is read here is the compiled model.  Coordinates: hinges and slides
have MuJoCo's values (a joint's ``ref``, its value in the drawn configuration, is included in its placement); ball and
free joints follow kinetree's conventions, that is quaternions x, y, z, w and, for a free joint, rotation before
translation and velocity in body axes.

Active equality constraints become rigid: ``connect`` becomes a ball joint and ``weld`` a fixed joint that closes a
loop, a linear relation between two joints becomes a mimic; other relations of joints, and of fixed tendons, become
couplings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Message, Setting
from ..joints import Fixed, Free, JointKind, Prismatic, Revolute, Spherical
from ..mass import MassProperties
from ..pose import Pose
from ..tree import Model
from . import xml
from .mjcf_compile import import_mujoco, refusal
from .mjcf_drives import Drives
from .mjcf_process import compiled, start
from .mjcf_shapes import read_geoms
from .source import FileBuilder, Options, Source, listed

ZERO = {4: (0.0, 0.0, 0.0, 1.0), 7: (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)}
"""Neutral coordinates of ball and free joints, keyed by their count."""

WITHOUT_MOTOR = "kinetree:without_motor"
"""Name of kinetree's custom tuple: joints without a motor that, judging by the file's actuators, would seem to have
one."""


def read(source: Source, options: Options) -> Model:
    """Read an MJCF file."""
    return _MjcfReader(source, options).model()


class _MjcfReader:
    """Goes through a compiled model, body by body."""

    def __init__(self, source: Source, options: Options) -> None:
        start()
        self.mujoco = import_mujoco(source.file)
        self.compiled, missing, weightless = compiled(self.mujoco, source)
        massless = [body for body in weightless if options.floating_base or not body[2]]
        if massless and options.missing_meshes == "refuse":
            raise refusal(massless, source.file)
        m = self.compiled
        self.skipped: list[tuple[str, int | None]] = []
        off = m.opt.disableflags & int(self.mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        gravity = (0.0, 0.0, 0.0) if off else tuple(float(x) for x in m.opt.gravity)
        document = xml.parse(source.data, source.file)
        name = document.attributes.get("model") or source.path.stem
        self.builder = FileBuilder(source, name, options, gravity=gravity)
        others = [file for file in missing if file not in {mesh for _, mesh, _ in massless}]
        if others:
            self.builder.oddity(
                "files are missing that only pictures and contact need, since inertias are given: " + listed(others)
            )
        for body, mesh, _ in massless:
            self.builder.oddity(f"body {body!r} has no mass: it would be computed from {mesh!r}, which is missing")
        self.equality_lines = self._equality_lines(document)
        self.taken_bodies: set[str] = set()
        self.taken_joints: set[str] = set()
        self.body_names = self._body_names()
        self.joint_names = self._joint_names()
        self.drives = Drives(self.mujoco, m, document, self.joint_names, self.body_names)
        self.actuator_count = self.drives.actuator_count
        self.motors = self._motors()
        self.without_motor = self._without_motor()

    # Names: kinetree needs one for every body and joint, and frames share the names of bodies.

    def _given_name(self, what: str, index: int) -> str:
        kind = getattr(self.mujoco.mjtObj, f"mjOBJ_{what}")
        return self.mujoco.mj_id2name(self.compiled, kind, index) or ""

    def _body_names(self) -> list[str]:
        names = [self._given_name("BODY", i) for i in range(self.compiled.nbody)]
        self.taken_bodies.update(names)
        return [name or _claim(f"body_{i}", self.taken_bodies) for i, name in enumerate(names)]

    def _joint_names(self) -> list[str]:
        bodies = [self.body_names[i] for i in self.compiled.jnt_bodyid]
        names = [self._given_name("JOINT", i) for i in range(self.compiled.njnt)]
        self.taken_joints.update(names)
        return [name or _claim(f"{body}_joint", self.taken_joints) for name, body in zip(names, bodies, strict=True)]

    # Building

    def model(self) -> Model:
        """Read every body, joint and site, then build."""
        m = self.compiled
        if m.nbody < 2:
            raise self.builder.error("the file has no bodies besides the world: the robot is empty", None)
        floating = self._body_to_free()
        self.builder.add_body(self.body_names[0])
        for i in range(1, m.nbody):
            with self.builder.at(None):
                self._read_body(i, free=i == floating)
        self._read_sites()
        read_geoms(self.mujoco, m, self.body_names, self.builder)
        self._read_equalities()
        self.drives.read_tendons(self.builder, not self._is_off("SPRING"), not self._is_off("DAMPER"), self._skip)
        self.drives.read_actuators(self.builder, self._skip)
        self._read_keyframes()
        self._note_what_is_not_understood()
        return self.builder.finish(floating_base=False)

    def _body_to_free(self) -> int | None:
        """Return the one body welded to the world, if ``floating_base=True`` asks to free it."""
        if not self.builder.options.floating_base:
            return None
        m = self.compiled
        held = [i for i in range(1, m.nbody) if m.body_parentid[i] == 0]
        if len(held) != 1 or m.body_jntnum[held[0]]:
            raise self.builder.error(
                Message(
                    Setting("floating_base", True),
                    " needs exactly one body in the world, without joints; an MJCF file itself can define what "
                    "floats, with <freejoint/>",
                ),
                None,
            )
        return held[0]

    def _read_body(self, i: int, free: bool) -> None:
        m = self.compiled
        name, parent = self.body_names[i], self.body_names[m.body_parentid[i]]
        self.builder.add_body(name, self._mass_properties(i))
        pose = Pose.of(m.body_pos[i], quaternion=_xyzw(m.body_quat[i]))
        joints = range(m.body_jntadr[i], m.body_jntadr[i] + m.body_jntnum[i])
        if free:
            joint = _claim("floating_base", self.taken_joints)
            self.builder.add_joint(joint, parent, name, Free(), actuated=False)
        elif not len(joints):
            self.builder.add_joint(_claim(name, self.taken_joints), parent, name, Fixed(), pose)
        else:
            self._read_joints(joints, name, parent, pose)

    def _mass_properties(self, i: int) -> MassProperties:
        m = self.compiled
        axes = Pose.of(quaternion=_xyzw(m.body_iquat[i]))
        return MassProperties.of(m.body_mass[i], m.body_ipos[i], m.body_inertia[i], axes=axes)

    def _read_joints(self, joints: range, body: str, parent: str, pose: Pose) -> None:
        """Read the joints of a body one after the other, with massless bodies between them.

        MuJoCo turns the body about each joint's anchor in the order of the file, so the
        pose is pose(body) * T(p1) J1 T(-p1) * T(p2) J2 T(-p2) ...
        """
        arm = np.zeros(3)  # from the anchor of the previous joint to the body's origin
        for j in joints:
            kind, anchor, at_reference = self._kind(j)
            before = Pose() if isinstance(kind, Free) else pose @ Pose.of(anchor + arm) @ at_reference
            last = j == joints[-1]
            child = body if last else _claim(f"{body}_{self.joint_names[j]}", self.taken_bodies)
            if not last:
                self.builder.add_body(child)
            self.builder.add_joint(
                self.joint_names[j],
                parent,
                child,
                kind,
                before,
                child_pose=Pose.of(-anchor) if last and np.any(anchor) else None,
                **self._joint_data(j, kind),
            )
            parent, pose, arm = child, Pose(), -anchor

    def _kind(self, j: int) -> tuple[JointKind, np.ndarray, Pose]:
        """Return the kind of a joint, its anchor in the body, and the displacement to undo its reference value."""
        m, types = self.compiled, self.mujoco.mjtJoint
        axis, anchor = np.array(m.jnt_axis[j]), np.array(m.jnt_pos[j])
        reference = float(m.qpos0[m.jnt_qposadr[j]])
        if m.jnt_type[j] == types.mjJNT_HINGE:
            half = reference / 2
            undone = Pose.of(quaternion=(*(-np.sin(half) * axis), np.cos(half))) if reference else Pose()
            return Revolute(axis), anchor, undone
        if m.jnt_type[j] == types.mjJNT_SLIDE:  # the anchor of a slide does not matter
            return Prismatic(axis), np.zeros(3), Pose.of(-reference * axis)
        if m.jnt_type[j] == types.mjJNT_BALL:
            return Spherical(), anchor, Pose()
        return Free(), np.zeros(3), Pose()

    def _joint_data(self, j: int, kind: JointKind) -> dict[str, Any]:
        m = self.compiled
        first = m.jnt_dofadr[j]
        dofs = slice(first, first + kind.nv)
        motors = self.motors.get(j, [])
        # A file without actuators says nothing about motors.
        driven = (bool(motors) if self.actuator_count else kind.usually_driven) and j not in self.without_motor
        data: dict[str, Any] = {
            "rotor_inertia": m.dof_armature[dofs] + self._reflected(motors, "actuator_armature"),
            "damping": m.dof_damping[dofs] + self._reflected(motors, "actuator_damping"),
            "friction": m.dof_frictionloss[dofs],
            "actuated": driven,
        }
        if m.jnt_stiffness[j] and not self._is_off("SPRING"):
            data["stiffness"], data["spring_rest"] = float(m.jnt_stiffness[j]), self._spring_rest(j, kind)
        if m.jnt_limited[j]:
            if kind.nv == 1:
                data["lower"], data["upper"] = m.jnt_range[j]
            else:
                self._skip(f"range of {kind.name} joint {self.joint_names[j]!r}")
        if kind.nv == 1:
            data["effort_limit"] = self._effort_limit(j, motors)
        return data

    def _spring_rest(self, j: int, kind: JointKind) -> np.ndarray:
        """Return the rest position of a spring in kinetree's order: quaternion x, y, z, w, then position."""
        first = self.compiled.jnt_qposadr[j]
        resting = np.array(self.compiled.qpos_spring[first : first + kind.nq])
        if kind.quaternion is None:
            return resting
        turn = resting[-4:] / np.linalg.norm(resting[-4:])
        return np.array([*_xyzw(turn), *resting[:-4]])

    def _is_off(self, what: str) -> bool:
        """Return whether the file disables something; MuJoCo before 3.4 had one switch for all passive forces."""
        flags = self.mujoco.mjtDisableBit
        bit: Any = getattr(flags, f"mjDSBL_{what}", None) or getattr(flags, "mjDSBL_PASSIVE", 0)
        return bool(self.compiled.opt.disableflags & int(bit))

    # Actuators

    def _motors(self) -> dict[int, list[int]]:
        """Return the actuators of each joint that is driven, directly or through a tendon."""
        found: dict[int, list[int]] = {}
        for a in range(self.actuator_count):
            for j in self.drives.joints_of_actuator(a):
                found.setdefault(j, []).append(a)
        return found

    def _without_motor(self) -> set[int]:
        """Return the joints that kinetree's custom tuple lists as having no motor."""
        m = self.compiled
        for t in range(m.ntuple):
            if self._given_name("TUPLE", t) == WITHOUT_MOTOR:
                own = slice(int(m.tuple_adr[t]), int(m.tuple_adr[t]) + int(m.tuple_size[t]))
                joints = m.tuple_objtype[own] == int(self.mujoco.mjtObj.mjOBJ_JOINT)
                return {int(j) for j in m.tuple_objid[own][joints]}
        return set()

    def _gear(self, a: int) -> float:
        return float(self.compiled.actuator_gear[a, 0])

    def _reflected(self, motors: list[int], attribute: str) -> float:
        """Convert inertias or damping from the motor side of the gear to the joint side."""
        values = getattr(self.compiled, attribute, None)
        direct = [a for a in motors if self.drives.is_direct(a)]
        return 0.0 if values is None else sum(float(values[a]) * self._gear(a) ** 2 for a in direct)

    def _effort_limit(self, j: int, motors: list[int]) -> float | None:
        m = self.compiled
        direct = all(self.drives.is_direct(a) for a in motors)  # forces through a tendon are limited along the tendon
        total = sum(self._motor_limit(a) for a in motors) if motors and direct else np.inf
        if m.jnt_actfrclimited[j]:
            if not _is_symmetric(m.jnt_actfrcrange[j]):
                self._skip(f"actuatorfrcrange of {self.joint_names[j]!r} (not symmetric)")
            else:
                total = min(total, float(m.jnt_actfrcrange[j, 1]))
        return float(total)

    def _motor_limit(self, a: int) -> float:
        """Return the largest force of an actuator at its joint if it is the same both ways; otherwise infinity."""
        m = self.compiled
        limit = np.inf
        if m.actuator_forcelimited[a] and _is_symmetric(m.actuator_forcerange[a]):
            limit = float(m.actuator_forcerange[a, 1])
        if self._is_plain_motor(a) and m.actuator_ctrllimited[a] and _is_symmetric(m.actuator_ctrlrange[a]):
            limit = min(limit, float(m.actuator_ctrlrange[a, 1]) * abs(float(m.actuator_gainprm[a, 0])))
        return limit * abs(self._gear(a)) if np.isfinite(limit) else np.inf

    def _is_plain_motor(self, a: int) -> bool:
        m, mujoco = self.compiled, self.mujoco
        return bool(
            m.actuator_dyntype[a] == mujoco.mjtDyn.mjDYN_NONE
            and m.actuator_gaintype[a] == mujoco.mjtGain.mjGAIN_FIXED
            and m.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_NONE
        )

    # Equality constraints

    def _equality_lines(self, document: xml.Element) -> list[int | None]:
        """Return the lines of the constraints, if all of them are in this file and none in included ones."""
        lines = [e.line for equality in document.all("equality") for e in equality.children]
        return list(lines) if len(lines) == self.compiled.neq else [None] * self.compiled.neq

    def _equality_name(self, e: int) -> str:
        return self._given_name("EQUALITY", e) or f"equality_{e}"

    def _is_active(self, e: int) -> bool:
        off = self.compiled.opt.disableflags & int(self.mujoco.mjtDisableBit.mjDSBL_EQUALITY)
        return bool(self.compiled.eq_active0[e]) and not off

    def _polynomial(self, e: int, y0: float, x0: float) -> list[float]:
        """Return p of y = p(x), where MuJoCo has y - y0 = a0 + a1 (x - x0) + ..."""
        powers = self.compiled.eq_data[e, :5]
        if int(self.compiled.eq_obj2id[e]) < 0:
            return [float(powers[0]) + y0]
        shifted = np.polynomial.Polynomial(powers)(np.polynomial.Polynomial([-x0, 1.0])).coef.copy()
        shifted[0] += y0
        return [float(c) for c in np.trim_zeros(shifted, "b")] or [0.0]

    def _reference(self, j: int) -> float:
        return float(self.compiled.qpos0[self.compiled.jnt_qposadr[j]])

    def _read_equalities(self) -> None:
        m, kinds = self.compiled, self.mujoco.mjtEq
        for e in range(m.neq):
            if not self._is_active(e):
                continue
            name = self._equality_name(e)
            y, x = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
            if m.eq_type[e] == kinds.mjEQ_JOINT:
                with self.builder.at(self.equality_lines[e]):
                    self._relate(e, name, y, x)
            elif m.eq_type[e] == kinds.mjEQ_TENDON and all(self.drives.joints_of_tendon(t) for t in (y, x) if t >= 0):
                with self.builder.at(self.equality_lines[e]):
                    self._relate_tendons(e, name, y, x)
            elif int(m.eq_type[e]) in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
                with self.builder.at(self.equality_lines[e]):
                    self._read_loop(e)
            else:
                word = kinds(m.eq_type[e]).name.removeprefix("mjEQ_").lower()
                word += " that goes through points" if m.eq_type[e] == kinds.mjEQ_TENDON else ""
                self._skip(f"equality constraint {name!r} ({word})", self.equality_lines[e])

    def _relate(self, e: int, name: str, y: int, x: int) -> None:
        """Couple two joints by y - y0 = a0 + a1 (x - x0) + ..., where y0 and x0 are the reference values."""
        polynomial = self._polynomial(e, self._reference(y), self._reference(x) if x >= 0 else 0.0)
        if x >= 0 and len(polynomial) == 2:
            self.builder.bind(name, self.joint_names[y : y + 1], self.joint_names[x : x + 1], *polynomial[::-1])
        else:
            self.builder.coupling(name, self.joint_names[y], self.joint_names[x] if x >= 0 else None, polynomial)

    def _relate_tendons(self, e: int, name: str, y: int, x: int) -> None:
        """Couple two sums of joints; joints with the coefficient zero are left out."""
        sums = [self.drives.sum_of_joints(t) if t >= 0 else {} for t in (y, x)]
        first, second = ({joint: c for joint, c in terms.items() if c} for terms in sums)
        if not first:
            self._skip(f"equality constraint {name!r} (its first tendon has no joints)", self.equality_lines[e])
            return
        rest = [float(self.compiled.tendon_length0[t]) if t >= 0 else 0.0 for t in (y, x)]
        polynomial = self._polynomial(e, *rest)
        self.builder.coupling(name, first, second or None, polynomial if second else polynomial[:1])

    def _read_loop(self, e: int) -> None:
        """Read a loop: anchors on both bodies, which coincide; for a weld also the relative orientation."""
        m, data = self.compiled, self.compiled.eq_data[e]
        first, second = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        is_weld = m.eq_type[e] == self.mujoco.mjtEq.mjEQ_WELD
        if m.eq_objtype[e] == self.mujoco.mjtObj.mjOBJ_SITE:
            placement, seat = (Pose.of(m.site_pos[s], quaternion=_xyzw(m.site_quat[s])) for s in (first, second))
            first, second = int(m.site_bodyid[first]), int(m.site_bodyid[second])
        elif is_weld:  # relpose is stored as the anchor on the first body and the rotation between the bodies
            placement, seat = Pose.of(data[3:6], quaternion=_xyzw(data[6:10])), Pose.of(data[:3])
        else:
            placement, seat = Pose.of(data[:3]), Pose.of(data[3:6])
        # without torque, a weld only holds a point
        kind = Fixed() if is_weld and data[10] else Spherical()
        name = _claim(self._equality_name(e), self.taken_joints)
        bodies = self.body_names[first], self.body_names[second]
        self.builder.loop(name, *bodies, kind, placement=placement, seat=seat)

    # Configurations

    def _read_keyframes(self) -> None:
        """Read keyframes, and the configuration as drawn if it differs from the neutral one."""
        m = self.compiled
        drawn = self._positions(m.qpos0)
        names = [self._given_name("KEY", k) or f"key_{k}" for k in range(m.nkey)]
        for name, qpos in zip(names, m.key_qpos, strict=True):
            if not np.array_equal(qpos, m.qpos0):  # a keyframe may set controls only
                self.builder.configuration(name, self._positions(qpos))
        if any(np.any(np.not_equal(x, ZERO.get(np.size(x), 0.0))) for x in drawn.values()):
            self.builder.configuration(_claim("as_drawn", set(names)), drawn)

    def _positions(self, qpos: np.ndarray) -> dict[str, Any]:
        """Convert MuJoCo's coordinates to kinetree's, by joint."""
        m, types, found = self.compiled, self.mujoco.mjtJoint, dict[str, Any]()
        for j in range(m.njnt):
            own = qpos[m.jnt_qposadr[j] :]
            if m.jnt_type[j] == types.mjJNT_FREE:
                found[self.joint_names[j]] = [*_unit(_xyzw(own[3:7])), *own[:3]]
            elif m.jnt_type[j] == types.mjJNT_BALL:
                found[self.joint_names[j]] = _unit(_xyzw(own[:4]))
            else:
                found[self.joint_names[j]] = float(own[0])
        return found

    # Sites, and the rest

    def _read_sites(self) -> None:
        m = self.compiled
        for s in range(m.nsite):
            name = self._given_name("SITE", s)
            if not name:
                continue
            pose = Pose.of(m.site_pos[s], quaternion=_xyzw(m.site_quat[s]))
            if name in self.body_names:
                self._skip(f"site {name!r} (a body has that name)")
                continue
            self.builder.frame(name, self.body_names[m.site_bodyid[s]], pose=pose)

    def _note_what_is_not_understood(self) -> None:
        m = self.compiled
        joints = self.joint_names
        springs = [joints[j] for j in range(m.njnt) if _any_row(m, "jnt_stiffnesspoly", j)]
        nonlinear = [joints[m.dof_jntid[k]] for k in range(m.nv) if _any_row(m, "dof_dampingpoly", k)]
        floaters = [self.body_names[i] for i in range(m.nbody) if m.body_gravcomp[i]]
        mocap = [self.body_names[i] for i in range(m.nbody) if m.body_mocapid[i] >= 0]
        found = [
            (springs, f"nonlinear springs of joints {listed(springs)}"),
            (nonlinear, f"nonlinear damping of joints {listed(dict.fromkeys(nonlinear))}"),
            (floaters, f"gravity compensation of bodies {listed(floaters)}"),
            (mocap, f"motion capture of bodies {listed(mocap)}, held fixed"),
            (m.opt.density or m.opt.viscosity, "forces of the surrounding fluid"),
            (getattr(m, "nflex", 0), "flexible bodies"),
            (m.nplugin, "plugins"),
        ]
        self.skipped += [(text, None) for present, text in found if present]
        for text, line in self.skipped:
            self.builder.oddity(f"not understood and left out: {text}", line)

    def _skip(self, text: str, line: int | None = None) -> None:
        self.skipped.append((text, line))


def _claim(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if it is taken, and mark it as taken."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    taken.add(free)
    return free


def _is_symmetric(bounds: np.ndarray) -> bool:
    return float(bounds[0]) == -float(bounds[1])


def _any_row(compiled: Any, attribute: str, row: int) -> bool:
    """Return whether a field of newer MuJoCo versions exists and is not zero."""
    values = getattr(compiled, attribute, None)
    return values is not None and bool(np.any(values[row]))


def _unit(quaternion: tuple[float, ...]) -> tuple[float, ...]:
    """Normalize the quaternion of a keyframe, which is written with few digits."""
    length = float(np.linalg.norm(quaternion))
    return tuple(x / length for x in quaternion) if length else (0.0, 0.0, 0.0, 1.0)


def _xyzw(quaternion: np.ndarray) -> tuple[float, float, float, float]:
    """Return a MuJoCo quaternion, which has the real part first, in the order x, y, z, w."""
    w, x, y, z = (float(c) for c in quaternion)
    return x, y, z, w

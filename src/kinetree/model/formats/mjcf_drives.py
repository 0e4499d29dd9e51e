"""Tendons and actuators of a compiled MuJoCo model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import xml
from .source import FileBuilder

Skip = Callable[[str, int | None], None]
"""A function that notes something that is left out, with its line."""


class Drives:
    """Tendons and actuators of a compiled model, as far as they can be represented.

    document: The file itself, for line numbers.
    joints, bodies: Names, in the order of MuJoCo's indices.
    """

    def __init__(
        self, mujoco: Any, compiled: Any, document: xml.Element, joints: list[str], bodies: list[str]
    ) -> None:  # fmt: skip
        self.mujoco, self.compiled = mujoco, compiled
        self.joints, self.bodies = joints, bodies
        self.actuator_count = int(getattr(compiled, "nactuator", compiled.nu))
        self.tendon_lines = _lines(document, "tendon", int(compiled.ntendon))
        self.actuator_lines = _lines(document, "actuator", self.actuator_count)
        self.tendon_names = [self._name("TENDON", t) or f"tendon_{t}" for t in range(compiled.ntendon)]
        self.actuator_names = [self._name("ACTUATOR", a) or f"actuator_{a}" for a in range(self.actuator_count)]
        self.wraps = [self._wraps(t) for t in range(compiled.ntendon)]

    def _name(self, what: str, index: int) -> str:
        return self.mujoco.mj_id2name(self.compiled, getattr(self.mujoco.mjtObj, f"mjOBJ_{what}"), index) or ""

    # Tendons

    def _wraps(self, t: int) -> list[tuple[int, int, float]]:
        """Return kind, object and parameter of everything that a tendon goes over."""
        m = self.compiled
        first = int(m.tendon_adr[t])
        places = range(first, first + int(m.tendon_num[t]))
        return [(int(m.wrap_type[w]), int(m.wrap_objid[w]), float(m.wrap_prm[w])) for w in places]

    def _why_not(self, t: int) -> str:
        """Return why a tendon cannot be represented; an empty string if it can."""
        kinds, wrapping = {kind for kind, _, _ in self.wraps[t]}, self.mujoco.mjtWrap
        if kinds <= {int(wrapping.mjWRAP_JOINT)} or kinds <= {int(wrapping.mjWRAP_SITE)}:
            return ""
        return "a pulley" if int(wrapping.mjWRAP_PULLEY) in kinds else "it wraps around a geometry"

    def joints_of_tendon(self, t: int) -> list[int]:
        """Return the joints whose coordinates a fixed tendon sums."""
        joint = int(self.mujoco.mjtWrap.mjWRAP_JOINT)
        return [obj for kind, obj, _ in self.wraps[t] if kind == joint]

    def read_tendons(self, builder: FileBuilder, springs: bool, dampers: bool, skip: Skip) -> None:
        """Add the tendons to a builder; note those that have no counterpart."""
        m = self.compiled
        for t, name in enumerate(self.tendon_names):
            line, what = self.tendon_lines[t], f"tendon {name!r}"
            reason = self._why_not(t)
            if reason:
                skip(f"{what} ({reason})", line)
                continue
            if m.tendon_limited[t]:
                skip(f"range of {what}", line)
            for attribute, word in (
                ("tendon_frictionloss", "frictionloss"), ("tendon_armature", "armature"),
                ("tendon_actfrclimited", "actuatorfrcrange"), ("tendon_stiffnesspoly", "nonlinear spring"),
                ("tendon_dampingpoly", "nonlinear damping"),
            ):  # fmt: skip
                if np.any(getattr(m, attribute, np.zeros(len(self.wraps)))[t]):
                    skip(f"{word} of {what}", line)
            with builder.at(line):
                builder.tendon(name, **self._path(t), **self._along(t, springs, dampers))

    def sum_of_joints(self, t: int) -> dict[str, float]:
        """Return the coefficients of the joints whose coordinates a fixed tendon sums."""
        sums: dict[str, float] = {}
        for _, obj, coefficient in self.wraps[t]:
            sums[self.joints[obj]] = sums.get(self.joints[obj], 0.0) + coefficient
        return sums

    def _path(self, t: int) -> dict[str, Any]:
        m = self.compiled
        if self.joints_of_tendon(t):
            return {"joints": self.sum_of_joints(t)}
        return {"points": [(self.bodies[m.site_bodyid[s]], m.site_pos[s]) for _, s, _ in self.wraps[t]]}

    def _along(self, t: int, springs: bool, dampers: bool) -> dict[str, Any]:
        m = self.compiled
        data: dict[str, Any] = {"damping": float(m.tendon_damping[t]) if dampers else 0.0}
        if m.tendon_stiffness[t] and springs:
            rest = m.tendon_lengthspring[t] if np.ndim(m.tendon_lengthspring) > 1 else [m.tendon_lengthspring[t]] * 2
            data |= {"stiffness": float(m.tendon_stiffness[t]), "rest": [float(x) for x in rest]}
        return data

    # Actuators

    def is_direct(self, a: int) -> bool:
        """Return whether an actuator drives a joint directly, without a tendon."""
        return int(self.compiled.actuator_trntype[a]) != int(self.mujoco.mjtTrn.mjTRN_TENDON)

    def joints_of_actuator(self, a: int) -> list[int]:
        """Return the joints that an actuator drives, directly or by a fixed tendon."""
        m, kinds = self.compiled, self.mujoco.mjtTrn
        kind, target = int(m.actuator_trntype[a]), int(m.actuator_trnid[a, 0])
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            return [target]
        if kind == int(kinds.mjTRN_TENDON) and not self._why_not(target):
            return self.joints_of_tendon(target)
        return []

    def read_actuators(self, builder: FileBuilder, skip: Skip) -> None:
        """Add the actuators to a builder; note those that have no counterpart."""
        for a, name in enumerate(self.actuator_names):
            line = self.actuator_lines[a]
            reason = self._why_no_actuator(a)
            if reason:
                skip(f"actuator {name!r} ({reason})", line)
                continue
            if not self.is_direct(a):
                for attribute in ("actuator_armature", "actuator_damping"):
                    if np.any(getattr(self.compiled, attribute, np.zeros(self.actuator_count))[a]):
                        skip(f"{attribute.removeprefix('actuator_')} of actuator {name!r}, behind a tendon", line)
            with builder.at(line):
                builder.actuator(name, **self._target(a), **self._law(a))

    def _why_no_actuator(self, a: int) -> str:
        m, mujoco = self.compiled, self.mujoco
        kinds = mujoco.mjtTrn
        kind, target = int(m.actuator_trntype[a]), int(m.actuator_trnid[a, 0])
        if kind == int(kinds.mjTRN_TENDON):
            if self._why_not(target):
                return f"its tendon is left out: {self._why_not(target)}"
        elif kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            types = mujoco.mjtJoint
            if int(m.jnt_type[target]) not in (int(types.mjJNT_HINGE), int(types.mjJNT_SLIDE)):
                return "it drives a joint of several freedoms"
        else:
            return "it drives neither a joint nor a tendon"
        if m.actuator_dyntype[a] != mujoco.mjtDyn.mjDYN_NONE:
            return "it has an internal state"
        if int(m.actuator_gaintype[a]) not in (int(mujoco.mjtGain.mjGAIN_FIXED), int(mujoco.mjtGain.mjGAIN_AFFINE)):
            return "its gain is that of a muscle, or a user's"
        if int(m.actuator_biastype[a]) not in (int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE)):
            return "its bias is that of a muscle, or a user's"
        return ""

    def _target(self, a: int) -> dict[str, Any]:
        m = self.compiled
        target = int(m.actuator_trnid[a, 0])
        if int(m.actuator_trntype[a]) == int(self.mujoco.mjtTrn.mjTRN_TENDON):
            return {"tendon": self.tendon_names[target], "gear": float(m.actuator_gear[a, 0])}
        return {"joint": self.joints[target], "gear": float(m.actuator_gear[a, 0])}

    def _law(self, a: int) -> dict[str, Any]:
        m, mujoco = self.compiled, self.mujoco
        gain = [float(x) for x in m.actuator_gainprm[a, :3]]
        if m.actuator_gaintype[a] == mujoco.mjtGain.mjGAIN_FIXED:
            gain[1:] = [0.0, 0.0]
        affine = m.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_AFFINE
        off = bool(m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL))
        free = (-math.inf, math.inf)
        return {
            "gain": gain,
            "bias": [float(x) for x in m.actuator_biasprm[a, :3]] if affine else (0.0, 0.0, 0.0),
            "control_range": m.actuator_ctrlrange[a] if m.actuator_ctrllimited[a] and not off else free,
            "force_range": m.actuator_forcerange[a] if m.actuator_forcelimited[a] else free,
        }


def _lines(document: xml.Element, section: str, count: int) -> list[int | None]:
    """Return the lines of a section's elements, if all of them are in this file and none in included ones."""
    lines = [e.line for part in document.all(section) for e in part.children]
    return list(lines) if len(lines) == count else [None] * count

"""The writer of MJCF, MuJoCo's own format.

A body of the file has the moving frame of its joint, unless the model gives it another one.  Joints of several freedoms
become hinges and slides of one body, and so do joints with massless bodies between them, which MuJoCo would refuse.
MuJoCo orders coordinates depth first: a robot that is read back has the same joint names, but perhaps another order in
``q``.  Loops are closed between sites: by ``connect`` for a ball joint, by two such constraints along the axis of a
hinge, and by ``weld`` for a fixed joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...errors import UnsupportedError
from ..actuators import Actuator, JointCoupling, Tendon
from ..changes.single_joints import expand
from ..joint_fields import words_of
from ..joints import Continuous, Fixed, Free, Prismatic, Revolute, Spherical
from ..mass import MassProperties
from ..pose import Pose
from ..tree import BASE, Joint, Loop, Model
from . import losses, xml
from .mjcf import WITHOUT_MOTOR
from .mjcf_shapes import GeomWriter
from .mjcf_words import numbers, pose_words, wxyz

LEAST = 1e-15
"""MuJoCo accepts masses and inertias of moving bodies only above this."""

ENDLESS = 1e9
"""Length of a tendon in meters that is written for infinity."""

ON_AXIS = 0.1
"""Distance in meters of the two points that represent a hinge which closes a loop."""

HIGHEST_POWER = 4
"""Highest power in the polynomials of MuJoCo's joint equality constraints."""

TYPES = {Revolute: "hinge", Continuous: "hinge", Prismatic: "slide", Spherical: "ball", Free: "free"}


def write(model: Model) -> str:
    """Write a model as MJCF.

    Raises
    ------
    UnsupportedError
        If the dynamics would change: a joint that MuJoCo does not have, a moving body without mass or extent, friction
        that differs between the freedoms of a ball joint.
    """
    return _MjcfWriter(model).document()


class _MjcfWriter:
    """Writes one model; collects what is lost without changing the motion."""

    def __init__(self, model: Model) -> None:
        self.given = model
        self.model = expand(model)
        self.lost: list[str] = []
        self.lines: list[str] = []
        self.children: dict[int, list[int]] = {i: [] for i in range(BASE, len(self.model.bodies))}
        for i, joint in enumerate(self.model.joints):
            self.children[joint.parent].append(i)
        self.named = {f.name: f.pose for f in self.model.frames if self._names_its_body(f.name, f.body)}
        self.sites: dict[int, list[tuple[str, Pose]]] = {i: [] for i in self.children}
        self.site_names = {self.model.base.name} | {b.name for b in self.model.bodies}
        self.order: list[Joint] = []
        # the joints that a reader of the file assumes to be driven: without actuators, all that usually are
        self.driven = {j.name for j in self.model.joints if j.kind.nv and j.kind.usually_driven}
        for frame in self.model.frames:
            if frame.name not in self.named:
                self._site(frame.name, frame.body, frame.pose)
        self.geoms = GeomWriter(self.model)
        self.equalities = [line for loop in self.model.loops for line in self._loop(loop)]
        self.tendons = [line for tendon in self.model.tendons for line in self._tendon(tendon)]

    def _names_its_body(self, name: str, body: int) -> bool:
        return body != BASE and self.model.bodies[body].name == name

    def _site(self, name: str, body: int, pose: Pose) -> str:
        """Put a site on a body; return its name, which differs from the given one if that is taken."""
        free, count = name, 1
        while free in self.site_names:
            count += 1
            free = f"{name}_{count}"
        self.site_names.add(free)
        self.sites[body].append((free, pose))
        return free

    def document(self) -> str:
        """Return the whole file."""
        model = self.model
        self._add(0, f"<mujoco model={xml.quoted(model.name)}>")
        self._add(1, '<compiler angle="radian" autolimits="true"/>')
        self._add(1, f"<option gravity={numbers(model.gravity)}/>")
        self._add(1, "<worldbody>")
        if model.base.name != "world":
            self.sites[BASE].append((model.base.name, Pose()))
        self._write_sites(BASE, Pose(), 2)
        self._write_geoms(BASE, Pose(), 2)
        for i in self.children[BASE]:
            self._body([i], Pose(), 2)
        self._add(1, "</worldbody>")
        self.equalities += [self._follower(joint) for joint in model.joints if joint.mimic]
        self.equalities += [self._coupling(coupling) for coupling in model.couplings]
        self._section("asset", self.geoms.assets)
        self._section("contact", self.geoms.contacts())
        self._section("tendon", self.tendons)
        self._section("equality", self.equalities)
        self._section("actuator", self._actuators())
        self._section("custom", self._without_motor())
        self._section("keyframe", self._keys())
        self._add(0, "</mujoco>")
        losses.warn_of([*self.lost, *self.geoms.lost], "MJCF has")
        return "\n".join(self.lines) + "\n"

    def _add(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def _section(self, name: str, lines: Sequence[str]) -> None:
        if lines:
            self._add(1, f"<{name}>")
            for line in lines:
                self._add(2, line)
            self._add(1, f"</{name}>")

    # ------------------------------------------------------------------ bodies

    def _body(self, chain: list[int], carrier: Pose, depth: int) -> None:
        """Write a body with the joints of a chain, and everything that it carries.

        chain: Joints from the carrier outwards, with massless bodies between them.
        carrier: Pose of the carrier's frame in the file, in its frame in the model.
        """
        last = chain[-1]
        body = self.model.bodies[last]
        if self._melts_away(last):
            self._body([*chain, self.children[last][0]], carrier, depth)
            return
        plain = all(isinstance(self.model.joints[k].kind, Revolute | Prismatic | Fixed) for k in chain)
        own = self.named.get(body.name, Pose())  # the model's body frame, in the joint's frame
        if not plain and not own.is_identity:
            self._site(f"{body.name}_frame", last, own)
            self.lost.append(f"the frame of body {body.name!r}, which is now site {body.name + '_frame'!r},")
            own = Pose()
        if not plain and len(chain) > 1:
            raise UnsupportedError(
                f"MJCF cannot be written: body {self.model.bodies[chain[-2]].name!r} has no mass, and MuJoCo needs some"
            )
        poses = [self.model.joints[k].placement for k in chain]
        whole = carrier.inverse()
        for pose in poses:
            whole = whole @ pose
        whole = whole @ own
        self._add(depth, f"<body name={xml.quoted(body.name)}{pose_words(whole)}>")
        self._write_joints(chain, own, depth + 1)
        self._inertial(last, body.mass_properties.moved(own.inverse()), depth + 1)
        self._write_sites(last, own, depth + 1)
        self._write_geoms(last, own, depth + 1)
        for i in self.children[last]:
            self._body([i], own, depth + 1)
        self._add(depth, "</body>")

    def _melts_away(self, i: int) -> bool:
        """Return whether a body is only an intermediate step to the next joint."""
        used = {w.body for t in self.model.tendons for w in t.points} | {f.body for f in self.model.frames}
        used |= {b for loop in self.model.loops for b in (loop.predecessor, loop.successor)} | self.geoms.of_body.keys()
        massless = self.model.bodies[i].mass_properties.is_massless
        joints = [self.model.joints[k] for k in (i, *self.children[i][:1])]
        hinges = all(isinstance(j.kind, Revolute | Prismatic) for j in joints)
        return massless and len(self.children[i]) == 1 and i not in used and hinges

    def _write_joints(self, chain: Sequence[int], own: Pose, depth: int) -> None:
        """Write the joints of a body, their axes and anchors in its frame."""
        from_joint = own.inverse()  # from the frame of each joint at zero to that of the body, innermost last
        found: list[tuple[Joint, Pose]] = []
        for k in reversed(chain):
            joint = self.model.joints[k]
            found.append((joint, from_joint))
            from_joint = from_joint @ joint.placement.inverse()
        for joint, at in reversed(found):
            self._joint(joint, at, depth)

    def _joint(self, joint: Joint, at: Pose, depth: int) -> None:
        kind = joint.kind
        if isinstance(kind, Fixed):
            return
        if type(kind) not in TYPES:
            raise UnsupportedError(f"MJCF has no {kind.name} joint like joint {joint.name!r}: write .yaml")
        if isinstance(kind, Free) and (joint.parent != BASE or not joint.placement.is_identity):
            raise UnsupportedError(f"MJCF has free joints in the world only, but joint {joint.name!r} is elsewhere")
        self.order.append(joint)
        words = [f'<joint name={xml.quoted(joint.name)} type="{TYPES[type(kind)]}"']
        if isinstance(kind, Revolute | Prismatic):
            words.append(f"axis={numbers(at.rotation @ np.array(kind.axis))}")
        if isinstance(kind, Revolute | Spherical) and any(at.translation):
            words.append(f"pos={numbers(at.translation)}")
        words += self._limits(joint) + self._own_forces(joint)
        self._add(depth, " ".join(words) + "/>")

    def _limits(self, joint: Joint) -> list[str]:
        words = []
        single = joint.kind.nv == 1
        low, high = joint.lower, joint.upper
        if single and math.isfinite(low[0]) and math.isfinite(high[0]):
            if low[0] < high[0]:
                words.append(f"range={numbers((low[0], high[0]))}")
            else:
                self.lost.append(f"the range of joint {joint.name!r}, whose ends meet")
        elif any(math.isfinite(x) for x in (*low, *high)):
            self.lost.append(f"position limits of joint {joint.name!r}, which are one-sided or for several freedoms")
        if any(math.isfinite(x) for x in joint.effort_limit):
            effort = joint.effort_limit[0]
            if single and effort > 0.0:
                words.append(f"actuatorfrcrange={numbers((-effort, effort))}")
            else:
                self.lost.append(f"effort limits of joint {joint.name!r}")
        return words

    def _own_forces(self, joint: Joint) -> list[str]:
        """Return friction, rotor and spring; joints of several freedoms have one number for all of them."""
        words = []
        for word, row in words_of("mjcf").items():
            values = row.felt(joint)
            if row.of or not any(values):
                continue
            if len(set(values)) > 1 or (isinstance(joint.kind, Free) and word in ("frictionloss", "armature")):
                raise UnsupportedError(
                    f"MJCF cannot express the {word} of joint {joint.name!r}: {list(values)}. Write .yaml"
                )
            words.append(f'{word}="{values[0]!r}"')
        if any(joint.stiffness) and joint.spring_rest != tuple(joint.kind.neutral()):
            if joint.kind.nv > 1:
                raise UnsupportedError(
                    f"in MJCF, springs of {joint.kind.name} joints rest at zero, but that of joint "
                    f"{joint.name!r} does not: write .yaml"
                )
            words.append(f'springref="{joint.spring_rest[0]!r}"')
        self.lost += losses.of_joint(joint, "mjcf")
        return words

    def _inertial(self, i: int, mass: MassProperties, depth: int) -> None:
        mass.require_writable(self.model.bodies[i].name)
        if mass.is_massless:
            if self.model.joints[i].kind.nv:
                raise self._refused(i, "no mass")
            self._add(depth, '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>')
            return
        matrix = mass.inertia_matrix
        turn, moments = "", np.diagonal(matrix)
        if np.any(matrix != np.diag(moments)):
            moments, axes = np.linalg.eigh(matrix)
            axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
            turn = f" quat={numbers(wxyz(axes))}"
        if self.model.joints[i].kind.nv and (mass.mass <= LEAST or np.min(moments) <= LEAST):
            raise self._refused(i, "no extent")
        moments = self._within_rounding(i, moments)
        self._add(
            depth, f'<inertial pos={numbers(mass.com)} mass="{mass.mass!r}" diaginertia={numbers(moments)}{turn}/>'
        )

    def _within_rounding(self, i: int, moments: np.ndarray) -> np.ndarray:
        """Correct moments of inertia if one exceeds the sum of the others by rounding, as can happen for a plate."""
        k = int(np.argmax(moments))
        others = float(np.sum(np.delete(moments, k)))
        if moments[k] > others * (1.0 + 1e-12):
            raise self._refused(i, "an inertia that is impossible for a body")
        return np.array([min(x, others) if j == k else x for j, x in enumerate(moments)])

    def _refused(self, i: int, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"MJCF cannot be written: the moving body {self.model.bodies[i].name!r} has {why}, which MuJoCo refuses: "
            "write .yaml"
        )

    def _write_sites(self, body: int, own: Pose, depth: int) -> None:
        for name, pose in self.sites[body]:
            self._add(depth, f"<site name={xml.quoted(name)}{pose_words(own.inverse() @ pose)}/>")

    def _write_geoms(self, body: int, own: Pose, depth: int) -> None:
        for line in self.geoms.of(body, own):
            self._add(depth, line)

    # ------------------------------------------------------------------ constraints

    def _loop(self, loop: Loop) -> list[str]:
        kind = loop.kind
        if not isinstance(kind, Fixed | Spherical | Revolute):
            raise UnsupportedError(
                f"MJCF closes loops by points and welds, but loop {loop.name!r} is a {kind.name} joint: write .yaml"
            )
        shifts = [np.zeros(3)]
        if isinstance(kind, Revolute):
            axis = np.array(kind.axis) / np.linalg.norm(kind.axis)
            shifts = [-0.5 * ON_AXIS * axis, 0.5 * ON_AXIS * axis]
        word = "weld" if isinstance(kind, Fixed) else "connect"
        found = []
        for k, shift in enumerate(shifts):
            name = loop.name if len(shifts) == 1 else f"{loop.name}_{k + 1}"
            first = self._site(f"{name}_predecessor", loop.predecessor, loop.placement @ Pose.of(shift))
            second = self._site(f"{name}_successor", loop.successor, loop.seat @ Pose.of(shift))
            found.append(f"<{word} name={xml.quoted(name)} site1={xml.quoted(first)} site2={xml.quoted(second)}/>")
        return found

    def _follower(self, joint: Joint) -> str:
        assert joint.mimic
        relation = (joint.mimic.offset, joint.mimic.ratio, 0.0, 0.0, 0.0)
        return (
            f"<joint name={xml.quoted(joint.name + '_follows')} joint1={xml.quoted(joint.name)} "
            f"joint2={xml.quoted(joint.mimic.leader)} polycoef={numbers(relation)}/>"
        )

    def _coupling(self, coupling: JointCoupling) -> str:
        if len(coupling.polynomial) > HIGHEST_POWER + 1:
            raise UnsupportedError(
                f"MJCF has polynomials up to x^4, but coupling {coupling.name!r} has higher powers: write .yaml"
            )
        relation = (*coupling.polynomial, *(0.0,) * (HIGHEST_POWER + 1 - len(coupling.polynomial)))
        joints = (coupling.joints, coupling.follows)
        simple = all(c == 1.0 for c in (*coupling.coefficients, *coupling.follows_coefficients))
        if simple and all(len(names) <= 1 for names in joints):
            kind, ends = "joint", [names[0] for names in joints if names]
        else:
            kind, ends = "tendon", []
            factors = (coupling.coefficients, coupling.follows_coefficients)
            for side, names, own in zip(("y", "x"), joints, factors, strict=True):
                if names:
                    ends.append(f"{coupling.name}_{side}")
                    self.tendons += self._fixed_tendon(ends[-1], "", zip(names, own, strict=True))
        words = " ".join(f"{kind}{k}={xml.quoted(name)}" for k, name in enumerate(ends, 1))
        return f"<{kind} name={xml.quoted(coupling.name)} {words} polycoef={numbers(relation)}/>"

    # ------------------------------------------------------------------ tendons, actuators, configurations

    def _tendon(self, tendon: Tendon) -> list[str]:
        words = f' damping="{tendon.damping!r}"' if tendon.damping else ""
        if tendon.stiffness:
            words += f' stiffness="{tendon.stiffness!r}" springlength={numbers(min(x, ENDLESS) for x in tendon.rest)}'
        if tendon.joints:
            return self._fixed_tendon(tendon.name, words, zip(tendon.joints, tendon.coefficients, strict=True))
        found = [f"<spatial name={xml.quoted(tendon.name)}{words}>"]
        for k, point in enumerate(tendon.points, 1):
            site = self._site(f"{tendon.name}_point_{k}", point.body, Pose.of(point.position))
            found.append(f"  <site site={xml.quoted(site)}/>")
        return [*found, "</spatial>"]

    @staticmethod
    def _fixed_tendon(name: str, words: str, terms: Iterable[tuple[str, float]]) -> list[str]:
        inside = [f'  <joint joint={xml.quoted(joint)} coef="{factor!r}"/>' for joint, factor in terms]
        return [f"<fixed name={xml.quoted(name)}{words}>", *inside, "</fixed>"]

    def _actuators(self) -> list[str]:
        """Return the actuators; add motors if only they can show which joints are driven."""
        model = self.model
        own = [j for j in model.joints if j.nv]
        if model.actuators:
            of_tendons = {t.name: t.joints for t in model.tendons}
            self.driven = {name for a in model.actuators for name in (a.joint, *of_tendons.get(a.tendon, ()))}
            self.lost += [f"the motor of joint {j.name!r}" for j in own if j.actuated and j.name not in self.driven]
            return [_actuator(a) for a in model.actuators]
        if all(j.actuated == j.kind.usually_driven for j in own):
            return []
        single = [j for j in own if j.actuated and j.nv == 1]
        self.lost += [f"the motor of joint {j.name!r}" for j in own if j.actuated and j.nv > 1]
        self.driven = {j.name for j in single} or self.driven
        return [f"<motor name={xml.quoted(j.name + '_motor')} joint={xml.quoted(j.name)}/>" for j in single]

    def _without_motor(self) -> list[str]:
        """Return a custom tuple of the joints without a motor that would seem to have one judging by the actuators."""
        if all(j.actuated or j.name not in self.driven for j in self.model.joints if j.nv):
            return []
        passive = [j.name for j in self.model.joints if j.name in self.driven and not (j.actuated and j.nv)]
        inside = [f'  <element objtype="joint" objname={xml.quoted(name)}/>' for name in passive]
        return [f'<tuple name="{WITHOUT_MOTOR}">', *inside, "</tuple>"]

    def _keys(self) -> list[str]:
        """Return the configurations, in MuJoCo's order of coordinates."""
        self.lost += [f"the wrench on {load.body!r}" for load in self.given.loads]
        if self.given.joints != self.model.joints:
            self.lost += [f"configuration {c.name!r}" for c in self.given.configurations]
            return []
        found = []
        for configuration in self.model.configurations:
            positions = dict(configuration.positions)
            values: list[float] = []
            for joint in self.order:
                values += _coordinates(joint, positions, self.model)
            found.append(f"<key name={xml.quoted(configuration.name)} qpos={numbers(values)}/>")
        return found


def _coordinates(joint: Joint, positions: Mapping[str, tuple[float, ...]], model: Model) -> list[float]:
    """Return a joint's coordinates in MuJoCo's order: position first, quaternions w, x, y, z."""
    if joint.mimic:
        leader = _coordinates(model.joint(joint.mimic.leader), positions, model)[0]
        return [joint.mimic.ratio * leader + joint.mimic.offset]
    own = list(positions.get(joint.name, tuple(joint.kind.neutral())))
    if isinstance(joint.kind, Free | Spherical):
        return [*own[4:], own[3], *own[:3]]
    return own


def _actuator(actuator: Actuator) -> str:
    target = f"joint={xml.quoted(actuator.joint)}" if actuator.joint else f"tendon={xml.quoted(actuator.tendon)}"
    words = [f"<general name={xml.quoted(actuator.name)} {target}", f'gear="{actuator.gear!r}"']
    kind = "affine" if any(actuator.gain[1:]) else "fixed"
    words.append(f'gaintype="{kind}" gainprm={numbers(actuator.gain)}')
    if any(actuator.bias):
        words.append(f'biastype="affine" biasprm={numbers(actuator.bias)}')
    for word, bounds in (("ctrlrange", actuator.control_range), ("forcerange", actuator.force_range)):
        if all(map(math.isfinite, bounds)):
            words.append(f"{word}={numbers(bounds)}")
        elif any(map(math.isfinite, bounds)):
            raise UnsupportedError(f"MJCF limits actuators on both sides, {actuator.name!r} has one: write .yaml")
    return " ".join(words) + "/>"

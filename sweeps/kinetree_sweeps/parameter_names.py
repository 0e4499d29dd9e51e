"""Names of the numbers that may vary: those of the model, gains, ground, forces and the initial state.

========================================== =============================================================
``link_2.M``, ``elbow.damping``            the table of :meth:`kinetree.Robot.parameters`
``bodies.link_2.mass``, ``.com.x``         mass, center of mass (inertia about it stays)
``joints.elbow.position.x``, ``.rpy.z``    where a joint sits; ``.damping``, ``.stiffness``, ... likewise
``loops.pin.position.x``, ``.seat.x``      where a loop closes
``tendons.line.stiffness``, ``.rest``      of the spring along a tendon
``frames.eye.position.x``, ``.rpy.z``      where a frame sits, and with it the tendons through it
``gravity.z``
``controller.kp``, ``controller.kp.elbow`` gains, of all motors or of one
``ground.friction``, ``ground[1].stiffness``
``forces.spring.stiffness``                of a force element, by its name or kind
``q0.elbow``, ``v0.elbow``                 where and how fast it starts
========================================== =============================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.contact.ground import Ground
from kinetree.control.base import Sum
from kinetree.errors import OptionError, refuse_unknown
from kinetree.evaluation.parameters import Place, own_numbers
from kinetree.forces.element import ForceElement
from kinetree.model.joint_fields import PER_FREEDOM
from kinetree.model.parameters import OF_SOME
from kinetree.model.substitution import OF_BODIES, OF_FRAMES, OF_JOINTS, OF_LOOPS, OF_TENDONS, POINTS_FOLLOW_FRAMES
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

AXES = ("x", "y", "z")
OF_MODEL, OF_CONTROLLER, OF_ELEMENTS, OF_START = "model", "controller", "elements", "start"


@dataclass(frozen=True)
class NamedNumber:
    """The place of one number."""

    kind: str
    """Whether it belongs to the model, the controller, an element or the initial state."""
    where: Any
    """The location in the model; the gain; the index of the element and its field; or ``"q0"`` or ``"v0"``."""
    entries: tuple[int, ...]
    """Indices of the numbers at that location."""
    own: float
    """Its default value."""


@dataclass(frozen=True)
class SweptRobot:
    """A robot, its start, and everything that acts on it: the owners of parameters."""

    robot: Robot
    q0: Array | None = None
    v0: Array | None = None
    """The initial state; only one."""
    controller: Any = None
    ground: tuple[Any, ...] = ()
    forces: tuple[Any, ...] = ()

    def numbers(self) -> dict[str, NamedNumber]:
        """Return all numbers that can vary, by name."""
        found: dict[str, NamedNumber] = {}
        for each in (self._of_model, self._of_controller, self._of_elements, self._of_start):
            for name, number in each():
                found.setdefault(name, number)
        return found

    def _of_model(self) -> Iterator[tuple[str, NamedNumber]]:
        model, table = self.robot.model, self.robot.parameters()
        for name, value in zip(table.names, table.values, strict=True):
            yield name, NamedNumber(OF_MODEL, Place("parameters", key=name), (0,), float(value))
        yield from self._each("gravity", Place("gravity", size=3, alone=False))
        owners = {
            "bodies": ([b.name for b in model.bodies], OF_BODIES),
            "joints": ([j.name for j in model.joints], OF_JOINTS),
            "frames": ([f.name for f in model.frames], OF_FRAMES),
            "loops": ([x.name for x in model.loops], OF_LOOPS),
            "tendons": ([t.name for t in model.tendons if t.stiffness], OF_TENDONS),
        }
        for kind, (names, properties) in owners.items():
            for owner in names:
                for key in properties:
                    place = self._place(kind, owner, key)
                    if place is not None:
                        yield from self._each(f"{kind}.{owner}.{key}", place)

    def _place(self, table: str, owner: str, key: str) -> Place | None:
        """Return the place of a property; None if there is nothing to vary."""
        model = self.robot.model
        if table == "tendons":
            return Place(table, owner, key)
        if table == "joints" and key in PER_FREEDOM:
            joint = model.joint(owner)
            if not joint.kind.nv or joint.mimic or (key in (*OF_SOME, "spring_rest") and not getattr(joint, key)):
                return None
            if key == "spring_rest" and joint.kind.quaternion is not None:
                return None
            return Place(table, owner, key, joint.kind.nv, joint.kind.nv == 1)
        if key == "inertia" or table == "bodies":
            mass = model.bodies[model.body_index[owner]].mass_properties
            if not hasattr(mass, "com"):  # grouped parameters do not correspond to a mass, center and inertia
                return None
        size = {"inertia": 6, "mass": 1}.get(key, 3)
        return Place(table, owner, key, size, size == 1)

    def _each(self, name: str, place: Place) -> Iterator[tuple[str, NamedNumber]]:
        own = own_numbers(self.robot.model, place)
        if len(own) == 1:
            yield name, NamedNumber(OF_MODEL, place, (0,), float(own[0]))
            return
        words = ("xx", "yy", "zz", "xy", "xz", "yz") if place.key == "inertia" else AXES
        for k, value in enumerate(own):
            word = str(k) if place.key in PER_FREEDOM else words[k]
            yield f"{name}.{word}", NamedNumber(OF_MODEL, place, (k,), float(value))

    def _of_controller(self) -> Iterator[tuple[str, NamedNumber]]:
        parts = self.controller.parts if isinstance(self.controller, Sum) else (self.controller,)
        for part_number, part in enumerate(parts):
            if part is None or not hasattr(part, "parameters") or not hasattr(part, "joints"):
                continue
            motors = [
                self.robot.v_names[k] for j in part.joints(self.robot.model) for k in range(*j.v_slice.indices(10**9))
            ]
            for gain, values in part.parameters(self.robot.model).items():
                own = np.asarray(values, dtype=float)
                if own.ndim != 1:
                    raise OptionError(f"the controller's {gain} has a batch already: a sweep varies one controller")
                for name in (f"controller.{gain}", f"controller[{part_number}].{gain}"):
                    yield name, NamedNumber(OF_CONTROLLER, (part_number, gain), tuple(range(len(own))), float(own[0]))
                if len(own) == len(motors):
                    for k, motor in enumerate(motors):
                        yield (
                            f"controller.{gain}.{motor}",
                            NamedNumber(OF_CONTROLLER, (part_number, gain), (k,), own[k]),
                        )

    def _of_elements(self) -> Iterator[tuple[str, NamedNumber]]:
        count = len(self.ground)
        for k, element in enumerate((*self.ground, *self.forces)):
            if not hasattr(element, "parameters"):
                continue
            kind, index = ("ground", k) if k < count else ("forces", k - count)
            names = [kind, f"{kind}[{index}]"] if kind == "ground" else [f"{kind}[{index}]"]
            if kind == "forces" and isinstance(element, ForceElement):
                names.append(f"forces.{element.label}")
            for field_name, values in element.parameters(self.robot.model).items():
                own = np.atleast_1d(np.asarray(values, dtype=float))
                if own.ndim != 1:
                    raise OptionError(f"{field_name} of the {kind} has a batch already: a sweep varies one {kind}")
                for name in names:
                    for i, value in enumerate(own):
                        whole = f"{name}.{field_name}" + (f".{AXES[i] if len(own) == 3 else i}" if len(own) > 1 else "")
                        yield whole, NamedNumber(OF_ELEMENTS, (k, field_name), (i,), float(value))

    def _of_start(self) -> Iterator[tuple[str, NamedNumber]]:
        robot = self.robot
        for key, names, given in (("q0", robot.q_names, self.q0), ("v0", robot.v_names, self.v0)):
            own = given if given is not None else (robot.neutral() if key == "q0" else np.zeros(robot.nv))
            for k, name in enumerate(names):
                yield f"{key}.{name}", NamedNumber(OF_START, key, (k,), float(own[k]))

    # ---------------------------------------------------------------- putting numbers in

    def model_parameters(
        self, values: Mapping[str, Array], numbers: Mapping[str, NamedNumber], alone: bool = False
    ) -> dict[str, Any]:
        """Return the ``parameters`` of a simulation or an algorithm, with a leading batch axis for several rows."""
        found: dict[Place, Array] = {}
        for name, column in values.items():
            number = numbers[name]
            if number.kind == OF_MODEL:
                own = np.broadcast_to(own_numbers(self.robot.model, number.where), (len(column), number.where.size))
                found.setdefault(number.where, np.array(own))[:, list(number.entries)] = column[:, None]
        nested: dict[str, Any] = {}
        for place, array in found.items():
            given = array[:, 0] if place.alone else array
            given = given[0] if alone else given
            if place.table == "parameters":
                nested[place.key] = given
            elif place.table == "gravity":
                nested["gravity"] = given
            else:
                nested.setdefault(place.table, {}).setdefault(place.owner, {})[place.key] = given
        return nested

    def varied(
        self, values: Mapping[str, Array], numbers: Mapping[str, NamedNumber], alone: bool = False
    ) -> SweptRobot:
        """Return this robot with numbers substituted in the controller, the elements and the start.

        The numbers have a leading batch axis unless there is only one row.
        """
        changed: dict[tuple[str, Any], Array] = {}
        for name, column in values.items():
            number = numbers[name]
            if number.kind == OF_MODEL:
                continue
            key = number.kind, number.where
            if key not in changed:
                changed[key] = np.tile(self._own(number), (len(column), 1))
            changed[key][:, list(number.entries)] = column[:, None]
        if alone:
            changed = {key: array[0] for key, array in changed.items()}
        q0, v0 = (changed.get((OF_START, key), own) for key, own in (("q0", self.q0), ("v0", self.v0)))
        elements = [*self.ground, *self.forces]
        parts = list(self.controller.parts) if isinstance(self.controller, Sum) else [self.controller]
        for (kind, where), array in changed.items():
            if kind == OF_CONTROLLER:
                parts[where[0]] = replace(parts[where[0]], **{where[1]: array})
            elif kind == OF_ELEMENTS:
                elements[where[0]] = _with_field(elements[where[0]], where[1], array)
        controller = Sum(parts) if isinstance(self.controller, Sum) else parts[0]
        count = len(self.ground)
        return SweptRobot(self.robot, q0, v0, controller, tuple(elements[:count]), tuple(elements[count:]))

    def _own(self, number: NamedNumber) -> Array:
        """Return all numbers at the location of one."""
        robot = self.robot
        if number.kind == OF_START:
            if number.where == "q0":
                return robot.neutral() if self.q0 is None else self.q0
            return np.zeros(robot.nv) if self.v0 is None else self.v0
        if number.kind == OF_CONTROLLER:
            part = self.controller.parts[number.where[0]] if isinstance(self.controller, Sum) else self.controller
            return np.asarray(part.parameters(robot.model)[number.where[1]], dtype=float)
        element = (*self.ground, *self.forces)[number.where[0]]
        return np.atleast_1d(np.asarray(element.parameters(robot.model)[number.where[1]], dtype=float))


def _with_field(element: Any, name: str, array: Array) -> Any:
    """Return an element with a batch of numbers in one of its fields."""
    if isinstance(element, ForceElement) and element.VARIES.get(name, 0):
        field: dict[str, Any] = {name: array}
        return replace(element, **field)
    if isinstance(element, (Ground, ForceElement)):
        return element.with_parameters({name: [array[..., 0]]})
    return element.with_parameters({name: [array[..., k] for k in range(array.shape[-1])]})


def checked_names(names: Sequence[str], known: Mapping[str, Any]) -> None:
    """Refuse unknown names, and suggest others."""
    for name in names:
        if name not in known and name.startswith("tendons.") and ".points" in name:
            raise OptionError(f"{name}: {POINTS_FOLLOW_FRAMES}")
        refuse_unknown("parameter of this study", name, known)

"""Numbers of a robot that a page can change: gravity, masses, lengths, damping; each slider changes several.

Whatever a slider stands for, the numbers it changes are products of powers: a mass also scales the inertia of its body,
and a length stretches the whole body, so that its center of mass moves along and its inertia grows with the square.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.errors import OptionError, UnknownNameError
from kinetree.evaluation.parameters import GivenParameters, ParameterReader
from kinetree.model.joint_fields import PER_FREEDOM
from kinetree.model.mass import MassProperties
from kinetree.model.tree import BASE, Model
from kinetree.spatial.arrays import Array

GROUPS = ("gravity", "masses", "lengths", "damping")
"""What can have sliders."""

MOST = 30
"""So many masses or lengths at most have a slider each."""

ALIKE = 3
"""From so many bodies of equal mass and inertia on, they share a slider."""

NO_LENGTH = 1e-6

NONE_OF = {
    "gravity": "the robot has no gravity",
    "masses": "no body has a mass",
    "lengths": "no body has another body, a frame or a center of mass apart from its joint",
}
"""What it means if a group has no sliders."""

OF_SPRING = ("stiffness", "spring_rest")
"""Numbers of a joint that count only if it has a spring."""

Powers = dict[str, float]


@dataclass(frozen=True)
class Slider:
    """A number with a slider.

    Attributes
    ----------
    name : str
        ``"mass of crank"``: the group and what it belongs to.
    group : str
        One of :data:`GROUPS`.
    label : str
    unit : str
    value, low, high : float
    bodies : tuple of int
        Bodies that a length stretches; -1 is the base.
    """

    name: str
    group: str
    label: str
    unit: str
    value: float
    low: float
    high: float
    bodies: tuple[int, ...] = ()


@dataclass(frozen=True)
class PowerProduct:
    """A number of the robot: ``factor`` times powers of sliders."""

    factor: float
    powers: Powers = field(default_factory=dict)


class ChosenNumbers:
    """The sliders of a robot, and the numbers that depend on them.

    Parameters
    ----------
    model : Model
    groups : sequence of str
        Which of :data:`GROUPS` have sliders; names of bodies give their mass and length.
    every : bool
        Whether numbers without a slider are inputs, too, so that another robot of the same structure needs no other
        code: masses, positions, springs, damping, gravity.
    """

    def __init__(self, model: Model, groups: Sequence[str] = GROUPS, every: bool = False) -> None:
        self.model = model
        if isinstance(groups, str):
            groups = [groups]
        if not all(isinstance(name, str) for name in groups):
            raise OptionError(f"sliders must be names such as 'masses' or those of bodies, not {groups!r}")
        for name in groups:
            if name not in GROUPS and name not in model.body_index:
                raise UnknownNameError("slider or body", name, [*GROUPS, *model.body_index])
        self.groups = tuple(groups)
        self.sliders: list[Slider] = []
        self._numbers: dict[str, Any] = {}
        """Properties by table and owner, as :class:`ParameterReader` takes them, of lists of :class:`PowerProduct`."""
        if "gravity" in groups:
            self._add_gravity()
        masses, lengths = self._masses(), self._lengths()
        self._refuse_none()
        self._add_bodies(masses, lengths)
        if "damping" in groups:
            self._add_damping()
        if every:
            self._add_others()

    # ------------------------------------------------------------------ the sliders

    def _add_gravity(self) -> None:
        g = float(np.linalg.norm(self.model.gravity))
        if g > 0.0:
            self.sliders.append(Slider("gravity", "gravity", "gravity", "m/s²", g, 0.0, max(25.0, 2.0 * g)))
            self._numbers["gravity"] = [PowerProduct(x / g, {"gravity": 1.0}) for x in self.model.gravity]

    def _wanted(self, group: str, bodies: Sequence[int]) -> bool:
        return group in self.groups or any(b != BASE and self.model.bodies[b].name in self.groups for b in bodies)

    def _masses(self) -> dict[int, str]:
        """Add sliders of masses; return the slider of each body."""
        of_body: dict[int, str] = {}
        kinds: dict[Any, list[int]] = {}
        for i, body in enumerate(self.model.bodies):
            mass = body.mass_properties
            if isinstance(mass, MassProperties) and mass.mass > 0.0:
                kinds.setdefault(_rounded((mass.mass, *mass.inertia)), []).append(i)
        for group in kinds.values():
            alone = len(group) < ALIKE or any(self.model.bodies[i].name in self.groups for i in group)
            for together in [[i] for i in group] if alone else [group]:
                if self._wanted("masses", together) and len(self.sliders) < MOST:
                    label = self._label(together)
                    kg = float(self.model.bodies[together[0]].mass)
                    made = Slider(f"mass of {label}", "masses", label, "kg", kg, 0.0, 4.0 * kg)
                    self.sliders.append(made)
                    of_body |= dict.fromkeys(together, made.name)
        return of_body

    def _lengths(self) -> dict[int, str]:
        """Add sliders of lengths; return the slider of each body, and of the base."""
        of_body: dict[int, str] = {}
        kinds: dict[Any, list[int]] = {}
        for i in [*range(len(self.model.bodies)), BASE]:
            length = self._size(i)
            if length > NO_LENGTH and not (i == BASE and self.model.is_floating):
                kinds.setdefault(_rounded((length, float(i == BASE))), []).append(i)
        count = 0
        for group in kinds.values():
            alone = len(group) < ALIKE or any(i != BASE and self.model.bodies[i].name in self.groups for i in group)
            for together in [[i] for i in group] if alone else [group]:
                if self._wanted("lengths", together) and count < MOST:
                    label = self._label(together)
                    size = self._size(together[0])
                    made = Slider(
                        f"length of {label}", "lengths", label, "m", size, 0.4 * size, 2.0 * size, tuple(together)
                    )
                    self.sliders.append(made)
                    of_body |= dict.fromkeys(together, made.name)
                    count += 1
        return of_body

    def _refuse_none(self) -> None:
        """Refuse what was asked for, where the robot has none of it."""
        for group, none in NONE_OF.items():
            if group in self.groups and self.groups != GROUPS and all(s.group != group for s in self.sliders):
                raise OptionError(f"there are no sliders for {group}: {none}")

    def _label(self, bodies: Sequence[int]) -> str:
        first = "ground" if bodies[0] == BASE else self.model.bodies[bodies[0]].name
        return first if len(bodies) == 1 else f"{first} and {len(bodies) - 1} alike"

    def _size(self, body: int) -> float:
        """Return how far the points of a body are from its joint; for the last one, its frames or center of mass."""
        far = [float(np.linalg.norm(p)) for p in self._attached(body)]
        if not far and body != BASE:
            far = [float(np.linalg.norm(f.pose.position)) for f in self.model.frames if f.body == body]
        if max(far, default=0.0) > NO_LENGTH or body == BASE or any(True for _ in self._attached(body)):
            return max(far, default=0.0)
        own = self.model.bodies[body].mass_properties
        return float(np.linalg.norm(own.com)) if isinstance(own, MassProperties) else 0.0

    def _attached(self, body: int) -> Iterator[Array]:
        """Yield the points of a body where others are attached."""
        for joint in self.model.joints:
            if joint.parent == body:
                yield np.array(joint.placement.position)
        for loop in self.model.loops:
            if loop.predecessor == body:
                yield np.array(loop.placement.position)
            if loop.successor == body:
                yield np.array(loop.seat.position)

    # ------------------------------------------------------------------ what they change

    def _add_bodies(self, masses: Mapping[int, str], lengths: Mapping[int, str]) -> None:
        values = {s.name: s.value for s in self.sliders}

        def scaled(value: Any, powers: Mapping[str, float]) -> PowerProduct:
            kept = {name: power for name, power in powers.items() if name}
            return PowerProduct(float(value) / float(np.prod([values[n] ** p for n, p in kept.items()])), kept)

        for i, body in enumerate(self.model.bodies):
            mass, length, own = masses.get(i, ""), lengths.get(i, ""), body.mass_properties
            if not (mass or length) or not isinstance(own, MassProperties) or not own.mass > 0.0:
                continue
            given: dict[str, Any] = {"inertia": [scaled(x, {mass: 1.0, length: 2.0}) for x in own.inertia]}
            if mass:
                given["mass"] = scaled(own.mass, {mass: 1.0})
            if length:
                given["com"] = [scaled(x, {length: 1.0}) for x in own.com]
            self._numbers.setdefault("bodies", {})[body.name] = given
        for joint in self.model.joints:
            if name := lengths.get(joint.parent):
                where = [scaled(x, {name: 1.0}) for x in joint.placement.position]
                self._numbers.setdefault("joints", {}).setdefault(joint.name, {})["position"] = where
        for loop in self.model.loops:
            for body_index, key, pose in (
                (loop.predecessor, "position", loop.placement),
                (loop.successor, "seat", loop.seat),
            ):
                if name := lengths.get(body_index):
                    where = [scaled(x, {name: 1.0}) for x in pose.position]
                    self._numbers.setdefault("loops", {}).setdefault(loop.name, {})[key] = where

    def _add_damping(self) -> None:
        weight = sum(body.mass for body in self.model.bodies)
        for joint in self.model.joints:
            if joint.mimic or joint.nv != 1:
                continue
            name, value = f"damping of {joint.name}", float((joint.damping or (0.0,))[0])
            unit = "N m s" if joint.kind.v_units[0] == "rad" else "N s/m"
            high = max(4.0 * value, _round_up(0.2 * weight))
            self.sliders.append(Slider(name, "damping", joint.name, unit, value, 0.0, high))
            owner = self._numbers.setdefault("joints", {}).setdefault(joint.name, {})
            owner["damping"] = PowerProduct(1.0, {name: 1.0})

    def _add_others(self) -> None:
        """Add all numbers that have no slider; those of joints that are usually zero only where they are not."""
        model = self.model

        def add(table: str, owner: str, key: str, values: Any) -> None:
            own = self._numbers.setdefault(table, {}).setdefault(owner, {})
            if key not in own:
                alone = isinstance(values, (int, float))
                own[key] = PowerProduct(float(values)) if alone else [PowerProduct(float(x)) for x in values]

        if "gravity" not in self._numbers:
            self._numbers["gravity"] = [PowerProduct(float(x)) for x in model.gravity]
        for body in model.bodies:
            mass = body.mass_properties
            if isinstance(mass, MassProperties) and mass.mass > 0.0:
                add("bodies", body.name, "mass", mass.mass)
                add("bodies", body.name, "com", mass.com)
                add("bodies", body.name, "inertia", mass.inertia)
        for joint in model.joints:
            add("joints", joint.name, "position", joint.placement.position)
            for key in PER_FREEDOM:
                values = getattr(joint, key)
                count = joint.rotor_inertia if key == "gear_ratio" else joint.stiffness if key in OF_SPRING else values
                if any(count) and len(values) == joint.kind.nv:  # a rest that is a quaternion is no number to vary
                    add("joints", joint.name, key, values if joint.kind.nv > 1 else values[0])
        for loop in model.loops:
            add("loops", loop.name, "position", loop.placement.position)
            add("loops", loop.name, "seat", loop.seat.position)
        for tendon in model.tendons:
            if tendon.stiffness:
                add("tendons", tendon.name, "stiffness", tendon.stiffness)
                add("tendons", tendon.name, "rest", tendon.rest_length)

    # ------------------------------------------------------------------ as numbers

    def parameters(self, values: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Return parameters as robots take them, for values of some sliders; the others keep theirs.

        Examples
        --------
        >>> import kinetree as kt
        >>> chosen = ChosenNumbers(kt.load("four-bar").model, ["crank"])
        >>> sorted(chosen.parameters({"mass of crank": 3.0})["bodies"]["crank"])
        ['com', 'inertia', 'mass']
        """
        at = {s.name: s.value for s in self.sliders}
        for name, value in (values or {}).items():
            if name not in at:
                raise UnknownNameError("slider", name, at)
            at[name] = float(value)
        return dict(_worked_out(self._numbers, at))

    def written(self, symbols: Mapping[str, str], values: Mapping[str, float]) -> dict[str, Any]:
        """Return parameters as Python writes them, where some sliders are variables; numbers without one are left out.

        Parameters
        ----------
        symbols : mapping of str to str
            The variable of each slider that varies.
        values : mapping of str to float
            Values of other sliders.

        Examples
        --------
        >>> import kinetree as kt
        >>> chosen = ChosenNumbers(kt.load("four-bar").model, ["crank"])
        >>> chosen.written({"mass of crank": "x"}, {})["bodies"]["crank"]["mass"]
        '1.0 * x'
        """
        at = {s.name: s.value for s in self.sliders}
        for name in (*symbols, *values):
            if name not in at:
                raise UnknownNameError("slider", name, at)
        return dict(_written(self._numbers, symbols, at | {k: float(x) for k, x in values.items()}, at))

    def read(self) -> GivenParameters:
        """Return the places of these numbers in the model, and their values."""
        return ParameterReader(self.model)(self.parameters())

    def listed(self) -> list[PowerProduct]:
        """Return the numbers one by one, in the order of :meth:`read`."""
        return list(_leaves(self._numbers))


def _worked_out(tree: Any, at: Mapping[str, float]) -> Any:
    if isinstance(tree, PowerProduct):
        return tree.factor * float(np.prod([at[name] ** power for name, power in tree.powers.items()]))
    if isinstance(tree, list):
        return [_worked_out(x, at) for x in tree]
    return {key: _worked_out(x, at) for key, x in tree.items()}


def _written(
    tree: Mapping[str, Any], symbols: Mapping[str, str], at: Mapping[str, float], own: Mapping[str, float]
) -> Any:
    """Write the numbers that depend on a variable, or differ from the robot's own."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            if inner := _written(value, symbols, at, own):
                found[key] = inner
            continue
        several = value if isinstance(value, list) else [value]
        if any(_worked_out(x, at) != _worked_out(x, own) or set(x.powers) & set(symbols) for x in several):
            one = next(iter(symbols.values()))
            parts = [_product(x, symbols, at) or f"{_worked_out(x, at)!r} + 0 * {one}" for x in several]
            found[key] = f"np.stack([{', '.join(parts)}], axis=-1)" if isinstance(value, list) else parts[0]
    return found


def _product(number: PowerProduct, symbols: Mapping[str, str], at: Mapping[str, float]) -> str:
    """Write a number that depends on variables; an empty text if it does not."""
    varied = {name: power for name, power in number.powers.items() if name in symbols}
    if not varied or number.factor == 0.0:
        return ""
    rest = number.factor * float(
        np.prod([at[name] ** power for name, power in number.powers.items() if name not in symbols])
    )
    powers = [symbols[n] if power == 1.0 else f"{symbols[n]}**{power:g}" for n, power in varied.items()]
    return " * ".join([repr(float(rest)), *powers])


def _leaves(tree: Any) -> Iterator[PowerProduct]:
    if isinstance(tree, PowerProduct):
        yield tree
    else:
        for x in tree if isinstance(tree, list) else tree.values():
            yield from _leaves(x)


def _rounded(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return numbers to six digits, so that equal bodies are recognized."""
    return tuple(float(f"{x:.6g}") for x in numbers)


def _round_up(x: float) -> float:
    return float(10.0 ** np.ceil(np.log10(x))) if x > 0.0 else 1.0

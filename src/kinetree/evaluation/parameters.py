"""Parameters of the robot as inputs: as users give them, and as one vector of numbers.

As with wrenches, the names of parameters are separated from their numbers: a kernel is made once for the parameters
that it takes, and then gets their numbers as one more vector, with leading batch axes if they vary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, NoValueError, OptionError, ShapeError, UnknownNameError, refuse_unknown
from ..model.joint_fields import PER_FREEDOM
from ..model.mass import GroupedMass
from ..model.parameters import FRICTION, OF_FADING, ParameterTable, rows
from ..model.parameters import parameters as table_of
from ..model.substitution import SIZES, TABLES, Substitution, nested, substitution, with_table
from ..model.tree import Model
from ..spatial import Scalar
from ..spatial.arrays import Array, batch_shape

GEOMETRY = ("position", "rpy", "seat")
"""Properties that define positions."""

DRAWING = "drawing"
"""Numbers of the drawing that a planar linkage was made from, by their names: coordinates and distances of points."""

GRAVITY = "gravity"
OF_FRICTION = (*FRICTION, *OF_FADING, "friction_offset")
FLAT = "parameters"
"""Rows of the parameter table, by their names."""

SYMBOLS = "symbols"
"""Symbols of the robot that have no value, by their names."""


PLAIN = frozenset((float, np.float64))
"""Types of numbers that need no check."""


class Place(NamedTuple):
    """The location of some numbers in a model."""

    table: str
    """One of :data:`TABLES`, :data:`DRAWING`, :data:`GRAVITY`, :data:`FLAT` or :data:`SYMBOLS`."""
    owner: str = ""
    """A body, joint, frame, joint that closes a loop or tendon; empty for gravity and parameters of the table."""
    key: str = ""
    """A property; for the table the name of the parameter, for symbols the symbol."""
    size: int = 1
    """The number of scalars."""
    alone: bool = True
    """Whether it is one number rather than a vector of one."""

    @property
    def path(self) -> str:
        """The keys of the nested mappings, joined by dots: ``bodies.trunk.mass``."""
        if self.table == DRAWING:
            return f"{DRAWING}.{self.key}"
        return f"{self.table}.{self.owner}.{self.key}" if self.table in TABLES else self.key or self.table

    @property
    def is_mass(self) -> bool:
        """Whether it is the mass of a body."""
        return self.key == "mass" if self.table == "bodies" else self.table == FLAT and self.key.endswith(".M")

    @property
    def body(self) -> str:
        """The body that a mass belongs to."""
        return self.owner or self.key.removesuffix(".M")

    def __str__(self) -> str:
        if self.table == GRAVITY:
            return GRAVITY
        return repr(self.key) if self.table in (FLAT, SYMBOLS, DRAWING) else f"{self.key} of {self.owner!r}"


@dataclass(frozen=True)
class GivenParameters:
    """Parameters as one array of numbers, (..., sum of the places' sizes)."""

    places: tuple[Place, ...] = ()
    numbers: Array | None = None
    form: int = 0
    """An identifier of these places; 0 if they have none."""

    @property
    def of_friction(self) -> bool:
        """Whether friction is among them."""
        return any(place.key.rpartition(".")[2] in OF_FRICTION for place in self.places)

    @property
    def of_geometry(self) -> tuple[Place, ...]:
        """Those that change where joints and frames are, and thereby which configurations are closed."""
        return tuple(place for place in self.places if place.key in GEOMETRY or place.table == DRAWING)

    def of(self, place: Place) -> Array:
        """Return the numbers of one place, (..., its size)."""
        assert self.numbers is not None
        return self.numbers[..., self.slice_of(place)]

    def slice_of(self, place: Place) -> slice:
        """Return the slice of one place's numbers among all."""
        first = sum(p.size for p in self.places[: self.places.index(place)])
        return slice(first, first + place.size)


NO_PARAMETERS = GivenParameters()
_FORMS = count(1)


class ParameterReader:
    """Reads parameters as users give them; forms that were found correct once are not checked again."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._right: dict[tuple[Place, ...], tuple[list[int] | slice, int]] = {}
        """Known forms: correct places, which of their numbers are masses, and an identifier."""
        self._named: dict[tuple[str, ...], tuple[tuple[Place, ...], list[int], int]] = {}
        """The same by the names of numbers of the table, as they were given before."""

    @cached_property
    def table(self) -> dict[str, Place]:
        """Places of the parameter table, by their names."""
        return {p.name: Place(FLAT, key=p.name) for p in rows(self.model)}

    @cached_property
    def _whole(self) -> tuple[Place, ...]:
        return tuple(self.table.values())

    def __call__(self, given: Any) -> GivenParameters:
        """Return checked parameters, with their numbers in one array.

        given: mapping, ParameterTable, GivenParameters, array or None. ``{"link_3.M": masses, ...}`` by the names of
            the table; under ``"bodies"``, ``"joints"``, ``"frames"``, ``"tendons"`` and ``"gravity"`` properties as in
            :func:`kinetree.symbolic.with_parameters`; symbols of the robot by their names; a whole table; or an array
            (..., p) of all its values.
        """
        if given is None:
            return NO_PARAMETERS
        if isinstance(given, GivenParameters):  # already read, possibly with other numbers
            return given
        if type(given) is dict and (known := self._named.get(tuple(given))) is not None:
            its, heavy, number = known
            plain = list(given.values())
            if PLAIN.issuperset(map(type, plain)) and not any(plain[k] < 0.0 for k in heavy):
                return GivenParameters(its, np.array(plain), number)
        if isinstance(given, ParameterTable):
            given = dict(zip(given.names, given.values, strict=True))
        if not isinstance(given, Mapping):
            return self._of_array(given)
        arrays: dict[Place, Array] = {}
        for place, value in self._each(nested(self.model, given)):
            array = _array(value, place)
            if not place.alone:
                if array.ndim == 0 or array.shape[-1] == 0:
                    raise ShapeError(f"parameter {place} must be an array (..., n), got shape {array.shape}")
                place = place._replace(size=array.shape[-1])
            arrays[place] = array[..., None] if place.alone else array
        if not arrays:
            return NO_PARAMETERS
        parts = list(arrays.values())
        if len(parts) > 1 and any(part.ndim > 1 for part in parts):
            batch = batch_shape(**{f"parameter {place}": (part, 1) for place, part in arrays.items()})
            parts = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
        places = tuple(arrays)
        numbers = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
        masses, form = self._check(places)
        if all(place.table == FLAT for place in places):
            which = list(range(len(places)))[masses] if isinstance(masses, slice) else masses
            self._named[tuple(place.key for place in places)] = places, which, form
        return _without_negative(places, numbers, masses, form)

    def _check(self, places: tuple[Place, ...]) -> tuple[list[int] | slice, int]:
        """Refuse wrong names and counts; return which of the numbers are masses, and the form."""
        found = self._right.get(places)
        if found is None:
            put_in(self.model, places, _some(self.model, places))
            found = self._right.setdefault(places, (self._masses(places), next(_FORMS)))
        return found

    @cached_property
    def _masses_of_whole(self) -> tuple[list[int] | slice, int]:
        return self._masses(self._whole), next(_FORMS)

    def _masses(self, places: tuple[Place, ...]) -> list[int] | slice:
        """Return which numbers are masses of bodies; those of grouped parameters may have any value and are ignored."""
        grouped = {b.name for b in self.model.bodies if isinstance(b.mass_properties, GroupedMass)}
        found, first = [], 0
        for place in places:
            if place.is_mass and place.body not in grouped:
                found.append(first)
            first += place.size
        if not found:
            return []
        even = slice(found[0], found[-1] + 1, found[1] - found[0] if len(found) > 1 else 1)  # needs no copy
        return even if list(range(first))[even] == found else found

    def _each(self, given: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
        """Yield the given parameters, one by one."""
        for name, content in given.items():
            if name == DRAWING:
                for key, value in self._drawn(content):
                    yield Place(DRAWING, key=key), value
            elif name == GRAVITY:
                yield Place(GRAVITY, size=3, alone=False), content
            elif name in TABLES:
                yield from self._properties(name, content)
            elif name in self.table:
                yield self.table[name], content
            elif name in self.model.symbols:
                yield Place(SYMBOLS, key=name), content
            elif "." in str(name):
                raise UnknownNameError("parameter", name, self.table, meant=with_table(self.model, str(name)))
            else:
                raise OptionError(
                    f"parameters are of {', '.join(TABLES)} and gravity, or named as in robot.parameters(), such as "
                    f"{next(iter(self.table), 'link.M')!r}; not {name!r}"
                )

    def _drawn(self, content: Any) -> Iterator[tuple[str, Any]]:
        drawn = None if self.model.drawing is None else self.model.drawing.of(self.model)
        if drawn is None:
            raise OptionError(
                f"{self.model.name!r} has no drawing whose numbers could be parameters: kinetree.linkage() makes "
                "robots that have one, as long as nothing else about them is changed"
            )
        if not isinstance(content, Mapping):
            raise OptionError(f"{DRAWING} of the parameters must map names such as 'A.x' to numbers, not {content!r}")
        for key, value in content.items():
            refuse_unknown("number of the drawing", key, drawn.numbers)
            yield key, value

    def _properties(self, table: str, content: Any) -> Iterator[tuple[Place, Any]]:
        if not isinstance(content, Mapping):
            raise OptionError(f"{table} of the parameters must map names to properties, not {content!r}")
        for owner, properties in content.items():
            if not isinstance(properties, Mapping):
                raise OptionError(f"{table} of the parameters must map {owner!r} to properties, not {properties!r}")
            for key, value in properties.items():
                several = key in SIZES
                if table == "joints" and key in PER_FREEDOM and owner in self.model.joint_index:
                    several = self.model.joint(owner).kind.nv > 1
                yield Place(table, owner, key, alone=not several), value

    def _of_array(self, given: Any) -> GivenParameters:
        places = self._whole
        values = _array(given, Place(FLAT, key="all"))
        if values.ndim == 0 or values.shape[-1] != len(places):
            raise ShapeError(
                f"parameters must be a mapping, or an array (..., {len(places)}) of all values of robot.parameters(); "
                f"got shape {values.shape}"
            )
        return _without_negative(places, values, *self._masses_of_whole) if places else NO_PARAMETERS


def _without_negative(
    places: tuple[Place, ...], numbers: Array, masses: list[int] | slice, form: int
) -> GivenParameters:
    """Return parameters, or an error if a mass is negative; NaN gives NaN."""
    given = GivenParameters(places, numbers, form)
    if not masses or not np.fmin.reduce(numbers[..., masses].real, axis=None, initial=0.0) < 0.0:
        return given
    for place in places:
        mass = given.of(place).real
        if place.is_mass and (mass < 0.0).any():
            at = tuple(int(k) for k in np.argwhere(mass < 0.0)[0])
            where = f" at index {at[0] if len(at) == 2 else at[:-1]}" if len(at) > 1 else ""
            raise ModelError(
                f"parameter {place} is {mass[at]:g} kg{where}: no body has a negative mass. Parameters that are "
                "grouped go into robot.with_parameters(..., physical=False)"
            )
    return given


def _array(value: Any, place: Place) -> Array:
    try:
        array = np.asarray(value)
        return array if np.iscomplexobj(array) else array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"parameter {place} must be an array of numbers, got {value!r}") from None


def own_numbers(model: Model, place: Place) -> Array:
    """Return the model's own numbers at a place, (size,)."""
    if place.table == GRAVITY:
        return np.array(model.gravity, dtype=float)
    if place.table == FLAT:
        return np.array([table_of(model)[place.key]])
    if place.table == DRAWING:
        return np.array([model.drawing.numbers[place.key]])
    if place.table == SYMBOLS:
        raise NoValueError([place.key])
    if place.table == "bodies":
        mass = model.bodies[model.body_index[place.owner]].mass_properties
        return np.atleast_1d(np.asarray(getattr(mass, place.key), dtype=float))[: place.size]
    owner: Any
    if place.table == "tendons":
        owner = next(tendon for tendon in model.tendons if tendon.name == place.owner)
        return np.array([owner.rest_length if place.key == "rest" else owner.stiffness])
    if place.table == "loops":
        owner = next(loop for loop in model.loops if loop.name == place.owner)
        pose = owner.seat if place.key == "seat" else owner.placement
    elif place.table == "joints":
        owner = model.joint(place.owner)
        pose = owner.placement
    else:
        pose = owner = model.frame(place.owner).pose
    if place.key == "rpy":  # Rz(yaw) Ry(pitch) Rx(roll)
        r = np.reshape(pose.nine, (3, 3))
        level = np.hypot(r[0, 0], r[1, 0])
        return np.array([np.arctan2(r[2, 1], r[2, 2]), np.arctan2(-r[2, 0], level), np.arctan2(r[1, 0], r[0, 0])])
    if place.key in GEOMETRY:
        return np.array(pose.translation, dtype=float)
    return np.array(getattr(owner, place.key) or [0.0] * place.size, dtype=float)


def places_of_symbols(model: Model) -> tuple[Place, ...]:
    """Return places for all symbols of a model that have no value."""
    return tuple(Place(SYMBOLS, key=name) for name in model.symbols)


def put_in(model: Model, places: Sequence[Place], numbers: Sequence[Scalar]) -> Model:
    """Return the model with scalars of any kind in these places."""
    return _substituted(model, places, numbers).tree(model, lambda x: x)


def stand_in(model: Model, places: Sequence[Place]) -> Model:
    """Return a model of numbers for checking whether an algorithm applies: given inertias count as nonzero."""
    if not places:
        return model
    return _substituted(model, places, _some(model, places)).stand_in(model)


def _some(model: Model, places: Sequence[Place]) -> list[float]:
    """Return arbitrary numbers for places; a drawing keeps its own, so that its circles intersect."""
    parts = ([0.5] * p.size if p.table != DRAWING else own_numbers(model, p).tolist() for p in places)
    return [x for part in parts for x in part]


def _substituted(model: Model, places: Sequence[Place], numbers: Sequence[Scalar]) -> Substitution:
    tables: dict[str, Any] = {}
    drawn: dict[str, Scalar] = {}
    first = 0
    for place in places:
        values = list(numbers[first : first + place.size])
        first += place.size
        per_freedom = place.table == "joints" and place.key in PER_FREEDOM
        one = values if per_freedom or not place.alone else values[0]
        if place.table == DRAWING:
            drawn[place.key] = one
        elif place.table == GRAVITY:
            tables[GRAVITY] = values
        elif place.table in (FLAT, SYMBOLS):
            tables.setdefault(place.table, {})[place.key] = one
        else:
            tables.setdefault(place.table, {}).setdefault(place.owner, {})[place.key] = one
    for table, owners in model.drawing.tables(model, drawn).items() if drawn else ():
        own = tables.setdefault(table, {})
        own |= {owner: {**numbers, **own.get(owner, {})} for owner, numbers in owners.items()}
    return substitution(model, **tables)

"""The record of an algorithm: everything needed to run it, export it and count its operations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import OptionError, UnknownNameError, refuse_unknown
from ..model.parameters import rows as parameter_rows
from ..model.tree import Model

Shape = tuple[int, ...]
Options = Mapping[str, Any]

CONFIGURATIONS = ("q", "q0", "q1")
"""Inputs that are configurations."""

FORWARD_METHODS = (
    "articulated_body", "composite_body", "udu", "modules", "walker_orin_1", "walker_orin_2", "walker_orin_4",
    "absolute_articulated_body", "absolute_composite_body",
)  # fmt: skip
"""Methods of forward dynamics; their names are here because options need them without the methods."""


def _as_given(tree: Model, value: Any) -> Any:
    return value


def _last_body(tree: Model) -> str:
    return tree.bodies[-1].name if tree.bodies else tree.base.name


@dataclass(frozen=True)
class Option:
    """An option of an algorithm, passed as a keyword in addition to its vectors."""

    name: str
    """The keyword."""
    default: Any = None
    """The value if it is left out; None if it must be given."""
    choices: tuple[str, ...] = ()
    """All possible values; empty if ``check`` decides which ones are valid."""
    check: Callable[[Model, Any], Any] = _as_given
    """``check(tree, value)`` returns the value in its usual form, or raises an error."""
    example: Callable[[Model], Any] | None = None
    """``example(tree)`` returns a value to use in an overview of operation counts."""
    counted: tuple[Any, ...] = ()
    """Values that such an overview shows side by side; if empty, only the default."""
    chosen_by_loops: bool = False
    """Whether the closed loops of a mechanism determine it, so that it does not appear in names."""

    @property
    def needed(self) -> bool:
        """Whether it must be given."""
        return self.default is None

    def read(self, tree: Model, algorithm: str, value: Any) -> Any:
        """Return a value in its usual form, or raise an error that lists what is possible."""
        if self.choices and value not in self.choices:
            raise UnknownNameError(f"{self.name} (of {algorithm})", value, self.choices)
        try:
            return self.check(tree, value)
        except OptionError as problem:
            raise OptionError(f"{algorithm}: {problem}") from None


def check_frame(tree: Model, name: Any) -> Any:
    """Refuse a name that no frame has."""
    tree.frame(name)
    return name


def check_frames(tree: Model, names: Any) -> tuple[str, ...]:
    """Return one or several names of frames as a tuple, all known."""
    several = (names,) if isinstance(names, str) else tuple(names)
    for name in several:
        tree.frame(name)
    if not several:
        raise OptionError("no frame is given")
    return several


def check_known(tree: Model, known: Iterable[Any]) -> tuple[bool, ...]:
    """Return which joints move in a known way, given by name or by one boolean per joint."""
    given = [known] if isinstance(known, str) else list(known)
    if given and all(isinstance(name, str) for name in given):
        moved = {tree.joint(name).name for name in given}
        return tuple(joint.name in moved for joint in tree.joints)
    found = tuple(bool(k) for k in given)
    if len(found) != len(tree.joints):
        raise OptionError(f"known needs names of joints, or one boolean per joint, {len(tree.joints)} in all")
    return found


ALL = "all"
"""Every parameter of a robot."""


def check_parameters(tree: Model, names: Any) -> Any:
    """Return names of parameters as a tuple, all known and each once; or ``"all"``."""
    if isinstance(names, str) and names == ALL:
        return ALL
    several = (names,) if isinstance(names, str) else tuple(names)
    known = {p.name for p in parameter_rows(tree)}
    for name in several:
        refuse_unknown("parameter", name, known)
    if len(set(several)) < len(several):
        twice = next(name for k, name in enumerate(several) if name in several[:k])
        raise OptionError(f"parameter {twice!r} is given twice")
    if not several:
        raise OptionError("no parameter is given")
    return several


FRAME = Option("frame", check=check_frame, example=_last_body)
FRAMES = Option("frames", check=check_frames, example=lambda tree: (_last_body(tree),))
PARAMETERS = Option("parameters", ALL, check=check_parameters)
KNOWN = Option("known", check=check_known, example=lambda tree: (False,) * len(tree.joints))
FRICTION = Option("friction", False)
ROWS = Option("rows", chosen_by_loops=True)
DEPENDENT = Option("dependent", chosen_by_loops=True)
STABILIZATION = Option("stabilization", chosen_by_loops=True)
PIVOTS = Option("pivots", chosen_by_loops=True)
KNOWN_FREEDOMS = Option("known_freedoms", chosen_by_loops=True)


@dataclass(frozen=True)
class LargeTree:
    """How an algorithm is computed on a tree that is too large for straight-line code."""

    by: str
    """``"passes"``: loops over the bodies, made from the algorithm itself; ``"pairs"``: loops over pairs of a body and
    a body that carries it. The others are composed of such loops: ``"columns"``, the inverse of the mass matrix;
    ``"solving"``, derivatives of forward dynamics (both from its factors or, where joints follow others, column by
    column); ``"frames"``, the inertia felt at frames; ``"factors"``, the factors of the mass matrix; ``"bodies"``,
    the columns of the parameters of bodies, with entries at all joints that carry the body, followed by the columns of
    the joints' own parameters."""
    of: Algorithm | None = None
    """The algorithm that is looped over instead: the product with a vector, the derivatives to be solved with, or L
    with D on its diagonal."""
    beside: Callable[..., dict[tuple[int, int], Any]] | None = None
    """``beside(tree, *vectors, **options)`` returns the entries of further columns, indexed by row and column."""
    followers: bool = True
    """Whether the results for a tree with joints that follow others can be assembled from loops over the tree with
    every joint free: by summing at the leaders or, if inertia is needed, with multipliers."""
    only: Options = field(default_factory=dict)
    """Options that limit the use of loops, each with the values for which loops exist."""


PASSES = LargeTree("passes")
PASSES_OF_FREE_JOINTS = LargeTree("passes", followers=False)
PAIRS = LargeTree("pairs")


def nobody(tree: Model, options: Options) -> Collection[int]:
    """Return an empty set of joints: none is held."""
    return ()


@dataclass(frozen=True)
class Algorithm:
    """One computation, and all that the package needs to know about it."""

    name: str
    """The method of :class:`kinetree.Robot` it belongs to."""
    inputs: tuple[str, ...]
    """Vectors it takes, in order: ``q``, ``q0`` and ``q1`` have nq numbers, all others nv."""
    function: Callable[..., Any]
    """``function(tree, *vectors, **options)`` over any scalar; with ``loads`` it also takes one force (or None) per
    body after the vectors."""
    shape: Callable[[Model, Options], Shape]
    """``shape(tree, options)`` returns the shape of the result."""
    summary: str = ""
    """What it computes, in one sentence."""
    options: tuple[Option, ...] = ()
    """Its keyword arguments, in order."""
    loads: bool = False
    """Whether it takes external wrenches."""
    results: tuple[str, ...] = ()
    """Names of its results, if they have common symbols."""
    parts: tuple[str, ...] = ()
    """The meaning of the numbers in a flat result, part by part; see :mod:`kinetree.export.result_names`."""
    needs_inertia: bool = False
    """Whether it divides by the inertia along every joint that is not held."""
    held: Callable[[Model, Options], Collection[int]] = nobody
    """``held(tree, options)``, the joints that move in a known way and so need no inertia."""
    of_places: bool = False
    """Whether it concerns only positions, which gimbal lock does not affect, so that no warning about gimbal lock is
    needed. Searches evaluate such algorithms at guesses that the user did not choose."""
    needs_floating_base: bool = False
    """Whether it is only for robots whose base moves freely."""
    is_method: bool = True
    """Whether robots have a method with its name."""
    tree_only: bool = False
    """Whether it means something different once loops are closed."""
    closed_by: str = ""
    """The algorithm that computes the same quantity with closed loops."""
    hinged: bool = False
    """Whether it takes fewer operations when a joint of several turns is treated as hinges in a row. Counted per
    universal joint: inverse dynamics 118 multiplications instead of 128, forward dynamics 321 instead of 431; per
    Euler-angle ball joint 140 instead of 167, 395 instead of 623. The mass matrix of the spatial biped takes 467
    instead of 629, that of the humanoid 2162 instead of 2994."""
    regroups: bool = False
    """Whether a robot with regrouped parameters gives the same results, so that machine code can be made from the
    regrouped robot (see :mod:`kinetree.model.changes.regrouping`). That is true of joint forces, accelerations and
    quantities derived from them. It is also true of the mass matrix and its inverse, but regrouping does not make these
    faster, so they keep the original parameters."""
    direct: bool = False
    """Whether it is called so often with single states that machine code reads the arrays itself, without Python."""
    ahead: bool = False
    """Whether :meth:`kinetree.Robot.compile` compiles it by default."""
    large: LargeTree | None = None
    """How it is computed on large trees. If None, straight-line code is used or, if that would be too long, the
    reference, with a warning."""

    def lengths(self, tree: Model) -> tuple[int, ...]:
        """Return the length of each input."""
        return tuple(tree.nq if name in CONFIGURATIONS else tree.nv for name in self.inputs)

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of the options, in order."""
        return tuple(option.name for option in self.options)

    @property
    def defaults(self) -> dict[str, Any]:
        """The optional options, with their default values."""
        return {option.name: option.default for option in self.options if not option.needed}

    def choices(self, option: str) -> tuple[str, ...]:
        """Return the values that an option may have; empty if there is no such option, or if a check decides."""
        return next((o.choices for o in self.options if o.name == option), ())

    @property
    def is_of_a_frame(self) -> bool:
        """Whether only the bodies that carry one frame matter."""
        return "frame" in self.option_names

    def loops_over(self, options: Options) -> bool:
        """Return whether loops can compute it on large trees with these options, without the reference."""
        return self.large is not None and all(options.get(k, v[0]) in v for k, v in self.large.only.items())

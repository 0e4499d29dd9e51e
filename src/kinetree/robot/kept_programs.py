"""Programs kept for robots: a setup that differs from an earlier one only in numbers is not traced again.

A law becomes machine code once.  Another setup can use that code if it has the same robot, and if everything that acts
on the robot is of the same kind with the same content, except for parameters, which machine code gets as inputs.  A
user's function may return something else later although it is the same object, so setups with such functions never
count as equal: they are traced again.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..algorithms.acting_element import ActingElement
from ..loops.coordinates import Coordinates
from ..model.tree import Model
from .robot import Robot

MOST_SET_UPS = 16
"""The most setups whose programs are kept, those used last: each has 100 kB to a few MB of code."""

MOST_ANSWERS = 256
"""The most starts that are remembered as valid."""


def programs_of(robot: Robot, elements: Sequence[ActingElement], *others: Any) -> dict[Any, Any]:
    """Return the dictionary of programs made for a robot, for what acts on it, and for everything else given.

    The dictionary is a new one if anything may change unnoticed.  Several threads may share a dictionary: if two of
    them make a program at the same time, both get the same one.
    """
    try:
        return kept_place(*_key(robot, ([without_numbers(element, robot.model) for element in elements], others)))
    except Exception:  # it cannot be compared with others, so nothing is known about it
        return {}


@lru_cache(maxsize=MOST_SET_UPS)
def kept_place(*key: Any) -> dict[Any, Any]:
    """Return the dictionary of a key, empty if it is new."""
    return {}


def answers_of(robot: Robot, *parts: Any) -> dict[Any, Any]:
    """Return the dictionary of answers that depend on all arguments, including numbers; a new one if any may change."""
    try:
        return _answers(*_key(robot, parts))
    except Exception:  # as above
        return {}


@lru_cache(maxsize=MOST_ANSWERS)
def _answers(*key: Any) -> dict[Any, Any]:
    return {}


class StandIn:
    """A number that is not known yet, in place of a parameter."""

    scalar_functions = None
    """An attribute that scalars other than numbers have; nothing can be computed with this one."""

    def __init__(self, name: str, place: int) -> None:
        self.name, self.place = name, place


def without_numbers(element: ActingElement, tree: Model) -> ActingElement:
    """Return an element with stand-ins in place of its parameters."""
    given = {name: np.atleast_1d(x) for name, x in element.parameters(tree).items()}
    numbers = {name: [StandIn(name, k) for k in range(x.shape[-1])] for name, x in given.items()}
    return element.with_parameters(numbers) if numbers else element


def _key(robot: Robot, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    file = io.BytesIO()
    content = _Content(file)
    content.dump(parts)
    return robot, os.environ.get("KINETREE_CPU"), hashlib.sha256(file.getbuffer()).digest(), *content.models


class _Content(pickle.Pickler):
    """A pickler whose output is only compared, never loaded."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.fast = True  # equal objects are written alike, whether identical or not
        self.models: list[Robot | Model] = []
        """The robots and models that controllers compute with, which are compared as they are."""

    def reducer_override(self, x: Any) -> Any:
        kind = type(x)
        if isinstance(x, np.ndarray):
            return kind, ((x.tolist(),) if x.dtype == object else (x.dtype.str, x.shape, x.tobytes()))
        if isinstance(x, np.generic):
            return kind, (x.item(),)
        if isinstance(x, (Robot, Model)):
            self.models.append(x)
            return kind, (len(self.models),)
        if not (x if isinstance(x, type) else kind).__module__.startswith(("kinetree.", "numpy")):
            raise TypeError(f"{kind.__name__} may change unnoticed")
        # what follows from the robot, and what is evaluated outside of machine code
        if isinstance(x, Coordinates) or (isinstance(x, ActingElement) and not x.IN_MACHINE_CODE):
            return kind, ()
        if is_dataclass(x) and not isinstance(x, type):  # without what it remembers
            return kind, tuple(getattr(x, field.name) for field in fields(x))
        return NotImplemented

"""A user's own numbers for an episode, such as a target position or a walking speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, ShapeError, UnknownNameError
from ...spatial.arrays import Array
from .draws import Drawn
from .randomized import DISTRIBUTIONS, checked_mapping

GOAL_STREAM = 30_000
"""Stream of random numbers for goals, separate from all others."""


class _Named(dict[str, Any]):
    """Numbers by name; an unknown name raises a helpful error."""

    def __missing__(self, name: str) -> Any:
        raise UnknownNameError("goal", name, self)


class Goals:
    """Numbers by name, drawn at resets or given.

    Parameters
    ----------
    given : mapping from str to distribution or numbers, optional
    batch : int
    dtype : dtype

    Attributes
    ----------
    numbers : ndarray (batch, n)
        All numbers, one after the other.
    drawn : list of Drawn
        The numbers that are drawn.
    """

    def __init__(self, given: Mapping[str, Any] | None, batch: int, dtype: Any) -> None:
        self._slices: dict[str, slice] = {}
        self.drawn: list[Drawn] = []
        self._places: list[int] = []
        columns, first = [], 0
        for stream, (name, content) in enumerate(checked_mapping(given, "goal").items()):
            if not isinstance(name, str):
                raise OptionError(f"goals have names such as 'target', not {name!r}")
            value = self._value(name, content, batch)
            where = self._slices[name] = slice(first, first + value.shape[-1])
            if isinstance(content, DISTRIBUTIONS):
                self.drawn.append(Drawn(name, content, value, GOAL_STREAM + stream))
                self._places += range(where.start, where.stop)
            columns.append(np.broadcast_to(value, (batch, value.shape[-1])))
            first = where.stop
        self.numbers = np.concatenate([np.zeros((batch, 0)), *columns], axis=-1).astype(dtype)
        self._initial = self.numbers.copy()

    @staticmethod
    def _value(name: str, content: Any, batch: int) -> Array:
        if isinstance(content, DISTRIBUTIONS):
            if content.relative:
                raise OptionError(f"goal {name!r} is relative to nothing: draw it with relative=False")
            return np.atleast_1d(content.of(np.array(0.5)))
        try:
            value = np.atleast_1d(np.asarray(content, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"goal {name!r} must be a distribution or numbers, not {content!r}") from None
        if value.ndim > 2 or (value.ndim == 2 and len(value) != batch) or not np.isfinite(value).all():
            raise ShapeError(f"goal {name!r} must be some finite numbers, or as many for each of {batch} worlds")
        return value

    def begin(self, lanes: Array, drawn: Array) -> None:
        """Begin new episodes of some worlds with the goals drawn for them; other goals get their initial values."""
        if self._slices:
            self.numbers[lanes] = self._initial[lanes]
            self.numbers[lanes[:, None], self._places] = drawn

    def set(self, name: str, value: ArrayLike, lanes: Array) -> None:
        """Set one goal in some worlds until their episodes end."""
        if name not in self._slices:
            raise UnknownNameError("goal", name, self._slices)
        where = self._slices[name]
        numbers = np.asarray(value, dtype=float)
        try:
            self.numbers[lanes, where] = numbers
        except ValueError:
            wanted = f"{where.stop - where.start} numbers, or as many for each of {len(lanes)} worlds"
            raise ShapeError(f"goal {name!r} takes {wanted}, got an array of shape {numbers.shape}") from None

    def named(self, numbers: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """Return scalars by name."""
        return _Named((name, numbers[where]) for name, where in self._slices.items())

    def __iter__(self) -> Iterator[tuple[str, Array]]:
        """Iterate over names and numbers (batch, n)."""
        return ((name, self.numbers[:, where]) for name, where in self._slices.items())

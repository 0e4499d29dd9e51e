"""A control law as it is written in C: its arguments, and the gains that can be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CLaw:
    """A control law to be written in C, see :meth:`kinetree.control.Controller.for_c`."""

    summary: Sequence[str]
    """What it computes, and notes on its use."""
    gains: Mapping[str, np.ndarray]
    """Numbers that can be changed, with their current values."""
    arguments: tuple[tuple[str, int], ...]
    """Name and length of each other input; the last one is the time, which is left out if the law does not need it."""
    function: Callable[..., list[Any]]
    """``function(*gains, *arguments)`` over any scalar: lists in, one list out."""
    parts: Mapping[str, int]
    """Index at which each part of the result begins."""
    sample: Callable[[np.random.Generator], list[np.ndarray]]
    """``sample(rng)`` returns random arguments."""

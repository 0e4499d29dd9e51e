"""Checks of the numbers that users give: anything that is not a number raises one of our errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import KinetreeError, Message, OptionError, Setting, ShapeError
from ..errors import shown as shown


def real_number(
    given: Any, name: str | Setting, *, positive: bool = False, infinite: bool = False, unit: str = "", error:
    type[KinetreeError] = OptionError,
) -> float:  # fmt: skip
    """Return one real number; refuse text, lists, None, booleans, complex numbers, NaN.

    name: What it is, for messages: ``the pitch of a helical joint``, or an option.
    positive: Whether it must be more than zero.
    infinite: Whether it may be infinite.
    unit: What it is measured in, for messages: ``seconds``.
    error: What to raise.
    """
    wanted = f"a {'positive' if positive else 'finite'} number{f' of {unit}' if unit else ''}"
    if infinite and not positive:
        wanted = wanted.replace("finite ", "")
    number = _as_real(given)
    if number is None or math.isnan(number) or (math.isinf(number) and not infinite) or (positive and number <= 0.0):
        raise error(Message(name, f" must be {wanted}, not {shown(given)}"))
    return number


def real_numbers(
    given: Any, name: str | Setting, count: int | None = None, *, positive: bool = False, infinite: bool = False, unit:
    str = "",
) -> np.ndarray:  # fmt: skip
    """Return ``count`` nonnegative numbers, given as that many numbers or as one number for all.

    given: array_like
    name: What they are, for messages.
    count: How many numbers there must be; by default, one number or a sequence of any length is accepted.
    positive: Whether they must be more than zero.
    infinite: Whether they may be infinite.
    unit: What they are measured in, for messages: ``hertz``.
    """
    wanted = f"one number{f' of {unit}' if unit else ''} or {'a row of them' if count is None else count}"
    numbers = as_numbers(given)
    if numbers is None or numbers.ndim > 1 or (count is not None and numbers.shape not in ((), (1,), (count,))):
        raise ShapeError(Message(name, f" must be {wanted}, not {shown(given)}"))
    numbers = numbers if count is None else np.broadcast_to(numbers, (count,))
    bad = np.isnan(numbers) | (numbers <= 0.0 if positive else numbers < 0.0)
    if np.any(bad) or not (infinite or np.isfinite(numbers).all()):
        least = "positive" if positive else "zero or more"
        finite = "" if infinite else " and finite"
        raise OptionError(Message(name, f" must be {least}{finite}, {wanted}, not {shown(given)}"))
    return numbers


def as_numbers(given: Any) -> np.ndarray | None:
    """Return an array if the types of all entries are real; None for text, booleans, complex numbers and None."""
    try:
        numbers = np.asarray(given)
    except (TypeError, ValueError, OverflowError):  # rows of different lengths
        return None
    return numbers.astype(float, copy=False) if numbers.dtype.kind in "fiu" else None


def whole_number(
    given: Any, name: str | Setting, least: int, most: int | None = None, error: type[KinetreeError] = OptionError
) -> int:
    """Return one whole number within bounds; refuse fractions, text, lists, None, booleans.

    name: What it is, for messages.
    least, most: Its bounds; without ``most`` there is no upper bound.
    error: What to raise.
    """
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    whole = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise error(Message(name, f" must be a whole number {bounds}, not {shown(given)}"))
    return int(given)


def random_source(given: Any, name: str) -> np.random.Generator:
    """Return a random generator, given as one or as a seed."""
    try:
        return np.random.default_rng(given)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be a numpy.random.Generator or a seed from 0, not {shown(given)}") from None


def _as_real(given: Any) -> float | None:
    """Return a float if the type of something is that of a real number (or an array without axes); otherwise None."""
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, (bool, np.bool_, str, bytes, np.ndarray)) or given is None:
        return None
    try:
        return float(given)  # numbers of other libraries can be converted
    except OverflowError:
        return math.inf if given > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def is_unknown(value: Any) -> bool:
    """Return whether a number is not known yet: a node of a graph, an array over a batch, or a list of such."""
    if isinstance(value, list):
        return any(isinstance(x, np.ndarray) or is_unknown(x) for x in value)
    return hasattr(value, "scalar_functions")

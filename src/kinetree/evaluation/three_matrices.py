"""Three matrices that are computed together, in one array or in three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..spatial.arrays import Array
from .checks import check_out
from .evaluator import Evaluator
from .wrenches import Wrenches


def three_matrices(
    evaluator: Evaluator, name: str, wrenches: Wrenches, out: Any, threads: int, **state: Any
) -> list[Array]:
    """Return the results of an algorithm of shape (..., 3, n, n); ``out`` is one array, or three (..., n, n)."""
    several = isinstance(out, (tuple, list)) and len(out) == 3 and all(isinstance(x, np.ndarray) for x in out)
    whole = _three_in_one(out) if several else out
    three = evaluator.run(name, wrenches=wrenches, out=whole, threads=threads, **state)
    found = [three[..., k, :, :] for k in range(3)]
    if not several or whole is not None:
        return found
    for k, (matrix, numbers) in enumerate(zip(out, found, strict=True)):
        check_out(matrix, numbers.shape)
        if any(matrix is other for other in out[:k]):
            raise ShapeError("out has the same array twice: give three")
    for matrix, numbers in zip(out, found, strict=True):
        matrix[...] = numbers
    return list(out)


def _three_in_one(three: Sequence[Array]) -> Array | None:
    """Return the array (..., 3, n, n) that three matrices were taken from, if they were."""
    whole = three[0].base
    if not isinstance(whole, np.ndarray) or whole.ndim < 3 or whole.shape[-3] != 3:
        return None
    parts = [whole[..., k, :, :].__array_interface__ for k in range(3)]
    return whole if parts == [matrix.__array_interface__ for matrix in three] else None

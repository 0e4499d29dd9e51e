"""Conversion between NumPy arrays, which users have, and scalars, which the recursions work on.

Leading axes are the batch; for a batch, each scalar is an array with those axes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from .motion import Force, Motion
from .rotation import quaternion_of
from .scalar import Scalar
from .transform import Transform
from .vector import Matrix3, Vec3

Array = np.ndarray

Shape = tuple[int, ...]


def as_array(value: Any, last: Shape, name: str, meaning: str = "") -> np.ndarray:
    """Convert to a float array whose last axes have the shape ``last``, or raise an error that names the argument."""
    # numpy.ma takes 20 ms to import; if nobody has imported it, there are no masked arrays
    if "numpy.ma" in sys.modules and np.ma.is_masked(value):
        raise ShapeError(f"{name} has masked entries; fill them or leave those states out")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fc":
            if array.dtype.kind not in "iub":
                raise TypeError(f"its dtype is {array.dtype}; convert it with astype(float)")
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ShapeError(f"{name} cannot be read as an array of numbers: {_reason(value, problem)}") from None
    if array.dtype.kind == "f" and array.dtype != np.float64:
        array = array.astype(float)
    if array.ndim < len(last) or array.shape[array.ndim - len(last) :] != last:
        expected = ", ".join(["..."] + [str(n) for n in last])
        extra = f" ({meaning})" if meaning else ""
        raise ShapeError(f"{name} must have shape ({expected}){extra}, got {array.shape}")
    return array


def finite_rows(x: np.ndarray) -> np.ndarray:
    """Return which rows of an array (..., n) are finite, as booleans (...): usually all of them, which is quick."""
    finite = np.isfinite(x)
    return np.ones(x.shape[:-1], dtype=bool) if finite.all() else np.asarray(finite.all(axis=-1))


def _reason(value: Any, problem: Exception) -> str:
    """Return why something is not an array of numbers, in our words instead of NumPy's."""
    if "inhomogeneous" in str(problem):
        return "its rows have different lengths"
    if isinstance(value, Mapping):
        names = ", ".join(map(repr, list(value)[:3]))
        return f"it is a mapping ({names}); give all numbers in the order of robot.q_names or robot.v_names"
    item = value
    while isinstance(item, (list, tuple, np.ndarray)) and np.size(item):
        item = item.item(0) if isinstance(item, np.ndarray) else item[0]
    if item is None or isinstance(item, (str, bytes)):
        return "it contains None" if item is None else f"it contains text, {item!r}"
    if hasattr(item, "scalar_functions"):
        return (
            "its values are traced for compilation, but a robot's methods compute with numbers: add a controller such "
            "as GravityCompensation() to the law, or let plain Python do it, control.from_function()"
        )
    library = type(item).__module__.partition(".")[0].removesuffix("lib")
    if library in ("jax", "casadi", "sympy"):
        return f"it contains symbols of {library}; kinetree.symbolic.function(robot, name, {library!r}) takes those"
    return str(problem)


def batch_shape(**arrays: tuple[np.ndarray, int]) -> Shape:
    """Return the common batch of several arrays, each with its number of trailing axes."""
    shapes = {name: a.shape[: a.ndim - trailing] for name, (a, trailing) in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise ShapeError(f"batches do not fit together: {listed}") from None


def overlaps_itself(array: np.ndarray) -> bool:
    """Return whether entries may share memory, as those of ``as_strided`` arrays can."""
    if array.flags.forc or not array.size:
        return False
    reached = array.itemsize
    for stride, count in sorted(
        (abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if stride < reached:
            return True
        reached = stride * (count - 1) + reached
    return False


def split(array: np.ndarray) -> list[Scalar]:
    """Split an array into one scalar per entry of the last axis."""
    if array.ndim == 1:
        return list(array)
    return list(np.ascontiguousarray(np.moveaxis(array, -1, 0)))


def flatten(value: Any) -> Any:
    """Return the result of an algorithm as nested lists of scalars."""
    if isinstance(value, (Motion, Force, Vec3)):
        return list(value)
    if isinstance(value, Transform):
        return value.homogeneous()
    if isinstance(value, Matrix3):
        return value.to_rows()
    if isinstance(value, (list, tuple)):
        return [flatten(x) for x in value]
    return value


def pack(value: Any, batch: Shape) -> np.ndarray:
    """Return nested lists of scalars as an array with the batch axes in front."""
    nested = flatten(value)
    shape = _shape(nested)
    scalars = list(leaves(nested))
    dtype = complex if any(np.iscomplexobj(x) for x in scalars) else float
    if not batch:
        return np.array(scalars, dtype=dtype).reshape(shape)
    result = np.empty((*batch, len(scalars)), dtype=dtype)
    for k, leaf in enumerate(scalars):
        result[..., k] = leaf
    return result.reshape((*batch, *shape))


def _shape(nested: Any) -> Shape:
    return (len(nested), *(_shape(nested[0]) if nested else ())) if isinstance(nested, list) else ()


def leaves(nested: Any) -> Iterator[Any]:
    """Yield the scalars of nested lists."""
    if isinstance(nested, list):
        for x in nested:
            yield from leaves(x)
    else:
        yield nested


def cross_matrix(a: ArrayLike) -> np.ndarray:
    """Return the matrices (..., 3, 3) of vectors (..., 3) with ``cross_matrix(a) @ b = a x b`` (Shah section 5.1.1)."""
    numbers = np.asarray(a)
    x, y, z = numbers[..., 0], numbers[..., 1], numbers[..., 2]
    o = np.zeros_like(x)
    return np.stack([np.stack(row, axis=-1) for row in ((o, -z, y), (z, o, -x), (-y, x, o))], axis=-2)


def quaternions_of(matrices: np.ndarray) -> np.ndarray:
    """Return the unit quaternions x, y, z, w (..., 4) of rotation matrices (..., 3, 3); NaN if a matrix has NaN."""
    entries = Matrix3.of([[matrices[..., i, j] for j in range(3)] for i in range(3)])
    with np.errstate(invalid="ignore"):  # NaN and infinity are passed on
        found = np.stack(quaternion_of(entries), axis=-1)
        return np.asarray(found / np.linalg.norm(found, axis=-1, keepdims=True))


LINE = 64
"""Bytes of a cache line: JAX uses an array without copying it only if the array begins at one."""


def aligned_zeros(shape: Shape, dtype: Any) -> np.ndarray:
    """Return an array of zeros that begins at a cache line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE, dtype=np.uint8)
    first = -memory.__array_interface__["data"][0] % LINE
    return memory[first : first + size].view(dtype).reshape(shape)


def time_shares(times: Array) -> Array:
    """Return the share of the whole time that each of several samples stands for, by the trapezoidal rule."""
    shares = np.convolve(np.diff(times), [0.5, 0.5], mode="full") if len(times) > 1 else np.ones(1)
    return np.asarray(shares / shares.sum())

"""Terrain: floors, slopes, steps, stairs, stones and uneven ground, as shapes that do not move.

Every function returns a list of shapes with names; add lists to one another.  Lengths are in meters and may have units,
``"15 cm"``; ground rises along x, and z = 0 is the level of :func:`floor`.  Give the result to :func:`kinetree.scene`,
or its shapes to :meth:`kinetree.Builder.add_shape`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ModelError, OptionError, explain_public
from ...io.units import in_si
from ...spatial.numbers import whole_number
from ..pose import Pose, floats
from .box import Box
from .contact_shape import ContactShape
from .half_space import HalfSpace
from .height_grid import HeightGrid
from .solid import lengths

__all__ = ["floor", "heights", "random_heights", "slope", "stairs", "steps", "stones", "turned", "waves"]

Terrain = list[ContactShape]

MOST_STEPS = 1000
"""The most steps or stones: each is a shape of its own."""

DEEP = 1.0
"""How far boxes reach below the level of the floor, so that nothing gets under them."""


def floor(height: Any = 0.0, *, friction: float = 1.0, name: str = "floor") -> Terrain:
    """Return level ground without end."""
    return [ContactShape("base", HalfSpace(), Pose.of((0, 0, _number(height, "the height"))), name, friction=friction)]


def slope(angle: Any, *, direction: Any = 0.0, friction: float = 1.0, name: str = "slope") -> Terrain:
    """Return a plane through the origin that rises by an angle.

    Parameters
    ----------
    angle : float
        Radians, or with a unit: ``"20 deg"``.
    direction : float
        In which direction it rises, as an angle from x about z.
    friction : float
    name : str
    """
    steep, about = _number(angle, "the angle of a slope", "rad"), _number(direction, "its direction", "rad")
    if not abs(steep) < 0.5 * math.pi:
        raise ModelError(f"the angle of a slope must be below a right angle, not {steep:g} rad")
    pose = Pose.of(rpy=(0, 0, about)) @ Pose.of(rpy=(0, -steep, 0))
    return [ContactShape("base", HalfSpace(), pose, name, friction=friction)]


def steps(
    tops: Sequence[Any], tread: Any = 0.3, *, width: Any = 2.0, ahead: Any = 0.5, friction: float = 1.0,
    name: str = "step",
) -> Terrain:  # fmt: skip
    """Return steps of any heights, one after the other along x.

    Parameters
    ----------
    tops : sequence of floats
        Height of each step above the floor.
    tread : float
        How long each step is.
    width : float
        How wide they are along y.
    ahead : float
        Distance from the origin to where the first one begins.
    friction : float
    name : str
        The steps are named ``step_1``, ``step_2``, ...
    """
    heights_ = floats(in_si(tops, "m", "the tops of steps"), "the tops of steps")
    if heights_.ndim != 1 or not len(heights_) or not np.isfinite(heights_).all():
        raise ModelError(f"the tops of steps must be a list of finite numbers, not {tops!r}")
    (long, wide), begin = (
        (lengths(x, 1, what)[0] for x, what in ((tread, "tread"), (width, "width"))),
        _number(ahead, "ahead"),
    )
    deep = DEEP + float(heights_.max() - heights_.min())
    found = []
    for k, top in enumerate(heights_):
        place = begin + (k + 0.5) * long, 0.0, float(top) - 0.5 * deep
        found.append(
            ContactShape("base", Box((long, wide, deep)), Pose.of(place), f"{name}_{k + 1}", friction=friction)
        )
    return found


def stairs(
    count: int = 5, rise: Any = 0.15, tread: Any = 0.3, *, width: Any = 2.0, ahead: Any = 0.5, landing: Any = None,
    down: bool = False, friction: float = 1.0, name: str = "step",
) -> Terrain:  # fmt: skip
    """Return stairs that rise along x, or rise and descend again.

    Parameters
    ----------
    count : int
        Number of steps up.
    rise, tread : float
        Height and length of a step.
    width : float
        Width along y.
    ahead : float
        Distance from the origin to where the first step begins.
    landing : float, optional
        Length of the last step, if it differs from the others.
    down : bool
        Whether as many steps lead down again.
    friction : float
    name : str
        The steps are named ``step_1``, ``step_2``, ...

    Examples
    --------
    >>> import kinetree as kt
    >>> [shape.name for shape in kt.terrain.stairs(2, rise="12 cm", down=True)]
    ['step_1', 'step_2', 'step_3']
    """
    up, long = lengths(rise, 1, "the rise of a step")[0], lengths(tread, 1, "the tread of a step")[0]
    tops = [up * (k + 1) for k in range(whole_number(count, "count", 1, MOST_STEPS))]
    found = steps(tops + (tops[-2::-1] if down else []), long, width=width, ahead=ahead, friction=friction, name=name)
    if landing is None:
        return found
    last = lengths(landing, 1, "the landing")[0]
    made: Terrain = []
    for k, shape in enumerate(found):
        x, y, z = shape.pose.translation
        size = shape.shape.size  # type: ignore[attr-defined]
        if k == count - 1:
            x, size = x + 0.5 * (last - long), (last, *size[1:])
        elif k >= count:
            x += last - long
        made.append(replace(shape, shape=Box(size), pose=Pose.of((x, y, z))))
    return made


def stones(
    count: int = 12, *, spacing: Any = 0.4, size: Any = 0.25, scatter: Any = 0.05, heights: Any = 0.05, seed: int = 0,
    ahead: Any = 0.5, friction: float = 1.0, name: str = "stone",
) -> Terrain:  # fmt: skip
    """Return square stones in a row along x, of random heights and a little off the line.

    Parameters
    ----------
    count : int
    spacing : float
        From one to the next.
    size : float
        Edges of their tops.
    scatter : float
        How far they are off the line along y, at most.
    heights : float
        How far their tops are above or below the level of the floor, at most.
    seed : int
    ahead : float
        Distance from the origin to the middle of the first one.
    friction : float
    name : str
        The stones are named ``stone_1``, ``stone_2``, ...
    """
    rng = np.random.default_rng(whole_number(seed, "seed", least=0))
    apart, edge = lengths(spacing, 1, "the spacing of stones")[0], lengths(size, 1, "the size of stones")[0]
    off, up = (lengths(x, 1, what, zero=True)[0] for x, what in ((scatter, "the scatter"), (heights, "the heights")))
    begin, found = _number(ahead, "ahead"), []
    for k in range(whole_number(count, "count", 1, MOST_STEPS)):
        y, top = rng.uniform(-1.0, 1.0, 2) * (off, up)
        place = begin + k * apart, float(y), float(top) - 0.5 * DEEP
        found.append(
            ContactShape("base", Box((edge, edge, DEEP)), Pose.of(place), f"{name}_{k + 1}", friction=friction)
        )
    return found


def heights(
    height: Callable[[Any, Any], Any] | Any, size: Sequence[Any], spacing: Any = 0.1, *, friction: float = 1.0,
    name: str = "ground",
) -> Terrain:  # fmt: skip
    """Return uneven ground about the origin: heights on a grid, joined by triangles.

    Parameters
    ----------
    height : callable or array_like
        A function of arrays x and y, or the heights themselves, (nx, ny).
    size : two floats
        Lengths along x and y.
    spacing : float
        Distance of grid lines, for a function.
    friction : float
    name : str
    """
    long, wide = lengths(size, 2, "the size of uneven ground")
    if callable(height):
        x, y = (_lines(edge, spacing) for edge in (long, wide))
        try:
            found = np.array(np.broadcast_to(height(*np.meshgrid(x, y, indexing="ij")), (len(x), len(y))), dtype=float)
        except (TypeError, ValueError) as problem:
            raise OptionError(
                f"the height must be a function of arrays x and y that returns their shape: {problem}"
            ) from None
    else:
        found = floats(height, "the heights of uneven ground")
    grid = HeightGrid((long, wide), found)  # type: ignore[arg-type]
    return [ContactShape("base", grid, name=name, friction=friction)]


def random_heights(
    size: Sequence[Any] = (8.0, 8.0), roughness: Any = 0.05, *, bumps: Any = 0.5, spacing: Any = 0.1, seed: int = 0,
    flat: Any = 0.0, friction: float = 1.0, name: str = "ground",
) -> Terrain:  # fmt: skip
    """Return ground with random bumps and hollows about z = 0.

    Parameters
    ----------
    size : two floats
        Lengths along x and y.
    roughness : float
        Standard deviation of the heights.
    bumps : float
        How long a bump is: neighbors nearer than that have about the same height.
    spacing : float
        Distance of grid lines, shorter than the bumps.
    seed : int
    flat : float
        Radius around the origin within which the ground is level, to start from.
    friction : float
    name : str

    Examples
    --------
    >>> import kinetree as kt
    >>> ground = kt.terrain.random_heights((6, 6), "4 cm", seed=3)[0].shape
    >>> ground.shape
    (61, 61)
    """
    rough = lengths(roughness, 1, "the roughness", zero=True)[0]
    length, level = lengths(bumps, 1, "the length of bumps")[0], lengths(flat, 1, "the flat part", zero=True)[0]
    step = lengths(spacing, 1, "the spacing of grid lines")[0]
    rng = np.random.default_rng(whole_number(seed, "seed", least=0))

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        noise = rng.standard_normal(x.shape)
        for axis in (0, 1):
            reach = 0.5 * length / step
            frequency = np.fft.fftfreq(x.shape[axis])
            shape = np.exp(-0.5 * (2.0 * math.pi * frequency * reach) ** 2)
            noise = np.fft.ifft(np.fft.fft(noise, axis=axis) * np.expand_dims(shape, 1 - axis), axis=axis).real
        noise = (noise - noise.mean()) * (rough / max(float(noise.std()), 1e-300))
        if level:
            away = np.hypot(x, y)
            noise = noise * np.clip((away - level) / length, 0.0, 1.0)
        return np.asarray(noise)

    return heights(height, size, step, friction=friction, name=name)


def waves(
    size: Sequence[Any] = (8.0, 8.0), amplitude: Any = 0.05, length: Any = 1.0, *, spacing: Any = 0.05,
    friction: float = 1.0, name: str = "ground",
) -> Terrain:  # fmt: skip
    """Return waves along x and y.

    Parameters
    ----------
    size : two floats
    amplitude, length : float
        Height of a crest above the level, and distance of crests.
    spacing : float
        Distance of grid lines.
    friction : float
    name : str
    """
    high, long = lengths(amplitude, 1, "the amplitude", zero=True)[0], lengths(length, 1, "the length of waves")[0]

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        k = 2.0 * math.pi / long
        return np.asarray(0.5 * high * (np.cos(k * x) + np.cos(k * y)))

    return heights(height, size, spacing, friction=friction, name=name)


def turned(terrain: Sequence[ContactShape], angle: Any = 0.0, position: Sequence[Any] = (0.0, 0.0, 0.0)) -> Terrain:
    """Return terrain elsewhere: turned about z by an angle, then moved."""
    pose = Pose.of(position, rpy=(0, 0, _number(angle, "the angle", "rad")))
    return [replace(shape, pose=pose @ shape.pose) for shape in terrain]


def _lines(edge: float, spacing: Any) -> np.ndarray:
    count = max(round(edge / lengths(spacing, 1, "the spacing of grid lines")[0]), 1)
    return np.linspace(-0.5 * edge, 0.5 * edge, count + 1)


def _number(value: Any, what: str, unit: str = "m") -> float:
    number = floats(in_si(value, unit, what), what)
    if number.ndim or not math.isfinite(number):
        raise ModelError(f"{what} must be a finite number, not {value!r}")
    return float(number)


__dir__ = explain_public(__name__)

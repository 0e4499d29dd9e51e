"""Motions from state to state in the shortest time, within limits of velocities, accelerations and jerks.

Each joint goes from its first velocity to a cruise without acceleration, and from there to its last velocity. A change
of velocity takes jerk, constant acceleration where that reaches its limit, and jerk again; how far it leads is known in
closed form. If cruising at its largest velocity leads too far, the velocity of the cruise is where it takes no time:
a root between two velocities, by Newton's method. Joints that would arrive early cruise at another velocity instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError
from ..evaluation.law_kernels import LawProgram, SearchProgram
from ..spatial import Scalar, maximum, minimum, sqrt, where
from ..spatial.arrays import Array, as_array, split
from ..spatial.taylor import Jet, as_jet
from .piecewise import is_concrete
from .trajectory_interface import Motion, Trajectory, within

Scalars = Sequence[Scalar]

MOST_STEPS = 100
"""Steps of a search for the velocity of a cruise, at most; eight are usual."""

CLOSE = 1e-15
"""Intervals below this part of their ends are points."""

QUADRATIC = 1e-8
"""A step of Newton's method below this part of the unknown is the last one: its error is about the square of that."""

MOST_LATER = 30
"""How often a later arrival is tried for joints that cannot arrive with the others."""

LEAST_JERK, JERKS_TRIED = 1e-3, 40
"""The least part of the jerk that is tried for these joints, and how many between."""

NO_VELOCITY = 1e-60
"""Velocities below this are none."""

TRIED = 513
"""Velocities of a cruise that are tried for joints that have to slow down below both their velocities."""


@dataclass(frozen=True, eq=False)
class JerkLimitedMotion(Trajectory):
    """The fastest motion from state to state, or a batch of them, see :func:`jerk_limited`.

    Parameters
    ----------
    first : ndarray (..., n)
        Where it begins.
    way, first_velocity, last_velocity, cruise : ndarray (..., n)
        How far it goes, and its velocities at both ends and between.
    acceleration, jerk : ndarray (..., n)
        Those of its phases.
    durations : ndarray (..., n)
        The shortest time of each joint alone.
    """

    first: Array
    way: Array
    first_velocity: Array
    last_velocity: Array
    cruise: Array
    acceleration: Array
    jerk: Array
    durations: Array

    @cached_property
    def _phases(self) -> Array:
        given = {name: x[..., None] for name, x in zip(SIX, self._numbers, strict=True)}
        found = _phase_program("")(given)
        found[np.isnan(self.cruise)] = np.nan
        return found

    @property
    def _numbers(self) -> tuple[Array, ...]:
        return self.first_velocity, self.last_velocity, self.acceleration, self.jerk, self.way, self.cruise

    @property
    def lengths(self) -> Array:
        """Durations of the seven phases, (..., n, 7)."""
        return self._phases[..., :7]

    @property
    def jerks(self) -> Array:
        """Jerks of the seven phases, (..., n, 7)."""
        return self._phases[..., 7:]

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(self.first.shape[-1])

    @property
    def duration(self) -> Any:
        """How long it takes, in seconds; an array for a batch."""
        total = _duration_program("")({name: x[..., None] for name, x in zip(SIX, self._numbers, strict=True)})
        total = total[..., 0].max(axis=-1)
        return total if total.ndim else float(total)

    @property
    def end(self) -> float:
        """When it arrives; of a batch, the last of them."""
        return float(np.max(self.duration))

    def is_batched(self) -> bool:
        """Return whether it is a batch."""
        return self.first.ndim > 1

    def __getitem__(self, k: Any) -> JerkLimitedMotion:
        if not self.is_batched():
            raise OptionError("this is one motion, not a batch")
        parts = self.first, self.way, self.first_velocity, self.last_velocity, self.cruise
        more = self.acceleration, self.jerk, self.durations
        return JerkLimitedMotion(*(x[k] for x in (*parts, *more)), hold=self.hold)

    def kinks(self, begin: float, end: float) -> np.ndarray:
        """Return the times at which the jerk changes."""
        return within(np.cumsum(self.lengths, axis=-1).ravel(), begin, end)

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar; at rest after joints arrive."""
        q, v, a = list[Scalar](), list[Scalar](), list[Scalar]()
        known = is_concrete(t.value)
        for k in range(self.n):
            lengths, jerks = self.lengths[..., k, :], self.jerks[..., k, :]
            if not known:
                lengths, jerks = [float(x) for x in lengths], [float(x) for x in jerks]  # type: ignore[assignment]
            parts = zip(*((split(x) if known else x) for x in (lengths, jerks)), strict=True)
            place, speed = (split(x[..., k, None])[0] for x in (self.first, self.first_velocity))
            pull: Scalar = 0.0
            begin: Scalar = 0.0
            for length, jerk in parts:
                since = where(t.value > begin + length, length, maximum(t.value - begin, 0.0))
                place = place + since * (speed + since * (0.5 * pull + since * (jerk * (1.0 / 6.0))))
                speed = speed + since * (pull + since * (0.5 * jerk))
                pull = pull + since * jerk
                begin = begin + length
            q.append(place + speed * maximum(t.value - begin, 0.0))
            v.append(speed)
            a.append(pull)
        whole = [as_jet(Jet(*x)) for x in zip(q, v, a, strict=True)]
        return [x.value for x in whole], [x.first * t.first for x in whole], [
            x.second * t.first * t.first + x.first * t.second for x in whole
        ]  # fmt: skip


def _change(apart: Scalar, acceleration: Scalar, jerk: Scalar) -> tuple[Scalar, Scalar]:
    """Return how long a change of velocity takes, and the derivative of that."""
    per_jerk, per_acceleration = 1.0 / jerk, 1.0 / acceleration
    short = apart * jerk < acceleration * acceleration
    root = sqrt(where(short, apart * per_jerk, 1.0))
    long = apart * per_acceleration + acceleration * per_jerk
    return where(short, 2.0 * root, long), where(short, per_jerk / maximum(root, 1e-150), per_acceleration)


def _led(vp: Scalar, p: Scalars) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return how far, and how long, both changes of velocity lead, with derivatives by the velocity between them."""
    v0, v1, acceleration, jerk = p[:4]
    far: Scalar = 0.0
    far_slope: Scalar = 0.0
    long: Scalar = 0.0
    long_slope: Scalar = 0.0
    for v in (v0, v1):
        time, slope = _change(abs(vp - v), acceleration, jerk)
        slope = where(vp < v, -slope, slope)
        far, far_slope = far + 0.5 * (v + vp) * time, far_slope + 0.5 * (time + (v + vp) * slope)
        long, long_slope = long + time, long_slope + slope
    return far, far_slope, long, long_slope


def _searched(residual: Any) -> tuple[Any, Any]:
    """Return the beginning and a step of Newton's method within an interval, by the root of the distance to an end.

    The start is the end from which the distance counts, the other end, and a guess.
    """

    def begin(start: Scalars, p: Scalars) -> list[Scalar]:
        reach = sqrt(maximum(abs(start[1] - start[0]), 0.0))
        guess = sqrt(maximum(p[-1] * (start[2] - start[0]), 0.0))
        return [0.0 * reach, reach, where((guess > 0.0) & (guess < reach), guess, 0.5 * reach), reach, start[0]]

    def step(state: Scalars, p: Scalars) -> list[Scalar]:
        low, high, w, _, foot = state
        way = p[-1]
        value, slope = residual(foot + way * w * w, p)
        slope = slope * (2.0 * way * w)
        above = value > 0.0
        low, high = where(above, low, w), where(above, w, high)
        new = w - value / where(abs(slope) > 1e-300, slope, 1.0)
        size = maximum(abs(w), 1e-150)
        blur = CLOSE * size
        inside = (new > low - blur) & (new < high + blur) & (abs(slope) > 1e-300)
        new = where(inside, new, 0.5 * (low + high))
        moved = where(inside, abs(new - w) - QUADRATIC * size, 1.0)
        return [low, high, new, minimum(high - low - CLOSE * size, moved), foot]

    return begin, step


def _far(vp: Scalar, p: Scalars) -> tuple[Scalar, Scalar]:
    """Return how much too far changes of velocity lead, in the direction of the way."""
    far, slope, _, _ = _led(vp, p)
    return (far - p[4]) * p[-1], slope * p[-1]


def _late(vp: Scalar, p: Scalars) -> tuple[Scalar, Scalar]:
    """Return how much too early a motion with a cruise arrives: less the faster it is."""
    far, far_slope, long, long_slope = _led(vp, p)
    share = 1.0 / where(abs(vp) > 1e-300, vp, 1e-300)
    cruise = (p[4] - far) * share
    return long + cruise - p[5], long_slope - (far_slope + cruise) * share


@lru_cache(maxsize=4)
def _programs(cpu: str) -> tuple[SearchProgram, SearchProgram]:
    """Return the searches for the velocity without a cruise, and for that of a given duration."""
    names = "velocity between two others", "velocity of a cruise"
    return tuple(  # type: ignore[return-value]
        SearchProgram(name, *_searched(residual), (3, 7), 3, (2,), cpu)
        for name, residual in zip(names, (_far, _late), strict=True)
    )


SIX = ("v0", "v1", "acceleration", "jerk", "way", "vp")
"""What determines the motion of a joint."""


def _from_rest(way: Scalar, acceleration: Scalar, jerk: Scalar) -> Scalar:
    """Return the velocity that is reached from rest to rest without a cruise."""
    held = acceleration * acceleration / jerk
    short = way * jerk * jerk < 2.0 * acceleration * acceleration * acceleration
    root = sqrt(sqrt(maximum(way * way * jerk, 1e-300)))  # near the cubic root of its square, for Newton's method
    guess = 0.63 * root
    for _ in range(3):
        guess = guess - (guess * guess * guess - 0.25 * way * way * jerk) / (3.0 * guess * guess)
    return where(short, guess, 0.5 * (sqrt(held * held + 4.0 * acceleration * way) - held))


@lru_cache(maxsize=4)
def _fastest_program(cpu: str) -> LawProgram:
    """Return the program for where the velocity of the fastest motion is: its foot, its top, a guess, its duration."""

    def law(
        v0: Scalars, v1: Scalars, acceleration: Scalars, jerk: Scalars, way: Scalars, velocity: Scalars
    ) -> list[Scalar]:
        p = [v0[0], v1[0], acceleration[0], jerk[0], way[0]]
        direct, _, _, _ = _led(where(abs(v0[0]) > abs(v1[0]), v0[0], v1[0]), p)
        up = where(way[0] < direct, -1.0, 1.0)
        foot = where(up > 0.0, maximum(v0[0], v1[0]), minimum(v0[0], v1[0]))
        top = up * velocity[0]
        far, _, long, _ = _led(top, p)
        rest = (way[0] - far) * up
        guess = up * _from_rest(abs(way[0]), acceleration[0], jerk[0])
        return [foot, top, guess, where(rest < 0.0, -1.0, long + rest / velocity[0])]

    return LawProgram("fastest motions of joints", law, dict.fromkeys((*SIX[:-1], "velocity"), 1), True, cpu=cpu)


@lru_cache(maxsize=4)
def _duration_program(cpu: str) -> LawProgram:
    """Return the program for how long a motion with a cruise takes."""

    def law(v0: Scalars, v1: Scalars, acceleration: Scalars, jerk: Scalars, way: Scalars, vp: Scalars) -> list[Scalar]:
        far, _, long, _ = _led(vp[0], [v0[0], v1[0], acceleration[0], jerk[0]])
        rest = where(vp[0] < 0.0, far - way[0], way[0] - far)
        cruise = rest / where(abs(vp[0]) > 0.0, abs(vp[0]), 1.0)
        return [long + where(abs(vp[0]) > 0.0, where(cruise < 0.0, 0.0, cruise), 0.0)]

    return LawProgram("durations of motions", law, dict.fromkeys(SIX, 1), True, cpu=cpu)


@lru_cache(maxsize=4)
def _slower_program(cpu: str) -> LawProgram:
    """Return the program for where the velocity of a slower motion is: its foot, a guess, its duration at the foot."""

    def law(
        v0: Scalars, v1: Scalars, acceleration: Scalars, jerk: Scalars, way: Scalars, vp: Scalars, duration: Scalars
    ) -> list[Scalar]:
        p = [v0[0], v1[0], acceleration[0], jerk[0]]
        highest = where(vp[0] < 0.0, minimum(v0[0], v1[0]), maximum(v0[0], v1[0]))
        turns = highest * vp[0] > 0.0
        far, _, long, _ = _led(highest, p)
        at_foot = where(turns, long + (way[0] - far) / where(turns, highest, 1.0), NEVER)
        at_foot = where(abs(vp[0]) > 0.0, at_foot, 0.0)
        # from rest to rest, with the acceleration at its limit
        spare = maximum(duration[0] - acceleration[0] / jerk[0], 0.0)
        inner = maximum(spare * spare - 4.0 * abs(way[0]) / acceleration[0], 0.0)
        guess = 0.5 * acceleration[0] * (spare - sqrt(inner))
        short = guess * jerk[0] < acceleration[0] * acceleration[0]
        slow = abs(way[0]) / duration[0]
        for _ in range(4):  # 2 sqrt(v / jerk) + way / v = duration
            slow = abs(way[0]) / maximum(duration[0] - 2.0 * sqrt(slow / jerk[0]), 0.3 * duration[0])
        guess = where(short, slow, guess)
        return [where(turns, highest, 0.0), where(vp[0] < 0.0, -guess, guess), at_foot]

    return LawProgram("slower motions of joints", law, dict.fromkeys((*SIX, "duration"), 1), True, cpu=cpu)


@lru_cache(maxsize=4)
def _phase_program(cpu: str) -> LawProgram:
    """Return the program for durations and jerks of the seven phases."""

    def law(v0: Scalars, v1: Scalars, acceleration: Scalars, jerk: Scalars, way: Scalars, vp: Scalars) -> list[Scalar]:
        lengths: list[Scalar] = []
        jerks: list[Scalar] = []
        far, _, _, _ = _led(vp[0], [v0[0], v1[0], acceleration[0], jerk[0]])
        rest = where(vp[0] < 0.0, far - way[0], way[0] - far) / where(abs(vp[0]) > 0.0, abs(vp[0]), 1.0)
        for v, way_ in ((v0[0], 1.0), (v1[0], -1.0)):
            apart = abs(vp[0] - v)
            short = apart * jerk[0] < acceleration[0] * acceleration[0]
            rising = where(short, sqrt(apart / jerk[0]), acceleration[0] / jerk[0])
            sign = where(vp[0] < v, -way_, way_) * jerk[0]
            lengths += [rising, where(short, 0.0, apart / acceleration[0] - rising), rising]
            jerks += [sign, 0.0 * sign, -sign]
        cruise = where(rest > 0.0, where(abs(vp[0]) > 0.0, rest, 0.0), 0.0)
        return [*lengths[:3], cruise, *lengths[3:], *jerks[:3], 0.0 * cruise, *jerks[3:]]

    return LawProgram("phases of motions", law, dict.fromkeys(SIX, 1), True, cpu=cpu)


NEVER = 1e300
"""Stands for durations that are never reached."""


class _Joints:
    """The joints of many motions, each a number in flat arrays."""

    def __init__(self, way: Array, v0: Array, v1: Array, limits: tuple[Array, Array, Array], threads: int) -> None:
        self.way, self.v0, self.v1, self.threads = way, v0, v1, threads
        self.velocity, self.acceleration, self.jerk = limits

    def at(self, which: Any) -> _Joints:
        """Return some of them."""
        limits = self.velocity[which], self.acceleration[which], self.jerk[which]
        return _Joints(self.way[which], self.v0[which], self.v1[which], limits, self.threads)

    def evaluate(self, program: LawProgram, **more: Array) -> Array:
        """Return what a program finds for each joint."""
        known = {"v0": self.v0, "v1": self.v1, "acceleration": self.acceleration, "jerk": self.jerk, "way": self.way}
        return program({name: x[:, None] for name, x in (known | more).items()}, self.threads)

    def led(self, vp: Array) -> tuple[Array, Array]:
        """Return how far and how long changes to a velocity between and from it lead."""
        far, _, long, _ = _led(vp, (self.v0, self.v1, self.acceleration, self.jerk))
        return np.asarray(far), np.asarray(long)

    def lasts(self, vp: Array) -> Array:
        """Return how long motions take."""
        return self.evaluate(_duration_program(""), vp=vp)[:, 0]

    def found(self, which: int, start: Array, duration: Array) -> Array:
        """Return the velocity between two others at which changes lead as far, or a motion takes as long, as wanted.

        Parameters
        ----------
        which : int
        start : ndarray (joints, 3)
            The velocity from which distances count, the other one, and a guess.
        duration
        """
        foot = start[:, 0]
        ways = np.where(start[:, 1] >= foot, 1.0, -1.0)
        given = np.stack([self.v0, self.v1, self.acceleration, self.jerk, self.way, duration, ways], axis=-1)
        w = _programs("")[which](start, (given,), MOST_STEPS, self.threads)[..., 0]
        return np.asarray(foot + ways * w * w)

    def fastest(self) -> tuple[Array, Array]:
        """Return the velocities of the fastest motions between their changes, and how long these take."""
        known = self.evaluate(_fastest_program(""), velocity=self.velocity)
        vp, least = known[:, 1].copy(), known[:, 3].copy()
        some = np.flatnonzero(least < 0.0)
        if some.size:
            part = self.at(some)
            between = part.found(0, known[some, :3], part.way)
            vp[some] = np.where(np.abs(between) < NO_VELOCITY, 0.0, between)
            least[some] = part.lasts(vp[some])
        return vp, least

    def lasting(self, vp: Array, least: Array, duration: Array) -> Array:
        """Return the velocities between with which motions last as long as wanted; NaN where none does.

        Between the fastest motion and one that stops on the way, the duration rises, unless it slows down below both
        its velocities, which leads further for a while.

        Parameters
        ----------
        vp, least
            Velocities and durations of the fastest motions.
        duration
        """
        result = vp.copy()
        rests = (vp == 0.0) & (self.v0 == 0.0) & (self.v1 == 0.0)
        slower = np.flatnonzero((duration > least * (1.0 + 1e-12)) & ~rests)
        part, wanted = self.at(slower), duration[slower]
        foot, guess, at_foot = part.evaluate(_slower_program(""), vp=vp[slower], duration=wanted[:, None][:, 0]).T
        easy = wanted <= at_foot
        some = slower[easy]
        if some.size:
            start = np.stack([vp[some], foot[easy], guess[easy]], axis=-1)
            result[some] = self.at(some).found(1, start, duration[some])
        some = slower[~easy]
        if some.size:
            result[some] = self.at(some).tried(duration[some])
        return result

    def every(self) -> Array:
        """Return many velocities of cruises, (velocities, joints), in rising order."""
        share = np.linspace(-1.0, 1.0, TRIED)[:, None]
        vp = np.sign(share) * share**2 * self.velocity
        return np.sort(np.concatenate([vp, self.v0[None], self.v1[None]]), axis=0)

    def tried(self, duration: Array) -> Array:
        """Return velocities of cruises that last as long as wanted, from all that there are; NaN where none does."""
        vp = self.every()
        with np.errstate(all="ignore"):
            far, long = self.led(vp)
            cruise = (self.way - far) / vp
            value = np.where(cruise >= -1e-12, long + cruise - duration, np.nan)
            crosses = (value[:-1] * value[1:] <= 0.0) & (vp[:-1] * vp[1:] >= 0.0)
        found = np.full(len(duration), np.nan)
        some = crosses.any(axis=0)
        if some.any():
            k = np.argmax(crosses, axis=0)[some]
            lanes = np.flatnonzero(some)
            low, high, sign = vp[k, lanes], vp[k + 1, lanes], np.sign(value[k, lanes])
            part, wanted = self.at(lanes), duration[lanes]
            for _ in range(80):
                middle = 0.5 * (low + high)
                with np.errstate(all="ignore"):
                    far, long = part.led(middle)
                    now = long + (part.way - far) / middle - wanted
                same = now * sign > 0.0
                low, high = np.where(same, middle, low), np.where(same, high, middle)
            found[lanes] = 0.5 * (low + high)
        return found

    def with_jerk(self, jerk: Array) -> _Joints:
        """Return the same with other limits of jerk."""
        limits = self.velocity, self.acceleration, jerk
        return _Joints(self.way, self.v0, self.v1, limits, self.threads)

    def gentler(self, duration: Array) -> tuple[Array, Array]:
        """Return velocities and lower jerks with which the fastest motions take a given time; NaN where none do."""
        with np.errstate(all="ignore"):
            shares = np.geomspace(1.0, LEAST_JERK, JERKS_TRIED)
            least = np.stack([self.with_jerk(share * self.jerk).fastest()[1] for share in shares]) - duration
            crosses = least[:-1] * least[1:] <= 0.0
            first = np.argmax(crosses, axis=0)
            low, high = shares[first + 1], shares[first]
            for _ in range(60):
                middle = 0.5 * (low + high)
                late = self.with_jerk(middle * self.jerk).fastest()[1] > duration
                low, high = np.where(late, middle, low), np.where(late, high, middle)
            jerk = high * self.jerk
            vp, least = self.with_jerk(jerk).fastest()
        fine = crosses.any(axis=0) & (np.abs(least - duration) <= 1e-10 * duration)
        return np.where(fine, vp, np.nan), np.where(fine, jerk, self.jerk)

    def later(self, duration: Array) -> Array:
        """Return the shortest durations, from given ones on, of motions with a cruise."""
        vp = self.every()
        with np.errstate(all="ignore"):
            far, long = self.led(vp)
            spare = (self.way - far) * np.sign(vp)
            low, high, sign = vp[:-1].copy(), vp[1:].copy(), np.sign(spare[:-1])
            edge = (spare[:-1] * spare[1:] <= 0.0) & (vp[:-1] * vp[1:] >= 0.0)
            for _ in range(80):
                middle = 0.5 * (low + high)
                same = (self.way - self.led(middle)[0]) * np.sign(middle) * sign > 0.0
                low, high = np.where(same, middle, low), np.where(same, high, middle)
            at_edges = np.where(edge, self.led(high)[1], np.inf)
            inside = np.where(spare >= 0.0, long + spare / np.abs(vp), np.inf)
        every = np.concatenate([at_edges, inside])
        return np.asarray(np.where(every >= duration, every, np.inf).min(axis=0))


def _vectors(given: dict[str, ArrayLike], n: int) -> dict[str, Array]:
    found = {}
    for name, value in given.items():
        numbers = as_array(value, (), name)
        if numbers.ndim and numbers.shape[-1] not in (1, n):
            raise ShapeError(f"{name} has {numbers.shape[-1]} entries, and there are {n} joints")
        found[name] = numbers
    shape = np.broadcast_shapes((n,), *(x.shape for x in found.values()))
    return {name: np.broadcast_to(x, shape) for name, x in found.items()}


def _refuse(bad: Array, what: str) -> None:
    if bad.any():
        joint = int(np.argwhere(bad)[0][-1])
        place = "" if bad.ndim == 1 else f" (motion {tuple(int(k) for k in np.argwhere(bad)[0][:-1])})"
        raise OptionError(f"joint {joint}{place}: {what}")


def jerk_limited(
    q0: ArrayLike, q1: ArrayLike, *, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike,
    v0: ArrayLike = 0.0, v1: ArrayLike = 0.0, synchronized: bool = True, threads: int = 1,
) -> JerkLimitedMotion:  # fmt: skip
    """Return the fastest motion from one state to another, within limits of velocities, accelerations and jerks.

    Accelerations are zero at both ends. Joints arrive together, unless ``synchronized=False``.

    Parameters
    ----------
    q0, q1 : array_like (..., joints)
        Positions at both ends; leading axes are a batch of motions.
    velocity, acceleration, jerk : float or array_like (..., joints)
        Largest magnitudes.
    v0, v1 : float or array_like (..., joints)
        Velocities at both ends.
    synchronized : bool
        Whether joints that could be earlier arrive with the last one.
    threads : int

    Returns
    -------
    JerkLimitedMotion
        A trajectory, or a batch of them: ``found[k]`` is one, ``found.duration`` has all durations.

    Examples
    --------
    >>> import kinetree as kt
    >>> move = kt.trajectories.jerk_limited([0.0, 0.0], [1.0, -0.3], velocity=1.0, acceleration=2.0, jerk=10.0)
    >>> round(move.duration, 3)
    1.7
    >>> q, v, a = move(move.duration)
    >>> q.round(12).tolist()
    [1.0, -0.3]
    """
    n = max((np.shape(x)[-1] if np.ndim(x) else 1) for x in (q0, q1))
    known = _vectors(
        {"q0": q0, "q1": q1, "velocity": velocity, "acceleration": acceleration, "jerk": jerk,
         "v0": v0, "v1": v1},
        n,
    )  # fmt: skip
    for name in ("velocity", "acceleration", "jerk"):
        wrong = ~(known[name] > 0.0) & ~np.isnan(known[name]) | np.isinf(known[name])
        _refuse(wrong, f"{name} must be a positive, finite number")
    for name in ("v0", "v1"):
        _refuse(np.abs(known[name]) > known["velocity"], f"its {name} is beyond its velocity limit")
    shape = known["q0"].shape
    flat = {name: np.ascontiguousarray(x).reshape(-1) for name, x in known.items()}
    limits = flat["velocity"], flat["acceleration"], flat["jerk"]
    joints = _Joints(flat["q1"] - flat["q0"], flat["v0"], flat["v1"], limits, threads)
    with np.errstate(all="ignore"):
        vp, least = joints.fastest()
        if synchronized and n > 1:
            vp, joints.jerk = _together(joints, vp, least, n)
    vp = np.where(np.isnan(joints.way), np.nan, vp)
    parts = known["q0"], joints.way, joints.v0, joints.v1, vp, joints.acceleration, joints.jerk, least
    return JerkLimitedMotion(*(np.array(x).reshape(shape) for x in parts))


def _together(joints: _Joints, vp: Array, least: Array, n: int) -> tuple[Array, Array]:
    """Return velocities between with which all joints of a motion arrive together, as early as they can, and jerks."""
    last = least.reshape(-1, n).max(axis=1)
    found, jerk = joints.lasting(vp, least, np.repeat(last, n)), joints.jerk
    some = np.flatnonzero(np.isnan(found) & ~np.isnan(least))
    if some.size:
        jerk = jerk.copy()
        found[some], jerk[some] = joints.at(some).gentler(np.repeat(last, n)[some])
    for _ in range(MOST_LATER):
        missing = np.isnan(found) & ~np.isnan(least)
        if not missing.any():
            break
        late = np.flatnonzero(missing.reshape(-1, n).any(axis=1))
        some = np.flatnonzero(missing)
        after = np.full(len(found), -np.inf)
        after[some] = joints.at(some).later(last[some // n])
        last[late] = np.maximum(last[late], after.reshape(-1, n).max(axis=1)[late]) * (1.0 + 1e-13)
        every = (late[:, None] * n + np.arange(n)).ravel()
        wanted = np.repeat(last[late], n)
        found[every], jerk[every] = joints.at(every).lasting(vp[every], least[every], wanted), joints.jerk[every]
        some = every[np.isnan(found[every])]
        if some.size:
            found[some], jerk[some] = joints.at(some).gentler(last[some // n])
    return found, jerk

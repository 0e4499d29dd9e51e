"""From samples to motions without noise: frequencies chosen from the spectrum, zero-phase filters, derivatives.

Two filters are used (Gautier's scheme).  The first removes noise from positions and velocities, well above the
frequencies of the motion, so that their derivatives are usable.  The second is applied to both sides of the equation,
to the columns of the regressor and the joint forces, and so does not change the solution; after this filter, only as
many samples are kept as its bandwidth allows, so that their noise is independent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import signal
from scipy.interpolate import make_interp_spline

from ..errors import IdentificationError, OptionError
from ..spatial.arrays import Array
from . import tuned_constants as tuned
from .sampling import Piece

if TYPE_CHECKING:
    from ..robot.robot import Robot


@dataclass(frozen=True)
class Band:
    """Frequencies in Hz: those found in the spectrum, and those used."""

    motion: float
    """The highest frequency of the motion that is distinguishable from the noise."""
    cutoff: float
    """Cutoff of the filter of positions, velocities and measured accelerations."""
    both_sides: float
    """Cutoff of the filter applied to both sides of the equation."""
    sampling: float
    """Sampling frequency of the data."""

    @property
    def factor(self) -> int:
        """The decimation factor after the second filter: one of this many samples is kept."""
        return max(1, int(self.sampling / (2.0 * self.both_sides)))


@dataclass(frozen=True)
class Spectrum:
    """Power of the joints' velocities over frequency, (frequencies, nv)."""

    frequency: Array
    power: Array

    def highest_of_motion(self) -> float:
        """Return the highest frequency at which joints move, 0 if none does.

        Above the frequency of the largest motion, the spectrum of the accelerations falls until noise, amplified by
        differentiation, makes it rise again: the motion ends at the minimum in between. Motions with several
        frequencies, such as sums of sines, also have minima between their lines, so the search begins at the last
        distinct line.
        """
        totals = np.sum(self.power, axis=0)
        moving = totals > tuned.LEAST_MOTION**2 * np.max(totals)
        if not moving.any() or np.max(totals) <= 0.0:
            return 0.0
        return self._valley(np.mean(self.power[:, moving] / totals[moving], axis=1))  # joints differ only by chance

    def _valley(self, power: Array) -> float:
        cumulated = np.cumsum(power)
        most = self.frequency[np.argmax(cumulated >= (1.0 - tuned.OF_POWER) * cumulated[-1])]
        peak = max(1, int(np.argmax(power)))
        octaves = np.rint(tuned.PER_OCTAVE * np.log2(self.frequency[peak:] / self.frequency[peak])).astype(int)
        accelerations = power[peak:] * self.frequency[peak:] ** 2
        counts = np.bincount(octaves)
        level = np.bincount(octaves, accelerations)[counts > 0] / counts[counts > 0]
        middle = np.bincount(octaves, self.frequency[peak:])[counts > 0] / counts[counts > 0]
        start = _last_line(middle, level / middle**2, level)
        middle, level = middle[start:], level[start:]
        risen = np.flatnonzero(level > tuned.RISES_AGAIN * np.minimum.accumulate(level))
        valley = middle[int(np.argmin(level[: risen[0]])) if len(risen) else -1]
        return float(min(valley, most))


def _last_line(frequency: Array, speeds: Array, accelerations: Array) -> int:
    """Return the last part of a spectrum that is clearly motion: much power, and less within the next octave.

    Strong noise also has much power, but over many octaves; the drop at half the sampling frequency is ignored.
    """
    padded = np.pad(accelerations, (0, tuned.PER_OCTAVE), mode="edge")
    behind = np.lib.stride_tricks.sliding_window_view(padded, tuned.PER_OCTAVE + 1).min(axis=-1)
    lines = (speeds >= tuned.STANDS_OUT * np.max(speeds)) & (accelerations > tuned.RISES_AGAIN * behind)
    lines &= frequency < tuned.SAMPLED_WELL * frequency[-1]
    return int(np.flatnonzero(lines)[-1]) if lines.any() else 0


def spectrum(pieces: Sequence[Piece], robot: Robot) -> Spectrum:
    """Return the mean spectrum of the velocities of all pieces."""
    rate = 1.0 / pieces[0].step
    length = min(max(len(piece) for piece in pieces), max(256, int(8.0 * rate)))
    long_enough = [piece for piece in pieces if len(piece) >= length]
    total, frequency = np.zeros(()), np.zeros(0)
    for piece in long_enough:
        v = piece.v if piece.v is not None else _rates(piece.q, piece.step, robot)
        frequency, power = signal.welch(v, rate, nperseg=length, axis=0)
        total = total + len(piece) * power
    return Spectrum(frequency, total / sum(len(piece) for piece in long_enough))


def choose_band(
    pieces: Sequence[Piece], robot: Robot, cutoff: float | None = None, both_sides: float | None = None
) -> Band:
    """Choose the frequencies of the filters.

    cutoff, both_sides: Frequencies in Hz; by default, they are chosen from the spectrum.
    """
    rate = 1.0 / pieces[0].step
    highest, nyquist = spectrum(pieces, robot).highest_of_motion(), 0.5 * rate
    if highest == 0.0:
        raise IdentificationError("no joint moves: a motion is needed to identify anything")
    for value, what in ((cutoff, "cutoff"), (both_sides, "both_sides")):
        if value is not None and not 0.0 < value < nyquist:
            raise OptionError(
                f"{what} must be between 0 and {nyquist:g} Hz, half the sampling frequency, not {value!r}"
            )
    few = tuned.LEAST_KEPT / (2.0 * sum(len(piece) for piece in pieces) / rate)  # below this, too few are kept
    first = cutoff or min(max(tuned.MOTION_FILTER * highest, few), 0.8 * nyquist)
    second = both_sides or min(max(tuned.BOTH_SIDES * highest, few), first, 0.5 * nyquist)
    return Band(highest, first, second, rate)


@dataclass(frozen=True)
class FilteredMotion:
    """Positions, velocities and accelerations at even times, with the forces that were measured."""

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: dict[str, Array]
    speed_noise: Array
    """Standard deviation of the remaining noise of the velocities."""


def filtered(piece: Piece, band: Band, robot: Robot) -> FilteredMotion:
    """Remove noise from a motion and differentiate it; forces are kept as measured."""
    sos = signal.butter(tuned.ORDER, band.cutoff, fs=band.sampling, output="sos")
    padding = min(len(piece) - 1, max(30, int(3.0 * band.sampling / band.cutoff)))

    def smooth(x: Array) -> Array:
        return np.asarray(signal.sosfiltfilt(sos, x, axis=0, padlen=padding))

    q = on_manifold(smooth(continuous(piece.q, robot)), robot)
    v = _rates(q, piece.step, robot) if piece.v is None else smooth(piece.v)
    a = _derivative(v, piece.step) if piece.a is None else smooth(piece.a)
    return FilteredMotion(piece.t, q, v, a, piece.tau, piece.wrenches, _speed_noise(piece, q, v, band, robot))


def lag_of_velocities(pieces: Sequence[Piece], band: Band, robot: Robot) -> float:
    """Return by how many seconds measured velocities lag behind the positions; 0 if no lag is clear.

    Robots filter velocities before they report them. After reversals, friction then has the wrong sign for the duration
    of the lag, and is underestimated. The difference between reported and true velocities is the lag times the
    acceleration.

    band: Band of the motion's filter.
    """
    if any(piece.v is None for piece in pieces):
        return 0.0
    told, derived, slopes = [], [], []
    for piece in pieces:
        at = replace(band, sampling=1.0 / piece.step)
        seen, own = filtered(piece, at, robot), filtered(replace(piece, v=None, a=None), at, robot)
        inside = slice(len(piece) // 20, len(piece) - len(piece) // 20)  # derivatives are inaccurate at the ends
        told.append(seen.v[inside])
        derived.append(own.v[inside])
        slopes.append(own.a[inside])
    measured, found, slope = (np.concatenate(parts) for parts in (told, derived, slopes))
    size = np.maximum(np.std(found, axis=0), 1e-300)
    moving = size > tuned.LEAST_MOTION * np.max(size)
    off, slope = ((x / size)[:, moving] for x in (found - measured, slope))
    lag = float(np.sum(off * slope) / max(np.sum(slope**2), 1e-300))
    each = np.sum(off * slope, axis=0) / np.maximum(np.sum(slope**2, axis=0), 1e-300)
    alike = len(each) > 2 and np.std(each) < tuned.LAGS_ALIKE * abs(lag)
    explained = np.sum((off - lag * slope) ** 2) < tuned.LAG_LEAVES * np.sum(off**2)
    return lag if tuned.LEAST_LAG < abs(lag) < tuned.LONGEST_LAG and (alike or explained) else 0.0


def without_lag(piece: Piece, lag: float) -> Piece:
    """Return these samples with velocities taken ``lag`` seconds later."""
    if not lag or piece.v is None:
        return piece
    v = make_interp_spline(piece.t, piece.v, k=3)(np.clip(piece.t + lag, piece.t[0], piece.t[-1]))
    return replace(piece, v=np.asarray(v))


def _speed_noise(piece: Piece, q: Array, v: Array, band: Band, robot: Robot) -> Array:
    """Return the standard deviation of the velocities' noise after the filter.

    White noise of measured velocities passes up to the cutoff; noise of positions is multiplied by the angular
    frequency when it is differentiated, so far less of it remains than of the same noise in velocities.
    """
    passed = np.sqrt(band.cutoff / (0.5 * band.sampling))
    if piece.v is not None:
        return np.asarray(passed * np.std(np.diff(piece.v - v, axis=0), axis=0) / np.sqrt(2.0))
    rest = robot.difference(q, continuous(piece.q, robot)) if robot.nq != robot.nv else piece.q - q
    slope = 2.0 * np.pi * band.cutoff / np.sqrt(3.0)  # the mean square of the angular frequency up to the cutoff
    return np.asarray(slope * passed * np.std(np.diff(rest, axis=0), axis=0) / np.sqrt(2.0))


class SingleCoordinates:
    """A stand-in for a robot whose joints have one coordinate each; the filters need only their number."""

    def __init__(self, count: int) -> None:
        self.nq = self.nv = count
        self.model = self
        self.joints: tuple[object, ...] = ()


def _derivative(x: Array, step: float) -> Array:
    """Differentiate samples with a quintic spline."""
    times = step * np.arange(len(x))
    return np.asarray(make_interp_spline(times, x, k=5).derivative()(times))


def _rates(q: Array, step: float, robot: Robot) -> Array:
    """Return velocities from positions, with the robot's differences if rates of coordinates are not velocities."""
    if robot.nq == robot.nv and all(j.kind.q_units == j.kind.v_units for j in robot.model.joints):
        return _derivative(q, step)
    ahead, behind = np.concatenate([q[1:], q[-1:]]), np.concatenate([q[:1], q[:-1]])
    spans = np.full(len(q), 2.0 * step)
    spans[[0, -1]] = step
    return np.asarray(robot.difference(behind, ahead)) / spans[:, None]


def continuous(q: Array, robot: Robot) -> Array:
    """Return quaternions without changes of sign between neighbors, so that they can be filtered."""
    found = q.copy()
    for part in _quaternions(robot):
        flips = np.sum(found[1:, part] * found[:-1, part], axis=1) < 0.0
        found[1:, part] *= np.where(np.cumsum(flips) % 2 == 1, -1.0, 1.0)[:, None]
    return found


def on_manifold(q: Array, robot: Robot) -> Array:
    """Return quaternions of unit length."""
    for part in _quaternions(robot):
        q[:, part] /= np.linalg.norm(q[:, part], axis=1, keepdims=True)
    return q


def _quaternions(robot: Robot) -> list[slice]:
    """List the indices of quaternions: four entries without a unit."""
    found = []
    for joint in robot.model.joints:
        if not joint.mimic and joint.kind.q_units[:4] == ("1",) * 4:
            found.append(slice(joint.q_slice.start, joint.q_slice.start + 4))
    return found


# ------------------------------------------------------------------ the filter of both sides


@dataclass(frozen=True)
class Decimation:
    """A symmetric window that moves by several samples at a time: a filter with decimation."""

    weights: Array  # (2 half + 1,)
    """Weights of the samples around the one that is kept; their sum is one."""
    factor: int
    """Number of samples by which the window moves."""
    count: int
    """Number of input samples."""

    @classmethod
    def of(cls, band: Band, count: int) -> Decimation:
        """Return the window for a piece of ``count`` samples."""
        factor = band.factor
        if factor == 1:
            return cls(np.ones(1), 1, count)
        half = 4 * factor
        weights = signal.firwin(2 * half + 1, tuned.WHITE / factor, window=("kaiser", 5.0))
        return cls(weights / weights.sum(), factor, count)

    @property
    def centers(self) -> Array:
        """The samples that are kept: those with a whole window around them."""
        half = len(self.weights) // 2
        return np.arange(half, self.count - half, self.factor)

    def __call__(self, x: Array, first: int = 0, last: int | None = None) -> Array:
        """Filter an array along its first axis.

        x: (n, ...). Samples, starting with the first one that the window around center ``first`` needs.
        first, last: Range of centers.
        """
        centers = self.centers[first:last]
        if not len(centers):
            return np.zeros((0, *x.shape[1:]))
        start = self.centers[first] - len(self.weights) // 2
        if len(self.weights) == 1:
            return x[centers - start]
        flat, half = x.reshape(len(x), -1), len(self.weights) // 2
        if flat.shape[1] <= tuned.FEW_COLUMNS:
            found = signal.upfirdn(self.weights, flat, down=self.factor, axis=0)[2 * half // self.factor :][
                : len(centers)
            ]
        else:
            found = np.stack([self.weights @ flat[c - start - half : c - start + half + 1] for c in centers])
        return found.reshape(len(centers), *x.shape[1:])

    def block(self, first: int, last: int) -> slice:
        """Return which samples the windows around some centers need."""
        centers, half = self.centers, len(self.weights) // 2
        return slice(int(centers[first]) - half, int(centers[min(last, len(centers)) - 1]) + half + 1)

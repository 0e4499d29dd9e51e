"""Plate cams from the desired motion of a follower: profile, pressure angle, curvature, undercutting.

The cam turns counterclockwise about the origin; seen from the cam, the follower goes around it clockwise. A translating
follower moves along y at the distance ``offset`` from the center, an oscillating one turns about a pivot on the x axis.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from kinetree.errors import OptionError, ShapeError, UnknownNameError, explains_arguments
from kinetree.io.atomic_files import beside
from kinetree.io.paths import as_path
from kinetree.io.tables.writing import csv_text
from kinetree.io.units import ShownUnits, in_si
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import real_number, shown, whole_number

from .outlines import MM, new_dxf

POLYNOMIALS = {"3-4-5": (0, 0, 0, 10, -15, 6), "4-5-6-7": (0, 0, 0, 0, 35, -84, 70, -20)}
LAWS = ("cycloid", "harmonic", *POLYNOMIALS)
"""Laws of a follower's rise and fall; all but the harmonic one have continuous accelerations."""

FOLLOWERS = ("roller", "flat")
Motion = tuple[Array, Array, Array]


def _law(name: str, x: Array) -> Motion:
    """Return a rise from 0 to 1 over x from 0 to 1, with two derivatives."""
    if name == "cycloid":
        turn = 2 * np.pi * x
        return x - np.sin(turn) / (2 * np.pi), 1 - np.cos(turn), 2 * np.pi * np.sin(turn)
    if name == "harmonic":
        half = np.pi * x
        return (1 - np.cos(half)) / 2, np.pi / 2 * np.sin(half), np.pi**2 / 2 * np.cos(half)
    if name not in POLYNOMIALS:
        raise UnknownNameError("law of a cam", name, LAWS)
    p = np.polynomial.Polynomial(POLYNOMIALS[name])
    return p(x), p.deriv()(x), p.deriv(2)(x)


@dataclass(frozen=True)
class Cam:
    """A cam, sampled over a turn; make one with :func:`cam`.

    Attributes
    ----------
    angle : ndarray, shape (n,)
        Angle of the cam, in radians.
    lift, rate, second : ndarray, shape (n,)
        Lift of the follower and its first two derivatives with respect to the angle; in meters, or radians for an
        oscillating follower.
    pitch, profile : ndarray, shape (n, 2)
        Paths of the roller's center and of its contact point, on the cam; for a flat face both are the profile.
    pressure_angle : ndarray, shape (n,)
        Angle between the force on the follower and its direction of motion; guides jam above some 30 degrees.
    radius : ndarray, shape (n,)
        Radius of curvature of the profile: negative where it is hollow, infinite where it is straight.
    undercut : ndarray of bool, shape (n,)
        Where the profile cannot be made: it would cut into itself, and the follower would not move as desired.
    """

    angle: Array
    lift: Array
    rate: Array
    second: Array
    pitch: Array
    profile: Array
    pressure_angle: Array
    radius: Array
    undercut: Array
    oscillates: bool

    @cached_property
    def face_width(self) -> float:
        """The width that a flat face needs to touch the cam all the way around."""
        return float(np.ptp(self.rate))

    def __str__(self) -> str:
        unit, times = ("degrees", np.degrees(1.0)) if self.oscillates else ("mm", MM)
        worst = int(np.argmax(np.abs(self.pressure_angle)))
        convex, largest = self.radius[self.radius > 0], np.hypot(*self.profile.T).max()
        lines = [
            f"cam of {times * np.ptp(self.lift):.4g} {unit} lift, largest radius {MM * largest:.4g} mm",
            f"pressure angle up to {np.degrees(abs(self.pressure_angle[worst])):.4g} degrees, at "
            f"{np.degrees(self.angle[worst]):.4g} degrees",
            f"least radius of curvature {MM * convex.min(initial=np.inf):.4g} mm"
            + (f", hollow of {MM * -self.radius[self.radius < 0].max():.4g} mm" if (self.radius < 0).any() else ""),
        ]
        if self.undercut.any():
            where = np.degrees(self.angle[self.undercut])
            lines.append(
                f"UNDERCUT from {where.min():.4g} to {where.max():.4g} degrees: take a larger base, a smaller roller, "
                "or a slower motion"
            )
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str], units: str | Sequence[str] | ShownUnits | None = None) -> None:
        """Write the profile: ``.csv`` with the motion, or ``.dxf`` in millimeters (needs ezdxf).

        Parameters
        ----------
        path : path
            In a DXF file the profile is on the layer ``cam``, the path of a roller's center on ``pitch_curve``.
        units : str or sequence of str, optional
            Units of a ``.csv`` table instead of SI, such as ``"deg mm"``.  Its columns name their units: ``lift [mm]``.
        """
        place, wanted = as_path(path, "a file of a cam"), ShownUnits.read(units)
        if place.suffix.lower() not in (".csv", ".dxf"):
            raise OptionError(f"cams are written as .csv or .dxf, not {place.suffix or 'without ending'!r}")
        if wanted.others and place.suffix.lower() == ".dxf":
            raise OptionError("a DXF file is in millimeters: leave out units=")
        with beside(place) as other:
            if place.suffix.lower() == ".dxf":
                document = new_dxf()
                rolls = not np.array_equal(self.pitch, self.profile)
                for layer, line in {"cam": self.profile, **({"pitch_curve": self.pitch} if rolls else {})}.items():
                    document.layers.add(layer)
                    document.modelspace().add_lwpolyline(line * MM, close=True, dxfattribs={"layer": layer})
                document.saveas(other)
                return
            other.write_text(csv_text(self._columns(wanted)), encoding="utf-8")

    def _columns(self, units: ShownUnits) -> dict[str, Array]:
        """Return the columns of a table, whose names end in their units."""
        (x, y), (px, py), along = self.profile.T, self.pitch.T, "rad" if self.oscillates else "m"
        rows = (
            ("angle", "rad", self.angle), ("lift", along, self.lift), ("x", "m", x), ("y", "m", y),
            ("pitch_x", "m", px), ("pitch_y", "m", py), ("pressure_angle", "rad", self.pressure_angle),
        )  # fmt: skip
        return {f"{name} [{units.label(unit)}]": units.shown(values, unit) for name, unit, values in rows}


@explains_arguments
def cam(
    motion: Sequence[Any] | Callable[[Array], Any] | ArrayLike,
    *,
    base_radius: float | str,
    roller_radius: float | str = 0.0,
    offset: float | str = 0.0,
    follower: str = "roller",
    pivot: float | str | None = None,
    arm: float | str | None = None,
    samples: int = 720,
) -> Cam:
    """Return the plate cam that gives a follower the desired motion.

    Parameters
    ----------
    motion : sequence of steps, callable or array_like
        ``[("rise", "90 deg", "2 mm"), ("dwell", "60 deg"), ("fall", "2 rad", "2 mm", "3-4-5"), ("dwell", "90 deg")]``:
        steps that make a whole turn, with the law of each (``"cycloid"`` by default, ``"harmonic"``, ``"3-4-5"``,
        ``"4-5-6-7"``); or a function of angles that returns the lift and its first two derivatives; or lifts at evenly
        spaced angles over a turn, which are interpolated by a smooth periodic curve.
    base_radius : float or str
        Least radius of the cam, in meters or with a unit.
    roller_radius : float or str
        Radius of the roller; zero for a knife edge.
    offset : float or str
        Distance of a translating follower's line of motion from the center.
    follower : {"roller", "flat"}
    pivot, arm : float or str, optional
        For an oscillating follower: distance of its pivot from the center, and length of its arm; the motion is then an
        angle.
    samples : int
        Number of points of the profile.

    Examples
    --------
    >>> import kinetree as kt
    >>> steps = [("rise", "120 deg", "20 mm"), ("dwell", "60 deg"), ("fall", "120 deg", "20 mm"), ("dwell", "60 deg")]
    >>> made = kt.design.cam(steps, base_radius="40 mm", roller_radius="10 mm")
    >>> bool(made.undercut.any())
    False
    """
    if follower not in FOLLOWERS:
        raise UnknownNameError("follower", follower, FOLLOWERS)
    base = _size(base_radius, "base_radius", True)
    roller, aside = _size(roller_radius, "roller_radius"), _size(offset, "offset")
    oscillates = pivot is not None or arm is not None
    if oscillates and (pivot is None or arm is None or aside or follower == "flat"):
        raise OptionError("a follower that oscillates has a roller, a pivot= and an arm=, and no offset")
    angle = np.linspace(0.0, 2 * np.pi, whole_number(samples, "samples", 8), endpoint=False)
    s, ds, dds = _motion(motion, angle, "rad" if oscillates else "m")
    if follower == "flat":
        pitch, _, _ = _around(angle, (ds, dds, dds), (base + s, ds, dds))
        radius = base + s + dds
        return Cam(angle, s, ds, dds, pitch, pitch, 0.0 * s, radius, radius <= 0.0, False)
    if oscillates:
        x, y, ways = _swinging(s, ds, dds, base + roller, _size(pivot, "pivot", True), _size(arm, "arm", True))
    else:
        if abs(aside) >= base + roller:
            raise OptionError("offset must be less than the sum of base radius and roller radius")
        x = (np.full_like(s, aside), 0.0 * s, 0.0 * s)
        y = (np.sqrt((base + roller) ** 2 - aside**2) + s, ds, dds)
        ways = np.stack([0.0 * s, 1.0 + 0.0 * s], axis=-1)
    pitch, first, second = _around(angle, x, y)
    speed = np.hypot(*first.T)
    bend = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / speed**3  # the pitch curve is walked clockwise
    normal = np.stack([-first[:, 1], first[:, 0]], axis=-1) / speed[:, None]
    (way, _, _), outward = _around(angle, *((x, x, x) for x in ways.T)), np.sign(np.einsum("ni,ni->n", normal, pitch))
    normal *= outward[:, None]
    pressure = np.arctan2(normal[:, 1] * way[:, 0] - normal[:, 0] * way[:, 1], np.einsum("ni,ni->n", normal, way))
    with np.errstate(divide="ignore"):
        of_pitch = -1.0 / bend
    radius = of_pitch - roller
    return Cam(
        angle, s, ds, dds, pitch, pitch - roller * normal, pressure, radius, (of_pitch > 0.0) & (radius <= 0.0),
        oscillates,
    )  # fmt: skip


def _size(given: float | str | None, name: str, positive: bool = False) -> float:
    return real_number(in_si(given, "m", name), name, positive=positive)


def _around(angle: Array, x: Motion, y: Motion) -> tuple[Array, Array, Array]:
    """Return a point in the cam's frame, turned back by the angle, with its first two derivatives."""
    c, s = np.cos(angle), np.sin(angle)
    (x0, x1, x2), (y0, y1, y2) = x, y
    turned = [
        np.stack([c * u + s * v, c * v - s * u], axis=-1)
        for u, v in ((x0, y0), (x1 + y0, y1 - x0), (x2 + 2 * y1 - x0, y2 - 2 * x1 - y0))
    ]
    return turned[0], turned[1], turned[2]


def _swinging(
    s: Array, ds: Array, dds: Array, pitch_radius: float, pivot: float, arm: float
) -> tuple[Motion, Motion, Array]:  # fmt: skip
    """Return the center of a roller on an arm, (pivot - arm cos, arm sin), with derivatives, and its direction."""
    cosine = (pivot**2 + arm**2 - pitch_radius**2) / (2 * pivot * arm)
    if abs(cosine) >= 1.0:
        raise OptionError("the arm does not reach the cam: pivot, arm and pitch radius must form a triangle")
    c, d = np.cos(np.arccos(cosine) + s), np.sin(np.arccos(cosine) + s)
    x = (pivot - arm * c, arm * d * ds, arm * (c * ds**2 + d * dds))
    y = (arm * d, arm * c * ds, arm * (c * dds - d * ds**2))
    return x, y, np.stack([d, c], axis=-1)


def _motion(given: Any, angle: Array, unit: str) -> Motion:
    if callable(given):
        found = given(angle)
        if len(found) != 3 or any(np.shape(x) != angle.shape for x in found):
            raise ShapeError(
                "a function of a cam's motion returns lift, first and second derivative, of the angles' shape"
            )
        s, ds, dds = (np.asarray(x, dtype=float) for x in found)
        return s, ds, dds
    steps = isinstance(given, (list, tuple)) and len(given) and isinstance(given[0], (list, tuple))
    if not steps:
        lifts = np.asarray(given, dtype=float)
        if lifts.ndim != 1 or len(lifts) < 6 or not np.isfinite(lifts).all():
            raise ShapeError(
                f"a cam's motion is steps, a function, or six lifts or more over a turn, not {shown(given)}"
            )
        even = np.linspace(0.0, 2 * np.pi, len(lifts) + 1)
        curve = make_interp_spline(even, np.append(lifts, lifts[0]), k=5, bc_type="periodic")
        return curve(angle), curve.derivative()(angle), curve.derivative(2)(angle)
    s, ds, dds = np.zeros_like(angle), np.zeros_like(angle), np.zeros_like(angle)
    begin, height = 0.0, 0.0
    for step in given:
        size, amount, law = _step(step, unit)
        here = (angle >= begin - 1e-12) & (angle < begin + size)
        a, b, c = _law(law, (angle[here] - begin) / size)
        s[here], ds[here], dds[here] = height + amount * a, amount * b / size, amount * c / size**2
        begin, height = begin + size, height + amount
    if abs(begin - 2 * np.pi) > 1e-9 or abs(height) > 1e-9 * np.abs(s).max(initial=1e-9):
        raise OptionError(
            f"the steps of a cam make a whole turn and end where they began: these make {np.degrees(begin):.6g} "
            f"degrees and end at {height:.6g} {unit}"
        )
    return s, ds, dds


def _step(step: Sequence[Any], unit: str) -> tuple[float, float, str]:
    word = step[0]
    if word not in ("rise", "fall", "dwell") or not (2 if word == "dwell" else 3) <= len(step) <= 4:
        raise OptionError(
            f"a step of a cam is ('rise', angle, lift, law), ('fall', ...) or ('dwell', angle), not {step!r}"
        )
    size = real_number(in_si(step[1], "rad", "angle of a step"), "angle of a step", positive=True)
    amount = 0.0 if word == "dwell" else real_number(in_si(step[2], unit, "lift of a step"), "lift of a step")
    return size, -amount if word == "fall" else amount, step[3] if len(step) > 3 else "cycloid"

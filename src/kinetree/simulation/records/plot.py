"""Plots of a record: motion, torques, energy, reactions over time, with units."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError, UnknownNameError, UnsupportedError, printable
from ...io.pictures import drawing
from ...io.plot_style import height_beside, keep_zero_flat, legend_beside, line
from ...io.units import ShownUnits
from ...model.force_units import FORCE_OF
from ...motion.trajectory_interface import Trajectory
from ...spatial.arrays import Array
from .tracking import tracking_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .record import Record

Curves = list[tuple[str, Array]]

WIDTH, HEIGHT = 9.0, 2.3
"""Size of a drawing, in inches; one with many names beside it is higher."""

LOW, MOST_SEPARATE = 1.5, 80
"""Height of a panel for a single joint, and the most panels of this kind."""

OF_ROBOT = ("energy", "reactions")
"""Parts of a plot that do not belong to a joint."""

NO_FORCE = 1e-9
"""Fraction of the largest force below which a direction counts as free of force."""

ENTRY = re.compile(r"\[\d+\]$|\.(q?[xyzw]|[wv][xyz]|-[xyz]|angle|about_[xyz]2?)$")
"""The suffix of a joint's name for one of several coordinates: ``root[3]``, ``root.qw``, ``root.z``."""


def plot(
    record: Record,
    what: str | tuple[str, ...],
    path: str | os.PathLike[str] | None,
    joints: str | Sequence[str] | None = None,
    desired: Trajectory | None = None,
    separate: bool = False,
    units: str | Sequence[str] | None = None,
    over: str | None = None,
) -> Figure:
    """Draw a record; see :meth:`kinetree.Record.plot`."""
    if record.batch:
        raise UnsupportedError("one simulation is drawn at a time: record.lane(index).plot()")
    if path is None and not isinstance(what, tuple) and Path(what).suffix:  # plot("run.png"): all to that file
        path, what = what, ()
    shown = ShownUnits.read(units)
    available = panels(record, _chosen(record, joints), desired, shown)
    across, along = (record.time, "time [s]") if over is None else _across(record, over, record.q, shown)
    chosen = (what,) if isinstance(what, str) else tuple(what) or tuple(available)
    for name in chosen:
        if name not in PANELS:
            raise UnknownNameError("part of a plot", name, PANELS)
        if name == "errors" and what and desired is None:
            raise OptionError("errors are those against a desired motion: plot('errors', desired=trajectory)")
    drawn = [(label, curves) for name in chosen for label, curves in available.get(name, []) if curves]
    if separate:
        drawn = _separated({name: available.get(name, []) for name in chosen})
    least = LOW if separate else HEIGHT
    heights = [height_beside(len(curves), least) for _, curves in drawn] or [HEIGHT]
    with drawing((WIDTH, sum(heights) + 0.6), path) as figure:
        axes: Any = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        looks: dict[str, int] = {}  # a joint looks the same in all panels, also where others are left out
        for axis, (label, curves) in zip(axes, drawn, strict=False):
            for k, (name, values) in enumerate(curves):
                axis.plot(
                    across, values, label=_label(name), **line(looks.setdefault(name, len(looks) if separate else k))
                )
            keep_zero_flat(axis, [x for other, those in drawn if other == label for _, x in those])
            for event in record.events:
                at = event.time if over is None else _across(record, over, event.q, shown)[0]
                axis.axvline(at, color="#5c6670", linewidth=0.8, linestyle=":")
            axis.set_ylabel(label)
            legend_beside(axis)
        axes[-1].set_xlabel(along)
        figure.align_ylabels()
        figure.suptitle(_label(str(record.info.get("robot", ""))))
    return figure


def _across(record: Record, over: str, q: Array, shown: ShownUnits) -> tuple[Any, str]:
    """Return the positions of a joint, in the place of times, and what they are called."""
    if over not in record.q_names:
        raise UnknownNameError("coordinate of the record", over, record.q_names)
    k = record.q_names.index(over)
    unit = (record.info.get("q_units") or [""] * len(record.q_names))[k]
    label = _label(over) + (f" [{shown.label(unit)}]" if unit else "")
    return shown.shown(q[..., k], unit), label


def _separated(parts: dict[str, list[tuple[str, Curves]]]) -> list[tuple[str, Curves]]:
    """Return axes of one joint each, so that small curves have their own scale; energy and reactions stay together."""
    made: list[tuple[str, Curves]] = []
    for part, whole in parts.items():
        for label, curves in whole:
            if part in OF_ROBOT:
                made += [(label, curves)] if curves else []
                continue
            for joint in dict.fromkeys(joint_of(name) for name, _ in curves):
                made.append((label, [(name, x) for name, x in curves if joint_of(name) == joint]))
    if len(made) > MOST_SEPARATE:
        raise OptionError(
            f"a panel for each joint makes {len(made)} of them, and a picture has at most {MOST_SEPARATE}: choose "
            "parts and joints, plot('torques', joints=[...], separate=True)"
        )
    return made


def _chosen(record: Record, joints: str | Sequence[str] | None) -> set[str] | None:
    """Return the joints that are drawn, or None for all of them."""
    if joints is None:
        return None
    known = list(dict.fromkeys([joint_of(name) for name in record.v_names]))
    chosen = (joints,) if isinstance(joints, str) else tuple(joints)
    for name in chosen:
        if name not in known:
            raise UnknownNameError("joint of the record", name, known)
    return set(chosen)


def joint_of(name: str) -> str:
    """Return the joint that a coordinate belongs to: ``"hip"`` of ``"hip[1]"`` and of ``"hip.qw"``."""
    return ENTRY.sub("", name)


def _label(name: str) -> str:
    """Escape a name for matplotlib: a dollar would start a formula, and a leading underscore would hide the curve."""
    text = printable(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


PANELS = ("motion", "errors", "velocities", "torques", "energy", "reactions")


def panels(
    record: Record, joints: set[str] | None = None, desired: Trajectory | None = None, units: ShownUnits | None = None
) -> dict[str, list[tuple[str, Curves]]]:
    """Return everything to draw, for all joints or some: for each part, axes with a label and named curves."""
    found = _panels(record, joints, desired)
    return found if units is None else {part: [_in(units, *one) for one in whole] for part, whole in found.items()}


def _in(units: ShownUnits, label: str, curves: Curves) -> tuple[str, Curves]:
    """Return axes in units other than SI; those with two units at once stay the same."""
    words, _, unit = label.rstrip("]").rpartition("[")
    return f"{words}[{units.label(unit)}]", [(name, units.shown(x, unit)) for name, x in curves]


def _panels(record: Record, joints: set[str] | None, desired: Trajectory | None) -> dict[str, list[tuple[str, Curves]]]:
    rates = {"rad": "rad/s", "m": "m/s"}
    found = {
        "motion": _by_unit(record, joints, "position", record.q, record.q_names, "q_units", {}),
        "errors": [] if desired is None else _errors(record, joints, desired),
        "velocities": _by_unit(record, joints, "velocity", record.v, record.v_names, "v_units", rates),
        "torques": _by_unit(record, joints, "actuator", record.tau, record.v_names, "v_units", FORCE_OF),
        "energy": [("energy [J]", [(n, x) for n, x in _energies(record) if np.any(np.abs(x) > 0.0)])],
        "reactions": _reactions(record),
    }
    # nothing to show without motors, or if none of them acts
    acting = [(label, [(name, x) for name, x in curves if np.any(x)]) for label, curves in found["torques"]]
    found["torques"] = [(label, curves) for label, curves in acting if curves]
    return found


def _by_unit(
    record: Record,
    joints: set[str] | None,
    word: str,
    array: Array,
    names: list[str],
    units_key: str,
    translate: dict[str, str],
) -> list[tuple[str, Curves]]:
    """Return one set of axes per unit: angles and lengths do not share a scale."""
    units = list(record.info.get(units_key) or ["?"] * len(names))
    made = []
    for unit in dict.fromkeys(units):
        curves = [
            (n, array[:, k])
            for k, (n, u) in enumerate(zip(names, units, strict=True))
            if u == unit and (joints is None or joint_of(n) in joints)
        ]
        label = "quaternion [1]" if unit == "1" and word == "position" else f"{word} [{translate.get(unit, unit)}]"
        made.append((label, curves))
    return made


def _errors(record: Record, joints: set[str] | None, desired: Trajectory) -> list[tuple[str, Curves]]:
    """Return desired minus actual positions, one set of axes per unit."""
    names, position, _ = tracking_errors(record, desired)
    units = dict(zip(record.v_names, record.info.get("v_units") or ["?"] * record.v.shape[-1], strict=True))
    made = []
    for unit in dict.fromkeys(units[name] for name in names):
        curves = [
            (name, position[:, k])
            for k, name in enumerate(names)
            if units[name] == unit and (joints is None or joint_of(name) in joints)
        ]
        made.append((f"error [{unit}]", curves))
    return made


def _energies(record: Record) -> Curves:
    words = {"actuators": "work of actuators", "friction": "work of friction", "ground": "work of ground"}
    words |= {"forces": "work of forces", "stored": "stored in forces", "in_ground": "stored in ground and stops"}
    curves = [(words.get(name, name), x) for name, x in record.energy.as_dict().items()]
    return [*curves, ("total", record.energy.total)]


def _reactions(record: Record) -> list[tuple[str, Curves]]:
    made = []
    contact = record.contact_forces
    if contact.size:
        spots = _spots(record, contact.shape[1])
        least = NO_FORCE * np.nanmax(np.abs(contact), initial=0.0)
        acting = [i for i in (2, 0, 1) if np.nanmax(np.abs(contact[..., i]), initial=0.0) > least]
        for i in acting or [2]:  # the vertical force matters most; a direction without forces is left out
            curves = [(spot, contact[:, k, i]) for k, spot in enumerate(spots)]
            made.append((f"contact force {'xyz'[i]} [N]", curves))
    if record.constraint_forces.size:
        values = record.constraint_forces
        names = record.info.get("constraint_names") or [f"constraint {k}" for k in range(values.shape[1])]
        made.append(
            ("loop force,\nalong the joint's axes [N, N m]", [(name, values[:, k]) for k, name in enumerate(names)])
        )
    return made


def _spots(record: Record, count: int) -> list[str]:
    """Return the names of the spots: their frames, with a number if a frame has several."""
    frames = [frame for frame, _ in record.info.get("contact_spots", [])]
    if len(frames) != count:
        return [f"point {k}" for k in range(count)]
    return [f if frames.count(f) == 1 else f"{f} {frames[:k].count(f) + 1}" for k, f in enumerate(frames)]

"""Pictures of a record: motion, torques, energy, reactions over time, with units."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnknownNameError, UnsupportedError, printable
from ...io.pictures import new_figure, save_figure
from ...model.units import FORCE_OF

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .record import Record

Array = np.ndarray
Curves = list[tuple[str, Array]]

MOST_IN_LEGEND = 28
"""Named curves in one picture, in two columns if there are more than half as many."""


def plot(record: Record, what: str | tuple[str, ...], path: str | os.PathLike[str] | None) -> Figure:
    """See :meth:`kinetree.Record.plot`."""
    if record.batch:
        raise UnsupportedError("one simulation is drawn at a time: record.lane(index).plot()")
    available = panels(record)
    chosen = (what,) if isinstance(what, str) else tuple(what) or tuple(available)
    for name in chosen:
        if name not in PANELS:
            raise UnknownNameError("part of a plot", name, PANELS)
    drawn = [(label, curves) for name in chosen for label, curves in available.get(name, [])]
    figure = new_figure((9.0, 2.4 * max(len(drawn), 1) + 0.6))
    axes: Any = figure.subplots(max(len(drawn), 1), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, curves) in zip(axes, drawn, strict=False):
        for k, (name, values) in enumerate(curves):  # ten colours; dashed and dotted ones follow
            axis.plot(record.time, values, label=_label(name), linewidth=1.2, linestyle=("-", "--", ":")[k // 10 % 3])
        for event in record.events:
            axis.axvline(event.time, color="0.7", linewidth=0.8, linestyle=":")
        axis.set_ylabel(label)
        axis.grid(True, linewidth=0.3)
        if 0 < len(curves) <= MOST_IN_LEGEND:
            axis.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5),
                        ncols=1 + (2 * len(curves) > MOST_IN_LEGEND))  # fmt: skip
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(_label(str(record.info.get("robot", ""))))
    save_figure(figure, path)
    return figure


def _label(name: str) -> str:
    """Write a name as it is: dollars would begin formulas, and an underscore in front would hide the curve."""
    text = printable(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


PANELS = ("motion", "velocities", "torques", "energy", "reactions")


def panels(record: Record) -> dict[str, list[tuple[str, Curves]]]:
    """Return what there is to draw: for each part, axes with a label and named curves."""
    found = {
        "motion": _by_unit(record, "position", record.q, record.q_names, "q_units", {}),
        "velocities": _by_unit(record, "velocity", record.v, record.v_names, "v_units", {"rad": "rad/s", "m": "m/s"}),
        "torques": _by_unit(record, "actuator", record.tau, record.v_names, "v_units", FORCE_OF),
        "energy": [("energy [J]", [(n, x) for n, x in _energies(record) if np.any(np.abs(x) > 0.0)])],
        "reactions": _reactions(record),
    }
    found["torques"] = [(label, curves) for label, curves in found["torques"] if any(np.any(x) for _, x in curves)]
    return found


def _by_unit(
    record: Record, word: str, array: Array, names: list[str], units_key: str, translate: dict[str, str]
) -> list[tuple[str, Curves]]:
    """Return one set of axes per unit: angles and lengths do not share a scale."""
    units = list(record.info.get(units_key) or ["?"] * len(names))
    made = []
    for unit in dict.fromkeys(units):
        curves = [(n, array[:, k]) for k, (n, u) in enumerate(zip(names, units, strict=True)) if u == unit]
        label = "quaternion [1]" if unit == "1" and word == "position" else f"{word} [{translate.get(unit, unit)}]"
        made.append((label, curves))
    return made


def _energies(record: Record) -> Curves:
    words = {"actuators": "work of actuators", "friction": "work of friction", "ground": "work of ground"}
    words |= {"forces": "work of forces", "stored": "stored in forces"}
    curves = [(words.get(name, name), x) for name, x in record.energy.as_dict().items()]
    return [*curves, ("total", record.energy.total)]


def _reactions(record: Record) -> list[tuple[str, Curves]]:
    made = []
    contact = record.contact_forces
    if contact.size:
        spots = _spots(record, contact.shape[1])
        curves = [(f"{spot} {'xyz'[i]}", contact[:, k, i]) for k, spot in enumerate(spots) for i in range(3)]
        made.append(("contact force [N]", curves))
    if record.constraint_forces.size:
        values = record.constraint_forces
        names = record.info.get("constraint_names") or [f"constraint {k}" for k in range(values.shape[1])]
        made.append(("loop force [N, N m]", [(name, values[:, k]) for k, name in enumerate(names)]))
    return made


def _spots(record: Record, count: int) -> list[str]:
    """Return what the spots are called: by their frame, with a number where a frame has several."""
    frames = [frame for frame, _ in record.info.get("contact_spots", [])]
    if len(frames) != count:
        return [f"point {k}" for k in range(count)]
    return [f if frames.count(f) == 1 else f"{f} {frames[:k].count(f) + 1}" for k, f in enumerate(frames)]

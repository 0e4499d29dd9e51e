"""The spatial biped's torques with its foot bolted down and on the ground (Shah section 7.2.2)."""

from __future__ import annotations

import numpy as np

from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import FactFile
from kinetree.studies.named_systems import load, motion
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ..analyses.walking import machine, prescribed
from ..systems.biped_spatial_fixed.study import NAME, PERIOD
from ..systems.biped_spatial_fixed.system import upwards

FACTS = FactFile.beside(__file__)


def _torques() -> tuple[Array, Array, Array, float]:
    """Return times, torques with the fixed foot, corresponding torques with the floating base, and the landing time."""
    floating = prescribed("biped-spatial", PERIOD)
    time = floating.time
    fixed = load(NAME).inverse_dynamics(*motion(NAME).states(np.minimum(time, motion(NAME).span[1])))
    own = floating.tau[:, machine("biped-spatial").base_freedoms :]
    alike = np.concatenate([np.stack(upwards(list(own[:, :6].T)), axis=-1), own[:, 6:]], axis=-1)
    return time, fixed, alike, floating.touchdown()


AXES = "xyyyxzzxyyyx"
"""The axis about which each coordinate turns."""

JOINTS = {
    "standing ankle": slice(0, 2),
    "standing knee": slice(2, 3),
    "standing hip": slice(3, 6),
    "swinging hip": slice(6, 9),
    "swinging knee": slice(9, 10),
}


def compare(quick: bool) -> Outcome:
    """Compare the torques of one step with the foot bolted down and on the ground."""
    time, fixed, floating, landing = _torques()
    during = (time > 0.05) & (time < landing - 0.005)
    off = {}
    for name, part in JOINTS.items():
        size = np.linalg.norm(fixed[during, part], axis=-1).max()
        off[name] = float(np.linalg.norm((floating - fixed)[during, part], axis=-1).max() / size)
    facts = FACTS("biped-fixed-versus-floating", {key.replace(" ", "_"): difference for key, difference in off.items()})
    names = load(NAME).v_names
    shown = [
        PlotPanel(f"{name} [N m]", [c for k in range(part.start, part.stop) for c in (
            Curve(f"{AXES[k]}, fixed", fixed[during, k]),
            Curve(f"{AXES[k]}, floating", floating[during, k], compared=True),
        )])
        for name, part in JOINTS.items()
    ]  # fmt: skip
    table = {"time [s]": time}
    for k, name in enumerate(names):
        table[f"fixed {name} [N m]"], table[f"floating {name} [N m]"] = fixed[:, k], floating[:, k]
    remark = (
        "Compared between 0.05 s, when the floating machine has settled on the ground, and touchdown. Coordinates of "
        "the standing leg are counted from the foot up in both, so that torques are of the same angles; sizes are of "
        "whole joints."
    )
    caption = "With the foot bolted down and on the ground, about the axis named."
    return Outcome(facts, {"torques": table}, {}, {"torques": Curves(time[during], shown, caption)}, [remark])


STUDY = Study(
    "biped-fixed-versus-floating",
    "the spatial biped's torques with its foot bolted down and on the ground",
    "Shah section 7.2.2",
    {"compare": compare},
    ("Both have the data of biped-spatial; the book compares figure 6.12 (it says 6.6) with figure 7.13.",),
    NAME,
)

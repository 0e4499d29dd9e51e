"""Real folders of ReDySim, where they are: ``KINETREE_REDYSIM`` names directories that hold them.

They are read and run, never copied.  ``git clone`` of venu1807/ReDySim-Graphical-User-Interface,
naveen13m/ReDySim_Floating_Base and deepakraina99/redysim-floating-base-robot gives 63 of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from kinetree.errors import KinetreeError
from kinetree_programs.matlab import MatlabFolder
from kinetree_programs.matlab.folder import numbers

VARIABLE = "KINETREE_REDYSIM"


def folders() -> list[Path]:
    """Return all folders with an inputs.m below the directories of the environment."""
    places = [Path(p) for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p]
    return sorted(file.parent for place in places for file in place.rglob("inputs.m"))


def opened(path: Path) -> MatlabFolder:
    """Return a folder, with the working folder that its files would be copied into behind it."""
    return MatlabFolder(path, [path.parent] if (path.parent / "inputs.m").is_file() else [])


def inputs(folder: MatlabFolder) -> dict[str, np.ndarray]:
    """Return what inputs.m says, by name."""
    names = folder.outputs_of("inputs")
    return {n: v.numbers().data for n, v in zip(names, folder.call("inputs", [], len(names)), strict=True)}


def random_arguments(folder: MatlabFolder, name: str, dice: np.random.Generator) -> list[np.ndarray] | None:
    """Return arguments that a function of a folder can be called with, by the names that ReDySim has for them."""
    given = inputs(folder)
    n = int(given["n"].ravel()[0])
    dof = int(given["dof"].ravel()[0]) if "dof" in given else n
    floating = "nq" in given
    if name == "inv_kine":  # of a motion that the mechanism can do
        try:
            motion = folder.call("trajectory", [float(dice.uniform(0, 2)), float(dof), 2.0][: len(
                folder.inputs_of("trajectory"))], 3)  # fmt: skip
        except KinetreeError:
            return None
        return [np.array(numbers(x), dtype=float)[None, :] for x in motion]
    found = []
    for parameter in folder.inputs_of(name):
        if parameter in ("t", "tim", "s", "time", "ti"):
            found.append(np.array(dice.uniform(0, 3)))
        elif parameter in ("Tp", "tf"):
            found.append(np.array(dice.uniform(1, 10)))
        elif parameter in ("n", "dof"):
            found.append(np.array(float({"n": n, "dof": dof}[parameter])))
        elif parameter in ("q", "dq", "qq", "dqq") and floating:
            found.append(dice.uniform(-2, 2, 6))
        elif parameter in ("q", "dq", "th", "dth", "ddth"):
            found.append(dice.uniform(-2, 2, n))
        elif parameter in given:
            found.append(given[parameter])
        else:
            return None
    return found

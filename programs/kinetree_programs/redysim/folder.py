"""A ReDySim folder: what kind of system it contains, what is to be computed, and which files define that.

ReDySim has one working folder with the solver, into which the files of an example are copied.  So a file that is not in
the folder of an example is looked for in its parent folder, if that is such a working folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileFormatError, RobotFileNotFoundError
from kinetree.spatial.arrays import Array

from ..matlab.evaluate import HostFunction
from ..matlab.folder import MatlabFolder
from .file_variables import FileNumbers

SOLVERS = {0: "rk45", 1: "bdf", 2: "dopri5"}
"""``int_type``: ode45, ode15s, ode5 (Shah section 10.2.2)."""

FORWARD, INVERSE = "forward", "inverse"

ENCRYPTED = {
    "runfor": ("the call of the integrator", "kinetree.simulate"),
    "runinv": ("the loop over time", "inverse dynamics at all times at once"),
    "sys_ode": ("the equation of motion", "forward dynamics in machine code"),
    "ddq_tree_eff": ("forward dynamics", "robot.forward_dynamics"),
    "ddth_float_vom": ("forward dynamics of a floating base", "robot.forward_dynamics"),
    "fordyn_float": ("forward dynamics of a floating base", "robot.forward_dynamics"),
    "invdyn_tree_eff": ("inverse dynamics", "robot.inverse_dynamics"),
    "invdyn_float": ("inverse dynamics of a floating base", "hybrid dynamics"),
    "invdyn_float_vom": ("inverse dynamics of a floating base", "hybrid dynamics"),
    "GIM_tree": ("the mass matrix", "robot.mass_matrix"),
    "GIM_float_vom": ("the mass matrix", "robot.mass_matrix"),
    "fcalc": ("forces of the ground", "kt.ground"),
    "energy": ("the energy balance", "record.energy"),
    "momentum": ("linear and angular momentum", "robot.momentum"),
    "trajectory": ("the motion of the joints", "nothing, except for the stored states of the same system"),
}
"""Functions that ReDySim ships as ``.p`` files: what each would contain, and what replaces it."""


def inputs_of(folder: Path) -> Path:
    """Return the file ``inputs.m`` of a folder, or raise an error that names what was found instead."""
    path = folder / "inputs.m"
    if path.is_file():
        return path
    there = sorted(p.name for p in folder.glob("*.m")) if folder.is_dir() else []
    seen = f"; it has {', '.join(there[:8])}" if there else ""
    raise RobotFileNotFoundError(
        f"there is no inputs.m in {str(folder)!r}{seen}: give the folder of one ReDySim system"
    )


@dataclass(frozen=True)
class Initials:
    """The values in ``initials.m``; None for those that it does not set."""

    state: Array | None = None
    """``y0``, in ReDySim's order."""
    begin: float | None = None
    end: float | None = None
    step: float | None = None
    rtol: float | None = None
    atol: float | None = None
    integrator: str | None = None


@dataclass
class RedysimFolder:
    """The files of one system.

    Parameters
    ----------
    path : Path
    main : str
        The function that defines the system.
    instead : mapping of str to Path
        Files to read in place of others: ``{"trajectory": Path("other/trajectory.m")}``.
    """

    path: Path
    main: str = "inputs"
    instead: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        above = self.path.absolute().parent
        behind = [above] if (above / "inputs.m").is_file() or (above / "run_me.m").is_file() else []
        self.code = MatlabFolder(self.path, behind)
        self.kept: dict[str, Any] = {}
        """Results that are computed once, by name."""
        for name, file in self.instead.items():
            self.code.replace(name, file)

    # ------------------------------------------------------------------ what kind of system

    @cached_property
    def inputs(self) -> FileNumbers:
        """The numbers of ``inputs.m``."""
        return FileNumbers(self.code.workspace(self.main))

    @cached_property
    def count(self) -> int:
        """Number of links; a floating base is one of them."""
        given = self.inputs
        links = given.vector("bt").size
        if not links:
            raise FileFormatError("'bt' has no entries: a system has at least one link", given.file, given.line("bt"))
        if "n" not in given or given.values["n"].size != 1:
            return links
        n = given.number("n")
        if n != int(n) or not 1 <= n <= links:
            raise FileFormatError(
                f"n is {n:g}, but 'bt' has {links} parents: n is the number of links", given.file, given.line("n")
            )
        return int(n)

    @property
    def is_floating(self) -> bool:
        """Whether the first link is a floating base: ``nq`` is given, or the first joint has six variables."""
        given = self.inputs
        if "nq" in given:
            return True
        return any(
            n in given and given.values[n].size == self.count > 1 and given.values[n][0] == 6 for n in ("n_j", "n")
        )

    @property
    def has_ground(self) -> bool:
        """Whether it is a walking machine: ``g_prop`` has the parameters of its ground."""
        return "g_prop" in self.inputs

    @property
    def is_closed(self) -> bool:
        """Whether the system has closed loops: ``type`` is 1."""
        return "type" in self.inputs and self.inputs.values["type"].tolist() == [1.0]

    @cached_property
    def analysis(self) -> str:
        """What is to be computed: ``"forward"`` or ``"inverse"``, by the solver in the same folder."""
        for name, what in (("runinv", INVERSE), ("runfor", FORWARD)):
            if any(self.code.find(f"{name}{ending}") for ending in (".m", ".p")):
                return what
        moves = self.code.has("trajectory") or "trajectory" in self.code.encrypted()
        return FORWARD if self.code.has("torque") or not moves else INVERSE

    # ------------------------------------------------------------------ what is to be computed

    def initials(self, hosts: Mapping[str, HostFunction] | None = None) -> Initials:
        """Return the values in ``initials.m``."""
        if not self.code.has("initials"):
            return Initials()
        given = FileNumbers(self.code.workspace("initials", hosts))
        name = given.first("y0", "yo")
        state = None if name is None else given.vector(name)
        if state is None and "th" in given and "dth" in given:  # as in the book's files
            state = np.concatenate([given.vector("th"), given.vector("dth")])
        solver = given.number_of("int_type", "type")
        if solver is not None and solver not in SOLVERS:
            raise FileFormatError(
                f"the integrator is {solver:g}: 0 is ode45, 1 ode15s, 2 ode5", given.file,
                given.line("int_type") or given.line("type"),
            )  # fmt: skip
        return Initials(
            state, given.number_of("ti", "t_initial"), given.number_of("tf", "t_final"),
            given.number_of("incr", "step"), given.number_of("rtol"), given.number_of("atol"),
            None if solver is None else SOLVERS[int(solver)],
        )  # fmt: skip

    @property
    def period(self) -> float | None:
        """``Tp``: how long the motion of inverse dynamics lasts."""
        return self.inputs.number_of("Tp")

    @property
    def period_step(self) -> float | None:
        """Time between samples of inverse dynamics."""
        return self.inputs.number_of("steps", "step", "ts")

    def encrypted(self) -> dict[str, tuple[str, str]]:
        """Return the functions that cannot be read, what each would contain and what replaces it.

        In MATLAB a ``.p`` file takes precedence over a ``.m`` file of the same name; here the readable one does.
        """
        unknown = ("what its name suggests", "nothing: calling it is an error")
        return {name: ENCRYPTED.get(name, unknown) for name in self.code.encrypted()}

    def borrowed(self, analysis: str) -> list[str]:
        """Return the files that an analysis needs and that are in the parent folder instead of the folder itself."""
        names = ["initials"] if self.is_floating or analysis == FORWARD else []
        names += ["torque"] if analysis == FORWARD else ["trajectory"]
        if self.is_closed:
            names.append("jacobian" if analysis == FORWARD else "inv_kine")
        found = {f"{name}.m": self.code.find(f"{name}.m") for name in names if name not in self.instead}
        return [name for name, path in found.items() if path is not None and path.parent != self.path]

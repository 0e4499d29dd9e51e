"""ReDySim's own input: a robot from ``inputs.m``, the numbers of ``initials.m`` and ``trajectory.m`` (Shah chapter 10).

No MATLAB is needed and nothing is run: :mod:`.matlab_assignments` reads the assignments.  The closed loops of a system
of type 1 are code in ReDySim (``jacobian.m``, ``inv_kine.m``); its open tree is read, and a warning says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import FileFormatError, RobotFileNotFoundError
from ...io.paths import whole_content
from ..dh import DHRow, placements
from ..joints import Free, JointKind, Prismatic, Revolute
from ..mass import MassProperties
from ..pose import Pose
from ..tree import Model
from . import matlab_assignments
from .matlab_assignments import Assignments
from .source import FileBuilder, Options, Source

INERTIAS = ("Icxx", "Icyy", "Iczz", "Icxy", "Iczx", "Icyz")
"""As :class:`kinetree.MassProperties` orders them: xx, yy, zz, xy, xz, yz."""

SOLVERS = {0: "rk45", 1: "bdf", 2: "dopri5"}
"""``int_type``: ode45, ode15s, ode5 (Shah section 10.2.2)."""


def read(source: Source, options: Options) -> Model:
    """Read ``inputs.m``; what stands beside it is left to :func:`folder`."""
    given = _assignments(source.path, source.data)
    count = given.vector("bt").size
    freedoms = _freedoms(given, count)
    floating = freedoms[0] == 6
    builder = FileBuilder(source, _name(source.path), options, gravity=[float(x) for x in given.vector("g", 3)])
    slides = given.vector("r", count) == 0 if "r" in given.values else np.zeros(count, dtype=bool)
    driven = given.vector("aj", count) if "aj" in given.values else np.ones(count)
    names = ["base"] + [f"link_{k + 1}" for k in range(count)]
    builder.add_body(names[0])
    for k in range(count):
        with builder.at(given.lines["bt"]):
            parent = _parent(given, k)
            kind, placement = _joint(given, k, int(freedoms[k]), bool(slides[k]))
            builder.add_body(names[k + 1], _mass(given, k, count))
            builder.add_joint(
                f"joint_{k + 1}", names[parent], names[k + 1], kind, placement,
                actuated=bool(driven[k]) and kind.nv < 6,
            )  # fmt: skip
    _name_drawn(given, builder, slides, freedoms)
    if not floating and "type" in given.values and given.number("type") == 1:
        builder.oddities.append(
            (
                given.lines["type"],
                "the system has closed loops, which ReDySim keeps as code in jacobian.m and inv_kine.m: this is its "
                "open tree; add the joints that close it, see the page on loops",
            )
        )
    return builder.finish(floating_base=options.floating_base)


def _name(path: Path) -> str:
    folder = path.absolute().parent.name
    return folder if path.stem == "inputs" and folder else path.stem


def _assignments(path: Path, data: bytes) -> Assignments:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # MATLAB's files before 2020
    return matlab_assignments.read(text.replace("\r\n", "\n").replace("\r", "\n"), str(path))


def _freedoms(given: Assignments, count: int) -> np.ndarray:
    """Return the joint variables of each joint; ``n_j``, or ``n`` as the book's biped has it."""
    name = next((n for n in ("n_j", "n") if n in given.values and given.values[n].size == count), None)
    freedoms = np.ones(count) if name is None else given.vector(name, count)
    for k, n in enumerate(freedoms):
        if not (n == 1 or (n == 6 and k == 0)):
            assert name is not None
            raise FileFormatError(
                f"joint {k + 1} has {n:g} variables: the file does not say in which sequence of axes it turns. "
                "Write it as rows of one variable each (kt.euler_angle_joints shows which)",
                given.file,
                given.lines[name],
            )
    return freedoms


def _parent(given: Assignments, k: int) -> int:
    parent = float(given.vector("bt")[k])
    if parent != int(parent) or not 0 <= parent <= k:
        raise FileFormatError(
            f"bt({k + 1}) is {parent:g}: the parent of link {k + 1} must be 0 (the base) or a link before it",
            given.file,
            given.lines["bt"],
        )
    return int(parent)


def _joint(given: Assignments, k: int, freedoms: int, slides: bool) -> tuple[JointKind, Pose]:
    """Return the joint of link k and its place on its parent: modified Denavit-Hartenberg (Shah eq. 3.3)."""
    if freedoms == 6:
        return Free(), Pose()
    count = given.vector("bt").size
    alpha, a, b = (float(given.vector(name, count)[k]) for name in ("alp", "a", "b"))
    theta = float(given.vector("th", count)[k]) if slides and "th" in given.values else 0.0
    row = DHRow(alpha=alpha, a=a, d=0.0 if slides else b, theta=theta)
    return (Prismatic("z") if slides else Revolute("z")), placements(row, "modified")[0]


def _name_drawn(given: Assignments, builder: FileBuilder, slides: np.ndarray, freedoms: np.ndarray) -> None:
    """Name the configuration that the table is written at.

    Of a hinge ``th`` is the variable, which ReDySim puts in its place, and so is ``b`` of a slide: no offsets, but the
    place that the system was drawn at.
    """
    if "th" not in given.values:
        return
    theta, b = (given.vector(name, len(slides)) for name in ("th", "b"))
    drawn = {
        f"joint_{k + 1}": float(b[k] if slides[k] else theta[k]) for k in range(len(slides)) if int(freedoms[k]) == 1
    }
    if any(drawn.values()):
        with builder.at(given.lines["th"]):
            builder.configuration("as_drawn", drawn)


def _mass(given: Assignments, k: int, count: int) -> MassProperties:
    com = [float(given.vector(name, count)[k]) for name in ("dx", "dy", "dz")]
    inertia = [float(given.vector(name, count)[k]) for name in INERTIAS]
    return MassProperties.of(float(given.vector("m", count)[k]), com, inertia)


@dataclass(frozen=True)
class RedysimRun:
    """What ReDySim is to compute with a system; None where the files do not say it in numbers.

    Attributes
    ----------
    q, v : ndarray
        Initial joint angles and rates (``th`` and ``dth`` of initials.m).
    time, step, rtol, atol : float
        ``tf - ti``, ``step``, ``rtol``, ``atol``.
    integrator : str
        For ``int_type``.
    start, end, duration
        Of the cycloid of trajectory.m: ``thi`` (or ``thin``), ``thf``, ``Tp``.
    has_trajectory : bool
        Whether there is a trajectory.m at all.
    """

    q: np.ndarray | None = None
    v: np.ndarray | None = None
    time: float | None = None
    step: float | None = None
    rtol: float | None = None
    atol: float | None = None
    integrator: str | None = None
    start: np.ndarray | None = None
    end: np.ndarray | None = None
    duration: float | None = None
    has_trajectory: bool = False


def run_of(folder: Path) -> RedysimRun:
    """Read the numbers of ``initials.m`` and ``trajectory.m`` beside ``inputs.m``, as far as there are any."""
    inputs, initials, motion = (_beside(folder, name) for name in ("inputs.m", "initials.m", "trajectory.m"))

    def vector(given: Assignments | None, name: str) -> np.ndarray | None:
        return given.vector(name) if given is not None and name in given.values else None

    def number(given: Assignments | None, name: str) -> float | None:
        return given.number(name) if given is not None and name in given.values else None

    first, last = number(initials, "ti"), number(initials, "tf")
    solver = number(initials, "int_type")
    duration = next((x for given in (motion, inputs) if (x := number(given, "Tp")) is not None), None)
    step = next((x for given, name in ((initials, "step"), (inputs, "step"), (inputs, "ts"))
                 if (x := number(given, name)) is not None), None)  # fmt: skip
    return RedysimRun(
        vector(initials, "th"), vector(initials, "dth"), None if first is None or last is None else last - first, step,
        number(initials, "rtol"), number(initials, "atol"), None if solver is None else SOLVERS.get(int(solver)),
        vector(motion, "thi") if vector(motion, "thin") is None else vector(motion, "thin"), vector(motion, "thf"),
        duration, motion is not None,
    )  # fmt: skip


def inputs_of(folder: Path) -> Path:
    """Return the file ``inputs.m`` of a folder, or an error that says what is there."""
    path = folder / "inputs.m"
    if path.is_file():
        return path
    there = sorted(p.name for p in folder.glob("*.m")) if folder.is_dir() else []
    seen = f"; it has {', '.join(there[:8])}" if there else ""
    raise RobotFileNotFoundError(
        f"there is no inputs.m in {str(folder)!r}{seen}: give the folder of one system of ReDySim"
    )


def _beside(folder: Path, name: str) -> Assignments | None:
    path = folder / name
    if not path.is_file():
        return None
    return _assignments(path, whole_content(path, "file of ReDySim", RobotFileNotFoundError, lambda: ""))

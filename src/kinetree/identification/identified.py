"""The result of identification: a robot, the uncertainty of its parameters, and its prediction errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ExplainsArguments, IdentificationWarning, UnsupportedError, warn
from ..model.parameters import OF_BODIES
from ..spatial.arrays import Array
from . import report
from . import tuned_constants as tuned
from .closed_motion import motions_of
from .equations import MeasuredEquations, Prepared
from .filtering import Band
from .identifiable import is_inertial
from .measured import Data
from .model_choice import Columns, Friction
from .residuals import relative_errors

if TYPE_CHECKING:
    from ..robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Comparison:
    """Identified combinations of parameters, compared with those of another robot."""

    names: tuple[str, ...]
    values: Array
    deviations: Array
    """Identified values and their standard deviations."""
    others: Array
    """Values of the other robot."""
    units: tuple[str, ...]

    @property
    def z(self) -> Array:
        """The difference between identified values and the other robot's, in standard deviations."""
        difference = self.values - self.others
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(difference == 0.0, 0.0, difference / self.deviations)

    def __repr__(self) -> str:
        beyond = int(np.sum(np.abs(self.z) > 3.0))
        return f"<Comparison of {len(self.names)} combinations: {beyond} differ by more than 3 deviations>"

    def __str__(self) -> str:
        return report.comparison_text(self)


@dataclass(frozen=True, eq=False)
class Identified(ExplainsArguments):
    """The result of :func:`kinetree.identify`.

    Attributes
    ----------
    robot : Robot
        The robot with the identified parameters.
    names : tuple of str
        The combinations of parameters that joint forces depend on, written as sums, then friction.
    values, deviations : ndarray
        Values of these combinations, and their standard deviations.
    units : tuple of str
    row_names : tuple of str
        The joints whose forces are predicted.
    training_errors : ndarray
        Relative errors, per joint, on the data of the fit.
    condition : float
        Condition number of the equations, in units of the noise and with columns of equal size.
    untold : tuple of str
        Parameters that this motion does not determine at all, and which therefore keep their values.
    physical : bool
        Whether all bodies are physically possible and no friction is negative.
    noise : ndarray
        Standard deviation of the residuals, per joint.
    band : Band
        Frequencies of the filters.
    friction : mapping from str to Friction
        The model of each joint's friction.
    springs : mapping from str to float
        Joints whose stiffness was identified, and the rest positions of their springs.
    notes : tuple of str
        How the data were processed, and which decisions were made.
    warned : tuple of str
        All warnings about these data and this fit; they are also in reports.
    """

    robot: Robot
    names: tuple[str, ...]
    values: Array
    deviations: Array
    units: tuple[str, ...]
    row_names: tuple[str, ...]
    training_errors: Array
    condition: float
    untold: tuple[str, ...]
    physical: bool
    noise: Array
    band: Band
    friction: Mapping[str, Friction]
    springs: Mapping[str, float]
    notes: tuple[str, ...]
    given: Robot
    """The original robot."""
    equations: MeasuredEquations
    """The equations of the fit."""
    known: Mapping[str, float]
    """Parameters that were held fixed."""
    solution: Mapping[str, float]
    """All parameters of bodies and joints that were fitted."""
    matrix: Array
    """The combinations as a matrix: ``matrix @ [values of parameters]`` equals ``values``."""
    parameters: tuple[str, ...]
    """The parameters that the columns of the matrix belong to."""
    columns: tuple[str, ...]
    """One parameter of each combination, into which the others are grouped: ``regressor(..., parameters=columns)``
    times ``values`` gives the joint forces."""
    contacts: tuple[str, ...] = ()
    gains: Array | None = None
    warned: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        errors = ", ".join(f"{100 * e:.3g}" for e in self.training_errors)
        return f"<Identified {self.given.name!r}: {len(self)} parameters, errors {errors} %>"

    def __str__(self) -> str:
        return report.text(self)

    @property
    def relative_deviations(self) -> Array:
        """Standard deviations relative to the values, (parameters,); infinite if a value is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.deviations > 0.0, self.deviations / np.abs(self.values), 0.0)

    @property
    def poor(self) -> tuple[str, ...]:
        """Combinations with a relative standard deviation of more than 30 %."""
        return tuple(n for n, d in zip(self.names, self.relative_deviations, strict=True) if d > tuned.POOR)

    def compare(self, robot: Robot) -> Comparison:
        """Compare the identified combinations with those of another robot, such as the file's or a known one.

        Parameters
        ----------
        robot : Robot
            A robot with the same bodies and joints; parameters that it does not have, such as the stiffness of a
            spring, count as zero.
        """
        table = robot.parameters()
        own = set(table.names)
        strange = [n for n in self.parameters if n.rpartition(".")[2] in OF_BODIES and n not in own]
        if strange:
            raise UnsupportedError(
                f"{robot.name!r} has no {strange[0]}: robots with the bodies of {self.given.name!r} can be compared"
            )
        theirs = self.matrix @ np.array([table[name] if name in own else 0.0 for name in self.parameters])
        return Comparison(self.names, self.values, self.deviations, theirs, self.units)

    def predicted(self, data: Data) -> MeasuredEquations:
        """Return measured forces, filtered as in the fit (``tau``), and the model's prediction (``y[..., 0]``).

        Parameters
        ----------
        data : Measured, path, or several of them
        """
        motions, _, _ = motions_of(self.given, data, self.band, self.gains)
        prepared = Prepared(self.given, motions, self.band, self.contacts)
        found = self.fitted_columns(prepared)
        said = found.y @ self.values + prepared.known(self.known)
        return MeasuredEquations(said[..., None], found.tau, found.counted, ("prediction",), found.rows, found.t)

    def fitted_columns(self, prepared: Prepared) -> MeasuredEquations:
        """Return the columns of the identified combinations for another motion."""
        names = self.given.v_names
        joints = {names.index(name): own for name, own in self.friction.items()}
        springs = {names.index(n): rest for n, rest in self.springs.items() if f"{n}.stiffness" in self.columns}
        terms = {f"{name}.{term}" for name, own in self.friction.items() for term in own.model.terms}
        inertial = tuple(filter(is_inertial, self.columns))
        columns = Columns(prepared, inertial, joints, terms - set(self.columns), prepared.equations.tau, springs)
        return columns.equations().only(self.columns)

    def errors(self, data: Data | None = None) -> Array:
        """Return relative errors of predicted joint forces, (nv,): the size of the error over that of the force.

        Forces and errors are filtered as in the fit; 0.05 is 5 %.

        Parameters
        ----------
        data : Measured, path, or several of them, optional
            Data that were held out of the fit; by default those of the fit, which gives ``training_errors``.
        """
        if data is None:
            return self.training_errors
        seen = self.predicted(data)
        return relative_errors(seen.tau, seen.y[..., 0])

    def save(self, path: str | os.PathLike[str], original: str | os.PathLike[str] | None = None) -> None:
        """Write the robot, as ``.yaml`` (everything), ``.xml`` (MJCF) or ``.urdf`` (both without offsets).

        URDF has no rotor inertias and springs; they are written as attributes that only kinetree reads.

        Parameters
        ----------
        path : path-like
        original : path-like, optional
            The URDF file that the robot was loaded from: everything except inertias, friction, springs and rotors is
            kept as it is.

        Warns
        -----
        IdentificationWarning
            If friction was identified that the file format cannot express: Stribeck friction, and friction that builds
            up over a travel (presliding) or over time, can be written only to ``.yaml`` files.
        """
        if not self.physical:
            raise UnsupportedError(
                f"{path} is not written: the parameters are physically impossible, and no robot file can hold them. "
                "Identify with consistent='barrier' (--consistent barrier) for possible ones; those of this "
                "fit are in the report, and in found.solution"
            )
        self.robot.save(path, original)
        shaped = {name: own.model.name for name, own in self.friction.items() if own.model.shape}
        lost = [f"{kind} friction of {', '.join(n for n, own in shaped.items() if own == kind)}"
                for kind in dict.fromkeys(shaped.values())]  # fmt: skip
        slow = [name for name, own in self.friction.items() if own.time]
        lost += [f"time constant of the damping of {', '.join(slow)}"] if slow else []
        if lost and Path(path).suffix.lower() not in (".yaml", ".yml"):
            warn(
                f"{path}: such a file holds only viscous and Coulomb friction; the rest "
                f"({'; '.join(lost)}) is only in the report, so the file's robot has larger errors than errors() says. "
                "friction='coulomb' fits what every file can hold; .yaml keeps everything",
                IdentificationWarning,
            )

    def report(self, folder: str | os.PathLike[str], held_out: Data | None = None, format: str = "html") -> Path:
        """Write a report with plots into a folder; return the file to open.

        Parameters
        ----------
        folder : path-like
            Created if it does not exist.
        held_out : Measured, path, or several of them, optional
            Data that were not used in the fit, for which errors are shown.
        format : {"html", "markdown"}
        """
        return report.write(self, Path(folder), held_out, format)

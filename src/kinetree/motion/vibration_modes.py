"""Vibrations about a state of rest: frequencies, damping and shapes from mass, stiffness and damping along motions.

With M = L L^T the equations M y'' + C y' + K y = 0 become x'' + L^-1 C L^-T x' + S x = 0, S = L^-1 K L^-T, and the
eigenvalues of S are the squares of the natural frequencies, in rad/s.  A negative one is an instability.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ExplainsArguments, SingularError
from ..io.tables.text import TextTable
from ..spatial.arrays import Array

SLOWEST = 1e-3
"""Growth below this rate in 1/s, a factor of e in 1000 seconds, does not count."""

ROUNDING = 1e-13
"""Squares of frequencies below this fraction of the largest are rounding."""

SYMMETRIC = 1e-7
"""Stiffnesses are symmetric, as for forces with a potential, up to an asymmetry of this fraction of the largest."""

NAMED = 4
"""The most joints of a shape that are printed."""


@dataclass(frozen=True, eq=False)
class Modes(ExplainsArguments):
    """Natural vibrations about a configuration at rest, the slowest first.

    Attributes
    ----------
    names : tuple of str
        Names of the rows of ``shapes``: freedoms, as in ``robot.v_names``.
    frequencies : ndarray (m,)
        Undamped frequencies in Hz; 0 for motions without restoring force.
    growth : ndarray (m,)
        Growth rate of a deviation without damping, in 1/s: 0 except for unstable modes.
    damping_ratios : ndarray (m,)
        Ratios of viscous damping, 1 being critical: exact if damping does not couple the modes, otherwise for each mode
        alone; ``poles`` are always exact.  NaN for modes that do not vibrate.  Coulomb friction is not included.
    shapes : ndarray (nv, m)
        Motions of all freedoms, a column per mode, with the largest entry 1.
    poles : ndarray (2 m,) of complex
        Poles of the damped motion, in 1/s: eigenvalues of the linear model.
    """

    names: tuple[str, ...]
    frequencies: Array
    growth: Array
    damping_ratios: Array
    shapes: Array
    poles: Array

    @property
    def stable(self) -> bool:
        """Whether no mode grows."""
        return not self.growth.any()

    def __len__(self) -> int:
        return len(self.frequencies)

    def shape(self, mode: int) -> dict[str, float]:
        """Return how the freedoms move in one mode, by name, without those that do not move."""
        return {
            name: float(share)
            for name, share in zip(self.names, np.real(self.shapes[:, mode]), strict=True)
            if abs(share) > 1e-9
        }

    def __str__(self) -> str:
        """Return a table: a line per mode."""
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> TextTable:
        """Return the table that ``print`` shows."""
        rows = []
        for k, (hertz, rate, ratio) in enumerate(
            zip(self.frequencies, self.growth, self.damping_ratios, strict=True)
        ):  # fmt: skip
            kind = f"grows, {rate:.4g} /s" if rate else f"{hertz:.4g} Hz" if hertz else "indifferent"
            shape = sorted(self.shape(k).items(), key=lambda item: -abs(item[1]))
            words = ", ".join(f"{name} {share:+.3g}" for name, share in shape[:NAMED])
            words += ", ..." if len(shape) > NAMED else ""
            rows.append([str(k + 1), kind, "-" if np.isnan(ratio) else f"{ratio:.3g}", words])
        return TextTable(("mode", "frequency", "damping", "shape"), rows, more="frequencies and shapes have all")


@dataclass(frozen=True, eq=False)
class RestMatrices:
    """Mass, stiffness and damping along the free motions at rest.

    Attributes
    ----------
    names : tuple of str
        Names of all freedoms.
    motions : ndarray (nv, m)
    mass, stiffness, damping : ndarray (m, m)
    """

    names: tuple[str, ...]
    motions: Array
    mass: Array
    stiffness: Array
    damping: Array

    @cached_property
    def modes(self) -> Modes:
        """Natural vibrations."""
        count = len(self.mass)
        if not count:
            nothing = np.zeros(0)
            return Modes(self.names, nothing, nothing, nothing, np.zeros((len(self.names), 0)), nothing.astype(complex))
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(0.5 * (self.mass + self.mass.T)))
        except np.linalg.LinAlgError:
            raise SingularError(
                "a free motion has no mass, so it has no frequency: give its bodies mass, or hold it"
            ) from None
        s, c = (inverse @ x @ inverse.T for x in (self.stiffness, self.damping))
        squares, x = _eigen(s)
        size = float(np.abs(squares).max())
        squares = np.where(np.abs(squares) <= ROUNDING * size + SLOWEST**2, 0.0, squares)
        rate = np.sqrt(squares.astype(complex))
        along = np.real(np.einsum("ij,ik,kj->j", x.conj(), c, x) / np.einsum("ij,ij->j", x.conj(), x))
        vibrates = (rate.real > 0.0) & (rate.imag == 0.0)
        ratios = np.where(vibrates, along / np.where(vibrates, 2.0 * rate.real, 1.0), np.nan)
        shapes = self.motions @ inverse.T @ x
        shapes = shapes / shapes[np.abs(shapes).argmax(axis=0), np.arange(count)]
        whole = np.block([[np.zeros((count, count)), np.eye(count)], [-s, -c]])
        return Modes(self.names, rate.real / (2.0 * np.pi), np.abs(rate.imag), ratios, shapes, np.linalg.eigvals(whole))


def _eigen(s: Array) -> tuple[Array, Array]:
    """Return eigenvalues, smallest first, and eigenvectors; complex if forces without a potential couple modes."""
    if np.abs(s - s.T).max() <= SYMMETRIC * np.abs(s).max():
        return np.linalg.eigh(0.5 * (s + s.T))
    squares, x = np.linalg.eig(s)
    order = np.argsort(squares.real)
    squares, x = squares[order], x[:, order]
    if np.abs(np.imag(squares)).max() <= SYMMETRIC * np.abs(squares).max():
        return np.real(squares), np.real(x)
    return squares, x

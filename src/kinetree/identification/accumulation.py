"""The equation ``Y p = tau`` of very many samples, without the tall matrix: tile by tile, file by file.

For every degree of freedom, the triangular factor of its own rows ``[Y | tau]`` is kept, for the columns that affect
it: a joint does not feel bodies that it does not carry, so most factors are small. Columns that are always combinations
of others need not be computed. These factors are all that least squares needs, regardless of the weights of the joints,
and factors of different parts of the data can be merged like those of tiles. Householder transformations keep all
digits; ``method="gram"`` adds up ``Y^T Y`` and ``Y^T tau``, which is faster but squares the condition number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas, lapack, solve_triangular
from scipy.linalg import qr as scipy_qr

from ..algorithms.algorithm import ALL, check_parameters
from ..errors import OptionError, Setting, ShapeError, StateError, explains_arguments, refuse_unknown
from ..former_names import former_arguments
from ..io.cluster import AHEAD, executor_of, most_processes
from ..io.paths import as_path
from ..io.tables.reading import open_table
from ..robot.robot import Robot
from ..spatial.arrays import Array, as_array
from ..spatial.numbers import whole_number
from . import tuned_constants as tuned

METHODS = ("qr", "gram")


@dataclass(frozen=True)
class Solution:
    """The least-squares solution for all samples."""

    names: tuple[str, ...]
    values: Array  # (p,)
    """Parameters that the samples do not determine keep their previous values."""
    rank: int
    """The number of combinations of parameters that the samples determine."""
    singular_values: Array
    noise: Array  # (rows,)
    """Root mean square of the residuals, per joint force."""
    samples: int


class Accumulator:
    """Sums over the samples of a motion with its forces; the samples themselves are not kept.

    Parameters
    ----------
    robot : Robot
        If it has closed loops, the rows are those of the independent freedoms, G^T Y and G^T tau.
    parameters : sequence of str, optional
        The columns, by their names in ``robot.parameters()``; all by default.
    friction : bool
        Whether the columns of friction are included if ``parameters`` is left out.
    method : {"qr", "gram"}

    Examples
    --------
    >>> import numpy as np, kinetree as kt
    >>> from kinetree.identification import Accumulator
    >>> robot, rng = kt.gallery.load("kuka-kr5"), np.random.default_rng(0)
    >>> q, v, a = rng.standard_normal((3, 500, robot.nv))
    >>> sums = Accumulator(robot, friction=False).add(q, v, a, robot.inverse_dynamics(q, v, a))
    >>> bool(sums.solve().noise.max() < 1e-9)
    True
    """

    def __init__(
        self, robot: Robot, parameters: Sequence[str] | str = ALL, *, friction: bool = True, method: str = "qr"
    ) -> None:
        refuse_unknown("method of accumulation", method, METHODS)
        self.robot, self.friction, self.method = robot, friction, method
        chosen = check_parameters(robot.model, parameters)
        if chosen == ALL:
            unneeded = () if friction else (".damping", ".friction", ".offset")
            chosen = tuple(name for name in robot.parameters().names if not name.endswith(unneeded or ("\0",)))
        self.names: tuple[str, ...] = chosen
        self.samples = 0
        self._kept, self._combinations = _independent_columns(self)
        self._felt = _felt_columns(self)
        self.factors: list[Array] = [np.zeros((n + 1, n + 1), order="F") for n in map(len, self._felt)]
        """For each row, the triangle R with R^T R = [Y tau]^T [Y tau], or that product itself."""

    @property
    def rows(self) -> int:
        """The number of joint forces of each sample."""
        return self.robot.nv if self.robot.loops is None else self.robot.coordinates.freedoms

    # ---------------------------------------------------------------- adding

    def add(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike, *, threads: int = 1) -> Accumulator:
        """Add samples, each array (n, nq) or (n, nv); return this accumulator."""
        robot = self.robot
        state = robot.evaluator.states.configuration(q)
        others = [as_array(x, (robot.nv,), name, f"{robot.nv} = nv") for name, x in (("v", v), ("a", a), ("tau", tau))]
        arrays = [np.atleast_2d(x) for x in (state, *others)]
        if any(x.ndim != 2 for x in arrays) or len({len(x) for x in arrays}) > 1:
            shown = ", ".join(f"{n} {x.shape}" for n, x in zip(("q", "v", "a", "tau"), arrays, strict=True))
            raise ShapeError(f"samples are arrays (n, ...) with the same n for all; got {shown}")
        bad = ~np.all([np.isfinite(x).all(axis=-1) for x in arrays], axis=0)
        if bad.any():
            raise StateError(
                f"sample {int(np.argmax(bad))} (of {int(bad.sum())} such) has NaN or infinity: leave such rows out"
            )
        count = self._tile
        room = np.empty((min(count, len(state)), self.rows, len(self._kept)))
        for first in range(0, len(state), count):
            part = [x[first : first + count] for x in arrays]
            self._add_tile(*self._equations(part, room[: len(part[0])], threads))
        self.samples += len(state)
        return self

    @property
    def _tile(self) -> int:
        """The number of samples that are computed at once."""
        most = max(map(len, self._felt), default=0) + 1
        return max(tuned.LEAST_TILE, most, tuned.TILE_BYTES // (8 * max(1, self.rows * len(self._kept))))

    def _equations(self, part: Sequence[Array], room: Array, threads: int) -> tuple[Array, Array]:
        """Return regressor and forces of some samples."""
        robot, (q, v, a, tau) = self.robot, part
        if robot.loops is not None:
            y = robot.reduced_regressor(q, v, a, parameters=self._kept, friction=self.friction, threads=threads)
            return y, (np.swapaxes(robot.basis(q), -1, -2) @ tau[..., None])[..., 0]
        options: dict[str, Any] = {"parameters": self._kept, "friction": self.friction}
        return robot.evaluator.run("regressor", options, out=room, threads=threads, q=q, v=v, a=a), tau

    def _add_tile(self, y: Array, tau: Array) -> None:
        for row, columns in enumerate(self._felt):
            own = np.empty((len(columns) + 1, len(y)))
            own[:-1] = y[:, row].T[columns]
            own[-1] = tau[:, row]
            self._put_together(row, own.T)

    def _put_together(self, row: int, own: Array) -> None:
        """Add rows ``[Y | tau]``, which are overwritten, to the sums."""
        factor = self.factors[row]
        if self.method == "gram":
            self.factors[row] = blas.dsyrk(1.0, own, 1.0, factor, trans=1, overwrite_c=1)  # the upper triangle
            return
        self.factors[row], *_, info = lapack.dtpqrt(
            0, min(tuned.REFLECTED_TOGETHER, len(factor)), factor, own, overwrite_a=1, overwrite_b=1
        )
        assert info == 0

    def merge(self, other: Accumulator) -> Accumulator:
        """Add the sums of another accumulator of the same robot and columns; return this one."""
        if other.names != self.names or other.method != self.method or other.rows != self.rows:
            raise OptionError("only accumulators of the same robot, columns and method can be merged")
        for row, factor in enumerate(other.factors):
            if self.method == "gram":
                self.factors[row] += factor
            else:
                self._put_together(row, factor.copy(order="F"))
        self.samples += other.samples
        return self

    # ---------------------------------------------------------------- what there is

    def gram(self, weights: ArrayLike | None = None) -> tuple[Array, Array, float]:
        """Return Y^T W Y, Y^T W tau and tau^T W tau, with a weight per joint force (1 by default)."""
        p, t = len(self._kept), self._combinations
        total = np.zeros((p + 1, p + 1))
        for weight, columns, factor in zip(self._weights(weights), self._felt, self.factors, strict=True):
            places = np.append(columns, p)
            total[np.ix_(places, places)] += weight * self._product(factor)
        return t.T @ total[:p, :p] @ t, t.T @ total[:p, p], float(total[p, p])

    def _product(self, factor: Array) -> Array:
        """Return [Y tau]^T [Y tau] of one row."""
        if self.method == "qr":
            return np.asarray(factor.T @ factor)
        upper = np.triu(factor)
        return np.asarray(upper + np.triu(upper, 1).T)

    def triangle(self, weights: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return R, (p, p), and Q^T tau, (p,), of a QR factorization of all rows.

        Each joint force has a weight (1 by default); its rows are multiplied by the square root of the weight.
        """
        p, n = len(self._kept), len(self.names)
        if self.method == "gram":
            raise OptionError(
                "only products were accumulated, which have no triangular factor: accumulate with method='qr'"
            )
        rows = []
        for weight, columns, factor in zip(self._weights(weights), self._felt, self.factors, strict=True):
            own = np.zeros((len(factor), p + 1))
            own[:, np.append(columns, p)] = np.sqrt(weight) * factor
            rows.append(own)
        stacked = np.vstack([*rows, np.zeros((n + 1, p + 1))])
        whole = np.hstack([stacked[:, :p] @ self._combinations, stacked[:, p:]])
        triangle = np.triu(_triangle(np.asfortranarray(whole))[: n + 1])
        return triangle[:n, :n], triangle[:n, n]

    def _weights(self, weights: ArrayLike | None) -> Array:
        given = np.ones(self.rows) if weights is None else as_array(weights, (self.rows,), "weights")
        if given.shape != (self.rows,) or not (np.isfinite(given) & (given >= 0.0)).all():
            raise ShapeError(f"weights must be {self.rows} numbers that are not negative, one per joint force")
        return given

    @explains_arguments
    @former_arguments(start="p0")
    def solve(
        self, weights: ArrayLike | None = None, *, p0: ArrayLike | None = None, tolerance: float | None = None
    ) -> Solution:
        """Return the parameters that fit best; among those that fit equally well, those nearest to ``p0``.

        Parameters
        ----------
        weights : array_like, optional
            Weight of each joint force: one over the square of its noise.
        p0 : array_like, optional
            Values of parameters that the samples do not determine; by default those of the robot.
        tolerance : float, optional
            A singular value counts as zero below this fraction of the largest one; columns are scaled to unit length
            first.
        """
        if not self.samples:
            raise StateError("there are no samples yet: add some")
        table = self.robot.parameters()
        own = np.array([table[name] for name in self.names])
        begin = own if p0 is None else as_array(p0, (len(self.names),), "p0")
        gram = self.method == "gram"
        if gram:
            matrix, rhs, _ = self.gram(weights)
            size = np.sqrt(np.diagonal(matrix))
        else:
            matrix, rhs = self.triangle(weights)
            size = np.linalg.norm(matrix, axis=0)
        # a combination of columns that cancels in these samples is only rounding
        told = size > (tuned.CANCELED**0.5 if gram else tuned.CANCELED) * self._reach(weights)
        scale = np.where(told, size, 1.0)
        matrix = np.where(told, matrix, 0.0)
        if gram:
            matrix, rhs = np.where(told[:, None], matrix, 0.0), np.where(told, rhs, 0.0)
        scaled = matrix / scale / scale[:, None] if gram else matrix / scale
        left = (rhs - matrix @ begin) / (scale if gram else 1.0)
        u, s, vt = np.linalg.svd(scaled)
        least = tolerance if tolerance is not None else tuned.RANK_TOLERANCE**0.5 if gram else tuned.RANK_TOLERANCE
        rank = int(np.sum(s > (least**2 if gram else least) * s[0])) if s.size else 0
        step = vt[:rank].T @ ((u[:, :rank].T @ left) / s[:rank])
        values = begin + step / scale
        return Solution(self.names, values, rank, np.sqrt(s) if gram else s, self.noise(values), self.samples)

    def _reach(self, weights: ArrayLike | None) -> Array:
        """Return the norm that each column would have if nothing in its combination canceled."""
        squares = np.zeros(len(self._kept))
        for weight, columns, factor in zip(self._weights(weights), self._felt, self.factors, strict=True):
            squares[columns] += weight * np.diagonal(self._product(factor))[:-1]
        return np.asarray(np.sqrt(squares) @ np.abs(self._combinations))

    def noise(self, values: ArrayLike) -> Array:
        """Return the root mean square of ``tau - Y p`` of each joint force, (nv,)."""
        given, found = self._combinations @ as_array(values, (len(self.names),), "values"), []
        for columns, factor in zip(self._felt, self.factors, strict=True):
            x = np.append(-given[columns], 1.0)
            gram = self.method == "gram"
            square = float(x @ self._product(factor) @ x) if gram else float(np.sum((factor @ x) ** 2))
            found.append(np.sqrt(max(square, 0.0) / max(1, self.samples)))
        return np.array(found)


def _triangle(tall: Array) -> Array:
    """Return R of a QR factorization, with reflectors below it; the argument is overwritten."""
    factored, _, _, info = lapack.dgeqrf(tall, overwrite_a=1)
    assert info == 0
    return np.asarray(factored)


def _felt_columns(sums: Accumulator) -> list[Array]:
    """Return which columns are not always zero in each row; in random motions, all zeros are structural."""
    if sums.robot.loops is not None:
        return [np.arange(len(sums._kept))] * sums.rows
    seen = _at_random(sums.robot, sums._kept, sums.friction, 3)
    return [np.flatnonzero(felt) for felt in (seen != 0.0).any(axis=0)]


def _independent_columns(sums: Accumulator) -> tuple[tuple[str, ...], Array]:
    """Return independent columns, and all columns as combinations of them: Y = Y_kept T.

    They are found by pivoting on random motions, in which structural combinations are exact up to rounding.
    """
    names, robot = sums.names, sums.robot
    if robot.loops is not None:
        return names, np.eye(len(names))
    tall = _at_random(robot, names, sums.friction, 8 + 2 * len(names) // max(1, robot.nv)).reshape(-1, len(names))
    size = np.linalg.norm(tall, axis=0)
    scale = np.where(size > 0.0, size, 1.0)
    r, order = scipy_qr(tall / scale, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(r))
    rank = int(np.sum(diagonal > tuned.RANK_TOLERANCE * max(diagonal.max(initial=0.0), 1e-300)))
    kept = np.sort(order[:rank])
    combinations = np.zeros((rank, len(names)))
    combinations[:, order] = np.hstack([np.eye(rank), solve_triangular(r[:rank, :rank], r[:rank, rank:])])
    combinations[np.abs(combinations) < tuned.RANK_TOLERANCE] = 0.0  # rounding errors
    combinations *= scale / scale[order[:rank], None]
    combinations = combinations[np.argsort(order[:rank])]
    combinations[:, kept] = np.eye(rank)
    return tuple(names[k] for k in kept), combinations


def _at_random(robot: Robot, names: tuple[str, ...], friction: bool, count: int) -> Array:
    """Return the regressor of random motions, (count, nv, columns)."""
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, count)
    v, a = rng.standard_normal((2, count, robot.nv))
    return robot.evaluator.run("regressor", {"parameters": names, "friction": friction}, q=q, v=v, a=a)


# ------------------------------------------------------------------ files, and many machines


def accumulate_files(
    robot: Robot, files: Iterable[str | Path] | str | Path, parameters: Sequence[str] | str = ALL, *,
    friction: bool = True, method: str = "qr", client: Any = None, workers: int | None = None,
) -> Accumulator:  # fmt: skip
    """Accumulate samples from files, each read by one of several processes.

    Parameters
    ----------
    robot : Robot
    files : path or iterable of paths
        Tables with the columns of q, v, a and tau, named for joints as usual: Parquet, CSV or npz.
    parameters, friction, method
        As in :class:`Accumulator`.
    client : dask.distributed.Client or str, optional
        Client of your own cluster, or its address; its workers must be able to read the files. By default, processes on
        this machine are used.
    workers : int, optional
        Number of processes on this machine; 1 reads all files in the current process.

    Returns
    -------
    Accumulator
    """
    paths = [as_path(x, "a file to accumulate") for x in ([files] if isinstance(files, str | Path) else files)]
    if not paths:
        raise OptionError("there is no file to accumulate")
    if workers is not None:
        workers = whole_number(workers, Setting("workers"), 1, most_processes())
    empty = Accumulator(robot, parameters, friction=friction, method=method)
    if client is None and (workers == 1 or len(paths) == 1):
        for path in paths:
            _add_file(empty, path)
        return empty
    with executor_of(client, workers) as (executor, at_once):
        waiting: deque[Future[Accumulator]] = deque()
        for path in paths:
            waiting.append(executor.submit(_of_file, robot, empty.names, empty.friction, empty.method, path))
            if len(waiting) > AHEAD * at_once:
                empty.merge(waiting.popleft().result())
        for future in waiting:
            empty.merge(future.result())
    return empty


def _of_file(robot: Robot, names: tuple[str, ...], friction: bool, method: str, path: Path) -> Accumulator:
    return _add_file(Accumulator(robot, names, friction=friction, method=method), path)


def _add_file(sums: Accumulator, path: Path) -> Accumulator:
    """Add a table, part by part."""
    robot = sums.robot
    wanted = {"q": robot.q_names, "v": robot.v_names, "a": robot.v_names, "tau": robot.v_names}
    for part in open_table(path, wanted).parts():
        rows = part.read()
        try:
            sums.add(*rows.arrays)
        except StateError as problem:
            arrays = np.concatenate(rows.arrays, axis=-1)
            bad = ~np.isfinite(arrays).all(axis=-1)
            raise part.fault(int(np.argmax(bad)) if bad.any() else 0, str(problem)) from None
    return sums

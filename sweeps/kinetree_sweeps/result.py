"""Results of a sweep: its rows in parts, and statistics of all rows without having them all in memory."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import OptionError, explains_arguments, refuse_unknown
from kinetree.former_names import former_arguments
from kinetree.io.paths import as_path
from kinetree.io.tables.formats import need_pyarrow
from kinetree.spatial.arrays import Array

from .folder import FAILURE, ROW, SweepFolder

BINS = 4096
"""Number of bins used to find a quantile."""

FEW = 200_000
"""If there are no more values than this, a quantile is found by sorting."""


class SweepResult:
    """The results of a sweep, on the disk.

    Parameters
    ----------
    path : path
        The folder.
    seconds : float
        Time in seconds that the new rows took.
    computed : int
        Number of rows that were computed now.

    Attributes
    ----------
    path : Path
    seconds : float
    computed : int

    Examples
    --------
    >>> import kinetree as kt
    >>> found = kt.sweep(lambda p: {"square": p["x"] ** 2}, {"x": [1.0, 2.0, 3.0]})
    >>> float(found.mean("square")), found.quantile("square", 0.5).tolist()
    (4.666666666666667, 4.0)
    """

    def __init__(
        self, path: str | os.PathLike[str], seconds: float = 0.0, keep: Any = None, computed: int = 0,
        folder: SweepFolder | None = None,
    ) -> None:  # fmt: skip
        self._folder = SweepFolder(as_path(path, "the folder of a sweep")) if folder is None else folder
        self.manifest = self._folder.manifest()
        self.seconds, self.computed, self._keep = seconds, computed, keep

    def __repr__(self) -> str:
        what = f"{self.rows:,} rows" if self.complete else f"{self.rows:,} of {self.manifest.rows:,} rows"
        place = str(self._folder.path)
        return f"<SweepResult of {self.manifest.label!r}: {what}, {len(self.names)} columns, in {place!r}>"

    # ---------------------------------------------------------------- what there is

    @property
    def path(self) -> Path:
        """The folder; if the sweep is kept in memory, its files are written now."""
        self._folder.files()
        return self._folder.path

    @property
    def files(self) -> list[Path]:
        """The parts, in the order of the rows: Parquet files that any program can read."""
        return self._folder.files()

    @property
    def complete(self) -> bool:
        """Whether all parts are there."""
        return len(self._folder.finished()) == self.manifest.parts

    @property
    def rows(self) -> int:
        """The number of rows."""
        numbers = self._folder.finished()
        last = self.manifest.parts - 1
        short = self.manifest.parts * self.manifest.part_rows - self.manifest.rows
        return len(numbers) * self.manifest.part_rows - (short if last in numbers else 0)

    def __len__(self) -> int:
        return self.rows

    @property
    def names(self) -> list[str]:
        """The columns: ``row``, parameters, outputs, ``failure``."""
        found: dict[str, None] = {}
        for number in self._folder.finished():
            found |= dict.fromkeys(self._folder.names(number))
            if len(found) > 2 + len(self.manifest.names):
                break  # a part in which all rows failed has no outputs
        return [*(name for name in found if name != FAILURE), FAILURE]

    @property
    def outputs(self) -> list[str]:
        """The columns that were computed."""
        return [name for name in self.names if name not in (ROW, FAILURE, *self.manifest.names)]

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Array]]:
        """Yield the parts one after the other, each a mapping from names to arrays (rows,).

        Parameters
        ----------
        columns : sequence of str, optional
            Columns to read; all by default.
        """
        wanted = self._known(columns)
        for number in self._folder.finished():
            there = self._folder.read(number, [ROW, *wanted])
            count = len(there[ROW])
            yield {name: there[name] if name in there else np.full(count, np.nan) for name in wanted}

    def _known(self, columns: Sequence[str] | str | None) -> list[str]:
        names = self.names
        wanted = names if columns is None else [columns] if isinstance(columns, str) else list(columns)
        for name in wanted:
            refuse_unknown("column of this sweep", name, names)
        return wanted

    def arrays(self, columns: Sequence[str] | str | None = None) -> dict[str, Array]:
        """Return columns as NumPy arrays, (rows,) each, all rows at once."""
        parts = list(self.parts(columns))
        if not parts:
            raise OptionError("no part of this sweep is finished yet")
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def __getitem__(self, name: str) -> Array:
        return self.arrays([name])[name]

    def arrow(self) -> Any:
        """Return everything as a pyarrow dataset, which reads and filters it in pieces."""
        need_pyarrow()
        import pyarrow.dataset

        return pyarrow.dataset.dataset([str(path) for path in self.files], format="parquet")

    def pandas(self) -> Any:
        """Return all rows as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise OptionError(
                "data frames need the package pandas: pip install 'kinetree[sweep]'; or use arrays()"
            ) from None
        return pandas.DataFrame(self.arrays())

    def failures(self) -> dict[str, Array]:
        """Return the rows that failed: their numbers, parameters and the reasons, (n,) each."""
        wanted = [ROW, *self.manifest.names, FAILURE]
        found: list[dict[str, Array]] = []
        for part in self.parts(wanted):
            bad = np.array([x is not None for x in part[FAILURE]], dtype=bool)
            if bad.any():
                found.append({name: x[bad] for name, x in part.items()})
        return {name: np.concatenate([part[name] for part in found] or [np.zeros(0)]) for name in wanted}

    # ---------------------------------------------------------------- what can be said of all

    def _values(self, column: str) -> Iterator[Array]:
        """Yield the numbers of a column part by part, without NaN."""
        for part in self.parts([column]):
            values = np.asarray(part[column], dtype=float)
            yield values[~np.isnan(values)]

    def count(self, column: str) -> int:
        """Return how many rows have a number in a column."""
        return sum(map(len, self._values(column)))

    def mean(self, column: str) -> float:
        """Return the mean; rows without a number do not count."""
        return self._moments(column)[1]

    def deviation(self, column: str) -> float:
        """Return the standard deviation of the rows that have a number."""
        count, _, squares = self._moments(column)
        return math.sqrt(squares / (count - 1)) if count > 1 else math.nan

    def _moments(self, column: str) -> tuple[int, float, float]:
        """Return count, mean and sum of squares about it, merged part by part (Chan, Golub and LeVeque 1979)."""
        count, mean, squares = 0, math.nan, 0.0
        for values in self._values(column):
            if len(values):
                with np.errstate(invalid="ignore"):
                    own, about = len(values), float(np.mean(values))
                    apart = 0.0 if count == 0 else about - mean
                    squares += float(np.sum((values - about) ** 2)) + apart * apart * count * own / (count + own)
                if math.isfinite(apart):
                    mean = about if count == 0 else mean + apart * own / (count + own)
                else:
                    mean = mean + about  # infinite, or NaN if both infinities occur
                count += own
        return count, mean, squares

    def extremes(self, column: str) -> tuple[float, float]:
        """Return the least and the largest number."""
        ends = [(float(x.min()), float(x.max())) for x in self._values(column) if len(x)]
        return (min(a for a, _ in ends), max(b for _, b in ends)) if ends else (math.nan, math.nan)

    def histogram(
        self, column: str, bins: int = 50, span: tuple[float, float] | None = None
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return how many rows fall into each of several equal intervals, (n,), and the intervals' ends, (n + 1,).

        Parameters
        ----------
        column : str
        bins : int
        span : pair of floats, optional
            Range of the intervals; numbers outside are not counted. By default it goes from the smallest to the largest
            finite number, and infinite numbers are not counted.
        """
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
            raise OptionError(f"bins must be a whole number from 1, not {bins!r}")
        low, high = self._finite_extremes(column) if span is None else span
        edges = np.histogram_bin_edges([], bins, (0.0, 1.0) if math.isnan(low) else (low, high))
        counts = np.zeros(bins, dtype=int)
        for values in self._values(column):
            counts += np.histogram(values[np.isfinite(values)], edges)[0]
        return counts, edges

    def _finite_extremes(self, column: str) -> tuple[float, float]:
        low, high = math.inf, -math.inf
        for values in self._values(column):
            finite = values[np.isfinite(values)]
            low, high = min(low, float(finite.min(initial=low))), max(high, float(finite.max(initial=high)))
        return (low, high) if low <= high else (math.nan, math.nan)

    def quantile(self, column: str, share: ArrayLike) -> Array:
        """Return quantiles, of the shape of ``share``, as :func:`numpy.quantile` does, in a few passes over the parts.

        Between two numbers whose difference exceeds the largest float, the result is correct, while that of NumPy is
        infinite.

        Parameters
        ----------
        column : str
        share : float or array_like
            Shares between 0 and 1.
        """
        wanted = np.asarray(share, dtype=float)
        if not np.all((wanted >= 0.0) & (wanted <= 1.0)):
            raise OptionError(f"shares of quantiles are between 0 and 1, not {share!r}")
        count = self.count(column)
        if not count:
            return np.full(wanted.shape, np.nan)
        place = wanted.ravel() * (count - 1)
        ranks = np.unique(np.concatenate([np.floor(place), np.ceil(place)]).astype(int))
        values = dict(zip(ranks.tolist(), self._at_ranks(column, ranks), strict=True))
        low, high = (np.array([values[int(r)] for r in end(place)]) for end in (np.floor, np.ceil))
        # interpolated exactly as in NumPy
        part = place - np.floor(place)
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1.0 - part))
            apart = np.isfinite(low) & np.isfinite(high) & np.isinf(high - low)  # NumPy would give infinity here
            found = np.where(apart, low * (1.0 - part) + high * part, found)
        return np.asarray(np.where(low == high, low, found).reshape(wanted.shape))

    def _at_ranks(self, column: str, ranks: Array) -> list[float]:
        """Return the numbers at given ranks of a column: intervals are narrowed until few numbers are in them."""
        least, finite = (sum(int(x.sum()) for x in map(f, self._values(column))) for f in (np.isneginf, np.isfinite))
        inside = (ranks >= least) & (ranks < least + finite)
        found = {int(rank): -math.inf if rank < least else math.inf for rank in ranks[~inside]}
        waiting: list[tuple[float, float, int, Array]] = []  # ends, number of values below, and ranks in between
        if inside.any():
            waiting.append((*self._finite_extremes(column), least, ranks[inside]))
        while waiting:
            low, high, before, own = waiting.pop()
            if low == high:
                found |= dict.fromkeys(own.tolist(), low)
                continue
            scale = 1.0 if math.isfinite(high - low) else 0.5  # the range of all floats is itself too large
            edges = np.linspace(low * scale, high * scale, BINS + 1) / scale
            counts = np.zeros(BINS, dtype=int)
            for values in self._within(column, low, high):
                counts += np.bincount(_bin_of(edges, values), minlength=BINS)
            below = before + np.concatenate([[0], np.cumsum(counts)])
            bins = np.searchsorted(below, own, side="right") - 1
            contents = self._in_bins(column, edges, {int(k): int(counts[k]) <= FEW for k in bins})
            for k, (numbers, low, high) in contents.items():
                mine = own[bins == k]
                if numbers is None:
                    waiting.append((low, high, int(below[k]), mine))
                else:
                    found |= dict(zip(mine.tolist(), np.sort(numbers)[mine - below[k]].tolist(), strict=True))
        return [found[rank] for rank in ranks.tolist()]

    def _within(self, column: str, low: float, high: float) -> Iterator[Array]:
        for values in self._values(column):
            yield values[(values >= low) & (values <= high)]

    def _in_bins(
        self, column: str, edges: Array, bins: dict[int, bool]
    ) -> dict[int, tuple[Array | None, float, float]]:  # fmt: skip
        """Return the numbers in some intervals; for intervals with many, only the least and the largest."""
        kept: dict[int, list[Array]] = {k: [] for k in bins}
        ends = dict.fromkeys(bins, (math.inf, -math.inf))
        for values in self._within(column, edges[0], edges[-1]):
            which = _bin_of(edges, values)
            for k, few in bins.items():
                own = values[which == k]
                if len(own):
                    ends[k] = min(ends[k][0], float(own.min())), max(ends[k][1], float(own.max()))
                    if few:
                        kept[k].append(own)
        return {k: (np.concatenate(kept[k]) if few else None, *ends[k]) for k, few in bins.items()}

    def best(self, column: str, k: int = 10, *, largest: bool = False) -> dict[str, Array]:
        """Return the rows with the least (or largest) numbers, (k,) of each column, the best first.

        Parameters
        ----------
        column : str
        k : int
            Number of rows.
        largest : bool
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise OptionError(f"k must be a whole number from 1, not {k!r}")
        sign = -1.0 if largest else 1.0
        kept: list[tuple[float, int]] = []
        for part in self.parts([column, ROW]):
            values = sign * np.asarray(part[column], dtype=float)
            some = np.argsort(values, kind="stable")[:k]  # NaN comes last
            kept = heapq.nsmallest(k, kept + [(values[i], int(part[ROW][i])) for i in some if not np.isnan(values[i])])
        return self._rows([row for _, row in kept])

    def _rows(self, rows: Sequence[int]) -> dict[str, Array]:
        """Return some rows, in the given order."""
        size, names = self.manifest.part_rows, self.names
        found: dict[int, dict[str, Any]] = {}
        for number in sorted({row // size for row in rows}):
            part = self._folder.read(number, names)
            for row in rows:
                if row // size == number:
                    found[row] = {name: part[name][row - number * size] if name in part else math.nan for name in names}
        return {name: np.array([found[row][name] for row in rows]) for name in names}

    @explains_arguments
    @former_arguments(begin="initial")
    def reduce(self, initial: Any, put_in: Callable[[Any, dict[str, Array]], Any], columns: Any = None) -> Any:
        """Return the result of a user's reduction over all parts: ``found = put_in(found, part)`` for each.

        Parameters
        ----------
        initial : object
            The value before the first part.
        put_in : callable
            A function of the current value and a part (a mapping from names to arrays) that returns the new value.
        columns : sequence of str, optional
            Columns to read.
        """
        for part in self.parts(columns):
            initial = put_in(initial, part)
        return initial

    def summary(self) -> dict[str, Any]:
        """Return rows, failures, and for each output count, mean, deviation, least, median and largest."""
        found: dict[str, Any] = {}
        for name in self.outputs:
            low, high = self.extremes(name)
            found[name] = {
                "count": self.count(name), "mean": self.mean(name), "deviation": self.deviation(name),
                "least": low, "median": float(self.quantile(name, 0.5)), "largest": high,
            }  # fmt: skip
        failed = sum(sum(x is not None for x in part[FAILURE]) for part in self.parts([FAILURE]))
        return {"rows": self.rows, "of": self.manifest.rows, "failures": failed, "outputs": found}


def _bin_of(edges: Array, values: Array) -> Array:
    return np.minimum(np.searchsorted(edges, values, side="right") - 1, len(edges) - 2)

"""Designs: the values of parameters, row by row, without all rows in memory at once.

A row depends only on the design, not on earlier rows, so any part of a sweep can be computed anywhere, in any order,
and repeatedly.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import OptionError, ShapeError, UnknownNameError, explains_arguments, refuse_unknown
from kinetree.former_names import former_arguments
from kinetree.io.tables.formats import format_of, need_pyarrow
from kinetree.simulation.worlds.draws import LogUniform, Normal, Uniform, uniform
from kinetree.spatial.arrays import Array

DISTRIBUTIONS = (Uniform, LogUniform, Normal)
DESIGNS = ("grid", "random", "latin-hypercube", "sobol", "table")
MOST_ROWS = 2**53
MEANT = {"lhs": "latin-hypercube", "lhc": "latin-hypercube", "uniform": "random", "monte-carlo": "random",
         "factorial": "grid", "full": "grid", "csv": "table"}  # fmt: skip
"""Names of designs in other programs."""

ALL_AT_ONCE = ("latin-hypercube", "sobol")
"""Designs whose rows can only be computed all together."""


class Design:
    """Rows of parameters.

    Attributes
    ----------
    names : tuple of str
    rows : int
    """

    names: tuple[str, ...]
    rows: int

    def columns(self, first: int, count: int) -> dict[str, Array]:
        """Return the values of some rows, an array (rows,) for each parameter."""
        raise NotImplementedError

    def content(self) -> Any:
        """Return everything that determines the rows, as plain data."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.rows

    @property
    def fingerprint(self) -> str:
        """A text that distinguishes this design from any other."""
        text = json.dumps([type(self).__name__, self.rows, self.names, self.content()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def title(self) -> str:
        """The design in a few words."""
        return f"{type(self).__name__}, {self.rows:,} rows of {', '.join(self.names[:6])}" + (
            ", ..." if len(self.names) > 6 else ""
        )


class GridDesign(Design):
    """Every combination of values; the last parameter changes fastest.

    Parameters
    ----------
    values : mapping from str to sequence of float

    Examples
    --------
    >>> import kinetree as kt
    >>> kt.sweeps.GridDesign({"crank": [0.03, 0.04], "rocker": [0.1, 0.11, 0.12]}).rows
    6
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        _named(values)
        self.axes = {name: _axis(name, given) for name, given in values.items()}
        self.names = tuple(self.axes)
        self.rows = math.prod(map(len, self.axes.values()))
        if self.rows > MOST_ROWS:
            raise OptionError(f"a grid of {self.rows:.3g} rows is more than can be counted: draw some at random")

    def columns(self, first: int, count: int) -> dict[str, Array]:
        """Return the values of some rows."""
        places = np.unravel_index(np.arange(first, first + count), [len(x) for x in self.axes.values()])
        return {name: axis[at] for (name, axis), at in zip(self.axes.items(), places, strict=True)}

    def content(self) -> Any:
        """Return the axes."""
        return [axis.tolist() for axis in self.axes.values()]


@explains_arguments
@former_arguments(samples="draws")
class DrawnDesign(Design):
    """Rows drawn at random or, on request, evenly.

    Parameters
    ----------
    values : mapping from str to distribution or sequence of float
        :class:`kinetree.Uniform`, :class:`kinetree.LogUniform`, :class:`kinetree.Normal`, or equally likely values.
    draws : int
        Number of rows.
    seed : int
    how : {"random", "latin-hypercube", "sobol"}
        Independent rows; rows that fill the space more evenly, with each parameter once in each of ``draws`` equally
        likely intervals; or a Sobol sequence (``draws`` must be a power of two).
    """

    def __init__(self, values: Mapping[str, Any], draws: int, seed: int = 0, how: str = "random") -> None:
        _named(values)
        refuse_unknown("way to draw", how, ("random", *ALL_AT_ONCE))
        if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
            raise OptionError(f"draws must be a whole number from 1, not {draws!r}: that many rows are drawn")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise OptionError(f"seed must be a whole number from 0, not {seed!r}")
        if how == "sobol" and draws & (draws - 1):
            near = 1 << max(0, int(draws).bit_length() - 1)
            raise OptionError(f"a Sobol sequence needs a power of two draws: {near} or {2 * near}, not {draws}")
        self.values = {
            name: x if isinstance(x, DISTRIBUTIONS) else _axis(name, x) for name, x in values.items()
        }  # fmt: skip
        for name, x in self.values.items():
            if isinstance(x, DISTRIBUTIONS) and np.ndim(x.of(np.array(0.5))):
                raise ShapeError(f"parameter {name!r} is one number: give its distribution one number per bound")
        self.names, self.rows, self.seed, self.how = tuple(self.values), int(draws), int(seed), how

    @cached_property
    def _all(self) -> Array:
        """All rows, between 0 and 1, of a design that must be computed as a whole."""
        from scipy.stats import qmc

        rng = np.random.default_rng(self.seed)
        if self.how == "sobol":
            return np.asarray(qmc.Sobol(len(self.names), seed=rng).random(self.rows))
        return np.asarray(qmc.LatinHypercube(len(self.names), seed=rng).random(self.rows))

    def columns(self, first: int, count: int) -> dict[str, Array]:
        """Return the values of some rows."""
        if self.how in ALL_AT_ONCE:
            u = self._all[first : first + count]
        else:
            lanes = np.arange(first, first + count)
            u = uniform(self.seed, lanes, np.zeros(count, dtype=int), 0, len(self.names))
        return {name: _drawn(x, u[:, k]) for k, (name, x) in enumerate(self.values.items())}

    def content(self) -> Any:
        """Return distributions, seed and, if a library made the rows, a digest of the rows."""
        of_each = [
            x.tolist() if isinstance(x, np.ndarray)
            else [type(x).__name__, x.relative, *(np.asarray(x.of(np.array(u))).tolist() for u in (0.0, 0.3, 1.0))]
            for x in self.values.values()
        ]  # fmt: skip
        whole = hashlib.sha256(self._all.tobytes()).hexdigest() if self.how in ALL_AT_ONCE else ""
        return [self.how, self.seed, whole, of_each]

    @property
    def title(self) -> str:
        """The design in a few words."""
        return super().title.replace(type(self).__name__, f"{self.how} of seed {self.seed}", 1)


class TableDesign(Design):
    """Rows as given.

    Parameters
    ----------
    columns : mapping from str to array_like, data frame, or path
        Columns of equal length, or a ``.parquet`` or ``.csv`` file whose columns are named for parameters.
    """

    def __init__(self, columns: Any) -> None:
        if isinstance(columns, (str, os.PathLike)):
            columns = _table_of_file(Path(columns))
        elif not isinstance(columns, Mapping) and hasattr(columns, "to_dict") and hasattr(columns, "columns"):
            columns = {str(name): np.asarray(columns[name]) for name in columns.columns}
        _named(columns)
        self._columns = {name: _numbers(name, x) for name, x in columns.items()}
        self.names = tuple(self._columns)
        lengths = {name: len(x) for name, x in self._columns.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {n}" for name, n in lengths.items())
            raise ShapeError(f"the columns of a table are equally long; got {shown}")
        self.rows = next(iter(lengths.values()))
        if not self.rows:
            raise OptionError("the table has no rows, so there is nothing to compute")

    def columns(self, first: int, count: int) -> dict[str, Array]:
        """Return the values of some rows."""
        return {name: x[first : first + count] for name, x in self._columns.items()}

    def content(self) -> Any:
        """Return a digest of the numbers."""
        whole = hashlib.sha256()
        for x in self._columns.values():
            whole.update(np.ascontiguousarray(x).tobytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class DesignRows:
    """Some rows of a design, to be sent to the process that computes them."""

    first: int
    columns: dict[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def some(self, begin: int, end: int) -> DesignRows:
        """Return some of these rows, counted from the first."""
        return DesignRows(self.first + begin, {name: x[begin:end] for name, x in self.columns.items()})


def parts(design: Design, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, first row and count of each part of a design."""
    for number, first in enumerate(range(0, design.rows, size)):
        yield number, first, min(size, design.rows - first)


def as_design(given: Any, design: str | None = None, draws: int | None = None, seed: int = 0) -> Design:
    """Make a design from what a user gives.

    given: Design, mapping, data frame or path. A mapping has, for each parameter, values (of a grid, or to choose from)
        or a distribution; with ``design="table"`` it has columns of equal length.
    design: {"grid", "random", "latin-hypercube", "sobol", "table"}. By default a grid, or random rows if there is a
        distribution.
    draws, seed: Number of rows that are drawn, and seed of the draws.
    """
    if design is not None and design not in DESIGNS:
        raise UnknownNameError("design", design, DESIGNS, meant=MEANT.get(str(design).lower()))
    if isinstance(given, Design):
        if design is not None or draws is not None:
            raise OptionError("the parameters are a design already: leave out design and draws")
        return given
    if not isinstance(given, Mapping) or design == "table":
        if design not in (None, "table") or draws is not None:
            raise OptionError("a table has its own rows: leave out design and draws")
        return TableDesign(given)
    _named(given)
    design = design or ("random" if has_distributions(given) or draws is not None else "grid")
    if design == "grid":
        if draws is not None:
            raise OptionError("a grid has its own number of rows: leave out draws, or choose design='random'")
        return GridDesign(given)
    if draws is None:
        raise OptionError(f"a design of kind {design!r} needs draws=: how many rows to draw")
    return DrawnDesign(given, draws, seed, design)


def has_distributions(given: Any) -> bool:
    """Return whether any parameter has a distribution, so that rows must be drawn."""
    return isinstance(given, Mapping) and any(isinstance(x, DISTRIBUTIONS) for x in given.values())


# ------------------------------------------------------------------ checks


def _named(given: Any) -> None:
    if not isinstance(given, Mapping):
        raise OptionError(f"parameters map names to values, such as {{'ground.friction': [0.4, 0.8]}}, not {given!r}")
    if not given:
        raise OptionError("there is no parameter to vary: give one at least")
    for name in given:
        if not isinstance(name, str) or not name:
            raise OptionError(f"parameters are named by words, not by {name!r}")


def _numbers(name: str, given: Any) -> Array:
    try:
        numbers = np.asarray(given)
        if numbers.dtype.kind not in "fiub":
            numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"values of parameter {name!r} must be numbers, got {given!r}") from None
    if numbers.ndim != 1:
        raise ShapeError(f"values of parameter {name!r} must be a list, shape (n,), not {numbers.shape}")
    return np.asarray(numbers, dtype=float)


def _axis(name: str, given: Any) -> Array:
    if isinstance(given, DISTRIBUTIONS):
        raise OptionError(f"parameter {name!r} is a distribution, which cannot form a grid: give values, or draws=")
    values = np.atleast_1d(_numbers(name, np.atleast_1d(given) if np.ndim(given) == 0 else given))
    if not len(values):
        raise OptionError(f"parameter {name!r} has no values, so there is nothing to compute")
    if not np.isfinite(values).all():
        raise OptionError(f"value {int(np.argmin(np.isfinite(values)))} of parameter {name!r} is not finite")
    return values


def _drawn(given: Any, u: Array) -> Array:
    if isinstance(given, np.ndarray):
        return np.asarray(given[np.minimum((u * len(given)).astype(int), len(given) - 1)])
    return np.asarray(given.of(u))


def _table_of_file(path: Path) -> dict[str, Array]:
    kind = format_of(path)
    if not path.is_file():
        raise OptionError(f"there is no file {str(path)!r} with rows of parameters")
    if kind == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    arrow = need_pyarrow()
    try:
        table = arrow.parquet.read_table(path) if kind == ".parquet" else arrow.csv.read_csv(path)
    except (arrow.ArrowException, OSError) as problem:
        raise OptionError(f"{path} cannot be read as rows of parameters ({problem})") from None
    return {name: _of_file(path, name, table.column(name)) for name in table.column_names}


def _of_file(path: Path, name: str, column: Any) -> Array:
    try:
        return np.asarray(column.to_numpy(), dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{path}: column {name!r} holds {column.type}, not numbers") from None


def relative_names(design: Design) -> Sequence[str]:
    """Return the parameters whose rows are multiples of the model's values."""
    if not isinstance(design, DrawnDesign):
        return ()
    return [name for name, x in design.values.items() if isinstance(x, DISTRIBUTIONS) and x.relative]

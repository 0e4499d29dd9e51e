"""``kt.sweep``: every row of a design is computed once, by local processes or on a cluster."""

from __future__ import annotations

import inspect
import os
import pickle
import tempfile
import time as clock
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, OptionError, OutputError, Setting, refuse_unknown_arguments, warn
from kinetree.io.cluster import AHEAD, PATIENCE, ended_its_processes, executor_of, most_processes
from kinetree.io.interrupts import interrupts_passed_on
from kinetree.io.paths import as_path
from kinetree.io.pickled_calls import pickled
from kinetree.io.progress import Bar
from kinetree.io.tables.formats import need_pyarrow
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import whole_number

from .designs import Design, DesignRows, as_design, has_distributions, parts, relative_names
from .folder import FAILURE, ROW, KeptParts, Manifest, SweepFolder, columns_of
from .function_study import LOST, NOT_CLOSED, FunctionStudy, SweepStudy
from .result import SweepResult

SHORT = 5.0
"""If the work takes less time than this, in seconds, no processes are started."""

PARTS_PER_WORKER = 8
"""Minimum number of parts per process, so that all end at about the same time."""

MOST_KEPT = 100_000
"""Number of rows that are kept in memory if no folder is given; more go to a temporary folder."""

TRIES = 5
"""Number of rows that are tried before a study is rejected."""

FEWEST = 64
"""Minimum number of rows of a part, except for the last one."""

Task = tuple[int, DesignRows]
Done = tuple[int, DesignRows, dict[str, Any]]


def sweep(
    study: Any, parameters: Any, output: str | os.PathLike[str] | None = None, *, design: str | None = None,
    draws: int | None = None, seed: int = 0, workers: int | None = None, cluster: Any = None,
    rows_per_part: int | None = None, resume: bool = True, progress: bool = True, timeout: float = PATIENCE,
    **options: Any,
) -> SweepResult:  # fmt: skip
    """Compute a study for every row of a design; results go to Parquet files as they are finished.

    Parameters
    ----------
    study : callable, study, robot, or name or path of one
        A function of a mapping from names to arrays (n,) that returns a mapping from names to arrays (n,) or (n, k);
        a :class:`kinetree.sweeps.Forces` or :class:`kinetree.sweeps.Simulations` object; a robot with the options of
        ``Simulations`` (``time``, ``step``, ``outputs``, ...); the name of a gallery system, for the forces that its
        motion requires; or a study file (``.yaml``).
    parameters : mapping, table, path or Design
        For each parameter, values (every combination is computed) or a distribution (:class:`kinetree.Uniform`,
        :class:`kinetree.LogUniform`, :class:`kinetree.Normal`); or a data frame, or a ``.parquet`` or ``.csv`` file,
        with one row per design; see :mod:`kinetree_sweeps.parameter_names` for the names of a robot's parameters.
    output : path, optional
        A folder for the results. If it already contains some parts of the same sweep, only the rest is computed.
        Without a folder, results are kept as long as the returned object exists.
    design : {"grid", "random", "latin-hypercube", "sobol", "table"}, optional
        By default a grid, or random rows if there is a distribution.
    draws, seed : int
        Number of rows that are drawn, and seed of the draws.
    workers : int, optional
        Number of processes on this machine; 0 computes everything in the current process. By default there is one per
        processor, if the work takes more than a few seconds.
    cluster : str or dask.distributed.Client, optional
        A cluster to use instead: a client, or the address of a Dask scheduler, ``"tcp://host:8786"``.
    rows_per_part : int, optional
        Number of rows that are computed and written together; by default the best number for the kernels.
    resume : bool
        Whether an existing sweep in the folder may be resumed.
    progress : bool
        Whether to show a progress bar on the terminal.
    timeout : float
        Time in seconds within which a cluster must respond.
    **options
        Options of :class:`kinetree.sweeps.Simulations`, if the study is a robot.

    Returns
    -------
    SweepResult

    Examples
    --------
    >>> import numpy as np
    >>> import kinetree as kt
    >>> def area(p):
    ...     return {"area": p["width"] * p["height"]}
    >>> found = kt.sweep(area, {"width": [1.0, 2.0], "height": [3.0, 4.0, 5.0]})
    >>> found.best("area", 1, largest=True)["height"]
    array([5.])
    """
    if draws is None and "samples" in options and (callable(study) or design or has_distributions(parameters)):
        said = "samples= of sweep is now draws=; the former name will be removed in 0.3"
        warn(said, DeprecationWarning)
        draws = options.pop("samples")
    if options:
        from kinetree.simulation.simulator import simulate

        from .studies import Forces, Simulations

        takers = (sweep, Simulations, Forces, simulate)
        known = ["of", *(key for taker in takers for key in inspect.signature(taker).parameters)]
        refuse_unknown_arguments("sweep()", options, known)
    if output is not None and not isinstance(output, (str, os.PathLike)):
        raise OptionError(
            f"output of a sweep is a folder, as text or a pathlib.Path, not {type(output).__name__}; how many samples "
            "each simulation keeps for its outputs is samples=..."
        )
    made = _study_of_name(study, options) if isinstance(study, (str, os.PathLike)) else as_study(study, **options)
    rows = as_design(parameters, design, draws, seed)
    return run(made, rows, output, workers, cluster, rows_per_part, resume, progress, timeout)


def as_study(given: Any, **options: Any) -> SweepStudy:
    """Make a study from a study, a function, or a robot with options of a simulation."""
    if isinstance(given, SweepStudy):
        if options:
            raise OptionError(f"the study is made already: leave out {', '.join(options)}")
        return given
    if callable(given):
        if options:
            raise OptionError(f"a function has no options: leave out {', '.join(options)}, or bind them beforehand")
        return FunctionStudy(given)
    from .studies import Simulations

    return Simulations(given, **options)


def _study_of_name(name: str | os.PathLike[str], options: dict[str, Any]) -> SweepStudy:
    from .study_file import study_of_name  # this imports study files and all robot formats

    return study_of_name(name, options)


def run(
    study: SweepStudy, design: Design, output: Any = None, workers: int | None = None, cluster: Any = None,
    rows_per_part: int | None = None, resume: bool = True, progress: bool = True, timeout: float = PATIENCE,
) -> SweepResult:  # fmt: skip
    """Compute the parts that are not there yet; see :func:`sweep`."""
    if output is not None:
        need_pyarrow()
    if workers is not None:
        workers = whole_number(workers, Setting("workers"), 0, most_processes())
    study.check(design.names)
    for name in (ROW, FAILURE):
        if name in design.names:
            raise OptionError(f"no parameter can be called {name!r}: a column of the results is")
    factors = {name: study.own(name) for name in relative_names(design)}
    size = _part_size(study, design, workers, rows_per_part)
    own_folder = tempfile.TemporaryDirectory(prefix="kinetree-sweep-") if output is None else None
    path = Path(own_folder.name) if own_folder else as_path(output, "the folder of a sweep")  # type: ignore[arg-type]
    asked = Manifest(
        design.fingerprint, study.fingerprint, design.title, study.label, design.rows, size, list(design.names)
    )
    in_memory = output is None and design.rows <= MOST_KEPT
    folder = KeptParts(path) if in_memory else SweepFolder(path)
    manifest = folder.compare(asked, resume)
    there = folder.finished()
    todo = [(n, first, count) for n, first, count in parts(design, manifest.part_rows) if n not in there]
    tasks = (
        (n, _multiplied(DesignRows(first, design.columns(first, count)), factors)) for n, first, count in todo
    )  # fmt: skip
    if todo:
        _try_a_few(study, _multiplied(DesignRows(0, design.columns(*todo[0][1:])), factors))
    folder.begin(manifest)  # only now: a study that does not work must not claim the folder
    done, begin = sum(manifest.part_rows for n in there), clock.perf_counter()
    finished = len(there)
    try:
        with Bar(design.rows, f"sweep of {study.label}", counted=True, wanted=progress and bool(todo)) as bar:
            bar.show(min(done, design.rows))
            for number, given, outputs in _computed(study, tasks, len(todo), workers, cluster, timeout):
                folder.write(number, columns_of(given.first, given.columns, outputs))
                finished += 1
                done += len(given)
                bar.show(min(done, design.rows))
    except OutputError as problem:
        raise OutputError(
            f"{problem}; {finished} of {manifest.parts} parts are finished and stay: make room and call again"
        ) from None
    except KeyboardInterrupt as stop:
        if own_folder is None:
            stop.add_note(
                f"{finished} of {manifest.parts} parts are finished and stay in {path}: the same call computes the rest"
            )
        raise
    computed = sum(count for _, _, count in todo)
    took = clock.perf_counter() - begin
    return SweepResult(path, seconds=took, keep=own_folder, computed=computed, folder=folder)


def _part_size(study: SweepStudy, design: Design, workers: int | None, wanted: int | None) -> int:
    """Return the number of rows of a part."""
    if wanted is not None:
        return whole_number(wanted, Setting("rows_per_part"), 1)
    everybody = (workers or os.cpu_count() or 1) * PARTS_PER_WORKER
    return max(1, min(study.rows_at_once, max(FEWEST, -(-design.rows // everybody))))


def _multiplied(rows: DesignRows, factors: dict[str, float]) -> DesignRows:
    """Convert multiples of the model's values to numbers."""
    return DesignRows(rows.first, {name: x * factors.get(name, 1.0) for name, x in rows.columns.items()})


def _try_a_few(study: SweepStudy, rows: DesignRows) -> None:
    """Compute a few rows first, and refuse a study in which none works.

    This leaves machine code on the disk for all processes. If the first rows fail, a few others are tried.
    """
    words: list[str] = []
    for k in np.unique(np.linspace(0, len(rows) - 1, TRIES).astype(int)).tolist():
        found = compute_rows(study, rows.some(k, k + 1))
        why = found[FAILURE][0]
        if why is None or why in (LOST, NOT_CLOSED):
            return
        words.append(why)
    if len(set(words)) == 1:
        raise KinetreeError(
            f"nothing was computed, since the first {len(words)} rows that were tried all fail: {words[0]}"
        )


# ------------------------------------------------------------------ processes


def _computed(
    study: SweepStudy, tasks: Iterator[Task], count: int, workers: int | None, cluster: Any, timeout: float
) -> Iterator[Done]:  # fmt: skip
    """Yield parts as they are finished, in any order."""
    if cluster is None and workers is None:
        # the first part also compiles machine code for all processes, which may take longer than its rows; so the
        # second part shows how long the others take, unless the first was already slow enough
        begin, is_first = clock.perf_counter(), True
        for number, rows in tasks:
            yield number, rows, compute_part(study, rows)
            count -= 1
            begin, took = clock.perf_counter(), clock.perf_counter() - begin
            is_long = (took if is_first else took * count) > SHORT
            if is_long and count and (os.cpu_count() or 1) > 1:
                break
            is_first = False
    if not count:
        return
    own = [] if (function := getattr(study, "function", None)) is None else [function]
    blob = None if cluster is None and workers == 0 else pickled(study, "the study", own)
    if blob is None:
        yield from ((number, rows, compute_part(study, rows)) for number, rows in tasks)
        return
    with executor_of(cluster, workers, timeout) as (executor, at_once):
        yield from _by_others(executor, at_once, blob, tasks)


def _by_others(executor: Executor, at_once: int, blob: bytes, tasks: Iterator[Task]) -> Iterator[Done]:
    """Yield parts computed by other processes, a few for each at a time, so that neither side runs out of memory."""
    waiting: dict[Future[dict[str, Any]], Task] = {}
    ahead = AHEAD * at_once
    while True:
        for task in islice(tasks, ahead - len(waiting)):
            waiting[executor.submit(remote_part, blob, task[1])] = task
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            number, rows = waiting.pop(future)
            yield number, rows, _outputs_of(future, len(rows))


def _outputs_of(future: Future[dict[str, Any]], count: int) -> dict[str, Any]:
    try:
        return future.result()
    except Exception as problem:
        if ended_its_processes(problem):
            return _all_failed(count, f"no process could compute it: {problem}")
        # failures of rows are returned as text, so this is another error
        raise KinetreeError(
            f"other processes cannot run this study ({type(problem).__name__}: {problem}): they need kinetree and "
            "whatever else it imports, in the same versions"
        ) from problem


def remote_part(blob: bytes, rows: DesignRows) -> dict[str, Any]:
    """Compute a part in another process."""
    return compute_part(_study_of(blob), rows)


@lru_cache(maxsize=4)
def _study_of(blob: bytes) -> SweepStudy:
    found: SweepStudy = pickle.loads(blob)
    return found


# ------------------------------------------------------------------ rows, and their failures


def compute_part(study: SweepStudy, rows: DesignRows) -> dict[str, Any]:
    """Compute a part of any size, as many rows at a time as suit the study."""
    size = study.rows_at_once
    ends = [(k, min(k + size, len(rows))) for k in range(0, len(rows), size)]
    return _joined([compute_rows(study, rows.some(*some)) for some in ends], [end - begin for begin, end in ends])


def compute_rows(study: SweepStudy, rows: DesignRows) -> dict[str, Any]:
    """Compute some rows; those that fail are found by bisection, and get an explanation."""
    count = len(rows)
    finite = np.all([np.isfinite(x) for x in rows.columns.values()], axis=0)
    if not finite.all():
        return _beside_the_unknown(study, rows, finite)
    try:
        with interrupts_passed_on():
            return _checked(study.compute(rows.columns), count, taken=(ROW, *rows.columns))
    except Exception as problem:
        if count == 1:
            return _all_failed(1, _worded(problem))
    half = count // 2
    return _joined(
        [compute_rows(study, rows.some(0, half)), compute_rows(study, rows.some(half, count))], (half, count - half)
    )


def _worded(problem: Exception) -> str:
    return str(problem) if isinstance(problem, KinetreeError) else f"{type(problem).__name__}: {problem}"


def _beside_the_unknown(study: SweepStudy, rows: DesignRows, finite: Array) -> dict[str, Any]:
    """Compute the rows whose parameters are finite; all others count as failed."""
    count = len(rows)
    why = np.full(count, None, dtype=object)
    for name, x in rows.columns.items():
        why[~np.isfinite(x)] = f"parameter {name!r} is not a finite number"
    found = _all_failed(count, "")
    if finite.any():
        some = compute_rows(study, DesignRows(rows.first, {name: x[finite] for name, x in rows.columns.items()}))
        for name, values in some.items():
            if name == FAILURE:
                why[finite] = values
            else:
                whole = np.full((count, *np.shape(values)[1:]), np.nan)
                whole[finite] = values
                found[name] = whole
    return found | {FAILURE: why}


def _checked(outputs: dict[str, Any], count: int, taken: Sequence[str]) -> dict[str, Any]:
    """Return outputs as arrays of numbers, and failures in words; refuse names of other columns."""
    found: dict[str, Any] = {}
    failure = outputs.get(FAILURE)
    for name, values in outputs.items():
        if name == FAILURE:
            continue
        if name in taken:
            what = "the number of the row" if name == ROW else "a parameter"
            raise OptionError(f"no output can be called {name!r}: the column of that name holds {what}; rename it")
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" or array.shape[:1] != (count,) or array.ndim > 2:
            raise OptionError(
                f"output {name!r} must be numbers, one per row (or k per row), shape ({count},) or ({count}, k) "
                f"for the {count} given; got {array.dtype} of shape {array.shape}"
            )
        found[name] = array
    words = [None] * count if failure is None else list(np.asarray(failure, dtype=object))
    if len(words) != count or not all(word is None or isinstance(word, str) for word in words):
        raise OptionError(f"{FAILURE!r} says in words why a row failed: give a text or None for each of {count} rows")
    return found | {FAILURE: np.array([None if not w else str(w) for w in words], dtype=object)}


def _all_failed(count: int, why: str) -> dict[str, Any]:
    return {FAILURE: np.array([why] * count, dtype=object)}


def _joined(some: Sequence[dict[str, Any]], counts: Sequence[int]) -> dict[str, Any]:
    """Join parts; an output that one of them lacks because all its rows failed is NaN."""
    names = dict.fromkeys(name for part in some for name in part)
    found = {}
    for name in names:
        shape = next(np.shape(part[name])[1:] for part in some if name in part)
        found[name] = np.concatenate(
            [part[name] if name in part else np.full((n, *shape), np.nan) for part, n in zip(some, counts, strict=True)]
        )
    return found

"""Executors: processes of this machine that live as long as a ``with`` block, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from ..errors import KinetreeError, OptionError
from .processes import Processes, ProcessesDiedError

PATIENCE = 10.0
"""Seconds in which a cluster must answer."""

AHEAD = 3
"""Calls queued for each one being computed: enough that no process is idle, and few enough for memory."""

MOST_PER_PROCESSOR, ALWAYS = 4, 64
"""The most processes that may be requested: per processor, and in total."""


def need_dask() -> Any:
    """Return the package distributed, or raise an error that says how to get it."""
    try:
        import distributed
    except ImportError as problem:
        raise KinetreeError("clusters are those of Dask: pip install 'kinetree[cluster]'") from problem
    return distributed


def most_processes() -> int:
    """Return the most processes that may be requested on this machine."""
    return max(ALWAYS, MOST_PER_PROCESSOR * (os.cpu_count() or 1))


@contextmanager
def executor_of(cluster: Any, workers: int | None, timeout: float = PATIENCE) -> Iterator[tuple[Executor, int]]:
    """Yield an executor and the number of calls it computes at a time; what was started here ends with the block.

    cluster: dask.distributed.Client, cluster of Dask, str or None. A client to use, an address to connect to,
        ``"tcp://host:8786"``, or None for processes on this machine.
    workers: Number of processes to start; one per processor by default.
    timeout: Seconds in which a cluster must answer.
    """
    if cluster is None:
        count = workers or os.cpu_count() or 1
        with Processes(count) as processes:
            yield processes, count
        return
    with _client_of(cluster, timeout) as client:
        client.wait_for_workers(1, timeout=max(60.0, timeout))
        yield client.get_executor(pure=False), max(1, sum(client.nthreads().values()))


def ended_its_processes(problem: BaseException) -> bool:
    """Return whether a call failed because every process that tried it ended."""
    distributed = sys.modules.get("distributed")
    return isinstance(problem, ProcessesDiedError) or (
        distributed is not None and isinstance(problem, distributed.KilledWorker)
    )


@contextmanager
def _client_of(cluster: Any, timeout: float) -> Iterator[Any]:
    """Connect to a Dask cluster."""
    distributed = need_dask()
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    where = cluster if isinstance(cluster, str) else getattr(cluster, "scheduler_address", None)
    if not isinstance(where, str) or not where:
        raise OptionError(
            f"cluster must be the address of a Dask scheduler, such as 'tcp://host:8786', a client or a cluster, "
            f"not {cluster!r}"
        )
    quiet = logging.getLogger("distributed")
    level = quiet.level
    quiet.setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(where, timeout=timeout)
    except (OSError, ValueError) as problem:  # TimeoutError is an OSError
        why = str(problem) or type(problem).__name__
        raise KinetreeError(
            f"the Dask cluster at {where!r} cannot be reached within {timeout:g} s ({why}): is its scheduler running "
            "there, and may this machine connect to it?"
        ) from None
    finally:
        quiet.setLevel(level)
    with client:
        yield client

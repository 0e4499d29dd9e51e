"""Clusters of Dask: one of processes on this machine that comes and goes with a block, or somebody's own."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import KinetreeError, OptionError

PATIENCE = 10.0
"""Seconds in which a cluster must answer."""


def need_dask(otherwise: str) -> Any:
    """Return the package distributed, or raise an error that says how to get it and what to do without."""
    try:
        import distributed
    except ImportError as problem:
        raise KinetreeError(
            f"several processes work together by Dask: pip install 'kinetree[cluster]', or {otherwise}"
        ) from problem
    return distributed


def has_dask() -> bool:
    """Return whether Dask is installed."""
    try:
        need_dask("")
    except KinetreeError:
        return False
    return True


def checked_workers(workers: Any, least: int = 1) -> int | None:
    """Return a number of processes, None where nothing is said."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < least):
        raise OptionError(f"workers must be a whole number from {least}, not {workers!r}")
    return workers


@contextmanager
def client_of(cluster: Any, workers: int | None, otherwise: str, timeout: float = PATIENCE) -> Iterator[Any]:
    """Give a client of a cluster; one that was made here is gone when the block ends.

    Parameters
    ----------
    cluster : dask.distributed.Client, cluster of Dask, str or None
        A client is used as it is; to an address, ``"tcp://host:8786"``, it is connected; None makes processes here.
    workers : int, optional
        How many processes to make; one per processor by default.
    otherwise : str
        What a user without Dask can do.
    timeout : float
        Seconds in which a cluster must answer.
    """
    distributed = need_dask(otherwise)
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    if cluster is None:
        with _processes(distributed, workers) as made, distributed.Client(made) as client:
            yield client
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


@contextmanager
def _processes(distributed: Any, workers: int | None) -> Iterator[Any]:
    """Make a cluster of processes on this machine.

    The scheduler is in this process, so that the others end with it, however it ends.  They are started as programs
    of their own and not as copies of this one: a script needs no ``if __name__ == "__main__":``, but on Windows.
    """
    count = workers or os.cpu_count() or 1
    own = {"n_workers": count, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    if sys.platform == "win32":
        with distributed.LocalCluster(**own, silence_logs=logging.ERROR) as cluster:
            yield cluster
        return
    from distributed.deploy.subprocess import SubprocessWorker

    settings = {"host": "127.0.0.1", "nthreads": 1, "silence_logs": logging.ERROR}
    process = {"cls": SubprocessWorker, "options": {"worker_kwargs": settings}}
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": None},
    }
    with distributed.SpecCluster(
        workers=dict.fromkeys(range(count), process), scheduler=scheduler, worker=process, name="kinetree",
        silence_logs=logging.ERROR,
    ) as cluster:  # fmt: skip
        yield cluster

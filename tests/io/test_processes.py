"""Processes that compute over pipes: what comes back, what happens when they die, and that nobody else reaches them."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from helpers.sockets import children, listening, needs_linux
from kinetree.io import cluster
from kinetree.io.processes import TRIES, Processes, ProcessesDiedError

SLOW = pytest.mark.slow  # a process takes a third of a second to start


@pytest.fixture(scope="module")
def pair():
    with Processes(2) as made:
        yield made


@SLOW
def test_results_and_errors_come_back(pair):
    assert pair.submit(np.add, 1.0, 2.0).result(timeout=60) == 3.0
    large = np.random.default_rng(0).normal(size=300_000)  # more than a pipe holds
    assert np.array_equal(pair.submit(np.negative, large).result(timeout=60), -large)
    assert pair.submit(os.getpid).result(timeout=60) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        pair.submit(divmod, 1, 0).result(timeout=60)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'four-bar'"):
        pair.submit(kt.gallery.load, "fuor-bar").result(timeout=60)
    pair.submit(print, "what functions print does not pose as an answer").result(timeout=60)
    assert [pair.submit(int, str(k)) for k in range(50)][-1].result(timeout=60) == 49


@SLOW
def test_a_call_that_ends_processes_is_given_up_and_the_others_go_on():
    with Processes(1) as alone:
        fatal = alone.submit(os._exit, 7)
        after = alone.submit(abs, -3)
        with pytest.raises(
            ProcessesDiedError, match=f"{TRIES} processes ended while computing it, the last with code 7"
        ) as died:
            fatal.result(timeout=60)
        assert cluster.ended_its_processes(died.value)
        assert after.result(timeout=60) == 3


@SLOW
def test_the_end_of_a_block_does_not_wait_for_what_is_being_computed():
    begin = time.monotonic()
    with Processes(2) as pair:
        process = pair.submit(os.getpid).result(timeout=60)
        sleeping = [pair.submit(time.sleep, 300) for _ in range(6)]
        wait(sleeping, timeout=0.3)
    assert time.monotonic() - begin < 60.0
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(RuntimeError, match="have ended"):
        pair.submit(abs, 1)


@SLOW
@needs_linux
def test_sweeps_open_no_port():
    """Whoever has an account on this machine could connect to one, and let it run code as its owner."""
    script = (
        "import os, time, kinetree as kt\n"
        "def slow(p):\n    time.sleep(0.5)\n    return {'pid': 0 * p['x'] + os.getpid()}\n"
        "found = kt.sweep(slow, {'x': [1.0 * k for k in range(40)]}, workers=2, rows_per_part=1, progress=False)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as sweep:
        try:
            until = time.monotonic() + 60.0
            while len(found := children(sweep.pid)) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            assert len(found) == 2
            time.sleep(1.0)
            assert listening(sweep.pid) == []
        finally:
            sweep.kill()
    # nobody is left behind by a program that is killed
    until = time.monotonic() + 20.0
    while any(Path(f"/proc/{pid}").exists() for pid in found) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


@pytest.mark.parametrize("workers", [10**400, 10**9, -1, 1.5, True, "2", np.nan, [2]], ids=lambda x: repr(x)[:10])
def test_a_number_of_workers_that_no_machine_has_is_refused(workers):
    begin = time.monotonic()
    with pytest.raises(kt.OptionError, match="workers"):
        kt.sweep(lambda p: {"y": p["x"]}, {"x": [1.0, 2.0]}, workers=workers)
    assert time.monotonic() - begin < 5.0


def test_a_killed_worker_of_dask_counts_as_dead_processes():
    distributed = pytest.importorskip("distributed")
    assert cluster.ended_its_processes(distributed.KilledWorker("task", None, 4))
    assert not cluster.ended_its_processes(ValueError())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals as on Unix")
@SLOW
def test_a_process_that_is_killed_from_outside_is_replaced():
    with Processes(1) as alone:
        first = alone.submit(os.getpid).result(timeout=60)
        os.kill(first, signal.SIGKILL)
        second = alone.submit(os.getpid).result(timeout=60)
        assert second != first

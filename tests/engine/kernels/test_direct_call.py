"""Built-in functions of kernels: what is made when, and which calls go straight to machine code."""

import _thread

import numpy as np
import pytest

from kinetree.engine import threads
from kinetree.engine.kernels import direct_call
from kinetree.engine.kernels.direct_call import DirectCall, available
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import host
from kinetree.engine.trace import trace

pytestmark = pytest.mark.skipif(not (host.host().supported and available()), reason="no entry point here")


def product() -> Kernel:
    """Two numbers multiplied."""
    return Kernel("product", lambda: trace(lambda x: [x[0] * x[1]], (2,), list), (2,), (1,))


def by_python(*arrays: np.ndarray, out: np.ndarray | None = None, threads: int = 1) -> str:
    """Stand for whatever Python does."""
    return "python"


def test_one_state_needs_neither_the_loop_over_batches_nor_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise AssertionError("nobody asked for a batch")

    monkeypatch.setattr(direct_call, "batch_loop", fail)
    monkeypatch.setattr(threads, "_code", fail)
    call = DirectCall.make(product(), by_python, "product")
    assert call is not None
    call.enable_single()
    x = np.array([2.0, 3.0])
    assert call.function(x) == 6.0
    assert call.function(x, threads=3) == 6.0
    assert call.function(x[None]) == "python"
    assert call.function(x[None], threads=3) == "python"
    assert call.function(x, threads=0) == "python"


def test_a_pool_without_threads_leaves_them_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", lambda *given: 1)  # the caller does all the work
    pool = threads.ThreadPool()
    monkeypatch.setattr(direct_call, "thread_pool", lambda: pool)
    call = DirectCall.make(product(), by_python, "product")
    assert call is not None
    call.enable_batch()
    x = np.full((50, 2), 3.0)
    assert np.all(call.function(x) == 9.0)
    assert isinstance(call.function(x, threads=2), str)
    pool.start(1)
    assert np.all(call.function(x, threads=2) == 9.0)
    pool.reset()  # as in a forked process
    assert isinstance(call.function(x, threads=2), str)

"""Things that are made once, however many threads and processes want them."""

from __future__ import annotations

import os
import threading

import pytest

from helpers.kernels import run_with_product
from kinetree.engine.make_once import MAKING, made_once, once


def test_a_result_is_computed_once_however_many_threads_ask():
    waiting = threading.Barrier(4)
    made = []

    @once
    def slow(x):
        made.append(x)
        threading.Event().wait(0.05)
        return object()

    found = []

    def ask():
        waiting.wait()
        found.append(slow(1))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert made == [1]
    assert len(set(map(id, found))) == 1


FORKING = """
import signal, threading, time
kernel()(x)
stop = []

def make_more():
    count = 0
    while not stop:
        count += 1
        kernel(factor=3.0 + count)(x)
        kernel(factor=3.5 + count)(x[0])

threads = [threading.Thread(target=make_more, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
failed = 0
for k in range(20):
    time.sleep(0.003 * (k % 7))
    child = os.fork()
    if not child:
        signal.alarm(10)  # a child that waits for ever is ended
        right = kernel(factor=1e6 + k)(x)[0, 0] == 6 * (1e6 + k) and kernel(factor=-k)(x[0])[0] == -6 * k
        os._exit(not right)
    failed += bool(os.waitpid(child, 0)[1])
    if failed > 1:
        break
print("failed", failed)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_process_forked_while_another_thread_compiles_can_compile():
    assert run_with_product(FORKING) == "failed 0"


def test_things_are_made_once_and_under_the_lock_that_forks_wait_for():
    made = []

    class Thing:
        @made_once
        def number(self):
            """A number."""
            made.append(MAKING._is_owned())
            return len(made)

    thing = Thing()
    assert (thing.number, thing.number, Thing().number, thing.number) == (1, 1, 2, 1)
    assert made == [True, True]
    assert thing.__dict__ == {"number": 1}
    assert Thing.number.__doc__ == "A number."

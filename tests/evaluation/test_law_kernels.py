"""Kernels of programs are made once, whoever asks for them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from kinetree.evaluation import law_kernels


def test_a_kernel_dropped_by_another_thread_is_still_returned(monkeypatch):
    """Between looking whether a kernel was there and taking it, another thread could make room for its own."""

    class Crowded(dict):
        """Where, just after each look, another thread drops everything."""

        def __contains__(self, key):
            found = super().__contains__(key)
            self.clear()
            return found

    monkeypatch.setattr(law_kernels, "_MADE", Crowded())
    made = law_kernels.once("same", "", lambda key, target: ["kernel"])
    assert law_kernels.once("same", "", lambda key, target: ["another"]) == made == ["kernel"]


def test_threads_that_want_the_same_kernel_make_it_once(monkeypatch):
    monkeypatch.setattr(law_kernels, "_MADE", {})
    made, waiting = [], threading.Barrier(4)

    def make(key, target):
        made.append(key)
        threading.Event().wait(0.02)
        return object()

    found = []

    def want():
        waiting.wait()
        found.append(law_kernels.once("wanted", "", make))

    crew = [threading.Thread(target=want) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert len(made) == 1
    assert len(found) == 4
    assert len({id(x) for x in found}) == 1


def test_a_prepared_law_sees_what_its_arrays_hold_now():
    law = law_kernels.LawProgram("sums", lambda x, y: [x[0] + y[0], x[1] * y[0]], {"x": 2, "y": 1}, compiled=True)
    x, y = np.zeros((11, 4))[:, 1:3], np.ones((1, 1))  # rows with others between them, and one for all
    run = law.prepared({"x": x, "y": y})
    x[:], y[:] = np.arange(22.0).reshape(11, 2), 3.0
    kept = run()
    assert np.array_equal(kept, np.column_stack([x[:, 0] + 3.0, x[:, 1] * 3.0]))
    y[:] = 4.0
    assert np.array_equal(run()[:, 0], kept[:, 0] + 1.0)
    with pytest.raises(TypeError, match="copied at every call"):
        law.prepared({"x": x.astype(np.float32), "y": y})
    with pytest.raises(TypeError, match="out must be"):
        run(np.zeros((11, 3)))

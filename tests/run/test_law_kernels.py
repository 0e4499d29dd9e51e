"""Kernels of programs are made once, whoever asks for them."""

from __future__ import annotations

import threading

from kinetree.run import law_kernels


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

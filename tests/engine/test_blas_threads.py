"""One thread of BLAS for small matrices, for a moment, and as many as before afterwards."""

import threading

import numpy as np
import pytest

from kinetree.engine import blas_threads
from kinetree.engine.blas_threads import SMALL, one_blas_thread


class Library:
    """Stands in for an OpenBLAS."""

    def __init__(self, threads):
        self.threads, self.said = threads, []

    def get(self):
        return self.threads

    def set(self, threads):
        self.threads = threads
        self.said.append(threads)


@pytest.fixture
def libraries(monkeypatch):
    made = Library(4), Library(1)
    monkeypatch.setattr(blas_threads, "_libraries", lambda *packages: made)
    return made


def test_the_real_ones_are_found_and_left_as_they_were():
    found = blas_threads._libraries("numpy")
    before = [library.get() for library in found]
    with one_blas_thread():
        assert all(library.get() == 1 for library in found)
    assert [library.get() for library in found] == before
    configuration = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert found or "openblas" not in configuration


def test_one_thread_inside_and_as_many_as_before_behind(libraries):
    several, alone = libraries
    with one_blas_thread(), one_blas_thread(3):
        assert several.threads == 1
    assert (several.threads, several.said, alone.said) == (4, [1, 4], [])
    with pytest.raises(ValueError, match="x"), one_blas_thread():
        raise ValueError("x")
    assert several.threads == 4


def test_large_matrices_keep_their_threads(libraries):
    with one_blas_thread(SMALL + 1):
        assert libraries[0].threads == 4


def test_the_last_of_several_python_threads_sets_it_back(libraries):
    inside, go_on = threading.Barrier(3), threading.Event()

    def work():
        with one_blas_thread():
            inside.wait()
            go_on.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    inside.wait()
    with one_blas_thread():
        pass
    assert libraries[0].threads == 1
    go_on.set()
    for t in threads:
        t.join()
    assert libraries[0].threads == 4
    assert libraries[0].said == [1, 4]


def test_functions_can_be_decorated(libraries):
    @one_blas_thread()
    def work():
        return libraries[0].threads

    assert [work(), work(), libraries[0].threads] == [1, 1, 4]

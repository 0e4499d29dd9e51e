"""Results written in whole lines, past the caches or not: every length of row, every alignment, nothing outside."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from kinetree.engine import order
from kinetree.engine.graph import Node
from kinetree.engine.kernels import kernel as engine
from kinetree.engine.kernels.direct_call import DirectCall, available
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.kernels.step_kernel import StepKernel, trace_stages
from kinetree.engine.llvm import body, emit, emitter, host, split_kernels, streaming
from kinetree.engine.llvm.vectorcall import MOST_STACK
from kinetree.engine.trace import trace

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")

MARK = -77.0


def results(length):
    """Distinct results, runs of zeros (whole squares of them) and repeated results."""

    def function(x):
        rows = []
        for k in range(length):
            rows.append(0.0 if 10 <= k < 29 else x[0] * 2.0 if 40 <= k < 60 else x[k % 3] * (k + 1.0))
        return rows

    return Kernel("results", lambda: trace(function, (3,), list), (3,), (length,))


@pytest.mark.parametrize(("threads", "streamed"), [(1, True), (2, True), (1, False)])
@pytest.mark.parametrize("length", [1, *range(6, 26), 36, *range(46, 66), 81, 400])
def test_rows_of_every_length_at_every_alignment(monkeypatch, length, threads, streamed):
    kernel = results(length)
    count = 149  # two rounds of 64, two more tiles, and some
    x = np.random.default_rng(length).standard_normal((count, 3))
    plain = kernel(x)
    expected = np.array(
        [
            [0.0 if 10 <= k < 29 else s[0] * 2.0 if 40 <= k < 60 else s[k % 3] * (k + 1.0) for k in range(length)]
            for s in x
        ]
    )
    np.testing.assert_array_equal(plain, expected)
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0 if streamed else 1 << 40)
    for shift in range(8):
        area = np.full(count * length + 24, MARK)
        out = area[8 + shift : 8 + shift + count * length].reshape(count, length)
        kernel(x, out=out, threads=threads)
        np.testing.assert_array_equal(out, expected)
        assert (area[: 8 + shift] == MARK).all()
        assert (area[8 + shift + count * length :] == MARK).all()


def test_table_of_places_says_in_which_order_lines_are_sent():
    table = streaming.place_words([0, 64, 64, 64, 0, 0, 128], 8)
    np.testing.assert_array_equal(table[:15], [0, 64, 64, 64, 0, 0, 128] + 8 * [0])
    np.testing.assert_array_equal(table[15:24], [*range(24, 48, 3), 0])  # eight orders of nothing
    np.testing.assert_array_equal(table[24:].reshape(-1, 3), 8 * [[0, 0, streaming.NEVER]])
    zeros_between = np.array([*range(1, 17), *(40 * [0]), *range(20, 33)])
    order = streaming.order_of_lines(zeros_between, 8, 0, streaming.Times(4))
    np.testing.assert_array_equal(order, [[0, 0, 0], [16, 1, 0], [8, 0, 1], [24, 2, 2], [56, 0, 2], [40, 2, 3]])
    most = streaming.MOST_EQUAL_LINES
    order = streaming.order_of_lines(np.zeros(8 * (most + 3) + 1, dtype=int), 8, 1)
    np.testing.assert_array_equal(order[:, :2], [[1, most], [1 + 8 * most, 3]])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("per_line", [8, 16])
def test_results_wait_until_all_their_lines_are_sent(seed, per_line):
    """Go through the times of a kernel: what is sent is still there, in whole lines, each once, and all of them."""
    rng = np.random.default_rng(seed)
    drawn = np.arange(int(rng.integers(200, 700))) // 3 + rng.integers(0, 9)
    drawn[rng.random(len(drawn)) < 0.1] = drawn[rng.integers(len(drawn))]
    drawn[50 : 50 + 5 * per_line] = -1
    _, results = np.unique(drawn, return_inverse=True)
    count, times = results.max() + 1, int(rng.integers(5, 30))
    known_results = np.sort(rng.integers(0, times + 1, count))
    known = streaming.Times(times, known_results[results])
    slots = streaming.slots_of_results(results, per_line, known)
    assert len(set(slots)) < count
    for head in range(per_line):
        order = streaming.order_of_lines(results, per_line, head, known)
        kept, sent = {}, []
        for now in range(times + 1):
            for k in np.flatnonzero(known_results == now):  # stored before the lines of this time are sent
                kept[slots[k]] = k
            for first, equal, when in order:
                if when == now:
                    for k in range(first, first + max(equal, 1) * per_line):
                        assert kept[slots[results[k]]] == results[k]
                        sent.append(k)
        whole = (len(results) - head) // per_line * per_line
        assert sorted(sent) == list(range(head, head + whole))
        for k in (*range(head), *range(head + whole, len(results))):
            assert kept[slots[results[k]]] == results[k]


def test_nan_and_infinity_stay_in_their_rows(monkeypatch):
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0)
    kernel = results(100)
    x = np.ones((24, 3))
    x[5], x[17, 1] = np.nan, np.inf
    found = kernel(x)
    assert np.isnan(found[5][expected_nan(100)]).all()
    assert np.isfinite(np.delete(found, [5, 17], axis=0)).all()
    assert np.isinf(found[17]).any()


def expected_nan(length):
    return [k for k in range(length) if not 10 <= k < 29]


# ---------------------------------------------------------------- kernels that send while they compute


def long_computation(length, unused=0):
    """Enough operations between the results that all squares of the tile before are sent meanwhile."""

    def function(x, y, *rest, module=Node.scalar_functions):
        value, rows = x[0], []
        for k in range(length):
            turned = value * y[k % 2] + x[k % 5]
            value = 0.25 * value + 0.5 * (turned if k % 40 else module.sin(turned))
            for _ in range(3):
                value = value * 0.75 + x[(k + 1) % 5] * y[(k + 1) % 2]
            rows.append(0.0 if 11 <= k < 31 else rows[3] if 33 <= k < 43 else x[1] if k % 17 == 0 else value)
        return rows

    lengths = (5, 2) + ((unused,) if unused else ())
    return Kernel("long", lambda: trace(function, lengths, list), lengths, (length,)), function


def judged(function, x, y):
    columns = function(np.atleast_2d(x).T, np.atleast_2d(y).T, module=np)
    return np.stack([np.broadcast_to(c, (max(len(x), len(y)),)) for c in columns], axis=-1)


def fenced(count, length, offset, mark):
    """Room for so many rows, this many bytes behind the beginning of a line, in the middle of marked bytes."""
    size = 8 * count * length
    area = np.full(size + 256, mark, dtype=np.uint8)
    start = 64 + -area.ctypes.data % 64 + offset
    inside = np.frombuffer(area.data, np.float64, count * length, start).reshape(count, length)
    return inside, lambda: (area[:start] == mark).all() and (area[start + size :] == mark).all()


LENGTHS = [7, *range(8, 18), 33, *range(47, 57), 90, 200]


@pytest.mark.parametrize(
    ("length", "form"),
    [
        *((n, "soon") for n in LENGTHS),
        *((n, form) for form in ("later", "in pieces") for n in (7, 8, 9, 12, 15, 33, 48, 51, 53, 90, 200)),
    ],
)
def test_results_sent_while_computing(monkeypatch, length, form):
    """Lines of the same tile, or of the one before, within one function or between several."""
    monkeypatch.setattr(body, "MOST_LEFT", 1.0 if form == "soon" else -1.0)
    if form == "in pieces":
        monkeypatch.setattr(emit, "LONGEST_BODY", 10)
        monkeypatch.setattr(split_kernels, "SHORTEST_PIECE", 60)
        monkeypatch.setattr(split_kernels, "LONGEST_PIECE", 60)
    monkeypatch.setattr(engine, "FEWEST_SENT", 8)
    kernel, function = long_computation(length)
    if kernel.sends:
        text = kernel._assembly("lanes")
        assert re.search(r"\(ptr %parcel, i64 \d+\)", text)
        words = [int(n) for n in re.findall(r"i32 (-?\d+)", text[text.index("@places") : text.index("@work")])]
        assert words[length + 16] == (form == "soon")
    rng = np.random.default_rng(length)
    x, y = rng.uniform(-1.0, 1.0, (203, 5)), rng.uniform(-1.0, 1.0, (203, 2))
    expected = judged(function, x, y)
    whole = kernel(x, y)
    np.testing.assert_allclose(whole, expected, rtol=1e-11, atol=1e-12)
    for streamed in (0, 1 << 40):
        monkeypatch.setattr(engine, "STREAMED_BYTES", streamed)
        for count in (1, 8, 9, 63, 64, 65, 71, 128, 135, 203):
            for k, offset in enumerate((0, 8, 16, 24, 32, 40, 48, 56, 1, 4, 12, 37)):
                out, untouched = fenced(count, length, offset, 0xA5)
                kernel(x[:count], y[:count], out=out, threads=1 + k % 3)
                np.testing.assert_array_equal(out, whole[:count])
                assert untouched()


@pytest.mark.parametrize("count", [1, 37, 64, 130, 1000])
def test_one_state_for_many_and_other_layouts_while_sending(count):
    kernel, function = long_computation(75)
    rng = np.random.default_rng(count)
    x, y = rng.uniform(-1.0, 1.0, (2 * count, 5)), rng.uniform(-1.0, 1.0, (count, 2))
    wide = rng.uniform(-1.0, 1.0, (count, 11))
    for a in (x[:1], x[::2], x[::-2], np.asfortranarray(x[:count]), wide[:, 3:8], wide[::-1, 6:1:-1]):
        found = kernel(a, y)
        np.testing.assert_allclose(found, judged(function, a, y), rtol=1e-11, atol=1e-12)
        np.testing.assert_array_equal(found[-1], kernel(np.ascontiguousarray(a[-1]), y[-1]))
    np.testing.assert_array_equal(kernel(x[0], y), kernel(x[:1], y))


@pytest.mark.parametrize(("threads", "most_left"), [(1, 1.0), (2, 1.0), (1, -1.0)])
def test_nan_while_sending_stays_in_its_state(monkeypatch, threads, most_left):
    monkeypatch.setattr(body, "MOST_LEFT", most_left)
    kernel, _ = long_computation(75, unused=2)
    rng = np.random.default_rng(0)
    x, y, z = (rng.uniform(-1.0, 1.0, (150, n)) for n in (5, 2, 2))
    clean = kernel(x, y, z)
    for array, column, everywhere in ((x, 0, False), (y, 1, False), (z, 1, True)):
        for state in (0, 63, 64, 77, 149):
            keep = array[state, column]
            array[state, column] = np.nan
            found = kernel(x, y, z, threads=threads)
            array[state, column] = keep
            np.testing.assert_array_equal(np.delete(found, state, axis=0), np.delete(clean, state, axis=0))
            assert np.isnan(found[state]).all() if everywhere else np.isnan(found[state]).any()


@pytest.mark.parametrize("piece", [40, 300])
def test_values_that_wait_for_later_pieces(monkeypatch, piece):
    """Hundreds of them, read by several pieces in another order than they were made: more than a window of places."""

    def function(x, module=Node.scalar_functions):
        early = [x[k % 5] * (k + 1.5) + x[(k + 2) % 5] for k in range(400)]
        late = [early[-k - 1] * early[(7 * k) % 400] - 0.5 * early[(k + 200) % 400] for k in range(400)]
        return [a + b * early[k % 97] for k, (a, b) in enumerate(zip(late, reversed(late), strict=True))]

    monkeypatch.setattr(order, "LARGEST_SHARE", 0.0)  # or fewer would wait
    monkeypatch.setattr(emit, "LONGEST_BODY", 10)
    monkeypatch.setattr(split_kernels, "SHORTEST_PIECE", piece)
    monkeypatch.setattr(split_kernels, "LONGEST_PIECE", piece)
    kernel = Kernel("waiting", lambda: trace(function, (5,), list), (5,), (400,))
    text = kernel._assembly("lanes")
    assert max(int(n) for n in re.findall(r"@work = constant \[2 x i64\] \[i64 (\d+)", text)) > emitter.WINDOW
    x = np.random.default_rng(piece).uniform(-1.0, 1.0, (70, 5))
    found = kernel(x)
    np.testing.assert_allclose(found, np.array(function(x.T, np)).T, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(kernel(x, threads=2), found)
    np.testing.assert_array_equal(kernel(x[41]), found[41])


def test_a_second_tile_never_disturbs_the_first(monkeypatch):
    """Any number of tiles, in rounds and behind them: odd and even ones use different places for their results."""
    kernel, _ = long_computation(57)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1.0, 1.0, (400, 5)), rng.uniform(-1.0, 1.0, (400, 2))
    one_by_one = np.stack([kernel(a, b) for a, b in zip(x, y, strict=True)])
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0)
    for count in range(1, 200):
        np.testing.assert_array_equal(kernel(x[:count], y[:count]), one_by_one[:count])
    for count in rng.integers(200, 400, 20):
        np.testing.assert_array_equal(kernel(x[:count], y[:count], threads=2), one_by_one[:count])


# ---------------------------------------------------------------- kernels that do not send


@pytest.mark.parametrize("states", [5, 8, 9, 12, 46, 48, 55])
def test_long_rows_of_repeated_steps(monkeypatch, states):
    """Steps through time use the same driver, and their results are written in whole lines, too."""

    def rate(x, p):
        return [p[0] * x[(k + 1) % states] - 0.1 * x[k] * x[(k + 2) % states] for k in range(states)]

    def advance(ask, t, state, h, p):
        middle = [s + 0.5 * h * d for s, d in zip(state, ask(state), strict=True)]
        return [s + h * (d + t) for s, d in zip(state, ask(middle), strict=True)]

    stages = trace_stages(advance, rate, states, states, 1, states)
    names = ("t", "h", "n", "state", "p")
    kernel = StepKernel("steps", None, stages.lengths, (states,), None, names, stages=lambda: stages)
    rng = np.random.default_rng(states)
    t, p, s = (rng.standard_normal((150, n)) for n in (1, 1, states))
    h, n = np.array([0.01]), np.array([3.0])
    expected = s.T
    for k in range(3):
        middle = expected + 0.5 * h * np.array(rate(expected, p.T))
        expected = expected + h * (np.array(rate(middle, p.T)) + t.T + k * h)
    for streamed in (0, 1 << 40):
        monkeypatch.setattr(engine, "STREAMED_BYTES", streamed)
        for count in (1, 65, 150):
            for threads, offset in ((1, 0), (2, 8), (3, 48), (1, 4)):
                out, untouched = fenced(count, states, offset, 0x5A)
                kernel(t[:count], h, n, s[:count], p[:count], out=out, threads=threads)
                np.testing.assert_allclose(out, expected.T[:count], rtol=1e-12, atol=1e-13)
                assert untouched()


# ---------------------------------------------------------------- other processes

FENCED_TABLE = """
import ctypes, mmap, numpy as np
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import streaming
from kinetree.engine.trace import trace

libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page = mmap.PAGESIZE
room = mmap.mmap(-1, 2 * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
assert libc.mprotect(start + page, page, 0) == 0
for length in (48, 50, 56, 64):
    traced = trace(lambda x: [x[0] * (k + 1.0) for k in range(length)], (1,), list)
    kernel = Kernel("k", lambda: traced, (1,), (length,))
    x = np.arange(128.0)[:, None]
    table = streaming.place_words([64 * k for k in range(length)], kernel.vectors.per_line).nbytes
    ctypes.memmove(start + page - table, kernel.places_address, table)
    kernel._places = start + page - table
    area = np.zeros(128 * length + 8)
    first = -area.ctypes.data % 64 // 8
    out = area[first : first + 128 * length].reshape(128, length)
    kernel(x, out=out)
    assert (out == x * np.arange(1.0, length + 1.0)).all()
"""


@pytest.mark.skipif(os.name == "nt", reason="pages are protected in another way there")
def test_nothing_is_read_behind_the_table_of_places():
    """The last square of rows that end with a line reached one number beyond: fatal at the end of a page."""
    subprocess.run([sys.executable, "-c", FENCED_TABLE], check=True)


NO_MEMORY = """
import ctypes, sys, numpy as np
from kinetree.engine.llvm import host as machine
from kinetree.engine.kernels.direct_call import DirectCall
from kinetree.engine.llvm.vectorcall import MOST_STACK
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace

refused = []
nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(lambda size: refused.append(size))
usual = machine.python_function
machine.python_function = lambda name: (
    ctypes.cast(nothing, ctypes.c_void_p).value if name == "PyMem_RawMalloc" else usual(name)
)
many = 2 * MOST_STACK // machine.host().vectors().size
kernel = Kernel("k", lambda: trace(lambda x: [x[0] * (k + 1.0) for k in range(many)], (1,), list), (1,), (many,))
needed = kernel.scratch_bytes - kernel.tile_bytes  # nothing is streamed
assert needed > MOST_STACK
entry = DirectCall.make(kernel, lambda *given, out=None: "python", "k")
entry.enable_batch()
out = np.empty((20, many))
before = sys.getrefcount(out)
assert entry.function(np.ones((20, 1))) == entry.function(np.ones((20, 1)), out=out) == "python"
assert refused == [needed + 64] * 2
assert sys.getrefcount(out) == before
"""


@pytest.mark.skipif(not available(), reason="another interpreter layout")
def test_without_memory_for_the_work_area_python_is_asked():
    subprocess.run([sys.executable, "-c", NO_MEMORY], check=True)


@pytest.mark.skipif(not available(), reason="another interpreter layout")
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no way to see how much memory is used")
def test_work_areas_are_given_back():
    many = 2 * MOST_STACK // host.host().vectors().size
    kernel, _ = long_computation(many)
    entry = DirectCall.make(kernel, lambda *given, **options: "python", "long", "")
    entry.enable_batch()
    assert kernel.scratch_bytes - kernel.tile_bytes > MOST_STACK
    x, y, out = np.ones((9, 5)), np.ones((9, 2)), np.empty((9, many))

    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def call_often():
        for _ in range(1000):
            entry.function(x, y)
            entry.function(x, y, out=out)

    call_often()
    before = used()
    call_often()
    assert used() - before < 100 * kernel.scratch_bytes


@pytest.mark.skipif(not available(), reason="another interpreter layout")
@pytest.mark.parametrize("on_heap", [False, True])
def test_work_areas_of_the_entry_point(on_heap):
    length = 2 * MOST_STACK // host.host().vectors().size if on_heap else 60
    kernel, _ = long_computation(length)
    guard = Kernel("guard", lambda: trace(lambda x: [x[0] - 2.0], (5,), list), (5,), (1,), None, (), False, False)
    entry = DirectCall.make(kernel, lambda *given, **options: "python", "long", "", guard)
    entry.enable_batch()
    assert (kernel.scratch_bytes - kernel.tile_bytes > MOST_STACK) == on_heap
    rng = np.random.default_rng(length)
    x, y = rng.uniform(-1.0, 1.0, (150, 5)), rng.uniform(-1.0, 1.0, (150, 2))
    whole = kernel(x, y, threads=2)  # which starts the threads, as Python does before the entry may use them
    for count in (1, 7, 32, 33, 64, 65, 150):
        for threads in (1, 2):
            np.testing.assert_array_equal(entry.function(x[:count], y[:count], threads=threads), whole[:count])
            out, untouched = fenced(count, length, 8 * (count % 8), 0x33)
            assert entry.function(x[:count], y[:count], out=out, threads=threads) is out
            np.testing.assert_array_equal(out, whole[:count])
            assert untouched()
    for bad in (0, 63, 64, 149):
        worse = x.copy()
        worse[bad, 0] = 2.5
        out = np.empty((150, length))
        before = sys.getrefcount(out)
        assert entry.function(worse, y) == entry.function(worse, y, out=out, threads=2) == "python"
        assert sys.getrefcount(out) == before

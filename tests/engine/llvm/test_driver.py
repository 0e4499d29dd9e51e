"""The blocks of the loop over a batch, each compiled and called by itself, in every form that runs here."""

import ctypes

import numpy as np
import pytest

from helpers.assembly import aligned_area, at_the_edge, compiled, dtype_of, every_form, loaded
from kinetree.engine.llvm import driver, host
from kinetree.engine.llvm.driver import pack_job
from kinetree.engine.llvm.streaming import place_words

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")

every = pytest.mark.parametrize(("machine", "v"), every_form())


def address(array):
    return array.ctypes.data


# ---------------------------------------------------------------- which states


def tiles_of(machine, v):
    """Compile what finds the states of a tile and the beginning of the next."""

    def write(f, start, stop, length, whole_lines, base, to):
        rounds = driver.find_rounds(v, start, stop, length, whole_lines.differs(0))
        for k, state in enumerate(driver.states_of(v, rounds, base, stop - 1)):
            to.at(k, "i64").store(state)
        return driver.next_tile(v, rounds, base)

    names = ("start", "stop", "length", "whole_lines", "base")
    return compiled(write, {**dict.fromkeys(names, "i64"), "to": "ptr"}, "i64", machine)


@every
@pytest.mark.parametrize("whole_lines", [False, True])
def test_every_state_is_in_one_tile_and_those_of_a_round_share_their_distance_from_a_line(machine, v, whole_lines):
    run, states = tiles_of(machine, v), np.zeros(v.lanes, dtype=np.int64)
    for length in (v.per_line, v.per_line + 1, v.per_line + 2, 3 * v.per_line, v.per_line + v.per_line // 2):
        apart = v.per_line // np.gcd(length, v.per_line) if whole_lines else 1
        for start, stop in ((0, 1), (0, v.lanes), (3, 3 + 2 * v.lanes * apart + v.lanes + 1), (5, 4 * v.lanes + 5)):
            found, base = [], start
            in_rounds = start + (stop - start) // (apart * v.lanes) * apart * v.lanes
            while base < stop:
                following = run(start, stop, length, whole_lines, base, address(states))
                if whole_lines and base < in_rounds:
                    assert (np.diff(states) == apart).all()
                found += list(dict.fromkeys(states.tolist()))  # the last one stands for those behind the end
                base = following
            assert sorted(found) == list(range(start, stop))
            if not whole_lines:
                assert found == sorted(found)


# ---------------------------------------------------------------- reading


@every
def test_rows_are_read_as_columns_whatever_their_length(machine, v):
    def write(f, rows, length, to):
        pointers = [rows.at(k, "ptr").load("ptr") for k in range(v.lanes)]
        (driver.read_masked if v.masks else driver.read_whole)(f, v, pointers, length, to)

    run = compiled(write, {"rows": "ptr", "length": "i64", "to": "ptr"}, machine=machine)
    rng, dtype = np.random.default_rng(0), dtype_of(v)
    for length in range(2 * v.lanes + 2):
        rows = [at_the_edge(rng.standard_normal(max(length, 1)).astype(dtype)) for _ in range(v.lanes)]
        table = np.array([address(row) for row in rows])
        area, _ = aligned_area((length + v.lanes, v.lanes), dtype)
        run(address(table), length, address(area))
        np.testing.assert_array_equal(area[:length], np.array(rows).T[:length])
        assert np.isnan(area[-(-length // v.lanes) * v.lanes :]).all()  # at most a square is written


@every
def test_the_guard_is_asked_about_every_lane(machine, v):
    verdicts = np.zeros(v.lanes, dtype_of(v))
    asked = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def guard(area, room):
        asked.append(area)
        ctypes.memmove(room, address(verdicts), verdicts.nbytes)

    run = compiled(
        lambda f, guard, area, room: driver.ask_guard(f, v, guard, area, room),
        {"guard": "ptr", "area": "ptr", "room": "ptr"}, "i64", machine,
    )  # fmt: skip
    room, _ = aligned_area((v.lanes,), dtype_of(v))
    for k in range(v.lanes):
        for verdict, doubt in ((1e-30, 1), (0.0, 0), (-1.0, 0), (np.nan, 0)):
            verdicts[:], verdicts[k] = -2.0, verdict
            assert run(ctypes.cast(guard, ctypes.c_void_p), 77, address(room)) == doubt
    assert set(asked) == {77}
    assert run(None, 77, address(room)) == 0
    assert len(asked) == 4 * v.lanes


# ---------------------------------------------------------------- writing


@every
def test_results_are_written_as_rows_of_those_states_that_there_are(machine, v):
    def write(f, result, places, count, to, apart, states):
        (driver.write_masked if v.masks else driver.write_whole)(f, v, result, places, count, to, apart, states)

    kinds = {"result": "ptr", "places": "ptr", "count": "i64", "to": "ptr", "apart": "i64", "states": "i64"}
    run = compiled(write, kinds, machine=machine)
    rng, dtype = np.random.default_rng(1), dtype_of(v)
    for count in (1, v.lanes - 1, v.lanes, v.lanes + 1, 3 * v.lanes, 3 * v.lanes + 2):
        values, _ = aligned_area((count, v.lanes), dtype)
        values[...] = rng.standard_normal(values.shape)
        where = rng.permutation(count)
        places = place_words(where * v.size, v.per_line)
        for states in (1, v.lanes - 1, v.lanes, v.lanes + 3):
            for apart in (count, count + 5):
                out, whole = aligned_area((v.lanes, apart), dtype, shift=np.dtype(dtype).itemsize)
                run(address(values), address(places), count, address(out), apart, states)
                there = min(states, v.lanes)
                np.testing.assert_array_equal(out[:there, :count], values[where].T[:there])
                assert np.isfinite(whole).sum() == there * count  # and nothing else


@every
def test_numbers_copied_past_the_caches_arrive_at_every_alignment(machine, v):
    run = compiled(
        lambda f, source, to, count: driver.copy_past_caches(f, v, source, to, count),
        {"source": "ptr", "to": "ptr", "count": "i64"}, machine=machine,
    )  # fmt: skip
    dtype, item = dtype_of(v), v.item
    source = np.random.default_rng(2).standard_normal(5 * v.lanes).astype(dtype)
    for shift in range(0, v.size, item):
        for count in (0, 1, v.lanes - 1, v.lanes, 2 * v.lanes + 1, 4 * v.lanes):
            out, whole = aligned_area((count,), dtype, shift=shift)
            run(address(source[1:]), address(out), count)
            np.testing.assert_array_equal(out, source[1 : 1 + count])
            assert np.isfinite(whole).sum() == count


# ---------------------------------------------------------------- all of it


class Job:
    """A job whose kernel is a Python function of columns, and memory around its results."""

    def __init__(self, v, function, inputs, size, guard=None, tiles=1, streamed=False):
        self.v, self.calls, dtype = v, [], dtype_of(v)
        self.lengths = [x.shape[-1] for x in inputs]
        count, total = max(map(len, inputs)), sum(self.lengths)
        self.out, self.whole = aligned_area((count, size), dtype, shift=np.dtype(dtype).itemsize)
        block = (total + size + 3 * v.lanes) * v.size
        self.scratch, _ = aligned_area((tiles * block + (driver.CHUNK * v.size if streamed else 0),), np.uint8)
        self.places = place_words(np.arange(size) * v.size, v.per_line)

        def columns(place, n, dtype=dtype):
            kind = ctypes.c_float if v.single_precision else ctypes.c_double
            return np.ctypeslib.as_array((kind * (n * v.lanes)).from_address(place)).reshape(n, v.lanes)

        def kernel(given, result, context, tiles_here=1):
            tiles_here = tiles_here if v.some_tiles else 1
            self.calls.append((context, tiles_here))
            for k in range(tiles_here):
                columns(result + k * block, size)[...] = function(columns(given + k * block, total))

        def ask(given, verdict):
            columns(verdict, 1)[...] = guard(columns(given, total))

        more = (ctypes.c_void_p,) if v.sends else (ctypes.c_int64,) if v.some_tiles else ()
        pointers = (ctypes.c_void_p,) * 3
        self._kernel = ctypes.CFUNCTYPE(None, *pointers, *more)(kernel)
        self._guard = ctypes.CFUNCTYPE(None, *pointers[:2])(ask) if guard else None
        self._inputs = inputs
        self.words = pack_job(
            ctypes.cast(self._kernel, ctypes.c_void_p).value,
            ctypes.cast(self._guard, ctypes.c_void_p).value if guard else 0,
            address(self.out), address(self.scratch), size, 0, count, [address(x) for x in inputs],
            [0 if len(x) == 1 else x.strides[0] // x.itemsize for x in inputs], self.lengths,
            context=55, places=address(self.places), tiles=tiles, block_bytes=block,
            tile_area=address(self.scratch) + tiles * block if streamed else 0,
        )  # fmt: skip


def both(machine, v):
    kinds = {"drive": ("i64", "ptr"), "run": ("i64", "ptr", "ptr", "i64", "i64", "ptr")}
    return loaded(driver.driver_module(v), kinds, machine)


def mixed(size):
    def function(x):
        return np.array([x[k % len(x)] * (k + 1) + x[0] for k in range(size)])

    return function


@every
def test_any_number_of_states_goes_through_whole_tiles(machine, v):
    drive, rng = both(machine, v)["drive"], np.random.default_rng(3)
    tiles = 3 if v.some_tiles else 1
    for size in (1, v.per_line + 3):
        for streamed in (False, True):
            for count in (
                1,
                v.lanes - 1,
                v.lanes,
                v.lanes + 1,
                3 * v.lanes,
                5 * v.lanes + 1,
                2 * v.lanes * v.per_line + 3,
            ):
                x = rng.standard_normal((2 * count, 3)).astype(dtype_of(v))[::2]
                y = rng.standard_normal((1, 2)).astype(dtype_of(v))  # one for all
                job = Job(v, mixed(size), [x, y], size, tiles=tiles, streamed=streamed)
                assert drive(job.words) == 0
                together = np.concatenate([x, np.broadcast_to(y, (count, 2))], axis=1)
                np.testing.assert_array_equal(job.out, mixed(size)(together.T).T)
                assert np.isfinite(job.whole).sum() == job.out.size
                assert {context for context, _ in job.calls} == {55}
                assert sum(n for _, n in job.calls) == -(-count // v.lanes)
                if tiles > 1:
                    assert {n for _, n in job.calls[:-1]} <= {tiles}


@every
def test_a_part_of_a_job_touches_nothing_else(machine, v):
    run = both(machine, v)["run"]
    x = np.random.default_rng(4).standard_normal((4 * v.lanes, 3)).astype(dtype_of(v))
    job = Job(v, mixed(5), [x], 5)
    for start, stop in ((0, 0), (3, 3), (3, 4), (v.lanes, 3 * v.lanes), (1, 2 * v.lanes)):
        job.whole[...] = np.nan
        assert run(job.words, address(job.scratch), start, stop, None) == 0
        np.testing.assert_array_equal(job.out[start:stop], mixed(5)(x[start:stop].T).T)
        assert np.isfinite(job.whole).sum() == 5 * (stop - start)


@every
def test_one_doubtful_state_is_enough(machine, v):
    drive = both(machine, v)["drive"]
    x = np.zeros((3 * v.lanes + 1, 2), dtype_of(v))
    job = Job(v, mixed(2), [x], 2, guard=lambda columns: columns[:1] - 2.0, tiles=2 if v.some_tiles else 1)
    assert drive(job.words) == 0
    for bad in (0, v.lanes, len(x) - 1):
        x[bad, 0] = 3.0
        assert drive(job.words) == 1
        x[bad, 0] = 0.0
    assert drive(job.words) == 0

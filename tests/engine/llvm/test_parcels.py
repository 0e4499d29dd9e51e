"""The blocks that write results in whole lines, each compiled and called by itself, in every form that runs here."""

import ctypes

import numpy as np
import pytest

from helpers.assembly import aligned_area, compiled, dtype_of, every_form
from kinetree.engine.llvm import host, streaming
from kinetree.engine.llvm.streaming import AT_THE_END, PARCEL, Times, place_words
from kinetree.engine.llvm.vectors import LINE

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")

every = pytest.mark.parametrize(("machine", "v"), every_form())
BLOCK = {"result": "ptr", "places": "ptr", "rows": "ptr", "length": "i64", "apart": "i64"}


def address(array):
    return array.ctypes.data


class Results:
    """Results of a tile in places drawn at random, some of them equal, and rows for them."""

    def __init__(self, v, length, shift, times=streaming.AT_ONCE, zeros=False):
        rng, dtype = np.random.default_rng(length), dtype_of(v)
        self.length, self.item = length, v.item
        which = rng.permutation(length)
        which[v.per_line // 2 : 4 * v.per_line] = which[0]  # whole lines of one and the same result
        self.values, _ = aligned_area((length, v.lanes), dtype)
        self.values[...] = rng.standard_normal(self.values.shape)
        if zeros:
            self.values[which[0]] = 0.0
        self.expected = self.values[which].T
        self.places = place_words(which * v.size, v.per_line, times=times)
        lines = -(-length * v.item // LINE) + 1
        self.rows, self.around = aligned_area((v.lanes, lines * v.per_line), dtype, LINE, shift * v.item)
        self.arguments = address(self.values), address(self.places), address(self.rows), length, lines * LINE

    @property
    def found(self):
        return self.rows[:, : self.length]

    def check(self):
        np.testing.assert_array_equal(self.found, self.expected)
        assert np.isfinite(self.around).sum() == self.expected.size  # and nothing around it


def parcel_block(write, parameters, machine, v):
    """Compile a block that calls the functions of parcels by name."""
    return compiled(write, parameters, machine=machine, before=lambda m: streaming.add_parcel_functions(m, v))


@every
def test_the_first_whole_line_is_found(machine, v):
    run = compiled(lambda f, rows: streaming.before_whole_lines(v, rows), {"rows": "ptr"}, "i64", machine)
    for shift in range(2 * v.per_line):
        assert run(64000 + shift * v.item) == -shift % v.per_line


@every
def test_a_line_of_results_of_every_state(machine, v):
    def write(f, result, places, to):
        for k, vectors in enumerate(streaming.line_of_results(v, result, places)):
            streaming.store_line(v, to + k * LINE, vectors)

    run = compiled(write, {"result": "ptr", "places": "ptr", "to": "ptr"}, machine=machine)
    given = Results(v, v.per_line, 0)
    lines = np.empty((v.lanes, v.per_line), dtype_of(v))
    run(*given.arguments[:2], address(lines))
    np.testing.assert_array_equal(lines, given.expected)


@every
def test_less_than_a_line_is_copied_by_halves(machine, v):
    def write(f, room, to, apart, count):
        streaming.copy_by_halves(f, v, room, streaming.rows_of_states(v, to, apart), count)

    run = compiled(write, {"room": "ptr", "to": "ptr", "apart": "i64", "count": "i64"}, machine=machine)
    room, _ = aligned_area((v.lanes, v.per_line), dtype_of(v))
    room[...] = np.random.default_rng(0).standard_normal(room.shape)
    for count in range(v.per_line):
        to, around = aligned_area((v.lanes, v.per_line + 1), dtype_of(v))
        run(address(room), address(to), to.strides[0], count)
        np.testing.assert_array_equal(to[:, :count], room[:, :count])
        assert np.isfinite(around).sum() == count * v.lanes


@every
@pytest.mark.parametrize("zeros", [False, True])
def test_rows_are_written_at_once_at_every_distance_from_a_line(machine, v, zeros):
    def write(f, *given):
        f.call(streaming.WRITE, *given)

    run = parcel_block(write, BLOCK, machine, v)
    for length in (v.per_line, v.per_line + 1, 2 * v.per_line - 1, 6 * v.per_line + 3):
        for shift in range(v.per_line):
            given = Results(v, length, shift, zeros=zeros)
            run(*given.arguments)
            given.check()


@every
def test_lines_are_sent_when_it_is_time_and_the_rest_is_delivered(machine, v):
    times = 5
    parameters = {"parcel": "ptr", "now": "i64", **BLOCK}

    def pack(f, parcel, now, *given):
        f.call(streaming.PACK, parcel, f.symbol(streaming.SEND), *given)

    def send(f, parcel, now, *given):
        f.call(PARCEL.of(parcel)["sender"], parcel, now, convention=v.sender)

    def deliver(f, parcel, now, *given):
        f.call(streaming.DELIVER, parcel)

    pack, send, deliver = (parcel_block(write, parameters, machine, v) for write in (pack, send, deliver))
    parcel = (ctypes.c_int64 * (PARCEL.size // 8))()
    where = ctypes.addressof(parcel)
    for shift in (0, 1, v.per_line - 1):
        length = 9 * v.per_line + 1
        given = Results(v, length, shift, Times(times))
        pack(where, 0, *given.arguments)
        order = streaming.order_of_lines(given.places[:length], v.per_line, -shift % v.per_line, Times(times))
        for now in range(times):
            send(where, now, *given.arguments)
            sent = np.isfinite(given.found[0])
            expected = np.zeros(length, dtype=bool)
            for first, equal, when in order:
                expected[first : first + max(equal, 1) * v.per_line] |= when <= now
            np.testing.assert_array_equal(sent, expected)
        assert not np.isfinite(given.found).all()
        deliver(where, AT_THE_END, *given.arguments)
        given.check()
        given.around[...] = 0.0
        deliver(where, AT_THE_END, *given.arguments)  # an empty one: nothing is written twice
        assert not given.around.any()


@every
def test_spoiled_states_become_nan_when_a_parcel_is_delivered(machine, v):
    def write(f, spoiled, *given):
        parcel = streaming.empty_parcel(f)
        f.call(streaming.PACK, parcel, f.symbol(streaming.SEND), *given)
        PARCEL.of(parcel)["spoiled"] = spoiled
        f.call(streaming.DELIVER, parcel)

    run = parcel_block(write, {"spoiled": "i64", **BLOCK}, machine, v)
    for states in ([0], [v.lanes - 1], [0, 1], []):
        given = Results(v, 3 * v.per_line + 1, 2)
        given.around[...] = 0.0
        run(sum(1 << k for k in states), *given.arguments)
        assert np.isnan(given.found[states]).all()
        others = np.delete(given.found, states, axis=0)
        np.testing.assert_array_equal(others, np.delete(given.expected, states, axis=0))
        assert np.isnan(given.around).sum() == len(states) * given.length

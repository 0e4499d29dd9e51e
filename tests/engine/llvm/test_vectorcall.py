"""The blocks of the entry point, each compiled and called by itself: what they read, and what they leave to Python."""

import ctypes
import sys

import numpy as np
import pytest

from helpers.assembly import Block, compiled
from kinetree.engine.kernels.direct_call import available
from kinetree.engine.llvm import foreign, host, vectorcall
from kinetree.engine.llvm.driver import LAYOUT
from kinetree.engine.llvm.vectorcall import CONTEXT, FROM_PYTHON, MAX_INPUTS, MOST_STACK, EntryCall

pytestmark = pytest.mark.skipif(not (host.host().supported and available()), reason="no entry point here")

FAILED, REFUSED, UNUSUAL = -10, -11, -12
ARGUMENTS = {"self": "ptr", "args": "ptr", "nargs": "i64", "kwnames": "ptr"}
OUT, THREADS = sys.intern("out"), sys.intern("threads")


def block(write, more=None):
    """Compile a block that writes what it finds into a table; it returns 0, or to whom a call is left."""

    def whole(f, self, args, nargs, kwnames, to, *given):
        with f.way_out("unusual") as unusual:
            with f.way_out("refused") as refused:
                with f.way_out("failed") as failed:
                    c = EntryCall(f, CONTEXT.of(self), args, nargs, kwnames, failed, refused, unusual)
                    for k, value in enumerate(write(c, *given)):
                        to.at(k, "i64").store(value)
                    f.ret(0)
                if f.is_reached:
                    f.ret(FAILED)
            if f.is_reached:
                f.ret(REFUSED)
        if f.is_reached:
            f.ret(UNUSUAL)

    run = compiled(whole, {**ARGUMENTS, "to": "ptr", **(more or {})}, "i64", from_python=FROM_PYTHON)
    with_interpreter = ctypes.PYFUNCTYPE(
        ctypes.c_int64, *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p),
        *(ctypes.c_int64 if kind == "i64" else ctypes.c_void_p for kind in (more or {}).values()),
    )(run.address)  # fmt: skip
    with_interpreter.library = run.library
    return with_interpreter


def context(lengths=(3, 2), shape=(2,), **values):
    usual = dict(
        inputs=len(lengths), ndim=len(shape), out_length=int(np.prod(shape)), array_type=id(np.ndarray),
        own_type=id(np.dtype(np.float64)), other_type=id(np.dtype(np.float32)), list_type=id(list),
        tuple_type=id(tuple), float_type=id(float), numpy_float=id(np.float64), out_name=id(OUT),
        threads_name=id(THREADS), int_type=id(int), new_array=foreign.numpy_function(foreign.NEW_ARRAY),
        as_long=host.python_function("PyLong_AsLongLongAndOverflow"),
        **{f"length{k}": n for k, n in enumerate(lengths)}, **{f"dim{k}": n for k, n in enumerate(shape)},
    )  # fmt: skip
    return Block(CONTEXT, **{**usual, **values})


def call(run, about, arguments, *more, count=None, room=None, **options):
    """EntryCall a block as CPython calls the entry point; returns its answer and its table."""
    given = [*arguments, *options.values()]
    table = (ctypes.py_object * max(len(given), 1))(*given)
    names = tuple(sys.intern(name) for name in options) if options else None
    found = (ctypes.c_int64 * (room or 2 * MAX_INPUTS + 2))()
    positional = len(arguments) if count is None else count
    answer = run(
        about.address, ctypes.addressof(table), positional, id(names) if names else None, ctypes.addressof(found), *more
    )
    return answer, list(found)


# ---------------------------------------------------------------- options


@pytest.fixture(scope="module")
def options():
    def write(c):
        out, threads = vectorcall.read_options(c)
        return [out.to("i64"), threads]

    return block(write)


def test_out_and_threads_are_read_in_any_order(options):
    a, b, out = np.zeros(3), np.zeros(2), np.zeros(2)
    assert call(options, context(), (a, b))[1][:2] == [0, 1]
    assert call(options, context(), (a, b), out=out)[1][:2] == [id(out), 1]
    assert call(options, context(), (a, b), threads=7)[1][:2] == [0, 7]
    assert call(options, context(), (a, b), out=out, threads=3) == (0, [id(out), 3, *[0] * 12])
    assert call(options, context(), (a, b), threads=3, out=out) == (0, [id(out), 3, *[0] * 12])


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3)])
def test_another_number_of_arguments_is_left_to_the_fallback(options, arguments):
    assert call(options, context(), arguments)[0] == UNUSUAL


@pytest.mark.parametrize(
    "given", [{"axes": 1}, {"out": 1, "axes": 2}, {"threads": 2, "y": 1}, {"out": 1, "threads": 2, "axes": 3}]
)
def test_other_options_are_left_to_the_fallback(options, given):
    assert call(options, context(), (1, 2), **given)[0] == UNUSUAL


def test_options_that_the_fallback_does_not_take_are_left_to_it(options):
    assert call(options, context(), (1, 2), out=3)[0] == 0
    assert call(options, context(out_name=0), (1, 2), out=3)[0] == UNUSUAL
    assert call(options, context(threads_name=0), (1, 2), threads=3)[0] == UNUSUAL


@pytest.mark.parametrize("threads", [0, -1, 10**30, -(10**30), True, 2.0, None, np.int64(2)])
def test_threads_that_are_no_positive_integer_are_refused(options, threads):
    assert call(options, context(), (1, 2), threads=threads)[0] == REFUSED


# ---------------------------------------------------------------- inputs


@pytest.fixture(scope="module")
def inputs():
    def write(c):
        rows = vectorcall.read_inputs(c)
        return [rows] + [p.at(k, "i64").load("i64") for k in range(2) for p in (c.pointers, c.strides)]

    return block(write)


X, Y = np.zeros((9, 3)), np.zeros((9, 2))


@pytest.mark.parametrize(
    ("x", "y", "rows", "strides"),
    [
        (X[0], Y[0], -1, (0, 0)),
        (X, Y, 9, (3, 2)),
        (X[0], Y, 9, (0, 2)),
        (X, Y[4], 9, (3, 0)),
        (X[::2], Y[:5], 5, (6, 2)),
        (X[::-1], Y, 9, (-3, 2)),
        (np.zeros((9, 10))[:, 4:7], Y, 9, (10, 2)),
        (X[:1], Y[0], 1, (3, 0)),
        (np.broadcast_to(X[0], (9, 3)), Y, 9, (0, 2)),
    ],
    ids=str,
)
def test_states_and_batches_are_read(inputs, x, y, rows, strides):
    answer, found = call(inputs, context(), (x, y))
    assert answer == 0
    assert found[:5] == [rows, x.ctypes.data, strides[0], y.ctypes.data, strides[1]]


class Sub(np.ndarray):
    pass


def one_byte_off(shape):
    size = 8 * int(np.prod(shape))
    return np.frombuffer(bytearray(size + 1), np.uint8)[1:].view(np.float64).reshape(shape)


@pytest.mark.parametrize(
    "x",
    [
        [0.0, 0.0], [0.0, 0.0, True], [0.0, 0.0, None], [0.0, "1", 2], [0.0, 1.0, 1 << 70], [0.0, 0.0, np.float32(1)],
        [[0.0, 0.0, 0.0]] * 9, None, 3.0, np.zeros(3, int), np.zeros(3, ">f8"), np.zeros(3, np.float16),
        np.zeros(3).view(Sub), np.zeros(3, complex), np.zeros(4), np.zeros(2), np.array(0.0), one_byte_off((3,)),
        np.zeros((9, 4)), np.zeros((8, 3)), np.zeros((0, 3)), np.zeros((2, 9, 3)), np.zeros((1, 9, 3)),
        np.zeros((1, 1, 1, 1, 9, 3)), one_byte_off((9, 3)), np.zeros(9, [("x", "f8", 3), ("c", "i4")])["x"],
    ],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')} {getattr(x, 'shape', '')} {getattr(x, 'strides', '')}",
)  # fmt: skip
def test_what_is_no_array_of_floats_of_the_right_shape_is_refused(inputs, x):
    assert call(inputs, context(), (x, Y))[0] == REFUSED
    assert call(inputs, context((2, 3)), (Y, x))[0] == REFUSED


def test_batches_without_states_and_axes_that_are_not_one_are_refused(inputs):
    assert call(inputs, context(), (X[:0], Y[:0]))[0] == REFUSED
    assert call(inputs, context(), (np.zeros((3, 7, 3))[:, :3], Y.reshape(3, 3, 2)))[0] == REFUSED
    assert call(inputs, context(), (np.zeros((3, 3, 3)).swapaxes(0, 1), Y.reshape(3, 3, 2)))[0] == REFUSED


@pytest.mark.parametrize("x", [X.reshape(3, 3, 3), np.zeros((3, 3, 6))[..., :3], np.zeros((9, 1, 3))], ids=str)
def test_several_axes_of_a_batch_are_read_as_one(inputs, x):
    answer, found = call(inputs, context(), (x, Y.reshape(*x.shape[:-1], 2)))
    assert answer == 0
    assert found[0] == 9
    assert found[2] == x.strides[-2 if x.shape[-2] > 1 else 0] // 8


ODD = [
    X[::-1, ::-1], np.asfortranarray(X), np.zeros((9, 6))[:, ::2], np.zeros((9, 3), np.float32),
    np.asfortranarray(np.zeros((9, 3), np.float32)), np.zeros((9, 3, 3), np.float32)[..., 1],
]  # fmt: skip


@pytest.mark.parametrize("x", ODD, ids=lambda x: f"{x.dtype} {x.strides}")
def test_what_does_not_lie_in_rows_of_doubles_has_a_layout(x):
    def write(c):
        vectorcall.read_inputs(c)
        first, second = (c.layouts.at(k, "ptr").load("ptr") for k in range(2))
        words = LAYOUT.of(first)
        return [second.to("i64"), *(words[name] for name in LAYOUT.at)]

    answer, found = call(block(write), context(), (x, Y))
    assert answer == 0
    assert found[:4] == [0, *x.strides, x.dtype == np.float32]


@pytest.mark.parametrize(
    "x",
    [
        [1.5, -2, 3.0], (1.5, -2, np.float64(3.0)), np.array([1.5, -2, 3], np.float32), np.array([3.0, -2, 1.5])[::-1],
        np.array([1.5, 0, -2, 0, 3, 0])[::2], np.array([3, 0, -2, 0, 1.5], np.float32)[::-2],
    ],
    ids=str,
)  # fmt: skip
def test_one_state_is_put_in_order(x):
    def write(c):
        vectorcall.read_inputs(c)
        vectorcall.put_in_order(c)
        first = c.pointers.load("ptr")
        return [first.at(k, "i64").load("i64") for k in range(3)]

    answer, found = call(block(write), context(), (x, Y[0]))
    assert answer == 0
    assert np.array(found[:3]).view(np.float64).tolist() == [1.5, -2.0, 3.0]


# ---------------------------------------------------------------- guard


@pytest.mark.parametrize(
    ("verdict", "answer"), [(-1.0, 0), (0.0, 0), (1e-300, REFUSED), (np.nan, 0), (np.inf, REFUSED)]
)
def test_a_state_that_the_guard_doubts_is_refused(verdict, answer):
    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double))
    def guard(pointers, to):
        to[0] = verdict

    run = block(lambda c: vectorcall.ask_guard(c) or [])
    assert call(run, context(), ())[0] == 0
    assert call(run, context(guard_single=ctypes.cast(guard, ctypes.c_void_p).value), ())[0] == answer


# ---------------------------------------------------------------- output


@pytest.fixture(scope="module")
def output():
    def write(c, out, rows):
        vectorcall.read_inputs(c)
        return [vectorcall.prepare_output(c, out, rows).to("i64")]

    return block(write, {"out": "ptr", "rows": "i64"})


def prepared(run, about, arguments, out, rows):
    answer, found = call(run, about, arguments, id(out) if out is not None else None, rows)
    if answer:
        return None
    made = ctypes.cast(found[0], ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))  # the reference that the entry point would return
    return made


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (4, 1, 3)])
def test_a_new_output_has_the_shape_of_the_kernel_with_or_without_a_batch(output, shape):
    for rows, expected in ((-1, shape), (1, (1, *shape)), (9, (9, *shape))):
        made = prepared(output, context((3, 2), shape), (X, Y), None, rows)
        assert made.shape == expected
        assert made.dtype == np.float64
        assert made.flags.carray
        assert sys.getrefcount(made) == 2


def test_an_output_that_there_is_no_memory_for_is_an_error_of_python(output):
    with pytest.raises(MemoryError):
        call(output, context((3, 2), (1 << 58,)), (X, Y), None, -1)


def test_a_given_output_is_returned_with_one_more_reference(output):
    for out, rows in ((np.zeros((9, 2)), 9), (np.zeros(2), -1)):
        before = sys.getrefcount(out)
        answer, found = call(output, context(), (X, Y), id(out), rows)
        assert (answer, found[0]) == (0, id(out))
        assert sys.getrefcount(out) == before + 1
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(out))


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((8, 2)), np.zeros((9, 3)), np.zeros((9, 2, 1)), np.zeros(18), np.zeros((9, 2), np.float32), [0.0],
        np.zeros((9, 4))[:, ::2], np.asfortranarray(np.zeros((9, 2))), np.zeros((9, 2)).view(Sub),
        np.broadcast_to(np.zeros(2), (9, 2)), one_byte_off((9, 2)), np.frombuffer(bytes(144)).reshape(9, 2),
    ],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')} {getattr(x, 'shape', '')} {getattr(x, 'strides', '')}",
)  # fmt: skip
def test_another_output_is_refused_and_keeps_its_references(output, out):
    before = sys.getrefcount(out)
    assert call(output, context(), (X, Y), id(out), 9)[0] == REFUSED
    assert sys.getrefcount(out) == before


def test_an_output_that_shares_memory_with_an_input_is_refused(output):
    memory = np.zeros(200)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        at, step, to, rows = (int(n) for n in rng.integers((20, -5, 0, 1), (100, 6, 180, 5)))
        x = np.lib.stride_tricks.as_strided(memory[at:], (rows, 3), (8 * step, 8))
        out = memory[to : to + 2 * rows].reshape(rows, 2)
        y = np.zeros((rows, 2))
        shares = np.may_share_memory(x, out)  # which compares where each begins and ends
        seen.add(shares)
        for arguments, about in (((x, y), context()), ((y, x), context((2, 3)))):
            assert call(output, about, arguments, id(out), rows)[0] == (REFUSED if shares else 0)
            if not shares:
                ctypes.pythonapi.Py_DecRef(ctypes.py_object(out))
    assert seen == {False, True}


# ---------------------------------------------------------------- batches


def test_little_work_is_done_on_the_stack_and_much_on_the_heap():
    def write(c, size):
        area, heap = vectorcall.work_area(c.f, size, c.refused)
        area.store(77)
        (area + (size - 8)).store(78)
        return [area.to("i64"), heap.to("i64")]

    run = block(write, {"size": "i64"})
    for size in (64, 1000, MOST_STACK, MOST_STACK + 8, 1 << 20):
        answer, (area, heap, *_) = call(run, context(), (), size)
        assert answer == 0
        assert area % 64 == 0
        assert (heap != 0) == (size > MOST_STACK)
        assert not heap or 0 <= area - heap <= 64
        ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(heap))
    assert call(run, context(), (), 1 << 60)[0] == REFUSED  # Python says that memory is short


def test_long_batches_let_go_of_the_interpreter_whoever_computes():
    said = []
    about = context(round=24, run=66)

    @ctypes.PYFUNCTYPE(ctypes.c_void_p)
    def release():
        said.append("release")
        return 4321

    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    def retake(state):
        said.append(("retake", state))

    @ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
    def drive(job):
        said.append(("drive", job))
        return 5

    @ctypes.PYFUNCTYPE(ctypes.c_int64, *(ctypes.c_void_p,) * 3, ctypes.c_int64, ctypes.c_int64)
    def run_shared(pool, job, run, workers, unit):
        said.append(("shared", pool, job, run, workers, unit))
        return 6

    pool = Block(vectorcall.POOL, run_shared=ctypes.cast(run_shared, ctypes.c_void_p).value)
    about["pool"] = pool.address
    for name, function in (("release", release), ("retake", retake), ("drive", drive)):
        about[name] = ctypes.cast(function, ctypes.c_void_p).value
    run = block(lambda c, job, threads: [vectorcall.run_released(c, job, threads)], {"job": "ptr", "threads": "i64"})
    assert call(run, about, (), 99, 1)[1][0] == 5
    assert call(run, about, (), 99, 4)[1][0] == 6
    shared = ("shared", pool.address, 99, 66, 3, 24)
    assert said == ["release", ("drive", 99), ("retake", 4321), "release", shared, ("retake", 4321)]

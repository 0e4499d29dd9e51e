"""The engine by itself: graphs, fusing, machine code. No robots here."""

import math
import subprocess
import sys
import threading

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetree.engine.differentiate import jacobian
from kinetree.engine.fuse import fuse
from kinetree.engine.graph import Graph, Node, inputs, outputs
from kinetree.engine.interpret import evaluate
from kinetree.engine.kernels.direct_call import DirectCall, available
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import host, trigonometry
from kinetree.engine.trace import trace

functions = Node.scalar_functions


def kernel(function, *lengths, name="test", key=None, single_precision=False, shape=None):
    traced = trace(function, lengths, lambda v: v)
    return Kernel(name, lambda: traced, lengths, traced.shape, key, (), single_precision)


# ---------------------------------------------------------------- graphs


def test_equal_expressions_are_one_node():
    g = Graph()
    a, b = inputs(g, 2)
    assert (a * b + 1.0).index == (b * a + 1.0).index
    assert (a + b).index == (b + a).index
    assert (a - b).index == (-(b - a)).index


def test_zeros_ones_and_signs_vanish():
    g = Graph()
    a, b = inputs(g, 2)
    assert (a * 1.0).index == a.index
    assert (a + 0.0).index == a.index
    assert g.values[(a * 0.0).index] == 0.0
    assert (a + (-b)).index == (a - b).index
    assert ((-a) * (-b)).index == (a * b).index
    negative = -a
    assert (-negative).index == a.index
    assert (a * (1.0 / a)).index == g.const(1.0)
    assert (a * (b * (1.0 / a))).index == b.index
    assert (a - a).index == g.const(0.0)


def test_constants_are_folded_but_never_rounded():
    g = Graph()
    (a,) = inputs(g, 1)
    tiny = a * 1e-300 + 1e-17
    assert "1e-300" in g.describe([tiny.index])
    assert "1e-17" in g.describe([tiny.index])


def test_dead_code_is_dropped_and_products_are_fused():
    g = Graph()
    a, b, c = inputs(g, 3)
    _unused = a * b * c
    result = a * b + c
    fused, out = fuse(g, outputs(g, [result]))
    assert [k for k in fused.kinds if k != "input"] == ["fma"]
    assert len(out) == 1


def test_a_product_that_is_needed_by_itself_stays():
    g = Graph()
    a, b, c = inputs(g, 3)
    p = a * b
    fused, _ = fuse(g, outputs(g, [p + c, p]))
    assert fused.kinds.count("mul") == 1
    assert fused.kinds.count("add") == 1


def test_powers_and_numpy_functions():
    k = kernel(
        lambda x: [x[0] ** 3, x[0] ** -2, x[0] ** 0.5, x[0] ** 1.5, x[0] ** 0, np.sin(x[0]) * np.float64(2.0)], 1
    )
    x = np.random.default_rng(0).uniform(0.5, 3.0, (20, 1))
    expected = np.concatenate([x**3, x**-2.0, x**0.5, x**1.5, x**0, 2.0 * np.sin(x)], axis=1)
    np.testing.assert_allclose(k(x), expected, rtol=1e-15 * 8)
    (a,) = inputs(Graph(), 1)
    with pytest.raises(TypeError, match="cannot be raised to the power inf"):
        a**math.inf
    with pytest.raises(TypeError, match="a base above zero, not -2"):
        (-2.0) ** a


def test_deciding_on_an_unknown_value_is_an_error():
    (a,) = inputs(Graph(), 1)
    with pytest.raises(TypeError, match="where"):
        bool(a < 1.0)


# ---------------------------------------------------------------- sine and cosine

sincos = kernel(lambda x: [functions.sin(x[0]), functions.cos(x[0])], 1)
rough_sincos = kernel(lambda x: [functions.sin(x[0]), functions.cos(x[0])], 1, single_precision=True)
of_a_sum = kernel(lambda x, zero: [functions.sin(x[0] + zero[0]), functions.cos(x[0] + zero[0])], 1, 1)


def worst_ulps(x):
    """Of angles that are inputs; those that are computed are found in another way, which angles beyond NEAR share."""
    computed = of_a_sum(x[:, None], np.full((1, 1), -0.0))
    y = sincos(x[:, None])
    far = np.abs(x) >= trigonometry.NEAR
    np.testing.assert_array_equal(y[far], computed[far])
    return max(_worst_ulps(x, y), _worst_ulps(x[~far], computed[~far]))


def _worst_ulps(x, y):
    with mpmath.workprec(200):
        worst = 0.0
        for xi, pair in zip(x, y, strict=True):
            for exact, value in zip((mpmath.sin(mpmath.mpf(xi)), mpmath.cos(mpmath.mpf(xi))), pair, strict=True):
                worst = max(worst, float(abs(mpmath.mpf(value) - exact) / mpmath.mpf(np.spacing(abs(float(exact))))))
    return worst


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1e-3, 1.0, 30.0, 1e3, 1e5, 1e7, 1e9, 1e12])
def test_sine_and_cosine_are_good_to_an_ulp(size):
    x = np.random.default_rng(1).uniform(-size, size, 400)
    assert worst_ulps(x) < 1.0


def test_sine_and_cosine_next_to_their_zeros():
    multiples = np.random.default_rng(2).integers(-(2**29), 2**29, 400)
    assert worst_ulps(multiples * (math.pi / 2)) < 1.0
    assert worst_ulps(np.arange(-200, 200) * (math.pi / 4)) < 1.0
    assert worst_ulps(np.arange(-20700, 20700, 103) * (math.pi / 2)) < 1.0


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 30.0, 1e5, 1e9, 1e12, 5e14])
def test_sine_and_cosine_in_single_precision(size):
    """To an ulp of single precision, next to their zeros, too: results are compared with exact ones in double."""
    rng, most = np.random.default_rng(3), int(size / (math.pi / 2)) + 1
    x = np.concatenate([rng.uniform(-size, size, 20_000), rng.integers(-most, most, 20_000) * (math.pi / 2)])
    x = x.astype(np.float32)
    found = rough_sincos(x[:, None])
    exact = np.stack([np.sin(x.astype(float)), np.cos(x.astype(float))], axis=1)
    assert found.dtype == np.float32
    assert (np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() < 1.0
    assert np.array_equal(found[:20], [rough_sincos(one[None]) for one in x[:20]])
    assert np.isnan(rough_sincos(np.array([6e14], np.float32))).all()


@pytest.mark.parametrize("single_precision", [False, True])
def test_sine_and_cosine_do_not_depend_on_other_angles_or_lanes(single_precision):
    """Groups of angles, one of which is not full, with small and large ones, infinities and NaN beside each other."""
    both = (functions.sin, functions.cos)
    k = kernel(lambda x: [f(x[j]) for j in range(5) for f in both], 5, single_precision=single_precision)
    edge = trigonometry.NEAR
    odd = [np.nextafter(edge, 0.0), edge, -edge, 2.0 * edge, 1e9, 1e14, 1e300, np.inf, np.nan, -0.0]
    rng = np.random.default_rng(5)
    x = rng.uniform(-9.0, 9.0, (203, 5))
    x[rng.random(x.shape) < 0.1] = 0.0
    places = rng.random(x.shape) < 0.2
    x[places] = rng.choice(odd, places.sum())
    with np.errstate(over="ignore"):
        x = x.astype(k.dtype)
    y = k(x)
    np.testing.assert_array_equal(y, [k(row) for row in x])
    one = kernel(lambda x: [f(x[0]) for f in both], 1, single_precision=single_precision)
    np.testing.assert_array_equal(y.reshape(-1, 2), one(x.reshape(-1, 1)))


def test_special_angles():
    y = sincos(np.array([[0.0], [-0.0], [np.inf], [-np.inf], [np.nan], [1e300]]))
    assert y[0].tolist() == [0.0, 1.0]
    assert math.copysign(1.0, y[1, 0]) == -1.0
    assert np.isnan(y[2:]).all()


# ---------------------------------------------------------------- arctangent

angle = kernel(lambda y, x: [functions.arctan2(y[0], x[0])], 1, 1)
rough_angle = kernel(lambda y, x: [functions.arctan2(y[0], x[0])], 1, 1, single_precision=True)


def points(rng, count):
    """All over the plane, next to the axes and diagonals, and at the seams of the approximation."""
    wide = rng.standard_normal((count, 2)) * 10.0 ** rng.uniform(-6, 6, (count, 2))
    seams = np.arange(16) * (math.pi / 8) + rng.choice([0.0, 1e-16, -1e-9, 1e-3], (count // 16, 16))
    return np.concatenate(
        [wide, rng.uniform(-1, 1, (count, 2)), np.stack([np.sin(seams), np.cos(seams)], -1).reshape(-1, 2)]
    )


def ulps_off(found, y, x, spacing):
    with mpmath.workdps(40):
        exact = mpmath.atan2(mpmath.mpf(float(y)), mpmath.mpf(float(x)))
        return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(spacing(abs(float(exact))))))


def test_arctangent_is_good_to_two_ulps():
    p = points(np.random.default_rng(3), 1600)
    found = angle(p[:, :1], p[:, 1:])[:, 0]
    assert max(ulps_off(f, y, x, np.spacing) for f, (y, x) in zip(found, p, strict=True)) < 2.0
    assert [angle(y, x)[0] for y, x in p[:20, :, None]] == found[:20].tolist()


def test_arctangent_in_single_precision():
    p = points(np.random.default_rng(4), 320).astype(np.float32)
    found = rough_angle(p[:, :1], p[:, 1:])[:, 0]
    assert found.dtype == np.float32
    worst = max(ulps_off(f, y, x, lambda e: np.spacing(np.float32(e))) for f, (y, x) in zip(found, p, strict=True))
    assert worst < 0.6


def test_arctangent_of_special_values():
    values = [0.0, -0.0, 1.0, -1.0, 3.0, math.inf, -math.inf, math.nan, 5e-324, -1e-320, 1e308, 1.7976931348623157e308]
    p = np.array([(y, x) for y in values for x in values])
    found = angle(p[:, :1], p[:, 1:])[:, 0]
    assert np.array_equal(found, [angle(y, x)[0] for y, x in p[:, :, None]], equal_nan=True)
    for (y, x), got in zip(p, found, strict=True):
        expected = math.atan2(y, x)
        if math.isnan(expected):
            assert math.isnan(got), (y, x)
        else:
            assert abs(got - expected) <= 2 * math.ulp(expected), (y, x)
            assert np.signbit(got) == (math.copysign(1.0, expected) < 0), (y, x)


# ---------------------------------------------------------------- every node kind, vector and scalar


def everything(x, y):
    a, b, c = x
    d, e = y
    small = functions.where(a < b, a * d - c, functions.sqrt(abs(b) + 1.0) / (e * e + 0.5))
    return [[a + b * c, -a - b, small], [abs(d) * 3.0, functions.sin(a * e), functions.cos(a * e) - 1.5]]


def everything_numpy(x, y):
    a, b, c = np.moveaxis(x, -1, 0)
    d, e = np.moveaxis(y, -1, 0)
    small = np.where(a < b, a * d - c, np.sqrt(np.abs(b) + 1.0) / (e * e + 0.5))
    rows = [[a + b * c, -a - b, small], [np.abs(d) * 3.0, np.sin(a * e), np.cos(a * e) - 1.5]]
    return np.moveaxis(np.array([[np.broadcast_to(z, a.shape) for z in row] for row in rows]), (0, 1), (-2, -1))


full = kernel(everything, 3, 2)


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_batches_of_any_length_agree_with_numpy_and_with_single_states(n, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-3, 3, (n, 3)), rng.uniform(-3, 3, (n, 2))
    batch = full(x, y)
    np.testing.assert_allclose(batch, everything_numpy(x, y), rtol=1e-14, atol=1e-14)
    for i in (0, n - 1):
        np.testing.assert_array_equal(full(x[i], y[i]), batch[i])


def test_layouts_broadcasting_and_out():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 7, 3)), rng.standard_normal((5, 7, 2))
    expected = everything_numpy(x, y)
    np.testing.assert_allclose(full(x, y), expected, rtol=1e-14)
    np.testing.assert_array_equal(full(np.asfortranarray(x), y[:, ::-1][:, ::-1]), full(x, y))
    wide = rng.standard_normal((35, 8))
    np.testing.assert_array_equal(full(wide[:, 2:5], y.reshape(35, 2)), full(wide[:, 2:5].copy(), y.reshape(35, 2)))
    np.testing.assert_array_equal(full(x[2, 3], y), full(np.broadcast_to(x[2, 3], x.shape).copy(), y))
    out = np.empty((5, 7, 2, 3))
    assert full(x, y, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    strided = np.zeros((5, 7, 2, 6))[..., ::2]
    full(x, y, out=strided)
    np.testing.assert_array_equal(strided, out)
    assert full(x[:0], y[:0]).shape == (0, 7, 2, 3)


@pytest.mark.parametrize("size", [100, 383, 384, 385, 1001])
@pytest.mark.parametrize("count", [3001, 3008])
def test_large_results_are_streamed_to_the_right_places(size, count):
    k = kernel(lambda x: [x[i % 3] + float(i) for i in range(size)], 3)
    x = np.random.default_rng(size).standard_normal((count, 3))
    expected = x[:, np.arange(size) % 3] + np.arange(size)
    assert expected.nbytes > 1 << 21
    np.testing.assert_array_equal(k(x), expected)
    np.testing.assert_array_equal(k(x, threads=2), expected)
    shifted = np.zeros(count * size + 3)[3:].reshape(count, size)  # not aligned to vectors
    guard_before = shifted.base[:3].copy()
    k(x, out=shifted)
    np.testing.assert_array_equal(shifted, expected)
    np.testing.assert_array_equal(shifted.base[:3], guard_before)


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((1003, 3)), rng.standard_normal((1003, 2))
    one = full(x, y)
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(full(x, y, threads=threads), one)


def test_nan_stays_in_its_lane():
    x, y = np.ones((20, 3)), np.ones((20, 2))
    x[7, 1] = np.nan
    bad = np.isnan(full(x, y)).any(axis=(1, 2))
    assert bad.tolist() == [i == 7 for i in range(20)]


def test_nan_in_an_input_that_nothing_depends_on():
    k = kernel(lambda x: [[x[0] + 1.0, x[0] * 2.0], [3.0, x[2]]], 4)  # x[1] and x[3] are not used
    x = np.ones((21, 4))
    clean = k(x)
    x[5, 1], x[13, 3] = np.nan, np.inf
    result = k(x)
    spoilt = np.isnan(result).all(axis=(1, 2))
    assert spoilt.tolist() == [i in (5, 13) for i in range(21)]
    np.testing.assert_array_equal(result[~spoilt], clean[~spoilt])
    assert np.isnan(k(x[5])).all()
    np.testing.assert_array_equal(k(x[4]), clean[4])


def test_single_precision():
    k = kernel(everything, 3, 2, single_precision=True)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((37, 3)).astype(np.float32), rng.standard_normal((37, 2)).astype(np.float32)
    result = k(x, y)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, everything_numpy(x.astype(float), y.astype(float)), rtol=3e-5, atol=3e-6)


# ---------------------------------------------------------------- the entry point

needs_entry = pytest.mark.skipif(not available(), reason="another interpreter layout")


@needs_entry
def test_entry_point_takes_arrays_of_floats_and_leaves_the_rest_to_python():
    calls = []

    def fallback(*args, **options):
        calls.append((args, options))
        return "python"

    entry = DirectCall.make(full, fallback, "full", "doc")
    f = entry.function
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((9, 3)), rng.standard_normal((9, 2))
    assert f(x[0], y[0]) == "python"  # not switched on yet
    entry.enable_single()
    np.testing.assert_array_equal(f(x[0], y[0]), full(x[0], y[0]))
    assert f(x, y) == "python"
    entry.enable_batch()
    np.testing.assert_array_equal(f(x, y), full(x, y))
    np.testing.assert_array_equal(f(x[0], y), full(x[0], y))
    np.testing.assert_array_equal(f(x[::2], y[::2]), full(x[::2], y[::2]))
    out = np.zeros((9, 2, 3))
    before = sys.getrefcount(out)
    assert f(x, y, out=out) is out
    assert sys.getrefcount(out) == before
    np.testing.assert_array_equal(out, full(x, y))
    calls.clear()
    unusual = [
        ((x.tolist(), y), {}), ((x[0].astype(np.float16), y[0]), {}), ((x[0], y[0, :1]), {}), ((x[0],), {}),
        ((x[0], y[0], y[0]), {}), ((x[:3], y[:4]), {}), ((x[None], y), {}), ((x[:0], y[:0]), {}),
        ((x, y), {"out": out[:4]}), ((x, y), {"threads": 0}),
        ((x, y), {"out": out, "threads": 2.0}), ((x, y), {"threads": True}), ((x, y), {"threads": 10**30}),
        ((x, y), {"threads": 2, "out": out, "more": 1}), ((x, y), {"thread": 2}),
        ((x, y), {"out": None}), ((x[0], y[0]), {"out": np.zeros((3, 2))}),
    ]  # fmt: skip
    for args, options in unusual:
        assert f(*args, **options) == "python"
    assert len(calls) == len(unusual)
    assert calls[-1][1]["out"].shape == (3, 2)


def in_any_layout(a):
    """The same numbers, in single precision if these are, as they may lie in memory."""
    wide = np.repeat(a, 3, axis=-1)
    yield from (a, np.asfortranarray(a), wide[..., ::3], wide[..., ::-3][..., ::-1], a[::-1].copy()[::-1])
    yield np.asfortranarray(wide)[..., ::3]


@needs_entry
@pytest.mark.parametrize("single", [False, True])
def test_layout_and_precision_of_inputs_do_not_change_results(single):
    k = kernel(lambda x, y: [x[0] * y[1] + x[2], x[1] - y[0] * y[0]], 3, 2, single_precision=single)
    entry = DirectCall.make(k, lambda *args, **options: pytest.fail("Python was asked"), "k")
    entry.enable_single()
    entry.enable_batch()
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal((70, n)).astype(np.float32) for n in (3, 2))
    x[3, 1], y[65, 0] = np.nan, np.inf
    expected = entry.function(x, y)
    assert expected.dtype == k.dtype
    for kind in (np.float32, np.float64):
        for these in in_any_layout(x.astype(kind)):
            for those in (y, y.astype(np.float64, order="F")):
                for f in (entry.function, k):
                    np.testing.assert_array_equal(f(these, those), expected)
                    np.testing.assert_array_equal(f(these[:13], those[:13]), expected[:13])
                    np.testing.assert_array_equal(f(these[7], those), f(x[7].copy(), y))
                    np.testing.assert_array_equal(f(these[5], those[5]), f(x[5].copy(), y[5].copy()))
                    out = np.empty_like(expected)
                    np.testing.assert_array_equal(f(these, those, out=out), expected)
    split = entry.function(x.reshape(7, 5, 2, 3), y.reshape(7, 5, 2, 2))
    np.testing.assert_array_equal(split, expected.reshape(7, 5, 2, 2))
    np.testing.assert_array_equal(entry.function(x[5].tolist(), tuple(y[5].tolist())), entry.function(x[5], y[5]))


@needs_entry
def test_an_output_within_a_strided_input_is_written_after_all_is_read():
    k = kernel(reversing, 3, 1)
    entry = DirectCall.make(k, k, "reversing")
    entry.enable_single()
    entry.enable_batch()
    for memory in (np.zeros((30, 3), order="F"), np.zeros((30, 6))[:, ::2], np.zeros((30, 3))):
        memory[...] = np.random.default_rng(3).standard_normal((30, 3))
        expected = k(memory.copy(), np.ones((30, 1)))
        for at in range(0, memory.size - 90 + 1, 30):
            flat = memory.base.ravel(order="K") if memory.base is not None else memory.ravel(order="K")
            out = flat[at : at + 90].reshape(30, 3)
            np.testing.assert_array_equal(entry.function(memory.copy(order="K"), np.ones((30, 1))), expected)
            kept = memory.copy()
            np.testing.assert_array_equal(entry.function(memory, np.ones((30, 1)), out=out), expected)
            memory[...] = kept


def reversing(x, y):
    """Writes early what it reads late."""
    return [x[2] + 0.0 * y[0], x[1] * 2.0, x[0] * 3.0 + y[0]]


def test_the_output_may_be_an_input():
    k = kernel(reversing, 3, 1)
    functions_to_try = [k]
    if available():
        entry = DirectCall.make(k, k, "reversing")
        entry.enable_single()
        entry.enable_batch()
        functions_to_try.append(entry.function)
    for f in functions_to_try:
        for shape in ((), (30,)):
            rng = np.random.default_rng(0)
            x, y = rng.standard_normal((*shape, 3)), rng.standard_normal((*shape, 1))
            expected = f(x.copy(), y)
            assert f(x, y, out=x) is x
            np.testing.assert_array_equal(x, expected)
        buffer = np.random.default_rng(1).standard_normal((31, 3))
        expected = f(buffer[:-1].copy(), np.ones((30, 1)))
        f(buffer[:-1], np.ones((30, 1)), out=buffer[1:])  # shifted by one row
        np.testing.assert_array_equal(buffer[1:], expected)
        buffer = np.random.default_rng(1).standard_normal((30, 3))
        expected = f(buffer[::-1].copy(), np.ones((30, 1)))
        f(buffer[::-1], np.ones((30, 1)), out=buffer)
        np.testing.assert_array_equal(buffer, expected)


@needs_entry
def test_entry_point_asks_its_guard():
    guard = kernel(lambda x: [x[0] - 2.0], 3)
    f_kernel = kernel(lambda x, y: [x[0] + y[0]], 3, 2)
    entry = DirectCall.make(f_kernel, lambda *a, **k: "python", "f", "", guard)
    entry.enable_single()
    entry.enable_batch()
    x, y = np.ones((50, 3)), np.ones((50, 2))
    assert entry.function(x, y)[49, 0] == 2.0
    x[31, 0] = 2.5
    assert entry.function(x, y) == "python"
    assert entry.function(x[31], y[31]) == "python"
    assert entry.function(x[30], y[30])[0] == 2.0
    x[31, 0] = np.nan  # not the guard's business
    assert np.isnan(entry.function(x, y)[31, 0])


@needs_entry
def test_entry_point_in_many_threads_at_once():
    entry = DirectCall.make(full, full, "full")
    entry.enable_batch()
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((500, 3)), rng.standard_normal((500, 2))
    expected, wrong = full(x, y), []

    def work():
        for _ in range(50):
            if not np.array_equal(entry.function(x, y), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---------------------------------------------------------------- what cannot be compiled


def test_machine_key_names_the_cpu():
    assert host.host().cpu in host.host().key


def test_failed_compilation_is_reported_with_the_name():
    k = kernel(lambda x: [Node(x[0].graph, x[0].graph.node("secant", x[0].index))], 1, name="length of something")
    with pytest.raises(host.CompilationError, match=r"length of something.*'secant'"):
        k(np.array([1.0]))


def test_nonsense_never_reaches_the_code_generator():
    with pytest.raises(host.CompilationError):
        host.assemble("define void @kernel( {")
    with pytest.raises(host.CompilationError):  # well-formed, but a phi in the middle of a block
        host.assemble("define i64 @kernel() {\na:\n  fence seq_cst\n  %x = phi i64 []\n  ret i64 %x\n}")


def test_wrong_arguments_are_named():
    k = Kernel("torque", full.source, (3, 2), (2, 3), None, ("q", "v"))
    x, y = np.ones((4, 3)), np.ones((4, 2))
    with pytest.raises(TypeError, match=r"torque: v must be .*\(\.\.\., 2\), got float64 \(4, 3\)"):
        k(x, x)
    with pytest.raises(TypeError, match=r"q must be .*got list"):
        k([1.0, 2.0, 3.0], y)
    with pytest.raises(TypeError, match=r"q must be .*got int64"):
        k(np.ones((4, 3), dtype=int), y)
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        k(x)
    read_only = np.zeros((4, 2, 3))
    read_only.flags.writeable = False
    for out, found in (
        (np.zeros((3, 2, 3)), r"float64 \(3, 2, 3\)"), (np.zeros((4, 6)), r"float64 \(4, 6\)"), ([0.0], "list"),
        (np.zeros((4, 2, 3), int), "int64"), (read_only, "read-only"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"torque: out must be .*\(4, 2, 3\), got .*{found}"):
            k(x, y, out=out)
    with pytest.raises(TypeError, match=r"torque: out must be .*\(2, 3\), got float64 \(4, 2, 3\)"):
        k(x[0], y[0], out=np.zeros((4, 2, 3)))


CROWDED = """
import ctypes
from kinetree.engine.llvm import host as machine

PAGE, MUCH, NOTHING_RESERVED = 4096, 6 << 30, 0x4022
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def take(size):
    return libc.mmap(None, size, 0, NOTHING_RESERVED, -1, 0)


text = '''
@table = private constant [2 x double] [double 3.0, double 5.0]
define double @kernel(i64 %i) {
  %place = getelementptr [2 x double], ptr @table, i64 0, i64 %i
  %x = load double, ptr %place
  ret double %x
}
'''
code = machine.assemble(text)
machine.load(code)
wall = take(MUCH)
for size in (1 << 30, 1 << 20, PAGE):
    while take(size) > wall:
        pass
libc.munmap(wall + MUCH - 2 * PAGE, PAGE)
addresses, library = machine.load(code)
kernel = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_long)(addresses["kernel"])
assert kernel(0) == 3.0 and kernel(1) == 5.0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the trick needs Linux's way of finding room")
def test_code_and_its_constants_stay_together_where_memory_is_crowded():
    """One page is left above gigabytes of other things: code there could not reach constants below."""
    subprocess.run([sys.executable, "-c", CROWDED], check=True)


def test_functions_of_the_module_math_are_refused_with_what_to_use():
    with pytest.raises(TypeError, match=r"not known yet: use kinetree's sin\(\), cos\(\).*instead of math's"):
        trace(lambda x: [math.sin(x[0])], [1], list)
    with pytest.raises(TypeError, match=r"use kinetree's where\(\) instead of if"):
        trace(lambda x: [x[0] if x[0] > 0 else 0.0], [1], list)


# ---------------------------------------------------------------- tables that code looks up


@pytest.mark.parametrize("single_precision", [False, True])
def test_rows_are_looked_up_lane_by_lane_and_never_outside_the_table(single_precision):
    rng = np.random.default_rng(5)
    tables = [rng.normal(size=(300, 3)).astype(np.float32).astype(float), rng.normal(size=(1, 1)).astype(np.float32)]

    def law(x):
        return [functions.gather(tables[0], k, x[0]) for k in (2, 0)] + [functions.gather(tables[1], 0, x[1]) + x[1]]

    traced = trace(law, (2,), lambda v: v)
    made = Kernel(
        "rows", lambda: traced, (2,), traced.shape, None, (), single_precision, spread_nan=False,
        tables=traced.graph.tables,
    )  # fmt: skip
    x = rng.uniform(-50.0, 350.0, (37, 2)).astype(made.dtype)
    x[:6, 0] = [np.nan, np.inf, -np.inf, 299.0, 1e30, -0.0]
    row = np.clip(np.nan_to_num(x[:, 0], nan=0.0), 0, 299).astype(int)
    lost = np.isnan(x[:, 0])
    want = np.stack([*(np.where(lost, np.nan, tables[0][row, k]) for k in (2, 0)), tables[1][0, 0] + x[:, 1]], axis=-1)
    np.testing.assert_array_equal(made(x), want.astype(made.dtype))
    np.testing.assert_array_equal([made(one) for one in x[:8]], want[:8].astype(made.dtype))
    judged = [evaluate(traced.graph, traced.outputs, one, made.dtype) for one in x]
    np.testing.assert_array_equal(judged, want.astype(made.dtype))


def test_a_row_that_is_looked_up_has_no_slope_and_is_one_node():
    g = Graph()
    (x,) = inputs(g, 1)
    table = np.arange(6.0).reshape(3, 2)
    found = functions.gather(table, 1, x)
    assert found.index == functions.gather(table, 1, x).index
    assert "table0[%0, 1]" in g.describe([found.index])
    (slope,) = jacobian(g, [(found * x).index], [x.index], "reverse")[0]
    assert slope == found.index
    with pytest.raises(AssertionError, match="without its tables"):
        kernel(lambda v: [functions.gather(table, 0, v[0])], 1)(np.zeros((9, 1)))

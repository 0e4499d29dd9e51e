"""Exponentials in machine code beside NumPy's, over all sizes of numbers; conditions; what is no number."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.evaluation.law_kernels import LawProgram
from kinetree.spatial.dual import Dual


def compiled(function, count=1):
    program = LawProgram("x", lambda x: function(*x), {"x": count}, compiled=True)
    return lambda x: program({"x": x})


def test_exponentials_are_those_of_numpy():
    kernel = compiled(lambda x: [kt.exp(x), kt.log(x), kt.tanh(x)])
    rng = np.random.default_rng(1)
    spread = rng.choice([-1.0, 1.0], 4000) * 10.0 ** rng.uniform(-300, 300, 4000)
    x = np.concatenate([rng.uniform(-760, 720, 4000), rng.uniform(-3, 3, 4000), spread, [5e-324, 1e-310]])
    special = np.array([0.0, np.inf, -np.inf, np.nan, -1.0])
    with np.errstate(all="ignore"):
        for numbers in (x, special):
            ours = kernel(numbers[:, None])
            for column, function in zip(ours.T, (np.exp, np.log, np.tanh), strict=True):
                wanted = function(numbers)
                assert np.array_equal(np.isfinite(column), np.isfinite(wanted)), function
                assert np.array_equal(column[~np.isfinite(wanted)], wanted[~np.isfinite(wanted)], equal_nan=True)
                normal = np.isfinite(wanted) & (np.abs(wanted) > 1e-307)
                assert np.allclose(column[normal], wanted[normal], rtol=2e-15, atol=0.0), function
    for function, slope in ((kt.exp, np.exp(0.7)), (kt.log, 1 / 0.7), (kt.tanh, 1 - np.tanh(0.7) ** 2)):
        assert function(Dual(0.7, 1.0)).rate == pytest.approx(slope, rel=1e-15)


def test_conditions_are_joined_as_in_numpy():
    def law(a, b):
        both, one = kt.logical_and(a > 0.0, b > 0.0), kt.logical_or(a > 0.0, b > 0.0)
        none = kt.logical_not(one)
        joined = [(a > 0.0) & (b > 0.0), (a > 0.0) | (b > 0.0)]
        chosen = [kt.where(c, 1.0, 0.0) for c in (both, one, none, *joined)]
        return [*chosen, kt.minimum(a, b), kt.maximum(a, b)]

    kernel = compiled(law, 2)
    for a in (-1.0, 2.0):
        for b in (-3.0, 4.0):
            here = [float(x) for x in law(a, b)]
            assert here[:3] == [float(a > 0 and b > 0), float(a > 0 or b > 0), float(not (a > 0 or b > 0))]
            assert here[5:] == [min(a, b), max(a, b)]
            assert kernel(np.array([[a, b]]))[0].tolist() == here


def test_numpys_functions_of_single_numbers_are_compiled():
    def law(a, b):
        chosen = [kt.where(c, 1.0, 0.0) for c in (a <= b, a >= b, a <= 1.0, a <= 1.0, np.float64(1.0) <= a)]
        return [
            *chosen, np.clip(a, -0.5, b), kt.clip(a, -0.5, b), np.sign(a), kt.sign(a), np.maximum(a, b),
            np.minimum(2.0, a), np.where(a > b, a, 3.0), np.hypot(a, b), np.square(a),
            np.where(np.logical_and(a > 0.0, b > 0.0), 1.0, a),
        ]  # fmt: skip

    numbers = [-2.0, -0.5, 0.0, 1.0, 1.5, np.inf, np.nan]
    states = np.array([(a, b) for a in numbers for b in numbers if not (a == b == np.inf)])
    wanted = np.array([[float(x) for x in law(*row)] for row in states])
    nan = np.isnan(states).any(axis=1)
    found = compiled(law, 2)(states)
    assert np.array_equal(found[:, :5], wanted[:, :5])  # comparisons with NaN are false, as NumPy's
    assert np.allclose(found[~nan], wanted[~nan], rtol=1e-15)
    assert np.isnan(found[np.isnan(states[:, 0])][:, 5:9]).all()  # and a bounded NaN, or its sign, is one
    assert np.array_equal(found[:, 9:11], wanted[:, 9:11], equal_nan=True)  # the larger of NaN and a number is NaN
    assert compiled(lambda a: [np.log(a)], 1)(np.array([[-0.0]]))[0, 0] == -np.inf


def test_what_cannot_be_traced_says_what_to_write():
    for law, said in (
        (lambda a: [np.floor(a)], "np.floor has no machine code: of a traced value there are .*sign.* and np.clip"),
        (lambda a: [a % 1.0], "rounds or takes remainders"),
        (lambda a: [a // 1.0], "rounds or takes remainders"),
        (lambda a: [np.mod(a, 2 * np.pi)], r"arctan2\(sin\(x\), cos\(x\)\) brings an angle back into one turn"),
        (lambda a: [min(a, 1.0)], r"minimum\(\), maximum\(\), clip\(\) and sign\(\) instead of min\(\)"),
        (lambda a: [kt.where((a > 0.0) and (a < 1.0), 1.0, 0.0)], r"& and \| instead of and and or"),
        (lambda a: list(np.clip(np.array([a]), -1.0, 1.0)), r"clip\(\).* instead of .*NumPy's on arrays"),
        (lambda a: kt.load("kuka-kr5").gravity_force([a] * 6), r"add a controller such as GravityCompensation\(\)"),
    ):
        with pytest.raises((TypeError, kt.ShapeError), match=said):
            compiled(law)(np.zeros((1, 1)))


def test_conditions_on_the_time_of_a_trajectory_are_joined():
    def formula(t):
        return [kt.where((t >= 1.0) & ~(t > 2.0) | (t > 5.0), t * t, kt.clip(t, 0.0, 9.0))]

    q, v, a = kt.trajectories.Function(formula)(np.array([0.5, 1.0, 1.5, 2.0, 3.0, 6.0]))
    wanted = [[0.5, 1, 2.25, 4, 3, 36], [1, 2, 3, 4, 1, 12], [0, 2, 2, 2, 0, 2]]
    assert np.allclose(np.stack([q, v, a])[..., 0], wanted)


def test_comparisons_and_lists_are_not_taken_for_numbers():
    made = kt.Builder("cart", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=2.0).build()
    cart = kt.Robot(made.model, backend="compiled")
    for law, said in (
        (lambda t, q, v: [(q[0] > 0.0) * 3.0], "a comparison is not a number"),
        (lambda t, q, v: [q[0] > 0.0], "comparison"),
        (lambda t, q, v: [kt.where(q[0], 1.0, 0.0)], "chooses by a comparison"),
        (lambda t, q, v: -0.1 * v, r"write \[-0.1 \* x for x in v\]"),
    ):
        for options in ({"controller": kt.control.Law(law)}, {"forces": law}):
            with pytest.raises(kt.KinetreeError, match=said):
                kt.simulate(cart, [0.1], time=0.1, **options)

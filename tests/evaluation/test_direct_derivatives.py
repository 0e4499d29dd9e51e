"""Derivatives straight from machine code: all kinds of batches, outputs, complaints and copies."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state

DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


def walker():
    """Seven velocities on a floating base, so that rows have 147 numbers; friction in the leg."""
    builder = kt.Builder("walker")
    builder.body("trunk", "base", kt.Free(), mass=3.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    builder.body(
        "leg", "trunk", kt.Revolute("y"), position=(0.1, 0.2, 0), mass=0.5, com=(0, 0.1, -0.2), inertia=(0.02,) * 3,
        damping=0.3, friction=0.2,
    )  # fmt: skip
    return builder.build().with_backend("compiled")


def prepared(method):
    """A robot whose derivatives no longer go through Python, its reference, and a batch."""
    robot = walker()
    state = random_state(robot, np.random.default_rng(2), 140)
    getattr(robot, method)(*state)
    getattr(robot, method)(*(x[0] for x in state))
    assert (method, (), ()) in robot.evaluator.entry_points
    return getattr(robot, method), getattr(robot.with_backend("reference"), method), state


def message(call, *arguments, **options):
    with pytest.raises(kt.KinetreeError) as caught:
        call(*arguments, **options)
    return f"{type(caught.value).__name__}: {caught.value}"


def assert_three(found, expected, tolerance=1e-11):
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, tolerance)


@pytest.mark.parametrize("method", DERIVATIVES)
def test_direct_derivatives_of_all_kinds_of_batches(method):
    direct, reference, (q, v, a) = prepared(method)
    expected = reference(q, v, a)
    whole = direct(q, v, a)
    assert_three(whole, expected)
    for count in (1, 8, 9, 63, 64, 65, 128, 140):
        for threads in (1, 2, 3):
            part = direct(q[:count], v[:count], a[:count], threads=threads)
            assert_three(part, [w[:count] for w in whole], 0.0)
    assert_three(direct(q[5], v[5], a[5]), [w[5] for w in whole], 0.0)
    assert_three(direct(q[5], v, a), reference(q[5], v, a))
    assert_three(direct(q[:1], v, a[3]), reference(q[:1], v, a[3]))
    assert_three(direct(q[:, None], v[:3], a[:3]), reference(q[:, None], v[:3], a[:3]))
    assert_three(direct(q[::-1], np.asfortranarray(v[::-1]), a[::-1].tolist()), [w[::-1] for w in whole], 0.0)
    assert [w.shape for w in direct(q[:0], v[:0], a[:0])] == [(0, 7, 7)] * 3


@pytest.mark.parametrize("method", DERIVATIVES)
def test_direct_derivatives_into_all_kinds_of_outputs(method):
    direct, _, (q, v, a) = prepared(method)
    whole = np.stack(direct(q, v, a), axis=1)
    memory = np.zeros(whole.nbytes + 64, dtype=np.uint8)
    outputs = [np.frombuffer(memory.data, float, whole.size, k).reshape(whole.shape) for k in (0, 1, 4, 8, 24, 60)]
    outputs += [np.zeros((280, 3, 7, 7))[::2], np.zeros(whole.shape, order="F"), np.zeros(whole.shape, ">f8")]
    for out in outputs:
        for part in (slice(0, 70), slice(0, 140)):
            out[...] = 0.0
            three = direct(q[part], v[part], a[part], out=out[part])
            assert all(np.shares_memory(matrix, out) for matrix in three)
            assert_close(out[part], whole[part], 0.0)
            assert not out[part.stop :].any()
    narrow = np.zeros(whole.shape, np.float32)
    direct(q, v, a, out=narrow)
    assert_close(narrow, whole.astype(np.float32), 0.0)
    flat = np.zeros(whole.size)
    for shift in (0, 3, flat.size - v.size):  # the output lies over an input
        over = flat[shift : shift + v.size].reshape(v.shape)
        over[...] = v
        direct(q, over, a, out=flat.reshape(whole.shape))
        assert_close(flat.reshape(whole.shape), whole, 0.0)


@pytest.mark.parametrize("method", DERIVATIVES)
def test_direct_derivatives_complain_as_the_first_call_does(method):
    direct, _, (q, v, a) = prepared(method)
    read_only = np.zeros((140, 3, 7, 7))
    read_only.flags.writeable = False
    off = q.copy()
    off[100, :4] *= 1.01
    beside_nan = off.copy()
    beside_nan[3, 0] = np.nan
    wrong = [
        ((q[:, :-1], v, a), {}), ((q, v[:, :-1], a), {}), ((q, v, a[:, :-1]), {}), ((q[:3], v[:4], a[:4]), {}),
        ((q, v, "x"), {}), ((q[0], v[0], a[0, :3]), {}), ((off, v, a), {}), ((off, v, a), {"threads": 2}),
        ((off[100], v[100], a[100]), {}), ((off[100], v, a), {}), ((beside_nan, v, a), {}),
        ((off, v, a), {"out": np.zeros((140, 3, 7, 7))}),
        *(((q, v, a), {"threads": t}) for t in (0, -1, 1.5, True, "2")),
        *(((q, v, a), {"out": o}) for o in (np.zeros((140, 3, 7, 6)), np.zeros((139, 3, 7, 7)), read_only, [1])),
        ((q, v, a), {"out": np.zeros((140, 3, 7, 7), int)}), ((q[0], v[0], a[0]), {"out": np.zeros((1, 3, 7, 7))}),
    ]  # fmt: skip
    for arguments, options in wrong:
        assert message(direct, *arguments, **options) == message(getattr(walker(), method), *arguments, **options)
    assert "batch index 100" in message(direct, off, v, a)


@pytest.mark.parametrize("method", DERIVATIVES)
def test_options_and_other_numbers_after_direct_derivatives(method):
    direct, reference, (q, v, a) = prepared(method)
    whole = direct(q, v, a)
    for loads in ({"leg": np.ones((140, 6))}, {"leg": kt.Wrench(force=(1, 2, 3))}, np.ones((2, 6)), {}):
        assert_three(direct(q, v, a, loads), reference(q, v, a, loads))
    assert_three(direct(q, v, a, friction=True), reference(q, v, a, friction=True))
    assert_three(direct(q + 0j, v, a), whole, 1e-11)
    assert_three(direct(q, v, a), whole, 0.0)
    for array, column in ((0, 7), (0, 2), (0, 5), (1, 6), (2, 0)):  # nothing depends on the position, 5
        state = [q.copy(), v.copy(), a.copy()]
        state[array][77, column] = np.nan
        found = direct(*state)
        assert_three([np.delete(f, 77, axis=0) for f in found], [np.delete(w, 77, axis=0) for w in whole], 0.0)
        assert any(np.isnan(f[77]).any() for f in found)
        assert (array, column) != (0, 5) or all(np.isnan(f[77]).all() for f in found)
        for alone, f in zip(direct(*(s[77] for s in state)), found, strict=True):
            np.testing.assert_array_equal(alone, f[77])


@pytest.mark.parametrize("method", DERIVATIVES)
def test_copies_and_subclasses_after_direct_derivatives(method):
    direct, _, (q, v, a) = prepared(method)
    whole = direct(q, v, a)
    robot = direct.__self__
    for other in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert not other.evaluator.entry_points
        assert_three(getattr(other, method)(q, v, a), whole, 0.0)

    class Asked(kt.Robot):
        calls = 0

        def inverse_dynamics_derivatives(self, *arguments, **options):
            self.calls += 1
            return super().inverse_dynamics_derivatives(*arguments, **options)

    asked = Asked(robot.model, backend="compiled")
    for _ in range(3):
        assert_three(getattr(asked, method)(q, v, a), whole, 0.0)
    assert asked.calls == (3 if method == "inverse_dynamics_derivatives" else 0)


def test_one_robot_in_many_threads_from_its_first_call_on():
    _, reference, state = prepared("inverse_dynamics_derivatives")
    expected, robot, problems = reference(*state), walker(), []

    def work(threads):
        try:
            for count in (1, 31, 33, 64, 140) * 4:
                part = (x[:count] for x in state)
                assert_three(robot.inverse_dynamics_derivatives(*part, threads=threads), [e[:count] for e in expected])
        except Exception as problem:
            problems.append(problem)

    workers = [threading.Thread(target=work, args=(1 + k % 3,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems


def test_robots_that_went_direct_are_forgotten_when_nobody_needs_them():
    robot = walker()
    state = random_state(robot, np.random.default_rng(2), 40)
    robot.inverse_dynamics_derivatives(*state)
    robot.inverse_dynamics(*state)
    gone = weakref.ref(robot)
    del robot
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("method", DERIVATIVES)
def test_three_matrices_that_a_call_returned_are_an_output(method):
    derive, _, (q, v, a) = prepared(method)
    q, v, a = q[:20], v[:20], a[:20]
    expected = [matrix.copy() for matrix in derive(q, v, a)]
    returned = derive(q[::-1], v, a)
    place = returned[0].__array_interface__["data"]
    again = derive(q, v, a, out=returned)
    assert again[0].__array_interface__["data"] == place  # nothing is copied
    apart = [np.empty((20, 7, 7), kind) for kind in (np.float64, np.float32, np.float64)]
    assert all(x is y for x, y in zip(derive(q, v, a, out=apart), apart, strict=True))
    turned = derive(q, v, a, out=[np.empty((7, 7, 20)).T for _ in range(3)])
    for found, tolerance in ((again, 0.0), (turned, 0.0), (apart, 1e-6)):
        for matrix, judge in zip(found, expected, strict=True):
            np.testing.assert_allclose(matrix, judge, rtol=tolerance, atol=tolerance * 10)
    swapped = (returned[1], returned[0], returned[2])
    for matrix, judge in zip(derive(q, v, a, out=swapped), expected, strict=True):
        np.testing.assert_array_equal(matrix, judge)
    for wrong in (expected[:2], [*expected[:2], expected[2][1:]], [expected[0]] * 3, [*expected[:2], None]):
        with pytest.raises(kt.ShapeError, match="out"):
            derive(q, v, a, out=wrong)

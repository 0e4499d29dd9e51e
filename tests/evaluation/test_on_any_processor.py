"""What must hold on every processor: this file is also run on an emulated ARM by tools/on_arm64.

It needs nothing but kinetree's own dependencies, pytest, hypothesis (for conftest.py) and mpmath, and takes few
kernels: compiling is slow under emulation.
"""

import functools
import inspect
import math
import os
import threading

import mpmath
import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from kinetree.engine import cache
from kinetree.engine.graph import Node
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.engine.llvm import host
from kinetree.engine.llvm.driver import STREAMED_BYTES
from kinetree.engine.trace import trace

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code for this processor")

LENGTHS = range(1, 18)
"""Batches that fill vectors of two to sixteen numbers, and all that do not."""

MANY = 1003
"""States that several threads share."""

CALLS = {
    "inverse_dynamics": lambda r, q, v, a, **options: r.inverse_dynamics(q, v, a, **options),
    "forward_dynamics": lambda r, q, v, a, **options: r.forward_dynamics(q, v, a, **options),
    "mass_matrix": lambda r, q, v, a, **options: r.mass_matrix(q, **options),
}
DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
ROBOTS = ("gripper", "stanford-arm", "space-3-link", "chain of 120")
"""A planar tree, an arm with a slider, a floating base, and a tree so large that its code is a loop."""


@functools.cache
def robot_of(name, backend="compiled"):
    if name != "chain of 120":
        return kt.gallery.load(name).with_backend(backend)
    builder = kt.Builder(name)
    for i in range(120):
        builder.body(
            f"l{i}", f"l{i - 1}" if i else "base", kt.Revolute("xyz"[i % 3]), position=(0.1, 0, 0),
            mass_properties=kt.MassProperties.of(0.5, (0.05, 0.01, 0), (0.001, 0.002, 0.002)), rotor_inertia=0.01,
        )  # fmt: skip
    return builder.build().with_backend(backend)


def states(robot, n, seed=0):
    """Configurations away from gimbal lock, velocities, accelerations or forces."""
    return tuple(np.random.default_rng(seed).uniform(-1.0, 1.0, (3, n, robot.nv)))


def tolerance(name, robot):
    """Of a long chain the accelerations are ill-conditioned."""
    return 1e-8 if name.startswith("forward") and robot.nv > 100 else 1e-11


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def kernel(function, *lengths, key=None, single_precision=False):
    traced = trace(function, lengths, lambda v: v)
    return Kernel("test", lambda: traced, lengths, traced.shape, key, (), single_precision)


# ---------------------------------------------------------------- robots


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_every_form_agrees_with_the_reference_and_with_the_others_bit_for_bit(robot, name):
    call, robot, reference = CALLS[name], robot_of(robot), robot_of(robot, "reference")
    state = states(robot, LENGTHS[-1])
    whole = call(robot, *state)
    assert_close(whole, call(reference, *state), tolerance(name, robot))
    for n in LENGTHS:
        assert same_bits(call(robot, *(x[:n] for x in state)), whole[:n])
        moved = call(robot, *(np.roll(x, n, axis=0) for x in state))
        assert same_bits(moved, np.roll(whole, n, axis=0))
    one = call(robot, *(x[5] for x in state))
    assert same_bits(one, whole[5])
    # no more Python in between, but for loops
    assert inspect.isbuiltin(getattr(robot, name)) or robot.evaluator.compiler.rolled
    assert same_bits(call(robot, *(x[5] for x in state)), one)
    out = np.full((len(whole) + 1, *whole.shape[1:]), 7.0)
    given = out[:-1]
    assert call(robot, *state, out=given) is given
    assert same_bits(given, whole)
    assert (out[-1] == 7.0).all()
    single_out = np.empty(whole.shape[1:])
    assert call(robot, *(x[5] for x in state), out=single_out) is single_out
    assert same_bits(single_out, one)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("robot", ["stanford-arm", "chain of 120"])
def test_threads_change_no_bit(robot, name):
    call, robot = CALLS[name], robot_of(robot)
    state = states(robot, MANY if robot.nv < 100 else 40)
    alone = call(robot, *state)
    for threads in (2, 3):
        assert same_bits(call(robot, *state, threads=threads), alone)
        assert same_bits(call(robot, *state, threads=threads, out=np.empty_like(alone)), alone)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("robot", ["stanford-arm", "space-3-link", "chain of 120"])
def test_single_precision(robot, name):
    call, reference = CALLS[name], robot_of(robot, "reference")
    robot = robot_of(robot).with_precision("single")
    state = states(robot, LENGTHS[-1])
    whole = call(robot, *state)
    assert whole.dtype == np.float32
    if robot.nv < 100 or name != "forward_dynamics":  # which float32 is not enough for
        assert_close(whole, call(reference, *state), 1e-4)
    for n in LENGTHS:
        assert same_bits(call(robot, *(x[-n:] for x in state)), whole[-n:])
    assert same_bits(call(robot, *state, threads=2), whole)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    robot, reference = robot_of("stanford-arm"), robot_of("stanford-arm", "reference")
    state = states(robot, LENGTHS[-1])
    whole = getattr(robot, name)(*state)
    for found, expected in zip(whole, getattr(reference, name)(*state), strict=True):
        assert_close(found, expected, 1e-11)
    for n in LENGTHS:
        part = getattr(robot, name)(*(x[:n] for x in state), threads=1 + n % 2)
        assert all(same_bits(p, w[:n]) for p, w in zip(part, whole, strict=True))
    for one, w in zip(getattr(robot, name)(*(x[3] for x in state)), whole, strict=True):
        assert same_bits(one, w[3])


def test_the_large_tree_is_a_loop():
    robot = robot_of("chain of 120")
    robot.inverse_dynamics(*states(robot, 2))
    assert robot.evaluator.compiler.rolled
    assert any(isinstance(k, RolledKernel) for k in robot.evaluator.compiler._kernels.values())


@pytest.mark.parametrize("robot", ["stanford-arm", "chain of 120"])
@pytest.mark.parametrize("which", range(3))
def test_nan_stays_in_its_lane(robot, which):
    robot = robot_of(robot)
    state = states(robot, LENGTHS[-1])
    clean = robot.inverse_dynamics(*state)
    for k in range(0, len(clean), 4):
        bad = [x.copy() for x in state]
        bad[which][k, 1] = np.nan
        found = robot.inverse_dynamics(*bad)
        assert np.isnan(found[k]).any()
        assert same_bits(np.delete(found, k, axis=0), np.delete(clean, k, axis=0))


def test_a_short_simulation():
    name = "space-3-link"  # nothing holds it: what it begins with is kept
    v0 = np.linspace(-0.4, 0.5, robot_of(name).nv)
    records = [
        kt.simulate(robot_of(name, backend), v0=v0, time=0.5, samples=6, progress=False, friction=False)
        for backend in ("compiled", "reference")
    ]
    assert_close(records[0].q, records[1].q, 1e-9)
    assert_close(records[0].v, records[1].v, 1e-7)
    robot, (found, _) = robot_of(name), records
    momentum = robot.momentum(found.q, found.v, about="origin")
    assert_close(momentum, np.broadcast_to(momentum[0], momentum.shape), 1e-7)
    energy = robot.kinetic_energy(found.q, found.v)
    assert_close(energy, np.full_like(energy, energy[0]), 1e-7)


# ---------------------------------------------------------------- kernels


def test_sine_and_cosine_to_an_ulp():
    f = kernel(lambda x: [Node.scalar_functions.sin(x[0]), Node.scalar_functions.cos(x[0])], 1)
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.uniform(-size, size, 60) for size in (1e-300, 1e-8, 1.0, 30.0, 1e5, 1e12)]
        + [rng.integers(-(2**29), 2**29, 60) * (math.pi / 2), np.arange(-60, 60) * (math.pi / 4)]
    )
    found = f(x[:, None])
    with mpmath.workprec(200):
        exact = [(mpmath.sin(mpmath.mpf(xi)), mpmath.cos(mpmath.mpf(xi))) for xi in x]
        worst = max(map(ulps, found.ravel(), (e for pair in exact for e in pair)))
    assert worst < 1.0
    assert all(same_bits(f(x[k : k + 1]), found[k]) for k in range(0, len(x), 50))


def test_the_angle_of_a_point_to_two_ulps():
    f = kernel(lambda y, x: [Node.scalar_functions.arctan2(y[0], x[0])], 1, 1)
    rng = np.random.default_rng(2)
    seams = np.arange(16) * (math.pi / 8) + rng.choice([0.0, 1e-16, -1e-9, 1e-3], (12, 16))
    p = np.concatenate([
        rng.standard_normal((200, 2)) * 10.0 ** rng.uniform(-6, 6, (200, 2)),
        np.stack([np.sin(seams), np.cos(seams)], -1).reshape(-1, 2),
    ])  # fmt: skip
    found = f(p[:, :1], p[:, 1:])[:, 0]
    with mpmath.workprec(200):
        assert max(ulps(f, mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))) for f, (y, x) in zip(found, p, strict=True)) < 2
    special = [0.0, -0.0, 1.0, -3.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308]
    for y in special:
        for x in special:
            got, expected = f(np.array([[y]]), np.array([[x]]))[0, 0], math.atan2(y, x)
            if math.isnan(expected):
                assert math.isnan(got), (y, x)
            else:
                assert abs(got - expected) <= 2 * math.ulp(expected), (y, x)
                assert np.signbit(got) == np.signbit(expected), (y, x)


def ulps(found, exact):
    """How far a number is from the exact one, in distances between doubles."""
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(np.spacing(abs(float(exact))))))


def arithmetic(x):
    a, b, c = x
    chosen = Node.scalar_functions.where(a < b, a * b + c, Node.scalar_functions.sqrt(abs(c)) / (a * a + 1.0))
    return [a * b + c, chosen, -a, abs(b) - c]


@pytest.mark.skipif(not getattr(host.host(), "fused", True), reason="no fused multiply-add on this processor")
def test_products_and_sums_are_rounded_once():
    """What the code promises beside NumPy's own arithmetic; zero would say that the product was rounded first."""
    f = kernel(arithmetic, 3)
    a = np.float64(1.0 + 2.0**-30)
    x = np.array([[a, a, -(a * a)]] * LENGTHS[-1])
    assert set(f(x)[:, 0].tolist()) == {2.0**-60}
    assert f(x[0])[0] == 2.0**-60


def test_tiny_numbers_are_not_flushed_to_zero():
    f = kernel(lambda x: [x[0] * 0.5, x[0] + x[1]], 2)
    x = np.array([[5e-324 * 4, 5e-324]] * 5)
    assert f(x).tolist() == [[5e-324 * 2, 5e-324 * 5]] * 5
    assert f(x[0]).tolist() == [5e-324 * 2, 5e-324 * 5]


@pytest.mark.parametrize("single_precision", [False, True])
def test_lanes_and_rest_of_a_batch(single_precision):
    f = kernel(arithmetic, 3, single_precision=single_precision)
    lanes = host.host().lanes * (2 if single_precision else 1)
    assert f.lanes == lanes
    x = np.random.default_rng(3).uniform(-2, 2, (4 * lanes + 1, 3)).astype(f.dtype)
    a, b, c = x.T.astype(float)
    expected = np.stack([a * b + c, np.where(a < b, a * b + c, np.sqrt(abs(c)) / (a * a + 1)), -a, abs(b) - c], -1)
    whole = f(x)
    np.testing.assert_allclose(whole, expected, rtol=1e-5 if single_precision else 1e-14, atol=1e-6)
    for n in range(1, len(x) + 1):
        memory = np.full((n + 2, 4), 7, f.dtype)
        f(x[:n], out=memory[1:-1])
        assert same_bits(memory[1:-1], whole[:n])
        assert (memory[[0, -1]] == 7).all()


@pytest.mark.parametrize("single_precision", [False, True])
def test_results_past_the_caches(single_precision):
    size = 129
    f = kernel(lambda x: [x[k % 3] + float(k) for k in range(size)], 3, single_precision=single_precision)
    item = np.dtype(f.dtype).itemsize
    count = STREAMED_BYTES // (size * item) + 5
    x = np.random.default_rng(4).integers(-9, 9, (count, 3)).astype(f.dtype)
    expected = (x[:, np.arange(size) % 3] + np.arange(size)).astype(f.dtype)
    for threads in (1, 2):
        assert same_bits(f(x, threads=threads), expected)
        shifted = np.zeros(count * size + 3, f.dtype)[3:].reshape(count, size)  # at no multiple of a vector
        assert same_bits(f(x, out=shifted, threads=threads), expected)


def test_many_callers_at_once():
    f = kernel(arithmetic, 3)
    x = np.random.default_rng(5).uniform(-2, 2, (MANY, 3))
    expected, wrong = f(x), []

    def work():
        wrong.extend(k for k in range(50) if not same_bits(f(x, threads=1 + k % 3), expected))

    callers = [threading.Thread(target=work) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_computes_with_threads_of_its_own():
    f = kernel(arithmetic, 3)
    x = np.random.default_rng(6).uniform(-2, 2, (MANY, 3))
    expected = f(x, threads=2)
    child = os.fork()
    if not child:
        right = False
        try:
            right = same_bits(f(x, threads=2), expected) and kernel(lambda x: [x[0] * 3.0], 1)(np.ones(1))[0] == 3.0
        finally:
            os._exit(not right)
    assert os.waitpid(child, 0)[1] == 0


def test_code_is_written_to_disk_and_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "_warned", False)
    x = np.random.default_rng(7).uniform(-2, 2, (LENGTHS[-1], 3))
    first = kernel(arithmetic, 3, key="any")
    batch, one = first(x), first(x[0])
    files = sorted(tmp_path.glob("*.code"))
    assert len(files) >= 2
    assert not list(tmp_path.glob(".writing-*"))

    def refuse(text):
        raise AssertionError("made again")

    monkeypatch.setattr(host, "assemble", refuse)
    again = kernel(arithmetic, 3, key="any")
    assert same_bits(again(x), batch)
    assert same_bits(again(x[0]), one)
    assert sorted(tmp_path.glob("*.code")) == files

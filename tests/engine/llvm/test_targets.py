"""What code is made for, by name."""

import ctypes
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.graph import Node
from kinetree.engine.kernels import kernel as engine
from kinetree.engine.kernels.direct_call import DirectCall, available
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import host, sines_of_inputs, split_kernels
from kinetree.engine.trace import trace
from kinetree.evaluation import law_kernels

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")
RUN_HERE = host.targets()


def test_the_processor_at_hand_runs_what_it_lists():
    assert RUN_HERE[0] == "native"
    assert len(RUN_HERE) >= 2
    for name in RUN_HERE:
        made_for = host.target(name)
        assert made_for.supported
        code = host.assemble("define i64 @kernel() { ret i64 7 }", made_for)
        addresses, library = host.load(code)
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(addresses["kernel"])() == 7
        del library
    assert len({host.target(name).key for name in RUN_HERE[1:]}) == len(RUN_HERE) - 1


def test_names_are_read_kindly(monkeypatch):
    monkeypatch.setenv("KINETREE_CPU", f" {RUN_HERE[1].upper()} ")
    assert host.host() == host.target(RUN_HERE[1])
    assert host.target("native") != host.target(RUN_HERE[1])
    monkeypatch.delenv("KINETREE_CPU")
    assert host.host() == host.target("native")


@pytest.mark.parametrize("name", ["cray-1", "neoverse-n1", "x86-64-v3"])
def test_what_does_not_run_here_is_refused_with_what_does(monkeypatch, name):
    monkeypatch.delenv("KINETREE_CPU", raising=False)
    monkeypatch.setattr(host, "_features", lambda: frozenset())
    monkeypatch.setattr(host, "architecture", lambda: "x86-64")
    with pytest.raises(host.UnknownTarget, match=r"can be made for native, x86-64$"):
        host._target.__wrapped__(name)
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    host._target.cache_clear()
    try:
        with pytest.raises(kt.OptionError, match=r"the processor to make code for: .*native, x86-64"):
            robot.with_backend("compiled", cpu=name)
        monkeypatch.setenv("KINETREE_CPU", name)
        with pytest.raises(kt.OptionError, match="KINETREE_CPU in the environment"):
            kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    finally:
        host._target.cache_clear()


@pytest.mark.parametrize("name", RUN_HERE)
def test_a_robot_is_made_for_its_processor_with_all_that_belongs_to_it(name, monkeypatch):
    robot = kt.gallery.load("gripper").with_backend("compiled", cpu=name)
    assert robot.cpu == name
    assert robot.with_precision("single").cpu == robot.with_gravity((0, 0, -1)).cpu == name
    made_for = host.target(name)
    assert robot.evaluator.compiler.kernel("mass_matrix").target == made_for
    monkeypatch.setattr(law_kernels, "_MADE", {})
    record = kt.simulate(robot, time=0.02, integrator="rk4", step=1e-3, samples=3, progress=False)
    assert {kernel.target for kernel in law_kernels._MADE.values()} == {made_for}
    reference = kt.simulate(
        robot.with_backend("reference"), time=0.02, integrator="rk4", step=1e-3, samples=3, progress=False
    )
    np.testing.assert_allclose(record.q, reference.q, rtol=0, atol=1e-13)
    four_bar = kt.gallery.load("four-bar").with_backend("compiled", cpu=name)
    assert four_bar.tree.cpu == four_bar.with_independent(four_bar.independent()).cpu == name


ALL_KINDS = """
import sys
import numpy as np
from kinetree.engine.graph import Node
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
f = Node.scalar_functions

def law(x, y):
    out = []
    for k in range(40):
        a, b = x[k % 5], y[k % 3]
        c = f.sin(a + 0.1 * k) * b - f.cos(b - 0.2 * k) / (a * a + 2.0)
        c = c + f.sqrt(abs(c) + 0.5) + f.arctan2(a, b)
        out += [c, -c, f.where(a < b, c, a * b), a, 1.5, c]
    return out

def judge(x, y):
    out = []
    for k in range(40):
        a, b = x[:, k % 5], y[:, k % 3]
        c = np.sin(a + 0.1 * k) * b - np.cos(b - 0.2 * k) / (a * a + 2.0)
        c = c + np.sqrt(abs(c) + 0.5) + np.arctan2(a, b)
        out += [c, -c, np.where(a < b, c, a * b), a, np.full_like(a, 1.5), c]
    return np.stack(out, axis=-1)

rng = np.random.default_rng(0)
x, y = rng.uniform(-2.0, 2.0, (301, 5)), rng.uniform(-2.0, 2.0, (301, 3))
for single in (False, True):
    kernel = Kernel("law", lambda: trace(law, (5, 3), list), (5, 3), (240,), single_precision=single)
    found = kernel(x, y)
    np.testing.assert_allclose(found, judge(x, y), rtol=3e-4 if single else 1e-12, atol=1e-5 if single else 1e-13)
    for k in (0, 7, 300):
        assert (kernel(x[k], y[k]) == found[k]).all()
    for count in range(1, 40):
        assert (kernel(x[:count], y[:count], threads=1 + count % 2) == found[:count]).all()
"""


@pytest.mark.parametrize("name", RUN_HERE)
def test_every_kind_of_operation_on_every_target(name):
    environment = {**os.environ, "KINETREE_CPU": name, "KINETREE_CACHE": "off"}
    subprocess.run([sys.executable, "-c", ALL_KINDS], check=True, env=environment)


@pytest.mark.parametrize("name", RUN_HERE)
def test_a_guard_leaves_the_inputs_of_its_kernel_alone(name):
    """It runs in the work area of the kernel that it guards, and needs room for values of its own."""
    robot = kt.Builder("balls")
    for k in range(6):
        robot.body(
            f"b{k}", f"b{k - 1}" if k else "base", kt.Spherical(), position=(0.1, 0, 0), mass=1.0, com=(0.1, 0, 0)
        )
    robot = robot.build().with_backend("compiled", cpu=name)
    guard = robot.evaluator.compiler.guard
    assert guard.is_guard
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, 50)
    v, a = rng.standard_normal((2, 50, robot.nv))
    expected = robot.with_backend("reference").inverse_dynamics(q, v, a)
    for _ in range(2):  # through Python, then straight
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), expected, rtol=1e-11, atol=1e-11)
    q[17, 4:8] *= 1.1
    with pytest.raises(kt.StateError, match="17"):
        robot.inverse_dynamics(q, v, a)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("single_precision", [False, True])
@pytest.mark.parametrize("length", [17, 64])
def test_lines_of_any_number_of_lanes(monkeypatch, lanes, single_precision, length):
    """LLVM makes vectors longer than registers of several, so that every width can be tried on any processor."""
    if lanes * (4 if single_precision else 8) > 64:
        pytest.skip("longer than a line")
    usual = host.Machine.vectors
    monkeypatch.setattr(host.Machine, "vectors", lambda self, single=False: replace(usual(self, single), lanes=lanes))
    monkeypatch.setattr(engine, "batch_loop", engine.batch_loop.__wrapped__)  # made anew, for this width
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0)

    def function(x):
        return [x[k % 3] * (k + 1.0) if k % 5 else 0.0 for k in range(length)]

    kernel = Kernel(
        "k", lambda: trace(function, (3,), list), (3,), (length,), single_precision=single_precision,
        target=host.host(),
    )  # fmt: skip
    x = np.random.default_rng(length).standard_normal((203, 3)).astype(kernel.dtype)
    expected = np.stack([x[:, k % 3] * kernel.dtype(k + 1.0) if k % 5 else 0.0 * x[:, 0] for k in range(length)], -1)
    item = np.dtype(kernel.dtype).itemsize
    for offset in range(0, 64, item):
        area = np.full(203 * length * item + 192, 0x5A, dtype=np.uint8)
        start = 64 - area.ctypes.data % 64 + offset
        out = np.frombuffer(area.data, kernel.dtype, 203 * length, start).reshape(203, length)
        kernel(x, out=out)
        np.testing.assert_array_equal(out, expected)
        assert (area[:start] == 0x5A).all()
        assert (area[start + out.nbytes :] == 0x5A).all()


@pytest.mark.skipif("x86-64" not in RUN_HERE, reason="only where vectors and registers are few")
@pytest.mark.parametrize("single_precision", [False, True])
def test_several_tiles_at_once(monkeypatch, single_precision):
    """Pieces of long code run over some tiles each; that shows in no bit, whatever is left over for the last call."""
    functions = Node.scalar_functions

    def law(x, y, unused):
        turned = [functions.sin(a) * y[0] - functions.cos(a) for a in x]
        mixed = [a * b + y[k % 2] for k, (a, b) in enumerate(zip(turned, reversed(turned), strict=True))]
        sums = [a - 0.5 * mixed[(7 * k) % 9] for k, a in enumerate(turned)]
        return [*mixed, functions.sin(x[3]), *sums, 1.5, x[2], *mixed[::2]]

    def make():
        traced = trace(law, (9, 2, 3), list)
        return Kernel(
            "law", lambda: traced, (9, 2, 3), traced.shape, single_precision=single_precision,
            target=host.target("x86-64"),
        )  # fmt: skip

    one_by_one = make()
    assert one_by_one.tiles == 1
    monkeypatch.setattr(split_kernels, "LONGEST_DECODED", 0)
    monkeypatch.setattr(split_kernels, "MOST_TILES", 5)
    for name in ("SHORTEST_PIECE", "LONGEST_PIECE"):
        monkeypatch.setattr(split_kernels, name, 17)
    kernel = make()
    assert kernel.tiles == 5
    rng = np.random.default_rng(3)
    x, y, z = (rng.uniform(-3.0, 3.0, (150, n)).astype(kernel.dtype) for n in (9, 2, 3))
    expected = one_by_one(x, y, z)
    for count in (*range(1, 48), 150):
        np.testing.assert_array_equal(kernel(x[:count], y[:count], z[:count]), expected[:count])
        np.testing.assert_array_equal(kernel(x[:count], y[:1], z[:count], threads=2)[:1], expected[:1])
    for state in (0, 19, 20, 149):
        keep, z[state, 1] = z[state, 1], np.nan  # nothing depends on it
        found = kernel(x, y, z)
        assert np.isnan(found[state]).all()
        np.testing.assert_array_equal(np.delete(found, state, 0), np.delete(expected, state, 0))
        z[state, 1] = keep
    monkeypatch.setattr(engine, "STREAMED_BYTES", 0)
    out = np.full((153, *kernel.shape), 7.0, kernel.dtype)
    np.testing.assert_array_equal(kernel(x, y, z, out=out[1:151]), expected)
    assert (out[[0, 151, 152]] == 7.0).all()
    if available() and not single_precision:
        limit = trace(lambda x: [x[0] - 4.0], (9,), list)
        guard = Kernel("guard", lambda: limit, (9,), (1,), spread_nan=False, target=kernel.target, is_guard=True)
        entry = DirectCall.make(kernel, lambda *_, **__: "python", "law", "", guard)
        entry.enable_batch()
        np.testing.assert_array_equal(entry.function(x, y, z), expected)
        for state in (0, 14, 149):
            keep, x[state, 0] = x[state, 0], 4.5
            assert isinstance(entry.function(x, y, z), str)
            x[state, 0] = keep


@pytest.mark.parametrize("name", RUN_HERE)
def test_angles_of_one_state_are_turned_together_with_the_same_bits(name):
    functions = Node.scalar_functions

    def law(x):
        return [y for a in x for y in (functions.sin(a), functions.cos(a))]

    x = np.random.default_rng(1).uniform(-10.0, 10.0, (40, 13))
    x[7, 5], x[9] = 1e7, x[9] * 1e5  # these take the longer reduction
    kernel = Kernel("angles", lambda: trace(law, (13,), list), (13,), (26,), target=host.target(name))
    together = sines_of_inputs.ANGLES_OF_ONE_STATE * (1 + kernel.vectors.masks)
    assert f"<{together} x double>" in kernel._assembly("single")
    whole = kernel(x)
    for k in range(40):
        np.testing.assert_array_equal(kernel(x[k]), whole[k])
    np.testing.assert_allclose(whole[:, ::2], np.sin(x), rtol=0, atol=3e-16)


@pytest.mark.parametrize("name", RUN_HERE)
def test_angles_of_one_state_wait_for_what_they_are_made_of(name):
    """The sum a - (a + b) becomes -b, whose sine was taken together with another before b was there."""
    functions = Node.scalar_functions

    def law(x):
        first, b, a = functions.sin(x[0] * x[1]), x[2] * x[3], x[1] + x[0]
        many = [x[k % 4] * (k + 2.0) for k in range(40)]  # drives b out of the registers
        more = [m * n for m, n in zip(many, reversed(many), strict=True)]
        return [first, functions.sin(a - (a + b)), b, *more]

    def few(x):
        a, b = x[1] + x[0], x[2] * x[3]
        return [functions.sin(x[0] * x[1]), functions.sin(a - (a + b)), b]

    x = np.array([0.1, 0.2, 0.3, 0.4])
    for function, size in ((law, 43), (few, 3)):
        kernel = Kernel(
            "k", lambda function=function: trace(function, (4,), list), (4,), (size,), target=host.target(name)
        )  # fmt: skip
        np.testing.assert_array_equal(kernel(x), kernel(x[None])[0])
        np.testing.assert_allclose(kernel(x)[:3], [np.sin(0.02), -np.sin(0.12), 0.12], rtol=1e-14)


@pytest.mark.parametrize("name", RUN_HERE)
def test_sines_next_to_their_zeros_at_any_distance(name):
    functions = Node.scalar_functions
    kernel = Kernel(
        "s", lambda: trace(lambda x: [functions.sin(x[0]), functions.cos(x[0])], (1,), list), (1,), (2,),
        target=host.target(name),
    )  # fmt: skip
    rng = np.random.default_rng(5)
    k = np.rint(10.0 ** rng.uniform(0.0, 14.4, 100))
    with mpmath.workprec(300):
        x = np.array([float(mpmath.mpf(float(n)) * mpmath.pi / 2) for n in k])
        for xi, pair in zip(x, kernel(x[:, None]), strict=True):
            for exact, got in zip((mpmath.sin(mpmath.mpf(xi)), mpmath.cos(mpmath.mpf(xi))), pair, strict=True):
                assert abs(mpmath.mpf(got) - exact) < mpmath.mpf(np.spacing(abs(float(exact)))), (xi, got)


@pytest.mark.parametrize("number", [3.401e38, -3.5e38, 1e39, -1e300, 3.4028235e38])
def test_numbers_that_are_too_large_for_floats_are_infinite(number):
    kernel = Kernel(
        "large", lambda: trace(lambda x: [x[0] * number, x[0] + number], (1,), list), (1,), (2,), single_precision=True
    )
    with np.errstate(over="ignore"):
        expected = np.array([np.float32(number), np.float32(number) + np.float32(1.0)])
    np.testing.assert_array_equal(kernel(np.ones((3, 1), np.float32)), np.tile(expected, (3, 1)))
    np.testing.assert_array_equal(kernel(np.ones(1, np.float32)), expected)


@pytest.mark.parametrize("wrong", [5, ["native"], b"native"])
def test_a_processor_is_a_name(wrong):
    with pytest.raises(kt.OptionError, match="name of a processor"):
        kt.gallery.load("gripper").with_backend("compiled", cpu=wrong)


def test_a_wrong_name_in_the_environment_does_not_concern_robots_with_their_own():
    program = (
        "import os, warnings, numpy as np\n"
        "import kinetree as kt\n"
        "model = kt.gallery.load('gripper').model\n"
        "os.environ['KINETREE_CPU'] = 'bogus'\n"
        "warnings.simplefilter('error')\n"
        "robot = kt.Robot(model, backend='compiled', cpu='native')\n"
        "assert robot.evaluator.compiler is not None\n"
        "robot.mass_matrix(np.zeros(robot.nq))\n"
        "robot.mass_matrix(np.zeros((70, robot.nq)), threads=2)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(host.target("native").lanes != 4, reason="not a processor with AVX2 and nothing wider")
def test_the_form_of_code_for_avx512_gives_the_same_numbers():
    """Eight lanes, masks, and kernels that send while they compute: see tools/as_on_avx512.py."""
    root = Path(__file__).resolve().parents[3]
    path = os.pathsep.join([str(root / "tools"), str(root / "tests"), *filter(None, sys.path)])
    chosen = "nan_and_infinity or second_tile or one_state_for_many or long_rows or sent_during and (9 or 56)"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "as_on_avx512", "-p", "no:xdist", "-k", chosen]
    environment = {k: v for k, v in os.environ.items() if k != "KINETREE_CPU"} | {"PYTHONPATH": path}
    done = subprocess.run(
        [*command, str(root / "tests/engine/llvm/test_streaming.py")],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "passed" in done.stdout or "[100%]" in done.stdout

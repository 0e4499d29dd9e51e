"""What an adversary found in the compiled robot: each test failed once."""

import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, floating_pair, random_state
from kinetree.engine.once import once


def state(robot, n=()):
    return random_state(robot, np.random.default_rng(1), n)


def run(program, **environment):
    """Run a program by itself; its last line is the answer. A crash or a hang fails."""
    settings = {k: v for k, v in {**os.environ, "KINETREE_BACKEND": "compiled", **environment}.items() if v is not None}
    folder = os.path.dirname(os.path.dirname(__file__))
    text = f"import sys; sys.path.insert(0, {folder!r})\n" + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text], env=settings, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1], done.stderr


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_friction_is_of_the_velocities_given_even_if_they_are_overwritten(backend):
    robot = arm().with_backend(backend)
    q, v, a = state(robot, 5)
    expected = robot.inverse_dynamics(q, v, a) + robot.friction_force(v)
    assert_close(robot.inverse_dynamics(q, v, a, friction=True, out=v), expected, 1e-15)


def test_a_subclass_keeps_its_own_methods():
    class Biased(kt.Robot):
        def inverse_dynamics(self, *args, **options):
            return super().inverse_dynamics(*args, **options) + 1.0

    robot = Biased(arm().model, backend="compiled")
    q, v, a = state(robot, 5)
    expected = arm().with_backend("reference").inverse_dynamics(q, v, a) + 1.0
    for _ in range(3):
        assert_close(robot.inverse_dynamics(q, v, a), expected, 1e-12)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("n", [(), 9])
def test_nan_elsewhere_does_not_hide_a_bad_quaternion(backend, n):
    builder = kt.Builder("two roots")
    for name, kind in (("hinge", kt.Revolute("z")), ("first", kt.Spherical()), ("second", kt.Spherical())):
        builder.body(name, "base", kind, mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    robot = builder.build().with_backend(backend)
    q = state(robot, n)[0]
    robot.gravity_force(q)
    for broken in (0, 1):  # a hinge, a quaternion
        doubtful = q.copy()
        doubtful[..., broken] = np.nan
        robot.gravity_force(doubtful)  # NaN by itself is no error
        doubtful[..., -4:] *= 2.0
        for _ in range(2):
            with pytest.raises(kt.StateError, match="second"):
                robot.gravity_force(doubtful)


def test_complex_wrenches_go_to_the_reference():
    robot = arm().with_backend("compiled")
    q, v, a = state(robot)
    load = np.array([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])
    step = robot.inverse_dynamics(q, v, a, {"tool": 1e-30j * load}).imag / 1e-30
    assert_close(step, robot.inverse_dynamics(q, v, a, {"tool": load}) - robot.inverse_dynamics(q, v, a), 1e-12)


def test_out_is_refused_by_methods_that_have_none_before_and_after_the_first_call():
    robot = arm().with_backend("compiled")
    q = np.zeros((4, 3))
    for _ in range(2):
        with pytest.raises(TypeError, match="out"):
            robot.potential_energy(q, out=np.zeros(4))
        robot.potential_energy(q)


def test_a_method_can_be_pickled_before_and_after_the_first_call():
    robot = arm().with_backend("compiled")
    q = np.ones((2, 3))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(robot.gravity_force))
        assert_close(again(q), robot.gravity_force(q), 0.0)


def test_compiling_ahead_of_time_what_needs_options_and_what_has_usual_ones():
    robot = arm().with_backend("compiled")
    with pytest.raises(kt.OptionError, match="frame"):
        robot.compile("pose")
    with pytest.raises(kt.UnknownNameError):
        robot.compile("nonsense")
    robot.compile("momentum", "mass_matrix_factors", progress=False)


def test_compiling_a_large_tree_ahead_of_time(monkeypatch):
    monkeypatch.setattr("kinetree.run.compiler.LARGEST_UNROLLED", 2)
    robot = arm().with_backend("compiled")
    monkeypatch.setattr(robot.evaluator.compiler, "trace", None)  # nothing may be unrolled
    robot.compile(progress=False)
    q, v, a = state(robot, 5)
    assert_close(robot.inverse_dynamics(q, v, a), arm().with_backend("reference").inverse_dynamics(q, v, a), 1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_in_a_forked_process():
    answer, _ = run("""
        import os, signal, time
        import numpy as np
        from helpers.robots import arm, random_state
        robot = arm()
        state = random_state(robot, np.random.default_rng(0), 5000)
        tau = robot.inverse_dynamics(*state, threads=2)
        time.sleep(0.3)  # until the threads are idle, and counted as such
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if np.array_equal(robot.inverse_dynamics(*state, threads=2), tau) else 1)
        print(os.waitpid(child, 0)[1])
    """)
    assert answer == "0"


def test_a_result_is_computed_once_however_many_threads_ask():
    waiting = threading.Barrier(4)
    made = []

    @once
    def slow(x):
        made.append(x)
        threading.Event().wait(0.05)
        return object()

    found = []

    def ask():
        waiting.wait()
        found.append(slow(1))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert made == [1]
    assert len(set(map(id, found))) == 1


def test_first_calls_from_many_threads_at_once():
    """Used to crash: what one thread loaded was unloaded when another one's was kept."""
    for _ in range(2):
        answer, _ = run("""
            import sys, threading
            import numpy as np
            from helpers.robots import floating_pair, random_state
            sys.setswitchinterval(1e-5)
            robot = floating_pair()
            state = random_state(robot, np.random.default_rng(0), 200)
            expected = robot.with_backend("reference").inverse_dynamics(*state)
            good = []
            def work():
                for k in range(40):
                    tau = robot.inverse_dynamics(*state)
                    one = robot.inverse_dynamics(*(x[k] for x in state))
                    good.append(np.allclose(tau, expected) and np.array_equal(one, tau[k]))
            threads = [threading.Thread(target=work) for _ in range(6)]
            for t in threads: t.start()
            for t in threads: t.join()
            print(len(good), all(good))
        """)
        assert answer == "240 True"


@pytest.mark.parametrize("value", ["~nobody-has-this-name/cache", None])
def test_without_a_home_there_is_no_cache_but_an_answer(value):
    program = """
        import pathlib
        def homeless(self):
            raise RuntimeError("Could not determine home directory.")
        pathlib.Path.expanduser = homeless
        pathlib.Path.home = classmethod(homeless)
        from helpers.robots import arm
        print(arm().gravity_force([0.1, 0.2, 0.3]).shape)
    """
    answer, errors = run(program, KINETREE_CACHE=value, XDG_CACHE_HOME=None)
    assert answer == "(3,)"
    assert errors.count("KINETREE_CACHE") == 1


def test_an_empty_backend_in_the_environment_means_the_default(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "")
    assert floating_pair().backend == "compiled"

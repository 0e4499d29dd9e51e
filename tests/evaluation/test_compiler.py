"""A robot's compiled code used by several threads and processes at once."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.programs import run_alone
from helpers.robots import gripper, random_state
from kinetree.algorithms.table import find
from kinetree.engine.llvm import host


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_in_a_forked_process():
    answer, _ = run_alone("""
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


def test_first_calls_from_many_threads_at_once():
    """Used to crash: what one thread loaded was unloaded when another one's was kept."""
    for _ in range(2):
        answer, _ = run_alone("""
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


OTHER_PROCESSOR = """
import sys
import numpy as np
import kinetree as kt
from kinetree.engine.llvm import host as machine
from helpers.compare import assert_close
from helpers.robots import random_state, random_tree

robot = random_tree(np.random.default_rng(4), 2, floating=True).with_backend("compiled")
reference = robot.with_backend("reference")
q, v, a = random_state(robot, np.random.default_rng(0), 70)
for name, state in (
    ("inverse_dynamics", (q, v, a)), ("forward_dynamics", (q, v, a)), ("mass_matrix", (q,)),
    ("inverse_dynamics_derivatives", (q, v, a)), ("forward_dynamics_derivatives", (q, v, a)),
):
    expected = getattr(reference, name)(*state)
    for _ in range(2):
        found = getattr(robot, name)(*state)
        assert_close(np.asarray(found), np.asarray(expected), 1e-10)
        for count in (1, 7, 8, 9, 66):
            part = getattr(robot, name)(*(x[:count] for x in state), threads=1 + count % 2)
            np.testing.assert_array_equal(np.asarray(part), np.asarray(found)[..., :count, :, :]
                                          if isinstance(found, tuple) else found[:count])
        alone = np.asarray(getattr(robot, name)(*(x[3] for x in state)))
        np.testing.assert_array_equal(alone, np.asarray(found)[:, 3] if isinstance(found, tuple) else found[3])
    narrow = np.asarray(getattr(robot.with_precision("single"), name)(*state))
    assert narrow.dtype == np.float32
    assert_close(narrow, np.asarray(expected), 2e-3)
assert robot.evaluator.compiler.kernel("mass_matrix").target.cpu == sys.argv[1]
"""


def test_nan_in_a_coordinate_that_nothing_depends_on():
    robot = gripper().with_gravity((0, 0, -9.81)).with_backend("compiled")  # gravity along the hinges: nothing to hold
    q = np.zeros((3, 4))
    q[1, 0] = np.nan
    force = robot.gravity_force(q)
    assert np.isnan(force[1]).all()
    assert not np.isnan(force[[0, 2]]).any()


@pytest.mark.parametrize("arctan2", [np.arctan2, kt.arctan2])
def test_a_users_joint_with_an_arctangent(arctan2):
    """A lid that is pushed open by a rod: its angle is that of a point which moves along a line."""

    def lid(x):
        angle = arctan2(x, -0.3)
        c, s = kt.cos(angle), kt.sin(angle)
        return ((c, -s, 0), (s, c, 0), (0, 0, 1)), (0, 0, 0)

    builder = kt.Builder().body(
        "lid", "base", kt.Custom(1, lid, coordinate_kinds=("m",)), mass=2.0, com=(0.4, 0.1, 0), inertia=(0.1, 0.2, 0.3)
    )
    robot = builder.build()
    q, v, a = random_state(robot, np.random.default_rng(5), 11)
    state = {"q": q, "v": v, "a": a, "tau": a}
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix"):
        given = [state[x] for x in find(name).inputs]
        expected = getattr(robot.with_backend("reference"), name)(*given)
        assert_close(getattr(robot.with_backend("compiled"), name)(*given), expected, 1e-11)
    moment = 0.3 + 2.0 * (0.4**2 + 0.1**2)
    x = np.array([0.5])
    rate = 0.3 / (0.3**2 + 0.5**2)  # of the angle by x, up to its sign
    assert_close(robot.with_backend("compiled").mass_matrix(x), [[moment * rate**2]], 1e-14)


@pytest.mark.skipif(not host.host().supported, reason="no machine code here")
@pytest.mark.parametrize("name", host.targets()[1:])
def test_code_for_other_processors(tmp_path, name):
    """What older processors would run, as far as ours can stand in for them: shorter vectors, nothing fused."""
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "KINETREE_BACKEND": "compiled", "KINETREE_CACHE": str(tmp_path), "PYTHONPATH": path}
    environment["KINETREE_CPU"] = name
    subprocess.run([sys.executable, "-c", OTHER_PROCESSOR, host.target(name).cpu], check=True, env=environment)
    assert list(tmp_path.glob("*.code"))

"""A robot's compiled code used by several threads and processes at once."""

from __future__ import annotations

import os

import pytest

from helpers.programs import run_alone


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

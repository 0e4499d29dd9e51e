"""The gripper of Shah, chapters 5, 6 and 10, against the numbers of another program, to all printed digits.

That program is an independent Newton-Euler recursion in modified Denavit-Hartenberg frames, checked by power balance.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from helpers.compare import assert_close
from helpers.robots import gripper
from kinetree.algorithms.table import FORWARD_METHODS

DEGREE = np.pi / 180
START = np.array([0.0, 0.0, 0.0, 90.0]) * DEGREE
END = np.array([60.0, 80.0, 80.0, 120.0]) * DEGREE

# N m at t = 0, 0.25, 0.5, 0.75, 1 s, six decimals
TORQUES = {
    0.0: [0.882900, 0.196200, 0.049050, 0.0],
    0.25: [0.974371, 0.226725, 0.057435, -0.005135],
    0.5: [0.540929, 0.034302, -0.010778, -0.033624],
    0.75: [0.148820, -0.152840, -0.046802, -0.049199],
    1.0: [0.144002, -0.150298, -0.037574, -0.049050],
}


def printed(value: np.ndarray, expected: list[float], digits: int) -> None:
    """Equal after rounding to the printed digits: off by at most half a unit of the last."""
    np.testing.assert_allclose(value, expected, rtol=0, atol=0.5000001 * 10.0**-digits)


def cycloid(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sources' joint trajectory with T = 1 s (Shah section 6.2.1)."""
    t = np.asarray(t)[..., None]
    turn = 2 * np.pi
    step = END - START
    return (START + step * (t - np.sin(turn * t) / turn), step * (1 - np.cos(turn * t)), step * turn * np.sin(turn * t))


def test_torques_along_the_trajectory():
    tau = gripper().inverse_dynamics(*cycloid(np.array(list(TORQUES))))
    printed(tau, list(TORQUES.values()), 6)


def test_every_forward_method_returns_the_trajectory():
    robot = gripper()
    q, v, a = cycloid(np.linspace(0, 1, 21))
    tau = robot.inverse_dynamics(q, v, a)
    for method in FORWARD_METHODS:
        assert_close(robot.forward_dynamics(q, v, tau, method=method), a, 1e-10)


@pytest.mark.parametrize("method", FORWARD_METHODS)
def test_first_acceleration_of_free_fall(method):
    a = gripper().forward_dynamics([-np.pi / 3, 0, 0, 0], np.zeros(4), np.zeros(4), method=method)
    printed(a, [-68.180938, 117.374780, -65.591789, 23.302346], 6)


def test_free_fall():
    robot = gripper()

    def motion(_, y):
        return np.concatenate([y[4:], robot.forward_dynamics(y[:4], y[4:], np.zeros(4))])

    start = np.array([-np.pi / 3, 0, 0, 0, 0, 0, 0, 0])
    path = solve_ivp(motion, (0, 1), start, "DOP853", rtol=1e-12, atol=1e-13, dense_output=True)
    printed(path.sol(0.1)[:4], [-1.29918355, 0.21775551, 0.09743022, -0.04838250], 8)
    printed(path.sol(0.5)[:4], [-1.75443664, -0.11892077, -0.08579292, 0.00133788], 8)
    printed(path.y[:4, -1], [-1.90110018, 0.02259906, -0.10009798, -0.12511856], 8)
    # the other digest gives degrees, four decimals
    for t, degrees in {
        0.2: [-95.6543, 5.5162, 0.7405, -17.6885],
        0.4: [-114.8987, -14.3056, -10.4429, 41.3086],
        0.6: [-80.8105, 8.1117, 12.9793, -28.8363],
        0.8: [-65.7295, 2.7709, 5.7066, 8.9545],
        1.0: [-108.9250, 1.2948, -5.7352, -7.1688],
    }.items():
        printed(path.sol(t)[:4] / DEGREE, degrees, 4)
    energy = robot.kinetic_energy(path.y[:4].T, path.y[4:].T) + robot.potential_energy(path.y[:4].T)
    printed(energy, np.full(len(energy), -0.80709238), 8)


def test_mass_matrix_and_its_factors():
    """The sources' I = U D U^T is our L^T D L with U = L^T (notes, section 5.5).

    Their modules group joints 2 and 3; single joints give the same first row of U only up
    to that block, so the block row is turned into the module form here.
    """
    robot = gripper()
    for q, first_row, d1 in (
        (START, [1, 3.57142857, -3.42857143, 1], 0.00240476),
        (END, [1, 1.58419001, -3.55543317, 0.25], 0.00419139),
    ):
        lower, d = robot.mass_matrix_factors(q)
        u = lower.T
        # U_12 of the modules is the row (u_12, u_13) times the inverse of the unit block of module 2
        block = u[1:3, 1:3]
        module_row = np.concatenate([[1.0], u[0, 1:3] @ np.linalg.inv(block), [u[0, 3]]])
        printed(module_row, first_row, 8)
        printed(d[0], d1, 8)
        assert lower[3, 1] == lower[3, 2] == 0.0  # module 3 does not see module 2
    printed(
        robot.mass_matrix(START),
        [
            [0.01133333, 0.00333333, 0.00091667, 0.00016667],
            [0.00333333, 0.00133333, 0.00041667, 0.0],
            [0.00091667, 0.00041667, 0.00016667, 0.0],
            [0.00016667, 0.0, 0.0, 0.00016667],
        ],
        8,
    )
    m = robot.mass_matrix(END)
    printed(
        [m[0, 0], m[0, 1], m[0, 2], m[0, 3], m[1, 1], m[1, 2]],
        [0.00625141, 0.00071078, -0.00025977, 0.00004167, 0.00092016, 0.00021008],
        8,
    )


def test_modules_are_those_of_the_sources():
    robot = gripper()
    assert robot.modules().names == (("1",), ("2", "3"), ("4",))
    assert robot.modules().parents == (-1, 0, 0)

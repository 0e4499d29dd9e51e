"""A five-bar picks and places as fast as its two motors can: the path of its tip, and the fastest motion along it.

Run it with:    python examples/five_bar_pick_and_place.py [points]
"""

import sys

import numpy as np

import kinetree as kt

MOST = {"arm_1_joint": 90.0, "arm_2_joint": 70.0}
"""The torques of the two motors in N m; the other joints are pins."""


def way(robot):
    """Closed configurations along an arch of the tip: 0.5 m to the side, 0.2 m up."""
    turn = np.linspace(0.0, np.pi, 121)
    arch = np.stack([0.6 - 0.25 * np.cos(turn), 1.05 + 0.2 * np.sin(turn), 0.0 * turn], axis=1)
    return robot.platform("tip", orientation=False).follow(arch, q_guess=robot.assembled())


def main(points=1001):
    robot = kt.load("five-bar").with_backend("compiled")
    closed = way(robot)
    length = np.linspace(0.0, 1.0, len(closed))
    path = kt.trajectories.spline(length, closed, ends="not-a-knot", degree=5)
    limits = np.array([MOST.get(name, np.inf) for name in robot.joint_names])
    there = kt.trajectories.fastest(path, robot, torque=limits, points=points)
    print(f"there in {there.duration:.3f} s")

    times = np.linspace(0.0, there.end, 401)[1:-1]
    q, v, a = there.states(times)
    error = np.abs(robot.closure_error(q)).max()
    use = np.abs(robot.inverse_dynamics(q, v, a, tolerance=1e-5))[:, np.isfinite(limits)] / limits[np.isfinite(limits)]
    often = np.mean(use.max(axis=1) > 0.97)
    print(f"motors use up to {use.max():.2%} of their torque, one of them {often:.0%} of the time")
    print(f"loops are closed to {error:.1e} m between the points of the path")
    calm = kt.trajectories.fastest(path, robot, torque=limits, points=points, total_power=0.3 * power(robot, there))
    print(f"with 30 % of the power: {calm.duration:.3f} s")
    return there, calm, use, error


def power(robot, motion):
    """The largest power of all motors together."""
    q, v, a = motion.states(np.linspace(0.0, motion.end, 401)[1:-1])
    return np.abs((robot.inverse_dynamics(q, v, a, tolerance=1e-5) * v).sum(axis=-1)).max()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1001)

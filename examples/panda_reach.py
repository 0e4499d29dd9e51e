"""An arm like the Panda reaches a point with 60 % of its torques: the least effort, and the shortest time on that way.

Run it with:    python examples/panda_reach.py [goals]
"""

import sys

import numpy as np

import kinetree as kt

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
TORQUES = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
SPEEDS = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
A, D, TURN = (0, 0, 0, 0.0825, -0.0825, 0, 0.088), (0.333, 0, 0.316, 0, 0.384, 0, 0), (0, -1, 1, 1, -1, 1, 1)
"""Craig's parameters of its seven joints; twists in quarter turns."""

MASSES = (4.0, 4.0, 3.0, 3.0, 3.5, 1.5, 1.2)


def arm():
    """Seven joints with the Panda's dimensions and limits, and masses that are about its own."""
    b = kt.Builder("seven joints")
    for k in range(7):
        c, s = np.cos(TURN[k] * np.pi / 2), np.sin(TURN[k] * np.pi / 2)
        rotation = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]).round()
        position = np.array([A[k], 0, 0]) + rotation @ [0, 0, D[k]]
        b.body(
            f"link{k + 1}", f"link{k}" if k else "base", kt.Revolute("z"), position=position, rotation=rotation,
            mass=MASSES[k], com=(0.0, -0.03, 0.05), inertia=(0.02, 0.02, 0.01),
            effort_limit=0.6 * TORQUES[k], velocity_limit=SPEEDS[k],
        )  # fmt: skip
    b.frame("hand", "link7", position=(0, 0, 0.107))
    return b.build()


def main(count=16):
    robot = arm()
    hand = robot.pose(READY, "hand")[:3, 3]
    goals = hand + np.random.default_rng(0).uniform(-0.2, 0.2, (count, 3))
    plans = kt.optimize(
        robot, READY, horizon=0.8, step=0.02,
        costs=[kt.optimize.Effort(weight=1e-4), kt.optimize.Velocities(weight=1e-2)],
        limits=["torques", kt.optimize.FramePosition("hand", goals, at="end"), kt.optimize.Velocities(at="end")],
        iterations=200,
    )  # fmt: skip
    there = robot.pose(plans.q[-1], "hand")[..., :3, 3]
    off = np.abs(there - goals).max()
    print(f"{np.mean(plans.success):.0%} of {count} goals reached within 60 % of the torques, to {off:.1e} m")
    ways = [plans.q[::4, k] for k in range(count)]
    swift = kt.trajectories.fastest(ways, robot.with_backend("compiled"))
    least, most = np.nanmin(swift.duration), np.nanmax(swift.duration)
    print(f"0.8 s of little effort become {least:.2f} to {most:.2f} s on the same ways")
    return plans, swift


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)

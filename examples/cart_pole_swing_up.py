"""A cart swings its pole up: one plan, a thousand at once, and a controller that keeps to the plan when it is pushed.

Run it with:    python examples/cart_pole_swing_up.py [how many]
"""

import sys

import numpy as np

import kinetree as kt

UP = [0.0, np.pi]


def cart_pole():
    """A cart of 1 kg that pushes with 20 N, and a pole of 0.3 kg that hangs."""
    b = kt.Builder("cart-pole")
    b.body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="track", effort_limit=20.0)
    b.body("pole", "cart", kt.Revolute("y"), mass=0.3, com=(0, 0, -0.5), joint_name="hinge", actuated=False)
    return b.build()


def problem(robot):
    """Two seconds of little force, from wherever it hangs to the upright pole at rest."""
    return kt.optimize.MotionProblem(
        robot,
        horizon=2.0,
        step=0.04,
        costs=[kt.optimize.Effort(weight=0.01), kt.optimize.Positions(UP, weight=0.1)],
        limits=["torques", kt.optimize.Positions(UP, at="end"), kt.optimize.Velocities(at="end")],
        tolerance=1e-4,
    )


def pushed(robot, plan):
    """Where the pole ends when it starts 0.05 rad aside, with the plan's forces alone and with its gains, too."""
    ends = {}
    for name, gains in (("forces alone", 0.0), ("with gains", 1.0)):
        world = kt.World(robot, step=0.04)
        world.reset(q=[0.0, 0.05])
        for u, k, q, v in zip(plan.u, plan.gains, plan.q, plan.v, strict=False):
            off = np.concatenate([(world.q - q).ravel(), (world.v - v).ravel()])
            world.step(np.clip(u + gains * (k @ off), -20.0, 20.0))
        ends[name] = float(np.abs(world.q - UP).max())
    return ends


def main(count=1000):
    robot = cart_pole()
    swing = problem(robot)
    plan = swing.solve()
    print(plan)
    ends = pushed(robot, plan)
    for name, off in ends.items():
        print(f"pushed, {name}: {off:.3f} off the upright pole")
    starts = np.column_stack([np.zeros(count), np.linspace(-0.5, 0.5, count)])
    plans = swing.solve(starts)
    costs = f"costs {plans.cost.min():.3f} to {plans.cost.max():.3f}"
    print(f"{count} starts: {np.mean(plans.success):.1%} swung up, {costs}")
    return plan, ends, plans


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
